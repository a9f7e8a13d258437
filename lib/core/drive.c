/* drive.c - one bounded round of work for a session, and the two ways a context is driven */
#include "core.h"
#include <errno.h>
#include <poll.h>
#include <string.h>

/* Later than this at a deadline is not how a machine that works wakes a process. */
#define STOOD_STILL_NS UINT64_C(250000000)
/* How long an agent may take over its bound by saying that it is at work. */
#define AT_WORK_NS UINT64_C(10000000000)

void interp__session_flush(struct interp_session *s)
{
    struct interp_link *l = s->link;
    if (!l || s->gone || !l->opened || !l->inst)
        return;
    for (int round = 0; round < 16; round++) {
        interp__peer_pump(s);
        if (s->out.bad) {   /* a frame is missing or cut: nothing can follow it */
            interp__session_gone(s, NULL);
            return;
        }
        if (!s->out.len && !s->nlent) {
            interp__peer_rest(s);
            return;
        }
        size_t n = 0, most = s->out.len ? s->out.len - s->out_at : s->nlent;
        uint64_t before = interp__now();   /* the agent's idle time begins when it reads this: never before ours */
        interp_status st = l->backend->ops.write(l->inst, s->out.len ? s->out.p + s->out_at : s->lent, most, &n);
        if (st == INTERP_AGAIN)
            return;
        if (st != INTERP_OK || !n || n > most) {
            /* the reason, if there is one, comes by read: what the agent said last is still there */
            l->readable = l->write_failed = 1;
            s->out.len = s->out_at = s->nlent = 0;
            return;
        }
        s->last_frame = before;
        if (s->out.len) {
            s->out_at += n;
            interp__buf_used(&s->out, &s->out_at);
        } else
            s->lent += n, s->nlent -= n;
    }
    l->again = 1;
}

static void open_step(struct interp_session *s)
{
    struct interp_link *l = s->link;
    for (size_t at = 0; at < l->progress.len; at += strlen((char *)l->progress.p + at) + 1)
        for (struct interp_call *c = s->calls; c; c = c->next)
            if ((c->kind == INTERP_CALL_OPEN || s->unseen) && !c->done) {
                const char *text = (char *)l->progress.p + at;
                struct interp_event *e = interp__event_new(s, INTERP_EV_PROGRESS, text, strlen(text));
                if (e)
                    interp__call_event(c, e);
            }
    l->progress.len = 0;
    if (s->unseen) {
        if (l->opened && !l->fault) {
            for (struct interp_call *c = s->calls; c; c = c->next) {
                if (c->kind == INTERP_CALL_PROBE && l->reached) {
                    struct interp__buf text;
                    interp__buf_init(&text, &s->mem);
                    interp__buf_fmt(&text, "{\"step\":\"probe\",\"offers\":%s}", l->reached);
                    struct interp_event *e = text.bad ? NULL : interp__event_new(s, INTERP_EV_PROGRESS, text.p, text.len);
                    if (e)
                        interp__call_event(c, e);
                    interp__buf_free(&text);
                }
                interp__call_done(c, NULL);
            }
            interp__session_gone(s, NULL);   /* nobody is left to ask why */
        }
    } else if (l->opened && !s->hello_sent && !l->fault) {
        uint32_t mounts = 0;
        for (const struct interp__mount *n = s->files.mounts; n; n = n->next)
            mounts++;
        if (mounts > interp__link_reached_count(l, "mounts")) {   /* what was asked for and can't be had is an error, never a surprise */
            interp_error *why = NULL;
            interp__fail(&s->mem, &why, INTERP_E_UNSUPPORTED, "mounts-unsupported", "backend \"%s\" did not show the mounts that were asked for", l->backend->name);
            interp__session_gone(s, why);
            return;
        }
        interp__peer_hello(s);
        l->readable = 1;
    }
}

/* When the agent's lease is over for certain, while nothing is in flight. */
static uint64_t lease_due(const struct interp_session *s)
{
    for (const struct interp_call *c = s->calls; c; c = c->next)
        if (!c->done)
            return INTERP__NEVER;
    return s->welcomed ? interp__after(s->last_frame, interp__after(interp__ms(s->v.session_idle), 2 * INTERP__SLACK_NS)) : INTERP__NEVER;
}

