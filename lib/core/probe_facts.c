/* probe_facts.c - what the probe's programs print: lines of fields with tabs between. They are a guest's words: every count and length is bounded, and names in the
   text for a model are plain ASCII. */
#include "core.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIELD_MAX = 256, PACKAGES_MAX = 200, TEXT_PACKAGES = 60, DIRS_MAX = 48, LANGUAGES_MAX = 32 };
enum { PYTHON, JAVASCRIPT, KINDS };
static const char *const KIND[KINDS] = { "python", "javascript" };
static const char *const KNOWN[] = { "python", "javascript", "bash", "sh", "c", "c++", "go", "rust", "java", "ruby", "perl", "php", "lua", "r" };

struct interp__facts {
    const struct interp__mem *mem;
    char os[FIELD_MAX], kernel[FIELD_MAX], user[FIELD_MAX], cwd[FIELD_MAX], tools[2 * FIELD_MAX];
    uint64_t disk, free;
    struct { char name[16], path[FIELD_MAX], version[72]; } languages[LANGUAGES_MAX];
    unsigned nlanguages, ndirs;
    struct { uint64_t total; struct interp__buf json, text; unsigned listed; } packages[KINDS];
    struct { char path[FIELD_MAX], state[96]; } dirs[DIRS_MAX];
};

static void forget(struct interp__facts *f)
{
    for (int i = 0; i < KINDS; i++) {
        interp__buf_free(&f->packages[i].json);
        interp__buf_free(&f->packages[i].text);
        f->packages[i].total = f->packages[i].listed = 0;
    }
    f->nlanguages = f->ndirs = 0;
    f->os[0] = f->kernel[0] = f->user[0] = f->tools[0] = 0;
}

struct interp__facts *interp__facts_new(const struct interp__mem *m)
{
    struct interp__facts *f = interp__alloc(m, sizeof *f);
    if (!f)
        return NULL;
    f->mem = m;
    for (int i = 0; i < KINDS; i++) {
        interp__buf_init(&f->packages[i].json, m);
        interp__buf_init(&f->packages[i].text, m);
    }
    return f;
}
void interp__facts_free(struct interp__facts *f)
{
    if (!f)
        return;
    forget(f);
    interp__free(f->mem, f);
}

/* ---- reading */

struct fields { const char *p[4]; size_t n[4]; unsigned count; };
static const char *line(const char *p, const char *end, struct fields *f)
{
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop)
        stop = end;
    memset(f, 0, sizeof *f);
    for (const char *at = p; f->count < 4;) {
        const char *tab = memchr(at, '\t', (size_t)(stop - at));
        f->p[f->count] = at;
        f->n[f->count] = (size_t)((tab && f->count < 3 ? tab : stop) - at);   /* the last one takes what is left */
        f->count++;
        if (!tab)
            break;
        at = tab + 1;
    }
    return stop < end ? stop + 1 : end;
}
static int is(const struct fields *f, unsigned i, const char *word)
{
    return i < f->count && f->n[i] == strlen(word) && !memcmp(f->p[i], word, f->n[i]);
}
/* A field as UTF-8 without control characters; what does not fit is cut. */
static void keep(char *out, size_t size, const struct fields *f, unsigned i)
{
    size_t n = i < f->count ? f->n[i] : 0, k = 0;
    if (n > size - 1)
        n = interp__utf8_whole(f->p[i], size - 1);
    n = n ? interp__utf8_valid(f->p[i], n) : 0;
    for (; k < n; k++)
        out[k] = (unsigned char)f->p[i][k] < 0x20 || f->p[i][k] == 0x7F ? ' ' : f->p[i][k];
    out[k] = 0;
}
static uint64_t number(const struct fields *f, unsigned i)
{
    uint64_t v = 0;
    for (size_t k = 0; i < f->count && k < f->n[i] && k < 12 && f->p[i][k] >= '0' && f->p[i][k] <= '9'; k++)
        v = v * 10 + (uint64_t)(f->p[i][k] - '0');
    return v;
}

