/* cgroup.c - finds the groups that this process may write, and what versions 1 and 2 have in common.

   Layout, below the own group (v1) or the nearest ancestor that delegates (v2): one owner directory for each backend instance, "interp-<pid>-<start
   time>-<n>", held by flock for as long as its owner lives, so that the next host can sweep what a killed one left. In it the agents' group and one
   group for each sandbox's user code: siblings, so that a user's OOM, pid limit or CPU quota never takes the agent. The host's own process never moves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/lines.h"
#include "cgroup.h"

/* Is word one of the comma-separated words of list? */
static int in_list(const char *list, const char *word)
{
    size_t n = strlen(word);
    while (list) {
        if (!strncmp(list, word, n) && (list[n] == ',' || list[n] == 0))
            return 1;
        list = strchr(list, ',');
        list = list ? list + 1 : 0;
    }
    return 0;
}

static const char *const controllers[LOCAL_CG_N] = { "memory", "pids", "cpu" };
struct own { char v1[LOCAL_CG_N][512], v2[512]; struct interp__local_mounts *m; };

static void own_line(void *arg, char *line)   /* "4:memory:/some/group" */
{
    struct own *o = arg;
    char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : 0;
    unsigned i;
    if (!path)
        return;
    *path++ = 0;
    names++;
    if (!*names)
        snprintf(o->v2, sizeof o->v2, "%s", path);
    for (i = 0; i < LOCAL_CG_N; i++)
        if (in_list(names, controllers[i]))
            snprintf(o->v1[i], sizeof o->v1[i], "%s", path);
}

/* The own group's path below a mount point whose root is root; NULL when it is outside. */
static const char *below(const char *own, const char *root)
{
    size_t n = strlen(root);
    if (!strcmp(root, "/"))
        return own;
    if (strncmp(own, root, n) || (own[n] && own[n] != '/'))
        return 0;
    return own + n;
}

static void place(char *out, size_t cap, size_t *mount_len, const char *own, const char *root, const char *point)
{
    const char *rest;
    if (*out || !*own || !(rest = below(own, root)) || strchr(point, '\\'))
        return;
    if (!strcmp(rest, "/"))
        rest = "";
    if ((size_t)snprintf(out, cap, "%s%s", point, rest) >= cap)
        *out = 0;
    *mount_len = strlen(point);
}

static void mount_line(void *arg, char *line)   /* "36 35 98:0 /root /point opts tags - type source superopts" */
{
    struct own *o = arg;
    char *save = 0, *field[6], *type, *super;
    unsigned i;
    char *tail = strstr(line, " - ");
    if (!tail)
        return;
    *tail = 0;
    for (i = 0; i < 6; i++)
        if (!(field[i] = strtok_r(i ? 0 : line, " ", &save)))
            return;
    type = strtok_r(tail + 3, " ", &save);
    if (!type || !strtok_r(0, " ", &save))
        return;
    super = strtok_r(0, " ", &save);
    if (!strcmp(type, "cgroup2"))
        place(o->m->v2.dir, sizeof o->m->v2.dir, &o->m->v2.mount_len, o->v2, field[3], field[4]);
    else if (!strcmp(type, "cgroup") && super)
        for (i = 0; i < LOCAL_CG_N; i++)
            if (in_list(super, controllers[i]))
                place(o->m->v1[i].dir, sizeof o->m->v1[i].dir, &o->m->v1[i].mount_len, o->v1[i], field[3], field[4]);
}

/* Start time of a process in clock ticks since boot, 0 when there is none such. */
static unsigned long long start_time(long pid)
{
    char path[32], text[1024], *p;
    unsigned i;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (interp__local_read(AT_FDCWD, path, text, sizeof text) < 0 || !(p = strrchr(text, ')')))
        return 0;
    for (i = 3; i <= 22 && p; i++)     /* field 2 is the name, 22 the start */
        p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, 0, 10) : 0;
}

static void remove_tree(int base, const char *name, int depth)
{
    struct dirent *e;
    DIR *d;
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    d = depth < 3 ? fdopendir(fd) : 0;
    if (!d)
        close(fd);
    else {
        while ((e = readdir(d)))
            if (e->d_type == DT_DIR && e->d_name[0] != '.')
                remove_tree(fd, e->d_name, depth + 1);
        closedir(d);
    }
    (void)unlinkat(base, name, AT_REMOVEDIR);
}