/* By when the sandbox must have told of this call's end; what it does not tell costs the session. */
static uint64_t bound(const struct interp_call *c)
{
    uint64_t due = c->deadline ? c->deadline : INTERP__NEVER;
    if (c->exec && c->exec->sent)
        due = interp__min(due, interp__min(c->exec->deadline, interp__exec_silent_due(c->exec)));
    return due;
}
static uint64_t call_due(const struct interp_call *c)
{
    uint64_t due = bound(c);
    return due < c->spared ? c->spared : due;
}

void interp__session_at_work(struct interp_session *s)
{
    uint64_t until = interp__after(interp__now(), 2 * INTERP__SLACK_NS);
    for (struct interp_call *c = s->calls; c; c = c->next)
        if (!c->done && bound(c) < until) {
            uint64_t most = interp__min(until, interp__after(bound(c), AT_WORK_NS));
            c->spared = c->spared > most ? c->spared : most;
        }
}

/* Who looks late at that stood still, or the whole machine did, and the sandbox's word may be on its way: once a call it gets some time more. */
static int call_over(struct interp_call *c, uint64_t now)
{
    uint64_t due = call_due(c);
    if (now < due)
        return 0;
    if (c->spared || now - due < STOOD_STILL_NS)
        return 1;
    c->spared = interp__after(now, INTERP__SLACK_NS);
    return 0;
}

/* Deadlines of the host's own: they stand behind the agent's. */
static void deadlines(struct interp_session *s, uint64_t now)
{
    interp_error *why = NULL;
    if (!s->welcomed && now >= s->open_deadline) {
        interp__fail(&s->mem, &why, INTERP_E_TIMEOUT, "open-timeout", s->unseen ? "the backend was not through within open_timeout_ms" : "the sandbox was not ready within open_timeout_ms");
        interp__session_gone(s, why);
        return;
    }
    if (s->welcomed && now >= s->life_end) {
        interp__session_outlived(s);
        return;
    }
    if (now >= lease_due(s)) {   /* the agent should have ended it */
        interp__fail(&s->mem, &why, INTERP_E_CLOSED, "expired", "the session had no call for longer than session_idle_ms and has ended; open a new one");
        interp__session_gone(s, why);
        return;
    }
    interp__files_deadline(s, now);
again:
    for (struct interp_call *c = s->calls; c; c = c->next) {
        struct interp__exec *e = c->exec;
        if (e && !c->done)
            interp__exec_idle(s, e, now);
        if (e && e->screening) {
            if (now >= e->screen_deadline) {
                interp__screen_expired(s, e);
                goto again;
            }
            continue;
        }
        if (e && !e->sent && e->timeout != INTERP__NEVER && now >= interp__after(e->started, e->timeout)) {
            /* it waits behind another, whose grace is not its own */
            interp__exec_end(s, e, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_PRESERVED, 0);
            goto again;   /* the list may have changed */
        }
        if (e && !e->ending && e->timeout != INTERP__NEVER && now >= interp__after(e->started, e->timeout)) {
            e->ending = 1;
            interp__call_unthrottle(c);
            /* the host may not have driven for long: what the agent had no credit for is given its time now */
            if (e->deadline < interp__after(now, INTERP__SLACK_NS))
                e->deadline = interp__after(now, INTERP__SLACK_NS);
        }
        if (c->done || !call_over(c, now))
            continue;
        if (c->exec) {
            c->exec->timed_out = now >= c->exec->deadline ? 1 : 2;
            interp__fail(&s->mem, &why, INTERP_E_CLOSED, "agent-silent", "the sandbox did not end an exec in time and has been killed");
        } else
            interp__fail(&s->mem, &why, INTERP_E_TIMEOUT, "restart-timeout", "the sandbox did not end a kernel in time and has been killed");
        interp__session_gone(s, why);
        return;
    }
}

