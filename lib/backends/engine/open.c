/* open.c - from nothing to an open stream, one call after the other: ping, version, info, image (pull), the agent's volume, container, read-back, attach, start */
#include "engine_priv.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define WAIT_NS UINT64_C(5000000)       /* for another session that is filling the volume */
#define RETRIES 3u
#define LIST_RETRIES 5u         /* 1.5 s */
#define IMAGE_VOLUMES 16u

/* Whoever waits for us tries it himself. */
void interp__box_release(struct interp__box *b)
{
    if (!b->filling && !b->asking)
        return;
    pthread_mutex_lock(&b->s->lock);
    if (b->filling)
        b->known->fill[b->filling - 1] = ENGINE_FILL_UNKNOWN;
    if (b->asking)
        b->known->asked = ENGINE_UNASKED;
    pthread_mutex_unlock(&b->s->lock);
    b->filling = b->asking = 0;
}

int interp__box_fail(struct interp__box *b, const struct interp__engine_failure *f)
{
    interp__box_release(b);
    if (b->known && (b->rest.code != CURLE_OK || b->rest.status == 400)) {   /* the engine may be another one by now, or at another address */
        pthread_mutex_lock(&b->s->lock);
        if (b->known->asked == ENGINE_ASKED)
            b->known->asked = ENGINE_UNASKED;
        pthread_mutex_unlock(&b->s->lock);
        if (b->rest.code != CURLE_OK)
            interp__name_doubt(b->s, &b->where);
    }
    b->stage = ENGINE_FAILED;
    b->failed = 1;
    b->h->fail(b->l, f->code, f->reason, f->err, f->message, f->remedy);
    return -1;
}

static void out_of_memory(struct interp__box *b)
{
    struct interp__engine_failure f;
    interp__engine_fail(&f, INTERP_E_NOMEM, "host-memory", 0, "", "out of memory");
    interp__box_fail(b, &f);
}

static uint64_t time_left_ms(const struct interp__box *b)
{
    uint64_t now = interp__now();
    return b->spec.deadline_ns == INTERP__NEVER || !b->spec.deadline_ns ? INTERP__NEVER : b->spec.deadline_ns > now ? (b->spec.deadline_ns - now) / 1000000 + 1 : 1;
}

void interp__box_call(struct interp__box *b, enum interp__engine_stage stage, const char *method, const char *prefix, const struct interp__buf *path, const struct interp__buf *body, const char *type)
{
    char whole[1200];
    uint64_t ms = stage == ENGINE_PULL ? time_left_ms(b) : interp__min(time_left_ms(b), stage == ENGINE_GC_REMOVE ? ENGINE_REMOVE_MS : ENGINE_CALL_MS);
    if (path->bad || (body && body->bad) || path->len >= sizeof whole - 16) {
        out_of_memory(b);
        return;
    }
    snprintf(whole, sizeof whole, "%s%.*s", prefix, (int)path->len, (char *)path->p);
    b->stage = stage;
    if (interp__rest_call(&b->rest, method, whole, body ? body->p : NULL, body ? body->len : 0, type, ms))
        out_of_memory(b);
}

void interp__box_get(struct interp__box *b, enum interp__engine_stage stage, const char *method, const char *path)
{
    struct interp__buf p;
    interp__buf_init(&p, &b->mem);
    interp__buf_str(&p, path);
    interp__box_call(b, stage, method, b->prefix, &p, NULL, NULL);
    interp__buf_free(&p);
}

static void post_json(struct interp__box *b, enum interp__engine_stage stage, const char *path, const struct interp__buf *body)
{
    struct interp__buf p;
    interp__buf_init(&p, &b->mem);
    interp__buf_str(&p, path);
    interp__box_call(b, stage, "POST", b->prefix, &p, body, "application/json");
    interp__buf_free(&p);
}

/* ---- the engine */

static int parse(struct interp__box *b, struct interp__json *j, const char *what)
{
    struct interp__engine_failure f;
    interp_error *e = NULL;
    if (!interp__json_parse(j, &b->mem, b->rest.body.p, b->rest.body.len, &e))
        return 0;
    interp__engine_fail(&f, INTERP_E_BACKEND, "engine-answer", 0, "is it a container engine that listens there?", "%s at %s can't be read: %s", what, b->where.text, interp_error_message(e));
    interp_error_free(e);
    interp__json_free(j);
    return interp__box_fail(b, &f);
}

static unsigned minor(const char *version)
{
    unsigned long n = !strncmp(version, "1.", 2) ? strtoul(version + 2, NULL, 10) : 0;
    return n < 10000 ? (unsigned)n : 0;
}

static void set_prefix(struct interp__box *b)
{
    snprintf(b->prefix, sizeof b->prefix, "/v1.%u", b->facts.api);
}

