/* redact.h - secrets on their way out become [REDACTED:name]. Pure: bytes in, bytes out, no descriptors, no clock.

   A set says what is looked for: values that the host registered (in every usual encoding), built-in detectors (detectors.def), patterns of the host.
   Any thread may add to it at any time. A redactor is one stream over a set; it takes up what was added at its next push.

   Three views of a stream:
     raw --(terminal escapes and NUL taken out, kept as gaps)--> D --(CR, LF and blanks after LF taken out)--> N
   Detectors and patterns match on D, values on N, so that colours, UTF-16 and line breaks hide nothing. What is replaced is a range of D. Overlapping
   ranges become one label, that of the leftmost (same start: value, then pattern, then detector). Gaps inside a range come out after its label; of its line
   breaks one is kept.

   The output depends on the bytes only, not on how they are cut into pushes; except that idle releases what was held and is public. */
#ifndef INTERP_LIB_OUTPUT_REDACT_H
#define INTERP_LIB_OUTPUT_REDACT_H
#include "base/buf.h"

struct interp__redact_set;
struct interp__redactor;

enum {
    INTERP__REDACT_VALUE_MIN = 8,             /* shorter ones are words of ordinary output */
    INTERP__REDACT_VALUE_MAX = 64 << 10,
    INTERP__REDACT_NAME_MAX = 40,
    INTERP__REDACT_PATTERN_MAX = 4096,        /* bytes of a pattern's source */
    INTERP__REDACT_WINDOW = 1024              /* a pattern's match is at most this long */
};

struct interp__redact_set *interp__redact_set_new(const struct interp__mem *m);
/* The same in memory of the caller's: interp__redact_set_size() bytes, zeroed, that stay until after the last reference has been dropped. */
size_t interp__redact_set_size(void);
void interp__redact_set_init(struct interp__redact_set *s, const struct interp__mem *m);
/* One that looks for all that its parent does, and more or less: what is added and switched here. The parent keeps changing. One level only. */
struct interp__redact_set *interp__redact_set_over(struct interp__redact_set *parent, const struct interp__mem *m);
struct interp__redact_set *interp__redact_set_ref(struct interp__redact_set *s);
void interp__redact_set_free(struct interp__redact_set *s);        /* drops a reference; wipes with the last */
/* Errors: INVAL (reasons redact-name, redact-short, redact-common, redact-pattern), LIMIT, NOMEM, UNSUPPORTED (no PCRE2 in this build). */
interp_status interp__redact_set_value(struct interp__redact_set *s, const char *name, const void *p, size_t n, interp_error **err);
interp_status interp__redact_set_pattern(struct interp__redact_set *s, const char *name, const char *pattern, size_t n, interp_error **err);
interp_status interp__redact_set_detector(struct interp__redact_set *s, const char *name, int on, interp_error **err);   /* a detector, a group or "all" */
void interp__redact_set_default_detectors(struct interp__redact_set *s);   /* those that are on at first, and no others */
void interp__redact_set_nothing(struct interp__redact_set *s);             /* of one over another: redaction is off */
int interp__redact_has_patterns(void);                             /* built with PCRE2 */


struct interp__redact_stats {
    uint64_t in, out, replaced, partial, early, limit_hits;        /* bytes; partial: labels of unfinished secrets; early: bytes that idle released */
    size_t held_max;
    int degraded;                                                  /* a pattern was switched off for hitting its limit too often */
};
struct interp__redactor *interp__redactor_new(struct interp__redact_set *s, const struct interp__mem *m);   /* NULL: out of memory */
void interp__redactor_free(struct interp__redactor *r);            /* wipes */
/* out gets what is decided. Out of memory: the rest of the stream is swallowed and a label says so. */
void interp__redactor_push(struct interp__redactor *r, const void *p, size_t n, struct interp__buf *out);
/* Nothing came for a while (the caller's clock): what is held and public goes out. hard: also what is probably public. */
enum { INTERP__REDACT_IDLE_MS = 30, INTERP__REDACT_HARD_MS = 1000 };
void interp__redactor_idle(struct interp__redactor *r, int hard, struct interp__buf *out);
void interp__redactor_finish(struct interp__redactor *r, struct interp__buf *out);   /* end of the stream; afterwards r is as new, counts go on */
/* Bytes are missing here. What came ends inside of something and what comes begins inside of something, so less of a secret is enough than at an end: the start of a value
   with more bytes than idle would release, and as short an end of one where it goes on. */
void interp__redactor_cut(struct interp__redactor *r, struct interp__buf *out);
/* All goes out as at the end, but r goes on: where the rest of a secret comes, that is replaced. */
void interp__redactor_pause(struct interp__redactor *r, struct interp__buf *out);
void interp__redactor_shrink(struct interp__redactor *r);          /* gives back room that it will not need while nothing comes */
size_t interp__redactor_held(const struct interp__redactor *r);    /* bytes that wait for what comes */
size_t interp__redactor_bound(const struct interp__redactor *r);   /* most that it can ever be, gaps and line breaks apart */
int interp__redactor_quiet(const struct interp__redactor *r);       /* nothing is held and nothing that is out began a secret: a new one would do as well */
int interp__redactor_lost(const struct interp__redactor *r);        /* ran out of memory */
const struct interp__redact_stats *interp__redactor_stats(const struct interp__redactor *r);

/* Hits by name. Take them from several streams, then write {"name":count}. */
struct interp__redact_counts { const struct interp__mem *mem; uint64_t *n; size_t len; };
void interp__redact_counts_take(struct interp__redact_counts *c, struct interp__redactor *r);   /* r counts from 0 again */
void interp__redact_counts_add(struct interp__redact_counts *c, const struct interp__redact_counts *more);
void interp__redact_counts_json(const struct interp__redact_counts *c, struct interp__redact_set *s, struct interp__buf *out);
void interp__redact_counts_free(struct interp__redact_counts *c);
#endif
