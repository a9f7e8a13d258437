/* call.c - any operation in flight, its events, its end */
#include "core.h"
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct interp_event *interp__event_new(struct interp_session *s, int32_t type, const void *p, size_t n)
{
    struct interp_event *e = interp__resize(&s->mem, NULL, sizeof *e + n + 1);
    if (!e)
        return NULL;
    memset(e, 0, sizeof *e);
    e->type = type;
    e->seq = ++s->seq;
    e->len = n;
    if (n)
        memcpy(e->data, p, n);
    e->data[n] = 0;
    return e;
}

void interp__call_ring(struct interp_call *c)
{
    uint64_t one = 1;
    if (!c->asleep || c->rung)
        return;
    c->rung = 1;
    if (c->bell < 0 || write(c->bell, &one, sizeof one) != sizeof one)
        interp__ctx_wake(c->ctx);
}

/* A LOOP context names calls with news through interp_ctx_next; elsewhere whoever waits for them wakes. */
static void mark_ready(struct interp_call *c)
{
    interp_ctx *x = c->ctx;
    if (!(x->flags & INTERP_CTX_LOOP)) {
        interp__call_ring(c);
        return;
    }
    if (c->in_ready || c->abandoned)
        return;
    c->in_ready = 1;
    c->ready_next = NULL;
    *x->ready_end = c;
    x->ready_end = &c->ready_next;
    if (!x->dispatching)
        interp__loop_poke(&x->loop);
}

void interp__call_news(struct interp_call *c)
{
    mark_ready(c);
}

static void unmark_ready(struct interp_call *c)
{
    interp_ctx *x = c->ctx;
    if (!c->in_ready)
        return;
    struct interp_call **p = &x->ready;
    while (*p && *p != c)
        p = &(*p)->ready_next;
    if (*p) {
        *p = c->ready_next;
        if (x->ready_end == &c->ready_next)
            x->ready_end = p;
    }
    c->in_ready = 0;
}

struct interp_call *interp__call_new(struct interp_session *s, int32_t kind, interp_cancel *cancel)
{
    struct interp_call *c = interp__alloc(&s->mem, sizeof *c);
    if (!c)
        return NULL;
    c->ctx = interp__ctx_ref(s->ctx);
    c->session = s;
    c->kind = kind;
    c->refs = 2;   /* the handle and the session's list */
    c->bell = -1;
    c->cancel = interp_cancel_ref(cancel);
    c->events_end = &c->events;
    for (int i = 0; i < 2; i++)
        interp__buf_init(&c->hold[i].data, &c->ctx->mem);
    interp__buf_init(&c->json, &c->ctx->mem);
    c->next = s->calls;
    s->calls = c;
    return c;
}

void interp__call_event(struct interp_call *c, struct interp_event *e)
{
    *c->events_end = e;
    c->events_end = &e->next;
    mark_ready(c);
}

void interp__call_done(struct interp_call *c, interp_error *e)
{
    if (c->done) {
        interp_error_free(e);
        return;
    }
    c->done = 1;
    c->error = e;
    mark_ready(c);
}

static void events_free(struct interp_call *c)
{
    const struct interp__mem *m = &c->ctx->mem;
    for (struct interp_event *e = c->events, *next; e; e = next) {
        next = e->next;
        interp__free(m, e);
    }
    interp__free(m, c->current);
    c->events = c->current = NULL;
    c->events_end = &c->events;
}

void interp__call_forked(struct interp_call *c)
{
    c->in_ready = 0;
    c->refs -= c->waited;   /* the thread that held it is not here */
    c->waited = 0;
}

void interp__call_unref(struct interp_call *c)
{
    if (--c->refs)
        return;
    interp_ctx *x = c->ctx;
    unmark_ready(c);
    events_free(c);
    for (int i = 0; i < 2; i++)
        interp__buf_free(&c->hold[i].data);
    interp_error_free(c->error);
    interp_result_free(c->result);
    interp_cancel_free(c->cancel);
    interp__buf_free(&c->json);
    if (c->bell >= 0)
        close(c->bell);
    interp__free(&x->mem, c);
    interp__ctx_unref(x);
}

void interp__call_unthrottle(struct interp_call *c)
{
    if (!c->exec || c->done)
        return;
    c->exec->queued = 0;
    interp__hold_release(c);
    for (struct interp_event *e = c->current ? c->current : c->events; e; e = e == c->current ? c->events : e->next) {
        if (!e->channel)
            continue;
        interp__peer_credit(c->session, e->channel, e->credit);
        e->channel = 0;
        c->exec->queued += interp__event_cost(e->len);
    }
}

/* ---- API */

