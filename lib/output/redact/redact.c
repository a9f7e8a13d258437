/* redact.c - a redactor: raw bytes become D with gaps, what is decided goes out, what is not is held */
#include "redact_priv.h"
#include <stdio.h>
#include <string.h>

enum { ESC = 27, PARAMS_MAX = 32 };   /* parameter bytes of a control sequence; longer ones are no sequence but text */
enum { ESC_NONE, ESC_BEGUN, ESC_CSI, ESC_CHARSET };

int interp__redact_grow(struct interp__redactor *r, void *array, size_t *cap, size_t want, size_t size)
{
    if (want <= *cap)
        return 0;
    void **at = array;
    size_t more = *cap ? *cap * 2 : 64;
    while (more < want)
        more *= 2;
    void *p = r->bad ? NULL : interp__alloc(r->mem, more * size);
    if (!p) {
        r->bad = 1;
        return -1;
    }
    if (*at) {
        memcpy(p, *at, *cap * size);
        interp__wipe(*at, *cap * size);
        interp__free(r->mem, *at);
    }
    *at = p;
    *cap = more;
    return 0;
}

/* ---- ranges */

static int before(const struct redact_range *a, const struct redact_range *b)
{
    return a->s != b->s ? a->s < b->s : a->order < b->order;
}

static void count(struct interp__redactor *r, uint32_t label)
{
    if (label >= r->ncounts && interp__redact_grow(r, &r->counts, &r->ncounts, label + 1, sizeof *r->counts))
        return;
    r->counts[label]++;
}

static void insert(struct interp__redactor *r, int kind, uint32_t order, uint32_t label, uint64_t s, uint64_t e, int partial)
{
    struct redact_ranges *l = &r->ranges[kind];
    struct redact_range new = { s, e, order, label, (uint8_t)partial };
    size_t at = l->n;
    while (at && before(&new, &l->p[at - 1]))   /* they come nearly in order */
        at--;
    if (at && l->p[at - 1].e > s) {             /* covered from its start: the label is the earlier one's, whatever comes */
        if (l->p[at - 1].e < e)
            l->p[at - 1].e = e;
        return;
    }
    if (interp__redact_grow(r, &l->p, &l->cap, l->n + 1, sizeof *l->p))
        return;
    memmove(l->p + at + 1, l->p + at, (l->n - at) * sizeof *l->p);
    l->p[at] = new;
    l->n++;
}

void interp__redact_range(struct interp__redactor *r, int kind, uint32_t order, uint32_t label, uint64_t s, uint64_t e, int partial)
{
    if (e <= r->beg)   /* all of it is out: of a value that was added too late, or seen at a pause */
        return;
    insert(r, kind, order, label, s, e, partial);
    count(r, label);
    r->stats.partial += (uint64_t)partial;
}
void interp__redact_grown(struct interp__redactor *r, int kind, uint32_t order, uint32_t label, uint64_t s, uint64_t e)
{
    if (e > r->beg)
        insert(r, kind, order, label, s, e, 0);
}

/* ---- out */

static void put(struct interp__redactor *r, const void *p, size_t n)
{
    interp__buf_add(r->out, p, n);
    r->stats.out += n;
}

static void put_gap(struct interp__redactor *r)
{
    const struct redact_gap *g = &r->gaps[r->gap0++];
    put(r, r->gap_bytes + g->at, g->len);
}

/* Takes what lies before `to`: out, or left out but for the first line break. A gap stands before the byte of its position. */
static void pass(struct interp__redactor *r, uint64_t to, int show)
{
    while (r->beg < to) {
        uint64_t stop = to;
        if (r->gap0 < r->ngaps && r->gaps[r->gap0].d < to) {
            stop = r->gaps[r->gap0].d;
            if (stop <= r->beg) {
                put_gap(r);
                continue;
            }
        }
        const uint8_t *p = redact_at(r, r->beg);
        size_t n = (size_t)(stop - r->beg);
        if (show)
            put(r, p, n);
        else {
            r->stats.replaced += n;
            if (!r->newline && memchr(p, '\n', n)) {
                put(r, "\n", 1);
                r->newline = 1;
            }
        }
        r->beg = stop;
    }
}

static void put_label(struct interp__redactor *r, const struct redact_range *g)
{
    char text[32 + INTERP__REDACT_NAME_MAX];
    int n = snprintf(text, sizeof text, "[REDACTED:%s%s]", interp__redact_set_name(r->set, g->label), g->partial ? ":partial" : "");
    put(r, text, n > 0 && (size_t)n < sizeof text ? (size_t)n : 0);
}

