/* set.c - what is looked for: values in memory that is locked and wiped, detectors, patterns; redactors see immutable snapshots of it */
#include "base/error.h"
#include "base/secret.h"
#include "redact_priv.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CHUNK = 64 << 10, LITERALS_MAX = 1 << 20 };

struct chunk { struct chunk *next; uint8_t *p; size_t used, size; };
struct interp__redact_set {
    struct interp__mem mem;
    atomic_uint refs;
    int owned;                             /* freed by itself */
    struct interp__redact_set *parent;     /* what it adds to; its lock is taken under ours */
    pthread_mutex_t lock;                  /* everything below; never held while redacting */
    atomic_ullong generation;
    struct redact_snapshot *current;       /* NULL: has to be made */
    struct chunk *chunks;                  /* bytes of literals */
    struct redact_literal *literals;
    uint32_t nliterals, literals_cap;
    char **names;                          /* REDACT_NAMES_MAX of them, so that the array never moves */
    uint32_t nnames;
    struct redact_pattern *patterns[REDACT_PATTERNS_MAX];
    uint32_t npatterns;
    uint64_t units[REDACT_UNITS_MAX / 64]; /* with a parent: switched on here */
    uint64_t off[REDACT_UNITS_MAX / 64];   /* with a parent: switched off here */
    int own_units, nothing;                /* nothing: this set looks for nothing, whatever its parent does */
};

static uint8_t *keep_bytes(struct interp__redact_set *s, const uint8_t *p, size_t n)
{
    struct chunk *c = s->chunks;
    if (!c || c->size - c->used < n) {
        size_t size = (n + CHUNK - 1) / CHUNK * CHUNK;
        c = interp__alloc(&s->mem, sizeof *c);
        if (!c || !(c->p = interp__secret_alloc(size))) {
            interp__free(&s->mem, c);
            return NULL;
        }
        c->size = size;
        c->next = s->chunks;
        s->chunks = c;
    }
    uint8_t *to = c->p + c->used;
    memcpy(to, p, n);
    c->used += n;
    return to;
}

/* ---- snapshots */

void interp__redact_snapshot_free(struct redact_snapshot *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    struct interp__mem m = s->mem;
    interp__secret_free(s->locked, s->locked_size);
    interp__free(&m, s->literals);
    interp__free(&m, s->patterns);
    interp__free(&m, s);
}

static unsigned bits_for(uint64_t n, unsigned least, unsigned most)
{
    unsigned bits = least;
    while (bits < most && (UINT64_C(1) << bits) < n)
        bits++;
    return bits;
}

enum { GRAM_LOAD = 48, PREFIX_LOAD = 64, INNER_LOAD = 8, END_LOAD = 4, STRIDE_MAX = REDACT_PREFIX - 3 };   /* a table's bits for each entry: so few chance hits that they cost nothing */

