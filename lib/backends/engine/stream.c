/* stream.c - the attached stream of a container: connect, ask for the upgrade, then a byte stream both ways. What the container writes comes in the engine's
   frames: {1 stdout | 2 stderr, 0, 0, 0, length, big-endian} and payload (Engine API, "Attach to a container"); what goes in is plain. */
#include "engine_priv.h"
#include "base/fds.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_SIZE (64u << 10)
#define HEAD_MAX 8192u
#define FRAME_MAX (1u << 24)            /* Docker writes at most 32 KiB a frame, Podman 8 KiB */

void interp__attach_watch(struct interp__box *b, uint32_t mask)
{
    struct interp__attach *a = &b->attach;
    if (a->fd < 0 || a->mask == mask)
        return;
    b->h->watch(b->l, a->fd, mask);
    a->mask = mask;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
    struct interp__box *b = arg;
    struct interp__attach *a = &b->attach;
    (void)easy;
    (void)unused;
    if (what == CURL_POLL_REMOVE) {
        if (fd == a->fd) {
            interp__attach_watch(b, 0);
            a->fd = -1;
        }
        return 0;
    }
    if (a->fd >= 0 && a->fd != fd)
        interp__attach_watch(b, 0);     /* the next address of the same host */
    if (a->fd != fd)
        a->mask = 0;
    a->fd = fd;
    interp__attach_watch(b, (what & CURL_POLL_IN ? INTERP_IO_IN : 0u) | (what & CURL_POLL_OUT ? INTERP_IO_OUT : 0u));
    return 0;
}

