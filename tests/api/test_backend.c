/* test_backend.c - backends of a host's own: registration, a backend that misbehaves, a sandbox that breaks the protocol.
   SPDX-License-Identifier: MIT */
#include "fake.h"

struct box { interp_ctx *x; interp_session *s; };
static struct box fake_box(struct fake *b, const char *json)
{
    struct box o = { new_ctx(0), NULL };
    interp_config *c = new_config(o.x, json);
    NEED(interp_config_set_backend(c, "fake", ERR));
    fake_add(o.x, b);
    NEED(interp_session_open(o.x, c, &o.s, ERR));
    interp_config_free(c);
    return o;
}
static void free_box(struct box *o, struct fake *b)
{
    interp_session_close(o->s);
    interp_ctx_free(o->x);
    CHECK_INT(b->live, 0);
    CHECK_INT(b->destroyed, 1);
    CHECK_INT(b->closes + b->abandons >= 1, 1);
}

/* ---- registration */

static int destroyed;
static void count_destroy(void *p)
{
    (void)p;
    destroyed++;
}

TEST(table_errors)
{
    interp_ctx *x = new_ctx(0);
    struct fake b = { .opens = 0 };
    interp_backend_ops t = FAKE;
    int want = 0;
#define REFUSED(status) do { IS(interp_ctx_add_backend(x, &t, &b, count_destroy, ERR), status); CHECK_INT(destroyed, ++want); t = FAKE; } while (0)
    t.struct_size = 0;
    REFUSED(INTERP_E_INVAL);
    t.struct_size = (uint32_t)offsetof(interp_backend_ops, abandon);
    REFUSED(INTERP_E_INVAL);
    t.struct_size = (uint32_t)offsetof(interp_backend_ops, kill);
    REFUSED(INTERP_E_INVAL);
    t.open = NULL;
    REFUSED(INTERP_E_INVAL);
    t.advance = NULL;
    REFUSED(INTERP_E_INVAL);
    t.read = NULL;
    REFUSED(INTERP_E_INVAL);
    t.write = NULL;
    REFUSED(INTERP_E_INVAL);
    t.kill = NULL;
    REFUSED(INTERP_E_INVAL);
    t.close = NULL;
    REFUSED(INTERP_E_INVAL);
    t.abandon = NULL;
    REFUSED(INTERP_E_INVAL);
    static const char *const names[] = { NULL, "", "Fake", "fa ke", "fake.x", "f\xc3\xa4ke", "fake/x", "fake=" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        t.name = names[i];
        REFUSED(INTERP_E_INVAL);
    }
    t.needs_host_ops = sizeof(interp_host_ops) + 1;
    REFUSED(INTERP_E_UNSUPPORTED);
    t.needs_host_ops = UINT32_MAX;
    REFUSED(INTERP_E_UNSUPPORTED);
    t.name = "local";
    REFUSED(INTERP_E_EXISTS);
    t.needs_host_ops = sizeof(interp_host_ops);
    OK(interp_ctx_add_backend(x, &t, &b, NULL, ERR));
    t = FAKE;
    REFUSED(INTERP_E_EXISTS);
    interp_ctx_free(x);
    CHECK_INT(destroyed, want);
}

/* A newer backend on this core: extra slots are ignored. The name and the table are copied. */
TEST(larger_table)
{
    struct { interp_backend_ops ops; void (*more[4])(void); } big = { .ops = FAKE };
    memset(big.more, 0xee, sizeof big.more);
    char name[] = "bigger";
    struct fake b = { .opens = 0 };
    interp_ctx *x = new_ctx(0);
    big.ops.struct_size = sizeof big;
    big.ops.name = name;
    OK(interp_ctx_add_backend(x, &big.ops, &b, fake_destroy, ERR));
    memset(&big, 0xee, sizeof big);
    memset(name, 'z', sizeof name - 1);
    interp_config *c = new_config(x, "{\"backend\":\"bigger\"}");
    interp_session *s = NULL;
    NEED(interp_session_open(x, c, &s, ERR));
    interp_config_free(c);
    EXPECT_RUN(s, "bash", "print hi", "hi\n");
    interp_session_close(s);
    interp_ctx_free(x);
    CHECK_INT(b.destroyed, 1);
}

