/* test_trees.c - whole trees up and down: against the system's tar in both directions, and what hostile archives, sandboxes and directories try.
   SPDX-License-Identifier: MIT */
#include "api.h"

struct box { interp_ctx *x; interp_session *s; char dir[64]; };

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *fmt, ...)
{
    char line[8192];
    va_list a;
    va_start(a, fmt);
    vsnprintf(line, sizeof line, fmt, a);
    va_end(a);
    int r = system(line);
    if (r)
        tap_fail(__FILE__, __LINE__, "%.300s: %d", line, r);
}
static struct box new_box(const char *json)
{
    struct box b = { new_ctx(0), NULL, "/tmp/interp-trees-XXXXXX" };
    REQUIRE(mkdtemp(b.dir));
    b.s = open_with(b.x, json);
    return b;
}
static void free_box(struct box *b)
{
    interp_session_close(b->s);
    interp_ctx_free(b->x);
    shell("chmod -R u+rwX %s; rm -rf %s", b->dir, b->dir);
}
/* Where a shell is, it stays: each of these begins in the workspace. */
static interp_result *fresh(struct box *b, const char *code)
{
    char all[4096];
    snprintf(all, sizeof all, "cd /workspace; %s", code);
    return run(b->s, "sh", all);
}
static void sh(struct box *b, const char *code)
{
    interp_result *r = fresh(b, code);
    if (!interp_result_ok(r))
        tap_fail(__FILE__, __LINE__, "sh: %.100s: %.300s", code, interp_result_json(r, NULL));
    interp_result_free(r);
}
static void prints(struct box *b, const char *code, const char *want)
{
    interp_result *r = fresh(b, code);
    if (strcmp(interp_result_text(r, INTERP_STREAM_STDOUT, NULL), want))
        tap_fail(__FILE__, __LINE__, "sh: %.100s: not %.100s: %.500s", code, want, interp_result_json(r, NULL));
    interp_result_free(r);
}
static const char *in(const struct box *b, const char *name)
{
    static char path[64][128];
    static int next;
    REQUIRE(next < 64 || (next = 32));
    snprintf(path[next], sizeof path[0], "%s/%s", b->dir, name);
    return path[next++];
}
/* The JSON of a call has all of these words in it. */
static void says(interp_content *c, const char *a, const char *more)
{
    const char *text = interp_content_data(c, NULL);
    if (!strstr(text, a) || !strstr(text, more))
        tap_fail(__FILE__, __LINE__, "no %s %s in %.1000s", a, more, text);
    interp_content_free(c);
}

/* ---- archives made here, byte by byte */
struct ark { char *p; size_t n; };
static void add(struct ark *a, const void *p, size_t n)
{
    a->p = realloc(a->p, a->n + n + 1024);
    memcpy(a->p + a->n, p, n);
    a->n += n;
    if (n % 512) {
        memset(a->p + a->n, 0, 512 - n % 512);
        a->n += 512 - n % 512;
    }
}
static char *header(const char *name, char type, uint64_t size, const char *target)
{
    static char h[512];
    unsigned sum = 0;
    memset(h, 0, sizeof h);
    memcpy(h, name, strlen(name) < 100 ? strlen(name) : 100);
    strcpy(h + 100, "0006777");
    strcpy(h + 108, "0000000");
    strcpy(h + 116, "0000000");
    if (size < 1ull << 33)
        snprintf(h + 124, 12, "%011llo", (unsigned long long)size);
    else
        for (int i = 11; i >= 0; i--, size >>= 8)
            h[124 + i] = (char)(i ? size : 0x80);
    strcpy(h + 136, "00000000001");
    memset(h + 148, ' ', 8);
    h[156] = type;
    memcpy(h + 157, target, strlen(target) < 100 ? strlen(target) : 100);
    memcpy(h + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)h[i];
    snprintf(h + 148, 7, "%06o", sum);
    h[155] = ' ';
    return h;
}
static void member(struct ark *a, const char *name, char type, const char *content, const char *target)
{
    add(a, header(name, type, strlen(content), target), 512);
    add(a, content, strlen(content));
}
static void end(struct ark *a)
{
    static char zeros[1024];
    add(a, zeros, sizeof zeros);
}
#define PUT_SAYS(a, want, words) SAYS(interp_session_put_tar(b.s, "in", INTERP_NTS, INTERP_TREE_LINKS, (a).p, (a).n, NULL, ERR), want, words)
static void refused(struct box *bp, const char *name, char type, const char *content, const char *target, interp_status want, const char *words)
{
    struct box b = *bp;
    struct ark a = { NULL, 0 };
    member(&a, "first", '0', "1", "");
    member(&a, name, type, content, target);
    end(&a);
    PUT_SAYS(a, want, words);
    PUT_SAYS(a, want, "entries have been placed");
    free(a.p);
}

