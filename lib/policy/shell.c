/* shell.c - what Bash and sh code runs: the commands of lists, pipelines, loops, substitutions, functions */
#include "shell_priv.h"
#include <string.h>

enum { DEPTH = 48, TEXTS = 12, CASES = 16, FUNCTIONS = 128, WORK = 64 };   /* TEXTS: code in texts in code, each read once more */

void interp__shell_give(struct shell *s, enum policy_kind kind, const void *p, size_t n)
{
    if (!s->result)
        s->result = s->take(s->userdata, kind, p, n, s->line);
    if (s->result)
        s->p = s->end;
}
void interp__shell_unsure(struct shell *s, const char *what)
{
    if (!s->unsure)
        s->unsure = what;
}
int interp__shell_over(struct shell *s)
{
    if (s->result || s->bad || s->unsure)
        return 1;
    if (++*s->work > s->most) {
        interp__shell_unsure(s, "more than is looked at");
        return 1;
    }
    return s->p >= s->end;
}
int interp__shell_at(const struct shell *s, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(s->end - s->p) >= n && !memcmp(s->p, text, n);
}
char interp__shell_step(struct shell *s)
{
    if (*s->p == '\n')
        s->line++;
    return *s->p++;
}

/* Functions that a subshell defines are its own. */
static void forget(struct shell *s, unsigned n, size_t len)
{
    if (s->functions->n > n) {
        s->functions->n = n;
        s->functions->names.len = len;
    }
}

void interp__shell_nested(struct shell *s, const void *p, size_t n, int shells, int stays)
{
    struct shell in;
    unsigned functions = s->functions->n;
    size_t len = s->functions->names.len;
    if (s->depth >= DEPTH || s->texts >= TEXTS) {
        interp__shell_unsure(s, "very deep nesting");
        return;
    }
    char *copy = interp__strndup(s->mem, p, n);   /* the word it comes from is written over */
    if (!copy) {
        s->bad = 1;
        return;
    }
    memset(&in, 0, sizeof in);
    in.mem = s->mem;
    in.p = copy;
    in.end = copy + n;
    in.line = s->line;
    in.depth = s->depth + 1;
    in.texts = s->texts + 1;
    in.shells = shells;
    in.take = s->take;
    in.userdata = s->userdata;
    in.functions = s->functions;
    in.work = s->work;
    in.most = s->most;
    interp__buf_init(&in.word.text, s->mem);
    interp__shell_list(&in, 0);
    s->bad |= in.bad | in.word.text.bad;
    if (in.unsure)
        interp__shell_unsure(s, in.unsure);
    s->goes_on = in.goes_on;
    if (!s->result)
        s->result = in.result;
    if (!stays)
        forget(s, functions, len);
    interp__buf_free(&in.word.text);
    interp__free(s->mem, copy);
}

void interp__shell_inside(struct shell *s, int substitution)
{
    struct word keep = s->word;
    unsigned functions = s->functions->n, heredocs_of = s->heredocs_of;
    size_t len = s->functions->names.len;
    if (s->depth >= DEPTH) {
        interp__shell_unsure(s, "very deep nesting");
        return;
    }
    interp__buf_init(&s->word.text, s->mem);
    if (substitution)
        s->heredocs_of = s->nheredocs;
    s->depth++;
    interp__shell_list(s, ')');
    s->depth--;
    if (substitution && s->nheredocs > s->heredocs_of)
        interp__shell_unsure(s, "a here-document without an end");
    s->heredocs_of = heredocs_of;
    forget(s, functions, len);
    s->bad |= s->word.text.bad;
    interp__buf_free(&s->word.text);
    s->word = keep;
}

static void define(struct shell *s)
{
    if (s->functions->n >= FUNCTIONS || !s->word.text.len)
        return;
    interp__buf_add(&s->functions->names, s->word.text.p, s->word.text.len);
    interp__buf_add(&s->functions->names, "", 1);
    s->functions->n++;
    s->bad |= s->functions->names.bad;
}
static int defined(const struct shell *s)
{
    const struct interp__buf *w = &s->word.text;
    for (size_t i = 0; i < s->functions->names.len;) {
        const char *name = (const char *)s->functions->names.p + i;
        size_t n = strlen(name);
        if (n == w->len && !memcmp(name, w->p, n))
            return 1;
        i += n + 1;
        *s->work += 1 + n / 8;   /* names may be long, and looked for at each command */
    }
    return 0;
}

