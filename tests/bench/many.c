/* many.c - a thousand idle sessions in one process: what each costs the host, and whether they slow each other down.
   SPDX-License-Identifier: MIT */
#include "bench.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double own_kib(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double sum = 0;
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "Private_", 8))
            sum += atof(strchr(line, ':') + 1);
    if (f)
        fclose(f);
    return sum;
}

static int descriptors(void)
{
    int n = -3;                            /* ., .., and the directory's own */
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void trips(interp_session *s, interp_request *r, int n, struct samples *out)
{
    for (int i = -3; i < n; i++) {
        double t = now_ms();
        b_ok(b_exec(s, r));
        if (i >= 0)
            samples_add(out, now_ms() - t);
    }
}

void many_sessions(const char *name)
{
    static struct samples memory, files, among, alone;
    char text[200];
    struct rlimit files_max;
    int n = count(1000);
    memory.n = files.n = among.n = alone.n = 0;
    getrlimit(RLIMIT_NOFILE, &files_max);
    files_max.rlim_cur = files_max.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files_max) || files_max.rlim_cur < (rlim_t)n * 4 + 100) {
        note(name, "too few descriptors are allowed (RLIMIT_NOFILE)");
        return;
    }
    interp_ctx *x = b_ctx();
    interp_request *r = b_request(x, "bash", ":", NULL);
    interp_session *one = b_open(x, NULL), **s = calloc((size_t)n, sizeof *s);
    if (!s)
        exit(1);
    trips(one, r, count(150), &alone);       /* half of it before, half after: a machine's mood changes */
    double before = own_kib();
    int before_files = descriptors();
    for (int i = 0; i < n; i++)
        s[i] = b_open(x, NULL);
    samples_add(&memory, (own_kib() - before) / n);
    samples_add(&files, (double)(descriptors() - before_files) / n);
    trips(s[0], r, count(100), &among);
    trips(s[n / 2], r, count(100), &among);
    trips(s[n - 1], r, count(100), &among);
    snprintf(text, sizeof text, "%s: memory of the host for each (bar 32)", name);
    report(text, "KiB", &memory, NULL);
    snprintf(text, sizeof text, "%s: descriptors of the host for each (bar 3)", name);
    report(text, "", &files, NULL);
    for (int i = 0; i < n; i++)
        interp_session_close(s[i]);
    free(s);
    trips(one, r, count(150), &alone);
    snprintf(text, sizeof text, "%s: exec bash : in one / alone", name);
    report(text, "ms", &among, &alone);
    interp_session_close(one);
    interp_request_free(r);
    interp_ctx_free(x);
}
