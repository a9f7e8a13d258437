/* verify.c - finds the first record of a trail that was altered, is missing, stands in another place, or was cut off; over rotated and compressed files */
#include "audit_priv.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4096 };

interp_status interp__audit_key_file(const struct interp__mem *m, const char *path, uint8_t key[INTERP__AUDIT_KEY_MAX], size_t *n, interp_error **err)
{
    uint8_t bytes[INTERP__AUDIT_KEY_MAX + 2];
    size_t have = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), e = errno;
    ssize_t r = fd < 0 ? -1 : 0;
    while (fd >= 0 && have < sizeof bytes && ((r = read(fd, bytes + have, sizeof bytes - have)) > 0 || (r < 0 && errno == EINTR)))
        have += r > 0 ? (size_t)r : 0;
    if (fd >= 0) {
        e = errno;
        close(fd);
    }
    interp_status st = INTERP_OK;
    if (r < 0) {
        struct interp__fault f = { INTERP_E_IO, "audit-key", "give a file that this user can read", e, 0 };
        st = interp__fail_with(m, err, &f, "the key file %.512s can't be read: %s", path, strerror(e));
    } else {
        if (have && bytes[have - 1] == '\n')
            have--;
        if (have < INTERP__AUDIT_KEY_MIN || have > INTERP__AUDIT_KEY_MAX)
            st = interp__fail(m, err, INTERP_E_INVAL, "audit-key", "the key file %.512s has %s bytes; a key has from %d to %d", path, have < INTERP__AUDIT_KEY_MIN ? "too few" : "too many",
                              INTERP__AUDIT_KEY_MIN, INTERP__AUDIT_KEY_MAX);
        else {
            memcpy(key, bytes, have);
            *n = have;
        }
    }
    interp__wipe(bytes, sizeof bytes);
    return st;
}

struct source { const char *path; uint64_t first; };
struct verify {
    const struct interp__mem *mem;
    struct audit_key key;
    const char *want_head;
    uint64_t records, first, seq, dropped;
    char head[INTERP__SHA256_HEX], event[32];
    int head_seen;
    /* the first problem; missing: the number of a record that has not come, which may still be found in a wrong place */
    const char *kind, *path;
    uint64_t line, missing, at_seq;
    char text[256];
};

static void problem(struct verify *v, const char *kind, const char *path, uint64_t line, uint64_t seq, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
static void problem(struct verify *v, const char *kind, const char *path, uint64_t line, uint64_t seq, const char *fmt, ...)
{
    va_list ap;
    v->kind = kind;
    v->path = path;
    v->line = line;
    v->at_seq = seq;
    va_start(ap, fmt);
    vsnprintf(v->text, sizeof v->text, fmt, ap);
    va_end(ap);
}

/* 0: go on, 1: all is known */
static int record(struct verify *v, const char *path, uint64_t number, const char *p, size_t n)
{
    struct audit_line l;
    int bad = interp__audit_read_line(&v->key, p, n, &l) || !l.good;
    if (v->missing) {   /* is it somewhere else? */
        if (!bad && l.seq == v->missing) {
            problem(v, "reordered", path, number, l.seq, "record %" PRIu64 " stands in another place than it was written", l.seq);
            return 1;
        }
        return 0;
    }
    uint64_t want = v->records ? v->seq + 1 : 0;
    if (bad) {
        problem(v, "altered", path, number, want, "the record was altered, or written with another key");
        return 1;
    }
    if (v->records && l.seq > want) {
        problem(v, "missing", path, number, want, "record %" PRIu64 " is missing: %" PRIu64 " follows %" PRIu64, want, l.seq, v->seq);
        v->missing = want;
        return 0;
    }
    if (v->records && l.seq < want) {
        problem(v, "reordered", path, number, l.seq, "record %" PRIu64 " comes again, or in another place, after %" PRIu64, l.seq, v->seq);
        return 1;
    }
    if (v->records ? strcmp(l.prev, v->head) != 0 : l.seq == 1 && strspn(l.prev, "0") != AUDIT_HEX) {
        problem(v, "altered", path, number, l.seq, "record %" PRIu64 " does not follow the record before it: one of them was replaced", l.seq);
        return 1;
    }
    if (!v->records) {
        if (l.seq != 1 && strcmp(l.event, "audit_rotate") != 0) {
            problem(v, "cut-off", path, number, l.seq - 1, "record %" PRIu64 " and those before it are missing: a file begins with record 1, or with that of a rotation", l.seq - 1);
            return 1;
        }
        v->first = l.seq;
    }
    v->records++;
    v->seq = l.seq;
    v->dropped += l.dropped;
    memcpy(v->head, l.hash, sizeof l.hash);
    memcpy(v->event, l.event, sizeof l.event);
    v->head_seen |= v->want_head && !strcmp(v->want_head, l.hash);
    return 0;
}

static gzFile open_file(const struct interp__mem *m, const char *path, interp_error **err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), e = errno;
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        e = EINVAL;
        close(fd);
        fd = -1;
    }
    gzFile g = fd >= 0 ? gzdopen(fd, "rb") : NULL;
    if (!g) {
        if (fd >= 0) {
            close(fd);
            e = ENOMEM;
        }
        struct interp__fault f = { INTERP_E_IO, "audit-file", "give files that this user can read", e, 0 };
        interp__fail_with(m, err, &f, "%.512s can't be read: %s", path, e == EINVAL ? "it is no regular file" : strerror(e));
    }
    return g;
}

