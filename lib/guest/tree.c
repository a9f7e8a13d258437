/* tree.c - whole trees, in the process that does file work: what is below a directory sent as records, with what is in them if that is asked for, and the same made of such records.
   Neither follows a link; what a record's name means is decided one component after the other, below the directory that it is for. */
#include "guest.h"

static uint8_t bytes[64 << 10];
static char path[WORK_DEPTH * 256 + 256];

/* ---- what there is */

/* Whether a file that says it is empty has nothing: it may be believed in the usual file systems; in the kernel's own, or in what a program serves, reading tells. */
static int is_empty(int dir, const char *name, const struct statx_k *s)
{
    static const int64_t usual[] = { 0x01021994 /* tmpfs */, 0xef53 /* ext */, 0x58465342 /* XFS */, 0x9123683e /* Btrfs */, 0x794c7630 /* overlay */ };
    static uint32_t major, minor;     /* of the one that was last found to be such */
    static uint8_t found;
    struct statx_k t;
    struct statfs_k f;
    if (found && s->dev_major == major && s->dev_minor == minor)
        return 1;
    int fd = (int)sys_openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0), is = 0;
    if (fd >= 0 && sys_statx(fd, "", AT_EMPTY_PATH, &t) == 0 && sc2(NR_fstatfs, fd, PTR(&f)) == 0 && t.dev_major == s->dev_major && t.dev_minor == s->dev_minor)
        for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
            is |= f.type == usual[i];
    if (fd >= 0)
        sys_close(fd);
    if (is)
        found = 1, major = t.dev_major, minor = t.dev_minor;
    return is;
}

static long read_some(int fd, uint8_t *to, size_t n)     /* n bytes, fewer where it ends, or a negative error */
{
    size_t have = 0;
    while (have < n) {
        long r = sys_read(fd, to + have, n - have);
        if (r == 0 || (r < 0 && r != -E_INTR))
            return r < 0 ? r : (long)have;
        have += r > 0 ? (size_t)r : 0;
    }
    return (long)have;
}

/* All of a file that says it is empty and has more than `bytes`: how much that is, at *p, or a negative error. */
static long read_unsized(int fd, uint8_t **p)
{
    long at = sc6(NR_mmap, 0, UNSIZED + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0 && at > -4096)
        return at;
    uint8_t *all = (uint8_t *)(uintptr_t)at;
    memcpy(all, bytes, sizeof bytes);
    long r = read_some(fd, all + sizeof bytes, UNSIZED + 1 - sizeof bytes), n = r < 0 ? r : r + (long)sizeof bytes;
    if (n > (long)UNSIZED)
        n = -E_FBIG;
    if (n < 0)
        sc2(NR_munmap, at, UNSIZED + 1);
    else
        *p = all;
    return n;
}

static void send_content(const uint8_t *p, uint64_t n)
{
    for (size_t part; n; n -= part, p += part) {
        part = min64(n, sizeof bytes);
        send_beside(p, part);
    }
}

/* What is left of a file whose record has gone out. */
static void send_rest(int fd, uint64_t left, struct wire_entry *w)
{
    for (long r; left; left -= (uint64_t)r) {
        r = read_some(fd, bytes, min64(left, sizeof bytes));
        if (r <= 0)
            break;
        send_beside(bytes, (size_t)r);
    }
    if (!left)
        return;
    memset(bytes, 0, sizeof bytes);   /* the bytes that were promised, all the same */
    for (size_t n; left; left -= n) {
        n = min64(left, sizeof bytes);
        send_beside(bytes, n);
    }
    w->flags = WIRE_ENTRY_SHORT;
    send_record(w);
}