TEST(hello)
{
    struct fake b = { .opens = 0 };
    struct box o = fake_box(&b, "{\"memory_bytes\":67108864,\"pids\":77,\"fake.key\":{\"a\":[1,\"x\"]}}");
    EXPECT_RUN(o.s, "python", "print hello", "hello\n");
    EXPECT_RUN(o.s, "bash", "print hello", "hello\n");
    interp_result *r = run(o.s, "python", "print a;err b;value 42;exit 3");
    EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
    CHECK_INT(interp_result_exit_code(r), 3);
    EXPECT_TEXT(r, INTERP_STREAM_STDERR, "b\n");
    CHECK_STR(interp_result_value(r, NULL), "42");
    interp_result_free(r);
    r = run(o.s, "python", "crash");
    EXPECT(r, INTERP_OUTCOME_CRASHED, "", INTERP_STATE_RESET);
    CHECK_INT(interp_result_signal(r), 11);
    interp_result_free(r);
    EXPECT_RUN(o.s, "python", "print again", "again\n");
    CHECK_INT(b.spec.memory_bytes, 67108864);
    CHECK_INT(b.spec.pids, 77);
    CHECK_INT(b.spec.struct_size, sizeof(interp_spec));
    CHECK(b.spec.flags & INTERP_SPEC_MEMORY_ASKED);
    CHECK(!(b.spec.flags & INTERP_SPEC_CPU_ASKED));
    CHECK_INT(b.spec.cpu_millis, 1000);
    CHECK(strstr(b.option, "\"a\"") != NULL);
    size_t n;
    const char *j = interp_session_info_json(o.s, &n);
    EXPECT_JSON(j, n, "d['backend'] == 'fake' and d['isolation'] == 'full' and d['reached']['landlock'] == 6");
    free_box(&o, &b);
}

/* ---- mounts and interpreters */

