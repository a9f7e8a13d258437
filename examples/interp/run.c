/* run.c - `interp run`: one exec in a session of its own.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "box_args.h"
#include "buf.h"
#include "show.h"
#include "terminal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)64 << 20)
#define HELP      (-1) /* parse: show the help text */

struct run {
    /* what the arguments say */
    const char *language, *file, *code, *stdin_file, *keep_dir, **files;
    size_t file_count;
    char **args;     /* of the program, of a language that runs one each time */
    int arg_count;
    struct box_args box;
    int json, tty, named;   /* named: the language by -l */
    /* what is in hand */
    struct buf code_text, stdin_text;
    interp_ctx *ctx;
    interp_cancel *cancel;
    interp_config *config;
    interp_session *session;
    interp_request *request;
    interp_call *call;
    interp_result *result;
    struct show show;
};

/* ---- arguments */

static int take_positional(struct run *r, const char *word)
{
    if (!r->language)
        r->language = word;
    else if (!r->file)
        r->file = word;
    else
        return usage_error("run", "one FILE at a time; not expected", word);
    return 0;
}

static int take_language(struct run *r, const char *v)
{
    if (r->named || (r->language && r->file))
        return usage_error("run", "one language at a time; not expected", v);
    r->file = r->language;   /* LANG's place has FILE, or nothing yet */
    r->language = v;
    r->named = 1;
    return 0;
}

static int take_file(struct run *r, const char *v)
{
    if (!*v || *v == '=' || v[strlen(v) - 1] == '=')
        return usage_error("run", "--file wants FILE or NAME=FILE, not", v);
    keep_word(&r->files, &r->file_count, v);
    return 0;
}

static int parse(struct run *r, int argc, char **argv)
{
    int missing = 0, rest = 0;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i], *v;
        int bad = 0;
        if (rest || arg[0] != '-' || !arg[1])
            bad = take_positional(r, arg);
        else if (!strcmp(arg, "--"))
            rest = 1;
        else if (!strcmp(arg, "--json"))
            r->json = 1;
        else if (!strcmp(arg, "--tty") || !strcmp(arg, "-t"))
            r->tty = 1;
        else if (!strcmp(arg, "--help") || !strcmp(arg, "-h"))
            return HELP;
        else if (!strcmp(arg, "--args")) {
            r->args = argv + i + 1;
            r->arg_count = argc - i - 1;
            break;
        } else if ((v = option_value("-l", argc, argv, &i, &missing)) || (!missing && (v = option_value("--language", argc, argv, &i, &missing))))
            bad = take_language(r, v);
        else if ((v = option_value("-c", argc, argv, &i, &missing)))
            r->code = v;
        else if ((v = option_value("--stdin", argc, argv, &i, &missing)))
            r->stdin_file = v;
        else if ((v = option_value("--keep", argc, argv, &i, &missing)))
            r->keep_dir = v;
        else if ((v = option_value("--file", argc, argv, &i, &missing)))
            bad = take_file(r, v);
        else if (missing || (bad = box_args_take(&r->box, "run", argc, argv, &i, &missing)) == 1)
            bad = usage_error("run", missing ? "a value is missing after" : "there is no such option", arg);
        if (bad)
            return bad;
    }
    if (!r->language)
        return usage_error("run", "which language? python, javascript, bash, sh, c, c++, go, rust, java, typescript, ruby, perl, php, lua or r", NULL);
    if (r->code && r->file)
        return usage_error("run", "either FILE or -c CODE, not both; FILE is", r->file);
    if (!r->code && !r->file)
        r->file = "-";
    if (r->file && !strcmp(r->file, "-") && r->stdin_file && !strcmp(r->stdin_file, "-"))
        return usage_error("run", "code and --stdin can't both come from standard input", NULL);
    if (r->tty && r->stdin_file)
        return usage_error("run", "with --tty the terminal is the input; not expected: --stdin", r->stdin_file);
    if (r->tty && r->file && !strcmp(r->file, "-"))
        return usage_error("run", "with --tty the code comes from FILE or -c CODE, not from standard input", NULL);
    if (r->tty && !terminal_is_there())
        return usage_error("run", "--tty hands over a terminal, and standard input and output are none", NULL);
    if (r->tty && !r->box.timeout_ms)
        r->box.timeout_ms = INTERP_FOREVER;   /* a person takes the time that it takes */
    return 0;
}

