/* config.c - how to open a session */
#include "oneshot.h"
#include <string.h>

enum { ENV_NAMES = 1024, ENV_BYTES = 32 * 1024 };

/* ---- environment lists, shared with requests */

static int env_find(const struct interp__env *e, const char *name, size_t len, size_t *at, size_t *size)
{
    for (size_t i = 0; i < e->text.len;) {
        const char *item = (const char *)e->text.p + i;
        size_t n = strlen(item) + 1;
        if (!strncmp(item, name, len) && item[len] == '=') {
            *at = i;
            *size = n;
            return 1;
        }
        i += n;
    }
    return 0;
}

interp_status interp__env_set(struct interp__env *e, const struct interp__mem *m, const char *name, const void *v, size_t n, size_t max_names, size_t max_bytes, interp_error **err)
{
    if (!name || !*name || (!v && n))
        return interp__fail(m, err, INTERP_E_INVAL, "env-name", "an environment variable needs a name and a value");
    size_t len = strlen(name);
    if (n == INTERP_NTS)
        n = strlen(v);
    if (len > 255 || strchr(name, '=') || (name[0] >= '0' && name[0] <= '9') ||
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != len)
        return interp__fail(m, err, INTERP_E_INVAL, "env-name", "\"%.64s\" is not a name for an environment variable: letters, digits and _, not a digit first, at most 255", name);
    if (!strncmp(name, "INTERP_", 7) && (!strcmp(name + 7, "CACHED") || !strcmp(name + 7, "WANT_CACHE") || !strcmp(name + 7, "BUILD") || !strcmp(name + 7, "HEAP")))
        return interp__fail(m, err, INTERP_E_INVAL, "env-name", "environment variable %s is the library's own", name);
    if (n && memchr(v, 0, n))
        return interp__fail(m, err, INTERP_E_INVAL, "env-value", "the value of environment variable %s has a NUL byte", name);
    size_t at = 0, size = 0;
    int have = env_find(e, name, len, &at, &size);
    if ((!have && e->count >= max_names) || n > max_bytes || e->text.len - size + len + n + 2 > max_bytes)
        return interp__fail(m, err, INTERP_E_LIMIT, "env-size", "environment variable %s is one too many: at most %zu names and %zu bytes together", name, max_names, max_bytes);
    if (interp__buf_reserve(&e->text, len + n + 2)) {
        e->text.bad = 0;
        return interp__nomem(err);
    }
    if (have)
        memmove(e->text.p + at, e->text.p + at + size, e->text.len - at - size), e->text.len -= size, e->count--;
    interp__buf_add(&e->text, name, len);
    interp__buf_add(&e->text, "=", 1);
    interp__buf_add(&e->text, v, n);
    interp__buf_add(&e->text, "", 1);
    e->count++;
    return INTERP_OK;
}

interp_status interp__env_set_json(struct interp__env *e, const struct interp__mem *m, const struct interp__json *j, uint32_t object, size_t max_names, size_t max_bytes, interp_error **err)
{
    const struct interp__json_node *o = interp__json_at(j, object);
    if (o->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "env must be an object of strings");
    uint32_t i = object + 1;
    for (uint32_t k = 0; k < o->count; k++) {
        const struct interp__json_node *n = interp__json_at(j, i);
        const char *name = interp__json_key(j, n);
        if (strlen(name) != n->key_len)
            return interp__fail(m, err, INTERP_E_INVAL, "env-name", "a name in env has a NUL character");
        if (n->type != INTERP__JSON_STRING)
            return interp__fail(m, err, INTERP_E_INVAL, "option-type", "env.%.64s must be a string", name);
        interp_status st = interp__env_set(e, m, name, interp__json_string(j, n), n->text_len, max_names, max_bytes, err);
        if (st)
            return st;
        i = n->next;
    }
    return INTERP_OK;
}

/* ---- extras: "<backend>.<key>" */

