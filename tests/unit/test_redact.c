/* test_redact.c - the redaction engine (lib/output/redact) against a naive one, and what other maskers are known to get wrong.
   SPDX-License-Identifier: MIT

   No secret stands here or in a case file: examples are kept in parts, values are made at run time. */
#include "tap.h"
#include "../bench/corpus.h"
#include "redact.h"
#include <pthread.h>

static const struct interp__mem *const MEM = &interp__mem_default;

static struct interp__redact_set *new_set(void)
{
    struct interp__redact_set *s = interp__redact_set_new(MEM);
    REQUIRE(s != NULL);
    return s;
}
static void add(struct interp__redact_set *s, const char *name, const void *p, size_t n)
{
    interp_error *e = NULL;
    if (interp__redact_set_value(s, name, p, n, &e)) {
        FAIL("value %s: %s", name, interp_error_message(e));
        interp_error_free(e);
    }
}
/* The text redacted in one push; a static buffer with a NUL behind. */
static const char *redact(struct interp__redact_set *s, const void *p, size_t n)
{
    static struct interp__buf out = { &interp__mem_default, NULL, 0, 0, 0 };
    uint64_t seed = 1;
    out.len = 0;
    engine(s, p, n == INTERP_NTS ? strlen(p) : n, CUT_WHOLE, 0, &seed, &out, NULL);
    return interp__buf_text(&out);
}
static char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *fmt, ...)
{
    static char ring[8][8192];
    static int at;
    char *to = ring[at++ % 8];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(to, sizeof ring[0], fmt, ap);
    va_end(ap);
    return to;
}
static void rows_or_skip(void)
{
    if (load_rows(CASES "/detectors.jsonl"))
        SKIP("no detectors.jsonl");
}

/* ---- the rows */

static int expected(const struct row *r, const char *out)
{
    return strstr(out, text("[REDACTED:%s]", r->name)) != NULL;
}
TEST(examples_are_found)
{
    rows_or_skip();
    struct interp__redact_set *s = new_set();
    interp__redact_set_detector(s, "all", 1, NULL);
    static const char *const around[][2] = { { "", "" }, { "", "\n" }, { "x ", " y\n" }, { "\"", "\"" }, { "key=", "," }, { "(", ")" }, { "a=", "&b=1" }, { "{\"k\":\"", "\"}" }, { "\n", "\r\n" }, { ">", "<" } };
    for (int i = 0; i < nrows; i++)
        for (size_t k = 0; k < sizeof around / sizeof *around; k++) {
            const struct row *r = &rows[i];
            /* a row that shows a field needs what stands before it */
            const char *in = text("%s%s%s", around[k][0], r->example, around[k][1]), *out = redact(s, in, INTERP_NTS);
            if (!expected(r, out))
                FAIL("%s in %s..%s: not found", r->name, around[k][0], around[k][1]);
        }
    interp__redact_set_free(s);
}
TEST(examples_cut_anywhere)
{
    rows_or_skip();
    struct interp__redact_set *s = new_set();
    interp__redact_set_detector(s, "all", 1, NULL);
    for (int i = 0; i < nrows; i++) {
        const char *in = text("head %s tail\n", rows[i].example);
        char *want = strdup(redact(s, in, INTERP_NTS));
        for (size_t cut = 1; cut < strlen(in); cut++) {
            struct interp__redactor *r = interp__redactor_new(s, MEM);
            struct interp__buf out;
            interp__buf_init(&out, MEM);
            interp__redactor_push(r, in, cut, &out);
            interp__redactor_push(r, in + cut, strlen(in) - cut, &out);
            interp__redactor_finish(r, &out);
            CHECK_STR(interp__buf_text(&out), want);
            interp__redactor_free(r);
            interp__buf_free(&out);
        }
        free(want);
    }
    interp__redact_set_free(s);
}
TEST(near_misses_pass)
{
    rows_or_skip();
    struct interp__redact_set *s = new_set();
    interp__redact_set_detector(s, "all", 1, NULL);
    for (int i = 0; i < nrows; i++)
        for (int k = 0; k < rows[i].nnegatives; k++) {
            /* an end behind it: at the end of a stream the start of a secret counts, too */
            const char *in = text("%s\n;;\n", rows[i].negative[k]), *out = redact(s, in, INTERP_NTS);
            if (expected(&rows[i], out))
                FAIL("%s: near miss %d is taken for one", rows[i].name, k);
        }
    interp__redact_set_free(s);
}
TEST(labels_match_nothing)
{
    struct interp__redact_set *s = new_set();
    interp__redact_set_detector(s, "all", 1, NULL);
    for (uint32_t i = 0; interp__redact_detector_name(i); i++) {
        const char *in = text("a [REDACTED:%s] b [REDACTED:%s:partial]\n", interp__redact_detector_name(i), interp__redact_detector_name(i));
        CHECK_STR(redact(s, in, INTERP_NTS), in);
    }
    interp__redact_set_free(s);
}
TEST(detectors_switch)
{
    struct interp__redact_set *s = new_set();
    const char *in = text("%s%s and 10.%s\n", "AK" "IA", "FAKEEXAMPLENOTRE", "1.2.3");
    CHECK_STR(redact(s, in, INTERP_NTS), "[REDACTED:aws-access-key-id] and 10.1.2.3\n");   /* addresses and paths only when asked for */
    CHECK(interp__redact_set_detector(s, "network", 1, NULL) == INTERP_OK);
    CHECK_STR(redact(s, in, INTERP_NTS), "[REDACTED:aws-access-key-id] and [REDACTED:ipv4-private]\n");
    CHECK(interp__redact_set_detector(s, "network", 0, NULL) == INTERP_OK);
    CHECK(strstr(redact(s, in, INTERP_NTS), "and 10.1.2.3") != NULL);
    CHECK(interp__redact_set_detector(s, "all", 0, NULL) == INTERP_OK);
    CHECK_STR(redact(s, in, INTERP_NTS), in);
    CHECK(interp__redact_set_detector(s, "aws-access-key-id", 1, NULL) == INTERP_OK);
    CHECK(strstr(redact(s, in, INTERP_NTS), "[REDACTED:aws-access-key-id] and 10.1") != NULL);
    CHECK(interp__redact_set_detector(s, "no-such", 1, NULL) == INTERP_E_NOT_FOUND);
    interp__redact_set_free(s);
}
TEST(octets)
{
    struct interp__redact_set *s = new_set();
    CHECK(interp__redact_set_detector(s, "ipv4-private", 1, NULL) == INTERP_OK);
    CHECK_STR(redact(s, "10.0.0.256 10.0.0.1.2 10.0.300.1 172.32.0.1 172.31.255.255 192.168.001.9, 169.254.169.254/x 110.1.2.3", INTERP_NTS),
              "10.0.0.256 10.0.0.1.2 10.0.300.1 172.32.0.1 [REDACTED:ipv4-private] [REDACTED:ipv4-private], [REDACTED:ipv4-private]/x 110.1.2.3");
    interp__redact_set_free(s);
}

/* ---- properties */

enum { VALUES = 4 };
struct doc_values { char p[VALUES][64]; size_t n[VALUES]; int count; };

