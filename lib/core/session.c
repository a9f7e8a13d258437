/* session.c - sessions: open, exec, close, and the blocking forms, which are start + wait + finish and nothing else */
#include "oneshot.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int is_loop(const struct interp_session *s)
{
    return (s->ctx->flags & INTERP_CTX_LOOP) != 0;
}

int interp__session_take(struct interp_session *s, int wait)
{
    if (is_loop(s))
        return interp__enter(&s->ctx->guard);
    if (interp__turn_take(&s->turn, wait))
        return -1;
    s->shared |= s->sleeper != NULL;
    return 0;
}

/* 1: s is over with that, and may be gone. */
static int let_go(struct interp_session *s)
{
    if (interp__session_unneeded(s)) {
        interp__session_end(s, 1);
        return 1;
    }
    if (is_loop(s)) {
        interp__leave(&s->ctx->guard);
        return 0;
    }
    if (s->sleeper && interp__session_due(s) < s->until)
        interp__call_ring(s->sleeper);
    interp__turn_end(&s->turn);
    return 0;
}

interp_status interp__session_enter(struct interp_session *s, interp_error **err)
{
    if (!s)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the session is NULL");
    interp_status st = interp__ctx_check(s->ctx, err);
    if (!st && interp__session_take(s, 1))
        st = interp__fail(&s->mem, err, INTERP_E_BUSY, "thread", "another thread is driving this context");
    return st;
}
/* Whoever is inside may be past its look at the session, and its host may never come back: so it looks again when it has let go. */
static void see_to_marks(struct interp_session *s)
{
    atomic_thread_fence(memory_order_seq_cst);   /* our leaving, or the mark, is seen before we look */
    while (atomic_load(&s->marked) && !(is_loop(s) ? interp__enter_ours(&s->ctx->guard) : interp__turn_take(&s->turn, 0))) {
        atomic_store(&s->marked, 0);
        interp__session_drive(s, interp__now());
        if (let_go(s))
            return;
        atomic_thread_fence(memory_order_seq_cst);
    }
}
void interp__session_leave(struct interp_session *s)
{
    if (!let_go(s))
        see_to_marks(s);
}
void interp__session_mark(struct interp_session *s)
{
    atomic_store(&s->marked, 1);
    see_to_marks(s);
    interp__ctx_wake(s->ctx);
}
static void leave(struct interp_session *s)
{
    interp__session_leave(s);
}

/* ---- life */

void interp__session_unref(struct interp_session *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    interp_ctx *x = s->ctx;
    while (s->kernels) {
        struct interp__kernel *k = s->kernels;
        s->kernels = k->next;
        interp__kernel_free(s, k);
    }
    interp__files_free(s);
    interp__late_end(s);
    interp__config_clear(&s->v, &s->mem);
    interp__wipe(s->env.text.p, s->env.text.cap);
    interp__buf_free(&s->env.text);
    interp__host_files_free(&s->files, &s->mem);
    interp__buf_free(&s->labels.text);
    interp__policy_unref(s->policy);
    interp__buf_free(&s->in);
    interp__buf_free(&s->out);
    interp__redactor_free(s->redact);
    interp__redact_set_free(s->secrets);
    interp__buf_free(&s->redacted);
    interp__buf_free(&s->info);
    interp__buf_free(&s->kernels_json);
    interp__buf_free(&s->env_names);
    interp__probe_free(s);
    interp_error_free(s->gone);
    interp__oneshots_free(&s->oneshots);
    if (!interp__forked(x))   /* there a thread that is not there any more may hold it */
        interp__turn_free(&s->turn);
    struct interp__mem m = s->mem;
    interp__free(&m, s);
    interp__ctx_unref(x);
}

static struct interp_session *first(interp_ctx *x, int unclosed)
{
    pthread_mutex_lock(&x->lock);
    struct interp_session *s = x->sessions;
    while (s && (unclosed ? atomic_load(&s->closed) : atomic_load(&s->shut)))
        s = s->next;
    if (s)
        atomic_fetch_add(&s->refs, 1);
    pthread_mutex_unlock(&x->lock);
    return s;
}

