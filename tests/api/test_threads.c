/* test_threads.c - several threads of the host in one session, each with a call of its own.
   SPDX-License-Identifier: MIT */
#include "box.h"
#include "pieces.h"
#include <signal.h>
#include <sys/syscall.h>

/* Code that ends when another thread's code has made a file. */
#define UNTIL(file) "while [ ! -e /tmp/" file " ]; do sleep 0.01; done; echo " file

struct run {
    interp_session *s;
    interp_ctx *x;
    const char *kernel, *code, *want;
    interp_call *call;
    pthread_t thread;
    _Atomic int waits;                       /* the id of a thread that is about to wait */
    interp_status status;
};
static void check_result(interp_result *r, const char *want)
{
    EXPECT_OK(r);
    if (r)
        EXPECT_TEXT(r, INTERP_STREAM_STDOUT, want);
    interp_result_free(r);
}
static interp_call *start(interp_session *s, interp_ctx *x, const char *kernel, const char *code, const char *json)
{
    interp_call *c = NULL;
    interp_request *q = new_request(x, "bash", code, json);
    NEED(interp_request_set_kernel(q, kernel, ERR));
    NEED(interp_session_exec_start(s, q, &c, ERR));
    interp_request_free(q);
    return c;
}
/* Waits until it is done, and takes its result. */
static interp_result *finish(interp_call *c)
{
    const interp_event *e;
    interp_result *r = NULL;
    interp_status next = INTERP_AGAIN;
    while (next == INTERP_AGAIN) {
        if (!OK(interp_call_wait(c, INTERP_FOREVER, 0, ERR)))
            return NULL;
        while ((next = interp_call_next(c, &e)) == INTERP_OK)
            ;
    }
    IS(next, INTERP_DONE);
    OK(interp_call_finish(c, &r, ERR));
    return r;
}
static void *run_one(void *p)
{
    struct run *r = p;
    interp_call *c = start(r->s, r->x, r->kernel, r->code, NULL);
    check_result(finish(c), r->want);
    interp_call_free(c);
    api_drop();
    return NULL;
}

/* Each of the later ones lets one that waits already go on: with one waiter a session none of them would end. */
TEST(each_waits_for_its_own)
{
    struct box b = new_box(NULL);
    struct run r[] = { { .kernel = "a", .code = UNTIL("f1"), .want = "f1\n" },
                       { .kernel = "b", .code = UNTIL("f2") "; touch /tmp/f1", .want = "f2\n" },
                       { .kernel = "c", .code = UNTIL("f3") "; touch /tmp/f2", .want = "f3\n" },
                       { .kernel = "d", .code = "touch /tmp/f3; echo d", .want = "d\n" } };
    for (size_t i = 0; i < 4; i++) {
        r[i].s = b.s;
        r[i].x = b.x;
        REQUIRE(pthread_create(&r[i].thread, NULL, run_one, &r[i]) == 0);
        usleep(20000);   /* usually asleep by then; right in any order */
    }
    for (size_t i = 0; i < 4; i++)
        pthread_join(r[i].thread, NULL);
    free_box(&b);
}