static void flush(struct interp__redactor *r, uint64_t safe)
{
    size_t i[3] = { 0, 0, 0 };
    uint64_t end = redact_end(r);
    if (r->covered > r->beg)
        pass(r, r->covered < safe ? r->covered : safe, 0);
    for (;;) {
        const struct redact_range *g = NULL;
        size_t *from = NULL;
        for (int k = 0; k < 3; k++) {
            const struct redact_range *c = i[k] < r->ranges[k].n ? &r->ranges[k].p[i[k]] : NULL;
            if (c && (!g || c->s < g->s))   /* same start: the kind that comes first */
                g = c, from = &i[k];
        }
        if (!g || g->s >= safe)
            break;
        ++*from;
        if (g->s >= r->covered) {
            pass(r, g->s, 1);
            while (r->gap0 < r->ngaps && r->gaps[r->gap0].d <= r->beg)
                put_gap(r);
            put_label(r, g);
            r->newline = 0;
        }
        if (r->covered < g->e)
            r->covered = g->e;
        if (r->covered > r->beg)
            pass(r, r->covered < safe ? r->covered : safe, 0);
    }
    for (int k = 0; k < 3; k++) {
        struct redact_ranges *l = &r->ranges[k];
        if (i[k]) {
            memmove(l->p, l->p + i[k], (l->n - i[k]) * sizeof *l->p);
            l->n -= i[k];
        }
    }
    pass(r, safe, 1);
    if (safe == end)
        while (r->gap0 < r->ngaps)
            put_gap(r);
    if (r->gap0 == r->ngaps)
        r->gap0 = r->ngaps = r->gap_len = 0;
}

/* ---- in */

int interp__redact_in_gap(struct redact_escape *e, uint8_t c)
{
    switch (e->state) {
    case ESC_BEGUN:
        e->state = ESC_NONE;
        if (c == '[') {
            e->state = ESC_CSI;
            e->params = 0;
            return 1;
        }
        if (c == '(' || c == ')') {
            e->state = ESC_CHARSET;
            return 1;
        }
        if ((c >= '0' && c <= '?') || c == 'M' || c == 'D' || c == 'E' || c == 'H' || c == 'c')
            return 1;
        break;
    case ESC_CSI:
        if (c >= 0x20 && c <= 0x3f && e->params < PARAMS_MAX) {
            e->params++;
            return 1;
        }
        e->state = ESC_NONE;
        if (c >= 0x40 && c <= 0x7e)
            return 1;
        break;
    case ESC_CHARSET:
        e->state = ESC_NONE;
        return 1;
    }
    if (c == ESC) {
        e->state = ESC_BEGUN;
        return 1;
    }
    return c == 0;
}

static void add_gap(struct interp__redactor *r, uint8_t c)
{
    uint64_t d = redact_end(r);
    if (interp__redact_grow(r, &r->gap_bytes, &r->gap_cap, r->gap_len + 1, 1))
        return;
    if (r->ngaps > r->gap0 && r->gaps[r->ngaps - 1].d == d)
        r->gaps[r->ngaps - 1].len++;
    else {
        if (interp__redact_grow(r, &r->gaps, &r->gaps_cap, r->ngaps + 1, sizeof *r->gaps))
            return;
        r->gaps[r->ngaps++] = (struct redact_gap){ d, (uint32_t)r->gap_len, 1 };
    }
    r->gap_bytes[r->gap_len++] = c;
}

/* Raw bytes to D. Returns how many were taken; *over: a gap has become too long to be one. */
static size_t append(struct interp__redactor *r, const uint8_t *p, size_t n, int *over)
{
    *over = 0;
    if (interp__redact_grow(r, &r->d, &r->cap, r->len + n + REDACT_PAD, 1))
        return n;
    if (r->escape.state == ESC_NONE && !r->passing && !memchr(p, ESC, n) && !memchr(p, 0, n)) {
        memcpy(r->d + r->len, p, n);
        r->len += n;
        r->gap_run = 0;
        return n;
    }
    for (size_t i = 0; i < n; i++) {
        if (r->passing && !p[i] && r->escape.state == ESC_NONE) {   /* zeros by the thousand, of a binary file */
            size_t k = i + 1;
            while (k < n && !p[k])
                k++;
            put(r, p + i, k - i);
            i = k - 1;
        } else if (!interp__redact_in_gap(&r->escape, p[i])) {
            r->d[r->len++] = p[i];
            r->gap_run = 0;
            r->passing = 0;
        } else if (r->passing)
            put(r, p + i, 1);
        else {
            add_gap(r, p[i]);
            if (++r->gap_run == REDACT_GAP_MAX) {
                *over = 1;
                return i + 1;
            }
        }
    }
    return n;
}

