/* stream.h - one output stream of an exec on its way out. Order of the pipeline: guest bytes -> redaction -> consumer's events
   -> cap. What is kept: the first head_cap and the last tail_cap bytes, and of those as many as a budget of estimated tokens allows; totals are of
   everything. No cut is made inside a UTF-8 character, a label of redaction or a terminal escape. */
#ifndef INTERP_LIB_OUTPUT_STREAM_H
#define INTERP_LIB_OUTPUT_STREAM_H
#include "base/buf.h"

struct interp__stream {
    struct interp__buf head;             /* head_cap bytes, and some behind them to see what a cut there would cut */
    const struct interp__mem *mem;
    uint8_t *tail;                       /* ring, allocated when head is full: tail_cap bytes, and some before them */
    size_t head_cap, tail_cap, tail_len, tail_at;
    uint64_t total, newlines;
    uint64_t tokens;                     /* of head and tail together; 0: bytes alone count */
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
void interp__stream_init(struct interp__stream *s, const struct interp__mem *mem, size_t head_cap, size_t tail_cap, uint64_t tokens);
void interp__stream_feed(struct interp__stream *s, const void *p, size_t n);
/* Whether n more bytes would be the first that are not kept. Until then interp__stream_all gives everything that came, in two pieces. */
int  interp__stream_overflows(const struct interp__stream *s, size_t n);
void interp__stream_all(const struct interp__stream *s, struct interp__buf *out);
/* Copies what is kept from offset on, or from the first byte behind it that is: *at says which. 0 when there is none. */
size_t interp__stream_read(const struct interp__stream *s, uint64_t offset, void *out, size_t n, uint64_t *at);
size_t interp__kept_read(const struct interp__kept *k, uint64_t offset, void *out, size_t n, uint64_t *at);
int  interp__stream_cuts(const struct interp__stream *s);   /* all that came is here, and yet more than the budget of tokens allows */
/* Takes what is kept; s is empty afterwards. 0, or -1 when out of memory (then totals stand, texts are empty). */
int  interp__stream_finish(struct interp__stream *s, struct interp__kept *out);
void interp__stream_free(struct interp__stream *s);
void interp__kept_free(struct interp__kept *k, const struct interp__mem *mem);

/* Where a text of n bytes may be cut: the last place at or before `at` (its start is kept), the first at or after it (its end is kept). Looks at most
   INTERP__CUT_LOOK bytes to either side. */
enum { INTERP__CUT_LOOK = 64 };
size_t interp__cut_before(const void *p, size_t n, size_t at);
size_t interp__cut_after(const void *p, size_t n, size_t at);
/* A text of at most cap bytes: head, marker, tail. Returns a block of mem, NUL behind it, or NULL without memory. */
char *interp__shorten(const struct interp__mem *mem, const void *p, size_t n, size_t cap, size_t *len);

/* tokens.c: about how many tokens a language model makes of a text; never less than one for INTERP__TOKEN_BYTES bytes */
enum { INTERP__TOKEN_BYTES = 8 };
uint64_t interp__tokens(const void *p, size_t n);
/* The longest start, and the longest end, with at most that many. */
size_t interp__tokens_head(const void *p, size_t n, uint64_t tokens);
size_t interp__tokens_tail(const void *p, size_t n, uint64_t tokens);
#endif
