/* ring.c - a byte queue for one flow-control window. */
#include "guest.h"

int ring_put(struct ring *r, const void *p, size_t n)
{
    if (n > r->size - r->len)
        return -1;
    uint32_t tail = (r->head + r->len) % r->size;
    size_t first = r->size - tail < n ? r->size - tail : n;
    memcpy(r->buf + tail, p, first);
    memcpy(r->buf, (const uint8_t *)p + first, n - first);
    r->len += (uint32_t)n;
    return 0;
}

int ring_view(const struct ring *r, struct iovec_k v[2])
{
    size_t first = r->size - r->head < r->len ? r->size - r->head : r->len;
    v[0] = (struct iovec_k){ (void *)(uintptr_t)(r->buf + r->head), first };
    v[1] = (struct iovec_k){ (void *)(uintptr_t)r->buf, r->len - first };
    return v[1].len ? 2 : 1;
}

void ring_drop(struct ring *r, size_t n)
{
    r->head = (r->head + (uint32_t)n) % r->size;
    r->len -= (uint32_t)n;
    if (!r->len)
        r->head = 0; /* short execs always use the same pages */
}

int ring_front(struct ring *r, const void *p, size_t n)
{
    if (n > r->size - r->len)
        return -1;
    const uint8_t *s = p;
    if (!r->len)
        return ring_put(r, p, n);
    for (size_t i = n; i--;) {
        r->head = (r->head + r->size - 1) % r->size;
        r->buf[r->head] = s[i];
    }
    r->len += (uint32_t)n;
    return 0;
}
