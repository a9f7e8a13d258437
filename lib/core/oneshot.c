/* oneshot.c - a one-shot language from its description: what may stand in it, and the shell text that builds and runs with it */
#include "oneshot.h"
#include "blobs.h"
#include <stdio.h>
#include <string.h>

static const char *const SH[] = { "sh", NULL };
static const char *const SH_ARGS[] = { "/dev/fd/4", NULL };

struct reader { struct interp__oneshot *o; const struct interp__json *j; interp_error **err; const char *name; };

static interp_status wrong(const struct reader *r, const char *member, const char *what)
{
    return interp__fail(r->o->mem, r->err, INTERP_E_INVAL, "language-invalid", "language \"%.64s\": %s %s", r->name, member, what);
}

static int word_ok(const char *p, const char *more)
{
    size_t n = strlen(p);
    if (!n || n > 64)
        return 0;
    for (; *p; p++)
        if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') && !(*p >= '0' && *p <= '9') && !strchr(more, *p))
            return 0;
    return 1;
}

/* A string without NUL, or NULL. */
static const char *plain(const struct interp__json *j, uint32_t at)
{
    const struct interp__json_node *n = interp__json_at(j, at);
    const char *p = interp__json_string(j, n);
    return n->type == INTERP__JSON_STRING && strlen(p) == n->text_len ? p : NULL;
}

static interp_status text(const struct reader *r, const char *member, const char **out)
{
    uint32_t at = interp__json_member(r->j, 0, member);
    if (at && (!(*out = plain(r->j, at)) || !**out))
        return wrong(r, member, "must be a string that is not empty");
    return INTERP_OK;
}

static interp_status pattern(const struct reader *r, const char *member, uint32_t at, struct interp__pattern *p)
{
    const struct interp__json *j = r->j;
    uint32_t match = at;
    if (interp__json_at(j, at)->type == INTERP__JSON_OBJECT) {
        uint32_t i = at + 1;
        match = 0;
        for (uint32_t k = 0; k < interp__json_at(j, at)->count; k++, i = interp__json_at(j, i)->next) {
            const char *key = interp__json_key(j, interp__json_at(j, i)), *v = plain(j, i);
            if (!strcmp(key, "match"))
                match = i;
            else if (!strcmp(key, "type") && v)
                p->type = v;
            else if (!strcmp(key, "severity") && v && (!strcmp(v, "error") || !strcmp(v, "warning") || !strcmp(v, "note")))
                p->severity = *v == 'e' ? INTERP__SEV_ERROR : *v == 'w' ? INTERP__SEV_WARNING : INTERP__SEV_NOTE;
            else
                return wrong(r, member, "has an object with more than \"match\", \"type\" and \"severity\" (error, warning or note)");
        }
    }
    p->text = match ? plain(j, match) : NULL;
    if (!p->text)
        return wrong(r, member, "must be a list of patterns: strings, or objects with \"match\"");
    const char *why = interp__pattern_wrong(p->text);
    if (why)
        return interp__fail(r->o->mem, r->err, INTERP_E_INVAL, "language-invalid", "language \"%.64s\": %s: the pattern \"%.80s\" is wrong: %s", r->name, member, p->text, why);
    return INTERP_OK;
}

static interp_status patterns(const struct reader *r, const char *member, struct interp__pattern *out, uint32_t *count)
{
    uint32_t at = interp__json_member(r->j, 0, member);
    if (!at)
        return INTERP_OK;
    const struct interp__json_node *n = interp__json_at(r->j, at);
    if (n->type != INTERP__JSON_ARRAY || n->count > INTERP__PATTERNS_MAX)
        return wrong(r, member, "must be a list of at most 32 patterns");
    uint32_t i = at + 1;
    for (uint32_t k = 0; k < n->count; k++, i = interp__json_at(r->j, i)->next) {
        interp_status st = pattern(r, member, i, &out[(*count)++]);
        if (st)
            return st;
    }
    return INTERP_OK;
}

/* ---- the shell text */