/* ---- one round */

static void trim(struct interp__redactor *r)
{
    uint64_t keep = interp__redact_detect_keep(r), patterns = interp__redact_patterns_keep(r);
    if (patterns < keep)
        keep = patterns;
    uint64_t from = keep > r->d0 + REDACT_HISTORY ? keep - REDACT_HISTORY : r->d0;
    size_t cut = (size_t)(from - r->d0);
    if (cut) {
        memmove(r->d, r->d + cut, r->len - cut);
        r->len -= cut;
        r->d0 = from;
    }
    if (r->gap0 > 4096) {   /* gaps that are out, while others wait */
        size_t bytes = r->gaps[r->gap0].at;
        memmove(r->gaps, r->gaps + r->gap0, (r->ngaps - r->gap0) * sizeof *r->gaps);
        r->ngaps -= r->gap0;
        r->gap0 = 0;
        memmove(r->gap_bytes, r->gap_bytes + bytes, r->gap_len - bytes);
        r->gap_len -= bytes;
        for (size_t i = 0; i < r->ngaps; i++)
            r->gaps[i].at -= (uint32_t)bytes;
    }
}

static void settle(struct interp__redactor *r, enum redact_level level)
{
    uint64_t safe = interp__redact_detect_hold(r, level, r->beg), other = interp__redact_values_hold(r, level);
    if (other < safe)
        safe = other;
    other = interp__redact_patterns_hold(r, level);
    if (other < safe)
        safe = other;
    if (safe < r->beg)
        safe = r->beg;
    uint64_t was = r->beg;
    if (r->bad)
        return;
    flush(r, safe);
    if (level == REDACT_IDLE || level == REDACT_HARD)
        r->stats.early += r->beg - was;
    size_t held = (size_t)(redact_end(r) - safe);
    if (held > r->stats.held_max)
        r->stats.held_max = held;
}

static void match(struct interp__redactor *r, enum redact_level level)
{
    interp__redact_detect_run(r, level);
    interp__redact_values_run(r, level >= REDACT_END, level);
    interp__redact_patterns_run(r, level);
}
static void look(struct interp__redactor *r, uint64_t from, enum redact_level level)
{
    if (r->now->nliterals)
        interp__redact_values_append(r, from);
    match(r, level);
}

/* The end of what belongs together: all is decided, nothing is remembered. */
static void close_stretch(struct interp__redactor *r, uint64_t from, enum redact_level level)
{
    look(r, from, level);
    settle(r, level);
    r->d0 = redact_end(r);
    interp__wipe(r->d, r->len);
    r->len = 0;
    r->first = r->d0;
    interp__redact_detect_reset(r);
    interp__redact_values_reset(r);
    interp__redact_patterns_reset(r);
}

/* Fails closed: what can't be looked at does not go out. */
static void say_bad(struct interp__redactor *r)
{
    static const char text[] = "[REDACTED:out-of-memory]";
    if (!r->told)
        put(r, text, sizeof text - 1);
    r->told = 1;
}

/* Takes up what was added to the set: held bytes are looked at again. */
static void update(struct interp__redactor *r)
{
    struct redact_snapshot *now = interp__redact_set_now(r->set, r->now);
    if (!now) {
        r->bad = 1;
        return;
    }
    if (now == r->now)
        return;
    interp__redact_snapshot_free(r->now);
    r->now = now;
    if (interp__redact_patterns_init(r)) {
        r->bad = 1;
        return;
    }
    r->detect.scanned = r->d0 > r->first ? r->d0 : r->first;
    r->values.torn &= r->d0 <= r->first;   /* its start is still there */
    interp__redact_values_reset(r);
    if (now->nliterals && r->len) {
        uint64_t from = r->d0 > r->first ? r->d0 : r->first;
        interp__redact_values_append(r, from);
    }
}

void interp__redactor_push(struct interp__redactor *r, const void *v, size_t n, struct interp__buf *out)
{
    const uint8_t *p = v;
    r->out = out;
    r->stats.in += n;
    update(r);
    while (n && !r->bad) {
        int over;
        uint64_t from = redact_end(r);
        size_t k = append(r, p, n < REDACT_BLOCK ? n : REDACT_BLOCK, &over);
        if (over) {
            close_stretch(r, from, REDACT_END);
            r->passing = 1;
        } else {
            look(r, from, REDACT_PUSH);
            settle(r, REDACT_PUSH);
            trim(r);
            if (r->now->nliterals)
                interp__redact_values_trim(r);
        }
        p += k;
        n -= k;
    }
    if (r->bad)
        say_bad(r);
}

