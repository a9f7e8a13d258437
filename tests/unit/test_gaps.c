/* test_gaps.c - marks of what a driver left out (lib/output/gaps), alone, beside each other and cut in pieces
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "output/gaps.h"
#include <string.h>

/* The text with each gap as one '|'. */
static const char *pieces(const char *p, size_t n)
{
    static char out[65536];
    size_t k = 0, at, to;
    while (interp__gap_find(p, n, &at, &to)) {
        REQUIRE(at < to && to <= n && k + at + 1 < sizeof out);
        memcpy(out + k, p, at);
        k += at;
        out[k++] = '|';
        p += to, n -= to;
    }
    memcpy(out + k, p, n);
    out[k + n] = 0;
    return out;
}

TEST(marks)
{
    static const struct { const char *in, *want; } row[] = {
        { "", "" }, { "nothing ... here", "nothing ... here" }, { "... [", "... [" }, { "... [12 more", "... [12 more" }, { "a ... [x more] b", "a ... [x more] b" },
        { "head\n... [123 characters left out] ...\ntail", "head|tail" },
        { "head\\n... [123 characters left out] ...\\ntail", "head|tail" }, { "head\\\\n... [123 characters left out] ...\\\\ntail", "head|tail" },   /* in JSON, and in JSON in JSON */
        { "'head'... [9 more]", "'head|" }, { "\\\"head\\\"... [9 more], 2", "\\\"head|, 2" },
        { "'head'... 134464 more characters", "'head|" }, { "'head'... 1 more character]", "'head|" }, { "'head'... 1 more character, 2]", "'head|, 2]" },
        { "a... [1 more]b... [22 more]c", "a|b|c" }, { "a... [99999999999999999999 more]b", "a|b" }, { "a... [999999999999999999999 more]b", "a... [999999999999999999999 more]b" },
        { "... ... [1 more]", "|" }, { "....... [1 more]", ".|" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        CHECK_STR(pieces(row[i].in, strlen(row[i].in)), row[i].want);
}

/* A text cut once, and the result cut again at any place in or beside the first mark: no byte of a mark stands between a piece and its gap. */
TEST(marks_cut_again)
{
    static const char *const first[] = { "\n... [17 characters left out] ...\n", "'... 17 more characters", "'... [17 more]" };
    static const char again[] = "\n... [1000 characters left out] ...\n";
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        for (size_t k = 0; k <= strlen(first[i]); k++) {
            char text[256];
            snprintf(text, sizeof text, "head%.*s%stail", (int)k, first[i], again);
            const char *got = pieces(text, strlen(text));
            if (strncmp(got, "head|", 5) || strcmp(got + strlen(got) - 5, "|tail"))
                FAIL("%s gives %s", text, got);
            snprintf(text, sizeof text, "head%s%stail", again, first[i] + k);
            got = pieces(text, strlen(text));
            if (strncmp(got, "head|", 5) || strcmp(got + strlen(got) - 5, "|tail"))
                FAIL("%s gives %s", text, got);
        }
}

/* Hostile text costs no more than its length. */
TEST(many)
{
    static char text[1 << 20];
    static const char *const fill[] = { "... ", "\n", "\\", "... [1", "... [1 more]", "'\\n" };
    static const char *const name[] = { "1 MiB of dots", "of line breaks", "of backslashes", "of marks begun", "of marks", "of quotes" };
    for (size_t i = 0; i < sizeof fill / sizeof *fill; i++) {
        size_t k = strlen(fill[i]), n = 0, gaps = 0, at, to;
        while (n + k <= sizeof text)
            memcpy(text + n, fill[i], k), n += k;
        uint64_t t = tap_now_ns();
        for (const char *p = text; interp__gap_find(p, n, &at, &to); p += to, n -= to)
            gaps++;
        MEASURE(name[i], (double)(tap_now_ns() - t) / 1e6, "ms");
        CHECK(gaps == 0 || i == 4);
    }
}

TAP_MAIN()
