/* fuzz_redact.c - the redaction engine: the output does not depend on the pushes, no registered value is in it, what is held stays within its bound; beside missing bytes there
   is no start of a value and no end of one, and over a rest none either.
   Input: byte 0 says how to cut and when to be idle, byte 1 the number of values (0 to 3), then each value as length (9 to 40) and bytes, the rest is text.
   A byte of 0xFE followed by k puts value k there, encoded as the byte after it says. A byte of 0xFD is left out: seeds hold no secret in one piece.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include <ctype.h>
#include "output/redact/redact_priv.h"

enum { VALUES = 3 };
struct input { uint8_t value[VALUES][40]; size_t n[VALUES], count; struct interp__buf text; };

static void put_value(struct input *in, size_t k, uint8_t how)
{
    static const char hex[] = "0123456789abcdef";
    const uint8_t *p = in->value[k];
    for (size_t i = 0; i < in->n[k]; i++)
        switch (how % 5) {
        case 0: interp__buf_add(&in->text, p + i, 1); break;
        case 1: interp__buf_add(&in->text, &hex[p[i] >> 4], 1), interp__buf_add(&in->text, &hex[p[i] & 15], 1); break;
        case 2: interp__buf_add(&in->text, p + i, 1), interp__buf_add(&in->text, "", 1); break;
        case 3: interp__buf_add(&in->text, p + i, 1), interp__buf_str(&in->text, i % 7 == 3 ? "\r\n  " : ""); break;
        default: interp__buf_str(&in->text, i % 5 == 2 ? "\x1b[1m" : ""), interp__buf_add(&in->text, p + i, 1);
        }
}
static void read_input(struct input *in, struct interp__redact_set *set, const uint8_t *p, size_t n)
{
    size_t k = n ? *p++ % (VALUES + 1) : 0;
    for (n -= n > 0; k && n > 2; k--) {
        size_t len = 9 + *p % 32;
        if (len + 1 > n)
            break;
        char name[8] = { 'v', (char)('0' + in->count) };
        if (!interp__redact_set_value(set, name, p + 1, len, NULL)) {
            memcpy(in->value[in->count], p + 1, len);
            in->n[in->count++] = len;
        }
        p += len + 1;
        n -= len + 1;
    }
    for (size_t i = 0; i < n; i++)
        if (p[i] == 0xFE && i + 2 < n && in->count) {
            put_value(in, p[i + 1] % in->count, p[i + 2]);
            i += 2;
        } else if (p[i] != 0xFD)
            interp__buf_add(&in->text, p + i, 1);
}
static void run(struct interp__redact_set *set, const struct interp__buf *text, uint8_t how, struct interp__buf *out)
{
    struct interp__redactor *r = interp__redactor_new(set, &interp__mem_default);
    FUZZ_CHECK(r != NULL);
    uint32_t state = how;
    for (size_t at = 0; at < text->len;) {
        state = state * 1103515245u + 12345u;
        size_t k = how == 0 ? text->len : how & 1 ? 1 + state / 65536 % 7 : 1 + state / 65536 % 200;
        k = k < text->len - at ? k : text->len - at;
        uint8_t *exact = fuzz_copy(text->p + at, k);
        interp__redactor_push(r, exact, k, out);
        free(exact);
        /* line breaks inside a value are held with it: as many as a view leaves out, for each of its bytes */
        FUZZ_CHECK(interp__redactor_held(r) <= interp__redactor_bound(r) * REDACT_GAP_MAX);
        if (how & 0x80 && state & 0x100000)
            interp__redactor_idle(r, how & 0x40, out);
        at += k;
    }
    interp__redactor_finish(r, out);
    FUZZ_CHECK(interp__redactor_held(r) == 0 && interp__redactor_stats(r)->in == text->len && interp__redactor_stats(r)->out == out->len);
    interp__redactor_free(r);
}
/* The text without `left_out` bytes in its middle, or with a rest there. */
static void run_parts(struct interp__redact_set *set, const struct interp__buf *text, uint8_t how, size_t left_out, struct interp__buf out[2])
{
    struct interp__redactor *r = interp__redactor_new(set, &interp__mem_default);
    FUZZ_CHECK(r != NULL);
    const size_t first = text->len / 2, parts[2][2] = { { 0, first }, { first + left_out, text->len } };
    for (int i = 0; i < 2; i++) {
        for (size_t at = parts[i][0], k; at < parts[i][1]; at += k) {
            k = how & 1 && parts[i][1] - at > 3 ? 3 : parts[i][1] - at;
            uint8_t *exact = fuzz_copy(text->p + at, k);
            interp__redactor_push(r, exact, k, &out[i]);
            free(exact);
            FUZZ_CHECK(interp__redactor_held(r) <= interp__redactor_bound(r) * REDACT_GAP_MAX);
        }
        if (i)
            interp__redactor_finish(r, &out[i]);
        else if (left_out)
            interp__redactor_cut(r, &out[i]);
        else
            interp__redactor_pause(r, &out[i]);
        FUZZ_CHECK(interp__redactor_held(r) == 0);
        interp__redactor_shrink(r);
    }
    FUZZ_CHECK(interp__redactor_stats(r)->out == out[0].len + out[1].len);
    interp__redactor_free(r);
}
/* N of an output, with a NUL where so much is left out that nothing is matched across it, and for an escape: that may take bytes which a value
   begins with. */
