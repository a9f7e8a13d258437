/* python.c - what Python code imports and which paths its strings name */
#include "base/buf.h"
#include "scan.h"
#include <string.h>

enum { FRAMES = 32 };
enum type { END, NEWLINE, NAME, STRING, FSTRING, OTHER };
struct frame { char quote; uint8_t triple, raw, spec; uint32_t brackets; };   /* an f-string around what is read; spec: in a format specification */
struct lexer {
    const char *p, *end;
    uint32_t line, at;                 /* at: of the token */
    struct frame frames[FRAMES];
    unsigned depth;
    int in_text, unsure;               /* in_text: inside the text of the innermost f-string */
    enum type type;
    char c;                            /* OTHER */
    struct interp__buf text;           /* NAME, STRING */
    int obscure;                       /* a NAME with letters that Python may read as others */
};

static void newline(struct lexer *l)   /* \n, \r\n, \r alone: all of them end a line */
{
    if (*l->p == '\r' && l->p + 1 < l->end && l->p[1] == '\n')
        l->p++;
    l->p++;
    l->line++;
}
static int is_newline(char c)
{
    return c == '\n' || c == '\r';
}
static int name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

/* Identifiers are compared after NFKC: the full-width and mathematical letters are plain ones to Python. The rest of what NFKC folds makes a name obscure. */
static void name(struct lexer *l)
{
    l->obscure = 0;
    while (l->p < l->end && name_byte(*l->p)) {
        unsigned char c = (unsigned char)*l->p;
        if (c < 0x80) {
            interp__buf_add(&l->text, l->p++, 1);
            continue;
        }
        uint32_t cp = 0;
        int n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
        char plain = 0;
        if (l->end - l->p >= n) {
            cp = c & (0xFFu >> (n + 1));
            for (int i = 1; i < n; i++)
                cp = cp << 6 | ((unsigned char)l->p[i] & 0x3Fu);
        } else
            n = 1;
        if (cp >= 0xFF01 && cp <= 0xFF5E)
            plain = (char)(cp - 0xFEE0);
        else if (cp >= 0x1D400 && cp <= 0x1D6A3)
            plain = (char)((cp - 0x1D400) % 52 < 26 ? 'A' + (cp - 0x1D400) % 52 : 'a' + (cp - 0x1D400) % 52 - 26);
        if (plain)
            interp__buf_add(&l->text, &plain, 1);
        else {
            interp__buf_add(&l->text, l->p, (size_t)n);
            l->obscure = 1;
        }
        l->p += n;
    }
    l->type = NAME;
}

static int closes(const struct lexer *l, const char *p, char quote, int triple)
{
    return *p == quote && (!triple || (l->end - p >= 3 && p[1] == quote && p[2] == quote));
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
static void escape(struct lexer *l)   /* after the backslash */
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    char c = *l->p;
    const char *simple = strchr(from, c);
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (is_newline(c)) {
        newline(l);
        return;
    }
    if (c && simple)
        c = to[simple - from];
    else if (digits) {
        uint32_t v = 0;
        int k = 0;
        for (; k < digits && l->p + 1 < l->end && hex_digit(l->p[1]) >= 0; k++, l->p++)
            v = v << 4 | (uint32_t)hex_digit(l->p[1]);
        c = k == digits && v < 0x80 ? (char)v : (char)0x80;   /* not ASCII: no name that rules know */
    } else if (c >= '0' && c <= '7') {
        int v = c - '0';
        for (int k = 0; k < 2 && l->p + 1 < l->end && l->p[1] >= '0' && l->p[1] <= '7'; k++)
            v = v * 8 + *++l->p - '0';
        c = (char)v;
    } else if (c == 'N')
        c = (char)0x80;
    else if (c != '\\' && c != '\'' && c != '"')
        interp__buf_add(&l->text, "\\", 1);
    interp__buf_add(&l->text, &c, 1);
    l->p++;
}