/* For a model: plain, so that a name can't be more than a name. */
static void plain(struct interp__buf *b, const char *p, size_t max)
{
    for (size_t i = 0; p[i] && i < max; i++)
        interp__buf_add(b, p[i] > 0x20 && p[i] < 0x7F ? &p[i] : p[i] == ' ' ? " " : "?", 1);
}

static void package(struct interp__facts *f, const struct fields *l)
{
    char name[72], version[40];
    int kind = is(l, 1, KIND[PYTHON]) ? PYTHON : is(l, 1, KIND[JAVASCRIPT]) ? JAVASCRIPT : -1;
    if (kind < 0)
        return;
    struct interp__buf *j = &f->packages[kind].json, *t = &f->packages[kind].text;
    if (f->packages[kind].total++ >= PACKAGES_MAX)
        return;
    keep(name, sizeof name, l, 2);
    keep(version, sizeof version, l, 3);
    interp__buf_str(j, j->len ? ",{\"name\":" : "{\"name\":");
    interp__json_text(j, name, strlen(name));
    interp__buf_str(j, ",\"version\":");
    interp__json_text(j, version, strlen(version));
    interp__buf_str(j, "}");
    if (f->packages[kind].listed++ < TEXT_PACKAGES) {
        interp__buf_str(t, t->len ? ", " : "");
        plain(t, name, 40);
        interp__buf_str(t, *version ? " " : "");
        plain(t, version, 20);
    }
}

static void language(struct interp__facts *f, const struct fields *l)
{
    int known = 0;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        known |= is(l, 1, KNOWN[i]);
    if (!known || f->nlanguages == LANGUAGES_MAX)
        return;
    keep(f->languages[f->nlanguages].name, sizeof f->languages[0].name, l, 1);
    keep(f->languages[f->nlanguages].path, FIELD_MAX, l, 2);
    keep(f->languages[f->nlanguages].version, sizeof f->languages[0].version, l, 3);
    f->nlanguages++;
}

void interp__facts_read(struct interp__facts *f, const char *p, size_t n, int full)
{
    struct fields l;
    if (full)
        forget(f);
    for (const char *end = p + n; p < end;) {
        p = line(p, end, &l);
        if (is(&l, 0, "cwd"))
            keep(f->cwd, sizeof f->cwd, &l, 1);
        else if (is(&l, 0, "disk"))
            f->disk = number(&l, 1) << 10, f->free = number(&l, 2) << 10;
        else if (!full)
            continue;
        else if (is(&l, 0, "os"))
            keep(f->os, sizeof f->os, &l, 1);
        else if (is(&l, 0, "kernel"))
            keep(f->kernel, sizeof f->kernel, &l, 1);
        else if (is(&l, 0, "user"))
            keep(f->user, sizeof f->user, &l, 1);
        else if (is(&l, 0, "tools"))
            keep(f->tools, sizeof f->tools, &l, 1);
        else if (is(&l, 0, "lang"))
            language(f, &l);
        else if (is(&l, 0, "pkg"))
            package(f, &l);
        else if (is(&l, 0, "dir") && l.count > 2 && l.n[1] < FIELD_MAX && f->ndirs < DIRS_MAX && !memchr(l.p[1], 0, l.n[1]) && interp__utf8_valid(l.p[1], l.n[1]) == l.n[1]) {
            keep(f->dirs[f->ndirs].path, FIELD_MAX, &l, 1);
            keep(f->dirs[f->ndirs].state, sizeof f->dirs[0].state, &l, 2);
            f->ndirs++;
        }
    }
}