interp_status interp__extra_set(struct interp__extra **list, const struct interp__mem *m, const char *key, const char *json, size_t len, interp_error **err)
{
    const char *dot = key ? strchr(key, '.') : NULL;
    if (!dot || dot == key || !dot[1] || strlen(key) > 128)
        return interp__fail(m, err, INTERP_E_INVAL, "option-unknown", "\"%.128s\" is not a backend's option: it must be \"<backend>.<key>\"", key ? key : "");
    return interp__text_set(list, m, key, json, len, UINT32_MAX, err);
}
interp_status interp__text_set(struct interp__extra **list, const struct interp__mem *m, const char *key, const char *json, size_t len, uint32_t max, interp_error **err)
{
    struct interp__extra *e = *list, **end = list;
    uint32_t count = 0;
    for (; e && strcmp(e->key, key); e = e->next, count++)
        end = &e->next;
    if (!e && count >= max)
        return interp__fail(m, err, INTERP_E_LIMIT, "languages", "\"%.64s\" is one language too many: a config adds at most %u", key, (unsigned)max);
    char *copy = interp__strndup(m, json, len);
    if (copy && !e && (e = interp__alloc(m, sizeof *e))) {
        if ((e->key = interp__strndup(m, key, strlen(key)))) {
            *end = e;   /* behind the others: the first that has a name wins */
        } else {
            interp__free(m, e);
            e = NULL;
        }
    }
    if (!copy || !e) {
        interp__free(m, copy);
        return interp__nomem(err);
    }
    interp__free(m, e->json);
    e->json = copy;
    return INTERP_OK;
}
void interp__extras_free(struct interp__extra **list, const struct interp__mem *m)
{
    for (struct interp__extra *e = *list, *next; e; e = next) {
        next = e->next;
        interp__free(m, e->key);
        interp__free(m, e->json);
        interp__free(m, e);
    }
    *list = NULL;
}

/* ---- the handle */

interp_status interp_config_new(interp_ctx *x, interp_config **out, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    if (!out)
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_config_new: out is NULL");
    interp_config *c = interp__alloc(&x->mem, sizeof *c);
    if (!c)
        return interp__nomem(err);
    c->ctx = interp__ctx_ref(x);
    interp__buf_init(&c->env.text, &x->mem);
    interp__buf_init(&c->labels.text, &x->mem);
    interp__buf_init(&c->audit, &x->mem);
    interp__buf_init(&c->json, &x->mem);
    if (interp__config_defaults(&c->v, &x->mem)) {
        interp_config_free(c);
        return interp__nomem(err);
    }
    *out = c;
    return INTERP_OK;
}

void interp_config_free(interp_config *c)
{
    if (!c || interp__in_callback())
        return;
    interp_ctx *x = c->ctx;
    interp__config_clear(&c->v, &x->mem);
    interp__wipe(c->env.text.p, c->env.text.cap);
    interp__buf_free(&c->env.text);
    interp__buf_free(&c->labels.text);
    interp__policy_unref(c->policy);
    interp__buf_free(&c->audit);
    interp__buf_free(&c->json);
    interp__extras_free(&c->extras, &x->mem);
    interp__redactions_free(&c->redactions, &x->mem);
    interp__host_files_free(&c->files, &x->mem);
    interp__extras_free(&c->languages, &x->mem);
    interp_cancel_free(c->cancel);
    interp__free(&x->mem, c);
    interp__ctx_unref(x);
}

interp_status interp__config_enter(interp_config *c, interp_error **err)
{
    if (!c)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the config is NULL");
    interp_status st = interp__ctx_check(c->ctx, err);
    if (!st && interp__enter(&c->guard))
        st = interp__fail(&c->ctx->mem, err, INTERP_E_BUSY, "thread", "another thread is using this config");
    return st;
}

interp_status interp_config_set_env(interp_config *c, const char *name, const void *value, size_t n, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    st = interp__env_set(&c->env, &c->ctx->mem, name, value, n, ENV_NAMES, ENV_BYTES, err);
    interp__leave(&c->guard);
    return st;
}