static void make_values(struct doc_values *v, uint64_t *seed)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$/+= \"\\\n'\xC3\xA4%";
    v->count = (int)rnd(seed, VALUES + 1);
    for (int i = 0; i < v->count; i++) {
        int plain = rnd(seed, 3) != 0, doubled = rnd(seed, 4) == 0;
        v->n[i] = 9 + rnd(seed, 40);
        for (size_t k = 0; k < v->n[i]; k++)
            v->p[i][k] = doubled ? "ab"[rnd(seed, 2)] : alphabet[rnd(seed, plain ? 62 : sizeof alphabet - 1)];
        v->p[i][0] = 'q';
        v->p[i][1] = (char)('0' + i);
    }
}
static size_t base64_of(char *to, const uint8_t *p, size_t n, int url)
{
    static const char *const t[2] = { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" };
    size_t k = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
        for (int c = 0; c < 4; c++)
            if (i + (size_t)c <= n)
                to[k++] = t[url][v >> (18 - 6 * c) & 63];
    }
    return k;
}
static void sprinkle(struct interp__buf *b, const char *p, size_t n, int escapes, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        if (escapes && rnd(seed, 6) == 0)
            interp__buf_add(b, "\x1b[01;31m", rnd(seed, 3) ? 8 : 4);
        if (escapes && rnd(seed, 8) == 0)
            interp__buf_add(b, "\0\0\0", 1 + rnd(seed, 3));
        interp__buf_add(b, p + i, 1);
    }
}
static void make_doc(struct interp__buf *b, const struct doc_values *v, int escapes, uint64_t *seed)
{
    static char t[4096];
    for (uint32_t parts = 1 + rnd(seed, 14); parts; parts--) {
        int k = v->count ? (int)rnd(seed, (uint32_t)v->count) : -1;
        const struct row *r = &rows[rnd(seed, (uint32_t)nrows)];
        switch (rnd(seed, 16)) {
        case 0: case 1:
            if (rnd(seed, 2))
                interp__buf_add(b, &"\n '\"=,"[rnd(seed, 6)], 1);
            interp__buf_add(b, r->example, rnd(seed, 4) ? r->example_len : rnd(seed, (uint32_t)r->example_len));
            break;
        case 2:
            if (r->nnegatives) {
                uint32_t x = rnd(seed, (uint32_t)r->nnegatives);
                interp__buf_add(b, r->negative[x], r->negative_len[x]);
            }
            break;
        case 3: case 4:
            if (k >= 0)
                interp__buf_add(b, v->p[k], v->n[k]);
            break;
        case 5:
            if (k >= 0) {   /* wrapped */
                size_t m = base64_of(t, (const uint8_t *)v->p[k], v->n[k], (int)rnd(seed, 2)), w = rnd(seed, (uint32_t)m);
                interp__buf_add(b, t, w);
                interp__buf_str(b, "\r\n");
                interp__buf_add(b, t + w, m - w);
            }
            break;
        case 6:
            if (k >= 0) {   /* in the middle of something else */
                uint8_t u[128] = "wxyz";
                size_t a = rnd(seed, 5), z = rnd(seed, 4);
                memcpy(u + a, v->p[k], v->n[k]);
                memset(u + a + v->n[k], 'Z', z);
                interp__buf_add(b, t, base64_of(t, u, a + v->n[k] + z, (int)rnd(seed, 2)));
            }
            break;
        case 7:
            if (k >= 0)
                for (size_t q = 0; q < v->n[k]; q++) {
                    if (rnd(seed, 6) == 0)
                        interp__buf_str(b, rnd(seed, 2) ? "\n" : "\r\n   \t");
                    sprinkle(b, v->p[k] + q, 1, escapes, seed);
                }
            break;
        case 8:
            if (k >= 0)
                interp__buf_add(b, v->p[k], rnd(seed, (uint32_t)v->n[k]));
            break;
        case 9:
            if (k >= 0)
                for (size_t q = 0; q < v->n[k]; q++)
                    interp__buf_fmt(b, rnd(seed, 2) ? "%02x" : "%02x", (unsigned)(uint8_t)v->p[k][q]);
            break;
        case 10: case 11:
            for (uint32_t n = rnd(seed, 40); n; n--)
                interp__buf_add(b, &"abcdefghij ABCDEFG0123456789./:-_=+\n\t\"'@%&;q"[rnd(seed, 45)], 1);
            break;
        case 12:
            interp__buf_str(b, rnd(seed, 2) ? "\n" : " ");
            break;
        case 13:
            for (uint32_t n = rnd(seed, 6); n; n--) {
                const struct row *x = &rows[rnd(seed, (uint32_t)nrows)];
                const char *w = x->keyword[rnd(seed, (uint32_t)x->nkeywords)];
                interp__buf_add(b, w, rnd(seed, 3) ? strlen(w) : rnd(seed, (uint32_t)strlen(w)));
            }
            break;
        case 14:
            sprinkle(b, r->example, r->example_len, escapes, seed);
            for (uint32_t n = rnd(seed, 2) ? rnd(seed, 400) : 0; n; n--)
                interp__buf_add(b, &"ABCDEFabcdef0123456789"[rnd(seed, 22)], 1);
            break;
        default:
            if (rnd(seed, 8) == 0)   /* more left out in a row than what belongs together may have */
                for (uint32_t n = 250 + rnd(seed, 12); n; n--)
                    interp__buf_add(b, escapes ? "" : "\n", 1);
        }
    }
    if (rnd(seed, 2))
        interp__buf_str(b, "\n;;\n");
}
static int differs(const struct interp__buf *a, const struct interp__buf *b)
{
    return a->len != b->len || (a->len && memcmp(a->p, b->p, a->len) != 0);
}
static void show(const char *what, const struct interp__buf *b)
{
    printf("# %s (%zu): ", what, b->len);
    for (size_t i = 0; i < b->len && i < 1500; i++)
        if (b->p[i] >= 32 && b->p[i] < 127)
            putchar(b->p[i]);
        else
            printf("\\x%02x", b->p[i]);
    puts("");
}
/* A value in full in what went out. */
static int leaks(struct interp__redact_set *set, const struct interp__buf *out)
{
    struct redact_snapshot *now = interp__redact_set_now(set, NULL);
    uint8_t *n = malloc(out->len + 1);
    size_t len = out->len ? interp__redact_normalise(n, out->p, out->len) : 0;
    int leak = 0;
    for (uint32_t i = 0; i < now->nliterals && !leak; i++)
        leak = len >= now->literals[i].len && memmem(n, len, now->literals[i].p, now->literals[i].len) != NULL;
    free(n);
    interp__redact_snapshot_free(now);
    return leak;
}
/* One random document. Where it ends, or a gap is too long to be one, a detector's match may be cut off, which only the engine knows how to judge: the naive
   engine is asked about documents with an end and of one stretch. */
