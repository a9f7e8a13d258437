/* kernel.c - kernels of a session as the host sees them: start (from cached code where there is some), readiness, end */
#include "core.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct interp__kernel *interp__kernel_find(struct interp_session *s, const struct interp__language *l, const char *name)
{
    struct interp__kernel *k = s->kernels;
    while (k && (k->language != l || strcmp(k->name, name)))
        k = k->next;
    return k;
}

static struct interp__kernel *by_id(struct interp_session *s, uint16_t id)
{
    struct interp__kernel *k = s->kernels;
    while (k && k->id != id)
        k = k->next;
    return k;
}

struct interp__kernel *interp__kernel_add(struct interp_session *s, const struct interp__language *l, const char *name)
{
    uint16_t id = 1;
    while (by_id(s, id))
        id++;
    if (id > INTERP__KERNELS_MAX)
        return NULL;
    struct interp__kernel *k = interp__alloc(&s->mem, sizeof *k);
    uint8_t tag[WIRE_ID];
    if (!k || !(k->name = interp__strndup(&s->mem, name, strlen(name))) || (l->oneshot && interp__random(tag, sizeof tag))) {
        interp__free(&s->mem, k ? k->name : NULL);
        interp__free(&s->mem, k);
        return NULL;
    }
    k->language = l;
    k->id = id;
    for (unsigned i = 0; l->oneshot && i < sizeof tag; i++)
        snprintf(k->tag + 2 * i, 3, "%02x", tag[i]);
    interp__kframes_init(&k->frames, &s->mem, NULL);
    k->next = s->kernels;
    s->kernels = k;
    return k;
}

static void blob_drop(struct interp_session *s, struct interp__kernel *k)
{
    interp__free(&s->mem, k->blob_owned);
    k->blob_owned = NULL;
    k->blob = NULL;
    k->blob_len = k->blob_sent = 0;
}

void interp__kernel_free(struct interp_session *s, struct interp__kernel *k)
{
    blob_drop(s, k);
    interp__kframes_free(&k->frames);
    interp__free(&s->mem, k->name);
    interp__free(&s->mem, k->ready_text);
    interp__free(&s->mem, k->version);
    interp__free(&s->mem, k->path);
    interp__free(&s->mem, k);
}

static int channel_taken(struct interp_session *s, uint16_t base)
{
    for (struct interp_call *c = s->calls; c; c = c->next)
        if (c->exec && c->exec->base == base)
            return 1;
    for (struct interp__kernel *k = s->kernels; k; k = k->next)
        if (k->channel == base)
            return 1;
    for (struct interp__file *f = s->transfers; f; f = f->next)
        if (f->sent && f->channel == base)
            return 1;
    return 0;
}

uint16_t interp__channels(struct interp_session *s)
{
    do {
        s->next_channel = (uint16_t)(s->next_channel + 4);
        if (s->next_channel < WIRE_CHANNEL_FIRST || s->next_channel > UINT16_MAX - 8)
            s->next_channel = WIRE_CHANNEL_FIRST;
    } while (channel_taken(s, s->next_channel));   /* at most a few dozen are in use */
    return s->next_channel;
}

/* ---- cached driver code, kept by the context */

static void use_cache(struct interp_session *s, struct interp__kernel *k)
{
    interp_ctx *x = s->ctx;
    pthread_mutex_lock(&x->lock);
    struct interp__code *c = x->codes;
    while (c && (c->language != k->language || c->backend != s->link->backend))
        c = c->next;
    if (c && (k->blob_owned = interp__resize(&s->mem, NULL, c->len))) {
        memcpy(k->blob_owned, c->bytes, c->len);
        k->blob = k->blob_owned;
        k->blob_len = c->len;
        k->cached_id = c->id;
        k->sent_cached = 1;
    }
    pthread_mutex_unlock(&x->lock);
}

