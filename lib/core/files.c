/* files.c - work on files as the session carries it: asked for, fed, answered, given up. The API is in fileapi.c, lists become JSON in listing.c. */
#include "core.h"
#include "core/tree.h"
#include <inttypes.h>
#include <string.h>

#define QUEUE     (512u << 10)        /* of a put: what the host may write ahead */
#define RECORD_MOST ((size_t)WIRE_ENTRY + UINT16_MAX)
#define REPLY_MAX ((size_t)96 << 20)  /* records of a list: a million names of usual length */

struct interp__file *interp__file_by_channel(struct interp_session *s, uint16_t channel)
{
    struct interp__file *f = s->transfers;
    while (f && (!f->sent || f->channel != channel))
        f = f->next;
    return f;
}

void interp__file_free(struct interp_session *s, struct interp__file *f)
{
    if (f->call)
        f->call->file = NULL;
    interp__buf_free(&f->input);
    interp__buf_free(&f->reply);
    interp__free(&s->mem, f->path);
    interp__free(&s->mem, f->other);
    interp__tree_free(f->tree);
    interp__free(&s->mem, f);
}

static void take_out(struct interp_session *s, struct interp__file *f)
{
    struct interp__file **p = &s->transfers;
    while (*p && *p != f)
        p = &(*p)->next;
    if (*p)
        *p = f->next;
}

void interp__files_free(struct interp_session *s)
{
    while (s->transfers) {
        struct interp__file *f = s->transfers;
        s->transfers = f->next;
        interp__file_free(s, f);
    }
}

void interp__file_leave(struct interp_call *c)
{
    if (c->file)
        c->file->call = NULL;
    c->file = NULL;
}

/* ---- to the sandbox */

static int is_look(const struct interp__file *f)          /* at the workspace, for a change set: done by a helper of its own, one at a time */
{
    return f->op == WIRE_FILE_SNAP || f->op == WIRE_FILE_DIFF;
}
static int writes(const struct interp__file *f)
{
    return f->op == WIRE_FILE_PUT || f->op == WIRE_FILE_UNPACK || f->op == WIRE_FILE_REMOVE;
}

static void send(struct interp_session *s, struct interp__file *f)
{
    uint8_t b[64 + 2 * WIRE_PATH_MAX];
    struct wire_out o = { b, b + sizeof b, 0 };
    f->channel = interp__channels(s);
    f->tx_credit = WIRE_PUT_WINDOW;
    f->rx_left = WIRE_WINDOW;
    f->heard = f->began = interp__now();
    struct wire_file m = { .channel = f->channel, .op = f->op, .flags = f->flags, .mode = f->mode, .limit = f->limit, .timeout_ns = interp__ms(s->v.timeout),
                           .path = { (uint8_t *)f->path, (uint16_t)f->path_len }, .other = { (uint8_t *)f->other, (uint16_t)f->other_len } };
    interp__wire_put_file(&o, &m);
    interp__peer_frame(s, WIRE_FILE, 0, 0, b, (size_t)(o.p - b));
    f->sent = 1;
}

void interp__files_send(struct interp_session *s)
{
    unsigned n = 0;
    int looking = 0, writing = 0;
    for (const struct interp__file *f = s->transfers; f; f = f->next)
        if (f->sent) {
            n += !is_look(f);
            looking |= is_look(f);
            writing |= writes(f);
        }
    for (struct interp__file *f = s->transfers; f; f = f->next) {
        if (f->sent || (f->exec && f->exec->kernel->current != f->exec))   /* nobody has allowed it yet, or what was given up still runs */
            continue;
        if (is_look(f) ? looking : n == WIRE_FILES)
            continue;
        if (is_look(f)) {
            looking = 1;
            if (writing) {                /* files that are half there have names of their own */
                f->flags |= WIRE_FILE_HALVES;
                interp__changes_doubt(f);
            }
        } else {
            n++;
            writing |= writes(f);
        }
        send(s, f);
    }
}