int32_t interp_call_kind(const interp_call *c)
{
    return c ? c->kind : 0;
}
interp_session *interp_call_session(const interp_call *c)
{
    return c && c->session && !c->session->unseen ? c->session : NULL;
}
void *interp_call_userdata(const interp_call *c)
{
    return c ? c->userdata : NULL;
}
void interp_call_set_userdata(interp_call *c, void *p)
{
    if (c)
        c->userdata = p;
}

interp_status interp__call_enter(struct interp_call *c, struct interp_session **s, interp_error **err)
{
    if (!c)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the call is NULL");
    interp_status st = interp__ctx_check(c->ctx, err);
    if (st)
        return st;
    *s = c->session;
    if (*s && interp__session_take(*s, 1))
        return interp__fail(&c->ctx->mem, err, INTERP_E_BUSY, "thread", "another thread is driving this context");
    return INTERP_OK;
}
static void leave(struct interp_session *s)
{
    if (s)
        interp__session_leave(s);
}

/* One thread of a session sleeps in its poll set and drives it when it wakes; the others sleep each on the bell of its call, which rings for news of that call, or to take over the poll set.
   The session's turn is let go of meanwhile. Whatever else is due there is due for whoever is in the poll set. */
static interp_status fall_asleep(struct interp_session *s, struct interp_call *c, uint64_t due, uint64_t end, const sigset_t *mask, int *interrupted, interp_error **err)
{
    int poll = !s->sleeper;
    if (c->bell < 0 && (!poll || s->shared)) {
        c->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (c->bell < 0 && !poll)
            return interp__fail(&c->ctx->mem, err, INTERP_E_IO, "descriptors", "no descriptor for a second thread that waits in this session: too many open files");
    }
    if (poll) {
        s->sleeper = c;
        s->until = interp__min(due, end);
    }
    c->asleep = 1;
    const uint64_t until = poll ? s->until : end;
    interp__session_leave(s);
    *interrupted = interp__loop_sleep(s->link->loop, poll, c->bell, until, mask) < 0;
    interp__turn_take(&s->turn, 1);
    if (c->bell >= 0 && c->rung) {
        uint64_t rings;
        ssize_t r = read(c->bell, &rings, sizeof rings);
        (void)r;   /* nothing: the context's wake-up rang for it */
    }
    c->asleep = c->rung = 0;
    if (poll) {
        s->sleeper = NULL;
        interp__loop_poll(s->link->loop, 0);
    }
    return INTERP_OK;
}

/* Nobody sleeps for ever: who goes leaves the poll set to another one who waits. */
static void hand_over(struct interp_session *s)
{
    struct interp_call *c = s->sleeper ? NULL : s->calls;
    while (c && !c->asleep)
        c = c->next;
    if (c)
        interp__call_ring(c);
}

static int has_news(const struct interp_call *c)
{
    return c->done || c->events || c->hold[0].unread || c->hold[1].unread;
}

static interp_status wait_for(interp_call *c, uint64_t timeout_ms, uint32_t flags, const sigset_t *mask, interp_error **err)
{
    struct interp_session *in = NULL;
    interp_status st = interp__call_enter(c, &in, err);
    if (st)
        return st;
    interp_ctx *x = c->ctx;
    if (flags & ~(uint32_t)INTERP_WAIT_INTR)
        st = interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_call_wait: unknown flags 0x%x", flags);
    else if (x->flags & INTERP_CTX_LOOP)
        st = interp__fail(&x->mem, err, INTERP_E_BUSY, "drive-mode", "this context is driven by interp_ctx_dispatch; waiting is for a context made without INTERP_CTX_LOOP");
    else if (c->waited)
        st = interp__fail(&x->mem, err, INTERP_E_BUSY, "thread", "another thread waits for this call");
    if (st) {
        leave(in);
        return st;
    }
    c->waited = 1;
    c->refs++;   /* another thread may free the handle, which it must not, but that shall hurt nobody */
    uint64_t end = interp__after(interp__now(), interp__ms(timeout_ms));
    /* a wait that only looks comes to no sleep that would see what is there */
    if (!has_news(c) && c->session && c->session->link)
        interp__loop_poll(c->session->link->loop, 0);
    while (!st && !has_news(c)) {
        struct interp_session *s = c->session;
        uint64_t now = interp__now();
        interp__session_drive(s, now);
        if (has_news(c))
            break;
        if (now >= end) {
            st = INTERP_AGAIN;
            break;
        }
        interp__reap(x, now);
        uint64_t due = interp__session_due(s);
        if (atomic_load(&x->norphans))
            due = interp__min(due, now + 50000000);
        if (due <= now || !s->link) {
            interp__session_leave(s);   /* who wants a turn comes first */
            interp__turn_take(&s->turn, 1);
            if (s->link)
                interp__loop_poll(s->link->loop, 0);
            continue;
        }
        int interrupted = 0;
        st = fall_asleep(s, c, due, end, mask, &interrupted, err);
        if (!st && interrupted && flags & INTERP_WAIT_INTR && !has_news(c))
            st = interp__fail(&x->mem, err, INTERP_E_INTR, "signal", "a signal came; call again to go on waiting");
    }
    c->waited = 0;
    if (!st)
        c->hold[0].unread = c->hold[1].unread = 0;   /* told once: who reads one stream alone waits for that one's news */
    if (in)
        hand_over(in);
    interp__call_unref(c);
    leave(in);
    return st;
}