static void cancels(struct interp_session *s)
{
again:
    for (struct interp_call *c = s->calls; c; c = c->next) {
        uint32_t n = c->done ? 0 : interp__cancel_count(c->cancel);
        if (n <= c->cancel_seen)
            continue;
        c->cancel_seen = n;
        if (c->exec) {
            interp__exec_cancel(s, c->exec, n > 1);
            goto again;   /* the list may have changed */
        }
        if (c->kind == INTERP_CALL_OPEN || s->unseen) {
            interp_error *why = NULL;
            interp__fail(&s->mem, &why, INTERP_E_CANCELLED, "cancelled", "%s was cancelled", s->unseen ? "the call" : "opening");
            interp__session_gone(s, why);
            return;
        }
    }
}

void interp__session_drive(struct interp_session *s, uint64_t now)
{
    struct interp_link *l = s->link;
    if (!l || s->in_drive)
        return;
    s->in_drive = 1;
    for (struct interp_call *c = s->calls; c;)
        if (atomic_load(&c->freed)) {
            interp__call_drop(s, c);
            c = s->calls;   /* the list has changed */
        } else if (c->abandoned && c->done) {   /* a restart or close that nobody waits for; execs go at their end */
            interp__session_drop_call(s, c);
            c = s->calls;
        } else
            c = c->next;
    if (atomic_load(&s->shut) && !s->gone) {
        interp_error *why = NULL;
        interp__fail(&s->mem, &why, INTERP_E_CLOSED, "shut-down", "the session has been shut down");
        interp__session_gone(s, why);
    }
    interp__link_step(l, now);
    if (!s->gone && !s->welcomed)
        open_step(s);
    if (!s->gone && l->opened && l->readable)
        interp__peer_read(s);
    if (!s->gone && l->fault && s->welcomed && interp__now() >= s->life_end)   /* an engine tells of the end that its time has brought */
        interp__session_outlived(s);
    if (!s->gone && l->fault)
        interp__session_gone(s, interp__error_copy(&s->mem, l->fault));
    if (!s->gone)
        deadlines(s, now);
    if (!s->gone)
        cancels(s);
    if (!s->gone)
        interp__session_flush(s);
    if (s->gone && l->closed) {
        if (!atomic_exchange(&s->closed, 1))
            interp__audit_closed(s, 1);
        atomic_store(&s->status, INTERP_SESSION_GONE);
        for (struct interp_call *c = s->calls; c; c = c->next)
            if (c->kind == INTERP_CALL_CLOSE)
                interp__call_done(c, NULL);
    }
    s->in_drive = 0;
}

uint64_t interp__session_due(const struct interp_session *s)
{
    const struct interp_link *l = s->link;
    if (!l)
        return INTERP__NEVER;
    uint64_t due = interp__link_due(l);
    if (s->gone)
        return due;
    if (atomic_load(&((struct interp_session *)(uintptr_t)s)->shut) || (l->readable && l->opened) || l->fault)
        return 0;
    if (!s->welcomed)
        due = interp__min(due, s->open_deadline);
    else
        due = interp__min(due, interp__min(s->life_end, lease_due(s)));
    for (const struct interp_call *c = s->calls; c; c = c->next) {
        if (c->done)
            continue;
        if (interp__cancel_count(c->cancel) > c->cancel_seen)
            return 0;
        if (c->exec && c->exec->screening)
            due = interp__min(due, c->exec->screen_deadline);
        else if (c->exec) {
            due = interp__min(due, interp__exec_idle_due(c->exec));
            if (!c->exec->ending)
                due = interp__min(due, interp__after(c->exec->started, c->exec->timeout));
        }
        due = interp__min(due, call_due(c));
    }
    return interp__min(due, interp__files_due(s));
}

/* ---- LOOP contexts */

int interp_ctx_fd(interp_ctx *x)
{
    return x && x->flags & INTERP_CTX_LOOP && !interp__forked(x) ? x->loop.epoll : -1;
}

