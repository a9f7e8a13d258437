/* exec.c - one exec from request to result: who says what, and what is left of the kernel */
#include "oneshot.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Output that a consumer may leave unpulled once its exec is being ended; more is a gap. */
#define ENDING_MAX ((size_t)1 << 20)
#define KILL_MOST_NS (UINT64_C(60) * 1000000000)
#define READY_NS (UINT64_C(20) * 1000000000)    /* for the start of a one-shot's shell that nobody waits for */

struct interp__exec *interp__exec_by_id(struct interp_session *s, const uint8_t id[WIRE_ID])
{
    for (struct interp_call *c = s->calls; c; c = c->next)
        if (c->exec && c->exec->sent && !c->exec->exited && !c->done && !memcmp(c->exec->id, id, WIRE_ID))
            return c->exec;
    return NULL;
}
struct interp__exec *interp__exec_by_channel(struct interp_session *s, uint16_t channel)
{
    for (struct interp_call *c = s->calls; c; c = c->next)
        if (c->exec && c->exec->sent && !c->exec->exited && !c->done && channel >= c->exec->base && channel <= c->exec->base + 2)
            return c->exec;
    return NULL;
}

/* Freeing what a tree held is a part of its end: a nanosecond a byte was measured for files in memory on a busy machine. */
uint64_t interp__kill_ns(const struct interp_session *s)
{
    return interp__min(WIRE_KILL_NS + s->v.memory, KILL_MOST_NS);
}
uint64_t interp__killed_by(const struct interp_session *s, uint64_t order)
{
    return interp__after(order, interp__kill_ns(s) + INTERP__SLACK_NS);
}

/* ---- what goes to the kernel */

/* A value is bytes: those that are no UTF-8 travel as lone surrogates U+DC80..U+DCFF, as Python's surrogateescape has them (PEP 383). */
void interp__json_bytes(struct interp__buf *b, const char *p, size_t n)
{
    if (interp__utf8_valid(p, n) == n) {
        interp__json_text(b, p, n);
        return;
    }
    interp__buf_str(b, "\"");
    while (n) {
        size_t ok = interp__utf8_valid(p, n), at = b->len;
        if (ok) {   /* the quotes of the part are taken off again */
            interp__json_text(b, p, ok);
            if (!b->bad)
                memmove(b->p + at, b->p + at + 1, b->len - at - 2), b->len -= 2;
        }
        for (p += ok, n -= ok; n && interp__utf8_valid(p, 1) == 0 && interp__utf8_valid(p, n) == 0; p++, n--)
            interp__buf_fmt(b, "\\udc%02x", (unsigned)(uint8_t)*p);
    }
    interp__buf_str(b, "\"");
}

/* At a terminal: what the request sets, and which kind of terminal it is, unless that is said there. */
static const struct interp__env *terminal_env(const interp_request *r, struct interp__env *own, const struct interp__mem *m)
{
    static const char kind[] = "TERM=xterm-256color";
    int said = 0;
    for (size_t i = 0; i < r->env.text.len; i += strlen((const char *)r->env.text.p + i) + 1)
        said |= !strncmp((const char *)r->env.text.p + i, kind, sizeof "TERM=" - 1);
    if (said)
        return &r->env;
    interp__buf_init(&own->text, m);
    interp__buf_add(&own->text, r->env.text.p, r->env.text.len);
    interp__buf_add(&own->text, kind, sizeof kind);
    own->count = r->env.count + 1;
    return own;
}

static void env_json(struct interp__buf *b, const struct interp__env *env)
{
    interp__buf_str(b, "{");
    for (size_t i = 0; i < env->text.len;) {
        const char *item = (const char *)env->text.p + i;
        size_t n = strlen(item), name = strcspn(item, "=");
        interp__buf_str(b, i ? "," : "");
        interp__json_text(b, item, name);
        interp__buf_str(b, ":");
        interp__json_bytes(b, item + name + 1, n - name - 1);
        i += n + 1;
    }
    interp__buf_str(b, "}");
}

/* A='x' B='y' ... for the shells; a quote in a value becomes '\'' */
static void env_prefix(struct interp__buf *b, const struct interp__env *env)
{
    for (size_t i = 0; i < env->text.len;) {
        const char *item = (const char *)env->text.p + i;
        size_t name = strcspn(item, "=");
        interp__buf_add(b, item, name);
        interp__buf_str(b, "='");
        for (const char *p = item + name + 1; *p; p++) {
            if (*p == '\'')
                interp__buf_str(b, "'\\''");
            else
                interp__buf_add(b, p, 1);
        }
        interp__buf_str(b, "' ");
        i += strlen(item) + 1;
    }
}

