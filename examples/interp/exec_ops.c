/* exec_ops.c - the operations of the line protocol: from a line to the start of a call.
   SPDX-License-Identifier: MIT */
#include "doctor.h"
#include "exec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One request, while its line is handled. */
struct line {
    struct loop *io;
    struct object o;
    struct id id;
    const char *op;
    size_t weight;
};

static void fail(const struct line *l, interp_status st, const char *reason, const char *format, const char *value, const char *remedy)
{
    char message[NAME_MAX_BYTES + 160];
    snprintf(message, sizeof message, format, l->op, value);
    answer_failed(l->io, &l->id, st, reason, message, remedy);
}

static void news(struct task *t, interp_call *call)
{
    (void)call;
    ((struct op *)t)->ready = 1;
}

static void watch(struct op *op)
{
    op->task.news = news;
    op->ready = 1;
    interp_call_set_userdata(op->call, &op->task);
}

/* ---- members */

/* A short text; NULL after an answer when it is missing (and needed), no string, or too long. */
static const struct member *text_member(const struct line *l, const char *name, int needed, int *bad)
{
    const struct member *m = object_get(&l->o, name);
    if (!m && !needed)
        return NULL;
    *bad = !m || m->kind != JSON_STRING || !m->text || !m->text_len || m->text_len > NAME_MAX_BYTES || strlen(m->text) != m->text_len;
    if (!m)
        fail(l, INTERP_E_INVAL, "member-missing", "%s: the member \"%s\" is missing", name, "");
    else if (*bad)
        fail(l, INTERP_E_INVAL, "member-type", "%s: \"%s\" is not a text of 1 to 256 bytes without NUL", name, "");
    return *bad ? NULL : m;
}

/* The session of a request, NULL after an answer. Closing ones count as closed. */
static struct session *session_member(const struct line *l)
{
    int bad = 0;
    const struct member *m = text_member(l, "session", 1, &bad);
    if (!m)
        return NULL;
    struct session *s = session_find(l->io, m->text, m->text_len);
    if (!s)
        fail(l, INTERP_E_NOT_FOUND, "session-unknown", "%s: there is no session \"%s\"", m->text, "open it first");
    else if (s->state == SESSION_CLOSED || s->state == SESSION_CLOSING)
        fail(l, INTERP_E_CLOSED, "session-closed", "%s: session \"%s\" is closed", m->text, "open it again");
    else
        return s;
    return NULL;
}

static int room_for_op(const struct line *l)
{
    if (l->io->op_count < OPS_MAX && l->io->op_bytes + l->weight <= OPS_MAX_BYTES)
        return 1;
    fail(l, INTERP_E_LIMIT, "too-many", "%s: too many operations in flight%s", "", "wait for some to end");
    return 0;
}

/* ---- open, close */

static void do_open(struct line *l)
{
    int bad = 0;
    const struct member *name = text_member(l, "session", 1, &bad), *json = object_get(&l->o, "config");
    if (!name || !room_for_op(l))
        return;
    struct session *s = session_find(l->io, name->text, name->text_len);
    if (s && s->state != SESSION_CLOSED) {
        fail(l, INTERP_E_EXISTS, "session-exists", "%s: there is a session \"%s\" already", name->text, "close it first, or take another name");
        return;
    }
    interp_config *config = NULL;
    interp_session *opened = NULL;
    interp_call *call = NULL;
    interp_error *err = NULL;
    interp_status st = interp_config_new(l->io->ctx, &config, &err);
    if (st == INTERP_OK && json)
        st = interp_config_set_json(config, json->value, json->value_len, &err);
    if (st == INTERP_OK)
        st = interp_session_open_start(l->io->ctx, config, &opened, &call, &err);
    if (st == INTERP_OK) {
        s = session_get(l->io, name->text, name->text_len);
        s->state = SESSION_OPENING;
        s->s = opened;
        struct op *op = op_new(l->io, OP_OPEN, s, &l->id, l->weight);
        op->call = call;
        watch(op);
    } else {
        answer_error(l->io, &l->id, err, st);
    }
    interp_config_free(config);
    interp_error_free(err);
}

static void start(struct op *op);

/* Execs of the session that have not started end as cancelled (they start with a fired cancel), or are refused when there is no sandbox yet. */
static void end_waiting(struct loop *io, struct session *s)
{
    for (struct op *op = io->ops, *next; op; op = next) {
        next = op->next;
        if (op->session != s || op->call || op->kind == OP_CLOSE)
            continue;
        if (op->kind == OP_EXEC && s->state == SESSION_OPEN) {
            interp_cancel_fire(op->cancel);
            start(op);
        } else {
            answer_failed(io, &op->id, INTERP_E_CLOSED, "session-closed", "the session was closed before this could start", "open it again");
            op_free(op);
        }
    }
}

