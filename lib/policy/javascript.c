/* javascript.c - what JavaScript and TypeScript code loads, and which paths its strings name */
#include "scanner.h"
#include <stdio.h>
#include <string.h>

enum { NESTING = 512 };
enum type { END, NAME, STRING, TEMPLATE, NUMBER, REGEX, PUNCT };   /* TEMPLATE: one without substitutions is a STRING */
struct lexer {
    const char *p, *end, *begin;
    uint32_t line, at;
    char nest[NESTING];                /* what is open: ( p: of if, while, for, with; [ { o: an object; b: a block; ` a substitution of a template */
    unsigned depth;
    int unsure;                        /* too deep, or a comment of the oldest kind */
    enum type type;
    char c;
    int value;                         /* the last token ends a value: a slash divides */
    int control;                       /* the last token was if, while, for, with */
    int block_next;                    /* a { now begins a block */
    unsigned templates, level;         /* open substitutions; level: how many of them the token is in; for a TEMPLATE, its text is */
    int begins, hole;                  /* of a TEMPLATE: it is the first part, a substitution follows */
    int in_template, line_start, dot;  /* dot: the last token is one: what follows is a property, whatever its name */
    struct interp__buf text;
};

static int name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}
/* Bytes of a line terminator at p: \n, \r, U+2028, U+2029 */
static int terminator(const struct lexer *l)
{
    if (*l->p == '\n' || *l->p == '\r')
        return 1;
    return l->end - l->p >= 3 && !memcmp(l->p, "\xE2\x80", 2) && ((unsigned char)l->p[2] == 0xA8 || (unsigned char)l->p[2] == 0xA9) ? 3 : 0;
}
static void pass_line(struct lexer *l, int n)
{
    if (*l->p == '\r' && l->p + 1 < l->end && l->p[1] == '\n')
        n = 2;
    l->p += n;
    l->line++;
    l->line_start = 1;
}
static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* After a backslash: \xHH, \uHHHH, \u{...}, \n ... What is not ASCII becomes one byte that no rule knows. */
static void escape(struct lexer *l)
{
    static const char from[] = "bfnrtv", to[] = "\b\f\n\r\t\v";
    int n = terminator(l);
    if (n) {
        pass_line(l, n);
        return;
    }
    char c = *l->p++;
    const char *simple = strchr(from, c);
    if (c == 'x' || c == 'u') {
        uint32_t v = 0;
        int digits = 0, braces = c == 'u' && l->p < l->end && *l->p == '{', most = braces ? 8 : c == 'x' ? 2 : 4;
        l->p += braces;
        for (; digits < most && l->p < l->end && hex_digit(*l->p) >= 0; digits++, l->p++)
            v = v << 4 | (uint32_t)hex_digit(*l->p);
        if (braces && l->p < l->end && *l->p == '}')
            l->p++;
        c = digits && v < 0x80 ? (char)v : (char)0x80;
    } else if (c >= '0' && c <= '7') {   /* octal, of sloppy code */
        int v = c - '0';
        for (int k = 0; k < 2 && l->p < l->end && *l->p >= '0' && *l->p <= '7' && v * 8 + *l->p - '0' < 256; k++)
            v = v * 8 + *l->p++ - '0';
        c = (char)v;
    } else if (c && simple)
        c = to[simple - from];
    interp__buf_add(&l->text, &c, 1);
}

