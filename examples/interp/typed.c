/* typed.c - lines from a person or a pipe.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "typed.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_LIBEDIT
#  include <histedit.h>
#endif

struct typed {
    int terminal;
    char *line;
    size_t room;
    const char *prompt;
#ifdef HAVE_LIBEDIT
    EditLine *edit;
    History *history;
#endif
};

#ifdef HAVE_LIBEDIT
static char *prompt_of(EditLine *e)
{
    void *l = NULL;
    el_get(e, EL_CLIENTDATA, &l);
    return (char *)(uintptr_t)((struct typed *)l)->prompt;
}

static void edit_open(struct typed *l)
{
    HistEvent ev;
    l->edit = el_init("interp", stdin, stdout, stderr);
    l->history = l->edit ? history_init() : NULL;
    if (!l->edit)
        return;
    el_set(l->edit, EL_CLIENTDATA, l);
    el_set(l->edit, EL_PROMPT, prompt_of);
    el_set(l->edit, EL_EDITOR, "emacs");
    if (l->history) {
        history(l->history, &ev, H_SETSIZE, 1000);
        el_set(l->edit, EL_HIST, history, l->history);
    }
}
#endif

struct typed *typed_open(void)
{
    struct typed *l = xrealloc(NULL, sizeof *l);
    memset(l, 0, sizeof *l);
    l->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
#ifdef HAVE_LIBEDIT
    if (l->terminal)
        edit_open(l);
#endif
    return l;
}

int typed_read(struct typed *l, const char *prompt, struct buf *b)
{
    errno = 0;
#ifdef HAVE_LIBEDIT
    if (l->edit) {
        int n = 0;
        l->prompt = prompt;
        el_set(l->edit, EL_PREP_TERM, 1);   /* before the prompt is there: a key that comes between them would mean something else */
        const char *text = el_gets(l->edit, &n);
        if (!text || n <= 0)
            return errno == EINTR ? -1 : 0;
        buf_add(b, text, (size_t)n);
        return 1;
    }
#endif
    if (l->terminal) {
        fputs(prompt, stdout);
        fflush(stdout);
    }
    ssize_t n = getline(&l->line, &l->room, stdin);
    if (n <= 0) {
        int interrupted = errno == EINTR;
        clearerr(stdin);
        return interrupted ? -1 : 0;
    }
    buf_add(b, l->line, (size_t)n);
    return 1;
}

void typed_remember(struct typed *l, const char *text)
{
#ifdef HAVE_LIBEDIT
    HistEvent ev;
    if (l->history)
        history(l->history, &ev, H_ENTER, text);
#else
    (void)l;
    (void)text;
#endif
}

void typed_close(struct typed *l)
{
#ifdef HAVE_LIBEDIT
    if (l->history)
        history_end(l->history);
    if (l->edit)
        el_end(l->edit);
#endif
    free(l->line);
    free(l);
}
