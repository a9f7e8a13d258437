/* list.c - the elements of a JSON array, one at a time: a list of everything that an engine has may be longer than what is parsed at once */
#include "engine_priv.h"

static size_t blank(const uint8_t *p, size_t n, size_t at)
{
    while (at < n && (p[at] == ' ' || p[at] == '\t' || p[at] == '\r' || p[at] == '\n'))
        at++;
    return at;
}

/* Where the value that begins at `at` ends: at a comma or a bracket that is not its own. What is in between is the parser's to judge. */
static size_t value_end(const uint8_t *p, size_t n, size_t at)
{
    size_t depth = 0;
    for (int text = 0; at < n; at++) {
        if (text) {
            text = p[at] != '"';
            at += p[at] == '\\';
        } else if (p[at] == '"')
            text = 1;
        else if (p[at] == '[' || p[at] == '{')
            depth++;
        else if (!depth && (p[at] == ',' || p[at] == ']'))
            return at;
        else if (p[at] == ']' || p[at] == '}') {
            if (!depth--)
                return n;
        }
    }
    return n;
}

int interp__list_next(const uint8_t *p, size_t n, size_t *at, size_t *from, size_t *len)
{
    int first = !*at;
    size_t i = blank(p, n, *at);
    if (i < n && p[i] == (first ? '[' : ','))
        i = blank(p, n, i + 1);
    else if (i >= n || first || p[i] != ']')
        return -1;
    else
        return blank(p, n, i + 1) == n ? 0 : -1;
    if (first && i < n && p[i] == ']')
        return blank(p, n, i + 1) == n ? 0 : -1;
    size_t end = value_end(p, n, i);
    if (end >= n || end == i)
        return -1;
    *from = i;
    *len = end - i;
    *at = end;
    return 1;
}
