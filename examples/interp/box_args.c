/* box_args.c - what the arguments of a command say about its sandbox.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "box_args.h"
#include "buf.h"
#include <stdlib.h>
#include <string.h>

const char *option_value(const char *name, int argc, char **argv, int *i, int *missing)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) || (argv[*i][n] && (argv[*i][n] != '=' || n == 2)))
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    if (*i + 1 == argc) {
        *missing = 1;
        return NULL;
    }
    return argv[++*i];
}

void keep_word(const char ***list, size_t *count, const char *v)
{
    *list = xrealloc(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = v;
}

static int take_env(struct box_args *r, const char *command, const char *v)
{
    if (!strchr(v, '=') || *v == '=')
        return usage_error(command, "--env wants NAME=VALUE, not", v);
    keep_word(&r->env, &r->env_count, v);
    return 0;
}

static int take_mount(struct box_args *r, const char *command, const char *v)
{
    if (*v != '/')
        return usage_error(command, "--mount wants SRC[:DST][:ro|:rw] with absolute paths, not", v);
    keep_word(&r->mounts, &r->mount_count, v);
    return 0;
}

static int take_interpreter(struct box_args *r, const char *command, const char *v)
{
    if (!strchr(v, '=') || *v == '=')
        return usage_error(command, "--interpreter wants LANG=PATH, not", v);
    keep_word(&r->interpreters, &r->interpreter_count, v);
    return 0;
}

int box_args_take(struct box_args *r, const char *command, int argc, char **argv, int *i, int *missing)
{
    const struct {
        const char *name, **to;
    } texts[] = { { "--isolation", &r->isolation }, { "--backend", &r->backend }, { "--image", &r->image }, { "--pull", &r->pull }, { "--endpoint", &r->endpoint },
                  { "--runtime", &r->runtime }, { "--user", &r->user } };
    const char *v;
    for (size_t k = 0; k < sizeof texts / sizeof *texts && !*missing; k++)
        if ((v = option_value(texts[k].name, argc, argv, i, missing))) {
            *texts[k].to = v;
            return 0;
        }
    if (!*missing && (v = option_value("--env", argc, argv, i, missing)))
        return take_env(r, command, v);
    if (!*missing && (v = option_value("--mount", argc, argv, i, missing)))
        return take_mount(r, command, v);
    if (!*missing && (v = option_value("--interpreter", argc, argv, i, missing)))
        return take_interpreter(r, command, v);
    if (!*missing && (v = option_value("--with", argc, argv, i, missing))) {
        keep_word(&r->runtimes, &r->runtime_count, v);
        return 0;
    }
    if (!*missing && (v = option_value("--timeout", argc, argv, i, missing)))
        return duration_parse(v, &r->timeout_ms) < 0 || !r->timeout_ms ? usage_error(command, "--timeout wants a time such as 500ms, 10s or 2m, not", v) : 0;
    if (!*missing && (v = option_value("--memory", argc, argv, i, missing)))
        return size_parse(v, &r->memory_bytes) < 0 || !r->memory_bytes ? usage_error(command, "--memory wants a size such as 64M or 1G, not", v) : 0;
    return 1;
}

/* SRC[:DST][:ro|:rw] */
static interp_status add_mount(interp_config *c, const char *v, interp_error **err)
{
    char *source = xdup(v, strlen(v)), *target = NULL, *last = strrchr(source, ':');
    const char *mode = "ro";
    if (last && (!strcmp(last, ":ro") || !strcmp(last, ":rw"))) {
        mode = last + 1;
        *last = 0;
        last = strrchr(source, ':');
    }
    if (last && last[1] == '/') {
        target = last + 1;
        *last = 0;
    }
    interp_status st = interp_config_add_mount(c, source, target, mode, err);
    free(source);
    return st;
}

interp_status box_args_config(const struct box_args *r, interp_ctx *x, interp_config **out, interp_error **err)
{
    interp_config *c = NULL;
    interp_status st = interp_config_new(x, &c, err);
    if (st == INTERP_OK && r->backend)
        st = interp_config_set_backend(c, r->backend, err);
    if (st == INTERP_OK && r->image)
        st = interp_config_set_image(c, r->image, err);
    if (st == INTERP_OK && r->pull)
        st = interp_config_set_pull(c, r->pull, err);
    if (st == INTERP_OK && r->endpoint)
        st = interp_config_set_endpoint(c, r->endpoint, err);
    if (st == INTERP_OK && r->runtime)
        st = interp_config_set_runtime(c, r->runtime, err);
    if (st == INTERP_OK && r->user)
        st = interp_config_set_user(c, r->user, err);
    if (st == INTERP_OK && r->isolation)
        st = interp_config_set_isolation(c, r->isolation, err);
    if (st == INTERP_OK && r->timeout_ms)
        st = interp_config_set_timeout_ms(c, r->timeout_ms, err);
    if (st == INTERP_OK && r->memory_bytes)
        st = interp_config_set_memory_bytes(c, r->memory_bytes, err);
    for (size_t i = 0; st == INTERP_OK && i < r->mount_count; i++)
        st = add_mount(c, r->mounts[i], err);
    for (size_t i = 0; st == INTERP_OK && i < r->runtime_count; i++)
        st = interp_config_add_runtime(c, r->runtimes[i], err);
    for (size_t i = 0; st == INTERP_OK && i < r->interpreter_count; i++) {
        const char *path = strchr(r->interpreters[i], '=');
        char *name = xdup(r->interpreters[i], (size_t)(path - r->interpreters[i]));
        st = interp_config_set_interpreter(c, language_name(name), path + 1, err);
        free(name);
    }
    for (size_t i = 0; st == INTERP_OK && i < r->env_count; i++) {
        const char *value = strchr(r->env[i], '=');
        char *name = xdup(r->env[i], (size_t)(value - r->env[i]));
        st = interp_config_set_env(c, name, value + 1, INTERP_NTS, err);
        free(name);
    }
    if (st == INTERP_OK)
        *out = c;
    else
        interp_config_free(c);
    return st;
}

void box_args_free(struct box_args *r)
{
    free((void *)r->env);
    free((void *)r->mounts);
    free((void *)r->runtimes);
    free((void *)r->interpreters);
}
