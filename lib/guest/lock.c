/* lock.c - dropping rights: of the agent, of a supervisor, of user code. */
#include "boot_priv.h"

/* NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock, and the lock of KEEP_CAPS */
#define SECUREBITS (1ul | 2 | 4 | 8 | 0x20 | 0x40 | 0x80)

void lock_capabilities(uint64_t keep)
{
    struct capheader_k h = { 0x20080522, 0 };
    struct capdata_k d[2] = { { (uint32_t)keep, (uint32_t)keep, 0 }, { (uint32_t)(keep >> 32), (uint32_t)(keep >> 32), 0 } };
    sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0);
    for (unsigned long c = 0; c < 64; c++) {       /* while CAP_SETPCAP is still there */
        long r = sys_prctl(PR_CAPBSET_DROP, c, 0);
        if (r == -E_INVAL)
            break;                                 /* the kernel knows no more */
        if (r < 0)
            boot_die(BOOT_E_SELFCHECK, "bounding set", r);
    }
    boot_try(sys_prctl(PR_SET_SECUREBITS, SECUREBITS, 0), BOOT_E_SELFCHECK, "securebits");
    boot_try(sys_capset(&h, d), BOOT_E_SELFCHECK, "capset");
}

static uint64_t agent_capabilities(void)
{
    return boot_state.boot.flags & BOOT_TWO_IDS ? 1u << CAP_KILL | 1u << CAP_SETUID | 1u << CAP_SETGID : 1u << CAP_KILL;
}

void lock_agent(void)
{
    lock_capabilities(agent_capabilities());
    boot_try(sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0), BOOT_E_SELFCHECK, "no_new_privs");
    sys_prctl(PR_SET_MDWE, 3, 0);                  /* no new executable memory, not inherited; since 6.6 */
    boot_try(sys_prctl(PR_SET_DUMPABLE, 0, 0), BOOT_E_SELFCHECK, "dumpable");
    long abi = sys_landlock_ruleset(0, 0, 1);
    if (abi < 1)
        boot_die(BOOT_E_LANDLOCK, "version", abi);
    boot_state.answer.landlock = (uint32_t)abi;
}