static int property(uint64_t number, struct oracle *o)
{
    uint64_t seed = number * UINT64_C(1000003), before = (uint64_t)tap_shared->failures;
    struct doc_values v;
    struct interp__buf doc, whole, cut, naive, idle;
    struct interp__redact_set *set = new_set();
    interp__buf_init(&doc, MEM), interp__buf_init(&whole, MEM), interp__buf_init(&cut, MEM), interp__buf_init(&naive, MEM), interp__buf_init(&idle, MEM);
    make_values(&v, &seed);
    for (int i = 0; i < v.count; i++)
        if (interp__redact_set_value(set, text("v%d", i), v.p[i], v.n[i], NULL))   /* all of one byte, too few without blanks */
            v.n[i] = 1;
    make_doc(&doc, &v, rnd(&seed, 3) == 0, &seed);
    engine(set, doc.p, doc.len, CUT_WHOLE, 0, &seed, &whole, NULL);
    engine(set, doc.p, doc.len, (enum cut)(1 + rnd(&seed, 4)), 0, &seed, &cut, NULL);
    if (differs(&whole, &cut)) {
        FAIL("document %llu: the output depends on how it was cut", (unsigned long long)number);
        show("document", &doc), show("whole", &whole), show("cut", &cut);
    }
    if (leaks(set, &whole)) {
        FAIL("document %llu: a value got through", (unsigned long long)number);
        show("document", &doc), show("out", &whole);
    }
    engine(set, doc.p, doc.len, (enum cut)(1 + rnd(&seed, 4)), 1 + (int)rnd(&seed, 2), &seed, &idle, NULL);
    if (leaks(set, &idle)) {
        FAIL("document %llu: a value got through with idle", (unsigned long long)number);
        show("document", &doc), show("out", &idle);
    }
    if (doc.len >= 4 && !memcmp(doc.p + doc.len - 4, "\n;;\n", 4) && o) {
        o->set = set;
        if (oracle_run(o, doc.p, doc.len, &naive) == 1 && differs(&whole, &naive)) {
            FAIL("document %llu: the naive engine says otherwise", (unsigned long long)number);
            show("document", &doc), show("whole", &whole), show("naive", &naive);
        }
    }
    interp__redact_set_free(set);
    interp__buf_free(&doc), interp__buf_free(&whole), interp__buf_free(&cut), interp__buf_free(&naive), interp__buf_free(&idle);
    return tap_shared->failures > (int)before;
}
TEST_LONG(properties, 280)
{
    const char *from = getenv("REDACT_SEED"), *rounds = getenv("REDACT_ROUNDS");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1, n = rounds ? strtoull(rounds, NULL, 10) : 3000 / tap_slow(), bad = 0;
    struct oracle o, *naive = NULL;
    rows_or_skip();
#ifdef INTERP_PCRE2
    struct interp__redact_set *s = new_set();
    REQUIRE(oracle_init(&o, s) == 0);
    interp__redact_set_free(s);
    naive = &o;
#endif
    for (uint64_t i = 0; i < n && bad < 3; i++)
        bad += (uint64_t)property(first + i, naive);
    if (naive) {
        MEASURE("matches of the naive engine", o.matches, "");
        oracle_free(&o);
    }
}

/* The programs against the patterns they were made from: examples changed a little, cut, and made longer than the longest match. */
TEST_LONG(programs_against_pcre2, 120)
{
    rows_or_skip();
#ifdef INTERP_PCRE2
    static uint8_t all[PATTERN_COUNT];
    static const char *const before[] = { "", " ", "a", "-", "\"", "://", "=" }, *const after[] = { "", " ", "x", "=", "9", ".1", "@", "\"", "-" };
    struct interp__redact_set *set = new_set();
    struct oracle o;
    struct interp__buf doc, got, want;
    const char *from = getenv("REDACT_SEED");
    uint64_t seed = from ? strtoull(from, NULL, 10) : 11, first = 1;
    interp__redact_set_detector(set, "all", 1, NULL);
    REQUIRE(oracle_init(&o, set) == 0);
    memset(all, 1, sizeof all);
    o.on = all;
    interp__buf_init(&doc, MEM), interp__buf_init(&got, MEM), interp__buf_init(&want, MEM);
    for (int i = 0; i < nrows; i++)
        for (int round = 0; round < 40 / (int)tap_slow(); round++) {
            const struct row *r = &rows[i];
            doc.len = got.len = want.len = 0;
            interp__buf_str(&doc, before[rnd(&seed, sizeof before / sizeof *before)]);
            size_t at = doc.len, n = round % 3 == 1 ? 1 + rnd(&seed, (uint32_t)r->example_len) : r->example_len;
            interp__buf_add(&doc, r->example, n);
            for (uint32_t k = rnd(&seed, 3); k; k--)
                doc.p[at + rnd(&seed, (uint32_t)n)] = (uint8_t)"aZ09_-./=: \n\"'%@"[rnd(&seed, 16)];
            if (round % 3 == 2)
                for (uint32_t k = round == 2 ? 2200 : rnd(&seed, 300); k; k--)
                    interp__buf_add(&doc, r->example + r->example_len - 1 - (round % 4 ? 0 : rnd(&seed, 8)), 1);
            interp__buf_str(&doc, after[rnd(&seed, sizeof after / sizeof *after)]);
            interp__buf_str(&doc, "\n;;\n");
            engine(set, doc.p, doc.len, (enum cut)rnd(&seed, 5), 0, &seed, &got, NULL);
            oracle_run(&o, doc.p, doc.len, &want);
            if (differs(&got, &want) && first++ < 4) {
                FAIL("%s, round %d: PCRE2 says otherwise", r->name, round);
                show("document", &doc), show("engine", &got), show("pcre2", &want);
            }
        }
    MEASURE("matches", o.matches, "");
    CHECK(o.matches > 500 / tap_slow());
    interp__buf_free(&doc), interp__buf_free(&got), interp__buf_free(&want);
    oracle_free(&o);
    interp__redact_set_free(set);
#else
    SKIP("built without PCRE2");
#endif
}

TEST(variants_of_the_prefilter)
{
    redact_scan_fn *portable = interp__redact_scan_portable(), *vector = interp__redact_scan_vector();
    static uint8_t p[5000 + REDACT_PAD];
    uint32_t a[64], b[64];
    uint64_t seed = 5;
    if (!vector)
        SKIP("no vector variant on this machine");
    rows_or_skip();
    for (int round = 0; round < 4000; round++) {
        size_t n = 40 + rnd(&seed, 4900);
        for (size_t i = 0; i < n;) {
            const struct row *r = &rows[rnd(&seed, (uint32_t)nrows)];
            const char *w = r->keyword[rnd(&seed, (uint32_t)r->nkeywords)];
            if (rnd(&seed, 2))
                p[i++] = (uint8_t)rnd(&seed, 256);
            else
                for (; *w && i < n; w++)
                    p[i++] = (uint8_t)*w;
        }
        size_t to = n - 3, from = rnd(&seed, 40) % to, cap = 1 + rnd(&seed, 64);
        while (from < to) {
            size_t x = portable(p, from, to, a, cap), y = vector(p, from, to, b, cap);
            REQUIRE(x == y && !memcmp(a, b, x * sizeof *a));
            from = x == cap ? a[x - 1] + 1 : to;
        }
    }
}

/* ---- values */

