/* exec_cmd.c - `interp exec --stdio`: one poll loop over standard input, standard output and the context.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cli.h"
#include "exec.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int signal_pipe[2] = { -1, -1 };
static volatile sig_atomic_t signal_seen;

static void on_signal(int sig)
{
    int keep = errno;
    char byte = 0;
    signal_seen = sig;
    if (write(signal_pipe[1], &byte, 1) < 0) {
        /* full: a byte is there already */
    }
    signal(sig, SIG_DFL); /* a second one ends the program; its sandboxes end with it */
    errno = keep;
}

static int catch_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction act, old;
        memset(&act, 0, sizeof act);
        act.sa_handler = on_signal;
        sigemptyset(&act.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &act, NULL);
    }
    return 0;
}

static interp_status turn(struct loop *io, int *more, interp_error **err)
{
    enum { CTX, SIGNAL, IN, OUT };
    struct pollfd p[4];
    int can_read = !io->input_ended && !io->output_ended && lines_waiting(io) < QUEUE_HIGH;
    p[CTX] = (struct pollfd){ .fd = interp_ctx_fd(io->ctx), .events = POLLIN };
    p[SIGNAL] = (struct pollfd){ .fd = signal_seen ? -1 : signal_pipe[0], .events = POLLIN };
    p[IN] = (struct pollfd){ .fd = can_read ? io->in.fd : -1, .events = POLLIN };
    p[OUT] = (struct pollfd){ .fd = lines_waiting(io) ? io->out.fd : -1, .events = POLLOUT };
    if (poll(p, 4, *more && lines_waiting(io) < QUEUE_HIGH ? 0 : -1) < 0) {
        if (errno == EINTR)
            return INTERP_OK;
        fprintf(stderr, "interp exec: poll: %s\n", strerror(errno));
        return INTERP_E_IO;
    }
    if (signal_seen)
        io->input_ended = 1;
    if (p[IN].revents && !io->input_ended)
        lines_read(io);
    ops_start(io);
    interp_status st = tasks_dispatch(io->ctx, err);
    *more = ops_answer(io);
    ops_start(io);
    lines_write(io);
    return st;
}

static int serve(struct loop *io)
{
    int more = 0;
    interp_error *err = NULL;
    interp_status st = INTERP_OK;
    while (st >= 0) {
        if (io->input_ended || io->output_ended)
            ops_end(io);
        if (io->ending && !io->ops && !lines_waiting(io))
            break;
        st = turn(io, &more, &err);
    }
    if (err)
        error_print(err);
    interp_error_free(err);
    return st < 0 ? 70 : io->output_ended ? 1 : signal_seen ? 128 + signal_seen : 0;
}

int cmd_exec(int argc, char **argv)
{
    if (argc && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
        return help_print(stdout, "exec") < 0 || fflush(stdout) ? 1 : 0;
    if (argc != 1 || strcmp(argv[0], "--stdio"))
        return usage_error("exec", argc ? "the one form is --stdio; not expected" : "the one form is --stdio", argc ? argv[argc - 1] : NULL);
    struct loop io;
    interp_error *err = NULL;
    int code = EXIT_NO_SANDBOX;
    memset(&io, 0, sizeof io);
    io.ops_end = &io.ops;
    end_open(&io.in, STDIN_FILENO, O_RDONLY);
    end_open(&io.out, STDOUT_FILENO, O_WRONLY);
    if (catch_signals() < 0)
        fprintf(stderr, "interp exec: pipe: %s\n", strerror(errno));
    else if (interp_ctx_new(INTERP_CTX_LOOP, &io.ctx, &err) != INTERP_OK)
        error_print(err);
    else
        code = serve(&io);
    interp_error_free(err);
    table_free(&io);
    interp_ctx_free(io.ctx);
    end_close(&io.in);
    end_close(&io.out);
    buf_free(&io.line);
    buf_free(&io.queue);
    return code;
}
