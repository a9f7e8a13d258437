/* api.h - helpers of the black-box tests: they use the public headers only.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_TESTS_API_H
#define INTERP_TESTS_API_H
#include "tap.h"
#include <dirent.h>
#include <fcntl.h>
#include <interp/backend.h>
#include <interp/interp.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define UNUSED __attribute__((unused))
extern char **environ;

/* ---- statuses. OK(call(..., ERR)) and IS(call(..., ERR), INTERP_E_BUSY) check the status, and that an error object came exactly when it should. */

static _Thread_local interp_error *api_err;
#define ERR (&api_err)
#define OK(expr) api_is(__FILE__, __LINE__, #expr, (expr), INTERP_OK)
#define IS(expr, want) api_is(__FILE__, __LINE__, #expr, (expr), want)
#define NEED(expr) do { if (!OK(expr)) tap_leave(1); } while (0)
/* The same, with the words that the error's message must have in it. */
#define SAYS(expr, want, words) api_says(__FILE__, __LINE__, #expr, (expr), want, words)

UNUSED static void api_drop(void)
{
    interp_error_free(api_err);
    api_err = NULL;
}
UNUSED static void api_show(const char *file, int line, const char *text, interp_status got, const char *want)
{
    tap_fail(file, line, "%.200s: %s, not %s%s%s%s%s%s%s", text, interp_status_name(got), want, api_err ? " (" : "", api_err ? interp_error_reason(api_err) : "",
             api_err ? ": " : "", api_err ? interp_error_message(api_err) : "", api_err ? "; " : "", api_err ? interp_error_remedy(api_err) : "");
}
UNUSED static int api_says(const char *file, int line, const char *text, interp_status got, interp_status want, const char *words)
{
    int ok = 1;
    if (got != want) {
        api_show(file, line, text, got, interp_status_name(want));
        ok = 0;
    } else if (got < 0 && strstr(text, "ERR")) {
        if (!api_err) {
            tap_fail(file, line, "%.200s: %s without an error object", text, interp_status_name(got));
            ok = 0;
        } else {
            if (interp_error_code(api_err) != got || !interp_error_reason(api_err)[0] || !interp_error_message(api_err)[0]) {
                tap_fail(file, line, "%.200s: error object says %s, reason \"%s\", message \"%s\"", text, interp_status_name(interp_error_code(api_err)),
                         interp_error_reason(api_err), interp_error_message(api_err));
                ok = 0;
            }
            if (words && !strstr(interp_error_message(api_err), words)) {
                tap_fail(file, line, "%.200s: the message \"%s\" does not name \"%s\"", text, interp_error_message(api_err), words);
                ok = 0;
            }
        }
    } else if (got >= 0 && api_err) {
        tap_fail(file, line, "%.200s: %s, yet there is an error object", text, interp_status_name(got));
        ok = 0;
    }
    api_drop();
    return ok;
}
UNUSED static int api_is(const char *file, int line, const char *text, interp_status got, interp_status want)
{
    return api_says(file, line, text, got, want, NULL);
}

/* ---- contexts, sessions, execs */

/* For a config: the proof of a kernel's end has a second and a nanosecond for each byte of memory before the sandbox goes instead. On a busy machine it may need some. */
#define SLOW_KILLS "\"memory_bytes\":4294967296"

