/* mounts.c - what a config shows of the host's files inside, and which interpreters it names. Only what can be said without looking: a backend looks. */
#include "core.h"
#include <string.h>

/* An absolute path in one spelling: no ".", "..", empty component, control character; NULL and an error otherwise. A slash at the end is dropped. */
static char *path_copy(const struct interp__mem *m, const char *what, const char *path, interp_status *st, interp_error **err)
{
    size_t n = path ? strlen(path) : 0;
    const char *why = NULL;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (!n)
        why = "it is empty";
    else if (path[0] != '/')
        why = "it is not absolute";
    else if (n >= INTERP__MOUNT_PATH)
        why = "it is longer than 191 bytes";
    else if (interp__utf8_valid(path, n) != n)
        why = "it is not UTF-8";
    for (size_t i = 0, from = 1; !why && i <= n; i++) {
        if (i < n && ((unsigned char)path[i] < 0x20 || path[i] == 0x7F))
            why = "it has a control character";
        else if (i && n > 1 && (i == n || path[i] == '/')) {
            if (i == from || (i - from == 1 && path[from] == '.') || (i - from == 2 && path[from] == '.' && path[from + 1] == '.'))
                why = "it has an empty component, `.` or `..`";
            from = i + 1;
        }
    }
    if (why) {
        *st = interp__fail(m, err, INTERP_E_INVAL, "mount-path", "%s \"%.200s\" can't be used: %s", what, path ? path : "", why);
        return NULL;
    }
    char *copy = interp__strndup(m, path, n);
    if (!copy)
        *st = interp__nomem(err);
    return copy;
}

static int is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

/* What a sandbox is made of: nothing is put on top of these. tree: nor below them. */
static const char *target_taken(const char *target)
{
    static const char *const tree[] = { "/proc", "/sys", "/dev", "/etc", "/run/interp", "/.interp" };
    static const char *const only[] = { "/", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/run", "/tmp", "/home", "/var", "/var/empty", "/var/tmp", "/boot", "/nix", "/nix/store", "/gnu", "/gnu/store" };
    for (size_t i = 0; i < sizeof tree / sizeof *tree; i++)
        if (is_below(target, tree[i]))
            return tree[i];
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (!strcmp(target, only[i]))
            return only[i];
    return NULL;
}

interp_status interp__mount_add(struct interp__host_files *h, const struct interp__mem *m, const char *source, const char *target, uint32_t flags, interp_error **err)
{
    interp_status st = INTERP_OK;
    int runtime = (flags & INTERP_MOUNT_RUNTIME) != 0;
    char *from = path_copy(m, runtime ? "runtime" : "mount source", source, &st, err), *to = NULL;
    if (!st)
        to = path_copy(m, "mount target", target ? target : from, &st, err);
    const char *taken = st || runtime ? NULL : target_taken(to);
    struct interp__mount **end = &h->mounts, *n = NULL;
    size_t count = 0;
    for (; !st && *end; end = &(*end)->next, count++)
        if (!strcmp((*end)->target, to))
            st = interp__fail(m, err, INTERP_E_EXISTS, "mount-target", "two mounts have the target %s", to);
    if (!st && taken)
        st = interp__fail(m, err, INTERP_E_INVAL, "mount-target", "mount target %s is no place for a mount: %s belongs to the sandbox; take a directory of your own, such as /data or /workspace/data", to, taken);
    if (!st && runtime && (!strcmp(to, "/") || is_below(to, "/proc") || is_below(to, "/sys") || is_below(to, "/dev") || is_below(to, "/run/interp")))
        st = interp__fail(m, err, INTERP_E_INVAL, "mount-target", "%s is no directory of software", to);
    if (!st && count >= INTERP__MOUNTS_MAX)
        st = interp__fail(m, err, INTERP_E_LIMIT, "mount-count", "%s is one too many: at most %d mounts and runtimes together", from, INTERP__MOUNTS_MAX);
    if (!st && !(n = interp__alloc(m, sizeof *n)))
        st = interp__nomem(err);
    if (st) {
        interp__free(m, from);
        interp__free(m, to);
        return st;
    }
    *n = (struct interp__mount){ .source = from, .target = to, .flags = flags };
    *end = n;
    return INTERP_OK;
}

interp_status interp__interpreter_set(struct interp__host_files *h, const struct interp__mem *m, const char *language, const char *path, interp_error **err)
{
    const struct interp__language *l = language ? interp__language_stateful(language) : NULL;
    interp_status st = INTERP_OK;
    if (!l)
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "interpreters: there is no language \"%.64s\" with kernels; others find their programs by PATH and runtimes", language ? language : "");
    char *copy = path_copy(m, "interpreter", path, &st, err);
    if (!copy)
        return st;
    struct interp__interpreter **end = &h->interpreters;
    while (*end && (*end)->language != l)
        end = &(*end)->next;
    if (!*end && !(*end = interp__alloc(m, sizeof **end))) {
        interp__free(m, copy);
        return interp__nomem(err);
    }
    interp__free(m, (*end)->path);
    (*end)->language = l;
    (*end)->path = copy;
    return INTERP_OK;
}

