/* exec_live.c - the line protocol: an exec that runs on while its host does other things: its output by offset, signals to it; the kernels of a session.
   SPDX-License-Identifier: MIT */
#include "exec.h"
#include <stdlib.h>
#include <string.h>

#define PAGE_MAX ((uint64_t)1 << 20)

static void page_answer(struct loop *io, const struct id *id, const char *p, size_t n, uint64_t at, int ended)
{
    struct buf *b = answer(io, id, "done");
    buf_text(b, ",");
    buf_bytes_members(b, p, n);
    buf_text(b, ",\"offset\":");
    buf_u64(b, at);
    buf_text(b, ",\"next\":");
    buf_u64(b, at + n);
    buf_text(b, ended ? ",\"ended\":true" : ",\"ended\":false");
    answer_end(io);
}

void output_op(struct loop *io, const struct id *id, interp_call *call, const interp_result *r, const struct object *o)
{
    uint64_t offset = 0, n = 65536, at = 0;
    int stream = stream_member(o);
    if (!stream || number_member(o, "offset", &offset) < 0 || number_member(o, "length", &n) < 0 || !n || n > PAGE_MAX) {
        answer_failed(io, id, INTERP_E_INVAL, "member-type", "output: \"stream\" is \"stdout\" or \"stderr\", \"offset\" and \"length\" are whole numbers, the length from 1 to 1048576", "");
        return;
    }
    char *p = xrealloc(NULL, n);
    size_t got = 0;
    interp_error *err = NULL;
    interp_status st = INTERP_AGAIN;
    if (call)
        st = interp_call_output(call, stream, offset, p, n, &got, &at, &err);
    if (r && st != INTERP_OK && st >= 0) {   /* of one that has ended: what its result keeps */
        at = offset;
        st = interp_result_read(r, stream, offset, p, n, &got, &err);
    }
    if (st < 0)
        answer_error(io, id, err, st);
    else
        page_answer(io, id, p, got, got ? at : offset, st == INTERP_DONE);
    interp_error_free(err);
    free(p);
}

/* A number, or a name with or without SIG; 0: neither. */
static int32_t signal_of(const struct object *o)
{
    static const struct { const char *name; int32_t number; } names[] = {
        { "HUP", 1 }, { "INT", 2 }, { "QUIT", 3 }, { "KILL", 9 }, { "USR1", 10 }, { "USR2", 12 }, { "ALRM", 14 }, { "TERM", 15 }, { "CONT", 18 }, { "STOP", 19 }, { "TSTP", 20 }, { "WINCH", 28 }
    };
    const struct member *m = object_get(o, "signal");
    uint64_t number = 0;
    if (m && m->kind == JSON_NUMBER)
        return number_member(o, "signal", &number) < 0 || number > 31 ? 0 : (int32_t)number;
    const char *name = m && m->text ? m->text : "";
    name += !strncmp(name, "SIG", 3) ? 3 : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name))
            return names[i].number;
    return 0;
}

void signal_op(struct loop *io, const struct id *id, interp_call *call, const struct object *o)
{
    interp_error *err = NULL;
    int32_t number = signal_of(o);
    if (!number) {
        answer_failed(io, id, INTERP_E_INVAL, "member-type", "signal: \"signal\" is a number from 1 to 31, or a name such as SIGINT", "");
        return;
    }
    interp_status st = interp_call_signal(call, number, &err);
    if (st == INTERP_OK)
        answer_done(io, id);
    else
        answer_error(io, id, err, st);
    interp_error_free(err);
}

void kernels_op(struct loop *io, const struct id *id, struct session *s)
{
    size_t n = 0;
    const char *json = interp_session_kernels_json(s->s, &n);
    struct buf *b = answer(io, id, "done");
    buf_text(b, ",\"kernels\":");
    buf_add(b, json, n);
    answer_end(io);
}
