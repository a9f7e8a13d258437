/* listing.c - what a sandbox says of its files, as JSON: every name redacted, a list in the order of names */
#include "core.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *interp__file_type(uint8_t type)
{
    static const char *const names[] = { "other", "file", "dir", "link", "fifo", "socket", "char", "block" };
    return type < sizeof names / sizeof *names ? names[type] : names[0];
}

int64_t interp__file_mtime(uint64_t ns)
{
    int64_t t = (int64_t)ns;
    return t >= 0 ? t / 1000000 : -((-(t + 1)) / 1000000) - 1;      /* down, and no overflow at the smallest */
}

void interp__file_name(struct interp_session *s, struct interp__buf *j, const void *p, size_t n, const char *base64)
{
    interp__redact_text(s, p, n);
    interp__json_text(j, s->redacted.p, s->redacted.len);
    if (interp__utf8_valid(s->redacted.p, s->redacted.len) == s->redacted.len)
        return;
    interp__buf_fmt(j, ",\"%s\":", base64);
    interp__json_base64(j, s->redacted.p, s->redacted.len);
}

static int by_name(const void *a, const void *b)
{
    const struct wire_entry *x = a, *y = b;
    size_t n = x->path.len < y->path.len ? x->path.len : y->path.len;
    int c = n ? memcmp(x->path.p, y->path.p, n) : 0;
    return c ? c : (int)x->path.len - (int)y->path.len;
}

/* OK, NOMEM, or PROTOCOL when the records are none. */
interp_status interp__listing(struct interp_session *s, const struct wire_file_done *m, const struct interp__buf *records, struct interp__buf *j)
{
    struct interp__buf list;
    struct wire_entry e;
    struct wire_in in;
    uint64_t n = 0;
    interp__buf_init(&list, &s->mem);
    interp__wire_in_init(&in, records->p, records->len);
    for (; in.p != in.end && !list.bad; n++) {
        if (interp__wire_get_entry(&in, &e) || !e.path.len) {
            interp__buf_free(&list);
            return INTERP_E_PROTOCOL;
        }
        interp__buf_add(&list, &e, sizeof e);
    }
    if (!list.bad && n != m->count) {
        interp__buf_free(&list);
        return INTERP_E_PROTOCOL;
    }
    struct wire_entry *v = (struct wire_entry *)(void *)list.p;
    if (n && !list.bad)
        qsort(v, (size_t)n, sizeof *v, by_name);
    interp__buf_str(j, "{\"entries\":[");
    for (uint64_t i = 0; i < n && !list.bad && !j->bad; i++) {
        interp__buf_str(j, i ? ",{\"name\":" : "{\"name\":");
        interp__file_name(s, j, v[i].path.p, v[i].path.len, "path_base64");
        interp__buf_fmt(j, ",\"type\":\"%s\",\"size\":%" PRIu64 ",\"mode\":%u,\"mtime_ms\":%" PRId64 "%s}", interp__file_type(v[i].type), v[i].size, (unsigned)(v[i].mode & 07777),
                        interp__file_mtime(v[i].mtime_ns), v[i].flags & WIRE_ENTRY_CLOSED ? ",\"closed\":true" : "");
    }
    interp__buf_fmt(j, "],\"complete\":%s}", m->more ? "false" : "true");
    interp__redact_forget(s);
    int bad = list.bad;
    interp__buf_free(&list);
    return !bad && interp__buf_text(j) ? INTERP_OK : INTERP_E_NOMEM;
}
