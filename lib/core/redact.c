/* redact.c - redaction as the core uses it: what a context looks for, a text redacted on the spot, everything that comes out of a session */
#include "core.h"
#include "output/gaps.h"
#include <string.h>

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
    interp__redact_counts_take(&c, e);
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

/* ---- what comes out of a session */

static const char LOST[] = "[REDACTED:out-of-memory]";

static void ready(struct interp_session *s)
{
    s->redacted.len = 0;
    if (s->redacted.bad)
        interp__buf_free(&s->redacted);
}
/* Bytes are missing when there was no memory for them: a label says so where it can. */
static void check(struct interp_session *s)
{
    if (!s->redacted.bad)
        return;
    interp__buf_free(&s->redacted);
    interp__buf_add(&s->redacted, LOST, sizeof LOST - 1);
    if (s->redacted.bad)
        interp__buf_free(&s->redacted);
}

void interp__redact_out(struct interp_session *s, struct interp__redactor **r, const void *p, size_t n)
{
    ready(s);
    if (!*r)
        *r = interp__redactor_new(s->secrets, &s->mem);
    if (*r)
        interp__redactor_push(*r, p, n, &s->redacted);
    else
        interp__buf_add(&s->redacted, LOST, sizeof LOST - 1);
    check(s);
}
void interp__redact_idle(struct interp_session *s, struct interp__redactor *r, int hard)
{
    ready(s);
    interp__redactor_idle(r, hard, &s->redacted);
    check(s);
}
void interp__redact_end(struct interp_session *s, struct interp__redactor *r)
{
    ready(s);
    interp__redactor_finish(r, &s->redacted);
    check(s);
}
void interp__redact_pause(struct interp_session *s, struct interp__redactor *r)
{
    ready(s);
    interp__redactor_pause(r, &s->redacted);
    check(s);
}
int interp__redact_cut(struct interp_session *s, struct interp__redactor **r)
{
    ready(s);
    if (!*r && !(*r = interp__redactor_new(s->secrets, &s->mem)))
        return -1;
    interp__redactor_cut(*r, &s->redacted);
    check(s);
    return 0;
}