TEST(mounts_in_the_specification)
{
    struct fake b = { .reached = "{\"isolation\":\"full\",\"memory\":\"cgroup\",\"mounts\":[{},{},{}],\"home\":\"/there\"}" };
    interp_ctx *x = new_ctx(0);
    NEED(interp_ctx_add_backend(x, &FAKE, &b, fake_destroy, ERR));
    interp_config *c = new_config(x, "{\"backend\":\"fake\",\"mounts\":[{\"source\":\"/x\"}],\"interpreters\":{\"python3\":\"/opt/p/bin/python\"},\"runtimes\":[\"/opt/r/\"]}");
    OK(interp_config_add_mount(c, "/y/", "/data", "rw", ERR));
    /* the array replaces what was there; runtimes and interpreters stay */
    OK(interp_config_set_json(c, "{\"mounts\":[{\"source\":\"/a b\",\"target\":\"/in\",\"mode\":\"ro\"}]}", INTERP_NTS, ERR));
    OK(interp_config_add_mount(c, "/y/", "/data", "rw", ERR));
    OK(interp_config_set_interpreter(c, "js", "/opt/n/bin/node", ERR));
    IS(interp_config_add_mount(c, "/z", "/data/", "ro", ERR), INTERP_E_EXISTS);
    IS(interp_config_add_mount(c, "/z", "/z", "", ERR), INTERP_E_INVAL);
    IS(interp_config_add_mount(c, "/z", "/z", NULL, ERR), INTERP_E_INVAL);
    IS(interp_config_add_mount(c, NULL, "/z", "ro", ERR), INTERP_E_INVAL);
    IS(interp_config_add_mount(NULL, "/z", "/z", "ro", ERR), INTERP_E_INVAL);
    IS(interp_config_add_runtime(c, "opt", ERR), INTERP_E_INVAL);
    SAYS(interp_config_set_interpreter(c, "cobol", "/x", ERR), INTERP_E_INVAL, "cobol");
    SAYS(interp_config_set_interpreter(c, "python", "python3", ERR), INTERP_E_INVAL, "absolute");
    static const char *const bad[] = {
        "{\"mounts\":{}}", "{\"mounts\":[\"/a\"]}", "{\"mounts\":[{}]}", "{\"mounts\":[{\"source\":1}]}", "{\"mounts\":[{\"source\":\"/q\",\"mode\":\"rx\"}]}",
        "{\"mounts\":[{\"source\":\"/q\",\"why\":1}]}", "{\"mounts\":[{\"source\":\"/q\"},{\"source\":\"/q\"}]}", "{\"mounts\":[{\"source\":\"/q\\u0000\"}]}",
        "{\"mounts\":[{\"source\":\"/q\",\"target\":\"/proc/x\"}]}", "{\"runtimes\":\"/a\"}", "{\"runtimes\":[1]}", "{\"runtimes\":[\"/proc/x\"]}",
        "{\"interpreters\":[]}", "{\"interpreters\":{\"python\":1}}", "{\"interpreters\":{\"x\":\"/a\"}}"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        interp_status st = interp_config_set_json(c, bad[i], INTERP_NTS, ERR);
        if (st != INTERP_E_INVAL && st != INTERP_E_EXISTS)
            FAIL("%s: %s", bad[i], interp_status_name(st));
        api_drop();
    }
    size_t n;
    const char *j = interp_config_json(c, &n);
    EXPECT_JSON(j, n, "d['mounts'] == [{'source':'/a b','target':'/in','mode':'ro'},{'source':'/y','target':'/data','mode':'rw'}] and d['runtimes'] == ['/opt/r'] and "
                "d['interpreters'] == {'python':'/opt/p/bin/python','javascript':'/opt/n/bin/node'}");
    interp_session *s = NULL;
    NEED(interp_session_open(x, c, &s, ERR));
    interp_config_free(c);
    CHECK_STR(b.mounts, "/opt/r>/opt/r>2;/a b>/in>0;/y>/data>1;python=/opt/p/bin/python;javascript=/opt/n/bin/node;");
    EXPECT_RUN(s, "python", "print hi", "hi\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

/* A backend that does not say that it showed them has not shown them: no session. */
TEST(mounts_that_a_backend_passes_over)
{
    static const char *const says[] = { NULL, "{}", "{\"mounts\":[]}", "{\"mounts\":1}", "{\"mounts\":[{\"target\":\"/a\"}]}", "[]", "{", "{\"mounts\":{\"a\":1,\"b\":2}}" };
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        struct fake b = { .reached = says[i] };
        interp_ctx *x = new_ctx(0);
        NEED(interp_ctx_add_backend(x, &FAKE, &b, fake_destroy, ERR));
        interp_config *c = new_config(x, "{\"backend\":\"fake\",\"mounts\":[{\"source\":\"/a\"},{\"source\":\"/b\"}]}");
        interp_session *s = NULL;
        SAYS(interp_session_open(x, c, &s, ERR), INTERP_E_UNSUPPORTED, "mounts");
        CHECK(s == NULL);
        interp_config_free(c);
        interp_ctx_free(x);
        CHECK_INT(b.live, 0);
    }
}

TEST(stdin_and_flow)
{
    struct fake b = { .opens = 0 };
    struct box o = fake_box(&b, NULL);
    size_t n = 5 << 20;
    char *p = calloc(1, n);
    interp_request *r = new_request(o.x, "bash", "stdin; flood 3000000; stdin", NULL);
    OK(interp_request_set_stdin(r, p, n, ERR));
    interp_result *out = exec_request(o.s, r);
    EXPECT_OK(out);
    CHECK_INT(interp_result_total_bytes(out, INTERP_STREAM_STDOUT), 3000000 + 2 * 8);
    interp_result_free(out);
    free(p);
    free_box(&o, &b);
}

/* ---- opening that goes wrong */

static void open_goes_wrong(struct fake b, const char *json, interp_status want, const char *reason)
{
    for (int loop = 0; loop < 2; loop++) {
        b.opens = b.closes = b.abandons = b.destroyed = b.live = 0;
        interp_ctx *x = new_ctx(loop ? INTERP_CTX_LOOP : 0);
        interp_config *c = new_config(x, json);
        interp_session *s = NULL;
        interp_call *k = NULL;
        interp_status st;
        NEED(interp_config_set_backend(c, "fake", ERR));
        fake_add(x, &b);
        uint64_t t = tap_now_ns();
        if (loop) {
            NEED(interp_session_open_start(x, c, &s, &k, ERR));
            REQUIRE(drive(x, k, 20000 * tap_slow()));
            st = interp_call_finish(k, NULL, ERR);
            interp_call_free(k);
            interp_session_close(s);
        } else {
            st = interp_session_open(x, c, &s, ERR);
            CHECK(s == NULL);
        }
        CHECK(tap_now_ns() - t < UINT64_C(9000000000) * tap_slow());
        if (st != want || (reason && strcmp(interp_error_reason(api_err), reason)))
            FAIL("%s: %s, reason %s (%s)", loop ? "loop" : "threaded", interp_status_name(st), interp_error_reason(api_err), interp_error_message(api_err));
        api_drop();
        interp_config_free(c);
        interp_ctx_free(x);
        CHECK_INT(b.live, 0);
        CHECK_INT(b.destroyed, 1);
    }
}
TEST(open_fails_at_once) { open_goes_wrong((struct fake){ .open_fails = 1 }, NULL, INTERP_E_IMAGE, "fake-image"); }
TEST(open_fails_with_an_instance) { open_goes_wrong((struct fake){ .open_fails = 2 }, NULL, INTERP_E_BACKEND, "fake-late"); }
TEST(open_never_completes) { open_goes_wrong((struct fake){ .open_never = 1 }, "{\"open_timeout_ms\":300}", INTERP_E_TIMEOUT, NULL); }
TEST(agent_never_welcomes) { open_goes_wrong((struct fake){ .mute = 1 }, "{\"open_timeout_ms\":300}", INTERP_E_TIMEOUT, NULL); }
TEST(open_and_read_fails) { open_goes_wrong((struct fake){ .read_error_after = 1, .lies = 0 }, NULL, INTERP_E_BACKEND, NULL); }

TEST(open_fails_with_all_of_the_error)
{
    struct fake b = { .open_fails = 1 };
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, "{\"backend\":\"fake\"}");
    interp_session *s = NULL;
    interp_error *e = NULL;
    fake_add(x, &b);
    CHECK_INT(interp_session_open(x, c, &s, &e), INTERP_E_IMAGE);
    CHECK_STR(interp_error_reason(e), "fake-image");
    CHECK(strstr(interp_error_message(e), "the image is missing") != NULL);
    CHECK_STR(interp_error_remedy(e), "make one");
    CHECK_INT(interp_error_errno(e), ENOENT);
    interp_error_free(e);
    interp_config_free(c);
    interp_ctx_free(x);
}