void interp__file_pump(struct interp_session *s, struct interp__file *f)
{
    if (f->cancelled || f->input_ended || (f->op != WIRE_FILE_PUT && f->op != WIRE_FILE_UNPACK))
        return;
    if (f->tree && f->tree->walk)
        interp__tree_fill(s, f, QUEUE / 2);
    if (f->cancelled)
        return;
    if (f->input.len) {
        f->input_at = interp__peer_send(s, f->channel, f->input.p, f->input.len, f->input_at, &f->tx_credit, !f->input_closed);
        f->input_ended = f->input_closed && f->input_at == f->input.len;
        interp__buf_used(&f->input, &f->input_at);
    } else if (f->input_closed) {
        interp__peer_frame(s, WIRE_DATA, WIRE_FLAG_END, f->channel, NULL, 0);
        f->input_ended = 1;
    }
    if (f->want_room && f->call && (f->unqueued ? f->tx_credit && !s->out.len && !s->nlent : f->input.len - f->input_at <= QUEUE / 2)) {
        struct interp_event *v = interp__event_new(s, INTERP_EV_WRITABLE, NULL, 0);
        if (v) {
            f->want_room = 0;
            interp__call_event(f->call, v);
        }
    }
}

/* Ends the call now; the sandbox is told, and keeps the channel until it has answered. */
static void give_up(struct interp_session *s, struct interp__file *f, interp_error *why)
{
    if (f->call)
        interp__call_done(f->call, why);
    else
        interp_error_free(why);
    interp__file_cancel(s, f);
}

void interp__file_cancel(struct interp_session *s, struct interp__file *f)
{
    if (f->cancelled)
        return;
    f->cancelled = 1;
    f->heard = interp__now();
    interp__buf_free(&f->input);
    f->input_at = 0;
    interp__buf_free(&f->reply);
    if (f->sent) {
        uint8_t b[2] = { (uint8_t)f->channel, (uint8_t)(f->channel >> 8) };
        interp__peer_frame(s, WIRE_FILE_CANCEL, 0, 0, b, sizeof b);
        return;
    }
    interp_error *why = NULL;
    if (f->call && !f->call->done) {
        interp__fail(&s->mem, &why, INTERP_E_CANCELLED, "cancelled", "the call was given up before it began");
        interp__call_done(f->call, why);
    }
    take_out(s, f);
    interp__file_free(s, f);
}

static interp_status input_of(struct interp_call *c, struct interp__file **f, interp_error **err)
{
    const struct interp__mem *m = &c->ctx->mem;
    if (c->done || !c->file || c->file->cancelled)
        return interp__fail(m, err, INTERP_E_CLOSED, "ended", "the put has ended; finish it to see why");
    *f = c->file;
    return INTERP_OK;
}

/* What it refuses, the end of the call says. */
static interp_status tree_write(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n, size_t *taken)
{
    struct interp_call *c = f->call;
    interp__tree_write(s, f, p, n, QUEUE, taken);
    if ((f = c->file) && !f->cancelled) {
        f->taken += *taken;
        f->heard = interp__now();
        f->want_room |= *taken < n;
    } else
        *taken = n;
    interp__session_flush(s);
    interp__loop_poke(&s->ctx->loop);
    return INTERP_OK;
}

interp_status interp__file_write(struct interp_call *c, const void *p, size_t n, int queue, size_t *taken, interp_error **err)
{
    struct interp_session *s = c->session;
    const struct interp__mem *m = &c->ctx->mem;
    struct interp__file *f = NULL;
    interp_status st = input_of(c, &f, err);
    if (st)
        return st;
    if (f->input_closed)
        return interp__fail(m, err, INTERP_E_INVAL, "input-ended", "interp_call_write after interp_call_write_end");
    if (f->size != INTERP_UNKNOWN && n > f->size - f->taken)
        return interp__fail(m, err, INTERP_E_INVAL, "put-size", "the put was announced with %" PRIu64 " bytes; %" PRIu64 " have been written, and %zu more are too many", f->size, f->taken, n);
    if (f->tree)
        return tree_write(s, f, p, n, taken);
    size_t at = 0, was = 0;
    f->heard = interp__now();
    f->unqueued = !queue;
    if (f->sent && !f->input.len)     /* without a copy in between, as far as there is credit and the stream takes it */
        do {
            was = at;
            at = interp__peer_lend(s, f->channel, p, n, at, &f->tx_credit);
            interp__session_flush(s);
        } while (at > was && !s->nlent && c->file == f);
    interp__peer_settle(s);
    if (c->file != f) {               /* the session has ended */
        *taken = at;
        return INTERP_OK;
    }
    size_t waits = f->input.len - f->input_at, room = queue && waits < QUEUE ? QUEUE - waits : 0, rest = n - at < room ? n - at : room;
    if (interp__buf_reserve(&f->input, rest)) {
        f->input.bad = 0;
        rest = 0;
        if (!at)
            return interp__nomem(err);
    }
    interp__buf_add(&f->input, (const uint8_t *)p + at, rest);
    *taken = at + rest;
    f->taken += *taken;
    f->want_room |= *taken < n;
    interp__session_flush(s);
    interp__loop_poke(&s->ctx->loop);
    return INTERP_OK;
}

