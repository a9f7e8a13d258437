/* test_basics.c - hello, versions, neutral values, NULL everywhere, drive modes, contexts.
   SPDX-License-Identifier: MIT */
#include "api.h"

TEST(hello_python)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_result *r = run(s, "python", "print('hello')\n1 + 1");
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "hello\n");
    EXPECT_TEXT(r, INTERP_STREAM_STDERR, "");
    CHECK_INT(interp_result_ok(r), 1);
    CHECK_STR(interp_result_outcome_name(r), "ok");
    CHECK_INT(interp_result_ran(r), 1);
    CHECK_STR(interp_result_interrupted(r), "");
    CHECK_STR(interp_result_value(r, NULL), "2");
    CHECK_STR(interp_result_claimed_by(r), "guest");
    CHECK(interp_result_wall_ns(r) > 0 && interp_result_wall_ns(r) < UINT64_C(60000000000));
    interp_result_free(r);
    CHECK(interp_session_close(s) == NULL);
    interp_ctx_free(x);
}

TEST(hello_bash)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    EXPECT_RUN(s, "bash", "echo hello; echo oops >&2; v=7", "hello\n");
    EXPECT_RUN(s, "bash", "echo $v", "7\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(hello_sh)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    EXPECT_RUN(s, "sh", "echo hello; v=7", "hello\n");
    EXPECT_RUN(s, "sh", "echo $v", "7\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(hello_javascript)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    EXPECT_RUN(s, "javascript", "console.log('hello'); var v = 7", "hello\n");
    interp_result *r = run(s, "javascript", "v + 1");
    EXPECT_OK(r);
    CHECK_STR(interp_result_value(r, NULL), "8");
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(default_config)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = NULL;
    interp_status st = interp_session_open(x, NULL, &s, ERR);
    skip_without_sandbox(st);
    NEED(st);
    EXPECT_RUN(s, "python", "print(1)", "1\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(versions)
{
    uint32_t n = interp_version_number();
    char want[32];
    snprintf(want, sizeof want, "%u.%u.%u", n >> 16, n >> 8 & 255, n & 255);
    CHECK_STR(interp_version(), want);
    CHECK_INT(n, INTERP_VERSION_NUMBER);
}

TEST(status_names)
{
    static const struct { interp_status st; const char *name; } row[] = {
#define ROW(n) { INTERP_##n, "INTERP_" #n }
        ROW(OK), ROW(AGAIN), ROW(DONE), ROW(E_INVAL), ROW(E_NOMEM), ROW(E_BUSY), ROW(E_CLOSED), ROW(E_CANCELLED), ROW(E_TIMEOUT), ROW(E_INTR),
        ROW(E_FORKED), ROW(E_UNSUPPORTED), ROW(E_NOT_FOUND), ROW(E_EXISTS), ROW(E_DENIED), ROW(E_LIMIT), ROW(E_IO), ROW(E_ISOLATION), ROW(E_IMAGE),
        ROW(E_BACKEND), ROW(E_PROTOCOL), ROW(E_CALLBACK),
#undef ROW
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        CHECK_STR(interp_status_name(row[i].st), row[i].name);
    static const interp_status odd[] = { 3, 1000, -20, -1000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        CHECK(interp_status_name(odd[i]) && interp_status_name(odd[i])[0]);
}

TEST(features)
{
    static const char *const yes[] = {
#define OPT_STR(scope, name, ...) "option_or_request:" #scope "." #name,
#define OPT_U64(scope, name, ...) "option_or_request:" #scope "." #name,
#include "core/options.def"
    };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        char key[100];
        const char *scope = strchr(yes[i], ':') + 1, *name = strchr(scope, '.') + 1;
        snprintf(key, sizeof key, "%s.%s", scope[0] == 'c' ? "option" : "request", name);
        if (interp_has(key) != 1)
            FAIL("interp_has(\"%s\") is %d", key, interp_has(key));
    }
    static const char *const no[] = { "", "option", "option.", "option.nonsense", "request.memory_bytes", "memory_bytes", "backend.nonsense", "agent.pdp11", "OPTION.memory_bytes", "option.memory_bytes " };
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (interp_has(no[i]) != 0)
            FAIL("interp_has(\"%s\") is %d", no[i], interp_has(no[i]));
    CHECK_INT(interp_has(NULL), 0);
    CHECK_INT(interp_has("backend.local"), 1);
#if defined(__x86_64__)
    CHECK_INT(interp_has("agent.x86_64"), 1);
#elif defined(__aarch64__)
    CHECK_INT(interp_has("agent.aarch64"), 1);
#endif
}

TEST(null_error)
{
    size_t len = 99;
    CHECK_INT(interp_error_code(NULL), INTERP_OK);
    CHECK_STR(interp_error_reason(NULL), "");
    CHECK(interp_error_message(NULL) != NULL);
    CHECK_STR(interp_error_remedy(NULL), "");
    CHECK_INT(interp_error_retryable(NULL), 0);
    CHECK_INT(interp_error_errno(NULL), 0);
    const char *j = interp_error_json(NULL, &len);
    CHECK(j && strlen(j) == len);
    CHECK(interp_error_json(NULL, NULL) != NULL);
    interp_error_free(NULL);
}

TEST(null_result)
{
    size_t len = 99;
    interp_result_free(NULL);
    CHECK_INT(interp_result_ok(NULL), 0);
    CHECK_INT(interp_result_outcome(NULL), 0);
    CHECK_STR(interp_result_outcome_name(NULL), "none");
    CHECK_STR(interp_result_cause(NULL), "");
    CHECK_INT(interp_result_state(NULL), INTERP_STATE_GONE);
    CHECK_INT(interp_result_ran(NULL), INTERP_NONE);
    CHECK_STR(interp_result_interrupted(NULL), "");
    CHECK_INT(interp_result_exit_code(NULL), INTERP_NONE);
    CHECK_INT(interp_result_signal(NULL), INTERP_NONE);
    CHECK(interp_result_claimed_by(NULL) != NULL);
    for (int32_t st = -1; st < 4; st++) {
        CHECK(interp_result_text(NULL, st, &len) != NULL && len == 0);
        len = 99;
        CHECK((interp_result_head(NULL, st, &len), len == 0));
        len = 99;
        CHECK((interp_result_tail(NULL, st, &len), len == 0));
        (void)interp_result_total_bytes(NULL, st);
        (void)interp_result_total_lines(NULL, st);
        CHECK_INT(interp_result_truncated(NULL, st), 0);
    }
    CHECK(interp_result_value(NULL, NULL) == NULL);
    CHECK_STR(interp_result_error_type(NULL, NULL), "");
    CHECK_STR(interp_result_error_message(NULL, NULL), "");
    CHECK_STR(interp_result_error_traceback(NULL, NULL), "");
    CHECK_INT(interp_result_error_line(NULL), INTERP_NONE);
    CHECK(interp_result_wall_ns(NULL) == INTERP_UNKNOWN);
    CHECK(interp_result_cpu_ns(NULL) == INTERP_UNKNOWN);
    CHECK(interp_result_memory_peak_bytes(NULL) == INTERP_UNKNOWN);
    CHECK_INT(interp_result_part_count(NULL), 0);
    CHECK(interp_result_part(NULL, 0, NULL, NULL, NULL) == NULL);
    CHECK(interp_result_json(NULL, &len) != NULL);
}

TEST(null_handles)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, NULL);
    interp_request *r = new_request(x, "python", "1", NULL);
    interp_cancel *t = NULL;
    interp_session *s = (interp_session *)&s;
    interp_call *k = (interp_call *)&k;
    interp_result *out = (interp_result *)&out;
    NEED(interp_cancel_new(x, &t, ERR));

    IS(interp_ctx_new(0, NULL, ERR), INTERP_E_INVAL);
    IS(interp_ctx_new_alloc(0, NULL, NULL, NULL, ERR), INTERP_E_INVAL);
    interp_ctx_free(NULL);
    CHECK_INT(interp_ctx_fd(NULL), -1);
    IS(interp_ctx_dispatch(NULL, ERR), INTERP_E_INVAL);
    IS(interp_ctx_next(NULL, &k), INTERP_E_INVAL);
    IS(interp_ctx_run(NULL, t, ERR), INTERP_E_INVAL);
    IS(interp_ctx_set_log(NULL, NULL, NULL, NULL, ERR), INTERP_E_INVAL);
    IS(interp_ctx_set_agent(NULL, "x86_64", "x", 1, ERR), INTERP_E_INVAL);
    IS(interp_ctx_set_agent(x, NULL, "x", 1, ERR), INTERP_E_INVAL);
    IS(interp_ctx_set_agent(x, "x86_64", NULL, 1, ERR), INTERP_E_INVAL);
    IS(interp_ctx_add_backend(NULL, NULL, NULL, NULL, ERR), INTERP_E_INVAL);
    IS(interp_ctx_add_backend(x, NULL, NULL, NULL, ERR), INTERP_E_INVAL);

    IS(interp_cancel_new(NULL, &t, ERR), INTERP_E_INVAL);
    IS(interp_cancel_new(x, NULL, ERR), INTERP_E_INVAL);
    CHECK(interp_cancel_ref(NULL) == NULL);
    interp_cancel_fire(NULL);
    (void)interp_cancel_fired(NULL);
    interp_cancel_free(NULL);

    IS(interp_config_new(NULL, &c, ERR), INTERP_E_INVAL);
    IS(interp_config_new(x, NULL, ERR), INTERP_E_INVAL);
    IS(interp_config_set_json(NULL, "{}", INTERP_NTS, ERR), INTERP_E_INVAL);
    IS(interp_config_set_json(c, NULL, INTERP_NTS, ERR), INTERP_E_INVAL);
    IS(interp_config_set_json(c, NULL, 3, ERR), INTERP_E_INVAL);
    IS(interp_config_set_env(NULL, "A", "b", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_env(c, NULL, "b", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_env(c, "A", NULL, 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_cancel(NULL, t, ERR), INTERP_E_INVAL);
    OK(interp_config_set_cancel(c, NULL, ERR));
    IS(interp_config_set_extra(NULL, "local.x", "1", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_extra(c, NULL, "1", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_extra(c, "local.x", NULL, 1, ERR), INTERP_E_INVAL);
    CHECK(interp_config_json(NULL, NULL) == NULL || interp_config_json(NULL, NULL)[0]);
    interp_config_free(NULL);
    IS(interp_config_set_backend(NULL, "local", ERR), INTERP_E_INVAL);
    IS(interp_config_set_backend(c, NULL, ERR), INTERP_E_INVAL);
    IS(interp_config_set_memory_bytes(NULL, 1 << 30, ERR), INTERP_E_INVAL);

    IS(interp_session_open(NULL, c, &s, ERR), INTERP_E_INVAL);
    IS(interp_session_open(x, c, NULL, ERR), INTERP_E_INVAL);
    IS(interp_session_open_start(NULL, c, &s, &k, ERR), INTERP_E_INVAL);
    IS(interp_session_open_start(x, c, NULL, &k, ERR), INTERP_E_INVAL);
    IS(interp_session_open_start(x, c, &s, NULL, ERR), INTERP_E_INVAL);
    IS(interp_session_exec(NULL, r, &out, ERR), INTERP_E_INVAL);
    IS(interp_session_exec_start(NULL, r, &k, ERR), INTERP_E_INVAL);
    IS(interp_session_run(NULL, "python", "1", 1, &out, ERR), INTERP_E_INVAL);
    IS(interp_session_restart(NULL, "python", NULL, ERR), INTERP_E_INVAL);
    IS(interp_session_restart_start(NULL, "python", NULL, &k, ERR), INTERP_E_INVAL);
    interp_session_shutdown(NULL);
    CHECK(interp_session_close(NULL) == NULL);
    IS(interp_session_close_start(NULL, &k, ERR), INTERP_E_INVAL);
    CHECK_INT(interp_session_status(NULL), INTERP_SESSION_GONE);
    size_t n = 99;
    const char *info = interp_session_info_json(NULL, &n);
    CHECK(!info || strlen(info) == n);
    CHECK(interp_session_userdata(NULL) == NULL);
    interp_session_set_userdata(NULL, x);

    IS(interp_request_new(NULL, &r, ERR), INTERP_E_INVAL);
    IS(interp_request_new(x, NULL, ERR), INTERP_E_INVAL);
    interp_request_free(NULL);
    IS(interp_request_set_json(NULL, "{}", 2, ERR), INTERP_E_INVAL);
    IS(interp_request_set_json(r, NULL, 2, ERR), INTERP_E_INVAL);
    IS(interp_request_set_code(NULL, "1", 1, ERR), INTERP_E_INVAL);
    IS(interp_request_set_code(r, NULL, 1, ERR), INTERP_E_INVAL);
    IS(interp_request_set_stdin(NULL, "1", 1, ERR), INTERP_E_INVAL);
    IS(interp_request_set_stdin(r, NULL, 1, ERR), INTERP_E_INVAL);
    IS(interp_request_set_env(NULL, "A", "b", 1, ERR), INTERP_E_INVAL);
    IS(interp_request_set_options(NULL, "{}", 2, ERR), INTERP_E_INVAL);
    IS(interp_request_set_options(r, NULL, 2, ERR), INTERP_E_INVAL);
    IS(interp_request_set_cancel(NULL, t, ERR), INTERP_E_INVAL);
    OK(interp_request_set_cancel(r, NULL, ERR));
    IS(interp_request_set_language(NULL, "python", ERR), INTERP_E_INVAL);
    IS(interp_request_set_language(r, NULL, ERR), INTERP_E_INVAL);
    IS(interp_request_set_timeout_ms(NULL, 5, ERR), INTERP_E_INVAL);

    CHECK_INT(interp_call_kind(NULL), 0);
    CHECK(interp_call_session(NULL) == NULL);
    CHECK(interp_call_userdata(NULL) == NULL);
    interp_call_set_userdata(NULL, x);
    IS(interp_call_wait(NULL, 1, 0, ERR), INTERP_E_INVAL);
    const interp_event *ev = NULL;
    IS(interp_call_next(NULL, &ev), INTERP_E_INVAL);
    IS(interp_call_finish(NULL, &out, ERR), INTERP_E_INVAL);
    interp_call_free(NULL);

    CHECK_INT(interp_event_type(NULL), 0);
    CHECK_INT(interp_event_exec(NULL), 0);
    CHECK_INT(interp_event_stream(NULL), 0);
    CHECK_INT(interp_event_offset(NULL), 0);
    CHECK_INT(interp_event_seq(NULL), 0);
    CHECK_INT(interp_event_missing(NULL), 0);
    n = 99;
    CHECK((interp_event_data(NULL, &n), n == 0));
    n = 99;
    const char *ej = interp_event_json(NULL, &n);
    CHECK(ej && !ej[0] && n == 0);

    /* nothing was written on failure */
    CHECK(s == (interp_session *)&s);
    CHECK(k == (interp_call *)&k);
    CHECK(out == (interp_result *)&out);
    interp_cancel_free(t);
    interp_request_free(r);
    interp_config_free(c);
    interp_ctx_free(x);
}

/* The same failures without an error pointer. */
TEST(no_error_pointer)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, NULL);
    interp_session *s = NULL;
    IS(interp_config_set_memory_bytes(c, 1, NULL), INTERP_E_INVAL);
    IS(interp_config_set_json(c, "{\"nonsense\":1}", INTERP_NTS, NULL), INTERP_E_INVAL);
    OK(interp_config_set_backend(c, "nonsense", NULL));
    IS(interp_session_open(x, c, &s, NULL), INTERP_E_NOT_FOUND);
    IS(interp_ctx_new(0x80000000u, &x, NULL), INTERP_E_INVAL);
    interp_config_free(c);
    interp_ctx_free(x);
}

TEST(null_session_arguments)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_request *r = new_request(x, "python", "1", NULL);
    interp_result *out = NULL;
    interp_call *k = NULL;
    IS(interp_session_exec(s, NULL, &out, ERR), INTERP_E_INVAL);
    IS(interp_session_exec_start(s, NULL, &k, ERR), INTERP_E_INVAL);
    IS(interp_session_exec_start(s, r, NULL, ERR), INTERP_E_INVAL);
    IS(interp_session_run(s, NULL, "1", 1, &out, ERR), INTERP_E_INVAL);
    IS(interp_session_run(s, "python", NULL, 1, &out, ERR), INTERP_E_INVAL);
    IS(interp_session_restart(s, NULL, NULL, ERR), INTERP_E_INVAL);
    IS(interp_session_restart_start(s, "python", NULL, NULL, ERR), INTERP_E_INVAL);
    IS(interp_session_close_start(s, NULL, ERR), INTERP_E_INVAL);
    EXPECT_RUN(s, "python", "print(2)", "2\n");
    interp_request_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(bad_flags)
{
    interp_ctx *x = (interp_ctx *)&x;
    static const uint32_t bad[] = { 2, 4, 0x80000000u, 0xffffffffu };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        IS(interp_ctx_new(bad[i], &x, ERR), INTERP_E_INVAL);
    CHECK(x == (interp_ctx *)&x);
}

TEST(wrong_drive_mode_threaded)
{
    interp_ctx *x = new_ctx(0);
    interp_call *k = NULL;
    CHECK_INT(interp_ctx_fd(x), -1);
    IS(interp_ctx_dispatch(x, ERR), INTERP_E_BUSY);
    IS(interp_ctx_next(x, &k), INTERP_E_BUSY);
    interp_ctx_free(x);
}

TEST(wrong_drive_mode_loop)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = NULL;
    interp_result *out = NULL;
    interp_call *k = NULL;
    interp_cancel *t = NULL;
    CHECK(interp_ctx_fd(x) >= 0);
    IS(interp_session_open(x, NULL, &s, ERR), INTERP_E_BUSY);
    CHECK(s == NULL);
    NEED(interp_cancel_new(x, &t, ERR));
    interp_cancel_fire(t);
    IS(interp_ctx_run(x, t, ERR), INTERP_E_BUSY);
    s = loop_open(x, NULL);
    interp_request *r = new_request(x, "python", "1", NULL);
    IS(interp_session_exec(s, r, &out, ERR), INTERP_E_BUSY);
    IS(interp_session_run(s, "python", "1", 1, &out, ERR), INTERP_E_BUSY);
    NEED(interp_session_exec_start(s, r, &k, ERR));
    IS(interp_session_restart(s, "python", NULL, ERR), INTERP_E_BUSY);
    IS(interp_call_wait(k, 10, 0, ERR), INTERP_E_BUSY);
    CHECK(drive(x, k, 30000 * tap_slow()));
    OK(interp_call_finish(k, &out, ERR));
    CHECK_INT(interp_result_ok(out), 1);
    interp_result_free(out);
    interp_call_free(k);
    interp_request_free(r);
    interp_session_close(s);
    interp_cancel_free(t);
    interp_ctx_free(x);
}

TEST(two_contexts)
{
    interp_ctx *a = new_ctx(0), *b = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = open_with(a, NULL), *t = loop_open(b, NULL);
    EXPECT_RUN(s, "python", "x = 'a'; print(x)", "a\n");
    interp_result *r = loop_exec(b, t, "python", "print('x' in globals())", NULL);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "False\n");
    interp_result_free(r);
    interp_session_close(t);
    interp_ctx_free(b);
    EXPECT_RUN(s, "python", "print(x)", "a\n");
    interp_session_close(s);
    interp_ctx_free(a);
}

TEST(two_sessions_do_not_meet)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL), *t = open_with(x, NULL);
    EXPECT_RUN(s, "bash", "echo one > /tmp/f; echo two > f; v=1; echo $v", "1\n");
    EXPECT_RUN(t, "bash", "ls /tmp/f f 2>/dev/null | wc -l; echo \"[$v]\"", "0\n[]\n");
    interp_session_close(s);
    interp_session_close(t);
    interp_ctx_free(x);
}

TEST(unknown_backend)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, NULL);
    interp_session *s = (interp_session *)&s;
    OK(interp_config_set_backend(c, "nonsense", ERR));
    SAYS(interp_session_open(x, c, &s, ERR), INTERP_E_NOT_FOUND, "nonsense");
    CHECK(s == (interp_session *)&s);
    interp_config_free(c);
    interp_ctx_free(x);
}

