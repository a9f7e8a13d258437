/* test_alloc.c - the host's allocator: its counts balance to zero, and an allocation that fails is an error or a lost result, never a crash.
   SPDX-License-Identifier: MIT */
#include "fake.h"

struct heap {
    long blocks, bytes, calls, fail_at, fail_from;
    long bad_sizes;
    pthread_mutex_t lock;
};
enum { MAGIC = 0x5ca1ab1e };
struct head { size_t size; uint32_t magic, pad; };
static void *heap_realloc(void *u, void *p, size_t old_size, size_t new_size)
{
    struct heap *h = u;
    struct head *b = p ? (struct head *)p - 1 : NULL, *n = NULL;
    pthread_mutex_lock(&h->lock);
    if (b && (b->magic != MAGIC || b->size != old_size))
        h->bad_sizes++;
    if (new_size == 0) {
        if (b) {
            h->blocks--;
            h->bytes -= (long)b->size;
            b->magic = 0;
            memset(b + 1, 0xdd, b->size);
            free(b);
        }
        pthread_mutex_unlock(&h->lock);
        return NULL;
    }
    h->calls++;
    if ((h->fail_at && h->calls == h->fail_at) || (h->fail_from && h->calls >= h->fail_from)) {
        pthread_mutex_unlock(&h->lock);
        return NULL;
    }
    n = malloc(sizeof *n + new_size);                                 /* always moves: a stale pointer shows */
    if (n) {
        n->size = new_size;
        n->magic = MAGIC;
        memset(n + 1, 0xa5, new_size);
        if (b)
            memcpy(n + 1, b + 1, b->size < new_size ? b->size : new_size);
        h->blocks += !b;
        h->bytes += (long)new_size - (b ? (long)b->size : 0);
        if (b) {
            memset(b + 1, 0xdd, b->size);
            free(b);
        }
    }
    pthread_mutex_unlock(&h->lock);
    return n ? n + 1 : NULL;
}
static void balanced(const struct heap *h, const char *what)
{
    if (h->blocks || h->bytes || h->bad_sizes)
        FAIL("%s: %ld blocks and %ld bytes left, %ld wrong old sizes, after %ld calls", what, h->blocks, h->bytes, h->bad_sizes, h->calls);
}

/* A tour of the library. Every status is looked at: anything may fail with NOMEM (or, once an exec runs, as a result), nothing may crash or hang.
   Returns 1 when all of it worked. */
