/* diagnose.c - lines of a compiler or interpreter against patterns: a small matcher with a bound on its work, and what it makes of a whole text */
#include "diagnose.h"
#include "output/stream.h"
#include <string.h>

enum { LINE_MAX_BYTES = 1024, LINES_MAX = 5000, STEPS_LINE = 20000, STEPS_TEXT = 4000000 };

struct token { char kind; uint8_t len; const char *p; };       /* kind: 'L' literal, ' ' blanks, or the letter behind % */
struct pattern { struct token t[INTERP__PATTERN_TOKENS]; unsigned n; uint8_t place, caret, message; const char *wrong; };

static const struct { const char *word; uint8_t severity; } words[] = {
    { "fatal error", INTERP__SEV_ERROR }, { "internal compiler error", INTERP__SEV_ERROR }, { "error", INTERP__SEV_ERROR }, { "Error", INTERP__SEV_ERROR },
    { "warning", INTERP__SEV_WARNING }, { "Warning", INTERP__SEV_WARNING }, { "note", INTERP__SEV_NOTE }, { "help", INTERP__SEV_NOTE }, { "info", INTERP__SEV_NOTE }
};

static int blank(char c) { return c == ' ' || c == '\t'; }
static int digit(char c) { return c >= '0' && c <= '9'; }
static int letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }

static void compile(struct pattern *c, const char *p)
{
    memset(c, 0, sizeof *c);
    if (strlen(p) > INTERP__PATTERN_MAX) {
        c->wrong = "it is longer than 200 bytes";
        return;
    }
    if (*p == '^') {
        c->caret = 1;
        if (p[1])
            c->wrong = "^ stands alone";
        return;
    }
    if (*p == '+')
        c->place = 1, p++;
    for (; *p; p++) {
        struct token t = { 'L', 1, p };
        if (*p == '%') {
            if (!strchr("flcmskteip*%", p[1]) || !p[1]) {
                c->wrong = "a letter behind % is none of f l c m s k t e i p * %";
                return;
            }
            t.kind = *++p;
            t.p = p;
            if (t.kind == '%')
                t.kind = 'L';
            c->message |= t.kind == 'm';
        } else if (*p == ' ')
            t.kind = ' ';
        struct token *last = c->n ? &c->t[c->n - 1] : NULL;
        if (t.kind == 'L' && last && last->kind == 'L' && last->p + last->len == t.p) {
            last->len++;
            continue;
        }
        if (c->n == INTERP__PATTERN_TOKENS) {
            c->wrong = "it has more than 32 parts";
            return;
        }
        c->t[c->n++] = t;
    }
    if (!c->n)
        c->wrong = "it is empty";
}

const char *interp__pattern_wrong(const char *pattern)
{
    struct pattern c;
    compile(&c, pattern);
    return c.wrong;
}

static int ends(const char *p, size_t n, const char *with)
{
    size_t k = strlen(with);
    return n >= k && !memcmp(p + n - k, with, k);
}

/* How many bytes the token takes at most. */
static size_t reach(char kind, const char *p, size_t n)
{
    size_t i = 0;
    switch (kind) {
    case 'l': case 'c':
        while (i < n && i < 9 && digit(p[i]))
            i++;
        return i;
    case 'i':
        while (i < n && i < 255 && (letter(p[i]) || (i && digit(p[i]))))
            i++;
        return i;
    case 't': case 'e': case 'p':
        while (i < n && i < 255 && (letter(p[i]) || (i && (digit(p[i]) || p[i] == '.' || p[i] == ':'))))
            i++;
        return i;
    case 'k':
        while (i < n && i < 64 && (letter(p[i]) || digit(p[i]) || p[i] == '-' || p[i] == '+' || p[i] == '='))
            i++;
        return i;
    case 'f':
        while (i < n && i < 255 && p[i] != ':' && p[i] != '(' && p[i] != ')' && p[i] != '"' && (unsigned char)p[i] >= 32)
            i++;
        return i;
    default:   /* %m and %* */
        return n;
    }
}

static uint32_t number(const char *p, size_t n)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (uint32_t)(p[i] - '0');
    return v;
}

static void note(struct interp__match *m, char kind, const char *p, size_t n)
{
    struct interp__span s = { p, (uint32_t)n };
    switch (kind) {
    case 'f': m->file = s; break;
    case 'm': m->message = s; m->has_message = 1; break;
    case 'k': m->code = s; break;
    case 't': case 'e': m->type = s; break;
    case 'i': case 'p': m->name = s; break;
    case 'l': m->line = number(p, n); break;
    case 'c': m->column = number(p, n); break;
    default: break;
    }
}

