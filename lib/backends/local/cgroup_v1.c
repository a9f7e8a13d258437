/* cgroup_v1.c - memory, pids and cpu of version 1. The agent moves itself by writing "0" to `tasks`: a single-threaded process that moves itself skips
   the kernel's global lock (50 us; moving it from here by cgroup.procs took 7 to 15 ms on an idle machine, measured). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "cgroup.h"

#define AGENTS "agents"

static int find_one(struct interp__local_cgroup *c, const char *dir, int i)
{
    int g;
    c->base[i] = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->base[i] < 0)
        return -1;
    c->owner[i] = interp__local_cgroup_owner(c->base[i], c->name);
    if (c->owner[i] < 0)
        return -1;
    g = interp__local_cgroup_dir(c->owner[i], AGENTS);
    if (g < 0)
        return -1;
    c->agents[i] = openat(g, "tasks", O_WRONLY | O_CLOEXEC);
    close(g);
    return c->agents[i] < 0 ? -1 : 0;
}

int interp__local_v1_find(struct interp__local_cgroup *c, const struct interp__local_mounts *m)
{
    if (find_one(c, m->v1[LOCAL_CG_MEMORY].dir, LOCAL_CG_MEMORY) < 0 || find_one(c, m->v1[LOCAL_CG_PIDS].dir, LOCAL_CG_PIDS) < 0) {
        interp__local_cgroup_drop(c, 1);
        c->why = "the cgroup (version 1) of this process can't be written";
        return -1;
    }
    c->has_cpu = m->v1[LOCAL_CG_CPU].dir[0] && find_one(c, m->v1[LOCAL_CG_CPU].dir, LOCAL_CG_CPU) == 0;
    c->swap = faccessat(c->owner[LOCAL_CG_MEMORY], "memory.memsw.limit_in_bytes", F_OK, 0) == 0;
    c->tcp = faccessat(c->owner[LOCAL_CG_MEMORY], "memory.kmem.tcp.limit_in_bytes", F_OK, 0) == 0;
    c->version = 1;
    return 0;
}

static int failed(struct interp__local_failure *f, const char *what)
{
    return interp__local_failed(f, INTERP_E_ISOLATION, "cgroup-limit", errno, "Give this process a cgroup that it can write, or accept isolation `namespaces`.",
                                "The cgroup (version 1) of the sandbox can't be set up: %s.", what);
}

/* Swap and the buffers of TCP have counters of their own: 300 MB of loopback TCP went past a 64 MB memory limit (measured). */
static int limit_memory(struct interp__local_cgroup *c, int g, uint64_t bytes, struct interp__local_failure *f)
{
    if (interp__local_write_u64(g, "memory.limit_in_bytes", bytes) < 0)
        return failed(f, "memory.limit_in_bytes");
    if (c->swap ? interp__local_write_u64(g, "memory.memsw.limit_in_bytes", bytes) < 0 : 0)
        return failed(f, "memory.memsw.limit_in_bytes");
    if (!c->swap)
        (void)interp__local_write(g, "memory.swappiness", "0");
    if (c->tcp && interp__local_write_u64(g, "memory.kmem.tcp.limit_in_bytes", bytes) < 0)
        return failed(f, "memory.kmem.tcp.limit_in_bytes");
    return 0;
}

int interp__local_v1_make(struct interp__local_cgroup *c, struct interp__local_group *g, const struct interp__local_limits *l, struct interp__local_failure *f)
{
    static const enum boot_cg user[LOCAL_CG_N] = { BOOT_CG_USER_MEMORY, BOOT_CG_USER_PIDS, BOOT_CG_USER_CPU };
    static const enum boot_cg agent[LOCAL_CG_N] = { BOOT_CG_AGENT_MEMORY, BOOT_CG_AGENT_PIDS, BOOT_CG_AGENT_CPU };
    int i, r = 0;
    for (i = 0; r == 0 && i < LOCAL_CG_N; i++) {
        int d;
        if (c->owner[i] < 0)
            continue;
        d = interp__local_cgroup_dir(c->owner[i], g->name);
        if (d < 0)
            return failed(f, "mkdir");
        g->fd[agent[i]] = c->agents[i];
        g->fd[user[i]] = openat(d, "tasks", O_WRONLY | O_CLOEXEC);
        if (g->fd[user[i]] < 0)
            r = failed(f, "tasks");
        else if (i == LOCAL_CG_MEMORY) {
            if (l->memory)
                r = limit_memory(c, d, l->memory, f);
            g->fd[BOOT_CG_PEAK] = openat(d, "memory.max_usage_in_bytes", O_RDWR | O_CLOEXEC);
            g->fd[BOOT_CG_OOM] = openat(d, "memory.oom_control", O_RDONLY | O_CLOEXEC);
        } else if (i == LOCAL_CG_PIDS) {
            if (l->pids && interp__local_write_u64(d, "pids.max", l->pids) < 0)
                r = failed(f, "pids.max");
            g->fd[BOOT_CG_PIDS_EVENTS] = openat(d, "pids.events", O_RDONLY | O_CLOEXEC);
        } else if (l->cpu_millis && interp__local_write_u64(d, "cpu.cfs_quota_us", (uint64_t)l->cpu_millis * 100) < 0)   /* of periods of 100 ms */
            r = failed(f, "cpu.cfs_quota_us");
        close(d);
    }
    return r;
}

int interp__local_v1_remove(struct interp__local_cgroup *c, const char *name)
{
    int i, busy = 0;
    for (i = 0; i < LOCAL_CG_N; i++)
        if (c->owner[i] >= 0 && unlinkat(c->owner[i], name, AT_REMOVEDIR) < 0 && errno == EBUSY)
            busy = 1;
    return busy;
}
