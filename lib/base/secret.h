/* secret.h - memory for what must not be written to disk. */
#ifndef INTERP_LIB_BASE_SECRET_H
#define INTERP_LIB_BASE_SECRET_H
#include <stddef.h>

void *interp__secret_alloc(size_t n);           /* zeroed pages of their own; not swapped where that is allowed, not in core dumps; NULL */
void interp__secret_free(void *p, size_t n);    /* wiped */
#endif