static int make_tables(struct redact_snapshot *s)
{
    uint32_t shortest = UINT32_MAX;
    uint64_t all = 0;
    for (uint32_t i = 0; i < s->nliterals; i++) {
        all += s->literals[i].len;
        if (s->literals[i].len < shortest)
            shortest = s->literals[i].len;
        if (s->literals[i].len > s->longest)
            s->longest = s->literals[i].len;
    }
    s->stride = shortest - 3 < STRIDE_MAX ? shortest - 3 : STRIDE_MAX;
    uint64_t ngrams = (uint64_t)s->nliterals * s->stride;
    s->bits = bits_for(ngrams * GRAM_LOAD, 15, 22);   /* 4 KiB to 512 KiB: a table that falls out of the caches costs more than chance hits */
    s->prefix_bits = bits_for((uint64_t)s->nliterals * REDACT_PREFIX * PREFIX_LOAD, 15, 24);
    size_t bitmap = ((size_t)1 << s->bits) / 8, prefixes = ((size_t)1 << s->prefix_bits) / 8, heads = ((size_t)1 << (s->bits - REDACT_HEAD_SHIFT)) * sizeof *s->heads;
    size_t grams = (size_t)(ngrams + 1) * sizeof *s->grams;
    s->inner_bits = bits_for(all * INNER_LOAD, 12, 24);
    s->end_bits = bits_for((uint64_t)s->nliterals * END_LOAD, 6, 20);
    size_t inner = ((size_t)1 << s->inner_bits) / 8, ends = (((size_t)1 << s->end_bits) + s->nliterals) * sizeof *s->ends;
    s->locked_size = bitmap + prefixes + inner + grams + heads + ends;
    uint8_t *p = interp__secret_alloc(s->locked_size);
    if (!p)
        return -1;
    s->locked = p;
    s->bitmap = (uint64_t *)(void *)p;
    s->prefixes = (uint64_t *)(void *)(p + bitmap);
    s->inner = (uint64_t *)(void *)(p + bitmap + prefixes);
    s->grams = (struct redact_gram *)(void *)(p + bitmap + prefixes + inner);
    s->heads = (uint32_t *)(void *)(p + bitmap + prefixes + inner + grams);
    s->ends = (uint32_t *)(void *)(p + bitmap + prefixes + inner + grams + heads);
    uint32_t used = 1;   /* 0 ends a chain */
    for (uint32_t i = 0; i < s->nliterals; i++) {
        const struct redact_literal *l = &s->literals[i];
        for (uint32_t off = 0; off < s->stride; off++) {
            uint32_t g;
            memcpy(&g, l->p + off, sizeof g);
            uint32_t h = redact_hash(g, s->bits), *head = &s->heads[h >> REDACT_HEAD_SHIFT];
            s->bitmap[h >> 6] |= UINT64_C(1) << (h & 63);
            s->grams[used] = (struct redact_gram){ g, i, *head, off };
            *head = used++;
        }
        for (unsigned k = 1; k <= REDACT_PREFIX && k < l->len; k++) {
            uint32_t h = redact_prefix_hash(l->p, k, s->prefix_bits);
            s->prefixes[h >> 6] |= UINT64_C(1) << (h & 63);
        }
        uint32_t g = 0;
        for (uint32_t off = 0; off + 4 <= l->len; off++) {
            memcpy(&g, l->p + off, sizeof g);
            uint32_t h = redact_hash(g, s->inner_bits);
            s->inner[h >> 6] |= UINT64_C(1) << (h & 63);
        }
        uint32_t *end = &s->ends[redact_hash(g, s->end_bits)];
        s->ends[((size_t)1 << s->end_bits) + i] = *end;
        *end = i + 1;
    }
    return 0;
}

static int join(const struct interp__mem *m, void *out, const void *a, uint32_t na, const void *b, uint32_t nb, size_t size)
{
    char *p = na + nb ? interp__resize(m, NULL, (na + nb) * size) : NULL;
    if (na + nb && !p)
        return -1;
    if (na)
        memcpy(p, a, na * size);
    if (nb)
        memcpy(p + na * size, b, nb * size);
    *(void **)out = p;
    return 0;
}
/* Under the set's lock, and the parent's. */
static struct redact_snapshot *make(struct interp__redact_set *s, uint64_t generation)
{
    static const struct interp__redact_set none;
    const struct interp__redact_set *p = s->parent ? s->parent : &none, *own = s;
    struct redact_snapshot *n = interp__alloc(&s->mem, sizeof *n);
    if (!n)
        return NULL;
    n->mem = s->mem;
    atomic_init(&n->refs, 1);
    n->generation = generation;
    if (s->nothing)
        p = own = &none;
    for (size_t i = 0; i < sizeof n->units / sizeof *n->units; i++) {
        n->units[i] = (p->units[i] | own->units[i]) & ~own->off[i];
        n->any_unit |= n->units[i] != 0;
    }
    int bad = join(&s->mem, &n->literals, p->literals, p->nliterals, own->literals, own->nliterals, sizeof *n->literals);
    if (!bad) {
        n->nliterals = p->nliterals + own->nliterals;
        bad = join(&s->mem, &n->patterns, p->patterns, p->npatterns, own->patterns, own->npatterns, sizeof *n->patterns);
    }
    if (!bad) {
        n->npatterns = p->npatterns + own->npatterns;
        bad = n->nliterals ? make_tables(n) : 0;
    }
    if (bad) {
        interp__redact_snapshot_free(n);
        return NULL;
    }
    return n;
}

