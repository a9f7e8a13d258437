/* policy_check.h - a policy's word on a piece of code.
   SPDX-License-Identifier: MIT */
#ifndef POLICY_CHECK_H
#define POLICY_CHECK_H
#include "base/buf.h"
#include "policy/policy.h"
#include "tap.h"
#include <stdlib.h>
#include <string.h>

static struct interp__verdict policy_said;
static inline const char *check(const char *rules, const char *language, const char *code)
{
    struct interp__verdict v;
    struct interp__json j;
    struct interp__policy *p = NULL;
    REQUIRE(!interp__json_parse(&j, &interp__mem_default, rules, strlen(rules), NULL));
    REQUIRE(!interp__policy_new(&interp__mem_default, &j, 0, &p, NULL));
    interp__json_free(&j);
    size_t n = strlen(code);
    char *copy = malloc(n ? n : 1);   /* no NUL behind it, so that a read too far shows */
    memcpy(copy, code, n);
    int r = interp__policy_check(p, language, copy, n, &v);
    free(copy);
    interp__policy_unref(p);
    REQUIRE(r >= 0);
    if (r)
        CHECK(v.rule && v.reason[0] && v.what[0]);
    policy_said = v;
    return r ? v.rule : "";
}
/* Each of a list of codes, by one rule set, denied or not. */
static inline void all(const char *rules, const char *language, const char *const *codes, const char *want)
{
    for (; *codes; codes++) {
        const char *got = check(rules, language, *codes);
        if (strcmp(got, want))
            tap_fail(__FILE__, __LINE__, "%s \"%s\" is %s, not %s", language, *codes, *got ? got : "let through", *want ? want : "let through");
    }
}
/* And the verdict names what is wrong. */
static inline void named(const char *rules, const char *language, const char *const *codes, const char *want, const char *what)
{
    for (; *codes; codes++)
        if (strcmp(check(rules, language, *codes), want) || strcmp(policy_said.what, what))
            tap_fail(__FILE__, __LINE__, "%s \"%s\" is %s \"%s\", not %s \"%s\"", language, *codes, policy_said.rule ? policy_said.rule : "let through", policy_said.what, want, what);
}
#endif
