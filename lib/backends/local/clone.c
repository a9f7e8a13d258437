/* clone.c - makes PID 1 of a sandbox: clone3 like vfork, on a stack of its own, in the host's memory; then exec of the sealed agent.

   Never fork(): copying the page tables of a host with 2 GB took 78 ms instead of 3 (measured). The child shares the host's memory until its exec,
   so it makes raw system calls only (no libc: errno, locks and cancellation belong to the calling thread) and changes no user id: commit_creds()
   would mark the shared memory non-dumpable, that is, the host. All signals are blocked meanwhile: no handler of the host may run in the child, and
   a timer signal would restart a slow clone for ever (nsjail #168). exit_signal 0: the host's SIGCHLD handler and waitpid(-1) never see it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include "local_priv.h"

#ifndef SYS_clone3
#  define SYS_clone3 435
#endif
#ifndef SYS_close_range
#  define SYS_close_range 436
#endif
#ifndef MFD_EXEC
#  define MFD_EXEC 0x0010U
#endif
#ifndef F_SEAL_EXEC
#  define F_SEAL_EXEC 0x0020
#endif
#ifndef AT_EMPTY_PATH
#  define AT_EMPTY_PATH 0x1000
#endif
#ifndef P_PIDFD
#  define P_PIDFD 3
#endif
#define INTO_CGROUP 0x200000000ULL
#define STACK 16384

/* Sanitizers instrument function entries and memory accesses; in the child that would touch their per-thread state. */
#if defined(__clang__)
#  define BARE __attribute__((noinline, no_sanitize("address", "undefined", "thread", "memory")))
#else
#  define BARE __attribute__((noinline, no_sanitize_address, no_sanitize_undefined, no_sanitize_thread))
#endif

struct args { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup; };
struct cap_header { uint32_t version; int pid; };
struct cap_data { uint32_t effective, permitted, inheritable; };

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long raw(long nr, long a, long b, long c, long d, long e)
{
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    return r;
}

/* The call; the child runs the function that r12 names, with r13, and ends by exit_group. */
#  define CALL_AND_CHILD \
    "syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tmov %%r13, %%rdi\n\tcall *%%r12\n\tmov %%eax, %%edi\n\tmov $231, %%eax\n\tsyscall\n\thlt\n1:"

static BARE long clone_call(struct args *a, int (*fn)(void *), void *arg)
{
    long r;
    register int (*f)(void *) __asm__("r12") = fn;
    register void *p __asm__("r13") = arg;
    __asm__ volatile(CALL_AND_CHILD
                     : "=a"(r)
                     : "a"((long)SYS_clone3), "D"(a), "S"(sizeof *a), "r"(f), "r"(p)
                     : "rcx", "r11", "memory");
    return r;
}
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) long raw(long nr, long a, long b, long c, long d, long e)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory", "cc");
    return x0;
}

/* The call; the child runs the function that x19 names, with x20, and ends by exit_group. */
#  define CALL_AND_CHILD "svc 0\n\tcbnz x0, 1f\n\tmov x29, xzr\n\tmov x0, x20\n\tblr x19\n\tmov x8, #94\n\tsvc 0\n\tbrk 1\n1:"

static BARE long clone_call(struct args *a, int (*fn)(void *), void *arg)
{
    register long x8 __asm__("x8") = SYS_clone3;
    register long x0 __asm__("x0") = (long)a;
    register long x1 __asm__("x1") = (long)sizeof *a;
    register int (*f)(void *) __asm__("x19") = fn;
    register void *p __asm__("x20") = arg;
    __asm__ volatile(CALL_AND_CHILD
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(f), "r"(p)
                     : "memory", "cc", "x30");
    return x0;
}
#endif

#if defined(__x86_64__)
/* clone(2), for outer filters that refuse clone3. */
static BARE long clone_old(uint64_t flags, void *top, int *pidfd, int (*fn)(void *), void *arg)
{
    long r;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register int (*f)(void *) __asm__("r12") = fn;
    register void *p __asm__("r13") = arg;
    __asm__ volatile(CALL_AND_CHILD
                     : "=a"(r)
                     : "a"((long)SYS_clone), "D"(flags), "S"(top), "d"(pidfd), "r"(r10), "r"(r8), "r"(f), "r"(p)
                     : "rcx", "r11", "memory");
    return r;
}
#elif defined(__aarch64__)
static BARE long clone_old(uint64_t flags, void *top, int *pidfd, int (*fn)(void *), void *arg)
{
    register long x8 __asm__("x8") = SYS_clone;
    register long x0 __asm__("x0") = (long)flags;
    register void *x1 __asm__("x1") = top;
    register int *x2 __asm__("x2") = pidfd;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    register int (*f)(void *) __asm__("x19") = fn;
    register void *p __asm__("x20") = arg;
    __asm__ volatile(CALL_AND_CHILD
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(f), "r"(p)
                     : "memory", "cc", "x30");
    return x0;
}
#endif

