#include "clean.h"
#include "base/json.h"
#include <string.h>

enum { ROWS = 64, CELLS_MAX = 32768, JUMP_MAX = 256 /* columns that a movement may leave empty */, SHIFT_MAX = 4096, STRING_MAX = 4096, PARAMS = 8, CSI_MAX = 64, KEEP_CAP = 1024 };
enum state { GROUND, ESCAPE, CHARSET, CSI, STRING, STRING_ESCAPE };

/* A cell is the bytes of a character, first byte lowest; a byte that is none is itself. */
struct line {
    uint32_t *cell;
    size_t n, cap;
    size_t shown;                      /* cells that idle has shown */
    uint8_t changed, redrawn;          /* changed: in what was shown */
};
struct interp__clean {
    const struct interp__mem *mem;
    struct line line[ROWS];            /* a ring: row 0 is line[top] */
    size_t top, rows, row, col, saved_row, saved_col, cells;
    enum state state;
    uint32_t param[PARAMS], nparams, length;
    uint8_t private, partial[4], npartial;
};

static struct line *at(struct interp__clean *c, size_t row)
{
    return &c->line[(c->top + row) % ROWS];
}

/* ---- out */

static void put_cells(const struct line *l, size_t from, size_t to, struct interp__buf *out)
{
    if (from >= to || interp__buf_reserve(out, 4 * (to - from)))
        return;
    uint8_t *p = out->p + out->len;
    for (size_t i = from; i < to; i++) {
        uint32_t v = l->cell[i];
        do {
            *p++ = (uint8_t)v;
            v >>= 8;
        } while (v);
    }
    out->len = (size_t)(p - out->p);
}
static size_t visible(const struct line *l)
{
    size_t n = l->n;
    while (l->redrawn && n && l->cell[n - 1] == ' ')   /* what blanked out an older state */
        n--;
    return n;
}
static void show(struct line *l, struct interp__buf *out)
{
    size_t n = visible(l);
    if (l->changed)
        interp__buf_str(out, "\n");
    put_cells(l, l->changed ? 0 : l->shown, n, out);
    l->shown = l->changed || n > l->shown ? n : l->shown;
    l->changed = 0;
}
static void clear(struct interp__clean *c, struct line *l)
{
    c->cells -= l->n;
    if (l->cap > KEEP_CAP) {
        interp__free(c->mem, l->cell);
        l->cell = NULL;
        l->cap = 0;
    }
    l->n = l->shown = 0;
    l->changed = l->redrawn = 0;
}
/* The first row goes out for good. */
static void commit(struct interp__clean *c, struct interp__buf *out)
{
    struct line *l = at(c, 0);
    show(l, out);
    interp__buf_str(out, "\n");
    clear(c, l);
    c->top = (c->top + 1) % ROWS;
    c->rows--;
    c->row -= c->row > 0;
    c->saved_row -= c->saved_row > 0;
}
/* Makes room: first rows go out, then the start of a line that alone is too long. */
static void bound(struct interp__clean *c, struct interp__buf *out)
{
    while (c->cells > CELLS_MAX && c->rows > 1 && c->row > 0)
        commit(c, out);
    struct line *l = at(c, c->row);
    if (c->cells <= CELLS_MAX || l->n <= CELLS_MAX / 2)
        return;
    size_t cut = l->n / 2;
    show(l, out);
    memmove(l->cell, l->cell + cut, (l->n - cut) * sizeof *l->cell);
    l->n -= cut;
    c->cells -= cut;
    l->shown = l->shown > cut ? l->shown - cut : 0;
    c->col = c->col > cut ? c->col - cut : 0;
}

/* ---- the cursor */

static int room_for(struct interp__clean *c, struct line *l, size_t n)
{
    if (n <= l->cap)
        return 0;
    size_t cap = l->cap ? 2 * l->cap : 128;
    while (cap < n)
        cap *= 2;
    uint32_t *p = interp__resize(c->mem, l->cell, cap * sizeof *p);
    if (!p)
        return -1;   /* what there is no memory for is not there */
    l->cell = p;
    l->cap = cap;
    return 0;
}
static void touch(struct line *l, size_t col)
{
    l->redrawn = 1;
    l->changed |= col < l->shown;
}
static void put(struct interp__clean *c, uint32_t cell, struct interp__buf *out)
{
    struct line *l = at(c, c->row);
    if (room_for(c, l, c->col + 1))
        return;
    if (c->col < l->n)
        touch(l, c->col);
    while (l->n < c->col) {
        l->cell[l->n++] = ' ';
        c->cells++;
    }
    l->cell[c->col] = cell;
    if (c->col++ == l->n) {
        l->n++;
        if (++c->cells > CELLS_MAX)
            bound(c, out);
    }
}
static void grow_to(struct interp__clean *c, size_t row)
{
    while (c->rows <= row && c->rows < ROWS)
        c->rows++;   /* a line that left the ring was cleared */
}
static void new_line(struct interp__clean *c, struct interp__buf *out)
{
    c->col = 0;
    if (c->row + 1 == ROWS)
        commit(c, out);
    c->row++;
    grow_to(c, c->row);
}
static void cut_line(struct interp__clean *c, struct line *l, size_t n)
{
    if (l->n > n) {
        touch(l, n);
        c->cells -= l->n - n;
        l->n = n;
    }
}
static void blank(struct line *l, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < l->n && i - from < SHIFT_MAX; i++) {   /* no screen is wider */
        touch(l, i);
        l->cell[i] = ' ';
    }
}
static void erase_display(struct interp__clean *c, uint32_t how)
{
    if (how >= 2) {   /* and the cursor goes home, as those who clear a screen have it do next */
        int began = 0;
        for (size_t r = 0; r < c->rows; r++) {
            began |= at(c, r)->shown || at(c, r)->changed;
            clear(c, at(c, r));
        }
        c->rows = 1;
        c->row = c->col = c->saved_row = c->saved_col = 0;
        at(c, 0)->changed = (uint8_t)began;   /* of a line that idle has shown there is no end: what comes starts one */
        return;
    }
    struct line *l = at(c, c->row);
    if (how == 0) {
        cut_line(c, l, c->col);
        for (size_t r = c->row + 1; r < c->rows; r++)
            clear(c, at(c, r));
        c->rows = c->row + 1;
        return;
    }
    for (size_t r = 0; r < c->row; r++)
        cut_line(c, at(c, r), 0);
    blank(l, 0, c->col + 1);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}
