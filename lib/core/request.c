/* request.c - one exec to run */
#include "core.h"
#include <string.h>

enum { CODE_MAX = INTERP__CODE_MAX, INPUT_MAX = 64 << 20, OPTIONS_MAX = 16384, ENV_NAMES = 256, ENV_BYTES = 14 * 1024, ARGS_MAX = 256, ARGS_BYTES = 14 * 1024 };

interp_status interp_request_new(interp_ctx *x, interp_request **out, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    if (!out)
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_request_new: out is NULL");
    interp_request *r = interp__alloc(&x->mem, sizeof *r);
    if (!r)
        return interp__nomem(err);
    r->ctx = interp__ctx_ref(x);
    interp__buf_init(&r->code, &x->mem);
    interp__buf_init(&r->input, &x->mem);
    interp__buf_init(&r->options, &x->mem);
    interp__buf_init(&r->env.text, &x->mem);
    interp__buf_init(&r->labels.text, &x->mem);
    interp__buf_init(&r->args, &x->mem);
    if (interp__request_defaults(&r->v, &x->mem)) {
        interp_request_free(r);
        return interp__nomem(err);
    }
    *out = r;
    return INTERP_OK;
}

static void contents_free(struct interp_request *r)
{
    interp__request_clear(&r->v, &r->ctx->mem);
    interp__wipe(r->env.text.p, r->env.text.cap);
    interp__buf_free(&r->env.text);
    interp__buf_free(&r->labels.text);
    interp__buf_free(&r->code);
    interp__buf_free(&r->input);
    interp__buf_free(&r->options);
    interp__buf_free(&r->args);
    interp__attached_free(&r->files, &r->ctx->mem);
}

void interp_request_free(interp_request *r)
{
    if (!r || interp__in_callback())
        return;
    interp_ctx *x = r->ctx;
    contents_free(r);
    interp_cancel_free(r->cancel);
    interp__free(&x->mem, r);
    interp__ctx_unref(x);
}

static interp_status enter(interp_request *r, interp_error **err)
{
    if (!r)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the request is NULL");
    interp_status st = interp__ctx_check(r->ctx, err);
    if (!st && interp__enter(&r->guard))
        st = interp__fail(&r->ctx->mem, err, INTERP_E_BUSY, "thread", "another thread is using this request");
    return st;
}

static interp_status replace(struct interp__buf *b, const void *p, size_t n, interp_error **err)
{
    struct interp__buf next;
    interp__buf_init(&next, b->mem);
    interp__buf_add(&next, p, n);
    if (next.bad)
        return interp__nomem(err);
    interp__buf_free(b);
    *b = next;
    return INTERP_OK;
}

static interp_status set_code(struct interp_request *r, const void *p, size_t n, interp_error **err)
{
    const struct interp__mem *m = &r->ctx->mem;
    if (!p && n)
        return interp__fail(m, err, INTERP_E_INVAL, "argument", "the code is NULL");
    if (n > CODE_MAX)
        return interp__fail(m, err, INTERP_E_LIMIT, "code-size", "the code has %zu bytes; at most %d are taken: put data into a file or stdin", n, CODE_MAX);
    const void *nul = n ? memchr(p, 0, n) : NULL;
    if (nul)
        return interp__fail(m, err, INTERP_E_INVAL, "code-nul", "the code has a NUL byte at offset %zu; source text can't have one", (size_t)((const char *)nul - (const char *)p));
    interp_status st = replace(&r->code, p, n, err);
    if (!st)
        r->has_code = 1;
    return st;
}

static interp_status set_input(struct interp_request *r, const void *p, size_t n, interp_error **err)
{
    const struct interp__mem *m = &r->ctx->mem;
    if (!p && n)
        return interp__fail(m, err, INTERP_E_INVAL, "argument", "stdin is NULL");
    if (n > INPUT_MAX)
        return interp__fail(m, err, INTERP_E_LIMIT, "stdin-size", "stdin has %zu bytes; at most %d are taken: put the data into a file", n, INPUT_MAX);
    interp_status st = replace(&r->input, p, n, err);
    if (!st)
        r->has_input = 1;
    return st;
}

static interp_status set_options(struct interp_request *r, const struct interp__json *j, uint32_t node, interp_error **err)
{
    const struct interp__mem *m = &r->ctx->mem;
    if (interp__json_at(j, node)->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "options must be a JSON object");
    struct interp__buf raw;
    interp__buf_init(&raw, m);
    interp__json_write(&raw, j, node);
    interp_status st = raw.bad ? interp__nomem(err)
                       : raw.len > OPTIONS_MAX ? interp__fail(m, err, INTERP_E_LIMIT, "options-size", "options have %zu bytes; at most %d are taken", raw.len, OPTIONS_MAX) : INTERP_OK;
    if (st) {
        interp__buf_free(&raw);
        return st;
    }
    interp__buf_free(&r->options);
    r->options = raw;
    return INTERP_OK;
}

