/* doctor_table.c - what the doctor found, for people.
   SPDX-License-Identifier: MIT */
#include "doctor.h"
#include "object.h"
#include <stdio.h>
#include <string.h>

#define WIDTH 100                    /* of the page */
#define NAME  12                     /* of the first column */
#define WORKS 5                      /* of the second */
#define REST  (2 + NAME + WORKS + 2) /* where the rest of a row begins */

/* The start of a row: name and whether it works. */
static void row(const char *name, int yes, int colour)
{
    printf("  %-*s%s%-*s%s  ", NAME, name, !colour ? "" : yes ? "\033[32m" : "\033[31m", WORKS, yes ? "yes" : "no", colour ? "\033[0m" : "");
}

/* Words from column `column` on, where the cursor stands, wrapped at WIDTH with the same indent. Control characters never reach the terminal. */
static void wrapped(int column, const char *text)
{
    int at = column;
    for (const char *p = text; *p;) {
        size_t space = strspn(p, " \t\r\n"), n = strcspn(p + space, " \t\r\n");
        p += space;
        if (!n)
            break;
        if (at > column && at + 1 + (int)n > WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        } else if (at > column) {
            putchar(' ');
            at++;
        }
        for (size_t i = 0; i < n; i++)
            putchar((unsigned char)p[i] < 0x20 || p[i] == 0x7F ? '?' : p[i]);
        at += (int)n;
        p += n;
    }
    putchar('\n');
}

/* A JSON value as people write it: strings bare, lists with commas, yes and no. */
static void plain_value(struct buf *out, const char *value, size_t n)
{
    if (n && (value[0] == 't' || value[0] == 'f')) {
        buf_text(out, value[0] == 't' ? "yes" : "no");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (value[i] == ',')
            buf_text(out, ", ");
        else if (!strchr("\"[]{}", value[i]))
            buf_add(out, &value[i], 1);
    }
}

static int is_none(const struct member *m)
{
    return m->kind == JSON_NULL || (m->kind == JSON_ARRAY && m->value_len <= 2);
}

/* Members of a JSON object as "ids two, memory cgroup, …; not enforced here: cpu". */
static void members_text(struct buf *out, const char *json, const char *between)
{
    char why[160];
    struct object o;
    const struct member *unenforced = NULL;
    if (!json || object_scan(&o, json, strlen(json), why, sizeof why) < 0)
        memset(&o, 0, sizeof o);
    for (size_t i = 0; i < o.n; i++) {
        if (!strcmp(o.m[i].name, "unenforced")) {
            unenforced = &o.m[i];
            continue;
        }
        if (is_none(&o.m[i]) || !strcmp(o.m[i].name, "isolation"))
            continue;
        buf_text(out, between);
        for (const char *p = o.m[i].name; *p; p++)
            buf_add(out, *p == '_' ? " " : p, 1);
        buf_text(out, " ");
        plain_value(out, o.m[i].value, o.m[i].value_len);
        between = ", ";
    }
    if (unenforced && !is_none(unenforced)) {
        buf_text(out, "; not enforced here: ");
        plain_value(out, unenforced->value, unenforced->value_len);
    }
    object_free(&o);
    buf_add(out, "", 1);
}

static void reached_text(struct buf *out, const struct doctor_level *l)
{
    if (l->isolation) {
        buf_text(out, "isolation ");
        plain_value(out, l->isolation, strlen(l->isolation));
    }
    members_text(out, l->reached, l->isolation ? ", " : "");
}

/* "What to do: …" on lines of its own. */
static void remedy(const char *text)
{
    static const char label[] = "What to do: ";
    if (!*text)
        return;
    printf("%*s%s", REST, "", label);
    wrapped(REST + (int)sizeof label - 1, text);
}