static void build_code(struct interp_session *s, struct interp__exec *e, const interp_request *r, const struct interp__env *env)
{
    int changed = e->kernel->env_version != s->env_version;
    e->env_version = s->env_version;
    if (e->kernel->language->kind == WIRE_KIND_SCRIPT) {
        if (changed && !e->kernel->language->oneshot)   /* those get a new kernel when they are sent: nothing stands in front of their code */
            interp__env_changes_shell(s, &e->code);
        interp__buf_add(&e->code, r->code.p, r->code.len);
        return;
    }
    struct interp__buf j;
    interp__buf_init(&j, e->code.mem);
    interp__buf_fmt(&j, "{\"n\":%" PRIu64 ",\"name\":\"<exec %" PRIu64 ">\",\"env\":", e->number, e->number);
    env_json(&j, env);
    if (changed) {
        interp__buf_str(&j, ",\"setenv\":");
        interp__env_changes_json(s, &j);
    }
    interp__buf_str(&j, ",\"options\":");
    if (r->options.len)
        interp__buf_add(&j, r->options.p, r->options.len);
    else
        interp__buf_str(&j, "{}");
    interp__buf_str(&j, "}");
    uint8_t h[KFRAME_HEADER];
    struct kframe f = { .json_len = (uint32_t)j.len, .bin_len = (uint32_t)r->code.len, .token = e->token, .type = 'E' };
    interp__kframe_put(h, &f);
    interp__buf_reserve(&e->code, sizeof h + j.len + r->code.len);
    interp__buf_add(&e->code, h, sizeof h);
    interp__buf_add(&e->code, j.p, j.len);
    interp__buf_add(&e->code, r->code.p, r->code.len);
    e->code.bad |= j.bad;
    interp__buf_free(&j);
}

void interp__exec_free(struct interp_session *s, struct interp__exec *e)
{
    if (!e)
        return;
    interp__exec_detach(s, e);
    interp__free(&s->mem, e->look);
    interp__buf_free(&e->code);
    interp__buf_free(&e->input);
    interp__wipe(e->env.p, e->env.cap);
    interp__buf_free(&e->env);
    interp__buf_free(&e->who);
    interp__buf_free(&e->asked);
    for (int i = 0; i < 2; i++) {
        interp__redactor_free(e->redact[i]);
        interp__redactor_free(e->again[i]);
        interp__clean_free(e->clean[i]);
    }
    interp__redact_counts_free(&e->counts);
    interp__stream_free(&e->out[0]);
    interp__stream_free(&e->out[1]);
    interp__spill_close(&e->spill[0]);
    interp__spill_close(&e->spill[1]);
    interp__kframes_free(&e->frames);
    interp_result_free(e->result);
    interp__free(&s->mem, e);
}

struct interp__exec *interp__exec_new(struct interp_session *s, const interp_request *r, struct interp__kernel *k, struct interp_call *c, interp_error **err)
{
    struct interp__exec *e = interp__alloc(&s->mem, sizeof *e);
    if (!e) {
        interp__nomem(err);
        return NULL;
    }
    interp__buf_init(&e->code, &s->mem);
    interp__buf_init(&e->input, &s->mem);
    interp__buf_init(&e->env, &s->mem);
    interp__spill_init(&e->spill[0], &s->mem, s->v.spill);
    interp__spill_init(&e->spill[1], &s->mem, s->v.spill);
    interp__stream_init(&e->out[0], &s->mem, s->v.head, s->v.tail, s->v.tokens);
    interp__stream_init(&e->out[1], &s->mem, s->v.head, s->v.tail, s->v.tokens);
    interp__buf_init(&e->who, &s->mem);
    e->counts.mem = &s->mem;
    e->call = c;
    e->kernel = k;
    e->number = s->execs + 1;
    e->result = interp__result_new(&s->mem);
    interp__kframes_init(&e->frames, &s->mem, e->result);
    if (interp__random(e->id, WIRE_ID) || interp__random(&e->token, sizeof e->token)) {
        interp__fail(&s->mem, err, INTERP_E_IO, "random", "no random numbers from the system");
        interp__exec_free(s, e);
        return NULL;
    }
    e->timeout = interp__ms(r->v.timeout_set ? r->v.timeout : s->v.timeout);
    e->changes = (r->v.change_set_set ? r->v.change_set : s->v.change_set) != 0;
    e->grace = interp__ms(r->v.grace_set ? r->v.grace : s->v.grace);
    e->cpu = interp__ms(r->v.cpu_time_set ? r->v.cpu_time : s->v.cpu_time);
    e->idle_output = interp__ms(r->v.idle_output_set ? r->v.idle_output : s->v.idle_output);
    e->streaming = r->v.stream != 0;
    c->holding = c->read_by_offset = r->v.hold_output != 0;
    e->interactive = r->v.interactive != 0;
    e->pty = r->v.pty != 0;
    e->rows = (uint16_t)r->v.pty_rows;
    e->columns = (uint16_t)r->v.pty_columns;
    e->has_input = e->interactive || e->pty || (r->has_input && r->input.len > 0);
    e->input_closed = !e->interactive;
    struct interp__env own = { 0 };
    const struct interp__env *env = e->pty ? terminal_env(r, &own, &s->mem) : &r->env;
    build_code(s, e, r, env);
    interp__buf_add(&e->input, r->input.p, r->input.len);
    if (k->language->oneshot)
        interp__oneshot_prefix(k->language->oneshot, &e->env, (const char *)r->code.p, r->code.len, env, &r->args);
    else if (k->language->kind == WIRE_KIND_SCRIPT)
        env_prefix(&e->env, env);
    e->env.bad |= own.text.bad;
    interp__wipe(own.text.p, own.text.cap);
    interp__buf_free(&own.text);
    interp__audit_who(s, e, r);
    e->frames.oneshot = k->language->oneshot != NULL;
    e->compile = interp__ms(r->v.compile_timeout_set ? r->v.compile_timeout : s->v.compile_timeout_set ? s->v.compile_timeout : INTERP_FOREVER);
    interp_result *v = e->result;
    if (v) {
        v->number = e->number;
        v->session = interp__strndup(&s->mem, s->id, strlen(s->id));
        v->language = interp__strndup(&s->mem, k->language->name, strlen(k->language->name));
        v->kernel = interp__strndup(&s->mem, k->name, strlen(k->name));
    }
    if (!v || !v->session || !v->language || !v->kernel || e->code.bad || e->input.bad || e->env.bad || e->who.bad) {
        interp__nomem(err);
        interp__exec_free(s, e);
        return NULL;
    }
    e->started = interp__now();
    s->execs++;
    return e;
}

