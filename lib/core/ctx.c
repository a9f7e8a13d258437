/* ctx.c - the context: what sessions share */
#include "blobs.h"
#include "oneshot.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>
#ifdef __linux__
#include "backends/local/local.h"
#endif
#ifdef INTERP_ENGINES
#include "backends/engine/engine.h"
#endif

int interp__forked(const interp_ctx *x)
{
    return x->pid != getpid();
}

interp_status interp__ctx_check(interp_ctx *x, interp_error **err)
{
    if (!x)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the context is NULL");
    if (interp__forked(x))
        return interp__fail(NULL, err, INTERP_E_FORKED, "forked", "this context belongs to the parent process; make one of your own after fork()");
    if (interp__in_callback())
        return interp__fail(&x->mem, err, INTERP_E_BUSY, "callback", "the library may not be called from inside one of its callbacks");
    return INTERP_OK;
}

interp_ctx *interp__ctx_ref(interp_ctx *x)
{
    atomic_fetch_add(&x->refs, 1);
    return x;
}

void interp__ctx_wake(interp_ctx *x)
{
    uint64_t one = 1;
    int saved = errno;
    ssize_t r = write(x->wake, &one, sizeof one);
    (void)r;   /* a full counter is a pending wake */
    errno = saved;
}

interp_status interp__random(void *p, size_t n)
{
    uint8_t *b = p;
    while (n) {
        ssize_t r = getrandom(b, n, 0);
        if (r < 0) {
            if (errno == EINTR)
                continue;
            return INTERP_E_IO;
        }
        b += r;
        n -= (size_t)r;
    }
    return INTERP_OK;
}

void interp__ctx_log(interp_ctx *x, int32_t level, const char *fmt, ...)
{
    if (!x->log || interp__in_callback())
        return;
    char text[1280];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    interp__callback(1);
    x->log(x->log_data, level, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    interp__callback(0);
}

static void destroy(interp_ctx *x)
{
    int forked = interp__forked(x);
    for (struct interp__backend *b = x->backends, *next; b; b = next) {
        next = b->next;
        if (b->destroy) {
            interp__callback(1);
            b->destroy(b->userdata);
            interp__callback(0);
        }
        interp__free(&x->mem, b->name);
        interp__free(&x->mem, b);
    }
    for (struct interp__code *c = x->codes, *next; c; c = next) {
        next = c->next;
        interp__free(&x->mem, c);
    }
    interp__oneshots_free(&x->oneshots);
    for (int i = 0; i < 2; i++)
        interp__free(&x->mem, x->agents[i].p);
    interp__audit_free(x->audit, forked);   /* its last record still goes to the host's callback */
    interp__free(&x->mem, x->audit_json);
    if (x->audit_destroy) {
        interp__callback(1);
        x->audit_destroy(x->audit_data);
        interp__callback(0);
    }
    interp__notices_free(x);
    interp__redact_set_free(x->redact);
    if (x->flags & INTERP_CTX_LOOP)
        interp__loop_close(&x->loop, forked);
    if (x->wake >= 0) {
        if (!forked)
            interp__fds_remove(x->wake);
        close(x->wake);
    }
    if (x->log_destroy) {
        interp__callback(1);
        x->log_destroy(x->log_data);
        interp__callback(0);
    }
    if (!forked) {
        pthread_mutex_destroy(&x->lock);
        pthread_mutex_destroy(&x->audit_lock);
    }
    struct interp__mem m = x->mem;
    interp__free(&m, x);
}

void interp__ctx_unref(interp_ctx *x)
{
    if (x && atomic_fetch_sub(&x->refs, 1) == 1)
        destroy(x);
}

interp_status interp_ctx_new(uint32_t flags, interp_ctx **out, interp_error **err)
{
    return interp_ctx_new_alloc(flags, interp__mem_default.fn, NULL, out, err);
}

interp_status interp_ctx_new_alloc(uint32_t flags, interp_realloc_fn fn, void *userdata, interp_ctx **out, interp_error **err)
{
    if (!out || !fn)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "interp_ctx_new: %s is NULL", out ? "the allocator" : "out");
    if (flags & ~(uint32_t)INTERP_CTX_LOOP)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "interp_ctx_new: unknown flags 0x%x", flags);
    struct interp__mem m = { fn, userdata };
    const size_t at = (sizeof(interp_ctx) + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    interp_ctx *x = interp__alloc(&m, at + interp__redact_set_size());
    if (!x)
        return interp__nomem(err);
    x->mem = m;
    x->flags = flags;
    x->pid = getpid();
    x->ready_end = &x->ready;
    x->notices_end = &x->notices;
    x->loop.epoll = x->loop.timer = -1;
    x->loop.mem = &x->mem;
    atomic_init(&x->refs, 1);
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->audit_lock, NULL);
    x->redact = (struct interp__redact_set *)(void *)((char *)x + at);
    interp__redact_set_init(x->redact, &x->mem);
    x->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (x->wake >= 0)
        interp__fds_add(x->wake);
    if (x->wake < 0 || (flags & INTERP_CTX_LOOP && interp__loop_init(&x->loop, &x->mem, x->wake, 1))) {
        int e = errno;
        interp__ctx_unref(x);
        struct interp__fault f = { INTERP_E_IO, "descriptors", "raise RLIMIT_NOFILE or close descriptors", e, 1 };
        return interp__fail_with(&m, err, &f, "no descriptors for a context: %s", strerror(e));
    }
