/* pipes.c - the read ends of all pipes that we own, in one table. Each is a description of our own, non-blocking, edge-triggered in
   the epoll set for as long as it lives, so that nothing has to be armed or disarmed while execs come and go. */
#include "guest.h"

struct opipe pipes[PIPES];
int lates;
uint8_t late_hot;
static uint64_t count;
static int spare[4], spare_end[4], spares;
static int16_t unused[PIPES];      /* a stack of free entries */
static int fresh, nunused;         /* entries from `fresh` on were never used */

int pipe_adopt(int fd, enum pipe_use use)
{
    int i = nunused ? unused[nunused - 1] : fresh;
    if (i >= (int)PIPES)
        return -E_AGAIN;
    struct opipe *p = &pipes[i];
    int r = ep_add(fd, EPOLLIN | EPOLLET, EP_PIPE, p->gen + 1, (uint32_t)i);
    if (r < 0)
        return r;
    if (nunused)
        nunused--;
    else
        fresh++;
    p->fd = fd;
    p->gen++;
    p->use = (uint8_t)use;
    p->stream = p->ready = p->fifo = p->hangup = 0;
    p->dropped = 0;
    p->seq = ++count;
    return i;
}

int pipe_make(enum pipe_use use, int *write_end)
{
    int f[2];
    long r = sys_pipe2(f, O_CLOEXEC);
    if (r < 0)
        return (int)r;
    sys_fcntl(f[0], F_SETFL, O_RDONLY | O_NONBLOCK);
    int i = pipe_adopt(f[0], use);
    if (i < 0) {
        sys_close(f[0]);
        sys_close(f[1]);
        return i;
    }
    *write_end = f[1];
    return i;
}

void pipe_close(int i)
{
    if (pipes[i].use) {
        lates -= pipes[i].use == PIPE_LATE;
        unused[nunused++] = (int16_t)i;
        sys_close(pipes[i].fd); /* the only reference to this description: leaves the epoll set with it */
        pipes[i].use = PIPE_FREE;
        pipes[i].fd = -1;
    }
}

int pipe_spare(int *write_end)
{
    if (!spares)
        return pipe_make(PIPE_EXEC, write_end);
    int i = spare[--spares];
    *write_end = spare_end[spares];
    pipes[i].use = PIPE_EXEC;
    return i;
}
void pipe_refill(void)
{
    while (spares < 2) {
        int i = pipe_make(PIPE_SPARE, &spare_end[spares]);
        if (i < 0)
            break;
        spare[spares++] = i;
    }
}

void pipe_event(uint32_t index, uint32_t gen, uint32_t events)
{
    struct opipe *p = index < PIPES ? &pipes[index] : NULL;
    if (!p || !p->use || p->gen != gen)
        return; /* of a pipe that was closed in this very turn */
    if (events == EPOLLHUP && p->use == PIPE_LATE && !p->dropped) { /* empty and without a writer: no need to read the end */
        pipe_close((int)index);
        return;
    }
    p->ready = 1;
    late_hot |= p->use == PIPE_LATE || p->use == PIPE_DISCARD;
    if (events & EPOLLHUP)
        p->hangup = 1; /* the end stands behind the last bytes, and no other event will tell of it */
}

uint32_t pipe_pending(int i)
{
    int n = 0;
    return pipes[i].use && sys_ioctl(pipes[i].fd, FIONREAD, &n) == 0 && n > 0 ? (uint32_t)n : 0;
}

/* A short read has emptied it, unless its writer makes packets of what it writes (O_DIRECT), a page at most each. */
int pipe_more(int i, uint64_t r, uint64_t n)
{
    return r == n || pipes[i].hangup || (r <= page_size && pipe_pending(i));
}

int pipe_relay(int i, uint16_t channel, uint32_t *credit, uint32_t *left)
{
    struct opipe *p = &pipes[i];
    if (!p->use || !p->ready || !*credit || (left && !*left))
        return 0;
    uint64_t n = min64(out_room(), *credit);
    if (left)
        n = min64(n, *left);
    if (!n)
        return 0;
    long r = sys_read(p->fd, out_place(), n);
    if (r == -E_INTR)
        return 1;
    if (r > 0) {
        out_commit(WIRE_DATA, 0, channel, (size_t)r);
        *credit -= (uint32_t)r;
        if (left)
            *left -= (uint32_t)r;
        p->ready = (left && *left) || pipe_more(i, (uint64_t)r, n);   /* a drain goes by what was there as it began */
        return p->ready;
    }
    p->ready = 0;
    if (left)
        *left = 0;
    if (r != -E_AGAIN && !p->fifo)
        pipe_close(i); /* every writer is gone */
    return 0;
}