TEST(refused_values)
{
    static const struct { const char *name, *value, *reason; } cases[] = {
        { "a", "short", "redact-short" }, { "a", "seven77", "redact-short" }, { "a", "12\n  34\n 567\r\n", "redact-short" }, { "a", "aaaaaaaaaaaa", "redact-common" }, { "a", "Password", "redact-common" },
        { "a", "localhost", "redact-common" }, { "a", "REDACTED", "redact-common" }, { "my-long-token-name", "long-token", "redact-common" }, { "", "q8r7s6t5u4", "redact-name" }, { "a b", "q8r7s6t5u4", "redact-name" },
        { "a]", "q8r7s6t5u4", "redact-name" }, { "a2345678901234567890123456789012345678901", "q8r7s6t5u4", "redact-name" } };
    struct interp__redact_set *s = new_set();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        interp_error *e = NULL;
        CHECK(interp__redact_set_value(s, cases[i].name, cases[i].value, INTERP_NTS, &e) == INTERP_E_INVAL);
        CHECK_STR(interp_error_reason(e), cases[i].reason);
        CHECK(strstr(interp_error_message(e), cases[i].value) == NULL || strstr(cases[i].name, cases[i].value) != NULL);   /* errors do not tell values */
        interp_error_free(e);
    }
    static char big[INTERP__REDACT_VALUE_MAX + 2];
    for (size_t i = 0; i < sizeof big - 1; i++)
        big[i] = (char)('a' + i * 7 % 25);
    CHECK(interp__redact_set_value(s, "big", big, INTERP_NTS, NULL) == INTERP_E_LIMIT);
    CHECK(interp__redact_set_value(s, "big", big, INTERP__REDACT_VALUE_MAX, NULL) == INTERP_OK);
    CHECK(interp__redact_set_value(s, "null", NULL, 3, NULL) == INTERP_E_INVAL);
    CHECK(strstr(redact(s, big, INTERP__REDACT_VALUE_MAX), "[REDACTED:big]") != NULL);
    interp__redact_set_free(s);
}
TEST(encodings)
{
    struct interp__redact_set *s = new_set();
    const char *v = "q8/r\"7+s<6'\\t5 u\xC3\xA4" "4";
    add(s, "key", v, INTERP_NTS);
    static const char *const shown[] = {
        "q8/r\"7+s<6'\\t5 u\xC3\xA4" "4", "71382f7222372b733c36275c743520" "75c3a434", "71382F7222372B733C36275C743520" "75C3A434", "q8%2Fr%227%2Bs%3C6%27%5Ct5%20u%C3%A4" "4", "q8%2fr%227%2bs%3c6%27%5ct5%20u%c3%a4" "4",
        "q8/r%227%2Bs%3C6%27%5Ct5+u%C3%A4" "4", "q8/r\\\"7+s<6'\\\\t5 u\xC3\xA4" "4", "q8/r\\\"7+s<6'\\\\t5 u\\u00e4" "4", "q8\\/r\\\"7+s\\u003c6\\u0027\\\\t5 u\xC3\xA4" "4", "q8/r\"7+s<6\\'\\\\t5 u\\xc3\\xa4" "4",
        "q8/r\\\"7+s<6'\\\\t5 u\\xc3\\xa4" "4", "q8/r\"7+s<6'\\''\\t5 u\xC3\xA4" "4", "4\xA4\xC3u 5t\\'6<s+7\"r/8q" };
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        CHECK_STR(redact(s, text("<%s>", shown[i]), INTERP_NTS), "<[REDACTED:key]>");
    /* what differs between programs; the first of each row is the value */
    static const char *const programs[][9] = {
        { "P@ss w0rd!#2024/x*~", "P%40ss%20w0rd!%232024%2Fx*~", "P@ss%20w0rd!#2024/x*~", "P%40ss+w0rd%21%232024%2Fx%2A~", "P%40ss%20w0rd%21%232024/x%2A~", "P%40ss+w0rd%21%232024%2Fx*%7E", "P%40ss+w0rd!%232024%2fx*%7e",
          "P@ss%20w0rd%21%232024%2Fx%2A~", "P@ss%20w0rd!%232024%2Fx*~" },
        { "tok/en+a&b=c<9>'x\"", "tok/en+a\\u0026b=c\\u003c9\\u003e'x\\\"", "tok\\/en+a&b=c<9>'x\\\"", "tok/en+a\\u0026b\\u003dc\\u003c9\\u003e\\u0027x\\\"", "tok/en\\u002Ba\\u0026b=c\\u003C9\\u003E\\u0027x\\u0022",
          "tok/en+a&amp;b=c&lt;9&gt;'x\"", "tok/en+a&amp;b=c&lt;9&gt;&#x27;x&quot;", "tok/en+a&amp;b=c&lt;9&gt;&#39;x&#34;", "tok/en+a&amp;b=c&lt;9&gt;&apos;x&quot;" },
        { "k\xC3\xA4se \xE2\x82\xAC \xF0\x9F\x98\x80 42", "k\\xe4se \\u20ac \\U0001f600 42", "k\\u00e4se \\u20ac \\ud83d\\ude00 42", "k\\u00E4se \\u20AC \\uD83D\\uDE00 42", "k\\xc3\\xa4se \\xe2\\x82\\xac \\xf0\\x9f\\x98\\x80 42" },
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        add(s, "other", programs[i][0], INTERP_NTS);
        for (size_t k = 0; k < 9 && programs[i][k]; k++)
            CHECK_STR(redact(s, text("<%s>", programs[i][k]), INTERP_NTS), "<[REDACTED:other]>");
    }
    /* base64 in the middle of more: nothing of it is left but what the neighbours decide */
    for (int url = 0; url < 2; url++)
        for (size_t before = 0; before < 7; before++)
            for (size_t after = 0; after < 7; after++) {
                uint8_t all[64];
                char t[128];
                size_t n = strlen(v);
                memset(all, 'x', sizeof all);
                memcpy(all + before, v, n);
                t[base64_of(t, all, before + n + after, url)] = 0;
                const char *out = redact(s, t, INTERP_NTS), *label = strstr(out, "[REDACTED:key]");
                if (!CHECK(label != NULL))
                    continue;
                CHECK((size_t)(label - out) <= before * 8 / 6 && strlen(label + 14) <= after * 8 / 6 + 1);
            }
    /* UTF-16 and colours */
    char wide[128];
    size_t k = 0;
    add(s, "plain", "abcdefgh12345", INTERP_NTS);
    for (const char *q = "abcdefgh12345"; *q; q++)
        wide[k++] = *q, wide[k++] = 0;
    CHECK(memmem(redact(s, wide, k), 16, "[REDACTED:plain]", 16) != NULL);
    static const char little[] = "k\0\xE4\0s\0e\0 \0\xAC\x20 \0\x3D\xD8\x00\xDE \0" "4\0" "2", big[] = "\0k\0\xE4\0s\0e\0 \x20\xAC\0 \xD8\x3D\xDE\x00\0 \0" "4\0" "2";
    CHECK(memmem(redact(s, little, sizeof little), 16, "[REDACTED:other]", 16) != NULL);
    CHECK_STR(redact(s, big, sizeof big) + 1, "[REDACTED:other]");     /* behind the zero of the first character */
    CHECK_STR(redact(s, "a\x1b[1mbcdefgh\x1b[0m12345 b\x1b[7mx", INTERP_NTS), "[REDACTED:plain]\x1b[1m\x1b[0m b\x1b[7mx");
    interp__redact_set_free(s);
}
TEST(several_lines)
{
    struct interp__redact_set *s = new_set();
    add(s, "pem", "first line of a key 111111\nsecond line of a key 22222\n", INTERP_NTS);
    CHECK_STR(redact(s, "x first line of a key 111111\r\n    second line of a key 22222\ny\n", INTERP_NTS), "x [REDACTED:pem]\n\ny\n");
    CHECK_STR(redact(s, "only second line of a key 22222 here\n", INTERP_NTS), "only [REDACTED:pem] here\n");   /* its lines, too */
    CHECK_STR(redact(s, "first line of a key 111111\\nsecond line of a key 22222\\n", INTERP_NTS), "[REDACTED:pem]");
    interp__redact_set_free(s);
}

