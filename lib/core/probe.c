/* probe.c - a look at what there is in a sandbox: a script of ours in a kernel of its own, as the user, under the bounds of any exec */
#include "blobs.h"
#include "core.h"
#include <string.h>

#define HIDDEN "\001probe"             /* no name that a request can have */
enum { TIMEOUT_MS = 8000, GRACE_MS = 1000, OUT_MAX = 1 << 20 };

static void add_blob(struct interp__buf *b, const uint8_t *p, const uint8_t *end)
{
    interp__buf_add(b, p, (size_t)(end - p));
}

static void put_script(struct interp__buf *b, const struct interp__probe *p)
{
    static const char mark[] = "@PYTHON@\n";
    if (p->shell) {
        interp__facts_dirs(p->facts, b);
        add_blob(b, interp__blob_probe_quick, interp__blob_probe_quick_end);
    }
    if (p->shell && p->full) {
        const uint8_t *at = memmem(interp__blob_probe_sh, (size_t)(interp__blob_probe_sh_end - interp__blob_probe_sh), mark, sizeof mark - 1);
        add_blob(b, interp__blob_probe_sh, at);
        add_blob(b, interp__blob_probe_py, interp__blob_probe_py_end);
        add_blob(b, at + sizeof mark - 1, interp__blob_probe_sh_end);
    } else if (!p->shell)
        add_blob(b, interp__blob_probe_py, interp__blob_probe_py_end);
}

/* Starts a script for the call, which has none. */
static interp_status run(struct interp_session *s, struct interp_call *c, interp_error **err)
{
    struct interp__probe *p = s->probe;
    const struct interp__language *l = interp__language_stateful(p->shell ? "sh" : "python");
    struct interp__kernel *k = interp__kernel_find(s, l, HIDDEN);
    interp_request r = { .ctx = s->ctx };
    if (!k && !(k = interp__kernel_add(s, l, HIDDEN)))
        return interp__fail(&s->mem, err, INTERP_E_LIMIT, "kernels", "the session has no room for the kernel that a probe needs: delete one");
    k->hidden = 1;
    interp__buf_init(&r.code, &s->mem);
    interp__buf_init(&r.input, &s->mem);
    interp__buf_init(&r.options, &s->mem);
    interp__buf_init(&r.env.text, &s->mem);
    put_script(&r.code, p);
    if (interp__request_defaults(&r.v, &s->mem) == INTERP_OK) {
        r.v.timeout = TIMEOUT_MS, r.v.grace = GRACE_MS, r.v.cpu_time = r.v.idle_output = INTERP_FOREVER;
        r.v.timeout_set = r.v.grace_set = r.v.cpu_time_set = r.v.idle_output_set = 1;
        c->exec = r.code.bad ? NULL : interp__exec_new(s, &r, k, c, err);
    }
    interp__buf_free(&r.code);
    interp__request_clear(&r.v, &s->mem);
    struct interp__exec *e = c->exec;
    if (!e)
        return err && *err ? interp_error_code(*err) : interp__nomem(err);
    e->own = 1;
    e->number = 0;
    s->execs--;
    interp__stream_free(&e->out[0]);
    interp__stream_init(&e->out[0], &s->mem, OUT_MAX, 64, 0);
    k->doomed = 0;
    if (k->current || k->stopping)
        k->queued = e;
    else {
        k->current = e;
        interp__exec_send(s, e);
    }
    return INTERP_OK;
}

static void tell(struct interp_session *s, int complete)
{
    struct interp__probe *p = s->probe;
    interp__buf_free(&p->json);
    interp__buf_free(&p->text);
    interp__facts_json(p->facts, s, complete, &p->json);
    interp__facts_text(p->facts, s, &p->text);
    if (!interp__buf_text(&p->json))
        interp__buf_free(&p->json);
    if (!interp__buf_text(&p->text))
        interp__buf_free(&p->text);
    p->sent = complete ? s->peer.sent : s->peer.sent - 1;   /* what is not complete is looked at again */
}

