/* redact.h - shared by the tests of the redaction engine: documents full of secrets, made at run time, and a naive engine over the whole text.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_TESTS_REDACT_H
#define INTERP_TESTS_REDACT_H
#include "base/json.h"
#include "output/redact/redact_priv.h"
#include "redact_patterns.h"
#ifdef INTERP_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_COUNT = (int)(sizeof PATTERNS / sizeof *PATTERNS) };

static inline uint32_t rnd(uint64_t *state, uint32_t n)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return n ? (uint32_t)((z ^ z >> 31) % n) : 0;
}

/* ---- rows of detectors.jsonl: examples are kept in parts and joined here */
struct row { char name[48]; char *example, *negative[8], *keyword[24]; size_t example_len, negative_len[8]; int nnegatives, nkeywords, on; };
static struct row rows[80];
static int nrows;

static char *joined(const struct interp__json *j, uint32_t array, size_t *len)
{
    struct interp__buf b;
    interp__buf_init(&b, &interp__mem_default);
    for (uint32_t k = array + 1; k < interp__json_at(j, array)->next; k = interp__json_at(j, k)->next)
        interp__buf_add(&b, interp__json_string(j, interp__json_at(j, k)), interp__json_at(j, k)->text_len);
    *len = b.len;
    return (char *)(uintptr_t)interp__buf_text(&b);
}
static int load_rows(const char *path)
{
    FILE *f = fopen(path, "r");
    static char line[1 << 16];
    if (!f)
        return -1;
    while (nrows < 80 && fgets(line, sizeof line, f)) {
        struct interp__json j;
        struct row *r = &rows[nrows];
        if (interp__json_parse(&j, &interp__mem_default, line, strcspn(line, "\n"), NULL))
            continue;
        snprintf(r->name, sizeof r->name, "%s", interp__json_string(&j, interp__json_at(&j, interp__json_member(&j, 0, "name"))));
        r->on = (int)interp__json_at(&j, interp__json_member(&j, 0, "default"))->i;
        r->example = joined(&j, interp__json_member(&j, 0, "example"), &r->example_len);
        uint32_t n = interp__json_member(&j, 0, "negatives");
        for (uint32_t k = n + 1; n && k < interp__json_at(&j, n)->next && r->nnegatives < 8; k = interp__json_at(&j, k)->next, r->nnegatives++)
            r->negative[r->nnegatives] = joined(&j, k, &r->negative_len[r->nnegatives]);
        n = interp__json_member(&j, 0, "keywords");
        for (uint32_t k = n + 1; n && k < interp__json_at(&j, n)->next && r->nkeywords < 24; k = interp__json_at(&j, k)->next)
            r->keyword[r->nkeywords++] = strdup(interp__json_string(&j, interp__json_at(&j, k)));
        interp__json_free(&j);
        nrows++;
    }
    fclose(f);
    return nrows ? 0 : -1;
}

/* ---- the engine over a text, cut as asked */
enum cut { CUT_WHOLE, CUT_ONE, CUT_FEW, CUT_SOME, CUT_MANY };
static inline void engine(struct interp__redact_set *set, const uint8_t *p, size_t n, enum cut cut, int idle, uint64_t *seed, struct interp__buf *out, struct interp__redact_stats *stats)
{
    struct interp__redactor *r = interp__redactor_new(set, &interp__mem_default);
    for (size_t at = 0; r && at < n;) {
        size_t k = cut == CUT_WHOLE ? n : cut == CUT_ONE ? 1 : 1 + rnd(seed, cut == CUT_FEW ? 3 : cut == CUT_SOME ? 40 : 700);
        k = k < n - at ? k : n - at;
        uint8_t *exact = malloc(k);   /* ends where it ends, for sanitizers */
        memcpy(exact, p + at, k);
        interp__redactor_push(r, exact, k, out);
        free(exact);
        if (idle)
            interp__redactor_idle(r, idle > 1, out);
        at += k;
    }
    if (r)
        interp__redactor_finish(r, out);
    if (stats && r)
        *stats = *interp__redactor_stats(r);
    interp__redactor_free(r);
}

