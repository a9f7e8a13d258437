/* remote.c - a backend of one's own: sandboxes made by another process (server.py), reached over a unix socket. Built against the public headers alone.
   SPDX-License-Identifier: MIT

   A plug-in: the host loads it, registers its table, interp_ctx_add_backend(ctx, example_backend(), NULL, NULL, &err), and opens sessions with
   {"backend": "remote", "remote.socket": "/path/of/the/socket"}. We send the line `open WORKSPACE-BYTES AGENT-BYTES` and the guest agent; the server answers
   `ok JSON`, what it reached. From then on the connection is the stream to the agent. When we shut our side, the server kills the sandbox, and closes once it is gone. */
#include <errno.h>
#include <interp/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

struct box {
    const interp_host_ops *h;
    interp_link *l;
    enum { OPENING, OPEN, ENDING, ENDED } stage;
    int fd, killing, closing;
    uint32_t mask;                         /* what fd is watched for */
    size_t out_len, sent, answer_len;
    char answer[1024], out[];              /* out: our line and the agent */
};

static void watch(struct box *b, uint32_t mask)
{
    if (b->fd >= 0 && mask != b->mask)
        b->h->watch(b->l, b->fd, mask);
    b->mask = mask;
}

static void hang_up(struct box *b)
{
    watch(b, 0);                           /* always before close */
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
    b->stage = ENDED;
}

static interp_status fail(struct box *b, int err, const char *message)
{
    hang_up(b);
    return b->h->fail(b->l, INTERP_E_BACKEND, "remote-server", err, message, "start server.py with this socket, and look at its messages");
}