void interp__exec_room(struct interp_session *s, struct interp__exec *e)
{
    if (!e->want_room || e->input.len - e->input_sent > INTERP__INPUT_QUEUE / 2)
        return;
    struct interp_event *v = interp__event_new(s, INTERP_EV_WRITABLE, NULL, 0);
    if (v) {
        e->want_room = 0;
        interp__call_event(e->call, v);
    }
}

/* What nobody pulls holds the code up, and that is no silence of its own. */
uint64_t interp__exec_silent_due(const struct interp__exec *e)
{
    const struct interp_call *c = e->call;
    if (!e->sent || e->ending || e->idle_output == INTERP__NEVER || e->kernel->state != INTERP__KERNEL_ALIVE || c->events || c->current || c->hold[0].raw || c->hold[1].raw ||
        (e->frames.oneshot && e->frames.build != WIRE_BUILD_DONE))
        return INTERP__NEVER;
    return interp__killed_by(c->session, interp__after(interp__after(e->heard, e->idle_output), e->grace));
}

/* Sends it, with a kernel start before it when there is none alive. The agent runs it as soon as the kernel is ready. */
void interp__exec_send(struct interp_session *s, struct interp__exec *e)
{
    struct interp__kernel *k = e->kernel;
    uint64_t now = interp__now(), left = e->timeout;
    if (e->attaching)
        interp__files_send(s);   /* it is their turn now */
    if (e->attaching || interp__changes_before(s, e))
        return;   /* it comes when its files are there */
    if (k->language->oneshot && k->state != INTERP__KERNEL_DEAD && k->env_version != s->env_version) {   /* waits with an environment that is no longer the session's */
        k->current = NULL;
        k->queued = e;   /* sent when that one is gone */
        interp__kernel_stop(s, k);
        return;
    }
    if (left != INTERP__NEVER) {
        uint64_t end = interp__after(e->started, left);
        left = end > now ? end - now : 1;
        e->deadline = interp__killed_by(s, interp__after(end, e->grace));
    } else
        e->deadline = INTERP__NEVER;
    if (k->state == INTERP__KERNEL_DEAD)
        interp__kernel_start(s, k, left);
    e->base = interp__channels(s);
    e->tx_credit[0] = e->tx_credit[1] = WIRE_WINDOW;
    e->rx_left[0] = e->rx_left[1] = e->rx_left[2] = WIRE_WINDOW;
    struct wire_exec m = { .kernel = k->id, .base = e->base, .flags = (e->has_input ? WIRE_EXEC_STDIN : 0u) | ((s->v.merge && !e->own) || e->pty ? WIRE_EXEC_MERGE : 0u) | (e->pty ? WIRE_EXEC_PTY : 0u),
                           .rows = e->rows, .columns = e->columns, .number = (uint32_t)e->number, .token = e->token,
                           .code_bytes = (uint32_t)e->code.len, .timeout_ns = left, .grace_ns = e->grace, .prefix = { e->env.p, (uint16_t)e->env.len },
                           .cpu_ns = e->cpu, .idle_ns = e->idle_output, .build_ns = e->compile };
    memcpy(m.id, e->id, WIRE_ID);
    struct interp__buf b;
    interp__buf_init(&b, &s->mem);
    if (interp__buf_reserve(&b, 256 + e->env.len)) {
        s->out.bad = 1;
        return;
    }
    struct wire_out o = { b.p, b.p + b.cap, 0 };
    interp__wire_put_exec(&o, &m);
    interp__peer_frame(s, WIRE_EXEC, 0, 0, b.p, (size_t)(o.p - b.p));
    interp__buf_free(&b);
    e->sent = 1;
    k->env_version = k->language->oneshot ? s->env_version : e->env_version;   /* or newer: a start has just brought it */
    e->heard = now;
    s->execs_sent += !e->own;
    if (e->cancelled)
        interp__peer_interrupt(s, e, e->cancelled > 1);
}

