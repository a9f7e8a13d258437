/* doctor.c - tries isolation levels and languages, one after the other, without blocking.
   SPDX-License-Identifier: MIT */
#include "doctor.h"
#include "object.h"
#include <stdlib.h>
#include <string.h>

#define OPEN_MS 20000u
#define EXEC_MS 20000u

/* Each probe prints its version on one line and its path on the next. install: the remedy where there is none. */
static const struct {
    const char *name, *code, *install;
} languages[DOCTOR_LANGUAGES] = {
    { "python", "import sys\nprint(sys.version.split()[0])\nprint(sys.executable)",
      "install Python 3.6 or newer (Debian, Ubuntu, Fedora: package python3)" },
    { "javascript", "console.log(process.versions.node)\nconsole.log(process.execPath)",
      "install Node.js 16 or newer (Debian, Ubuntu, Fedora: package nodejs)" },
    { "bash", "printf '%s\\n' \"${BASH_VERSION-}\" \"${BASH-sh}\"", "install bash (Debian, Ubuntu, Fedora: package bash)" },
    { "sh", "printf '\\n'; command -v sh", "install a POSIX shell (Debian, Ubuntu: package dash)" },
};
static const char *const levels[DOCTOR_LEVELS] = { "full", "namespaces", "landlock", "process" };
static const char *const engines[DOCTOR_ENGINES] = { "docker", "podman" };

struct doctor {
    struct task task;
    interp_ctx *ctx;
    void (*done)(void *arg);
    void *arg;
    size_t level, language, engine; /* the next to try */
    size_t best;                    /* the first level that works, in which languages are tried; DOCTOR_LEVELS: none does */
    interp_session *session;        /* of this level, or for this language alone: what ends it ends no other's trial */
    interp_call *call;
    struct doctor_level levels[DOCTOR_LEVELS];
    struct doctor_language languages[DOCTOR_LANGUAGES];
    struct doctor_engine engines[DOCTOR_ENGINES];
};

static void go_on(struct doctor *d);

/* ---- levels */

static interp_status open_start(struct doctor *d, const char *level, interp_error **err)
{
    interp_config *c = NULL;
    interp_status st = interp_config_new(d->ctx, &c, err);
    if (st == INTERP_OK)
        st = interp_config_set_backend(c, "local", err);
    if (st == INTERP_OK)
        st = interp_config_set_isolation(c, level, err);
    if (st == INTERP_OK)
        st = interp_config_set_open_timeout_ms(c, OPEN_MS, err);
    if (st == INTERP_OK)
        st = interp_session_open_start(d->ctx, c, &d->session, &d->call, err);
    interp_config_free(c);
    return st;
}

static void opened(struct doctor *d, struct doctor_level *l)
{
    char why[160];
    struct object info;
    size_t n = 0;
    const char *json = interp_session_info_json(d->session, &n);
    l->usable = 1;
    if (object_scan(&info, json, n, why, sizeof why) == 0) {
        const struct member *isolation = object_get(&info, "isolation"), *reached = object_get(&info, "reached");
        if (isolation)
            l->isolation = xdup(isolation->value, isolation->value_len);
        if (reached)
            l->reached = xdup(reached->value, reached->value_len);
    }
    object_free(&info);
    if (d->best == DOCTOR_LEVELS)
        d->best = (size_t)(l - d->levels);
}

/* ---- languages */

static interp_status exec_start(struct doctor *d, size_t i, interp_error **err)
{
    interp_request *r = NULL;
    interp_status st = interp_request_new(d->ctx, &r, err);
    if (st == INTERP_OK)
        st = interp_request_set_language(r, languages[i].name, err);
    if (st == INTERP_OK)
        st = interp_request_set_code(r, languages[i].code, INTERP_NTS, err);
    if (st == INTERP_OK)
        st = interp_request_set_timeout_ms(r, EXEC_MS, err);
    if (st == INTERP_OK)
        st = interp_session_exec_start(d->session, r, &d->call, err);
    interp_request_free(r);
    return st;
}

static void answered(struct doctor_language *l, const char *install, const interp_result *r)
{
    size_t n = 0, message_len = 0, hint_len = 0;
    const char *text = interp_result_text(r, INTERP_STREAM_STDOUT, &n), *end = memchr(text, '\n', n);
    if (interp_result_ok(r) && end) {
        const char *path = end + 1, *path_end = memchr(path, '\n', n - (size_t)(path - text));
        l->usable = 1;
        l->version = xdup(text, (size_t)(end - text));
        l->path = xdup(path, path_end ? (size_t)(path_end - path) : n - (size_t)(path - text));
        return;
    }
    const char *message = interp_result_error_message(r, &message_len);
    if (!message_len)
        message = interp_result_text(r, INTERP_STREAM_STDERR, &message_len);
    l->outcome = xdup(interp_result_outcome_name(r), strlen(interp_result_outcome_name(r)));
    l->cause = xdup(interp_result_cause(r), strlen(interp_result_cause(r)));
    l->message = xdup(message, message_len > 1000 ? 1000 : message_len);
    const char *remedy = interp_result_hint(r, &hint_len);
    if (!strcmp(l->cause, "interpreter"))
        remedy = install, hint_len = strlen(install);
    l->remedy = xdup(remedy, hint_len);
}

