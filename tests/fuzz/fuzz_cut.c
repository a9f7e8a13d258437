/* fuzz_cut.c - what makes texts shorter: whatever is cut off, JSON stays JSON, characters stay whole, and nothing is longer than it may be. And what makes them
   plain: terminal sequences.
   The first byte says how much is kept.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "base/json.h"
#include "output/clean.h"
#include "output/jsoncut.h"
#include "output/stream.h"

static void one(const uint8_t *data, size_t size)
{
    if (!size)
        return;
    size_t cap = INTERP__JSON_CUT_MIN + data[0] * 5u, n = size - 1;
    uint8_t *p = fuzz_copy(data + 1, n);
    struct interp__buf out;
    struct interp__json j;
    interp__buf_init(&out, &interp__mem_default);
    int rc = interp__json_cut(&out, p, n, cap);
    FUZZ_CHECK(rc == 0 || out.len == 0);
    if (!rc) {
        FUZZ_CHECK(out.len <= cap && interp__utf8_valid(out.p, out.len) == out.len);
        interp_status whole = interp__json_parse(&j, &interp__mem_default, p, n, NULL);
        interp__json_free(&j);
        if (whole == INTERP_OK) {   /* the parser has bounds of its own; what it takes whole it takes cut */
            FUZZ_CHECK(interp__json_parse(&j, &interp__mem_default, out.p, out.len, NULL) == INTERP_OK || memmem(p, n, "\"...\"", 5));   /* a member of ours named like one of theirs */
            interp__json_free(&j);
        }
    } else {
        FUZZ_CHECK(interp__json_parse(&j, &interp__mem_default, p, n, NULL) != INTERP_OK || n > cap);   /* a number alone may be too long */
        interp__json_free(&j);
    }
    interp__buf_free(&out);
    size_t len = 0, valid = interp__utf8_valid(p, n);
    char *text = interp__shorten(&interp__mem_default, p, n, cap, &len);
    FUZZ_CHECK(text && len <= cap && text[len] == 0);
    if (valid == n)
        FUZZ_CHECK(interp__utf8_valid(text, len) == len);
    interp__free(&interp__mem_default, text);
    /* as a stream: the same result however it comes */
    struct interp__kept a, b;
    for (int tokens = 0; tokens < 2; tokens++) {
        struct interp__stream s;
        interp__stream_init(&s, &interp__mem_default, cap, 1 + cap / 3, tokens ? 64 + data[0] : 0);
        interp__stream_feed(&s, p, n);
        FUZZ_CHECK(interp__stream_finish(&s, &a) == 0);
        interp__stream_init(&s, &interp__mem_default, cap, 1 + cap / 3, tokens ? 64 + data[0] : 0);
        for (size_t at = 0, k; at < n; at += k) {
            k = 1 + (at * 7 + data[0]) % 90;
            k = k < n - at ? k : n - at;
            interp__stream_feed(&s, p + at, k);
        }
        FUZZ_CHECK(interp__stream_finish(&s, &b) == 0);
        FUZZ_CHECK(a.text_len == b.text_len && !memcmp(a.text, b.text, a.text_len) && a.head_len == b.head_len && a.tail_len == b.tail_len && a.lines == b.lines && a.total == n);
        FUZZ_CHECK(a.text_len <= cap + 1 + cap / 3 && (!tokens || interp__tokens(a.text, a.text_len) <= 64u + data[0]));
        interp__kept_free(&a, &interp__mem_default);
        interp__kept_free(&b, &interp__mem_default);
    }
    /* as a terminal shows it: the same however it comes, nothing of a terminal's left, and not too much of it */
    struct interp__buf seen[2];
    for (int i = 0; i < 2; i++) {
        struct interp__clean *c = interp__clean_new(&interp__mem_default);
        interp__buf_init(&seen[i], &interp__mem_default);
        FUZZ_CHECK(c != NULL);
        for (size_t at = 0, k; at < n; at += k) {
            k = i ? 1 + (at * 11 + data[0]) % 50 : n;
            k = k < n - at ? k : n - at;
            interp__clean_feed(c, p + at, k, &seen[i]);
        }
        interp__clean_finish(c, &seen[i]);
        FUZZ_CHECK(!interp__clean_pending(c));
        interp__clean_free(c);
    }
    FUZZ_CHECK(seen[0].len == seen[1].len && (!seen[0].len || !memcmp(seen[0].p, seen[1].p, seen[0].len)) && seen[0].len <= 300 * n + 64);
    for (size_t i = 0; i < seen[0].len; i++)
        FUZZ_CHECK(seen[0].p[i] >= 0x20 || seen[0].p[i] == '\n' || seen[0].p[i] == '\t');
    interp__buf_free(&seen[0]);
    interp__buf_free(&seen[1]);
    free(p);
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    fuzz_small_stack(one, data, size);
    return 0;
}
