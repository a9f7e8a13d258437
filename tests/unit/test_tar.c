/* test_tar.c - archives: what the reader takes and refuses, what the writer makes.
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "core/tar.h"

static struct interp__tar tar;
static uint8_t raw[64 << 10];
static size_t used;

static void sum(uint8_t *h)
{
    unsigned s = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        s += h[i];
    snprintf((char *)h + 148, 7, "%06o", s);
    h[155] = ' ';
}
/* A header at the end of raw; what is at `at` in it can be set by `field` before it is summed up. */
static uint8_t *header(const char *name, char type, uint64_t size)
{
    uint8_t *h = raw + used;
    memset(h, 0, 512);
    memcpy(h, name, strlen(name));
    memcpy(h + 100, "0000644\0000000000\0000000000", 23);
    snprintf((char *)h + 124, 12, "%011o", (unsigned)size);
    memcpy(h + 136, "00000000007", 11);
    h[156] = (uint8_t)type;
    memcpy(h + 257, "ustar\00000", 8);
    sum(h);
    used += 512;
    return h;
}
static void content(const char *text)
{
    memset(raw + used, 0, 512);
    memcpy(raw + used, text, strlen(text));
    used += 512;
}
static enum interp__tar_found next(const uint8_t **p, size_t *n)
{
    enum interp__tar_found f;
    do
        f = interp__tar_read(&tar, p, n);
    while (f == INTERP__TAR_DATA);
    return f;
}
/* The first entry of what is in raw, from its start. */
static const struct interp__tree_entry *first(void)
{
    const uint8_t *p = raw;
    size_t n = used;
    used = 0;
    interp__tar_init(&tar);
    return next(&p, &n) == INTERP__TAR_ENTRY ? &tar.entry : NULL;
}
static void refused(const char *reason)
{
    if (first())
        tap_fail(__FILE__, __LINE__, "taken: %s", tar.path);
    else
        CHECK_STR(tar.reason ? tar.reason : "none", reason);
}