static void quoted(struct interp__buf *b, const char *p, size_t n)
{
    interp__buf_str(b, "'");
    for (size_t i = 0; i < n; i++)
        if (p[i] == '\'')
            interp__buf_str(b, "'\\''");
        else
            interp__buf_add(b, p + i, 1);
    interp__buf_str(b, "'");
}

/* One word with its placeholders. building: {file} is relative, as the build's directory is that of the file. */
static interp_status word(const struct reader *r, struct interp__buf *b, const char *member, const char *p, int building)
{
    const struct { const char *name, *shell; } places[] = {
        { "file", building ? "$__interp_s" : "$__interp_d/src/$__interp_s" }, { "src", "$__interp_d/src" }, { "out", "$__interp_d/out" }, { "workspace", "$__interp_w" },
        { "name", "$__interp_name" }, { "package", "$__interp_package" }, { "main", "$__interp_main" }, { "heap_mib", "$__interp_h" }
    };
    const char *from = p;
    if (!*p)
        interp__buf_str(b, "''");
    while (*p) {
        size_t n = *p == '{' ? strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
        if (!n || p[n + 1] != '}') {
            p++;
            continue;
        }
        size_t i = 0;
        while (i < sizeof places / sizeof *places && (strlen(places[i].name) != n || memcmp(places[i].name, p + 1, n)))
            i++;
        if (i == sizeof places / sizeof *places)
            return interp__fail(r->o->mem, r->err, INTERP_E_INVAL, "language-invalid", "language \"%.64s\": %s has {%.*s}: {file}, {src}, {out}, {workspace}, {name}, {package}, {main} and {heap_mib} are known",
                                r->name, member, (int)(n < 40 ? n : 40), p + 1);
        if (p > from)
            quoted(b, from, (size_t)(p - from));
        interp__buf_fmt(b, "\"%s\"", places[i].shell);
        from = p += n + 2;
    }
    if (p > from)
        quoted(b, from, (size_t)(p - from));
    return INTERP_OK;
}

static interp_status argv_ok(const struct reader *r, const char *member, uint32_t at)
{
    const struct interp__json_node *n = interp__json_at(r->j, at);
    if (n->type != INTERP__JSON_ARRAY || !n->count || n->count > 64)
        return wrong(r, member, "must be a list of 1 to 64 strings: the program and its arguments");
    uint32_t i = at + 1;
    for (uint32_t k = 0; k < n->count; k++, i = interp__json_at(r->j, i)->next) {
        const char *p = plain(r->j, i);
        if (!p || (!k && (!*p || *p == '|')))
            return wrong(r, member, k ? "has something that is no string" : "needs a program's name first (or several with | between)");
    }
    return INTERP_OK;
}

/* Into the list for messages, once. */
static void mention(struct interp__oneshot *o, const char *p, size_t n)
{
    const char *at = o->looked;
    while (*at) {
        size_t k = strcspn(at, ",");
        if (k == n && !memcmp(at, p, n))
            return;
        at += k + (at[k] ? 2 : 0);
    }
    size_t have = (size_t)(at - o->looked);
    if (have + n + 3 < sizeof o->looked)
        snprintf(o->looked + have, sizeof o->looked - have, "%s%.*s", have ? ", " : "", (int)n, p);
}

/* "cc|gcc|clang": looked for in this order; found as __interp_VAR. A program that the build makes is not looked for. */
static interp_status find(const struct reader *r, struct interp__buf *b, const char *member, const char *names, char var)
{
    if (strchr(names, '{')) {
        interp__buf_fmt(b, "    __interp_%c=", var);
        interp_status st = word(r, b, member, names, 0);
        interp__buf_str(b, "\n");
        return st;
    }
    interp__buf_str(b, "    __interp_find");
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, "|");
        if (!n || (*p != '/' && memchr(p, '/', n)))
            return wrong(r, member, "has an empty or a relative name of a program: give a name that PATH finds, or an absolute path");
        interp__buf_str(b, " ");
        quoted(b, p, n);
        mention(r->o, p, n);
        p += n + (p[n] == '|');
    }
    interp__buf_fmt(b, " || break\n    __interp_%c=$__interp_x\n", var);
    return INTERP_OK;
}

