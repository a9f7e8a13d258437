/* fuzz_tar.c - the reader of archives: the same entries however the bytes come, every name of them within its directory, and what the writer makes of them reads the same.
   The first byte says how the bytes are cut.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "core/tar.h"

#define FNV UINT64_C(0x100000001b3)

struct seen { uint64_t hash, entries, bytes; int end; };

static void mix(struct seen *s, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->hash = (s->hash ^ ((const uint8_t *)p)[i]) * FNV;
}

static void plain_path(const char *p, size_t n)
{
    size_t depth = 0;
    FUZZ_CHECK(n && n <= WIRE_PATH_MAX && strlen(p) == n && interp__tree_plain(p, n));
    for (size_t at = 0, end; at <= n; at = end + 1) {
        for (end = at; end < n && p[end] != '/'; end++)
            ;
        FUZZ_CHECK(end > at && end - at <= INTERP__NAME_MAX && ++depth <= INTERP__TREE_DEPTH);
        FUZZ_CHECK(!(end - at == 1 && p[at] == '.') && !(end - at == 2 && p[at] == '.' && p[at + 1] == '.'));
    }
}

/* out: the same as an archive, its content left out but for its place. */
static struct seen run(struct interp__tar *t, const uint8_t *p, size_t n, unsigned step, struct interp__buf *out)
{
    struct seen s = { 0xcbf29ce484222325u, 0, 0, 0 };
    uint64_t left = 0;
    interp__tar_init(t);
    for (size_t at = 0, k; at < n && s.end >= 0; at += k) {
        k = step ? 1 + (at * 7 + step) % (step * 5u) : n;
        k = k < n - at ? k : n - at;
        uint8_t *piece = fuzz_copy(p + at, k);
        const uint8_t *from = piece;
        size_t rest = k;
        while (rest && s.end >= 0) {
            const struct interp__tree_entry *e = &t->entry;
            switch (interp__tar_read(t, &from, &rest)) {
            case INTERP__TAR_ENTRY:
                FUZZ_CHECK(!left && e->type >= WIRE_TYPE_FILE && (e->type <= WIRE_TYPE_LINK || e->type == WIRE_TYPE_SAME) && e->mode <= 0777 && e->size <= INT64_MAX);
                plain_path(e->path, e->path_len);
                FUZZ_CHECK(!e->target_len == (e->type <= WIRE_TYPE_DIR) && e->target_len <= WIRE_PATH_MAX && (!e->target || strlen(e->target) == e->target_len));
                if (e->type == WIRE_TYPE_SAME)
                    plain_path(e->target, e->target_len);
                FUZZ_CHECK(e->type == WIRE_TYPE_FILE || !e->size);
                left = e->size;
                mix(&s, e->path, e->path_len + 1);
                mix(&s, &e->type, 1);
                mix(&s, &e->mode, sizeof e->mode);
                mix(&s, &e->size, sizeof e->size);
                mix(&s, &e->mtime_ns, sizeof e->mtime_ns);
                mix(&s, e->target, e->target_len);
                s.entries++;
                if (out) {
                    struct interp__tree_entry whole = *e;
                    whole.mtime_ns -= (whole.mtime_ns % 1000000000 + 1000000000) % 1000000000;
                    interp__tar_head(out, &whole);
                }
                break;
            case INTERP__TAR_DATA:
                FUZZ_CHECK(t->data_len && t->data_len <= left && t->data >= piece && t->data + t->data_len <= piece + k);
                mix(&s, t->data, t->data_len);
                left -= t->data_len;
                s.bytes += t->data_len;
                break;
            case INTERP__TAR_BAD:
                FUZZ_CHECK(t->reason && t->words);
                s.end = -1;
                break;
            default:
                FUZZ_CHECK(!rest);
            }
        }
        free(piece);
    }
    if (!s.end)
        s.end = interp__tar_finish(t) ? -1 : 1;
    return s;
}

/* Headers that the writer made, read one after the other: content was never written. */
static void again(struct interp__tar *t, const struct interp__buf *b, uint64_t entries)
{
    const uint8_t *p = b->p;
    size_t n = b->len;
    interp__tar_init(t);
    while (n) {
        enum interp__tar_found f = interp__tar_read(t, &p, &n);
        FUZZ_CHECK(f == INTERP__TAR_ENTRY || (f == INTERP__TAR_MORE && !n));
        if (f == INTERP__TAR_ENTRY) {
            plain_path(t->entry.path, t->entry.path_len);
            entries--;
            t->left = t->pad = 0;
            t->state = 0;
        }
    }
    FUZZ_CHECK(!entries);
}

static void one(const uint8_t *data, size_t size)
{
    if (!size)
        return;
    struct interp__tar *t = malloc(sizeof *t);
    struct interp__buf out;
    interp__buf_init(&out, &interp__mem_default);
    struct seen a = run(t, data + 1, size - 1, 0, &out), b = run(t, data + 1, size - 1, 1u + data[0], NULL);
    FUZZ_CHECK(a.end == b.end && a.hash == b.hash && a.entries == b.entries && a.bytes == b.bytes);
    FUZZ_CHECK(!out.bad);
    again(t, &out, a.entries);
    interp__buf_free(&out);
    free(t);
    char *name = malloc(size + 1);
    const char *reason, *words;
    memcpy(name, data, size);
    int plain = interp__tree_plain(name, size);
    long n = interp__tree_path(name, size, &reason, &words);
    FUZZ_CHECK(n < 0 || plain == ((size_t)n == size && !memcmp(name, data, size)));     /* there is nothing to make plain in one that is */
    if (n > 0) {
        plain_path(name, (size_t)n);
        struct interp__tree_entry e = { .path = "a/b", .path_len = 3, .target = name, .target_len = (size_t)n };
        FUZZ_CHECK(interp__tree_stays(&e));
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    fuzz_small_stack(one, data, size);
    return 0;
}
