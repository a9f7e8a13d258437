/* test_cancel.c - cancel, abandon, shutdown and close at every moment, from threads and from a signal handler.
   SPDX-License-Identifier: MIT */
#include "api.h"

struct box { interp_ctx *x; interp_session *s; interp_cancel *t; };
static struct box new_box(const char *json)
{
    struct box b = { new_ctx(0), NULL, NULL };
    b.s = open_with(b.x, json);
    NEED(interp_cancel_new(b.x, &b.t, ERR));
    return b;
}
static void free_box(struct box *b)
{
    interp_cancel_free(b->t);
    interp_session_close(b->s);
    interp_ctx_free(b->x);
}
static void fresh_token(struct box *b)
{
    interp_cancel_free(b->t);
    NEED(interp_cancel_new(b->x, &b->t, ERR));
}
static interp_request *cancellable(struct box *b, const char *language, const char *code, const char *json)
{
    interp_request *r = new_request(b->x, language, code, json);
    NEED(interp_request_set_cancel(r, b->t, ERR));
    return r;
}
static interp_call *start_exec(struct box *b, interp_request *r)
{
    interp_call *k = NULL;
    NEED(interp_session_exec_start(b->s, r, &k, ERR));
    interp_request_free(r);
    return k;
}
/* The code hears the first signal; no rung behind it is to end a kernel that a busy machine keeps waiting. */
#define PATIENT "{\"grace_ms\":6000," SLOW_KILLS "}"
static unsigned sweep_steps(void) { return tap_slow() > 1 ? 10 : 40; }

TEST(token)
{
    interp_ctx *x = new_ctx(0);
    interp_cancel *t = NULL;
    NEED(interp_cancel_new(x, &t, ERR));
    CHECK_INT(interp_cancel_fired(t), 0);
    interp_cancel_fire(t);
    interp_cancel_fire(t);
    interp_cancel_fire(t);
    CHECK_INT(interp_cancel_fired(t), 1);
    interp_cancel_free(t);
    interp_ctx_free(x);
}

TEST(fired_before_start)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", "x=1", "");
    interp_cancel_fire(b.t);
    interp_result *r = exec_request(b.s, cancellable(&b, "bash", "touch /workspace/ran; echo out", NULL));
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_PRESERVED);
    CHECK_INT(interp_result_ran(r), 0);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "");
    interp_result_free(r);
    EXPECT_RUN(b.s, "bash", "ls /workspace; echo $x", "1\n");
    /* also when the kernel does not exist yet */
    r = exec_request(b.s, cancellable(&b, "python", "1", NULL));
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", 0);
    CHECK_INT(interp_result_ran(r), 0);
    interp_result_free(r);
    free_box(&b);
}

TEST(fired_before_open)
{
    struct box b = { new_ctx(0), NULL, NULL };
    NEED(interp_cancel_new(b.x, &b.t, ERR));
    interp_config *c = new_config(b.x, NULL);
    NEED(interp_config_set_cancel(c, b.t, ERR));
    interp_cancel_fire(b.t);
    interp_session *s = (interp_session *)&s;
    IS(interp_session_open(b.x, c, &s, ERR), INTERP_E_CANCELLED);
    CHECK(s == (interp_session *)&s);
    NEED(interp_config_set_cancel(c, NULL, ERR));          /* detached: opens */
    interp_status st = interp_session_open(b.x, c, &s, ERR);
    skip_without_sandbox(st);
    OK(st);
    interp_session_close(s);
    interp_config_free(c);
    interp_cancel_free(b.t);
    interp_ctx_free(b.x);
    CHECK_INT(count_descendants(), 0);
}

