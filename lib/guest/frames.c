/* frames.c - what comes from a kernel. Only headers are looked at; json and bin pass on to the host as they are. A kernel that breaks
   the protocol is killed. Nothing is read while no exec is in flight. */
#include "guest.h"

/* A short read says nothing of what is left: one ends behind each message that brought descriptors, or an urgent byte. Only a read that finds
   nothing has emptied the socket. */

/* ---- before it is ready */
static int start_broken(struct kernel *k)
{
    kernel_kill(k, WIRE_HOW_NOT_RUN, WIRE_READY_PROTOCOL);
    return 0;
}

static long take(struct kernel *k, void *p, size_t n)
{
    long r = sys_read(k->control, p, n);
    if (r <= 0 && r != -E_INTR)
        k->control_ready = 0; /* an end: its supervisor tells why */
    return r;
}

int frames_start(struct kernel *k)
{
    if (!k->control_ready || k->control < 0)
        return 0;
    if (k->head_len < KFRAME_HEADER) {
        long r = take(k, k->head + k->head_len, KFRAME_HEADER - k->head_len);
        if (r <= 0)
            return r == -E_INTR;
        k->head_len += (uint32_t)r;
        if (k->head_len < KFRAME_HEADER)
            return k->control_ready;
        if (interp__kframe_get(k->head, &k->frame) < 0 || k->frame.token)
            return start_broken(k);
        k->body = (uint64_t)k->frame.json_len + k->frame.bin_len;
        k->info_len = 0;
        if (k->frame.type == 'r' ? k->frame.bin_len || k->frame.json_len > TEXT_MAX : k->frame.type != 'c' || !(k->flags & WIRE_START_WANT_CACHE))
            return start_broken(k);
        k->blob_eaten = 0; /* from here on: header bytes of a 'c' frame that were passed on */
    }
    if (k->frame.type == 'c') {
        uint64_t n = min64(out_room(), k->credit);
        if (!n)
            return 0;
        if (k->blob_eaten < KFRAME_HEADER) {
            n = min64(n, KFRAME_HEADER - k->blob_eaten);
            memcpy(out_place(), k->head + k->blob_eaten, n);
            k->blob_eaten += (uint32_t)n;
        } else if (k->body) {
            long r = take(k, out_place(), min64(n, k->body));
            if (r <= 0)
                return r == -E_INTR;
            n = (uint64_t)r;
            k->body -= n;
        } else
            n = 0;
        if (n) {
            out_commit(WIRE_DATA, 0, k->channel, n);
            k->credit -= (uint32_t)n;
        }
        if (!k->body && k->blob_eaten == KFRAME_HEADER)
            k->head_len = 0;
        return 1;
    }
    if (k->body) {
        long r = take(k, k->info + k->info_len, k->body);
        if (r <= 0)
            return r == -E_INTR;
        k->info_len += (uint32_t)r;
        k->body -= (uint64_t)r;
        if (k->body)
            return k->control_ready;
    }
    k->stage = K_READY;
    k->head_len = 0;
    k->restored = k->frame.status == 2;
    start_answer(k, WIRE_READY_OK);
    k->respawn = 0;
    if (k->x.phase == X_WAIT)
        exec_begin(k);
    return 1;
}

/* ---- while an exec runs */
static int header_good(struct kernel *k)
{
    struct exec *x = &k->x;
    struct kframe *f = &k->frame;
    if (interp__kframe_get(k->head, f) < 0 || f->token != x->token)
        return 0;
    switch (f->type) {
    case 'd':
        return f->status == 0 && x->ran;
    case 'o':
        return k->kind != WIRE_KIND_PASSED && !x->opened && !f->json_len && !f->bin_len;
    case 'b': /* how the build of a one-shot went; the program starts after it */
        return k->flags & WIRE_START_ONESHOT && x->step == WIRE_STEP_BUILD && x->opened && !f->json_len && f->status >= WIRE_BUILD_DONE && f->status <= WIRE_BUILD_MISSING;
    case 'f': /* before its code was handed over whole it can't be an answer to it */
        return f->status >= WIRE_WORD_OK && f->status <= (x->cause || x->asked || x->pty >= 0 ? WIRE_WORD_INTERRUPTED : WIRE_WORD_EXIT) && x->ran;
    default:
        return 0;
    }
}

/* Follows the frames through n bytes. 0: fine, 1: the final frame ended with the last byte, -1: broken. */
static int follow(struct kernel *k, const uint8_t *p, size_t n)
{
    while (n || (k->head_len == KFRAME_HEADER && !k->body)) {
        if (k->head_len < KFRAME_HEADER) {
            k->head[k->head_len++] = *p++;
            n--;
            if (k->head_len < KFRAME_HEADER)
                continue;
            if (!header_good(k))
                return -1;
            k->body = (uint64_t)k->frame.json_len + k->frame.bin_len;
        }
        uint64_t skip = min64(n, k->body);
        p += skip;
        n -= skip;
        k->body -= skip;
        if (k->body)
            return 0;
        k->head_len = 0;
        if (k->frame.type == 'o')
            exec_opened(k);
        if (k->frame.type == 'b' && k->frame.status == WIRE_BUILD_DONE)
            k->x.step = WIRE_STEP_RUN, k->x.heard = A.now;
        if (k->frame.type == 'f')
            return n ? -1 : 1; /* a second word after the last one */
    }
    return 0;
}

int frames_exec(struct kernel *k)
{
    struct exec *x = &k->x;
    if (!k->control_ready || k->control < 0)
        return 0;
    uint64_t n = min64(out_room(), x->credit[0]);
    if (x->phase == X_LAST)
        n = min64(n, x->control_left);
    if (!n)
        return 0;
    uint8_t *p = out_place();
    long r = sys_read(k->control, p, n);
    if (r == -E_INTR)
        return 1;
    if (r <= 0) {
        k->control_ready = 0;
        x->control_left = 0;
        if (r != -E_AGAIN && !x->control_gone && x->step != WIRE_STEP_RUN) /* a one-shot's program has no word to give */
            x->control_gone = A.now; /* closed: dead in a moment, or it can never answer */
        return 0;
    }
    x->control_left -= x->phase == X_LAST ? (uint32_t)r : 0;
    int end = follow(k, p, (size_t)r);
    if (end < 0) {
        k->control_ready = 0;
        if (x->phase == X_LAST)
            x->control_left = 0;
        else
            kernel_kill(k, WIRE_HOW_PROTOCOL, 0);
        return 0;
    }
    x->heard = A.now; /* a display is output too */
    out_commit(WIRE_DATA, 0, x->base, (size_t)r);
    x->credit[0] -= (uint32_t)r;
    if (end && (x->phase == X_RUN || x->how == WIRE_HOW_DIED)) {
        exec_final(k, k->frame.status);
        return 0;
    }
    return 1;
}
