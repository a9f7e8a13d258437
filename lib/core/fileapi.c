/* fileapi.c - calls on files: what is asked for is checked and handed to files.c; the blocking forms are start + wait + finish and nothing else */
#include "core.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LIST_MAX = 1000000, BLOCK = 256 << 10 };

/* ---- paths */

/* Whether a path without a leading "/" stays below where it begins, as it is written. */
static int stays(const char *p, size_t n)
{
    size_t depth = 0;
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && p[end] != '/')
            end++;
        if (end - at == 2 && p[at] == '.' && p[at + 1] == '.') {
            if (!depth--)
                return 0;
        } else if (end > at && !(end - at == 1 && p[at] == '.'))
            depth++;
        at = end + 1;
    }
    return 1;
}

interp_status interp__path_take(const struct interp__mem *m, const void *given, size_t n, int file, char **out, size_t *out_len, interp_error **err)
{
    static const char home[] = "/workspace";
    const char *p = given;
    if (!p)
        return interp__fail(m, err, INTERP_E_INVAL, "argument", "the path is NULL");
    if (n == INTERP_NTS)
        n = strlen(p);
    if (!n)
        return interp__fail(m, err, INTERP_E_INVAL, "path", "the path is empty");
    if (memchr(p, 0, n))
        return interp__fail(m, err, INTERP_E_INVAL, "path", "the path has a NUL byte in it");
    if (n > WIRE_PATH_MAX)
        return interp__fail(m, err, INTERP_E_INVAL, "path-length", "the path has %zu bytes; at most %u are taken", n, WIRE_PATH_MAX);
    if (file && p[n - 1] == '/')
        return interp__fail(m, err, INTERP_E_INVAL, "path", "the path ends with \"/\": a file's does not");
    size_t k = sizeof home - 1;
    if (n >= k && !memcmp(p, home, k) && (n == k || p[k] == '/') && stays(p + k, n - k)) {     /* below the workspace it is the relative one */
        while (k < n && p[k] == '/')
            k++;
        p += k;
        n -= k;
        if (!n)
            p = ".", n = 1;
    } else if (p[0] != '/' && !stays(p, n))
        return interp__fail(m, err, INTERP_E_INVAL, "outside", "the path leaves the workspace by \"..\": give an absolute one if that is meant");
    *out = interp__strndup(m, p, n);
    *out_len = n;
    return *out ? INTERP_OK : interp__nomem(err);
}

/* ---- start */

interp_status interp__file_start(struct interp_session *s, const struct interp__order *o, interp_call **call, interp_error **err)
{
    interp_status st = interp__session_enter(s, err);
    if (st)
        return st;
    struct interp__file *f = NULL;
    struct interp_call *c = NULL;
    if (!call)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "call is NULL");
    else if (o->flags & ~o->may)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "flags 0x%x: this call takes none of 0x%x", o->flags, o->flags & ~o->may);
    else if (o->mode > 0777)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "mode 0%o: at most 0777, permission bits alone", o->mode);
    else
        st = interp__session_usable(s, err);
    if (!st && !(f = interp__alloc(&s->mem, sizeof *f)))
        st = interp__nomem(err);
    if (!st) {
        interp__buf_init(&f->input, &s->mem);
        interp__buf_init(&f->reply, &s->mem);
        int file = o->op == WIRE_FILE_PUT || o->op == WIRE_FILE_GET;
        st = interp__path_take(&s->mem, o->path, o->len, file, &f->path, &f->path_len, err);
        if (!st && o->op == WIRE_FILE_RENAME)
            st = interp__path_take(&s->mem, o->other, o->other_len, 0, &f->other, &f->other_len, err);
    }
    if (!st && !(c = interp__call_new(s, o->kind, NULL)))
        st = interp__nomem(err);
    if (!st)
        f->tree = o->tree;
    if (st) {
        if (f) {
            interp__free(&s->mem, f->path);
            interp__free(&s->mem, f->other);
            interp__free(&s->mem, f);
        }
    } else {
        f->op = o->op;
        f->flags = (uint8_t)o->flags;
        f->mode = o->mode;
        f->limit = o->limit;
        f->size = o->size;
        f->heard = interp__now();
        f->call = c;
        c->file = f;
        struct interp__file **end = &s->transfers;
        while (*end)
            end = &(*end)->next;
        *end = f;
        interp__files_send(s);
        interp__session_flush(s);
        *call = c;
        interp__loop_poke(&s->ctx->loop);
    }
    interp__session_leave(s);
    return st;
}

