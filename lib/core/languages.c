/* languages.c - how each kernel is found and started. The agent knows no language; this table does. */
#include "blobs.h"
#include "oneshot.h"
#include <stdio.h>
#include <string.h>

static const char *const PYTHON[] = { "python3", "python", NULL };
static const char *const PYTHON_ARGS[] = { "-c", NULL };
static const char *const NODE[] = { "node", "nodejs", NULL };
static const char *const NODE_ARGS[] = { "--expose-internals", "--no-warnings", "-e", NULL };
static const char *const BASH[] = { "bash", NULL };
static const char *const BASH_ARGS[] = { "--noprofile", "--norc", "/dev/fd/4", NULL };
static const char *const SH[] = { "sh", NULL };
static const char *const SH_ARGS[] = { "/dev/fd/4", NULL };

static const char *const PYTHON_NAMES[] = { "python3", "py", NULL };
static const char *const NODE_NAMES[] = { "js", "node", "nodejs", NULL };
static const char *const SHELL_NAMES[] = { "shell", NULL };

static const struct interp__language LANGUAGES[] = {
    { .name = "python", .aliases = PYTHON_NAMES, .candidates = PYTHON, .args = PYTHON_ARGS, .kind = WIRE_KIND_PASSED, .caches = 1, .minimum = "Python 3.6",
      .packed = INTERP__PYTHON, .boot = interp__blob_python_boot, .boot_end = interp__blob_python_boot_end },
    { .name = "javascript", .aliases = NODE_NAMES, .candidates = NODE, .args = NODE_ARGS, .kind = WIRE_KIND_PATHS, .caches = 1, .minimum = "Node.js 16",
      .packed = INTERP__JAVASCRIPT, .boot = interp__blob_javascript_boot, .boot_end = interp__blob_javascript_boot_end },
    { .name = "bash", .candidates = BASH, .args = BASH_ARGS, .kind = WIRE_KIND_SCRIPT, .minimum = "bash 4",
      .driver = interp__blob_bash, .driver_end = interp__blob_bash_end, .code_template = interp__blob_bash_template, .template_end = interp__blob_bash_template_end },
    { .name = "sh", .aliases = SHELL_NAMES, .candidates = SH, .args = SH_ARGS, .kind = WIRE_KIND_SCRIPT, .minimum = "a POSIX shell",
      .driver = interp__blob_sh, .driver_end = interp__blob_sh_end, .code_template = interp__blob_sh_template, .template_end = interp__blob_sh_template_end },
};

const uint8_t *interp__language_driver(const struct interp__language *l, const struct interp__mem *m, size_t *n)
{
    *n = l->packed ? interp__packed_size(l->packed) : (size_t)(l->driver_end - l->driver);
    return l->packed ? interp__unpack(l->packed, m) : l->driver;
}

static int called(const struct interp__language *l, const char *name)
{
    int yes = !strcmp(l->name, name);
    for (const char *const *a = l->aliases; a && *a && !yes; a++)
        yes = !strcmp(*a, name);
    return yes;
}

const struct interp__language *interp__language_stateful(const char *name)
{
    for (uint32_t i = 0; i < sizeof LANGUAGES / sizeof *LANGUAGES; i++)
        if (called(&LANGUAGES[i], name))
            return &LANGUAGES[i];
    return NULL;
}

interp_status interp__languages_builtin(interp_ctx *x, struct interp__oneshot **out, interp_error **err)
{
    pthread_mutex_lock(&x->lock);
    *out = x->oneshots;
    pthread_mutex_unlock(&x->lock);
    if (*out)
        return INTERP_OK;
    struct interp__json j;
    struct interp__oneshot *made = NULL, **end = &made;
    interp_status st = interp__json_parse(&j, &x->mem, interp__blob_languages, (size_t)(interp__blob_languages_end - interp__blob_languages), err);
    uint32_t i = 1, count = st ? 0 : interp__json_at(&j, 0)->count;
    for (uint32_t k = 0; k < count && !st; k++, i = interp__json_at(&j, i)->next)
        if (!(st = interp__oneshot_new(&x->mem, &j, i, end, err)))
            end = &(*end)->next;
    interp__json_free(&j);
    pthread_mutex_lock(&x->lock);
    if (!st && !x->oneshots)
        x->oneshots = made, made = NULL;
    *out = x->oneshots;
    pthread_mutex_unlock(&x->lock);
    interp__oneshots_free(&made);
    return st;
}

