/* peer.c - the session's end of the wire: frames out as credit allows, frames in with every rule checked. A violation ends the session. */
#include "core.h"
#include <string.h>

/* OUT_MAX: what waits to be written when an agent makes us answer and does not read; more than all starts and execs of a session together */
enum { OUT_SOFT = 256 << 10, OUT_MAX = 4 << 20, IN_FIRST = 16 << 10, IN_MOST = 256 << 10, READ_ROUND = 256 << 10 };

void interp__peer_settle(struct interp_session *s)
{
    interp__buf_add(&s->out, s->lent, s->nlent);
    s->nlent = 0;
}

static int header(struct interp_session *s, uint8_t type, uint8_t flags, uint16_t channel, size_t n, size_t with)
{
    uint8_t h[WIRE_HEADER];
    interp__peer_settle(s);
    if (interp__buf_reserve(&s->out, WIRE_HEADER + with))
        return -1;
    interp__wire_header(&s->peer, h, type, flags, channel, (uint32_t)n);
    interp__buf_add(&s->out, h, sizeof h);
    return 0;
}

void interp__peer_frame(struct interp_session *s, uint8_t type, uint8_t flags, uint16_t channel, const void *p, size_t n)
{
    if (!header(s, type, flags, channel, n, n))
        interp__buf_add(&s->out, p, n);
}

void interp__peer_hello(struct interp_session *s)
{
    uint8_t b[256];
    struct wire_out o = { b, b + sizeof b, 0 };
    struct wire_hello m = { .version_min = WIRE_VERSION, .version_max = WIRE_VERSION, .lease_ns = interp__ms(s->v.session_idle),
                            .watch_bytes = interp__link_reached_is(s->link, "memory", "cgroup") ? 0 : s->v.memory, .umask = 022, .pids = (uint32_t)s->v.pids,
                            .lifetime_ns = interp__ms(s->v.lifetime), .kill_ns = interp__kill_ns(s) };
    memcpy(m.session, s->id_bytes, WIRE_ID);
    interp__wire_put_hello(&o, &m);
    interp__peer_frame(s, WIRE_HELLO, 0, 0, b, (size_t)(o.p - b));
    s->hello_sent = 1;
    s->life_end = interp__after(interp__now(), m.lifetime_ns);
}

void interp__peer_credit(struct interp_session *s, uint16_t channel, uint32_t bytes)
{
    uint32_t *owed = &s->late_owed, *left = NULL, due;
    if (channel != WIRE_CHANNEL_LATE) {
        struct interp__exec *e = interp__exec_by_channel(s, channel);
        struct interp__file *f = e ? NULL : interp__file_by_channel(s, channel);
        if (!e && !f)
            return;   /* it has ended, and its window with it */
        owed = e ? &e->rx_owed[channel - e->base] : &f->rx_owed;
        left = e ? &e->rx_left[channel - e->base] : &f->rx_left;
        if (e)
            e->heard = interp__now();
    }
    *owed += bytes;
    if (*owed < WIRE_WINDOW / 4)
        return;
    due = *owed;
    *owed = 0;
    if (left)
        *left += due;
    uint8_t b[4];
    struct wire_out o = { b, b + sizeof b, 0 };
    interp__wire_put_u32(&o, due);
    interp__peer_frame(s, WIRE_CREDIT, 0, channel, b, sizeof b);
}

void interp__peer_interrupt(struct interp_session *s, struct interp__exec *e, int hard)
{
    uint8_t b[WIRE_ID + 2];
    memcpy(b, e->id, WIRE_ID);
    b[WIRE_ID] = WIRE_CAUSE_CANCEL;
    b[WIRE_ID + 1] = (uint8_t)hard;
    interp__peer_frame(s, WIRE_INTERRUPT, 0, 0, b, sizeof b);
}

void interp__peer_signal(struct interp_session *s, const struct interp__exec *e, uint8_t sig)
{
    uint8_t b[WIRE_ID + 1];
    memcpy(b, e->id, WIRE_ID);
    b[WIRE_ID] = sig;
    interp__peer_frame(s, WIRE_SIGNAL, 0, 0, b, sizeof b);
}

void interp__peer_resize(struct interp_session *s, const struct interp__exec *e)
{
    uint8_t b[WIRE_ID + 4];
    struct wire_out o = { b, b + sizeof b, 0 };
    interp__wire_put_bytes(&o, e->id, WIRE_ID);
    interp__wire_put_u16(&o, e->rows);
    interp__wire_put_u16(&o, e->columns);
    interp__peer_frame(s, WIRE_RESIZE, 0, 0, b, sizeof b);
}

