/* engine.c - the table of the engine backends */
#include "engine_priv.h"
#include <string.h>
#include <unistd.h>

static void *link_realloc(void *userdata, void *p, size_t old_size, size_t new_size)
{
    struct interp__box *b = userdata;
    return b->h->realloc(b->l, p, old_size, new_size);
}

static void arm(struct interp__box *b)
{
    uint64_t due = b->rest.curl && b->rest.busy ? b->rest.timer : INTERP__NEVER;
    due = interp__min(due, b->retry_at);
    if (b->attach.connecting)           /* libcurl's own timers for a second address of a host */
        due = interp__min(due, interp__after(interp__now(), UINT64_C(50000000)));
    b->h->timer(b->l, due == INTERP__NEVER ? 0 : due ? due : 1);
}

static void free_box(struct interp__box *b)
{
    const interp_host_ops *h = b->h;
    interp_link *l = b->l;
    interp__attach_free(b);
    interp__rest_rest(&b->rest);
    interp__buf_free(&b->dead);
    interp__buf_free(&b->later);
    interp__buf_free(&b->volumes);
    interp__buf_free(&b->binds);
    char *texts[] = { b->image, b->pull, b->runtime, b->user };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        interp__free(&b->mem, texts[i]);
    h->realloc(l, b, sizeof *b, 0);
}

static interp_status start(void *backend, enum interp__engine_task task, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    struct interp__engine_failure f;
    struct interp__box *b = h->realloc(l, NULL, 0, sizeof *b);
    if (!b)
        return h->fail(l, INTERP_E_NOMEM, "host-memory", 0, "out of memory", "");
    memset(b, 0, sizeof *b);
    b->s = backend;
    b->h = h;
    b->l = l;
    b->mem.fn = link_realloc;
    b->mem.userdata = b;
    b->spec = *spec;
    b->task = task;
    b->attach.fd = -1;
    b->retry_at = INTERP__NEVER;
    b->nproc = 4096;
    b->pid = getpid();
    interp__buf_init(&b->attach.head, &b->mem);
    interp__buf_init(&b->attach.out, &b->mem);
    interp__buf_init(&b->rest.body, &b->mem);
    interp__buf_init(&b->rest.sent, &b->mem);
    interp__buf_init(&b->dead, &b->mem);
    interp__buf_init(&b->later, &b->mem);
    interp__buf_init(&b->volumes, &b->mem);
    interp__buf_init(&b->binds, &b->mem);
    *inst = b;
    if (interp__box_start(b, &f))
        interp__box_fail(b, &f);
    else
        arm(b);
    return INTERP_OK;
}

static interp_status engine_open(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    return start(backend, ENGINE_SANDBOX, h, l, spec, inst);
}
static interp_status engine_gc(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    return start(backend, ENGINE_GC, h, l, spec, inst);
}
static interp_status engine_probe(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    return start(backend, ENGINE_PROBE, h, l, spec, inst);
}

/* What opening the first sandbox would have to do once and take long over. What is wrong is told by open. */
static void engine_prepare(void *backend, const char *endpoint)
{
    struct interp__engine *s = backend;
    struct interp__endpoint e;
    if (interp__curl(NULL) && !interp__endpoint_find(&e, &s->mem, s->kind, endpoint, NULL, NULL))
        interp__name_prepare(s, &e);
}

static void end_step(struct interp__box *b)
{
    const interp_host_ops *h = b->h;
    interp_link *l = b->l;
    interp__box_end_step(b);
    if (!b->gone) {
        arm(b);
        return;
    }
    if (b->killing) {
        b->killing = 0;
        h->notify(l, INTERP_LINK_KILLED);
    }
    h->timer(l, 0);
    if (b->closing) {
        free_box(b);
        h->notify(l, INTERP_LINK_CLOSED);
    }
}

