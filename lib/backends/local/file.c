/* file.c - small files of /proc and cgroups. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "local_priv.h"

ssize_t interp__local_read(int dir, const char *name, char *buf, size_t cap)
{
    size_t have = 0;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -1;
    while (have < cap - 1) {
        ssize_t n = read(fd, buf + have, cap - 1 - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int e = errno;
            close(fd);
            errno = e;
            return -1;
        }
        if (n == 0)
            break;
        have += (size_t)n;
    }
    close(fd);
    buf[have] = 0;
    return (ssize_t)have;
}

int interp__local_write(int dir, const char *name, const char *text)
{
    size_t len = strlen(text);
    ssize_t n;
    int e, fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -1;
    do
        n = write(fd, text, len);
    while (n < 0 && errno == EINTR);
    e = n < 0 ? errno : n == (ssize_t)len ? 0 : EIO;
    close(fd);
    errno = e;
    return e ? -1 : 0;
}

int interp__local_write_u64(int dir, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return interp__local_write(dir, name, text);
}

void interp__local_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
