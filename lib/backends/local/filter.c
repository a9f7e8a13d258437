/* filter.c - the seccomp filters, made by libseccomp as BPF bytes; the agent installs them and needs no libseccomp.

   Two programs: an allow-list (default ENOSYS: libc falls back; EPERM for clone3 or faccessat2 breaks programs), and a second one that refuses by
   argument. They can't be one: an unconditional ALLOW of a call silently swallows every conditional refusal of it in the same libseccomp filter
   (measured, 2.5.4). Stacked filters give the strictest answer. Arguments that the kernel takes as 32 bits are compared as such, or the upper half
   of the register gets round the rule (CVE-2019-7303, CVE-2019-10063). A call that this libseccomp or architecture does not know stays refused. */
#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "local_priv.h"

#define LOW UINT64_C(0xffffffff)

/* Docker's list without what opens kernel surface that interpreters and compilers do not need: ptrace, process_vm_*, keys, io_uring, aio, userfaultfd,
   bpf, perf, fanotify, handles, mounts, namespaces, vmsplice, tee, capset, clocks, memory policy. One text, a NUL after each name: pointers would take
   more room than the names. */
static const char allowed[] =
    "accept\0" "accept4\0" "access\0" "alarm\0" "arch_prctl\0" "bind\0" "brk\0" "cachestat\0" "capget\0" "chdir\0" "chmod\0" "chown\0" "clock_getres\0" "clock_gettime\0"
    "clock_nanosleep\0" "close\0" "close_range\0" "connect\0" "copy_file_range\0" "creat\0" "dup\0" "dup2\0" "dup3\0" "epoll_create\0" "epoll_create1\0" "epoll_ctl\0"
    "epoll_pwait\0" "epoll_pwait2\0" "epoll_wait\0" "eventfd\0" "eventfd2\0" "execve\0" "execveat\0" "exit\0" "exit_group\0" "faccessat\0" "faccessat2\0" "fadvise64\0"
    "fallocate\0" "fchdir\0" "fchmod\0" "fchmodat\0" "fchmodat2\0" "fchown\0" "fchownat\0" "fcntl\0" "fdatasync\0" "fgetxattr\0" "flistxattr\0" "flock\0" "fork\0"
    "fremovexattr\0" "fsetxattr\0" "fstat\0" "fstatfs\0" "fsync\0" "ftruncate\0" "futex\0" "futex_requeue\0" "futex_wait\0" "futex_waitv\0" "futex_wake\0" "futimesat\0"
    "get_robust_list\0" "getcpu\0" "getcwd\0" "getdents\0" "getdents64\0" "getegid\0" "geteuid\0" "getgid\0" "getgroups\0" "getitimer\0" "getpeername\0" "getpgid\0" "getpgrp\0"
    "getpid\0" "getppid\0" "getpriority\0" "getrandom\0" "getresgid\0" "getresuid\0" "getrlimit\0" "getrusage\0" "getsid\0" "getsockname\0" "getsockopt\0" "gettid\0"
    "gettimeofday\0" "getuid\0" "getxattr\0" "inotify_add_watch\0" "inotify_init\0" "inotify_init1\0" "inotify_rm_watch\0" "ioctl\0" "ioprio_get\0" "kill\0" "landlock_add_rule\0"
    "landlock_create_ruleset\0" "landlock_restrict_self\0" "lchown\0" "lgetxattr\0" "link\0" "linkat\0" "listen\0" "listxattr\0" "llistxattr\0" "lremovexattr\0" "lseek\0"
    "lsetxattr\0" "lstat\0" "madvise\0" "membarrier\0" "memfd_create\0" "mincore\0" "mkdir\0" "mkdirat\0" "mknod\0" "mknodat\0" "mlock\0" "mlock2\0" "mlockall\0" "mmap\0"
    "mprotect\0" "mq_getsetattr\0" "mq_notify\0" "mq_open\0" "mq_timedreceive\0" "mq_timedsend\0" "mq_unlink\0" "mremap\0" "mseal\0" "msync\0" "munlock\0" "munlockall\0"
    "munmap\0" "nanosleep\0" "newfstatat\0" "open\0" "openat\0" "openat2\0" "pause\0" "pidfd_open\0" "pidfd_send_signal\0" "pipe\0" "pipe2\0" "pkey_alloc\0" "pkey_free\0"
    "pkey_mprotect\0" "poll\0" "ppoll\0" "pread64\0" "preadv\0" "preadv2\0" "pselect6\0" "pwrite64\0" "pwritev\0" "pwritev2\0" "read\0" "readahead\0" "readlink\0" "readlinkat\0"
    "readv\0" "recvfrom\0" "recvmmsg\0" "recvmsg\0" "removexattr\0" "rename\0" "renameat\0" "renameat2\0" "restart_syscall\0" "rmdir\0" "rseq\0" "rt_sigaction\0"
    "rt_sigpending\0" "rt_sigprocmask\0" "rt_sigqueueinfo\0" "rt_sigreturn\0" "rt_sigsuspend\0" "rt_sigtimedwait\0" "rt_tgsigqueueinfo\0" "sched_get_priority_max\0"
    "sched_get_priority_min\0" "sched_getaffinity\0" "sched_getattr\0" "sched_getparam\0" "sched_getscheduler\0" "sched_rr_get_interval\0" "sched_setparam\0"
    "sched_setscheduler\0" "sched_yield\0" "seccomp\0" "select\0" "sendfile\0" "sendmmsg\0" "sendmsg\0" "sendto\0" "set_robust_list\0" "set_tid_address\0" "setfsgid\0"
    "setfsuid\0" "setgid\0" "setgroups\0" "setitimer\0" "setpgid\0" "setpriority\0" "setregid\0" "setresgid\0" "setresuid\0" "setreuid\0" "setrlimit\0" "setsid\0" "setsockopt\0"
    "setuid\0" "setxattr\0" "shmat\0" "shmctl\0" "shmdt\0" "shutdown\0" "sigaltstack\0" "signalfd\0" "signalfd4\0" "splice\0" "stat\0" "statfs\0" "statx\0" "symlink\0"
    "symlinkat\0" "sync\0" "sync_file_range\0" "syncfs\0" "sysinfo\0" "tgkill\0" "time\0" "timer_create\0" "timer_delete\0" "timer_getoverrun\0" "timer_gettime\0"
    "timer_settime\0" "timerfd_create\0" "timerfd_gettime\0" "timerfd_settime\0" "times\0" "tkill\0" "truncate\0" "umask\0" "uname\0" "unlink\0" "unlinkat\0" "utime\0"
    "utimensat\0" "utimes\0" "vfork\0" "wait4\0" "waitid\0" "write\0" "writev\0";
