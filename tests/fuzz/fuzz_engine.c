/* fuzz_engine.c - what container engines say: the attached stream, descriptions of containers, lists, lines of a pull, errors, archives; and what users say of engines:
   names of images, addresses.
   SPDX-License-Identifier: MIT

   Input: u8 what (low three bits: which of these; the others are flags), then the bytes. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "backends/engine/engine_priv.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned failures;

static interp_status on_watch(interp_link *l, int fd, uint32_t mask) { (void)l; (void)fd; (void)mask; return INTERP_OK; }
static interp_status on_timer(interp_link *l, uint64_t t) { (void)l; (void)t; return INTERP_OK; }
static void on_link(interp_link *l) { (void)l; }
static void on_notify(interp_link *l, int32_t what) { (void)l; (void)what; }
static void on_json(interp_link *l, const char *json, size_t n)
{
    struct interp__json j;
    (void)l;
    FUZZ_CHECK(interp__json_parse(&j, &interp__mem_default, json, n, NULL) == INTERP_OK);   /* whatever came in, what goes out is JSON */
    interp__json_free(&j);
}
static interp_status on_fail(interp_link *l, interp_status code, const char *reason, int32_t err, const char *message, const char *remedy)
{
    (void)l;
    (void)err;
    FUZZ_CHECK(code < 0 && *reason && *message && remedy && strlen(message) < 800);
    failures++;
    return code;
}
static interp_status on_option(interp_link *l, const char *key, const char **json, size_t *n) { (void)l; (void)key; (void)json; (void)n; return INTERP_E_NOT_FOUND; }
static interp_status on_agent(interp_link *l, const char *arch, const void **p, size_t *n)
{
    (void)l;
    if (strcmp(arch, "x86_64") != 0)
        return INTERP_E_UNSUPPORTED;
    *p = "agent";
    *n = 5;
    return INTERP_OK;
}
static void *on_realloc(interp_link *l, void *p, size_t old, size_t n)
{
    (void)l;
    (void)old;
    if (n)
        return interp__resize(&interp__mem_default, p, n);
    interp__free(&interp__mem_default, p);
    return NULL;
}
static void on_log(interp_link *l, int32_t level, const char *m, size_t n) { (void)l; (void)level; (void)m; (void)n; }
static const interp_host_ops HOST = {
    .struct_size = sizeof HOST, .watch = on_watch, .timer = on_timer, .again = on_link, .wake = on_link, .notify = on_notify, .progress = on_json, .fail = on_fail,
    .option = on_option, .agent = on_agent, .reached = on_json, .realloc = on_realloc, .log = on_log
};

struct bench { struct interp__box b; struct interp__engine s; struct interp__engine_known known; };
static void begin(struct bench *t, unsigned flags)
{
    struct interp__box *b = &t->b;
    static char name[] = "image:tag", runtime[] = "runsc", none[] = "", user[] = "1:1", missing[] = "missing";
    const char *why;
    memset(t, 0, sizeof *t);
    t->s.mem = interp__mem_default;
    pthread_mutex_init(&t->s.lock, NULL);
    b->s = &t->s;
    b->h = &HOST;
    b->mem = interp__mem_default;
    b->known = &t->known;
    b->attach.fd = -1;
    b->retry_at = INTERP__NEVER;
    b->image = name;
    b->pull = missing;
    b->runtime = flags & 1 ? runtime : none;
    b->user = flags & 2 ? user : NULL;
    b->facts.podman = (flags & 4) != 0;
    b->facts.cpus = 2;
    b->facts.api = 41;
    b->spec.memory_bytes = 1 << 20;
    b->spec.cpu_millis = 1000;
    b->spec.pids = 8;
    b->spec.flags = flags & 8 ? 7 : 0;
    b->spec.min_isolation = flags & 16 ? INTERP_ISOLATION_FULL : INTERP_ISOLATION_NAMESPACES;
    snprintf(b->volume, sizeof b->volume, "volume");
    snprintf(b->where.path, sizeof b->where.path, "/nonexistent/engine.sock");
    b->rest.where = &b->where;
    struct interp__buf *bufs[] = { &b->attach.head, &b->attach.out, &b->rest.body, &b->rest.sent, &b->dead, &b->volumes };
    for (unsigned i = 0; i < sizeof bufs / sizeof *bufs; i++)
        interp__buf_init(bufs[i], &b->mem);
    (void)interp__rest_init(&b->rest, &HOST, NULL, &b->mem, &why);
    failures = 0;
}
static void end(struct bench *t)
{
    interp__attach_free(&t->b);
    interp__rest_rest(&t->b.rest);
    interp__buf_free(&t->b.dead);
    interp__buf_free(&t->b.volumes);
    pthread_mutex_destroy(&t->s.lock);
}

