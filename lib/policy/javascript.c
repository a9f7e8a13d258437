/* javascript.c - what JavaScript and TypeScript code loads, and which paths its strings name */
#include "base/buf.h"
#include "scan.h"
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
    if (l->depth >= NESTING)
        l->unsure = 1;
    else
        l->nest[l->depth++] = c;
}
/* A template's text: to its end, or to a substitution */
static void template(struct lexer *l, int first)
{
    l->type = first ? STRING : TEMPLATE;
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

struct scan { struct lexer l; policy_take *take; void *userdata; int result; };

static void give(struct scan *s, enum policy_kind kind, const void *p, size_t n, uint32_t line)
{
    if (!s->result)
        s->result = s->take(s->userdata, kind, p, n, line);
}
static int punct(const struct lexer *l, char c)
{
    return l->type == PUNCT && l->c == c;
}

/* require(…), import(…): what it loads when that is a plain text, else made at run time. At the token after the name. */
static void loader(struct scan *s, const char *called, uint32_t line)
{
    char module[POLICY_NAME_MAX];
    size_t n;
    if (!punct(&s->l, '(')) {
        give(s, POLICY_DYNAMIC, called, strlen(called), line);
        return;
    }
    next(&s->l);
    if (s->l.type != STRING || s->l.text.len > sizeof module) {
        give(s, POLICY_DYNAMIC, called, strlen(called), line);
        return;
    }
    n = s->l.text.len;
    memcpy(module, s->l.text.p, n);
    next(&s->l);
    if (punct(&s->l, ')') || punct(&s->l, ','))
        give(s, POLICY_IMPORT, module, n, line);
    else
        give(s, POLICY_DYNAMIC, called, strlen(called), line);
}

int interp__scan_javascript(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata)
{
    static const char *const makers[] = { "require", "getBuiltinModule", "createRequire", "eval", "Function", "binding", "_linkedBinding", "dlopen", "mainModule", "_load" };
    struct scan s;
    memset(&s, 0, sizeof s);
    s.l.p = s.l.begin = p;
    s.l.end = p + n;
    s.l.line = line;
    s.l.line_start = s.l.block_next = 1;
    s.take = take;
    s.userdata = userdata;
    interp__buf_init(&s.l.text, m);
    if (n >= 2 && p[0] == '#' && p[1] == '!')
        while (s.l.p < s.l.end && !terminator(&s.l))
            s.l.p++;
    int dot = 0, type_of = 0;
    next(&s.l);
    while (s.l.type != END && !s.result && !s.l.text.bad) {
        int was_dot = dot, was_typeof = type_of;
        uint32_t at = s.l.at;
        dot = punct(&s.l, '.');
        type_of = word(&s.l, "typeof");
        if (s.l.type == STRING || s.l.type == TEMPLATE) {
            for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)   /* module["require"] */
                if (i != 3 && i != 5 && s.l.text.len == strlen(makers[i]) && !memcmp(s.l.text.p, makers[i], s.l.text.len))
                    give(&s, POLICY_DYNAMIC, makers[i], s.l.text.len, at);
            give(&s, POLICY_PATH, s.l.text.p, s.l.text.len, at);
            next(&s.l);
        } else if (word(&s.l, "import") && !was_dot) {
            next(&s.l);
            if (s.l.type == STRING)
                give(&s, POLICY_IMPORT, s.l.text.p, s.l.text.len, at);
            else if (punct(&s.l, '('))
                loader(&s, "import", at);
        } else if (word(&s.l, "from")) {
            next(&s.l);
            if (s.l.type == STRING)
                give(&s, POLICY_IMPORT, s.l.text.p, s.l.text.len, at);
        } else if (word(&s.l, "require") || word(&s.l, "getBuiltinModule")) {
            const char *called = s.l.text.p[0] == 'r' ? "require" : "getBuiltinModule";
            next(&s.l);
            if (!(punct(&s.l, '.') || punct(&s.l, ':')) && !was_typeof)
                loader(&s, called, at);
        } else if (word(&s.l, "createRequire") || word(&s.l, "mainModule") || (was_dot && (word(&s.l, "binding") || word(&s.l, "_linkedBinding") || word(&s.l, "dlopen") || word(&s.l, "_load")))) {
            give(&s, POLICY_DYNAMIC, s.l.text.p, s.l.text.len, at);
            next(&s.l);
        } else if (word(&s.l, "eval") || word(&s.l, "Function")) {
            const char *called = s.l.text.p[0] == 'e' ? "eval" : "Function";
            next(&s.l);
            if (punct(&s.l, '('))
                give(&s, POLICY_DYNAMIC, called, strlen(called), at);
        } else
            next(&s.l);
    }
    if (s.l.unsure == 1)
        give(&s, POLICY_UNSURE, "very deep nesting", 17, s.l.line);
    else if (s.l.unsure)
        give(&s, POLICY_UNSURE, "<!-- or -->", 11, s.l.line);
    int bad = s.l.text.bad;
    interp__buf_free(&s.l.text);
    return bad ? -1 : s.result;
}
