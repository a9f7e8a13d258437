/* detect.c - built-in detectors on D: windows of four bytes find where a match may be, a straight-line program decides whether it is one */
#include "redact_priv.h"
#include <string.h>

enum op_kind { OP_SET, OP_TEXT, OP_TEXT_CI, OP_OCTET, OP_PEM, OP_NOT, OP_BEGIN, OP_END, OP_ACCEPT, OP_DONE };
struct detector { const char *name; uint8_t group, on; };
struct unit { uint8_t detector, left; uint16_t program; uint8_t programs, near, far; uint16_t hold, shortest; };
struct program { uint16_t op, same; };     /* same: operations at its start that are the previous program's */
struct op { uint8_t kind; uint16_t arg, min, max; };
struct prefix { uint8_t len, set[24]; };
#include "redact_tables.h"

_Static_assert((int)UNITS <= (int)REDACT_UNITS_MAX && (int)RUN_HOLD < (int)REDACT_HISTORY, "the engine's room for the tables");

/* ---- the prefilter */

static size_t scan_portable(const uint8_t *p, size_t from, size_t to, uint32_t *found, size_t cap)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        if (BUCKET[0][p[i]] & BUCKET[1][p[i + 1]] & BUCKET[2][p[i + 2]] & BUCKET[3][p[i + 3]]) {
            found[n++] = (uint32_t)i;
            if (n == cap)
                break;
        }
    return n;
}
redact_scan_fn *interp__redact_scan_portable(void)
{
    return scan_portable;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
/* For each of the four bytes two look-ups, by low and by high nibble, give the buckets that accept it: eight in each of two tables. The compiler
   must keep the sixteen tables apart, so the four steps are written out. */
__attribute__((target("avx2"))) static size_t scan_avx2(const uint8_t *p, size_t from, size_t to, uint32_t *found, size_t cap)
{
#define LOAD(t, j, k) _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)NIBBLE[t][j][k]))
#define TABLES(j) const __m256i la##j = LOAD(0, j, 0), ha##j = LOAD(0, j, 1), lb##j = LOAD(1, j, 0), hb##j = LOAD(1, j, 1)
#define STEP(j) \
    const __m256i x##j = _mm256_loadu_si256((const __m256i *)(const void *)(p + i + j)); \
    const __m256i lo##j = _mm256_and_si256(x##j, low), hi##j = _mm256_and_si256(_mm256_srli_epi16(x##j, 4), low); \
    const __m256i a##j = _mm256_and_si256(_mm256_shuffle_epi8(la##j, lo##j), _mm256_shuffle_epi8(ha##j, hi##j)); \
    const __m256i b##j = _mm256_and_si256(_mm256_shuffle_epi8(lb##j, lo##j), _mm256_shuffle_epi8(hb##j, hi##j))
    TABLES(0);
    TABLES(1);
    TABLES(2);
    TABLES(3);
    const __m256i low = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    size_t n = 0;
    for (size_t i = from; i < to; i += 32) {
        STEP(0);
        STEP(1);
        STEP(2);
        STEP(3);
        const __m256i a = _mm256_and_si256(_mm256_and_si256(a0, a1), _mm256_and_si256(a2, a3));
        const __m256i b = _mm256_and_si256(_mm256_and_si256(b0, b1), _mm256_and_si256(b2, b3));
        uint32_t hits = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_or_si256(a, b), zero));
        if (to - i < 32)
            hits &= (UINT32_C(1) << (to - i)) - 1;
        for (; __builtin_expect(hits != 0, 0); hits &= hits - 1) {
            found[n++] = (uint32_t)i + (uint32_t)__builtin_ctz(hits);
            if (n == cap)
                return n;
        }
    }
    return n;