/* ---- the stream: what comes out is what another reader of the frames finds, however the bytes arrive */

static size_t frames(const uint8_t *p, size_t n, uint8_t *out, int *bad)
{
    size_t got = 0;
    *bad = 0;
    while (n >= 8) {
        size_t len = (size_t)p[4] << 24 | (size_t)p[5] << 16 | (size_t)p[6] << 8 | p[7];
        if (p[0] > 2 || p[1] || p[2] || p[3] || len > 1u << 24) {
            *bad = 1;
            return got;
        }
        size_t have = len < n - 8 ? len : n - 8;
        if (p[0] != 2) {
            memcpy(out + got, p + 8, have);
            got += have;
        }
        p += 8 + have;
        n -= 8 + have;
    }
    return got;
}
static void stream(const uint8_t *p, size_t n, unsigned flags)
{
    struct bench t;
    int s[2], bad, state = 0;
    if (n > 60000 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s))
        return;
    begin(&t, 0);
    struct interp__attach *a = &t.b.attach;
    uint8_t *want = malloc(n + 1), *got = malloc(n + 1), buf[97];
    size_t nwant = 0, ngot = 0, at = 0, piece = 1 + (flags >> 3) * 37u;
    interp_status st = INTERP_AGAIN;
    a->fd = s[0];
    a->connected = 1;
    const uint8_t *head = n ? memmem(p, n, "\r\n\r\n", 4) : NULL;
    if (flags & 8)
        a->answered = 1, state = 1, head = NULL;
    else
        nwant = head ? frames(head + 4, n - (size_t)(head + 4 - p), want, &bad) : 0;
    if (flags & 8)
        nwant = frames(p, n, want, &bad);
    while (st == INTERP_AGAIN && at <= n && state >= 0) {
        if (at < n) {
            ssize_t r = send(s[1], p + at, piece < n - at ? piece : n - at, MSG_NOSIGNAL);
            at += r > 0 ? (size_t)r : 0;
        } else {
            at++;
            shutdown(s[1], SHUT_WR);
        }
        if (!state && (state = interp__attach_step(&t.b)) < 0)
            break;
        for (size_t k = 0; state && (st = interp__attach_read(&t.b, buf, 1 + k % sizeof buf, &k)) == INTERP_OK;) {
            FUZZ_CHECK(ngot + k <= n);
            memcpy(got + ngot, buf, k);
            ngot += k;
        }
    }
    if (state > 0) {
        FUZZ_CHECK(st == (bad ? INTERP_E_PROTOCOL : INTERP_DONE));
        FUZZ_CHECK(ngot <= nwant && (bad || ngot == nwant) && (!ngot || !memcmp(got, want, ngot)));   /* what stands right before a bad frame may go with it */
    }
    FUZZ_CHECK(strlen(a->noise) < sizeof a->noise);
    for (const char *c = a->noise; *c; c++)
        FUZZ_CHECK(*c >= 0x20 && *c < 0x7F);
    free(want);
    free(got);
    end(&t);
    close(s[1]);
}

/* ---- answers */