/* What other maskers are known for, as new inputs. */
TEST(known_failures)
{
    struct interp__redact_set *s = new_set();
    uint64_t seed = 3;
    /* a value that starts again inside itself, at any cut (a masker that falls back to its first byte leaks it) */
    add(s, "again", "abcd-abcd-X9", INTERP_NTS);
    const char *in = "abcd-abcd-abcd-X9 abcd-abcd-abcd-abcd-X9", *want = "abcd-[REDACTED:again] abcd-abcd-[REDACTED:again]";
    CHECK_STR(redact(s, in, INTERP_NTS), want);
    struct interp__buf out;
    interp__buf_init(&out, MEM);
    engine(s, (const uint8_t *)in, strlen(in), CUT_ONE, 0, &seed, &out, NULL);
    CHECK_STR(interp__buf_text(&out), want);
    interp__buf_free(&out);
    /* a JSON value of several lines: its braces are not secrets of their own */
    add(s, "json", "{\n  \"private\": \"k7Jm2Qx9\"\n}\n", INTERP_NTS);
    CHECK_STR(redact(s, "{ \"a\": [{}] }\n{}\n", INTERP_NTS), "{ \"a\": [{}] }\n{}\n");
    CHECK_STR(redact(s, "{\n  \"private\": \"k7Jm2Qx9\"\n}", INTERP_NTS), "[REDACTED:json]\n");
    /* base64 of a value and what follows it: the last character has bits of both */
    char t[64];
    t[base64_of(t, (const uint8_t *)"abcd-abcd-X9\n", 13, 0)] = 0;
    CHECK(strncmp(redact(s, t, INTERP_NTS), "[REDACTED:again]", 16) == 0);
    /* formats that have grown */
    CHECK(strncmp(redact(s, text("gh%s%0200d", "s_123456_ey" "Jx.", 7), INTERP_NTS), "[REDACTED:github-token]", 23) == 0);
    const char *glued = redact(s, text("gh%s%036d,gh%s%036d)gh%s%036d&", "p_", 1, "p_", 2, "o_", 3), INTERP_NTS);
    CHECK_STR(glued, "[REDACTED:github-token],[REDACTED:github-token])[REDACTED:github-token]&");
    /* overlapping values: one label, that of the leftmost */
    add(s, "left", "overlap-one-two", INTERP_NTS);
    add(s, "right", "one-two-three-q", INTERP_NTS);
    CHECK_STR(redact(s, "<overlap-one-two-three-q>", INTERP_NTS), "<[REDACTED:left]>");
    interp__redact_set_free(s);
}
TEST(keys_of_several_lines)
{
    struct interp__redact_set *s = new_set();
    char pem[4096];
    size_t n = (size_t)snprintf(pem, sizeof pem, "before\n-----BEGIN %s KEY-----\n", "RSA PRIVATE");
    for (int i = 0; i < 12; i++)
        n += (size_t)snprintf(pem + n, sizeof pem - n, "%064d\n", i);
    n += (size_t)snprintf(pem + n, sizeof pem - n, "-----END %s KEY-----\nafter\n", "RSA PRIVATE");
    CHECK_STR(redact(s, pem, INTERP_NTS), "before\n[REDACTED:pem-private-key]\n\nafter\n");
    char *end = strstr(pem, "-----END");
    strcpy(end, "broken off! and more\n");
    CHECK_STR(redact(s, pem, INTERP_NTS), "before\n[REDACTED:pem-private-key]\n! and more\n");
    interp__redact_set_free(s);
}
TEST(ends_of_streams)
{
    struct interp__redact_set *s = new_set();
    add(s, "value", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS);
    CHECK_STR(redact(s, "the k7Jm2Qx9w4", INTERP_NTS), "the [REDACTED:value:partial]");
    CHECK_STR(redact(s, "the k7Jm2Qx", INTERP_NTS), "the k7Jm2Qx");   /* less than half */
    CHECK_STR(redact(s, text("gh%s%035d", "p_", 1), INTERP_NTS), "[REDACTED:github-token:partial]");
    CHECK_STR(redact(s, text("gh%s%07d", "p_", 1), INTERP_NTS), text("gh%s%07d", "p_", 1));
    CHECK_STR(redact(s, "http://localhost:8080", INTERP_NTS), "http://localhost:8080");
    CHECK_STR(redact(s, text("Authorization: %s ", "Bearer"), INTERP_NTS), text("Authorization: %s ", "Bearer"));
    interp__redact_set_free(s);
}

/* ---- where bytes are missing, and where a stream rests */

