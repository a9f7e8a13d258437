/* gunzip.h - what a stream packed by gzip holds, a piece at a time: whole members one after the other, zeros behind the last of them, and nothing else */
#ifndef INTERP_LIB_CORE_GUNZIP_H
#define INTERP_LIB_CORE_GUNZIP_H
#include "base/zmem.h"

struct interp__gunzip {
    uint32_t at, len;                  /* of plain: what the reader has used, what there is */
    uint8_t plain[32 << 10];
    /* its own */
    const struct interp__mem *mem;
    z_stream z;
    uint8_t state;
};

struct interp__gunzip *interp__gunzip_new(const struct interp__mem *m);
void interp__gunzip_free(struct interp__gunzip *g);
int interp__gunzip_next(struct interp__gunzip *g, const uint8_t **p, size_t *n);   /* fills plain anew from *p, *n, which it moves over what it took. 0, or -1: that is no gzip */
int interp__gunzip_whole(const struct interp__gunzip *g);                          /* it may end here: every member had its end and was what that says */
#endif
