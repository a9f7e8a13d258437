/* literal.c - texts put together from literals, and other names for what loads modules */
#include "literal.h"
#include <string.h>

enum { ALIASES = 32, ALIAS_BYTES = 64 };

void interp__literal_begin(struct literals *l, unsigned level, uint32_t line, enum use use)
{
    struct literal *t = &l->at[level];
    if (!t->open) {
        t->from = l->text.len;
        t->line = line;
        t->use = (uint8_t)use;
    }
    t->added = t->open == 2;
    t->open = 1;
    t->piece = l->text.len;
}
void interp__literal_add(struct literals *l, const void *p, size_t n)
{
    interp__buf_add(&l->text, p, n);
}
const char *interp__literal_end(struct literals *l, unsigned level, char next, size_t *n)
{
    struct literal *t = &l->at[level];
    const char *p = l->text.len > t->from ? (const char *)l->text.p + t->from : "";
    size_t k = l->text.len - t->from;
    const char *hole = NULL;
    if (t->open == 2)   /* + and no literal */
        hole = p + k;
    else if (t->added && next && strchr(".[(%*", next))   /* of the last piece only */
        hole = p + (t->piece - t->from);
    else if (next == '%' || next == '.')   /* '…%s' % x, '…{}'.format(x) */
        hole = memchr(p, next == '%' ? '%' : '{', k);
    if (hole) {
        l->text.len = (size_t)(hole - p) + t->from;
        interp__buf_add(&l->text, "", 1);
        k = l->text.len - t->from;
        p = (const char *)l->text.p + t->from;
    }
    t->open = 0;
    l->text.len = t->from;
    *n = l->text.bad ? 0 : k;
    return p;
}

void interp__alias_add(struct aliases *a, const char *name, size_t n, enum use use)
{
    char c = (char)use;
    if (!n || interp__alias_find(a, name, n))
        return;
    if (a->n >= ALIASES || n >= ALIAS_BYTES) {
        a->over = 1;
        return;
    }
    char k = (char)n;
    interp__buf_add(&a->names, &k, 1);
    interp__buf_add(&a->names, &c, 1);
    interp__buf_add(&a->names, name, n);
    a->n++;
}
enum use interp__alias_find(const struct aliases *a, const void *name, size_t n)
{
    for (size_t i = 0; i < a->names.len; i += 2 + a->names.p[i])
        if (a->names.p[i] == n && !memcmp(a->names.p + i + 2, name, n))
            return (enum use)a->names.p[i + 1];
    return USE_NONE;
}
