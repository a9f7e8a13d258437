/* bare.c - levels landlock and process: a sandbox without namespaces, for containers and pods that may not make any. There is no root to build: the host has made a directory for
   this sandbox, Landlock says which files beside it can be used, the filter leaves no way to others' processes and no socket, and a tree of supervisors keeps hold of
   every process. Signals stop at the edge of each supervisor's domain. At level process only the limits and that hold are left.

   The rules are one set for all kernels, made before any user code ran, so that no path is looked up that user code could have bent. */
#include "boot_priv.h"

enum { READ = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR };

static char workspace[96], run_dir[96];
static int rules = -1;

static uint64_t all_rights(void)
{
    return lock_known_rights(boot_state.answer.landlock);
}

/* optional: what is not there, or closed to us, needs no rule. */
static void allow_fd(int fd, const char *step, uint64_t rights)
{
    struct statx_k st;
    struct landlock_path_k p = { rights, fd };
    boot_try(sys_statx(fd, "", AT_EMPTY_PATH, &st), BOOT_E_SOURCE, step);
    if ((st.mode & S_IFMT) != S_IFDIR)
        p.allowed &= FILE_RIGHTS;
    boot_try(sys_landlock_rule(rules, &p), BOOT_E_LANDLOCK, step);
    sys_close(fd);
}

static void allow(const char *path, uint64_t rights, int optional)
{
    long fd = sys_open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 && optional)
        return;
    allow_fd((int)boot_try(fd, BOOT_E_SOURCE, path), path, rights);
}

static void allow_in_base(const char *name, uint64_t rights)
{
    char path[96];
    size_t n = str_put(path, sizeof path, 0, boot_state.boot.base);
    str_put(path, sizeof path, n, name);
    allow(path, rights, 0);
}

/* What programs size themselves by, and the accounts; nothing of other processes. */
static const char *const readable[] = {
    "/etc/group", "/etc/nsswitch.conf", "/etc/passwd", "/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/sys", "/proc/uptime",
    "/proc/version", "/sys/devices/system/cpu"
};
static const char *const device[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };

static void make_rules(void)
{
    static const struct open_how_k no_links = { O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    const struct boot *b = &boot_state.boot;
    uint64_t work = all_rights() & ~(uint64_t)(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV);
    struct landlock_attr_k a = { .fs = all_rights(), .net = 3 /* bind and connect, none allowed */, .scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL };
    rules = (int)boot_try(sys_landlock_ruleset(&a, sizeof a, 0), BOOT_E_LANDLOCK, "ruleset");
    for (uint32_t i = 0; i < b->nsources; i++) {
        const struct boot_source *s = &b->source[i];
        if (s->share == BOOT_SYSTEM)
            allow(s->host, READ, 1);
        else
            allow_fd((int)boot_try(sys_openat2(AT_FDCWD, s->host, &no_links), BOOT_E_SOURCE, s->host), s->host, s->share == BOOT_SHARE_RW ? work : (uint64_t)READ);
        boot_state.answer.how[i] = BOOT_HOW_BIND;
    }
    for (unsigned i = 0; i < sizeof readable / sizeof *readable; i++)
        allow(readable[i], FS_READ_FILE | FS_READ_DIR, 1);
    for (unsigned i = 0; i < sizeof device / sizeof *device; i++)
        allow(device[i], FS_READ_FILE | FS_WRITE_FILE, 1);
    allow_in_base("/workspace", work);
    allow_in_base("/home", work);
    allow_in_base("/tmp", work);
    allow_in_base("/run/c", FS_READ_FILE);
    allow_in_base("/run/p", FS_READ_FILE | FS_WRITE_FILE);
    allow_in_base("/run/s", work & ~(uint64_t)FS_READ_DIR);
}

static void make_run(void)
{
    static const char parts[] = "cps";
    char path[96];
    for (const char *c = parts; *c; c++) {
        size_t n = str_put(path, sizeof path, 0, run_dir);
        const char s[3] = { '/', *c, 0 };
        str_put(path, sizeof path, n, s);
        long r = sys_mkdir(path, 0711);
        if (r != -E_EXIST)             /* of an attempt at a stronger level */
            boot_try(r, BOOT_E_MOUNT, path);
    }
}

/* A set-up without rights has none to drop: the bounding set of an ordinary user stays, and no_new_privs makes it mean nothing. */
static void drop_rights(uint64_t keep)
{
    struct capheader_k h = { 0x20080522, 0 };
    struct capdata_k d[2] = { { (uint32_t)keep, (uint32_t)keep, 0 }, { 0, 0, 0 } };
    sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0);
    for (unsigned long c = 0; c < 64; c++)
        if (sys_prctl(PR_CAPBSET_DROP, c, 0) < 0)
            break;
    boot_try(sys_capset(&h, d), BOOT_E_SELFCHECK, "capset");
    boot_try(sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0), BOOT_E_SELFCHECK, "no_new_privs");
    boot_try(sys_prctl(PR_SET_DUMPABLE, 0, 0), BOOT_E_SELFCHECK, "dumpable");
    boot_try(sys_capget(&h, d), BOOT_E_SELFCHECK, "capget");
    if (d[0].effective != (uint32_t)keep || d[0].permitted != (uint32_t)keep || d[1].effective || d[1].permitted || sys_prctl(PR_GET_NO_NEW_PRIVS, 0, 0) != 1 ||
        sys_prctl(PR_GET_DUMPABLE, 0, 0) != 0)
        boot_die(BOOT_E_SELFCHECK, "rights", 0);
}

