/* main.c - the guest agent: PID 1 of a sandbox. Modes: "local" (the stream on descriptor 3, it builds its own root first) and
   "stdio" (wire protocol on 0 and 1 in a sandbox that a container engine made). One loop over one epoll set, nothing blocks in it. */
#include "guest.h"

#define BEAT (500 * MSEC)

struct agent A;
struct secret S;

int guest_main(int argc, char **argv);

int ep_add(int fd, uint32_t events, enum ep_kind kind, uint32_t gen, uint32_t index)
{
    struct epoll_event_k e = { .events = events, .data = (uint64_t)kind << 56 | (uint64_t)gen << 16 | index };
    return (int)sys_epoll_ctl(A.ep, EPOLL_CTL_ADD, fd, &e);
}
void ep_want_out(int fd, int on, enum ep_kind kind, uint32_t gen, uint32_t index)
{
    uint32_t in = kind == EP_STREAM_OUT ? 0 : EPOLLIN | EPOLLRDHUP;
    struct epoll_event_k e = { .events = in | EPOLLET | (on ? EPOLLOUT : 0), .data = (uint64_t)kind << 56 | (uint64_t)gen << 16 | index };
    sys_epoll_ctl(A.ep, EPOLL_CTL_MOD, fd, &e);
}

/* Each supervisor ends its own tree; what hangs on us lost its supervisor. One that does not get on (stopped by code that has its id) is
   ended after a while, and its tree comes to us. */
static void end_strays(int patience)
{
    unsigned n = proc_scan(-1);
    proc_mark_tree(n, A.pid, 0, 0);
    for (unsigned i = 0; i < n; i++) {
        int spared = 0;
        for (const struct kernel *k = kernels; k < kernels + KERNELS; k++)
            spared |= patience && k->stage && k->supervisor_pid == procs[i].pid;
        if (procs[i].mark && !spared)
            sys_kill(procs[i].pid, SIGKILL);
    }
}

_Noreturn void agent_end(int code)
{
    stream_flush();
    files_done();
    if (!A.init) {
        /* not PID 1: the kernel will not end the rest for us. Each supervisor ends its tree when its socket closes. */
        for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
            if (k->supervisor >= 0)
                sys_close(k->supervisor);
        for (int i = 0; A.facts.bare || i < 200; i++) {   /* bare: the host takes our end for the proof */
            long r;
            while ((r = sys_wait4(-1, NULL, WNOHANG | W_ALL, NULL)) > 0)
                ;
            if (r == -E_CHILD)
                break;
            end_strays(i < 100);
            struct timespec_k t = { 0, 5 * (int64_t)MSEC };
            sys_ppoll(NULL, 0, &t);
        }
    }
    sys_exit(code);
}

static void signals(void)
{
    uint8_t si[512];
    uint32_t no;
    long r = sys_read(A.sigfd, si, sizeof si);
    for (long i = 0; i + 128 <= r; i += 128) {
        __builtin_memcpy(&no, si + i, 4);
        if (no == SIGTERM)
            agent_end(0);
    }
    for (long pid; (pid = sys_wait4(-1, NULL, WNOHANG | W_ALL, NULL)) > 0;)
        worker_reaped((int)pid); /* supervisors report on their sockets; all else is just reaped */
}

static void event(const struct epoll_event_k *e)
{
    enum ep_kind kind = (enum ep_kind)(e->data >> 56);
    uint32_t gen = (uint32_t)(e->data >> 16), index = e->data & 0xffff, what = e->events;
    switch (kind) {
    case EP_STREAM:
    case EP_STREAM_OUT:
        stream_event(what);
        break;
    case EP_SIGNAL:
        signals();
        break;
    case EP_HOST:
        agent_end(0);
    case EP_PIPE:
        pipe_event(index, gen, what);
        break;
    case EP_WORKER:
    case EP_WORKER_IN:
        worker_event(index, gen, kind);
        break;
    default:
        if (index < KERNELS && kernels[index].stage && (kind == EP_SUPERVISOR || kernels[index].gen == gen))
            kernel_event(&kernels[index], kind, what);
    }
}

static uint64_t lease_end(void)
{
    if (!A.lease_ns || A.lease_ns > UINT64_MAX / 2)
        return UINT64_MAX;
    uint64_t end = A.last_frame + A.lease_ns;
    for (const struct kernel *k = kernels; k < kernels + KERNELS; k++) {
        uint64_t own = 0;
        if (k->x.phase && (k->x.timeout > UINT64_MAX / 4 || k->x.grace > UINT64_MAX / 4))
            return UINT64_MAX;
        if (k->x.phase)
            own = k->x.timeout + k->x.grace;
        else if (k->stage != K_DYING)
            continue;
        uint64_t t = A.last_frame + own + A.kill_ns + 10 * NSEC;
        end = t > end ? t : end;
    }
    uint64_t patience = workers_patience();
    if (patience > UINT64_MAX / 2)
        return UINT64_MAX;
    if (patience && A.last_frame + patience + 10 * NSEC > end)
        end = A.last_frame + patience + 10 * NSEC;
    return end;
}

