/* test_options.c - configs and requests: every option's range by setter and by JSON, what JSON is refused and that it is all or nothing.
   SPDX-License-Identifier: MIT */
#include "api.h"

enum { U64_ROW = 1, STR_ROW = 2 };
static const struct row {
    const char *scope, *name;
    void (*setter)(void);
    int kind, forever;
    uint64_t preset, min, max;
    const char *text;
} rows[] = {
#define OPT_STR(scope, name, member, preset, ...) { #scope, #name, (void (*)(void))interp_##scope##_set_##name, STR_ROW, 0, 0, 0, 0, preset },
#define OPT_U64(scope, name, member, preset, min, max, forever, ...) { #scope, #name, (void (*)(void))interp_##scope##_set_##name, U64_ROW, forever, preset, min, max, NULL },
#include "core/options.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef interp_status (*config_u64)(interp_config *, uint64_t, interp_error **);
typedef interp_status (*request_u64)(interp_request *, uint64_t, interp_error **);
typedef interp_status (*config_str)(interp_config *, const char *, interp_error **);
typedef interp_status (*request_str)(interp_request *, const char *, interp_error **);
struct both { interp_ctx *x; interp_config *c; interp_request *r; };
static struct both new_both(void)
{
    struct both b = { .x = new_ctx(0) };
    b.c = new_config(b.x, NULL);
    b.r = new_request(b.x, NULL, NULL, NULL);
    return b;
}
static void free_both(struct both *b)
{
    interp_config_free(b->c);
    interp_request_free(b->r);
    interp_ctx_free(b->x);
}
static int is_config(const struct row *o) { return !strcmp(o->scope, "config"); }
static interp_status set_u64(struct both *b, const struct row *o, uint64_t v)
{
    return is_config(o) ? ((config_u64)o->setter)(b->c, v, ERR) : ((request_u64)o->setter)(b->r, v, ERR);
}
static interp_status set_json(struct both *b, const struct row *o, const char *json, size_t n)
{
    return is_config(o) ? interp_config_set_json(b->c, json, n, ERR) : interp_request_set_json(b->r, json, n, ERR);
}
/* The setter and the JSON key must agree, and the message must name the option. */
static void try_value(struct both *b, const struct row *o, uint64_t v, int good)
{
    char json[200];
    interp_status st = set_u64(b, o, v);
    if (st != (good ? INTERP_OK : INTERP_E_INVAL) || (!good && (!api_err || !strstr(interp_error_message(api_err), o->name))))
        FAIL("%s.%s = %" PRIu64 ": %s (%s)", o->scope, o->name, v, interp_status_name(st), interp_error_message(api_err));
    api_drop();
    if (v == INTERP_FOREVER)
        snprintf(json, sizeof json, "{\"%s\":\"forever\"}", o->name);
    else
        snprintf(json, sizeof json, "{\"%s\":%" PRIu64 "}", o->name, v);
    st = set_json(b, o, json, INTERP_NTS);
    if (st != (good ? INTERP_OK : INTERP_E_INVAL) || (!good && (!api_err || !strstr(interp_error_message(api_err), o->name))))
        FAIL("%s %s: %s (%s)", o->scope, json, interp_status_name(st), interp_error_message(api_err));
    api_drop();
}

TEST(ranges)
{
    struct both b = new_both();
    for (int i = 0; i < ROWS; i++) {
        const struct row *o = &rows[i];
        if (o->kind != U64_ROW)
            continue;
        try_value(&b, o, 0, o->min == 0);
        if (o->min > 1)
            try_value(&b, o, o->min - 1, 0);
        try_value(&b, o, o->min, 1);
        try_value(&b, o, o->min + 1, o->min + 1 <= o->max);
        try_value(&b, o, o->max - 1, o->max - 1 >= o->min);
        try_value(&b, o, o->max, 1);
        try_value(&b, o, o->max + 1, 0);
        try_value(&b, o, UINT64_MAX - 1, 0);
        try_value(&b, o, INTERP_FOREVER, o->forever);
        try_value(&b, o, UINT64_C(1) << 63, 0);
    }
    free_both(&b);
}

TEST(wrong_types)
{
    static const char *const number_wrong[] = { "\"5000000\"", "null", "[]", "{}", "1.5", "[16777216]", "-1", "-9000000", "\"Forever\"", "\"\"", "1e999" };
    static const char *const text_wrong[] = { "1", "null", "true", "[]", "{}", "[\"python\"]", "\"a\\u0000b\"" };
    struct both b = new_both();
    for (int i = 0; i < ROWS; i++) {
        const struct row *o = &rows[i];
        const char *const *wrong = o->kind == U64_ROW ? number_wrong : text_wrong;
        size_t n = o->kind == U64_ROW ? sizeof number_wrong / sizeof *number_wrong : sizeof text_wrong / sizeof *text_wrong;
        for (size_t k = 0; k < n; k++) {
            char json[200];
            snprintf(json, sizeof json, "{\"%s\":%s}", o->name, wrong[k]);
            interp_status st = set_json(&b, o, json, INTERP_NTS);
            if (st != INTERP_E_INVAL || !api_err || (k < 5 && !strstr(interp_error_message(api_err), o->name)))
                FAIL("%s %s: %s (%s)", o->scope, json, interp_status_name(st), interp_error_message(api_err));
            api_drop();
        }
    }
    free_both(&b);
}

TEST(defaults)
{
    struct both b = new_both();
    const char *json = interp_config_json(b.c, NULL);
    REQUIRE(json);
    char expr[4000] = "True";
    for (int i = 0; i < ROWS; i++) {
        const struct row *o = &rows[i];
        size_t at = strlen(expr);
        if (!is_config(o) || (o->kind == U64_ROW && o->preset == 0))
            continue;
        if (o->kind == U64_ROW && o->preset == INTERP_FOREVER)
            snprintf(expr + at, sizeof expr - at, " and d['%s'] == 'forever'", o->name);
        else if (o->kind == U64_ROW)
            snprintf(expr + at, sizeof expr - at, " and d['%s'] == %" PRIu64, o->name, o->preset);
        else
            snprintf(expr + at, sizeof expr - at, " and d['%s'] == '%s'", o->name, o->text);
    }
    EXPECT_JSON(json, strlen(json), expr);
    free_both(&b);
}

TEST(registry)
{
    size_t n = 0, at;
    const char *json = interp_options_json(&n);
    REQUIRE(json && strlen(json) == n && interp_options_json(NULL) == json);
    char expr[16000];
    at = (size_t)snprintf(expr, sizeof expr, "len(d) == %d and [(r['scope'], r['name'], r['type'], r['default'], r.get('min'), r.get('max'), r.get('forever')) for r in d] == [", ROWS);
    for (int i = 0; i < ROWS; i++) {
        const struct row *o = &rows[i];
        int is_switch = o->kind == U64_ROW && o->min == 0 && o->max == 1;
        at += (size_t)snprintf(expr + at, sizeof expr - at, "('%s', '%s', '%s', ", o->scope, o->name, o->kind == STR_ROW ? "text" : is_switch ? "switch" : "number");
        if (o->kind == STR_ROW)
            at += (size_t)snprintf(expr + at, sizeof expr - at, "'%s' or None, None, None, None), ", o->text);
        else if (is_switch)
            at += (size_t)snprintf(expr + at, sizeof expr - at, "%s, None, None, None), ", o->preset ? "True" : "False");
        else if (o->preset == INTERP_FOREVER)
            at += (size_t)snprintf(expr + at, sizeof expr - at, "'forever', %" PRIu64 ", %" PRIu64 ", True), ", o->min, o->max);
        else
            at += (size_t)snprintf(expr + at, sizeof expr - at, "%" PRIu64 " or None, %" PRIu64 ", %" PRIu64 ", %s), ", o->preset, o->min, o->max, o->forever ? "True" : "False");
        REQUIRE(at < sizeof expr - 2);
    }
    strcpy(expr + at, "]");
    EXPECT_JSON(json, n, expr);
}

TEST(values_come_back)
{
    struct both b = new_both();
    OK(interp_config_set_memory_bytes(b.c, 64 << 20, ERR));
    OK(interp_config_set_json(b.c, "{\"pids\":64,\"timeout_ms\":\"forever\",\"env\":{\"SECRET\":\"hunter2\",\"B\":\"\"}}", INTERP_NTS, ERR));
    OK(interp_config_set_env(b.c, "C", "\xff\xfe", 2, ERR));
    size_t n = 0;
    const char *json = interp_config_json(b.c, &n);
    EXPECT_JSON(json, n, "d['memory_bytes'] == 67108864 and d['pids'] == 64 and d['timeout_ms'] == 'forever' and d['cpu_millis'] == 1000");
    EXPECT_JSON(json, n, "sorted(d['env']) == ['B', 'C', 'SECRET'] and 'hunter2' not in t");
    free_both(&b);
}

/* JSON that must be refused whole: nothing of it may stick. */
struct bad { const char *json; size_t len; const char *names; };
#define T(text, names) { text, sizeof(text) - 1, names }
static const struct bad bad_config[] = {
    T("{\"nonsense\":1}", "nonsense"), T("{\"pids\":64,\"Pids\":65}", "Pids"), T("{\"pids\":64,\"pids\":65}", "pids"), T("{\"pids\":64,\"pids\":64}", "pids"),
    T("{\"env\":{\"A\":\"1\",\"A\":\"2\"}}", "A"), T("{\"env\":[]}", "env"), T("{\"env\":{\"A\":1}}", "A"), T("{\"env\":{\"A=B\":\"1\"}}", "A=B"), T("{\"env\":{\"\":\"1\"}}", NULL),
    T("{\"env\":{\"A\":\"x\\u0000y\"}}", "A"), T("{\"env\":{\"A\":null}}", "A"), T("{\"env\":null}", "env"),
    T("{\"language\":\"python\"}", "language"), T("{\"code\":\"1\"}", "code"), T("{\"stream\":1}", "stream"),
    T("", NULL), T(" ", NULL), T("[]", NULL), T("null", NULL), T("1", NULL), T("\"pids\"", NULL), T("{", NULL), T("{}}", NULL), T("{} {}", NULL), T("{}x", NULL), T("{},", NULL),
    T("{\"pids\":64}\n{\"pids\":65}", NULL), T("{\"pids\":64,}", NULL), T("{pids:64}", NULL), T("{'pids':64}", NULL), T("{\"pids\":64 /* c */}", NULL), T("{\"pids\":064}", NULL),
    T("{\"pids\":0x40}", NULL), T("{\"pids\":NaN}", NULL), T("{\"pids\":+64}", NULL), T("{\"backend\":\"loc\xff" "al\"}", NULL), T("{\"\xc3\":1}", NULL), T("{\"env\":{\"A\":\"\xed\xa0\x80\"}}", NULL),
    T("{\"env\":{\"A\":\"\xf4\x90\x80\x80\"}}", NULL), T("{\"env\":{\"A\":\"\xc0\x80\"}}", NULL), T("{\"env\":{\"A\":\"\n\"}}", NULL),
    T("{\"pids\":64}\0", NULL), T("{\"pids\"\0:64}", NULL), T("\xef\xbb\xbf{}x", NULL),
    T("{\"timeout_ms\":9007199254740993}", "timeout_ms"), T("{\"timeout_ms\":18446744073709551615}", "timeout_ms"), T("{\"timeout_ms\":18446744073709551616}", NULL),
    T("{\"timeout_ms\":99999999999999999999999999}", NULL), T("{\"timeout_ms\":-9223372036854775808}", "timeout_ms"), T("{\"timeout_ms\":-9223372036854775809}", NULL),
    T("{\"nodot\":{}}", "nodot"), T("{\".x\":1}", NULL), T("{\"local.\":1}", NULL),
};
#define BADS (sizeof bad_config / sizeof *bad_config)

TEST(bad_json_config)
{
    struct both b = new_both();
    OK(interp_config_set_json(b.c, "{\"pids\":99,\"env\":{\"KEEP\":\"1\"}}", INTERP_NTS, ERR));
    const char *first = interp_config_json(b.c, NULL);
    REQUIRE(first);
    char *before = strdup(first);
    for (size_t i = 0; i < BADS; i++) {
        /* on the heap, without a NUL behind it, so that ASan sees a read past the end */
        char *copy = malloc(bad_config[i].len + !bad_config[i].len);
        memcpy(copy, bad_config[i].json, bad_config[i].len);
        interp_status st = interp_config_set_json(b.c, copy, bad_config[i].len, ERR);
        free(copy);
        if (st != INTERP_E_INVAL || !api_err || (bad_config[i].names && !strstr(interp_error_message(api_err), bad_config[i].names)))
            FAIL("%s: %s (%s)", bad_config[i].json, interp_status_name(st), interp_error_message(api_err));
        api_drop();
    }
    const char *after = interp_config_json(b.c, NULL);
    REQUIRE(after);
    CHECK_STR(after, before);
    free(before);
    free_both(&b);
}

TEST(all_or_nothing)
{
    struct both b = new_both();
    static const char *const bad[] = {
        "{\"pids\":64,\"memory_bytes\":67108864,\"env\":{\"A\":\"1\"},\"local.x\":1,\"nonsense\":1}", "{\"env\":{\"A\":\"1\",\"B=\":\"2\"},\"pids\":64}",
        "{\"pids\":64,\"cpu_millis\":0}", "{\"env\":{\"A\":\"1\"},\"pids\":64", "{\"pids\":64,\"env\":{\"A\":\"1\"}} x",
    };
    const char *first = interp_config_json(b.c, NULL);
    REQUIRE(first);
    char *before = strdup(first);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        IS(interp_config_set_json(b.c, bad[i], INTERP_NTS, ERR), INTERP_E_INVAL);
        const char *after = interp_config_json(b.c, NULL);
        CHECK_STR(after, before);
    }
    free(before);
    free_both(&b);
}

