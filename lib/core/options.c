/* options.c - setters, JSON, defaults and copies, all from options.def */
#include "core.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>


enum { SCOPE_config, SCOPE_request };
struct option {
    const char *name, *fallback;   /* fallback: default of a text */
    size_t at, set_at;
    uint64_t def, min, max;
    uint8_t scope, is_text, forever;
};
#define VALUES_config  struct interp__config_values
#define VALUES_request struct interp__request_values
static const struct option OPTIONS[] = {
#define OPT_STR(scope_, name_, member, def_, since, trust, doc) \
    { .name = #name_, .fallback = def_, .at = offsetof(VALUES_##scope_, member), .scope = SCOPE_##scope_, .is_text = 1 },
#define OPT_U64(scope_, name_, member, def_, min_, max_, forever_, since, trust, doc) \
    { .name = #name_, .at = offsetof(VALUES_##scope_, member), .set_at = offsetof(VALUES_##scope_, member##_set), .def = def_, .min = min_, .max = max_, .scope = SCOPE_##scope_, .forever = forever_ },
#include "options.def"
};
#define COUNT (sizeof OPTIONS / sizeof *OPTIONS)

static char **text_at(void *values, const struct option *o)
{
    return (char **)(void *)((char *)values + o->at);
}
static uint64_t *number_at(void *values, const struct option *o)
{
    return (uint64_t *)(void *)((char *)values + o->at);
}

static const struct option *find(int scope, const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (OPTIONS[i].scope == scope && !strcmp(OPTIONS[i].name, name))
            return &OPTIONS[i];
    return NULL;
}
int interp__option_known(int is_request, const char *name)
{
    return find(is_request, name) != NULL;
}

/* W3C Trace Context: version 00, or a later one whose first four parts are the same */
static int traceparent_ok(const char *v)
{
    static const unsigned char lengths[] = { 2, 32, 16, 2 };
    size_t n = strlen(v);
    const char *p = v;
    if (n < 55 || !strncmp(v, "ff", 2) || (n > 55 && (v[55] != '-' || !strncmp(v, "00", 2))))
        return 0;
    for (int i = 0; i < 4; i++) {
        if (strspn(p, "0123456789abcdef") < lengths[i] || ((i == 1 || i == 2) && strspn(p, "0") >= lengths[i]))
            return 0;
        p += lengths[i];
        if (i < 3 && *p++ != '-')
            return 0;
    }
    return 1;
}

static interp_status check_text(const struct option *o, const struct interp__mem *m, const char *v, interp_error **err)
{
    if (!v || !*v)
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "%s must not be empty", o->name);
    if (!strcmp(o->name, "spill_dir")) {
        if (v[0] != '/' || strlen(v) > 4095)
            return interp__fail(m, err, INTERP_E_INVAL, "option-value", "spill_dir is \"%.128s\"; it must be an absolute path of at most 4095 bytes", v);
        return INTERP_OK;
    }
    if (strlen(v) > 255)
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "%s is longer than 255 bytes", o->name);
    for (const char *p = v; *p; p++)
        if ((unsigned char)*p < 0x21 || (unsigned char)*p > 0x7E)
            return interp__fail(m, err, INTERP_E_INVAL, "option-value", "%s has a character that is not printable ASCII at byte %d", o->name, (int)(p - v));
    if (!strcmp(o->name, "isolation") && strcmp(v, "full") && strcmp(v, "namespaces") && strcmp(v, "landlock") && strcmp(v, "process"))
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "isolation is \"%s\"; it must be full, namespaces, landlock or process", v);
    if (!strcmp(o->name, "pull") && strcmp(v, "never") && strcmp(v, "missing") && strcmp(v, "always"))
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "pull is \"%s\"; it must be never, missing or always", v);
    if (!strcmp(o->name, "traceparent") && !traceparent_ok(v))
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "traceparent is \"%.80s\"; it must be 00-<32 hex>-<16 hex>-<2 hex> in lower case, no id all zero", v);
    return INTERP_OK;
}

