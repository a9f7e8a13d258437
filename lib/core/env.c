/* env.c - environment variables that a session sets and unsets while it runs: new kernels start with them, those that run take them over with their next exec */
#include "core.h"
#include <string.h>

enum { NAMES = 1024, BYTES = 32 * 1024 };

/* Where a name begins in a list of texts with NUL between; `end` ends the name. */
static const char *find(const struct interp__buf *b, const char *name, char end)
{
    size_t n = strlen(name);
    for (size_t at = 0; at < b->len; at += strlen((const char *)b->p + at) + 1)
        if (!strncmp((const char *)b->p + at, name, n) && ((const char *)b->p)[at + n] == end)
            return (const char *)b->p + at;
    return NULL;
}

int interp__env_was_changed(const struct interp_session *s, const char *item)
{
    char name[256];
    size_t n = strcspn(item, "=");
    if (n >= sizeof name)
        return 0;
    memcpy(name, item, n);
    name[n] = 0;
    return find(&s->env_names, name, 0) != NULL;
}

void interp__shell_quote(struct interp__buf *b, const char *p)
{
    interp__buf_str(b, "'");
    for (; *p; p++) {
        if (*p == '\'')
            interp__buf_str(b, "'\\''");
        else
            interp__buf_add(b, p, 1);
    }
    interp__buf_str(b, "'");
}

void interp__env_changes_json(const struct interp_session *s, struct interp__buf *b)
{
    interp__buf_str(b, "{");
    for (size_t at = 0; at < s->env_names.len; at += strlen((const char *)s->env_names.p + at) + 1) {
        const char *name = (const char *)s->env_names.p + at, *item = find(&s->env.text, name, '=');
        interp__buf_str(b, at ? ",\"" : "\"");
        interp__buf_str(b, name);
        interp__buf_str(b, "\":");
        if (item)
            interp__json_bytes(b, item + strlen(name) + 1, strlen(item) - strlen(name) - 1);
        else
            interp__buf_str(b, "null");
    }
    interp__buf_str(b, "}");
}

/* In front of the code's first line, so that its lines keep their numbers. */
void interp__env_changes_shell(const struct interp_session *s, struct interp__buf *b)
{
    for (size_t at = 0; at < s->env_names.len; at += strlen((const char *)s->env_names.p + at) + 1) {
        const char *name = (const char *)s->env_names.p + at, *item = find(&s->env.text, name, '=');
        interp__buf_str(b, item ? "\\command export " : "\\command unset ");
        interp__buf_str(b, name);
        if (item) {
            interp__buf_str(b, "=");
            interp__shell_quote(b, item + strlen(name) + 1);
        }
        interp__buf_str(b, "; ");
    }
}

/* So that what is noted afterwards can be. */
static interp_status room_for(struct interp_session *s, const char *name, interp_error **err)
{
    size_t n = name ? strlen(name) + 1 : 1;
    if (!name || find(&s->env_names, name, 0))
        return INTERP_OK;
    if (s->env_names.len + n > BYTES)
        return interp__fail(&s->mem, err, INTERP_E_LIMIT, "env-size", "too many environment variables have been changed in this session");
    if (interp__buf_reserve(&s->env_names, n)) {
        s->env_names.bad = 0;
        return interp__nomem(err);
    }
    return INTERP_OK;
}
static void note(struct interp_session *s, const char *name)
{
    if (!find(&s->env_names, name, 0))
        interp__buf_add(&s->env_names, name, strlen(name) + 1);
    s->env_version++;
}

interp_status interp_session_set_env(interp_session *s, const char *name, const void *value, size_t n, interp_error **err)
{
    interp_status st = interp__session_enter(s, err);
    if (st)
        return st;
    st = s->gone ? interp__session_usable(s, err) : INTERP_OK;
    if (!st)
        st = room_for(s, name, err);
    if (!st)
        st = interp__env_set(&s->env, &s->mem, name, value, n, NAMES, BYTES, err);
    if (!st)
        note(s, name);
    interp__session_leave(s);
    return st;
}

interp_status interp_session_unset_env(interp_session *s, const char *name, interp_error **err)
{
    struct interp__env check = { .count = 0 };
    interp_status st = interp__session_enter(s, err);
    if (st)
        return st;
    st = s->gone ? interp__session_usable(s, err) : INTERP_OK;
    interp__buf_init(&check.text, &s->mem);
    if (!st)
        st = interp__env_set(&check, &s->mem, name, "", 0, 1, 4096, err);   /* the name as any other */
    interp__buf_free(&check.text);
    if (!st)
        st = room_for(s, name, err);
    if (!st) {
        note(s, name);
        char *item = (char *)(uintptr_t)find(&s->env.text, name, '=');
        if (item) {
            size_t size = strlen(item) + 1, at = (size_t)((uint8_t *)item - s->env.text.p);
            interp__wipe(item, size);
            memmove(item, item + size, s->env.text.len - at - size);
            s->env.text.len -= size;
            s->env.count--;
        }
    }
    interp__session_leave(s);
    return st;
}
