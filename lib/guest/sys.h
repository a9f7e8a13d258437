/* sys.h - the kernel's interface without a libc: call numbers, structures, one inline stub per call. x86-64 and aarch64. */
#ifndef INTERP_LIB_GUEST_SYS_H
#define INTERP_LIB_GUEST_SYS_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* ---- calls that both architectures number alike (everything newer than 2019) */
enum {
    NR_pidfd_send_signal = 424, NR_open_tree = 428, NR_move_mount = 429, NR_fsopen = 430, NR_fsconfig = 431, NR_fsmount = 432, NR_pidfd_open = 434,
    NR_clone3 = 435, NR_close_range = 436, NR_openat2 = 437, NR_faccessat2 = 439, NR_mount_setattr = 442, NR_landlock_create_ruleset = 444,
    NR_landlock_add_rule = 445, NR_landlock_restrict_self = 446
};

#if defined(__x86_64__)
enum {
    NR_read = 0, NR_write = 1, NR_close = 3, NR_lseek = 8, NR_mmap = 9, NR_mprotect = 10, NR_munmap = 11, NR_rt_sigaction = 13, NR_rt_sigprocmask = 14,
    NR_ioctl = 16, NR_pread64 = 17, NR_pwrite64 = 18, NR_writev = 20, NR_madvise = 28, NR_nanosleep = 35, NR_getpid = 39,
    NR_socket = 41, NR_sendmsg = 46, NR_recvmsg = 47, NR_socketpair = 53, NR_clone = 56, NR_execve = 59, NR_exit = 60, NR_wait4 = 61, NR_kill = 62,
    NR_fcntl = 72, NR_fchdir = 81, NR_chdir = 80, NR_umask = 95, NR_sysinfo = 99, NR_getuid = 102, NR_getgid = 104, NR_geteuid = 107, NR_getegid = 108, NR_setsid = 112,
    NR_setgroups = 116, NR_setresuid = 117, NR_setresgid = 119, NR_setfsuid = 122, NR_setfsgid = 123, NR_capget = 125, NR_capset = 126,
    NR_fstatfs = 138, NR_prctl = 157, NR_pivot_root = 155, NR_mount = 165, NR_umount2 = 166, NR_sethostname = 170, NR_gettid = 186,
    NR_getdents64 = 217, NR_clock_gettime = 228, NR_exit_group = 231, NR_keyctl = 250, NR_epoll_ctl = 233, NR_openat = 257, NR_mkdirat = 258, NR_mknodat = 259, NR_unlinkat = 263,
    NR_symlinkat = 266, NR_readlinkat = 267, NR_fchmodat = 268, NR_faccessat = 269, NR_ppoll = 271, NR_unshare = 272, NR_epoll_pwait = 281, NR_signalfd4 = 289,
    NR_epoll_create1 = 291, NR_dup3 = 292, NR_pipe2 = 293, NR_prlimit64 = 302, NR_seccomp = 317, NR_getrandom = 318, NR_memfd_create = 319, NR_statx = 332
};
#define SYS_ARCH 1u
#define AUDIT_ARCH_SELF 0xC000003Eu
static inline long sc6(long n, long a, long b, long c, long d, long e, long f)
{
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return r;
}
#elif defined(__aarch64__)
enum {
    NR_epoll_create1 = 20, NR_epoll_ctl = 21, NR_epoll_pwait = 22, NR_dup3 = 24, NR_fcntl = 25, NR_ioctl = 29, NR_mknodat = 33, NR_mkdirat = 34, NR_unlinkat = 35,
    NR_symlinkat = 36, NR_umount2 = 39, NR_mount = 40, NR_pivot_root = 41, NR_fstatfs = 44, NR_faccessat = 48, NR_chdir = 49, NR_fchdir = 50, NR_fchmodat = 53,
    NR_openat = 56, NR_close = 57, NR_pipe2 = 59, NR_getdents64 = 61, NR_lseek = 62, NR_read = 63, NR_write = 64, NR_writev = 66, NR_pread64 = 67, NR_pwrite64 = 68,
    NR_ppoll = 73, NR_signalfd4 = 74, NR_readlinkat = 78, NR_capget = 90, NR_capset = 91, NR_exit = 93, NR_exit_group = 94, NR_unshare = 97,
    NR_nanosleep = 101, NR_clock_gettime = 113, NR_kill = 129, NR_rt_sigaction = 134, NR_rt_sigprocmask = 135, NR_setresuid = 147, NR_setresgid = 149,
    NR_setfsuid = 151, NR_setfsgid = 152, NR_setsid = 157, NR_setgroups = 159, NR_sethostname = 161, NR_umask = 166, NR_prctl = 167, NR_getpid = 172, NR_getuid = 174,
    NR_geteuid = 175, NR_getgid = 176, NR_getegid = 177, NR_gettid = 178, NR_sysinfo = 179, NR_socket = 198, NR_socketpair = 199, NR_sendmsg = 211, NR_recvmsg = 212, NR_munmap = 215,
    NR_keyctl = 219, NR_clone = 220, NR_execve = 221, NR_mmap = 222, NR_mprotect = 226, NR_madvise = 233, NR_wait4 = 260, NR_prlimit64 = 261, NR_seccomp = 277, NR_getrandom = 278,
    NR_memfd_create = 279, NR_statx = 291
};
#define SYS_ARCH 2u
#define AUDIT_ARCH_SELF 0xC00000B7u
static inline long sc6(long n, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
}
#else
#error "unsupported architecture"
#endif
#define sc5(n, a, b, c, d, e) sc6(n, a, b, c, d, e, 0)
#define sc4(n, a, b, c, d)    sc6(n, a, b, c, d, 0, 0)
#define sc3(n, a, b, c)       sc6(n, a, b, c, 0, 0, 0)
#define sc2(n, a, b)          sc6(n, a, b, 0, 0, 0, 0)
#define sc1(n, a)             sc6(n, a, 0, 0, 0, 0, 0)
#define sc0(n)                sc6(n, 0, 0, 0, 0, 0, 0)

