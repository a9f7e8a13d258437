/* changes.c - what an exec did to the workspace: looked at before it where nothing is known of it, and after it. A helper inside compares (guest/changes.c); types and
   sums of content are made here, of content that comes with the answer. All of it is the guest's word. */
#include "core.h"
#include "base/sha256.h"
#include <inttypes.h>
#include <string.h>

enum { MOST = 2000, NAMED = 8 << 20, SUMMED = 16 << 20, RECORD_MAX = 128 << 10 };   /* records, bytes of their names and of contents, of a change set */
#define PATIENCE UINT64_C(5000000000)       /* without a word */
#define ALL_OF_IT UINT64_C(30000000000)     /* for a look, whatever is said meanwhile */

struct interp__look { struct interp__sha256 sum; uint64_t left; uint8_t head[512]; size_t nhead; uint64_t kept; int bad; };

/* ---- before */

static struct interp__file *ask(struct interp_session *s, struct interp__exec *e, uint8_t op)
{
    struct interp__file *f = interp__alloc(&s->mem, sizeof *f), **end = &s->transfers;
    if (!f)
        return NULL;
    interp__buf_init(&f->input, &s->mem);
    interp__buf_init(&f->reply, &s->mem);
    f->op = op;
    f->exec = e;
    f->path = interp__strndup(&s->mem, ".", f->path_len = 1);
    f->mode = MOST;
    f->limit = SUMMED;
    if (!f->path) {
        interp__free(&s->mem, f);
        return NULL;
    }
    while (*end)
        end = &(*end)->next;
    *end = f;
    return f;
}

int interp__changes_before(struct interp_session *s, struct interp__exec *e)
{
    for (struct interp_call *c = s->calls; c; c = c->next)
        if (c->exec && c->exec != e && c->exec->sent && !c->exec->exited)
            c->exec->overlapped = e->overlapped = 1;       /* whose work it was can't be told */
    if (!e->changes || e->looked || s->baseline)
        return 0;
    e->looked = 1;
    if (!ask(s, e, WIRE_FILE_SNAP))
        return 0;
    e->attaching++;
    interp__files_send(s);
    return 1;
}

void interp__changes_touched(struct interp_session *s)
{
    s->baseline = 0;
    for (struct interp_call *c = s->calls; c; c = c->next)
        if (c->exec && c->exec->sent)
            c->exec->overlapped = 1;
}

/* ---- after */

int interp__changes_after(struct interp_session *s, struct interp__exec *e)
{
    interp_result *r = e->result;
    if (!e->changes || e->call->abandoned || !(r->changes = interp__alloc(&s->mem, sizeof *r->changes)))
        return 0;
    int known = s->baseline;
    s->baseline = 0;
    if (!known)
        return 0;
    r->changes->complete = known == 1 && !e->overlapped;
    if (!(e->look = interp__alloc(&s->mem, sizeof *e->look)) || !ask(s, e, WIRE_FILE_DIFF)) {
        r->changes->complete = 0;
        return 0;
    }
    e->exited = 1;
    e->ending = 1;
    e->timeout = e->deadline = INTERP__NEVER;
    interp__files_send(s);
    interp__session_flush(s);
    return 1;
}

static struct interp__change *begin(struct interp_session *s, struct interp_result *r, const struct wire_entry *w)
{
    struct interp__changes *l = r->changes;
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? l->cap * 2 : 16;
        struct interp__change *v = interp__resize(&s->mem, l->v, cap * sizeof *v);
        if (!v)
            return NULL;
        l->v = v;
        l->cap = cap;
    }
    struct interp__change *c = &l->v[l->n];
    memset(c, 0, sizeof *c);
    interp__redact_text(s, w->path.p, w->path.len);
    c->path = interp__strndup(&s->mem, s->redacted.p, c->path_len = s->redacted.len);
    if (!c->path)
        return NULL;
    l->n++;
    l->named += w->path.len;
    interp__buf_init(&c->content, &s->mem);
    c->how = w->flags & WIRE_CHANGE_CREATED ? INTERP_FILE_CREATED : w->flags & WIRE_CHANGE_CHANGED ? INTERP_FILE_CHANGED : INTERP_FILE_DELETED;
    c->type = w->type;
    c->size = w->size;
    return c;
}

static void drop_content(struct interp__change *c)
{
    c->has_content = 0;
    interp__buf_free(&c->content);
}

