/* test_json.c - JSON in and out under bounds, UTF-8, base64 (lib/base/json.c, jsontext.c).
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "base/error.h"
#include "base/json.h"
#include <pthread.h>

static int parses(const char *text, size_t n)
{
    struct interp__json j;
    interp_error *e = NULL;
    interp_status st = interp__json_parse(&j, &interp__mem_default, text, n, &e);
    CHECK((st == INTERP_OK) == (e == NULL));
    interp_error_free(e);
    interp__json_free(&j);
    return st == INTERP_OK;
}

TEST(accepted)
{
    static const char *const good[] = { "{}", "[]", "null", "true", " 1 ", "-0", "1e5", "\"x\"", "{\"a\":[1,{\"b\":null}]}", "9007199254740992", "\"\\u00e9\\ud83c\\udf89\"", "{\"\":1}" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(parses(good[i], strlen(good[i])));
}

TEST(refused)
{
    static const char *const bad[] = { "", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "1 2", "{} x", "9007199254740993", "-9007199254740993", "nul", "\"\xff\"", "\"\xed\xa0\x80\"", "'x'", "{a:1}", "[1}" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parses(bad[i], strlen(bad[i])))
            tap_fail(__FILE__, __LINE__, "taken: %s", bad[i]);
}

static void *deep(void *arg)
{
    size_t n = 1000000;
    char *p = malloc(n);
    memset(p, *(char *)arg, n);
    CHECK(!parses(p, n));
    for (size_t i = 0; *(char *)arg == '[' && i < n; i += 5)
        memcpy(p + i, "{\"a\":", n - i < 5 ? n - i : 5);
    CHECK(!parses(p, n));
    free(p);
    return NULL;
}
TEST(depth_on_a_small_stack)
{
    pthread_attr_t a;
    pthread_t t;
    char c = '[';
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 65536);
    REQUIRE(pthread_create(&t, &a, deep, &c) == 0);
    pthread_join(t, NULL);
}

TEST(too_many)
{
    size_t n = 400000;
    char *p = malloc(n);
    for (size_t i = 0; i < n; i += 2)
        memcpy(p + i, i ? "1," : "[1", 2);
    CHECK(!parses(p, n));
    free(p);
}

/* Many large objects cost no more than one: what a guest sends must not hold the host up. */
TEST(many_members)
{
    char *p = malloc(1 << 20);
    for (int objects = 1; objects <= 15; objects += 14) {
        size_t n = 0;
        for (int o = 0; o < objects; o++)
            for (int i = 0; i < 1024; i++)
                n += (size_t)sprintf(p + n, "%s\"%04x\":0%s", i ? "," : o ? ",{" : "[{", (unsigned)i, i == 1023 ? "}" : "");
        p[n++] = ']';
        uint64_t t = tap_now_ns();
        CHECK(parses(p, n) == (objects == 1));
        MEASURE("members", (double)(tap_now_ns() - t) / 1e6, "ms");
    }
    free(p);
}

TEST(written_as_read)
{
    static const char *const same[] = { "{\"a\":[1,2,{\"b\":\"x\\ny\"}],\"c\":null,\"d\":true,\"e\":1.50}", "[[],{},[{}]]", "\"\"", "[\"\\\"\\\\\"]", "{\"a\":{\"b\":{\"c\":[]}},\"d\":1}" };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct interp__json j;
        struct interp__buf b;
        interp__buf_init(&b, &interp__mem_default);
        REQUIRE(interp__json_parse(&j, &interp__mem_default, same[i], strlen(same[i]), NULL) == INTERP_OK);
        interp__json_write(&b, &j, 0);
        CHECK(b.len == strlen(same[i]) && !memcmp(b.p, same[i], b.len));
        interp__buf_free(&b);
        interp__json_free(&j);
    }
}

TEST(members)
{
    struct interp__json j;
    const char *text = "{\"a\":{\"x\":1,\"b\":2},\"b\":3}";
    REQUIRE(interp__json_parse(&j, &interp__mem_default, text, strlen(text), NULL) == INTERP_OK);
    uint32_t b = interp__json_member(&j, 0, "b"), a = interp__json_member(&j, 0, "a");
    CHECK(b && interp__json_at(&j, b)->i == 3);
    CHECK(a && interp__json_at(&j, interp__json_member(&j, a, "b"))->i == 2);
    CHECK(interp__json_member(&j, 0, "x") == 0);
    interp__json_free(&j);
}

TEST(any_bytes_as_text)
{
    uint64_t seed = 3;
    for (int i = 0; i < 5000; i++) {
        char raw[64];
        size_t n = tap_random(&seed) % sizeof raw;
        for (size_t k = 0; k < n; k++)
            raw[k] = (char)tap_random(&seed);
        struct interp__buf b;
        interp__buf_init(&b, &interp__mem_default);
        interp__json_text(&b, raw, n);
        CHECK(parses((char *)b.p, b.len));
        interp__buf_free(&b);
    }
}

TEST(base64)
{
    uint64_t seed = 4;
    for (size_t n = 0; n < 200; n++) {
        uint8_t raw[200];
        for (size_t k = 0; k < n; k++)
            raw[k] = (uint8_t)tap_random(&seed);
        struct interp__buf b, back;
        interp__buf_init(&b, &interp__mem_default);
        interp__buf_init(&back, &interp__mem_default);
        interp__json_base64(&b, raw, n);
        CHECK(interp__base64_decode(&back, (char *)b.p + 1, b.len - 2) == 0);
        CHECK(back.len == n && (!n || !memcmp(back.p, raw, n)));
        interp__buf_free(&b);
        interp__buf_free(&back);
    }
    static const char *const bad[] = { "a", "ab=", "====", "a===", "ab=c", "ab!=", "=abc" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct interp__buf back;
        interp__buf_init(&back, &interp__mem_default);
        CHECK(interp__base64_decode(&back, bad[i], strlen(bad[i])) == -1);
        interp__buf_free(&back);
    }
}

TEST(utf8)
{
    static const struct { const char *p; size_t n, valid, whole; } row[] = {
        { "abc", 3, 3, 3 }, { "\xc3\xa9", 2, 2, 2 }, { "a\xc3", 2, 1, 1 }, { "\xc0\xaf", 2, 0, 2 }, { "\xe2\x9c", 2, 0, 0 }, { "x\xf0\x9f\x8e", 4, 1, 1 },
        { "\xed\xa0\x80", 3, 0, 3 }, { "\xf4\x90\x80\x80", 4, 0, 4 }, { "\x80", 1, 0, 1 }, { "", 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        CHECK(interp__utf8_valid(row[i].p, row[i].n) == row[i].valid);
        CHECK(interp__utf8_whole(row[i].p, row[i].n) == row[i].whole);
    }
}

TAP_MAIN()
