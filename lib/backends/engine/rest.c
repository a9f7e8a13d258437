/* rest.c - one call at a time to an engine's API, over a libcurl multi handle whose sockets and timer are the link's. Nothing here blocks. */
#include "engine_priv.h"
#include "base/fds.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MAX ((size_t)64 << 10)
#define CONNECTS 7u                     /* attempts at a busy socket: 1.3 s */

/* ---- what libcurl asks for */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
    struct interp__rest *r = arg;
    unsigned i = 0;
    (void)easy;
    (void)unused;
    while (i < r->nfds && r->fds[i] != fd)
        i++;
    if (what == CURL_POLL_REMOVE) {
        r->h->watch(r->l, fd, 0);
        if (i < r->nfds)
            r->fds[i] = r->fds[--r->nfds];
        return 0;
    }
    if (i == r->nfds) {
        if (i == sizeof r->fds / sizeof *r->fds)
            return -1;                  /* one call: one connection, at most a few attempts beside it */
        r->fds[r->nfds++] = fd;
    }
    return r->h->watch(r->l, fd, (what & CURL_POLL_IN ? INTERP_IO_IN : 0u) | (what & CURL_POLL_OUT ? INTERP_IO_OUT : 0u)) ? -1 : 0;
}

static int on_timer(CURLM *multi, long ms, void *arg)
{
    struct interp__rest *r = arg;
    (void)multi;
    r->timer = ms < 0 ? INTERP__NEVER : interp__after(interp__now(), interp__ms((uint64_t)ms));
    return 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct interp__rest *r = arg;
    n *= size;
    if (n > r->most - r->body.len) {
        r->too_long = 1;
        return 0;
    }
    interp__buf_add(&r->body, p, n);
    if (r->body.bad)
        return 0;
    for (uint8_t *end; r->on_line && (end = memchr(r->body.p, '\n', r->body.len));) {
        size_t line = (size_t)(end - r->body.p);
        r->on_line(r->on_line_arg, (char *)r->body.p, line);
        interp__buf_drop(&r->body, line + 1);
    }
    return n;
}

static void keep(char *out, size_t cap, const char *name, const char *line, size_t n)
{
    size_t at = strlen(name);
    if (n < at || strncasecmp(line, name, at) != 0)
        return;
    while (at < n && line[at] == ' ')
        at++;
    while (n > at && (line[n - 1] == '\r' || line[n - 1] == '\n' || line[n - 1] == ' '))
        n--;
    snprintf(out, cap, "%.*s", (int)(n - at < cap ? n - at : cap - 1), line + at);
}

/* An endless head would fill memory: libcurl keeps what it has seen (CVE-2023-38039) */
static size_t on_head(char *p, size_t size, size_t n, void *arg)
{
    struct interp__rest *r = arg;
    n *= size;
    if (n > HEAD_MAX - r->head) {
        r->too_long = 1;
        return 0;
    }
    r->head += n;
    keep(r->api, sizeof r->api, "Api-Version:", p, n);
    keep(r->libpod, sizeof r->libpod, "Libpod-Api-Version:", p, n);
    return n;
}

/* ---- life */

int interp__rest_init(struct interp__rest *r, const interp_host_ops *h, interp_link *l, const struct interp__mem *m, const char **why)
{
    r->h = h;
    r->l = l;
    r->timer = r->connect_at = INTERP__NEVER;
    r->most = ENGINE_ANSWER_MAX;
    interp__buf_init(&r->body, m);
    interp__buf_init(&r->sent, m);
    r->curl = interp__curl(why);
    return r->curl ? 0 : -1;
}

