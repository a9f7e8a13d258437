/* test_live.c - execs that run while nobody waits: output by offset, signals, several kernels at work.
   SPDX-License-Identifier: MIT */
#include "box.h"

#define JSON_HAS(r, expr)                                                                                         \
    do {                                                                                                          \
        size_t jn;                                                                                                \
        const char *jj = interp_result_json(r, &jn);                                                              \
        EXPECT_JSON(jj, jn, expr);                                                                                \
    } while (0)

static struct box loop_box(void)
{
    struct box b = { new_ctx(INTERP_CTX_LOOP), NULL };
    b.s = loop_open(b.x, NULL);
    return b;
}

/* ---- output by offset */

#define LINES 60000u
/* What each stream holds: LINES numbered lines; at any offset the right byte is known. */
static char wanted(uint64_t at, int stream)
{
    char line[16];
    snprintf(line, sizeof line, "%c%08u\n", stream == INTERP_STREAM_STDOUT ? 'o' : 'e', (unsigned)(at / 10));
    return line[at % 10];
}
static const char WRITER[] = "import sys\n"
                             "for i in range(0, 60000, 10):\n"
                             "    sys.stdout.write(''.join('o%08d\\n' % k for k in range(i, i + 10)))\n"
                             "    sys.stderr.write(''.join('e%08d\\n' % k for k in range(i, i + 10)))\n";

/* Reads on in steps of odd sizes, with pauses in which nobody drives anything. Returns the bytes of the stream; gaps are added up in *missing. */
static uint64_t read_on(struct box *b, interp_call *k, uint64_t missing[2], unsigned pause_us)
{
    uint64_t at[2] = { 0, 0 }, seed = 7;
    int open[2] = { 1, 1 };
    static char buf[70000];
    while (open[0] || open[1]) {
        for (int i = 0; i < 2; i++) {
            size_t want = 1 + tap_random(&seed) % sizeof buf, n = 0;
            uint64_t from = 0;
            interp_status st = interp_call_output(k, i + 1, at[i], buf, want, &n, &from, ERR);
            if (st == INTERP_DONE || st == INTERP_AGAIN) {
                CHECK_INT(n, 0);
                open[i] = st == INTERP_AGAIN;
                continue;
            }
            NEED(st);
            REQUIRE(n > 0 && n <= want && from >= at[i]);
            missing[i] += from - at[i];
            for (size_t j = 0; j < n; j++)
                if (buf[j] != wanted(from + j, i + 1))
                    FAIL("stream %d: a wrong byte at offset %llu", i + 1, (unsigned long long)(from + j));
            at[i] = from + n;
        }
        if (pause_us && tap_random(&seed) % 8 == 0)
            usleep(pause_us);
        if (b->x && interp_ctx_fd(b->x) >= 0) {
            struct pollfd p = { interp_ctx_fd(b->x), POLLIN, 0 };
            interp_call *ready;
            poll(&p, 1, 50);
            (void)interp_ctx_dispatch(b->x, NULL);
            while (interp_ctx_next(b->x, &ready) == INTERP_OK)
                ;
        } else
            (void)interp_call_wait(k, 50, 0, NULL);
    }
    CHECK_INT(at[1], LINES * 10);
    return at[0];
}

/* The bar of yielding: with hold_output no byte is lost or comes twice, in both ways of driving, whatever the pauses. */
TEST(held_output_is_exact)
{
    for (int loop = 0; loop < 2; loop++) {
        struct box b = loop ? loop_box() : new_box(NULL);
        uint64_t missing[2] = { 0, 0 };
        interp_call *k = start_exec(&b, "python", WRITER, "{\"hold_output\":1}");
        CHECK_INT(read_on(&b, k, missing, 15000), LINES * 10);
        CHECK_INT(missing[0] + missing[1], 0);
        interp_result *r = NULL;
        NEED(interp_call_finish(k, &r, ERR));
        EXPECT_OK(r);
        CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), LINES * 10);
        interp_result_free(r);
        interp_call_free(k);
        free_box(&b);
    }
}

