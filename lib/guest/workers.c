/* workers.c - file work for the host, the agent's side. Each FILE is done by a process that has the rights, limits and groups of user code, in plain
   blocking calls (filework.c): whatever user code tricks it into, it could have done itself. A process that is done waits for the next FILE; one that
   failed or was cancelled half-way ends. Bytes go by two pipes, orders and answers by a socket. */
#include "guest.h"

#define CREDIT_STEP (WIRE_PUT_WINDOW / 4)
#define STOP_TIME   (1000 * MSEC)     /* to take away what was half made, before it is killed */

#define KEEPER      (workers + WORKERS - 1)

enum { W_FREE, W_IDLE, W_BUSY };
static struct worker {
    uint8_t stage, op, in_ready, in_end, told_end, heard;
    uint16_t channel;
    int pid, control, in, out;        /* out: index in pipes */
    uint32_t gen, credit, expected;   /* expected: of a frame that has begun, not here yet */
    uint64_t sent, seen, credited, eaten, relayed, stop_at, timeout;   /* eaten: taken out of its pipe */
    struct work_done done;
} workers[WORKERS];
static int busy;

static int feeds(uint8_t op)          /* the host sends bytes for it */
{
    return op == WIRE_FILE_PUT || op == WIRE_FILE_UNPACK;
}

static unsigned index_of(const struct worker *w)
{
    return (unsigned)(w - workers);
}

void workers_init(void)
{
    for (struct worker *w = workers; w < workers + WORKERS; w++) {
        w->control = w->in = w->out = -1;
        S.files[index_of(w)] = (struct ring){ .size = FILE_RING, .buf = S.file_room[index_of(w)] };
    }
}

static struct worker *by_channel(uint16_t channel)
{
    for (struct worker *w = workers; busy && w < workers + WORKERS; w++)
        if (w->stage == W_BUSY && w->channel == channel)
            return w;
    return NULL;
}

/* ---- the process */
static _Noreturn void become(int control, int in, int out)
{
    int keep[] = { control, in, out, A.facts.cg_user_tasks[0], A.facts.cg_user_tasks[2], A.facts.rules, A.facts.life };
    close_but(keep, 7, 0);
    fork_wipe(NULL);
    sc0(NR_setsid);
    for (int i = 0; i < 3; i += 2)    /* not its group of processes: files can be had while user code has all of those */
        if (A.facts.cg_user_tasks[i] >= 0 && sys_write(A.facts.cg_user_tasks[i], "0", 1) < 0)
            sys_exit(93);
    sc1(NR_setfsuid, (long)sc0(NR_geteuid));
    int adj = (int)sys_open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (adj >= 0)
        sys_write(adj, "1000", 4);
    int fd[4] = { (int)sys_open("/dev/null", O_RDWR | O_CLOEXEC), control, in, out };
    for (int i = 0; i < 4; i++)
        if ((fd[i] = (int)sys_fcntl(fd[i], F_DUPFD_CLOEXEC, 16)) < 0)
            sys_exit(94);
    if (A.facts.rules >= 0)
        A.facts.rules = (int)sys_fcntl(A.facts.rules, F_DUPFD_CLOEXEC, 16);
    if (A.facts.life >= 0)
        A.facts.life = (int)sys_fcntl(A.facts.life, F_DUPFD_CLOEXEC, 16);
    for (int i = 0; i < 6; i++)
        sys_dup3(fd[i < 3 ? 0 : i - 2], i, O_CLOEXEC);
    int left[] = { A.facts.rules, A.facts.life };
    close_but(left, 2, 6);
    sc1(NR_umask, 0);
    sc1(NR_setfsuid, (long)A.facts.user_uid);
    sc1(NR_chdir, PTR(A.facts.workspace ? A.facts.workspace : WORKSPACE));
    sc1(NR_setfsuid, (long)sc0(NR_geteuid));
    if (A.facts.local)
        lock_kernel();
    else
        engine_lock_kernel();
    sys_prctl(PR_SET_DUMPABLE, 0, 0);
    if (A.facts.rules >= 0)
        sys_close(A.facts.rules);
    file_work();
}

