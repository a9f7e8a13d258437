/* test_wire.c - the frame codec (lib/wire): round trips, each violation, wrap of the numbers, cursors.
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "wire/wire.h"

enum { HOST = 1, AGENT = 2, BOTH = 3 };
static const struct { uint8_t type, who; } types[] = {   /* FORMAT.md, table of frames */
    { WIRE_HELLO, HOST }, { WIRE_WELCOME, AGENT }, { WIRE_CREDIT, BOTH }, { WIRE_DATA, BOTH }, { WIRE_NOP, BOTH }, { WIRE_FATAL, AGENT }, { WIRE_BYE, HOST },
    { WIRE_KERNEL_START, HOST }, { WIRE_KERNEL_READY, AGENT }, { WIRE_KERNEL_STOP, HOST }, { WIRE_KERNEL_GONE, AGENT },
    { WIRE_EXEC, HOST }, { WIRE_EXIT, AGENT }, { WIRE_INTERRUPT, HOST }, { WIRE_SIGNAL, HOST }, { WIRE_RESIZE, HOST }, { WIRE_LATE, AGENT }, { WIRE_REQUEST, AGENT }, { WIRE_REPLY, HOST }, { WIRE_FILE, HOST }, { WIRE_FILE_DONE, AGENT }, { WIRE_FILE_CANCEL, HOST },
};
static int who_sends(unsigned type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].who;
    return 0;
}

static uint8_t frame_buf[WIRE_FRAME_MAX + 64];

/* One frame as raw fields, so that each can be made wrong. */
struct raw { uint32_t size, seq, ack; uint16_t channel; uint8_t type, flags; };
static const struct raw good = { 3, 1, 0, 16, WIRE_DATA, 0 };
static const long WHOLE = (long)WIRE_HEADER + 3;   /* what wire_next says to `good` */
static size_t put_raw(uint8_t *b, struct raw r)
{
    const uint32_t word[2] = { r.seq, r.ack };
    for (int i = 0; i < 4; i++) {
        b[i] = (uint8_t)(r.size >> 8 * i);
        b[8 + i] = (uint8_t)(word[0] >> 8 * i);
        b[12 + i] = (uint8_t)(word[1] >> 8 * i);
    }
    b[4] = r.type, b[5] = r.flags, b[6] = (uint8_t)r.channel, b[7] = (uint8_t)(r.channel >> 8);
    return WIRE_HEADER + r.size;
}
static long next_raw(struct raw r, struct wire_peer p, struct wire_peer *after, int from_agent)
{
    struct wire_frame f;
    memset(frame_buf, 0, sizeof frame_buf);
    size_t n = put_raw(frame_buf, r);
    if (n > sizeof frame_buf)
        n = sizeof frame_buf;
    struct wire_peer copy = p;
    long got = interp__wire_next(&p, frame_buf, n, from_agent, &f);
    if (got < 0)
        CHECK(!memcmp(&copy, &p, sizeof p));   /* a violation takes nothing in */
    if (after)
        *after = p;
    return got;
}

TEST(header_bytes)
{
    struct wire_peer p = { .sent = 0x01020303, .acked = 0, .taken = 0x0a0b0c0d };
    uint8_t out[WIRE_HEADER];
    static const uint8_t want[WIRE_HEADER] = { 0xef, 0xcd, 0, 0, WIRE_DATA, WIRE_FLAG_END, 0x34, 0x12, 4, 3, 2, 1, 0x0d, 0x0c, 0x0b, 0x0a };
    interp__wire_header(&p, out, WIRE_DATA, WIRE_FLAG_END, 0x1234, 0xcdef);
    CHECK_MEM(out, want, sizeof want);
    CHECK_INT(p.sent, 0x01020304);
    CHECK_INT(p.taken, 0x0a0b0c0d);
}

TEST(constants)
{
    CHECK_INT(WIRE_FRAME_MAX, 65536);
    CHECK_INT(WIRE_WINDOW, 131072);
    CHECK_INT(WIRE_PUT_WINDOW, 524288);
    CHECK_INT(WIRE_LATE_WINDOW, 65536);
    CHECK_INT(WIRE_CHANNEL_FIRST, 16);
    CHECK_INT(WIRE_VERSION, 1);
}