/* The longest part of a value that is shown. */
static size_t shown_of(const uint8_t *value, size_t len, const struct interp__buf *out)
{
    for (size_t k = len; k; k--)
        for (size_t at = 0; at + k <= len; at++)
            if (out->len >= k && memmem(out->p, out->len, value + at, k))
                return k;
    return 0;
}
static void push(struct interp__redactor *r, const void *p, size_t n, int bytewise, struct interp__buf *out)
{
    for (size_t i = 0; i < n; i += bytewise ? 1 : n) {
        uint8_t *exact = malloc(bytewise ? 1 : n);
        memcpy(exact, (const uint8_t *)p + i, bytewise ? 1 : n);
        interp__redactor_push(r, exact, bytewise ? 1 : n, out);
        free(exact);
    }
}
/* Each encoding of a value, cut at each place: what stands before the cut, behind it, between two of them. */
TEST(cuts)
{
    struct interp__redact_set *s = new_set();
    add(s, "value", "k7Jm2Qx9w4Rt6Yz1\xC3\xA4/+_endOfIt", INTERP_NTS);
    struct redact_snapshot *now = interp__redact_set_now(s, NULL);
    struct interp__buf out;
    interp__buf_init(&out, MEM);
    for (uint32_t i = 0; i < now->nliterals; i++)
        for (uint32_t k = 1; k < now->literals[i].len; k++)
            for (int how = 0; how < 6; how++) {   /* in one piece or by bytes; the other half behind the cut, or half of another one, or a second cut */
                const struct redact_literal *l = &now->literals[i];
                struct interp__redactor *r = interp__redactor_new(s, MEM);
                const uint32_t from = how / 2 == 1 ? k / 2 : k, to = how / 2 == 2 ? k + (l->len - k) / 2 : l->len;
                out.len = 0;
                push(r, "text ", 5, how & 1, &out);
                push(r, l->p, k, how & 1, &out);
                interp__redactor_cut(r, &out);
                CHECK_INT(interp__redactor_held(r), 0);
                push(r, l->p + from, to - from, how & 1, &out);
                if (how / 2 == 2)
                    interp__redactor_cut(r, &out);
                push(r, " text\n", 6, how & 1, &out);
                interp__redactor_finish(r, &out);
                if (shown_of(l->p, l->len, &out) > 3) {
                    FAIL("literal %u (%.*s) cut at %u, way %d", i, (int)l->len, l->p, k, how);
                    show("out", &out);
                }
                CHECK(out.len > 11 && !memcmp(out.p, "text ", 5) && !memcmp(out.p + out.len - 6, " text\n", 6));
                interp__redactor_free(r);
            }
    interp__redact_snapshot_free(now);
    interp__buf_free(&out);
    interp__redact_set_free(s);
}
static const char *redact_cut(struct interp__redact_set *s, const char *before, const char *behind)
{
    static struct interp__buf out = { &interp__mem_default, NULL, 0, 0, 0 };
    struct interp__redactor *r = interp__redactor_new(s, MEM);
    out.len = 0;
    interp__redactor_push(r, before, strlen(before), &out);
    interp__redactor_cut(r, &out);
    interp__buf_str(&out, "|");
    interp__redactor_push(r, behind, strlen(behind), &out);
    interp__redactor_finish(r, &out);
    interp__redactor_free(r);
    return interp__buf_text(&out);
}
TEST(cuts_in_words)
{
    struct interp__redact_set *s = new_set();
    CHECK_STR(redact_cut(s, "plain te", "xt\n"), "plain te|xt\n");
    CHECK_STR(redact_cut(s, "the k7Jm", "2Qx9w4Rt6Yz1"), "the k7Jm|2Qx9w4Rt6Yz1");
    add(s, "value", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS);
    CHECK_STR(redact_cut(s, "plain te", "xt\n"), "plain te|xt\n");
    CHECK_STR(redact_cut(s, "the k7Jm", "2Qx9w4Rt6Yz1, and"), "the [REDACTED:value:partial]|[REDACTED:value:partial], and");
    CHECK_STR(redact_cut(s, "the k7J", "z1"), "the k7J|z1");                                     /* any text may end so */
    CHECK_STR(redact_cut(s, "the k7J\x1b[0mm2", "9w\r\n  4Rt6Yz1"), "the [REDACTED:value:partial]\x1b[0m|[REDACTED:value:partial]\n");
    CHECK_STR(redact_cut(s, "", "k7Jm2Qx9w4Rt6Yz1k7Jm2Qx9w4Rt6Yz1"), "|[REDACTED:value][REDACTED:value]");
    CHECK_STR(redact_cut(s, "", "x9w4Rt6Yz1k7Jm2Qx9w4Rt6Yz1"), "|[REDACTED:value:partial][REDACTED:value]");
    CHECK_STR(redact_cut(s, text("gh%s%06d", "p_", 1), " x"), "[REDACTED:github-token:partial]| x");   /* less than half, as its end may stand behind the cut */
    CHECK_STR(redact_cut(s, text("gh%s", "p_"), " x"), text("gh%s| x", "p_"));
    CHECK_STR(redact_cut(s, "a\x1b[3", "1mb"), "a\x1b[3|1mb");
    if (interp__redact_has_patterns()) {
        CHECK_INT(interp__redact_set_pattern(s, "ticket", "TCK-[0-9]{4}-[A-Z]{8}", INTERP_NTS, NULL), INTERP_OK);
        CHECK_STR(redact_cut(s, "see TCK-12", "."), "see [REDACTED:ticket:partial]|.");
        CHECK_STR(redact_cut(s, "see TCK", "."), "see TCK|.");
    }
    interp__redact_set_free(s);
}
/* Nothing is known of a value when the cut comes: it is when the rest does. */
TEST(value_added_behind_a_cut)
{
    struct interp__redact_set *s = new_set();
    struct interp__buf out;
    struct interp__redactor *r = interp__redactor_new(s, MEM);
    interp__buf_init(&out, MEM);
    add(s, "other", "Zz9Yy8Xx7Ww6Vv5", INTERP_NTS);
    interp__redactor_cut(r, &out);
    interp__redactor_push(r, "8Xx7", 4, &out);        /* may be of the other */
    CHECK_INT(interp__redactor_held(r), 4);
    interp__redactor_idle(r, 1, &out);
    CHECK_INT(interp__redactor_held(r), 4);
    add(s, "value", "k7Jm2Qx98Xx7Rt6Yz1", INTERP_NTS);
    interp__redactor_push(r, "Rt6Yz1 end\n", 11, &out);
    interp__redactor_finish(r, &out);
    CHECK_STR(interp__buf_text(&out), "[REDACTED:value:partial] end\n");
    interp__redactor_free(r);
    interp__buf_free(&out);
    interp__redact_set_free(s);
}

/* A stream in two parts with a rest between them, in which all is shown. */
static const char *redact_rest(struct interp__redact_set *s, const char *first, const char *then)
{
    static struct interp__buf out = { &interp__mem_default, NULL, 0, 0, 0 };
    struct interp__redactor *r = interp__redactor_new(s, MEM);
    out.len = 0;
    interp__redactor_push(r, first, strlen(first), &out);
    interp__redactor_pause(r, &out);
    CHECK_INT(interp__redactor_held(r), 0);
    interp__buf_str(&out, "|");
    if (interp__redactor_quiet(r)) {
        interp__redactor_free(r);
        r = interp__redactor_new(s, MEM);
    }
    interp__redactor_shrink(r);
    interp__redactor_push(r, then, strlen(then), &out);
    interp__redactor_finish(r, &out);
    interp__redactor_free(r);
    return interp__buf_text(&out);
}
TEST(pauses)
{
    static const char v[] = "k7Jm2Qx9w4Rt6Yz1";
    struct interp__redact_set *s = new_set();
    add(s, "value", v, INTERP_NTS);
    for (int k = 1; k < 16; k++)
        CHECK_STR(redact_rest(s, text("%.4000d %.*s", 1, k, v), text("%s end\n", v + k)),
                  text("%.4000d %s|[REDACTED:value] end\n", 1, k < 8 ? text("%.*s", k, v) : "[REDACTED:value:partial]"));
    CHECK_STR(redact_rest(s, "k7Jm", " and\n"), "k7Jm| and\n");
    CHECK_STR(redact_rest(s, "k7Jm2Qx9w4", "no\n"), "[REDACTED:value:partial]|no\n");
    CHECK_STR(redact_rest(s, v, "k7Jm2Qx9w4Rt6Yz1"), "[REDACTED:value]|[REDACTED:value]");
    CHECK_STR(redact_rest(s, "line\n", "line\n"), "line\n|line\n");
    for (int k = 1; k < 40; k++) {   /* a detector: at every place, its fixed text too */
        const char *token = text("gh%s%036d", "p_", 12345), *got = redact_rest(s, text("a %.*s", k, token), text("%s end\n", token + k));
        CHECK(strstr(got, "|[REDACTED:github-token] end\n") && !strstr(got, "12345"));
    }
    CHECK_STR(redact_rest(s, text("gh%s%036d", "p_", 1), "\nnext\n"), "[REDACTED:github-token]|\nnext\n");
    CHECK_STR(redact_rest(s, text("gh%s%036d", "p_", 1), "23\nnext\n"), "[REDACTED:github-token]|[REDACTED:github-token]\nnext\n");
    if (interp__redact_has_patterns()) {
        CHECK_INT(interp__redact_set_pattern(s, "ticket", "TCK-[0-9]{4}-[A-Z]{8}", INTERP_NTS, NULL), INTERP_OK);
        CHECK_STR(redact_rest(s, "see TCK-12", "34-ABCDEFGH."), "see TCK-12|[REDACTED:ticket].");
    }
    interp__redact_set_free(s);
}
/* What is kept of a stream at rest is small, however much has gone through. */
TEST(rests_are_small)
{
    struct interp__redact_set *s = new_set();
    static char much[1 << 20];
    struct interp__buf out;
    struct interp__redactor *r = interp__redactor_new(s, MEM);
    interp__buf_init(&out, MEM);
    add(s, "value", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS);
    memset(much, '~', sizeof much);
    memcpy(much + sizeof much - 5, "k7Jm2", 5);
    interp__redactor_push(r, much, sizeof much, &out);
    interp__redactor_pause(r, &out);
    CHECK(!interp__redactor_quiet(r));
    interp__redactor_shrink(r);
    CHECK(r->cap < 2048 && r->values.cap < 2048);
    interp__redactor_free(r);
    interp__buf_free(&out);
    interp__redact_set_free(s);
}