static int one_of(const struct shell *s, const char *const *words)
{
    for (; *words; words++)
        if (interp__shell_is(s, *words))
            return 1;
    return 0;
}
static void blanks(struct shell *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || interp__shell_at(s, "\\\n"))) {
        if (interp__shell_step(s) == '\\')
            interp__shell_step(s);
    }
}
struct mark { const char *p; uint32_t line; };
static struct mark here(const struct shell *s)
{
    return (struct mark){ s->p, s->line };
}
static void back(struct shell *s, struct mark m)
{
    s->p = m.p;
    s->line = m.line;
}
static int empty_brackets(struct shell *s)
{
    blanks(s);
    if (!interp__shell_at(s, "("))
        return 0;
    s->p++;
    blanks(s);
    if (!interp__shell_at(s, ")"))
        return 0;
    s->p++;
    return 1;
}
/* A word that stands here as it is, not a part of a longer one. */
static int ahead(const struct shell *s, const char *word)
{
    size_t n = strlen(word);
    return interp__shell_at(s, word) && ((size_t)(s->end - s->p) == n || strchr(" \t\n;&|()<>", s->p[n]));
}
static int compound_ahead(const struct shell *s)
{
    static const char *const begin[] = { "{", "if", "while", "until", "for", "select", "case", "[[", "function", "time", "coproc", NULL };
    for (const char *const *w = begin; *w; w++)
        if (ahead(s, *w))
            return 1;
    return s->p < s->end && *s->p == '(';
}

enum place { START, ARGUMENTS, AFTER, WORDS };   /* AFTER: of a compound command, where only words of the grammar follow; WORDS: those of for x in */
enum { NO_PATTERNS, PATTERNS, BRACKET, MORE };   /* of a case, up to its bracket */
struct list {
    struct command c;
    enum place place;
    int patterns, prefixed, doubtful;            /* prefixed: by an assignment or redirection, so that no word is one of the grammar; doubtful: behind &>, which not each shell knows */
    unsigned cases;
};

static void end_command(struct shell *s, struct list *l)
{
    interp__shell_done(s, &l->c);
    l->prefixed = l->doubtful = 0;
    if (!l->patterns)
        l->place = START;
}

static void redirection(struct shell *s, struct command *c)
{
    if (interp__shell_at(s, "<<<")) {
        s->p += 3;
        blanks(s);
        interp__shell_word(s);
        c->has_input = 1;
        c->input_unknown = (s->word.flags & EXPANDS) != 0;
        c->input.len = 0;
        interp__buf_add(&c->input, s->word.text.p, s->word.text.len);
        return;
    }
    if (interp__shell_at(s, "<<")) {
        s->p += 2;
        int strip = s->p < s->end && *s->p == '-';
        s->p += strip;
        int i = interp__shell_heredoc(s, strip);
        if (i >= 0)
            c->bodies |= 1u << i;
        return;
    }
    s->p++;
    if (s->p < s->end && (*s->p == '>' || *s->p == '&' || *s->p == '|' || *s->p == '<') && !interp__shell_at(s, "<(") && !interp__shell_at(s, ">("))
        s->p++;
    blanks(s);
    if (s->p < s->end) {
        interp__shell_word(s);
        interp__shell_path(s);
    }
}

/* for and select, after that word */
static void loop(struct shell *s, struct list *l)
{
    blanks(s);
    l->place = AFTER;
    if (interp__shell_at(s, "((")) {
        if (s->shells & POSIX)
            interp__shell_unsure(s, "for ((, which not each shell knows");
        s->p += 2;
        interp__shell_arithmetic(s);
        return;
    }
    interp__shell_word(s);
    blanks(s);
    while (s->p < s->end && *s->p == '\n' && s->nheredocs == s->heredocs_of) {
        interp__shell_step(s);
        blanks(s);
    }
    if (ahead(s, "in")) {
        s->p += 2;
        l->place = WORDS;
    }
}
static void function(struct shell *s)
{
    blanks(s);
    interp__shell_word(s);
    define(s);
    struct mark m = here(s);
    if (!empty_brackets(s))
        back(s, m);
}
static void choice(struct shell *s, struct list *l)   /* case, after that word */
{
    blanks(s);
    interp__shell_word(s);
    for (blanks(s); s->p < s->end && *s->p == '\n' && s->nheredocs == s->heredocs_of; blanks(s))
        interp__shell_step(s);
    if (!ahead(s, "in") || ++l->cases > CASES) {
        interp__shell_unsure(s, "case");
        return;
    }
    s->p += 2;
    l->patterns = PATTERNS;
}