void interp__exec_cancel(struct interp_session *s, struct interp__exec *e, int hard)
{
    if (e->exited) {
        interp__changes_drop(s, e);
        return;
    }
    if (e->cancelled > hard)
        return;
    e->cancelled = (uint8_t)(1 + hard);
    uint64_t bound = interp__killed_by(s, interp__after(interp__now(), hard ? 0 : e->grace));
    if (!e->sent) {   /* it waits behind another: nothing has run */
        interp__exec_end(s, e, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_PRESERVED, 0);
        return;
    }
    e->deadline = interp__min(e->deadline, bound);
    if (!e->ending) {
        e->ending = 1;
        interp__call_unthrottle(e->call);
    }
    interp__peer_interrupt(s, e, hard);
}

/* ---- what comes back */

/* Tells the consumer of bytes that it will not see. */
static void gap(struct interp_session *s, struct interp__exec *e, int stream, uint64_t end)
{
    uint64_t *n = &e->dropped[stream - 1];
    struct interp_event *v = *n && !e->call->abandoned ? interp__event_new(s, INTERP_EV_GAP, NULL, 0) : NULL;
    if (!v)
        return;
    v->exec = e->number;
    v->stream = stream;
    v->offset = end - *n;
    v->missing = *n;
    *n = 0;
    interp__call_event(e->call, v);
}

/* The whole stream so far goes to disk: from now on, or with a budget of tokens at the end, not all of it is kept. A failure is told in the result. */
static void spill_begin(struct interp_session *s, struct interp__exec *e, int i)
{
    struct interp__spill *d = &e->spill[i];
    if (interp__spill_open(d, s->v.spill_dir))
        return;
    struct interp__buf b;
    interp__buf_init(&b, &s->mem);
    interp__stream_all(&e->out[i], &b);
    if (b.bad)
        d->failed = ENOMEM;
    interp__spill_write(d, b.p, b.len);
    interp__buf_free(&b);
}
static void keep(struct interp_session *s, struct interp__exec *e, int i, const uint8_t *p, size_t n)
{
    struct interp__spill *d = &e->spill[i];
    if (*s->v.spill_dir && !e->own && d->fd < 0 && !d->failed && interp__stream_overflows(&e->out[i], n))
        spill_begin(s, e, i);
    if (d->fd >= 0)
        interp__spill_write(d, p, n);
    interp__stream_feed(&e->out[i], p, n);
}

/* n redacted bytes to the consumer and the result; they stand for raw bytes of the guest's. */
static void put(struct interp_session *s, struct interp__exec *e, int stream, const uint8_t *p, size_t n, size_t raw)
{
    struct interp_call *c = e->call;
    uint64_t offset = e->offset[stream - 1];
    e->offset[stream - 1] += n;
    uint16_t channel = (uint16_t)(e->base + stream);
    int held = 0;
    if (n && e->streaming && !c->abandoned) {
        struct interp_event *v = NULL;
        if (!e->ending || e->queued + interp__event_cost(n) <= ENDING_MAX) {
            gap(s, e, stream, offset);
            v = interp__event_new(s, INTERP_EV_OUTPUT, p, n);
        }
        if (v) {
            v->exec = e->number;
            v->stream = stream;
            v->offset = offset;
            if (e->ending)
                e->queued += interp__event_cost(n);
            else if (raw) {
                v->channel = channel;
                v->credit = (uint32_t)raw;
                held = 1;   /* its credit goes back when it is pulled */
            }
            interp__call_event(c, v);
        } else
            e->dropped[stream - 1] += n;
    }
    keep(s, e, stream - 1, p, n);
    if (c->holding)
        held = interp__hold_put(c, stream, offset, p, n, raw);
    if (!held && raw)
        interp__peer_credit(s, channel, (uint32_t)raw);
}

/* What redaction gave, in pieces that fit an event: labels may have made it longer. */
static void put_redacted(struct interp_session *s, struct interp__exec *e, int stream, size_t raw)
{
    enum { PIECE = 64 << 10 };
    const uint8_t *p = s->redacted.p;
    size_t n = s->redacted.len;
    for (size_t k; n > PIECE; p += k, n -= k) {
        k = interp__cut_before(p, n, PIECE);   /* one piece may be left out, another not */
        put(s, e, stream, p, k, 0);
    }
    put(s, e, stream, p, n, raw);
}

