/* screen.c - what may run: the config's rules, then the host's own answer when it wants to be asked, then the audit trail. No clock of the exec runs meanwhile. */
#include "core.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* For a model: what is wrong with the trail, and where it is, is the host's to know, and in its log. */
#define UNRECORDED "this host runs nothing that it can't record in its audit trail, and the trail can't take records now; no other code will help"

/* The rules. 0: go on; -1: it has been ended. */
static int rules(struct interp_session *s, struct interp__exec *e, const void *code, size_t n)
{
    struct interp__verdict v;
    int r = s->policy ? interp__policy_check(s->policy, e->kernel->language->name, code, n, &v) : 0;
    if (!r)
        return 0;
    if (r < 0) {
        v.rule = "memory";
        v.what[0] = 0;
        v.line = 0;
        snprintf(v.reason, sizeof v.reason, "Not run: there was no memory to look at the code.");
    }
    interp__audit_policy(s, e, "rules", "deny", v.rule, v.reason, code, n, NULL);
    interp__exec_deny(s, e, v.rule, v.reason, *v.what ? v.what : NULL, v.line);
    return -1;
}

static void go(struct interp_session *s, struct interp__exec *e, const void *code, size_t n)
{
    struct interp__kernel *k = e->kernel;
    interp_error *why = NULL;
    if (interp__audit_exec_start(s, e, code, n, &why) && interp__audit_refuses(s->audit))
        interp__exec_deny(s, e, "audit", UNRECORDED, NULL, 0);
    else if ((k->current && k->current != e) || k->stopping)
        k->queued = e;
    else {
        k->queued = NULL;
        k->current = e;
        interp__exec_send(s, e);
        interp__session_flush(s);
    }
    interp_error_free(why);
}

/* Asks the host. The event has all that it may want to know. */
static int ask(struct interp_session *s, struct interp__exec *e, const interp_request *r)
{
    struct interp__buf b;
    interp__buf_init(&b, &s->mem);
    interp__buf_fmt(&b, "{\"exec\":%" PRIu64 ",\"language\":\"%s\",\"kernel\":", e->number, e->kernel->language->name);
    interp__json_text(&b, e->kernel->name, strlen(e->kernel->name));
    interp__buf_str(&b, ",\"code\":");
    interp__json_text(&b, r->code.p ? (const char *)r->code.p : "", r->code.len);
    if (interp__utf8_valid(r->code.p, r->code.len) != r->code.len) {
        interp__buf_str(&b, ",\"code_base64\":");
        interp__json_base64(&b, r->code.p, r->code.len);
    }
    const char *texts[][2] = { { "actor", *r->v.actor ? r->v.actor : s->v.actor }, { "request_id", r->v.request_id }, { "traceparent", r->v.traceparent } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i][1]) {
            interp__buf_fmt(&b, ",\"%s\":", texts[i][0]);
            interp__json_text(&b, texts[i][1], strlen(texts[i][1]));
        }
    interp__buf_str(&b, "}");
    interp__buf_init(&e->asked, &s->mem);
    interp__buf_add(&e->asked, r->code.p, r->code.len);
    struct interp_event *v = b.bad || e->asked.bad ? NULL : interp__event_new(s, INTERP_EV_SCREEN, b.p, b.len);
    interp__buf_free(&b);
    if (!v)
        return -1;
    v->exec = e->number;
    v->reply_id = e->reply_id = s->seq;
    e->screening = 1;
    e->screen_deadline = interp__after(interp__now(), interp__ms(s->v.screen_timeout));
    e->kernel->queued = e;
    interp__call_event(e->call, v);
    return 0;
}

void interp__screen(struct interp_session *s, struct interp__exec *e, const interp_request *r)
{
    if (rules(s, e, r->code.p, r->code.len))
        return;
    if (!s->v.screen)
        go(s, e, r->code.p, r->code.len);
    else if (ask(s, e, r))
        interp__exec_deny(s, e, "memory", "Not run: there was no memory to ask the host about the code.", NULL, 0);
}