static void string(struct lexer *l)
{
    char quote = *l->p++;
    l->type = STRING;
    l->value = 1;
    while (l->p < l->end && *l->p != quote) {
        if (*l->p == '\\' && l->p + 1 < l->end) {
            l->p++;
            escape(l);
        } else if (*l->p == '\n' || *l->p == '\r')
            return;   /* no JavaScript: it does not run */
        else
            interp__buf_add(&l->text, l->p++, 1);
    }
    if (l->p < l->end)
        l->p++;
}
static void push(struct lexer *l, char c)
{
    if (l->depth >= NESTING || (c == '`' && l->templates >= LITERAL_LEVELS - 1))
        l->unsure = 1;
    else {
        l->nest[l->depth++] = c;
        l->templates += c == '`';
    }
}
/* A template's text: to its end, or to a substitution */
static void template(struct lexer *l, int first)
{
    l->type = first ? STRING : TEMPLATE;
    l->level = l->templates;
    l->begins = first;
    l->hole = 0;
    l->in_template = 0;
    l->value = 1;
    while (l->p < l->end && *l->p != '`') {
        int n = terminator(l);
        if (*l->p == '\\' && l->p + 1 < l->end) {
            l->p++;
            escape(l);
        } else if (*l->p == '$' && l->p + 1 < l->end && l->p[1] == '{') {
            l->p += 2;
            push(l, '`');
            l->type = TEMPLATE;
            l->hole = 1;
            l->value = 0;
            return;
        } else if (n)
            pass_line(l, n);
        else
            interp__buf_add(&l->text, l->p++, 1);
    }
    if (l->p < l->end)
        l->p++;
    else if (!first)
        l->type = END;   /* it has no end */
}
static void regex(struct lexer *l)
{
    int set = 0;
    l->type = REGEX;
    l->value = 1;
    for (l->p++; l->p < l->end && !terminator(l); l->p++) {
        if (*l->p == '\\' && l->p + 1 < l->end) {
            l->p++;
            if (terminator(l))
                return;
        } else if (*l->p == '[')
            set = 1;
        else if (*l->p == ']')
            set = 0;
        else if (*l->p == '/' && !set) {
            l->p++;
            while (l->p < l->end && name_byte(*l->p))
                l->p++;
            return;
        }
    }
}

static int word(const struct lexer *l, const char *w)
{
    return l->type == NAME && l->text.len == strlen(w) && !memcmp(l->text.p, w, l->text.len);
}

