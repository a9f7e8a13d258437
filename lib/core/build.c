/* build.c - execs of one-shot languages: what the end of such a process means, and the structured error out of what compiler or program said */
#include "oneshot.h"
#include <stdio.h>
#include <string.h>

void interp__build_exit(struct interp_session *s, struct interp__exec *e, const struct wire_exit *m)
{
    const struct interp__oneshot *o = e->kernel->language->oneshot;
    interp_result *r = e->result;
    int built = m->step == WIRE_STEP_RUN;
    (void)s;
    if (m->how == WIRE_HOW_NOT_RUN || e->broken)
        return;
    r->step = m->step == WIRE_STEP_NONE ? "" : built || !o->builds ? "run" : "compile";
    if (m->how != WIRE_HOW_STOPPED)
        r->state = INTERP_STATE_PRESERVED;   /* there is none to lose; files are kept */
    if (!built)
        r->ran = 0;
    if (m->how == WIRE_HOW_FINAL) {   /* its kernels never say so */
        r->outcome = INTERP_OUTCOME_CRASHED;
        r->cause = "protocol";
    } else if (m->how == WIRE_HOW_DIED && r->outcome == INTERP_OUTCOME_ERROR && !built) {
        r->cause = e->frames.build == WIRE_BUILD_MISSING ? "interpreter" : "compile";
        if (e->frames.build == WIRE_BUILD_MISSING)
            r->exit_code = INTERP_NONE;
    } else if (m->how == WIRE_HOW_DIED && r->outcome == INTERP_OUTCOME_OK && !built) {   /* something ended the shell before its program was there */
        r->outcome = INTERP_OUTCOME_CRASHED;
        r->cause = "protocol";
    }
}

/* ---- the structured error */

enum { SOURCE_MAX = 200, MESSAGE_MAX = 1024, TEXT_MAX = 65536, RUN_MAX = 16384 };   /* RUN_MAX: of what a program said, the end is read */

static void span(struct interp__buf *b, const char *key, struct interp__span v)
{
    interp__buf_fmt(b, ",\"%s\":", key);
    if (v.len)
        interp__json_text(b, v.p, v.len);
    else
        interp__buf_str(b, "null");
}
static void number(struct interp__buf *b, const char *key, uint32_t v)
{
    interp__buf_fmt(b, v ? ",\"%s\":%u" : ",\"%s\":null", key, (unsigned)v);
}

/* The path without the build's own directory, whose name means nothing to anybody. */
static struct interp__span shown(const struct interp__exec *e, struct interp__span file)
{
    size_t n = strlen(e->kernel->tag);
    for (size_t i = 0; n && i + n + 5 <= file.len; i++)
        if (!memcmp(file.p + i, e->kernel->tag, n) && (!memcmp(file.p + i + n, "/src/", 5) || !memcmp(file.p + i + n, "/out/", 5))) {
            uint32_t cut = (uint32_t)(i + n + 5);
            return (struct interp__span){ file.p + cut, file.len - cut };
        }
    if (file.len > 2 && !memcmp(file.p, "./", 2))
        return (struct interp__span){ file.p + 2, file.len - 2 };
    return file;
}

static struct interp__span source_line(const struct interp__exec *e, uint32_t line)
{
    const char *p = (const char *)e->code.p;
    size_t n = e->code.len;
    for (; p && n; line--) {
        const char *end = memchr(p, '\n', n);
        size_t len = end ? (size_t)(end - p) : n;
        if (line == 1) {
            for (; len && (*p == ' ' || *p == '\t'); p++)
                len--;
            return (struct interp__span){ p, (uint32_t)len };
        }
        p += len + (end != NULL), n -= len + (end != NULL);
    }
    return (struct interp__span){ "", 0 };
}

