/* fuzz_changes.c - what an agent says of the workspace after an exec, in pieces: against a plain reading of the same bytes in one piece. What is told does not depend on
   the cuts, stays within its bounds, and holds no registered value where it is text.
   Input: byte 0 how much content may be kept, byte 1 how to cut, the rest is the stream.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "base/sha256.h"
#include "core/core.h"

enum { MOST = 2000, SUMMED = 16 << 20 };
static const char secret[] = "k7Jm2Qx9w4Rt6";

struct wanted { struct wire_entry e; const uint8_t *content; size_t have; int kept; };
struct reading { struct wanted v[MOST]; uint32_t n; int bad; };

/* The plain reading. */
static void read_all(struct reading *r, const uint8_t *p, size_t n, uint64_t keep)
{
    struct wire_in in;
    uint64_t sum = 0;
    interp__wire_in_init(&in, p, n);
    while (in.p < in.end) {
        struct wanted w = { .content = NULL };
        if (interp__wire_get_entry(&in, &w.e))
            return;
        int has = (w.e.flags & WIRE_CHANGE_CONTENT) != 0;
        if (!w.e.path.len || r->n == MOST || (has && w.e.size > SUMMED - sum)) {
            r->bad = 1;
            return;
        }
        if (has) {
            size_t left = (size_t)(in.end - in.p);
            sum += w.e.size;
            w.content = in.p;
            w.have = w.e.size < left ? (size_t)w.e.size : left;
            w.kept = w.e.size <= keep;
            keep -= w.kept ? w.e.size : 0;
            in.p += w.have;
        }
        r->v[r->n++] = w;
    }
}

static int holds(const void *p, size_t n, const char *word)
{
    return n && memmem(p, n, word, strlen(word));
}

static void same(const struct interp__change *c, const struct wanted *w)
{
    int whole = w->content && w->have == w->e.size;
    FUZZ_CHECK(c->how == (w->e.flags & WIRE_CHANGE_CREATED ? INTERP_FILE_CREATED : w->e.flags & WIRE_CHANGE_CHANGED ? INTERP_FILE_CHANGED : INTERP_FILE_DELETED));
    FUZZ_CHECK(c->type == w->e.type && c->size == w->e.size);
    FUZZ_CHECK(c->path[c->path_len] == 0 && !holds(c->path, c->path_len, secret));
    FUZZ_CHECK(holds(c->path, c->path_len, "[REDACTED:") || (c->path_len == w->e.path.len && !memcmp(c->path, w->e.path.p, c->path_len)));
    FUZZ_CHECK(whole == (c->mime != NULL) && whole == (c->sha256[0] != 0));
    FUZZ_CHECK(c->has_content == (w->kept != 0));
    if (!whole)
        return;
    struct interp__sha256 sum;
    uint8_t digest[INTERP__SHA256];
    char hex[2 * INTERP__SHA256 + 1];
    interp__sha256_init(&sum);
    interp__sha256_add(&sum, w->content, w->have);
    interp__sha256_end(&sum, digest);
    interp__hex(digest, sizeof digest, hex);
    FUZZ_CHECK(!strcmp(hex, c->sha256));
    if (!c->has_content)
        return;
    FUZZ_CHECK(!holds(c->content.p, c->content.len, secret) || interp__utf8_valid(c->content.p, c->content.len) < c->content.len);
    FUZZ_CHECK(holds(c->content.p, c->content.len, "[REDACTED:") || (c->content.len == w->have && (!w->have || !memcmp(c->content.p, w->content, w->have))));
}

/* One look after an exec, with the stream cut as `how` says; the JSON of it is left in out. */
static void one(const uint8_t *data, size_t size, const struct reading *want, uint64_t keep, uint32_t how, struct interp__buf *out)
{
    struct interp_session s = { .mem = interp__mem_default, .baseline = 1 };
    struct interp__kernel k = { .channel = 0 };
    struct interp_call c = { .kind = INTERP_CALL_EXEC };
    struct interp__exec e = { .call = &c, .kernel = &k, .changes = 1, .result = interp__result_new(&interp__mem_default) };
    int rc = 0;
    static struct interp__redact_set *secrets;         /* costs more than all the rest */
    if (!secrets) {
        secrets = interp__redact_set_new(&interp__mem_default);
        FUZZ_CHECK(secrets && interp__redact_set_value(secrets, "key", secret, sizeof secret - 1, NULL) == INTERP_OK);
    }
    k.current = &e;
    s.v.fetch_files = keep;
    interp__buf_init(&s.in, &s.mem);
    interp__buf_init(&s.out, &s.mem);
    interp__buf_init(&s.redacted, &s.mem);
    s.secrets = secrets;
    FUZZ_CHECK(e.result);
    FUZZ_CHECK(interp__changes_after(&s, &e) == 1 && s.transfers && s.transfers->sent);
    for (size_t at = 0; at < size && !rc;) {
        how = how * 1103515245u + 12345u;
        size_t n = how & 0x10000 ? 1 + how / 131072 % 40 : 1 + how / 131072 % WIRE_PAYLOAD_MAX;
        n = n < size - at ? n : size - at;
        uint8_t *exact = fuzz_copy(data + at, n);
        rc = interp__changes_data(&s, s.transfers, exact, n);
        free(exact);
        at += n;
    }
    const struct interp__changes *l = e.result->changes;
    FUZZ_CHECK(rc == (want->bad ? -1 : 0) && l->n == want->n && l->complete == 1);
    for (uint32_t i = 0; i < l->n; i++)
        same(&l->v[i], &want->v[i]);
    interp__changes_json(l, out);
    interp__files_free(&s);
    interp__free(&s.mem, e.look);
    interp_result_free(e.result);
    interp__redactor_free(s.redact);
    interp__buf_free(&s.redacted);
    interp__buf_free(&s.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    static struct reading want;
    static const uint64_t keeps[] = { 0, 10, 1000, SUMMED };
    uint64_t keep = keeps[data[0] & 3];
    struct interp__buf a, b;
    interp__buf_init(&a, &interp__mem_default);
    interp__buf_init(&b, &interp__mem_default);
    want.n = 0;
    want.bad = 0;
    read_all(&want, data + 2, size - 2, keep);
    one(data + 2, size - 2, &want, keep, data[1], &a);
    one(data + 2, size - 2, &want, keep, data[1] + 77u, &b);
    FUZZ_CHECK(interp__buf_text(&a) && interp__buf_text(&b) && a.len == b.len && !memcmp(a.p, b.p, a.len));
    int exact = want.n < 1000;         /* the reader of JSON has bounds, also for numbers */
    for (uint32_t i = 0; i < want.n; i++)
        exact &= want.v[i].e.size <= UINT64_C(1) << 53;
    if (a.len < 400000 && exact) {
        struct interp__json j;
        FUZZ_CHECK(interp__json_parse(&j, &interp__mem_default, a.p, a.len, NULL) == INTERP_OK);
        interp__json_free(&j);
    }
    interp__buf_free(&a);
    interp__buf_free(&b);
    return 0;
}
