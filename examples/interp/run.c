/* run.c - `interp run`: one exec in a session of its own.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "buf.h"
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)64 << 20)
#define HELP      (-1) /* parse: show the help text */

struct run {
    /* what the arguments say */
    const char *language, *file, *code, *stdin_file, *isolation, *backend, *image, *pull, *endpoint, *runtime, *user, **env, **mounts, **runtimes, **interpreters, **files;
    size_t file_count, env_count, mount_count, runtime_count, interpreter_count;
    uint64_t timeout_ms, memory_bytes; /* 0: not given */
    int json;
    /* what is in hand */
    struct buf code_text, stdin_text;
    interp_ctx *ctx;
    interp_cancel *cancel;
    interp_config *config;
    interp_session *session;
    interp_request *request;
    interp_call *call;
    interp_result *result;
    int line_open;   /* standard output does not end with a newline */
    int write_errno; /* first failed write, 0: none */
};

/* ---- arguments */

/* The value of the option at argv[*i]: after its '=', or the next argument. NULL when this is another option. *missing when it has no value. */
static const char *option_value(const char *name, int argc, char **argv, int *i, int *missing)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) || (argv[*i][n] && (argv[*i][n] != '=' || n == 2)))
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    if (*i + 1 == argc) {
        *missing = 1;
        return NULL;
    }
    return argv[++*i];
}

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

static void keep(const char ***list, size_t *count, const char *v)
{
    *list = xrealloc(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = v;
}

static int take_env(struct run *r, const char *v)
{
    if (!strchr(v, '=') || *v == '=')
        return usage_error("run", "--env wants NAME=VALUE, not", v);
    keep(&r->env, &r->env_count, v);
    return 0;
}

static int take_mount(struct run *r, const char *v)
{
    if (*v != '/')
        return usage_error("run", "--mount wants SRC[:DST][:ro|:rw] with absolute paths, not", v);
    keep(&r->mounts, &r->mount_count, v);
    return 0;
}

static int take_file(struct run *r, const char *v)
{
    if (!*v || *v == '=' || v[strlen(v) - 1] == '=')
        return usage_error("run", "--file wants FILE or NAME=FILE, not", v);
    keep(&r->files, &r->file_count, v);
    return 0;
}

static int take_interpreter(struct run *r, const char *v)
{
    if (!strchr(v, '=') || *v == '=')
        return usage_error("run", "--interpreter wants LANG=PATH, not", v);
    keep(&r->interpreters, &r->interpreter_count, v);
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
        else if (!strcmp(arg, "--help") || !strcmp(arg, "-h"))
            return HELP;
        else if ((v = option_value("-c", argc, argv, &i, &missing)))
            r->code = v;
        else if ((v = option_value("--stdin", argc, argv, &i, &missing)))
            r->stdin_file = v;
        else if ((v = option_value("--isolation", argc, argv, &i, &missing)))
            r->isolation = v;
        else if ((v = option_value("--backend", argc, argv, &i, &missing)))
            r->backend = v;
        else if ((v = option_value("--image", argc, argv, &i, &missing)))
            r->image = v;
        else if ((v = option_value("--pull", argc, argv, &i, &missing)))
            r->pull = v;
        else if ((v = option_value("--endpoint", argc, argv, &i, &missing)))
            r->endpoint = v;
        else if ((v = option_value("--runtime", argc, argv, &i, &missing)))
            r->runtime = v;
        else if ((v = option_value("--user", argc, argv, &i, &missing)))
            r->user = v;
        else if ((v = option_value("--env", argc, argv, &i, &missing)))
            bad = take_env(r, v);
        else if ((v = option_value("--file", argc, argv, &i, &missing)))
            bad = take_file(r, v);
        else if ((v = option_value("--mount", argc, argv, &i, &missing)))
            bad = take_mount(r, v);
        else if ((v = option_value("--interpreter", argc, argv, &i, &missing)))
            bad = take_interpreter(r, v);
        else if ((v = option_value("--with", argc, argv, &i, &missing)))
            keep(&r->runtimes, &r->runtime_count, v);
        else if ((v = option_value("--timeout", argc, argv, &i, &missing)))
            bad = duration_parse(v, &r->timeout_ms) < 0 || !r->timeout_ms
                      ? usage_error("run", "--timeout wants a time such as 500ms, 10s or 2m, not", v)
                      : 0;
        else if ((v = option_value("--memory", argc, argv, &i, &missing)))
            bad = size_parse(v, &r->memory_bytes) < 0 || !r->memory_bytes ? usage_error("run", "--memory wants a size such as 64M or 1G, not", v) : 0;
        else
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

/* ---- Ctrl-C */

static interp_cancel *volatile signal_cancel;

static void on_signal(int sig)
{
    static volatile sig_atomic_t times;
    int keep = errno;
    if (signal_cancel)
        interp_cancel_fire(signal_cancel);
    times = times + 1;
    if (times == 2)
        signal(sig, SIG_DFL); /* a third one ends this program; the sandbox ends with it */
    errno = keep;
}

static void catch_signals(interp_cancel *t)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    signal_cancel = t;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction act, old;
        memset(&act, 0, sizeof act);
        act.sa_handler = t ? on_signal : SIG_DFL;
        sigemptyset(&act.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &act, NULL);
    }
}

