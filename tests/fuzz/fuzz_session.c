/* fuzz_session.c - a whole session against an agent whose bytes are the input: every rule of the host's end of the wire, through the public API only.
   The backend hands out a correct WELCOME and then, as the host sends frames, the input's frames: each is given a correct sequence number and
   acknowledgement unless the input says otherwise, so that the fuzzer gets past the header.
   SPDX-License-Identifier: MIT

   Input: records of u8 what, u8 type, u8 flags, u8 channel, u8 length, then that many bytes. `what` bit 0: raw bytes, no header. bit 1: length
   counts sixteenfold. bit 2: the payload's start is the running exec's id. bit 3: break the sequence number. bit 4: channel counts from the exec's base.
   bits 5 to 7: rounds to wait before. */
#include "fuzz.h"
#include "core/tar.h"
#include <interp/backend.h>
#include <interp/interp.h>

struct agent {
    const interp_host_ops *h;
    interp_link *l;
    const uint8_t *p;
    size_t left;
    struct wire_peer peer;
    uint8_t in[WIRE_FRAME_MAX * 4];
    size_t nin;
    uint8_t out[WIRE_FRAME_MAX * 4];
    size_t nout;
    uint8_t id[WIRE_ID];
    uint16_t base;
    unsigned wait;
    int welcomed, started, ended, execs;
};

static void put(struct agent *a, uint8_t type, uint8_t flags, uint16_t channel, const void *p, size_t n, int spoil)
{
    if (a->nout + WIRE_HEADER + n > sizeof a->out)
        return;
    if (spoil)
        a->peer.sent += 3;
    interp__wire_header(&a->peer, a->out + a->nout, type, flags, channel, (uint32_t)n);
    if (n)
        memcpy(a->out + a->nout + WIRE_HEADER, p, n);
    a->nout += WIRE_HEADER + n;
}
static void take(struct agent *a)
{
    struct wire_frame f;
    size_t at = 0;
    for (;;) {
        long n = interp__wire_next(&a->peer, a->in + at, a->nin - at, 0, &f);
        FUZZ_CHECK(n >= 0);                            /* the host itself never breaks the protocol */
        if (n == 0)
            break;
        at += (size_t)n;
        if (f.type == WIRE_HELLO) {
            uint8_t b[64];
            struct wire_out o = { b, b + sizeof b, 0 };
            struct wire_welcome w = { .version = WIRE_VERSION, .arch = 1, .ids = 2, .memory = 1, .uid = 1000 };
            interp__wire_put_welcome(&o, &w);
            put(a, WIRE_WELCOME, 0, 0, b, (size_t)(o.p - b), 0);
            a->welcomed = 1;
        } else if (f.type == WIRE_KERNEL_START) {
            struct wire_start s;
            FUZZ_CHECK(interp__wire_get_start(&f, &s) == 0);
            uint8_t b[128];
            struct wire_out o = { b, b + sizeof b, 0 };
            struct wire_ready_msg r = { .kernel = s.kernel, .status = WIRE_READY_OK, .exit_code = -1 };
            interp__wire_put_ready(&o, &r);
            put(a, WIRE_KERNEL_READY, 0, 0, b, (size_t)(o.p - b), 0);
        } else if (f.type == WIRE_EXEC) {
            struct wire_exec e;
            FUZZ_CHECK(interp__wire_get_exec(&f, &e) == 0);
            memcpy(a->id, e.id, WIRE_ID);
            a->base = e.base;
            a->started = 1;
            a->execs++;
        } else if (f.type == WIRE_FILE) {
            struct wire_file m;
            FUZZ_CHECK(interp__wire_get_file(&f, &m) == 0);
            a->base = m.channel;
            a->started = 1;
        }
    }
    memmove(a->in, a->in + at, a->nin - at);
    a->nin -= at;
}
static void play(struct agent *a)
{
    while (a->started && a->left >= 5 && a->nout < WIRE_FRAME_MAX) {
        if (a->wait) {
            a->wait--;
            a->h->again(a->l);
            return;
        }
        uint8_t what = a->p[0], type = a->p[1], flags = a->p[2], channel = a->p[3];
        size_t n = (size_t)a->p[4] * (what & 2 ? 16 : 1);
        a->p += 5, a->left -= 5;
        n = n < a->left ? n : a->left;
        a->wait = what >> 5;
        if (what & 1) {
            memcpy(a->out + a->nout, a->p, n);
            a->nout += n;
        } else {
            uint8_t b[16 * 255 + 16];
            memcpy(b, a->p, n);
            if (what & 4 && n >= WIRE_ID)
                memcpy(b, a->id, WIRE_ID);
            put(a, type, flags, (uint16_t)(what & 16 ? a->base + channel % 4 : channel), b, n, what & 8);
        }
        a->p += n, a->left -= n;
    }
    if (a->started && a->left < 5 && !a->nout)
        a->ended = 1;                                  /* the input is used up: the stream ends */
}