#ifdef __linux__
    void *local = interp__local_new(x->mem.fn, x->mem.userdata);
    interp_status st = local ? interp_ctx_add_backend(x, interp__local_ops(), local, interp__local_free, err) : interp__nomem(err);
    if (st) {
        interp__ctx_unref(x);
        return st;
    }
#endif
#ifdef INTERP_ENGINES
    for (int kind = INTERP__ENGINE_DOCKER; kind <= INTERP__ENGINE_PODMAN; kind++) {
        void *engine = interp__engine_new((enum interp__engine_kind)kind, x->mem.fn, x->mem.userdata);
        interp_status added = engine ? interp_ctx_add_backend(x, interp__engine_ops((enum interp__engine_kind)kind), engine, interp__engine_free, err) : interp__nomem(err);
        if (added) {
            interp__ctx_unref(x);
            return added;
        }
    }
#endif
    *out = x;
    return INTERP_OK;
}

enum { LOOP_FREE_MS = 1000 };

/* Sandboxes that are ending: those of sessions still held, and the orphans. */
static void wait_for_ends(interp_ctx *x)
{
    /* an event loop must not stand still for it: local sandboxes are gone in some milliseconds each, what takes longer is let go of */
    uint64_t most = x->flags & INTERP_CTX_LOOP ? interp__min(x->close_timeout, LOOP_FREE_MS) : x->close_timeout;
    uint64_t end = interp__after(interp__now(), interp__ms(most));
    for (uint64_t now; (now = interp__now()) < end;) {
        struct interp_session *s = interp__session_unclosed(x);
        if (s) {
            if (!interp__session_take(s, 0)) {
                interp__session_drive(s, now);
                if (!s->link)
                    atomic_store(&s->closed, 1);
                else if (!s->link->closed)
                    interp__loop_poll(s->link->loop, interp__min(now + 20000000, end));
                interp__session_leave(s);
            } else
                usleep(1000);   /* another thread is inside and sees it through */
            interp__session_unref(s);
            continue;
        }
        interp__reap(x, now);
        if (!atomic_load(&x->norphans))
            return;
        if (x->flags & INTERP_CTX_LOOP)
            interp__loop_poll(&x->loop, interp__min(now + 20000000, end));
        else
            usleep(2000);   /* an orphan's own loop may go at any time: another thread may reap it */
    }
}

void interp_ctx_free(interp_ctx *x)
{
    if (!x || interp__in_callback())
        return;
    atomic_store(&x->freed, 1);
    if (!interp__forked(x)) {
        for (struct interp_session *s; (s = interp__session_unshut(x));) {
            interp_session_shutdown(s);
            interp__session_unref(s);
        }
        wait_for_ends(x);
        pthread_mutex_lock(&x->lock);
        struct interp_link *rest = x->orphans;
        x->orphans = NULL;
        pthread_mutex_unlock(&x->lock);
        for (struct interp_link *next; rest; rest = next) {
            next = rest->next;
            atomic_fetch_sub(&x->norphans, 1);   /* not 0: another thread may hold some */
            interp__link_free(rest, 0);
        }
    } else {
        struct interp_link *rest = x->orphans;
        x->orphans = NULL;
        for (struct interp_link *next; rest; rest = next) {
            next = rest->next;
            interp__link_free(rest, 1);
        }
    }
    interp__ctx_unref(x);
}

interp_status interp_ctx_set_log(interp_ctx *x, interp_log_fn fn, void *userdata, void (*destroy_fn)(void *), interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    void (*old_destroy)(void *) = NULL;
    void *old = NULL;
    if (!st) {
        pthread_mutex_lock(&x->lock);
        if (x->sealed)
            st = INTERP_E_BUSY;
        else {
            old_destroy = x->log_destroy;
            old = x->log_data;
            x->log = fn;
            x->log_data = userdata;
            x->log_destroy = destroy_fn;
        }
        pthread_mutex_unlock(&x->lock);
        if (st)
            interp__fail(&x->mem, err, st, "sealed", "the log can only be set before the first session is opened");
    }
    if (st && destroy_fn)
        destroy_fn(userdata);
    if (old_destroy)
        old_destroy(old);   /* of the sink that this one takes the place of */
    return st;
}