static void name(struct lexer *l)
{
    /* after these comes an operand, so that a slash begins a regular expression */
    static const char *const before[] = { "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "instanceof", "else", "do", "yield", "await", "default", "extends" };
    static const char *const controls[] = { "if", "while", "for", "with" };
    int digit = *l->p >= '0' && *l->p <= '9';
    while (l->p < l->end && (name_byte(*l->p) || *l->p == '\\') && !terminator(l)) {
        if (*l->p == '\\') {
            l->p++;
            if (l->p < l->end && *l->p == 'u')
                escape(l);
        } else
            interp__buf_add(&l->text, l->p++, 1);
    }
    l->type = digit ? NUMBER : NAME;
    l->value = 1;
    l->control = l->block_next = 0;
    if (l->dot) {
        l->dot = 0;
        return;
    }
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (word(l, before[i]))
            l->value = 0;
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        l->control |= word(l, controls[i]);
    if (l->control)
        l->value = 0;
    l->block_next = word(l, "else") || word(l, "do") || word(l, "try") || word(l, "finally");
}

static void blanks(struct lexer *l)
{
    while (l->p < l->end) {
        int n = terminator(l);
        size_t left = (size_t)(l->end - l->p);
        if (n)
            pass_line(l, n);
        else if (*l->p == ' ' || *l->p == '\t' || *l->p == '\v' || *l->p == '\f')
            l->p++;
        else if (left >= 2 && !memcmp(l->p, "\xC2\xA0", 2))
            l->p += 2;
        else if (left >= 3 && !memcmp(l->p, "\xEF\xBB\xBF", 3))
            l->p += 3;
        else if (left >= 2 && l->p[0] == '/' && l->p[1] == '/') {
            while (l->p < l->end && !terminator(l))
                l->p++;
        } else if (left >= 2 && l->p[0] == '/' && l->p[1] == '*') {
            for (l->p += 2; l->p < l->end && !(l->p + 1 < l->end && l->p[0] == '*' && l->p[1] == '/');) {
                n = terminator(l);
                if (n)
                    pass_line(l, n);
                else
                    l->p++;
            }
            l->p = l->end - l->p >= 2 ? l->p + 2 : l->end;
        } else {
            /* the comments of old pages: in some kinds of code they are, in others they are operators */
            if ((left >= 4 && !memcmp(l->p, "<!--", 4)) || (l->line_start && left >= 3 && !memcmp(l->p, "-->", 3)))
                l->unsure = 2;
            return;
        }
    }
}

static void next(struct lexer *l)
{
    l->text.len = 0;
    if (l->in_template) {
        l->at = l->line;
        template(l, 0);
        return;
    }
    blanks(l);
    l->at = l->line;
    l->level = l->templates;
    if (l->p >= l->end || l->unsure) {
        l->type = END;
        return;
    }
    l->line_start = 0;
    char c = *l->p;
    if (name_byte(c) || (c == '\\' && l->p + 1 < l->end && l->p[1] == 'u')) {
        name(l);
        return;
    }
    l->dot = 0;
    if (c == '"' || c == '\'') {
        string(l);
        return;
    }
    if (c == '`') {
        l->p++;
        template(l, 1);
        return;
    }
    if (c == '/' && !l->value) {
        regex(l);
        return;
    }
    l->p++;
    l->type = PUNCT;
    l->c = c;
    int value = 0, block = 0;
    switch (c) {
    case '(':
        push(l, l->control ? 'p' : '(');
        break;
    case '[':
        push(l, '[');
        break;
    case '{':
        /* after a value (a name of a class, the end of a parameter list) or a statement's end: a block; else an object */
        push(l, l->block_next || l->value ? 'b' : 'o');
        break;
    case ')': case ']': case '}': {
        char open = l->depth ? l->nest[--l->depth] : 0;
        if (c == '}' && open == '`') {
            l->templates--;
            l->in_template = 1;
            return;
        }
        value = c == ']' || (c == ')' && open != 'p') || (c == '}' && open == 'o');
        block = (c == ')' && open == 'p') || (c == '}' && open != 'o');
        break;
    }
    case ';':
        block = 1;
        break;
    case ':':
        block = l->depth && l->nest[l->depth - 1] == 'b';   /* a label, a case */
        break;
    case '>':
        block = l->p - l->begin >= 2 && l->p[-2] == '=';   /* an arrow */
        break;
    case '+': case '-':
        if (l->p < l->end && *l->p == c) {   /* ++ and --: a value stays one */
            l->p++;
            value = l->value;
        }
        break;
    default:
        break;
    }
    l->value = value;
    l->block_next = block || (c == '{' && l->depth && l->nest[l->depth - 1] == 'b');
    l->control = 0;
    l->dot = c == '.';
}

struct scan {
    struct scanner common;
    struct lexer l;
    char called[LITERAL_LEVELS][24];   /* what a text is given to */
    enum use next;                     /* what a text that begins now is for */
    unsigned maker, any;               /* behind these brackets comes the call of what createRequire makes; in these, the arguments of require.call */
    char last[64], target[64];         /* the last name; the one that is being given a value */
    size_t last_len, target_len;
};
enum { USE_MAKER = USE_PERHAPS_MODULE + 1 };   /* of a name: it makes a require */

static void give(struct scan *s, enum policy_kind kind, const void *p, size_t n, uint32_t line)
{
    interp__scanner_give(&s->common, kind, p, n, line);
}
static int punct(const struct lexer *l, char c)
{
    return l->type == PUNCT && l->c == c;
}
static int is_text(const struct lexer *l)
{
    return l->type == STRING || (l->type == TEMPLATE && l->begins);
}
static void remember(char *to, size_t *to_len, const void *p, size_t n)
{
    *to_len = n < 64 ? n : 0;
    memcpy(to, p, *to_len);
}

static enum use use_of(const struct scan *s)
{
    static const char *const loaders[] = { "require", "getBuiltinModule" }, *const runners[] = { "eval", "Function" };
    for (size_t i = 0; i < 2; i++)
        if (word(&s->l, loaders[i]))
            return USE_MODULE;
    for (size_t i = 0; i < 2; i++)
        if (word(&s->l, runners[i]))
            return USE_CODE;
    return word(&s->l, "createRequire") ? (enum use)USE_MAKER : s->l.type == NAME ? interp__alias_find(s->common.aliases, s->l.text.p, s->l.text.len) : USE_NONE;
}

/* Behind a name for what loads or runs: its call begins, or it is given another name. */
static void called(struct scan *s, enum use use, const char *name, uint32_t line)
{
    if (punct(&s->l, '?'))   /* ?.( */
        while (punct(&s->l, '?') || punct(&s->l, '.'))
            next(&s->l);
    while ((use == USE_MODULE || use == (enum use)USE_MAKER) && (punct(&s->l, ')') || punct(&s->l, ']')))   /* (0, require)( */
        next(&s->l);
    if (punct(&s->l, '.') && use == USE_MODULE) {   /* require.call(x, …); the others load nothing */
        next(&s->l);
        if (!word(&s->l, "call") && !word(&s->l, "apply") && !word(&s->l, "bind"))
            return;
        give(s, POLICY_DYNAMIC, name, strlen(name), line);
        next(&s->l);
        if (punct(&s->l, '('))
            s->any = s->maker = s->l.depth;
    } else if (!punct(&s->l, '(')) {
        if ((use == USE_MODULE || use == (enum use)USE_MAKER) && !punct(&s->l, ':'))
            give(s, POLICY_DYNAMIC, name, strlen(name), line);
        interp__alias_add(s->common.aliases, s->target, s->target_len, use);
        if (punct(&s->l, ':') || word(&s->l, "as")) {   /* {require: r}, {createRequire as r} */
            next(&s->l);
            if (s->l.type == NAME)
                interp__alias_add(s->common.aliases, (const char *)s->l.text.p, s->l.text.len, use);
        }
    } else if (use == (enum use)USE_MAKER) {
        give(s, POLICY_DYNAMIC, name, strlen(name), line);
        interp__alias_add(s->common.aliases, s->target, s->target_len, USE_MODULE);
        s->maker = s->l.depth;
        next(&s->l);
    } else {
        if (use == USE_CODE)
            give(s, POLICY_DYNAMIC, name, strlen(name), line);
        next(&s->l);
        if (!is_text(&s->l)) {
            if (use == USE_MODULE)
                give(s, POLICY_DYNAMIC, name, strlen(name), line);
            return;
        }
        snprintf(s->called[s->l.level], sizeof s->called[0], "%s", name);
        s->next = use;
    }
}

/* A text is whole; the token behind it is at the lexer. */
static void text(struct scan *s, unsigned level)
{
    static const char *const makers[] = { "require", "getBuiltinModule", "createRequire", "binding", "_linkedBinding", "dlopen", "mainModule", "_load" };
    const struct literal t = s->common.literals.at[level];
    const char *name = s->called[level];
    size_t n;
    const char *p = interp__literal_end(&s->common.literals, level, s->l.type == PUNCT ? s->l.c : 0, &n);
    give(s, POLICY_PATH, p, n, t.line);
    if (t.use == USE_CODE && n && !s->common.result)
        interp__scanner_inside(&s->common, p, n, t.line);
    else if ((t.use == USE_MODULE && !punct(&s->l, ')') && !punct(&s->l, ',')) || (t.use == USE_MODULE && (n > POLICY_NAME_MAX || memchr(p, 0, n))))
        give(s, POLICY_DYNAMIC, name, strlen(name), t.line);
    else if ((t.use == USE_MODULE || t.use == USE_PERHAPS_MODULE) && n <= POLICY_NAME_MAX)
        give(s, POLICY_IMPORT, p, n, t.line);
    for (size_t i = 0; i < sizeof makers / sizeof *makers && !t.use; i++)   /* module["require"] */
        if (i != 3 && n == strlen(makers[i]) && !memcmp(p, makers[i], n)) {
            give(s, POLICY_DYNAMIC, p, n, t.line);
            if (punct(&s->l, ']'))
                called(s, i < 2 ? USE_MODULE : i == 2 ? (enum use)USE_MAKER : USE_NONE, makers[i], t.line);
        }
}

static void one_name(struct scan *s, int was_dot, int was_typeof)
{
    uint32_t at = s->l.at;
    enum use use = use_of(s);
    char name[24];
    size_t n = s->l.text.len < sizeof name - 1 ? s->l.text.len : sizeof name - 1;
    memcpy(name, s->l.text.p, n);
    name[n] = 0;
    if (word(&s->l, "import") && !was_dot) {
        next(&s->l);
        if (s->l.type == STRING)
            give(s, POLICY_IMPORT, s->l.text.p, s->l.text.len, at);
        else if (punct(&s->l, '('))
            called(s, USE_MODULE, "import", at);
    } else if (word(&s->l, "from")) {
        next(&s->l);
        if (s->l.type == STRING)
            give(s, POLICY_IMPORT, s->l.text.p, s->l.text.len, at);
    } else if (use && !was_typeof) {
        next(&s->l);
        called(s, use, name, at);
    } else {
        if (word(&s->l, "mainModule") || (was_dot && (word(&s->l, "binding") || word(&s->l, "_linkedBinding") || word(&s->l, "dlopen") || word(&s->l, "_load"))))
            give(s, POLICY_DYNAMIC, s->l.text.p, s->l.text.len, at);
        next(&s->l);
    }
}

static int scan(struct scanner *common, const char *p, size_t n, uint32_t line)
{
    struct scan *s = (struct scan *)common;
    struct lexer *l = &s->l;
    int dot = 0, type_of = 0, value = 0;
    l->p = l->begin = p;
    l->end = p + n;
    l->line = line;
    l->line_start = l->block_next = 1;
    interp__buf_init(&s->l.text, common->mem);
    if (n >= 2 && p[0] == '#' && p[1] == '!')
        while (l->p < l->end && !terminator(l))
            l->p++;
    next(l);
    while (l->type != END && !s->common.result && !s->common.bad && !l->text.bad) {
        unsigned level = l->level;
        struct literal *t = &s->common.literals.at[level];
        if (is_text(l) || l->type == TEMPLATE) {
            for (unsigned k = LITERAL_LEVELS - 1; k > level; k--)
                if (s->common.literals.at[k].open)
                    text(s, k);
            if (is_text(l) || !t->open)
                interp__literal_begin(&s->common.literals, level, l->at, s->next ? s->next : s->any ? USE_PERHAPS_MODULE : USE_NONE);
            s->next = USE_NONE;
            interp__literal_add(&s->common.literals, l->text.p, l->text.len);
            if (l->type == TEMPLATE && l->hole)
                interp__literal_add(&s->common.literals, "", 1);
            dot = type_of = 0;
            value = 1;
            next(l);
            continue;
        }
        if (t->open) {
            if (t->open == 1 && punct(l, '+')) {
                t->open = 2;
                next(l);
            } else
                text(s, level);
            continue;
        }
        int was_dot = dot, was_typeof = type_of, ended = value;
        value = l->value;
        dot = punct(l, '.');
        type_of = word(l, "typeof");
        if (l->type == NAME) {
            if (l->at != line && ended)   /* another statement */
                s->target_len = 0;
            remember(s->last, &s->last_len, l->text.p, l->text.len);
            line = l->at;
            one_name(s, was_dot, was_typeof);
            continue;
        }
        if (punct(l, '=') && l->p < l->end && *l->p != '=' && *l->p != '>')
            remember(s->target, &s->target_len, s->last, s->last_len);
        else if (punct(l, ';'))
            s->target_len = 0;
        line = l->at;
        int made = s->maker && punct(l, ')') && l->depth < s->maker;
        if (s->any && l->depth < s->any)
            s->any = 0;
        next(l);
        if (made) {
            s->maker = 0;
            if (punct(l, '('))
                called(s, USE_MODULE, "createRequire", l->at);
        }
    }
    for (unsigned k = LITERAL_LEVELS; k-- > 0;)
        if (s->common.literals.at[k].open)
            text(s, k);
    return interp__scanner_end(common, &l->text, l->unsure == 1 ? "very deep nesting" : l->unsure ? "<!-- or -->" : NULL, l->line);
}

int interp__scan_javascript(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata)
{
    static const struct scanner_kind kind = { sizeof(struct scan), scan };
    return interp__scanner_run(&kind, m, p, n, line, take, userdata);
}