interp_status interp__file_write_end(struct interp_call *c, interp_error **err)
{
    struct interp_session *s = c->session;
    struct interp__file *f = NULL;
    interp_status st = input_of(c, &f, err);
    if (st || f->input_closed)
        return st;
    if (f->size != INTERP_UNKNOWN && f->taken != f->size) {
        interp_error *why = NULL;
        st = interp__fail(&s->mem, &why, INTERP_E_INVAL, "put-size", "the put was announced with %" PRIu64 " bytes and has %" PRIu64 ": nothing is put", f->size, f->taken);
        if (err)
            *err = interp__error_copy(&s->mem, why);
        give_up(s, f, why);
    } else if (!f->tree || !interp__tree_ended(s, f)) {
        f->input_closed = 1;
        f->want_room = 0;
        f->heard = interp__now();
    }
    interp__session_flush(s);
    interp__loop_poke(&s->ctx->loop);
    return st;
}

/* ---- from the sandbox */

int interp__file_data(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n)
{
    struct interp_call *c = f->call;
    interp_error *why = NULL;
    if (n && !f->cancelled)           /* nothing is no answer */
        f->heard = interp__now();
    if (f->op == WIRE_FILE_DIFF) {
        if (!f->exec || f->cancelled)
            return 0;
        if (interp__changes_data(s, f, p, n))
            return -1;
        interp__peer_credit(s, f->channel, (uint32_t)n);
        return 0;
    }
    if (f->op == WIRE_FILE_UNPACK) {  /* which record it could not have */
        if (n > WIRE_ENTRY + WIRE_PATH_MAX - f->reply.len)
            return -1;
        interp__buf_add(&f->reply, p, n);
        return 0;
    }
    if (f->op == WIRE_FILE_PACK)
        return !c || c->done || f->cancelled ? 0 : interp__tree_data(s, f, p, n);
    if (f->op != WIRE_FILE_GET && f->op != WIRE_FILE_LIST && f->op != WIRE_FILE_STAT)
        return -1;
    if (f->op == WIRE_FILE_GET && n > f->limit - f->offset)
        return -1;
    if (!c || c->done || f->cancelled || !n)
        return 0;                     /* the helper is being ended: it needs no credit any more */
    if (f->op == WIRE_FILE_GET) {
        struct interp_event *v = c->abandoned ? NULL : interp__event_new(s, INTERP_EV_DATA, p, n);
        if (!v) {
            interp__nomem(&why);
            give_up(s, f, why);
            return 0;
        }
        v->offset = f->offset;
        v->channel = f->channel;
        v->credit = (uint32_t)n;
        f->offset += n;
        interp__call_event(c, v);
        return 0;
    }
    if (f->op == WIRE_FILE_STAT && f->reply.len + n > WIRE_PATH_MAX)
        return -1;
    if (f->op == WIRE_FILE_LIST && f->limit < REPLY_MAX / RECORD_MOST && f->reply.len + n > (size_t)f->limit * RECORD_MOST)
        return -1;                    /* more than that many records can have */
    if (f->reply.len + n > REPLY_MAX)
        interp__fail(&s->mem, &why, INTERP_E_LIMIT, "list-size", "the list has more than %zu bytes of names: ask for fewer entries", REPLY_MAX);
    else
        interp__buf_add(&f->reply, p, n);
    if (!why && f->reply.bad)
        interp__nomem(&why);
    if (why)
        give_up(s, f, why);
    else
        interp__peer_credit(s, f->channel, (uint32_t)n);
    return 0;
}

