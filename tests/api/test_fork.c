/* test_fork.c - a context belongs to the process that made it: a forked child gets FORKED everywhere, frees safely, and cannot harm its parent.
   SPDX-License-Identifier: MIT */
#include "api.h"

struct all {
    interp_ctx *x;
    interp_session *s;
    interp_config *c;
    interp_request *r;
    interp_cancel *t;
    interp_call *idle, *running;
    interp_result *result;
};
static struct all make_all(void)
{
    struct all a = { .x = new_ctx(0) };
    a.s = open_with(a.x, NULL);
    a.c = new_config(a.x, NULL);
    a.r = new_request(a.x, "bash", "echo x", NULL);
    NEED(interp_cancel_new(a.x, &a.t, ERR));
    a.result = run(a.s, "bash", "v=1; echo first");
    /* it runs while there are children, and ends when the parent lets it */
    interp_request *q = new_request(a.x, "python", "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('slept')", "{\"timeout_ms\":600000}");
    NEED(interp_session_exec_start(a.s, q, &a.running, ERR));
    interp_request_free(q);
    EXPECT_RUN(a.s, "bash", "until [ -e begun ]; do sleep 0.01; done", "");
    return a;
}
/* Everything that the child may try; all of it must come back at once with FORKED, and frees must only free memory. */
static void in_child(struct all *a, int free_all)
{
    interp_session *s = (interp_session *)&s;
    interp_config *c = (interp_config *)&c;
    interp_request *r = (interp_request *)&r;
    interp_cancel *t = (interp_cancel *)&t;
    interp_call *k = (interp_call *)&k;
    interp_result *out = (interp_result *)&out;
    alarm(20 * tap_slow());
    IS(interp_session_open(a->x, a->c, &s, ERR), INTERP_E_FORKED);
    IS(interp_session_open_start(a->x, a->c, &s, &k, ERR), INTERP_E_FORKED);
    IS(interp_session_exec(a->s, a->r, &out, ERR), INTERP_E_FORKED);
    IS(interp_session_exec_start(a->s, a->r, &k, ERR), INTERP_E_FORKED);
    IS(interp_session_run(a->s, "bash", "echo x", INTERP_NTS, &out, ERR), INTERP_E_FORKED);
    IS(interp_session_restart(a->s, "bash", NULL, ERR), INTERP_E_FORKED);
    IS(interp_session_restart_start(a->s, "bash", NULL, &k, ERR), INTERP_E_FORKED);
    IS(interp_session_close_start(a->s, &k, ERR), INTERP_E_FORKED);
    IS(interp_config_new(a->x, &c, ERR), INTERP_E_FORKED);
    IS(interp_request_new(a->x, &r, ERR), INTERP_E_FORKED);
    IS(interp_cancel_new(a->x, &t, ERR), INTERP_E_FORKED);
    IS(interp_config_set_json(a->c, "{}", 2, ERR), INTERP_E_FORKED);
    IS(interp_config_set_memory_bytes(a->c, 1 << 28, ERR), INTERP_E_FORKED);
    IS(interp_request_set_code(a->r, "x", 1, ERR), INTERP_E_FORKED);
    IS(interp_request_set_json(a->r, "{}", 2, ERR), INTERP_E_FORKED);
    IS(interp_call_wait(a->running, 10000, 0, ERR), INTERP_E_FORKED);
    IS(interp_call_finish(a->running, &out, ERR), INTERP_E_FORKED);
    const interp_event *ev;
    IS(interp_call_next(a->running, &ev), INTERP_E_FORKED);
    IS(interp_ctx_run(a->x, a->t, ERR), INTERP_E_FORKED);
    IS(interp_ctx_set_log(a->x, NULL, NULL, NULL, ERR), INTERP_E_FORKED);
    IS(interp_ctx_set_agent(a->x, "x86_64", "x", 1, ERR), INTERP_E_FORKED);
    CHECK(s == (interp_session *)&s && c == (interp_config *)&c && r == (interp_request *)&r && t == (interp_cancel *)&t && k == (interp_call *)&k && out == (interp_result *)&out);
    interp_session_shutdown(a->s);                                     /* must not reach the parent's sandbox */
    interp_cancel_fire(a->t);                                          /* memory of the child's own */
    CHECK_STR(interp_result_text(a->result, INTERP_STREAM_STDOUT, NULL), "first\n");   /* results are plain memory */
    CHECK(interp_result_json(a->result, NULL) != NULL);
    if (free_all) {
        interp_result_free(a->result);
        interp_call_free(a->running);
        CHECK(interp_session_close(a->s) == NULL);
        interp_request_free(a->r);
        interp_config_free(a->c);
        interp_cancel_free(a->t);
        interp_ctx_free(a->x);
    }
    /* the child may make a context of its own */
    interp_ctx *x = NULL;
    OK(interp_ctx_new(0, &x, ERR));
    interp_session *mine = NULL;
    interp_status st = interp_session_open(x, NULL, &mine, ERR);
    CHECK_INT(st, INTERP_OK);
    api_drop();
    if (mine)
        EXPECT_RUN(mine, "bash", "echo child", "child\n");
    interp_session_close(mine);
    interp_ctx_free(x);
}
static void wait_child(pid_t pid)
{
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        FAIL("the child ended with status %#x", (unsigned)status);
}
/* The parent goes on as if nothing had been. */
static void after(struct all *a)
{
    CHECK_INT(interp_cancel_fired(a->t), 0);
    CHECK_INT(interp_session_status(a->s), INTERP_SESSION_OPEN);
    EXPECT_RUN(a->s, "bash", ": > go", "");
    interp_result *r = finish_exec(a->running);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "slept\n");
    interp_result_free(r);
    EXPECT_RUN(a->s, "bash", "echo $v", "1\n");
    interp_result_free(a->result);
    interp_request_free(a->r);
    interp_config_free(a->c);
    interp_cancel_free(a->t);
    interp_session_close(a->s);
    interp_ctx_free(a->x);
    CHECK_INT(count_descendants(), 0);
}