static interp_status set_policy(struct interp__policy **to, const struct interp__mem *m, const struct interp__json *j, uint32_t node, interp_error **err)
{
    struct interp__policy *p = NULL;
    interp_status st = interp__policy_new(m, j, node, &p, err);
    if (!st) {
        interp__policy_unref(*to);
        *to = p;
    }
    return st;
}
interp_status interp_config_set_policy(interp_config *c, const char *json, size_t len, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    struct interp__json j = { 0 };
    if (!json)
        st = interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "argument", "interp_config_set_policy: the rules are NULL");
    else
        st = interp__json_parse(&j, &c->ctx->mem, json, len == INTERP_NTS ? strlen(json) : len, err);
    if (!st)
        st = set_policy(&c->policy, &c->ctx->mem, &j, 0, err);
    interp__json_free(&j);
    interp__leave(&c->guard);
    return st;
}

interp_status interp_config_set_label(interp_config *c, const char *name, const char *value, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    st = interp__label_set(&c->labels, &c->ctx->mem, name, value, err);
    interp__leave(&c->guard);
    return st;
}

interp_status interp_config_set_cancel(interp_config *c, interp_cancel *t, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    interp_cancel *old = c->cancel;
    c->cancel = interp_cancel_ref(t);
    interp__leave(&c->guard);
    interp_cancel_free(old);
    return INTERP_OK;
}

interp_status interp_config_set_extra(interp_config *c, const char *key, const char *json, size_t len, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    struct interp__json j;
    if (!json)
        st = interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "argument", "interp_config_set_extra: the value is NULL");
    else {
        if (len == INTERP_NTS)
            len = strlen(json);
        st = interp__json_parse(&j, &c->ctx->mem, json, len, err);
        interp__json_free(&j);
        if (!st)
            st = interp__extra_set(&c->extras, &c->ctx->mem, key, json, len, err);
    }
    interp__leave(&c->guard);
    return st;
}

/* So that nothing that blocks is left for a loop: the backend's own preparations, once it is known. */
void interp__config_prepare(interp_config *c)
{
    interp_ctx *x = c->ctx;
    struct interp__backend *b;
    pthread_mutex_lock(&x->lock);
    for (b = x->backends; b && strcmp(b->name, c->v.backend) != 0;)
        b = b->next;
    pthread_mutex_unlock(&x->lock);
    if (b && b->ops.prepare)            /* backends go with their context only */
        b->ops.prepare(b->userdata, c->v.endpoint);
}

/* One more language, or another text for one of that name. It is made here only to be checked: the session makes it again for itself. */
static interp_status add_language(struct interp_config *c, const struct interp__json *j, uint32_t node, interp_error **err)
{
    const struct interp__mem *m = &c->ctx->mem;
    struct interp__oneshot *o = NULL;
    struct interp__buf raw;
    interp_status st = interp__oneshot_new(m, j, node, &o, err);
    if (st)
        return st;
    interp__buf_init(&raw, m);
    interp__json_write(&raw, j, node);
    st = raw.bad ? interp__nomem(err) : interp__text_set(&c->languages, m, o->language.name, (char *)raw.p, raw.len, INTERP__LANGUAGES_MAX, err);
    interp__buf_free(&raw);
    interp__oneshot_free(o);
    return st;
}

static interp_status languages(struct interp_config *c, const struct interp__json *j, uint32_t node, interp_error **err)
{
    const struct interp__json_node *n = interp__json_at(j, node);
    if (n->type != INTERP__JSON_ARRAY)
        return interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "option-type", "languages must be a list of objects, each a language");
    interp_status st = INTERP_OK;
    uint32_t i = node + 1;
    for (uint32_t k = 0; k < n->count && !st; k++, i = interp__json_at(j, i)->next)
        st = add_language(c, j, i, err);
    return st;
}

interp_status interp_config_add_language(interp_config *c, const char *json, size_t len, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    struct interp__json j;
    if (!json)
        st = interp__fail(&c->ctx->mem, err, INTERP_E_INVAL, "argument", "interp_config_add_language: the text is NULL");
    else {
        st = interp__json_parse(&j, &c->ctx->mem, json, len == INTERP_NTS ? strlen(json) : len, err);
        if (!st)
            st = add_language(c, &j, 0, err);
        interp__json_free(&j);
    }
    interp__leave(&c->guard);
    return st;
}

