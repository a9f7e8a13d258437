/* mem.h - the context's allocator. Blocks remember their size, so free needs none (yajl's hooks have none to give). */
#ifndef INTERP_LIB_BASE_MEM_H
#define INTERP_LIB_BASE_MEM_H
#include <interp/base.h>

struct interp__mem {
    interp_realloc_fn fn;
    void *userdata;
};

extern const struct interp__mem interp__mem_default;   /* libc's realloc and free */

void *interp__alloc(const struct interp__mem *m, size_t n);            /* zeroed; NULL when out of memory */
void *interp__resize(const struct interp__mem *m, void *p, size_t n);  /* new bytes are not zeroed; on failure p stays */
void  interp__free(const struct interp__mem *m, void *p);
char *interp__strndup(const struct interp__mem *m, const void *s, size_t n);   /* NUL-terminated copy */
void  interp__wipe(void *p, size_t n);                                 /* zeroes; the compiler may not drop it */
#endif