/* Redacted before it is cut: the line is the code's, not what was said. */
static struct interp__span source(struct interp_session *s, const struct interp__exec *e, uint32_t line)
{
    struct interp__span v = source_line(e, line);
    interp__redact_text(s, v.p, v.len);
    size_t n = s->redacted.len;
    return (struct interp__span){ (char *)s->redacted.p, (uint32_t)(n < SOURCE_MAX ? n : interp__cut_before(s->redacted.p, n, SOURCE_MAX)) };
}

static void frame(struct interp__buf *b, struct interp_session *s, const struct interp__exec *e, const struct interp__frame *f, const char *file, int first)
{
    struct interp__span none = { "", 0 }, path = shown(e, f->file);
    interp__buf_str(b, first ? "{\"file\":" : ",{\"file\":");
    interp__json_text(b, path.p, path.len);
    number(b, "line", f->line);
    span(b, "function", none);
    span(b, "source", path.len == strlen(file) && !memcmp(path.p, file, path.len) ? source(s, e, f->line) : none);
    interp__buf_str(b, "}");
}

static char *copy(const interp_result *r, struct interp__span v, size_t *len)
{
    char *p = interp__strndup(&r->mem, v.p ? v.p : "", v.len);
    *len = p ? v.len : 0;
    return p;
}

/* text: what was read, all of it redacted. type: when the text has none. */
static void structured(struct interp_session *s, const struct interp__exec *e, interp_result *r, const char *file, const struct interp__diagnosis *d, const char *type, const char *text, size_t n, int building)
{
    static const char *const severities[] = { "", "error", "warning", "note" };
    const struct interp__diag *main = NULL;
    for (uint32_t i = 0; i < d->count && !main; i++)
        main = d->diag[i].severity == INTERP__SEV_ERROR ? &d->diag[i] : NULL;
    if (!main && !building)
        return;   /* it said nothing that we know: its exit code is all */
    struct interp__span kind = main && main->type.len ? main->type : (struct interp__span){ type, (uint32_t)strlen(type) }, message = main ? main->message : (struct interp__span){ NULL, 0 };
    if (!main) {   /* the last line that says anything */
        size_t end = n;
        while (end && (text[end - 1] == '\n' || text[end - 1] == '\r' || text[end - 1] == ' '))
            end--;
        size_t at = end;
        while (at && text[at - 1] != '\n')
            at--;
        message = end > at ? (struct interp__span){ text + at, (uint32_t)(end - at < MESSAGE_MAX ? end - at : interp__cut_before(text + at, end - at, MESSAGE_MAX)) } : (struct interp__span){ "the build failed and said nothing", 33 };
    }
    size_t whole = interp__utf8_valid(message.p, message.len);   /* a bound may have cut it */
    if (message.len - whole < 4)
        message.len = (uint32_t)whole;
    struct interp__span shown_file = main ? shown(e, main->file) : (struct interp__span){ "", 0 };
    int own = main && shown_file.len >= strlen(file) && !memcmp(shown_file.p, file, strlen(file));
    struct interp__buf b;
    interp__buf_init(&b, &r->mem);
    interp__buf_str(&b, "{\"type\":");
    interp__json_text(&b, kind.p, kind.len);
    interp__buf_str(&b, ",\"message\":");
    interp__json_text(&b, message.p, message.len);
    number(&b, "line", own ? main->line : 0);
    number(&b, "column", own ? main->column : 0);
    interp__buf_str(&b, ",\"frames\":[");
    struct interp__frame at = { main ? main->file : kind, main ? main->line : 0, 0 };
    for (uint32_t i = 0; i < d->frames && !building; i++)
        frame(&b, s, e, &d->frame[i], file, !i);
    if (main && main->line && (building || !d->frames))
        frame(&b, s, e, &at, file, 1);
    interp__buf_str(&b, "],\"traceback\":");
    size_t shown_len = !building ? 0 : n < TEXT_MAX ? n : interp__cut_before(text, n, TEXT_MAX);   /* of a program's own end standard error has it */
    interp__json_text(&b, text, shown_len);
    span(&b, "code", main ? main->code : (struct interp__span){ "", 0 });
    if (building) {
        interp__buf_str(&b, ",\"diagnostics\":[");
        for (uint32_t i = 0; i < d->count; i++) {
            const struct interp__diag *g = &d->diag[i];
            interp__buf_fmt(&b, "%s{\"severity\":\"%s\"", i ? "," : "", severities[g->severity]);
            span(&b, "file", shown(e, g->file));
            number(&b, "line", g->line);
            number(&b, "column", g->column);
            span(&b, "code", g->code);
            span(&b, "message", g->message);
            interp__buf_str(&b, "}");
        }
        interp__buf_str(&b, "]");
    }
    interp__buf_str(&b, ",\"hint\":null}");
    if (!interp__buf_text(&b)) {
        interp__buf_free(&b);
        return;
    }
    interp__free(&r->mem, r->error_json);
    r->error_json = (char *)b.p;
    r->error_type = copy(r, kind, &r->type_len);
    r->error_message = copy(r, message, &r->message_len);
    r->error_traceback = copy(r, (struct interp__span){ text, (uint32_t)shown_len }, &r->traceback_len);
    if (own && main->line < INT32_MAX)
        r->line = main->line ? (int32_t)main->line : INTERP_NONE;
}

