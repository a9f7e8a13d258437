/* buf.h - a growing byte buffer. A failed allocation makes `bad` stick; appends then do nothing, so that callers check once. */
#ifndef INTERP_LIB_BASE_BUF_H
#define INTERP_LIB_BASE_BUF_H
#include "mem.h"

struct interp__buf {
    const struct interp__mem *mem;
    uint8_t *p;
    size_t len, cap;
    int bad;
};

void interp__buf_init(struct interp__buf *b, const struct interp__mem *mem);
void interp__buf_free(struct interp__buf *b);                          /* empty again, usable */
int  interp__buf_reserve(struct interp__buf *b, size_t more);          /* 0, or -1 */
void interp__buf_add(struct interp__buf *b, const void *p, size_t n);
void interp__buf_str(struct interp__buf *b, const char *s);
void interp__buf_fmt(struct interp__buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void interp__buf_drop(struct interp__buf *b, size_t n);                /* removes n bytes from the start */
void interp__buf_used(struct interp__buf *b, size_t *at);                 /* the first *at bytes are done with: taken away, and *at 0, once no more than they stays behind them */
const char *interp__buf_text(struct interp__buf *b);                   /* puts a NUL behind the bytes; NULL when bad */
#endif
