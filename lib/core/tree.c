/* tree.c - up: an archive or a walk becomes records; down: records, of which nothing is believed, become an archive or files of the host's */
#include "core.h"
#include "core/gunzip.h"
#include "core/tree.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LEFT_MAX ((size_t)1 << 20)    /* what is told of entries left out */
#define STRAIGHT 8192u                /* content of at least so much goes without a copy in between */
#define WORK     ((size_t)1 << 20)    /* bytes to unpack in one go, before the host's loop has its turn */
#define WALK     256u                 /* entries to look at in one go */
#define BESIDE   ((uint64_t)16 << 10) /* of an archive, bytes that are no content for each entry that is taken */

/* ---- making and ending */

struct interp__tree *interp__tree_new(const struct interp__mem *m, uint32_t flags, uint64_t max_bytes, uint64_t max_entries)
{
    struct interp__tree *t = interp__alloc(m, sizeof *t);
    if (!t)
        return NULL;
    t->mem = m;
    t->flags = flags;
    t->max_bytes = max_bytes;
    t->max_entries = max_entries;
    interp__buf_init(&t->left, m);
    interp__buf_init(&t->text, m);
    interp__buf_init(&t->out, m);
    return t;
}

/* Everything but the words of a failure. */
static void let_go(struct interp__tree *t)
{
    interp__gunzip_free(t->packed);
    interp__links_free(&t->known, t->mem);
    interp__free(t->mem, t->tar);
    interp__walk_free(t->walk);
    interp__landing_free(t->landing, t->failed);
    interp__buf_free(&t->out);
    t->packed = NULL;
    t->tar = NULL;
    t->walk = NULL;
    t->landing = NULL;
}

void interp__tree_free(struct interp__tree *t)
{
    if (!t)
        return;
    t->failed |= t->landing != NULL;   /* it was not finished */
    let_go(t);
    interp__buf_free(&t->left);
    interp__buf_free(&t->text);
    interp__free(t->mem, t);
}

static void add_name(struct interp_session *s, struct interp__buf *b, const char *p, size_t n)
{
    interp__redact_text(s, p, n);
    interp__json_text(b, s->redacted.p, s->redacted.len);
    interp__redact_forget(s);
}

interp_error *interp__tree_error(struct interp_session *s, const struct interp__file *f, uint64_t placed)
{
    struct interp__tree *t = f->tree;
    interp_error *why = NULL;
    const char *text = interp__buf_text(&t->text);
    if (f->op == WIRE_FILE_PACK)
        placed = t->placed;
    if (!text)
        interp__nomem(&why);
    else if (f->op == WIRE_FILE_PACK && !t->lands)
        interp__fail_with(&s->mem, &why, &t->fault, "%s", text);
    else if (placed == INTERP_UNKNOWN)
        interp__fail_with(&s->mem, &why, &t->fault, "%s; the sandbox does not say how many entries have been placed", text);
    else
        interp__fail_with(&s->mem, &why, &t->fault, "%s; %" PRIu64 " entries have been placed", text, placed);
    return why;
}

/* The call fails at an entry (path NULL: at none in particular). The sandbox is told to stop, and says how far it was. */
static void fail(struct interp_session *s, struct interp__file *f, const struct interp__fault *fault, const char *path, size_t path_len, const char *words)
{
    struct interp__tree *t = f->tree;
    if (t->failed)
        return;
    t->failed = 1;
    t->fault = *fault;
    f->heard = interp__now();
    interp__buf_str(&t->text, f->op == WIRE_FILE_UNPACK ? "put " : "get ");
    add_name(s, &t->text, f->path, f->path_len);
    if (path) {
        interp__buf_str(&t->text, ": ");
        add_name(s, &t->text, path, path_len);
    }
    interp__buf_fmt(&t->text, ": %s", words);
    let_go(t);
    if (!f->sent && f->call && !f->call->done)
        interp__call_done(f->call, interp__tree_error(s, f, 0));
    interp__file_cancel(s, f);
}

static void fail_system(struct interp_session *s, struct interp__file *f, int e, const char *path, size_t path_len, const char *words)
{
    struct interp__fault fault = { e == EACCES || e == EPERM || e == EROFS || e == ELOOP ? INTERP_E_DENIED : e == EEXIST ? INTERP_E_EXISTS : e == ENOSPC || e == EDQUOT || e == EFBIG || e == EMFILE || e == ENFILE || e == ENAMETOOLONG ?
                                   INTERP_E_LIMIT : e == ENOMEM ? INTERP_E_NOMEM : INTERP_E_IO, e == EEXIST ? "exists" : e == ENAMETOOLONG ? "tree-depth" : "host-file", NULL, e, 0 };
    fail(s, f, &fault, path, path_len, e == EEXIST ? "the name is taken on the host" : e == ENAMETOOLONG ? "it is too deep, or its name is too long" : words);
}