/* Numbers as Linux has them, whatever the host is. */
static const struct meaning { uint16_t number; interp_status code; const char *reason, *words, *remedy; } meanings[] = {
    { 2, INTERP_E_NOT_FOUND, "not-found", "there is no such file or directory", NULL },
    { 17, INTERP_E_EXISTS, "exists", "the name is taken", NULL },
    { 1, INTERP_E_DENIED, "denied", "not permitted", NULL },
    { 13, INTERP_E_DENIED, "denied", "user code has no permission for that", NULL },
    { 30, INTERP_E_DENIED, "read-only", "the place is read-only", "write below /workspace, /tmp or /home" },
    { 18, INTERP_E_DENIED, "outside", "it leads out of the workspace, or to another file system", "give the absolute path of what is meant" },
    { 40, INTERP_E_DENIED, "link", "links are not followed there", "give the path without links" },
    { 28, INTERP_E_LIMIT, "disk-full", "the sandbox's disk is full, in bytes or in files", "remove files, or raise workspace_bytes or workspace_inodes" },
    { 122, INTERP_E_LIMIT, "disk-full", "the sandbox's disk quota is used up", "remove files" },
    { 27, INTERP_E_LIMIT, "file-size", "the file is larger than the limit", "raise file_bytes, or the bytes that are taken" },
    { 11, INTERP_E_LIMIT, "pids", "the sandbox has no process left for it", "end background processes or raise pids" },
    { 12, INTERP_E_LIMIT, "memory", "the sandbox has no memory left for it", "raise memory_bytes" },
    { 23, INTERP_E_LIMIT, "descriptors", "the sandbox has no descriptor left for it", NULL },
    { 24, INTERP_E_LIMIT, "descriptors", "the sandbox has no descriptor left for it", NULL },
    { 21, INTERP_E_INVAL, "is-directory", "it is a directory", NULL },
    { 20, INTERP_E_INVAL, "not-directory", "it is no directory, or a part of the path is none", NULL },
    { 39, INTERP_E_INVAL, "not-empty", "the directory is not empty", "remove it with what is in it: set RECURSIVE" },
    { 36, INTERP_E_INVAL, "path-length", "a name in the path is too long", NULL },
    { 22, INTERP_E_INVAL, "path", "the sandbox does not take that path", NULL },
    { 16, INTERP_E_INVAL, "busy", "it can't be that: the workspace itself, or something that is in use as a mount", NULL },
    { 26, INTERP_E_DENIED, "busy", "it is a program that is running", NULL },
    { WIRE_FILE_NOT_REGULAR, INTERP_E_INVAL, "not-regular", "it is no regular file", NULL },
    { WIRE_FILE_CHANGED, INTERP_E_IO, "changed", "it became shorter while it was read", "read it again when nothing writes it" },
    { WIRE_FILE_LOST, INTERP_E_IO, "helper-lost", "the sandbox's helper for files was killed at it, for memory or by user code", "try again" }
};

static const char *verb(uint8_t op)
{
    static const char *const verbs[] = { "", "put", "get", "list", "stat", "mkdir", "rename", "remove", "", "", "get", "put" };
    return op < sizeof verbs / sizeof *verbs ? verbs[op] : "";
}