static int spawn(struct worker *w)
{
    int s[2] = { -1, -1 }, in[2] = { -1, -1 }, out[2] = { -1, -1 };
    long r = sys_socketpair(SOCK_SEQPACKET | SOCK_CLOEXEC, s);
    if (r >= 0)
        r = sys_pipe2(in, O_CLOEXEC);
    if (r >= 0)
        r = sys_pipe2(out, O_CLOEXEC);
    if (r < 0)
        goto fail;
    if (A.facts.cg_user_dir >= 0) {
        struct clone_args_k a = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)A.facts.cg_user_dir };
        r = sc2(NR_clone3, PTR(&a), sizeof a);
    } else
        r = sys_fork();
    if (r == 0)
        become(s[1], in[0], out[1]);
    if (r < 0)
        goto fail;
    *w = (struct worker){ .stage = W_IDLE, .gen = w->gen + 1, .pid = (int)r, .control = s[0], .in = in[1], .in_ready = 1 };
    sys_close(s[1]);
    sys_close(in[0]);
    sys_close(out[1]);
    s[1] = in[0] = out[1] = -1;
    sys_fcntl(w->in, F_SETFL, O_WRONLY | O_NONBLOCK);
    sys_fcntl(out[0], F_SETFL, O_RDONLY | O_NONBLOCK);
    w->out = pipe_adopt(out[0], PIPE_FILE);
    ep_add(w->control, EPOLLIN | EPOLLRDHUP, EP_WORKER, w->gen, index_of(w));
    if (w->out >= 0)
        return 0;
    r = w->out;
    sys_close(out[0]);
    sys_close(w->control);                             /* it ends by itself */
    sys_close(w->in);
    *w = (struct worker){ .gen = w->gen, .control = -1, .in = -1, .out = -1 };
    return (int)r;
fail:
    for (int i = 0; i < 2; i++) {
        int *fd[3] = { &s[i], &in[i], &out[i] };
        for (int k = 0; k < 3; k++)
            if (*fd[k] >= 0)
                sys_close(*fd[k]);
    }
    return (int)r;
}

static void end(struct worker *w)
{
    if (w->pid > 0)
        sys_kill(w->pid, SIGKILL);
    sys_close(w->control);
    sys_close(w->in);
    if (w->out >= 0)
        pipe_close(w->out);
    *w = (struct worker){ .gen = w->gen, .control = -1, .in = -1, .out = -1 };
}

void worker_reaped(int pid)
{
    for (struct worker *w = workers; w < workers + WORKERS; w++)
        if (w->stage && w->pid == pid)
            w->pid = 0;               /* the number may be another's from here on */
}

/* ---- one FILE */
static void answer(const struct wire_file_done *d)
{
    struct wire_out o;
    out_begin(&o, 64);
    interp__wire_put_file_done(&o, d);
    out_end(WIRE_FILE_DONE, 0, &o);
}

static void refuse(uint16_t channel, long error)
{
    struct wire_file_done d = { .channel = channel, .error = (uint16_t)-error };
    answer(&d);
}

static void finish(struct worker *w, uint16_t error)
{
    struct ring *q = &S.files[index_of(w)];
    w->done.d.channel = w->channel;
    if (error)
        w->done.d = (struct wire_file_done){ .channel = w->channel, .error = error };
    answer(&w->done.d);
    if (w->op == WIRE_FILE_GET && w->done.bytes > PIPE_ROOM && w->out >= 0)
        sys_fcntl(pipes[w->out].fd, F_SETPIPE_SZ, PIPE_ROOM);
    busy--;
    q->head = q->len = 0;
    w->stage = W_IDLE;
    int idle = 0;
    for (struct worker *o = workers; o < KEEPER; o++)
        idle += o->stage == W_IDLE;
    /* what it has not read would be the next one's; one that waits is enough, beside the keeper */
    if (error || w->stop_at || (w->done.d.error && feeds(w->op)) || (idle > 1 && w != KEEPER))
        end(w);
}