enum { CROWD = 6, TIMES = 40 };
struct crowd { struct box *b; int me; };
static void *crowd(void *p)
{
    struct crowd *w = p;
    char kernel[16], code[200], want[32];
    snprintf(kernel, sizeof kernel, "k%d", w->me);
    for (int i = 0; i < TIMES; i++) {
        interp_result *r = NULL;
        snprintf(want, sizeof want, "%d %d\n", w->me, i);
        snprintf(code, sizeof code, "echo %d %d", w->me, i);
        interp_request *q = new_request(w->b->x, "bash", code, i % 3 ? NULL : "{\"stream\":true}");
        OK(interp_request_set_kernel(q, kernel, ERR));
        if (w->me % 2)
            OK(interp_request_set_timeout_ms(q, 120000 - 1000 * (uint64_t)(i % 10), ERR));   /* deadlines before those of others that sleep already */
        if (i % 3) {
            OK(interp_session_exec(w->b->s, q, &r, ERR));
            check_result(r, want);
        } else if (i % 4 == 0) {
            interp_call *c = NULL;
            OK(interp_session_exec_start(w->b->s, q, &c, ERR));
            interp_call_free(c);   /* abandoned beside the others */
        } else {
            interp_call *c = NULL;
            OK(interp_session_exec_start(w->b->s, q, &c, ERR));
            check_result(finish(c), want);
            interp_call_free(c);
        }
        interp_request_free(q);
        char path[32];
        int n = snprintf(path, sizeof path, "f%d", w->me);
        OK(interp_session_put(w->b->s, path, (size_t)n, 0644, want, strlen(want), ERR));
    }
    api_drop();
    return NULL;
}
TEST_LONG(a_crowd_in_one_session, 120)
{
    struct box b = new_box(NULL);
    pthread_t t[CROWD];
    struct crowd w[CROWD];
    for (int i = 0; i < CROWD; i++) {
        w[i] = (struct crowd){ &b, i };
        REQUIRE(pthread_create(&t[i], NULL, crowd, &w[i]) == 0);
    }
    for (int i = 0; i < CROWD; i++)
        pthread_join(t[i], NULL);
    free_box(&b);
}

static void *wait_for_it(void *p)
{
    struct run *r = p;
    r->waits = (int)syscall(SYS_gettid);
    check_result(finish(r->call), r->want);
    api_drop();
    return NULL;
}
static char state_of(int thread)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *p = strrchr(text, ')');
    return p && p[1] ? p[2] : 0;
}
/* It sleeps, and does not only wait for a processor. */
static void until_asleep(struct run *r)
{
    for (int seen = 0; seen < 5; seen = r->waits && state_of(r->waits) == 'S' ? seen + 1 : 0)
        usleep(5000);
}

/* Whoever has slept in the poll set goes and does not come back: another one must take it over. */
TEST(the_first_goes_away)
{
    struct box b = new_box(NULL);
    interp_call *first = start(b.s, b.x, "a", UNTIL("f1"), NULL);
    struct run r = { .s = b.s, .x = b.x, .call = start(b.s, b.x, "b", UNTIL("f2"), NULL), .want = "f2\n" };
    REQUIRE(pthread_create(&r.thread, NULL, wait_for_it, &r) == 0);
    for (int i = 0; i < 3; i++)   /* the thread comes while this one sleeps */
        IS(interp_call_wait(first, 300, 0, ERR), INTERP_AGAIN);
    interp_call *c = start(b.s, b.x, "c", "touch /tmp/f2", NULL);   /* nobody waits for this one */
    pthread_join(r.thread, NULL);
    interp_call_free(r.call);
    interp_call_free(c);
    interp_call_free(first);
    free_box(&b);
}

/* A second thread on the same call is told; what does not wait is for any thread. */
TEST(one_waiter_a_call)
{
    struct box b = new_box(NULL);
    struct run r = { .s = b.s, .x = b.x, .call = start(b.s, b.x, "a", "read line; echo $line", "{\"interactive\":true}"), .want = "words\n" };
    REQUIRE(pthread_create(&r.thread, NULL, wait_for_it, &r) == 0);
    until_asleep(&r);
    SAYS(interp_call_wait(r.call, 0, 0, ERR), INTERP_E_BUSY, "waits for this call");
    size_t n = 0;
    OK(interp_call_write(r.call, "words\n", 6, &n, ERR));
    CHECK_INT(n, 6);
    pthread_join(r.thread, NULL);
    interp_call_free(r.call);
    free_box(&b);
}

