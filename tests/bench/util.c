/* util.c - figures, processes, and the library's side of interp-bench.
   SPDX-License-Identifier: MIT */
#include "bench.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int quick;

void samples_add(struct samples *s, double v)
{
    if (s->n < (int)(sizeof s->v / sizeof *s->v))
        s->v[s->n++] = v;
}
static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
double samples_quantile(struct samples *s, double q)
{
    if (!s->n)
        return 0;
    qsort(s->v, (size_t)s->n, sizeof *s->v, order);
    int i = (int)(q * (s->n - 1) + 0.5);
    return s->v[i];
}
void report(const char *name, const char *unit, struct samples *s, struct samples *floor)
{
    if (!s->n) {
        note(name, "no sample");
        return;
    }
    double median = samples_quantile(s, 0.5), p90 = samples_quantile(s, 0.9);
    printf("{\"name\":\"%s\",\"median\":%.4g,\"p90\":%.4g,", name, median, p90);
    if (floor && floor->n) {
        double f = samples_quantile(floor, 0.5);
        printf("\"floor\":%.4g,\"ratio\":%.3g,", f, f > 0 ? median / f : 0);
    } else
        printf("\"floor\":null,\"ratio\":null,");
    printf("\"unit\":\"%s\",\"n\":%d}\n", unit, s->n);
    fflush(stdout);
}
void note(const char *name, const char *why)
{
    printf("{\"name\":\"%s\",\"skipped\":\"%s\"}\n", name, why);
    fflush(stdout);
}
double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
int count(int full)
{
    return quick ? full / 10 < 5 ? 5 : full / 10 : full;
}

pid_t spawn_quiet(char *const argv[])
{
    posix_spawn_file_actions_t fa;
    pid_t pid;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    int bad = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    return bad ? -1 : pid;
}
int wait_status(pid_t pid)
{
    int st;
    while (waitpid(pid, &st, 0) < 0)
        if (errno != EINTR)
            return -1;
    return st;
}
double run_quiet_ms(char *const argv[])
{
    double t = now_ms();
    pid_t pid = spawn_quiet(argv);
    return pid > 0 && wait_status(pid) == 0 ? now_ms() - t : -1;
}
int have(const char *path)
{
    return access(path, X_OK) == 0;
}

static uint64_t pss_of(pid_t pid)
{
    char path[64], line[256];
    unsigned long long kb = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Pss: %llu", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return (uint64_t)kb * 1024;
}
uint64_t pss_of_tree(pid_t root, int with_root)
{
    uint64_t sum = with_root ? pss_of(root) : 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        int pid = atoi(e->d_name), ppid;
        char path[64], buf[600];
        if (pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *f = fopen(path, "re");
        if (!f)
            continue;
        size_t n = fread(buf, 1, sizeof buf - 1, f);
        fclose(f);
        buf[n] = 0;
        char *p = strrchr(buf, ')');
        if (p && sscanf(p + 1, " %*c %d", &ppid) == 1 && ppid == (int)root)
            sum += pss_of_tree(pid, 1);
    }
    if (d)
        closedir(d);
    return sum;
}

static void must(interp_status st, interp_error **e, const char *what)   /* a pointer: the arguments may be evaluated in any order */
{
    if (st >= 0)
        return;
    fprintf(stderr, "%s: %s: %s %s\n", what, interp_status_name(st), interp_error_message(*e), interp_error_remedy(*e));
    exit(1);
}
interp_ctx *b_ctx(void)
{
    interp_ctx *x = NULL;
    interp_error *e = NULL;
    must(interp_ctx_new(0, &x, &e), &e, "context");
    return x;
}
interp_session *b_open(interp_ctx *x, const char *json)
{
    interp_session *s = NULL;
    interp_config *c = NULL;
    interp_error *e = NULL;
    if (json) {
        must(interp_config_new(x, &c, &e), &e, "config");
        must(interp_config_set_json(c, json, INTERP_NTS, &e), &e, "config");
    }
    must(interp_session_open(x, c, &s, &e), &e, "open");
    interp_config_free(c);
    return s;
}
interp_request *b_request(interp_ctx *x, const char *language, const char *code, const char *json)
{
    interp_request *r = NULL;
    interp_error *e = NULL;
    must(interp_request_new(x, &r, &e), &e, "request");
    must(interp_request_set_language(r, language, &e), &e, "language");
    must(interp_request_set_code(r, code, INTERP_NTS, &e), &e, "code");
    if (json)
        must(interp_request_set_json(r, json, INTERP_NTS, &e), &e, "request");
    return r;
}
interp_result *b_exec(interp_session *s, interp_request *r)
{
    interp_result *out = NULL;
    interp_error *e = NULL;
    must(interp_session_exec(s, r, &out, &e), &e, "exec");
    return out;
}
void b_ok(interp_result *r)
{
    if (!interp_result_ok(r)) {
        fprintf(stderr, "exec: %s\n", interp_result_json(r, NULL));
        exit(1);
    }
    interp_result_free(r);
}

/* ---- helpers that answer */

int helper_start(struct helper *h, char *const argv[])
{
    int in[2], out[2];
    posix_spawn_file_actions_t fa;
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return -1;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, in[0], 0);
    posix_spawn_file_actions_adddup2(&fa, out[1], 1);
    int bad = posix_spawn(&h->pid, argv[0], &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(in[0]);
    close(out[1]);
    h->to = fdopen(in[1], "w");
    h->from = fdopen(out[0], "r");
    return bad ? -1 : 0;
}
double helper_ask(struct helper *h, const char *line)
{
    double v = -1;
    fprintf(h->to, "%s\n", line);
    fflush(h->to);
    return fscanf(h->from, "%lf", &v) == 1 ? v : -1;
}
void helper_end(struct helper *h)
{
    fclose(h->to);
    fclose(h->from);
    wait_status(h->pid);
}


uint64_t b_stream(interp_session *s, interp_request *r, interp_result **out)
{
    interp_call *k = NULL;
    uint64_t total = 0;
    if (interp_session_exec_start(s, r, &k, NULL) != INTERP_OK)
        exit(1);
    for (;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_DONE)
            break;
        if (st == INTERP_AGAIN)
            (void)interp_call_wait(k, INTERP_FOREVER, 0, NULL);
        else if (interp_event_type(ev) == INTERP_EV_OUTPUT) {
            size_t len;
            (void)interp_event_data(ev, &len);
            total += len;
        }
    }
    (void)interp_call_finish(k, out, NULL);
    interp_call_free(k);
    return total;
}
