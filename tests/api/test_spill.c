/* test_spill.c - output that is too long to be kept, on disk: it is what the consumer saw, it can be read, searched and saved, and a disk that is full ends nothing.
   SPDX-License-Identifier: MIT */
#include "api.h"
#include <sys/mount.h>

static char dir[64];
static void make_dir(void)
{
    strcpy(dir, "/tmp/interp-test-spill-XXXXXX");
    REQUIRE(mkdtemp(dir));
}
static interp_session *open_spill(interp_ctx *x, const char *more)
{
    char json[300];
    snprintf(json, sizeof json, "{\"spill_dir\":\"%s\"%s%s}", dir, *more ? "," : "", more);
    return open_with(x, json);
}
static int descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}
/* All that can be read of a stream; a gap is left out. */
static char *read_all(const interp_result *r, int32_t stream, size_t *len)
{
    char *p = malloc((size_t)interp_result_readable_bytes(r, stream) + 70000);
    uint64_t at = 0;
    *len = 0;
    for (;;) {
        size_t got = 0;
        interp_error *e = NULL;
        interp_status st = interp_result_read(r, stream, at, p + *len, 65536, &got, &e);
        if (st == INTERP_E_NOT_FOUND) {
            const char *on = strstr(interp_error_message(e), "goes on at ");
            interp_error_free(e);
            if (!on)
                return p;
            at = strtoull(on + 11, NULL, 10);
            continue;
        }
        if (!CHECK(st >= 0) || st == INTERP_DONE)
            return p;
        at += got;
        *len += got;
    }
}

static const char *const numbers = "import sys\nfor i in range(400000): sys.stdout.write('%011d\\n' % i)\nprint('all', file=sys.stderr)";

/* What the consumer saw, byte for byte; page by page; found by line; kept by saving; nothing left when all is freed. */
TEST(what_the_consumer_saw)
{
    make_dir();
    interp_ctx *x = new_ctx(0);
    int before = descriptors();
    interp_session *s = open_spill(x, "");
    interp_call *k = NULL;
    interp_request *q = new_request(x, "python", numbers, "{\"stream\":true}");
    NEED(interp_session_exec_start(s, q, &k, ERR));
    interp_request_free(q);
    char *seen = malloc(5 << 20);
    size_t n = 0, len;
    for (;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_AGAIN)
            NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
        else if (st == INTERP_DONE)
            break;
        else if (interp_event_type(ev) == INTERP_EV_OUTPUT && interp_event_stream(ev) == INTERP_STREAM_STDOUT) {
            const void *p = interp_event_data(ev, &len);
            memcpy(seen + n, p, len);
            n += len;
        }
    }
    interp_result *r = NULL;
    NEED(interp_call_finish(k, &r, ERR));
    interp_call_free(k);
    EXPECT_OK(r);
    CHECK_INT(n, 4800000);
    CHECK_INT(interp_result_readable_bytes(r, INTERP_STREAM_STDOUT), 4800000);
    char *kept = read_all(r, INTERP_STREAM_STDOUT, &len);
    CHECK(len == n && !memcmp(kept, seen, n));
    free(kept);
    free(seen);
    interp_session_close(s);
    interp_ctx_free(x);   /* the result has all it needs */
    char page[24];
    size_t got = 0;
    NEED(interp_result_read(r, INTERP_STREAM_STDOUT, 12 * 123456, page, 24, &got, ERR));
    CHECK(got == 24 && !memcmp(page, "00000123456\n00000123457\n", 24));
    IS(interp_result_read(r, INTERP_STREAM_STDOUT, 4800000, page, 24, &got, ERR), INTERP_DONE);
    NEED(interp_result_read(r, INTERP_STREAM_STDERR, 0, page, 24, &got, ERR));   /* one that was kept whole */
    CHECK(got == 4 && !memcmp(page, "all\n", 4));
    uint64_t at = 0, line = 0;
    NEED(interp_result_find(r, INTERP_STREAM_STDOUT, "0299999\n", INTERP_NTS, 0, &at, &line, ERR));
    CHECK(at == 12 * 299999 + 4 && line == 300000);
    NEED(interp_result_find(r, INTERP_STREAM_STDOUT, "77777", 5, 0, &at, &line, ERR));
    CHECK_INT(line, 77778);
    NEED(interp_result_find(r, INTERP_STREAM_STDOUT, "77777", 5, at + 1, &at, &line, ERR));
    CHECK_INT(line, 177778);
    IS(interp_result_find(r, INTERP_STREAM_STDOUT, "no such", 7, 0, &at, &line, ERR), INTERP_DONE);
    IS(interp_result_find(r, INTERP_STREAM_STDOUT, "", 0, 0, &at, &line, ERR), INTERP_E_INVAL);
    IS(interp_result_find(r, 7, "x", 1, 0, &at, &line, ERR), INTERP_E_INVAL);
    IS(interp_result_find(NULL, 1, "x", 1, 0, &at, &line, ERR), INTERP_E_INVAL);
    IS(interp_result_read(r, INTERP_STREAM_STDOUT, 0, NULL, 5, &got, ERR), INTERP_E_INVAL);
    size_t jn;
    const char *j = interp_result_json(r, &jn);
    EXPECT_JSON(j, jn, "d['stdout']['spill'] == {'bytes': 4800000, 'missing_bytes': 0, 'gap': None, 'error': None} and d['stderr']['spill'] is None and d['stdout']['truncated'] is True");
    char path[100], command[400];
    snprintf(path, sizeof path, "%s/out.gz", dir);
    NEED(interp_result_save(r, INTERP_STREAM_STDOUT, path, ERR));
    IS(interp_result_save(r, INTERP_STREAM_STDOUT, path, ERR), INTERP_E_EXISTS);
    IS(interp_result_save(r, INTERP_STREAM_STDOUT, "/nowhere/x.gz", ERR), INTERP_E_IO);
    snprintf(command, sizeof command, "test \"$(gzip -dc %s | wc -c)\" = 4800000 && test $(gzip -dc %s | tail -n 1) = 00000399999", path, path);
    CHECK_INT(system(command), 0);
    CHECK(unlink(path) == 0);
    interp_result_free(r);
    CHECK(descriptors() <= before);
    CHECK(rmdir(dir) == 0);   /* nothing is left there */
}

