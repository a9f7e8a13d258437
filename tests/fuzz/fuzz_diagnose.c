/* fuzz_diagnose.c - texts of compilers against the patterns of every built-in language, and against patterns out of the input itself.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "core/oneshot.h"

static struct interp__oneshot *languages(void)
{
    static interp_ctx *x;
    struct interp__oneshot *o = NULL;
    if (!x)
        FUZZ_CHECK(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    FUZZ_CHECK(interp__languages_builtin(x, &o, NULL) == INTERP_OK);
    return o;
}
static void inside(struct interp__span s, const uint8_t *p, size_t n)
{
    FUZZ_CHECK(!s.len || ((const uint8_t *)s.p >= p && (const uint8_t *)s.p + s.len <= p + n));
}
static void look(const struct interp__pattern *p, uint32_t count, const uint8_t *text, size_t n)
{
    static _Thread_local struct interp__diagnosis d;
    interp__diagnose(p, count, "main.c", (const char *)text, n, &d);
    FUZZ_CHECK(d.count <= INTERP__DIAGS_MAX && d.frames <= INTERP__FRAMES_MAX);
    for (uint32_t i = 0; i < d.count; i++) {
        inside(d.diag[i].file, text, n);
        inside(d.diag[i].message, text, n);
        inside(d.diag[i].code, text, n);
        FUZZ_CHECK(d.diag[i].severity >= INTERP__SEV_ERROR && d.diag[i].severity <= INTERP__SEV_NOTE);
    }
    for (uint32_t i = 0; i < d.frames; i++)
        inside(d.frame[i].file, text, n);
}
static void one(const uint8_t *data, size_t size)
{
    if (size < 1)
        return;
    size_t cut = 1 + (size_t)data[0] % 64 < size ? 1 + (size_t)data[0] % 64 : size;
    char pattern[80] = "";
    memcpy(pattern, data + 1, cut - 1);
    uint8_t *text = fuzz_copy(data + cut, size - cut);
    struct interp__pattern own = { pattern, NULL, 0 };
    if (!interp__pattern_wrong(pattern))
        look(&own, 1, text, size - cut);
    for (const struct interp__oneshot *o = languages(); o; o = o->next) {
        look(o->errors, o->nerrors, text, size - cut);
        look(o->run_errors, o->nrun_errors, text, size - cut);
    }
    free(text);
    /* a language as a host may write it */
    struct interp__json j;
    struct interp__oneshot *made = NULL;
    if (!interp__json_parse(&j, &interp__mem_default, data, size, NULL) && !interp__oneshot_new(&interp__mem_default, &j, 0, &made, NULL)) {
        FUZZ_CHECK(made->driver.len && made->language.name[0]);
        struct interp__buf b, args = { &interp__mem_default, NULL, 0, 0, 0 };
        struct interp__env env = { args, 0 };
        interp__buf_init(&b, &interp__mem_default);
        interp__oneshot_prefix(made, &b, (const char *)data, size, &env, &args);
        interp__buf_free(&b);
        interp__oneshot_free(made);
    }
    interp__json_free(&j);
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    fuzz_small_stack(one, data, size);
    return 0;
}