static inline __attribute__((always_inline)) int child_failed(struct interp__local_spawn *s, int step, long r)
{
    s->step = step;
    s->err = (int)-r;
    return 127;
}

static BARE long write_file(const char *path, const char *text, long n)
{
    long r, fd = raw(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CLOEXEC, 0, 0);
    if (fd < 0)
        return fd;
    r = raw(SYS_write, fd, (long)text, n, 0, 0);
    raw(SYS_close, fd, 0, 0, 0, 0);
    return r < 0 ? r : r == n ? 0 : -EIO;
}

/* The child's own maps, where it may write them itself: after its exec the agent soon makes itself non-dumpable, and its files in /proc are root's.
   A host that is non-dumpable already (EACCES) writes them from outside. */
static BARE long own_maps(struct interp__local_spawn *s)
{
    long r = write_file("/proc/self/setgroups", "deny", 4);
    if (r == 0)
        r = write_file("/proc/self/uid_map", s->uid_map, s->uid_len);
    if (r == 0)
        r = write_file("/proc/self/gid_map", s->gid_map, s->gid_len);
    s->mapped = r == 0;
    return r == -EACCES ? 0 : r;
}

/* The child. Descriptors first: lift everything out of the way, then place; then close all that the host has open, known or not. */
static BARE int child(void *p)
{
    struct interp__local_spawn *s = p;
    static const unsigned char caps[] = { 0 /* CHOWN */, 5 /* KILL */, 6 /* SETGID */, 7 /* SETUID */, 8 /* SETPCAP */, 12 /* NET_ADMIN */,
                                          21 /* SYS_ADMIN */, 24 /* SYS_RESOURCE */ };
    static char *const argv[] = { (char *)(uintptr_t)"agent", (char *)(uintptr_t)"local", 0 };
    static char *const envp[] = { 0 };
    struct cap_header header = { 0x20080522, 0 };
    struct cap_data data[2];
    long r;
    unsigned i;
    int at = 3 + (int)s->nfds, agent;
    for (i = 0; i < s->nfds; i++) {
        r = raw(SYS_fcntl, s->fd[i], F_DUPFD_CLOEXEC, at + 1, 0, 0);
        if (r < 0)
            return child_failed(s, LOCAL_STEP_FDS, r);
        s->fd[i] = (int)r;
    }
    r = raw(SYS_fcntl, s->agent, F_DUPFD_CLOEXEC, at + 1, 0, 0);
    if (r < 0)
        return child_failed(s, LOCAL_STEP_FDS, r);
    agent = (int)r;
    for (i = 0; i < s->nfds; i++) {
        r = raw(SYS_dup3, s->fd[i], 3 + (int)i, 0, 0, 0);
        if (r < 0)
            return child_failed(s, LOCAL_STEP_FDS, r);
    }
    r = raw(SYS_dup3, agent, at, O_CLOEXEC, 0, 0);
    if (r < 0)
        return child_failed(s, LOCAL_STEP_FDS, r);
    r = raw(SYS_close_range, at + 1, (long)0xffffffffu, 0, 0, 0);
    if (r < 0)
        return child_failed(s, LOCAL_STEP_FDS, r);
    if (s->uid_map[0]) {
        r = own_maps(s);
        if (r < 0)
            return child_failed(s, LOCAL_STEP_MAPS, r);
    }
    if (s->bare) {             /* whoever has rights keeps them over an exec as root; whoever has none needs none */
        r = raw(SYS_execveat, at, (long)"", (long)argv, (long)envp, AT_EMPTY_PATH);
        return child_failed(s, LOCAL_STEP_EXEC, r);
    }
    /* The exec of an id that is not 0 inside, or not mapped yet, would drop all capabilities: carry those that the set-up needs as
       ambient ones. */
    r = raw(SYS_capget, (long)&header, (long)data, 0, 0, 0);
    if (r < 0)
        return child_failed(s, LOCAL_STEP_CAPS, r);
    data[0].inheritable = 0;
    data[1].inheritable = 0;
    for (i = 0; i < sizeof caps; i++)
        data[0].inheritable |= 1u << caps[i];
    r = raw(SYS_capset, (long)&header, (long)data, 0, 0, 0);
    if (r < 0)
        return child_failed(s, LOCAL_STEP_CAPS, r);
    for (i = 0; i < sizeof caps; i++) {
        r = raw(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, caps[i], 0, 0);
        if (r < 0)
            return child_failed(s, LOCAL_STEP_CAPS, r);
    }
    r = raw(SYS_execveat, at, (long)"", (long)argv, (long)envp, AT_EMPTY_PATH);
    return child_failed(s, LOCAL_STEP_EXEC, r);
}

