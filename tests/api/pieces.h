/* pieces.h - an allocator that counts what has not been given back. SPDX-License-Identifier: MIT */
#ifndef INTERP_TESTS_PIECES_H
#define INTERP_TESTS_PIECES_H
#include <stdlib.h>

static _Atomic long pieces;
static void *counted(void *userdata, void *p, size_t old_size, size_t new_size)
{
    (void)userdata, (void)old_size;
    pieces += (new_size != 0) - (p != NULL);
    if (new_size)
        return realloc(p, new_size);
    free(p);
    return NULL;
}
#endif
