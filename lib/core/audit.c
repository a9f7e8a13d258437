/* audit.c - what of a context's life goes into its audit trail (audit/ keeps the trail itself) */
#include "core.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct interp_audit_report {
    struct interp__mem mem;
    struct interp__audit_report r;
};
enum { NOTICES_MAX = 1024, NOTICE_BYTES_MAX = 4 << 20 };

/* ---- notices: events of the context itself, for LOOP hosts */

void interp__notice(interp_ctx *x, struct interp_event *e)
{
    struct interp_event *old = NULL;
    pthread_mutex_lock(&x->lock);
    e->seq = ++x->notice_seq;
    *x->notices_end = e;
    x->notices_end = &e->next;
    x->nnotices++;
    x->notice_bytes += e->len;
    if (x->nnotices > NOTICES_MAX || (x->notice_bytes > NOTICE_BYTES_MAX && x->nnotices > 1)) {   /* nobody takes them: the oldest goes, and its successor says so */
        old = x->notices;
        x->notices = old->next;
        x->nnotices--;
        x->notice_bytes -= old->len;
        x->notices->missing += 1 + old->missing;
    }
    pthread_mutex_unlock(&x->lock);
    interp__free(&x->mem, old);
    interp__ctx_wake(x);
}

interp_status interp_ctx_next_notice(interp_ctx *x, const interp_event **ev)
{
    interp_status st = interp__ctx_check(x, NULL);
    if (st)
        return st;
    if (!ev)
        return INTERP_E_INVAL;
    if (!(x->flags & INTERP_CTX_LOOP))
        return INTERP_E_BUSY;
    if (interp__enter(&x->guard))
        return INTERP_E_BUSY;
    pthread_mutex_lock(&x->lock);
    x->notices_asked = 1;
    struct interp_event *old = x->notice, *e = x->notice = x->notices;
    if (e) {
        x->notices = e->next;
        if (!x->notices)
            x->notices_end = &x->notices;
        x->nnotices--;
        x->notice_bytes -= e->len;
    }
    pthread_mutex_unlock(&x->lock);
    interp__free(&x->mem, old);
    if (e)
        *ev = e;
    interp__leave(&x->guard);
    return e ? INTERP_OK : INTERP_AGAIN;
}

/* n bytes of room behind it, all zero. */
static struct interp_event *notice_of(const struct interp_session *s, int32_t type, size_t n)
{
    struct interp_event *e = interp__resize(&s->ctx->mem, NULL, sizeof *e + n + 1);
    if (!e)
        return NULL;
    memset(e, 0, sizeof *e + n + 1);
    e->type = type;
    e->len = n;
    memcpy(e->session, s->id, sizeof e->session);
    return e;
}

/* A guest's flood must not push other notices out: past half of the room it goes where it went without a reader. */
int interp__notice_late(const struct interp_session *s, uint64_t number, int stream, uint64_t offset, const uint8_t *p, size_t n)
{
    interp_ctx *x = s->ctx;
    if (!x->notices_asked || x->nnotices >= NOTICES_MAX / 2 || x->notice_bytes + n > NOTICE_BYTES_MAX / 4)
        return 0;
    struct interp_event *e = notice_of(s, INTERP_EV_LATE_OUTPUT, n);
    if (!e)
        return 0;
    e->exec = number;
    e->stream = stream;
    e->offset = offset;
    memcpy(e->data, p, n);
    interp__notice(x, e);
    return 1;
}

void interp__notice_gone(const struct interp_session *s)
{
    struct interp__buf b;
    const char *reason = interp_error_reason(s->gone), *message = interp_error_message(s->gone);
    if (!(s->ctx->flags & INTERP_CTX_LOOP))
        return;
    interp__buf_init(&b, &s->mem);
    interp__buf_fmt(&b, "{\"session\":\"%s\",\"reason\":", s->id);
    interp__json_text(&b, reason, strlen(reason));
    interp__buf_str(&b, ",\"message\":");
    interp__json_text(&b, message, strlen(message));
    interp__buf_str(&b, "}");
    struct interp_event *e = b.bad ? NULL : notice_of(s, INTERP_EV_SESSION_GONE, b.len);
    if (e) {
        memcpy(e->data, b.p, b.len);
        interp__notice(s->ctx, e);
    }
    interp__buf_free(&b);
}

void interp__notices_free(interp_ctx *x)
{
    for (struct interp_event *e = x->notices, *next; e; e = next) {
        next = e->next;
        interp__free(&x->mem, e);
    }
    interp__free(&x->mem, x->notice);
    x->notices = x->notice = NULL;
}

