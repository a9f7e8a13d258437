/* test_input.c - interactive standard input: fed while the code runs, ended, waited for, never read.
   SPDX-License-Identifier: MIT */
#include "box.h"

/* Waits until the streamed output has `want` in it. */
static void wait_for(interp_call *k, const char *want)
{
    char seen[4096] = "";
    size_t n = 0;
    while (!strstr(seen, want)) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_DONE)
            break;
        if (st == INTERP_AGAIN)
            (void)interp_call_wait(k, INTERP_FOREVER, 0, NULL);
        else if (interp_event_type(ev) == INTERP_EV_OUTPUT) {
            size_t len;
            const char *p = interp_event_data(ev, &len);
            len = len < sizeof seen - 1 - n ? len : sizeof seen - 1 - n;
            memcpy(seen + n, p, len);
            seen[n += len] = 0;
        }
    }
    CHECK(strstr(seen, want));
}
static void say(interp_call *k, const char *text)
{
    size_t taken = 0;
    OK(interp_call_write(k, text, strlen(text), &taken, ERR));
    CHECK_INT(taken, strlen(text));
}

/* A dialogue: each question is answered when it has been seen, in every language that reads. */
TEST(dialogue)
{
    static const struct { const char *language, *code; } rows[] = {
        { "python", "a = input('name? ')\nb = input('age? ')\nprint(f'<{a} {b}>')" },
        { "bash", "printf 'name? '; read a; printf 'age? '; read b; echo \"<$a $b>\"" },
        { "javascript", "const rl = require('readline').createInterface({ input: process.stdin, output: process.stdout });\n"
                        "const ask = (q) => new Promise((r) => rl.question(q, r));\nconst a = await ask('name? '); const b = await ask('age? '); console.log(`<${a} ${b}>`); rl.close(); 0" },
    };
    struct box b = new_box(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i == 2 && !has_program("/usr/bin/node"))
            continue;
        interp_call *k = start_exec(&b, rows[i].language, rows[i].code, "{\"interactive\":1,\"stream\":1,\"timeout_ms\":600000}");
        wait_for(k, "name? ");
        say(k, "Ada\n");
        wait_for(k, "age? ");
        say(k, "36\n");
        wait_for(k, "<Ada 36>");
        interp_result *r = finish_exec(k);
        EXPECT_OK(r);
        interp_result_free(r);
    }
    EXPECT_RUN(b.s, "python", "import sys; print(repr(sys.stdin.read()))", "''\n");   /* the next exec has its own, empty */
    free_box(&b);
}

/* What the request brings comes first; write_end is end of file; input written before the kernel runs waits. */
TEST(order_and_end)
{
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, "python", "import sys\nprint(repr(sys.stdin.read()))", "{\"interactive\":1,\"stdin\":\"one \"}");
    say(k, "two ");
    say(k, "three");
    OK(interp_call_write_end(k, ERR));
    OK(interp_call_write_end(k, ERR));
    size_t taken = 77;
    IS(interp_call_write(k, "x", 1, &taken, ERR), INTERP_E_INVAL);
    wait_done(k);
    IS(interp_call_write(k, "x", 1, &taken, ERR), INTERP_E_CLOSED);
    IS(interp_call_write_end(k, ERR), INTERP_E_CLOSED);
    CHECK_INT(taken, 77);
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "'one two three'\n");
    interp_result_free(r);
    k = start_exec(&b, "python", "import sys\nprint(repr(sys.stdin.read()))", "{\"interactive\":1}");   /* an end and nothing before it */
    OK(interp_call_write_end(k, ERR));
    r = finish_exec(k);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "''\n");
    interp_result_free(r);
    free_box(&b);
}

#define BIG (5u << 20)
static size_t feed(interp_call *k, const char *data, size_t at)
{
    size_t taken = 0;
    if (at < BIG) {
        OK(interp_call_write(k, data + at, BIG - at, &taken, ERR));
        at += taken;
        if (at == BIG)
            OK(interp_call_write_end(k, ERR));
    }
    return at;
}
/* More than any buffer on the way: each WRITABLE brings it on, nothing is lost, and what waits is bounded. */
TEST(back_pressure)
{
    char *data = malloc(BIG);
    REQUIRE(data);
    for (size_t i = 0; i < BIG; i++)
        data[i] = (char)('a' + i % 26);
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, "python", "import sys, time, hashlib\ntime.sleep(0.2)\nd = sys.stdin.buffer.read()\nprint(len(d), d == bytes(97 + i % 26 for i in range(26)) * (len(d) // 26) + d[len(d) // 26 * 26:])",
                           "{\"interactive\":1,\"timeout_ms\":600000}");
    size_t at = feed(k, data, 0);
    int writable = 0;
    CHECK(at < 1u << 20);
    for (interp_status st = INTERP_AGAIN; st != INTERP_DONE;) {
        const interp_event *ev;
        st = interp_call_next(k, &ev);
        if (st == INTERP_AGAIN)
            OK(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
        else if (st == INTERP_OK && interp_event_type(ev) == INTERP_EV_WRITABLE) {
            writable++;
            size_t n = 1;
            (void)interp_event_data(ev, &n);
            CHECK_INT(n, 0);
            at = feed(k, data, at);
        }
    }
    interp_result *r = NULL;
    OK(interp_call_finish(k, &r, ERR));
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "5242880 True\n");
    CHECK_INT(at, BIG);
    CHECK(writable >= 5);
    interp_result_free(r);
    interp_call_free(k);
    free_box(&b);
    free(data);
}

