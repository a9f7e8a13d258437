/* engine.c - mode "stdio": a container engine made the sandbox, the wire protocol runs on descriptors 0 and 1.
   What is left to do here is the split of ids, no new privileges, no capabilities, and signal scopes where the kernel has them. */
#include "boot.h"
#include "guest.h"

#define ENGINE_UID 1000u
#define TMPFS_MAGIC 0x01021994       /* statfs(2) */
static int may_setgid;

/* The counters of the group that the engine made, when it shows us that one and no other: a group without a limit may be the whole machine. */
static void find_group(struct boot_facts *f)
{
    static const struct { const char *limit, *peak, *oom, *pids; } versions[] = {
        { "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/pids.events" },
        { "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes", "/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/pids/pids.events" },
    };
    for (unsigned i = 0; i < 2; i++) {
        char b[32];
        uint64_t limit = 0;
        int fd = (int)sys_open(versions[i].limit, O_RDONLY | O_CLOEXEC);
        long n = fd < 0 ? -1 : sys_read(fd, b, sizeof b - 1);
        if (fd >= 0)
            sys_close(fd);
        if (n <= 0)
            continue;
        b[n] = 0;
        if (!scan_num(b, &limit) || limit >= 1ull << 60) /* "max", or v1's word for it */
            continue;
        f->cg_peak = (int)sys_open(versions[i].peak, O_RDONLY | O_CLOEXEC);
        f->cg_oom = (int)sys_open(versions[i].oom, O_RDONLY | O_CLOEXEC);
        f->cg_pids = (int)sys_open(versions[i].pids, O_RDONLY | O_CLOEXEC);
        return;
    }
}

/* Older runtimes give a tmpfs over a directory of the image that directory's mode, whatever was asked for (moby #39466). */
static void open_to_all(void)
{
    static const char *const dirs[] = { WORKSPACE, "/tmp", "/home", "/var/tmp" };
    for (unsigned i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        struct statfs_k s;
        int fd = (int)sys_open(dirs[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && sc2(NR_fstatfs, fd, PTR(&s)) == 0 && s.type == TMPFS_MAGIC)
            sys_chmod(dirs[i], 01777);
        if (fd >= 0)
            sys_close(fd);
    }
}

int engine_run(struct boot_facts *f)
{
    struct capheader_k h = { 0x20080522, 0 };
    struct capdata_k d[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    uint32_t uid = (uint32_t)sc0(NR_geteuid), gid = (uint32_t)sc0(NR_getegid);
    sc2(NR_capget, PTR(&h), PTR(d));
    may_setgid = (d[0].effective >> CAP_SETGID & 1) != 0;
    f->user_uid = uid, f->user_gid = gid;
    if (uid == 0 && d[0].effective >> CAP_SETUID & 1) {
        /* an id that this user namespace does not map can't be taken: try */
        long old = sc1(NR_setfsuid, (long)ENGINE_UID);
        int ok = sc1(NR_setfsuid, -1) == (long)ENGINE_UID;
        sc1(NR_setfsuid, old);
        if (ok) {
            f->user_uid = f->user_gid = ENGINE_UID;
            f->two_ids = 1;
            if (!may_setgid)
                f->user_gid = gid;
        }
    }
    long abi = sc3(NR_landlock_create_ruleset, 0, 0, 1);
    f->landlock_abi = abi > 0 ? (int)abi : 0;
    f->scoped = abi >= 6;
    find_group(f);
    if (A.init && uid == 0)
        open_to_all();
    return 0;
}

static void no_privileges(void)
{
    sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
}

/* A domain that handles nothing but scopes: signals and abstract sockets do not leave it. */
static int scope(void)
{
    struct { uint64_t fs, net, scoped; } a = { 0, 0, 3 };
    int rs = (int)sc3(NR_landlock_create_ruleset, PTR(&a), sizeof a, 0);
    if (rs < 0)
        return rs;
    long r = sc2(NR_landlock_restrict_self, rs, 0);
    sys_close(rs);
    return (int)r;
}

void engine_lock_supervisor(void)
{
    no_privileges();
    if (A.facts.scoped && scope() < 0)
        sys_exit(95); /* kill(-1) without a scope would reach everything: never go on */
}

static _Noreturn void fail(const char *what)
{
    sys_write(2, "interp: ", 8);
    sys_write(2, what, strlen(what));
    sys_write(2, "\n", 1);
    sys_exit(95);
}

/* In a user namespace of its own user code would have every capability again, and Podman's seccomp profile lets it make one. clone3 is ENOSYS, as in Docker's
   profile: its flags lie where a filter can't look, and every C library falls back to clone. Where there is no seccomp the engine's own profile has to do. */
static void no_user_namespaces(void)
{
    enum { NEWUSER = 0x10000000, ALLOW = 0x7fff0000, ERRNO = 0x00050000, X32 = 0x40000000 };
    static const struct boot_filter code[] = {
        { 0x20, 0, 0, 4 },             /* architecture */
        { 0x15, 0, 8, AUDIT_ARCH_SELF },
        { 0x20, 0, 0, 0 },             /* the call's number */
        { 0x35, 6, 0, X32 },
        { 0x15, 5, 0, NR_clone3 },
        { 0x15, 1, 0, NR_clone },
        { 0x15, 0, 2, NR_unshare },
        { 0x20, 0, 0, 16 },            /* low half of argument 0: flags, of either */
        { 0x45, 2, 0, NEWUSER },
        { 0x06, 0, 0, ALLOW },
        { 0x06, 0, 0, ERRNO | E_NOSYS },
        { 0x06, 0, 0, ERRNO | E_PERM }
    };
    struct sock_fprog_k p = { sizeof code / sizeof *code, code };
    sys_seccomp_filter(&p);
}

void engine_lock_kernel(void)
{
    struct rlimit_k core = { 1, 1 };
    sys_rlimit(RLIMIT_CORE, &core, NULL);
    for (int c = 0; c < 64; c++)
        if (sys_prctl(PR_CAPBSET_READ, (unsigned long)c, 0) == 1)
            sys_prctl(PR_CAPBSET_DROP, (unsigned long)c, 0);
    if (A.facts.two_ids) {
        uint32_t u = A.facts.user_uid, g = A.facts.user_gid;
        if (may_setgid && (sc2(NR_setgroups, 0, 0) < 0 || sc3(NR_setresgid, (long)g, (long)g, (long)g) < 0))
            fail("can't take the user's group id");
        if (sc3(NR_setresuid, (long)u, (long)u, (long)u) < 0)
            fail("can't take the user's id");
    }
    sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0);
    struct capheader_k h = { 0x20080522, 0 };
    struct capdata_k none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    if (sc2(NR_capset, PTR(&h), PTR(none)) < 0)
        fail("can't drop capabilities");
    if (sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0) < 0)
        fail("no_new_privs");
    no_user_namespaces();
    if (A.facts.scoped && scope() < 0)
        fail("signal scope");
}
