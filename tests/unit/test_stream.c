/* test_stream.c - head, tail and totals of an output stream (lib/output/stream.c), against a plain whole-buffer version.
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "base/json.h"
#include "output/jsoncut.h"
#include "output/stream.h"

static uint64_t lines_of(const char *p, size_t n)
{
    uint64_t c = 0;
    for (size_t i = 0; i < n; i++)
        c += p[i] == '\n';
    return c + (n && p[n - 1] != '\n');
}

/* The properties, whatever the chunks were. */
static void check(const char *all, size_t n, size_t head, size_t tail, uint64_t *seed)
{
    struct interp__stream s;
    struct interp__kept k;
    interp__stream_init(&s, &interp__mem_default, head, tail, 0);
    for (size_t at = 0; at < n;) {
        size_t part = 1 + tap_random(seed) % 97;
        if (part > n - at)
            part = n - at;
        interp__stream_feed(&s, all + at, part);
        at += part;
    }
    REQUIRE(interp__stream_finish(&s, &k) == 0);
    CHECK(k.total == n && k.lines == lines_of(all, n));
    CHECK(k.truncated == (n > head + tail));
    if (!k.truncated) {
        CHECK(k.text_len == n && !memcmp(k.text, all, n) && k.head_len == n);
    } else {
        CHECK(k.head_len <= head && k.head_len + 3 >= head && !memcmp(k.head, all, k.head_len));
        CHECK(k.tail_len <= tail && k.tail_len + 3 >= tail && !memcmp(k.tail, all + n - k.tail_len, k.tail_len));
        CHECK(k.text_len <= head + tail);
    }
    CHECK(k.text[k.text_len] == 0);
    interp__kept_free(&k, &interp__mem_default);
}

TEST(sizes_and_chunks)
{
    uint64_t seed = 7;
    static char all[6000];
    for (int i = 0; i < 3000; i++) {
        size_t n = tap_random(&seed) % sizeof all, head = 1 + tap_random(&seed) % 2000, tail = 1 + tap_random(&seed) % 2000;
        for (size_t k = 0; k < n; k++)
            all[k] = tap_random(&seed) % 20 ? (char)('a' + k % 26) : '\n';
        check(all, n, head, tail, &seed);
    }
}

TEST(edges)
{
    uint64_t seed = 9;
    static const char all[] = "0123456789";
    for (size_t n = 0; n <= 10; n++)
        for (size_t head = 1; head <= 6; head++)
            for (size_t tail = 1; tail <= 6; tail++)
                check(all, n, head, tail, &seed);
}

TEST(characters_stay_whole)
{
    static char all[4000];
    size_t n = 0;
    while (n + 4 < sizeof all) {
        memcpy(all + n, "\xF0\x9F\x8E\x89", 4);
        n += 4;
    }
    for (size_t head = 200; head < 208; head++)
        for (size_t tail = 200; tail < 208; tail++) {
            struct interp__stream s;
            struct interp__kept k;
            interp__stream_init(&s, &interp__mem_default, head, tail, 0);
            interp__stream_feed(&s, all, n);
            REQUIRE(interp__stream_finish(&s, &k) == 0);
            CHECK(k.truncated && interp__utf8_valid(k.text, k.text_len) == k.text_len);
            CHECK(interp__utf8_valid(k.head, k.head_len) == k.head_len && interp__utf8_valid(k.tail, k.tail_len) == k.tail_len);
            CHECK(strstr(k.text, "left out") != NULL && k.text_len <= head + tail);
            interp__kept_free(&k, &interp__mem_default);
        }
}

