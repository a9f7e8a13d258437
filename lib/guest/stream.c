/* stream.c - the host's byte stream: frames in and out, credits, and what ends it.
   Outbound, DATA and LATE stop at OUT_DATA bytes; the rest of the buffer is room for control frames. While more than OUT_HIGH is
   waiting, nothing is read from the host, so that its orders can't pile up answers either. */
#include "guest.h"

#define OUT_SIZE (512u << 10)
#define OUT_DATA (256u << 10)
#define OUT_HIGH (352u << 10)
#define IN_SIZE  (2u * WIRE_FRAME_MAX)
#define BULK     (16u << 10)          /* a frame worth a system call of its own */

static struct {
    struct wire_peer peer;
    int in_fd, out_fd;
    uint8_t readable, writable, ended, stalled, bulk;      /* bulk: a file's bytes come; they are better not read than copied */
    uint16_t channel;
    uint32_t have, head, tail, rest;                       /* rest: of a frame of that channel, not here yet */
    uint8_t in[IN_SIZE], out[OUT_SIZE];
} T __attribute__((aligned(65536)));

void stream_init(int in, int out)
{
    T.in_fd = in;
    T.out_fd = out;
    T.readable = T.writable = 1;
    for (int i = 0; i < 2; i++) {
        int fd = i ? out : in;
        long fl = sys_fcntl(fd, F_GETFL, 0);
        sys_fcntl(fd, F_SETFL, fl | O_NONBLOCK);
    }
    ep_add(in, EPOLLIN | EPOLLRDHUP | EPOLLET, EP_STREAM, 0, 0);
    if (in != out)
        ep_add(out, EPOLLET, EP_STREAM_OUT, 0, 0);
}

static void want_out(int on)
{
    ep_want_out(T.out_fd, on, T.in_fd == T.out_fd ? EP_STREAM : EP_STREAM_OUT, 0, 0);
}

void stream_event(uint32_t events)
{
    if (events & ~EPOLLOUT)
        T.readable = 1;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        T.ended = 1; /* shows itself in read, behind the last bytes */
    if (events & EPOLLOUT) {
        T.writable = 1;
        want_out(0);
    }
}

void stream_wipe(void)
{
    if (sc3(NR_madvise, PTR(&T), sizeof T, MADV_DONTNEED) < 0)
        memset(&T, 0, sizeof T);
}

/* ---- out */
void stream_flush(void)
{
    while (T.writable && T.tail > T.head) {
        long r = sys_write(T.out_fd, T.out + T.head, T.tail - T.head);
        if (r == -E_INTR)
            continue;
        if (r == -E_AGAIN) {
            T.writable = 0;
            want_out(1);
            break;
        }
        if (r <= 0) {
            T.head = T.tail = 0; /* nobody listens any more; the end must not try again */
            agent_end(0);
        }
        T.head += (uint32_t)r;
    }
    if (T.head == T.tail)
        T.head = T.tail = 0;
}

static void make_room(size_t n)     /* n contiguous bytes at the tail */
{
    if (OUT_SIZE - T.tail >= n)
        return;
    memmove(T.out, T.out + T.head, T.tail - T.head);
    T.tail -= T.head;
    T.head = 0;
    if (OUT_SIZE - T.tail < n)
        sys_exit(92); /* can't be: control answers are bounded by what is read from the host */
}

size_t out_room(void)
{
    uint32_t used = T.tail - T.head;
    if (used + 4096 + WIRE_HEADER > OUT_DATA) {
        stream_flush();
        used = T.tail - T.head;
    }
    if (used + 4096 + WIRE_HEADER > OUT_DATA)
        return 0;
    size_t n = OUT_DATA - used - WIRE_HEADER;
    return n < WIRE_PAYLOAD_MAX ? n : WIRE_PAYLOAD_MAX;
}
uint8_t *out_place(void)
{
    make_room(WIRE_FRAME_MAX);
    return T.out + T.tail + WIRE_HEADER;
}
void out_commit(uint8_t type, uint8_t flags, uint16_t channel, size_t n)
{
    interp__wire_header(&T.peer, T.out + T.tail, type, flags, channel, (uint32_t)n);
    T.tail += (uint32_t)(WIRE_HEADER + n);
}
void out_begin(struct wire_out *o, size_t max)
{
    make_room(max + WIRE_HEADER);
    o->p = T.out + T.tail + WIRE_HEADER;
    o->end = o->p + max;
    o->bad = 0;
}
void out_end(uint8_t type, uint16_t channel, struct wire_out *o)
{
    if (o->bad)
        sys_exit(91);
    out_commit(type, 0, channel, (size_t)(o->p - (T.out + T.tail + WIRE_HEADER)));
}
void send_credit(uint16_t channel, uint32_t bytes)
{
    struct wire_out o;
    out_begin(&o, 4);
    interp__wire_put_u32(&o, bytes);
    out_end(WIRE_CREDIT, channel, &o);
}

