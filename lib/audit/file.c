/* file.c - the file that a trail is kept in. One process at a time writes it (flock); what is there is continued, never trusted: the last record must verify. */
#include "audit_priv.h"
#include "base/limit.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int interp__audit_write_all(int fd, uint64_t at, const void *p, size_t n)
{
    if (at + n > interp__file_limit())
        return EFBIG;
    const char *b = p;
    while (n) {
        ssize_t r = write(fd, b, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return r < 0 ? errno : ENOSPC;
        b += r;
        n -= (size_t)r;
    }
    return 0;
}

static interp_status fail(struct interp__audit *a, interp_error **err, int e, const char *what)
{
    struct interp__fault f = { INTERP_E_IO, "audit-file", "give a path that this user can write, in a directory that is there", e, 0 };
    return interp__fail_with(&a->mem, err, &f, "the audit file %.512s: %s: %s", a->file.path, what, strerror(e));
}
static interp_status refuse(struct interp__audit *a, interp_error **err, const char *reason, const char *what, const char *remedy)
{
    struct interp__fault f = { INTERP_E_DENIED, reason, remedy, 0, 0 };
    return interp__fail_with(&a->mem, err, &f, "the audit file %.512s %s", a->file.path, what);
}

static interp_status open_dir(struct interp__audit *a, interp_error **err)
{
    struct audit_file *f = &a->file;
    const char *slash = strrchr(f->path, '/'), *base = slash ? slash + 1 : f->path;
    if (!*base || !strcmp(base, ".") || !strcmp(base, "..") || strlen(base) > 200)
        return interp__fail(&a->mem, err, INTERP_E_INVAL, "option-value", "audit.path \"%.128s\" does not name a file with at most 200 bytes in its name", f->path);
    char *dir = slash ? interp__strndup(&a->mem, f->path, slash == f->path ? 1 : (size_t)(slash - f->path)) : interp__strndup(&a->mem, ".", 1);
    f->base = interp__strndup(&a->mem, base, strlen(base));
    if (!dir || !f->base) {
        interp__free(&a->mem, dir);
        return interp__nomem(err);
    }
    f->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int e = errno;
    interp__free(&a->mem, dir);
    if (f->dir < 0)
        return fail(a, err, e, "its directory can't be opened");
    interp__fds_add(f->dir);
    return INTERP_OK;
}

/* The file, locked, and still the one of that name. */
static interp_status open_locked(struct interp__audit *a, struct stat *st, interp_error **err)
{
    struct audit_file *f = &a->file;
    for (int turn = 0; turn < 8; turn++) {
        struct stat named;
        f->fd = openat(f->dir, f->base, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
        if (f->fd < 0)
            return fail(a, err, errno, errno == ELOOP ? "is a symbolic link, which is not followed" : "can't be opened");
        interp__fds_add(f->fd);
        if (fstat(f->fd, st))
            return fail(a, err, errno, "can't be looked at");
        if (!S_ISREG(st->st_mode))
            return refuse(a, err, "audit-file", "is no regular file", "give a path of its own");
        if (st->st_mode & 022)
            return refuse(a, err, "audit-mode", "can be written by others", "take the right to write from group and others: chmod 600");
        if (st->st_uid != geteuid())
            return refuse(a, err, "audit-owner", "belongs to another user", "give a path of this user's own");
        if (flock(f->fd, LOCK_EX | LOCK_NB)) {
            if (errno != EWOULDBLOCK)
                return fail(a, err, errno, "can't be locked");
            struct interp__fault b = { INTERP_E_BUSY, "audit-busy", "give each context a file of its own", 0, 1 };
            return interp__fail_with(&a->mem, err, &b, "the audit file %.512s is in use by another context or process", f->path);
        }
        if (!fstatat(f->dir, f->base, &named, AT_SYMLINK_NOFOLLOW) && named.st_dev == st->st_dev && named.st_ino == st->st_ino)
            return INTERP_OK;
        interp__fds_remove(f->fd);   /* it was rotated away between the open and the lock */
        close(f->fd);
        f->fd = -1;
    }
    return refuse(a, err, "audit-file", "is being replaced all the time", "give a path of its own");
}

/* A rotation was cut off half-way: the file has its new name beside the old one. It is undone; the next record rotates again. */
static void undo_link(struct interp__audit *a, const struct audit_line *last)
{
    char name[256];
    struct stat one, two;
    if (snprintf(name, sizeof name, "%s.%012" PRIu64 "-%012" PRIu64, a->file.base, a->file.first, last->seq) < (int)sizeof name && !fstat(a->file.fd, &one) &&
        !fstatat(a->file.dir, name, &two, AT_SYMLINK_NOFOLLOW) && one.st_ino == two.st_ino && one.st_dev == two.st_dev)
        unlinkat(a->file.dir, name, 0);
}

static int read_at(int fd, void *p, size_t n, uint64_t at)
{
    char *b = p;
    while (n) {
        ssize_t r = pread(fd, b, n, (off_t)at);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return -1;
        b += r;
        n -= (size_t)r;
        at += (uint64_t)r;
    }
    return 0;
}

/* The first line's number: no more than its beginning is needed. */
static uint64_t first_seq(int fd)
{
    char b[48];
    ssize_t n = pread(fd, b, sizeof b - 1, 0);
    uint64_t v = 0;
    if (n <= 0)
        return 0;
    b[n] = 0;
    return sscanf(b, AUDIT_HEAD "%" SCNu64, &v) == 1 ? v : 0;
}

static interp_status tail(struct interp__audit *a, uint64_t size, uint64_t *torn, interp_error **err)
{
    struct audit_file *f = &a->file;
    struct interp__buf b;
    interp_status st = INTERP_OK;
    uint64_t want = 64 << 10;
    interp__buf_init(&b, &a->mem);
    for (;;) {   /* the last whole line, from a piece that grows until it is in it */
        uint64_t n = want < size ? want : size;
        b.len = 0;
        if (interp__buf_reserve(&b, (size_t)n)) {
            st = interp__nomem(err);
            break;
        }
        if (read_at(f->fd, b.p, (size_t)n, size - n)) {
            st = fail(a, err, errno ? errno : EIO, "can't be read");
            break;
        }
        const char *p = (const char *)b.p, *last = memrchr(p, '\n', (size_t)n);
        *torn = last ? (uint64_t)(p + n - (last + 1)) : n;
        const char *before = last ? memrchr(p, '\n', (size_t)(last - p)) : NULL;
        if (n < size && !before) {
            if (want >= 2 * AUDIT_LINE_MAX) {
                st = refuse(a, err, "audit-tail", "does not end in a record of this library", "move it away, or give another path");
                break;
            }
            want *= 4;
            continue;
        }
        if (last) {
            struct audit_line l;
            const char *line = before ? before + 1 : p;
            if (interp__audit_read_line(&a->key, line, (size_t)(last - line), &l) || !l.good)
                st = refuse(a, err, "audit-tail", "ends in a record that does not verify: it was altered, or written with another key",
                            "look at it with `interp audit verify`, then move it away or give its key");
            else {
                a->seq = l.seq;
                memcpy(a->head, l.hash, sizeof l.hash);
                f->first = first_seq(f->fd);
                undo_link(a, &l);
            }
        }
        break;
    }
    interp__buf_free(&b);
    if (!st && *torn && ftruncate(f->fd, (off_t)(size - *torn)))
        st = fail(a, err, errno, "its torn end can't be cut off");
    f->size = size - *torn;
    return st;
}

interp_status interp__audit_file_open(struct interp__audit *a, uint64_t *torn, interp_error **err)
{
    struct stat s;
    memset(&s, 0, sizeof s);
    *torn = 0;
    interp_status st = open_dir(a, err);
    if (!st)
        st = open_locked(a, &s, err);
    if (!st && s.st_size)
        st = tail(a, (uint64_t)s.st_size, torn, err);
    if (!st) {
        if (a->file.sync == SYNC_EACH || a->file.sync == SYNC_INTERVAL)
            fsync(a->file.dir);   /* the name, too */
        a->file.synced = interp__now();
        if (a->file.rotate)
            interp__audit_compress_find(a);
    } else if (a->file.fd >= 0) {
        interp__fds_remove(a->file.fd);
        close(a->file.fd);
        a->file.fd = -1;
    }
    return st;
}

int interp__audit_file_put(struct interp__audit *a)
{
    struct audit_file *f = &a->file;
    struct stat st;
    if (fstat(f->fd, &st))
        return errno;
    if (!st.st_nlink || (uint64_t)st.st_size != f->size)   /* removed, cut or written to by somebody else: what follows would hang in the air */
        return ESTALE;
    int e = interp__audit_write_all(f->fd, f->size, a->line.p, a->line.len);
    uint64_t now = f->sync == SYNC_INTERVAL ? interp__now() : 0;
    if (!e && (f->sync == SYNC_EACH || (f->sync == SYNC_INTERVAL && now - f->synced >= interp__ms(f->sync_ms)))) {
        if (fdatasync(f->fd))
            e = errno;
        f->synced = now;
    }
    if (e) {   /* a record is there whole or not at all */
        if (ftruncate(f->fd, (off_t)f->size))
            interp__audit_log(a, 1, "a torn record at the end of the audit file %s can't be cut off: %s", f->path, strerror(errno));
        return e;
    }
    f->size += a->line.len;
    f->dirty = 1;
    if (!f->first)
        f->first = a->seq + 1;
    return 0;
}

void interp__audit_file_close(struct interp__audit *a, int forked)
{
    struct audit_file *f = &a->file;
    if (!forked && f->in >= 0)
        interp__audit_compress(a, interp__after(interp__now(), UINT64_C(2000000000)));
    interp__audit_compress_drop(a);
    if (!forked && f->fd >= 0 && f->dirty && f->sync != SYNC_NONE)
        fdatasync(f->fd);
    if (!forked && f->fd >= 0)
        flock(f->fd, LOCK_UN);         /* a child that the host has forked may not have closed its copy yet, which would hold the lock */
    int *fds[] = { &f->fd, &f->dir };
    for (unsigned i = 0; i < 2; i++)
        if (*fds[i] >= 0) {
            if (!forked)
                interp__fds_remove(*fds[i]);
            close(*fds[i]);
            *fds[i] = -1;
        }
}
