/* tar.c - ustar with pax's and GNU's long names, read strictly: what two readers might understand in two ways is refused, and so is all that is neither file, directory nor link */
#include "core/tar.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEADER, CONTENT, PADDING, EXTENSION, EXTENSION_PADDING };

/* ---- names */

int interp__tree_foreign(const char *p, size_t n)
{
    if (!memchr(p, '\\', n))
        return 0;
    if (n > 2 && p[1] == ':' && p[2] == '\\')
        return 1;
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && p[end] != '\\' && p[end] != '/')
            end++;
        if (end - at == 2 && p[at] == '.' && p[at + 1] == '.')
            return 1;
        at = end + 1;
    }
    return p[0] == '\\';
}

static size_t part_end(const char *p, size_t at, size_t n)
{
    while (at < n && p[at] != '/')
        at++;
    return at;
}

static int is_dot(const char *p, size_t n)
{
    return !n || (n == 1 && p[0] == '.');
}

static int is_up(const char *p, size_t n)
{
    return n == 2 && p[0] == '.' && p[1] == '.';
}

long interp__tree_path(char *p, size_t n, const char **reason, const char **words)
{
    size_t out = 0, depth = 0;
    const char *bad = n > WIRE_PATH_MAX ? "the name is too long" : memchr(p, 0, n) ? "the name has a NUL byte in it" : !n ? "the name is empty" : p[0] == '/' ? "the name is absolute" : NULL;
    *reason = "tar-name";
    for (size_t at = 0, end; at < n && !bad; at = end + 1) {
        end = part_end(p, at, n);
        depth += !is_dot(p + at, end - at);
        bad = is_up(p + at, end - at) ? "the name leaves the directory by \"..\"" : end - at > INTERP__NAME_MAX ? "a part of the name is too long" : NULL;
        if (depth > INTERP__TREE_DEPTH && !bad) {
            *reason = "tree-depth";
            bad = "it is too deep";
        }
    }
    *words = bad;
    if (bad)
        return -1;
    for (size_t at = 0, end; at < n; at = end + 1) {
        end = part_end(p, at, n);
        if (is_dot(p + at, end - at))
            continue;
        if (out)
            p[out++] = '/';
        memmove(p + out, p + at, end - at);
        out += end - at;
    }
    p[out] = 0;
    *words = interp__tree_foreign(p, out) ? "the name leads elsewhere on other systems" : NULL;
    return *words ? -1 : (long)out;
}

int interp__tree_plain(const char *p, size_t n)
{
    if (memchr(p, 0, n))
        return 0;
    for (size_t at = 0, end; at <= n; at = end + 1) {
        end = part_end(p, at, n);
        if (is_dot(p + at, end - at) || is_up(p + at, end - at) || end - at > INTERP__NAME_MAX)
            return 0;
    }
    return 1;
}

long interp__tree_above(const char *p, size_t n)
{
    long parts = 0;
    for (size_t at = 0, end; at < n; at = end + 1) {
        end = part_end(p, at, n);
        parts += !is_dot(p + at, end - at);
    }
    return parts - 1;
}

long interp__tree_up(const char *target, size_t n)
{
    long up = 0;
    int down = 0;
    if (!n || target[0] == '/' || interp__tree_foreign(target, n))
        return -1;
    for (size_t at = 0, end; at < n; at = end + 1) {
        end = part_end(target, at, n);
        if (is_up(target + at, end - at)) {
            if (down)
                return -1;
            up++;
        } else
            down |= !is_dot(target + at, end - at);
    }
    return up;
}

int interp__tree_stays(const struct interp__tree_entry *e)
{
    long up = interp__tree_up(e->target, e->target_len);
    return up >= 0 && up <= interp__tree_above(e->path, e->path_len);
}

/* ---- fields */

static enum interp__tar_found bad(struct interp__tar *t, const char *reason, const char *words)
{
    t->reason = reason;
    t->words = words;
    t->broken = 1;
    return INTERP__TAR_BAD;
}

