/* treedir.c - walks and landings: every name is used below a descriptor of its directory, and never through a link */
#include "base/limit.h"
#include "core/treedir.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define AHEAD   (64 << 10)            /* a file of no more is read before its size is said */
#define UNSIZED ((size_t)16 << 20)    /* most that is read of a file that says it is empty */

/* ---- walk */
struct interp__walk {
    const struct interp__mem *mem;
    DIR *dirs[INTERP__TREE_DEPTH];
    size_t lens[INTERP__TREE_DEPTH];   /* of a directory's own path */
    uint32_t depth;
    int file;
    struct interp__buf ahead;          /* of the file, read before its size is said */
    size_t ahead_at;
    char path[WIRE_PATH_MAX + 1], target[WIRE_PATH_MAX + 2];
};

static int open_dir(int at, const char *name, DIR **out)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | (at == AT_FDCWD ? 0 : O_NOFOLLOW));
    *out = fd < 0 ? NULL : fdopendir(fd);
    if (*out)
        return 0;
    int e = errno;
    if (fd >= 0)
        close(fd);
    return e;
}

struct interp__walk *interp__walk_open(const struct interp__mem *m, const char *dir, int *error)
{
    struct interp__walk *w = interp__alloc(m, sizeof *w);
    if (!w) {
        *error = ENOMEM;
        return NULL;
    }
    w->mem = m;
    w->file = -1;
    interp__buf_init(&w->ahead, m);
    *error = open_dir(AT_FDCWD, dir, &w->dirs[0]);
    if (!*error) {
        w->depth = 1;
        return w;
    }
    interp__free(m, w);
    return NULL;
}

