/* gunzip.c - members, and what is between them and behind */
#include "core/gunzip.h"

enum { MEMBER, BEHIND, ZEROS };

struct interp__gunzip *interp__gunzip_new(const struct interp__mem *m)
{
    struct interp__gunzip *g = interp__alloc(m, sizeof *g);
    if (!g)
        return NULL;
    g->mem = m;
    interp__zmem(&g->z, m);
    if (inflateInit2(&g->z, 15 + 16) == Z_OK)
        return g;
    interp__free(m, g);
    return NULL;
}

void interp__gunzip_free(struct interp__gunzip *g)
{
    if (!g)
        return;
    inflateEnd(&g->z);
    interp__free(g->mem, g);
}

static int zeros(const uint8_t **p, size_t *n)
{
    for (; *n; ++*p, --*n)
        if (**p)
            return -1;
    return 0;
}

int interp__gunzip_next(struct interp__gunzip *g, const uint8_t **p, size_t *n)
{
    g->at = g->len = 0;
    if (g->state == BEHIND && *n) {
        g->state = **p == 0x1f ? MEMBER : ZEROS;
        if (g->state == MEMBER && inflateReset(&g->z) != Z_OK)
            return -1;
    }
    if (g->state != MEMBER)
        return zeros(p, n);
    uInt given = *n > UINT32_MAX ? UINT32_MAX : (uInt)*n;
    g->z.next_in = (Bytef *)(uintptr_t)*p;
    g->z.avail_in = given;
    g->z.next_out = g->plain;
    g->z.avail_out = sizeof g->plain;
    int r = inflate(&g->z, Z_NO_FLUSH);
    *p += given - g->z.avail_in;
    *n -= given - g->z.avail_in;
    g->len = (uint32_t)(sizeof g->plain - g->z.avail_out);
    if (r == Z_STREAM_END)
        g->state = BEHIND;
    return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR ? 0 : -1;
}

int interp__gunzip_whole(const struct interp__gunzip *g)
{
    return g->state != MEMBER;
}