/* ---- out: code, stdin, blobs */

/* Sends what credit and the buffer allow; the last piece says END, unless more may come. Returns the new position. */
size_t interp__peer_send(struct interp_session *s, uint16_t channel, const uint8_t *p, size_t len, size_t at, uint32_t *credit, int more)
{
    while (at < len && *credit && s->out.len - s->out_at < OUT_SOFT) {
        size_t n = len - at;
        if (n > WIRE_PAYLOAD_MAX)
            n = WIRE_PAYLOAD_MAX;
        if (n > *credit)
            n = *credit;
        interp__peer_frame(s, WIRE_DATA, !more && at + n == len ? WIRE_FLAG_END : 0, channel, p + at, n);
        at += n;
        *credit -= (uint32_t)n;
    }
    return at;
}

size_t interp__peer_lend(struct interp_session *s, uint16_t channel, const uint8_t *p, size_t len, size_t at, uint32_t *credit)
{
    size_t n = len - at < *credit ? len - at : *credit;
    if (n > WIRE_PAYLOAD_MAX)
        n = WIRE_PAYLOAD_MAX;
    if (!n || s->out.len || s->nlent || header(s, WIRE_DATA, 0, channel, n, 0))
        return at;
    s->lent = p + at;
    s->nlent = n;
    *credit -= (uint32_t)n;
    return at + n;
}

static void pump_input(struct interp_session *s, struct interp__exec *e)
{
    uint16_t channel = (uint16_t)(e->base + 1);
    size_t before = e->input_sent;
    e->input_sent = interp__peer_send(s, channel, e->input.p, e->input.len, before, &e->tx_credit[1], !e->input_closed);
    e->input_ended = e->input_closed && e->input_sent == e->input.len;
    if (e->input_ended && e->input_sent == before)               /* there was nothing that could carry the END */
        interp__peer_frame(s, WIRE_DATA, WIRE_FLAG_END, channel, NULL, 0);
    if (e->interactive) {                                        /* a queue: what has been sent makes room */
        interp__buf_used(&e->input, &e->input_sent);
        interp__exec_room(s, e);
    }
}

void interp__peer_pump(struct interp_session *s)
{
    for (struct interp__kernel *k = s->kernels; k; k = k->next)
        if (k->state == INTERP__KERNEL_STARTING && k->blob_sent < k->blob_len)
            k->blob_sent = interp__peer_send(s, k->channel, k->blob, k->blob_len, k->blob_sent, &k->blob_credit, 0);
    for (struct interp_call *c = s->calls; c; c = c->next) {
        struct interp__exec *e = c->exec;
        if (!e || !e->sent || e->exited || c->done)
            continue;
        e->code_sent = interp__peer_send(s, e->base, e->code.p, e->code.len, e->code_sent, &e->tx_credit[0], 0);
        if (e->has_input && !e->input_ended)
            pump_input(s, e);
    }
    for (struct interp__file *f = s->transfers; f; f = f->next)
        if (f->sent)
            interp__file_pump(s, f);
}

/* ---- in */

static int data(struct interp_session *s, const struct wire_frame *f)
{
    struct interp__exec *e = interp__exec_by_channel(s, f->channel);
    if (e) {
        int i = f->channel - e->base;
        if (f->size > e->rx_left[i])
            return -1;
        e->rx_left[i] -= f->size;
        if (i) {
            interp__exec_output(s, e, i, f->payload, f->size);
            return 0;
        }
        if (!e->broken && interp__kframes_feed(&e->frames, f->payload, f->size)) {
            e->broken = 1;   /* the guest's own words: its kernel goes, the session stays */
            interp__kernel_stop(s, e->kernel);
            e->deadline = interp__min(e->deadline, interp__killed_by(s, interp__now()));
        }
        if (e->frames.oneshot)   /* its build is over: its program's silence begins */
            e->heard = interp__now();
        interp__peer_credit(s, f->channel, f->size);
        return 0;
    }
    for (struct interp__kernel *k = s->kernels; k; k = k->next)
        if (k->state == INTERP__KERNEL_STARTING && k->channel == f->channel) {
            if (f->size > k->rx_left)
                return -1;
            k->rx_left -= f->size;
            if (interp__kframes_feed(&k->frames, f->payload, f->size))
                return -1;
            /* the window comes back at once; what a start may send is bounded by kframes */
            uint8_t b[4];
            struct wire_out o = { b, b + sizeof b, 0 };
            interp__wire_put_u32(&o, f->size);
            k->rx_left += f->size;
            interp__peer_frame(s, WIRE_CREDIT, 0, f->channel, b, sizeof b);
            return 0;
        }
    struct interp__file *w = interp__file_by_channel(s, f->channel);
    if (!w || f->size > w->rx_left)
        return -1;
    w->rx_left -= f->size;
    return interp__file_data(s, w, f->payload, f->size);
}