/* ---- sinks that are the host's */

static int to_callback(void *userdata, const char *line, size_t len, uint64_t seq)
{
    interp_ctx *x = userdata;
    interp__callback(1);
    int r = x->audit_fn(x->audit_data, line, len, seq);
    interp__callback(0);
    return r;
}
static int to_notice(void *userdata, const char *line, size_t len, uint64_t seq)
{
    interp_ctx *x = userdata;
    (void)seq;
    struct interp_event *e = interp__resize(&x->mem, NULL, sizeof *e + len);
    if (!e)
        return -1;
    memset(e, 0, sizeof *e);
    e->type = INTERP_EV_AUDIT;
    e->len = len - 1;
    memcpy(e->data, line, len - 1);
    e->data[len - 1] = 0;
    interp__notice(x, e);
    return 0;
}
static void said(void *userdata, int32_t level, const char *text)
{
    interp__ctx_log(userdata, level, "%s", text);
}

/* ---- API */

/* Under audit_lock. */
static interp_status start_trail(interp_ctx *x, const struct interp__json *j, const void *key, size_t nkey, const char *text, size_t len, interp_error **err)
{
    struct interp__audit *a = NULL;
    interp_status st;
    pthread_mutex_lock(&x->lock);
    int have = x->audit != NULL, same = x->audit && text && x->audit_json && strlen(x->audit_json) == len && !memcmp(x->audit_json, text, len);
    pthread_mutex_unlock(&x->lock);
    if (same)   /* sessions of one host with the same config */
        return INTERP_OK;
    if (have)
        return interp__fail(&x->mem, err, INTERP_E_EXISTS, "audit-exists", "the context has another audit trail already: one context, one trail");
    char *copy = text ? interp__strndup(&x->mem, text, len) : NULL;
    st = text && !copy ? interp__nomem(err) : interp__audit_new(&x->mem, j, key, nkey, said, x, &a, err);
    if (!st && interp__audit_wants_notices(a)) {
        if (x->flags & INTERP_CTX_LOOP)
            interp__audit_add_sink(a, to_notice, x);
        else {
            interp__audit_free(a, 0);
            a = NULL;
            st = interp__fail(&x->mem, err, INTERP_E_INVAL, "option-value", "audit.notices are of a context made with INTERP_CTX_LOOP; a callback does that here");
        }
    }
    pthread_mutex_lock(&x->lock);
    x->audit = a;
    if (!st) {
        x->audit_json = copy;
        copy = NULL;
    }
    pthread_mutex_unlock(&x->lock);
    interp__free(&x->mem, copy);
    return st;
}
static interp_status open_trail(interp_ctx *x, const struct interp__json *j, const void *key, size_t nkey, const char *text, size_t len, interp_error **err)
{
    pthread_mutex_lock(&x->audit_lock);
    interp_status st = start_trail(x, j, key, nkey, text, len, err);
    pthread_mutex_unlock(&x->audit_lock);
    return st;
}

interp_status interp_audit_open(interp_ctx *x, const char *options, size_t len, const void *key, size_t nkey, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    struct interp__json j = { 0 };
    if (!options)
        options = "{}", len = 2;
    st = !key && nkey ? interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_audit_open: the key is NULL") : interp__json_parse(&j, &x->mem, options, len == INTERP_NTS ? strlen(options) : len, err);
    if (!st)
        st = open_trail(x, &j, key, key && !nkey ? 1 : nkey, NULL, 0, err);   /* an empty key is one that is too short */
    interp__json_free(&j);
    return st;
}

interp_status interp__audit_of_config(interp_ctx *x, const interp_config *c, interp_error **err)
{
    struct interp__json j = { 0 };
    if (!c || !c->audit.len)
        return INTERP_OK;
    interp_status st = interp__json_parse(&j, &x->mem, c->audit.p, c->audit.len, err);
    if (!st)
        st = open_trail(x, &j, NULL, 0, (const char *)c->audit.p, c->audit.len, err);
    interp__json_free(&j);
    return st;
}

interp_status interp_audit_set_callback(interp_ctx *x, interp_audit_fn fn, void *userdata, void (*destroy)(void *), interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (!st && !fn)
        st = interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_audit_set_callback: the callback is NULL");
    if (!st) {
        pthread_mutex_lock(&x->lock);
        if (!x->audit)
            st = INTERP_E_NOT_FOUND;
        else if (x->audit_fn)
            st = INTERP_E_EXISTS;
        else if (x->sealed)
            st = INTERP_E_BUSY;
        else {
            x->audit_fn = fn;
            x->audit_data = userdata;
            x->audit_destroy = destroy;
        }
        pthread_mutex_unlock(&x->lock);
        if (!st)
            interp__audit_add_sink(x->audit, to_callback, x);
        else
            interp__fail(&x->mem, err, st, "audit-callback", st == INTERP_E_NOT_FOUND ? "the context has no audit trail: interp_audit_open starts one" : st == INTERP_E_EXISTS ?
                         "the context's audit trail has a callback already" : "an audit callback can only be set before the first session is opened");
    }
    if (st && destroy)
        destroy(userdata);
    return st;
}

