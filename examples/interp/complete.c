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

int code_complete(const char *language, const char *text, size_t n)
{
    struct scan s = { !strcmp(language, "python") ? PYTHON : !strcmp(language, "javascript") ? JAVASCRIPT : SHELL, text, text + n, 0, 0, 0, 0 };
    char last = 0; /* that was neither blank nor comment */
    int start = 1; /* of a line */
    while (s.p < s.end && !s.open) {
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
            if (c == '(' || c == '[' || c == '{')
                s.depth++;
            else if ((c == ')' || c == ']' || c == '}') && s.depth > 0)
                s.depth--;
            s.block |= s.language == PYTHON && start && c == '@';
            last = c;
            start = 0;
        }
        s.p++;
    }
    return !s.open && !s.depth && s.blocks <= 0 && !s.block;
}
