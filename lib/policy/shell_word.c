/* shell_word.c - words of shell code: quotes, expansions, patterns, here-documents. What ends a word, a quote or a bracket must be known for certain, or the reader takes text for code and code for text */
#include "shell_priv.h"
#include <string.h>

enum { DEPTH = 48 };
enum around { BARE, DOUBLE, BODY, SOME };   /* what an expansion stands in: nothing, double quotes, the body of a here-document; SOME: shells do not agree on what that means there */

static void expansion(struct shell *s, enum around around);
static void quoted(struct shell *s);

static void close_with(struct shell *s, const char *what)   /* at the character that closes, or at the end */
{
    if (s->result || s->bad || s->unsure)
        return;
    if (s->p < s->end)
        s->p++;
    else
        interp__shell_unsure(s, what);
}
static int deeper(struct shell *s)
{
    if (s->depth < DEPTH) {
        s->depth++;
        return 1;
    }
    interp__shell_unsure(s, "very deep nesting");
    return 0;
}
static void add(struct shell *s, char c)
{
    s->word.flags |= c ? 0 : EXPANDS;   /* a NUL stands for what is known at run time, also in a text that was a word itself */
    interp__buf_add(&s->word.text, &c, 1);
}
/* strchr finds the NUL that a text may have. */
static int any_of(const char *set, char c)
{
    return c && strchr(set, c);
}

static void backquotes(struct shell *s, enum around around)
{
    struct interp__buf b;
    interp__buf_init(&b, s->mem);
    for (s->p++; !interp__shell_over(s) && *s->p != '`';) {
        if (*s->p == '\\' && s->p + 1 < s->end && (any_of("`\\$", s->p[1]) || (s->p[1] == '"' && around != BARE))) {
            if (s->p[1] == '"' && around != DOUBLE)
                interp__shell_unsure(s, "\\\" between backquotes");
            s->p++;
        }
        char c = interp__shell_step(s);
        interp__buf_add(&b, &c, 1);
    }
    close_with(s, "a backquote without an end");
    s->bad |= b.bad;
    if (!s->bad && b.len)
        interp__shell_nested(s, b.p, b.len, s->shells, 0);
    interp__buf_free(&b);
}

/* At a quote that is one to some shells and a character to others: past it where that makes no difference. */
static void either(struct shell *s)
{
    char quote = *s->p++;
    while (!interp__shell_over(s) && *s->p != quote) {
        if (quote == '"' && (*s->p == '$' || *s->p == '`'))
            expansion(s, SOME);
        else if (!*s->p || strchr("'\"`$\\(){}[]<>#\n", *s->p))
            interp__shell_unsure(s, "a quote inside an expansion");
        else
            s->p++;
    }
    close_with(s, "a quote without an end");
}

void interp__shell_arithmetic(struct shell *s)
{
    int open = 0;
    while (!interp__shell_over(s)) {
        char c = *s->p;
        if (c == ')' && !open) {
            if (interp__shell_at(s, "))"))
                s->p += 2;
            else
                interp__shell_unsure(s, "two brackets that may be arithmetic or a subshell");
            return;
        }
        if (c == '$' || c == '`')
            expansion(s, SOME);
        else if (c == '\'' || c == '"')
            either(s);
        else {
            open += (c == '(') - (c == ')');
            interp__shell_step(s);
            if (c == '\\' && s->p < s->end)
                interp__shell_step(s);
        }
    }
    close_with(s, "arithmetic without an end");
}