/* A word of the grammar; 0 when the word is none. */
static int grammar(struct shell *s, struct list *l)
{
    static const char *const go_on[] = { "if", "then", "elif", "else", "while", "until", "do", "!", "{", NULL }, *const ends[] = { "fi", "done", "esac", "}", NULL };
    if (one_of(s, go_on)) {
        l->place = START;
        return 1;
    }
    if (one_of(s, ends)) {
        if (interp__shell_is(s, "esac") && l->cases)
            l->cases--;
        l->place = AFTER;
        return 1;
    }
    if (l->place == AFTER)
        return 0;
    if (interp__shell_is(s, "[[") && s->shells == BASH) {
        interp__shell_conditional(s);
        l->place = AFTER;
    } else if (interp__shell_is(s, "case"))
        choice(s, l);
    else if (interp__shell_is(s, "for") || interp__shell_is(s, "select"))
        loop(s, l);
    else if (interp__shell_is(s, "function"))
        function(s);
    else if (interp__shell_is(s, "coproc")) {   /* the command, or a name and a compound command */
        blanks(s);
        struct mark m = here(s);
        if (compound_ahead(s))
            return 1;
        while (s->p < s->end && !strchr(" \t\n;&|()<>\"'$`\\", *s->p))
            s->p++;
        blanks(s);
        if (!compound_ahead(s))
            back(s, m);
    } else if (interp__shell_is(s, "time")) {
        struct mark m = here(s);
        for (blanks(s); ahead(s, "-p") || ahead(s, "--"); blanks(s))
            s->p += 2;
        if ((s->shells == BASH && !interp__shell_at(s, "-")) || compound_ahead(s) || ahead(s, "!"))
            return 1;
        back(s, m);   /* the program */
        return 0;
    } else
        return 0;
    return 1;
}