static void answers(const uint8_t *p, size_t n, unsigned flags)
{
    struct bench t;
    struct interp__engine_failure f = { 0 };
    struct interp__buf reached;
    char said[100];
    begin(&t, flags);
    interp__buf_add(&t.b.rest.body, p, n);
    interp__answer_error(&t.b.mem, &t.b.rest.body, said, sizeof said);
    FUZZ_CHECK(strlen(said) < sizeof said);
    interp__buf_init(&reached, &t.b.mem);
    if (interp__create_check(&t.b, &reached, &f) == 0)
        on_json(NULL, (char *)reached.p, reached.len);
    else
        FUZZ_CHECK(f.code < 0 && *f.message);
    interp__buf_free(&reached);
    t.b.stage = ENGINE_START;
    t.b.rest.status = 500;
    (void)interp__call_failed(&t.b, &f, "what");
    FUZZ_CHECK(f.code < 0 && *f.message);
    (void)interp__start_failed(&t.b, &f, 500, said);
    FUZZ_CHECK(f.code < 0 && *f.message);
    end(&t);
}
static void lists(const uint8_t *p, size_t n, unsigned flags)
{
    struct bench t;
    begin(&t, flags);
    if (t.b.rest.curl) {
        t.b.task = ENGINE_GC;
        t.b.stage = flags & 8 ? ENGINE_GC_VOLUMES : ENGINE_GC_LIST;
        interp__gc_leave(&t.b, "libinterp-0");
        interp__buf_add(&t.b.rest.body, p, n);
        interp__gc_answered(&t.b, 1);
        for (size_t at = 0; at < t.b.dead.len; at += strlen((char *)t.b.dead.p + at) + 1)
            FUZZ_CHECK(!strpbrk((char *)t.b.dead.p + at, "/?#% &"));
        for (struct interp__engine_left *k; (k = t.known.left);) {
            t.known.left = k->next;
            interp__free(&t.s.mem, k);
        }
    }
    end(&t);
}
static void pull(const uint8_t *p, size_t n, unsigned flags)
{
    struct bench t;
    begin(&t, flags);
    while (n) {
        const uint8_t *nl = memchr(p, '\n', n);
        size_t line = nl ? (size_t)(nl - p) : n;
        uint8_t *exact = fuzz_copy(p, line);
        interp__pull_line(&t.b, (char *)exact, line);
        free(exact);
        p += nl ? line + 1 : line;
        n -= nl ? line + 1 : line;
    }
    FUZZ_CHECK(strlen(t.b.pull_error) < sizeof t.b.pull_error);
    end(&t);
}

/* ---- words of the user's, and archives */

static void words(const uint8_t *p, size_t n)
{
    struct interp__endpoint e;
    struct interp__engine_failure f = { 0 };
    struct interp__buf out;
    char *text = malloc(n + 1);
    memcpy(text, p, n);
    text[n] = 0;
    interp__buf_init(&out, &interp__mem_default);
    if (interp__image_ok(text)) {
        interp__image_path(&out, text);
        interp__pull_path(&out, text);
        const char *s = interp__buf_text(&out);
        FUZZ_CHECK(s && !strstr(s, "/../") && !strstr(s, "/./") && !strpbrk(s, " #\r\n\"") && !strstr(text, "?"));
    }
    interp__buf_free(&out);
    if (*text) {
        if (interp__endpoint_find(&e, &interp__mem_default, n & 1 ? INTERP__ENGINE_PODMAN : INTERP__ENGINE_DOCKER, text, "", &f) == 0)
            FUZZ_CHECK(e.tcp ? *e.host && *e.port && !strpbrk(e.host, "/@?# ") : *e.path == '/');
        else
            FUZZ_CHECK(f.code < 0 && *f.message);
    }
    free(text);
}
static void archives(const uint8_t *p, size_t n)
{
    struct interp__buf tar;
    (void)interp__tar_is(p, n, "agent", 5);
    interp__buf_init(&tar, &interp__mem_default);
    interp__tar_one(&tar, "name", p, n);
    FUZZ_CHECK(!tar.bad && tar.len % 512 == 0 && interp__tar_is(tar.p, tar.len, p, n));
    FUZZ_CHECK(!n || !interp__tar_is(tar.p, tar.len, p, n - 1));
    interp__buf_free(&tar);
}

static void one(const uint8_t *data, size_t size)
{
    if (!size)
        return;
    unsigned flags = data[0] >> 3;
    uint8_t *c = fuzz_copy(data + 1, size - 1);
    switch (data[0] & 7) {
    case 0: stream(c, size - 1, flags); break;
    case 1: answers(c, size - 1, flags); break;
    case 2: lists(c, size - 1, flags); break;
    case 3: pull(c, size - 1, flags); break;
    case 4: words(c, size - 1); break;
    case 5: archives(c, size - 1); break;
    default: break;
    }
    free(c);
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    return 0;
}
