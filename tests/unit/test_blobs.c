/* test_blobs.c - what the library carries deflated comes out as it went in, once, read-only
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "core/blobs.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

static const char *const FILES[INTERP__PACKED] = { [INTERP__AGENT_X86_64] = AGENT_X86_64, [INTERP__AGENT_AARCH64] = AGENT_AARCH64, [INTERP__PYTHON] = PYTHON, [INTERP__JAVASCRIPT] = JAVASCRIPT };

TEST(comes_out_as_it_went_in)
{
    for (enum interp__packed_name i = INTERP__PACKED_NONE + 1; i < INTERP__PACKED; i++) {
        struct stat st;
        if (!*FILES[i]) {
            CHECK_INT(interp__packed_size(i), 0);
            continue;
        }
        int fd = open(FILES[i], O_RDONLY | O_CLOEXEC);
        REQUIRE(fd >= 0 && !fstat(fd, &st) && st.st_size > 1000);
        uint8_t *want = malloc((size_t)st.st_size);
        REQUIRE(want && read(fd, want, (size_t)st.st_size) == st.st_size);
        REQUIRE(interp__packed_size(i) == (size_t)st.st_size);
        const uint8_t *got = interp__unpack(i, &interp__mem_default);
        REQUIRE(got);
        CHECK(!memcmp(got, want, (size_t)st.st_size));
        CHECK(interp__unpack(i, &interp__mem_default) == got);
        /* the kernel tries to write there for us */
        int null = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        CHECK(read(null, (void *)(uintptr_t)got, 1) < 0 && errno == EFAULT);
        close(null);
        close(fd);
        free(want);
    }
}

static void *no_memory(void *userdata, void *p, size_t old_size, size_t new_size)
{
    (void)old_size, (void)new_size;
    (void)p;
    ++*(int *)userdata;
    return NULL;
}

TEST(no_memory_is_told_and_forgotten)
{
    int asked = 0;
    const struct interp__mem none = { no_memory, &asked };
    CHECK(!interp__unpack(INTERP__JAVASCRIPT, &none));
    CHECK(asked > 0);
    CHECK(interp__unpack(INTERP__JAVASCRIPT, &interp__mem_default) != NULL);
    asked = 0;
    CHECK(interp__unpack(INTERP__JAVASCRIPT, &none) != NULL);
    CHECK_INT(asked, 0);
}

enum { THREADS = 8 };
static pthread_barrier_t barrier;
static void *racer(void *out)
{
    pthread_barrier_wait(&barrier);
    *(const uint8_t **)out = interp__unpack(INTERP__PYTHON, &interp__mem_default);
    return NULL;
}

TEST(all_threads_get_the_same)
{
    pthread_t t[THREADS];
    const uint8_t *got[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(!pthread_create(&t[i], NULL, racer, &got[i]));
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS; i++)
        CHECK(got[i] && got[i] == got[0]);
    CHECK_MEM(got[0], "# Python driver", 15);
}

TAP_MAIN()