int interp__attach_start(struct interp__box *b)
{
    struct interp__attach *a = &b->attach;
    const struct interp__curl *c = a->curl = b->rest.curl;
    const struct interp__endpoint *e = &b->where;
    char url[400];
    interp__attach_free(b);
    a->multi = c->multi_init();
    a->easy = a->multi ? c->easy_init() : NULL;
    if (!a->easy)
        return -1;
    c->multi_setopt(a->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    c->multi_setopt(a->multi, CURLMOPT_SOCKETDATA, b);
    interp__rest_common(c, a->easy, e);
    if (interp__rest_url(e, "/", url, sizeof url))
        return -1;
    c->easy_setopt(a->easy, CURLOPT_URL, url);
    if (*e->resolve)
        c->easy_setopt(a->easy, CURLOPT_RESOLVE, b->rest.addresses);
    c->easy_setopt(a->easy, CURLOPT_CONNECT_ONLY, 1L);
    interp__buf_fmt(&a->out, "POST %s/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1&detachKeys= HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n",
                    b->prefix, b->name, e->tcp ? e->host : "localhost");   /* detachKeys= : Podman would look for ctrl-p ctrl-q in what we send */
    if (a->out.bad || c->multi_add_handle(a->multi, a->easy) != CURLM_OK)
        return -1;
    a->connecting = 1;
    return 0;
}

static void drop_handles(struct interp__attach *a)
{
    if (a->easy) {
        if (a->multi)
            a->curl->multi_remove_handle(a->multi, a->easy);
        a->curl->easy_cleanup(a->easy);
    }
    if (a->multi)
        a->curl->multi_cleanup(a->multi);
    a->easy = NULL;
    a->multi = NULL;
}

/* Without TLS a connection is a socket, and libcurl's handles are three descriptors and 50 KB for nothing. */
static void take_socket(struct interp__attach *a, int tls)
{
    int fd = tls ? -1 : fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return;                         /* no descriptor to be had: it goes with them, too */
    interp__fds_add(fd);
    drop_handles(a);
    a->fd = fd;
}

/* With TLS the handle stays in its multi for good: taken out, libcurl would close the connection. */
static int connecting(struct interp__box *b)
{
    struct interp__attach *a = &b->attach;
    int running = 0, left = 0;
    if (a->fd >= 0)
        a->curl->multi_socket_action(a->multi, a->fd, 0, &running);
    a->curl->multi_socket_action(a->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    for (CURLMsg *m; (m = a->curl->multi_info_read(a->multi, &left));)
        if (m->msg == CURLMSG_DONE) {
            curl_socket_t fd = CURL_SOCKET_BAD;
            a->connecting = 0;
            if (m->data.result != CURLE_OK) {
                snprintf(a->noise, sizeof a->noise, "%s", a->curl->easy_strerror(m->data.result));
                return -1;
            }
            if (a->curl->easy_getinfo(a->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD)
                return -1;
            a->connected = 1;
            a->mask = 0;
            a->fd = fd;
            take_socket(a, b->where.tls);
            interp__attach_watch(b, INTERP_IO_IN);
            return 1;
        }
    return 0;
}

/* 1: *n bytes went, 0: not now, -1: the connection has ended */
static int put(struct interp__attach *a, const void *p, size_t len, size_t *n)
{
    if (a->easy) {
        CURLcode r = a->curl->easy_send(a->easy, p, len, n);
        return r == CURLE_OK && *n ? 1 : r == CURLE_AGAIN ? 0 : -1;
    }
    ssize_t r;
    do
        r = send(a->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    *n = r > 0 ? (size_t)r : 0;
    return r > 0 ? 1 : r < 0 && errno == EAGAIN ? 0 : -1;
}

static int get(struct interp__attach *a, void *p, size_t cap, size_t *n)
{
    if (a->easy) {
        CURLcode r = a->curl->easy_recv(a->easy, p, cap, n);
        return r == CURLE_OK && *n ? 1 : r == CURLE_AGAIN ? 0 : -1;
    }
    ssize_t r;
    do
        r = recv(a->fd, p, cap, MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    *n = r > 0 ? (size_t)r : 0;
    return r > 0 ? 1 : r < 0 && errno == EAGAIN ? 0 : -1;
}

static int send_request(struct interp__box *b)
{
    struct interp__attach *a = &b->attach;
    while (a->out.len) {
        size_t n = 0;
        int r = put(a, a->out.p, a->out.len, &n);
        if (r == 0)
            interp__attach_watch(b, INTERP_IO_IN | INTERP_IO_OUT);
        if (r <= 0)
            return r;
        interp__buf_drop(&a->out, n);
    }
    interp__attach_watch(b, INTERP_IO_IN);
    return 0;
}

int interp__attach_status(const struct interp__box *b)
{
    const struct interp__buf *h = &b->attach.head;
    return h->len > 12 && !memcmp(h->p, "HTTP/1.", 7) ? (int)strtol((char *)h->p + 9, NULL, 10) : 0;
}

/* Length of the head with its empty line, 0: not all of it is there */
static size_t head_end(const struct interp__buf *h)
{
    const uint8_t *end = h->len ? memmem(h->p, h->len, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - h->p) + 4 : 0;
}

/* An error's body: by its length, for Podman keeps the connection open. */
static size_t body_length(const struct interp__buf *h, size_t head)
{
    static const char name[] = "\r\ncontent-length:";
    for (size_t i = 0; i + sizeof name - 1 < head; i++)
        if (!strncasecmp((char *)h->p + i, name, sizeof name - 1)) {
            unsigned long n = strtoul((char *)h->p + i + sizeof name - 1, NULL, 10);
            return n < HEAD_MAX ? (size_t)n : HEAD_MAX;
        }
    return HEAD_MAX;
}

static int answer(struct interp__box *b)
{
    struct interp__attach *a = &b->attach;
    for (;;) {
        size_t n = 0, head = head_end(&a->head);
        int status = head ? interp__attach_status(b) : 0;
        if (head && (status == 101 || status == 200)) {   /* 200: an older form of the same */
            size_t rest = a->head.len - head;
            if (rest) {                                   /* the container's first bytes came with the head */
                if (!a->in && !(a->in = b->h->realloc(b->l, NULL, 0, IN_SIZE)))
                    return -1;
                memcpy(a->in, a->head.p + head, rest);
                a->in_at = 0;
                a->in_len = rest;
            }
            interp__buf_free(&a->head);
            interp__buf_free(&a->out);
            interp__attach_watch(b, 0);                   /* until the container has been started nobody reads */
            a->answered = 1;
            return 1;
        }
        if (a->eof || (head && a->head.len >= head + body_length(&a->head, head)) || a->head.len > HEAD_MAX || interp__buf_reserve(&a->head, HEAD_MAX + 1)) {
            if (head)
                interp__answer_error(&b->mem, &(struct interp__buf){ .p = a->head.p + head, .len = a->head.len - head }, a->noise, sizeof a->noise);
            return -1;
        }
        int r = get(a, a->head.p + a->head.len, HEAD_MAX, &n);
        if (r == 0)
            return 0;
        a->eof = r < 0;
        a->head.len += n;
        a->head.p[a->head.len] = 0;
    }
}

int interp__attach_step(struct interp__box *b)
{
    struct interp__attach *a = &b->attach;
    if (a->connecting) {
        int r = connecting(b);
        if (r <= 0)
            return r;
    }
    if (!a->connected)
        return -1;
    if (a->answered)
        return 1;
    return send_request(b) ? -1 : answer(b);
}

void interp__attach_free(struct interp__box *b)
{
    struct interp__attach *a = &b->attach;
    interp__attach_watch(b, 0);
    if (a->fd >= 0 && !a->easy) {
        interp__fds_remove(a->fd);
        close(a->fd);
    }
    drop_handles(a);
    if (a->in)
        b->h->realloc(b->l, a->in, IN_SIZE, 0);
    interp__buf_free(&a->head);
    interp__buf_free(&a->out);
    const struct interp__curl *c = a->curl;
    memset(a, 0, sizeof *a);
    a->curl = c;
    a->fd = -1;
    interp__buf_init(&a->head, &b->mem);
    interp__buf_init(&a->out, &b->mem);
}

/* ---- the byte stream */

/* The container's standard error: the agent's last words, or the runtime's. The last of it is kept for a message. */
static void noise(struct interp__attach *a, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a->noise_len == sizeof a->noise - 1) {
            memmove(a->noise, a->noise + sizeof a->noise / 2, sizeof a->noise / 2);
            a->noise_len -= sizeof a->noise / 2;
        }
        a->noise[a->noise_len++] = p[i] >= 0x20 && p[i] < 0x7F ? (char)p[i] : ' ';
    }
    a->noise[a->noise_len] = 0;
}

/* Takes the engine's frames apart. Returns how many bytes of standard output it has put into buf. */
static size_t take_apart(struct interp__attach *a, uint8_t *buf, size_t cap, int *bad)
{
    size_t got = 0;
    while (a->in_at < a->in_len && got < cap) {
        size_t have = a->in_len - a->in_at;
        if (a->frame_len < sizeof a->frame) {
            size_t n = sizeof a->frame - a->frame_len < have ? sizeof a->frame - a->frame_len : have;
            memcpy(a->frame + a->frame_len, a->in + a->in_at, n);
            a->frame_len += (unsigned)n;
            a->in_at += n;
            if (a->frame_len < sizeof a->frame)
                break;
            a->frame_left = (uint32_t)a->frame[4] << 24 | (uint32_t)a->frame[5] << 16 | (uint32_t)a->frame[6] << 8 | a->frame[7];
            if (a->frame[0] > 2 || a->frame[1] || a->frame[2] || a->frame[3] || a->frame_left > FRAME_MAX) {
                *bad = 1;
                return got;
            }
        }
        size_t n = a->in_len - a->in_at;
        if (n > a->frame_left)
            n = a->frame_left;
        if (a->frame[0] == 2)
            noise(a, a->in + a->in_at, n);
        else {
            if (n > cap - got)
                n = cap - got;
            memcpy(buf + got, a->in + a->in_at, n);
            got += n;
        }
        a->in_at += n;
        a->frame_left -= (uint32_t)n;
        if (!a->frame_left)
            a->frame_len = 0;
    }
    return got;
}

interp_status interp__attach_read(struct interp__box *b, void *buf, size_t cap, size_t *n)
{
    struct interp__attach *a = &b->attach;
    for (int round = 0; round < 64; round++) {
        int bad = 0;
        size_t got = a->in_at < a->in_len ? take_apart(a, buf, cap, &bad) : 0;
        if (bad) {
            a->eof = 1;
            a->in_at = a->in_len = 0;
            interp__attach_watch(b, 0);
            return INTERP_E_PROTOCOL;
        }
        if (got) {
            a->heard = 1;
            *n = got;
            return INTERP_OK;
        }
        if (a->eof)
            return INTERP_DONE;
        if (!a->in && !(a->in = b->h->realloc(b->l, NULL, 0, IN_SIZE)))
            return INTERP_E_NOMEM;
        size_t len = 0;
        int r = get(a, a->in, IN_SIZE, &len);
        a->in_at = 0;
        a->in_len = len;
        if (r == 0) {
            a->unread = 0;
            b->h->realloc(b->l, a->in, IN_SIZE, 0);   /* an idle session keeps no buffer */
            a->in = NULL;
            interp__attach_watch(b, INTERP_IO_IN | (a->mask & INTERP_IO_OUT));
            return INTERP_AGAIN;
        }
        if (r < 0) {
            a->eof = 1;
            interp__attach_watch(b, 0);
        }
    }
    b->h->again(b->l);                  /* a flood on standard error: others first */
    return INTERP_AGAIN;
}

interp_status interp__attach_write(struct interp__box *b, const void *buf, size_t len, size_t *n)
{
    struct interp__attach *a = &b->attach;
    int r = put(a, buf, len, n);
    if (r == 0) {
        interp__attach_watch(b, a->mask | INTERP_IO_IN | INTERP_IO_OUT);
        return INTERP_AGAIN;
    }
    return r > 0 ? INTERP_OK : INTERP_E_CLOSED;
}
