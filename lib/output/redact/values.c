/* values.c - registered values on N: of every `stride` bytes one gram of four is looked up; each occurrence of a value has one that is */
#include "redact_priv.h"
#include <string.h>

enum { BEHIND = 48 };   /* bytes of N kept: a gram's distance from its literal's start (12 at most), a prefix (16), one more to widen */

static inline int base64_char(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '+' || c == '/' || c == '-' || c == '_';
}
static inline uint64_t values_end(const struct redact_values *v)
{
    return v->n0 + v->len;
}

static uint64_t in_d(const struct redact_values *v, uint64_t n)
{
    size_t lo = 0, hi = v->nplaces;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (v->places[mid].n <= n)
            lo = mid;
        else
            hi = mid;
    }
    return n - v->places[lo].n + v->places[lo].d;
}

static void forget(struct interp__redactor *r)
{
    struct redact_values *v = &r->values;
    v->n0 += v->len;
    v->len = 0;
    v->scanned = v->n0;
    v->nplaces = v->nwaiting = v->inside = 0;
}
void interp__redact_values_reset(struct interp__redactor *r)
{
    forget(r);
    r->values.skipped = 0;
    r->values.skipping = r->values.torn;   /* the line break may be among what is missing */
}

/* D from `from` on, as N */
void interp__redact_values_append(struct interp__redactor *r, uint64_t from)
{
    struct redact_values *v = &r->values;
    const uint8_t *p = redact_at(r, from);
    const size_t n = (size_t)(redact_end(r) - from);
    size_t cr = 0;   /* the next CR, when it is not behind i */
    int cr_known = 0;
    if (interp__redact_grow(r, &v->n, &v->cap, v->len + n + 8, 1))
        return;
    for (size_t i = 0; i < n;) {
        uint8_t c = p[i];
        if (c == '\n' || c == '\r' || (v->skipping && (c == ' ' || c == '\t'))) {
            v->skipping |= c == '\n' || c == '\r';
            i++;
            if (++v->skipped == REDACT_GAP_MAX) {
                interp__redact_values_run(r, 1, REDACT_PUSH);
                forget(r);
            }
            continue;
        }
        v->skipping = 0;
        v->skipped = 0;
        if (!cr_known || cr < i) {
            const uint8_t *q = memchr(p + i, '\r', n - i);
            cr = q ? (size_t)(q - p) : n;
            cr_known = 1;
        }
        const uint8_t *q = memchr(p + i, '\n', cr - i);
        size_t to = q ? (size_t)(q - p) : cr;
        uint64_t at = values_end(v);
        if (!v->nplaces || v->places[v->nplaces - 1].d + (at - v->places[v->nplaces - 1].n) != from + i) {
            if (interp__redact_grow(r, &v->places, &v->places_cap, v->nplaces + 1, sizeof *v->places))
                return;
            v->places[v->nplaces++] = (struct redact_place){ at, from + i };
        }
        memcpy(v->n + v->len, p + i, to - i);
        v->len += to - i;
        i = to;
    }
}

/* A literal is there in full from w->n on. 0: it needs one byte more to know how far it is widened. */
static int complete(struct interp__redactor *r, const struct redact_waiting *w, int final)
{
    const struct redact_literal *l = &r->now->literals[w->literal];
    uint64_t to = in_d(&r->values, w->n + l->len - 1) + 1;
    if (l->right) {
        if (to < redact_end(r))
            to += (uint64_t)base64_char(*redact_at(r, to));
        else if (!final)
            return 0;
    }
    interp__redact_range(r, REDACT_VALUES, w->literal, l->label, w->s, to, 0);
    return 1;
}

static void wait_for(struct interp__redactor *r, const struct redact_waiting *w)
{
    struct redact_values *v = &r->values;
    if (!interp__redact_grow(r, &v->waiting, &v->waiting_cap, v->nwaiting + 1, sizeof *v->waiting))
        v->waiting[v->nwaiting++] = *w;
}

/* Where a literal that starts at n is replaced from. Only a neighbour that stands right beside it counts: one on another line would have to be held. */
static uint64_t start_of(const struct interp__redactor *r, const struct redact_literal *l, uint64_t n)
{
    uint64_t d = in_d(&r->values, n);
    return d - (uint64_t)(l->left && d > r->first && d > r->d0 && base64_char(*redact_at(r, d - 1)));
}

static void literal_at(struct interp__redactor *r, uint32_t literal, uint64_t n, int final)
{
    struct redact_values *v = &r->values;
    const struct redact_literal *l = &r->now->literals[literal];
    if (n < v->n0)
        return;
    uint64_t have = values_end(v) - n;
    if (have > l->len)
        have = l->len;
    if (memcmp(v->n + (n - v->n0), l->p, (size_t)have) != 0)
        return;
    struct redact_waiting w = { start_of(r, l, n), n, literal, (uint32_t)have };
    if (have < l->len || !complete(r, &w, final))
        wait_for(r, &w);
}

