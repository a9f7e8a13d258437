/* test_output.c - bytes on the way out: caps, cuts, totals, streaming, back-pressure, late output, results as JSON.
   SPDX-License-Identifier: MIT */
#include "box.h"

/* What a stream of n bytes must look like: byte i is 'a' + i % 26, every 100th byte a newline. */
static char pattern(uint64_t i) { return i % 100 == 99 ? '\n' : (char)('a' + i % 26); }
static const char *const pattern_code =
    "import sys\ndef w(n, f=sys.stdout):\n  s = ''.join('\\n' if i % 100 == 99 else chr(97 + i % 26) for i in range(1300))\n  b = (s * (n // 1300 + 1))[:n].encode()\n  f.buffer.write(b); f.flush()";

TEST(caps_and_totals)
{
    enum { HEAD = 48 << 10, TAIL = 16 << 10, CAP = HEAD + TAIL };
    static const int size[] = { 0, 1, 99, 100, 101, HEAD - 1, HEAD, HEAD + 1, CAP - 1, CAP, CAP + 1, CAP + 99, CAP + 1000, 2 * CAP, 1 << 20, 3000001 };
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "python", pattern_code, "");
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int st = INTERP_STREAM_STDOUT; st <= INTERP_STREAM_STDERR; st++) {
            int n = size[i], cut = n > CAP;
            char code[100];
            size_t hn = 0, tn = 0, xn = 0;
            snprintf(code, sizeof code, "w(%d, %s)", n, st == INTERP_STREAM_STDOUT ? "sys.stdout" : "sys.stderr");
            interp_result *r = run(b.s, "python", code);
            EXPECT_OK(r);
            const char *head = interp_result_head(r, st, &hn), *tail = interp_result_tail(r, st, &tn), *text = interp_result_text(r, st, &xn);
            CHECK_INT(interp_result_total_bytes(r, st), n);
            CHECK_INT(interp_result_total_lines(r, st), n / 100 + (n % 100 != 0));
            CHECK_INT(interp_result_truncated(r, st), cut);
            CHECK_INT(hn, cut ? HEAD : n);
            CHECK_INT(tn, cut ? TAIL : 0);
            int wrong = 0;
            for (size_t k = 0; k < hn; k++)
                wrong += head[k] != pattern(k);
            for (size_t k = 0; k < tn; k++)
                wrong += tail[k] != pattern((uint64_t)n - tn + k);
            CHECK_INT(wrong, 0);
            CHECK(text && text[xn] == 0);
            if (!cut) {
                CHECK_INT(xn, n);
                CHECK_MEM(text, head, hn);
            } else if (xn > CAP || memcmp(text, head, 1000) || memcmp(text + xn - 1000, tail + tn - 1000, 1000))
                FAIL("text of %d bytes has %zu: not head, marker, tail within the cap", n, xn);
            int other = 3 - st;
            CHECK_INT(interp_result_total_bytes(r, other), 0);
            interp_result_free(r);
        }
    free_box(&b);
}

/* The marker is one line of its own, and says how much is missing. */
TEST(marker)
{
    struct box b = new_box("{\"output_head_bytes\":200,\"output_tail_bytes\":300}");
    interp_result *r = run(b.s, "bash", "seq 1 1000");
    EXPECT_OK(r);
    size_t n;
    const char *t = interp_result_text(r, INTERP_STREAM_STDOUT, &n);
    CHECK(n <= 500);
    CHECK(!strncmp(t, "1\n2\n3\n", 6));
    CHECK(!strcmp(t + n - 5, "1000\n"));
    int odd = 0;
    for (const char *p = t; *p;) {
        const char *e = strchrnul(p, '\n');
        if (strspn(p, "0123456789") != (size_t)(e - p)) {
            odd++;
            printf("# the marker: %.*s\n", (int)(e - p), p);
        }
        p = *e ? e + 1 : e;
    }
    CHECK_INT(odd, 1);                       /* exactly one line that is not the guest's */
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 3893);
    CHECK_INT(interp_result_total_lines(r, INTERP_STREAM_STDOUT), 1000);
    interp_result_free(r);
    /* caps of one byte: no room for a marker, no crash, true totals */
    interp_session *s = open_with(b.x, "{\"output_head_bytes\":1,\"output_tail_bytes\":1}");
    r = run(s, "bash", "seq 1 1000");
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 3893);
    CHECK_INT(interp_result_truncated(r, INTERP_STREAM_STDOUT), 1);
    CHECK(interp_result_text(r, INTERP_STREAM_STDOUT, &n) != NULL);
    interp_result_free(r);
    interp_session_close(s);
    free_box(&b);
}

