/* watch.c - memory without a cgroup that bounds it: the sum of what the kernels' trees hold in anonymous and in shared memory and in swap, sampled.
   Not seen: memory files that nobody maps, buffers of pipes and sockets, page tables. Only a cgroup counts those. */
#include "guest.h"

#define BUSY (50 * MSEC)
#define IDLE (500 * MSEC)

static uint64_t next, pause;

static int wanted(void)        /* 0 no process of a user, 1 only background, 2 an exec runs */
{
    int w = 0;
    for (const struct kernel *k = kernels; k < kernels + KERNELS; k++)
        if (k->supervisor >= 0)
            w = k->x.phase > X_WAIT ? 2 : w ? w : 1;
    return w;
}

uint64_t watch_timer(void)
{
    int w = A.watch_bytes ? wanted() : 0;
    if (!w)
        return UINT64_MAX;
    if (!next || next > A.now + (w == 2 ? BUSY : IDLE))
        next = A.now + (w == 2 ? BUSY : IDLE);
    return next > pause ? next : pause;
}

/* The sum over the processes with an owner, as cheap as it can be told: first by what is anonymous, as long as even all of the rest would stay
   within the limit; then with the shared memory of each; then, if that is too much, exactly, where the kernel lets us look (with two ids it does
   not): the first two count a page more than once where several processes have it. The exact look is no snapshot: a page that a child maps after
   its parent was read counts whole there and in part here. So a second one goes the other way round, parents last, and the smaller sum holds:
   while processes come to share memory, or cease to, one of the two directions counts no page twice. */
static uint64_t measure(unsigned n, uint64_t share[KERNELS])
{
    uint64_t sum = 0, rests = 0, least = UINT64_MAX;
    for (int look = proc_swapped(); look < 4; look++) {      /* the first look does not see swap */
        memset(share, 0, KERNELS * sizeof *share);
        sum = 0;
        for (unsigned i = 0; i < n; i++) {
            const struct proc *p = &procs[look == 3 ? n - 1 - i : i];
            if (!p->owner)
                continue;
            /* the rough number after the exact one: of a process that ended in between it is none */
            uint64_t rest, bytes = look >= 2 ? proc_share(p->pid) : 0;
            if (!bytes) {
                bytes = proc_resident(p->pid, &rest);
                if (look)
                    bytes += proc_shared(p->pid);
                else
                    rests += rest;
            }
            share[p->owner - 1] += bytes;
            sum += bytes;
        }
        if (look >= 2 && sum < least)
            least = sum;
        if (sum + (look ? 0 : rests) <= A.watch_bytes)
            break;
    }
    return sum < least ? sum : least;
}

void watch_step(void)
{
    if (watch_timer() > A.now)
        return;
    next = 0;
    unsigned n = proc_scan(-1);
    uint64_t sum, share[KERNELS];
    /* with one id the supervisors themselves are hidden from us (not dumpable, and no group to see them by): their children are not */
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < KERNELS; j++)
            if (kernels[j].supervisor >= 0 && procs[i].ppid == kernels[j].supervisor_pid)
                procs[i].owner = (uint8_t)(j + 1);
    for (int more = 1; more;) {
        more = 0;
        for (unsigned i = 0; i < n; i++) {
            const struct proc *parent = procs[i].owner ? NULL : proc_find(n, procs[i].ppid);
            if (parent && parent->owner)
                procs[i].owner = parent->owner, more = 1;
        }
    }
    sum = measure(n, share);
    uint64_t spent = now_ns() - A.now;
    pause = spent > BUSY / 4 ? A.now + spent * 4 : 0;      /* user code that makes this slow must not get all of our time */
    struct kernel *worst = NULL;
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++) {
        if (k->x.phase && sum > k->x.watch_peak)
            k->x.watch_peak = sum;
        if (k->supervisor < 0 || k->stage == K_DYING)
            continue;
        /* of an exec first, else of what only runs in the background */
        if (!worst || (k->x.phase != 0) > (worst->x.phase != 0) ||
            ((k->x.phase != 0) == (worst->x.phase != 0) && share[kernel_index(k)] > share[kernel_index(worst)]))
            worst = k;
    }
    if (sum <= A.watch_bytes || !worst)
        return;
    worst->x.exit_flags |= WIRE_EXIT_WATCH;
    if (worst->stage == K_DEAD) { /* a shell's left-over tree */
        worst->stage = K_DYING;
        supervisor_order(worst, SUP_END, 0, 0);
    } else
        kernel_kill(worst, WIRE_HOW_KILLED, WIRE_READY_LIMIT);
}
