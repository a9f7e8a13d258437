/* exec.c - one exec: from EXEC over its streams and frames to EXIT. */
#include "guest.h"

#define CODE_MAX ((uint32_t)(KFRAME_HEADER + KFRAME_JSON_MAX + KFRAME_BIN_MAX))
#define CONTROL_GONE (200 * MSEC)      /* a live process that closed its control socket can never answer */
#define DYING        50                /* such looks at one that is dying, until it is taken for a live one */

static void send_exit(const struct wire_exit *m)
{
    struct wire_out o;
    out_begin(&o, 128);
    interp__wire_put_exit(&o, m);
    out_end(WIRE_EXIT, 0, &o);
}

static void not_run(const uint8_t id[WIRE_ID])       /* no such kernel */
{
    struct wire_exit m = { .how = WIRE_HOW_NOT_RUN, .kernel_state = WIRE_KERNEL_PROVEN, .exit_code = -1, .memory_peak = UINT64_MAX };
    memcpy(m.id, id, WIRE_ID);
    send_exit(&m);
}

static void let_go(int *fd)
{
    if (*fd >= 0)
        sys_close(*fd);
    *fd = -1;
}

static void exec_exit(struct kernel *k)
{
    struct exec *x = &k->x;
    struct wire_exit m = {
        .how = x->how, .status = x->how == WIRE_HOW_FINAL ? x->word : 0, .interrupted = x->cause ? x->cause : x->asked ? WIRE_CAUSE_SIGNAL : WIRE_CAUSE_NONE, .exit_code = -1, .memory_peak = UINT64_MAX,
        .flags = x->exit_flags | (x->ran ? WIRE_EXIT_RAN : 0), .step = x->step
    };
    memcpy(m.id, x->id, WIRE_ID);
    /* a shell that will go on from its saved state is, for the host, the same kernel */
    if (k->stage != K_DEAD || k->outlives)
        m.kernel_state = WIRE_KERNEL_ALIVE;
    else
        m.kernel_state = k->proven ? WIRE_KERNEL_PROVEN : WIRE_KERNEL_UNPROVEN;
    if (k->stage == K_DEAD) {
        m.exit_code = k->exit_code;
        m.signal = k->signal;
    }
    if (k->outlives && x->how == WIRE_HOW_DIED && files_take_ended(k))
        m.flags |= WIRE_EXIT_SAVED;
    usage_end(k, &m);
    send_exit(&m);
    if (x->pty >= 0 && x->out[0] >= 0) {   /* what still runs there is hung up: a terminal has no late output */
        pipe_close(x->out[0]);
        x->out[0] = -1;
    }
    let_go(&x->pty);
    for (int i = 0; i < 2; i++)
        if (x->out[i] >= 0) {
            pipes[x->out[i]].ready |= pipes[x->out[i]].fifo; /* one that nobody ever opened has no end to tell: look */
            pipes[x->out[i]].fifo = 0;
            late_adopt(x->out[i], x->id, (uint8_t)(i + 1));
        }
    let_go(&x->in_fd);
    let_go(&x->code_fd);
    for (; x->npass; x->npass--)
        sys_close(x->pass[x->npass - 1]);
    files_remove(x, 1);
    S.input[kernel_index(k)].head = S.input[kernel_index(k)].len = 0;
    if (k->stage == K_READY)
        S.code[kernel_index(k)].head = S.code[kernel_index(k)].len = 0;
    k->head_len = 0;
    k->body = 0;
    x->phase = X_NONE;
    if (k->stage == K_DEAD && k->control >= 0)
        let_go(&k->control);
}

void exec_refuse(struct kernel *k, uint8_t how)
{
    k->x.how = how;
    k->x.ran = 0;
    exec_exit(k);
}

/* ---- EXEC */
void exec_respawn(struct kernel *k)
{
    if (k->blob < 0) {
        exec_refuse(k, WIRE_HOW_NOT_RUN);
        return;
    }
    k->respawn = 1;
    k->x.control_gone = 0;
    k->x.dying = 0;
    k->gen++;
    k->start_deadline = UINT64_MAX; /* the time of the exec that waits for it is enough */
    start_spawn(k);
}

