/* cgroup_v2.c - version 2. Each sandbox has a box with two leaves: `a`, into which the agent is born (CLONE_INTO_CGROUP), and `u` with the limits, into
   which the agent gives birth to kernels; moving by cgroup.procs costs 7 to 15 ms. The agent may do that because cgroup.procs of the box and of `u`
   belong to its id; it can't reach anything above. "No internal processes" forbids giving controllers to children of a group that has processes, and
   moving the host's process would be invasive, so: below the nearest ancestor that gives memory and pids to its children already, or that was given to
   us to do so ourselves. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "cgroup.h"

static int has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    const char *p = text;
    while ((p = strstr(p, word))) {
        if ((p == text || p[-1] == ' ') && (p[n] == 0 || p[n] == ' ' || p[n] == '\n'))
            return 1;
        p += n;
    }
    return 0;
}

static int gives(int dir, const char *file)
{
    char text[512];
    return interp__local_read(dir, file, text, sizeof text) >= 0 && has_word(text, "memory") && has_word(text, "pids");
}

/* Hands the controllers on to the children of dir. */
static int hand_on(struct interp__local_cgroup *c, int dir)
{
    char text[512];
    if (!gives(dir, "cgroup.controllers"))
        return -1;
    if (interp__local_write(dir, "cgroup.subtree_control", "+memory +pids") < 0)
        return -1;
    c->has_cpu = interp__local_read(dir, "cgroup.controllers", text, sizeof text) >= 0 && has_word(text, "cpu") &&
                 interp__local_write(dir, "cgroup.subtree_control", "+cpu") == 0;
    return 0;
}

static int try_base(struct interp__local_cgroup *c, int base)
{
    int owner = interp__local_cgroup_owner(base, c->name);
    if (owner < 0)
        return -1;
    if (hand_on(c, owner) < 0) {
        close(owner);
        (void)unlinkat(base, c->name, AT_REMOVEDIR);
        return -1;
    }
    c->owner[0] = owner;
    c->base[0] = base;
    c->version = 2;
    return 0;
}

/* May we change what a group gives to its children? The real root (the only one without a type) is nobody else's; a
   delegated group is marked by systemd, or is where a part of the tree that belongs to this user begins. While it holds processes the kernel refuses. */
static int ours(int dir)
{
    struct stat own, above;
    if (faccessat(dir, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT)
        return 1;
    if (fgetxattr(dir, "user.delegate", 0, 0) > 0 || fgetxattr(dir, "trusted.delegate", 0, 0) > 0)
        return 1;
    return geteuid() != 0 && fstat(dir, &own) == 0 && own.st_uid == geteuid() && fstatat(dir, "..", &above, 0) == 0 && above.st_uid != own.st_uid;
}

int interp__local_v2_find(struct interp__local_cgroup *c, const struct interp__local_mounts *m)
{
    char dir[sizeof m->v2.dir];
    size_t len;
    int base;
    memcpy(dir, m->v2.dir, sizeof dir);
    c->why = "no cgroup (version 2) above this process gives memory and pids to children that it may make";
    for (;;) {
        base = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (base >= 0) {
            if (!gives(base, "cgroup.subtree_control") && ours(base))
                (void)hand_on(c, base);
            if (gives(base, "cgroup.subtree_control") && try_base(c, base) == 0)
                return 0;
            close(base);
        }
        len = strlen(dir);
        if (len <= m->v2.mount_len)
            return -1;
        while (len > m->v2.mount_len && dir[len] != '/')
            len--;
        dir[len] = 0;
    }
}

static int failed(struct interp__local_failure *f, const char *what)
{
    return interp__local_failed(f, INTERP_E_ISOLATION, "cgroup-limit", errno,
                                "Start this process in a delegated cgroup (" LOCAL_DELEGATE "), or accept isolation `namespaces`.",
                                "The cgroup (version 2) of the sandbox can't be set up: %s.", what);
}

int interp__local_v2_make(struct interp__local_cgroup *c, struct interp__local_group *g, const struct interp__local_limits *l, uid_t uid, gid_t gid,
                          struct interp__local_failure *f)
{
    char text[64];
    int u;
    if ((g->box = interp__local_cgroup_dir(c->owner[0], g->name)) < 0)
        return failed(f, "mkdir");
    if (interp__local_write(g->box, "cgroup.subtree_control", c->has_cpu ? "+memory +pids +cpu" : "+memory +pids") < 0)
        return failed(f, "cgroup.subtree_control");
    if ((g->born = interp__local_cgroup_dir(g->box, "a")) < 0 || (u = interp__local_cgroup_dir(g->box, "u")) < 0)
        return failed(f, "mkdir");
    g->fd[BOOT_CG_USER_DIR] = u;
    if (uid != geteuid() && (fchownat(g->box, "cgroup.procs", uid, gid, 0) < 0 || fchownat(u, "cgroup.procs", uid, gid, 0) < 0))
        return failed(f, "chown of cgroup.procs");
    if (l->memory) {
        if (interp__local_write_u64(u, "memory.max", l->memory) < 0)
            return failed(f, "memory.max");
        if (interp__local_write(u, "memory.swap.max", "0") < 0 && errno != ENOENT)
            return failed(f, "memory.swap.max");
    }
    if (l->pids && interp__local_write_u64(u, "pids.max", l->pids) < 0)
        return failed(f, "pids.max");
    if (c->has_cpu && l->cpu_millis) {
        snprintf(text, sizeof text, "%llu 100000", (unsigned long long)l->cpu_millis * 100);
        if (interp__local_write(u, "cpu.max", text) < 0)
            return failed(f, "cpu.max");
    }
    /* no memory.oom.group: a child that is killed for memory is the exec's own affair */
    if ((g->fd[BOOT_CG_PEAK] = openat(u, "memory.peak", O_RDWR | O_CLOEXEC)) < 0)
        g->fd[BOOT_CG_PEAK] = openat(u, "memory.peak", O_RDONLY | O_CLOEXEC);
    g->fd[BOOT_CG_OOM] = openat(u, "memory.events", O_RDONLY | O_CLOEXEC);
    g->fd[BOOT_CG_PIDS_EVENTS] = openat(u, "pids.events", O_RDONLY | O_CLOEXEC);
    return 0;
}

int interp__local_v2_remove(int owner, const char *name)
{
    static const char *const leaf[] = { "a", "u" };
    int i, busy = 0, box = openat(owner, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (box < 0)
        return 0;
    for (i = 0; i < 2; i++)
        if (unlinkat(box, leaf[i], AT_REMOVEDIR) < 0 && errno == EBUSY)
            busy = 1;
    close(box);
    if (!busy && unlinkat(owner, name, AT_REMOVEDIR) < 0 && errno == EBUSY)
        busy = 1;
    return busy;
}
