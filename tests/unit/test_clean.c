/* test_clean.c - output as a terminal shows it (lib/output/clean.c): sequences and what is left of them, the same however it is cut, bounds.
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "base/json.h"
#include "output/clean.h"

#define MEM (&interp__mem_default)
static struct interp__buf clean(const char *p, size_t n, size_t cut, uint64_t *seed)
{
    struct interp__buf out;
    struct interp__clean *c = interp__clean_new(MEM);
    interp__buf_init(&out, MEM);
    REQUIRE(c);
    for (size_t at = 0, k; at < n; at += k) {
        k = cut ? 1 + tap_random(seed) % cut : n;
        k = k < n - at ? k : n - at;
        char *exact = malloc(k);
        memcpy(exact, p + at, k);
        interp__clean_feed(c, exact, k, &out);
        free(exact);
    }
    interp__clean_finish(c, &out);
    CHECK(!interp__clean_pending(c));
    interp__clean_free(c);
    return out;
}

TEST(sequences)
{
    static const struct { const char *in, *out; } row[] = {
        { "", "" }, { "plain\n", "plain\n" }, { "no end", "no end" }, { "a\r\nb\r\n", "a\nb\n" }, { "a\n\n\nb", "a\n\n\nb" }, { "tab\tseparated\tvalues\n", "tab\tseparated\tvalues\n" },
        { "\x1b[31mred\x1b[0m \x1b[1;4;38;5;120mbold\x1b[m\n", "red bold\n" }, { "\x1b]0;title\aok\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "oklink\n" }, { "\x1bP1$r0m\x1b\\x", "x" },
        { "  0%\r  1%\r100%\n", "100%\n" }, { "long line\rshort\n", "shortline\n" }, { "long line\r\x1b[Kshort\n", "short\n" }, { "long line\r         \rshort\n", "short\n" }, { "kept  \n", "kept  \n" },
        { "abc\b\bX\n", "aXc\n" }, { "s\bse\bet\bt\n", "set\n" }, { "_\bx_\by\n", "xy\n" }, { "a\x1b[3Cb\n", "a   b\n" }, { "abcdef\x1b[3Dx\n", "abcxef\n" }, { "abcdef\x1b[2GX\n", "aXcdef\n" },
        { "one\ntwo\nthree\x1b[2A\rONE\x1b[2B\n", "ONE\ntwo\nthree\n" }, { "a: 1%\nb: 1%\n\x1b[2Aa: 9%\nb: 9%\n", "a: 9%\nb: 9%\n" }, { "x\n\x1b[A\x1b[2K\x1b[?25lred\n", "red\n" },
        { "junk\nmore\x1b[2J\x1b[Hfresh\n", "fresh\n" }, { "a\nb\nc\x1b[2;1H\x1b[Jz", "a\nz" }, { "12345\x1b[3G\x1b[1Kx", "  x45" }, { "12345\x1b[2G\x1b[2Px", "1x5" }, { "12345\x1b[2G\x1b[3X", "1   5" },
        { "a\x1b[s123\x1b[uX\n", "aX23\n" }, { "a\x1b" "7bc\x1b" "8X", "aXc" }, { "bell\a nul", "bell nul" }, { "\x1b[", "" }, { "\x1b", "" }, { "\x1b(Bx\x1b)0y", "xy" }, { "\x1b[12;", "" },
        { "\x1b]0;never ends\nnext\n", "\nnext\n" }, { "\x1b[999999999999999Cx", NULL }, { "\xF0\x9F\x8E\x89\rX\n", "X\n" }, { "\xC3\xA4\xC3\xB6\b\xC3\xBC\n", "\xC3\xA4\xC3\xBC\n" }, { "\xff\xC3(\xE2\x82\n", "\xff\xC3(\xE2\x82\n" },
        { "\xC2\x9b" "31mx\n", "31mx\n" }, { "\x1b[\x1b[31mx", "x" }, { "a\x1b[1\nb", "a\nb" }, { "up\x1b[5Aq", "upq" }, { "1\n2\n3\x1b[H0", "0\n2\n3" },
    };
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (size_t cut = 0; cut < 4; cut++) {
            struct interp__buf out = clean(row[i].in, strlen(row[i].in), cut, &seed);
            if (row[i].out && !CHECK(out.len == strlen(row[i].out) && (!out.len || !memcmp(out.p, row[i].out, out.len))))
                printf("# row %zu: %.*s\n", i, (int)out.len, out.p ? (char *)out.p : "");
            CHECK(out.len < 1000);
            interp__buf_free(&out);
        }
    struct interp__buf out = clean("a\0b", 3, 0, &seed);
    CHECK(out.len == 2 && !memcmp(out.p, "ab", 2));
    interp__buf_free(&out);
}

static size_t document(char *to, size_t max, uint64_t *seed)
{
    static const char *const unit[] = { "word", "\n", "\r", "\b", "\t", " ", "\x1b[A", "\x1b[B", "\x1b[2A", "\x1b[K", "\x1b[2K", "\x1b[J", "\x1b[1J", "\x1b[31m", "\x1b[5C", "\x1b[3D", "\x1b[H", "\x1b[7;9H", "\x1b[2J", "\x1b[10G",
                                        "\x1b[2P", "\x1b[4X", "\x1b[s", "\x1b[u", "\x1b]0;t\a", "\x1b]8;;u\x1b\\", "\x1b", "[", "\xC3\xA4", "\xE2\x82\xAC", "\xff", "\xC3", "100%\r", "line of text\n", "\x1b[?25h", "\x1b[999B" };
    size_t n = 0;
    for (;;) {
        const char *u = unit[tap_random(seed) % (sizeof unit / sizeof *unit)];
        size_t k = strlen(u);
        if (n + k > max)
            return n;
        memcpy(to + n, u, k);
        n += k;
    }
}
TEST(chunks_do_not_matter)
{
    uint64_t seed = 2;
    static char text[3000];
    for (int i = 0; i < 3000; i++) {
        size_t n = document(text, 20 + tap_random(&seed) % 2900, &seed);
        struct interp__buf whole = clean(text, n, 0, &seed);
        for (size_t cut = 1; cut <= 100; cut = cut * 6) {
            struct interp__buf out = clean(text, n, cut, &seed);
            CHECK(out.len == whole.len && (!out.len || !memcmp(out.p, whole.p, out.len)));
            interp__buf_free(&out);
        }
        CHECK(!whole.len || (!memchr(whole.p, 27, whole.len) && !memchr(whole.p, '\r', whole.len) && !memchr(whole.p, '\b', whole.len)));
        interp__buf_free(&whole);
    }
}

/* Text without any of it comes out as it went in, whatever its size; long lines and many lines are no exception. */
TEST(plain_text)
{
    uint64_t seed = 3;
    static char text[400000];
    for (int i = 0; i < 40; i++) {
        size_t n = tap_random(&seed) % sizeof text, line = i % 2 ? 200000 : 1 + tap_random(&seed) % 300;
        for (size_t k = 0; k < n; k++)
            text[k] = tap_random(&seed) % line ? (char)(' ' + tap_random(&seed) % 95) : '\n';
        struct interp__buf out = clean(text, n, i % 4 < 2 ? 0 : 9000, &seed);
        CHECK(out.len == n && (!n || !memcmp(out.p, text, n)));
        interp__buf_free(&out);
    }
}