void exec_request(const struct wire_frame *f)
{
    struct wire_exec m;
    if (interp__wire_get_exec(f, &m) < 0 || m.base < WIRE_CHANNEL_FIRST || m.base > UINT16_MAX - 2 || m.code_bytes > CODE_MAX ||
        (m.flags & WIRE_EXEC_PTY && !(m.flags & WIRE_EXEC_STDIN && m.flags & WIRE_EXEC_MERGE)))
        fatal("protocol", "malformed EXEC");
    struct kernel *k = kernel_find(m.kernel);
    if (k && k->x.phase)
        fatal("protocol", "EXEC on a busy kernel");
    if (!k || k->stopping || (k->stage == K_DEAD && k->kind != WIRE_KIND_SCRIPT)) {
        not_run(m.id);
        return;
    }
    struct exec *x = &k->x;
    memset(x, 0, offsetof(struct exec, files));
    x->phase = X_WAIT;
    memcpy(x->id, m.id, WIRE_ID);
    x->base = m.base;
    x->flags = m.flags;
    x->number = m.number;
    x->token = m.token;
    x->code_bytes = m.code_bytes;
    x->timeout = m.timeout_ns;
    x->build = m.build_ns;
    x->grace = min64(m.grace_ns, UINT64_MAX / 4);
    x->cpu_limit = m.cpu_ns;
    x->idle_limit = m.idle_ns;
    x->began = A.now;
    x->deadline = m.timeout_ns < UINT64_MAX - A.now ? A.now + m.timeout_ns : UINT64_MAX;
    x->credit[0] = x->credit[1] = x->credit[2] = WIRE_WINDOW;
    x->out[0] = x->out[1] = x->in_fd = x->code_fd = x->pty = -1;
    x->rows = m.rows;
    x->columns = m.columns;
    x->in_ready = 1;
    x->files[0] = 0;
    x->made = 0;
    x->prefix_len = m.prefix.len;
    memcpy(S.prefix[kernel_index(k)], m.prefix.p, m.prefix.len);
    memset(&x->mark, 0, sizeof x->mark);
    if (k->stage == K_DEAD)
        exec_respawn(k);
    if (!x->phase)
        return;
    if (k->kind == WIRE_KIND_SCRIPT) {
        if (files_code(k) < 0)
            exec_refuse(k, WIRE_HOW_NOT_RUN);
    } else /* what an exec that never began has left there is nobody's */
        S.code[kernel_index(k)].head = S.code[kernel_index(k)].len = 0;
    if (x->phase && k->stage == K_READY && (k->kind != WIRE_KIND_SCRIPT || !x->code_bytes))
        exec_begin(k);
}

void exec_code(struct kernel *k, const uint8_t *p, size_t n, int end)
{
    struct exec *x = &k->x;
    x->code_seen += (uint32_t)n;
    if (x->code_seen > x->code_bytes || (end && x->code_seen != x->code_bytes))
        fatal("protocol", "code is not as long as EXEC said");
    if (x->phase > X_RUN)
        return;
    if (k->kind != WIRE_KIND_SCRIPT) {
        if (x->code_seen - x->code_credited > WIRE_WINDOW || ring_put(&S.code[kernel_index(k)], p, n) < 0)
            fatal("protocol", "DATA beyond the window");
        return;
    }
    if (write_all(x->code_fd, p, n) < 0) {
        exec_refuse(k, WIRE_HOW_NOT_RUN);
        return;
    }
    x->code_eaten += (uint32_t)n;
    if (x->code_seen == x->code_bytes) {
        if (k->stage == K_READY && x->phase == X_WAIT)
            exec_begin(k);
    } else if (x->code_eaten >= WIRE_WINDOW / 4) {
        send_credit(x->base, x->code_eaten);
        x->code_credited += x->code_eaten;
        x->code_eaten = 0;
    }
}

void exec_stdin(struct kernel *k, const uint8_t *p, size_t n, int end)
{
    struct exec *x = &k->x;
    struct ring *q = &S.input[kernel_index(k)];
    if (!(x->flags & WIRE_EXEC_STDIN) || x->stdin_end)
        fatal("protocol", "stdin that EXEC did not announce");
    x->stdin_end = (uint8_t)(end != 0);
    if (x->phase > X_RUN)
        return;
    x->stdin_seen += (uint32_t)n;
    if (x->stdin_seen - x->stdin_credited > WIRE_WINDOW || ring_put(q, p, n) < 0)
        fatal("protocol", "DATA beyond the window");
}

