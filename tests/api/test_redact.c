/* test_redact.c - interp_redact_*: what a host registers, and a text redacted on the spot.
   SPDX-License-Identifier: MIT */
#include "api.h"
#include <pthread.h>

static const char *bytes(interp_ctx *x, const char *text, size_t n)
{
    static char kept[4096];
    interp_redacted *r = NULL;
    size_t len = 0;
    REQUIRE(interp_redact_bytes(x, text, n, &r, NULL) == INTERP_OK);
    const char *p = interp_redacted_data(r, &len);
    CHECK(p[len] == 0 && len < sizeof kept);
    memcpy(kept, p, len + 1);
    interp_redacted_free(r);
    return kept;
}

TEST(values)
{
    interp_ctx *x = NULL;
    interp_error *e = NULL;
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    CHECK(interp_redact_add(x, "DB_PASSWORD", "k7Jm2Qx9w4Rt", INTERP_NTS, &e) == INTERP_OK);
    CHECK(interp_redact_add(x, "DB_PASSWORD", "k7Jm2Qx9w4Rt", INTERP_NTS, &e) == INTERP_OK);   /* again */
    CHECK_STR(bytes(x, "a k7Jm2Qx9w4Rt b", 16), "a [REDACTED:DB_PASSWORD] b");
    CHECK_STR(bytes(x, "hex 6b374a6d325178397734" "5274 b", 30), "hex [REDACTED:DB_PASSWORD] b");
    CHECK_STR(bytes(x, "", 0), "");
    CHECK(interp_redact_add(x, "short", "abc", 3, &e) == INTERP_E_INVAL && !strcmp(interp_error_reason(e), "redact-short"));
    interp_error_free(e);
    CHECK(interp_redact_add(x, "common", "password", 8, &e) == INTERP_E_INVAL && !strcmp(interp_error_reason(e), "redact-common"));
    interp_error_free(e);
    CHECK(interp_redact_add(NULL, "n", "k7Jm2Qx9w4Rt", 12, NULL) == INTERP_E_INVAL);
    CHECK(interp_redact_add(x, NULL, "k7Jm2Qx9w4Rt", 12, NULL) == INTERP_E_INVAL);
    CHECK(interp_redact_bytes(x, NULL, 3, NULL, NULL) == INTERP_E_INVAL);
    interp_ctx_free(x);
}
TEST(counts)
{
    interp_ctx *x = NULL;
    interp_redacted *r = NULL;
    char text[200];
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    CHECK(interp_redact_add(x, "one", "k7Jm2Qx9w4Rt", INTERP_NTS, NULL) == INTERP_OK);
    CHECK(interp_redact_set_detector(x, "network", 1, NULL) == INTERP_OK);
    int n = snprintf(text, sizeof text, "k7Jm2Qx9w4Rt 10.%s k7Jm2Qx9w4Rt\n", "1.2.3");
    REQUIRE(interp_redact_bytes(x, text, (size_t)n, &r, NULL) == INTERP_OK);
    interp_ctx_free(x);   /* the text outlives it */
    CHECK_STR(interp_redacted_counts_json(r, NULL), "{\"ipv4-private\":1,\"one\":2}");
    CHECK_STR(interp_redacted_data(r, NULL), "[REDACTED:one] [REDACTED:ipv4-private] [REDACTED:one]\n");
    interp_redacted_free(r);
    CHECK_STR(interp_redacted_data(NULL, NULL), "");
    CHECK_STR(interp_redacted_counts_json(NULL, NULL), "{}");
    interp_redacted_free(NULL);
}
TEST(switches)
{
    interp_ctx *x = NULL;
    char text[100];
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    int n = snprintf(text, sizeof text, "10.%s", "1.2.3 ");
    CHECK_STR(bytes(x, text, (size_t)n), text);   /* off at first */
    CHECK(interp_redact_set_detector(x, "network", 1, NULL) == INTERP_OK);
    CHECK_STR(bytes(x, text, (size_t)n), "[REDACTED:ipv4-private] ");
    CHECK(interp_redact_set_detector(x, "network", 0, NULL) == INTERP_OK);
    CHECK_STR(bytes(x, text, (size_t)n), text);
    CHECK(interp_redact_set_detector(x, "ipv4-private", 1, NULL) == INTERP_OK);
    CHECK_STR(bytes(x, text, (size_t)n), "[REDACTED:ipv4-private] ");
    CHECK(interp_redact_set_detector(x, "nothing", 1, NULL) == INTERP_E_NOT_FOUND && interp_redact_set_detector(x, NULL, 1, NULL) == INTERP_E_NOT_FOUND);
    CHECK(interp_redact_set_detector(x, "all", 2, NULL) == INTERP_E_INVAL);
    interp_ctx_free(x);
}
TEST(patterns)
{
    interp_ctx *x = NULL;
    interp_error *e = NULL;
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    interp_status st = interp_redact_add_pattern(x, "ticket", "ACME-[0-9]{4,9}", INTERP_NTS, &e);
    if (!interp_has("redact.pcre2")) {
        CHECK(st == INTERP_E_UNSUPPORTED);
        interp_error_free(e);
        interp_ctx_free(x);
        SKIP("built without PCRE2");
    }
    CHECK(st == INTERP_OK);
    CHECK_STR(bytes(x, "see ACME-12345.", 15), "see [REDACTED:ticket].");
    CHECK(interp_redact_add_pattern(x, "bad", "(x", 2, &e) == INTERP_E_INVAL && !strcmp(interp_error_reason(e), "redact-pattern"));
    interp_error_free(e);
    interp_ctx_free(x);
}

