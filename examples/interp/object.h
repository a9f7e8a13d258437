/* object.h - the members of one JSON object, as slices of its text.
   SPDX-License-Identifier: MIT

   The command interprets only the few members that name an operation. Everything else goes to the library as the JSON text that came. */
#ifndef CLI_OBJECT_H
#define CLI_OBJECT_H
#include "buf.h"
#include <stddef.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct member {
    char *name; /* decoded, NUL-terminated */
    size_t name_len;
    const char *raw; /* "name": value, in the text */
    size_t raw_len;
    const char *value; /* the value's text alone */
    size_t value_len;
    enum json_kind kind;
    char *text; /* a string's decoded bytes, NUL-terminated; NULL for other kinds and past OBJECT_TEXT_MAX bytes */
    size_t text_len;
};

struct object {
    struct member *m;
    size_t n;
};

#define OBJECT_DEPTH_MAX   64
#define OBJECT_MEMBERS_MAX 256
#define OBJECT_TEXT_MAX    4096

/* Splits the text, which must outlive o. 0, or -1 with a sentence in why (o is empty then). */
int object_scan(struct object *o, const char *text, size_t n, char *why, size_t why_size);
void object_free(struct object *o);
/* A string member's decoded bytes of any length, added to out; whether it is one was found by the scan. */
void object_string(const struct member *m, struct buf *out);
/* The member of that name, or NULL. */
const struct member *object_get(const struct object *o, const char *name);

#endif