static void close_start(struct loop *io, struct session *s, struct op *op)
{
    end_waiting(io, s);
    s->state = SESSION_CLOSING;
    if (interp_session_close_start(s->s, &op->call, NULL) == INTERP_OK) {
        watch(op);
        return;
    }
    interp_session_shutdown(s->s);
    s->close_done = 1;
}

static void do_close(struct line *l)
{
    int bad = 0;
    const struct member *name = text_member(l, "session", 1, &bad);
    if (!name)
        return;
    struct session *s = session_find(l->io, name->text, name->text_len);
    if (!s) {
        fail(l, INTERP_E_NOT_FOUND, "session-unknown", "%s: there is no session \"%s\"", name->text, "");
    } else if (s->state == SESSION_CLOSED) {
        answer_done(l->io, &l->id);
    } else {
        struct op *op = op_new(l->io, OP_CLOSE, s, &l->id, l->weight);
        if (s->state != SESSION_CLOSING)
            close_start(l->io, s, op);
    }
}

void ops_end(struct loop *io)
{
    if (io->ending)
        return;
    io->ending = 1;
    for (size_t i = 0; i < SESSION_BUCKETS; i++)
        for (struct session *s = io->buckets[i]; s; s = s->next)
            if (s->state == SESSION_OPENING || s->state == SESSION_OPEN)
                close_start(io, s, op_new(io, OP_CLOSE, s, NULL, 0));
}

/* ---- exec, cancel, restart */

/* The members that belong to the request itself, as one object. */
static void request_json(const struct line *l, struct buf *b)
{
    buf_text(b, "{");
    for (size_t i = 0; i < l->o.n; i++) {
        const struct member *m = &l->o.m[i];
        if (!strcmp(m->name, "id") || !strcmp(m->name, "op") || !strcmp(m->name, "session"))
            continue;
        if (b->len > 1)
            buf_text(b, ",");
        buf_add(b, m->raw, m->raw_len);
    }
    buf_text(b, "}");
}

static void do_exec(struct line *l)
{
    struct session *s = session_member(l);
    if (!s || !room_for_op(l))
        return;
    if (op_find_exec(l->io, s, &l->id)) {
        fail(l, INTERP_E_EXISTS, "id-exists", "%s: an exec with this id is in flight in session \"%s\"", s->name, "give each exec an id of its own");
        return;
    }
    struct buf json = { 0 };
    interp_request *request = NULL;
    interp_cancel *cancel = NULL;
    interp_error *err = NULL;
    interp_status st = interp_request_new(l->io->ctx, &request, &err);
    if (st == INTERP_OK) {
        request_json(l, &json);
        st = interp_request_set_json(request, json.p, json.len, &err);
    }
    if (st == INTERP_OK)
        st = interp_cancel_new(l->io->ctx, &cancel, &err);
    if (st == INTERP_OK)
        st = interp_request_set_cancel(request, cancel, &err);
    buf_free(&json);
    if (st == INTERP_OK) {
        struct op *op = op_new(l->io, OP_EXEC, s, &l->id, l->weight); /* starts when all lines at hand have been read */
        const struct member *interactive = object_get(&l->o, "interactive"), *hold = object_get(&l->o, "hold_output"), *pty = object_get(&l->o, "pty");
        op->hold_output = hold && (hold->value[0] == 't' || hold->value[0] == '1');
        op->request = request;
        op->cancel = cancel;
        op->pty = pty && (pty->value[0] == 't' || pty->value[0] == '1');
        op->interactive = interactive && (interactive->value[0] == 't' || interactive->value[0] == '1');
        return;
    }
    answer_error(l->io, &l->id, err, st);
    interp_error_free(err);
    interp_request_free(request);
    interp_cancel_free(cancel);
}

/* The id of an exec in the member "target"; -1 after an answer. */
static int target_member(const struct line *l, struct id *id)
{
    const struct member *target = object_get(&l->o, "target");
    if (target && id_take(id, target) == 0)
        return 0;
    fail(l, INTERP_E_INVAL, "member-missing", "%s: \"%s\" is the id of an exec, a string or a number", "target", "");
    return -1;
}

static void do_cancel(struct line *l)
{
    struct session *s = session_member(l);
    struct id id;
    if (!s || target_member(l, &id) < 0)
        return;
    struct op *op = op_find_exec(l->io, s, &id);
    if (op)
        interp_cancel_fire(op->cancel);
    id_free(&id);
    answer_done(l->io, &l->id);
}

