/* kernels.c - the kernels of a session as the host sees them: a list of them, restart, delete */
#include "core.h"
#include <inttypes.h>
#include <string.h>

#define STOP_NS UINT64_C(10000000000)   /* beside what a kill may take */

/* Both end the kernel's tree; the call is done when the agent has proved it. */
static interp_status stop_start(interp_session *s, const char *language, const char *kernel, int32_t kind, interp_call **call, interp_error **err)
{
    const char *what = kind == INTERP_CALL_RESTART ? "interp_session_restart_start" : "interp_session_kernel_delete_start";
    interp_status st = interp__session_enter(s, err);
    if (st)
        return st;
    const struct interp__language *l = NULL;
    struct interp__kernel *k = NULL;
    struct interp_call *c = NULL;
    if (!language || !call)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "%s: %s is NULL", what, language ? "call" : "language");
    if (!st)
        st = interp__session_usable(s, err);
    if (!st)
        st = interp__language_find(s, language, &l, err);
    if (!st && (!(k = interp__kernel_find(s, l, kernel ? kernel : "default")) || k->hidden))
        st = interp__fail(&s->mem, err, INTERP_E_NOT_FOUND, "kernel-unknown", "no kernel \"%.64s\" of %s has been started in this session", kernel ? kernel : "default", l->name);
    if (!st && !(c = interp__call_new(s, kind, NULL)))
        st = interp__nomem(err);
    if (!st) {
        c->kernel = k;
        c->deadline = interp__killed_by(s, interp__after(interp__now(), STOP_NS));
        k->doomed = kind == INTERP_CALL_KERNEL_DELETE;
        if (!k->stopping) {
            interp__audit_kill(s, k->current, "kernel", k->doomed ? "delete" : "restart");
            interp__kernel_stop(s, k);
            if (k->current && !k->current->sent)   /* its files are still on their way */
                interp__exec_end(s, k->current, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_RESET, 0);
        }
        interp__session_flush(s);
        *call = c;
        interp__loop_poke(&s->ctx->loop);
    }
    interp__session_leave(s);
    return st;
}

interp_status interp_session_restart_start(interp_session *s, const char *language, const char *kernel, interp_call **call, interp_error **err)
{
    return stop_start(s, language, kernel, INTERP_CALL_RESTART, call, err);
}
interp_status interp_session_kernel_delete_start(interp_session *s, const char *language, const char *kernel, interp_call **call, interp_error **err)
{
    return stop_start(s, language, kernel, INTERP_CALL_KERNEL_DELETE, call, err);
}

static interp_status stop(interp_session *s, const char *language, const char *kernel, int32_t kind, interp_error **err)
{
    interp_call *call;
    interp_status st = s ? interp__loop_refuse(s->ctx, err) : interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the session is NULL");
    if (!st)
        st = stop_start(s, language, kernel, kind, &call, err);
    return st ? st : interp__call_complete(call, NULL, NULL, err);
}
interp_status interp_session_restart(interp_session *s, const char *language, const char *kernel, interp_error **err)
{
    return stop(s, language, kernel, INTERP_CALL_RESTART, err);
}
interp_status interp_session_kernel_delete(interp_session *s, const char *language, const char *kernel, interp_error **err)
{
    return stop(s, language, kernel, INTERP_CALL_KERNEL_DELETE, err);
}

/* ---- the list */

static void text_or_null(struct interp__buf *b, const char *name, const char *text)
{
    interp__buf_fmt(b, ",\"%s\":", name);
    if (text)
        interp__json_text(b, text, strlen(text));
    else
        interp__buf_str(b, "null");
}

static void one(struct interp__buf *b, const struct interp__kernel *k)
{
    const char *state = k->stopping ? "stopping" : k->state == INTERP__KERNEL_STARTING ? "starting" : k->current ? "busy" : k->state == INTERP__KERNEL_ALIVE ? "idle" : "ended";
    interp__buf_fmt(b, "%s{\"language\":\"%s\",\"kernel\":", b->len > 1 ? "," : "", k->language->name);
    interp__json_text(b, k->name, strlen(k->name));
    interp__buf_fmt(b, ",\"state\":\"%s\",\"exec\":", state);
    if (k->current && !k->current->own)
        interp__buf_fmt(b, "%" PRIu64, k->current->number);
    else
        interp__buf_str(b, "null");
    text_or_null(b, "version", k->version);
    text_or_null(b, "path", k->path);
    interp__buf_str(b, "}");
}

const char *interp_session_kernels_json(interp_session *s, size_t *len)
{
    if (len)
        *len = 2;
    if (interp__session_enter(s, NULL))
        return "[]";
    struct interp__buf *b = &s->kernels_json;
    interp__buf_free(b);
    interp__buf_str(b, "[");
    for (uint16_t id = 1; id <= INTERP__KERNELS_MAX; id++)
        for (const struct interp__kernel *k = s->kernels; k; k = k->next)
            if (k->id == id && !k->hidden && !s->gone)
                one(b, k);
    interp__buf_str(b, "]");
    const char *text = interp__buf_text(b);
    if (text && len)
        *len = b->len;
    interp__session_leave(s);
    return text ? text : "[]";
}
