/* show.c - what came of an exec, for people.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "show.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void show_bytes(struct show *s, int fd, const void *data, size_t n)
{
    const char *p = data;
    if (fd == STDOUT_FILENO && n)
        s->line_open = p[n - 1] != '\n';
    while (n && !s->write_errno) {
        ssize_t done = write(fd, p, n);
        if (done >= 0) {
            p += done, n -= (size_t)done;
        } else if (errno != EINTR) {
            s->write_errno = errno;
            interp_cancel_fire(s->cancel);
            if (errno != EPIPE)
                fprintf(stderr, "interp: can't write to standard %s: %s\n", fd == STDOUT_FILENO ? "output" : "error", strerror(errno));
        }
    }
}

void show_line(struct show *s, int fd, const void *data, size_t n)
{
    if (fd == STDOUT_FILENO && s->line_open)
        show_bytes(s, fd, "\n", 1);
    show_bytes(s, fd, data, n);
    if (!n || ((const char *)data)[n - 1] != '\n')
        show_bytes(s, fd, "\n", 1);
}

void show_event(struct show *s, const interp_event *ev)
{
    int32_t type = interp_event_type(ev);
    size_t n = 0;
    const void *data = interp_event_data(ev, &n);
    if ((type == INTERP_EV_OUTPUT || type == INTERP_EV_LATE_OUTPUT) && n)
        show_bytes(s, interp_event_stream(ev) == INTERP_STREAM_STDERR ? STDERR_FILENO : STDOUT_FILENO, data, n);
}

void show_rest(struct show *s, const interp_result *r)
{
    size_t n = 0, message_len = 0;
    const char *value = interp_result_value(r, NULL), *mime = NULL, *p;
    uint32_t bundle = 0;
    for (uint32_t i = 0; (p = interp_result_part(r, i, &mime, &bundle, &n)); i++)
        if (!strcmp(mime, "text/plain") && (bundle || !value))
            show_line(s, STDOUT_FILENO, p, n);
    if ((value = interp_result_value(r, &n)))
        show_line(s, STDOUT_FILENO, value, n);
    p = interp_result_compile_output(r, &n);
    if (n && !strcmp(interp_result_step(r), "compile"))
        show_line(s, STDERR_FILENO, p, n);
    if (interp_result_ran(r) == 0)
        return; /* no error of the code's: outcome_print tells it */
    const char *type = interp_result_error_type(r, NULL), *message = interp_result_error_message(r, &message_len);
    p = interp_result_error_traceback(r, &n);
    if (n) {
        show_line(s, STDERR_FILENO, p, n);
    } else if (*type && message_len) {
        show_bytes(s, STDERR_FILENO, type, strlen(type));
        show_bytes(s, STDERR_FILENO, ": ", 2);
        show_line(s, STDERR_FILENO, message, message_len);
    }
}

static interp_cancel *volatile signal_cancel;
static volatile sig_atomic_t times; /* since the last catch_signals */

static void on_signal(int sig)
{
    int keep = errno;
    if (signal_cancel)
        interp_cancel_fire(signal_cancel);
    times = times + 1;
    if (times == 2)
        signal(sig, SIG_DFL); /* a third one ends this program; the sandbox ends with it */
    errno = keep;
}

void catch_signals(interp_cancel *t)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    signal_cancel = t;
    times = 0;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction act, old;
        memset(&act, 0, sizeof act);
        act.sa_handler = t ? on_signal : SIG_DFL;
        sigemptyset(&act.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &act, NULL);
    }
}
