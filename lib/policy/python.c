/* python.c - what Python code imports and which paths its strings name */
#include "scanner.h"
#include <string.h>

enum { FRAMES = LITERAL_LEVELS - 2 };
enum type { END, NEWLINE, NAME, STRING, FSTRING, PIECE, OTHER };   /* FSTRING: one begins; PIECE: a part of its text */
struct frame { char quote; uint8_t triple, raw, spec; uint32_t brackets; };   /* an f-string around what is read; spec: in a format specification */
struct lexer {
    const char *p, *end;
    uint32_t line, at;                 /* at: of the token */
    struct frame frames[FRAMES];
    unsigned depth, level;             /* level: how many f-strings the token is in; for a FSTRING and a PIECE, its f-string is */
    uint32_t brackets;                 /* outside of f-strings */
    int in_text, unsure;               /* in_text: inside the text of the innermost f-string */
    int hole;                          /* an expression follows the PIECE */
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

/* Inside an f-string's text, up to an expression or its end. A format specification is none of its text. */
static void fstring_text(struct lexer *l)
{
    struct frame *f = &l->frames[l->depth - 1];
    l->type = PIECE;
    l->hole = 0;
    l->level = l->depth - 1;
    while (l->p < l->end) {
        const char *from = l->p;
        int spec = f->spec;
        if ((*l->p == '{' || *l->p == '}') && !f->spec && l->p + 1 < l->end && l->p[1] == *l->p) {
            l->p += 2;
            from++;
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
            } else {
                f->brackets = 0;
                l->hole = 1;
            }
            return;
        } else if (*l->p == '}' && f->spec) {   /* the end of the expression that this specification is of */
            l->p++;
            f->spec = 0;
        } else if (closes(l, l->p, f->quote, f->triple)) {
            l->p += f->triple ? 3 : 1;
            l->depth--;
            l->in_text = 0;
            return;
        } else if (*l->p == '\\' && l->p + 1 < l->end) {
            l->p++;
            if (l->p[0] == '{' || l->p[0] == '}')   /* those keep their meaning */
                ;
            else if (f->spec || f->raw) {
                if (is_newline(*l->p))
                    newline(l);
                else
                    l->p++;
            } else {
                escape(l);
                from = l->p;
            }
        } else if (is_newline(*l->p)) {
            if (!f->triple) {
                l->depth--;
                l->in_text = 0;
                return;
            }
            newline(l);
        } else
            l->p++;
        if (!spec)
            interp__buf_add(&l->text, from, (size_t)(l->p - from));
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
    l->level = l->depth;
    while (l->p < l->end) {
        if (*l->p == ' ' || *l->p == '\t' || *l->p == '\f')
            l->p++;
        else if (is_newline(*l->p) && (l->depth || l->brackets))
            newline(l);
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
    struct frame *f = l->depth ? &l->frames[l->depth - 1] : NULL;
    uint32_t *brackets = f ? &f->brackets : &l->brackets;
    if (c == '(' || c == '[' || c == '{')
        ++*brackets;
    else if ((c == ')' || c == ']' || c == '}') && *brackets)
        --*brackets;
    else if (!f)
        ;
    else if (c == '}') {   /* the expression ends: the text goes on, of this string or of the specification around it */
        if (l->depth >= 2 && l->frames[l->depth - 2].spec && l->frames[l->depth - 2].quote == f->quote && l->frames[l->depth - 2].triple == f->triple)
            l->depth--;
        l->in_text = 1;
    } else if (c == ':' && !f->brackets) {
        f->spec = 1;
        l->in_text = 1;
    }
}

/* The call of something that loads what it is given, or runs it. */
struct call {
    uint8_t use, open, next, done, relative;   /* next: an argument may begin, 2: behind the = at the lexer; done: what it is about has been seen; relative: to a package, another argument */
    uint32_t brackets;                 /* inside of it */
    char called[32];
    size_t len;
};
struct scan {
    struct scanner common;
    struct lexer l;
    char name[POLICY_NAME_MAX];
    size_t len;
    int obscure;
    struct call calls[LITERAL_LEVELS];
    char last[64], target[64], noted[64];   /* the last name; those that are being given a value */
    size_t last_len, target_len, noted_len;
};

static void give(struct scan *s, enum policy_kind kind, const char *p, size_t n, uint32_t line)
{
    interp__scanner_give(&s->common, kind, p, n, line);
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
/* What a name stands for that loads or runs something. */
static enum use use_of(const struct scan *s, int is_attribute)
{
    static const char *const loaders[] = { "__import__", "import_module", "run_module" }, *const runners[] = { "exec", "eval", "compile" };
    for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
        if (is(&s->l, loaders[i]))
            return USE_MODULE;
    for (size_t i = 0; i < sizeof runners / sizeof *runners && !is_attribute; i++)
        if (is(&s->l, runners[i]))
            return USE_CODE;
    if (is_attribute && is(&s->l, "modules"))
        return USE_PERHAPS_MODULE;
    return interp__alias_find(s->common.aliases, s->l.text.p, s->l.text.len);
}
static void skip_as(struct scan *s, enum use use)
{
    if (is(&s->l, "as")) {
        next(&s->l);
        if (s->l.type == NAME) {
            if (use)
                interp__alias_add(s->common.aliases, (const char *)s->l.text.p, s->l.text.len, use);
            next(&s->l);
        }
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
        skip_as(s, USE_NONE);
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
        enum use use = s->l.type == NAME ? use_of(s, 0) : USE_NONE;
        next(&s->l);
        skip_as(s, use);
        while (brackets && s->l.type == NEWLINE)
            next(&s->l);
        if (!is_op(&s->l, ','))
            return;
        next(&s->l);
    }
}

static uint32_t brackets(const struct scan *s)
{
    return s->l.depth ? s->l.frames[s->l.depth - 1].brackets : s->l.brackets;
}
static void dynamic(struct scan *s, const struct call *c, uint32_t line)
{
    if (c->use != USE_PERHAPS_MODULE)
        give(s, POLICY_DYNAMIC, c->called, c->len, line);
}

/* Behind a name for what loads or runs: its call begins, or it is given another name. */
static void called(struct scan *s, struct call c, uint32_t line)
{
    int bracket = c.use == USE_PERHAPS_MODULE ? '[' : '(';
    while (c.use == USE_MODULE && (is_op(&s->l, ')') || is_op(&s->l, ']')))
        next(&s->l);
    if (!is_op(&s->l, (char)bracket)) {
        if (c.use == USE_MODULE || (c.use == USE_CODE && s->target_len))
            dynamic(s, &c, line);
        if (c.use != USE_PERHAPS_MODULE) {
            interp__alias_add(s->common.aliases, s->target, s->target_len, (enum use)c.use);
            interp__alias_add(s->common.aliases, s->noted, s->target_len ? s->noted_len : 0, (enum use)c.use);
        }
        return;
    }
    if (c.use == USE_CODE)
        dynamic(s, &c, line);
    c.open = c.next = 1;
    c.brackets = brackets(s);
    s->calls[s->l.depth] = c;
    next(&s->l);
}

/* A text is whole; the token behind it is at the lexer. */
static void text(struct scan *s, unsigned level)
{
    const struct literal t = s->common.literals.at[level];
    size_t n;
    const char *p = interp__literal_end(&s->common.literals, level, s->l.type == OTHER ? s->l.c : 0, &n);
    struct call *c = &s->calls[level];
    static const char *const makers[] = { "__import__", "import_module", "__builtins__" };
    give(s, POLICY_PATH, p, n, t.line);
    if (t.use == USE_CODE && n && !s->common.result)
        interp__scanner_inside(&s->common, p, n, t.line);
    else if (t.use && n && *p == '.' && !c->relative) {
        c->relative = 1;
        c->done = 0;
    }
    else if (t.use && n <= sizeof s->name && !memchr(p, 0, n) && (s->l.type == END || is_op(&s->l, ')') || is_op(&s->l, ']') || is_op(&s->l, ',')))
        give(s, POLICY_IMPORT, p, n, t.line);
    else if (t.use && t.use != USE_CODE)
        dynamic(s, c, t.line);
    for (size_t i = 0; i < sizeof makers / sizeof *makers && !t.use; i++)
        if (n == strlen(makers[i]) && !memcmp(p, makers[i], n)) {   /* getattr(x, "…"), x["…"] */
            struct call maker = { .use = USE_MODULE, .len = n };
            memcpy(maker.called, p, n);
            give(s, POLICY_DYNAMIC, maker.called, n, t.line);
            if (i < 2 && level == s->l.depth)
                called(s, maker, t.line);
        }
}

/* name= before an argument */
static int keyword(const struct scan *s)
{
    const char *p = s->l.p;
    while (p < s->l.end && (*p == ' ' || *p == '\t' || is_newline(*p)))
        p++;
    return s->l.type == NAME && s->l.end - p >= 2 && p[0] == '=' && p[1] != '=';
}
/* The token, seen from the call it stands in; what a text that begins here is for. */
static enum use argument(struct scan *s, struct call *c)
{
    int text_begins = s->l.type == STRING || s->l.type == FSTRING, begins = c->next;
    if (s->l.type == OTHER && brackets(s) < c->brackets) {
        c->open = 0;
        if (!c->done)
            dynamic(s, c, s->l.at);
        return USE_NONE;
    }
    if (is_op(&s->l, ',') && brackets(s) == c->brackets)
        c->next = 1;
    if (!begins || is_op(&s->l, '('))
        return USE_NONE;
    c->next = 0;
    if (keyword(s)) {
        int named = is(&s->l, "name") || is(&s->l, "mod_name") || is(&s->l, "source") || (c->relative && is(&s->l, "package"));
        next(&s->l);
        c->next = named ? 2 : 0;
        if (named)
            c->done = 0;
        return USE_NONE;
    }
    if (c->done)
        return USE_NONE;
    c->done = 1;
    if (text_begins)
        return (enum use)c->use;
    dynamic(s, c, s->l.at);
    return USE_NONE;
}

static void remember(char *to, size_t *to_len, const void *p, size_t n)
{
    *to_len = n < 64 ? n : 0;
    memcpy(to, p, *to_len);
}
/* The names on the left of = and :=, and of the : of an annotation */
static void targets(struct scan *s)
{
    if (s->l.type == NAME)
        remember(s->last, &s->last_len, s->l.text.p, s->l.text.len);
    else if (is_op(&s->l, ':'))
        remember(s->noted, &s->noted_len, s->last, s->last_len);
    else if (is_op(&s->l, '='))
        remember(s->target, &s->target_len, s->last, s->last_len);
    else if (s->l.type == NEWLINE || is_op(&s->l, ';'))
        s->target_len = s->noted_len = s->last_len = 0;
}

static void one_name(struct scan *s, int was_dot)
{
    enum use use = use_of(s, was_dot);
    struct call c = { .use = (uint8_t)use, .len = s->l.text.len < sizeof c.called ? s->l.text.len : sizeof c.called };
    uint32_t at = s->l.at;
    if (is(&s->l, "import") && !was_dot)
        import(s);
    else if (is(&s->l, "from") && !was_dot)
        from(s);
    else if (use) {
        memcpy(c.called, s->l.text.p, c.len);
        next(&s->l);
        called(s, c, at);
    } else {
        int hidden = s->l.obscure && s->l.text.len > 2 && (!memcmp(s->l.text.p, "__", 2) || !memcmp(s->l.text.p + s->l.text.len - 2, "__", 2));
        if (is(&s->l, "__builtins__") || is(&s->l, "__loader__") || hidden)
            give(s, POLICY_DYNAMIC, (const char *)s->l.text.p, s->l.text.len, at);
        next(&s->l);
    }
}

static int scan(struct scanner *common, const char *p, size_t n, uint32_t line)
{
    struct scan *s = (struct scan *)common;
    int dot = 0, def = 0;   /* the token before was one */
    s->l.p = p;
    s->l.end = p + n;
    s->l.line = line;
    interp__buf_init(&s->l.text, common->mem);
    next(&s->l);
    while (s->l.type != END && !s->common.result && !s->common.bad && !s->l.text.bad) {
        unsigned level = s->l.level;
        struct literal *t = &s->common.literals.at[level];
        if (s->l.type == PIECE) {
            for (unsigned k = LITERAL_LEVELS - 1; k > level; k--)
                if (s->common.literals.at[k].open)
                    text(s, k);
            if (!t->open)
                interp__literal_begin(&s->common.literals, level, s->l.at, USE_NONE);
            interp__literal_add(&s->common.literals, s->l.text.p, s->l.text.len);
            if (s->l.hole)
                interp__literal_add(&s->common.literals, "", 1);
            next(&s->l);
            continue;
        }
        int is_text = s->l.type == STRING || s->l.type == FSTRING;
        if (t->open && !is_text) {
            if (t->open == 1 && is_op(&s->l, '+')) {
                t->open = 2;
                next(&s->l);
            } else
                text(s, level);
            continue;
        }
        struct call *c = &s->calls[level];
        enum use use = c->open && !t->open ? argument(s, c) : USE_NONE;
        if (c->next == 2) {   /* at the = of name= */
            c->next = 1;
            next(&s->l);
            continue;
        }
        int was_dot = dot, was_def = def;
        dot = is_op(&s->l, '.');
        def = is(&s->l, "def") || is(&s->l, "class");
        targets(s);
        if (is_text) {
            interp__literal_begin(&s->common.literals, level, s->l.at, use);
            if (s->l.type == STRING)
                interp__literal_add(&s->common.literals, s->l.text.p, s->l.text.len);
            next(&s->l);
        } else if (s->l.type != NAME || was_def)
            next(&s->l);
        else
            one_name(s, was_dot);
    }
    for (unsigned k = LITERAL_LEVELS; k-- > 0;)
        if (s->common.literals.at[k].open)
            text(s, k);
    return interp__scanner_end(common, &s->l.text, s->l.unsure ? "deeply nested f-strings" : NULL, s->l.line);
}

int interp__scan_python(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata)
{
    static const struct scanner_kind kind = { sizeof(struct scan), scan };
    return interp__scanner_run(&kind, m, p, n, line, take, userdata);
}