/* Lines `st PATH STATE` of those that are there. */
int interp__facts_same(const struct interp__facts *f, const char *p, size_t n)
{
    uint8_t seen[DIRS_MAX] = { 0 };
    struct fields l;
    for (const char *end = p + n; p < end;) {
        p = line(p, end, &l);
        for (unsigned i = 0; i < f->ndirs && is(&l, 0, "st"); i++)
            if (is(&l, 1, f->dirs[i].path))
                seen[i] = is(&l, 2, f->dirs[i].state) ? 1 : 2;
    }
    for (unsigned i = 0; i < f->ndirs; i++)
        if (strcmp(f->dirs[i].state, "-") ? seen[i] != 1 : seen[i] != 0)
            return 0;
    return f->nlanguages > 0;
}

void interp__facts_dirs(const struct interp__facts *f, struct interp__buf *out)
{
    interp__buf_str(out, "interp_dirs() {\nstat -c 'st\t%n\t%Z %h %s %i' --");
    for (unsigned i = 0; i < f->ndirs; i++) {
        interp__buf_str(out, " ");
        interp__shell_quote(out, f->dirs[i].path);
    }
    interp__buf_str(out, f->ndirs ? "\n}\n" : " /dev/null\n}\n");
}

/* ---- telling */

static int has(const struct interp__facts *f, const char *name)
{
    for (unsigned i = 0; i < f->nlanguages; i++)
        if (!strcmp(f->languages[i].name, name))
            return 1;
    return 0;
}
static void member(struct interp__buf *b, const char *name, const char *text)
{
    interp__buf_fmt(b, "%s\"%s\":", b->len > 1 ? "," : "", name);
    if (*text)
        interp__json_text(b, text, strlen(text));
    else
        interp__buf_str(b, "null");
}
static const char *arch(const struct interp_session *s)
{
    return s->welcome.arch == WIRE_ARCH_AARCH64 ? "aarch64" : "x86_64";
}

void interp__facts_json(const struct interp__facts *f, const struct interp_session *s, int complete, struct interp__buf *b)
{
    interp__buf_str(b, "{");
    member(b, "os", f->os);
    member(b, "kernel", f->kernel);
    member(b, "arch", arch(s));
    member(b, "user", f->user);
    member(b, "cwd", f->cwd);
    interp__buf_str(b, ",\"languages\":[");
    for (unsigned i = 0; i < f->nlanguages; i++) {
        interp__buf_fmt(b, "%s{\"name\":\"%s\",\"version\":", i ? "," : "", f->languages[i].name);
        if (*f->languages[i].version)
            interp__json_text(b, f->languages[i].version, strlen(f->languages[i].version));
        else
            interp__buf_str(b, "null");
        interp__buf_str(b, ",\"path\":");
        interp__json_text(b, f->languages[i].path, strlen(f->languages[i].path));
        interp__buf_str(b, "}");
    }
    interp__buf_str(b, "],\"missing\":[");
    int first = 1;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (!has(f, KNOWN[i])) {
            interp__buf_fmt(b, "%s\"%s\"", first ? "" : ",", KNOWN[i]);
            first = 0;
        }
    interp__buf_str(b, "],\"tools\":[");
    first = 1;
    for (const char *p = f->tools; *p;) {
        size_t n = strcspn(p, " ");
        if (n) {
            interp__buf_str(b, first ? "" : ",");
            interp__json_text(b, p, n);
            first = 0;
        }
        p += n + (p[n] == ' ');
    }
    interp__buf_str(b, "],\"packages\":{");
    for (int i = 0; i < KINDS; i++) {
        interp__buf_fmt(b, "%s\"%s\":{\"total\":%" PRIu64 ",\"listed\":[", i ? "," : "", KIND[i], f->packages[i].total);
        interp__buf_add(b, f->packages[i].json.p, f->packages[i].json.len);
        interp__buf_str(b, "]}");
    }
    interp__buf_fmt(b, "},\"disk\":{\"total_bytes\":%" PRIu64 ",\"free_bytes\":%" PRIu64 "},\"limits\":{", f->disk, f->free);
    interp__buf_fmt(b, "\"memory_bytes\":%" PRIu64 ",\"cpu_millis\":%" PRIu64 ",\"pids\":%" PRIu64 ",\"workspace_bytes\":%" PRIu64 ",\"workspace_inodes\":%" PRIu64 ",\"file_bytes\":%" PRIu64,
                    s->v.memory, s->v.cpu, s->v.pids, s->v.workspace, s->v.inodes, s->v.file);
    const struct { const char *name; uint64_t v; } times[] = { { "timeout_ms", s->v.timeout }, { "cpu_ms", s->v.cpu_time }, { "idle_output_ms", s->v.idle_output },
                                                               { "session_idle_ms", s->v.session_idle }, { "session_lifetime_ms", s->v.lifetime } };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i].v == INTERP_FOREVER)
            interp__buf_fmt(b, ",\"%s\":null", times[i].name);
        else
            interp__buf_fmt(b, ",\"%s\":%" PRIu64, times[i].name, times[i].v);
    interp__buf_fmt(b, "},\"reached\":%s,\"network\":\"none\",\"complete\":%s}", s->link && s->link->reached ? s->link->reached : "{}", complete ? "true" : "false");
}

