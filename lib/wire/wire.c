/* wire.c - encoder and decoder of FORMAT.md. No libc: both sides compile this file. */
#include "wire.h"

static void copy(uint8_t *d, const uint8_t *s, size_t n)
{
    while (n--)
        *d++ = *s++;
}
static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static void st32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8), p[2] = (uint8_t)(v >> 16), p[3] = (uint8_t)(v >> 24);
}

void interp__kframe_put(uint8_t out[KFRAME_HEADER], const struct kframe *f)
{
    st32(out, f->json_len);
    st32(out + 4, f->bin_len);
    out[8] = f->type, out[9] = f->status, out[10] = out[11] = 0;
    st32(out + 12, f->token);
}

int interp__kframe_get(const uint8_t in[KFRAME_HEADER], struct kframe *f)
{
    f->json_len = le32(in);
    f->bin_len = le32(in + 4);
    f->type = in[8], f->status = in[9];
    f->token = le32(in + 12);
    return f->json_len > KFRAME_JSON_MAX || f->bin_len > KFRAME_BIN_MAX || in[10] || in[11] ? -1 : 0;
}

void interp__wire_header(struct wire_peer *p, uint8_t out[WIRE_HEADER], uint8_t type, uint8_t flags, uint16_t channel, uint32_t size)
{
    st32(out, size);
    out[4] = type, out[5] = flags, out[6] = (uint8_t)channel, out[7] = (uint8_t)(channel >> 8);
    st32(out + 8, ++p->sent);
    st32(out + 12, p->taken);
}

static int may_send(uint8_t type, int from_agent)
{
    switch (type) {
    case WIRE_CREDIT: case WIRE_DATA: case WIRE_NOP:
        return 1;
    case WIRE_WELCOME: case WIRE_FATAL: case WIRE_KERNEL_READY: case WIRE_KERNEL_GONE: case WIRE_EXIT: case WIRE_LATE: case WIRE_REQUEST: case WIRE_FILE_DONE:
        return from_agent;
    case WIRE_HELLO: case WIRE_BYE: case WIRE_KERNEL_START: case WIRE_KERNEL_STOP: case WIRE_EXEC: case WIRE_INTERRUPT: case WIRE_SIGNAL: case WIRE_RESIZE: case WIRE_REPLY: case WIRE_FILE: case WIRE_FILE_CANCEL:
        return !from_agent;
    default:
        return 0;
    }
}

long interp__wire_head(const struct wire_peer *p, const uint8_t *buf, size_t len, int from_agent, struct wire_frame *f)
{
    if (len < WIRE_HEADER)
        return 0;
    f->size = le32(buf);
    f->type = buf[4], f->flags = buf[5];
    f->channel = (uint16_t)((unsigned)buf[6] | (unsigned)buf[7] << 8);
    f->seq = le32(buf + 8);
    f->ack = le32(buf + 12);
    f->payload = buf + WIRE_HEADER;
    if (f->size > WIRE_PAYLOAD_MAX || !may_send(f->type, from_agent))
        return -1;
    if (f->flags & ~WIRE_FLAG_END || (f->flags && f->type != WIRE_DATA))
        return -1;
    int has_channel = f->type == WIRE_DATA || f->type == WIRE_CREDIT;
    if (has_channel != (f->channel != 0))
        return -1;
    /* numbers wrap after 2^32 frames; differences are what counts */
    if (f->seq != p->taken + 1 || f->ack - p->acked > p->sent - p->acked)
        return -1;
    return (long)(WIRE_HEADER + f->size);
}

void interp__wire_taken(struct wire_peer *p, const struct wire_frame *f)
{
    p->taken = f->seq;
    p->acked = f->ack;
}

long interp__wire_next(struct wire_peer *p, const uint8_t *buf, size_t len, int from_agent, struct wire_frame *f)
{
    long n = interp__wire_head(p, buf, len, from_agent, f);
    if (n > 0 && len < (size_t)n)
        return 0;
    if (n > 0)
        interp__wire_taken(p, f);
    return n;
}

