/* consumer.c - a small host program, built against an installed libinterp in each of the ways that projects do it. Also compiles as C++.
   SPDX-License-Identifier: MIT */
#include <interp/backend.h>
#include <interp/interp.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    interp_ctx *x = NULL;
    interp_session *s = NULL;
    interp_result *r = NULL;
    interp_error *e = NULL;
    int code = 1;
    if (interp_version_number() != INTERP_VERSION_NUMBER) {
        fprintf(stderr, "headers %#x, library %#x\n", INTERP_VERSION_NUMBER, (unsigned)interp_version_number());
        return 1;
    }
    if (interp_ctx_new(0, &x, &e) != INTERP_OK || interp_session_open(x, NULL, &s, &e) != INTERP_OK) {
        code = interp_error_code(e) == INTERP_E_ISOLATION || interp_error_code(e) == INTERP_E_UNSUPPORTED ? 77 : 1;
        fprintf(stderr, "%s\n", interp_error_message(e));
    } else if (interp_session_run(s, "bash", "echo hello", INTERP_NTS, &r, &e) != INTERP_OK) {
        fprintf(stderr, "%s\n", interp_error_message(e));
    } else {
        code = interp_result_ok(r) && !strcmp(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "hello\n") ? 0 : 1;
        printf("%s", interp_result_text(r, INTERP_STREAM_STDOUT, NULL));
    }
    interp_error_free(e);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
    return code;
}
