/* hop.c - the price of the agent: one exec of `x=1` in the real Python driver, driven directly and through the agent, in turns.
   hop AGENT BOOT DRIVER [rounds]: medians in microseconds and their ratio. */
#define _GNU_SOURCE
#include "../../lib/wire/wire.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}
static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *b = malloc(1 << 20);
    if (!f || !b)
        exit(2);
    *n = fread(b, 1, (1 << 20) - 1, f);
    b[*n] = 0;
    fclose(f);
    return b;
}
static void all(int fd, void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t r = read(fd, (char *)p + at, n - at);
        if (r <= 0) {
            fprintf(stderr, "stream ended\n");
            exit(3);
        }
        at += (size_t)r;
    }
}
static size_t e_frame(uint8_t *out, uint32_t token)
{
    static const char json[] = "{\"n\":1,\"name\":\"<exec 1>\",\"env\":{},\"options\":{}}", code[] = "x=1";
    struct kframe f = { .json_len = sizeof json - 1, .bin_len = sizeof code - 1, .type = 'E', .token = token };
    interp__kframe_put(out, &f);
    memcpy(out + KFRAME_HEADER, json, sizeof json - 1);
    memcpy(out + KFRAME_HEADER + sizeof json - 1, code, sizeof code - 1);
    return KFRAME_HEADER + sizeof json - 1 + sizeof code - 1;
}