static void do_input(struct line *l)
{
    struct session *s = session_member(l);
    const char *why;
    struct id id;
    if (!s || target_member(l, &id) < 0)
        return;
    struct op *op = op_find_exec(l->io, s, &id);
    if (!op)
        fail(l, INTERP_E_NOT_FOUND, "exec-unknown", "%s: no exec with this id is in flight in session \"%s\"", s->name, "");
    else if (!op->interactive)
        fail(l, INTERP_E_INVAL, "not-interactive", "%s: that exec takes no input%s", "", "set \"interactive\":true in its request");
    else if (input_take(op, &l->o, &why) < 0)
        fail(l, INTERP_E_INVAL, "input", "%s: %s", why, "");
    else {
        input_feed(op);
        answer_done(l->io, &l->id);
    }
    id_free(&id);
}

static void do_resize(struct line *l)
{
    struct session *s = session_member(l);
    uint64_t rows = 0, columns = 0;
    struct id id;
    if (!s || target_member(l, &id) < 0)
        return;
    struct op *op = op_find_exec(l->io, s, &id);
    id_free(&id);
    if (!op)
        fail(l, INTERP_E_NOT_FOUND, "exec-unknown", "%s: no exec with this id is in flight in session \"%s\"", s->name, "");
    else if (!op->pty)
        fail(l, INTERP_E_INVAL, "pty", "%s: that exec has no terminal%s", "", "set \"pty\":true in its request");
    else if (number_member(&l->o, "rows", &rows) < 0 || number_member(&l->o, "columns", &columns) < 0 || rows > UINT32_MAX || columns > UINT32_MAX)
        fail(l, INTERP_E_INVAL, "member-type", "%s: \"rows\" and \"columns\" are whole numbers%s", "", "");
    else {
        interp_error *err = NULL;
        interp_status st;
        if (op->call)
            st = interp_call_resize(op->call, (uint32_t)rows, (uint32_t)columns, &err);
        else if ((st = interp_request_set_pty_rows(op->request, rows, &err)) == INTERP_OK)   /* it is about to start */
            st = interp_request_set_pty_columns(op->request, columns, &err);
        if (st == INTERP_OK)
            answer_done(l->io, &l->id);
        else
            answer_error(l->io, &l->id, err, st);
        interp_error_free(err);
    }
}

/* The answer to a question of an exec's: reply, allow, and code, code_base64 or reason. */
static void do_reply(struct line *l)
{
    static const char *const members[] = { "code", "code_base64", "reason" };
    struct session *s = session_member(l);
    const struct member *reply = object_get(&l->o, "reply"), *allow = object_get(&l->o, "allow");
    struct id id;
    if (!s)
        return;
    if (!reply || reply->kind != JSON_NUMBER || reply->value[0] == '-' || !allow || allow->kind != JSON_BOOL) {
        fail(l, INTERP_E_INVAL, "member-type", "%s: \"reply\" is the number of the question, \"allow\" is true or false%s", "", "");
        return;
    }
    if (target_member(l, &id) < 0)
        return;
    struct op *op = op_find_exec(l->io, s, &id);
    id_free(&id);
    if (!op || !op->call) {
        fail(l, INTERP_E_NOT_FOUND, "exec-unknown", "%s: no exec with this id is in flight in session \"%s\"", s->name, "");
        return;
    }
    struct buf json = { 0 };
    interp_error *err = NULL;
    buf_text(&json, "{");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct member *m = object_get(&l->o, members[i]);
        if (!m)
            continue;
        if (json.len > 1)
            buf_text(&json, ",");
        buf_add(&json, m->raw, m->raw_len);
    }
    buf_text(&json, "}");
    interp_status st = interp_call_reply(op->call, strtoull(reply->value, NULL, 10), allow->value[0] == 't' ? INTERP_OK : INTERP_E_DENIED, json.p, json.len, &err);
    if (st == INTERP_OK)
        answer_done(l->io, &l->id);
    else
        answer_error(l->io, &l->id, err, st);
    op->ready = 1;
    interp_error_free(err);
    buf_free(&json);
}

static void do_output(struct line *l)
{
    struct session *s = session_member(l);
    struct id id;
    if (!s || target_member(l, &id) < 0)
        return;
    struct op *op = op_find_exec(l->io, s, &id);
    const struct kept *k = op ? NULL : kept_find(s, &id);
    id_free(&id);
    if (op || k)
        output_op(l->io, &l->id, op ? op->call : k->call, k ? k->result : NULL, &l->o);
    else
        fail(l, INTERP_E_NOT_FOUND, "exec-unknown", "%s: no exec with this id is in flight in session \"%s\", or has ended lately", s->name, "");
    if (op)
        op->ready = 1;
}

