/* gc.c - removes what dead owners left. An owner is dead when it ran in this boot and PID namespace and its process, known by pid and start time, is gone; or when it was of an
   earlier boot of this machine and its container has ended (cloned machines share a machine-id: what runs, or is about to, may be another's). Of all others nothing is known:
   hands off. Labels alone prove nothing either, an image made of a sandbox (docker commit) hands them on: a container must have the name that they tell. */
#include "engine_priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LATE_NS UINT64_C(600000000000)
#define ROUNDS  5u                      /* of tries at what could not be removed: 1.5 s */
#define UNSTARTED_S 600                 /* a container that was made and never started is nobody's after that */

static const char *label(const struct interp__json *j, uint32_t i, const char *name)
{
    uint32_t labels = interp__answer_at(j, i, "Labels");
    char key[64];
    snprintf(key, sizeof key, ENGINE_LABEL "%s", name);
    uint32_t k = labels && interp__json_at(j, labels)->type == INTERP__JSON_OBJECT ? interp__json_member(j, labels, key) : 0;
    return k && interp__json_at(j, k)->type == INTERP__JSON_STRING ? interp__json_string(j, interp__json_at(j, k)) : "";
}

static int owner_dead(const struct interp__owner *me, const struct interp__json *j, uint32_t i, int over)
{
    const char *boot = label(j, i, "boot"), *machine = label(j, i, "machine");
    if (!*boot || !*me->boot)
        return 0;
    if (strcmp(boot, me->boot) != 0)
        return *machine && !strcmp(machine, me->machine) && over;
    if (strtoull(label(j, i, "pidns"), NULL, 10) != me->pidns || !me->pidns)
        return 0;
    return interp__process_gone(strtoll(label(j, i, "pid"), NULL, 10), strtoull(label(j, i, "start"), NULL, 10));
}

/* It has ended, or was never started: Docker and Podman have words of their own for that. */
static int ended(const struct interp__json *j, uint32_t i)
{
    static const char *const ends[] = { "exited", "dead", "stopped" }, *const unstarted[] = { "created", "configured", "initialized" };
    const char *state = interp__answer_text(j, i, "State");
    int64_t made = interp__answer_number(j, i, "Created");
    for (unsigned k = 0; k < 3; k++)
        if (!strcmp(state, ends[k]) || (!strcmp(state, unstarted[k]) && made > 0 && made + UNSTARTED_S < (int64_t)time(NULL)))
            return 1;
    return 0;
}

/* Podman's own list has names without the slash. */
static int is_named(const struct interp__json *j, uint32_t i, const char *name)
{
    uint32_t names = interp__answer_at(j, i, "Names");
    char path[80];
    snprintf(path, sizeof path, "/%s", name);
    return interp__answer_has(j, names, path) || interp__answer_has(j, names, name);
}

/* libinterp-<24 hexadecimal digits>, for a helper with "-helper" behind it, and that is what its labels say, too. */
static int has_own_name(const struct interp__json *j, uint32_t i)
{
    const char *name = label(j, i, "name"), *digits = name + strlen("libinterp-");
    if (strncmp(name, "libinterp-", strlen("libinterp-")) != 0 || strspn(digits, "0123456789abcdef") != 24 || (digits[24] && strcmp(digits + 24, "-helper") != 0))
        return 0;
    return is_named(j, i, name);
}

/* ---- our own, given up when their sessions were closed, for the engine did not answer then */

void interp__gc_leave(struct interp__box *b, const char *name)
{
    struct interp__engine_left *k = interp__alloc(&b->s->mem, sizeof *k);
    if (!k)
        return;                            /* the next process finds it */
    k->since = interp__now();
    snprintf(k->name, sizeof k->name, "%s", name);
    pthread_mutex_lock(&b->s->lock);
    k->next = b->known->left;
    b->known->left = k;
    pthread_mutex_unlock(&b->s->lock);
}

static int is_left(struct interp__box *b, const struct interp__json *j, uint32_t i)
{
    int is = 0;
    pthread_mutex_lock(&b->s->lock);
    for (struct interp__engine_left *k = b->known->left; k && !is; k = k->next)
        if ((is = is_named(j, i, k->name)))
            k->listed = b;
    pthread_mutex_unlock(&b->s->lock);
    return is;
}

/* What the list did not have is gone, or not yet made: an engine that hung may be about to. */
static void forget_left(struct interp__box *b)
{
    uint64_t now = interp__now();
    pthread_mutex_lock(&b->s->lock);
    for (struct interp__engine_left **p = &b->known->left, *k; (k = *p);) {
        if (k->listed == b || now < interp__after(k->since, LATE_NS)) {
            k->listed = NULL;
            p = &k->next;
        } else {
            *p = k->next;
            interp__free(&b->s->mem, k);
        }
    }
    pthread_mutex_unlock(&b->s->lock);
}

/* ---- the lists */

static void list(struct interp__box *b, enum interp__engine_stage stage, const char *prefix, const char *what)
{
    struct interp__owner me;
    struct interp__buf path;
    char machine[160] = "";
    interp__owner_here(&me);
    if (*me.machine)                       /* of others nothing is known */
        snprintf(machine, sizeof machine, "%%2C%%22" ENGINE_LABEL "machine%%3D%s%%22", me.machine);
    interp__buf_init(&path, &b->mem);
    interp__buf_fmt(&path, "/%s%sfilters=%%7B%%22label%%22%%3A%%5B%%22" ENGINE_LABEL "kind%%22%s%%5D%%7D", what, strchr(what, '?') ? "&" : "?", machine);
    interp__box_call(b, stage, "GET", prefix, &path, NULL, NULL);
    interp__buf_free(&path);
}

