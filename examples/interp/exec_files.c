/* exec_files.c - the line protocol: operations on files of a session.
   SPDX-License-Identifier: MIT */
#include "exec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GET_MAX  ((uint64_t)32 << 20) /* its base64 fits a line */
#define LIST_MAX 10000u

struct file_op {
    struct buf path, to, content; /* to: the new name, or a directory of the host's */
    uint32_t mode, flags;
    uint64_t limit;
    interp_status (*start)(struct op *op, interp_error **err);
};

void file_op_free(struct file_op *f)
{
    if (!f)
        return;
    buf_free(&f->path);
    buf_free(&f->to);
    buf_free(&f->content);
    free(f);
}

static interp_status put(struct op *op, interp_error **err)
{
    struct file_op *f = op->file;
    return interp_session_put_start(op->session->s, f->path.p, f->path.len, op->input.len, f->mode, &op->call, err);
}
static interp_status get(struct op *op, interp_error **err)
{
    return interp_session_get_start(op->session->s, op->file->path.p, op->file->path.len, GET_MAX, &op->call, err);
}
static interp_status list(struct op *op, interp_error **err)
{
    struct file_op *f = op->file;
    return interp_session_list_start(op->session->s, f->path.p, f->path.len, f->flags, f->limit, &op->call, err);
}
static interp_status look(struct op *op, interp_error **err)
{
    return interp_session_stat_start(op->session->s, op->file->path.p, op->file->path.len, &op->call, err);
}
static interp_status make(struct op *op, interp_error **err)
{
    struct file_op *f = op->file;
    return interp_session_mkdir_start(op->session->s, f->path.p, f->path.len, f->flags, &op->call, err);
}
static interp_status move(struct op *op, interp_error **err)
{
    struct file_op *f = op->file;
    return interp_session_rename_start(op->session->s, f->path.p, f->path.len, f->to.p, f->to.len, f->flags, &op->call, err);
}
static interp_status take_away(struct op *op, interp_error **err)
{
    struct file_op *f = op->file;
    return interp_session_remove_start(op->session->s, f->path.p, f->path.len, f->flags, &op->call, err);
}

static interp_status put_tar(struct op *op, interp_error **err)
{
    struct file_op *f = op->file;
    return interp_session_put_tar_start(op->session->s, f->path.p, f->path.len, f->flags, &op->call, err);
}
static interp_status put_dir(struct op *op, interp_error **err)
{
    struct file_op *f = op->file;
    return interp_session_put_dir_start(op->session->s, f->path.p, f->path.len, f->flags, f->to.p, &op->call, err);
}
static interp_status get_dir(struct op *op, interp_error **err)
{
    struct file_op *f = op->file;
    return interp_session_get_dir_start(op->session->s, f->path.p, f->path.len, f->flags, INTERP_FOREVER, f->to.p, &op->call, err);
}

/* A directory of the host's, with a NUL behind it. */
static const char *dir_take(const struct object *o, struct buf *out)
{
    const struct member *m = object_get(o, "dir");
    if (!m || m->kind != JSON_STRING)
        return "\"dir\" is a directory of this machine, as a string";
    object_string(m, out);
    buf_add(out, "", 1);
    return strlen(out->p) + 1 == out->len ? NULL : "\"dir\" has a NUL in it";
}

/* A path, as text or as base64. */
static const char *path_take(const struct object *o, const char *name, const char *name64, struct buf *out)
{
    const struct member *text = object_get(o, name), *base64 = object_get(o, name64);
    struct buf encoded = { 0 };
    const char *why = NULL;
    if (!text == !base64)
        return "a path is needed, as \"path\" (\"to\") or, for one that is not UTF-8, \"path_base64\" (\"to_base64\")";
    if ((text ? text : base64)->kind != JSON_STRING)
        return "a path is a string";
    if (text)
        object_string(text, out);
    else {
        object_string(base64, &encoded);
        if (base64_decode(encoded.p ? encoded.p : "", encoded.len, out) < 0)
            why = "the path is not base64";
        buf_free(&encoded);
    }
    return why;
}