static uint64_t generation(const struct interp__redact_set *s)   /* grows with every change of the set or its parent */
{
    return atomic_load_explicit(&s->generation, memory_order_acquire) + (s->parent ? atomic_load_explicit(&s->parent->generation, memory_order_acquire) : 0);
}
struct redact_snapshot *interp__redact_set_now(struct interp__redact_set *s, const struct redact_snapshot *have)
{
    if (have && have->generation == generation(s))
        return (struct redact_snapshot *)(uintptr_t)have;
    struct redact_snapshot *n;
    pthread_mutex_lock(&s->lock);
    if (s->parent && !s->nothing && !s->own_units && !s->nliterals && !s->npatterns) {   /* it adds nothing: generations are the same, too */
        n = interp__redact_set_now(s->parent, NULL);
    } else {
        if (s->parent)
            pthread_mutex_lock(&s->parent->lock);
        uint64_t g = generation(s);
        if (s->current && s->current->generation != g) {
            interp__redact_snapshot_free(s->current);
            s->current = NULL;
        }
        if (!s->current)
            s->current = make(s, g);
        n = s->current;
        if (n)
            atomic_fetch_add(&n->refs, 1);
        if (s->parent)
            pthread_mutex_unlock(&s->parent->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void changed(struct interp__redact_set *s)   /* under the lock */
{
    interp__redact_snapshot_free(s->current);
    s->current = NULL;
    atomic_fetch_add_explicit(&s->generation, 1, memory_order_release);
}

/* ---- the set */

struct interp__redact_set *interp__redact_set_new(const struct interp__mem *m)
{
    struct interp__redact_set *s = interp__alloc(m, sizeof *s);
    if (s) {
        interp__redact_set_init(s, m);
        s->owned = 1;
    }
    return s;
}
size_t interp__redact_set_size(void)
{
    return sizeof(struct interp__redact_set);
}
void interp__redact_set_init(struct interp__redact_set *s, const struct interp__mem *m)
{
    s->mem = *m;
    atomic_init(&s->refs, 1);
    atomic_init(&s->generation, 1);
    pthread_mutex_init(&s->lock, NULL);
    interp__redact_detector_switch(s->units, NULL, 1);
}
struct interp__redact_set *interp__redact_set_over(struct interp__redact_set *parent, const struct interp__mem *m)
{
    struct interp__redact_set *s = interp__redact_set_new(m);
    if (s) {
        s->parent = interp__redact_set_ref(parent);
        memset(s->units, 0, sizeof s->units);
        atomic_store(&s->generation, 0);
    }
    return s;
}
struct interp__redact_set *interp__redact_set_ref(struct interp__redact_set *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}
void interp__redact_set_free(struct interp__redact_set *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    struct interp__mem m = s->mem;
    interp__redact_snapshot_free(s->current);
    for (struct chunk *c = s->chunks, *next; c; c = next) {
        next = c->next;
        interp__secret_free(c->p, c->size);
        interp__free(&m, c);
    }
    for (uint32_t i = 0; i < s->npatterns; i++)
        interp__redact_pattern_free(s->patterns[i]);
    for (uint32_t i = 0; i < s->nnames; i++)
        interp__free(&m, s->names[i]);
    interp__free(&m, s->names);
    interp__free(&m, s->literals);
    pthread_mutex_destroy(&s->lock);
    interp__redact_set_free(s->parent);
    if (s->owned)
        interp__free(&m, s);
}

const char *interp__redact_set_name(struct interp__redact_set *s, uint32_t label)
{
    const char *name = interp__redact_detector_name(label);
    if (name)
        return name;
    label -= interp__redact_detectors();   /* odd ones are a child's own */
    return s->parent && !(label & 1) ? s->parent->names[label >> 1] : s->names[label >> 1];
}

static interp_status check_name(const struct interp__redact_set *s, const char *name, interp_error **err)
{
    size_t n = name ? strlen(name) : 0;
    if (n > 0 && n <= INTERP__REDACT_NAME_MAX && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == n)
        return INTERP_OK;
    return interp__fail(&s->mem, err, INTERP_E_INVAL, "redact-name", "the name of a secret is 1 to %d of A-Z, a-z, 0-9, '_' and '-'", INTERP__REDACT_NAME_MAX);
}

/* The label of a name, made when it is new; under the lock. */
static interp_status label_of(struct interp__redact_set *s, const char *name, uint32_t *label, interp_error **err)
{
    for (uint32_t i = 0; i < interp__redact_detectors(); i++)
        if (!strcmp(interp__redact_detector_name(i), name)) {
            *label = i;
            return INTERP_OK;
        }
    for (uint32_t i = 0; i < s->nnames; i++)
        if (!strcmp(s->names[i], name)) {
            *label = interp__redact_detectors() + 2 * i + (s->parent != NULL);
            return INTERP_OK;
        }
    if (s->nnames == REDACT_NAMES_MAX)
        return interp__fail(&s->mem, err, INTERP_E_LIMIT, "redact-names", "there are %d names of secrets already", REDACT_NAMES_MAX);
    if (!s->names && !(s->names = interp__alloc(&s->mem, REDACT_NAMES_MAX * sizeof *s->names)))
        return interp__nomem(err);
    if (!(s->names[s->nnames] = interp__strndup(&s->mem, name, strlen(name))))
        return interp__nomem(err);
    *label = interp__redact_detectors() + 2 * s->nnames++ + (s->parent != NULL);
    return INTERP_OK;
}

struct adding { struct interp__redact_set *s; uint32_t first, label; uint8_t *work; int full; };

static int add_literal(void *userdata, const uint8_t *p, size_t n, struct redact_variant v)
{
    struct adding *a = userdata;
    struct interp__redact_set *s = a->s;
    n = interp__redact_normalise(a->work, p, n);
    if (n < INTERP__REDACT_VALUE_MIN)
        return 0;
    for (uint32_t i = a->first; i < s->nliterals; i++)
        if (s->literals[i].len == n && !memcmp(s->literals[i].p, a->work, n)) {
            s->literals[i].left |= v.left;
            s->literals[i].right |= v.right;
            return 0;
        }
    if (s->nliterals == LITERALS_MAX) {
        a->full = 1;
        return -1;
    }
    if (s->nliterals == s->literals_cap) {
        uint32_t cap = s->literals_cap ? 2 * s->literals_cap : 64;
        struct redact_literal *more = interp__resize(&s->mem, s->literals, cap * sizeof *more);
        if (!more)
            return -1;
        s->literals = more;
        s->literals_cap = cap;
    }
    uint8_t *kept = keep_bytes(s, a->work, n);
    if (!kept)
        return -1;
    s->literals[s->nliterals] = (struct redact_literal){ kept, (uint32_t)n, a->label, v.left, v.right, s->nliterals == a->first };
    s->nliterals++;
    return 0;
}

/* Words that stand in ordinary output: replacing them would damage it and tell nothing. */
static int is_common(const uint8_t *p, size_t n)
{
    static const char *const words[] = { "password", "passw0rd", "localhost", "undefined", "username", "administrator", "changeme", "workspace", "container", "production",
                                         "development", "anonymous", "postgres", "postgresql", "disabled", "required", "optional", "redacted", "12345678", "123456789", "1234567890",
                                         "abcdefgh", "null null", "true true", "document", "directory" };
    size_t same = 1;
    while (same < n && p[same] == p[0])
        same++;
    if (same == n)
        return 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && !strncasecmp(words[i], (const char *)p, n))
            return 1;
    return 0;
}

static interp_status add_value(struct interp__redact_set *s, const char *name, const uint8_t *p, size_t n, uint8_t *work, size_t room, interp_error **err)
{
    size_t plain = interp__redact_normalise(work, p, n);
    if (plain < INTERP__REDACT_VALUE_MIN)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "redact-short", "the value of %s has %zu bytes without line breaks; under %d it would match by chance", name, plain, INTERP__REDACT_VALUE_MIN);
    char label[64];
    snprintf(label, sizeof label, "[REDACTED:%s:partial]", name);
    if (is_common(work, plain) || memmem(label, strlen(label), work, plain) || memmem("out-of-memory", 13, work, plain))
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "redact-common", "the value of %s is one that ordinary output contains", name);
    pthread_mutex_lock(&s->lock);
    struct adding a = { s, s->nliterals, 0, work, 0 };
    interp_status st = INTERP_OK;
    for (uint32_t i = 0; i < s->nliterals && !st; i++)
        if (s->literals[i].raw && s->literals[i].len == plain && !memcmp(s->literals[i].p, work, plain))
            st = INTERP_DONE;   /* known */
    if (!st)
        st = label_of(s, name, &a.label, err);
    if (!st && interp__redact_variants(p, n, work + room, interp__redact_variants_room(n), add_literal, &a)) {
        s->nliterals = a.first;   /* the bytes stay, wiped with the set */
        st = a.full ? interp__fail(&s->mem, err, INTERP_E_LIMIT, "redact-values", "there are %d values and encodings already", LITERALS_MAX) : interp__nomem(err);
    }
    if (!st)
        changed(s);
    pthread_mutex_unlock(&s->lock);
    return st == INTERP_DONE ? INTERP_OK : st;
}