/* Asks the kernel for what was just done, before anybody hears that the sandbox stands. */
void lock_agent_check(void)
{
    struct capheader_k h = { 0x20080522, 0 };
    struct capdata_k d[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    char cwd[8];
    uint32_t keep = (uint32_t)agent_capabilities();
    boot_try(sys_capget(&h, d), BOOT_E_SELFCHECK, "capget");
    if (d[0].effective != keep || d[0].permitted != keep || d[0].inheritable || d[1].effective || d[1].permitted || d[1].inheritable)
        boot_die(BOOT_E_SELFCHECK, "capabilities", 0);
    for (unsigned long c = 0; c < 41; c++)
        if (sys_prctl(PR_CAPBSET_READ, c, 0) == 1)
            boot_die(BOOT_E_SELFCHECK, "bounding set", 0);
    if (sys_prctl(PR_GET_NO_NEW_PRIVS, 0, 0) != 1)
        boot_die(BOOT_E_SELFCHECK, "no_new_privs", 0);
    if (sys_prctl(PR_GET_DUMPABLE, 0, 0) != 0)
        boot_die(BOOT_E_SELFCHECK, "dumpable", 0);
    if (sys_unshare(CLONE_NEWNS) == 0)
        boot_die(BOOT_E_SELFCHECK, "unshare", 0);
    if (sc2(NR_getcwd, PTR(cwd), sizeof cwd) != 2 || cwd[0] != '/')
        boot_die(BOOT_E_SELFCHECK, "current directory", 0);
    struct statfs_k root;
    if (sc2(NR_statfs, PTR("/"), PTR(&root)) < 0 || !(root.flags & ST_RDONLY))
        boot_die(BOOT_E_SELFCHECK, "read-only root", 0);
}

/* ---- user code. It reports on its standard error, which the agent hands to the host. */
static _Noreturn void fail(const char *what, long r)
{
    char t[128];
    size_t n = str_put(t, sizeof t, 0, "interp: locking down failed: ");
    n = str_put(t, sizeof t, n, what);
    n = str_put(t, sizeof t, n, ", error ");
    n = str_num(t, sizeof t, n, (uint64_t)(r < 0 ? -r : 0));
    n = str_put(t, sizeof t, n, "\n");
    sys_write(2, t, n);
    sys_exit(95);
}

long lock_must(long r, const char *what)
{
    if (r < 0)
        fail(what, r);
    return r;
}

static void limit(int what, uint64_t value, const char *name)
{
    struct rlimit_k l = { value, value }, old;
    lock_must(sys_rlimit(what, 0, &old), name);
    if (l.max > old.max)
        l.cur = l.max = old.max;       /* the host's own hard limit is lower: raising it would need a right over the host */
    lock_must(sys_rlimit(what, &l, 0), name);
}

void lock_limits(void)
{
    const struct boot *b = &boot_state.boot;
    limit(RLIMIT_CORE, 1, "core");     /* exactly 1: 0 does not stop a piped core handler on the host; the filter keeps it there */
    limit(RLIMIT_NOFILE, b->descriptors, "descriptors");
    limit(RLIMIT_FSIZE, b->file_bytes, "file size");
    limit(RLIMIT_MEMLOCK, 1 << 20, "memlock");
    limit(RLIMIT_SIGPENDING, 1024, "sigpending");
    limit(RLIMIT_MSGQUEUE, 1 << 18, "msgqueue");
    limit(RLIMIT_RTPRIO, 0, "rtprio");
    if (b->pids) {                     /* set before the nested namespace is made, it binds the sum of all of them (5.14); one id: the agent counts too */
        /* where a group counts processes it should be the one that says no, since it leaves a trace; this then only stands behind it */
        int group = (b->cgroup_mask & (1u << BOOT_CG_USER_PIDS | 1u << BOOT_CG_USER_DIR)) != 0;
        limit(RLIMIT_NPROC, b->pids + (group ? 64u : b->flags & BOOT_TWO_IDS ? 0u : 1u), "processes");
    }
    if (b->cpu_mask)
        lock_must(sc3(NR_sched_setaffinity, 0, sizeof b->cpu_mask, PTR(&b->cpu_mask)), "affinity");
}

static void user_ids(void)
{
    if (!(boot_state.boot.flags & BOOT_TWO_IDS))
        return;
    lock_must(sc2(NR_setgroups, 0, 0), "setgroups");
    lock_must(sys_setresgid(USER_ID), "setresgid");
    lock_must(sys_setresuid(USER_ID), "setresuid");
}

/* A nested user namespace: every ptrace-like access to the agent then needs a capability that user code can never have, even with one id for both.
   A cgroup namespace with it, so that /proc/self/cgroup says "/". Neither may be nested any deeper. */
static void user_namespace(void)
{
    lock_must(boot_write("/proc/self/oom_score_adj", "1000"), "oom_score_adj");
#ifdef INTERP_TESTING
    if (boot_state.boot.flags & BOOT_NO_USERNS)
        return;
#endif
    long r;
    for (int i = 0; (r = sys_unshare(CLONE_NEWUSER)) == -E_NOSPC && i < 50; i++) {   /* those of dead kernels are freed with a delay */
        struct timespec_k t = { 0, 2 * (int64_t)MSEC };
        sys_ppoll(0, 0, &t);
    }
    lock_must(r, "user namespace");
    lock_must(boot_write("/proc/self/setgroups", "deny"), "setgroups");
    lock_must(boot_write("/proc/self/uid_map", "1000 1000 1"), "uid_map");
    lock_must(boot_write("/proc/self/gid_map", "1000 1000 1"), "gid_map");
    lock_must(sys_unshare(CLONE_NEWCGROUP), "cgroup namespace");
    lock_must(boot_write("/proc/sys/user/max_user_namespaces", "0"), "max_user_namespaces");
    lock_must(boot_write("/proc/sys/user/max_cgroup_namespaces", "0"), "max_cgroup_namespaces");
}

static void user_capabilities(void)
{
    struct capheader_k h = { 0x20080522, 0 };
    struct capdata_k none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    for (unsigned long c = 0; c < 64; c++)         /* a new user namespace has fresh ones */
        if (sys_prctl(PR_CAPBSET_DROP, c, 0) == -E_INVAL)
            break;
    sys_prctl(PR_SET_SECUREBITS, SECUREBITS, 0);
    lock_must(sys_capset(&h, none), "capset");
    lock_must(sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0), "no_new_privs");
}

uint64_t lock_known_rights(uint32_t abi)
{
    uint64_t r = (1 << 13) - 1;
    if (abi >= 2)
        r |= 1 << 13;                  /* REFER */
    if (abi >= 3)
        r |= 1 << 14;                  /* TRUNCATE */
    if (abi >= 5)
        r |= FS_IOCTL_DEV;
    return r;
}

static void allow(int rules, const char *path, uint64_t rights)
{
    struct landlock_path_k p = { rights, (int32_t)lock_must(sys_open(path, O_PATH | O_CLOEXEC), path) };
    lock_must(sys_landlock_rule(rules, &p), path);
    sys_close(p.fd);
}

/* The inner fence of files, and from ABI 6 the fence of signals and abstract sockets. Rules only add up along a path, so what "/" may, all below may:
   names below /run/interp are hidden by its mode (0711, the agent's), not from here. With one id the user owns that folder too, and only these rules
   keep it from making, moving or removing anything but what its shells save, and from writing to anything but its streams. */