TEST_LONG(open_sweep, 120)
{
    interp_ctx *x = new_ctx(0);
    interp_session *probe = open_with(x, NULL);              /* skips where there is no sandbox */
    interp_session_close(probe);
    uint64_t t0 = tap_now_ns();
    interp_session_close(open_with(x, NULL));
    unsigned span = (unsigned)((tap_now_ns() - t0) / 1000) * 5 / 4, opened = 0, cancelled = 0;
    for (unsigned i = 0; i < sweep_steps(); i++) {
        interp_cancel *t = NULL;
        interp_session *s = NULL;
        struct later l;
        NEED(interp_cancel_new(x, &t, ERR));
        interp_config *c = new_config(x, NULL);
        NEED(interp_config_set_cancel(c, t, ERR));
        later_start(&l, span * i / sweep_steps(), fire, t);
        if (!i)
            later_join(&l);                                 /* one of them is in time for certain */
        interp_status st = interp_session_open(x, c, &s, ERR);
        if (st == INTERP_OK) {
            opened++;
            EXPECT_RUN(s, "sh", "echo works", "works\n");   /* a call that finished first keeps its outcome */
            interp_session_close(s);
        } else {
            cancelled++;
            IS(st, INTERP_E_CANCELLED);
        }
        api_drop();
        if (i)
            later_join(&l);
        interp_config_free(c);
        interp_cancel_free(t);
    }
    printf("# open over %u us: %u opened, %u cancelled\n", span, opened, cancelled);
    CHECK(cancelled > 0);
    interp_ctx_free(x);
    CHECK_INT(count_descendants(), 0);
}

/* The outcome may be ok or cancelled; never anything else, and the session goes on. */
static void sweep_exec(const char *language, const char *code, unsigned span, int fresh_kernel)
{
    struct box b = new_box(PATIENT);
    unsigned ok = 0, cancelled = 0, not_run = 0, lost_state = 0;
    EXPECT_RUN(b.s, language, !strcmp(language, "python") ? "pass" : ":", "");
    for (unsigned i = 0; i < sweep_steps(); i++) {
        struct later l;
        fresh_token(&b);
        if (fresh_kernel)
            OK(interp_session_restart(b.s, language, NULL, ERR));
        interp_request *r = cancellable(&b, language, code, NULL);
        later_start(&l, span * i / sweep_steps(), fire, b.t);
        interp_result *out = exec_request(b.s, r);
        switch (interp_result_outcome(out)) {
        case INTERP_OUTCOME_OK:
            ok++;
            break;
        case INTERP_OUTCOME_CANCELLED:
            cancelled++;
            not_run += interp_result_ran(out) == 0;
            lost_state += interp_result_state(out) != INTERP_STATE_PRESERVED;
            if (interp_result_state(out) == INTERP_STATE_GONE)
                show_result(__FILE__, __LINE__, out, "the session is gone");
            break;
        default:
            show_result(__FILE__, __LINE__, out, "neither ok nor cancelled");
        }
        interp_result_free(out);
        later_join(&l);
        EXPECT_RUN(b.s, language, !strcmp(language, "python") ? "print(1)" : "echo 1", "1\n");
    }
    printf("# %s over %u us: %u ok, %u cancelled, of them %u did not run and %u lost the kernel's state\n", language, span, ok, cancelled, not_run, lost_state);
    free_box(&b);
}
TEST_LONG(exec_sweep_python, 120) { sweep_exec("python", "print(1)", 3000, 0); }
TEST_LONG(exec_sweep_python_sleeping, 120) { sweep_exec("python", "import time; time.sleep(0.02)", 30000, 0); }
TEST_LONG(exec_sweep_python_fresh, 180) { sweep_exec("python", "print(1)", 60000, 1); }
TEST_LONG(exec_sweep_bash, 120) { sweep_exec("bash", "echo 1", 5000, 0); }
TEST_LONG(exec_sweep_bash_child, 120) { sweep_exec("bash", "sleep 0.02; true", 30000, 0); }
TEST_LONG(exec_sweep_bash_fresh, 180) { sweep_exec("bash", "echo 1", 20000, 1); }