static int handles(struct interp__rest *r)
{
    if (!r->multi)
        r->multi = r->curl->multi_init();
    if (r->multi && !r->easy)
        r->easy = r->curl->easy_init();
    if (!r->easy)
        return -1;
    r->curl->multi_setopt(r->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    r->curl->multi_setopt(r->multi, CURLMOPT_SOCKETDATA, r);
    r->curl->multi_setopt(r->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    r->curl->multi_setopt(r->multi, CURLMOPT_TIMERDATA, r);
    return 0;
}

static void break_off(struct interp__rest *r)
{
    if (r->busy) {
        r->curl->multi_remove_handle(r->multi, r->easy);   /* closes the connection */
        r->curl->slist_free_all(r->headers);
        r->headers = NULL;
    }
    r->busy = r->done = 0;
    r->connect_at = INTERP__NEVER;
}

void interp__rest_cancel(struct interp__rest *r)
{
    break_off(r);
    r->on_line = NULL;
}

/* Forgets everything but where it goes: connection, descriptors and memory come back with the next call. */
void interp__rest_rest(struct interp__rest *r)
{
    if (r->curl) {
        interp__rest_cancel(r);
        if (r->easy)
            r->curl->easy_cleanup(r->easy);
        if (r->multi)
            r->curl->multi_cleanup(r->multi);
        r->curl->slist_free_all(r->headers);
        r->curl->slist_free_all(r->addresses);
    }
    r->easy = NULL;
    r->multi = NULL;
    r->headers = r->addresses = NULL;
    interp__buf_free(&r->body);
    interp__wipe(r->sent.p, r->sent.cap);
    interp__buf_free(&r->sent);
    r->timer = INTERP__NEVER;
    r->nfds = 0;
}

/* ---- a call */

/* A socket of libcurl's would be inherited by every program that the host starts, and by every child that it forks: it and the engine could then keep up a
   connection whose sandbox should end with the host. */
static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
    (void)arg;
    (void)purpose;
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    if (fd >= 0)
        interp__fds_add(fd);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_close(void *arg, curl_socket_t fd)
{
    (void)arg;
    interp__fds_remove(fd);
    return close(fd);
}

int interp__rest_url(const struct interp__endpoint *e, const char *path, char *out, size_t n)
{
    const char *bracket = e->tcp && strchr(e->host, ':') ? "[" : "";
    int len = snprintf(out, n, "%s://%s%s%s%s%s%s", e->tls ? "https" : "http", bracket, e->tcp ? e->host : "localhost", *bracket ? "]" : "", e->tcp ? ":" : "", e->tcp ? e->port : "", path);
    return len < 0 || (size_t)len >= n ? -1 : 0;
}

void interp__rest_common(const struct interp__curl *c, CURL *easy, const struct interp__endpoint *e)
{
    if (e->tcp) {
        if (e->tls && *e->certs) {
            char file[560];
            snprintf(file, sizeof file, "%s/ca.pem", e->certs);
            c->easy_setopt(easy, CURLOPT_CAINFO, file);
            c->easy_setopt(easy, CURLOPT_CAPATH, NULL);   /* no other authority, as with the engine's own client */
            snprintf(file, sizeof file, "%s/cert.pem", e->certs);
            c->easy_setopt(easy, CURLOPT_SSLCERT, file);
            snprintf(file, sizeof file, "%s/key.pem", e->certs);
            c->easy_setopt(easy, CURLOPT_SSLKEY, file);
        }
        c->easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
        c->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);   /* an idle session outlives what routers keep, and a machine that is gone is noticed */
        c->easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 60L);
        c->easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
    } else
        c->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, e->path);
    c->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    c->easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    c->easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);   /* the attach needs it: no h2 */
    c->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(easy, CURLOPT_NOPROXY, "*");
    c->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)ENGINE_CONNECT_MS);
    c->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
}

int interp__rest_header(struct interp__rest *r, const char *line)
{
    struct curl_slist *more = r->curl->slist_append(r->headers, line);
    if (!more)
        return -1;
    r->headers = more;
    return 0;
}