static interp_status add_arg(struct interp_request *r, const char *p, size_t n, interp_error **err)
{
    const struct interp__mem *m = &r->ctx->mem;
    if (n && memchr(p, 0, n))
        return interp__fail(m, err, INTERP_E_INVAL, "args", "argument %u has a NUL byte", (unsigned)r->nargs + 1);
    if (r->nargs >= ARGS_MAX || n > ARGS_BYTES || r->args.len + n + 1 > ARGS_BYTES)
        return interp__fail(m, err, INTERP_E_LIMIT, "args", "argument %u is one too many: at most %d and %d bytes together; put data into a file or stdin", (unsigned)r->nargs + 1, ARGS_MAX, ARGS_BYTES);
    if (interp__buf_reserve(&r->args, n + 1)) {
        r->args.bad = 0;
        return interp__nomem(err);
    }
    interp__buf_add(&r->args, p, n);
    interp__buf_add(&r->args, "", 1);
    r->nargs++;
    return INTERP_OK;
}

static interp_status set_args(struct interp_request *r, const struct interp__json *j, uint32_t node, interp_error **err)
{
    const struct interp__json_node *list = interp__json_at(j, node);
    if (list->type != INTERP__JSON_ARRAY)
        return interp__fail(&r->ctx->mem, err, INTERP_E_INVAL, "option-type", "args must be a list of strings");
    interp_status st = INTERP_OK;
    uint32_t i = node + 1;
    for (uint32_t k = 0; k < list->count && !st; k++, i = interp__json_at(j, i)->next) {
        const struct interp__json_node *n = interp__json_at(j, i);
        st = n->type == INTERP__JSON_STRING ? add_arg(r, interp__json_string(j, n), n->text_len, err) : interp__fail(&r->ctx->mem, err, INTERP_E_INVAL, "option-type", "args must be a list of strings");
    }
    return st;
}

interp_status interp_request_add_arg(interp_request *r, const char *arg, size_t len, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    st = arg ? add_arg(r, arg, len == INTERP_NTS ? strlen(arg) : len, err) : interp__fail(&r->ctx->mem, err, INTERP_E_INVAL, "argument", "interp_request_add_arg: the argument is NULL");
    interp__leave(&r->guard);
    return st;
}

interp_status interp_request_set_code(interp_request *r, const void *p, size_t n, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    st = set_code(r, p, n == INTERP_NTS && p ? strlen(p) : n, err);
    interp__leave(&r->guard);
    return st;
}

interp_status interp_request_set_stdin(interp_request *r, const void *p, size_t n, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    st = set_input(r, p, n == INTERP_NTS && p ? strlen(p) : n, err);
    interp__leave(&r->guard);
    return st;
}

interp_status interp_request_set_env(interp_request *r, const char *name, const void *value, size_t n, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    st = interp__env_set(&r->env, &r->ctx->mem, name, value, n, ENV_NAMES, ENV_BYTES, err);
    interp__leave(&r->guard);
    return st;
}

interp_status interp_request_set_label(interp_request *r, const char *name, const char *value, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    st = interp__label_set(&r->labels, &r->ctx->mem, name, value, err);
    interp__leave(&r->guard);
    return st;
}

interp_status interp_request_set_options(interp_request *r, const char *json, size_t len, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    if (!json)
        st = interp__fail(&r->ctx->mem, err, INTERP_E_INVAL, "argument", "interp_request_set_options: the text is NULL");
    else {
        struct interp__json j;
        st = interp__json_parse(&j, &r->ctx->mem, json, len == INTERP_NTS ? strlen(json) : len, err);
        if (!st)
            st = set_options(r, &j, 0, err);
        interp__json_free(&j);
    }
    interp__leave(&r->guard);
    return st;
}

interp_status interp_request_set_cancel(interp_request *r, interp_cancel *t, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    interp_cancel *old = r->cancel;
    r->cancel = interp_cancel_ref(t);
    interp__leave(&r->guard);
    interp_cancel_free(old);
    return INTERP_OK;
}