/* Sends what is to be sent, then takes the answer's line byte by byte: what follows it is the agent's. */
static void opening(struct box *b)
{
    ssize_t n = 1;
    while (b->sent < b->out_len && (n = send(b->fd, b->out + b->sent, b->out_len - b->sent, MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
        b->sent += (size_t)n;
    while (n > 0 && b->answer_len < sizeof b->answer && (n = recv(b->fd, b->answer + b->answer_len, 1, MSG_DONTWAIT)) > 0 && b->answer[b->answer_len] != '\n')
        b->answer_len++;
    if (n < 0 && errno == EAGAIN)
        watch(b, b->sent < b->out_len ? INTERP_IO_OUT : INTERP_IO_IN);
    else if (n <= 0 || b->answer_len == sizeof b->answer || strncmp(b->answer, "ok ", 3) != 0)
        fail(b, n < 0 ? errno : 0, "the sandbox server did not make a sandbox");
    else {
        b->stage = OPEN;
        watch(b, INTERP_IO_IN);
        b->h->reached(b->l, b->answer + 3, b->answer_len - 3);
        b->h->notify(b->l, INTERP_LINK_OPENED);
    }
}

static interp_status open_box(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    const char *json = NULL;
    const void *agent = NULL;
    size_t n = 0, size = 0;
    struct utsname machine;
    (void)backend;
    if (uname(&machine) || h->agent(l, machine.machine, &agent, &size))
        return h->fail(l, INTERP_E_UNSUPPORTED, "remote-agent", 0, "this build has no agent for this machine", "");
    if (h->option(l, "socket", &json, &n) || n < 4 || json[0] != '"' || json[1] != '/' || n - 2 >= sizeof a.sun_path || memchr(json, '\\', n))
        return h->fail(l, INTERP_E_INVAL, "remote-socket", 0, "remote.socket must be the path of the server's socket, at most 107 bytes", "set it in the config");
    if (spec->min_isolation > INTERP_ISOLATION_NAMESPACES || spec->flags & ~(uint32_t)INTERP_SPEC_MEMORY_ASKED)
        return h->fail(l, INTERP_E_ISOLATION, "remote-limits", 0, "this backend limits memory and the size of the workspace only", "leave other limits unset, and isolation at namespaces");
    struct box *b = calloc(1, sizeof *b + 64 + size);
    if (!b)
        return h->fail(l, INTERP_E_NOMEM, "host-memory", ENOMEM, "out of memory", "");
    *inst = b;                             /* from here on close or abandon frees it */
    b->h = h;
    b->l = l;
    b->out_len = (size_t)snprintf(b->out, 64, "open %llu %zu\n", (unsigned long long)spec->workspace_bytes, size);
    memcpy(b->out + b->out_len, agent, size);
    b->out_len += size;
    memcpy(a.sun_path, json + 1, n - 2);
    b->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (b->fd < 0 || connect(b->fd, (struct sockaddr *)&a, sizeof a))
        return fail(b, errno, "the sandbox server can't be reached");
    opening(b);
    return INTERP_OK;
}

/* The server closes when the sandbox is gone for certain: that end is the proof. */
static void ending(struct box *b)
{
    char waste[4096];
    ssize_t n = 1;
    while (b->stage == ENDING && (n = recv(b->fd, waste, sizeof waste, MSG_DONTWAIT)) > 0)
        ;
    if (b->stage == ENDING && n < 0 && errno == EAGAIN)
        return;
    hang_up(b);
    if (b->killing)
        b->h->notify(b->l, INTERP_LINK_KILLED);
    b->killing = 0;
    if (b->closing) {
        b->h->notify(b->l, INTERP_LINK_CLOSED);
        free(b);
    }
}

static void end(struct box *b, int killing, int closing)
{
    b->killing |= killing;
    b->closing |= closing;
    if (b->stage < ENDING) {
        b->stage = ENDING;
        shutdown(b->fd, SHUT_WR);
        watch(b, INTERP_IO_IN);
    }
    ending(b);
}

static void advance_box(void *inst)
{
    struct box *b = inst;
    if (b->stage == OPENING)
        opening(b);
    else if (b->stage == ENDING)
        ending(b);
    else if (b->stage == OPEN && b->mask) {
        uint32_t was = b->mask;
        watch(b, 0);                       /* until the core has tried, and had to wait */
        if (was & INTERP_IO_OUT)
            b->h->notify(b->l, INTERP_LINK_WRITABLE);
        if (was & INTERP_IO_IN)
            b->h->notify(b->l, INTERP_LINK_READABLE);
    }
}

static interp_status read_box(void *inst, void *buf, size_t cap, size_t *n)
{
    struct box *b = inst;
    ssize_t r = b->stage == OPEN ? recv(b->fd, buf, cap, MSG_DONTWAIT) : 0;
    if (r < 0 && errno == EAGAIN) {
        watch(b, b->mask | INTERP_IO_IN);
        return INTERP_AGAIN;
    }
    *n = r > 0 ? (size_t)r : 0;
    return r > 0 ? INTERP_OK : r == 0 || errno == ECONNRESET ? INTERP_DONE : INTERP_E_IO;
}

static interp_status write_box(void *inst, const void *buf, size_t len, size_t *n)
{
    struct box *b = inst;
    ssize_t r = b->stage == OPEN ? send(b->fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
    if (r >= 0) {
        *n = (size_t)r;
        return INTERP_OK;
    }
    if (b->stage != OPEN || errno != EAGAIN)
        return INTERP_E_CLOSED;
    watch(b, b->mask | INTERP_IO_OUT);
    return INTERP_AGAIN;
}

static interp_status kill_box(void *inst)
{
    end(inst, 1, 0);
    return INTERP_OK;
}

static void close_box(void *inst)
{
    end(inst, 0, 1);
}

static void abandon_box(void *inst)
{
    struct box *b = inst;                  /* no service is called here: in a forked child there may be nobody to answer */
    if (b->fd >= 0)
        close(b->fd);
    free(b);
}

__attribute__((visibility("default"))) const interp_backend_ops *example_backend(void)
{
    static const interp_backend_ops ops = { .struct_size = sizeof ops, .needs_host_ops = sizeof(interp_host_ops), .name = "remote", .open = open_box, .advance = advance_box, .read = read_box,
                                            .write = write_box, .kill = kill_box, .close = close_box, .abandon = abandon_box };
    return &ops;
}
