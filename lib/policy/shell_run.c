/* shell_run.c - what programs and builtins do with their arguments where these are commands or code again. Which options of theirs take a value has to be known, or a value is taken for the command */
#include "shell_priv.h"
#include <string.h>

enum {
    RUNS_NOTHING, RUNS_DONE,
    RUNS_REST,       /* options, then a command */
    RUNS_EVAL,       /* options, then code in several words */
    RUNS_OPTIONS,    /* options anywhere, some with code */
    RUNS_ANYWHERE,   /* a command begins somewhere: each word may be it */
    RUNS_NEXT,       /* the next word may be one, when this was none at all */
    RUNS_EACH,       /* each word is code */
    RUNS_SHELL, RUNS_TRAP, RUNS_ALIAS, RUNS_UNSET, RUNS_FIND
};
enum { INPUT = 1, SHELL = 2, ASSIGNS = 4, NUMBER = 8 };   /* its input is the end of a command; without a command it is a shell; NAME=value may stand before; what stands before is a number */

/* options, by letter, with what comes behind it: ":" a value, "?" perhaps one, as a part of the word, "!" code, "." with it nothing runs. "#": digits, too. Long ones: "=" a value, "!" code, "." nothing runs.
   words: so many stand before the command; of a shell, which one it is. */
static const struct program { const char *name; uint8_t runs, words, flags; const char *options, *longs; } programs[] = {
    { "command", RUNS_REST, 0, 0, "pv.V.", "" },
    { "builtin", RUNS_REST, 0, 0, "", "" },
    { "exec", RUNS_REST, 0, 0, "cla:", "" },
    { "nohup", RUNS_REST, 0, 0, "", "help version" },
    { "sudo", RUNS_REST, 0, SHELL | ASSIGNS, "Aa:BbC:c:D:Ee.g:Hh:iK.kl.Nnp:PR:r:SsT:t:U:u:V.v.", "askpass auth-type= background bell close-from= login-class= chdir= preserve-env edit. group= set-home host= login remove-timestamp. "
      "reset-timestamp list. non-interactive no-update preserve-groups prompt= chroot= role= stdin shell command-timeout= type= other-user= user= help version. validate." },
    { "doas", RUNS_REST, 0, SHELL, "a:C:L.nsu:", "" },
    { "env", RUNS_REST, 0, ASSIGNS, "iC:u:S!0va:P:", "ignore-environment null unset= chdir= split-string! block-signal default-signal ignore-signal list-signal-handling debug argv0= help version" },
    { "nice", RUNS_REST, 0, 0, "n:#", "adjustment= help version" },
    { "ionice", RUNS_REST, 0, 0, "c:n:p.P.u.thV", "class= classdata= pid. pgid. uid. ignore help version" },
    { "timeout", RUNS_REST, 1, NUMBER, "k:s:vfp", "kill-after= signal= foreground preserve-status verbose help version" },
    { "stdbuf", RUNS_REST, 0, 0, "i:o:e:", "input= output= error= help version" },
    { "setsid", RUNS_REST, 0, 0, "cfwhV", "ctty fork wait help version" },
    { "chrt", RUNS_REST, 1, NUMBER, "abdfimop.rRT:P:D:vhV", "all-tasks batch deadline fifo idle max other pid. rr reset-on-fork sched-runtime= sched-period= sched-deadline= verbose help version" },
    { "taskset", RUNS_REST, 1, 0, "acp.hV", "all-tasks cpu-list pid. help version" },
    { "flock", RUNS_REST, 1, 0, "sexnuow:E:c!FhV", "shared exclusive unlock nonblock nb wait= timeout= conflict-exit-code= close command! no-fork fcntl verbose help version" },
    { "chroot", RUNS_REST, 1, SHELL, "", "groups= userspec= skip-chdir help version" },
    { "unshare", RUNS_REST, 0, SHELL, "muinpUCTfrcR:w:S:G:l:hV", "mount uts ipc net pid user cgroup time fork map-user= map-group= map-users= map-groups= map-root-user map-current-user map-auto map-subids kill-child mount-proc "
      "mount-binfmt propagation= setgroups= keep-caps root= wd= setuid= setgid= monotonic= boottime= load-interp= owner= help version" },
    { "nsenter", RUNS_REST, 0, SHELL, "at:m?u?i?n?p?C?U?T?S:G:r?w?W:eFZchV", "all target= mount uts ipc net pid cgroup user user-parent time setuid= setgid= preserve-credentials keep-caps root wd wdns= env no-fork follow-context "
      "join-cgroup net-socket= help version" },
    { "xargs", RUNS_REST, 0, INPUT, "0a:d:E:e?I:i?J:L:l?n:oP:prR:S:s:tx", "null arg-file= delimiter= eof replace max-lines max-args= open-tty max-procs= interactive process-slot-var= no-run-if-empty max-chars= show-limits verbose exit "
      "help version" },
    { "time", RUNS_REST, 0, 0, "af:o:pqvhV", "append format= output= portability quiet verbose help version" },
    { "busybox", RUNS_REST, 0, 0, "", "help list list-full install" },
    { "toybox", RUNS_REST, 0, 0, "", "help long" },
    { "eval", RUNS_EVAL, 0, 0, "", "" },
    { "watch", RUNS_EVAL, 0, 0, "bCcd?efghn:pq:rs:tvwx", "beep color no-color differences errexit chgexit equexit= follow interval= precise no-rerun shotsdir= no-title no-wrap exec help version" },
    { "parallel", RUNS_EVAL, 0, SHELL, "0a:C:d:E:I:j:kL:mN:n:P:qrS:s:tuvXx", "arg-file= arg-sep= bar block= citation colsep= delay= delimiter= dry-run env= eta group halt= joblog= jobs= keep-order lb line-buffer link load= max-args= max-procs= "
      "memfree= nice= no-notice null pipe plus progress quote results= resume resume-failed retries= silent sshlogin= tag timeout= tmpdir= ungroup verbose wd= will-cite workdir= xapply help version" },
    { "script", RUNS_OPTIONS, 0, SHELL, "I:O:B:T:t?m:ac!efE:o:qhV", "log-in= log-out= log-io= log-timing= timing logging-format= append command! return flush force echo= output-limit= quiet help version" },
    { "mapfile", RUNS_OPTIONS, 0, 0, "d:n:O:s:tu:C!c:", "" },
    { "readarray", RUNS_OPTIONS, 0, 0, "d:n:O:s:tu:C!c:", "" },
    { "su", RUNS_ANYWHERE, 0, SHELL, "c!C!fg:G:lmpPs:Tw:hV", "command! session-command! fast group= supp-group= login preserve-environment pty shell= whitelist-environment= help version" },
    { "runuser", RUNS_ANYWHERE, 0, SHELL, "c!C!fg:G:lmpPs:Tu:w:hV", "command! session-command! fast group= supp-group= login preserve-environment pty shell= user= whitelist-environment= help version" },
    { "sg", RUNS_ANYWHERE, 0, SHELL, "c!", "" },
    { "sh", RUNS_SHELL, POSIX, 0, "", "" },
    { "dash", RUNS_SHELL, POSIX, 0, "", "" },
    { "ash", RUNS_SHELL, POSIX, 0, "", "" },
    { "bash", RUNS_SHELL, BASH, 0, "", "rcfile= init-file=" },
    { "rbash", RUNS_SHELL, BASH, 0, "", "rcfile= init-file=" },
    { "zsh", RUNS_SHELL, BASH | POSIX, 0, "", "" },
    { "ksh", RUNS_SHELL, BASH | POSIX, 0, "", "" },
    { "mksh", RUNS_SHELL, BASH | POSIX, 0, "", "" },
    { "yash", RUNS_SHELL, BASH | POSIX, 0, "", "" },
    { "fish", RUNS_SHELL, BASH | POSIX, 0, "", "" },
    { "trap", RUNS_TRAP, 0, 0, "", "" },
    { "alias", RUNS_ALIAS, 0, 0, "", "" },
    { "unset", RUNS_UNSET, 0, 0, "", "" },
    { "find", RUNS_FIND, 0, 0, "", "" },
    { "fd", RUNS_FIND, 0, 0, "", "" },
    { "fdfind", RUNS_FIND, 0, 0, "", "" },
};
/* Their options are many, or a language of their own. */
static const char *const anywhere[] = { "bwrap", "capsh", "catchsegv", "cgexec", "chpst", "chronic", "daemonize", "dbus-launch", "dbus-run-session", "dumb-init", "eatmydata", "entr", "envdir", "fakechroot", "fakeroot", "faketime",
                                        "firejail", "gdb", "gosu", "ifne", "linux32", "linux64", "ltrace", "numactl", "perf", "pkexec", "prlimit", "proxychains", "proxychains4", "rlwrap", "run-one", "screen", "setarch",
                                        "setpriv", "setuidgid", "softlimit", "start-stop-daemon", "strace", "su-exec", "systemd-run", "tini", "tmux", "torsocks", "unbuffer", "valgrind", "watchexec", "xvfb-run" };