static void fail_memory(struct interp_session *s, struct interp__file *f)
{
    static const struct interp__fault memory = { INTERP_E_NOMEM, "memory", NULL, 0, 0 };
    fail(s, f, &memory, NULL, 0, "out of memory");
}

static int count_in(struct interp_session *s, struct interp__file *f, const struct interp__tree_entry *e)
{
    static const struct interp__fault entries = { INTERP_E_LIMIT, "tree-entries", "raise tree_entries, or take fewer", 0, 0 };
    static const struct interp__fault bytes = { INTERP_E_LIMIT, "tree-bytes", "raise tree_bytes, or the bytes that are taken", 0, 0 };
    struct interp__tree *t = f->tree;
    uint64_t size = e->type == WIRE_TYPE_FILE ? e->size : 0;
    if (t->entries + t->left_out >= t->max_entries)
        fail(s, f, &entries, e->path, e->path_len, "there are more entries than are taken");
    else if (size > t->max_bytes - t->bytes)
        fail(s, f, &bytes, e->path, e->path_len, "the files have more bytes than are taken");
    else {
        t->bytes += size;
        return 0;
    }
    return -1;
}

static void tell(struct interp_session *s, struct interp__tree *t, const struct interp__tree_entry *e, const char *why)
{
    if (t->left.len > LEFT_MAX)
        return;
    interp__buf_str(&t->left, t->left.len ? ",{\"name\":" : "{\"name\":");
    interp__file_name(s, &t->left, e->path, e->path_len, "path_base64");
    interp__redact_forget(s);
    interp__buf_fmt(&t->left, ",\"type\":\"%s\",\"size\":%" PRIu64 ",\"mode\":%u,\"mtime_ms\":%" PRId64 ",\"why\":\"%s\"}", interp__file_type(e->type == WIRE_TYPE_SAME ? WIRE_TYPE_LINK : e->type), e->size, (unsigned)(e->mode & 07777),
                    interp__file_mtime((uint64_t)e->mtime_ns), why);
}

static void leave(struct interp_session *s, struct interp__tree *t, const struct interp__tree_entry *e, const char *why)
{
    t->left_out++;
    tell(s, t, e, why);
}

void interp__tree_json(const struct interp__tree *t, int more, struct interp__buf *j)
{
    interp__buf_fmt(j, "{\"files\":%" PRIu64 ",\"dirs\":%" PRIu64 ",\"links\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"left\":[", t->files, t->dirs, t->links, t->bytes);
    interp__buf_add(j, t->left.p, t->left.len);
    interp__buf_fmt(j, "],\"left_total\":%" PRIu64 ",\"changed\":%" PRIu64 ",\"complete\":%s}", t->left_out, t->changed, more || t->left_out || t->changed ? "false" : "true");
    j->bad |= t->left.bad;
}

static void count_kind(struct interp__tree *t, uint8_t type)
{
    t->entries++;
    t->files += type == WIRE_TYPE_FILE || type == WIRE_TYPE_SAME;
    t->dirs += type == WIRE_TYPE_DIR;
    t->links += type == WIRE_TYPE_LINK;
}

/* ---- up */

/* What it is as a link, and how far up that leads (-1: out of the tree). Another name of one is one as well, from where that name is. */
static uint8_t link_of(const struct interp__tree *t, const struct interp__tree_entry *e, long *up)
{
    uint8_t link = INTERP__LINK_NONE;
    *up = 0;
    if (e->type == WIRE_TYPE_SAME && (link = interp__links_get(&t->known, e->target, e->target_len)) > INTERP__LINK_KEPT)
        *up = link - INTERP__LINK_KEPT;
    else if (e->type == WIRE_TYPE_LINK) {
        *up = interp__tree_up(e->target, e->target_len);
        link = !(t->flags & INTERP_TREE_LINKS) ? INTERP__LINK_LEFT : (uint8_t)(INTERP__LINK_KEPT + (*up > 0 && *up <= INTERP__TREE_DEPTH ? *up : 0));
    }
    return link;
}