static interp_error *refusal(struct interp_session *s, const struct interp__file *f, uint16_t number, uint64_t placed)
{
    const struct meaning *m = NULL;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings && !m; i++)
        if (meanings[i].number == number)
            m = &meanings[i];
    struct interp__fault fault = { m ? m->code : INTERP_E_IO, m ? m->reason : "io", m ? m->remedy : NULL, number < WIRE_FILE_NOT_REGULAR ? number : 0, number == WIRE_FILE_LOST };
    struct interp__buf name;
    interp_error *why = NULL;
    interp__buf_init(&name, &s->mem);
    interp__redact_text(s, f->path, f->path_len);
    interp__json_text(&name, s->redacted.p, s->redacted.len);
    if (f->other) {
        interp__redact_text(s, f->other, f->other_len);
        interp__buf_str(&name, " to ");
        interp__json_text(&name, s->redacted.p, s->redacted.len);
    }
    struct wire_in in;
    struct wire_entry e;
    interp__wire_in_init(&in, f->reply.p, f->reply.len);
    if (f->op == WIRE_FILE_UNPACK && !interp__wire_get_entry(&in, &e)) {
        interp__redact_text(s, e.path.p, e.path.len);
        interp__buf_str(&name, ": ");
        interp__json_text(&name, s->redacted.p, s->redacted.len);
    }
    interp__redact_forget(s);
    const char *text = interp__buf_text(&name), *words = m ? m->words : "the sandbox's system refused it";
    if (f->op == WIRE_FILE_UNPACK || (f->tree && f->tree->lands))
        interp__fail_with(&s->mem, &why, &fault, "%s %s: %s; %" PRIu64 " entries have been placed", verb(f->op), text ? text : "", words, f->op == WIRE_FILE_UNPACK ? placed : f->tree->placed);
    else
        interp__fail_with(&s->mem, &why, &fault, "%s %s: %s", verb(f->op), text ? text : "", words);
    interp__buf_free(&name);
    return why;
}

static interp_status describe(struct interp_session *s, const struct interp__file *f, const struct wire_file_done *m, struct interp__buf *j)
{
    if (f->op == WIRE_FILE_LIST)
        return interp__listing(s, m, &f->reply, j);
    if (f->tree)
        interp__tree_json(f->tree, m->more, j);
    else if (f->op == WIRE_FILE_MKDIR)
        interp__buf_fmt(j, "{\"created\":%s}", m->count ? "true" : "false");
    else if (f->op == WIRE_FILE_REMOVE)
        interp__buf_fmt(j, "{\"removed\":%" PRIu64 "}", m->count);
    else if (f->op == WIRE_FILE_RENAME)
        interp__buf_str(j, "{}");
    else {
        interp__buf_fmt(j, "{\"type\":\"%s\",\"size\":%" PRIu64 ",\"mode\":%u,\"mtime_ms\":%" PRId64, interp__file_type(m->type), m->size, (unsigned)(m->mode & 07777), interp__file_mtime(m->mtime_ns));
        if (m->type == WIRE_TYPE_LINK && f->op == WIRE_FILE_STAT) {
            interp__buf_str(j, ",\"target\":");
            interp__file_name(s, j, f->reply.p, f->reply.len, "target_base64");
        }
        interp__buf_str(j, "}");
        interp__redact_forget(s);
    }
    return interp__buf_text(j) ? INTERP_OK : INTERP_E_NOMEM;
}

/* For the audit trail: what went in, came out or was changed. */
static void record(struct interp_session *s, const struct interp__file *f, const struct wire_file_done *m)
{
    static const char *const names[] = { [WIRE_FILE_PUT] = "put", [WIRE_FILE_GET] = "get", [WIRE_FILE_MKDIR] = "mkdir", [WIRE_FILE_RENAME] = "rename", [WIRE_FILE_REMOVE] = "remove", [WIRE_FILE_PACK] = "get_tree", [WIRE_FILE_UNPACK] = "put_tree" };
    const char *name = f->op < sizeof names / sizeof *names ? names[f->op] : NULL;
    if (!s->audit || !name)
        return;
    interp_error *why = f->tree && f->tree->failed ? interp__tree_error(s, f, m->count) : m->error ? refusal(s, f, m->error, m->count) : NULL;
    interp__audit_transfer(s, name, f->path, f->path_len, f->tree ? f->tree->bytes : f->op == WIRE_FILE_PUT ? f->taken : f->op == WIRE_FILE_GET ? f->offset : INTERP_UNKNOWN, NULL, why, NULL);
    interp_error_free(why);
}

