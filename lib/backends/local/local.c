/* local.c - the table of the local backend: one sandbox as a byte stream that can be killed for certain. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "local_priv.h"

#ifndef P_PIDFD
#  define P_PIDFD 3
#endif
#define BARE_END_NS UINT64_C(2000000000)   /* the agent ends by itself what can be ended, a supervisor that user code has stopped after half a second */
#define RMDIR_TRIES 200u

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void watch(struct interp__local_box *b, uint32_t mask)
{
    if (b->mask == mask || b->stream < 0)
        return;
    b->h->watch(b->l, b->stream, mask);
    b->mask = mask;
}

static interp_status tell(struct interp__local_box *b, const struct interp__local_failure *f)
{
    b->failed = 1;
    return b->h->fail(b->l, f->code, f->reason, f->err, f->message, f->remedy);
}

static void send_kill(struct interp__local_box *b)
{
    if (b->dead || b->gone || b->pidfd < 0)
        return;
    /* Without a PID namespace nobody but the agent can end what has lost its supervisor. The end of its stream asks it to; that it does is not relied on. */
    if (b->life >= 0 && b->stage == LOCAL_OPEN) {
        if (!b->kill_at) {
            b->kill_at = now() + BARE_END_NS;
            (void)shutdown(b->stream, SHUT_RDWR);
        }
        if (now() < b->kill_at) {
            b->h->timer(b->l, b->kill_at);
            return;
        }
    }
    interp__local_group_kill(&b->group);
    (void)syscall(SYS_pidfd_send_signal, b->pidfd, SIGKILL, 0, 0);
}

/* The pidfd is readable when all of PID 1 is dead, and the kernel lets PID 1 die only after everything else in its namespace: that is the proof. */
static void reap(struct interp__local_box *b)
{
    struct pollfd p = { b->pidfd, POLLIN, 0 };
    siginfo_t info;
    char c;
    if (b->dead && !b->gone && b->life >= 0 && read(b->life, &c, 1) == 0) {   /* its supervisors have ended too, each last in its tree */
        b->gone = 1;
        b->h->watch(b->l, b->life, 0);
    }
    if (b->dead || b->gone || b->pidfd < 0 || poll(&p, 1, 0) != 1)
        return;
    /* __WALL: it has no exit signal. ECHILD: the host's own waitpid(-1, __WALL) was faster; the pidfd has said that it is dead */
    if (waitid((idtype_t)P_PIDFD, (id_t)b->pidfd, &info, WEXITED | WNOHANG | __WALL) < 0 && errno != ECHILD)
        return;
    b->dead = 1;
    b->h->watch(b->l, b->pidfd, 0);
    b->gone = b->life < 0 || read(b->life, &c, 1) == 0;
    if (!b->gone && b->h->watch(b->l, b->life, INTERP_IO_IN) != INTERP_OK)
        b->unwatched = 1;
}

static void free_box(struct interp__local_box *b)
{
    const interp_host_ops *h = b->h;
    interp_link *l = b->l;
    if (b->message)
        h->realloc(l, b->message, b->message_size, 0);
    if (b->shares) {
        interp__local_shares_close(b->shares);
        interp__buf_free(&b->shares->interpreters);
        interp__buf_free(&b->shares->there);
        h->realloc(l, b->shares, sizeof *b->shares, 0);
    }
    if (b->plan)
        h->realloc(l, b->plan, sizeof *b->plan, 0);
    interp__local_close(&b->life);
    interp__local_close(&b->base.fd);
    interp__local_group_close(&b->s->cgroup, &b->group);
    interp__local_close(&b->stream);
    interp__local_close(&b->pidfd);
    h->realloc(l, b, sizeof *b, 0);
}