/* ---- the naive engine: every pattern at every position by PCRE2, every literal by comparison, one union at the end */
struct o_range { size_t s, e; int kind; uint32_t order; const char *name; int partial; };
struct oracle {
    struct interp__redact_set *set;
    struct redact_snapshot *now;
    const uint8_t *on;                                 /* which patterns; NULL: the defaults */
#ifdef INTERP_PCRE2
    pcre2_code *code[PATTERN_COUNT];
    pcre2_match_data *data;
#endif
    struct o_range *ranges;
    size_t nranges, cap;
    uint64_t matches;
};
static inline int oracle_init(struct oracle *o, struct interp__redact_set *set)
{
    memset(o, 0, sizeof *o);
    o->set = set;
#ifdef INTERP_PCRE2
    o->data = pcre2_match_data_create(8, NULL);
    for (int i = 0; i < PATTERN_COUNT; i++) {
        int code;
        PCRE2_SIZE at;
        o->code[i] = pcre2_compile((PCRE2_SPTR)PATTERNS[i].pattern, PCRE2_ZERO_TERMINATED, PCRE2_ANCHORED, &code, &at, NULL);
        if (!o->code[i]) {
            fprintf(stderr, "%s: %s: wrong at %zu\n", PATTERNS[i].name, PATTERNS[i].pattern, at);
            return -1;
        }
        pcre2_jit_compile(o->code[i], PCRE2_JIT_COMPLETE);
    }
#endif
    return 0;
}
static inline void oracle_free(struct oracle *o)
{
#ifdef INTERP_PCRE2
    for (int i = 0; i < PATTERN_COUNT; i++)
        pcre2_code_free(o->code[i]);
    pcre2_match_data_free(o->data);
#endif
    free(o->ranges);
}
static inline void o_add(struct oracle *o, struct o_range r)
{
    if (o->nranges == o->cap)
        o->ranges = realloc(o->ranges, (o->cap = o->cap ? 2 * o->cap : 64) * sizeof *o->ranges);
    o->ranges[o->nranges++] = r;
}
static inline int o_order(const void *a, const void *b)
{
    const struct o_range *x = a, *y = b;
    return x->s != y->s ? (x->s < y->s ? -1 : 1) : x->kind != y->kind ? x->kind - y->kind : x->order < y->order ? -1 : x->order > y->order;
}
static inline int b64(uint8_t c)
{
    return c && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_", c);
}
static inline void o_values(struct oracle *o, const uint8_t *d, size_t d_len, const uint8_t *n, const size_t *at, size_t len, int end)
{
    for (uint32_t i = 0; i < o->now->nliterals; i++) {
        const struct redact_literal *l = &o->now->literals[i];
        for (size_t s = 0; s + 1 <= len; s++) {
            size_t have = len - s < l->len ? len - s : l->len;
            if (n[s] != l->p[0] || memcmp(n + s, l->p, have) != 0)
                continue;
            int partial = have < l->len;
            if (partial && (!end || have < 8 || have < (l->len + 1) / 2))
                continue;
            size_t a = at[s], b = at[s + have - 1] + 1;   /* a base64 neighbour right beside it goes with it */
            if (!partial && l->right && b < d_len && b64(d[b]))
                b++;
            if (l->left && a && b64(d[a - 1]))
                a--;
            o_add(o, (struct o_range){ a, b, 0, i, interp__redact_set_name(o->set, l->label), partial });
        }
    }
}
/* One stretch of D, with the gaps that stand before its bytes. */
static inline void o_stretch(struct oracle *o, const uint8_t *d, size_t n, const struct interp__buf *gaps, struct interp__buf *out)
{
    o->nranges = 0;
#ifdef INTERP_PCRE2
    for (int i = 0; i < PATTERN_COUNT; i++) {
        if (o->on ? !o->on[i] : !PATTERNS[i].on)
            continue;
        for (size_t s = 0; s < n;) {
            int rc = pcre2_match(o->code[i], d, n, s, 0, o->data, NULL);
            const PCRE2_SIZE *v = pcre2_get_ovector_pointer(o->data);
            if (rc <= 0) {
                s++;
                continue;
            }
            int g = 0;
            for (int k = 1; k < rc; k++)
                if (v[2 * k] != PCRE2_UNSET)
                    g = k;
            o->matches++;
            o_add(o, (struct o_range){ v[2 * g], v[2 * g + 1], 2, (uint32_t)i, PATTERNS[i].name, 0 });
            s = v[1] > s ? v[1] : s + 1;
        }
    }
#endif
    uint8_t *norm = malloc(n + 1);
    size_t *at = malloc((n + 1) * sizeof *at), len = 0, left_out = 0;
    int skipping = 0;
    for (size_t i = 0; i < n; i++) {
        if (d[i] == '\n' || d[i] == '\r' || (skipping && (d[i] == ' ' || d[i] == '\t'))) {
            skipping |= d[i] == '\n' || d[i] == '\r';
            if (++left_out == REDACT_GAP_MAX) {
                o_values(o, d, n, norm, at, len, 0);
                len = 0;
            }
            continue;
        }
        skipping = 0;
        left_out = 0;
        norm[len] = d[i];
        at[len++] = i;
    }
    o_values(o, d, n, norm, at, len, 1);
    free(norm);
    free(at);
    if (o->nranges)
        qsort(o->ranges, o->nranges, sizeof *o->ranges, o_order);
    size_t next = 0, covered = 0;
    int newline = 0;
    for (size_t i = 0; i <= n; i++) {
        interp__buf_add(out, gaps[i].p, gaps[i].len);
        if (i == n)
            break;
        for (; next < o->nranges && o->ranges[next].s == i; next++) {
            const struct o_range *r = &o->ranges[next];
            if (r->s >= covered) {
                interp__buf_fmt(out, "[REDACTED:%s%s]", r->name, r->partial ? ":partial" : "");
                newline = 0;
            }
            if (r->e > covered)
                covered = r->e;
        }
        if (i >= covered)
            interp__buf_add(out, d + i, 1);
        else if (d[i] == '\n' && !newline) {
            interp__buf_add(out, "\n", 1);
            newline = 1;
        }
    }
}
/* Length of the terminal escape or NUL at p, 0: none. */
static inline size_t o_gap(const uint8_t *p, size_t n)
{
    if (p[0] == 0)
        return 1;
    if (p[0] != 27)
        return 0;
    if (n < 2)
        return 1;
    if (p[1] == '[') {
        size_t k = 2;
        while (k < n && k < 34 && p[k] >= 0x20 && p[k] <= 0x3f)
            k++;
        return k < n && p[k] >= 0x40 && p[k] <= 0x7e ? k + 1 : k;
    }
    if (p[1] == '(' || p[1] == ')')
        return n > 2 ? 3 : 2;
    return (p[1] >= '0' && p[1] <= '?') || (p[1] && strchr("MDEHc", p[1])) ? 2 : 1;
}
/* Returns the number of stretches. */
static inline int oracle_run(struct oracle *o, const uint8_t *p, size_t n, struct interp__buf *out)
{
    struct interp__buf *gaps = calloc(n + 1, sizeof *gaps);
    uint8_t *d = malloc(n + 1);
    size_t len = 0, run = 0, through = 0;
    int stretches = 1;
    o->now = interp__redact_set_now(o->set, NULL);
    for (size_t i = 0; i <= n; i++)
        interp__buf_init(&gaps[i], &interp__mem_default);
    for (size_t i = 0; i < n; i++) {
        if (i >= through)
            through = i + o_gap(p + i, n - i);
        if (i >= through) {
            d[len++] = p[i];
            run = 0;
            continue;
        }
        if (run >= REDACT_GAP_MAX) {
            interp__buf_add(out, p + i, 1);
            continue;
        }
        interp__buf_add(&gaps[len], p + i, 1);
        if (++run == REDACT_GAP_MAX) {
            stretches++;
            o_stretch(o, d, len, gaps, out);
            for (size_t k = 0; k <= len; k++)
                interp__buf_free(&gaps[k]);
            len = 0;
        }
    }
    o_stretch(o, d, len, gaps, out);
    for (size_t i = 0; i <= n; i++)
        interp__buf_free(&gaps[i]);
    free(gaps);
    free(d);
    interp__redact_snapshot_free(o->now);
    return stretches;
}
#endif
