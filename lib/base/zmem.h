/* zmem.h - zlib with the memory of a context */
#ifndef INTERP_LIB_BASE_ZMEM_H
#define INTERP_LIB_BASE_ZMEM_H
#include "mem.h"
#include <zlib.h>

void interp__zmem(z_stream *z, const struct interp__mem *m);   /* before deflateInit or inflateInit; m outlives z */
#endif
