/* stream.h - one output stream of an exec on its way out. Order of the pipeline: guest bytes -> redaction -> consumer's events
   -> cap. What is kept: the first head_cap and the last tail_cap bytes; totals are of everything. */
#ifndef INTERP_LIB_OUTPUT_STREAM_H
#define INTERP_LIB_OUTPUT_STREAM_H
#include "base/buf.h"

struct interp__stream {
    struct interp__buf head;
    const struct interp__mem *mem;
    uint8_t *tail;                       /* ring, allocated when head is full */
    size_t head_cap, tail_cap, tail_len, tail_at;
    uint64_t total, newlines;
    uint8_t last;
};
/* What is left at the end. All memory is one block from mem: free `text`. */
struct interp__kept {
    char *text;                          /* head + marker + tail, NUL behind */
    size_t text_len;
    char *head, *tail;                   /* inside a second block that starts at head; tail NULL when nothing is missing */
    size_t head_len, tail_len;
    uint64_t total, lines;
    int truncated;
};
void interp__stream_init(struct interp__stream *s, const struct interp__mem *mem, size_t head_cap, size_t tail_cap);
void interp__stream_feed(struct interp__stream *s, const void *p, size_t n);
/* Takes what is kept; s is empty afterwards. 0, or -1 when out of memory (then totals stand, texts are empty). */
int  interp__stream_finish(struct interp__stream *s, struct interp__kept *out);
void interp__stream_free(struct interp__stream *s);
void interp__kept_free(struct interp__kept *k, const struct interp__mem *mem);
#endif