static int utf8_valid(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = p[i] < 0x80 ? 1 : p[i] >= 0xf0 ? 4 : p[i] >= 0xe0 ? 3 : p[i] >= 0xc2 ? 2 : 0;
        if (!len || i + len > n)
            return 0;
        for (size_t k = 1; k < len; k++)
            if ((p[i + k] & 0xc0) != 0x80)
                return 0;
        i += len;
    }
    return 1;
}

TEST(cuts_at_utf8)
{
    struct box b = new_box("{\"output_head_bytes\":1000,\"output_tail_bytes\":500}");
    static const char *const unit[] = { "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
    for (int u = 0; u < 3; u++)
        for (int shift = 0; shift < 4; shift++) {
            char code[200];
            snprintf(code, sizeof code, "import sys; sys.stdout.buffer.write(b'%.*s' + '%s'.encode() * 2000); sys.stdout.flush()", shift, "xxxx", unit[u]);
            interp_result *r = run(b.s, "python", code);
            size_t hn, tn, xn;
            const unsigned char *h = interp_result_head(r, INTERP_STREAM_STDOUT, &hn), *t = interp_result_tail(r, INTERP_STREAM_STDOUT, &tn);
            const char *x = interp_result_text(r, INTERP_STREAM_STDOUT, &xn);
            CHECK(utf8_valid(h, hn) && utf8_valid(t, tn) && utf8_valid((const unsigned char *)x, xn));
            CHECK(hn > 996 && hn <= 1000 && tn > 496 && tn <= 500);
            CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), shift + 2000 * (int)strlen(unit[u]));
            interp_result_free(r);
        }
    free_box(&b);
}

TEST(odd_bytes)
{
    struct box b = new_box(NULL);
    interp_result *r = run(b.s, "python", "import sys; sys.stdout.buffer.write(bytes(range(256)) + b'\\xc3'); sys.stdout.flush()");
    size_t n;
    const unsigned char *h = interp_result_head(r, INTERP_STREAM_STDOUT, &n);
    CHECK_INT(n, 257);
    for (unsigned i = 0; i < 256 && i < n; i++)
        CHECK_INT(h[i], i);
    const char *j = interp_result_json(r, &n);
    CHECK_INT(strlen(j), n);
    EXPECT_JSON(j, n, "__import__('base64').b64decode(d['stdout']['base64']) == bytes(range(256)) + b'\\xc3' and d['stdout']['text'].startswith('\\x00\\x01') and '\\ufffd' in d['stdout']['text']");
    EXPECT_JSON(j, n, "d['stdout']['total_bytes'] == 257 and d['stdout']['truncated'] is False and d['stderr']['text'] == '' and 'base64' not in d['stderr']");
    interp_result_free(r);
    free_box(&b);
}