/* Documents of words, labels, escapes and wide characters, cut anywhere: each unit is there whole or not at all, and the marker's numbers are exact. */
static size_t document(char *to, size_t max, uint64_t *seed)
{
    static const char *const unit[] = { "word ", "\n", "[REDACTED:github-token]", "[REDACTED:K_1:partial]", "\x1b[1;31m", "\xF0\x9F\x8E\x89", "\xC3\xA4", "[", "[REDACTED", "x]", "12345" };
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
static int whole_units(const char *p, size_t n)   /* no byte is left of a label or an escape that began or ended elsewhere */
{
    static const char begin[] = "[REDACTED:";
    if (interp__utf8_valid(p, n) != n)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\x1b' && (i + 7 > n || memcmp(p + i, "\x1b[1;31m", 7)))
            return 0;
        if (p[i] == '[' && i + sizeof begin - 1 <= n && !memcmp(p + i, begin, sizeof begin - 1) && !memchr(p + i, ']', n - i))
            return 0;
    }
    return 1;
}
static int has_part_of_label(const char *p, size_t n)   /* as the start of a text */
{
    return (n > 7 && !memcmp(p, "github-", 7)) || (n > 8 && !memcmp(p, "partial]", 8)) || (n > 6 && !memcmp(p, "token]", 6)) || (n > 4 && !memcmp(p, ";31m", 4)) || (n > 3 && !memcmp(p, "31m", 3));
}
TEST(units_stay_whole)
{
    uint64_t seed = 11;
    static char all[3000];
    for (int i = 0; i < 4000; i++) {
        size_t n = document(all, 200 + tap_random(&seed) % 2700, &seed), head = 120 + tap_random(&seed) % 300, tail = 1 + tap_random(&seed) % 300;
        struct interp__stream s;
        struct interp__kept k;
        interp__stream_init(&s, &interp__mem_default, head, tail, 0);
        for (size_t at = 0, part; at < n; at += part) {
            part = 1 + tap_random(&seed) % 61;
            part = part < n - at ? part : n - at;
            interp__stream_feed(&s, all + at, part);
        }
        REQUIRE(interp__stream_finish(&s, &k) == 0);
        CHECK(k.total == n && k.lines == lines_of(all, n) && k.truncated == (n > head + tail));
        CHECK(whole_units(k.text, k.text_len) && whole_units(k.head, k.head_len));
        if (k.truncated) {
            CHECK(k.text_len <= head + tail && k.head_len + 64 > head && k.tail_len + 64 > tail);
            CHECK(whole_units(k.tail, k.tail_len) && !has_part_of_label(k.tail, k.tail_len));
            unsigned long long bytes, ends;
            const char *mark = strstr(k.text, "\n[... ");
            if (CHECK(mark && sscanf(mark, "\n[... %llu bytes, %llu lines left out ...]\n", &bytes, &ends) == 2)) {
                const char *rest = strstr(mark, "...]\n") + 5;
                size_t shown = (size_t)(mark - k.text) + k.text_len - (size_t)(rest - k.text);
                CHECK(bytes == n - shown);
                uint64_t seen = 0, total = 0;
                for (const char *p = k.text; p < k.text + k.text_len; p++)
                    seen += *p == '\n';
                for (size_t j = 0; j < n; j++)
                    total += all[j] == '\n';
                CHECK(ends == total - (seen - 2));   /* two are the marker's own */
            }
        }
        interp__kept_free(&k, &interp__mem_default);
    }
}