static interp_status apply_member(struct interp_request *to, const struct interp__json *j, uint32_t i, const char *key, interp_error **err)
{
    const struct interp__mem *m = &to->ctx->mem;
    const struct interp__json_node *n = interp__json_at(j, i);
    int known, text = n->type == INTERP__JSON_STRING;
    interp_status st = interp__options_set(&to->v, 1, m, key, j, i, &known, err);
    if (st || known)
        return st;
    if (!strcmp(key, "code") || !strcmp(key, "stdin") || !strcmp(key, "stdin_base64")) {
        if (!text)
            return interp__fail(m, err, INTERP_E_INVAL, "option-type", "%s must be a string", key);
        if (key[0] == 'c')
            return set_code(to, interp__json_string(j, n), n->text_len, err);
        if (to->has_input)
            return interp__fail(m, err, INTERP_E_INVAL, "option-twice", "stdin and stdin_base64 can't both be given");
        if (!key[5])
            return set_input(to, interp__json_string(j, n), n->text_len, err);
        struct interp__buf b;
        interp__buf_init(&b, m);
        if (interp__base64_decode(&b, interp__json_string(j, n), n->text_len))
            st = interp__fail(m, err, INTERP_E_INVAL, "option-value", "stdin_base64 is not base64");
        else
            st = b.bad ? interp__nomem(err) : set_input(to, b.p, b.len, err);
        interp__buf_free(&b);
        return st;
    }
    if (!strcmp(key, "env"))
        return interp__env_set_json(&to->env, m, j, i, ENV_NAMES, ENV_BYTES, err);
    if (!strcmp(key, "files"))
        return interp__attached_json(&to->files, m, j, i, err);
    if (!strcmp(key, "options"))
        return set_options(to, j, i, err);
    if (!strcmp(key, "labels"))
        return interp__labels_set_json(&to->labels, m, j, i, err);
    if (!strcmp(key, "args"))
        return set_args(to, j, i, err);
    return interp__fail(m, err, INTERP_E_INVAL, "option-unknown", "a request has no member \"%.64s\"", key);
}

interp_status interp_request_add_file(interp_request *r, const void *path, size_t len, const void *p, size_t n, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    st = interp__attached_add(&r->files, &r->ctx->mem, path, len, p, n == INTERP_NTS && p ? strlen(p) : n, err);
    interp__leave(&r->guard);
    return st;
}

interp_status interp_request_set_json(interp_request *r, const char *json, size_t len, interp_error **err)
{
    interp_status st = enter(r, err);
    if (st)
        return st;
    const struct interp__mem *m = &r->ctx->mem;
    struct interp_request next = { .ctx = r->ctx };   /* all or nothing: members that are given are set on a copy and moved over */
    struct interp__json j = { 0 };
    interp__buf_init(&next.code, m);
    interp__buf_init(&next.input, m);
    interp__buf_init(&next.options, m);
    interp__buf_init(&next.env.text, m);
    interp__buf_init(&next.labels.text, m);
    interp__buf_init(&next.args, m);
    if (!json)
        st = interp__fail(m, err, INTERP_E_INVAL, "argument", "interp_request_set_json: the text is NULL");
    else {
        st = interp__json_parse(&j, m, json, len == INTERP_NTS ? strlen(json) : len, err);
        if (!st && interp__json_at(&j, 0)->type != INTERP__JSON_OBJECT)
            st = interp__fail(m, err, INTERP_E_INVAL, "option-type", "a request must be a JSON object");
        if (!st && interp__request_copy(&next.v, &r->v, m))
            st = interp__nomem(err);
        interp__buf_add(&next.env.text, r->env.text.p, r->env.text.len);
        next.env.count = r->env.count;
        interp__buf_add(&next.labels.text, r->labels.text.p, r->labels.text.len);
        next.labels.count = r->labels.count;
        if (!st && (next.env.text.bad || next.labels.text.bad))
            st = interp__nomem(err);
        uint32_t i = 1, count = st ? 0 : interp__json_at(&j, 0)->count;
        for (uint32_t k = 0; k < count && !st; k++) {
            st = apply_member(&next, &j, i, interp__json_key(&j, interp__json_at(&j, i)), err);
            i = interp__json_at(&j, i)->next;
        }
        interp__json_free(&j);
    }
    if (!st) {
        struct interp_request old = *r;
        r->v = next.v, next.v = old.v;
        r->env = next.env, next.env = old.env;
        r->labels = next.labels, next.labels = old.labels;
        if (next.has_code)
            r->code = next.code, r->has_code = 1, next.code = old.code;
        if (next.has_input)
            r->input = next.input, r->has_input = 1, next.input = old.input;
        if (next.args.len)
            r->args = next.args, r->nargs = next.nargs, next.args = old.args;
        if (next.options.len)
            r->options = next.options, next.options = old.options;
        if (next.files)
            r->files = next.files, next.files = old.files;
    }
    contents_free(&next);
    interp__leave(&r->guard);
    return st;
}
