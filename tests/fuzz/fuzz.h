/* fuzz.h - shared by the fuzz targets. Each target is one file fuzz_NAME.c that defines LLVMFuzzerTestOneInput; with libFuzzer it is a fuzzer,
   with driver.c a program that runs its seeds (and mutations of them) as a regression test.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_TESTS_FUZZ_H
#define INTERP_TESTS_FUZZ_H
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond) do { if (!(cond)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); abort(); } } while (0)

/* A copy that ends exactly where the input does, so that a sanitizer sees the first byte read past it. */
static inline uint8_t *fuzz_copy(const uint8_t *p, size_t n)
{
    uint8_t *c = malloc(n ? n : 1);
    if (n)
        memcpy(c, p, n);
    return c;
}

/* The same work on a thread with 64 KiB of stack (plus what a sanitizer's frames need): input must not be able to recurse. */
struct fuzz_job { void (*fn)(const uint8_t *, size_t); const uint8_t *data; size_t size; };
static inline void *fuzz_thread(void *v)
{
    struct fuzz_job *j = v;
    j->fn(j->data, j->size);
    return NULL;
}
static inline void fuzz_small_stack(void (*fn)(const uint8_t *, size_t), const uint8_t *data, size_t size)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(FUZZ_SANITIZED)
    size_t stack = 256 << 10;
#else
    size_t stack = 64 << 10;
#endif
    struct fuzz_job job = { fn, data, size };
    pthread_attr_t a;
    pthread_t t;
    pthread_attr_init(&a);
    FUZZ_CHECK(pthread_attr_setstacksize(&a, stack) == 0);
    if (pthread_create(&t, &a, fuzz_thread, &job) == 0)
        pthread_join(t, NULL);
    pthread_attr_destroy(&a);
}
#endif
