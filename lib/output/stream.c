#include "stream.h"
#include "base/json.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LOOK = INTERP__CUT_LOOK, ESC = 27, MARK_TOKENS = 32 /* of the marker */ };

void interp__stream_init(struct interp__stream *s, const struct interp__mem *mem, size_t head_cap, size_t tail_cap, uint64_t tokens)
{
    memset(s, 0, sizeof *s);
    s->mem = mem;
    interp__buf_init(&s->head, mem);
    s->head_cap = head_cap;
    s->tail_cap = tail_cap;
    s->tokens = tokens;
}

static uint64_t count_newlines(const void *v, size_t n)
{
    const uint8_t *p = v;
    uint64_t c = 0;
    for (const uint8_t *q; n && (q = memchr(p, '\n', n)); c++) {
        n -= (size_t)(q - p) + 1;
        p = q + 1;
    }
    return c;
}

/* ---- where a text may be cut */

/* Length of the label of redaction that starts at p, 0: none. */
static size_t label(const uint8_t *p, size_t n)
{
    static const char begin[] = "[REDACTED:", names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-:";
    size_t k = sizeof begin - 1;
    if (n <= k || memcmp(p, begin, k))
        return 0;
    while (k < n && k < LOOK && p[k] && strchr(names, p[k]))
        k++;
    return k < n && p[k] == ']' && k > sizeof begin - 1 ? k + 1 : 0;
}
static size_t escape(const uint8_t *p, size_t n)
{
    size_t k = 2;
    if (n < 2 || p[0] != ESC)
        return 0;
    if (p[1] == '(' || p[1] == ')')
        return n < 3 ? 0 : 3;
    if (p[1] != '[')
        return 2;
    while (k < n && k < LOOK / 2 && p[k] >= 0x20 && p[k] <= 0x3f)
        k++;
    return k < n && p[k] >= 0x40 && p[k] <= 0x7e ? k + 1 : 0;
}
static size_t character(const uint8_t *p, size_t n)
{
    size_t k = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : p[0] >= 0xC2 ? 2 : 0;
    return k && k <= n && interp__utf8_valid(p, k) == k ? k : 0;
}
/* The unit that begins before `at` and ends behind it: its start, and its end. 0: a cut at `at` is fine. */
static int crossed(const uint8_t *p, size_t n, size_t at, size_t *from, size_t *to)
{
    for (size_t i = at < n ? at : 0, least = at > LOOK ? at - LOOK : 0; i > least;) {
        i--;
        size_t k = p[i] == '[' ? label(p + i, n - i) : p[i] == ESC ? escape(p + i, n - i) : p[i] >= 0xC2 && at - i < 4 ? character(p + i, n - i) : 0;
        if (i + k > at) {
            *from = i;
            *to = i + k;
            return 1;
        }
    }
    return 0;
}
/* Units that overlap in a chain without an end are none: the cut is where it was asked for. */
size_t interp__cut_before(const void *p, size_t n, size_t at)
{
    size_t from, to, cut = at;
    while (at - cut <= LOOK && crossed(p, n, cut, &from, &to))
        cut = from;
    return at - cut <= LOOK ? cut : at;
}
size_t interp__cut_after(const void *p, size_t n, size_t at)
{
    size_t from, to, cut = at;
    while (cut - at <= LOOK && crossed(p, n, cut, &from, &to))
        cut = to;
    return cut - at <= LOOK ? cut : at;
}

/* ---- in */

static void feed_tail(struct interp__stream *s, const uint8_t *p, size_t n)
{
    const size_t cap = s->tail_cap + LOOK;
    if (!s->tail && !(s->tail = interp__resize(s->mem, NULL, cap)))
        return;   /* kept is less; totals stay true */
    if (n >= cap) {
        memcpy(s->tail, p + n - cap, cap);
        s->tail_at = 0;
        s->tail_len = cap;
        return;
    }
    size_t end = (s->tail_at + s->tail_len) % cap, first = n < cap - end ? n : cap - end;
    memcpy(s->tail + end, p, first);
    memcpy(s->tail, p + first, n - first);
    s->tail_len += n;
    if (s->tail_len > cap) {
        s->tail_at = (s->tail_at + s->tail_len - cap) % cap;
        s->tail_len = cap;
    }
}

