/* boot.c - local mode, first thing of PID 1: takes the boot message, joins its groups, builds the root, locks itself, checks itself, answers.
   The host started us by a vfork-like clone with all namespaces fresh; the id maps are written before the message comes. */
#include "boot_priv.h"

struct boot_state boot_state;
#ifdef INTERP_TESTING
int boot_keep_stdio;
#endif

_Noreturn void boot_die(uint32_t code, const char *step, long result)
{
    struct boot_answer *a = &boot_state.answer;
    a->magic = BOOT_MAGIC;
    a->code = code;
    a->err = result < 0 && result > -4096 ? (int32_t)-result : 0;
    memset(a->step, 0, sizeof a->step);
    str_put(a->step, sizeof a->step, 0, step);
    write_all(boot_state.stream, a, sizeof *a);
    sys_exit(90);
}

long boot_write(const char *path, const char *text)
{
    size_t n = strlen(text);
    long fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0), r;
    if (fd < 0)
        return fd;
    r = sys_write((int)fd, text, n);
    sys_close((int)fd);
    return r < 0 ? r : (size_t)r == n ? 0 : -E_IO;
}

static void read_exactly(void *p, size_t n)
{
    uint8_t *d = p;
    while (n) {
        long r = sys_read(boot_state.stream, d, n);
        if (r == -E_INTR)
            continue;
        if (r <= 0)
            sys_exit(91);              /* the host is gone: nobody to tell */
        d += r;
        n -= (size_t)r;
    }
}

static void read_message(void)
{
    struct boot *b = &boot_state.boot;
    read_exactly(b, sizeof *b);
    if (b->magic != BOOT_MAGIC || b->size != sizeof *b)
        boot_die(BOOT_E_MESSAGE, "magic", 0);
    if (b->nsources > BOOT_SOURCES || b->nlinks > sizeof b->link / sizeof *b->link || b->nallow > BOOT_FILTERS || b->ndeny > BOOT_FILTERS - b->nallow ||
        !b->nallow || !b->ndeny || b->cgroup_mask >> BOOT_CG_COUNT || b->base[sizeof b->base - 1] || (b->flags & BOOT_BARE && b->base[0] != '/'))
        boot_die(BOOT_E_MESSAGE, "counts", 0);
    for (uint32_t i = 0; i < b->nsources; i++)
        if (b->source[i].host[BOOT_PATH - 1] || b->source[i].guest[BOOT_PATH - 1] || b->source[i].guest[0] != '/' || !b->source[i].guest[1])
            boot_die(BOOT_E_MESSAGE, "source", 0);
        else if (b->source[i].share > BOOT_SHARE_RW || (b->source[i].fd && b->source[i].share == BOOT_SYSTEM))
            boot_die(BOOT_E_MESSAGE, "share", 0);
    for (uint32_t i = 0; i < b->nlinks; i++)
        if (b->link[i].target[63] || b->link[i].name[63])
            boot_die(BOOT_E_MESSAGE, "link", 0);
    read_exactly(boot_state.code, (size_t)(b->nallow + b->ndeny) * sizeof *boot_state.code);
#ifndef INTERP_TESTING
    if (b->flags & (BOOT_NO_SECCOMP | BOOT_NO_LANDLOCK | BOOT_NO_USERNS))
        boot_die(BOOT_E_MESSAGE, "test switch", 0);
#endif
}

