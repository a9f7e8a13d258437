/* guard.c - thread class T3 made checkable, the turns of threads in a session, and callbacks that must not call back in */
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

void interp__turn_init(struct interp__turn *t)
{
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->next, NULL);
}
void interp__turn_free(struct interp__turn *t)
{
    pthread_cond_destroy(&t->next);
    pthread_mutex_destroy(&t->lock);
}
int interp__turn_take(struct interp__turn *t, int wait)
{
    int r = -1;
    if (callbacks)
        return r;
    pthread_mutex_lock(&t->lock);
    int taken = t->given != t->called;
    if (!taken || (wait && !(t->held && pthread_equal(t->owner, pthread_self())))) {
        unsigned mine = t->given++;
        while (t->called != mine)
            pthread_cond_wait(&t->next, &t->lock);
        t->owner = pthread_self();
        t->held = 1;
        r = 0;
    }
    pthread_mutex_unlock(&t->lock);
    return r;
}
void interp__turn_end(struct interp__turn *t)
{
    pthread_mutex_lock(&t->lock);
    t->held = 0;
    if (++t->called != t->given)
        pthread_cond_broadcast(&t->next);
    pthread_mutex_unlock(&t->lock);
}

int interp__in_callback(void)
{
    return callbacks > 0;
}
void interp__callback(int enter)
{
    callbacks += enter ? 1 : -1;
}