void interp__wire_in_init(struct wire_in *i, const void *p, size_t n)
{
    i->p = p;
    i->end = n ? i->p + n : i->p;   /* an empty buffer may have no address */
    i->bad = 0;
}
static const uint8_t *take(struct wire_in *i, size_t n)
{
    if (i->bad || (size_t)(i->end - i->p) < n) {
        i->bad = 1;
        return NULL;
    }
    const uint8_t *p = i->p;
    i->p += n;
    return p;
}
uint8_t interp__wire_u8(struct wire_in *i)
{
    const uint8_t *p = take(i, 1);
    return p ? *p : 0;
}
uint16_t interp__wire_u16(struct wire_in *i)
{
    const uint8_t *p = take(i, 2);
    return (uint16_t)(p ? (unsigned)p[0] | (unsigned)p[1] << 8 : 0u);
}
uint32_t interp__wire_u32(struct wire_in *i)
{
    const uint8_t *p = take(i, 4);
    return p ? le32(p) : 0;
}
uint64_t interp__wire_u64(struct wire_in *i)
{
    uint64_t lo = interp__wire_u32(i);
    return lo | (uint64_t)interp__wire_u32(i) << 32;
}
void interp__wire_bytes(struct wire_in *i, void *out, size_t n)
{
    const uint8_t *p = take(i, n);
    uint8_t *o = out;
    for (size_t k = 0; k < n; k++)
        o[k] = p ? p[k] : 0;
}
struct wire_str interp__wire_string(struct wire_in *i)
{
    struct wire_str s = { NULL, interp__wire_u16(i) };
    s.p = take(i, s.len);
    if (!s.p)
        s.len = 0;
    return s;
}

static uint8_t *room(struct wire_out *o, size_t n)
{
    if (o->bad || (size_t)(o->end - o->p) < n) {
        o->bad = 1;
        return NULL;
    }
    uint8_t *p = o->p;
    o->p += n;
    return p;
}
void interp__wire_put_u8(struct wire_out *o, uint8_t v)
{
    uint8_t *p = room(o, 1);
    if (p)
        *p = v;
}
void interp__wire_put_u16(struct wire_out *o, uint16_t v)
{
    uint8_t *p = room(o, 2);
    if (p)
        p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8);
}
void interp__wire_put_u32(struct wire_out *o, uint32_t v)
{
    uint8_t *p = room(o, 4);
    if (p)
        st32(p, v);
}
void interp__wire_put_u64(struct wire_out *o, uint64_t v)
{
    interp__wire_put_u32(o, (uint32_t)v);
    interp__wire_put_u32(o, (uint32_t)(v >> 32));
}
void interp__wire_put_bytes(struct wire_out *o, const void *s, size_t n)
{
    uint8_t *p = room(o, n);
    if (p && n)
        copy(p, s, n);
}
void interp__wire_put_string(struct wire_out *o, const void *s, size_t n)
{
    if (n > UINT16_MAX) {
        o->bad = 1;
        return;
    }
    interp__wire_put_u16(o, (uint16_t)n);
    interp__wire_put_bytes(o, s, n);
}

static struct wire_in cursor(const struct wire_frame *f)
{
    struct wire_in i;
    interp__wire_in_init(&i, f->payload, f->size);
    return i;
}
static void get_identity(struct wire_in *i, struct wire_identity *d)
{
    d->inode = interp__wire_u64(i);
    d->mtime_ns = interp__wire_u64(i);
    d->ctime_ns = interp__wire_u64(i);
    d->size = interp__wire_u64(i);
}
static void put_identity(struct wire_out *o, const struct wire_identity *d)
{
    interp__wire_put_u64(o, d->inode);
    interp__wire_put_u64(o, d->mtime_ns);
    interp__wire_put_u64(o, d->ctime_ns);
    interp__wire_put_u64(o, d->size);
}

