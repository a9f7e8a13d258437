/* pattern.c - patterns of the host on D, by PCRE2 (the one user of it). The pattern is the host's, what it is matched against is hostile: anchored tries at
   bytes that a match can start with, in a window of bounded length, with a limit on steps. At the limit the word is replaced: fail closed, counted. */
#include "base/error.h"
#include "redact_priv.h"
#include <string.h>

#ifdef INTERP_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    MATCH_LIMIT = 10000,       /* 0.03 ms with a just-in-time compiler, 0.3 ms without, for patterns made to explode */
    HEAP_LIMIT = 512,          /* KiB */
    LIMIT_HITS = 20,           /* a pattern that hits it more often is off for the stream: else hostile output makes us slow */
    SHORTEST = 4,              /* bytes of a match: shorter ones stand in any output */
    STARTS_MAX = 128,          /* different bytes that a match may start with */
    CODE_MAX = 256 << 10
};
struct redact_pattern {
    struct interp__mem mem;
    pcre2_general_context *general;
    pcre2_code *code;
    uint32_t label;
    int single;                /* the one byte that a match starts with, or -1 */
    uint8_t starts[256];
};
struct work {
    pcre2_general_context *general;
    pcre2_match_context *match;
    pcre2_match_data *data;
};

static void *take(size_t n, void *mem)
{
    return interp__resize(mem, NULL, n);
}
static void give(void *p, void *mem)
{
    interp__free(mem, p);
}

int interp__redact_has_patterns(void)
{
    return 1;
}

void interp__redact_pattern_free(struct redact_pattern *p)
{
    struct interp__mem m = p->mem;
    if (p->code)
        pcre2_code_free(p->code);
    if (p->general)
        pcre2_general_context_free(p->general);
    interp__free(&m, p);
}

/* What a match can start with, from a compilation that is not anchored: only that has it. */
static const char *find_starts(struct redact_pattern *p, const pcre2_code *code)
{
    uint32_t type = 0, unit = 0, shortest = 0, empty = 0, back = 0, behind = 0;
    const uint8_t *bitmap = NULL;
    size_t size = 0;
    pcre2_pattern_info(code, PCRE2_INFO_FIRSTCODETYPE, &type);
    pcre2_pattern_info(code, PCRE2_INFO_FIRSTCODEUNIT, &unit);
    pcre2_pattern_info(code, PCRE2_INFO_FIRSTBITMAP, &bitmap);
    pcre2_pattern_info(code, PCRE2_INFO_MINLENGTH, &shortest);
    pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &empty);
    pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &back);
    pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &behind);
    pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
    if (empty || shortest < SHORTEST)
        return "it matches less than 4 bytes";
    if (back)
        return "it has a back-reference";
    if (behind > 1)
        return "it looks back more than one byte";
    if (size > CODE_MAX)
        return "it is too large";
    int n = 0;
    p->single = -1;
    if (type == 1) {
        uint8_t c = (uint8_t)unit;
        p->starts[c] = 1;
        p->single = c;
        if ((c | 32) >= 'a' && (c | 32) <= 'z') {   /* it may be caseless: PCRE2 does not say */
            p->starts[c ^ 32] = 1;
            p->single = -1;
        }
        return NULL;
    }
    for (int c = 0; bitmap && c < 256; c++)
        n += p->starts[c] = bitmap[c / 8] >> (c % 8) & 1;
    return n == 0 || n > STARTS_MAX ? "it may start with nearly any byte" : NULL;
}

interp_status interp__redact_pattern_new(const struct interp__mem *m, const char *text, size_t n, uint32_t label, struct redact_pattern **out, interp_error **err)
{
    struct redact_pattern *p = interp__alloc(m, sizeof *p);
    if (!p)
        return interp__nomem(err);
    p->mem = *m;
    p->label = label;
    p->general = pcre2_general_context_create(take, give, &p->mem);
    if (!p->general) {
        interp__redact_pattern_free(p);
        return interp__nomem(err);
    }
    pcre2_compile_context *c = pcre2_compile_context_create(p->general);
    int code = 0;
    PCRE2_SIZE at = 0;
    const uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP;
    pcre2_code *loose = c ? pcre2_compile((PCRE2_SPTR)text, n, options, &code, &at, c) : NULL;
    const char *why = loose ? find_starts(p, loose) : NULL;
    if (loose && !why)
        p->code = pcre2_compile((PCRE2_SPTR)text, n, options | PCRE2_ANCHORED, &code, &at, c);
    if (loose)
        pcre2_code_free(loose);
    if (c)
        pcre2_compile_context_free(c);
    if (p->code) {
        (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);   /* where memory may not be executable: interpreted, the same results */
        *out = p;
        return INTERP_OK;
    }
    interp__redact_pattern_free(p);
    if (why)
        return interp__fail(m, err, INTERP_E_INVAL, "redact-pattern", "the pattern can't be used: %s", why);
    if (!c || code == PCRE2_ERROR_HEAP_FAILED)
        return interp__nomem(err);
    PCRE2_UCHAR said[160] = "";
    pcre2_get_error_message(code, said, sizeof said);
    return interp__fail(m, err, INTERP_E_INVAL, "redact-pattern", "the pattern is wrong at byte %zu: %s", (size_t)at, (const char *)said);
}

