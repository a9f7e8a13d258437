/* buf.h - a growing text, and what is needed to write JSON into it.
   SPDX-License-Identifier: MIT

   Memory: a command may end when there is none left (exit 70); its sandboxes end with it. */
#ifndef CLI_BUF_H
#define CLI_BUF_H
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *p;
    size_t len, cap;
};

void *xrealloc(void *p, size_t n);
/* A copy of n bytes with a NUL after them. */
char *xdup(const void *p, size_t n);

void buf_free(struct buf *b);
/* Room for n more bytes; returns where they go. */
char *buf_room(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_text(struct buf *b, const char *s);
void buf_u64(struct buf *b, uint64_t v);
/* A JSON string; what is not UTF-8 shows as U+FFFD. */
void buf_string(struct buf *b, const void *p, size_t n);
/* A JSON string with the base64 of the bytes. */
void buf_base64(struct buf *b, const void *p, size_t n);
/* Bytes as STDIO members: "text" always, "base64" beside it where they are not UTF-8. */
void buf_bytes_members(struct buf *b, const void *p, size_t n);

int utf8_valid(const void *p, size_t n);

#endif
