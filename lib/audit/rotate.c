/* rotate.c - a full file gets another name and is compressed, a slice with each record, so that no record waits for it. The chain goes on in the next file. */
#include "audit_priv.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLICE = 64 << 10, NAME_MAX_BYTES = 256 };

/* ---- rotation. The path always names a file that is locked and knows the chain: the new one is whole before it takes the name. */

int interp__audit_rotate(struct interp__audit *a, uint64_t next)
{
    struct audit_file *f = &a->file;
    char name[NAME_MAX_BYTES], fresh[NAME_MAX_BYTES];
    if (!f->first || f->size + next <= f->rotate || a->seq <= f->first)
        return 0;
    snprintf(name, sizeof name, "%s.%012" PRIu64 "-%012" PRIu64, f->base, f->first, a->seq);
    snprintf(fresh, sizeof fresh, "%s.new", f->base);
    unlinkat(f->dir, fresh, 0);   /* what a crash has left; the lock says that it is nobody's */
    int fd = openat(f->dir, fresh, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), e = 0;
    const char *what = "made";
    if (fd < 0) {
        interp__audit_log(a, 1, "the audit file %s can't be rotated: %s", f->path, strerror(errno));
        return 0;
    }
    interp__fds_add(fd);
    struct interp__buf b;
    interp__buf_init(&b, &a->mem);
    interp__buf_str(&b, ",\"previous\":");
    interp__json_text(&b, name, strlen(name));
    if (interp__audit_make(a, "audit_rotate", &b))
        e = ENOMEM;
    interp__buf_free(&b);
    if (!e && flock(fd, LOCK_EX | LOCK_NB))
        e = errno, what = "locked";
    if (!e)
        e = interp__audit_write_all(fd, 0, a->line.p, a->line.len);
    if (!e && f->sync != SYNC_NONE && (fsync(fd) || fdatasync(f->fd)))
        e = errno, what = "written";
    if (!e && linkat(f->dir, f->base, f->dir, name, 0))
        e = errno, what = "named";
    if (!e && renameat(f->dir, fresh, f->dir, f->base)) {
        e = errno, what = "named";
        unlinkat(f->dir, name, 0);
    }
    if (e) {
        interp__audit_log(a, 1, "the audit file %s can't be rotated: the new one can't be %s: %s", f->path, what, strerror(e));
        interp__fds_remove(fd);
        close(fd);
        unlinkat(f->dir, fresh, 0);
        return 0;
    }
    if (f->sync != SYNC_NONE)
        fsync(f->dir);
    interp__fds_remove(f->fd);
    close(f->fd);
    f->fd = fd;
    f->size = a->line.len;
    uint64_t seq;
    interp__audit_commit(a, &seq);
    f->first = seq;
    int lacking = 0;
    for (unsigned i = 0; i < a->nsinks; i++)
        lacking |= a->sinks[i].put(a->sinks[i].userdata, (const char *)a->line.p, a->line.len, seq) != 0;
    a->dropped += lacking != 0;   /* the file has it: a sink of the host's does not */
    if (a->syslog.on)
        interp__audit_syslog_put(a, seq, "audit_rotate");
    if (f->in < 0)
        interp__audit_compress_find(a);
    return 1;
}

/* ---- compression */

static void let_go(int *fd)
{
    if (*fd >= 0) {
        interp__fds_remove(*fd);
        close(*fd);
    }
    *fd = -1;
}

static void names(const struct interp__audit *a, char tmp[NAME_MAX_BYTES], char gz[NAME_MAX_BYTES])
{
    snprintf(tmp, NAME_MAX_BYTES, "%s.gz.tmp", a->file.name);
    snprintf(gz, NAME_MAX_BYTES, "%s.gz", a->file.name);
}

void interp__audit_compress_drop(struct interp__audit *a)
{
    struct audit_file *f = &a->file;
    int forked = a->pid != getpid();
    if (f->in < 0)
        return;
    char tmp[NAME_MAX_BYTES], gz[NAME_MAX_BYTES];
    names(a, tmp, gz);
    if (!forked)
        unlinkat(f->dir, tmp, 0);   /* begun anew next time */
    deflateEnd(&f->z);
    let_go(&f->in);
    let_go(&f->out);
    interp__free(&a->mem, f->name);
    f->name = NULL;
}

