/* test_collect.c - calls on a backend without a session: gc and probe; and options that a backend does not know.
   SPDX-License-Identifier: MIT */
#include "api.h"
#include "pieces.h"

/* A backend whose slots do what `plan` says, at once or when they are driven next. */
struct plan {
    int gc, probe;              /* slots that are there */
    _Atomic int never;
    int later, fails, knows;
    int slow;                   /* its end is told by the next slot, which does not return before `go` */
    _Atomic int inside, go;
    int removes;                /* things that gc tells of */
    _Atomic int opens, closes, abandons;
    char image[64];
};
struct box { struct plan *p; const interp_host_ops *h; interp_link *l; int task, told, closing; };

static void finish(struct box *b)
{
    if (b->told || b->p->never)
        return;
    b->told = 1;
    if (b->p->fails) {
        b->h->fail(b->l, INTERP_E_BACKEND, "plan-failed", 0, "it was planned to fail", "plan another");
        return;
    }
    for (int i = 0; b->task == 1 && i < b->p->removes; i++) {
        char text[80];
        int n = snprintf(text, sizeof text, "{\"step\":\"gc\",\"removed\":\"container\",\"name\":\"c%d\"}", i);
        b->h->progress(b->l, text, (size_t)n);
    }
    if (b->task == 2)
        b->h->reached(b->l, "{\"engine\":\"plan\"}", 17);
    b->h->notify(b->l, INTERP_LINK_OPENED);
}
static interp_status begin(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst, int task)
{
    struct plan *p = backend;
    struct box *b = h->realloc(l, NULL, 0, sizeof *b);
    const char *json;
    size_t n;
    *b = (struct box){ p, h, l, task, 0, 0 };
    *inst = b;
    p->opens++;
    snprintf(p->image, sizeof p->image, "%s", spec->image);
    if (p->knows)
        (void)h->option(l, "known", &json, &n);
    if (p->later)
        h->again(l);
    else
        finish(b);
    return INTERP_OK;
}
static interp_status plan_open(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *s, void **inst) { return begin(backend, h, l, s, inst, 0); }
static interp_status plan_gc(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *s, void **inst) { return begin(backend, h, l, s, inst, 1); }
static interp_status plan_probe(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *s, void **inst) { return begin(backend, h, l, s, inst, 2); }
static interp_status plan_read(void *inst, void *buf, size_t cap, size_t *n) { (void)inst; (void)buf; (void)cap; (void)n; return INTERP_AGAIN; }
static interp_status plan_write(void *inst, const void *buf, size_t len, size_t *n) { (void)inst; (void)buf; *n = len; return INTERP_OK; }
static interp_status plan_kill(void *inst) { (void)inst; return INTERP_OK; }
static void plan_end(void *inst, int closed)
{
    struct box *b = inst;
    const interp_host_ops *h = b->h;
    interp_link *l = b->l;
    *(closed ? &b->p->closes : &b->p->abandons) += 1;
    h->realloc(l, b, sizeof *b, 0);
    if (closed)
        h->notify(l, INTERP_LINK_CLOSED);
}
static void plan_advance(void *inst)
{
    struct box *b = inst;
    if (!b->closing) {
        finish(b);
        return;
    }
    b->p->inside = 1;
    while (!b->p->go)
        tap_sleep_ms(1);
    plan_end(b, 1);
}
static void plan_close(void *inst)
{
    struct box *b = inst;
    b->closing = b->p->slow;
    if (b->closing)
        b->h->again(b->l);
    else
        plan_end(b, 1);
}
static void plan_abandon(void *inst) { plan_end(inst, 0); }

static void plan_add(interp_ctx *x, struct plan *p)
{
    interp_backend_ops ops = { .struct_size = sizeof ops, .name = "plan", .open = plan_open, .advance = plan_advance, .read = plan_read, .write = plan_write, .kill = plan_kill,
                               .close = plan_close, .abandon = plan_abandon, .gc = p->gc ? plan_gc : NULL, .probe = p->probe ? plan_probe : NULL };
    NEED(interp_ctx_add_backend(x, &ops, p, NULL, ERR));
}
static interp_ctx *plan_ctx(uint32_t flags, struct plan *p)
{
    interp_ctx *x = new_ctx(flags);
    plan_add(x, p);
    return x;
}
static interp_config *plan_config(interp_ctx *x, const char *more)
{
    char json[256];
    snprintf(json, sizeof json, "{\"backend\":\"plan\",\"image\":\"some/image:1\"%s}", more);
    return new_config(x, json);
}

