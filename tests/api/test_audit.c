/* test_audit.c - the audit trail: what is recorded, the chain under every kind of tampering, sinks that fail.
   SPDX-License-Identifier: MIT */
#include "api.h"
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static char dir[64], path[96];
static void make_dir(void)
{
    strcpy(dir, "/tmp/interp-audit-XXXXXX");
    REQUIRE(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/audit.log", dir);
}
static void drop_dir(void)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    CHECK(!rmdir(dir));
}
static char *slurp(const char *file, size_t *n)
{
    FILE *f = fopen(file, "rb");
    char *p = calloc(1, 4 << 20);
    REQUIRE(f && p);
    *n = fread(p, 1, (4 << 20) - 1, f);
    fclose(f);
    return p;
}
static void spill(const char *file, const char *p, size_t n)
{
    FILE *f = fopen(file, "wb");
    REQUIRE(f && fwrite(p, 1, n, f) == n && !fclose(f));
}
static interp_ctx *audited(uint32_t flags, const char *more)
{
    char options[512];
    interp_ctx *x = new_ctx(flags);
    snprintf(options, sizeof options, "{\"path\":\"%s\"%s%s}", path, *more ? "," : "", more);
    NEED(interp_audit_open(x, options, INTERP_NTS, NULL, 0, ERR));
    return x;
}
/* ok, and the kind of the problem */
static const char *verified_with(const char *const *paths, uint32_t n, const char *key, const char *head)
{
    static char kind[4096];
    interp_ctx *x = new_ctx(0);
    interp_audit_report *r = NULL;
    NEED(interp_audit_verify(x, paths, n, key, key ? strlen(key) : 0, head, &r, ERR));
    interp_ctx_free(x);
    const char *json = interp_audit_report_json(r, NULL), *k = strstr(json, "\"kind\":\"");
    CHECK(interp_audit_report_ok(r) == !k);
    snprintf(kind, sizeof kind, "%s", k ? k + 8 : "ok");
    if (k)
        *strchr(kind, '"') = 0;
    interp_audit_report_free(r);
    return kind;
}
static const char *verified(void)
{
    const char *const one[] = { path };
    return verified_with(one, 1, NULL, NULL);
}
static int count(const char *hay, const char *needle)
{
    int n = 0;
    for (; (hay = strstr(hay, needle)); hay++)
        n++;
    return n;
}