static size_t text_len(const uint8_t *p, size_t max)
{
    const uint8_t *end = memchr(p, 0, max);
    return end ? (size_t)(end - p) : max;
}

/* Octal text, or GNU's binary form. 0, or -1: no such number. *negative: it is *v below 0. */
static int number(const uint8_t *p, size_t n, uint64_t *v, int *negative)
{
    *v = 0;
    *negative = 0;
    if (*p & 0x80) {
        uint8_t fill = *p == 0xff ? 0xff : 0;
        if (*p != 0xff && *p != 0x80)
            return -1;
        for (size_t i = 1; i < n; i++) {
            if (i + 8 < n ? p[i] != fill : i + 8 == n && (p[i] ^ fill) & 0x80)
                return -1;
            *v = *v << 8 | p[i];
        }
        *negative = fill != 0;
        *v = fill ? -(*v | (n < 9 ? UINT64_MAX << 8 * (n - 1) : 0)) : *v;
        return 0;
    }
    size_t i = 0;
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
        if (*v >> 60)
            return -1;
        *v = *v << 3 | (uint64_t)(p[i] - '0');
    }
    for (; i < n; i++)
        if (p[i] && p[i] != ' ')
            return -1;
    return 0;
}

static int64_t seconds(uint64_t v, int negative)
{
    static const uint64_t most = (uint64_t)INT64_MAX / 1000000000u;
    int64_t s = (int64_t)(v < most ? v : most) * 1000000000;
    return negative ? -s : s;
}

static int summed(const uint8_t *b)
{
    uint64_t said;
    int negative;
    uint32_t plain = 0;
    int32_t sign = 0;
    for (size_t i = 0; i < INTERP__TAR_BLOCK; i++) {
        uint8_t c = i >= 148 && i < 156 ? ' ' : b[i];
        plain += c;
        sign += (int8_t)c;
    }
    return !number(b + 148, 8, &said, &negative) && !negative && (said == plain || (sign >= 0 && said == (uint64_t)sign));
}

/* ---- extensions: pax's records, GNU's names */

static int decimal(const uint8_t *p, size_t n, uint64_t *v)
{
    *v = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || *v > (UINT64_MAX >> 1) / 10 - 1)
            return -1;
        *v = *v * 10 + (uint64_t)(p[i] - '0');
    }
    return n ? 0 : -1;
}

static int pax_time(const uint8_t *p, size_t n, int64_t *ns)
{
    uint64_t whole, part = 0;
    int negative = n && *p == '-';
    p += negative;
    n -= (size_t)negative;
    size_t k = 0, digits = 0;
    while (k < n && p[k] != '.')
        k++;
    if (k > 18)
        whole = UINT64_MAX;
    else if (decimal(p, k, &whole))
        return -1;
    for (size_t i = k + 1; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        if (digits < 9)
            part = part * 10 + (uint64_t)(p[i] - '0'), digits++;
    }
    while (digits++ < 9)
        part *= 10;
    *ns = seconds(whole, negative);
    if (*ns < INT64_MAX - 1000000000 && *ns > -INT64_MAX + 1000000000)
        *ns += negative ? -(int64_t)part : (int64_t)part;
    return 0;
}

static int key_is(const uint8_t *p, size_t n, const char *key)
{
    return n == strlen(key) && !memcmp(p, key, n);
}

static int name_to(char *to, size_t *to_len, const uint8_t *p, size_t n)
{
    if (!n || n > WIRE_PATH_MAX || memchr(p, 0, n))
        return -1;
    memcpy(to, p, n);
    to[n] = 0;
    *to_len = n;
    return 0;
}