/* ---- output */

static void put(struct run *r, int fd, const void *data, size_t n)
{
    const char *p = data;
    if (fd == STDOUT_FILENO && n)
        r->line_open = p[n - 1] != '\n';
    while (n && !r->write_errno) {
        ssize_t done = write(fd, p, n);
        if (done >= 0) {
            p += done, n -= (size_t)done;
        } else if (errno != EINTR) {
            r->write_errno = errno;
            interp_cancel_fire(r->cancel);
            if (errno != EPIPE)
                fprintf(stderr, "interp: can't write to standard %s: %s\n", fd == STDOUT_FILENO ? "output" : "error", strerror(errno));
        }
    }
}

static void put_line(struct run *r, int fd, const void *data, size_t n)
{
    if (fd == STDOUT_FILENO && r->line_open)
        put(r, fd, "\n", 1);
    put(r, fd, data, n);
    if (!n || ((const char *)data)[n - 1] != '\n')
        put(r, fd, "\n", 1);
}

static void put_event(struct run *r, const interp_event *ev)
{
    int32_t type = interp_event_type(ev);
    size_t n = 0;
    const void *data = interp_event_data(ev, &n);
    if ((type == INTERP_EV_OUTPUT || type == INTERP_EV_LATE_OUTPUT) && n)
        put(r, interp_event_stream(ev) == INTERP_STREAM_STDERR ? STDERR_FILENO : STDOUT_FILENO, data, n);
}

/* What a notebook shows below the output: displays as text, the value, the traceback. */
static void put_rest(struct run *r)
{
    size_t n = 0, message_len = 0;
    const char *value = interp_result_value(r->result, NULL), *mime = NULL, *p;
    uint32_t bundle = 0;
    for (uint32_t i = 0; (p = interp_result_part(r->result, i, &mime, &bundle, &n)); i++)
        if (!strcmp(mime, "text/plain") && (bundle || !value))
            put_line(r, STDOUT_FILENO, p, n);
    if ((value = interp_result_value(r->result, &n)))
        put_line(r, STDOUT_FILENO, value, n);
    p = interp_result_compile_output(r->result, &n);
    if (n && !strcmp(interp_result_step(r->result), "compile"))
        put_line(r, STDERR_FILENO, p, n);
    if (interp_result_ran(r->result) == 0)
        return; /* no error of the code's: outcome_print tells it */
    const char *type = interp_result_error_type(r->result, NULL), *message = interp_result_error_message(r->result, &message_len);
    p = interp_result_error_traceback(r->result, &n);
    if (n) {
        put_line(r, STDERR_FILENO, p, n);
    } else if (*type && message_len) {
        put(r, STDERR_FILENO, type, strlen(type));
        put(r, STDERR_FILENO, ": ", 2);
        put_line(r, STDERR_FILENO, message, message_len);
    }
}

/* ---- the exec */

/* SRC[:DST][:ro|:rw] */
static interp_status add_mount(struct run *r, const char *v, interp_error **err)
{
    char *source = xdup(v, strlen(v)), *target = NULL, *last = strrchr(source, ':');
    const char *mode = "ro";
    if (last && (!strcmp(last, ":ro") || !strcmp(last, ":rw"))) {
        mode = last + 1;
        *last = 0;
        last = strrchr(source, ':');
    }
    if (last && last[1] == '/') {
        target = last + 1;
        *last = 0;
    }
    interp_status st = interp_config_add_mount(r->config, source, target, mode, err);
    free(source);
    return st;
}