static int speaks(struct interp__box *b, unsigned newest, unsigned oldest, const char *said)
{
    struct interp__engine_failure f;
    b->facts.api = newest < ENGINE_API_MAX ? newest : ENGINE_API_MAX;
    if (b->facts.api < oldest)
        b->facts.api = oldest;
    set_prefix(b);
    if (newest >= ENGINE_API_MIN)
        return 0;
    interp__engine_fail(&f, INTERP_E_UNSUPPORTED, "engine-too-old", 0, "update it: Docker 20.10 or newer, Podman 4.3 or newer", "the engine at %s speaks API %.16s; 1.%u is needed", b->where.text, *said ? said : "(none)", ENGINE_API_MIN);
    return interp__box_fail(b, &f);
}

static void plain_get(struct interp__box *b, enum interp__engine_stage stage, const char *path)
{
    struct interp__buf p;
    interp__buf_init(&p, &b->mem);
    interp__buf_str(&p, path);
    interp__box_call(b, stage, "GET", "", &p, NULL, NULL);
    interp__buf_free(&p);
}

/* What it speaks is in the head of its answer to a ping. Podman needs a second for /version, for it asks the package manager. */
static void got_ping(struct interp__box *b)
{
    memset(&b->facts, 0, sizeof b->facts);
    b->facts.podman = *b->rest.libpod != 0;
    if (!*b->rest.api)                  /* a proxy that lets less through, or no engine */
        plain_get(b, ENGINE_VERSION, "/version");
    else if (!speaks(b, minor(b->rest.api), 0, b->rest.api))
        interp__box_get(b, ENGINE_INFO, "GET", "/info");
}

/* Asked only where the ping did not say enough: the engine may refuse what is older than this. */
static void got_version(struct interp__box *b)
{
    struct interp__json j = { 0 };
    if (parse(b, &j, "the engine's version"))
        return;
    const char *api = interp__answer_text(&j, 0, "ApiVersion");
    uint32_t parts = interp__answer_at(&j, 0, "Components"), i = parts + 1;
    if (parts && interp__json_at(&j, parts)->type == INTERP__JSON_ARRAY)
        for (uint32_t n = 0; n < interp__json_at(&j, parts)->count; n++, i = interp__json_at(&j, i)->next)
            b->facts.podman |= !strcmp(interp__answer_text(&j, i, "Name"), "Podman Engine");
    b->said_version = 1;
    if (!speaks(b, minor(api), minor(interp__answer_text(&j, 0, "MinAPIVersion")), api))
        interp__box_get(b, ENGINE_INFO, "GET", "/info");
    interp__json_free(&j);
}

/* What the engine offers, for who only asks. */
static void offer(struct interp__box *b)
{
    struct interp__buf o;
    interp__buf_init(&o, &b->mem);
    interp__buf_fmt(&o, "{\"engine\":\"%s\",\"version\":", b->facts.podman ? "podman" : "docker");
    interp__json_text(&o, b->facts.version, strlen(b->facts.version));
    interp__buf_fmt(&o, ",\"api\":\"1.%u\",\"arch\":\"%s\",\"cpus\":%u,\"rootless\":%s,\"isolation\":\"%s\",\"limits\":%s,\"endpoint\":", b->facts.api, b->facts.arch, b->facts.cpus,
                    b->facts.rootless ? "true" : "false", b->facts.limits ? "full" : "namespaces", b->facts.limits ? "true" : "false");
    interp__json_text(&o, b->where.text, strlen(b->where.text));
    interp__buf_str(&o, "}");
    if (!o.bad)
        b->h->reached(b->l, (char *)o.p, o.len);
    interp__buf_free(&o);
    b->stage = ENGINE_OPEN;
    b->h->notify(b->l, INTERP_LINK_OPENED);
}

static int recall(struct interp__box *b);
static void find_image(struct interp__box *b);
static void find_volume(struct interp__box *b);
static void begin(struct interp__box *b)
{
    if (b->task == ENGINE_GC)
        interp__gc_list(b);
    else if (b->task == ENGINE_PROBE)
        offer(b);
    else if (strcmp(b->pull, "always") != 0 && recall(b))
        find_volume(b);
    else
        find_image(b);
}

static const char *architecture(const char *name)
{
    return !strcmp(name, "amd64") || !strcmp(name, "x86_64") ? "x86_64" : !strcmp(name, "arm64") || !strcmp(name, "aarch64") ? "aarch64" : "";
}

static void got_info(struct interp__box *b)
{
    struct interp__engine_failure f;
    struct interp__json j = { 0 };
    if (parse(b, &j, "the engine's info"))
        return;
    const char *arch = interp__answer_text(&j, 0, "Architecture"), *os = interp__answer_text(&j, 0, "OSType");
    if (*os && strcmp(os, "linux") != 0) {
        interp__engine_fail(&f, INTERP_E_UNSUPPORTED, "engine-os", 0, "switch it to Linux containers", "the engine at %s runs containers of \"%.32s\"; Linux is needed", b->where.text, os);
        interp__json_free(&j);
        interp__box_fail(b, &f);
        return;
    }
    snprintf(b->facts.version, sizeof b->facts.version, "%.40s", interp__answer_text(&j, 0, "ServerVersion"));
    snprintf(b->facts.arch, sizeof b->facts.arch, "%s", architecture(arch));
    int64_t cpus = interp__answer_number(&j, 0, "NCPU");
    b->facts.cpus = cpus > 0 && cpus < 1 << 20 ? (unsigned)cpus : 0;
    b->facts.rootless = interp__answer_has(&j, interp__answer_at(&j, 0, "SecurityOptions"), "name=rootless") || interp__answer_true(&j, 0, "Rootless");
    b->facts.cgroup2 = !strcmp(interp__answer_text(&j, 0, "CgroupVersion"), "2");
    /* Podman says true whatever it can do; without root and without cgroup v2 it can limit nothing */
    b->facts.limits = interp__answer_true(&j, 0, "MemoryLimit") && interp__answer_true(&j, 0, "PidsLimit") && (!b->facts.rootless || b->facts.cgroup2);
    pthread_mutex_lock(&b->s->lock);
    b->known->facts = b->facts;
    b->known->asked = ENGINE_ASKED;
    pthread_mutex_unlock(&b->s->lock);
    b->asking = 0;
    interp__json_free(&j);
    begin(b);
}

