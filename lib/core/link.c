/* link.c - the core's side of one sandbox: the services that a backend is given, and when its slots are called */
#include "core.h"
#include <stdio.h>
#include <string.h>

/* ---- services. They only mark; no slot is called from here. */

static interp_status host_watch(interp_link *l, int fd, uint32_t mask)
{
    return interp__loop_watch(l->loop, l, fd, mask);
}
static interp_status host_timer(interp_link *l, uint64_t deadline_ns)
{
    l->timer = deadline_ns ? deadline_ns : INTERP__NEVER;
    return INTERP_OK;
}
static void host_again(interp_link *l)
{
    l->again = 1;
}
static void host_wake(interp_link *l)
{
    atomic_store(&l->woken, 1);
    interp__ctx_wake(l->ctx);
}
static void host_notify(interp_link *l, int32_t what)
{
    switch (what) {
    case INTERP_LINK_OPENED: l->opened = 1; break;
    case INTERP_LINK_READABLE: l->readable = 1; break;
    case INTERP_LINK_CLOSED: l->closed = 1; break;
    default: break;   /* WRITABLE: writes are tried in every round; KILLED: close waits for the end */
    }
}
static void host_progress(interp_link *l, const char *json, size_t len)
{
    if (len <= 4096 && l->progress.len < 65536) {
        interp__buf_add(&l->progress, json, len);
        interp__buf_add(&l->progress, "", 1);
    }
}
static interp_status host_fail(interp_link *l, interp_status code, const char *reason, int32_t sys_errno, const char *message, const char *remedy)
{
    if (code >= 0)
        code = INTERP_E_BACKEND;
    if (!l->fault) {
        struct interp__buf text, hint;
        message = interp__redact_words(l->ctx, l->session, message, message ? strlen(message) : 0, &text);
        remedy = interp__redact_words(l->ctx, l->session, remedy, remedy ? strlen(remedy) : 0, &hint);
        struct interp__fault f = { code, reason, remedy, sys_errno, 0 };
        interp__fail_with(&l->ctx->mem, &l->fault, &f, "%s", message ? message : "the backend failed");
        interp__buf_free(&text);
        interp__buf_free(&hint);
    }
    return code;
}
static interp_status host_option(interp_link *l, const char *key, const char **json, size_t *len)
{
    size_t n = strlen(l->backend->name);
    for (struct interp__extra *e = l->extras; e && key; e = e->next)
        if (!strncmp(e->key, l->backend->name, n) && e->key[n] == '.' && !strcmp(e->key + n + 1, key)) {
            e->asked = 1;
            *json = e->json;
            if (len)
                *len = strlen(e->json);
            return INTERP_OK;
        }
    return INTERP_E_NOT_FOUND;
}
static interp_status host_agent(interp_link *l, const char *arch, const void **data, size_t *len)
{
    return interp__ctx_agent(l->ctx, arch, data, len);
}
static void host_reached(interp_link *l, const char *json, size_t len)
{
    if (len > 16384)
        return;
    char *copy = interp__strndup(&l->ctx->mem, json, len);
    if (copy) {
        interp__free(&l->ctx->mem, l->reached);
        l->reached = copy;
    }
}
static void *host_realloc(interp_link *l, void *p, size_t old_size, size_t new_size)
{
    (void)old_size;
    if (new_size)
        return interp__resize(&l->ctx->mem, p, new_size);
    interp__free(&l->ctx->mem, p);
    return NULL;
}
static void host_log(interp_link *l, int32_t level, const char *msg, size_t len)
{
    struct interp__buf text;
    const char *words = interp__redact_words(l->ctx, l->session, msg, len, &text);
    if (words != msg)
        len = strlen(words);
    interp__ctx_log(l->ctx, level, "%s: %.*s", l->backend->name, len > 1024 ? (int)interp__cut_before(words, len, 1024) : (int)len, words);
    interp__buf_free(&text);
}