static void amount(struct interp__buf *b, uint64_t bytes)
{
    if (bytes >= UINT64_C(10) << 30)
        interp__buf_fmt(b, "%" PRIu64 " GiB", bytes >> 30);
    else
        interp__buf_fmt(b, "%" PRIu64 " MiB", bytes >> 20);
}

void interp__facts_text(const struct interp__facts *f, const struct interp_session *s, struct interp__buf *b)
{
    interp__buf_str(b, "System: ");
    plain(b, *f->os ? f->os : "Linux", 80);
    interp__buf_fmt(b, ", %s. Working directory ", arch(s));
    plain(b, *f->cwd ? f->cwd : "/workspace", 100);
    if (f->disk) {
        interp__buf_str(b, ", ");
        amount(b, f->free);
        interp__buf_str(b, " free");
    }
    interp__buf_str(b, ". No network.\nLanguages:");
    for (unsigned i = 0; i < f->nlanguages; i++) {
        interp__buf_fmt(b, "%s %s", i ? "," : "", f->languages[i].name);
        interp__buf_str(b, *f->languages[i].version ? " " : "");
        plain(b, f->languages[i].version, 40);
    }
    interp__buf_str(b, f->nlanguages ? ". Not there:" : " none found. Not there:");
    int first = 1;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (!has(f, KNOWN[i])) {
            interp__buf_fmt(b, "%s %s", first ? "" : ",", KNOWN[i]);
            first = 0;
        }
    interp__buf_str(b, first ? " nothing.\n" : ".\n");
    for (int i = 0; i < KINDS; i++)
        if (f->packages[i].total) {
            interp__buf_fmt(b, "%s packages (%" PRIu64 "): ", i == PYTHON ? "Python" : "JavaScript", f->packages[i].total);
            interp__buf_add(b, f->packages[i].text.p, f->packages[i].text.len);
            interp__buf_str(b, f->packages[i].total > TEXT_PACKAGES ? ", and more.\n" : ".\n");
        }
    if (*f->tools) {
        interp__buf_str(b, "Programs:");
        plain(b, f->tools, 400);
        interp__buf_str(b, "\n");
    }
    interp__buf_str(b, "Limits: ");
    amount(b, s->v.memory);
    interp__buf_fmt(b, " of memory, %" PRIu64 ".%" PRIu64 " CPU, %" PRIu64 " processes, ", s->v.cpu / 1000, s->v.cpu % 1000 / 100, s->v.pids);
    amount(b, s->v.workspace);
    interp__buf_str(b, " of files");
    if (s->v.timeout != INTERP_FOREVER)
        interp__buf_fmt(b, ", %" PRIu64 ".%" PRIu64 " s for a run", s->v.timeout / 1000, s->v.timeout % 1000 / 100);
    interp__buf_str(b, ".\n");
}