interp_status interp_call_wait(interp_call *c, uint64_t timeout_ms, uint32_t flags, interp_error **err)
{
    return wait_for(c, timeout_ms, flags, NULL, err);
}

interp_status interp_call_wait_masked(interp_call *c, uint64_t timeout_ms, uint32_t flags, uint64_t blocked, interp_error **err)
{
    sigset_t mask;
    sigemptyset(&mask);
    for (int sig = 1; sig <= 64; sig++)
        if (blocked >> (sig - 1) & 1)
            sigaddset(&mask, sig);   /* the few that the C library keeps for itself stay out */
    return wait_for(c, timeout_ms, flags, &mask, err);
}

interp_status interp_call_next(interp_call *c, const interp_event **ev)
{
    struct interp_session *in = NULL;
    interp_status st = interp__call_enter(c, &in, NULL);
    if (st)
        return st;
    if (!ev) {
        leave(in);
        return INTERP_E_INVAL;
    }
    if (c->current) {
        uint16_t channel = c->current->channel;
        uint32_t n = c->current->credit;
        size_t cost = interp__event_cost(c->current->len);
        if (c->current->type == INTERP_EV_LATE_OUTPUT)
            c->late_bytes -= cost;
        else if (c->current->type == INTERP_EV_OUTPUT && c->exec && c->exec->ending && c->exec->queued >= cost)
            c->exec->queued -= cost;
        interp__free(&c->ctx->mem, c->current);
        c->current = NULL;
        if (channel && c->session && (c->exec || c->file))
            interp__peer_credit(c->session, channel, n);
        if (c->file)
            c->file->heard = interp__now();
    }
    if (c->events) {
        c->current = c->events;
        c->events = c->current->next;
        if (!c->events)
            c->events_end = &c->events;
        c->last_seq = c->current->seq;
        *ev = c->current;
    } else if (c->done && !c->said_done) {
        c->said_done = 1;
        c->done_event.type = INTERP_EV_DONE;
        c->done_event.seq = c->session ? ++c->session->seq : c->last_seq + 1;
        *ev = &c->done_event;
    } else
        st = c->done ? INTERP_DONE : INTERP_AGAIN;
    if (c->session) {
        interp__session_flush(c->session);
        /* a write that failed, a backend that wants to be called again or at a time: the loop must hear of it */
        if (interp__session_due(c->session) < c->ctx->loop.armed)
            interp__loop_poke(&c->ctx->loop);
    }
    leave(in);
    return st;
}

/* An interactive exec's input, and whether it can still take some. */
static interp_status input_of(interp_call *c, struct interp__exec **e, interp_error **err)
{
    const struct interp__mem *m = &c->ctx->mem;
    if (c->kind != INTERP_CALL_EXEC || (c->exec && !c->exec->interactive))
        return interp__fail(m, err, INTERP_E_INVAL, "not-interactive", "this call takes no input: set `interactive` in the request of an exec, or start a put");
    if (c->done || !c->exec)
        return interp__fail(m, err, INTERP_E_CLOSED, "ended", "the exec has ended; nobody reads its input any more");
    *e = c->exec;
    return INTERP_OK;
}

interp_status interp_call_write(interp_call *c, const void *p, size_t n, size_t *taken, interp_error **err)
{
    struct interp_session *in = NULL;
    struct interp__exec *e = NULL;
    interp_status st = interp__call_enter(c, &in, err);
    if (st)
        return st;
    if (!taken || (!p && n))
        st = interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "argument", "interp_call_write: %s is NULL", taken ? "the data" : "taken");
    else if (c->kind == INTERP_CALL_PUT || c->kind == INTERP_CALL_PUT_TAR) {
        st = interp__file_write(c, p, n, 1, taken, err);
        leave(in);
        return st;
    } else
        st = input_of(c, &e, err);
    if (!st && e->input_closed)
        st = interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "input-ended", "interp_call_write after interp_call_write_end");
    if (!st) {
        size_t waits = e->input.len - e->input_sent, room = waits < INTERP__INPUT_QUEUE ? INTERP__INPUT_QUEUE - waits : 0, part = n < room ? n : room;
        if (interp__buf_reserve(&e->input, part)) {
            e->input.bad = 0;
            st = interp__nomem(err);
        } else {
            interp__buf_add(&e->input, p, part);
            *taken = part;
            e->want_room |= part < n;
            interp__session_flush(c->session);
            interp__loop_poke(&c->ctx->loop);
        }
    }
    leave(in);
    return st;
}