static const struct program somewhere = { "a command somewhere", RUNS_ANYWHERE, 0, 0, "", "" };

static const struct program *program(const struct shell *s)
{
    const struct interp__buf *w = &s->word.text;
    const char *p = w->len ? (const char *)w->p : "", *slash = w->len ? memrchr(p, '/', w->len) : NULL, *name = slash ? slash + 1 : p;
    size_t n = (size_t)(p + w->len - name);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (n == strlen(programs[i].name) && !memcmp(name, programs[i].name, n))
            return &programs[i];
    for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++)
        if (n == strlen(anywhere[i]) && !memcmp(name, anywhere[i], n))
            return &somewhere;
    return NULL;
}

static int unknown(const struct shell *s)
{
    return (s->word.flags & EXPANDS) != 0;
}
static void dynamic(struct shell *s, const struct command *c)
{
    const char *name = c->program ? c->program->name : "$";
    interp__shell_give(s, POLICY_DYNAMIC_COMMAND, name, strlen(name));
}
static void look_anywhere(struct shell *s, struct command *c)
{
    dynamic(s, c);
    c->runs = RUNS_ANYWHERE;
}
static void code(struct shell *s, const struct command *c, const void *p, size_t n, int has_unknown, int shells)
{
    if (has_unknown)
        dynamic(s, c);
    if (n && !s->result && !s->bad)
        interp__shell_nested(s, p, n, shells, c->runs == RUNS_EVAL);
}