interp_status interp_session_put_start(interp_session *s, const void *path, size_t len, uint64_t size, uint32_t mode, interp_call **call, interp_error **err)
{
    struct interp__order o = { .kind = INTERP_CALL_PUT, .op = WIRE_FILE_PUT, .flags = WIRE_FILE_PARENTS, .may = WIRE_FILE_PARENTS, .mode = mode, .size = size, .path = path, .len = len };
    return interp__file_start(s, &o, call, err);
}
interp_status interp_session_get_start(interp_session *s, const void *path, size_t len, uint64_t max, interp_call **call, interp_error **err)
{
    struct interp__order o = { .kind = INTERP_CALL_GET, .op = WIRE_FILE_GET, .limit = max, .path = path, .len = len };
    if (s && !max)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "max is 0: INTERP_FOREVER says that no file is too large");
    return interp__file_start(s, &o, call, err);
}
interp_status interp_session_list_start(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, interp_call **call, interp_error **err)
{
    struct interp__order o = { .kind = INTERP_CALL_LIST, .op = WIRE_FILE_LIST, .flags = flags, .may = INTERP_FILE_RECURSIVE, .limit = max, .path = path, .len = len };
    if (s && (!max || max > LIST_MAX))
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "a list has 1 to %d entries", LIST_MAX);
    return interp__file_start(s, &o, call, err);
}
interp_status interp_session_stat_start(interp_session *s, const void *path, size_t len, interp_call **call, interp_error **err)
{
    struct interp__order o = { .kind = INTERP_CALL_STAT, .op = WIRE_FILE_STAT, .path = path, .len = len };
    return interp__file_start(s, &o, call, err);
}
interp_status interp_session_mkdir_start(interp_session *s, const void *path, size_t len, uint32_t flags, interp_call **call, interp_error **err)
{
    struct interp__order o = { .kind = INTERP_CALL_MKDIR, .op = WIRE_FILE_MKDIR, .flags = flags, .may = INTERP_FILE_PARENTS, .mode = 0755, .path = path, .len = len };
    return interp__file_start(s, &o, call, err);
}
interp_status interp_session_rename_start(interp_session *s, const void *from, size_t from_len, const void *to, size_t to_len, uint32_t flags, interp_call **call, interp_error **err)
{
    struct interp__order o = { .kind = INTERP_CALL_RENAME, .op = WIRE_FILE_RENAME, .flags = flags, .may = INTERP_FILE_KEEP, .path = from, .len = from_len, .other = to, .other_len = to_len };
    return interp__file_start(s, &o, call, err);
}
interp_status interp_session_remove_start(interp_session *s, const void *path, size_t len, uint32_t flags, interp_call **call, interp_error **err)
{
    struct interp__order o = { .kind = INTERP_CALL_REMOVE, .op = WIRE_FILE_REMOVE, .flags = flags, .may = INTERP_FILE_RECURSIVE, .path = path, .len = len };
    return interp__file_start(s, &o, call, err);
}

/* ---- blocking forms */

struct interp_content { struct interp__mem mem; struct interp__buf data; };

const void *interp_content_data(const interp_content *c, size_t *len)
{
    if (len)
        *len = c ? c->data.len : 0;
    return c && c->data.p ? (const void *)c->data.p : "";
}
void interp_content_free(interp_content *c)
{
    if (!c)
        return;
    struct interp__mem m = c->mem;
    interp__buf_free(&c->data);
    interp__free(&m, c);
}

interp_status interp__file_blocking(struct interp_session *s, interp_error **err)
{
    return s ? interp__loop_refuse(s->ctx, err) : interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the session is NULL");
}

/* As interp_call_write, but nothing is kept: what is not taken can't be sent yet. */
static interp_status put_some(interp_call *c, const uint8_t *p, size_t n, size_t *taken)
{
    struct interp_session *in = NULL;
    interp_status st = interp__call_enter(c, &in, NULL);
    if (st)
        return st;
    *taken = 0;
    st = interp__file_write(c, p, n, 0, taken, NULL);
    if (in)
        interp__session_leave(in);
    return st;
}