static int credit(struct interp_session *s, const struct wire_frame *f)
{
    struct wire_in i;
    interp__wire_in_init(&i, f->payload, f->size);
    uint32_t n = interp__wire_u32(&i), *left = NULL, window = WIRE_WINDOW;
    struct interp__exec *e = interp__exec_by_channel(s, f->channel);
    if (e && f->channel - e->base < 2)
        left = &e->tx_credit[f->channel - e->base];
    for (struct interp__kernel *k = s->kernels; k && !left; k = k->next)
        if (k->state == INTERP__KERNEL_STARTING && k->channel == f->channel)
            left = &k->blob_credit;
    struct interp__file *w = left ? NULL : interp__file_by_channel(s, f->channel);
    if (w) {
        left = &w->tx_credit;
        window = WIRE_PUT_WINDOW;
        if (n && !w->cancelled)
            w->heard = interp__now();
    }
    if (i.bad || (left && n > window - *left))
        return -1;
    if (left)
        *left += n;
    return 0;   /* for a channel that has just ended: late, not wrong */
}

static int request(struct interp_session *s, const struct wire_frame *f)
{
    struct wire_in i;
    interp__wire_in_init(&i, f->payload, f->size);
    uint64_t id = interp__wire_u64(&i);
    (void)interp__wire_string(&i);
    if (i.bad)
        return -1;
    uint8_t b[16];
    struct wire_out o = { b, b + sizeof b, 0 };
    interp__wire_put_u64(&o, id);
    interp__wire_put_u8(&o, WIRE_REPLY_UNSUPPORTED);   /* no method is served by this version */
    interp__peer_frame(s, WIRE_REPLY, 0, 0, b, (size_t)(o.p - b));
    return 0;
}

static int late(struct interp_session *s, const struct wire_frame *f)
{
    struct wire_in i;
    uint8_t id[WIRE_ID];
    interp__wire_in_init(&i, f->payload, f->size);
    interp__wire_bytes(&i, id, WIRE_ID);
    uint8_t stream = interp__wire_u8(&i);
    uint32_t dropped = interp__wire_u32(&i);
    if (i.bad || stream < 1 || stream > 2)
        return -1;
    interp__late_take(s, id, stream, dropped, i.p, (size_t)(i.end - i.p));
    return 0;
}

static int fatal(struct interp_session *s, const struct wire_frame *f)
{
    struct wire_in i;
    interp__wire_in_init(&i, f->payload, f->size);
    struct wire_str reason = interp__wire_string(&i), text = interp__wire_string(&i);
    char r[64];
    if (i.bad)
        return -1;
    size_t n = 0;
    for (; n < reason.len && n < sizeof r - 1 && ((reason.p[n] >= 'a' && reason.p[n] <= 'z') || reason.p[n] == '-'); n++)
        r[n] = (char)reason.p[n];
    r[n] = 0;
    char words[512];
    size_t w = 0;
    for (; w < text.len && w < sizeof words - 1; w++)
        words[w] = text.p[w] >= 0x20 && text.p[w] < 0x7F ? (char)text.p[w] : '?';
    words[w] = 0;
    interp_error *why = NULL;
    interp__redact_text_cut(s, words, w);
    interp__fail(&s->mem, &why, INTERP_E_BACKEND, r, "the agent in the sandbox gave up: %.*s", (int)s->redacted.len, s->redacted.len ? (const char *)s->redacted.p : "");
    interp__session_gone(s, why);
    return 1;
}