static interp_status set_text(void *values, const struct option *o, const struct interp__mem *m, const char *v, interp_error **err)
{
    interp_status st = check_text(o, m, v, err);
    if (st)
        return st;
    char *copy = interp__strndup(m, v, strlen(v));
    if (!copy)
        return interp__nomem(err);
    interp__free(m, *text_at(values, o));
    *text_at(values, o) = copy;
    return INTERP_OK;
}

static interp_status set_number(void *values, const struct option *o, const struct interp__mem *m, uint64_t v, interp_error **err)
{
    if (v == INTERP_FOREVER && !o->forever)
        return interp__fail(m, err, INTERP_E_INVAL, "option-range", "%s can't be without limit; give at most %" PRIu64, o->name, o->max);
    if (v != INTERP_FOREVER && (v < o->min || v > o->max))
        return interp__fail(m, err, INTERP_E_INVAL, "option-range", "%s is %" PRIu64 "; it must be from %" PRIu64 " to %" PRIu64 "%s", o->name, v, o->min, o->max,
                            v == 0 ? " (leave it unset for the default)" : o->forever ? ", or INTERP_FOREVER" : "");
    *number_at(values, o) = v;
    *((uint8_t *)values + o->set_at) = 1;
    return INTERP_OK;
}

interp_status interp__options_set(void *values, int is_request, const struct interp__mem *m, const char *key, const struct interp__json *j, uint32_t node, int *known, interp_error **err)
{
    const struct option *o = find(is_request, key);
    *known = o != NULL;
    if (!o)
        return INTERP_OK;
    const struct interp__json_node *n = interp__json_at(j, node);
    if (o->is_text) {
        if (n->type != INTERP__JSON_STRING)
            return interp__fail(m, err, INTERP_E_INVAL, "option-type", "%s must be a string", key);
        if (strlen(interp__json_string(j, n)) != n->text_len)
            return interp__fail(m, err, INTERP_E_INVAL, "option-value", "%s has a NUL character", key);
        return set_text(values, o, m, interp__json_string(j, n), err);
    }
    if (n->type == INTERP__JSON_STRING && !strcmp(interp__json_string(j, n), "forever"))
        return set_number(values, o, m, INTERP_FOREVER, err);
    if (n->type == INTERP__JSON_BOOL && o->max == 1)
        return set_number(values, o, m, (uint64_t)n->i, err);
    if (n->type != INTERP__JSON_INT)
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "%s must be a whole number%s", key, o->forever ? " or \"forever\"" : o->max == 1 ? " or true or false" : "");
    if (n->i < 0)
        return interp__fail(m, err, INTERP_E_INVAL, "option-range", "%s is %" PRId64 "; it must be from %" PRIu64 " to %" PRIu64, key, n->i, o->min, o->max);
    return set_number(values, o, m, (uint64_t)n->i, err);
}

static interp_status defaults(void *values, int scope, const struct interp__mem *m)
{
    for (size_t i = 0; i < COUNT; i++) {
        const struct option *o = &OPTIONS[i];
        if (o->scope != scope)
            continue;
        if (!o->is_text)
            *number_at(values, o) = o->def;
        else if (!(*text_at(values, o) = interp__strndup(m, o->fallback, strlen(o->fallback))))
            return INTERP_E_NOMEM;
    }
    return INTERP_OK;
}
static interp_status copy(void *to, const void *from, size_t size, int scope, const struct interp__mem *m)
{
    memcpy(to, from, size);
    interp_status st = INTERP_OK;
    for (size_t i = 0; i < COUNT; i++) {
        const struct option *o = &OPTIONS[i];
        if (o->scope != scope || !o->is_text)
            continue;
        char **t = text_at(to, o);
        if (*t && !(*t = interp__strndup(m, *t, strlen(*t))))
            st = INTERP_E_NOMEM;   /* the rest is still copied, so that clear frees only what is ours */
    }
    return st;
}
static void clear(void *values, int scope, const struct interp__mem *m)
{
    for (size_t i = 0; i < COUNT; i++)
        if (OPTIONS[i].scope == scope && OPTIONS[i].is_text) {
            interp__free(m, *text_at(values, &OPTIONS[i]));
            *text_at(values, &OPTIONS[i]) = NULL;
        }
}

