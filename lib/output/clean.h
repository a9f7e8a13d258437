/* clean.h - output as a terminal would show it at the end, for eyes that are no terminal's: colours and titles are dropped, what is drawn again by carriage returns, backspaces and
   cursor movements stands there once. Pure: bytes in, bytes out. What comes out depends on the bytes only, not on how they are cut into feeds, except for what idle shows early.

   It keeps the last 64 lines (32,768 characters at most) as they can still be changed by moving up; what leaves them is out. One character is one column, also a wide one. Tabs stay tabs.
   Bytes that are no UTF-8 stay as they are. */
#ifndef INTERP_LIB_OUTPUT_CLEAN_H
#define INTERP_LIB_OUTPUT_CLEAN_H
#include "base/buf.h"

struct interp__clean;
struct interp__clean *interp__clean_new(const struct interp__mem *mem);   /* NULL: out of memory */
void interp__clean_feed(struct interp__clean *c, const void *p, size_t n, struct interp__buf *out);
/* Nothing came for a while: what there is is shown, the unfinished line too. When that one is drawn again it comes once more, on a line of its own. */
void interp__clean_idle(struct interp__clean *c, struct interp__buf *out);
void interp__clean_finish(struct interp__clean *c, struct interp__buf *out);
int  interp__clean_pending(const struct interp__clean *c);                /* something is not shown yet */
void interp__clean_free(struct interp__clean *c);
#endif