int interp__wire_get_hello(const struct wire_frame *f, struct wire_hello *m)
{
    struct wire_in i = cursor(f);
    m->version_min = interp__wire_u16(&i);
    m->version_max = interp__wire_u16(&i);
    m->capabilities = interp__wire_u32(&i);
    interp__wire_bytes(&i, m->session, WIRE_ID);
    interp__wire_bytes(&i, m->secret, WIRE_ID);
    m->lease_ns = interp__wire_u64(&i);
    m->watch_bytes = interp__wire_u64(&i);
    m->umask = interp__wire_u32(&i);
    m->pids = interp__wire_u32(&i);
    m->lifetime_ns = interp__wire_u64(&i);
    m->kill_ns = interp__wire_u64(&i);
    return i.bad ? -1 : 0;
}
void interp__wire_put_hello(struct wire_out *o, const struct wire_hello *m)
{
    interp__wire_put_u16(o, m->version_min);
    interp__wire_put_u16(o, m->version_max);
    interp__wire_put_u32(o, m->capabilities);
    interp__wire_put_bytes(o, m->session, WIRE_ID);
    interp__wire_put_bytes(o, m->secret, WIRE_ID);
    interp__wire_put_u64(o, m->lease_ns);
    interp__wire_put_u64(o, m->watch_bytes);
    interp__wire_put_u32(o, m->umask);
    interp__wire_put_u32(o, m->pids);
    interp__wire_put_u64(o, m->lifetime_ns);
    interp__wire_put_u64(o, m->kill_ns);
}

int interp__wire_get_welcome(const struct wire_frame *f, struct wire_welcome *m)
{
    struct wire_in i = cursor(f);
    m->version = interp__wire_u16(&i);
    m->arch = interp__wire_u16(&i);
    m->capabilities = interp__wire_u32(&i);
    m->ids = interp__wire_u8(&i);
    m->landlock = interp__wire_u8(&i);
    m->scoped = interp__wire_u8(&i);
    m->memory = interp__wire_u8(&i);
    m->uid = interp__wire_u32(&i);
    return i.bad ? -1 : 0;
}
void interp__wire_put_welcome(struct wire_out *o, const struct wire_welcome *m)
{
    interp__wire_put_u16(o, m->version);
    interp__wire_put_u16(o, m->arch);
    interp__wire_put_u32(o, m->capabilities);
    interp__wire_put_u8(o, m->ids);
    interp__wire_put_u8(o, m->landlock);
    interp__wire_put_u8(o, m->scoped);
    interp__wire_put_u8(o, m->memory);
    interp__wire_put_u32(o, m->uid);
}

int interp__wire_get_start(const struct wire_frame *f, struct wire_start *m)
{
    struct wire_in i = cursor(f);
    m->kernel = interp__wire_u16(&i);
    m->channel = interp__wire_u16(&i);
    m->kind = interp__wire_u8(&i);
    m->flags = interp__wire_u8(&i);
    (void)interp__wire_u16(&i);
    m->timeout_ns = interp__wire_u64(&i);
    get_identity(&i, &m->id);
    m->rest = i;
    return i.bad ? -1 : 0;
}
void interp__wire_put_start(struct wire_out *o, const struct wire_start *m)
{
    interp__wire_put_u16(o, m->kernel);
    interp__wire_put_u16(o, m->channel);
    interp__wire_put_u8(o, m->kind);
    interp__wire_put_u8(o, m->flags);
    interp__wire_put_u16(o, 0);
    interp__wire_put_u64(o, m->timeout_ns);
    put_identity(o, &m->id);
}

