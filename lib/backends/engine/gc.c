/* gc.c - removes what dead owners left. An owner is dead when it ran in this boot and PID namespace and its process, known by pid and start time, is gone; or when it was of an
   earlier boot of this machine and its container no longer runs (cloned machines share a machine-id: what runs may be another's). Of all others nothing is known: hands off. */
#include "engine_priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE_NS UINT64_C(600000000000)
#define TRIES   5u                      /* at a container: 1.5 s */

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
    if (strtoull(label(j, i, "pidns"), NULL, 10) != me.pidns || !me.pidns)
        return 0;
    return interp__process_gone(strtoll(label(j, i, "pid"), NULL, 10), strtoull(label(j, i, "start"), NULL, 10));
}

/* ---- our own, given up when their sessions were closed, for the engine did not answer then */

void interp__gc_leave(struct interp__box *b, const char *name)
{
    struct interp__engine_left *k = interp__alloc(&b->s->mem, sizeof *k);
    if (!k)
        return;                            /* the next process finds it */
    k->since = interp__now();
    snprintf(k->name, sizeof k->name, "/%s", name);
    pthread_mutex_lock(&b->s->lock);
    k->next = b->known->left;
    b->known->left = k;
    pthread_mutex_unlock(&b->s->lock);
}

static int is_left(struct interp__box *b, const struct interp__json *j, uint32_t i)
{
    uint32_t names = interp__answer_at(j, i, "Names");
    int is = 0;
    pthread_mutex_lock(&b->s->lock);
    for (struct interp__engine_left *k = b->known->left; k && !is; k = k->next)
        is = interp__answer_has(j, names, k->name);
    pthread_mutex_unlock(&b->s->lock);
    return is;
}

/* What is not listed is gone, or not yet made: an engine that hung may be about to. */
static void forget_left(struct interp__box *b, const struct interp__json *j, uint32_t all)
{
    uint64_t now = interp__now();
    pthread_mutex_lock(&b->s->lock);
    for (struct interp__engine_left **p = &b->known->left, *k; (k = *p);) {
        uint32_t i = all + 1, n = interp__json_at(j, all)->count;
        while (n && !interp__answer_has(j, interp__answer_at(j, i, "Names"), k->name)) {
            i = interp__json_at(j, i)->next;
            n--;
        }
        if (n || now < interp__after(k->since, LATE_NS))
            p = &k->next;
        else {
            *p = k->next;
            interp__free(&b->s->mem, k);
        }
    }
    pthread_mutex_unlock(&b->s->lock);
}

/* ---- the lists */

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

/* -1: the list can't be read, and the link has been told */
static int found(struct interp__box *b)
{
    struct interp__engine_failure f;
    struct interp__json j = { 0 };
    interp_error *e = NULL;
    int volumes = b->stage == ENGINE_GC_VOLUMES;
    char own[2][96] = { "", "" };
    b->dead.len = 0;
    for (int a = 0; a < 2; a++)            /* this build's own volumes are worth keeping */
        (void)interp__agent_volume(b, a ? "aarch64" : "x86_64", own[a], sizeof own[a]);
    int r = interp__json_parse(&j, &b->mem, b->rest.body.p, b->rest.body.len, &e) ? -1 : 0;
    if (r) {
        interp__engine_fail(&f, INTERP_E_BACKEND, "engine-answer", 0, "", "the list of %s can't be read: %s", volumes ? "volumes" : "containers", interp_error_message(e));
        interp__box_fail(b, &f);
    } else {
        uint32_t all = volumes ? interp__answer_at(&j, 0, "Volumes") : 0, i = all + 1;
        int listed = (all || !volumes) && interp__json_at(&j, all)->type == INTERP__JSON_ARRAY;
        for (uint32_t k = 0; listed && k < interp__json_at(&j, all)->count; k++, i = interp__json_at(&j, i)->next) {
            const char *name = interp__answer_text(&j, i, volumes ? "Name" : "Id"), *state = interp__answer_text(&j, i, "State");
            int runs = !strcmp(state, "running") || !strcmp(state, "paused");
            if (!*name || strlen(name) > 90 || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != strlen(name))
                continue;
            if (volumes && (strncmp(name, "libinterp-agent-", 16) != 0 || !strcmp(name, own[0]) || !strcmp(name, own[1])))
                continue;
            if (owner_dead(&j, i, runs) || (!volumes && is_left(b, &j, i)))
                interp__buf_add(&b->dead, name, strlen(name) + 1);
        }
        if (listed && !volumes)
            forget_left(b, &j, all);
    }
    interp_error_free(e);
    interp__json_free(&j);
    return r;
}

void interp__gc_next(struct interp__box *b)
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

/* A container whose owner has just died is ending by itself, and an engine may stumble over that (Podman 4.3: 500): asked again shortly, it is gone or can be removed. */
static int later(struct interp__box *b)
{
    if (b->stage != ENGINE_GC_REMOVE || (b->rest.code == CURLE_OK && b->rest.status == 404) || b->gc_tries >= TRIES)
        return 0;
    b->retry_at = interp__after(interp__now(), UINT64_C(50000000) << b->gc_tries++);
    return 1;
}

void interp__gc_answered(struct interp__box *b, int good)
{
    if (b->stage == ENGINE_GC_REMOVE || b->stage == ENGINE_GC_VOLUME) {
        if (!good && later(b))
            return;
        b->gc_tries = 0;
        if (good) {                        /* else it is gone, or in use: nothing to tell */
            struct interp__buf o;
            interp__buf_init(&o, &b->mem);
            interp__buf_fmt(&o, "{\"step\":\"gc\",\"removed\":\"%s\",\"name\":\"%s\"}", b->stage == ENGINE_GC_VOLUME ? "volume" : "container", (char *)b->dead.p);
            if (!o.bad)
                b->h->progress(b->l, (char *)o.p, o.len);
            interp__buf_free(&o);
        }
        interp__buf_drop(&b->dead, strlen((char *)b->dead.p) + 1);
    } else if (found(b))
        return;
    interp__gc_next(b);
}