static interp_status words(const struct reader *r, struct interp__buf *b, const char *member, uint32_t at, int building)
{
    uint32_t i = interp__json_at(r->j, at + 1)->next;
    for (uint32_t k = 1; k < interp__json_at(r->j, at)->count; k++, i = interp__json_at(r->j, i)->next) {
        interp__buf_str(b, " ");
        interp_status st = word(r, b, member, plain(r->j, i), building);
        if (st)
            return st;
    }
    return INTERP_OK;
}

static interp_status environment(const struct reader *r, struct interp__buf *b, uint32_t at)
{
    const struct interp__json_node *n = interp__json_at(r->j, at);
    if (n->type != INTERP__JSON_OBJECT)
        return wrong(r, "env", "must be an object of strings");
    uint32_t i = at + 1;
    for (uint32_t k = 0; k < n->count; k++, i = interp__json_at(r->j, i)->next) {
        const char *name = interp__json_key(r->j, interp__json_at(r->j, i)), *v = plain(r->j, i);
        if (!v || !word_ok(name, "_") || (name[0] >= '0' && name[0] <= '9'))
            return wrong(r, "env", "must be an object of strings, its names letters, digits and _");
        interp__buf_fmt(b, "    export %s=", name);   /* what the exec's own environment says comes first in none: a toolchain's needs win */
        interp_status st = word(r, b, "env", v, 0);
        if (st)
            return st;
        interp__buf_str(b, "\n");
    }
    return INTERP_OK;
}

/* One toolchain: an object with run, and maybe compile and env. A build that ends with 96 says that another one must do it. */
static interp_status toolchain(const struct reader *r, struct interp__buf *b, uint32_t object, int whole)
{
    uint32_t compile = interp__json_member(r->j, object, "compile"), run = interp__json_member(r->j, object, "run"), env = interp__json_member(r->j, object, "env");
    const struct interp__json_node *n = interp__json_at(r->j, object);
    if (n->type != INTERP__JSON_OBJECT)
        return wrong(r, "toolchains", "must be a list of objects with \"run\", and \"compile\" and \"env\" where needed");
    if (!whole && n->count != (uint32_t)((compile != 0) + (run != 0) + (env != 0)))
        return wrong(r, "toolchains", "has an object with a member that is none of compile, run, env");
    if (!run)
        return wrong(r, "run", "is missing: the command that runs the program, as a list");
    interp_status st = compile ? argv_ok(r, "compile", compile) : INTERP_OK;
    st = st ? st : argv_ok(r, "run", run);
    interp__buf_str(b, "  while :; do\n");
    if (!st && compile)
        st = find(r, b, "compile", plain(r->j, compile + 1), 'c');
    if (!st)
        st = find(r, b, "run", plain(r->j, run + 1), 'r');
    if (!st && env)
        st = environment(r, b, env);
    if (!st && compile) {
        r->o->builds = 1;
        interp__buf_str(b, "    \"$__interp_c\"");
        st = words(r, b, "compile", compile, 1);
        interp__buf_str(b, " >\"$__interp_d/log\" 2>&1 6<&- 7>&- 8>&- 9>&-\n"
                           "    __interp_x=$?\n"
                           "    case $__interp_x in 0) ;; 96) break ;; *) __interp_build 2; exit $__interp_x ;; esac\n");
    }
    interp__buf_str(b, "    set -- \"$__interp_r\"");
    if (!st)
        st = words(r, b, "run", run, 0);
    interp__buf_str(b, " \"$@\"\n    cd \"$__interp_w\"\n    __interp_build 1\n    exec \"$@\" <&6 >&7 2>&8 6<&- 7>&- 8>&- 9>&-\n  done\n");
    return st;
}