/* A name with parts that come at its run: what it is when they are empty, each of {a,b}, and each word that stands in them: ${x:-word}, $(which word). */
static void candidates(struct shell *s)
{
    const struct word *w = &s->word;
    struct interp__buf b;
    interp__buf_init(&b, s->mem);
    for (size_t i = 0; i <= w->text.len; i++) {
        int ends = i == w->text.len || (w->flags & PATTERN && w->text.p[i] && strchr("{},", w->text.p[i]));
        if (!ends && w->text.p[i])
            interp__buf_add(&b, w->text.p + i, 1);
        else if (ends) {
            if (b.len)
                interp__shell_give(s, POLICY_PERHAPS_COMMAND, b.p, b.len);
            b.len = 0;
        }
    }
    s->bad |= b.bad;
    interp__buf_free(&b);
    const char *end = w->raw + w->n;
    for (const char *p = w->raw; w->flags & EXPANDS && p < end && !s->result;) {
        size_t n = 0;
        while (p + n < end && p[n] && !strchr(" \t\n\"'`$(){}:=?+;|&<>", p[n]))
            n++;
        const char *dash = n ? memchr(p, '-', n) : NULL;   /* ${x-word} */
        if (n)
            interp__shell_give(s, POLICY_PERHAPS_COMMAND, p, n);
        if (dash && dash + 1 < p + n && !s->result)
            interp__shell_give(s, POLICY_PERHAPS_COMMAND, dash + 1, (size_t)(p + n - dash - 1));
        p += n + 1;
    }
}

