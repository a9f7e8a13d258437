/* audit_cmd.c - `interp audit verify`.
   SPDX-License-Identifier: MIT */
#include "cli.h"
#include "object.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_MAX 4096

enum { AUDIT_FINE = 0, AUDIT_BROKEN = 1, AUDIT_UNREADABLE = 3 };

/* A key is the file's bytes but for one newline at its end. -1 after a message. */
static int read_key(const char *path, unsigned char *key, size_t *n)
{
    size_t have = 0;
    ssize_t r = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    while (fd >= 0 && have < KEY_MAX + 1 && (r = read(fd, key + have, KEY_MAX + 1 - have)) > 0)
        have += (size_t)r;
    if (fd < 0 || r < 0)
        fprintf(stderr, "interp audit: can't read the key file %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (have && key[have - 1] == '\n')
        have--;
    *n = have;
    return fd < 0 || r < 0 ? -1 : 0;
}

static const char *value(const struct object *o, const char *name)
{
    const struct member *m = object_get(o, name);
    return !m ? "" : m->text ? m->text : m->value;
}
static int value_len(const struct object *o, const char *name)
{
    const struct member *m = object_get(o, name);
    return !m ? 0 : (int)(m->text ? m->text_len : m->value_len);
}
#define SHOW(o, name) value_len(o, name), value(o, name)
static int is_true(const struct object *o, const char *name)
{
    return value_len(o, name) == 4 && !strncmp(value(o, name), "true", 4);
}

static int lacks_start(const char *json, size_t n)
{
    char why[160];
    struct object o;
    if (object_scan(&o, json, n, why, sizeof why) < 0)
        return 1;
    int lacks = !is_true(&o, "from_start");
    object_free(&o);
    return lacks;
}

static void say(const char *json, size_t n, int whole)
{
    char why[160];
    struct object o, p;
    if (object_scan(&o, json, n, why, sizeof why) < 0)
        return;
    const struct member *problem = object_get(&o, "problem");
    if (problem && problem->value[0] == '{' && object_scan(&p, problem->value, problem->value_len, why, sizeof why) == 0) {
        printf("%.*s: %.*s, line %.*s: %.*s\n", SHOW(&p, "kind"), SHOW(&p, "file"), SHOW(&p, "line"), SHOW(&p, "text"));
        printf("good up to there: %.*s records, %.*s to %.*s\n", SHOW(&o, "records"), SHOW(&o, "first_seq"), SHOW(&o, "last_seq"));
        object_free(&p);
    } else if (whole && !is_true(&o, "from_start"))
        printf("cut-off: the files begin with record %.*s; those with the ones before it are missing\n", SHOW(&o, "first_seq"));
    else {
        printf("ok: %.*s records, %.*s to %.*s%s%s\n", SHOW(&o, "records"), SHOW(&o, "first_seq"), SHOW(&o, "last_seq"),
               is_true(&o, "from_start") ? "" : "; earlier files were not given", is_true(&o, "ended") ? "" : "; the trail was not ended in order, or goes on");
        if (value(&o, "dropped")[0] != '0')
            printf("%.*s records could not be written at their time\n", SHOW(&o, "dropped"));
        printf("head %.*s\n", SHOW(&o, "head"));
    }
    object_free(&o);
}

int cmd_audit(int argc, char **argv)
{
    const char *key_file = NULL, *head = NULL;
    const char **files = calloc((size_t)argc + 1, sizeof *files);
    unsigned char key[KEY_MAX + 2];
    size_t nkey = 0;
    uint32_t n = 0;
    int json = 0, whole = 0, code = -1, end = 0;
    if (!files)
        return 70;
    if (argc && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
        code = help_print(stdout, "audit") < 0 || fflush(stdout) ? 1 : 0;
    else if (!argc || strcmp(argv[0], "verify") != 0)
        code = usage_error("audit", argc ? "there is no such command; there is verify" : "verify is missing", argc ? argv[0] : NULL);
    for (int i = 1; i < argc && code < 0; i++) {
        if (!end && !strcmp(argv[i], "--"))
            end = 1;
        else if (!end && !strcmp(argv[i], "--json"))
            json = 1;
        else if (!end && !strcmp(argv[i], "--from-start"))
            whole = 1;
        else if (!end && (!strcmp(argv[i], "--key-file") || !strcmp(argv[i], "--head")) && i + 1 < argc) {
            *(argv[i][2] == 'k' ? &key_file : &head) = argv[i + 1];
            i++;
        } else if (!end && !strncmp(argv[i], "--key-file=", 11))
            key_file = argv[i] + 11;
        else if (!end && !strncmp(argv[i], "--head=", 7))
            head = argv[i] + 7;
        else if (!end && argv[i][0] == '-')
            code = usage_error("audit", "not expected, or without its value", argv[i]);
        else
            files[n++] = argv[i];
    }
    if (code < 0 && !n)
        code = usage_error("audit", "no file is given", NULL);
    if (code < 0 && key_file && read_key(key_file, key, &nkey) < 0)
        code = AUDIT_UNREADABLE;
    if (code < 0) {
        interp_ctx *x = NULL;
        interp_error *err = NULL;
        interp_audit_report *r = NULL;
        interp_status st = interp_ctx_new(0, &x, &err);
        if (st == INTERP_OK)
            st = interp_audit_verify(x, files, n, key_file ? key : NULL, nkey, head, &r, &err);
        if (st != INTERP_OK) {
            error_print(err);
            code = st == INTERP_E_INVAL ? EXIT_USAGE : AUDIT_UNREADABLE;
        } else {
            size_t len;
            const char *text = interp_audit_report_json(r, &len);
            if (json)
                printf("%s\n", text);
            else
                say(text, len, whole);
            code = interp_audit_report_ok(r) && !(whole && lacks_start(text, len)) ? AUDIT_FINE : AUDIT_BROKEN;
            if (fflush(stdout)) {
                fprintf(stderr, "interp audit: can't write to standard output: %s\n", strerror(errno));
                code = AUDIT_UNREADABLE;
            }
        }
        interp_audit_report_free(r);
        interp_error_free(err);
        interp_ctx_free(x);
    }
    memset(key, 0, sizeof key);
    free(files);
    return code;
}