/* The signal of a cancel that comes as the exec ends by itself must not reach the next exec: neither as an end of the kernel nor as lost output. */
static void near_the_end(const char *language, const char *first, const char *second, unsigned span, int n)
{
    struct box b = new_box(PATIENT);
    uint64_t seed = 11;
    int cancelled = 0, bad = 0;
    EXPECT_RUN(b.s, language, first, "1\n");
    for (int i = 0; i < n / (tap_slow() > 1 ? 4 : 1) && bad < 5; i++) {
        struct later l;
        unsigned us = (unsigned)(tap_random(&seed) % span);
        fresh_token(&b);
        interp_request *r = cancellable(&b, language, first, NULL);
        later_start(&l, us, fire, b.t);
        interp_result *out = exec_request(b.s, r), *next = NULL;
        later_join(&l);
        cancelled += interp_result_outcome(out) == INTERP_OUTCOME_CANCELLED;
        if ((interp_result_outcome(out) != INTERP_OUTCOME_OK && interp_result_outcome(out) != INTERP_OUTCOME_CANCELLED) || interp_result_state(out) == INTERP_STATE_GONE) {
            bad++;
            show_result(__FILE__, __LINE__, out, "neither ok nor cancelled");
        }
        if (!OK(interp_session_run(b.s, language, second, INTERP_NTS, &next, ERR)))
            break;
        if (!interp_result_ok(next) || strcmp(interp_result_text(next, INTERP_STREAM_STDOUT, NULL), "2\n")) {
            char what[100];
            snprintf(what, sizeof what, "round %d, %s after %u us: the next exec", i, interp_result_outcome_name(out), us);
            bad++;
            show_result(__FILE__, __LINE__, next, what);
        }
        interp_result_free(out);
        interp_result_free(next);
    }
    printf("# %s: %d of %d cancelled\n", language, cancelled, n);
    free_box(&b);
}
TEST_LONG(near_the_end_python, 120) { near_the_end("python", "print(1)", "print(2)", 800, 1500); }
TEST_LONG(near_the_end_bash, 120) { near_the_end("bash", "echo 1", "echo 2", 2500, 1500); }
TEST_LONG(near_the_end_sh, 120) { near_the_end("sh", "echo 1", "echo 2", 2500, 1500); }
TEST_LONG(near_the_end_javascript, 120) { near_the_end("javascript", "console.log(1)", "console.log(2)", 2500, 1500); }

TEST(cancel_running)
{
    static const struct { const char *language, *code; } row[] = {
        { "python", "print('begun', flush=True)\nwhile True: pass" }, { "python", "import time; print('begun', flush=True); time.sleep(1000)" },
        { "python", "import subprocess; print('begun', flush=True); subprocess.run(['sleep', '1000'])" },
        { "bash", "echo begun; while :; do :; done" }, { "bash", "echo begun; sleep 1000" }, { "bash", "echo begun; cat /dev/zero | wc -c" },
    };
    struct box b = new_box(PATIENT);
    EXPECT_RUN(b.s, "python", "x = 1", "");
    EXPECT_RUN(b.s, "bash", "x=1", "");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fresh_token(&b);
        interp_call *k = start_exec(&b, cancellable(&b, row[i].language, row[i].code, "{\"stream\":1}"));
        wait_output(k, INTERP_STREAM_STDOUT, "begun\n");
        tap_sleep_ms(100);                                  /* mostly it is in the midst of it then */
        uint64_t t = tap_now_ns();
        interp_cancel_fire(b.t);
        interp_result *out = finish_exec(k);
        double ms = (double)(tap_now_ns() - t) / 1e6;
        MEASURE(row[i].code, ms, "ms from cancel to result");
        EXPECT(out, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_PRESERVED);
        CHECK_STR(interp_result_interrupted(out), "cancel");
        CHECK_INT(interp_result_ran(out), 1);
        CHECK(ms < 3500 * tap_slow());
        interp_result_free(out);
    }
    EXPECT_RUN(b.s, "python", "print(x)", "1\n");
    EXPECT_RUN(b.s, "bash", "echo $x", "1\n");
    free_box(&b);
}