static void collect(struct plan p, interp_status want, uint64_t want_removed)
{
    interp_ctx *x = plan_ctx(0, &p);
    interp_config *c = plan_config(x, p.never ? ",\"open_timeout_ms\":300" : "");
    uint64_t removed = 99;
    IS(interp_ctx_gc(x, c, &removed, ERR), want);
    CHECK_INT(removed, want ? 99 : want_removed);
    if (!want)
        OK(interp_ctx_gc(x, c, NULL, ERR));
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(p.closes + p.abandons, p.opens);
    CHECK_INT(p.abandons, 0);
}
TEST(gc_at_once) { collect((struct plan){ .gc = 1, .removes = 3 }, INTERP_OK, 3); }
TEST(gc_later) { collect((struct plan){ .gc = 1, .later = 1, .removes = 2 }, INTERP_OK, 2); }
TEST(gc_of_nothing) { collect((struct plan){ .gc = 1 }, INTERP_OK, 0); }
TEST(gc_fails) { collect((struct plan){ .gc = 1, .fails = 1 }, INTERP_E_BACKEND, 0); }
TEST(gc_never_ends) { collect((struct plan){ .gc = 1, .never = 1 }, INTERP_E_TIMEOUT, 0); }
TEST(gc_of_a_backend_without) { collect((struct plan){ .gc = 0 }, INTERP_E_UNSUPPORTED, 0); }

/* A call alone, with what it removed as events, in a loop. */
TEST(gc_in_a_loop)
{
    struct plan p = { .gc = 1, .later = 1, .removes = 2 };
    interp_ctx *x = plan_ctx(INTERP_CTX_LOOP, &p);
    interp_config *c = plan_config(x, "");
    interp_call *k = NULL, *named;
    uint64_t n = 0;
    IS(interp_ctx_gc(x, c, &n, ERR), INTERP_E_BUSY);
    NEED(interp_ctx_gc_start(x, c, &k, ERR));
    CHECK_INT(interp_call_kind(k), INTERP_CALL_GC);
    CHECK(!interp_call_session(k));
    int events = 0, done = 0;
    for (int turn = 0; turn < 100 && !done; turn++) {
        struct pollfd f = { interp_ctx_fd(x), POLLIN, 0 };
        poll(&f, 1, 100);
        (void)interp_ctx_dispatch(x, NULL);
        while (interp_ctx_next(x, &named) == INTERP_OK) {
            const interp_event *ev;
            interp_status st;
            CHECK(named == k);
            while ((st = interp_call_next(named, &ev)) == INTERP_OK)
                if (interp_event_type(ev) == INTERP_EV_PROGRESS) {
                    CHECK(strstr(interp_event_json(ev, NULL), "\"removed\":\"container\""));
                    events++;
                }
            done |= st == INTERP_DONE;
        }
    }
    CHECK(done);
    CHECK_INT(events, 2);
    OK(interp_call_finish(k, NULL, ERR));
    interp_call_free(k);
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(p.closes, 1);
}

/* Given up before it is through, cancelled, and left to the context's end. */
TEST(gc_given_up)
{
    struct plan p = { .gc = 1, .never = 1 };
    interp_ctx *x = plan_ctx(0, &p);
    interp_config *c = plan_config(x, "");
    interp_call *k = NULL;
    NEED(interp_ctx_gc_start(x, c, &k, ERR));
    IS(interp_call_finish(k, NULL, ERR), INTERP_AGAIN);
    interp_call_free(k);
    CHECK_INT(p.closes, 1);
    interp_cancel *t = NULL;
    NEED(interp_cancel_new(x, &t, ERR));
    NEED(interp_config_set_cancel(c, t, ERR));
    NEED(interp_ctx_gc_start(x, c, &k, ERR));
    interp_cancel_fire(t);
    wait_done(k);
    IS(interp_call_finish(k, NULL, ERR), INTERP_E_CANCELLED);
    interp_call_free(k);
    IS(interp_ctx_gc(x, c, NULL, ERR), INTERP_E_CANCELLED);
    interp_cancel_free(t);
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(p.closes, p.opens);
}

