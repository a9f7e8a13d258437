/* treelinks.h - what has become of the symbolic links of a tree, by their paths, in 16 bytes each: another name of one is one, too */
#ifndef INTERP_LIB_CORE_TREELINKS_H
#define INTERP_LIB_CORE_TREELINKS_H
#include "base/mem.h"

/* LEFT: it was left out. KEPT, and up: it was taken, and what it leads to is as many directories above it. */
enum { INTERP__LINK_NONE, INTERP__LINK_LEFT, INTERP__LINK_KEPT };

struct interp__links { uint64_t (*slots)[2], seed[2]; size_t count, size; };

void interp__links_free(struct interp__links *l, const struct interp__mem *m);                       /* all zeros: none yet */
uint8_t interp__links_get(const struct interp__links *l, const char *path, size_t n);
int  interp__links_set(struct interp__links *l, const struct interp__mem *m, const char *path, size_t n, uint8_t what);   /* NONE: something else has its name. 0, or -1: out of memory */
#endif