/* An entry to be sent: its record, or it is left out (skip). -1: the call has failed. */
static int send_entry(struct interp_session *s, struct interp__file *f, const struct interp__tree_entry *e)
{
    static const struct interp__fault leaves = { INTERP_E_DENIED, "tree-link", "set INTERP_TREE_OUTSIDE to have such links as they are", 0, 0 };
    struct interp__tree *t = f->tree;
    memcpy(t->path, e->path, e->path_len);     /* a walk fails at it later, too */
    t->path_len = e->path_len;
    t->skip = 0;
    t->of_file = e->type == WIRE_TYPE_FILE ? e->size : 0;
    if (count_in(s, f, e))
        return -1;
    long up;
    uint8_t link = link_of(t, e, &up);
    if (t->tar && interp__links_set(&t->known, t->mem, e->path, e->path_len, link)) {
        fail_memory(s, f);
        return -1;
    }
    if (!e->type || link == INTERP__LINK_LEFT) {
        leave(s, t, e, e->type ? "link" : "type");
        t->skip = 1;
        return 0;
    }
    if (link && !(t->flags & INTERP_TREE_OUTSIDE) && (up < 0 || up > interp__tree_above(e->path, e->path_len))) {
        fail(s, f, &leaves, e->path, e->path_len, "it is a link that leaves the directory");
        return -1;
    }
    uint8_t b[WIRE_ENTRY + WIRE_PATH_MAX];
    struct wire_out o = { b, b + sizeof b, 0 };
    struct wire_entry w = { .type = e->type, .mode = e->mode, .size = e->target_len ? e->target_len : e->size, .mtime_ns = (uint64_t)e->mtime_ns, .path = { (const uint8_t *)e->path, (uint16_t)e->path_len } };
    interp__wire_put_entry(&o, &w);
    interp__buf_add(&f->input, b, (size_t)(o.p - b));
    interp__buf_add(&f->input, e->target, e->target_len);
    count_kind(t, link ? WIRE_TYPE_LINK : e->type);
    return 0;
}

static void send_content(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n)
{
    size_t at = 0;
    if (f->tree->skip)
        return;
    if (n >= STRAIGHT && f->sent && !f->input.len)
        at = interp__peer_send(s, f->channel, p, n, 0, &f->tx_credit, 1);
    interp__buf_add(&f->input, p + at, n - at);
}

static interp_status code_of(const char *reason)
{
    if (!strcmp(reason, "tar-name") || !strcmp(reason, "tar-link") || !strcmp(reason, "tar-type"))
        return INTERP_E_DENIED;
    return strcmp(reason, "tree-depth") ? INTERP_E_INVAL : INTERP_E_LIMIT;
}

/* Reads on in the archive. -1: the call has failed. */
static int read_archive(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n)
{
    struct interp__tree *t = f->tree;
    struct interp__tar *a = t->tar;
    while (n) {
        switch (interp__tar_read(a, &p, &n)) {
        case INTERP__TAR_ENTRY:
            if (send_entry(s, f, &a->entry))
                return -1;
            break;
        case INTERP__TAR_DATA:
            send_content(s, f, a->data, a->data_len);
            break;
        case INTERP__TAR_BAD: {
            struct interp__fault fault = { code_of(a->reason), a->reason, NULL, 0, 0 };
            fail(s, f, &fault, a->at_entry ? a->path : NULL, a->path_len, a->words);
            return -1;
        }
        default:
            break;
        }
        if (a->beside / BESIDE > t->max_entries) {
            static const struct interp__fault headers = { INTERP_E_LIMIT, "tree-entries", "raise tree_entries, or take fewer", 0, 0 };
            fail(s, f, &headers, NULL, 0, "there are more headers than are taken");
            return -1;
        }
    }
    return 0;
}

/* As much of it as the queue has room for, and the host's loop time. */
static int unpack(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n, size_t room, size_t *taken)
{
    static const struct interp__fault damaged = { INTERP_E_INVAL, "gzip", NULL, 0, 0 };
    struct interp__tree *t = f->tree;
    struct interp__gunzip *g = t->packed;
    const uint8_t *from = n ? p : (p = g->plain);      /* nothing is given: any place will do */
    if (n > WORK)
        n = WORK;
    for (size_t work = 0;;) {
        while (g->at < g->len) {
            size_t waits = f->input.len - f->input_at, part = waits < room ? room - waits : 0;
            if (part > g->len - g->at)
                part = g->len - g->at;
            if (!part)
                return 0;
            g->at += (uint32_t)part;
            if (read_archive(s, f, g->plain + g->at - part, part))
                return -1;
        }
        if (work >= WORK)
            return 0;
        size_t before = n;
        if (interp__gunzip_next(g, &p, &n)) {
            fail(s, f, &damaged, NULL, 0, "the archive's compression is damaged, or it is no tar");
            return -1;
        }
        *taken = (size_t)(p - from);
        work += g->len;
        if (!g->len && before == n)
            return 0;
    }
}

