#include "gaps.h"
#include <stdint.h>
#include <string.h>

/* Ours; ours of a long string or list; Node's util.inspect. # is a number. */
static const char *const MARKS[] = { "... [# characters left out] ...", "... [# more]", "... # more characters", "... # more character" };
enum { LEAST = 11, MOST = 64, DIGITS = 20 };   /* bytes of a mark */

/* How far p follows the mark: its length, 0 where it does not. An end of the text within it: all of it (part), or 0. */
static size_t follows(const uint8_t *p, size_t n, const char *mark, int part)
{
    size_t k = 0;
    for (; *mark; mark++) {
        size_t digits = 0;
        while (*mark == '#' && k < n && digits < DIGITS && p[k] >= '0' && p[k] <= '9')
            k++, digits++;
        if (*mark == '#' && digits)
            continue;
        if (k == n)
            return part ? n : 0;
        if (*mark == '#' || p[k] != (uint8_t)*mark)
            return 0;
        k++;
    }
    return k;
}

static size_t whole_mark(const uint8_t *p, size_t n)
{
    size_t k = 0;
    if (n < LEAST || memcmp(p, "... ", 4) || (p[4] != '[' && (p[4] < '0' || p[4] > '9')))
        return 0;
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS && !k; i++)
        k = follows(p, n, MARKS[i], 0);
    return k;
}

/* What a text ends with, and begins with, that a cut left of a mark. */
static size_t mark_before(const uint8_t *p, size_t n)
{
    for (size_t k = n < MOST ? n : MOST; k; k--)
        for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
            if (p[n - k] == '.' && follows(p + n - k, k, MARKS[i], 1) == k)
                return k;
    return 0;
}
static size_t mark_after(const uint8_t *p, size_t n)
{
    size_t most = 0;
    if (whole_mark(p, n))   /* the next one */
        return 0;
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
        for (const char *m = MARKS[i] + 1; *m; m++) {
            size_t k = follows(p, n, m, 0);
            most = k > most ? k : most;
        }
    return most;
}

static size_t breaks_before(const uint8_t *p, size_t n)
{
    size_t k = n;
    for (;;)
        if (k && (p[k - 1] == '\n' || p[k - 1] == '\r'))
            k--;
        else if (k > 1 && p[k - 1] == 'n' && p[k - 2] == '\\')
            for (k--; k && p[k - 1] == '\\';)
                k--;
        else
            return n - k;
}
static size_t breaks_after(const uint8_t *p, size_t n)
{
    for (size_t k = 0;;) {
        size_t to = k;
        while (to < n && p[to] == '\\')
            to++;
        if (to > k && to < n && p[to] == 'n')
            k = to + 1;
        else if (k < n && (p[k] == '\n' || p[k] == '\r'))
            k++;
        else
            return k;
    }
}
static size_t quote_before(const uint8_t *p, size_t n)
{
    size_t k = n;
    if (k && strchr("'\"`", p[k - 1]) && p[k - 1])
        for (k--; k && p[k - 1] == '\\';)   /* a quote in JSON */
            k--;
    return n - k;
}

int interp__gap_find(const void *text, size_t n, size_t *at, size_t *to)
{
    const uint8_t *p = text, *q;
    for (size_t from = 0; n - from >= LEAST && (q = memchr(p + from, '.', n - from)); from = (size_t)(q - p) + 1) {
        size_t begin = (size_t)(q - p), k = whole_mark(q, n - begin), end = begin + k;
        if (!k)
            continue;
        begin -= quote_before(p, begin);
        begin -= breaks_before(p, begin);
        begin -= mark_before(p, begin);
        begin -= breaks_before(p, begin);
        begin -= quote_before(p, begin);
        end += breaks_after(p + end, n - end);
        end += mark_after(p + end, n - end);
        end += breaks_after(p + end, n - end);
        *at = begin;
        *to = end;
        return 1;
    }
    return 0;
}
