/* test_screen.c - what may run: the config's rules, and the host that is asked before each exec.
   SPDX-License-Identifier: MIT */
#include "api.h"

/* The next SCREEN event of a call; its reply id. */
static uint64_t asked(interp_call *c, const char *want)
{
    const interp_event *ev = NULL;
    for (;;) {
        interp_status st = interp_call_next(c, &ev);
        if (st == INTERP_AGAIN)
            NEED(interp_call_wait(c, INTERP_FOREVER, 0, ERR));
        else {
            NEED(st);
            if (interp_event_type(ev) == INTERP_EV_SCREEN) {
                size_t n;
                const char *json = interp_event_json(ev, &n);
                CHECK(n == strlen(json) && strstr(json, want));
                return interp_event_reply_id(ev);
            }
            REQUIRE(interp_event_type(ev) != INTERP_EV_DONE);
        }
    }
}
static interp_call *start(interp_ctx *x, interp_session *s, const char *language, const char *code, const char *json)
{
    interp_call *c = NULL;
    interp_request *r = new_request(x, language, code, json);
    NEED(interp_session_exec_start(s, r, &c, ERR));
    interp_request_free(r);
    return c;
}

/* Asked, allowed, run. */
static void screened(interp_ctx *x, interp_session *s, const char *code)
{
    interp_call *c = start(x, s, "sh", code, NULL);
    NEED(interp_call_reply(c, asked(c, code), INTERP_OK, NULL, 0, ERR));
    interp_result *r = finish_exec(c);
    EXPECT_OK(r);
    interp_result_free(r);
}

