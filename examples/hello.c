/* hello.c - one session, three languages: state kept from exec to exec, and a timeout survived.
   SPDX-License-Identifier: MIT

   Build against an installed library: cc hello.c $(pkg-config --cflags --libs libinterp) -o hello */
#include <interp/interp.h>
#include <stdio.h>
#include <string.h>

static void show(const char *language, const char *code, const interp_result *r)
{
    const char *value = interp_result_value(r, NULL);
    printf("%-10s > %s\n", language, code);
    printf("%s", interp_result_text(r, INTERP_STREAM_STDOUT, NULL));
    printf("%s", interp_result_text(r, INTERP_STREAM_STDERR, NULL));
    if (value)
        printf("%s\n", value);
    if (!interp_result_ok(r))
        printf("[outcome %s, cause %s] %s\n", interp_result_outcome_name(r), interp_result_cause(r), interp_result_error_message(r, NULL));
}

static interp_status run(interp_ctx *ctx, interp_session *s, const char *language, const char *code, uint64_t timeout_ms, interp_result **out,
                         interp_error **err)
{
    interp_request *r = NULL;
    interp_status st = interp_request_new(ctx, &r, err);
    if (st == INTERP_OK)
        st = interp_request_set_language(r, language, err);
    if (st == INTERP_OK)
        st = interp_request_set_code(r, code, INTERP_NTS, err);
    if (st == INTERP_OK)
        st = interp_request_set_timeout_ms(r, timeout_ms, err);
    if (st == INTERP_OK)
        st = interp_session_exec(s, r, out, err);
    interp_request_free(r);
    return st;
}

int main(void)
{
    /* clang-format off */
    static const struct {
        const char *language, *code, *outcome;
        uint64_t timeout_ms;
    } steps[] = {
        { "python", "numbers = [6, 7]", "ok", 20000 },
        { "python", "numbers[0] * numbers[1]", "ok", 20000 },
        { "bash", "cd /tmp; greeting=hello", "ok", 20000 },
        { "bash", "echo \"$greeting from $PWD\"", "ok", 20000 },
        { "javascript", "let total = 40", "ok", 20000 },
        { "javascript", "total + 2", "ok", 20000 },
        { "python", "while True: pass", "timeout", 500 },
        { "python", "sum(numbers)", "ok", 20000 },
    };
    /* clang-format on */
    interp_ctx *ctx = NULL;
    interp_session *s = NULL;
    interp_error *err = NULL;
    size_t as_expected = 0, count = sizeof steps / sizeof *steps;
    interp_status st = interp_ctx_new(0, &ctx, &err);
    if (st == INTERP_OK)
        st = interp_session_open(ctx, NULL, &s, &err);
    for (size_t i = 0; st == INTERP_OK && i < count; i++) {
        interp_result *r = NULL;
        st = run(ctx, s, steps[i].language, steps[i].code, steps[i].timeout_ms, &r, &err);
        if (st != INTERP_OK)
            break;
        show(steps[i].language, steps[i].code, r);
        as_expected += !strcmp(interp_result_outcome_name(r), steps[i].outcome);
        interp_result_free(r);
    }
    if (st != INTERP_OK)
        fprintf(stderr, "hello: %s %s\n", interp_error_message(err), interp_error_remedy(err));
    interp_session_close(s);
    interp_error_free(err);
    interp_ctx_free(ctx);
    return st == INTERP_OK && as_expected == count ? 0 : 1;
}