static int64_t time_of(const struct stat *s)
{
    if (s->st_mtim.tv_sec > INT64_MAX / 1000000000 - 1 || s->st_mtim.tv_sec < -(INT64_MAX / 1000000000 - 1))
        return 0;
    return (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec;
}

static int enter(struct interp__walk *w, const char *name, size_t len)
{
    if (w->depth == INTERP__TREE_DEPTH)
        return -ENAMETOOLONG;
    int e = open_dir(dirfd(w->dirs[w->depth - 1]), name, &w->dirs[w->depth]);
    if (e)
        return -e;
    w->lens[w->depth++] = len;
    return 1;
}

static long read_file(const struct interp__walk *w, void *p, size_t n)
{
    for (;;) {
        ssize_t r = read(w->file, p, n);
        if (r >= 0 || errno != EINTR)
            return r < 0 ? -errno : r;
    }
}

/* A small file, or one that says it is empty, as those of /proc do, is as long as what reading it gives. */
static int look_ahead(struct interp__walk *w, struct stat *s)
{
    size_t most = s->st_size ? (size_t)s->st_size : UNSIZED + 1;
    if (s->st_size > AHEAD)
        return 1;
    while (w->ahead.len < most) {
        size_t n = most - w->ahead.len < AHEAD ? most - w->ahead.len : AHEAD;
        if (interp__buf_reserve(&w->ahead, n))
            return -ENOMEM;
        long r = read_file(w, w->ahead.p + w->ahead.len, n);
        if (r < 0)
            return (int)r;
        if (!r)
            break;
        w->ahead.len += (size_t)r;
    }
    s->st_size = (off_t)w->ahead.len;
    return w->ahead.len > UNSIZED ? -EFBIG : 1;
}

static int open_file(struct interp__walk *w, const char *name, struct stat *s)
{
    w->file = openat(dirfd(w->dirs[w->depth - 1]), name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    if (w->file < 0 || fstat(w->file, s))
        return -errno;
    return S_ISREG(s->st_mode) ? look_ahead(w, s) : -ESTALE;
}

int interp__walk_next(struct interp__walk *w, struct interp__tree_entry *e)
{
    struct stat s;
    struct dirent *d;
    if (w->file >= 0)
        close(w->file);
    w->file = -1;
    if (w->ahead.cap > 2 * AHEAD)
        interp__buf_free(&w->ahead);
    w->ahead.len = w->ahead_at = 0;
    for (;;) {
        memset(e, 0, sizeof *e);
        e->path = w->path;
        if (!w->depth)
            return 0;
        DIR *dir = w->dirs[w->depth - 1];
        size_t at = w->lens[w->depth - 1];
        w->path[at] = 0;
        e->path_len = at;
        errno = 0;
        if (!(d = readdir(dir))) {
            if (errno)
                return -errno;
            closedir(dir);
            w->depth--;
            continue;
        }
        size_t n = strlen(d->d_name);
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        if (at + 1 + n > WIRE_PATH_MAX)
            return -ENAMETOOLONG;
        if (at)
            w->path[at++] = '/';
        memcpy(w->path + at, d->d_name, n + 1);
        e->path_len = at + n;
        if (fstatat(dirfd(dir), d->d_name, &s, AT_SYMLINK_NOFOLLOW)) {
            if (errno == ENOENT)
                continue;
            return -errno;
        }
        int r = 1;
        if (S_ISREG(s.st_mode)) {
            e->type = WIRE_TYPE_FILE;
            r = open_file(w, d->d_name, &s);
            e->size = (uint64_t)s.st_size;
        } else if (S_ISDIR(s.st_mode)) {
            e->type = WIRE_TYPE_DIR;
            r = enter(w, d->d_name, e->path_len);
        } else if (S_ISLNK(s.st_mode)) {
            e->type = WIRE_TYPE_LINK;
            ssize_t k = readlinkat(dirfd(dir), d->d_name, w->target, WIRE_PATH_MAX + 1);
            r = k < 0 ? -errno : k > (ssize_t)WIRE_PATH_MAX ? -ENAMETOOLONG : 1;
            e->target = w->target;
            e->target_len = k > 0 ? (size_t)k : 0;
        }
        e->mode = s.st_mode & 0777;
        e->mtime_ns = time_of(&s);
        if (r != -ENOENT)
            return r;
    }
}

long interp__walk_read(struct interp__walk *w, void *p, size_t n)
{
    size_t there = w->ahead.len - w->ahead_at;
    if (!there)
        return read_file(w, p, n);
    if (n > there)
        n = there;
    memcpy(p, w->ahead.p + w->ahead_at, n);
    w->ahead_at += n;
    return (long)n;
}

void interp__walk_free(struct interp__walk *w)
{
    if (!w)
        return;
    while (w->depth)
        closedir(w->dirs[--w->depth]);
    if (w->file >= 0)
        close(w->file);
    interp__buf_free(&w->ahead);
    interp__free(w->mem, w);
}

/* ---- landing */
struct interp__landing {
    const struct interp__mem *mem;
    char *top;                         /* as the host named it, when it was made here */
    int fds[INTERP__TREE_DEPTH + 1], file;
    int64_t times[INTERP__TREE_DEPTH + 1], file_time;
    uint32_t depth;
    uint64_t written, limit;           /* of the file: more than limit, and the kernel would send the program a signal */
    char name[INTERP__NAME_MAX + 1];
};

struct interp__landing *interp__landing_open(const struct interp__mem *m, const char *dir, int into, int *error)
{
    struct interp__landing *l = interp__alloc(m, sizeof *l);
    *error = ENOMEM;
    if (!l)
        return NULL;
    l->mem = m;
    l->file = -1;
    l->limit = interp__file_limit();
    *error = mkdir(dir, 0755) ? errno : 0;
    if (!*error && !(l->top = interp__strndup(m, dir, strlen(dir))))
        *error = ENOMEM;
    if (*error == EEXIST && into)
        *error = 0;
    if (!*error && (l->fds[0] = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        *error = errno;
    if (!*error)
        return l;
    interp__free(m, l->top);
    interp__free(m, l);
    return NULL;
}

/* name NULL: of the descriptor itself. A time that can't be set is no reason to refuse the content. */
static void set_time(int fd, const char *name, int64_t ns)
{
    struct timespec t[2] = { { 0, UTIME_OMIT }, { ns / 1000000000, ns % 1000000000 } };
    if (t[1].tv_nsec < 0)
        t[1].tv_sec--, t[1].tv_nsec += 1000000000;
    (void)!(name ? utimensat(fd, name, t, AT_SYMLINK_NOFOLLOW) : futimens(fd, t));
}

int interp__landing_dir(struct interp__landing *l, const char *name, const struct interp__tree_entry *e)
{
    int at = l->fds[l->depth];
    if (l->depth == INTERP__TREE_DEPTH)
        return ENAMETOOLONG;
    if (mkdirat(at, name, (e->mode & 0755) | 0700) && errno != EEXIST)
        return errno;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? EEXIST : errno;
    l->fds[++l->depth] = fd;
    l->times[l->depth] = e->mtime_ns;
    return 0;
}

void interp__landing_up(struct interp__landing *l)
{
    set_time(l->fds[l->depth], NULL, l->times[l->depth]);
    close(l->fds[l->depth--]);
}

int interp__landing_file(struct interp__landing *l, const char *name, const struct interp__tree_entry *e)
{
    l->file = openat(l->fds[l->depth], name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (e->mode & 0755) | 0600);
    if (l->file < 0)
        return errno;
    memcpy(l->name, name, strlen(name) + 1);
    l->file_time = e->mtime_ns;
    l->written = 0;
    return 0;
}

int interp__landing_write(struct interp__landing *l, const void *p, size_t n)
{
    if (n > l->limit - l->written)
        return EFBIG;
    l->written += n;
    for (const char *at = p; n;) {
        ssize_t r = write(l->file, at, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return r ? errno : ENOSPC;
        at += r;
        n -= (size_t)r;
    }
    return 0;
}

int interp__landing_close(struct interp__landing *l)
{
    set_time(l->file, NULL, l->file_time);
    int e = close(l->file) ? errno : 0;
    l->file = -1;
    if (e)
        unlinkat(l->fds[l->depth], l->name, 0);
    return e;
}

int interp__landing_link(struct interp__landing *l, const char *name, const struct interp__tree_entry *e)
{
    if (symlinkat(e->target, l->fds[l->depth], name))
        return errno;
    set_time(l->fds[l->depth], name, e->mtime_ns);
    return 0;
}

void interp__landing_free(struct interp__landing *l, int failed)
{
    if (!l)
        return;
    if (l->file >= 0) {
        close(l->file);
        unlinkat(l->fds[l->depth], l->name, 0);
    }
    while (l->depth)
        interp__landing_up(l);
    close(l->fds[0]);
    if (failed && l->top)
        rmdir(l->top);
    interp__free(l->mem, l->top);
    interp__free(l->mem, l);
}
