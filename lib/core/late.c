/* late.c - what background work of earlier execs writes: to the events of a streaming exec in flight, else held, bounded, for the next result */
#include "core.h"
#include <string.h>

enum { HELD_MAX = 65536, ITEMS_MAX = 64, QUEUED_MAX = 256 << 10 };

static void forget(struct interp_session *s, struct interp__past *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->redact[i])
            s->late_dropped += interp__redactor_held(p->redact[i]);
        interp__redactor_free(p->redact[i]);
        p->redact[i] = NULL;
    }
}

/* A redactor is kept only while it knows something, and made small at the end of an exec: a guest may have hundreds of streams. */
static struct interp__redactor *kept(struct interp__redactor *r, int small)
{
    if (r && interp__redactor_quiet(r)) {
        interp__redactor_free(r);
        return NULL;
    }
    if (r && small)
        interp__redactor_shrink(r);
    return r;
}

void interp__late_remember(struct interp_session *s, struct interp__exec *e)
{
    struct interp__past *p = &s->past[s->npast++ % (sizeof s->past / sizeof *s->past)];
    forget(s, p);
    memcpy(p->id, e->id, WIRE_ID);
    p->number = e->number;
    p->offset[0] = e->offset[0];
    p->offset[1] = e->offset[1];
    for (int i = 0; i < 2; i++) {   /* a secret may have begun before the exec's end */
        p->redact[i] = kept(e->redact[i], 1);
        e->redact[i] = NULL;
    }
}

static struct interp__past *find(struct interp_session *s, const uint8_t id[WIRE_ID])
{
    for (size_t i = 0; i < sizeof s->past / sizeof *s->past; i++)
        if (s->past[i].number && !memcmp(s->past[i].id, id, WIRE_ID))
            return &s->past[i];
    return NULL;
}

static int tell(struct interp_session *s, struct interp_call *c, uint64_t number, int stream, uint64_t offset, const uint8_t *p, size_t n)
{
    struct interp_event *e = c->late_bytes + interp__event_cost(n) <= QUEUED_MAX ? interp__event_new(s, INTERP_EV_LATE_OUTPUT, p, n) : NULL;
    if (!e)
        return -1;
    c->late_bytes += interp__event_cost(n);
    e->exec = number;
    e->stream = stream;
    e->offset = offset;
    interp__call_event(c, e);
    return 0;
}

static void deliver(struct interp_session *s, struct interp__past *past, int stream, const uint8_t *p, size_t n)
{
    uint64_t number = past->number, offset = past->offset[stream - 1];
    past->offset[stream - 1] += n;
    if (!n)
        return;
    for (struct interp_call *c = s->calls; c; c = c->next)
        if (c->exec && c->exec->streaming && !c->done && !c->abandoned) {
            if (!tell(s, c, number, stream, offset, p, n))
                return;
            break;
        }
    if (interp__notice_late(s, number, stream, offset, p, n))
        return;
    size_t room = HELD_MAX - s->late_bytes;
    struct interp__late *l = s->nlate ? &s->late[s->nlate - 1] : NULL;
    if (!l || l->exec != number || l->stream != stream || l->offset + l->data.len != offset) {
        l = NULL;
        struct interp__late *more = room && s->nlate < ITEMS_MAX ? interp__resize(&s->mem, s->late, (s->nlate + 1) * sizeof *more) : NULL;
        if (more) {
            s->late = more;
            l = &more[s->nlate++];
            memset(l, 0, sizeof *l);
            l->exec = number;
            l->stream = stream;
            l->offset = offset;
            interp__buf_init(&l->data, &s->mem);
        }
    }
    if (!l) {
        s->late_dropped += n;
        return;
    }
    size_t had = l->data.len, look = room + INTERP__CUT_LOOK;
    interp__buf_add(&l->data, p, n < look ? n : look);
    if (l->data.len - had > room)
        l->data.len = interp__cut_before(l->data.p, l->data.len, had + room);
    s->late_dropped += had + n - l->data.len;
    s->late_bytes = n > room ? HELD_MAX : s->late_bytes + l->data.len - had;   /* what has been left out ends it: no pieces of what comes then */
}

/* What redaction gave of a stream. */
static void came(struct interp_session *s, struct interp__past *past, int stream, int small)
{
    struct interp__redactor **r = &past->redact[stream - 1];
    deliver(s, past, stream, s->redacted.p, s->redacted.len);
    if (*r)
        interp__redact_counts_take(&s->late_counts, *r);
    *r = kept(*r, small);
}

/* Late streams have no end: before somebody takes what there is, what is held goes out, but for the starts of secrets. */
static void settle(struct interp_session *s)
{
    for (size_t k = 0; k < sizeof s->past / sizeof *s->past; k++)
        for (int i = 0; i < 2; i++)
            if (s->past[k].redact[i]) {
                interp__redact_idle(s, s->past[k].redact[i], 1);
                came(s, &s->past[k], i + 1, 1);
            }
}

void interp__late_take(struct interp_session *s, const uint8_t id[WIRE_ID], int stream, uint32_t dropped, const uint8_t *p, size_t n)
{
    struct interp__past *past = find(s, id);
    /* the agent's window comes back at once: what is kept here has a bound of its own */
    interp__peer_credit(s, WIRE_CHANNEL_LATE, (uint32_t)n);
    if (!past) {   /* of an exec so long ago that its number is forgotten */
        s->late_dropped += dropped + n;
        return;
    }
    int lost = 0;
    if (dropped) {
        lost = interp__redact_cut(s, &past->redact[stream - 1]);
        came(s, past, stream, 0);
        past->offset[stream - 1] += dropped;
        s->late_dropped += dropped;
    }
    if (lost) {
        past->offset[stream - 1] += n;
        s->late_dropped += n;
    }
    if (!n || lost)
        return;
    interp__redact_out(s, &past->redact[stream - 1], p, n);
    came(s, past, stream, 0);
}

/* A streaming exec gets what is held as events before its own output. */
void interp__late_events(struct interp_session *s, struct interp_call *c)
{
    settle(s);
    for (uint32_t i = 0; i < s->nlate; i++)
        if (tell(s, c, s->late[i].exec, s->late[i].stream, s->late[i].offset, s->late[i].data.p, s->late[i].data.len))
            s->late_dropped += s->late[i].data.len;
    interp__late_free(s);
}

void interp__late_give(struct interp_session *s, interp_result *r)
{
    settle(s);
    r->late = s->late;
    r->nlate = s->nlate;
    r->late_dropped = s->late_dropped;
    for (uint32_t i = 0; i < r->nlate; i++)
        r->late[i].data.mem = &r->mem;
    s->late = NULL;
    s->nlate = 0;
    s->late_bytes = 0;
    s->late_dropped = 0;
}

void interp__late_free(struct interp_session *s)
{
    for (uint32_t i = 0; i < s->nlate; i++)
        interp__buf_free(&s->late[i].data);
    interp__free(&s->mem, s->late);
    s->late = NULL;
    s->nlate = 0;
    s->late_bytes = 0;
}

void interp__late_end(struct interp_session *s)
{
    interp__late_free(s);
    for (size_t k = 0; k < sizeof s->past / sizeof *s->past; k++)
        forget(s, &s->past[k]);
    interp__redact_counts_free(&s->late_counts);
}