int interp__redact_patterns_init(struct interp__redactor *r)
{
    static const struct redact_pattern_state fresh;
    uint32_t n = r->now->npatterns, had = r->nstates;
    if (n == had)
        return 0;
    struct redact_pattern_state *more = interp__resize(r->mem, NULL, (n + 1) * sizeof *more);
    if (!more)
        return -1;
    for (uint32_t i = 0, k = 0; i < n; i++) {   /* new ones may stand between those there were, in their order */
        more[i] = fresh;
        more[i].of = r->now->patterns[i];
        more[i].next = r->d0 > r->first ? r->d0 : r->first;
        if (k < had && r->states[k].of == more[i].of)
            more[i] = r->states[k++];
    }
    interp__free(r->mem, r->states);
    r->states = more;
    r->nstates = n;
    if (r->pattern_work)
        return 0;
    struct work *w = interp__alloc(r->mem, sizeof *w);
    if (!w)
        return -1;
    r->pattern_work = w;
    w->general = pcre2_general_context_create(take, give, (void *)(uintptr_t)r->mem);
    w->match = w->general ? pcre2_match_context_create(w->general) : NULL;
    w->data = w->match ? pcre2_match_data_create(16, w->general) : NULL;
    if (!w->data)
        return -1;
    pcre2_set_match_limit(w->match, MATCH_LIMIT);
    pcre2_set_depth_limit(w->match, MATCH_LIMIT);
    pcre2_set_heap_limit(w->match, HEAP_LIMIT);
    return 0;
}
void interp__redact_patterns_free(struct interp__redactor *r)
{
    struct work *w = r->pattern_work;
    if (w) {
        if (w->data)
            pcre2_match_data_free(w->data);
        if (w->match)
            pcre2_match_context_free(w->match);
        if (w->general)
            pcre2_general_context_free(w->general);
        interp__free(r->mem, w);
    }
    interp__free(r->mem, r->states);
}
void interp__redact_patterns_reset(struct interp__redactor *r)
{
    for (uint32_t i = 0; i < r->nstates; i++) {
        struct redact_pattern_state *t = &r->states[i];
        t->next = redact_end(r);
        t->waiting = 0;
        t->left = 0;
    }
}

/* The next byte that a match can start with, at or after `from`. */
static uint64_t next_start(const struct interp__redactor *r, const struct redact_pattern *p, uint64_t from)
{
    const uint8_t *b = redact_at(r, from), *end = r->d + r->len;
    if (p->single >= 0) {
        b = memchr(b, p->single, (size_t)(end - b));
        return b ? r->d0 + (uint64_t)(b - r->d) : redact_end(r);
    }
    while (b < end && !p->starts[*b])
        b++;
    return r->d0 + (uint64_t)(b - r->d);
}

/* The rest of a word whose match hit the limit. Returns whether it may go on. */
static int swallow(struct interp__redactor *r, uint32_t i)
{
    struct redact_pattern_state *t = &r->states[i];
    uint64_t end = redact_end(r);
    while (t->next < end && t->left && !memchr(" \t\r\n", *redact_at(r, t->next), 4))
        t->next++, t->left--;
    interp__redact_grown(r, REDACT_PATTERNS, i, r->now->patterns[i]->label, t->open_from, t->next);
    if (t->next == end && t->left)
        return 1;
    t->left = 0;
    return 0;
}

