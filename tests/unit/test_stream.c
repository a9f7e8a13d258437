/* test_stream.c - head, tail and totals of an output stream (lib/output/stream.c), against a plain whole-buffer version.
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "base/json.h"
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
    interp__stream_init(&s, &interp__mem_default, head, tail);
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
            interp__stream_init(&s, &interp__mem_default, head, tail);
            interp__stream_feed(&s, all, n);
            REQUIRE(interp__stream_finish(&s, &k) == 0);
            CHECK(k.truncated && interp__utf8_valid(k.text, k.text_len) == k.text_len);
            CHECK(interp__utf8_valid(k.head, k.head_len) == k.head_len && interp__utf8_valid(k.tail, k.tail_len) == k.tail_len);
            CHECK(strstr(k.text, "left out") != NULL && k.text_len <= head + tail);
            interp__kept_free(&k, &interp__mem_default);
        }
}

TAP_MAIN()