/* ---- the image */

static void find_image(struct interp__box *b)
{
    struct interp__buf path, header;
    interp__buf_init(&path, &b->mem);
    interp__buf_init(&header, &b->mem);
    if (b->pulled || strcmp(b->pull, "always") != 0) {
        interp__buf_str(&path, "/images/");
        interp__image_path(&path, b->image);
        interp__buf_str(&path, "/json");
        interp__box_call(b, ENGINE_IMAGE, "GET", b->prefix, &path, NULL, NULL);
    } else {
        b->pulled = 1;
        b->pull_error[0] = 0;
        interp__pull_path(&path, b->image);
        interp__buf_str(&header, "X-Registry-Auth: ");
        int r = interp__pull_auth(b, &header);
        const char *line = interp__buf_text(&header);
        if (r < 0 || !line || (r && interp__rest_header(&b->rest, line)))
            out_of_memory(b);
        else {
            b->rest.on_line = interp__pull_line;
            b->rest.on_line_arg = b;
            interp__box_call(b, ENGINE_PULL, "POST", b->prefix, &path, NULL, NULL);
        }
    }
    interp__wipe(header.p, header.cap);
    interp__buf_free(&header);
    interp__buf_free(&path);
}

/* A second sandbox from the same image needs no look at it: `pull` says when to fetch, and creating it says when it is gone. */
static void remember(struct interp__box *b)
{
    struct interp__engine_known *k = b->known;
    if (strlen(b->image) >= sizeof k->images[0].name)
        return;
    pthread_mutex_lock(&b->s->lock);
    unsigned i = 0, n = sizeof k->images / sizeof *k->images;
    while (i < n && strcmp(k->images[i].name, b->image) != 0)
        i++;
    if (i == n)
        i = k->next_image++ % n;
    snprintf(k->images[i].name, sizeof k->images[i].name, "%s", b->image);
    memcpy(k->images[i].arch, b->arch, sizeof b->arch);
    memcpy(k->images[i].volume, b->volume, sizeof b->volume);
    pthread_mutex_unlock(&b->s->lock);
}

static int recall(struct interp__box *b)
{
    struct interp__engine_known *k = b->known;
    int found = 0;
    pthread_mutex_lock(&b->s->lock);
    for (unsigned i = 0; i < sizeof k->images / sizeof *k->images && !found; i++)
        if (!strcmp(k->images[i].name, b->image)) {
            memcpy(b->arch, k->images[i].arch, sizeof b->arch);
            memcpy(b->volume, k->images[i].volume, sizeof b->volume);
            found = 1;
        }
    pthread_mutex_unlock(&b->s->lock);
    b->recalled = (uint8_t)found;
    return found;
}

/* What was remembered was wrong: another image has taken the name. */
void interp__image_forget(struct interp__box *b)
{
    struct interp__engine_known *k = b->known;
    pthread_mutex_lock(&b->s->lock);
    for (unsigned i = 0; i < sizeof k->images / sizeof *k->images; i++)
        if (!strcmp(k->images[i].name, b->image))
            k->images[i].name[0] = 0;
    pthread_mutex_unlock(&b->s->lock);
}

/* What an image declares as volumes would be unbounded, and on the engine's disk. */
static int note_volumes(struct interp__box *b, const struct interp__json *j, struct interp__engine_failure *f)
{
    uint32_t list = interp__answer_at(j, 0, "Config/Volumes"), i = list + 1;
    b->volumes.len = 0;
    if (!list || interp__json_at(j, list)->type != INTERP__JSON_OBJECT)
        return 0;
    for (uint32_t k = 0; k < interp__json_at(j, list)->count; k++, i = interp__json_at(j, i)->next) {
        const char *path = interp__json_key(j, interp__json_at(j, i));
        if (*path != '/' || strlen(path) > 255 || k >= IMAGE_VOLUMES || !strncmp(path, "/.interp", 8))
            return interp__engine_fail(f, INTERP_E_IMAGE, "image-volumes", 0, "build an image without it", "image \"%s\" declares volume \"%.200s\", or more than %u, which can not be bounded", b->image, path, IMAGE_VOLUMES);
        interp__buf_add(&b->volumes, path, strlen(path) + 1);
    }
    return b->volumes.bad ? interp__engine_fail(f, INTERP_E_NOMEM, "host-memory", 0, "", "out of memory") : 0;
}