TEST(session_status)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = NULL;
    interp_call *k = NULL;
    size_t n = 99;
    NEED(interp_session_open_start(x, NULL, &s, &k, ERR));
    CHECK_INT(interp_call_kind(k), INTERP_CALL_OPEN);
    CHECK(interp_call_session(k) == s);
    CHECK_INT(interp_session_status(s), INTERP_SESSION_OPENING);
    CHECK_STR(interp_session_info_json(s, &n), "{}");
    CHECK_INT(n, 2);
    IS(interp_call_finish(k, NULL, ERR), INTERP_AGAIN);
    wait_done(k);
    interp_status st = interp_call_finish(k, NULL, ERR);
    skip_without_sandbox(st);
    OK(st);
    CHECK_INT(interp_session_status(s), INTERP_SESSION_OPEN);
    const char *j = interp_session_info_json(s, &n);
    EXPECT_JSON(j, n, "len(d['session']) > 0 and d['backend'] == 'local' and d['isolation'] in ('full','namespaces') and isinstance(d['reached'], dict)");
    EXPECT_JSON(j, n, "all(k in d['reached'] for k in ('ids','memory','cpu','pids','landlock','shared_inodes','unenforced'))");
    interp_call_free(k);
    interp_session_shutdown(s);
    CHECK(interp_session_status(s) == INTERP_SESSION_SHUTDOWN || interp_session_status(s) == INTERP_SESSION_GONE);
    interp_result *r = (interp_result *)&r;
    IS(interp_session_run(s, "python", "1", 1, &r, ERR), INTERP_E_CLOSED);
    CHECK(r == (interp_result *)&r);
    interp_session_shutdown(s);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(close_start)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_call *k = NULL;
    EXPECT_RUN(s, "python", "print(1)", "1\n");
    CHECK(count_descendants() > 0);
    NEED(interp_session_close_start(s, &k, ERR));
    CHECK_INT(interp_call_kind(k), INTERP_CALL_CLOSE);
    wait_done(k);
    OK(interp_call_finish(k, NULL, ERR));
    CHECK_INT(interp_session_status(s), INTERP_SESSION_GONE);
    CHECK_INT(count_descendants(), 0);
    interp_session_close(s);
    interp_call_free(k);
    interp_ctx_free(x);
}