void interp__stream_feed(struct interp__stream *s, const void *v, size_t n)
{
    const uint8_t *p = v;
    if (!n)
        return;
    uint64_t before = s->total;
    s->total += n;
    s->newlines += count_newlines(p, n);
    s->last = p[n - 1];
    size_t room = s->head_cap + LOOK - s->head.len;
    if (room && before == s->head.len)   /* else memory failed on the way: what is kept has no hole */
        interp__buf_add(&s->head, p, n < room ? n : room);
    if (s->total > s->head_cap) {
        size_t skip = before < s->head_cap ? (size_t)(s->head_cap - before) : 0;
        feed_tail(s, p + skip, n - skip);
    }
}

int interp__stream_overflows(const struct interp__stream *s, size_t n)
{
    return s->total + n > (uint64_t)s->head_cap + s->tail_cap;
}
/* The ring, oldest byte first. */
static void unroll(const struct interp__stream *s, uint8_t *to)
{
    size_t cap = s->tail_cap + LOOK, first = s->tail_len < cap - s->tail_at ? s->tail_len : cap - s->tail_at;
    if (!s->tail_len)
        return;
    memcpy(to, s->tail + s->tail_at, first);
    memcpy(to + first, s->tail, s->tail_len - first);
}
void interp__stream_all(const struct interp__stream *s, struct interp__buf *out)
{
    interp__buf_add(out, s->head.p, s->head.len < s->head_cap ? s->head.len : s->head_cap);
    if (s->tail_len && !interp__buf_reserve(out, s->tail_len)) {
        unroll(s, out->p + out->len);
        out->len += s->tail_len;
    }
}

int interp__stream_cuts(const struct interp__stream *s)
{
    struct interp__buf b;
    if (!s->tokens || interp__stream_overflows(s, 0))
        return 0;
    interp__buf_init(&b, s->mem);
    interp__stream_all(s, &b);
    int cuts = !b.bad && interp__tokens(b.p, b.len) > s->tokens;
    interp__buf_free(&b);
    return cuts;
}

/* ---- out */

/* Head, marker, tail, within cap bytes. h: the head may be cut there; t: the tail starts there. Each text has what stands on the other side of its cut. */
struct piece { const uint8_t *p; size_t n, at; };
static char *compose(const struct interp__mem *mem, struct piece h, struct piece t, size_t cap, uint64_t total, uint64_t newlines, size_t *len)
{
    char mark[96] = "";
    size_t room = sizeof mark, kept = h.at + t.n - t.at, over = kept + room > cap ? kept + room - cap : 0;
    /* the marker's room is taken from the tail's start, then from the head's end */
    size_t from_tail = over < t.n - t.at ? over : t.n - t.at;
    if (over - from_tail > h.at)
        room = 0;   /* no room for words: `truncated` says it */
    else if (over) {
        t.at = interp__cut_after(t.p, t.n, t.at + from_tail);
        h.at = interp__cut_before(h.p, h.n, h.at - (over - from_tail));
    }
    uint64_t lines = count_newlines(h.p, h.at) + count_newlines(t.p + t.at, t.n - t.at);
    int n = 0;
    if (room)
        n = snprintf(mark, sizeof mark, "\n[... %" PRIu64 " bytes, %" PRIu64 " lines left out ...]\n", total - h.at - (t.n - t.at), newlines - lines);
    size_t size = h.at + (size_t)n + t.n - t.at;
    char *text = interp__resize(mem, NULL, size + 1);
    if (!text)
        return NULL;
    memcpy(text, h.p, h.at);
    memcpy(text + h.at, mark, (size_t)n);
    if (t.n > t.at)
        memcpy(text + h.at + n, t.p + t.at, t.n - t.at);
    text[size] = 0;
    *len = size;
    return text;
}

static uint64_t for_head(uint64_t tokens)
{
    tokens = tokens > 2 * MARK_TOKENS ? tokens - MARK_TOKENS : tokens / 2;
    return tokens - tokens / 4;
}
static uint64_t for_tail(uint64_t tokens)
{
    return (tokens > 2 * MARK_TOKENS ? tokens - MARK_TOKENS : tokens / 2) / 4;
}