#undef LOAD
#undef TABLES
#undef STEP
}
redact_scan_fn *interp__redact_scan_vector(void)
{
    return __builtin_cpu_supports("avx2") ? scan_avx2 : NULL;
}
#elif defined(__aarch64__)
#include <arm_neon.h>
static size_t scan_neon(const uint8_t *p, size_t from, size_t to, uint32_t *found, size_t cap)
{
    uint8x16_t table[2][4][2];
    for (int t = 0; t < 2; t++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 2; k++)
                table[t][j][k] = vld1q_u8(NIBBLE[t][j][k]);
    const uint8x16_t low = vdupq_n_u8(15);
    size_t n = 0;
    for (size_t i = from; i < to; i += 16) {
        uint8x16_t a = vdupq_n_u8(0), b = a;
        for (int j = 0; j < 4; j++) {
            uint8x16_t x = vld1q_u8(p + i + j), lo = vandq_u8(x, low), hi = vshrq_n_u8(x, 4);
            uint8x16_t y = vandq_u8(vqtbl1q_u8(table[0][j][0], lo), vqtbl1q_u8(table[0][j][1], hi));
            uint8x16_t z = vandq_u8(vqtbl1q_u8(table[1][j][0], lo), vqtbl1q_u8(table[1][j][1], hi));
            a = j ? vandq_u8(a, y) : y;
            b = j ? vandq_u8(b, z) : z;
        }
        uint8x16_t any = vorrq_u8(a, b), hit = vtstq_u8(any, any);
        /* four bits a byte: there is no movemask */
        uint64_t hits = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(hit), 4)), 0) & UINT64_C(0x8888888888888888);
        for (; hits; hits &= hits - 1) {
            size_t at = i + (unsigned)__builtin_ctzll(hits) / 4;
            if (at >= to)
                return n;
            found[n++] = (uint32_t)at;
            if (n == cap)
                return n;
        }
    }
    return n;
}
redact_scan_fn *interp__redact_scan_vector(void)
{
    return scan_neon;
}
#else
redact_scan_fn *interp__redact_scan_vector(void)
{
    return NULL;
}
#endif

/* ---- programs */

static inline int in_class(unsigned k, uint8_t c)
{
    return CLASS[k >> 3][c] >> (k & 7) & 1;
}

