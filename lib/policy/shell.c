/* shell.c - what Bash and sh code runs: the commands of pipelines, lists, substitutions, here-documents, and of the programs that run others */
#include "base/buf.h"
#include "scan.h"
#include <string.h>

enum { DEPTH = 48, HEREDOCS = 16, CASES = 16, FUNCTIONS = 128, WORK = 64 };
enum { QUOTED = 1, EXPANDS = 2, PATTERN = 4 };   /* of a word; EXPANDS: it has a part that is known at run time only */

struct functions { struct interp__buf names; unsigned n; };   /* defined in this code: their names are no programs; NUL after each */
struct shell {
    const struct interp__mem *mem;
    const char *p, *end;
    uint32_t line;
    unsigned depth;
    policy_take *take;
    void *userdata;
    struct functions *functions;
    size_t *work, most;                /* steps, all nested texts together: what is read twice by design must not add up */
    int result, bad, unsure;
    struct interp__buf word;
    int flags;
    struct heredoc { char end[64]; size_t n; uint8_t strip, quoted, code; } heredocs[HEREDOCS];
    unsigned nheredocs;
    uint8_t runs_input;                /* the command being read is a shell: what comes on its standard input is code */
};

static void list(struct shell *s, char closer);
static void word(struct shell *s);
static void skip_expansion(struct shell *s);

static void give(struct shell *s, enum policy_kind kind, const void *p, size_t n)
{
    if (!s->result)
        s->result = s->take(s->userdata, kind, p, n, s->line);
    if (s->result)
        s->p = s->end;
}
static int over(struct shell *s)   /* also counts */
{
    if (s->result || s->bad || s->unsure)
        return 1;
    if (++*s->work > s->most) {
        s->unsure = 1;
        return 1;
    }
    return s->p >= s->end;
}
static int at(const struct shell *s, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(s->end - s->p) >= n && !memcmp(s->p, text, n);
}
static char step(struct shell *s)
{
    if (*s->p == '\n')
        s->line++;
    return *s->p++;
}

/* A text that is code itself: the argument of sh -c, eval, trap, what stands between backquotes. */
static void nested(struct shell *s, const void *p, size_t n)
{
    struct shell in;
    char *copy = interp__strndup(s->mem, p, n);   /* the word it comes from is written over */
    if (!copy || s->depth >= DEPTH) {
        *(copy ? &s->unsure : &s->bad) = 1;
        interp__free(s->mem, copy);
        return;
    }
    memset(&in, 0, sizeof in);
    in.mem = s->mem;
    in.p = copy;
    in.end = copy + n;
    in.line = s->line;
    in.depth = s->depth + 1;
    in.take = s->take;
    in.userdata = s->userdata;
    in.functions = s->functions;
    in.work = s->work;
    in.most = s->most;
    interp__buf_init(&in.word, s->mem);
    list(&in, 0);
    s->bad |= in.bad | in.word.bad;
    s->unsure |= in.unsure;
    if (!s->result)
        s->result = in.result;
    interp__buf_free(&in.word);
    interp__free(s->mem, copy);
}

/* The inside of $(…), <(…), (…), after the bracket. The word that it stands in goes on after it. */
static void inside(struct shell *s, char closer)
{
    struct interp__buf keep = s->word;
    int flags = s->flags;
    uint8_t runs = s->runs_input;
    if (s->depth >= DEPTH) {
        s->unsure = 1;
        return;
    }
    interp__buf_init(&s->word, s->mem);
    s->depth++;
    list(s, closer);
    s->depth--;
    s->bad |= s->word.bad;
    interp__buf_free(&s->word);
    s->word = keep;
    s->flags = flags;
    s->runs_input = runs;
}

static void backquotes(struct shell *s)
{
    struct interp__buf b;
    interp__buf_init(&b, s->mem);
    for (s->p++; !over(s) && *s->p != '`';) {
        if (*s->p == '\\' && s->p + 1 < s->end && strchr("`\\$", s->p[1]))
            s->p++;
        char c = step(s);
        interp__buf_add(&b, &c, 1);
    }
    if (s->p < s->end)
        s->p++;
    s->bad |= b.bad;
    if (!b.bad && b.len)
        nested(s, b.p, b.len);
    interp__buf_free(&b);
}