int interp__stream_finish(struct interp__stream *s, struct interp__kept *k)
{
    memset(k, 0, sizeof *k);
    k->total = s->total;
    k->lines = s->newlines + (s->total && s->last != '\n');
    size_t hn = s->head.len < s->head_cap ? s->head.len : s->head_cap, tn = s->tail_len;
    int whole = s->total == hn + tn;                      /* nothing is lost, so head and ring are one text */
    size_t hl = whole ? hn : s->head.len, n = hl + tn;
    uint8_t *p = interp__resize(s->mem, NULL, n + 1);
    if (p && hl)
        memcpy(p, s->head.p, hl);
    if (p)
        unroll(s, p + hl);
    interp__stream_free(s);
    if (!p) {
        k->truncated = s->total > 0;
        return -1;
    }
    if (whole && !interp__stream_overflows(s, 0) && !(s->tokens && interp__tokens(p, n) > s->tokens)) {
        p[n] = 0;
        k->head = (char *)p;
        k->head_len = n;
        k->text = interp__strndup(s->mem, p, n);
        k->text_len = k->text ? n : 0;
        return k->text ? 0 : -1;
    }
    struct piece h = { p, whole ? n : hl, hn }, t = { p + hl, tn, tn < s->tail_cap ? 0 : tn - s->tail_cap };
    if (whole)
        t = (struct piece){ p, n, n < s->tail_cap ? 0 : n - s->tail_cap };
    if (s->tokens) {
        size_t most = interp__tokens_head(h.p, h.at, for_head(s->tokens)), least = t.n - interp__tokens_tail(t.p, t.n, for_tail(s->tokens));
        h.at = most < h.at ? most : h.at;
        t.at = least > t.at ? least : t.at;
    }
    h.at = interp__cut_before(h.p, h.n, h.at);
    t.at = interp__cut_after(t.p, t.n, t.at);
    k->truncated = 1;
    k->head_len = h.at;
    k->tail_len = t.n - t.at;
    k->text = compose(s->mem, h, t, s->head_cap + s->tail_cap, s->total, s->newlines, &k->text_len);
    k->head = k->text ? interp__resize(s->mem, NULL, k->head_len + k->tail_len + 2) : NULL;
    if (k->head) {
        k->tail = k->head + k->head_len + 1;
        memcpy(k->head, h.p, h.at);
        memcpy(k->tail, t.p + t.at, k->tail_len);
        k->tail[-1] = k->tail[k->tail_len] = 0;
    } else
        k->head_len = k->tail_len = 0;
    interp__free(s->mem, p);
    return k->head ? 0 : -1;
}

/* From a start of head_len bytes and an end of tail_len, which lies in a ring of size cap from `from` on. */
static size_t read_kept(const void *head, size_t head_len, const uint8_t *ring, size_t cap, size_t from, size_t tail_len, uint64_t total, uint64_t offset, void *out, size_t n, uint64_t *at)
{
    uint64_t tail = total - tail_len;
    *at = offset;
    if (offset < head_len) {
        size_t k = head_len - (size_t)offset < n ? head_len - (size_t)offset : n;
        memcpy(out, (const char *)head + offset, k);
        return k;
    }
    if (!tail_len || offset >= total)
        return 0;
    *at = offset < tail ? tail : offset;
    size_t skip = (size_t)(*at - tail), k = tail_len - skip < n ? tail_len - skip : n, p = (from + skip) % cap, first = k < cap - p ? k : cap - p;
    memcpy(out, ring + p, first);
    memcpy((char *)out + first, ring, k - first);
    return k;
}

size_t interp__stream_read(const struct interp__stream *s, uint64_t offset, void *out, size_t n, uint64_t *at)
{
    return read_kept(s->head.p, s->head.len, s->tail, s->tail_cap + LOOK, s->tail_at, s->tail_len, s->total, offset, out, n, at);
}

size_t interp__kept_read(const struct interp__kept *k, uint64_t offset, void *out, size_t n, uint64_t *at)
{
    return read_kept(k->head, k->head_len, (const uint8_t *)k->tail, k->tail_len, 0, k->tail_len, k->total, offset, out, n, at);
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

char *interp__shorten(const struct interp__mem *mem, const void *v, size_t n, size_t cap, size_t *len)
{
    const uint8_t *p = v;
    size_t head = cap - cap / 4, tail = cap / 4;
    if (n <= cap) {
        *len = n;
        return interp__strndup(mem, p, n);
    }
    struct piece h = { p, n, interp__cut_before(p, n, head) }, t = { p, n, interp__cut_after(p, n, n - tail) };
    return compose(mem, h, t, cap, n, count_newlines(p, n), len);
}
