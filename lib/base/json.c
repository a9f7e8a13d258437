/* json.c - reading */
#include "json.h"
#include "error.h"
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

struct reader {
    struct interp__json *j;
    uint32_t stack[INTERP__JSON_DEPTH];   /* open containers, node indices */
    uint32_t depth;
    uint32_t looked;                      /* members looked at for a key given twice */
    size_t key, key_len;
    int has_key;
    const char *why;                      /* set when a callback stops the parse */
    char last_key[64];                    /* for the message */
};

static int stop(struct reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return 0;
}

static struct interp__json_node *nodes(const struct interp__json *j)
{
    return (struct interp__json_node *)(void *)j->nodes.p;
}

static struct interp__json_node *add(struct reader *r, enum interp__json_type type)
{
    struct interp__json *j = r->j;
    uint32_t n = interp__json_count(j);
    if (n >= INTERP__JSON_NODES) {
        stop(r, "it has too many values");
        return NULL;
    }
    struct interp__json_node node = { .type = type, .next = n + 1, .key = r->key, .key_len = r->has_key ? r->key_len : 0 };
    interp__buf_add(&j->nodes, &node, sizeof node);
    if (j->nodes.bad) {
        stop(r, "memory");
        return NULL;
    }
    if (r->depth)
        nodes(j)[r->stack[r->depth - 1]].count++;
    r->has_key = 0;
    return &nodes(j)[n];
}

static int keep(struct reader *r, size_t *at, const void *p, size_t n)
{
    *at = r->j->text.len;
    interp__buf_add(&r->j->text, p, n);
    interp__buf_add(&r->j->text, "", 1);
    return r->j->text.bad ? stop(r, "memory") : 1;
}

static int on_null(void *v)
{
    return add(v, INTERP__JSON_NULL) != NULL;
}
static int on_bool(void *v, int b)
{
    struct interp__json_node *n = add(v, INTERP__JSON_BOOL);
    if (n)
        n->i = b;
    return n != NULL;
}
static int on_number(void *v, const char *p, size_t len)
{
    struct reader *r = v;
    if (len > 64)
        return stop(r, "a number has more than 64 digits");
    int real = memchr(p, '.', len) || memchr(p, 'e', len) || memchr(p, 'E', len);
    struct interp__json_node *n = add(r, real ? INTERP__JSON_REAL : INTERP__JSON_INT);
    if (!n)
        return 0;
    uint32_t at = (uint32_t)(n - nodes(r->j));
    size_t where;
    if (!keep(r, &where, p, len))
        return 0;
    n = &nodes(r->j)[at];
    n->text_at = where;
    n->text_len = len;
    if (!real) {
        errno = 0;
        long long i = strtoll((const char *)r->j->text.p + where, NULL, 10);
        if (errno || i > (INT64_C(1) << 53) || i < -(INT64_C(1) << 53))
            return stop(r, "an integer is beyond 2^53, where JSON numbers lose digits");
        n->i = i;
    }
    return 1;
}
static int on_string(void *v, const unsigned char *p, size_t len)
{
    struct reader *r = v;
    if (interp__utf8_valid(p, len) != len)   /* yajl lets surrogates through */
        return stop(r, "a string is not UTF-8");
    struct interp__json_node *n = add(r, INTERP__JSON_STRING);
    if (!n)
        return 0;
    uint32_t at = (uint32_t)(n - nodes(r->j));
    size_t where;
    if (!keep(r, &where, p, len))
        return 0;
    nodes(r->j)[at].text_at = where;
    nodes(r->j)[at].text_len = len;
    return 1;
}
static int open_container(struct reader *r, enum interp__json_type type)
{
    struct interp__json_node *n = add(r, type);
    if (!n)
        return 0;
    if (r->depth == INTERP__JSON_DEPTH)
        return stop(r, "it is nested more than 64 levels deep");
    r->stack[r->depth++] = (uint32_t)(n - nodes(r->j));
    return 1;
}
static int close_container(void *v)
{
    struct reader *r = v;
    nodes(r->j)[r->stack[--r->depth]].next = interp__json_count(r->j);
    return 1;
}
static int on_map(void *v)
{
    return open_container(v, INTERP__JSON_OBJECT);
}
static int on_array(void *v)
{
    return open_container(v, INTERP__JSON_ARRAY);
}
static int on_key(void *v, const unsigned char *p, size_t len)
{
    struct reader *r = v;
    struct interp__json *j = r->j;
    uint32_t o = r->stack[r->depth - 1];
    if (interp__utf8_valid(p, len) != len || memchr(p, 0, len))
        return stop(r, "a key is not UTF-8, or has a NUL");
    snprintf(r->last_key, sizeof r->last_key, "%.*s", len < 63 ? (int)len : 63, (const char *)p);
    /* a linear look, so an object is bounded to what that can bear, and so are all of them together: 15 objects of 4,096 members took 0.6 s */
    if (nodes(j)[o].count >= INTERP__JSON_MEMBERS)
        return stop(r, "an object has more than 1024 members");
    if ((r->looked += nodes(j)[o].count) > INTERP__JSON_LOOKS)
        return stop(r, "its objects have too many members");
    uint32_t i = o + 1;
    for (uint32_t k = 0; k < nodes(j)[o].count; k++, i = nodes(j)[i].next)
        if (nodes(j)[i].key_len == len && !memcmp(j->text.p + nodes(j)[i].key, p, len))
            return stop(r, "an object has a key twice");
    if (!keep(r, &r->key, p, len))
        return 0;
    r->key_len = len;
    r->has_key = 1;
    return 1;
}

