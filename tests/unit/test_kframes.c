/* test_kframes.c - what the host makes of a kernel's control bytes (lib/core/kframes.c): any chunks, hostile lengths, forged members.
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "core/core.h"

static size_t put(uint8_t *at, uint8_t type, uint8_t status, const char *json, const char *bin, size_t bin_len)
{
    struct kframe f = { .json_len = (uint32_t)strlen(json), .bin_len = (uint32_t)bin_len, .type = type, .status = status };
    interp__kframe_put(at, &f);
    memcpy(at + KFRAME_HEADER, json, f.json_len);
    memcpy(at + KFRAME_HEADER + f.json_len, bin, bin_len);
    return KFRAME_HEADER + f.json_len + bin_len;
}

static int feed(const uint8_t *p, size_t n, size_t step, interp_result **out)
{
    struct interp__kframes k;
    interp_result *r = interp__result_new(&interp__mem_default);
    int rc = 0;
    interp__kframes_init(&k, &interp__mem_default, r);
    for (size_t at = 0; at < n && !rc; at += step)
        rc = interp__kframes_feed(&k, p + at, n - at < step ? n - at : step);
    interp__kframes_free(&k);
    if (out)
        *out = r;
    else
        interp_result_free(r);
    return rc;
}

TEST(value_displays_error)
{
    uint8_t b[2048];
    size_t n = put(b, 'd', 0, "{\"kind\":\"display\",\"mime\":[[\"image/png\",3]]}", "PNG", 3);
    n += put(b + n, 'd', 0, "{\"kind\":\"result\",\"mime\":[[\"text/plain\",2],[\"text/html\",4]],\"dropped\":[[\"image/png\",9]]}", "42<b/>", 6);
    n += put(b + n, 'f', 2, "{\"exit_code\":1,\"error\":{\"type\":\"E\",\"message\":\"m\",\"line\":3,\"frames\":[],\"traceback\":\"T\",\"evil\":1}}", "", 0);
    for (size_t step = 1; step < 60; step++) {
        interp_result *r;
        REQUIRE(feed(b, n, step, &r) == 0);
        size_t len;
        CHECK(!strcmp(interp_result_value(r, &len), "42") && len == 2);
        CHECK(interp_result_part_count(r) == 3 && interp_result_error_line(r) == 3 && r->exit_code == 1);
        CHECK(!strcmp(interp_result_error_type(r, NULL), "E") && !strcmp(interp_result_error_traceback(r, NULL), "T"));
        const char *j = interp_result_json(r, NULL);
        CHECK(strstr(j, "\"rich\":[{\"mime\":{\"image/png\":\"UE5H\"}}]") != NULL);
        CHECK(strstr(j, "\"dropped\":[[\"image/png\",9]]") != NULL && strstr(j, "evil") == NULL);
        interp_result_free(r);
    }
}

static const char *json_after(const uint8_t *b, size_t n, interp_result **r)
{
    return feed(b, n, 13, r) ? NULL : interp_result_json(*r, NULL);
}

TEST(displays_replaced_and_cleared)
{
    uint8_t b[2048];
    interp_result *r;
    size_t n = put(b, 'd', 0, "{\"kind\":\"display\",\"mime\":[[\"text/plain\",1]],\"dropped\":[[\"image/png\",9]]}", "a", 1);
    n += put(b + n, 'd', 0, "{\"kind\":\"display\",\"mime\":[[\"text/plain\",1]],\"dropped\":[[\"image/gif\",7]]}", "b", 1);
    n += put(b + n, 'd', 0, "{\"kind\":\"display\",\"mime\":[[\"text/plain\",3]],\"replaces\":1}", "new", 3);
    size_t replaced = n;
    const char *j = json_after(b, n, &r);
    REQUIRE(j != NULL);
    CHECK(strstr(j, "\"rich\":[{\"mime\":{\"text/plain\":\"new\"}},{\"mime\":{\"text/plain\":\"b\"},\"dropped\":[[\"image/gif\",7]]}]") != NULL);
    CHECK(interp_result_part_count(r) == 2);
    interp_result_free(r);
    n += put(b + n, 'd', 0, "{\"kind\":\"result\",\"mime\":[[\"text/plain\",1]]}", "v", 1);
    n += put(b + n, 'd', 0, "{\"kind\":\"display\",\"mime\":[[\"text/plain\",1]],\"replaces\":2}", "B", 1);
    j = json_after(b, n, &r);
    REQUIRE(j != NULL);
    CHECK(strstr(j, "\"rich\":[{\"mime\":{\"text/plain\":\"new\"}},{\"mime\":{\"text/plain\":\"B\"}}]") != NULL && !strcmp(interp_result_value(r, NULL), "v"));
    interp_result_free(r);
    n += put(b + n, 'd', 0, "{\"kind\":\"clear\",\"mime\":[]}", "", 0);
    n += put(b + n, 'd', 0, "{\"kind\":\"display\",\"mime\":[[\"text/plain\",1]]}", "c", 1);
    j = json_after(b, n, &r);
    REQUIRE(j != NULL);
    CHECK(strstr(j, "\"rich\":[{\"mime\":{\"text/plain\":\"c\"}}]") != NULL && !strcmp(interp_result_value(r, NULL), "v"));
    CHECK(strstr(j, "dropped\":[[") == NULL && interp_result_part_count(r) == 2);
    interp_result_free(r);
    static const char *const bad[] = { "0", "3", "-1", "9007199254740993", "\"1\"", "null" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {   /* what is not there can't be replaced */
        char json[128];
        snprintf(json, sizeof json, "{\"kind\":\"display\",\"mime\":[[\"text/plain\",1]],\"replaces\":%s}", bad[i]);
        CHECK(feed(b, replaced + put(b + replaced, 'd', 0, json, "x", 1), 17, NULL) == -1);
    }
    CHECK(feed(b, replaced + put(b + replaced, 'd', 0, "{\"kind\":\"result\",\"mime\":[[\"text/plain\",1]],\"replaces\":1}", "x", 1), 17, NULL) == -1);
}