/* The name that the exec's file had: {name} is the first word of what the template got. */
static void file_name(const struct interp__oneshot *o, const struct interp__exec *e, char out[400])
{
    const char *place = strstr(o->file, "{name}"), *name = (const char *)e->env.p + 1;
    size_t n = e->env.len ? strcspn(name, "'") : 0;
    if (place && n < 256)
        snprintf(out, 400, "%.*s%.*s%s", (int)(place - o->file), o->file, (int)n, name, place + 6);
    else
        snprintf(out, 400, "%s", o->file);
}

void interp__build_finish(struct interp_session *s, struct interp__exec *e, interp_result *r)
{
    const struct interp__oneshot *o = e->kernel->language->oneshot;
    char file[400], text[1024];
    if (r->build_output) {   /* redacted before anything is read out of it */
        if (r->build_len < INTERP__BUILD_MAX)
            interp__redact_text(s, r->build_output, r->build_len);
        else
            interp__redact_text_cut(s, r->build_output, r->build_len);
        char *seen = interp__strndup(&s->mem, s->redacted.p, s->redacted.len);
        interp__wipe(r->build_output, r->build_len);
        interp__free(&s->mem, r->build_output);
        r->build_output = seen;
        r->build_len = seen ? s->redacted.len : 0;
    }
    if (r->outcome != INTERP_OUTCOME_ERROR || r->error_json)
        return;
    file_name(o, e, file);
    const char *said = r->build_output ? r->build_output : "";
    if (!strcmp(r->cause, "interpreter")) {
        const char *path = interp__session_path(s);
        snprintf(text, sizeof text, "no toolchain for %s: looked for %s in %.400s inside the sandbox; install %s", o->language.name, o->looked, path, o->install);
        interp__host_error(r, "InterpreterNotFound", text, said);
        return;
    }
    struct interp__diagnosis *d = interp__alloc(&s->mem, sizeof *d);
    if (!d)
        return;
    if (!strcmp(r->cause, "compile")) {
        interp__diagnose(o->errors, o->nerrors, file, said, r->build_len, d);
        structured(s, e, r, file, d, "CompileError", said, r->build_len, 1);
    } else if (!strcmp(r->step, "run") && r->exit_code > 0 && o->nrun_errors) {   /* the error that ended it stands last */
        const char *p = r->out[1].text ? r->out[1].text : "";
        size_t n = r->out[1].text_len, from = n > RUN_MAX ? interp__cut_after(p, n, n - RUN_MAX) : 0;
        interp__diagnose(o->run_errors, o->nrun_errors, file, p + from, n - from, d);
        structured(s, e, r, file, d, "RuntimeError", p + from, n - from, 0);
    }
    interp__free(&s->mem, d);
}
