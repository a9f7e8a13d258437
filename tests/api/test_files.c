/* test_files.c - files of a session: put, get, list, stat, mkdir, rename, remove; what hostile names and places do to them.
   SPDX-License-Identifier: MIT */
#include "box.h"

static void sh(struct box *b, const char *code)
{
    interp_result *r = run(b->s, "sh", code);
    if (!interp_result_ok(r))
        tap_fail(__FILE__, __LINE__, "sh: %.100s: %.300s", code, interp_result_json(r, NULL));
    interp_result_free(r);
}
static void prints(struct box *b, const char *code, const char *want)
{
    interp_result *r = run(b->s, "sh", code);
    CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), want);
    interp_result_free(r);
}
static void put(struct box *b, const char *path, const char *text)
{
    OK(interp_session_put(b->s, path, INTERP_NTS, 0644, text, strlen(text), ERR));
}
static void holds(struct box *b, const char *path, const char *want, size_t n)
{
    interp_content *c = NULL;
    if (!OK(interp_session_get(b->s, path, INTERP_NTS, 64 << 20, &c, ERR)))
        return;
    size_t len;
    const char *p = interp_content_data(c, &len);
    CHECK_INT(len, n);
    CHECK(len == n && !memcmp(p, want, n));
    interp_content_free(c);
}
/* The JSON of a list or stat, in a buffer of the caller's; "" when it failed with `want`. */
static const char *look(struct box *b, int list, const char *path, uint32_t flags, uint64_t max, char *text, size_t cap)
{
    interp_content *c = NULL;
    text[0] = 0;
    if (OK(list ? interp_session_list(b->s, path, INTERP_NTS, flags, max, &c, ERR) : interp_session_stat(b->s, path, INTERP_NTS, &c, ERR)))
        snprintf(text, cap, "%s", (const char *)interp_content_data(c, NULL));
    interp_content_free(c);
    return text;
}
#define GET_IS(path, want, words) do { interp_content *c_ = NULL; SAYS(interp_session_get(b.s, path, INTERP_NTS, 1 << 20, &c_, ERR), want, words); CHECK(!c_); } while (0)

TEST(there_and_back)
{
    struct box b = new_box(NULL);
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    OK(interp_session_put(b.s, "all.bin", INTERP_NTS, 0600, bytes, sizeof bytes, ERR));
    holds(&b, "all.bin", bytes, sizeof bytes);
    holds(&b, "/workspace/all.bin", bytes, sizeof bytes);
    put(&b, "new/deep/er/f.txt", "in a directory that was not there");
    put(&b, "/tmp/elsewhere", "outside");
    holds(&b, "/tmp/elsewhere", "outside", 7);
    put(&b, "empty", "");
    holds(&b, "empty", "", 0);
    prints(&b, "stat -c '%a %s %U' all.bin; cat new/deep/er/f.txt; ls -A | sort | tr '\\n' ' '; id -un", "600 256 user\nin a directory that was not thereall.bin empty new user\n");
    put(&b, "empty", "now it has something");   /* replaces */
    holds(&b, "empty", "now it has something", 20);
    sh(&b, "printf made > made; chmod 400 made");
    holds(&b, "made", "made", 4);
    free_box(&b);
}
TEST(refusals_say_what_and_why)
{
    struct box b = new_box("{\"workspace_bytes\": 4194304}");
    char long_name[5000];
    memset(long_name, 'n', sizeof long_name);
    sh(&b, "mkdir d; mkfifo pipe; ln -s /etc/passwd out; ln -s ../../etc up; ln -s d/in in; printf inside > d/in; ln -s loop loop; mkdir shut; chmod 0 shut; mkdir full; touch full/x");
    GET_IS("nothing", INTERP_E_NOT_FOUND, "\"nothing\"");
    GET_IS("d", INTERP_E_INVAL, "is a directory");
    GET_IS("pipe", INTERP_E_INVAL, "no regular file");
    GET_IS("/dev/zero", INTERP_E_INVAL, "no regular file");
    GET_IS("out", INTERP_E_DENIED, "out of the workspace");
    GET_IS("up/passwd", INTERP_E_DENIED, "out of the workspace");
    GET_IS("loop", INTERP_E_DENIED, "links");
    GET_IS("shut/x", INTERP_E_DENIED, "permission");
    GET_IS("../etc/passwd", INTERP_E_INVAL, "leaves the workspace");
    GET_IS("d/../../x", INTERP_E_INVAL, "leaves the workspace");
    GET_IS("d/in/x", INTERP_E_INVAL, "no directory");
    GET_IS("", INTERP_E_INVAL, "empty");
    GET_IS("d/", INTERP_E_INVAL, "\"/\"");
    holds(&b, "in", "inside", 6);
    interp_content *c = NULL;
    SAYS(interp_session_get(b.s, "a\0b", 3, 100, &c, ERR), INTERP_E_INVAL, "NUL");
    SAYS(interp_session_get(b.s, long_name, sizeof long_name, 100, &c, ERR), INTERP_E_INVAL, "5000 bytes");
    SAYS(interp_session_get(b.s, long_name, 300, 100, &c, ERR), INTERP_E_INVAL, "too long");
    SAYS(interp_session_get(b.s, "d/in", INTERP_NTS, 5, &c, ERR), INTERP_E_LIMIT, "larger");
    SAYS(interp_session_get(b.s, "d/in", INTERP_NTS, 0, &c, ERR), INTERP_E_INVAL, "max");
    SAYS(interp_session_get(b.s, "/proc/self/status", INTERP_NTS, 5, &c, ERR), INTERP_E_LIMIT, "larger");   /* which says that it has no bytes */
    IS(interp_session_get(NULL, "d/in", INTERP_NTS, 5, &c, ERR), INTERP_E_INVAL);
    IS(interp_session_get(b.s, NULL, 0, 5, &c, ERR), INTERP_E_INVAL);
    IS(interp_session_get(b.s, "d/in", INTERP_NTS, 5, NULL, ERR), INTERP_E_INVAL);
    SAYS(interp_session_put(b.s, "d", INTERP_NTS, 0644, "x", 1, ERR), INTERP_E_INVAL, "is a directory");
    SAYS(interp_session_put(b.s, "pipe", INTERP_NTS, 0644, "x", 1, ERR), INTERP_E_INVAL, "no regular file");
    SAYS(interp_session_put(b.s, "d/in/below", INTERP_NTS, 0644, "x", 1, ERR), INTERP_E_INVAL, "no directory");
    SAYS(interp_session_put(b.s, "x", INTERP_NTS, 04755, "x", 1, ERR), INTERP_E_INVAL, "04755");
    SAYS(interp_session_put(b.s, "up/x", INTERP_NTS, 0644, "x", 1, ERR), INTERP_E_DENIED, "out of the workspace");
    SAYS(interp_session_put(b.s, "shut/x", INTERP_NTS, 0644, "x", 1, ERR), INTERP_E_DENIED, "permission");
    IS(interp_session_put(b.s, "/usr/x", INTERP_NTS, 0644, "x", 1, ERR), INTERP_E_DENIED);
    interp_status st = interp_session_put(b.s, "/proc/self/comm", INTERP_NTS, 0644, "x", 1, NULL);
    CHECK(st == INTERP_E_DENIED || st == INTERP_E_NOT_FOUND);
    char *big = calloc(1, 6 << 20);
    SAYS(interp_session_put(b.s, "big", INTERP_NTS, 0644, big, 6 << 20, ERR), INTERP_E_LIMIT, "");
    free(big);
    SAYS(interp_session_remove(b.s, "full", INTERP_NTS, 0, ERR), INTERP_E_INVAL, "not empty");
    SAYS(interp_session_remove(b.s, "nothing", INTERP_NTS, 0, ERR), INTERP_E_NOT_FOUND, "nothing");
    IS(interp_session_remove(b.s, ".", INTERP_NTS, INTERP_FILE_RECURSIVE, ERR), INTERP_E_INVAL);
    IS(interp_session_remove(b.s, "full", INTERP_NTS, INTERP_FILE_KEEP, ERR), INTERP_E_INVAL);
    IS(interp_session_mkdir(b.s, "d", INTERP_NTS, 0, ERR), INTERP_E_EXISTS);
    IS(interp_session_mkdir(b.s, "/workspace", INTERP_NTS, 0, ERR), INTERP_E_EXISTS);
    IS(interp_session_mkdir(b.s, "d/..", INTERP_NTS, 0, ERR), INTERP_E_EXISTS);
    OK(interp_session_mkdir(b.s, "/", INTERP_NTS, INTERP_FILE_PARENTS, ERR));
    IS(interp_session_mkdir(b.s, "d/in", INTERP_NTS, INTERP_FILE_PARENTS, ERR), INTERP_E_EXISTS);
    IS(interp_session_mkdir(b.s, "no/such", INTERP_NTS, 0, ERR), INTERP_E_NOT_FOUND);
    SAYS(interp_session_rename(b.s, "nothing", INTERP_NTS, "d/x", INTERP_NTS, 0, ERR), INTERP_E_NOT_FOUND, "\"nothing\" to \"d/x\"");
    IS(interp_session_rename(b.s, "d/in", INTERP_NTS, "full/x", INTERP_NTS, INTERP_FILE_KEEP, ERR), INTERP_E_EXISTS);
    IS(interp_session_list(b.s, "d/in", INTERP_NTS, 0, 10, &c, ERR), INTERP_E_INVAL);
    IS(interp_session_list(b.s, "d", INTERP_NTS, 0, 0, &c, ERR), INTERP_E_INVAL);
    CHECK(!c);
    /* nothing of all that is left, and what was there is as it was */
    prints(&b, "ls -A | tr '\\n' ' '; cat d/in", "d full in loop out pipe shut up inside");
    free_box(&b);
}