static void keep_cache(struct interp_session *s, struct interp__kernel *k, const struct wire_identity *id)
{
    interp_ctx *x = s->ctx;
    struct interp__code *c = interp__resize(&x->mem, NULL, sizeof *c + k->frames.code.len);
    if (!c)
        return;
    c->language = k->language;
    c->backend = s->link->backend;
    c->id = *id;
    c->len = k->frames.code.len;
    memcpy(c->bytes, k->frames.code.p, c->len);
    pthread_mutex_lock(&x->lock);
    struct interp__code **p = &x->codes, *old = NULL;
    while (*p && ((*p)->language != c->language || (*p)->backend != c->backend))
        p = &(*p)->next;
    if (*p) {   /* one interpreter each: the newest */
        old = *p;
        *p = old->next;
    }
    c->next = x->codes;
    x->codes = c;
    pthread_mutex_unlock(&x->lock);
    interp__free(&x->mem, old);
}

/* ---- start */

static void put_list(struct wire_out *o, const char *const *list, const char *extra, size_t extra_len)
{
    uint16_t n = 0;
    while (list && list[n])
        n++;
    interp__wire_put_u16(o, (uint16_t)(n + (extra != NULL)));
    for (uint16_t i = 0; i < n; i++)
        interp__wire_put_string(o, list[i], strlen(list[i]));
    if (extra)
        interp__wire_put_string(o, extra, extra_len);
}

static const struct interp__interpreter *own_interpreter(const struct interp_session *s, const struct interp__language *l)
{
    const struct interp__interpreter *n = s->files.interpreters;
    while (n && n->language != l)
        n = n->next;
    return n;
}

/* Where it is inside: the config's word, unless the backend has another. */
static void interpreter_path(const struct interp_session *s, const struct interp__interpreter *n, char out[INTERP__MOUNT_PATH])
{
    if (interp__link_reached_text(s->link, "interpreters", n->language->name, out, INTERP__MOUNT_PATH))
        memcpy(out, n->path, strlen(n->path) + 1);
}

/* Variables of the base environment that this sandbox has another value for, as "NAME=value" in text; else the item itself. */
static const char *base_item(const struct interp_session *s, const char *item, struct interp__buf *text)
{
    static const char *const dirs[][2] = { { "HOME=", "home" }, { "TMPDIR=", "tmp" } };
    char path[INTERP__MOUNT_PATH];
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (!strncmp(item, dirs[i][0], strlen(dirs[i][0])) && !interp__link_reached_text(s->link, dirs[i][1], NULL, path, sizeof path)) {
            interp__buf_fmt(text, "%s%s", dirs[i][0], path);
            return interp__buf_text(text);
        }
    if (strncmp(item, "PATH=", 5) != 0 || !s->files.interpreters)
        return item;
    interp__buf_str(text, "PATH=");
    for (const struct interp__interpreter *n = s->files.interpreters; n; n = n->next) {
        interpreter_path(s, n, path);
        interp__buf_add(text, path, (size_t)(strrchr(path, '/') - path));
        interp__buf_str(text, ":");
    }
    interp__buf_str(text, item + 5);
    return interp__buf_text(text);
}

/* The base environment, unless the config sets that name; then the config's. */
static void put_env(struct wire_out *o, struct interp_session *s, const struct interp__kernel *k)
{
    const char *list[64];
    struct interp__buf text[4];
    uint16_t n = 0, texts = 0;
    for (int i = 0; interp__base_env[i]; i++) {
        size_t name = strcspn(interp__base_env[i], "=") + 1;
        int set = 0;
        for (size_t at = 0; at < s->env.text.len && !set; at += strlen((char *)s->env.text.p + at) + 1)
            set = !strncmp((char *)s->env.text.p + at, interp__base_env[i], name);
        if (set || interp__env_was_changed(s, interp__base_env[i]))
            continue;
        interp__buf_init(&text[texts], &s->mem);
        const char *item = base_item(s, interp__base_env[i], &text[texts]);
        if (!item)
            s->out.bad = 1;
        else
            list[n++] = item;
        if (item != interp__base_env[i] && texts < 3)   /* HOME, TMPDIR, PATH */
            texts++;
    }
    if (k->sent_cached)
        list[n++] = "INTERP_CACHED=1";
    else if (k->want_cache)
        list[n++] = "INTERP_WANT_CACHE=1";
    char build[32 + sizeof k->tag], heap[32];
    if (k->language->oneshot) {   /* heap: what a runtime that counts its own memory may take of it */
        snprintf(build, sizeof build, "INTERP_BUILD=%s", k->tag);
        snprintf(heap, sizeof heap, "INTERP_HEAP=%" PRIu64, s->v.memory / 2 >> 20);
        list[n++] = build;
        list[n++] = heap;
    }
    interp__wire_put_u16(o, (uint16_t)(n + s->env.count));
    for (uint16_t i = 0; i < n; i++)
        interp__wire_put_string(o, list[i], strlen(list[i]));
    for (size_t at = 0; at < s->env.text.len; at += strlen((char *)s->env.text.p + at) + 1)
        interp__wire_put_string(o, s->env.text.p + at, strlen((char *)s->env.text.p + at));
    while (texts--)
        interp__buf_free(&text[texts]);
}