void interp__shell_command(struct shell *s, struct command *c)
{
    const struct interp__buf *w = &s->word.text;
    const struct program *g = program(s);
    int nothing = !(s->word.flags & QUOTED) && unknown(s);   /* may be none at all, or more than one */
    for (size_t i = 0; i < w->len; i++)
        nothing = nothing && !w->p[i];
    interp__shell_give(s, s->word.flags & (EXPANDS | PATTERN) ? POLICY_DYNAMIC_COMMAND : POLICY_COMMAND, w->len ? (const char *)w->p : "$", w->len ? w->len : 1);
    if (s->word.flags & (EXPANDS | PATTERN))
        candidates(s);
    if (interp__shell_is(s, "source") || interp__shell_is(s, "."))
        interp__shell_give(s, POLICY_DYNAMIC_COMMAND, w->p, w->len);
    c->program = g;
    c->runs = g ? g->runs : nothing ? RUNS_NEXT : RUNS_NOTHING;
    c->words = g && g->runs != RUNS_SHELL ? g->words : 0;
    c->values = 0;
    c->code_next = c->options_over = c->any = c->stdin_code = 0;
    if (g && g->runs == RUNS_FIND)
        c->finds = 1;
    if (c->runs == RUNS_ANYWHERE)
        dynamic(s, c);
}

/* ---- options */

enum takes { NOTHING, VALUE, CODE, ENDS, NOT_KNOWN };   /* what an option takes of the next word; ENDS: nothing runs */
static enum takes taken(char mark)
{
    return mark == '=' || mark == ':' ? VALUE : mark == '!' ? CODE : mark == '.' ? ENDS : NOTHING;
}
/* --name: in full, or as much as is enough */
static enum takes long_option(const char *longs, const char *p, size_t n)
{
    enum takes found = NOT_KNOWN;
    while (*longs) {
        size_t k = strcspn(longs, " "), name = k && strchr("=!.", longs[k - 1]) ? k - 1 : k;
        enum takes t = taken(longs[name]);
        if (name >= n && !memcmp(longs, p, n)) {
            if (name == n)
                return t;
            if (found != NOT_KNOWN && found != t)
                return NOT_KNOWN;
            found = t;
        }
        longs += k + (longs[k] == ' ');
    }
    return found;
}
/* The word is one option or several. */
static void option(struct shell *s, struct command *c)
{
    const struct program *g = c->program;
    const char *p = (const char *)s->word.text.p, *inline_code = NULL, *end = p + s->word.text.len;
    enum takes t = NOTHING;
    if (p[1] == '-') {
        const char *eq = memchr(p, '=', s->word.text.len);
        t = long_option(g->longs, p + 2, (size_t)((eq ? eq : end) - p - 2));
        if (eq && t == CODE)
            inline_code = eq + 1;
        if (eq && (t == CODE || t == VALUE))
            t = NOTHING;
    } else
        for (const char *k = p + 1; k < end && t == NOTHING; k++) {
            const char *at = *k > ' ' && !strchr(":?!.#", *k) ? strchr(g->options, *k) : NULL;
            if (!at) {
                t = *k >= '0' && *k <= '9' && strchr(g->options, '#') ? NOTHING : NOT_KNOWN;
                continue;
            }
            t = taken(at[1]);
            if (k + 1 < end && t == CODE)
                inline_code = k + 1;
            if (at[1] == '?' || (k + 1 < end && (t == CODE || t == VALUE))) {   /* the rest is its value */
                t = NOTHING;
                break;
            }
        }
    if (inline_code) {
        c->any = 1;
        code(s, c, inline_code, (size_t)(end - inline_code), unknown(s), BASH | POSIX);
        if (c->runs == RUNS_REST && c->program->flags & ASSIGNS && s->goes_on)   /* env -S: the words that follow belong to it */
            interp__shell_unsure(s, "env -S");
    } else if (t == VALUE)
        c->values++;
    else if (t == CODE)
        c->code_next = 1;
    else if (t == ENDS)
        c->runs = RUNS_DONE;
    else if (t == NOT_KNOWN && c->runs != RUNS_OPTIONS && c->runs != RUNS_ANYWHERE)
        look_anywhere(s, c);
}