static void refused(struct doctor_language *l, const interp_error *err)
{
    const char *message = interp_error_message(err), *remedy = interp_error_remedy(err);
    l->message = xdup(message, strlen(message));
    l->remedy = xdup(remedy, strlen(remedy));
}

/* ---- engines */

static interp_status probe_start(struct doctor *d, const char *engine, interp_error **err)
{
    interp_config *c = NULL;
    interp_status st = interp_config_new(d->ctx, &c, err);
    if (st == INTERP_OK)
        st = interp_config_set_backend(c, engine, err);
    if (st == INTERP_OK)
        st = interp_config_set_open_timeout_ms(c, OPEN_MS, err);
    if (st == INTERP_OK)
        st = interp_ctx_probe_start(d->ctx, c, &d->call, err);
    interp_config_free(c);
    return st;
}

/* {"step":"probe","offers":{…}} */
static void offered(struct doctor_engine *e, const char *json, size_t n)
{
    char why[160];
    struct object o;
    if (object_scan(&o, json, n, why, sizeof why) == 0) {
        const struct member *offers = object_get(&o, "offers");
        free(e->offers);
        e->offers = offers ? xdup(offers->value, offers->value_len) : NULL;
    }
    object_free(&o);
}

/* ---- one after the other */

static int languages_left(const struct doctor *d)
{
    return d->best < DOCTOR_LEVELS && d->language < DOCTOR_LANGUAGES;
}

/* A step has ended: its call is done, or could not be started (st negative, *err says why). */
static void step_ended(struct doctor *d, interp_status st, interp_error *err, const interp_result *result)
{
    if (d->level < DOCTOR_LEVELS) {
        struct doctor_level *l = &d->levels[d->level++];
        if (st == INTERP_OK)
            opened(d, l);
        else
            l->error = err, err = NULL;
        d->session = interp_session_close(d->session);
    } else if (languages_left(d)) {
        if (st == INTERP_OK && !result)     /* the session is open */
            return;
        struct doctor_language *l = &d->languages[d->language];
        l->tried = 1;
        if (st == INTERP_OK)
            answered(l, languages[d->language].install, result);
        else
            refused(l, err);
        d->language++;
        d->session = interp_session_close(d->session);
    } else {
        struct doctor_engine *e = &d->engines[d->engine++];
        e->usable = st == INTERP_OK;
        if (!e->usable)
            e->error = err, err = NULL;
    }
    interp_error_free(err);
}

static void news(struct task *t, interp_call *call)
{
    struct doctor *d = (struct doctor *)t;
    const interp_event *ev;
    interp_status st;
    interp_error *err = NULL;
    interp_result *result = NULL;
    while ((st = interp_call_next(call, &ev)) == INTERP_OK)
        if (interp_call_kind(call) == INTERP_CALL_PROBE && interp_event_type(ev) == INTERP_EV_PROGRESS) {
            size_t n;
            const char *json = interp_event_json(ev, &n);
            offered(&d->engines[d->engine], json, n);
        }
    if (st == INTERP_AGAIN)
        return;
    st = interp_call_finish(call, &result, &err);
    interp_call_free(call);
    d->call = NULL;
    step_ended(d, st, err, result);
    interp_result_free(result);
    go_on(d);
}

/* Starts the next step that can be started, or says that all is done. */
static void go_on(struct doctor *d)
{
    while (d->level < DOCTOR_LEVELS || languages_left(d) || d->engine < DOCTOR_ENGINES) {
        interp_error *err = NULL;
        interp_status st;
        if (d->level < DOCTOR_LEVELS)
            st = open_start(d, levels[d->level], &err);
        else if (!languages_left(d))
            st = probe_start(d, engines[d->engine], &err);
        else if (!d->session)
            st = open_start(d, levels[d->best], &err);
        else
            st = exec_start(d, d->language, &err);
        if (st == INTERP_OK) {
            interp_call_set_userdata(d->call, &d->task);
            return;
        }
        step_ended(d, st, err, NULL);
    }
    d->done(d->arg);
}

