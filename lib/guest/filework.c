/* filework.c - a process that does file work: it has the rights of user code, takes one order at a time from the agent and may block in it.
   Only regular files are read; nothing that it opens can make it wait. */
#include "guest.h"

#define CHUNK     (1u << 20)
#define TOLD_STEP (WIRE_PUT_WINDOW / 8)

static uint8_t order[WIRE_PAYLOAD_MAX + 16], block[64 << 10], record[96 << 10];
static uint32_t record_len;
static uint64_t written;              /* to the agent, in this order */
struct level levels[WORK_DEPTH];

/* ---- what there is */
uint8_t file_type_of(uint16_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return WIRE_TYPE_FILE;
    case S_IFDIR: return WIRE_TYPE_DIR;
    case S_IFLNK: return WIRE_TYPE_LINK;
    case S_IFIFO: return WIRE_TYPE_FIFO;
    case S_IFSOCK: return WIRE_TYPE_SOCKET;
    case S_IFCHR: return WIRE_TYPE_CHAR;
    default: return WIRE_TYPE_BLOCK;
    }
}

static uint64_t mtime_of(const struct statx_k *s)
{
    return (uint64_t)s->mtime.sec * NSEC + s->mtime.nsec;
}

void describe_entry(struct wire_entry *w, const struct statx_k *s)
{
    *w = (struct wire_entry){ .type = file_type_of(s->mode), .mode = s->mode & 07777, .size = s->size, .mtime_ns = mtime_of(s) };
}

static void describe(struct wire_file_done *d, const struct statx_k *s)
{
    d->type = file_type_of(s->mode);
    d->mode = s->mode & 07777;
    d->size = s->size;
    d->mtime_ns = mtime_of(s);
}

static int regular(const char *path, struct statx_k *s)
{
    int fd = path_open(path, O_PATH);
    if (fd < 0)
        return fd;
    long r = sys_statx(fd, "", AT_EMPTY_PATH, s);
    sys_close(fd);
    if (r < 0)
        return (int)r;
    return (s->mode & S_IFMT) == S_IFREG ? 0 : (s->mode & S_IFMT) == S_IFDIR ? -E_ISDIR : -WIRE_FILE_NOT_REGULAR;
}

/* ---- bytes to the agent */
void send_bytes(const void *p, size_t n)
{
    if (write_all(WORK_OUT, p, n) < 0)
        sys_exit(0);                  /* nobody takes them any more */
    written += n;
}

void send_records(void)
{
    send_bytes(record, record_len);
    record_len = 0;
}

void send_record(const struct wire_entry *e)
{
    if (sizeof record - record_len < 64u + e->path.len)
        send_records();
    struct wire_out o = { record + record_len, record + sizeof record, 0 };
    interp__wire_put_entry(&o, e);
    if (o.bad)
        sys_exit(94);
    record_len = (uint32_t)(o.p - record);
}

void send_beside(const void *p, size_t n)
{
    if (sizeof record - record_len < n)
        send_records();
    memcpy(record + record_len, p, n);
    record_len += (uint32_t)n;
}

/* A pipe of this process's own stands between a file and the agent's: who moves bytes into a file or out of one holds its pipe's lock, and a slow file would hold the agent up.
   Both are as large as they may be only while they are used: what all pipes of a user may hold is bounded. */
static int own_pipe(int p[2], int agents)
{
    int r = (int)sys_pipe2(p, O_CLOEXEC);
    if (r == 0) {
        sys_fcntl(p[1], F_SETPIPE_SZ, WIRE_PUT_WINDOW);
        sys_fcntl(agents, F_SETPIPE_SZ, WIRE_PUT_WINDOW);
    }
    return r;
}

static void close_own(const int p[2], int agents)
{
    if (p[0] < 0)
        return;
    sys_close(p[0]);
    sys_close(p[1]);
    sys_fcntl(agents, F_SETPIPE_SZ, PIPE_ROOM);        /* of one that is not empty the agent sees to it */
}

/* ---- get */

/* n bytes of the own pipe to the agent. */
static void hand_on(int from, size_t n)
{
    written += n;
    while (n) {
        long r = sys_splice(from, WORK_OUT, n, SPLICE_MOVE);
        if (r == -E_INTR)
            continue;
        if (r <= 0)
            sys_exit(0);              /* nobody takes them any more */
        n -= (size_t)r;
    }
}

