/* local_smoke.c - opens sandboxes of the local backend through its table alone, with a small poll loop as core.

     local_smoke AGENT [-n N] [-v] [--memory MB] [--pids N] [--cpu MILLIS] [--disk MB] [--inodes N] [--file MB] [--nofile N] [--min LEVEL]
                 [--asked BITS] [--testing BITS] [--hold] [--rss MB] [--fds N] [--ignore-chld]
                 [--kill] [--threads N] [--not-dumpable] -- COMMAND ARGS...
   --kill: kills the sandbox after 300 ms and prints how long the proof took.
   With -n above 1 the command's output is as given; the median of open to exit is printed on standard error. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../lib/backends/local/local.h"

struct interp_link {
    struct pollfd fd[8];
    unsigned nfd;
    uint64_t timer;
    int opened, readable, killed, closed, failed, again;
    char report[4000], error[700];
};
static const void *agent;
static size_t agent_size;
static const char *testing;
static long live;
static int kill_it, not_dumpable;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static interp_status do_watch(interp_link *l, int fd, uint32_t mask)
{
    unsigned i;
    short e = (short)((mask & INTERP_IO_IN ? POLLIN : 0) | (mask & INTERP_IO_OUT ? POLLOUT : 0));
    for (i = 0; i < l->nfd && l->fd[i].fd != fd; i++)
        ;
    if (!mask) {
        if (i < l->nfd)
            l->fd[i] = l->fd[--l->nfd];
        return INTERP_OK;
    }
    if (i == l->nfd) {
        if (i == 8)
            abort();
        l->nfd++;
    }
    l->fd[i] = (struct pollfd){ fd, e, 0 };
    return INTERP_OK;
}
static interp_status do_timer(interp_link *l, uint64_t at) { l->timer = at; return INTERP_OK; }
static void do_again(interp_link *l) { l->again = 1; }
static void do_notify(interp_link *l, int32_t what)
{
    l->opened |= what == INTERP_LINK_OPENED;
    l->readable |= what == INTERP_LINK_READABLE;
    l->killed |= what == INTERP_LINK_KILLED;
    l->closed |= what == INTERP_LINK_CLOSED;
}
static void do_progress(interp_link *l, const char *json, size_t len) { (void)l; (void)json; (void)len; }
static interp_status do_fail(interp_link *l, interp_status code, const char *reason, int32_t e, const char *message, const char *remedy)
{
    l->failed = 1;
    snprintf(l->error, sizeof l->error, "%d %s (errno %d): %s | %s", code, reason, e, message, remedy);
    return code;
}
static interp_status do_option(interp_link *l, const char *key, const char **json, size_t *len)
{
    const char *v = !strcmp(key, "testing") ? testing : 0;
    (void)l;
    if (!v)
        return INTERP_E_NOT_FOUND;
    *json = v;
    *len = strlen(v);
    return INTERP_OK;
}
static interp_status do_agent(interp_link *l, const char *arch, const void **data, size_t *len)
{
    (void)l;
    (void)arch;
    *data = agent;
    *len = agent_size;
    return INTERP_OK;
}
static void do_reached(interp_link *l, const char *json, size_t len) { snprintf(l->report, sizeof l->report, "%.*s", (int)len, json); }
static void *plain(void *u, void *p, size_t old, size_t n)
{
    (void)u;
    __atomic_add_fetch(&live, (long)n - (long)old, __ATOMIC_RELAXED);
    if (n)
        return realloc(p, n);
    free(p);
    return 0;
}
static void *do_realloc(interp_link *l, void *p, size_t old, size_t n) { (void)l; return plain(0, p, old, n); }
static void do_log(interp_link *l, int32_t level, const char *msg, size_t len) { (void)l; fprintf(stderr, "log %d: %.*s\n", level, (int)len, msg); }
static const interp_host_ops host = { sizeof host, 0, do_watch, do_timer, do_again, do_again, do_notify, do_progress, do_fail, do_option, do_agent,
                                      do_reached, do_realloc, do_log };

static void turn(interp_link *l, void *inst)
{
    int ms = -1;
    l->again = 0;
    if (l->timer) {
        uint64_t t = now();
        ms = l->timer > t ? (int)((l->timer - t) / 1000000 + 1) : 0;
    }
    (void)poll(l->fd, l->nfd, ms);
    if (l->timer && now() >= l->timer)
        l->timer = 0;
    interp__local_ops()->advance(inst);
}

/* -1: failed to open; else the wait status */
static int run(void *backend, const interp_spec *spec, char **cmd, int verbose, int hold, uint64_t *ns, uint64_t *open_ns)
{
    const interp_backend_ops *ops = interp__local_ops();
    interp_link link;
    void *inst = 0;
    int st = -1, have = 0;
    uint64_t start = now();
    char text[65536];
    size_t len = 4, i, n;
    uint32_t size;
    memset(&link, 0, sizeof link);
    if (ops->open(backend, &host, &link, spec, &inst) != INTERP_OK)
        link.failed = 1;
    while (!link.failed && !link.opened)
        turn(&link, inst);
    *open_ns = now() - start;
    if (verbose && link.opened)
        fprintf(stderr, "%s\n", link.report);
    if (link.opened) {
        for (i = 0; cmd[i]; i++) {
            n = strlen(cmd[i]) + 1;
            memcpy(text + len, cmd[i], n);
            len += n;
        }
        size = (uint32_t)len - 4;
        memcpy(text, &size, 4);
        for (i = 0; i < len; i += n)
            if (ops->write(inst, text + i, len - i, &n) != INTERP_OK)
                break;
        if (kill_it) {
            uint64_t before;
            struct timespec t = { 0, 300000000 };
            nanosleep(&t, 0);
            before = now();
            ops->kill(inst);
            while (!link.killed)
                turn(&link, inst);
            fprintf(stderr, "killed, proven after %.1f ms\n", (double)(now() - before) / 1e6);
        }
        for (;;) {
            interp_status r = INTERP_AGAIN;
            link.readable = 0;
            while (have < 4 && (r = ops->read(inst, (char *)&st + have, (size_t)(4 - have), &n)) == INTERP_OK)
                have += (int)n;
            if (have == 4 || r == INTERP_DONE)
                break;
            turn(&link, inst);
        }
        if (have < 4)
            snprintf(link.error, sizeof link.error, "the stream ended");
    } else
        fprintf(stderr, "open failed: %s\n", link.error);
    *ns = now() - start;
    if (hold)
        pause();
    if (inst) {
        ops->close(inst);
        while (!link.closed)
            turn(&link, inst);
    }
    return have == 4 ? st : -1;
}