static void error_text(struct buf *out, const interp_error *e)
{
    const char *reason = interp_error_reason(e);
    buf_text(out, *reason ? reason : interp_status_name(interp_error_code(e)));
    buf_text(out, ": ");
    buf_text(out, interp_error_message(e));
    buf_add(out, "", 1);
}

static int same_error(const interp_error *a, const interp_error *b)
{
    return a && b && !strcmp(interp_error_reason(a), interp_error_reason(b)) && !strcmp(interp_error_message(a), interp_error_message(b));
}

static void level_row(const struct doctor_level *l, const struct doctor_level *above, int colour)
{
    struct buf text = { 0 };
    row(l->name, l->usable, colour);
    if (above && same_error(l->error, above->error)) {
        wrapped(REST, "for the same reason");
        return;
    }
    if (l->usable && above && above->usable && l->isolation && above->isolation && !strcmp(l->isolation, above->isolation)) {
        wrapped(REST, "gives the same as the one above");
        return;
    }
    if (l->usable)
        reached_text(&text, l);
    else
        error_text(&text, l->error);
    wrapped(REST, text.p);
    if (!l->usable)
        remedy(interp_error_remedy(l->error));
    buf_free(&text);
}

static void engine_row(const struct doctor_engine *e, int colour)
{
    struct buf text = { 0 };
    row(e->name, e->usable, colour);
    if (e->usable)
        members_text(&text, e->offers, "");
    else
        error_text(&text, e->error);
    wrapped(REST, text.p);
    if (!e->usable)
        remedy(interp_error_remedy(e->error));
    buf_free(&text);
}

static void language_row(const struct doctor_language *l, int version_width, int colour)
{
    row(l->name, l->usable, colour);
    if (l->usable) {
        printf("%-*s", version_width, *l->version ? l->version : "-");
        wrapped(REST + version_width, l->path);
        return;
    }
    if (!l->tried) {
        wrapped(REST, "not tried: there is no session to try it in");
        return;
    }
    struct buf text = { 0 };
    if (l->outcome) {
        buf_text(&text, l->outcome);
        buf_text(&text, *l->cause ? " (" : "");
        buf_text(&text, l->cause);
        buf_text(&text, *l->cause ? "): " : ": ");
    }
    buf_text(&text, l->message);
    buf_add(&text, "", 1);
    wrapped(REST, text.p);
    remedy(l->remedy);
    buf_free(&text);
}

static int version_column(const struct doctor *d)
{
    size_t width = strlen("Version");
    for (size_t i = 0; i < DOCTOR_LANGUAGES; i++) {
        const char *version = doctor_languages(d)[i].version;
        if (version && strlen(version) > width)
            width = strlen(version) > 40 ? 40 : strlen(version);
    }
    return (int)width + 2;
}

void doctor_table(const struct doctor *d, int colour)
{
    int version_width = version_column(d);
    printf("interp %s\n\nBackend local\n\n  %-*sWorks  What a session gets\n", interp_version(), NAME, "Isolation");
    for (size_t i = 0; i < DOCTOR_LEVELS; i++)
        level_row(&doctor_levels(d)[i], i ? &doctor_levels(d)[i - 1] : NULL, colour);
    printf("\n  %-*sWorks  %-*sInterpreter\n", NAME, "Language", version_width, "Version");
    for (size_t i = 0; i < DOCTOR_LANGUAGES; i++)
        language_row(&doctor_languages(d)[i], version_width, colour);
    printf("\n  %-*sWorks  What the engine offers\n", NAME, "Engine");
    for (size_t i = 0; i < DOCTOR_ENGINES; i++)
        engine_row(&doctor_engines(d)[i], colour);
    putchar('\n');
    int weaker = doctor_levels(d)[DOCTOR_DEFAULT].usable;
    fputs(doctor_usable(d) ? "Sessions work on this machine.\n" : weaker ? "Sessions work on this machine where `isolation` accepts landlock.\n" : "No session can be had on this machine. The rows above say what to do.\n", stdout);
}
