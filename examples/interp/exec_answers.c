/* exec_answers.c - the operations of the line protocol: from a call's events to answers.
   SPDX-License-Identifier: MIT */
#include "doctor.h"
#include "exec.h"
#include <string.h>

static void member(struct buf *b, const char *name, const struct member *value)
{
    buf_text(b, ",\"");
    buf_text(b, name);
    buf_text(b, "\":");
    if (value)
        buf_add(b, value->value, value->value_len);
    else
        buf_text(b, "null");
}

static void opened(struct op *op)
{
    struct session *s = op->session;
    char why[160];
    struct object info;
    size_t n = 0;
    const char *json = interp_session_info_json(s->s, &n);
    if (object_scan(&info, json, n, why, sizeof why) < 0)
        memset(&info, 0, sizeof info);
    struct buf *b = answer(op->io, &op->id, "opened");
    buf_text(b, ",\"session\":");
    buf_string(b, s->name, s->name_len);
    member(b, "backend", object_get(&info, "backend"));
    member(b, "isolation", object_get(&info, "isolation"));
    member(b, "sandbox", object_get(&info, "session"));
    member(b, "reached", object_get(&info, "reached"));
    answer_end(op->io);
    object_free(&info);
    if (s->state == SESSION_OPENING)
        s->state = SESSION_OPEN;
}

static void output(struct op *op, const interp_event *ev)
{
    int32_t type = interp_event_type(ev);
    size_t n = 0;
    const void *data = interp_event_data(ev, &n);
    if (op->kind == OP_FILE) {
        file_op_event(op, ev);
        return;
    }
    if (type == INTERP_EV_WRITABLE)
        input_feed(op);
    if (type == INTERP_EV_SCREEN) {
        const char *json = interp_event_json(ev, &n);
        struct buf *b = answer(op->io, &op->id, "screen");
        buf_text(b, ",\"reply\":");
        buf_u64(b, interp_event_reply_id(ev));
        buf_text(b, ",\"question\":");
        buf_add(b, json, n);
        answer_end(op->io);
    }
    if (type != INTERP_EV_OUTPUT && type != INTERP_EV_LATE_OUTPUT)
        return;
    struct buf *b = answer(op->io, &op->id, type == INTERP_EV_OUTPUT ? "output" : "late");
    buf_text(b, interp_event_stream(ev) == INTERP_STREAM_STDERR ? ",\"stream\":\"stderr\"," : ",\"stream\":\"stdout\",");
    buf_bytes_members(b, data, n);
    buf_text(b, ",\"offset\":");
    buf_u64(b, interp_event_offset(ev));
    if (type == INTERP_EV_LATE_OUTPUT) {
        buf_text(b, ",\"exec\":");
        buf_u64(b, interp_event_exec(ev));
    }
    answer_end(op->io);
}

static void result_answer(struct op *op, const interp_result *r)
{
    size_t n = 0;
    const char *json = interp_result_json(r, &n);
    struct buf *b = answer(op->io, &op->id, "result");
    buf_text(b, ",\"result\":");
    buf_add(b, json, n);
    answer_end(op->io);
}

static void probe_answer(struct op *op)
{
    size_t n = 0;
    const char *found = op->as_text ? interp_session_probe_text(op->session->s, &n) : interp_session_probe_json(op->session->s, &n);
    struct buf *b = answer(op->io, &op->id, "done");
    buf_text(b, ",\"probe\":");
    if (op->as_text)
        buf_string(b, found, n);
    else
        buf_add(b, found, n);
    answer_end(op->io);
}

/* The call is done. A close only notes it: its answer comes last. */
static void finish(struct op *op)
{
    struct session *s = op->session;
    interp_result *result = NULL;
    interp_error *err = NULL;
    interp_status st = interp_call_finish(op->call, &result, &err);
    if (op->kind == OP_CLOSE) {
        op->error = err;
        op->ready = 0;
        s->close_done = 1;
        return;
    }
    if (st != INTERP_OK)
        answer_error(op->io, &op->id, err, st);
    else if (op->kind == OP_EXEC) {
        result_answer(op, result);
        spill_keep(s, &op->id, result, op->hold_output ? op->call : NULL);
        result = NULL;
        if (op->hold_output)
            op->call = NULL;
    } else if (op->kind == OP_PROBE)
        probe_answer(op);
    else if (op->kind == OP_OPEN)
        opened(op);
    else if (op->kind == OP_FILE)
        file_op_answer(op);
    else
        answer_done(op->io, &op->id);
    if (op->kind == OP_OPEN && s->state == SESSION_OPENING) /* it did not open */
        s->state = SESSION_FAILED;
    interp_result_free(result);
    interp_error_free(err);
    op_free(op);
}

static void doctor_answer(struct op *op)
{
    struct buf *b = answer(op->io, &op->id, "done");
    buf_text(b, ",");
    doctor_members(op->doctor, b);
    answer_end(op->io);
    op_free(op);
}

/* One event, or the end. May free op and no other. 1 when there may be more. */
static int step(struct op *op)
{
    const interp_event *ev;
    if (op->kind == OP_DOCTOR) {
        doctor_answer(op);
        return 0;
    }
    interp_status st = interp_call_next(op->call, &ev);
    if (st == INTERP_OK) {
        output(op, ev);
        return 1;
    }
    if (st == INTERP_AGAIN)
        op->ready = 0;
    else
        finish(op);
    return 0;
}

/* Closes are answered when all else of their session has been. */
static void settle_closes(struct loop *io)
{
    for (struct op *op = io->ops, *next; op; op = next) {
        next = op->next;
        struct session *s = op->session;
        if (op->kind != OP_CLOSE || s->ops || (s->state != SESSION_CLOSED && !s->close_done))
            continue;
        if (s->state != SESSION_CLOSED)
            session_closed(io, s);
        if (op->id.raw && op->error)
            answer_error(io, &op->id, op->error, interp_error_code(op->error));
        else if (op->id.raw)
            answer_done(io, &op->id);
        op_free(op);
    }
}

int ops_answer(struct loop *io)
{
    int more;
    do {
        int from_first = !io->turn;
        more = 0;
        for (struct op *op = io->turn ? io->turn : io->ops; op; op = io->turn) {
            if (op->ready && lines_waiting(io) >= QUEUE_HIGH) {
                io->turn = op;
                return 1;
            }
            io->turn = op->next; /* step may free op */
            if (op->ready)
                more |= step(op);
        }
        more |= !from_first;
    } while (more);
    settle_closes(io);
    return 0;
}