/* Close: after the end is proven, the groups go (they stay busy for a moment after the last process), then the ids. */
static void go_on_closing(struct interp__local_box *b)
{
    const interp_host_ops *h = b->h;
    interp_link *l = b->l;
    if (b->pidfd >= 0 && !b->gone) {
        if (b->unwatched)
            h->timer(l, now() + 5000000u);
        return;
    }
    if (interp__local_group_remove(&b->s->cgroup, &b->group) && b->rmdir_tries++ < RMDIR_TRIES) {
        h->timer(l, now() + (b->rmdir_tries < 20 ? 200000u : 20000000u));
        return;
    }
    if (interp__local_base_remove(&b->base)) {
        h->timer(l, now() + 100000u);
        return;
    }
    h->timer(l, 0);
    if (b->id) {
        pthread_mutex_lock(&b->s->lock);
        interp__local_ids_give(&b->s->ids, b->id);
        pthread_mutex_unlock(&b->s->lock);
    }
    free_box(b);
    h->notify(l, INTERP_LINK_CLOSED);
}

/* Another level is accepted: once this attempt's process is gone, that is tried. 1: it will be. */
static int fall(struct interp__local_box *b, const struct interp__local_failure *f)
{
    b->falling = interp__local_box_weaker(b, f);
    if (!b->falling)
        return 0;
    b->h->log(b->l, 2, f->message, strlen(f->message));
    b->stage = LOCAL_FALL;
    send_kill(b);
    b->h->again(b->l);
    return 1;
}

/* 0: not yet, or it has begun; -1: told. */
static int go_on_falling(struct interp__local_box *b)
{
    struct interp__local_failure f;
    if (b->pidfd >= 0 && !b->gone) {
        if (b->unwatched)
            b->h->timer(b->l, now() + 5000000u);
        return 0;
    }
    (void)interp__local_group_remove(&b->s->cgroup, &b->group);   /* one that is still busy is swept when this context ends */
    interp__local_group_close(&b->s->cgroup, &b->group);
    interp__local_group_init(&b->group);
    if (b->message)
        b->h->realloc(b->l, b->message, b->message_size, 0);
    b->message = 0;
    watch(b, 0);
    interp__local_close(&b->stream);
    interp__local_close(&b->pidfd);
    interp__local_close(&b->life);
    b->stage = LOCAL_BOOT;
    memset(&f, 0, sizeof f);
    int r = interp__local_box_bare(b, b->falling, &f);
    b->unwatched = b->pidfd >= 0 && b->h->watch(b->l, b->pidfd, INTERP_IO_IN) != INTERP_OK;
    if (r < 0 && fall(b, &f))
        return 0;
    if (r < 0) {
        tell(b, &f);
        return -1;
    }
    b->h->again(b->l);
    return 0;
}

/* Sends what is left of the boot message and looks for the answer: -1 it failed, told; else 0. */
static int boot_step(struct interp__local_box *b)
{
    struct interp__local_failure f;
    int r = interp__local_box_boot(b, &f);
    if (r < 0) {
        watch(b, 0);
        if (fall(b, &f))
            return 0;
        tell(b, &f);
        return -1;
    }
    if (r > 0) {
        if (b->plan)
            b->h->realloc(b->l, b->plan, sizeof *b->plan, 0);
        b->plan = 0;
        b->stage = LOCAL_OPEN;
        watch(b, INTERP_IO_IN);
        interp__local_box_report(b);
        b->h->notify(b->l, INTERP_LINK_OPENED);
    }
    return 0;
}

static interp_status local_open(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    struct interp__local_failure f;
    struct interp__local_box *b = h->realloc(l, 0, 0, sizeof *b);
    memset(&f, 0, sizeof f);
    if (!b)
        return h->fail(l, INTERP_E_NOMEM, "host-memory", ENOMEM, "Out of memory.", "");
    memset(b, 0, sizeof *b);
    b->s = backend;
    b->h = h;
    b->l = l;
    b->stream = b->pidfd = b->life = b->base.fd = -1;
    interp__local_group_init(&b->group);
    *inst = b;
    int started = interp__local_box_start(b, spec, &f) == 0;
    if (b->shares)
        interp__local_shares_close(b->shares);   /* the agent has them, or nobody needs them */
    b->unwatched = b->pidfd >= 0 && h->watch(l, b->pidfd, INTERP_IO_IN) != INTERP_OK;   /* its end is then looked for by the timer */
    if (!started && fall(b, &f))
        return INTERP_OK;
    if (!started)
        return tell(b, &f);
    if (b->unwatched) {
        b->failed = 1;
        return h->fail(l, INTERP_E_NOMEM, "host-memory", ENOMEM, "Out of memory.", "");
    }
    boot_step(b);   /* the answer comes later, or is there already when this thread had to wait for a CPU; a failure has been told */
    return INTERP_OK;
}