TEST(userdata)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_call *k = NULL;
    interp_request *r = new_request(x, "python", "1", NULL);
    int a, b;
    CHECK(interp_session_userdata(s) == NULL);
    interp_session_set_userdata(s, &a);
    CHECK(interp_session_userdata(s) == &a);
    NEED(interp_session_exec_start(s, r, &k, ERR));
    interp_request_free(r);
    CHECK(interp_call_userdata(k) == NULL);
    interp_call_set_userdata(k, &b);
    CHECK(interp_call_userdata(k) == &b);
    CHECK_INT(interp_call_kind(k), INTERP_CALL_EXEC);
    CHECK(interp_call_session(k) == s);
    interp_result_free(finish_exec(k));
    interp_session_close(s);
    interp_ctx_free(x);
}

/* A finished call outlives its session as a handle. */
TEST(call_outlives_session)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_call *k = NULL, *hung = NULL;
    interp_request *r = new_request(x, "python", "print(5)", NULL);
    NEED(interp_session_exec_start(s, r, &k, ERR));
    wait_done(k);
    interp_request_free(r);
    r = new_request(x, "bash", "sleep 1000", NULL);
    NEED(interp_session_exec_start(s, r, &hung, ERR));
    interp_request_free(r);
    interp_session_close(s);
    CHECK(interp_call_session(k) == NULL);
    interp_result *out = NULL;
    OK(interp_call_finish(k, &out, ERR));
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "5\n");
    interp_result_free(out);
    out = NULL;
    const interp_event *ev;
    interp_status st;
    while ((st = interp_call_next(hung, &ev)) == INTERP_OK)
        ;
    CHECK_INT(st, INTERP_DONE);
    OK(interp_call_finish(hung, &out, ERR));
    EXPECT(out, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_GONE);
    interp_result_free(out);
    interp_call_free(hung);
    interp_call_free(k);
    interp_ctx_free(x);
}