/* A reader that stays away stalls the code and nothing else; a deadline still ends it, and letting go sets it free. */
TEST(held_output_stalls)
{
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, "python", WRITER, "{\"hold_output\":1,\"timeout_ms\":1500,\"grace_ms\":1000}");
    EXPECT_RUN(b.s, "bash", "echo beside", "beside\n");
    interp_result *r = finish_exec(k);
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", 0);
    CHECK(interp_result_total_bytes(r, INTERP_STREAM_STDOUT) < LINES * 10);
    interp_result_free(r);
    k = start_exec(&b, "python", WRITER, "{\"hold_output\":1}");
    char c;
    size_t n = 0;
    while (interp_call_output(k, INTERP_STREAM_STDOUT, 0, &c, 1, &n, NULL, ERR) == INTERP_AGAIN)
        (void)interp_call_wait(k, INTERP_FOREVER, 0, NULL);
    CHECK_INT(n, 1);
    int full = 0;
    for (int i = 0; i < 40000 && !full; i++)
        full = interp_call_wait(k, 300, 0, NULL) == INTERP_AGAIN;   /* each piece is told once; then all is full */
    CHECK(full);
    OK(interp_call_output(k, INTERP_STREAM_STDOUT, INTERP_FOREVER, NULL, 0, NULL, NULL, ERR));
    r = finish_exec(k);
    EXPECT_OK(r);
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDERR), LINES * 10);
    interp_result_free(r);
    /* the blocking form has no reader */
    r = exec_with(b.x, b.s, "python", WRITER, "{\"hold_output\":1}");
    EXPECT_OK(r);
    interp_result_free(r);
    k = start_exec(&b, "python", WRITER, "{\"hold_output\":1}");
    interp_call_free(k);   /* abandoned: the session goes on */
    EXPECT_RUN(b.s, "python", "print(1)", "1\n");
    free_box(&b);
}

/* Without hold_output: what the result would keep, with gaps that are told; nothing stalls. */
TEST(kept_output)
{
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, "bash", "for i in 1 2 3; do echo line $i; sleep 0.15; done", NULL);
    char seen[100] = "", buf[16];
    size_t have = 0, n;
    uint64_t at;
    interp_status st;
    while ((st = interp_call_output(k, INTERP_STREAM_STDOUT, have, buf, sizeof buf, &n, &at, ERR)) != INTERP_DONE) {
        if (st == INTERP_AGAIN) {
            (void)interp_call_wait(k, 30, 0, NULL);
            continue;
        }
        NEED(st);
        CHECK_INT(at, have);
        memcpy(seen + have, buf, n);
        have += n;
    }
    CHECK_STR(seen, "line 1\nline 2\nline 3\n");
    IS(interp_call_output(k, INTERP_STREAM_STDOUT, 7, buf, 6, &n, NULL, ERR), INTERP_OK);   /* again, after the end */
    CHECK_MEM(buf, "line 2", 6);
    interp_result *r = finish_exec(k);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "line 1\nline 2\nline 3\n");
    interp_result_free(r);
    uint64_t missing[2] = { 0, 0 };
    k = start_exec(&b, "python", WRITER, NULL);
    CHECK_INT(read_on(&b, k, missing, 0), LINES * 10);
    wait_done(k);
    memset(missing, 0, sizeof missing);
    CHECK_INT(read_on(&b, k, missing, 0), LINES * 10);   /* once more: head, gap, tail */
    CHECK_INT(missing[0], LINES * 10 - (64u << 10));
    r = finish_exec(k);
    EXPECT_OK(r);
    interp_result_free(r);
    free_box(&b);
}

/* What redaction holds back does not stay back while the code goes on; no secret comes out by it. */
TEST(redacted_by_offset)
{
    struct box b = new_box(NULL);
    OK(interp_redact_add(b.x, "KEY", "hunter2-hunter2", 15, ERR));
    interp_call *k = start_exec(&b, "python", "import time, sys\nsys.stdout.write('a hunter2-hun'); sys.stdout.flush()\ntime.sleep(0.1)\nsys.stdout.write('ter2 b\\nprompt? hunter2'); sys.stdout.flush()\ntime.sleep(60)", "{\"hold_output\":1}");
    char seen[256] = "", buf[64];
    size_t have = 0, n;
    while (!strstr(seen, "prompt?"))
        if (interp_call_output(k, INTERP_STREAM_STDOUT, have, buf, sizeof buf, &n, NULL, ERR) == INTERP_OK)
            memcpy(seen + have, buf, n), have += n;
        else
            (void)interp_call_wait(k, INTERP_FOREVER, 0, NULL);
    CHECK(strstr(seen, "a [REDACTED:KEY] b\nprompt?"));
    CHECK(!strstr(seen, "hunter2-hunter2"));
    interp_call_free(k);
    free_box(&b);
}