/* With one id the kernel's limits on these are shared with the embedder's user, and not ours to set. */
static const char two_ids_only[] = "msgctl\0" "msgget\0" "msgrcv\0" "msgsnd\0" "semctl\0" "semget\0" "semop\0" "semtimedop\0" "shmget\0";

/* prctl by list: it grows with each kernel (PR_FUTEX_HASH: 64 MB of kernel memory by one call). What needs a capability answers EPERM by itself. */
static const uint32_t prctl_options[] = {
    1, 2,                    /* PDEATHSIG */
    3, 4,                    /* DUMPABLE */
    7, 8,                    /* KEEPCAPS */
    13, 15, 16,              /* GET_TIMING, NAME */
    21, 22, 23, 24,          /* SECCOMP (no flags here), CAPBSET */
    25, 27, 28, 29, 30,      /* GET_TSC, SECUREBITS, TIMERSLACK */
    33, 34, 36, 37, 38, 39,  /* MCE_KILL, CHILD_SUBREAPER, NO_NEW_PRIVS */
    40, 41, 42, 47,          /* TID_ADDRESS, THP_DISABLE, CAP_AMBIENT */
    50, 51, 52, 53, 54,      /* SVE_VL, SPECULATION_CTRL, PAC_RESET_KEYS */
    55, 56, 60, 61, 63, 64,  /* TAGGED_ADDR_CTRL, PAC_ENABLED_KEYS, SME_VL */
    65, 66,                  /* MDWE */
    0x53564d41, 0x59616d61   /* SET_VMA, SET_PTRACER */
};