/* 128 + SIGINT is how a shell says that a command of its died of it, its own signal not yet heard, and a script that it passes an interrupt on; another code is its own word. */
TEST(codes_of_an_interrupted_shell)
{
    static const struct { const char *language, *code; int outcome; } row[] = {
        { "bash", "trap 'exit 130' INT; touch on; while :; do sleep 0.05; done", INTERP_OUTCOME_CANCELLED },
        { "bash", "trap 'exit 3' INT; touch on; while :; do sleep 0.05; done", INTERP_OUTCOME_ERROR },
        { "bash", "trap : INT; touch on; sleep 1000", INTERP_OUTCOME_CANCELLED },
        { "sh", "trap 'exit 130' INT; touch on; while :; do sleep 0.05; done", INTERP_OUTCOME_CANCELLED },
    };
    struct box b = new_box(PATIENT);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fresh_token(&b);
        interp_call *k = start_exec(&b, cancellable(&b, row[i].language, row[i].code, NULL));
        EXPECT_RUN(b.s, "python", "import os, time\nwhile not os.path.exists('on'): time.sleep(0.01)\nos.remove('on')", "");
        interp_cancel_fire(b.t);
        interp_result *out = finish_exec(k);
        CHECK_INT(interp_result_outcome(out), row[i].outcome);
        CHECK_STR(interp_result_interrupted(out), "cancel");
        if (row[i].outcome == INTERP_OUTCOME_ERROR)
            CHECK_INT(interp_result_exit_code(out), 3);
        interp_result_free(out);
    }
    free_box(&b);
}

/* Says so on stdout when it has begun, and on stderr each time that it has caught something. (a call in it: CPython drops the handler of a body that cannot raise) */
static const char *const stubborn = "import os, time\nn = 0\nwhile True:\n  try:\n    n += 1\n    os.write(*((1, b'begun\\n') if n == 1 else (2, b'again\\n')))\n    while True: time.sleep(0.01)\n"
                                    "  except BaseException: pass";

TEST(second_fire_skips_the_grace)
{
    struct box b = new_box("{\"grace_ms\":30000," SLOW_KILLS "}");
    EXPECT_RUN(b.s, "python", "x = 1", "");
    interp_call *k = start_exec(&b, cancellable(&b, "python", stubborn, "{\"stream\":1}"));
    wait_output(k, INTERP_STREAM_STDOUT, "begun\n");
    interp_cancel_fire(b.t);
    wait_output(k, INTERP_STREAM_STDERR, "again\n");
    IS(interp_call_finish(k, NULL, ERR), INTERP_AGAIN);
    uint64_t t = tap_now_ns();
    interp_cancel_fire(b.t);
    interp_result *out = finish_exec(k);
    double ms = (double)(tap_now_ns() - t) / 1e6;
    MEASURE("second fire to result", ms, "ms");
    EXPECT(out, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_RESET);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "begun\n");
    CHECK(ms < 5000 * tap_slow());
    interp_result_free(out);
    EXPECT_RUN(b.s, "python", "print('x' in globals())", "False\n");
    free_box(&b);
}

TEST(grace_ends_a_stubborn_kernel)
{
    struct box b = new_box("{\"grace_ms\":1000," SLOW_KILLS "}");
    EXPECT_RUN(b.s, "python", "x = 1", "");
    interp_call *k = start_exec(&b, cancellable(&b, "python", stubborn, "{\"stream\":1}"));
    wait_output(k, INTERP_STREAM_STDOUT, "begun\n");
    uint64_t t = tap_now_ns();
    interp_cancel_fire(b.t);
    interp_result *out = finish_exec(k);
    double ms = (double)(tap_now_ns() - t) / 1e6;
    MEASURE("from cancel to result, grace 1000 ms", ms, "ms");
    EXPECT(out, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_RESET);
    CHECK(ms > 890 && ms < 1000 + 4000 * tap_slow());
    interp_result_free(out);
    free_box(&b);
}

TEST(one_token_for_many)
{
    struct box b = new_box(PATIENT);
    interp_call *k[4];
    for (int i = 0; i < 4; i++) {
        char json[60];
        snprintf(json, sizeof json, "{\"kernel\":\"k%d\"}", i);
        k[i] = start_exec(&b, cancellable(&b, i & 1 ? "bash" : "python", i & 1 ? "sleep 1000" : "import time; time.sleep(1000)", json));
    }
    (void)interp_call_wait(k[0], 500, 0, NULL);
    interp_cancel_fire(b.t);
    for (int i = 0; i < 4; i++) {
        interp_result *r = finish_exec(k[i]);
        EXPECT(r, INTERP_OUTCOME_CANCELLED, "", 0);
        interp_result_free(r);
    }
    EXPECT_RUN(b.s, "bash", "echo on", "on\n");
    free_box(&b);
}