/* $((…)): to its end, when it has one; what is substituted in it runs. 0: it is an arithmetic expression */
static int arithmetic(struct shell *s)
{
    const char *p = s->p;
    uint32_t line = s->line;
    int open = 0;
    while (!over(s)) {
        if (*s->p == '(')
            open++;
        else if (*s->p == ')') {
            if (!open) {
                if (s->p + 1 < s->end && s->p[1] == ')') {
                    s->p += 2;
                    return 0;
                }
                break;
            }
            open--;
        } else if (*s->p == '\\' && s->p + 1 < s->end) {
            s->p++;
        } else if (*s->p == '$' || *s->p == '`') {
            skip_expansion(s);
            continue;
        }
        step(s);
    }
    s->p = p;   /* it was $( (…) …): read again as commands */
    s->line = line;
    return -1;
}

static void braces(struct shell *s)   /* ${…}, after the brace */
{
    int quote = 0;
    while (!over(s) && (quote || *s->p != '}')) {
        if (*s->p == '\\' && s->p + 1 < s->end) {
            s->p++;
            step(s);
        } else if (*s->p == '\'' && !quote) {
            for (s->p++; !over(s) && *s->p != '\'';)
                step(s);
            if (s->p < s->end)
                s->p++;
        } else if (*s->p == '$' || *s->p == '`')
            skip_expansion(s);
        else {
            quote ^= *s->p == '"';
            step(s);
        }
    }
    if (s->p < s->end)
        s->p++;
}

/* At $ or a backquote */
static void expansion(struct shell *s)
{
    s->flags |= EXPANDS;
    if (*s->p == '`') {
        backquotes(s);
        return;
    }
    s->p++;
    if (s->p >= s->end)
        return;
    if (at(s, "((")) {
        s->p += 2;
        if (!arithmetic(s))
            return;
        s->p -= 1;   /* the second bracket is a subshell's */
        inside(s, ')');
    } else if (*s->p == '(') {
        s->p++;
        inside(s, ')');
    } else if (*s->p == '{') {
        s->p++;
        braces(s);
    } else if ((*s->p >= 'a' && *s->p <= 'z') || (*s->p >= 'A' && *s->p <= 'Z') || *s->p == '_') {
        while (s->p < s->end && ((*s->p >= 'a' && *s->p <= 'z') || (*s->p >= 'A' && *s->p <= 'Z') || (*s->p >= '0' && *s->p <= '9') || *s->p == '_'))
            s->p++;
    } else if (strchr("@*#?$!-0123456789", *s->p))
        s->p++;
    else {
        s->flags &= ~EXPANDS;   /* a plain dollar */
        interp__buf_add(&s->word, "$", 1);
    }
}

static void skip_expansion(struct shell *s)
{
    if (s->depth >= DEPTH) {
        s->unsure = 1;
        s->p = s->end;
        return;
    }
    s->depth++;
    expansion(s);
    s->depth--;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}
static void ansi(struct shell *s)   /* $'…', after the quote */
{
    static const char from[] = "abefnrtvE", to[] = "\a\b\033\f\n\r\t\v\033";
    while (!over(s) && *s->p != '\'') {
        char c = step(s);
        if (c == '\\' && s->p < s->end) {
            c = step(s);
            const char *simple = strchr(from, c);
            int base = c == 'x' || c == 'u' || c == 'U' ? 16 : 8, most = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 3;
            if (base == 16 || (c >= '0' && c <= '7')) {
                uint32_t v = 0;
                if (base == 8)
                    s->p--;
                for (int k = 0; k < most && s->p < s->end && digit_of(*s->p) < base; k++)
                    v = v * (uint32_t)base + (uint32_t)digit_of(*s->p++);
                c = v < 0x80 || base == 8 || most == 2 ? (char)v : (char)0x80;
            } else if (c && simple)
                c = to[simple - from];
        }
        interp__buf_add(&s->word, &c, 1);
    }
    if (s->p < s->end)
        s->p++;
}
static void quoted(struct shell *s)   /* "…", after the quote */
{
    while (!over(s) && *s->p != '"') {
        if (*s->p == '\\' && s->p + 1 < s->end && strchr("$`\"\\\n", s->p[1])) {
            s->p++;
            char c = step(s);
            if (c != '\n')
                interp__buf_add(&s->word, &c, 1);
        } else if (*s->p == '$' || *s->p == '`')
            skip_expansion(s);
        else {
            char c = step(s);
            interp__buf_add(&s->word, &c, 1);
        }
    }
    if (s->p < s->end)
        s->p++;
}