struct rule { const char *call; int err; unsigned n; struct { unsigned arg; uint64_t mask, value; } a[2]; };

/* Allowed with these arguments only. */
static const struct rule conditional[] = {
    { "clone", 0, 1, { { 0, 0x7E028000, 0 } } },         /* no namespace, no CLONE_PARENT; clone3 stays ENOSYS: its flags lie in memory */
    { "socket", 0, 1, { { 0, LOW, AF_UNIX } } },
    { "socket", 0, 2, { { 0, LOW, AF_INET }, { 2, LOW, 0 } } },
    { "socket", 0, 2, { { 0, LOW, AF_INET }, { 2, LOW, 6 } } },
    { "socket", 0, 2, { { 0, LOW, AF_INET }, { 2, LOW, 17 } } },
    { "socket", 0, 2, { { 0, LOW, AF_INET6 }, { 2, LOW, 0 } } },
    { "socket", 0, 2, { { 0, LOW, AF_INET6 }, { 2, LOW, 6 } } },
    { "socket", 0, 2, { { 0, LOW, AF_INET6 }, { 2, LOW, 17 } } },
    { "socket", 0, 2, { { 0, LOW, AF_NETLINK }, { 2, LOW, 0 } } },   /* NETLINK_ROUTE: getifaddrs */
    { "socketpair", 0, 1, { { 0, LOW, AF_UNIX } } },
    { "prlimit64", 0, 1, { { 0, LOW, 0 } } },            /* own limits only: with one id, prlimit64(1, ...) would starve the agent */
    { "personality", 0, 1, { { 0, LOW, 0 } } },
    { "personality", 0, 1, { { 0, LOW, 8 } } },
    { "personality", 0, 1, { { 0, LOW, 0x20000 } } },
    { "personality", 0, 1, { { 0, LOW, 0x20008 } } },
    { "personality", 0, 1, { { 0, LOW, 0xffffffff } } }
};

/* Refused with these arguments. */
static const struct rule refused[] = {
    { "ioctl", EPERM, 1, { { 1, LOW, 0x5412 } } },       /* TIOCSTI */
    { "ioctl", EPERM, 1, { { 1, LOW, 0x541C } } },       /* TIOCLINUX */
    { "ioctl", EPERM, 1, { { 1, LOW, 0x5423 } } },       /* TIOCSETD */
    { "ioctl", EPERM, 1, { { 1, LOW, 0xC020660B } } },   /* FS_IOC_FIEMAP: where on the host's disk */
    { "ioctl", EPERM, 1, { { 1, LOW, 0x80111500 } } },   /* FS_IOC_GETFSUUID */
    { "ioctl", ENOTTY, 1, { { 1, 0xff00, 0x9400 } } },   /* btrfs (and reflinks): a snapshot shows the whole of what a mounted directory is a part of */
    { "ioctl", ENOTTY, 1, { { 1, 0xff00, 0xbc00 } } },   /* bcachefs: the same */
    { "ioctl", EPERM, 1, { { 1, LOW, 0x40806685 } } },   /* FS_IOC_ENABLE_VERITY: makes a file unchangeable for good, by a descriptor for reading */
    { "ioctl", EPERM, 1, { { 1, LOW, 0x800c6613 } } },   /* FS_IOC_SET_ENCRYPTION_POLICY: the same for an empty directory */
    { "setrlimit", EPERM, 1, { { 0, LOW, 4 } } },        /* RLIMIT_CORE: lowered from 1 to 0, a host's piped core handler would run (lock.c) */
    { "prlimit64", EPERM, 2, { { 1, LOW, 4 }, { 2, 0, 1 } } },   /* ... but reading it is fine: mask 0 stands for "is not 0" */
    { "sync", 0, 0, { { 0, 0, 0 } } },                   /* answer 0, do nothing: they would make the host write its disks */
    { "syncfs", 0, 0, { { 0, 0, 0 } } },
    { "fcntl", EINVAL, 1, { { 1, LOW, 1024 } } },        /* F_SETLEASE */
    { "fcntl", EINVAL, 1, { { 1, LOW, 1026 } } },        /* F_NOTIFY */
    { "seccomp", EINVAL, 1, { { 1, 8, 8 } } },           /* NEW_LISTENER */
    { "seccomp", EINVAL, 1, { { 1, 2, 2 } } },           /* LOG: into the host's audit log */
    { "sendto", EOPNOTSUPP, 1, { { 3, 1, 1 } } },        /* MSG_OOB (CVE-2025-38236) */
    { "sendmsg", EOPNOTSUPP, 1, { { 2, 1, 1 } } },
    { "sendmmsg", EOPNOTSUPP, 1, { { 3, 1, 1 } } },
    { "setsockopt", EPERM, 2, { { 1, LOW, 6 }, { 2, LOW, 31 } } },   /* TCP_ULP */
    { "setsockopt", EPERM, 2, { { 1, LOW, 1 }, { 2, LOW, 26 } } },   /* SO_ATTACH_FILTER */
    { "setsockopt", EPERM, 2, { { 1, LOW, 1 }, { 2, LOW, 50 } } },   /* SO_ATTACH_BPF */
    { "setsockopt", EPERM, 2, { { 1, LOW, 1 }, { 2, LOW, 51 } } },   /* SO_ATTACH_REUSEPORT_CBPF */
    { "setsockopt", EPERM, 2, { { 1, LOW, 1 }, { 2, LOW, 52 } } },   /* SO_ATTACH_REUSEPORT_EBPF */
    { "mmap", EINVAL, 1, { { 3, 0x40000, 0x40000 } } },  /* huge pages: another counter than memory */
    { "memfd_create", EINVAL, 1, { { 1, 4, 4 } } },
    { "shmget", EINVAL, 1, { { 2, 04000, 04000 } } }
};