TEST(names_are_bytes)
{
    static const char *const names[] = { "Simple \xe2\x80\x93 G\xc3\xa9n\xc3\xa9rer la suite.csv", "a b;touch pwned;'\"$(touch pwned2)&.txt", "-rf", "--checkpoint-action=exec=sh x", "new\nline", "\x1b[2J",
                                         "bad \xff\xfe bytes", " ", "...", ("\xe2\x80\xae" "gpj.exe") };
    struct box b = new_box(NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put(&b, names[i], names[i]);
        holds(&b, names[i], names[i], strlen(names[i]));
    }
    prints(&b, "ls -A | wc -l; cat ./-rf; ls pwned pwned2 2>/dev/null", "11\n-rf");       /* a line more for the name with a line break */
    char text[4000];
    look(&b, 1, ".", 0, 100, text, sizeof text);
    CHECK(json_holds(text, strlen(text), "len(d['entries']) == 10 and d['complete'] and [e['name'] for e in d['entries'] if 'path_base64' in e] == ['bad \\ufffd\\ufffd bytes']"));
    CHECK(json_holds(text, strlen(text), "[__import__('base64').b64decode(e['path_base64']) for e in d['entries'] if 'path_base64' in e] == [b'bad \\xff\\xfe bytes']"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        OK(interp_session_remove(b.s, names[i], INTERP_NTS, 0, ERR));
    prints(&b, "ls -A", "");
    free_box(&b);
}

TEST(lists_and_looks)
{
    struct box b = new_box(NULL);
    char text[60000];
    sh(&b, "mkdir -p d/e; printf 123 > d/f; chmod 640 d/f; touch -d @1000000000 d/f; ln -s f d/l; mkfifo d/p; printf x > d/e/g; mkdir d/shut; chmod 0 d/shut; i=0; while [ $i -lt 300 ]; do : > d/e/n$i; i=$((i+1)); done");
    look(&b, 1, "d", 0, 1000, text, sizeof text);
    CHECK(json_holds(text, strlen(text), "[(e['name'], e['type']) for e in d['entries']] == [('e','dir'),('f','file'),('l','link'),('p','fifo'),('shut','dir')] and d['complete']"));
    CHECK(json_holds(text, strlen(text), "[(e['size'], e['mode'], e['mtime_ms']) for e in d['entries'] if e['name'] == 'f'] == [(3, 0o640, 1000000000000)]"));
    look(&b, 1, "/workspace/d", INTERP_FILE_RECURSIVE, 1000, text, sizeof text);
    CHECK(json_holds(text, strlen(text), "not d['complete'] and [e['name'] for e in d['entries'] if e.get('closed')] == ['shut'] and sum(e['name'].startswith('e/n') for e in d['entries']) == 300"));
    look(&b, 1, "d/e", 0, 7, text, sizeof text);
    CHECK(json_holds(text, strlen(text), "len(d['entries']) == 7 and not d['complete']"));
    look(&b, 1, "d/e", 0, 301, text, sizeof text);
    CHECK(json_holds(text, strlen(text), "len(d['entries']) == 301 and d['complete']"));
    look(&b, 0, "d/l", 0, 0, text, sizeof text);
    CHECK(json_holds(text, strlen(text), "d['type'] == 'link' and d['target'] == 'f'"));
    look(&b, 0, ".", 0, 0, text, sizeof text);
    CHECK(json_holds(text, strlen(text), "d['type'] == 'dir'"));
    look(&b, 0, "/dev/null", 0, 0, text, sizeof text);
    CHECK(json_holds(text, strlen(text), "d['type'] == 'char'"));
    OK(interp_session_mkdir(b.s, "m/n/o", INTERP_NTS, INTERP_FILE_PARENTS, ERR));
    OK(interp_session_mkdir(b.s, ".", INTERP_NTS, INTERP_FILE_PARENTS, ERR));
    IS(interp_session_mkdir(b.s, "/workspace", INTERP_NTS, 0, ERR), INTERP_E_EXISTS);
    OK(interp_session_mkdir(b.s, "m/n/o", INTERP_NTS, INTERP_FILE_PARENTS, ERR));
    OK(interp_session_rename(b.s, "d/f", INTERP_NTS, "m/n/o/moved", INTERP_NTS, 0, ERR));
    OK(interp_session_rename(b.s, "m/n", INTERP_NTS, "/workspace/q", INTERP_NTS, INTERP_FILE_KEEP, ERR));
    holds(&b, "q/o/moved", "123", 3);
    free_box(&b);
}

TEST(removes_whole_trees)
{
    struct box b = new_box(NULL);
    /* 300 deep, directories without permissions, a link to what must stay */
    sh(&b, "mkdir stays; : > stays/f; mkdir t; ln -s ../stays t/link; i=0; p=t; while [ $i -lt 300 ]; do p=$p/d; i=$((i+1)); done; mkdir -p $p; : > $p/f; mkdir t/shut; : > t/shut/f; chmod 0 t/shut; : > t/.hidden");
    interp_call *k = NULL;
    OK(interp_session_remove_start(b.s, "t", INTERP_NTS, INTERP_FILE_RECURSIVE, &k, ERR));
    wait_done(k);
    OK(interp_call_finish(k, NULL, ERR));
    CHECK(json_holds(interp_call_json(k, NULL), strlen(interp_call_json(k, NULL)), "d['removed'] == 306"));
    interp_call_free(k);
    prints(&b, "ls -A; ls stays", "stays\nf\n");
    OK(interp_session_remove(b.s, "stays", INTERP_NTS, INTERP_FILE_RECURSIVE, ERR));
    OK(interp_session_mkdir(b.s, "one", INTERP_NTS, 0, ERR));
    OK(interp_session_remove(b.s, "one", INTERP_NTS, 0, ERR));
    prints(&b, "ls -A", "");
    free_box(&b);
}

static uint32_t step(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u;
    return *x >> 8;
}

/* Unknown length in odd pieces, and back by events, far more than any window; an exec meanwhile. */
TEST(streams)
{
    struct box b = new_box(NULL);
    enum { SIZE = 9000001 };
    uint8_t *bytes = malloc(SIZE);
    uint32_t seed = 1;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)step(&seed);
    interp_call *k = NULL;
    NEED(interp_session_put_start(b.s, "big", INTERP_NTS, INTERP_UNKNOWN, 0644, &k, ERR));
    CHECK_INT(interp_call_kind(k), INTERP_CALL_PUT);
    size_t at = 0;
    const interp_event *ev;
    while (at < SIZE) {
        size_t n = 1 + step(&seed) % 300000, taken = 0;
        if (n > SIZE - at)
            n = SIZE - at;
        NEED(interp_call_write(k, bytes + at, n, &taken, ERR));
        at += taken;
        if (taken < n) {
            int told = 0;
            while (!told) {
                NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
                while (interp_call_next(k, &ev) == INTERP_OK)
                    told |= interp_event_type(ev) == INTERP_EV_WRITABLE;
            }
        }
    }
    prints(&b, "ls big 2>/dev/null; ls -A | grep -c interp", "1\n");   /* not under its name before it is whole */
    OK(interp_call_write_end(k, ERR));
    OK(interp_call_write_end(k, ERR));
    wait_done(k);
    OK(interp_call_finish(k, NULL, ERR));
    CHECK(json_holds(interp_call_json(k, NULL), strlen(interp_call_json(k, NULL)), "d['size'] == 9000001 and d['mode'] == 0o644"));
    interp_call_free(k);

    NEED(interp_session_get_start(b.s, "big", INTERP_NTS, INTERP_FOREVER, &k, ERR));
    prints(&b, "echo beside it", "beside it\n");
    interp_status st;
    at = 0;
    for (;;) {
        st = interp_call_next(k, &ev);
        if (st == INTERP_DONE)
            break;
        if (st == INTERP_AGAIN) {
            NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
            continue;
        }
        if (interp_event_type(ev) != INTERP_EV_DATA)
            continue;
        size_t n;
        const void *p = interp_event_data(ev, &n);
        REQUIRE(interp_event_offset(ev) == at && n <= 65536 && at + n <= SIZE && !memcmp(p, bytes + at, n));
        at += n;
    }
    CHECK_INT(at, SIZE);
    OK(interp_call_finish(k, NULL, ERR));
    interp_call_free(k);
    free(bytes);
    free_box(&b);
}

/* Sizes about those of frames, windows and pipes, handed over whole; and several at once beside an exec: each byte is where it was. */
TEST(large)
{
    static const size_t sizes[] = { 4095, 65519, 65520, 65521, 131072, 524287, 524288, 524304, 1048577, 7000003 };
    struct box b = new_box(NULL);
    const size_t most = 7000003;
    char *bytes = malloc(most);
    uint32_t seed = 7;
    for (size_t i = 0; i < most; i++)
        bytes[i] = (char)step(&seed);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        OK(interp_session_put(b.s, "whole", INTERP_NTS, 0644, bytes + most - sizes[i], sizes[i], ERR));
        holds(&b, "whole", bytes + most - sizes[i], sizes[i]);
    }
    interp_call *k[5] = { NULL };
    size_t at[5] = { 0 };
    char name[8];
    const interp_event *ev;
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "f%d", i);
        NEED(interp_session_put_start(b.s, name, INTERP_NTS, most - (size_t)i, 0644, &k[i], ERR));
    }
    for (int left = 5, i = 0; left; i = (i + 1) % 5) {
        size_t n = most - (size_t)i - at[i], taken = 0, piece = 1 + step(&seed) % 200000;
        if (!n)
            continue;
        NEED(interp_call_write(k[i], bytes + i + at[i], n < piece ? n : piece, &taken, ERR));
        at[i] += taken;
        if (taken == n) {
            OK(interp_call_write_end(k[i], ERR));
            left--;
        } else if (!taken)
            NEED(interp_call_wait(k[i], INTERP_FOREVER, 0, ERR));
        while (interp_call_next(k[i], &ev) == INTERP_OK)
            ;
        if (step(&seed) % 16 == 0)
            prints(&b, "echo beside them", "beside them\n");
    }
    for (int i = 0; i < 5; i++) {
        wait_done(k[i]);
        OK(interp_call_finish(k[i], NULL, ERR));
        interp_call_free(k[i]);
        snprintf(name, sizeof name, "f%d", i);
        holds(&b, name, bytes + i, most - (size_t)i);
    }
    free(bytes);
    free_box(&b);
}