/* ---- holding back */

static size_t held_after(struct interp__redact_set *s, const char *in, int idle)
{
    struct interp__buf out;
    struct interp__redactor *r = interp__redactor_new(s, MEM);
    interp__buf_init(&out, MEM);
    interp__redactor_push(r, in, strlen(in), &out);
    if (idle)
        interp__redactor_idle(r, idle > 1, &out);
    size_t n = interp__redactor_held(r);
    CHECK(out.len + n == strlen(in));
    interp__redactor_free(r);
    interp__buf_free(&out);
    return n;
}
TEST(holds_little)
{
    struct interp__redact_set *s = new_set();
    add(s, "value", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS);
    static const char *const at_once[] = { "line\n", ">>> ", "Password: ", "progress 50%\r", "done.\n\n", "[y/N] ", "a\tb\t", "(gdb) ", "$ " };
    for (size_t i = 0; i < sizeof at_once / sizeof *at_once; i++)
        CHECK_INT(held_after(s, at_once[i], 0), 0);
    CHECK(held_after(s, "gh", 0) == 2 && held_after(s, "gh", 1) == 0);                 /* a format's own text */
    CHECK(held_after(s, "-----BEG", 0) == 8 && held_after(s, "-----BEG", 1) == 0);
    CHECK(held_after(s, "word", 0) > 0 && held_after(s, "word", 1) == 0);
    CHECK(held_after(s, "k7J", 0) == 3 && held_after(s, "k7J", 1) == 0);               /* chance */
    CHECK(held_after(s, "x k7Jm2", 0) >= 5 && held_after(s, "x k7Jm2", 2) >= 5);       /* a value's start */
    CHECK(held_after(s, text("gh%sabcdefgh", "p_"), 0) == 12 && held_after(s, text("gh%sabcdefgh", "p_"), 2) == 12);
    CHECK(held_after(s, "abcdefghijklmnopqrstuvwxyzabcdef", 1) > 0 && held_after(s, "abcdefghijklmnopqrstuvwxyzabcdef", 2) == 0);
    interp__redact_set_free(s);
}
TEST(match_goes_on_after_idle)
{
    struct interp__redact_set *s = new_set();
    struct interp__buf out;
    struct interp__redactor *r = interp__redactor_new(s, MEM);
    interp__buf_init(&out, MEM);
    interp__redactor_push(r, "gh", 2, &out);
    interp__redactor_idle(r, 0, &out);
    const char *rest = text("%s%036d\n", "p_", 1);
    interp__redactor_push(r, rest, strlen(rest), &out);
    interp__redactor_finish(r, &out);
    CHECK_STR(interp__buf_text(&out), "gh[REDACTED:github-token]\n");
    interp__redactor_free(r);
    interp__buf_free(&out);
    interp__redact_set_free(s);
}
TEST(bounded)
{
    struct interp__redact_set *s = new_set();
    static uint8_t junk[300000];
    add(s, "value", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS);
    static const char *const starts[] = { "k7Jm2Qx9", "ghp_abc", "eyJabcdefghijkl.", "://user:", "machine a login " };
    static const uint8_t fill[] = { 0, '\n', 'a', ' ', '-', 27, '.' };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (size_t k = 0; k < sizeof fill; k++) {
            struct interp__buf out;
            struct interp__redactor *r = interp__redactor_new(s, MEM);
            interp__buf_init(&out, MEM);
            interp__redactor_push(r, starts[i], strlen(starts[i]), &out);
            memset(junk, fill[k], sizeof junk);
            for (size_t at = 0; at < sizeof junk; at += 1000) {
                interp__redactor_push(r, junk + at, 1000, &out);
                CHECK(interp__redactor_held(r) <= interp__redactor_bound(r) + REDACT_GAP_MAX * 17);
                CHECK(r->gap_len - (r->gap0 < r->ngaps ? r->gaps[r->gap0].at : r->gap_len) <= (interp__redactor_bound(r) + 1) * REDACT_GAP_MAX);
            }
            interp__redactor_finish(r, &out);
            CHECK(r->cap < 200000);
            interp__redactor_free(r);
            interp__buf_free(&out);
        }
    interp__redact_set_free(s);
}

/* The most that is held in usual and in adversarial output; and what is taken for a secret where there is none. */
TEST(corpora)
{
    enum { SIZE = 1 << 20 };
    char *p = malloc(SIZE);
    for (int which = 0; which < CORPORA; which++) {
        struct interp__redact_set *s = new_set();
        struct interp__buf out;
        uint64_t seed = (uint64_t)which;
        for (int i = 0; i < 64; i++) {
            char v[64], name[16];
            corpus_value(v, i);
            snprintf(name, sizeof name, "v%d", i);
            add(s, name, v, INTERP_NTS);
        }
        corpus_fill(which, p, SIZE);
        interp__buf_init(&out, MEM);
        struct interp__redactor *r = interp__redactor_new(s, MEM);
        for (size_t at = 0; at < SIZE;) {
            size_t n = 1 + rnd(&seed, 5000);
            n = n < SIZE - at ? n : SIZE - at;
            interp__redactor_push(r, p + at, n, &out);
            at += n;
        }
        const struct interp__redact_stats *st = interp__redactor_stats(r);
        CHECK(st->held_max <= interp__redactor_bound(r));
        int found = 0;
        for (size_t i = 0; i < r->ncounts; i++)
            found += r->counts[i] > 0;
        printf("# %s: held %zu at most of %zu, %d kinds found\n", corpus_names[which], st->held_max, interp__redactor_bound(r), found);
        CHECK(found == 0 || (which != CORPUS_TABLES && which != CORPUS_JSON && which != CORPUS_BASE64 && which < CORPUS_EYJ));
        interp__redactor_free(r);
        interp__buf_free(&out);
        interp__redact_set_free(s);
    }
    free(p);
}

/* ---- while running */