/* Before anything is written, and again when what is there has gone. */
void interp__tree_write(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n, size_t room, size_t *taken)
{
    struct interp__tree *t = f->tree;
    *taken = 0;
    if (!t->begun && n) {
        t->begun = 1;
        if (!(t->tar = interp__alloc(t->mem, sizeof *t->tar)) || (*p == 0x1f && !(t->packed = interp__gunzip_new(t->mem)))) {
            fail_memory(s, f);
            return;
        }
        interp__tar_init(t->tar);
    }
    if (t->packed) {
        if (unpack(s, f, p, n, room, taken))
            return;
    } else {
        size_t waits = f->input.len - f->input_at, part = waits < room ? room - waits : 0;
        *taken = n < part ? n : part;
        if (read_archive(s, f, p, *taken))
            return;
    }
    if (f->input.bad)
        fail_memory(s, f);
}

int interp__tree_ended(struct interp_session *s, struct interp__file *f)
{
    static const struct interp__fault truncated = { INTERP_E_INVAL, "tar-truncated", NULL, 0, 0 }, cut = { INTERP_E_INVAL, "gzip", NULL, 0, 0 };
    struct interp__tree *t = f->tree;
    size_t taken;
    if (t->packed && unpack(s, f, NULL, 0, SIZE_MAX, &taken))
        return -1;                    /* at most what one buffer holds, and what the packing still has */
    if (t->packed && !interp__gunzip_whole(t->packed)) {
        fail(s, f, &cut, NULL, 0, "the archive's compression ends before its end");
        return -1;
    }
    if (!t->tar || interp__tar_finish(t->tar)) {
        fail(s, f, &truncated, NULL, 0, t->tar ? t->tar->words : "the archive is empty");
        return -1;
    }
    return 0;
}

void interp__tree_fill(struct interp_session *s, struct interp__file *f, size_t room)
{
    static const struct interp__fault shorter = { INTERP_E_IO, "changed", "try again when nothing writes it", 0, 0 };
    struct interp__tree *t = f->tree;
    struct interp__tree_entry e;
    unsigned looked = 0;
    while (!f->input_closed && f->input.len - f->input_at < room) {
        f->heard = interp__now();
        if (t->of_file) {
            size_t n = t->of_file < 128u << 10 ? (size_t)t->of_file : 128u << 10;
            if (interp__buf_reserve(&f->input, n)) {
                fail_memory(s, f);
                return;
            }
            long r = interp__walk_read(t->walk, f->input.p + f->input.len, n);
            if (r < 0) {
                fail_system(s, f, (int)-r, t->path, t->path_len, "it can't be read on the host");
                return;
            }
            if (!r) {
                fail(s, f, &shorter, t->path, t->path_len, "it became shorter on the host while it was read");
                return;
            }
            f->input.len += (size_t)r;
            t->of_file -= (uint64_t)r;
            continue;
        }
        if (looked++ == WALK) {
            s->link->again = 1;
            return;
        }
        int r = interp__walk_next(t->walk, &e);
        if (r < 0) {
            fail_system(s, f, -r, e.path, e.path_len, "it can't be read on the host");
            return;
        }
        if (!r)
            f->input_closed = 1;
        else if (send_entry(s, f, &e))
            return;
        if (f->input.bad) {
            fail_memory(s, f);
            return;
        }
    }
}

/* ---- down */

enum { HEAD, PATH, CONTENT, TARGET };

static void as_entry(const struct interp__tree *t, struct interp__tree_entry *e)
{
    *e = (struct interp__tree_entry){ .type = t->entry.type, .mode = t->entry.mode, .size = t->entry.size, .mtime_ns = (int64_t)t->entry.mtime_ns, .path = t->path, .path_len = t->path_len };
}

/* The directory that is open becomes the one that the path names: it or one above it. -1: it is none of them. */
static int go_to(struct interp__tree *t, size_t dir_len)
{
    while (t->depth && t->ends[t->depth - 1] > dir_len) {
        t->depth--;
        if (t->landing)
            interp__landing_up(t->landing);
    }
    size_t here = t->depth ? t->ends[t->depth - 1] : 0;
    return here == dir_len && !memcmp(t->at, t->path, dir_len) ? 0 : -1;
}