struct interp_session *interp__session_unshut(interp_ctx *x)
{
    return first(x, 0);
}
struct interp_session *interp__session_unclosed(interp_ctx *x)
{
    return first(x, 1);
}

static void leave_list(struct interp_session *s)
{
    interp_ctx *x = s->ctx;
    pthread_mutex_lock(&x->lock);
    for (struct interp_session **p = &x->sessions; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    pthread_mutex_unlock(&x->lock);
}

void interp__session_drop_call(struct interp_session *s, struct interp_call *c)
{
    for (struct interp_call **p = &s->calls; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            interp__file_leave(c);
            c->session = NULL;
            interp__call_unref(c);
            interp__peer_rest(s);
            return;
        }
}

void interp__session_gone(struct interp_session *s, interp_error *why)
{
    if (s->gone) {
        interp_error_free(why);
        return;
    }
    int shut = atomic_load(&s->shut);
    s->gone = why ? why : interp__error_copy(&s->mem, NULL);
    if (s->audit && !s->unseen) {
        int runs = 0;
        for (struct interp_call *c = s->calls; c; c = c->next)
            runs |= c->exec && c->exec->sent && !c->done;
        if (!s->welcomed)
            interp__audit_opened(s, s->gone, NULL);
        else if (!shut)
            interp__audit_error(s, s->gone);
        if (s->welcomed && (runs || !shut))
            interp__audit_kill(s, NULL, "sandbox", interp_error_reason(s->gone));
    }
    atomic_store(&s->status, shut ? INTERP_SESSION_SHUTDOWN : INTERP_SESSION_GONE);
    if (!shut && s->welcomed && !s->unseen)
        interp__notice_gone(s);
again:
    for (struct interp_call *c = s->calls; c; c = c->next) {
        if (c->done)
            continue;
        struct interp__exec *e = c->exec;
        if (e) {
            if (shut || (e->cancelled && (e->timed_out || !e->sent)))
                interp__exec_end(s, e, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_GONE, e->sent ? INTERP_NONE : 0);
            else if (e->broken)
                interp__exec_end(s, e, INTERP_OUTCOME_CRASHED, "protocol", INTERP_STATE_GONE, INTERP_NONE);
            else if (s->outlived)
                interp__exec_end(s, e, INTERP_OUTCOME_TIMEOUT, "lifetime", INTERP_STATE_GONE, e->sent ? INTERP_NONE : 0);
            else if (e->timed_out)
                interp__exec_end(s, e, INTERP_OUTCOME_TIMEOUT, e->timed_out > 1 ? "idle_output" : "wall", INTERP_STATE_GONE, INTERP_NONE);
            else
                interp__exec_end(s, e, INTERP_OUTCOME_LOST, interp_error_code(s->gone) == INTERP_E_PROTOCOL ? "protocol" : interp_error_code(s->gone) == INTERP_E_NOMEM ? "memory" : "stream", INTERP_STATE_GONE, e->sent ? INTERP_NONE : 0);
            goto again;   /* the list may have changed */
        }
        if (c->kind != INTERP_CALL_CLOSE)
            interp__call_done(c, interp__error_copy(&s->mem, s->gone));
    }
    interp__files_free(s);
    for (struct interp__kernel *k = s->kernels; k; k = k->next)
        k->state = INTERP__KERNEL_DEAD;
    s->out.len = s->out_at = s->nlent = 0;
    if (s->link)
        interp__link_close(s->link);
}

void interp__session_outlived(struct interp_session *s)
{
    interp_error *why = NULL;
    interp__fail(&s->mem, &why, INTERP_E_CLOSED, "lifetime", "the session has reached its session_lifetime_ms and has ended; open a new one");
    s->outlived = 1;
    interp__session_gone(s, why);
}

void interp__session_info(struct interp_session *s)
{
    struct interp__buf *b = &s->info;
    interp__buf_free(b);
    interp__buf_fmt(b, "{\"session\":\"%s\",\"backend\":", s->id);
    interp__json_text(b, s->link->backend->name, strlen(s->link->backend->name));
    interp__buf_fmt(b, ",\"arch\":\"%s\",\"isolation\":", s->welcome.arch == WIRE_ARCH_AARCH64 ? "aarch64" : "x86_64");
    static const char *const levels[] = { "full", "namespaces", "landlock", "process" };
    const char *level = NULL;
    for (int i = 0; i < 4 && !level; i++)
        if (interp__link_reached_is(s->link, "isolation", levels[i]))
            level = levels[i];
    if (level)
        interp__buf_fmt(b, "\"%s\"", level);
    else
        interp__buf_str(b, "null");
    interp__buf_fmt(b, ",\"redaction\":%s,\"reached\":%s}", s->v.redact_off ? "false" : "true", s->link->reached ? s->link->reached : "{}");
    if (!interp__buf_text(b))
        interp__buf_free(b);   /* nothing is better than a part of it */
}

/* ---- open */

static uint32_t level_of(const char *name)
{
    return !strcmp(name, "full") ? INTERP_ISOLATION_FULL : !strcmp(name, "namespaces") ? INTERP_ISOLATION_NAMESPACES : !strcmp(name, "landlock") ? INTERP_ISOLATION_LANDLOCK : INTERP_ISOLATION_PROCESS;
}

static interp_status settle_values(struct interp_session *s, interp_error **err)
{
    struct interp__config_values *v = &s->v;
    if (!v->workspace_set && v->workspace > v->memory / 2)
        v->workspace = v->memory / 2;
    if (v->workspace_set && v->memory_set && v->workspace > v->memory)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "option-range", "workspace_bytes (%" PRIu64 ") is larger than memory_bytes (%" PRIu64 "): files of the workspace are memory", v->workspace, v->memory);
    if (v->workspace_set && !v->memory_set && v->workspace > v->memory)
        v->memory = v->workspace * 2;
    if (!v->file_set)
        v->file = v->workspace;
    if (v->screen && v->screen_timeout >= v->session_idle)   /* the agent hears nothing while the host thinks */
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "option-range", "screen_timeout_ms is not below session_idle_ms: the sandbox would end itself while the host is asked");
    if (v->tokens_set && !v->head_set)   /* as many bytes as so many tokens can have */
        v->head = interp__min(v->tokens * 3 / 4 * INTERP__TOKEN_BYTES + INTERP__TOKEN_BYTES, 64 << 20);
    if (v->tokens_set && !v->tail_set)
        v->tail = interp__min(v->tokens / 4 * INTERP__TOKEN_BYTES + INTERP__TOKEN_BYTES, 64 << 20);
    return INTERP_OK;
}