/* ---- errors (results are negative) */
enum {
    E_PERM = 1, E_NOENT = 2, E_SRCH = 3, E_INTR = 4, E_IO = 5, E_2BIG = 7, E_NOEXEC = 8, E_BADF = 9, E_CHILD = 10, E_AGAIN = 11, E_NOMEM = 12, E_CONNRESET = 104, E_ACCES = 13,
    E_BUSY = 16, E_EXIST = 17, E_XDEV = 18, E_NODEV = 19, E_NOTDIR = 20, E_ISDIR = 21, E_FBIG = 27, E_INVAL = 22, E_NOSPC = 28, E_ROFS = 30, E_PIPE = 32, E_RANGE = 34, E_NAMETOOLONG = 36, E_NOSYS = 38, E_NOTEMPTY = 39, E_LOOP = 40, E_CANCELED = 125,
    E_OPNOTSUPP = 95
};

/* ---- constants */
#define AT_FDCWD (-100)
enum { AT_SYMLINK_NOFOLLOW = 0x100, AT_EACCESS = 0x200, AT_REMOVEDIR = 0x200, AT_RECURSIVE = 0x8000, AT_EMPTY_PATH = 0x1000 };
enum { O_RDONLY = 0, O_WRONLY = 1, O_RDWR = 2, O_CREAT = 0100, O_EXCL = 0200, O_NOCTTY = 0400, O_TRUNC = 01000, O_APPEND = 02000, O_NONBLOCK = 04000, O_CLOEXEC = 02000000, O_PATH = 010000000 };
#if defined(__x86_64__)
enum { O_DIRECTORY = 0200000, O_NOFOLLOW = 0400000 };
#else
enum { O_DIRECTORY = 040000, O_NOFOLLOW = 0100000 };
#endif
enum { S_IFMT = 0170000, S_IFSOCK = 0140000, S_IFLNK = 0120000, S_IFREG = 0100000, S_IFBLK = 0060000, S_IFDIR = 0040000, S_IFCHR = 0020000, S_IFIFO = 0010000 };
enum { F_DUPFD = 0, F_GETFD = 1, F_SETFD = 2, F_GETFL = 3, F_SETFL = 4, F_DUPFD_CLOEXEC = 1030, F_ADD_SEALS = 1033 };
enum { MFD_CLOEXEC = 1, MFD_ALLOW_SEALING = 2, F_SEAL_ALL = 15 };
enum { SIGHUP = 1, SIGINT = 2, SIGKILL = 9, SIGPIPE = 13, SIGTERM = 15, SIGCHLD = 17, SIGSTOP = 19, SIGXFSZ = 25 };
enum { SIG_BLOCK = 0, SIG_SETMASK = 2 };
enum { WNOHANG = 1, W_ALL = 0x40000000 };
enum { CLOCK_MONOTONIC = 1, CLOCK_BOOTTIME = 7 };
enum { FIONREAD = 0x541B, TCGETS = 0x5401, TCSETS = 0x5402, TIOCSWINSZ = 0x5414, TIOCSPTLCK = 0x40045431 };
#define TIOCGPTN 0x80045430u
struct termios_k { uint32_t iflag, oflag, cflag, lflag; uint8_t line, cc[19]; };
struct sysinfo_k { uint64_t uptime, loads[3], ram, free_ram, shared, buffers, swap, free_swap, more[6]; };      /* more: what is not looked at */
struct winsize_k { uint16_t rows, columns, x, y; };
enum { IUTF8 = 040000, ICANON = 2, VEOF = 4 };
enum { AF_UNIX = 1, SOCK_STREAM = 1, SOCK_DGRAM = 2, SOCK_SEQPACKET = 5, SOCK_CLOEXEC = 02000000, SOCK_NONBLOCK = 04000, SOL_SOCKET = 1, SCM_RIGHTS = 1 };
enum { MSG_DONTWAIT = 0x40, MSG_NOSIGNAL = 0x4000, MSG_CMSG_CLOEXEC = 0x40000000, MSG_CTRUNC = 8, MSG_TRUNC = 0x20 };
enum { EPOLL_CTL_ADD = 1, EPOLL_CTL_DEL = 2, EPOLL_CTL_MOD = 3 };
#define EPOLLIN 1u
#define EPOLLOUT 4u
#define EPOLLERR 8u
#define EPOLLHUP 16u
#define EPOLLRDHUP 0x2000u
#define EPOLLET 0x80000000u
enum { POLLIN = 1, POLLOUT = 4, POLLHUP = 16 };
enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20, MADV_DONTNEED = 4, MADV_DONTFORK = 10 };
enum {
    PR_SET_PDEATHSIG = 1, PR_SET_DUMPABLE = 4, PR_SET_NAME = 15, PR_CAPBSET_READ = 23, PR_CAPBSET_DROP = 24, PR_SET_SECUREBITS = 28, PR_SET_CHILD_SUBREAPER = 36,
    PR_SET_NO_NEW_PRIVS = 38, PR_CAP_AMBIENT = 47, PR_CAP_AMBIENT_CLEAR_ALL = 4, PR_SET_MDWE = 65
};
enum {
    RLIMIT_CPU = 0, RLIMIT_FSIZE = 1, RLIMIT_STACK = 3, RLIMIT_CORE = 4, RLIMIT_NPROC = 6, RLIMIT_NOFILE = 7, RLIMIT_MEMLOCK = 8, RLIMIT_SIGPENDING = 11, RLIMIT_MSGQUEUE = 12,
    RLIMIT_RTPRIO = 14
};
#define RLIM_INFINITY UINT64_MAX
enum { CAP_KILL = 5, CAP_SETGID = 6, CAP_SETUID = 7 };
#define CLONE_INTO_CGROUP 0x200000000ull
#define NSEC 1000000000ull
#define MSEC 1000000ull