TEST(records)
{
    size_t n;
    make_dir();
    interp_ctx *x = audited(0, "");
    /* put together here, so that no secret stands in the tree */
    char secret[40], code[200];
    snprintf(secret, sizeof secret, "%s%s", "Zq8w-Lm2x", "-Vt5y-Kp9r");
    NEED(interp_redact_add(x, "TOKEN", secret, INTERP_NTS, ERR));
    interp_session *s = open_with(x, "{\"actor\":\"ann@example\",\"labels\":{\"team\":\"blue\",\"tier\":\"1\"}}");
    snprintf(code, sizeof code, "echo '%s' # \\\" \n # }\\u2028{\"seq\":1}", secret);
    char label[64];
    snprintf(label, sizeof label, "with %s", secret);
    interp_request *r = new_request(x, "sh", code, "{\"request_id\":\"req-7\",\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\",\"labels\":{\"tier\":\"2\"}}");
    NEED(interp_request_set_label(r, "note", label, ERR));
    interp_result_free(exec_request(s, r));
    interp_result_free(exec_with(x, s, "sh", "sleep 30", "{\"timeout_ms\":200,\"grace_ms\":100}"));
    uint64_t seq = 0;
    char hash[65];
    NEED(interp_audit_head(x, &seq, hash, sizeof hash, NULL, ERR));
    interp_session_close(s);
    interp_ctx_free(x);
    char *t = slurp(path, &n);
    CHECK(strlen(t) == n && t[n - 1] == '\n');
    CHECK(!strstr(t, secret) && strstr(t, "[REDACTED:TOKEN]"));
    CHECK(count(t, "\"event\":\"audit_start\"") == 1 && count(t, "\"event\":\"open\"") == 1 && count(t, "\"event\":\"exec_start\"") == 2 && count(t, "\"event\":\"exec_end\"") == 2);
    CHECK(count(t, "\"event\":\"limit\"") == 1 && count(t, "\"event\":\"kill\"") >= 1 && count(t, "\"event\":\"close\"") == 1 && count(t, "\"event\":\"audit_end\"") == 1);
    CHECK(strstr(t, "\"actor\":\"ann@example\"") && strstr(t, "\"request_id\":\"req-7\"") && strstr(t, "\"traceparent\":\"00-4bf92f"));
    CHECK(strstr(t, "\"labels\":{\"tier\":\"2\",\"note\":\"with [REDACTED:TOKEN]\",\"team\":\"blue\"}") && strstr(t, "\"labels\":{\"team\":\"blue\",\"tier\":\"1\"}"));
    CHECK(strstr(t, "\"isolation\":") && strstr(t, "\"reached\":{") && strstr(t, "\"outcome\":\"timeout\",\"cause\":\"wall\"") && strstr(t, "\"code_sha256\":\"") && strstr(t, "\"redactions\":{\"TOKEN\":"));
    CHECK(count(t, "\n") == count(t, "\"v\":1,\"seq\":"));   /* one record a line, whatever the code has in it */
    CHECK(strstr(t, hash) != NULL && seq > 6);
    CHECK_STR(verified(), "ok");
    const char *const one[] = { path };
    CHECK_STR(verified_with(one, 1, NULL, hash), "ok");
    CHECK_STR(verified_with(one, 1, NULL, "00000000000000000000000000000000000000000000000000000000000000aa"), "cut-off");
    struct stat st;
    CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0600);
    free(t);
    drop_dir();
}

/* Contexts without a session are enough for the chain: each one writes a start and an end. */
static void write_some(int contexts, const char *more)
{
    for (int i = 0; i < contexts; i++)
        interp_ctx_free(audited(0, more));
}
static char *line_at(char *t, int k)
{
    while (k--)
        t = strchr(t, '\n') + 1;
    return t;
}

TEST(tampering)
{
    size_t n, m;
    make_dir();
    write_some(4, "");
    char *t = slurp(path, &n), *u = malloc(2 * n + 100);
    CHECK(count(t, "\n") == 8);
    CHECK_STR(verified(), "ok");
    /* each byte of the third record, changed: nothing may pass. A sample of offsets is as good as all of them. */
    for (char *p = line_at(t, 2), *end = line_at(t, 3) - 1; p < end; p += 7) {
        char keep = *p;
        *p = keep == '0' ? '1' : '0';
        spill(path, t, n);
        CHECK_STR(verified(), "altered");
        *p = keep;
    }
    char *a = line_at(t, 2), *b = line_at(t, 3), *c = line_at(t, 4), *last = line_at(t, 7);
    /* removed */
    m = (size_t)(a - t);
    memcpy(u, t, m);
    memcpy(u + m, b, n - (size_t)(b - t));
    spill(path, u, n - (size_t)(b - a));
    CHECK_STR(verified(), "missing");
    /* two of them in each other's place */
    memcpy(u + m, b, (size_t)(c - b));
    memcpy(u + m + (c - b), a, (size_t)(b - a));
    memcpy(u + (c - t), c, n - (size_t)(c - t));
    spill(path, u, n);
    CHECK_STR(verified(), "reordered");
    /* one of them twice */
    memcpy(u, t, (size_t)(b - t));
    memcpy(u + (b - t), a, n - (size_t)(a - t));
    spill(path, u, n + (size_t)(b - a));
    CHECK_STR(verified(), "reordered");
    /* cut in the last record; before it, which only a kept head can show */
    spill(path, t, n - 5);
    CHECK_STR(verified(), "cut-off");
    char head[65] = "";
    memcpy(head, t + n - 1 - 2 - 64, 64);
    spill(path, t, (size_t)(last - t));
    CHECK_STR(verified(), "ok");
    const char *const one[] = { path };
    CHECK_STR(verified_with(one, 1, NULL, head), "cut-off");
    /* the start, or all but one of the middle */
    for (int k = 1; k < 8; k++) {
        spill(path, line_at(t, k), n - (size_t)(line_at(t, k) - t));
        CHECK_STR(verified(), "cut-off");
    }
    spill(path, c, (size_t)(line_at(t, 5) - c));
    CHECK_STR(verified(), "cut-off");
    /* something of others' between them */
    m = (size_t)(c - t);
    memcpy(u, t, m);
    memcpy(u + m, "hello\n", 6);
    memcpy(u + m + 6, c, n - m);
    spill(path, u, n + 6);
    CHECK_STR(verified(), "altered");
    spill(path, "", 0);
    CHECK_STR(verified(), "cut-off");
    /* the end of a file that was altered is not gone on from */
    t[n - 20] = t[n - 20] == 'a' ? 'b' : 'a';
    spill(path, t, n);
    interp_ctx *x = new_ctx(0);
    char options[200];
    snprintf(options, sizeof options, "{\"path\":\"%s\"}", path);
    IS(interp_audit_open(x, options, INTERP_NTS, NULL, 0, ERR), INTERP_E_DENIED);
    interp_ctx_free(x);
    free(t);
    free(u);
    drop_dir();
}

