/* interp-bench.c - what libinterp costs beside what it cannot avoid: interp-bench [--quick] [--list] [part of a name]...
   Prints one JSON object a line: {name, median, p90, floor, ratio, unit, n}. Each floor is measured in the same run, its rounds between ours, in a
   clean environment. Figures of one machine compare with each other, not with another machine's.
   SPDX-License-Identifier: MIT */
#include "bench.h"
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[4096];
static struct samples a, f;                            /* ours and the floor */
static void clear(void) { a.n = f.n = 0; }

#define BWRAP "bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", \
    "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"
static int no_bwrap(const char *name)
{
    static int state;
    char *probe[] = { BWRAP, "true", NULL };
    if (!state)
        state = run_quiet_ms(probe) >= 0 ? 1 : 2;
    if (state == 2)
        note(name, "bwrap is not there or does not work");
    return state == 2;
}

/* ---- exec round trips */

static void exec_trip(const char *name, const char *language, const char *code)
{
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, NULL);
    interp_request *r = b_request(x, language, code, NULL);
    struct driver *d = driver_start(language);
    int n = count(600);
    clear();
    if (!d)
        note(name, "no interpreter for the floor");
    for (int i = 0; i < 60; i++) {
        b_ok(b_exec(s, r));
        if (d)
            driver_exec(d, code);
    }
    for (int i = 0; d && i < n; i++) {
        double t = now_ms();
        interp_result *out = b_exec(s, r);
        samples_add(&a, now_ms() - t);
        b_ok(out);
        t = driver_exec(d, code);
        if (t < 0) {
            note(name, "the driver failed");
            break;
        }
        samples_add(&f, t);
    }
    if (d)
        report(name, "ms", &a, &f);
    driver_end(d);
    interp_request_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}
static void exec_python(const char *name) { exec_trip(name, "python", "x=1"); }
static void exec_javascript(const char *name) { exec_trip(name, "javascript", "x=1"); }
static void exec_bash(const char *name) { exec_trip(name, "bash", ":"); }

/* Ours and theirs in turns of 20 execs: each finds the caches as it left them, as in a session in use. */
static void ipykernel_turns(const char *name)
{
    struct helper h;
    if (ipykernel_start(&h, name, NULL))
        return;
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, NULL);
    interp_request *r = b_request(x, "python", "x=1", NULL);
    clear();
    for (int i = 0; i < 30; i++) {
        b_ok(b_exec(s, r));
        helper_ask(&h, "go");
    }
    for (int turn = 0, turns = (count(300) + 19) / 20; turn < turns; turn++) {
        for (int i = 0; i < 20; i++) {
            double t = now_ms();
            interp_result *out = b_exec(s, r);
            samples_add(&a, now_ms() - t);
            b_ok(out);
        }
        for (int i = 0; i < 20; i++)
            samples_add(&f, helper_ask(&h, "go"));
    }
    report(name, "ms", &a, &f);
    helper_end(&h);
    interp_request_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}
static void exec_ipykernel(const char *name) { ipykernel_turns(name); }
/* Both on one CPU: what is left out is the waking of other CPUs, which costs a virtual machine more than the work does. */
static void exec_ipykernel_one_cpu(const char *name)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (sched_getaffinity(0, sizeof all, &all) || sched_setaffinity(0, sizeof one, &one)) {
        note(name, "CPU 0 is not to be had");
        return;
    }
    ipykernel_turns(name);
    sched_setaffinity(0, sizeof all, &all);
}

/* ---- opening */

static void open_idle(const char *name)
{
    char *argv[] = { BWRAP, "true", NULL };
    if (no_bwrap(name))
        return;
    interp_ctx *x = b_ctx();
    clear();
    for (int i = 0, n = count(60); i < n + 3; i++) {
        double t = now_ms();
        interp_session_close(b_open(x, NULL));
        t = now_ms() - t;
        double g = run_quiet_ms(argv);
        if (i >= 3) {
            samples_add(&a, t);
            samples_add(&f, g);
        }
    }
    report(name, "ms", &a, &f);
    interp_ctx_free(x);
}

static void open_result(const char *name, const char *language, const char *code, char *const argv[])
{
    if (no_bwrap(name))
        return;
    if (run_quiet_ms(argv) < 0) {
        note(name, "the floor does not run");
        return;
    }
    interp_ctx *x = b_ctx();
    interp_request *r = b_request(x, language, code, NULL);
    clear();
    for (int i = 0, n = count(50); i < n + 3; i++) {
        double t = now_ms();
        interp_session *s = b_open(x, NULL);
        interp_result *out = b_exec(s, r);
        t = now_ms() - t;
        b_ok(out);
        interp_session_close(s);
        double g = run_quiet_ms(argv);
        if (i >= 3) {                                  /* the first open fills the context's caches */
            samples_add(&a, t);
            samples_add(&f, g);
        }
    }
    report(name, "ms", &a, &f);
    interp_request_free(r);
    interp_ctx_free(x);
}
static void first_python(const char *name)
{
    char *argv[] = { BWRAP, "/usr/bin/python3", "-c", "pass", NULL };
    open_result(name, "python", "pass", argv);
}
static void first_javascript(const char *name)
{
    char *argv[] = { BWRAP, "/usr/bin/node", "-e", "0", NULL };
    open_result(name, "javascript", "0", argv);
}
static void first_bash(const char *name)
{
    char *argv[] = { BWRAP, "/usr/bin/bash", "-c", ":", NULL };
    open_result(name, "bash", ":", argv);
}