static void engine_advance(void *inst)
{
    struct interp__box *b = inst;
    if (b->closing || b->killing || b->ending) {
        end_step(b);
        return;
    }
    if (b->stage != ENGINE_OPEN && b->stage != ENGINE_FAILED)
        interp__box_step(b);
    else if (b->stage == ENGINE_OPEN && !b->attach.eof) {
        struct interp__attach *a = &b->attach;
        if (a->mask & INTERP_IO_OUT) {
            interp__attach_watch(b, a->mask & INTERP_IO_IN);
            b->h->notify(b->l, INTERP_LINK_WRITABLE);
        }
        if (a->unread)          /* told before and not read since: the core is busy; stop asking until it has read */
            interp__attach_watch(b, a->mask & INTERP_IO_OUT);
        else if (a->mask & INTERP_IO_IN) {
            a->unread = 1;
            b->h->notify(b->l, INTERP_LINK_READABLE);
        }
    }
    arm(b);
}

static interp_status engine_read(void *inst, void *buf, size_t cap, size_t *n)
{
    struct interp__box *b = inst;
    if (b->stage != ENGINE_OPEN || b->ending || !b->attach.answered)
        return INTERP_AGAIN;
    interp_status st = interp__attach_read(b, buf, cap, n);
    struct interp__engine_failure f;
    if (st == INTERP_DONE && interp__stream_ended(b, &f)) {
        interp__image_forget(b);
        b->h->fail(b->l, f.code, f.reason, f.err, f.message, f.remedy);
    }
    return st;
}

static interp_status engine_write(void *inst, const void *buf, size_t len, size_t *n)
{
    struct interp__box *b = inst;
    if (b->stage != ENGINE_OPEN)
        return INTERP_AGAIN;
    return b->ending || !b->attach.answered ? INTERP_E_CLOSED : interp__attach_write(b, buf, len, n);
}

static interp_status engine_kill(void *inst)
{
    struct interp__box *b = inst;
    b->killing = 1;
    interp__box_end(b);
    end_step(b);
    return INTERP_OK;
}

static void engine_close(void *inst)
{
    struct interp__box *b = inst;
    b->closing = 1;
    interp__box_end(b);
    end_step(b);
}

static void engine_abandon(void *inst)
{
    struct interp__box *b = inst;
    if (b->pid == getpid()) {
        if (b->helper_made)
            interp__gc_leave(b, b->helper);
        if (b->created)
            interp__gc_leave(b, b->name);
    }
    free_box(b);
}

#define TABLE(text) { .struct_size = sizeof(interp_backend_ops), .needs_host_ops = sizeof(interp_host_ops), .name = text, .open = engine_open, .advance = engine_advance, \
                      .read = engine_read, .write = engine_write, .kill = engine_kill, .close = engine_close, .abandon = engine_abandon, .gc = engine_gc, .probe = engine_probe, .prepare = engine_prepare }
const interp_backend_ops *interp__engine_ops(enum interp__engine_kind kind)
{
    static const interp_backend_ops tables[] = { TABLE("docker"), TABLE("podman") };
    return &tables[kind];
}

void *interp__engine_new(enum interp__engine_kind kind, interp_realloc_fn fn, void *userdata)
{
    struct interp__mem m = { fn, userdata };
    struct interp__engine *s = interp__alloc(&m, sizeof *s);
    if (s) {
        s->mem = m;
        s->kind = kind;
        pthread_mutex_init(&s->lock, NULL);
    }
    return s;
}

void interp__engine_free(void *backend)
{
    struct interp__engine *s = backend;
    struct interp__mem m = s->mem;
    for (struct interp__engine_known *k = s->known, *next; k; k = next) {
        next = k->next;
        for (struct interp__engine_left *c; (c = k->left);) {
            k->left = c->next;
            interp__free(&m, c);
        }
        interp__free(&m, k);
    }
    for (struct interp__engine_name *n; (n = s->names);) {
        s->names = n->next;
        interp__free(&m, n);
    }
    pthread_mutex_destroy(&s->lock);
    interp__free(&m, s);
}