/* A driver may have left out the middle of a text, and more than once: the pieces are redacted as such. */
static void pieces(struct interp__redactor *r, const char *p, size_t n, int ends, struct interp__buf *out)
{
    size_t at, to;
    while (interp__gap_find(p, n, &at, &to)) {
        interp__redactor_push(r, p, at, out);
        interp__redactor_cut(r, out);
        interp__buf_add(out, p + at, to - at);
        p += to, n -= to;
    }
    interp__redactor_push(r, p, n, out);
    if (!ends)
        interp__redactor_cut(r, out);
    interp__redactor_finish(r, out);
}
static void text(struct interp_session *s, const char *p, size_t n, int ends)
{
    ready(s);
    if (!s->redact)
        s->redact = interp__redactor_new(s->secrets, &s->mem);
    if (s->redact)
        pieces(s->redact, p, n, ends, &s->redacted);
    else
        interp__buf_add(&s->redacted, LOST, sizeof LOST - 1);
    check(s);
    if (s->redact && interp__redactor_lost(s->redact)) {   /* the next text has another chance */
        interp__redactor_free(s->redact);
        s->redact = NULL;
    }
}
void interp__redact_text(struct interp_session *s, const void *p, size_t n)
{
    text(s, p, n, 1);
}
void interp__redact_text_cut(struct interp_session *s, const void *p, size_t n)
{
    text(s, p, n, 0);
}
void interp__redact_forget(struct interp_session *s)
{
    struct interp__redact_counts c = { &s->mem, NULL, 0 };
    if (s->redact)
        interp__redact_counts_take(&c, s->redact);
    interp__redact_counts_free(&c);
}
const char *interp__redact_words(interp_ctx *x, const struct interp_session *s, const char *p, size_t n, struct interp__buf *out)
{
    struct interp__redact_set *set = s && !s->v.redact_off ? s->secrets : x->redact;
    interp__buf_init(out, &x->mem);
    if (!p || !n)
        return p;
    struct interp__redactor *r = interp__redactor_new(set, &x->mem);
    if (!r)
        return LOST;
    pieces(r, p, n, 1, out);
    interp__redactor_free(r);
    const char *words = interp__buf_text(out);
    return words ? words : LOST;
}
/* Replaces a text by its redacted form. */
static void replace(struct interp_session *s, char **p, size_t *n)
{
    if (!*p)
        return;
    interp__redact_text(s, *p, *n);
    if (s->redacted.len == *n && (!*n || !memcmp(s->redacted.p, *p, *n)))
        return;
    char *copy = interp__strndup(&s->mem, s->redacted.p, s->redacted.len);
    interp__wipe(*p, *n);
    interp__free(&s->mem, *p);
    *p = copy;
    *n = copy ? s->redacted.len : 0;
}
static void json_string(void *userdata, struct interp__buf *out, const char *p, size_t n)
{
    struct interp_session *s = userdata;
    interp__redact_text(s, p, n);
    interp__json_text(out, s->redacted.p, s->redacted.len);
}
/* A JSON text of ours, with what the guest said in its strings: they are redacted before they are encoded. Returns NULL without memory. */
static char *json(struct interp_session *s, const char *text)
{
    struct interp__json j;
    struct interp__buf out;
    interp__buf_init(&out, &s->mem);
    if (!interp__json_parse(&j, &s->mem, text, strlen(text), NULL))
        interp__json_write_by(&out, &j, 0, json_string, s);
    interp__json_free(&j);
    interp__buf_add(&out, "", 1);
    if (out.bad || out.len < 2)
        interp__buf_free(&out);
    return (char *)out.p;
}
static void dropped(struct interp_session *s, interp_result *r)
{
    struct interp__buf out;
    interp__buf_init(&out, r->dropped.mem);
    for (size_t i = 0; i < r->dropped.len; i += strlen((char *)r->dropped.p + i) + 1) {
        const char *item = (char *)r->dropped.p + i, *text = strchr(item, ':');
        char *made = text ? json(s, text + 1) : NULL;
        if (made) {
            interp__buf_add(&out, item, (size_t)(text + 1 - item));
            interp__buf_add(&out, made, strlen(made) + 1);
        }
        interp__free(&s->mem, made);
    }
    interp__buf_free(&r->dropped);
    r->dropped = out;
    if (out.bad)
        interp__buf_free(&r->dropped);
}

void interp__redact_result(struct interp_session *s, interp_result *r, struct interp__redact_counts *counts)
{
    for (uint32_t i = 0; i < r->nparts; i++) {
        struct interp__part *p = &r->parts[i];
        size_t n = strlen(p->mime);
        replace(s, &p->mime, &n);
        if (p->mime && !interp__mime_is_opaque(p->mime))
            replace(s, &p->data, &p->len);
        if (!p->mime || !p->data) {   /* no memory: it is left out */
            interp__free(&s->mem, p->mime);
            interp__free(&s->mem, p->data);
            *p = r->parts[--r->nparts];
            i--;
        }
    }
    if (r->dropped.len)
        dropped(s, r);
    if (r->denied) {
        char *made = json(s, r->denied);
        interp__free(&s->mem, r->denied);
        r->denied = made;
    }
    if (r->error_json) {
        char *made = json(s, r->error_json);
        interp__free(&s->mem, r->error_json);
        r->error_json = made;
    }
    if (s->redact)   /* what the getters give is the same text again: counted once */
        interp__redact_counts_take(counts, s->redact);
    replace(s, &r->error_type, &r->type_len);
    replace(s, &r->error_message, &r->message_len);
    replace(s, &r->error_traceback, &r->traceback_len);
    interp__redact_forget(s);
    interp__redact_counts_add(counts, &s->late_counts);
    interp__redact_counts_free(&s->late_counts);
    if (!counts->len)
        return;
    struct interp__buf b;
    interp__buf_init(&b, &s->mem);
    interp__redact_counts_json(counts, s->secrets, &b);
    interp__buf_add(&b, "", 1);
    if (b.bad)
        interp__buf_free(&b);
    r->redactions = (char *)b.p;
}
