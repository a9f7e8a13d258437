/* end.c - standard input and output without blocking.
   SPDX-License-Identifier: MIT

   O_NONBLOCK belongs to the open file, which a shell or a parent may share. So pipes and terminals are opened anew, and sockets are asked call
   by call. Only where that fails are the flags changed, and put back at the end. */
#define _GNU_SOURCE
#include "end.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void end_open(struct end *e, int fd, int mode)
{
    struct stat st;
    memset(e, 0, sizeof *e);
    e->fd = fd;
    e->restore = -1;
    if (fstat(fd, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return;
    if (S_ISSOCK(st.st_mode)) {
        e->is_socket = 1;
        return;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = open(path, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) {
        e->fd = own;
        e->opened = 1;
        return;
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && !(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
        e->restore = flags;
}

void end_close(struct end *e)
{
    if (e->restore >= 0)
        (void)fcntl(e->fd, F_SETFL, e->restore);
    if (e->opened)
        close(e->fd);
    e->restore = -1, e->opened = 0, e->fd = -1;
}

ssize_t end_read(const struct end *e, void *p, size_t n)
{
    ssize_t got;
    do
        got = e->is_socket ? recv(e->fd, p, n, MSG_DONTWAIT) : read(e->fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
}

ssize_t end_write(const struct end *e, const void *p, size_t n)
{
    ssize_t put;
    do
        put = e->is_socket ? send(e->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL) : write(e->fd, p, n);
    while (put < 0 && errno == EINTR);
    return put;
}