static void *until_cancelled(void *p)
{
    struct run *r = p;
    r->waits = (int)syscall(SYS_gettid);
    interp_result *out = finish(r->call);
    CHECK(out && interp_result_outcome(out) == INTERP_OUTCOME_CANCELLED);
    interp_result_free(out);
    api_drop();
    return NULL;
}
/* A cancel and a shutdown reach those who do not sleep in the poll set, too. */
TEST(ends_reach_all)
{
    struct box b = new_box(NULL);
    for (int how = 0; how < 2; how++) {
        struct run r[3];
        interp_cancel *t = NULL;
        NEED(interp_cancel_new(b.x, &t, ERR));
        for (int i = 0; i < 3; i++) {
            char kernel[8];
            snprintf(kernel, sizeof kernel, "k%d", i);
            r[i] = (struct run){ .s = b.s, .x = b.x };
            interp_request *q = new_request(b.x, "bash", "sleep 100", NULL);
            NEED(interp_request_set_kernel(q, kernel, ERR));
            NEED(interp_request_set_cancel(q, t, ERR));
            NEED(interp_session_exec_start(b.s, q, &r[i].call, ERR));
            interp_request_free(q);
            REQUIRE(pthread_create(&r[i].thread, NULL, until_cancelled, &r[i]) == 0);
            until_asleep(&r[i]);
        }
        if (how)
            interp_session_shutdown(b.s);
        else
            interp_cancel_fire(t);
        for (int i = 0; i < 3; i++) {
            pthread_join(r[i].thread, NULL);
            interp_call_free(r[i].call);
        }
        interp_cancel_free(t);
    }
    free_box(&b);
}

static void on_signal(int sig)
{
    (void)sig;
}
/* A signal that is pending as the wait begins ends it, also where another thread has the poll set. */
TEST(a_signal_ends_the_sleep)
{
    struct box b = new_box(NULL);
    struct run r = { .s = b.s, .x = b.x, .call = start(b.s, b.x, "a", UNTIL("f1"), NULL), .want = "f1\n" };
    interp_call *mine = start(b.s, b.x, "b", UNTIL("f1"), NULL);
    struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigaction(SIGUSR1, &sa, NULL);
    sigset_t usr1, before;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, &before);
    for (int beside = 0; beside < 2; beside++) {
        if (beside) {
            REQUIRE(pthread_create(&r.thread, NULL, wait_for_it, &r) == 0);
            until_asleep(&r);
        }
        pthread_kill(pthread_self(), SIGUSR1);
        IS(interp_call_wait_masked(mine, INTERP_FOREVER, INTERP_WAIT_INTR, 0, ERR), INTERP_E_INTR);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    interp_call *c = start(b.s, b.x, "c", "touch /tmp/f1", NULL);
    check_result(finish(mine), "f1\n");
    pthread_join(r.thread, NULL);
    interp_call_free(mine);
    interp_call_free(r.call);
    interp_call_free(c);
    free_box(&b);
}

static _Atomic int in_handler, let_go;
static void on_signal_and_stay(int sig)
{
    (void)sig;
    in_handler = 1;
    while (!let_go)
        usleep(1000);
}
static void *wait_interrupted(void *p)
{
    struct run *r = p;
    r->waits = (int)syscall(SYS_gettid);
    r->status = interp_call_wait(r->call, INTERP_FOREVER, INTERP_WAIT_INTR, NULL);
    return NULL;
}
/* News that another thread takes in while a signal ends the sleep is not lost: the wait tells of it instead. */
TEST(a_signal_hides_no_news)
{
    struct box b = new_box(NULL);
    struct run r = { .s = b.s, .x = b.x, .call = start(b.s, b.x, "a", UNTIL("f1") "; sleep 600", "{\"hold_output\":1,\"timeout_ms\":600000}") };
    struct sigaction sa = { .sa_handler = on_signal_and_stay };
    sigaction(SIGUSR1, &sa, NULL);
    REQUIRE(pthread_create(&r.thread, NULL, wait_interrupted, &r) == 0);
    until_asleep(&r);
    pthread_kill(r.thread, SIGUSR1);
    while (!in_handler)
        usleep(1000);
    /* that thread has the poll set and does not come back: this one only looks, again and again */
    interp_call *c = start(b.s, b.x, "b", "touch /tmp/f1; sleep 0.5", NULL);
    const interp_event *e;
    interp_status st = INTERP_AGAIN;
    while (st != INTERP_DONE) {
        st = interp_call_next(c, &e);
        if (st == INTERP_AGAIN)
            (void)interp_call_wait(c, 0, 0, NULL);
        usleep(1000);
    }
    let_go = 1;
    pthread_join(r.thread, NULL);
    if (r.status == INTERP_E_INTR)   /* the look came before the output did */
        OK(interp_call_wait(r.call, INTERP_FOREVER, 0, ERR));
    else
        CHECK_INT(r.status, INTERP_OK);
    char buf[16];
    size_t n = 0;
    OK(interp_call_output(r.call, INTERP_STREAM_STDOUT, 0, buf, sizeof buf, &n, NULL, ERR));
    CHECK_MEM(buf, "f1\n", 3);
    interp_call_free(c);
    interp_call_free(r.call);
    free_box(&b);
}