/* Past its bound the middle goes, counted; what is there is right. A secret is in none of it. */
TEST(bounded_and_redacted)
{
    make_dir();
    interp_ctx *x = new_ctx(0);
    NEED(interp_redact_add(x, "KEY", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS, ERR));
    interp_session *s = open_spill(x, "\"spill_bytes\":1048576");
    interp_result *r = run(s, "python", "import sys\nfor i in range(400000): sys.stdout.write('%07d k7Jm2Qx9' % i + 'w4Rt6Yz1\\n')");
    EXPECT_OK(r);
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 400000 * 23);
    size_t n, jn;
    char *p = read_all(r, INTERP_STREAM_STDOUT, &n);
    CHECK(n <= 1048576 && n > 900000 && n == interp_result_readable_bytes(r, INTERP_STREAM_STDOUT));
    CHECK(!memcmp(p, "0000000 [REDACTED:KEY]\n", 23) && !memcmp(p + n - 23, "0399999 [REDACTED:KEY]\n", 23));
    CHECK(!memmem(p, n, "k7Jm2Qx9", 8));
    free(p);
    uint64_t at, line;
    NEED(interp_result_find(r, INTERP_STREAM_STDOUT, "0399000 ", INTERP_NTS, 0, &at, &line, ERR));   /* behind the gap: counted over what is missing */
    CHECK(at == 399000 * 23 && line == 399001);
    IS(interp_result_find(r, INTERP_STREAM_STDOUT, "0200000 ", INTERP_NTS, 0, &at, &line, ERR), INTERP_DONE);
    char c;
    size_t got;
    SAYS(interp_result_read(r, INTERP_STREAM_STDOUT, 200000 * 23, &c, 1, &got, ERR), INTERP_E_NOT_FOUND, "goes on at");
    const char *j = interp_result_json(r, &jn);
    EXPECT_JSON(j, jn, "d['stdout']['spill']['bytes'] + d['stdout']['spill']['missing_bytes'] == 9200000 and d['stdout']['spill']['gap'][1] - d['stdout']['spill']['gap'][0] == d['stdout']['spill']['missing_bytes']");
    interp_result_free(r);
    r = run(s, "python", "print('short')");
    j = interp_result_json(r, &jn);
    EXPECT_JSON(j, jn, "d['stdout']['spill'] is None");
    NEED(interp_result_read(r, INTERP_STREAM_STDOUT, 5, &c, 1, &got, ERR));
    CHECK(c == '\n' && got == 1);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
    CHECK(rmdir(dir) == 0);
}