interp_status interp_call_write_end(interp_call *c, interp_error **err)
{
    struct interp_session *in = NULL;
    struct interp__exec *e = NULL;
    interp_status st = interp__call_enter(c, &in, err);
    if (st)
        return st;
    if (c->kind == INTERP_CALL_PUT || c->kind == INTERP_CALL_PUT_TAR) {
        st = interp__file_write_end(c, err);
        leave(in);
        return st;
    }
    st = input_of(c, &e, err);
    if (!st && !e->input_closed) {
        e->input_closed = 1;
        e->want_room = 0;
        interp__session_flush(c->session);
        interp__loop_poke(&c->ctx->loop);
    }
    leave(in);
    return st;
}

interp_status interp_call_finish(interp_call *c, interp_result **out, interp_error **err)
{
    struct interp_session *in = NULL;
    interp_status st = interp__call_enter(c, &in, err);
    if (st)
        return st;
    if (!c->done)
        st = INTERP_AGAIN;
    else {
        if (out) {
            *out = c->result;
            c->result = NULL;
        }
        if (c->error) {
            st = interp_error_code(c->error);
            if (err)
                *err = interp__error_copy(&c->ctx->mem, c->error);
        }
        c->finished = 1;
    }
    leave(in);
    return st;
}

void interp_call_free(interp_call *c)
{
    if (!c || interp__in_callback())
        return;
    if (interp__forked(c->ctx)) {   /* memory only */
        struct interp_session *alone = c->session && c->session->unseen ? c->session : NULL;
        interp__call_forked(c);
        if (c->refs > 1)
            c->refs--;
        else
            interp__call_unref(c);
        if (alone)
            interp__session_forked(alone);
        return;
    }
    struct interp_session *s = c->session;
    if (!s) {
        interp__call_unref(c);
        return;
    }
    if (interp__session_take(s, 0)) {
        atomic_fetch_add(&s->refs, 1);
        atomic_store(&c->freed, 1);   /* c may be gone from here on */
        interp__session_mark(s);
        interp__session_unref(s);
        return;
    }
    interp__call_drop(s, c);
    interp__session_flush(s);
    interp__loop_poke(&s->ctx->loop);
    interp__session_leave(s);
}

void interp__call_drop(struct interp_session *s, struct interp_call *c)
{
    atomic_store(&c->freed, 0);
    unmark_ready(c);
    c->abandoned = 1;
    if (c->done)
        interp__session_drop_call(s, c);
    else {
        if (c->exec)
            interp__exec_cancel(s, c->exec, 0);
        else if (c->file)
            interp__file_cancel(s, c->file);
        else if (c->kind == INTERP_CALL_OPEN || s->unseen)
            atomic_store(&s->shut, 1);   /* nobody waits for it any more */
        interp__call_unthrottle(c);      /* unread output must not stall the guest that is to end */
        events_free(c);
    }
    interp__call_unref(c);
}

const char *interp_call_json(const interp_call *c, size_t *len)
{
    int has = c && c->done && !c->error && c->json.len;
    if (len)
        *len = has ? c->json.len : 2;
    return has ? (const char *)c->json.p : "{}";
}

/* ---- events */

static int is_json(const interp_event *e)
{
    return e->type == INTERP_EV_PROGRESS || e->type == INTERP_EV_AUDIT || e->type == INTERP_EV_SESSION_GONE || e->type == INTERP_EV_SCREEN;
}
int32_t interp_event_type(const interp_event *e)
{
    return e ? e->type : 0;
}
const char *interp_event_session_id(const interp_event *e)
{
    return e ? e->session : "";
}
uint64_t interp_event_exec(const interp_event *e)
{
    return e ? e->exec : 0;
}
uint64_t interp_event_reply_id(const interp_event *e)
{
    return e ? e->reply_id : 0;
}
int32_t interp_event_stream(const interp_event *e)
{
    return e ? e->stream : 0;
}
uint64_t interp_event_offset(const interp_event *e)
{
    return e ? e->offset : 0;
}
uint64_t interp_event_seq(const interp_event *e)
{
    return e ? e->seq : 0;
}
uint64_t interp_event_missing(const interp_event *e)
{
    return e ? e->missing : 0;
}
const void *interp_event_data(const interp_event *e, size_t *len)
{
    int has = e && !is_json(e) && e->type != INTERP_EV_DONE;
    if (len)
        *len = has ? e->len : 0;
    return has ? e->data : "";
}
const char *interp_event_json(const interp_event *e, size_t *len)
{
    int has = e && is_json(e);
    if (len)
        *len = has ? e->len : 0;
    return has ? e->data : "";
}