/* ---- structures */
struct timespec_k { int64_t sec, nsec; };
struct iovec_k { void *base; size_t len; };
struct msghdr_k { void *name; uint32_t namelen, pad0; struct iovec_k *iov; size_t iovlen; void *control; size_t controllen; uint32_t flags, pad1; };
struct cmsghdr_k { size_t len; int level, type; };
struct pollfd_k { int fd; int16_t events, revents; };
#if defined(__x86_64__)
struct epoll_event_k { uint32_t events; uint64_t data; } __attribute__((packed));
#else
struct epoll_event_k { uint32_t events, pad; uint64_t data; };
#endif
struct statx_k {
    uint32_t mask, blksize;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, pad0;
    uint64_t ino, size, blocks, attributes_mask;
    struct { int64_t sec; uint32_t nsec; int32_t pad; } atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
    uint64_t spare[14];
};
enum { ST_RDONLY = 1 };
struct statfs_k { int64_t type, bsize; uint64_t blocks, bfree, bavail, files, ffree; int32_t fsid[2]; int64_t namelen, frsize, flags, spare[4]; };
struct rusage_k { struct { int64_t sec, usec; } utime, stime; int64_t rest[14]; };
struct rlimit_k { uint64_t cur, max; };
struct sigaction_k { uintptr_t handler; uint64_t flags; uintptr_t restorer; uint64_t mask; };
struct capheader_k { uint32_t version; int32_t pid; };
struct capdata_k { uint32_t effective, permitted, inheritable; };
struct clone_args_k { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup; };
struct dirent_k { uint64_t ino; int64_t off; uint16_t reclen; uint8_t type; char name[]; };

