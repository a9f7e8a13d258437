#include "jsoncut.h"
#include "base/json.h"
#include "stream.h"
#include <inttypes.h>
#include <string.h>

enum { NEST = 4096, FRAMES = 64, CLOSE = 40 /* ,"...":"18446744073709551615 more"} */, STRING_LEAST = 24 };
enum token { T_BAD, T_END, T_STRING, T_SCALAR, T_OPEN_ARRAY, T_OPEN_OBJECT, T_CLOSE_ARRAY, T_CLOSE_OBJECT, T_COMMA, T_COLON };
struct frame { size_t limit; uint64_t shown, left_out; uint8_t object; };
struct cut {
    const uint8_t *p;
    size_t n, at, from;                /* from: where the token starts */
    struct interp__buf *out;
    struct frame frames[FRAMES];
    size_t depth, nframes;             /* depth: of all open containers; the first nframes of them are shown */
    uint8_t objects[NEST / 8];
};

/* ---- tokens */

static size_t number(const uint8_t *p, size_t n)
{
    size_t k = n && p[0] == '-', digits = k;
    while (k < n && p[k] >= '0' && p[k] <= '9')
        k++;
    if (k == digits || (p[digits] == '0' && k > digits + 1))
        return 0;
    if (k < n && p[k] == '.') {
        digits = ++k;
        while (k < n && p[k] >= '0' && p[k] <= '9')
            k++;
        if (k == digits)
            return 0;
    }
    if (k < n && (p[k] | 32) == 'e') {
        k++;
        if (k < n && (p[k] == '+' || p[k] == '-'))
            k++;
        digits = k;
        while (k < n && p[k] >= '0' && p[k] <= '9')
            k++;
        if (k == digits)
            return 0;
    }
    return k;
}
/* One character of a string as it is written: its length, 0: the string is wrong there. */
static size_t written(const uint8_t *p, size_t n)
{
    if (p[0] != '\\') {
        size_t k = p[0] < 0x80 ? 1 : p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
        return p[0] >= 0x20 && k <= n && interp__utf8_valid(p, k) == k ? k : 0;
    }
    if (n < 2 || !p[1] || !strchr("\"\\/bfnrtu", p[1]))
        return 0;
    if (p[1] != 'u')
        return 2;
    for (size_t i = 2; i < 6; i++)
        if (i >= n || !((p[i] >= '0' && p[i] <= '9') || ((p[i] | 32) >= 'a' && (p[i] | 32) <= 'f')))
            return 0;
    int high = (p[2] | 32) == 'd' && ((p[3] | 32) == '8' || (p[3] | 32) == '9' || (p[3] | 32) == 'a' || (p[3] | 32) == 'b');
    if (high && n >= 12 && p[6] == '\\' && p[7] == 'u')   /* the halves of a pair stay together */
        return written(p + 6, 6) == 6 ? 12 : 0;
    return 6;
}
static size_t string(const uint8_t *p, size_t n)
{
    size_t k = 1;
    while (k < n && p[k] != '"') {
        size_t one = written(p + k, n - k);
        if (!one)
            return 0;
        k += one;
    }
    return k < n ? k + 1 : 0;
}
static enum token next(struct cut *c)
{
    while (c->at < c->n && memchr(" \t\r\n", c->p[c->at], 4))
        c->at++;
    c->from = c->at;
    if (c->at == c->n)
        return T_END;
    const uint8_t *p = c->p + c->at;
    size_t n = c->n - c->at, k = 1;
    enum token t = T_SCALAR;
    switch (*p) {
    case '[': t = T_OPEN_ARRAY; break;
    case '{': t = T_OPEN_OBJECT; break;
    case ']': t = T_CLOSE_ARRAY; break;
    case '}': t = T_CLOSE_OBJECT; break;
    case ',': t = T_COMMA; break;
    case ':': t = T_COLON; break;
    case '"':
        t = T_STRING;
        k = string(p, n);
        break;
    case 't': k = n >= 4 && !memcmp(p, "true", 4) ? 4 : 0; break;
    case 'f': k = n >= 5 && !memcmp(p, "false", 5) ? 5 : 0; break;
    case 'n': k = n >= 4 && !memcmp(p, "null", 4) ? 4 : 0; break;
    default: k = number(p, n);
    }
    c->at += k;
    return k ? t : T_BAD;
}

/* ---- out */

