#include "mem.h"
#include <stdlib.h>
#include <string.h>

/* keeps what follows aligned for any type */
struct head {
    _Alignas(max_align_t) size_t size;
};

static void *libc_realloc(void *userdata, void *p, size_t old_size, size_t new_size)
{
    (void)userdata;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_size);
}
const struct interp__mem interp__mem_default = { libc_realloc, NULL };

void *interp__resize(const struct interp__mem *m, void *p, size_t n)
{
    struct head *h = p ? (struct head *)p - 1 : NULL;
    if (n > SIZE_MAX - sizeof *h)
        return NULL;
    h = m->fn(m->userdata, h, h ? h->size : 0, n + sizeof *h);
    if (!h)
        return NULL;
    h->size = n + sizeof *h;
    return h + 1;
}

void *interp__alloc(const struct interp__mem *m, size_t n)
{
    void *p = interp__resize(m, NULL, n);
    if (p)
        memset(p, 0, n);
    return p;
}

void interp__free(const struct interp__mem *m, void *p)
{
    if (!p)
        return;
    struct head *h = (struct head *)p - 1;
    m->fn(m->userdata, h, h->size, 0);
}

char *interp__strndup(const struct interp__mem *m, const void *s, size_t n)
{
    char *p = n < SIZE_MAX ? interp__resize(m, NULL, n + 1) : NULL;
    if (!p)
        return NULL;
    if (n)
        memcpy(p, s, n);
    p[n] = 0;
    return p;
}

void interp__wipe(void *p, size_t n)
{
    if (n)
        explicit_bzero(p, n);
}