static void *adder(void *v)
{
    for (int i = 0; i < 100; i++) {
        char value[32];
        snprintf(value, sizeof value, "k7Jm2Qx9-%06d", i);
        if (interp_redact_add(v, "many", value, INTERP_NTS, NULL))
            return v;
    }
    return NULL;
}
TEST(any_thread)
{
    interp_ctx *x = NULL;
    pthread_t t[3];
    void *bad = NULL;
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&t[i], NULL, adder, x) == 0);
    for (int i = 0; i < 50; i++)
        bytes(x, "text k7Jm2Qx9-000007 text", 25);
    for (int i = 0; i < 3; i++) {
        void *got;
        pthread_join(t[i], &got);
        bad = got ? got : bad;
    }
    CHECK(bad == NULL);
    CHECK_STR(bytes(x, "text k7Jm2Qx9-000099 text", 25), "text [REDACTED:many] text");
    interp_ctx_free(x);
}

/* ---- everything that comes out of a session */

#define SECRET "k7Jm2Qx9w4Rt6Yz1"
/* Code gets it in two parts: what it is given is not searched. */
#define MAKE "a='k7Jm2Qx9'; b='w4Rt6Yz1'; v=a+b\n"

static interp_session *open_secret(interp_ctx **x)
{
    *x = new_ctx(0);
    NEED(interp_redact_add(*x, "KEY", SECRET, INTERP_NTS, ERR));
    return open_with(*x, NULL);
}
/* Nowhere in the result, however it is looked at. */
static void expect_none(const interp_result *r)
{
    const char *json = interp_result_json(r, NULL);
    if (strstr(json, SECRET) || strstr(json, "2Qx9w4Rt"))
        show_result(__FILE__, __LINE__, r, "the value got through");
    const char *texts[] = { interp_result_text(r, INTERP_STREAM_STDOUT, NULL), interp_result_text(r, INTERP_STREAM_STDERR, NULL), interp_result_value(r, NULL),
                            interp_result_error_type(r, NULL), interp_result_error_message(r, NULL), interp_result_error_traceback(r, NULL) };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(!texts[i] || !strstr(texts[i], SECRET));
}
TEST(streams_and_value)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    interp_result *r = run(s, "python", MAKE "import sys, base64\nprint('out', v)\nprint('err', v, file=sys.stderr)\nprint(base64.b64encode(('user:' + v).encode()).decode())\n'value ' + v");
    EXPECT_OK(r);
    expect_none(r);
    CHECK(!strncmp(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "out [REDACTED:KEY]\ndXNlc", 24));
    EXPECT_TEXT(r, INTERP_STREAM_STDERR, "err [REDACTED:KEY]\n");
    CHECK_STR(interp_result_value(r, NULL), "'value [REDACTED:KEY]'");
    CHECK(strstr(interp_result_json(r, NULL), "\"redactions\":{\"KEY\":4}") != NULL);
    interp_result_free(r);
    EXPECT_RUN(s, "python", "print('nothing here')", "nothing here\n");
    r = run(s, "python", "1");
    CHECK(strstr(interp_result_json(r, NULL), "\"redactions\":{}") != NULL);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}