static int wait_ms(void)
{
    uint64_t next = min64(min64(lease_end(), A.greeted ? A.life_end : UINT64_MAX), min64(late_timer(), min64(watch_timer(), workers_timer())));
    for (const struct kernel *k = kernels; k < kernels + KERNELS; k++) {
        if (!k->stage)
            continue;
        if (k->stage <= K_STARTING)
            next = min64(next, k->start_deadline);
        if (k->x.phase) {
            next = min64(next, ladder_timer(k));
            if (k->x.control_gone && k->stage == K_READY)
                next = min64(next, k->x.control_gone + 200 * MSEC);
            if (k->x.nudge && k->x.phase == X_RUN && k->stage == K_READY)
                next = min64(next, k->x.nudge);
        }
    }
    if (A.beat)
        next = min64(next, A.beat);
    if (next == UINT64_MAX)
        return -1;
    uint64_t ms = next > A.now ? (next - A.now + MSEC - 1) / MSEC : 0;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* The host's own bound is for an agent that says nothing. */
static void beat(void)
{
    int dying = 0;
    for (const struct kernel *k = kernels; k < kernels + KERNELS; k++)
        dying |= k->stage == K_DYING;
    if (!dying) {
        A.beat = 0;
        return;
    }
    if (A.beat && A.now >= A.beat && out_room()) {
        struct wire_out o;
        out_begin(&o, 0);
        out_end(WIRE_NOP, 0, &o);
    }
    if (A.now >= A.beat)
        A.beat = A.now + BEAT;
}

static _Noreturn void loop(void)
{
    struct epoll_event_k e[32];
    for (int busy = 1;;) {
        long n = sys_epoll_wait(A.ep, e, 32, busy ? 0 : wait_ms());
        if (n < 0 && n != -E_INTR)
            sys_exit(90);
        A.now = now_ns();
        for (long i = 0; i < n; i++)
            event(&e[i]);
        busy = stream_input();
        busy |= late_step();   /* before a kernel's word: what came before the end of an exec goes with it */
        for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
            if (k->stage) {
                busy |= kernel_step(k);
                ladder_step(k);
            }
        beat();
        busy |= workers_step();
        if (A.watch_bytes)
            watch_step();
        if (A.greeted && A.now >= min64(lease_end(), A.life_end))
            agent_end(0);
        stream_flush();
        if (!busy)
            pipe_refill();
    }
}

static void no_signals(void)
{
    struct sigaction_k dfl = { 0, 0, 0, 0 };
    uint64_t all = ~0ull;
    for (int s = 1; s <= 64; s++)
        sc4(NR_rt_sigaction, s, PTR(&dfl), 0, 8); /* an ignored signal would stay ignored in kernels */
    sys_sigmask(SIG_SETMASK, &all);
}

int guest_main(int argc, char **argv)
{
    struct boot_facts *f = &A.facts;
    *f = (struct boot_facts){ .cg_user_tasks = { -1, -1, -1 }, .cg_user_dir = -1, .cg_peak = -1, .cg_oom = -1, .cg_pids = -1, .host_pidfd = -1, .rules = -1, .life = -1 };
    if (argc < 2 || (!str_eq(argv[1], "local") && !str_eq(argv[1], "stdio")))
        return 64;
    f->local = str_eq(argv[1], "local");
    for (char **v = argv + argc + 1; *v; v++)
        memset(*v, 0, strlen(*v)); /* whatever environment we got is nobody's to find */
    no_signals();
    if (!f->local)   /* in local mode the lock-down does it: the host still has to write the id maps */
        sys_prctl(PR_SET_DUMPABLE, 0, 0);
    sys_prctl(PR_SET_NAME, (unsigned long)(uintptr_t)"interp", 0);
    A.pid = (int)sys_getpid();
    A.init = A.pid == 1;
    if (!A.init)
        sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
    A.now = A.last_frame = now_ns();
    if ((f->local ? boot_run(3, f) : engine_run(f)) < 0)
        return 65;
    if (files_init() < 0)
        return 66;
    /* what we make from here on (pipes, FIFOs, files) belongs to the user, so that it can open /dev/stderr and the like again */
    if (f->two_ids)
        sc1(NR_setfsuid, (long)f->user_uid);
    A.workspace = (int)sys_open(f->workspace ? f->workspace : WORKSPACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
    A.ep = (int)sc1(NR_epoll_create1, O_CLOEXEC);
    uint64_t set = 1ull << (SIGCHLD - 1) | (f->local ? 0 : 1ull << (SIGTERM - 1)); /* TERM: an engine's stop */
    A.sigfd = (int)sc4(NR_signalfd4, -1, PTR(&set), 8, O_CLOEXEC | O_NONBLOCK);
    if (A.ep < 0 || A.sigfd < 0)
        return 67;
    ep_add(A.sigfd, EPOLLIN, EP_SIGNAL, 0, 0);
    if (f->host_pidfd >= 0)
        ep_add(f->host_pidfd, EPOLLIN, EP_HOST, 0, 0);
    for (unsigned i = 0; i < KERNELS; i++) {
        S.code[i] = (struct ring){ .size = RING_SIZE, .buf = S.code_room[i] };
        S.input[i] = (struct ring){ .size = RING_SIZE, .buf = S.input_room[i] };
    }
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
        k->supervisor = k->control = k->command = k->blob = k->errors = k->x.in_fd = k->x.code_fd = k->x.out[0] = k->x.out[1] = -1;
    workers_init();
    A.last_frame = now_ns();
    stream_init(f->local ? 3 : 0, f->local ? 3 : 1);
    loop();
}
