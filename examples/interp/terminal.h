/* terminal.h - an exec at this program's own terminal.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_EXAMPLE_TERMINAL_H
#define INTERP_EXAMPLE_TERMINAL_H
#include "show.h"
#include <interp/interp.h>

/* Whether standard input and output are one terminal that can be handed over. */
int terminal_is_there(void);
/* Opens a session in a LOOP context and waits for it. */
interp_status terminal_open(interp_ctx *x, const interp_config *c, interp_session **s, interp_error **err);
/* Sets a request to run at a terminal as large as this one. */
interp_status terminal_request(interp_request *r, interp_error **err);
/* Runs it to its end: what is typed here goes there, keys such as Ctrl-C too, what is shown there comes here. The terminal is as it was afterwards. */
interp_status terminal_exec(interp_ctx *x, interp_session *s, const interp_request *r, struct show *show, interp_result **result, interp_error **err);
#endif