TEST(errors_and_displays)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    interp_result *r = run(s, "python", MAKE "raise RuntimeError('quote \" and ' + v)");
    EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
    expect_none(r);
    CHECK_STR(interp_result_error_message(r, NULL), "quote \" and [REDACTED:KEY]");
    CHECK(strstr(interp_result_error_traceback(r, NULL), "[REDACTED:KEY]") != NULL);
    CHECK(strstr(interp_result_json(r, NULL), "quote \\\" and [REDACTED:KEY]") != NULL);
    interp_result_free(r);
    r = run(s, "python", MAKE "class R:\n  def __repr__(self): return 'repr ' + v\n  def _repr_html_(self): return '<b>' + v + '</b>'\nR()");
    EXPECT_OK(r);
    expect_none(r);
    CHECK(strstr(interp_result_json(r, NULL), "<b>[REDACTED:KEY]</b>") != NULL);
    CHECK_STR(interp_result_value(r, NULL), "repr [REDACTED:KEY]");
    interp_result_free(r);
    /* in forms of every type but what no text is in */
    r = run(s, "python", MAKE "class R:\n  def __repr__(self): return 'r'\n  def _repr_mimebundle_(self, **k): return {'application/xml': v, 'Text/HTML': v, 'text/html; charset=utf-8': v,"
            " 'image/svg+xml;x=y': v, 'application/x-own': v, 'application/vnd.own+json': {'k': v}, 'application/octet-stream': b'\\xff' + v.encode(), 'image/png': b'\\x89PNG\\xff'}\nR()");
    EXPECT_OK(r);
    expect_none(r);
    CHECK(json_holds(interp_result_json(r, NULL), strlen(interp_result_json(r, NULL)),
                     "(lambda m: len(m) >= 8 and m['application/xml'] == '[REDACTED:KEY]' and '[REDACTED:KEY]' in m['application/vnd.own+json'] and all('k7Jm' not in v"
                     " for v in m.values() if isinstance(v, str)) and __import__('base64').b64decode(m['image/png']) == bytes([137, 80, 78, 71, 255]))(d['value']['mime'])"));
    interp_result_free(r);
    r = run(s, "python", MAKE "exec(compile('class ' + v + '(Exception): pass', 'x', 'exec'))\nraise globals()[v]('x')");
    expect_none(r);
    CHECK_STR(interp_result_error_type(r, NULL), "[REDACTED:KEY]");
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}
/* Redaction comes before the cap: at no size does half a value stand at the cut. */
TEST(before_the_cap)
{
    interp_ctx *x = new_ctx(0);
    NEED(interp_redact_add(x, "KEY", SECRET, INTERP_NTS, ERR));
    interp_session *s = open_with(x, "{\"output_head_bytes\":60,\"output_tail_bytes\":50}");
    for (int n = 20; n < 130; n += 3) {
        char code[200];
        snprintf(code, sizeof code, MAKE "print('p' * %d + v + 't' * 500)", n);
        interp_result *r = run(s, "python", code);
        size_t len;
        const char *head = interp_result_head(r, INTERP_STREAM_STDOUT, &len);
        CHECK(!memmem(head, len, "k7Jm", 4));
        CHECK(!strstr(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "Yz1"));
        CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), n + 14 + 501);   /* of the stream as it is seen */
        interp_result_free(r);
    }
    interp_session_close(s);
    interp_ctx_free(x);
}
static interp_call *start(interp_ctx *x, interp_session *s, const char *code)
{
    interp_call *k = NULL;
    interp_request *r = new_request(x, "python", code, "{\"stream\":1}");
    NEED(interp_session_exec_start(s, r, &k, ERR));
    interp_request_free(r);
    return k;
}
TEST(events)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    /* byte by byte, in two streams; and so much that credit has to go round */
    interp_call *k = start(x, s, MAKE "import sys, os\nfor i in range(30):\n  for c in (v + ' '):\n    os.write(1, c.encode())\nsys.stdout.write((v + '\\n') * 100000)\n");
    struct { char *p; size_t n; uint64_t next; } got = { calloc(1, 4 << 20), 0, 0 };
    for (;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_DONE)
            break;
        if (st == INTERP_AGAIN) {
            NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
            continue;
        }
        size_t n;
        const char *p = interp_event_data(ev, &n);
        if (interp_event_type(ev) != INTERP_EV_OUTPUT)
            continue;
        CHECK(n <= 65536);
        CHECK(interp_event_offset(ev) == got.next);
        got.next += n;
        memcpy(got.p + got.n, p, n);
        got.n += n;
    }
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    expect_none(r);
    CHECK(!memmem(got.p, got.n, "k7Jm2Qx9", 8));
    int labels = 0;
    for (size_t at = 0; at < got.n; at += 15, labels++) {
        for (const char *start = "k7J"; *start && at < got.n && got.p[at] == *start; start++)   /* of code that stood still within the value for a second, its start may have gone out */
            at++;
        if (got.n - at < 15 || memcmp(got.p + at, labels < 30 ? "[REDACTED:KEY] " : "[REDACTED:KEY]\n", 15)) {
            FAIL("label %d, at byte %zu: %.60s", labels, at, got.p + at);
            break;
        }
    }
    CHECK_INT(labels, 100030);
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), got.n);
    CHECK(strstr(interp_result_json(r, NULL), "\"redactions\":{\"KEY\":100030}") != NULL);
    free(got.p);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}
