/* tar.c - an archive of one file for PUT archive: POSIX.1-1988 ustar. Exactly two empty blocks end it: Podman gives up (EPIPE in its copier) on more. */
#include "engine_priv.h"
#include <stdio.h>
#include <string.h>

#define BLOCK 512u

void interp__tar_one(struct interp__buf *out, const char *name, const void *p, size_t n)
{
    static const char empty[3 * BLOCK];
    struct { char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[6], version[2], rest[247]; } h;
    _Static_assert(sizeof h == BLOCK, "a tar header is one block");
    unsigned sum = 0;
    memset(&h, 0, sizeof h);
    snprintf(h.name, sizeof h.name, "%s", name);
    snprintf(h.mode, sizeof h.mode, "%07o", 0755u);
    snprintf(h.uid, sizeof h.uid, "%07o", 0u);
    snprintf(h.gid, sizeof h.gid, "%07o", 0u);
    snprintf(h.size, sizeof h.size, "%011zo", n);
    snprintf(h.mtime, sizeof h.mtime, "%011o", 0u);
    memset(h.sum, ' ', sizeof h.sum);   /* counts as blanks in its own sum */
    h.type = '0';
    memcpy(h.magic, "ustar", 6);
    memcpy(h.version, "00", 2);
    for (size_t i = 0; i < sizeof h; i++)
        sum += ((const unsigned char *)&h)[i];
    snprintf(h.sum, sizeof h.sum - 1, "%06o", sum);
    interp__buf_add(out, &h, sizeof h);
    interp__buf_add(out, p, n);
    interp__buf_add(out, empty, (BLOCK - n % BLOCK) % BLOCK + 2 * BLOCK);
}

static uint64_t octal(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        v = v << 3 | (uint64_t)(p[i] - '0');
    return v;
}

int interp__tar_is(const uint8_t *tar, size_t len, const void *p, size_t n)
{
    while (len >= BLOCK) {
        uint64_t size = octal(tar + 124, 11), blocks = (size + BLOCK - 1) / BLOCK;
        uint8_t type = tar[156];
        if (size > len - BLOCK || blocks > (len - BLOCK) / BLOCK)
            return 0;
        if (type == '0' || type == 0)
            return tar[0] && size == n && !memcmp(tar + BLOCK, p, n);
        if (type != 'x' && type != 'g')    /* what pax(1) says about the file is of no interest */
            return 0;
        tar += (1 + blocks) * BLOCK;
        len -= (1 + blocks) * BLOCK;
    }
    return 0;
}