TEST(tokens)
{
    static const struct { const char *text; uint64_t least, most; } row[] = {
        { "", 0, 0 }, { "a", 1, 1 }, { "hello world", 2, 2 }, { "The quick brown fox jumps over the lazy dog.", 9, 12 }, { "123456789", 3, 3 }, { "        ", 1, 1 },
        { "def f(x):\n    return x + 1\n", 12, 18 }, { "\xE6\xBC\xA2\xE5\xAD\x97", 2, 2 }, { "\xff\xfe", 4, 4 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t n = interp__tokens(row[i].text, strlen(row[i].text));
        if (!CHECK(n >= row[i].least && n <= row[i].most))
            printf("# %s: %llu\n", row[i].text, (unsigned long long)n);
    }
    uint64_t seed = 3;
    static char all[20000];
    for (int i = 0; i < 2000; i++) {
        size_t n = document(all, 50 + tap_random(&seed) % 15000, &seed);
        uint64_t budget = 64 + tap_random(&seed) % 500, have = interp__tokens(all, n);
        CHECK(have * INTERP__TOKEN_BYTES >= n);
        size_t h = interp__tokens_head(all, n, budget), t = interp__tokens_tail(all, n, budget);
        CHECK(interp__tokens(all, h) <= budget && interp__tokens(all + n - t, t) <= budget);
        CHECK(have > budget || (h == n && t == n));
        struct interp__stream s;
        struct interp__kept k;
        interp__stream_init(&s, &interp__mem_default, (size_t)budget * 3 / 4 * INTERP__TOKEN_BYTES, (size_t)budget / 4 * INTERP__TOKEN_BYTES, budget);
        interp__stream_feed(&s, all, n);
        REQUIRE(interp__stream_finish(&s, &k) == 0);
        CHECK(k.truncated == (have > budget) && interp__tokens(k.text, k.text_len) <= budget && whole_units(k.text, k.text_len));
        if (k.truncated)   /* and most of it is used */
            CHECK(interp__tokens(k.text, k.text_len) * 10 >= budget * (budget < 200 ? 3 : 6));
        interp__kept_free(&k, &interp__mem_default);
    }
}

/* A random JSON text; depth bounds it. */
static size_t json_text(char *to, size_t max, int depth, uint64_t *seed)
{
    static const char *const leaf[] = { "1", "-2.5e3", "true", "null", "\"a\"", "\"\\u00e4\\n\\\"\"", "\"\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\"", "\"\\ud83d\\ude00\\ud83d\\ude00 some more of this text here\"", "[]", "{}" };
    uint32_t kind = (uint32_t)(tap_random(seed) % (depth ? 4 : 2));
    size_t n = 0;
    if (kind < 2 || max < 64) {
        const char *l = leaf[tap_random(seed) % (sizeof leaf / sizeof *leaf)];
        memcpy(to, l, strlen(l));
        return strlen(l);
    }
    to[n++] = kind == 2 ? '[' : '{';
    for (uint32_t i = 0, count = (uint32_t)(tap_random(seed) % 9); i < count && n + 128 < max; i++) {
        if (i)
            to[n++] = ',';
        if (kind == 3)
            n += (size_t)sprintf(to + n, "\"k%u\" : ", i);
        n += json_text(to + n, max - n - 64, depth - 1, seed);
    }
    to[n++] = kind == 2 ? ']' : '}';
    return n;
}
TEST(json_stays_json)
{
    uint64_t seed = 5;
    static char text[20000];
    int cut = 0;
    for (int i = 0; i < 20000; i++) {
        size_t n = json_text(text, sizeof text, 1 + i % 7, &seed), cap = INTERP__JSON_CUT_MIN + tap_random(&seed) % 400;
        struct interp__buf out;
        struct interp__json j;
        interp__buf_init(&out, &interp__mem_default);
        REQUIRE(interp__json_cut(&out, text, n, cap) == 0);
        CHECK(out.len <= cap);
        if (!CHECK(interp__json_parse(&j, &interp__mem_default, out.p, out.len, NULL) == INTERP_OK))
            printf("# %.*s\n# %.*s\n", (int)n, text, (int)out.len, (char *)out.p);
        interp__json_free(&j);
        if (n < out.len + 20)
            cut--;
        cut++;
        interp__buf_free(&out);
    }
    CHECK(cut > 500);
}
/* Each escape begins in the one before: a cut stays near where it was asked for. */
TEST(cut_in_a_chain)
{
    static char p[4096];
    for (size_t i = 0; i < sizeof p; i++)
        p[i] = i % 2 ? '(' : 27;
    for (size_t at = 0; at <= sizeof p; at++) {
        size_t before = interp__cut_before(p, sizeof p, at), after = interp__cut_after(p, sizeof p, at);
        CHECK(before <= at && at - before <= INTERP__CUT_LOOK && after >= at && after - at <= INTERP__CUT_LOOK);
    }
}
TEST(json_cut_words)
{
    static const struct { const char *in; size_t cap; const char *out; } row[] = {
        { "[1,2,3]", 64, "[1,2,3]" },
        { " { \"a\" : [ 1 , 2 ] } ", 64, "{\"a\":[1,2]}" },
        { "[1,2,", 64, NULL }, { "", 64, NULL }, { "[1 2]", 64, NULL }, { "{\"a\"}", 64, NULL }, { "[01]", 64, NULL }, { "[1]]", 64, NULL }, { "[1}", 64, NULL }, { "\"\n\"", 64, NULL }, { "[1,]", 64, NULL },
        { "{,}", 64, NULL }, { "[\"\\u12\"]", 64, NULL }, { "nul", 64, NULL },
        { "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31]", 64, "[1,2,3,4,5,6,7,8,9,10,11,\"... 20 more\"]" },
        { "\"0123456789012345678901234567890123456789012345678901234567890123456789\"", 64, "\"01234567890123456789012345678901234567890123456789012345678...\"" },
        { "{\"rows\":[1111111111,2222222222,3333333333,4444444444,5555555555,6666666666,7777777777,8888888888,9999999999,1111111111,2222222222,3333333333,4444444444],\"schema\":\"small\"}", 128,
          "{\"rows\":[1111111111,\"... 12 more\"],\"schema\":\"small\"}" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct interp__buf out;
        interp__buf_init(&out, &interp__mem_default);
        int rc = interp__json_cut(&out, row[i].in, strlen(row[i].in), row[i].cap);
        if (!CHECK(row[i].out ? rc == 0 && out.len == strlen(row[i].out) && !memcmp(out.p, row[i].out, out.len) : rc == -1 && out.len == 0))
            printf("# %s: %d %.*s\n", row[i].in, rc, (int)out.len, out.p ? (char *)out.p : "");
        interp__buf_free(&out);
    }
    /* nested as deep as one likes: no recursion, and an end */
    static char deep[20000];
    for (int levels = 1; levels <= 8192; levels *= 2) {
        memset(deep, '[', (size_t)levels);
        memset(deep + levels, ']', (size_t)levels);
        struct interp__buf out;
        interp__buf_init(&out, &interp__mem_default);
        CHECK((interp__json_cut(&out, deep, 2 * (size_t)levels, 4096) == 0) == (levels <= 4096));
        interp__buf_free(&out);
    }
}

TAP_MAIN()