static void do_signal(struct line *l)
{
    struct session *s = session_member(l);
    struct id id;
    if (!s || target_member(l, &id) < 0)
        return;
    struct op *op = op_find_exec(l->io, s, &id);
    id_free(&id);
    if (op && op->call)
        signal_op(l->io, &l->id, op->call, &l->o);
    else
        fail(l, INTERP_E_NOT_FOUND, "exec-unknown", "%s: no exec with this id runs in session \"%s\"", s->name, "");
}

static void do_kernels(struct line *l)
{
    struct session *s = session_member(l);
    if (s)
        kernels_op(l->io, &l->id, s);
}

static void do_restart(struct line *l)
{
    int bad = 0;
    struct session *s = session_member(l);
    if (!s || !room_for_op(l))
        return;
    const struct member *language = text_member(l, "language", 1, &bad), *kernel = bad ? NULL : text_member(l, "kernel", 0, &bad);
    if (bad)
        return;
    struct op *op = op_new(l->io, OP_RESTART, s, &l->id, l->weight);
    op->language = xdup(language->text, language->text_len);
    op->kernel = kernel ? xdup(kernel->text, kernel->text_len) : NULL;
}

static void do_probe(struct line *l)
{
    int bad = 0;
    struct session *s = session_member(l);
    if (!s || !room_for_op(l))
        return;
    const struct member *format = text_member(l, "format", 0, &bad);
    if (bad)
        return;
    int as_text = format && !strcmp(format->text, "text");
    if (format && !as_text && strcmp(format->text, "json") != 0) {
        fail(l, INTERP_E_INVAL, "member-value", "%s: \"format\" is \"%s\"", format->text, "give json or text");
        return;
    }
    struct op *op = op_new(l->io, OP_PROBE, s, &l->id, l->weight);
    op->as_text = as_text;
}

static void start(struct op *op)
{
    interp_error *err = NULL;
    interp_session *s = op->session->s;
    interp_status st = op->kind == OP_FILE    ? file_op_start(op, &err)
                       : op->kind == OP_PROBE ? interp_session_probe_start(s, &op->call, &err)
                       : op->kind == OP_EXEC  ? interp_session_exec_start(s, op->request, &op->call, &err)
                                              : interp_session_restart_start(s, op->language, op->kernel, &op->call, &err);
    if (st == INTERP_OK) {
        interp_request_free(op->request);
        op->request = NULL;
        watch(op);
        input_feed(op);
        return;
    }
    answer_error(op->io, &op->id, err, st);
    interp_error_free(err);
    op_free(op);
}

void ops_start(struct loop *io)
{
    for (struct op *op = io->ops, *next; op; op = next) {
        next = op->next;
        if (op->call || (op->kind != OP_EXEC && op->kind != OP_RESTART && op->kind != OP_PROBE && op->kind != OP_FILE))
            continue;
        if (op->session->state == SESSION_OPEN) {
            start(op);
        } else if (op->session->state == SESSION_FAILED) {
            answer_failed(io, &op->id, INTERP_E_NOT_FOUND, "session-unknown", "the session did not open", "see the answer to its open");
            op_free(op);
        }
    }
}

static void do_spill(struct line *l)
{
    struct session *s = session_member(l);
    if (s)
        spill_op(l->io, &l->id, s, &l->o, l->op);
}

/* ---- doctor */

static void doctor_ended(void *arg)
{
    ((struct op *)arg)->ready = 1;
}

static void do_doctor(struct line *l)
{
    if (!room_for_op(l))
        return;
    struct op *op = op_new(l->io, OP_DOCTOR, NULL, &l->id, l->weight);
    op->doctor = doctor_start(l->io->ctx, doctor_ended, op);
}

/* ---- files */

static void do_file(struct line *l)
{
    const char *why;
    struct session *s = session_member(l);
    if (!s || !room_for_op(l))
        return;
    struct op *op = op_new(l->io, OP_FILE, s, &l->id, l->weight); /* starts when all lines at hand have been read */
    if (file_op_take(op, l->op, &l->o, &why) == 0)
        return;
    fail(l, INTERP_E_INVAL, "file", "%s: %s", why, "");
    op_free(op);
}

/* ---- lines */