/* Recursion is as deep as the pattern has tokens. */
static int match(const struct pattern *c, unsigned i, const char *p, size_t n, struct interp__match *m, uint32_t *steps)
{
    if (!*steps)
        return 0;
    --*steps;
    if (i == c->n)
        return n == 0;
    const struct token *t = &c->t[i];
    if (t->kind == 'L')
        return n >= t->len && !memcmp(p, t->p, t->len) && match(c, i + 1, p + t->len, n - t->len, m, steps);
    if (t->kind == ' ') {
        size_t k = 0;
        while (k < n && blank(p[k]))
            k++;
        return k && match(c, i + 1, p + k, n - k, m, steps);
    }
    if (t->kind == 's') {
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            size_t k = strlen(words[w].word);
            if (n >= k && !memcmp(p, words[w].word, k) && match(c, i + 1, p + k, n - k, m, steps)) {
                m->severity = words[w].severity;
                return 1;
            }
        }
        return 0;
    }
    size_t most = reach(t->kind, p, n), least = t->kind == '*' ? 0 : 1;
    int greedy = strchr("lcikm", t->kind) != NULL;
    for (size_t k = greedy ? most : least; greedy ? k >= least : k <= most; greedy ? k-- : k++) {
        const struct token *next = i + 1 < c->n ? t + 1 : NULL;
        if (!next)   /* the last one takes all that is left */
            k = n <= most && n >= least ? n : most + 1;
        if (k > most)
            return 0;
        if (!*steps)
            return 0;
        --*steps;
        if (next && next->kind == 'L' && (n - k < next->len || p[k] != next->p[0]))
            continue;
        if (t->kind == 'e' && !ends(p, k, "Error") && !ends(p, k, "Exception"))
            continue;
        if (match(c, i + 1, p + k, n - k, m, steps)) {
            note(m, t->kind, p, k);
            return 1;
        }
        if (!next)
            return 0;
    }
    return 0;
}

static int match_line(const struct pattern *c, const char *line, size_t n, struct interp__match *m, uint32_t *steps)
{
    memset(m, 0, sizeof *m);
    if (c->wrong)
        return 0;
    while (n && (blank(line[n - 1]) || line[n - 1] == '\r'))
        n--;
    if (c->caret) {
        for (size_t i = 0; i < n; i++)
            if (line[i] == '^')
                return m->column = (uint32_t)i + 1, 1;
            else if (!blank(line[i]) && line[i] != '~' && line[i] != '|')
                return 0;
        return 0;
    }
    while (c->place && n && blank(*line))
        line++, n--;
    return match(c, 0, line, n, m, steps);
}

int interp__pattern_match(const char *pattern, const char *line, size_t n, struct interp__match *m, uint32_t *steps)
{
    struct pattern c;
    compile(&c, pattern);
    return match_line(&c, line, n, m, steps);
}

/* The exec's own file: by its name, which the build may have put an ending behind. */
static int is_own(struct interp__span file, const char *source)
{
    size_t at = file.len, n = strlen(source);
    while (at && file.p[at - 1] != '/')
        at--;
    return n && file.len - at >= n && !memcmp(file.p + at, source, n);
}

static void place(struct interp__diagnosis *out, const struct interp__match *m, const char *source)
{
    if (out->frames < INTERP__FRAMES_MAX && m->line)
        out->frame[out->frames++] = (struct interp__frame){ m->file, m->line, m->column };
    struct interp__diag *d = out->count ? &out->diag[out->count - 1] : NULL;
    int own = is_own(m->file, source);
    if (!d || !m->line || (d->line && (d->own || !own)))
        return;
    d->file = m->file, d->line = m->line, d->column = m->column;
    d->own = (uint8_t)own;
}

void interp__diagnose(const struct interp__pattern *patterns, uint32_t count, const char *source, const char *text, size_t n, struct interp__diagnosis *out)
{
    struct pattern c;
    uint32_t left = STEPS_TEXT;
    int want_message = 0, want_caret = 0;
    memset(out, 0, sizeof *out);
    for (unsigned lines = 0; n && lines < LINES_MAX && left; lines++) {
        const char *end = memchr(text, '\n', n), *line = text;
        size_t whole = end ? (size_t)(end - text) : n, len = whole < LINE_MAX_BYTES ? whole : interp__cut_before(line, whole, LINE_MAX_BYTES);
        text += whole + (end != NULL), n -= whole + (end != NULL);
        struct interp__diag *last = out->count ? &out->diag[out->count - 1] : NULL;
        if (want_message && last) {
            want_message = 0;
            if (len && line[len - 1] == '\r')
                len--;
            last->message = (struct interp__span){ line, (uint32_t)len };
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            struct interp__match m;
            uint32_t steps = left < STEPS_LINE ? left : STEPS_LINE, had = steps;
            compile(&c, patterns[i].text);
            int ok = (!c.caret || want_caret) && match_line(&c, line, len, &m, &steps);
            left -= had - steps;
            if (!ok)
                continue;
            if (c.caret) {
                if (last && last->line && !last->column)
                    last->column = m.column;
                want_caret = 0;
            } else if (c.place)
                place(out, &m, source);
            else if (out->count < INTERP__DIAGS_MAX) {
                struct interp__diag *d = &out->diag[out->count++];
                *d = (struct interp__diag){ m.file, m.message, m.code, m.type, m.line, m.column, m.severity, (uint8_t)is_own(m.file, source) };
                if (!d->severity)
                    d->severity = patterns[i].severity ? patterns[i].severity : INTERP__SEV_ERROR;
                if (!d->type.len && patterns[i].type)
                    d->type = (struct interp__span){ patterns[i].type, (uint32_t)strlen(patterns[i].type) };
                want_message = !c.message;
                want_caret = 1;
            }
            break;
        }
    }
}