TEST(who_may_send_what)
{
    for (unsigned type = 0; type < 256; type++)
        for (int from_agent = 0; from_agent < 2; from_agent++) {
            struct raw r = good;
            r.type = (uint8_t)type;
            r.channel = type == WIRE_DATA || type == WIRE_CREDIT ? 16 : 0;
            int may = who_sends(type) & (from_agent ? AGENT : HOST);
            long got = next_raw(r, (struct wire_peer){ 0 }, NULL, from_agent);
            if (may ? got != WHOLE : got != -1)
                FAIL("type %u from the %s: %ld", type, from_agent ? "agent" : "host", got);
        }
}

TEST(whole_frames_only)
{
    struct wire_peer p = { 0 };
    struct wire_frame f;
    memset(frame_buf, 'x', sizeof frame_buf);
    size_t n = put_raw(frame_buf, good);
    for (size_t k = 0; k < n; k++) {
        CHECK_INT(interp__wire_next(&p, frame_buf, k, 1, &f), 0);
        CHECK_INT(p.taken, 0);
    }
    CHECK_INT(interp__wire_next(&p, frame_buf, n + 9, 1, &f), n);   /* what follows is the next frame's */
    CHECK_INT(f.size, 3);
    CHECK_INT(f.channel, 16);
    CHECK_INT(f.type, WIRE_DATA);
    CHECK(f.payload == frame_buf + WIRE_HEADER);
    CHECK_INT(p.taken, 1);
}

/* A payload may be taken as it comes: the header alone is checked as that of a whole frame, and counts once it is said to be taken. */
TEST(heads)
{
    struct wire_peer p = { 0 };
    struct wire_frame f;
    memset(frame_buf, 'x', sizeof frame_buf);
    size_t n = put_raw(frame_buf, good);
    for (size_t k = 0; k <= n; k++) {
        CHECK_INT(interp__wire_head(&p, frame_buf, k, 1, &f), k < WIRE_HEADER ? 0 : (long)n);
        CHECK_INT(p.taken, 0);
    }
    CHECK(f.size == 3 && f.channel == 16 && f.payload == frame_buf + WIRE_HEADER);
    interp__wire_taken(&p, &f);
    CHECK_INT(p.taken, 1);
    CHECK_INT(interp__wire_head(&p, frame_buf, WIRE_HEADER, 1, &f), -1);   /* its number has been */
    struct raw r = good;
    r.seq = 2;
    put_raw(frame_buf, r);
    CHECK_INT(interp__wire_next(&p, frame_buf, n, 1, &f), n);
    r.size = WIRE_PAYLOAD_MAX + 1;
    r.seq = 3;
    put_raw(frame_buf, r);
    CHECK_INT(interp__wire_head(&p, frame_buf, WIRE_HEADER, 1, &f), -1);
}

TEST(sizes)
{
    struct raw r = good;
    r.size = 0;
    CHECK_INT(next_raw(r, (struct wire_peer){ 0 }, NULL, 1), WIRE_HEADER);
    r.size = WIRE_PAYLOAD_MAX;
    CHECK_INT(next_raw(r, (struct wire_peer){ 0 }, NULL, 1), WIRE_FRAME_MAX);
    static const uint32_t over[] = { WIRE_PAYLOAD_MAX + 1, 0x10000, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff };
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        uint8_t head[WIRE_HEADER];
        struct wire_peer p = { 0 };
        struct wire_frame f;
        r.size = over[i];
        put_raw(head, r);
        CHECK_INT(interp__wire_next(&p, head, sizeof head, 1, &f), -1);   /* refused by the header alone: nobody waits for 4 GB */
    }
}

TEST(flags)
{
    for (unsigned flags = 1; flags < 256; flags++)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            struct raw r = good;
            r.type = types[i].type;
            r.flags = (uint8_t)flags;
            r.channel = r.type == WIRE_DATA || r.type == WIRE_CREDIT ? 16 : 0;
            long want = r.type == WIRE_DATA && flags == WIRE_FLAG_END ? WHOLE : -1;
            CHECK_INT(next_raw(r, (struct wire_peer){ 0 }, NULL, types[i].who != HOST), want);
        }
}

