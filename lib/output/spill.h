/* spill.h - the full stream of an exec on disk, when it is too long to be kept: a file without a name, so that nothing of it is left behind whatever ends us. It is bounded:
   when it is full, what is in the middle goes. Written in the caller's loop, raw; compressed only when it is saved.

   Places are offsets in the stream. There is what lies in [0, a) and [b, e); the stream had total bytes. */
#ifndef INTERP_LIB_OUTPUT_SPILL_H
#define INTERP_LIB_OUTPUT_SPILL_H
#include "base/buf.h"

enum { INTERP__SPILL_BLOCK = 64 << 10, INTERP__FIND_MAX = 4096 };
struct interp__spill {
    const struct interp__mem *mem;
    int fd;                              /* -1: none */
    int failed;                          /* errno of what went wrong; nothing is written after that */
    uint64_t head, ring, limit;          /* bytes of the file for the start, and for the end; bytes that a file of this process may have */
    uint64_t total, end, newlines;       /* end: what is behind it was not written */
    uint64_t *lines;                     /* newlines before each block, in the places of their blocks */
    size_t nlines;
};
/* A stream as the result has it: from its spill, or what was kept of it in memory. */
struct interp__source { const struct interp__spill *spill; const char *head, *tail; uint64_t a, b, e, total, newlines; };

void interp__spill_init(struct interp__spill *s, const struct interp__mem *mem, uint64_t bytes);
/* Makes the file in dir. 0 or an errno, which s->failed then has. */
int  interp__spill_open(struct interp__spill *s, const char *dir);
/* The same, to see whether it can be done: 0 or an errno. */
int  interp__spill_try(const char *dir);
void interp__spill_write(struct interp__spill *s, const void *p, size_t n);
void interp__spill_close(struct interp__spill *s);
void interp__spill_extent(const struct interp__spill *s, uint64_t *a, uint64_t *b, uint64_t *e);

/* Up to n bytes from offset, less at a gap. 0, or an errno: ENODATA in a gap. *got is 0 at the end. */
int  interp__source_read(const struct interp__source *s, uint64_t offset, void *p, size_t n, size_t *got);
/* The first place at or behind from where text stands, whole, on one side of the gap; line counts from 1. 0, -1: nowhere, or an errno. */
int  interp__source_find(const struct interp__source *s, const struct interp__mem *mem, const void *text, size_t n, uint64_t from, uint64_t *offset, uint64_t *line);
/* Writes it to a new file, as gzip; a line says where something is missing. 0 or an errno; then there is no file, unless it was there before (EEXIST). */
int  interp__source_save(const struct interp__source *s, const struct interp__mem *mem, const char *path);
#endif
