/* kernel.c - one kernel's life as the agent sees it: starting, ready, dying, dead. What happened to the process is the supervisor's
   word, never an end of file: a grandchild may hold the control socket open. */
#include "guest.h"

struct kernel kernels[KERNELS];

struct kernel *kernel_find(uint16_t id)
{
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
        if (k->stage != K_FREE && k->id == id)
            return k;
    return NULL;
}

static void take_text(struct kernel *k)      /* what it wrote to its standard error before it was ready */
{
    while (k->errors >= 0 && k->text_len < TEXT_MAX) {
        long r = sys_read(pipes[k->errors].fd, k->text + k->text_len, TEXT_MAX - k->text_len);
        if (r == -E_INTR)
            continue;
        if (r <= 0)
            break;
        k->text_len += (uint32_t)r;
    }
}

static void discard_errors(struct kernel *k) /* a child of it may still hold the other end: what comes there is read and dropped */
{
    if (k->errors < 0)
        return;
    pipes[k->errors].use = PIPE_DISCARD;
    late_hot = pipes[k->errors].ready = 1;
    k->errors = -1;
}

static void release(struct kernel *k)        /* descriptors of a process that is gone; control is kept while an exec reads from it */
{
    discard_errors(k);
    if (k->command >= 0)
        sys_close(k->command);
    k->command = -1;
    if (k->control >= 0 && !k->x.phase) {
        sys_close(k->control);
        k->control = -1;
    }
    k->pid = 0;
}

static void say_gone(uint16_t id, int proven)
{
    struct wire_out o;
    out_begin(&o, 8);
    interp__wire_put_u16(&o, id);
    interp__wire_put_u8(&o, (uint8_t)proven);
    out_end(WIRE_KERNEL_GONE, 0, &o);
}

/* Frees the slot after KERNEL_STOP or when there is nothing that a later frame could refer to. */
void kernel_forget(struct kernel *k)
{
    uint32_t gen = k->gen;
    release(k);
    if (k->blob >= 0)
        sys_close(k->blob);
    files_drop_dir(k);
    if (k->shared)
        sc2(NR_munmap, PTR(k->shared), (long)page_size);
    memset(k, 0, offsetof(struct kernel, path));
    k->supervisor = k->control = k->command = k->blob = k->errors = -1;
    k->gen = gen + 1;
}

/* Ends what there is of this kernel. how goes into the EXIT of its exec, ready_status into KERNEL_READY when it was still starting. */
void kernel_kill(struct kernel *k, uint8_t how, uint8_t ready_status)
{
    switch (k->stage) {
    case K_STALE:
    case K_BLOB:
        k->stage = K_DEAD;
        k->proven = 1;
        release(k);
        if (ready_status)
            start_answer(k, ready_status);
        if (k->x.phase == X_WAIT)
            exec_refuse(k, how);
        break;
    case K_STARTING:
        k->ready_status = ready_status;
        __attribute__((fallthrough));
    case K_READY:
        k->stage = K_DYING;
        k->how = how;
        supervisor_order(k, SUP_END, 0, 0);
        break;
    default:
        break;
    }
}

void kernel_stop(uint16_t id)
{
    struct kernel *k = kernel_find(id);
    if (!k) {
        say_gone(id, 1);
        return;
    }
    k->stopping = 1;
    if (k->stage == K_DYING)
        k->how = WIRE_HOW_STOPPED;
    if (k->stage == K_DEAD && k->supervisor >= 0) {
        k->stage = K_DYING;
        k->how = WIRE_HOW_STOPPED;
        supervisor_order(k, SUP_END, 0, 0);
    } else
        kernel_kill(k, WIRE_HOW_STOPPED, WIRE_READY_FAILED);
}

/* ---- the supervisor's reports */
static void last_frames(struct kernel *k, uint8_t how)
{
    struct exec *x = &k->x;
    int n = 0;
    if (x->phase != X_RUN)
        return;
    if (how == WIRE_HOW_PROTOCOL || k->control < 0 || sys_ioctl(k->control, FIONREAD, &n) < 0 || n < 0)
        n = 0;
    x->how = how;
    x->control_left = (uint32_t)n;
    x->phase = X_LAST;
    k->control_ready = 1;
}