_Noreturn void fatal(const char *reason, const char *message)
{
    struct wire_out o;
    out_begin(&o, 256);
    interp__wire_put_string(&o, reason, strlen(reason));
    interp__wire_put_string(&o, message, strlen(message));
    out_end(WIRE_FATAL, 0, &o);
    for (int i = 0; i < 10 && T.tail > T.head; i++) {
        struct pollfd_k p = { T.out_fd, POLLOUT, 0 };
        struct timespec_k t = { 0, 30 * (int64_t)MSEC };
        sys_ppoll(&p, 1, &t);
        T.writable = 1;
        stream_flush();
    }
    agent_end(1);
}

/* ---- in */
static void hello(const struct wire_frame *f)
{
    struct wire_hello h;
    if (interp__wire_get_hello(f, &h) < 0)
        fatal("protocol", "malformed HELLO");
    if (h.version_min > WIRE_VERSION || h.version_max < WIRE_VERSION)
        fatal("version", "no common protocol version");
    A.greeted = 1;
    A.lease_ns = h.lease_ns;
    A.life_end = h.lifetime_ns < UINT64_MAX - A.now ? A.now + h.lifetime_ns : UINT64_MAX;
    A.kill_ns = h.kill_ns < WIRE_KILL_NS ? WIRE_KILL_NS : min64(h.kill_ns, UINT64_MAX / 4);
    A.watch_bytes = h.watch_bytes;     /* a group may be there and bound too little: the host has looked */
    A.umask = h.umask;
    A.pids = h.pids;
    struct wire_welcome w = {
        .version = WIRE_VERSION, .arch = SYS_ARCH, .capabilities = 0, .uid = A.facts.user_uid, .ids = A.facts.two_ids ? 2 : 1,
        .landlock = (uint8_t)A.facts.landlock_abi, .scoped = (uint8_t)A.facts.scoped, .memory = A.watch_bytes ? 2 : A.facts.cg_peak >= 0 ? 1 : 0
    };
    struct wire_out o;
    out_begin(&o, 64);
    interp__wire_put_welcome(&o, &w);
    out_end(WIRE_WELCOME, 0, &o);
}

static void credit(const struct wire_frame *f)
{
    struct wire_in in;
    interp__wire_in_init(&in, f->payload, f->size);
    uint32_t n = interp__wire_u32(&in), *c = NULL;
    if (in.bad || n > WIRE_WINDOW)
        fatal("protocol", "malformed CREDIT");
    if (f->channel == WIRE_CHANNEL_LATE) {
        late_credit(n);
        return;
    }
    for (struct kernel *k = kernels; k < kernels + KERNELS && !c; k++) {
        unsigned d = (unsigned)f->channel - k->x.base;
        if (k->x.phase && d < 3)
            c = &k->x.credit[d];
        else if (k->stage && k->stage <= K_STARTING && k->channel == f->channel)
            c = &k->credit;
    }
    if (!c)
        c = worker_credit(f->channel);
    if (!c)
        return; /* of a channel that has just ended */
    if (n > WIRE_WINDOW - *c)
        fatal("protocol", "CREDIT beyond the window");
    *c += n;
}

static void data(const struct wire_frame *f)
{
    int end = f->flags & WIRE_FLAG_END;
    if (worker_expects(f)) {
        worker_data(f->channel, f->payload, f->size);
        T.bulk = f->size >= BULK && !end;
        return;
    }
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++) {
        if (k->x.phase && f->channel == k->x.base)
            exec_code(k, f->payload, f->size, end);
        else if (k->x.phase && f->channel == k->x.base + 1)
            exec_stdin(k, f->payload, f->size, end);
        else if (k->stage == K_BLOB && f->channel == k->channel)
            start_blob(k, f->payload, f->size, end);
        else
            continue;
        return;
    }
}