static size_t normal(const struct interp__buf *b, uint8_t *to)
{
    struct redact_escape escape = { 0, 0 };
    size_t k = 0, run = 0;
    int skipping = 0;
    for (size_t i = 0; i < b->len; i++) {
        uint8_t c = b->p[i];
        if (interp__redact_in_gap(&escape, c) && c) {
            to[k++] = 0;
            continue;
        }
        if (c == 0 || c == '\n' || c == '\r' || (skipping && (c == ' ' || c == '\t'))) {
            skipping |= c == '\n' || c == '\r';
            if (++run == REDACT_GAP_MAX)
                to[k++] = 0;
            continue;
        }
        run = 0;
        skipping = 0;
        to[k++] = c;
    }
    return k;
}
enum { PUBLIC = 3 };
static int has_bracket(const struct redact_literal *l)   /* else a label beside it may complete it */
{
    return memchr(l->p, '[', l->len) || memchr(l->p, ']', l->len);
}
/* Each label becomes a bracket: a value may be a part of a label's own words. */
static size_t without_labels(uint8_t *p, size_t n)
{
    static const char head[] = "[REDACTED:";
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        p[k++] = p[i];
        if (n - i < sizeof head - 1 || memcmp(p + i, head, sizeof head - 1) != 0)
            continue;
        size_t end = i + sizeof head - 1;
        while (end < n && p[end] && (isalnum(p[end]) || strchr("_:-", p[end])))
            end++;
        if (end < n && p[end] == ']')
            i = end;
    }
    return k;
}
static void check_cut(const struct redact_snapshot *now, const struct interp__buf out[2])
{
    uint8_t *n = malloc(out[0].len + out[1].len + 1);
    size_t len = normal(&out[0], n), k;
    for (uint32_t i = 0; i < now->nliterals; i++)
        for (k = PUBLIC + 1; !has_bracket(&now->literals[i]) && k < now->literals[i].len && k <= len; k++)
            FUZZ_CHECK(memcmp(n + len - k, now->literals[i].p, k) != 0);
    len = normal(&out[1], n);
    for (k = 0; k < len && (n[k] == ' ' || n[k] == '\t'); k++)
        ;
    memmove(n, n + k, len -= k);
    for (uint32_t i = 0; i < now->nliterals; i++)
        for (k = PUBLIC + 1; !has_bracket(&now->literals[i]) && k < now->literals[i].len && k <= len; k++)
            FUZZ_CHECK(memcmp(n, now->literals[i].p + now->literals[i].len - k, k) != 0);
    free(n);
}
static void one(const uint8_t *data, size_t size)
{
    if (size < 2)
        return;
    struct input in = { 0 };
    struct interp__buf whole, cut, parts[2], rest[2];
    struct interp__redact_set *set = interp__redact_set_new(&interp__mem_default);
    FUZZ_CHECK(set != NULL);
    interp__buf_init(&in.text, &interp__mem_default);
    interp__buf_init(&whole, &interp__mem_default);
    interp__buf_init(&cut, &interp__mem_default);
    for (int i = 0; i < 2; i++) {
        interp__buf_init(&parts[i], &interp__mem_default);
        interp__buf_init(&rest[i], &interp__mem_default);
    }
    read_input(&in, set, data + 1, size - 1);
    run(set, &in.text, 0, &whole);
    run(set, &in.text, data[0] | 1, &cut);
    if (!(data[0] & 0x80))
        FUZZ_CHECK(whole.len == cut.len && !memcmp(whole.p ? whole.p : data, cut.p ? cut.p : data, whole.len));
    struct redact_snapshot *now = interp__redact_set_now(set, NULL);
    if (in.text.len > 2) {
        run_parts(set, &in.text, data[0], 1 + data[0] % (in.text.len / 2), parts);
        check_cut(now, parts);
        run_parts(set, &in.text, data[0], 0, rest);
        interp__buf_add(&rest[0], rest[1].p, rest[1].len);
    }
    for (int k = 0; k < 3; k++) {
        const struct interp__buf *b = k == 2 ? &rest[0] : k ? &cut : &whole;
        uint8_t *n = malloc(b->len + 1);
        size_t len = b->len ? without_labels(n, normal(b, n)) : 0;
        for (uint32_t i = 0; i < now->nliterals; i++) {
            const struct redact_literal *l = &now->literals[i];
            if (!has_bracket(l))
                FUZZ_CHECK(!memmem(n, len, l->p, l->len));
        }
        free(n);
    }
    interp__redact_snapshot_free(now);
    interp__buf_free(&in.text);
    interp__buf_free(&whole);
    interp__buf_free(&cut);
    for (int i = 0; i < 2; i++) {
        interp__buf_free(&parts[i]);
        interp__buf_free(&rest[i]);
    }
    interp__redact_set_free(set);
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    one(data, size);
    return 0;
}