static int name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}
static void ansi(struct shell *s)   /* $'…', after the quote */
{
    static const char from[] = "abefnrtvE", to[] = "\a\b\033\f\n\r\t\v\033";
    while (!interp__shell_over(s) && *s->p != '\'') {
        char c = interp__shell_step(s);
        if (c == '\\' && s->p < s->end) {
            c = interp__shell_step(s);
            const char *simple = strchr(from, c);
            int base = c == 'x' || c == 'u' || c == 'U' ? 16 : 8, most = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 3;
            if (c == '\'' && (s->shells & POSIX))
                interp__shell_unsure(s, "$'...\\'...', which not each shell knows");
            if (base == 16 || (c >= '0' && c <= '7')) {
                uint32_t v = 0;
                if (base == 8)
                    s->p--;
                for (int k = 0; k < most && s->p < s->end && digit_of(*s->p) < base; k++)
                    v = v * (uint32_t)base + (uint32_t)digit_of(*s->p++);
                c = v < 0x80 || base == 8 || most == 2 ? (char)v : (char)0x80;
                if (!c)   /* what follows is cut off there, \x{…} is another number */
                    interp__shell_unsure(s, "a NUL in $'...'");
            } else if (c && simple)
                c = to[simple - from];
        }
        add(s, c);
    }
    close_with(s, "a quote without an end");
}
static void single(struct shell *s)   /* '…', at the quote */
{
    for (s->p++; !interp__shell_over(s) && *s->p != '\'';)
        add(s, interp__shell_step(s));
    close_with(s, "a quote without an end");
}
static void quoted(struct shell *s)   /* "…", after the quote */
{
    while (!interp__shell_over(s) && *s->p != '"') {
        if (*s->p == '\\' && s->p + 1 < s->end && any_of("$`\"\\\n", s->p[1])) {
            s->p++;
            char c = interp__shell_step(s);
            if (c != '\n')
                add(s, c);
        } else if (*s->p == '$' || *s->p == '`')
            expansion(s, DOUBLE);
        else
            add(s, interp__shell_step(s));
    }
    close_with(s, "a quote without an end");
}
static void substitution(struct shell *s)   /* <(…) and >(…) */
{
    if (s->shells & POSIX) {
        interp__shell_unsure(s, "<( and >(, which not each shell knows");
        return;
    }
    s->p += 2;
    interp__shell_inside(s, 1);
    add(s, 0);
}

/* What ' is in ${…} that stands in double quotes. POSIX, and Bash in its mode for that: a quote where a pattern comes (# and %), a character after - = ? +. Bash of itself: always a quote. */
enum apostrophe { QUOTE, CHARACTER, EITHER };
static enum apostrophe apostrophe(const struct shell *s, enum around around)
{
    const char *p = s->p;
    if (around == BARE)
        return QUOTE;
    if (s->shells != POSIX || around == SOME || p >= s->end || *p == '#' || *p == '!')
        return EITHER;
    if (name_byte(*p))
        while (p < s->end && name_byte(*p))
            p++;
    else
        p++;
    if (p < s->end && (*p == '#' || *p == '%'))
        return QUOTE;
    p += p < s->end && *p == ':';
    return p < s->end && any_of("-=?+", *p) ? CHARACTER : EITHER;
}
static void braces(struct shell *s, enum around around)   /* ${…}, after the brace */
{
    enum apostrophe is = apostrophe(s, around);
    size_t len = s->word.text.len;
    if (s->p < s->end && any_of(" \t\n|(", *s->p))
        interp__shell_unsure(s, "${ and a blank, which runs commands in some shells");
    while (!interp__shell_over(s) && *s->p != '}') {
        char c = *s->p;
        if (c == '\'' && is == QUOTE)
            single(s);
        else if ((c == '\'' && is == EITHER) || (c == '"' && around >= BODY))
            either(s);
        else if (c == '"') {
            s->p++;
            quoted(s);
        } else if (around == BARE && interp__shell_at(s, "$'")) {
            s->p += 2;
            ansi(s);
        } else if (c == '$' || c == '`')
            expansion(s, is == QUOTE && around != BARE ? SOME : around);
        else if (around == BARE && (interp__shell_at(s, "<(") || interp__shell_at(s, ">(")))
            substitution(s);
        else {
            interp__shell_step(s);
            if (c == '\\' && s->p < s->end)
                interp__shell_step(s);
        }
    }
    close_with(s, "${ without an end");
    s->word.text.len = len;
}