static struct interp__audit *trail(interp_ctx *x)
{
    pthread_mutex_lock(&x->lock);
    struct interp__audit *a = x->audit;
    pthread_mutex_unlock(&x->lock);
    return a;
}

interp_status interp_audit_head(interp_ctx *x, uint64_t *seq, char *hash, size_t size, uint64_t *dropped, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    struct interp__audit *a = trail(x);
    uint64_t n;
    char head[INTERP__SHA256_HEX];
    if (!a)
        return interp__fail(&x->mem, err, INTERP_E_NOT_FOUND, "audit-none", "the context has no audit trail: interp_audit_open starts one");
    if (hash && size < sizeof head)
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_audit_head: a hash takes %zu bytes, there are %zu", sizeof head, size);
    interp__audit_head(a, &n, head);
    if (seq)
        *seq = n;
    if (hash)
        memcpy(hash, head, sizeof head);
    if (dropped)
        *dropped = interp__audit_dropped(a);
    return INTERP_OK;
}

interp_status interp_audit_verify(interp_ctx *x, const char *const *paths, uint32_t n, const void *key, size_t nkey, const char *head, interp_audit_report **out, interp_error **err)
{
    interp_status st = interp__ctx_check(x, err);
    if (st)
        return st;
    if (!out || !paths || (!key && nkey))
        return interp__fail(&x->mem, err, INTERP_E_INVAL, "argument", "interp_audit_verify: %s is NULL", !out ? "out" : !paths ? "paths" : "the key");
    interp_audit_report *r = interp__alloc(&x->mem, sizeof *r);
    if (!r)
        return interp__nomem(err);
    r->mem = x->mem;
    st = interp__audit_verify(&r->mem, paths, n, key, key && !nkey ? 1 : nkey, head, &r->r, err);
    if (st)
        interp__free(&x->mem, r);
    else
        *out = r;
    return st;
}
int32_t interp_audit_report_ok(const interp_audit_report *r)
{
    return r && r->r.ok;
}
const char *interp_audit_report_json(const interp_audit_report *r, size_t *len)
{
    if (len)
        *len = r ? r->r.json.len : 2;
    return r ? (const char *)r->r.json.p : "{}";
}
void interp_audit_report_free(interp_audit_report *r)
{
    if (!r)
        return;
    struct interp__mem m = r->mem;
    interp__buf_free(&r->r.json);
    interp__free(&m, r);
}

/* ---- records. What is quoted is redacted, then written as JSON, so that no text can end a line or a member. */

static void text(struct interp__buf *b, const struct interp_session *s, const char *key, const char *v)
{
    struct interp__buf out;
    if (!v || !*v)
        return;
    v = interp__redact_words(s->ctx, s, v, strlen(v), &out);
    interp__buf_fmt(b, ",\"%s\":", key);
    interp__json_text(b, v, strlen(v));
    interp__buf_free(&out);
}
static void labels(struct interp__buf *b, const struct interp_session *s, const struct interp__env *own, const struct interp__env *base)
{
    const struct interp__env *both[2] = { own, base };
    int first = 1;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; both[k] && i < both[k]->text.len;) {
            const char *item = (const char *)both[k]->text.p + i;
            size_t name = strcspn(item, "=") + 1;
            int hidden = 0;   /* an exec's label stands for its session's of that name */
            for (size_t o = 0; k && own && o < own->text.len && !hidden; o += strlen((char *)own->text.p + o) + 1)
                hidden = !strncmp((char *)own->text.p + o, item, name);
            if (!hidden) {
                struct interp__buf out;
                const char *v = interp__redact_words(s->ctx, s, item + name, strlen(item + name), &out);
                interp__buf_str(b, first ? ",\"labels\":{" : ",");
                interp__json_text(b, item, name - 1);
                interp__buf_str(b, ":");
                interp__json_text(b, v, strlen(v));
                interp__buf_free(&out);
                first = 0;
            }
            i += strlen(item) + 1;
        }
    if (!first)
        interp__buf_str(b, "}");
}