/* ---- arguments */

static void perhaps(struct shell *s, struct command *c)
{
    if (program(s))
        interp__shell_command(s, c);
    else if (s->word.text.len)
        interp__shell_give(s, POLICY_PERHAPS_COMMAND, s->word.text.p, s->word.text.len);
}
/* In front of a command: 1 when the word is none. */
static int in_front(struct shell *s, struct command *c)
{
    const char *p = (const char *)s->word.text.p;
    size_t n = s->word.text.len;
    int is_option = n > 1 && p[0] == '-' && !c->options_over;
    if (c->code_next) {
        c->code_next = 0;
        c->any = 1;
        code(s, c, p, n, unknown(s), BASH | POSIX);
        if (c->runs == RUNS_REST && c->program->flags & ASSIGNS && s->goes_on)
            interp__shell_unsure(s, "env -S");
    } else if (c->values)
        c->values--;
    else if (is_option && n == 2 && p[1] == '-')
        c->options_over = 1;
    else if (is_option)
        option(s, c);
    else if (!n || (n == 1 && *p == '-'))
        ;
    else if (c->program->flags & ASSIGNS && memchr(p, '=', n))
        ;
    else if (c->words && (!(c->program->flags & NUMBER) || !*p || *p == '.' || (*p >= '0' && *p <= '9')))
        c->words--;
    else
        return 0;
    return 1;
}

static void shell_option(struct shell *s, struct command *c)
{
    const char *p = (const char *)s->word.text.p;
    size_t n = s->word.text.len;
    if (p[1] == '-') {
        c->options_over = n == 2;
        c->values += n > 2 && long_option(c->program->longs, p + 2, n - 2) == VALUE;
        return;
    }
    for (size_t i = 1; i < n; i++) {
        c->code_next |= p[i] == 'c' && p[0] == '-';
        c->stdin_code |= p[i] == 's' && p[0] == '-';
        c->values += p[i] == 'o' || p[i] == 'O';   /* each takes a word of its own */
    }
    if (unknown(s))
        dynamic(s, c);
}
static void of_shell(struct shell *s, struct command *c)
{
    const char *p = (const char *)s->word.text.p;
    size_t n = s->word.text.len;
    if (c->values)
        c->values--;
    else if (!c->options_over && n > 1 && (*p == '-' || *p == '+'))
        shell_option(s, c);
    else if (!c->options_over && n == 1 && *p == '-')
        c->options_over = 1;
    else if (c->code_next) {
        c->runs = RUNS_DONE;
        code(s, c, p, n, unknown(s), c->program->words);
    } else if (c->stdin_code)
        ;   /* $1 and so on */
    else if (interp__shell_is(s, "/dev/stdin"))
        c->stdin_code = 1;
    else {   /* a script, or options in a variable */
        dynamic(s, c);
        interp__shell_give(s, POLICY_PERHAPS_COMMAND, p, n);
        c->any = 1;
        if (!unknown(s))
            c->runs = RUNS_DONE;
    }
}