static interp_status apply(struct interp_config *to, const struct interp__json *j, interp_error **err)
{
    const struct interp__mem *m = &to->ctx->mem;
    const struct interp__json_node *root = interp__json_at(j, 0);
    if (root->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "a config must be a JSON object");
    uint32_t i = 1;
    for (uint32_t k = 0; k < root->count; k++) {
        const struct interp__json_node *n = interp__json_at(j, i);
        const char *key = interp__json_key(j, n);
        int known;
        interp_status st = interp__options_set(&to->v, 0, m, key, j, i, &known, err);
        if (!st && !known)
            st = interp__host_files_json(&to->files, m, key, j, i, &known, err);
        if (!st && !known) {
            if (!strcmp(key, "env"))
                st = interp__env_set_json(&to->env, m, j, i, ENV_NAMES, ENV_BYTES, err);
            else if (!strcmp(key, "redact"))
                st = interp__redactions_set_json(&to->redactions, m, j, i, err);
            else if (!strcmp(key, "languages"))
                st = languages(to, j, i, err);
            else if (!strcmp(key, "labels"))
                st = interp__labels_set_json(&to->labels, m, j, i, err);
            else if (!strcmp(key, "policy"))
                st = set_policy(&to->policy, m, j, i, err);
            else if (!strcmp(key, "audit")) {
                interp__buf_free(&to->audit);
                interp__json_write(&to->audit, j, i);
                st = to->audit.bad ? interp__nomem(err) : n->type == INTERP__JSON_OBJECT ? INTERP_OK : interp__fail(m, err, INTERP_E_INVAL, "option-type", "audit must be an object");
            } else if (strchr(key, '.')) {
                struct interp__buf raw;
                interp__buf_init(&raw, m);
                interp__json_write(&raw, j, i);
                st = raw.bad ? interp__nomem(err) : interp__extra_set(&to->extras, m, key, (char *)raw.p, raw.len, err);
                interp__buf_free(&raw);
            } else
                st = interp__fail(m, err, INTERP_E_INVAL, "option-unknown", "a config has no member \"%.64s\"", key);
        }
        if (st)
            return st;
        i = n->next;
    }
    return INTERP_OK;
}