TEST(prompts_are_not_held)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    interp_request *q = new_request(x, "python", "import sys\nfor i in range(4): sys.stdout.write('name'); sys.stdout.flush(); sys.stdin.readline()", "{\"stream\":1,\"interactive\":1}");
    interp_call *k = NULL;
    NEED(interp_session_exec_start(s, q, &k, ERR));
    interp_request_free(q);
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 4; i++) {   /* each waits for its answer; the fastest of them counts */
        uint64_t t = tap_now_ns();
        const interp_event *ev = NULL;
        interp_status st;
        size_t n, taken;
        while ((st = interp_call_next(k, &ev)) == INTERP_AGAIN)
            NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
        REQUIRE(st == INTERP_OK && interp_event_type(ev) == INTERP_EV_OUTPUT);
        const char *p = interp_event_data(ev, &n);
        CHECK(n == 4 && !memcmp(p, "name", 4));
        t = tap_now_ns() - t;
        least = t < least ? t : least;
        OK(interp_call_write(k, "\n", 1, &taken, ERR));
    }
    MEASURE("a word without a line break is shown after", (double)least / 1e6, "ms");
    CHECK(least < UINT64_C(700000000) * tap_slow());
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}
TEST(late_output)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    interp_result_free(run(s, "python", MAKE "import threading, time, sys\ndef f():\n  time.sleep(0.2)\n  sys.stdout.write('late ' + a); sys.stdout.flush()\n  time.sleep(0.1)\n  sys.stdout.write(b + ' end\\n'); sys.stdout.flush()\nt = threading.Thread(target=f); t.start()"));
    int begun = 0, ended = 0;
    for (int i = 0; i < 100 && !ended; i++) {   /* with the result of whichever exec is the next to end, whole or in two */
        interp_result *r = run(s, "python", i ? "time.sleep(0.1)" : "t.join()");
        expect_none(r);
        begun |= strstr(interp_result_json(r, NULL), "\"text\":\"late ") != NULL;
        ended = strstr(interp_result_json(r, NULL), "[REDACTED:KEY] end") != NULL;
        interp_result_free(r);
    }
    CHECK(begun && ended);
    interp_session_close(s);
    interp_ctx_free(x);
}
/* The longest part of the value that a text has in it. */
static size_t shown(const char *text, size_t n)
{
    for (size_t k = sizeof SECRET - 1; k; k--)
        for (size_t at = 0; at + k < sizeof SECRET; at++)
            if (memmem(text, n, &SECRET[at], k))
                return k;
    return 0;
}
static void expect_cut(interp_result *r, const char *what, int i)
{
    size_t n;
    const char *json = interp_result_json(r, &n);
    if (shown(json, n) > 3 || (!strstr(json, "left out") && !strstr(json, "[200") && !strstr(json, " more characters")))
        FAIL("%s, %d: %zu bytes of the value are shown: %.300s", what, i, shown(json, n), json);
    interp_result_free(r);
}
/* Drivers cut long texts before anybody redacts them: at no place does a cut show more of a value than three bytes. */
TEST_LONG(cuts_of_drivers, 240)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    static const char *const cases[][4] = {   /* language, what, code with the number of bytes before the value, that number for the cut */
        { "python", "value", MAKE "class R:\n  def __repr__(self): return '~' * %d + v + '~' * 200000\nR()", "32768" },
        { "python", "its tail", MAKE "class R:\n  def __repr__(self): return '~' * 200000 + v + '~' * %d\nR()", "32752" },
        { "python", "string", MAKE "'~' * %d + v + '~' * 200000", "32767" },
        { "python", "list", MAKE "['~' * %d + v + '~' * 200000, v]", "32767" },
        { "python", "repeated", MAKE "class R:\n  def __repr__(self): return '~' * %d + v * 9000\nR()", "11" },
        { "python", "message", MAKE "raise ValueError('~' * %d + v + '~' * 200000)", "8192" },
        { "python", "its tail", MAKE "raise ValueError('~' * 200000 + v + '~' * %d)", "8176" },
        { "python", "name", MAKE "raise type('~' * %d + v + '~' * 500, (Exception,), {})", "150" },
        { "python", "display", MAKE "display({'text/plain': '~' * %d + v + '~' * 200000}, raw=True)", "32768" },
        { "python", "type", MAKE "display({'text/' + 'x' * %d + v + 'x' * 90: 'of a long type'}, raw=True); print('left out')", "122" },
        { "javascript", "value", "v = 'k7Jm2Qx9' + 'w4Rt6Yz1'; '~'.repeat(%d) + v + '~'.repeat(200000)", "32767" },
        { "javascript", "its tail", "v = 'k7Jm2Qx9' + 'w4Rt6Yz1'; ({ inspect: 1, [Symbol.for('nodejs.util.inspect.custom')]() { return '~'.repeat(200000) + v + '~'.repeat(%d); } })", "32752" },
        { "javascript", "strings of an object", "v = 'k7Jm2Qx9' + 'w4Rt6Yz1'; ({ a: '~'.repeat(%d) + v + '~'.repeat(200000) })", "65536" },
        { "javascript", "message", "v = 'k7Jm2Qx9' + 'w4Rt6Yz1'\nthrow new Error('~'.repeat(%d) + v + '~'.repeat(200000))", "8192" },
        { "javascript", "a long line of a stack", "v = 'k7Jm2Qx9' + 'w4Rt6Yz1'\nthrow new Error('\\n' + '~'.repeat(%d) + v + '~'.repeat(2000000))", "4000" },
        { "javascript", "thrown text", "v = 'k7Jm2Qx9' + 'w4Rt6Yz1'\nthrow '~'.repeat(%d) + v + '~'.repeat(200000)", "8191" },
        { "javascript", "type", "v = 'k7Jm2Qx9' + 'w4Rt6Yz1'; display({ ['text/' + 'x'.repeat(%d) + v + 'x'.repeat(90)]: 'of a long type' }, { raw: true }); console.log('left out')", "122" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 1; k < 16; k += tap_slow() > 1 ? 7 : 2) {
            char code[1024];
            int before = atoi(cases[i][3]) + (strstr(cases[i][1], "tail") ? k : -k);
            snprintf(code, sizeof code, cases[i][2], before);
            expect_cut(run(s, cases[i][0], code), cases[i][1], k);
        }
    interp_session_close(s);
    interp_ctx_free(x);
}

