/* output.c - what output costs: big writes, the way through redaction, cap and spill, the host's memory in a flood, many small prints.
   SPDX-License-Identifier: MIT */
#include "bench.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct samples a, f;

double b_pipe_reader(char *const argv[], uint64_t want)
{
    static char buf[1 << 16];
    posix_spawn_file_actions_t fa;
    int p[2];
    pid_t pid;
    uint64_t total = 0;
    double t = now_ms();
    if (pipe2(p, O_CLOEXEC))
        return -1;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, p[1], 1);
    int bad = posix_spawn(&pid, argv[0], &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(p[1]);
    for (ssize_t n; !bad && (n = read(p[0], buf, sizeof buf)) > 0;)
        total += (uint64_t)n;
    close(p[0]);
    if (!bad)
        wait_status(pid);
    return total == want ? now_ms() - t : -1;
}

static double streamed(interp_session *s, interp_request *r, uint64_t want)
{
    interp_result *out = NULL;
    double t = now_ms();
    uint64_t total = b_stream(s, r, &out);
    t = now_ms() - t;
    b_ok(out);
    return total == want ? t : -1;
}

static char writes[] = "import os\nb = b'a line of a big write, sixty-four bytes with its end as others.\\n' * 1024\nfor i in range(1600): os.write(1, b)";
void output_writes(const char *name)
{
    char *argv[] = { "/usr/bin/python3", "-c", writes, NULL };
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, NULL);
    interp_request *r = b_request(x, "python", writes, "{\"stream\":1,\"timeout_ms\":60000}");
    a.n = f.n = 0;
    for (int i = 0, n = count(30); i < n + 1; i++) {
        double t = streamed(s, r, 1600 * 65536), g = b_pipe_reader(argv, 1600 * 65536);
        if (t < 0 || g < 0) {
            note(name, "bytes are missing");
            break;
        }
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

/* The same lines with all that looks at them, and with as little as can be. */
void output_whole_path(const char *name)
{
    static const char *const lines = "import sys\nw = sys.stdout.write\nfor i in range(1600000): w('%08d a line of output that is as long as lines usually are\\n' % i)";
    char dir[] = "/tmp/interp-bench-XXXXXX", with[200], value[40];
    enum { BYTES = 1600000 * 63 };
    if (!mkdtemp(dir)) {
        note(name, "no directory in /tmp");
        return;
    }
    interp_ctx *x = b_ctx();
    for (int i = 0; i < 64; i++) {
        snprintf(value, sizeof value, "k7Jm2Qx9w4Rt%08d", i * 7919 + 13);
        if (interp_redact_add(x, "SECRET", value, INTERP_NTS, NULL) != INTERP_OK)
            exit(1);
    }
    snprintf(with, sizeof with, "{\"spill_dir\":\"%s\"}", dir);
    interp_session *s = b_open(x, with), *bare = b_open(x, "{\"redact_off\":1,\"output_head_bytes\":1,\"output_tail_bytes\":1}");
    interp_request *r = b_request(x, "python", lines, "{\"stream\":1,\"timeout_ms\":60000}");
    a.n = f.n = 0;
    for (int i = 0, n = count(16); i < n + 1; i++) {
        double t = streamed(s, r, BYTES), g = streamed(bare, r, BYTES);
        if (t < 0 || g < 0) {
            note(name, "bytes are missing");
            break;
        }
        if (i) {
            samples_add(&a, t);
            samples_add(&f, g);
        }
    }
    report(name, "ms", &a, &f);
    interp_request_free(r);
    interp_session_close(s);
    interp_session_close(bare);
    interp_ctx_free(x);
    rmdir(dir);
}

void output_flood_memory(const char *name)
{
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, NULL);
    interp_request *warm = b_request(x, "sh", "yes | head -c 1000000", NULL), *flood = b_request(x, "sh", "yes 'a line of the flood' | head -c 1000000000", "{\"timeout_ms\":120000}");
    struct rusage u;
    b_ok(b_exec(s, warm));
    a.n = 0;
    getrusage(RUSAGE_SELF, &u);
    long before = u.ru_maxrss;
    b_ok(b_exec(s, flood));
    getrusage(RUSAGE_SELF, &u);
    samples_add(&a, (double)(u.ru_maxrss - before));
    report(name, "KiB", &a, NULL);
    interp_request_free(warm);
    interp_request_free(flood);
    interp_session_close(s);
    interp_ctx_free(x);
}

int ipykernel_start(struct helper *h, const char *name, char *code)
{
    char *argv[] = { "/usr/bin/python3", BENCH_DIR "/ipykernel_floor.py", code, NULL };
    if (!have(argv[0]) || helper_start(h, argv)) {
        note(name, "no /usr/bin/python3");
        return -1;
    }
    if (helper_ask(h, "go") < 0) {
        note(name, "no ipykernel and jupyter_client for /usr/bin/python3");
        helper_end(h);
        return -1;
    }
    return 0;
}

void output_prints(const char *name)
{
    static char code[] = "for i in range(10000): print('%05d ' % i + 'x' * 93)";
    struct helper h;
    if (ipykernel_start(&h, name, code))
        return;
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, NULL);
    interp_request *r = b_request(x, "python", code, "{\"stream\":1}");
    a.n = f.n = 0;
    for (int i = 0, n = count(30); i < n + 1; i++) {
        double t = streamed(s, r, 1000000), g = helper_ask(&h, "go");
        if (i) {
            samples_add(&a, t);
            samples_add(&f, g);
        }
    }
    report(name, "ms", &a, &f);
    helper_end(&h);
    interp_request_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}
