/* owner.c - who made a container: enough to tell later, and only then, that its owner is dead */
#include "engine_priv.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t slurp(const char *path, char *out, size_t n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t r = fd < 0 ? -1 : read(fd, out, n - 1);
    if (fd >= 0)
        close(fd);
    out[r > 0 ? r : 0] = 0;
    return r > 0 ? (size_t)r : 0;
}

uint64_t interp__process_start(int64_t pid)
{
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    slurp(path, text, sizeof text);
    char *p = strrchr(text, ')');          /* the name before it may hold anything */
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');            /* field 22: starttime, in clock ticks since boot (proc_pid_stat(5)) */
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

void interp__owner_here(struct interp__owner *o)
{
    char text[128];
    struct stat st;
    memset(o, 0, sizeof *o);
    if (slurp("/etc/machine-id", text, sizeof text))
        interp__sha256_hex(text, strcspn(text, "\n"), o->machine);       /* hashed: machine-id(5) asks not to show it */
    slurp("/proc/sys/kernel/random/boot_id", o->boot, sizeof o->boot);
    o->boot[strcspn(o->boot, "\n")] = 0;
    o->pidns = stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
    o->pid = getpid();
    o->start = interp__process_start(o->pid);
}

void interp__owner_labels(struct interp__buf *out, const char *kind, const char *session)
{
    struct interp__owner o;
    interp__owner_here(&o);
    interp__buf_fmt(out, "{\"" ENGINE_LABEL "kind\":\"%s\",\"" ENGINE_LABEL "machine\":\"%s\",\"" ENGINE_LABEL "boot\":\"%s\",\"" ENGINE_LABEL "pidns\":\"%llu\",\""
                    ENGINE_LABEL "pid\":\"%lld\",\"" ENGINE_LABEL "start\":\"%llu\"", kind, o.machine, o.boot, (unsigned long long)o.pidns, (long long)o.pid, (unsigned long long)o.start);
    if (session)
        interp__buf_fmt(out, ",\"" ENGINE_LABEL "session\":\"%s\"", session);
    interp__buf_str(out, "}");
}