/* Owner directories of hosts that are dead: their sandboxes ended by themselves (end of stream, pidfd), the empty groups remain. */
static void sweep(int base)
{
    struct dirent *e;
    DIR *d;
    int fd = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    d = fdopendir(fd);
    if (!d) {
        close(fd);
        return;
    }
    while ((e = readdir(d))) {
        long pid;
        unsigned long long start;
        int held;
        if (e->d_type != DT_DIR || sscanf(e->d_name, "interp-%ld-%llu-", &pid, &start) != 2 || start_time(pid) == start)
            continue;
        held = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (held < 0)
            continue;
        if (flock(held, LOCK_EX | LOCK_NB) == 0)
            remove_tree(fd, e->d_name, 0);
        close(held);
    }
    closedir(d);
}

int interp__local_cgroup_dir(int base, const char *name)
{
    if (mkdirat(base, name, 0755) < 0 && errno != EEXIST)
        return -1;
    return openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Makes and holds the owner directory; -1 with errno. A sweeping host of another pid namespace may take it before it is held: try again. */
int interp__local_cgroup_owner(int base, const char *name)
{
    struct stat a, b;
    int fd, tries;
    sweep(base);
    for (tries = 0; tries < 4; tries++) {
        fd = interp__local_cgroup_dir(base, name);
        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &a) == 0 && fstatat(base, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_ino == b.st_ino)
            return fd;
        close(fd);
    }
    errno = EBUSY;
    return -1;
}

void interp__local_cgroup_find(struct interp__local_cgroup *c)
{
    static atomic_uint instance;
    struct interp__local_mounts m;
    struct own o;
    memset(&m, 0, sizeof m);
    memset(&o, 0, sizeof o);
    o.m = &m;
    c->version = 0;
    c->why = "no cgroup file system is mounted";
    snprintf(c->name, sizeof c->name, "interp-%ld-%llu-%u", (long)getpid(), start_time((long)getpid()), atomic_fetch_add(&instance, 1));
    if (interp__each_line("/proc/self/cgroup", own_line, &o) < 0 || interp__each_line("/proc/self/mountinfo", mount_line, &o) < 0)
        return;
    /* a hybrid machine has both; the controllers are in one of them */
    if (m.v2.dir[0] && interp__local_v2_find(c, &m) == 0)
        return;
    if (m.v1[LOCAL_CG_MEMORY].dir[0] && m.v1[LOCAL_CG_PIDS].dir[0])
        (void)interp__local_v1_find(c, &m);
}

void interp__local_cgroup_drop(struct interp__local_cgroup *c, int remove)
{
    int i;
    for (i = 0; i < LOCAL_CG_N; i++) {
        interp__local_close(&c->agents[i]);
        if (c->owner[i] >= 0 && c->base[i] >= 0 && remove)
            remove_tree(c->base[i], c->name, 0);
        interp__local_close(&c->owner[i]);
        interp__local_close(&c->base[i]);
    }
    c->version = 0;
}

/* ---- the groups of one sandbox */

void interp__local_group_init(struct interp__local_group *g)
{
    int i;
    memset(g, 0, sizeof *g);
    g->born = g->box = -1;
    for (i = 0; i < BOOT_CG_COUNT; i++)
        g->fd[i] = -1;
}

int interp__local_group_make(struct interp__local_cgroup *c, struct interp__local_group *g, uint64_t number, const struct interp__local_limits *l,
                             uid_t uid, gid_t gid, struct interp__local_failure *f)
{
    snprintf(g->name, sizeof g->name, "%llu", (unsigned long long)(number % 1000000000));
    g->made = 1;
    return c->version == 1 ? interp__local_v1_make(c, g, l, f) : interp__local_v2_make(c, g, l, uid, gid, f);
}

void interp__local_group_handed_over(struct interp__local_cgroup *c, struct interp__local_group *g)
{
    int i;
    for (i = 0; i < BOOT_CG_COUNT; i++)
        if (c->version == 1 && i <= BOOT_CG_AGENT_CPU)
            g->fd[i] = -1;             /* the instance's, kept open */
        else
            interp__local_close(&g->fd[i]);
    interp__local_close(&g->born);
}

void interp__local_group_kill(struct interp__local_group *g)
{
    if (g->box >= 0)
        (void)interp__local_write(g->box, "cgroup.kill", "1");   /* since 5.14; the SIGKILL of PID 1 does the same, a little later */
}

int interp__local_group_remove(struct interp__local_cgroup *c, struct interp__local_group *g)
{
    int busy;
    if (!g->made)
        return 0;
    busy = c->version == 1 ? interp__local_v1_remove(c, g->name) : c->version == 2 ? interp__local_v2_remove(c->owner[0], g->name) : 0;
    if (!busy)
        g->made = 0;
    return busy;
}

void interp__local_group_close(struct interp__local_cgroup *c, struct interp__local_group *g)
{
    interp__local_group_handed_over(c, g);
    interp__local_close(&g->box);
}