static void got_image(struct interp__box *b)
{
    struct interp__engine_failure f;
    struct interp__json j = { 0 };
    if (parse(b, &j, "the engine's description of the image"))
        return;
    const char *arch = interp__answer_text(&j, 0, "Architecture"), *os = interp__answer_text(&j, 0, "Os");
    interp_status st;
    int r = 0;
    snprintf(b->arch, sizeof b->arch, "%s", !*arch ? b->facts.arch : *architecture(arch) ? architecture(arch) : "?");
    if (*os && strcmp(os, "linux") != 0)
        r = interp__engine_fail(&f, INTERP_E_IMAGE, "image-os", 0, "use a Linux image", "image \"%s\" is for \"%.32s\"", b->image, os);
    else if ((st = interp__agent_volume(b, b->arch, b->volume, sizeof b->volume)) == INTERP_E_NOMEM)
        r = interp__engine_fail(&f, INTERP_E_NOMEM, "host-memory", 0, "", "out of memory");
    else if (st)
        r = interp__engine_fail(&f, INTERP_E_IMAGE, "image-architecture", 0, "use an image for amd64 or arm64", "image \"%s\" is for architecture \"%.32s\", for which this library has no agent", b->image, *arch ? arch : b->facts.arch);
    else {
        r = note_volumes(b, &j, &f);
        if (!r && !b->volumes.len)      /* few images have any */
            remember(b);
    }
    interp__json_free(&j);
    if (r)
        interp__box_fail(b, &f);
    else
        find_volume(b);
}

/* ---- the agent's volume: one for each build of the agent, filled once through a container that is never started, read-only for sandboxes */

static int which(const struct interp__box *b)
{
    return !strcmp(b->arch, "aarch64");
}

static void create(struct interp__box *b)
{
    struct interp__buf body;
    char path[128];
    interp__buf_init(&body, &b->mem);
    interp__create_body(b, &body);
    snprintf(path, sizeof path, "/containers/create?name=%s", b->name);
    b->created = 1;                     /* from here on there may be one, whatever we hear of it */
    post_json(b, ENGINE_CREATE, path, &body);
    interp__buf_free(&body);
}

interp_status interp__agent_volume(struct interp__box *b, const char *arch, char *out, size_t n)
{
    const void *agent;
    size_t len;
    int at = !strcmp(arch, "aarch64");
    interp_status st = b->h->agent(b->l, arch, &agent, &len);
    if (st)
        return st;
    pthread_mutex_lock(&b->s->lock);
    if (b->s->agents[at].p != agent || b->s->agents[at].n != len) {
        char hash[INTERP__SHA256_HEX];
        interp__sha256_hex(agent, len, hash);
        snprintf(b->s->agents[at].volume, sizeof b->s->agents[at].volume, "libinterp-agent-%s", hash);
        b->s->agents[at].p = agent;
        b->s->agents[at].n = len;
    }
    snprintf(out, n, "%s", b->s->agents[at].volume);
    pthread_mutex_unlock(&b->s->lock);
    return INTERP_OK;
}

static void find_volume(struct interp__box *b)
{
    struct interp__buf body;
    pthread_mutex_lock(&b->s->lock);
    int fill = b->known->fill[which(b)];
    if (fill == ENGINE_FILL_UNKNOWN) {
        b->known->fill[which(b)] = ENGINE_FILL_BUSY;
        b->filling = (uint8_t)(which(b) + 1);
    }
    pthread_mutex_unlock(&b->s->lock);
    if (fill == ENGINE_FILL_DONE) {
        create(b);
        return;
    }
    if (fill == ENGINE_FILL_BUSY) {
        b->stage = ENGINE_VOLUME_WAIT;
        b->retry_at = interp__after(interp__now(), WAIT_NS);
        return;
    }
    interp__buf_init(&body, &b->mem);
    interp__buf_fmt(&body, "{\"Name\":\"%s\",\"Labels\":", b->volume);
    interp__owner_labels(&body, "agent", NULL, NULL);
    interp__buf_str(&body, "}");
    post_json(b, ENGINE_VOLUME, "/volumes/create", &body);
    interp__buf_free(&body);
}

static void make_helper(struct interp__box *b)
{
    struct interp__buf body;
    char path[128];
    interp__buf_init(&body, &b->mem);
    interp__buf_str(&body, "{\"Image\":");
    interp__json_text(&body, b->image, strlen(b->image));
    interp__buf_str(&body, ",\"Entrypoint\":[\"/.interp/agent\"],\"Cmd\":[],\"NetworkDisabled\":true,\"Labels\":");
    interp__owner_labels(&body, "helper", b->helper, b->session);
    interp__buf_fmt(&body, ",\"HostConfig\":{\"NetworkMode\":\"none\",\"LogConfig\":{\"Type\":\"none\"},\"Mounts\":[{\"Type\":\"volume\",\"Source\":\"%s\",\"Target\":\"/.interp\",\"VolumeOptions\":{\"NoCopy\":true}}]}}", b->volume);
    snprintf(path, sizeof path, "/containers/create?name=%s", b->helper);
    b->helper_made = 1;
    post_json(b, ENGINE_HELPER, path, &body);
    interp__buf_free(&body);
}

