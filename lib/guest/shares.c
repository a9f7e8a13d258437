/* shares.c - what a config shows of the host's files, placed last and on top of what is there. Read-only directories are overlays, as the system's are; a file shown
   read-only is bound from an overlay of its directory. What may be written is bound, and so is what no overlay can be had of: then files are shared with the host.

   Targets are walked without following a symbolic link, since what is below them may be a directory of the host: a link there must not lead us out of the new root. */
#include "boot_priv.h"

#define VIEW ".share"            /* a place of ours for a moment */

static const struct open_how_k no_links = { O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
static int opened[BOOT_SOURCES];

static int is_share(uint32_t i)
{
    return boot_state.boot.source[i].share != BOOT_SYSTEM;
}

void shares_open(void)
{
    for (uint32_t i = 0; i < boot_state.boot.nsources; i++) {
        struct boot_source *s = &boot_state.boot.source[i];
        opened[i] = -1;
        if (is_share(i))
            opened[i] = s->fd ? (int)s->fd : (int)boot_try(sys_openat2(AT_FDCWD, s->host, &no_links), BOOT_E_SOURCE, s->host);
    }
}

int shares_in_work(const char *guest)
{
    static const char *const work[] = { "/workspace", "/home", "/tmp", "/dev/shm" };
    for (unsigned i = 0; i < sizeof work / sizeof *work; i++) {
        size_t n = strlen(work[i]);
        if (strlen(guest) >= n && memcmp(guest, work[i], n) == 0 && (!guest[n] || guest[n] == '/'))
            return 1;
    }
    return 0;
}

static void as_user(int on)
{
    if (!(boot_state.boot.flags & BOOT_TWO_IDS))
        return;
    sc1(NR_setfsgid, on ? (long)USER_ID : 0);
    sc1(NR_setfsuid, on ? (long)USER_ID : 0);
}

/* The directory or file at a path below the root, made with all that is above it. What is made in a place of the user's is his. */
static int target(const char *path, int directory)
{
    char name[BOOT_PATH];
    int dir = (int)boot_try(sys_openat2(root_fd, ".", &no_links), BOOT_E_TARGET, path), own = shares_in_work(path);
    if (own)
        as_user(1);
    for (const char *p = path + 1, *e; *p; p = *e ? e + 1 : e) {
        for (e = p; *e && *e != '/'; e++)
            ;
        memcpy(name, p, (size_t)(e - p));
        name[e - p] = 0;
        long r = sys_openat2(dir, name, &no_links);
        if (r == -E_NOENT) {
            if (*e || directory)
                boot_try(sys_mkdirat(dir, name, 0755), BOOT_E_TARGET, path);
            else
                sys_close((int)boot_try(sys_openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644), BOOT_E_TARGET, path));
            r = sys_openat2(dir, name, &no_links);
        }
        boot_try(r, BOOT_E_TARGET, path);
        sys_close(dir);
        dir = (int)r;
    }
    if (own)
        as_user(0);
    return dir;
}

static uint16_t type_of(int fd, const char *step)
{
    struct statx_k st;
    boot_try(sys_statx(fd, "", AT_EMPTY_PATH, &st), BOOT_E_SOURCE, step);
    return st.mode & S_IFMT;
}

static size_t directory_of(const char *path)     /* length up to its last slash, that included */
{
    size_t n = strlen(path);
    while (n && path[n - 1] != '/')
        n--;
    return n;
}

/* What hangs at our place, or a file of it, as a detached mount; our place is free again. */
static long take(const struct boot_source *s)
{
    char path[BOOT_PATH + 8];
    size_t n = str_put(path, sizeof path, 0, VIEW);
    if (s->file) {
        n = str_put(path, sizeof path, n, "/");
        str_put(path, sizeof path, n, s->host + directory_of(s->host));
    }
    long m = boot_try(sys_open_tree(root_fd, path, OPEN_TREE_CLONE | O_CLOEXEC | AT_SYMLINK_NOFOLLOW), BOOT_E_SOURCE, s->host);
    boot_try(sys_umount2(VIEW, MNT_DETACH), BOOT_E_MOUNT, s->host);
    return m;
}

static long bound(int fd, const struct boot_source *s)
{
    struct mount_attr_k a = { .set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (s->share == BOOT_SHARE_RO ? MOUNT_ATTR_RDONLY : 0) };
    long m = sys_open_tree(fd, "", OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH);
    if (m == -E_INVAL)
        boot_die(BOOT_E_SUBMOUNT, s->host, m);   /* something is mounted below it that may not be looked under */
    boot_try(m, BOOT_E_SOURCE, s->host);
    boot_try(sys_mount_setattr((int)m, "", AT_EMPTY_PATH, &a), BOOT_E_MOUNT, s->host);
    return m;
}

/* A read-only view as a detached mount. *shared: it is a bind. */
static long read_only(int fd, const struct boot_source *s, int *shared)
{
    char up[BOOT_PATH];
    int at = fd;
    if (s->fd) {
        root_attach(fd, "/" VIEW);
        at = (int)boot_try(sys_openat2(root_fd, VIEW, &no_links), BOOT_E_MOUNT, s->host);
    } else if (s->file) {
        size_t n = directory_of(s->host);
        memcpy(up, s->host, n);
        up[n > 1 ? n - 1 : n] = 0;
        at = (int)boot_try(sys_openat2(AT_FDCWD, up, &no_links), BOOT_E_SOURCE, s->host);
    }
    as_user(1);                  /* an overlay looks at what is below it with the rights of whoever made it: never more than the user's */
    long m = root_overlay(at);
    as_user(0);
    if (at != fd || s->fd)
        sys_close(at);
    *shared = m < 0;
    if (m < 0)
        return s->fd ? take(s) : bound(fd, s);
    if (s->fd)
        boot_try(sys_umount2(VIEW, MNT_DETACH), BOOT_E_MOUNT, s->host);
    if (!s->file)
        return m;
    root_attach(m, "/" VIEW);
    return take(s);
}

static void place(uint32_t i)
{
    const struct boot_source *s = &boot_state.boot.source[i];
    int fd = opened[i], shared = 1;
    long m = s->share == BOOT_SHARE_RW ? s->fd ? fd : bound(fd, s) : read_only(fd, s, &shared);
    if (type_of((int)m, s->host) != (s->file ? S_IFREG : S_IFDIR))   /* not what the host looked at any more */
        boot_die(BOOT_E_SOURCE, s->host, -E_INVAL);
    boot_state.answer.how[i] = shared ? BOOT_HOW_BIND : BOOT_HOW_OVERLAY;
    if (shared)
        boot_state.answer.overlay = 0;
    int at = target(s->guest, !s->file);
    boot_try(sys_move_mount_at((int)m, at), BOOT_E_TARGET, s->guest);
    sys_close(at);
    sys_close((int)m);
    if (!s->fd)
        sys_close(fd);
}

void shares_place(void)
{
    int any = 0;
    for (uint32_t i = 0; i < boot_state.boot.nsources; i++)
        any |= is_share(i);
    if (!any)
        return;
    boot_try(sys_mkdirat(root_fd, VIEW, 0700), BOOT_E_MOUNT, VIEW);
    for (uint32_t i = 0; i < boot_state.boot.nsources; i++)
        if (is_share(i))
            place(i);
    boot_try(sys_unlinkat(root_fd, VIEW, AT_REMOVEDIR), BOOT_E_MOUNT, VIEW);
}
