/* exec_spill.c - the operations on the whole output of an exec that has ended: pages of it, a search, a file. The results of a session's last execs are kept for that.
   SPDX-License-Identifier: MIT */
#include "exec.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_MAX = 1 << 20, MATCHES_MAX = 1000, AROUND = 2048 };

static void drop(struct kept *k)
{
    interp_result_free(k->result);
    interp_call_free(k->call);
    id_free(&k->id);
}

void spill_keep(struct session *s, const struct id *id, interp_result *r, interp_call *call)
{
    if (s->kept_count == KEPT_MAX) {
        drop(&s->kept[0]);
        memmove(s->kept, s->kept + 1, (KEPT_MAX - 1) * sizeof *s->kept);
        s->kept_count--;
    }
    struct kept *k = &s->kept[s->kept_count++];
    memset(k, 0, sizeof *k);
    k->result = r;
    k->call = call;
    interp_call_set_userdata(call, NULL);
    k->id.raw = xdup(id->raw, id->raw_len);
    k->id.raw_len = id->raw_len;
    k->id.text = id->text ? xdup(id->text, id->text_len) : NULL;
    k->id.text_len = id->text_len;
}

void spill_forget(struct session *s)
{
    while (s->kept_count)
        drop(&s->kept[--s->kept_count]);
}

const struct kept *kept_find(const struct session *s, const struct id *id)
{
    const struct kept *k = NULL;
    for (unsigned i = 0; i < s->kept_count; i++)   /* the last one of that id */
        if (id_same(&s->kept[i].id, id))
            k = &s->kept[i];
    return k;
}

int number_member(const struct object *o, const char *name, uint64_t *v)
{
    const struct member *m = object_get(o, name);
    char text[24], *end;
    if (!m)
        return 0;
    if (m->kind != JSON_NUMBER || m->value_len >= sizeof text || m->value[0] < '0' || m->value[0] > '9')
        return -1;
    memcpy(text, m->value, m->value_len);
    text[m->value_len] = 0;
    errno = 0;
    *v = strtoull(text, &end, 10);
    return *end || errno ? -1 : 0;
}
int stream_member(const struct object *o)
{
    const struct member *m = object_get(o, "stream");
    if (!m)
        return INTERP_STREAM_STDOUT;
    return m->text && !strcmp(m->text, "stdout") ? INTERP_STREAM_STDOUT : m->text && !strcmp(m->text, "stderr") ? INTERP_STREAM_STDERR : 0;
}

static void page(struct loop *io, const struct id *id, const interp_result *r, int stream, const struct object *o)
{
    uint64_t offset = 0, n = 65536;
    if (number_member(o, "offset", &offset) < 0 || number_member(o, "length", &n) < 0 || !n || n > PAGE_MAX) {
        answer_failed(io, id, INTERP_E_INVAL, "member-type", "spill_read: \"offset\" and \"length\" are whole numbers, the length from 1 to 1048576", "");
        return;
    }
    char *p = xrealloc(NULL, n);
    size_t got = 0;
    interp_error *err = NULL;
    interp_status st = interp_result_read(r, stream, offset, p, n, &got, &err);
    if (st < 0)
        answer_error(io, id, err, st);
    else {
        struct buf *b = answer(io, id, "done");
        buf_text(b, ",");
        buf_bytes_members(b, p, got);
        buf_text(b, ",\"offset\":");
        buf_u64(b, offset);
        buf_text(b, ",\"total_bytes\":");
        buf_u64(b, interp_result_total_bytes(r, stream));
        answer_end(io);
    }
    interp_error_free(err);
    free(p);
}

/* The line around a place, at most so much to either side; *end: where the next line begins, 0 when that is farther. */
static void line_around(struct buf *b, const interp_result *r, int stream, uint64_t at, uint64_t *end)
{
    char before[AROUND], after[AROUND];
    size_t nb = 0, na = 0;
    uint64_t from = at > AROUND ? at - AROUND : 0;
    if (interp_result_read(r, stream, from, before, (size_t)(at - from), &nb, NULL) != INTERP_OK || from + nb != at)
        nb = 0;   /* there is a gap before it */
    (void)interp_result_read(r, stream, at, after, AROUND, &na, NULL);
    const char *start = nb ? memrchr(before, '\n', nb) : NULL, *stop = na ? memchr(after, '\n', na) : NULL;
    size_t skip = start ? (size_t)(start + 1 - before) : 0, len = stop ? (size_t)(stop - after) : na;
    *end = stop ? at + len + 1 : 0;
    char line[2 * AROUND];
    memcpy(line, before + skip, nb - skip);
    memcpy(line + nb - skip, after, len);
    buf_bytes_members(b, line, nb - skip + len);
}

