/* redact_priv.h - seen in this folder only: the parts of a redactor, one section a file */
#ifndef INTERP_LIB_OUTPUT_REDACT_PRIV_H
#define INTERP_LIB_OUTPUT_REDACT_PRIV_H
#include "redact.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
    REDACT_BLOCK = 16384,       /* bytes worked on at a time: views and tables stay in the nearest caches */
    REDACT_HISTORY = 128,       /* bytes of D kept behind what is out: a window's distance (100 at most), and one more for what stands before a match */
    REDACT_PAD = 64,            /* readable bytes behind D: a vector load may start at its last byte */
    REDACT_GAP_MAX = 256,       /* bytes in a row that a view leaves out; more end what is being matched, else a guest could make us hold any amount */
    REDACT_NAMES_MAX = 4096,    /* names of values and patterns */
    REDACT_PATTERNS_MAX = 64
};
#define REDACT_NEVER UINT64_MAX

/* ---- detect.c: built-in detectors on D */
struct redact_candidate {       /* a match under way: where its program stands */
    uint64_t s;
    uint32_t i, from, to, end;  /* offsets from s: read so far, the group (REDACT_NONE: none yet), certain end */
    uint16_t op, k;
    uint8_t unit, program, started, accepted, counted, pem, pem_n;
};
#define REDACT_NONE UINT32_MAX
enum { REDACT_UNITS_MAX = 128 };
struct redact_detect {
    struct redact_candidate *pending;
    size_t npending, cap;
    uint64_t scanned, tried[REDACT_UNITS_MAX], done[REDACT_UNITS_MAX];
    uint8_t busy[REDACT_UNITS_MAX];
};
/* Starts of windows in p[from..to) that fall into a bucket: the same from each variant. Stops when cap are found; returns how many. Reads up to p[to + 2],
   the vector variants REDACT_PAD bytes further. */
typedef size_t redact_scan_fn(const uint8_t *p, size_t from, size_t to, uint32_t *found, size_t cap);
redact_scan_fn *interp__redact_scan_portable(void);
redact_scan_fn *interp__redact_scan_vector(void);      /* NULL: this machine has none */

/* ---- set.c, variants.c */
struct redact_literal {
    const uint8_t *p;
    uint32_t len, label;
    uint8_t left, right, raw;   /* base64: the neighbour on that side has bits of the value */
};
struct redact_gram { uint32_t gram, literal, next, off; };
struct redact_snapshot {        /* what a set was at one time; immutable, shared */
    atomic_uint refs;
    struct interp__mem mem;
    uint64_t generation, units[REDACT_UNITS_MAX / 64];
    int any_unit;
    void *locked;               /* tables made of values */
    size_t locked_size;
    struct redact_literal *literals;
    struct redact_gram *grams;
    uint32_t *heads;            /* chains by hash */
    uint64_t *bitmap, *prefixes, *inner;   /* inner: the grams at all places */
    uint32_t *ends;             /* chains of literals by their last gram: heads, then the next of each literal */
    uint32_t nliterals, longest, stride, bits, prefix_bits, inner_bits, end_bits;   /* stride: of the grams that are looked at, from the shortest literal */
    struct redact_pattern **patterns;
    uint32_t npatterns;
};
void interp__redact_snapshot_free(struct redact_snapshot *s);   /* drops a reference */
const char *interp__redact_set_name(struct interp__redact_set *s, uint32_t label);
/* The set as it is now: `have` when that is it, else with a reference; NULL: out of memory. */
struct redact_snapshot *interp__redact_set_now(struct interp__redact_set *s, const struct redact_snapshot *have);
struct redact_variant { uint8_t left, right; };
/* Every encoding of a value that is looked for; take is called with each, not yet normalised. 0, or what take returned. */
int interp__redact_variants(const uint8_t *p, size_t n, uint8_t *work, size_t room, int (*take)(void *, const uint8_t *, size_t, struct redact_variant), void *userdata);
size_t interp__redact_variants_room(size_t n);
/* p as it stands in N; returns the length. to may be p. */
size_t interp__redact_normalise(uint8_t *to, const uint8_t *p, size_t n);

/* ---- values.c: registered values on N */
struct redact_waiting { uint64_t s, n; uint32_t literal, have; };   /* s: where it starts in D, widened; n: in N */
struct redact_place { uint64_t n, d; };                          /* from here on N runs along D */
struct redact_values {
    uint8_t *n;
    size_t len, cap;
    uint64_t n0, scanned;       /* position of n[0]; next one to be looked at */
    struct redact_place *places;
    size_t nplaces, places_cap;
    struct redact_waiting *waiting;
    size_t nwaiting, waiting_cap;
    uint32_t skipped;           /* bytes left out in a row */
    uint8_t skipping;           /* behind a line break */
    uint8_t torn;               /* bytes are missing before n[0], and whether this is the rest of a value is not known yet */
    uint32_t inside;            /* torn: grams from n[0] on that stand in a value */
};
static inline uint32_t redact_hash(uint32_t gram, unsigned bits)
{
    return gram * UINT32_C(0x9E3779B1) >> (32 - bits);
}
static inline uint32_t redact_prefix_hash(const uint8_t *p, unsigned k, unsigned bits)   /* FNV-1a */
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) + k;
    for (unsigned i = 0; i < k; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)((h * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits));
}
enum { REDACT_HEAD_SHIFT = 4 };   /* sixteen grams of the bitmap share a chain */
enum { REDACT_PREFIX = 16 };    /* a longer start of a value has been found by its grams: stride + 3 is at most this */