static const char *const ARCHES[2] = { "x86_64", "aarch64" };

interp_status interp_ctx_set_agent(interp_ctx *x, const char *arch, const void *p, size_t n, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    int i = arch && !strcmp(arch, ARCHES[0]) ? 0 : arch && !strcmp(arch, ARCHES[1]) ? 1 : -1;
    if (i < 0 || !p || n < 64)
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_ctx_set_agent: the architecture must be x86_64 or aarch64, the agent a program file");
    void *copy = interp__resize(&x->mem, NULL, n);
    if (!copy)
        return interp__nomem(err);
    memcpy(copy, p, n);
    pthread_mutex_lock(&x->lock);
    int sealed = x->sealed;
    void *old = sealed ? copy : x->agents[i].p;
    if (!sealed) {
        x->agents[i].p = copy;
        x->agents[i].n = n;
    }
    pthread_mutex_unlock(&x->lock);
    interp__free(&x->mem, old);
    return sealed ? interp__fail(&x->mem, err, INTERP_E_BUSY, "sealed", "an agent can only be set before the first session is opened") : INTERP_OK;
}

interp_status interp__ctx_agent(interp_ctx *x, const char *arch, const void **data, size_t *n)
{
    static const enum interp__packed_name builtin[2] = { INTERP__AGENT_X86_64, INTERP__AGENT_AARCH64 };
    for (int i = 0; i < 2; i++)
        if (arch && !strcmp(arch, ARCHES[i])) {
            size_t own = x->agents[i].n;
            if (!(*n = own ? own : interp__packed_size(builtin[i])))
                return INTERP_E_UNSUPPORTED;
            *data = own ? x->agents[i].p : interp__unpack(builtin[i], &x->mem);
            return *data ? INTERP_OK : INTERP_E_NOMEM;
        }
    return INTERP_E_UNSUPPORTED;
}

static int name_ok(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return n > 0 && n <= 32 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

interp_status interp_ctx_add_backend(interp_ctx *x, const interp_backend_ops *ops, void *backend, void (*destroy_fn)(void *), interp_error **err)
{
    /* version 1 of the table ends before `gc` */
    const uint32_t v1 = offsetof(interp_backend_ops, gc);
    interp_status st = interp__ctx_check(x, err);
    struct interp__backend *b = NULL;
    if (st)
        ;
    else if (!ops || ops->struct_size < v1)
        st = interp__fail(&x->mem, err, INTERP_E_INVAL, "backend-table", "the backend's table is %s: struct_size must be at least %u", ops ? "too small" : "NULL", v1);
    else if (!name_ok(ops->name))
        st = interp__fail(&x->mem, err, INTERP_E_INVAL, "backend-name", "a backend's name is 1 to 32 of a-z, 0-9 and '-'");
    else if (!ops->open || !ops->advance || !ops->read || !ops->write || !ops->kill || !ops->close || !ops->abandon)
        st = interp__fail(&x->mem, err, INTERP_E_INVAL, "backend-table", "backend \"%s\" lacks a required slot: open, advance, read, write, kill, close or abandon", ops->name);
    else if (ops->needs_host_ops > sizeof(interp_host_ops))
        st = interp__fail(&x->mem, err, INTERP_E_UNSUPPORTED, "backend-too-new", "backend \"%s\" needs %u bytes of host services, this library has %zu: use a newer libinterp",
                          ops->name, ops->needs_host_ops, sizeof(interp_host_ops));
    else if (!(b = interp__alloc(&x->mem, sizeof *b)) || !(b->name = interp__strndup(&x->mem, ops->name, strlen(ops->name)))) {
        interp__free(&x->mem, b);
        b = NULL;
        st = interp__nomem(err);
    }
    if (b) {
        memcpy(&b->ops, ops, ops->struct_size < sizeof b->ops ? ops->struct_size : sizeof b->ops);
        b->ops.struct_size = sizeof b->ops;
        b->ops.name = b->name;
        b->userdata = backend;
        b->destroy = destroy_fn;
        pthread_mutex_lock(&x->lock);
        st = x->sealed ? INTERP_E_BUSY : INTERP_OK;
        for (struct interp__backend *o = x->backends; o; o = o->next)
            if (!strcmp(o->name, b->name))
                st = INTERP_E_EXISTS;
        if (!st) {
            b->next = x->backends;
            x->backends = b;
        }
        pthread_mutex_unlock(&x->lock);
        if (st) {
            interp__fail(&x->mem, err, st, st == INTERP_E_BUSY ? "sealed" : "backend-exists",
                         st == INTERP_E_BUSY ? "backend \"%s\" comes too late: add backends before the first session is opened" : "a backend named \"%s\" is registered already", b->name);
            interp__free(&x->mem, b->name);
            interp__free(&x->mem, b);
        }
    }
    if (st && destroy_fn)
        destroy_fn(backend);
    return st;
}