/* Every member that the JSON of a result promises. */
TEST(result_json_shape)
{
    struct box b = new_box(NULL);
    static const char *const shape =
        "set(d) >= {'ok','outcome','cause','state','ran','interrupted','exit_code','signal','claimed_by','stdout','stderr','value','rich','error','usage','late','session','exec','language','kernel'}"
        " and all(set(d[s]) >= {'text','total_bytes','total_lines','truncated'} for s in ('stdout','stderr'))";
    struct { const char *code, *expr; } row[] = {
        { "print('x'); 5", "d['ok'] is True and d['outcome'] == 'ok' and d['cause'] is None and d['state'] == 'preserved' and d['ran'] is True and d['interrupted'] is None and d['exit_code'] == 0"
                           " and d['signal'] is None and d['value']['text'] == '5' and d['value']['mime']['text/plain'] == '5' and d['error'] is None and d['stdout'] == dict(d['stdout'], text='x\\n', total_bytes=2, total_lines=1)" },
        { "1/0", "d['ok'] is False and d['outcome'] == 'error' and d['exit_code'] == 1 and d['value'] is None and d['error']['type'] == 'ZeroDivisionError' and d['error']['line'] == 1 and d['error']['frames'][0]['file'] == '<exec 2>'" },
        { "import os; os.kill(os.getpid(), 11)", "d['outcome'] == 'crashed' and d['signal'] == 'SIGSEGV' and d['state'] == 'reset' and d['claimed_by'] == 'host'" },
        { "raise ValueError('\\ud800 \\u202e \"quoted\" \\x00 \\U0001f600')", "d['error']['type'] == 'ValueError' and 'quoted' in d['error']['message']" },
        { "class E(Exception): pass\nE.__name__ = 'n\\x00\\n\"'; raise E('a\\nb')", "d['outcome'] == 'error'" },
        { "'\\ud800'", "d['outcome'] == 'ok'" },
        { "'x' * 5", "d['value']['text'] == \"'xxxxx'\"" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        interp_result *r = run(b.s, "python", row[i].code);
        size_t n;
        const char *j = interp_result_json(r, &n);
        EXPECT_JSON(j, n, shape);
        EXPECT_JSON(j, n, row[i].expr);
        interp_result_free(r);
    }
    free_box(&b);
}

/* Values and displays as MIME parts. */
TEST(parts)
{
    struct box b = new_box(NULL);
    static const char *const code =
        "class V:\n  def _repr_mimebundle_(self, **k): return {'text/plain': 'plain', 'text/html': '<b>h</b>', 'image/png': b'\\x89PNG\\x00\\xff'}\nV()";
    interp_result *r = run(b.s, "python", code);
    EXPECT_OK(r);
    CHECK_STR(interp_result_value(r, NULL), "plain");
    uint32_t n = interp_result_part_count(r);
    int png = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *mime = NULL;
        uint32_t bundle = 99;
        size_t len = 0;
        const void *p = interp_result_part(r, i, &mime, &bundle, &len);
        REQUIRE(p && mime);
        CHECK_INT(bundle, 0);
        if (!strcmp(mime, "image/png")) {
            png = 1;
            CHECK_INT(len, 6);
            CHECK_MEM(p, "\x89PNG\x00\xff", 6);
        }
    }
    CHECK_INT(n, 3);
    CHECK_INT(png, 1);
    CHECK(interp_result_part(r, n, NULL, NULL, NULL) == NULL);
    CHECK(interp_result_part(r, UINT32_MAX, NULL, NULL, NULL) == NULL);
    const char *j = interp_result_json(r, NULL);
    EXPECT_JSON(j, strlen(j), "d['value']['text'] == 'plain' and d['value']['mime']['text/html'] == '<b>h</b>' and __import__('base64').b64decode(d['value']['mime']['image/png']) == b'\\x89PNG\\x00\\xff' and d['rich'] == []");
    interp_result_free(r);
    free_box(&b);
}

/* Streams an exec and checks every event: types, offsets without a gap, running numbers, 64 KiB at most, DONE last. */
struct streamed { uint64_t bytes[3], events; int wrong; };
static struct streamed pull_all(interp_call *k, int check_pattern, unsigned pause_ms)
{
    struct streamed t = { .events = 0 };
    uint64_t next = 0;
    int done = 0;
    for (;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_DONE)
            break;
        if (st == INTERP_AGAIN) {
            NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
            continue;
        }
        NEED(st);
        CHECK(!done);
        CHECK(interp_event_seq(ev) >= next);
        next = interp_event_seq(ev) + 1;
        if (interp_event_type(ev) == INTERP_EV_DONE) {
            done = 1;
            continue;
        }
        if (interp_event_type(ev) != INTERP_EV_OUTPUT)
            continue;
        t.events++;
        size_t n;
        const char *p = interp_event_data(ev, &n);
        int s = interp_event_stream(ev);
        REQUIRE(s == INTERP_STREAM_STDOUT || s == INTERP_STREAM_STDERR);
        CHECK(p && n > 0 && n <= 65536);
        CHECK_INT(interp_event_offset(ev), t.bytes[s]);
        for (size_t i = 0; check_pattern && i < n; i++)
            t.wrong += p[i] != pattern(t.bytes[s] + i);
        t.bytes[s] += n;
        if (pause_ms)
            tap_sleep_ms(pause_ms);
    }
    CHECK(done);
    return t;
}

