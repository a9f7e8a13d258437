/* attach.c - files that a request brings: kept with it, and put before its exec runs */
#include "core.h"
#include <string.h>

enum { FILES_MAX = 256, FILES_BYTES = 64 << 20 };

void interp__attached_free(struct interp__attached **list, const struct interp__mem *m)
{
    while (*list) {
        struct interp__attached *a = *list;
        *list = a->next;
        interp__buf_free(&a->data);
        interp__free(m, a->path);
        interp__free(m, a);
    }
}

interp_status interp__attached_add(struct interp__attached **list, const struct interp__mem *m, const void *path, size_t len, const void *p, size_t n, interp_error **err)
{
    size_t count = 0, bytes = n;
    if (!p && n)
        return interp__fail(m, err, INTERP_E_INVAL, "argument", "the content of a file is NULL");
    struct interp__attached **end = list, *a = interp__alloc(m, sizeof *a), *same = NULL;
    if (!a)
        return interp__nomem(err);
    interp__buf_init(&a->data, m);
    interp_status st = interp__path_take(m, path, len, 1, &a->path, &a->path_len, err);
    for (; !st && *end; end = &(*end)->next)
        if ((*end)->path_len == a->path_len && !memcmp((*end)->path, a->path, a->path_len))
            same = *end;
        else
            count++, bytes += (*end)->data.len;
    if (!st && (count >= FILES_MAX || bytes > FILES_BYTES || bytes < n))
        st = interp__fail(m, err, INTERP_E_LIMIT, "files-size", "a request brings at most %d files of %d MiB together: put them beforehand", FILES_MAX, FILES_BYTES >> 20);
    if (!st) {
        interp__buf_add(&a->data, p, n);
        st = a->data.bad ? interp__nomem(err) : INTERP_OK;
    }
    if (!st && same) {   /* they are put at the same time: of two of one name either could be the last */
        struct interp__buf old = same->data;
        same->data = a->data;
        a->data = old;
    }
    if (st || same)
        interp__attached_free(&a, m);
    else
        *end = a;
    return st;
}

/* One of text and base64 of an object; the other name of the pair is given up with ".._base64". */
static interp_status bytes_of(const struct interp__mem *m, const struct interp__json *j, uint32_t object, const char *plain, const char *base64, struct interp__buf *out, interp_error **err)
{
    uint32_t t = interp__json_member(j, object, plain), b = interp__json_member(j, object, base64);
    const struct interp__json_node *n = interp__json_at(j, t ? t : b);
    interp__buf_init(out, m);
    if (!t == !b || n->type != INTERP__JSON_STRING)
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "files: each has %s or %s, as a string", plain, base64);
    if (t)
        interp__buf_add(out, interp__json_string(j, n), n->text_len);
    else if (interp__base64_decode(out, interp__json_string(j, n), n->text_len))
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "files: %s is not base64", base64);
    return out->bad ? interp__nomem(err) : INTERP_OK;
}

interp_status interp__attached_json(struct interp__attached **list, const struct interp__mem *m, const struct interp__json *j, uint32_t node, interp_error **err)
{
    const struct interp__json_node *n = interp__json_at(j, node);
    if (n->type != INTERP__JSON_ARRAY)
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "files must be an array of objects");
    interp_status st = INTERP_OK;
    uint32_t i = node + 1;
    for (uint32_t k = 0; k < n->count && !st; k++, i = interp__json_at(j, i)->next) {
        const struct interp__json_node *o = interp__json_at(j, i);
        if (o->type != INTERP__JSON_OBJECT)
            return interp__fail(m, err, INTERP_E_INVAL, "option-type", "files must be an array of objects");
        uint32_t at = i + 1;
        for (uint32_t q = 0; q < o->count; q++, at = interp__json_at(j, at)->next) {
            const char *key = interp__json_key(j, interp__json_at(j, at));
            if (strcmp(key, "path") != 0 && strcmp(key, "path_base64") != 0 && strcmp(key, "text") != 0 && strcmp(key, "base64") != 0)
                return interp__fail(m, err, INTERP_E_INVAL, "option-unknown", "files: there is no member \"%.64s\"", key);
        }
        struct interp__buf path, data;
        interp__buf_init(&data, m);
        st = bytes_of(m, j, i, "path", "path_base64", &path, err);
        if (!st)
            st = bytes_of(m, j, i, "text", "base64", &data, err);
        if (!st)
            st = interp__attached_add(list, m, path.p ? (const void *)path.p : "", path.len, data.p, data.len, err);
        interp__buf_free(&path);
        interp__buf_free(&data);
    }
    return st;
}

interp_status interp__exec_attach(struct interp_session *s, struct interp__exec *e, const struct interp__attached *list, interp_error **err)
{
    struct interp__file *first = NULL, **end = &first;
    interp_status st = INTERP_OK;
    for (; list && !st; list = list->next) {
        struct interp__file *f = interp__alloc(&s->mem, sizeof *f);
        if (!f) {
            st = interp__nomem(err);
            break;
        }
        interp__buf_init(&f->input, &s->mem);
        interp__buf_init(&f->reply, &s->mem);
        *end = f;
        end = &f->next;
        f->op = WIRE_FILE_PUT;
        f->flags = WIRE_FILE_PARENTS;
        f->mode = 0644;
        f->size = f->taken = list->data.len;
        f->exec = e;
        f->input_closed = 1;
        f->path = interp__strndup(&s->mem, list->path, f->path_len = list->path_len);
        interp__buf_add(&f->input, list->data.p, list->data.len);
        e->attaching++;
        if (!f->path || f->input.bad)
            st = interp__nomem(err);
    }
    if (st) {
        while (first) {
            struct interp__file *f = first;
            first = f->next;
            interp__file_free(s, f);
        }
        return st;
    }
    struct interp__file **all = &s->transfers;
    while (*all)
        all = &(*all)->next;
    *all = first;   /* sent when nothing has refused the exec, and it is its kernel's current one */
    return INTERP_OK;
}

void interp__exec_detach(struct interp_session *s, struct interp__exec *e)
{
    for (struct interp__file *f = s->transfers, *next; f; f = next) {
        next = f->next;
        if (f->exec != e)
            continue;
        f->exec = NULL;
        interp__file_cancel(s, f);
    }
}

void interp__exec_attached(struct interp_session *s, struct interp__exec *e, interp_error *why)
{
    if (why) {
        interp__exec_not_run(s, e, "files", "FileNotWritten", interp_error_message(why));
        interp_error_free(why);
    } else if (!--e->attaching && e->kernel->current == e)
        interp__exec_send(s, e);
}