struct job { void *backend; const interp_spec *spec; char **cmd; int n, bad; pthread_t thread; };
static void *work(void *p)
{
    struct job *j = p;
    uint64_t a, b;
    for (int i = 0; i < j->n; i++)
        j->bad += run(j->backend, j->spec, j->cmd, 0, 0, &a, &b) != 0;
    return 0;
}
static int run_threads(void *backend, const interp_spec *spec, char **cmd, int n, int threads)
{
    struct job j[64];
    uint64_t start = now();
    int i, bad = 0;
    for (i = 0; i < threads; i++) {
        j[i] = (struct job){ backend, spec, cmd, n, 0, 0 };
        if (pthread_create(&j[i].thread, 0, work, &j[i]))
            return 1;
    }
    for (i = 0; i < threads; i++) {
        pthread_join(j[i].thread, 0);
        bad += j[i].bad;
    }
    fprintf(stderr, "%d threads: %d sandboxes, %d failed, %.0f a second\n", threads, threads * n, bad, threads * n / ((double)(now() - start) / 1e9));
    return bad;
}

static int open_fds(void)
{
    int n = 0;
    for (int fd = 0; fd < 65536; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    interp_spec spec = { .struct_size = sizeof spec, .session_id = "s", .memory_bytes = 512u << 20, .workspace_bytes = 256u << 20, .workspace_inodes = 65536,
                         .file_bytes = 256u << 20, .cpu_millis = 1000, .pids = 128, .min_isolation = INTERP_ISOLATION_NAMESPACES, .descriptors = 1024 };
    int i, k, n = 1, verbose = 0, hold = 0, st = -1, threads = 0, fd, fds;
    uint64_t *t, *o;
    struct stat s;
    void *backend;
    char **cmd = 0;
    if (argc < 4)
        return 2;
    if ((fd = open(argv[1], O_RDONLY | O_CLOEXEC)) < 0 || fstat(fd, &s) < 0)
        return 2;
    agent_size = (size_t)s.st_size;
    agent = mmap(0, agent_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    for (i = 2; i < argc; i++) {
        const char *a = argv[i];
#define VALUE strtoull(argv[++i], 0, 0)
        if (!strcmp(a, "--")) {
            cmd = argv + i + 1;
            break;
        }
        if (!strcmp(a, "-n")) n = (int)VALUE;
        else if (!strcmp(a, "-v")) verbose = 1;
        else if (!strcmp(a, "--hold")) hold = 1;
        else if (!strcmp(a, "--kill")) kill_it = 1;
        else if (!strcmp(a, "--threads")) threads = (int)VALUE;
        else if (!strcmp(a, "--not-dumpable")) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), not_dumpable = 1;
        else if (!strcmp(a, "--memory")) spec.memory_bytes = VALUE << 20;
        else if (!strcmp(a, "--pids")) spec.pids = (uint32_t)VALUE;
        else if (!strcmp(a, "--cpu")) spec.cpu_millis = (uint32_t)VALUE;
        else if (!strcmp(a, "--disk")) spec.workspace_bytes = VALUE << 20;
        else if (!strcmp(a, "--inodes")) spec.workspace_inodes = VALUE;
        else if (!strcmp(a, "--file")) spec.file_bytes = VALUE << 20;
        else if (!strcmp(a, "--nofile")) spec.descriptors = (uint32_t)VALUE;
        else if (!strcmp(a, "--min")) spec.min_isolation = (uint32_t)VALUE;
        else if (!strcmp(a, "--asked")) spec.flags = (uint32_t)VALUE;
        else if (!strcmp(a, "--testing")) testing = argv[++i];
        else if (!strcmp(a, "--ignore-chld")) signal(SIGCHLD, SIG_IGN);
        else if (!strcmp(a, "--rss")) {
            size_t b = (size_t)VALUE << 20;
            void *m = mmap(0, b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (m != MAP_FAILED)
                memset(m, 1, b);
        } else if (!strcmp(a, "--fds")) {
            struct rlimit l = { 65536, 65536 };
            setrlimit(RLIMIT_NOFILE, &l);
            for (k = (int)VALUE; k > 0; k--)
                if (open("/dev/null", O_RDONLY) < 0)
                    perror("open");
        } else
            return 2;
    }
    fds = open_fds();
    if (!cmd || !(backend = interp__local_new(plain, 0)))
        return 2;
    t = calloc((size_t)n, sizeof *t);
    o = calloc((size_t)n, sizeof *o);
    if (threads > 0 && threads <= 64) {
        st = run_threads(backend, &spec, cmd, n, threads);
        n = 0;
    }
    for (k = 0; k < n; k++)
        if ((st = run(backend, &spec, cmd, verbose && k == 0, hold, &t[k], &o[k])) < 0)
            break;
    if (n > 1 && k == n) {
        qsort(t, (size_t)n, sizeof *t, compare);
        qsort(o, (size_t)n, sizeof *o, compare);
        fprintf(stderr, "n=%d open: p10 %.0f median %.0f us; open to exit: p10 %.0f median %.0f p90 %.0f us\n", n, (double)o[n / 10] / 1e3, (double)o[n / 2] / 1e3,
                (double)t[n / 10] / 1e3, (double)t[n / 2] / 1e3, (double)t[n * 9 / 10] / 1e3);
    }
    interp__local_free(backend);
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != !not_dumpable)
        fprintf(stderr, "the host lost its dumpable flag\n");
    if (open_fds() != fds)
        fprintf(stderr, "%d descriptors are left open\n", open_fds() - fds);
    if (live != 0)
        fprintf(stderr, "%ld bytes were not freed\n", live);
    free(t);
    free(o);
    return st < 0 ? 125 : WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
}