static void start(struct interp_session *s, struct interp__kernel *k, uint64_t timeout_ns, int may_cache)
{
    const struct interp__language *l = k->language;
    blob_drop(s, k);
    k->sent_cached = 0;
    k->want_cache = 0;
    if (l->caches && may_cache)
        use_cache(s, k);
    if (!k->sent_cached) {
        if (!(k->blob = interp__language_driver(l, &s->mem, &k->blob_len))) {
            s->out.bad = 1;
            return;
        }
        /* code is kept for others only when no user code ran in this sandbox before */
        k->want_cache = l->caches && s->execs_sent == (k->current && k->current->sent);   /* the one that waits for this start has not run */
    }
    k->blob_sent = 0;
    k->blob_credit = k->rx_left = WIRE_WINDOW;
    k->channel = interp__channels(s);
    k->state = INTERP__KERNEL_STARTING;
    k->ready_status = 0;
    k->stopping = 0;
    interp__kframes_free(&k->frames);
    interp__kframes_init(&k->frames, &s->mem, NULL);

    struct interp__buf b;
    interp__buf_init(&b, &s->mem);
    if (interp__buf_reserve(&b, WIRE_PAYLOAD_MAX)) {
        s->out.bad = 1;
        return;
    }
    struct wire_out o = { b.p, b.p + WIRE_PAYLOAD_MAX, 0 };
    struct wire_start m = { .kernel = k->id, .channel = k->channel, .kind = l->kind,
                            .flags = (uint8_t)((k->sent_cached ? WIRE_START_CACHED : 0) | (k->want_cache ? WIRE_START_WANT_CACHE : 0) | (l->oneshot ? WIRE_START_ONESHOT : 0)), .timeout_ns = timeout_ns };
    if (k->sent_cached)
        m.id = k->cached_id;
    interp__wire_put_start(&o, &m);
    const struct interp__interpreter *own = own_interpreter(s, l);
    char path[INTERP__MOUNT_PATH];
    if (own)
        interpreter_path(s, own, path);
    put_list(&o, own ? NULL : l->candidates, own ? path : NULL, own ? strlen(path) : 0);
    put_list(&o, l->args, (const char *)l->boot, l->boot ? (size_t)(l->boot_end - l->boot) : 0);
    put_env(&o, s, k);
    interp__wire_put_string(&o, l->code_template, l->code_template ? (size_t)(l->template_end - l->code_template) : 0);
    interp__peer_frame(s, WIRE_KERNEL_START, 0, 0, b.p, (size_t)(o.p - b.p));
    interp__buf_free(&b);
}

void interp__kernel_start(struct interp_session *s, struct interp__kernel *k, uint64_t timeout_ns)
{
    start(s, k, timeout_ns, 1);
}

void interp__kernel_stop(struct interp_session *s, struct interp__kernel *k)
{
    uint8_t b[2] = { (uint8_t)k->id, (uint8_t)(k->id >> 8) };
    k->stopping = 1;
    interp__peer_frame(s, WIRE_KERNEL_STOP, 0, 0, b, sizeof b);
}

