/* object.c - the members of one JSON object, as slices of its text. Events of yajl only: no tree, no recursion.
   SPDX-License-Identifier: MIT */
#include "object.h"
#include "buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

struct scan {
    yajl_handle parser;
    struct object *o;
    const char *text;
    size_t depth, last_end, key_end; /* offsets in text: end of the last thing at depth 1, end of the last key there */
    char *why;
    size_t why_size;
};

static int refuse(struct scan *s, const char *why)
{
    snprintf(s->why, s->why_size, "%s", why);
    return 0;
}

static size_t here(const struct scan *s)
{
    return yajl_get_bytes_consumed(s->parser);
}

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r'); /* yajl takes vertical tab and form feed too */
}

/* The value that ends here belongs to the newest member when it stands at depth 1. */
static int value_ends(struct scan *s, enum json_kind kind, const unsigned char *string, size_t len)
{
    if (s->depth == 0)
        return refuse(s, "the line is not a JSON object");
    if (s->depth > 1)
        return 1;
    struct member *m = &s->o->m[s->o->n - 1];
    size_t start = s->key_end, end = here(s);
    while (start < end && (is_space(s->text[start]) || s->text[start] == ':'))
        start++;
    m->kind = kind;
    m->value = s->text + start;
    m->value_len = end - start;
    m->raw_len = (size_t)(s->text + end - m->raw);
    if (kind == JSON_STRING && len <= OBJECT_TEXT_MAX) {
        m->text = xdup(string, len);
        m->text_len = len;
    }
    s->last_end = end;
    return 1;
}

static int on_null(void *ctx)
{
    return value_ends(ctx, JSON_NULL, NULL, 0);
}
static int on_bool(void *ctx, int v)
{
    (void)v;
    return value_ends(ctx, JSON_BOOL, NULL, 0);
}
static int on_number(void *ctx, const char *p, size_t n)
{
    (void)p, (void)n;
    return value_ends(ctx, JSON_NUMBER, NULL, 0);
}
static int on_string(void *ctx, const unsigned char *p, size_t n)
{
    return value_ends(ctx, JSON_STRING, p, n);
}

static int goes_in(struct scan *s)
{
    return ++s->depth > OBJECT_DEPTH_MAX ? refuse(s, "the line is nested deeper than 64 levels") : 1;
}
static int on_start_map(void *ctx)
{
    struct scan *s = ctx;
    if (s->depth == 0)
        s->last_end = here(s);
    return goes_in(s);
}
static int on_start_array(void *ctx)
{
    struct scan *s = ctx;
    return s->depth == 0 ? refuse(s, "the line is not a JSON object") : goes_in(s);
}
static int on_end_map(void *ctx)
{
    struct scan *s = ctx;
    return --s->depth == 0 ? 1 : value_ends(s, JSON_OBJECT, NULL, 0);
}
static int on_end_array(void *ctx)
{
    struct scan *s = ctx;
    s->depth--;
    return value_ends(s, JSON_ARRAY, NULL, 0);
}

static int on_key(void *ctx, const unsigned char *p, size_t n)
{
    struct scan *s = ctx;
    if (s->depth > 1)
        return 1;
    if (s->o->n == OBJECT_MEMBERS_MAX)
        return refuse(s, "the line has more than 256 members");
    s->o->m = xrealloc(s->o->m, (s->o->n + 1) * sizeof *s->o->m);
    struct member *m = &s->o->m[s->o->n++];
    memset(m, 0, sizeof *m);
    m->name = xdup(p, n);
    m->name_len = n;
    s->key_end = here(s);
    size_t start = s->last_end;
    while (start < s->key_end && s->text[start] != '"')
        start++;
    m->raw = s->text + start;
    return 1;
}

int object_scan(struct object *o, const char *text, size_t n, char *why, size_t why_size)
{
    static const yajl_callbacks callbacks = { on_null,      on_bool, NULL,       NULL,           on_number,   on_string,
                                              on_start_map, on_key,  on_end_map, on_start_array, on_end_array };
    struct scan s = { .o = o, .text = text, .why = why, .why_size = why_size };
    memset(o, 0, sizeof *o);
    s.parser = yajl_alloc(&callbacks, NULL, &s);
    if (!s.parser) {
        refuse(&s, "out of memory");
        return -1;
    }
    yajl_status st = yajl_parse(s.parser, (const unsigned char *)text, n);
    size_t at = here(&s);
    if (st == yajl_status_ok)
        st = yajl_complete_parse(s.parser);
    if (st == yajl_status_error) {
        unsigned char *detail = yajl_get_error(s.parser, 0, (const unsigned char *)text, n);
        snprintf(why, why_size, "the line is not valid JSON near byte %zu: %.120s", at, detail ? (const char *)detail : "");
        if (detail)
            yajl_free_error(s.parser, detail);
        why[strcspn(why, "\n")] = 0;
    }
    yajl_free(s.parser);
    if (st == yajl_status_ok)
        return 0;
    object_free(o);
    return -1;
}

static int add_string(void *ctx, const unsigned char *p, size_t n)
{
    buf_add(ctx, (const char *)p, n);
    return 1;
}

void object_string(const struct member *m, struct buf *out)
{
    static const yajl_callbacks callbacks = { .yajl_string = add_string };
    yajl_handle parser = yajl_alloc(&callbacks, NULL, out);
    if (!parser)
        return;
    if (yajl_parse(parser, (const unsigned char *)m->value, m->value_len) == yajl_status_ok)
        yajl_complete_parse(parser);
    yajl_free(parser);
}

void object_free(struct object *o)
{
    for (size_t i = 0; i < o->n; i++) {
        free(o->m[i].name);
        free(o->m[i].text);
    }
    free(o->m);
    memset(o, 0, sizeof *o);
}

const struct member *object_get(const struct object *o, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < o->n; i++)
        if (o->m[i].name_len == n && !memcmp(o->m[i].name, name, n))
            return &o->m[i];
    return NULL;
}
