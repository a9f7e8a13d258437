/* feed.c - what goes into a kernel: control bytes (or command lines), and stdin. Never blocks. */
#include "guest.h"

#define CREDIT_STEP 32768u     /* give credit back in pieces of this size; a channel's window is fresh at its next use anyway */

static long send_control(struct kernel *k, struct iovec_k *v, int n)
{
    struct exec *x = &k->x;
    struct { struct cmsghdr_k h; int fd[4]; } c = { { 0, SOL_SOCKET, SCM_RIGHTS }, { 0, 0, 0, 0 } };
    struct msghdr_k m = { .iov = v, .iovlen = (size_t)n };
    if (x->npass) {
        for (int i = 0; i < x->npass; i++)
            c.fd[i] = x->pass[i];
        c.h.len = sizeof c.h + (size_t)x->npass * sizeof(int);
        m.control = &c;
        m.controllen = (c.h.len + 7) & ~(size_t)7;
    }
    long r = sys_sendmsg(k->control, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (r > 0) {
        for (; x->npass; x->npass--)
            sys_close(x->pass[x->npass - 1]);
    }
    return r;
}

int feed_kernel(struct kernel *k)
{
    struct exec *x = &k->x;
    struct ring *q = &S.code[kernel_index(k)];
    if (!q->len || !k->feed_ready || k->control < 0 || k->pid <= 0)
        return 0;
    struct iovec_k v[2];
    int n = ring_view(q, v);
    long r = k->kind == WIRE_KIND_SCRIPT ? sys_writev(k->command, v, n) : send_control(k, v, n);
    if (r == -E_INTR)
        return 1;
    if (r <= 0) {
        k->feed_ready = 0; /* EAGAIN: an event follows. EPIPE: so does the report of its death */
        if (r == -E_AGAIN && k->kind != WIRE_KIND_SCRIPT) {
            k->want_out = 1;
            ep_want_out(k->control, 1, EP_CONTROL, k->gen, kernel_index(k));
        }
        return 0;
    }
    uint32_t header = (uint32_t)min64((uint64_t)r, x->code_skip);
    ring_drop(q, (size_t)r);
    x->code_skip -= header;
    if (k->stage == K_READY && x->phase == X_RUN) {
        if (k->kind != WIRE_KIND_SCRIPT)
            x->code_eaten += (uint32_t)r - header;
        if (x->code_eaten >= CREDIT_STEP && x->code_seen < x->code_bytes) {
            send_credit(x->base, x->code_eaten);
            x->code_credited += x->code_eaten;
            x->code_eaten = 0;
        }
        if (!q->len && x->code_seen == x->code_bytes)
            x->ran = 1;
    }
    return q->len != 0;
}

int feed_stdin(struct kernel *k)
{
    struct exec *x = &k->x;
    struct ring *q = &S.input[kernel_index(k)];
    int more = 0;
    if (q->len && x->in_fd >= 0 && x->in_ready) {
        struct iovec_k v[2];
        int n = ring_view(q, v);
        long r = sys_writev(x->in_fd, v, n);
        if (r == -E_INTR)
            return 1;
        if (r > 0) {
            x->stdin_eaten += (uint32_t)r;
            const struct iovec_k *last = (size_t)r > v[0].len ? &v[1] : &v[0];
            x->typed = ((const uint8_t *)last->base)[(size_t)r - (last == v ? 0 : v[0].len) - 1];
            ring_drop(q, (size_t)r);
            more = q->len != 0;
        } else {
            x->in_ready = 0;
            if (r != -E_AGAIN) { /* nobody reads it any more: that is not an error, the rest goes nowhere */
                sys_close(x->in_fd);
                x->in_fd = -1;
                x->stdin_lost = 1;
            }
        }
    }
    if (x->stdin_lost && q->len) {
        x->stdin_eaten += q->len;
        ring_drop(q, q->len);
    }
    if (x->stdin_eaten >= CREDIT_STEP && !x->stdin_end) {
        send_credit((uint16_t)(x->base + 1), x->stdin_eaten);
        x->stdin_credited += x->stdin_eaten;
        x->stdin_eaten = 0;
    }
    /* a FIFO whose reader has not opened it yet would lose what is in it */
    if (x->stdin_end && !q->len && x->in_fd >= 0 && (k->kind == WIRE_KIND_PASSED || x->opened)) {
        if (x->pty >= 0) {
            more |= x->stdin_end == 1;
            pty_end(k);
            return more;
        }
        sys_close(x->in_fd);
        x->in_fd = -1;
        x->nudge = k->kind == WIRE_KIND_PASSED ? 0 : A.now + 2 * MSEC;
    }
    return more;
}
