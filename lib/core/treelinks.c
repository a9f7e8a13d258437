/* treelinks.c - a table of digests of paths. Who makes an archive chooses its names, but does not know the seed: none can be made that fall on one slot, or are taken for each other. */
#include "core.h"
#include "core/treelinks.h"
#include "base/sha256.h"
#include <string.h>

#define SIZE_MIN 64u

/* In the last byte of a slot: what, and 1; a slot that is free is 0. */
static void digest(const struct interp__links *l, const char *path, size_t n, uint64_t key[2])
{
    struct interp__sha256 c;
    uint8_t out[INTERP__SHA256];
    interp__sha256_init(&c);
    interp__sha256_add(&c, l->seed, sizeof l->seed);
    interp__sha256_add(&c, path, n);
    interp__sha256_end(&c, out);
    memcpy(key, out, 2 * sizeof *key);
    key[1] &= ~UINT64_C(0xff);
}

static uint64_t *slot(const struct interp__links *l, const uint64_t key[2])
{
    size_t at = (size_t)key[0] & (l->size - 1);
    while (l->slots[at][1] && (l->slots[at][0] != key[0] || (l->slots[at][1] & ~UINT64_C(0xff)) != key[1]))
        at = (at + 1) & (l->size - 1);
    return l->slots[at];
}

static int grow(struct interp__links *l, const struct interp__mem *m)
{
    struct interp__links more = *l;
    if (!l->size && interp__random(more.seed, sizeof more.seed))
        return -1;
    more.size = l->size ? 2 * l->size : SIZE_MIN;
    if (!(more.slots = interp__alloc(m, more.size * sizeof *more.slots)))
        return -1;
    for (size_t i = 0; i < l->size; i++) {
        uint64_t key[2] = { l->slots[i][0], l->slots[i][1] & ~UINT64_C(0xff) };
        if (l->slots[i][1])
            memcpy(slot(&more, key), l->slots[i], sizeof key);
    }
    interp__free(m, l->slots);
    *l = more;
    return 0;
}

void interp__links_free(struct interp__links *l, const struct interp__mem *m)
{
    interp__free(m, l->slots);
    memset(l, 0, sizeof *l);
}

uint8_t interp__links_get(const struct interp__links *l, const char *path, size_t n)
{
    uint64_t key[2];
    if (!l->count)
        return INTERP__LINK_NONE;
    digest(l, path, n, key);
    const uint64_t *s = slot(l, key);
    return s[1] ? (uint8_t)((s[1] & 0xff) - 1) : INTERP__LINK_NONE;
}

int interp__links_set(struct interp__links *l, const struct interp__mem *m, const char *path, size_t n, uint8_t what)
{
    uint64_t key[2];
    if (!l->count && what == INTERP__LINK_NONE)
        return 0;
    if (2 * l->count >= l->size && grow(l, m))
        return -1;
    digest(l, path, n, key);
    uint64_t *s = slot(l, key);
    if (!s[1] && what == INTERP__LINK_NONE)
        return 0;
    l->count += !s[1];
    s[0] = key[0];
    s[1] = key[1] | (what + 1u);
    return 0;
}
