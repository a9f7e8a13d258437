/* supervisor.c - one small process per kernel. It owns the kernel's tree: child subreaper, so nothing leaves it, and in a Landlock
   domain with signal scope, so that kill(-1) reaches exactly this tree. It takes orders from the agent and reports what it saw. */
#include "guest.h"

#define ROUND_MOST (10 * MSEC) /* that a look at a dying tree counts for: in what is longer, something else had the processor, and what is dying needs it as we do */
#define AT_WORK    (4 * NSEC)  /* beside the usual time: a process that is dying on a processor whose turn another machine has can't be moved to one that runs. The host is told meanwhile (main.c, beat) */

static struct kernel *own;
static int sock, sigfd, tree_pid, told, exit_code = -1, exit_signal;
static uint64_t exit_cpu, exit_self;

/* ---- the agent's side */
long supervisor_send(struct kernel *k, const struct sup_message *m, const int *fds, int nfds)
{
    struct { struct cmsghdr_k h; int fd[4]; } c = { { sizeof c.h + (size_t)nfds * sizeof(int), SOL_SOCKET, SCM_RIGHTS }, { 0 } };
    for (int i = 0; i < nfds; i++)
        c.fd[i] = fds[i];
    struct iovec_k v = { (void *)(uintptr_t)m, sizeof *m };
    struct msghdr_k h = { .iov = &v, .iovlen = 1, .control = nfds ? &c : NULL, .controllen = nfds ? sizeof c.h + 16 : 0 };
    return k->supervisor < 0 ? -E_BADF : sys_sendmsg(k->supervisor, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the supervisor's side */
static void tell(uint32_t op, int pid, uint32_t proven, int error)
{
    struct sup_message m = { .op = op, .pid = pid, .code = exit_code, .signal = exit_signal, .proven = proven, .error = error, .cpu = exit_cpu, .cpu_self = exit_self };
    struct iovec_k v = { &m, sizeof m };
    struct msghdr_k h = { .iov = &v, .iovlen = 1 };
    while (sys_sendmsg(sock, &h, MSG_NOSIGNAL) == -E_INTR)
        ;
}

static int reap(void)     /* 1: children are left, 0: none */
{
    struct rusage_k ru;
    struct timespec_k t;
    int st;
    if (tree_pid && sys_clock((int)(~(uint32_t)tree_pid << 3 | 2u), &t) == 0) /* once it is reaped, its own time can't be told from its children's */
        exit_self = (uint64_t)t.sec * NSEC + (uint64_t)t.nsec;
    for (;;) {
        long p = sys_wait4(-1, &st, WNOHANG | W_ALL, &ru);
        if (p == -E_INTR)
            continue;
        if (p <= 0)
            return p == 0;
        uint64_t cpu = (uint64_t)(ru.utime.sec + ru.stime.sec) * NSEC + (uint64_t)(ru.utime.usec + ru.stime.usec) * 1000u;
        if (p != tree_pid) {
            own->shared->orphan_cpu += cpu;
            continue;
        }
        tree_pid = 0;
        exit_signal = st & 0x7f;
        exit_code = exit_signal ? -1 : st >> 8 & 0xff;
        exit_cpu = cpu;
        if (!told)
            tell(SUP_DIED, (int)p, 0, 0);
    }
}

static void kill_round(void)
{
    if (A.facts.scoped) {
        sys_kill(-1, SIGKILL);
        return;
    }
    /* No scope: every descendant, found by walking. As a subreaper's tree never loses a member, "no child left" still proves its end. */
    unsigned n = proc_scan(-1);
    proc_mark_tree(n, (int)sys_getpid(), 0, 0);
    for (unsigned i = 0; i < n; i++)
        if (procs[i].mark)
            sys_kill(procs[i].pid, SIGKILL);
}

static _Noreturn void end_tree(void)
{
    uint64_t limit = A.kill_ns + AT_WORK, spent = 0, last = now_ns();
    int reported = 0;
    told = 1;
    for (int more = 1; more;) {
        kill_round();
        more = reap();
        uint64_t now = now_ns();
        spent += min64(now - last, ROUND_MOST);
        last = now;
        if (more && spent > limit) {
            if (reported && !A.facts.bare)   /* there the host takes our end for the proof */
                break;
            tell(SUP_GONE, 0, 0, 0);
            reported = 1;
            limit = spent + 10 * NSEC; /* go on trying: the agent has been told that there is no proof */
        }
        if (more) {
            struct pollfd_k p = { sigfd, POLLIN, 0 };
            struct timespec_k t = { 0, 5 * (int64_t)MSEC };
            uint8_t si[128];
            if (sys_ppoll(&p, 1, &t) > 0)
                sys_read(sigfd, si, sizeof si);
        }
    }
    if (!reported)
        tell(SUP_GONE, 0, 1, 0);
    sys_exit(0);
}

/* The kernel and what it started since `since`, for a SIGINT only what does not ignore it; what lost its parent meanwhile hangs on us. */
static void signal_tree(int sig, int kernel_sig, uint64_t since)
{
    if (tree_pid && kernel_sig)
        sys_kill(tree_pid, kernel_sig); /* first: it waits for nothing */
    if (!tree_pid)
        return;
    unsigned n = proc_scan(sock); /* on a crowded machine this takes a while: the next rung does not wait for it */
    int only = PROC_SINCE | (sig == SIGINT ? PROC_HEARS : 0);
    proc_mark_tree(n, tree_pid, only, since);
    struct proc *kernel = proc_find(n, tree_pid);
    if (kernel)
        kernel->start = 0;
    proc_mark_tree(n, (int)sys_getpid(), only, since);
    for (unsigned i = 0; i < n; i++)
        if (procs[i].mark)
            sys_kill(procs[i].pid, sig);
}

static void spawn(const int fds[3])
{
    long p;
    exit_code = -1, exit_signal = 0, exit_cpu = exit_self = 0;
    if (A.facts.cg_user_dir >= 0) {
        struct clone_args_k a = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)A.facts.cg_user_dir };
        p = sc2(NR_clone3, PTR(&a), sizeof a);
    } else
        p = sys_fork();
    if (p == 0)
        spawn_child(own, fds);
    for (int i = 0; i < 3; i++)
        sys_close(fds[i]);
    if (p < 0) {
        tell(SUP_FAILED, 0, 0, (int)p);
        return;
    }
    tree_pid = (int)p;
    tell(SUP_STARTED, (int)p, 0, 0);
}

