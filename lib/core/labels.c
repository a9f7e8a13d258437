/* labels.c - what a host attaches to sessions and execs for the audit trail: names and texts that the library does not read */
#include "core.h"
#include <string.h>

enum { LABELS = 32, NAME_BYTES = 64, VALUE_BYTES = 256 };

interp_status interp__label_set(struct interp__env *e, const struct interp__mem *m, const char *name, const char *value, interp_error **err)
{
    size_t len = name ? strlen(name) : 0, n = value ? strlen(value) : 0;
    if (!len || len > NAME_BYTES || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") != len)
        return interp__fail(m, err, INTERP_E_INVAL, "label-name", "\"%.64s\" is no name for a label: 1 to %d of letters, digits, '_', '.', '-'", name ? name : "", NAME_BYTES);
    if (!value || n > VALUE_BYTES || interp__utf8_valid(value, n) != n)
        return interp__fail(m, err, INTERP_E_INVAL, "label-value", "the value of label %s must be UTF-8 of at most %d bytes", name, VALUE_BYTES);
    size_t at = 0, size = 0;
    for (size_t i = 0; i < e->text.len && !size;) {
        const char *item = (const char *)e->text.p + i;
        size_t k = strlen(item) + 1;
        if (!strncmp(item, name, len) && item[len] == '=')
            at = i, size = k;
        i += k;
    }
    if (!size && e->count >= LABELS)
        return interp__fail(m, err, INTERP_E_LIMIT, "labels", "label %s is one too many: at most %d are taken", name, LABELS);
    if (interp__buf_reserve(&e->text, len + n + 2)) {
        e->text.bad = 0;
        return interp__nomem(err);
    }
    if (size)
        memmove(e->text.p + at, e->text.p + at + size, e->text.len - at - size), e->text.len -= size, e->count--;
    interp__buf_add(&e->text, name, len);
    interp__buf_add(&e->text, "=", 1);
    interp__buf_add(&e->text, value, n + 1);
    e->count++;
    return INTERP_OK;
}

interp_status interp__labels_set_json(struct interp__env *e, const struct interp__mem *m, const struct interp__json *j, uint32_t object, interp_error **err)
{
    const struct interp__json_node *o = interp__json_at(j, object);
    uint32_t i = object + 1;
    if (o->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "labels must be an object of strings");
    for (uint32_t k = 0; k < o->count; k++) {
        const struct interp__json_node *n = interp__json_at(j, i);
        const char *name = interp__json_key(j, n), *value = interp__json_string(j, n);
        if (n->type != INTERP__JSON_STRING || strlen(value) != n->text_len || strlen(name) != n->key_len)
            return interp__fail(m, err, INTERP_E_INVAL, "option-type", "labels.%.64s must be a string without NUL", name);
        interp_status st = interp__label_set(e, m, name, value, err);
        if (st)
            return st;
        i = n->next;
    }
    return INTERP_OK;
}