static interp_cancel *signal_token;
static void on_signal(int sig)
{
    (void)sig;
    interp_cancel_fire(signal_token);
}
TEST_LONG(signal_handler_sweep, 120)
{
    struct box b = new_box(PATIENT);
    struct sigaction sa = { .sa_handler = on_signal };
    timer_t tm;
    struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    sigaction(SIGUSR1, &sa, NULL);
    REQUIRE(timer_create(CLOCK_MONOTONIC, &se, &tm) == 0);
    EXPECT_RUN(b.s, "python", "import time", "");
    unsigned ok = 0, cancelled = 0;
    for (unsigned i = 0; i < sweep_steps(); i++) {
        fresh_token(&b);
        signal_token = b.t;
        struct itimerspec its = { .it_value = { 0, (long)(i * 30000000 / sweep_steps()) + 1000 } };
        interp_request *r = cancellable(&b, "python", "time.sleep(0.02)", NULL);
        timer_settime(tm, 0, &its, NULL);
        interp_result *out = exec_request(b.s, r);
        ok += interp_result_outcome(out) == INTERP_OUTCOME_OK;
        cancelled += interp_result_outcome(out) == INTERP_OUTCOME_CANCELLED;
        interp_result_free(out);
        while (!interp_cancel_fired(b.t))
            tap_sleep_ms(1);
    }
    printf("# %u ok, %u cancelled\n", ok, cancelled);
    CHECK_INT(ok + cancelled, sweep_steps());
    CHECK(cancelled > 0);
    /* a storm of signals during opens and closes */
    struct itimerspec storm = { { 0, 3000000 }, { 0, 3000000 } };
    fresh_token(&b);
    signal_token = b.t;
    timer_settime(tm, 0, &storm, NULL);
    for (int i = 0; i < 5; i++) {
        interp_session *s = open_with(b.x, NULL);
        EXPECT_RUN(s, "bash", "echo x", "x\n");
        interp_session_close(s);
    }
    timer_delete(tm);
    free_box(&b);
}

TEST_LONG(abandon, 120)
{
    static const struct { const char *language, *code, *next; unsigned ms; } row[] = {
        { "python", "while True: pass", "print(x)", 0 }, { "python", "while True: pass", "print(x)", 50 }, { "python", "import time; time.sleep(1000)", "print(x)", 300 },
        { "bash", "sleep 1000", "echo $x", 0 }, { "bash", "sleep 1000", "echo $x", 300 }, { "bash", "yes", "echo $x", 100 }, { "python", "print('x' * 10000000)", "print(x)", 20 },
    };
    struct box b = new_box(PATIENT);
    EXPECT_RUN(b.s, "python", "x = 1", "");
    EXPECT_RUN(b.s, "bash", "x=1", "");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int stream = 0; stream < 2; stream++) {
            interp_call *k = start_exec(&b, new_request(b.x, row[i].language, row[i].code, stream ? "{\"stream\":1}" : "{}"));
            if (row[i].ms)
                (void)interp_call_wait(k, row[i].ms, 0, NULL);
            long sleeps = count_sleeps();
            uint64_t t = tap_now_ns();
            interp_call_free(k);
            uint64_t freed = tap_now_ns() - t;
            sleeps = count_sleeps() - sleeps;
            EXPECT_RUN(b.s, row[i].language, row[i].next, "1\n");
            double ms = (double)(tap_now_ns() - t) / 1e6;
            char name[100];
            snprintf(name, sizeof name, "abandoned after %u ms, then exec: %s", row[i].ms, row[i].code);
            MEASURE(name, ms, "ms");
            CHECK(freed < UINT64_C(300000000) * tap_slow() || !sleeps);   /* never blocks */
            CHECK(ms < 4000 * tap_slow());
        }
    free_box(&b);
}