static void order(void)
{
    struct sup_message m;
    struct { struct cmsghdr_k h; int fd[4]; } c;
    struct iovec_k v = { &m, sizeof m };
    struct msghdr_k h = { .iov = &v, .iovlen = 1, .control = &c, .controllen = sizeof c };
    long r = sys_recvmsg(sock, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (r == -E_AGAIN || r == -E_INTR)
        return;
    if (r != (long)sizeof m)
        end_tree(); /* the agent is gone */
    switch (m.op) {
    case SUP_SPAWN:
        if (h.controllen >= sizeof c.h + 12)
            spawn(c.fd);
        break;
    case SUP_INT:
        signal_tree(SIGINT, SIGINT, m.since);
        tell(SUP_SIGNALLED, 0, 0, 0);
        break;
    case SUP_TERM:
        signal_tree(SIGTERM, 0, m.since);
        tell(SUP_SIGNALLED, 0, 0, 0);
        break;
    case SUP_KILL_CHILDREN:
        signal_tree(SIGKILL, 0, m.since);
        if (tree_pid)
            sys_kill(tree_pid, SIGINT);
        tell(SUP_SIGNALLED, 0, 0, 0);
        break;
    case SUP_SIGNAL:
        signal_tree(m.signal, m.signal == SIGINT ? SIGINT : 0, m.since);
        tell(SUP_SIGNALLED, 0, 0, 0);
        break;
    default:
        end_tree();
    }
}

void fork_wipe(struct kernel *k)
{
    stream_wipe();
    if (sc3(NR_madvise, PTR(&S), sizeof S, MADV_DONTNEED) < 0)
        memset(&S, 0, sizeof S);
    for (unsigned i = 0; i < KERNELS; i++)
        if (&kernels[i] != k) {
            if (specs[i].len && sc3(NR_madvise, PTR(&specs[i]), sizeof specs[i], MADV_DONTNEED) < 0)
                memset(&specs[i], 0, sizeof specs[i]);
            if (kernels[i].stage)
                memset(&kernels[i], 0, sizeof kernels[i]);
        } else
            memset(&k->x, 0, sizeof k->x);
}

static _Noreturn void supervise(struct kernel *k, int fd)
{
    int keep[] = { fd, A.facts.cg_user_dir, A.facts.cg_user_tasks[0], A.facts.cg_user_tasks[1], A.facts.cg_user_tasks[2], A.facts.rules, A.facts.life };
    close_but(keep, 7, 0);
    fork_wipe(k);
    own = k;
    A.pid = (int)sys_getpid();
    sock = fd;
    sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
    sc1(NR_setfsuid, (long)sc0(NR_geteuid));
    if (A.facts.local)
        lock_supervisor();
    else
        engine_lock_supervisor();
    uint64_t set = 1ull << (SIGCHLD - 1);
    sigfd = (int)sc4(NR_signalfd4, -1, PTR(&set), 8, O_CLOEXEC | O_NONBLOCK);
    for (;;) {
        struct pollfd_k p[2] = { { sock, POLLIN, 0 }, { sigfd, POLLIN, 0 } };
        sys_ppoll(p, 2, NULL);
        if (p[1].revents) {
            uint8_t si[512];
            sys_read(sigfd, si, sizeof si);
            reap();
        }
        if (p[0].revents)
            order();
    }
}

int supervisor_fork(struct kernel *k)
{
    int s[2];
    long p = sc6(NR_mmap, 0, (long)page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p < 0 && p > -4096)
        return (int)p;
    struct shared *share = (struct shared *)(uintptr_t)p;
    if (k->shared)
        sc2(NR_munmap, PTR(k->shared), (long)page_size);     /* of the one before */
    k->shared = NULL;
    long r = sys_socketpair(SOCK_SEQPACKET | SOCK_CLOEXEC, s);
    if (r < 0)
        goto out;
    k->shared = share;
    r = sys_fork();
    if (r == 0) {
        sc3(NR_madvise, PTR(share), (long)page_size, MADV_DONTFORK);
        supervise(k, s[1]);
    }
    sys_close(s[1]);
    if (r < 0) {
        sys_close(s[0]);
        goto out;
    }
    k->supervisor_pid = (int)r;
    k->unheard = 0;
    k->supervisor = s[0];
    sys_fcntl(s[0], F_SETFL, O_RDWR | O_NONBLOCK);
    ep_add(k->supervisor, EPOLLIN, EP_SUPERVISOR, k->gen, kernel_index(k));
    return 0;
out:
    k->shared = NULL;
    sc2(NR_munmap, PTR(share), (long)page_size);
    return (int)r;
}
