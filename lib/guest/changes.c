/* changes.c - what is different in the workspace since the last look, in the process that keeps the last look (a worker of its own). An entry is the same when inode, size,
   mode and change time are: user code can't set the last of them. Directories are only gone through. Bounded: what is beyond the bounds makes the answer incomplete. */
#include "guest.h"

#define ENTRIES 131072u
#define SLOTS   (2u * ENTRIES)
#define NAMES   (16u << 20)

/* was: number of the one before, of the look before; 0: it is new. seen: there is one after it. */
struct entry { uint64_t hash, ino, ctime, size; uint32_t at, mode, was; uint16_t len; uint8_t seen; };
/* slot: of the entries of which there are `hashed`, all of them or those that are new. */
struct look { uint32_t slot[SLOTS], n, used, hashed, next; struct entry e[ENTRIES]; char names[NAMES]; };
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

static void mix(uint64_t v[4], int rounds)
{
    while (rounds--) {
        v[0] += v[1], v[2] += v[3];
        v[1] = (v[1] << 13 | v[1] >> 51) ^ v[0], v[3] = (v[3] << 16 | v[3] >> 48) ^ v[2];
        v[0] = v[0] << 32 | v[0] >> 32;
        v[2] += v[1], v[0] += v[3];
        v[1] = (v[1] << 17 | v[1] >> 47) ^ v[2], v[3] = (v[3] << 21 | v[3] >> 43) ^ v[0];
        v[2] = v[2] << 32 | v[2] >> 32;
    }
}

/* SipHash-2-4: names are user code's, and with a key that it does not know it can't choose those that fall on one slot. */
static uint64_t hash_of(const char *p, size_t n)
{
    static uint64_t key[2];
    if (!key[0] && sys_getrandom(key, sizeof key) != (long)sizeof key)
        sys_exit(96);
    uint64_t v[4] = { key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u }, last = (uint64_t)n << 56;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t m;
        memcpy(&m, p, 8);
        v[3] ^= m;
        mix(v, 2);
        v[0] ^= m;
    }
    while (n--)
        last |= (uint64_t)(uint8_t)p[n] << 8 * n;
    v[3] ^= last;
    mix(v, 2);
    v[0] ^= last;
    v[2] ^= 0xff;
    mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static int is(const struct look *l, const struct entry *e, const char *name, size_t n)
{
    return e->len == n && memcmp(l->names + e->at, name, n) == 0;
}

static uint32_t *place(struct look *l, uint64_t hash, const char *name, size_t n)
{
    uint32_t i = (uint32_t)hash & (SLOTS - 1);
    while (l->slot[i]) {
        const struct entry *e = &l->e[l->slot[i] - 1];
        if (e->hash == hash && is(l, e, name, n))
            break;
        i = (i + 1) & (SLOTS - 1);
    }
    return &l->slot[i];
}

/* The entry of that name in the last look. A directory tells its names in the same order as long as it is the same, so it is mostly the next one, and nothing has to be searched. */
static struct entry *known(struct look *l, const char *name, size_t n)
{
    if (l->next < l->n && is(l, &l->e[l->next], name, n))
        return &l->e[l->next++];
    if (l->hashed < l->n) {
        if (l->hashed)
            memset(l->slot, 0, sizeof l->slot);
        for (l->hashed = 0; l->hashed < l->n;) {
            struct entry *e = &l->e[l->hashed++];
            e->hash = hash_of(l->names + e->at, e->len);
            *place(l, e->hash, l->names + e->at, e->len) = l->hashed;
        }
    }
    uint32_t at = *place(l, hash_of(name, n), name, n);
    if (!at)
        return NULL;
    l->next = at;
    return &l->e[at - 1];
}

static int add(struct look *l, struct look *last, const char *name, size_t n, const struct statx_k *s)
{
    struct entry *o = last ? known(last, name, n) : NULL;
    uint64_t h = o ? 0 : hash_of(name, n);
    uint32_t *at = o ? NULL : place(l, h, name, n);
    if (o ? o->seen : *at)
        return 0;                     /* a directory that changes while it is read can say a name twice */
    if (o)
        o->seen = 1;
    if (l->n == ENTRIES || NAMES - l->used < n)
        return -1;
    struct entry *e = &l->e[l->n++];
    *e = (struct entry){ .hash = h, .ino = s->ino, .ctime = (uint64_t)s->ctime.sec * NSEC + s->ctime.nsec, .size = s->size, .at = l->used, .mode = s->mode, .len = (uint16_t)n,
                         .was = o ? (uint32_t)(o - last->e) + 1 : 0 };
    memcpy(l->names + l->used, name, n);
    l->used += (uint32_t)n;
    if (at) {
        *at = l->n;
        l->hashed++;
    }
    return 0;
}

/* All names below the workspace, and which of them were there in the last look (NULL: none). halves: those of files that we are still writing for the host are no change.
   1: not all. */
static int scan(struct look *l, struct look *last, int halves)
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
            if ((halves && memcmp(d->name, ".interp-", 8) == 0) || sys_statx(v->fd, d->name, AT_SYMLINK_NOFOLLOW, &s) < 0)
                continue;
            if (len > UINT16_MAX) {
                more = 1;
                continue;
            }
            if ((s.mode & S_IFMT) != S_IFDIR) {
                if (add(l, last, name, len, &s) < 0)
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

int changes_snap(int halves, struct wire_file_done *d)
{
    if (!(before = fresh(before)))
        return -E_NOMEM;
    d->more = (uint8_t)scan(before, NULL, halves);
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
int changes_diff(uint64_t budget, uint32_t most, int halves, struct wire_file_done *d)
{
    if (!before)
        return -E_NOENT;              /* this process has not looked before */
    if (!(after = fresh(after)))
        return -E_NOMEM;
    d->more = (uint8_t)scan(after, before, halves);
    for (uint32_t i = 0; i < after->n; i++) {
        const struct entry *e = &after->e[i];
        const struct entry *o = e->was ? &before->e[e->was - 1] : NULL;
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