void interp__probe_ended(struct interp_session *s, struct interp_call *c, struct interp__kernel *k)
{
    struct interp__probe *p = s->probe;
    interp_result *r = c->result;
    interp_error *err = NULL;
    const struct interp__kept *out = &r->out[0];
    int again = 0, missing = !strcmp(r->cause, "interpreter"), ok = r->outcome == INTERP_OUTCOME_OK && !out->truncated;
    c->result = NULL;
    if (s->gone)
        err = interp__error_copy(&s->mem, s->gone);
    else if (r->outcome == INTERP_OUTCOME_CANCELLED)
        interp__fail(&s->mem, &err, INTERP_E_CANCELLED, "cancelled", "the probe was cancelled");
    else {
        if (missing && p->shell)   /* an image without a shell may have a Python */
            p->shell = 0, p->full = 1, again = 1;
        else if (!p->full && !interp__facts_same(p->facts, out->head, out->head_len))
            p->full = 1, again = 1;
        else
            interp__facts_read(p->facts, out->head, out->head_len, p->full);
        if (!k->queued && !k->stopping) {   /* it must not stay among what the user has */
            k->doomed = 1;
            interp__kernel_stop(s, k);
        }
        if (again && run(s, c, &err) == INTERP_OK) {
            interp_result_free(r);
            return;
        }
        if (!again)
            tell(s, ok || missing);
    }
    interp_result_free(r);
    interp__call_done(c, err);
}

void interp__probe_free(struct interp_session *s)
{
    struct interp__probe *p = s->probe;
    if (!p)
        return;
    interp__facts_free(p->facts);
    interp__buf_free(&p->json);
    interp__buf_free(&p->text);
    interp__free(&s->mem, p);
    s->probe = NULL;
}

static interp_status ready(struct interp_session *s, interp_error **err)
{
    if (s->probe)
        return INTERP_OK;
    struct interp__probe *p = interp__alloc(&s->mem, sizeof *p);
    if (!p || !(p->facts = interp__facts_new(&s->mem))) {
        interp__free(&s->mem, p);
        return interp__nomem(err);
    }
    interp__buf_init(&p->json, &s->mem);
    interp__buf_init(&p->text, &s->mem);
    s->probe = p;
    return INTERP_OK;
}

interp_status interp_session_probe_start(interp_session *s, interp_call **call, interp_error **err)
{
    interp_status st = interp__session_enter(s, err);
    if (st)
        return st;
    struct interp_call *c = NULL;
    if (!call)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "interp_session_probe_start: call is NULL");
    if (!st)
        st = interp__session_usable(s, err);
    for (const struct interp_call *o = s->calls; o && !st; o = o->next)
        if (o->kind == INTERP_CALL_PROBE && !o->done)
            st = interp__fail(&s->mem, err, INTERP_E_BUSY, "probe", "a probe of this session is in flight");
    if (!st)
        st = ready(s, err);
    if (!st && !(c = interp__call_new(s, INTERP_CALL_PROBE, NULL)))
        st = interp__nomem(err);
    if (!st) {
        struct interp__probe *p = s->probe;
        if (p->json.len && p->sent == s->peer.sent) {   /* nothing has been asked of the sandbox since */
            tell(s, 1);
            interp__call_done(c, NULL);
        } else {
            p->full = !p->json.len || !p->shell;
            p->shell = 1;
            st = run(s, c, err);
        }
        if (st) {
            interp__session_drop_call(s, c);
            interp__call_unref(c);
        } else {
            interp__session_flush(s);
            *call = c;
            interp__loop_poke(&s->ctx->loop);
        }
    }
    interp__session_leave(s);
    return st;
}

interp_status interp_session_probe(interp_session *s, interp_error **err)
{
    interp_call *call;
    interp_status st = s ? interp__loop_refuse(s->ctx, err) : interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the session is NULL");
    if (!st)
        st = interp_session_probe_start(s, &call, err);
    return st ? st : interp__call_complete(call, NULL, NULL, err);
}

static const char *text_of(const struct interp__buf *b, const char *none, size_t *len)
{
    if (len)
        *len = b && b->len ? b->len : strlen(none);
    return b && b->len ? (const char *)b->p : none;
}
const char *interp_session_probe_json(const interp_session *s, size_t *len)
{
    return text_of(s && s->probe ? &s->probe->json : NULL, "{}", len);
}
const char *interp_session_probe_text(const interp_session *s, size_t *len)
{
    return text_of(s && s->probe ? &s->probe->text : NULL, "", len);
}
