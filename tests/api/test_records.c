/* test_records.c - the records of a tree as an agent sends them that has been taken over: what no tree has ends the session, and nothing of it gets to the host.
   SPDX-License-Identifier: MIT */
#include "fake.h"

enum { FILE_ = WIRE_TYPE_FILE, DIR_ = WIRE_TYPE_DIR, LINK_ = WIRE_TYPE_LINK, SHORT_ = WIRE_ENTRY_SHORT, ALL = INTERP_TREE_LINKS | INTERP_TREE_OUTSIDE };

struct rec { uint8_t type, flags; const char *path; size_t path_len; const char *body; size_t size; };
#define R(type, flags, path, body) { type, flags, path, sizeof path - 1, body, 0 }     /* body: a text, or so many bytes */

/* What the agent sends for a pack: n records, in pieces of so many bytes (0: as many as fit), then the last of them again so many times, and that they were `count`. */
static struct { const struct rec *r; size_t n, piece; uint64_t count; int again; } script;

static size_t put_record(uint8_t *to, const struct rec *r)
{
    struct wire_out o = { to, to + 8192, 0 };
    size_t n = r->body && !r->size ? strlen(r->body) : r->size;
    struct wire_entry e = { .type = r->type, .flags = r->flags, .mode = 0755, .size = n, .path = { (const uint8_t *)r->path, (uint16_t)r->path_len } };
    interp__wire_put_entry(&o, &e);
    if (r->body && r->flags != SHORT_)
        interp__wire_put_bytes(&o, r->body, n);
    return (size_t)(o.p - to);
}
static void pack(struct fake_agent *a, const struct wire_file *m)
{
    static uint8_t all[32 << 10];
    size_t n = 0;
    for (size_t i = 0; i < script.n; i++)
        n += put_record(all + n, &script.r[i]);
    for (size_t at = 0, k; at < n; at += k) {
        k = script.piece && script.piece < n - at ? script.piece : n - at;
        fake_send(a, WIRE_DATA, 0, m->channel, all + at, k);
    }
    n = script.n ? put_record(all, &script.r[script.n - 1]) : 0;
    for (int i = 0; i < script.again; i++)
        fake_send(a, WIRE_DATA, 0, m->channel, all, n);
    uint8_t b[64];
    struct wire_out o = { b, b + sizeof b, 0 };
    struct wire_file_done d = { .channel = m->channel, .count = script.count };
    interp__wire_put_file_done(&o, &d);
    fake_send(a, WIRE_FILE_DONE, 0, 0, b, (size_t)(o.p - b));
}

/* How a get of that ends, and what it says; dir: into one of the host's, else as an archive. */
static interp_status get(int dir, uint32_t flags, interp_content **out, char *words, size_t n)
{
    struct fake b = { .file_work = pack };
    char place[] = "/tmp/interp-records-XXXXXX", dest[100], line[300];
    REQUIRE(mkdtemp(place));
    interp_ctx *x = new_ctx(0);
    interp_error *e = NULL;
    fake_add(x, &b);
    interp_session *s = open_with(x, "{\"backend\":\"fake\",\"tree_entries\":50,\"tree_bytes\":10000,\"timeout_ms\":20000}");
    snprintf(dest, sizeof dest, "%s/dest", place);
    interp_status st = dir ? interp_session_get_dir(s, "t", INTERP_NTS, flags, INTERP_FOREVER, dest, out, &e) : interp_session_get_tar(s, "t", INTERP_NTS, flags, INTERP_FOREVER, out, &e);
    snprintf(words, n, "%s: %s", interp_error_reason(e), interp_error_message(e));
    interp_error_free(e);
    interp_session_close(s);
    interp_ctx_free(x);
    snprintf(line, sizeof line, "cd %s && test -z \"$(find . -path ./dest -prune -o -mindepth 1 -print)\" && test -z \"$(find dest -type l -lname '/*' 2>/dev/null)\"", place);
    CHECK(!dir || flags & INTERP_TREE_OUTSIDE || !system(line));
    snprintf(line, sizeof line, "rm -rf %s", place);
    CHECK(!system(line));
    return st;
}
static void breaks(int line, const struct rec *r, size_t n)
{
    for (int i = 0; i < 4; i++) {
        interp_content *c = NULL;
        char words[400];
        script.r = r, script.n = n, script.piece = i & 1, script.again = 0;
        script.count = 0;             /* all else would be right */
        for (size_t k = 0; k < n; k++)
            script.count += !(r[k].flags & SHORT_);
        interp_status st = get(i & 2, INTERP_TREE_LINKS, &c, words, sizeof words);
        if (st != INTERP_E_PROTOCOL || strncmp(words, "protocol", 8))
            tap_fail(__FILE__, line, "%s: %s %s", i & 2 ? "get_dir" : "get_tar", interp_status_name(st), words);
        interp_content_free(c);
    }
}
#define BREAKS(...) do { static const struct rec r_[] = { __VA_ARGS__ }; breaks(__LINE__, r_, sizeof r_ / sizeof *r_); } while (0)

