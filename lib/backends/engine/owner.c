/* owner.c - who made a container: enough to tell later, and only then, that its owner is dead */
#include "engine_priv.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

/* In clock ticks since boot (proc_pid_stat(5), field 22); 0: nothing to be seen of it, with *ended: it has ended and nobody has asked how. Where only its
   first thread has ended it is a zombie as well, and lives on in the others (field 20). */
static uint64_t start_of(int64_t pid, int *ended)
{
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    slurp(path, text, sizeof text);
    char *p = strrchr(text, ')');          /* the name before it may hold anything */
    *ended = p && p[1] && (p[2] == 'Z' || p[2] == 'X');
    for (int field = 2; p && field < 22; field++) {
        p = strchr(p + 1, ' ');
        if (p && field == 19)
            *ended = *ended && strtoll(p + 1, NULL, 10) <= 1;
    }
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

int interp__process_gone(int64_t pid, uint64_t start)
{
    int ended;
    if (pid <= 0 || pid > INT32_MAX || !start)
        return 0;
    uint64_t now = start_of(pid, &ended);
    if (now)
        return now != start || ended;
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;   /* else it is there, and hidden from us (proc(5), hidepid) */
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
    int ended;
    o->start = start_of(o->pid, &ended);
}

void interp__owner_labels(struct interp__buf *out, const char *kind, const char *name, const char *session)
{
    struct interp__owner o;
    interp__owner_here(&o);
    interp__buf_fmt(out, "{\"" ENGINE_LABEL "kind\":\"%s\",\"" ENGINE_LABEL "machine\":\"%s\",\"" ENGINE_LABEL "boot\":\"%s\",\"" ENGINE_LABEL "pidns\":\"%llu\",\""
                    ENGINE_LABEL "pid\":\"%lld\",\"" ENGINE_LABEL "start\":\"%llu\"", kind, o.machine, o.boot, (unsigned long long)o.pidns, (long long)o.pid, (unsigned long long)o.start);
    if (name)
        interp__buf_fmt(out, ",\"" ENGINE_LABEL "name\":\"%s\"", name);
    if (session)
        interp__buf_fmt(out, ",\"" ENGINE_LABEL "session\":\"%s\"", session);
    interp__buf_str(out, "}");
}