TEST(stream_events)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "python", pattern_code, "");
    interp_call *k = start_exec(&b, "python", "w(1000000); w(300000, sys.stderr); w(5)", "{\"stream\":1}");
    struct streamed t = pull_all(k, 0, 0);
    CHECK_INT(t.bytes[1], 1000005);
    CHECK_INT(t.bytes[2], 300000);
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 1000005);      /* streaming changes nothing in the result */
    CHECK_INT(interp_result_truncated(r, INTERP_STREAM_STDOUT), 1);
    size_t hn;
    const char *h = interp_result_head(r, INTERP_STREAM_STDOUT, &hn);
    CHECK_INT(hn, 48 << 10);
    for (size_t i = 0; i < hn; i++)
        REQUIRE(h[i] == pattern(i));
    interp_result_free(r);
    k = start_exec(&b, "python", "w(1000000)", "{\"stream\":0}");
    t = pull_all(k, 0, 0);
    CHECK_INT(t.events, 0);
    interp_result_free(finish_exec(k));
    free_box(&b);
}

/* Output arrives while the code still runs: it goes on when it is told what came. */
TEST(stream_is_live)
{
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, "bash", "echo one; read -r; echo two", "{\"stream\":1,\"interactive\":1}");
    const interp_event *ev;
    interp_status st;
    size_t n, taken;
    uint64_t t = tap_now_ns();
    while ((st = interp_call_next(k, &ev)) == INTERP_AGAIN)
        NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
    MEASURE("first output event after", (double)(tap_now_ns() - t) / 1e6, "ms");
    REQUIRE(st == INTERP_OK && interp_event_type(ev) == INTERP_EV_OUTPUT);
    const char *p = interp_event_data(ev, &n);
    CHECK(n == 4 && !memcmp(p, "one\n", 4));
    OK(interp_call_write(k, "\n", 1, &taken, ERR));
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "one\ntwo\n");
    interp_result_free(r);
    free_box(&b);
}

TEST_LONG(flood, 180)
{
    struct box b = new_box(NULL);
    int mb = tap_slow() > 1 ? 10 : 100;
    char code[200];
    EXPECT_RUN(b.s, "python", pattern_code, "");
    snprintf(code, sizeof code, "for i in range(%d): w(1000000)", mb);
    for (int stream = 0; stream < 2; stream++) {
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        uint64_t t0 = tap_now_ns();
        interp_call *k = start_exec(&b, "python", code, stream ? "{\"stream\":1,\"timeout_ms\":120000}" : "{\"timeout_ms\":120000}");
        struct streamed t = pull_all(k, 0, 0);
        interp_result *r = finish_exec(k);
        getrusage(RUSAGE_SELF, &after);
        EXPECT_OK(r);
        CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), (long long)mb * 1000000);
        CHECK_INT(interp_result_total_lines(r, INTERP_STREAM_STDOUT), (long long)mb * 10000);
        CHECK_INT(t.bytes[1], stream ? (long long)mb * 1000000 : 0);
        MEASURE(stream ? "flood with a consumer" : "flood without", (double)mb / ((double)(tap_now_ns() - t0) / 1e9), "MB/s");
        MEASURE("growth of the host's highest memory", (double)(after.ru_maxrss - before.ru_maxrss) / 1024, "MiB");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        CHECK(after.ru_maxrss - before.ru_maxrss < 16 << 10);      /* bounded, not 100 MB */
#endif
        interp_result_free(r);
    }
    EXPECT_RUN(b.s, "python", "print('alive')", "alive\n");
    free_box(&b);
}

/* A consumer that does not pull stalls its guest (so that nothing is lost and memory is bounded), and no other session. */
TEST_LONG(slow_consumer, 120)
{
    struct box b = new_box(NULL);
    interp_session *other = open_with(b.x, NULL);
    EXPECT_RUN(b.s, "bash", ":", "");
    EXPECT_RUN(other, "bash", ":", "");
    interp_call *k = start_exec(&b, "bash", "for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero; echo $i > /workspace/at; done", "{\"stream\":1,\"timeout_ms\":600000}");
    CHECK_INT(interp_call_wait(k, INTERP_FOREVER, 0, ERR), INTERP_OK);
    uint64_t t = tap_now_ns();
    for (int i = 0; i < 20; i++)
        EXPECT_RUN(other, "bash", "echo x", "x\n");
    CHECK(tap_now_ns() - t < UINT64_C(10000000000) * tap_slow());
    tap_sleep_ms(500);
    /* a second kernel of the stalled session works too */
    interp_result *r = exec_with(b.x, b.s, "bash", "cat /workspace/at 2>/dev/null || echo 0", "{\"kernel\":\"second\"}");
    EXPECT_OK(r);
    size_t n;
    const char *at = interp_result_text(r, INTERP_STREAM_STDOUT, &n);
    printf("# the stalled guest had written %d of 8 MB\n", atoi(at));
    CHECK(atoi(at) < 8);
    interp_result_free(r);
    struct streamed st = pull_all(k, 0, 0);
    CHECK_INT(st.bytes[1], 8000000);
    r = finish_exec(k);
    EXPECT_OK(r);
    interp_result_free(r);
    interp_session_close(other);
    free_box(&b);
}