/* ---- what comes late, in pieces */

static const char *late_json(interp_session *s, const char *code, interp_result **r)
{
    *r = run(s, "bash", code);
    return interp_result_json(*r, NULL);
}
#define MAKE_SH "a=k7Jm2Qx9 b=w4Rt6Yz1; v=$a$b; "
/* The agent drops what nobody takes: the pieces beside what is missing are no text of their own. */
TEST_LONG(late_gaps, 120)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    interp_result *r;
    interp_result_free(run(s, "bash", MAKE_SH "( yes \"abc $v xyz\" | head -c 30000000 ) &"));
    uint64_t dropped = 0;
    for (int i = 0; i < 12 || (!dropped && i < 300); i++) {
        usleep(100000);   /* in no call: the agent's window is soon full */
        const char *json = late_json(s, ":", &r);
        size_t n = strlen(json);
        if (shown(json, n) > 3)
            FAIL("%zu bytes of the value are shown", shown(json, n));
        const char *at = strstr(json, "\"late_dropped_bytes\":");
        dropped += at ? strtoull(at + 21, NULL, 10) : 0;
        interp_result_free(r);
    }
    MEASURE("late bytes dropped", (double)dropped, "B");
    CHECK(dropped > 0);
    interp_session_close(s);
    interp_ctx_free(x);
}
/* What is held of late output is cut like any text. */
TEST(late_cap)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    interp_result *r;
    interp_result_free(run(s, "bash", MAKE_SH "( until [ -e go ]; do sleep 0.1; done; for i in 1 2 3 4 5 6 7 8; do yes \"$v \xC3\xA4\" | head -c 20000; sleep 0.1; done; : >done ) &"));
    const char *json = late_json(s, ": >go; until [ -e done ]; do sleep 0.1; done", &r);
    EXPECT_JSON(json, strlen(json), "len(d['late'][0]['text'].encode()) > 65500 and __import__('re').fullmatch('(\\[REDACTED:KEY\\] \xC3\xA4\\n)*(\\[REDACTED:KEY\\] ?\xC3\xA4?)?', d['late'][0]['text'])");
    EXPECT_JSON(json, strlen(json), "d['late_dropped_bytes'] > 50000 and len(d['late']) == 1");
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}
/* A value of which some was shown in an exec, or with an earlier result, and the rest comes later: as one label, whenever that is. */
static void expect_rest(interp_session *s, const char *code, const char *then)
{
    int seen = 0;
    for (int i = 0; i < 100 && !seen; i++) {
        interp_result *r;
        const char *json = late_json(s, i ? then : code, &r);
        if (shown(json, strlen(json)) > 7 || (i && shown(json, strlen(json)) > 3))   /* at an exec's end less than half may be */
            FAIL("%s: %zu bytes of the value are shown", code, shown(json, strlen(json)));
        seen = strstr(json, "[REDACTED:KEY]") != NULL;
        interp_result_free(r);
    }
    CHECK(seen);
}
TEST_LONG(late_rests, 120)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    for (int k = 1; k < 16; k += 2) {
        char code[300];
        snprintf(code, sizeof code, MAKE_SH "printf \"${v:0:%d}\"; ( sleep 0.2; printf \"${v:%d}\" ) &", k, k);
        expect_rest(s, code, "sleep 0.1");
        snprintf(code, sizeof code, MAKE_SH "( sleep 0.1; printf \"${v:0:%d}\"; sleep 0.4; printf \"${v:%d}\" ) &", k, k);
        expect_rest(s, code, "sleep 0.1");
    }
    interp_session_close(s);
    interp_ctx_free(x);
}
TEST(shells_and_detectors)
{
    interp_ctx *x;
    interp_session *s = open_secret(&x);
    EXPECT_RUN(s, "sh", "a=k7Jm2Qx9; echo \"${a}w4Rt6Yz1\"; p=ghp; echo ${p}_0123456789abcdefghijABCDEFGHIJ012345; printf 'no line break'", "[REDACTED:KEY]\n[REDACTED:github-token]\nno line break");
    NEED(interp_redact_set_detector(x, "all", 0, ERR));   /* holds at once */
    EXPECT_RUN(s, "sh", "p=ghp; echo ${p}_0123456789abcdefghijABCDEFGHIJ012345", "gh" "p_0123456789abcdefghijABCDEFGHIJ012345\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

/* What a config or a session adds holds for that session, on top of the context's. */
TEST(of_a_session)
{
    interp_ctx *x = new_ctx(0);
    NEED(interp_redact_add(x, "CTX", "ctxvalue-8d2k1m", INTERP_NTS, ERR));
    interp_config *c = new_config(x, NULL);
    NEED(interp_config_redact_add(c, "CFG", "cfgvalue-5t7w3q", INTERP_NTS, ERR));
    interp_session *a = NULL, *b = open_with(x, NULL);
    NEED(interp_session_open(x, c, &a, ERR));
    NEED(interp_config_redact_add(c, "LATER", "latervalue-9z1x", INTERP_NTS, ERR));   /* not for a session that is open */
    interp_config_free(c);
    static const char *const all = "import sys; s = 'ctx' 'value-8d2k1m cfg' 'value-5t7w3q ses' 'value-4h6j8l later' 'value-9z1x'; print(s); print(s[::-1][::-1], file=sys.stderr); s";
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            char want[200];
            snprintf(want, sizeof want, "[REDACTED:CTX] %s %s latervalue-9z1x\n", i ? "cfgvalue-5t7w3q" : "[REDACTED:CFG]", round && !i ? "[REDACTED:SES]" : "sesvalue-4h6j8l");
            interp_result *r = run(i ? b : a, "python", all);
            CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), want);
            CHECK_STR(interp_result_text(r, INTERP_STREAM_STDERR, NULL), want);
            CHECK(strstr(interp_result_value(r, NULL), "[REDACTED:CTX]"));
            if (!i) {
                size_t n;
                const char *j = interp_result_json(r, &n);
                EXPECT_JSON(j, n, round ? "d['redactions'] == {'CTX': 3, 'CFG': 3, 'SES': 3}" : "d['redactions'] == {'CTX': 3, 'CFG': 3}");
            }
            interp_result_free(r);
        }
        NEED(interp_session_redact_add(a, "SES", "sesvalue-4h6j8l", INTERP_NTS, ERR));
    }
    NEED(interp_session_redact_add(b, "CTX", "sesvalue-4h6j8l", INTERP_NTS, ERR));   /* a name that the context has, too: counted together */
    interp_result *r = run(b, "python", all);
    CHECK(strstr(interp_result_json(r, NULL), "\"redactions\":{\"CTX\":6}"));
    interp_result_free(r);
    NEED(interp_redact_add(x, "NEW", "latervalue-9z1x", INTERP_NTS, ERR));           /* of the context: everybody's */
    EXPECT_RUN(a, "sh", "echo later''value-9z1x", "[REDACTED:NEW]\n");
    EXPECT_RUN(b, "sh", "echo later''value-9z1x", "[REDACTED:NEW]\n");
    /* detectors: a session's switches win over the context's, whenever those come */
    static const char *const token = "p=ghp; echo ${p}_0123456789abcdefghijABCDEFGHIJ012345 10.1.2.3";
    NEED(interp_session_redact_set_detector(a, "github-token", 0, ERR));
    NEED(interp_session_redact_set_detector(a, "ipv4-private", 1, ERR));
    EXPECT_RUN(a, "sh", token, "gh" "p_0123456789abcdefghijABCDEFGHIJ012345 [REDACTED:ipv4-private]\n");
    EXPECT_RUN(b, "sh", token, "[REDACTED:github-token] 10.1.2.3\n");
    NEED(interp_redact_set_detector(x, "all", 1, ERR));
    EXPECT_RUN(a, "sh", token, "gh" "p_0123456789abcdefghijABCDEFGHIJ012345 [REDACTED:ipv4-private]\n");
    EXPECT_RUN(b, "sh", token, "[REDACTED:github-token] [REDACTED:ipv4-private]\n");
    if (interp_has("redact.pcre2")) {   /* patterns of both, added in turn while a stream is open */
        NEED(interp_session_redact_add_pattern(a, "S1", "S1-[0-9]{4}", INTERP_NTS, ERR));
        NEED(interp_redact_add_pattern(x, "C1", "C1-[0-9]{4}", INTERP_NTS, ERR));
        NEED(interp_session_redact_add_pattern(a, "S2", "S2-[0-9]{4}", INTERP_NTS, ERR));
        EXPECT_RUN(a, "sh", "echo S1-1234 C1-1234 S2-1234", "[REDACTED:S1] [REDACTED:C1] [REDACTED:S2]\n");
        EXPECT_RUN(b, "sh", "echo S1-1234 C1-1234 S2-1234", "S1-1234 [REDACTED:C1] S2-1234\n");
    }
    IS(interp_session_redact_add(a, "short", "abc", 3, ERR), INTERP_E_INVAL);
    IS(interp_session_redact_add(NULL, "n", "k7Jm2Qx9w4Rt", 12, NULL), INTERP_E_INVAL);
    IS(interp_session_redact_set_detector(a, "nothing", 1, ERR), INTERP_E_NOT_FOUND);
    IS(interp_session_redact_set_detector(a, "all", 2, ERR), INTERP_E_INVAL);
    interp_session_close(a);
    interp_session_close(b);
    interp_ctx_free(x);
}

