/* gc_cmd.c - `interp gc`.
   SPDX-License-Identifier: MIT */
#include "buf.h"
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GC_MS 120000u

static const char *const engines[] = { "docker", "podman" };

/* Collects with one backend; each thing removed is a line. absent: an engine that is not there is no failure. */
static int collect(interp_ctx *x, const char *backend, const char *endpoint, int json, int absent)
{
    interp_config *c = NULL;
    interp_call *call = NULL;
    interp_error *err = NULL;
    uint64_t removed = 0;
    interp_status st = interp_config_new(x, &c, &err);
    if (st == INTERP_OK)
        st = interp_config_set_backend(c, backend, &err);
    if (st == INTERP_OK && endpoint)
        st = interp_config_set_endpoint(c, endpoint, &err);
    if (st == INTERP_OK)
        st = interp_config_set_open_timeout_ms(c, GC_MS, &err);
    if (st == INTERP_OK)
        st = interp_ctx_gc_start(x, c, &call, &err);
    for (interp_status next = INTERP_AGAIN; st == INTERP_OK && next != INTERP_DONE;) {
        const interp_event *ev;
        st = interp_call_wait(call, INTERP_FOREVER, 0, &err);
        while (st == INTERP_OK && (next = interp_call_next(call, &ev)) == INTERP_OK)
            if (interp_event_type(ev) == INTERP_EV_PROGRESS) {
                size_t n;
                const char *text = interp_event_json(ev, &n);
                removed++;
                printf("%.*s\n", (int)n, text);
            }
    }
    if (st == INTERP_OK)
        st = interp_call_finish(call, NULL, &err);
    interp_call_free(call);
    interp_config_free(c);
    int quiet = absent && !strcmp(interp_error_reason(err), "engine-absent");
    if (st == INTERP_OK && !json)
        printf("%s: %llu removed\n", backend, (unsigned long long)removed);
    else if (quiet && !json)
        printf("%s: not here\n", backend);
    else if (st != INTERP_OK && !quiet && err)
        error_print(err);
    interp_error_free(err);
    return st == INTERP_OK || quiet ? 0 : 1;
}

static const char *value_of(const char *name, int argc, char **argv, int *i)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0 || (argv[*i][n] && argv[*i][n] != '='))
        return NULL;
    return argv[*i][n] == '=' ? argv[*i] + n + 1 : *i + 1 < argc ? argv[++*i] : NULL;
}

int cmd_gc(int argc, char **argv)
{
    const char *backend = NULL, *endpoint = NULL, *v;
    int json = 0, code = 0;
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--json"))
            json = 1;
        else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return help_print(stdout, "gc") < 0 || fflush(stdout) ? 1 : 0;
        else if ((v = value_of("--backend", argc, argv, &i)))
            backend = v;
        else if ((v = value_of("--endpoint", argc, argv, &i)))
            endpoint = v;
        else
            return usage_error("gc", "not expected, or without its value", argv[i]);
    }
    if (endpoint && !backend)
        return usage_error("gc", "--endpoint goes with --backend", NULL);
    interp_ctx *x = NULL;
    interp_error *err = NULL;
    if (interp_ctx_new(0, &x, &err) != INTERP_OK) {
        error_print(err);
        interp_error_free(err);
        return 1;
    }
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (!backend || !strcmp(backend, engines[i]))
            code |= collect(x, engines[i], endpoint, json, !backend);
    if (backend && strcmp(backend, engines[0]) != 0 && strcmp(backend, engines[1]) != 0)
        code = collect(x, backend, endpoint, json, 0);
    interp_ctx_free(x);
    if (fflush(stdout)) {
        fprintf(stderr, "interp gc: can't write to standard output: %s\n", strerror(errno));
        code = 1;
    }
    return code;
}
