/* test_loop.c - contexts driven by an event loop over one descriptor.
   SPDX-License-Identifier: MIT */
#include "api.h"
#include <sys/epoll.h>
#include <sys/select.h>

static int readable(interp_ctx *x, int ms)
{
    struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
    return poll(&p, 1, ms);
}
/* Dispatches until the descriptor is silent: for long enough that a sandbox which stood still meanwhile would have spoken. */
static int settle(interp_ctx *x)
{
    int n = 0;
    while (readable(x, 1000) > 0) {
        (void)interp_ctx_dispatch(x, NULL);
        interp_call *k;
        while (interp_ctx_next(x, &k) == INTERP_OK)
            ;
        if (++n > 10000)
            return -1;
    }
    return n;
}
static interp_call *start_exec(interp_ctx *x, interp_session *s, const char *language, const char *code, const char *json)
{
    interp_call *k = NULL;
    interp_request *r = new_request(x, language, code, json);
    NEED(interp_session_exec_start(s, r, &k, ERR));
    interp_request_free(r);
    return k;
}

TEST(hello)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    int fd = interp_ctx_fd(x);
    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    interp_session *s = loop_open(x, NULL);
    CHECK_INT(interp_ctx_fd(x), fd);
    interp_result *r = loop_exec(x, s, "python", "print('hello')", NULL);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "hello\n");
    interp_result_free(r);
    CHECK_INT(interp_ctx_fd(x), fd);
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        interp_session *one = i ? loop_open(x, NULL) : s;
        uint64_t t = tap_now_ns();
        interp_session_close(one);
        t = tap_now_ns() - t;
        least = t < least ? t : least;
    }
    MEASURE("close in a loop", (double)least / 1e6, "ms");
    CHECK(least < 200000000u * (uint64_t)tap_slow());                  /* does not wait, the loop finishes it */
    CHECK_INT(descendants_left(x), 0);
    interp_ctx_free(x);
}

TEST(silent_when_idle)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    CHECK_INT(readable(x, 0), 0);
    IS(interp_ctx_dispatch(x, ERR), INTERP_OK);                        /* nothing to do is fine */
    interp_call *none = (interp_call *)&none;
    IS(interp_ctx_next(x, &none), INTERP_AGAIN);
    CHECK(none == (interp_call *)&none);
    interp_session *s = loop_open(x, NULL);
    interp_result_free(loop_exec(x, s, "python", "1", NULL));
    CHECK(settle(x) >= 0);
    uint64_t t = tap_now_ns();
    CHECK_INT(readable(x, 1500), 0);                                   /* no heartbeat, no spurious wake-up */
    CHECK(tap_now_ns() - t > UINT64_C(1400000000));
    interp_call *k = start_exec(x, s, "bash", "sleep 1; echo x", NULL);
    for (int wakes = 0;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_DONE) {
            printf("# %d wake-ups for an exec that sleeps 1 s\n", wakes);
            CHECK(wakes < 60);
            break;
        }
        if (st != INTERP_AGAIN)
            continue;
        if (readable(x, -1) > 0) {
            wakes++;
            (void)interp_ctx_dispatch(x, NULL);
        }
    }
    interp_call_free(k);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* The host never computes a timeout: poll(-1) comes back for deadlines too. */
TEST(deadlines_wake_the_loop)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    interp_result_free(loop_exec(x, s, "python", "1", NULL));
    static const char *const code[] = { "while True: pass", "import time\nwhile True:\n  try:\n    while True: time.sleep(0.01)\n  except BaseException: pass" };
    for (int i = 0; i < 2; i++) {
        interp_call *k = start_exec(x, s, "python", code[i], i ? "{\"timeout_ms\":400,\"grace_ms\":1500}" : "{\"timeout_ms\":400,\"grace_ms\":60000}");
        uint64_t t = tap_now_ns();
        const interp_event *ev;
        interp_status st;
        while ((st = interp_call_next(k, &ev)) != INTERP_DONE)
            if (st == INTERP_AGAIN && readable(x, -1) > 0)
                (void)interp_ctx_dispatch(x, NULL);
        double ms = (double)(tap_now_ns() - t) / 1e6;
        MEASURE(i ? "timeout 400 + grace 1500, stubborn" : "timeout 400", ms, "ms");
        CHECK(ms > 390 && ms < 1000 + 3000 * tap_slow());
        interp_result *r = NULL;
        OK(interp_call_finish(k, &r, ERR));
        EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", i ? INTERP_STATE_RESET : INTERP_STATE_PRESERVED);
        interp_result_free(r);
        interp_call_free(k);
    }
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(open_timeout_wakes_the_loop)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session_close(loop_open(x, NULL));                          /* skips without a sandbox */
    interp_config *c = new_config(x, "{\"open_timeout_ms\":1}");
    interp_session *s = NULL;
    interp_call *k = NULL;
    NEED(interp_session_open_start(x, c, &s, &k, ERR));
    interp_config_free(c);
    CHECK(drive(x, k, 20000 * tap_slow()));
    interp_status st = interp_call_finish(k, NULL, ERR);
    CHECK(st == INTERP_E_TIMEOUT || st == INTERP_OK);
    api_drop();
    interp_call_free(k);
    interp_session_close(s);
    interp_ctx_free(x);
    CHECK_INT(descendants_left(NULL), 0);
}