void worker_request(const struct wire_frame *f)
{
    struct wire_file m;
    if (interp__wire_get_file(f, &m) < 0 || m.channel < WIRE_CHANNEL_FIRST || m.path.len > WIRE_PATH_MAX || m.other.len > WIRE_PATH_MAX || by_channel(m.channel))
        fatal("protocol", "malformed FILE");
    struct worker *w = NULL;
    for (struct worker *o = workers; o < KEEPER; o++)
        if (o->stage == W_IDLE || (o->stage == W_FREE && !w))
            w = o;
    if (m.op == WIRE_FILE_SNAP || m.op == WIRE_FILE_DIFF)
        w = KEEPER->stage == W_BUSY ? NULL : KEEPER;
    if (!w)
        fatal("protocol", "more FILEs than there may be at a time");
    for (int again = w->stage == W_IDLE;; again = 0) {
        int r = w->stage == W_IDLE ? 0 : spawn(w);
        if (r < 0) {
            refuse(m.channel, r);
            return;
        }
        uint8_t kind = WORK_FILE;
        struct iovec_k v[2] = { { &kind, 1 }, { (void *)(uintptr_t)f->payload, f->size } };
        struct msghdr_k h = { .iov = v, .iovlen = 2 };
        if (sys_sendmsg(w->control, &h, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
            break;
        end(w);                       /* it was killed while it waited: a fresh one */
        if (!again) {
            refuse(m.channel, -WIRE_FILE_LOST);
            return;
        }
    }
    busy++;
    w->stage = W_BUSY;
    w->op = m.op;
    w->channel = m.channel;
    w->credit = WIRE_WINDOW;
    w->timeout = m.timeout_ns;
    w->in_end = w->told_end = w->heard = 0;
    w->expected = 0;
    w->sent = w->seen = w->credited = w->eaten = w->relayed = w->stop_at = 0;
}

static int tell(struct worker *w, uint8_t kind)
{
    uint8_t b[9] = { kind };
    memcpy(b + 1, &w->sent, sizeof w->sent);
    struct iovec_k v = { b, sizeof b };
    struct msghdr_k h = { .iov = &v, .iovlen = 1 };
    return sys_sendmsg(w->control, &h, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

void worker_cancel(uint16_t channel)
{
    struct worker *w = by_channel(channel);
    if (!w || w->stop_at)
        return;
    w->stop_at = A.now + STOP_TIME;
    if (feeds(w->op) && tell(w, WORK_CANCEL))
        return;                       /* it takes away what is half made */
    finish(w, E_CANCELED);
}

uint32_t *worker_credit(uint16_t channel)
{
    struct worker *w = by_channel(channel);
    return w ? &w->credit : NULL;
}

/* What it has taken out of its pipe makes room for as much: the pipe holds a window. */
static void eaten(struct worker *w, uint64_t all)
{
    w->eaten = all;
    if (all - w->credited < CREDIT_STEP || w->in_end)
        return;
    send_credit(w->channel, (uint32_t)(all - w->credited));
    w->credited = all;
}

/* Its pipe is full, or it has died, of which its socket tells. Room is asked about only then: else each time that it takes some would wake us. */
static void pipe_full(struct worker *w)
{
    w->in_ready = 0;
    ep_add(w->in, EPOLLOUT | EPOLLET, EP_WORKER_IN, w->gen, index_of(w));
}

int worker_expects(const struct wire_frame *f)
{
    struct worker *w = by_channel(f->channel);
    if (!w)
        return 0;
    if (w->in_end || !feeds(w->op))
        fatal("protocol", "DATA that FILE does not take");
    w->seen += f->size;
    w->expected = f->size;
    w->in_end = f->flags & WIRE_FLAG_END;
    if (w->seen - w->credited > WIRE_PUT_WINDOW)
        fatal("protocol", "DATA beyond the window");
    return 1;
}

void worker_data(uint16_t channel, const uint8_t *p, size_t n)
{
    struct worker *w = by_channel(channel);
    if (!w)
        return;                       /* over before its frame was */
    struct ring *q = &S.files[index_of(w)];
    w->expected -= (uint32_t)n;
    if (w->heard || w->stop_at)
        return;
    while (!q->len && n && w->in_ready) {
        long r = sys_write(w->in, p, n);
        if (r == -E_INTR)
            continue;
        if (r <= 0) {
            pipe_full(w);
            break;
        }
        p += r;
        n -= (size_t)r;
        w->sent += (uint64_t)r;
    }
    if (n && ring_put(q, p, n) < 0)
        fatal("protocol", "DATA beyond the window");
}

size_t worker_pass(uint16_t channel, int from, size_t n)
{
    static int no_splice;             /* of this kind of stream */
    struct worker *w = by_channel(channel);
    if (!w || w->heard || w->stop_at || !w->in_ready || S.files[index_of(w)].len || no_splice)
        return 0;
    long r = sys_splice(from, w->in, n, SPLICE_MOVE | SPLICE_NONBLOCK);
    no_splice = r < 0 && r != -E_AGAIN && r != -E_INTR && r != -E_PIPE;
    if (r <= 0)
        return 0;
    w->expected -= (uint32_t)r;
    w->sent += (uint64_t)r;
    return (size_t)r;
}

/* ---- what a process says, and the turns of the loop */
void worker_event(uint32_t i, uint32_t gen, enum ep_kind kind)
{
    struct worker *w = i < WORKERS ? &workers[i] : NULL;
    if (!w || !w->stage || w->gen != gen)
        return;
    if (kind == EP_WORKER_IN) {
        w->in_ready = 1;
        sys_epoll_ctl(A.ep, EPOLL_CTL_DEL, w->in, NULL);
        return;
    }
    struct work_done d;
    uint64_t taken;
    struct iovec_k v = { &d, sizeof d };
    struct msghdr_k h = { .iov = &v, .iovlen = 1 };
    long r = sys_recvmsg(w->control, &h, MSG_DONTWAIT);
    if (r == -E_AGAIN || r == -E_INTR)
        return;
    int fits = !(h.flags & MSG_TRUNC) && w->stage == W_BUSY && !w->heard;
    memcpy(&taken, &d, sizeof taken);
    if (fits && r == (long)sizeof taken && taken >= w->eaten && taken <= w->sent) {
        eaten(w, taken);
        return;
    }
    if (fits && r == (long)sizeof d) {
        w->done = d;
        w->heard = 1;
        return;
    }
    if (w->stage == W_BUSY)
        finish(w, w->stop_at ? E_CANCELED : WIRE_FILE_LOST);
    else
        end(w);
}

static int feed(struct worker *w)
{
    struct ring *q = &S.files[index_of(w)];
    struct iovec_k v[2];
    if (!q->len || !w->in_ready)
        return 0;
    int n = ring_view(q, v);
    long r = sys_writev(w->in, v, n);
    if (r == -E_INTR)
        return 1;
    if (r <= 0) {
        pipe_full(w);
        return 0;
    }
    ring_drop(q, (size_t)r);
    w->sent += (uint64_t)r;
    return q->len != 0;
}

int workers_step(void)
{
    int more = 0;
    for (struct worker *w = workers; busy && w < workers + WORKERS; w++) {
        if (w->stage != W_BUSY)
            continue;
        if (w->stop_at && A.now >= w->stop_at) {
            finish(w, E_CANCELED);
            continue;
        }
        if (!w->heard && !w->stop_at) {
            more |= feed(w);
            if (w->in_end && !w->told_end && !w->expected && !S.files[index_of(w)].len)
                w->told_end = 1, tell(w, WORK_END);
        }
        uint32_t before = w->credit;
        if (w->out >= 0) {
            if (w->heard && w->relayed < w->done.bytes)
                pipes[w->out].ready = 1;  /* what it said it wrote is there */
            more |= pipe_relay(w->out, w->channel, &w->credit, NULL);
            if (!pipes[w->out].use)
                w->out = -1;          /* its end: that entry may be another's from here on */
        }
        w->relayed += before - w->credit;
        if (!w->heard)
            continue;
        if (w->relayed == w->done.bytes)
            finish(w, 0);
        else if (w->relayed > w->done.bytes || w->out < 0)
            finish(w, WIRE_FILE_LOST);
    }
    return more;
}

uint64_t workers_timer(void)
{
    uint64_t next = UINT64_MAX;
    for (const struct worker *w = workers; busy && w < workers + WORKERS; w++)
        if (w->stage == W_BUSY && w->stop_at)
            next = min64(next, w->stop_at);
    return next;
}

uint64_t workers_patience(void)
{
    uint64_t most = 0;
    for (const struct worker *w = workers; busy && w < workers + WORKERS; w++)
        if (w->stage == W_BUSY && w->timeout > most)
            most = w->timeout;
    return most;
}