TEST(open_by_timer)
{
    struct fake b = { .open_slow_ms = 300 };
    uint64_t t = tap_now_ns();
    struct box o = fake_box(&b, NULL);
    CHECK(tap_now_ns() - t >= 290000000u);
    EXPECT_RUN(o.s, "bash", "print x", "x\n");
    free_box(&o, &b);
}

TEST(open_progress)
{
    struct fake b = { .opens = 0 };
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, "{\"backend\":\"fake\"}");
    interp_session *s = NULL;
    interp_call *k = NULL;
    int progress = 0;
    fake_add(x, &b);
    NEED(interp_session_open_start(x, c, &s, &k, ERR));
    interp_config_free(c);
    for (;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_DONE)
            break;
        if (st == INTERP_AGAIN)
            NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
        else if (interp_event_type(ev) == INTERP_EV_PROGRESS) {
            size_t n;
            CHECK(strstr(interp_event_json(ev, &n), "fake") != NULL);
            progress++;
        }
    }
    CHECK(progress >= 1);
    OK(interp_call_finish(k, NULL, ERR));
    interp_call_free(k);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* ---- a backend that behaves oddly, but within its rights */

static void odd_backend(struct fake b)
{
    struct box o = fake_box(&b, NULL);
    EXPECT_RUN(o.s, "python", "print hello", "hello\n");
    interp_result *r = run(o.s, "bash", "flood 300000;print end");
    EXPECT_OK(r);
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 300004);
    interp_result_free(r);
    r = exec_with(o.x, o.s, "bash", "hang", "{\"timeout_ms\":200,\"grace_ms\":300}");
    CHECK(!interp_result_ok(r));
    interp_result_free(r);
    free_box(&o, &b);
}
TEST(one_byte_at_a_time) { odd_backend((struct fake){ .one_byte = 1 }); }
TEST(holds_bytes) { odd_backend((struct fake){ .buffered = 1 }); }
TEST(news_from_a_thread) { odd_backend((struct fake){ .from_thread = 1 }); }
TEST(lies_about_readiness) { odd_backend((struct fake){ .lies = 1 }); }

