/* test_redact.c - interp_redact_*: what a host registers, and a text redacted on the spot.
   SPDX-License-Identifier: MIT */
#include "api.h"
#include <pthread.h>

static const char *bytes(interp_ctx *x, const char *text, size_t n)
{
    static char kept[4096];
    interp_redacted *r = NULL;
    size_t len = 0;
    REQUIRE(interp_redact_bytes(x, text, n, &r, NULL) == INTERP_OK);
    const char *p = interp_redacted_data(r, &len);
    CHECK(p[len] == 0 && len < sizeof kept);
    memcpy(kept, p, len + 1);
    interp_redacted_free(r);
    return kept;
}

TEST(values)
{
    interp_ctx *x = NULL;
    interp_error *e = NULL;
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    CHECK(interp_redact_add(x, "DB_PASSWORD", "k7Jm2Qx9w4Rt", INTERP_NTS, &e) == INTERP_OK);
    CHECK(interp_redact_add(x, "DB_PASSWORD", "k7Jm2Qx9w4Rt", INTERP_NTS, &e) == INTERP_OK);   /* again */
    CHECK_STR(bytes(x, "a k7Jm2Qx9w4Rt b", 16), "a [REDACTED:DB_PASSWORD] b");
    CHECK_STR(bytes(x, "hex 6b374a6d325178397734" "5274 b", 30), "hex [REDACTED:DB_PASSWORD] b");
    CHECK_STR(bytes(x, "", 0), "");
    CHECK(interp_redact_add(x, "short", "abc", 3, &e) == INTERP_E_INVAL && !strcmp(interp_error_reason(e), "redact-short"));
    interp_error_free(e);
    CHECK(interp_redact_add(x, "common", "password", 8, &e) == INTERP_E_INVAL && !strcmp(interp_error_reason(e), "redact-common"));
    interp_error_free(e);
    CHECK(interp_redact_add(NULL, "n", "k7Jm2Qx9w4Rt", 12, NULL) == INTERP_E_INVAL);
    CHECK(interp_redact_add(x, NULL, "k7Jm2Qx9w4Rt", 12, NULL) == INTERP_E_INVAL);
    CHECK(interp_redact_bytes(x, NULL, 3, NULL, NULL) == INTERP_E_INVAL);
    interp_ctx_free(x);
}
TEST(counts)
{
    interp_ctx *x = NULL;
    interp_redacted *r = NULL;
    char text[200];
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    CHECK(interp_redact_add(x, "one", "k7Jm2Qx9w4Rt", INTERP_NTS, NULL) == INTERP_OK);
    int n = snprintf(text, sizeof text, "k7Jm2Qx9w4Rt 10.%s k7Jm2Qx9w4Rt\n", "1.2.3");
    REQUIRE(interp_redact_bytes(x, text, (size_t)n, &r, NULL) == INTERP_OK);
    interp_ctx_free(x);   /* the text outlives it */
    CHECK_STR(interp_redacted_counts_json(r, NULL), "{\"ipv4-private\":1,\"one\":2}");
    CHECK_STR(interp_redacted_data(r, NULL), "[REDACTED:one] [REDACTED:ipv4-private] [REDACTED:one]\n");
    interp_redacted_free(r);
    CHECK_STR(interp_redacted_data(NULL, NULL), "");
    CHECK_STR(interp_redacted_counts_json(NULL, NULL), "{}");
    interp_redacted_free(NULL);
}
TEST(switches)
{
    interp_ctx *x = NULL;
    char text[100];
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    int n = snprintf(text, sizeof text, "10.%s", "1.2.3 ");
    CHECK_STR(bytes(x, text, (size_t)n), "[REDACTED:ipv4-private] ");
    CHECK(interp_redact_set_detector(x, "network", 0, NULL) == INTERP_OK);
    CHECK_STR(bytes(x, text, (size_t)n), text);
    CHECK(interp_redact_set_detector(x, "ipv4-private", 1, NULL) == INTERP_OK);
    CHECK_STR(bytes(x, text, (size_t)n), "[REDACTED:ipv4-private] ");
    CHECK(interp_redact_set_detector(x, "nothing", 1, NULL) == INTERP_E_NOT_FOUND && interp_redact_set_detector(x, NULL, 1, NULL) == INTERP_E_NOT_FOUND);
    CHECK(interp_redact_set_detector(x, "all", 2, NULL) == INTERP_E_INVAL);
    interp_ctx_free(x);
}
TEST(patterns)
{
    interp_ctx *x = NULL;
    interp_error *e = NULL;
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    interp_status st = interp_redact_add_pattern(x, "ticket", "ACME-[0-9]{4,9}", INTERP_NTS, &e);
    if (!interp_has("redact.pcre2")) {
        CHECK(st == INTERP_E_UNSUPPORTED);
        interp_error_free(e);
        interp_ctx_free(x);
        SKIP("built without PCRE2");
    }
    CHECK(st == INTERP_OK);
    CHECK_STR(bytes(x, "see ACME-12345.", 15), "see [REDACTED:ticket].");
    CHECK(interp_redact_add_pattern(x, "bad", "(x", 2, &e) == INTERP_E_INVAL && !strcmp(interp_error_reason(e), "redact-pattern"));
    interp_error_free(e);
    interp_ctx_free(x);
}

static void *adder(void *v)
{
    for (int i = 0; i < 100; i++) {
        char value[32];
        snprintf(value, sizeof value, "k7Jm2Qx9-%06d", i);
        if (interp_redact_add(v, "many", value, INTERP_NTS, NULL))
            return v;
    }
    return NULL;
}
TEST(any_thread)
{
    interp_ctx *x = NULL;
    pthread_t t[3];
    void *bad = NULL;
    REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&t[i], NULL, adder, x) == 0);
    for (int i = 0; i < 50; i++)
        bytes(x, "text k7Jm2Qx9-000007 text", 25);
    for (int i = 0; i < 3; i++) {
        void *got;
        pthread_join(t[i], &got);
        bad = got ? got : bad;
    }
    CHECK(bad == NULL);
    CHECK_STR(bytes(x, "text k7Jm2Qx9-000099 text", 25), "text [REDACTED:many] text");
    interp_ctx_free(x);
}

TAP_MAIN()
