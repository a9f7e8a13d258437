/* tokens.c - an estimate of how many tokens a language model makes of a text. Models differ; this errs on the high side for code, numbers and scripts other
   than Latin. A run of letters costs one for each six, digits one for each three, blanks one for each eight beside the one that a word takes with it,
   other ASCII one each, a character beyond ASCII one, a byte that is none two. */
#include "base/json.h"
#include "stream.h"

enum kind { LETTER, DIGIT, BLANK, OTHER };
static enum kind kind_of(uint8_t c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z' ? LETTER : c >= '0' && c <= '9' ? DIGIT : c == ' ' || c == '\t' ? BLANK : OTHER;
}
static const uint8_t SHARE[] = { [LETTER] = 6, [DIGIT] = 3, [BLANK] = INTERP__TOKEN_BYTES };

/* The run of one kind at p: its length (n at most), and what it costs. */
static size_t run(const uint8_t *p, size_t n, uint64_t *cost)
{
    if (p[0] >= 0x80) {
        size_t k = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
        if (k > n)
            k = n;
        int whole = interp__utf8_valid(p, k) == k;
        *cost = whole ? 1 : 2;
        return whole ? k : 1;
    }
    enum kind kind = kind_of(p[0]);
    size_t k = 1;
    if (kind == OTHER) {
        *cost = 1;
        return 1;
    }
    while (k < n && kind_of(p[k]) == kind && p[k] < 0x80)
        k++;
    *cost = kind == BLANK ? (k == 1 && n > 1 && kind_of(p[1]) == LETTER ? 0 : (k + SHARE[BLANK] - 1) / SHARE[BLANK]) : (k + SHARE[kind] - 1) / SHARE[kind];
    return k;
}

size_t interp__tokens_head(const void *v, size_t n, uint64_t tokens)
{
    const uint8_t *p = v;
    size_t at = 0;
    int free_blank = 0;
    while (at < n) {
        uint64_t cost;
        size_t k = run(p + at, n - at, &cost);
        if (cost > tokens) {   /* a part of a long run */
            if (tokens && p[at] < 0x80 && kind_of(p[at]) != OTHER)
                at += (size_t)tokens * SHARE[kind_of(p[at])];
            else
                at -= (size_t)free_blank;   /* without its word it is not free */
            break;
        }
        free_blank = !cost;
        tokens -= cost;
        at += k;
    }
    return at < n ? at : n;
}

uint64_t interp__tokens(const void *v, size_t n)
{
    const uint8_t *p = v;
    uint64_t sum = 0, cost;
    for (size_t at = 0; at < n; sum += cost)
        at += run(p + at, n - at, &cost);
    return sum;
}

size_t interp__tokens_tail(const void *v, size_t n, uint64_t tokens)
{
    const uint8_t *p = v;
    size_t from = n > tokens * INTERP__TOKEN_BYTES ? n - (size_t)(tokens * INTERP__TOKEN_BYTES) : 0;   /* no more can fit */
    uint64_t over = interp__tokens(p + from, n - from);
    while (over > tokens && from < n) {
        uint64_t cost;
        size_t k = run(p + from, n - from, &cost);
        if (cost > over - tokens && p[from] < 0x80 && kind_of(p[from]) != OTHER) {
            k = (size_t)(over - tokens) * SHARE[kind_of(p[from])];   /* of a long run the end can stay */
            cost = over - tokens;
        }
        from += k;
        over -= cost;
    }
    return n - from;
}
