/* image.c - image names, pulling, registry credentials */
#include "engine_priv.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_NS UINT64_C(100000000)

/* Percent-encoding (RFC 3986) of everything but unreserved characters and those in `keep`. */
static void encode(struct interp__buf *out, const char *p, size_t n, const char *keep)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c) || strchr(keep, c))
            interp__buf_add(out, &p[i], 1);
        else
            interp__buf_fmt(out, "%%%02X", c);
    }
}

/* Each part begins with a letter or a digit, so none is "." or "..", which would lead elsewhere. What else is wrong the engine says. */
int interp__image_ok(const char *image)
{
    size_t n = strlen(image);
    int fresh = 1;
    for (size_t i = 0; i < n; i++) {
        char c = image[i];
        int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (fresh ? !plain && !(i == 0 && c == '[') : !plain && !strchr("-._:/@+[]", c))
            return 0;
        fresh = c == '/';
    }
    return n && n <= 512 && !fresh;
}

void interp__image_path(struct interp__buf *out, const char *image)
{
    encode(out, image, strlen(image), "/:@");
}

/* NAME[:TAG][@DIGEST]; a colon before the last slash belongs to a port. */
static void split(const char *image, size_t *name, const char **tag)
{
    const char *digest = strchr(image, '@'), *slash = strrchr(image, '/'), *colon = strchr(slash ? slash : image, ':');
    if (digest && colon > digest)
        colon = NULL;                      /* the digest's own */
    *name = colon ? (size_t)(colon - image) : digest ? (size_t)(digest - image) : strlen(image);
    *tag = digest ? digest + 1 : colon ? colon + 1 : "latest";     /* without a tag Docker would fetch them all */
}

void interp__pull_path(struct interp__buf *out, const char *image)
{
    size_t name;
    const char *tag;
    split(image, &name, &tag);
    interp__buf_str(out, "/images/create?fromImage=");
    encode(out, image, name, "/:");
    interp__buf_str(out, "&tag=");
    encode(out, tag, strlen(tag), ":");
}

/* ---- credentials: ~/.docker/config.json {"auths": {"registry": {"auth": base64 of user:password, "identitytoken"}}}. Helpers are programs of the user's: not run. */

static void registry_of(const char *image, char *out, size_t n)
{
    size_t len = strcspn(image, "/");
    int named = image[len] && (memchr(image, '.', len) || memchr(image, ':', len) || (len == 9 && !memcmp(image, "localhost", 9)));
    snprintf(out, n, "%.*s", named ? (int)len : 9, named ? image : "docker.io");
}

static uint32_t entry(const struct interp__json *j, const char *registry)
{
    uint32_t auths = interp__answer_at(j, 0, "auths");
    if (!auths || interp__json_at(j, auths)->type != INTERP__JSON_OBJECT)
        return 0;
    if (!strcmp(registry, "docker.io")) {
        uint32_t hub = interp__json_member(j, auths, "https://index.docker.io/v1/");
        if (hub)
            return hub;
    }
    uint32_t i = interp__json_member(j, auths, registry);
    if (i)
        return i;
    char url[300];
    snprintf(url, sizeof url, "https://%s", registry);
    return interp__json_member(j, auths, url);
}

/* 0 with or without a header; -1: memory */
static int from_file(struct interp__box *b, const char *path, const char *registry, struct interp__buf *header, int *found)
{
    struct interp__json j = { 0 };
    struct interp__buf plain, object, text;
    if (interp__engine_json_file(&j, &b->mem, path, NULL))
        return 0;
    uint32_t i = entry(&j, registry);
    const char *auth = i ? interp__answer_text(&j, i, "auth") : "", *token = i ? interp__answer_text(&j, i, "identitytoken") : "";
    interp__buf_init(&plain, &b->mem);
    interp__buf_init(&object, &b->mem);
    interp__buf_init(&text, &b->mem);
    if (*token) {
        interp__buf_str(&object, "{\"identitytoken\":");
        interp__json_text(&object, token, strlen(token));
    } else if (*auth && !interp__base64_decode(&plain, auth, strlen(auth)) && plain.len && memchr(plain.p, ':', plain.len)) {
        size_t user = (size_t)((uint8_t *)memchr(plain.p, ':', plain.len) - plain.p), end = plain.len;
        while (end > user + 1 && !plain.p[end - 1])
            end--;                         /* some tools pad with NUL */
        interp__buf_str(&object, "{\"username\":");
        interp__json_text(&object, plain.p, user);
        interp__buf_str(&object, ",\"password\":");
        interp__json_text(&object, plain.p + user + 1, end - user - 1);
    }
    if (object.len) {
        interp__buf_str(&object, ",\"serveraddress\":");
        interp__json_text(&object, registry, strlen(registry));
        interp__buf_str(&object, "}");
        interp__json_base64(&text, object.p, object.len);           /* a JSON string: its quotes go */
        for (size_t k = 0; k < text.len; k++)                       /* base64url (RFC 4648 5), as the API asks for */
            text.p[k] = text.p[k] == '+' ? '-' : text.p[k] == '/' ? '_' : text.p[k];
        if (!text.bad)
            interp__buf_add(header, text.p + 1, text.len - 2);
        *found = 1;
    }
    int bad = object.bad || plain.bad || text.bad || header->bad;
    struct interp__buf *all[] = { &plain, &object, &text };
    for (unsigned k = 0; k < 3; k++) {
        interp__wipe(all[k]->p, all[k]->cap);
        interp__buf_free(all[k]);
    }
    interp__json_free(&j);
    return bad ? -1 : 0;
}

