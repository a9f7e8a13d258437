/* end.h - standard input and output without blocking, and without changing them for whoever shares them.
   SPDX-License-Identifier: MIT */
#ifndef CLI_END_H
#define CLI_END_H
#include <stddef.h>
#include <sys/types.h>

struct end {
    int fd; /* to poll and use */
    int is_socket;
    int opened;  /* fd is ours to close */
    int restore; /* original flags of fd, or -1 */
};

/* Prepares descriptor fd, opened for reading (O_RDONLY) or writing (O_WRONLY). */
void end_open(struct end *e, int fd, int mode);
void end_close(struct end *e);
/* As read and write: -1 with errno EAGAIN instead of blocking; EINTR never. */
ssize_t end_read(const struct end *e, void *p, size_t n);
ssize_t end_write(const struct end *e, const void *p, size_t n);

#endif
