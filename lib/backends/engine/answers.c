/* answers.c - what engines say, read without trust: a member that is missing or of another type is empty */
#include "engine_priv.h"
#include <stdio.h>
#include <string.h>

uint32_t interp__answer_at(const struct interp__json *j, uint32_t object, const char *path)
{
    char name[64];
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n >= sizeof name || interp__json_at(j, object)->type != INTERP__JSON_OBJECT)
            return 0;
        memcpy(name, path, n);
        name[n] = 0;
        object = interp__json_member(j, object, name);
        if (!object)
            return 0;
        path += n + (path[n] == '/');
    }
    return object;
}

const char *interp__answer_text(const struct interp__json *j, uint32_t object, const char *path)
{
    uint32_t i = interp__answer_at(j, object, path);
    return i && interp__json_at(j, i)->type == INTERP__JSON_STRING ? interp__json_string(j, interp__json_at(j, i)) : "";
}

int64_t interp__answer_number(const struct interp__json *j, uint32_t object, const char *path)
{
    uint32_t i = interp__answer_at(j, object, path);
    return i && interp__json_at(j, i)->type == INTERP__JSON_INT ? interp__json_at(j, i)->i : 0;
}

int interp__answer_true(const struct interp__json *j, uint32_t object, const char *path)
{
    uint32_t i = interp__answer_at(j, object, path);
    return i && interp__json_at(j, i)->type == INTERP__JSON_BOOL && interp__json_at(j, i)->i;
}

int interp__answer_has(const struct interp__json *j, uint32_t array, const char *value)
{
    if (!array || interp__json_at(j, array)->type != INTERP__JSON_ARRAY)
        return 0;
    uint32_t i = array + 1;
    for (uint32_t k = 0; k < interp__json_at(j, array)->count; k++, i = interp__json_at(j, i)->next)
        if (interp__json_at(j, i)->type == INTERP__JSON_STRING && !strcmp(interp__json_string(j, interp__json_at(j, i)), value))
            return 1;
    return 0;
}

void interp__answer_error(const struct interp__mem *m, const struct interp__buf *body, char *out, size_t n)
{
    struct interp__json j = { 0 };
    const char *text = (const char *)body->p;
    size_t len = body->len, at = 0;
    if (!interp__json_parse(&j, m, body->p ? body->p : (const uint8_t *)"", body->len, NULL)) {
        text = interp__answer_text(&j, 0, "message");   /* Docker; Podman has `cause` too, and the cause in the message */
        if (!*text)
            text = interp__answer_text(&j, 0, "cause");
        len = strlen(text);
    } else
        while (len && text[len - 1] <= ' ')             /* attach answers with plain text and a line end */
            len--;
    for (size_t i = 0; i < len && at < n - 1; i++)
        out[at++] = text[i] >= 0x20 && text[i] < 0x7F ? text[i] : ' ';
    out[at] = 0;
    interp__json_free(&j);
}
