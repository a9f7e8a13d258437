/* root.c - builds the sandbox's root from nothing, with descriptors only, and makes it the root. Nothing of the guest exists yet, so no path can have
   been prepared by it (runc CVE-2025-31133, -52565, -52881). Everything writable is one tmpfs: one size and one inode limit for the whole sandbox.

   The host's directories are read-only overlays: same page cache, other inodes, so that locks, leases, inotify and unix sockets don't reach the host's.
   An overlay's lower directory may have no mounts below it that this namespace can't take apart (EINVAL); then a recursive bind stands in and is
   reported as shared inodes. */
#include "boot_priv.h"

#define EMPTY "var/empty"        /* an empty directory: second lower layer, and what hides directories of /proc */

struct source { int fd; uint16_t mode; };
static struct source sources[BOOT_SOURCES];
int root_fd;
static int devices[6], ndevices;
static const char *point;        /* where the new root hangs in the old one until the pivot */
static const char *const device[6] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty" };

static void set_attr(int fd, const char *path, int flags, uint64_t set, const char *step)
{
    struct mount_attr_k a = { .set = set };
    boot_try(sys_mount_setattr(fd, path, flags, &a), BOOT_E_MOUNT, step);
}

/* Makes a directory or an empty file below the root with all that is above it. */
static void make(const char *path, int directory)
{
    char b[BOOT_PATH];
    size_t n = str_put(b, sizeof b, 0, path);
    for (size_t i = 1; i <= n; i++) {
        if (b[i] && b[i] != '/')
            continue;
        char c = b[i];
        b[i] = 0;
        long r;
        if (c || directory)
            r = sys_mkdirat(root_fd, b, 0755);
        else if ((r = sys_openat(root_fd, b, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644)) >= 0)
            sys_close((int)r);
        if (r < 0 && r != -E_EXIST)
            boot_die(BOOT_E_MOUNT, path, r);
        b[i] = c;
    }
}