interp_status interp__redact_set_value(struct interp__redact_set *s, const char *name, const void *p, size_t n, interp_error **err)
{
    interp_status st = check_name(s, name, err);
    if (st)
        return st;
    if (!p)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "the value of %s is NULL", name);
    if (n == INTERP_NTS)
        n = strlen(p);
    if (n > INTERP__REDACT_VALUE_MAX)
        return interp__fail(&s->mem, err, INTERP_E_LIMIT, "redact-long", "the value of %s has %zu bytes; %d are the most", name, n, INTERP__REDACT_VALUE_MAX);
    size_t room = interp__redact_variants_room(n);
    uint8_t *work = interp__secret_alloc(2 * room);
    if (!work)
        return interp__nomem(err);
    st = add_value(s, name, p, n, work, room, err);
    interp__secret_free(work, 2 * room);
    return st;
}

interp_status interp__redact_set_pattern(struct interp__redact_set *s, const char *name, const char *text, size_t n, interp_error **err)
{
    interp_status st = check_name(s, name, err);
    if (st)
        return st;
    if (!text)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "the pattern %s is NULL", name);
    if (n == INTERP_NTS)
        n = strlen(text);
    if (n > INTERP__REDACT_PATTERN_MAX)
        return interp__fail(&s->mem, err, INTERP_E_LIMIT, "redact-pattern", "the pattern %s has %zu bytes; %d are the most", name, n, INTERP__REDACT_PATTERN_MAX);
    pthread_mutex_lock(&s->lock);
    uint32_t label = 0;
    struct redact_pattern *made = NULL;
    if (s->npatterns == REDACT_PATTERNS_MAX)
        st = interp__fail(&s->mem, err, INTERP_E_LIMIT, "redact-patterns", "there are %d patterns already", REDACT_PATTERNS_MAX);
    if (!st)
        st = label_of(s, name, &label, err);
    if (!st)
        st = interp__redact_pattern_new(&s->mem, text, n, label, &made, err);
    if (!st) {
        s->patterns[s->npatterns++] = made;
        changed(s);
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

interp_status interp__redact_set_detector(struct interp__redact_set *s, const char *name, int on, interp_error **err)
{
    pthread_mutex_lock(&s->lock);
    int n = name ? interp__redact_detector_switch(s->units, name, on) : 0;
    if (n && s->parent)
        interp__redact_detector_switch(s->off, name, !on);
    s->own_units |= n && s->parent;
    if (n)
        changed(s);
    pthread_mutex_unlock(&s->lock);
    return n ? INTERP_OK : interp__fail(&s->mem, err, INTERP_E_NOT_FOUND, "redact-detector", "there is no detector or group of detectors named \"%.60s\"", name ? name : "(NULL)");
}
void interp__redact_set_default_detectors(struct interp__redact_set *s)
{
    pthread_mutex_lock(&s->lock);
    interp__redact_detector_switch(s->units, NULL, 1);
    for (size_t i = 0; s->parent && i < sizeof s->off / sizeof *s->off; i++)
        s->off[i] = ~s->units[i];
    s->own_units = s->parent != NULL;
    changed(s);
    pthread_mutex_unlock(&s->lock);
}
void interp__redact_set_nothing(struct interp__redact_set *s)
{
    pthread_mutex_lock(&s->lock);
    s->nothing = 1;
    changed(s);
    pthread_mutex_unlock(&s->lock);
}
