/* terminal.c - `interp run --tty`: this terminal is that of the sandbox for as long as the code runs.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "terminal.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct terminal {
    interp_ctx *ctx;
    interp_call *call;
    struct show *show;        /* NULL while the session opens */
    char typed[4096];         /* from `at`, `len` bytes that have found no room yet */
    size_t at, len;
    int full, ended;
    struct termios before;
};

static volatile sig_atomic_t resized;
static void on_resize(int sig)
{
    (void)sig;
    resized = 1;
}

int terminal_is_there(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static void size_of(uint32_t *rows, uint32_t *columns)
{
    struct winsize w;
    *rows = 24, *columns = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col)
        *rows = w.ws_row, *columns = w.ws_col;
}

static void feed(struct terminal *t)
{
    size_t taken = 0;
    if (!t->len || interp_call_write(t->call, t->typed + t->at, t->len, &taken, NULL) != INTERP_OK)
        taken = t->len;       /* the exec is about to end */
    t->at += taken;
    t->len -= taken;
    t->full = t->len > 0;
}

static void type(struct terminal *t)
{
    ssize_t n = read(STDIN_FILENO, t->typed, sizeof t->typed);
    if (n > 0) {
        t->at = 0;
        t->len = (size_t)n;
        feed(t);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        t->ended = 1;         /* hung up */
        interp_call_write_end(t->call, NULL);
    }
}

/* Signals but those in `seen` come only while it sleeps, so that none is missed. */
static interp_status await(struct terminal *t, const sigset_t *seen, interp_error **err)
{
    for (;;) {
        const interp_event *ev;
        interp_call *ready;
        struct pollfd p[2] = { { interp_ctx_fd(t->ctx), POLLIN, 0 }, { t->show && !t->full && !t->ended ? STDIN_FILENO : -1, POLLIN, 0 } };
        if (ppoll(p, 2, NULL, seen) < 0)
            p[1].revents = 0;
        if (resized && t->show) {
            uint32_t rows, columns;
            resized = 0;
            size_of(&rows, &columns);
            interp_call_resize(t->call, rows, columns, NULL);
        }
        if (p[1].revents)
            type(t);
        interp_status st = interp_ctx_dispatch(t->ctx, err);
        if (st < 0)
            return st;
        while (interp_ctx_next(t->ctx, &ready) == INTERP_OK)
            ;
        while ((st = interp_call_next(t->call, &ev)) == INTERP_OK) {
            if (interp_event_type(ev) == INTERP_EV_WRITABLE)
                feed(t);
            else if (t->show)
                show_event(t->show, ev);
        }
        if (st == INTERP_DONE)
            return INTERP_OK;
    }
}

interp_status terminal_open(interp_ctx *x, const interp_config *c, interp_session **s, interp_error **err)
{
    struct terminal t = { .ctx = x };
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    interp_status st = interp_session_open_start(x, c, s, &t.call, err);
    if (st == INTERP_OK)
        st = await(&t, &now, err);
    if (st == INTERP_OK)
        st = interp_call_finish(t.call, NULL, err);
    interp_call_free(t.call);
    return st;
}

interp_status terminal_request(interp_request *r, interp_error **err)
{
    uint32_t rows, columns;
    size_of(&rows, &columns);
    interp_status st = interp_request_set_pty(r, 1, err);
    if (st == INTERP_OK)
        st = interp_request_set_pty_rows(r, rows, err);
    if (st == INTERP_OK)
        st = interp_request_set_pty_columns(r, columns, err);
    if (st == INTERP_OK)
        st = interp_request_set_interactive(r, 1, err);
    return st;
}

interp_status terminal_exec(interp_ctx *x, interp_session *s, const interp_request *r, struct show *show, interp_result **result, interp_error **err)
{
    struct terminal t = { .ctx = x, .show = show };
    struct sigaction act = { .sa_handler = on_resize }, old;
    struct termios raw;
    sigset_t block, before;
    interp_status st = interp_session_exec_start(s, r, &t.call, err);
    if (st != INTERP_OK)
        return st;
    sigfillset(&block);
    sigaction(SIGWINCH, &act, &old);
    sigprocmask(SIG_BLOCK, &block, &before);
    int kept = tcgetattr(STDIN_FILENO, &t.before) == 0;
    if (kept) {
        raw = t.before;
        cfmakeraw(&raw);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    resized = 1;              /* since the request was made it may have been */
    st = await(&t, &before, err);
    if (kept)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &t.before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGWINCH, &old, NULL);
    if (st == INTERP_OK)
        st = interp_call_finish(t.call, result, err);
    interp_call_free(t.call);
    return st;
}