TEST(odd_backend_in_a_loop)
{
    static const struct fake kind[] = { { .one_byte = 1 }, { .buffered = 1 }, { .from_thread = 1 }, { .lies = 1 } };
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        struct fake b = kind[i];
        interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
        fake_add(x, &b);
        interp_session *s = loop_open(x, "{\"backend\":\"fake\"}");
        interp_result *r = loop_exec(x, s, "bash", "flood 300000;print end", NULL);
        EXPECT_OK(r);
        CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 300004);
        interp_result_free(r);
        if (!b.lies) {
            struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
            while (poll(&p, 1, 50) > 0)
                (void)interp_ctx_dispatch(x, NULL);
        }
        interp_session_close(s);
        interp_ctx_free(x);
        CHECK_INT(b.live, 0);
        CHECK_INT(b.destroyed, 1);
    }
}

/* ---- a sandbox that dies, hangs or lies: the call ends when it says, and is never a success */

TEST(stream_ends_during_exec)
{
    struct fake b = { .opens = 0 };
    struct box o = fake_box(&b, NULL);
    interp_result *r = run(o.s, "bash", "print partial;sleep 50;die");
    EXPECT(r, INTERP_OUTCOME_LOST, "stream", INTERP_STATE_GONE);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "partial\n");
    CHECK(interp_result_ran(r) != 0);
    interp_result_free(r);
    r = NULL;
    IS(interp_session_run(o.s, "bash", "print x", INTERP_NTS, &r, ERR), INTERP_E_CLOSED);
    CHECK_INT(interp_session_status(o.s), INTERP_SESSION_GONE);
    free_box(&o, &b);
}

TEST(write_fails)
{
    struct fake b = { .opens = 0 };
    struct box o = fake_box(&b, NULL);
    EXPECT_RUN(o.s, "bash", "print x", "x\n");
    b.write_error = 1;
    interp_result *r = NULL;
    interp_status st = interp_session_run(o.s, "bash", "print x", INTERP_NTS, &r, ERR);
    if (st == INTERP_OK)
        EXPECT(r, INTERP_OUTCOME_LOST, "stream", INTERP_STATE_GONE);
    else
        IS(st, INTERP_E_CLOSED);
    api_drop();
    interp_result_free(r);
    free_box(&o, &b);
}

