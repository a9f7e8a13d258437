/* test_spill.c - a stream on disk (lib/output/spill.c) against the whole text in memory: what is there, what is found, what is saved; full disks.
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "output/spill.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MEM (&interp__mem_default)
enum { ALL = 3 << 20, BLOCK = INTERP__SPILL_BLOCK };
static char all[ALL], back[ALL + 4096];
static char dir[] = "/tmp/interp-spill-XXXXXX";

static void make_text(uint64_t *seed)
{
    for (size_t i = 0; i < ALL; i++)
        all[i] = tap_random(seed) % 40 ? (char)('a' + tap_random(seed) % 4) : '\n';
}
static struct interp__source source(const struct interp__spill *s)
{
    struct interp__source r = { .spill = s, .total = s->total, .newlines = s->newlines };
    interp__spill_extent(s, &r.a, &r.b, &r.e);
    return r;
}
static void feed(struct interp__spill *s, size_t n, uint64_t *seed)
{
    for (size_t at = (size_t)s->total, end = at + n, k; at < end; at += k) {
        k = 1 + tap_random(seed) % 70000;
        k = k < end - at ? k : end - at;
        interp__spill_write(s, all + at, k);
    }
}
static uint64_t newlines(size_t n)
{
    uint64_t c = 0;
    for (size_t i = 0; i < n; i++)
        c += all[i] == '\n';
    return c;
}
/* Everything that it says is there is there, as it was. */
static void check(const struct interp__source *r, uint64_t *seed)
{
    size_t got;
    for (int i = 0; i < 60; i++) {
        uint64_t at = tap_random(seed) % (r->total + 10);
        size_t n = 1 + tap_random(seed) % 200000;
        int e = interp__source_read(r, at, back, n, &got), there = at < r->a || (at >= r->b && at < r->e);
        if (at >= r->total)
            CHECK(!e && !got);
        else if (!there)
            CHECK(e == ENODATA);
        else {
            uint64_t stop = at < r->a && r->b > r->a ? r->a : r->e;
            CHECK(!e && got == (n < stop - at ? n : stop - at) && !memcmp(back, all + at, got));
        }
    }
    for (int i = 0; i < 30; i++) {
        size_t n = 1 + tap_random(seed) % 9, from = tap_random(seed) % (r->total + 1), where = tap_random(seed) % (r->total - n);
        uint64_t offset = 0, line = 0;
        char text[10];
        memcpy(text, all + where, n);
        int rc = interp__source_find(r, MEM, text, n, from, &offset, &line);
        const char *want = NULL, *hit;
        if (from < r->a && (hit = memmem(all + from, (size_t)r->a - from, text, n)))
            want = hit;
        size_t second = from > r->b ? from : (size_t)r->b;
        if (!want && r->b > r->a && r->e > second && (hit = memmem(all + second, (size_t)r->e - second, text, n)))
            want = hit;
        if (!want && r->b == r->a && from < r->e && (hit = memmem(all + from, (size_t)r->e - from, text, n)))
            want = hit;
        if (want)
            CHECK(rc == 0 && offset == (uint64_t)(want - all) && line == newlines((size_t)offset) + 1);
        else
            CHECK(rc == -1);
    }
}

TEST(against_memory)
{
    uint64_t seed = 1;
    REQUIRE(mkdtemp(dir));
    make_text(&seed);
    static const size_t size[] = { 1, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 4 * BLOCK, 4 * BLOCK + 1, 5 * BLOCK - 1, 9 * BLOCK, 20 * BLOCK + 77, ALL };
    static const uint64_t budget[] = { 2 * BLOCK, 4 * BLOCK, 5 * BLOCK + 100, 64 << 20 };
    for (size_t b = 0; b < sizeof budget / sizeof *budget; b++)
        for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
            struct interp__spill s;
            interp__spill_init(&s, MEM, budget[b]);
            REQUIRE(interp__spill_open(&s, dir) == 0);
            feed(&s, size[i], &seed);
            struct interp__source r = source(&s);
            struct stat st;
            CHECK(s.total == size[i] && r.e == size[i] && s.newlines == newlines(size[i]) && !s.failed);
            CHECK(fstat(s.fd, &st) == 0 && (uint64_t)st.st_size <= budget[b] && st.st_nlink == 0 && (st.st_mode & 0777) == 0600);
            CHECK(r.b > r.a ? r.a == s.head && r.b % BLOCK == 0 && r.e - r.b + BLOCK > s.ring : size[i] <= s.head + s.ring);
            if (r.total > 20)
                check(&r, &seed);
            interp__spill_close(&s);
            CHECK(s.fd == -1);
        }
    CHECK(rmdir(dir) == 0);   /* nothing was left there */
}