UNUSED static interp_ctx *new_ctx(uint32_t flags)
{
    interp_ctx *x = NULL;
    NEED(interp_ctx_new(flags, &x, ERR));
    REQUIRE(x);
    return x;
}
UNUSED static interp_config *new_config(interp_ctx *x, const char *json)
{
    interp_config *c = NULL;
    NEED(interp_config_new(x, &c, ERR));
    if (json)
        NEED(interp_config_set_json(c, json, INTERP_NTS, ERR));
    return c;
}
/* Where no sandbox can be had at all, the tests that need one are skipped, not failed. */
UNUSED static void skip_without_sandbox(interp_status st)
{
    if (st == INTERP_E_ISOLATION || st == INTERP_E_UNSUPPORTED)
        SKIP("no sandbox here: %.180s", interp_error_message(api_err));
}
UNUSED static interp_session *open_with(interp_ctx *x, const char *json)
{
    interp_session *s = NULL;
    interp_config *c = new_config(x, json ? json : "{" SLOW_KILLS "}");
    interp_status st = interp_session_open(x, c, &s, ERR);
    skip_without_sandbox(st);
    NEED(st);
    REQUIRE(s);
    interp_config_free(c);
    return s;
}
UNUSED static interp_request *new_request(interp_ctx *x, const char *language, const char *code, const char *json)
{
    interp_request *r = NULL;
    NEED(interp_request_new(x, &r, ERR));
    if (language)
        NEED(interp_request_set_language(r, language, ERR));
    if (code)
        NEED(interp_request_set_code(r, code, INTERP_NTS, ERR));
    if (json)
        NEED(interp_request_set_json(r, json, INTERP_NTS, ERR));
    return r;
}
/* Runs and frees the request. */
UNUSED static interp_result *exec_request(interp_session *s, interp_request *r)
{
    interp_result *out = NULL;
    NEED(interp_session_exec(s, r, &out, ERR));
    REQUIRE(out);
    interp_request_free(r);
    if (!strcmp(interp_result_cause(out), "interpreter"))
        SKIP("no interpreter here: %.150s", interp_result_error_message(out, NULL));
    return out;
}
UNUSED static interp_result *exec_with(interp_ctx *x, interp_session *s, const char *language, const char *code, const char *json)
{
    return exec_request(s, new_request(x, language, code, json));
}
UNUSED static interp_result *run(interp_session *s, const char *language, const char *code)
{
    interp_result *out = NULL;
    NEED(interp_session_run(s, language, code, INTERP_NTS, &out, ERR));
    REQUIRE(out);
    if (!strcmp(interp_result_cause(out), "interpreter"))
        SKIP("no interpreter here: %.150s", interp_result_error_message(out, NULL));
    return out;
}
UNUSED static void show_result(const char *file, int line, const interp_result *r, const char *what)
{
    tap_fail(file, line, "%s; the result is %.600s", what, interp_result_json(r, NULL));
}
/* outcome and state of a result, as words; 0 for a state that is not looked at */
#define EXPECT(r, want_outcome, want_cause, want_state)                                                           \
    do {                                                                                                          \
        const interp_result *er = (r);                                                                            \
        if (interp_result_outcome(er) != (want_outcome) || strcmp(interp_result_cause(er), want_cause) || ((int)(want_state) != 0 && interp_result_state(er) != (want_state))) \
            show_result(__FILE__, __LINE__, er, "expected " #want_outcome ", cause " #want_cause ", " #want_state); \
    } while (0)
#define EXPECT_OK(r) EXPECT(r, INTERP_OUTCOME_OK, "", INTERP_STATE_PRESERVED)
#define EXPECT_TEXT(r, stream, want)                                                                              \
    do {                                                                                                          \
        size_t tn;                                                                                                \
        const char *tt = interp_result_text(r, stream, &tn);                                                      \
        if (!tt || strlen(want) != tn || memcmp(tt, want, tn))                                                    \
            show_result(__FILE__, __LINE__, r, "expected the text " #want);                                       \
    } while (0)
/* Runs, checks for ok and for what is printed, frees. */
#define EXPECT_RUN(s, language, code, want)                                                                       \
    do {                                                                                                          \
        interp_result *xr = run(s, language, code);                                                               \
        EXPECT_OK(xr);                                                                                            \
        EXPECT_TEXT(xr, INTERP_STREAM_STDOUT, want);                                                              \
        interp_result_free(xr);                                                                                   \
    } while (0)

UNUSED static int has_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* ---- calls */

/* Threaded context: waits and throws events away until the call is done. */
UNUSED static void wait_done(interp_call *c)
{
    for (;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(c, &ev);
        if (st == INTERP_DONE)
            return;
        if (st == INTERP_AGAIN)
            NEED(interp_call_wait(c, INTERP_FOREVER, 0, ERR));
        else
            NEED(st);
    }
}
/* Of an exec with "stream": until this has come on one of its streams. Other events are thrown away; the result has the output all the same. */
UNUSED static void wait_output(interp_call *c, int32_t stream, const char *text)
{
    char seen[4096] = "";
    size_t have = 0;
    while (!strstr(seen, text)) {
        const interp_event *ev;
        interp_status st = interp_call_next(c, &ev);
        if (st == INTERP_AGAIN) {
            NEED(interp_call_wait(c, INTERP_FOREVER, 0, ERR));
            continue;
        }
        if (st != INTERP_OK) {
            tap_fail(__FILE__, __LINE__, "the exec ended without \"%.100s\"", text);
            return;
        }
        if (interp_event_type(ev) != INTERP_EV_OUTPUT || interp_event_stream(ev) != stream)
            continue;
        size_t n;
        const void *p = interp_event_data(ev, &n);
        n = n < sizeof seen - 1 - have ? n : sizeof seen - 1 - have;
        memcpy(seen + have, p, n);
        have += n;
        seen[have] = 0;
    }
}
UNUSED static interp_result *finish_exec(interp_call *c)
{
    interp_result *r = NULL;
    wait_done(c);
    NEED(interp_call_finish(c, &r, ERR));
    REQUIRE(r);
    interp_call_free(c);
    return r;
}
/* LOOP context: sleeps on the descriptor and dispatches until the call is done or `ms` are over (returns 0 then). Events are thrown away. */
UNUSED static int drive(interp_ctx *x, interp_call *c, unsigned ms)
{
    uint64_t end = tap_now_ns() + (uint64_t)ms * 1000000u;
    for (;;) {
        const interp_event *ev;
        interp_status st;
        while ((st = interp_call_next(c, &ev)) == INTERP_OK)
            ;
        if (st == INTERP_DONE)
            return 1;
        uint64_t now = tap_now_ns();
        if (now >= end)
            return 0;
        struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
        int n = poll(&p, 1, (int)((end - now) / 1000000u) + 1);
        if (n == 0)
            continue;
        st = interp_ctx_dispatch(x, ERR);
        if (st != INTERP_AGAIN)
            NEED(st);
        interp_call *ready;
        while (interp_ctx_next(x, &ready) == INTERP_OK)
            ;
    }
}
UNUSED static interp_session *loop_open(interp_ctx *x, const char *json)
{
    interp_session *s = NULL;
    interp_call *c = NULL;
    interp_config *cfg = new_config(x, json ? json : "{" SLOW_KILLS "}");
    NEED(interp_session_open_start(x, cfg, &s, &c, ERR));
    interp_config_free(cfg);
    REQUIRE(drive(x, c, 60000 * tap_slow()));
    interp_status st = interp_call_finish(c, NULL, ERR);
    skip_without_sandbox(st);
    NEED(st);
    interp_call_free(c);
    return s;
}
UNUSED static interp_result *loop_exec(interp_ctx *x, interp_session *s, const char *language, const char *code, const char *json)
{
    interp_call *c = NULL;
    interp_result *r = NULL;
    interp_request *q = new_request(x, language, code, json);
    NEED(interp_session_exec_start(s, q, &c, ERR));
    interp_request_free(q);
    REQUIRE(drive(x, c, 60000 * tap_slow()));
    NEED(interp_call_finish(c, &r, ERR));
    REQUIRE(r);
    interp_call_free(c);
    return r;
}

/* ---- what the process has */

UNUSED static int count_dir(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}
UNUSED static int count_fds(void) { return count_dir("/proc/self/fd") - 1; }
UNUSED static int count_threads(void) { return count_dir("/proc/self/task"); }

struct procs { pid_t pid[512]; unsigned long long start[512]; int n; };
/* State letter and start time of a process; 0 when it is gone. */
UNUSED static char proc_state(pid_t pid, unsigned long long *start)
{
    char path[64], buf[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, buf, sizeof buf - 1);
    close(fd);
    if (n <= 0)
        return 0;
    buf[n] = 0;
    char *p = strrchr(buf, ')'), state;
    unsigned long long t = 0;
    if (!p || sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state, &t) != 2)
        return 0;
    if (start)
        *start = t;
    return state;
}
/* All descendants of a process, without reading anything but /proc. */
UNUSED static void add_children(struct procs *l, pid_t of)
{
    DIR *d = opendir("/proc");
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        int pid = atoi(e->d_name), ppid;
        char path[64], buf[1024];
        if (pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        ssize_t n = read(fd, buf, sizeof buf - 1);
        close(fd);
        if (n <= 0)
            continue;
        buf[n] = 0;
        char *p = strrchr(buf, ')');
        if (!p || sscanf(p + 1, " %*c %d", &ppid) != 1 || ppid != (int)of || l->n >= 512)
            continue;
        l->pid[l->n] = pid;
        proc_state(pid, &l->start[l->n]);
        l->n++;
        add_children(l, pid);
    }
    closedir(d);
}
/* How many of them still run (a zombie does not). */
UNUSED static int count_alive(const struct procs *l)
{
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        unsigned long long t = 0;
        char s = proc_state(l->pid[i], &t);
        n += s && s != 'Z' && s != 'X' && t == l->start[i];
    }
    return n;
}
/* How often this thread has gone to sleep by itself: a busy machine that takes the processor away from it adds nothing. */
UNUSED static long count_sleeps(void)
{
    struct rusage u;
    return getrusage(RUSAGE_THREAD, &u) ? -1 : u.ru_nvcsw;
}
UNUSED static int count_descendants(void)
{
    struct procs l = { .n = 0 };
    add_children(&l, getpid());
    return l.n;
}
/* Those that still run: what has been killed but not been waited for does not count. */
UNUSED static int count_running(void)
{
    struct procs l = { .n = 0 };
    add_children(&l, getpid());
    return count_alive(&l);
}
/* Those that are left when all that was killed has had time to go; a LOOP context is driven meanwhile. */
UNUSED static int descendants_left(interp_ctx *loop)
{
    for (uint64_t end = tap_now_ns() + UINT64_C(10000000000) * tap_slow(); count_descendants() && tap_now_ns() < end;) {
        struct pollfd p = { loop ? interp_ctx_fd(loop) : -1, POLLIN, 0 };
        if (poll(&p, 1, 10) > 0)
            (void)interp_ctx_dispatch(loop, NULL);
    }
    return count_descendants();
}
UNUSED static uint64_t memory_available(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return (uint64_t)kb * 1024;
}