/* ---- pattern.c: patterns of the host on D, by PCRE2 */
struct redact_pattern;
struct redact_pattern_state { const struct redact_pattern *of; uint64_t next, tried; uint64_t open_from, open_to; uint32_t left; uint32_t limit_hits; uint8_t waiting, off; };
interp_status interp__redact_pattern_new(const struct interp__mem *m, const char *text, size_t n, uint32_t label, struct redact_pattern **out, interp_error **err);
void interp__redact_pattern_free(struct redact_pattern *p);

/* ---- redact.c */
struct redact_range { uint64_t s, e; uint32_t order, label; uint8_t partial; };
struct redact_ranges { struct redact_range *p; size_t n, cap; };
struct redact_escape { uint8_t state, params; };
/* Whether c, the next raw byte, belongs to a gap: a terminal escape (not OSC and DCS strings: those carry text) or NUL. */
int interp__redact_in_gap(struct redact_escape *e, uint8_t c);
struct redact_gap { uint64_t d; uint32_t at, len; };
struct interp__redactor {
    const struct interp__mem *mem;
    struct interp__redact_set *set;
    struct redact_snapshot *now;
    struct interp__buf *out;                   /* during a call */
    redact_scan_fn *scan;
    uint8_t *d;
    size_t len, cap;
    uint64_t d0, first, beg;                   /* position of d[0]; of the first byte that belongs together; of the first not out yet */
    uint64_t covered;                          /* end of what the last label stands for */
    struct redact_escape escape;
    uint8_t newline, passing, bad, told;   /* newline: kept one already; passing: in a gap too long to be one */
    uint32_t gap_run;
    struct redact_gap *gaps;
    size_t ngaps, gap0, gaps_cap;
    uint8_t *gap_bytes;
    size_t gap_len, gap_cap;
    struct redact_ranges ranges[3];            /* values, patterns, detectors */
    struct redact_detect detect;
    struct redact_values values;
    struct redact_pattern_state *states;
    uint32_t nstates;
    void *pattern_work;
    uint64_t *counts;
    size_t ncounts;
    struct interp__redact_stats stats;
};
enum { REDACT_VALUES, REDACT_PATTERNS, REDACT_DETECTORS };
enum redact_level { REDACT_PUSH, REDACT_IDLE, REDACT_HARD, REDACT_END, REDACT_CUT };

static inline uint64_t redact_end(const struct interp__redactor *r)
{
    return r->d0 + r->len;
}
static inline const uint8_t *redact_at(const struct interp__redactor *r, uint64_t pos)
{
    return r->d + (pos - r->d0);
}
/* Room for one more; an array of secrets' parts is wiped when it moves. 0, -1 (r->bad is set). */
int interp__redact_grow(struct interp__redactor *r, void *array /* of a pointer */, size_t *cap, size_t want, size_t size);
void interp__redact_range(struct interp__redactor *r, int kind, uint32_t order, uint32_t label, uint64_t s, uint64_t e, int partial);
void interp__redact_grown(struct interp__redactor *r, int kind, uint32_t order, uint32_t label, uint64_t s, uint64_t e);   /* the same one, longer */

void interp__redact_detect_run(struct interp__redactor *r, enum redact_level level);
uint64_t interp__redact_detect_hold(const struct interp__redactor *r, enum redact_level level, uint64_t floor);   /* what lies before floor does not matter */
uint64_t interp__redact_detect_keep(const struct interp__redactor *r);      /* D is needed from here */
void interp__redact_detect_reset(struct interp__redactor *r);
const char *interp__redact_detector_name(uint32_t i);                       /* NULL past the end */
size_t interp__redact_detector_bound(const struct redact_snapshot *now);
/* Switches units; returns how many detectors name is for (0: unknown). NULL name: the defaults. */
int interp__redact_detector_switch(uint64_t *units, const char *name, int on);
uint32_t interp__redact_detectors(void);

void interp__redact_values_append(struct interp__redactor *r, uint64_t from);
void interp__redact_values_run(struct interp__redactor *r, int final, enum redact_level level);   /* final: nothing belongs to it any more; END, CUT: what is cut off counts, too */
int interp__redact_values_begun(const struct interp__redactor *r);          /* the end of N may be the start of a value */
uint64_t interp__redact_values_hold(struct interp__redactor *r, enum redact_level level);
void interp__redact_values_reset(struct interp__redactor *r);
void interp__redact_values_trim(struct interp__redactor *r);

int interp__redact_patterns_init(struct interp__redactor *r);
void interp__redact_patterns_free(struct interp__redactor *r);
void interp__redact_patterns_run(struct interp__redactor *r, enum redact_level level);
uint64_t interp__redact_patterns_hold(struct interp__redactor *r, enum redact_level level);
uint64_t interp__redact_patterns_keep(const struct interp__redactor *r);
void interp__redact_patterns_reset(struct interp__redactor *r);
#endif
