/* spill_save.c - a stream as a gzip file of the host's (the one user of zlib in output/) */
#include "spill.h"
#include "base/limit.h"
#include "base/zmem.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct out { z_stream z; int fd; uint64_t written, limit; uint8_t packed[32 << 10]; };
static int write_out(struct out *o, const void *p, size_t n, int flush)
{
    o->z.next_in = (Bytef *)(uintptr_t)p;
    o->z.avail_in = (uInt)n;
    for (;;) {
        o->z.next_out = o->packed;
        o->z.avail_out = sizeof o->packed;
        int rc = deflate(&o->z, flush);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return ENOMEM;
        size_t made = sizeof o->packed - o->z.avail_out;
        if (o->written + made > o->limit)   /* else the kernel sends the program a signal */
            return EFBIG;
        for (uint8_t *q = o->packed; made;) {
            ssize_t k = write(o->fd, q, made);
            if (k < 0 && errno == EINTR)
                continue;
            if (k <= 0)
                return k ? errno : ENOSPC;
            q += k;
            made -= (size_t)k;
            o->written += (uint64_t)k;
        }
        if (flush == Z_FINISH ? rc == Z_STREAM_END : !o->z.avail_in && o->z.avail_out)
            return 0;
    }
}

static int gap(struct out *o, uint64_t n)
{
    char line[96];
    int k = snprintf(line, sizeof line, "\n[... %" PRIu64 " bytes left out ...]\n", n);
    return write_out(o, line, (size_t)k, Z_NO_FLUSH);
}
static int all(const struct interp__source *s, struct out *o, uint8_t *work)
{
    uint64_t at = 0;
    int e = 0;
    while (!e && at < s->total) {
        size_t got;
        e = interp__source_read(s, at, work, INTERP__SPILL_BLOCK, &got);
        if (e == ENODATA) {
            uint64_t to = at < s->b ? s->b : s->total;
            e = gap(o, to - at);
            at = to;
        } else if (!e) {
            e = write_out(o, work, got, Z_NO_FLUSH);
            at += got;
        }
    }
    return e ? e : write_out(o, NULL, 0, Z_FINISH);
}

int interp__source_save(const struct interp__source *s, const struct interp__mem *mem, const char *path)
{
    struct out *o = interp__alloc(mem, sizeof *o);
    uint8_t *work = interp__resize(mem, NULL, INTERP__SPILL_BLOCK);
    int e = o && work ? 0 : ENOMEM, begun = 0;
    if (!e) {
        interp__zmem(&o->z, mem);
        o->limit = interp__file_limit();
        begun = deflateInit2(&o->z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        e = begun ? 0 : ENOMEM;
    }
    int fd = e ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (!e && fd < 0)
        e = errno;
    if (!e) {
        o->fd = fd;
        e = all(s, o, work);
        if (close(fd) && !e)
            e = errno;
        if (e)
            unlink(path);
    }
    if (begun)
        deflateEnd(&o->z);
    interp__free(mem, work);
    interp__free(mem, o);
    return e;
}