/* ---- an independent JSON parser: Python's. `expr` is evaluated with the parsed value as d; 1 when it is true. */
UNUSED static int json_holds(const char *json, size_t len, const char *expr)
{
    int in[2];
    char *argv[] = { "python3", "-c",
                     "import json,sys\n"
                     "def pairs(p):\n  d=dict(p)\n  assert len(d)==len(p),'a key twice'\n  return d\n"
                     "def const(c): raise ValueError(c)\n"
                     "t=sys.stdin.buffer.read().decode('utf-8')\n"
                     "d=json.loads(t,object_pairs_hook=pairs,parse_constant=const)\n"
                     "sys.exit(0 if eval(sys.argv[1]) else 3)\n",
                     (char *)(uintptr_t)expr, NULL };
    if (pipe2(in, O_CLOEXEC))
        return 0;
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, in[0], 0);
    pid_t pid;
    int bad = posix_spawnp(&pid, has_program("/usr/bin/python3") ? "/usr/bin/python3" : "python3", &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(in[0]);
    if (bad) {
        close(in[1]);
        SKIP("no python3 to parse JSON with");
    }
    signal(SIGPIPE, SIG_IGN);
    while (len) {
        ssize_t n = write(in[1], json, len);
        if (n <= 0)
            break;
        json += n, len -= (size_t)n;
    }
    close(in[1]);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#define EXPECT_JSON(text, len, expr)                                                                              \
    do {                                                                                                          \
        const char *jt = (text);                                                                                  \
        size_t jl = (len);                                                                                        \
        if (!jt || strlen(jt) < jl || !json_holds(jt, jl, expr))                                                  \
            tap_fail(__FILE__, __LINE__, "%s does not hold for %.400s", expr, jt ? jt : "(null)");                \
    } while (0)

/* ---- a thread that does something after a delay */
struct later { pthread_t thread; void (*fn)(void *); void *arg; unsigned us; };
UNUSED static void *later_main(void *p)
{
    struct later *l = p;
    struct timespec t = { l->us / 1000000, (long)(l->us % 1000000) * 1000L };
    if (l->us)
        nanosleep(&t, NULL);
    l->fn(l->arg);
    return NULL;
}
UNUSED static void later_start(struct later *l, unsigned us, void (*fn)(void *), void *arg)
{
    l->fn = fn, l->arg = arg, l->us = us;
    REQUIRE(pthread_create(&l->thread, NULL, later_main, l) == 0);
}
UNUSED static void later_join(struct later *l) { pthread_join(l->thread, NULL); }
UNUSED static void fire(void *t) { interp_cancel_fire(t); }
UNUSED static void shut(void *s) { interp_session_shutdown(s); }
#endif