TEST(torn_line)
{
    size_t n;
    make_dir();
    write_some(2, "");
    char *t = slurp(path, &n);
    spill(path, t, n - 30);
    free(t);
    write_some(1, "");
    t = slurp(path, &n);
    CHECK_STR(verified(), "ok");
    CHECK(strstr(t, "\"torn_bytes\":") && count(t, "\n") == 5);
    free(t);
    spill(path, "{\"v\":1,\"se", 10);   /* nothing but a torn line */
    write_some(1, "");
    CHECK_STR(verified(), "ok");
    drop_dir();
}

TEST(keyed)
{
    size_t n;
    static const char KEY[] = "0123456789abcdef0123";
    char options[300], key_path[110];
    make_dir();
    snprintf(key_path, sizeof key_path, "%s/key", dir);
    spill(key_path, "0123456789abcdef0123\n", 21);
    interp_ctx *x = new_ctx(0);
    snprintf(options, sizeof options, "{\"path\":\"%s\"}", path);
    SAYS(interp_audit_open(x, options, INTERP_NTS, "short", 5, ERR), INTERP_E_INVAL, "5 bytes");
    SAYS(interp_audit_open(x, options, INTERP_NTS, "", 0, ERR), INTERP_E_INVAL, "16");
    NEED(interp_audit_open(x, options, INTERP_NTS, KEY, strlen(KEY), ERR));
    IS(interp_audit_open(x, options, INTERP_NTS, KEY, strlen(KEY), ERR), INTERP_E_EXISTS);
    interp_ctx_free(x);
    x = new_ctx(0);
    SAYS(interp_audit_open(x, options, INTERP_NTS, NULL, 0, ERR), INTERP_E_DENIED, "another key");
    snprintf(options, sizeof options, "{\"path\":\"%s\",\"key_file\":\"%s\"}", path, key_path);
    NEED(interp_audit_open(x, options, INTERP_NTS, NULL, 0, ERR));
    interp_ctx_free(x);
    const char *const one[] = { path };
    CHECK_STR(verified_with(one, 1, KEY, NULL), "ok");
    CHECK_STR(verified_with(one, 1, NULL, NULL), "altered");
    CHECK_STR(verified_with(one, 1, "0123456789abcdef0124", NULL), "altered");
    char *t = slurp(path, &n);
    CHECK(count(t, "\n") == 4 && strstr(t, "\"chain\":\"hmac-sha256\"") && !strstr(t, KEY));
    free(t);
    drop_dir();
}