/* By how much an agent that does nothing is over its timeout, grace included */
static double deaf_ms(void)
{
    struct fake b = { .opens = 0 };
    struct box o = fake_box(&b, NULL);
    uint64_t t = tap_now_ns();
    interp_call *k = NULL;
    interp_request *q = new_request(o.x, "bash", "print partial;deaf", "{\"timeout_ms\":1500,\"grace_ms\":300,\"stream\":1}");
    NEED(interp_session_exec_start(o.s, q, &k, ERR));
    interp_request_free(q);
    wait_output(k, INTERP_STREAM_STDOUT, "partial\n");
    interp_result *r = finish_exec(k);
    double ms = (double)(tap_now_ns() - t) / 1e6 - 1500;
    MEASURE("over its timeout, with a grace of 300, of an agent that does nothing", ms, "ms");
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_GONE);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "partial\n");
    interp_result_free(r);
    free_box(&o, &b);
    return ms;
}
TEST(deaf_agent)
{
    double least = deaf_ms();
    for (int i = 0; i < 2 && least >= 3300 * tap_slow(); i++) {   /* what a busy machine adds comes and goes */
        double ms = deaf_ms();
        least = ms < least ? ms : least;
    }
    CHECK(least < 3300 * tap_slow());
}

TEST(deaf_agent_cancelled)
{
    struct fake b = { .opens = 0 };
    struct box o = fake_box(&b, NULL);
    interp_cancel *t = NULL;
    interp_call *k = NULL;
    NEED(interp_cancel_new(o.x, &t, ERR));
    interp_request *q = new_request(o.x, "bash", "print begun;deaf", "{\"grace_ms\":20000,\"stream\":1}");
    NEED(interp_request_set_cancel(q, t, ERR));
    NEED(interp_session_exec_start(o.s, q, &k, ERR));
    interp_request_free(q);
    wait_output(k, INTERP_STREAM_STDOUT, "begun\n");
    interp_cancel_fire(t);
    IS(interp_call_wait(k, 200, 0, ERR), INTERP_AGAIN);
    uint64_t t0 = tap_now_ns();
    interp_cancel_fire(t);
    interp_result *r = finish_exec(k);
    double ms = (double)(tap_now_ns() - t0) / 1e6;
    MEASURE("after the second fire, agent does nothing", ms, "ms");
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_GONE);
    CHECK(ms < 4700 * tap_slow());
    interp_result_free(r);
    interp_cancel_free(t);
    free_box(&o, &b);
}

TEST(kill_never_confirmed)
{
    struct fake b = { .kill_never = 1, .close_never = 1 };
    struct box o = fake_box(&b, "{\"close_timeout_ms\":700}");
    interp_result *r = exec_with(o.x, o.s, "bash", "deaf", "{\"timeout_ms\":200,\"grace_ms\":200}");
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_GONE);   /* returns although the kill is not confirmed */
    interp_result_free(r);
    uint64_t t = tap_now_ns();
    interp_session_close(o.s);
    o.s = NULL;
    double ms = (double)(tap_now_ns() - t) / 1e6;
    MEASURE("close with close_timeout 700 ms, backend never closes", ms, "ms");
    CHECK(ms < 700 + 1500 * tap_slow());
    free_box(&o, &b);
    CHECK_INT(b.abandons, 1);
}

TEST(close_never_in_a_loop)
{
    struct fake b = { .close_never = 1, .kill_never = 1 };
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    fake_add(x, &b);
    interp_session *s = loop_open(x, "{\"backend\":\"fake\",\"close_timeout_ms\":500}");
    long sleeps = count_sleeps();
    uint64_t t = tap_now_ns();
    interp_session_close(s);
    t = tap_now_ns() - t;
    CHECK(t < 200000000u * (uint64_t)tap_slow() || count_sleeps() == sleeps);
    while (!b.abandons) {                                             /* the loop's own deadline does it */
        struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
        if (poll(&p, 1, 100) > 0)
            (void)interp_ctx_dispatch(x, NULL);
    }
    CHECK_INT(b.abandons, 1);
    interp_ctx_free(x);
    CHECK_INT(b.live, 0);
}