static void died(struct kernel *k, const struct sup_message *m)
{
    k->exit_code = m->code;
    k->signal = m->signal;
    k->died_cpu = m->cpu;
    k->died_self = m->cpu_self;
    k->pid = 0;
    if (k->stage == K_DYING)
        return; /* by our own hand; SUP_GONE follows */
    take_text(k);
    if (k->stage == K_STARTING) {
        kernel_kill(k, WIRE_HOW_NOT_RUN, usage_pids_full(k) ? WIRE_READY_LIMIT : WIRE_READY_FAILED);
        return;
    }
    last_frames(k, WIRE_HOW_DIED);
    if (k->kind == WIRE_KIND_SCRIPT && files_has_state(k)) {
        k->stage = K_DEAD; /* the next exec goes on from its saved state; what it left running is left alone */
        release(k);
        k->outlives = 1;
        if (k->x.phase == X_WAIT)
            exec_respawn(k); /* an exec came in the moment of its end */
    } else
        kernel_kill(k, WIRE_HOW_DIED, 0);
}

static void gone(struct kernel *k, const struct sup_message *m)
{
    uint8_t how = k->how;
    sys_close(k->supervisor);
    k->supervisor = -1;
    k->unheard = 0;
    take_text(k);
    k->exit_code = m->code;
    k->signal = m->signal;
    k->died_cpu = m->cpu;
    k->died_self = m->cpu_self;
    k->proven = (uint8_t)(m->proven != 0);
    k->stage = K_DEAD;
    last_frames(k, how);
    release(k);
    if (k->ready_status)
        start_answer(k, k->ready_status);
    k->ready_status = 0;
    if (k->x.phase == X_WAIT) {
        /* its end had nothing to do with an exec that had not begun, unless that exec's own clock or interrupt brought it */
        int other = how == WIRE_HOW_DIED || (how == WIRE_HOW_KILLED && !k->x.cause && !k->x.exit_flags);
        exec_refuse(k, other ? WIRE_HOW_NOT_RUN : how);
    }
}

void supervisor_read(struct kernel *k)
{
    struct sup_message m;
    long r = k->supervisor < 0 ? -E_AGAIN : sys_read(k->supervisor, &m, sizeof m);
    if (r == -E_CONNRESET) /* it went with an order unread; what it said before is still there */
        r = sys_read(k->supervisor, &m, sizeof m);
    if (r == -E_AGAIN || r == -E_INTR)
        return;
    if (r != (long)sizeof m)
        fatal("supervisor", "a kernel's supervisor is gone"); /* nothing about its tree can be promised any more */
    switch (m.op) {
    case SUP_STARTED:
        k->pid = m.pid;
        break;
    case SUP_FAILED:
        kernel_kill(k, WIRE_HOW_NOT_RUN, m.error == -E_AGAIN || m.error == -E_NOMEM ? WIRE_READY_LIMIT : WIRE_READY_FAILED);
        break;
    case SUP_DIED:
        died(k, &m);
        break;
    case SUP_GONE:
        gone(k, &m);
        break;
    case SUP_SIGNALLED:
        if (k->unheard && !--k->unheard && k->x.phase == X_WAIT && k->stage == K_READY)
            exec_begin(k);
        break;
    default:
        break;
    }
}

void kernel_event(struct kernel *k, enum ep_kind kind, uint32_t events)
{
    switch (kind) {
    case EP_CONTROL:
        if (events & ~EPOLLOUT)
            k->control_ready = 1;
        if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR))
            k->control_hangup = 1;
        if (events & EPOLLOUT && k->want_out) {
            k->feed_ready = 1;
            k->want_out = 0;
            ep_want_out(k->control, 0, EP_CONTROL, k->gen, kernel_index(k));
        }
        break;
    case EP_COMMAND:
        k->feed_ready = 1;
        break;
    case EP_STDIN:
        k->x.in_ready = 1;
        break;
    default:
        supervisor_read(k);
    }
}

/* One turn's work for this kernel; 1: there is more to do at once. */
int kernel_step(struct kernel *k)
{
    int more = 0;
    if (k->stage == K_STARTING) {
        if (k->errors >= 0 && pipes[k->errors].ready) {
            pipes[k->errors].ready = 0;
            take_text(k);
            if (k->text_len == TEXT_MAX)
                discard_errors(k);
        }
        more |= (k->kind == WIRE_KIND_SCRIPT ? feed_kernel(k) : 0) | frames_start(k); /* a framed kernel gets nothing before `P` */
        if (k->stage == K_STARTING && A.now >= k->start_deadline)
            kernel_kill(k, WIRE_HOW_NOT_RUN, WIRE_READY_TIMEOUT);
        if (k->stage == K_READY)
            discard_errors(k);
    } else if ((k->stage == K_BLOB || k->stage == K_STALE) && A.now >= k->start_deadline)
        kernel_kill(k, WIRE_HOW_NOT_RUN, WIRE_READY_TIMEOUT);
    if (k->x.phase)
        more |= exec_step(k);
    if (k->stopping && k->stage == K_DEAD && !k->x.phase) {
        uint16_t id = k->id;
        int proven = k->proven;
        kernel_forget(k);
        say_gone(id, proven);
    }
    return more;
}