TEST(rotation)
{
    make_dir();
    interp_ctx *x = audited(0, "\"rotate_bytes\":4096,\"sync\":\"each\"");
    interp_session *s = open_with(x, NULL);
    for (int i = 0; i < 12; i++)
        interp_result_free(run(s, "sh", "echo a line of code that takes its place in the record: 123456789 123456789 123456789 123456789"));
    interp_session_close(s);
    interp_ctx_free(x);
    write_some(1, "\"rotate_bytes\":4096");
    char list[64][128];
    const char *paths[64];
    uint32_t n = 0, packed = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && n < 64) {
            snprintf(list[n], sizeof list[n], "%s/%.60s", dir, e->d_name);
            paths[n] = list[n];
            packed += strstr(list[n], ".gz") != NULL;
            n++;
        }
    closedir(d);
    CHECK(n >= 3 && packed == n - 1);
    CHECK_STR(verified_with(paths, n, NULL, NULL), "ok");
    /* without one from the middle; the records that it had are missing */
    uint32_t first = 0, second = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++)
        if (strstr(list[i], ".0000"))
            first = !strstr(list[first], ".0000") || strcmp(list[i], list[first]) < 0 ? i : first;
    for (uint32_t i = 0; i < n; i++)
        if (strstr(list[i], ".0000") && i != first && (second == UINT32_MAX || strcmp(list[i], list[second]) < 0))
            second = i;
    REQUIRE(second != UINT32_MAX);
    const char *fewer[64];
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i != second)
            fewer[k++] = paths[i];
    CHECK_STR(verified_with(fewer, k, NULL, NULL), "missing");
    /* without the first: it may be elsewhere, which the report says */
    x = new_ctx(0);
    interp_audit_report *r = NULL;
    for (uint32_t i = k = 0; i < n; i++)
        if (i != first)
            fewer[k++] = paths[i];
    NEED(interp_audit_verify(x, fewer, k, NULL, 0, NULL, &r, ERR));
    CHECK(interp_audit_report_ok(r) && strstr(interp_audit_report_json(r, NULL), "\"from_start\":false"));
    interp_audit_report_free(r);
    interp_ctx_free(x);
    /* a compressed file that is cut, and one that is damaged */
    size_t len;
    char *t = slurp(list[second], &len);
    spill(list[second], t, len / 2);
    CHECK_STR(verified_with(paths, n, NULL, NULL), "cut-off");
    t[len / 2] = (char)(t[len / 2] ^ 0x55);
    spill(list[second], t, len);
    CHECK(strcmp(verified_with(paths, n, NULL, NULL), "ok"));
    free(t);
    drop_dir();
}

TEST(one_writer)
{
    char options[200];
    size_t n;
    make_dir();
    interp_ctx *x = audited(0, ""), *y = new_ctx(0);
    snprintf(options, sizeof options, "{\"path\":\"%s\"}", path);
    SAYS(interp_audit_open(y, options, INTERP_NTS, NULL, 0, ERR), INTERP_E_BUSY, "in use");
    pid_t child = fork();
    if (!child) {   /* a forked child lets go of what it inherited: it holds no lock, and writes nothing */
        interp_error *e = NULL;
        interp_status st = interp_audit_head(x, NULL, NULL, 0, NULL, &e);
        interp_ctx_free(x);
        sleep(1);
        _exit(st == INTERP_E_FORKED ? 0 : 1);
    }
    interp_ctx_free(x);
    NEED(interp_audit_open(y, options, INTERP_NTS, NULL, 0, ERR));
    interp_ctx_free(y);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
    char *t = slurp(path, &n);
    CHECK(count(t, "\n") == 4);
    CHECK_STR(verified(), "ok");
    free(t);
    drop_dir();
}

static void refused(const char *options, interp_status want, const char *words)
{
    interp_ctx *x = new_ctx(0);
    if (api_says(__FILE__, __LINE__, "interp_audit_open, ERR", interp_audit_open(x, options, INTERP_NTS, NULL, 0, ERR), want, words)) {
        /* after a refusal the context is as it was */
        IS(interp_audit_head(x, NULL, NULL, 0, NULL, ERR), INTERP_E_NOT_FOUND);
        NEED(interp_audit_open(x, NULL, 0, NULL, 0, ERR));
    } else
        tap_fail(__FILE__, __LINE__, "options: %s", options);
    interp_ctx_free(x);
}