/* The config's JSON, and the switch that turns redaction off. */
TEST(config_json)
{
    interp_ctx *x = new_ctx(0);
    NEED(interp_redact_add(x, "CTX", "ctxvalue-8d2k1m", INTERP_NTS, ERR));
    static const char *const echo = "p=ghp; echo ctx''value-8d2k1m cfg''value-5t7w3q ${p}_0123456789abcdefghijABCDEFGHIJ012345 10.1.2.3";
    static const struct { const char *json, *want; } row[] = {
        { "{\"redact\":{\"values\":[{\"name\":\"CFG\",\"value\":\"cfgvalue-5t7w3q\"}]}}", "[REDACTED:CTX] [REDACTED:CFG] [REDACTED:github-token] 10.1.2.3\n" },
        { "{\"redact\":{\"detectors\":false}}", "[REDACTED:CTX] cfgvalue-5t7w3q gh" "p_0123456789abcdefghijABCDEFGHIJ012345 10.1.2.3\n" },
        { "{\"redact\":{\"detectors\":true}}", "[REDACTED:CTX] cfgvalue-5t7w3q [REDACTED:github-token] 10.1.2.3\n" },
        { "{\"redact\":{\"detectors\":[\"network\"]}}", "[REDACTED:CTX] cfgvalue-5t7w3q gh" "p_0123456789abcdefghijABCDEFGHIJ012345 [REDACTED:ipv4-private]\n" },
        { "{\"redact\":{\"detectors\":{\"network\":true,\"github-token\":false}}}", "[REDACTED:CTX] cfgvalue-5t7w3q gh" "p_0123456789abcdefghijABCDEFGHIJ012345 [REDACTED:ipv4-private]\n" },
        { "{\"redact_off\":true}", "ctxvalue-8d2k1m cfgvalue-5t7w3q gh" "p_0123456789abcdefghijABCDEFGHIJ012345 10.1.2.3\n" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        interp_session *s = open_with(x, row[i].json);
        EXPECT_RUN(s, "sh", echo, row[i].want);
        size_t n;
        const char *info = interp_session_info_json(s, &n);
        EXPECT_JSON(info, n, strstr(row[i].json, "off") ? "d['redaction'] is False" : "d['redaction'] is True");
        interp_session_close(s);
    }
    static const struct { const char *json, *words; } bad[] = {
        { "{\"redact\":[]}", "redact must be an object" }, { "{\"redact\":{\"value\":[]}}", "\"value\"" }, { "{\"redact\":{\"values\":{}}}", "redact.values" },
        { "{\"redact\":{\"values\":[{\"name\":\"A\"}]}}", "redact.values" }, { "{\"redact\":{\"values\":[{\"name\":\"A\",\"value\":\"k7Jm2Qx9w4Rt\",\"x\":1}]}}", "redact.values" },
        { "{\"redact\":{\"values\":[{\"name\":\"A\",\"value\":\"short\"}]}}", "value of A" }, { "{\"redact\":{\"values\":[{\"name\":\"a b\",\"value\":\"k7Jm2Qx9w4Rt\"}]}}", "name of a secret" },
        { "{\"redact\":{\"detectors\":[\"no-such\"]}}", "no-such" }, { "{\"redact\":{\"detectors\":3}}", "redact.detectors" }, { "{\"redact\":{\"detectors\":{\"aws\":1}}}", "redact.detectors" },
        { "{\"redact_off\":2}", "redact_off" },
    };
    interp_config *c = new_config(x, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        interp_status st = interp_config_set_json(c, bad[i].json, INTERP_NTS, ERR);
        CHECK(st == INTERP_E_INVAL || st == INTERP_E_NOT_FOUND);
        if (!api_err || !strstr(interp_error_message(api_err), bad[i].words))
            FAIL("%s: %s", bad[i].json, interp_error_message(api_err));
        api_drop();
    }
    NEED(interp_config_set_json(c, row[0].json, INTERP_NTS, ERR));
    const char *json = interp_config_json(c, NULL);
    EXPECT_JSON(json, strlen(json), "d['redact']['values'] == ['CFG'] and 'cfgvalue' not in str(d)");
    interp_config_free(c);
    interp_ctx_free(x);
}

/* Names of the host program. */
TEST(host_names)
{
    if (!interp_has("redact.pcre2"))
        SKIP("built without PCRE2");
    setenv("HOME", "/home/zaphod42", 1);
    setenv("USER", "zaphod", 1);
    setenv("LOGNAME", "zaphod-beeblebrox", 1);
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"redact_host\":1}"), *plain = open_with(x, NULL);
    static const char *const echo = "echo /home/zap''hod42/x zap''hod zap''hods azap''hod 'zap''hod-beeblebrox' zap''hod:zap''hod";
    EXPECT_RUN(plain, "sh", echo, "/home/zaphod42/x zaphod zaphods azaphod zaphod-beeblebrox zaphod:zaphod\n");
    EXPECT_RUN(s, "sh", echo, "[REDACTED:host-home]/x [REDACTED:host-user] zaphods azaphod [REDACTED:host-user] [REDACTED:host-user]:[REDACTED:host-user]\n");
    interp_session_close(s);
    interp_session_close(plain);
    interp_ctx_free(x);
}

