/* jsoncut.h - a JSON text made shorter so that it stays JSON. Pure; the text may be hostile: one pass, no recursion, memory bounded by the result. */
#ifndef INTERP_LIB_OUTPUT_JSONCUT_H
#define INTERP_LIB_OUTPUT_JSONCUT_H
#include "base/buf.h"

enum { INTERP__JSON_CUT_MIN = 64 };   /* the smallest cap that is of use */
/* out gets text cut to at most cap bytes: the first members of arrays and objects, of long strings their start; a last member "..." (key, or element) says how many were
   left out. What comes first gets at most three quarters of the room that is left, so that what follows is seen as well. 0; -1: the text is no JSON (or nested
   deeper than 4,096), or there is no memory: out is empty. */
int interp__json_cut(struct interp__buf *out, const void *text, size_t n, size_t cap);
#endif