/* A request's failed JSON leaves code, stdin and env as they were: seen by running it. */
TEST(all_or_nothing_request)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_request *r = new_request(x, "bash", "echo \"[$A$B]\"; cat", "{\"env\":{\"A\":\"1\"},\"stdin\":\"in\"}");
    static const char *const bad[] = {
        "{\"code\":\"echo no\",\"nonsense\":1}", "{\"stdin\":\"no\",\"code\":5}", "{\"env\":{\"B\":\"2\"},\"timeout_ms\":0}", "{\"language\":\"python\",\"env\":{\"A\":1}}",
        "{\"stdin_base64\":\"!!!\"}", "{\"stdin\":\"a\",\"stdin_base64\":\"YQ==\"}", "{\"code\":\"a\\u0000b\"}", "{\"options\":[]}", "{\"options\":1}", "{\"kernel\":\"other\",\"stream\":2}",
        "{\"memory_bytes\":67108864}", "{\"code\":\"a\",\"code\":\"b\"}", "{\"code\":null}", "{\"stdin\":1}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        interp_status st = interp_request_set_json(r, bad[i], INTERP_NTS, ERR);
        if (st != INTERP_E_INVAL)
            FAIL("%s: %s", bad[i], interp_status_name(st));
        api_drop();
    }
    interp_result *out = exec_request(s, r);
    EXPECT_OK(out);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "[1]\nin");
    interp_result_free(out);
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(deep_json)
{
    struct both b = new_both();
    static const struct { const char *open, *close; } shape[] = { { "[", "]" }, { "{\"a\":", "}" }, { "{\"env\":", "}" }, { "[{\"a\":", "}]" } };
    enum { DEEP = 100000 };
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        for (int closed = 0; closed < 2; closed++) {
            size_t a = strlen(shape[i].open), z = strlen(shape[i].close), n = 0;
            char *j = malloc(DEEP * (a + z) + 16);
            for (int k = 0; k < DEEP; k++)
                memcpy(j + n, shape[i].open, a), n += a;
            j[n++] = '1';
            for (int k = 0; closed && k < DEEP; k++)
                memcpy(j + n, shape[i].close, z), n += z;
            IS(interp_config_set_json(b.c, j, n, ERR), INTERP_E_INVAL);
            IS(interp_request_set_json(b.r, j, n, ERR), INTERP_E_INVAL);
            IS(interp_request_set_options(b.r, j, n > 16000 ? 16000 : n, ERR), INTERP_E_INVAL);
            IS(interp_config_set_extra(b.c, "local.x", j, n, ERR), INTERP_E_INVAL);
            free(j);
        }
    free_both(&b);
}

