/* lines.h - files of /proc, line by line. */
#ifndef INTERP_LIB_BASE_LINES_H
#define INTERP_LIB_BASE_LINES_H
#include <stddef.h>

/* Calls line for each line of a file; longer ones than 8 KiB are skipped. -1: it can't be opened. */
int interp__each_line(const char *path, void (*line)(void *, char *), void *arg);
/* How many file systems are mounted below an absolute path without links, as this process sees it; the first one's place in first. */
unsigned interp__mounted_below(const char *path, char *first, size_t n);
#endif