/* At $ or a backquote */
static void expansion(struct shell *s, enum around around)
{
    if (!deeper(s))
        return;
    int known = 0;
    if (*s->p == '`')
        backquotes(s, around);
    else {
        s->p++;
        if (interp__shell_at(s, "((")) {
            s->p += 2;
            interp__shell_arithmetic(s);
        } else if (interp__shell_at(s, "(")) {
            s->p++;
            interp__shell_inside(s, 1);
        } else if (interp__shell_at(s, "{")) {
            s->p++;
            braces(s, around);
        } else if (interp__shell_at(s, "["))
            interp__shell_unsure(s, "$[, which not each shell knows");
        else if (s->p < s->end && name_byte(*s->p) && !(*s->p >= '0' && *s->p <= '9'))
            while (s->p < s->end && name_byte(*s->p))
                s->p++;
        else if (s->p < s->end && any_of("@*#?$!-0123456789", *s->p))
            s->p++;
        else
            known = 1;   /* a plain dollar */
    }
    s->depth--;
    add(s, known ? '$' : 0);
}

static int ends_word(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '<' || c == '>';
}

/* What is alike in a word, an array, a pattern: one quoted text, expansion or character. */
static void part(struct shell *s)
{
    char c = *s->p;
    if (c == '\\') {
        s->p++;
        if (s->p >= s->end) {
            interp__shell_unsure(s, "a backslash at the end");
            return;
        }
        c = interp__shell_step(s);
        if (c != '\n') {   /* a line that goes on is no quoting */
            s->word.flags |= QUOTED;
            add(s, c);
        }
    } else if (c == '\'') {
        s->word.flags |= QUOTED;
        single(s);
    } else if (c == '"' || interp__shell_at(s, "$\"")) {
        s->word.flags |= QUOTED;
        s->p += c == '"' ? 1 : 2;
        quoted(s);
    } else if (interp__shell_at(s, "$'")) {
        s->word.flags |= QUOTED;
        s->p += 2;
        ansi(s);
    } else if (c == '$' || c == '`')
        expansion(s, BARE);
    else
        add(s, interp__shell_step(s));
}

static void pattern(struct shell *s, size_t from)
{
    s->word.flags |= PATTERN;
    if (from < s->word.pattern)
        s->word.pattern = from;
}
static void group(struct shell *s)   /* ( … ) of a pattern or a regular expression, at the bracket */
{
    if (!deeper(s))
        return;
    s->p++;
    while (!interp__shell_over(s) && *s->p != ')') {
        if (*s->p == '(')
            group(s);
        else if (ends_word(*s->p))
            add(s, interp__shell_step(s));
        else
            part(s);
    }
    close_with(s, "a pattern without an end");
    s->depth--;
}
static void array(struct shell *s)   /* a=( … ), at the bracket */
{
    struct word keep = s->word;
    if (!deeper(s))
        return;
    if (s->shells & POSIX)
        interp__shell_unsure(s, "an array, which not each shell knows");
    s->p++;
    interp__buf_init(&s->word.text, s->mem);
    while (!interp__shell_over(s) && *s->p != ')') {
        if (*s->p == '#')
            while (!interp__shell_over(s) && *s->p != '\n')
                s->p++;
        else if (*s->p == ' ' || *s->p == '\t' || *s->p == '\n')
            interp__shell_step(s);
        else if (ends_word(*s->p) && !interp__shell_at(s, "<(") && !interp__shell_at(s, ">("))
            interp__shell_unsure(s, "what stands in an array");
        else {
            interp__shell_word(s);
            interp__shell_path(s);
        }
    }
    close_with(s, "an array without an end");
    s->bad |= s->word.text.bad;
    interp__buf_free(&s->word.text);
    s->word = keep;
    s->depth--;
}

