/* test_limits.c - limits of time other than the wall clock: processor time, silence, a session's idle time and its lifetime.
   SPDX-License-Identifier: MIT */
#include "api.h"

static interp_result *timed(interp_ctx *x, interp_session *s, const char *language, const char *code, const char *json, double *seconds)
{
    uint64_t began = tap_now_ns();
    interp_result *r = exec_with(x, s, language, code, json);
    *seconds = (double)(tap_now_ns() - began) / 1e9;
    return r;
}

/* Busy code is ended by its processor time, whoever of what it started spends it; its state survives. */
TEST(cpu)
{
    static const struct { const char *language, *code; } rows[] = {
        { "python", "kept = 5\nwhile True: pass" },
        { "python", "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'while :; do :; done'])" },
        { "python", "import os, time\nif os.fork() == 0:\n    if os.fork() == 0:\n        os.setsid()\n        while True: pass\n    os._exit(0)\nos.wait()\ntime.sleep(60)" },
        { "bash", "while :; do :; done" },
        { "javascript", "for (;;) {}" },
    };
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"timeout_ms\":120000,\"grace_ms\":60000}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i == 4 && !has_program("/usr/bin/node"))
            continue;
        double seconds;
        interp_result *r = timed(x, s, rows[i].language, rows[i].code, "{\"cpu_ms\":400}", &seconds);
        EXPECT(r, INTERP_OUTCOME_TIMEOUT, "cpu", INTERP_STATE_PRESERVED);
        CHECK_STR(interp_result_interrupted(r), "cpu");
        CHECK_STR(interp_result_claimed_by(r), "host");
        if (interp_result_cpu_ns(r) < 300000000u)
            FAIL("row %zu: ended after %llu ns of processor time", i, (unsigned long long)interp_result_cpu_ns(r));
        interp_result_free(r);
    }
    EXPECT_RUN(s, "python", "print(kept)", "5\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

/* What sleeps uses none; what earlier execs left running is not charged to the next. */
TEST(cpu_of_this_exec_only)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"cpu_ms\":300}");
    interp_result *r = exec_with(x, s, "python", "import subprocess, time\np = subprocess.Popen(['/bin/sh', '-c', 'while :; do :; done'])", "{\"cpu_ms\":20000}");
    EXPECT_OK(r);
    interp_result_free(r);
    r = exec_with(x, s, "python", "time.sleep(1.5); print('slept'); p.kill()", NULL);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "slept\n");
    interp_result_free(r);
    r = exec_with(x, s, "python", "t = time.process_time()\nwhile time.process_time() < t + 1: pass\nprint('burnt')", "{\"cpu_ms\":20000}");   /* the request's own */
    EXPECT_OK(r);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(idle_output)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"idle_output_ms\":4000,\"grace_ms\":60000}");
    double seconds;
    interp_result_free(exec_with(x, s, "python", "import sys, time", "{\"idle_output_ms\":60000}"));   /* the silence is the code's, not of a start */
    interp_result_free(exec_with(x, s, "bash", ":", "{\"idle_output_ms\":60000}"));
    interp_result *r = timed(x, s, "python", "print('begun')\ntime.sleep(60)", NULL, &seconds);
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "idle_output", INTERP_STATE_PRESERVED);
    CHECK_STR(interp_result_interrupted(r), "idle_output");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "begun\n");
    CHECK(seconds >= 4);
    interp_result_free(r);
    /* output keeps it going, on either stream, and a display does */
    r = timed(x, s, "python", "for i in range(8):\n    time.sleep(0.6)\n    print(i, flush=True, file=sys.stderr if i % 2 else sys.stdout)\n", NULL, &seconds);
    EXPECT_OK(r);
    CHECK(seconds >= 4.8);
    interp_result_free(r);
    r = timed(x, s, "bash", "sleep 60", "{\"idle_output_ms\":300}", &seconds);
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "idle_output", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* A consumer that does not pull holds the code up: that is no silence of the code's. */
TEST(idle_output_behind_a_slow_consumer)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"idle_output_ms\":2500}");
    interp_result_free(exec_with(x, s, "python", "import sys", "{\"idle_output_ms\":60000}"));
    interp_request *q = new_request(x, "python", "for i in range(64): sys.stdout.write('x' * 65536)", "{\"stream\":1}");
    interp_call *c = NULL;
    NEED(interp_session_exec_start(s, q, &c, ERR));
    interp_request_free(q);
    uint64_t end = tap_now_ns() + UINT64_C(4000000000);
    while (tap_now_ns() < end)
        if (interp_call_wait(c, 20, 0, NULL) == INTERP_OK)
            usleep(20000);   /* there is news; nobody takes it */
    interp_result *r = finish_exec(c);
    EXPECT_OK(r);
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 64 * 65536);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

