#include "buf.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void interp__buf_init(struct interp__buf *b, const struct interp__mem *mem)
{
    memset(b, 0, sizeof *b);
    b->mem = mem;
}

void interp__buf_free(struct interp__buf *b)
{
    interp__free(b->mem, b->p);
    interp__buf_init(b, b->mem);
}

int interp__buf_reserve(struct interp__buf *b, size_t more)
{
    if (b->bad)
        return -1;
    if (more <= b->cap - b->len)
        return 0;
    if (more > SIZE_MAX / 2 - b->len) {
        b->bad = 1;
        return -1;
    }
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->len < more)
        cap *= 2;
    uint8_t *p = interp__resize(b->mem, b->p, cap);
    if (!p) {
        b->bad = 1;
        return -1;
    }
    b->p = p;
    b->cap = cap;
    return 0;
}

void interp__buf_add(struct interp__buf *b, const void *p, size_t n)
{
    if (n == 0 || interp__buf_reserve(b, n))
        return;
    memcpy(b->p + b->len, p, n);
    b->len += n;
}

void interp__buf_str(struct interp__buf *b, const char *s)
{
    interp__buf_add(b, s, strlen(s));
}

void interp__buf_fmt(struct interp__buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || interp__buf_reserve(b, (size_t)n + 1))
        return;
    va_start(ap, fmt);
    vsnprintf((char *)b->p + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

void interp__buf_drop(struct interp__buf *b, size_t n)
{
    if (n >= b->len) {
        b->len = 0;
        return;
    }
    memmove(b->p, b->p + n, b->len - n);
    b->len -= n;
}

void interp__buf_used(struct interp__buf *b, size_t *at)
{
    if (*at < b->len - *at)
        return;
    interp__buf_drop(b, *at);
    *at = 0;
}

const char *interp__buf_text(struct interp__buf *b)
{
    if (interp__buf_reserve(b, 1))
        return NULL;
    b->p[b->len] = 0;
    return (const char *)b->p;
}