static interp_status b_open(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    struct agent *a = backend;
    (void)spec;
    a->h = h, a->l = l;
    *inst = a;
    h->reached(l, "{\"isolation\":\"full\",\"memory\":\"cgroup\"}", 38);
    h->notify(l, INTERP_LINK_OPENED);
    h->again(l);
    return INTERP_OK;
}
static void b_advance(void *inst)
{
    struct agent *a = inst;
    a->h->notify(a->l, INTERP_LINK_READABLE);
    if (!a->ended)
        a->h->again(a->l);
}
static interp_status b_read(void *inst, void *buf, size_t cap, size_t *n)
{
    struct agent *a = inst;
    play(a);
    if (!a->nout)
        return a->ended ? INTERP_DONE : INTERP_AGAIN;
    *n = a->nout < cap ? a->nout : cap;
    memcpy(buf, a->out, *n);
    memmove(a->out, a->out + *n, a->nout - *n);
    a->nout -= *n;
    return INTERP_OK;
}
static interp_status b_write(void *inst, const void *buf, size_t len, size_t *n)
{
    struct agent *a = inst;
    *n = sizeof a->in - a->nin < len ? sizeof a->in - a->nin : len;
    if (!*n)
        return INTERP_AGAIN;
    memcpy(a->in + a->nin, buf, *n);
    a->nin += *n;
    take(a);
    a->h->again(a->l);
    return INTERP_OK;
}
static interp_status b_kill(void *inst)
{
    struct agent *a = inst;
    a->ended = 1;
    a->h->notify(a->l, INTERP_LINK_KILLED);
    return INTERP_OK;
}
static void b_close(void *inst)
{
    struct agent *a = inst;
    a->h->notify(a->l, INTERP_LINK_CLOSED);
}
static void b_abandon(void *inst) { (void)inst; }
static const interp_backend_ops OPS = {
    .struct_size = sizeof OPS, .name = "fuzz", .open = b_open, .advance = b_advance, .read = b_read, .write = b_write, .kill = b_kill, .close = b_close, .abandon = b_abandon,
};

/* An archive that is given to the host reads as one: paths below its directory, and links that stay there. */
static void read_archive(struct interp__tar *t, const uint8_t *p, size_t n)
{
    enum interp__tar_found f = INTERP__TAR_MORE;
    while (n && f != INTERP__TAR_BAD && (f = interp__tar_read(t, &p, &n)) != INTERP__TAR_BAD)
        FUZZ_CHECK(f != INTERP__TAR_ENTRY || (interp__tree_plain(t->entry.path, t->entry.path_len) && (t->entry.type != WIRE_TYPE_LINK || interp__tree_stays(&t->entry))));
    FUZZ_CHECK(f != INTERP__TAR_BAD || (!strcmp(t->reason, "tar-name") && interp__tree_foreign(t->path, strlen(t->path))));     /* such names are as they are */
}