/* What is given up leaves nothing, neither files nor a session that is stuck. */
TEST(given_up)
{
    struct box b = new_box("{\"timeout_ms\": 20000}");
    char *zeros = calloc(1, 1 << 20);
    sh(&b, "head -c 30000000 /dev/zero > big");
    for (int i = 0; i < 12; i++) {
        interp_call *k = NULL, *g = NULL;
        size_t taken;
        NEED(interp_session_put_start(b.s, "half", INTERP_NTS, INTERP_UNKNOWN, 0644, &k, ERR));
        OK(interp_call_write(k, zeros, 1 << 20, &taken, ERR));
        NEED(interp_session_get_start(b.s, "big", INTERP_NTS, INTERP_FOREVER, &g, ERR));
        if (i & 1) {
            OK(interp_call_wait(g, INTERP_FOREVER, 0, ERR));
            IS(interp_call_write(g, zeros, 1, &taken, ERR), INTERP_E_INVAL);
        }
        interp_call_free(k);
        interp_call_free(g);
    }
    put(&b, "after", "it");
    holds(&b, "after", "it", 2);
    for (uint64_t end = tap_now_ns() + UINT64_C(20000000000) * tap_slow();;) {   /* a helper has its time to take away what it has */
        interp_result *r = run(b.s, "sh", "ls -A | tr '\\n' ' '");
        int done = !strcmp(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "after big "), over = tap_now_ns() > end;
        if (!done && over)
            tap_fail(__FILE__, __LINE__, "left: %s", interp_result_text(r, INTERP_STREAM_STDOUT, NULL));
        interp_result_free(r);
        if (done || over)
            break;
        usleep(20000);
    }
    /* announced and not kept: nothing is put */
    interp_call *k = NULL;
    size_t taken;
    NEED(interp_session_put_start(b.s, "half", INTERP_NTS, 10, 0644, &k, ERR));
    SAYS(interp_call_write(k, zeros, 11, &taken, ERR), INTERP_E_INVAL, "10 bytes");
    OK(interp_call_write(k, zeros, 4, &taken, ERR));
    SAYS(interp_call_write_end(k, ERR), INTERP_E_INVAL, "has 4");
    wait_done(k);
    IS(interp_call_finish(k, NULL, ERR), INTERP_E_INVAL);
    CHECK_STR(interp_call_json(k, NULL), "{}");
    interp_call_free(k);
    GET_IS("half", INTERP_E_NOT_FOUND, "half");
    free(zeros);
    free_box(&b);
}

