/* spawn.c - the last steps of a process on its way to being a kernel: descriptors, limits, rights, execve. */
#include "boot.h"
#include "guest.h"

static char *argv[260], *envp[520];
static char text[WIRE_PAYLOAD_MAX + 4096];

static _Noreturn void fail(const char *what, long e)
{
    char b[160];
    size_t n = str_put(b, sizeof b, 0, "interp: ");
    n = str_put(b, sizeof b, n, what);
    n = str_put(b, sizeof b, n, ": error ");
    n = str_num(b, sizeof b, n, (uint64_t)-e);
    n = str_put(b, sizeof b, n, "\n");
    sys_write(2, b, n);
    sys_exit(94);
}

/* A list of the start message as a vector of C strings; they were checked when the message came. */
static size_t unpack(const struct spec *s, uint32_t at, char **v, size_t n, size_t max, size_t *used)
{
    struct wire_in in;
    interp__wire_in_init(&in, s->raw + at, s->len - at);
    for (unsigned left = interp__wire_u16(&in); left && n < max; left--) {
        struct wire_str w = interp__wire_string(&in);
        if (in.bad || w.len + 1u > sizeof text - *used)
            break;
        v[n++] = text + *used;
        memcpy(text + *used, w.p, w.len);
        text[*used + w.len] = 0;
        *used += w.len + 1u;
    }
    v[n] = NULL;
    return n;
}

static int has(size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(envp[i], name, strlen(name)) == 0)
            return 1;
    return 0;
}

static void fds_in_place(const int fds[3])
{
    int null = (int)sys_open("/dev/null", O_RDWR | O_CLOEXEC), high[4] = { null, fds[2], fds[0], fds[1] };
    if (null < 0)
        sys_exit(94);
    for (int i = 0; i < 4; i++) {
        high[i] = (int)sys_fcntl(high[i], F_DUPFD_CLOEXEC, 16);
        if (high[i] < 0)
            sys_exit(94);
    }
    /* 0 and 1: null, 2: the pipe for messages, 3: control, 4: blob or commands */
    static const uint8_t which[5] = { 0, 0, 1, 2, 3 };
    for (int i = 0; i < 5; i++)
        sys_dup3(high[which[i]], i, 0);
    close_but(&A.facts.rules, A.facts.rules >= 0, 5);     /* those go with the exec */
}

/* These keep a pipe's lock for as long as their other end has nothing to give or to take, and the agent's own read of that pipe, non-blocking as it is, then waits for the
   lock in a way that not even SIGKILL ends. EINVAL: "not with these descriptors", upon which programs copy by read and write. */
static void refuse_pipe_locks(void)
{
    enum { ALLOW = 0x7fff0000, ERRNO = 0x00050000, X32 = 0x40000000 };
    static const struct boot_filter code[] = {
        { 0x20, 0, 0, 4 },             /* architecture */
        { 0x15, 0, 8, AUDIT_ARCH_SELF },
        { 0x20, 0, 0, 0 },             /* the call's number */
        { 0x35, 6, 0, X32 },
        { 0x15, 4, 0, NR_sendfile },
        { 0x15, 3, 0, NR_splice },
        { 0x15, 2, 0, NR_tee },
        { 0x15, 1, 0, NR_vmsplice },
        { 0x06, 0, 0, ALLOW },
        { 0x06, 0, 0, ERRNO | E_INVAL },
        { 0x06, 0, 0, ERRNO | E_NOSYS }
    };
    static const char why[] = "interp: locking down failed: seccomp, pipes\n";
    struct sock_fprog_k p = { sizeof code / sizeof *code, code };
    if (sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0) < 0 || (sys_seccomp_filter(&p) < 0 && A.facts.local)) {
        sys_write(2, why, sizeof why - 1);
        sys_exit(95);                  /* an engine's sandbox may have no seccomp, as gVisor's, whose pipes are not the kernel's */
    }
}

_Noreturn void spawn_child(struct kernel *k, const int fds[3])
{
    const struct spec *s = &specs[kernel_index(k)];
    sc0(NR_setsid);
    for (int i = 0; i < 3; i++)
        if (A.facts.cg_user_tasks[i] >= 0 && sys_write(A.facts.cg_user_tasks[i], "0", 1) < 0)
            sys_exit(93);
    int adj = (int)sys_open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (adj >= 0)
        sys_write(adj, "1000", 4);
    fds_in_place(fds);
    size_t used = 0, n;
    argv[0] = k->path;
    unpack(s, s->args, argv, 1, 257, &used);
    n = unpack(s, s->env, envp, 0, 512, &used);
    static char want[] = "INTERP_WANT_CACHE=1", cached[] = "INTERP_CACHED=1";
    if (k->flags & WIRE_START_WANT_CACHE && !has(n, "INTERP_WANT_CACHE="))
        envp[n++] = want;
    if (k->flags & WIRE_START_CACHED && !has(n, "INTERP_CACHED="))
        envp[n++] = cached;
    envp[n] = NULL;
    struct rlimit_k l;
    if (sys_rlimit(RLIMIT_STACK, NULL, &l) == 0) {
        l.cur = l.max < (64u << 20) ? l.max : 64u << 20;
        sys_rlimit(RLIMIT_STACK, &l, NULL);
    }
    sc1(NR_umask, A.umask & 0777);
    sc1(NR_setfsuid, (long)A.facts.user_uid);
    sc1(NR_chdir, PTR(A.facts.workspace ? A.facts.workspace : WORKSPACE)); /* an image without a workspace: the directory that the engine chose */
    sc1(NR_setfsuid, (long)sc0(NR_geteuid));
    refuse_pipe_locks();
    if (A.facts.local)
        lock_kernel();
    else
        engine_lock_kernel();
    uint64_t none = 0;
    sys_sigmask(SIG_SETMASK, &none);
    fail(k->path, sys_execve(k->path, argv, envp));
}