int interp__wire_get_ready(const struct wire_frame *f, struct wire_ready_msg *m)
{
    struct wire_in i = cursor(f);
    m->kernel = interp__wire_u16(&i);
    m->status = interp__wire_u8(&i);
    m->restored = interp__wire_u8(&i);
    m->exit_code = (int32_t)interp__wire_u32(&i);
    m->signal = (int32_t)interp__wire_u32(&i);
    get_identity(&i, &m->id);
    m->path = interp__wire_string(&i);
    m->info = interp__wire_string(&i);
    m->text = interp__wire_string(&i);
    return i.bad ? -1 : 0;
}
void interp__wire_put_ready(struct wire_out *o, const struct wire_ready_msg *m)
{
    interp__wire_put_u16(o, m->kernel);
    interp__wire_put_u8(o, m->status);
    interp__wire_put_u8(o, m->restored);
    interp__wire_put_u32(o, (uint32_t)m->exit_code);
    interp__wire_put_u32(o, (uint32_t)m->signal);
    put_identity(o, &m->id);
    interp__wire_put_string(o, m->path.p, m->path.len);
    interp__wire_put_string(o, m->info.p, m->info.len);
    interp__wire_put_string(o, m->text.p, m->text.len);
}

int interp__wire_get_exec(const struct wire_frame *f, struct wire_exec *m)
{
    struct wire_in i = cursor(f);
    interp__wire_bytes(&i, m->id, WIRE_ID);
    m->kernel = interp__wire_u16(&i);
    m->base = interp__wire_u16(&i);
    m->flags = interp__wire_u32(&i);
    m->number = interp__wire_u32(&i);
    m->token = interp__wire_u32(&i);
    m->timeout_ns = interp__wire_u64(&i);
    m->grace_ns = interp__wire_u64(&i);
    m->code_bytes = interp__wire_u32(&i);
    m->prefix = interp__wire_string(&i);
    m->cpu_ns = interp__wire_u64(&i);
    m->idle_ns = interp__wire_u64(&i);
    m->build_ns = interp__wire_u64(&i);
    m->rows = interp__wire_u16(&i);
    m->columns = interp__wire_u16(&i);
    return i.bad ? -1 : 0;
}
void interp__wire_put_exec(struct wire_out *o, const struct wire_exec *m)
{
    interp__wire_put_bytes(o, m->id, WIRE_ID);
    interp__wire_put_u16(o, m->kernel);
    interp__wire_put_u16(o, m->base);
    interp__wire_put_u32(o, m->flags);
    interp__wire_put_u32(o, m->number);
    interp__wire_put_u32(o, m->token);
    interp__wire_put_u64(o, m->timeout_ns);
    interp__wire_put_u64(o, m->grace_ns);
    interp__wire_put_u32(o, m->code_bytes);
    interp__wire_put_string(o, m->prefix.p, m->prefix.len);
    interp__wire_put_u64(o, m->cpu_ns);
    interp__wire_put_u64(o, m->idle_ns);
    interp__wire_put_u64(o, m->build_ns);
    interp__wire_put_u16(o, m->rows);
    interp__wire_put_u16(o, m->columns);
}

int interp__wire_get_exit(const struct wire_frame *f, struct wire_exit *m)
{
    struct wire_in i = cursor(f);
    interp__wire_bytes(&i, m->id, WIRE_ID);
    m->how = interp__wire_u8(&i);
    m->status = interp__wire_u8(&i);
    m->interrupted = interp__wire_u8(&i);
    m->kernel_state = interp__wire_u8(&i);
    m->exit_code = (int32_t)interp__wire_u32(&i);
    m->signal = (int32_t)interp__wire_u32(&i);
    m->wall_ns = interp__wire_u64(&i);
    m->cpu_ns = interp__wire_u64(&i);
    m->memory_peak = interp__wire_u64(&i);
    m->oom_kills = interp__wire_u32(&i);
    m->limits_hit = interp__wire_u32(&i);
    m->flags = interp__wire_u32(&i);
    m->step = interp__wire_u8(&i);
    return i.bad ? -1 : 0;
}
void interp__wire_put_exit(struct wire_out *o, const struct wire_exit *m)
{
    interp__wire_put_bytes(o, m->id, WIRE_ID);
    interp__wire_put_u8(o, m->how);
    interp__wire_put_u8(o, m->status);
    interp__wire_put_u8(o, m->interrupted);
    interp__wire_put_u8(o, m->kernel_state);
    interp__wire_put_u32(o, (uint32_t)m->exit_code);
    interp__wire_put_u32(o, (uint32_t)m->signal);
    interp__wire_put_u64(o, m->wall_ns);
    interp__wire_put_u64(o, m->cpu_ns);
    interp__wire_put_u64(o, m->memory_peak);
    interp__wire_put_u32(o, m->oom_kills);
    interp__wire_put_u32(o, m->limits_hit);
    interp__wire_put_u32(o, m->flags);
    interp__wire_put_u8(o, m->step);
}