static void string(struct lexer *l, int raw)
{
    char quote = *l->p;
    int triple = closes(l, l->p, quote, 1);
    l->p += triple ? 3 : 1;
    l->type = STRING;
    while (l->p < l->end) {
        if (closes(l, l->p, quote, triple)) {
            l->p += triple ? 3 : 1;
            return;
        }
        if (*l->p == '\\' && l->p + 1 < l->end) {
            l->p++;
            if (raw) {
                interp__buf_add(&l->text, "\\", 1);
                if (is_newline(*l->p))
                    newline(l);
                else
                    interp__buf_add(&l->text, l->p++, 1);
            } else
                escape(l);
        } else if (is_newline(*l->p)) {
            if (!triple)
                return;   /* no Python: it does not run; what follows is looked at all the same */
            interp__buf_add(&l->text, "\n", 1);
            newline(l);
        } else
            interp__buf_add(&l->text, l->p++, 1);
    }
}

/* Inside an f-string's text, up to an expression or its end. */
static void fstring_text(struct lexer *l)
{
    struct frame *f = &l->frames[l->depth - 1];
    l->type = OTHER;
    l->c = 'f';
    while (l->p < l->end) {
        if (*l->p == '{' && !f->spec && l->p + 1 < l->end && l->p[1] == '{') {
            l->p += 2;
        } else if (*l->p == '{') {
            l->p++;
            l->in_text = 0;
            if (f->spec) {   /* an expression inside a specification is read as one of its own */
                if (l->depth >= FRAMES) {
                    l->unsure = 1;
                    l->p = l->end;
                    return;
                }
                l->frames[l->depth] = *f;
                l->frames[l->depth].spec = 0;
                l->frames[l->depth++].brackets = 0;
            } else
                f->brackets = 0;
            l->c = '{';
            return;
        } else if (*l->p == '}' && f->spec) {   /* the end of the expression that this specification is of */
            l->p++;
            f->spec = 0;
        } else if (closes(l, l->p, f->quote, f->triple)) {
            l->p += f->triple ? 3 : 1;
            l->depth--;
            l->in_text = 0;
            return;
        } else if (*l->p == '\\' && !f->raw && l->p + 1 < l->end) {
            l->p++;
            if (is_newline(*l->p))
                newline(l);
            else if (*l->p != '{' && *l->p != '}')   /* those keep their meaning */
                l->p++;
        } else if (is_newline(*l->p)) {
            if (!f->triple) {
                l->depth--;
                l->in_text = 0;
                return;
            }
            newline(l);
        } else
            l->p++;
    }
    l->type = END;   /* it has no end */
}

static void next(struct lexer *l)
{
    l->text.len = 0;
    l->obscure = 0;
    if (l->depth && l->in_text) {
        l->at = l->line;
        fstring_text(l);
        return;
    }
    for (; l->p < l->end; ) {
        if (*l->p == ' ' || *l->p == '\t' || *l->p == '\f')
            l->p++;
        else if (*l->p == '\\' && l->p + 1 < l->end && is_newline(l->p[1])) {
            l->p++;
            newline(l);
        } else if (*l->p == '#') {
            while (l->p < l->end && !is_newline(*l->p))
                l->p++;
        } else
            break;
    }
    l->at = l->line;
    if (l->p >= l->end) {
        l->type = END;
        return;
    }
    char c = *l->p;
    if (is_newline(c)) {
        newline(l);
        l->type = NEWLINE;
        return;
    }
    if (c == '"' || c == '\'') {
        string(l, 0);
        return;
    }
    if (name_byte(c)) {
        name(l);
        if (l->p < l->end && (*l->p == '"' || *l->p == '\'') && l->text.len <= 2) {   /* a prefix of a string */
            int raw = 0, form = 0, known = 1;
            for (size_t i = 0; i < l->text.len; i++) {
                char k = (char)(l->text.p[i] | 0x20);
                raw |= k == 'r';
                form |= k == 'f' || k == 't';
                known &= strchr("rbuft", k) != NULL;
            }
            if (known) {
                l->text.len = 0;
                if (!form) {
                    string(l, raw);
                    return;
                }
                if (l->depth >= FRAMES) {
                    l->unsure = 1;
                    l->type = END;
                    return;
                }
                struct frame *f = &l->frames[l->depth++];
                memset(f, 0, sizeof *f);
                f->quote = *l->p;
                f->triple = (uint8_t)closes(l, l->p, f->quote, 1);
                f->raw = (uint8_t)raw;
                l->p += f->triple ? 3 : 1;
                l->in_text = 1;
                l->type = FSTRING;
                return;
            }
        }
        return;
    }
    l->p++;
    l->type = OTHER;
    l->c = c;
    if (!l->depth)
        return;
    struct frame *f = &l->frames[l->depth - 1];
    if (c == '(' || c == '[' || c == '{')
        f->brackets++;
    else if ((c == ')' || c == ']' || c == '}') && f->brackets)
        f->brackets--;
    else if (c == '}') {   /* the expression ends: the text goes on, of this string or of the specification around it */
        if (l->depth >= 2 && l->frames[l->depth - 2].spec && l->frames[l->depth - 2].quote == f->quote && l->frames[l->depth - 2].triple == f->triple)
            l->depth--;
        l->in_text = 1;
    } else if (c == ':' && !f->brackets) {
        f->spec = 1;
        l->in_text = 1;
    }
}

