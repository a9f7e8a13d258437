/* show.h - what came of an exec, for people: its output as it comes, what a notebook shows below it; and Ctrl-C.
   SPDX-License-Identifier: MIT */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H
#include "cli.h"

struct show {
    interp_cancel *cancel; /* fired when nobody takes our output any more; may be NULL */
    int line_open;         /* standard output does not end with a newline */
    int write_errno;       /* first failed write, 0: none */
};
void show_bytes(struct show *s, int fd, const void *data, size_t n);
/* On a line of its own. */
void show_line(struct show *s, int fd, const void *data, size_t n);
void show_event(struct show *s, const interp_event *ev);
/* What a notebook shows below the output: displays as text, the value, the traceback. */
void show_rest(struct show *s, const interp_result *r);

/* SIGINT, SIGTERM and SIGHUP fire t from now on; NULL: they do what they did. */
void catch_signals(interp_cancel *t);

#endif