static void begin(struct interp__buf *b, struct interp_session *s, const struct interp__exec *e)
{
    interp__buf_init(b, &s->mem);
    interp__buf_fmt(b, ",\"session\":\"%s\"", s->id);
    if (e)
        interp__buf_add(b, e->who.p, e->who.len);
    else {
        text(b, s, "actor", s->v.actor);
        labels(b, s, NULL, &s->labels);
    }
    b->bad |= e && e->who.bad;
}
static interp_status end(struct interp__buf *b, struct interp_session *s, const char *event, interp_error **err)
{
    interp_status st = interp__audit_write(s->audit, event, b, err);
    interp__buf_free(b);
    return st;
}

/* Who and what, the same in all records of an exec. */
void interp__audit_who(struct interp_session *s, struct interp__exec *e, const interp_request *r)
{
    struct interp__buf *b = &e->who;
    if (!s->audit)
        return;
    interp__buf_fmt(b, ",\"exec\":%" PRIu64 ",\"language\":\"%s\"", e->number, e->kernel->language->name);
    text(b, s, "kernel", e->kernel->name);
    text(b, s, "actor", *r->v.actor ? r->v.actor : s->v.actor);
    text(b, s, "request_id", r->v.request_id);
    text(b, s, "traceparent", r->v.traceparent);
    labels(b, s, &r->labels, &s->labels);
}

static void error_members(struct interp__buf *b, const struct interp_session *s, const interp_error *e)
{
    interp__buf_fmt(b, ",\"error\":{\"code\":\"%s\"", interp_status_name(interp_error_code(e)));
    text(b, s, "reason", interp_error_reason(e));
    text(b, s, "message", interp_error_message(e));
    interp__buf_str(b, "}");
}

interp_status interp__audit_opened(struct interp_session *s, const interp_error *why, interp_error **err)
{
    struct interp__buf b;
    if (!s->audit || s->unseen || s->audit_opened)
        return INTERP_OK;
    s->audit_opened = 1;
    begin(&b, s, NULL);
    interp__buf_str(&b, ",\"backend\":");
    interp__json_text(&b, s->v.backend, strlen(s->v.backend));
    interp__buf_fmt(&b, ",\"ok\":%s", why ? "false" : "true");
    text(&b, s, "image", s->v.image);
    if (why)
        error_members(&b, s, why);
    else {
        struct interp__json j;
        if (s->link && s->link->reached && !interp__json_parse(&j, &s->mem, s->link->reached, strlen(s->link->reached), NULL)) {
            static const char *const names[] = { "isolation", "image_id" };
            for (unsigned i = 0; i < 2; i++) {
                uint32_t at = interp__json_member(&j, 0, names[i]);
                if (at) {
                    interp__buf_fmt(&b, ",\"%s\":", names[i]);
                    interp__json_write(&b, &j, at);
                }
            }
            interp__buf_str(&b, ",\"reached\":");
            interp__json_write(&b, &j, 0);   /* written anew: a backend's text may have lines */
            interp__json_free(&j);
        } else if (s->link && s->link->reached)
            interp__json_free(&j);
    }
    return end(&b, s, "open", err);
}

static void code_members(struct interp__buf *b, struct interp_session *s, const uint8_t *p, size_t n)
{
    char sha[INTERP__SHA256_HEX];
    int mode = interp__audit_code(s->audit);
    if (mode == INTERP__AUDIT_CODE_NONE)
        return;
    interp__sha256_hex(p, n, sha);
    interp__buf_fmt(b, ",\"code_bytes\":%zu,\"code_sha256\":\"%s\"", n, sha);
    if (mode != INTERP__AUDIT_CODE_FULL)
        return;
    struct interp__buf out;
    size_t max = interp__audit_code_bytes(s->audit);
    const char *code = interp__redact_words(s->ctx, s, n ? (const char *)p : "", n, &out);   /* all of it, then cut: a cut could hide a secret's end */
    size_t len = out.len ? out.len : code == (const char *)p ? n : strlen(code), keep = len;
    if (len > max) {
        keep = interp__cut_before(code, len, max);
        interp__buf_str(b, ",\"code_truncated\":true");
    }
    interp__buf_str(b, ",\"code\":");
    interp__json_text(b, code, keep);
    interp__buf_free(&out);
}

interp_status interp__audit_exec_start(struct interp_session *s, struct interp__exec *e, const void *code, size_t n, interp_error **err)
{
    struct interp__buf b;
    if (!s->audit)
        return INTERP_OK;
    begin(&b, s, e);
    static const char *const levels[] = { "full", "namespaces", "landlock", "process" };
    for (int i = 0; i < 4; i++)
        if (interp__link_reached_is(s->link, "isolation", levels[i]))
            interp__buf_fmt(&b, ",\"isolation\":\"%s\"", levels[i]);
    interp__buf_fmt(&b, ",\"timeout_ms\":%" PRIu64, e->timeout == INTERP__NEVER ? 0 : e->timeout / 1000000);
    code_members(&b, s, code, n);
    return end(&b, s, "exec_start", err);
}