/* ---- words of a backend: a message that quotes what it was given */

static interp_status b_open(void *u, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    (void)u, (void)spec, (void)inst;
    h->log(l, 1, "starting with KEY=" SECRET, strlen("starting with KEY=" SECRET));
    return h->fail(l, INTERP_E_BACKEND, "no-start", 0, "could not start: env KEY=" SECRET, "unset " SECRET " and try again");
}
static void b_nothing(void *inst) { (void)inst; }
static interp_status b_read(void *inst, void *p, size_t cap, size_t *n) { (void)inst, (void)p, (void)cap, (void)n; return INTERP_DONE; }
static interp_status b_write(void *inst, const void *p, size_t len, size_t *n) { (void)inst, (void)p, (void)len, (void)n; return INTERP_DONE; }
static interp_status b_kill(void *inst) { (void)inst; return INTERP_OK; }
static char logged[400];
static void keep_log(void *u, int32_t level, const char *msg, size_t len)
{
    (void)u, (void)level;
    snprintf(logged, sizeof logged, "%.*s", (int)len, msg);
}
TEST(words_of_a_backend)
{
    static const interp_backend_ops ops = { .struct_size = sizeof ops, .name = "quoting", .open = b_open, .advance = b_nothing, .read = b_read, .write = b_write,
                                            .kill = b_kill, .close = b_nothing, .abandon = b_nothing };
    for (int registered = 0; registered < 2; registered++) {
        interp_ctx *x = new_ctx(0);
        interp_session *s = NULL;
        interp_error *e = NULL;
        NEED(interp_ctx_add_backend(x, &ops, NULL, NULL, ERR));
        NEED(interp_ctx_set_log(x, keep_log, NULL, NULL, ERR));
        if (registered)
            NEED(interp_redact_add(x, "KEY", SECRET, INTERP_NTS, ERR));
        interp_config *c = new_config(x, "{\"backend\":\"quoting\"}");
        CHECK(interp_session_open(x, c, &s, &e) == INTERP_E_BACKEND);
        CHECK_STR(interp_error_message(e), registered ? "could not start: env KEY=[REDACTED:KEY]" : "could not start: env KEY=" SECRET);
        CHECK_STR(interp_error_remedy(e), registered ? "unset [REDACTED:KEY] and try again" : "unset " SECRET " and try again");
        CHECK_STR(logged, registered ? "quoting: starting with KEY=[REDACTED:KEY]" : "quoting: starting with KEY=" SECRET);
        interp_error_free(e);
        interp_config_free(c);
        interp_ctx_free(x);
    }
}

TAP_MAIN()