void interp__redactor_idle(struct interp__redactor *r, int hard, struct interp__buf *out)
{
    r->out = out;
    if (r->bad || r->beg == redact_end(r))
        return;
    interp__redact_patterns_run(r, hard ? REDACT_HARD : REDACT_IDLE);
    settle(r, hard ? REDACT_HARD : REDACT_IDLE);
}

static void finish(struct interp__redactor *r, struct interp__buf *out, enum redact_level level)
{
    r->out = out;
    if (!r->bad && r->d)   /* something came */
        close_stretch(r, redact_end(r), level);
    if (r->bad) {
        say_bad(r);
        return;
    }
    while (r->gap0 < r->ngaps)
        put_gap(r);
    r->gap0 = r->ngaps = r->gap_len = 0;
    r->escape.state = ESC_NONE;
    r->passing = r->newline = 0;
    r->gap_run = 0;
    r->covered = 0;
    r->values.torn = r->values.skipping = level == REDACT_CUT;
}
void interp__redactor_finish(struct interp__redactor *r, struct interp__buf *out)
{
    finish(r, out, REDACT_END);
}
void interp__redactor_cut(struct interp__redactor *r, struct interp__buf *out)
{
    finish(r, out, REDACT_CUT);
}

static void *copy(const struct interp__redactor *r, const void *p, size_t size)
{
    void *to = interp__resize(r->mem, NULL, size + 1);
    if (to && size)
        memcpy(to, p, size);
    return to;
}
static void restore(void *to, const void *p, size_t size)
{
    if (size)
        memcpy(to, p, size);
}
void interp__redactor_pause(struct interp__redactor *r, struct interp__buf *out)
{
    const struct redact_detect d = r->detect;
    const struct redact_values v = r->values;
    const size_t pending = d.npending * sizeof *d.pending, waiting = v.nwaiting * sizeof *v.waiting, states = r->nstates * sizeof *r->states;
    void *p = copy(r, d.pending, pending), *w = copy(r, v.waiting, waiting), *t = copy(r, r->states, states);
    if (r->bad || !p || !w || !t)
        finish(r, out, REDACT_CUT);
    else if (r->d) {   /* decided as at the end, then taken back */
        r->out = out;
        match(r, REDACT_END);
        settle(r, REDACT_END);
        struct redact_candidate *pending_now = r->detect.pending;
        struct redact_waiting *waiting_now = r->values.waiting;
        size_t pending_cap = r->detect.cap, waiting_cap = r->values.waiting_cap;
        r->detect = d;
        r->detect.pending = pending_now;
        r->detect.cap = pending_cap;
        r->values = v;
        r->values.waiting = waiting_now;
        r->values.waiting_cap = waiting_cap;
        restore(pending_now, p, pending);
        restore(waiting_now, w, waiting);
        restore(r->states, t, states);
        r->covered = 0;
        r->newline = 0;
        if (r->bad)
            say_bad(r);
    }
    interp__free(r->mem, p);
    interp__free(r->mem, w);
    interp__free(r->mem, t);
}

/* An array at its right size. */
static void fit(struct interp__redactor *r, void *array, size_t *cap, size_t want)
{
    enum { SPARE = 1024 };
    void **at = array, *p = *cap > want + SPARE ? interp__alloc(r->mem, want) : NULL;
    if (!p)
        return;
    memcpy(p, *at, want);
    interp__wipe(*at, *cap);
    interp__free(r->mem, *at);
    *at = p;
    *cap = want;
}
static void give_back(struct interp__redactor *r, void *array, size_t *cap)
{
    void **at = array;
    interp__free(r->mem, *at);
    *at = NULL;
    *cap = 0;
}
void interp__redactor_shrink(struct interp__redactor *r)
{
    for (int k = 0; k < 3; k++)
        if (!r->ranges[k].n)
            give_back(r, &r->ranges[k].p, &r->ranges[k].cap);
    if (!r->ngaps)
        give_back(r, &r->gaps, &r->gaps_cap);
    if (!r->detect.npending)
        give_back(r, &r->detect.pending, &r->detect.cap);
    if (!r->values.nwaiting)
        give_back(r, &r->values.waiting, &r->values.waiting_cap);
    fit(r, &r->d, &r->cap, r->len + REDACT_PAD);
    fit(r, &r->values.n, &r->values.cap, r->values.len + 8);
}

