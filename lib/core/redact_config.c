/* redact_config.c - what a config or a session adds to the context's redaction */
#include "base/secret.h"
#include "core.h"
#include <string.h>

enum kind { VALUE, PATTERN, DETECTOR, DEFAULTS };
struct interp__redaction {
    atomic_uint refs;
    enum kind kind;
    int on;
    char name[64];
    size_t n, size;
    uint8_t *bytes;            /* of a value: locked, wiped; of a pattern: plain */
};
enum { ITEMS_MAX = 4096, DETECTORS_MAX = 256 };

static void item_free(const struct interp__mem *m, struct interp__redaction *i)
{
    if (!i || atomic_fetch_sub(&i->refs, 1) != 1)
        return;
    interp__secret_free(i->bytes, i->size);
    interp__free(m, i);
}

static interp_status apply(struct interp__redact_set *set, const struct interp__redaction *i, interp_error **err)
{
    switch (i->kind) {
    case VALUE: return interp__redact_set_value(set, i->name, i->bytes, i->n, err);
    case PATTERN: return interp__redact_set_pattern(set, i->name, (const char *)i->bytes, i->n, err);
    case DETECTOR: return interp__redact_set_detector(set, i->name, i->on, err);
    default: interp__redact_set_default_detectors(set); return INTERP_OK;
    }
}

/* Adds an item when a set takes it. */
static interp_status add(struct interp__redactions *l, const struct interp__mem *m, enum kind kind, const char *name, const void *p, size_t n, int on, interp_error **err)
{
    if (n == INTERP_NTS)
        n = p ? strlen(p) : 0;
    if (n > INTERP__REDACT_VALUE_MAX)   /* before it is copied */
        return interp__fail(m, err, INTERP_E_LIMIT, "redact-long", "the value of %.40s has %zu bytes; %d are the most", name ? name : "(NULL)", n, INTERP__REDACT_VALUE_MAX);
    if (l->n >= ITEMS_MAX)
        return interp__fail(m, err, INTERP_E_LIMIT, "redact-values", "a config has at most %d values, patterns and switches of redaction", ITEMS_MAX);
    if ((kind == VALUE || kind == PATTERN) && !p)
        return interp__fail(m, err, INTERP_E_INVAL, "argument", "the %s %.40s is NULL", kind == VALUE ? "value of" : "pattern", name ? name : "(NULL)");
    struct interp__redaction *i = interp__alloc(m, sizeof *i);
    struct interp__redact_set *check = interp__redact_set_new(m);
    struct interp__redaction **more = interp__resize(m, l->p, (l->n + 1) * sizeof *more);
    if (more)
        l->p = more;
    interp_status st = INTERP_OK;
    if (i) {
        atomic_init(&i->refs, 1);
        i->kind = kind;
        i->on = on;
        if (name && strlen(name) < sizeof i->name)
            memcpy(i->name, name, strlen(name));
        else if (kind != DEFAULTS)   /* too long for any: as wrong as an empty one */
            st = kind == DETECTOR ? interp__fail(m, err, INTERP_E_NOT_FOUND, "redact-detector", "there is no detector or group of detectors named \"%.60s\"", name ? name : "(NULL)") : INTERP_OK;
        i->n = n;
        i->size = n + 1;
        if (p && !(i->bytes = interp__secret_alloc(i->size)))
            st = interp__nomem(err);
        else if (p)
            memcpy(i->bytes, p, n);
    }
    if (!i || !check || !more)
        st = interp__nomem(err);
    if (!st)
        st = apply(check, i, err);
    interp__redact_set_free(check);
    if (st)
        item_free(m, i);
    else
        l->p[l->n++] = i;
    return st;
}

interp_status interp__redactions_copy(struct interp__redactions *to, const struct interp__redactions *from, const struct interp__mem *m, interp_error **err)
{
    to->n = 0;
    to->p = from->n ? interp__resize(m, NULL, from->n * sizeof *to->p) : NULL;
    if (from->n && !to->p)
        return interp__nomem(err);
    for (; to->n < from->n; to->n++) {
        to->p[to->n] = from->p[to->n];
        atomic_fetch_add(&to->p[to->n]->refs, 1);
    }
    return INTERP_OK;
}
void interp__redactions_free(struct interp__redactions *l, const struct interp__mem *m)
{
    for (size_t i = 0; i < l->n; i++)
        item_free(m, l->p[i]);
    interp__free(m, l->p);
    l->p = NULL;
    l->n = 0;
}