static void look_at_agent(struct interp__box *b)
{
    char path[160];
    snprintf(path, sizeof path, "/containers/%s/archive?path=/.interp/agent", b->helper);
    interp__box_get(b, ENGINE_HELPER_LOOK, "GET", path);
}

static void put_agent(struct interp__box *b)
{
    struct interp__buf tar, path;
    const void *agent = NULL;
    size_t n = 0;
    interp__buf_init(&tar, &b->mem);
    interp__buf_init(&path, &b->mem);
    (void)b->h->agent(b->l, b->arch, &agent, &n);
    interp__tar_one(&tar, "agent", agent, n);
    interp__buf_fmt(&path, "/containers/%s/archive?path=/.interp", b->helper);
    interp__box_call(b, ENGINE_HELPER_PUT, "PUT", b->prefix, &path, &tar, "application/x-tar");
    interp__buf_free(&tar);
    interp__buf_free(&path);
}

/* Byte by byte: whatever else is there, an image's own file among them, would be started as root in every later sandbox. */
static int agent_is_there(struct interp__box *b)
{
    const void *agent = NULL;
    size_t n = 0;
    (void)b->h->agent(b->l, b->arch, &agent, &n);
    return b->rest.status == 200 && interp__tar_is(b->rest.body.p, b->rest.body.len, agent, n);
}

static void drop_helper(struct interp__box *b)
{
    char path[128];
    snprintf(path, sizeof path, "/containers/%s?force=1&v=1", b->helper);    /* v: the volumes that the image declares */
    interp__box_get(b, ENGINE_HELPER_DROP, "DELETE", path);
}

static void looked(struct interp__box *b, int missing)
{
    struct interp__engine_failure f;
    if (agent_is_there(b))
        drop_helper(b);
    else if (b->put) {
        interp__engine_fail(&f, INTERP_E_BACKEND, "engine-volume", 0, "", "the agent was put into volume %s and is not there", b->volume);
        interp__box_fail(b, &f);
    } else if (!missing && b->tries++ < 10)   /* another process may be in the middle of it */
        b->retry_at = interp__after(interp__now(), UINT64_C(100000000));
    else
        put_agent(b);
}

static void filled(struct interp__box *b, int dropped)
{
    if (!dropped)
        interp__gc_leave(b, b->helper);
    pthread_mutex_lock(&b->s->lock);
    b->known->fill[which(b)] = ENGINE_FILL_DONE;
    pthread_mutex_unlock(&b->s->lock);
    b->filling = b->helper_made = 0;
    create(b);
}

/* ---- the container */

static void read_back(struct interp__box *b)
{
    struct interp__buf p;
    interp__buf_init(&p, &b->mem);
    interp__buf_fmt(&p, "/containers/%s/json", b->name);
    /* Podman's own API: the compatible one tells neither the runtime nor the capabilities that are left */
    interp__box_call(b, ENGINE_READ_BACK, "GET", b->facts.podman ? ENGINE_LIBPOD : b->prefix, &p, NULL, NULL);
    interp__buf_free(&p);
}

/* Removes the container and begins again with the image. */
static void undo(struct interp__box *b)
{
    char path[128];
    interp__attach_free(b);
    interp__image_forget(b);
    b->recalled = 0;
    snprintf(path, sizeof path, "/containers/%s?force=1&v=1", b->name);
    interp__box_get(b, ENGINE_UNDO, "DELETE", path);
}

static void checked(struct interp__box *b)
{
    struct interp__engine_failure f;
    struct interp__buf reached;
    interp__buf_init(&reached, &b->mem);
    if (interp__create_check(b, &reached, &f)) {
        if (b->recalled && !strcmp(f.reason, "engine-mount"))   /* another image has that name now, and it declares volumes */
            undo(b);
        else
            interp__box_fail(b, &f);
    } else {
        b->h->reached(b->l, (char *)reached.p, reached.len);
        b->stage = ENGINE_CONNECT;
        if (interp__attach_start(b))
            out_of_memory(b);
        else
            interp__box_step(b);
    }
    interp__buf_free(&reached);
}

/* The volume was there, and then somebody emptied or removed it: fill it again, once. */
static void not_started(struct interp__box *b, int status, const char *said)
{
    struct interp__engine_failure f;
    interp__image_forget(b);
    if (interp__start_failed(b, &f, status, said) < 0 || b->again_once) {
        interp__box_fail(b, &f);
        return;
    }
    b->again_once = 1;
    pthread_mutex_lock(&b->s->lock);
    if (b->known->fill[which(b)] == ENGINE_FILL_DONE)
        b->known->fill[which(b)] = ENGINE_FILL_UNKNOWN;
    pthread_mutex_unlock(&b->s->lock);
    undo(b);
}