static int tour(struct heap *h, struct fake *b, uint32_t flags)
{
    interp_ctx *x = NULL;
    interp_config *c = NULL;
    interp_request *r = NULL;
    interp_session *s = NULL;
    interp_call *k = NULL;
    interp_cancel *t = NULL;
    interp_result *out = NULL;
    interp_error *e = NULL;
    int all = 0, failed = 0;
    b->reached = "{\"isolation\":\"full\",\"memory\":\"cgroup\",\"mounts\":[{},{}],\"interpreters\":{\"python\":\"/opt/p\"}}";
#define TRY(expr)                                                                                                 \
    do {                                                                                                          \
        interp_status ts = (expr);                                                                                \
        if (ts < 0) {                                                                                             \
            failed++;                                                                                             \
            /* the error object itself may be what there was no memory for */                                     \
            if (!e || (interp_error_code(e) != ts && interp_error_code(e) != INTERP_E_NOMEM) || !interp_error_message(e)[0] || !interp_error_json(e, NULL)) \
                FAIL("%s: %s without its error", #expr, interp_status_name(ts));                                  \
            if (ts == INTERP_E_LIMIT || ts == INTERP_E_INVAL || ts == INTERP_E_BUSY)                              \
                FAIL("%s: %s, but it was memory that lacked", #expr, interp_status_name(ts));                     \
            interp_error_free(e);                                                                                 \
            e = NULL;                                                                                             \
        }                                                                                                         \
    } while (0)
    TRY(interp_ctx_new_alloc(flags, heap_realloc, h, &x, &e));
    if (!x)
        return 0;
    int destroyed = b->destroyed, known = 0;
    interp_status st = interp_ctx_add_backend(x, &FAKE, b, fake_destroy, &e);
    known = st == INTERP_OK;
    if (st < 0 && b->destroyed != destroyed + 1)
        FAIL("add_backend failed and did not run destroy");
    interp_error_free(e);
    e = NULL;
    failed += !known;
    TRY(interp_audit_open(x, NULL, 0, "0123456789abcdef", 16, &e));
    TRY(interp_cancel_new(x, &t, &e));
    TRY(interp_config_new(x, &c, &e));
    if (c) {
        TRY(interp_config_set_backend(c, "fake", &e));
        TRY(interp_config_set_env(c, "NAME", "value", 5, &e));
        TRY(interp_config_set_json(c, "{\"pids\":64,\"env\":{\"A\":\"1\",\"B\":\"2\"},\"fake.key\":{\"x\":[1,2,3]},\"backend\":\"fake\","
                                      "\"interpreters\":{\"python\":\"/opt/p\"},\"runtimes\":[\"/opt\"]}", INTERP_NTS, &e));
        TRY(interp_config_add_mount(c, "/a", "/b", "rw", &e));
        TRY(interp_config_set_json(c, "{\"spill_dir\":\"/tmp\",\"redact_host\":1,\"redact\":{\"values\":[{\"name\":\"A\",\"value\":\"k7Jm2Qx9w4Rt6Yz1\"}],\"detectors\":{\"network\":true}}}", INTERP_NTS, &e));
        TRY(interp_config_redact_add(c, "B", "another-value-5f", INTERP_NTS, &e));
        if (t)
            TRY(interp_config_set_cancel(c, t, &e));
        TRY(interp_config_set_json(c, "{\"screen\":true,\"labels\":{\"a\":\"b\"},\"policy\":{\"languages\":[\"python\"],\"imports\":{\"deny\":[\"os\",\"sys\"]},\"paths\":{\"allow\":[\"/workspace\"]}}}", INTERP_NTS, &e));
        TRY(interp_config_set_label(c, "c", "d", &e));
        (void)interp_config_json(c, NULL);
    }
    TRY(interp_request_new(x, &r, &e));
    if (r) {
        TRY(interp_request_set_language(r, "python", &e));
        TRY(interp_request_set_code(r, "print hello;err there;value 42;flood 200000;stdin", INTERP_NTS, &e));
        TRY(interp_request_set_stdin(r, "some input", INTERP_NTS, &e));
        TRY(interp_request_set_env(r, "X", "1", 1, &e));
        TRY(interp_request_set_options(r, "{\"a\":1}", INTERP_NTS, &e));
        TRY(interp_request_set_label(r, "e", "f", &e));
        TRY(interp_request_set_json(r, "{\"timeout_ms\":20000,\"labels\":{\"g\":\"h\"},\"actor\":\"i\",\"stream\":1,\"env\":{\"Y\":\"2\"}}", INTERP_NTS, &e));
    }
    if (c && known && !failed) {
        TRY(interp_session_open_start(x, c, &s, &k, &e));
        for (int step = 0; s && k && step < 2; step++) {
            uint64_t end = tap_now_ns() + UINT64_C(25000000000) * tap_slow();
            for (;;) {
                const interp_event *ev;
                st = interp_call_next(k, &ev);
                if (st == INTERP_DONE || st < 0)
                    break;
                if (st == INTERP_OK && interp_event_type(ev) == INTERP_EV_SCREEN &&
                    interp_call_reply(k, interp_event_reply_id(ev), INTERP_OK, "{\"code\":\"print hello;err there;value 42;flood 200000;stdin\"}", INTERP_NTS, NULL) == INTERP_E_NOMEM) {
                    failed++;
                    CHECK(interp_call_reply(k, interp_event_reply_id(ev), INTERP_E_DENIED, NULL, 0, NULL) == INTERP_OK);   /* a no needs no memory */
                }
                if (st == INTERP_OK)
                    continue;
                if (tap_now_ns() > end) {
                    FAIL("allocation %ld failed: a call that never ends", h->fail_at ? h->fail_at : h->fail_from);
                    break;
                }
                if (flags & INTERP_CTX_LOOP) {
                    struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
                    if (poll(&p, 1, 1000) > 0)
                        TRY(interp_ctx_dispatch(x, &e));
                } else
                    TRY(interp_call_wait(k, 1000, 0, &e));
            }
            st = interp_call_finish(k, &out, &e);
            if (st < 0)
                failed++;
            interp_error_free(e);
            e = NULL;
            if (interp_call_kind(k) == INTERP_CALL_EXEC && st == INTERP_OK) {
                if (!out)
                    FAIL("a started exec without a result");
                else {
                    int ok = interp_result_ok(out);
                    size_t n;
                    (void)interp_result_text(out, INTERP_STREAM_STDOUT, &n);
                    if (!interp_result_json(out, &n))
                        FAIL("no JSON of a result");
                    char page[100], path[64];
                    uint64_t at, line;
                    snprintf(path, sizeof path, "/tmp/interp-alloc-%ld.gz", (long)getpid());
                    unlink(path);
                    TRY(interp_result_read(out, INTERP_STREAM_STDOUT, 100000, page, sizeof page, &n, &e));
                    TRY(interp_result_find(out, INTERP_STREAM_STDOUT, "no such text", INTERP_NTS, 0, &at, &line, &e));
                    int before = failed;
                    TRY(interp_result_save(out, INTERP_STREAM_STDOUT, path, &e));
                    if ((unlink(path) == 0) != (failed == before))
                        FAIL("a file of an output that was not saved");
                    all = ok && interp_result_total_bytes(out, INTERP_STREAM_STDOUT) == 200000 + 6 + 3 && interp_result_value(out, NULL);
                    failed += !ok;
                }
            }
            interp_call_free(k);
            k = NULL;
            if (step == 0 && !failed)
                TRY(interp_session_exec_start(s, r, &k, &e));
        }
        if (s)
            TRY(interp_session_redact_add(s, "C", "one-more-value-8h", INTERP_NTS, &e));
        if (s && !failed) {
            interp_call *again = NULL;
            TRY(interp_session_restart_start(s, "python", NULL, &again, &e));
            interp_call_free(again);
        }
    }
    (void)interp_session_info_json(s, NULL);
    interp_session_close(s);
    interp_result_free(out);
    interp_request_free(r);
    interp_config_free(c);
    interp_cancel_free(t);
    interp_ctx_free(x);
    if (b->live)
        FAIL("%d instances of the backend left", b->live);
    if (known && b->destroyed != destroyed + 1)
        FAIL("destroy ran %d times", b->destroyed - destroyed);
    return all && !failed;
}

static void balance(uint32_t flags)
{
    struct heap h = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct fake b = { .opens = 0 };
    CHECK(tour(&h, &b, flags));
    printf("# %ld allocations\n", h.calls);
    balanced(&h, "tour");
    CHECK(h.calls > 20);
}
TEST(balance_threaded) { balance(0); }
TEST(balance_loop) { balance(INTERP_CTX_LOOP); }

/* Fails allocation number n, for every n; then every allocation from the n-th on. Each n has a process of its own, so that a crash is one line. */
struct step { long calls; int ok, failed; };
static void one_step(struct step *out, uint32_t flags, long n, int forever)
{
    struct heap h = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct fake b = { .opens = 0 };
    char what[60];
    int fds = count_fds();
    if (forever)
        h.fail_from = n;
    else
        h.fail_at = n;
    alarm(30 * tap_slow());
    snprintf(what, sizeof what, "allocation %ld fails%s", n, forever ? " and all after it" : "");
    out->ok = tour(&h, &b, flags);
    out->calls = h.calls;
    balanced(&h, what);
    if (count_fds() != fds)
        FAIL("%s: %d descriptors, before %d", what, count_fds(), fds);
}
static void sweep(uint32_t flags, int forever)
{
    long steps = 0, survived = 0, crashed = 0, stride = tap_slow() > 1 ? 7 : 1;
    struct step *st = mmap(NULL, sizeof *st, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(st != MAP_FAILED);
    for (long n = 1;; n += n < 60 ? 1 : stride) {
        memset(st, 0, sizeof *st);
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            one_step(st, flags, n, forever);
            tap_leave(0);
        }
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        steps++;
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            crashed++;
            FAIL("allocation %ld fails%s: %s %d", n, forever ? " and all after it" : "", WIFSIGNALED(status) ? "died by signal" : "ended with",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            if (crashed > 200)
                break;
            continue;
        }
        if (st->calls < n) {
            CHECK(st->ok);
            break;
        }
        survived += st->ok;
    }
    printf("# %ld allocations made to fail: %ld crashes, the tour worked all the same in %ld\n", steps, crashed, survived);
}
TEST_LONG(one_fails_threaded, 300) { sweep(0, 0); }
TEST_LONG(one_fails_loop, 300) { sweep(INTERP_CTX_LOOP, 0); }
TEST_LONG(all_fail_threaded, 300) { sweep(0, 1); }
TEST_LONG(all_fail_loop, 300) { sweep(INTERP_CTX_LOOP, 1); }

/* The same with the real backend: fewer steps. */
static void local_step(struct step *out, long n)
{
    struct heap h = { .lock = PTHREAD_MUTEX_INITIALIZER, .fail_at = n };
    interp_ctx *x = NULL;
    interp_session *s = NULL;
    interp_result *r = NULL;
    interp_request *q = NULL;
    interp_error *e = NULL;
    interp_status st = interp_ctx_new_alloc(0, heap_realloc, &h, &x, &e);
    if (st == INTERP_OK)
        st = interp_session_open(x, NULL, &s, &e);
    if (st == INTERP_OK)
        st = interp_request_new(x, &q, &e);
    if (st == INTERP_OK)
        st = interp_request_set_json(q, "{\"language\":\"python\",\"code\":\"print('x' * 100); 42\",\"timeout_ms\":20000,\"grace_ms\":500}", INTERP_NTS, &e);
    if (st == INTERP_OK)
        st = interp_session_exec(s, q, &r, &e);
    if (n == 0 && (st == INTERP_E_ISOLATION || st == INTERP_E_UNSUPPORTED))
        tap_leave(77);
    if (n == 0 && (st < 0 || !interp_result_ok(r)))
        FAIL("without a failing allocation: %s", interp_error_message(e));
    if (st < 0 && (!e || interp_error_code(e) != st))
        FAIL("allocation %ld: %s without its error", n, interp_status_name(st));
    (void)interp_result_json(r, NULL);
    interp_error_free(e);
    interp_request_free(q);
    interp_session_close(s);
    interp_ctx_free(x);
    interp_result_free(r);
    char what[60];
    snprintf(what, sizeof what, "local backend, allocation %ld fails", n);
    balanced(&h, what);
    if (count_descendants())
        FAIL("%s: a process is left", what);
    out->calls = h.calls;
}
/* Work on files, files with a request, the change set, a one-shot language of the host's: allocation n after the open fails. What is said to be done is done. */
enum { FILE_BYTES = 200001 };
static interp_status said(interp_status st, interp_error **e, long n, const char *what)
{
    if (st < 0 && (!*e || (interp_error_code(*e) != st && interp_error_code(*e) != INTERP_E_NOMEM)))
        FAIL("allocation %ld: %s: %s without its error", n, what, interp_status_name(st));
    if (st == INTERP_E_INVAL || st == INTERP_E_BUSY || st == INTERP_E_DENIED || st == INTERP_E_NOT_FOUND)
        FAIL("allocation %ld: %s: %s, but it was memory that lacked", n, what, interp_error_message(*e));
    interp_error_free(*e);
    *e = NULL;
    return st;
}
static int got(interp_content *c, const void *p, size_t n)
{
    size_t len;
    const void *data = interp_content_data(c, &len);
    int same = len == n && (!p || !memcmp(data, p, n));
    interp_content_free(c);
    return same;
}
static interp_status put_pieces(interp_session *s, const char *p, size_t n, interp_error **e)
{
    interp_call *k = NULL;
    interp_status st = interp_session_put_start(s, "pieces", INTERP_NTS, INTERP_UNKNOWN, 0644, &k, e);
    while (st == INTERP_OK && n) {
        const interp_event *v;
        size_t taken = 0;
        st = interp_call_write(k, p, n < 70000 ? n : 70000, &taken, e);
        p += taken, n -= taken;
        if (!st && n && taken < 70000)
            st = interp_call_wait(k, 10000, 0, e);
        while (!st && interp_call_next(k, &v) == INTERP_OK)
            ;
    }
    if (!st)
        st = interp_call_write_end(k, e);
    if (!st) {
        wait_done(k);
        st = interp_call_finish(k, NULL, e);
    }
    interp_call_free(k);
    return st;
}
static void file_step(struct step *out, long n)
{
    static char bytes[FILE_BYTES];
    struct heap h = { .lock = PTHREAD_MUTEX_INITIALIZER };
    interp_ctx *x = NULL;
    interp_config *g = NULL;
    interp_session *s = NULL;
    interp_content *c = NULL;
    interp_error *e = NULL;
    static const char *const codes[][2] = { { "sh", "wc -c < sent | tr -d ' '; cp sent copy; rm pieces" }, { "toy", "echo $1; exit 3" }, { "toy", "bad" } };
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    NEED(interp_ctx_new_alloc(0, heap_realloc, &h, &x, ERR));
    NEED(interp_config_new(x, &g, ERR));
    NEED(interp_config_set_json(g, "{\"change_set\":1,\"fetch_files_bytes\":300000,\"languages\":[{\"name\":\"toy\",\"file\":\"main.toy\",\"compile\":[\"sh\",\"-c\",\"grep bad $0 && echo $0:1:2: error: bad && exit 4; cp $0 $1/p\","
                                   "\"{file}\",\"{out}\"],\"run\":[\"sh\",\"{out}/p\",\"arg\"],\"errors\":[\"%f:%l:%c: %s: %m\"]}]}", INTERP_NTS, ERR));
    interp_status st = interp_session_open(x, g, &s, NULL);
    if (n == 0 && (st == INTERP_E_ISOLATION || st == INTERP_E_UNSUPPORTED))
        tap_leave(77);
    REQUIRE(st == INTERP_OK);
    long from = h.calls, wrong = 0, failed = 0;
    h.fail_at = n ? from + n : 0;
    st = said(interp_session_put(s, "file", INTERP_NTS, 0644, bytes, sizeof bytes, &e), &e, n, "put");
    failed += st < 0;
    if (st == INTERP_OK && (st = said(interp_session_get(s, "file", INTERP_NTS, INTERP_FOREVER, &c, &e), &e, n, "get")) == INTERP_OK)
        wrong += !got(c, bytes, sizeof bytes);
    failed += st < 0;
    st = said(put_pieces(s, bytes, sizeof bytes, &e), &e, n, "put in pieces");
    failed += st < 0;
    if (st == INTERP_OK && said(interp_session_get(s, "pieces", INTERP_NTS, INTERP_FOREVER, &c, &e), &e, n, "get") == INTERP_OK)
        wrong += !got(c, bytes, sizeof bytes);
    if (said(interp_session_list(s, ".", 1, INTERP_FILE_RECURSIVE, 100, &c, &e), &e, n, "list") == INTERP_OK)
        interp_content_free(c);
    if (!failed && said(interp_session_stat(s, "file", 4, &c, &e), &e, n, "stat") == INTERP_OK)
        interp_content_free(c);
    (void)said(interp_session_mkdir(s, "d/e", 3, INTERP_FILE_PARENTS, &e), &e, n, "mkdir");
    if (!failed && said(interp_session_rename(s, "file", 4, "moved", 5, 0, &e), &e, n, "rename") == INTERP_OK)
        (void)said(interp_session_remove(s, "moved", 5, 0, &e), &e, n, "remove");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        interp_request *q = NULL;
        interp_result *r = NULL;
        st = interp_request_new(x, &q, &e);
        if (st == INTERP_OK)
            st = interp_request_set_language(q, codes[i][0], &e);
        if (st == INTERP_OK)
            st = interp_request_set_code(q, codes[i][1], INTERP_NTS, &e);
        if (st == INTERP_OK && !i)
            st = interp_request_add_file(q, "sent", 4, bytes, sizeof bytes, &e);
        if (st == INTERP_OK)
            st = interp_session_exec(s, q, &r, &e);
        failed += said(st, &e, n, "exec") < 0;
        if (r && !interp_result_json(r, NULL))
            FAIL("allocation %ld: no JSON of a result", n);
        if (r && !i && interp_result_ok(r))
            wrong += strcmp(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "200001\n") && !strstr(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), n ? "out" : "200001");   /* "left out", or a label that says why */
        if (r && !i && interp_result_ok(r) && !n)
            wrong += interp_result_file_count(r) != 2;
        if (!n && i)
            wrong += !r || strcmp(interp_result_step(r), i == 1 ? "run" : "compile") || interp_result_exit_code(r) != (i == 1 ? 3 : 4);
        interp_request_free(q);
        interp_result_free(r);
    }
    if (wrong)
        FAIL("allocation %ld: %ld answers are not what was done", n, wrong);
    if (!n && failed)
        FAIL("without a failing allocation: %ld calls failed", failed);
    out->calls = h.calls - from;
    interp_session_close(s);
    interp_config_free(g);
    interp_ctx_free(x);
    char what[60];
    snprintf(what, sizeof what, "files, allocation %ld fails", n);
    balanced(&h, what);
    if (count_descendants())
        FAIL("%s: a process is left", what);
}

