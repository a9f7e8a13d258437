/* zmem.c - zlib with the memory of a context */
#include "zmem.h"

static void *take(void *m, unsigned n, unsigned size)
{
    return interp__resize(m, NULL, (size_t)n * size);
}

static void give(void *m, void *p)
{
    interp__free(m, p);
}

void interp__zmem(z_stream *z, const struct interp__mem *m)
{
    z->zalloc = take;
    z->zfree = give;
    z->opaque = (void *)(uintptr_t)m;
}