static struct interp__backend *backend_find(interp_ctx *x, const char *name)
{
    struct interp__backend *b = x->backends;
    while (b && strcmp(b->name, name))
        b = b->next;
    return b;
}

static interp_status session_new(interp_ctx *x, const interp_config *c, struct interp_session **out, interp_error **err)
{
    struct interp_session *s = interp__alloc(&x->mem, sizeof *s);
    if (!s)
        return interp__nomem(err);
    s->ctx = interp__ctx_ref(x);
    s->mem = x->mem;
    interp__turn_init(&s->turn);
    atomic_init(&s->refs, 1);
    atomic_init(&s->status, INTERP_SESSION_OPENING);
    interp__buf_init(&s->in, &s->mem);
    interp__buf_init(&s->out, &s->mem);
    interp__buf_init(&s->info, &s->mem);
    interp__buf_init(&s->kernels_json, &s->mem);
    interp__buf_init(&s->env_names, &s->mem);
    interp__buf_init(&s->redacted, &s->mem);
    s->late_counts.mem = &s->mem;
    interp__buf_init(&s->env.text, &s->mem);
    interp__buf_init(&s->labels.text, &s->mem);
    interp_status st = c ? interp__config_copy(&s->v, &c->v, &s->mem) : interp__config_defaults(&s->v, &s->mem);
    if (!st && c) {
        interp__buf_add(&s->env.text, c->env.text.p, c->env.text.len);
        s->env.count = c->env.count;
        interp__buf_add(&s->labels.text, c->labels.text.p, c->labels.text.len);
        s->labels.count = c->labels.count;
        s->policy = interp__policy_ref(c->policy);
        st = s->env.text.bad || s->labels.text.bad || interp__host_files_copy(&s->files, &c->files, &s->mem) ? INTERP_E_NOMEM : INTERP_OK;
    }
    if (!st && c && c->languages) {
        st = interp__oneshots_new(&s->mem, c->languages, &s->oneshots, err);
        if (st) {
            interp__session_unref(s);
            return st;
        }
    }
    if (st)
        interp__nomem(err);
    else if (interp__random(s->id_bytes, WIRE_ID))
        st = interp__fail(&s->mem, err, INTERP_E_IO, "random", "no random numbers from the system");
    else if (*s->v.spill_dir && (st = interp__spill_check(s, err)))
        ;
    else if (!(st = settle_values(s, err)))
        st = interp__redactions_open(x, c ? &c->redactions : NULL, &s->v, &s->secrets, err);
    for (unsigned i = 0; i < WIRE_ID; i++)
        snprintf(s->id + 2 * i, 3, "%02x", s->id_bytes[i]);
    if (st)
        interp__session_unref(s);
    else
        *out = s;
    return st;
}