static void takes(int line, uint32_t flags, const struct rec *r, size_t n, uint64_t count, const char *want)
{
    interp_content *c = NULL;
    char words[400];
    for (int i = 0; i < 4; i++) {
        script.r = r, script.n = n, script.count = count, script.piece = i & 1, script.again = 0;
        interp_status st = get(i & 2, flags, &c, words, sizeof words);
        if (st)
            tap_fail(__FILE__, line, "%s: %s %s", i & 2 ? "get_dir" : "get_tar", interp_status_name(st), words);
        else if (i & 2 && !strstr(interp_content_data(c, NULL), want))
            tap_fail(__FILE__, line, "no %s in %s", want, (const char *)interp_content_data(c, NULL));
        interp_content_free(c);
        c = NULL;
    }
}
#define TAKES(flags, count, want, ...) do { static const struct rec r_[] = { __VA_ARGS__ }; takes(__LINE__, flags, r_, sizeof r_ / sizeof *r_, count, want); } while (0)

TEST(names_are_whole_paths_of_the_tree)
{
    static char long_part[257], long_path[WIRE_PATH_MAX + 2];
    memset(long_part, 'n', 256);
    for (size_t i = 0; i < WIRE_PATH_MAX + 1; i++)
        long_path[i] = i % 2 ? '/' : 'd';
    const struct { const char *p; size_t n; } names[] = {
#define N(s) { s, sizeof s - 1 }
        N("/"), N("/b"), N("//b"), N("/d"), N("/d/b"), N("d/"), N("b/"), N("d//b"), N("d/b/"), N("."), N("./b"), N("d/."), N("d/./b"), N(".."), N("../b"), N("d/.."), N("d/../b"), N("e/b"), N("b\0c"), N("d/b\0"), N("\0"),
        N("d/b/c"), { long_part, 256 }, { long_path, WIRE_PATH_MAX + 1 } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint8_t type = FILE_; type <= LINK_; type++) {
            struct rec r[] = { R(DIR_, 0, "d", NULL), { type, 0, names[i].p, names[i].n, type == FILE_ ? "evil" : type == LINK_ ? "../secret" : NULL, 0 } };
            breaks(__LINE__ + (int)i * 1000, r, 2);
        }
    BREAKS(R(LINK_, 0, "/escape", "../secret"));
    BREAKS(R(DIR_, 0, "/etc", NULL), R(FILE_, 0, "/etc/passwd", "evil"));
    BREAKS(R(FILE_, WIRE_ENTRY_CLOSED, "/b", NULL));                   /* also where nothing of it comes */
    BREAKS(R(DIR_, WIRE_ENTRY_CLOSED, "../b", NULL));
    BREAKS(R(WIRE_TYPE_FIFO, 0, "d/../b", NULL));
    BREAKS(R(WIRE_TYPE_SAME, 0, "b", "a"));
    BREAKS(R(DIR_, 0, "d", NULL), R(FILE_, 0, "b", "x"), R(FILE_, 0, "d/b", "x"));    /* d has been left */
    BREAKS({ LINK_, 0, "l", 1, "..\0", 3 });                          /* read in one way, ".." is no part of it */
    BREAKS({ LINK_, 0, "l", 1, "..\0/x", 5 });
    BREAKS({ LINK_, 0, "l", 1, "\0x", 2 });
    TAKES(INTERP_TREE_LINKS, 4, "\"left\":[{\"name\":\"d/out\"", R(DIR_, 0, "d", NULL), R(LINK_, 0, "d/up", ".."), R(LINK_, 0, "d/out", "../../secret"), R(FILE_, 0, "...", "x"));
}
TEST(a_file_becomes_shorter_once_and_then)
{
    TAKES(0, 1, "\"changed\":1,", R(FILE_, 0, "f", "text"), R(FILE_, SHORT_, "f", "text"));
    TAKES(0, 2, "\"changed\":1,", R(DIR_, 0, "d", NULL), R(FILE_, 0, "d/f", "text"), R(FILE_, SHORT_, "d/f", "text"));
    BREAKS(R(FILE_, SHORT_, "f", NULL));
    BREAKS(R(FILE_, 0, "f", "text"), R(FILE_, SHORT_, "f", NULL), R(FILE_, SHORT_, "f", NULL));
    BREAKS(R(FILE_, 0, "f", "text"), R(FILE_, SHORT_, "g", NULL));
    BREAKS(R(FILE_, 0, "f", "text"), R(FILE_, SHORT_, "ff", NULL));
    BREAKS(R(FILE_, 0, "ff", "text"), R(FILE_, SHORT_, "f", NULL));
    BREAKS(R(FILE_, 0, "f", "text"), R(DIR_, SHORT_, "f", NULL));
    BREAKS(R(FILE_, 0, "f", "text"), R(FILE_, SHORT_ | WIRE_ENTRY_CLOSED, "f", NULL));
    BREAKS(R(FILE_, 0, "f", NULL), R(FILE_, SHORT_, "f", NULL));                         /* it had nothing */
    BREAKS(R(FILE_, WIRE_ENTRY_CLOSED, "f", NULL), R(FILE_, SHORT_, "f", NULL));
    BREAKS(R(LINK_, 0, "f", "text"), R(FILE_, SHORT_, "f", NULL));
    BREAKS(R(FILE_, 0, "f", "text"), R(DIR_, 0, "d", NULL), R(FILE_, SHORT_, "f", NULL));
}
TEST(what_never_ends_is_ended)
{
    static const struct rec kinds[] = { R(FILE_, SHORT_, "f", NULL), R(FILE_, WIRE_ENTRY_CLOSED, "f", NULL), R(FILE_, 0, "f", NULL), R(DIR_, 0, "f", NULL), R(LINK_, 0, "f", "x"), R(WIRE_TYPE_FIFO, 0, "f", NULL), R(FILE_, 0, "f", "more") };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct rec r[] = { R(FILE_, 0, "f", "text"), kinds[i] };
        interp_content *c = NULL;
        char words[400];
        script.r = r, script.n = 2, script.count = 1, script.piece = 0, script.again = 2000;
        interp_status st = get(0, INTERP_TREE_LINKS, &c, words, sizeof words);
        if (st != (kinds[i].flags == SHORT_ ? INTERP_E_PROTOCOL : INTERP_E_LIMIT))
            tap_fail(__FILE__, __LINE__, "%zu: %s %s", i, interp_status_name(st), words);
        interp_content_free(c);
    }
}
/* Who unpacks an archive in which a link leads elsewhere must not be made to write through it. */
TEST(what_was_a_link_stays_one)
{
    static const struct rec kinds[] = { R(DIR_, 0, "d", NULL), R(DIR_, WIRE_ENTRY_CLOSED, "d", NULL), R(FILE_, 0, "d", "evil"), R(LINK_, 0, "d", "/usr") };
    interp_content *c = NULL;
    char words[400];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct rec r[] = { R(LINK_, 0, "d", "/etc"), kinds[i] };
        script.r = r, script.n = script.count = 2, script.piece = 0, script.again = 0;
        CHECK_INT(get(0, ALL, &c, words, sizeof words), INTERP_E_IO);
        CHECK(strstr(words, "changed: ") && strstr(words, "\"d\""));
        CHECK_INT(get(1, ALL, &c, words, sizeof words), INTERP_E_EXISTS);
    }
    TAKES(INTERP_TREE_LINKS, 2, "\"links\":2", R(LINK_, 0, "a", "b"), R(LINK_, 0, "b", "c"));
}
TAP_MAIN()