static int is_shown(const struct cut *c)   /* what comes now belongs to a container that is shown, and all of it so far was */
{
    return c->depth == c->nframes && (!c->depth || !c->frames[c->depth - 1].left_out);
}
static size_t room(const struct cut *c, size_t cap)
{
    size_t limit = c->nframes ? c->frames[c->nframes - 1].limit - CLOSE : cap;
    return limit > c->out->len ? limit - c->out->len : 0;
}
/* A string in at most max bytes, with dots where it is cut; 0: there is no room for one. */
static int put_string(struct cut *c, const uint8_t *p, size_t n, size_t max)
{
    if (n <= max) {
        interp__buf_add(c->out, p, n);
        return 1;
    }
    if (max < STRING_LEAST)
        return 0;
    size_t k = 1, one;
    while ((one = written(p + k, n - k)) && k + one + 4 <= max)
        k += one;
    interp__buf_add(c->out, p, k == 1 ? 1 : interp__cut_before(p, n, k));   /* nor inside a label of redaction */
    interp__buf_str(c->out, "...\"");
    return 1;
}
static void put_close(struct cut *c)
{
    struct frame *f = &c->frames[--c->nframes];
    if (f->left_out)
        interp__buf_fmt(c->out, "%s%s\"%s%" PRIu64 " more\"", f->shown ? "," : "", f->object ? "\"...\":" : "", f->object ? "" : "... ", f->left_out);
    interp__buf_str(c->out, f->object ? "}" : "]");
}

int interp__json_cut(struct interp__buf *out, const void *text, size_t n, size_t cap)
{
    struct cut *c = interp__alloc(out->mem, sizeof *c);   /* host threads may have small stacks */
    if (!c)
        return -1;
    *c = (struct cut){ .p = text, .n = n, .out = out };
    enum { VALUE, FIRST_VALUE, FIRST_KEY, KEY, COLON, AFTER } want = VALUE;
    const uint8_t *key = NULL;
    if (n <= cap)
        cap = SIZE_MAX / 2;   /* all of it fits: nothing is kept free for words of ours */
    size_t key_len = 0;
    int done = 0, bad = 0;
    while (!bad) {
        enum token t = next(c);
        struct frame *f = c->nframes ? &c->frames[c->nframes - 1] : NULL;
        int in_object = c->depth && c->objects[(c->depth - 1) / 8] >> (c->depth - 1) % 8 & 1;
        if (t == T_END) {
            bad = !done;
            break;
        }
        if (done || t == T_BAD) {
            bad = 1;
        } else if (want == COLON) {
            bad = t != T_COLON;
            want = VALUE;
        } else if (want == AFTER && t == T_COMMA) {
            want = in_object ? KEY : VALUE;
        } else if ((want == AFTER || want == FIRST_VALUE || want == FIRST_KEY) && (t == T_CLOSE_ARRAY || t == T_CLOSE_OBJECT)) {
            bad = in_object != (t == T_CLOSE_OBJECT);
            if (c->depth == c->nframes)
                put_close(c);
            c->depth--;
            want = AFTER;
            done = !c->depth;
        } else if ((want == KEY || want == FIRST_KEY) && t == T_STRING) {
            key = c->p + c->from;
            key_len = c->at - c->from;
            want = COLON;
        } else if ((want == VALUE || want == FIRST_VALUE) && (t == T_STRING || t == T_SCALAR || t == T_OPEN_ARRAY || t == T_OPEN_OBJECT)) {
            int shown = is_shown(c), opens = t == T_OPEN_ARRAY || t == T_OPEN_OBJECT;
            size_t before = out->len;
            if (shown) {
                size_t front = (f && f->shown) + (in_object ? key_len + 1 : 0), free_bytes = room(c, cap), len = c->at - c->from;
                shown = front < free_bytes;
                free_bytes -= shown ? front : 0;
                if (shown && f && f->shown)
                    interp__buf_str(out, ",");
                if (shown && in_object) {
                    interp__buf_add(out, key, key_len);
                    interp__buf_str(out, ":");
                }
                if (opens) {
                    size_t share = f ? free_bytes - free_bytes / 4 : free_bytes;
                    shown = shown && c->nframes < FRAMES && share >= CLOSE + 2;
                    if (shown) {
                        c->frames[c->nframes++] = (struct frame){ out->len + share, 0, 0, t == T_OPEN_OBJECT };
                        interp__buf_str(out, t == T_OPEN_OBJECT ? "{" : "[");
                    }
                } else if (shown && t == T_STRING)
                    shown = put_string(c, c->p + c->from, len, f && len > free_bytes ? free_bytes - free_bytes / 4 : free_bytes);
                else if (shown && (shown = len <= free_bytes))
                    interp__buf_add(out, c->p + c->from, len);
                if (!shown && !out->bad)
                    out->len = before;
                if (f && shown)
                    f->shown++;
                if (!f && !shown)
                    bad = 1;   /* not even the start of it */
            }
            if (!shown && f && c->depth == c->nframes)
                f->left_out++;
            if (opens) {
                bad |= c->depth == NEST;
                if (!bad) {
                    uint8_t bit = (uint8_t)(1 << c->depth % 8);
                    c->objects[c->depth / 8] = (uint8_t)(t == T_OPEN_OBJECT ? c->objects[c->depth / 8] | bit : c->objects[c->depth / 8] & ~bit);
                    c->depth++;
                }
                want = t == T_OPEN_OBJECT ? FIRST_KEY : FIRST_VALUE;
            } else {
                want = AFTER;
                done = !c->depth;
            }
        } else
            bad = 1;
    }
    interp__free(out->mem, c);
    if (!bad && !out->bad)
        return 0;
    interp__buf_free(out);
    return -1;
}