struct doctor *doctor_start(interp_ctx *x, void (*done)(void *arg), void *arg)
{
    struct doctor *d = xrealloc(NULL, sizeof *d);
    memset(d, 0, sizeof *d);
    d->task.news = news;
    d->ctx = x;
    d->best = DOCTOR_LEVELS;
    d->done = done;
    d->arg = arg;
    for (size_t i = 0; i < DOCTOR_LEVELS; i++)
        d->levels[i].name = levels[i];
    for (size_t i = 0; i < DOCTOR_LANGUAGES; i++)
        d->languages[i].name = languages[i].name;
    for (size_t i = 0; i < DOCTOR_ENGINES; i++)
        d->engines[i].name = engines[i];
    go_on(d);
    return d;
}

void doctor_free(struct doctor *d)
{
    if (!d)
        return;
    interp_call_free(d->call);
    interp_session_close(d->session);
    for (size_t i = 0; i < DOCTOR_LEVELS; i++) {
        free(d->levels[i].isolation);
        free(d->levels[i].reached);
        interp_error_free(d->levels[i].error);
    }
    for (size_t i = 0; i < DOCTOR_LANGUAGES; i++) {
        struct doctor_language *l = &d->languages[i];
        free(l->version);
        free(l->path);
        free(l->outcome);
        free(l->cause);
        free(l->message);
        free(l->remedy);
    }
    for (size_t i = 0; i < DOCTOR_ENGINES; i++) {
        free(d->engines[i].offers);
        interp_error_free(d->engines[i].error);
    }
    free(d);
}

/* ---- what was found */

int doctor_usable(const struct doctor *d)
{
    for (size_t i = 0; i < DOCTOR_DEFAULT; i++)
        if (d->levels[i].usable)
            return 1;
    return 0;
}

const struct doctor_level *doctor_levels(const struct doctor *d)
{
    return d->levels;
}

const struct doctor_language *doctor_languages(const struct doctor *d)
{
    return d->languages;
}

const struct doctor_engine *doctor_engines(const struct doctor *d)
{
    return d->engines;
}

static void text_member(struct buf *out, const char *name, const char *value)
{
    buf_text(out, ",\"");
    buf_text(out, name);
    buf_text(out, "\":");
    if (value)
        buf_string(out, value, strlen(value));
    else
        buf_text(out, "null");
}

static void level_json(struct buf *out, const struct doctor_level *l)
{
    buf_text(out, "{\"level\":");
    buf_string(out, l->name, strlen(l->name));
    buf_text(out, l->usable ? ",\"usable\":true,\"isolation\":" : ",\"usable\":false,\"isolation\":");
    buf_text(out, l->isolation ? l->isolation : "null");
    buf_text(out, ",\"reached\":");
    buf_text(out, l->reached ? l->reached : "null");
    buf_text(out, ",\"error\":");
    buf_text(out, l->error ? interp_error_json(l->error, NULL) : "null");
    buf_text(out, "}");
}

static void language_json(struct buf *out, const struct doctor_language *l)
{
    buf_text(out, "{\"language\":");
    buf_string(out, l->name, strlen(l->name));
    buf_text(out, l->usable ? ",\"usable\":true" : ",\"usable\":false");
    text_member(out, "version", l->version && *l->version ? l->version : NULL);
    text_member(out, "path", l->path);
    if (!l->usable) {
        text_member(out, "outcome", l->outcome);
        text_member(out, "cause", l->cause);
        text_member(out, "message", l->tried ? l->message : "not tried: there is no session to try it in");
        text_member(out, "remedy", l->remedy);
    }
    buf_text(out, "}");
}

void doctor_members(const struct doctor *d, struct buf *out)
{
    buf_text(out, "\"backends\":[{\"backend\":\"local\",\"usable\":");
    buf_text(out, doctor_usable(d) ? "true" : "false");
    buf_text(out, ",\"levels\":[");
    for (size_t i = 0; i < DOCTOR_LEVELS; i++) {
        buf_text(out, i ? "," : "");
        level_json(out, &d->levels[i]);
    }
    buf_text(out, "],\"languages\":[");
    for (size_t i = 0; i < DOCTOR_LANGUAGES; i++) {
        buf_text(out, i ? "," : "");
        language_json(out, &d->languages[i]);
    }
    buf_text(out, "]}");
    for (size_t i = 0; i < DOCTOR_ENGINES; i++) {
        const struct doctor_engine *e = &d->engines[i];
        buf_text(out, ",{\"backend\":");
        buf_string(out, e->name, strlen(e->name));
        buf_text(out, e->usable ? ",\"usable\":true,\"offers\":" : ",\"usable\":false,\"offers\":");
        buf_text(out, e->offers ? e->offers : "null");
        buf_text(out, ",\"error\":");
        buf_text(out, e->error ? interp_error_json(e->error, NULL) : "null");
        buf_text(out, "}");
    }
    buf_text(out, "]");
}
