/* live.c - an exec that runs on while nobody waits for it: its output by offset, signals to what it started */
#include "core.h"
#include <string.h>

/* ---- held output */

/* Once an exec is being ended nobody is made to wait: what is left is kept as far as it goes, the rest shows as a gap. */
enum { HOLD_ENDING = 1 << 20 };

int interp__hold_put(struct interp_call *c, int stream, uint64_t offset, const uint8_t *p, size_t n, size_t raw)
{
    struct interp__hold *h = &c->hold[stream - 1];
    int ending = c->exec->ending || c->abandoned;
    if (!h->data.len)
        h->base = offset;
    if (n && h->base + h->data.len == offset && !(ending && h->data.len + n > HOLD_ENDING)) {
        interp__buf_add(&h->data, p, n);
        h->data.bad = 0;   /* without memory it is a gap */
    }
    if (n) {
        h->unread = 1;
        interp__call_news(c);
    }
    if (ending || !h->data.len)
        return 0;
    h->raw += (uint32_t)raw;
    return 1;
}

static void give_back(struct interp_call *c, int i)
{
    if (c->hold[i].raw && c->exec && c->session)
        interp__peer_credit(c->session, (uint16_t)(c->exec->base + 1 + i), c->hold[i].raw);
    c->hold[i].raw = 0;
}

void interp__hold_release(struct interp_call *c)
{
    for (int i = 0; i < 2; i++)
        give_back(c, i);
}

/* The reader has what lies before offset. */
static void taken(struct interp_call *c, int i, uint64_t offset)
{
    struct interp__hold *h = &c->hold[i];
    if (offset > h->base) {
        size_t n = offset - h->base < h->data.len ? (size_t)(offset - h->base) : h->data.len;
        interp__buf_drop(&h->data, n);
        h->base += n;
    }
    if (h->data.len <= WIRE_WINDOW / 4)
        give_back(c, i);
}

/* He has read up to offset; of what came in meanwhile, of either stream, he will be told. */
static void seen(struct interp__hold *h, uint64_t offset)
{
    if (!h->data.len || offset >= h->base + h->data.len)
        h->unread = 0;
}

/* ---- API */

static interp_status enter(interp_call *c, struct interp_session **s, const char *what, interp_error **err)
{
    interp_status st = interp__call_enter(c, s, err);
    if (st || c->kind == INTERP_CALL_EXEC)
        return st;
    if (*s)
        interp__session_leave(*s);
    return interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "not-an-exec", "%s is for calls of execs", what);
}
static void leave(interp_call *c, struct interp_session *s)
{
    if (!s)
        return;
    if (c->session)
        interp__session_flush(s);
    interp__loop_poke(&c->ctx->loop);
    interp__session_leave(s);
}

static void look(struct interp_call *c)
{
    struct interp_session *s = c->session;
    if (!s || !s->link || c->done)
        return;
    if (s->link->loop == &s->link->own) {   /* a LOOP context has its own time for that */
        interp__loop_poll(s->link->loop, 0);
        interp__session_drive(s, interp__now());
    }
    if (c->exec)
        interp__exec_idle(s, c->exec, interp__now());
}

static size_t read_at(const struct interp_call *c, int i, uint64_t offset, void *buf, size_t size, uint64_t *at)
{
    const struct interp__hold *h = &c->hold[i];
    *at = offset;
    if (h->data.len && offset >= h->base && offset - h->base < h->data.len) {
        size_t from = (size_t)(offset - h->base), n = h->data.len - from < size ? h->data.len - from : size;
        memcpy(buf, h->data.p + from, n);
        return n;
    }
    size_t n = c->exec ? interp__stream_read(&c->exec->out[i], offset, buf, size, at) : c->result ? interp__kept_read(&c->result->out[i], offset, buf, size, at) : 0;
    if (h->data.len && offset < h->base && (!n || *at > h->base)) {   /* asked for once more after it was let go of */
        *at = h->base;
        n = h->data.len < size ? h->data.len : size;
        memcpy(buf, h->data.p, n);
    }
    return n;
}

interp_status interp_call_output(interp_call *c, int32_t stream, uint64_t offset, void *buf, size_t size, size_t *n, uint64_t *at, interp_error **err)
{
    struct interp_session *in = NULL;
    interp_status st = enter(c, &in, "interp_call_output", err);
    if (st)
        return st;
    int all = offset == INTERP_FOREVER;
    if (stream != INTERP_STREAM_STDOUT && stream != INTERP_STREAM_STDERR)
        st = interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "argument", "interp_call_output: %d is no stream; INTERP_STREAM_STDOUT and INTERP_STREAM_STDERR are", (int)stream);
    else if (!all && (!buf || !size || !n))
        st = interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "argument", "interp_call_output: there is no room to read to");
    else if (all) {
        c->holding = 0;
        for (int i = 0; i < 2; i++) {
            give_back(c, i);
            c->hold[i].unread = 0;
            interp__buf_free(&c->hold[i].data);
        }
        if (n)
            *n = 0;
        if (at)
            *at = offset;
    } else {
        uint64_t from = offset;
        c->read_by_offset = 1;
        taken(c, stream - 1, offset);
        look(c);
        *n = read_at(c, stream - 1, offset, buf, size, &from);
        if (at)
            *at = from;
        seen(&c->hold[stream - 1], from + *n);
        if (!*n)
            st = c->done ? INTERP_DONE : INTERP_AGAIN;
    }
    leave(c, in);
    return st;
}

interp_status interp_call_signal(interp_call *c, int32_t sig, interp_error **err)
{
    struct interp_session *in = NULL;
    interp_status st = enter(c, &in, "interp_call_signal", err);
    if (st)
        return st;
    const struct interp__mem *m = &c->ctx->mem;
    if (sig < 1 || sig > (int32_t)WIRE_SIGNAL_MAX)
        st = interp__fail(m, err, INTERP_E_INVAL, "signal", "%d is no signal: give Linux's number, from 1 to %u", (int)sig, WIRE_SIGNAL_MAX);
    else if (c->done || !c->exec)
        st = interp__fail(m, err, INTERP_E_CLOSED, "ended", "the exec has ended");
    else if (!c->exec->sent)
        st = interp__fail(m, err, INTERP_E_BUSY, "waiting", "the exec waits for its kernel: nothing of it runs yet");
    else
        interp__peer_signal(c->session, c->exec, (uint8_t)sig);
    leave(c, in);
    return st;
}

/* Before it has been sent, it will begin with that size. */
interp_status interp_call_resize(interp_call *c, uint32_t rows, uint32_t columns, interp_error **err)
{
    struct interp_session *in = NULL;
    interp_status st = enter(c, &in, "interp_call_resize", err);
    if (st)
        return st;
    const struct interp__mem *m = &c->ctx->mem;
    if (!rows || !columns || rows > UINT16_MAX || columns > UINT16_MAX)
        st = interp__fail(m, err, INTERP_E_INVAL, "pty", "%u rows and %u columns are no size of a terminal: give 1 to %u of each", rows, columns, (unsigned)UINT16_MAX);
    else if (c->done || !c->exec)
        st = interp__fail(m, err, INTERP_E_CLOSED, "ended", "the exec has ended");
    else if (!c->exec->pty)
        st = interp__fail(m, err, INTERP_E_INVAL, "pty", "this exec has no terminal: set `pty` in its request");
    else {
        c->exec->rows = (uint16_t)rows;
        c->exec->columns = (uint16_t)columns;
        if (c->exec->sent)
            interp__peer_resize(c->session, c->exec);
    }
    leave(c, in);
    return st;
}