/* A budget of tokens cuts what bytes would have kept: all of it is on disk, too. And without a directory what was kept can be read, the rest is an error that says so. */
TEST(tokens_and_memory)
{
    make_dir();
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_spill(x, "\"output_tokens\":100,\"output_head_bytes\":60000"), *plain = open_with(x, "{\"output_head_bytes\":300,\"output_tail_bytes\":200}");
    for (int i = 0; i < 2; i++) {
        interp_result *r = run(i ? plain : s, "sh", "seq 1 5000");
        uint64_t at, line, missing = i ? 23893 - 500 : 0;
        size_t got, jn;
        char c[8];
        CHECK_INT(interp_result_truncated(r, INTERP_STREAM_STDOUT), 1);
        CHECK_INT(interp_result_readable_bytes(r, INTERP_STREAM_STDOUT), 23893 - missing);
        NEED(interp_result_find(r, INTERP_STREAM_STDOUT, "\n4999\n", 6, 0, &at, &line, ERR));
        CHECK_INT(line, 4998);
        IS(interp_result_find(r, INTERP_STREAM_STDOUT, "\n2500\n", 6, 0, &at, &line, ERR), i ? INTERP_DONE : INTERP_OK);
        if (i)
            SAYS(interp_result_read(r, INTERP_STREAM_STDOUT, 10000, c, 5, &got, ERR), INTERP_E_NOT_FOUND, "spill_dir");
        else {
            NEED(interp_result_read(r, INTERP_STREAM_STDOUT, at, c, 6, &got, ERR));
            CHECK(got == 6 && !memcmp(c, "\n2500\n", 6));
        }
        const char *j = interp_result_json(r, &jn);
        EXPECT_JSON(j, jn, i ? "d['stdout']['spill'] is None" : "d['stdout']['spill']['bytes'] == 23893");
        interp_result_free(r);
    }
    interp_session_close(s);
    interp_session_close(plain);
    interp_ctx_free(x);
    CHECK(rmdir(dir) == 0);
}

/* Two contexts, one directory, at once. */
static void *other(void *bad)
{
    interp_ctx *x = NULL;
    interp_session *s = NULL;
    interp_config *c = NULL;
    interp_result *r = NULL;
    size_t n = 0, got;
    char page[12];
    *(int *)bad = interp_ctx_new(0, &x, NULL) || interp_config_new(x, &c, NULL) || interp_config_set_spill_dir(c, dir, NULL) || interp_session_open(x, c, &s, NULL) ||
                  interp_session_run(s, "python", numbers, INTERP_NTS, &r, NULL) || interp_result_read(r, 1, 12 * 300000, page, 12, &got, NULL) || memcmp(page, "00000300000\n", 12);
    char *p = r ? read_all(r, INTERP_STREAM_STDOUT, &n) : NULL;
    *(int *)bad |= n != 4800000;
    free(p);
    interp_result_free(r);
    interp_config_free(c);
    interp_session_close(s);
    interp_ctx_free(x);
    return NULL;
}
TEST(two_contexts)
{
    make_dir();
    interp_ctx *x = new_ctx(0);
    interp_session_close(open_spill(x, ""));   /* skips where no sandbox can be had */
    interp_ctx_free(x);
    pthread_t t[2];
    int bad[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&t[i], NULL, other, &bad[i]) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    CHECK(!bad[0] && !bad[1]);
    CHECK(rmdir(dir) == 0);
}

TEST(directories)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, NULL);
    SAYS(interp_config_set_spill_dir(c, "relative/path", ERR), INTERP_E_INVAL, "absolute path");
    SAYS(interp_config_set_spill_dir(c, "", ERR), INTERP_E_INVAL, "spill_dir");
    SAYS(interp_config_set_spill_bytes(c, 5, ERR), INTERP_E_INVAL, "spill_bytes");
    NEED(interp_config_set_spill_dir(c, "/nowhere/at all", ERR));
    interp_session *s = NULL;
    SAYS(interp_session_open(x, c, &s, ERR), INTERP_E_IO, "/nowhere/at all");
    CHECK(s == NULL);
    interp_config_free(c);
    interp_ctx_free(x);
}

/* A full disk, and a directory that goes away: the exec ends as it would have, and the result says what is missing. */
TEST(full_disk)
{
    make_dir();
    if (mount("none", dir, "tmpfs", 0, "size=1m")) {
        rmdir(dir);
        SKIP("no tmpfs can be mounted here");
    }
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_spill(x, "");
    interp_result *r = run(s, "python", numbers);
    EXPECT_OK(r);
    size_t n, jn;
    char *p = read_all(r, INTERP_STREAM_STDOUT, &n);
    CHECK(n > 900000 && n <= 1 << 20 && !memcmp(p, "00000000000\n00000000001\n", 24));
    free(p);
    CHECK_INT(interp_result_total_bytes(r, INTERP_STREAM_STDOUT), 4800000);
    const char *j = interp_result_json(r, &jn);
    EXPECT_JSON(j, jn, "d['ok'] and d['stdout']['spill']['error'] == 'ENOSPC' and d['stdout']['spill']['bytes'] + d['stdout']['spill']['missing_bytes'] == 4800000 and d['stdout']['text'].endswith('00000399999\\n')");
    interp_result_free(r);
    CHECK(umount(dir) == 0 && rmdir(dir) == 0);
    r = run(s, "python", numbers);
    EXPECT_OK(r);
    j = interp_result_json(r, &jn);
    EXPECT_JSON(j, jn, "d['ok'] and d['stdout']['spill'] == {'bytes': 0, 'missing_bytes': 4800000, 'gap': None, 'error': 'ENOENT'}");
    CHECK(interp_result_readable_bytes(r, INTERP_STREAM_STDOUT) == 65536);   /* what is in memory */
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
}

TAP_MAIN()