/* The END line of a PEM block, read byte by byte: five dashes, "END ", 11 to 40 of its label, five dashes. Returns 1 behind the last dash. */
static int pem_step(struct redact_candidate *c, uint8_t b)
{
    enum { DASHES = 0, WORD = 1, LABEL = 2, TAIL_DASHES = 3 };
    static const char word[] = "END ";
    switch (c->pem) {
    case WORD:
        if (b == (uint8_t)word[c->pem_n]) {
            if (++c->pem_n == 4)
                c->pem = LABEL, c->pem_n = 0;
            return 0;
        }
        break;
    case LABEL:
        if ((b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == ' ') {
            if (++c->pem_n > 40)
                c->pem = DASHES, c->pem_n = 0;
            return 0;
        }
        if (b == '-' && c->pem_n >= 11) {
            c->pem = TAIL_DASHES, c->pem_n = 1;
            return 0;
        }
        break;
    case TAIL_DASHES:
        if (b == '-')
            return ++c->pem_n == 5;
        break;
    default:
        if (b == 'E' && c->pem_n == 5) {
            c->pem = WORD, c->pem_n = 1;
            return 0;
        }
        if (b == '-') {
            c->pem_n = (uint8_t)(c->pem_n < 5 ? c->pem_n + 1 : 5);
            return 0;
        }
    }
    c->pem = DASHES;
    c->pem_n = b == '-';
    return 0;
}

/* Whether nothing that is needed comes after op. */
static int certain_after(const struct op *op)
{
    while (op->kind == OP_END || op->kind == OP_BEGIN)
        op++;
    return op->kind == OP_ACCEPT || op->kind == OP_DONE;
}

/* A secret that the end of the stream cut: more than half there, and at least eight bytes that are not the format's own. Where bytes are missing, a few such bytes. */
enum { PARTIAL_BODY = 8, CUT_BODY = 4 };
static int is_partial(const struct unit *u, const struct program *g, const struct redact_candidate *c, enum redact_level level)
{
    uint32_t body = 0;
    if (c->from != REDACT_NONE)
        body = c->i - c->from;
    else {
        for (const struct op *o = &OP[g->op]; o->kind != OP_DONE; o++)
            if (o->kind == OP_BEGIN)
                return 0;
        const struct op *first = &OP[g->op];
        uint32_t own = first->kind == OP_TEXT || first->kind == OP_TEXT_CI ? first->min : 0;
        body = c->i > own ? c->i - own : 0;
    }
    return level == REDACT_CUT ? body >= CUT_BODY : body >= PARTIAL_BODY && c->i * 2 >= u->shortest;
}

enum verdict { NO, MORE, OPEN, MATCH, PARTIAL };   /* OPEN: a match, its end not yet seen */

static enum verdict run(const struct interp__redactor *r, struct redact_candidate *c, enum redact_level level)
{
    const int final = level >= REDACT_END;
    const struct unit *u = &UNIT[c->unit];
    const uint64_t s = c->s, len = redact_end(r) - s;
    uint32_t partial_from = 0, partial = 0;
    for (;;) {
        const struct program *g = &PROGRAM[u->program + c->program];
        const struct op *o = &OP[g->op + c->op];
        for (;; o++, c->op++, c->k = 0) {
            const uint8_t *b = r->d + (s + c->i - r->d0);
            const size_t n = len - c->i;
            size_t i = 0;
            switch ((enum op_kind)o->kind) {
            case OP_SET: case OP_OCTET: {
                const uint8_t *set = CLASS[o->arg >> 3], bit = (uint8_t)(1u << (o->arg & 7));
                size_t most = (size_t)(o->max - c->k) < n ? (size_t)(o->max - c->k) : n;
                while (i < most && set[b[i]] & bit)
                    i++;
                c->k = (uint16_t)(c->k + i);
                c->i += (uint32_t)i;
                if (c->k < o->max && i == n && !final) {
                    if (o->kind == OP_SET && c->k >= o->min && certain_after(o + 1)) {
                        c->accepted = 1;
                        c->end = c->i;
                    }
                    return c->accepted ? OPEN : MORE;
                }
                if (c->k < o->min)
                    goto failed;
                if (o->kind == OP_OCTET) {
                    unsigned v = 0;
                    for (const uint8_t *q = b + i - c->k; q < b + i; q++)
                        v = v * 10 + *q - '0';
                    if (v > 255)
                        goto failed;
                }
                continue;
            }
            case OP_TEXT: case OP_TEXT_CI: {
                const uint8_t *text = (const uint8_t *)TEXT + o->arg;
                uint8_t fold = o->kind == OP_TEXT_CI ? 32 : 0;
                for (; c->k < o->min && i < n; c->k++, i++) {
                    uint8_t want = text[c->k];
                    if (b[i] != want && !(fold && want >= 'a' && want <= 'z' && (b[i] | fold) == want))
                        break;
                }
                c->i += (uint32_t)i;
                if (c->k == o->min)
                    continue;
                if (i == n && !final)
                    return c->accepted ? OPEN : MORE;
                goto failed;
            }
            case OP_PEM:
                while (i < n && c->k < o->max && in_class(o->arg, b[i])) {
                    c->k++;
                    if (pem_step(c, b[i++]))
                        break;
                }
                c->i += (uint32_t)i;
                if (i == n && c->k < o->max && !final && !(c->pem == 3 && c->pem_n == 5)) {
                    c->accepted = 1;
                    c->end = c->i;
                    return OPEN;
                }
                continue;
            case OP_NOT:
                if (n == 0) {
                    if (!final)
                        return MORE;
                    continue;
                }
                if (in_class(o->arg, b[0]))
                    goto failed;
                if (o->min && b[0] == '.') {
                    if (n == 1 && !final)
                        return MORE;
                    if (n > 1 && in_class(o->arg, b[1]))
                        goto failed;
                }
                continue;
            case OP_BEGIN:
                c->from = c->i;
                continue;
            case OP_END:
                c->to = c->i;
                continue;
            case OP_ACCEPT:
                c->accepted = 1;
                c->end = c->i;
                continue;
            case OP_DONE:
                c->accepted = 1;
                c->end = c->i;
                return MATCH;
            }
        }
    failed:
        if (c->accepted)
            return MATCH;
        if (final && c->i == len && !partial && is_partial(u, g, c, level)) {
            partial = 1;
            partial_from = c->from != REDACT_NONE ? c->from : 0;
        }
        {
            unsigned next = c->program + 1u, at = c->op;
            while (next < u->programs && PROGRAM[u->program + next].same > at)
                next++;
            if (next >= u->programs)
                break;
            c->program = (uint8_t)next;
            c->op = c->k = 0;
            c->i = 0;
            c->from = c->to = REDACT_NONE;
            c->pem = c->pem_n = 0;
        }
    }
    if (!partial)
        return NO;
    c->from = partial_from;
    c->to = REDACT_NONE;
    c->end = (uint32_t)len;
    return PARTIAL;
}

/* Runs a candidate and takes what it says. Returns whether it waits for more. */
static int decide(struct interp__redactor *r, struct redact_candidate *c, enum redact_level level)
{
    const struct unit *u = &UNIT[c->unit];
    c->started = 1;
    enum verdict v = run(r, c, level);
    if (v == NO)
        return 0;
    if (v == MORE)
        return 1;
    uint64_t from = c->s + (c->from != REDACT_NONE ? c->from : 0), to = c->s + (c->to != REDACT_NONE ? c->to : c->end);
    if (c->counted)
        interp__redact_grown(r, REDACT_DETECTORS, c->unit, u->detector, from, to);
    else
        interp__redact_range(r, REDACT_DETECTORS, c->unit, u->detector, from, to, v == PARTIAL);
    c->counted = 1;
    uint64_t done = c->s + c->end;
    if (r->detect.done[c->unit] < done)
        r->detect.done[c->unit] = done;
    return v == OPEN;
}

static void keep(struct interp__redactor *r, const struct redact_candidate *c)
{
    struct redact_detect *t = &r->detect;
    if (interp__redact_grow(r, &t->pending, &t->cap, t->npending + 1, sizeof *t->pending))
        return;
    t->pending[t->npending++] = *c;
    t->busy[c->unit] = 1;
}

static void consider(struct interp__redactor *r, unsigned unit, uint64_t s, enum redact_level level)
{
    struct redact_detect *t = &r->detect;
    const struct unit *u = &UNIT[unit];
    if (s < t->tried[unit])
        return;
    t->tried[unit] = s + 1;
    if (s < t->done[unit] || (u->left != 255 && s > r->first && in_class(u->left, *redact_at(r, s - 1))))
        return;
    struct redact_candidate c = { .s = s, .unit = (uint8_t)unit, .from = REDACT_NONE, .to = REDACT_NONE };
    if (t->busy[unit] || decide(r, &c, level))   /* an earlier one is undecided and may cover it */
        keep(r, &c);
}

static void window(struct interp__redactor *r, uint64_t pos, enum redact_level level)
{
    const uint8_t *p = redact_at(r, pos);
    uint64_t there = redact_end(r) - pos, n = there < 8 ? there : 8;
    for (unsigned w = 0; w < WINDOW_WORDS; w++) {
        uint64_t hits = ~UINT64_C(0);
        for (uint64_t j = 0; hits && j < n; j++)   /* the window's four bytes, and those after it as far as they are there */
            hits &= EXACT[j][ALIKE[j][p[j]]][w];
        for (; hits; hits &= hits - 1) {
            unsigned e = w * 64 + (unsigned)__builtin_ctzll(hits);
            for (unsigned x = WINDOW_FIRST[e]; x < WINDOW_FIRST[e + 1]; x++) {
                unsigned unit = WINDOW_UNITS[x];
                const struct unit *u = &UNIT[unit];
                if (!(r->now->units[unit >> 6] >> (unit & 63) & 1) || pos - r->first < u->near)
                    continue;
                uint64_t s = pos - r->first < u->far ? r->first : pos - u->far, to = pos - u->near;
                for (; s <= to; s++)
                    consider(r, unit, s, level);
            }
        }
    }
}

void interp__redact_detect_run(struct interp__redactor *r, enum redact_level level)
{
    struct redact_detect *t = &r->detect;
    size_t n = t->npending, kept = 0;
    if (n) {
        memset(t->busy, 0, sizeof t->busy);
        for (size_t i = 0; i < n; i++) {
            struct redact_candidate c = t->pending[i];
            if (!t->busy[c.unit]) {
                if ((!c.started && c.s < t->done[c.unit]) || !decide(r, &c, level))
                    continue;
                t->busy[c.unit] = 1;
            }
            t->pending[kept++] = c;
        }
        t->npending = kept;
    }
    if (!r->now->any_unit || r->len < 4)
        return;
    uint64_t to = redact_end(r) - 3;
    if (t->scanned < r->d0)
        t->scanned = r->d0;
    uint32_t found[256];
    while (t->scanned < to) {
        size_t hits = r->scan(r->d, (size_t)(t->scanned - r->d0), (size_t)(to - r->d0), found, 256);
        for (size_t i = 0; i < hits; i++)
            window(r, r->d0 + found[i], level);
        t->scanned = hits == 256 ? r->d0 + found[255] + 1 : to;
    }
}

/* Bytes of the format alone tell nothing: they may go when nothing more comes. */
static int is_public(const struct redact_candidate *c)
{
    const struct unit *u = &UNIT[c->unit];
    const struct program *g = &PROGRAM[u->program + c->program];
    if (c->from != REDACT_NONE)
        return c->i <= c->from;
    for (const struct op *o = &OP[g->op]; o->kind != OP_DONE; o++)
        if (o->kind == OP_BEGIN)
            return 1;
    return OP[g->op].kind == OP_TEXT || OP[g->op].kind == OP_TEXT_CI ? c->i <= OP[g->op].min : 0;
}

enum { RUN_PUBLIC = 14 };   /* a shorter word is the start of no key that matters: those run to 37 bytes and more before their mark */

uint64_t interp__redact_detect_hold(const struct interp__redactor *r, enum redact_level level, uint64_t floor)
{
    const struct redact_detect *t = &r->detect;
    uint64_t end = redact_end(r), hold = end;
    for (size_t i = 0; i < t->npending; i++) {
        const struct redact_candidate *c = &t->pending[i];
        uint64_t from = c->accepted ? c->s + c->end : c->s;
        if (from < hold && !(level >= REDACT_IDLE && c->started && !c->accepted && is_public(c)))
            hold = from;
    }
    if (!r->now->any_unit || level >= REDACT_END)
        return hold;
    /* tails whose window is not complete: the start of a fixed text, or a run that a later mark may make a key */
    const uint64_t low = end - r->first < PREFIX_MAX ? r->first : end - PREFIX_MAX;
    if (level == REDACT_PUSH)
        for (uint64_t k = end; k > low && k > floor && TAIL[*redact_at(r, k - 1)] & 1;) {
            k--;
            const uint8_t *p = redact_at(r, k);
            size_t n = (size_t)(end - k);
            for (unsigned x = PREFIX_FIRST[*p]; x < PREFIX_FIRST[*p + 1]; x++) {
                const struct prefix *f = &PREFIX[PREFIX_LIST[x]];
                size_t i = 1;
                while (i < n && i < f->len && in_class(f->set[i], p[i]))
                    i++;
                if (i == n && n <= f->len) {
                    if (k < hold)
                        hold = k;
                    break;
                }
            }
        }
    uint64_t s = end;
    while (s > floor && s > r->first && end - s < RUN_HOLD && TAIL[*redact_at(r, s - 1)] & 2)
        s--;
    if (s < hold && (level == REDACT_PUSH || (level == REDACT_IDLE && end - s >= RUN_PUBLIC)))
        hold = s;
    return hold;
}

uint64_t interp__redact_detect_keep(const struct interp__redactor *r)
{
    uint64_t from = r->beg;
    for (size_t i = 0; i < r->detect.npending; i++) {
        const struct redact_candidate *c = &r->detect.pending[i];
        uint64_t s = c->accepted ? c->s + c->i : c->s;
        if (s < from)
            from = s;
    }
    return from;
}

void interp__redact_detect_reset(struct interp__redactor *r)
{
    r->detect.npending = 0;
    r->detect.scanned = redact_end(r);
    memset(r->detect.busy, 0, sizeof r->detect.busy);
}

/* ---- what there is */

uint32_t interp__redact_detectors(void)
{
    return DETECTORS;
}
const char *interp__redact_detector_name(uint32_t i)
{
    return i < DETECTORS ? DETECTOR[i].name : NULL;
}
size_t interp__redact_detector_bound(const struct redact_snapshot *now)
{
    size_t most = now->any_unit ? RUN_HOLD : 0;
    for (unsigned i = 0; i < UNITS; i++)
        if (now->units[i >> 6] >> (i & 63) & 1 && UNIT[i].hold > most)
            most = UNIT[i].hold;
    return most;
}
int interp__redact_detector_switch(uint64_t *units, const char *name, int on)
{
    int n = 0, all = name && !strcmp(name, "all");
    for (unsigned i = 0; i < UNITS; i++) {
        const struct detector *d = &DETECTOR[UNIT[i].detector];
        if (name && !all && strcmp(name, d->name) && strcmp(name, GROUP_NAMES[d->group]))
            continue;
        n++;
        uint64_t bit = UINT64_C(1) << (i & 63);
        if (name ? on : d->on)
            units[i >> 6] |= bit;
        else
            units[i >> 6] &= ~bit;
    }
    return n;
}