/* What a look at one stream finds of the other is told by the wait after it, and so is what a reader's buffer had no room for. */
TEST(a_look_hides_nothing)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", ":", "");
    interp_call *k = start_exec(&b, "bash", "printf 'prompt> '; read a; printf 'more> ' >&2; read b; echo once more; read c; true", "{\"interactive\":1,\"hold_output\":1,\"timeout_ms\":600000}");
    char buf[64];
    size_t n = 0, taken;
    for (int stream = 1; stream <= 2; stream++) {
        const char *all = stream == 1 ? "prompt> " : "more> ";
        usleep(500000);   /* it is there by now, usually, and nobody has driven */
        IS(interp_call_output(k, 3 - stream, stream == 1 ? 0 : 8, buf, sizeof buf, &n, NULL, ERR), INTERP_AGAIN);
        OK(interp_call_wait(k, 30000, 0, ERR));
        CHECK_INT(interp_call_output(k, stream, 0, buf, 3, &n, NULL, ERR), INTERP_OK);
        CHECK_INT(n, 3);
        for (size_t have = n; have < strlen(all); have += n)   /* a word at its end may be held back for a while */
            if (interp_call_output(k, stream, have, buf + have, sizeof buf - have, &n, NULL, ERR) == INTERP_AGAIN)
                (void)interp_call_wait(k, 10, 0, NULL);
        CHECK_MEM(buf, all, strlen(all));
        IS(interp_call_wait(k, 100, 0, ERR), INTERP_AGAIN);   /* told, and read: no news */
        OK(interp_call_write(k, "x\n", 2, &taken, ERR));
    }
    /* a reader with a small buffer who finds news in his look, and leaves some of it */
    usleep(500000);
    CHECK(interp_call_output(k, INTERP_STREAM_STDOUT, 8, buf, 1, &n, NULL, NULL) >= 0);
    OK(interp_call_wait(k, 30000, 0, ERR));
    OK(interp_call_write_end(k, ERR));
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    interp_result_free(r);
    free_box(&b);
}

TEST(output_arguments)
{
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, "bash", "echo x", NULL);
    char c;
    size_t n;
    SAYS(interp_call_output(k, 3, 0, &c, 1, &n, NULL, ERR), INTERP_E_INVAL, "stream");
    IS(interp_call_output(k, INTERP_STREAM_STDOUT, 0, NULL, 1, &n, NULL, ERR), INTERP_E_INVAL);
    IS(interp_call_output(k, INTERP_STREAM_STDOUT, 0, &c, 0, &n, NULL, ERR), INTERP_E_INVAL);
    IS(interp_call_output(NULL, INTERP_STREAM_STDOUT, 0, &c, 1, &n, NULL, ERR), INTERP_E_INVAL);
    interp_result_free(finish_exec(k));
    NEED(interp_session_restart_start(b.s, "bash", NULL, &k, ERR));
    SAYS(interp_call_output(k, INTERP_STREAM_STDOUT, 0, &c, 1, &n, NULL, ERR), INTERP_E_INVAL, "exec");
    wait_done(k);
    interp_call_free(k);
    interp_request *r = new_request(b.x, "bash", "echo", "{\"stream\":1,\"hold_output\":1}");
    SAYS(interp_session_exec_start(b.s, r, &k, ERR), INTERP_E_INVAL, "hold_output");
    interp_request_free(r);
    free_box(&b);
}

/* ---- signals */

static void until(interp_call *k, const char *want)
{
    char buf[4096];
    size_t n;
    for (interp_status st = INTERP_AGAIN; st != INTERP_DONE;) {
        n = 0;
        st = interp_call_output(k, INTERP_STREAM_STDOUT, 0, buf, sizeof buf - 1, &n, NULL, NULL);
        buf[n] = 0;
        if (strstr(buf, want))
            return;
        (void)interp_call_wait(k, 10, 0, NULL);
    }
    FAIL("\"%s\" never came", want);
}