static interp_status toolchains(const struct reader *r, struct interp__buf *b)
{
    uint32_t list = interp__json_member(r->j, 0, "toolchains");
    if (!list)
        return toolchain(r, b, 0, 1);
    if (interp__json_member(r->j, 0, "run") || interp__json_member(r->j, 0, "compile") || interp__json_member(r->j, 0, "env"))
        return wrong(r, "toolchains", "and compile, run or env beside it can't both be given");
    const struct interp__json_node *n = interp__json_at(r->j, list);
    if (n->type != INTERP__JSON_ARRAY || !n->count || n->count > 8)
        return wrong(r, "toolchains", "must be a list of 1 to 8 objects");
    uint32_t i = list + 1;
    interp_status st = INTERP_OK;
    for (uint32_t k = 0; k < n->count && !st; k++, i = interp__json_at(r->j, i)->next)
        st = toolchain(r, b, i, 0);
    return st;
}

static interp_status driver(const struct reader *r, struct interp__buf *b)
{
    const char *p = (const char *)interp__blob_oneshot, *end = (const char *)interp__blob_oneshot_end;
    interp_status st = INTERP_OK;
    while (p < end && !st) {
        const char *at = memchr(p, '%', (size_t)(end - p));
        size_t n = at ? (size_t)(at - p) : (size_t)(end - p);
        interp__buf_add(b, p, n);
        p += n;
        if (p == end)
            break;
        if (end - p > 5 && !memcmp(p, "%FILE", 5)) {
            st = word(r, b, "file", r->o->file, 1);
            p += 5;
        } else if (end - p > 11 && !memcmp(p, "%TOOLCHAINS", 11)) {
            st = toolchains(r, b);
            p += 11;
        } else if (end - p > 6 && !memcmp(p, "%READY", 6)) {
            char json[128];
            int len = snprintf(json, sizeof json, "{\"language\":\"%s\",\"version\":\"\"}", r->name);
            interp__buf_fmt(b, "command printf \"\\%03o\\000\\000\\000\\000\\000\\000\\000r\\000\\000\\000\\000\\000\\000\\000%%s\" '%s' >&9", (unsigned)len, json);
            p += 6;
        } else
            interp__buf_add(b, p++, 1);
    }
    return st;
}

static interp_status members(const struct reader *r)
{
    static const char *const known[] = { "name", "aliases", "file", "toolchains", "compile", "run", "env", "errors", "run_errors", "install", "name_from", "package_from", "main_from", "main_at", "unit" };
    uint32_t i = 1;
    for (uint32_t k = 0; k < interp__json_at(r->j, 0)->count; k++, i = interp__json_at(r->j, i)->next) {
        const char *key = interp__json_key(r->j, interp__json_at(r->j, i));
        size_t n = 0;
        while (n < sizeof known / sizeof *known && strcmp(known[n], key))
            n++;
        if (n == sizeof known / sizeof *known)
            return interp__fail(r->o->mem, r->err, INTERP_E_INVAL, "language-invalid", "language \"%.64s\" has no member \"%.64s\"", r->name, key);
    }
    return INTERP_OK;
}

static interp_status names(struct reader *r)
{
    struct interp__oneshot *o = r->o;
    uint32_t at = interp__json_member(r->j, 0, "name"), aliases = interp__json_member(r->j, 0, "aliases");
    const char *name = at ? plain(r->j, at) : NULL;
    if (!name || !word_ok(name, "+#._-"))
        return interp__fail(o->mem, r->err, INTERP_E_INVAL, "language-invalid", "a language needs a \"name\": letters, digits and + # . _ -, at most 64");
    r->name = o->language.name = name;
    if (aliases) {
        const struct interp__json_node *n = interp__json_at(r->j, aliases);
        uint32_t i = aliases + 1;
        if (n->type != INTERP__JSON_ARRAY || n->count > 8)
            return wrong(r, "aliases", "must be a list of at most 8 names");
        for (uint32_t k = 0; k < n->count; k++, i = interp__json_at(r->j, i)->next)
            if (!(o->aliases[k] = plain(r->j, i)) || !word_ok(o->aliases[k], "+#._-"))
                return wrong(r, "aliases", "must be names: letters, digits and + # . _ -, at most 64");
    }
    const char *const *given[2] = { (const char *const[]){ name, NULL }, o->aliases };
    for (int g = 0; g < 2; g++)
        for (unsigned k = 0; given[g][k]; k++)
            if (interp__language_stateful(given[g][k]))
                return interp__fail(o->mem, r->err, INTERP_E_INVAL, "language-taken", "\"%.64s\" is a language with kernels of its own and can't be defined anew: choose another name", given[g][k]);
    return INTERP_OK;
}