TEST(bad_options)
{
    char options[300], other[120];
    make_dir();
    refused("{\"pathh\":\"x\"}", INTERP_E_INVAL, "pathh");
    refused("[]", INTERP_E_INVAL, "object");
    refused("{\"path\":\"\"}", INTERP_E_INVAL, "path");
    refused("{\"path\":\"/\"}", INTERP_E_INVAL, "path");
    refused("{\"code\":\"some\"}", INTERP_E_INVAL, "full, hash, none");
    refused("{\"sync\":\"each\"}", INTERP_E_INVAL, "path");
    refused("{\"sync\":1}", INTERP_E_INVAL, "sync");
    refused("{\"path\":\"/nowhere/at/all\"}", INTERP_E_IO, "/nowhere/at/all");
    refused("{\"path\":\"/tmp/x\",\"sync\":\"interval\"}", INTERP_E_INVAL, "sync_ms");
    refused("{\"path\":\"/tmp/x\",\"rotate_bytes\":0}", INTERP_E_INVAL, "4096");
    refused("{\"key_file\":\"/nowhere\"}", INTERP_E_IO, "/nowhere");
    refused("{\"notices\":true}", INTERP_E_INVAL, "INTERP_CTX_LOOP");
    refused("{\"code_bytes\":99999999}", INTERP_E_INVAL, "1048576");
    snprintf(other, sizeof other, "%s/link", dir);
    snprintf(options, sizeof options, "{\"path\":\"%s\"}", other);
    REQUIRE(!symlink(path, other));
    refused(options, INTERP_E_IO, "symbolic link");
    CHECK(!unlink(other) && !mkfifo(other, 0600));
    refused(options, INTERP_E_DENIED, "regular");
    CHECK(!unlink(other));
    spill(other, "", 0);
    CHECK(!chmod(other, 0666));
    refused(options, INTERP_E_DENIED, "others");
    CHECK(!chmod(other, 0600));
    spill(other, "not ours\n", 9);
    refused(options, INTERP_E_DENIED, "verify");
    drop_dir();
}

/* A file that takes no more, by a limit on the size of files, past which the kernel would send a signal that ends the program */
static void fill(int refuse)
{
    size_t n;
    struct rlimit old, now;
    make_dir();
    interp_ctx *x = audited(0, refuse ? "" : "\"on_failure\":\"count\"");
    interp_session *s = open_with(x, NULL);
    interp_result_free(run(s, "sh", "x=41"));
    struct stat st;
    REQUIRE(!stat(path, &st) && !getrlimit(RLIMIT_FSIZE, &old));
    now = old;
    now.rlim_cur = (rlim_t)st.st_size + 100;
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &now));
    interp_result *r = run(s, "sh", "x=$((x + 1))");
    if (refuse) {
        EXPECT(r, INTERP_OUTCOME_DENIED, "audit", INTERP_STATE_PRESERVED);
        CHECK(interp_result_ran(r) == 0 && strstr(interp_result_json(r, NULL), "\"denied\":{\"rule\":\"audit\",\"reason\":"));
    } else
        EXPECT_OK(r);
    interp_result_free(r);
    uint64_t dropped = 0;
    NEED(interp_audit_head(x, NULL, NULL, 0, &dropped, ERR));
    CHECK(dropped >= 2);
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &old));
    EXPECT_RUN(s, "sh", "echo $x", refuse ? "41\n" : "42\n");   /* what was refused did not run; the trail goes on */
    interp_session_close(s);
    interp_ctx_free(x);
    char *t = slurp(path, &n);
    CHECK(strstr(t, ",\"dropped\":2,"));
    CHECK_STR(verified(), "ok");
    free(t);
    drop_dir();
}
TEST(full_file_refuses) { fill(1); }
TEST(full_file_counts) { fill(0); }

