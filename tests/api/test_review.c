/* test_review.c - what a hostile review of the core found: lost wake-ups, calls that never end, memory that an agent could fill.
   SPDX-License-Identifier: MIT */
#include "fake.h"
#include <stdatomic.h>

struct box { interp_ctx *x; interp_session *s; };

/* An allocator that counts, and that can be made to wait. */
static struct { _Atomic size_t now, peak; atomic_int hold, held; pthread_t who; } count;
static void *counted(void *userdata, void *p, size_t old_size, size_t new_size)
{
    (void)userdata;
    if (atomic_load(&count.hold) && new_size && pthread_equal(pthread_self(), count.who)) {
        atomic_store(&count.held, 1);
        while (atomic_load(&count.hold))
            tap_sleep_ms(1);
    }
    size_t now = atomic_fetch_add(&count.now, new_size - (p ? old_size : 0)) + new_size - (p ? old_size : 0);
    if (now > atomic_load(&count.peak))
        atomic_store(&count.peak, now);
    if (new_size)
        return realloc(p, new_size);
    free(p);
    return NULL;
}
static struct box box_of(struct fake *b, uint32_t flags, const char *more)
{
    struct box o = { 0 };
    char json[300];
    NEED(interp_ctx_new_alloc(flags, counted, NULL, &o.x, ERR));
    fake_add(o.x, b);
    snprintf(json, sizeof json, "{\"backend\":\"fake\",\"close_timeout_ms\":300%s}", more);
    o.s = flags ? loop_open(o.x, json) : open_with(o.x, json);
    return o;
}
static interp_call *begin(struct box *o, const char *language, const char *code, const char *json)
{
    interp_call *k = NULL;
    interp_request *q = new_request(o->x, language, code, json);
    NEED(interp_session_exec_start(o->s, q, &k, ERR));
    interp_request_free(q);
    return k;
}