TEST(signals)
{
    struct box b = new_box(NULL);
    /* caught by the code: its own affair */
    interp_call *k = start_exec(&b, "python", "import time\ntry:\n    print('ready', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('caught')", NULL);
    until(k, "ready");
    OK(interp_call_signal(k, SIGINT, ERR));
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    CHECK_STR(interp_result_interrupted(r), "signal");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "ready\ncaught\n");
    interp_result_free(r);
    /* not caught: an error, the state stays, in every language */
    static const struct { const char *language, *code, *after, *want; } rows[] = {
        { "python", "kept = 1; import time; print('ready', flush=True); time.sleep(60)", "print(kept)", "1\n" },
        { "bash", "kept=1; bash -c 'echo ready; exec sleep 60'", "echo $kept", "1\n" },   /* it is not between two commands then */
        { "javascript", "var kept = 1; console.log('ready'); for (;;) {}", "console.log(kept)", "1\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i == 2 && !has_program("/usr/bin/node"))
            continue;
        k = start_exec(&b, rows[i].language, rows[i].code, NULL);
        until(k, "ready");
        OK(interp_call_signal(k, SIGINT, ERR));
        r = finish_exec(k);
        EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
        CHECK_STR(interp_result_interrupted(r), "signal");
        interp_result_free(r);
        EXPECT_RUN(b.s, rows[i].language, rows[i].after, rows[i].want);
    }
    /* any other goes to what the exec started, not to the kernel */
    k = start_exec(&b, "bash", "sh -c 'echo ready; exec sleep 60'; echo \"it ended with $?\"", NULL);
    until(k, "ready");
    OK(interp_call_signal(k, SIGTERM, ERR));
    r = finish_exec(k);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "ready\nit ended with 143\n");
    CHECK_STR(interp_result_interrupted(r), "");
    interp_result_free(r);
    k = start_exec(&b, "bash", "bash -c 'trap \"echo got usr1; exit 4\" USR1; echo ready; while :; do sleep 0.05; done'; echo $?", NULL);
    until(k, "ready");
    OK(interp_call_signal(k, SIGUSR1, ERR));
    r = finish_exec(k);
    CHECK(strstr(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "got usr1\n4\n"));
    interp_result_free(r);
    k = start_exec(&b, "bash", "echo x", NULL);
    IS(interp_call_signal(k, 0, ERR), INTERP_E_INVAL);
    IS(interp_call_signal(k, 32, ERR), INTERP_E_INVAL);
    wait_done(k);
    IS(interp_call_signal(k, SIGINT, ERR), INTERP_E_CLOSED);
    interp_call_free(k);
    free_box(&b);
}

/* ---- signals of the host's own */

static volatile sig_atomic_t heard;
static void hear(int sig)
{
    (void)sig;
    heard = 1;
}
/* One that came before the sleep ends it, if it was blocked until then. */
TEST(wait_masked)
{
    struct box b = new_box(NULL);
    struct sigaction a = { .sa_handler = hear };
    sigset_t block, old;
    sigaction(SIGUSR1, &a, NULL);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    interp_call *k = start_exec(&b, "bash", "sleep 60", NULL);
    pthread_sigmask(SIG_BLOCK, &block, &old);
    pthread_kill(pthread_self(), SIGUSR1);
    CHECK_INT(heard, 0);
    uint64_t began = tap_now_ns();
    IS(interp_call_wait_masked(k, 600, INTERP_WAIT_INTR, UINT64_C(1) << (SIGUSR1 - 1), ERR), INTERP_AGAIN);   /* kept blocked: it goes on sleeping */
    CHECK(tap_now_ns() - began >= 500000000u);
    CHECK_INT(heard, 0);
    IS(interp_call_wait_masked(k, 30000, INTERP_WAIT_INTR, 0, ERR), INTERP_E_INTR);
    CHECK_INT(heard, 1);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, &old, &now);
    CHECK(sigismember(&now, SIGUSR1));   /* the mask is as it was */
    interp_call_free(k);
    free_box(&b);
}