size_t interp__redactor_held(const struct interp__redactor *r)
{
    return (size_t)(redact_end(r) - r->beg);
}
size_t interp__redactor_bound(const struct interp__redactor *r)
{
    size_t most = interp__redact_detector_bound(r->now);
    if (r->now->nliterals && r->now->longest + 2 > most)
        most = r->now->longest + 2;   /* a base64 neighbour on either side */
    if (r->now->npatterns && most < INTERP__REDACT_WINDOW)
        most = INTERP__REDACT_WINDOW;
    return most;
}
int interp__redactor_lost(const struct interp__redactor *r)
{
    return r->bad;
}
int interp__redactor_quiet(const struct interp__redactor *r)
{
    int open = r->escape.state != ESC_NONE || r->passing || interp__redact_values_begun(r);
    uint64_t end = redact_end(r);
    for (uint32_t i = 0; i < r->nstates; i++)
        open |= r->states[i].waiting || r->states[i].left;
    return !r->bad && !open && r->beg == end && !r->detect.npending && interp__redact_detect_hold(r, REDACT_PUSH, r->d0) == end;
}
const struct interp__redact_stats *interp__redactor_stats(const struct interp__redactor *r)
{
    return &r->stats;
}

struct interp__redactor *interp__redactor_new(struct interp__redact_set *s, const struct interp__mem *m)
{
    struct interp__redactor *r = interp__alloc(m, sizeof *r);
    if (!r)
        return NULL;
    r->mem = m;
    r->set = interp__redact_set_ref(s);
    r->scan = interp__redact_scan_vector();
    if (!r->scan)
        r->scan = interp__redact_scan_portable();
    update(r);
    if (r->bad) {
        interp__redactor_free(r);
        return NULL;
    }
    return r;
}

static void drop(struct interp__redactor *r, void *p, size_t n)
{
    if (p)
        interp__wipe(p, n);
    interp__free(r->mem, p);
}
void interp__redactor_free(struct interp__redactor *r)
{
    if (!r)
        return;
    drop(r, r->d, r->cap);
    drop(r, r->gap_bytes, r->gap_cap);
    drop(r, r->values.n, r->values.cap);
    interp__free(r->mem, r->gaps);
    for (int k = 0; k < 3; k++)
        interp__free(r->mem, r->ranges[k].p);
    interp__free(r->mem, r->detect.pending);
    interp__free(r->mem, r->values.places);
    interp__free(r->mem, r->values.waiting);
    interp__free(r->mem, r->counts);
    interp__redact_patterns_free(r);
    interp__redact_snapshot_free(r->now);
    interp__redact_set_free(r->set);
    interp__free(r->mem, r);
}

/* ---- counts */

static void add_counts(struct interp__redact_counts *c, const uint64_t *more, size_t len)
{
    while (len && !more[len - 1])
        len--;
    if (len > c->len) {
        uint64_t *n = interp__resize(c->mem, c->n, len * sizeof *n);
        if (!n)
            return;
        memset(n + c->len, 0, (len - c->len) * sizeof *n);
        c->n = n;
        c->len = len;
    }
    for (size_t i = 0; i < len; i++)
        c->n[i] += more[i];
}
void interp__redact_counts_take(struct interp__redact_counts *c, struct interp__redactor *r)
{
    add_counts(c, r->counts, r->ncounts);
    if (r->ncounts)
        memset(r->counts, 0, r->ncounts * sizeof *r->counts);
}
void interp__redact_counts_add(struct interp__redact_counts *c, const struct interp__redact_counts *more)
{
    add_counts(c, more->n, more->len);
}
void interp__redact_counts_json(const struct interp__redact_counts *c, struct interp__redact_set *s, struct interp__buf *out)
{
    int first = 1;
    interp__buf_str(out, "{");
    for (size_t i = 0; i < c->len; i++)
        if (c->n[i]) {
            const char *name = interp__redact_set_name(s, (uint32_t)i);
            uint64_t n = c->n[i];
            int told = 0;
            for (size_t k = 0; k < c->len; k++)   /* a set and its parent may both have the name: a member stands there once */
                if (k != i && c->n[k] && !strcmp(interp__redact_set_name(s, (uint32_t)k), name)) {
                    told |= k < i;
                    n += c->n[k];
                }
            if (told)
                continue;
            interp__buf_fmt(out, "%s\"%s\":%llu", first ? "" : ",", name, (unsigned long long)n);
            first = 0;
        }
    interp__buf_str(out, "}");
}
void interp__redact_counts_free(struct interp__redact_counts *c)
{
    interp__free(c->mem, c->n);
    c->n = NULL;
    c->len = 0;
}