/* The wall clock runs on for a guest that is stalled: the call still ends. */
TEST(stalled_guest_times_out)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", ":", "");
    interp_call *k = start_exec(&b, "bash", "head -c 50000000 /dev/zero", "{\"stream\":1,\"timeout_ms\":1000,\"grace_ms\":500}");
    tap_sleep_ms(1700);
    uint64_t t = tap_now_ns();
    (void)pull_all(k, 0, 0);
    interp_result *r = finish_exec(k);
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", 0);
    CHECK(tap_now_ns() - t < UINT64_C(5000000000) * tap_slow());
    interp_result_free(r);
    EXPECT_RUN(b.s, "bash", "echo alive", "alive\n");
    free_box(&b);
}

TEST(results_outlive_everything)
{
    struct box b = new_box(NULL);
    interp_result *r = run(b.s, "python", "print('x' * 100000); 1/0");
    interp_session_close(b.s);
    interp_ctx_free(b.x);
    EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
    CHECK_STR(interp_result_error_type(r, NULL), "ZeroDivisionError");
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 100001);
    const char *j = interp_result_json(r, NULL);
    EXPECT_JSON(j, strlen(j), "d['error']['type'] == 'ZeroDivisionError'");
    interp_result_free(r);
}

static void *read_result(void *p)
{
    interp_result *r = p;
    static __thread int round;
    size_t n;
    const char *first = interp_result_json(r, &n);
    for (round = 0; round < 200; round++) {
        size_t m;
        CHECK(interp_result_json(r, &m) == first && m == n);
        CHECK_STR(interp_result_error_type(r, NULL), "ZeroDivisionError");
        CHECK(interp_result_text(r, INTERP_STREAM_STDOUT, &m) != NULL);
        CHECK_INT(interp_result_part_count(r), 0);
    }
    return NULL;
}
TEST(results_from_many_threads)
{
    struct box b = new_box(NULL);
    interp_result *r = run(b.s, "python", "print('x' * 100000); 1/0");
    pthread_t t[8];
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_create(&t[i], NULL, read_result, r) == 0);
    free_box(&b);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    interp_result_free(r);
}

TEST(strange_streams)
{
    struct box b = new_box(NULL);
    interp_result *r = run(b.s, "bash", "echo out; echo err >&2");
    EXPECT_TEXT(r, INTERP_STREAM_STDERR, "err\n");
    static const int32_t bad[] = { 0, 3, -1, INT32_MAX, INT32_MIN };
    for (int i = 0; i < 5; i++) {
        size_t n = 99;
        CHECK(interp_result_text(r, bad[i], &n) != NULL && n == 0);
        n = 99;
        CHECK((interp_result_head(r, bad[i], &n), n == 0));
        n = 99;
        CHECK((interp_result_tail(r, bad[i], &n), n == 0));
        CHECK_INT(interp_result_truncated(r, bad[i]), 0);
    }
    interp_result_free(r);
    free_box(&b);
}

/* /dev/stderr, /dev/stdout and /proc/self/fd can be opened again by the user's own id. */
TEST(reopened_streams)
{
    struct box b = new_box(NULL);
    interp_result *r = run(b.s, "bash", "echo e > /dev/stderr; echo o > /dev/stdout; echo p > /proc/self/fd/1");
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "o\np\n");
    EXPECT_TEXT(r, INTERP_STREAM_STDERR, "e\n");
    interp_result_free(r);
    free_box(&b);
}