static int get(const char *path, uint64_t limit, struct wire_file_done *d)
{
    struct statx_k s, t;
    long r = regular(path, &s);       /* looked at before it is opened: opening a FIFO or a device does something */
    if (r < 0)
        return (int)r;
    int fd = path_open(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    r = sys_statx(fd, "", AT_EMPTY_PATH, &t);
    if (r < 0 || (t.mode & S_IFMT) != S_IFREG) {
        sys_close(fd);
        return r < 0 ? (int)r : -WIRE_FILE_NOT_REGULAR;
    }
    describe(d, &t);
    uint64_t left = t.size ? t.size : min64(limit, UNSIZED), got = 0;
    int p[2] = { -1, -1 }, copies = t.size <= sizeof block || own_pipe(p, WORK_OUT) < 0;
    r = t.size > limit ? -E_FBIG : 0;
    while (r == 0 && left) {
        long n = copies ? sys_read(fd, block, min64(left, sizeof block)) : sys_splice(fd, p[1], min64(left, CHUNK), SPLICE_MOVE);
        if (n == -E_INVAL && !copies) {
            copies = 1;               /* a file system that can't hand its pages on */
            continue;
        }
        if (n == -E_INTR)
            continue;
        if (n <= 0) {
            r = n < 0 ? n : t.size ? -WIRE_FILE_CHANGED : 0;
            break;
        }
        if (copies)
            send_bytes(block, (size_t)n);
        else
            hand_on(p[0], (size_t)n);
        got += (uint64_t)n;
        left -= (uint64_t)n;
    }
    if (r == 0 && !left && !t.size && sys_read(fd, block, 1) > 0)
        r = -E_FBIG;                  /* nobody can say how large it is: not cut in silence */
    d->size = got;
    close_own(p, WORK_OUT);
    sys_close(fd);
    return (int)r;
}

/* ---- put */
static int message(size_t *n)         /* 1: one is in `order`, 0: none */
{
    struct iovec_k v = { order, sizeof order };
    struct msghdr_k h = { .iov = &v, .iovlen = 1 };
    long r = sys_recvmsg(WORK_CONTROL, &h, 0);
    if (r == -E_INTR)
        return 0;
    if (r < 1 || h.flags & MSG_TRUNC)
        return -1;
    *n = (size_t)r;
    return 1;
}

void source_took(struct intake *s, size_t n)
{
    struct iovec_k v = { &s->told, sizeof s->told };
    struct msghdr_k taken = { .iov = &v, .iovlen = 1 };
    s->got += n;
    if (s->got < s->total && s->got - s->told >= TOLD_STEP) {
        s->told = s->got;
        sys_sendmsg(WORK_CONTROL, &taken, MSG_NOSIGNAL);
    }
}

int source_wait(struct intake *s)
{
    struct pollfd_k p[2] = { { WORK_CONTROL, POLLIN, 0 }, { WORK_IN, s->total == UINT64_MAX ? POLLIN : 0, 0 } };
    sys_ppoll(p, 2, NULL);
    if (p[1].revents & POLLIN || !(p[0].revents | p[1].revents))
        return 0;
    size_t len;
    int m = p[0].revents ? message(&len) : -1;
    if (m < 0)
        return -E_PIPE;               /* the agent is gone */
    if (m && order[0] == WORK_CANCEL)
        return -E_CANCELED;
    if (m && order[0] == WORK_END && len == 9)
        memcpy(&s->total, order + 1, sizeof s->total);
    return 0;
}

/* n bytes of the own pipe into the file. */
static long keep(int from, int fd, size_t n)
{
    long copies = 0, r = 0;
    while (n && r >= 0) {
        r = copies ? sys_read(from, block, min64(n, sizeof block)) : sys_splice(from, fd, n, SPLICE_MOVE);
        if (r == -E_INVAL && !copies) {
            copies = 1;               /* a file system that takes no pages */
            r = 0;
        } else if (r == -E_INTR)
            r = 0;
        else if (r > 0) {
            n -= (size_t)r;
            r = copies ? write_all(fd, block, (size_t)r) : 0;
        } else
            r = r ? r : -E_IO;
    }
    return r;
}

/* What the host sends, until its end: 0, or a negative error. Little is read; what goes on moves through the own pipe. */
static int take(int fd, int own[2], uint64_t *size)
{
    struct intake from = { .total = UINT64_MAX };
    int moves = 0;
    while (from.got < from.total) {
        long n = moves ? sys_splice(WORK_IN, own[1], CHUNK, SPLICE_MOVE | SPLICE_NONBLOCK) : sys_read(WORK_IN, block, sizeof block);
        if (n == -E_INTR)
            continue;
        if (n > 0) {
            source_took(&from, (size_t)n);
            long r = moves ? keep(own[0], fd, (size_t)n) : write_all(fd, block, (size_t)n);
            if (r < 0)
                return (int)r;
            moves = moves || (n == sizeof block && own_pipe(own, WORK_IN) == 0);
            continue;
        }
        int r = n < 0 && n != -E_AGAIN ? (int)n : source_wait(&from);
        if (r < 0)
            return r;
    }
    *size = from.got;
    return 0;
}

static int put(const char *path, int make, uint32_t mode, struct wire_file_done *d)
{
    struct statx_k s;
    const char *name;
    char temp[40];
    uint64_t size;
    int dir = path_parent(path, make, &name);
    if (dir < 0)
        return dir;
    long r = sys_statx(dir, name, AT_SYMLINK_NOFOLLOW, &s);
    if (r == 0)
        r = (s.mode & S_IFMT) == S_IFREG || (s.mode & S_IFMT) == S_IFLNK ? 0 : (s.mode & S_IFMT) == S_IFDIR ? -E_ISDIR : -WIRE_FILE_NOT_REGULAR;
    else if (r == -E_NOENT)
        r = 0;
    size_t n = str_put(temp, sizeof temp, 0, ".interp-");
    random_hex(temp + n, 12);
    int fd = r < 0 ? (int)r : (int)sys_openat(dir, temp, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        sys_close(dir);
        return fd;
    }
    int own[2] = { -1, -1 };
    r = take(fd, own, &size);
    close_own(own, WORK_IN);
    if (r == 0)
        r = sys_fchmod(fd, mode & 0777);
    if (r == 0)
        r = sys_statx(fd, "", AT_EMPTY_PATH, &s);
    if (r == 0)
        r = sys_renameat2(dir, temp, dir, name, 0);
    if (r < 0)
        sys_unlinkat(dir, temp, 0);
    else
        describe(d, &s);
    sys_close(fd);
    sys_close(dir);
    if (r == -E_PIPE)
        sys_exit(0);
    return (int)r;
}

/* ---- directories */

struct dirent_k *level_next(struct level *l, long *error)
{
    for (;;) {
        if (l->pos >= l->have) {
            long r = sc3(NR_getdents64, l->fd, PTR(l->dents), sizeof l->dents);
            if (r <= 0) {
                *error = r;
                return NULL;
            }
            l->pos = 0;
            l->have = (uint32_t)r;
        }
        struct dirent_k *e = (struct dirent_k *)(void *)(l->dents + l->pos);
        l->pos += e->reclen;
        if (!str_eq(e->name, ".") && !str_eq(e->name, ".."))
            return e;
    }
}

void level_enter(struct level *l, int fd, const char *name, uint32_t path_len)
{
    l->fd = fd;
    l->pos = l->have = 0;
    l->path_len = path_len;
    str_put(l->name, sizeof l->name, 0, name);
}

static int look(const char *path, struct wire_file_done *d)
{
    struct statx_k s;
    int fd = path_open(path, O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    long r = sys_statx(fd, "", AT_EMPTY_PATH, &s);
    if (r == 0) {
        describe(d, &s);
        long n = d->type == WIRE_TYPE_LINK ? sys_readlinkat(fd, "", (char *)block, WIRE_PATH_MAX) : 0;
        if (n > 0)
            send_bytes(block, (size_t)n);
    }
    sys_close(fd);
    return (int)r;
}

int make_dir(const char *path, int parents, uint32_t mode, struct wire_file_done *d)
{
    const char *name;
    struct statx_k s;
    int dir = path_parent(path, parents, &name);
    if (dir == -E_BUSY && (dir = path_open(path, O_PATH | O_DIRECTORY)) >= 0) {   /* "." and the like: there it is */
        sys_close(dir);
        return parents ? 0 : -E_EXIST;
    }
    if (dir < 0)
        return dir;
    long r = sys_mkdirat(dir, name, mode & 0777);
    if (r == -E_EXIST && parents && sys_statx(dir, name, AT_SYMLINK_NOFOLLOW, &s) == 0 && (s.mode & S_IFMT) == S_IFDIR)
        r = 0;
    else if (r == 0)
        d->count = 1;
    sys_close(dir);
    return (int)r;
}

static int move(const char *from, const char *to, int keep)
{
    const char *old, *name;
    int a = path_parent(from, 0, &old), b = a < 0 ? a : path_parent(to, 0, &name);
    long r = b < 0 ? b : sys_renameat2(a, old, b, name, keep ? RENAME_NOREPLACE : 0);
    if (a >= 0)
        sys_close(a);
    if (b >= 0 && a >= 0)
        sys_close(b);
    return (int)r;
}

static int open_to_empty(int dir, const char *name)
{
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    long r = sys_openat(dir, name, FLAGS, 0);
    if (r == -E_ACCES && sys_fchmodat(dir, name, 0700) == 0)
        r = sys_openat(dir, name, FLAGS, 0);
    return (int)r;
}

/* All below a directory. What is too deep to keep every level open is moved to the top and taken from there. */
static int empty(int dir, const char *top, uint64_t *count)
{
    long r = 0, end = 0;
    uint32_t at = 0, moved = 0;
    int fd = open_to_empty(dir, top);
    if (fd < 0)
        return fd;
    level_enter(&levels[0], fd, "", 0);
    for (int again = 0; r == 0;) {
        struct level *l = &levels[at];
        struct dirent_k *e = level_next(l, &end);
        if (!e && end < 0) {
            r = end;
            break;
        }
        if (!e) {
            if (!at) {
                if (!again)
                    break;
                again = 0;            /* once more: entries went, or came from below, while it was read */
                r = sc3(NR_lseek, l->fd, 0, 0);
                r = r > 0 ? 0 : r;
                l->pos = l->have = 0;
                continue;
            }
            sys_close(l->fd);
            r = sys_unlinkat(levels[--at].fd, l->name, AT_REMOVEDIR);
            *count += r == 0;
            if (r == -E_NOENT || r == -E_NOTEMPTY)
                again = 1, r = 0;
            continue;
        }
        r = sys_unlinkat(l->fd, e->name, 0);
        if (r == 0) {
            ++*count;
            again |= !at;
        } else if (r == -E_NOENT)
            r = 0;
        else if (r == -E_ISDIR || r == -E_PERM) {
            fd = at + 1 < WORK_DEPTH ? open_to_empty(l->fd, e->name) : -1;
            if (fd >= 0) {
                level_enter(&levels[at + 1], fd, e->name, 0);
                at++;
                again = 1;
                r = 0;
            } else if (at + 1 < WORK_DEPTH)
                r = fd == -E_NOENT ? 0 : fd == -E_NOTDIR ? r : fd;
            else {
                char t[40];
                size_t n = str_put(t, sizeof t, 0, ".interp-");
                n = str_num(t, sizeof t, n, ++moved);
                r = sys_renameat2(l->fd, e->name, levels[0].fd, t, RENAME_NOREPLACE);
                again = 1;
                r = r == -E_EXIST ? 0 : r;
            }
        }
    }
    for (uint32_t i = 0; i <= at; i++)
        sys_close(levels[i].fd);
    return (int)r;
}

static int take_away(const char *path, int deep, uint64_t *count)
{
    const char *name;
    int dir = path_parent(path, 0, &name);
    if (dir < 0)
        return dir;
    long r = sys_unlinkat(dir, name, 0);
    if (r == -E_ISDIR || r == -E_PERM) {
        long first = r;
        r = sys_unlinkat(dir, name, AT_REMOVEDIR);
        for (int i = 0; r == -E_NOTEMPTY && deep && i < 4; i++) {      /* user code may go on making files in it */
            r = empty(dir, name, count);
            if (r == 0)
                r = sys_unlinkat(dir, name, AT_REMOVEDIR);
        }
        if (r == -E_NOTDIR)
            r = first;
    }
    *count += r == 0;
    sys_close(dir);
    return (int)r;
}

/* ---- orders */
static int obey(const struct wire_file *m, const char *path, const char *other, struct wire_file_done *d)
{
    int parents = m->flags & WIRE_FILE_PARENTS, deep = m->flags & WIRE_FILE_RECURSIVE;
    switch (m->op) {
    case WIRE_FILE_PUT:
        return put(path, parents, m->mode, d);
    case WIRE_FILE_GET:
        return get(path, m->limit, d);
    case WIRE_FILE_LIST:
        return tree_walk(path, deep, 0, m->limit, d);
    case WIRE_FILE_STAT:
        return look(path, d);
    case WIRE_FILE_MKDIR:
        return make_dir(path, parents, m->mode, d);
    case WIRE_FILE_RENAME:
        return move(path, other, m->flags & WIRE_FILE_KEEP);
    case WIRE_FILE_REMOVE:
        return take_away(path, deep, &d->count);
    case WIRE_FILE_SNAP:
        return changes_snap(m->flags & WIRE_FILE_HALVES, d);
    case WIRE_FILE_DIFF:
        return changes_diff(m->limit, m->mode, m->flags & WIRE_FILE_HALVES, d);
    case WIRE_FILE_PACK:
        return tree_walk(path, 1, 1, UINT64_MAX, d);
    case WIRE_FILE_UNPACK:
        return tree_unpack(path, m->flags & WIRE_FILE_KEEP, d);
    default:
        return -E_NOSYS;
    }
}

/* Beyond what locks user code: nothing but plain files, directories and links can be made, nothing executed, nothing written below /proc, /sys and /dev. */
static void fence(void)
{
    enum { EXECUTE = 1, WRITE = 1 << 1, MAKE = 0x1ff0, REFER = 1 << 13, TRUNCATE = 1 << 14, SPECIAL = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 };
    uint64_t change = WRITE | MAKE;
    if (A.facts.landlock_abi < 1 || A.facts.bare)
        return;                       /* or what may be used is listed, and nothing else can be */
    if (A.facts.landlock_abi >= 2)
        change |= REFER;
    if (A.facts.landlock_abi >= 3)
        change |= TRUNCATE;
    struct landlock_attr_k a = { .fs = change | EXECUTE };
    int rules = (int)sys_landlock_ruleset(&a, 8, 0), dir = (int)sys_open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rules < 0 || dir < 0)
        sys_exit(95);
    struct level *l = &levels[0];
    long error;
    level_enter(l, dir, "", 0);
    for (struct dirent_k *e; (e = level_next(l, &error));) {
        if (str_eq(e->name, "proc") || str_eq(e->name, "sys") || str_eq(e->name, "dev"))
            continue;
        struct landlock_path_k p = { change & ~(uint64_t)SPECIAL, (int32_t)sys_openat(dir, e->name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC, 0) };
        if (p.fd < 0)
            continue;                 /* no directory */
        if (sys_landlock_rule(rules, &p) < 0)
            sys_exit(95);
        sys_close(p.fd);
    }
    struct landlock_path_k shm = { change & ~(uint64_t)SPECIAL, (int32_t)sys_open("/dev/shm", O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC) };
    if (shm.fd >= 0 && sys_landlock_rule(rules, &shm) < 0)
        sys_exit(95);
    sys_close(shm.fd);
    sys_close(dir);
    if (sys_landlock_restrict(rules) < 0)
        sys_exit(95);
    sys_close(rules);
}

static void path_of(char *d, const struct wire_str *s)
{
    memcpy(d, s->p, s->len);
    d[s->len] = 0;
}

_Noreturn void file_work(void)
{
    static char path[WIRE_PATH_MAX + 1], other[WIRE_PATH_MAX + 1];
    sys_fcntl(WORK_IN, F_SETFL, O_RDONLY | O_NONBLOCK);
    paths_init();
    fence();
    for (;;) {
        size_t n;
        int m = message(&n);
        if (m < 0)
            sys_exit(0);
        if (!m || order[0] != WORK_FILE)
            continue;                 /* the end of a put that was over before it */
        struct wire_file f;
        struct wire_frame frame = { .payload = order + 1, .size = (uint32_t)n - 1 };
        if (interp__wire_get_file(&frame, &f) < 0 || f.path.len > WIRE_PATH_MAX || f.other.len > WIRE_PATH_MAX)
            sys_exit(94);
        path_of(path, &f.path);
        path_of(other, &f.other);
        struct work_done done;
        memset(&done, 0, sizeof done);
        written = 0;
        record_len = 0;
        int bad = strlen(path) != f.path.len || strlen(other) != f.other.len;
        int r = bad ? -E_INVAL : obey(&f, path, other, &done.d);
        done.d.error = (uint16_t)-r;
        done.bytes = written;
        struct iovec_k v = { &done, sizeof done };
        struct msghdr_k h = { .iov = &v, .iovlen = 1 };
        while (sys_sendmsg(WORK_CONTROL, &h, MSG_NOSIGNAL) == -E_INTR)
            ;
    }
}