/* What was done with an entry on the host. */
static void refused(struct interp_session *s, struct interp__file *f, int e)
{
    if (e)
        fail_system(s, f, e, f->tree->path, f->tree->path_len, "the host's system refused it");
}
static void did(struct interp_session *s, struct interp__file *f, int e)
{
    f->tree->placed += !e;
    refused(s, f, e);
}

static void end_file(struct interp_session *s, struct interp__file *f)
{
    struct interp__tree *t = f->tree;
    t->state = HEAD;
    if (t->landing)
        did(s, f, interp__landing_close(t->landing));
    else
        interp__tar_fill(&t->out, t->entry.size);
}

static void take_link(struct interp_session *s, struct interp__file *f, const char *name)
{
    struct interp__tree *t = f->tree;
    struct interp__tree_entry e;
    as_entry(t, &e);
    t->target[t->entry.size] = 0;
    e.target = t->target;
    e.target_len = (size_t)t->entry.size;
    if (!(t->flags & INTERP_TREE_LINKS) || (!(t->flags & INTERP_TREE_OUTSIDE) && !interp__tree_stays(&e))) {
        leave(s, t, &e, "link");
        return;
    }
    if (t->flags & INTERP_TREE_OUTSIDE && !t->landing && interp__links_set(&t->known, t->mem, t->path, t->path_len, INTERP__LINK_KEPT)) {
        fail_memory(s, f);
        return;
    }
    count_kind(t, WIRE_TYPE_LINK);
    if (t->landing)
        did(s, f, interp__landing_link(t->landing, name, &e));
    else
        interp__tar_head(&t->out, &e);
}

static const char *component(const struct interp__tree *t)
{
    const char *slash = t->path + t->path_len;
    while (slash > t->path && slash[-1] != '/')
        slash--;
    return slash;
}

/* A directory that could not be entered: there it is, and nothing in it. */
static void take_closed(struct interp_session *s, struct interp__file *f, const char *name, const struct interp__tree_entry *e)
{
    struct interp__tree *t = f->tree;
    t->dirs++;
    if (!t->landing) {
        interp__tar_head(&t->out, e);
        return;
    }
    did(s, f, interp__landing_dir(t->landing, name, e));
    if (!t->failed)
        interp__landing_up(t->landing);
}

/* A record's head is there. -1: no agent sends such a one. The record of a file that became shorter is that file's, which has just been: its path is held against that one and not kept. */
static int take_head(struct interp__tree *t)
{
    struct wire_entry e;
    struct wire_in in;
    size_t n = t->head[WIRE_ENTRY - 2] | (size_t)t->head[WIRE_ENTRY - 1] << 8;
    t->head[WIRE_ENTRY - 2] = t->head[WIRE_ENTRY - 1] = 0;
    interp__wire_in_init(&in, t->head, sizeof t->head);
    if (interp__wire_get_entry(&in, &e) || !n || n >= sizeof t->path)
        return -1;
    if (e.flags == WIRE_ENTRY_SHORT && (e.type != WIRE_TYPE_FILE || !t->had_content || n != t->path_len))
        return -1;
    t->had_content = 0;
    t->entry = e;
    t->path_len = n;
    t->state = PATH;
    return 0;
}

