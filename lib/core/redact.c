/* redact.c - the public face of redaction: what a context looks for, and a text redacted on the spot */
#include "core.h"

struct interp_redacted {
    struct interp__mem mem;
    struct interp__buf data, counts;
};

interp_status interp_redact_add(interp_ctx *x, const char *name, const void *value, size_t n, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    return st ? st : interp__redact_set_value(x->redact, name, value, n, err);
}
interp_status interp_redact_add_pattern(interp_ctx *x, const char *name, const char *pattern, size_t n, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    return st ? st : interp__redact_set_pattern(x->redact, name, pattern, n, err);
}
interp_status interp_redact_set_detector(interp_ctx *x, const char *name, uint64_t on, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (!st && on > 1)
        st = interp__fail(&x->mem, err, INTERP_E_INVAL, "option-range", "a detector is switched on with 1 or off with 0");
    return st ? st : interp__redact_set_detector(x->redact, name, on == 1, err);
}

interp_status interp_redact_bytes(interp_ctx *x, const void *p, size_t n, interp_redacted **out, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    if (!out || (!p && n))
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_redact_bytes: %s is NULL", out ? "the text" : "out");
    interp_redacted *r = interp__alloc(&x->mem, sizeof *r);
    struct interp__redactor *e = r ? interp__redactor_new(x->redact, &x->mem) : NULL;
    if (!e) {
        interp__free(&x->mem, r);
        return interp__nomem(err);
    }
    r->mem = x->mem;
    interp__buf_init(&r->data, &r->mem);
    interp__buf_init(&r->counts, &r->mem);
    if (n)
        interp__redactor_push(e, p, n, &r->data);
    interp__redactor_finish(e, &r->data);
    struct interp__redact_counts c = { &x->mem, NULL, 0 };
    interp__redact_counts_add(&c, e);
    interp__redact_counts_json(&c, x->redact, &r->counts);
    interp__redact_counts_free(&c);
    int lost = interp__redactor_lost(e);
    interp__redactor_free(e);
    if (lost || !interp__buf_text(&r->data) || !interp__buf_text(&r->counts)) {
        interp_redacted_free(r);
        return interp__nomem(err);
    }
    *out = r;
    return INTERP_OK;
}
const char *interp_redacted_data(const interp_redacted *r, size_t *len)
{
    if (len)
        *len = r ? r->data.len : 0;
    return r ? (const char *)r->data.p : "";
}
const char *interp_redacted_counts_json(const interp_redacted *r, size_t *len)
{
    if (len)
        *len = r ? r->counts.len : 2;
    return r ? (const char *)r->counts.p : "{}";
}
void interp_redacted_free(interp_redacted *r)
{
    if (!r)
        return;
    struct interp__mem m = r->mem;
    interp__buf_free(&r->data);
    interp__buf_free(&r->counts);
    interp__free(&m, r);
}
