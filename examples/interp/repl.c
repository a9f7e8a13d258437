/* repl.c - `interp repl`: code piece by piece in one session, as typed.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "box_args.h"
#include "buf.h"
#include "complete.h"
#include "typed.h"
#include "show.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELP (-1)

struct repl {
    const char *language;
    struct box_args box;
    interp_ctx *ctx;
    interp_config *config;
    interp_session *session;
    struct typed *lines;
    struct show show;
    unsigned pictures;
};

static int parse(struct repl *r, int argc, char **argv)
{
    static const char *const stateful[] = { "python", "javascript", "bash", "sh" };
    int missing = 0, bad = 0, known = 0;
    for (int i = 0; i < argc && !bad; i++) {
        const char *arg = argv[i];
        if (!strcmp(arg, "--help") || !strcmp(arg, "-h"))
            return HELP;
        if (arg[0] != '-' && !r->language)
            r->language = language_name(arg);
        else if (arg[0] != '-')
            bad = usage_error("repl", "one language at a time; not expected", arg);
        else if ((bad = box_args_take(&r->box, "repl", argc, argv, &i, &missing)) == 1)
            bad = usage_error("repl", missing ? "a value is missing after" : "there is no such option", arg);
    }
    if (bad)
        return bad;
    for (unsigned i = 0; r->language && i < sizeof stateful / sizeof *stateful; i++)
        known |= !strcmp(r->language, stateful[i]);
    if (!known)
        return usage_error("repl", "which language? one that keeps what was defined: python, javascript, bash or sh", r->language);
    return 0;
}

/* ---- pictures */

static void save_picture(struct repl *r, const char *mime, const char *data, size_t n)
{
    static const char *const endings[][2] = { { "image/png", "png" }, { "image/jpeg", "jpg" }, { "image/gif", "gif" }, { "image/webp", "webp" }, { "image/svg+xml", "svg" } };
    const char *ending = NULL;
    char name[64];
    int fd = -1;
    for (unsigned i = 0; i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(mime, endings[i][0]))
            ending = endings[i][1];
    if (!ending)
        return;
    do {   /* never over a file that is there */
        snprintf(name, sizeof name, "picture-%u.%s", ++r->pictures, ending);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST && r->pictures < 100000);
    int bad = fd < 0 ? errno : 0;
    while (!bad && n) {
        ssize_t done = write(fd, data, n);
        if (done >= 0)
            data += done, n -= (size_t)done;
        else if (errno != EINTR)
            bad = errno;
    }
    if (fd >= 0 && close(fd) && !bad)
        bad = errno;
    fprintf(stderr, bad ? "interp: a picture can't be saved as %s: %s\n" : "[%s]%s\n", name, bad ? strerror(bad) : "");
}

static void save_pictures(struct repl *r, const interp_result *result)
{
    const char *mime = NULL, *data;
    size_t n = 0;
    for (uint32_t i = 0; (data = interp_result_part(result, i, &mime, NULL, &n)); i++)
        save_picture(r, mime, data, n);
}

/* ---- one piece of code */

static interp_cancel *volatile running; /* what Ctrl-C ends; at the prompt it only ends the reading of a line */

static void on_interrupt(int sig)
{
    int keep = errno;
    (void)sig;
    if (running)
        interp_cancel_fire(running);
    errno = keep;
}

