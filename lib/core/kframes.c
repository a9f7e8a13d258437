/* kframes.c - what a kernel says on its control channel (guest/kernels/PROTOCOL.md), put together under bounds. Every byte is the guest's. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

enum { BUNDLES_MAX = 256, PARTS_MAX = 16, TOTAL_MAX = 64 << 20, CODE_CACHE_MAX = 1 << 20 };

void interp__kframes_init(struct interp__kframes *k, const struct interp__mem *m, interp_result *r)
{
    memset(k, 0, sizeof *k);
    k->mem = m;
    k->result = r;
    interp__buf_init(&k->frame, m);
    interp__buf_init(&k->code, m);
}

void interp__kframes_free(struct interp__kframes *k)
{
    interp__buf_free(&k->frame);
    interp__buf_free(&k->code);
}

static char *text_of(const struct interp__mem *m, const struct interp__json *j, uint32_t object, const char *name, size_t *len)
{
    uint32_t i = interp__json_member(j, object, name);
    const struct interp__json_node *n = i ? interp__json_at(j, i) : NULL;
    if (!n || n->type != INTERP__JSON_STRING)
        return NULL;
    *len = n->text_len;
    return interp__strndup(m, interp__json_string(j, n), n->text_len);
}

/* The parts of display `bundle`, or of all displays (0), go away again; so does the word of what was dropped of them. */
static void forget(struct interp__kframes *k, uint32_t bundle)
{
    interp_result *r = k->result;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->nparts; i++) {
        struct interp__part *p = &r->parts[i];
        if (p->bundle && (!bundle || p->bundle == bundle)) {
            k->total -= p->len;
            interp__free(k->mem, p->mime);
            interp__free(k->mem, p->data);
        } else {
            r->parts[kept++] = *p;
        }
    }
    r->nparts = kept;
    size_t to = 0;
    for (size_t at = 0, size; at < r->dropped.len; at += size) {
        const char *item = (const char *)r->dropped.p + at;
        size = strlen(item) + 1;
        uint32_t of = (uint32_t)strtoul(item, NULL, 10);
        if (!of || (bundle && of != bundle)) {
            memmove(r->dropped.p + to, item, size);
            to += size;
        }
    }
    r->dropped.len = to;
}

static int display(struct interp__kframes *k, const struct interp__json *j, const uint8_t *bin, size_t bin_len)
{
    interp_result *r = k->result;
    uint32_t mime = interp__json_member(j, 0, "mime"), kind = interp__json_member(j, 0, "kind"), dropped = interp__json_member(j, 0, "dropped");
    if (!mime || interp__json_at(j, mime)->type != INTERP__JSON_ARRAY || interp__json_at(j, mime)->count > PARTS_MAX)
        return -1;
    const char *word = kind && interp__json_at(j, kind)->type == INTERP__JSON_STRING ? interp__json_string(j, interp__json_at(j, kind)) : "display";
    int is_value = !strcmp(word, "result");
    if (!strcmp(word, "clear")) {
        forget(k, 0);
        r->nbundles = r->has_value ? 1 : 0;
        return bin_len ? -1 : 0;
    }
    uint32_t at_replaces = interp__json_member(j, 0, "replaces"), replaces = 0;
    if (at_replaces) {
        const struct interp__json_node *n = interp__json_at(j, at_replaces);
        if (is_value || n->type != INTERP__JSON_INT || n->i < 1 || n->i >= (int64_t)r->nbundles + !r->has_value)
            return -1;
        replaces = (uint32_t)n->i;
    }
    if (is_value && r->has_value)
        return -1;
    if (r->nbundles >= BUNDLES_MAX && !replaces)
        return 0;
    uint32_t count = interp__json_at(j, mime)->count, i = mime + 1;
    struct interp__part *more = interp__resize(k->mem, r->parts, (r->nparts + count + 1) * sizeof *more);
    if (!more)
        return 0;
    r->parts = more;
    /* the value is bundle 0, displays follow in their order */
    uint32_t bundle = is_value ? 0 : replaces ? replaces : r->nbundles + !r->has_value;
    if (replaces)
        forget(k, replaces);
    size_t at = 0;
    for (uint32_t n = 0; n < count; n++) {
        const struct interp__json_node *pair = interp__json_at(j, i);
        if (pair->type != INTERP__JSON_ARRAY || pair->count != 2)
            return -1;
        const struct interp__json_node *type = interp__json_at(j, i + 1), *size = interp__json_at(j, i + 2);
        if (type->type != INTERP__JSON_STRING || type->text_len > 127 || size->type != INTERP__JSON_INT || size->i < 0 || (uint64_t)size->i > bin_len - at)
            return -1;
        size_t len = (size_t)size->i;
        if (k->total + len <= TOTAL_MAX) {
            struct interp__part p = { interp__strndup(k->mem, interp__json_string(j, type), type->text_len), interp__strndup(k->mem, bin + at, len), len, len, bundle };
            if (p.mime && p.data) {
                r->parts[r->nparts++] = p;
                k->total += len;
            } else {
                interp__free(k->mem, p.mime);
                interp__free(k->mem, p.data);
            }
        }
        at += len;
        i = pair->next;
    }
    r->nbundles += !replaces;
    if (is_value)
        r->has_value = 1;
    if (dropped && interp__json_at(j, dropped)->type == INTERP__JSON_ARRAY && r->dropped.len < 65536) {
        size_t before = r->dropped.len;
        interp__buf_fmt(&r->dropped, "%u:", bundle);
        interp__json_write(&r->dropped, j, dropped);
        interp__buf_add(&r->dropped, "", 1);
        if (r->dropped.bad)   /* whoever reads it looks for the NUL */
            r->dropped.len = before;
    }
    return at == bin_len ? 0 : -1;
}

