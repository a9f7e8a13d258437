/* guard.c - thread class T3 made checkable, and callbacks that must not call back in */
#include "core.h"
#include <sched.h>

enum { FREE, HOST, OURS };   /* OURS: shutdown and housekeeping, which never block, so a host's thread may wait for them */

static _Thread_local int callbacks;

int interp__enter(struct interp__guard *g)
{
    if (callbacks)
        return -1;
    for (;;) {
        int now = FREE;
        if (atomic_compare_exchange_strong_explicit(&g->inside, &now, HOST, memory_order_acquire, memory_order_relaxed))
            return 0;
        if (now == HOST)
            return -1;
        sched_yield();
    }
}
int interp__enter_ours(struct interp__guard *g)
{
    int now = FREE;
    return callbacks || !atomic_compare_exchange_strong_explicit(&g->inside, &now, OURS, memory_order_acquire, memory_order_relaxed) ? -1 : 0;
}
void interp__leave(struct interp__guard *g)
{
    atomic_store_explicit(&g->inside, FREE, memory_order_release);
}
int interp__in_callback(void)
{
    return callbacks > 0;
}
void interp__callback(int enter)
{
    callbacks += enter ? 1 : -1;
}