/* With an id that others use too, the limit on processes counts theirs: how many there are now is what the kernel says no to. 0: it says no to nothing. */
static uint64_t processes_now(void)
{
    struct rlimit_k old, l;
    uint64_t low = 0, high = 1 << 22;
    if (sys_rlimit(RLIMIT_NPROC, 0, &old) < 0)
        return 0;
    if (old.max < high)
        high = old.max;
    for (uint64_t try = 64; low < high; try = low + (high - low) / 2) {
        if (try >= high)
            try = low + (high - low) / 2;
        l = (struct rlimit_k){ try, old.max };
        long p = sys_rlimit(RLIMIT_NPROC, &l, 0) < 0 ? -E_PERM : sys_fork();
        if (p == 0)
            sys_exit(0);
        if (p > 0) {
            sys_wait4((int)p, NULL, W_ALL, NULL);
            high = try;
            if (!try)
                break;             /* not even none is a limit for us */
        } else if (p == -E_AGAIN)
            low = try + 1;
        else
            break;
    }
    sys_rlimit(RLIMIT_NPROC, &old, 0);
    return low == high ? low : 0;
}

int bare_run(struct boot_facts *f)
{
    struct boot *b = &boot_state.boot;
    int two = (b->flags & BOOT_TWO_IDS) != 0, other = 0;
    boot_try(sys_fcntl(BOOT_FD_LIFE, F_SETFD, 1), BOOT_E_OTHER, "life");
    sc3(NR_sched_setscheduler, 0, 0, PTR(&other));
    sc0(NR_setsid);
    sc1(NR_umask, 022);
    boot_limits();
    boot_null_stdio();
    long abi = sys_landlock_ruleset(0, 0, 1);
    boot_state.answer.landlock = abi > 0 ? (uint32_t)abi : 0;
    size_t n = str_put(run_dir, sizeof run_dir, 0, b->base);
    str_put(run_dir, sizeof run_dir, n, "/run");
    n = str_put(workspace, sizeof workspace, 0, b->base);
    str_put(workspace, sizeof workspace, n, "/workspace");
    make_run();
    if (!(b->flags & BOOT_OPEN)) {
        if (abi < 6)
            boot_die(BOOT_E_LANDLOCK, "level landlock needs ABI 6", abi);
        boot_state.answer.overlay = 0;
        make_rules();
    }
    int keep[] = { boot_state.stream, BOOT_FD_HOST, BOOT_FD_LIFE, rules };
    close_but(keep, 4, 3);
    drop_rights(two ? 1u << CAP_KILL | 1u << CAP_SETUID | 1u << CAP_SETGID : 0);
    f->bare = 1;
    f->rules = rules;
    f->life = BOOT_FD_LIFE;
    f->workspace = workspace;
    f->run_dir = run_dir;
    f->two_ids = two;
    f->user_uid = two ? b->user_uid : (uint32_t)sc0(NR_geteuid);
    f->user_gid = two ? b->user_gid : (uint32_t)sc0(NR_getegid);
    if (!two && b->pids) {
        uint64_t now = processes_now();
        b->pids = now ? (uint32_t)now + b->pids : 0;
    }
    uint32_t pids = b->pids;
    if (!two)
        b->pids = 0;                   /* what the agent counts are our own, and this number is not of those */
    boot_answer_ok(f);
    b->pids = pids;
    return 0;
}

/* ---- user code */

/* Its own files in /proc, which are another directory in each process. */
static void allow_self(void)
{
    struct landlock_path_k p = { FS_READ_FILE | FS_READ_DIR, (int32_t)sys_open("/proc/self", O_PATH | O_CLOEXEC) };
    if (p.fd < 0)
        return;
    lock_must(sys_landlock_rule(rules, &p), "/proc/self");
    sys_close(p.fd);
}

void bare_lock_kernel(void)
{
    const struct boot *b = &boot_state.boot;
    struct capheader_k h = { 0x20080522, 0 };
    struct capdata_k none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    lock_limits();
    if (b->flags & BOOT_TWO_IDS) {
        lock_must(sc2(NR_setgroups, 0, 0), "setgroups");
        lock_must(sys_setresgid(b->user_gid), "setresgid");
        lock_must(sys_setresuid(b->user_uid), "setresuid");
    }
    lock_must(sys_capset(&h, none), "capset");
    lock_must(sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0), "no_new_privs");
    lock_must(sys_prctl(PR_SET_DUMPABLE, 1, 0), "dumpable");
    if (b->flags & BOOT_OPEN) {
        lock_supervisor();             /* a domain of its own inside the supervisor's: it can't signal that one */
        return;
    }
    allow_self();
    lock_must(sys_landlock_restrict(rules), "landlock");
    sys_close(rules);
    lock_filters();
}
