/* complete.h - whether what was typed is a whole piece of code, or goes on in the next line.
   SPDX-License-Identifier: MIT */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H
#include <stddef.h>

/* 1: it is whole; 0: it goes on; -1: it goes on in a here-document, of which empty lines are part. A guess that errs does no harm: an empty line ends any other piece. */
int code_complete(const char *language, const char *text, size_t n);

#endif