static void user_landlock(void)
{
    uint32_t abi = boot_state.answer.landlock;
    uint64_t all = lock_known_rights(abi), work = all & ~(uint64_t)(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV);
    struct landlock_attr_k a = { .fs = all, .scoped = abi >= 6 ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0 };
#ifdef INTERP_TESTING
    if (boot_state.boot.flags & BOOT_NO_LANDLOCK)
        return;
#endif
    int rules = (int)lock_must(sys_landlock_ruleset(&a, abi >= 6 ? sizeof a : 8, 0), "landlock");
    allow(rules, "/", FS_EXECUTE | FS_READ_FILE | FS_READ_DIR);
    allow(rules, "/workspace", work);
    allow(rules, "/home", work);
    allow(rules, "/tmp", work);
    allow(rules, "/dev/shm", work);
    allow(rules, "/dev", FS_READ_FILE | FS_WRITE_FILE);
    if (boot_state.boot.flags & BOOT_PTY) {   /* modes and sizes are set by ioctl */
        allow(rules, "/dev/pts", all & (FS_READ_FILE | FS_WRITE_FILE | FS_IOCTL_DEV));
        allow(rules, "/dev/tty", all & (FS_READ_FILE | FS_WRITE_FILE | FS_IOCTL_DEV));
    }
    allow(rules, "/run/interp/p", FS_READ_FILE | FS_WRITE_FILE);
    allow(rules, "/run/interp/s", work & ~(uint64_t)FS_READ_DIR);
    /* what is below a place of the user's has its rights already, and there he could put a link in our way; so he could where one of these is below another */
    static const struct open_how_k no_links = { O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    for (uint32_t i = 0; i < boot_state.boot.nsources; i++) {
        const struct boot_source *s = &boot_state.boot.source[i];
        if (s->share != BOOT_SHARE_RW || shares_in_work(s->guest))
            continue;
        struct landlock_path_k p = { s->file ? work & FILE_RIGHTS : work, (int32_t)sys_openat2(AT_FDCWD, s->guest, &no_links) };
        if (p.fd < 0)
            continue;                  /* he moved it: then he has no right to it */
        lock_must(sys_landlock_rule(rules, &p), s->guest);
        sys_close(p.fd);
    }
    lock_must(sys_landlock_restrict(rules), "landlock");
    sys_close(rules);
}

static void filter(const struct boot_filter *code, uint32_t n)
{
    struct sock_fprog_k p = { (uint16_t)n, code };
    lock_must(sys_seccomp_filter(&p), "seccomp");
}

/* Where a directory of the host is a bind and not an overlay, its unix sockets could be reached: then none can be made, and
   no pair whose datagrams could be sent to a path (type RAW is the same). */
static void refuse_unix_sockets(void)
{
#if defined(__x86_64__)
    enum { SOCKET = 41, SOCKETPAIR = 53 };
#else
    enum { SOCKET = 198, SOCKETPAIR = 199 };
#endif
    static const struct boot_filter code[] = {
        { 0x20, 0, 0, 0 },             /* the call's number; the allow-list has looked at the architecture */
        { 0x15, 5, 0, SOCKET },
        { 0x15, 0, 7, SOCKETPAIR },
        { 0x20, 0, 0, 24 },            /* low half of argument 1: type and flags */
        { 0x54, 0, 0, 15 },
        { 0x15, 3, 0, 2 },
        { 0x15, 2, 3, 3 },
        { 0x20, 0, 0, 16 },            /* low half of argument 0 */
        { 0x15, 0, 1, AF_UNIX },
        { 0x06, 0, 0, 0x00050000 | E_ACCES },
        { 0x06, 0, 0, 0x7fff0000 }
    };
    filter(code, sizeof code / sizeof *code);
}

/* The strictest answer of all filters counts; the refusals go first, since the allow-list ends the right to add some. */
void lock_filters(void)
{
    const struct boot *b = &boot_state.boot;
#ifdef INTERP_TESTING
    if (b->flags & BOOT_NO_SECCOMP)
        return;
#endif
    if (!boot_state.answer.overlay)
        refuse_unix_sockets();
    filter(boot_state.code + b->nallow, b->ndeny);
    filter(boot_state.code, b->nallow);
    if (sys_prctl(PR_GET_SECCOMP, 0, 0) != 2 || sys_unshare(0) != -E_NOSYS)
        fail("seccomp check", 0);
}

void lock_kernel(void)
{
    if (boot_state.boot.flags & BOOT_BARE) {
        bare_lock_kernel();
        return;
    }
    lock_limits();
    user_ids();
    lock_must(sys_prctl(PR_SET_DUMPABLE, 1, 0), "dumpable");   /* files of /proc/self belong to root otherwise; Landlock and the namespaces fence it */
    user_namespace();
    user_capabilities();
    user_landlock();
    lock_filters();
}

/* A domain of its own with signal scope: kill(-1) from the supervisor reaches exactly its kernel's tree, which is nested in it. */
void lock_supervisor(void)
{
    struct landlock_attr_k a = { .fs = 0, .scoped = SCOPE_SIGNAL };
    if (boot_state.answer.landlock < 6)
        return;
#ifdef INTERP_TESTING
    if (boot_state.boot.flags & BOOT_NO_LANDLOCK)
        return;
#endif
    int rules = (int)lock_must(sys_landlock_ruleset(&a, sizeof a, 0), "landlock");
    lock_must(sys_landlock_restrict(rules), "landlock");
    sys_close(rules);
}