static enum interp__tar_found pax(struct interp__tar *t)
{
    const uint8_t *p = t->extension, *end = p + t->ext_have;
    while (p < end) {
        size_t digits = 0;
        while (digits < 6 && p + digits < end && p[digits] >= '0' && p[digits] <= '9')
            digits++;
        uint64_t n = 0;
        if (!digits || p + digits == end || p[digits] != ' ' || decimal(p, digits, &n) || n < digits + 4 || n > (size_t)(end - p) || p[n - 1] != '\n')
            return bad(t, "tar-extension", "a pax header is malformed");
        const uint8_t *key = p + digits + 1, *eq = memchr(key, '=', n - digits - 2);
        if (!eq)
            return bad(t, "tar-extension", "a pax header is malformed");
        size_t nk = (size_t)(eq - key), nv = (size_t)(p + n - 1 - eq - 1);
        const uint8_t *v = eq + 1;
        int path = key_is(key, nk, "path"), target = key_is(key, nk, "linkpath"), size = key_is(key, nk, "size"), mtime = key_is(key, nk, "mtime");
        if ((nk >= 11 && !memcmp(key, "GNU.sparse.", 11)) || key_is(key, nk, "SCHILY.realsize") || key_is(key, nk, "SUN.holesdata"))
            return bad(t, "tar-sparse", "sparse files are not taken: make the archive without them");
        if (t->kind == 'g' && (path || target || size))
            return bad(t, "tar-extension", "a global pax header names a single entry");
        if ((path && t->has_path++) || (target && t->has_target++) || (size && t->has_size++))
            return bad(t, "tar-extension", "a pax header says the same thing twice");
        if ((path && name_to(t->path, &t->path_len, v, nv)) || (target && name_to(t->target, &t->target_len, v, nv)))
            return bad(t, "tar-name", "a pax header has a name that is empty, too long, or with a NUL byte in it");
        if (size && decimal(v, nv, &t->size))
            return bad(t, "tar-size", "a pax header has a size that is none");
        if (mtime && t->kind == 'x') {
            if (pax_time(v, nv, &t->mtime_ns))
                return bad(t, "tar-extension", "a pax header has a time that is none");
            t->has_mtime = 1;
        }
        p += n;
    }
    return INTERP__TAR_MORE;
}

static enum interp__tar_found extended(struct interp__tar *t)
{
    if (t->kind == 'x' || t->kind == 'g')
        return pax(t);
    size_t n = text_len(t->extension, t->ext_have);
    int path = t->kind == 'L';
    if (path ? t->has_path++ : t->has_target++)
        return bad(t, "tar-extension", "two headers name the same entry");
    if (path ? name_to(t->path, &t->path_len, t->extension, n) : name_to(t->target, &t->target_len, t->extension, n))
        return bad(t, "tar-name", "a long name is empty or too long");
    return INTERP__TAR_MORE;
}

/* ---- headers */