/* The whole record is there. */
static int take_entry(struct interp_session *s, struct interp__file *f)
{
    static const struct interp__fault again = { INTERP_E_IO, "changed", "try again when nothing writes it", 0, 0 };
    struct interp__tree *t = f->tree;
    struct interp__tree_entry e;
    const char *name = component(t);
    size_t dir_len = name == t->path ? 0 : (size_t)(name - t->path) - 1;
    uint8_t type = t->entry.type, flags = t->entry.flags;
    as_entry(t, &e);
    t->state = HEAD;
    if (flags == WIRE_ENTRY_SHORT) {
        t->changed++;
        tell(s, t, &e, "changed");
        return 0;
    }
    if (!interp__tree_plain(t->path, t->path_len) || type < WIRE_TYPE_FILE || type > WIRE_TYPE_BLOCK || go_to(t, dir_len) || flags > WIRE_ENTRY_CLOSED || (t->path_len > WIRE_PATH_MAX && !flags))
        return -1;
    if (interp__links_get(&t->known, t->path, t->path_len)) {
        fail(s, f, &again, t->path, t->path_len, "its name was that of a link before");
        return 0;
    }
    if (flags || type > WIRE_TYPE_LINK) {
        e.type = 0;                   /* nothing of it comes */
        if (!count_in(s, f, &e)) {
            e.type = type;
            leave(s, t, &e, flags ? "closed" : "type");
            if (type == WIRE_TYPE_DIR && t->path_len <= WIRE_PATH_MAX)
                take_closed(s, f, name, &e);
        }
        return 0;
    }
    if (count_in(s, f, &e))
        return 0;
    if (type == WIRE_TYPE_LINK) {
        t->state = TARGET;
        return e.size && e.size <= WIRE_PATH_MAX ? 0 : -1;
    }
    if (type == WIRE_TYPE_DIR) {
        if (t->depth == INTERP__TREE_DEPTH)
            return -1;
        memcpy(t->at, t->path, t->path_len);
        t->ends[t->depth++] = (uint16_t)t->path_len;
    }
    count_kind(t, type);
    if (!t->landing)
        interp__tar_head(&t->out, &e);
    else if (type == WIRE_TYPE_DIR)
        did(s, f, interp__landing_dir(t->landing, name, &e));
    else
        refused(s, f, interp__landing_file(t->landing, name, &e));
    if (t->failed || type == WIRE_TYPE_DIR)
        return 0;
    t->of_file = e.size;
    t->had_content = e.size > 0;
    if (e.size)
        t->state = CONTENT;
    else
        end_file(s, f);
    return 0;
}

static int read_records(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n)
{
    struct interp__tree *t = f->tree;
    while (n && !t->failed) {
        if (t->state == CONTENT) {
            size_t k = t->of_file < n ? (size_t)t->of_file : n;
            if (t->landing)
                refused(s, f, interp__landing_write(t->landing, p, k));
            else
                interp__buf_add(&t->out, p, k);
            p += k;
            n -= k;
            if (!(t->of_file -= k) && !t->failed)
                end_file(s, f);
            continue;
        }
        uint8_t *to = t->state == HEAD ? t->head : (uint8_t *)(t->state == PATH ? t->path : t->target);
        size_t want = t->state == HEAD ? sizeof t->head : t->state == PATH ? t->path_len : (size_t)t->entry.size, k = want - t->have < n ? want - t->have : n;
        if (t->state == PATH && t->entry.flags == WIRE_ENTRY_SHORT && memcmp(to + t->have, p, k))
            return -1;
        memcpy(to + t->have, p, k);
        t->have += (uint32_t)k;
        p += k;
        n -= k;
        if (t->have < want)
            return 0;
        t->have = 0;
        if (t->state == HEAD) {
            if (take_head(t))
                return -1;
        } else if (t->state == PATH) {
            t->path[t->path_len] = 0;
            if (take_entry(s, f))
                return -1;
        } else {
            if (memchr(t->target, 0, want))
                return -1;
            t->state = HEAD;
            take_link(s, f, component(t));
        }
    }
    return 0;
}

int interp__tree_data(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n)
{
    struct interp__tree *t = f->tree;
    struct interp_call *c = f->call;
    t->out.len = 0;
    if (read_records(s, f, p, n))
        return -1;
    if (t->failed)
        return 0;
    struct interp_event *v = NULL;
    if (t->out.bad || (t->out.len && (c->abandoned || !(v = interp__event_new(s, INTERP_EV_DATA, t->out.p, t->out.len))))) {
        fail_memory(s, f);
        return 0;
    }
    if (!v) {
        interp__peer_credit(s, f->channel, (uint32_t)n);
        return 0;
    }
    v->offset = f->offset;
    v->channel = f->channel;
    v->credit = (uint32_t)n;
    f->offset += t->out.len;
    interp__call_event(c, v);
    return 0;
}

int interp__tree_whole(const struct interp__file *f, uint64_t count)
{
    const struct interp__tree *t = f->tree;
    return f->op == WIRE_FILE_UNPACK ? f->input_ended && count == t->entries : t->state == HEAD && !t->have && count == t->entries + t->left_out;
}

void interp__tree_finish(struct interp_session *s, struct interp__file *f)
{
    struct interp__tree *t = f->tree;
    if (f->op == WIRE_FILE_PACK && !t->landing) {
        t->out.len = 0;
        interp__tar_end(&t->out);
        struct interp_event *v = t->out.bad ? NULL : interp__event_new(s, INTERP_EV_DATA, t->out.p, t->out.len);
        if (!v) {
            fail_memory(s, f);
            return;
        }
        v->offset = f->offset;
        interp__call_event(f->call, v);
    }
    let_go(t);
}