TEST(channels)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (unsigned channel = 0; channel < 65536; channel += channel < 40 ? 1 : 997) {
            struct raw r = good;
            r.type = types[i].type;
            r.channel = (uint16_t)channel;
            int has = r.type == WIRE_DATA || r.type == WIRE_CREDIT;
            CHECK_INT(next_raw(r, (struct wire_peer){ 0 }, NULL, types[i].who != HOST), has == (channel != 0) ? WHOLE : -1);
        }
}

TEST(sequence)
{
    static const uint32_t taken[] = { 0, 1, 5, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct wire_peer p = { .taken = taken[i] }, after;
        struct raw r = good;
        r.seq = taken[i] + 1;
        CHECK_INT(next_raw(r, p, &after, 1), WHOLE);
        CHECK_INT(after.taken, taken[i] + 1);
        static const int32_t wrong[] = { 0, -1, 2, 3, 1000, INT32_MAX, INT32_MIN };
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            r.seq = taken[i] + (uint32_t)wrong[k];
            CHECK_INT(next_raw(r, p, NULL, 1), -1);
        }
    }
}

TEST(acknowledgement)
{
    /* sent is 10 past acked; the ack may be anything from acked to sent, across the wrap too */
    static const uint32_t acked[] = { 0, 7, 0x7ffffffa, 0xfffffff0, 0xfffffff9, 0xffffffff };
    for (size_t i = 0; i < sizeof acked / sizeof *acked; i++) {
        struct wire_peer p = { .acked = acked[i], .sent = acked[i] + 10 }, after;
        struct raw r = good;
        for (uint32_t k = 0; k <= 10; k++) {
            r.ack = acked[i] + k;
            CHECK_INT(next_raw(r, p, &after, 1), WHOLE);
            CHECK_INT(after.acked, acked[i] + k);
            CHECK_INT(after.sent, p.sent);
        }
        static const uint32_t wrong[] = { 11, 12, 1000, 0x80000000, 0xffffffff, 0xfffffff0 };
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            r.ack = acked[i] + wrong[k];
            CHECK_INT(next_raw(r, p, NULL, 1), -1);
        }
    }
}

TEST(numbers_wrap)
{
    struct wire_peer host = { .sent = 0xfffffffd, .acked = 0xfffffffd, .taken = 0xfffffffd }, agent = host;
    for (int i = 0; i < 8; i++) {
        struct wire_frame f;
        interp__wire_header(&host, frame_buf, WIRE_DATA, 0, 16, 0);
        CHECK_INT(interp__wire_next(&agent, frame_buf, WIRE_HEADER, 0, &f), WIRE_HEADER);
        interp__wire_header(&agent, frame_buf, WIRE_DATA, 0, 16, 0);
        CHECK_INT(interp__wire_next(&host, frame_buf, WIRE_HEADER, 1, &f), WIRE_HEADER);
    }
    CHECK_INT(host.sent, 5);
    CHECK_INT(host.acked, 5);
    CHECK_INT(agent.taken, 5);
}

TEST(two_sides_talk)
{
    /* a random dialogue in both directions, cut into random pieces */
    struct wire_peer side[2] = { { 0 }, { 0 } };
    static uint8_t pipe_buf[2][1 << 20];
    size_t have[2] = { 0, 0 };
    uint64_t seed = 7;
    uint32_t sent[2] = { 0, 0 }, got[2] = { 0, 0 };
    for (int step = 0; step < 20000; step++) {
        int who = (int)(tap_random(&seed) & 1);
        uint32_t size = (uint32_t)(tap_random(&seed) % 200);
        if (have[who] + WIRE_HEADER + size < sizeof pipe_buf[who]) {
            interp__wire_header(&side[who], pipe_buf[who] + have[who], WIRE_DATA, 0, 16, size);
            memset(pipe_buf[who] + have[who] + WIRE_HEADER, (int)size, size);
            have[who] += WIRE_HEADER + size;
            sent[who]++;
        }
        int to = !who;
        size_t cut = have[who] ? tap_random(&seed) % have[who] + 1 : 0, at = 0;
        for (;;) {
            struct wire_frame f;
            long n = interp__wire_next(&side[to], pipe_buf[who] + at, cut - at, who == 1, &f);
            REQUIRE(n >= 0);
            if (n == 0)
                break;
            for (uint32_t k = 0; k < f.size; k++)
                REQUIRE(f.payload[k] == (uint8_t)f.size);
            at += (size_t)n;
            got[who]++;
        }
        memmove(pipe_buf[who], pipe_buf[who] + at, have[who] - at);
        have[who] -= at;
    }
    CHECK(got[0] > 5000 && got[0] <= sent[0]);
    CHECK(got[1] > 5000 && got[1] <= sent[1]);
}