static void attaching(struct interp__box *b)
{
    struct interp__engine_failure f;
    char path[128];
    int r = interp__attach_step(b);
    if (r > 0) {
        snprintf(path, sizeof path, "/containers/%s/start", b->name);
        interp__box_get(b, ENGINE_START, "POST", path);
    } else if (r < 0) {
        int status = interp__attach_status(b);
        if (!b->attach.connected && b->tries < RETRIES) {      /* a full backlog */
            if (interp__attach_start(b))
                out_of_memory(b);
            else
                b->retry_at = interp__after(interp__now(), 10 * WAIT_NS << b->tries++);
            return;
        }
        if (status) {
            char said[sizeof b->attach.noise];
            memcpy(said, b->attach.noise, sizeof said);
            /* races of Podman with itself (#23246, #23757): once more */
            if (strstr(said, "container state improper") && !b->tries++) {
                if (interp__attach_start(b))
                    out_of_memory(b);
                else
                    b->retry_at = interp__after(interp__now(), 10 * WAIT_NS);
                return;
            }
            not_started(b, status, said);
            return;
        }
        interp__engine_fail(&f, INTERP_E_BACKEND, "engine-attach", 0, "", "attaching to the sandbox at %s failed: %s", b->where.text, *b->attach.noise ? b->attach.noise : "the connection ended");
        interp__box_fail(b, &f);
    }
}

/* ---- what each answer leads to */

static int ok(const struct interp__box *b)
{
    return b->rest.code == CURLE_OK && b->rest.status >= 200 && b->rest.status < 300;
}

/* Reads are made again after a broken connection, for an engine closes what was idle; and Podman lists no containers while one of them is on its way out (4.3: 500), see gc.c. */
static int try_again(struct interp__box *b)
{
    int list = b->stage == ENGINE_GC_LIST, code = b->rest.code;
    int read_only = list || b->stage == ENGINE_PING || b->stage == ENGINE_VERSION || b->stage == ENGINE_INFO || b->stage == ENGINE_IMAGE || b->stage == ENGINE_READ_BACK || b->stage == ENGINE_HELPER_LOOK;
    int broken = code != CURLE_OK && code != CURLE_OPERATION_TIMEDOUT && code != CURLE_COULDNT_CONNECT && !b->rest.too_long;
    int stumbled = list && code == CURLE_OK && b->rest.status >= 500;
    if (!read_only || !(broken || stumbled) || b->tries >= (stumbled ? LIST_RETRIES : RETRIES))
        return 0;
    b->retry_at = interp__after(interp__now(), UINT64_C(50000000) << b->tries++);
    return 1;
}

/* The first to come asks the engine what it is; the others wait for that. */
static void ask(struct interp__box *b)
{
    int asked = ENGINE_UNASKED;
    if (b->task != ENGINE_PROBE) {
        pthread_mutex_lock(&b->s->lock);
        asked = (int)b->known->asked;
        b->facts = b->known->facts;
        if (asked == ENGINE_UNASKED) {
            b->known->asked = ENGINE_ASKING;
            b->asking = 1;
        }
        pthread_mutex_unlock(&b->s->lock);
    }
    if (asked == ENGINE_ASKED) {
        set_prefix(b);
        begin(b);
    } else if (asked == ENGINE_ASKING) {
        b->stage = ENGINE_FACTS_WAIT;
        b->retry_at = interp__after(interp__now(), WAIT_NS);
    } else
        plain_get(b, ENGINE_PING, "/_ping");
}

static void again(struct interp__box *b)
{
    b->retry_at = INTERP__NEVER;
    switch (b->stage) {
    case ENGINE_FACTS_WAIT: ask(b); break;
    case ENGINE_PING: plain_get(b, ENGINE_PING, "/_ping"); break;
    case ENGINE_VERSION: plain_get(b, ENGINE_VERSION, "/version"); break;
    case ENGINE_INFO: interp__box_get(b, ENGINE_INFO, "GET", "/info"); break;
    case ENGINE_IMAGE: find_image(b); break;
    case ENGINE_READ_BACK: read_back(b); break;
    case ENGINE_HELPER_LOOK: look_at_agent(b); break;
    case ENGINE_VOLUME_WAIT: find_volume(b); break;
    case ENGINE_CONNECT: attaching(b); break;
    case ENGINE_GC_LIST: interp__gc_list(b); break;
    case ENGINE_GC_REMOVE: interp__gc_next(b); break;
    default: break;
    }
}

/* What is known of a container whose making has come to an end. */
void interp__box_made(struct interp__box *b)
{
    if (b->stage != ENGINE_CREATE && b->stage != ENGINE_HELPER)
        return;
    if (b->rest.code == CURLE_COULDNT_CONNECT)          /* the engine was never asked */
        *(b->stage == ENGINE_CREATE ? &b->created : &b->helper_made) = 0;
    else if (b->rest.code != CURLE_OK)
        b->unsure = 1;
}

