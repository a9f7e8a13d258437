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