interp_status interp_config_set_json(interp_config *c, const char *json, size_t len, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    const struct interp__mem *m = &c->ctx->mem;
    struct interp_config next = { .ctx = c->ctx };   /* all or nothing: applied to a copy */
    struct interp__json j = { 0 };
    interp__buf_init(&next.env.text, m);
    interp__buf_init(&next.labels.text, m);
    interp__buf_init(&next.audit, m);
    if (!json)
        st = interp__fail(m, err, INTERP_E_INVAL, "argument", "interp_config_set_json: the text is NULL");
    else {
        st = interp__json_parse(&j, m, json, len == INTERP_NTS ? strlen(json) : len, err);
        if (!st && interp__config_copy(&next.v, &c->v, m))
            st = interp__nomem(err);
        interp__buf_add(&next.env.text, c->env.text.p, c->env.text.len);
        next.env.count = c->env.count;
        interp__buf_add(&next.labels.text, c->labels.text.p, c->labels.text.len);
        next.labels.count = c->labels.count;
        interp__buf_add(&next.audit, c->audit.p, c->audit.len);
        next.policy = interp__policy_ref(c->policy);
        if (!st && (next.labels.text.bad || next.audit.bad))
            st = interp__nomem(err);
        for (struct interp__extra *e = c->extras; e && !st; e = e->next)
            st = interp__extra_set(&next.extras, m, e->key, e->json, strlen(e->json), err);
        if (!st)
            st = interp__redactions_copy(&next.redactions, &c->redactions, m, err);
        for (struct interp__extra *e = c->languages; e && !st; e = e->next)
            st = interp__text_set(&next.languages, m, e->key, e->json, strlen(e->json), INTERP__LANGUAGES_MAX, err);
        if (!st && (next.env.text.bad || interp__host_files_copy(&next.files, &c->files, m)))
            st = interp__nomem(err);
        if (!st)
            st = apply(&next, &j, err);
        interp__wipe(j.text.p, j.text.cap);   /* it may hold secrets */
        interp__json_free(&j);
    }
    if (!st) {
        struct interp__redactions redactions = c->redactions;
        c->redactions = next.redactions, next.redactions = redactions;
        struct interp__config_values v = c->v;
        struct interp__env env = c->env, labels = c->labels;
        struct interp__extra *extras = c->extras, *texts = c->languages;
        struct interp__host_files files = c->files;
        c->v = next.v, c->env = next.env, c->extras = next.extras, c->files = next.files, c->languages = next.languages;
        next.v = v, next.env = env, next.extras = extras, next.files = files, next.languages = texts;
        struct interp__buf audit = c->audit;
        c->labels = next.labels, c->audit = next.audit;
        next.labels = labels, next.audit = audit;
        struct interp__policy *policy = c->policy;
        c->policy = next.policy;
        next.policy = policy;
        if (strcmp(v.backend, c->v.backend) || strcmp(v.endpoint, c->v.endpoint))
            interp__config_prepare(c);
    }
    interp__config_clear(&next.v, m);
    interp__wipe(next.env.text.p, next.env.text.cap);
    interp__buf_free(&next.env.text);
    interp__buf_free(&next.labels.text);
    interp__buf_free(&next.audit);
    interp__policy_unref(next.policy);
    interp__extras_free(&next.extras, m);
    interp__redactions_free(&next.redactions, m);
    interp__host_files_free(&next.files, m);
    interp__extras_free(&next.languages, m);
    interp__leave(&c->guard);
    return st;
}

const char *interp_config_languages_json(interp_config *c, size_t *len)
{
    if (interp__config_enter(c, NULL))
        return NULL;
    struct interp__buf *b = &c->json;
    struct interp__oneshot *own = NULL;
    interp__buf_free(b);
    const char *t = NULL;
    if (!interp__oneshots_new(&c->ctx->mem, c->languages, &own, NULL) && !interp__languages_json(c->ctx, own, b))
        t = interp__buf_text(b);
    if (t && len)
        *len = b->len;
    interp__oneshots_free(&own);
    interp__leave(&c->guard);
    return t;
}

const char *interp_config_json(interp_config *c, size_t *len)
{
    if (interp__config_enter(c, NULL))
        return NULL;
    struct interp__buf *b = &c->json;
    interp__buf_free(b);
    interp__buf_str(b, "{");
    interp__options_json(b, &c->v);
    interp__buf_str(b, ",\"env\":[");
    for (size_t i = 0; i < c->env.text.len;) {
        const char *item = (const char *)c->env.text.p + i;
        interp__buf_str(b, i ? "," : "");
        interp__json_text(b, item, strcspn(item, "="));
        i += strlen(item) + 1;
    }
    interp__buf_str(b, "],\"redact\":");
    interp__redactions_json(&c->redactions, b);
    interp__host_files_write(&c->files, b);
    interp__buf_str(b, ",\"languages\":[");
    for (const struct interp__extra *e = c->languages; e; e = e->next) {
        interp__buf_str(b, e == c->languages ? "" : ",");
        interp__json_text(b, e->key, strlen(e->key));
    }
    interp__buf_str(b, "]");
    if (c->policy)
        interp__buf_fmt(b, ",\"policy\":%s", interp__policy_json(c->policy));
    if (c->audit.len) {
        interp__buf_str(b, ",\"audit\":");
        interp__buf_add(b, c->audit.p, c->audit.len);
    }
    interp__buf_str(b, "}");
    const char *t = interp__buf_text(b);
    if (t && len)
        *len = b->len;
    interp__leave(&c->guard);
    return t;
}