/* A disk that is full in the middle of a record: what is there of it is taken back. */
TEST(full_disk)
{
    if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        SKIP("needs a file system of its own: not root, or no mounts");
    size_t n;
    make_dir();
    REQUIRE(!mount("tmpfs", dir, "tmpfs", 0, "size=64k"));
    interp_ctx *x = audited(0, "");
    interp_session *s = open_with(x, NULL);
    interp_result_free(run(s, "sh", "x=0"));
    char filler[80];
    snprintf(filler, sizeof filler, "%s/filler", dir);
    int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, filler, sizeof filler) > 0)
        ;
    CHECK(errno == ENOSPC && !close(fd));
    int ran = 0, refused = 0;
    for (int i = 0; i < 64 && !refused; i++) {   /* the page that it ends in has room for a few */
        interp_result *r = run(s, "sh", "x=$((x + 1))");
        if (interp_result_outcome(r) == INTERP_OUTCOME_OK)
            ran++;
        else {
            EXPECT(r, INTERP_OUTCOME_DENIED, "audit", INTERP_STATE_PRESERVED);
            refused = 1;
        }
        interp_result_free(r);
    }
    CHECK(refused);
    char *t = slurp(path, &n);
    CHECK(n && t[n - 1] == '\n');
    free(t);
    CHECK(!unlink(filler));
    char all[16];
    snprintf(all, sizeof all, "%d\n", ran);
    EXPECT_RUN(s, "sh", "echo $x", all);
    interp_session_close(s);
    interp_ctx_free(x);
    CHECK_STR(verified(), "ok");
    CHECK(!umount(dir) && !rmdir(dir));
}