/* ---- cursors */

TEST(cursor_reads)
{
    static const uint8_t b[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 2, 0, 'a', 'b' };
    struct wire_in i;
    interp__wire_in_init(&i, b, sizeof b);
    CHECK_INT(interp__wire_u8(&i), 1);
    CHECK_INT(interp__wire_u16(&i), 0x0302);
    CHECK_INT(interp__wire_u32(&i), 0x07060504);
    CHECK(interp__wire_u64(&i) == UINT64_C(0x0f0e0d0c0b0a0908));
    struct wire_str s = interp__wire_string(&i);
    CHECK_INT(s.len, 2);
    CHECK(s.p == b + sizeof b - 2);
    CHECK_INT(i.bad, 0);
    CHECK(i.p == i.end);
    CHECK_INT(interp__wire_u8(&i), 0);
    CHECK_INT(i.bad, 1);
}

TEST(cursor_end_sticks)
{
    static const uint8_t b[] = { 9, 9, 9 };
    struct wire_in i;
    interp__wire_in_init(&i, b, sizeof b);
    CHECK_INT(interp__wire_u32(&i), 0);   /* one byte short */
    CHECK_INT(i.bad, 1);
    CHECK_INT(interp__wire_u8(&i), 0);    /* there would be room, but bad sticks */
    uint8_t out[4] = { 7, 7, 7, 7 };
    interp__wire_bytes(&i, out, sizeof out);
    for (int k = 0; k < 4; k++)
        CHECK_INT(out[k], 0);
    struct wire_str s = interp__wire_string(&i);
    CHECK(s.p == NULL && s.len == 0);
}

TEST(cursor_string_beyond_end)
{
    for (unsigned have = 0; have < 5; have++)
        for (unsigned len = 0; len < 8; len++) {
            uint8_t b[2 + 8] = { (uint8_t)len, 0 };
            struct wire_in i;
            interp__wire_in_init(&i, b, 2 + have);
            struct wire_str s = interp__wire_string(&i);
            CHECK_INT(i.bad, len > have);
            CHECK_INT(s.len, len > have ? 0 : len);
        }
    static const uint8_t huge[] = { 0xff, 0xff, 'a' };
    struct wire_in i;
    interp__wire_in_init(&i, huge, sizeof huge);
    CHECK_INT(interp__wire_string(&i).len, 0);
    CHECK_INT(i.bad, 1);
    interp__wire_in_init(&i, huge, 0);   /* empty */
    CHECK_INT(interp__wire_string(&i).len, 0);
    CHECK_INT(i.bad, 1);
}

TEST(cursor_writes)
{
    uint8_t b[32];
    memset(b, 0xee, sizeof b);
    struct wire_out o = { b, b + 19, 0 };
    interp__wire_put_u8(&o, 1);
    interp__wire_put_u16(&o, 0x0302);
    interp__wire_put_u32(&o, 0x07060504);
    interp__wire_put_u64(&o, UINT64_C(0x0f0e0d0c0b0a0908));
    interp__wire_put_string(&o, "ab", 2);
    static const uint8_t want[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 2, 0, 'a', 'b', 0xee };
    CHECK_MEM(b, want, sizeof want);
    CHECK_INT(o.bad, 0);
    CHECK(o.p == o.end);
    interp__wire_put_bytes(&o, NULL, 0);   /* nothing always fits */
    CHECK_INT(o.bad, 0);
    interp__wire_put_u8(&o, 1);
    CHECK_INT(o.bad, 1);
    CHECK_INT(b[19], 0xee);
}