void interp__shell_word(struct shell *s)
{
    struct interp__buf *t = &s->word.text;
    size_t open = SIZE_MAX, brace = SIZE_MAX, set = SIZE_MAX;   /* open: from where on no comma or dot has been looked for behind an unquoted brace */
    int several = 0;
    const char *from = s->p;
    t->len = 0;
    s->word.flags = 0;
    s->word.pattern = SIZE_MAX;
    while (!interp__shell_over(s)) {
        char c = *s->p;
        if ((interp__shell_at(s, "<(") || interp__shell_at(s, ">(")) && s->p == from)
            substitution(s);
        else if (c == '(' && t->len && t->p[t->len - 1] == '=' && !(s->word.flags & QUOTED))
            array(s);
        else if (c == '(' && s->p > from && any_of("?*+@!", s->p[-1]) && !interp__shell_at(s, "()")) {   /* ?(a|b) */
            if (s->shells & POSIX)
                interp__shell_unsure(s, "a pattern that not each shell knows");
            pattern(s, t->len - 1);
            group(s);
        } else if (ends_word(c))
            break;
        else {
            size_t len = t->len;
            part(s);
            if (c == '*' || c == '?')
                pattern(s, len);
            else if (c == '[' && set == SIZE_MAX)
                set = len;
            else if (c == ']' && set != SIZE_MAX)
                pattern(s, set);
            else if (c == '{' && open == SIZE_MAX)
                open = brace = len;
            else if (c == '}' && open != SIZE_MAX) {   /* {a,b} */
                several |= memchr(t->p + open, ',', len - open) || memchr(t->p + open, '.', len - open);
                open = len;
                if (several)
                    pattern(s, brace);
            }
        }
        if (t->bad)
            s->bad = 1;
    }
    s->word.raw = from;
    s->word.n = (size_t)(s->p - from);
}

void interp__shell_conditional(struct shell *s)
{
    int open = 0;
    while (!interp__shell_over(s)) {
        char c = *s->p;
        if (c == ' ' || c == '\t' || c == '\n' || c == '|' || (c == '&' && interp__shell_at(s, "&&")) || ((c == '<' || c == '>') && !interp__shell_at(s, "<(") && !interp__shell_at(s, ">("))) {
            interp__shell_step(s);
            s->p += c == '&';
        } else if (c == '(' || c == ')') {
            open += c == '(' ? 1 : -1;
            s->p++;
            if (open < 0)
                interp__shell_unsure(s, "a bracket that closes nothing");
        } else if (c == '#' || c == ';' || c == '&') {
            interp__shell_unsure(s, "what stands in [[ ]]");
        } else {
            interp__shell_word(s);
            int plain = !(s->word.flags & (QUOTED | EXPANDS));
            interp__shell_path(s);
            if (plain && interp__shell_is(s, "]]"))
                return;
            if (plain && interp__shell_is(s, "=~")) {   /* a regular expression, up to a blank outside of its brackets */
                while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
                    s->p++;
                while (!interp__shell_over(s) && *s->p != ' ' && *s->p != '\t' && *s->p != '\n') {
                    if (*s->p == '(')
                        group(s);
                    else
                        part(s);
                }
            }
        }
    }
    if (s->p >= s->end)
        interp__shell_unsure(s, "[[ without an end");
}

int interp__shell_is(const struct shell *s, const char *w)
{
    return s->word.text.len == strlen(w) && !memcmp(s->word.text.p, w, s->word.text.len);
}

void interp__shell_path(struct shell *s)
{
    struct interp__buf *t = &s->word.text;
    size_t n = t->len;
    uint8_t keep = 0;
    if (!n)
        return;
    int cut = (s->word.flags & PATTERN) && s->word.pattern < n;
    if (cut) {   /* from there on it is known at run time */
        n = s->word.pattern + 1;
        keep = t->p[n - 1];
        t->p[n - 1] = 0;
    }
    const char *p = (const char *)t->p, *eq = memchr(p, '=', n);
    interp__shell_give(s, POLICY_PATH, p, n);
    if (eq && !s->result)   /* --file=/etc/passwd */
        interp__shell_give(s, POLICY_PATH, eq + 1, (size_t)(p + n - eq - 1));
    if (cut)
        t->p[n - 1] = keep;
}

/* ---- here-documents */