/* More at once than the sandbox works on at a time; each comes to its own end, also in a LOOP context. */
TEST(many_at_once)
{
    interp_ctx *x = new_ctx(INTERP_CTX_LOOP);
    interp_session *s = loop_open(x, NULL);
    interp_call *k[40];
    char name[40], text[64];
    for (int i = 0; i < 40; i++) {
        size_t taken = 0;
        snprintf(name, sizeof name, "dir/f%d", i);
        snprintf(text, sizeof text, "text of %d", i);
        NEED(interp_session_put_start(s, name, INTERP_NTS, strlen(text), 0644, &k[i], ERR));
        OK(interp_call_write(k[i], text, strlen(text), &taken, ERR));
        CHECK_INT(taken, strlen(text));
        OK(interp_call_write_end(k[i], ERR));
    }
    for (int i = 0; i < 40; i++) {
        REQUIRE(drive(x, k[i], 20000 * tap_slow()));
        OK(interp_call_finish(k[i], NULL, ERR));
        interp_call_free(k[i]);
    }
    interp_result *r = loop_exec(x, s, "sh", "cat dir/* | wc -c; ls dir | wc -l", NULL);
    CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "390\n40\n");
    interp_result_free(r);
    IS(interp_session_put(s, "x", 1, 0644, "x", 1, ERR), INTERP_E_BUSY);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* A guest that never pulls its weight: processes all used up, a file that grows and shrinks, a swap of directories for links. */