/* A child that is forked meanwhile frees what it has, all of it, and touches nothing of the parent's. */
TEST(fork_beside_waiting_threads)
{
    struct box b = { 0 };
    struct run r[2];
    NEED(interp_ctx_new_alloc(0, counted, NULL, &b.x, ERR));
    b.s = open_with(b.x, NULL);
    for (int i = 0; i < 2; i++) {
        r[i] = (struct run){ .s = b.s, .x = b.x, .call = start(b.s, b.x, i ? "b" : "a", UNTIL("f1"), NULL), .want = "f1\n" };
        REQUIRE(pthread_create(&r[i].thread, NULL, wait_for_it, &r[i]) == 0);
        until_asleep(&r[i]);
    }
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        alarm(20 * (unsigned)tap_slow());
        IS(interp_call_wait(r[0].call, 0, 0, ERR), INTERP_E_FORKED);
        for (int i = 0; i < 2; i++)
            interp_call_free(r[i].call);
        free_box(&b);
        CHECK_INT(pieces, 0);
        tap_leave(tap_shared->failed);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
    OK(interp_session_put(b.s, "/tmp/f1", INTERP_NTS, 0644, "", 0, ERR));
    for (int i = 0; i < 2; i++) {
        pthread_join(r[i].thread, NULL);
        interp_call_free(r[i].call);
    }
    free_box(&b);
}

/* Two that wait need a descriptor more; without one the second is told, and the first goes on. */
TEST(no_descriptor_for_the_second)
{
    struct box b = new_box(NULL);
    for (const char *kernel = "a"; kernel; kernel = *kernel == 'a' ? "b" : NULL) {   /* no start of a shell wakes the one that sleeps */
        interp_call *warm = start(b.s, b.x, kernel, "echo warm", NULL);
        check_result(finish(warm), "warm\n");
        interp_call_free(warm);
    }
    struct run r = { .s = b.s, .x = b.x, .call = start(b.s, b.x, "a", UNTIL("f1"), NULL), .want = "f1\n" };
    interp_call *mine = start(b.s, b.x, "b", UNTIL("f1"), NULL);
    REQUIRE(pthread_create(&r.thread, NULL, wait_for_it, &r) == 0);
    until_asleep(&r);
    struct rlimit all, few;
    getrlimit(RLIMIT_NOFILE, &all);
    few = all;
    few.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &few);
    IS(interp_call_wait(mine, INTERP_FOREVER, 0, ERR), INTERP_E_IO);
    setrlimit(RLIMIT_NOFILE, &all);
    OK(interp_session_put(b.s, "/tmp/f1", INTERP_NTS, 0644, "", 0, ERR));
    check_result(finish(mine), "f1\n");
    pthread_join(r.thread, NULL);
    interp_call_free(mine);
    interp_call_free(r.call);
    free_box(&b);
}

TAP_MAIN()