TEST(isolation_floor)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, NULL);
    interp_session *s = NULL;
    IS(interp_config_set_json(c, "{\"isolation\":\"nonsense\"}", INTERP_NTS, ERR), INTERP_E_INVAL);
    OK(interp_config_set_isolation(c, "full", ERR));
    interp_status st = interp_session_open(x, c, &s, ERR);
    if (st == INTERP_OK) {
        size_t n;
        const char *j = interp_session_info_json(s, &n);
        EXPECT_JSON(j, n, "d['isolation'] == 'full'");
        interp_session_close(s);
    } else {
        CHECK(interp_error_remedy(api_err)[0]);
        IS(st, INTERP_E_ISOLATION);
    }
    interp_config_free(c);
    interp_ctx_free(x);
}

struct log_state { interp_ctx *x; int lines, destroyed, busy_asked; interp_status busy; };
static void log_sink(void *u, int32_t level, const char *msg, size_t len)
{
    struct log_state *l = u;
    if (level < 1 || level > 4 || strlen(msg) != len)
        FAIL("log line: level %d, length %zu", (int)level, len);
    l->lines++;
    if (!l->busy_asked++) {
        interp_config *c;
        l->busy = interp_config_new(l->x, &c, NULL);
    }
}
static void log_destroy(void *u) { ((struct log_state *)u)->destroyed++; }

