/* blobs.c - what the library carries deflated is inflated when it is needed first, once in a process: for all contexts, and for children that were forked */
#include "blobs.h"
#include "base/zmem.h"
#include <stdatomic.h>
#include <sys/mman.h>

extern const struct interp__packed interp__packed_agent_x86_64, interp__packed_agent_aarch64, interp__packed_python, interp__packed_javascript;
static const struct interp__packed *const PACKED[INTERP__PACKED] = {
    [INTERP__AGENT_X86_64] = &interp__packed_agent_x86_64, [INTERP__AGENT_AARCH64] = &interp__packed_agent_aarch64,
    [INTERP__PYTHON] = &interp__packed_python, [INTERP__JAVASCRIPT] = &interp__packed_javascript,
};
static _Atomic(uint8_t *) whole[INTERP__PACKED];

static int inflate_to(uint8_t *out, const struct interp__packed *b, const struct interp__mem *m)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)b->data, .avail_in = b->packed, .next_out = out, .avail_out = b->size };
    interp__zmem(&z, m);
    if (inflateInit2(&z, -15) != Z_OK)
        return -1;
    int end = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return end == Z_STREAM_END && !z.avail_out ? 0 : -1;
}

size_t interp__packed_size(enum interp__packed_name which)
{
    return PACKED[which]->size;
}

/* Without a lock, which a fork could leave held: of two that come first at once, one throws its work away. */
const uint8_t *interp__unpack(enum interp__packed_name which, const struct interp__mem *m)
{
    const struct interp__packed *b = PACKED[which];
    uint8_t *there = atomic_load_explicit(&whole[which], memory_order_acquire);
    if (there)
        return there;
    uint8_t *p = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (inflate_to(p, b, m) || mprotect(p, b->size, PROT_READ) || !atomic_compare_exchange_strong(&whole[which], &there, p)) {
        munmap(p, b->size);
        return there;
    }
    return p;
}