int interp__shell_heredoc(struct shell *s, int strip)
{
    struct heredoc h = { .strip = (uint8_t)strip };
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
        s->p++;
    const char *from = s->p;
    interp__shell_word(s);
    h.quoted = (s->word.flags & QUOTED) != 0;
    if (s->nheredocs >= HEREDOCS || s->word.text.len >= sizeof h.end || s->p == from || memchr(from, '$', (size_t)(s->p - from)) || memchr(from, '`', (size_t)(s->p - from)) || memchr(from, '\n', (size_t)(s->p - from))) {
        interp__shell_unsure(s, "the end of a here-document");
        return -1;
    }
    h.n = s->word.text.len;
    if (h.n)
        memcpy(h.end, s->word.text.p, h.n);
    s->heredocs[s->nheredocs] = h;
    return (int)s->nheredocs++;
}

/* To the line that is the delimiter, past it: where the body ends. A line that goes on with a backslash is no delimiter alone; shells differ on whether both together may be one. */
static const char *delimiter(struct shell *s, const struct heredoc *h)
{
    size_t so_far = 0;   /* bytes of the delimiter that the lines before are, which go on */
    int goes_on = 0, same = 1;
    while (!interp__shell_over(s)) {
        const char *text = s->p, *from = s->p, *nl = memchr(s->p, '\n', (size_t)(s->end - s->p)), *to = nl ? nl : s->end;
        while (h->strip && text < to && *text == '\t')
            text++;
        size_t n = (size_t)(to - text), slashes = 0;
        while (!h->quoted && nl && slashes < n && to[-1 - (ptrdiff_t)slashes] == '\\')
            slashes++;
        int more = slashes % 2;
        n -= (size_t)more;
        same = same && n <= h->n - so_far && !memcmp(text, h->end + so_far, n);
        so_far += same ? n : 0;
        s->p = nl ? nl + 1 : s->end;
        s->line += nl != NULL;
        if (!more && same && so_far == h->n) {
            if (goes_on)
                interp__shell_unsure(s, "the end of a here-document");
            return from;
        }
        goes_on = more;
        if (!more)
            so_far = 0, same = 1;
    }
    interp__shell_unsure(s, "a here-document without an end");
    return s->end;
}
static void body(struct shell *s)   /* up to the end: what is substituted in it runs */
{
    while (!interp__shell_over(s)) {
        if (*s->p == '\\' && s->p + 1 < s->end && any_of("$`\\\n", s->p[1])) {
            s->p++;
            char c = interp__shell_step(s);
            if (c != '\n')
                add(s, c);
        } else if (*s->p == '$' || *s->p == '`')
            expansion(s, BODY);
        else
            add(s, interp__shell_step(s));
    }
}
void interp__shell_heredoc_bodies(struct shell *s)
{
    unsigned n = s->nheredocs;
    s->nheredocs = s->heredocs_of;
    for (unsigned i = s->heredocs_of; i < n && !s->unsure && !s->result; i++) {
        struct heredoc h = s->heredocs[i];
        const char *from = s->p, *whole = s->end;
        uint32_t line = s->line, after_line;
        const char *end = delimiter(s, &h), *after = s->p;
        if (s->unsure || s->result)
            return;
        after_line = s->line;
        s->line = line;
        struct word keep = s->word;
        interp__buf_init(&s->word.text, s->mem);
        s->word.flags = 0;
        if (!h.quoted) {
            s->p = from;
            s->end = end;
            body(s);
            s->end = whole;
            s->line = line;
        } else if (h.code)
            interp__buf_add(&s->word.text, from, (size_t)(end - from));
        s->bad |= s->word.text.bad;
        if (h.code && s->word.flags & EXPANDS)
            interp__shell_give(s, POLICY_DYNAMIC_COMMAND, "sh", 2);
        if (h.code && !s->bad && !s->unsure && s->word.text.len)
            interp__shell_nested(s, s->word.text.p, s->word.text.len, h.code, 0);
        interp__buf_free(&s->word.text);
        s->word = keep;
        s->p = s->result ? whole : after;
        s->line = after_line;
    }
}