static void of_find(struct shell *s, struct command *c)
{
    static const char *const starts[] = { "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (interp__shell_is(s, starts[i]))
            c->code_next = 1;
}

static void collect(struct shell *s, struct command *c)
{
    if (c->text.len)
        interp__buf_add(&c->text, " ", 1);
    interp__buf_add(&c->text, s->word.text.p, s->word.text.len);
    c->text_unknown |= unknown(s);
    c->any = 1;
    s->bad |= c->text.bad;
}

static void finish(struct shell *s, struct command *c)
{
    int shells = c->runs == RUNS_SHELL ? c->program->words : BASH | POSIX;
    if (c->runs == RUNS_EVAL && c->text.len)
        code(s, c, c->text.p, c->text.len, c->text_unknown, !strcmp(c->program->name, "eval") ? s->shells : BASH | POSIX);
    c->text.len = 0;
    c->text_unknown = 0;
    if (c->fed && (c->runs == RUNS_REST || c->runs == RUNS_SHELL))
        dynamic(s, c);
    if (c->runs == RUNS_SHELL ? c->any || c->code_next : c->any || c->runs < RUNS_REST || !c->program || !(c->program->flags & SHELL))
        return;
    for (unsigned i = 0; i < s->nheredocs; i++)   /* its input is code */
        if (c->bodies >> i & 1)
            s->heredocs[i].code = (uint8_t)shells;
    if (c->has_input)
        code(s, c, c->input.p, c->input.len, c->input_unknown, shells);
    else if (!c->bodies)
        dynamic(s, c);
}

void interp__shell_argument(struct shell *s, struct command *c)
{
    const char *p = (const char *)s->word.text.p;
    size_t n = s->word.text.len;
    int is_option = n > 1 && p[0] == '-';
    interp__shell_path(s);
    if (s->result)
        return;
    if (c->finds && (interp__shell_is(s, ";") || interp__shell_is(s, "+") || (c->runs != RUNS_FIND && interp__shell_is(s, "-exec")))) {   /* back from what it runs */
        finish(s, c);
        c->runs = RUNS_FIND;
        c->code_next = 0;
    }
    switch (c->runs) {
    case RUNS_REST:
        if (in_front(s, c))
            break;
        c->fed |= c->program->flags & INPUT;
        interp__shell_command(s, c);
        if (unknown(s) && !(s->word.flags & QUOTED) && c->runs <= RUNS_NEXT && c->runs != RUNS_REST)
            c->runs = RUNS_ANYWHERE;
        break;
    case RUNS_EVAL:
        if (c->program->flags & SHELL && (interp__shell_is(s, ":::") || interp__shell_is(s, "::::") || interp__shell_is(s, ":::+"))) {   /* what comes is put where {} is, or is the command */
            int runs = c->text.len ? RUNS_ANYWHERE : RUNS_EACH;
            c->any = 1;
            finish(s, c);
            c->runs = runs;
        } else if (c->any || !in_front(s, c))
            collect(s, c);
        break;
    case RUNS_OPTIONS:
        if (c->code_next || c->values || is_option)
            in_front(s, c);
        break;
    case RUNS_ANYWHERE:
        if (c->program && (c->code_next || (is_option && !c->options_over)))
            in_front(s, c);
        else
            perhaps(s, c);
        c->values = 0;   /* a value may be the command as well */
        break;
    case RUNS_EACH:
        code(s, c, p, n, unknown(s), BASH | POSIX);
        break;
    case RUNS_NEXT:
        if (!is_option && !(n && memchr(p, '=', n))) {
            c->runs = RUNS_NOTHING;
            perhaps(s, c);
        }
        break;
    case RUNS_SHELL:
        of_shell(s, c);
        break;
    case RUNS_TRAP:
        if (!is_option) {
            c->runs = RUNS_DONE;
            if (n && !(n == 1 && (*p == '-' || (*p >= '0' && *p <= '9'))))
                code(s, c, p, n, unknown(s), s->shells);
        }
        break;
    case RUNS_ALIAS: {
        const char *eq = n ? memchr(p, '=', n) : NULL;
        if (eq) {
            code(s, c, eq + 1, (size_t)(p + n - eq - 1), unknown(s), s->shells);
            if (eq + 1 == p + n || s->goes_on)
                interp__shell_unsure(s, "an alias for a part of a command");
        } else if (unknown(s))
            dynamic(s, c);
        break;
    }
    case RUNS_UNSET:   /* perhaps a function: the name is a program's again */
        s->functions->n = 0;
        s->functions->names.len = 0;
        break;
    case RUNS_FIND:
        if (c->code_next)
            interp__shell_command(s, c);
        else
            of_find(s, c);
        break;
    default:
        break;
    }
}

int interp__shell_goes_on(const struct command *c)
{
    return c->runs > RUNS_DONE;
}

void interp__shell_done(struct shell *s, struct command *c)
{
    finish(s, c);
    c->program = NULL;
    c->runs = RUNS_NOTHING;
    c->bodies = c->values = c->words = 0;
    c->code_next = c->options_over = c->any = c->stdin_code = c->fed = c->finds = c->has_input = c->input_unknown = 0;
    c->input.len = 0;
}