static void *deep_on_small_stack(void *p)
{
    struct both *b = p;
    char *j = malloc(200000);
    memset(j, '[', 200000);
    IS(interp_config_set_json(b->c, j, 200000, ERR), INTERP_E_INVAL);
    for (int i = 0; i < 200000; i += 5)
        memcpy(j + i, "{\"a\":", 5);
    IS(interp_request_set_json(b->r, j, 200000, ERR), INTERP_E_INVAL);
    IS(interp_request_set_options(b->r, j, 16000, ERR), INTERP_E_INVAL);
    free(j);
    return NULL;
}

TEST(deep_json_on_a_small_stack)
{
    struct both b = new_both();
    pthread_attr_t a;
    pthread_t t;
    pthread_attr_init(&a);
    REQUIRE(pthread_attr_setstacksize(&a, 64 << 10) == 0);
    REQUIRE(pthread_create(&t, &a, deep_on_small_stack, &b) == 0);
    pthread_join(t, NULL);
    pthread_attr_destroy(&a);
    free_both(&b);
}

TEST(json_lengths)
{
    struct both b = new_both();
    OK(interp_config_set_json(b.c, "{\"pids\":77}garbage", 11, ERR));        /* the length counts, not the NUL */
    OK(interp_config_set_json(b.c, " \t\r\n{ \"pids\" : 78 } \n", INTERP_NTS, ERR));
    const char *j = interp_config_json(b.c, NULL);
    EXPECT_JSON(j, strlen(j), "d['pids'] == 78");
    OK(interp_config_set_json(b.c, "{}", INTERP_NTS, ERR));
    OK(interp_request_set_json(b.r, "{}", INTERP_NTS, ERR));
    free_both(&b);
}

