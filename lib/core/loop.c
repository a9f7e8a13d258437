/* loop.c - one epoll set: of the whole context in LOOP mode, of one session otherwise. Level-triggered; data is index and generation, never a pointer, and each
   descriptor is deleted before it is closed: a descriptor that a concurrent spawn still holds would be reported for ever (measured). */
#include "core.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { KEY_WAKE = UINT32_MAX, KEY_TIMER = UINT32_MAX - 1 };

static int add_fixed(struct interp__loop *l, int fd, uint32_t key, uint32_t events)
{
    struct epoll_event e = { .events = events, .data.u64 = (uint64_t)key << 32 };
    return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e);
}

interp_status interp__loop_init(struct interp__loop *l, const struct interp__mem *mem, int wake, int with_timer)
{
    memset(l, 0, sizeof *l);
    l->mem = mem;
    l->timer = -1;
    l->wake = wake;
    l->armed = INTERP__NEVER;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll < 0)
        return INTERP_E_IO;
    interp__fds_add(l->epoll);
    if (with_timer) {
        l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (l->timer >= 0)
            interp__fds_add(l->timer);
    }
    /* threaded sessions share the context's wake descriptor, which nobody reads: each write is an edge for every waiter */
    if ((with_timer && (l->timer < 0 || add_fixed(l, l->timer, KEY_TIMER, EPOLLIN))) ||
        add_fixed(l, wake, KEY_WAKE, with_timer ? EPOLLIN : EPOLLIN | EPOLLET)) {
        interp__loop_close(l, 0);
        return INTERP_E_IO;
    }
    return INTERP_OK;
}

void interp__loop_close(struct interp__loop *l, int forked)
{
    int *fds[] = { &l->epoll, &l->timer };
    for (int i = 0; i < 2; i++) {
        if (*fds[i] < 0)
            continue;
        if (!forked)
            interp__fds_remove(*fds[i]);
        close(*fds[i]);   /* in a forked child: the /dev/null that the handler put there */
        *fds[i] = -1;
    }
    interp__free(l->mem, l->watches);
    l->watches = NULL;
    l->nwatches = 0;
}

static struct interp__watch *watch_of(struct interp__loop *l, const struct interp_link *link, int fd)
{
    for (uint32_t i = 0; i < l->nwatches; i++)
        if (l->watches[i].link == link && l->watches[i].fd == fd)
            return &l->watches[i];
    return NULL;
}

static void forget(struct interp__loop *l, struct interp__watch *w)
{
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    interp__fds_remove(w->fd);
    w->link = NULL;
    w->generation++;
}

interp_status interp__loop_watch(struct interp__loop *l, struct interp_link *link, int fd, uint32_t mask)
{
    struct interp__watch *w = watch_of(l, link, fd);
    if (!mask) {
        if (w)
            forget(l, w);
        return INTERP_OK;
    }
    int op = EPOLL_CTL_MOD;
    if (!w) {
        op = EPOLL_CTL_ADD;
        for (uint32_t i = 0; i < l->nwatches && !w; i++)
            if (!l->watches[i].link)
                w = &l->watches[i];
        if (!w) {
            struct interp__watch *more = interp__resize(l->mem, l->watches, (l->nwatches + 4) * sizeof *more);
            if (!more)
                return INTERP_E_NOMEM;
            memset(more + l->nwatches, 0, 4 * sizeof *more);
            l->watches = more;
            w = &more[l->nwatches];
            l->nwatches += 4;
        }
    } else if (w->mask == mask)
        return INTERP_OK;
    struct epoll_event e = { .events = (mask & INTERP_IO_IN ? EPOLLIN | EPOLLRDHUP : 0u) | (mask & INTERP_IO_OUT ? (uint32_t)EPOLLOUT : 0u) };
    e.data.u64 = (uint64_t)(w - l->watches) << 32 | w->generation;
    if (epoll_ctl(l->epoll, op, fd, &e))
        return INTERP_E_IO;
    if (op == EPOLL_CTL_ADD)
        interp__fds_add(fd);
    w->link = link;
    w->fd = fd;
    w->mask = mask;
    return INTERP_OK;
}

void interp__loop_forget(struct interp__loop *l, struct interp_link *link)
{
    for (uint32_t i = 0; i < l->nwatches; i++)
        if (l->watches[i].link == link)
            forget(l, &l->watches[i]);
}

int interp__loop_sleep(const struct interp__loop *l, int poll, int bell, uint64_t until, const sigset_t *mask)
{
    struct pollfd p[2] = { { .fd = poll ? l->epoll : -1, .events = POLLIN }, { .fd = bell, .events = POLLIN } };
    struct timespec t = { 0 };
    if (until != INTERP__NEVER) {
        uint64_t now = interp__now(), left = interp__min(until > now ? until - now : 0, UINT64_C(86400000000000));
        t.tv_sec = (time_t)(left / 1000000000u);
        t.tv_nsec = (long)(left % 1000000000u);
    }
    return ppoll(p, 2, until == INTERP__NEVER ? NULL : &t, mask) < 0 && errno == EINTR ? -1 : 0;
}

int interp__loop_poll(struct interp__loop *l, uint64_t until)
{
    struct epoll_event ev[64];
    int timeout = 0, total = 0, n;
    if (until == INTERP__NEVER)
        timeout = -1;
    else if (until) {
        uint64_t now = interp__now(), left = until > now ? until - now : 0;
        timeout = left > UINT64_C(86400000000000) ? 86400000 : (int)((left + 999999) / 1000000);
    }
    do {
        n = epoll_wait(l->epoll, ev, 64, timeout);
        if (n < 0)
            return errno == EINTR ? -1 : 0;
        for (int i = 0; i < n; i++) {
            uint32_t key = (uint32_t)(ev[i].data.u64 >> 32), generation = (uint32_t)ev[i].data.u64;
            uint64_t junk;
            if (key == KEY_TIMER) {
                if (read(l->timer, &junk, sizeof junk) > 0)
                    l->armed = INTERP__NEVER;
            } else if (key == KEY_WAKE) {
                if (l->timer >= 0 && read(l->wake, &junk, sizeof junk) > 0)
                    l->poked = 0;
            } else if (key < l->nwatches && l->watches[key].generation == generation && l->watches[key].link)
                l->watches[key].link->fired = 1;
        }
        total += n;
        timeout = 0;
    } while (n == 64 && total < 1024);
    return total;
}

void interp__loop_arm(struct interp__loop *l, uint64_t deadline)
{
    if (l->timer < 0 || l->armed == deadline)
        return;
    struct itimerspec t = { 0 };
    if (deadline != INTERP__NEVER) {
        t.it_value.tv_sec = (time_t)(deadline / 1000000000u);
        t.it_value.tv_nsec = (long)(deadline % 1000000000u);
        if (!deadline)
            t.it_value.tv_nsec = 1;
    }
    if (!timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &t, NULL))
        l->armed = deadline;
}

void interp__loop_poke(struct interp__loop *l)
{
    uint64_t one = 1;
    if (l->timer >= 0 && !l->poked && write(l->wake, &one, sizeof one) == sizeof one)
        l->poked = 1;
}
