/* cancel.c - the one object that any thread and any signal handler may poke */
#include "core.h"

interp_status interp_cancel_new(interp_ctx *x, interp_cancel **out, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    if (!out)
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_cancel_new: out is NULL");
    interp_cancel *t = interp__alloc(&x->mem, sizeof *t);
    if (!t)
        return interp__nomem(err);
    t->ctx = interp__ctx_ref(x);
    atomic_init(&t->refs, 1);
    atomic_init(&t->fired, 0);
    *out = t;
    return INTERP_OK;
}

interp_cancel *interp_cancel_ref(interp_cancel *t)
{
    if (t)
        atomic_fetch_add(&t->refs, 1);
    return t;
}

void interp_cancel_fire(interp_cancel *t)
{
    if (!t)
        return;
    if (atomic_load(&t->fired) < UINT32_MAX / 2)
        atomic_fetch_add(&t->fired, 1);
    interp__ctx_wake(t->ctx);
}

int32_t interp_cancel_fired(const interp_cancel *t)
{
    return interp__cancel_count(t) > 0;
}

uint32_t interp__cancel_count(const interp_cancel *t)
{
    return t ? atomic_load(&((interp_cancel *)(uintptr_t)t)->fired) : 0;
}

void interp_cancel_free(interp_cancel *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    interp_ctx *x = t->ctx;
    interp__free(&x->mem, t);
    interp__ctx_unref(x);
}