TEST(values_added_on_the_way)
{
    struct interp__redact_set *s = new_set();
    struct interp__buf out;
    struct interp__redactor *r = interp__redactor_new(s, MEM);
    interp__buf_init(&out, MEM);
    interp__redactor_push(r, "a k7Jm2Qx9w4Rt6Yz1\nb k7Jm", 25, &out);
    add(s, "value", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS);
    interp__redactor_push(r, "2Qx9w4Rt6Yz1 c k7Jm2Qx9w4Rt6Yz1\n", 32, &out);
    interp__redactor_finish(r, &out);
    /* what had gone out stays; the start that was held, and the rest, do not */
    const char *got = interp__buf_text(&out);
    CHECK(strstr(got, "c [REDACTED:value]\n") != NULL && strstr(got, "2Qx9w4Rt6Yz1 c") == NULL);
    CHECK_INT(interp__redactor_stats(r)->in, 57);
    struct interp__redact_counts c = { MEM, NULL, 0 };
    interp__redact_counts_take(&c, r);
    struct interp__buf j;
    interp__buf_init(&j, MEM);
    interp__redact_counts_json(&c, s, &j);
    CHECK_STR(interp__buf_text(&j), "{\"value\":2}");
    interp__buf_free(&j);
    interp__redact_counts_free(&c);
    interp__redactor_free(r);
    interp__buf_free(&out);
    interp__redact_set_free(s);
}
static void *adds(void *v)
{
    struct interp__redact_set *s = v;
    for (int i = 0; i < 200; i++) {
        char value[32];
        snprintf(value, sizeof value, "value-%04d-k7Jm2Qx", i);
        interp__redact_set_value(s, "threads", value, INTERP_NTS, NULL);
    }
    return NULL;
}
TEST(any_thread)
{
    struct interp__redact_set *s = new_set();
    pthread_t t[2];
    struct interp__buf out;
    struct interp__redactor *r = interp__redactor_new(s, MEM);
    interp__buf_init(&out, MEM);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&t[i], NULL, adds, s) == 0);
    for (int i = 0; i < 400; i++)
        interp__redactor_push(r, "some value-0003-k7Jm2Qx text\n", 29, &out);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    out.len = 0;
    interp__redactor_push(r, "some value-0199-k7Jm2Qx text\n", 29, &out);
    interp__redactor_finish(r, &out);
    CHECK_STR(interp__buf_text(&out), "some [REDACTED:threads] text\n");
    interp__redactor_free(r);
    interp__buf_free(&out);
    interp__redact_set_free(s);
}

/* ---- patterns of the host */

TEST(patterns)
{
    struct interp__redact_set *s = new_set();
    if (!interp__redact_has_patterns()) {
        CHECK(interp__redact_set_pattern(s, "p", "ACME-[0-9]{6}", INTERP_NTS, NULL) == INTERP_E_UNSUPPORTED);
        SKIP("built without PCRE2");
    }
    static const char *const refused[] = { "(", "a?", "abc", ".*secret", "[^x]{5,}", "(abcd)\\1", "(?<=ab)cdefg", "ab\\Cdef", "(*UTF)abcd" };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        interp_error *e = NULL;
        if (!CHECK(interp__redact_set_pattern(s, "p", refused[i], INTERP_NTS, &e) == INTERP_E_INVAL))
            printf("# %s\n", refused[i]);
        interp_error_free(e);
    }
    CHECK(interp__redact_set_pattern(s, "ticket", "\\bACME-[0-9]{6}", INTERP_NTS, NULL) == INTERP_OK);
    CHECK(interp__redact_set_pattern(s, "card", "(?i)card (?:no|number) ([0-9 ]{12,19})", INTERP_NTS, NULL) == INTERP_OK);
    const char *in = "ACME-123456 xACME-123456 ACME-12345 Card Number 1234 5678 9012 3456\n", *want = "[REDACTED:ticket] xACME-123456 ACME-12345 Card Number [REDACTED:card]\n";
    CHECK_STR(redact(s, in, INTERP_NTS), want);
    uint64_t seed = 8;
    for (int i = 0; i < 200; i++) {
        struct interp__buf out;
        interp__buf_init(&out, MEM);
        engine(s, (const uint8_t *)in, strlen(in), (enum cut)(1 + i % 4), 0, &seed, &out, NULL);
        CHECK_STR(interp__buf_text(&out), want);
        interp__buf_free(&out);
    }
    interp__redact_set_free(s);
}
TEST(patterns_that_explode)
{
    if (!interp__redact_has_patterns())
        SKIP("built without PCRE2");
    struct interp__redact_set *s = new_set();
    CHECK(interp__redact_set_pattern(s, "bad", "(?:a+)+b[0-9]{3}", INTERP_NTS, NULL) == INTERP_OK);
    static char in[1 << 20];
    memset(in, 'a', sizeof in - 1);
    for (size_t i = 63; i < sizeof in - 1; i += 64)
        in[i] = '\n', in[i - 1] = 'b';   /* all but the digits is there */
    uint64_t t = tap_cpu_ns(), seed = 1;
    struct interp__buf out;
    struct interp__redact_stats stats = { 0 };
    interp__buf_init(&out, MEM);
    engine(s, (const uint8_t *)in, sizeof in - 1, CUT_WHOLE, 0, &seed, &out, &stats);
    t = tap_cpu_ns() - t;
    MEASURE("a pattern made to explode, 1 MiB", (double)t / 1e6, "ms");
    CHECK(stats.limit_hits == 20 && stats.degraded);
    CHECK(strncmp(interp__buf_text(&out), "[REDACTED:bad]\n[REDACTED:bad]\n", 30) == 0);   /* closed, then off */
    CHECK(t < UINT64_C(2000000000) * tap_slow());
    interp__buf_free(&out);
    interp__redact_set_free(s);
}

/* ---- without memory: nothing goes out unseen */

static int allocations, fail_at;
static void *failing(void *u, void *p, size_t old, size_t n)
{
    (void)u, (void)old;
    if (n == 0) {
        free(p);
        return NULL;
    }
    return fail_at && ++allocations >= fail_at ? NULL : realloc(p, n);
}
TEST_LONG(without_memory, 120)
{
    const struct interp__mem m = { failing, NULL };
    char in[400];
    snprintf(in, sizeof in, "text k7Jm2Qx9w4Rt6Yz1 gh%s%036d \x1b[1m and k7Jm2Qx9", "p_", 1);
    int through = 0;
    for (int at = 1; at < 400 && !through; at++) {
        struct interp__buf out;
        fail_at = allocations = 0;
        struct interp__redact_set *s = interp__redact_set_new(&m);
        REQUIRE(s != NULL);
        interp__buf_init(&out, MEM);
        fail_at = at;
        if (!interp__redact_set_value(s, "value", "k7Jm2Qx9w4Rt6Yz1", INTERP_NTS, NULL)) {
            struct interp__redactor *r = interp__redactor_new(s, &m);
            if (r) {
                interp__redactor_push(r, in, 30, &out);
                interp__redactor_push(r, in + 30, strlen(in) - 30, &out);
                interp__redactor_finish(r, &out);
                const char *got = interp__buf_text(&out);
                through = allocations < at;
                CHECK(!strstr(got, "k7Jm2Qx9") && !strstr(got, "0000000000"));
                CHECK(through || strstr(got, "[REDACTED:out-of-memory]") != NULL || allocations >= at);
                interp__redactor_free(r);
            }
        }
        fail_at = 0;
        interp__buf_free(&out);
        interp__redact_set_free(s);
    }
    CHECK(through);
}

TAP_MAIN()