static void move_to(struct interp__clean *c, size_t row, size_t col)
{
    grow_to(c, least(row, ROWS - 1));
    c->row = least(row, c->rows - 1);
    c->col = least(col, at(c, c->row)->n > JUMP_MAX ? at(c, c->row)->n : JUMP_MAX);
}
static void control(struct interp__clean *c, uint8_t final)
{
    uint32_t p = c->nparams ? c->param[0] : 0, n = p ? p : 1, second = c->nparams > 1 && c->param[1] ? c->param[1] : 1;
    struct line *l = at(c, c->row);
    if (c->private)
        return;   /* modes of the terminal */
    switch (final) {
    case 'A': c->row -= least(n, c->row); break;
    case 'B': case 'e': c->row = least(c->row + n, c->rows - 1); break;
    case 'C': case 'a': move_to(c, c->row, c->col + n); break;
    case 'D': c->col -= least(n, c->col); break;
    case 'E': c->row = least(c->row + n, c->rows - 1); c->col = 0; break;
    case 'F': c->row -= least(n, c->row); c->col = 0; break;
    case 'G': case '`': move_to(c, c->row, n - 1); break;
    case 'd': move_to(c, n - 1, c->col); break;
    case 'H': case 'f': move_to(c, n - 1, second - 1); break;
    case 'J': erase_display(c, p); break;
    case 'K':
        if (p == 0)
            cut_line(c, l, c->col);
        else if (p == 2)
            cut_line(c, l, 0);
        else
            blank(l, 0, c->col + 1);
        break;
    case 'X': blank(l, c->col, c->col + least(n, SHIFT_MAX)); break;
    case 'P':
        if (c->col < l->n && l->n <= SHIFT_MAX) {
            size_t k = least(n, l->n - c->col);
            memmove(l->cell + c->col, l->cell + c->col + k, (l->n - c->col - k) * sizeof *l->cell);
            cut_line(c, l, l->n - k);
            touch(l, c->col);
        }
        break;
    case 's': c->saved_row = c->row; c->saved_col = c->col; break;
    case 'u': move_to(c, c->saved_row, c->saved_col); break;
    default: break;   /* colours, and what only a screen has */
    }
}

/* ---- in */

static void letter(struct interp__clean *c, uint8_t b, struct interp__buf *out);

static void put_partial(struct interp__clean *c, struct interp__buf *out)   /* bytes that make no character */
{
    uint8_t n = c->npartial;
    c->npartial = 0;
    for (uint8_t i = 0; i < n; i++)
        put(c, c->partial[i], out);
}
static void wide(struct interp__clean *c, uint8_t b, struct interp__buf *out)
{
    c->partial[c->npartial++] = b;
    uint8_t first = c->partial[0], need = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
    if (c->npartial < need)
        return;
    if (need == 1 || interp__utf8_valid(c->partial, need) != need) {
        put_partial(c, out);
        return;
    }
    c->npartial = 0;
    if (first == 0xC2 && c->partial[1] < 0xA0)
        return;   /* a control character of the second set */
    uint32_t cell = 0;
    for (uint8_t i = need; i; i--)
        cell = cell << 8 | c->partial[i - 1];
    put(c, cell, out);
}