#define MEMBERS_MAX 7
static const struct operation {
    const char *name;
    void (*run)(struct line *l);
    const char *members[MEMBERS_MAX]; /* beside id and op; none: not checked here (the library knows an exec's) */
} operations[] = {
    { "open", do_open, { "session", "config" } },
    { "exec", do_exec, { NULL } },
    { "input", do_input, { "session", "target", "text", "base64", "eof" } },
    { "resize", do_resize, { "session", "target", "rows", "columns" } },
    { "cancel", do_cancel, { "session", "target" } },
    { "reply", do_reply, { "session", "target", "reply", "allow", "code", "code_base64", "reason" } },
    { "output", do_output, { "session", "target", "stream", "offset", "length" } },
    { "signal", do_signal, { "session", "target", "signal" } },
    { "kernels", do_kernels, { "session" } },
    { "restart", do_restart, { "session", "language", "kernel" } },
    { "spill_read", do_spill, { "session", "target", "stream", "offset", "length" } },
    { "spill_grep", do_spill, { "session", "target", "stream", "text", "offset", "limit" } },
    { "spill_save", do_spill, { "session", "target", "stream", "path" } },
    { "close", do_close, { "session" } },
    { "probe", do_probe, { "session", "format" } },
    { "doctor", do_doctor, { "" } },
    { "put", do_file, { "session", "path", "path_base64", "text", "base64", "mode" } },
    { "get", do_file, { "session", "path", "path_base64" } },
    { "list", do_file, { "session", "path", "path_base64", "recursive", "limit" } },
    { "stat", do_file, { "session", "path", "path_base64" } },
    { "mkdir", do_file, { "session", "path", "path_base64", "parents" } },
    { "rename", do_file, { "session", "path", "path_base64", "to", "to_base64", "replace" } },
    { "put_tar", do_file, { "session", "path", "path_base64", "base64", "links" } },
    { "put_dir", do_file, { "session", "path", "path_base64", "dir", "links" } },
    { "get_dir", do_file, { "session", "path", "path_base64", "dir", "links" } },
    { "remove", do_file, { "session", "path", "path_base64", "recursive" } },
};

static int member_known(const struct operation *operation, const char *name)
{
    if (!operation->members[0] || !strcmp(name, "id") || !strcmp(name, "op"))
        return 1;
    for (size_t i = 0; i < MEMBERS_MAX && operation->members[i]; i++)
        if (!strcmp(name, operation->members[i]))
            return 1;
    return 0;
}

/* 1 when each member is known and stands there once; else 0 after an answer. */
static int members_good(const struct line *l, const struct operation *operation)
{
    for (size_t i = 0; i < l->o.n; i++) {
        const struct member *m = &l->o.m[i];
        if (strlen(m->name) != m->name_len || !member_known(operation, m->name)) {
            fail(l, INTERP_E_INVAL, "member-unknown", "%s: there is no member \"%.256s\"", m->name, "");
            return 0;
        }
        if (object_get(&l->o, m->name) != m) {
            fail(l, INTERP_E_INVAL, "member-twice", "%s: the member \"%.256s\" stands there twice", m->name, "");
            return 0;
        }
    }
    return 1;
}

static void request_line(struct line *l)
{
    const struct member *op = object_get(&l->o, "op");
    l->op = op && op->text ? op->text : "";
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(l->op, operations[i].name)) {
            if (members_good(l, &operations[i]))
                operations[i].run(l);
            return;
        }
    char message[200];
    snprintf(message, sizeof message, *l->op ? "there is no op \"%.128s\"" : "the member \"op\" is missing or not a text%s", l->op);
    answer_failed(l->io, &l->id, INTERP_E_INVAL, "op-unknown", message, "the ops are open, exec, input, cancel, output, signal, kernels, restart, put, get, list, stat, mkdir, rename, remove, put_tar, put_dir, get_dir, spill_read, spill_grep, spill_save, probe, close, doctor");
}

void op_line(struct loop *io, const char *text, size_t n)
{
    char why[256];
    struct line l = { .io = io, .weight = n };
    if (object_scan(&l.o, text, n, why, sizeof why) < 0) {
        answer_failed(io, NULL, INTERP_E_INVAL, "malformed", why, "send one JSON object a line, as UTF-8");
        return;
    }
    const struct member *id = object_get(&l.o, "id");
    if (!id || id_take(&l.id, id) < 0)
        answer_failed(io, NULL, INTERP_E_INVAL, "id-missing", "the member \"id\" is missing, or not a string or number of at most 1024 bytes", "");
    else
        request_line(&l);
    id_free(&l.id);
    object_free(&l.o);
}