static int final_word(struct interp__kframes *k, const struct interp__json *j, uint8_t word)
{
    interp_result *r = k->result;
    k->final = 1;
    k->word = word;
    uint32_t code = interp__json_member(j, 0, "exit_code"), error = interp__json_member(j, 0, "error");
    if (code && interp__json_at(j, code)->type == INTERP__JSON_INT) {
        int64_t v = interp__json_at(j, code)->i;
        r->exit_code = v < 0 || v > 255 ? 255 : (int32_t)v;
    }
    if (error && interp__json_at(j, error)->type == INTERP__JSON_OBJECT) {
        static const char *const members[] = { "type", "message", "line", "column", "frames", "traceback", "code", "subject" };
        struct interp__buf b;
        interp__buf_init(&b, k->mem);
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {   /* ours alone: a guest adds no members */
            uint32_t at = interp__json_member(j, error, members[i]);
            if (i >= 6 && (!at || interp__json_at(j, at)->type != INTERP__JSON_STRING || interp__json_at(j, at)->text_len > 256))
                continue;   /* short words, where there are any */
            interp__buf_fmt(&b, "%s\"%s\":", i ? "," : "{", members[i]);
            if (at)
                interp__json_write(&b, j, at);
            else
                interp__buf_str(&b, "null");
        }
        interp__buf_str(&b, ",\"hint\":null}");
        interp__buf_add(&b, "", 1);
        if (!b.bad)
            r->error_json = (char *)b.p;
        else
            interp__buf_free(&b);
        r->error_type = text_of(k->mem, j, error, "type", &r->type_len);
        r->error_message = text_of(k->mem, j, error, "message", &r->message_len);
        r->error_traceback = text_of(k->mem, j, error, "traceback", &r->traceback_len);
        uint32_t line = interp__json_member(j, error, "line");
        if (line && interp__json_at(j, line)->type == INTERP__JSON_INT && interp__json_at(j, line)->i >= 0 && interp__json_at(j, line)->i < INT32_MAX)
            r->line = (int32_t)interp__json_at(j, line)->i;
    }
    return 0;
}

static int take(struct interp__kframes *k, const struct kframe *f, const uint8_t *json, const uint8_t *bin)
{
    switch (f->type) {
    case 'c':
        if (k->result || k->code.len || f->bin_len > CODE_CACHE_MAX)   /* of a start only */
            return -1;
        interp__buf_add(&k->code, bin, f->bin_len);
        return 0;
    case 'r':
        return k->result ? -1 : 0;   /* the agent reads it; KERNEL_READY has what it says */
    case 'o':
        return 0;
    case 'b':
        if (!k->result || !k->oneshot || k->build || f->bin_len > INTERP__BUILD_MAX)
            return -1;
        k->build = f->status;
        if (f->bin_len && (k->result->build_output = interp__strndup(k->mem, bin, f->bin_len)))
            k->result->build_len = f->bin_len;
        return 0;
    case 'd': case 'f':
        if (!k->result || k->oneshot)
            return -1;
        break;
    default:
        return -1;
    }
    if (k->final)
        return -1;
    if (f->type == 'f' && !f->json_len)
        return k->final = 1, k->word = f->status, 0;
    struct interp__json j;
    int rc = -1;
    interp_status st = interp__json_parse(&j, k->mem, json, f->json_len, NULL);
    if (st == INTERP_E_NOMEM)
        rc = 0, k->final |= f->type == 'f', k->word = f->status;
    else if (!st && interp__json_at(&j, 0)->type == INTERP__JSON_OBJECT)
        rc = f->type == 'd' ? display(k, &j, bin, f->bin_len) : final_word(k, &j, f->status);
    interp__json_free(&j);
    return rc;
}

int interp__kframes_feed(struct interp__kframes *k, const void *v, size_t n)
{
    const uint8_t *p = v;
    while (n) {
        size_t need = KFRAME_HEADER;
        struct kframe f = { 0 };
        if (k->frame.len >= KFRAME_HEADER) {
            if (interp__kframe_get(k->frame.p, &f))
                return -1;
            need = (size_t)KFRAME_HEADER + f.json_len + f.bin_len;
        }
        size_t part = need - k->frame.len < n ? need - k->frame.len : n;
        interp__buf_add(&k->frame, p, part);
        if (k->frame.bad)
            return -1;
        p += part, n -= part;
        if (k->frame.len < KFRAME_HEADER)
            continue;
        if (interp__kframe_get(k->frame.p, &f))
            return -1;
        if (k->frame.len == (size_t)KFRAME_HEADER + f.json_len + f.bin_len) {
            int rc = take(k, &f, k->frame.p + KFRAME_HEADER, k->frame.p + KFRAME_HEADER + f.json_len);
            k->frame.len = 0;
            if (k->frame.cap > 1 << 16)
                interp__buf_free(&k->frame);
            if (rc)
                return -1;
        }
    }
    return 0;
}