/* Freeing a LOOP context does not hold its loop up. */
TEST(free_loop)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    interp_request *q = new_request(x, "bash", "sleep 60 & sleep 60", NULL);
    interp_call *c;
    NEED(interp_session_exec_start(s, q, &c, ERR));
    interp_request_free(q);
    struct procs left = { .n = 0 };
    CHECK(!drive(x, c, 300));
    add_children(&left, getpid());
    uint64_t began = tap_now_ns();
    interp_ctx_free(x);
    CHECK(tap_now_ns() - began < 2000000000u * (uint64_t)tap_slow());
    interp_call_free(c);
    interp_session_close(s);
    for (unsigned i = 0; i < 1000 * tap_slow() && count_alive(&left); i++)
        usleep(10000);
    CHECK_INT(count_alive(&left), 0);
}

/* ---- notices */

/* Dispatches until a notice of that type comes; it is borrowed. */
static const interp_event *next_notice(interp_ctx *x, int32_t type)
{
    const interp_event *ev;
    for (uint64_t end = tap_now_ns() + UINT64_C(20000000000) * tap_slow(); tap_now_ns() < end;) {
        while (interp_ctx_next_notice(x, &ev) == INTERP_OK)
            if (interp_event_type(ev) == type)
                return ev;
        struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
        poll(&p, 1, 20);
        (void)interp_ctx_dispatch(x, NULL);
    }
    FAIL("no notice of type %d came", (int)type);
    return NULL;
}

TEST(notices)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    const interp_event *ev;
    interp_session *s = loop_open(x, NULL);
    char id[64];
    uint64_t execs = 1;
    size_t n;
    CHECK_INT(sscanf(interp_session_info_json(s, NULL), "{\"session\":\"%63[0-9a-f]\"", id), 1);
    /* nobody has asked for notices yet: the next result has it */
    interp_result *r = loop_exec(x, s, "bash", "(sleep 0.1; echo held) & echo a", NULL);
    interp_result_free(r);
    do {
        r = loop_exec(x, s, "bash", "echo b; sleep 0.1", NULL);
        execs++;
    } while (strstr(interp_result_json(r, NULL), "\"late\":[]") && (interp_result_free(r), 1));
    JSON_HAS(r, "d['late'][0]['text'] == 'held\\n'");
    interp_result_free(r);
    CHECK_INT(interp_ctx_next_notice(x, &ev), INTERP_AGAIN);
    r = loop_exec(x, s, "bash", "(sleep 0.1; echo told; echo 'to stderr' >&2) & echo c", NULL);
    execs++;
    interp_result_free(r);
    ev = next_notice(x, INTERP_EV_LATE_OUTPUT);
    if (ev) {
        CHECK_STR(interp_event_session_id(ev), id);
        CHECK_INT(interp_event_exec(ev), execs);
        const char *data = interp_event_data(ev, &n);
        CHECK(n >= 5 && !memcmp(data, interp_event_stream(ev) == INTERP_STREAM_STDOUT ? "told\n" : "to st", 5));
    }
    ev = next_notice(x, INTERP_EV_LATE_OUTPUT);
    r = loop_exec(x, s, "bash", "echo d", NULL);
    JSON_HAS(r, "d['late'] == []");   /* never both */
    interp_result_free(r);
    /* the end of a session that nobody asked for, and not of one that was closed */
    interp_session *dying = loop_open(x, "{\"session_lifetime_ms\":1500}");
    ev = next_notice(x, INTERP_EV_SESSION_GONE);
    if (ev) {
        const char *json = interp_event_json(ev, &n);
        EXPECT_JSON(json, n, "d['reason'] == 'lifetime' and len(d['session']) == 32");
        CHECK(strcmp(interp_event_session_id(ev), id) != 0 && strlen(interp_event_session_id(ev)) == 32);
    }
    interp_session_close(dying);
    interp_session_close(s);
    (void)interp_ctx_dispatch(x, NULL);
    while (interp_ctx_next_notice(x, &ev) == INTERP_OK)
        CHECK(interp_event_type(ev) != INTERP_EV_SESSION_GONE);
    interp_ctx_free(x);
    x = new_ctx(0);
    CHECK_INT(interp_ctx_next_notice(x, &ev), INTERP_E_BUSY);
    interp_ctx_free(x);
}