static int turn(interp_ctx *x, interp_call *k)
{
    static struct interp__tar tar;
    interp__tar_init(&tar);
    for (int i = 0; i < 20000; i++) {
        const interp_event *ev;
        interp_status st;
        while ((st = interp_call_next(k, &ev)) == INTERP_OK) {
            size_t n;
            const void *p = interp_event_data(ev, &n);
            if (interp_call_kind(k) == INTERP_CALL_GET_TAR && interp_event_type(ev) == INTERP_EV_DATA)
                read_archive(&tar, p, n);
            FUZZ_CHECK(n <= (interp_call_kind(k) == INTERP_CALL_GET_TAR ? 8u << 20 : 65536u));
        }
        if (st == INTERP_DONE)
            return 1;
        FUZZ_CHECK(st == INTERP_AGAIN);
        st = interp_ctx_dispatch(x, NULL);
        FUZZ_CHECK(st >= 0);
    }
    return 0;
}
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct agent *a = calloc(1, sizeof *a);
    interp_ctx *x = NULL;
    interp_config *c = NULL;
    interp_session *s = NULL;
    interp_call *k = NULL;
    uint8_t mode = data[0];
    a->p = data + 1, a->left = size - 1;
    FUZZ_CHECK(interp_ctx_new(INTERP_CTX_LOOP, &x, NULL) == INTERP_OK);
    FUZZ_CHECK(interp_ctx_add_backend(x, &OPS, a, NULL, NULL) == INTERP_OK);
    FUZZ_CHECK(interp_config_new(x, &c, NULL) == INTERP_OK && interp_config_set_backend(c, "fuzz", NULL) == INTERP_OK);
    FUZZ_CHECK(interp_session_open_start(x, c, &s, &k, NULL) == INTERP_OK);
    FUZZ_CHECK(turn(x, k));
    FUZZ_CHECK(interp_call_finish(k, NULL, NULL) == INTERP_OK);
    interp_call_free(k);
    if (mode & 8) {                                    /* a tree comes first, or one goes */
        size_t taken;
        k = NULL;
        interp_status st = mode & 16 ? interp_session_put_tar_start(s, "t", 1, INTERP_TREE_LINKS, &k, NULL) :
                                       interp_session_get_tar_start(s, "t", 1, mode & 32 ? INTERP_TREE_LINKS : 0, 1 << 20, &k, NULL);
        FUZZ_CHECK(st == INTERP_OK);
        if (mode & 16) {
            st = interp_call_write(k, data, size, &taken, NULL);
            FUZZ_CHECK(st == INTERP_OK || st == INTERP_E_CLOSED);
            st = interp_call_write_end(k, NULL);
            FUZZ_CHECK(st == INTERP_OK || st == INTERP_E_CLOSED);
        }
        FUZZ_CHECK(turn(x, k));
        st = interp_call_finish(k, NULL, NULL);
        FUZZ_CHECK(st != INTERP_OK || strstr(interp_call_json(k, NULL), "\"complete\":"));
        interp_call_free(k);
    }
    for (int round = 0; round < 3; round++) {
        interp_request *r = NULL;
        interp_result *out = NULL;
        k = NULL;
        FUZZ_CHECK(interp_request_new(x, &r, NULL) == INTERP_OK);
        FUZZ_CHECK(interp_request_set_language(r, mode & 1 ? "python" : "bash", NULL) == INTERP_OK);
        FUZZ_CHECK(interp_request_set_code(r, "some code", 9, NULL) == INTERP_OK);
        FUZZ_CHECK(interp_request_set_stream(r, mode >> 1 & 1, NULL) == INTERP_OK);
        interp_status st = interp_session_exec_start(s, r, &k, NULL);
        interp_request_free(r);
        FUZZ_CHECK(st == INTERP_OK || st == INTERP_E_CLOSED);
        if (st != INTERP_OK)
            break;
        if (mode & 4 && round == 0) {
            interp_call_free(k);                       /* abandoned */
            continue;
        }
        FUZZ_CHECK(turn(x, k));                        /* the stream ends at the latest, so the exec does */
        FUZZ_CHECK(interp_call_finish(k, &out, NULL) == INTERP_OK && out);
        FUZZ_CHECK(interp_result_outcome(out) >= INTERP_OUTCOME_OK && interp_result_outcome(out) <= INTERP_OUTCOME_LOST);
        FUZZ_CHECK(interp_result_state(out) >= INTERP_STATE_PRESERVED && interp_result_state(out) <= INTERP_STATE_GONE);
        size_t n;
        const char *j = interp_result_json(out, &n);
        FUZZ_CHECK(j && strlen(j) == n);
        interp_result_free(out);
        interp_call_free(k);
    }
    interp_session_close(s);
    interp_config_free(c);
    interp_ctx_free(x);
    free(a);
    return 0;
}
