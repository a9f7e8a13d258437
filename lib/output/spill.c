#include "spill.h"
#include "base/fds.h"
#include "base/limit.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((uint64_t)INTERP__SPILL_BLOCK)

void interp__spill_init(struct interp__spill *s, const struct interp__mem *mem, uint64_t bytes)
{
    memset(s, 0, sizeof *s);
    s->mem = mem;
    s->fd = -1;
    s->head = bytes / 2 / BLOCK * BLOCK;
    s->ring = (bytes - s->head) / BLOCK * BLOCK;
}

/* ---- the file */

static int unnamed(const char *dir, int *fd)
{
    int d = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d < 0)
        return errno;
    *fd = openat(d, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    int e = *fd < 0 ? errno : 0;
    if (e == EOPNOTSUPP || e == EISDIR || e == ENOENT || e == EINVAL) {   /* a file system without it: a name that lives for a moment */
        unsigned char id[16] = { 0 };
        char name[64] = ".interp-spill-";
        size_t at = strlen(name);
        if (getrandom(id, sizeof id, 0) != sizeof id)
            e = EAGAIN;
        else {
            for (size_t i = 0; i < sizeof id; i++)
                at += (size_t)snprintf(name + at, sizeof name - at, "%02x", id[i]);
            *fd = openat(d, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
            e = *fd < 0 ? errno : 0;
            if (!e && unlinkat(d, name, 0)) {
                e = errno;
                close(*fd);
            }
        }
    }
    close(d);
    if (e)
        *fd = -1;
    return e;
}
int interp__spill_try(const char *dir)
{
    int fd = -1, e = unnamed(dir, &fd);
    if (fd >= 0)
        close(fd);
    return e;
}
int interp__spill_open(struct interp__spill *s, const char *dir)
{
    s->failed = unnamed(dir, &s->fd);
    if (s->fd >= 0)
        interp__fds_add(s->fd);   /* a forked child would hold its space */
    s->limit = interp__file_limit();
    return s->failed;
}
void interp__spill_close(struct interp__spill *s)
{
    if (s->fd >= 0) {
        interp__fds_remove(s->fd);
        close(s->fd);
    }
    s->fd = -1;
    interp__free(s->mem, s->lines);
    s->lines = NULL;
    s->nlines = 0;
}

/* Where a place of the stream lies in the file, and how many bytes follow it there. */
static uint64_t place(const struct interp__spill *s, uint64_t offset, uint64_t *room)
{
    if (offset < s->head || !s->ring) {
        *room = offset < s->head ? s->head - offset : 0;
        return offset;
    }
    uint64_t at = (offset - s->head) % s->ring;
    *room = s->ring - at;
    return s->head + at;
}
static int put(struct interp__spill *s, uint64_t at, const uint8_t *p, size_t n)
{
    if (at + n > s->limit)
        return EFBIG;
    while (n) {
        ssize_t k = pwrite(s->fd, p, n, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return k ? errno : ENOSPC;
        at += (uint64_t)k;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static uint64_t count_newlines(const uint8_t *p, size_t n)
{
    uint64_t c = 0;
    for (const uint8_t *q; n && (q = memchr(p, '\n', n)); c++) {
        n -= (size_t)(q - p) + 1;
        p = q + 1;
    }
    return c;
}
/* Where the newlines before a block are kept. A block of the ring takes the place of the one that it overwrites. */
static size_t slot(const struct interp__spill *s, uint64_t block)
{
    uint64_t head = s->head / BLOCK, ring = s->ring / BLOCK;
    return (size_t)(block < head || !ring ? block : head + (block - head) % ring);
}
static int mark(struct interp__spill *s, uint64_t block)
{
    size_t i = slot(s, block);
    if (i >= s->nlines) {
        size_t more = s->nlines ? 2 * s->nlines : 64;
        while (more <= i)
            more *= 2;
        uint64_t *p = interp__resize(s->mem, s->lines, more * sizeof *p);
        if (!p)
            return ENOMEM;
        s->lines = p;
        s->nlines = more;
    }
    s->lines[i] = s->newlines;
    return 0;
}

void interp__spill_write(struct interp__spill *s, const void *v, size_t n)
{
    const uint8_t *p = v;
    while (n) {
        uint64_t room, at = place(s, s->total, &room), block = BLOCK - s->total % BLOCK;
        size_t k = n < block ? n : (size_t)block;
        if (!s->failed && s->total % BLOCK == 0)
            s->failed = mark(s, s->total / BLOCK);
        if (!s->failed)
            s->failed = room ? put(s, at, p, k) : ENOSPC;   /* head and ring are whole blocks: k bytes have room */
        s->newlines += count_newlines(p, k);
        s->total += k;
        if (!s->failed)
            s->end = s->total;
        p += k;
        n -= k;
    }
}

void interp__spill_extent(const struct interp__spill *s, uint64_t *a, uint64_t *b, uint64_t *e)
{
    *e = s->end;
    *a = *e < s->head ? *e : s->head;
    *b = *a;
    if (*e > s->head + s->ring)   /* of the block that is being overwritten nothing counts any more */
        *b = (*e - s->ring + BLOCK - 1) / BLOCK * BLOCK;
}

/* ---- reading */

static int fetch(const struct interp__spill *s, uint64_t offset, uint8_t *p, size_t n)
{
    while (n) {
        uint64_t room, at = place(s, offset, &room);
        ssize_t k = pread(s->fd, p, n < room ? n : (size_t)room, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return k ? errno : EIO;   /* shorter than we made it: somebody else has the descriptor */
        offset += (uint64_t)k;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}
int interp__source_read(const struct interp__source *s, uint64_t offset, void *p, size_t n, size_t *got)
{
    *got = 0;
    if (offset >= s->total)
        return 0;
    int e = 0;
    uint64_t stop = offset < s->a ? (s->a == s->b ? s->e : s->a) : offset >= s->b && offset < s->e ? s->e : 0;
    if (!stop)
        return ENODATA;
    if (n > stop - offset)
        n = (size_t)(stop - offset);
    if (s->spill)
        e = fetch(s->spill, offset, p, n);
    else if (n)
        memcpy(p, offset < s->a ? s->head + offset : s->tail + (offset - s->b), n);
    *got = e ? 0 : n;
    return e;
}

/* Newlines in front of a place that is there. work: a block. */
static int newlines_before(const struct interp__source *s, uint64_t offset, uint8_t *work, uint64_t *n)
{
    if (!s->spill) {   /* behind the gap: all there were, without those that follow */
        *n = offset < s->a ? count_newlines((const uint8_t *)s->head, (size_t)offset) : s->newlines - count_newlines((const uint8_t *)s->tail + (offset - s->b), (size_t)(s->e - offset));
        return 0;
    }
    uint64_t from = offset / BLOCK * BLOCK;
    *n = s->spill->lines[slot(s->spill, offset / BLOCK)];
    int e = fetch(s->spill, from, work, (size_t)(offset - from));
    if (!e)
        *n += count_newlines(work, (size_t)(offset - from));
    return e;
}

int interp__source_find(const struct interp__source *s, const struct interp__mem *mem, const void *text, size_t n, uint64_t from, uint64_t *offset, uint64_t *line)
{
    if (from >= s->a && from < s->b)
        from = s->b;
    size_t size = INTERP__SPILL_BLOCK + n - 1;
    uint8_t *work = interp__resize(mem, NULL, size);
    if (!work)
        return ENOMEM;
    int rc = -1;
    for (;;) {
        size_t got;
        int e = interp__source_read(s, from, work, size, &got);
        if (e == ENODATA && from < s->b) {
            from = s->b;
            continue;
        }
        if (e && e != ENODATA) {
            rc = e;
            break;
        }
        if (e || !got)
            break;
        const uint8_t *hit = got >= n ? memmem(work, got, text, n) : NULL;
        if (hit) {
            uint64_t lines;
            *offset = from + (uint64_t)(hit - work);
            rc = newlines_before(s, *offset, work, &lines);
            if (!rc)
                *line = lines + 1;
            break;
        }
        if (got < size) {   /* the end, or a gap: what begins before it does not go on behind it */
            from += got;
            continue;
        }
        from += got - (n - 1);
    }
    interp__free(mem, work);
    return rc;
}