static void gram_at(struct interp__redactor *r, uint64_t pos, uint32_t gram, uint32_t hash, int final)
{
    const struct redact_snapshot *now = r->now;
    for (uint32_t x = now->heads[hash >> REDACT_HEAD_SHIFT]; x; x = now->grams[x].next)
        if (now->grams[x].gram == gram && pos >= now->grams[x].off)
            literal_at(r, now->grams[x].literal, pos - now->grams[x].off, final);
}

static inline uint32_t gram_of(const uint8_t *p)
{
    uint32_t g;
    memcpy(&g, p, sizeof g);
    return g;
}
static inline unsigned known(const uint64_t *bitmap, uint32_t hash)
{
    return (unsigned)(bitmap[hash >> 6] >> (hash & 63)) & 1;
}

static void scan(struct interp__redactor *r, int final)
{
    struct redact_values *v = &r->values;
    const struct redact_snapshot *now = r->now;
    const uint64_t *bitmap = now->bitmap;
    const unsigned bits = now->bits;
    const size_t stride = now->stride, len = v->len;
    const uint8_t *n = v->n;
    size_t p = (size_t)(v->scanned - v->n0);
    for (; p + 3 * stride + 4 <= len; p += 4 * stride) {   /* four look-ups at a time, none waits for another */
        uint32_t h0 = redact_hash(gram_of(n + p), bits), h1 = redact_hash(gram_of(n + p + stride), bits);
        uint32_t h2 = redact_hash(gram_of(n + p + 2 * stride), bits), h3 = redact_hash(gram_of(n + p + 3 * stride), bits);
        unsigned hits = known(bitmap, h0) | known(bitmap, h1) << 1 | known(bitmap, h2) << 2 | known(bitmap, h3) << 3;
        for (; __builtin_expect(hits != 0, 0); hits &= hits - 1) {
            size_t q = p + (unsigned)__builtin_ctz(hits) * stride;
            uint32_t g = gram_of(n + q);
            gram_at(r, v->n0 + q, g, redact_hash(g, bits), final);
        }
    }
    for (; p + 4 <= len; p += stride) {
        uint32_t g = gram_of(n + p), h = redact_hash(g, bits);
        if (known(bitmap, h))
            gram_at(r, v->n0 + p, g, h, final);
    }
    v->scanned = v->n0 + p;
}

enum { PREFIX_PUBLIC = 3 };   /* bytes of a value that idle may release: any text ends in that many by chance */

/* What the end cut off: at least half of a literal, and eight bytes. Where bytes are missing the other half may stand behind them. */
static void cut_off(struct interp__redactor *r, uint32_t literal, uint64_t from, uint32_t have, enum redact_level level)
{
    const struct redact_literal *l = &r->now->literals[literal];
    if (level == REDACT_CUT ? have <= PREFIX_PUBLIC : have < INTERP__REDACT_VALUE_MIN || have < (l->len + 1) / 2)
        return;
    interp__redact_range(r, REDACT_VALUES, literal, l->label, from, in_d(&r->values, values_end(&r->values) - 1) + 1, 1);
}

static int prefix_known(const struct redact_snapshot *now, const uint8_t *p, unsigned k)
{
    uint32_t h = redact_prefix_hash(p, k, now->prefix_bits);
    return (int)(now->prefixes[h >> 6] >> (h & 63)) & 1;
}

/* Starts that are too short for a gram to have been looked at for certain. */
static void short_starts(struct interp__redactor *r, enum redact_level level)
{
    struct redact_values *v = &r->values;
    const struct redact_snapshot *now = r->now;
    for (unsigned k = REDACT_PREFIX; k > PREFIX_PUBLIC; k--) {
        if (v->len < k || !prefix_known(now, v->n + v->len - k, k))
            continue;
        uint64_t n = values_end(v) - k;
        const uint8_t *p = v->n + v->len - k;
        uint32_t gram = gram_of(p);
        for (uint32_t x = now->heads[redact_hash(gram, now->bits) >> REDACT_HEAD_SHIFT]; x; x = now->grams[x].next) {
            uint32_t i = now->grams[x].literal;
            const struct redact_literal *l = &now->literals[i];
            int waits = 0;
            if (now->grams[x].gram != gram || now->grams[x].off || l->len <= k || memcmp(l->p, p, k) != 0)
                continue;
            for (size_t w = 0; w < v->nwaiting; w++)
                waits |= v->waiting[w].literal == i && v->waiting[w].n == n;
            if (!waits)
                cut_off(r, i, start_of(r, l, n), k, level);
        }
    }
}

