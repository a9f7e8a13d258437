/* buf.c - a growing text, and what is needed to write JSON into it.
   SPDX-License-Identifier: MIT */
#include "buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *xrealloc(void *p, size_t n)
{
    void *q = realloc(p, n ? n : 1);
    if (!q) {
        fputs("interp: out of memory\n", stderr);
        exit(70);
    }
    return q;
}

char *xdup(const void *p, size_t n)
{
    char *s = xrealloc(NULL, n + 1);
    if (n)
        memcpy(s, p, n);
    s[n] = 0;
    return s;
}

void buf_free(struct buf *b)
{
    free(b->p);
    memset(b, 0, sizeof *b);
}

char *buf_room(struct buf *b, size_t n)
{
    if (b->cap - b->len < n) {
        size_t cap = b->cap < 256 ? 256 : b->cap + b->cap / 2;
        if (cap < b->len + n)
            cap = b->len + n;
        b->p = xrealloc(b->p, cap);
        b->cap = cap;
    }
    return b->p + b->len;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (!n)
        return;
    memcpy(buf_room(b, n), p, n);
    b->len += n;
}

void buf_text(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_u64(struct buf *b, uint64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    buf_add(b, text, (size_t)n);
}

/* Length of the character at p: 1 to 4; or minus the length of the bad bytes there (the longest start of a character, else 1). */
static int utf8_step(const unsigned char *p, size_t n)
{
    unsigned c = p[0], low = 0x80, high = 0xBF;
    int want;
    if (c < 0x80)
        return 1;
    if (c >= 0xC2 && c <= 0xDF)
        want = 2;
    else if (c >= 0xE0 && c <= 0xEF)
        want = 3;
    else if (c >= 0xF0 && c <= 0xF4)
        want = 4;
    else
        return -1;
    if (c == 0xE0)
        low = 0xA0;
    else if (c == 0xED)
        high = 0x9F;
    else if (c == 0xF0)
        low = 0x90;
    else if (c == 0xF4)
        high = 0x8F;
    for (int i = 1; i < want; i++) {
        if ((size_t)i >= n || p[i] < low || p[i] > high)
            return -i;
        low = 0x80, high = 0xBF;
    }
    return want;
}

int utf8_valid(const void *p, size_t n)
{
    const unsigned char *s = p;
    while (n) {
        int step = utf8_step(s, n);
        if (step < 0)
            return 0;
        s += step, n -= (size_t)step;
    }
    return 1;
}

void buf_string(struct buf *b, const void *p, size_t n)
{
    const unsigned char *s = p, *plain = s;
    buf_room(b, n + 2);
    buf_add(b, "\"", 1);
    while (n) {
        int step = utf8_step(s, n);
        unsigned c = *s;
        if (step > 0 && c >= 0x20 && c != '"' && c != '\\') {
            s += step, n -= (size_t)step;
            continue;
        }
        buf_add(b, plain, (size_t)(s - plain));
        char escape[8] = { '\\', (char)c, 0 };
        if (step < 0)
            memcpy(escape, "\xEF\xBF\xBD", 4);
        else if (c == '\n' || c == '\t' || c == '\r')
            escape[1] = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
        else if (c < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", c);
        buf_text(b, escape);
        step = step < 0 ? -step : step;
        s += step, n -= (size_t)step;
        plain = s;
    }
    buf_add(b, plain, (size_t)(s - plain));
    buf_add(b, "\"", 1);
}

void buf_base64(struct buf *b, const void *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *s = p;
    buf_room(b, n + n / 3 + 8);
    buf_add(b, "\"", 1);
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned v = (unsigned)s[i] << 16 | (left > 1 ? (unsigned)s[i + 1] << 8 : 0) | (left > 2 ? (unsigned)s[i + 2] : 0);
        char out[4] = { digits[v >> 18], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=', left > 2 ? digits[v & 63] : '=' };
        buf_add(b, out, 4);
    }
    buf_add(b, "\"", 1);
}

void buf_bytes_members(struct buf *b, const void *p, size_t n)
{
    buf_text(b, "\"text\":");
    buf_string(b, p, n);
    if (!utf8_valid(p, n)) {
        buf_text(b, ",\"base64\":");
        buf_base64(b, p, n);
    }
}
