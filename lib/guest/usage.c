/* usage.c - what an exec used, by the agent's own observation: clocks, wait status, cgroup files, statfs. */
#include "guest.h"

#define SLOW (5 * MSEC)        /* shorter execs are not worth a look into /proc */
#define QUIET (20 * MSEC)      /* counters of the last exec's end still hold when this one follows at once */

static uint64_t cpu_of(int pid)
{
    struct timespec_k t;
    if (pid <= 0 || sys_clock((int)(~(uint32_t)pid << 3 | 2u), &t) < 0)
        return 0;
    return (uint64_t)t.sec * NSEC + (uint64_t)t.nsec;
}

/* The number behind `key` (or the file's first number) in a small file. */
static uint64_t counter(int fd, const char *key)
{
    char b[512];
    long n = fd < 0 ? 0 : sys_pread(fd, b, sizeof b - 1, 0);
    uint64_t v = 0;
    if (n <= 0)
        return 0;
    b[n] = 0;
    const char *s = scan_key(b, key);
    return s && scan_num(s, &v) ? v : 0;
}

void usage_start(struct kernel *k)
{
    k->pids_seen = counter(A.facts.cg_pids, "max ");
}

int usage_pids_full(const struct kernel *k)
{
    if (A.facts.cg_pids >= 0)
        return counter(A.facts.cg_pids, "max ") > k->pids_seen;
    /* RLIMIT_NPROC leaves no trace: count what it counts, threads and the supervisors that we can't see among them */
    uint64_t tasks = 0;
    unsigned n = A.pids ? proc_scan(-1) : 0;
    for (unsigned i = 0; i < n; i++)
        tasks += procs[i].threads;
    for (const struct kernel *o = kernels; o < kernels + KERNELS; o++)
        tasks += o->supervisor >= 0;
    return A.pids && tasks + 2 >= A.pids;
}

void usage_begin(struct kernel *k)
{
    struct usage_mark *m = &k->x.mark;
    m->cpu = cpu_of(k->pid);
    m->orphans = k->shared ? k->shared->orphan_cpu : 0;
    if (A.facts.cg_peak >= 0) {
        m->peak_reset = sys_pwrite(A.facts.cg_peak, "0", 1, 0) == 1;
        if (!m->peak_reset)
            m->peak = counter(A.facts.cg_peak, "");
    }
    if (k->x.cpu_limit != UINT64_MAX) {
        uint64_t since = ladder_since(&k->x);
        unsigned n = proc_scan(-1), past = 0;
        for (unsigned i = 0; i < n && past < PAST; i++)
            if (procs[i].start >= since)
                m->past[past++] = procs[i].pid;
    }
    int fresh = k->last_end && A.now - k->last_end < QUIET;
    m->oom = fresh ? k->oom_seen : counter(A.facts.cg_oom, "oom_kill ");
    m->pids_max = fresh ? k->pids_seen : counter(A.facts.cg_pids, "max ");
}

uint64_t usage_cpu(const struct kernel *k)
{
    const struct usage_mark *b = &k->x.mark;
    uint64_t self = cpu_of(k->pid), sum = self > b->cpu ? self - b->cpu : 0;
    unsigned n = proc_scan(-1);
    for (unsigned i = 0; i < n; i++) {
        if (procs[i].pid == k->pid && procs[i].cpu_children > k->child_cpu)
            sum += procs[i].cpu_children - k->child_cpu;
        for (unsigned j = 0; j < PAST; j++)
            if (procs[i].pid == b->past[j])
                procs[i].start = 0;
    }
    if (k->shared)
        sum += k->shared->orphan_cpu - b->orphans;
    /* what lost its parent hangs on the supervisor, beside the kernel */
    uint64_t since = ladder_since(&k->x);
    proc_mark_tree(n, k->pid, PROC_SINCE, since);
    proc_mark_tree(n, k->supervisor_pid, PROC_SINCE, since);
    for (unsigned i = 0; i < n; i++)
        if (procs[i].mark)
            sum += procs[i].cpu + procs[i].cpu_children;
    return sum;
}

void usage_end(struct kernel *k, struct wire_exit *m)
{
    struct exec *x = &k->x;
    struct usage_mark *b = &x->mark;
    uint64_t now = now_ns();
    m->wall_ns = now - x->began;
    if (!x->ran && x->how == WIRE_HOW_NOT_RUN)
        return;
    uint64_t self = k->died_self, children = k->child_cpu;
    struct proc p;
    if (k->pid > 0)
        self = cpu_of(k->pid);
    if (m->wall_ns >= SLOW) {
        if (k->pid <= 0)
            children = k->died_cpu - self;
        else if (proc_read(k->pid, &p) == 0)
            children = p.cpu_children;
    }
    m->cpu_ns = (self > b->cpu ? self - b->cpu : 0) + (children > k->child_cpu ? children - k->child_cpu : 0);
    k->child_cpu = k->pid > 0 ? children : 0;
    if (k->shared)
        m->cpu_ns += k->shared->orphan_cpu - b->orphans;
    if (m->cpu_ns < x->cpu_seen) /* what still runs was counted then */
        m->cpu_ns = x->cpu_seen;
    if (A.facts.cg_peak >= 0) {
        uint64_t peak = counter(A.facts.cg_peak, "");
        if (b->peak_reset || peak > b->peak)
            m->memory_peak = peak;
    } else if (x->watch_peak)
        m->memory_peak = x->watch_peak;
    if (A.facts.cg_oom >= 0) {
        k->oom_seen = counter(A.facts.cg_oom, "oom_kill ");
        m->oom_kills = k->oom_seen > b->oom ? (uint32_t)(k->oom_seen - b->oom) : 0;
    }
    if (A.facts.cg_pids >= 0) {
        k->pids_seen = counter(A.facts.cg_pids, "max ");
        m->limits_hit |= k->pids_seen > b->pids_max ? WIRE_LIMIT_PIDS : 0;
    }
    if (m->oom_kills || m->flags & WIRE_EXIT_WATCH)
        m->limits_hit |= WIRE_LIMIT_MEMORY;
    if (m->signal == SIGXFSZ)
        m->limits_hit |= WIRE_LIMIT_FILE;
    struct statfs_k s;
    if (A.workspace >= 0 && sc2(NR_fstatfs, A.workspace, PTR(&s)) == 0) {
        m->limits_hit |= s.blocks && !s.bavail ? WIRE_LIMIT_DISK : 0;
        m->limits_hit |= s.files && !s.ffree ? WIRE_LIMIT_INODES : 0;
    }
    k->last_end = now;
}