TEST(cursor_write_overflow_sticks)
{
    uint8_t b[8];
    memset(b, 0xee, sizeof b);
    struct wire_out o = { b, b + 6, 0 };
    interp__wire_put_u32(&o, 1);
    interp__wire_put_u32(&o, 2);          /* two bytes short: nothing of it is written */
    CHECK_INT(o.bad, 1);
    CHECK_INT(b[4], 0xee);
    interp__wire_put_u8(&o, 3);           /* would fit, but bad sticks */
    CHECK_INT(b[4], 0xee);
    CHECK(o.p == b + 4);
}

TEST(cursor_string_too_long)
{
    static uint8_t b[70000], s[65536];
    struct wire_out o = { b, b + sizeof b, 0 };
    interp__wire_put_string(&o, s, 65535);
    CHECK_INT(o.bad, 0);
    CHECK(o.p == b + 2 + 65535);
    o = (struct wire_out){ b, b + sizeof b, 0 };
    interp__wire_put_string(&o, s, 65536);
    CHECK_INT(o.bad, 1);
    CHECK(o.p == b);
}

/* ---- messages: what was put is got, one byte less is refused, more bytes are ignored */

static uint64_t rnd_state = 42;
static void rnd_bytes(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)p)[i] = (uint8_t)tap_random(&rnd_state);
}
static struct wire_str rnd_str(uint8_t *buf, unsigned max)
{
    struct wire_str s = { buf, (uint16_t)(tap_random(&rnd_state) % (max + 1)) };
    rnd_bytes(buf, s.len);
    return s;
}
static int same_str(struct wire_str a, struct wire_str b)
{
    return a.len == b.len && (a.len == 0 || !memcmp(a.p, b.p, a.len));
}
static struct wire_frame as_frame(const uint8_t *p, size_t n)
{
    return (struct wire_frame){ .size = (uint32_t)n, .payload = p };
}
static uint8_t msg_buf[4096], str_a[256], str_b[256], str_c[256];