static void end(struct interp_session *s, struct interp__exec *e, struct interp__change *c)
{
    struct interp__look *k = e->look;
    uint8_t sum[INTERP__SHA256];
    interp__sha256_end(&k->sum, sum);
    interp__hex(sum, sizeof sum, c->sha256);
    c->mime = interp__mime_guess(c->path, k->head, k->nhead, c->size);
    if (!c->has_content)
        return;
    int bad = c->content.bad;
    if (!bad && (!interp__mime_is_opaque(c->mime) || interp__utf8_valid(c->content.p, c->content.len) == c->content.len)) {   /* a text of the result, or what may hold one: redacted as all of them */
        interp__redact_text(s, c->content.p, c->content.len);
        interp__buf_free(&c->content);
        interp__buf_add(&c->content, s->redacted.p, s->redacted.len);
        bad = s->redacted.bad;
    }
    if (bad || !interp__buf_text(&c->content))
        drop_content(c);
}

int interp__changes_data(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n)
{
    struct interp__exec *e = f->exec;
    struct interp__look *k = e->look;
    struct interp__changes *l = e->result->changes;
    while (n) {
        if (k->left) {
            size_t part = n < k->left ? n : (size_t)k->left;
            struct interp__change *c = l->n && !k->bad ? &l->v[l->n - 1] : NULL;
            interp__sha256_add(&k->sum, p, part);
            size_t head = sizeof k->head - k->nhead < part ? sizeof k->head - k->nhead : part;
            memcpy(k->head + k->nhead, p, head);
            k->nhead += head;
            if (c && c->has_content)
                interp__buf_add(&c->content, p, part);
            p += part, n -= part;
            k->left -= part;
            if (!k->left && c)
                end(s, e, c);
            continue;
        }
        /* a record may come in pieces */
        struct wire_entry w;
        struct wire_in in;
        size_t had = f->reply.len;
        interp__buf_add(&f->reply, p, n < RECORD_MAX ? n : RECORD_MAX);
        if (f->reply.bad) {           /* where the next record begins is lost with this one */
            l->complete = 0;
            return 0;
        }
        if (f->reply.len > 2 * RECORD_MAX)
            return -1;
        interp__wire_in_init(&in, f->reply.p, f->reply.len);
        if (interp__wire_get_entry(&in, &w)) {
            p += f->reply.len - had, n -= f->reply.len - had;
            continue;
        }
        size_t used = (size_t)(in.p - f->reply.p) - had;
        int has = (w.flags & WIRE_CHANGE_CONTENT) != 0;
        if (!w.path.len || l->n >= MOST || (size_t)(in.p - f->reply.p) < had || (has && w.size > SUMMED - k->kept))
            return -1;
        struct interp__change *c = w.path.len <= NAMED - l->named ? begin(s, e->result, &w) : NULL;
        k->bad = !c;
        if (!c)
            l->complete = 0;
        k->left = has ? w.size : 0;
        k->kept += k->left;
        k->nhead = 0;
        interp__sha256_init(&k->sum);
        if (c && has && c->size <= s->v.fetch_files - l->fetched) {
            c->has_content = 1;
            l->fetched += c->size;
        }
        if (c && has && !c->size)
            end(s, e, c);
        f->reply.len = 0;
        p += used, n -= used;
    }
    return 0;
}

/* No more will come. A file that was on its way is neither whole nor redacted. */
void interp__changes_end(struct interp__exec *e, int complete)
{
    struct interp__changes *l = e->result->changes;
    l->complete &= complete && !e->look->left;
    if (e->look->left && l->n)
        drop_content(&l->v[l->n - 1]);
}

static void over(struct interp_session *s, struct interp__exec *e, int complete)
{
    interp__changes_end(e, complete);
    interp__exec_finish(s, e);
}

void interp__changes_answer(struct interp_session *s, struct interp__exec *e, uint8_t op, const struct wire_file_done *m)
{
    if (op == WIRE_FILE_SNAP) {
        s->baseline = m->error ? 0 : m->more ? 2 : 1;
        interp__exec_attached(s, e, NULL);
        return;
    }
    s->baseline = m->error ? 0 : m->more ? 2 : 1;
    e->diffed = !m->error;
    over(s, e, !m->error && !m->more);
}