/* ---- reading code and input */

static int read_all(struct buf *b, const char *name, const char *what)
{
    int from_stdin = !strcmp(name, "-");
    int fd = from_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    ssize_t got = -1;
    if (fd >= 0) {
        if (from_stdin && isatty(fd) && isatty(STDERR_FILENO))
            fprintf(stderr, "interp: reading %s from the terminal; Ctrl-D ends it\n", what);
        do {
            got = read(fd, buf_room(b, 65536), 65536);
            if (got > 0)
                b->len += (size_t)got;
        } while ((got > 0 && b->len <= INPUT_MAX) || (got < 0 && errno == EINTR));
    }
    if (got < 0)
        fprintf(stderr, "interp: can't read %s from %s: %s\n", what, from_stdin ? "standard input" : name, strerror(errno));
    else if (b->len > INPUT_MAX)
        fprintf(stderr, "interp: %s in %s is larger than 64 MiB\n", what, from_stdin ? "standard input" : name);
    if (fd >= 0 && !from_stdin)
        close(fd);
    return got < 0 || b->len > INPUT_MAX ? EXIT_USAGE : 0;
}

/* ---- the exec */

/* FILE, under its last component, or NAME=FILE. */
static interp_status add_file(struct run *r, const char *v, interp_error **err)
{
    const char *source = strchr(v, '='), *slash = strrchr(v, '/');
    size_t n = source ? (size_t)(source - v) : 0;
    struct buf b = { 0 };
    interp_status st = INTERP_E_INVAL;
    if (source)
        slash = v, source++;
    else {
        source = v;
        slash = slash ? slash + 1 : v;
        n = strlen(slash);
    }
    if (read_all(&b, source, "a file") == 0)
        st = interp_request_add_file(r->request, slash, n, b.p ? b.p : "", b.len, err);
    buf_free(&b);
    return st;
}

static interp_status request(struct run *r, interp_error **err)
{
    interp_status st = interp_request_new(r->ctx, &r->request, err);
    if (st == INTERP_OK)
        st = interp_request_set_cancel(r->request, r->cancel, err);
    if (st == INTERP_OK)
        st = interp_request_set_language(r->request, language_name(r->language), err);
    if (st == INTERP_OK)
        st = interp_request_set_code(r->request, r->code_text.p ? r->code_text.p : "", r->code_text.len, err);
    if (st == INTERP_OK && r->stdin_file)
        st = interp_request_set_stdin(r->request, r->stdin_text.p ? r->stdin_text.p : "", r->stdin_text.len, err);
    for (size_t i = 0; st == INTERP_OK && i < r->file_count; i++)
        st = add_file(r, r->files[i], err);
    for (int i = 0; st == INTERP_OK && i < r->arg_count; i++)
        st = interp_request_add_arg(r->request, r->args[i], INTERP_NTS, err);
    if (st == INTERP_OK)
        st = interp_request_set_stream(r->request, r->json && !r->tty ? 0 : 1, err);
    if (st == INTERP_OK && r->tty)
        st = terminal_request(r->request, err);
    return st;
}

static interp_status execute(struct run *r, interp_error **err)
{
    if (r->tty)
        return terminal_exec(r->ctx, r->session, r->request, &r->show, &r->result, err);
    interp_status st = interp_session_exec_start(r->session, r->request, &r->call, err);
    while (st == INTERP_OK) {
        const interp_event *ev;
        st = interp_call_wait(r->call, INTERP_FOREVER, 0, err);
        if (st < 0)
            return st;
        while ((st = interp_call_next(r->call, &ev)) == INTERP_OK)
            show_event(&r->show, ev);
        if (st == INTERP_AGAIN)
            st = INTERP_OK;
    }
    return st == INTERP_DONE ? interp_call_finish(r->call, &r->result, err) : st;
}

static int failed(const interp_error *err, interp_status st)
{
    if (err)
        error_print(err);
    else
        fprintf(stderr, "interp: failed (%s)\n", interp_status_name(st));
    if (st == INTERP_E_CANCELLED)
        return 130;
    return st == INTERP_E_INVAL || st == INTERP_E_LIMIT ? EXIT_USAGE : EXIT_NO_SANDBOX;
}