/* What the redactor gave, as a terminal would show it; and redacted once more, for what was not in one piece before. */
enum { SHOW_MORE, SHOW_IDLE, SHOW_HARD, SHOW_END };
static void show(struct interp_session *s, struct interp__exec *e, int i, int how)
{
    struct interp__buf seen;
    if (!s->v.clean || e->own || (!e->clean[i] && !(e->clean[i] = interp__clean_new(&s->mem))))
        return;   /* without memory: as it is */
    interp__buf_init(&seen, &s->mem);
    interp__clean_feed(e->clean[i], s->redacted.p, s->redacted.len, &seen);
    if (how == SHOW_END)
        interp__clean_finish(e->clean[i], &seen);
    else if (how)
        interp__clean_idle(e->clean[i], &seen);
    interp__redact_out(s, &e->again[i], seen.p, seen.len);
    interp__buf_free(&seen);
    if (!how || !e->again[i])
        return;
    seen = s->redacted;
    interp__buf_init(&s->redacted, &s->mem);
    if (how == SHOW_END)
        interp__redact_end(s, e->again[i]);
    else
        interp__redact_idle(s, e->again[i], how == SHOW_HARD);
    interp__buf_add(&seen, s->redacted.p, s->redacted.len);
    interp__buf_free(&s->redacted);
    s->redacted = seen;
}
static int holds(const struct interp__exec *e, int i)
{
    return (e->redact[i] && interp__redactor_held(e->redact[i])) || (e->again[i] && interp__redactor_held(e->again[i])) || (e->clean[i] && interp__clean_pending(e->clean[i]));
}

void interp__exec_output(struct interp_session *s, struct interp__exec *e, int stream, const uint8_t *p, size_t n)
{
    e->heard = interp__now();
    interp__redact_out(s, &e->redact[stream - 1], p, n);
    show(s, e, stream - 1, SHOW_MORE);
    int held = holds(e, stream - 1);
    e->idle[stream - 1] = held ? INTERP__IDLE_SOFT : INTERP__IDLE_NONE;
    e->held_since[stream - 1] = held ? e->heard : 0;
    put_redacted(s, e, stream, n);
}

uint64_t interp__exec_idle_due(const struct interp__exec *e)
{
    uint64_t due = INTERP__NEVER;
    for (int i = 0; i < 2 && (e->streaming || e->call->read_by_offset); i++)   /* else nobody waits for it */
        if (e->redact[i] && e->idle[i] != INTERP__IDLE_NONE)
            due = interp__min(due, interp__after(e->held_since[i], interp__ms(e->idle[i] == INTERP__IDLE_SOFT ? INTERP__REDACT_IDLE_MS : INTERP__REDACT_HARD_MS)));
    return due;
}
void interp__exec_idle(struct interp_session *s, struct interp__exec *e, uint64_t now)
{
    for (int i = 0; i < 2 && now >= interp__exec_idle_due(e); i++) {
        if (!e->redact[i] || e->idle[i] == INTERP__IDLE_NONE)
            continue;
        int hard = now >= interp__after(e->held_since[i], interp__ms(INTERP__REDACT_HARD_MS));
        if (!hard && (e->idle[i] == INTERP__IDLE_HARD || now < interp__after(e->held_since[i], interp__ms(INTERP__REDACT_IDLE_MS))))
            continue;
        interp__redact_idle(s, e->redact[i], hard);
        show(s, e, i, hard ? SHOW_HARD : SHOW_IDLE);
        e->idle[i] = hard || !holds(e, i) ? INTERP__IDLE_NONE : INTERP__IDLE_HARD;   /* what is left waits for its end */
        put_redacted(s, e, i + 1, 0);
    }
}

/* The kernel takes what waits for it; the call gets its result. */
static void finish(struct interp_session *s, struct interp__exec *e)
{
    interp_result *r = e->result;
    struct interp__kernel *k = e->kernel;
    struct interp_call *c = e->call;
    int started = e->sent && k->ready_status == 0;
    if (e->sent && !e->diffed)
        s->baseline = 0;
    for (int i = 0; i < 2; i++)
        if (e->redact[i] || e->clean[i]) {
            s->redacted.len = 0;
            if (e->redact[i] && e->own)
                interp__redact_end(s, e->redact[i]);
            else if (e->redact[i])
                interp__redact_pause(s, e->redact[i]);
            show(s, e, i, SHOW_END);
            put_redacted(s, e, i + 1, 0);
            if (e->redact[i])
                interp__redact_counts_take(&e->counts, e->redact[i]);
            if (e->again[i])
                interp__redact_counts_take(&e->counts, e->again[i]);
        }
    gap(s, e, INTERP_STREAM_STDOUT, e->offset[0]);
    gap(s, e, INTERP_STREAM_STDERR, e->offset[1]);
    e->result = NULL;
    for (int i = 0; i < 2; i++) {
        struct interp__spill *d = &e->spill[i];
        if (*s->v.spill_dir && !e->own && d->fd < 0 && !d->failed && interp__stream_cuts(&e->out[i]))
            spill_begin(s, e, i);
        interp__stream_finish(&e->out[i], &r->out[i]);
        r->spill[i] = *d;
        r->spill[i].mem = &r->mem;
        interp__spill_init(d, &s->mem, s->v.spill);
    }
    if (k->language->oneshot)
        interp__build_finish(s, e, r);
    if (!e->own) {
        interp__late_remember(s, e);
        interp__late_give(s, r);
    }
    interp__redact_result(s, r, &e->counts);
    if (r->outcome != INTERP_OUTCOME_OK)
        interp__hint(s, e, r);   /* out of what is redacted */
    interp__parts_shorten(r, s->v.value);
    if (!e->own)
        interp__audit_exec_end(s, e, r);
    if (k->current == e)
        k->current = NULL;
    if (k->queued == e)
        k->queued = NULL;
    c->result = r;
    c->exec = NULL;
    int own = e->own;
    if (!own)
        interp__call_done(c, NULL);
    interp__exec_free(s, e);
    if (k->queued && !k->queued->screening && !k->current && !s->gone && !k->stopping) {
        k->current = k->queued;
        k->queued = NULL;
        k->doomed = 0;   /* somebody wants it again */
        interp__exec_send(s, k->current);
    } else if (k->language->oneshot && !k->current && k->state == INTERP__KERNEL_DEAD && started && !s->gone && !k->stopping && !k->doomed) {
        k->env_version = s->env_version;
        interp__kernel_start(s, k, READY_NS);   /* takes away what was built, and is there for the next exec */
        interp__session_flush(s);
    }
    if (own)
        interp__probe_ended(s, c, k);
    interp__kernel_forget(s, k);
    if (c->abandoned && c->done)
        interp__session_drop_call(s, c);
}