static void fork_once(int free_all)
{
    struct all a = make_all();
    pid_t pid = fork();
    if (pid == 0) {
        in_child(&a, free_all);
        tap_leave(tap_shared->failed);
    }
    wait_child(pid);
    after(&a);
}
TEST(child_uses) { fork_once(0); }
TEST(child_frees) { fork_once(1); }

TEST(double_fork)
{
    struct all a = make_all();
    pid_t pid = fork();
    if (pid == 0) {
        pid_t inner = fork();
        if (inner == 0) {
            in_child(&a, 1);
            tap_leave(tap_shared->failed);
        }
        wait_child(inner);
        in_child(&a, 1);
        tap_leave(tap_shared->failed);
    }
    wait_child(pid);
    after(&a);
}

/* A child that only exits, by exit(3) with whatever handlers there are, and one that execs. */
TEST(child_exits)
{
    struct all a = make_all();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        exit(0);
    wait_child(pid);
    pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "ls -l /proc/$$/fd | grep -cE 'anon_inode|socket' | grep -qx 0", NULL);
        _exit(99);
    }
    wait_child(pid);
    after(&a);
}

/* A worker that lives on while the parent works, closes and opens again. */
TEST(worker_lives_on)
{
    struct all a = make_all();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    EXPECT_RUN(a.s, "bash", "echo $v; : > go", "1\n");
    struct procs l = { .n = 0 };
    add_children(&l, getpid());
    for (int i = 0; i < l.n; i++)
        if (l.pid[i] == pid)
            l.start[i] = ~0ull;
    interp_result *r = finish_exec(a.running);
    EXPECT_OK(r);
    interp_result_free(r);
    interp_session_close(a.s);
    CHECK_INT(count_alive(&l), 0);                                     /* closed although the worker holds copies of the descriptors */
    a.s = open_with(a.x, NULL);
    EXPECT_RUN(a.s, "bash", "echo again", "again\n");
    interp_session_close(a.s);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    interp_result_free(a.result);
    interp_request_free(a.r);
    interp_config_free(a.c);
    interp_cancel_free(a.t);
    interp_ctx_free(a.x);
}

/* The child's library descriptors are closed: an inherited epoll set must not make the parent deaf. */
TEST(loop_after_fork)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    interp_result_free(loop_exec(x, s, "bash", "v=1", NULL));
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        interp_call *k = NULL;
        interp_request *q = NULL;
        alarm(20 * tap_slow());
        IS(interp_ctx_dispatch(x, ERR), INTERP_E_FORKED);
        IS(interp_ctx_next(x, &k), INTERP_E_FORKED);
        IS(interp_request_new(x, &q, ERR), INTERP_E_FORKED);
        int fd = interp_ctx_fd(x);
        CHECK(fd < 0 || fcntl(fd, F_GETFD) < 0);                       /* closed in the child */
        interp_session_close(s);
        interp_ctx_free(x);
        tap_leave(tap_shared->failed);
    }
    wait_child(pid);
    for (int i = 0; i < 20; i++) {
        interp_result *r = loop_exec(x, s, "bash", "echo $v", NULL);
        EXPECT_OK(r);
        EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "1\n");
        interp_result_free(r);
    }
    interp_session_close(s);
    interp_ctx_free(x);
}

/* Fork while another thread is inside the library: the child must not deadlock on a lock that nobody will give back. */
static int busy_stop;
static void *keep_busy(void *p)
{
    interp_ctx *x = p;
    while (!__atomic_load_n(&busy_stop, __ATOMIC_SEQ_CST)) {
        interp_config *c = NULL;
        interp_request *r = NULL;
        if (interp_config_new(x, &c, NULL) == INTERP_OK)
            (void)interp_config_json(c, NULL);
        (void)interp_request_new(x, &r, NULL);
        interp_request_free(r);
        interp_config_free(c);
    }
    return NULL;
}
TEST_LONG(fork_beside_a_busy_thread, 120)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&t[i], NULL, keep_busy, x) == 0);
    fflush(stdout);
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20 * tap_slow());
            interp_config *c = NULL;
            if (interp_config_new(x, &c, NULL) != INTERP_E_FORKED)
                _exit(1);
            interp_session_close(s);
            interp_ctx_free(x);
            _exit(0);
        }
        wait_child(pid);
    }
    __atomic_store_n(&busy_stop, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    EXPECT_RUN(s, "bash", "echo x", "x\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

/* Python's way: multiprocessing with the fork method, garbage collection in the worker. */
TEST(many_children)
{
    struct all a = make_all();
    fflush(stdout);
    pid_t pid[8];
    for (int i = 0; i < 8; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            interp_call_free(a.running);
            interp_session_close(a.s);
            interp_ctx_free(a.x);
            tap_leave(0);
        }
    }
    for (int i = 0; i < 8; i++)
        wait_child(pid[i]);
    after(&a);
}

TAP_MAIN()
