/* complete.h - whether what was typed is a whole piece of code, or goes on in the next line.
   SPDX-License-Identifier: MIT */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H
#include <stddef.h>

/* 1: it is whole. A guess that errs does no harm: an empty line ends a piece in any case. */
int code_complete(const char *language, const char *text, size_t n);

#endif
