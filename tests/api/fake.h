/* fake.h - a backend of the tests' own: its sandbox is a thread of this process that plays the guest agent over a socket pair
   (lib/wire/FORMAT.md), so that a test can say exactly what comes out of it, broken frames included. Needs no sandbox of the machine's.
   SPDX-License-Identifier: MIT

   The code of an exec is a line of commands, run one after the other (separated by ';'):
     print TEXT      TEXT and a newline on stdout          err TEXT     the same on stderr
     flood N         N bytes 'x' on stdout                 stdin        prints how many bytes of stdin came
     drops N         N bytes, each a frame of its own
     value TEXT      the value of the last expression      exit N       ends with this code
     hang            waits for an interrupt, ends by it    deaf         ignores everything, for ever
     sleep N         N ms                                  die          closes the stream
     crash           the kernel process dies by signal 11  json TEXT    the final frame carries TEXT as its JSON
     kframe HEX      raw bytes on the kernel channel       bad WORD     breaks the protocol in the way that WORD names (see bad_frame)
     requests N      N REQUEST frames, reading nothing     kready N     N kernel frames of type r with 1 MiB of JSON each
     slow N          waits for an order to end it, and has proof of that only N ms later; dying N says meanwhile that it is at work */
#ifndef INTERP_TESTS_FAKE_H
#define INTERP_TESTS_FAKE_H
#include "api.h"
#include "wire/wire.h"
#include <sys/socket.h>

struct fake_agent;
struct fake {
    /* what it should do wrong */
    int open_fails, open_never, open_slow_ms, kill_never, close_never, mute;   /* mute: the agent never says WELCOME */
    int one_byte, buffered, from_thread, lies, read_error_after, write_error, no_credit;
    size_t struct_size;
    const char *reached;                       /* what it says instead of its usual text */
    /* what happened */
    int opens, opened, closes, kills, abandons, destroyed, live;
    char option[100], mounts[400];             /* mounts: "source>target>flags;" and "language=path;" of the specification */
    enum { FAKE_NO_FILES, FAKE_TOO_MUCH, FAKE_HALF, FAKE_NOTHING, FAKE_SILENT } files;   /* how it answers work on files */
    void (*file_work)(struct fake_agent *, const struct wire_file *);   /* ... or as the test has it */
    interp_spec spec;
    pthread_mutex_t lock;
};
struct fake_link {
    struct fake *b;
    const interp_host_ops *h;
    interp_link *l;
    int fd, agent_fd, want_out, joined;
    pthread_t thread, waker;
    int waker_on, stop;
    uint8_t held[4096];
    size_t nheld;
    uint64_t reads;
};

/* ---- the agent's side */

