/* typed.h - lines from a person or a pipe.
   SPDX-License-Identifier: MIT */
#ifndef CLI_TYPED_H
#define CLI_TYPED_H
#include "buf.h"

struct typed;
/* With editing and a history where standard input and output are a terminal and libedit is built in. */
struct typed *typed_open(void);
/* The next line, its newline included, added to b. 1, or 0 at the end of input, or -1: interrupted by a signal. A pipe gets no prompt. */
int typed_read(struct typed *l, const char *prompt, struct buf *b);
/* What the arrow keys bring back. */
void typed_remember(struct typed *l, const char *text);
void typed_close(struct typed *l);

#endif