static void one(struct interp__redactor *r, uint32_t i, enum redact_level level)
{
    const struct redact_pattern *p = r->now->patterns[i];
    struct redact_pattern_state *t = &r->states[i];
    const struct work *w = r->pattern_work;
    const uint64_t end = redact_end(r);
    if (t->left && swallow(r, i))
        return;
    while (!t->off && t->next < end) {
        if (!t->waiting)
            t->next = next_start(r, p, t->next);
        uint64_t s = t->next, have = end - s;
        if (s == end)
            break;
        int whole = have >= INTERP__REDACT_WINDOW || level == REDACT_END, cut = !whole && level == REDACT_CUT;
        if (t->waiting && !whole && have < 2 * t->tried && level == REDACT_PUSH)
            break;   /* tried again when it has doubled: else each byte would cost a window */
        size_t behind = s > r->first;
        size_t window = have < INTERP__REDACT_WINDOW ? (size_t)have : INTERP__REDACT_WINDOW;
        int rc = pcre2_match(p->code, redact_at(r, s - behind), window + behind, behind, whole ? 0 : PCRE2_PARTIAL_HARD, w->data, w->match);
        if (rc == PCRE2_ERROR_PARTIAL && cut) {
            t->waiting = 0;
            t->next = s + 1;
            if (have < SHORTEST)
                continue;
            interp__redact_range(r, REDACT_PATTERNS, i, p->label, s, end, 1);
            break;
        }
        if (rc == PCRE2_ERROR_PARTIAL) {
            t->waiting = 1;
            t->tried = have;
            break;
        }
        t->waiting = 0;
        if (rc == PCRE2_ERROR_NOMATCH) {
            t->next = s + 1;
            continue;
        }
        if (rc < 0) {
            r->stats.limit_hits++;
            t->open_from = s;
            t->next = s + 1;
            t->left = INTERP__REDACT_WINDOW - 1;
            interp__redact_range(r, REDACT_PATTERNS, i, p->label, s, s + 1, 0);
            if (++t->limit_hits == LIMIT_HITS) {
                t->off = 1;
                r->stats.degraded = 1;
            }
            if (swallow(r, i))
                return;
            continue;
        }
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(w->data);
        uint32_t g = rc > 1 && at[2] != PCRE2_UNSET && at[2] < at[3] ? 1 : 0;   /* the first group, else all of it */
        uint64_t from = s - behind + at[2 * g], to = s - behind + at[2 * g + 1], whole_to = s - behind + at[1];
        if (from < s || from >= to || to > s + window)   /* \K and the like: fail closed */
            from = s, to = s + window;
        interp__redact_range(r, REDACT_PATTERNS, i, p->label, from, to, 0);
        t->next = whole_to > s ? whole_to : s + 1;
    }
    if (t->off && !t->left)
        t->next = end;
}
void interp__redact_patterns_run(struct interp__redactor *r, enum redact_level level)
{
    for (uint32_t i = 0; i < r->nstates && !r->bad; i++)
        one(r, i, level);
}

uint64_t interp__redact_patterns_hold(struct interp__redactor *r, enum redact_level level)
{
    uint64_t hold = redact_end(r);
    for (uint32_t i = 0; i < r->nstates && level < REDACT_HARD; i++)
        if (r->states[i].waiting && r->states[i].next < hold)
            hold = r->states[i].next;
    return hold;
}
uint64_t interp__redact_patterns_keep(const struct interp__redactor *r)
{
    uint64_t from = r->beg;
    for (uint32_t i = 0; i < r->nstates; i++)
        if (r->states[i].next < from)
            from = r->states[i].next;
    return from;
}

#else

int interp__redact_has_patterns(void)
{
    return 0;
}
void interp__redact_pattern_free(struct redact_pattern *p)
{
    (void)p;
}
interp_status interp__redact_pattern_new(const struct interp__mem *m, const char *text, size_t n, uint32_t label, struct redact_pattern **out, interp_error **err)
{
    (void)text, (void)n, (void)label, (void)out;
    return interp__fail(m, err, INTERP_E_UNSUPPORTED, "redact-pattern", "this build has no patterns: build with -Dpcre2=enabled");
}
int interp__redact_patterns_init(struct interp__redactor *r)
{
    (void)r;
    return 0;
}
void interp__redact_patterns_free(struct interp__redactor *r)
{
    (void)r;
}
void interp__redact_patterns_reset(struct interp__redactor *r)
{
    (void)r;
}
void interp__redact_patterns_run(struct interp__redactor *r, enum redact_level level)
{
    (void)r, (void)level;
}
uint64_t interp__redact_patterns_hold(struct interp__redactor *r, enum redact_level level)
{
    (void)level;
    return redact_end(r);
}
uint64_t interp__redact_patterns_keep(const struct interp__redactor *r)
{
    return r->beg;
}
#endif