/* All lines of a file. 0, 1: all is known, negative: a status. */
static int lines(struct verify *v, const char *path, int last, interp_error **err)
{
    gzFile g = open_file(v->mem, path, err);
    if (!g)
        return INTERP_E_IO;
    struct interp__buf b;
    interp__buf_init(&b, v->mem);
    uint64_t number = 0;
    int done = 0, n = 0;
    while (!done) {
        if (b.len > AUDIT_LINE_MAX) {
            if (!v->kind)
                problem(v, "altered", path, number + 1, v->seq + 1, "a line is longer than any record");
            done = 1;
            break;
        }
        if (interp__buf_reserve(&b, 256 << 10)) {
            done = interp__nomem(err);
            break;
        }
        n = gzread(g, b.p + b.len, 256 << 10);
        if (n <= 0)
            break;
        b.len += (size_t)n;
        size_t at = 0;
        for (const char *nl; !done && (nl = memchr(b.p + at, '\n', b.len - at)); at = (size_t)(nl + 1 - (const char *)b.p))
            done = record(v, path, ++number, (const char *)b.p + at, (size_t)(nl - (const char *)(b.p + at)));
        interp__buf_drop(&b, at);
    }
    int z = Z_OK;
    if (n < 0)
        gzerror(g, &z);
    int torn = gzclose(g) == Z_BUF_ERROR || z == Z_BUF_ERROR;
    if (!done && !v->kind && n < 0 && !torn)
        problem(v, "altered", path, number + 1, v->seq + 1, "the compressed file is damaged");
    else if (!done && !v->kind && (torn || b.len))
        problem(v, "cut-off", path, number + 1, v->records ? v->seq + 1 : 0, last ? "the last record is cut off" : "the file is cut off in the middle of a record");
    interp__buf_free(&b);
    return done < 0 ? done : v->kind && !v->missing;
}

static interp_status first_of(struct verify *v, struct source *s, interp_error **err)
{
    char b[64] = "";
    gzFile g = open_file(v->mem, s->path, err);
    if (!g)
        return INTERP_E_IO;
    int n = gzread(g, b, sizeof b - 1);
    gzclose(g);
    s->first = UINT64_MAX;
    if (n > 0)
        sscanf(b, AUDIT_HEAD "%" SCNu64, &s->first);
    return INTERP_OK;
}

static void report(struct verify *v, struct interp__buf *b)
{
    interp__buf_fmt(b, "{\"ok\":%s,\"records\":%" PRIu64 ",\"first_seq\":%" PRIu64 ",\"last_seq\":%" PRIu64 ",\"head\":\"%s\",\"from_start\":%s,\"ended\":%s,\"dropped\":%" PRIu64 ",\"problem\":",
                    v->kind ? "false" : "true", v->records, v->first, v->seq, v->head, v->first == 1 ? "true" : "false", !strcmp(v->event, "audit_end") ? "true" : "false", v->dropped);
    if (!v->kind)
        interp__buf_str(b, "null");
    else {
        interp__buf_fmt(b, "{\"kind\":\"%s\",\"file\":", v->kind);
        interp__json_text(b, v->path, strlen(v->path));
        interp__buf_fmt(b, ",\"line\":%" PRIu64 ",\"seq\":%" PRIu64 ",\"text\":", v->line, v->at_seq);
        interp__json_text(b, v->text, strlen(v->text));
        interp__buf_str(b, "}");
    }
    interp__buf_str(b, "}");
}

interp_status interp__audit_verify(const struct interp__mem *m, const char *const *paths, uint32_t n, const void *key, size_t nkey, const char *head, struct interp__audit_report *out, interp_error **err)
{
    struct verify v = { .mem = m, .want_head = head, .key = { (uint8_t *)(uintptr_t)key, nkey } };
    if (!n || n > FILES_MAX)
        return interp__fail(m, err, INTERP_E_INVAL, "argument", "from 1 to %d files can be verified together, not %u", FILES_MAX, n);
    if (head && (strlen(head) != AUDIT_HEX || strspn(head, "0123456789abcdef") != AUDIT_HEX))
        return interp__fail(m, err, INTERP_E_INVAL, "argument", "\"%.80s\" is no head: it has 64 hexadecimal digits in lower case", head);
    if (nkey && (nkey < INTERP__AUDIT_KEY_MIN || nkey > INTERP__AUDIT_KEY_MAX))
        return interp__fail(m, err, INTERP_E_INVAL, "audit-key", "an audit key has from %d to %d bytes, not %zu", INTERP__AUDIT_KEY_MIN, INTERP__AUDIT_KEY_MAX, nkey);
    struct source *s = interp__alloc(m, n * sizeof *s);
    if (!s)
        return interp__nomem(err);
    interp_status st = INTERP_OK;
    for (uint32_t i = 0; i < n && !st; i++) {   /* in the order of their records, however they were given */
        struct source one = { paths[i], 0 };
        uint32_t at = i;
        if (!paths[i]) {
            st = interp__fail(m, err, INTERP_E_INVAL, "argument", "a path is NULL");
            break;
        }
        st = first_of(&v, &one, err);
        for (; at && s[at - 1].first > one.first; at--)
            s[at] = s[at - 1];
        s[at] = one;
    }
    int done = 0;
    for (uint32_t i = 0; i < n && !st && !done; i++) {
        done = lines(&v, s[i].path, i + 1 == n, err);
        if (done < 0)
            st = done;
    }
    if (!st && !v.kind && !v.records)
        problem(&v, "cut-off", s[n - 1].path, 1, 1, "there is no record at all");
    if (!st && !v.kind && head && !v.head_seen)
        problem(&v, "cut-off", s[n - 1].path, 0, v.seq + 1, "the head that was asked for is none of these records: the end, or another file, is missing");
    interp__free(m, s);
    if (st)
        return st;
    interp__buf_init(&out->json, m);
    report(&v, &out->json);
    out->ok = !v.kind;
    if (!interp__buf_text(&out->json)) {
        interp__buf_free(&out->json);
        return interp__nomem(err);
    }
    return INTERP_OK;
}