/* What its driver says of itself is the guest's. */
static void facts(struct interp_session *s, struct interp__kernel *k, const struct wire_ready_msg *m)
{
    struct interp__json j;
    interp__free(&s->mem, k->version);
    interp__free(&s->mem, k->path);
    k->version = k->path = NULL;
    if (interp__json_parse(&j, &s->mem, m->info.p, m->info.len, NULL) == INTERP_OK) {
        uint32_t i = interp__json_member(&j, 0, "version");
        const struct interp__json_node *n = i ? interp__json_at(&j, i) : NULL;
        if (n && n->type == INTERP__JSON_STRING) {
            interp__redact_text(s, interp__json_string(&j, n), n->text_len);   /* all of it, then cut: a cut could hide a secret's end */
            size_t len = s->redacted.len > 64 ? interp__cut_before(s->redacted.p, s->redacted.len, 64) : s->redacted.len;
            k->version = interp__strndup(&s->mem, s->redacted.p, len);
        }
    }
    interp__json_free(&j);
    interp__redact_text(s, m->path.p, m->path.len);
    k->path = interp__strndup(&s->mem, s->redacted.p, s->redacted.len);
}

void interp__kernel_ready(struct interp_session *s, const struct wire_ready_msg *m)
{
    struct interp__kernel *k = by_id(s, m->kernel);
    if (!k || k->state != INTERP__KERNEL_STARTING)
        return;
    if (m->status == WIRE_READY_OK) {
        k->state = INTERP__KERNEL_ALIVE;
        facts(s, k, m);
        if (k->current)
            k->current->heard = interp__now();
        if (k->want_cache && k->frames.code.len && s->execs_sent <= 1)
            keep_cache(s, k, &m->id);
        interp__kframes_free(&k->frames);
        interp__kframes_init(&k->frames, &s->mem, NULL);
        blob_drop(s, k);
        k->channel = 0;
        return;
    }
    uint64_t left = INTERP__NEVER;
    if (k->current && k->current->timeout != INTERP__NEVER) {
        uint64_t now = interp__now(), end = interp__after(k->current->started, k->current->timeout);
        left = end > now ? end - now : 1;
    }
    /* cached code that does not fit, or that this interpreter can't load (exit 96): once more from the text, unless an order to end it is on its way */
    if (!k->stopping && (m->status == WIRE_READY_STALE || (m->status == WIRE_READY_FAILED && k->sent_cached && m->exit_code == 96))) {
        start(s, k, left, 0);
        return;
    }
    k->state = INTERP__KERNEL_DEAD;
    k->ready_status = m->status;
    k->ready_exit = m->exit_code;
    k->ready_signal = m->signal;
    k->channel = 0;
    blob_drop(s, k);
    interp__free(&s->mem, k->ready_text);
    interp__redact_text_cut(s, m->text.p, interp__utf8_valid(m->text.p, m->text.len));   /* the agent keeps its start only */
    k->ready_text = interp__strndup(&s->mem, s->redacted.p, s->redacted.len);
}

/* Once it is deleted, its tree is gone and the last exec has its result. */
void interp__kernel_forget(struct interp_session *s, struct interp__kernel *k)
{
    if (!k->doomed || k->state != INTERP__KERNEL_DEAD || k->stopping || k->current || k->queued)
        return;
    for (struct interp__kernel **p = &s->kernels; *p; p = &(*p)->next)
        if (*p == k) {
            *p = k->next;
            break;
        }
    interp__kernel_free(s, k);
}

void interp__kernel_gone(struct interp_session *s, uint16_t id, int proven)
{
    struct interp__kernel *k = by_id(s, id);
    if (!k)
        return;
    k->state = INTERP__KERNEL_DEAD;
    k->stopping = 0;
    k->had_exec = 0;
    k->channel = 0;
    blob_drop(s, k);
    if (!proven) {
        interp_error *why = NULL;
        interp__fail(&s->mem, &why, INTERP_E_CLOSED, "kill-unproven", "a kernel's processes could not be verified gone; the sandbox has been ended");
        interp__session_gone(s, why);
        return;
    }
    for (struct interp_call *c = s->calls; c; c = c->next)
        if (c->kernel == k) {   /* a restart, or its deletion */
            c->kernel = NULL;
            interp__call_done(c, NULL);
        }
    if (k->queued && !k->queued->screening && !k->current) {
        k->current = k->queued;
        k->queued = NULL;
        k->doomed = 0;   /* somebody wants it again */
        interp__exec_send(s, k->current);
    }
    if (k->queued)   /* it is asked about */
        k->doomed = 0;
    interp__kernel_forget(s, k);
}