/* It does not answer, or nobody waits any more. */
void interp__changes_drop(struct interp_session *s, struct interp__exec *e)
{
    interp__exec_detach(s, e);
    if (e->exited)
        over(s, e, 0);
    else
        interp__exec_attached(s, e, NULL);
}

void interp__changes_doubt(const struct interp__file *f)
{
    if (f->exec && f->op == WIRE_FILE_DIFF)
        f->exec->result->changes->complete = 0;
}

uint64_t interp__changes_deadline(const struct interp__file *f)
{
    return f->op == WIRE_FILE_SNAP || f->op == WIRE_FILE_DIFF ? interp__min(interp__after(f->heard, PATIENCE), interp__after(f->began, ALL_OF_IT)) : INTERP__NEVER;
}

/* ---- in the result */

void interp__changes_free(struct interp__changes *l, const struct interp__mem *m)
{
    for (uint32_t i = 0; l && i < l->n; i++) {
        l->v[i].content.mem = m;
        interp__free(m, l->v[i].path);
        interp__buf_free(&l->v[i].content);
    }
    if (l)
        interp__free(m, l->v);
    interp__free(m, l);
}

static void list(struct interp__buf *b, const struct interp__changes *l, const char *key, uint8_t how)
{
    int first = 1;
    interp__buf_fmt(b, "\"%s\":[", key);
    for (uint32_t i = 0; i < l->n; i++) {
        const struct interp__change *c = &l->v[i];
        if (c->how != how)
            continue;
        interp__buf_str(b, first ? "{\"path\":" : ",{\"path\":");
        first = 0;
        interp__json_text(b, c->path, c->path_len);
        if (interp__utf8_valid(c->path, c->path_len) < c->path_len) {
            interp__buf_str(b, ",\"path_base64\":");
            interp__json_base64(b, c->path, c->path_len);
        }
        interp__buf_fmt(b, ",\"type\":\"%s\"", interp__file_type(c->type));
        if (how != INTERP_FILE_DELETED) {
            interp__buf_fmt(b, ",\"size\":%" PRIu64 ",\"mime\":", c->size);
            interp__buf_fmt(b, c->mime ? "\"%s\"" : "null", c->mime ? c->mime : "");
            interp__buf_fmt(b, c->sha256[0] ? ",\"sha256\":\"%s\"" : ",\"sha256\":null", c->sha256);
            if (c->has_content && interp__utf8_valid(c->content.p, c->content.len) == c->content.len) {
                interp__buf_str(b, ",\"text\":");
                interp__json_text(b, c->content.p, c->content.len);
            } else if (c->has_content) {
                interp__buf_str(b, ",\"base64\":");
                interp__json_base64(b, c->content.p, c->content.len);
            }
        }
        interp__buf_str(b, "}");
    }
    interp__buf_str(b, "]");
}

void interp__changes_json(const struct interp__changes *l, struct interp__buf *b)
{
    if (!l) {
        interp__buf_str(b, "null");
        return;
    }
    interp__buf_str(b, "{");
    list(b, l, "created", INTERP_FILE_CREATED);
    interp__buf_str(b, ",");
    list(b, l, "changed", INTERP_FILE_CHANGED);
    interp__buf_str(b, ",");
    list(b, l, "deleted", INTERP_FILE_DELETED);
    interp__buf_fmt(b, ",\"complete\":%s}", l->complete ? "true" : "false");
}

static const struct interp__change *at(const interp_result *r, uint32_t i)
{
    return r && r->changes && i < r->changes->n ? &r->changes->v[i] : NULL;
}
uint32_t interp_result_file_count(const interp_result *r)
{
    return r && r->changes ? r->changes->n : 0;
}
int32_t interp_result_file_change(const interp_result *r, uint32_t i)
{
    return at(r, i) ? at(r, i)->how : 0;
}
const char *interp_result_file_path(const interp_result *r, uint32_t i, size_t *len)
{
    const struct interp__change *c = at(r, i);
    if (len)
        *len = c ? c->path_len : 0;
    return c ? c->path : "";
}
const void *interp_result_file_data(const interp_result *r, uint32_t i, size_t *len)
{
    const struct interp__change *c = at(r, i);
    int has = c && c->has_content;
    if (len)
        *len = has ? c->content.len : 0;
    return !has ? NULL : c->content.p ? (const void *)c->content.p : "";
}