static void deny(struct interp_session *s, struct interp__exec *e, const char *rule, const char *reason)
{
    e->screening = 0;
    interp__audit_policy(s, e, "host", "deny", rule, reason, e->asked.p ? e->asked.p : (const uint8_t *)"", e->asked.len, NULL);
    interp__exec_deny(s, e, rule, reason, NULL, 0);
}

void interp__screen_expired(struct interp_session *s, struct interp__exec *e)
{
    deny(s, e, "screen_timeout", "Not run: nobody decided in time whether this code may run. Ask again later, or do it another way.");
}

/* Other code in place of what was asked about; the header around it stays. */
static interp_status rewrite(struct interp__exec *e, const void *p, size_t n)
{
    struct interp__buf next;
    interp__buf_init(&next, e->code.mem);
    if (e->kernel->language->oneshot)   /* its files are named after what is in the code */
        return INTERP_E_INVAL;
    if (e->kernel->language->kind != WIRE_KIND_SCRIPT) {
        struct kframe f;
        if (e->code.len < KFRAME_HEADER || interp__kframe_get(e->code.p, &f) || e->code.len - KFRAME_HEADER < f.json_len)
            return INTERP_E_INVAL;
        uint32_t json = f.json_len;
        uint8_t h[KFRAME_HEADER];
        f.bin_len = (uint32_t)n;
        interp__kframe_put(h, &f);
        interp__buf_add(&next, h, sizeof h);
        interp__buf_add(&next, e->code.p + KFRAME_HEADER, json);
    } else   /* what the session's environment has changed by */
        interp__buf_add(&next, e->code.p, e->code.len - e->asked.len);
    interp__buf_add(&next, p, n);
    if (next.bad) {
        interp__buf_free(&next);
        return INTERP_E_NOMEM;
    }
    interp__buf_free(&e->code);
    e->code = next;
    return INTERP_OK;
}

/* ---- API */

struct answer { const char *reason; const char *code; size_t code_len, reason_len; struct interp__buf decoded; };

static interp_status read_answer(const struct interp__mem *m, const struct interp__json *j, struct answer *a, interp_error **err)
{
    const struct interp__json_node *root = interp__json_at(j, 0);
    if (root->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "reply", "a reply must be a JSON object");
    uint32_t i = 1;
    for (uint32_t k = 0; k < root->count; k++) {
        const struct interp__json_node *n = interp__json_at(j, i);
        const char *key = interp__json_key(j, n), *v = interp__json_string(j, n);
        if (strcmp(key, "reason") != 0 && strcmp(key, "code") != 0 && strcmp(key, "code_base64") != 0)
            return interp__fail(m, err, INTERP_E_INVAL, "reply", "a reply has no member \"%.64s\": there are code, code_base64, reason", key);
        if (n->type != INTERP__JSON_STRING)
            return interp__fail(m, err, INTERP_E_INVAL, "reply", "%s must be a text", key);
        if (key[0] == 'r')
            a->reason = v, a->reason_len = n->text_len;
        else if (a->code)
            return interp__fail(m, err, INTERP_E_INVAL, "reply", "code and code_base64 can't both be given");
        else if (!key[4])
            a->code = v, a->code_len = n->text_len;
        else {
            if (interp__base64_decode(&a->decoded, v, n->text_len))
                return interp__fail(m, err, INTERP_E_INVAL, "reply", "code_base64 is not base64");
            if (a->decoded.bad)
                return interp__nomem(err);
            a->code = a->decoded.p ? (const char *)a->decoded.p : "", a->code_len = a->decoded.len;
        }
        i = n->next;
    }
    if (a->code && a->code_len > INTERP__CODE_MAX)
        return interp__fail(m, err, INTERP_E_LIMIT, "code-size", "the code has %zu bytes; at most %d are taken", a->code_len, INTERP__CODE_MAX);
    if (a->code && a->code_len && memchr(a->code, 0, a->code_len))
        return interp__fail(m, err, INTERP_E_INVAL, "code-nul", "the code has a NUL byte; source text can't have one");
    if (a->reason && (a->reason_len > 4096 || strlen(a->reason) != a->reason_len))
        return interp__fail(m, err, INTERP_E_INVAL, "reply", "a reason has at most 4096 bytes and no NUL");
    return INTERP_OK;
}