TEST(file_taken_away)
{
    make_dir();
    interp_ctx *x = audited(0, "");
    interp_session *s = open_with(x, NULL);
    size_t n;
    char *t = slurp(path, &n);
    CHECK(!truncate(path, 10));   /* somebody cuts it while it is written */
    interp_result *r = run(s, "sh", "echo hello");
    EXPECT(r, INTERP_OUTCOME_DENIED, "audit", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    spill(path, t, n);
    EXPECT_RUN(s, "sh", "echo hello", "hello\n");
    CHECK(!unlink(path));
    r = run(s, "sh", "echo hello");
    EXPECT(r, INTERP_OUTCOME_DENIED, "audit", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(x);
    free(t);
    drop_dir();
}

struct seen { int records, fail, destroyed; uint64_t last; char text[65536]; };
static int32_t take(void *userdata, const char *record, size_t len, uint64_t seq)
{
    struct seen *s = userdata;
    if (s->fail)
        return 1;
    CHECK(record[len - 1] == '\n' && record[len] == 0 && strlen(record) == len);
    CHECK(!s->last || seq == s->last + 1);
    s->last = seq;
    s->records++;
    if (strlen(s->text) + len < sizeof s->text)
        strcat(s->text, record);
    return 0;
}
static void gone(void *userdata) { ((struct seen *)userdata)->destroyed++; }

/* Nothing is registered: the built-in detectors alone know it. */
TEST(detected)
{
    static struct seen seen;
    char token[64], code[160];
    snprintf(token, sizeof token, "%s%s", "gh", "p_Ab0Cd1Ef2Gh3Ij4Kl5Mn6Op7Qr8St9Uv0Wx1");
    snprintf(code, sizeof code, "true # %s", token);
    interp_ctx *x = new_ctx(0);
    NEED(interp_audit_open(x, "{}", INTERP_NTS, NULL, 0, ERR));
    NEED(interp_audit_set_callback(x, take, &seen, NULL, ERR));
    interp_session *s = open_with(x, NULL);
    EXPECT_RUN(s, "sh", code, "");
    interp_session_close(s);
    interp_ctx_free(x);
    CHECK(strstr(seen.text, "true # [REDACTED:github-token]") && !strstr(seen.text, token + 4));
}

TEST(callback)
{
    static struct seen seen;
    interp_ctx *x = new_ctx(0);
    IS(interp_audit_set_callback(x, take, &seen, gone, ERR), INTERP_E_NOT_FOUND);
    CHECK(seen.destroyed == 1);
    NEED(interp_audit_open(x, "{\"code\":\"hash\"}", INTERP_NTS, NULL, 0, ERR));
    NEED(interp_audit_set_callback(x, take, &seen, gone, ERR));
    interp_session *s = open_with(x, NULL);
    IS(interp_audit_set_callback(x, take, &seen, NULL, ERR), INTERP_E_EXISTS);
    EXPECT_RUN(s, "sh", "echo secret-free", "secret-free\n");
    CHECK(!strstr(seen.text, "echo") && strstr(seen.text, "\"code_sha256\":\""));
    seen.fail = 1;
    interp_result *r = run(s, "sh", "echo no");
    EXPECT(r, INTERP_OUTCOME_DENIED, "audit", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    seen.fail = 0;
    seen.last = 0;
    EXPECT_RUN(s, "sh", "echo again", "again\n");
    interp_session_close(s);
    interp_ctx_free(x);
    CHECK(seen.destroyed == 2 && strstr(seen.text, "\"event\":\"audit_end\""));
}

TEST(notices)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    NEED(interp_audit_open(x, "{\"notices\":true}", INTERP_NTS, NULL, 0, ERR));
    interp_session *s = NULL;
    interp_call *c = NULL;
    const interp_event *ev = NULL;
    NEED(interp_session_open_start(x, NULL, &s, &c, ERR));
    int opened = 0;
    char want[16] = "";
    while (!opened) {
        struct pollfd p = { interp_ctx_fd(x), POLLIN, 0 };
        poll(&p, 1, 50);
        CHECK(interp_ctx_dispatch(x, NULL) >= 0);
        while (interp_ctx_next_notice(x, &ev) == INTERP_OK) {
            CHECK(interp_event_type(ev) == INTERP_EV_AUDIT && interp_event_missing(ev) == 0);
            size_t n;
            const char *json = interp_event_json(ev, &n);
            CHECK(strlen(json) == n && json[n - 1] == '}');
            if (strstr(json, "\"event\":\"open\""))
                opened = 1, snprintf(want, sizeof want, "%s", strstr(json, "\"ok\":true") ? "ok" : "failed");
        }
    }
    CHECK(opened);
    interp_call_free(c);
    interp_session_close(s);
    interp_ctx_free(x);
    x = new_ctx(0);
    CHECK(interp_ctx_next_notice(x, &ev) == INTERP_E_BUSY);
    interp_ctx_free(x);
    if (strcmp(want, "ok"))
        SKIP("no sandbox here");
}

TEST(syslog)
{
    char options[400], socket_path[100], buf[16384];
    make_dir();
    snprintf(socket_path, sizeof socket_path, "%s/log", dir);
    snprintf(options, sizeof options, "{\"path\":\"%s\",\"syslog\":true,\"syslog_socket\":\"%s\",\"syslog_facility\":\"local3\"}", path, socket_path);
    interp_ctx *x = new_ctx(0);
    NEED(interp_audit_open(x, options, INTERP_NTS, NULL, 0, ERR));   /* nobody listens: counted */
    uint64_t dropped = 0;
    NEED(interp_audit_head(x, NULL, NULL, 0, &dropped, ERR));
    CHECK(dropped == 1);
    interp_ctx_free(x);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    strcpy(a.sun_path, socket_path);
    REQUIRE(fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof a));
    x = new_ctx(0);
    NEED(interp_audit_open(x, options, INTERP_NTS, NULL, 0, ERR));
    ssize_t n = recv(fd, buf, sizeof buf - 1, 0);
    buf[n > 0 ? n : 0] = 0;
    CHECK(!strncmp(buf, "<157>1 20", 9) && strstr(buf, " - interp ") && strstr(buf, " audit_start - {\"v\":1,\"seq\":3,"));
    CHECK(buf[n - 1] == '}');
    close(fd);   /* nobody takes them any more: the trail's file goes on */
    interp_ctx_free(x);
    CHECK_STR(verified(), "ok");
    drop_dir();
}

static void *opens(void *p)
{
    interp_session *s = open_with(p, NULL);
    for (int i = 0; i < 5; i++)
        interp_result_free(run(s, "sh", ":"));
    interp_session_close(s);
    return NULL;
}
TEST(threads)
{
    make_dir();
    interp_ctx *x = audited(0, "");
    interp_session_close(open_with(x, NULL));   /* skips here where there is no sandbox */
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        REQUIRE(!pthread_create(&t[i], NULL, opens, x));
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    interp_ctx_free(x);
    CHECK_STR(verified(), "ok");
    drop_dir();
}

static pthread_barrier_t together;
static interp_ctx *together_ctx;
static void *opens_with(void *p)
{
    interp_config *c = p;
    interp_session *s = NULL;
    interp_error *err = NULL;
    pthread_barrier_wait(&together);
    interp_status st = interp_session_open(together_ctx, c, &s, &err);
    interp_error_free(err);
    return (void *)(intptr_t)st;
}
/* Sessions of one config in threads: one starts the trail, the others wait for that instead of being refused. */
TEST(opened_together)
{
    enum { N = 6 };
    char json[200];
    make_dir();
    pthread_barrier_init(&together, NULL, N);
    for (int turn = 0; turn < 10; turn++) {
        pthread_t t[N];
        interp_ctx *x = together_ctx = new_ctx(0);
        interp_config *c = new_config(x, NULL);
        snprintf(json, sizeof json, "{\"backend\":\"none-such\",\"audit\":{\"path\":\"%s\"}}", path);   /* no sandbox is needed: the trail comes first */
        NEED(interp_config_set_json(c, json, INTERP_NTS, ERR));
        for (int i = 0; i < N; i++)
            REQUIRE(!pthread_create(&t[i], NULL, opens_with, c));
        for (int i = 0; i < N; i++) {
            void *st = NULL;
            pthread_join(t[i], &st);
            CHECK_INT((intptr_t)st, INTERP_E_NOT_FOUND);
        }
        interp_config_free(c);
        interp_ctx_free(x);
    }
    pthread_barrier_destroy(&together);
    CHECK_STR(verified(), "ok");
    drop_dir();
}

TEST(config_key)
{
    char json[300];
    size_t n;
    make_dir();
    snprintf(json, sizeof json, "{\"audit\":{\"path\":\"%s\",\"code\":\"none\"},\"labels\":{\"a\":\"b\"}}", path);
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, json), *t = open_with(x, json);
    interp_session *u = NULL;
    interp_config *c = new_config(x, "{\"audit\":{}}");
    IS(interp_session_open(x, c, &u, ERR), INTERP_E_EXISTS);
    SAYS(interp_config_set_json(c, "{\"audit\":7}", INTERP_NTS, ERR), INTERP_E_INVAL, "audit");
    SAYS(interp_config_set_json(c, "{\"labels\":{\"a b\":\"\"}}", INTERP_NTS, ERR), INTERP_E_INVAL, "a b");
    IS(interp_config_set_label(c, "", "x", ERR), INTERP_E_INVAL);
    interp_config_free(c);
    interp_request *r = new_request(x, "sh", ":", NULL);
    SAYS(interp_request_set_traceparent(r, "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ERR), INTERP_E_INVAL, "traceparent");
    SAYS(interp_request_set_traceparent(r, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", ERR), INTERP_E_INVAL, "traceparent");
    NEED(interp_request_set_traceparent(r, "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", ERR));
    interp_request_free(r);
    interp_session_close(s);
    interp_session_close(t);
    interp_ctx_free(x);
    char *log = slurp(path, &n);
    CHECK(count(log, "\"event\":\"open\"") == 2 && count(log, "\"event\":\"close\"") == 2 && count(log, "\"labels\":{\"a\":\"b\"}") >= 4);
    CHECK_STR(verified(), "ok");
    free(log);
    drop_dir();
}

TAP_MAIN()