/* A budget of estimated tokens instead of bytes. */
TEST(token_budget)
{
    struct box b = new_box("{\"output_tokens\":200}");
    static const char *const code[] = { "print('short')", "for i in range(10000): print('line', i)", "print('word ' * 3000)", "print('\u6f22' * 5000)", "print('x' * 100000)" };
    for (size_t i = 0; i < sizeof code / sizeof *code; i++) {
        size_t n;
        interp_result *r = run(b.s, "python", code[i]);
        EXPECT_OK(r);
        const char *t = interp_result_text(r, INTERP_STREAM_STDOUT, &n);
        uint64_t tokens = interp_estimate_tokens(t, n);
        if (!(tokens <= 200 && (i ? tokens > 100 : tokens < 5)))
            FAIL("%s: %llu tokens", code[i], (unsigned long long)tokens);
        CHECK_INT(interp_result_truncated(r, INTERP_STREAM_STDOUT), i != 0);
        CHECK(i == 0 || strstr(t, " left out ...]"));
        const char *j = interp_result_json(r, &n);
        char want[100];
        snprintf(want, sizeof want, "d['stdout']['text_tokens'] == %llu", (unsigned long long)tokens);
        EXPECT_JSON(j, n, want);
        interp_result_free(r);
    }
    CHECK_INT(interp_estimate_tokens("hello world", INTERP_NTS), 2);
    CHECK_INT(interp_estimate_tokens(NULL, 5), 0);
    free_box(&b);
}

/* Large forms of values: text is cut, JSON stays JSON, the rest is left out and named; never by halves. */
TEST(value_cap)
{
    struct box b = new_box("{\"value_bytes\":1000}");
    interp_result *r = run(b.s, "python",
        "import json\nclass V:\n  def _repr_mimebundle_(self, **k): return {'text/plain': 'p' * 5000, 'text/html': '<b>' * 900, 'image/png': b'\\x89PNG' * 900,"
        " 'application/json': json.dumps({'rows': [{'a': i, 'b': '\u20ac' * 9} for i in range(500)], 'n': 500})}\nV()");
    EXPECT_OK(r);
    size_t n, len;
    const char *v = interp_result_value(r, &n), *mime;
    CHECK(v && n <= 1000 && n > 900 && strstr(v, "left out") && v[0] == 'p' && v[n - 1] == 'p');
    int seen = 0;
    for (uint32_t i = 0; i < interp_result_part_count(r); i++) {
        const char *p = interp_result_part(r, i, &mime, NULL, &len);
        CHECK(len <= 1000 && interp_result_part_total_bytes(r, i) > len);
        if (!strcmp(mime, "application/json")) {
            seen++;
            EXPECT_JSON(p, len, "d['n'] == 500 and d['rows'][0] == {'a': 0, 'b': '\u20ac' * 9} and d['rows'][-1].endswith(' more') and int(d['rows'][-1].split()[1]) + len(d['rows']) - 1 == 500");
        }
    }
    CHECK_INT(seen, 1);
    CHECK_INT(interp_result_part_count(r), 2);
    CHECK_INT(interp_result_part_total_bytes(r, 99), 0);
    const char *j = interp_result_json(r, &n);
    EXPECT_JSON(j, n, "sorted(m for m, _ in d['value']['dropped']) == ['image/png', 'text/html'] and dict(d['value']['dropped'])['image/png'] == 3600 and dict(d['value']['cut'])['text/plain'] == 5000");
    interp_result_free(r);
    r = run(b.s, "python", "5");
    j = interp_result_json(r, &n);
    EXPECT_JSON(j, n, "d['value'] == {'text': '5', 'mime': {'text/plain': '5'}}");
    interp_result_free(r);
    free_box(&b);
}