static uint64_t fired_at;
static void note_and_fire(void *t)
{
    fired_at = tap_now_ns();
    interp_cancel_fire(t);
}
TEST(other_threads_wake_the_loop)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, "{\"timeout_ms\":600000,\"grace_ms\":60000}");
    interp_cancel *t = NULL;
    struct later l;
    interp_result_free(loop_exec(x, s, "python", "import time", NULL));
    NEED(interp_cancel_new(x, &t, ERR));
    interp_request *q = new_request(x, "python", "time.sleep(1000)", NULL);
    NEED(interp_request_set_cancel(q, t, ERR));
    interp_call *k = NULL;
    NEED(interp_session_exec_start(s, q, &k, ERR));
    interp_request_free(q);
    later_start(&l, 300000, note_and_fire, t);
    CHECK(drive(x, k, 20000 * tap_slow()));
    later_join(&l);
    MEASURE("cancel from another thread to result", (double)(tap_now_ns() - fired_at) / 1e6, "ms");
    interp_result *r = NULL;
    OK(interp_call_finish(k, &r, ERR));
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    interp_call_free(k);
    k = start_exec(x, s, "python", "time.sleep(1000)", NULL);
    later_start(&l, 300000, shut, s);
    CHECK(drive(x, k, 20000 * tap_slow()));
    later_join(&l);
    OK(interp_call_finish(k, &r, ERR));
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_GONE);
    interp_result_free(r);
    interp_call_free(k);
    interp_cancel_free(t);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* 100 sessions in one epoll loop, the context's descriptor added once and never touched again. */
struct user { interp_session *s; interp_call *k; int step, bad; uint64_t bytes; };
TEST_LONG(hundred_sessions, 180)
{
    enum { N = 100, STEPS = 5 };
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session_close(loop_open(x, NULL));
    int n = tap_slow() > 1 ? 20 : N, left = n, ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event add = { .events = EPOLLIN, .data = { .u64 = 77 } };
    REQUIRE(epoll_ctl(ep, EPOLL_CTL_ADD, interp_ctx_fd(x), &add) == 0);
    struct user *u = calloc((size_t)n, sizeof *u);
    int fds = count_fds();
    uint64_t t0 = tap_now_ns(), longest = 0;
    long dispatches = 0;
    interp_config *c = new_config(x, "{\"memory_bytes\":67108864,\"timeout_ms\":120000}");
    for (int i = 0; i < n; i++) {
        NEED(interp_session_open_start(x, c, &u[i].s, &u[i].k, ERR));
        interp_call_set_userdata(u[i].k, &u[i]);
    }
    interp_config_free(c);
    while (left > 0) {
        struct epoll_event ev;
        if (epoll_wait(ep, &ev, 1, 60000) != 1) {
            FAIL("nothing for a minute, %d sessions left", left);
            break;
        }
        CHECK_INT(ev.data.u64, 77);
        uint64_t t = tap_now_ns();
        interp_status st = interp_ctx_dispatch(x, ERR);
        uint64_t took = tap_now_ns() - t;
        longest = took > longest ? took : longest;
        dispatches++;
        REQUIRE(st == INTERP_OK || st == INTERP_AGAIN);
        interp_call *k;
        while (interp_ctx_next(x, &k) == INTERP_OK) {
            struct user *me = interp_call_userdata(k);
            const interp_event *e;
            REQUIRE(me && me->k == k);
            while ((st = interp_call_next(k, &e)) == INTERP_OK)
                if (interp_event_type(e) == INTERP_EV_OUTPUT) {
                    size_t len;
                    (void)interp_event_data(e, &len);
                    me->bytes += len;
                }
            if (st != INTERP_DONE)
                continue;
            if (interp_call_kind(k) == INTERP_CALL_OPEN) {
                if (!OK(interp_call_finish(k, NULL, ERR)))
                    tap_leave(1);
            } else {
                interp_result *r = NULL;
                OK(interp_call_finish(k, &r, ERR));
                me->bad += !interp_result_ok(r);
                interp_result_free(r);
            }
            interp_call_free(k);
            me->k = NULL;
            if (me->step++ == STEPS) {
                left--;
                continue;
            }
            char code[200];
            snprintf(code, sizeof code, "i=%d; for k in $(seq 200); do echo \"$i line $k of some length\"; done", me->step);
            me->k = start_exec(x, me->s, "sh", code, "{\"stream\":1}");
            interp_call_set_userdata(me->k, me);
        }
    }
    MEASURE("100 sessions, open and 5 streaming execs each", (double)(tap_now_ns() - t0) / 1e6, "ms");
    MEASURE("longest dispatch", (double)longest / 1e6, "ms");
    MEASURE("dispatches", dispatches, "");
    MEASURE("descriptors a session", (double)(count_fds() - fds) / n, "");
    for (int i = 0; i < n; i++) {
        CHECK_INT(u[i].bad, 0);
        CHECK_INT(u[i].bytes, STEPS * 5092);
        interp_session_close(u[i].s);
    }
    interp_ctx_free(x);
    close(ep);
    free(u);
    CHECK_INT(descendants_left(NULL), 0);
}

