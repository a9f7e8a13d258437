/* tap.h - a small test helper.
   SPDX-License-Identifier: MIT

   A test program is one file: TEST(name) { ... } as often as needed, TAP_MAIN() at the end. Each test runs in a forked process of its own, so
   that a crash or a hang is one failed line and nothing that a test does to its process reaches the next. Output is TAP; the last line of every program is
   `N passed, N failed, N skipped`, and each skip is printed as `SKIP name: reason`. Exit status: 0, 1 on a failure, 77 when everything was skipped.

     program [--list] [--nofork] [part of a name]...

   CHECK notes a failure and goes on, REQUIRE ends the test, SKIP ends it as skipped, TEST_LONG gives it another time limit (seconds).
   INTERP_TEST_SLOW multiplies time limits: 1 plain (the default), 4 under sanitizers, 20 emulated. */
#ifndef INTERP_TESTS_TAP_H
#define INTERP_TESTS_TAP_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct tap_test {
    const char *name;
    void (*fn)(void);
    unsigned seconds;
    struct tap_test *next;
};
static struct tap_test *tap_first, **tap_last = &tap_first;
static struct { int failed, failures; char skip[240]; } *tap_shared;
static int tap_nofork;

#define TEST(name) TEST_LONG(name, 120)
#define TEST_LONG(name, seconds)                                                                                  \
    static void test_##name(void);                                                                                \
    static struct tap_test tap_##name = { #name, test_##name, seconds, NULL };                                    \
    __attribute__((constructor)) static void tap_add_##name(void) { *tap_last = &tap_##name, tap_last = &tap_##name.next; } \
    static void test_##name(void)

__attribute__((format(printf, 3, 4), unused)) static void tap_fail(const char *file, int line, const char *fmt, ...)
{
    char text[900];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *p = text; *p; p++)
        if (*p == '\n')
            *p = ' ';
    const char *base = strrchr(file, '/');
    int before = __atomic_fetch_add(&tap_shared->failures, 1, __ATOMIC_SEQ_CST);
    if (before < 20)
        printf("# %s:%d: %s\n", base ? base + 1 : file, line, text);
    else if (before == 20)
        puts("# ... and more");
    fflush(stdout);
    __atomic_store_n(&tap_shared->failed, 1, __ATOMIC_SEQ_CST);
}
__attribute__((noreturn, unused)) static void tap_leave(int code)
{
    fflush(stdout);
    _exit(code);
}

#define FAIL(...) tap_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(cond) ((cond) ? 1 : (tap_fail(__FILE__, __LINE__, "%s", #cond), 0))
#define REQUIRE(cond) do { if (!(cond)) { tap_fail(__FILE__, __LINE__, "%s", #cond); tap_leave(1); } } while (0)
#define CHECK_INT(got, want)                                                                                      \
    do {                                                                                                          \
        long long tap_g = (long long)(got), tap_w = (long long)(want);                                            \
        if (tap_g != tap_w)                                                                                       \
            tap_fail(__FILE__, __LINE__, "%s: is %lld, not %lld (%s)", #got, tap_g, tap_w, #want);                \
    } while (0)
#define CHECK_STR(got, want)                                                                                      \
    do {                                                                                                          \
        const char *tap_g = (got), *tap_w = (want);                                                               \
        if (!tap_g || strcmp(tap_g, tap_w))                                                                       \
            tap_fail(__FILE__, __LINE__, "%s: is \"%.300s\", not \"%.300s\"", #got, tap_g ? tap_g : "(null)", tap_w); \
    } while (0)
#define CHECK_MEM(got, want, n) ((n) == 0 || memcmp(got, want, n) == 0 ? 1 : (tap_fail(__FILE__, __LINE__, "%s differs from %s", #got, #want), 0))
#define SKIP(...) do { snprintf(tap_shared->skip, sizeof tap_shared->skip, __VA_ARGS__); tap_leave(tap_shared->failed ? 1 : 77); } while (0)
/* Prints a figure; figures never decide a test except through a generous bound. */
#define MEASURE(name, value, unit) printf("# measure: %s %.3f %s\n", name, (double)(value), unit)

__attribute__((unused)) static unsigned tap_slow(void)
{
    const char *e = getenv("INTERP_TEST_SLOW");
    int n = e ? atoi(e) : 1;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    n = n < 4 ? 4 : n;
#endif
    return n > 0 ? (unsigned)n : 1;
}
/* Of this thread: what it worked, whatever else the machine has to do. */
__attribute__((unused)) static uint64_t tap_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
__attribute__((unused)) static uint64_t tap_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
__attribute__((unused)) static void tap_sleep_ms(unsigned ms)
{
    struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000L };
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}
/* A small generator of repeatable numbers. */
__attribute__((unused)) static uint64_t tap_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int tap_wanted(const char *name, char **words, int n)
{
    int any = 0;
    for (int i = 0; i < n; i++) {
        if (words[i][0] == '-')
            continue;
        any = 1;
        if (strstr(name, words[i]))
            return 1;
    }
    return !any;
}
static int tap_run(const struct tap_test *t)
{
    unsigned limit = t->seconds * tap_slow();
    memset(tap_shared, 0, sizeof *tap_shared);
    fflush(stdout);
    if (tap_nofork) {
        t->fn();
        return tap_shared->failed;
    }
    pid_t pid = fork();
    if (pid < 0) {
        FAIL("fork: %s", strerror(errno));
        return 1;
    }
    if (pid == 0) {
        setpgid(0, 0);
        alarm(limit);
        t->fn();
        fflush(stdout);
        exit(tap_shared->failed);
    }
    setpgid(pid, pid);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    kill(-pid, SIGKILL);
    if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGALRM)
            printf("# %s: still running after %u s\n", t->name, limit);
        else
            printf("# %s: died by signal %d\n", t->name, WTERMSIG(status));
        return 1;
    }
    return WEXITSTATUS(status);
}
static int tap_main(int argc, char **argv)
{
    int passed = 0, failed = 0, skipped = 0, number = 0, total = 0;
    tap_shared = mmap(NULL, sizeof *tap_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tap_shared == MAP_FAILED)
        return 1;
    for (int i = 1; i < argc; i++) {
        tap_nofork |= !strcmp(argv[i], "--nofork");
        if (!strcmp(argv[i], "--list")) {
            for (struct tap_test *t = tap_first; t; t = t->next)
                puts(t->name);
            return 0;
        }
    }
    for (struct tap_test *t = tap_first; t; t = t->next)
        total += tap_wanted(t->name, argv + 1, argc - 1);
    printf("1..%d\n", total);
    for (struct tap_test *t = tap_first; t; t = t->next) {
        if (!tap_wanted(t->name, argv + 1, argc - 1))
            continue;
        int code = tap_run(t);
        number++;
        if (code == 77) {
            skipped++;
            printf("ok %d - %s # SKIP %s\nSKIP %s: %s\n", number, t->name, tap_shared->skip, t->name, tap_shared->skip);
        } else if (code == 0 && !tap_shared->failed) {
            passed++;
            printf("ok %d - %s\n", number, t->name);
        } else {
            failed++;
            printf("not ok %d - %s\n", number, t->name);
        }
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    fflush(stdout);
    return failed ? 1 : passed || !skipped ? 0 : 77;
}
#define TAP_MAIN() int main(int argc, char **argv) { return tap_main(argc, argv); }
#endif
