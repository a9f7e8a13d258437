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
    p->cpu = (v[14] + v[15]) * 10 * MSEC;
    p->cpu_children = (v[16] + v[17]) * 10 * MSEC;
    p->threads = (uint32_t)v[20];
    p->start = v[22];
    p->ignores_int = (uint8_t)(v[33] >> (SIGINT - 1) & 1);
    p->mark = 0;
    p->owner = 0;
    return 0;
}

/* stop_fd: the scan ends early when something comes there (-1: never). /proc lists in the order of pids, so the table is sorted. */
unsigned proc_scan(int stop_fd)
{
    static _Alignas(8) char b[2048];      /* some 80 processes at a time */
    unsigned n = 0;
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
            if (e && !*e && pid < INT_MAX && n < PROCS && proc_read((int)pid, &procs[n]) == 0)
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

/* Shared memory that is mapped (not memory files that nobody maps). */
uint64_t proc_shared(int pid)
{
    return kilobytes(slurp(pid, "/status"), "RssShmem:");
}

/* All that is not the system's files, each page divided among those that map it; 0: not to be had. The kernel walks every page for it. */
uint64_t proc_share(int pid)
{
    const char *s = slurp(pid, "/smaps_rollup");
    return kilobytes(s, "Pss_Anon:") + kilobytes(s, "Pss_Shmem:");
}