/* interp-bench --open-server MIB: touches that much memory, then answers each line with the time of an open and a close. */
static int open_server(size_t mib)
{
    char line[16];
    if (mib) {
        char *p = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return 1;
        madvise(p, mib << 20, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < mib << 20; i += 4096)
            p[i] = 1;
    }
    interp_ctx *x = b_ctx();
    while (fgets(line, sizeof line, stdin)) {
        double t = now_ms();
        interp_session_close(b_open(x, NULL));
        printf("%.6f\n", now_ms() - t);
        fflush(stdout);
    }
    interp_ctx_free(x);
    return 0;
}
static void open_big_host(const char *name)
{
    char *big[] = { self, "--open-server", "2048", NULL }, *small[] = { self, "--open-server", "0", NULL };
    struct helper b, s;
    if (helper_start(&b, big) || helper_start(&s, small) || helper_ask(&b, "go") < 0 || helper_ask(&s, "go") < 0) {
        note(name, "a helper process does not run: 2 GB of memory?");
        return;
    }
    clear();
    for (int i = 0, n = count(60); i < n; i++) {
        samples_add(&a, helper_ask(&b, "go"));
        samples_add(&f, helper_ask(&s, "go"));
    }
    report(name, "ms", &a, &f);
    helper_end(&b);
    helper_end(&s);
}

/* ---- deadlines, throughput */

static void overshoot(const char *name)
{
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, NULL);
    interp_request *r = b_request(x, "python", "while True: pass", "{\"timeout_ms\":100}");
    clear();
    for (int i = 0, n = count(50); i < n; i++) {
        double t = now_ms();
        interp_result *out = b_exec(s, r);
        samples_add(&a, now_ms() - t - 100);
        if (interp_result_outcome(out) != INTERP_OUTCOME_TIMEOUT || interp_result_state(out) != INTERP_STATE_PRESERVED) {
            note(name, "not a timeout with the state preserved");
            interp_result_free(out);
            break;
        }
        interp_result_free(out);
    }
    report(name, "ms", &a, NULL);
    interp_request_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

static void stream_100mb(const char *name)
{
    char *reader[] = { "/bin/sh", "-c", LINES, NULL };
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, NULL);
    interp_request *r = b_request(x, "sh", LINES, "{\"stream\":1,\"timeout_ms\":60000}");
    clear();
    for (int i = 0, n = count(30); i < n + 1; i++) {
        interp_result *out = NULL;
        double t = now_ms();
        uint64_t total = b_stream(s, r, &out);
        t = now_ms() - t;
        if (total != 100000000) {
            note(name, "bytes are missing");
            interp_result_free(out);
            break;
        }
        b_ok(out);
        double g = b_pipe_reader(reader, 100000000);
        if (i) {
            samples_add(&a, t);
            samples_add(&f, g);
        }
    }
    report(name, "ms", &a, &f);
    interp_request_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* ---- size */

static void library_size(const char *name)
{
    char tmp[] = "/tmp/interp-bench-XXXXXX";
    int fd = mkstemp(tmp);
    struct stat st;
    char *argv[] = { "strip", "-o", tmp, LIBRARY, NULL };
    clear();
    if (fd < 0 || run_quiet_ms(argv) < 0 || stat(tmp, &st)) {
        note(name, "strip does not run");
    } else {
        samples_add(&a, (double)st.st_size / 1024);
        report(name, "KiB", &a, NULL);
    }
    close(fd);
    unlink(tmp);
}

static double read_one(char *const argv[])
{
    struct helper h;
    double v = -1;
    if (helper_start(&h, argv))
        return -1;
    if (fscanf(h.from, "%lf", &v) != 1)
        v = -1;
    helper_end(&h);
    return v;
}
static void load_time(const char *name)
{
    char *ours[] = { LOADER, LIBRARY, NULL }, *deps[] = { LOADER, "libyajl.so.2", "libseccomp.so.2", NULL };
    if (!have(LOADER) || read_one(ours) < 0) {
        note(name, "the loader program does not run");
        return;
    }
    clear();
    for (int i = 0, n = count(100); i < n; i++) {
        samples_add(&a, read_one(ours));
        double g = read_one(deps);
        if (g >= 0)
            samples_add(&f, g);
    }
    report(name, "ms", &a, &f);
}