static void answered(struct interp_session *s, struct interp__exec *e, interp_status verdict, const struct answer *a, interp_error **err, interp_status *st)
{
    if (verdict == INTERP_E_DENIED) {
        deny(s, e, "screen", a->reason && *a->reason ? a->reason : "Not run: the host did not allow this code. Do it another way.");
        return;
    }
    const void *code = e->asked.p ? e->asked.p : (const uint8_t *)"";
    size_t n = e->asked.len;
    if (a->code && (*st = rewrite(e, a->code, a->code_len))) {
        *st = *st == INTERP_E_NOMEM ? interp__nomem(err) : interp__fail(&s->mem, err, *st, "reply", "code of %s can't be replaced: allow it or deny it", e->kernel->language->name);
        return;
    }
    e->screening = 0;
    e->started = interp__now();   /* its clock begins now */
    interp_error *why = NULL;
    if (interp__audit_policy(s, e, "host", a->code ? "rewrite" : "allow", NULL, a->reason, a->code ? code : NULL, n, &why) && interp__audit_refuses(s->audit))
        interp__exec_deny(s, e, "audit", UNRECORDED, NULL, 0);
    else if (!a->code)
        go(s, e, code, n);
    else if (!rules(s, e, a->code, a->code_len))   /* the host's own code keeps the config's rules, too */
        go(s, e, a->code, a->code_len);
    interp_error_free(why);
}

interp_status interp_call_reply(interp_call *c, uint64_t reply_id, interp_status verdict, const char *json, size_t len, interp_error **err)
{
    struct interp_session *s = NULL;
    interp_status st = interp__call_enter(c, &s, err);
    if (st)
        return st;
    const struct interp__mem *m = &c->ctx->mem;
    struct interp__json j = { 0 };
    struct answer a = { 0 };
    interp__buf_init(&a.decoded, m);
    struct interp__exec *e = c->exec;
    if (c->kind == INTERP_CALL_EXEC && s && !s->gone && e && e->screening && interp__now() >= e->screen_deadline)
        interp__screen_expired(s, e);   /* too late, whoever looks first */
    if (c->kind != INTERP_CALL_EXEC)
        st = interp__fail(m, err, INTERP_E_INVAL, "not-an-exec", "interp_call_reply is for calls of execs");
    else if (!s || s->gone || c->done || !c->exec)
        st = interp__fail(m, err, INTERP_E_CLOSED, "ended", "the exec has ended; nobody waits for the reply any more");
    else if (!e->screening || reply_id != e->reply_id)
        st = interp__fail(m, err, INTERP_E_NOT_FOUND, "reply-unknown", "nothing of this exec waits for reply %" PRIu64, reply_id);
    else if (verdict != INTERP_OK && verdict != INTERP_E_DENIED)
        st = interp__fail(m, err, INTERP_E_INVAL, "argument", "a reply is INTERP_OK or INTERP_E_DENIED, not %d", (int)verdict);
    else if (json) {
        st = interp__json_parse(&j, m, json, len == INTERP_NTS ? strlen(json) : len, err);
        if (!st)
            st = read_answer(m, &j, &a, err);
    }
    if (!st) {
        answered(s, e, verdict, &a, err, &st);
        interp__files_send(s);
        interp__session_flush(s);
        interp__loop_poke(&s->ctx->loop);
    }
    interp__json_free(&j);
    interp__wipe(a.decoded.p, a.decoded.cap);
    interp__buf_free(&a.decoded);
    if (s)
        interp__session_leave(s);
    return st;
}