static void rest_of(struct interp__redactor *r, uint32_t literal, size_t n)
{
    const struct redact_literal *l = &r->now->literals[literal];
    uint64_t to = in_d(&r->values, r->values.n0 + n - 1) + 1;
    if (l->right && to < redact_end(r))
        to += (uint64_t)base64_char(*redact_at(r, to));
    interp__redact_range(r, REDACT_VALUES, literal, l->label, r->first, to, 1);
}

/* Bytes are missing before N: it may begin with the rest of a value, and if it ends before that is known, be a piece out of one. */
static void torn_start(struct interp__redactor *r, int final)
{
    struct redact_values *v = &r->values;
    const struct redact_snapshot *now = r->now;
    while (v->inside + 4 <= v->len && known(now->inner, redact_hash(gram_of(v->n + v->inside), now->inner_bits)))
        v->inside++;
    if (v->inside + 4 > v->len && v->len < now->longest && !final)
        return;
    v->torn = 0;
    size_t most = v->inside ? v->inside + 3 : 0;
    for (size_t k = most; k > PREFIX_PUBLIC; k--)
        for (uint32_t x = now->ends[redact_hash(gram_of(v->n + k - 4), now->end_bits)]; x; x = now->ends[((size_t)1 << now->end_bits) + x - 1]) {
            const struct redact_literal *l = &now->literals[x - 1];
            if (l->len > k && !memcmp(l->p + l->len - k, v->n, k)) {
                rest_of(r, x - 1, k);
                return;
            }
        }
    for (uint32_t i = 0; final && most && most == v->len && i < now->nliterals; i++)
        if (memmem(now->literals[i].p, now->literals[i].len, v->n, v->len)) {
            rest_of(r, i, v->len);
            return;
        }
}

void interp__redact_values_run(struct interp__redactor *r, int final, enum redact_level level)
{
    struct redact_values *v = &r->values;
    const struct redact_snapshot *now = r->now;
    if (!now->nliterals)
        return;
    size_t n = v->nwaiting, kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct redact_waiting w = v->waiting[i];
        const struct redact_literal *l = &now->literals[w.literal];
        uint64_t have = values_end(v) - w.n;
        if (have > l->len)
            have = l->len;
        if (memcmp(v->n + (w.n + w.have - v->n0), l->p + w.have, (size_t)have - w.have) != 0)
            continue;
        w.have = (uint32_t)have;
        if (w.have < l->len || !complete(r, &w, final))
            v->waiting[kept++] = w;
    }
    v->nwaiting = kept;
    if (v->torn)
        torn_start(r, final);
    scan(r, final);
    if (level >= REDACT_END) {
        for (size_t i = 0; i < v->nwaiting; i++)
            cut_off(r, v->waiting[i].literal, v->waiting[i].s, v->waiting[i].have, level);
        short_starts(r, level);
    }
    if (final)
        v->nwaiting = 0;
}

int interp__redact_values_begun(const struct interp__redactor *r)
{
    const struct redact_values *v = &r->values;
    int begun = v->nwaiting || v->torn;
    for (unsigned k = 1; k <= REDACT_PREFIX && k <= v->len && r->now->nliterals; k++)
        begun |= prefix_known(r->now, v->n + v->len - k, k);
    return begun;
}

uint64_t interp__redact_values_hold(struct interp__redactor *r, enum redact_level level)
{
    const struct redact_values *v = &r->values;
    const struct redact_snapshot *now = r->now;
    uint64_t hold = redact_end(r);
    if (!now->nliterals || level >= REDACT_END)
        return hold;
    if (v->torn && (level < REDACT_IDLE || v->len > PREFIX_PUBLIC))
        hold = r->first;
    for (size_t i = 0; i < v->nwaiting; i++)
        if (v->waiting[i].s < hold)
            hold = v->waiting[i].s;
    for (unsigned k = REDACT_PREFIX; k > (level >= REDACT_IDLE ? PREFIX_PUBLIC : 0); k--)
        if (v->len >= k && prefix_known(now, v->n + v->len - k, k)) {
            uint64_t d = in_d(v, values_end(v) - k);
            if (d < hold)
                hold = d;
            break;
        }
    /* one byte more: what begins there may be widened */
    return level == REDACT_PUSH && hold > r->first && hold > r->d0 && base64_char(*redact_at(r, hold - 1)) ? hold - 1 : hold;
}

void interp__redact_values_trim(struct interp__redactor *r)
{
    struct redact_values *v = &r->values;
    if (v->len <= BEHIND || v->torn)   /* what it is the rest of is looked for from its first byte on */
        return;
    size_t cut = v->len - BEHIND, k = 0;
    memmove(v->n, v->n + cut, BEHIND);
    v->n0 += cut;
    v->len = BEHIND;
    while (k + 1 < v->nplaces && v->places[k + 1].n <= v->n0)
        k++;
    if (k) {
        memmove(v->places, v->places + k, (v->nplaces - k) * sizeof *v->places);
        v->nplaces -= k;
    }
}
