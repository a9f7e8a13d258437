/* redact-bench.c - what redaction costs: redact-bench [--quick] [part of a name]...
   One JSON object a line, as interp-bench prints them; the floor is memcpy of the same bytes. Throughput rows have MB/s and the most that was held, too.
   SPDX-License-Identifier: MIT */
#include "bench.h"
#include "corpus.h"
#include "output/redact/redact.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 16 << 20, PUSH = 64 << 10 };
static char *bytes, *copy;
static struct samples a, f;

/* The time that this thread had: others of the machine are left out. */
static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static struct interp__redact_set *make_set(int values)
{
    struct interp__redact_set *s = interp__redact_set_new(&interp__mem_default);
    for (int i = 0; i < values; i++) {
        char v[64], name[16];
        corpus_value(v, i);
        snprintf(name, sizeof name, "value-%d", i);
        if (interp__redact_set_value(s, name, v, INTERP_NTS, NULL))
            exit(1);
    }
    return s;
}

static void throughput(int which, int values)
{
    struct interp__redact_set *s = make_set(values);
    struct interp__buf out;
    size_t size = quick ? SIZE / 4 : SIZE, held = 0, bound = 0;
    char name[80];
    a.n = f.n = 0;
    interp__buf_init(&out, &interp__mem_default);
    interp__buf_reserve(&out, 2 * PUSH);
    corpus_fill(which, bytes, size);
    for (int round = 0; round < (quick ? 3 : 9); round++) {
        struct interp__redactor *r = interp__redactor_new(s, &interp__mem_default);
        double t = cpu_ms();
        for (size_t at = 0; at < size; at += PUSH) {
            interp__redactor_push(r, bytes + at, PUSH, &out);
            out.len = 0;
        }
        interp__redactor_finish(r, &out);
        out.len = 0;
        samples_add(&a, cpu_ms() - t);
        held = interp__redactor_stats(r)->held_max;
        bound = interp__redactor_bound(r);
        interp__redactor_free(r);
        t = cpu_ms();
        for (size_t at = 0; at < size; at += PUSH)
            memcpy(copy, bytes + at, PUSH);
        samples_add(&f, cpu_ms() - t);
    }
    snprintf(name, sizeof name, "redact %s, %d values / memcpy", corpus_names[which], values);
    report(name, "ms", &a, &f);
    printf("{\"name\":\"redact %s, %d values\",\"mb_per_s\":%.0f,\"held_max\":%zu,\"held_bound\":%zu}\n", corpus_names[which], values, (double)size / 1e3 / samples_quantile(&a, 0.5), held, bound);
    interp__buf_free(&out);
    interp__redact_set_free(s);
}

static void push_cost(size_t n, int values)
{
    struct interp__redact_set *s = make_set(values);
    struct interp__redactor *r = interp__redactor_new(s, &interp__mem_default);
    struct interp__buf out;
    char name[80];
    a.n = f.n = 0;
    interp__buf_init(&out, &interp__mem_default);
    corpus_fill(CORPUS_LOGS, bytes, 1 << 20);
    for (int round = 0; round < 200; round++) {
        enum { EACH = 1000 };
        const char *p = bytes + (size_t)round * 4096;
        double t = cpu_ms();
        for (int i = 0; i < EACH; i++) {
            interp__redactor_push(r, p + (size_t)i * 7, n, &out);
            out.len = 0;
        }
        samples_add(&a, (cpu_ms() - t) * 1e6 / EACH);
        t = cpu_ms();
        for (int i = 0; i < EACH; i++) {
            memcpy(copy, p + (size_t)i * 7, n);
            __asm__ volatile("" ::: "memory");
        }
        samples_add(&f, (cpu_ms() - t) * 1e6 / EACH);
    }
    snprintf(name, sizeof name, "redact, one push of %zu bytes, %d values / memcpy", n, values);
    report(name, "ns", &a, &f);
    interp__buf_free(&out);
    interp__redactor_free(r);
    interp__redact_set_free(s);
}

int main(int argc, char **argv)
{
    int named = 0;
    bytes = malloc(SIZE);
    copy = malloc(PUSH);
    if (!bytes || !copy)
        return 1;
    for (int i = 1; i < argc; i++) {
        quick |= !strcmp(argv[i], "--quick");
        named |= argv[i][0] != '-';
    }
    for (int which = 0; which < CORPORA; which++) {
        int wanted = !named;
        for (int i = 1; i < argc; i++)
            wanted |= argv[i][0] != '-' && strstr(corpus_names[which], argv[i]) != NULL;
        for (int values = 0; wanted && values <= 64; values += 64)
            throughput(which, values);
    }
    for (size_t n = 20; !named && n <= 5120; n *= 4)
        push_cost(n, 64);
    free(bytes);
    free(copy);
    return 0;
}