/* One pipe for both streams: the order of the writes, whoever makes them. */
TEST(merged)
{
    struct box b = new_box("{\"merge_streams\":true}");
    static const struct { const char *language, *code, *want; } row[] = {
        { "python", "import sys\nfor i in range(6):\n  print('o%d' % i)\n  print('e%d' % i, file=sys.stderr)", "o0\ne0\no1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n" },
        { "python", "import subprocess, sys\nprint('a'); subprocess.run('echo b; echo c >&2; echo d', shell=True); print('e', file=sys.stderr); print('f')", "a\nb\nc\nd\ne\nf\n" },
        { "bash", "for i in 1 2 3; do echo o$i; echo e$i >&2; done; ls /nowhere 2>&1 | wc -l", "o1\ne1\no2\ne2\no3\ne3\n1\n" },
        { "sh", "for i in 1 2 3; do echo o$i; echo e$i >&2; done", "o1\ne1\no2\ne2\no3\ne3\n" },
        { "javascript", "for (let i = 0; i < 4; i++) { console.log('o' + i); console.error('e' + i); }", "o0\ne0\no1\ne1\no2\ne2\no3\ne3\n" },
        { "python", "import sys; sys.stdout.write('x' * 300000); sys.stderr.write('y' * 300000)", NULL },
    };
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
            interp_result *r = run(b.s, row[i].language, row[i].code);
            if (!strcmp(interp_result_cause(r), "interpreter")) {
                interp_result_free(r);
                continue;
            }
            EXPECT_OK(r);
            if (row[i].want)
                CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), row[i].want);
            else
                CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 600000);
            CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDERR), 0);
            interp_result_free(r);
        }
    interp_result *r = run(b.s, "python", "1/0");   /* an error's traceback is no output */
    CHECK_STR(interp_result_error_type(r, NULL), "ZeroDivisionError");
    interp_result_free(r);
    free_box(&b);
}

/* For eyes that are no terminal's: what it would show, in events, result and counts alike; and no secret that only a terminal puts together. */
TEST(clean_terminal)
{
    struct box b = new_box("{\"clean_terminal\":true}");
    NEED(interp_redact_add(b.x, "KEY", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS, ERR));
    static const struct { const char *code, *want; } row[] = {
        { "import sys\nfor i in range(101):\n  sys.stdout.write('\\r%3d%%' % i)\nsys.stdout.write('\\n\\x1b[A\\x1b[2K\\x1b[?25l\\x1b[31mred\\x1b[0m\\n')", "red\n" },
        { "print('plain'); print('two\\tcolumns'); print('ende', end='')", "plain\ntwo\tcolumns\nende" },
        { "print('k7Jm2Qx9zz\\b\\bw4Rt6Yz1')", "[REDACTED:KEY]\n" },                        /* whole on the screen only */
        { "print('k7Jm2Qx9' + 'w4Rt6Yz1\\rdone    ')", "done    D:KEY]\n" },                   /* whole before it is overwritten: what is left of the label */
        { "print('\\x1b]0;k7Jm2Qx9' + 'w4Rt6Yz1\\x07title')", "title\n" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int stream = 0; stream < 2; stream++) {
            interp_call *k = start_exec(&b, "python", row[i].code, stream ? "{\"stream\":true}" : NULL);
            char seen[200];
            size_t n = 0, len;
            for (;;) {
                const interp_event *ev;
                interp_status st = interp_call_next(k, &ev);
                if (st == INTERP_AGAIN)
                    NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
                else if (st == INTERP_DONE)
                    break;
                else if (interp_event_type(ev) == INTERP_EV_OUTPUT) {
                    const void *p = interp_event_data(ev, &len);
                    CHECK_INT(interp_event_offset(ev), n);
                    memcpy(seen + n, p, len < sizeof seen - n ? len : sizeof seen - n);
                    n += len;
                }
            }
            interp_result *r = NULL;
            NEED(interp_call_finish(k, &r, ERR));
            interp_call_free(k);
            EXPECT_OK(r);
            CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, &len), row[i].want);
            CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), strlen(row[i].want));
            if (stream)
                CHECK(n == len && !memcmp(seen, row[i].want, n));
            interp_result_free(r);
        }
    /* a prompt is shown while the code waits behind it */
    interp_call *k = start_exec(&b, "python", "input('Name: ')", "{\"stream\":true,\"interactive\":true}");
    char seen[100] = "";
    size_t n = 0, len, taken;
    while (!strstr(seen, "Name: ")) {
        const interp_event *ev;
        NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
        while (interp_call_next(k, &ev) == INTERP_OK)
            if (interp_event_type(ev) == INTERP_EV_OUTPUT) {
                const void *p = interp_event_data(ev, &len);
                memcpy(seen + n, p, len < 99 - n ? len : 99 - n);
                n += len;
            }
    }
    CHECK_STR(seen, "Name: ");
    NEED(interp_call_write(k, "bob\n", 4, &taken, ERR));
    NEED(interp_call_write_end(k, ERR));
    interp_call_free(k);
    free_box(&b);
}

TAP_MAIN()