/* Refused where files of the host can be written: what is made there outlives the sandbox, and the host's own users might run it. openat2 has its mode in
   memory, where a filter can't look. Flags: CREAT, TMPFILE. */
static const struct rule refused_shared[] = {
    { "chmod", EPERM, 1, { { 1, 04000, 04000 } } }, { "chmod", EPERM, 1, { { 1, 02000, 02000 } } },
    { "fchmod", EPERM, 1, { { 1, 04000, 04000 } } }, { "fchmod", EPERM, 1, { { 1, 02000, 02000 } } },
    { "fchmodat", EPERM, 1, { { 2, 04000, 04000 } } }, { "fchmodat", EPERM, 1, { { 2, 02000, 02000 } } },
    { "fchmodat2", EPERM, 1, { { 2, 04000, 04000 } } }, { "fchmodat2", EPERM, 1, { { 2, 02000, 02000 } } },
    { "creat", EPERM, 1, { { 1, 04000, 04000 } } }, { "creat", EPERM, 1, { { 1, 02000, 02000 } } },
    { "mknod", EPERM, 1, { { 1, 04000, 04000 } } }, { "mknod", EPERM, 1, { { 1, 02000, 02000 } } },
    { "mknodat", EPERM, 1, { { 2, 04000, 04000 } } }, { "mknodat", EPERM, 1, { { 2, 02000, 02000 } } },
    { "open", EPERM, 2, { { 1, 0100, 0100 }, { 2, 04000, 04000 } } }, { "open", EPERM, 2, { { 1, 0100, 0100 }, { 2, 02000, 02000 } } },
    { "open", EPERM, 2, { { 1, 020000000, 020000000 }, { 2, 04000, 04000 } } }, { "open", EPERM, 2, { { 1, 020000000, 020000000 }, { 2, 02000, 02000 } } },
    { "openat", EPERM, 2, { { 2, 0100, 0100 }, { 3, 04000, 04000 } } }, { "openat", EPERM, 2, { { 2, 0100, 0100 }, { 3, 02000, 02000 } } },
    { "openat", EPERM, 2, { { 2, 020000000, 020000000 }, { 3, 04000, 04000 } } }, { "openat", EPERM, 2, { { 2, 020000000, 020000000 }, { 3, 02000, 02000 } } },
    { "openat2", ENOSYS, 0, { { 0, 0, 0 } } },
    { "ioctl", EPERM, 1, { { 1, LOW, 0x40086602 } } },   /* FS_IOC_SETFLAGS: immutable, append-only */
    { "ioctl", EPERM, 1, { { 1, LOW, 0x401c5820 } } }    /* FS_IOC_FSSETXATTR: project ids of quotas */
};