static enum interp__tar_found entry(struct interp__tar *t, uint8_t type)
{
    const uint8_t *b = t->block;
    struct interp__tree_entry *e = &t->entry;
    uint64_t v;
    int negative;
    memset(e, 0, sizeof *e);
    if (!t->has_path) {
        size_t prefix = !memcmp(b + 257, "ustar\0", 6) ? text_len(b + 345, 155) : 0, n = text_len(b, 100);
        memcpy(t->path, b + 345, prefix);
        if (prefix)
            t->path[prefix++] = '/';
        memcpy(t->path + prefix, b, n);
        t->path_len = prefix + n;
    }
    if (!t->has_target) {
        t->target_len = text_len(b + 157, 100);
        memcpy(t->target, b + 157, t->target_len);
        t->target[t->target_len] = 0;
    }
    t->at_entry = 1;
    e->path = t->path;
    e->path_len = t->path_len;
    if (number(b + 100, 8, &v, &negative))
        return bad(t, "tar-header", "a header has a mode that is none");
    e->mode = negative ? 0 : (uint32_t)(v & 0777);
    if (!t->has_size && (number(b + 124, 12, &t->size, &negative) || negative || t->size > (UINT64_MAX >> 1)))
        return bad(t, "tar-size", "a header has a size that is none");
    e->size = t->size;
    if (!t->has_mtime) {
        if (number(b + 136, 12, &v, &negative))
            return bad(t, "tar-header", "a header has a time that is none");
        t->mtime_ns = seconds(v, negative);
    }
    e->mtime_ns = t->mtime_ns;
    int slash = t->path_len && t->path[t->path_len - 1] == '/';
    e->type = type == '5' || ((type == '0' || !type) && slash) ? WIRE_TYPE_DIR : type == '0' || !type ? WIRE_TYPE_FILE : type == '2' ? WIRE_TYPE_LINK : type == '1' ? WIRE_TYPE_SAME : 0;
    if (!e->type)
        return bad(t, type == 'S' ? "tar-sparse" : "tar-type", type == 'S' ? "sparse files are not taken: make the archive without them" : type >= '3' && type <= '6' ? "it is a device or a pipe" : "it is of a type that is not taken");
    if (e->type != WIRE_TYPE_FILE && e->size)
        return bad(t, "tar-size", "it has a size, and is no file");
    long n = interp__tree_path(t->path, t->path_len, &t->reason, &t->words);
    if (n < 0 || (!n && e->type != WIRE_TYPE_DIR)) {
        if (!n)
            t->words = "the name is that of the directory itself";
        return bad(t, t->reason, t->words);
    }
    e->path_len = t->path_len = (size_t)n;
    if (e->type == WIRE_TYPE_LINK && !t->target_len)
        return bad(t, "tar-link", "it is a link to nothing");
    if (e->type == WIRE_TYPE_SAME) {
        n = interp__tree_path(t->target, t->target_len, &t->reason, &t->words);
        if (n <= 0)
            return bad(t, "tar-link", "it is another name of a file that is not within the directory");
        t->target_len = (size_t)n;
    }
    if (e->type == WIRE_TYPE_LINK || e->type == WIRE_TYPE_SAME) {
        e->target = t->target;
        e->target_len = t->target_len;
    }
    t->left = e->size;
    t->pad = (INTERP__TAR_BLOCK - e->size % INTERP__TAR_BLOCK) % INTERP__TAR_BLOCK;
    t->state = t->left ? CONTENT : HEADER;
    t->has_path = t->has_target = t->has_size = t->has_mtime = t->has_pax = 0;
    return e->path_len ? INTERP__TAR_ENTRY : INTERP__TAR_MORE;
}

static const char *other_kind(const uint8_t *b)
{
    static const struct { uint8_t n; const char *magic, *words; } kinds[] = {
        { 4, "PK\3\4", "it is a zip archive, no tar" }, { 6, "\3757zXZ\0", "it is compressed by xz: gzip is taken, or a plain tar" }, { 3, "BZh", "it is compressed by bzip2: gzip is taken, or a plain tar" },
        { 4, "\050\265\057\375", "it is compressed by zstd: gzip is taken, or a plain tar" } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!memcmp(b, kinds[i].magic, kinds[i].n))
            return kinds[i].words;
    return NULL;
}

static enum interp__tar_found header(struct interp__tar *t)
{
    const uint8_t *b = t->block;
    size_t zeros = 0;
    t->have = t->at_entry = 0;
    while (zeros < INTERP__TAR_BLOCK && !b[zeros])
        zeros++;
    if (zeros == INTERP__TAR_BLOCK) {
        if (t->has_path || t->has_target || t->has_pax)
            return bad(t, "tar-extension", "an extended header has no entry behind it");
        t->ended = 1;
        return INTERP__TAR_MORE;
    }
    if (!summed(b)) {
        const char *other = t->headers ? NULL : other_kind(b);
        return bad(t, "tar-header", other ? other : t->headers ? "a header is damaged" : "it is no tar archive");
    }
    t->headers++;
    uint8_t type = b[156];
    if (type != 'x' && type != 'g' && type != 'L' && type != 'K')
        return entry(t, type);
    uint64_t size;
    int negative;
    uint64_t most = type == 'x' || type == 'g' ? INTERP__TAR_EXTENSION_MAX : WIRE_PATH_MAX + 1;
    if (number(b + 124, 12, &size, &negative) || negative || !size || size > most)
        return bad(t, "tar-extension", "an extended header is empty or too large");
    t->kind = type;
    t->left = size;
    t->ext_have = 0;
    t->pad = (INTERP__TAR_BLOCK - size % INTERP__TAR_BLOCK) % INTERP__TAR_BLOCK;
    t->state = EXTENSION;
    if (type == 'x' && t->has_pax++)
        return bad(t, "tar-extension", "two extended headers for one entry");
    return INTERP__TAR_MORE;
}