/* A host that only looks, again and again, gets its result. */
TEST(wait_that_only_looks)
{
    struct fake b = { .opens = 0 };
    struct box o = box_of(&b, 0, "");
    interp_call *k = begin(&o, "bash", "print x", NULL);
    interp_status st = INTERP_AGAIN;
    while (st == INTERP_AGAIN) {
        st = interp_call_wait(k, 0, 0, NULL);
        tap_sleep_ms(1);
    }
    CHECK_INT(st, INTERP_OK);
    interp_call_free(k);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* The handle of a session is freed while its CLOSE call is under way: that call ends too. */
TEST(close_call_outlives_the_handle)
{
    for (uint32_t loop = 0; loop < 2; loop++) {
        struct fake b = { .close_never = 1 };
        struct box o = box_of(&b, loop, "");
        interp_call *k = NULL;
        NEED(interp_session_close_start(o.s, &k, ERR));
        interp_session_close(o.s);
        CHECK(interp_call_session(k) == NULL);
        if (loop)
            CHECK(drive(o.x, k, 20000 * tap_slow()));
        else
            OK(interp_call_wait(k, 20000 * tap_slow(), 0, ERR));
        IS(interp_call_finish(k, NULL, ERR), INTERP_E_TIMEOUT);
        interp_call_free(k);
        interp_ctx_free(o.x);
        CHECK_INT(b.live, 0);
        CHECK_INT(b.destroyed, 1);
    }
}

/* An exec behind an abandoned one returns by its own timeout, not by the other's grace. */
TEST(queued_exec_has_a_deadline)
{
    for (uint32_t loop = 0; loop < 2; loop++) {
        struct fake b = { .opens = 0 };
        struct box o = box_of(&b, loop, "");
        interp_call_free(begin(&o, "bash", "deaf", "{\"timeout_ms\":600000,\"grace_ms\":60000}"));
        uint64_t t = tap_now_ns();
        interp_result *r = NULL;
        if (loop)
            r = loop_exec(o.x, o.s, "bash", "print x", "{\"timeout_ms\":300,\"grace_ms\":100}");
        else {
            interp_request *q = new_request(o.x, "bash", "print x", "{\"timeout_ms\":300,\"grace_ms\":100}");
            NEED(interp_session_exec(o.s, q, &r, ERR));
            interp_request_free(q);
        }
        CHECK((tap_now_ns() - t) / 1000000 < 7500 * tap_slow());
        EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", 0);
        CHECK_INT(interp_result_ran(r), 0);
        CHECK_STR(interp_result_interrupted(r), "");
        interp_result_free(r);
        interp_session_close(o.s);
        interp_ctx_free(o.x);
    }
}

/* Shut down by a thread that finds another one inside, which then leaves without having looked: the sandbox is killed all the same. */
struct inside { struct box *o; interp_call *k; };
static void *start_slowly(void *p)
{
    struct inside *i = p;
    interp_request *q = new_request(i->o->x, "bash", "hang", NULL);
    count.who = pthread_self();
    atomic_store(&count.hold, 1);
    NEED(interp_session_exec_start(i->o->s, q, &i->k, ERR));
    interp_request_free(q);
    return NULL;
}
TEST(shutdown_is_not_lost)
{
    struct fake b = { .opens = 0 };
    struct box o = box_of(&b, 0, "");
    struct inside i = { &o, NULL };
    pthread_t t;
    REQUIRE(!pthread_create(&t, NULL, start_slowly, &i));
    while (!atomic_load(&count.held))
        tap_sleep_ms(1);
    interp_session_shutdown(o.s);
    CHECK_INT(b.closes, 0);
    atomic_store(&count.hold, 0);
    pthread_join(t, NULL);
    CHECK_INT(b.closes, 1);   /* nobody has waited for anything */
    interp_call_free(i.k);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* The host lets go of the context first, and the sandbox's end is never confirmed: nothing is left behind. */
TEST(handle_closed_after_the_context)
{
    for (uint32_t loop = 0; loop < 2; loop++) {
        struct fake b = { .close_never = 1 };
        struct box o = box_of(&b, loop, "");
        interp_ctx_free(o.x);
        interp_session_close(o.s);
        CHECK_INT(b.abandons, 1);
        CHECK_INT(b.live, 0);
        CHECK_INT(b.destroyed, 1);
    }
}

/* An agent that asks and does not read the answers, or that says for ever that it is ready. */
TEST(agent_fills_no_memory)
{
    static const char *const code[] = { "requests 2000000", "kready 200" };
    for (int i = 0; i < 2; i++) {
        struct fake b = { .opens = 0 };
        struct box o = box_of(&b, 0, "");
        interp_result *r = exec_with(o.x, o.s, "python", code[i], "{\"timeout_ms\":600000,\"grace_ms\":500}");
        printf("# %s: peak %zu KiB, outcome %s\n", code[i], atomic_load(&count.peak) >> 10, interp_result_outcome_name(r));
        CHECK(atomic_load(&count.peak) < 16u << 20);
        CHECK_STR(interp_result_cause(r), "protocol");   /* the agent itself: lost; its kernel's words: crashed */
        CHECK_INT(interp_result_outcome(r), i ? INTERP_OUTCOME_CRASHED : INTERP_OUTCOME_LOST);
        interp_result_free(r);
        interp_session_close(o.s);
        interp_ctx_free(o.x);
        atomic_store(&count.peak, 0);
    }
}

/* Lists with more than was asked for, change sets that end within a record: broken, not half believed. */
TEST(agent_tells_too_much_of_files)
{
    struct fake b = { .files = FAKE_TOO_MUCH };
    struct box o = box_of(&b, 0, "");
    interp_content *c = NULL;
    IS(interp_session_list(o.s, ".", INTERP_NTS, 0, 5, &c, ERR), INTERP_E_PROTOCOL);
    CHECK(!c);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
    b = (struct fake){ .files = FAKE_TOO_MUCH };
    o = box_of(&b, 0, ",\"change_set\":true");
    interp_result *r = exec_with(o.x, o.s, "bash", "print y", NULL);
    CHECK_INT(interp_result_outcome(r), INTERP_OUTCOME_OK);   /* the exec itself had ended */
    CHECK(strstr(interp_result_json(r, NULL), "\"complete\":false") != NULL);
    interp_result_free(r);
    r = NULL;
    IS(interp_session_run(o.s, "bash", "print y", INTERP_NTS, &r, ERR), INTERP_E_CLOSED);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* What had come of a file when its look ended is neither whole nor redacted: it is not told. */
TEST(half_a_file)
{
    struct fake b = { .files = FAKE_HALF };
    struct box o = box_of(&b, 0, ",\"change_set\":true,\"fetch_files_bytes\":100000");
    OK(interp_redact_add(o.x, "KEY", "squeamish" "-ossifrage", INTERP_NTS, ERR));
    interp_result *r = exec_with(o.x, o.s, "bash", "print y", NULL);
    const char *j = interp_result_json(r, NULL);
    CHECK_INT(interp_result_outcome(r), INTERP_OUTCOME_OK);
    CHECK(strstr(j, "\"path\":\"name\"") && strstr(j, "\"complete\":false") && !strstr(j, "ossifrage"));
    CHECK(!interp_result_file_data(r, 0, NULL));
    interp_result_free(r);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* Frames without a byte are no answer. */
TEST(nothing_is_no_answer)
{
    struct fake b = { .files = FAKE_NOTHING };
    struct box o = box_of(&b, 0, ",\"change_set\":true,\"timeout_ms\":4000");
    interp_result *r = exec_with(o.x, o.s, "bash", "print y", NULL);
    CHECK_INT(interp_result_outcome(r), INTERP_OUTCOME_OK);
    CHECK(strstr(interp_result_json(r, NULL), "\"complete\":false") != NULL);
    interp_result_free(r);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* An agent that does not even end what was given up is none: its session is over, and nothing waits for it for ever. */
TEST(silent_about_files)
{
    struct fake b = { .files = FAKE_SILENT };
    struct box o = box_of(&b, 0, ",\"timeout_ms\":300");
    interp_call *k[10];
    for (int i = 0; i < 10; i++)
        NEED(interp_session_get_start(o.s, "f", 1, INTERP_FOREVER, &k[i], ERR));
    for (int i = 0; i < 10; i++) {
        wait_done(k[i]);
        IS(interp_call_finish(k[i], NULL, ERR), i < 8 ? INTERP_E_TIMEOUT : INTERP_E_CLOSED);
        interp_call_free(k[i]);
    }
    interp_result *r = NULL;
    IS(interp_session_run(o.s, "bash", "print y", INTERP_NTS, &r, ERR), INTERP_E_CLOSED);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* Output byte by byte to a consumer that does not pull, while its exec is being ended: the events' own size counts. */
TEST(drops_of_output)
{
    struct fake b = { .opens = 0 };
    struct box o = box_of(&b, 0, "");
    interp_call *k = begin(&o, "bash", "drops 700000", "{\"stream\":1,\"timeout_ms\":50,\"grace_ms\":8000}");
    /* another kernel's exec drives the session; the fake agent plays one after the other */
    interp_request *q = new_request(o.x, "python", "print y", "{\"timeout_ms\":8000,\"grace_ms\":500}");
    interp_result *r = NULL;
    (void)interp_session_exec(o.s, q, &r, NULL);
    interp_request_free(q);
    interp_result_free(r);
    printf("# peak %zu KiB\n", atomic_load(&count.peak) >> 10);
    CHECK(atomic_load(&count.peak) < 24u << 20);
    interp_call_free(k);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* Readable when and only when dispatch has work: the events that a dispatch made are interp_ctx_next's. */
TEST(silent_after_dispatch)
{
    struct fake b = { .opens = 0 };
    struct box o = box_of(&b, INTERP_CTX_LOOP, "");
    interp_call *k = begin(&o, "bash", "print x;sleep 300;print y", "{\"stream\":1}"), *got = NULL;
    int spurious = 0, named = 0;
    for (;;) {
        const interp_event *ev;
        interp_status st;
        struct pollfd p = { interp_ctx_fd(o.x), POLLIN, 0 };
        REQUIRE(poll(&p, 1, -1) == 1);
        st = interp_ctx_dispatch(o.x, NULL);
        int any = 0;
        while (interp_ctx_next(o.x, &got) == INTERP_OK)
            any = 1;
        named += any;
        if (any && st == INTERP_OK && poll(&p, 1, 0) == 1) {
            spurious++;
            CHECK_INT(interp_ctx_dispatch(o.x, NULL), INTERP_OK);
            if (interp_ctx_next(o.x, &got) == INTERP_OK)
                spurious--;   /* it did have work */
        }
        while ((st = interp_call_next(k, &ev)) == INTERP_OK)
            ;
        if (st == INTERP_DONE)
            break;
    }
    printf("# named %d times, %d wake-ups for nothing\n", named, spurious);
    CHECK_INT(spurious, 0);
    interp_call_free(k);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

static void count_destroy(void *p) { ++*(int *)p; }
static void no_log(void *u, int32_t level, const char *msg, size_t len) { (void)u, (void)level, (void)msg, (void)len; }
TEST(log_set_twice)
{
    int first = 0, second = 0;
    interp_ctx *x = new_ctx(0);
    OK(interp_ctx_set_log(x, no_log, &first, count_destroy, ERR));
    OK(interp_ctx_set_log(x, no_log, &second, count_destroy, ERR));
    interp_ctx_free(x);
    CHECK_INT(first, 1);
    CHECK_INT(second, 1);
}

/* Restarts that nobody waits for leave no call behind. */
TEST(abandoned_restarts)
{
    struct fake b = { .opens = 0 };
    struct box o = box_of(&b, 0, "");
    interp_result_free(exec_with(o.x, o.s, "bash", "print x", NULL));
    size_t before = 0;
    for (int i = 0; i < 60; i++) {
        interp_call *k = NULL;
        NEED(interp_session_restart_start(o.s, "bash", NULL, &k, ERR));
        interp_call_free(k);
        interp_result_free(exec_with(o.x, o.s, "bash", "print x", NULL));
        if (i == 9)
            before = atomic_load(&count.now);
    }
    printf("# %zu, then %zu bytes\n", before, atomic_load(&count.now));
    CHECK(atomic_load(&count.now) <= before + 2000);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* A shell that ended by set -e has saved its state: a later exec that is killed leaves it at that save. */
TEST(state_after_a_saved_end)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_result *r = run(s, "bash", "x=41; set -e; false");
    printf("# first: %s, %d\n", interp_result_outcome_name(r), interp_result_state(r));
    interp_result_free(r);
    r = exec_with(x, s, "bash", "trap '' INT; while :; do :; done", "{\"timeout_ms\":300,\"grace_ms\":300}");
    int32_t state = interp_result_state(r);
    interp_result_free(r);
    r = run(s, "bash", "echo \"[$x]\"");
    printf("# state says %d, the next one finds %s", state, interp_result_text(r, INTERP_STREAM_STDOUT, NULL));
    CHECK_INT(state, strstr(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "[41]") ? INTERP_STATE_RESTORED : INTERP_STATE_RESET);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(cancelled_before_it_began)
{
    struct fake b = { .opens = 0 };
    struct box o = box_of(&b, 0, "");
    interp_cancel *t = NULL;
    NEED(interp_cancel_new(o.x, &t, ERR));
    interp_cancel_fire(t);
    interp_request *q = new_request(o.x, "bash", "print x", NULL);
    NEED(interp_request_set_cancel(q, t, ERR));
    interp_result *r = exec_request(o.s, q);
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", 0);
    CHECK_STR(interp_result_interrupted(r), "");   /* no signal of ours was sent */
    interp_result_free(r);
    interp_cancel_free(t);
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* Much memory takes its time to be given back, and that is a part of a kill: neither a hard cancel nor a kernel that broke its framing ends more than the kernel for it. */
TEST(slow_kills)
{
    struct fake b = { .opens = 0 };
    struct box o = box_of(&b, 0, ",\"memory_bytes\":17179869184,\"workspace_bytes\":1048576");
    static const struct { const char *code, *cause; int fires, outcome; } row[] = {
        { "print begun;slow 2500", "", 2, INTERP_OUTCOME_CANCELLED },
        { "print begun;slow 2500", "", 1, INTERP_OUTCOME_CANCELLED },
        { "kframe ffffffffffffffff6600000000000000;slow 2500", "protocol", 0, INTERP_OUTCOME_CRASHED },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        interp_cancel *t = NULL;
        interp_call *k = NULL;
        const interp_event *ev;
        interp_status st;
        NEED(interp_cancel_new(o.x, &t, ERR));
        interp_request *q = new_request(o.x, "python", row[i].code, "{\"grace_ms\":100,\"stream\":1}");
        NEED(interp_request_set_cancel(q, t, ERR));
        NEED(interp_session_exec_start(o.s, q, &k, ERR));
        interp_request_free(q);
        while (row[i].fires && (st = interp_call_next(k, &ev)) == INTERP_AGAIN)   /* until it has begun */
            NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
        for (int n = 0; n < row[i].fires; n++)
            interp_cancel_fire(t);
        interp_result *r = finish_exec(k);
        EXPECT(r, row[i].outcome, row[i].cause, INTERP_STATE_RESET);
        interp_result_free(r);
        interp_cancel_free(t);
        EXPECT_RUN(o.s, "python", "print still here", "still here\n");
    }
    interp_session_close(o.s);
    interp_ctx_free(o.x);
}

/* An agent that says that it is at work on a kill has more time for it, and not for ever: the end of a hard cancel is due after a second for the kill, the memory's 64 ms,
   a second of the host's own and the ten of such an agent. */
TEST(at_work_on_a_kill)
{
    static const struct { const char *code; int fires, state; double least, most; } row[] = {
        { "print begun;dying 3000", 2, INTERP_STATE_RESET, 2.9, 1e9 },
        { "print begun;dying 3000", 1, INTERP_STATE_RESET, 2.9, 1e9 },
        { "print begun;slow 60000", 2, INTERP_STATE_GONE, 2, 10 },
        { "print begun;dying 60000", 2, INTERP_STATE_GONE, 12, 30 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct fake b = { .opens = 0 };
        struct box o = box_of(&b, 0, ",\"memory_bytes\":67108864");
        interp_cancel *t = NULL;
        interp_call *k = NULL;
        NEED(interp_cancel_new(o.x, &t, ERR));
        interp_request *q = new_request(o.x, "python", row[i].code, "{\"grace_ms\":100,\"stream\":1}");
        NEED(interp_request_set_cancel(q, t, ERR));
        NEED(interp_session_exec_start(o.s, q, &k, ERR));
        interp_request_free(q);
        wait_output(k, INTERP_STREAM_STDOUT, "begun\n");
        for (int n = 0; n < row[i].fires; n++)
            interp_cancel_fire(t);
        uint64_t began = tap_now_ns();
        interp_result *r = finish_exec(k);
        double s = (double)(tap_now_ns() - began) / 1e9;
        EXPECT(r, INTERP_OUTCOME_CANCELLED, "", row[i].state);
        CHECK(s >= row[i].least && s < row[i].most * tap_slow());
        interp_result_free(r);
        interp_cancel_free(t);
        interp_session_close(o.s);
        interp_ctx_free(o.x);
    }
}

TAP_MAIN()