interp_status interp__redactions_open(interp_ctx *x, const struct interp__redactions *l, const struct interp__config_values *v, struct interp__redact_set **out, interp_error **err)
{
    struct interp__redact_set *set = interp__redact_set_over(x->redact, &x->mem);
    interp_status st = set ? INTERP_OK : interp__nomem(err);
    for (size_t i = 0; l && i < l->n && !st; i++)
        st = apply(set, l->p[i], err);
    if (!st && v->redact_host)
        st = interp__redact_host(set, &x->mem, err);
    if (!st && v->redact_off)
        interp__redact_set_nothing(set);
    if (st)
        interp__redact_set_free(set);
    else
        *out = set;
    return st;
}

/* ---- JSON */

static interp_status wrong(const struct interp__mem *m, const char *what, interp_error **err)
{
    return interp__fail(m, err, INTERP_E_INVAL, "option-type", "redact.%s", what);
}

/* [{name, value}] or [{name, regex}] */
static interp_status named(struct interp__redactions *l, const struct interp__mem *m, const struct interp__json *j, uint32_t node, enum kind kind, interp_error **err)
{
    const char *member = kind == VALUE ? "value" : "regex";
    const struct interp__json_node *list = interp__json_at(j, node);
    if (list->type != INTERP__JSON_ARRAY)
        return wrong(m, kind == VALUE ? "values must be an array of {name, value}" : "patterns must be an array of {name, regex}", err);
    uint32_t i = node + 1;
    for (uint32_t k = 0; k < list->count; k++, i = interp__json_at(j, i)->next) {
        const struct interp__json_node *o = interp__json_at(j, i);
        uint32_t name = o->type == INTERP__JSON_OBJECT ? interp__json_member(j, i, "name") : 0, text = o->type == INTERP__JSON_OBJECT ? interp__json_member(j, i, member) : 0;
        const struct interp__json_node *n = interp__json_at(j, name), *t = interp__json_at(j, text);
        if (!name || !text || o->count != 2 || n->type != INTERP__JSON_STRING || t->type != INTERP__JSON_STRING || strlen(interp__json_string(j, n)) != n->text_len)
            return wrong(m, kind == VALUE ? "values must be an array of {name, value}, both strings" : "patterns must be an array of {name, regex}, both strings", err);
        interp_status st = add(l, m, kind, interp__json_string(j, n), interp__json_string(j, t), t->text_len, 1, err);
        if (st)
            return st;
    }
    return INTERP_OK;
}

static interp_status detectors(struct interp__redactions *l, const struct interp__mem *m, const struct interp__json *j, uint32_t node, interp_error **err)
{
    static const char words[] = "detectors must be true, false, an array of names, or an object of names with true or false";
    const struct interp__json_node *d = interp__json_at(j, node);
    int array = d->type == INTERP__JSON_ARRAY, object = d->type == INTERP__JSON_OBJECT;
    if ((!array && !object && d->type != INTERP__JSON_BOOL) || d->count > DETECTORS_MAX)
        return wrong(m, words, err);
    interp_status st = INTERP_OK;
    if (array || (d->type == INTERP__JSON_BOOL && !d->i))
        st = add(l, m, DETECTOR, "all", NULL, 0, 0, err);
    else if (!object)
        st = add(l, m, DEFAULTS, NULL, NULL, 0, 1, err);
    uint32_t i = node + 1;
    for (uint32_t k = 0; !st && k < d->count; k++, i = interp__json_at(j, i)->next) {
        const struct interp__json_node *n = interp__json_at(j, i);
        const char *name = object ? interp__json_key(j, n) : interp__json_string(j, n);
        if (object ? n->type != INTERP__JSON_BOOL : n->type != INTERP__JSON_STRING)
            return wrong(m, words, err);
        st = add(l, m, DETECTOR, name, NULL, 0, object ? n->i != 0 : 1, err);
    }
    return st;
}