static void limit(struct interp_session *s, const struct interp__exec *e, const interp_result *r)
{
    struct interp__buf b;
    int ended = r->outcome == INTERP_OUTCOME_TIMEOUT || r->outcome == INTERP_OUTCOME_OOM || r->outcome == INTERP_OUTCOME_LIMIT;
    if (!ended && !r->limits_hit)
        return;
    begin(&b, s, e);
    interp__buf_fmt(&b, ",\"ended\":%s", ended ? "true" : "false");
    if (ended)
        text(&b, s, "limit", r->cause);
    interp__buf_str(&b, ",\"limits_hit\":");
    interp__result_limits_json(&b, r->limits_hit);
    end(&b, s, "limit", NULL);
}

void interp__audit_exec_end(struct interp_session *s, const struct interp__exec *e, const interp_result *r)
{
    struct interp__buf b;
    if (!s->audit || e->own)   /* own: the library's, which no host has asked for */
        return;
    limit(s, e, r);
    if (r->claimed_by[0] == 'h' && e->sent && (r->state == INTERP_STATE_RESET || r->state == INTERP_STATE_RESTORED) &&
        (r->outcome == INTERP_OUTCOME_TIMEOUT || r->outcome == INTERP_OUTCOME_CANCELLED || r->outcome == INTERP_OUTCOME_OOM))
        interp__audit_kill(s, e, "kernel", interp__outcome_name(r->outcome));
    begin(&b, s, e);
    interp__buf_str(&b, ",");
    interp__result_brief_json(&b, r);
    end(&b, s, "exec_end", NULL);
}

void interp__audit_kill(struct interp_session *s, const struct interp__exec *e, const char *what, const char *why)
{
    struct interp__buf b;
    if (!s->audit || s->unseen)
        return;
    begin(&b, s, e);
    interp__buf_fmt(&b, ",\"what\":\"%s\"", what);
    text(&b, s, "why", why);
    end(&b, s, "kill", NULL);
}

void interp__audit_error(struct interp_session *s, const interp_error *why)
{
    struct interp__buf b;
    if (!s->audit || s->unseen)
        return;
    begin(&b, s, NULL);
    error_members(&b, s, why);
    end(&b, s, "error", NULL);
}

void interp__audit_closed(struct interp_session *s, int verified)
{
    struct interp__buf b;
    if (!s->audit || s->unseen || s->audit_closed || !s->audit_opened)
        return;
    s->audit_closed = 1;
    begin(&b, s, NULL);
    interp__buf_fmt(&b, ",\"verified\":%s,\"execs\":%" PRIu64, verified ? "true" : "false", s->execs);
    end(&b, s, "close", NULL);
}

interp_status interp__audit_policy(struct interp_session *s, const struct interp__exec *e, const char *by, const char *decision, const char *rule, const char *reason, const void *code, size_t n, interp_error **err)
{
    struct interp__buf b;
    if (!s->audit)
        return INTERP_OK;
    begin(&b, s, e);
    interp__buf_fmt(&b, ",\"by\":\"%s\",\"decision\":\"%s\"", by, decision);
    text(&b, s, "rule", rule);
    text(&b, s, "reason", reason);
    if (code)
        code_members(&b, s, code, n);
    return end(&b, s, "policy", err);
}

interp_status interp__audit_transfer(struct interp_session *s, const char *what, const void *path, size_t npath, uint64_t bytes, const char *sha256, const interp_error *why, interp_error **err)
{
    struct interp__buf b, out;
    if (!s->audit)
        return INTERP_OK;
    begin(&b, s, NULL);
    interp__buf_fmt(&b, ",\"what\":\"%s\",\"path\":", what);
    const char *p = interp__redact_words(s->ctx, s, npath ? path : "", npath, &out);
    interp__json_text(&b, p, p == (const char *)path ? npath : strlen(p));
    interp__buf_free(&out);
    if (bytes != INTERP_UNKNOWN)
        interp__buf_fmt(&b, ",\"bytes\":%" PRIu64, bytes);
    text(&b, s, "sha256", sha256);
    interp__buf_fmt(&b, ",\"ok\":%s", why ? "false" : "true");
    if (why)
        error_members(&b, s, why);
    return end(&b, s, "file", err);
}
