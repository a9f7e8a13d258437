/* task.c - one turn of a LOOP context.
   SPDX-License-Identifier: MIT */
#include "task.h"

interp_status tasks_dispatch(interp_ctx *x, interp_error **err)
{
    interp_call *call = NULL;
    interp_status st = interp_ctx_dispatch(x, err);
    while (st >= 0 && interp_ctx_next(x, &call) == INTERP_OK) {
        struct task *t = interp_call_userdata(call);
        if (t)
            t->news(t, call);
    }
    return st;
}
