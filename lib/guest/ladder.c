/* ladder.c - from "please stop" to "gone": SIGINT, SIGINT again, TERM and KILL to the children, and in time before the grace ends
   the whole tree, with proof. */
#include "guest.h"

static uint64_t since(const struct exec *x)      /* clock ticks since boot at the exec's start, as /proc counts */
{
    struct timespec_k t = { 0, 0 };
    sys_clock(CLOCK_BOOTTIME, &t);
    return ((uint64_t)t.sec * NSEC + (uint64_t)t.nsec - (A.now - x->began)) / (10 * MSEC);
}

static uint64_t rung(const struct exec *x, int n)
{
    switch (n) {
    case 1:
        return x->signalled + x->grace / 6;
    case 2:
        return x->signalled + x->grace / 2;
    case 3:
        return x->signalled + x->grace / 3 * 2;
    default:
        return x->signalled + x->grace - min64(x->grace / 10, 100 * MSEC);
    }
}

static void order(struct kernel *k, enum sup_op op)
{
    if (supervisor_order(k, op, since(&k->x)) >= 0)
        k->unheard++;
    k->interrupted = 1;
}

static void begin(struct kernel *k, uint8_t cause, int hard)
{
    struct exec *x = &k->x;
    int first = !x->signalled;
    if (first) {
        x->cause = cause;
        x->signalled = A.now;
        if (x->grace > UINT64_MAX / 4)
            x->grace = UINT64_MAX / 4;
    }
    if (x->phase == X_WAIT) { /* it has not begun and must not begin any more */
        if (k->stage == K_READY)
            exec_refuse(k, WIRE_HOW_KILLED);
        else
            kernel_kill(k, WIRE_HOW_KILLED, WIRE_READY_TIMEOUT);
    } else if (hard || !first || !x->grace) {
        kernel_kill(k, WIRE_HOW_KILLED, 0);
    } else {
        x->stage = 1;
        order(k, SUP_INT);
    }
}

void ladder_interrupt(const uint8_t id[WIRE_ID], uint8_t cause, int hard)
{
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
        if ((k->x.phase == X_WAIT || k->x.phase == X_RUN) && memcmp(k->x.id, id, WIRE_ID) == 0) {
            begin(k, cause, hard);
            return;
        }
}

void ladder_step(struct kernel *k)
{
    struct exec *x = &k->x;
    if (x->phase != X_WAIT && x->phase != X_RUN)
        return;
    if (!x->signalled) {
        if (A.now >= x->deadline)
            begin(k, WIRE_CAUSE_WALL, 0);
        return;
    }
    while (x->stage && x->stage < 5 && A.now >= rung(x, x->stage)) {
        static const uint8_t op[] = { 0, SUP_INT, SUP_TERM, SUP_KILL_CHILDREN };
        if (x->stage == 4)
            kernel_kill(k, WIRE_HOW_KILLED, 0);
        else
            order(k, op[x->stage]);
        x->stage++;
    }
}

uint64_t ladder_timer(const struct kernel *k)
{
    const struct exec *x = &k->x;
    if (x->phase != X_WAIT && x->phase != X_RUN)
        return UINT64_MAX;
    if (!x->signalled)
        return x->deadline;
    return x->stage && x->stage < 5 ? rung(x, x->stage) : UINT64_MAX;
}
