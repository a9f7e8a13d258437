/* complete.c - a guess at whether code is whole: strings, brackets, and what opens a block.
   SPDX-License-Identifier: MIT */
#include "complete.h"
#include <string.h>

enum language { PYTHON, JAVASCRIPT, SHELL };
struct scan {
    enum language language;
    const char *p, *end;
    long depth, blocks; /* open brackets; the shell's if, case, do: a pattern of a case closes no bracket that was opened */
    int open;   /* inside a string, or after a backslash at the end */
    int block;  /* Python: a line that ends with a colon, or a decorator */
    int shell;  /* bash or sh: there are here-documents */
    long arithmetic; /* depth that (( )) has reached with its first bracket; 0 outside: << shifts there */
    struct document {
        const char *word; /* as it was written, with its quotes */
        size_t n;
        int tabs; /* are left out before its lines */
    } documents[16]; /* that the next line begins with; no shell takes more */
    unsigned count;
    int inside; /* one of them has no end yet */
};

static int at(const struct scan *s, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(s->end - s->p) >= n && !memcmp(s->p, word, n);
}

/* A string from its quote to its end; what ends it at the end of the line, ends it. */
static void string(struct scan *s)
{
    char quote = *s->p;
    int triple = s->language == PYTHON && (at(s, "'''") || at(s, "\"\"\"")), raw = s->language == SHELL && quote == '\'';
    int lines = triple || s->language == SHELL || quote == '`';
    s->p += triple ? 3 : 1;
    s->open = 1;
    for (; s->p < s->end; s->p++) {
        if (*s->p == '\\' && !raw) {
            if (s->p + 1 < s->end)
                s->p++;
        } else if (*s->p == '\n' && !lines) {
            s->open = 0;
            return;
        } else if (*s->p == quote && (!triple || (s->p + 2 < s->end && s->p[1] == quote && s->p[2] == quote))) {
            s->p += triple ? 3 : 1;
            s->open = 0;
            return;
        }
    }
}

static void comment(struct scan *s)
{
    if (s->language == JAVASCRIPT && at(s, "/*")) {
        s->open = 1;
        for (s->p += 2; s->p < s->end && s->open; s->p++)
            if (at(s, "*/")) {
                s->open = 0;
                s->p++;
            }
    } else
        while (s->p < s->end && *s->p != '\n')
            s->p++;
}

static int in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void shell_word(struct scan *s, size_t n)
{
    static const char *const opens[] = { "if", "case", "do" }, *const closes[] = { "fi", "esac", "done" };
    for (unsigned i = 0; i < 3; i++) {
        if (strlen(opens[i]) == n && !memcmp(s->p, opens[i], n))
            s->blocks++;
        if (strlen(closes[i]) == n && !memcmp(s->p, closes[i], n))
            s->blocks--;
    }
}

/* << or <<- and a word. */
static void here(struct scan *s)
{
    struct document d = { 0 };
    s->p += 2;
    d.tabs = s->p < s->end && *s->p == '-';
    s->p += d.tabs;
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
        s->p++;
    d.word = s->p;
    while (s->p < s->end && !s->open && !strchr(" \t\n;&|<>()", *s->p)) {
        if (*s->p == '"' || *s->p == '\'')
            string(s);
        else
            s->p += *s->p == '\\' && s->p + 1 < s->end ? 2 : 1;
    }
    d.n = (size_t)(s->p - d.word);
    if (d.n && s->count < sizeof s->documents / sizeof *s->documents)
        s->documents[s->count++] = d;
}

/* Whether a line is the word without its quotes. */
static int ends(const struct document *d, const char *line, size_t n)
{
    char quote = 0;
    for (size_t i = 0; i < d->n; i++) {
        char c = d->word[i];
        if (c == quote || (!quote && (c == '"' || c == '\''))) {
            quote = quote ? 0 : c;
            continue;
        }
        if (c == '\\' && quote != '\'' && i + 1 < d->n)
            c = d->word[++i];
        if (!n || *line != c)
            return 0;
        line++;
        n--;
    }
    return !n;
}