/* ---- environment at run time */

TEST(environment)
{
    static const struct { const char *language, *code; } rows[] = {
        { "python", "import os; print(os.environ.get('A'), os.environ.get('B'), os.environ.get('PAGER'), __import__('subprocess').getoutput('echo $A'))" },
        { "bash", "echo \"${A-None} ${B-None} ${PAGER-None} $(sh -c 'echo $A')\"" },
        { "sh", "echo \"${A-None} ${B-None} ${PAGER-None} $(sh -c 'echo $A')\"" },
        { "javascript", "console.log([process.env.A, process.env.B, process.env.PAGER].map((v) => v === undefined ? 'None' : v).join(' ') + ' ' + require('child_process').execSync('echo $A').toString().trim())" },
    };
    struct box b = { new_ctx(0), NULL };
    b.s = open_with(b.x, "{\"env\":{\"B\":\"from the open\"}}");
    size_t n = has_program("/usr/bin/node") ? 4 : 3;
    for (size_t i = 0; i < n; i++)
        EXPECT_RUN(b.s, rows[i].language, rows[i].code, "None from the open cat \n");
    OK(interp_session_set_env(b.s, "A", "it's $HOME; \\x \"q\"", INTERP_NTS, ERR));
    OK(interp_session_unset_env(b.s, "B", ERR));
    OK(interp_session_unset_env(b.s, "PAGER", ERR));
    OK(interp_session_unset_env(b.s, "NEVER_THERE", ERR));
    for (int fresh = 0; fresh < 2; fresh++)
        for (size_t i = 0; i < n; i++) {
            if (fresh)
                OK(interp_session_restart(b.s, rows[i].language, NULL, ERR));
            EXPECT_RUN(b.s, rows[i].language, rows[i].code, "it's $HOME; \\x \"q\" None None it's $HOME; \\x \"q\"\n");
        }
    /* once it has been taken over it is the code's own; a request's holds over it for one exec; errors keep their lines */
    EXPECT_RUN(b.s, "bash", "A=mine; export A", "");
    EXPECT_RUN(b.s, "bash", "echo $A", "mine\n");
    OK(interp_session_set_env(b.s, "A", "two", INTERP_NTS, ERR));
    interp_result *r = exec_with(b.x, b.s, "bash", "echo $A $LINENO\necho $LINENO", "{\"env\":{\"C\":\"once\"}}");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "two 1\n2\n");
    interp_result_free(r);
    r = exec_with(b.x, b.s, "python", "print(os.environ['A'])", "{\"env\":{\"A\":\"once\"}}");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "once\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "print(os.environ['A'])", "two\n");
    SAYS(interp_session_set_env(b.s, "9A", "x", 1, ERR), INTERP_E_INVAL, "9A");
    SAYS(interp_session_unset_env(b.s, "A=B", ERR), INTERP_E_INVAL, "A=B");
    IS(interp_session_set_env(b.s, "A", "x\0y", 3, ERR), INTERP_E_INVAL);
    IS(interp_session_set_env(NULL, "A", "x", 1, ERR), INTERP_E_INVAL);
    /* what is refused is not there: neither in interpreters that run, nor in new ones */
    char name[251];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    interp_status st = INTERP_OK;
    for (int i = 0; i < 200 && !st; i++) {
        snprintf(name, sizeof name, "X%03d", i);
        name[4] = 'n';
        st = interp_session_unset_env(b.s, name, NULL);
    }
    CHECK_INT(st, INTERP_E_LIMIT);
    st = INTERP_OK;
    for (int i = 0; i < 200 && !st; i++) {
        snprintf(name, sizeof name, "D%d", i);
        st = interp_session_set_env(b.s, name, "x", 1, NULL);
    }
    CHECK_INT(st, INTERP_E_LIMIT);
    char code[600];
    snprintf(code, sizeof code, "echo ${%s-none}", name);
    EXPECT_RUN(b.s, "bash", code, "none\n");
    OK(interp_session_restart(b.s, "bash", NULL, ERR));
    EXPECT_RUN(b.s, "bash", code, "none\n");
    free_box(&b);
}

TAP_MAIN()