struct scan { struct lexer l; policy_take *take; void *userdata; int result; char name[POLICY_NAME_MAX]; size_t len; int obscure; };

static void give(struct scan *s, enum policy_kind kind, const char *p, size_t n, uint32_t line)
{
    if (!s->result)
        s->result = s->take(s->userdata, kind, p, n, line);
}
static int is(const struct lexer *l, const char *word)
{
    return l->type == NAME && l->text.len == strlen(word) && !memcmp(l->text.p, word, l->text.len);
}
static int is_op(const struct lexer *l, char c)
{
    return l->type == OTHER && l->c == c;
}
static void append(struct scan *s, const void *p, size_t n)
{
    if (s->len + n > sizeof s->name) {
        s->obscure = 1;
        n = sizeof s->name - s->len;
    }
    memcpy(s->name + s->len, p, n);
    s->len += n;
}
/* a.b.c at the lexer; 0 when there is none */
static int dotted(struct scan *s)
{
    s->len = 0;
    s->obscure = 0;
    if (s->l.type != NAME)
        return 0;
    for (;;) {
        append(s, s->l.text.p, s->l.text.len);
        s->obscure |= s->l.obscure;
        next(&s->l);
        if (!is_op(&s->l, '.'))
            return 1;
        next(&s->l);
        if (s->l.type != NAME)
            return 1;
        append(s, ".", 1);
    }
}
static void imported(struct scan *s, uint32_t line)
{
    give(s, s->obscure ? POLICY_UNSURE : POLICY_IMPORT, s->name, s->len, line);
}
static void skip_as(struct scan *s)
{
    if (is(&s->l, "as")) {
        next(&s->l);
        if (s->l.type == NAME)
            next(&s->l);
    }
}

static void import(struct scan *s)
{
    do {
        next(&s->l);
        uint32_t line = s->l.at;
        if (!dotted(s))
            return;
        imported(s, line);
        skip_as(s);
    } while (is_op(&s->l, ','));
}
static void from(struct scan *s)
{
    next(&s->l);
    uint32_t line = s->l.at;
    int relative = 0;
    while (is_op(&s->l, '.')) {
        relative = 1;
        next(&s->l);
    }
    if (is(&s->l, "import") && relative)
        s->len = 0;
    else if (!dotted(s))
        return;
    if (!is(&s->l, "import"))
        return;   /* yield from x, raise x from y */
    size_t module = s->len;
    int obscure = s->obscure, brackets = 0;
    next(&s->l);
    if (is_op(&s->l, '(')) {
        brackets = 1;
        next(&s->l);
    }
    if (s->l.type != NAME && !is_op(&s->l, '*') && !brackets)
        return;
    for (;;) {
        while (brackets && s->l.type == NEWLINE)
            next(&s->l);
        if (s->l.type != NAME && !is_op(&s->l, '*'))
            return;
        s->len = module;
        s->obscure = obscure;
        if (s->l.type == NAME) {
            append(s, ".", module ? 1 : 0);
            append(s, s->l.text.p, s->l.text.len);
            s->obscure |= s->l.obscure;
        }
        if (!relative)   /* a module beside the one that is read: nothing that rules name */
            imported(s, line);
        next(&s->l);
        skip_as(s);
        while (brackets && s->l.type == NEWLINE)
            next(&s->l);
        if (!is_op(&s->l, ','))
            return;
        next(&s->l);
    }
}