static interp_status extras_copy(struct interp_session *s, const interp_config *c, struct interp__extra **out, interp_error **err)
{
    for (const struct interp__extra *e = c ? c->extras : NULL; e; e = e->next) {
#ifndef INTERP_TESTING   /* white-box tests turn layers off by "local.testing" */
        if (!strncmp(e->key, "local.", 6))
            return interp__fail(&s->mem, err, INTERP_E_INVAL, "option-unknown", "the local backend has no option \"%s\"", e->key);
#endif
        interp_status st = interp__extra_set(out, &s->mem, e->key, e->json, strlen(e->json), err);
        if (st)
            return st;
    }
    return INTERP_OK;
}

/* kind: OPEN, or GC and PROBE, whose session nobody sees */
static interp_status link_start(interp_ctx *x, const interp_config *c, int32_t kind, interp_session **out, interp_call **call, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    if (!out || !call)
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "%s: %s is NULL", kind == INTERP_CALL_GC ? "interp_ctx_gc_start" : kind == INTERP_CALL_PROBE ? "interp_ctx_probe_start" : "interp_session_open_start", out ? "call" : "out");
    if (c && c->ctx != x)
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "the config belongs to another context");
    int loop = (x->flags & INTERP_CTX_LOOP) != 0;
    if (loop && interp__enter(&x->guard))
        return interp__fail(&x->mem, err, INTERP_E_BUSY, "thread", "another thread is driving this context");
    struct interp_session *s = NULL;
    struct interp_link *l = NULL;
    struct interp_call *k = NULL;
    st = kind == INTERP_CALL_OPEN ? interp__audit_of_config(x, c, err) : INTERP_OK;
    if (!st)
        st = session_new(x, c, &s, err);
    struct interp__backend *b = s ? backend_find(x, s->v.backend) : NULL;
    if (st)
        ;
    else if (!b)
        st = interp__fail(&x->mem, err, INTERP_E_NOT_FOUND, "backend-unknown", "there is no backend \"%s\" in this context", s->v.backend);
    else if (kind == INTERP_CALL_GC && !b->ops.gc)
        st = interp__fail(&x->mem, err, INTERP_E_UNSUPPORTED, "gc", "backend \"%s\" leaves nothing behind that could be collected", s->v.backend);
    else if (kind == INTERP_CALL_PROBE && !b->ops.probe)
        st = interp__fail(&s->mem, err, INTERP_E_UNSUPPORTED, "probe", "backend \"%s\" can only be tried by opening a session", s->v.backend);
    else if (!(k = interp__call_new(s, kind, c ? c->cancel : NULL)))
        st = interp__nomem(err);
    else {
        uint64_t now = interp__now();
        char owner[48];
        snprintf(owner, sizeof owner, "interp-%ld", (long)getpid());
        interp_spec spec = { .struct_size = sizeof spec, .session_id = s->id, .owner_label = owner, .memory_bytes = s->v.memory, .workspace_bytes = s->v.workspace,
                             .workspace_inodes = s->v.inodes, .file_bytes = s->v.file, .cpu_millis = (uint32_t)s->v.cpu, .pids = (uint32_t)s->v.pids,
                             .min_isolation = level_of(s->v.isolation), .descriptors = 1024,
                             .image = s->v.image, .pull = s->v.pull, .endpoint = s->v.endpoint, .runtime = s->v.runtime, .user = s->v.user,
                             .flags = (s->v.memory_set ? INTERP_SPEC_MEMORY_ASKED : 0u) | (s->v.cpu_set ? INTERP_SPEC_CPU_ASKED : 0u) | (s->v.pids_set ? INTERP_SPEC_PIDS_ASKED : 0u) |
                                      (s->v.inodes_set ? INTERP_SPEC_INODES_ASKED : 0u) | (s->v.file_set ? INTERP_SPEC_FILE_ASKED : 0u) |
                                      (s->v.workspace_set ? INTERP_SPEC_WORKSPACE_ASKED : 0u) | (s->v.pty ? INTERP_SPEC_PTY : 0u) };
        struct interp__spec_lists lists;
        interp__host_files_spec(&s->files, &lists, &spec);
        s->unseen = kind != INTERP_CALL_OPEN;
        s->open_deadline = interp__after(now, interp__ms(s->v.open_timeout));
        spec.deadline_ns = s->open_deadline;
        s->last_frame = now;
        pthread_mutex_lock(&x->lock);
        x->sealed = 1;
        s->audit = x->audit;
        if (s->v.close_timeout > x->close_timeout)
            x->close_timeout = s->v.close_timeout;
        pthread_mutex_unlock(&x->lock);
        if (interp__cancel_count(k->cancel)) {   /* fired before it began: no sandbox is made */
            interp_error *why = NULL;
            interp__fail(&s->mem, &why, INTERP_E_CANCELLED, "cancelled", "%s was cancelled", kind == INTERP_CALL_GC ? "collecting" : kind == INTERP_CALL_PROBE ? "probing" : "opening");
            interp__session_gone(s, why);
        } else {
            struct interp__extra *extras = NULL;
            st = extras_copy(s, c, &extras, err);
            if (st)
                interp__extras_free(&extras, &s->mem);
            else
                st = interp__link_open(x, s, b, kind, &spec, extras, &l, err);
            s->link = l;
        }
    }
    if (st) {
        if (k) {
            interp__session_drop_call(s, k);
            interp__call_unref(k);
        }
        if (s)
            interp__session_unref(s);
    } else {
        pthread_mutex_lock(&x->lock);
        s->next = x->sessions;
        x->sessions = s;
        pthread_mutex_unlock(&x->lock);
        *out = s;
        *call = k;
        interp__loop_poke(&x->loop);
    }
    if (loop)
        interp__leave(&x->guard);
    return st;
}