TEST(rules)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"policy\":{\"commands\":{\"deny\":[\"rm\"]},\"imports\":{\"deny\":[\"os\"]},\"code_bytes\":200,\"languages\":[\"sh\",\"python\"]}}");
    EXPECT_RUN(s, "sh", "x=5; echo $x", "5\n");
    interp_result *r = run(s, "sh", "x=6\necho 'a' && rm -rf /");
    EXPECT(r, INTERP_OUTCOME_DENIED, "commands", INTERP_STATE_PRESERVED);
    CHECK(interp_result_ran(r) == 0 && interp_result_exit_code(r) == INTERP_NONE && !strcmp(interp_result_claimed_by(r), "host"));
    CHECK(strstr(interp_result_json(r, NULL), "\"denied\":{\"rule\":\"commands\",\"reason\":\"Not run: the command \\\"rm\\\" (line 2) is not allowed here."));
    CHECK(strstr(interp_result_json(r, NULL), "\"what\":\"rm\",\"line\":2}") && strstr(interp_result_error_message(r, NULL), "\"rm\""));
    interp_result_free(r);
    EXPECT_RUN(s, "sh", "echo $x", "5\n");   /* nothing ran, all is there */
    r = run(s, "bash", "echo hello");
    EXPECT(r, INTERP_OUTCOME_DENIED, "languages", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    char long_code[300];
    memset(long_code, '#', sizeof long_code - 1);
    long_code[sizeof long_code - 1] = 0;
    r = run(s, "sh", long_code);
    EXPECT(r, INTERP_OUTCOME_DENIED, "code_bytes", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    r = run(s, "python", "import json\nimport os");   /* no interpreter is needed for a denial */
    EXPECT(r, INTERP_OUTCOME_DENIED, "imports", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(rules_of_a_config)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, NULL);
    SAYS(interp_config_set_policy(c, "{\"import\":{}}", INTERP_NTS, ERR), INTERP_E_INVAL, "import");
    IS(interp_config_set_policy(c, NULL, 0, ERR), INTERP_E_INVAL);
    NEED(interp_config_set_policy(c, "{\"commands\":{\"allow\":[\"ls\"]}}", INTERP_NTS, ERR));
    SAYS(interp_config_set_json(c, "{\"pids\":99,\"policy\":{\"paths\":{\"deny\":[\"x\"]}}}", INTERP_NTS, ERR), INTERP_E_INVAL, "begins with /");
    CHECK(strstr(interp_config_json(c, NULL), "\"policy\":{\"commands\":{\"allow\":[\"ls\"]}}") && !strstr(interp_config_json(c, NULL), "\"pids\":99"));   /* all or nothing */
    interp_session *s = NULL;
    interp_status st = interp_session_open(x, c, &s, ERR);
    interp_config_free(c);   /* the session has what it needs */
    skip_without_sandbox(st);
    NEED(st);
    EXPECT_RUN(s, "sh", "ls /nowhere 2>/dev/null; echo $?", "2\n");
    interp_result *r = run(s, "sh", "cat /etc/passwd");
    EXPECT(r, INTERP_OUTCOME_DENIED, "commands", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(host_decides)
{
    interp_ctx *x = new_ctx(0);
    NEED(interp_audit_open(x, NULL, 0, NULL, 0, ERR));
    interp_session *s = open_with(x, "{\"screen\":true,\"policy\":{\"commands\":{\"deny\":[\"rm\"]}}}");
    interp_result *r = NULL;
    SAYS(interp_session_run(s, "sh", "echo hello", INTERP_NTS, &r, ERR), INTERP_E_INVAL, "interp_session_exec_start");
    /* allow; the exec's clock does not run while the host thinks */
    screened(x, s, "true");   /* its time is for the code, not for the shell's start */
    interp_call *c = start(x, s, "sh", "x=1; echo allowed", "{\"timeout_ms\":2500,\"request_id\":\"r-9\",\"actor\":\"ann\"}");
    uint64_t id = asked(c, "\"code\":\"x=1; echo allowed\",\"actor\":\"ann\",\"request_id\":\"r-9\"");
    CHECK(interp_call_wait(c, 3000, 0, NULL) == INTERP_AGAIN);
    IS(interp_call_reply(c, id + 1, INTERP_OK, NULL, 0, ERR), INTERP_E_NOT_FOUND);
    IS(interp_call_reply(c, id, INTERP_E_TIMEOUT, NULL, 0, ERR), INTERP_E_INVAL);
    SAYS(interp_call_reply(c, id, INTERP_OK, "{\"coda\":\"x\"}", INTERP_NTS, ERR), INTERP_E_INVAL, "coda");
    NEED(interp_call_reply(c, id, INTERP_OK, NULL, 0, ERR));
    IS(interp_call_reply(c, id, INTERP_OK, NULL, 0, ERR), INTERP_E_NOT_FOUND);
    r = finish_exec(c);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "allowed\n");
    CHECK(interp_result_wall_ns(r) < UINT64_C(2900000000));
    interp_result_free(r);
    /* deny with a reason */
    c = start(x, s, "sh", "x=2", NULL);
    NEED(interp_call_reply(c, asked(c, "x=2"), INTERP_E_DENIED, "{\"reason\":\"ask a person first\"}", INTERP_NTS, ERR));
    r = finish_exec(c);
    EXPECT(r, INTERP_OUTCOME_DENIED, "screen", INTERP_STATE_PRESERVED);
    CHECK_STR(interp_result_error_message(r, NULL), "ask a person first");
    interp_result_free(r);
    /* other code in its place; the rules hold for that, too */
    c = start(x, s, "sh", "x=3", NULL);
    NEED(interp_call_reply(c, asked(c, "x=3"), INTERP_OK, "{\"code\":\"echo $x rewritten\"}", INTERP_NTS, ERR));
    r = finish_exec(c);
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "1 rewritten\n");
    interp_result_free(r);
    NEED(interp_session_set_env(s, "SET_LATER", "it's there", INTERP_NTS, ERR));   /* it comes with the next code, whoever wrote that */
    c = start(x, s, "sh", "x=6", NULL);
    NEED(interp_call_reply(c, asked(c, "x=6"), INTERP_OK, "{\"code\":\"echo $SET_LATER $x\"}", INTERP_NTS, ERR));
    r = finish_exec(c);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "it's there 1\n");
    interp_result_free(r);
    c = start(x, s, "sh", "x=4", NULL);
    NEED(interp_call_reply(c, asked(c, "x=4"), INTERP_OK, "{\"code_base64\":\"cm0gLXJmIC8=\"}", INTERP_NTS, ERR));
    r = finish_exec(c);
    EXPECT(r, INTERP_OUTCOME_DENIED, "commands", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    /* what the rules refuse is not asked about */
    c = start(x, s, "sh", "rm x", NULL);
    r = finish_exec(c);
    EXPECT(r, INTERP_OUTCOME_DENIED, "commands", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    /* the kernel goes while the host thinks, and is wanted again */
    c = start(x, s, "sh", "echo ${x-fresh}", NULL);
    id = asked(c, "fresh");
    interp_call *d = NULL;
    NEED(interp_session_kernel_delete_start(s, "sh", NULL, &d, ERR));
    wait_done(d);
    NEED(interp_call_finish(d, NULL, ERR));
    interp_call_free(d);
    NEED(interp_call_reply(c, id, INTERP_OK, NULL, 0, ERR));
    r = finish_exec(c);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "fresh\n");
    interp_result_free(r);
    screened(x, s, "x=1");
    /* an abandoned question */
    c = start(x, s, "sh", "x=5", NULL);
    asked(c, "x=5");
    interp_call_free(c);
    c = start(x, s, "sh", "echo $x", NULL);
    NEED(interp_call_reply(c, asked(c, "echo $x"), INTERP_OK, NULL, 0, ERR));
    r = finish_exec(c);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "1\n");
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(python_rewrite)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, "{\"screen\":true}");
    interp_call *c = start(x, s, "python", "print('no')", "{\"env\":{\"A\":\"b\"}}");
    NEED(interp_call_reply(c, asked(c, "print('no')"), INTERP_OK, "{\"code\":\"import os\\nprint(os.environ['A'])\\n6*7\"}", INTERP_NTS, ERR));
    interp_result *r = finish_exec(c);
    if (!strcmp(interp_result_cause(r), "interpreter"))
        SKIP("no Python here");
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "b\n");
    CHECK_STR(interp_result_value(r, NULL), "42");
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(nobody_decides)
{
    interp_ctx *x = new_ctx(0);
    interp_config *bad = new_config(x, "{\"screen\":true,\"screen_timeout_ms\":60000,\"session_idle_ms\":60000}");
    interp_session *refused = NULL;
    SAYS(interp_session_open(x, bad, &refused, ERR), INTERP_E_INVAL, "session_idle_ms");
    interp_config_free(bad);
    interp_session *s = open_with(x, "{\"screen\":true,\"screen_timeout_ms\":2000}");
    interp_call *c = start(x, s, "sh", "echo hello", "{\"timeout_ms\":50}");
    uint64_t id = asked(c, "hello");
    interp_request *second = new_request(x, "sh", "echo second", NULL);
    interp_call *none = NULL;
    IS(interp_session_exec_start(s, second, &none, ERR), INTERP_E_BUSY);
    interp_request_free(second);
    interp_result *r = finish_exec(c);
    EXPECT(r, INTERP_OUTCOME_DENIED, "screen_timeout", INTERP_STATE_PRESERVED);
    CHECK(strstr(interp_result_error_message(r, NULL), "in time"));
    interp_result_free(r);
    interp_session_close(s);
    /* a cancel, a restart, the end of the session while the host is asked */
    s = open_with(x, "{\"screen\":true}");
    interp_cancel *t = NULL;
    NEED(interp_cancel_new(x, &t, ERR));
    interp_request *q = new_request(x, "sh", "echo hello", NULL);
    NEED(interp_request_set_cancel(q, t, ERR));
    NEED(interp_session_exec_start(s, q, &c, ERR));
    interp_request_free(q);
    id = asked(c, "hello");
    interp_cancel_fire(t);
    wait_done(c);
    IS(interp_call_reply(c, id, INTERP_OK, NULL, 0, ERR), INTERP_E_CLOSED);
    r = finish_exec(c);
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_PRESERVED);
    CHECK(interp_result_ran(r) == 0);
    interp_result_free(r);
    interp_cancel_free(t);
    c = start(x, s, "sh", "echo hello", NULL);
    id = asked(c, "hello");
    interp_session_shutdown(s);
    wait_done(c);
    IS(interp_call_reply(c, id, INTERP_OK, NULL, 0, ERR), INTERP_E_CLOSED);
    r = finish_exec(c);
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_GONE);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(in_a_loop)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_config *cfg = new_config(x, "{\"screen\":true}");
    interp_session *s = NULL;
    interp_call *open = NULL, *c = NULL, *ready = NULL;
    const interp_event *ev;
    interp_error *why = NULL;
    NEED(interp_session_open_start(x, cfg, &s, &open, ERR));
    interp_config_free(cfg);
    int done = 0, replied = 0;
    interp_status opened = INTERP_AGAIN;
    for (int turns = 0; !done && turns < 4000; turns++) {
        struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
        poll(&p, 1, 50);
        CHECK(interp_ctx_dispatch(x, NULL) >= 0);
        while (interp_ctx_next(x, &ready) == INTERP_OK)
            while (interp_call_next(ready, &ev) == INTERP_OK)
                if (interp_event_type(ev) == INTERP_EV_SCREEN) {
                    NEED(interp_call_reply(ready, interp_event_reply_id(ev), INTERP_OK, NULL, 0, ERR));
                    replied++;
                } else if (interp_event_type(ev) == INTERP_EV_DONE && ready == open) {
                    opened = interp_call_finish(open, NULL, &why);
                    if (opened)
                        done = 1;
                    else
                        c = start(x, s, "sh", "echo looped", NULL);
                } else if (interp_event_type(ev) == INTERP_EV_DONE && ready == c)
                    done = 1;
    }
    if (!opened) {
        interp_result *r = NULL;
        NEED(interp_call_finish(c, &r, ERR));
        EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "looped\n");
        CHECK(replied == 1);
        interp_result_free(r);
    }
    interp_call_free(c);
    interp_call_free(open);
    interp_session_close(s);
    interp_ctx_free(x);
    interp_error_free(why);
    if (opened)
        SKIP("no sandbox here");
}

TAP_MAIN()
