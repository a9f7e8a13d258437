/* fuzz_policy.c - the tokenizers of screening rules: any bytes as Python, JavaScript and shell code.
   SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "policy/policy.h"
#include "policy/scan.h"
#include "fuzz.h"

struct seen { const uint8_t *p; size_t n, found; uint32_t line; };
static int take(void *userdata, enum policy_kind kind, const char *name, size_t n, uint32_t line)
{
    struct seen *s = userdata;
    FUZZ_CHECK(kind <= POLICY_UNSURE && line >= 1 && line <= s->n + 1);
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = (unsigned char)(sum + (unsigned char)name[i]);
    s->found++;
    return s->found > 100000;
}

static int scan_bash(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *f, void *userdata)
{
    return interp__scan_shell(m, p, n, line, 1, f, userdata);
}
static int scan_sh(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *f, void *userdata)
{
    return interp__scan_shell(m, p, n, line, 0, f, userdata);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static int (*const scans[])(const struct interp__mem *, const char *, size_t, uint32_t, policy_take *, void *) = { interp__scan_python, interp__scan_javascript, scan_bash, scan_sh };
    static const char *const languages[] = { "python", "javascript", "bash", "sh" };
    static const char rules[] = "{\"imports\":{\"allow\":[\"json\"],\"deny\":[\"os\"]},\"commands\":{\"allow\":[\"ls\"]},\"paths\":{\"deny\":[\"/etc\"],\"allow\":[\"/tmp\"]}}";
    for (unsigned i = 0; i < 4; i++) {
        struct seen s = { p, n, 0, 0 };
        scans[i](&interp__mem_default, (const char *)p, n, 1, take, &s);
    }
    struct interp__json j;
    struct interp__policy *policy = NULL;
    struct interp__verdict v;
    FUZZ_CHECK(!interp__json_parse(&j, &interp__mem_default, rules, sizeof rules - 1, NULL) && !interp__policy_new(&interp__mem_default, &j, 0, &policy, NULL));
    interp__json_free(&j);
    for (unsigned i = 0; i < 4; i++)
        if (interp__policy_check(policy, languages[i], p, n, &v) > 0)
            FUZZ_CHECK(v.rule && v.reason[0] && strlen(v.reason) < sizeof v.reason && strlen(v.what) < sizeof v.what);
    interp__policy_unref(policy);
    return 0;
}