interp_status interp__config_defaults(struct interp__config_values *v, const struct interp__mem *m)
{
    return defaults(v, SCOPE_config, m);
}
interp_status interp__config_copy(struct interp__config_values *to, const struct interp__config_values *from, const struct interp__mem *m)
{
    return copy(to, from, sizeof *to, SCOPE_config, m);
}
void interp__config_clear(struct interp__config_values *v, const struct interp__mem *m)
{
    clear(v, SCOPE_config, m);
}
interp_status interp__request_defaults(struct interp__request_values *v, const struct interp__mem *m)
{
    return defaults(v, SCOPE_request, m);
}
interp_status interp__request_copy(struct interp__request_values *to, const struct interp__request_values *from, const struct interp__mem *m)
{
    return copy(to, from, sizeof *to, SCOPE_request, m);
}
void interp__request_clear(struct interp__request_values *v, const struct interp__mem *m)
{
    clear(v, SCOPE_request, m);
}

void interp__options_json(struct interp__buf *out, const struct interp__config_values *v)
{
    int first = 1;
    for (size_t i = 0; i < COUNT; i++) {
        const struct option *o = &OPTIONS[i];
        if (o->scope != SCOPE_config)
            continue;
        interp__buf_fmt(out, "%s\"%s\":", first ? "" : ",", o->name);
        first = 0;
        const char *p = (const char *)v + o->at;
        if (o->is_text) {
            const char *t = *(char *const *)(const void *)p;
            interp__json_text(out, t, strlen(t));
        } else {
            uint64_t n = *(const uint64_t *)(const void *)p;
            if (n == INTERP_FOREVER)
                interp__buf_str(out, "\"forever\"");
            else
                interp__buf_fmt(out, "%" PRIu64, n);
        }
    }
}

/* ---- the setters */

static void after_config(interp_config *c, const char *name)
{
    if (!strcmp(name, "backend") || !strcmp(name, "endpoint"))
        interp__config_prepare(c);
}
#define AFTER_config(c, name) after_config(c, name)
#define AFTER_request(c, name) (void)0

/* One for each scope, so that a setter is a call of it. */
#define SET(scope) \
    static interp_status set_##scope(interp_##scope *c, const char *name, const char *text, uint64_t number, interp_error **err) \
    { \
        if (!c) \
            return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "interp_" #scope "_set_%s: the handle is NULL", name); \
        interp_status st = interp__ctx_check(c->ctx, err); \
        if (st) \
            return st; \
        if (interp__enter(&c->guard)) \
            return interp__fail(&c->ctx->mem, err, INTERP_E_BUSY, "thread", "another thread is using this " #scope); \
        const struct option *o = find(SCOPE_##scope, name); \
        st = o->is_text ? set_text(&c->v, o, &c->ctx->mem, text, err) : set_number(&c->v, o, &c->ctx->mem, number, err); \
        if (!st) \
            AFTER_##scope(c, name); \
        interp__leave(&c->guard); \
        return st; \
    }
SET(config)
SET(request)

#define SETTER(scope, name, type, text, number) \
    interp_status interp_##scope##_set_##name(interp_##scope *c, type v, interp_error **err) \
    { \
        return set_##scope(c, #name, text, number, err); \
    }
#define OPT_STR(scope, name, ...) SETTER(scope, name, const char *, v, 0)
#define OPT_U64(scope, name, ...) SETTER(scope, name, uint64_t, NULL, v)
#include "options.def"