int interp__wire_get_file(const struct wire_frame *f, struct wire_file *m)
{
    struct wire_in i = cursor(f);
    m->channel = interp__wire_u16(&i);
    m->op = interp__wire_u8(&i);
    m->flags = interp__wire_u8(&i);
    m->mode = interp__wire_u32(&i);
    m->limit = interp__wire_u64(&i);
    m->timeout_ns = interp__wire_u64(&i);
    m->path = interp__wire_string(&i);
    m->other = interp__wire_string(&i);
    return i.bad ? -1 : 0;
}
void interp__wire_put_file(struct wire_out *o, const struct wire_file *m)
{
    interp__wire_put_u16(o, m->channel);
    interp__wire_put_u8(o, m->op);
    interp__wire_put_u8(o, m->flags);
    interp__wire_put_u32(o, m->mode);
    interp__wire_put_u64(o, m->limit);
    interp__wire_put_u64(o, m->timeout_ns);
    interp__wire_put_string(o, m->path.p, m->path.len);
    interp__wire_put_string(o, m->other.p, m->other.len);
}

int interp__wire_get_file_done(const struct wire_frame *f, struct wire_file_done *m)
{
    struct wire_in i = cursor(f);
    m->channel = interp__wire_u16(&i);
    m->error = interp__wire_u16(&i);
    m->type = interp__wire_u8(&i);
    m->more = interp__wire_u8(&i);
    m->mode = interp__wire_u32(&i);
    m->size = interp__wire_u64(&i);
    m->mtime_ns = interp__wire_u64(&i);
    m->count = interp__wire_u64(&i);
    return i.bad ? -1 : 0;
}
void interp__wire_put_file_done(struct wire_out *o, const struct wire_file_done *m)
{
    interp__wire_put_u16(o, m->channel);
    interp__wire_put_u16(o, m->error);
    interp__wire_put_u8(o, m->type);
    interp__wire_put_u8(o, m->more);
    interp__wire_put_u32(o, m->mode);
    interp__wire_put_u64(o, m->size);
    interp__wire_put_u64(o, m->mtime_ns);
    interp__wire_put_u64(o, m->count);
}

int interp__wire_get_entry(struct wire_in *i, struct wire_entry *m)
{
    struct wire_in at = *i;
    m->type = interp__wire_u8(&at);
    m->flags = interp__wire_u8(&at);
    m->mode = interp__wire_u32(&at);
    m->size = interp__wire_u64(&at);
    m->mtime_ns = interp__wire_u64(&at);
    m->path = interp__wire_string(&at);
    if (at.bad)
        return -1;
    *i = at;
    return 0;
}
void interp__wire_put_entry(struct wire_out *o, const struct wire_entry *m)
{
    interp__wire_put_u8(o, m->type);
    interp__wire_put_u8(o, m->flags);
    interp__wire_put_u32(o, m->mode);
    interp__wire_put_u64(o, m->size);
    interp__wire_put_u64(o, m->mtime_ns);
    interp__wire_put_string(o, m->path.p, m->path.len);
}