static interp_status file_ok(const struct reader *r)
{
    const char *p = r->o->file;
    if (!p || !word_ok(p, "._-{}") || *p == '.' || *p == '-')
        return wrong(r, "file", "is missing or no file name: letters, digits and . _ -, such as main.c, or with {name}");
    return INTERP_OK;
}

static interp_status build(struct reader *r)
{
    struct interp__oneshot *o = r->o;
    interp_status st = interp__json_at(r->j, 0)->type == INTERP__JSON_OBJECT ? names(r) : interp__fail(o->mem, r->err, INTERP_E_INVAL, "language-invalid", "a language must be a JSON object");
    st = st ? st : members(r);
    st = st ? st : text(r, "file", &o->file);
    st = st ? st : file_ok(r);
    st = st ? st : text(r, "unit", &o->unit);
    st = st ? st : text(r, "install", &o->install);
    st = st ? st : text(r, "main_at", &o->main_at);
    st = st ? st : patterns(r, "errors", o->errors, &o->nerrors);
    st = st ? st : patterns(r, "run_errors", o->run_errors, &o->nrun_errors);
    st = st ? st : patterns(r, "name_from", o->name_from, &o->nname_from);
    st = st ? st : patterns(r, "package_from", o->package_from, &o->npackage_from);
    st = st ? st : patterns(r, "main_from", o->main_from, &o->nmain_from);
    if (!st && o->main_at && interp__pattern_wrong(o->main_at))
        st = wrong(r, "main_at", interp__pattern_wrong(o->main_at));
    if (!st && o->unit && !word_ok(o->unit, "_"))
        st = wrong(r, "unit", "must be a name: letters, digits and _");
    if (!o->unit)
        o->unit = "main";
    if (!o->install)
        o->install = r->name;
    st = st ? st : driver(r, &o->driver);
    if (!st && (!interp__buf_text(&o->driver) || o->driver.bad))
        st = interp__nomem(r->err);
    if (!st && o->driver.len > 48 << 10)
        st = wrong(r, "toolchains", "are too long together: at most 48 KiB");
    return st;
}

interp_status interp__oneshot_new(const struct interp__mem *m, const struct interp__json *j, uint32_t node, struct interp__oneshot **out, interp_error **err)
{
    struct interp__oneshot *o = interp__alloc(m, sizeof *o);
    struct interp__buf own;
    if (!o)
        return interp__nomem(err);
    o->mem = m;
    interp__buf_init(&o->driver, m);
    interp__buf_init(&own, m);
    interp__json_write(&own, j, node);
    interp_status st = own.bad ? interp__nomem(err) : own.len > INTERP__LANGUAGE_BYTES ? interp__fail(m, err, INTERP_E_LIMIT, "language-size", "a language has %zu bytes; at most %d are taken", own.len, INTERP__LANGUAGE_BYTES)
                       : interp__json_parse(&o->json, m, own.p, own.len, err);
    interp__buf_free(&own);
    struct reader r = { o, &o->json, err, "" };
    if (!st)
        st = build(&r);
    if (st) {
        interp__oneshot_free(o);
        return st;
    }
    struct interp__language *l = &o->language;
    l->aliases = o->aliases;
    l->candidates = SH;
    l->args = SH_ARGS;
    l->kind = WIRE_KIND_SCRIPT;
    l->minimum = "a POSIX shell";
    l->driver = o->driver.p;
    l->driver_end = o->driver.p + o->driver.len;
    l->code_template = interp__blob_oneshot_template;
    l->template_end = interp__blob_oneshot_template_end;
    l->oneshot = o;
    *out = o;
    return INTERP_OK;
}