static void dispatch(const struct wire_frame *f)
{
    struct wire_in in;
    if (A.greeted != (f->type != WIRE_HELLO))
        fatal("protocol", A.greeted ? "a second HELLO" : "the first frame is no HELLO");
    interp__wire_in_init(&in, f->payload, f->size);
    switch (f->type) {
    case WIRE_HELLO:
        hello(f);
        return;
    case WIRE_CREDIT:
        credit(f);
        return;
    case WIRE_DATA:
        data(f);
        return;
    case WIRE_NOP:
        return;
    case WIRE_BYE:
        agent_end(0);
    case WIRE_KERNEL_START:
        start_request(f);
        return;
    case WIRE_KERNEL_STOP: {
        uint16_t id = interp__wire_u16(&in);
        if (in.bad)
            fatal("protocol", "malformed KERNEL_STOP");
        kernel_stop(id);
        return;
    }
    case WIRE_EXEC:
        exec_request(f);
        return;
    case WIRE_FILE:
        worker_request(f);
        return;
    case WIRE_FILE_CANCEL: {
        uint16_t channel = interp__wire_u16(&in);
        if (in.bad)
            fatal("protocol", "malformed FILE_CANCEL");
        worker_cancel(channel);
        return;
    }
    case WIRE_INTERRUPT: {
        uint8_t id[WIRE_ID];
        interp__wire_bytes(&in, id, WIRE_ID);
        uint8_t cause = interp__wire_u8(&in), hard = interp__wire_u8(&in);
        if (in.bad || cause < WIRE_CAUSE_WALL || cause > WIRE_CAUSE_CANCEL)
            fatal("protocol", "malformed INTERRUPT");
        ladder_interrupt(id, cause, hard);
        return;
    }
    case WIRE_SIGNAL: {
        uint8_t id[WIRE_ID];
        interp__wire_bytes(&in, id, WIRE_ID);
        uint8_t sig = interp__wire_u8(&in);
        if (in.bad || !sig || sig > WIRE_SIGNAL_MAX)
            fatal("protocol", "malformed SIGNAL");
        ladder_signal(id, sig);
        return;
    }
    case WIRE_RESIZE: {
        uint8_t id[WIRE_ID];
        interp__wire_bytes(&in, id, WIRE_ID);
        uint16_t rows = interp__wire_u16(&in), columns = interp__wire_u16(&in);
        if (in.bad)
            fatal("protocol", "malformed RESIZE");
        pty_resize(id, rows, columns);
        return;
    }
    default:
        fatal("protocol", "a frame that nobody asked for"); /* REPLY: there are no requests yet */
    }
}

int stream_input(void)
{
    if ((!T.readable && !T.stalled) || T.tail - T.head > OUT_HIGH)
        return 0;
    if (T.readable && T.rest) {
        size_t n = worker_pass(T.channel, T.in_fd, T.rest);
        T.rest -= (uint32_t)n;
        if (n) {
            A.last_frame = now_ns();
            return 1;
        }
    }
    size_t most = IN_SIZE - T.have;
    if (T.bulk && T.have < WIRE_HEADER)                    /* no more than the next header */
        most = T.rest + WIRE_HEADER - T.have;
    if (T.readable && most) {
        long r = sys_read(T.in_fd, T.in + T.have, most);
        if (r == -E_INTR)
            return 1;
        if (r == -E_AGAIN) {
            T.readable = 0;
            r = 0;
        } else if (r <= 0)
            agent_end(0); /* the host is gone */
        else if ((size_t)r < most && !T.ended)
            T.readable = 0; /* a short read has emptied it; the next bytes are a new event */
        if (r)
            A.last_frame = now_ns();
        T.have += (uint32_t)r;
    }
    uint32_t at = 0;
    for (;;) {
        struct wire_frame f;
        if (T.rest) {
            uint32_t part = (uint32_t)min64(T.rest, T.have - at);
            worker_data(T.channel, T.in + at, part);
            T.rest -= part;
            at += part;
        }
        T.stalled = T.tail - T.head > OUT_HIGH;
        if (T.stalled || T.rest)
            break;
        long n = interp__wire_head(&T.peer, T.in + at, T.have - at, 0, &f);
        if (n < 0)
            fatal("protocol", "malformed frame");
        if (!n)
            break;
        if (T.have - at >= (size_t)n) {
            interp__wire_taken(&T.peer, &f);
            T.bulk = 0;
            dispatch(&f);
            at += (uint32_t)n;
            continue;
        }
        T.bulk = A.greeted && f.type == WIRE_DATA && f.size >= BULK && worker_expects(&f);
        if (!T.bulk)
            break;
        interp__wire_taken(&T.peer, &f);
        T.channel = f.channel;
        T.rest = f.size;
        at += WIRE_HEADER;
    }
    if (at) {
        memmove(T.in, T.in + at, T.have - at);
        T.have -= at;
    }
    return T.readable && !T.stalled;
}
