/* ids.c - host ids of a sandbox.

   A root host gives each sandbox a fresh pair: 0 inside (the agent) and 1000 inside (user code) become two host ids that nothing else uses, so per-user
   kernel counters are never shared. Range: 0x70000000 to 0x7FFDFFFF (0x60000000 is systemd's). Who holds a pair is a byte lock in one lock file: the
   kernel drops it with the host, and there is nothing to sweep. Everybody else has one id, its own, as 1000 inside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "local_priv.h"

#define PAIRS ((LOCAL_ID_LAST - LOCAL_ID_FIRST + 1) / 2)
#define TRIES 4096

/* The range must be one piece of this process's own map (a rootless container has 65,536 ids or fewer). */
static int range_mapped(const char *file)
{
    char text[4096], *line, *save = 0;
    unsigned long long inside, outside, count;
    if (interp__local_read(AT_FDCWD, file, text, sizeof text) < 0)
        return 0;
    for (line = strtok_r(text, "\n", &save); line; line = strtok_r(0, "\n", &save))
        if (sscanf(line, "%llu %llu %llu", &inside, &outside, &count) == 3 && inside <= LOCAL_ID_FIRST && inside + count > LOCAL_ID_LAST)
            return 1;
    return 0;
}

int interp__local_ids_two(void)
{
    struct { uint32_t version; int pid; } header = { 0x20080522, 0 };
    struct { uint32_t effective, permitted, inheritable; } data[2];
    const uint32_t need = 1u << 6 | 1u << 7;   /* SETGID, SETUID */
    if (geteuid() != 0 || syscall(SYS_capget, &header, data) < 0 || (data[0].effective & need) != need)
        return 0;
    return range_mapped("/proc/self/uid_map") && range_mapped("/proc/self/gid_map");
}

/* A directory of ours that nobody else can write. */
static int open_lock(const char *dir)
{
    struct stat st;
    int fd, d;
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return -1;
    d = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (d < 0)
        return -1;
    if (fstat(d, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
        close(d);
        errno = EPERM;
        return -1;
    }
    fd = openat(d, "ids", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    close(d);
    return fd;
}

static int lock_pair(int fd, uint32_t pair, short type)
{
    struct flock f = { .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)pair, .l_len = 1 };
    return fcntl(fd, F_OFD_SETLK, &f);   /* belongs to this open file: other threads' closes do not drop it, a second instance is another owner */
}

int interp__local_ids_take(struct interp__local_ids *s, uint32_t *id, struct interp__local_failure *f)
{
    unsigned i;
    if (s->fd < 0) {
        uint32_t start = 0;
        s->fd = open_lock("/run/interp");
        if (s->fd < 0)
            s->fd = open_lock("/tmp/.interp-0");
        if (s->fd < 0)
            return interp__local_failed(f, INTERP_E_IO, "ids-lock", errno, "Make /run/interp a directory of mode 0700 that belongs to root.",
                                        "The lock file for host ids can't be opened in /run/interp or /tmp/.interp-0.");
        if (getrandom(&start, sizeof start, GRND_NONBLOCK) != (ssize_t)sizeof start)
            start = (uint32_t)getpid() * 2654435761u;
        s->next = start % PAIRS;
    }
    for (i = 0; i < TRIES; i++) {
        uint32_t pair = s->next;
        s->next = (pair + 1) % PAIRS;
        if (lock_pair(s->fd, pair, F_WRLCK) == 0) {
            *id = LOCAL_ID_FIRST + pair * 2;
            return 0;
        }
        if (errno != EAGAIN && errno != EACCES)
            return interp__local_failed(f, INTERP_E_IO, "ids-lock", errno, "", "Locking a pair of host ids failed.");
    }
    return interp__local_failed(f, INTERP_E_LIMIT, "ids-exhausted", 0, "Close other sandboxes of this machine.",
                                "%u pairs of host ids in a row are taken by other hosts.", TRIES);
}

void interp__local_ids_give(struct interp__local_ids *s, uint32_t id)
{
    if (s->fd >= 0 && id >= LOCAL_ID_FIRST)
        (void)lock_pair(s->fd, (id - LOCAL_ID_FIRST) / 2, F_UNLCK);
}

static int write_map(pid_t pid, const char *file, const char *text, struct interp__local_failure *f)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, file);
    if (interp__local_write(AT_FDCWD, path, text) < 0)
        return interp__local_fail_maps(f, errno, file);
    return 0;
}

void interp__local_ids_own(char uid_map[32], char gid_map[32])
{
    snprintf(uid_map, 32, "1000 %u 1\n", (unsigned)geteuid());
    snprintf(gid_map, 32, "1000 %u 1\n", (unsigned)getegid());
}

int interp__local_ids_map(pid_t pid, uint32_t id, struct interp__local_failure *f)
{
    char map[96], uid_map[32], gid_map[32];
    if (id) {
        snprintf(map, sizeof map, "0 %u 1\n1000 %u 1\n", id, id + 1);
        return write_map(pid, "uid_map", map, f) < 0 || write_map(pid, "gid_map", map, f) < 0 ? -1 : 0;
    }
    /* an ordinary user may map only its own group, and only after giving up setgroups */
    interp__local_ids_own(uid_map, gid_map);
    return write_map(pid, "setgroups", "deny", f) < 0 || write_map(pid, "uid_map", uid_map, f) < 0 || write_map(pid, "gid_map", gid_map, f) < 0 ? -1 : 0;
}