/* With one container on its way out, or half removed for good by a removal that was cut short (Podman #15526), Podman gives no list at all, but by its own API
   does; and the removal of such a one, made again, comes to its end. */
void interp__gc_list(struct interp__box *b)
{
    b->rest.most = ENGINE_LIST_MAX;
    if (b->facts.podman && b->tries)
        list(b, ENGINE_GC_LIST, ENGINE_LIBPOD, "containers/json?all=true");
    else
        list(b, ENGINE_GC_LIST, b->prefix, "containers/json?all=1");
}

static void dead(struct interp__box *b, const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    if (n && n <= 90 && !name[n])
        interp__buf_add(&b->dead, name, n + 1);
}

static int unreadable(struct interp__box *b, const char *what, const char *why)
{
    struct interp__engine_failure f;
    interp__engine_fail(&f, INTERP_E_BACKEND, "engine-answer", 0, "", "the list of %s can't be read: %s", what, why);
    return interp__box_fail(b, &f);
}

/* -1: the list can't be read, and the link has been told */
static int found_containers(struct interp__box *b)
{
    const struct interp__buf *body = &b->rest.body;
    struct interp__owner me;
    size_t at = 0, from, len;
    int r;
    if (body->len >= 4 && !memcmp(body->p, "null", 4))
        return 0;
    interp__owner_here(&me);
    while ((r = interp__list_next(body->p, body->len, &at, &from, &len)) > 0) {
        struct interp__json j = { 0 };
        interp_status st = interp__json_parse(&j, &b->mem, body->p + from, len, NULL);
        if (!st && (is_left(b, &j, 0) || (has_own_name(&j, 0) && owner_dead(&me, &j, 0, ended(&j, 0)))))
            dead(b, interp__answer_text(&j, 0, "Id"));
        interp__json_free(&j);
        if (st == INTERP_E_NOMEM)
            return unreadable(b, "containers", "out of memory");
        if (st)
            break;
    }
    if (r)
        return unreadable(b, "containers", "it is no list of JSON objects");
    forget_left(b);
    return 0;
}

static int found_volumes(struct interp__box *b)
{
    struct interp__json j = { 0 };
    interp_error *e = NULL;
    struct interp__owner me;
    char own[2][96] = { "", "" };
    interp__owner_here(&me);
    for (int a = 0; a < 2; a++)            /* this build's own are worth keeping */
        (void)interp__agent_volume(b, a ? "aarch64" : "x86_64", own[a], sizeof own[a]);
    int r = interp__json_parse(&j, &b->mem, b->rest.body.p, b->rest.body.len, &e) ? unreadable(b, "volumes", interp_error_message(e)) : 0;
    uint32_t all = r ? 0 : interp__answer_at(&j, 0, "Volumes"), i = all + 1;
    for (uint32_t k = 0; all && interp__json_at(&j, all)->type == INTERP__JSON_ARRAY && k < interp__json_at(&j, all)->count; k++, i = interp__json_at(&j, i)->next) {
        const char *name = interp__answer_text(&j, i, "Name");
        if (!strncmp(name, "libinterp-agent-", 16) && strcmp(name, own[0]) != 0 && strcmp(name, own[1]) != 0 && owner_dead(&me, &j, i, 1))
            dead(b, name);
    }
    interp_error_free(e);
    interp__json_free(&j);
    return r;
}

/* Those that could not be removed come last, and again: a container whose owner has just died is ending by itself, and an engine may stumble over that (Podman 4.3: 500). */
static int another_round(struct interp__box *b)
{
    if (!b->later.len || b->gc_round >= ROUNDS)
        return 0;
    struct interp__buf none = b->dead;
    b->dead = b->later;
    b->later = none;
    b->retry_at = interp__after(interp__now(), UINT64_C(50000000) << b->gc_round++);
    return 1;
}

void interp__gc_next(struct interp__box *b)
{
    int volumes = b->stage == ENGINE_GC_VOLUMES || b->stage == ENGINE_GC_VOLUME;
    char path[160];
    if (b->dead.len) {
        snprintf(path, sizeof path, volumes ? "/volumes/%s" : "/containers/%s?force=1&v=1", (char *)b->dead.p);
        interp__box_get(b, volumes ? ENGINE_GC_VOLUME : ENGINE_GC_REMOVE, "DELETE", path);
    } else if (!volumes) {
        if (!another_round(b))
            list(b, ENGINE_GC_VOLUMES, b->prefix, "volumes");
    } else {
        b->stage = ENGINE_OPEN;
        b->h->notify(b->l, INTERP_LINK_OPENED);
    }
}

static void removed(struct interp__box *b, int good)
{
    const char *name = (char *)b->dead.p;
    struct interp__buf o;
    if (good) {
        interp__buf_init(&o, &b->mem);
        interp__buf_fmt(&o, "{\"step\":\"gc\",\"removed\":\"%s\",\"name\":\"%s\"}", b->stage == ENGINE_GC_VOLUME ? "volume" : "container", name);
        if (!o.bad)
            b->h->progress(b->l, (char *)o.p, o.len);
        interp__buf_free(&o);
    } else if (b->stage == ENGINE_GC_REMOVE && b->rest.code != CURLE_OPERATION_TIMEDOUT && (b->rest.code != CURLE_OK || b->rest.status != 404))
        interp__buf_add(&b->later, name, strlen(name) + 1);    /* else it is gone or in use, or the engine hangs over it: the next gc's */
    interp__buf_drop(&b->dead, strlen(name) + 1);
}

void interp__gc_answered(struct interp__box *b, int good)
{
    if (b->stage == ENGINE_GC_REMOVE || b->stage == ENGINE_GC_VOLUME)
        removed(b, good);
    else if (b->stage == ENGINE_GC_VOLUMES ? found_volumes(b) : found_containers(b))
        return;
    interp__gc_next(b);
}