static int ends_word(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '<' || c == '>';
}

static void array(struct shell *s)   /* a=( … ), after the bracket */
{
    struct interp__buf keep = s->word;
    if (s->depth >= DEPTH) {
        s->unsure = 1;
        return;
    }
    s->depth++;
    interp__buf_init(&s->word, s->mem);
    while (!over(s) && *s->p != ')') {
        if (*s->p == '#')
            while (!over(s) && *s->p != '\n')
                s->p++;
        else if (ends_word(*s->p) && !at(s, "<(") && !at(s, ">("))
            step(s);
        else
            word(s);
    }
    if (s->p < s->end)
        s->p++;
    s->bad |= s->word.bad;
    interp__buf_free(&s->word);
    s->word = keep;
    s->depth--;
}

/* One word into s->word and s->flags. */
static void word(struct shell *s)
{
    size_t open = SIZE_MAX;   /* from where on no comma or dot has been looked for behind an unquoted brace */
    int set = 0, several = 0;
    s->word.len = 0;
    s->flags = 0;
    const char *from = s->p;
    while (!over(s)) {
        char c = *s->p;
        if ((at(s, "<(") || at(s, ">(")) && s->p == from) {
            s->p += 2;
            inside(s, ')');
            s->flags |= EXPANDS;
        } else if (c == '(' && s->word.len && s->word.p[s->word.len - 1] == '=' && !(s->flags & QUOTED)) {
            s->p++;
            array(s);
        } else if (c == '(' && s->p > from && strchr("?*+@!", s->p[-1])) {   /* ?(a|b): a pattern */
            s->flags |= PATTERN;
            int level = 0;
            do {
                level += *s->p == '(';
                level -= *s->p == ')';
                step(s);
            } while (level && !over(s));
        } else if (ends_word(c))
            break;
        else if (c == '\\') {
            s->p++;
            if (s->p < s->end) {
                s->flags |= QUOTED;
                char k = step(s);
                if (k != '\n')
                    interp__buf_add(&s->word, &k, 1);
            }
        } else if (c == '\'') {
            s->flags |= QUOTED;
            for (s->p++; !over(s) && *s->p != '\'';) {
                char k = step(s);
                interp__buf_add(&s->word, &k, 1);
            }
            if (s->p < s->end)
                s->p++;
        } else if (c == '"') {
            s->flags |= QUOTED;
            s->p++;
            quoted(s);
        } else if (c == '$' && at(s, "$'")) {
            s->flags |= QUOTED;
            s->p += 2;
            ansi(s);
        } else if (c == '$' && at(s, "$\"")) {
            s->flags |= QUOTED;
            s->p += 2;
            quoted(s);
        } else if (c == '$' || c == '`')
            skip_expansion(s);
        else {
            set |= c == '[';
            if (c == '*' || c == '?' || (c == ']' && set))
                s->flags |= PATTERN;
            else if (c == '{' && open == SIZE_MAX)
                open = s->word.len;
            else if (c == '}' && open != SIZE_MAX) {   /* {a,b} */
                several |= memchr(s->word.p + open, ',', s->word.len - open) || memchr(s->word.p + open, '.', s->word.len - open);
                open = s->word.len;
                s->flags |= several ? PATTERN : 0;
            }
            interp__buf_add(&s->word, s->p++, 1);
        }
        if (s->word.bad)
            s->bad = 1;
    }
}

static int is(const struct shell *s, const char *w)
{
    return s->word.len == strlen(w) && !memcmp(s->word.p, w, s->word.len);
}
static int one_of(const struct shell *s, const char *const *words)
{
    for (; *words; words++)
        if (is(s, *words))
            return 1;
    return 0;
}

static void path(struct shell *s)
{
    if (!s->word.len)
        return;
    const char *p = (const char *)s->word.p, *eq = memchr(p, '=', s->word.len);
    give(s, POLICY_PATH, p, s->word.len);
    if (eq && !s->result)   /* --file=/etc/passwd */
        give(s, POLICY_PATH, eq + 1, (size_t)(p + s->word.len - eq - 1));
}

