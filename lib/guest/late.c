/* late.c - what an exec's pipes bring after its end. A bounded window towards the host; what does not fit is read, dropped and counted.
   Reading to drop is paced (one pipe buffer each DROP_PACE), so that a flood neither blocks its writer for good nor burns our time. */
#include "guest.h"

#define DROP_PACE (20 * MSEC)
#define LATE_HEAD (WIRE_ID + 1u + 4u)
#define LATE_PIECE 16384u

static uint32_t window = WIRE_LATE_WINDOW;
static uint64_t pace;      /* when dropping is allowed again */
static uint8_t waiting;    /* something waits for that */

static void put(const struct opipe *p, struct wire_out *o)
{
    interp__wire_put_bytes(o, p->id, WIRE_ID);
    interp__wire_put_u8(o, p->stream);
    interp__wire_put_u32(o, p->dropped);
}

static void tell_dropped(struct opipe *p)
{
    struct wire_out o;
    if (!p->dropped || p->use != PIPE_LATE)
        return;
    out_begin(&o, LATE_HEAD);
    put(p, &o);
    out_end(WIRE_LATE, 0, &o);
    p->dropped = 0;
}

void late_adopt(int i, const uint8_t id[WIRE_ID], uint8_t stream)
{
    pipes[i].use = PIPE_LATE;
    pipes[i].stream = stream;
    memcpy(pipes[i].id, id, WIRE_ID);
    late_hot |= pipes[i].ready;
    if (++lates <= (int)LATES)
        return;
    int oldest = i;
    for (int j = 0; j < (int)PIPES; j++)
        if (pipes[j].use == PIPE_LATE && pipes[j].seq < pipes[oldest].seq)
            oldest = j;
    tell_dropped(&pipes[oldest]);
    pipe_close(oldest);
}

void late_credit(uint32_t bytes)
{
    window = (uint32_t)min64(WIRE_LATE_WINDOW, (uint64_t)window + bytes);
    if (out_room())
        for (struct opipe *p = pipes; p < pipes + PIPES; p++)
            tell_dropped(p);
}

/* One read of one pipe; 1: there may be more at once */
static int move(int i)
{
    struct opipe *p = &pipes[i];
    size_t room = p->use == PIPE_LATE && window ? out_room() : 0, n;
    uint8_t *to;
    if (room) {
        n = (size_t)min64(min64(window, LATE_PIECE), room - LATE_HEAD);
        to = out_place() + LATE_HEAD;
    } else if (A.now < pace) {
        waiting = 1;
        return 0;
    } else {
        n = 65536;
        to = S.scratch;
    }
    long r = sys_read(p->fd, to, n);
    if (r == -E_INTR)
        return 1;
    if (r <= 0) {
        p->ready = 0;
        if (r != -E_AGAIN) {
            tell_dropped(p);
            pipe_close(i);
        }
        return 0;
    }
    p->ready = (uint8_t)pipe_more(i, (uint64_t)r, n);
    if (room) {
        struct wire_out o = { to - LATE_HEAD, to, 0 };
        put(p, &o);
        p->dropped = 0;
        window -= (uint32_t)r;
        out_commit(WIRE_LATE, 0, 0, LATE_HEAD + (size_t)r);
        return p->ready;
    }
    p->dropped = p->dropped > UINT32_MAX - (uint32_t)r ? UINT32_MAX : p->dropped + (uint32_t)r;
    return p->ready && p->hangup;
}

int late_step(void)
{
    if (!late_hot || (waiting && A.now < pace && !window))
        return 0;
    int more = 0, dropping = A.now >= pace;
    waiting = late_hot = 0;
    for (int i = 0; i < (int)PIPES; i++)
        if (pipes[i].use == PIPE_LATE || pipes[i].use == PIPE_DISCARD) {
            if (pipes[i].ready)
                more |= move(i);
            late_hot |= pipes[i].use && pipes[i].ready;
        }
    if (dropping && late_hot)
        pace = A.now + DROP_PACE;
    return more;
}

uint64_t late_timer(void)
{
    return late_hot ? pace : UINT64_MAX;
}