int interp__rest_call(struct interp__rest *r, const char *method, const char *path, const void *body, size_t n, const char *type, uint64_t timeout_ms)
{
    const struct interp__curl *c = r->curl;
    const struct interp__endpoint *e = r->where;
    char url[1400], line[96];
    struct curl_slist *addresses = NULL;
    break_off(r);
    interp__buf_free(&r->body);
    interp__wipe(r->sent.p, r->sent.cap);
    interp__buf_free(&r->sent);
    r->error[0] = r->api[0] = r->libpod[0] = 0;
    r->head = 0;
    r->status = r->code = r->os_error = r->too_long = 0;
    if (handles(r))
        return -1;
    c->easy_reset(r->easy);
    interp__rest_common(c, r->easy, e);
    snprintf(line, sizeof line, "Content-Type:%s%s", type ? " " : "", type ? type : "");
    interp__buf_add(&r->sent, body, n);
    if (interp__rest_url(e, path, url, sizeof url) || r->sent.bad || interp__rest_header(r, line) || interp__rest_header(r, "Expect:"))   /* Expect: else a second's wait before a big body */
        return -1;
    c->easy_setopt(r->easy, CURLOPT_URL, url);
    if (*e->resolve) {
        if (!(addresses = c->slist_append(NULL, e->resolve)))
            return -1;
        c->easy_setopt(r->easy, CURLOPT_RESOLVE, addresses);
    }
    c->easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, method);
    /* Over a kept connection that ends without an answer libcurl sends a request again by itself. What makes something must not be made again behind our
       back, and a failure to connect must mean that it never went out. */
    c->easy_setopt(r->easy, CURLOPT_FRESH_CONNECT, !strcmp(method, "POST") ? 1L : 0L);
    if (strcmp(method, "GET") != 0) {
        c->easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
        c->easy_setopt(r->easy, CURLOPT_POSTFIELDS, n ? (char *)r->sent.p : "");
    }
    c->easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
    c->easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, on_body);
    c->easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
    c->easy_setopt(r->easy, CURLOPT_HEADERFUNCTION, on_head);
    c->easy_setopt(r->easy, CURLOPT_HEADERDATA, r);
    c->easy_setopt(r->easy, CURLOPT_ERRORBUFFER, r->error);
    if (timeout_ms < (uint64_t)1 << 31)
        c->easy_setopt(r->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    CURLMcode m = c->multi_add_handle(r->multi, r->easy);
    c->slist_free_all(r->addresses);
    r->addresses = addresses;
    if (m != CURLM_OK)
        return -1;
    r->busy = 1;
    r->attempts = 0;
    interp__rest_step(r);
    return 0;
}

/* A full backlog of a unix socket refuses at once (libcurl #18748): the call was never made, so it may be made again, whatever it is. */
static int wait_for_room(struct interp__rest *r)
{
    if (r->code != CURLE_COULDNT_CONNECT || r->os_error != EAGAIN || r->attempts >= CONNECTS)
        return 0;
    r->timer = r->connect_at = interp__after(interp__now(), UINT64_C(10000000) << r->attempts++);
    return 1;
}

void interp__rest_step(struct interp__rest *r)
{
    const struct interp__curl *c = r->curl;
    int fds[sizeof r->fds / sizeof *r->fds], running = 0, left = 0;
    if (!r->busy)
        return;
    if (r->connect_at != INTERP__NEVER) {
        if (r->connect_at > interp__now())
            return;
        r->connect_at = INTERP__NEVER;
        c->multi_add_handle(r->multi, r->easy);
    }
    unsigned n = r->nfds;
    memcpy(fds, r->fds, sizeof fds);    /* the list changes under the calls */
    for (unsigned i = 0; i < n; i++)
        c->multi_socket_action(r->multi, fds[i], 0, &running);      /* 0: libcurl looks for itself what is ready */
    if (!n || r->timer <= interp__now())
        c->multi_socket_action(r->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    for (CURLMsg *m; (m = c->multi_info_read(r->multi, &left));) {
        if (m->msg != CURLMSG_DONE || m->easy_handle != r->easy)
            continue;
        long status = 0, os = 0;
        r->code = (int)m->data.result;
        c->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
        c->easy_getinfo(r->easy, CURLINFO_OS_ERRNO, &os);
        r->status = (int)status;
        r->os_error = (int)os;
        c->multi_remove_handle(r->multi, r->easy);
        if (wait_for_room(r))
            return;
        c->slist_free_all(r->headers);
        r->headers = NULL;
        r->busy = 0;
        r->done = 1;
        if (r->on_line && r->body.len && !r->body.bad)   /* a last line without its end */
            r->on_line(r->on_line_arg, (char *)r->body.p, r->body.len);
        break;                          /* m is gone with the handle */
    }
}