TEST_LONG(protocol_violations, 120)
{
    static const char *const bad[] = { "size", "type", "host-type", "flags", "seq", "ack", "channel", "exec-id", "twice", "short-exit", "welcome-again",
                                       "credit", "kernel-json", "kernel-type", "kernel-size", "fatal", "garbage" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fake b = { .opens = 0 };
        struct box o = fake_box(&b, NULL);
        char code[60];
        snprintf(code, sizeof code, "print begun;sleep 20;bad %s", bad[i]);
        interp_result *r = exec_with(o.x, o.s, "python", code, "{\"grace_ms\":500}");
        if (!strcmp(bad[i], "twice")) {
            EXPECT(r, INTERP_OUTCOME_OK, "", 0);                      /* the first was good; the second ends the session */
        } else {
            if (interp_result_outcome(r) != INTERP_OUTCOME_LOST && interp_result_outcome(r) != INTERP_OUTCOME_CRASHED)
                show_result(__FILE__, __LINE__, r, bad[i]);
            if (interp_result_state(r) != INTERP_STATE_GONE && interp_result_state(r) != INTERP_STATE_RESET)
                show_result(__FILE__, __LINE__, r, bad[i]);
            CHECK(interp_result_ran(r) != 0);
            const char *j = interp_result_json(r, NULL);
            EXPECT_JSON(j, strlen(j), "d['ok'] is False");
        }
        if (strcmp(bad[i], "fatal") && strcmp(bad[i], "twice"))
            CHECK_STR(interp_result_cause(r), "protocol");
        interp_result_free(r);
        r = NULL;
        IS(interp_session_run(o.s, "python", "print x", INTERP_NTS, &r, ERR), INTERP_E_CLOSED);
        free_box(&o, &b);
    }
}

/* An agent that sends on although the consumer does not pull: the host's memory stays bounded. */
TEST(window_overrun)
{
    struct fake b = { .opens = 0 };
    struct box o = fake_box(&b, NULL);
    interp_call *k = NULL;
    interp_request *q = new_request(o.x, "python", "print begun;bad window", "{\"stream\":1,\"grace_ms\":500}");
    NEED(interp_session_exec_start(o.s, q, &k, ERR));
    interp_request_free(q);
    /* a second kernel's exec drives the session; nobody pulls the first */
    interp_result *r = NULL;
    (void)interp_session_exec(o.s, q = new_request(o.x, "bash", "print x", "{\"grace_ms\":500}"), &r, NULL);
    interp_request_free(q);
    CHECK(!interp_result_ok(r));
    interp_result_free(r);
    r = finish_exec(k);
    EXPECT(r, INTERP_OUTCOME_LOST, "protocol", INTERP_STATE_GONE);
    CHECK(interp_result_total_bytes(r, INTERP_STREAM_STDOUT) <= WIRE_WINDOW);
    interp_result_free(r);
    free_box(&o, &b);
}

/* A put that the agent takes no more of ends by the deadline; one that the host does not go on with waits for it. */
TEST(put_that_stops)
{
    struct fake b = { .no_credit = 1 };
    struct box o = fake_box(&b, "{\"timeout_ms\":400}");
    char *bytes = calloc(1, 2 << 20);
    SAYS(interp_session_put(o.s, "f", 1, 0644, bytes, 2 << 20, ERR), INTERP_E_TIMEOUT, "silent about a put");
    interp_call *k = NULL;
    size_t taken = 0;
    NEED(interp_session_put_start(o.s, "f", 1, INTERP_UNKNOWN, 0644, &k, ERR));
    OK(interp_call_write(k, bytes, 1000, &taken, ERR));
    CHECK_INT(taken, 1000);
    IS(interp_call_wait(k, 900, 0, ERR), INTERP_AGAIN);
    OK(interp_call_write(k, bytes, 2 << 20, &taken, ERR));
    CHECK(taken >= 500000 && taken < 2 << 20);    /* a queue is kept, and of a window what the other side has read by now is sent */
    wait_done(k);
    SAYS(interp_call_finish(k, NULL, ERR), INTERP_E_TIMEOUT, "silent about a put");
    interp_call_free(k);
    free(bytes);
    free_box(&o, &b);
}

