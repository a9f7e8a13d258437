/* hints.c - one sentence or two for a model about what to do, chosen by hints.def from the facts of a result, never from a program's output */
#include "oneshot.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { H_COMPILE = 1, H_OOM_KILLS = 2, H_DISK = 4, H_PIDS = 8, H_EXIT_126 = 16, H_EXIT_127 = 32, H_STATE_LOST = 64, H_SAYS_MODULE = 128, H_SAYS_NO_FILE = 256, H_STATE_BACK = 512, H_FAULT = 1024 };

static const struct hint { int32_t outcome; const char *cause, *languages, *types, *codes; uint32_t flags; const char *text; } hints[] = {
#define HINT(outcome, cause, languages, types, codes, flags, text) { INTERP_OUTCOME_##outcome, cause, languages, types, codes, flags, text },
#include "hints.def"
#undef HINT
};

static int has_word(const char *list, const char *word, size_t n)
{
    while (n && *list) {
        size_t k = strcspn(list, " ");
        if (k == n && !memcmp(list, word, n))
            return 1;
        list += k + (list[k] != 0);
    }
    return 0;
}

struct facts { const char *code; size_t code_len; char subject[128]; uint32_t flags; };

static int contains(const char *p, size_t n, const char *word)
{
    return p && memmem(p, n, word, strlen(word)) != NULL;
}

/* A name as it may stand in a sentence: printable, short; "" else. */
static void subject(char out[128], const char *p, size_t n)
{
    size_t whole = interp__utf8_valid(p, n);
    *out = 0;
    if (!n || n > 100 || whole != n)
        return;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)p[i] < 0x20 || p[i] == '`' || p[i] == 0x7f)
            return;
    snprintf(out, 128, "`%.*s`", (int)n, p);
}

/* Signals that a program's own mistake brings. */
static int fault(int32_t sig)
{
    return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGABRT || sig == SIGTRAP;
}

static void gather(const interp_result *r, const struct interp__json *j, struct facts *f)
{
    uint32_t code = j ? interp__json_member(j, 0, "code") : 0, name = j ? interp__json_member(j, 0, "subject") : 0;
    if (code && interp__json_at(j, code)->type == INTERP__JSON_STRING) {
        f->code = interp__json_string(j, interp__json_at(j, code));
        f->code_len = interp__json_at(j, code)->text_len;
    }
    if (name && interp__json_at(j, name)->type == INTERP__JSON_STRING)
        subject(f->subject, interp__json_string(j, interp__json_at(j, name)), interp__json_at(j, name)->text_len);
    const char *step = r->step, *message = r->error_message;
    f->flags |= !strcmp(step, "compile") ? H_COMPILE : 0;
    f->flags |= r->oom_kills ? H_OOM_KILLS : 0;
    f->flags |= r->limits_hit & (WIRE_LIMIT_DISK | WIRE_LIMIT_INODES) ? H_DISK : 0;
    f->flags |= r->limits_hit & WIRE_LIMIT_PIDS ? H_PIDS : 0;
    f->flags |= r->exit_code == 126 ? H_EXIT_126 : r->exit_code == 127 ? H_EXIT_127 : 0;
    f->flags |= r->state == INTERP_STATE_RESET ? H_STATE_LOST : r->state == INTERP_STATE_RESTORED ? H_STATE_BACK : 0;
    f->flags |= fault(r->signal) ? H_FAULT : 0;
    /* a compiler's message is all that it has for facts */
    if (!strcmp(r->cause, "compile")) {
        f->flags |= contains(message, r->message_len, "no required module provides package") || contains(message, r->message_len, "cannot find module providing package") || contains(message, r->message_len, "is not in std") ? H_SAYS_MODULE : 0;
        f->flags |= contains(message, r->message_len, "No such file or directory") ? H_SAYS_NO_FILE : 0;
        f->flags |= contains(r->build_output, r->build_len, "No space left on device") ? H_DISK : 0;
    }
}

static int fits(const struct hint *h, const interp_result *r, const struct facts *f)
{
    if (h->outcome != r->outcome || (*h->cause && strcmp(h->cause, r->cause)) || (*h->languages && !has_word(h->languages, r->language, strlen(r->language))) || (h->flags & f->flags) != h->flags)
        return 0;
    if (!*h->types && !*h->codes)
        return 1;
    const char *type = r->error_type ? r->error_type : "", *last = type;
    size_t n = r->error_type ? r->type_len : 0;
    for (size_t i = 0; i < n; i++)
        if (type[i] == '.' || type[i] == ':')
            last = type + i + 1;
    return has_word(h->types, type, n) || (strcmp(r->language, "java") && has_word(h->types, last, n - (size_t)(last - type))) || has_word(h->codes, f->code, f->code_len);
}

static void size(struct interp__buf *b, uint64_t n)
{
    if (n >= UINT64_C(1) << 20)
        interp__buf_fmt(b, "%" PRIu64 " MiB", n >> 20);
    else
        interp__buf_fmt(b, "%" PRIu64 " KiB", n >> 10);
}

static void fill(struct interp__buf *b, const char *text, const struct interp_session *s, const struct interp__exec *e, const interp_result *r, const struct facts *f)
{
    const struct interp__language *l = e->kernel->language;
    while (*text) {
        size_t n = strcspn(text, "{");
        interp__buf_add(b, text, n);
        text += n;
        if (!*text)
            break;
        const char *end = strchr(text, '}');
        size_t k = (size_t)(end - text) - 1;
        const char *name = text + 1;
        text = end + 1;
#define IS(word) (k == sizeof word - 1 && !memcmp(name, word, sizeof word - 1))
        if (IS("subject"))
            interp__buf_str(b, *f->subject ? f->subject : "that it needs");
        else if (IS("language"))
            interp__buf_str(b, l->name);
        else if (IS("line")) {
            if (r->line > 0)
                interp__buf_fmt(b, "line %d of ", (int)r->line);
        } else if (IS("timeout")) {
            if (e->timeout == INTERP__NEVER)
                interp__buf_str(b, "time");
            else
                interp__buf_fmt(b, "%" PRIu64 " ms", e->timeout / 1000000u);
        } else if (IS("memory"))
            size(b, s->v.memory);
        else if (IS("workspace"))
            size(b, s->v.workspace);
        else if (IS("pids"))
            interp__buf_fmt(b, "%" PRIu64, s->v.pids);
        else if (IS("programs")) {
            if (l->oneshot)
                interp__buf_str(b, l->oneshot->looked);
            for (int i = 0; !l->oneshot && l->candidates[i]; i++)
                interp__buf_fmt(b, "%s%s", i ? ", " : "", l->candidates[i]);
        }
#undef IS
    }
}

void interp__hint(struct interp_session *s, const struct interp__exec *e, interp_result *r)
{
    struct facts f = { "", 0, "", 0 };
    struct interp__json j = { 0 };
    int parsed = r->error_json && !interp__json_parse(&j, &s->mem, r->error_json, strlen(r->error_json), NULL);
    gather(r, parsed ? &j : NULL, &f);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (fits(&hints[i], r, &f)) {
            struct interp__buf b;
            interp__buf_init(&b, &r->mem);
            fill(&b, hints[i].text, s, e, r, &f);
            if (interp__buf_text(&b)) {
                r->hint = (char *)b.p;
                r->hint_len = b.len;
            } else
                interp__buf_free(&b);
            break;
        }
    interp__json_free(&j);
}