static interp_status execute(struct repl *r, const struct buf *code, interp_result **out, interp_error **err)
{
    interp_request *q = NULL;
    interp_call *call = NULL;
    interp_status st = interp_request_new(r->ctx, &q, err);
    if (st == INTERP_OK)
        st = interp_cancel_new(r->ctx, &r->show.cancel, err);
    if (st == INTERP_OK)
        st = interp_request_set_language(q, r->language, err);
    if (st == INTERP_OK)
        st = interp_request_set_code(q, code->p, code->len, err);
    if (st == INTERP_OK && !r->box.timeout_ms)   /* whoever is there can end it himself */
        st = interp_request_set_timeout_ms(q, INTERP_FOREVER, err);
    if (st == INTERP_OK)
        st = interp_request_set_stream(q, 1, err);
    if (st == INTERP_OK)
        st = interp_request_set_cancel(q, r->show.cancel, err);
    running = r->show.cancel;
    if (st == INTERP_OK)
        st = interp_session_exec_start(r->session, q, &call, err);
    while (st == INTERP_OK) {
        const interp_event *ev;
        st = interp_call_wait(call, INTERP_FOREVER, 0, err);
        while (st == INTERP_OK && (st = interp_call_next(call, &ev)) == INTERP_OK)
            show_event(&r->show, ev);
        if (st == INTERP_AGAIN)
            st = INTERP_OK;
    }
    if (st == INTERP_DONE)
        st = interp_call_finish(call, out, err);
    running = NULL;
    interp_call_free(call);
    interp_request_free(q);
    interp_cancel_free(r->show.cancel);
    r->show.cancel = NULL;
    return st;
}

/* 0: go on; else an exit code. */
static int piece(struct repl *r, const struct buf *code)
{
    interp_result *result = NULL;
    interp_error *err = NULL;
    int end = 0;
    if (execute(r, code, &result, &err) != INTERP_OK) {
        error_print(err);
        end = interp_error_code(err) == INTERP_E_INVAL || interp_error_code(err) == INTERP_E_LIMIT ? 0 : EXIT_NO_SANDBOX;
    } else {
        show_rest(&r->show, result);
        save_pictures(r, result);
        outcome_print(result);
        end = interp_result_state(result) == INTERP_STATE_GONE ? outcome_exit_code(result) : 0;
    }
    if (r->show.line_open)
        show_bytes(&r->show, STDOUT_FILENO, "\n", 1);
    interp_error_free(err);
    interp_result_free(result);
    return r->show.write_errno ? 1 : end;
}

/* ---- the loop */

static int loop(struct repl *r)
{
    struct buf code = { 0 };
    int shell = !strcmp(r->language, "bash") || !strcmp(r->language, "sh"), end = 0, got = 1;
    while (!end && got) {
        size_t before = code.len;
        got = typed_read(r->lines, code.len ? "... " : shell ? "$ " : "> ", &code);
        if (got < 0) {   /* Ctrl-C: what was typed is forgotten */
            code.len = 0;
            fputs("\n", stdout);
            fflush(stdout);
            continue;
        }
        *buf_room(&code, 1) = 0;
        int blank = !code.p[before + strspn(code.p + before, " \t\r\n")];
        if (blank && !before)
            code.len = 0;
        int whole = !got || !code.len ? 1 : code_complete(r->language, code.p, code.len);
        if (!code.len || whole < 0 || (!whole && !blank))
            continue;
        typed_remember(r->lines, code.p);
        end = piece(r, &code);
        code.len = 0;
    }
    buf_free(&code);
    return end;
}

static int run(struct repl *r)
{
    interp_error *err = NULL;
    interp_status st = interp_ctx_new(0, &r->ctx, &err);
    if (st == INTERP_OK)
        st = box_args_config(&r->box, r->ctx, &r->config, &err);
    if (st == INTERP_OK)
        st = interp_session_open(r->ctx, r->config, &r->session, &err);
    if (st != INTERP_OK) {
        error_print(err);
        interp_error_free(err);
        return st == INTERP_E_INVAL || st == INTERP_E_LIMIT ? EXIT_USAGE : EXIT_NO_SANDBOX;
    }
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_interrupt; /* without SA_RESTART */
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    r->lines = typed_open();
    int code = loop(r);
    typed_close(r->lines);
    return code;
}

int cmd_repl(int argc, char **argv)
{
    struct repl r;
    memset(&r, 0, sizeof r);
    int code = parse(&r, argc, argv);
    if (code == HELP)
        code = help_print(stdout, "repl") < 0 || fflush(stdout) ? 1 : 0;
    else if (!code)
        code = run(&r);
    interp_session_close(r.session);
    interp_config_free(r.config);
    interp_ctx_free(r.ctx);
    box_args_free(&r.box);
    return code;
}