static void grep(struct loop *io, const struct id *id, const interp_result *r, int stream, const struct object *o)
{
    uint64_t at = 0, limit = 100, line = 0, end = 0;
    const struct member *m = object_get(o, "text");
    if (number_member(o, "offset", &at) < 0 || number_member(o, "limit", &limit) < 0 || !limit || limit > MATCHES_MAX || !m || m->kind != JSON_STRING || !m->text || !m->text_len) {
        answer_failed(io, id, INTERP_E_INVAL, "member-type", "spill_grep: \"text\" is a text of 1 to 4096 bytes, \"offset\" and \"limit\" are whole numbers, the limit from 1 to 1000", "");
        return;
    }
    struct buf found = { 0 };
    interp_error *err = NULL;
    interp_status st = INTERP_OK;
    for (uint64_t i = 0; i < limit && (st = interp_result_find(r, stream, m->text, m->text_len, at, &at, &line, &err)) == INTERP_OK; i++) {
        buf_text(&found, i ? ",{\"line\":" : "{\"line\":");
        buf_u64(&found, line);
        buf_text(&found, ",\"offset\":");
        buf_u64(&found, at);
        buf_text(&found, ",");
        line_around(&found, r, stream, at, &end);
        buf_text(&found, "}");
        if (!end && interp_result_find(r, stream, "\n", 1, at, &end, NULL, NULL) == INTERP_OK)
            end++;
        at = end ? end : interp_result_total_bytes(r, stream);   /* a line once, however often the text stands in it */
    }
    if (st < 0)
        answer_error(io, id, err, st);
    else {
        struct buf *b = answer(io, id, "done");
        buf_text(b, ",\"matches\":[");
        buf_add(b, found.p, found.len);
        buf_text(b, "],\"next\":");
        if (st == INTERP_OK)
            buf_u64(b, at);
        else
            buf_text(b, "null");
        answer_end(io);
    }
    interp_error_free(err);
    buf_free(&found);
}

static void save(struct loop *io, const struct id *id, const interp_result *r, int stream, const struct object *o)
{
    const struct member *m = object_get(o, "path");
    if (!m || m->kind != JSON_STRING || !m->text || !m->text_len || strlen(m->text) != m->text_len) {
        answer_failed(io, id, INTERP_E_INVAL, "member-type", "spill_save: \"path\" is a text without NUL", "name the new file");
        return;
    }
    interp_error *err = NULL;
    interp_status st = interp_result_save(r, stream, m->text, &err);
    if (st == INTERP_OK)
        answer_done(io, id);
    else
        answer_error(io, id, err, st);
    interp_error_free(err);
}

void spill_op(struct loop *io, const struct id *id, struct session *s, const struct object *o, const char *op)
{
    const struct member *target = object_get(o, "target");
    struct id of;
    if (!target || id_take(&of, target) < 0) {
        answer_failed(io, id, INTERP_E_INVAL, "member-missing", "\"target\" is the id of an exec that has ended, a string or a number", "");
        return;
    }
    const struct kept *k = kept_find(s, &of);
    const interp_result *r = k ? k->result : NULL;
    id_free(&of);
    int stream = stream_member(o);
    if (!r)
        answer_failed(io, id, INTERP_E_NOT_FOUND, "exec-unknown", "no exec with this id has ended lately; the last 16 of a session can be asked", "");
    else if (!stream)
        answer_failed(io, id, INTERP_E_INVAL, "member-type", "\"stream\" is \"stdout\" or \"stderr\"", "");
    else if (!strcmp(op, "spill_read"))
        page(io, id, r, stream, o);
    else if (!strcmp(op, "spill_grep"))
        grep(io, id, r, stream, o);
    else
        save(io, id, r, stream, o);
}