static void local_advance(void *inst)
{
    struct interp__local_box *b = inst;
    int was_gone = b->gone;
    if (b->stage == LOCAL_FALL && !b->failed && !b->closing) {
        reap(b);
        go_on_falling(b);
    } else if (b->stage == LOCAL_BOOT && !b->failed && !b->closing)
        boot_step(b);
    else if (b->stage == LOCAL_OPEN && !b->eof && !b->closing) {
        if (b->mask & INTERP_IO_OUT) {
            watch(b, b->mask & INTERP_IO_IN);
            b->h->notify(b->l, INTERP_LINK_WRITABLE);
        }
        if (b->unread)         /* told before and not read since: the core is busy; stop asking until it has read */
            watch(b, b->mask & INTERP_IO_OUT);
        else if (b->mask & INTERP_IO_IN) {
            b->unread = 1;
            b->h->notify(b->l, INTERP_LINK_READABLE);
        }
    }
    if (b->kill_at)
        send_kill(b);
    reap(b);
    if (b->gone && !was_gone && b->killing)
        b->h->notify(b->l, INTERP_LINK_KILLED);
    if (b->closing)
        go_on_closing(b);
}

static interp_status local_read(void *inst, void *buf, size_t cap, size_t *n)
{
    struct interp__local_box *b = inst;
    ssize_t r;
    if (b->stage != LOCAL_OPEN || b->eof)
        return b->eof ? INTERP_DONE : INTERP_AGAIN;
    do
        r = recv(b->stream, buf, cap, MSG_DONTWAIT);   /* never with room for control messages: a descriptor sent by the guest is dropped by the kernel */
    while (r < 0 && errno == EINTR);
    if (r > 0) {
        *n = (size_t)r;
        return INTERP_OK;
    }
    b->unread = 0;
    if (r < 0 && errno == EAGAIN) {
        watch(b, b->mask | INTERP_IO_IN);
        return INTERP_AGAIN;
    }
    b->eof = 1;                /* 0, or a reset: the agent is gone */
    watch(b, 0);
    return INTERP_DONE;
}

static interp_status local_write(void *inst, const void *buf, size_t len, size_t *n)
{
    struct interp__local_box *b = inst;
    ssize_t r;
    if (b->stage != LOCAL_OPEN)
        return INTERP_AGAIN;
    do
        r = send(b->stream, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    if (r >= 0) {
        *n = (size_t)r;
        return INTERP_OK;
    }
    if (errno == EAGAIN) {
        watch(b, b->mask | INTERP_IO_OUT);
        return INTERP_AGAIN;
    }
    return INTERP_E_CLOSED;
}

static interp_status local_kill(void *inst)
{
    struct interp__local_box *b = inst;
    b->killing = 1;
    send_kill(b);
    reap(b);
    if (b->gone || b->pidfd < 0)
        b->h->notify(b->l, INTERP_LINK_KILLED);
    return INTERP_OK;
}

static void local_close(void *inst)
{
    struct interp__local_box *b = inst;
    b->closing = 1;
    watch(b, 0);
    send_kill(b);
    reap(b);
    go_on_closing(b);
}

/* The pair of ids stays taken until the backend instance ends: nothing has proven that the sandbox is gone. */
static void local_abandon(void *inst)
{
    free_box(inst);
}

const interp_backend_ops *interp__local_ops(void)
{
    static const interp_backend_ops ops = {
        .struct_size = sizeof ops,
        .needs_host_ops = sizeof(interp_host_ops),
        .name = "local",
        .open = local_open,
        .advance = local_advance,
        .read = local_read,
        .write = local_write,
        .kill = local_kill,
        .close = local_close,
        .abandon = local_abandon
    };
    return &ops;
}