/* What the guest says of itself: odd JSON in the final frame never crashes, and never invents a success. */
TEST(guest_json)
{
    static const struct { const char *json; int may_be_ok; } row[] = {
        { "{}", 1 }, { "{\"exit_code\":0}", 1 }, { "{\"exit_code\":99999999999}", 0 }, { "{\"exit_code\":-5}", 0 }, { "{\"exit_code\":\"0\"}", 1 }, { "{\"exit_code\":1.5}", 1 },
        { "{\"error\":{}}", 1 }, { "{\"error\":{\"type\":5,\"message\":[],\"line\":\"x\",\"frames\":{}}}", 1 },
        { "{\"error\":{\"type\":\"\\u0000\\ud800\",\"message\":\"\\u202e\",\"line\":-1,\"column\":99999999999,\"frames\":[[[]]],\"traceback\":null}}", 1 },
        { "{\"error\":{\"type\":\"E\",\"type\":\"F\"}}", 0 }, { "[1,2]", 0 }, { "null", 0 }, { "{", 0 }, { "{}x", 0 }, { "{\"a\":\xff}", 0 }, { "{\"a\":\"\xff\"}", 0 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct fake b = { .opens = 0 };
        struct box o = fake_box(&b, NULL);
        char code[300];
        snprintf(code, sizeof code, "json %s", row[i].json);
        interp_result *r = NULL;
        NEED(interp_session_run(o.s, "python", code, INTERP_NTS, &r, ERR));
        if (interp_result_ok(r) && !row[i].may_be_ok)
            show_result(__FILE__, __LINE__, r, row[i].json);
        size_t n;
        const char *j = interp_result_json(r, &n);
        EXPECT_JSON(j, n, "d['outcome'] != 'none'");
        interp_result_free(r);
        free_box(&o, &b);
    }
}

TEST(deep_guest_json)
{
    struct fake b = { .opens = 0 };
    struct box o = fake_box(&b, NULL);
    char *code = malloc(90020);
    memcpy(code, "json ", 5);
    memset(code + 5, '[', 90000);
    code[90005] = 0;
    interp_result *r = NULL;
    NEED(interp_session_run(o.s, "python", code, INTERP_NTS, &r, ERR));
    CHECK(!interp_result_ok(r));
    interp_result_free(r);
    free(code);
    free_box(&o, &b);
}

/* 200 sessions on one descriptor, driven to the end. */
TEST_LONG(many_sessions_in_a_loop, 120)
{
    enum { N = 200 };
    struct fake b = { .opens = 0 };
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s[N];
    interp_call *k[N];
    fake_add(x, &b);
    interp_config *c = new_config(x, "{\"backend\":\"fake\"}");
    for (int i = 0; i < N; i++) {
        NEED(interp_session_open_start(x, c, &s[i], &k[i], ERR));
        interp_call_set_userdata(k[i], (void *)(intptr_t)i);
    }
    interp_config_free(c);
    int left = N;
    while (left) {
        struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
        REQUIRE(poll(&p, 1, 20000) == 1);
        (void)interp_ctx_dispatch(x, NULL);
        interp_call *got;
        while (interp_ctx_next(x, &got) == INTERP_OK) {
            const interp_event *ev;
            interp_status st;
            int i = (int)(intptr_t)interp_call_userdata(got);
            while ((st = interp_call_next(got, &ev)) == INTERP_OK)
                ;
            if (st != INTERP_DONE)
                continue;
            if (interp_call_kind(got) == INTERP_CALL_OPEN) {
                NEED(interp_call_finish(got, NULL, ERR));
                interp_call_free(got);
                interp_request *q = new_request(x, "bash", "flood 100000;print done", NULL);
                NEED(interp_session_exec_start(s[i], q, &k[i], ERR));
                interp_call_set_userdata(k[i], (void *)(intptr_t)i);
                interp_request_free(q);
            } else {
                interp_result *r = NULL;
                OK(interp_call_finish(got, &r, ERR));
                CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 100005);
                interp_result_free(r);
                interp_call_free(got);
                left--;
            }
        }
    }
    for (int i = 0; i < N; i++)
        interp_session_close(s[i]);
    interp_ctx_free(x);
    CHECK_INT(b.live, 0);
    CHECK_INT(b.opened, N);
}

TAP_MAIN()
