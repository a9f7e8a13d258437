/* ladder.c - when an exec has to stop, and from "please stop" to "gone": SIGINT, SIGINT again, TERM and KILL to the children, and in
   time before the grace ends the whole tree, with proof. */
#include "guest.h"

#define UNHEARD_MOST 64         /* signals that a supervisor has not confirmed */
#define LOOK_LEAST (10 * MSEC)
#define LOOK_MOST  (1000 * MSEC)

uint64_t ladder_since(const struct exec *x)
{
    struct timespec_k t = { 0, 0 };
    sys_clock(CLOCK_BOOTTIME, &t);
    return ((uint64_t)t.sec * NSEC + (uint64_t)t.nsec - (A.now - x->began)) / (10 * MSEC);
}

/* A one-shot's build has a share of its own in the exec's time. */
static uint64_t deadline(const struct exec *x)
{
    return x->step == WIRE_STEP_BUILD ? min64(x->build, x->deadline) : x->deadline;
}

static uint64_t last(const struct exec *x)
{
    return x->grace - min64(x->grace / 10, 100 * MSEC);
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
        return x->signalled + last(x);
    }
}

static void order(struct kernel *k, enum sup_op op, int sig)
{
    if (supervisor_order(k, op, ladder_since(&k->x), sig) >= 0)
        k->unheard++;
    k->interrupted |= op != SUP_SIGNAL || sig == SIGINT;
}

static void begin(struct kernel *k, uint8_t cause, int hard)
{
    struct exec *x = &k->x;
    int first = !x->signalled;
    if (first) {
        x->cause = cause;
        x->signalled = A.now;
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
        order(k, SUP_INT, 0);
    }
}

/* Its kernel has given its word or is dead: what it left is being read, and only the host can hold that up. A host that is away misses nothing for it:
   the time of the last rung runs from when it is heard of after the exec's own time, or after its interrupt. */
static void last_step(struct kernel *k)
{
    struct exec *x = &k->x;
    uint64_t due = x->signalled ? x->signalled : x->deadline;
    if (!x->cut && A.now >= due && A.last_frame >= due)
        x->cut = A.now + last(x);
    if (x->cut && A.now >= x->cut)
        exec_cut(k);
}

static void hurry(struct exec *x, int hard)
{
    if (hard || x->signalled)
        x->cut = A.now; /* in this turn, after what there is room for */
    else
        x->signalled = A.now;
}

void ladder_interrupt(const uint8_t id[WIRE_ID], uint8_t cause, int hard)
{
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
        if (k->x.phase && memcmp(k->x.id, id, WIRE_ID) == 0) {
            if (k->x.phase > X_RUN)
                hurry(&k->x, hard);
            else
                begin(k, cause, hard);
            return;
        }
}

/* A signal of the host's. Before the code runs there is nobody to hear it. */
void ladder_signal(const uint8_t id[WIRE_ID], uint8_t sig)
{
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
        if (k->x.phase == X_RUN && k->stage == K_READY && memcmp(k->x.id, id, WIRE_ID) == 0) {
            if (k->unheard >= UNHEARD_MOST)
                return; /* as the kernel does with a signal that is pending: the order that ends it all must find room */
            k->x.asked |= sig == SIGINT;
            order(k, SUP_SIGNAL, sig);
            return;
        }
}

/* A part of what is left, so that some busy processors at once do not take it far past the limit; and never most of our own time. */
static void cpu_step(struct kernel *k)
{
    struct exec *x = &k->x;
    if (x->cpu_limit == UINT64_MAX || A.now < x->cpu_look)
        return;
    uint64_t used = usage_cpu(k), now = now_ns(), spent = now - A.now, pause;
    x->cpu_seen = used;
    if (used >= x->cpu_limit) {
        begin(k, WIRE_CAUSE_CPU, 0);
        return;
    }
    pause = min64((x->cpu_limit - used) / 8, LOOK_MOST);
    pause = pause > LOOK_LEAST ? pause : LOOK_LEAST;
    x->cpu_look = now + (pause > spent * 4 ? pause : spent * 4);
}

static void idle_step(struct kernel *k)
{
    struct exec *x = &k->x;
    if (x->idle_limit == UINT64_MAX || x->step == WIRE_STEP_BUILD || A.now - x->heard < x->idle_limit) /* a build is silent: it has its own clock */
        return;
    for (int i = 0; i < 2; i++)
        if (x->out[i] >= 0 && pipe_pending(x->out[i]))
            x->heard = A.now; /* it has written: the host does not take it */
    if (x->heard != A.now)
        begin(k, WIRE_CAUSE_IDLE, 0);
}

void ladder_step(struct kernel *k)
{
    struct exec *x = &k->x;
    if (x->phase > X_RUN)
        last_step(k);
    if (x->phase != X_WAIT && x->phase != X_RUN)
        return;
    if (!x->signalled) {
        if (A.now >= deadline(x))
            begin(k, WIRE_CAUSE_WALL, 0);
        else if (x->phase == X_RUN && k->stage == K_READY) {
            cpu_step(k);
            if (!x->signalled)
                idle_step(k);
        }
        return;
    }
    while (x->stage && x->stage < 5 && A.now >= rung(x, x->stage)) {
        static const uint8_t op[] = { 0, SUP_INT, SUP_TERM, SUP_KILL_CHILDREN };
        if (x->stage == 4)
            kernel_kill(k, WIRE_HOW_KILLED, 0);
        else
            order(k, op[x->stage], 0);
        x->stage++;
    }
}

uint64_t ladder_timer(const struct kernel *k)
{
    const struct exec *x = &k->x;
    if (x->phase > X_RUN)
        return x->cut ? x->cut : UINT64_MAX;
    if (!x->signalled) {
        uint64_t next = deadline(x);
        if (x->phase == X_RUN && k->stage == K_READY) {
            next = x->cpu_limit == UINT64_MAX ? next : min64(next, x->cpu_look);
            next = x->idle_limit < UINT64_MAX - x->heard && x->step != WIRE_STEP_BUILD ? min64(next, x->heard + x->idle_limit) : next;
        }
        return next;
    }
    return x->stage && x->stage < 5 ? rung(x, x->stage) : UINT64_MAX;
}
