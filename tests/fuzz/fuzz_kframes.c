/* fuzz_kframes.c - bytes of a kernel's control channel, in pieces, into a result; then everything that a host can ask of that result.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "core/core.h"

static void ask(interp_result *r)
{
    size_t n;
    for (int32_t s = 0; s < 4; s++) {
        (void)interp_result_text(r, s, &n);
        (void)interp_result_head(r, s, &n);
        (void)interp_result_tail(r, s, &n);
    }
    const char *v = interp_result_value(r, &n);
    FUZZ_CHECK(!v || v[n] == 0);
    v = interp_result_error_type(r, &n);
    FUZZ_CHECK(v && v[n] == 0);
    v = interp_result_error_message(r, &n);
    FUZZ_CHECK(v && v[n] == 0);
    v = interp_result_error_traceback(r, &n);
    FUZZ_CHECK(v && v[n] == 0);
    uint32_t parts = interp_result_part_count(r);
    for (uint32_t i = 0; i <= parts; i++) {
        const char *mime = NULL;
        uint32_t bundle = 0;
        const uint8_t *p = interp_result_part(r, i, &mime, &bundle, &n);
        FUZZ_CHECK((p != NULL) == (i < parts));
        if (p) {
            FUZZ_CHECK(mime && strlen(mime) < 128);
            FUZZ_CHECK(p[n] == 0);
        }
    }
    const char *j = interp_result_json(r, &n);
    FUZZ_CHECK(j && strlen(j) == n);
    struct interp__json parsed;
    if (n < 400000) {
        interp_status st = interp__json_parse(&parsed, &interp__mem_default, j, n, NULL);
        FUZZ_CHECK(st == INTERP_OK || interp__json_count(&parsed) > 60000);
        interp__json_free(&parsed);
    }
}
static void one(const uint8_t *data, size_t size)
{
    if (size < 1)
        return;
    interp_result *r = interp__result_new(&interp__mem_default);
    FUZZ_CHECK(r);
    struct interp__kframes k;
    interp__kframes_init(&k, &interp__mem_default, data[0] & 1 ? r : NULL);
    size_t step = (data[0] >> 1) + 1u;
    for (size_t at = 1; at < size; at += step) {
        size_t n = size - at < step ? size - at : step;
        uint8_t *c = fuzz_copy(data + at, n);
        int rc = interp__kframes_feed(&k, c, n);
        free(c);
        FUZZ_CHECK(rc == 0 || rc == -1);
        if (rc)
            break;
    }
    interp__kframes_free(&k);
    ask(r);
    interp_result_free(r);
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    fuzz_small_stack(one, data, size);
    return 0;
}
