#include "lines.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int interp__each_line(const char *path, void (*line)(void *, char *), void *arg)
{
    char buf[8192];
    size_t have = 0;
    int skip = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    for (;;) {
        char *start = buf, *end;
        ssize_t n = read(fd, buf + have, sizeof buf - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
        while ((end = memchr(start, '\n', have - (size_t)(start - buf)))) {
            *end = 0;
            if (!skip)
                line(arg, start);
            skip = 0;
            start = end + 1;
        }
        have -= (size_t)(start - buf);
        memmove(buf, start, have);
        if (have == sizeof buf) {
            have = 0;
            skip = 1;
        }
    }
    close(fd);
    return 0;
}

struct below { const char *path; char *first; size_t size; unsigned n; };

static void below_line(void *arg, char *line)   /* "36 35 98:0 / /mnt/point opts ..." */
{
    struct below *b = arg;
    size_t n = strlen(b->path), at = 0;
    int field;
    char point[4096];
    for (field = 0; field < 4 && line; field++)
        line = strchr(line, ' ') ? strchr(line, ' ') + 1 : 0;
    if (!line)
        return;
    for (; *line && *line != ' ' && at < sizeof point - 1; line++) {
        if (line[0] == '\\' && line[1] >= '0' && line[1] <= '3' && line[2] && line[3]) {   /* octal: blank, tab, newline, backslash */
            point[at++] = (char)((line[1] - '0') * 64 + (line[2] - '0') * 8 + (line[3] - '0'));
            line += 3;
        } else
            point[at++] = *line;
    }
    point[at] = 0;
    if (n == 1)
        n = 0;
    if (strncmp(point, b->path, n) != 0 || point[n] != '/' || (n == 0 && !point[1]))
        return;
    if (!b->n++)
        snprintf(b->first, b->size, "%s", point);
}

unsigned interp__mounted_below(const char *path, char *first, size_t n)
{
    struct below b = { .path = path, .first = first, .size = n };
    (void)interp__each_line("/proc/self/mountinfo", below_line, &b);
    return b.n;
}