interp_status interp__redactions_set_json(struct interp__redactions *l, const struct interp__mem *m, const struct interp__json *j, uint32_t node, interp_error **err)
{
    const struct interp__json_node *o = interp__json_at(j, node);
    if (o->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "redact must be an object with values, patterns, detectors");
    uint32_t i = node + 1;
    interp_status st = INTERP_OK;
    for (uint32_t k = 0; !st && k < o->count; k++, i = interp__json_at(j, i)->next) {
        const char *key = interp__json_key(j, interp__json_at(j, i));
        if (!strcmp(key, "values"))
            st = named(l, m, j, i, VALUE, err);
        else if (!strcmp(key, "patterns"))
            st = named(l, m, j, i, PATTERN, err);
        else if (!strcmp(key, "detectors"))
            st = detectors(l, m, j, i, err);
        else
            st = interp__fail(m, err, INTERP_E_INVAL, "option-unknown", "redact has no member \"%.64s\": it has values, patterns, detectors", key);
    }
    return st;
}

void interp__redactions_json(const struct interp__redactions *l, struct interp__buf *out)
{
    static const char *const keys[] = { "values", "patterns" };
    interp__buf_str(out, "{");
    for (int kind = VALUE; kind <= PATTERN; kind++) {
        int first = 1;
        interp__buf_fmt(out, "\"%s\":[", keys[kind]);
        for (size_t i = 0; i < l->n; i++)
            if ((int)l->p[i]->kind == kind) {
                interp__buf_fmt(out, "%s\"%s\"", first ? "" : ",", l->p[i]->name);
                first = 0;
            }
        interp__buf_str(out, "],");
    }
    interp__buf_str(out, "\"detectors\":[");
    int first = 1;
    for (size_t i = 0; i < l->n; i++)
        if (l->p[i]->kind >= DETECTOR) {   /* in their order: later ones win */
            interp__buf_fmt(out, "%s{\"%s\":%s}", first ? "" : ",", l->p[i]->kind == DEFAULTS ? "default" : l->p[i]->name, l->p[i]->on ? "true" : "false");
            first = 0;
        }
    interp__buf_str(out, "]}");
}

/* ---- calls */

static interp_status of_config(interp_config *c, enum kind kind, const char *name, const void *p, size_t n, uint64_t on, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    const struct interp__mem *m = &c->ctx->mem;
    st = on > 1 ? interp__fail(m, err, INTERP_E_INVAL, "option-range", "a detector is switched on with 1 or off with 0") : add(&c->redactions, m, kind, name, p, n, on == 1, err);
    interp__leave(&c->guard);
    return st;
}
interp_status interp_config_redact_add(interp_config *c, const char *name, const void *value, size_t n, interp_error **err)
{
    return of_config(c, VALUE, name, value, n, 1, err);
}
interp_status interp_config_redact_add_pattern(interp_config *c, const char *name, const char *pattern, size_t n, interp_error **err)
{
    return of_config(c, PATTERN, name, pattern, n, 1, err);
}
interp_status interp_config_redact_set_detector(interp_config *c, const char *name, uint64_t on, interp_error **err)
{
    return of_config(c, DETECTOR, name, NULL, 0, on, err);
}

static interp_status session_check(interp_session *s, interp_error **err)
{
    return s ? interp__ctx_check(s->ctx, err) : interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the session is NULL");
}
interp_status interp_session_redact_add(interp_session *s, const char *name, const void *value, size_t n, interp_error **err)
{
    interp_status st = session_check(s, err);
    return st ? st : interp__redact_set_value(s->secrets, name, value, n, err);
}
interp_status interp_session_redact_add_pattern(interp_session *s, const char *name, const char *pattern, size_t n, interp_error **err)
{
    interp_status st = session_check(s, err);
    return st ? st : interp__redact_set_pattern(s->secrets, name, pattern, n, err);
}
interp_status interp_session_redact_set_detector(interp_session *s, const char *name, uint64_t on, interp_error **err)
{
    interp_status st = session_check(s, err);
    if (!st && on > 1)
        st = interp__fail(&s->mem, err, INTERP_E_INVAL, "option-range", "a detector is switched on with 1 or off with 0");
    return st ? st : interp__redact_set_detector(s->secrets, name, on == 1, err);
}
