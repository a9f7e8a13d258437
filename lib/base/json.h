/* json.h - JSON in and out; the one user of yajl. Input may come from a guest, a model or an engine, so: SAX only, into a flat list of nodes,
   bounded in depth, count and size. Never yajl_tree: its free recurses (781 KiB of '[' end an 8 MiB stack). */
#ifndef INTERP_LIB_BASE_JSON_H
#define INTERP_LIB_BASE_JSON_H
#include "buf.h"

#define INTERP__JSON_DEPTH 64u
#define INTERP__JSON_NODES 65536u
#define INTERP__JSON_MEMBERS 1024u        /* of one object */
#define INTERP__JSON_LOOKS (1u << 20)     /* for keys given twice, all objects together */

enum interp__json_type { INTERP__JSON_NULL, INTERP__JSON_BOOL, INTERP__JSON_INT, INTERP__JSON_REAL, INTERP__JSON_STRING, INTERP__JSON_ARRAY, INTERP__JSON_OBJECT };
struct interp__json_node {
    enum interp__json_type type;
    uint32_t next;             /* index after this node's whole subtree: the next sibling, when there is one */
    uint32_t count;            /* members of an array or object */
    size_t key, key_len;       /* of an object's member: offset into text (NUL-terminated there) */
    size_t text_at, text_len;  /* string: its bytes; real and int: as written */
    int64_t i;                 /* int, bool */
};
struct interp__json {
    struct interp__buf nodes, text;
};

/* Parses one value; trailing bytes, invalid UTF-8, a key given twice in one object, an integer beyond 2^53 and anything over the bounds are errors.
   OK, or INVAL or NOMEM with a message that names the place. Free in both cases. */
interp_status interp__json_parse(struct interp__json *j, const struct interp__mem *m, const void *text, size_t len, interp_error **err);
void interp__json_free(struct interp__json *j);
const struct interp__json_node *interp__json_at(const struct interp__json *j, uint32_t index);
uint32_t interp__json_count(const struct interp__json *j);
/* Member of an object node by name: its index, or 0 (the root is nobody's member). */
uint32_t interp__json_member(const struct interp__json *j, uint32_t object, const char *name);
const char *interp__json_string(const struct interp__json *j, const struct interp__json_node *n);   /* text of a string, number; "" otherwise */
const char *interp__json_key(const struct interp__json *j, const struct interp__json_node *n);
/* Writes a node and all below it as compact JSON. */
void interp__json_write(struct interp__buf *out, const struct interp__json *j, uint32_t index);
/* The same; each key and string is written by text, quotes included. */
typedef void interp__json_text_fn(void *userdata, struct interp__buf *out, const char *p, size_t n);
void interp__json_write_by(struct interp__buf *out, const struct interp__json *j, uint32_t index, interp__json_text_fn *text, void *userdata);

/* Output: a JSON string of any bytes; what is not UTF-8 becomes U+FFFD. */
void interp__json_text(struct interp__buf *out, const void *p, size_t n);
void interp__json_base64(struct interp__buf *out, const void *p, size_t n);
/* Decodes standard base64 with padding; -1 when it is none. */
int interp__base64_decode(struct interp__buf *out, const char *p, size_t n);

/* UTF-8 (RFC 3629). Length of the longest valid prefix. */
size_t interp__utf8_valid(const void *p, size_t n);
/* Like that, but a sequence cut off by the end counts as valid: returns where the cut sequence starts in *whole. */
size_t interp__utf8_whole(const void *p, size_t n);
#endif