TEST(hostile_guest)
{
    struct box b = new_box("{\"pids\": 24}");
    interp_request *q = new_request(b.x, "python", "import os, threading, time\n"
        "open('grows', 'wb').write(b'0' * 100000)\nos.mkdir('d'); open('d/f', 'w').write('inside'); os.symlink('/etc', 'l')\n"
        "def grow():\n with open('grows', 'ab', 0) as f:\n  while True: f.write(b'1' * 4096); os.truncate('grows', 100000)\n"
        "def swap():\n while True:\n  os.rename('d', 'x'); os.rename('l', 'd'); os.rename('d', 'l'); os.rename('x', 'd')\n"
        "for f in (grow, swap): threading.Thread(target=f, daemon=True).start()\nwhile not os.path.exists('enough'): time.sleep(0.01)", "{\"timeout_ms\": 300000}");
    interp_call *k = NULL;
    NEED(interp_session_exec_start(b.s, q, &k, ERR));
    interp_request_free(q);
    int read = 0;
    for (int i = 0; i < 150 || !read; i++) {
        interp_content *c = NULL;
        size_t n = 0;
        interp_status st = interp_session_get(b.s, "grows", 5, 1 << 20, &c, NULL);
        if (st == INTERP_OK)
            interp_content_data(c, &n);
        if (st != INTERP_E_NOT_FOUND && st != INTERP_E_IO)
            CHECK(st == INTERP_OK && n <= 104096);   /* also while it is first written */
        interp_content_free(c);
        c = NULL;
        st = interp_session_get(b.s, "d/f", 3, 1 << 20, &c, NULL);
        if (st == INTERP_OK) {
            const char *text = interp_content_data(c, &n);
            if (n || read)   /* also while it is first written */
                CHECK_STR(text, "inside");
            read += n > 0;
        } else if (st != INTERP_E_NOT_FOUND)
            CHECK_INT(st, INTERP_E_DENIED);
        interp_content_free(c);
    }
    put(&b, "enough", "");
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    interp_result_free(r);
    free_box(&b);
}

/* All processes used up, or the helper killed: a clear answer, and the next call works. */
TEST(without_processes)
{
    struct box b = new_box("{\"pids\": 12}");
    interp_request *q = new_request(b.x, "bash", "for i in $(seq 40); do sleep 5 & done 2>/dev/null; sleep 5", "{\"timeout_ms\": 1500, \"grace_ms\": 200}");
    interp_call *k = NULL;
    NEED(interp_session_exec_start(b.s, q, &k, ERR));
    interp_request_free(q);
    usleep(500000);
    interp_content *c = NULL;
    interp_status st = interp_session_get(b.s, "/etc/hostname", INTERP_NTS, 1 << 20, &c, NULL);
    CHECK(st == INTERP_OK || st == INTERP_E_LIMIT || st == INTERP_E_NOT_FOUND);
    interp_content_free(c);
    interp_result_free(finish_exec(k));
    put(&b, "f", "after it");
    holds(&b, "f", "after it", 8);
    free_box(&b);
}

/* Names that hold a registered value are redacted wherever they come out; contents are the host's own. */
TEST(names_are_redacted)
{
    struct box b = { new_ctx(0), NULL };
    OK(interp_redact_add(b.x, "KEY", "squeamish-ossifrage", 19, ERR));
    b.s = open_with(b.x, NULL);
    put(&b, "squeamish-ossifrage.txt", "squeamish-ossifrage");
    sh(&b, "ln -s squeamish-ossifrage.txt link");
    char text[2000];
    look(&b, 1, ".", 0, 100, text, sizeof text);
    CHECK(strstr(text, "[REDACTED:KEY].txt") && !strstr(text, "ossifrage"));
    look(&b, 0, "link", 0, 100, text, sizeof text);
    CHECK(strstr(text, "[REDACTED:KEY].txt") && !strstr(text, "ossifrage"));
    interp_content *c = NULL;
    SAYS(interp_session_get(b.s, "no-squeamish-ossifrage", INTERP_NTS, 100, &c, ERR), INTERP_E_NOT_FOUND, "no-[REDACTED:KEY]");
    holds(&b, "squeamish-ossifrage.txt", "squeamish-ossifrage", 19);
    interp_result *r = run(b.s, "sh", "echo nothing");
    CHECK(strstr(interp_result_json(r, NULL), "\"redactions\":{}"));
    interp_result_free(r);
    free_box(&b);
}