/* What idle shows early is not taken back: the line comes again when it has changed. */
TEST(idle)
{
    struct interp__buf out;
    struct interp__clean *c = interp__clean_new(MEM);
    interp__buf_init(&out, MEM);
#define FEED(text) interp__clean_feed(c, text, strlen(text), &out)
#define IS(text) CHECK(out.len == strlen(text) && (!out.len || !memcmp(out.p, text, out.len)))
    FEED("first\nName: ");
    IS("");
    CHECK(interp__clean_pending(c));
    interp__clean_idle(c, &out);
    IS("first\nName: ");
    CHECK(!interp__clean_pending(c));
    FEED("bob\n");
    interp__clean_idle(c, &out);
    IS("first\nName: bob\n");
    FEED(" 10%");
    interp__clean_idle(c, &out);
    FEED("\r 20%");
    interp__clean_idle(c, &out);
    FEED("\r 30%\r100%\n");
    interp__clean_idle(c, &out);
    IS("first\nName: bob\n 10%\n 20%\n100%\n");
    FEED("shown");
    interp__clean_idle(c, &out);
    FEED("\x1b[2Jnew\n");
    interp__clean_finish(c, &out);
    IS("first\nName: bob\n 10%\n 20%\n100%\nshown\nnew\n");
    interp__clean_free(c);
    interp__buf_free(&out);
}

/* Hostile bytes cost bounded memory and time: what comes out is at most so much for what went in. */
TEST(bounds)
{
    static const char *const unit[] = { "\x1b[9999Gx\n", "\x1b[9999;9999Hx", "\x1b[2P", "\x1b[9999X\x1b[9999Cy", "\x1b[9999Bz", "\x1b]0;", "\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1m", "\n\x1b[64A", "\t", "\xC3\xA4" };
    static char text[1 << 20];
    uint64_t seed = 4;
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        size_t n = 0, k = strlen(unit[i]);
        for (; n + k <= sizeof text; n += k)
            memcpy(text + n, unit[i], k);
        uint64_t began = tap_now_ns();
        struct interp__buf out = clean(text, n, 0, &seed);
        CHECK(out.len <= 40 * n);
        printf("# row %zu: %.0f MB/s\n", i, (double)n * 1e3 / (double)(tap_now_ns() - began + 1));
        interp__buf_free(&out);
    }
}

TAP_MAIN()