/* ---- calls */
#define PTR(p) ((long)(uintptr_t)(p))
static inline long sys_read(int fd, void *p, size_t n) { return sc3(NR_read, fd, PTR(p), (long)n); }
static inline long sys_write(int fd, const void *p, size_t n) { return sc3(NR_write, fd, PTR(p), (long)n); }
static inline long sys_pread(int fd, void *p, size_t n, int64_t at) { return sc4(NR_pread64, fd, PTR(p), (long)n, (long)at); }
static inline long sys_pwrite(int fd, const void *p, size_t n, int64_t at) { return sc4(NR_pwrite64, fd, PTR(p), (long)n, (long)at); }
static inline long sys_writev(int fd, const struct iovec_k *v, int n) { return sc3(NR_writev, fd, PTR(v), n); }
static inline long sys_close(int fd) { return sc1(NR_close, fd); }
static inline long sys_openat(int dir, const char *p, int flags, uint32_t mode) { return sc4(NR_openat, dir, PTR(p), flags, (long)mode); }
static inline long sys_open(const char *p, int flags) { return sc4(NR_openat, AT_FDCWD, PTR(p), flags, 0); }
static inline long sys_unlink(const char *p) { return sc3(NR_unlinkat, AT_FDCWD, PTR(p), 0); }
static inline long sys_rmdir(const char *p) { return sc3(NR_unlinkat, AT_FDCWD, PTR(p), AT_REMOVEDIR); }
static inline long sys_mkdir(const char *p, uint32_t mode) { return sc3(NR_mkdirat, AT_FDCWD, PTR(p), (long)mode); }
static inline long sys_mkfifo(const char *p, uint32_t mode) { return sc4(NR_mknodat, AT_FDCWD, PTR(p), (long)(S_IFIFO | mode), 0); }
static inline long sys_chmod(const char *p, uint32_t mode) { return sc3(NR_fchmodat, AT_FDCWD, PTR(p), (long)mode); }
static inline long sys_statx(int dir, const char *p, int flags, struct statx_k *s) { return sc5(NR_statx, dir, PTR(p), flags, 0x7ff, PTR(s)); }
static inline long sys_fcntl(int fd, int op, long arg) { return sc3(NR_fcntl, fd, op, arg); }
static inline long sys_ioctl(int fd, unsigned long op, void *p) { return sc3(NR_ioctl, fd, (long)op, PTR(p)); }
static inline long sys_dup3(int from, int to, int flags) { return sc3(NR_dup3, from, to, flags); }
static inline long sys_pipe2(int fd[2], int flags) { return sc2(NR_pipe2, PTR(fd), flags); }
static inline long sys_socketpair(int type, int fd[2]) { return sc4(NR_socketpair, AF_UNIX, type, 0, PTR(fd)); }
static inline long sys_sendmsg(int fd, const struct msghdr_k *m, int flags) { return sc3(NR_sendmsg, fd, PTR(m), flags); }
static inline long sys_recvmsg(int fd, struct msghdr_k *m, int flags) { return sc3(NR_recvmsg, fd, PTR(m), flags); }
static inline long sys_epoll_ctl(int ep, int op, int fd, struct epoll_event_k *e) { return sc4(NR_epoll_ctl, ep, op, fd, PTR(e)); }
static inline long sys_epoll_wait(int ep, struct epoll_event_k *e, int n, int ms) { return sc6(NR_epoll_pwait, ep, PTR(e), n, ms, 0, 8); }
static inline long sys_ppoll(struct pollfd_k *p, unsigned n, const struct timespec_k *t) { return sc5(NR_ppoll, PTR(p), (long)n, PTR(t), 0, 8); }
static inline long sys_clock(int id, struct timespec_k *t) { return sc2(NR_clock_gettime, id, PTR(t)); }
static inline long sys_wait4(int pid, int *st, int flags, struct rusage_k *ru) { return sc4(NR_wait4, pid, PTR(st), flags, PTR(ru)); }
static inline long sys_kill(int pid, int sig) { return sc2(NR_kill, pid, sig); }
static inline long sys_fork(void) { return sc5(NR_clone, SIGCHLD, 0, 0, 0, 0); }
static inline long sys_getpid(void) { return sc0(NR_getpid); }
static inline long sys_prctl(int op, unsigned long a, unsigned long b) { return sc5(NR_prctl, op, (long)a, (long)b, 0, 0); }
static inline long sys_sigmask(int how, const uint64_t *set) { return sc4(NR_rt_sigprocmask, how, PTR(set), 0, 8); }
static inline long sys_rlimit(int what, const struct rlimit_k *set, struct rlimit_k *old) { return sc4(NR_prlimit64, 0, what, PTR(set), PTR(old)); }
static inline long sys_execve(const char *p, char *const *av, char *const *ev) { return sc3(NR_execve, PTR(p), PTR(av), PTR(ev)); }
static inline long sys_getrandom(void *p, size_t n) { return sc3(NR_getrandom, PTR(p), (long)n, 0); }
static inline _Noreturn void sys_exit(int code)
{
    for (;;)
        sc1(NR_exit_group, code);
}

