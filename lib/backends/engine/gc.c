/* gc.c - removes what dead owners left. An owner is dead when it ran in this boot and PID namespace and its process, known by pid and start time, is gone; or when it was of an
   earlier boot of this machine and its container no longer runs (cloned machines share a machine-id: what runs may be another's). Of all others nothing is known: hands off. */
#include "engine_priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *label(const struct interp__json *j, uint32_t i, const char *name)
{
    uint32_t labels = interp__answer_at(j, i, "Labels");
    char key[64];
    snprintf(key, sizeof key, ENGINE_LABEL "%s", name);
    uint32_t k = labels && interp__json_at(j, labels)->type == INTERP__JSON_OBJECT ? interp__json_member(j, labels, key) : 0;
    return k && interp__json_at(j, k)->type == INTERP__JSON_STRING ? interp__json_string(j, interp__json_at(j, k)) : "";
}

static int owner_dead(const struct interp__json *j, uint32_t i, int runs)
{
    struct interp__owner me;
    const char *boot = label(j, i, "boot"), *machine = label(j, i, "machine");
    interp__owner_here(&me);
    if (!*boot || !*me.boot)
        return 0;
    if (strcmp(boot, me.boot) != 0)
        return *machine && !strcmp(machine, me.machine) && !runs;
    int64_t pid = strtoll(label(j, i, "pid"), NULL, 10);
    if (strtoull(label(j, i, "pidns"), NULL, 10) != me.pidns || !me.pidns || pid <= 0)
        return 0;
    return interp__process_start(pid) != strtoull(label(j, i, "start"), NULL, 10);
}

static void list(struct interp__box *b, enum interp__engine_stage stage, const char *what)
{
    char path[200];
    snprintf(path, sizeof path, "/%s%sfilters=%%7B%%22label%%22%%3A%%5B%%22" ENGINE_LABEL "kind%%22%%5D%%7D", what, strchr(what, '?') ? "&" : "?");
    interp__box_get(b, stage, "GET", path);
}

void interp__gc_list(struct interp__box *b)
{
    list(b, ENGINE_GC_LIST, "containers/json?all=1");
}

static void found(struct interp__box *b)
{
    struct interp__json j = { 0 };
    int volumes = b->stage == ENGINE_GC_VOLUMES;
    char own[2][96] = { "", "" };
    b->dead.len = 0;
    for (int a = 0; a < 2; a++) {          /* this build's own volumes are worth keeping */
        const void *agent;
        size_t n;
        char hash[INTERP__SHA256_HEX];
        if (!b->h->agent(b->l, a ? "aarch64" : "x86_64", &agent, &n)) {
            interp__sha256_hex(agent, n, hash);
            snprintf(own[a], sizeof own[a], "libinterp-agent-%s", hash);
        }
    }
    if (!interp__json_parse(&j, &b->mem, b->rest.body.p, b->rest.body.len, NULL)) {
        uint32_t all = volumes ? interp__answer_at(&j, 0, "Volumes") : 0, i = all + 1;
        int listed = (all || !volumes) && interp__json_at(&j, all)->type == INTERP__JSON_ARRAY;
        for (uint32_t k = 0; listed && k < interp__json_at(&j, all)->count; k++, i = interp__json_at(&j, i)->next) {
            const char *name = interp__answer_text(&j, i, volumes ? "Name" : "Id"), *state = interp__answer_text(&j, i, "State");
            int runs = !strcmp(state, "running") || !strcmp(state, "paused");
            if (!*name || strlen(name) > 90 || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != strlen(name))
                continue;
            if (volumes && (strncmp(name, "libinterp-agent-", 16) != 0 || !strcmp(name, own[0]) || !strcmp(name, own[1])))
                continue;
            if (owner_dead(&j, i, runs))
                interp__buf_add(&b->dead, name, strlen(name) + 1);
        }
    }
    interp__json_free(&j);
}

static void next(struct interp__box *b)
{
    int volumes = b->stage == ENGINE_GC_VOLUMES || b->stage == ENGINE_GC_VOLUME;
    char path[160];
    if (b->dead.len) {
        snprintf(path, sizeof path, volumes ? "/volumes/%s" : "/containers/%s?force=1&v=1", (char *)b->dead.p);
        interp__box_get(b, volumes ? ENGINE_GC_VOLUME : ENGINE_GC_REMOVE, "DELETE", path);
    } else if (!volumes)
        list(b, ENGINE_GC_VOLUMES, "volumes");
    else {
        b->stage = ENGINE_OPEN;
        b->h->notify(b->l, INTERP_LINK_OPENED);
    }
}

void interp__gc_answered(struct interp__box *b, int good)
{
    if (b->stage == ENGINE_GC_REMOVE || b->stage == ENGINE_GC_VOLUME) {
        if (good) {                        /* else it is gone, or in use: nothing to tell */
            struct interp__buf o;
            interp__buf_init(&o, &b->mem);
            interp__buf_fmt(&o, "{\"step\":\"gc\",\"removed\":\"%s\",\"name\":\"%s\"}", b->stage == ENGINE_GC_VOLUME ? "volume" : "container", (char *)b->dead.p);
            if (!o.bad)
                b->h->progress(b->l, (char *)o.p, o.len);
            interp__buf_free(&o);
        }
        interp__buf_drop(&b->dead, strlen((char *)b->dead.p) + 1);
    } else
        found(b);
    next(b);
}