/* The same in a LOOP context. */
TEST(back_pressure_in_a_loop)
{
    char *data = calloc(1, BIG);
    REQUIRE(data);
    memset(data, 'x', BIG);
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    interp_request *q = new_request(x, "bash", "wc -c", "{\"interactive\":1,\"timeout_ms\":600000}");
    interp_call *k = NULL;
    NEED(interp_session_exec_start(s, q, &k, ERR));
    interp_request_free(q);
    size_t at = feed(k, data, 0);
    int done = 0;
    for (int turn = 0; turn < 100000 && !done; turn++) {
        struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
        interp_call *named;
        if (poll(&p, 1, 20000 * (int)tap_slow()) <= 0)
            break;
        (void)interp_ctx_dispatch(x, NULL);
        while (interp_ctx_next(x, &named) == INTERP_OK) {
            const interp_event *ev;
            interp_status st;
            while ((st = interp_call_next(named, &ev)) == INTERP_OK)
                if (interp_event_type(ev) == INTERP_EV_WRITABLE)
                    at = feed(k, data, at);
            done |= st == INTERP_DONE;
        }
    }
    CHECK(done);
    interp_result *r = NULL;
    OK(interp_call_finish(k, &r, ERR));
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "5242880\n");
    interp_result_free(r);
    interp_call_free(k);
    interp_session_close(s);
    interp_ctx_free(x);
    free(data);
}

/* Waiting for input is waiting: deadlines and cancels end it with the state kept, and code that never reads ends as it would. */
TEST(waiting_ends)
{
    struct box b = new_box("{\"grace_ms\":60000}");
    EXPECT_RUN(b.s, "python", "x = 41", "");
    interp_call *k = start_exec(&b, "python", "input()", "{\"interactive\":1,\"timeout_ms\":300}");
    interp_result *r = finish_exec(k);
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "print(x)", "41\n");
    char data[4096];
    memset(data, 'y', sizeof data);
    k = start_exec(&b, "python", "print(x + 1)", "{\"interactive\":1}");
    size_t taken = 0, total = 0;
    for (int i = 0; i < 1000; i++)
        if (interp_call_write(k, data, sizeof data, &taken, NULL) == INTERP_OK)
            total += taken;
    CHECK(total <= 1u << 20);
    r = finish_exec(k);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "42\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "import sys; print(repr(sys.stdin.read()))", "''\n");
    k = start_exec(&b, "python", "input()", "{\"interactive\":1}");                      /* given up: it is cancelled */
    interp_call_free(k);
    EXPECT_RUN(b.s, "python", "print(x)", "41\n");
    free_box(&b);
}

TEST(misuse)
{
    struct box b = new_box(NULL);
    size_t taken = 5;
    interp_call *k = start_exec(&b, "python", "import time; time.sleep(0.3)", NULL);
    SAYS(interp_call_write(k, "x", 1, &taken, ERR), INTERP_E_INVAL, "interactive");
    IS(interp_call_write_end(k, ERR), INTERP_E_INVAL);
    interp_result_free(finish_exec(k));
    IS(interp_call_write(NULL, "x", 1, &taken, ERR), INTERP_E_INVAL);
    IS(interp_call_write_end(NULL, ERR), INTERP_E_INVAL);
    k = start_exec(&b, "python", "input()", "{\"interactive\":1}");
    IS(interp_call_write(k, NULL, 1, &taken, ERR), INTERP_E_INVAL);
    IS(interp_call_write(k, "x", 1, NULL, ERR), INTERP_E_INVAL);
    CHECK_INT(taken, 5);
    OK(interp_call_write(k, NULL, 0, &taken, ERR));
    CHECK_INT(taken, 0);
    say(k, "\n");
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    interp_result_free(r);
    interp_request *q = new_request(b.x, "python", "1", NULL);
    IS(interp_request_set_interactive(q, 2, ERR), INTERP_E_INVAL);
    interp_request_free(q);
    free_box(&b);
}

TAP_MAIN()