/* The descriptors of the host's groups, in the order of enum boot_cg. */
static void take_groups(struct boot_facts *f, int fd[BOOT_CG_COUNT])
{
    int next = BOOT_FD_CGROUP;
    for (int i = 0; i < BOOT_CG_COUNT; i++) {
        fd[i] = -1;
        if (boot_state.boot.cgroup_mask & 1u << i) {
            fd[i] = next++;
            boot_try(sys_fcntl(fd[i], F_SETFD, 1), BOOT_E_CGROUP, "descriptor");
        }
    }
    for (int i = 0; i < 3; i++) {
        if (fd[BOOT_CG_AGENT_MEMORY + i] >= 0) {
            boot_try(sys_write(fd[BOOT_CG_AGENT_MEMORY + i], "0", 1), BOOT_E_CGROUP, "tasks");
            sys_close(fd[BOOT_CG_AGENT_MEMORY + i]);
            fd[BOOT_CG_AGENT_MEMORY + i] = -1;
        }
        f->cg_user_tasks[i] = fd[BOOT_CG_USER_MEMORY + i];
    }
    f->cg_user_dir = fd[BOOT_CG_USER_DIR];
    f->cg_peak = fd[BOOT_CG_PEAK];
    f->cg_oom = fd[BOOT_CG_OOM];
    f->cg_pids = fd[BOOT_CG_PIDS_EVENTS];
}

void boot_limits(void)
{
    struct rlimit_k core = { 1, 1 }, l;    /* 1, not 0: 0 does not stop a piped core handler on the host (fs/coredump.c) */
    boot_try(sys_rlimit(RLIMIT_CORE, &core, 0), BOOT_E_LIMIT, "core");
    if (sys_rlimit(RLIMIT_NOFILE, 0, &l) == 0 && l.cur < 4096) {
        l.cur = l.max < 4096 ? l.max : 4096;
        sys_rlimit(RLIMIT_NOFILE, &l, 0);
    }
}

void boot_null_stdio(void)
{
#ifdef INTERP_TESTING
    if (boot_keep_stdio)
        return;
#endif
    int fd = (int)boot_try(sys_open("/dev/null", O_RDWR), BOOT_E_MOUNT, "/dev/null");
    for (int i = 0; i < 3; i++)
        if (fd != i)
            boot_try(sys_dup3(fd, i, 0), BOOT_E_OTHER, "dup3");
    if (fd > 2)
        sys_close(fd);
}

/* The sandbox stands: what the agent goes by, and the word to the host. */
void boot_answer_ok(struct boot_facts *f)
{
    f->local = 1;
    f->landlock_abi = (int)boot_state.answer.landlock;
    f->scoped = boot_state.answer.landlock >= 6;
    f->host_pidfd = BOOT_FD_HOST;
    f->pids = boot_state.boot.pids;
    boot_state.answer.magic = BOOT_MAGIC;
    boot_state.answer.code = 0;
    if (write_all(boot_state.stream, &boot_state.answer, sizeof boot_state.answer) < 0)
        sys_exit(91);
}

int boot_run(int stream_fd, struct boot_facts *f)
{
    int fd[BOOT_CG_COUNT], keep[BOOT_CG_COUNT + 2], n = 0;
    struct boot *b = &boot_state.boot;
    boot_state.stream = stream_fd;
    read_message();
    boot_try(sys_fcntl(stream_fd, F_SETFD, 1), BOOT_E_OTHER, "stream");
    boot_try(sys_fcntl(BOOT_FD_HOST, F_SETFD, 1), BOOT_E_OTHER, "pidfd");
    if (b->flags & BOOT_BARE)
        return bare_run(f);
    take_groups(f, fd);
    sc2(NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);   /* an outer filter may refuse it; ours refuses all of keyctl to user code */
    int other = 0;
    sc3(NR_sched_setscheduler, 0, 0 /* SCHED_OTHER */, PTR(&other));    /* a host may run in a real-time class */
    sc0(NR_setsid);
    boot_try(sc2(NR_sethostname, PTR("sandbox"), 7), BOOT_E_OTHER, "sethostname");
    sc1(NR_umask, 022);
    boot_limits();
    root_build();
    boot_null_stdio();
    for (int i = 0; i < BOOT_CG_COUNT; i++)
        if (fd[i] >= 0)
            keep[n++] = fd[i];
    keep[n++] = stream_fd;
    keep[n++] = BOOT_FD_HOST;
    close_but(keep, n, 3);
    lock_agent();
    lock_agent_check();
    boot_answer_ok(f);
    f->two_ids = (b->flags & BOOT_TWO_IDS) != 0;
    f->user_uid = f->user_gid = USER_ID;
    return 0;
}
