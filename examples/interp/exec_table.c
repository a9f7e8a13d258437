/* exec_table.c - sessions by name, operations in flight, ids.
   SPDX-License-Identifier: MIT */
#include "doctor.h"
#include "exec.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* ---- sessions */

static struct session **bucket(struct loop *io, const char *name, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)name[i]) * 16777619u;
    return &io->buckets[h % SESSION_BUCKETS];
}

struct session *session_find(struct loop *io, const char *name, size_t n)
{
    for (struct session *s = *bucket(io, name, n); s; s = s->next)
        if (s->state != SESSION_FAILED && s->name_len == n && !memcmp(s->name, name, n))
            return s;
    return NULL;
}

struct session *session_get(struct loop *io, const char *name, size_t n)
{
    struct session *s = session_find(io, name, n);
    if (s) {
        if (s->state == SESSION_CLOSED)
            io->closed_names--;
        return s;
    }
    struct session **at = bucket(io, name, n);
    s = xrealloc(NULL, sizeof *s);
    memset(s, 0, sizeof *s);
    s->name = xdup(name, n);
    s->name_len = n;
    s->next = *at;
    *at = s;
    return s;
}

static void session_forget(struct loop *io, struct session *s)
{
    struct session **at = bucket(io, s->name, s->name_len);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    interp_session_close(s->s);
    spill_forget(s);
    free(s->name);
    free(s);
}

static void forget_closed(struct loop *io)
{
    for (size_t i = 0; i < SESSION_BUCKETS; i++)
        for (struct session *s = io->buckets[i], *next; s; s = next) {
            next = s->next;
            if (s->state == SESSION_CLOSED && !s->ops && !s->waiters)
                session_forget(io, s);
        }
    io->closed_names = 0;
}

void session_closed(struct loop *io, struct session *s)
{
    if (io->closed_names >= CLOSED_NAMES_MAX)
        forget_closed(io);
    s->s = interp_session_close(s->s);
    spill_forget(s);
    s->state = SESSION_CLOSED;
    s->close_done = 0;
    io->closed_names++;
}

/* ---- operations */

struct op *op_new(struct loop *io, enum op_kind kind, struct session *s, const struct id *id, size_t weight)
{
    struct op *op = xrealloc(NULL, sizeof *op);
    memset(op, 0, sizeof *op);
    op->io = io;
    op->kind = kind;
    op->session = s;
    op->weight = weight;
    if (id && id->raw) {
        op->id.raw = xdup(id->raw, id->raw_len);
        op->id.raw_len = id->raw_len;
        op->id.text = id->text ? xdup(id->text, id->text_len) : NULL;
        op->id.text_len = id->text_len;
    }
    op->link = io->ops_end;
    *io->ops_end = op;
    io->ops_end = &op->next;
    io->op_count++;
    io->op_bytes += weight;
    if (s && kind == OP_CLOSE)
        s->waiters++;
    else if (s)
        s->ops++;
    return op;
}

void op_free(struct op *op)
{
    struct loop *io = op->io;
    struct session *s = op->session;
    if (io->turn == op)
        io->turn = op->next;
    *op->link = op->next;
    if (op->next)
        op->next->link = op->link;
    else
        io->ops_end = op->link;
    io->op_count--;
    io->op_bytes -= op->weight;
    interp_call_free(op->call);
    interp_request_free(op->request);
    interp_cancel_free(op->cancel);
    interp_error_free(op->error);
    doctor_free(op->doctor);
    file_op_free(op->file);
    free(op->language);
    free(op->kernel);
    buf_free(&op->input);
    id_free(&op->id);
    if (s && op->kind == OP_CLOSE)
        s->waiters--;
    else if (s && --s->ops == 0 && s->state == SESSION_FAILED)
        session_forget(io, s);
    free(op);
}

int id_same(const struct id *a, const struct id *b)
{
    if (!a->text != !b->text)
        return 0;
    return a->text ? a->text_len == b->text_len && !memcmp(a->text, b->text, a->text_len)
                   : a->raw_len == b->raw_len && !memcmp(a->raw, b->raw, a->raw_len);
}

struct op *op_find_exec(struct loop *io, const struct session *s, const struct id *id)
{
    for (struct op *op = io->ops; op; op = op->next)
        if (op->kind == OP_EXEC && op->session == s && id_same(&op->id, id))
            return op;
    return NULL;
}

/* ---- ids */

/* A number past the range of a double would not come back from most readers. */
static int is_finite(const char *number, size_t n)
{
    char *text = xdup(number, n);
    double v = strtod(text, NULL);
    free(text);
    return v >= -DBL_MAX && v <= DBL_MAX;
}

int id_take(struct id *id, const struct member *m)
{
    memset(id, 0, sizeof *id);
    if ((m->kind != JSON_NUMBER && m->kind != JSON_STRING) || m->value_len > ID_MAX_BYTES)
        return -1;
    if (m->kind == JSON_NUMBER && !is_finite(m->value, m->value_len))
        return -1;
    id->raw = xdup(m->value, m->value_len);
    id->raw_len = m->value_len;
    if (m->kind == JSON_STRING) {
        id->text = xdup(m->text, m->text_len);
        id->text_len = m->text_len;
    }
    return 0;
}

void id_free(struct id *id)
{
    free(id->raw);
    free(id->text);
    memset(id, 0, sizeof *id);
}

void table_free(struct loop *io)
{
    while (io->ops)
        op_free(io->ops);
    for (size_t i = 0; i < SESSION_BUCKETS; i++)
        while (io->buckets[i])
            session_forget(io, io->buckets[i]);
}