int interp__pull_auth(struct interp__box *b, struct interp__buf *header)
{
    char registry[256], path[PATH_MAX];   /* a longer one could not be opened either */
    const char *dir = getenv("DOCKER_CONFIG"), *file = getenv("REGISTRY_AUTH_FILE"), *run = getenv("XDG_RUNTIME_DIR");
    int found = 0, r = 0;
    registry_of(b->image, registry, sizeof registry);
    if (b->facts.podman) {                /* containers-auth.json(5) */
        if (file && *file)
            r = from_file(b, file, registry, header, &found);
        else if (run && *run) {
            if (snprintf(path, sizeof path, "%s/containers/auth.json", run) < (int)sizeof path)
                r = from_file(b, path, registry, header, &found);
        }
    }
    if (!r && !found) {
        int n = dir && *dir ? snprintf(path, sizeof path, "%s/config.json", dir) : snprintf(path, sizeof path, "%s/.docker/config.json", interp__engine_home());
        if (n < (int)sizeof path)
            r = from_file(b, path, registry, header, &found);
    }
    return r ? r : found;
}

/* ---- progress */

void interp__pull_line(void *arg, const char *line, size_t n)
{
    struct interp__box *b = arg;
    struct interp__json j = { 0 };
    if (n && line[n - 1] == '\r')
        n--;
    if (!n || interp__json_parse(&j, &b->mem, line, n, NULL)) {
        if (n && !*b->pull_error)          /* no JSON: a refusal in plain words; of no account where the pull succeeds */
            snprintf(b->pull_error, sizeof b->pull_error, "%.*s", (int)(n < 400 ? n : 400), line);
        interp__json_free(&j);
        return;
    }
    const char *error = interp__answer_text(&j, 0, "error"), *status = interp__answer_text(&j, 0, "status"), *id = interp__answer_text(&j, 0, "id");
    if (!*error)
        error = interp__answer_text(&j, 0, "errorDetail/message");
    if (!*error)
        error = interp__answer_text(&j, 0, "message");   /* the whole answer of a refusal */
    if (*error)                            /* Podman 4.3 answers 200 whatever comes; any engine may fail after the first byte */
        snprintf(b->pull_error, sizeof b->pull_error, "%.500s", error);
    int64_t current = interp__answer_number(&j, 0, "progressDetail/current"), total = interp__answer_number(&j, 0, "progressDetail/total");
    uint64_t now = interp__now();
    if (*status && (!total || now >= b->progress_at)) {             /* counts come many times a second */
        struct interp__buf o;
        interp__buf_init(&o, &b->mem);
        interp__buf_str(&o, "{\"step\":\"pull\",\"image\":");
        interp__json_text(&o, b->image, strlen(b->image));
        interp__buf_str(&o, ",\"status\":");
        interp__json_text(&o, status, strlen(status) < 200 ? strlen(status) : 200);
        interp__buf_str(&o, ",\"layer\":");
        interp__json_text(&o, id, strlen(id) < 80 ? strlen(id) : 80);
        interp__buf_fmt(&o, ",\"current\":%lld,\"total\":%lld}", (long long)current, (long long)total);
        if (!o.bad)
            b->h->progress(b->l, (char *)o.p, o.len);
        interp__buf_free(&o);
        if (total)
            b->progress_at = now + PROGRESS_NS;
    }
    interp__json_free(&j);
}