static void heredoc_start(struct shell *s, int strip)
{
    struct heredoc h = { .strip = (uint8_t)strip, .code = s->runs_input };
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
        s->p++;
    word(s);
    h.quoted = (s->flags & QUOTED) != 0;
    if (s->nheredocs >= HEREDOCS || s->word.len >= sizeof h.end) {
        s->unsure = 1;
        return;
    }
    h.n = s->word.len;
    if (h.n)
        memcpy(h.end, s->word.p, h.n);
    s->heredocs[s->nheredocs++] = h;
}

/* Their bodies begin after the newline. */
static void heredoc_bodies(struct shell *s)
{
    unsigned n = s->nheredocs;
    s->nheredocs = 0;
    for (unsigned i = 0; i < n; i++) {
        struct heredoc h = s->heredocs[i];
        const char *from = s->p, *end = s->end;
        uint32_t line = s->line;
        for (;;) {   /* to the line that is the delimiter */
            if (over(s))
                break;
            const char *text = s->p, *nl = memchr(s->p, '\n', (size_t)(s->end - s->p)), *to = nl ? nl : s->end;
            while (h.strip && text < to && *text == '\t')
                text++;
            int last = (size_t)(to - text) == h.n && !memcmp(text, h.end, h.n);
            if (last)
                end = s->p;
            s->p = nl ? nl + 1 : s->end;
            s->line += nl != NULL;
            if (last || !nl)
                break;
        }
        if (end > s->p)
            end = s->p;
        const char *after = s->p, *whole = s->end;
        uint32_t after_line = s->line;
        if (h.code) {
            s->line = line;
            nested(s, from, (size_t)(end - from));
        } else if (!h.quoted) {   /* what is substituted in it runs */
            struct interp__buf keep = s->word;
            interp__buf_init(&s->word, s->mem);
            s->p = from;
            s->end = end;
            s->line = line;
            while (!over(s)) {
                if (*s->p == '\\' && s->p + 1 < s->end) {
                    s->p++;
                    step(s);
                } else if (*s->p == '$' || *s->p == '`')
                    skip_expansion(s);
                else
                    step(s);
            }
            interp__buf_free(&s->word);
            s->word = keep;
        }
        s->end = whole;
        s->p = s->result ? whole : after;
        s->line = after_line;
    }
}

/* ---- commands. What a program does with its arguments, where they are commands again. */

enum runs { RUNS_NOTHING, RUNS_REST, RUNS_SHELL, RUNS_EVAL, RUNS_TRAP, RUNS_ALIAS, RUNS_FIND, RUNS_DONE };
struct command {
    enum runs runs;
    const char *with_value;            /* RUNS_REST: options whose value is the next word */
    int skip, text_next, any, stdin_code;
    struct interp__buf eval;
    int eval_unknown;
};

static const char *base_name(const struct shell *s, size_t *n)
{
    const char *p = (const char *)s->word.p, *slash = s->word.len ? memrchr(p, '/', s->word.len) : NULL;
    if (!p)
        p = "";
    *n = slash ? (size_t)(p + s->word.len - slash - 1) : s->word.len;
    return slash ? slash + 1 : p;
}