/* yajl does not look whether it got memory, so it never sees a NULL: a failed allocation jumps out of the parse, and the blocks, which are
   kept in a list, are freed by us. */
struct block { struct block *prev, *next; };
struct arena {
    const struct interp__mem *mem;
    struct block list;
    jmp_buf out;
};
static void *y_realloc(void *ctx, void *p, size_t n)
{
    struct arena *a = ctx;
    struct block *b = p ? (struct block *)p - 1 : NULL;
    struct block *prev = b ? b->prev : &a->list, *next = b ? b->next : a->list.next;
    b = n < SIZE_MAX - sizeof *b ? interp__resize(a->mem, b, n + sizeof *b) : NULL;
    if (!b)
        longjmp(a->out, 1);
    b->prev = prev, b->next = next;
    prev->next = b;
    if (next)
        next->prev = b;
    return b + 1;
}
static void *y_alloc(void *ctx, size_t n)
{
    return y_realloc(ctx, NULL, n);
}
static void y_free(void *ctx, void *p)
{
    struct arena *a = ctx;
    struct block *b = p ? (struct block *)p - 1 : NULL;
    if (!b)
        return;
    b->prev->next = b->next;
    if (b->next)
        b->next->prev = b->prev;
    interp__free(a->mem, b);
}

interp_status interp__json_parse(struct interp__json *j, const struct interp__mem *m, const void *text, size_t len, interp_error **err)
{
    static const yajl_callbacks cb = { on_null, on_bool, NULL, NULL, on_number, on_string, on_map, on_key, close_container, on_array, close_container };
    struct arena a = { .mem = m };
    yajl_alloc_funcs fn = { y_alloc, y_realloc, y_free, &a };
    struct reader r = { .j = j };
    interp__buf_init(&j->nodes, m);
    interp__buf_init(&j->text, m);
    if (setjmp(a.out)) {
        while (a.list.next)
            y_free(&a, a.list.next + 1);
        return interp__nomem(err);
    }
    yajl_handle h = yajl_alloc(&cb, &fn, &r);
    yajl_status st = yajl_parse(h, text, len);
    size_t at = yajl_get_bytes_consumed(h);
    if (st == yajl_status_ok)
        st = yajl_complete_parse(h);
    interp_status rc = INTERP_OK;
    if (st != yajl_status_ok) {
        if (r.why && !strcmp(r.why, "memory"))
            rc = interp__nomem(err);
        else
            rc = interp__fail(m, err, INTERP_E_INVAL, "json", "this is not JSON that can be taken, near byte %zu%s%s%s: %s", at,
                              *r.last_key ? " at \"" : "", r.last_key, *r.last_key ? "\"" : "",
                              r.why ? r.why : len == 0 ? "it is empty" : at >= len ? "it ends too early" : "a character does not belong there, or it is not UTF-8");
    } else if (!interp__json_count(j))
        rc = interp__fail(m, err, INTERP_E_INVAL, "json", "this is not JSON: it is empty");
    yajl_free(h);
    return rc;
}

