/* scanner.c - set-up, code in code, and the end of the scanners of Python and JavaScript */
#include "scanner.h"
#include <string.h>

enum { CODE_DEPTH = 8 };

/* head: what the scanner begins with */
static int scan(const struct scanner *head, const char *p, size_t n, uint32_t line)
{
    struct scanner *s = interp__alloc(head->mem, head->kind->size);
    if (!s)
        return -1;
    *s = *head;
    interp__buf_init(&s->literals.text, s->mem);
    int r = s->kind->scan(s, p, n, line);
    interp__free(head->mem, s);
    return r;
}
int interp__scanner_run(const struct scanner_kind *kind, const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata)
{
    struct aliases aliases = { .n = 0 };
    const struct scanner head = { .kind = kind, .mem = m, .take = take, .userdata = userdata, .aliases = &aliases };
    interp__buf_init(&aliases.names, m);
    int r = scan(&head, p, n, line);
    interp__buf_free(&aliases.names);
    return r;
}

void interp__scanner_give(struct scanner *s, enum policy_kind kind, const void *p, size_t n, uint32_t line)
{
    if (!s->result)
        s->result = s->take(s->userdata, kind, p, n, line);
}

void interp__scanner_inside(struct scanner *s, const char *p, size_t n, uint32_t line)
{
    static const char deep[] = "code in code in code";
    if (s->deep >= CODE_DEPTH) {
        interp__scanner_give(s, POLICY_UNSURE, deep, sizeof deep - 1, line);
        return;
    }
    const struct scanner head = { .kind = s->kind, .mem = s->mem, .take = s->take, .userdata = s->userdata, .deep = s->deep + 1, .aliases = s->aliases };
    struct interp__buf copy;   /* the text is in a buffer that the scanner goes on to use */
    interp__buf_init(&copy, s->mem);
    interp__buf_add(&copy, p, n);
    int r = copy.bad ? -1 : scan(&head, copy.len ? (const char *)copy.p : "", copy.len, line);
    if (r < 0)
        s->bad = 1;
    else if (!s->result)
        s->result = r;
    interp__buf_free(&copy);
}

int interp__scanner_end(struct scanner *s, struct interp__buf *token, const char *unsure, uint32_t line)
{
    if (unsure || s->aliases->over) {
        const char *why = unsure ? unsure : "very many other names for what loads modules";
        interp__scanner_give(s, POLICY_UNSURE, why, strlen(why), line);
    }
    int bad = s->bad | token->bad | s->literals.text.bad | s->aliases->names.bad;
    interp__buf_free(token);
    interp__buf_free(&s->literals.text);
    return bad ? -1 : s->result;
}