static void begin(struct shell *s, struct command *c)
{
    static const struct { const char *name; enum runs runs; const char *with_value; } table[] = {
        { "command", RUNS_REST, "" }, { "builtin", RUNS_REST, "" }, { "exec", RUNS_REST, "a" }, { "nohup", RUNS_REST, "" }, { "sudo", RUNS_REST, "ugpCThrRD" }, { "doas", RUNS_REST, "uC" },
        { "env", RUNS_REST, "uC" }, { "nice", RUNS_REST, "n" }, { "ionice", RUNS_REST, "cnpPu" }, { "timeout", RUNS_REST, "sk" }, { "stdbuf", RUNS_REST, "ioe" }, { "setsid", RUNS_REST, "" },
        { "xargs", RUNS_REST, "IEdnPsLa" }, { "chroot", RUNS_REST, "" }, { "unshare", RUNS_REST, "" }, { "busybox", RUNS_REST, "" }, { "toybox", RUNS_REST, "" }, { "watch", RUNS_REST, "n" },
        { "strace", RUNS_REST, "eo" }, { "parallel", RUNS_REST, "j" }, { "coproc", RUNS_REST, "" }, { "time", RUNS_REST, "of" }, { "sh", RUNS_SHELL, "" }, { "bash", RUNS_SHELL, "" },
        { "dash", RUNS_SHELL, "" }, { "zsh", RUNS_SHELL, "" }, { "ksh", RUNS_SHELL, "" }, { "ash", RUNS_SHELL, "" }, { "rbash", RUNS_SHELL, "" }, { "eval", RUNS_EVAL, "" }, { "trap", RUNS_TRAP, "" },
        { "alias", RUNS_ALIAS, "" }, { "find", RUNS_FIND, "" },
    };
    size_t n;
    const char *name = base_name(s, &n);
    c->runs = RUNS_NOTHING;
    c->skip = c->text_next = c->any = 0;
    s->runs_input = 0;
    give(s, s->flags & (EXPANDS | PATTERN) ? POLICY_DYNAMIC_COMMAND : POLICY_COMMAND, s->word.len ? (const char *)s->word.p : "$", s->word.len ? s->word.len : 1);
    if ((n == 6 && !memcmp(name, "source", 6)) || (n == 1 && *name == '.'))
        give(s, POLICY_DYNAMIC_COMMAND, name, n);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (n == strlen(table[i].name) && !memcmp(name, table[i].name, n)) {
            c->runs = table[i].runs;
            c->with_value = table[i].with_value;
            s->runs_input = c->runs == RUNS_SHELL;
        }
}

static void argument(struct shell *s, struct command *c)
{
    const char *p = (const char *)s->word.p;
    size_t n = s->word.len;
    int unknown = (s->flags & EXPANDS) != 0, option = n > 1 && p[0] == '-';
    c->any |= !option;
    path(s);
    if (s->result)
        return;
    switch (c->runs) {
    case RUNS_REST:
        if (c->skip)
            c->skip = 0;
        else if (option) {
            c->skip = n == 2 && *c->with_value && strchr(c->with_value, p[1]) != NULL;
            if (n >= 2 && (p[1] == 'S' || (n > 7 && !memcmp(p, "--split", 7))) && c->with_value[0] == 'u' && c->with_value[1] == 'C')
                give(s, POLICY_DYNAMIC_COMMAND, "env -S", 6);
        } else if (n && !unknown && (memchr(p, '=', n) || (p[0] >= '0' && p[0] <= '9')))
            ;   /* an assignment, a duration */
        else
            begin(s, c);
        break;
    case RUNS_SHELL:
        if (c->text_next && !option) {
            c->text_next = 0;
            c->runs = RUNS_DONE;
            s->runs_input = 0;
            if (unknown)
                give(s, POLICY_DYNAMIC_COMMAND, "sh -c", 5);
            else
                nested(s, p, n);
        } else if (option && p[1] != '-' && memchr(p, 'c', n))
            c->text_next = 1;
        else if (!option) {   /* a script */
            c->runs = RUNS_DONE;
            s->runs_input = 0;
            give(s, POLICY_DYNAMIC_COMMAND, "sh", 2);
        }
        break;
    case RUNS_EVAL:
        c->eval_unknown |= unknown;
        if (c->eval.len)
            interp__buf_add(&c->eval, " ", 1);
        interp__buf_add(&c->eval, p, n);
        s->bad |= c->eval.bad;
        break;
    case RUNS_TRAP:
        if (!option) {
            c->runs = RUNS_DONE;
            if (unknown)
                give(s, POLICY_DYNAMIC_COMMAND, "trap", 4);
            else if (n)
                nested(s, p, n);
        }
        break;
    case RUNS_ALIAS: {
        const char *eq = n ? memchr(p, '=', n) : NULL;
        if (unknown)
            give(s, POLICY_DYNAMIC_COMMAND, "alias", 5);
        else if (eq)
            nested(s, eq + 1, (size_t)(p + n - eq - 1));
        break;
    }
    case RUNS_FIND:
        if (c->text_next) {
            c->text_next = 0;
            begin(s, c);
            if (c->runs == RUNS_NOTHING)
                c->runs = RUNS_FIND;
        } else if (is(s, "-exec") || is(s, "-execdir") || is(s, "-ok") || is(s, "-okdir"))
            c->text_next = 1;
        break;
    default:
        break;
    }
}