void interp__oneshot_free(struct interp__oneshot *o)
{
    if (!o)
        return;
    const struct interp__mem *m = o->mem;
    interp__json_free(&o->json);
    interp__buf_free(&o->driver);
    interp__free(m, o);
}

interp_status interp__oneshots_new(const struct interp__mem *m, const struct interp__extra *texts, struct interp__oneshot **out, interp_error **err)
{
    while (*out)
        out = &(*out)->next;
    for (const struct interp__extra *e = texts; e; e = e->next, out = &(*out)->next) {
        struct interp__json j;
        interp_status st = interp__json_parse(&j, m, e->json, strlen(e->json), err);
        if (!st)
            st = interp__oneshot_new(m, &j, 0, out, err);
        interp__json_free(&j);
        if (st)
            return st;
    }
    return INTERP_OK;
}

void interp__oneshots_free(struct interp__oneshot **list)
{
    for (struct interp__oneshot *o = *list, *next; o; o = next) {
        next = o->next;
        interp__oneshot_free(o);
    }
    *list = NULL;
}

/* ---- an exec's own words */

struct unit { char name[256], package[256], main[256]; };

static int look(const struct interp__pattern *p, uint32_t count, const char *line, size_t n, char out[256], uint32_t *steps)
{
    struct interp__match m;
    for (; n && (*line == ' ' || *line == '\t'); line++)
        n--;
    for (uint32_t i = 0; i < count; i++)
        if (interp__pattern_match(p[i].text, line, n, &m, steps) && m.name.len && m.name.len < 250) {
            memcpy(out, m.name.p, m.name.len);
            out[m.name.len] = 0;
            return 1;
        }
    return 0;
}

#define UNIT_BYTES ((size_t)256 << 10)   /* of the code: where a package, a class and its main stand in what people write; each line costs */
static void read_unit(const struct interp__oneshot *o, const char *code, size_t n, struct unit *u)
{
    uint32_t steps = 4000000;
    char above[256] = "";
    if (n > UNIT_BYTES)
        n = UNIT_BYTES;
    memset(u, 0, sizeof *u);
    if (o->nname_from + o->npackage_from + o->nmain_from)
        while (n && steps) {
            const char *end = memchr(code, '\n', n);
            size_t len = end ? (size_t)(end - code) : n, use = len < 1024 ? len : 1024;
            struct interp__match m;
            if (!*u->package)
                look(o->package_from, o->npackage_from, code, use, u->package, &steps);
            if (!*u->name)
                look(o->name_from, o->nname_from, code, use, u->name, &steps);
            look(o->main_from, o->nmain_from, code, use, above, &steps);
            if (!*u->main && o->main_at && *above && interp__pattern_match(o->main_at, code, use, &m, &steps))
                memcpy(u->main, above, sizeof above);
            code += len + (end != NULL), n -= len + (end != NULL);
        }
    if (!*u->name)
        snprintf(u->name, sizeof u->name, "%s", o->unit);
    if (!*u->main)
        snprintf(u->main, sizeof u->main, "%s", u->name);
    if (*u->package)
        strcat(u->package, ".");
}

void interp__oneshot_prefix(const struct interp__oneshot *o, struct interp__buf *b, const char *code, size_t n, const struct interp__env *env, const struct interp__buf *args)
{
    struct unit u;
    read_unit(o, code, n, &u);
    interp__buf_fmt(b, "'%s' '%s' '%s' %u", u.name, u.package, u.main, (unsigned)env->count);
    const struct interp__buf *lists[] = { &env->text, args };
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l]->len;) {
            const char *item = (const char *)lists[l]->p + i;
            interp__buf_str(b, " ");
            quoted(b, item, strlen(item));
            i += strlen(item) + 1;
        }
}