static int start(struct interp__audit *a, const char *name)
{
    struct audit_file *f = &a->file;
    char tmp[NAME_MAX_BYTES], gz[NAME_MAX_BYTES];
    struct stat st;
    if (!(f->name = interp__strndup(&a->mem, name, strlen(name))))
        return -1;
    names(a, tmp, gz);
    if (!fstatat(f->dir, gz, &st, AT_SYMLINK_NOFOLLOW)) {   /* it took that name when it was whole */
        unlinkat(f->dir, name, 0);
        interp__free(&a->mem, f->name);
        f->name = NULL;
        return -1;
    }
    unlinkat(f->dir, tmp, 0);
    f->in = openat(f->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    f->out = f->in < 0 ? -1 : openat(f->dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    memset(&f->z, 0, sizeof f->z);
    interp__zmem(&f->z, &a->mem);
    if (f->in >= 0)
        interp__fds_add(f->in);
    if (f->out >= 0)
        interp__fds_add(f->out);
    if (f->out >= 0 && !fstat(f->in, &st) && S_ISREG(st.st_mode) && deflateInit2(&f->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return 0;
    let_go(&f->in);
    if (f->out >= 0)
        unlinkat(f->dir, tmp, 0);
    let_go(&f->out);
    interp__free(&a->mem, f->name);
    f->name = NULL;
    return -1;
}

/* BASE.<digits>-<digits>: rotated, not compressed */
static int is_rotated(const char *name, const char *base)
{
    size_t n = strlen(base);
    if (strncmp(name, base, n) || name[n] != '.')
        return 0;
    const char *p = name + n + 1, *minus = p + strspn(p, "0123456789");
    return minus > p && *minus == '-' && minus[1] && !minus[1 + strspn(minus + 1, "0123456789")];
}

void interp__audit_compress_find(struct interp__audit *a)
{
    int fd = openat(a->file.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; a->file.in < 0 && (e = readdir(d));)
        if (is_rotated(e->d_name, a->file.base))
            start(a, e->d_name);
    closedir(d);
}

/* 0: more, 1: done, -1: failed */
static int slice(struct interp__audit *a)
{
    struct audit_file *f = &a->file;
    uint8_t in[16 << 10], out[16 << 10];
    for (size_t done = 0; done < SLICE;) {
        ssize_t n = read(f->in, in, sizeof in);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        f->z.next_in = in;
        f->z.avail_in = (unsigned)n;
        int r;
        do {
            f->z.next_out = out;
            f->z.avail_out = sizeof out;
            r = deflate(&f->z, n ? Z_NO_FLUSH : Z_FINISH);
            size_t made = sizeof out - f->z.avail_out;
            if (r == Z_STREAM_ERROR || (errno = interp__audit_write_all(f->out, f->z.total_out - made, out, made)))
                return -1;
        } while (!f->z.avail_out);
        if (!n)
            return r == Z_STREAM_END ? 1 : -1;
        done += (size_t)n;
    }
    return 0;
}

void interp__audit_compress(struct interp__audit *a, uint64_t until)
{
    struct audit_file *f = &a->file;
    while (f->in >= 0) {
        int r = slice(a);
        if (r > 0) {
            char tmp[NAME_MAX_BYTES], gz[NAME_MAX_BYTES];
            names(a, tmp, gz);
            if ((f->sync == SYNC_NONE || !fsync(f->out)) && !renameat(f->dir, tmp, f->dir, gz)) {
                unlinkat(f->dir, f->name, 0);
                interp__audit_compress_drop(a);
                interp__audit_compress_find(a);
            } else
                r = -1;
        }
        if (r < 0) {   /* it stays as it is, which loses nothing; the next rotation or start tries again */
            interp__audit_log(a, 2, "a rotated audit file can't be compressed: %s", strerror(errno));
            interp__audit_compress_drop(a);
        }
        if (!until || interp__now() >= until)
            return;
    }
}