/* Files of a request are there when its code runs; one that can't be put keeps it from running. */
TEST(with_a_request)
{
    struct box b = new_box("{\"workspace_bytes\": 4194304}");
    interp_request *q = new_request(b.x, "sh", "cat a.txt d/b.bin | od -An -c | tr -s ' '", "{\"files\": [{\"path\": \"a.txt\", \"text\": \"h\\u00e9\"}, {\"path_base64\": \"ZC9iLmJpbg==\", \"base64\": \"AP8=\"}]}");
    interp_result *r = exec_request(b.s, q);
    CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), " h 303 251 \\0 377\n");
    interp_result_free(r);
    char *big = malloc(3 << 20);
    memset(big, 'x', 3 << 20);
    q = new_request(b.x, "python", "len(open('big').read()), len(open('/tmp/c').read())", NULL);
    OK(interp_request_add_file(q, "big", INTERP_NTS, big, 3 << 20, ERR));
    OK(interp_request_add_file(q, "/tmp/c", 6, "12345", INTERP_NTS, ERR));
    r = exec_request(b.s, q);
    CHECK_STR(interp_result_value(r, NULL), "(3145728, 5)");
    interp_result_free(r);
    /* of two of one name the last counts, however long the first takes; and it counts once towards what may come with a request */
    q = new_request(b.x, "sh", "cat twice; ls -A | grep -c twice", NULL);
    for (int i = 0; i < 30; i++)
        OK(interp_request_add_file(q, i % 2 ? "/workspace/twice" : "twice", INTERP_NTS, big, 3 << 20, ERR));
    OK(interp_request_add_file(q, "twice", INTERP_NTS, "the last\n", 9, ERR));
    r = exec_request(b.s, q);
    CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "the last\n1\n");
    interp_result_free(r);
    /* too much for the disk; not allowed; nothing of either has run */
    for (int i = 0; i < 2; i++) {
        q = new_request(b.x, "sh", "touch ran", NULL);
        for (int k = 0; k < 3; k++)
            OK(interp_request_add_file(q, i ? "/usr/x" : k ? "more" : "most", INTERP_NTS, big, 3 << 20, ERR));
        r = exec_request(b.s, q);
        CHECK(interp_result_outcome(r) == INTERP_OUTCOME_ERROR && interp_result_ran(r) == 0 && interp_result_state(r) == INTERP_STATE_PRESERVED);
        CHECK_STR(interp_result_cause(r), "files");
        CHECK(strstr(interp_result_error_message(r, NULL), i ? "/usr/x" : "full"));
        interp_result_free(r);
    }
    prints(&b, "ls ran 2>&1 | grep -c No", "1\n");
    /* more of them than are put at a time; and an exec that is given up meanwhile */
    q = new_request(b.x, "sh", "ls m | wc -l", NULL);
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "m/%d", i);
        OK(interp_request_add_file(q, name, INTERP_NTS, "x", 1, ERR));
    }
    interp_call *k = NULL;
    NEED(interp_session_exec_start(b.s, q, &k, ERR));
    interp_call_free(k);
    r = exec_request(b.s, q);
    CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "100\n");
    interp_result_free(r);
    /* an exec that nobody waits for any more does not see those of the next one */
    NEED(interp_session_exec_start(b.s, q = new_request(b.x, "bash", "trap '' INT; touch began; for i in {1..30}; do [ -e m2 ] && touch seen; sleep 0.05; done; touch ended", "{\"grace_ms\": 60000}"), &k, ERR));
    interp_request_free(q);
    while (interp_call_wait(k, 100, 0, ERR) == INTERP_AGAIN) {
        interp_content *c = NULL;
        interp_status there = interp_session_stat(b.s, "began", INTERP_NTS, &c, NULL);
        interp_content_free(c);
        if (there == INTERP_OK)
            break;
    }
    interp_call_free(k);
    q = new_request(b.x, "bash", "cat m2; ls seen ended", NULL);
    OK(interp_request_add_file(q, "m2", INTERP_NTS, "new ", INTERP_NTS, ERR));
    r = exec_request(b.s, q);
    CHECK_STR(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), "new ended\n");
    interp_result_free(r);
    q = new_request(b.x, "sh", ":", NULL);
    SAYS(interp_request_add_file(q, "../x", INTERP_NTS, "", 0, ERR), INTERP_E_INVAL, "leaves");
    SAYS(interp_request_add_file(q, "d/", INTERP_NTS, "", 0, ERR), INTERP_E_INVAL, "/");
    IS(interp_request_add_file(q, "x", INTERP_NTS, NULL, 1, ERR), INTERP_E_INVAL);
    IS(interp_request_set_json(q, "{\"files\": [{\"path\": \"x\"}]}", INTERP_NTS, ERR), INTERP_E_INVAL);
    SAYS(interp_request_set_json(q, "{\"files\": [{\"path\": \"x\", \"text\": \"\", \"mod\": 1}]}", INTERP_NTS, ERR), INTERP_E_INVAL, "mod");
    IS(interp_request_set_json(q, "{\"files\": {}}", INTERP_NTS, ERR), INTERP_E_INVAL);
    IS(interp_request_set_json(q, "{\"files\": [{\"path\": \"x\", \"base64\": \"?\"}]}", INTERP_NTS, ERR), INTERP_E_INVAL);
    for (int i = 0; i < 21; i++)
        OK(interp_request_add_file(q, &"abcdefghijklmnopqrstu"[i], 1, big, 3 << 20, ERR));
    SAYS(interp_request_add_file(q, "x", 1, big, 3 << 20, ERR), INTERP_E_LIMIT, "64 MiB");
    OK(interp_request_add_file(q, "a", 1, big, 3 << 20, ERR));
    interp_request_free(q);
    free(big);
    free_box(&b);
}