static void memory_idle(const char *name, const char *language)
{
    enum { N = 20 };
    char *argv[] = { BWRAP, "sleep", "1000", NULL };
    if (no_bwrap(name))
        return;
    clear();
    for (int round = 0; round < 3; round++) {
        interp_ctx *x = b_ctx();
        interp_session *s[N];
        interp_session_close(b_open(x, NULL));
        uint64_t before = pss_of_tree(getpid(), 1);
        for (int i = 0; i < N; i++) {
            s[i] = b_open(x, NULL);
            if (language) {
                interp_request *r = b_request(x, language, ":", NULL);
                interp_result_free(b_exec(s[i], r));
                interp_request_free(r);
            }
        }
        usleep(200000);
        samples_add(&a, (double)(pss_of_tree(getpid(), 1) - before) / N / 1024);
        for (int i = 0; i < N; i++)
            interp_session_close(s[i]);
        interp_ctx_free(x);
        pid_t pid[N];
        before = pss_of_tree(getpid(), 0);
        for (int i = 0; i < N; i++)
            pid[i] = spawn_quiet(argv);
        usleep(300000);
        samples_add(&f, (double)(pss_of_tree(getpid(), 0) - before) / N / 1024);
        for (int i = 0; i < N; i++) {
            kill(pid[i], SIGKILL);
            wait_status(pid[i]);
        }
    }
    report(name, "KiB", &a, &f);
}
static void memory_session(const char *name) { memory_idle(name, NULL); }
static void memory_sh(const char *name) { memory_idle(name, "sh"); }

static const struct { const char *name; void (*fn)(const char *); } benches[] = {
    { "exec python x=1 / driver alone", exec_python }, { "exec javascript x=1 / driver alone", exec_javascript }, { "exec bash : / driver alone", exec_bash },
    { "exec python x=1 / ipykernel", exec_ipykernel }, { "exec python x=1 / ipykernel, one CPU", exec_ipykernel_one_cpu }, { "open and close / bwrap true", open_idle }, { "second open to first result, python / bwrap python3 -c pass", first_python },
    { "second open to first result, javascript / bwrap node -e 0", first_javascript }, { "second open to first result, bash / bwrap bash -c :", first_bash },
    { "open and close, host with 2 GB / small host", open_big_host }, { "overshoot of a 100 ms timeout", overshoot }, { "100 MB of lines, streamed / plain pipe reader", stream_100mb },
    { "100 MB of 64 KiB writes, streamed / plain pipe reader", output_writes }, { "100 MB of Python lines, redacted, capped, spilled / redaction off, least cap, no spill", output_whole_path },
    { "growth of the host in a 1 GB flood", output_flood_memory }, { "1 MB in 10,000 prints / ipykernel", output_prints },
    { "docker: exec python x=1 / API exec of python3 -c x=1", docker_exec }, { "docker: open / bare create, attach, start", docker_open },
    { "docker: 100 MB of lines, streamed / attach of the same program", docker_lines }, { "podman: exec python x=1 / API exec of python3 -c x=1", podman_exec },
    { "podman: open / bare create, attach, start", podman_open }, { "podman: 100 MB of lines, streamed / attach of the same program", podman_lines },
    { "stripped library", library_size }, { "dlopen / its dependencies alone", load_time }, { "memory of an idle session / bwrap sleep", memory_session },
    { "memory of a session with an sh kernel / bwrap sleep", memory_sh }, { "1,000 idle sessions", many_sessions },
    { "put of 100 MB / cp to tmpfs", files_put }, { "get of 100 MB / cp to tmpfs", files_get },
    { "exec with the change set of 10,000 files, 3 changed / without", files_changes },
};

int main(int argc, char **argv)
{
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    if (argc == 3 && !strcmp(argv[1], "--open-server"))
        return open_server((size_t)atol(argv[2]));
    if (!getenv("INTERP_BENCH_CLEAN")) {               /* PYTHON*, NODE_* and the like cost their owners milliseconds */
        static const char *const kept[] = { "INTERP_TEST_DOCKER", "INTERP_TEST_PODMAN", "INTERP_TEST_IMAGE" };
        char *clean[16] = { "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/tmp", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "INTERP_BENCH_CLEAN=1", NULL };
        for (size_t i = 0, at = 5; i < sizeof kept / sizeof *kept; i++) {
            const char *v = getenv(kept[i]);
            if (v && asprintf(&clean[at], "%s=%s", kept[i], v) > 0)
                clean[++at] = NULL;
        }
        execve(self, argv, clean);
        return 1;
    }
    int named = 0;
    for (int i = 1; i < argc; i++) {
        quick |= !strcmp(argv[i], "--quick");
        named |= argv[i][0] != '-';
        if (!strcmp(argv[i], "--list")) {
            for (size_t k = 0; k < sizeof benches / sizeof *benches; k++)
                puts(benches[k].name);
            return 0;
        }
    }
    for (size_t k = 0; k < sizeof benches / sizeof *benches; k++) {
        int wanted = !named;
        for (int i = 1; i < argc; i++)
            wanted |= argv[i][0] != '-' && strstr(benches[k].name, argv[i]) != NULL;
        if (wanted)
            benches[k].fn(benches[k].name);
    }
    return 0;
}