TEST(log_sink)
{
    struct log_state l = { 0 };
    interp_ctx *x = l.x = new_ctx(0);
    OK(interp_ctx_set_log(x, log_sink, &l, log_destroy, ERR));
    interp_session *s = open_with(x, NULL);
    struct log_state m = { 0 };
    IS(interp_ctx_set_log(x, log_sink, &m, log_destroy, ERR), INTERP_E_BUSY);   /* sealed by the open */
    CHECK_INT(m.destroyed, 1);                                                  /* on failure at once */
    EXPECT_RUN(s, "python", "print(1)", "1\n");
    interp_session_close(s);
    CHECK_INT(l.destroyed, 0);
    interp_ctx_free(x);
    CHECK_INT(l.destroyed, 1);
    printf("# %d log lines\n", l.lines);
    if (l.busy_asked)
        CHECK_INT(l.busy, INTERP_E_BUSY);
}

TEST(sealed_after_open)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    static const char program[4096] = "\x7f" "ELF";
    IS(interp_ctx_set_agent(x, "x86_64", program, sizeof program, ERR), INTERP_E_BUSY);
    interp_backend_ops ops = { .struct_size = sizeof ops, .name = "other" };
    interp_status st = interp_ctx_add_backend(x, &ops, NULL, NULL, NULL);
    CHECK(st == INTERP_E_BUSY || st == INTERP_E_INVAL);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(unknown_agent_architecture)
{
    interp_ctx *x = new_ctx(0);
    interp_status st = interp_ctx_set_agent(x, "pdp11", "x", 1, ERR);
    CHECK(st == INTERP_E_INVAL || st == INTERP_E_UNSUPPORTED);
    api_drop();
    interp_ctx_free(x);
}