static const interp_host_ops HOST = {
    .struct_size = sizeof(interp_host_ops), .watch = host_watch, .timer = host_timer, .again = host_again, .wake = host_wake, .notify = host_notify,
    .progress = host_progress, .fail = host_fail, .option = host_option, .agent = host_agent, .reached = host_reached, .realloc = host_realloc, .log = host_log
};

/* ---- life */

interp_status interp__link_open(interp_ctx *x, struct interp_session *s, struct interp__backend *b, int32_t kind, const interp_spec *spec, struct interp__extra *extras, struct interp_link **out, interp_error **err)
{
    struct interp_link *l = interp__alloc(&x->mem, sizeof *l);
    if (!l) {
        interp__extras_free(&extras, &x->mem);
        return interp__nomem(err);
    }
    l->extras = extras;
    l->ctx = interp__ctx_ref(x);
    l->backend = b;
    l->session = s;
    l->timer = INTERP__NEVER;
    interp__buf_init(&l->progress, &x->mem);
    l->loop = &x->loop;
    if (!(x->flags & INTERP_CTX_LOOP)) {
        l->loop = &l->own;
        if (interp__loop_init(&l->own, &x->mem, x->wake, 0)) {
            interp__extras_free(&l->extras, &x->mem);
            interp__ctx_unref(x);
            interp__free(&x->mem, l);
            return interp__fail(&x->mem, err, INTERP_E_IO, "descriptors", "no descriptor for the session's poll set: too many open files");
        }
    }
    *out = l;
    interp_status st = (kind == INTERP_CALL_GC ? b->ops.gc : kind == INTERP_CALL_PROBE ? b->ops.probe : b->ops.open)(b->userdata, &HOST, l, spec, &l->inst);
    /* a key that the backend does not know is a mistake, not a wish to be passed over */
    size_t n = strlen(b->name);
    for (struct interp__extra *e = l->extras; e && st >= 0 && !l->fault; e = e->next)
        if (!strncmp(e->key, b->name, n) && e->key[n] == '.' && !e->asked) {
            char text[256];
            snprintf(text, sizeof text, "backend \"%s\" has no option \"%.128s\"", b->name, e->key);
            host_fail(l, INTERP_E_INVAL, "option-unknown", 0, text, "");
        }
    if (st < 0 && !l->fault)
        host_fail(l, st, "backend-open", 0, "the backend could not open a sandbox", "");
    return INTERP_OK;   /* a failed open shows as l->fault, as a later failure would */
}

void interp__link_step(struct interp_link *l, uint64_t now)
{
    if (!l->inst || l->closed)
        return;
    int woken = atomic_exchange(&l->woken, 0);
    if (!l->fired && !l->again && !woken && l->timer > now)
        return;
    if (l->timer <= now)
        l->timer = INTERP__NEVER;
    if (l->fired)
        l->readable = 1;
    l->fired = l->again = 0;
    l->backend->ops.advance(l->inst);
}

void interp__link_kill(struct interp_link *l)
{
    if (!l->inst || !l->opened)
        return;
    interp_status st = l->backend->ops.kill(l->inst);
    if (st < 0)
        interp__ctx_log(l->ctx, 1, "backend %s could not start the kill: %s", l->backend->name, interp_status_name(st));
}

void interp__link_close(struct interp_link *l)
{
    if (l->closing || l->closed)
        return;
    interp__link_kill(l);   /* first, and without the guest's help; close may take its time */
    l->closing = 1;
    if (!l->inst) {
        l->closed = 1;
        return;
    }
    l->backend->ops.close(l->inst);
}

int interp__link_reached_text(const struct interp_link *l, const char *key, const char *language, char *out, size_t n)
{
    struct interp__json j;
    int r = -1;
    if (!l->reached)
        return -1;
    if (!interp__json_parse(&j, &l->ctx->mem, l->reached, strlen(l->reached), NULL)) {
        uint32_t i = interp__json_at(&j, 0)->type == INTERP__JSON_OBJECT ? interp__json_member(&j, 0, key) : 0;
        if (i && language)
            i = interp__json_at(&j, i)->type == INTERP__JSON_OBJECT ? interp__json_member(&j, i, language) : 0;
        const struct interp__json_node *v = i ? interp__json_at(&j, i) : NULL;
        if (v && v->type == INTERP__JSON_STRING && v->text_len < n && strlen(interp__json_string(&j, v)) == v->text_len) {
            memcpy(out, interp__json_string(&j, v), v->text_len + 1);
            r = 0;
        }
    }
    interp__json_free(&j);
    return r;
}