static const char *number_take(const struct object *o, const char *name, uint64_t most, uint64_t *out)
{
    const struct member *m = object_get(o, name);
    char digits[24];
    uint64_t v = 0;
    if (!m)
        return NULL;
    if (m->kind != JSON_NUMBER || m->value_len >= sizeof digits)
        return "\"mode\" and \"limit\" are whole numbers";
    for (size_t i = 0; i < m->value_len; i++) {
        if (m->value[i] < '0' || m->value[i] > '9')
            return "\"mode\" and \"limit\" are whole numbers";
        v = v * 10 + (uint64_t)(m->value[i] - '0');
        if (v > most)
            return "\"mode\" is at most 511 (0777), \"limit\" at most 1000000";
    }
    *out = v;
    return NULL;
}

static const char *switch_take(const struct object *o, const char *name, uint32_t flag, int on, int usual, uint32_t *flags)
{
    const struct member *m = object_get(o, name);
    if (m && m->kind != JSON_BOOL)
        return "\"recursive\", \"parents\", \"replace\" and \"links\" are true or false";
    if ((m ? m->value[0] == 't' : usual) == on)
        *flags |= flag;
    return NULL;
}

static const struct { const char *op; interp_status (*start)(struct op *, interp_error **); } verbs[] = {
    { "put", put }, { "get", get }, { "list", list }, { "stat", look }, { "mkdir", make }, { "rename", move }, { "remove", take_away },
    { "put_tar", put_tar }, { "put_dir", put_dir }, { "get_dir", get_dir },
};

int file_op_take(struct op *op, const char *verb, const struct object *o, const char **why)
{
    struct file_op *f = xrealloc(NULL, sizeof *f);
    uint64_t mode = 0644, limit = LIST_MAX;
    memset(f, 0, sizeof *f);
    op->file = f;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(verb, verbs[i].op))
            f->start = verbs[i].start;
    *why = path_take(o, "path", "path_base64", &f->path);
    if (!*why && f->start == move)
        *why = path_take(o, "to", "to_base64", &f->to);
    if (!*why && (f->start == put_dir || f->start == get_dir))
        *why = dir_take(o, &f->to);
    if (!*why && (f->start == put || f->start == put_tar)) {
        if (!object_get(o, "text") && !object_get(o, "base64"))
            *why = "the content is missing: \"text\" or \"base64\"";
        else
            input_take(op, o, why);
        op->input_eof = 1;
    }
    if (!*why)
        *why = number_take(o, "mode", 0777, &mode);
    if (!*why)
        *why = number_take(o, "limit", 1000000, &limit);
    if (!*why && (f->start == list || f->start == take_away))
        *why = switch_take(o, "recursive", INTERP_FILE_RECURSIVE, 1, 0, &f->flags);
    if (!*why && f->start == make)
        *why = switch_take(o, "parents", INTERP_FILE_PARENTS, 1, 1, &f->flags);
    if (!*why && f->start == move)
        *why = switch_take(o, "replace", INTERP_FILE_KEEP, 0, 1, &f->flags);
    if (!*why && (f->start == put_tar || f->start == put_dir || f->start == get_dir))
        *why = switch_take(o, "links", INTERP_TREE_LINKS, 1, f->start == put_tar, &f->flags);
    f->mode = (uint32_t)mode;
    f->limit = limit;
    return *why ? -1 : 0;
}

interp_status file_op_start(struct op *op, interp_error **err)
{
    return op->file->start(op, err);
}

void file_op_event(struct op *op, const interp_event *ev)
{
    size_t n = 0;
    const void *p = interp_event_data(ev, &n);
    if (interp_event_type(ev) == INTERP_EV_WRITABLE)
        input_feed(op);
    else if (interp_event_type(ev) == INTERP_EV_DATA)
        buf_add(&op->file->content, p, n);
}

void file_op_answer(struct op *op)
{
    size_t n = 0;
    const char *json = interp_call_json(op->call, &n);
    struct buf *b = answer(op->io, &op->id, "done");
    if (op->file->start == get) {
        buf_text(b, ",");
        buf_bytes_members(b, op->file->content.p ? op->file->content.p : "", op->file->content.len);
    }
    if (n > 2) {
        buf_text(b, ",");
        buf_add(b, json + 1, n - 2);
    }
    answer_end(op->io);
}