TEST(a_broken_agent_is_an_error)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = NULL;
    interp_config *c = new_config(x, "{\"open_timeout_ms\":5000}");
    static const char program[4096] = "\x7f" "ELF, or so it says";
#if defined(__x86_64__)
    OK(interp_ctx_set_agent(x, "x86_64", program, sizeof program, ERR));
#else
    OK(interp_ctx_set_agent(x, "aarch64", program, sizeof program, ERR));
#endif
    interp_status st = interp_session_open(x, c, &s, ERR);
    CHECK(st < 0 && s == NULL);
    printf("# %s: %s\n", interp_status_name(st), interp_error_message(api_err));
    api_drop();
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(count_descendants(), 0);
}

TEST(error_object)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, NULL);
    interp_error *e = NULL;
    CHECK_INT(interp_config_set_memory_bytes(c, 1, &e), INTERP_E_INVAL);
    REQUIRE(e);
    CHECK_STR(interp_error_reason(e), "option-range");
    CHECK(strstr(interp_error_message(e), "memory_bytes") != NULL);
    CHECK_INT(interp_error_retryable(e), 0);
    size_t n = 0;
    const char *j = interp_error_json(e, &n);
    EXPECT_JSON(j, n, "d['code'] == 'INTERP_E_INVAL' and d['reason'] == 'option-range' and 'memory_bytes' in d['message'] and d['retryable'] is False and d['errno'] == 0 and 'remedy' in d");
    CHECK(interp_error_json(e, NULL) == j);
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_STR(interp_error_reason(e), "option-range");   /* outlives everything */
    interp_error_free(e);
}

TEST(ctx_free_with_open_sessions)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL), *t = open_with(x, NULL);
    EXPECT_RUN(s, "python", "print(1)", "1\n");
    interp_ctx_free(x);
    CHECK_INT(count_running(), 0);
    CHECK(interp_session_status(s) >= INTERP_SESSION_SHUTDOWN);
    interp_session_close(s);
    interp_session_close(t);
    CHECK_INT(count_descendants(), 0);
}

TEST(children_hold_the_ctx)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, NULL);
    interp_request *r = new_request(x, "python", "1", NULL);
    interp_cancel *t = NULL;
    NEED(interp_cancel_new(x, &t, ERR));
    CHECK(interp_cancel_ref(t) == t);
    interp_ctx_free(x);
    CHECK_INT(interp_cancel_fired(t), 0);
    interp_cancel_fire(t);
    interp_cancel_free(t);
    CHECK_INT(interp_cancel_fired(t), 1);
    interp_cancel_free(t);
    interp_request_free(r);
    interp_config_free(c);
}

TAP_MAIN()
