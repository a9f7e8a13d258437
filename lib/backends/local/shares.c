/* shares.c - directories and files of the host that a config shows inside.

   A source is opened component by component and no symbolic link is followed, so a message can say which one stands in the way. A root host makes a
   detached mount of it there and then, with all its rights (a closed home is open to it), and hands that to the agent; what a sandbox may write is mapped, so that
   whoever owns the source is the sandbox's user inside. Everybody else's agent opens the path itself, in its own mount namespace, with the same rights as here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/json.h"
#include "base/lines.h"
#include "local_priv.h"

#define OPEN_TREE_CLONE_ 1u
#define ATTR_RDONLY 1u
#define ATTR_NOSUID 2u
#define ATTR_NODEV  4u
#define ATTR_IDMAP  0x100000u
#ifndef SYS_open_tree
#  define SYS_open_tree 428
#endif
#ifndef SYS_mount_setattr
#  define SYS_mount_setattr 442
#endif
#ifndef AT_EMPTY_PATH
#  define AT_EMPTY_PATH 0x1000
#endif

void interp__local_closed_directory(const char *path, char dir[BOOT_PATH])
{
    size_t i;
    struct stat st;
    for (i = 1; path[i]; i++) {
        if (path[i] != '/' || i >= BOOT_PATH)
            continue;
        memcpy(dir, path, i);
        dir[i] = 0;
        if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && faccessat(AT_FDCWD, dir, X_OK, AT_EACCESS) < 0)
            return;
    }
    snprintf(dir, BOOT_PATH, "%s", path);
}

static int fail_source(struct interp__local_failure *f, int err, const char *path, const char *at)
{
    char dir[BOOT_PATH];
    if (err == ENOENT || err == ENOTDIR)
        return interp__local_failed(f, INTERP_E_NOT_FOUND, "mount-source", err, "Name a directory or file that is there.", "The mount source %s is not there (%s: %s).", path, at, strerror(err));
    if (err == EACCES || err == EPERM) {
        interp__local_closed_directory(path, dir);
        return interp__local_failed(f, INTERP_E_DENIED, "mount-closed", err, "Open that directory to this user, or copy what is needed to a place that this user can read.",
                                    "The mount source %s can't be reached: %s is closed to this user (uid %u).", path, dir, (unsigned)geteuid());
    }
    if (err == ELOOP)
        return interp__local_failed(f, INTERP_E_INVAL, "mount-symlink", err, "Name the path without symbolic links (realpath prints it).",
                                    "The mount source %s can't be used: %s is a symbolic link, and none is followed.", path, at);
    return interp__local_failed(f, INTERP_E_IO, "mount-source", err, "", "The mount source %s can't be opened (%s): %s.", path, at, strerror(err));
}

/* Opens an absolute path without following any link. *parent is the directory that it is in (its own, for "/"). */
static int walk(const char *path, int *fd, int *parent, struct stat *st, struct interp__local_failure *f)
{
    char at[BOOT_PATH];
    const char *p = path;
    int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), next, e;
    *fd = *parent = -1;
    if (dir < 0)
        return fail_source(f, errno, path, "/");
    *parent = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    if (fstat(dir, st) < 0 || *parent < 0) {
        e = errno;
        goto fail;
    }
    while (*p) {
        size_t n = strcspn(++p, "/");
        if (!n)
            break;
        memcpy(at, path, (size_t)(p + n - path));
        at[p + n - path] = 0;
        next = openat(dir, at + (p - path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
        e = errno;
        if (next >= 0 && fstat(next, st) < 0) {
            e = errno;
            close(next);
            next = -1;
        }
        if (next < 0)
            goto fail;
        close(*parent);
        *parent = dir;
        dir = next;
        p += n;
        if (S_ISLNK(st->st_mode) || (*p && !S_ISDIR(st->st_mode))) {
            e = S_ISLNK(st->st_mode) ? ELOOP : ENOTDIR;
            goto fail;
        }
    }
    *fd = dir;
    return 0;
fail:
    at[p == path ? 0 : strlen(at)] = 0;
    close(dir);
    interp__local_close(parent);
    return fail_source(f, e, path, p == path ? "/" : at);
}

/* ---- other file systems below a source */

static int check_below(const char *path, struct interp__local_failure *f)
{
    char first[BOOT_PATH];
    unsigned n = interp__mounted_below(path, first, sizeof first);
    if (!n)
        return 0;
    return interp__local_failed(f, INTERP_E_INVAL, "mount-submounts", 0, "Mount them one by one, or a directory that has none below it.",
                                "The mount source %s has %u other file system%s mounted below it, and none is carried in; the first is %s.", path, n, n == 1 ? "" : "s", first);
}

/* ---- a root host's detached mounts */

struct attr { uint64_t set, clear, propagation, userns; };

static int set_attr(int tree, uint64_t set, int userns)
{
    struct attr a = { .set = set, .userns = userns < 0 ? 0 : (uint64_t)userns };
    return (int)syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &a, sizeof a);
}