static interp_status loop_enter(interp_ctx *x, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    if (!(x->flags & INTERP_CTX_LOOP))
        return interp__fail(&x->mem, err, INTERP_E_BUSY, "drive-mode", "this context was made without INTERP_CTX_LOOP: use the blocking forms and interp_call_wait");
    if (interp__enter(&x->guard))
        return interp__fail(&x->mem, err, INTERP_E_BUSY, "thread", "another thread is driving this context");
    return INTERP_OK;
}

interp_status interp_ctx_dispatch(interp_ctx *x, interp_error **err)
{
    interp_status st = loop_enter(x, err);
    if (st)
        return st;
    interp__loop_poll(&x->loop, 0);
    x->dispatching = 1;
    uint64_t now = interp__now(), due = INTERP__NEVER;
    for (struct interp_session *s = x->sessions, *next; s; s = next) {
        interp__session_drive(s, now);
        next = s->next;
        if (interp__session_unneeded(s))
            interp__session_end(s, 0);
    }
    interp__reap(x, now);
    for (struct interp_session *s = x->sessions; s; s = s->next)
        due = interp__min(due, interp__session_due(s));
    for (struct interp_link *l = x->orphans; l; l = l->next)
        due = interp__min(due, interp__min(interp__link_due(l), l->orphan_deadline));
    now = interp__now();
    if (due <= now) {
        interp__loop_poke(&x->loop);
        st = INTERP_AGAIN;
    } else
        interp__loop_arm(&x->loop, due);
    x->dispatching = 0;
    interp__leave(&x->guard);
    return st;
}

interp_status interp_ctx_next(interp_ctx *x, interp_call **call)
{
    if (!call)
        return INTERP_E_INVAL;
    interp_status st = loop_enter(x, NULL);
    if (st)
        return st;
    struct interp_call *c = x->ready;
    if (c) {
        x->ready = c->ready_next;
        if (!x->ready)
            x->ready_end = &x->ready;
        c->in_ready = 0;
        *call = c;
    }
    interp__leave(&x->guard);
    return c ? INTERP_OK : INTERP_AGAIN;
}

/* ---- threaded contexts: a helper for sessions that nobody waits on */

interp_status interp_ctx_run(interp_ctx *x, interp_cancel *stop, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    if (x->flags & INTERP_CTX_LOOP || !stop)
        return interp__fail(&x->mem, err, stop ? INTERP_E_BUSY : INTERP_E_INVAL, stop ? "drive-mode" : "argument",
                            stop ? "interp_ctx_run is for a context made without INTERP_CTX_LOOP" : "interp_ctx_run needs a cancel object to end it");
    struct interp__loop own;
    if (interp__loop_init(&own, &x->mem, x->wake, 0))
        return interp__fail(&x->mem, err, INTERP_E_IO, "descriptors", "no descriptor for the poll set: too many open files");
    while (!interp_cancel_fired(stop)) {
        uint64_t now = interp__now();
        struct interp_session *after = NULL;
        for (;;) {   /* one at a time, each under a reference, so that the lock is never held over I/O */
            pthread_mutex_lock(&x->lock);
            struct interp_session *s = x->sessions;
            if (after) {
                while (s && s != after)
                    s = s->next;
                s = s ? s->next : NULL;
            }
            if (s)
                atomic_fetch_add(&s->refs, 1);
            pthread_mutex_unlock(&x->lock);
            if (after)
                interp__session_unref(after);
            if (!s)
                break;
            if (!interp__session_take(s, 0)) {
                /* a call that is done, or that nobody waits for, is not in flight */
                const struct interp_call *c = s->calls;
                while (c && (c->done || c->abandoned || atomic_load(&((struct interp_call *)(uintptr_t)c)->freed)))
                    c = c->next;
                if (!c && s->link) {
                    interp__loop_poll(s->link->loop, 0);
                    interp__session_drive(s, now);
                }
                interp__session_leave(s);
            }
            after = s;
        }
        interp__reap(x, now);
        interp__loop_poll(&own, interp__after(interp__now(), UINT64_C(100000000)));
    }
    interp__loop_close(&own, 0);
    return INTERP_OK;
}
