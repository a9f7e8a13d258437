/* parts.c - forms of values and displays, made no larger than the session's value_bytes. After redaction: a cut must not leave half of a secret. */
#include "core.h"
#include <string.h>

static char *shortened(const interp_result *r, const struct interp__part *p, size_t cap, size_t *len)
{
    if (interp__mime_is_json(p->mime)) {
        struct interp__buf b;
        interp__buf_init(&b, &r->mem);
        if (interp__json_cut(&b, p->data, p->len, cap) || !interp__buf_text(&b)) {
            interp__buf_free(&b);
            return NULL;
        }
        *len = b.len;
        return (char *)b.p;
    }
    return !interp__mime_is(p->mime, "text/") || interp__mime_is(p->mime, "text/html") ? NULL : interp__shorten(&r->mem, p->data, p->len, cap, len);   /* half a page or picture is none */
}

void interp__parts_shorten(interp_result *r, size_t cap)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->nparts; i++) {
        struct interp__part *p = &r->parts[i];
        if (p->len <= cap) {
            p->total = p->len;
            r->parts[kept++] = *p;
            continue;
        }
        size_t len = 0, total = p->len, before = r->dropped.len;
        char *text = shortened(r, p, cap, &len);
        interp__free(&r->mem, p->data);
        p->data = text;
        p->len = len;
        p->total = total;
        if (text) {
            r->parts[kept++] = *p;
            continue;
        }
        interp__buf_fmt(&r->dropped, "%u:[[", p->bundle);
        interp__json_text(&r->dropped, p->mime, strlen(p->mime));
        interp__buf_fmt(&r->dropped, ",%zu]]", total);
        interp__buf_add(&r->dropped, "", 1);
        if (r->dropped.bad)   /* whoever reads it looks for the NUL */
            r->dropped.len = before;
        interp__free(&r->mem, p->mime);
    }
    r->nparts = kept;
}