/* A file's record and content, as long as it is now; or a negative error and nothing of it. What fits into `bytes`, and what says that it is empty, is read before its size is said. */
static long pack_file(int dir, const char *name, struct wire_entry *w)
{
    struct statx_k s;
    uint8_t *p = bytes;
    int fd = (int)sys_openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0);
    long r = fd < 0 ? fd : sys_statx(fd, "", AT_EMPTY_PATH, &s);
    if (r == 0 && (s.mode & S_IFMT) != S_IFREG)
        r = -WIRE_FILE_NOT_REGULAR;
    if (r == 0)
        r = read_some(fd, bytes, s.size ? min64(s.size, sizeof bytes) : sizeof bytes);
    if (r == (long)sizeof bytes && !s.size)
        r = read_unsized(fd, &p);
    if (r >= 0) {
        w->size = r == (long)sizeof bytes && s.size ? s.size : (uint64_t)r;
        send_record(w);
        send_content(p, (uint64_t)r);
        send_rest(fd, w->size - (uint64_t)r, w);
    }
    if (p != bytes)
        sc2(NR_munmap, PTR(p), UNSIZED + 1);
    if (fd >= 0)
        sys_close(fd);
    return r < 0 ? r : 0;
}

static long pack_link(int dir, const char *name, struct wire_entry *w)
{
    long n = sys_readlinkat(dir, name, (char *)bytes, WIRE_PATH_MAX + 1);
    if (n <= 0 || n > (long)WIRE_PATH_MAX)
        return n < 0 ? n : -E_NAMETOOLONG;
    w->size = (uint64_t)n;
    send_record(w);
    send_beside(bytes, (size_t)n);
    return 0;
}