static void make_file(const char *path, const char *text)
{
    long fd = sys_openat(root_fd, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (fd == -E_EXIST)
        return;
    boot_try(fd, BOOT_E_MOUNT, path);
    boot_try(write_all((int)fd, text, strlen(text)), BOOT_E_MOUNT, path);
    sys_close((int)fd);
}

/* With the caller's rights (our ids are still his), before the new root covers anything. Symbolic links are not followed: a path that changes meaning
   later is none. */
static void open_sources(void)
{
    struct open_how_k how = { O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    struct statx_k st;
    for (uint32_t i = 0; i < boot_state.boot.nsources; i++) {
        struct boot_source *s = &boot_state.boot.source[i];
        sources[i].fd = -1;
        if (s->share != BOOT_SYSTEM)
            continue;
        long fd = sys_openat2(AT_FDCWD, s->host, &how);
        if (fd < 0 && s->optional)
            continue;
        boot_try(fd, BOOT_E_SOURCE, s->host);
        boot_try(sys_statx((int)fd, "", AT_EMPTY_PATH, &st), BOOT_E_SOURCE, s->host);
        if ((st.mode & S_IFMT) != S_IFDIR && (st.mode & S_IFMT) != S_IFREG && (st.mode & S_IFMT) != S_IFLNK)
            boot_die(BOOT_E_SOURCE, s->host, -E_INVAL);
        sources[i].fd = (int)fd;
        sources[i].mode = st.mode;
    }
    shares_open();
    ndevices = boot_state.boot.flags & BOOT_PTY ? 6 : 5;
    for (int i = 0; i < ndevices; i++) {
        devices[i] = (int)boot_try(sys_open(device[i], O_PATH | O_CLOEXEC | O_NOFOLLOW), BOOT_E_MOUNT, device[i]);
        boot_try(sys_statx(devices[i], "", AT_EMPTY_PATH, &st), BOOT_E_MOUNT, device[i]);
        if ((st.mode & S_IFMT) != S_IFCHR)         /* check what was opened */
            boot_die(BOOT_E_MOUNT, device[i], -E_NODEV);
    }
}

static void take_ids(void)
{
    if (!(boot_state.boot.flags & BOOT_TWO_IDS))
        return;                                    /* stay 1000 and live by the ambient capabilities */
    boot_try(sys_setresgid(0), BOOT_E_IDS, "setresgid");
    boot_try(sc2(NR_setgroups, 0, 0), BOOT_E_IDS, "setgroups");
    boot_try(sys_setresuid(0), BOOT_E_IDS, "setresuid");
}

static void loopback_up(void)
{
    struct ifreq_k q = { "lo", 0x41 /* UP, RUNNING */, "" };
    int s = (int)boot_try(sc3(NR_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), BOOT_E_OTHER, "socket");
    boot_try(sys_ioctl(s, SIOCSIFFLAGS, &q), BOOT_E_OTHER, "lo");
    sys_close(s);
}

static int tmpfs(uint64_t bytes, uint64_t inodes, const char *mode, unsigned attr)
{
    char t[24];
    int fs = (int)boot_try(sys_fsopen("tmpfs"), BOOT_E_MOUNT, "tmpfs");
    str_num(t, sizeof t, 0, bytes);
    boot_try(sys_fsconfig(fs, FSCONFIG_SET_STRING, "size", t), BOOT_E_MOUNT, "tmpfs size");
    str_num(t, sizeof t, 0, inodes);
    boot_try(sys_fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", t), BOOT_E_MOUNT, "tmpfs nr_inodes");
    boot_try(sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", mode), BOOT_E_MOUNT, "tmpfs mode");
    (void)sys_fsconfig(fs, 0 /* FSCONFIG_SET_FLAG */, "noswap", 0);        /* since 6.4 */
    boot_try(sys_fsconfig(fs, FSCONFIG_CMD_CREATE, 0, 0), BOOT_E_MOUNT, "tmpfs create");
    int m = (int)boot_try(sys_fsmount(fs, attr), BOOT_E_MOUNT, "fsmount");
    sys_close(fs);
    return m;
}

/* Attached first, filled then: moving mounts into a detached tree is EINVAL before 6.15. */
static void hang_root(void)
{
    static const char *const at[] = { "/tmp", "/mnt", "/run", "/dev" };
    root_fd = tmpfs(boot_state.boot.workspace_bytes, boot_state.boot.workspace_inodes, "0755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    for (unsigned i = 0; i < sizeof at / sizeof *at; i++)
        if (sys_move_mount(root_fd, AT_FDCWD, at[i]) == 0) {
            point = at[i];
            boot_try(sc1(NR_fchdir, root_fd), BOOT_E_MOUNT, "fchdir");
            return;
        }
    boot_die(BOOT_E_MOUNT, "attach", 0);
}

/* A read-only overlay of one directory as a detached mount, or a negative error. */
long root_overlay(int fd)
{
    char lower[64];
    size_t n = str_put(lower, sizeof lower, 0, "/proc/self/fd/");
    n = str_num(lower, sizeof lower, n, (uint64_t)fd);
    n = str_put(lower, sizeof lower, n, ":");
    n = str_put(lower, sizeof lower, n, point);
    str_put(lower, sizeof lower, n, "/" EMPTY);    /* without an upper layer there must be two lower ones */
    long fs = sys_fsopen("overlay"), r;
    if (fs < 0)
        return fs;
    r = sys_fsconfig((int)fs, FSCONFIG_SET_STRING, "lowerdir", lower);
    if (r == 0)
        r = sys_fsconfig((int)fs, FSCONFIG_CMD_CREATE, 0, 0);
    if (r == 0)
        r = sys_fsmount((int)fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    sys_close((int)fs);
    return r;
}

void root_attach(long mount, const char *guest)
{
    boot_try(sys_move_mount((int)mount, root_fd, guest + 1), BOOT_E_MOUNT, guest);
    sys_close((int)mount);
}

static void bind_source(int fd, const char *guest)
{
    struct mount_attr_k a = { .set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
    long m = boot_try(sys_open_tree(fd, "", OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE), BOOT_E_SOURCE, guest);
    boot_try(sys_mount_setattr((int)m, "", AT_EMPTY_PATH | AT_RECURSIVE, &a), BOOT_E_MOUNT, guest);
    root_attach(m, guest);
    boot_state.answer.overlay = 0;
}

/* A file is copied: it is small, and a copy shares nothing. */
static void copy_source(int fd, const char *guest)
{
    static uint8_t buf[16384];
    char path[40];
    size_t n = str_put(path, sizeof path, 0, "/proc/self/fd/");
    str_num(path, sizeof path, n, (uint64_t)fd);
    long in = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), out, r = -E_IO;
    if (in < 0)
        return;                                    /* not readable for this user: as if it were not there */
    out = boot_try(sys_openat(root_fd, guest + 1, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644), BOOT_E_MOUNT, guest);
    while ((r = sys_read((int)in, buf, sizeof buf)) > 0)
        boot_try(write_all((int)out, buf, (size_t)r), BOOT_E_MOUNT, guest);
    boot_try(r, BOOT_E_SOURCE, guest);
    sys_close((int)in);
    sys_close((int)out);
}

static void link_source(int fd, const char *guest)
{
    char target[256];
    long n = sys_readlinkat(fd, "", target, sizeof target - 1);
    if (n <= 0)
        return;
    target[n] = 0;
    long r = sys_symlinkat(target, root_fd, guest + 1);
    if (r < 0 && r != -E_EXIST)
        boot_die(BOOT_E_MOUNT, guest, r);
}

/* One overlay of all of /etc, hung up for a moment at a place of ours, from which the wanted entries are bound: an overlay of its own for each folder
   costs 0.1 ms. Returns 0 when it could not be had. */
static int etc_begin(void)
{
    struct open_how_k how = { O_PATH | O_CLOEXEC | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    long fd = -1, m;
    for (uint32_t i = 0; i < boot_state.boot.nsources && fd < 0; i++)
        if (sources[i].fd >= 0 && memcmp(boot_state.boot.source[i].host, "/etc/", 5) == 0)
            fd = sys_openat2(AT_FDCWD, "/etc", &how);
    if (fd < 0)
        return 0;
    m = root_overlay((int)fd);
    sys_close((int)fd);
    if (m < 0)
        return 0;
    make(".etc", 1);
    root_attach(m, "/.etc");
    return 1;
}

static void etc_end(void)
{
    boot_try(sys_umount2(".etc", MNT_DETACH), BOOT_E_MOUNT, "umount");
    boot_try(sys_unlinkat(root_fd, ".etc", AT_REMOVEDIR), BOOT_E_MOUNT, "rmdir");
}

static long from_etc(const char *host)
{
    char path[BOOT_PATH + 8];
    size_t n = str_put(path, sizeof path, 0, ".etc/");
    str_put(path, sizeof path, n, host + 5);
    return sys_open_tree(root_fd, path, OPEN_TREE_CLONE | O_CLOEXEC);
}

static void place_source(uint32_t i, int etc)
{
    const struct boot_source *s = &boot_state.boot.source[i];
    int fd = sources[i].fd, type = sources[i].mode & S_IFMT, directory = type == S_IFDIR;
    char up[BOOT_PATH];
    size_t n = str_put(up, sizeof up, 0, s->guest + 1);
    while (n && up[n - 1] != '/')
        n--;
    if (n) {
        up[n - 1] = 0;
        make(up, 1);
    }
    if (type == S_IFLNK) {
        link_source(fd, s->guest);
        return;
    }
    long m = -1;
    if (etc && !s->bind && memcmp(s->host, "/etc/", 5) == 0 && memcmp(s->guest, "/etc/", 5) == 0)
        m = from_etc(s->host);
    else if (directory && !s->bind)
        m = root_overlay(fd);
    if (m < 0 && !directory && !s->bind) {
        copy_source(fd, s->guest);
        return;
    }
    make(s->guest + 1, directory);
    if (m >= 0)
        root_attach(m, s->guest);
    else
        bind_source(fd, s->guest);
}

static void place_sources(void)
{
    int etc = etc_begin();
    boot_state.answer.overlay = 1;
    for (uint32_t i = 0; i < boot_state.boot.nsources; i++)
        if (sources[i].fd >= 0) {
            place_source(i, etc);
            sys_close(sources[i].fd);
        }
    if (etc)
        etc_end();
    for (uint32_t i = 0; i < boot_state.boot.nlinks; i++) {
        long r = sys_symlinkat(boot_state.boot.link[i].target, root_fd, boot_state.boot.link[i].name);
        if (r < 0 && r != -E_EXIST)
            boot_die(BOOT_E_MOUNT, boot_state.boot.link[i].name, r);
    }
}

static void place_devices(void)
{
    static const char *const links[4][2] = { { "/proc/self/fd", "dev/fd" }, { "fd/0", "dev/stdin" }, { "fd/1", "dev/stdout" }, { "fd/2", "dev/stderr" } };
    struct mount_attr_k a = { .set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC };   /* a device is written all the same; its mode and times are not */
    make("dev", 1);
    for (int i = 0; i < ndevices; i++) {
        make(device[i] + 1, 0);
        int m = (int)boot_try(sys_open_tree(devices[i], "", OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH), BOOT_E_MOUNT, device[i]);
        boot_try(sys_mount_setattr(m, "", AT_EMPTY_PATH, &a), BOOT_E_MOUNT, device[i]);
        root_attach(m, device[i]);
        sys_close(devices[i]);
    }
    for (int i = 0; i < 4; i++)
        boot_try(sys_symlinkat(links[i][0], root_fd, links[i][1]), BOOT_E_MOUNT, links[i][1]);
}

/* Terminals of the sandbox's own: those of the host are not to be seen, and what is opened here counts against a bound of its own. */
static void place_terminals(void)
{
    if (!(boot_state.boot.flags & BOOT_PTY))
        return;
    int fs = (int)boot_try(sys_fsopen("devpts"), BOOT_E_MOUNT, "devpts");
    boot_try(sys_fsconfig(fs, FSCONFIG_SET_STRING, "ptmxmode", "0666"), BOOT_E_MOUNT, "devpts ptmxmode");
    boot_try(sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0600"), BOOT_E_MOUNT, "devpts mode");
    boot_try(sys_fsconfig(fs, FSCONFIG_SET_STRING, "max", "64"), BOOT_E_MOUNT, "devpts max");
    boot_try(sys_fsconfig(fs, FSCONFIG_CMD_CREATE, 0, 0), BOOT_E_MOUNT, "devpts create");
    long m = boot_try(sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC), BOOT_E_MOUNT, "devpts mount");
    sys_close(fs);
    make("dev/pts", 1);
    root_attach(m, "/dev/pts");
    boot_try(sys_symlinkat("pts/ptmx", root_fd, "dev/ptmx"), BOOT_E_MOUNT, "dev/ptmx");
}

static void place_work(void)
{
    static const struct { const char *name; uint32_t mode; unsigned attr; } work[4] = {
        { "workspace", 0755, 0 }, { "home", 0755, 0 }, { "tmp", 01777, 0 }, { "dev/shm", 01777, MOUNT_ATTR_NOEXEC }
    };
    for (int i = 0; i < 4; i++) {
        make(work[i].name, 1);
        boot_try(sys_fchmodat(root_fd, work[i].name, work[i].mode), BOOT_E_MOUNT, "chmod");
        if (boot_state.boot.flags & BOOT_TWO_IDS && !(work[i].mode & 01000))   /* git and others look at who owns it */
            boot_try(sys_fchownat(root_fd, work[i].name, USER_ID, USER_ID), BOOT_E_MOUNT, "chown");
        int m = (int)boot_try(sys_open_tree(root_fd, work[i].name, OPEN_TREE_CLONE | O_CLOEXEC), BOOT_E_MOUNT, work[i].name);
        set_attr(m, "", AT_EMPTY_PATH, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | work[i].attr, work[i].name);
        boot_try(sys_move_mount(m, root_fd, work[i].name), BOOT_E_MOUNT, work[i].name);
        sys_close(m);
    }
    /* the agent's own: FIFOs and code files, out of reach of a workspace that is full; apart from it what the shells save, which user code can fill */
    make("run/interp", 1);
    root_attach(tmpfs(boot_state.boot.private_bytes, 8192, "0711", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC), "/run/interp");
    make("run/interp/p", 1);
    make("run/interp/s", 1);
    root_attach(tmpfs(boot_state.boot.state_bytes, 4096, "0711", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC), "/run/interp/s");
}

static void place_etc(void)
{
    static const char *const file[][2] = {
        { "etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:1000:1000:user:/home:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
        { "etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n" },
        { "etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n" },
        { "etc/hostname", "sandbox\n" },
        { "etc/resolv.conf", "" },
        { "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n" }
    };
    make("etc", 1);
    for (unsigned i = 0; i < sizeof file / sizeof *file; i++)
        make_file(file[i][0], file[i][1]);
    (void)sys_symlinkat("/proc/self/mounts", root_fd, "etc/mtab");
}

/* Each user namespace can have its own binfmt_misc since 6.7; mounted once and let go, it is there, and empty: the host's handlers don't run here. */
static void own_binfmt(void)
{
    long fs = sys_fsopen("binfmt_misc"), m;
    if (fs < 0)
        return;
    if (sys_fsconfig((int)fs, FSCONFIG_CMD_CREATE, 0, 0) == 0 && (m = sys_fsmount((int)fs, 0)) >= 0) {
        sys_close((int)m);
        boot_state.answer.binfmt = 1;
    }
    sys_close((int)fs);
}

/* Not recursive and read-only: what every place that needs "nothing here" is bound from. */
static void place_empty(void)
{
    make(EMPTY, 1);
    make("mnt", 1);
}

static void seal_empty(void)
{
    int m = (int)boot_try(sys_open_tree(root_fd, EMPTY, OPEN_TREE_CLONE | O_CLOEXEC), BOOT_E_MOUNT, EMPTY);
    set_attr(m, "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, EMPTY);
    root_attach(m, "/" EMPTY);
}

static void become_root(void)
{
    boot_try(sc2(NR_pivot_root, PTR("."), PTR(".")), BOOT_E_PIVOT, "pivot_root");
    boot_try(sys_umount2(".", MNT_DETACH), BOOT_E_PIVOT, "umount");
    boot_try(sc1(NR_chdir, PTR("/")), BOOT_E_PIVOT, "chdir");
    set_attr(AT_FDCWD, "/", 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, "read-only root");   /* the root mount only */
    sys_close(root_fd);
}

void root_build(void)
{
    boot_try(sys_mount(0, "/", 0, MS_REC | MS_PRIVATE, 0), BOOT_E_MOUNT, "private");
    open_sources();
    take_ids();
    loopback_up();
    hang_root();
    place_empty();
    place_sources();
    place_devices();
    place_terminals();
    place_work();
    place_etc();
    shares_place();
    own_binfmt();
    seal_empty();
    proc_mount();
    become_root();
}