static int assignment(const struct shell *s)
{
    const char *p = (const char *)s->word.text.p, *eq = s->word.text.len ? memchr(p, '=', s->word.text.len) : NULL;
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

/* A number, or {name} where shells know that, before a redirection */
static int descriptor(struct shell *s)
{
    const char *p = (const char *)s->word.text.p;
    size_t n = s->word.text.len;
    if (s->p >= s->end || (*s->p != '<' && *s->p != '>') || !n || s->word.flags)
        return 0;
    if (n > 2 && p[0] == '{' && p[n - 1] == '}') {
        if (s->shells & POSIX)
            interp__shell_unsure(s, "{name}>, which not each shell knows");
        return 1;
    }
    for (size_t i = 0; i < n; i++)
        if (p[i] < '0' || p[i] > '9')
            return 0;
    return 1;
}

static void begin(struct shell *s, struct list *l)
{
    struct mark m = here(s);
    if (empty_brackets(s)) {   /* name () */
        if (s->word.flags & EXPANDS)
            interp__shell_give(s, POLICY_DYNAMIC_COMMAND, s->word.text.p, s->word.text.len);
        else
            define(s);
        return;
    }
    back(s, m);
    if (!s->word.text.len && !s->word.flags)
        return;
    l->place = ARGUMENTS;
    if (!(s->word.flags & (EXPANDS | PATTERN)) && defined(s))
        interp__shell_give(s, POLICY_PERHAPS_COMMAND, s->word.text.p, s->word.text.len);
    else {
        interp__shell_path(s);
        interp__shell_command(s, &l->c);
    }
}

static void one_word(struct shell *s, struct list *l)
{
    const char *from = s->p;
    interp__shell_word(s);
    int plain = !(s->word.flags & (QUOTED | EXPANDS));
    if (s->p == from || (l->doubtful && !s->unsure)) {
        interp__shell_unsure(s, s->p == from ? "what stands here" : "&>, which not each shell knows");
        return;
    }
    if (s->unsure || s->bad || s->result)
        return;
    if (l->patterns) {
        if (!plain || !interp__shell_is(s, "esac"))
            l->patterns = MORE;
        else if (l->patterns == PATTERNS) {
            l->patterns = NO_PATTERNS;
            l->cases--;
            l->place = AFTER;
        } else if (l->patterns == MORE)
            interp__shell_unsure(s, "esac in a pattern");
        else
            l->patterns = MORE;
    } else if (descriptor(s))
        ;
    else if (l->place == WORDS)
        interp__shell_path(s);
    else if (l->place == ARGUMENTS)
        interp__shell_argument(s, &l->c);
    else if (plain && !l->prefixed && grammar(s, l))
        ;
    else if (l->place == AFTER)
        interp__shell_unsure(s, "what follows a compound command");
    else if (assignment(s)) {
        interp__shell_path(s);
        l->prefixed = 1;
    } else
        begin(s, l);
}

/* 0: the bracket that ends this list */
static int bracket(struct shell *s, struct list *l, char closer)
{
    char k = *s->p++;
    if (k == ')') {
        if (l->patterns) {
            l->patterns = NO_PATTERNS;
            l->place = START;
        } else if (closer == ')')
            return 0;
        else
            interp__shell_unsure(s, "a bracket that closes nothing");
    } else if (l->patterns == PATTERNS)
        l->patterns = BRACKET;
    else if (l->patterns || l->place != START || l->prefixed)
        interp__shell_unsure(s, "a bracket among words");
    else if (interp__shell_at(s, "(")) {
        if (s->shells & POSIX)
            interp__shell_unsure(s, "((, which not each shell knows");
        s->p++;
        interp__shell_arithmetic(s);
        l->place = AFTER;
    } else {
        interp__shell_inside(s, 0);
        l->place = AFTER;
    }
    return 1;
}

void interp__shell_list(struct shell *s, char closer)
{
    struct list l;
    int closed = !closer, comment = 0;
    memset(&l, 0, sizeof l);
    interp__buf_init(&l.c.text, s->mem);
    interp__buf_init(&l.c.input, s->mem);
    while (!interp__shell_over(s)) {
        char k = *s->p;
        int both = interp__shell_at(s, "&>"), process = interp__shell_at(s, "<(") || interp__shell_at(s, ">(");   /* both: streams of Bash; to others a & and a > */
        if (k == ' ' || k == '\t' || interp__shell_at(s, "\\\n"))
            blanks(s);
        else if (k == '\n') {
            interp__shell_step(s);
            end_command(s, &l);
            interp__shell_heredoc_bodies(s);
        } else if (k == '#') {
            comment = 1;
            while (s->p < s->end && *s->p != '\n')
                s->p++;
        } else if (k == '(' || k == ')') {
            if (!bracket(s, &l, closer)) {
                closed = 1;
                break;
            }
        } else if (k == '|' && l.patterns)
            s->p++;
        else if (l.patterns && (k == ';' || k == '&' || k == '<' || k == '>'))
            interp__shell_unsure(s, "what stands in a pattern");
        else if (k == ';' || k == '|' || (k == '&' && (!both || s->shells & POSIX))) {
            int next_case = l.cases && (interp__shell_at(s, ";;") || interp__shell_at(s, ";&"));
            end_command(s, &l);
            if (both) {
                s->p++;
                redirection(s, &l.c);
                l.doubtful = 1;
            } else
                while (s->p < s->end && (*s->p == ';' || *s->p == '|' || *s->p == '&') && !interp__shell_at(s, "&>"))
                    s->p++;
            if (next_case)
                l.patterns = PATTERNS;
        } else if (both || ((k == '<' || k == '>') && !process)) {
            s->p += both;
            redirection(s, &l.c);
            l.prefixed = 1;
        } else
            one_word(s, &l);
    }
    s->goes_on = comment || l.place != ARGUMENTS || interp__shell_goes_on(&l.c);
    interp__shell_done(s, &l.c);
    if (!s->result && !s->bad) {
        if (!closed)
            interp__shell_unsure(s, "a bracket without an end");
        else if (l.patterns || l.cases)
            interp__shell_unsure(s, "case without an end");
        else if (!closer && s->nheredocs > s->heredocs_of)
            interp__shell_unsure(s, "a here-document without an end");
    }
    interp__buf_free(&l.c.text);
    interp__buf_free(&l.c.input);
}

int interp__scan_shell(const struct interp__mem *m, const char *p, size_t n, uint32_t line, int bash, policy_take *take, void *userdata)
{
    struct shell s;
    struct functions functions = { .n = 0 };
    size_t work = 0;
    memset(&s, 0, sizeof s);
    s.mem = m;
    s.p = p;
    s.end = p + n;
    s.line = line;
    s.shells = bash ? BASH : POSIX;
    s.take = take;
    s.userdata = userdata;
    s.functions = &functions;
    s.work = &work;
    s.most = (n + 1024) * WORK;
    interp__buf_init(&functions.names, m);
    interp__buf_init(&s.word.text, m);
    if (memchr(p, 0, n))
        interp__shell_unsure(&s, "a NUL");
    else
        interp__shell_list(&s, 0);
    if (s.unsure && !s.bad)
        interp__shell_give(&s, POLICY_UNSURE, s.unsure, strlen(s.unsure));
    interp__buf_free(&s.word.text);
    interp__buf_free(&functions.names);
    return s.bad ? -1 : s.result;
}
