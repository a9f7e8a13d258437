/* proc.c - the process table as /proc shows it. One read of <pid>/stat per process tells all that is needed. */
#include "guest.h"

struct proc procs[PROCS];

static const char *slurp(int pid, const char *file)
{
    static char b[4096];
    char path[48];
    size_t n = str_put(path, sizeof path, 0, "/proc/");
    n = str_num(path, sizeof path, n, (uint64_t)pid);
    str_put(path, sizeof path, n, file);
    int fd = (int)sys_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    long r = sys_read(fd, b, sizeof b - 1);
    sys_close(fd);
    b[r > 0 ? r : 0] = 0;
    return r > 0 ? b : NULL;
}

int proc_read(int pid, struct proc *p)
{
    const char *b = slurp(pid, "/stat");
    if (!b)
        return -1;
    /* the name may hold anything: fields start behind its last parenthesis */
    const char *s = b + strlen(b);
    while (s > b && *s != ')')
        s--;
    if (s == b || s[1] != ' ' || s[2] == 'Z' || s[2] == 'X')
        return -1;
    s += 3;
    uint64_t v[34] = { 0 };
    for (int i = 4; i < 34 && *s; i++) {
        while (*s == ' ')
            s++;
        if (*s == '-')
            s++;
        s = scan_num(s, &v[i]);
        if (!s)
            return -1;
    }
    p->pid = pid;
    p->ppid = (int)v[4];
    p->exiting = (uint8_t)(v[9] >> 2 & 1);     /* PF_EXITING */
    p->cpu = (v[14] + v[15]) * 10 * MSEC;
    p->cpu_children = (v[16] + v[17]) * 10 * MSEC;
    p->threads = (uint32_t)v[20];
    p->start = v[22];
    p->ignores_int = (uint8_t)(v[33] >> (SIGINT - 1) & 1);
    p->mark = 0;
    p->owner = 0;
    return 0;
}

/* Without a pid namespace of our own, /proc has the whole machine: only what descends from us is looked at. Kernels without these lists: all. */
static int children_of(int pid, uint64_t *pids, unsigned *n)
{
    static _Alignas(8) char d[1024];
    char path[80], b[512];
    size_t at = str_put(path, sizeof path, 0, "/proc/");
    at = str_num(path, sizeof path, at, (uint64_t)pid);
    at = str_put(path, sizeof path, at, "/task");
    int dir = (int)sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
    for (long r; dir >= 0 && (r = sc3(NR_getdents64, dir, PTR(d), sizeof d)) > 0;)
        for (long i = 0; i < r;) {
            struct dirent_k *e = (struct dirent_k *)(void *)(d + i);
            i += e->reclen;
            if (e->name[0] == '.')
                continue;
            size_t to = str_put(path, sizeof path, at, "/");
            to = str_put(path, sizeof path, to, e->name);
            str_put(path, sizeof path, to, "/children");
            int fd = (int)sys_open(path, O_RDONLY | O_CLOEXEC);
            uint64_t pid_now = 0;
            for (long got; fd >= 0 && (got = sys_read(fd, b, sizeof b)) > 0;)
                for (long k = 0; k < got; k++) {
                    if (b[k] >= '0' && b[k] <= '9')
                        pid_now = pid_now * 10 + (uint64_t)(b[k] - '0');
                    else if (pid_now) {
                        if (*n < PROCS)
                            pids[(*n)++] = pid_now;
                        pid_now = 0;
                    }
                }
            if (fd >= 0)
                sys_close(fd), found = 1;
        }
    if (dir >= 0)
        sys_close(dir);
    return found;
}

static int scan_tree(unsigned *count)
{
    static uint64_t pids[PROCS];
    unsigned n = 0, have = 0;
    if (!children_of(A.pid, pids, &n))
        return 0;
    for (unsigned i = 0; i < n; i++) {
        struct proc p;
        (void)children_of((int)pids[i], pids, &n);
        if (proc_read((int)pids[i], &p) < 0)
            continue;
        unsigned at = have;
        while (at && procs[at - 1].pid > p.pid)
            procs[at] = procs[at - 1], at--;
        if (at && procs[at - 1].pid == p.pid) {      /* it changed its parent meanwhile */
            for (; at < have; at++)
                procs[at] = procs[at + 1];
            continue;
        }
        procs[at] = p;
        have++;
    }
    *count = have;
    return 1;
}