/* The command is whole. */
static void done(struct shell *s, struct command *c)
{
    if (c->runs == RUNS_SHELL && !c->any && !c->stdin_code)
        give(s, POLICY_DYNAMIC_COMMAND, "sh", 2);   /* code from a pipe */
    if (c->runs == RUNS_EVAL) {
        if (c->eval_unknown)
            give(s, POLICY_DYNAMIC_COMMAND, "eval", 4);
        else if (c->eval.len)
            nested(s, c->eval.p, c->eval.len);
    }
    c->eval.len = 0;
    c->eval_unknown = c->stdin_code = c->skip = c->text_next = c->any = 0;
    c->runs = RUNS_NOTHING;
    s->runs_input = 0;
}

static int assignment(const struct shell *s)
{
    const char *p = (const char *)s->word.p, *eq = s->word.len ? memchr(p, '=', s->word.len) : NULL;
    size_t n = eq ? (size_t)(eq - p) : 0;
    if (!n || (*p >= '0' && *p <= '9'))
        return 0;
    if (p[n - 1] == '+')
        n--;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '[' && i)
            return 1;
        if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') || (p[i] >= '0' && p[i] <= '9') || p[i] == '_'))
            return 0;
    }
    return n > 0;
}

static void define(struct shell *s)
{
    if (s->functions->n < FUNCTIONS && s->word.len) {
        interp__buf_add(&s->functions->names, s->word.p, s->word.len);
        interp__buf_add(&s->functions->names, "", 1);
        s->functions->n++;
        s->bad |= s->functions->names.bad;
    }
}
static int defined(const struct shell *s)
{
    for (size_t i = 0; i < s->functions->names.len;) {
        const char *name = (const char *)s->functions->names.p + i;
        size_t n = strlen(name);
        if (n == s->word.len && !memcmp(name, s->word.p, n))
            return 1;
        i += n + 1;
        *s->work += 1 + n / 8;   /* names may be long, and looked for at each command */
    }
    return 0;
}

static void redirection(struct shell *s, struct command *c)
{
    if (at(s, "<<<")) {
        s->p += 3;
        if (s->runs_input) {
            c->stdin_code = 1;
            while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
                s->p++;
            word(s);
            if (s->flags & EXPANDS)
                give(s, POLICY_DYNAMIC_COMMAND, "sh", 2);
            else
                nested(s, s->word.p, s->word.len);
            return;
        }
    } else if (at(s, "<<")) {
        s->p += 2;
        int strip = s->p < s->end && *s->p == '-';
        s->p += strip;
        c->stdin_code |= s->runs_input;
        heredoc_start(s, strip);
        return;
    } else {
        s->p++;
        if (s->p < s->end && strchr(">&|<", *s->p) && !at(s, "<(") && !at(s, ">("))
            s->p++;
    }
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
        s->p++;
    if (s->p < s->end && !(ends_word(*s->p) && !at(s, "<(") && !at(s, ">("))) {
        word(s);
        path(s);
    }
}

