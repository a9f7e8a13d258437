/* box.h - a context with one session in it.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_TESTS_API_BOX_H
#define INTERP_TESTS_API_BOX_H
#include "api.h"

struct box { interp_ctx *x; interp_session *s; };
UNUSED static struct box new_box(const char *json)
{
    struct box b = { new_ctx(0), NULL };
    b.s = open_with(b.x, json);
    return b;
}
UNUSED static void free_box(struct box *b)
{
    interp_session_close(b->s);
    interp_ctx_free(b->x);
}
UNUSED static interp_call *start_exec(struct box *b, const char *language, const char *code, const char *json)
{
    interp_call *k = NULL;
    interp_request *r = new_request(b->x, language, code, json);
    NEED(interp_session_exec_start(b->s, r, &k, ERR));
    interp_request_free(r);
    return k;
}
#endif
