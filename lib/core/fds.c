/* fds.c - a forked child must not keep our sockets (its parent's sandbox would outlive the parent's end unseen) nor touch the shared epoll. The one
   atfork handler puts /dev/null in their place, so that the numbers stay taken and a later close in the child hits nothing else. */
#include "core.h"
#include <fcntl.h>
#include <unistd.h>

/* Chunks of slots, never freed: the handler may run while another thread was half-way through anything. Slot value: descriptor + 1, 0 free. */
#define SLOTS 1022
struct chunk {
    atomic_int slot[SLOTS];
    _Atomic(struct chunk *) next;
};
static struct chunk first;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
    int null = -1;
    for (struct chunk *c = &first; c; c = atomic_load(&c->next))
        for (int i = 0; i < SLOTS; i++) {
            int fd = atomic_load_explicit(&c->slot[i], memory_order_relaxed) - 1;
            if (fd < 0)
                continue;
            atomic_store_explicit(&c->slot[i], 0, memory_order_relaxed);
            if (null < 0)
                null = open("/dev/null", O_RDWR | O_CLOEXEC);
            if (null < 0 || dup3(null, fd, O_CLOEXEC) < 0)
                close(fd);
        }
    if (null >= 0)
        close(null);
}
static void install(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

void interp__fds_add(int fd)
{
    pthread_once(&once, install);
    for (struct chunk *c = &first;; c = atomic_load(&c->next)) {
        for (int i = 0; i < SLOTS; i++) {
            int none = 0;
            if (atomic_compare_exchange_strong(&c->slot[i], &none, fd + 1))
                return;
        }
        if (!atomic_load(&c->next)) {
            struct chunk *more = interp__alloc(&interp__mem_default, sizeof *more), *none = NULL;
            if (!more)
                return;   /* the child keeps this one descriptor: the agent's pidfd of the host still ends the sandbox */
            if (!atomic_compare_exchange_strong(&c->next, &none, more))
                interp__free(&interp__mem_default, more);
        }
    }
}

void interp__fds_remove(int fd)
{
    for (struct chunk *c = &first; c; c = atomic_load(&c->next))
        for (int i = 0; i < SLOTS; i++) {
            int have = fd + 1;
            if (atomic_compare_exchange_strong(&c->slot[i], &have, 0))
                return;
        }
}