/* The lines of one here-document, with the one that ends it. In one whose word has no quotes a backslash joins a line to the next. */
static void document(struct scan *s, const struct document *d)
{
    int quoted = 0, joined = 0;
    for (size_t i = 0; i < d->n; i++)
        quoted |= d->word[i] == '"' || d->word[i] == '\'' || d->word[i] == '\\';
    while (s->p < s->end) {
        const char *line = s->p, *newline = memchr(line, '\n', (size_t)(s->end - line)), *stop = newline ? newline : s->end;
        s->p = newline ? newline + 1 : s->end;
        while (d->tabs && line < stop && *line == '\t')
            line++;
        if (!joined && ends(d, line, (size_t)(stop - line)))
            return;
        joined = 0;
        for (const char *p = stop; !quoted && p > line && p[-1] == '\\'; p--)
            joined = !joined;
    }
    s->inside = 1;
}

/* After the newline of a line that announced some. */
static void documents(struct scan *s)
{
    for (unsigned i = 0; i < s->count && !s->inside; i++)
        document(s, &s->documents[i]);
    s->count = 0;
}

int code_complete(const char *language, const char *text, size_t n)
{
    struct scan s = { !strcmp(language, "python") ? PYTHON : !strcmp(language, "javascript") ? JAVASCRIPT : SHELL, text, text + n, .shell = !strcmp(language, "bash") || !strcmp(language, "sh") };
    char last = 0; /* that was neither blank nor comment */
    int start = 1; /* of a line */
    while (s.p < s.end && !s.open && !s.inside) {
        char c = *s.p, before = s.p > text ? s.p[-1] : '\n';
        if (c == '\\') {
            if (s.p + 1 >= s.end || (s.p[1] == '\n' && s.p + 2 >= s.end))
                s.open = 1;
            s.p += 2;
            continue;
        }
        if (c == '"' || c == '\'' || (c == '`' && s.language != PYTHON)) {
            string(&s);
            last = c;
            continue;
        }
        if ((c == '#' && s.language != JAVASCRIPT && (s.language == PYTHON || strchr(" \t\n;", before))) || (s.language == JAVASCRIPT && (at(&s, "//") || at(&s, "/*")))) {
            comment(&s);
            continue;
        }
        if (s.shell && !s.arithmetic && at(&s, "<<")) {
            if (at(&s, "<<<"))
                s.p += 3;
            else
                here(&s);
            last = c;
            start = 0;
            continue;
        }
        if (c == '\n' && s.count) {
            s.p++;
            documents(&s);
            start = 1;
            continue;
        }
        if (c == '\n') {
            s.block |= s.language == PYTHON && !s.depth && last == ':';
            start = 1;
        } else if (in_word(c)) {
            const char *word = s.p;
            while (s.p < s.end && in_word(*s.p))
                s.p++;
            size_t length = (size_t)(s.p - word);
            s.p = word;
            if (s.language == SHELL && (word == text || strchr(" \t\n;(|&", before)))
                shell_word(&s, length);
            s.p += length;
            last = c;
            start = 0;
            continue;
        } else if (c != ' ' && c != '\t') {
            if (!s.arithmetic && at(&s, "(("))
                s.arithmetic = s.depth + 1;
            if (c == '(' || c == '[' || c == '{')
                s.depth++;
            else if ((c == ')' || c == ']' || c == '}') && s.depth > 0 && --s.depth < s.arithmetic)
                s.arithmetic = 0;
            s.block |= s.language == PYTHON && start && c == '@';
            last = c;
            start = 0;
        }
        s.p++;
    }
    if (s.inside || (s.count && !s.open))
        return -1;
    return !s.open && !s.depth && s.blocks <= 0 && !s.block;
}