void interp__json_free(struct interp__json *j)
{
    interp__buf_free(&j->nodes);
    interp__buf_free(&j->text);
}

const struct interp__json_node *interp__json_at(const struct interp__json *j, uint32_t index)
{
    return &nodes(j)[index];
}
uint32_t interp__json_count(const struct interp__json *j)
{
    return (uint32_t)(j->nodes.len / sizeof(struct interp__json_node));
}
uint32_t interp__json_member(const struct interp__json *j, uint32_t object, const char *name)
{
    const struct interp__json_node *o = interp__json_at(j, object);
    if (o->type != INTERP__JSON_OBJECT)
        return 0;
    uint32_t i = object + 1;
    for (uint32_t k = 0; k < o->count; k++, i = interp__json_at(j, i)->next)
        if (!strcmp(interp__json_key(j, interp__json_at(j, i)), name))
            return i;
    return 0;
}
const char *interp__json_string(const struct interp__json *j, const struct interp__json_node *n)
{
    return n->type == INTERP__JSON_STRING || n->type == INTERP__JSON_INT || n->type == INTERP__JSON_REAL ? (const char *)j->text.p + n->text_at : "";
}
const char *interp__json_key(const struct interp__json *j, const struct interp__json_node *n)
{
    return n->key_len || j->text.len > n->key ? (const char *)j->text.p + n->key : "";
}

static void plain(void *userdata, struct interp__buf *out, const char *p, size_t n)
{
    (void)userdata;
    interp__json_text(out, p, n);
}
void interp__json_write(struct interp__buf *out, const struct interp__json *j, uint32_t index)
{
    interp__json_write_by(out, j, index, plain, NULL);
}
void interp__json_write_by(struct interp__buf *out, const struct interp__json *j, uint32_t index, interp__json_text_fn *text, void *userdata)
{
    /* walks the flat list; the ends of the open containers stand on a small stack */
    uint32_t end[INTERP__JSON_DEPTH + 1], depth = 0, stop_at = interp__json_at(j, index)->next;
    uint8_t is_object[INTERP__JSON_DEPTH + 1];
    int first = 1;
    for (uint32_t i = index; i < stop_at;) {
        const struct interp__json_node *n = interp__json_at(j, i++);
        if (!first)
            interp__buf_str(out, ",");
        first = 0;
        if (depth && is_object[depth - 1]) {
            text(userdata, out, interp__json_key(j, n), n->key_len);
            interp__buf_str(out, ":");
        }
        switch (n->type) {
        case INTERP__JSON_NULL: interp__buf_str(out, "null"); break;
        case INTERP__JSON_BOOL: interp__buf_str(out, n->i ? "true" : "false"); break;
        case INTERP__JSON_INT: case INTERP__JSON_REAL: interp__buf_add(out, interp__json_string(j, n), n->text_len); break;
        case INTERP__JSON_STRING: text(userdata, out, interp__json_string(j, n), n->text_len); break;
        case INTERP__JSON_ARRAY: case INTERP__JSON_OBJECT:
            interp__buf_str(out, n->type == INTERP__JSON_OBJECT ? "{" : "[");
            is_object[depth] = n->type == INTERP__JSON_OBJECT;
            end[depth++] = n->next;
            first = 1;
            break;
        }
        while (depth && i == end[depth - 1]) {
            interp__buf_str(out, is_object[--depth] ? "}" : "]");
            first = 0;
        }
    }
}