interp_status interp_session_open_start(interp_ctx *x, const interp_config *c, interp_session **out, interp_call **call, interp_error **err)
{
    return link_start(x, c, INTERP_CALL_OPEN, out, call, err);
}

interp_status interp_ctx_probe_start(interp_ctx *x, const interp_config *c, interp_call **call, interp_error **err)
{
    interp_session *unseen;
    return link_start(x, c, INTERP_CALL_PROBE, &unseen, call, err);
}

interp_status interp_ctx_gc_start(interp_ctx *x, const interp_config *c, interp_call **call, interp_error **err)
{
    interp_session *unseen;
    return link_start(x, c, INTERP_CALL_GC, &unseen, call, err);
}

/* ---- exec */

static int request_ok(struct interp_session *s, const interp_request *r, const struct interp__language **l, interp_error **err)
{
    if (!r->v.language || !*r->v.language)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "language-missing", "the request has no language: set python, javascript, bash, sh, c, go or another one");
    interp_status st = interp__language_find(s, r->v.language, l, err);
    if (st)
        return st;
    if (!r->has_code)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "code-missing", "the request has no code");
    if (r->nargs && !(*l)->oneshot)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "args", "%s has no program that could take arguments: args are for languages that run one each time, such as c", (*l)->name);
    if (r->v.pty && !s->v.pty)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "pty", "the sandbox was opened without terminals: set `pty` in the session's config, too");
    if (!r->v.pty && (r->v.pty_rows_set || r->v.pty_columns_set))
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "pty", "pty_rows and pty_columns are those of a terminal: set `pty` in the request, too");
    if (r->options.len > 2 && (*l)->oneshot)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "options", "%s has no options", (*l)->name);
    return INTERP_OK;
}