TEST(big_json)
{
    /* 2 MiB of members of an unknown name, and of strings: bounded, no crash, one clear answer */
    struct both b = new_both();
    size_t n = 2 << 20;
    char *j = malloc(n + 16);
    memset(j, ' ', n);
    j[0] = '{', j[n - 1] = '}';
    OK(interp_config_set_json(b.c, j, n, ERR));
    memset(j, 'a', n);
    memcpy(j, "{\"", 2);
    memcpy(j + n - 4, "\":1}", 4);
    IS(interp_config_set_json(b.c, j, n, ERR), INTERP_E_INVAL);
    size_t at = 1;
    for (int i = 0; at + 20 < n; i++)
        at += (size_t)sprintf(j + at, "\"k%d\":1,", i);
    memcpy(j + at - 1, "}", 1);
    IS(interp_config_set_json(b.c, j, at, ERR), INTERP_E_INVAL);
    free(j);
    free_both(&b);
}

TEST(env_bounds)
{
    struct both b = new_both();
    char name[32], *big = malloc(300 << 10);
    memset(big, 'v', 300 << 10);
    IS(interp_config_set_env(b.c, "", "v", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_env(b.c, "A=B", "v", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_env(b.c, "A", "v\0w", 3, ERR), INTERP_E_INVAL);
    OK(interp_config_set_env(b.c, "A", "", 0, ERR));
    OK(interp_config_set_env(b.c, "A", "twice", INTERP_NTS, ERR));   /* replaces */
    IS(interp_config_set_env(b.c, "BIG", big, 257 << 10, ERR), INTERP_E_LIMIT);
    IS(interp_request_set_env(b.r, "BIG", big, 33 << 10, ERR), INTERP_E_LIMIT);
    OK(interp_request_set_env(b.r, "OK", big, 13 << 10, ERR));
    IS(interp_request_set_env(b.r, "MORE", big, 2 << 10, ERR), INTERP_E_LIMIT);
    for (int i = 0; i < 1023; i++) {
        snprintf(name, sizeof name, "N%d", i);
        NEED(interp_config_set_env(b.c, name, "v", 1, ERR));
    }
    IS(interp_config_set_env(b.c, "ONE_MORE", "v", 1, ERR), INTERP_E_LIMIT);
    OK(interp_config_set_env(b.c, "N5", "again", 5, ERR));            /* not one more */
    free(big);
    free_both(&b);
}

TEST(extra)
{
    struct both b = new_both();
    IS(interp_config_set_extra(b.c, "nodot", "1", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_extra(b.c, "", "1", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_extra(b.c, "local.x", "", 0, ERR), INTERP_E_INVAL);
    IS(interp_config_set_extra(b.c, "local.x", "{", 1, ERR), INTERP_E_INVAL);
    IS(interp_config_set_extra(b.c, "local.x", "1 2", 3, ERR), INTERP_E_INVAL);
    OK(interp_config_set_extra(b.c, "local.nonsense", "{\"a\":[1,2]}", INTERP_NTS, ERR));
    interp_session *s = NULL;
    interp_status st = interp_session_open(b.x, b.c, &s, ERR);
    skip_without_sandbox(st);
    if (st != INTERP_E_INVAL || !strstr(interp_error_message(api_err), "nonsense"))
        FAIL("open with an unknown local.nonsense: %s (%s)", interp_status_name(st), interp_error_message(api_err));
    api_drop();
    free_both(&b);
}

TEST(code_bounds)
{
    struct both b = new_both();
    size_t max = 16 << 20;
    char *p = malloc(max + 1);
    memset(p, '#', max + 1);
    OK(interp_request_set_code(b.r, p, max, ERR));
    IS(interp_request_set_code(b.r, p, max + 1, ERR), INTERP_E_LIMIT);
    p[100] = 0;
    IS(interp_request_set_code(b.r, p, max, ERR), INTERP_E_INVAL);
    IS(interp_request_set_code(b.r, "\0", 1, ERR), INTERP_E_INVAL);
    OK(interp_request_set_code(b.r, p, INTERP_NTS, ERR));
    OK(interp_request_set_code(b.r, "", 0, ERR));
    free(p);
    free_both(&b);
}

TEST(stdin_bounds)
{
    struct both b = new_both();
    size_t max = 64 << 20;
    if (memory_available() < (UINT64_C(1) << 30))
        SKIP("less than 1 GB of memory");
    char *p = calloc(1, max + 1);
    OK(interp_request_set_stdin(b.r, p, max, ERR));
    IS(interp_request_set_stdin(b.r, p, max + 1, ERR), INTERP_E_LIMIT);
    OK(interp_request_set_stdin(b.r, "", 0, ERR));
    free(p);
    free_both(&b);
}

TEST(options_bounds)
{
    struct both b = new_both();
    char *p = malloc(20 << 10);
    OK(interp_request_set_options(b.r, "{}", INTERP_NTS, ERR));
    OK(interp_request_set_options(b.r, "{\"await\":false,\"ts\":true}", INTERP_NTS, ERR));
    IS(interp_request_set_options(b.r, "[]", INTERP_NTS, ERR), INTERP_E_INVAL);
    IS(interp_request_set_options(b.r, "{", INTERP_NTS, ERR), INTERP_E_INVAL);
    IS(interp_request_set_options(b.r, "", 0, ERR), INTERP_E_INVAL);
    memset(p, 'x', 20 << 10);
    memcpy(p, "{\"a\":\"", 6);
    memcpy(p + (17 << 10) - 2, "\"}", 2);
    IS(interp_request_set_options(b.r, p, 17 << 10, ERR), INTERP_E_LIMIT);
    free(p);
    free_both(&b);
}

TEST(unknown_language)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_result *out = NULL;
    static const char *const bad[] = { "", "cobol", "Python", "python ", "../bin/sh", "py\xff" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        IS(interp_session_run(s, bad[i], "1", 1, &out, ERR), INTERP_E_INVAL);
    interp_request *r = new_request(x, NULL, "1", NULL);              /* no language at all */
    IS(interp_session_exec(s, r, &out, ERR), INTERP_E_INVAL);
    interp_request_free(r);
    CHECK(out == NULL);
    EXPECT_RUN(s, "python", "print(1)", "1\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(code_with_nul)
{
    interp_ctx *x = new_ctx(0);
    interp_session *s = open_with(x, NULL);
    interp_result *out = NULL;
    IS(interp_session_run(s, "python", "print(1)\0print(2)", 17, &out, ERR), INTERP_E_INVAL);
    CHECK(out == NULL);
    interp_session_close(s);
    interp_ctx_free(x);
}

/* Workspace and memory: refused only when both were set. */
TEST(workspace_against_memory)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, "{\"memory_bytes\":67108864,\"workspace_bytes\":134217728}");
    interp_session *s = NULL;
    interp_status st = interp_session_open(x, c, &s, ERR);
    skip_without_sandbox(st);
    printf("# memory 64 MiB, workspace 128 MiB: %s %s\n", interp_status_name(st), interp_error_message(api_err));
    CHECK(st < 0);
    api_drop();
    interp_session_close(s);
    interp_config_free(c);
    s = open_with(x, "{\"memory_bytes\":67108864}");   /* the default workspace shrinks */
    interp_session_close(s);
    interp_ctx_free(x);
}

TEST(free_right_after_start)
{
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, "{\"env\":{\"A\":\"from config\"}}");
    interp_session *s = NULL;
    interp_call *k = NULL;
    NEED(interp_session_open_start(x, c, &s, &k, ERR));
    interp_config_free(c);
    wait_done(k);
    interp_status st = interp_call_finish(k, NULL, ERR);
    skip_without_sandbox(st);
    NEED(st);
    interp_call_free(k);
    interp_request *r = new_request(x, "bash", "echo \"$A\"", NULL);
    NEED(interp_session_exec_start(s, r, &k, ERR));
    interp_request_free(r);
    interp_result *out = finish_exec(k);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "from config\n");
    interp_result_free(out);
    interp_session_close(s);
    interp_ctx_free(x);
}

TAP_MAIN()
