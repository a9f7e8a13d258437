/* result_spill.c - the whole stream of a result: read, searched, saved; from its spill, or from what is in memory */
#include "core.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *word_of(int e, char *room, size_t n)
{
    switch (e) {
#define WORD(x) case x: return #x;
    WORD(ENOSPC) WORD(EDQUOT) WORD(EFBIG) WORD(EIO) WORD(EACCES) WORD(EPERM) WORD(EROFS) WORD(ENOENT) WORD(ENOTDIR) WORD(ELOOP) WORD(EMFILE) WORD(ENFILE) WORD(ENOMEM) WORD(EEXIST) WORD(EISDIR)
    WORD(ENAMETOOLONG) WORD(EBADF)
#undef WORD
    default:
        snprintf(room, n, "errno %d", e);
        return room;
    }
}

interp_status interp__spill_check(struct interp_session *s, interp_error **err)
{
    char room[32];
    int e = interp__spill_try(s->v.spill_dir);
    if (!e)
        return INTERP_OK;
    struct interp__fault f = { INTERP_E_IO, "spill-dir", "name a directory in which this user may make files, or leave spill_dir unset", e, 0 };
    return interp__fail_with(&s->mem, err, &f, "no file can be made in spill_dir \"%.512s\": %s", s->v.spill_dir, word_of(e, room, sizeof room));
}

/* ---- where a stream is */

static struct interp__source source(const interp_result *r, int i)
{
    const struct interp__kept *k = &r->out[i];
    const struct interp__spill *d = &r->spill[i];
    struct interp__source s = { .total = k->total, .head = k->head, .tail = k->tail };
    if (d->fd >= 0) {
        s.spill = d;
        s.newlines = d->newlines;
        interp__spill_extent(d, &s.a, &s.b, &s.e);
        return s;
    }
    const char *end = k->truncated ? k->tail + k->tail_len : k->head + k->head_len;
    s.a = s.b = k->head_len;
    s.e = k->truncated ? k->total : s.a;
    if (k->truncated)
        s.b = k->total - k->tail_len;
    s.newlines = k->lines - (k->total && (!(k->truncated ? k->tail_len : k->head_len) || end[-1] != '\n'));
    return s;
}

void interp__spill_json(struct interp__buf *b, const struct interp__spill *d, uint64_t total)
{
    if (d->fd < 0 && !d->failed) {
        interp__buf_str(b, "null");
        return;
    }
    uint64_t from, to, end;
    char room[32];
    interp__spill_extent(d, &from, &to, &end);
    interp__buf_fmt(b, "{\"bytes\":%" PRIu64 ",\"missing_bytes\":%" PRIu64 ",\"gap\":", end - (to - from), total - end + (to - from));
    if (to > from)
        interp__buf_fmt(b, "[%" PRIu64 ",%" PRIu64 "]", from, to);
    else
        interp__buf_str(b, "null");
    interp__buf_str(b, ",\"error\":");
    if (d->failed)
        interp__buf_fmt(b, "\"%s\"}", word_of(d->failed, room, sizeof room));
    else
        interp__buf_str(b, "null}");
}

/* ---- calls */

static interp_status check(const interp_result *r, int32_t stream, const char *what, const void *needed, interp_error **err)
{
    if (!r)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "%s: the result is NULL", what);
    if (stream != INTERP_STREAM_STDOUT && stream != INTERP_STREAM_STDERR)
        return interp__fail(&r->mem, err, INTERP_E_INVAL, "argument", "%s: there is no stream %d", what, stream);
    return needed ? INTERP_OK : interp__fail(&r->mem, err, INTERP_E_INVAL, "argument", "%s: a pointer is NULL", what);
}
static interp_status failed(const interp_result *r, int e, const char *reason, const char *what, interp_error **err)
{
    char room[32];
    if (e == ENOMEM)
        return interp__nomem(err);
    struct interp__fault f = { INTERP_E_IO, reason, NULL, e, 0 };
    return interp__fail_with(&r->mem, err, &f, "%s: %s", what, word_of(e, room, sizeof room));
}

interp_status interp_result_read(const interp_result *r, int32_t stream, uint64_t offset, void *p, size_t n, size_t *got, interp_error **err)
{
    interp_status st = check(r, stream, "interp_result_read", p && got ? p : NULL, err);
    if (st)
        return st;
    struct interp__source s = source(r, stream - 1);
    size_t k = 0;
    if (offset >= s.total)
        return INTERP_DONE;
    int e = interp__source_read(&s, offset, p, n, &k);
    if (e == ENODATA && offset < s.b)
        return interp__fail(&r->mem, err, INTERP_E_NOT_FOUND, "spill-gap", "bytes %" PRIu64 " to %" PRIu64 " of the stream were not kept; it goes on at %" PRIu64 "%s", s.a, s.b, s.b,
                            s.spill ? "" : "; a session with spill_dir keeps more");
    if (e == ENODATA)
        return interp__fail(&r->mem, err, INTERP_E_NOT_FOUND, "spill-gap", "bytes from %" PRIu64 " on could not be kept", s.e);
    if (e)
        return failed(r, e, "spill-read", "the output that was put aside can't be read", err);
    *got = k;
    return INTERP_OK;
}

interp_status interp_result_find(const interp_result *r, int32_t stream, const void *text, size_t n, uint64_t from, uint64_t *offset, uint64_t *line, interp_error **err)
{
    interp_status st = check(r, stream, "interp_result_find", text, err);
    if (st)
        return st;
    if (n == INTERP_NTS)
        n = strlen(text);
    if (!n || n > INTERP__FIND_MAX)
        return interp__fail(&r->mem, err, INTERP_E_INVAL, "argument", "interp_result_find: the text has %zu bytes; 1 to %d can be looked for", n, INTERP__FIND_MAX);
    struct interp__source s = source(r, stream - 1);
    uint64_t at = 0, number = 0;
    int e = interp__source_find(&s, &r->mem, text, n, from, &at, &number);
    if (e < 0)
        return INTERP_DONE;
    if (e)
        return failed(r, e, "spill-read", "the output that was put aside can't be read", err);
    if (offset)
        *offset = at;
    if (line)
        *line = number;
    return INTERP_OK;
}

interp_status interp_result_save(const interp_result *r, int32_t stream, const char *path, interp_error **err)
{
    interp_status st = check(r, stream, "interp_result_save", path && *path ? path : NULL, err);
    if (st)
        return st;
    struct interp__source s = source(r, stream - 1);
    int e = interp__source_save(&s, &r->mem, path);
    if (e == EEXIST || e == ELOOP)
        return interp__fail(&r->mem, err, INTERP_E_EXISTS, "spill-exists", "\"%.512s\" exists; a saved output gets a new file", path);
    return e ? failed(r, e, "spill-save", "the output can't be saved", err) : INTERP_OK;
}

uint64_t interp_result_readable_bytes(const interp_result *r, int32_t stream)
{
    if (check(r, stream, "", r, NULL))
        return 0;
    struct interp__source s = source(r, stream - 1);
    return s.e - (s.b - s.a);
}