/* A function that imports what it is given: a name when that is a plain text, else made at run time. */
static void importer(struct scan *s)
{
    char called[32];
    size_t n = s->l.text.len < sizeof called ? s->l.text.len : sizeof called;
    uint32_t line = s->l.at;
    memcpy(called, s->l.text.p, n);
    next(&s->l);
    if (!is_op(&s->l, '(')) {
        give(s, POLICY_DYNAMIC, called, n, line);
        return;
    }
    do
        next(&s->l);
    while (s->l.type == NEWLINE);
    s->len = 0;
    s->obscure = 0;
    int parts = 0;
    for (; s->l.type == STRING || (parts && s->l.type == NEWLINE); next(&s->l))
        if (s->l.type == STRING) {
            append(s, s->l.text.p, s->l.text.len);
            parts++;
        }
    if (parts && (is_op(&s->l, ')') || is_op(&s->l, ',')))
        imported(s, line);
    else
        give(s, POLICY_DYNAMIC, called, n, line);
}

int interp__scan_python(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata)
{
    struct scan s;
    memset(&s, 0, sizeof s);
    s.l.p = p;
    s.l.end = p + n;
    s.l.line = line;
    s.take = take;
    s.userdata = userdata;
    interp__buf_init(&s.l.text, m);
    int dot = 0, def = 0;   /* the token before was one */
    next(&s.l);
    while (s.l.type != END && !s.result && !s.l.text.bad) {
        int was_dot = dot, was_def = def;
        dot = is_op(&s.l, '.');
        def = is(&s.l, "def") || is(&s.l, "class");
        if (s.l.type == STRING) {
            static const char maker[] = "__import__";
            if (s.l.text.len == sizeof maker - 1 && !memcmp(s.l.text.p, maker, sizeof maker - 1))
                give(&s, POLICY_DYNAMIC, maker, sizeof maker - 1, s.l.at);
            give(&s, POLICY_PATH, (const char *)s.l.text.p, s.l.text.len, s.l.at);
        }
        if (s.l.type != NAME || was_def)
            next(&s.l);
        else if (is(&s.l, "import") && !was_dot)
            import(&s);
        else if (is(&s.l, "from") && !was_dot)
            from(&s);
        else if (is(&s.l, "__import__") || is(&s.l, "import_module"))
            importer(&s);
        else if (is(&s.l, "__builtins__") || is(&s.l, "__loader__") ||
                 (s.l.obscure && s.l.text.len > 2 && (!memcmp(s.l.text.p, "__", 2) || !memcmp(s.l.text.p + s.l.text.len - 2, "__", 2)))) {
            give(&s, POLICY_DYNAMIC, (const char *)s.l.text.p, s.l.text.len, s.l.at);
            next(&s.l);
        } else if (!was_dot && (is(&s.l, "exec") || is(&s.l, "eval") || is(&s.l, "compile"))) {
            char called[8];
            size_t k = s.l.text.len;
            uint32_t at = s.l.at;
            memcpy(called, s.l.text.p, k);
            next(&s.l);
            if (is_op(&s.l, '('))
                give(&s, POLICY_DYNAMIC, called, k, at);
        } else
            next(&s.l);
    }
    if (s.l.unsure)
        give(&s, POLICY_UNSURE, "deeply nested f-strings", 23, s.l.line);
    int bad = s.l.text.bad;
    interp__buf_free(&s.l.text);
    return bad ? -1 : s.result;
}