static interp_status gone_error(struct interp_session *s, interp_error **err)
{
    struct interp__fault f = { INTERP_E_CLOSED, interp_error_reason(s->gone), "open a new session", 0, 0 };
    return interp__fail_with(&s->mem, err, &f, "%s", interp_error_message(s->gone));
}

interp_status interp__session_usable(struct interp_session *s, interp_error **err)
{
    if (s->link && !s->gone) {
        /* news of the sandbox's end may be waiting */
        if (s->link->loop == &s->link->own)
            interp__loop_poll(s->link->loop, 0);
        interp__session_drive(s, interp__now());
    }
    if (s->gone)
        return gone_error(s, err);
    if (!s->welcomed)
        return interp__fail(&s->mem, err, INTERP_E_BUSY, "opening", "the session is still opening: wait for its open call");
    return INTERP_OK;
}

interp_status interp_session_exec_start(interp_session *s, const interp_request *r, interp_call **call, interp_error **err)
{
    interp_status st = interp__session_enter(s, err);
    if (st)
        return st;
    const struct interp__language *l = NULL;
    struct interp__kernel *k = NULL;
    struct interp_call *c = NULL;
    if (!r || !call)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "interp_session_exec_start: %s is NULL", r ? "call" : "the request");
    if (!st)
        st = interp__session_usable(s, err);
    if (!st)
        st = request_ok(s, r, &l, err);
    if (!st && (k = interp__kernel_find(s, l, r->v.kernel)) && (k->queued || (k->current && !k->current->call->abandoned)))
        st = interp__fail(&s->mem, err, INTERP_E_BUSY, "kernel-busy", "kernel \"%s\" of %s has an exec in flight: wait for it, cancel it, or use another kernel", k->name, l->name);
    if (!st && !k && !(k = interp__kernel_add(s, l, r->v.kernel)))
        {
        unsigned n = 0;
        for (const struct interp__kernel *o = s->kernels; o; o = o->next)
            n++;
        st = n < INTERP__KERNELS_MAX ? interp__nomem(err) : interp__fail(&s->mem, err, INTERP_E_LIMIT, "kernels", "the session has 16 kernels already: use one of them, or delete one");
    }
    if (!st && r->v.stream && r->v.hold_output)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "option-conflict", "stream and hold_output exclude each other: output goes to events, or waits for interp_call_output");
    if (!st && !(c = interp__call_new(s, INTERP_CALL_EXEC, r->cancel)))
        st = interp__nomem(err);
    if (!st && !(c->exec = interp__exec_new(s, r, k, c, err))) {
        interp__session_drop_call(s, c);
        interp__call_unref(c);
        st = err ? interp_error_code(*err) : INTERP_E_NOMEM;
    }
    if (!st && (st = interp__exec_attach(s, c->exec, r->files, err))) {
        interp__exec_free(s, c->exec);
        c->exec = NULL;
        interp__session_drop_call(s, c);
        interp__call_unref(c);
    }
    if (!st) {
        struct interp__exec *e = c->exec;
        c->cancel_seen = interp__cancel_count(c->cancel);
        if (e->streaming)
            interp__late_events(s, c);
        if (c->cancel_seen) {
            e->cancelled = 1;
            interp__exec_end(s, e, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_PRESERVED, 0);
        } else
            interp__screen(s, e, r);
        interp__files_send(s);
        interp__session_flush(s);
        *call = c;
        interp__loop_poke(&s->ctx->loop);
    }
    leave(s);
    return st;
}

/* ---- shutdown, close */