static void until_gone(const struct procs *left)
{
    for (unsigned i = 0; i < 500 * tap_slow() && count_alive(left); i++)
        usleep(20000);
    CHECK_INT(count_alive(left), 0);
}
/* The sandbox ends at its time, an exec in flight with it, and says why, in both ways of driving. */
TEST(lifetime)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"session_lifetime_ms\":4000}");   /* for an interpreter's start, too */
    uint64_t began = tap_now_ns();
    EXPECT_RUN(s, "bash", "echo early", "early\n");
    interp_result *r = exec_with(x, s, "bash", "echo still; sleep 60", NULL);
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "lifetime", INTERP_STATE_GONE);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "still\n");
    CHECK_STR(interp_result_interrupted(r), "");
    CHECK(tap_now_ns() - began >= 1000000000u);
    interp_result_free(r);
    interp_result *none = NULL;
    interp_error *err = NULL;
    CHECK_INT(interp_session_run(s, "bash", "echo late", INTERP_NTS, &none, &err), INTERP_E_CLOSED);
    CHECK_STR(interp_error_reason(err), "lifetime");
    interp_error_free(err);
    interp_session_close(s);
    /* a host that does nothing: the agent keeps the time */
    s = open_with(x, "{\"session_lifetime_ms\":1000}");
    struct procs left = { .n = 0 };
    add_children(&left, getpid());
    CHECK(left.n > 0);
    until_gone(&left);
    err = NULL;
    CHECK_INT(interp_session_run(s, "bash", "echo late", INTERP_NTS, &none, &err), INTERP_E_CLOSED);
    CHECK_STR(interp_error_reason(err), "lifetime");
    interp_error_free(err);
    interp_session_close(s);
    interp_ctx_free(x);
    x = new_ctx(INTERP_CTX_LOOP);
    s = loop_open(x, "{\"session_lifetime_ms\":2500}");
    r = loop_exec(x, s, "bash", "sleep 60", NULL);
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "lifetime", INTERP_STATE_GONE);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* The idle time: the agent ends it, the next call says so; a call in flight is not idle. */
TEST(session_idle)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"session_idle_ms\":2500}");
    interp_result *r = exec_with(x, s, "bash", "sleep 3; echo done", NULL);
    EXPECT_OK(r);
    interp_result_free(r);
    struct procs left = { .n = 0 };
    add_children(&left, getpid());
    until_gone(&left);
    interp_error *err = NULL;
    CHECK_INT(interp_session_run(s, "bash", "echo late", INTERP_NTS, &r, &err), INTERP_E_CLOSED);
    CHECK_STR(interp_error_reason(err), "expired");
    interp_error_free(err);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(values)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, "{\"cpu_ms\":5,\"idle_output_ms\":\"forever\",\"session_lifetime_ms\":5000}");
    const char *json = interp_config_json(c, NULL);   /* borrowed until the next call */
    EXPECT_JSON(json, strlen(json), "d['cpu_ms'] == 5 and d['idle_output_ms'] == 'forever' and d['session_lifetime_ms'] == 5000");
    SAYS(interp_config_set_cpu_ms(c, 0, ERR), INTERP_E_INVAL, "cpu_ms");
    SAYS(interp_config_set_session_lifetime_ms(c, 999, ERR), INTERP_E_INVAL, "session_lifetime_ms");
    interp_request *r = new_request(x, NULL, NULL, NULL);
    SAYS(interp_request_set_idle_output_ms(r, 0, ERR), INTERP_E_INVAL, "idle_output_ms");
    OK(interp_request_set_cpu_ms(r, INTERP_FOREVER, ERR));
    interp_request_free(r);
    interp_config_free(c);
    c = new_config(x, NULL);
    json = interp_config_json(c, NULL);
    EXPECT_JSON(json, strlen(json), "d['cpu_ms'] == d['idle_output_ms'] == d['session_lifetime_ms'] == 'forever'");
    interp_config_free(c);
    interp_ctx_free(x);
}

TAP_MAIN()