int interp__file_done(struct interp_session *s, const struct wire_file_done *m)
{
    struct interp__file *f = interp__file_by_channel(s, m->channel);
    if (!f)
        return -1;
    struct interp_call *c = f->call;
    interp_error *why = NULL;
    if (!f->cancelled && !m->error &&
        ((f->op == WIRE_FILE_PUT && (!f->input_ended || m->size != f->taken)) || (f->op == WIRE_FILE_GET && m->size != f->offset) || (f->op == WIRE_FILE_LIST && m->count > f->limit) ||
         (f->op == WIRE_FILE_DIFF && f->reply.len) || (f->tree && !interp__tree_whole(f, m->count))))   /* the start of a record, whose end never comes */
        return -1;
    if (f->tree && !f->cancelled && !m->error && c && !c->done)
        interp__tree_finish(s, f);
    record(s, f, m);
    if (c && !c->done) {
        if (f->tree && f->tree->failed)
            why = interp__tree_error(s, f, m->count);
        else if (m->error)
            why = refusal(s, f, m->error, m->count);
        else if (!f->cancelled) {
            interp_status st = describe(s, f, m, &c->json);
            if (st == INTERP_E_NOMEM) {
                interp__buf_free(&c->json);
                interp__nomem(&why);
            } else if (st)
                return -1;
        }
        interp__call_done(c, why);
        why = NULL;
    }
    struct interp__exec *e = f->exec;
    uint8_t op = f->op;
    int look = is_look(f);
    if (e && m->error && !f->cancelled && !look)
        why = refusal(s, f, m->error, m->count);
    if (!look && op != WIRE_FILE_GET && op != WIRE_FILE_LIST && op != WIRE_FILE_STAT && op != WIRE_FILE_PACK)
        interp__changes_touched(s);
    take_out(s, f);
    interp__file_free(s, f);
    interp__files_send(s);
    if (e && look)
        interp__changes_answer(s, e, op, m);
    else if (e)
        interp__exec_attached(s, e, why);
    return 0;
}

/* ---- patience */

#define ANSWER_NS UINT64_C(10000000000)   /* for the answer to FILE_CANCEL, which nothing in a sandbox can hold up */

static uint64_t deadline(const struct interp_session *s, const struct interp__file *f)
{
    int stopping = f->tree && f->tree->failed;     /* the sandbox is still to say how far it was */
    int waiting = f->call && !f->call->done && (!f->cancelled || stopping);
    if (!f->sent)
        return INTERP__NEVER;         /* it waits for others, which have their time */
    if (f->cancelled && !waiting)
        return interp__after(f->heard, ANSWER_NS);
    if (f->exec)
        return interp__changes_deadline(f);
    if (!waiting)
        return INTERP__NEVER;
    if ((f->op == WIRE_FILE_PUT || f->op == WIRE_FILE_UNPACK) && !stopping && !f->input_closed && !f->input.len && !f->want_room)
        return INTERP__NEVER;         /* it is the host that has not written */
    if ((f->op == WIRE_FILE_GET || f->op == WIRE_FILE_PACK) && f->call->events && !stopping)
        return INTERP__NEVER;         /* ... or not pulled */
    return interp__after(f->heard, interp__ms(s->v.timeout));
}

void interp__files_deadline(struct interp_session *s, uint64_t now)
{
    for (struct interp__file *f = s->transfers, *next; f; f = next) {
        next = f->next;
        if (now < deadline(s, f))
            continue;
        interp_error *why = NULL;
        if (f->tree && f->tree->failed && f->call && !f->call->done) {
            interp__call_done(f->call, interp__tree_error(s, f, INTERP_UNKNOWN));
            continue;
        }
        if (f->cancelled) {
            interp__fail(&s->mem, &why, INTERP_E_CLOSED, "agent-silent", "the sandbox did not end work on files that was given up, and has been killed");
            interp__session_gone(s, why);
            return;
        }
        if (f->exec) {
            interp__changes_drop(s, f->exec);
            return;                   /* the list may have changed; what else is due is soon again */
        }
        interp__fail(&s->mem, &why, INTERP_E_TIMEOUT, "file-timeout", "the sandbox was silent about a %s for timeout_ms", verb(f->op));
        give_up(s, f, why);
    }
}

uint64_t interp__files_due(const struct interp_session *s)
{
    uint64_t due = INTERP__NEVER;
    for (const struct interp__file *f = s->transfers; f; f = f->next)
        due = interp__min(due, deadline(s, f));
    return due;
}