static size_t unpack(const char *path)
{
    gzFile z = gzopen(path, "rb");
    size_t n = 0;
    for (int k; z && n < sizeof back && (k = gzread(z, back + n, 65536)) > 0; n += (size_t)k)
        ;
    CHECK(z && gzclose(z) == Z_OK);
    return n;
}
TEST(saved)
{
    uint64_t seed = 2;
    char path[200], link[200];
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    REQUIRE(mkdtemp(dir));
    make_text(&seed);
    snprintf(path, sizeof path, "%s/kept.gz", dir);
    snprintf(link, sizeof link, "%s/link.gz", dir);
    for (int gap = 0; gap < 2; gap++) {
        struct interp__spill s;
        interp__spill_init(&s, MEM, gap ? 6 * BLOCK : 64 << 20);
        REQUIRE(interp__spill_open(&s, dir) == 0);
        feed(&s, ALL - 12345, &seed);
        struct interp__source r = source(&s);
        CHECK(interp__source_save(&r, MEM, path) == 0);
        struct stat st;
        CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600 && st.st_size < (off_t)s.total);
        size_t n = unpack(path);
        if (!gap)
            CHECK(n == s.total && !memcmp(back, all, n));
        else {
            char want[100];
            size_t k = (size_t)snprintf(want, sizeof want, "\n[... %llu bytes left out ...]\n", (unsigned long long)(r.b - r.a));
            CHECK(n == r.a + k + (r.e - r.b) && !memcmp(back, all, r.a) && !memcmp(back + r.a, want, k) && !memcmp(back + r.a + k, all + r.b, r.e - r.b));
        }
        CHECK(interp__source_save(&r, MEM, path) == EEXIST);
        CHECK(symlink("nowhere", link) == 0 && interp__source_save(&r, MEM, link) == EEXIST && unlink(link) == 0);
        CHECK(interp__source_save(&r, MEM, "/nowhere/at/all") == ENOENT);
        CHECK(unlink(path) == 0);
        interp__spill_close(&s);
    }
    /* from memory, with and without a gap */
    struct interp__source m = { .head = all, .tail = all + 5000, .a = 1000, .b = 5000, .e = 7000, .total = 7000, .newlines = newlines(7000) };
    check(&m, &seed);
    CHECK(interp__source_save(&m, MEM, path) == 0 && unpack(path) > 3000 && unlink(path) == 0);
    m = (struct interp__source){ .head = all, .a = 7000, .b = 7000, .e = 7000, .total = 7000, .newlines = newlines(7000) };
    check(&m, &seed);
    CHECK(interp__source_save(&m, MEM, path) == 0 && unpack(path) == 7000 && unlink(path) == 0);
    m = (struct interp__source){ .head = "" };
    CHECK(interp__source_save(&m, MEM, path) == 0 && unpack(path) == 0 && unlink(path) == 0);
    CHECK(rmdir(dir) == 0);
}

/* A limit of this process on files: told, and no SIGXFSZ. Nothing that was written is lost. */
TEST(file_limit)
{
    uint64_t seed = 3;
    struct rlimit old, r = { 3 * BLOCK, RLIM_INFINITY };
    make_text(&seed);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    r.rlim_max = old.rlim_max;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &r) == 0);
    struct interp__spill s;
    interp__spill_init(&s, MEM, 64 << 20);
    REQUIRE(interp__spill_open(&s, "/tmp") == 0);
    feed(&s, 10 * BLOCK, &seed);
    struct interp__source from = source(&s);
    CHECK(s.failed == EFBIG && from.e > 2 * BLOCK && from.e <= 3 * BLOCK && from.total == 10 * BLOCK && s.newlines == newlines(10 * BLOCK));
    check(&from, &seed);
    char path[] = "/tmp/interp-spill-saved-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
    r.rlim_cur = 100;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &r) == 0);
    CHECK(interp__source_save(&from, MEM, path) == EFBIG && access(path, F_OK) != 0);
    setrlimit(RLIMIT_FSIZE, &old);
    interp__spill_close(&s);
}

TEST(full_disk)
{
    uint64_t seed = 4;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    REQUIRE(mkdtemp(dir));
    if (mount("none", dir, "tmpfs", 0, "size=256k")) {
        rmdir(dir);
        SKIP("no tmpfs can be mounted here");
    }
    make_text(&seed);
    struct interp__spill s;
    interp__spill_init(&s, MEM, 64 << 20);
    CHECK(interp__spill_open(&s, dir) == 0);
    feed(&s, 20 * BLOCK, &seed);
    struct interp__source r = source(&s);
    CHECK(s.failed == ENOSPC && r.e > 2 * BLOCK && r.e <= 4 * BLOCK && r.total == 20 * BLOCK && s.newlines == newlines(20 * BLOCK));
    check(&r, &seed);
    char path[200];
    snprintf(path, sizeof path, "%s/kept.gz", dir);
    CHECK(interp__source_save(&r, MEM, path) == ENOSPC && access(path, F_OK) != 0);
    interp__spill_close(&s);
    CHECK(umount(dir) == 0 && rmdir(dir) == 0);
}

/* Somebody makes the file shorter: an error, no wrong bytes, no hang. */
TEST(tampered)
{
    uint64_t seed = 5, offset, line;
    size_t got;
    make_text(&seed);
    struct interp__spill s;
    interp__spill_init(&s, MEM, 64 << 20);
    REQUIRE(interp__spill_open(&s, "/tmp") == 0);
    feed(&s, 10 * BLOCK, &seed);
    struct interp__source r = source(&s);
    CHECK(ftruncate(s.fd, BLOCK) == 0);
    CHECK(interp__source_read(&r, 0, back, BLOCK, &got) == 0 && got == BLOCK);
    CHECK(interp__source_read(&r, 5 * BLOCK, back, BLOCK, &got) == EIO && got == 0);
    CHECK(interp__source_find(&r, MEM, "no such text", 12, 0, &offset, &line) == EIO);
    CHECK(interp__source_save(&r, MEM, "/tmp/interp-spill-none.gz") == EIO && access("/tmp/interp-spill-none.gz", F_OK) != 0);
    interp__spill_close(&s);
    CHECK(interp__spill_try("/nowhere") == ENOENT && interp__spill_try("/proc/version") == ENOTDIR);
}

TAP_MAIN()
