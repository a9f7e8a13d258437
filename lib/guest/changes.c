/* changes.c - what is different in the workspace since the last look, in the process that keeps the last look (a worker of its own). An entry is the same when inode, size,
   mode and change time are: user code can't set the last of them. Directories are only gone through. Bounded: what is beyond the bounds makes the answer incomplete. */
#include "guest.h"

#define ENTRIES 131072u
#define SLOTS   (2u * ENTRIES)
#define NAMES   (16u << 20)

struct entry { uint64_t hash, ino, ctime, size; uint32_t at, mode; uint16_t len; uint8_t seen; };
struct look { uint32_t n, used, slot[SLOTS]; struct entry e[ENTRIES]; char names[NAMES]; };
static struct look *before, *after;

static struct look *fresh(struct look *old)
{
    if (old) {
        if (old->n && sc3(NR_madvise, PTR(old), sizeof *old, MADV_DONTNEED) < 0)
            memset(old, 0, sizeof *old);
        return old;
    }
    long p = sc6(NR_mmap, 0, sizeof *old, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | 0x4000 /* NORESERVE */, -1, 0);
    return p < 0 && p > -4096 ? NULL : (struct look *)(uintptr_t)p;
}

static uint64_t hash_of(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)p[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static uint32_t *place(struct look *l, uint64_t hash, const char *name, size_t n)
{
    uint32_t i = (uint32_t)hash & (SLOTS - 1);
    while (l->slot[i]) {
        const struct entry *e = &l->e[l->slot[i] - 1];
        if (e->hash == hash && e->len == n && memcmp(l->names + e->at, name, n) == 0)
            break;
        i = (i + 1) & (SLOTS - 1);
    }
    return &l->slot[i];
}

static int add(struct look *l, const char *name, size_t n, const struct statx_k *s)
{
    if (l->n == ENTRIES || NAMES - l->used < n)
        return -1;
    uint64_t h = hash_of(name, n);
    uint32_t *at = place(l, h, name, n);
    if (*at)
        return 0;                     /* a directory that changes while it is read can say a name twice */
    struct entry *e = &l->e[l->n];
    *e = (struct entry){ .hash = h, .ino = s->ino, .ctime = (uint64_t)s->ctime.sec * NSEC + s->ctime.nsec, .size = s->size, .at = l->used, .mode = s->mode, .len = (uint16_t)n };
    memcpy(l->names + l->used, name, n);
    l->used += (uint32_t)n;
    *at = ++l->n;
    return 0;
}

/* All names below the workspace. 1: not all. */
static int scan(struct look *l)
{
    static char name[WORK_DEPTH * 256 + 256];
    int more = 0;
    uint32_t at = 0;
    long error;
    int fd = path_open(".", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (fd < 0)
        return 1;
    level_enter(&levels[0], fd, "", 0);
    for (;;) {
        struct level *v = &levels[at];
        struct dirent_k *d = level_next(v, &error);
        if (!d) {
            more |= error < 0;
            sys_close(v->fd);
            if (!at--)
                return more;
            continue;
        }
        struct statx_k s;
        uint32_t len = v->path_len;
        if (len)
            name[len++] = '/';
        len = (uint32_t)str_put(name, sizeof name, len, d->name);
        if (d->type != DT_DIR) {
            if (len > UINT16_MAX || memcmp(d->name, ".interp-", 8) == 0 || sys_statx(v->fd, d->name, AT_SYMLINK_NOFOLLOW, &s) < 0)
                continue;
            if ((s.mode & S_IFMT) != S_IFDIR) {
                if (add(l, name, len, &s) < 0)
                    more = 1;
                continue;
            }
        }
        fd = at + 1 < WORK_DEPTH ? (int)sys_openat(v->fd, d->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0) : -1;
        if (fd < 0)
            more |= fd != -E_NOENT;
        else
            level_enter(&levels[++at], fd, "", len);
    }
}

int changes_snap(struct wire_file_done *d)
{
    if (!(before = fresh(before)))
        return -E_NOMEM;
    d->more = (uint8_t)scan(before);
    d->count = before->n;
    return 0;
}

static void content(int fd, uint64_t size)
{
    static uint8_t b[32 << 10];
    while (size) {
        long r = fd < 0 ? 0 : sys_read(fd, b, min64(size, sizeof b));
        if (r == -E_INTR)
            continue;
        if (r <= 0) {                 /* it became shorter: the bytes that were promised, all the same */
            memset(b, 0, sizeof b);
            r = (long)min64(size, sizeof b);
            fd = -1;
        }
        send_bytes(b, (size_t)r);
        size -= (uint64_t)r;
    }
}

static void report(const struct look *l, const struct entry *e, uint8_t how, uint64_t *budget, uint32_t most, struct wire_file_done *d)
{
    static char path[UINT16_MAX + 1];
    if (d->count >= most) {
        d->more = 1;
        return;
    }
    d->count++;
    memcpy(path, l->names + e->at, e->len);
    path[e->len] = 0;
    struct wire_entry w = { .type = file_type_of((uint16_t)e->mode), .flags = how, .mode = e->mode & 07777, .size = e->size, .mtime_ns = e->ctime, .path = { (uint8_t *)path, e->len } };
    int fd = -1;
    if (how != WIRE_CHANGE_DELETED && w.type == WIRE_TYPE_FILE && e->size <= *budget && (fd = path_open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)) >= 0) {
        struct statx_k s;
        if (sys_statx(fd, "", AT_EMPTY_PATH, &s) == 0 && (s.mode & S_IFMT) == S_IFREG && s.ino == e->ino && s.size == e->size) {
            w.flags |= WIRE_CHANGE_CONTENT;
            *budget -= e->size;
        }
    }
    send_record(&w);
    if (w.flags & WIRE_CHANGE_CONTENT) {
        send_records();
        content(fd, e->size);
    }
    if (fd >= 0)
        sys_close(fd);
}

/* budget: bytes of content that go with it. */
int changes_diff(uint64_t budget, uint32_t most, struct wire_file_done *d)
{
    if (!before)
        return -E_NOENT;              /* this process has not looked before */
    if (!(after = fresh(after)))
        return -E_NOMEM;
    d->more = (uint8_t)scan(after);
    for (uint32_t i = 0; i < after->n; i++) {
        const struct entry *e = &after->e[i];
        uint32_t was = *place(before, e->hash, after->names + e->at, e->len);
        struct entry *o = was ? &before->e[was - 1] : NULL;
        if (o)
            o->seen = 1;
        if (!o)
            report(after, e, WIRE_CHANGE_CREATED, &budget, most, d);
        else if (o->ino != e->ino || o->ctime != e->ctime || o->size != e->size || o->mode != e->mode)
            report(after, e, WIRE_CHANGE_CHANGED, &budget, most, d);
    }
    for (uint32_t i = 0; i < before->n; i++)
        if (!before->e[i].seen)
            report(before, &before->e[i], WIRE_CHANGE_DELETED, &budget, most, d);
    send_records();
    struct look *t = before;
    before = after;
    after = t;
    return 0;
}