/* One call of many is not pulled: the others go on, and the descriptor does not spin. */
TEST_LONG(slow_consumer_in_a_loop, 120)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *slow = loop_open(x, NULL), *fast = loop_open(x, NULL);
    interp_call *k = start_exec(x, slow, "bash", "head -c 20000000 /dev/zero", "{\"stream\":1,\"timeout_ms\":600000}");
    for (int i = 0; i < 100; i++) {
        interp_result *r = loop_exec(x, fast, "bash", "echo x", NULL);
        CHECK(interp_result_ok(r));
        interp_result_free(r);
    }
    (void)settle(x);
    CHECK_INT(readable(x, 500), 0);                                   /* stalled is silent, not busy */
    uint64_t bytes = 0;
    for (;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_DONE)
            break;
        if (st == INTERP_OK && interp_event_type(ev) == INTERP_EV_OUTPUT) {
            size_t n;
            (void)interp_event_data(ev, &n);
            bytes += n;
        } else if (st == INTERP_AGAIN) {
            if (readable(x, 20000) != 1) {
                FAIL("the loop slept on %" PRIu64 " of 20000000 bytes", bytes);
                break;
            }
            (void)interp_ctx_dispatch(x, NULL);
        }
    }
    CHECK_INT(bytes, 20000000);
    interp_result *r = NULL;
    OK(interp_call_finish(k, &r, ERR));
    EXPECT_OK(r);
    interp_result_free(r);
    interp_call_free(k);
    interp_session_close(slow);
    interp_session_close(fast);
    interp_ctx_free(x);
}

/* Dispatch is bounded and leaves the descriptor readable: a flood does not keep the loop inside. */
TEST_LONG(dispatch_is_bounded, 120)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    interp_call *k = start_exec(x, s, "bash", "head -c 50000000 /dev/zero | tr '\\0' x", "{\"timeout_ms\":600000}");
    uint64_t longest = 0, n = 0;
    const interp_event *ev;
    interp_status st;
    while ((st = interp_call_next(k, &ev)) != INTERP_DONE)
        if (st == INTERP_AGAIN && readable(x, -1) > 0) {
            uint64_t t = tap_cpu_ns();
            (void)interp_ctx_dispatch(x, NULL);
            t = tap_cpu_ns() - t;
            longest = t > longest ? t : longest;
            n++;
        }
    printf("# %" PRIu64 " dispatches\n", n);
    MEASURE("longest dispatch under a flood", (double)longest / 1e6, "ms");
    CHECK(longest < UINT64_C(100000000) * tap_slow());
    interp_result *r = NULL;
    OK(interp_call_finish(k, &r, ERR));
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 50000000);
    interp_result_free(r);
    interp_call_free(k);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* A call is named again only after its interp_call_next has said AGAIN and news came. */