/* ---- sys.c: start code, what the compiler calls, and the few string helpers we use */
void *memcpy(void *d, const void *s, size_t n);
void *memmove(void *d, const void *s, size_t n);
void *memset(void *d, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int str_eq(const char *a, const char *b);
size_t str_put(char *d, size_t cap, size_t at, const char *s);        /* appends, always ends with NUL, cuts; new length */
size_t str_num(char *d, size_t cap, size_t at, uint64_t v);
const char *scan_num(const char *p, uint64_t *v);                     /* skips blanks, reads a decimal number; NULL when there is none */
const char *scan_key(const char *text, const char *key);              /* what stands behind key at the start of a line; NULL */
void random_hex(char *d, size_t bytes);                               /* 2 * bytes characters and a NUL */
long write_all(int fd, const void *p, size_t n);                      /* for blocking descriptors; 0 or a negative error */
extern uintptr_t page_size;
uint64_t now_ns(void);
void close_but(const int *keep, int n, int from);                     /* closes every descriptor >= from that is not in keep */

/* ---- boot.c, root.c, lock.c (local mode); files */
#if defined(__x86_64__)
enum { NR_fchmod = 91, NR_sendfile = 40, NR_statfs = 137, NR_splice = 275, NR_tee = 276, NR_vmsplice = 278, NR_renameat2 = 316, NR_linkat = 265, NR_utimensat = 280 };
enum { NR_getcwd = 79, NR_fchownat = 260, NR_sched_setscheduler = 144, NR_sched_setaffinity = 203 };
#else
enum { NR_fchmod = 52, NR_sendfile = 71, NR_statfs = 43, NR_splice = 76, NR_tee = 77, NR_vmsplice = 75, NR_renameat2 = 276, NR_linkat = 37, NR_utimensat = 88 };
enum { NR_getcwd = 17, NR_fchownat = 54, NR_sched_setscheduler = 119, NR_sched_setaffinity = 122 };
#endif
enum { MS_RDONLY = 1, MS_NOSUID = 2, MS_NODEV = 4, MS_NOEXEC = 8, MS_REMOUNT = 32, MS_BIND = 4096, MS_REC = 16384, MS_PRIVATE = 1 << 18, MNT_DETACH = 2 };
enum { MOUNT_ATTR_RDONLY = 1, MOUNT_ATTR_NOSUID = 2, MOUNT_ATTR_NODEV = 4, MOUNT_ATTR_NOEXEC = 8 };
enum { OPEN_TREE_CLONE = 1, MOVE_MOUNT_F_EMPTY_PATH = 4, MOVE_MOUNT_T_EMPTY_PATH = 0x40, FSOPEN_CLOEXEC = 1, FSMOUNT_CLOEXEC = 1, FSCONFIG_SET_STRING = 1, FSCONFIG_CMD_CREATE = 6 };
enum { RESOLVE_NO_MAGICLINKS = 2, RESOLVE_NO_SYMLINKS = 4, RESOLVE_BENEATH = 8 };
enum { DT_DIR = 4, F_SETPIPE_SZ = 1031, SPLICE_MOVE = 1, SPLICE_NONBLOCK = 2, RENAME_NOREPLACE = 1, UTIME_OMIT = 0x3ffffffe };
enum { CLONE_NEWNS = 0x20000, CLONE_NEWCGROUP = 0x2000000, CLONE_NEWUSER = 0x10000000 };
enum { PR_GET_DUMPABLE = 3, PR_GET_SECCOMP = 21, PR_GET_NO_NEW_PRIVS = 39, SECCOMP_SET_MODE_FILTER = 1, KEYCTL_JOIN_SESSION_KEYRING = 1, AF_INET = 2, SIOCSIFFLAGS = 0x8914 };
struct mount_attr_k { uint64_t set, clear, propagation, userns_fd; };
struct open_how_k { uint64_t flags, mode, resolve; };
struct landlock_attr_k { uint64_t fs, net, scoped; };
struct landlock_path_k { uint64_t allowed; int32_t fd; } __attribute__((packed));
struct sock_fprog_k { uint16_t len; const void *filter; };
struct ifreq_k { char name[16]; int16_t flags; char rest[22]; };
static inline long sys_mount(const char *src, const char *at, const char *type, unsigned long flags, const char *data) { return sc5(NR_mount, PTR(src), PTR(at), PTR(type), (long)flags, PTR(data)); }
static inline long sys_umount2(const char *at, int flags) { return sc2(NR_umount2, PTR(at), flags); }
static inline long sys_open_tree(int dir, const char *p, unsigned flags) { return sc3(NR_open_tree, dir, PTR(p), (long)flags); }
static inline long sys_move_mount(int from, int to, const char *p) { return sc5(NR_move_mount, from, PTR(""), to, PTR(p), MOVE_MOUNT_F_EMPTY_PATH); }
static inline long sys_move_mount_at(int from, int to) { return sc5(NR_move_mount, from, PTR(""), to, PTR(""), MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH); }
static inline long sys_fsopen(const char *type) { return sc2(NR_fsopen, PTR(type), FSOPEN_CLOEXEC); }
static inline long sys_fsconfig(int fs, int op, const char *key, const char *value) { return sc5(NR_fsconfig, fs, op, PTR(key), PTR(value), 0); }
static inline long sys_fsmount(int fs, unsigned attr) { return sc3(NR_fsmount, fs, FSMOUNT_CLOEXEC, (long)attr); }
static inline long sys_mount_setattr(int dir, const char *p, int flags, const struct mount_attr_k *a) { return sc5(NR_mount_setattr, dir, PTR(p), flags, PTR(a), sizeof *a); }
static inline long sys_openat2(int dir, const char *p, const struct open_how_k *h) { return sc4(NR_openat2, dir, PTR(p), PTR(h), sizeof *h); }
static inline long sys_mkdirat(int dir, const char *p, uint32_t mode) { return sc3(NR_mkdirat, dir, PTR(p), (long)mode); }
static inline long sys_fchmodat(int dir, const char *p, uint32_t mode) { return sc3(NR_fchmodat, dir, PTR(p), (long)mode); }
static inline long sys_fchownat(int dir, const char *p, uint32_t uid, uint32_t gid) { return sc5(NR_fchownat, dir, PTR(p), (long)uid, (long)gid, 0); }
static inline long sys_renameat2(int from, const char *old, int to, const char *name, unsigned flags) { return sc5(NR_renameat2, from, PTR(old), to, PTR(name), (long)flags); }
static inline long sys_splice(int from, int to, size_t n, unsigned flags) { return sc6(NR_splice, from, 0, to, 0, (long)n, (long)flags); }
static inline long sys_fchmod(int fd, uint32_t mode) { return sc2(NR_fchmod, fd, (long)mode); }
static inline long sys_symlinkat(const char *target, int dir, const char *p) { return sc3(NR_symlinkat, PTR(target), dir, PTR(p)); }
static inline long sys_readlinkat(int dir, const char *p, char *buf, size_t n) { return sc4(NR_readlinkat, dir, PTR(p), PTR(buf), (long)n); }
static inline long sys_linkat(int from, const char *old, int to, const char *name) { return sc5(NR_linkat, from, PTR(old), to, PTR(name), 0); }
static inline long sys_utimensat(int dir, const char *p, const struct timespec_k t[2], int flags) { return sc4(NR_utimensat, dir, PTR(p), PTR(t), flags); }
static inline long sys_unlinkat(int dir, const char *p, int flags) { return sc3(NR_unlinkat, dir, PTR(p), flags); }
static inline long sys_setresuid(uint32_t id) { return sc3(NR_setresuid, (long)id, (long)id, (long)id); }
static inline long sys_setresgid(uint32_t id) { return sc3(NR_setresgid, (long)id, (long)id, (long)id); }
static inline long sys_unshare(unsigned long flags) { return sc1(NR_unshare, (long)flags); }
static inline long sys_capset(const struct capheader_k *h, const struct capdata_k *d) { return sc2(NR_capset, PTR(h), PTR(d)); }
static inline long sys_capget(struct capheader_k *h, struct capdata_k *d) { return sc2(NR_capget, PTR(h), PTR(d)); }
static inline long sys_landlock_ruleset(const struct landlock_attr_k *a, size_t n, unsigned flags) { return sc3(NR_landlock_create_ruleset, PTR(a), (long)n, (long)flags); }
static inline long sys_landlock_rule(int rules, const struct landlock_path_k *p) { return sc4(NR_landlock_add_rule, rules, 1, PTR(p), 0); }
static inline long sys_landlock_restrict(int rules) { return sc2(NR_landlock_restrict_self, rules, 0); }
static inline long sys_seccomp_filter(const struct sock_fprog_k *p) { return sc3(NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, PTR(p)); }
#endif