void interp__exec_finish(struct interp_session *s, struct interp__exec *e)
{
    finish(s, e);
}

void interp__exec_end(struct interp_session *s, struct interp__exec *e, int32_t outcome, const char *cause, int32_t state, int32_t ran)
{
    interp_result *r = e->result;
    if (e->exited) {   /* it has its outcome */
        r->state = state;
        interp__changes_end(e, 0);
        finish(s, e);
        return;
    }
    r->outcome = outcome;
    r->cause = cause;
    r->state = state;
    r->ran = ran;
    r->claimed_by = "host";
    if (e->sent)   /* else no signal of ours can have been sent */
        r->interrupted = e->cancelled ? "cancel" : outcome == INTERP_OUTCOME_TIMEOUT && !s->outlived ? cause : r->interrupted;
    r->wall_ns = interp__now() - e->started;
    finish(s, e);
}

void interp__host_error(interp_result *r, const char *type, const char *message, const char *traceback)
{
    struct interp__buf b;
    size_t nm = strlen(message), nt = strlen(traceback);
    interp__buf_init(&b, &r->mem);
    interp__buf_fmt(&b, "{\"type\":\"%s\",\"message\":", type);
    interp__json_text(&b, message, nm);
    interp__buf_str(&b, ",\"line\":null,\"column\":null,\"frames\":[],\"traceback\":");
    interp__json_text(&b, traceback, nt);
    interp__buf_str(&b, ",\"hint\":null}");
    interp__buf_add(&b, "", 1);
    if (b.bad) {
        interp__buf_free(&b);
        return;
    }
    interp__free(&r->mem, r->error_json);
    r->error_json = (char *)b.p;
    r->error_type = interp__strndup(&r->mem, type, r->type_len = strlen(type));
    r->error_message = interp__strndup(&r->mem, message, r->message_len = nm);
    r->error_traceback = interp__strndup(&r->mem, traceback, r->traceback_len = nt);
}

void interp__exec_deny(struct interp_session *s, struct interp__exec *e, const char *rule, const char *reason, const char *what, uint32_t line)
{
    interp_result *r = e->result;
    struct interp__buf b;
    interp__buf_init(&b, &r->mem);
    interp__buf_str(&b, "{\"rule\":");
    interp__json_text(&b, rule, strlen(rule));
    interp__buf_str(&b, ",\"reason\":");
    interp__json_text(&b, reason, strlen(reason));
    interp__buf_str(&b, ",\"what\":");
    if (what)
        interp__json_text(&b, what, strlen(what));
    else
        interp__buf_str(&b, "null");
    if (line)
        interp__buf_fmt(&b, ",\"line\":%u}", line);
    else
        interp__buf_str(&b, ",\"line\":null}");
    interp__buf_add(&b, "", 1);
    if (b.bad)
        interp__buf_free(&b);
    r->denied = (char *)b.p;
    interp__host_error(r, "Denied", reason, "");
    interp__exec_end(s, e, INTERP_OUTCOME_DENIED, rule, INTERP_STATE_PRESERVED, 0);
}

const char *interp__session_path(const struct interp_session *s)
{
    const char *path = "PATH=";
    for (int i = 0; interp__base_env[i]; i++)
        if (!strncmp(interp__base_env[i], "PATH=", 5))
            path = interp__base_env[i];
    for (size_t at = 0; at < s->env.text.len; at += strlen((char *)s->env.text.p + at) + 1)
        if (!strncmp((char *)s->env.text.p + at, "PATH=", 5))
            path = (char *)s->env.text.p + at;
    return path + 5;
}