/* Owner and group of the source become the sandbox's user and group, in both directions. */
static int map_owner(int tree, const struct stat *st, uint32_t id)
{
    char uid_map[64], gid_map[64];
    int ns, r, e;
    snprintf(uid_map, sizeof uid_map, "%u %u 1\n", (unsigned)st->st_uid, id + 1);
    snprintf(gid_map, sizeof gid_map, "%u %u 1\n", (unsigned)st->st_gid, id + 1);
    ns = interp__local_userns(uid_map, gid_map);
    if (ns < 0)
        return -1;
    r = set_attr(tree, ATTR_IDMAP, ns);
    e = errno;
    close(ns);
    errno = e;
    return r;
}

static int detach(int fd, const struct stat *st, uint32_t flags, uint32_t id, const char *path, int *mapped, struct interp__local_failure *f)
{
    mode_t others = S_ISDIR(st->st_mode) ? 05 : 04, need = others | (flags & INTERP_MOUNT_WRITABLE ? 02u : 0u);
    int tree = (int)syscall(SYS_open_tree, fd, "", OPEN_TREE_CLONE_ | O_CLOEXEC | AT_EMPTY_PATH), e;
    if (tree < 0)
        return -1;             /* no right to: the agent tries by the path */
    if (set_attr(tree, ATTR_NOSUID | ATTR_NODEV | (flags & INTERP_MOUNT_WRITABLE ? 0 : ATTR_RDONLY), -1) < 0) {
        e = errno;
        close(tree);
        interp__local_failed(f, INTERP_E_ISOLATION, "mount", e, "Use Linux 5.12 or newer.", "The mount of %s can't be made safe: %s.", path, strerror(e));
        return -2;
    }
    *mapped = !(flags & INTERP_MOUNT_RUNTIME) && map_owner(tree, st, id) == 0;
    if (!*mapped && (st->st_mode & need) != need) {
        close(tree);
        interp__local_failed(f, INTERP_E_DENIED, "mount-closed", 0, "Give others that right (chmod o+rX; o+w for a writable one), or use a file system and kernel with id-mapped mounts.",
                             "The sandbox's user has no right to %s %s (mode %04o), and its owner can't be mapped.", flags & INTERP_MOUNT_WRITABLE ? "write" : "read", path,
                             (unsigned)st->st_mode & 07777);
        return -2;
    }
    return tree;
}

/* ---- the plan */

