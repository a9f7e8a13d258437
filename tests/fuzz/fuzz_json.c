/* fuzz_json.c - the JSON reader: bounded, and what it takes it can write so that it reads the same again.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "base/error.h"
#include "base/json.h"

static void walk(const struct interp__json *j)
{
    uint32_t n = interp__json_count(j);
    FUZZ_CHECK(n > 0 && n <= INTERP__JSON_NODES);
    FUZZ_CHECK(interp__json_at(j, 0)->next == n);
    for (uint32_t i = 0; i < n; i++) {
        const struct interp__json_node *v = interp__json_at(j, i);
        FUZZ_CHECK(v->next > i && v->next <= n);
        const char *s = interp__json_string(j, v);
        FUZZ_CHECK(s != NULL);
        if (v->type == INTERP__JSON_STRING)
            FUZZ_CHECK(interp__utf8_valid(s, v->text_len) == v->text_len && s[v->text_len] == 0);
        if (v->type == INTERP__JSON_INT)
            FUZZ_CHECK(v->i <= INT64_C(9007199254740992) && v->i >= INT64_C(-9007199254740992));
        if (v->type != INTERP__JSON_ARRAY && v->type != INTERP__JSON_OBJECT)
            continue;
        uint32_t members = 0;
        for (uint32_t k = i + 1; k < v->next; k = interp__json_at(j, k)->next)
            members++;
        FUZZ_CHECK(members == v->count);
        if (v->type == INTERP__JSON_OBJECT && v->count && v->count < 50)
            for (uint32_t k = i + 1; k < v->next; k = interp__json_at(j, k)->next) {
                const struct interp__json_node *m = interp__json_at(j, k);
                if (strlen(interp__json_key(j, m)) == m->key_len)
                    FUZZ_CHECK(interp__json_member(j, i, interp__json_key(j, m)) == k);   /* no key twice, and each is found */
            }
    }
}
static void one(const uint8_t *data, size_t size)
{
    struct interp__json j, k;
    struct interp__buf out;
    interp_error *e = NULL;
    uint8_t *c = fuzz_copy(data, size);
    interp_status st = interp__json_parse(&j, &interp__mem_default, c, size, &e);
    FUZZ_CHECK((st == INTERP_OK) == (e == NULL));
    if (st == INTERP_OK) {
        walk(&j);
        interp__buf_init(&out, &interp__mem_default);
        interp__json_write(&out, &j, 0);
        FUZZ_CHECK(!out.bad);
        FUZZ_CHECK(interp__json_parse(&k, &interp__mem_default, out.p, out.len, NULL) == INTERP_OK);
        FUZZ_CHECK(interp__json_count(&k) == interp__json_count(&j));
        interp__json_free(&k);
        interp__buf_free(&out);
    }
    interp__json_free(&j);
    interp_error_free(e);
    /* as text that goes out */
    interp__buf_init(&out, &interp__mem_default);
    interp__json_text(&out, c, size);
    FUZZ_CHECK(interp__utf8_valid(out.p, out.len) == out.len);
    if (size < 100000) {
        FUZZ_CHECK(interp__json_parse(&k, &interp__mem_default, out.p, out.len, NULL) == INTERP_OK);
        FUZZ_CHECK(interp__json_count(&k) == 1 && interp__json_at(&k, 0)->type == INTERP__JSON_STRING);
        if (interp__utf8_valid(c, size) == size)
            FUZZ_CHECK(interp__json_at(&k, 0)->text_len == size && !memcmp(interp__json_string(&k, interp__json_at(&k, 0)), c, size));
        interp__json_free(&k);
    }
    interp__buf_free(&out);
    /* and as base64, both ways */
    interp__buf_init(&out, &interp__mem_default);
    interp__json_base64(&out, c, size);
    size_t quoted = out.len >= 2 && out.p[0] == '"';
    struct interp__buf back;
    interp__buf_init(&back, &interp__mem_default);
    FUZZ_CHECK(interp__base64_decode(&back, (const char *)out.p + quoted, out.len - 2 * quoted) == 0);
    FUZZ_CHECK(back.len == size && (!size || !memcmp(back.p, c, size)));
    interp__buf_free(&back);
    interp__buf_free(&out);
    interp__buf_init(&back, &interp__mem_default);
    (void)interp__base64_decode(&back, (const char *)c, size);
    interp__buf_free(&back);
    free(c);
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    fuzz_small_stack(one, data, size);
    return 0;
}