int interp__link_reached_is(const struct interp_link *l, const char *key, const char *value)
{
    char text[32];
    return !interp__link_reached_text(l, key, NULL, text, sizeof text) && !strcmp(text, value);
}

uint32_t interp__link_reached_count(const struct interp_link *l, const char *key)
{
    struct interp__json j;
    uint32_t n = 0;
    if (!l->reached)
        return 0;
    if (!interp__json_parse(&j, &l->ctx->mem, l->reached, strlen(l->reached), NULL)) {
        uint32_t i = interp__json_at(&j, 0)->type == INTERP__JSON_OBJECT ? interp__json_member(&j, 0, key) : 0;
        if (i && interp__json_at(&j, i)->type == INTERP__JSON_ARRAY)
            n = interp__json_at(&j, i)->count;
    }
    interp__json_free(&j);
    return n;
}

uint64_t interp__link_due(const struct interp_link *l)
{
    if (!l || l->closed)
        return INTERP__NEVER;
    return l->again || l->fired || atomic_load(&((struct interp_link *)(uintptr_t)l)->woken) ? 0 : l->timer;
}

void interp__link_free(struct interp_link *l, int forked)
{
    if (!l)
        return;
    interp_ctx *x = l->ctx;
    if (!forked)   /* before abandon closes them: a number may be another thread's right after */
        interp__loop_forget(l->loop, l);
    if (l->inst && !l->closed)
        l->backend->ops.abandon(l->inst);
    if (l->loop == &l->own)
        interp__loop_close(&l->own, forked);
    interp__extras_free(&l->extras, &x->mem);
    interp_error_free(l->fault);
    interp__free(&x->mem, l->reached);
    interp__buf_free(&l->progress);
    interp__free(&x->mem, l);
    interp__ctx_unref(x);
}

/* ---- the reaper: sandboxes whose session is gone but whose end is not verified yet */

void interp__link_orphan(struct interp_link *l, uint64_t close_timeout_ms)
{
    interp_ctx *x = l->ctx;
    l->session = NULL;
    l->orphan_deadline = interp__after(interp__now(), interp__ms(close_timeout_ms));
    interp__link_close(l);
    if (l->closed) {
        interp__link_free(l, 0);
        return;
    }
    pthread_mutex_lock(&x->lock);
    l->next = x->orphans;
    x->orphans = l;
    atomic_fetch_add(&x->norphans, 1);
    pthread_mutex_unlock(&x->lock);
}

void interp__reap(interp_ctx *x, uint64_t now)
{
    if (!atomic_load(&x->norphans))
        return;
    pthread_mutex_lock(&x->lock);
    struct interp_link *all = x->orphans, *keep = NULL, *next;
    x->orphans = NULL;
    pthread_mutex_unlock(&x->lock);
    for (struct interp_link *l = all; l; l = next) {
        next = l->next;
        if (l->loop == &l->own)
            interp__loop_poll(l->loop, 0);
        interp__link_step(l, now);
        if (l->closed || now >= l->orphan_deadline) {
            if (!l->closed)
                interp__ctx_log(x, 2, "a sandbox of backend %s was not verified gone in time; its descriptors are dropped", l->backend->name);
            atomic_fetch_sub(&x->norphans, 1);
            interp__link_free(l, 0);
            continue;
        }
        l->next = keep;
        keep = l;
    }
    if (!keep)
        return;
    pthread_mutex_lock(&x->lock);
    struct interp_link **end = &keep;
    while (*end)
        end = &(*end)->next;
    *end = x->orphans;
    x->orphans = keep;
    pthread_mutex_unlock(&x->lock);
}
