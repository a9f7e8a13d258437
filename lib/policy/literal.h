/* literal.h - texts that code puts together from literals: side by side, with +, in f-strings and templates. What a run adds is a hole in them, a NUL. And names that code gives to what loads modules. */
#ifndef INTERP_LIB_POLICY_LITERAL_H
#define INTERP_LIB_POLICY_LITERAL_H
#include "base/buf.h"

enum { LITERAL_LEVELS = 34 };   /* a text with an expression in it, in which there may be another text */
enum use { USE_NONE, USE_MODULE, USE_CODE, USE_PERHAPS_MODULE };   /* what a text is for: loaded; run; loaded when it is plain */
struct literal { size_t from, piece; uint32_t line; uint8_t open, added, use; };   /* open: 1, or 2 behind a +; added: its last piece came with one */
struct literals { struct interp__buf text; struct literal at[LITERAL_LEVELS]; };

void interp__literal_begin(struct literals *l, unsigned level, uint32_t line, enum use use);   /* or the next piece of the one that is open */
void interp__literal_add(struct literals *l, const void *p, size_t n);
/* Its whole text, until the next begin. next: the character of the token behind it, which may change the text. */
const char *interp__literal_end(struct literals *l, unsigned level, char next, size_t *n);

struct aliases { struct interp__buf names; unsigned n; int over; };   /* over: there were too many */
void interp__alias_add(struct aliases *a, const char *name, size_t n, enum use use);
enum use interp__alias_find(const struct aliases *a, const void *name, size_t n);
#endif
