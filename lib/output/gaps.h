/* gaps.h - where a driver in the guest has left out the middle of a text: it says so with one of a few marks */
#ifndef INTERP_LIB_OUTPUT_GAPS_H
#define INTERP_LIB_OUTPUT_GAPS_H
#include <stddef.h>

/* The next mark in a text: from *at to *to stand it, the quotes and line breaks beside it (also as they are written in JSON), and what a second cut beside it left of another
   mark. 0: there is none. */
int interp__gap_find(const void *p, size_t n, size_t *at, size_t *to);
#endif