void interp_session_shutdown(interp_session *s)
{
    if (!s || interp__forked(s->ctx) || atomic_exchange(&s->shut, 1))
        return;
    int status = INTERP_SESSION_OPEN;
    if (!atomic_compare_exchange_strong(&s->status, &status, INTERP_SESSION_SHUTDOWN)) {
        status = INTERP_SESSION_OPENING;
        atomic_compare_exchange_strong(&s->status, &status, INTERP_SESSION_SHUTDOWN);
    }
    interp__session_mark(s);   /* whoever is inside does the work; if nobody is, this thread */
}

interp_status interp_session_close_start(interp_session *s, interp_call **call, interp_error **err)
{
    interp_status st = interp__session_enter(s, err);
    if (st)
        return st;
    struct interp_call *c = NULL;
    if (!call)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "interp_session_close_start: call is NULL");
    else if (!(c = interp__call_new(s, INTERP_CALL_CLOSE, NULL)))
        st = interp__nomem(err);
    else {
        atomic_store(&s->shut, 1);
        *call = c;
        if (s->link)
            interp__session_drive(s, interp__now());
        else
            interp__call_done(c, NULL);
        interp__loop_poke(&s->ctx->loop);
    }
    leave(s);
    return st;
}

void interp__session_forked(struct interp_session *s)
{
    interp_ctx *x = s->ctx;
    for (struct interp_session **p = &x->sessions; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    while (s->calls) {
        struct interp_call *c = s->calls;
        s->calls = c->next;
        interp__exec_free(s, c->exec);
        c->exec = NULL;
        interp__file_leave(c);
        c->session = NULL;
        interp__call_forked(c);
        interp__call_unref(c);
    }
    interp__link_free(s->link, 1);
    s->link = NULL;
    interp__session_unref(s);
}

/* Nobody sees it, and its only call has been freed. */
int interp__session_unneeded(const struct interp_session *s)
{
    return s->unseen && !s->over && (!s->calls || s->calls->abandoned);
}

void interp__session_end(struct interp_session *s, int inside)
{
    interp_ctx *x = s->ctx;
    s->over = 1;
    leave_list(s);
    while (s->calls) {
        struct interp_call *c = s->calls;
        if (atomic_load(&c->freed)) {
            interp__call_drop(s, c);
            continue;
        }
        if (!c->done) {   /* a CLOSE: nobody will have news of the sandbox for it any more */
            interp_error *why = NULL;
            interp__fail(&s->mem, &why, INTERP_E_TIMEOUT, "close-unverified", "the session's handle was freed before its sandbox was verified gone");
            interp__call_done(c, why);
        }
        interp__session_drop_call(s, c);
    }
    struct interp_link *l = s->link;
    interp__audit_closed(s, !l || l->closed);
    s->link = NULL;
    if (l) {
        if (l->closed || atomic_load(&x->freed))   /* without a host that drives the context nobody would reap it */
            interp__link_free(l, 0);
        else
            interp__link_orphan(l, s->v.close_timeout);
    }
    interp__loop_poke(&x->loop);
    interp__ctx_ref(x);
    if (inside && !is_loop(s))
        interp__turn_end(&s->turn);
    interp__session_unref(s);
    if (inside && x->flags & INTERP_CTX_LOOP)
        interp__leave(&x->guard);
    interp__ctx_unref(x);
}

interp_session *interp_session_close(interp_session *s)
{
    if (!s || interp__in_callback())
        return NULL;
    interp_ctx *x = s->ctx;
    if (interp__forked(x)) {
        interp__session_forked(s);
        return NULL;
    }
    int inside = !interp__session_take(s, 1);   /* exclusive by contract; in a LOOP context the loop's own thread */
    atomic_store(&s->shut, 1);
    uint64_t now = interp__now(), end = interp__after(now, interp__ms(s->v.close_timeout));
    interp__session_drive(s, now);
    /* a LOOP context finishes it in the loop, while there is one */
    while (s->link && (!(x->flags & INTERP_CTX_LOOP) || atomic_load(&x->freed)) && !s->link->closed && (now = interp__now()) < end) {
        uint64_t due = interp__session_due(s);
        interp__loop_poll(s->link->loop, due <= now ? 0 : interp__min(due, end));
        interp__session_drive(s, interp__now());
    }
    interp__session_end(s, inside);
    return NULL;
}

/* ---- blocking forms */

interp_status interp__loop_refuse(interp_ctx *x, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (!st && x->flags & INTERP_CTX_LOOP)
        st = interp__fail(&x->mem, err, INTERP_E_BUSY, "drive-mode", "this context is driven by interp_ctx_dispatch: use the _start form and the loop");
    return st;
}

/* Events are dropped, for nobody asked for them; progress counts those that tell of progress. */
interp_status interp__call_complete(struct interp_call *c, interp_result **out, uint64_t *progress, interp_error **err)
{
    interp_status st = INTERP_AGAIN, next = INTERP_AGAIN;
    const interp_event *e;
    while (next == INTERP_AGAIN && (st = interp_call_wait(c, INTERP_FOREVER, 0, err)) == INTERP_OK)
        while ((next = interp_call_next(c, &e)) == INTERP_OK)
            if (progress && interp_event_type(e) == INTERP_EV_PROGRESS)
                ++*progress;
    if (!st)
        st = next < 0 ? interp__fail(&c->ctx->mem, err, next, "thread", "another thread is using this session") : interp_call_finish(c, out, err);
    interp_call_free(c);
    return st;
}

interp_status interp_session_open(interp_ctx *x, const interp_config *c, interp_session **out, interp_error **err)
{
    interp_session *s;
    interp_call *call;
    interp_status st = interp__loop_refuse(x, err);
    if (!st && !out)
        st = interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_session_open: out is NULL");
    if (!st)
        st = interp_session_open_start(x, c, &s, &call, err);
    if (st)
        return st;
    st = interp__call_complete(call, NULL, NULL, err);
    if (st)
        interp_session_close(s);
    else
        *out = s;
    return st;
}

interp_status interp_ctx_gc(interp_ctx *x, const interp_config *c, uint64_t *removed, interp_error **err)
{
    interp_call *call;
    uint64_t n = 0;
    interp_status st = interp__loop_refuse(x, err);
    if (!st)
        st = interp_ctx_gc_start(x, c, &call, err);
    if (!st)
        st = interp__call_complete(call, NULL, &n, err);
    if (!st && removed)
        *removed = n;
    return st;
}

interp_status interp_session_exec(interp_session *s, const interp_request *r, interp_result **out, interp_error **err)
{
    interp_call *call;
    interp_status st = s ? interp__loop_refuse(s->ctx, err) : interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the session is NULL");
    if (!st && !out)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "interp_session_exec: out is NULL");
    if (!st && s->v.screen)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "screen", "this session asks before each exec: start it with interp_session_exec_start and answer its SCREEN event");
    if (!st)
        st = interp_session_exec_start(s, r, &call, err);
    if (!st && r->v.hold_output)
        (void)interp_call_output(call, INTERP_STREAM_STDOUT, INTERP_FOREVER, NULL, 0, NULL, NULL, NULL);   /* nobody will read it */
    return st ? st : interp__call_complete(call, out, NULL, err);
}

interp_status interp_session_run(interp_session *s, const char *language, const char *code, size_t len, interp_result **out, interp_error **err)
{
    interp_request *r;
    if (!s)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the session is NULL");
    interp_status st = interp_request_new(s->ctx, &r, err);
    if (st)
        return st;
    st = interp_request_set_language(r, language, err);
    if (!st)
        st = interp_request_set_code(r, code, len, err);
    if (!st)
        st = interp_session_exec(s, r, out, err);
    interp_request_free(r);
    return st;
}

/* ---- getters */

int32_t interp_session_status(const interp_session *s)
{
    return s ? atomic_load(&((interp_session *)(uintptr_t)s)->status) : INTERP_SESSION_GONE;
}
const char *interp_session_info_json(const interp_session *s, size_t *len)
{
    int has = s && s->info.len;
    if (len)
        *len = has ? s->info.len : 2;
    return has ? (const char *)s->info.p : "{}";
}
void *interp_session_userdata(const interp_session *s)
{
    return s ? s->userdata : NULL;
}
void interp_session_set_userdata(interp_session *s, void *p)
{
    if (s)
        s->userdata = p;
}