/* What an exec did to the workspace. */
#define FILES_ARE(r, expr) do { size_t n_; const char *j_ = interp_result_json(r, &n_); if (!json_holds(j_, n_, expr)) tap_fail(__FILE__, __LINE__, "%s: %.600s", #expr, strstr(j_, "\"files\":")); interp_result_free(r); } while (0)
TEST(change_set)
{
    struct box b = new_box("{\"change_set\": 1, \"fetch_files_bytes\": 1000}");
    put(&b, "d/old", "old");
    put(&b, "d/gone", "gone");
    put(&b, "d/same", "same");
    interp_result *r = run(b.s, "sh", "printf 'a,b\\n' > new.csv; printf more >> d/old; rm d/gone; printf '\\211PNG\\r\\n\\032\\n' > p; head -c 3000 /dev/zero > zeros; ln -s p link; mkdir -p e/f");
    FILES_ARE(r, "(lambda f: f['complete'] and {x['path'] for x in f['created']} == {'new.csv', 'p', 'zeros', 'link'} and [x['path'] for x in f['changed']] == ['d/old'] and [x['path'] for x in f['deleted']] == ['d/gone']"
                 " and {x['path']: x['mime'] for x in f['created']} == {'new.csv': 'text/csv', 'p': 'image/png', 'zeros': 'application/octet-stream', 'link': None}"
                 " and f['changed'][0]['sha256'] == __import__('hashlib').sha256(b'oldmore').hexdigest() and f['changed'][0]['text'] == 'oldmore' and f['changed'][0]['size'] == 7"
                 " and [x.get('base64') for x in f['created'] if x['path'] == 'zeros'] == [None] and [x['sha256'] for x in f['created'] if x['path'] == 'zeros'] == [__import__('hashlib').sha256(bytes(3000)).hexdigest()])(d['files'])");
    r = run(b.s, "python", "1");
    FILES_ARE(r, "d['files'] == {'created': [], 'changed': [], 'deleted': [], 'complete': True}");
    put(&b, "by-host", "not the exec's");
    /* written in place with its times set back; renamed over another; an empty file */
    r = run(b.s, "python", "import os\nst = os.stat('d/same')\nopen('d/same', 'r+').write('SAME')\nos.utime('d/same', ns=(st.st_atime_ns, st.st_mtime_ns))\nos.rename('p', 'zeros')\nopen('empty', 'w')\nNone");
    CHECK_INT(interp_result_file_count(r), 4);
    for (uint32_t i = 0; i < interp_result_file_count(r); i++) {
        size_t n;
        if (!strcmp(interp_result_file_path(r, i, NULL), "d/same")) {
            const char *p = interp_result_file_data(r, i, &n);
            CHECK(interp_result_file_change(r, i) == INTERP_FILE_CHANGED && n == 4 && p && !memcmp(p, "SAME", 4));
        }
    }
    CHECK(interp_result_file_change(r, 4) == 0 && !*interp_result_file_path(r, 4, NULL) && !interp_result_file_data(r, 4, NULL));
    FILES_ARE(r, "(lambda f: f['complete'] and [x['path'] for x in f['created']] == ['empty'] and {x['path'] for x in f['changed']} == {'d/same', 'zeros'} and [x['path'] for x in f['deleted']] == ['p']"
                 " and f['created'][0]['sha256'] == __import__('hashlib').sha256(b'').hexdigest())(d['files'])");
    /* more than it tells of; one kernel beside another; a request that wants none */
    r = run(b.s, "python", "for i in range(3000): open('d/%d' % i, 'w')\nNone");
    FILES_ARE(r, "len(d['files']['created']) == 2000 and not d['files']['complete']");
    r = run(b.s, "sh", "rm -r d; sleep 0.1");
    FILES_ARE(r, "len(d['files']['deleted']) == 2000 and not d['files']['complete']");
    r = exec_with(b.x, b.s, "sh", "touch unseen", "{\"change_set\": 0}");
    FILES_ARE(r, "d['files'] is None");
    r = run(b.s, "sh", "touch seen");
    FILES_ARE(r, "[x['path'] for x in d['files']['created']] == ['seen'] and d['files']['complete']");
    interp_call *k = NULL;
    interp_request *q = new_request(b.x, "bash", "sleep 0.5; touch by-bash", NULL);
    NEED(interp_session_exec_start(b.s, q, &k, ERR));
    interp_request_free(q);
    r = run(b.s, "sh", "touch by-sh");
    FILES_ARE(r, "not d['files']['complete']");
    r = finish_exec(k);
    FILES_ARE(r, "not d['files']['complete']");
    /* a kernel that dies; a deadline */
    r = run(b.s, "python", "import os; open('last', 'w').write('words'); os._exit(3)");
    FILES_ARE(r, "d['outcome'] == 'crashed' and [x['path'] for x in d['files']['created']] == ['last'] and d['files']['complete']");
    r = exec_with(b.x, b.s, "sh", "touch before; while :; do :; done", "{\"cpu_ms\": 300}");
    FILES_ARE(r, "d['outcome'] == 'timeout' and [x['path'] for x in d['files']['created']] == ['before']");
    free_box(&b);
}

/* Trees of names that come, go, move and come back, in an order of their own: what is told is what two looks from inside find. */
TEST(change_set_of_many)
{
    struct box b = new_box("{\"change_set\": 1, \"workspace_inodes\": 4000}");
    interp_result_free(run(b.s, "python", "import os, random, shutil, json\nrandom.seed(3)\ndef look():\n    r = {}\n    for d, _, fs in os.walk('.'):\n        for f in fs:\n"
                    "            p = os.path.relpath(os.path.join(d, f)); s = os.lstat(p); r[p] = (s.st_ino, s.st_ctime_ns, s.st_size, s.st_mode)\n    return r\n"
                    "def step(i):\n    ps = sorted(look()); ds = sorted({os.path.dirname(p) for p in ps} - {''}); k = random.randrange(8)\n    new = 'd%d/%d/f%d' % (random.randrange(6), random.randrange(3), random.randrange(60))\n"
                    "    if k < 3 or len(ps) < 9:\n        os.makedirs(os.path.dirname(new), exist_ok=True); open(new, 'a').write('x')\n    elif k == 3: os.remove(random.choice(ps))\n"
                    "    elif k == 4: os.replace(random.choice(ps), random.choice(ps))\n    elif k == 5: os.chmod(random.choice(ps), random.choice((0o600, 0o644)))\n"
                    "    elif k == 6: os.rename(random.choice(ds), 'd%d/m%d' % (random.randrange(6), i)) if os.path.isdir('d0') else os.mkdir('d0')\n    elif random.randrange(3) == 0: shutil.rmtree(random.choice(ds))\n"
                    "def steps(n):\n    a = look()\n    for i in range(n):\n        try: step(i)\n        except OSError: pass\n    b = look()\n"
                    "    print(json.dumps([sorted(b.keys() - a.keys()), sorted(k for k in b if k in a and a[k] != b[k]), sorted(a.keys() - b.keys())]))\n"));
    for (int i = 0; i < 25; i++) {
        char code[40];
        snprintf(code, sizeof code, "steps(%d)", i % 5 == 4 ? 0 : i % 5 == 3 ? 300 : 8);
        interp_result *r = run(b.s, "python", code);
        FILES_ARE(r, "d['files']['complete'] and json.loads(d['stdout']['text']) == [sorted(x['path'] for x in d['files'][k]) for k in ('created', 'changed', 'deleted')]");
    }
    free_box(&b);
}

