#include "secret.h"
#include "mem.h"
#include <sys/mman.h>

void *interp__secret_alloc(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    (void)mlock(p, n);   /* RLIMIT_MEMLOCK may be small: then it is only kept out of core dumps */
#ifdef MADV_DONTDUMP
    (void)madvise(p, n, MADV_DONTDUMP);
#endif
    return p;
}
void interp__secret_free(void *p, size_t n)
{
    if (!p)
        return;
    interp__wipe(p, n);
    munmap(p, n);
}