/* ---- direct */
static int control;
static void direct_start(const char *boot, const char *driver, size_t n)
{
    int s[2], blob = memfd_create("driver", MFD_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) || write(blob, driver, n) != (ssize_t)n)
        exit(2);
    lseek(blob, 0, SEEK_SET);
    if (fork() == 0) {
        int nul = open("/dev/null", O_RDWR), c = fcntl(s[1], F_DUPFD, 20), b = fcntl(blob, F_DUPFD, 20);
        dup2(nul, 0), dup2(nul, 1), dup2(c, 3), dup2(b, 4);
        char *env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL };
        execle("/usr/bin/python3", "python3", "-c", boot, NULL, env);
        _exit(1);
    }
    control = s[0];
    close(s[1]);
    uint8_t b[65536];
    struct kframe f;
    all(control, b, KFRAME_HEADER);
    interp__kframe_get(b, &f);
    all(control, b, f.json_len + f.bin_len);
}
static void direct_exec(uint32_t token)
{
    static int held[2] = { -1, -1 };
    int o[2], e[2], n;
    uint8_t b[4096];
    if (pipe2(o, O_CLOEXEC) || pipe2(e, O_CLOEXEC))
        exit(2);
    fcntl(o[0], F_SETFL, O_NONBLOCK), fcntl(e[0], F_SETFL, O_NONBLOCK);
    struct kframe p = { .type = 'P', .token = token };
    interp__kframe_put(b, &p);
    size_t len = KFRAME_HEADER + e_frame(b + KFRAME_HEADER, token);
    struct iovec v = { b, len };
    union { struct cmsghdr h; char room[CMSG_SPACE(8)]; } c = { .h = { .cmsg_len = CMSG_LEN(8), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    int fds[2] = { o[1], e[1] };
    memcpy(CMSG_DATA(&c.h), fds, 8);
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c.room };
    if (sendmsg(control, &m, 0) != (ssize_t)len)
        exit(2);
    close(o[1]), close(e[1]);
    for (int i = 0; i < 2; i++)
        if (held[i] >= 0)
            close(held[i]);
    struct pollfd q[3] = { { control, POLLIN, 0 }, { o[0], POLLIN, 0 }, { e[0], POLLIN, 0 } };
    while (poll(q, 3, -1) > 0 && !q[0].revents)
        ;
    if (read(control, b, sizeof b) <= 0)
        exit(3);
    ioctl(o[0], FIONREAD, &n), ioctl(e[0], FIONREAD, &n);
    held[0] = o[0], held[1] = e[0];
}

/* ---- through the agent */
static int stream;
static struct wire_peer peer;
static uint8_t in[1 << 18];
static size_t have;
static void send_frame(uint8_t *b, size_t *at, uint8_t type, uint8_t flags, uint16_t channel, const void *p, size_t n)
{
    interp__wire_header(&peer, b + *at, type, flags, channel, (uint32_t)n);
    memcpy(b + *at + WIRE_HEADER, p, n);
    *at += WIRE_HEADER + n;
}
static void flush_out(const uint8_t *b, size_t n)
{
    if (write(stream, b, n) != (ssize_t)n)
        exit(2);
}
static void wait_for(uint8_t type)
{
    for (;;) {
        struct wire_frame f;
        long n;
        while ((n = interp__wire_next(&peer, in, have, 1, &f)) > 0) {
            int hit = f.type == type;
            if (f.type == WIRE_FATAL || n < 0)
                exit(4);
            memmove(in, in + n, have -= (size_t)n);
            if (hit)
                return;
        }
        struct pollfd p = { stream, POLLIN, 0 };
        poll(&p, 1, -1);
        ssize_t r = read(stream, in + have, sizeof in - have);
        if (r <= 0)
            exit(3);
        have += (size_t)r;
    }
}
static void agent_start(const char *agent, const char *boot, const char *driver, size_t n)
{
    static uint8_t b[1 << 18], p[65536];
    int s[2];
    size_t at = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
        exit(2);
    if (fork() == 0) {
        dup2(s[1], 0), dup2(s[1], 1);
        execlp("unshare", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", "mount -t tmpfs none /run && exec \"$0\" stdio", agent, NULL);
        _exit(1);
    }
    stream = s[0];
    close(s[1]);
    struct wire_hello h = { .version_min = 1, .version_max = 1, .umask = 022 };
    struct wire_out o = { p, p + sizeof p, 0 };
    interp__wire_put_hello(&o, &h);
    send_frame(b, &at, WIRE_HELLO, 0, 0, p, (size_t)(o.p - p));
    o = (struct wire_out){ p, p + sizeof p, 0 };
    struct wire_start m = { .kernel = 1, .channel = 16, .kind = WIRE_KIND_PASSED };
    interp__wire_put_start(&o, &m);
    interp__wire_put_u16(&o, 1), interp__wire_put_string(&o, "/usr/bin/python3", 16);
    interp__wire_put_u16(&o, 2), interp__wire_put_string(&o, "-c", 2), interp__wire_put_string(&o, boot, strlen(boot));
    interp__wire_put_u16(&o, 2), interp__wire_put_string(&o, "PATH=/usr/bin:/bin", 18), interp__wire_put_string(&o, "LANG=C.UTF-8", 12);
    interp__wire_put_string(&o, "", 0);
    send_frame(b, &at, WIRE_KERNEL_START, 0, 0, p, (size_t)(o.p - p));
    send_frame(b, &at, WIRE_DATA, WIRE_FLAG_END, 16, driver, n);
    flush_out(b, at);
    wait_for(WIRE_KERNEL_READY);
}
static void agent_exec(uint32_t token)
{
    uint8_t b[4096], p[512];
    size_t at = 0, n = e_frame(p, token);
    struct wire_exec m = { .kernel = 1, .base = 20, .number = 1, .token = token, .code_bytes = (uint32_t)n, .timeout_ns = 20000000000u, .grace_ns = 3000000000u };
    uint8_t x[128];
    memcpy(m.id, &token, 4);
    struct wire_out o = { x, x + sizeof x, 0 };
    interp__wire_put_exec(&o, &m);
    send_frame(b, &at, WIRE_EXEC, 0, 0, x, (size_t)(o.p - x));
    send_frame(b, &at, WIRE_DATA, WIRE_FLAG_END, 20, p, n);
    flush_out(b, at);
    wait_for(WIRE_EXIT);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    size_t nb, nd;
    char *boot = slurp(argv[2], &nb), *driver = slurp(argv[3], &nd);
    int rounds = argc > 4 ? atoi(argv[4]) : 5, n = 2000;
    direct_start(boot, driver, nd);
    agent_start(argv[1], boot, driver, nd);
    double *a = calloc((size_t)n, sizeof *a), *c = calloc((size_t)n, sizeof *c);
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < n; i++) {
            double t = now();
            direct_exec((uint32_t)(r * n + i) * 2u + 1u);
            a[i] = now() - t;
            if (getenv("HOP_PAUSE"))
                usleep((unsigned)atoi(getenv("HOP_PAUSE")));
        }
        for (int i = 0; i < n; i++) {
            double t = now();
            agent_exec((uint32_t)(r * n + i) * 2u + 2u);
            c[i] = now() - t;
            if (getenv("HOP_PAUSE"))
                usleep((unsigned)atoi(getenv("HOP_PAUSE")));
        }
        qsort(a, (size_t)n, sizeof *a, order);
        qsort(c, (size_t)n, sizeof *c, order);
        printf("direct p10 %.1f median %.1f | agent p10 %.1f median %.1f us | ratio p10 %.2f median %.2f\n", a[n / 10], a[n / 2], c[n / 10], c[n / 2], c[n / 10] / a[n / 10], c[n / 2] / a[n / 2]);
        fflush(stdout);
    }
    return 0;
}