static void escape(struct interp__clean *c, uint8_t b, struct interp__buf *out)
{
    c->state = GROUND;
    switch (b) {
    case '[':
        c->state = CSI;
        memset(c->param, 0, sizeof c->param);
        c->nparams = c->length = c->private = 0;
        break;
    case ']': case 'P': case 'X': case '^': case '_':
        c->state = STRING;
        c->length = 0;
        break;
    case '(': case ')': case '*': case '+': case '#': case '%': case ' ':
        c->state = CHARSET;
        break;
    case '7': c->saved_row = c->row; c->saved_col = c->col; break;
    case '8': move_to(c, c->saved_row, c->saved_col); break;
    case 'M': c->row -= c->row > 0; break;
    case 'D': case 'E': new_line(c, out); break;
    case 'c': erase_display(c, 2); break;
    case 27: c->state = ESCAPE; break;
    default:
        if (b < 0x20)
            letter(c, b, out);
    }
}
static void sequence(struct interp__clean *c, uint8_t b, struct interp__buf *out)
{
    if (++c->length > CSI_MAX || b >= 0x7f) {
        c->state = GROUND;
        return;
    }
    if (b >= '0' && b <= '9') {
        c->nparams = c->nparams ? c->nparams : 1;
        uint32_t *p = &c->param[c->nparams - 1];
        if (c->nparams <= PARAMS)
            *p = *p > 999 ? 9999 : *p * 10 + (uint32_t)(b - '0');
    } else if (b == ';' || b == ':') {
        c->nparams = c->nparams ? c->nparams : 1;
        c->nparams += c->nparams < PARAMS;
    } else if (b >= '<' && b <= '?') {
        c->private = 1;
    } else if (b >= 0x40) {
        c->state = GROUND;
        control(c, b);
    } else if (b < 0x20) {   /* obeyed in the middle of it, as terminals do; a line break ends it */
        c->state = b == '\n' || b == 27 ? GROUND : CSI;
        letter(c, b, out);
    }
}
/* Titles, links and the like: not text. One that does not end ends with its line. */
static void string(struct interp__clean *c, uint8_t b, struct interp__buf *out)
{
    if (b == 7 || (c->state == STRING_ESCAPE && b == '\\')) {
        c->state = GROUND;
    } else if (b == '\n' || ++c->length > STRING_MAX) {
        c->state = GROUND;
        letter(c, b, out);
    } else if (c->state == STRING_ESCAPE) {
        escape(c, b, out);
    } else if (b == 27)
        c->state = STRING_ESCAPE;
}
static void letter(struct interp__clean *c, uint8_t b, struct interp__buf *out)
{
    if (c->npartial && (b & 0xC0) != 0x80)
        put_partial(c, out);
    if (b >= 0x80) {
        wide(c, b, out);
        return;
    }
    if (b >= 0x20 && b != 0x7f) {
        put(c, b, out);
        return;
    }
    switch (b) {
    case '\n': case '\v': case '\f': new_line(c, out); break;
    case '\r': c->col = 0; break;
    case '\b': c->col -= c->col > 0; break;
    case '\t':
        if (c->col == at(c, c->row)->n)
            put(c, '\t', out);
        else
            c->col = least((c->col / 8 + 1) * 8, at(c, c->row)->n);
        break;
    case 27: c->state = ESCAPE; break;
    default: break;
    }
}

void interp__clean_feed(struct interp__clean *c, const void *v, size_t n, struct interp__buf *out)
{
    const uint8_t *p = v, *end = p + n;
    while (p < end) {
        switch (c->state) {
        case GROUND: {
            struct line *l = at(c, c->row);
            const uint8_t *q = p;
            if (!c->npartial && c->col == l->n)   /* plain text at the end of a line, which nearly all of it is */
                while (q < end && *q >= 0x20 && *q < 0x7f && q - p < 4096)
                    q++;
            if (q - p > 1 && !room_for(c, l, l->n + (size_t)(q - p))) {
                c->cells += (size_t)(q - p);
                while (p < q)
                    l->cell[l->n++] = *p++;
                c->col = l->n;
                if (c->cells > CELLS_MAX)
                    bound(c, out);
            } else
                letter(c, *p++, out);
            break;
        }
        case ESCAPE: escape(c, *p++, out); break;
        case CHARSET: c->state = GROUND; p++; break;
        case CSI: sequence(c, *p++, out); break;
        default: string(c, *p++, out);
        }
    }
}

void interp__clean_idle(struct interp__clean *c, struct interp__buf *out)
{
    while (c->rows > 1 && c->row > 0)
        commit(c, out);
    if (c->rows == 1)
        show(at(c, 0), out);
}
void interp__clean_finish(struct interp__clean *c, struct interp__buf *out)
{
    put_partial(c, out);
    while (c->rows > 1)
        commit(c, out);
    show(at(c, 0), out);
    clear(c, at(c, 0));
    c->rows = 1;
    c->row = c->col = c->saved_row = c->saved_col = 0;
    c->state = GROUND;
}
int interp__clean_pending(const struct interp__clean *c)
{
    const struct line *l = &c->line[c->top];
    return c->rows > 1 || l->changed || visible(l) > l->shown;
}

struct interp__clean *interp__clean_new(const struct interp__mem *mem)
{
    struct interp__clean *c = interp__alloc(mem, sizeof *c);
    if (c) {
        c->mem = mem;
        c->rows = 1;
    }
    return c;
}
void interp__clean_free(struct interp__clean *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < ROWS; i++) {
        if (c->line[i].cell)
            interp__wipe(c->line[i].cell, c->line[i].cap * sizeof *c->line[i].cell);
        interp__free(c->mem, c->line[i].cell);
    }
    interp__free(c->mem, c);
}