TEST(abandon_then_close)
{
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, new_request(b.x, "python", stubborn, NULL));
    (void)interp_call_wait(k, 300, 0, NULL);
    interp_call_free(k);
    uint64_t t = tap_now_ns();
    free_box(&b);
    MEASURE("close after an abandoned stubborn exec", (double)(tap_now_ns() - t) / 1e6, "ms");
    CHECK(tap_now_ns() - t < UINT64_C(4000000000) * tap_slow());
    CHECK_INT(count_descendants(), 0);
}

/* The machine stands still, host and sandbox both, until all bounds are over: who is late to look waits once more before it gives the sandbox up. */
TEST(late_to_look)
{
    struct box b = new_box("{\"memory_bytes\":67108864}");
    struct procs l = { .n = 0 };
    EXPECT_RUN(b.s, "bash", "x=1", "");
    add_children(&l, getpid());
    REQUIRE(l.n > 2);
    interp_call *k = start_exec(&b, cancellable(&b, "bash", "echo begun; sleep 1000", "{\"stream\":1,\"grace_ms\":100}"));
    wait_output(k, INTERP_STREAM_STDOUT, "begun\n");
    kill(l.pid[0], SIGSTOP);
    interp_cancel_fire(b.t);
    (void)interp_call_wait(k, 0, 0, NULL);     /* asks for the end */
    tap_sleep_ms(4000);
    for (int i = 0; i < 3; i++)
        (void)interp_call_wait(k, 0, 0, NULL);
    kill(l.pid[0], SIGCONT);
    interp_result *r = finish_exec(k);
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", 0);
    interp_result_free(r);
    EXPECT_RUN(b.s, "bash", "echo on", "on\n");
    free_box(&b);
}

/* ---- shutdown from a second thread */

TEST_LONG(shutdown_during_open, 120)
{
    interp_ctx *x = new_ctx(0);
    interp_session_close(open_with(x, NULL));
    unsigned closed = 0, opened = 0;
    for (unsigned i = 0; i < sweep_steps(); i++) {
        interp_session *s = NULL;
        interp_call *k = NULL;
        struct later l;
        NEED(interp_session_open_start(x, NULL, &s, &k, ERR));
        later_start(&l, i * 1500, shut, s);
        wait_done(k);
        interp_status st = interp_call_finish(k, NULL, ERR);
        opened += st == INTERP_OK;
        closed += st == INTERP_E_CLOSED;
        if (st != INTERP_OK)
            IS(st, INTERP_E_CLOSED);
        later_join(&l);
        CHECK(interp_session_status(s) >= INTERP_SESSION_SHUTDOWN);
        interp_result *r = NULL;
        IS(interp_session_run(s, "python", "1", 1, &r, ERR), INTERP_E_CLOSED);
        interp_session_close(s);
        interp_call_free(k);
    }
    printf("# %u opened first, %u ended with CLOSED\n", opened, closed);
    interp_ctx_free(x);
    CHECK_INT(count_descendants(), 0);
}

TEST_LONG(shutdown_during_exec, 120)
{
    interp_ctx *x = new_ctx(0);
    for (unsigned i = 0; i < 12; i++) {
        interp_session *s = open_with(x, NULL);
        struct later l;
        interp_result *r = NULL;
        later_start(&l, i * 20000, shut, s);
        interp_status st = interp_session_run(s, i & 1 ? "bash" : "python", i & 1 ? "sleep 1000" : "while True: pass", INTERP_NTS, &r, ERR);
        if (st == INTERP_OK) {
            EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_GONE);
            interp_result_free(r);
        } else
            IS(st, INTERP_E_CLOSED);                                /* it came before the exec began */
        api_drop();
        later_join(&l);
        interp_session_close(s);
    }
    interp_ctx_free(x);
    CHECK_INT(count_descendants(), 0);
}