TEST(named_once)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    interp_call *k = start_exec(x, s, "bash", "echo a", NULL), *got;
    int named = 0;
    while (!named) {
        if (readable(x, -1) > 0)
            (void)interp_ctx_dispatch(x, NULL);
        while (interp_ctx_next(x, &got) == INTERP_OK) {
            CHECK(got == k);
            named++;
        }
    }
    CHECK_INT(named, 1);
    for (int i = 0; i < 5; i++) {
        (void)interp_ctx_dispatch(x, NULL);
        CHECK_INT(interp_ctx_next(x, &got), INTERP_AGAIN);             /* its event has not been pulled */
    }
    const interp_event *ev;
    interp_status st;
    while ((st = interp_call_next(k, &ev)) == INTERP_OK)
        ;
    CHECK_INT(st, INTERP_DONE);
    CHECK_INT(interp_ctx_next(x, &got), INTERP_AGAIN);
    interp_call_free(k);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(freed_call_is_not_named)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    for (int i = 0; i < 10; i++) {
        interp_call *k = start_exec(x, s, "bash", i & 1 ? "echo a" : "sleep 1000", "{\"stream\":1}"), *got;
        for (int j = 0; j < i; j++)
            if (readable(x, 5) > 0)
                (void)interp_ctx_dispatch(x, NULL);
        interp_call_free(k);
        CHECK_INT(interp_ctx_next(x, &got), INTERP_AGAIN);
        interp_result *r = loop_exec(x, s, "bash", "echo next", NULL);
        EXPECT_OK(r);
        EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "next\n");
        interp_result_free(r);
    }
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(close_during_open_in_a_loop)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session_close(loop_open(x, NULL));
    for (int i = 0; i < 30; i++) {
        interp_session *s = NULL;
        interp_call *k = NULL;
        NEED(interp_session_open_start(x, NULL, &s, &k, ERR));
        for (int j = 0; j < i; j++)
            if (readable(x, 2) > 0)
                (void)interp_ctx_dispatch(x, NULL);
        interp_session_close(s);
        CHECK(interp_call_session(k) == NULL);
        CHECK(drive(x, k, 10000 * tap_slow()));
        interp_status st = interp_call_finish(k, NULL, NULL);
        CHECK(st == INTERP_OK || st == INTERP_E_CLOSED || st == INTERP_E_CANCELLED);
        interp_call_free(k);
    }
    CHECK_INT(descendants_left(x), 0);
    interp_ctx_free(x);
}

TEST(free_with_everything_open)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL), *t = NULL;
    interp_call *k = start_exec(x, s, "bash", "sleep 1000", NULL), *o = NULL;
    NEED(interp_session_open_start(x, NULL, &t, &o, ERR));
    interp_ctx_free(x);
    CHECK_INT(count_running(), 0);
    interp_call_free(k);
    interp_call_free(o);
    interp_session_close(t);
    interp_session_close(s);
    CHECK_INT(descendants_left(NULL), 0);
}

/* The descriptor inside select, and in an outer epoll that is edge-triggered when dispatched until OK. */
TEST(other_loops)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    int fd = interp_ctx_fd(x);
    interp_call *k = start_exec(x, s, "bash", "head -c 3000000 /dev/zero", "{\"stream\":1}");
    const interp_event *ev;
    interp_status st;
    while ((st = interp_call_next(k, &ev)) != INTERP_DONE) {
        if (st != INTERP_AGAIN)
            continue;
        fd_set set;
        FD_ZERO(&set);
        FD_SET(fd, &set);
        struct timeval tv = { 20, 0 };
        REQUIRE(select(fd + 1, &set, NULL, NULL, &tv) == 1);
        (void)interp_ctx_dispatch(x, NULL);
    }
    interp_call_free(k);
    int ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event add = { .events = EPOLLIN | EPOLLET, .data = { .u64 = 1 } };
    REQUIRE(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &add) == 0);
    k = start_exec(x, s, "bash", "head -c 3000000 /dev/zero", NULL);
    while ((st = interp_call_next(k, &ev)) != INTERP_DONE) {
        if (st != INTERP_AGAIN)
            continue;
        while (interp_ctx_dispatch(x, NULL) == INTERP_AGAIN)
            ;
        if (interp_call_next(k, &ev) != INTERP_AGAIN)
            continue;
        struct epoll_event out;
        if (epoll_wait(ep, &out, 1, 20000) != 1) {
            FAIL("no edge although dispatch had said OK");
            break;
        }
    }
    interp_call_free(k);
    close(ep);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* Many opens and closes: no descriptor stays in the set, none is leaked. */
TEST_LONG(no_descriptor_leaked, 180)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session_close(loop_open(x, NULL));
    (void)settle(x);
    int before = count_fds(), n = tap_slow() > 1 ? 10 : 50;
    for (int i = 0; i < n; i++) {
        interp_session *s = loop_open(x, NULL);
        if (i % 5 == 0)
            interp_result_free(loop_exec(x, s, "sh", "echo x", NULL));
        interp_session_close(s);
    }
    CHECK_INT(descendants_left(x), 0);
    (void)settle(x);
    CHECK_INT(count_fds(), before);
    interp_ctx_free(x);
}

TAP_MAIN()
