/* fuzz_probe.c - what a probe's programs print, hostile: read as a full and as a quick look, compared, told as JSON and as text.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "core/core.h"

static struct interp_session session;

static void tell(const struct interp__facts *f)
{
    struct interp__buf b;
    interp__buf_init(&b, &interp__mem_default);
    interp__facts_json(f, &session, 1, &b);
    FUZZ_CHECK(interp__buf_text(&b));
    if (b.len < 400000) {
        struct interp__json j;
        FUZZ_CHECK(interp__json_parse(&j, &interp__mem_default, b.p, b.len, NULL) == INTERP_OK);
        interp__json_free(&j);
    }
    interp__buf_free(&b);
    interp__facts_text(f, &session, &b);
    FUZZ_CHECK(interp__buf_text(&b) && b.len < 16384);
    for (size_t i = 0; i < b.len; i++)
        FUZZ_CHECK(b.p[i] == '\n' || (b.p[i] >= 0x20 && b.p[i] < 0x7F));
    interp__buf_free(&b);
    interp__facts_dirs(f, &b);
    FUZZ_CHECK(interp__buf_text(&b));
    interp__buf_free(&b);
}
static void one(const uint8_t *data, size_t size)
{
    struct interp__facts *f = interp__facts_new(&interp__mem_default);
    uint8_t *c = fuzz_copy(data, size);
    FUZZ_CHECK(f);
    interp__facts_read(f, (const char *)c, size, 1);
    tell(f);
    (void)interp__facts_same(f, (const char *)c, size);
    interp__facts_read(f, (const char *)c, size / 2, 0);
    tell(f);
    free(c);
    interp__facts_free(f);
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    fuzz_small_stack(one, data, size);
    return 0;
}