/* 0, 1: the session has ended, -1: violation */
static int frame(struct interp_session *s, const struct wire_frame *f)
{
    if (!s->welcomed && f->type != WIRE_WELCOME && f->type != WIRE_FATAL)
        return -1;
    switch (f->type) {
    case WIRE_WELCOME: {
        if (s->welcomed || interp__wire_get_welcome(f, &s->welcome) || s->welcome.version != WIRE_VERSION)
            return -1;
        interp_error *unrecorded = NULL;
        s->welcomed = 1;
        atomic_store(&s->status, INTERP_SESSION_OPEN);
        interp__session_info(s);
        if (interp__audit_opened(s, NULL, &unrecorded) && interp__audit_refuses(s->audit)) {
            interp__session_gone(s, unrecorded);
            return 1;
        }
        interp_error_free(unrecorded);
        for (struct interp_call *c = s->calls; c; c = c->next)
            if (c->kind == INTERP_CALL_OPEN)
                interp__call_done(c, NULL);
        return 0;
    }
    case WIRE_NOP:
        interp__session_at_work(s);
        return 0;
    case WIRE_DATA:
        return data(s, f);
    case WIRE_CREDIT:
        return credit(s, f);
    case WIRE_KERNEL_READY: {
        struct wire_ready_msg m;
        if (interp__wire_get_ready(f, &m))
            return -1;
        interp__kernel_ready(s, &m);
        return 0;
    }
    case WIRE_KERNEL_GONE: {
        struct wire_in i;
        interp__wire_in_init(&i, f->payload, f->size);
        uint16_t id = interp__wire_u16(&i);
        uint8_t proven = interp__wire_u8(&i);
        if (i.bad)
            return -1;
        interp__kernel_gone(s, id, proven);
        return 0;
    }
    case WIRE_EXIT: {
        struct wire_exit m;
        if (interp__wire_get_exit(f, &m))
            return -1;
        struct interp__exec *e = interp__exec_by_id(s, m.id);
        if (!e)
            return -1;   /* an id that nobody asked for: only we make them */
        interp__exec_exit(s, e, &m);
        return 0;
    }
    case WIRE_FILE_DONE: {
        struct wire_file_done m;
        return interp__wire_get_file_done(f, &m) ? -1 : interp__file_done(s, &m);
    }
    case WIRE_LATE:
        return late(s, f);
    case WIRE_REQUEST:
        return request(s, f);
    case WIRE_FATAL:
        return fatal(s, f);
    default:
        return -1;
    }
}

static int violation(struct interp_session *s)
{
    interp_error *why = NULL;
    interp__fail(&s->mem, &why, INTERP_E_PROTOCOL, "protocol", "the sandbox broke the protocol and has been killed");
    interp__session_gone(s, why);
    return -1;
}

/* Few sessions of many are at work at a time: one that is idle holds no buffers. */
void interp__peer_rest(struct interp_session *s)
{
    if (s->calls)
        return;
    if (!s->in.len)
        interp__buf_free(&s->in);
    if (!s->out.len && !s->out.bad)
        interp__buf_free(&s->out);
}

int interp__peer_read(struct interp_session *s)
{
    struct interp_link *l = s->link;
    for (size_t round = 0, n = 0, room = 1; round < READ_ROUND; round += n) {
        /* much comes at once: a larger buffer saves reads */
        size_t want = !s->in.cap ? IN_FIRST : (n == room || s->in.len == s->in.cap) && s->in.cap < IN_MOST ? IN_MOST - s->in.len : 0;
        if (interp__buf_reserve(&s->in, want)) {
            interp__session_gone(s, NULL);   /* ours, not the sandbox's */
            return -1;
        }
        n = 0;
        room = s->in.cap - s->in.len;
        interp_status st = l->backend->ops.read(l->inst, s->in.p + s->in.len, room, &n);
        if (st == INTERP_AGAIN && !l->write_failed) {
            l->readable = 0;
            interp__peer_rest(s);
            return 0;
        }
        if (st != INTERP_OK || n == 0 || n > room) {
            interp_error *why = NULL;
            uint64_t idle = interp__now() - s->last_frame;
            if (s->welcomed && interp__now() >= s->life_end) {   /* the agent's clock began a little after ours */
                interp__session_outlived(s);
                return -1;
            }
            if (l->fault)   /* the backend knows more */
                why = interp__error_copy(&s->mem, l->fault);
            else if (s->welcomed && idle >= interp__ms(s->v.session_idle))
                interp__fail(&s->mem, &why, INTERP_E_CLOSED, "expired", "the session had no call for longer than session_idle_ms and has ended; open a new one");
            else
                interp__fail(&s->mem, &why, s->welcomed ? INTERP_E_CLOSED : INTERP_E_BACKEND, "stream-end", "the sandbox ended by itself; open a new session");
            interp__session_gone(s, why);
            return -1;
        }
        s->in.len += n;
        size_t at = 0;
        for (;;) {
            struct wire_frame f;
            long k = interp__wire_next(&s->peer, s->in.p + at, s->in.len - at, 1, &f);
            if (k < 0)
                return violation(s);
            if (k == 0)
                break;
            at += (size_t)k;
            int rc = frame(s, &f);
            if (rc < 0 || s->out.len - s->out_at > OUT_MAX)
                return violation(s);
            if (rc > 0 || s->gone)
                return -1;
        }
        interp__buf_drop(&s->in, at);
        if (s->out.bad) {
            interp__session_gone(s, NULL);
            return -1;
        }
    }
    return 1;
}
