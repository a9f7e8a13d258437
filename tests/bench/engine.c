/* engine.c - container engines against what their own API costs: interp-bench docker, interp-bench podman, with INTERP_TEST_DOCKER or INTERP_TEST_PODMAN as unix://… of the engine
   and INTERP_TEST_IMAGE (default interp-test:latest). The floors are made by engine_floor.py, which speaks to the same socket.
   SPDX-License-Identifier: MIT */
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct samples a, f;

static const char *image(void)
{
    const char *i = getenv("INTERP_TEST_IMAGE");
    return i ? i : "interp-test:latest";
}

static int floor_start(const char *name, const char *engine, struct helper *h, char *config, size_t n)
{
    const char *socket = getenv(!strcmp(engine, "docker") ? "INTERP_TEST_DOCKER" : "INTERP_TEST_PODMAN");
    a.n = f.n = 0;
    if (!socket || strncmp(socket, "unix://", 7) != 0) {
        note(name, !strcmp(engine, "docker") ? "INTERP_TEST_DOCKER is not set" : "INTERP_TEST_PODMAN is not set");
        return -1;
    }
    snprintf(config, n, "{\"backend\":\"%s\",\"image\":\"%s\",\"endpoint\":\"%s\"}", engine, image(), socket);
    char *argv[] = { "/usr/bin/python3", BENCH_DIR "/engine_floor.py", (char *)(uintptr_t)(socket + 7), (char *)(uintptr_t)image(), NULL };
    if (!have(argv[0]) || helper_start(h, argv)) {
        note(name, "no /usr/bin/python3");
        return -1;
    }
    return 0;
}

static void engine_exec(const char *name, const char *engine)
{
    struct helper h;
    char config[512], line[128] = "exec ";
    if (floor_start(name, engine, &h, config, sizeof config))
        return;
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, config);
    interp_request *r = b_request(x, "python", "x=1", NULL);
    const char *at = strstr(interp_session_info_json(s, NULL), "\"container\":\"");
    if (at)
        snprintf(line + 5, sizeof line - 5, "%.*s", (int)strcspn(at + 13, "\""), at + 13);
    for (int i = 0; i < 20; i++)
        b_ok(b_exec(s, r));
    for (int turn = 0, turns = (count(60) + 4) / 5; turn < turns; turn++) {
        for (int i = 0; i < 20; i++) {
            double t = now_ms();
            interp_result *out = b_exec(s, r);
            samples_add(&a, now_ms() - t);
            b_ok(out);
        }
        for (int i = 0; i < 5; i++) {
            double t = helper_ask(&h, line);
            if (t < 0) {
                note(name, "the engine's exec failed");
                turns = 0;
                break;
            }
            samples_add(&f, t);
        }
    }
    report(name, "ms", &a, &f);
    helper_end(&h);
    interp_request_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

static void engine_open(const char *name, const char *engine)
{
    struct helper h;
    char config[512];
    if (floor_start(name, engine, &h, config, sizeof config))
        return;
    interp_ctx *x = b_ctx();
    interp_session_close(b_open(x, config));           /* the first fills the agent's volume */
    for (int i = 0, n = count(30); i < n; i++) {
        double t = now_ms();
        interp_session *s = b_open(x, config);
        samples_add(&a, now_ms() - t);
        interp_session_close(s);
        t = helper_ask(&h, "open");
        if (t < 0) {
            note(name, "the bare container failed");
            break;
        }
        samples_add(&f, t);
    }
    report(name, "ms", &a, &f);
    helper_end(&h);
    interp_ctx_free(x);
}

static void engine_lines(const char *name, const char *engine)
{
    struct helper h;
    char config[512];
    if (floor_start(name, engine, &h, config, sizeof config))
        return;
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, config);
    interp_request *r = b_request(x, "sh", LINES, "{\"stream\":1,\"timeout_ms\":60000}");
    for (int i = 0, n = count(20); i < n + 1; i++) {
        interp_result *out = NULL;
        double t = now_ms();
        uint64_t total = b_stream(s, r, &out);
        t = now_ms() - t;
        interp_result_free(out);
        double g = helper_ask(&h, "lines " LINES);
        if (total != 100000000 || g < 0) {
            note(name, "bytes are missing");
            break;
        }
        if (i) {
            samples_add(&a, t);
            samples_add(&f, g);
        }
    }
    report(name, "ms", &a, &f);
    helper_end(&h);
    interp_request_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

void docker_exec(const char *name) { engine_exec(name, "docker"); }
void docker_open(const char *name) { engine_open(name, "docker"); }
void docker_lines(const char *name) { engine_lines(name, "docker"); }
void podman_exec(const char *name) { engine_exec(name, "podman"); }
void podman_open(const char *name) { engine_open(name, "podman"); }
void podman_lines(const char *name) { engine_lines(name, "podman"); }