/* Without namespaces: what reaches others. Sockets, since a path or a name leads to other programs' and Landlock does not look at connect (of a pair, datagrams can be sent
   to any path; type RAW is the same); SysV and POSIX queues, which
   one namespace of the whole machine has; watches, which tell of files that can't be read; what changes how other processes of this id run. */
static const struct rule refused_bare[] = {
    { "socket", EACCES, 0, { { 0, 0, 0 } } }, { "socketpair", EACCES, 1, { { 1, 15, SOCK_DGRAM } } }, { "socketpair", EACCES, 1, { { 1, 15, SOCK_RAW } } }, { "inotify_init", EPERM, 0, { { 0, 0, 0 } } }, { "inotify_init1", EPERM, 0, { { 0, 0, 0 } } },
    { "mq_open", ENOSYS, 0, { { 0, 0, 0 } } }, { "mq_unlink", ENOSYS, 0, { { 0, 0, 0 } } }, { "shmat", ENOSYS, 0, { { 0, 0, 0 } } }, { "shmctl", ENOSYS, 0, { { 0, 0, 0 } } },
    { "setpriority", EPERM, 1, { { 1, 0, 1 } } }, { "setpriority", EPERM, 1, { { 0, LOW, 2 } } }, { "sched_setscheduler", EPERM, 1, { { 0, 0, 1 } } },
    { "sched_setparam", EPERM, 1, { { 0, 0, 1 } } }, { "sched_setaffinity", EPERM, 1, { { 0, 0, 1 } } },
    { "ioctl", EPERM, 1, { { 1, LOW, 0x40086602 } } }, { "ioctl", EPERM, 1, { { 1, LOW, 0x401c5820 } } }
};
/* With the host's own id the files of its user are user code's to change, and Landlock does not look at these. They answer 0 and do nothing: nearly every copy sets a mode. */
static const char *const kept[] = { "chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "futimesat", "lchown", "utime", "utimensat", "utimes", 0 };
static const char *const kept_attributes[] = { "fremovexattr", "fsetxattr", "lremovexattr", "lsetxattr", "removexattr", "setxattr", 0 };

static int add_rule(scmp_filter_ctx c, uint32_t action, const struct rule *r)
{
    struct scmp_arg_cmp cmp[2];
    unsigned i;
    int nr = seccomp_syscall_resolve_name(r->call);
    if (nr < 0)
        return 0;
    for (i = 0; i < r->n; i++) {
        if (r->a[i].mask == 0)
            cmp[i] = (struct scmp_arg_cmp){ r->a[i].arg, SCMP_CMP_NE, 0, 0 };
        else
            cmp[i] = (struct scmp_arg_cmp){ r->a[i].arg, SCMP_CMP_MASKED_EQ, r->a[i].mask, r->a[i].value };
    }
    return seccomp_rule_add_array(c, action, nr, r->n, r->n ? cmp : 0);
}

static int add_names(scmp_filter_ctx c, const char *names, const char **rule)
{
    int r, nr;
    for (; *names; names += strlen(names) + 1) {
        nr = seccomp_syscall_resolve_name(names);
        if (nr < 0)
            continue;
        *rule = names;
        if ((r = seccomp_rule_add_array(c, SCMP_ACT_ALLOW, nr, 0, 0)) < 0)
            return r;
    }
    return 0;
}

static int fill_allow(scmp_filter_ctx c, unsigned variant, const char **rule)
{
    unsigned i;
    int r = add_names(c, allowed, rule);
    if (r == 0 && !(variant & LOCAL_FILTER_ONE_ID))
        r = add_names(c, two_ids_only, rule);
    if (r == 0 && !(variant & LOCAL_FILTER_PINNED)) {
        r = add_names(c, "sched_setaffinity\0", rule);
    }
    for (i = 0; r == 0 && i < sizeof conditional / sizeof *conditional; i++) {
        *rule = conditional[i].call;
        r = add_rule(c, SCMP_ACT_ALLOW, &conditional[i]);
    }
    for (i = 0; r == 0 && i < sizeof prctl_options / sizeof *prctl_options; i++) {
        struct rule one = { "prctl", 0, 1, { { 0, LOW, prctl_options[i] } } };
        *rule = one.call;
        r = add_rule(c, SCMP_ACT_ALLOW, &one);
    }
    return r;
}

static int fill_refuse(scmp_filter_ctx c, unsigned variant, const char **rule)
{
    unsigned i;
    int r = 0;
    for (i = 0; r == 0 && i < sizeof refused / sizeof *refused; i++) {
        *rule = refused[i].call;
        r = add_rule(c, SCMP_ACT_ERRNO((uint32_t)refused[i].err), &refused[i]);
    }
    for (i = 0; r == 0 && (variant & LOCAL_FILTER_BARE) && i < sizeof refused_bare / sizeof *refused_bare; i++) {
        *rule = refused_bare[i].call;
        r = add_rule(c, SCMP_ACT_ERRNO((uint32_t)refused_bare[i].err), &refused_bare[i]);
    }
    for (i = 0; r == 0 && (variant & LOCAL_FILTER_KEEP) && kept[i]; i++) {
        struct rule one = { kept[i], 0, 0, { { 0, 0, 0 } } };
        *rule = one.call;
        r = add_rule(c, SCMP_ACT_ERRNO(0), &one);
    }
    for (i = 0; r == 0 && (variant & LOCAL_FILTER_KEEP) && kept_attributes[i]; i++) {
        struct rule one = { kept_attributes[i], EPERM, 0, { { 0, 0, 0 } } };
        *rule = one.call;
        r = add_rule(c, SCMP_ACT_ERRNO(EPERM), &one);
    }
    for (i = 0; r == 0 && (variant & LOCAL_FILTER_SHARED) && i < sizeof refused_shared / sizeof *refused_shared; i++) {
        *rule = refused_shared[i].call;
        if ((variant & LOCAL_FILTER_KEEP) && strstr(refused_shared[i].call, "chmod"))
            continue;
        if ((variant & LOCAL_FILTER_BARE) && !strcmp(refused_shared[i].call, "ioctl"))
            continue;          /* there already */
        r = add_rule(c, SCMP_ACT_ERRNO((uint32_t)refused_shared[i].err), &refused_shared[i]);
    }
    return r;
}

/* libseccomp writes to a descriptor (to memory only since 2.6). */
static int export(scmp_filter_ctx c, struct boot_filter *code, uint32_t cap, uint32_t *n)
{
    int r = -1, fd = memfd_create("interp-filter", MFD_CLOEXEC);
    off_t size;
    if (fd < 0)
        return -errno;
    if ((r = seccomp_export_bpf(c, fd)) == 0) {
        size = lseek(fd, 0, SEEK_END);
        if (size <= 0 || (uint64_t)size > (uint64_t)cap * sizeof *code || pread(fd, code, (size_t)size, 0) != (ssize_t)size)
            r = -EFBIG;
        else
            *n = (uint32_t)((size_t)size / sizeof *code);
    }
    close(fd);
    return r;
}

static int build(int allow, struct boot_filter *code, uint32_t cap, unsigned variant, uint32_t *n, const char **rule)
{
    int r;
    scmp_filter_ctx c = seccomp_init(allow ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW);
    if (!c)
        return -ENOMEM;
    *rule = "attributes";
    (void)seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2);   /* a binary tree; 2.4 does not have it, and is only slower */
    r = seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r == 0)
        r = allow ? fill_allow(c, variant, rule) : fill_refuse(c, variant, rule);
    if (r == 0) {
        *rule = "export";
        r = export(c, code, cap, n);
    }
    seccomp_release(c);
    return r;
}

int interp__local_filter_build(struct boot_filter *code, uint32_t cap, unsigned variant, uint32_t *nallow, uint32_t *ndeny, const char **rule)
{
    int r = build(1, code, cap, variant, nallow, rule);
    if (r == 0)
        r = build(0, code + *nallow, cap - *nallow, variant, ndeny, rule);
    if (r < 0) {
        errno = -r;
        return -1;
    }
    return 0;
}