/* stop_fd: the scan ends early when something comes there (-1: never). /proc lists in the order of pids, so the table is sorted. */
unsigned proc_scan(int stop_fd)
{
    static _Alignas(8) char b[2048];      /* some 80 processes at a time */
    unsigned n = 0;
    if (A.facts.bare && scan_tree(&n))
        return n;
    int dir = (int)sys_open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return 0;
    for (;;) {
        long r = sc3(NR_getdents64, dir, PTR(b), sizeof b);
        struct pollfd_k p = { stop_fd, POLLIN, 0 };
        struct timespec_k zero = { 0, 0 };
        if (r <= 0 || (n && stop_fd >= 0 && sys_ppoll(&p, 1, &zero) > 0))
            break;
        for (long at = 0; at < r;) {
            struct dirent_k *d = (struct dirent_k *)(void *)(b + at);
            at += d->reclen;
            uint64_t pid;
            const char *e = d->name[0] >= '1' && d->name[0] <= '9' ? scan_num(d->name, &pid) : NULL;
            if (e && !*e && pid < INT32_MAX && n < PROCS && proc_read((int)pid, &procs[n]) == 0)
                n++;
        }
    }
    sys_close(dir);
    return n;
}

struct proc *proc_find(unsigned n, int pid)
{
    unsigned lo = 0, hi = n;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (procs[mid].pid < pid)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && procs[lo].pid == pid ? &procs[lo] : NULL;
}

/* Marks the descendants of root (not root itself), as far as `only` lets them: `since` is in clock ticks. What is left out hides what
   is below it. */
void proc_mark_tree(unsigned n, int root, int only, uint64_t since)
{
    for (int more = 1; more;) {
        more = 0;
        for (unsigned i = 0; i < n; i++) {
            struct proc *p = &procs[i];
            if (p->mark || p->pid == root || (only & PROC_HEARS && p->ignores_int) || (only & PROC_SINCE && p->start < since))
                continue;
            const struct proc *parent = p->ppid == root ? NULL : proc_find(n, p->ppid);
            if (p->ppid == root || (parent && parent->mark))
                p->mark = 1, more = 1;
        }
    }
}

/* Resident memory: what no file backs, and beside it the rest, files of the system and shared memory in one. */
uint64_t proc_resident(int pid, uint64_t *rest)
{
    uint64_t size, resident, shared;
    const char *s = slurp(pid, "/statm");
    s = s ? scan_num(s, &size) : NULL;
    s = s ? scan_num(s, &resident) : NULL;
    s = s ? scan_num(s, &shared) : NULL;
    if (!s || resident < shared)
        return *rest = 0;
    *rest = shared * page_size;
    return (resident - shared) * page_size;
}

static uint64_t kilobytes(const char *text, const char *key)
{
    uint64_t v = 0;
    const char *s = text ? scan_key(text, key) : NULL;
    return s && scan_num(s, &v) ? v << 10 : 0;
}

/* Shared memory that is mapped (not memory files that nobody maps), and what of the process is in swap, where statm does not look. */
uint64_t proc_shared(int pid)
{
    const char *s = slurp(pid, "/status");
    return kilobytes(s, "RssShmem:") + kilobytes(s, "VmSwap:");
}

/* Whether swap holds anything of this machine; also when that can't be told. */
int proc_swapped(void)
{
    struct sysinfo_k s;
    return sc1(NR_sysinfo, PTR(&s)) != 0 || s.swap != s.free_swap;
}

/* All that is not the system's files, each page divided among those that map it; 0: not to be had. The kernel walks every page for it. */
uint64_t proc_share(int pid)
{
    const char *s = slurp(pid, "/smaps_rollup");
    return kilobytes(s, "Pss_Anon:") + kilobytes(s, "Pss_Shmem:") + kilobytes(s, "SwapPss:");
}