/* ---- the kernel is ready and, for a script, the code is all there */
static int streams(struct kernel *k)
{
    struct exec *x = &k->x;
    int end;
    if (x->flags & WIRE_EXEC_PTY)
        return pty_make(k);
    if (k->kind != WIRE_KIND_PASSED)
        return files_streams(k);
    if (x->flags & WIRE_EXEC_STDIN) {
        int f[2];
        if (sys_pipe2(f, O_CLOEXEC) < 0)
            return -1;
        sys_fcntl(f[1], F_SETFL, O_WRONLY | O_NONBLOCK);
        x->pass[x->npass++] = f[0];
        x->in_fd = f[1];
    }
    for (int i = 0; i < 2; i++) {
        if (i && x->flags & WIRE_EXEC_MERGE)   /* one pipe, twice */
            end = (int)sys_fcntl(end, F_DUPFD_CLOEXEC, 3);
        else if ((x->out[i] = pipe_spare(&end)) < 0)
            return -1;
        if (end < 0)
            return -1;
        x->pass[x->npass++] = end;
    }
    return 0;
}

void exec_begin(struct kernel *k)
{
    struct exec *x = &k->x;
    int n = 0;
    if (k->kind == WIRE_KIND_SCRIPT && x->code_seen < x->code_bytes)
        return;
    if (x->cause || k->unheard)
        return; /* its end has begun already; or a signal meant for the last exec is still on its way */
    let_go(&x->code_fd);
    if (k->control_hangup && sys_ioctl(k->control, FIONREAD, &n) == 0 && !n) {
        x->control_gone = A.now; /* it has ended, or will never answer: its supervisor's word comes in a moment */
        return;
    }
    /* bytes that are there before the streams were named answer nothing that we asked */
    if (sys_ioctl(k->control, FIONREAD, &n) < 0 || n > 0) {
        kernel_kill(k, WIRE_HOW_PROTOCOL, 0);
        return;
    }
    k->control_ready = 0; /* it is empty: the next byte is news */
    if (streams(k) < 0) {
        x->exit_flags |= x->flags & WIRE_EXEC_PTY ? WIRE_EXIT_NO_PTY : 0;
        exec_refuse(k, WIRE_HOW_NOT_RUN);
        return;
    }
    if (x->in_fd >= 0)
        ep_add(x->in_fd, EPOLLOUT | EPOLLET, EP_STDIN, k->gen, kernel_index(k));
    usage_begin(k);
    x->heard = A.now;
    x->cpu_look = A.now + min64(x->cpu_limit / 8, 1000 * MSEC);
    k->head_len = 0;
    k->body = 0;
    struct ring *q = &S.code[kernel_index(k)];
    if (k->kind == WIRE_KIND_SCRIPT) {
        const struct spec *s = &specs[kernel_index(k)];
        if (files_expand(k, s->raw + s->template, s->template_len, 1) < 0) {
            kernel_kill(k, WIRE_HOW_NOT_RUN, 0); /* half a template must not stay in front of the next one */
            return;
        }
    } else {
        uint8_t p[KFRAME_HEADER + sizeof x->files];
        uint32_t len = k->kind == WIRE_KIND_PATHS ? (uint32_t)strlen(x->files) : 0;
        struct kframe f = { .bin_len = len, .token = x->token, .type = 'P', .status = (uint8_t)((x->flags & WIRE_EXEC_STDIN ? 1 : 0) | (k->interrupted ? 2 : 0) | (x->pty >= 0 ? 4 : 0)) };
        k->interrupted = 0;
        interp__kframe_put(p, &f);
        memcpy(p + KFRAME_HEADER, x->files, len);
        ring_front(q, p, KFRAME_HEADER + len);
        x->code_skip = KFRAME_HEADER + len;
    }
    if (k->flags & WIRE_START_ONESHOT) {
        x->step = WIRE_STEP_BUILD;
        x->build = x->build < UINT64_MAX - A.now ? A.now + x->build : UINT64_MAX;
    }
    x->phase = X_RUN;
}