/* The whole of a stream as DIR/NAME.gz, when there was any. 0, or -1: told. */
static int keep_stream(struct run *r, int32_t stream, const char *name)
{
    struct buf path = { 0 };
    interp_error *err = NULL;
    if (!interp_result_total_bytes(r->result, stream))
        return 0;
    buf_text(&path, r->keep_dir);
    buf_text(&path, name);
    *buf_room(&path, 1) = 0;
    if (interp_result_save(r->result, stream, path.p, &err) != INTERP_OK)
        error_print(err);
    buf_free(&path);
    int bad = err != NULL;
    interp_error_free(err);
    return bad ? -1 : 0;
}

static int show(struct run *r)
{
    int code = outcome_exit_code(r->result);
    if (r->keep_dir && (keep_stream(r, INTERP_STREAM_STDOUT, "/stdout.gz") | keep_stream(r, INTERP_STREAM_STDERR, "/stderr.gz")) && !code)
        code = 1;
    if (r->json) {
        size_t n = 0;
        const char *json = interp_result_json(r->result, &n);
        show_line(&r->show, STDOUT_FILENO, json, n);
    } else {
        show_rest(&r->show, r->result);
        outcome_print(r->result);
    }
    return r->show.write_errno && !code ? 1 : code;
}

static int run(struct run *r)
{
    interp_error *err = NULL;
    interp_status st = interp_ctx_new(r->tty ? INTERP_CTX_LOOP : 0, &r->ctx, &err);
    if (st == INTERP_OK)
        st = interp_cancel_new(r->ctx, &r->cancel, &err);
    if (st == INTERP_OK) {
        catch_signals(r->cancel);
        r->show.cancel = r->cancel;
        st = box_args_config(&r->box, r->ctx, &r->config, &err);
    }
    if (st == INTERP_OK)
        st = interp_config_set_cancel(r->config, r->cancel, &err);
    if (st == INTERP_OK && r->tty)
        st = interp_config_set_pty(r->config, 1, &err);
    if (st == INTERP_OK && r->keep_dir)
        st = interp_config_set_spill_dir(r->config, r->keep_dir, &err);
    if (st == INTERP_OK)
        st = request(r, &err);
    if (st == INTERP_OK)
        st = r->tty ? terminal_open(r->ctx, r->config, &r->session, &err) : interp_session_open(r->ctx, r->config, &r->session, &err);
    if (st == INTERP_OK)
        st = execute(r, &err);
    int code = st == INTERP_OK ? show(r) : failed(err, st);
    interp_error_free(err);
    return code;
}

static int read_and_run(struct run *r)
{
    int code = 0;
    if (r->code)
        buf_text(&r->code_text, r->code);
    else
        code = read_all(&r->code_text, r->file, "code");
    if (!code && r->stdin_file)
        code = read_all(&r->stdin_text, r->stdin_file, "input");
    char *whole = r->keep_dir && !code ? realpath(r->keep_dir, NULL) : NULL;
    if (r->keep_dir && !code && !whole) {
        fprintf(stderr, "interp: output can't be kept in %s: %s\n", r->keep_dir, strerror(errno));
        code = EXIT_USAGE;
    }
    r->keep_dir = whole;
    if (!code)
        code = run(r);
    free(whole);
    interp_call_free(r->call);
    interp_result_free(r->result);
    interp_request_free(r->request);
    interp_session_close(r->session);
    interp_config_free(r->config);
    if (r->cancel)
        catch_signals(NULL);
    interp_cancel_free(r->cancel);
    interp_ctx_free(r->ctx);
    buf_free(&r->code_text);
    buf_free(&r->stdin_text);
    return code;
}

int cmd_run(int argc, char **argv)
{
    struct run r;
    memset(&r, 0, sizeof r);
    int code = parse(&r, argc, argv);
    if (code == HELP)
        code = help_print(stdout, "run") < 0 || fflush(stdout) ? 1 : 0;
    else if (!code)
        code = read_and_run(&r);
    box_args_free(&r.box);
    free((void *)r.files);
    return code;
}