/* Names, modes, times and sizes of all that there is, and where links lead. */
#define DESCRIBE "find . -mindepth 1 \\( -type d -printf '%p %m %T@\\n' -o -type l -printf '%p %l\\n' -o -printf '%p %m %s %n %T@\\n' \\) | sed 's/\\.[0-9]*$//' | LC_ALL=C sort | sha256sum | cut -c1-64"

TEST(against_the_systems_tar)
{
    struct box b = new_box(NULL);
    const char *src = in(&b, "src"), *out = in(&b, "out");
    char deep[700] = "";
    for (int i = 0; i < 12; i++)
        strcat(deep, "a-name-of-a-directory-that-is-rather-long-by-itself/");
    shell("mkdir -p %s/'%s' %s/empty %s/run; cd %s; printf long > '%s/f'; printf x > 'with space'; printf nl > 'a\nb'; printf 8 > 'n\303\244me'; printf bad > \"$(printf 'b\\377d')\"; printf -- - > ./-rf;"
          "printf '%%0150d' 1 > name; mv name \"$(printf 'n%%0150d' 1)\"; : > none; printf 512 > run/x; chmod 755 run/x; chmod 400 'with space'; ln -s run/x inside; ln -s ../'with space' run/up; ln run/x hard;"
          "head -c 3000000 /dev/urandom > big; truncate -s 2000000 sparse; touch -d '2001-02-03 04:05:06' big run; touch -d '1960-01-01' none", src, deep, src, src, src, deep);
    char want[80] = "", line[1200];
    snprintf(line, sizeof line, "cd %s && ", src);
    strcat(line, DESCRIBE);
    FILE *f = popen(line, "r");
    REQUIRE(f && fgets(want, sizeof want, f) && strlen(want) == 65);
    pclose(f);
    for (int format = 0; format < 3; format++) {
        static const char *const formats[] = { "gnu", "pax", "gnu -z" };
        int fd;
        interp_content *c = NULL;
        shell("cd %s && tar --format=%s -cf ../a.tar .", src, formats[format]);
        fd = open(in(&b, "a.tar"), O_RDONLY | O_CLOEXEC);
        if (OK(interp_session_put_tar_fd(b.s, "t", INTERP_NTS, INTERP_TREE_LINKS, fd, &c, ERR)))
            says(c, "\"links\":2", "\"complete\":true");
        close(fd);
        prints(&b, "cd t && " DESCRIBE, want);
        fd = open(in(&b, "b.tar"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (OK(interp_session_get_tar_fd(b.s, "t", INTERP_NTS, INTERP_TREE_LINKS, INTERP_FOREVER, fd, &c, ERR)))
            says(c, "\"links\":2", "\"complete\":true");
        close(fd);
        shell("mkdir %s && tar -xf %s/b.tar -C %s && diff -r --no-dereference %s %s && rm -rf %s", out, b.dir, out, src, out, out);
        sh(&b, "rm -rf t");
    }
    free_box(&b);
}
TEST(hostile_archives_are_refused_and_say_where)
{
    struct box b = new_box(NULL);
    static const char *const names[] = { "../../x", "/etc/x", "a/../../x", "./../x", "C:\\x", "a\\..\\x", "a/..", ".." };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        refused(&b, names[i], '0', "evil", "", INTERP_E_DENIED, "the name");
    refused(&b, "x", '2', "", "/etc", INTERP_E_DENIED, "\"x\"");
    refused(&b, "d/x", '2', "", "../../up", INTERP_E_DENIED, "leaves the directory");
    refused(&b, "d/x", '2', "", "a/../b", INTERP_E_DENIED, "leaves the directory");
    refused(&b, "h", '1', "", "../../etc/hostname", INTERP_E_DENIED, "another name");
    refused(&b, "h", '1', "", "/etc/hostname", INTERP_E_DENIED, "another name");
    refused(&b, "h", '1', "", "nothing", INTERP_E_NOT_FOUND, "\"h\"");
    for (const char *t = "3467Z"; *t; t++)
        refused(&b, "odd", *t, "", "", INTERP_E_DENIED, "\"odd\"");
    refused(&b, "odd", 'S', "", "", INTERP_E_INVAL, "sparse");
    refused(&b, "first/below", '0', "x", "", INTERP_E_INVAL, "no directory");
    refused(&b, "p", 'x', "30 path=", "", INTERP_E_INVAL, "pax");
    refused(&b, "p", 'x', "22 GNU.sparse.major=1\n", "", INTERP_E_INVAL, "sparse");
    refused(&b, "p", 'g', "11 path=ab\n", "", INTERP_E_INVAL, "pax");
    refused(&b, "p", 'x', "11 path=ab\n11 path=ac\n", "", INTERP_E_INVAL, "twice");
    refused(&b, "p", 'x', "20 size=99999999999999999999\n", "", INTERP_E_INVAL, "pax");

    struct ark a = { NULL, 0 };       /* through a link that was there before, and one of its own */
    sh(&b, "mkdir -p in victim; ln -s ../victim in/d");
    refused(&b, "d/pwn", '0', "x", "", INTERP_E_INVAL, "no directory");
    refused(&b, "d", '5', "", "", INTERP_E_INVAL, "no directory");
    member(&a, "l", '2', "", "sub");
    member(&a, "sub/", '5', "", "");
    member(&a, "l/f", '0', "x", "");
    end(&a);
    PUT_SAYS(a, INTERP_E_INVAL, "\"l/f\"");
    a.n = 0;
    member(&a, "x", '2', "", "/workspace/victim");
    member(&a, "x/passwd", '0', "x", "");
    end(&a);
    PUT_SAYS(a, INTERP_E_DENIED, "\"x\"");
    OK(interp_session_put_tar(b.s, "in2", INTERP_NTS, 0, a.p, a.n, NULL, ERR));      /* left out: then it is a directory of that name */
    prints(&b, "ls -A victim; test -d in2/x -a ! -L in2/x && cat in2/x/passwd; stat -c %a in2/x/passwd", "x777\n");

    a.n = 0;                          /* what is no archive, or none that is whole */
    PUT_SAYS(a, INTERP_E_INVAL, "empty");
    member(&a, "f", '0', "x", "");
    PUT_SAYS(a, INTERP_E_INVAL, "before its end");
    size_t whole = a.n;
    a.n -= 400;
    PUT_SAYS(a, INTERP_E_INVAL, "before its end");
    a.n = whole;
    add(&a, "garbage", 7);
    PUT_SAYS(a, INTERP_E_INVAL, "damaged");
    PUT_SAYS(((struct ark){ (char *)"PK\3\4 and so on, a zip archive that is longer than a block of a tar archive .....................................................................................................................................................................................................................................................................................................................................................................................................................................................................................................................", 512 }), INTERP_E_INVAL, "zip");
    PUT_SAYS(((struct ark){ (char *)"\037\213\10\0oops, no gzip", 18 }), INTERP_E_INVAL, "");
    a.n = 0;
    add(&a, header("huge", '0', 8ull << 60, ""), 512);
    PUT_SAYS(a, INTERP_E_INVAL, "\"huge\"");
    a.n = 0;
    add(&a, header("large", '0', 9ull << 30, ""), 512);
    PUT_SAYS(a, INTERP_E_LIMIT, "\"large\"");
    a.n = 0;
    add(&a, header("long", 'L', 1 << 30, ""), 512);
    PUT_SAYS(a, INTERP_E_INVAL, "too large");
    a.n = 0;
    member(&a, "pax", 'x', "11 path=ab\n", "");
    member(&a, "pax", 'x', "11 path=ac\n", "");
    PUT_SAYS(a, INTERP_E_INVAL, "two");
    free(a.p);
    free_box(&b);
}
TEST(bombs_are_bounded)
{
    struct box b = new_box("{\"tree_entries\": 1000, \"tree_bytes\": 100000}");
    struct ark a = { NULL, 0 };
    for (int i = 0; i < 1001; i++) {
        char name[16];
        snprintf(name, sizeof name, "d/%d", i);
        member(&a, name, '0', "", "");
    }
    end(&a);
    interp_error *e = NULL;
    CHECK(interp_session_put_tar(b.s, "in", INTERP_NTS, 0, a.p, a.n, NULL, &e) == INTERP_E_LIMIT);
    const char *said = strstr(interp_error_message(e), "\"d/1000\": there are more entries than are taken; ");
    REQUIRE(said);
    char count[32];                   /* as many as it says are there */
    snprintf(count, sizeof count, "%d\n", atoi(strchr(said, ';') + 1));
    interp_error_free(e);
    prints(&b, "mkdir -p in/d; ls in/d | wc -l; rm -rf in", count);
    shell("cd %s; head -c 200000 /dev/zero > z; tar -czf z.tgz z; for i in $(seq 70); do mkdir n; cd n; done; cd %s; tar -cf n.tar n", b.dir, b.dir);
    int fd = open(in(&b, "z.tgz"), O_RDONLY | O_CLOEXEC);
    SAYS(interp_session_put_tar_fd(b.s, "in", INTERP_NTS, 0, fd, NULL, ERR), INTERP_E_LIMIT, "\"z\"");
    close(fd);
    fd = open(in(&b, "n.tar"), O_RDONLY | O_CLOEXEC);
    SAYS(interp_session_put_tar_fd(b.s, "in", INTERP_NTS, 0, fd, NULL, ERR), INTERP_E_LIMIT, "too deep");
    close(fd);
    sh(&b, "rm -rf in; mkdir in; head -c 60000 /dev/zero > in/a; cp in/a in/b");
    interp_content *c = NULL;
    SAYS(interp_session_get_tar(b.s, "in", INTERP_NTS, 0, INTERP_FOREVER, &c, ERR), INTERP_E_LIMIT, "more bytes");
    SAYS(interp_session_get_dir(b.s, "in", INTERP_NTS, 0, 50000, in(&b, "got"), NULL, ERR), INTERP_E_LIMIT, "0 entries have been placed");
    CHECK(access(in(&b, "got"), F_OK));
    sh(&b, "rm in/*; truncate -s 1T in/sparse 2>/dev/null || truncate -s 200M in/sparse; for i in $(seq 70); do mkdir -p n$i; cd n$i; done");
    SAYS(interp_session_get_tar(b.s, "in", INTERP_NTS, 0, INTERP_FOREVER, &c, ERR), INTERP_E_LIMIT, "sparse");
    if (OK(interp_session_get_tar(b.s, "n1", INTERP_NTS, 0, INTERP_FOREVER, &c, ERR)))
        interp_content_free(c);
    free(a.p);
    free_box(&b);
}
/* A file of the box, up: what that says, NULL: it is taken. */
static void up_says(struct box *b, const char *name, uint32_t flags, interp_status want, const char *words)
{
    int fd = open(in(b, name), O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    if (want)
        SAYS(interp_session_put_tar_fd(b->s, "in", INTERP_NTS, flags, fd, NULL, ERR), want, words);
    else {
        interp_content *c = NULL;
        if (OK(interp_session_put_tar_fd(b->s, "in", INTERP_NTS, flags, fd, &c, ERR)))
            says(c, words, "");
    }
    close(fd);
}
TEST(an_archive_ends_where_it_says)
{
    struct box b = new_box("{\"tree_entries\": 10}");
    shell("cd %s; mkdir s; echo text > s/f; head -c 3000 /dev/urandom > s/g; tar -cf a -C s .; gzip -nc a > a.gz; (head -c 2000 a | gzip -nc; tail -c +2001 a | gzip -nc) > two.gz;"
          "(cat a.gz; head -c 5000 /dev/zero) > zeros.gz; (cat a.gz; echo more) > more.gz; (cat a.gz; printf '\\037\\213') > half.gz; (cat a; head -c 1000000 /dev/zero) > filled; gzip -nc filled > filled.gz;"
          "(cat a; echo more) > more; gzip -nc more > behind.gz; cat a a > twice; (cat a; head -c 20000000 /dev/zero) > long; gzip -nc long > long.gz; (cat a; head -c 16000000 /dev/zero) | gzip -nc > nearly.gz", b.dir);
    static const char *const whole[] = { "a", "a.gz", "two.gz", "zeros.gz", "filled", "filled.gz", "nearly.gz" }, *const behind[] = { "more", "behind.gz", "twice", "long", "long.gz" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        up_says(&b, whole[i], 0, INTERP_OK, "\"files\":2,");
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
        up_says(&b, behind[i], 0, INTERP_E_INVAL, "behind the archive's end");
    up_says(&b, "more.gz", 0, INTERP_E_INVAL, "compression is damaged");
    up_says(&b, "half.gz", 0, INTERP_E_INVAL, "before its end");
    for (int i = 1; i < 12; i++) {    /* its check, its length, and more of it */
        shell("cd %s; head -c -%d a.gz > cut.gz", b.dir, i);
        up_says(&b, "cut.gz", 0, INTERP_E_INVAL, "before its end");
    }
    shell("cd %s; (head -c -6 a.gz; printf '\\001\\002'; tail -c 4 a.gz) > sum.gz", b.dir);
    up_says(&b, "sum.gz", 0, INTERP_E_INVAL, "damaged");
    struct ark a = { NULL, 0 };       /* four files, and what is said about them is large */
    static char said[60001];
    memset(said, 'x', 60000);
    memcpy(said, "60000 comment=", 14);
    said[59999] = '\n';
    for (int i = 0; i < 4; i++) {
        member(&a, "p", 'x', said, "");
        member(&a, "f", '0', "1", "");
    }
    end(&a);
    PUT_SAYS(a, INTERP_E_LIMIT, "more headers");
    free(a.p);

    interp_call *call = NULL;         /* so much of it in one go, and the rest when there was time for all else */
    char *p = malloc(1 << 20);
    size_t at = 0, taken, calls = 0;
    FILE *f = fopen(in(&b, "nearly.gz"), "r");
    REQUIRE(f);
    size_t n = fread(p, 1, 1 << 20, f);
    fclose(f);
    NEED(interp_session_put_tar_start(b.s, "in", INTERP_NTS, 0, &call, ERR));
    for (; at < n; at += taken, calls++) {
        const interp_event *e;
        NEED(interp_call_write(call, p + at, n - at, &taken, ERR));
        if (taken < n - at) {
            OK(interp_call_wait(call, INTERP_FOREVER, 0, ERR));
            CHECK(interp_call_next(call, &e) == INTERP_OK && interp_event_type(e) == INTERP_EV_WRITABLE);
        }
    }
    CHECK(calls >= 10);
    OK(interp_call_write_end(call, ERR));
    while (interp_call_wait(call, INTERP_FOREVER, 0, NULL) == INTERP_OK) {
        const interp_event *e;
        if (interp_call_next(call, &e) == INTERP_DONE)
            break;
    }
    OK(interp_call_finish(call, NULL, ERR));
    interp_call_free(call);
    free(p);
    free_box(&b);
}
/* What is said of a link holds for its other names: where they are, and where they would lead from there. */
TEST(another_name_of_a_link)
{
    struct box b = new_box(NULL);
    struct ark a = { NULL, 0 };
    shell("cd %s; mkdir -p s/d; cd s; echo text > f; ln f g; ln -s f l; ln l m; ln m n; tar -cf ../l.tar f g l m n", b.dir);
    up_says(&b, "l.tar", 0, INTERP_OK, "{\"files\":2,\"dirs\":0,\"links\":0,\"bytes\":5,\"left\":[{\"name\":\"l\",\"type\":\"link\"");
    prints(&b, "ls in; stat -c %h in/f", "f\ng\n2\n");
    sh(&b, "echo other > in/l");      /* nor is what was there taken for it */
    up_says(&b, "l.tar", 0, INTERP_OK, "\"left_total\":3,");
    prints(&b, "ls in; rm -rf in", "f\ng\nl\n");
    up_says(&b, "l.tar", INTERP_TREE_LINKS, INTERP_OK, "{\"files\":2,\"dirs\":0,\"links\":3,");
    prints(&b, "cat in/l in/m in/n; readlink in/n; rm -rf in", "text\ntext\ntext\nf\n");
    member(&a, "d/l", '2', "", "../f");
    member(&a, "e/l", '1', "", "d/l");
    member(&a, "m", '1', "", "e/l");
    end(&a);
    PUT_SAYS(a, INTERP_E_DENIED, "\"m\": it is a link that leaves");
    OK(interp_session_put_tar(b.s, "in", INTERP_NTS, INTERP_TREE_LINKS | INTERP_TREE_OUTSIDE, a.p, a.n, NULL, ERR));
    prints(&b, "readlink in/m; rm -rf in", "../f\n");
    a.n = 0;                          /* a name is what came last under it */
    member(&a, "l", '2', "", "x");
    member(&a, "l", '0', "file", "");
    member(&a, "h", '1', "", "l");
    end(&a);
    OK(interp_session_put_tar(b.s, "in", INTERP_NTS, 0, a.p, a.n, NULL, ERR));
    prints(&b, "cat in/h; rm -rf in", "file");
    a.n = 0;
    for (int i = 0; i < 3000; i++) {  /* many of them */
        char name[16], other[16];
        snprintf(name, sizeof name, "l%d", i);
        snprintf(other, sizeof other, "h%d", i);
        member(&a, name, '2', "", "x");
        member(&a, other, '1', "", name);
    }
    member(&a, "f", '0', "1", "");
    member(&a, "g", '1', "", "f");
    end(&a);
    interp_content *c = NULL;
    if (OK(interp_session_put_tar(b.s, "in", INTERP_NTS, 0, a.p, a.n, &c, ERR)))
        says(c, "\"left_total\":6000", "{\"files\":2,");
    free(a.p);
    free_box(&b);
}
/* Files whose size is another than what reading them gives, up and down. */
TEST(files_that_do_not_say_their_size)
{
    struct box b = new_box(NULL);
    interp_content *c = NULL;
    char id[64] = "", line[100];
    if (OK(interp_session_get_dir(b.s, "/proc/sys/kernel/random", INTERP_NTS, 0, INTERP_FOREVER, in(&b, "random"), &c, ERR)))
        says(c, "\"files\":", "\"complete\":");
    sh(&b, "cat /proc/sys/kernel/random/poolsize > size");
    OK(interp_session_get(b.s, "size", INTERP_NTS, 60, &c, ERR));
    shell("test \"$(cat %s/random/poolsize)\" = %d; grep -qx '[0-9a-f-]\\{36\\}' %s/random/uuid", b.dir, atoi(interp_content_data(c, NULL)), b.dir);
    int fd = open(in(&b, "p.tar"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    OK(interp_session_get_tar_fd(b.s, "/proc/sys/kernel/random", INTERP_NTS, 0, INTERP_FOREVER, fd, NULL, ERR));
    close(fd);
    shell("test \"$(tar -xOf %s/p.tar poolsize)\" = %d", b.dir, atoi(interp_content_data(c, NULL)));
    interp_content_free(c);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    REQUIRE(f && fgets(id, sizeof id, f));
    fclose(f);
    OK(interp_session_put_dir(b.s, "up", INTERP_NTS, 0, "/proc/sys/kernel/random", NULL, ERR));
    prints(&b, "cat up/boot_id", id);
    if (!access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK)) {    /* it says that it has a page */
        OK(interp_session_put_dir(b.s, "sys", INTERP_NTS, 0, "/sys/kernel/mm/transparent_hugepage", NULL, ERR));
        f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
        REQUIRE(f && fgets(line, sizeof line, f));
        fclose(f);
        prints(&b, "cat sys/enabled", line);
    }
    interp_result_free(run(b.s, "python", "import socket\nkept = [socket.socket(socket.AF_UNIX) for i in range(900)]\nfor i, k in enumerate(kept):\n    k.bind('\\0%0100d' % i)\n"));
    OK(interp_session_get_dir(b.s, "/proc/self/net", INTERP_NTS, 0, INTERP_FOREVER, in(&b, "net"), NULL, ERR));      /* more than a buffer of it */
    shell("cd %s/net; test $(wc -c < unix) -gt 100000; test $(grep -c '@0*[0-9]\\{3\\}$' unix) = 900", b.dir);
    if (OK(interp_session_get_dir(b.s, "/proc/self", INTERP_NTS, 0, INTERP_FOREVER, in(&b, "self"), &c, ERR)))
        says(c, "{\"name\":\"pagemap\",\"type\":\"file\",\"size\":0", "\"why\":\"closed\"");      /* more than anybody would hold: told, and not cut */
    shell("cd %s/self; grep -q '^VmPeak:' status; test ! -e pagemap", b.dir);
    free_box(&b);
}
TEST(a_directory_of_the_host_gets_files_and_nothing_else)
{
    struct box b = new_box(NULL);
    const char *dest = in(&b, "dest");
    interp_content *c = NULL;
    sh(&b, "mkdir -p t/sub/in t/shut; cd t; printf 1 > one; chmod 7777 one; printf 2 > sub/in/two; mkfifo pipe; ln -s /etc/passwd out; ln -s sub/in/two here; ln -s ../one sub/up; ln -s ../../x sub/far; printf s > shut/s; chmod 0 shut;"
           "printf h > secret; chmod 0 secret; touch -d '2001-02-03 04:05:06' one sub/in");
    if (OK(interp_session_get_dir(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, dest, &c, ERR)))
        says(c, "\"left_total\":7", "\"complete\":false");
    shell("cd %s; test \"$(find . | sort | tr '\\n' ' ')\" = '. ./one ./sub ./sub/in ./sub/in/two '; test $(stat -c %%a one) = 755; test \"$(TZ=UTC stat -c %%y one | cut -c1-19)\" = '2001-02-03 04:05:06';"
          "test \"$(TZ=UTC stat -c %%y sub/in | cut -c1-4)\" = 2001; test $(cat sub/in/two) = 2", dest);
    SAYS(interp_session_get_dir(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, dest, NULL, ERR), INTERP_E_EXISTS, "dest");
    SAYS(interp_session_get_dir(b.s, "t", INTERP_NTS, INTERP_TREE_INTO, INTERP_FOREVER, dest, NULL, ERR), INTERP_E_EXISTS, "");
    shell("rm -rf %s; mkdir %s; mkdir %s; ln -s %s %s", dest, dest, in(&b, "victim"), in(&b, "victim"), in(&b, "dest/sub"));
    SAYS(interp_session_get_dir(b.s, "t", INTERP_NTS, INTERP_TREE_INTO, INTERP_FOREVER, dest, NULL, ERR), INTERP_E_EXISTS, "\"sub\"");
    shell("test -z \"$(ls -A %s)\"; rm -rf %s", in(&b, "victim"), dest);
    if (OK(interp_session_get_dir(b.s, "t", INTERP_NTS, INTERP_TREE_LINKS, INTERP_FOREVER, dest, &c, ERR)))
        says(c, "\"links\":2", "{\"name\":\"out\"");
    shell("cd %s; test $(readlink here) = sub/in/two; test $(cat sub/up) = 1; test ! -e out", dest);
    SAYS(interp_session_get_dir(b.s, "missing", INTERP_NTS, 0, INTERP_FOREVER, in(&b, "d2"), NULL, ERR), INTERP_E_NOT_FOUND, "\"missing\"");
    CHECK(access(in(&b, "d2"), F_OK));
    SAYS(interp_session_get_dir(b.s, "t/one", INTERP_NTS, 0, INTERP_FOREVER, in(&b, "d2"), NULL, ERR), INTERP_E_INVAL, "no directory");
    SAYS(interp_session_get_dir(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, in(&b, "no/way"), NULL, ERR), INTERP_E_NOT_FOUND, "no/way");
    SAYS(interp_session_get_dir(b.s, "t", INTERP_NTS, INTERP_TREE_KEEP, INTERP_FOREVER, dest, NULL, ERR), INTERP_E_INVAL, "flags");
    SAYS(interp_session_get_dir(b.s, "t", INTERP_NTS, INTERP_TREE_OUTSIDE, INTERP_FOREVER, dest, NULL, ERR), INTERP_E_INVAL, "LINKS");
    SAYS(interp_session_get_dir(b.s, "../t", INTERP_NTS, 0, INTERP_FOREVER, in(&b, "d2"), NULL, ERR), INTERP_E_INVAL, "leaves");
    free_box(&b);
}
TEST(a_directory_of_the_host_goes_up)
{
    struct box b = new_box("{\"workspace_bytes\": 8388608}");
    const char *src = in(&b, "src");
    interp_content *c = NULL;
    shell("mkdir -p %s/a/b; cd %s; printf HOST > ../secret; ln -s ../secret link; ln -s a/b good; printf x > a/b/f; mkfifo p; head -c 5000000 /dev/zero > big; : > none; chmod 751 a/b/f", src, src);
    if (OK(interp_session_put_dir(b.s, "up", INTERP_NTS, 0, src, &c, ERR)))
        says(c, "{\"files\":3,\"dirs\":2,\"links\":0,\"bytes\":5000001,", "\"left_total\":3");
    prints(&b, "cd up; find . | sort | tr '\\n' ' '; stat -c %a a/b/f; wc -c < big", ". ./a ./a/b ./a/b/f ./big ./none 751\n5000000\n");
    SAYS(interp_session_put_dir(b.s, "up2", INTERP_NTS, INTERP_TREE_LINKS, src, NULL, ERR), INTERP_E_DENIED, "\"link\"");
    sh(&b, "rm -rf up2");
    shell("rm %s/link", src);
    SAYS(interp_session_put_dir(b.s, "up2", INTERP_NTS, INTERP_TREE_LINKS, src, NULL, ERR), INTERP_E_LIMIT, "\"big\"");       /* the disk is full */
    prints(&b, "ls -A up2 | grep -c interp; rm -rf up2", "0\n");
    SAYS(interp_session_put_dir(b.s, "up", INTERP_NTS, INTERP_TREE_KEEP, src, NULL, ERR), INTERP_E_EXISTS, "entries have been placed");
    shell("rm %s/big", src);
    if (OK(interp_session_put_dir(b.s, "up", INTERP_NTS, INTERP_TREE_LINKS, src, &c, ERR)))      /* over what is there */
        says(c, "\"links\":1", "\"name\":\"p\"");
    prints(&b, "cat up/good/f", "x");
    SAYS(interp_session_put_dir(b.s, "up", INTERP_NTS, 0, in(&b, "nothing"), NULL, ERR), INTERP_E_NOT_FOUND, "nothing");
    SAYS(interp_session_put_dir(b.s, "up", INTERP_NTS, 0, in(&b, "secret"), NULL, ERR), INTERP_E_INVAL, "secret");
    SAYS(interp_session_put_dir(b.s, "/usr/x", INTERP_NTS, 0, src, NULL, ERR), INTERP_E_DENIED, "");
    SAYS(interp_session_put_dir(b.s, "up/none", INTERP_NTS, 0, src, NULL, ERR), INTERP_E_INVAL, "no directory");
    shell("rm -rf %s/*; cd %s; seq 1000 | xargs touch; echo last > z", src, src);
    for (int i = 0; i < 3000; i++) {  /* more than is looked at in one go, and most of it is not sent */
        char name[100];
        snprintf(name, sizeof name, "%s/l%d", src, i);
        CHECK(!symlink("x", name));
    }
    if (OK(interp_session_put_dir(b.s, "many", INTERP_NTS, 0, src, &c, ERR)))
        says(c, "{\"files\":1001,", "\"left_total\":3000");
    prints(&b, "ls many | wc -l; cat many/z", "1001\nlast\n");
    free_box(&b);
}
/* The guest swaps a directory for a link as fast as it can; whatever comes, nothing of elsewhere does. */
TEST(a_tree_that_changes_under_it)
{
    struct box b = new_box(NULL);
    interp_request *r = NULL;
    interp_call *call = NULL;
    NEED(interp_request_new(b.x, &r, ERR));
    OK(interp_request_set_language(r, "python", ERR));
    OK(interp_request_set_code(r, "import os, time\nos.makedirs('t/d'); open('t/d/status', 'w').write('own')\nend = time.time() + 3\nwhile time.time() < end:\n"
        "    os.rename('t/d', 't/e'); os.symlink('/proc/1', 't/d'); os.unlink('t/d'); os.rename('t/e', 't/d')\n    open('t/g', 'a').write('more'); open('t/g', 'w').close()\n", INTERP_NTS, ERR));
    NEED(interp_session_exec_start(b.s, r, &call, ERR));
    interp_request_free(r);
    for (int i = 0; i < 100; i++) {
        interp_content *c = NULL;
        interp_status st = interp_session_get_tar(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, &c, NULL);
        if (!st) {
            size_t n;
            const char *p = interp_content_data(c, &n);
            CHECK(n % 512 == 0 && !memmem(p, n, "VmPeak", 6));
        } else
            CHECK(st == INTERP_E_NOT_FOUND);
        interp_content_free(c);
        shell("rm -rf %s/got", b.dir);
        st = interp_session_get_dir(b.s, "t", INTERP_NTS, INTERP_TREE_LINKS, INTERP_FOREVER, in(&b, "got"), NULL, NULL);
        CHECK(st == INTERP_OK || st == INTERP_E_NOT_FOUND || st == INTERP_E_EXISTS);
        shell("! grep -rqs VmPeak %s", b.dir);
    }
    CHECK(interp_call_wait(call, INTERP_FOREVER, 0, NULL) >= 0);
    interp_call_free(call);
    free_box(&b);
}
TEST(given_up_and_taken_in_pieces)
{
    struct box b = new_box(NULL);
    struct ark a = { NULL, 0 };
    interp_call *call = NULL;
    size_t taken;
    char *big = malloc(2000001);
    memset(big, 'x', 2000000);
    big[2000000] = 0;
    member(&a, "one", '0', "1", "");
    member(&a, "big", '0', big, "");
    member(&a, "./sub//three/", '5', "", "");
    member(&a, "sub/three/f", '0', "3", "");
    end(&a);
    NEED(interp_session_put_tar_start(b.s, "t", INTERP_NTS, 0, &call, ERR));
    CHECK_INT(interp_call_kind(call), INTERP_CALL_PUT_TAR);
    for (size_t at = 0, step = 1; at < a.n; step = step < 70000 ? step * 3 : 1) {
        const interp_event *e;
        NEED(interp_call_write(call, a.p + at, a.n - at < step ? a.n - at : step, &taken, ERR));
        at += taken;
        if (!taken)
            OK(interp_call_wait(call, INTERP_FOREVER, 0, ERR));
        while (interp_call_next(call, &e) == INTERP_OK)
            ;
    }
    OK(interp_call_write_end(call, ERR));
    while (interp_call_wait(call, INTERP_FOREVER, 0, NULL) == INTERP_OK) {
        const interp_event *e;
        interp_status st;
        while ((st = interp_call_next(call, &e)) == INTERP_OK)
            ;
        if (st == INTERP_DONE)
            break;
    }
    OK(interp_call_finish(call, NULL, ERR));
    CHECK(strstr(interp_call_json(call, NULL), "{\"files\":3,\"dirs\":1,"));
    interp_call_free(call);
    prints(&b, "wc -c < t/big; cat t/one t/sub/three/f", "2000000\n13");
    NEED(interp_session_put_tar_start(b.s, "u", INTERP_NTS, 0, &call, ERR));
    OK(interp_call_write(call, a.p, 100000, &taken, ERR));
    interp_call_free(call);
    sh(&b, "for i in $(seq 200); do ls -A u | grep -q interp || break; sleep 0.1; done; ! ls -A u | grep interp; test ! -e u/big");
    interp_content *c = NULL;
    NEED(interp_session_get_tar_start(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, &call, ERR));
    OK(interp_call_wait(call, INTERP_FOREVER, 0, ERR));
    interp_call_free(call);
    OK(interp_session_get_tar(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, &c, ERR));
    interp_content_free(c);
    int p[2];
    REQUIRE(!pipe(p));
    close(p[0]);
    SAYS(interp_session_get_tar_fd(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, p[1], NULL, ERR), INTERP_E_IO, "Broken pipe");
    FILE *small = tmpfile();
    struct rlimit old, now;
    REQUIRE(small && !getrlimit(RLIMIT_FSIZE, &old));
    now = old;
    now.rlim_cur = 700;
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &now));
    SAYS(interp_session_get_tar_fd(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, fileno(small), NULL, ERR), INTERP_E_IO, "File too large");
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &old) && !fclose(small));
    close(p[1]);
    SAYS(interp_session_put_tar_fd(b.s, "t", INTERP_NTS, 0, p[1], NULL, ERR), INTERP_E_IO, "can't be read");
    free(big);
    free(a.p);
    free_box(&b);
}
/* The host's memory does not grow with the tree. */
TEST(memory_is_constant)
{
    struct box b = new_box("{\"workspace_bytes\": 314572800, \"memory_bytes\": 1073741824}");
    struct rusage before, after;
    interp_content *c = NULL;
    sh(&b, "mkdir t; cd t; for i in $(seq 20); do mkdir $i; head -c 3000000 /dev/zero > $i/z; done; cd 1; seq 5000 | xargs touch");
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    OK(interp_session_get_tar_fd(b.s, "t/2", INTERP_NTS, 0, INTERP_FOREVER, null, NULL, ERR));
    getrusage(RUSAGE_SELF, &before);
    OK(interp_session_get_tar_fd(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, null, NULL, ERR));
    OK(interp_session_get_dir(b.s, "t", INTERP_NTS, 0, INTERP_FOREVER, in(&b, "t"), NULL, ERR));
    sh(&b, "rm -rf t");
    OK(interp_session_put_dir(b.s, "t", INTERP_NTS, 0, in(&b, "t"), &c, ERR));
    getrusage(RUSAGE_SELF, &after);
    interp_content_free(c);
    prints(&b, "find t -type f | wc -l; du -sm t | cut -f1", "5020\n58\n");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)   /* those keep what was freed */
    CHECK(after.ru_maxrss - before.ru_maxrss < 16 << 10);
#endif
    close(null);
    free_box(&b);
}
TAP_MAIN()
