/* shell_priv.h - the parts of the reader of shell code: words (shell_word.c), what programs do with them (shell_run.c), lists of commands (shell.c) */
#ifndef INTERP_LIB_POLICY_SHELL_PRIV_H
#define INTERP_LIB_POLICY_SHELL_PRIV_H
#include "base/buf.h"
#include "scan.h"

enum { BASH = 1, POSIX = 2 };                    /* which shell may read it. Both: it isn't known which, so only what is the same in both is certain */
enum { QUOTED = 1, EXPANDS = 2, PATTERN = 4 };   /* of a word; EXPANDS: it has parts that are known at run time only, each of them a NUL in its text */
enum { HEREDOCS = 16 };

struct functions { struct interp__buf names; unsigned n; };   /* defined in this code: their names are no programs; NUL after each */
struct word { struct interp__buf text; int flags; size_t pattern, n; const char *raw; };   /* pattern: where its first part begins that is one; raw, n: as it stands in the code */
struct shell {
    const struct interp__mem *mem;
    const char *p, *end;
    uint32_t line;
    unsigned depth, texts;             /* texts: how many this one is in */
    int shells;
    policy_take *take;
    void *userdata;
    struct functions *functions;
    size_t *work, most;                /* steps, all nested texts together: what is read twice by design must not add up */
    int result, bad;
    const char *unsure;                /* not NULL: what can't be read with certainty; the reading ends */
    int goes_on;                       /* of a text that was read: more words behind it could be commands, too */
    struct word word;
    struct heredoc { char end[64]; size_t n; uint8_t strip, quoted, code; } heredocs[HEREDOCS];   /* code: not 0, the shells that may read it */
    unsigned nheredocs, heredocs_of;   /* heredocs_of: the first of this substitution's own */
};

void interp__shell_give(struct shell *s, enum policy_kind kind, const void *p, size_t n);
void interp__shell_unsure(struct shell *s, const char *what);
int interp__shell_over(struct shell *s);   /* also counts */
int interp__shell_at(const struct shell *s, const char *text);
char interp__shell_step(struct shell *s);
void interp__shell_list(struct shell *s, char closer);   /* commands up to closer, or the end */
/* A text that is code itself: the argument of sh -c, eval, trap, what stands between backquotes. stays: what it defines is defined afterwards, too. */
void interp__shell_nested(struct shell *s, const void *p, size_t n, int shells, int stays);
void interp__shell_inside(struct shell *s, int substitution);   /* of (…), $(…), <(…), after the bracket. The word that it stands in goes on after it */

void interp__shell_word(struct shell *s);                /* one word into s->word */
void interp__shell_arithmetic(struct shell *s);          /* up to its )), past them */
void interp__shell_conditional(struct shell *s);         /* [[ … ]], after the [[ */
void interp__shell_path(struct shell *s);                /* the word as a path */
int interp__shell_is(const struct shell *s, const char *w);
int interp__shell_heredoc(struct shell *s, int strip);   /* at the delimiter; its number, -1 when it can't be read */
void interp__shell_heredoc_bodies(struct shell *s);      /* after the newline */

struct program;
struct command {
    const struct program *program;
    int runs;                          /* what its arguments are; shell_run.c knows */
    unsigned words, values;            /* so many words before a command; so many values of options that come next */
    int code_next, options_over, any, stdin_code, fed, finds;   /* fed: the end of it is another's output; finds: within find */
    unsigned bodies;                   /* its here-documents, bit for bit */
    struct interp__buf text, input;    /* of eval; of <<< */
    int text_unknown, has_input, input_unknown;
};
void interp__shell_command(struct shell *s, struct command *c);    /* the word is a command's name */
void interp__shell_argument(struct shell *s, struct command *c);   /* the word is its next argument */
int interp__shell_goes_on(const struct command *c);                /* its next argument could be a command */
void interp__shell_done(struct shell *s, struct command *c);       /* it is whole */
#endif