TEST(probe)
{
    for (int fails = 0; fails < 2; fails++) {
        struct plan p = { .probe = 1, .later = fails, .fails = fails };
        interp_ctx *x = plan_ctx(0, &p);
        interp_config *c = plan_config(x, "");
        interp_call *k = NULL;
        const interp_event *ev;
        int seen = 0;
        NEED(interp_ctx_probe_start(x, c, &k, ERR));
        CHECK_INT(interp_call_kind(k), INTERP_CALL_PROBE);
        for (interp_status st = INTERP_AGAIN; st != INTERP_DONE;) {
            st = interp_call_next(k, &ev);
            if (st == INTERP_AGAIN)
                OK(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
            else if (st == INTERP_OK && interp_event_type(ev) == INTERP_EV_PROGRESS) {
                size_t n;
                CHECK_STR(interp_event_json(ev, &n), "{\"step\":\"probe\",\"offers\":{\"engine\":\"plan\"}}");
                seen++;
            }
        }
        CHECK_INT(seen, !fails);
        IS(interp_call_finish(k, NULL, ERR), fails ? INTERP_E_BACKEND : INTERP_OK);
        interp_call_free(k);
        CHECK_STR(p.image, "some/image:1");
        interp_config_free(c);
        c = new_config(x, "{\"backend\":\"local\"}");
        IS(interp_ctx_probe_start(x, c, &k, ERR), INTERP_E_UNSUPPORTED);
        interp_config_free(c);
        interp_ctx_free(x);
        CHECK_INT(p.closes, p.opens);
    }
}

struct helper { interp_ctx *x; interp_cancel *stop; pthread_t thread; };
static void *run_helper(void *p)
{
    struct helper *h = p;
    OK(interp_ctx_run(h->x, h->stop, ERR));
    api_drop();
    return NULL;
}

/* Freed while another thread is at work for it: it goes all the same, and the free does not wait. */
TEST(freed_under_a_helper)
{
    struct plan p = { .gc = 1, .slow = 1 };
    interp_ctx *x = plan_ctx(0, &p);
    interp_config *c = plan_config(x, "");
    struct helper h = { .x = x };
    interp_call *k = NULL;
    NEED(interp_cancel_new(x, &h.stop, ERR));
    int before = count_fds();
    NEED(interp_ctx_gc_start(x, c, &k, ERR));
    wait_done(k);
    REQUIRE(pthread_create(&h.thread, NULL, run_helper, &h) == 0);
    while (!p.inside)
        tap_sleep_ms(1);
    interp_call_free(k);
    CHECK_INT(p.closes, 0);
    p.go = 1;
    interp_cancel_fire(h.stop);
    pthread_join(h.thread, NULL);
    CHECK_INT(p.closes, 1);
    CHECK_INT(count_fds(), before);
    interp_cancel_free(h.stop);
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(p.abandons, 0);
}

/* The same in a loop, whose thread is in a slot. */
TEST(freed_under_a_loop)
{
    struct plan p = { .gc = 1, .slow = 1 };
    interp_ctx *x = plan_ctx(INTERP_CTX_LOOP, &p);
    interp_config *c = plan_config(x, "");
    interp_call *k = NULL, *named;
    int before = count_fds();
    NEED(interp_ctx_gc_start(x, c, &k, ERR));
    (void)interp_ctx_dispatch(x, NULL);
    while (interp_ctx_next(x, &named) == INTERP_OK)
        CHECK(named == k);
    interp_call_free(k);
    CHECK_INT(p.closes, 0);
    p.go = 1;
    for (int i = 0; i < 100 && !p.closes; i++)
        (void)interp_ctx_dispatch(x, NULL);
    CHECK_INT(p.closes, 1);
    CHECK_INT(count_fds(), before);
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(p.abandons, 0);
}

/* Many, begun, given up and freed beside helpers: in whatever moment, each gives back what it had. */
TEST(freed_beside_helpers)
{
    struct plan p = { .gc = 1, .never = 1 };
    interp_ctx *x = plan_ctx(0, &p);
    interp_config *c = plan_config(x, "");
    struct helper h[3];
    int before = count_fds();
    for (int i = 0; i < 3; i++) {
        h[i].x = x;
        NEED(interp_cancel_new(x, &h[i].stop, ERR));
        REQUIRE(pthread_create(&h[i].thread, NULL, run_helper, &h[i]) == 0);
    }
    for (int i = 0; i < 3000 / (int)tap_slow(); i++) {
        interp_call *k = NULL;
        p.never = i % 2;
        NEED(interp_ctx_gc_start(x, c, &k, ERR));
        (void)interp_call_wait(k, 0, 0, NULL);   /* wakes the helpers */
        interp_call_free(k);
    }
    for (int i = 0; i < 3; i++) {
        interp_cancel_fire(h[i].stop);
        pthread_join(h[i].thread, NULL);
        interp_cancel_free(h[i].stop);
    }
    CHECK_INT(count_fds(), before);
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(p.closes, p.opens);
}

/* A forked child frees all that it has of one that is under way. */
TEST(forked)
{
    struct plan p = { .gc = 1, .never = 1 };
    interp_call *k = NULL;
    interp_ctx *x = NULL;
    NEED(interp_ctx_new_alloc(0, counted, NULL, &x, ERR));
    plan_add(x, &p);
    interp_config *c = plan_config(x, "");
    NEED(interp_ctx_gc_start(x, c, &k, ERR));
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        interp_call_free(k);
        interp_config_free(c);
        interp_ctx_free(x);
        CHECK_INT(pieces, 0);
        CHECK_INT(p.abandons, 1);
        tap_leave(tap_shared->failed);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
    interp_call_free(k);
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(p.closes, 1);
    CHECK_INT(pieces, 0);
}

TEST(unknown_options)
{
    struct plan p = { .gc = 1, .never = 1, .knows = 1 };
    interp_ctx *x = plan_ctx(0, &p);
    interp_config *c = plan_config(x, ",\"plan.known\":1,\"plan.knwon\":2,\"other.thing\":3");
    SAYS(interp_ctx_gc(x, c, NULL, ERR), INTERP_E_INVAL, "plan.knwon");
    interp_session *s = NULL;
    SAYS(interp_session_open(x, c, &s, ERR), INTERP_E_INVAL, "plan.knwon");
    CHECK(!s);
    interp_config_free(c);
    c = plan_config(x, ",\"plan.known\":1,\"open_timeout_ms\":200");
    IS(interp_ctx_gc(x, c, NULL, ERR), INTERP_E_TIMEOUT);   /* known: it goes on */
    interp_config_free(c);
    interp_ctx_free(x);
    CHECK_INT(p.closes, p.opens);
}

TEST(misuse)
{
    struct plan p = { .gc = 1, .probe = 1 };
    interp_ctx *x = plan_ctx(0, &p), *y = new_ctx(0);
    interp_config *c = plan_config(x, ""), *other = new_config(y, NULL);
    interp_call *k = NULL;
    IS(interp_ctx_gc(NULL, c, NULL, ERR), INTERP_E_INVAL);
    IS(interp_ctx_gc_start(x, c, NULL, ERR), INTERP_E_INVAL);
    IS(interp_ctx_probe_start(x, c, NULL, ERR), INTERP_E_INVAL);
    IS(interp_ctx_gc_start(x, other, &k, ERR), INTERP_E_INVAL);
    IS(interp_ctx_gc(x, NULL, NULL, ERR), INTERP_E_UNSUPPORTED);   /* the default is local */
    CHECK(!k);
    CHECK_INT(p.opens, 0);
    interp_config_free(c);
    interp_config_free(other);
    interp_ctx_free(x);
    interp_ctx_free(y);
}

TAP_MAIN()
