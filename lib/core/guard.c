/* guard.c - thread class T3 made checkable, and callbacks that must not call back in */
#include "core.h"

static _Thread_local int callbacks;

int interp__enter(struct interp__guard *g)
{
    if (callbacks)
        return -1;
    return atomic_exchange_explicit(&g->inside, 1, memory_order_acquire) ? -1 : 0;
}
void interp__leave(struct interp__guard *g)
{
    atomic_store_explicit(&g->inside, 0, memory_order_release);
}
int interp__in_callback(void)
{
    return callbacks > 0;
}
void interp__callback(int enter)
{
    callbacks += enter ? 1 : -1;
}