TEST(change_set_is_redacted)
{
    struct box b = { new_ctx(0), NULL };
    OK(interp_redact_add(b.x, "KEY", "squeamish-ossifrage", 19, ERR));
    b.s = open_with(b.x, "{\"change_set\": 1, \"fetch_files_bytes\": 1000}");
    interp_result *r = run(b.s, "sh", "k=squeamish; echo \"key: $k-ossifrage\" > $k-ossifrage");
    const char *j = interp_result_json(r, NULL);
    CHECK(!strstr(j, "ossifrage") && strstr(j, "\"path\":\"[REDACTED:KEY]\"") && strstr(j, "\"text\":\"key: [REDACTED:KEY]\\n\""));
    interp_result_free(r);
    /* also what is a text by its bytes alone */
    r = run(b.s, "sh", "k=squeamish; printf '%%PDF-1.7 \\0 %s' $k-ossifrage > f; printf '\\0%s' $k-ossifrage > g");
    j = interp_result_json(r, NULL);
    CHECK(!strstr(j, "ossifrage") && strstr(j, "application/pdf") && strstr(j, "\"text\":\"\\u0000[REDACTED:KEY]\""));
    interp_result_free(r);
    /* and what is no text: one byte of another encoding, UTF-16, a database; what is packed is left as it is */
    r = run(b.s, "python", "k = 'squeamish' + '-ossifrage'\nopen('latin.csv', 'wb').write(b'caf\\xe9,' + k.encode())\nopen('wide', 'wb').write(k.encode('utf-16'))\n"
            "open('BMx', 'w').write('BM: ' + k)\nopen('db', 'wb').write(b'SQLite format 3\\0' + k.encode() + bytes(10))\nopen('p.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n\\xff' + bytes(9))");
    FILES_ARE(r, "(lambda f: all(b'ossifrage' not in v.replace(b'\\0', b'') for v in f.values()) and all(b'[REDACTED:KEY]' in f[n] for n in ('latin.csv', 'wide', 'BMx', 'db')) and len(f['p.png']) == 18)"
                 "({x['path']: __import__('base64').b64decode(x['base64']) if 'base64' in x else x['text'].encode() for x in d['files']['created']})");
    free_box(&b);
}

/* A C string of it can be read, too. */
TEST(change_set_content_ends)
{
    struct box b = new_box("{\"change_set\": 1, \"fetch_files_bytes\": 100000}");
    for (int n = 0; n < 3000; n = n * 2 + 1) {
        char code[100];
        snprintf(code, sizeof code, "open('f', 'w').write('x' * %d)\nNone", n);
        interp_result *r = run(b.s, "python", code);
        size_t have = 0;
        const char *p = interp_result_file_count(r) ? interp_result_file_data(r, 0, &have) : NULL;
        CHECK(p && have == (size_t)n && strlen(p) == have);
        interp_result_free(r);
    }
    free_box(&b);
}

/* No name hides a file. */
TEST(change_set_of_our_names)
{
    struct box b = new_box("{\"change_set\": 1}");
    interp_result *r = run(b.s, "sh", "echo x > .interp-hidden; mkdir -p .interp-d; echo x > .interp-d/.interp-0123456789abcdef01234567");
    FILES_ARE(r, "d['files']['complete'] and sorted(x['path'] for x in d['files']['created']) == ['.interp-d/.interp-0123456789abcdef01234567', '.interp-hidden']");
    /* the host's own files that are half there are no change of the exec's, and it is said that something was under way */
    interp_call *k = NULL;
    size_t taken;
    NEED(interp_session_put_start(b.s, "slow", 4, INTERP_UNKNOWN, 0644, &k, ERR));
    NEED(interp_call_write(k, "x", 1, &taken, ERR));
    r = run(b.s, "sh", "sleep 0.3; echo y > mine");
    FILES_ARE(r, "not d['files']['complete'] and [x['path'] for x in d['files']['created']] == ['mine']");
    OK(interp_call_write_end(k, ERR));
    wait_done(k);
    OK(interp_call_finish(k, NULL, ERR));
    interp_call_free(k);
    r = run(b.s, "sh", "echo y > last");
    FILES_ARE(r, "d['files']['complete'] and [x['path'] for x in d['files']['created']] == ['last']");
    free_box(&b);
}

/* As many transfers as there may be, which the host does not pull: what an exec changed is looked at all the same, and what waits behind them has not begun to be late. */
TEST_LONG(behind_unpulled, 60)
{
    struct box b = new_box("{\"change_set\": 1, \"timeout_ms\": 4000}");
    interp_call *g[8], *stat = NULL;
    interp_result_free(exec_with(b.x, b.s, "sh", "head -c 5000000 /dev/zero > big", "{\"timeout_ms\": 60000}"));
    for (int i = 0; i < 8; i++)
        NEED(interp_session_get_start(b.s, "big", INTERP_NTS, INTERP_FOREVER, &g[i], ERR));
    interp_result *r = exec_with(b.x, b.s, "sh", "echo y > mine", "{\"timeout_ms\": 60000}");
    FILES_ARE(r, "d['files']['complete'] and [x['path'] for x in d['files']['created']] == ['mine']");
    NEED(interp_session_stat_start(b.s, "mine", INTERP_NTS, &stat, ERR));
    IS(interp_call_wait(stat, 5000, 0, NULL), INTERP_AGAIN);
    for (int i = 0; i < 8; i++)
        interp_call_free(g[i]);
    wait_done(stat);
    OK(interp_call_finish(stat, NULL, ERR));
    CHECK(strstr(interp_call_json(stat, NULL), "\"size\":2") != NULL);
    interp_call_free(stat);
    free_box(&b);
}

TEST(after_the_end)
{
    struct box b = new_box(NULL);
    interp_call *k = NULL, *g = NULL;
    size_t taken;
    NEED(interp_session_put_start(b.s, "f", 1, INTERP_UNKNOWN, 0644, &k, ERR));
    NEED(interp_session_list_start(b.s, ".", 1, 0, 10, &g, ERR));
    interp_session_shutdown(b.s);
    wait_done(k);
    IS(interp_call_finish(k, NULL, ERR), INTERP_E_CLOSED);
    IS(interp_call_write(k, "x", 1, &taken, ERR), INTERP_E_CLOSED);
    IS(interp_call_write_end(k, ERR), INTERP_E_CLOSED);
    IS(interp_session_put(b.s, "f", 1, 0644, "x", 1, ERR), INTERP_E_CLOSED);
    interp_session_close(b.s);
    CHECK_STR(interp_call_json(g, NULL), "{}");
    interp_call_free(k);
    interp_call_free(g);
    interp_ctx_free(b.x);
}

TAP_MAIN()