void interp__exec_not_run(struct interp_session *s, struct interp__exec *e, const char *cause, const char *type, const char *message)
{
    interp__host_error(e->result, type, message, "");
    interp__exec_end(s, e, INTERP_OUTCOME_ERROR, cause, INTERP_STATE_PRESERVED, 0);
}

static void no_terminal(struct interp__exec *e)
{
    interp_result *r = e->result;
    r->ran = 0;
    r->outcome = INTERP_OUTCOME_ERROR;
    r->cause = "pty";
    r->state = INTERP_STATE_PRESERVED;
    interp__host_error(r, "NoTerminal", "no pseudo-terminal can be had in this sandbox: /dev/ptmx is missing there, closed, or all of them are in use", "");
}

/* The kernel did not start: the agent said why in KERNEL_READY. */
static void not_run(struct interp_session *s, struct interp__exec *e)
{
    struct interp__kernel *k = e->kernel;
    const struct interp__language *l = k->language;
    interp_result *r = e->result;
    const char *said = k->ready_text ? k->ready_text : "";
    char text[768];
    r->state = INTERP_STATE_RESET;
    r->ran = 0;
    r->outcome = INTERP_OUTCOME_ERROR;
    r->cause = "interpreter";
    switch (k->ready_status) {
    case WIRE_READY_MISSING: {
        size_t n = (size_t)snprintf(text, sizeof text, "no interpreter for %s: looked for", l->name);
        const struct interp__interpreter *own = s->files.interpreters;
        while (own && own->language != l)
            own = own->next;
        if (own) {
            snprintf(text + n, sizeof text - n, " %s, which the config names, inside the sandbox; name one that is there and that the sandbox's user may run", own->path);
            interp__host_error(r, "InterpreterNotFound", text, "");
            break;
        }
        for (int i = 0; l->candidates[i]; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %s", i ? "," : "", l->candidates[i]);
        snprintf(text + n, sizeof text - n, " in %.400s inside the sandbox; install %s%s", interp__session_path(s), l->minimum, strpbrk(l->minimum, "0123456789") ? " or newer" : "");
        interp__host_error(r, "InterpreterNotFound", text, "");
        break;
    }
    case WIRE_READY_LIMIT:
        r->outcome = INTERP_OUTCOME_LIMIT;
        r->cause = "pids";
        snprintf(text, sizeof text, "the sandbox's limit on processes kept the %s kernel from starting; end background processes or raise pids", l->name);
        interp__host_error(r, "LimitReached", text, "");
        break;
    case WIRE_READY_TIMEOUT:
        r->outcome = INTERP_OUTCOME_TIMEOUT;
        r->cause = r->interrupted = "wall";
        break;
    case WIRE_READY_PROTOCOL:
        r->outcome = INTERP_OUTCOME_CRASHED;
        r->cause = "protocol";
        break;
    case WIRE_READY_FAILED:
        if (k->ready_exit == 97)
            snprintf(text, sizeof text, "the %s interpreter found is too old: %s or newer is needed", l->name, l->minimum);
        else if (k->ready_signal > 0) {
            const char *sig = interp__signal_name(k->ready_signal);
            snprintf(text, sizeof text, "the %s interpreter ended by %s before it was ready", l->name, sig ? sig : "a signal");
            r->signal = k->ready_signal;
        } else
            snprintf(text, sizeof text, "the %s interpreter ended with code %d before it was ready", l->name, (int)k->ready_exit);
        interp__host_error(r, "InterpreterFailed", text, said);
        break;
    default:   /* the kernel had died before; the next exec starts one */
        r->outcome = INTERP_OUTCOME_CRASHED;
        r->cause = "";
    }
}

static void guest_word(struct interp__exec *e, uint8_t word, uint8_t interrupted)
{
    interp_result *r = e->result;
    r->claimed_by = "guest";
    r->state = INTERP_STATE_PRESERVED;
    /* A shell whose command died of our signal just before its own was heard says so with 128 + SIGINT, and so does a script that passes an interrupt on. */
    if (interrupted && e->kernel->language->kind == WIRE_KIND_SCRIPT && r->exit_code == 128 + SIGINT)
        word = WIRE_WORD_INTERRUPTED;
    switch (word) {
    case WIRE_WORD_OK: case WIRE_WORD_EXIT:
        if (r->exit_code == INTERP_NONE)
            r->exit_code = 0;
        r->outcome = r->exit_code == 0 ? INTERP_OUTCOME_OK : INTERP_OUTCOME_ERROR;
        break;
    case WIRE_WORD_INTERRUPTED:
        if (interrupted == WIRE_CAUSE_SIGNAL) {   /* a signal of the host's, which the code did not catch */
            r->outcome = INTERP_OUTCOME_ERROR;
            break;
        }
        r->outcome = interrupted == WIRE_CAUSE_CANCEL ? INTERP_OUTCOME_CANCELLED : INTERP_OUTCOME_TIMEOUT;
        r->claimed_by = "host";   /* the deadline or the cancel was ours; the agent takes this word only after its signal */
        break;
    default:
        if (r->exit_code == INTERP_NONE || r->exit_code == 0)
            r->exit_code = 1;
        r->outcome = INTERP_OUTCOME_ERROR;
    }
}

void interp__exec_exit(struct interp_session *s, struct interp__exec *e, const struct wire_exit *m)
{
    static const char *const causes[] = { "", "wall", "cpu", "idle_output", "cancel", "signal" };
    interp_result *r = e->result;
    struct interp__kernel *k = e->kernel;
    uint8_t interrupted = m->interrupted <= WIRE_CAUSE_SIGNAL ? m->interrupted : WIRE_CAUSE_NONE;
    int ended = interrupted && interrupted != WIRE_CAUSE_SIGNAL;   /* by a deadline or a cancel */
    int script = k->language->kind == WIRE_KIND_SCRIPT;
    int32_t lost_state = script && k->had_exec ? INTERP_STATE_RESTORED : INTERP_STATE_RESET;
    r->interrupted = causes[interrupted];
    r->ran = m->flags & WIRE_EXIT_RAN ? 1 : 0;
    r->wall_ns = interp__now() - e->started;
    r->cpu_ns = m->cpu_ns;
    r->memory_peak = m->memory_peak;
    r->oom_kills = m->oom_kills;
    r->limits_hit = m->limits_hit;
    r->claimed_by = "host";
    if (!(m->flags & WIRE_EXIT_RAN))
        k->env_version = 0;   /* it may not have got that far: the next one brings it again */
    if (m->how != WIRE_HOW_FINAL || e->broken)
        r->exit_code = INTERP_NONE;
    switch (e->broken ? WIRE_HOW_PROTOCOL : m->how) {
    case WIRE_HOW_FINAL:
        guest_word(e, m->status, interrupted);
        break;
    case WIRE_HOW_DIED:
        r->state = m->flags & WIRE_EXIT_SAVED ? INTERP_STATE_PRESERVED : lost_state;
        r->outcome = INTERP_OUTCOME_CRASHED;
        if (m->signal > 0)
            r->signal = m->signal;
        else
            r->exit_code = m->exit_code;
        if (m->oom_kills && m->signal == 9)
            r->outcome = INTERP_OUTCOME_OOM, r->cause = "memory";
        else if (m->signal == 25)
            r->outcome = INTERP_OUTCOME_LIMIT, r->cause = "file_size";
        else if (ended)   /* our signal ended it: an interpreter that does not catch SIGINT */
            r->outcome = interrupted == WIRE_CAUSE_CANCEL ? INTERP_OUTCOME_CANCELLED : INTERP_OUTCOME_TIMEOUT;
        else if (script && m->signal <= 0)   /* exec cmd, set -e: the shell's own end is the exec's */
            r->outcome = m->exit_code == 0 ? INTERP_OUTCOME_OK : INTERP_OUTCOME_ERROR;
        break;
    case WIRE_HOW_KILLED:
        r->state = lost_state;
        if (m->flags & WIRE_EXIT_WATCH)
            r->outcome = INTERP_OUTCOME_OOM, r->cause = "memory";
        else
            r->outcome = interrupted == WIRE_CAUSE_CANCEL ? INTERP_OUTCOME_CANCELLED : INTERP_OUTCOME_TIMEOUT;
        break;
    case WIRE_HOW_NOT_RUN:
        if (m->flags & WIRE_EXIT_NO_PTY)
            no_terminal(e);
        else
            not_run(s, e);
        break;
    case WIRE_HOW_STOPPED:
        r->outcome = INTERP_OUTCOME_CANCELLED;
        r->state = INTERP_STATE_RESET;
        break;
    default:
        r->outcome = INTERP_OUTCOME_CRASHED;
        r->cause = "protocol";
        r->state = e->broken ? INTERP_STATE_RESET : lost_state;
    }
    if (r->outcome == INTERP_OUTCOME_TIMEOUT && !*r->cause)
        r->cause = ended && interrupted != WIRE_CAUSE_CANCEL ? causes[interrupted] : "wall";
    if (m->kernel_state != WIRE_KERNEL_ALIVE) {
        k->state = INTERP__KERNEL_DEAD;
        if (r->state == INTERP_STATE_PRESERVED)   /* it gave its word and was gone before the exec's end */
            r->state = lost_state;
    }
    if (k->language->oneshot)
        interp__build_exit(s, e, m);
    if (m->how == WIRE_HOW_FINAL || m->flags & WIRE_EXIT_SAVED)   /* what a shell saved is there for the next one */
        k->had_exec = 1;
    if (m->kernel_state == WIRE_KERNEL_UNPROVEN) {
        /* its processes may live on: nothing less than the end of the sandbox is an end of this exec */
        r->state = INTERP_STATE_GONE;
        finish(s, e);
        interp_error *why = NULL;
        interp__fail(&s->mem, &why, INTERP_E_CLOSED, "kill-unproven", "a kernel's processes could not be verified gone; the sandbox has been ended");
        interp__session_gone(s, why);
        return;
    }
    if (!interp__changes_after(s, e))
        finish(s, e);
}