/* More of what is put, when it comes from a descriptor. */
static interp_status read_more(const struct interp__mem *m, int fd, uint8_t *block, const uint8_t **p, size_t *n, interp_error **err)
{
    ssize_t r;
    struct pollfd wait = { fd, POLLIN, 0 };
    while ((r = read(fd, block, BLOCK)) < 0 && (errno == EINTR || errno == EAGAIN))
        if (errno == EAGAIN)
            poll(&wait, 1, -1);
    if (r < 0) {
        struct interp__fault fault = { INTERP_E_IO, "host-file", NULL, errno, 0 };
        return interp__fail_with(m, err, &fault, "what is to be put can't be read: %s; what came before may have been placed", strerror(errno));
    }
    *p = block;
    *n = (size_t)r;
    return INTERP_OK;
}

/* A pipe that nobody reads, and a file at the limit of this process, are errors here and no signals to the program. */
static interp_status write_out(const struct interp__mem *m, int fd, const uint8_t *p, size_t n, interp_error **err)
{
    sigset_t held, before, pending;
    struct pollfd wait = { fd, POLLOUT, 0 };
    int e = 0;
    sigemptyset(&held);
    sigaddset(&held, SIGPIPE);
    sigaddset(&held, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &held, &before);
    while (n && !e) {
        ssize_t r = write(fd, p, n);
        if (r > 0)
            p += r, n -= (size_t)r;
        else if (r < 0 && errno == EAGAIN)
            poll(&wait, 1, -1);
        else if (!r || errno != EINTR)
            e = r ? errno : ENOSPC;
    }
    int raised = e == EPIPE ? SIGPIPE : e == EFBIG ? SIGXFSZ : 0;
    if (raised && !sigismember(&pending, raised)) {   /* it is ours: the write has sent it to this thread */
        static const struct timespec now;
        sigemptyset(&held);
        sigaddset(&held, raised);
        while (sigtimedwait(&held, NULL, &now) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!e)
        return INTERP_OK;
    struct interp__fault fault = { INTERP_E_IO, "host-file", NULL, e, 0 };
    return interp__fail_with(m, err, &fault, "what is got can't be written: %s", strerror(e));
}

/* Waits for the end of a call, with the bytes to go and those that come; frees it. */
interp_status interp__file_complete(struct interp_session *s, interp_call *c, const struct interp__flow *w, int json, interp_content **out, interp_error **err)
{
    struct interp__mem m = s->mem;
    interp_status st = INTERP_OK, next = INTERP_AGAIN;
    const uint8_t *p = w->p;
    size_t n = w->n;
    int put = interp_call_kind(c) == INTERP_CALL_PUT || interp_call_kind(c) == INTERP_CALL_PUT_TAR, ended = 0, whole = !put || w->fd < 0;
    uint8_t *block = whole ? NULL : interp__resize(&m, NULL, BLOCK);
    interp_content *k = out ? interp__alloc(&m, sizeof *k) : NULL;
    if (k) {
        k->mem = m;
        interp__buf_init(&k->data, &k->mem);
    }
    if ((out && !k) || (!whole && !block))
        st = interp__nomem(err);
    while (!st && next == INTERP_AGAIN) {
        size_t taken = 1;
        while (put && taken && !st && (n || !whole)) {
            if (!n) {
                if ((st = read_more(&m, w->fd, block, &p, &n, err)))
                    break;
                whole = !n;
            } else if (!(st = put_some(c, p, n, &taken)))
                p += taken, n -= taken;
            if (st == INTERP_E_CLOSED)
                st = INTERP_OK, n = 0, put = 0;        /* it has failed: the call knows why */
            else if (st)
                interp__fail(&m, err, st, "put", "the content could not be handed on");
        }
        if (put && !n && whole && !st && !ended) {
            st = interp_call_write_end(c, NULL);
            ended = 1;
            if (st == INTERP_E_CLOSED)
                st = INTERP_OK, put = 0;
            else if (st)
                interp__fail(&m, err, st, "put", "the content could not be ended");
        }
        if (st || (st = interp_call_wait(c, INTERP_FOREVER, 0, err)))
            break;
        const interp_event *e;
        while (!st && (next = interp_call_next(c, &e)) == INTERP_OK) {
            size_t len;
            const void *data = interp_event_data(e, &len);
            if (interp_event_type(e) != INTERP_EV_DATA)
                continue;
            if (w->fd >= 0)
                st = write_out(&m, w->fd, data, len, err);
            else if (k && !json)
                interp__buf_add(&k->data, data, len);
        }
        if (!st && k && k->data.bad)
            st = interp__nomem(err);
    }
    if (!st)
        st = next < 0 ? interp__fail(&m, err, next, "thread", "another thread is using this session") : interp_call_finish(c, NULL, err);
    if (!st && k && json) {
        size_t len;
        const char *text = interp_call_json(c, &len);
        interp__buf_add(&k->data, text, len);
    }
    if (!st && k && !interp__buf_text(&k->data))
        st = interp__nomem(err);
    interp_call_free(c);
    interp__free(&m, block);
    if (st)
        interp_content_free(k);
    else if (out)
        *out = k;
    return st;
}

static interp_status complete(struct interp_session *s, interp_call *c, const uint8_t *p, size_t n, int json, interp_content **out, interp_error **err)
{
    struct interp__flow w = { p, n, -1 };
    return interp__file_complete(s, c, &w, json, out, err);
}

static interp_status out_needed(struct interp_session *s, interp_content **out, interp_error **err)
{
    interp_status st = interp__file_blocking(s, err);
    return st || out ? st : interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "out is NULL");
}