int interp__local_share_add(struct interp__local_shares *s, struct boot *m, const char *source, const char *target, uint32_t flags, uint32_t id, struct interp__local_failure *f)
{
    struct boot_source *b;
    struct stat st;
    int fd, parent, tree = -1, mapped = 0, lone;
    unsigned i;
    if (strlen(source) >= BOOT_PATH || strlen(target) >= BOOT_PATH)
        return interp__local_failed(f, INTERP_E_INVAL, "mount-path", ENAMETOOLONG, "", "The path %.100s... is longer than %u bytes.", source, BOOT_PATH - 1);
    for (i = 0; i < s->n; i++)
        if (!strcmp(s->share[i].target, target))
            return flags & INTERP_MOUNT_RUNTIME && !strcmp(m->source[s->first + i].host, source) ? 0 :
                   interp__local_failed(f, INTERP_E_EXISTS, "mount-target", 0, "Give each a place of its own.", "Two mounts have the target %s.", target);
    if (s->n == LOCAL_SHARES || m->nsources == BOOT_SOURCES)
        return interp__local_failed(f, INTERP_E_LIMIT, "mount-count", 0, "Mount a directory that has several of them.", "%s is one mount too many.", source);
    if (walk(source, &fd, &parent, &st, f) < 0)
        return -1;
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        interp__local_failed(f, INTERP_E_INVAL, "mount-source", 0, "Name a directory or a regular file.", "The mount source %s is neither a directory nor a regular file.", source);
        goto fail;
    }
    if (check_below(source, f) < 0)
        goto fail;
    lone = S_ISREG(st.st_mode) && !(flags & INTERP_MOUNT_WRITABLE);   /* shown through a view of its directory, so that it shares no inode */
    if (id && (tree = detach(lone ? parent : fd, &st, flags, id, source, &mapped, f)) == -2)
        goto fail;
    close(fd);
    close(parent);
    b = &m->source[m->nsources++];
    memset(b, 0, sizeof *b);
    memcpy(b->host, source, strlen(source));
    memcpy(b->guest, target, strlen(target));
    b->file = S_ISREG(st.st_mode);
    b->share = flags & INTERP_MOUNT_WRITABLE ? BOOT_SHARE_RW : BOOT_SHARE_RO;
    s->share[s->n].tree = tree;
    s->share[s->n].flags = (uint8_t)flags;
    s->share[s->n].mapped = (uint8_t)mapped;
    memcpy(s->share[s->n].target, target, strlen(target) + 1);
    s->n++;
    s->writable |= (flags & INTERP_MOUNT_WRITABLE) != 0;
    return 0;
fail:
    close(fd);
    close(parent);
    return -1;
}

int interp__local_shares_plan(struct interp__local_shares *s, struct boot *m, const interp_spec *spec, uint32_t id, struct interp__local_failure *f)
{
    char inside[BOOT_PATH];
    uint32_t i;
    int r;
    s->first = m->nsources;
    for (i = 0; i < spec->nmounts; i++)
        if (!(spec->mount_flags[i] & INTERP_MOUNT_RUNTIME) && interp__local_share_add(s, m, spec->mount_sources[i], spec->mount_targets[i], spec->mount_flags[i], id, f) < 0)
            return -1;
    s->asked = s->n;
    for (i = 0; i < spec->nmounts; i++)
        if (spec->mount_flags[i] & INTERP_MOUNT_RUNTIME) {
            unsigned before = s->n;
            r = interp__local_share_runtime(s, m, spec->mount_sources[i], id, f);
            if (r == 0 && s->n == before) {
                interp__buf_str(&s->there, "{\"target\":");
                interp__json_text(&s->there, spec->mount_targets[i], strlen(spec->mount_targets[i]));
                interp__buf_str(&s->there, ",\"mode\":\"ro\",\"how\":\"there\",\"runtime\":true},");
            }
            if (r == -2)
                r = interp__local_failed(f, INTERP_E_INVAL, "runtime-broad", 0, "Name the directory of the software itself.", "The runtime %s is a whole home, or more.", spec->mount_sources[i]);
            if (r < 0)
                return -1;
        }
    for (i = 0; i < spec->ninterpreters; i++) {
        if (interp__local_interpreter(s, m, spec->interpreter_languages[i], spec->interpreters[i], id, inside, f) < 0)
            return -1;
        interp__buf_fmt(&s->interpreters, "%s\"%s\":", i ? "," : "", spec->interpreter_languages[i]);
        interp__json_text(&s->interpreters, inside, strlen(inside));
    }
    if (s->interpreters.bad || s->there.bad)
        return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", ENOMEM, "", "Out of memory.");
    return 0;
}

void interp__local_shares_close(struct interp__local_shares *s)
{
    unsigned i;
    for (i = 0; i < s->n; i++)
        interp__local_close(&s->share[i].tree);
}