/* ---- the stream */

void interp__tar_init(struct interp__tar *t)
{
    memset(t, 0, sizeof *t - sizeof t->extension);
}

/* Another archive might stand there, which one reader would see and the next would not; and what is packed may be far more than it was. */
static enum interp__tar_found behind(struct interp__tar *t, const uint8_t **p, size_t *n)
{
    const uint8_t *from = *p;
    size_t k = *n;
    *p += k;
    *n = 0;
    t->behind += k;
    if (k && (*from || memcmp(from, from + 1, k - 1)))
        return bad(t, "tar-behind", "something is behind the archive's end");
    return t->behind > INTERP__TAR_BEHIND_MAX ? bad(t, "tar-behind", "too many zeros are behind the archive's end") : INTERP__TAR_MORE;
}

enum interp__tar_found interp__tar_read(struct interp__tar *t, const uint8_t **p, size_t *n)
{
    if (t->broken)
        return INTERP__TAR_BAD;
    while (*n && !t->ended) {
        size_t want = t->state == HEADER ? INTERP__TAR_BLOCK - t->have : t->state == CONTENT || t->state == EXTENSION ? (size_t)(t->left < *n ? t->left : *n) : (size_t)t->pad;
        size_t k = want < *n ? want : *n;
        const uint8_t *from = *p;
        enum interp__tar_found found = INTERP__TAR_MORE;
        *p += k;
        *n -= k;
        t->beside += t->state == CONTENT ? 0 : k;
        switch (t->state) {
        case HEADER:
            memcpy(t->block + t->have, from, k);
            t->have += (uint32_t)k;
            if (t->have == INTERP__TAR_BLOCK)
                found = header(t);
            break;
        case CONTENT:
            t->data = from;
            t->data_len = k;
            if (!(t->left -= k))
                t->state = t->pad ? PADDING : HEADER;
            return INTERP__TAR_DATA;
        case EXTENSION:
            memcpy(t->extension + t->ext_have, from, k);
            t->ext_have += (uint32_t)k;
            if (!(t->left -= k)) {
                t->state = t->pad ? PADDING : HEADER;
                found = extended(t);
            }
            break;
        default:
            if (!(t->pad -= k))
                t->state = HEADER;
        }
        if (found != INTERP__TAR_MORE)
            return found;
    }
    return t->ended ? behind(t, p, n) : INTERP__TAR_MORE;
}

int interp__tar_finish(struct interp__tar *t)
{
    if (t->broken)
        return -1;
    if (t->ended)
        return 0;
    bad(t, "tar-truncated", t->headers || t->have ? "the archive ends before its end" : "the archive is empty");
    return -1;
}

/* ---- writing */

static void octal(uint8_t *p, size_t n, uint64_t v)
{
    p[--n] = 0;
    while (n) {
        p[--n] = (uint8_t)('0' + (v & 7));
        v >>= 3;
    }
}

static void block(struct interp__buf *out, const char *name, size_t nname, size_t prefix, const char *target, size_t ntarget, uint32_t mode, uint64_t size, uint64_t mtime, uint8_t type)
{
    uint8_t b[INTERP__TAR_BLOCK] = { 0 };
    uint32_t sum = 0;
    memcpy(b + 345, name, prefix);
    memcpy(b, name + prefix + (prefix != 0), nname - prefix - (prefix != 0));
    octal(b + 100, 8, mode);
    octal(b + 108, 8, 0);
    octal(b + 116, 8, 0);
    octal(b + 124, 12, size);
    octal(b + 136, 12, mtime);
    memset(b + 148, ' ', 8);
    b[156] = type;
    if (ntarget)
        memcpy(b + 157, target, ntarget);
    memcpy(b + 257, "ustar\00000", 8);
    octal(b + 329, 8, 0);
    octal(b + 337, 8, 0);
    for (size_t i = 0; i < sizeof b; i++)
        sum += b[i];
    octal(b + 148, 7, sum);
    interp__buf_add(out, b, sizeof b);
}