TEST(what_is_replaced_is_free_again)
{
    static char big[1 << 20];
    memset(big, 'x', sizeof big);
    struct interp__kframes k;
    interp_result *r = interp__result_new(&interp__mem_default);
    interp__kframes_init(&k, &interp__mem_default, r);
    uint8_t *b = malloc(sizeof big + 256);
    char json[128];
    for (int i = 0; i < 200; i++) {   /* 200 MiB, one after the other in the same place */
        snprintf(json, sizeof json, "{\"kind\":\"display\",\"mime\":[[\"text/html\",%zu]]%s}", sizeof big, i ? ",\"replaces\":1" : "");
        REQUIRE(interp__kframes_feed(&k, b, put(b, 'd', 0, json, big, sizeof big)) == 0);
        CHECK(interp_result_part_count(r) == 1);
    }
    free(b);
    interp__kframes_free(&k);
    interp_result_free(r);
}

TEST(forged)
{
    static const struct { uint8_t type; const char *json, *bin; } row[] = {
        { 'd', "{\"kind\":\"result\",\"mime\":[[\"text/plain\",-3]]}", "abc" }, { 'd', "{\"kind\":\"result\",\"mime\":[[\"text/plain\",4]]}", "abc" },
        { 'd', "{\"kind\":\"result\",\"mime\":[[\"text/plain\",2]]}", "abc" }, { 'd', "{\"kind\":\"result\",\"mime\":[[3,3]]}", "abc" },
        { 'd', "{\"kind\":\"result\",\"mime\":\"x\"}", "" }, { 'd', "{}", "" }, { 'd', "[]", "" }, { 'd', "", "" }, { 'f', "nonsense", "" }, { 'f', "[1]", "" }, { 'z', "{}", "" },
        { 'd', "{\"mime\":[[\"text/plain\",9007199254740992]]}", "abc" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t b[512];
        CHECK(feed(b, put(b, row[i].type, 1, row[i].json, row[i].bin, strlen(row[i].bin)), 7, NULL) == -1);
    }
}

TEST(two_finals_two_values)
{
    uint8_t b[512];
    size_t n = put(b, 'f', 1, "{\"exit_code\":0}", "", 0);
    n += put(b + n, 'f', 1, "{\"exit_code\":0}", "", 0);
    CHECK(feed(b, n, 512, NULL) == -1);
    n = put(b, 'd', 0, "{\"kind\":\"result\",\"mime\":[[\"text/plain\",1]]}", "1", 1);
    n += put(b + n, 'd', 0, "{\"kind\":\"result\",\"mime\":[[\"text/plain\",1]]}", "1", 1);
    CHECK(feed(b, n, 512, NULL) == -1);
}

TEST(lengths_over_the_bounds)
{
    uint8_t b[KFRAME_HEADER] = { 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 'd' };
    CHECK(feed(b, sizeof b, 16, NULL) == -1);
    uint8_t c[KFRAME_HEADER] = { 2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 'd' };
    CHECK(feed(c, sizeof c, 16, NULL) == -1);
}

TEST(exit_codes)
{
    static const struct { const char *json; int32_t want; } row[] = {
        { "{\"exit_code\":3}", 3 }, { "{\"exit_code\":  7}", 7 }, { "{\"exit_code\":-1}", 255 }, { "{\"exit_code\":256}", 255 }, { "{\"exit_code\":\"x\"}", INTERP_NONE }, { "{}", INTERP_NONE },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t b[128];
        interp_result *r;
        REQUIRE(feed(b, put(b, 'f', 3, row[i].json, "", 0), 5, &r) == 0);
        CHECK(r->exit_code == row[i].want);
        interp_result_free(r);
    }
}

TAP_MAIN()