static void answered(struct interp__box *b)
{
    static const char *const whats[] = {
        [ENGINE_PING] = "asking what it speaks", [ENGINE_VERSION] = "asking for its version", [ENGINE_INFO] = "asking for its info", [ENGINE_IMAGE] = "looking at the image", [ENGINE_PULL] = "fetching the image",
        [ENGINE_VOLUME] = "making the agent's volume", [ENGINE_HELPER] = "making a container to fill the agent's volume", [ENGINE_HELPER_LOOK] = "looking into the agent's volume",
        [ENGINE_HELPER_PUT] = "filling the agent's volume", [ENGINE_HELPER_DROP] = "removing the container that filled the agent's volume",
        [ENGINE_CREATE] = "making the container", [ENGINE_READ_BACK] = "looking at the container", [ENGINE_START] = "starting the container", [ENGINE_UNDO] = "removing the container",
        [ENGINE_GC_LIST] = "listing the containers", [ENGINE_GC_REMOVE] = "removing a container", [ENGINE_GC_VOLUMES] = "listing the volumes", [ENGINE_GC_VOLUME] = "removing a volume"
    };
    struct interp__engine_failure f;
    enum interp__engine_stage was = b->stage;
    char said[400];
    b->rest.on_line = NULL;
    if (try_again(b))
        return;
    interp__box_made(b);
    int good = ok(b), missing = b->rest.code == CURLE_OK && b->rest.status == 404;
    if (good && b->stage == ENGINE_PULL && *b->pull_error)
        good = 0;
    if (!good && missing && (b->stage == ENGINE_IMAGE || b->stage == ENGINE_CREATE || b->stage == ENGINE_HELPER) && !b->pulled && !strcmp(b->pull, "missing")) {
        interp__box_release(b);
        snprintf(b->pull, strlen("missing") + 1, "always");
        find_image(b);
        return;
    }
    if (!good && b->stage == ENGINE_CREATE)
        interp__image_forget(b);
    if (!good && b->stage == ENGINE_INFO && b->rest.code == CURLE_OK && b->rest.status == 400 && !b->said_version) {   /* "client version 1.44 is too old" */
        plain_get(b, ENGINE_VERSION, "/version");
        return;
    }
    int tolerated = (b->stage == ENGINE_PING && b->rest.code == CURLE_OK) || (missing && b->stage == ENGINE_HELPER_LOOK) || b->stage == ENGINE_HELPER_DROP || b->stage == ENGINE_UNDO || b->stage == ENGINE_GC_REMOVE || b->stage == ENGINE_GC_VOLUME || (b->stage == ENGINE_START && b->rest.status == 304);
    if (!good && !tolerated) {
        if (b->stage == ENGINE_START && b->rest.code == CURLE_OK) {
            interp__answer_error(&b->mem, &b->rest.body, said, sizeof said);
            not_started(b, b->rest.status, said);
            return;
        }
        interp__call_failed(b, &f, whats[b->stage]);
        interp__box_fail(b, &f);
        return;
    }
    b->tries = was == ENGINE_HELPER_LOOK ? b->tries : 0;
    switch (was) {
    case ENGINE_PING: got_ping(b); break;
    case ENGINE_VERSION: got_version(b); break;
    case ENGINE_INFO: got_info(b); break;
    case ENGINE_IMAGE: got_image(b); break;
    case ENGINE_PULL: find_image(b); break;
    case ENGINE_VOLUME: make_helper(b); break;
    case ENGINE_HELPER: b->put = 0; look_at_agent(b); break;
    case ENGINE_HELPER_LOOK: looked(b, missing); break;
    case ENGINE_HELPER_PUT: b->put = 1; look_at_agent(b); break;
    case ENGINE_HELPER_DROP: filled(b, good || missing); break;
    case ENGINE_CREATE: read_back(b); break;
    case ENGINE_READ_BACK: checked(b); break;
    case ENGINE_UNDO: find_image(b); break;
    case ENGINE_GC_LIST: case ENGINE_GC_REMOVE: case ENGINE_GC_VOLUMES: case ENGINE_GC_VOLUME: interp__gc_answered(b, good); break;
    case ENGINE_START:
        b->stage = ENGINE_OPEN;
        interp__rest_rest(&b->rest);
        interp__attach_watch(b, INTERP_IO_IN);
        b->h->notify(b->l, INTERP_LINK_OPENED);
        break;
    default: break;
    }
}

void interp__box_step(struct interp__box *b)
{
    if (b->stage == ENGINE_CONNECT && b->retry_at == INTERP__NEVER)
        attaching(b);
    /* a call may be done by the time it has been made */
    for (int round = 0; round < 32 && b->stage != ENGINE_OPEN && b->stage != ENGINE_FAILED; round++) {
        interp__rest_step(&b->rest);
        if (b->rest.done) {
            b->rest.done = 0;
            answered(b);
        } else if (b->retry_at <= interp__now())
            again(b);
        else
            return;
    }
}

/* ---- the start */

static struct interp__engine_known *known_of(struct interp__engine *s, const struct interp__endpoint *e)
{
    char key[sizeof ((struct interp__engine_known *)0)->key];
    snprintf(key, sizeof key, "%d %.255s %.7s %.511s %s", e->tls, e->host, e->port, e->certs, e->path);
    pthread_mutex_lock(&s->lock);
    struct interp__engine_known *k = s->known;
    while (k && strcmp(k->key, key))
        k = k->next;
    if (!k && (k = interp__alloc(&s->mem, sizeof *k))) {
        memcpy(k->key, key, sizeof key);
        k->next = s->known;
        s->known = k;
    }
    pthread_mutex_unlock(&s->lock);
    return k;
}