static void pax_record(struct interp__buf *out, const char *key, const char *v, size_t n)
{
    size_t body = strlen(key) + n + 3, len = body + 1;      /* ' ' '=' '\n', and at least one digit */
    for (size_t again = 0; again < 2; again++) {
        size_t digits = 1;
        for (size_t k = len; k >= 10; k /= 10)
            digits++;
        len = body + digits;
    }
    interp__buf_fmt(out, "%zu %s=", len, key);
    interp__buf_add(out, v, n);
    interp__buf_str(out, "\n");
}

static void pax_number(struct interp__buf *out, const char *key, int64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRId64, v);
    pax_record(out, key, text, (size_t)n);
}

/* Where a path can be cut in two for a header: the length of the first part, 0: no need, -1: nowhere. */
static long cut(const char *p, size_t n)
{
    if (n <= 100)
        return 0;
    for (size_t i = n > 156 ? 155 : n - 2; i > 0; i--)
        if (p[i] == '/' && n - i - 1 <= 100)
            return (long)i;
    return -1;
}

void interp__tar_head(struct interp__buf *out, const struct interp__tree_entry *e)
{
    static const int64_t octal_end = INT64_C(1) << 33;
    static const char fallback[] = "././@PaxEntry";          /* what a reader without pax makes of it leads nowhere */
    char path[WIRE_PATH_MAX + 2];
    size_t n = e->path_len;
    memcpy(path, e->path, n);
    if (e->type == WIRE_TYPE_DIR && n < WIRE_PATH_MAX)
        path[n++] = '/';
    int64_t size = e->type == WIRE_TYPE_FILE ? (int64_t)e->size : 0, mtime = e->mtime_ns / 1000000000 - (e->mtime_ns % 1000000000 < 0);
    int big = size >= octal_end, odd = mtime < 0 || mtime >= octal_end, far = e->target_len > 100;
    long split = cut(path, n);
    if (split < 0 || far || big || odd) {
        struct interp__buf say;
        interp__buf_init(&say, out->mem);
        if (split < 0)
            pax_record(&say, "path", path, n);
        if (far)
            pax_record(&say, "linkpath", e->target, e->target_len);
        if (big)
            pax_number(&say, "size", size);
        if (odd)
            pax_number(&say, "mtime", mtime);
        block(out, "././@PaxHeader", 14, 0, "", 0, 0644, say.len, 0, 'x');
        interp__buf_add(out, say.p, say.len);
        interp__tar_fill(out, say.len);
        out->bad |= say.bad;
        interp__buf_free(&say);
    }
    block(out, split < 0 ? fallback : path, split < 0 ? sizeof fallback - 1 : n, split > 0 ? (size_t)split : 0, e->target, far ? 0 : e->target_len, e->mode & 0777, big ? 0 : (uint64_t)size,
          odd ? 0 : (uint64_t)mtime, e->type == WIRE_TYPE_DIR ? '5' : e->type == WIRE_TYPE_LINK ? '2' : e->type == WIRE_TYPE_SAME ? '1' : '0');
}

void interp__tar_fill(struct interp__buf *out, uint64_t size)
{
    static const uint8_t zeros[INTERP__TAR_BLOCK];
    interp__buf_add(out, zeros, (INTERP__TAR_BLOCK - size % INTERP__TAR_BLOCK) % INTERP__TAR_BLOCK);
}

void interp__tar_end(struct interp__buf *out)
{
    static const uint8_t zeros[2 * INTERP__TAR_BLOCK];
    interp__buf_add(out, zeros, sizeof zeros);
}