struct fake_agent {
    int fd;
    struct wire_peer peer;
    uint8_t in[WIRE_FRAME_MAX * 2];
    size_t nin;
    uint32_t credit[3];             /* of base, base + 1, base + 2 of the exec that runs */
    struct wire_exec e;
    char prefix[8];
    int running, interrupted, hard, dead, closed, slow, beats;
    uint8_t *code;
    size_t ncode;
    uint64_t nstdin;
    int stdin_ended;
    uint8_t kind[64];
    const struct fake *b;
};
static int fake_write(struct fake_agent *a, const void *p, size_t n)
{
    const uint8_t *q = p;
    while (n) {
        ssize_t k = send(a->fd, q, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return a->dead = 1, -1;
        q += k, n -= (size_t)k;
    }
    return 0;
}
static int fake_send(struct fake_agent *a, uint8_t type, uint8_t flags, uint16_t channel, const void *p, size_t n)
{
    uint8_t *b = malloc(WIRE_HEADER + n);
    interp__wire_header(&a->peer, b, type, flags, channel, (uint32_t)n);
    if (n)
        memcpy(b + WIRE_HEADER, p, n);
    int rc = fake_write(a, b, WIRE_HEADER + n);
    free(b);
    return rc;
}
static void fake_credit(struct fake_agent *a, uint16_t channel, uint32_t n)
{
    uint8_t b[4];
    struct wire_out o = { b, b + 4, 0 };
    if (!n)
        return;
    interp__wire_put_u32(&o, n);
    fake_send(a, WIRE_CREDIT, 0, channel, b, 4);
}
/* Work on files, by an agent that tells too much or too little: a list has one entry more than was asked for, a change set ends within a record; or within a file, as
   the answer says (half); goes on for ever with frames of no bytes (nothing). */
static void fake_file(struct fake_agent *a, const struct wire_file *m)
{
    if (a->b->files == FAKE_SILENT)
        return;
    uint8_t b[256];
    struct wire_out o = { b, b + sizeof b, 0 };
    struct wire_file_done d = { .channel = m->channel };
    struct wire_entry e = { .type = WIRE_TYPE_FILE, .flags = m->op == WIRE_FILE_DIFF ? WIRE_CHANGE_CREATED : 0, .path = { (const uint8_t *)"name", 4 } };
    interp__wire_put_entry(&o, &e);
    size_t n = (size_t)(o.p - b);
    if (m->op == WIRE_FILE_DIFF && a->b->files == FAKE_HALF) {
        static const char part[] = "the key is squeamish" "-ossifrage, and";
        e.size = 1000;
        e.flags |= WIRE_CHANGE_CONTENT;
        o = (struct wire_out){ b, b + sizeof b, 0 };
        interp__wire_put_entry(&o, &e);
        interp__wire_put_bytes(&o, part, sizeof part - 1);
        fake_send(a, WIRE_DATA, 0, m->channel, b, (size_t)(o.p - b));
        d.error = WIRE_FILE_LOST;
    }
    while (m->op == WIRE_FILE_DIFF && a->b->files == FAKE_NOTHING && !fake_send(a, WIRE_DATA, 0, m->channel, b, 0))
        tap_sleep_ms(500);
    for (uint64_t i = 0; m->op == WIRE_FILE_LIST && i <= m->limit; i++, d.count++)
        fake_send(a, WIRE_DATA, 0, m->channel, b, n);
    if (m->op == WIRE_FILE_DIFF && a->b->files == FAKE_TOO_MUCH) {
        fake_send(a, WIRE_DATA, 0, m->channel, b, n);
        fake_send(a, WIRE_DATA, 0, m->channel, b, n - 2);
        d.count = 2;
    }
    o = (struct wire_out){ b, b + sizeof b, 0 };
    interp__wire_put_file_done(&o, &d);
    fake_send(a, WIRE_FILE_DONE, 0, 0, b, (size_t)(o.p - b));
}
static void fake_slow(struct fake_agent *a)
{
    for (int left = a->slow; left > 0 && !a->dead; left -= 300) {
        struct pollfd p = { a->fd, 0, 0 };
        a->dead |= poll(&p, 1, left < 300 ? left : 300) > 0;   /* its host has killed it */
        if (a->beats)
            fake_send(a, WIRE_NOP, 0, 0, NULL, 0);
    }
}
/* So many times, in one piece: what comes twice is there at once. */
static void fake_exits(struct fake_agent *a, int times, uint8_t how, uint8_t word, int32_t code, int32_t sig)
{
    uint8_t b[128], frames[2 * (WIRE_HEADER + sizeof b)], *to = frames;
    struct wire_out o = { b, b + sizeof b, 0 };
    struct wire_exit x = { .how = how, .status = word, .interrupted = (uint8_t)a->interrupted, .exit_code = code, .signal = sig, .wall_ns = 1000, .cpu_ns = 1000,
                           .memory_peak = UINT64_MAX, .flags = WIRE_EXIT_RAN };
    x.kernel_state = how == WIRE_HOW_FINAL ? WIRE_KERNEL_ALIVE : WIRE_KERNEL_PROVEN;
    memcpy(x.id, a->e.id, WIRE_ID);
    interp__wire_put_exit(&o, &x);
    a->running = 0;
    size_t n = (size_t)(o.p - b);
    for (int i = 0; i < times; i++) {
        interp__wire_header(&a->peer, to, WIRE_EXIT, 0, 0, (uint32_t)n);
        memcpy(to + WIRE_HEADER, b, n);
        to += WIRE_HEADER + n;
    }
    fake_write(a, frames, (size_t)(to - frames));
}
static void fake_exit(struct fake_agent *a, uint8_t how, uint8_t word, int32_t code, int32_t sig) { fake_exits(a, 1, how, word, code, sig); }
/* Takes one frame in; blocks for it up to ms (-1: for ever). 1 one was taken, 0 none, -1 the stream is over. */
static int fake_frame(struct fake_agent *a, int ms)
{
    struct wire_frame f;
    long n;
    while ((n = interp__wire_next(&a->peer, a->in, a->nin, 0, &f)) == 0) {
        struct pollfd p = { a->fd, POLLIN, 0 };
        int ready = poll(&p, 1, ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return 0;
        ssize_t k = recv(a->fd, a->in + a->nin, sizeof a->in - a->nin, 0);
        if (k <= 0)
            return a->dead = 1, -1;
        a->nin += (size_t)k;
    }
    if (n < 0) {
        fprintf(stderr, "# the host broke the protocol\n");
        return a->dead = 1, -1;
    }
    struct wire_in i;
    interp__wire_in_init(&i, f.payload, f.size);
    switch (f.type) {
    case WIRE_HELLO: {
        struct wire_hello h;
        uint8_t b[64];
        struct wire_out o = { b, b + sizeof b, 0 };
        struct wire_welcome w = { .version = WIRE_VERSION, .arch = WIRE_ARCH_X86_64, .ids = 2, .landlock = 6, .scoped = 1, .memory = 1, .uid = 1000 };
        if (interp__wire_get_hello(&f, &h) || h.version_min > WIRE_VERSION || h.version_max < WIRE_VERSION || !h.lease_ns)
            fprintf(stderr, "# a bad HELLO\n");
        interp__wire_put_welcome(&o, &w);
        if (!a->b->mute)
            fake_send(a, WIRE_WELCOME, 0, 0, b, (size_t)(o.p - b));
        break;
    }
    case WIRE_KERNEL_START: {
        struct wire_start s;
        uint8_t b[256];
        struct wire_out o = { b, b + sizeof b, 0 };
        if (interp__wire_get_start(&f, &s))
            break;
        a->kind[s.kernel % 64] = s.kind;
        static const char path[] = "/fake/interpreter", info[] = "{\"language\":\"fake\",\"version\":\"3.11.2\"}";
        struct wire_ready_msg r = { .kernel = s.kernel, .status = WIRE_READY_OK, .exit_code = -1, .id = { 1, 2, 3, 4 } };
        r.path = (struct wire_str){ (const uint8_t *)path, sizeof path - 1 };
        r.info = (struct wire_str){ (const uint8_t *)info, sizeof info - 1 };
        interp__wire_put_ready(&o, &r);
        fake_send(a, WIRE_KERNEL_READY, 0, 0, b, (size_t)(o.p - b));
        break;
    }
    case WIRE_KERNEL_STOP: {
        uint8_t b[3];
        if (a->slow && a->running) {
            fake_slow(a);
            fake_exit(a, WIRE_HOW_STOPPED, WIRE_WORD_NONE, -1, 9);
        }
        struct wire_out o = { b, b + sizeof b, 0 };
        interp__wire_put_u16(&o, interp__wire_u16(&i));
        interp__wire_put_u8(&o, 1);
        fake_send(a, WIRE_KERNEL_GONE, 0, 0, b, 3);
        break;
    }
    case WIRE_EXEC:
        if (a->running || interp__wire_get_exec(&f, &a->e))
            break;
        a->running = 1;
        a->interrupted = a->hard = 0;
        a->ncode = 0;
        a->nstdin = 0;
        a->stdin_ended = !(a->e.flags & WIRE_EXEC_STDIN);
        a->code = realloc(a->code, a->e.code_bytes + 1);
        for (int k = 0; k < 3; k++)
            a->credit[k] = WIRE_WINDOW;
        break;
    case WIRE_DATA:
        if (a->running && f.channel == a->e.base) {
            if (a->ncode + f.size <= a->e.code_bytes)
                memcpy(a->code + a->ncode, f.payload, f.size), a->ncode += f.size;
        } else if (a->running && f.channel == a->e.base + 1) {
            a->nstdin += f.size;
            a->stdin_ended |= f.flags & WIRE_FLAG_END;
        }
        if (!a->b->no_credit)
            fake_credit(a, f.channel, f.size);
        break;
    case WIRE_CREDIT:
        if (a->running && f.channel >= a->e.base && f.channel < a->e.base + 3)
            a->credit[f.channel - a->e.base] += interp__wire_u32(&i);
        break;
    case WIRE_INTERRUPT: {
        uint8_t id[WIRE_ID];
        interp__wire_bytes(&i, id, WIRE_ID);
        uint8_t cause = interp__wire_u8(&i), hard = interp__wire_u8(&i);
        if (a->running && !memcmp(id, a->e.id, WIRE_ID)) {
            a->interrupted = cause;
            a->hard |= hard;
        }
        break;
    }
    case WIRE_FILE: {
        struct wire_file m;
        if ((a->b->files || a->b->file_work) && !interp__wire_get_file(&f, &m))
            (a->b->file_work ? a->b->file_work : fake_file)(a, &m);
        break;
    }
    case WIRE_BYE:
        a->closed = 1;
        break;
    default:
        break;
    }
    a->nin -= (size_t)n;
    memmove(a->in, a->in + n, a->nin);
    return a->closed ? -1 : 1;
}
static void fake_data(struct fake_agent *a, int which, const void *p, size_t n)
{
    const uint8_t *q = p;
    while (n && !a->dead) {
        while (!a->credit[which])
            if (fake_frame(a, -1) < 0)
                return;
        size_t k = n < a->credit[which] ? n : a->credit[which];
        k = k < WIRE_PAYLOAD_MAX ? k : WIRE_PAYLOAD_MAX;
        if (fake_send(a, WIRE_DATA, 0, (uint16_t)(a->e.base + which), q, k))
            return;
        a->credit[which] -= (uint32_t)k;
        q += k, n -= k;
    }
}
static void fake_kframe(struct fake_agent *a, uint8_t type, uint8_t status, const char *json, const void *bin, size_t nbin)
{
    struct kframe k = { (uint32_t)strlen(json), (uint32_t)nbin, a->e.token, type, status };
    uint8_t h[KFRAME_HEADER];
    interp__kframe_put(h, &k);
    fake_data(a, 0, h, sizeof h);
    fake_data(a, 0, json, strlen(json));
    fake_data(a, 0, bin, nbin);
}
/* Breaks the protocol. */
static void fake_bad(struct fake_agent *a, const char *word)
{
    uint8_t h[WIRE_HEADER + 64] = { 0 };
    static uint8_t zeros[WIRE_PAYLOAD_MAX];
    struct wire_peer p = a->peer;
    if (!strcmp(word, "size")) {
        interp__wire_header(&p, h, WIRE_DATA, 0, a->e.base, 0xffffffffu);
        fake_write(a, h, WIRE_HEADER);
    } else if (!strcmp(word, "type")) {
        interp__wire_header(&p, h, 99, 0, 0, 0);
        fake_write(a, h, WIRE_HEADER);
    } else if (!strcmp(word, "host-type")) {
        fake_send(a, WIRE_EXEC, 0, 0, zeros, 54);
    } else if (!strcmp(word, "flags")) {
        fake_send(a, WIRE_DATA, 0x80, a->e.base, zeros, 4);
    } else if (!strcmp(word, "seq")) {
        a->peer.sent += 5;
        fake_send(a, WIRE_DATA, 0, (uint16_t)(a->e.base + 1), "x", 1);
    } else if (!strcmp(word, "ack")) {
        a->peer.taken += 1000;
        fake_send(a, WIRE_DATA, 0, (uint16_t)(a->e.base + 1), "x", 1);
    } else if (!strcmp(word, "window")) {
        for (int i = 0; i < 40 && !a->dead; i++)
            fake_send(a, WIRE_DATA, 0, (uint16_t)(a->e.base + 1), zeros, sizeof zeros);
    } else if (!strcmp(word, "channel")) {
        fake_send(a, WIRE_DATA, 0, 60000, "x", 1);
    } else if (!strcmp(word, "exec-id")) {
        a->e.id[3] ^= 1;
        fake_exit(a, WIRE_HOW_FINAL, WIRE_WORD_OK, -1, 0);
    } else if (!strcmp(word, "twice")) {
        fake_exits(a, 2, WIRE_HOW_FINAL, WIRE_WORD_OK, -1, 0);
    } else if (!strcmp(word, "short-exit")) {
        fake_send(a, WIRE_EXIT, 0, 0, a->e.id, WIRE_ID);
    } else if (!strcmp(word, "welcome-again")) {
        fake_send(a, WIRE_WELCOME, 0, 0, zeros, 16);
    } else if (!strcmp(word, "credit")) {
        uint8_t b[4] = { 0xff, 0xff, 0xff, 0xff };
        fake_send(a, WIRE_CREDIT, 0, a->e.base, b, 4);
    } else if (!strcmp(word, "kernel-json")) {
        fake_kframe(a, 'd', 0, "{\"kind\":\"result\",\"mime\":[[\"text/plain\",999]]}", "x", 1);
    } else if (!strcmp(word, "kernel-type")) {
        fake_kframe(a, '?', 0, "{}", NULL, 0);
    } else if (!strcmp(word, "kernel-size")) {
        uint8_t k[KFRAME_HEADER] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'f' };
        fake_data(a, 0, k, sizeof k);
    } else if (!strcmp(word, "fatal")) {
        uint8_t b[64];
        struct wire_out o = { b, b + sizeof b, 0 };
        interp__wire_put_string(&o, "test", 4);
        interp__wire_put_string(&o, "said \x1b[31m by the test", 22);
        fake_send(a, WIRE_FATAL, 0, 0, b, (size_t)(o.p - b));
    } else if (!strcmp(word, "garbage")) {
        for (size_t i = 0; i < sizeof h; i++)
            h[i] = (uint8_t)(i * 77 + 13);
        fake_write(a, h, sizeof h);
    }
    while (!a->dead && fake_frame(a, -1) >= 0)
        ;
}
static void fake_run(struct fake_agent *a)
{
    uint8_t *code = a->code;
    size_t n = a->ncode;
    int exit_code = 0;
    const char *json = NULL;
    char text[300];
    if (a->kind[a->e.kernel % 64] != WIRE_KIND_SCRIPT && n >= KFRAME_HEADER) {   /* framed: one whole kernel frame */
        struct kframe k;
        if (interp__kframe_get(code, &k) || KFRAME_HEADER + k.json_len + k.bin_len != n || k.type != 'E' || k.token != a->e.token)
            fprintf(stderr, "# a bad kernel frame from the host\n");
        code += KFRAME_HEADER + k.json_len;
        n = k.bin_len;
    }
    char *line = strndup((char *)code, n > 100000 ? 100000 : n), *save = NULL, *heap_json = NULL;
    for (char *w = strtok_r(line, ";", &save); w && !a->dead; w = strtok_r(NULL, ";", &save)) {
        while (*w == ' ' || *w == '\n')
            w++;
        char *arg = strchr(w, ' ');
        arg = arg ? arg + 1 : w + strlen(w);
        if (!strncmp(w, "print", 5) || !strncmp(w, "err", 3)) {
            int which = *w == 'p' ? 1 : 2;
            fake_data(a, which, arg, strlen(arg));
            fake_data(a, which, "\n", 1);
        } else if (!strncmp(w, "flood", 5)) {
            enum { PIECE = 65536 };
            uint8_t *x = malloc(PIECE);
            memset(x, 'x', PIECE);
            for (long left = atol(arg); left > 0 && !a->dead;) {
                size_t k = left < PIECE ? (size_t)left : PIECE;
                fake_data(a, 1, x, k);
                left -= (long)k;
            }
            free(x);
        } else if (!strncmp(w, "drops", 5)) {
            for (long left = atol(arg); left > 0 && !a->dead; left--)
                fake_data(a, 1, "x", 1);
        } else if (!strncmp(w, "stdin", 5)) {
            while (!a->stdin_ended && fake_frame(a, -1) >= 0)
                ;
            snprintf(text, sizeof text, "%" PRIu64 "\n", a->nstdin);
            fake_data(a, 1, text, strlen(text));
        } else if (!strncmp(w, "value", 5)) {
            snprintf(text, sizeof text, "{\"kind\":\"result\",\"mime\":[[\"text/plain\",%zu]]}", strlen(arg));
            fake_kframe(a, 'd', 0, text, arg, strlen(arg));
        } else if (!strncmp(w, "exit", 4)) {
            exit_code = atoi(arg);
        } else if (!strncmp(w, "hang", 4)) {
            while (!a->interrupted && fake_frame(a, -1) >= 0)
                ;
            if (a->interrupted) {
                fake_kframe(a, 'f', WIRE_WORD_INTERRUPTED, "{}", NULL, 0);
                fake_exit(a, WIRE_HOW_FINAL, WIRE_WORD_INTERRUPTED, -1, 0);
            }
            break;
        } else if (!strncmp(w, "slow", 4) || !strncmp(w, "dying", 5)) {
            a->slow = atoi(arg);
            a->beats = *w == 'd';
            while (a->running && !a->interrupted && fake_frame(a, -1) >= 0)
                ;
            if (a->running && a->interrupted) {
                fake_slow(a);
                fake_exit(a, WIRE_HOW_KILLED, WIRE_WORD_NONE, -1, 9);
            }
            a->slow = 0;
            break;
        } else if (!strncmp(w, "deaf", 4)) {
            while (fake_frame(a, -1) >= 0)
                ;
            break;
        } else if (!strncmp(w, "sleep", 5)) {
            tap_sleep_ms((unsigned)atoi(arg));
        } else if (!strncmp(w, "die", 3)) {
            a->dead = 1;
            break;
        } else if (!strncmp(w, "crash", 5)) {
            fake_exit(a, WIRE_HOW_DIED, WIRE_WORD_NONE, -1, 11);
            break;
        } else if (!strncmp(w, "json", 4)) {
            json = heap_json = strdup(arg);
        } else if (!strncmp(w, "requests", 8)) {
            uint8_t b[10] = { 1 };
            for (long left = atol(arg); left > 0 && !a->dead; left--)
                fake_send(a, WIRE_REQUEST, 0, 0, b, sizeof b);
        } else if (!strncmp(w, "kready", 6)) {
            char *big = malloc((1u << 20) + 1);
            memset(big, ' ', 1u << 20);
            big[1u << 20] = 0;
            for (long left = atol(arg); left > 0 && !a->dead; left--)
                fake_kframe(a, 'r', 0, big, NULL, 0);
            free(big);
        } else if (!strncmp(w, "kframe", 6)) {
            uint8_t raw[100];
            size_t k = 0;
            for (unsigned v; k < sizeof raw && sscanf(arg, "%2x", &v) == 1; arg += 2)
                raw[k++] = (uint8_t)v;
            fake_data(a, 0, raw, k);
        } else if (!strncmp(w, "bad", 3)) {
            fake_bad(a, arg);
            break;
        }
    }
    if (a->running && !a->dead) {
        snprintf(text, sizeof text, "{\"exit_code\":%d}", exit_code);
        uint8_t word = exit_code ? WIRE_WORD_EXIT : WIRE_WORD_OK;
        fake_kframe(a, 'f', word, json ? json : text, NULL, 0);
        fake_exit(a, WIRE_HOW_FINAL, word, -1, 0);
    }
    free(heap_json);
    free(line);
}
static void *fake_main(void *p)
{
    struct fake_link *f = p;
    struct fake_agent *a = calloc(1, sizeof *a);
    a->fd = f->agent_fd;
    a->b = f->b;
    while (!a->dead && fake_frame(a, -1) >= 0)
        if (a->running && a->ncode == a->e.code_bytes)
            fake_run(a);
    shutdown(a->fd, SHUT_RDWR);
    free(a->code);
    free(a);
    return NULL;
}

/* ---- the backend */

static void fake_end(struct fake_link *f)
{
    shutdown(f->fd, SHUT_RDWR);
    if (!f->joined) {
        pthread_join(f->thread, NULL);
        f->joined = 1;
        close(f->agent_fd);
    }
    __atomic_store_n(&f->stop, 1, __ATOMIC_SEQ_CST);
    if (f->waker_on)
        pthread_join(f->waker, NULL);
    f->waker_on = 0;
}
static void *fake_waker(void *p)   /* "completes from a thread": news come by wake only */
{
    struct fake_link *f = p;
    while (!__atomic_load_n(&f->stop, __ATOMIC_SEQ_CST)) {
        struct pollfd q = { f->fd, POLLIN, 0 };
        if (poll(&q, 1, 20) > 0)
            f->h->wake(f->l);
        tap_sleep_ms(1);
    }
    return NULL;
}
static void fake_watch(struct fake_link *f)
{
    if (!f->b->from_thread)
        f->h->watch(f->l, f->fd, INTERP_IO_IN | (f->want_out ? INTERP_IO_OUT : 0));
}
static void fake_opened(struct fake_link *f)
{
    static const char reached[] = "{\"isolation\":\"full\",\"ids\":\"two\",\"memory\":\"cgroup\",\"cpu\":\"cgroup\",\"pids\":\"cgroup\",\"landlock\":6,\"shared_inodes\":false,\"unenforced\":[]}";
    __atomic_add_fetch(&f->b->opened, 1, __ATOMIC_SEQ_CST);
    f->h->reached(f->l, f->b->reached ? f->b->reached : reached, f->b->reached ? strlen(f->b->reached) : sizeof reached - 1);
    f->h->notify(f->l, INTERP_LINK_OPENED);
}
static interp_status fake_open(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst)
{
    struct fake *b = backend;
    int sv[2];
    __atomic_add_fetch(&b->opens, 1, __ATOMIC_SEQ_CST);
    b->spec = *spec;
    b->spec.session_id = b->spec.owner_label = NULL;
    b->mounts[0] = 0;
    for (uint32_t i = 0; i < spec->nmounts; i++)
        snprintf(b->mounts + strlen(b->mounts), sizeof b->mounts - strlen(b->mounts), "%s>%s>%u;", spec->mount_sources[i], spec->mount_targets[i], spec->mount_flags[i]);
    for (uint32_t i = 0; i < spec->ninterpreters; i++)
        snprintf(b->mounts + strlen(b->mounts), sizeof b->mounts - strlen(b->mounts), "%s=%s;", spec->interpreter_languages[i], spec->interpreters[i]);
    const char *json = NULL;
    size_t len = 0;
    if (h->option(l, "key", &json, &len) == INTERP_OK && len < sizeof b->option) {
        memcpy(b->option, json, len);
        b->option[len] = 0;
    }
    if (b->open_fails == 1)
        return h->fail(l, INTERP_E_IMAGE, "fake-image", ENOENT, "the image is missing, says the test", "make one");
    struct fake_link *f = h->realloc(l, NULL, 0, sizeof *f);
    if (!f)
        return h->fail(l, INTERP_E_NOMEM, "no-memory", ENOMEM, "out of memory", "");
    memset(f, 0, sizeof *f);
    f->b = b, f->h = h, f->l = l;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv)) {
        h->realloc(l, f, sizeof *f, 0);
        return h->fail(l, INTERP_E_IO, "socket", errno, "no socket pair", "");
    }
    f->fd = sv[0], f->agent_fd = sv[1];
    fcntl(f->fd, F_SETFL, O_NONBLOCK);
    *inst = f;
    __atomic_add_fetch(&b->live, 1, __ATOMIC_SEQ_CST);
    if (pthread_create(&f->thread, NULL, fake_main, f)) {
        f->joined = 1;
        close(f->agent_fd);
        return h->fail(l, INTERP_E_IO, "thread", errno, "no thread", "");
    }
    if (b->open_fails == 2)
        return h->fail(l, INTERP_E_BACKEND, "fake-late", 0, "failed after inst was set, says the test", "");
    if (b->open_never)
        return INTERP_OK;
    if (b->open_slow_ms) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return h->timer(l, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + (uint64_t)b->open_slow_ms * 1000000u);
    }
    interp_status st = INTERP_OK;
    if (b->from_thread) {
        f->waker_on = 1;
        pthread_create(&f->waker, NULL, fake_waker, f);
    } else
        st = h->watch(l, f->fd, INTERP_IO_IN);
    if (st < 0)
        return h->fail(l, st, "watch", 0, "the core does not watch", "");
    h->progress(l, "{\"step\":\"fake\"}", 15);
    fake_opened(f);
    return INTERP_OK;
}
static void fake_advance(void *inst)
{
    struct fake_link *f = inst;
    if (f->b->open_slow_ms && !f->b->opened) {
        fake_watch(f);
        fake_opened(f);
        return;
    }
    f->h->notify(f->l, INTERP_LINK_READABLE);
    if (f->want_out) {
        f->want_out = 0;
        fake_watch(f);
        f->h->notify(f->l, INTERP_LINK_WRITABLE);
    }
}
static interp_status fake_read(void *inst, void *buf, size_t cap, size_t *n)
{
    struct fake_link *f = inst;
    f->reads++;
    if (f->b->lies && f->reads % 3)
        return f->h->again(f->l), INTERP_AGAIN;                      /* "there is something", and then there is not */
    if (f->b->read_error_after && f->reads > (uint64_t)f->b->read_error_after)
        return INTERP_E_IO;
    if (f->nheld) {
        size_t k = f->nheld < cap ? f->nheld : cap;
        memcpy(buf, f->held, k);
        memmove(f->held, f->held + k, f->nheld - k);
        f->nheld -= k;
        *n = k;
        return INTERP_OK;
    }
    if (f->b->buffered) {                                            /* takes bytes off the socket, hands out a few of them */
        ssize_t k = recv(f->fd, f->held, sizeof f->held, 0);
        if (k <= 0)
            return k == 0 ? INTERP_DONE : errno == EAGAIN ? INTERP_AGAIN : INTERP_E_IO;
        f->nheld = (size_t)k;
        f->h->again(f->l);
        return INTERP_AGAIN;
    }
    ssize_t k = recv(f->fd, buf, f->b->one_byte ? 1 : cap, 0);
    if (k > 0)
        return *n = (size_t)k, INTERP_OK;
    return k == 0 ? INTERP_DONE : errno == EAGAIN ? INTERP_AGAIN : INTERP_E_IO;
}
static interp_status fake_put(void *inst, const void *buf, size_t len, size_t *n)
{
    struct fake_link *f = inst;
    if (f->b->write_error)
        return INTERP_E_IO;
    ssize_t k = send(f->fd, buf, f->b->one_byte ? 1 : len, MSG_NOSIGNAL);
    if (k > 0)
        return *n = (size_t)k, INTERP_OK;
    if (errno != EAGAIN)
        return INTERP_E_IO;
    f->want_out = 1;
    fake_watch(f);
    return INTERP_AGAIN;
}
static interp_status fake_kill(void *inst)
{
    struct fake_link *f = inst;
    __atomic_add_fetch(&f->b->kills, 1, __ATOMIC_SEQ_CST);
    if (f->b->kill_never)
        return INTERP_OK;
    shutdown(f->fd, SHUT_RDWR);
    f->h->notify(f->l, INTERP_LINK_KILLED);
    return INTERP_OK;
}
static void fake_release(struct fake_link *f)
{
    fake_end(f);
    close(f->fd);
    __atomic_sub_fetch(&f->b->live, 1, __ATOMIC_SEQ_CST);
}
static void fake_close(void *inst)
{
    struct fake_link *f = inst;
    __atomic_add_fetch(&f->b->closes, 1, __ATOMIC_SEQ_CST);
    if (f->b->close_never)
        return;
    f->h->watch(f->l, f->fd, 0);
    fake_release(f);
    const interp_host_ops *h = f->h;
    interp_link *l = f->l;
    h->realloc(l, f, sizeof *f, 0);
    h->notify(l, INTERP_LINK_CLOSED);
}
static void fake_abandon(void *inst)
{
    struct fake_link *f = inst;
    __atomic_add_fetch(&f->b->abandons, 1, __ATOMIC_SEQ_CST);
    fake_release(f);
    f->h->realloc(f->l, f, sizeof *f, 0);
}
static void fake_destroy(void *backend) { __atomic_add_fetch(&((struct fake *)backend)->destroyed, 1, __ATOMIC_SEQ_CST); }

static const interp_backend_ops FAKE = {
    .struct_size = sizeof FAKE, .name = "fake", .open = fake_open, .advance = fake_advance, .read = fake_read, .write = fake_put,
    .kill = fake_kill, .close = fake_close, .abandon = fake_abandon,
};
UNUSED static void fake_add(interp_ctx *x, struct fake *b)
{
    NEED(interp_ctx_add_backend(x, &FAKE, b, fake_destroy, ERR));
}
#endif