static interp_status configure(struct run *r, interp_error **err)
{
    interp_status st = interp_config_new(r->ctx, &r->config, err);
    if (st == INTERP_OK)
        st = interp_config_set_cancel(r->config, r->cancel, err);
    if (st == INTERP_OK && r->backend)
        st = interp_config_set_backend(r->config, r->backend, err);
    if (st == INTERP_OK && r->image)
        st = interp_config_set_image(r->config, r->image, err);
    if (st == INTERP_OK && r->pull)
        st = interp_config_set_pull(r->config, r->pull, err);
    if (st == INTERP_OK && r->endpoint)
        st = interp_config_set_endpoint(r->config, r->endpoint, err);
    if (st == INTERP_OK && r->runtime)
        st = interp_config_set_runtime(r->config, r->runtime, err);
    if (st == INTERP_OK && r->user)
        st = interp_config_set_user(r->config, r->user, err);
    if (st == INTERP_OK && r->isolation)
        st = interp_config_set_isolation(r->config, r->isolation, err);
    if (st == INTERP_OK && r->timeout_ms)
        st = interp_config_set_timeout_ms(r->config, r->timeout_ms, err);
    if (st == INTERP_OK && r->memory_bytes)
        st = interp_config_set_memory_bytes(r->config, r->memory_bytes, err);
    for (size_t i = 0; st == INTERP_OK && i < r->mount_count; i++)
        st = add_mount(r, r->mounts[i], err);
    for (size_t i = 0; st == INTERP_OK && i < r->runtime_count; i++)
        st = interp_config_add_runtime(r->config, r->runtimes[i], err);
    for (size_t i = 0; st == INTERP_OK && i < r->interpreter_count; i++) {
        const char *path = strchr(r->interpreters[i], '=');
        char *name = xdup(r->interpreters[i], (size_t)(path - r->interpreters[i]));
        st = interp_config_set_interpreter(r->config, language_name(name), path + 1, err);
        free(name);
    }
    for (size_t i = 0; st == INTERP_OK && i < r->env_count; i++) {
        const char *value = strchr(r->env[i], '=');
        char *name = xdup(r->env[i], (size_t)(value - r->env[i]));
        st = interp_config_set_env(r->config, name, value + 1, INTERP_NTS, err);
        free(name);
    }
    return st;
}

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
    if (st == INTERP_OK)
        st = interp_request_set_stream(r->request, r->json ? 0 : 1, err);
    return st;
}

static interp_status execute(struct run *r, interp_error **err)
{
    interp_status st = interp_session_exec_start(r->session, r->request, &r->call, err);
    while (st == INTERP_OK) {
        const interp_event *ev;
        st = interp_call_wait(r->call, INTERP_FOREVER, 0, err);
        if (st < 0)
            return st;
        while ((st = interp_call_next(r->call, &ev)) == INTERP_OK)
            put_event(r, ev);
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

static int show(struct run *r)
{
    int code = outcome_exit_code(r->result);
    if (r->json) {
        size_t n = 0;
        const char *json = interp_result_json(r->result, &n);
        put_line(r, STDOUT_FILENO, json, n);
    } else {
        put_rest(r);
        outcome_print(r->result);
    }
    return r->write_errno && !code ? 1 : code;
}

static int run(struct run *r)
{
    interp_error *err = NULL;
    interp_status st = interp_ctx_new(0, &r->ctx, &err);
    if (st == INTERP_OK)
        st = interp_cancel_new(r->ctx, &r->cancel, &err);
    if (st == INTERP_OK) {
        catch_signals(r->cancel);
        st = configure(r, &err);
    }
    if (st == INTERP_OK)
        st = request(r, &err);
    if (st == INTERP_OK)
        st = interp_session_open(r->ctx, r->config, &r->session, &err);
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
    if (!code)
        code = run(r);
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
    free((void *)r.env);
    free((void *)r.mounts);
    free((void *)r.runtimes);
    free((void *)r.interpreters);
    return code;
}