static void drop_mounts(struct interp__host_files *h, const struct interp__mem *m, uint32_t runtimes)
{
    for (struct interp__mount **p = &h->mounts, *n; (n = *p);) {
        if ((n->flags & INTERP_MOUNT_RUNTIME) != runtimes) {
            p = &n->next;
            continue;
        }
        *p = n->next;
        interp__free(m, n->source);
        interp__free(m, n->target);
        interp__free(m, n);
    }
}

/* ---- JSON */

/* A text member of an object node, or NULL: *st says whether it is wrong or only not there. */
static const char *member(const struct interp__mem *m, const struct interp__json *j, uint32_t object, const char *name, interp_status *st, interp_error **err)
{
    uint32_t i = interp__json_member(j, object, name);
    const struct interp__json_node *n = i ? interp__json_at(j, i) : NULL;
    if (n && !*st && (n->type != INTERP__JSON_STRING || strlen(interp__json_string(j, n)) != n->text_len))
        *st = interp__fail(m, err, INTERP_E_INVAL, "option-type", "mounts: %s must be a string without NUL", name);
    return n && !*st ? interp__json_string(j, n) : NULL;
}

static interp_status mode_flags(const struct interp__mem *m, const char *mode, uint32_t *flags, interp_error **err)
{
    if (!mode || (strcmp(mode, "ro") && strcmp(mode, "rw")))
        return interp__fail(m, err, INTERP_E_INVAL, "option-value", "the mode of a mount is \"%.32s\"; it must be ro or rw", mode ? mode : "");
    *flags = !strcmp(mode, "rw") ? INTERP_MOUNT_WRITABLE : 0;
    return INTERP_OK;
}

static interp_status one_mount(struct interp__host_files *h, const struct interp__mem *m, const struct interp__json *j, uint32_t i, interp_error **err)
{
    interp_status st = INTERP_OK;
    const struct interp__json_node *n = interp__json_at(j, i);
    if (n->type != INTERP__JSON_OBJECT)
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "mounts must be an array of objects with source, target and mode");
    uint32_t known, flags = 0;
    const char *source = member(m, j, i, "source", &st, err), *target = member(m, j, i, "target", &st, err), *mode = member(m, j, i, "mode", &st, err);
    known = (uint32_t)((source != NULL) + (target != NULL) + (mode != NULL));
    if (!st && (!source || known != n->count))
        st = interp__fail(m, err, INTERP_E_INVAL, "option-unknown", "mounts: %s", source ? "a mount has the members source, target and mode, and no others" : "a mount needs a source");
    if (!st)
        st = mode_flags(m, mode ? mode : "ro", &flags, err);
    return st ? st : interp__mount_add(h, m, source, target, flags, err);
}

interp_status interp__host_files_json(struct interp__host_files *h, const struct interp__mem *m, const char *key, const struct interp__json *j, uint32_t node, int *known, interp_error **err)
{
    int mounts = !strcmp(key, "mounts"), runtimes = !strcmp(key, "runtimes");
    const struct interp__json_node *list = interp__json_at(j, node);
    interp_status st = INTERP_OK;
    *known = mounts || runtimes || !strcmp(key, "interpreters");
    if (!*known)
        return INTERP_OK;
    if (list->type != (mounts || runtimes ? INTERP__JSON_ARRAY : INTERP__JSON_OBJECT))
        return interp__fail(m, err, INTERP_E_INVAL, "option-type", "%s must be %s", key, mounts ? "an array of objects with source, target and mode" : runtimes ? "an array of directories" : "an object of paths by language");
    if (mounts || runtimes)
        drop_mounts(h, m, runtimes ? INTERP_MOUNT_RUNTIME : 0);
    uint32_t i = node + 1;
    for (uint32_t k = 0; k < list->count && !st; k++, i = interp__json_at(j, i)->next) {
        const struct interp__json_node *n = interp__json_at(j, i);
        if (mounts)
            st = one_mount(h, m, j, i, err);
        else if (n->type != INTERP__JSON_STRING || strlen(interp__json_string(j, n)) != n->text_len)
            st = interp__fail(m, err, INTERP_E_INVAL, "option-type", "%s must have strings without NUL", key);
        else if (runtimes)
            st = interp__mount_add(h, m, interp__json_string(j, n), NULL, INTERP_MOUNT_RUNTIME, err);
        else
            st = interp__interpreter_set(h, m, interp__json_key(j, n), interp__json_string(j, n), err);
    }
    return st;
}