int interp__local_spawn(struct interp__local_spawn *s)
{
    unsigned char stack[STACK] __attribute__((aligned(16)));   /* the calling thread sleeps until the exec, so its stack can lend it */
    uint64_t all = ~UINT64_C(0), old = 0;
    int pidfd = -1;
    struct args a = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = sizeof stack
    };
    long pid;
    s->uid_len = (int)strlen(s->uid_map);   /* the child must not call libc, not even strlen */
    s->gid_len = (int)strlen(s->gid_map);
    if (s->bare)
        a.flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD;
    if (s->cgroup >= 0) {
        a.flags |= INTO_CGROUP;
        a.cgroup = (uint64_t)s->cgroup;
    }
    s->err = 0;
    s->step = LOCAL_STEP_CLONE;
    raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof all, 0);
    pid = clone_call(&a, child, s);
    if (pid == -ENOSYS && s->bare)
        pid = clone_old(a.flags, stack + sizeof stack, &pidfd, child, s);
    raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof old, 0);
    if (pid < 0) {
        s->err = (int)-pid;
        return -1;
    }
    s->pid = (pid_t)pid;
    s->pidfd = pidfd;
    return s->err ? -1 : 0;
}

/* Lives until it is killed, or its host is, and is there for its namespace only. */
static BARE int idle(void *p)
{
    int64_t wait[2] = { 10, 0 };
    (void)p;
    raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    raw(SYS_ppoll, 0, 0, (long)wait, 0, 0);   /* a host that was killed before that line is not waited for */
    return 0;
}

static int write_maps(long pid, const char *uid_map, const char *gid_map)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/uid_map", pid);
    if (interp__local_write(AT_FDCWD, path, uid_map) < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%ld/gid_map", pid);
    return interp__local_write(AT_FDCWD, path, gid_map);
}

/* A namespace can only be had through a process in it. This one runs beside the caller on memory that is the caller's, and touches none of it but its stack. */
int interp__local_userns(const char *uid_map, const char *gid_map)
{
    uint64_t all = ~UINT64_C(0), old = 0;
    char path[64];
    siginfo_t info;
    int pidfd = -1, fd = -1, e;
    void *stack = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    struct args a = { .flags = CLONE_VM | CLONE_PIDFD | CLONE_NEWUSER, .pidfd = (uint64_t)(uintptr_t)&pidfd, .stack_size = STACK };
    long pid;
    if (stack == MAP_FAILED)
        return -1;
    a.stack = (uint64_t)(uintptr_t)stack;
    raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof all, 0);   /* inherited: no handler of the host's runs there */
    pid = clone_call(&a, idle, 0);
    raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof old, 0);
    if (pid > 0) {
        if (write_maps(pid, uid_map, gid_map) == 0) {
            snprintf(path, sizeof path, "/proc/%ld/ns/user", pid);
            fd = open(path, O_RDONLY | O_CLOEXEC);
        }
        e = errno;
        (void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, 0, 0);
        while (waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
            ;
        close(pidfd);
    } else
        e = (int)-pid;
    munmap(stack, STACK);
    errno = e;
    return fd;
}

/* Sealed, so that nothing that runs as /proc/self/exe can rewrite what the next sandbox starts (CVE-2019-5736). */
int interp__local_image(const void *data, size_t len)
{
    size_t at = 0;
    int e, seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int fd = memfd_create("interp-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (fd < 0 && errno == EINVAL)     /* before 6.3 */
        fd = memfd_create("interp-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    while (at < len) {
        ssize_t n = write(fd, (const char *)data + at, len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            goto fail;
        at += (size_t)n;
    }
    if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_EXEC) < 0 && (errno != EINVAL || fcntl(fd, F_ADD_SEALS, seals) < 0))
        goto fail;
    return fd;
fail:
    e = errno;
    close(fd);
    errno = e;
    return -1;
}