TEST(shutdown_when_idle)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    EXPECT_RUN(s, "python", "1", "");
    struct later l[4];
    for (int i = 0; i < 4; i++)
        later_start(&l[i], 0, shut, s);                             /* idempotent, several threads at once */
    for (int i = 0; i < 4; i++)
        later_join(&l[i]);
    interp_result *r = NULL;
    interp_call *k = NULL;
    IS(interp_session_run(s, "python", "1", 1, &r, ERR), INTERP_E_CLOSED);
    IS(interp_session_restart(s, "python", NULL, ERR), INTERP_E_CLOSED);
    (void)k;
    interp_session_close(s);
    interp_ctx_free(x);
    CHECK_INT(count_descendants(), 0);
}

TEST(shutdown_ends_every_call)
{
    struct box b = new_box(NULL);
    interp_call *k[3], *again = NULL;
    for (int i = 0; i < 3; i++) {
        char json[60];
        snprintf(json, sizeof json, "{\"kernel\":\"k%d\",\"stream\":%d}", i, i & 1);
        k[i] = start_exec(&b, new_request(b.x, "bash", "sleep 1000", json));
    }
    (void)interp_call_wait(k[0], 500, 0, NULL);
    NEED(interp_session_restart_start(b.s, "bash", "k2", &again, ERR));
    interp_session_shutdown(b.s);
    for (int i = 0; i < 3; i++) {
        interp_result *r = finish_exec(k[i]);
        EXPECT(r, INTERP_OUTCOME_CANCELLED, "", 0);
        interp_result_free(r);
    }
    wait_done(again);
    interp_status st = interp_call_finish(again, NULL, ERR);
    CHECK(st == INTERP_E_CLOSED || st == INTERP_OK);
    api_drop();
    interp_call_free(again);
    free_box(&b);
    CHECK_INT(count_descendants(), 0);
}

/* ---- close */

TEST_LONG(close_during_open, 120)
{
    interp_ctx *x = new_ctx(0);
    interp_session_close(open_with(x, NULL));
    for (unsigned i = 0; i < sweep_steps(); i++) {
        interp_session *s = NULL;
        interp_call *k = NULL;
        NEED(interp_session_open_start(x, NULL, &s, &k, ERR));
        if (i)
            (void)interp_call_wait(k, i, 0, NULL);
        uint64_t t = tap_now_ns();
        CHECK(interp_session_close(s) == NULL);
        CHECK(tap_now_ns() - t < UINT64_C(6000000000) * tap_slow());
        interp_status st = interp_call_finish(k, NULL, ERR);        /* done, whatever it came to */
        CHECK(st == INTERP_OK || st == INTERP_E_CLOSED || st == INTERP_E_CANCELLED);
        api_drop();
        interp_call_free(k);
    }
    CHECK_INT(count_descendants(), 0);
    interp_ctx_free(x);
}

TEST_LONG(call_freed_during_open, 120)
{
    interp_ctx *x = new_ctx(0);
    interp_session_close(open_with(x, NULL));
    for (unsigned i = 0; i < 10; i++) {
        interp_session *s = NULL;
        interp_call *k = NULL;
        NEED(interp_session_open_start(x, NULL, &s, &k, ERR));
        (void)interp_call_wait(k, i * 3, 0, NULL);
        interp_call_free(k);                                        /* abandons the open */
        interp_session_close(s);
    }
    CHECK_INT(count_descendants(), 0);
    interp_ctx_free(x);
}

TEST(close_during_exec)
{
    for (unsigned i = 0; i < 6; i++) {
        struct box b = new_box(NULL);
        interp_call *k = start_exec(&b, new_request(b.x, "python", i & 1 ? stubborn : "import time; time.sleep(1000)", NULL));
        (void)interp_call_wait(k, i * 40, 0, NULL);
        uint64_t t = tap_now_ns();
        interp_session_close(b.s);
        b.s = NULL;
        CHECK(tap_now_ns() - t < UINT64_C(4000000000) * tap_slow());
        CHECK(interp_call_session(k) == NULL);
        interp_result *r = finish_exec(k);
        EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_GONE);
        interp_result_free(r);
        free_box(&b);
        CHECK_INT(count_descendants(), 0);
    }
}