interp_status interp_session_put(interp_session *s, const void *path, size_t len, uint32_t mode, const void *p, size_t n, interp_error **err)
{
    interp_call *c;
    interp_status st = interp__file_blocking(s, err);
    if (!st && !p && n)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "the content is NULL");
    if (!st)
        st = interp_session_put_start(s, path, len, n, mode, &c, err);
    return st ? st : complete(s, c, p, n, 0, NULL, err);
}
interp_status interp_session_get(interp_session *s, const void *path, size_t len, uint64_t max, interp_content **out, interp_error **err)
{
    interp_call *c;
    interp_status st = out_needed(s, out, err);
    if (!st)
        st = interp_session_get_start(s, path, len, max, &c, err);
    return st ? st : complete(s, c, NULL, 0, 0, out, err);
}
interp_status interp_session_list(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, interp_content **out, interp_error **err)
{
    interp_call *c;
    interp_status st = out_needed(s, out, err);
    if (!st)
        st = interp_session_list_start(s, path, len, flags, max, &c, err);
    return st ? st : complete(s, c, NULL, 0, 1, out, err);
}
interp_status interp_session_stat(interp_session *s, const void *path, size_t len, interp_content **out, interp_error **err)
{
    interp_call *c;
    interp_status st = out_needed(s, out, err);
    if (!st)
        st = interp_session_stat_start(s, path, len, &c, err);
    return st ? st : complete(s, c, NULL, 0, 1, out, err);
}
interp_status interp_session_mkdir(interp_session *s, const void *path, size_t len, uint32_t flags, interp_error **err)
{
    interp_call *c;
    interp_status st = interp__file_blocking(s, err);
    if (!st)
        st = interp_session_mkdir_start(s, path, len, flags, &c, err);
    return st ? st : complete(s, c, NULL, 0, 1, NULL, err);
}
interp_status interp_session_rename(interp_session *s, const void *from, size_t from_len, const void *to, size_t to_len, uint32_t flags, interp_error **err)
{
    interp_call *c;
    interp_status st = interp__file_blocking(s, err);
    if (!st)
        st = interp_session_rename_start(s, from, from_len, to, to_len, flags, &c, err);
    return st ? st : complete(s, c, NULL, 0, 1, NULL, err);
}
interp_status interp_session_remove(interp_session *s, const void *path, size_t len, uint32_t flags, interp_error **err)
{
    interp_call *c;
    interp_status st = interp__file_blocking(s, err);
    if (!st)
        st = interp_session_remove_start(s, path, len, flags, &c, err);
    return st ? st : complete(s, c, NULL, 0, 1, NULL, err);
}