int tree_walk(const char *top, int deep, int content, uint64_t limit, struct wire_file_done *d)
{
    long r = 0;
    uint32_t at = 0;
    int fd = path_open(top, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    level_enter(&levels[0], fd, "", 0);
    for (;;) {
        struct level *l = &levels[at];
        struct dirent_k *e = d->more && d->count >= limit ? NULL : level_next(l, &r);
        struct statx_k s;
        struct wire_entry w;
        if (!e) {
            d->more |= r < 0;
            sys_close(l->fd);
            if (!at--)
                break;
            continue;
        }
        if (d->count >= limit) {
            d->more = 1;
            continue;
        }
        if (sys_statx(l->fd, e->name, AT_SYMLINK_NOFOLLOW, &s) < 0)
            continue;                 /* gone since */
        uint32_t len = l->path_len;
        if (len)
            path[len++] = '/';
        len = (uint32_t)str_put(path, sizeof path, len, e->name);
        describe_entry(&w, &s);
        w.path = (struct wire_str){ (uint8_t *)path, (uint16_t)len };
        fd = -1;
        r = 0;
        if (content && len > WIRE_PATH_MAX)
            r = -E_NAMETOOLONG;
        else if (w.type == WIRE_TYPE_DIR && deep)
            r = fd = at + 1 < WORK_DEPTH ? (int)sys_openat(l->fd, e->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0) : -E_NAMETOOLONG;
        else if (content && ((w.type == WIRE_TYPE_FILE && (w.size || !is_empty(l->fd, e->name, &s))) || w.type == WIRE_TYPE_LINK)) {
            r = w.type == WIRE_TYPE_FILE ? pack_file(l->fd, e->name, &w) : pack_link(l->fd, e->name, &w);
            d->count += r == 0;
            if (r == 0 || r == -E_NOENT)
                continue;
        }
        if (r < 0)
            w.flags = WIRE_ENTRY_CLOSED, d->more = 1;
        send_record(&w);
        d->count++;
        if (fd >= 0)
            level_enter(&levels[++at], fd, "", len);
    }
    send_records();
    return 0;
}

/* ---- what the host sends */
static struct intake in;
static uint32_t in_at, in_have;

static long more(void)                /* bytes that are there; 0: the end; or a negative error */
{
    while (in_at == in_have) {
        if (in.got == in.total)
            return 0;
        long n = sys_read(WORK_IN, bytes, sizeof bytes);
        if (n > 0) {
            in_at = 0;
            in_have = (uint32_t)n;
            source_took(&in, (size_t)n);
        } else if (n != -E_INTR) {
            int r = n < 0 && n != -E_AGAIN ? (int)n : source_wait(&in);
            if (r < 0)
                return r;
        }
    }
    return in_have - in_at;
}

static long take(void *to, size_t n)  /* 1; 0: the end, before any of them; or a negative error */
{
    size_t have = 0;
    while (have < n) {
        long r = more();
        if (r <= 0)
            return r < 0 ? r : have ? -E_IO : 0;
        size_t part = min64((uint64_t)r, n - have);
        memcpy((uint8_t *)to + have, bytes + in_at, part);
        in_at += (uint32_t)part;
        have += part;
    }
    return 1;
}

static long take_file(int fd, uint64_t left)
{
    while (left) {
        long r = more();
        if (r <= 0)
            return r < 0 ? r : -E_IO;
        size_t part = min64((uint64_t)r, left);
        if ((r = write_all(fd, bytes + in_at, part)) < 0)
            return r;
        in_at += (uint32_t)part;
        left -= part;
    }
    return 0;
}

/* ---- unpack */
static int top, parent;               /* parent: the directory that was used last, top itself among them */
static uint32_t parent_len, temps;
static char parent_path[WIRE_PATH_MAX + 1], temp[48];
static struct { uint16_t len; uint64_t mtime; } held[WORK_DEPTH];
static uint32_t nheld;
static char held_path[WIRE_PATH_MAX + 1];

static void set_time(int dir, const char *name, uint64_t ns)
{
    int64_t t = (int64_t)ns, sec = t / (int64_t)NSEC, rest = t % (int64_t)NSEC;
    struct timespec_k v[2] = { { 0, UTIME_OMIT }, { rest < 0 ? sec - 1 : sec, rest < 0 ? rest + (int64_t)NSEC : rest } };
    sys_utimensat(dir, name, v, name ? AT_SYMLINK_NOFOLLOW : 0);
}

/* Directories get their times when nothing more comes below them, as far as the order of the records allows. */
static void let_go(const char *next)
{
    for (; nheld; nheld--) {
        size_t n = held[nheld - 1].len;
        if (next && strlen(next) > n && memcmp(next, held_path, n) == 0 && next[n] == '/')
            return;
        held_path[n] = 0;
        set_time(top, held_path, held[nheld - 1].mtime);
    }
}

static void use(int fd, const char *p, size_t n)
{
    if (parent != top)
        sys_close(parent);
    parent = fd;
    memcpy(parent_path, p, n);
    parent_len = (uint32_t)n;
}

/* The directory of a name, and its last component; made when it is missing and `make` says so. */
static int parent_of(char *p, int make, const char **name)
{
    size_t n = strlen(p);
    while (n && p[n - 1] != '/')
        n--;
    *name = p + n;
    n -= n != 0;
    if (!**name || str_eq(*name, ".") || str_eq(*name, ".."))
        return -E_INVAL;
    if (n == parent_len && memcmp(p, parent_path, n) == 0)
        return parent;
    int at = top;
    for (size_t from = 0, to; from < n; from = to + 1) {
        for (to = from; to < n && p[to] != '/'; to++)
            ;
        char kept = p[to], *part = p + from;
        p[to] = 0;
        long fd = str_eq(part, "..") ? -E_XDEV : sys_openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        if (fd == -E_NOENT && make) {
            fd = sys_mkdirat(at, part, 0755);
            if (fd == 0 || fd == -E_EXIST)
                fd = sys_openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        }
        p[to] = kept;
        if (at != top)
            sys_close(at);
        if (fd < 0)
            return (int)fd;
        at = (int)fd;
    }
    use(at, p, n);
    return at;
}

static void next_temp(void)
{
    size_t n = str_put(temp, sizeof temp, 0, ".interp-");
    if (!temps)
        random_hex(temp + n, 8);
    temp[n + 16] = '-';
    str_num(temp, sizeof temp, n + 17, ++temps);
}

static long place_dir(int dir, const char *name, const struct wire_entry *e)
{
    size_t n = strlen(path);
    long r = sys_mkdirat(dir, name, (e->mode & 0777) | 0700);
    if (r < 0 && r != -E_EXIST)
        return r;
    long fd = sys_openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    use((int)fd, path, n);
    if (r == 0 && nheld < WORK_DEPTH) {
        memcpy(held_path, path, n);
        held[nheld].len = (uint16_t)n;
        held[nheld++].mtime = e->mtime_ns;
    }
    return 0;
}

static long place_file(int dir, const struct wire_entry *e)
{
    long r = sys_openat(dir, temp, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    int fd = (int)r;
    if (r < 0)
        return r;
    r = take_file(fd, e->size);
    if (r == 0)
        r = sys_fchmod(fd, e->mode & 0777);
    set_time(fd, NULL, e->mtime_ns);
    sys_close(fd);
    return r;
}

static long place_link(int dir, const struct wire_entry *e)
{
    static char target[WIRE_PATH_MAX + 1];
    const char *old;
    if (!e->size || e->size > WIRE_PATH_MAX)
        return -E_INVAL;
    long r = take(target, (size_t)e->size);
    if (r <= 0)
        return r < 0 ? r : -E_IO;
    target[e->size] = 0;
    if (e->type == WIRE_TYPE_LINK) {
        r = sys_symlinkat(target, dir, temp);
        if (r == 0)
            set_time(dir, temp, e->mtime_ns);
        return r;
    }
    int from = parent_of(target, 0, &old);
    return from < 0 ? from : sys_linkat(from, old, dir, temp);
}

/* Made beside its name and renamed, so that it is there whole or not at all. */
static long place(const struct wire_entry *e, int keep)
{
    const char *name;
    int dir = parent_of(path, 1, &name);
    if (dir < 0)
        return dir;
    if (e->type == WIRE_TYPE_DIR)
        return place_dir(dir, name, e);
    if (e->type != WIRE_TYPE_FILE && e->type != WIRE_TYPE_LINK && e->type != WIRE_TYPE_SAME)
        return -WIRE_FILE_NOT_REGULAR;
    int same = e->type == WIRE_TYPE_SAME;
    if (same && (dir = (int)sys_fcntl(dir, F_DUPFD_CLOEXEC, 0)) < 0)     /* that of the other name takes its place */
        return dir;
    next_temp();
    long r = e->type == WIRE_TYPE_FILE ? place_file(dir, e) : place_link(dir, e);
    if (r == 0)
        r = sys_renameat2(dir, temp, dir, name, keep ? RENAME_NOREPLACE : 0);
    if (r < 0 || same)                /* a rename of one name of a file over another does nothing */
        sys_unlinkat(dir, temp, 0);
    if (same)
        sys_close(dir);
    return r;
}

static long next(struct wire_entry *e)
{
    uint8_t raw[WIRE_ENTRY + WIRE_PATH_MAX];
    long r = take(raw, WIRE_ENTRY);
    if (r <= 0)
        return r;
    uint32_t n = raw[WIRE_ENTRY - 2] | (uint32_t)raw[WIRE_ENTRY - 1] << 8;
    if (!n || n > WIRE_PATH_MAX)
        return -E_INVAL;
    if ((r = take(raw + WIRE_ENTRY, n)) <= 0)
        return r < 0 ? r : -E_IO;
    struct wire_in i;
    interp__wire_in_init(&i, raw, WIRE_ENTRY + n);
    if (interp__wire_get_entry(&i, e) < 0)
        return -E_INVAL;
    memcpy(path, e->path.p, n);
    path[n] = 0;
    e->path.p = (uint8_t *)path;
    return 1;
}

int tree_unpack(const char *where, int keep, struct wire_file_done *d)
{
    struct wire_file_done made;
    struct wire_entry e;
    in = (struct intake){ .total = UINT64_MAX };
    in_at = in_have = nheld = temps = 0;
    top = path_open(where, O_PATH | O_DIRECTORY);
    if (top == -E_NOENT) {
        int r = make_dir(where, 1, 0755, &made);
        top = r < 0 ? r : path_open(where, O_PATH | O_DIRECTORY);
    }
    if (top < 0)
        return top;
    parent = top;
    parent_len = 0;
    long r;
    while ((r = next(&e)) > 0) {
        let_go(path);
        if ((r = place(&e, keep)) < 0) {
            e.flags = 0;
            send_record(&e);          /* which one it was */
            send_records();
            break;
        }
        d->count++;
    }
    let_go(NULL);
    use(top, "", 0);
    sys_close(top);
    if (r == -E_PIPE)
        sys_exit(0);
    return (int)r;
}