/* Closing kills what still runs, however it hides. */
TEST(close_kills_daemons)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", "for i in 1 2 3; do setsid nohup sh -c 'trap \"\" TERM INT HUP; : > there'$i'; while :; do sleep 100; done' > /dev/null 2>&1 < /dev/null & done; "
                            "(setsid sh -c 'sleep 1000 & : > there4; exit' &) > /dev/null 2>&1; until [ -e there1 -a -e there2 -a -e there3 -a -e there4 ]; do sleep 0.01; done; echo ok", "ok\n");
    struct procs l = { .n = 0 };
    add_children(&l, getpid());
    printf("# %d processes\n", l.n);
    CHECK(l.n > 4);
    uint64_t t = tap_now_ns();
    interp_session_close(b.s);
    b.s = NULL;
    MEASURE("close with daemons", (double)(tap_now_ns() - t) / 1e6, "ms");
    CHECK_INT(count_alive(&l), 0);
    free_box(&b);
}

struct runner { interp_ctx *x; interp_cancel *stop; interp_status st; };
static void *run_ctx(void *p)
{
    struct runner *r = p;
    r->st = interp_ctx_run(r->x, r->stop, NULL);
    return NULL;
}
/* A helper thread in interp_ctx_run beside blocking calls. */
TEST(ctx_run)
{
    struct box b = new_box(NULL);
    struct runner r = { b.x, b.t, 99 };
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, run_ctx, &r) == 0);
    for (int i = 0; i < 50; i++)
        EXPECT_RUN(b.s, "python", "print(1)", "1\n");
    interp_session *s = open_with(b.x, NULL);
    EXPECT_RUN(s, "bash", "kill -9 -1; echo x", "x\n");
    tap_sleep_ms(200);
    interp_session_close(s);
    interp_cancel_fire(b.t);
    pthread_join(t, NULL);
    CHECK_INT(r.st, INTERP_OK);
    EXPECT_RUN(b.s, "python", "print(1)", "1\n");
    free_box(&b);
}

/* Sessions of one threaded context from several threads at once. */
struct worker { interp_ctx *x; int n, bad; };
static void *work(void *p)
{
    struct worker *w = p;
    interp_session *s = NULL;
    if (interp_session_open(w->x, NULL, &s, NULL) != INTERP_OK) {
        w->bad = 1000;
        return NULL;
    }
    for (int i = 0; i < w->n; i++) {
        interp_result *r = NULL;
        char code[60];
        snprintf(code, sizeof code, "print(%d)", i);
        if (interp_session_run(s, "python", code, INTERP_NTS, &r, NULL) != INTERP_OK || atoi(interp_result_text(r, INTERP_STREAM_STDOUT, NULL)) != i)
            w->bad++;
        interp_result_free(r);
    }
    interp_session_close(s);
    return NULL;
}
TEST_LONG(many_threads, 120)
{
    struct box b = new_box(NULL);
    pthread_t t[8];
    struct worker w[8];
    for (int i = 0; i < 8; i++) {
        w[i] = (struct worker){ b.x, 50, 0 };
        REQUIRE(pthread_create(&t[i], NULL, work, &w[i]) == 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(t[i], NULL);
        CHECK_INT(w[i].bad, 0);
    }
    free_box(&b);
}

/* Two threads in one session at once: an answer, never a crash. */
static void *intrude(void *p)
{
    struct box *b = p;
    long busy = 0, ok = 0;
    for (int i = 0; i < 300; i++) {
        interp_result *r = NULL;
        interp_status st = interp_session_run(b->s, "bash", "echo x", INTERP_NTS, &r, ERR);
        busy += st == INTERP_E_BUSY;
        ok += st == INTERP_OK;
        if (st != INTERP_OK && st != INTERP_E_BUSY) {
            IS(st, INTERP_E_BUSY);
            break;
        }
        api_drop();
        if (r && !interp_result_ok(r))
            show_result(__FILE__, __LINE__, r, "not ok");
        interp_result_free(r);
    }
    printf("# %ld ok, %ld busy\n", ok, busy);
    return NULL;
}
TEST(two_threads_in_one_session)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", ":", "");
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&t[i], NULL, intrude, &b) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    EXPECT_RUN(b.s, "bash", "echo x", "x\n");
    free_box(&b);
}

TAP_MAIN()