void exec_opened(struct kernel *k)
{
    struct exec *x = &k->x;
    x->opened = 1;
    files_remove(x, 0);
    for (int i = 0; i < 2; i++)
        if (x->out[i] >= 0)
            pipes[x->out[i]].fifo = 0;
}

/* ---- the end */
static void drain(struct kernel *k)
{
    struct exec *x = &k->x;
    x->phase = X_DRAIN;
    for (int i = 0; i < 2; i++) {
        /* what a terminal holds is not to be had as a number, but a read that finds nothing has waited for it */
        x->left[i] = x->out[i] < 0 ? 0 : x->pty >= 0 ? PTY_HOLDS : pipe_pending(x->out[i]);
        if (x->left[i])
            pipes[x->out[i]].ready = 1;
    }
}

void exec_final(struct kernel *k, uint8_t word)
{
    k->x.word = word;
    k->x.how = WIRE_HOW_FINAL;
    k->x.asked |= word == WIRE_WORD_INTERRUPTED && !k->x.cause;   /* typed, at a terminal */
    drain(k);
}

/* What is still unread then is late output. */
void exec_cut(struct kernel *k)
{
    struct exec *x = &k->x;
    if (x->phase == X_LAST)
        drain(k);
    x->left[0] = x->left[1] = 0;
    if (k->stage != K_DYING)
        exec_exit(k);
}

/* Has it closed its control socket for good? What is dying has closed it, too, and may be long in giving back the files in memory that it held. */
static int mute(struct kernel *k)
{
    struct exec *x = &k->x;
    struct proc p;
    if (!x->control_gone || k->stage != K_READY || A.now - x->control_gone < CONTROL_GONE)
        return 0;
    if (x->dying >= DYING || (proc_read(k->pid, &p) == 0 && !p.exiting))
        return 1;
    x->dying++;
    x->control_gone = A.now;
    return 0;
}

int exec_step(struct kernel *k)
{
    struct exec *x = &k->x;
    int more = 0;
    if (x->phase == X_WAIT) {
        if (mute(k))
            kernel_kill(k, WIRE_HOW_PROTOCOL, 0);
        return 0;
    }
    if (x->phase == X_RUN && k->stage == K_READY) {
        more |= feed_kernel(k);
        more |= feed_stdin(k);
        if (x->nudge && A.now >= x->nudge) {
            files_nudge(x);
            x->nudges = (uint8_t)(x->nudges + (x->nudges < 6));
            x->nudge = A.now + (2 * MSEC << x->nudges);
        }
    }
    for (int i = 0; i < 2 && x->phase != X_DRAIN; i++)
        if (x->out[i] >= 0) {
            uint32_t had = x->credit[1 + i];
            more |= pipe_relay(x->out[i], (uint16_t)(x->base + 1 + i), &x->credit[1 + i], NULL);
            if (x->credit[1 + i] != had)
                x->heard = A.now;
            if (!pipes[x->out[i]].use)
                x->out[i] = -1;
        }
    if (x->phase == X_LAST || (x->phase == X_RUN && k->stage == K_READY))
        more |= frames_exec(k);
    if (x->phase == X_RUN && x->opened == 1) {
        x->opened = 2; /* now stdin may be closed */
        more |= feed_stdin(k);
    }
    if (x->phase == X_RUN && mute(k))
        kernel_kill(k, WIRE_HOW_PROTOCOL, 0);
    /* a kernel that is stopped takes what nobody makes room for with it */
    if (x->phase == X_LAST && (!x->control_left || k->stopping))
        drain(k);
    if (x->phase == X_DRAIN) {
        int waits = 0;
        for (int i = 0; i < 2; i++) {
            while (x->out[i] >= 0 && pipe_relay(x->out[i], (uint16_t)(x->base + 1 + i), &x->credit[1 + i], &x->left[i]))
                ;
            if (x->out[i] >= 0 && !pipes[x->out[i]].use)
                x->out[i] = -1;
            waits |= x->out[i] >= 0 && x->left[i] && pipes[x->out[i]].ready;
        }
        if ((!waits || k->stopping) && k->stage != K_DYING) {
            exec_exit(k);
            return 0;
        }
    }
    return more;
}
