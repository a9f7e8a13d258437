/* fuzz_wire.h - the frame decoder and every message reader, from one side.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "wire/wire.h"

static void lists(struct wire_in *i)
{
    for (int list = 0; list < 3 && !i->bad; list++)
        for (unsigned n = interp__wire_u16(i); n && !i->bad; n--) {
            struct wire_str s = interp__wire_string(i);
            FUZZ_CHECK(!s.len || s.p + s.len <= i->end);
        }
    (void)interp__wire_string(i);
}
/* What was read must encode to the bytes that were read: no field is lost, none is invented. */
#define AGAIN(kind, m, f)                                                                                         \
    do {                                                                                                          \
        struct wire_out o = { again, again + sizeof again, 0 };                                                   \
        interp__wire_put_##kind(&o, &(m));                                                                                \
        FUZZ_CHECK(!o.bad);                                                                                       \
        size_t n = (size_t)(o.p - again);                                                                         \
        FUZZ_CHECK(n <= (f)->size && !memcmp(again, (f)->payload, n));                                            \
    } while (0)
static uint8_t again[WIRE_FRAME_MAX];

static void messages(const struct wire_frame *f)
{
    struct wire_hello hello;
    struct wire_welcome welcome;
    struct wire_start start;
    struct wire_ready_msg ready;
    struct wire_exec exec;
    struct wire_exit end;
    struct wire_file file;
    struct wire_file_done done;
    struct wire_entry entry;
    struct wire_in in;
    /* every reader on every payload, whatever its type says */
    if (!interp__wire_get_hello(f, &hello))
        AGAIN(hello, hello, f);
    if (!interp__wire_get_welcome(f, &welcome))
        AGAIN(welcome, welcome, f);
    if (!interp__wire_get_start(f, &start)) {
        FUZZ_CHECK(start.rest.p >= f->payload && start.rest.p <= f->payload + f->size && start.rest.end == f->payload + f->size);
        lists(&start.rest);
    }
    if (!interp__wire_get_ready(f, &ready))
        AGAIN(ready, ready, f);
    if (!interp__wire_get_exec(f, &exec))
        AGAIN(exec, exec, f);
    if (!interp__wire_get_exit(f, &end))
        AGAIN(exit, end, f);
    if (!interp__wire_get_file(f, &file))
        AGAIN(file, file, f);
    if (!interp__wire_get_file_done(f, &done))
        AGAIN(file_done, done, f);
    interp__wire_in_init(&in, f->payload, f->size);
    for (const uint8_t *at = in.p; !interp__wire_get_entry(&in, &entry); at = in.p) {
        struct wire_out o = { again, again + sizeof again, 0 };
        interp__wire_put_entry(&o, &entry);
        FUZZ_CHECK(!o.bad && o.p - again == in.p - at && !memcmp(again, at, (size_t)(in.p - at)));
    }
}

static void frames(const uint8_t *data, size_t size, int from_agent)
{
    struct wire_peer p = { 0 };
    struct kframe k;
    uint8_t *c, out[KFRAME_HEADER];
    if (size < 2)
        return;
    /* the first bytes set the counters near their wrap */
    p.taken = data[0] & 1 ? 0xffffffffu - data[0] : 0;
    p.sent = p.acked = data[1] & 1 ? 0xffffffffu - data[1] : 0;
    p.sent += data[1];
    c = fuzz_copy(data + 2, size -= 2);
    for (size_t at = 0; at <= size;) {
        struct wire_frame f;
        struct wire_peer before = p;
        long n = interp__wire_next(&p, c + at, size - at, from_agent, &f);
        if (n <= 0) {
            FUZZ_CHECK(!memcmp(&before, &p, sizeof p));
            break;
        }
        FUZZ_CHECK((size_t)n <= size - at && (size_t)n == WIRE_HEADER + f.size && f.size <= WIRE_PAYLOAD_MAX);
        FUZZ_CHECK(p.taken == before.taken + 1 && p.sent == before.sent);
        FUZZ_CHECK(f.payload == c + at + WIRE_HEADER);
        messages(&f);
        if (f.size >= KFRAME_HEADER && !interp__kframe_get(f.payload, &k)) {
            interp__kframe_put(out, &k);
            FUZZ_CHECK(!memcmp(out, f.payload, sizeof out));
        }
        at += (size_t)n;
    }
    struct wire_frame whole = { .size = (uint32_t)size, .payload = c };   /* and the input as one payload */
    messages(&whole);
    free(c);
}