/* Puts m, then gets it back from a copy on the heap that ends exactly where the payload does (so that ASan sees a read past it). */
#define ROUND(kind, m, back, extra_checks)                                                                        \
    do {                                                                                                          \
        struct wire_out ro = { msg_buf, msg_buf + sizeof msg_buf, 0 };                                            \
        interp__wire_put_##kind(&ro, &(m));                                                                               \
        REQUIRE(!ro.bad);                                                                                         \
        size_t rn = (size_t)(ro.p - msg_buf);                                                                     \
        for (size_t cut = 0; cut < rn; cut++) {                                                                   \
            uint8_t *part = malloc(cut + 1);                                                                      \
            memcpy(part + 1, msg_buf, cut);                                                                       \
            struct wire_frame rf = as_frame(part + 1, cut);                                                       \
            if (interp__wire_get_##kind(&rf, &(back)) != -1)                                                              \
                FAIL(#kind ": %zu of %zu bytes accepted", cut, rn);                                               \
            free(part);                                                                                           \
        }                                                                                                         \
        for (size_t more = 0; more < 3; more++) {                                                                 \
            uint8_t *part = malloc(rn + more);                                                                    \
            memcpy(part, msg_buf, rn);                                                                            \
            memset(part + rn, 0xff, more);                                                                        \
            struct wire_frame rf = as_frame(part, rn + more);                                                     \
            CHECK_INT(interp__wire_get_##kind(&rf, &(back)), 0);                                                          \
            extra_checks;                                                                                         \
            free(part);                                                                                           \
        }                                                                                                         \
        for (size_t room = 0; room < rn; room++) {                                                                \
            uint8_t *part = malloc(room + 1);                                                                     \
            struct wire_out so = { part, part + room, 0 };                                                        \
            interp__wire_put_##kind(&so, &(m));                                                                           \
            CHECK_INT(so.bad, 1);                                                                                 \
            free(part);                                                                                           \
        }                                                                                                         \
    } while (0)

TEST(message_hello)
{
    for (int k = 0; k < 50; k++) {
        struct wire_hello m, b;
        memset(&m, 0, sizeof m);
        memset(&b, 0, sizeof b);
        rnd_bytes(&m, sizeof m);
        ROUND(hello, m, b, {
            CHECK(m.version_min == b.version_min && m.version_max == b.version_max && m.capabilities == b.capabilities && m.umask == b.umask && m.pids == b.pids);
            CHECK(m.lease_ns == b.lease_ns && m.watch_bytes == b.watch_bytes && m.lifetime_ns == b.lifetime_ns && m.kill_ns == b.kill_ns);
            CHECK_MEM(m.session, b.session, WIRE_ID);
            CHECK_MEM(m.secret, b.secret, WIRE_ID);
        });
    }
    CHECK_INT(2 + 2 + 4 + 16 + 16 + 8 + 8 + 4 + 4 + 8 + 8, 80);
}

TEST(message_welcome)
{
    for (int k = 0; k < 50; k++) {
        struct wire_welcome m, b;
        rnd_bytes(&m, sizeof m);
        ROUND(welcome, m, b, CHECK(m.version == b.version && m.arch == b.arch && m.capabilities == b.capabilities && m.uid == b.uid && m.ids == b.ids
                                   && m.landlock == b.landlock && m.scoped == b.scoped && m.memory == b.memory));
    }
}

TEST(message_start)
{
    for (int k = 0; k < 50; k++) {
        struct wire_start m, b;
        memset(&m, 0, sizeof m);
        rnd_bytes(&m, offsetof(struct wire_start, rest));
        ROUND(start, m, b, {
            CHECK(m.kernel == b.kernel && m.channel == b.channel && m.kind == b.kind && m.flags == b.flags && m.timeout_ns == b.timeout_ns);
            CHECK(m.id.inode == b.id.inode && m.id.mtime_ns == b.id.mtime_ns && m.id.ctime_ns == b.id.ctime_ns && m.id.size == b.id.size);
            CHECK_INT((size_t)(b.rest.end - b.rest.p), more);   /* rest stands at the lists */
        });
    }
}

TEST(message_start_lists)
{
    struct wire_start m, b;
    memset(&m, 0, sizeof m);
    struct wire_out o = { msg_buf, msg_buf + sizeof msg_buf, 0 };
    interp__wire_put_start(&o, &m);
    interp__wire_put_u16(&o, 2);
    interp__wire_put_string(&o, "python3", 7);
    interp__wire_put_string(&o, "", 0);
    REQUIRE(!o.bad);
    struct wire_frame f = as_frame(msg_buf, (size_t)(o.p - msg_buf));
    REQUIRE(interp__wire_get_start(&f, &b) == 0);
    CHECK_INT(interp__wire_u16(&b.rest), 2);
    struct wire_str s = interp__wire_string(&b.rest);
    CHECK(s.len == 7 && !memcmp(s.p, "python3", 7));
    CHECK_INT(interp__wire_string(&b.rest).len, 0);
    CHECK_INT(b.rest.bad, 0);
    (void)interp__wire_u16(&b.rest);
    CHECK_INT(b.rest.bad, 1);
}

TEST(message_ready)
{
    for (int k = 0; k < 30; k++) {
        struct wire_ready_msg m, b;
        memset(&m, 0, sizeof m);
        rnd_bytes(&m, offsetof(struct wire_ready_msg, path));
        m.path = rnd_str(str_a, 200);
        m.info = rnd_str(str_b, 200);
        m.text = rnd_str(str_c, 200);
        ROUND(ready, m, b, {
            CHECK(m.kernel == b.kernel && m.status == b.status && m.restored == b.restored && m.exit_code == b.exit_code && m.signal == b.signal);
            CHECK(m.id.inode == b.id.inode && m.id.mtime_ns == b.id.mtime_ns && m.id.ctime_ns == b.id.ctime_ns && m.id.size == b.id.size);
            CHECK(same_str(m.path, b.path) && same_str(m.info, b.info) && same_str(m.text, b.text));
        });
    }
}

TEST(message_exec)
{
    for (int k = 0; k < 30; k++) {
        struct wire_exec m, b;
        memset(&m, 0, sizeof m);
        rnd_bytes(&m, offsetof(struct wire_exec, prefix));
        m.prefix = rnd_str(str_a, 200);
        ROUND(exec, m, b, {
            CHECK_MEM(m.id, b.id, WIRE_ID);
            CHECK(m.kernel == b.kernel && m.base == b.base && m.flags == b.flags && m.number == b.number && m.token == b.token && m.code_bytes == b.code_bytes);
            CHECK(m.timeout_ns == b.timeout_ns && m.grace_ns == b.grace_ns && m.cpu_ns == b.cpu_ns && m.idle_ns == b.idle_ns && m.build_ns == b.build_ns && m.rows == b.rows && m.columns == b.columns && same_str(m.prefix, b.prefix));
        });
    }
}

TEST(message_exit)
{
    for (int k = 0; k < 30; k++) {
        struct wire_exit m, b;
        memset(&m, 0, sizeof m);
        rnd_bytes(&m, sizeof m);
        ROUND(exit, m, b, {
            CHECK_MEM(m.id, b.id, WIRE_ID);
            CHECK(m.how == b.how && m.status == b.status && m.interrupted == b.interrupted && m.kernel_state == b.kernel_state);
            CHECK(m.exit_code == b.exit_code && m.signal == b.signal && m.wall_ns == b.wall_ns && m.cpu_ns == b.cpu_ns && m.memory_peak == b.memory_peak);
            CHECK(m.oom_kills == b.oom_kills && m.limits_hit == b.limits_hit && m.flags == b.flags && m.step == b.step);
        });
    }
}

/* Sizes on the wire: a field that changes its width breaks old agents. */
TEST(message_sizes)
{
    struct wire_hello h = { 0 };
    struct wire_welcome w = { 0 };
    struct wire_start s = { 0 };
    struct wire_ready_msg r = { 0 };
    struct wire_exec e = { 0 };
    struct wire_exit x = { 0 };
    const struct { const char *name; size_t got, want; } row[] = {
#define SIZE(kind, m, want) { #kind, ({ struct wire_out o = { msg_buf, msg_buf + sizeof msg_buf, 0 }; interp__wire_put_##kind(&o, &m); (size_t)(o.p - msg_buf); }), want }
        SIZE(hello, h, 80), SIZE(welcome, w, 16), SIZE(start, s, 48), SIZE(ready, r, 50), SIZE(exec, e, 82), SIZE(exit, x, 65),
#undef SIZE
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].got != row[i].want)
            FAIL("%s takes %zu bytes, FORMAT.md says %zu", row[i].name, row[i].got, row[i].want);
}

/* Random bytes into every reader: nothing may read outside, and what decodes encodes to the same bytes. */
TEST(random_bytes)
{
    uint64_t seed = 99;
    for (int round = 0; round < 20000; round++) {
        size_t n = tap_random(&seed) % 120;
        uint8_t *p = malloc(n + 1);
        for (size_t k = 0; k < n; k++)
            p[k] = tap_random(&seed) % 4 ? 0 : (uint8_t)tap_random(&seed);
        struct wire_frame f = as_frame(p, n);
        struct wire_ready_msg m;
        if (interp__wire_get_ready(&f, &m) == 0) {
            struct wire_out o = { msg_buf, msg_buf + sizeof msg_buf, 0 };
            interp__wire_put_ready(&o, &m);
            CHECK(!o.bad && (size_t)(o.p - msg_buf) <= n);
            CHECK_MEM(msg_buf, p, (size_t)(o.p - msg_buf));
        }
        struct wire_exec e;
        if (interp__wire_get_exec(&f, &e) == 0) {
            struct wire_out o = { msg_buf, msg_buf + sizeof msg_buf, 0 };
            interp__wire_put_exec(&o, &e);
            CHECK(!o.bad && (size_t)(o.p - msg_buf) <= n);
            CHECK_MEM(msg_buf, p, (size_t)(o.p - msg_buf));
        }
        free(p);
    }
}

TAP_MAIN()
