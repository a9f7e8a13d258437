#include "stream.h"
#include "base/json.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void interp__stream_init(struct interp__stream *s, const struct interp__mem *mem, size_t head_cap, size_t tail_cap)
{
    memset(s, 0, sizeof *s);
    s->mem = mem;
    interp__buf_init(&s->head, mem);
    s->head_cap = head_cap;
    s->tail_cap = tail_cap;
}

static uint64_t count_newlines(const uint8_t *p, size_t n)
{
    uint64_t c = 0;
    for (const uint8_t *q; n && (q = memchr(p, '\n', n)); c++) {
        n -= (size_t)(q - p) + 1;
        p = q + 1;
    }
    return c;
}

static void feed_tail(struct interp__stream *s, const uint8_t *p, size_t n)
{
    if (!s->tail && !(s->tail = interp__resize(s->mem, NULL, s->tail_cap)))
        return;   /* kept is less; totals stay true */
    if (n >= s->tail_cap) {
        memcpy(s->tail, p + n - s->tail_cap, s->tail_cap);
        s->tail_at = 0;
        s->tail_len = s->tail_cap;
        return;
    }
    size_t end = (s->tail_at + s->tail_len) % s->tail_cap, first = n < s->tail_cap - end ? n : s->tail_cap - end;
    memcpy(s->tail + end, p, first);
    memcpy(s->tail, p + first, n - first);
    s->tail_len += n;
    if (s->tail_len > s->tail_cap) {
        s->tail_at = (s->tail_at + s->tail_len - s->tail_cap) % s->tail_cap;
        s->tail_len = s->tail_cap;
    }
}

void interp__stream_feed(struct interp__stream *s, const void *v, size_t n)
{
    const uint8_t *p = v;
    if (!n)
        return;
    s->total += n;
    s->newlines += count_newlines(p, n);
    s->last = p[n - 1];
    size_t room = s->head_cap - s->head.len, k = n < room ? n : room;
    if (k) {
        interp__buf_add(&s->head, p, k);
        p += k, n -= k;
    }
    if (n)
        feed_tail(s, p, n);
}

/* The tail starts at the first whole character: at most three continuation bytes are cut. */
static size_t skip_partial(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && i < 3 && ((uint8_t)p[i] & 0xC0) == 0x80)
        i++;
    return i;
}

int interp__stream_finish(struct interp__stream *s, struct interp__kept *k)
{
    memset(k, 0, sizeof *k);
    k->total = s->total;
    k->lines = s->newlines + (s->total && s->last != '\n');
    size_t hn = s->head.len, tn = s->tail_len;
    char *both = interp__strndup(s->mem, s->head.p, hn);
    char *all = both ? interp__resize(s->mem, both, hn + tn + 2) : NULL;
    if (!all) {
        interp__free(s->mem, both);
        k->truncated = s->total > 0;
        interp__stream_free(s);
        return -1;
    }
    char *tail = all + hn + 1;
    size_t first = tn < s->tail_cap - s->tail_at ? tn : s->tail_cap - s->tail_at;
    if (tn) {
        memcpy(tail, s->tail + s->tail_at, first);
        memcpy(tail + first, s->tail, tn - first);
    }
    tail[tn] = 0;
    size_t cap = s->head_cap + s->tail_cap;
    k->truncated = s->total > hn + tn;
    interp__stream_free(s);
    if (!k->truncated) {
        memmove(all + hn, tail, tn + 1);   /* one piece */
        k->head = all;
        k->head_len = hn + tn;
        k->text = interp__strndup(s->mem, all, hn + tn);
        k->text_len = k->text ? hn + tn : 0;
        return k->text ? 0 : -1;
    }
    k->head = all;
    k->head_len = interp__utf8_whole(all, hn);
    size_t cut = skip_partial(tail, tn);
    k->tail = tail + cut;
    k->tail_len = tn - cut;
    all[k->head_len] = 0;

    /* The marker's numbers depend on what is left out, and its own length on the numbers: its room is taken from the tail's start, then from the head's end. */
    char mark[96];
    uint64_t kept_lines = count_newlines((uint8_t *)k->head, k->head_len) + count_newlines((uint8_t *)k->tail, k->tail_len);
    uint64_t missing_lines = s->newlines > kept_lines ? s->newlines - kept_lines : 0;
    size_t room = sizeof mark, head_len = k->head_len, tail_from = 0;
    size_t over = head_len + k->tail_len + room > cap ? head_len + k->tail_len + room - cap : 0;
    tail_from = over < k->tail_len ? over : k->tail_len;
    over -= tail_from;
    if (over > head_len)
        room = 0, head_len = k->head_len, tail_from = 0;   /* no room for words: `truncated` says it */
    else if (over)
        head_len = interp__utf8_whole(k->head, head_len - over);
    tail_from += skip_partial(k->tail + tail_from, k->tail_len - tail_from);
    uint64_t missing = k->total - head_len - (k->tail_len - tail_from);
    int n = room ? snprintf(mark, sizeof mark, "\n[... %" PRIu64 " bytes in about %" PRIu64 " lines left out ...]\n", missing, missing_lines) : 0;
    k->text_len = head_len + (size_t)n + k->tail_len - tail_from;
    k->text = interp__resize(s->mem, NULL, k->text_len + 1);
    if (!k->text) {
        k->text_len = 0;
        return -1;
    }
    memcpy(k->text, k->head, head_len);
    memcpy(k->text + head_len, mark, (size_t)n);
    memcpy(k->text + head_len + n, k->tail + tail_from, k->tail_len - tail_from);
    k->text[k->text_len] = 0;
    return 0;
}

void interp__stream_free(struct interp__stream *s)
{
    interp__buf_free(&s->head);
    interp__free(s->mem, s->tail);
    s->tail = NULL;
    s->tail_len = s->tail_at = 0;
}

void interp__kept_free(struct interp__kept *k, const struct interp__mem *mem)
{
    interp__free(mem, k->text);
    interp__free(mem, k->head);
    memset(k, 0, sizeof *k);
}