interp_status interp__language_find(struct interp_session *s, const char *name, const struct interp__language **out, interp_error **err)
{
    struct interp__oneshot *builtin;
    if ((*out = interp__language_stateful(name)))
        return INTERP_OK;
    interp_status st = interp__languages_builtin(s->ctx, &builtin, err);
    for (const struct interp__oneshot *o = s->oneshots; o && !st && !*out; o = o->next)
        *out = called(&o->language, name) ? &o->language : NULL;
    for (const struct interp__oneshot *o = builtin; o && !st && !*out; o = o->next)
        *out = called(&o->language, name) ? &o->language : NULL;
    if (st || *out)
        return st;
    char known[512] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < sizeof LANGUAGES / sizeof *LANGUAGES; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", LANGUAGES[i].name);
    for (int own = 0; own < 2; own++)
        for (const struct interp__oneshot *o = own ? s->oneshots : builtin; o && n + strlen(o->language.name) + 3 < sizeof known; o = o->next)
            n += (size_t)snprintf(known + n, sizeof known - n, ", %s", o->language.name);
    return interp__fail(&s->mem, err, INTERP_E_INVAL, "language-unknown", "\"%.64s\" is no language here: there are %s, and what the config's languages add", name, known);
}

static void one_json(struct interp__buf *b, const struct interp__language *l, int compiles, const char *programs)
{
    interp__buf_str(b, b->len > 1 ? ",{\"name\":" : "{\"name\":");
    interp__json_text(b, l->name, strlen(l->name));
    interp__buf_str(b, ",\"aliases\":[");
    for (const char *const *a = l->aliases; a && *a; a++) {
        interp__buf_str(b, a == l->aliases ? "" : ",");
        interp__json_text(b, *a, strlen(*a));
    }
    interp__buf_fmt(b, "],\"state\":%s,\"compiles\":%s,\"programs\":", l->oneshot ? "false" : "true", compiles ? "true" : "false");
    if (programs)
        interp__json_text(b, programs, strlen(programs));
    else {
        interp__buf_str(b, "\"");
        for (const char *const *c = l->candidates; *c; c++)
            interp__buf_fmt(b, "%s%s", c == l->candidates ? "" : ", ", *c);
        interp__buf_str(b, "\"");
    }
    interp__buf_str(b, "}");
}

interp_status interp__languages_json(interp_ctx *x, const struct interp__oneshot *own, struct interp__buf *b)
{
    struct interp__oneshot *builtin;
    interp_status st = interp__languages_builtin(x, &builtin, NULL);
    if (st)
        return st;
    interp__buf_str(b, "[");
    for (uint32_t i = 0; i < sizeof LANGUAGES / sizeof *LANGUAGES; i++)
        one_json(b, &LANGUAGES[i], 0, NULL);
    for (const struct interp__oneshot *o = builtin; o; o = o->next) {
        const struct interp__oneshot *p = own;
        while (p && strcmp(p->language.name, o->language.name))
            p = p->next;
        if (!p)
            one_json(b, &o->language, o->builds, o->looked);
    }
    for (const struct interp__oneshot *o = own; o; o = o->next)
        one_json(b, &o->language, o->builds, o->looked);
    interp__buf_str(b, "]");
    return INTERP_OK;
}

/* What every kernel finds in its environment unless the config says otherwise: no colours, no pagers, no questions. */
const char *const interp__base_env[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home", "USER=user", "LOGNAME=user", "SHELL=/bin/sh", "TMPDIR=/tmp",
    "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=dumb", "NO_COLOR=1", "CLICOLOR=0", "PAGER=cat", "GIT_PAGER=cat", "DEBIAN_FRONTEND=noninteractive",
    "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "MPLBACKEND=Agg", "PYTHONUNBUFFERED=1", NULL
};