static char *copy(struct interp__box *b, const char *text)
{
    return interp__strndup(&b->mem, text ? text : "", text ? strlen(text) : 0);
}

static int user_ok(const char *user)
{
    size_t n = strspn(user, "0123456789");
    size_t g = user[n] == ':' ? strspn(user + n + 1, "0123456789") : 0;
    return n && n < 10 && g && g < 10 && !user[n + 1 + g];
}

/* A value that names no directory must not mean "without TLS". */
static int find_endpoint(struct interp__box *b, struct interp__engine_failure *f)
{
    struct interp__json j = { 0 };
    const char *json, *certs = NULL;
    size_t n;
    int r = 0;
    if (b->h->option(b->l, "certs", &json, &n) == INTERP_OK) {
        if (!interp__json_parse(&j, &b->mem, json, n, NULL) && interp__json_at(&j, 0)->type == INTERP__JSON_STRING)
            certs = interp__json_string(&j, interp__json_at(&j, 0));
        if (!certs || !*certs || strlen(certs) != interp__json_at(&j, 0)->text_len)
            r = interp__engine_fail(f, INTERP_E_INVAL, "endpoint", 0, "name the directory of ca.pem, cert.pem and key.pem", "\"%s.certs\" must be a path, and is %.60s",
                                    b->s->kind == INTERP__ENGINE_DOCKER ? "docker" : "podman", json);
    }
    if (!r)
        r = interp__endpoint_find(&b->where, &b->mem, b->s->kind, b->spec.endpoint, certs, f);
    interp__json_free(&j);
    return r;
}

int interp__box_start(struct interp__box *b, struct interp__engine_failure *f)
{
    const char *why = NULL;
    char random[25];
    uint8_t bytes[12];
    if (b->task == ENGINE_SANDBOX && b->spec.image && *b->spec.image && !interp__image_ok(b->spec.image))
        return interp__engine_fail(f, INTERP_E_INVAL, "image-name", 0, "an image is NAME[:TAG][@DIGEST]", "\"%.200s\" is not the name of an image", b->spec.image);
    if (b->task == ENGINE_SANDBOX && (!b->spec.image || !*b->spec.image))
        return interp__engine_fail(f, INTERP_E_INVAL, "image-missing", 0, "set image, for instance to python:3.12-slim", "a container engine needs an image, and none is set");
    if (b->spec.user && *b->spec.user && !user_ok(b->spec.user))
        return interp__engine_fail(f, INTERP_E_INVAL, "user", 0, "give numbers, such as 1000:1000", "user is \"%s\"; it must be UID:GID in numbers", b->spec.user);
    b->image = copy(b, b->spec.image);
    b->pull = copy(b, b->spec.pull && *b->spec.pull ? b->spec.pull : "missing");
    b->runtime = copy(b, b->spec.runtime);
    b->user = b->spec.user && *b->spec.user ? copy(b, b->spec.user) : NULL;
    snprintf(b->session, sizeof b->session, "%s", b->spec.session_id);
    if (!b->image || !b->pull || !b->runtime || (b->spec.user && *b->spec.user && !b->user))
        return interp__engine_fail(f, INTERP_E_NOMEM, "host-memory", 0, "", "out of memory");
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return interp__engine_fail(f, INTERP_E_IO, "random", 0, "", "no random numbers from the system");
    for (unsigned i = 0; i < sizeof bytes; i++)
        snprintf(random + 2 * i, 3, "%02x", bytes[i]);
    snprintf(b->name, sizeof b->name, "libinterp-%s", random);
    snprintf(b->helper, sizeof b->helper, "libinterp-%s-helper", random);
    if (find_endpoint(b, f) || interp__binds_take(b, f))
        return -1;
    if (!(b->known = known_of(b->s, &b->where)))
        return interp__engine_fail(f, INTERP_E_NOMEM, "host-memory", 0, "", "out of memory");
    if (interp__name_use(b->s, &b->where, f))
        return -1;
    b->rest.where = &b->where;
    if (interp__rest_init(&b->rest, b->h, b->l, &b->mem, &why))
        return interp__engine_fail(f, INTERP_E_UNSUPPORTED, "libcurl", 0, "install libcurl (Debian, Ubuntu: package libcurl4; Fedora: libcurl)", "container engines are spoken to through libcurl, which can't be loaded: %s", why);
    /* the spec's texts are borrowed for the duration of open */
    b->spec.image = b->spec.pull = b->spec.endpoint = b->spec.runtime = b->spec.user = b->spec.owner_label = NULL;
    b->spec.session_id = b->session;
    b->spec.mount_sources = b->spec.mount_targets = b->spec.interpreter_languages = b->spec.interpreters = NULL;
    b->spec.mount_flags = NULL;
    ask(b);
    interp__box_step(b);
    return 0;
}