/* Commands up to closer, or the end. */
static void list(struct shell *s, char closer)
{
    static const char *const go_on[] = { "if", "then", "elif", "else", "while", "until", "do", "!", "{", NULL }, *const ends[] = { "fi", "done", "esac", "}", NULL };
    struct command c;
    int start = 1, patterns = 0, test = 0;   /* start: a command begins here; patterns: of a case, up to the bracket */
    unsigned cases = 0;
    memset(&c, 0, sizeof c);
    interp__buf_init(&c.eval, s->mem);
    while (!over(s)) {
        char k = *s->p;
        if (k == ' ' || k == '\t' || at(s, "\\\n")) {
            step(s);
            if (k == '\\')
                step(s);
        } else if (k == '\n') {
            step(s);
            if (!test) {
                done(s, &c);
                start = 1;
            }
            heredoc_bodies(s);
        } else if (k == '#') {
            while (s->p < s->end && *s->p != '\n')
                s->p++;
        } else if (k == ')' && closer == ')' && !patterns) {
            s->p++;
            break;
        } else if (k == ')') {
            s->p++;
            if (patterns)
                patterns = 0;
            start = 1;
        } else if (k == ';' || k == '|' || (k == '&' && !at(s, "&>"))) {
            if (test && k != ';') {
                s->p++;
                continue;
            }
            int next_case = cases && (at(s, ";;") || at(s, ";&"));
            done(s, &c);
            while (s->p < s->end && strchr(";|&", *s->p) && !at(s, "&>"))
                s->p++;
            if (next_case)
                patterns = 1;
            else if (!patterns)
                start = 1;
        } else if (at(s, "((") && (start || c.runs == RUNS_NOTHING)) {
            s->p += 2;
            if (arithmetic(s)) {
                s->p -= 1;
                inside(s, ')');
            }
            start = 0;
        } else if (k == '(') {
            s->p++;
            if (!patterns && !test) {
                inside(s, ')');
                start = 0;
            }
        } else if (at(s, "&>")) {
            s->p++;
            redirection(s, &c);
        } else if ((k == '<' || k == '>') && !test && !at(s, "<(") && !at(s, ">("))
            redirection(s, &c);
        else if (k == '<' || k == '>') {
            if (at(s, "<(") || at(s, ">(")) {
                word(s);
                if (start)
                    give(s, POLICY_DYNAMIC_COMMAND, "<(", 2);
                start = 0;
            } else
                s->p++;
        } else {
            const char *from = s->p;
            word(s);
            if (s->p == from) {   /* nothing that this knows */
                step(s);
                continue;
            }
            int plain = !(s->flags & (QUOTED | EXPANDS));
            if (s->p < s->end && (*s->p == '<' || *s->p == '>') && plain && s->word.len && strspn((const char *)from, "0123456789") >= s->word.len && s->word.len < 4)
                continue;   /* the number of a redirection */
            if (test) {
                path(s);
                test = !(plain && is(s, "]]"));
            } else if (patterns) {
                if (plain && is(s, "esac")) {
                    patterns = 0;
                    cases--;
                    start = 0;
                }
            } else if (!start)
                argument(s, &c);
            else if (plain && one_of(s, go_on))
                ;
            else if (plain && one_of(s, ends)) {
                if (is(s, "esac") && cases)
                    cases--;
                start = 0;
                c.runs = RUNS_DONE;
            } else if (plain && is(s, "[[")) {
                test = 1;
                start = 0;
            } else if (plain && is(s, "case")) {
                while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
                    s->p++;
                word(s);
                while (!over(s) && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n'))
                    step(s);
                word(s);   /* in */
                if (++cases > CASES)
                    s->unsure = 1;
                patterns = 1;
            } else if (plain && (is(s, "for") || is(s, "select"))) {
                start = 0;
                c.runs = RUNS_DONE;
            } else if (plain && is(s, "function")) {
                while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
                    s->p++;
                word(s);
                define(s);
                const char *p = s->p;
                while (p < s->end && (*p == ' ' || *p == '\t'))
                    p++;
                if (p + 1 < s->end && p[0] == '(' && p[1] == ')')
                    s->p = p + 2;
            } else if (assignment(s))
                path(s);
            else {
                const char *p = s->p;
                while (p < s->end && (*p == ' ' || *p == '\t'))
                    p++;
                const char *q = p < s->end && *p == '(' ? p + 1 : NULL;
                while (q && q < s->end && (*q == ' ' || *q == '\t'))
                    q++;
                if (q && q < s->end && *q == ')' && !(s->flags & EXPANDS)) {
                    define(s);
                    s->p = q + 1;
                } else if (s->word.len || s->flags) {
                    start = 0;
                    if (!(s->flags & (EXPANDS | PATTERN)) && defined(s))
                        c.runs = RUNS_DONE;
                    else if (s->word.len || s->flags & EXPANDS) {
                        path(s);
                        begin(s, &c);
                    }
                }
            }
        }
    }
    done(s, &c);
    interp__buf_free(&c.eval);
}

int interp__scan_shell(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata)
{
    struct shell s;
    struct functions functions = { .n = 0 };
    size_t work = 0;
    memset(&s, 0, sizeof s);
    s.mem = m;
    s.p = p;
    s.end = p + n;
    s.line = line;
    s.take = take;
    s.userdata = userdata;
    s.functions = &functions;
    s.work = &work;
    s.most = (n + 1024) * WORK;
    interp__buf_init(&functions.names, m);
    interp__buf_init(&s.word, m);
    list(&s, 0);
    if (s.unsure && !s.bad)
        give(&s, POLICY_UNSURE, "very deep nesting", 17);
    interp__buf_free(&s.word);
    interp__buf_free(&functions.names);
    return s.bad ? -1 : s.result;
}
