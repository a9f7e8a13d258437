/* task.h - whoever waits for a call in a LOOP context. Each call's userdata is a task; the loop runs the task of each call that has news.
   SPDX-License-Identifier: MIT */
#ifndef CLI_TASK_H
#define CLI_TASK_H
#include <interp/interp.h>

struct task {
    void (*news)(struct task *t, interp_call *call);
};

/* Does what is due in the context and runs the tasks of calls with news. Never blocks. INTERP_AGAIN: more is left; negative: it failed. */
interp_status tasks_dispatch(interp_ctx *x, interp_error **err);

#endif