static void local_sweep(void (*step)(struct step *out, long n), const char *what)
{
    struct step *st = mmap(NULL, sizeof *st, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long total = 0;
    REQUIRE(st != MAP_FAILED);
    for (long n = 0;; n += n < 10 ? 1 : 1 + total / 60) {
        memset(st, 0, sizeof *st);
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(30 * tap_slow());
            step(st, n);
            tap_leave(0);
        }
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            SKIP("no sandbox here");
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            FAIL("%s, allocation %ld fails: %s %d", what, n, WIFSIGNALED(status) ? "died by signal" : "ended with",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            if (n == 0 || n > 2000)
                break;
            continue;
        }
        if (n == 0)
            total = st->calls;
        else if (st->calls < n)
            break;
    }
    printf("# %ld allocations for %s\n", total, what);
}
TEST_LONG(local_backend, 300) { local_sweep(local_step, "open, exec, close"); }
TEST_LONG(local_files, 300) { local_sweep(file_step, "files and languages"); }

/* A result outlives context and session: its memory goes back through the context's allocator, whenever that is. */
TEST(result_after_ctx)
{
    struct heap h = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct fake b = { .opens = 0 };
    interp_ctx *x = NULL;
    NEED(interp_ctx_new_alloc(0, heap_realloc, &h, &x, ERR));
    fake_add(x, &b);
    interp_config *c = new_config(x, "{\"backend\":\"fake\"}");
    interp_session *s = NULL;
    NEED(interp_session_open(x, c, &s, ERR));
    interp_config_free(c);
    interp_result *r = run(s, "python", "print x;value 1;flood 100000");
    interp_session_close(s);
    interp_ctx_free(x);
    CHECK(h.blocks > 0);
    CHECK(interp_result_json(r, NULL) != NULL);
    interp_result_free(r);
    balanced(&h, "after the last free");
}

TEST(null_allocator)
{
    interp_ctx *x = (interp_ctx *)&x;
    interp_status st = interp_ctx_new_alloc(0, NULL, NULL, &x, ERR);
    CHECK_INT(st, INTERP_E_INVAL);
    api_drop();
    CHECK(x == (interp_ctx *)&x);
}

TAP_MAIN()