void interp__host_files_write(const struct interp__host_files *h, struct interp__buf *out)
{
    const char *comma = "";
    interp__buf_str(out, ",\"mounts\":[");
    for (const struct interp__mount *n = h->mounts; n; n = n->next)
        if (!(n->flags & INTERP_MOUNT_RUNTIME)) {
            interp__buf_fmt(out, "%s{\"source\":", comma);
            interp__json_text(out, n->source, strlen(n->source));
            interp__buf_str(out, ",\"target\":");
            interp__json_text(out, n->target, strlen(n->target));
            interp__buf_fmt(out, ",\"mode\":\"%s\"}", n->flags & INTERP_MOUNT_WRITABLE ? "rw" : "ro");
            comma = ",";
        }
    comma = "";
    interp__buf_str(out, "],\"runtimes\":[");
    for (const struct interp__mount *n = h->mounts; n; n = n->next)
        if (n->flags & INTERP_MOUNT_RUNTIME) {
            interp__buf_str(out, comma);
            interp__json_text(out, n->source, strlen(n->source));
            comma = ",";
        }
    interp__buf_str(out, "],\"interpreters\":{");
    for (const struct interp__interpreter *n = h->interpreters; n; n = n->next) {
        interp__buf_fmt(out, "%s\"%s\":", n == h->interpreters ? "" : ",", n->language->name);
        interp__json_text(out, n->path, strlen(n->path));
    }
    interp__buf_str(out, "}");
}

/* ---- lives */

interp_status interp__host_files_copy(struct interp__host_files *to, const struct interp__host_files *from, const struct interp__mem *m)
{
    interp_error *err = NULL;
    interp_status st = INTERP_OK;
    for (const struct interp__mount *n = from->mounts; n && !st; n = n->next)
        st = interp__mount_add(to, m, n->source, n->target, n->flags, &err);
    for (const struct interp__interpreter *n = from->interpreters; n && !st; n = n->next)
        st = interp__interpreter_set(to, m, n->language->name, n->path, &err);
    interp_error_free(err);
    return st;
}

void interp__host_files_free(struct interp__host_files *h, const struct interp__mem *m)
{
    drop_mounts(h, m, 0);
    drop_mounts(h, m, INTERP_MOUNT_RUNTIME);
    for (struct interp__interpreter *n = h->interpreters, *next; n; n = next) {
        next = n->next;
        interp__free(m, n->path);
        interp__free(m, n);
    }
    h->interpreters = NULL;
}

void interp__host_files_spec(const struct interp__host_files *h, struct interp__spec_lists *l, interp_spec *spec)
{
    for (const struct interp__mount *n = h->mounts; n; n = n->next) {
        l->source[spec->nmounts] = n->source;
        l->target[spec->nmounts] = n->target;
        l->flags[spec->nmounts++] = n->flags;
    }
    for (const struct interp__interpreter *n = h->interpreters; n && spec->ninterpreters < sizeof l->path / sizeof *l->path; n = n->next) {
        l->language[spec->ninterpreters] = n->language->name;
        l->path[spec->ninterpreters++] = n->path;
    }
    spec->mount_sources = l->source;
    spec->mount_targets = l->target;
    spec->mount_flags = l->flags;
    spec->interpreter_languages = l->language;
    spec->interpreters = l->path;
}

/* ---- the setters */

interp_status interp_config_add_mount(interp_config *c, const char *source, const char *target, const char *mode, interp_error **err)
{
    uint32_t flags = 0;
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    st = mode_flags(&c->ctx->mem, mode, &flags, err);
    if (!st)
        st = interp__mount_add(&c->files, &c->ctx->mem, source, target, flags, err);
    interp__leave(&c->guard);
    return st;
}

interp_status interp_config_add_runtime(interp_config *c, const char *directory, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    st = interp__mount_add(&c->files, &c->ctx->mem, directory, NULL, INTERP_MOUNT_RUNTIME, err);
    interp__leave(&c->guard);
    return st;
}

interp_status interp_config_set_interpreter(interp_config *c, const char *language, const char *path, interp_error **err)
{
    interp_status st = interp__config_enter(c, err);
    if (st)
        return st;
    st = interp__interpreter_set(&c->files, &c->ctx->mem, language, path, err);
    interp__leave(&c->guard);
    return st;
}