TEST(numbers)
{
    const struct interp__tree_entry *e;
    uint8_t *h = header("f", '0', 0);
    memcpy(h + 124, "\200\0\0\0\0\0\0\2\0\0\0\0", 12);          /* 8 GiB */
    memcpy(h + 136, "\377\377\377\377\377\377\377\377\377\377\377\376", 12);
    memcpy(h + 100, " 0755 \0", 8);
    sum(h);
    REQUIRE((e = first()));
    CHECK_INT(e->size, UINT64_C(8) << 30);
    CHECK_INT(e->mtime_ns, -2000000000);
    CHECK_INT(e->mode, 0755);
    h = header("f", '0', 0);
    memcpy(h + 124, "77777777777\0", 12);
    memcpy(h + 136, "\200\0\0\0\177\377\377\377\377\377\377\377", 12);
    memcpy(h + 100, "7777777", 8);
    sum(h);
    REQUIRE((e = first()));
    CHECK_INT(e->size, (UINT64_C(1) << 33) - 1);
    CHECK(e->mtime_ns > 0 && e->mtime_ns <= INT64_MAX);            /* as late as there is */
    CHECK_INT(e->mode, 0777);
    static const char *const sizes[] = { "\377\377\377\377\377\377\377\377\377\377\377\376", "\200\0\0\0\200\0\0\0\0\0\0\0", "\200\0\0\1\0\0\0\0\0\0\0\0", "\201\0\0\0\0\0\0\0\0\0\0\1", "0000000008\0\0", "-1\0\0\0\0\0\0\0\0\0\0" };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        h = header("f", '0', 0);
        memcpy(h + 124, sizes[i], 12);
        sum(h);
        refused("tar-size");
    }
    h = header("f", '0', 0);
    h[0] = 'g';
    refused("tar-header");
    h = header("f", '5', 3);
    refused("tar-size");
}
TEST(names)
{
    const struct interp__tree_entry *e;
    char name[120];
    header("./a//b/./c", '0', 0);
    REQUIRE((e = first()));
    CHECK_STR(e->path, "a/b/c");
    header("dir/", '0', 0);                                            /* as before ustar */
    REQUIRE((e = first()));
    CHECK(e->type == WIRE_TYPE_DIR && !strcmp(e->path, "dir"));
    uint8_t *h = header("name", '0', 0);
    memcpy(h + 345, "pre/fix", 7);
    sum(h);
    REQUIRE((e = first()));
    CHECK_STR(e->path, "pre/fix/name");
    h = header("name", '0', 0);
    memcpy(h + 257, "ustar  ", 8);                                 /* GNU has other things there */
    memcpy(h + 345, "12345", 5);
    sum(h);
    REQUIRE((e = first()));
    CHECK_STR(e->path, "name");
    header("./", '5', 0);
    header("after", '0', 0);
    REQUIRE((e = first()));                                         /* the directory itself is no entry */
    CHECK_STR(e->path, "after");
    memset(name, 'n', 100);
    name[100] = 0;
    header(name, '0', 0);
    REQUIRE((e = first()));
    CHECK_INT(e->path_len, 100);
    for (const char *const *p = (const char *const[]){ "..", "../x", "a/..", "a/../x", "/x", "", "a\\..\\b", "C:\\b", "\\b", "./C:\\b", ".//\\b", ".", NULL }; *p; p++) {
        header(*p, '0', 0);
        refused("tar-name");
    }
    header("@LongLink", 'L', 300);
    memset(raw + used, 'q', 300);
    memset(raw + used + 300, 0, 212);
    used += 512;
    header("short", '0', 0);
    refused("tar-name");                                           /* a part of 300 bytes */
}
TEST(extended)
{
    const struct interp__tree_entry *e;
    header("x", 'x', 50);
    content("15 path=p/a\nth\n20 mtime=12.3456789\n15 comment=a=b\n");
    header("f", '0', 0);
    REQUIRE((e = first()));
    CHECK_STR(e->path, "p/a\nth");
    CHECK_INT(e->mtime_ns, 12345678900);
    header("x", 'x', 37);
    content("12 size=300\n25 linkpath=some/where\n\n");
    refused("tar-extension");
    header("x", 'x', 14);
    content("14 mtime=-1.5\n");
    header("x", '0', 0);
    REQUIRE((e = first()));
    CHECK_INT(e->mtime_ns, -1500000000);
    header("x", 'x', 39);
    content("39 mtime=999999999999999999999999.0000\n");
    header("x", '0', 0);
    REQUIRE((e = first()));
    CHECK(e->mtime_ns > 0);
    header("x", 'x', 22);
    content("22 size=9000000000000\n");
    header("f", '0', 5);
    REQUIRE((e = first()));
    CHECK_INT(e->size, 9000000000000);
    header("x", 'g', 16);
    content("16 comment=hash\n");
    header("f", '0', 0);
    REQUIRE((e = first()));
    CHECK_STR(e->path, "f");
    for (const char *const *p = (const char *const[]){ "9 path=ab\n", "11 path=ab", "99 path=ab\n", "path=ab\n", "0 path=ab\n", "11 pathaab\n", "-1 path=a\n", "3 \n", NULL }; *p; p++) {
        header("x", 'x', strlen(*p));
        content(*p);
        refused("tar-extension");
    }
    for (const char *const *p = (const char *const[]){ "22 GNU.sparse.major=1\n", "22 SCHILY.realsize=99\n", "22 SUN.holesdata= 0 9\n", NULL }; *p; p++) {
        header("x", 'x', strlen(*p));
        content(*p);
        header("f", '0', 0);
        refused("tar-sparse");
    }
    header("x", 'x', 14);
    content("14 path=../ab\n");
    header("f", '0', 0);
    refused("tar-name");
    header("x", 'x', 8);
    content("8 path=\n");
    refused("tar-name");
    header("x", 'x', 65537);
    refused("tar-extension");
    header("x", 'x', 11);
    content("11 path=ab\n");
    memset(raw + used, 0, 1024);
    used += 1024;
    refused("tar-extension");                                      /* for no entry */
    header("x", 'x', 11);
    content("11 path=ab\n");
    header("l", 'L', 3);
    content("cd");
    refused("tar-extension");                                      /* two names */
}
TEST(ends)
{
    const uint8_t *p = raw;
    size_t n;
    interp__tar_init(&tar);
    CHECK(interp__tar_finish(&tar) < 0);
    interp__tar_init(&tar);
    used = 0;
    header("f", '0', 4);
    content("text");
    n = used;
    CHECK(next(&p, &n) == INTERP__TAR_ENTRY && next(&p, &n) == INTERP__TAR_MORE && !n);
    struct interp__tar *copy = malloc(sizeof tar);
    memcpy(copy, &tar, sizeof tar);
    CHECK(interp__tar_finish(copy) < 0 && !strcmp(copy->reason, "tar-truncated"));
    free(copy);
    memset(raw, 0, sizeof raw);
    for (size_t i = 0, whole = 512 + INTERP__TAR_BEHIND_MAX; i < whole; i += 40000) {     /* zeros may follow its end, so many of them */
        p = raw;
        n = whole - i < 40000 ? whole - i : 40000;
        CHECK(interp__tar_read(&tar, &p, &n) == INTERP__TAR_MORE && !n && tar.ended);
    }
    CHECK(interp__tar_finish(&tar) == 0);
    p = raw;
    n = 1;
    CHECK(interp__tar_read(&tar, &p, &n) == INTERP__TAR_BAD && !strcmp(tar.reason, "tar-behind"));
    CHECK(interp__tar_finish(&tar) < 0);
    for (size_t at = 512; at < 2000; at += 7) {                    /* and nothing else */
        interp__tar_init(&tar);
        raw[at] = 'x';
        p = raw;
        n = 2000;
        CHECK(interp__tar_read(&tar, &p, &n) == INTERP__TAR_BAD && !strcmp(tar.reason, "tar-behind") && interp__tar_finish(&tar) < 0);
        raw[at] = 0;
    }
    used = 0;
}
/* Whatever can be an entry comes back as it was, in seconds. */
TEST(written_and_read)
{
    char path[WIRE_PATH_MAX + 1], target[WIRE_PATH_MAX + 1];
    for (unsigned i = 0; i < 4000; i++) {
        size_t n = 0, parts = 1 + i % 20, len = i % 7 ? 1 + i % 255 : 30 + i % 90;
        if (i % 100 == 1)
            parts = 16, len = INTERP__NAME_MAX;                    /* as long as there is */
        for (size_t k = 0; k < parts && k < INTERP__TREE_DEPTH && n + len + (n > 0) <= WIRE_PATH_MAX; k++) {
            if (n)
                path[n++] = '/';
            memset(path + n, 'a' + (int)k, len);
            n += len;
        }
        path[n] = 0;
        size_t nt = 1 + i % 300;
        memset(target, 't', nt);
        target[nt] = 0;
        static const uint8_t types[] = { WIRE_TYPE_FILE, WIRE_TYPE_DIR, WIRE_TYPE_LINK };
        static const int64_t times[] = { 0, 1, -1, 1700000000, INT64_C(1) << 33, 9223372036, -9223372036 };
        static const uint64_t sizes[] = { 0, 1, 511, (UINT64_C(1) << 33) - 1, UINT64_C(1) << 33, INT64_MAX };
        struct interp__tree_entry e = { .type = types[i % 3], .mode = i % 512, .mtime_ns = times[i % 7] * 1000000000, .path = path, .path_len = n };
        if (e.type == WIRE_TYPE_FILE)
            e.size = sizes[i % 6];
        if (e.type == WIRE_TYPE_LINK)
            e.target = target, e.target_len = nt;
        struct interp__buf out;
        interp__buf_init(&out, &interp__mem_default);
        interp__tar_head(&out, &e);
        const uint8_t *p = out.p;
        size_t left = out.len;
        CHECK(out.len % 512 == 0);
        interp__tar_init(&tar);
        REQUIRE(interp__tar_read(&tar, &p, &left) == INTERP__TAR_ENTRY && !left);
        const struct interp__tree_entry *g = &tar.entry;
        REQUIRE(g->type == e.type && g->mode == e.mode && g->size == e.size && g->mtime_ns == e.mtime_ns && g->path_len == n && !memcmp(g->path, path, n) && g->target_len == e.target_len &&
                (!e.target || !memcmp(g->target, target, nt)));
        interp__buf_free(&out);
    }
}
TEST(links_that_stay)
{
    static const struct { const char *path, *target; int stays; } cases[] = {
        { "/l", "../x", 0 }, { "//d//l", "../x", 1 }, { "//d//l", "../../x", 0 }, { "d/", "../x", 0 }, { "d/l", "..//..", 0 }, { "d/l", "..//./x", 1 },
        { "l", "x", 1 }, { "l", "a/b", 1 }, { "l", ".", 1 }, { "l", "./x", 1 }, { "l", "..", 0 }, { "l", "../x", 0 }, { "l", "/x", 0 }, { "l", "", 0 }, { "d/l", "..", 1 }, { "d/l", "../x", 1 },
        { "d/l", "../../x", 0 }, { "d/e/l", "../../x", 1 }, { "d/l", "./../x", 1 }, { "d/l", "a/../x", 0 }, { "d/l", "../a/..", 0 }, { "l", "a/..", 0 }, { "l", "...", 1 }, { "l", "a\\..\\..\\b", 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct interp__tree_entry e = { .path = cases[i].path, .path_len = strlen(cases[i].path), .target = cases[i].target, .target_len = strlen(cases[i].target) };
        if (interp__tree_stays(&e) != cases[i].stays)
            tap_fail(__FILE__, __LINE__, "%s -> %s: %d", cases[i].path, cases[i].target, !cases[i].stays);
    }
}
TEST(plain_paths)
{
    for (const char *const *p = (const char *const[]){ "a", "a/b", "...", "a/...", ".a", "..a/b", "a\nb", "a\\b", " ", NULL }; *p; p++)
        CHECK(interp__tree_plain(*p, strlen(*p)));
    for (const char *const *p = (const char *const[]){ "", "/", "/a", "a/", "//", "a//b", ".", "./a", "a/.", "a/./b", "..", "../a", "a/..", "a/../b", NULL }; *p; p++)
        CHECK(!interp__tree_plain(*p, strlen(*p)));
    CHECK(!interp__tree_plain("a\0b", 3) && !interp__tree_plain("\0", 1));
    char part[2 * INTERP__NAME_MAX + 2];
    memset(part, 'n', sizeof part);
    part[INTERP__NAME_MAX] = '/';
    CHECK(interp__tree_plain(part, 2 * INTERP__NAME_MAX + 1) && !interp__tree_plain(part, sizeof part));
    CHECK(interp__tree_above("a", 1) == 0 && interp__tree_above("a/b/c", 5) == 2);
}
TAP_MAIN()
