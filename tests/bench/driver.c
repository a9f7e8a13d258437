/* driver.c - plays the guest agent towards one kernel: the floor of the exec benches.
   SPDX-License-Identifier: MIT */
#include "bench.h"
#include "wire/wire.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct driver {
    int kind, control, commands, err;
    pid_t pid;
    uint32_t token, number;
    char dir[64], *template_text;
    uint8_t buf[1 << 20];
    size_t n;
};

static char *file_text(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", KERNELS_DIR, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    text[n] = 0;
    fclose(f);
    return text;
}
/* As the build embeds a shell driver: without comment lines. */
static void strip_comments(char *text)
{
    char *out = text;
    for (char *p = text; *p;) {
        char *e = strchrnul(p, '\n'), *q = p;
        size_t len = (size_t)(e - p) + (*e == '\n');
        while (*q == ' ' || *q == '\t')
            q++;
        if (*q != '#' && *q != '\n') {
            memmove(out, p, len);
            out += len;
        }
        p += len;
    }
    *out = 0;
}
static char *replace(const char *text, const char *what, const char *with)
{
    size_t room = strlen(text) + 1, nw = strlen(what);
    for (const char *p = text; (p = strstr(p, what)); p += nw)
        room += strlen(with);
    char *out = malloc(room), *o = out;
    for (const char *p = text; *p;)
        if (!strncmp(p, what, nw)) {
            o = stpcpy(o, with);
            p += nw;
        } else
            *o++ = *p++;
    *o = 0;
    return out;
}
static int write_all(int fd, const void *p, size_t n)
{
    const char *q = p;
    while (n) {
        ssize_t k = write(fd, q, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        q += k, n -= (size_t)k;
    }
    return 0;
}
/* Reads one frame: its type, or 0 at the end, -1 when there is none yet (only if not asked to wait). */
static int frame(struct driver *d, int wait)
{
    struct kframe f;
    for (;;) {
        if (d->n >= KFRAME_HEADER) {
            if (interp__kframe_get(d->buf, &f))
                return 0;
            size_t whole = (size_t)KFRAME_HEADER + f.json_len + f.bin_len;
            if (whole > sizeof d->buf)
                return 0;
            if (d->n >= whole) {
                memmove(d->buf, d->buf + whole, d->n - whole);
                d->n -= whole;
                return f.type;
            }
        }
        ssize_t k = recv(d->control, d->buf + d->n, sizeof d->buf - d->n, wait ? 0 : MSG_DONTWAIT);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0 && errno == EAGAIN)
            return -1;
        if (k <= 0)
            return 0;
        d->n += (size_t)k;
    }
}

struct driver *driver_start(const char *language)
{
    struct driver *d = calloc(1, sizeof *d);
    char *blob = NULL, *boot = NULL, exe[64] = "", *argv[8] = { exe };
    static char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=dumb", "PYTHONUNBUFFERED=1", NULL };
    d->commands = -1;
    strcpy(d->dir, access("/dev/shm", W_OK) ? "/tmp/interp-bench-XXXXXX" : "/dev/shm/interp-bench-XXXXXX");   /* a tmpfs, as in the sandbox */
    if (!mkdtemp(d->dir))
        return NULL;
    if (!strcmp(language, "python")) {
        d->kind = WIRE_KIND_PASSED;
        strcpy(exe, "/usr/bin/python3");
        blob = file_text("python.py");
        argv[1] = "-c", argv[2] = boot = file_text("python_boot.py");
    } else if (!strcmp(language, "javascript")) {
        d->kind = WIRE_KIND_PATHS;
        strcpy(exe, "/usr/bin/node");
        blob = file_text("javascript.js");
        argv[1] = "--expose-internals", argv[2] = "--no-warnings", argv[3] = "-e", argv[4] = boot = file_text("javascript_boot.js");
    } else {
        d->kind = WIRE_KIND_SCRIPT;
        strcpy(exe, "/bin/bash");
        blob = file_text("bash.sh");
        d->template_text = file_text("bash.template");
        argv[1] = "--noprofile", argv[2] = "--norc", argv[3] = "/dev/fd/4";
    }
    if (!blob || access(exe, X_OK)) {
        rmdir(d->dir);
        free(d);
        return NULL;
    }
    int c[2], e[2], four, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c) || pipe2(e, O_CLOEXEC))
        return NULL;
    if (d->kind == WIRE_KIND_SCRIPT) {
        int p[2];
        char keep[100];
        if (pipe2(p, O_CLOEXEC))
            return NULL;
        four = p[0];
        d->commands = p[1];
        snprintf(keep, sizeof keep, "%s/keep", d->dir);
        mkdir(keep, 0700);
        strip_comments(blob);
        char *whole = replace(blob, "@D@", keep);
        free(blob);
        blob = whole;
        char *t = replace(d->template_text, "@D@", keep);
        free(d->template_text);
        d->template_text = t;
    } else {
        four = memfd_create("driver", MFD_CLOEXEC);
        write_all(four, blob, strlen(blob));
        lseek(four, 0, SEEK_SET);
    }
    /* sources above 4, so that no dup2 overwrites one that is still needed */
    int high[5] = { fcntl(null, F_DUPFD_CLOEXEC, 100), fcntl(null, F_DUPFD_CLOEXEC, 100), fcntl(e[1], F_DUPFD_CLOEXEC, 100), fcntl(c[1], F_DUPFD_CLOEXEC, 100), fcntl(four, F_DUPFD_CLOEXEC, 100) };
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&at);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSID);
    for (int i = 0; i < 5; i++)
        posix_spawn_file_actions_adddup2(&fa, high[i], i);
    int bad = posix_spawn(&d->pid, exe, &fa, &at, argv, env);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&at);
    for (int i = 0; i < 5; i++)
        close(high[i]);
    close(null), close(c[1]), close(e[1]), close(four);
    d->control = c[0], d->err = e[0];
    if (!bad && d->commands >= 0)
        write_all(d->commands, blob, strlen(blob));
    free(blob);
    free(boot);
    int type = 0;
    while (!bad && (type = frame(d, 1)) && type != 'r')
        ;
    if (bad || type != 'r') {
        char text[2000];
        ssize_t n = read(d->err, text, sizeof text - 1);
        fprintf(stderr, "driver %s did not start: %.*s\n", language, n > 0 ? (int)n : 0, text);
        driver_end(d);
        return NULL;
    }
    return d;
}

static int drain(int fd)
{
    static char b[1 << 16];
    int n = 0;
    ioctl(fd, FIONREAD, &n);
    while (n > 0) {
        ssize_t k = read(fd, b, (size_t)n < sizeof b ? (size_t)n : sizeof b);
        if (k <= 0)
            break;
        n -= (int)k;
    }
    return n;
}
static void put_frame(uint8_t *out, size_t *n, uint32_t token, uint8_t type, const char *json, const char *bin)
{
    struct kframe f = { (uint32_t)strlen(json), (uint32_t)strlen(bin), token, type, 0 };
    interp__kframe_put(out + *n, &f);
    memcpy(out + *n + KFRAME_HEADER, json, f.json_len);
    memcpy(out + *n + KFRAME_HEADER + f.json_len, bin, f.bin_len);
    *n += (size_t)KFRAME_HEADER + f.json_len + f.bin_len;
}

double driver_exec(struct driver *d, const char *code)
{
    int out[2] = { -1, -1 }, err[2] = { -1, -1 };
    char path[3][100], prefix[80], json[200];
    uint8_t msg[4096];
    size_t n = 0;
    double t = now_ms();
    d->number++;
    d->token = 0x01000193u * d->number;
    if (d->kind == WIRE_KIND_PASSED) {
        if (pipe2(out, O_CLOEXEC | O_NONBLOCK) || pipe2(err, O_CLOEXEC | O_NONBLOCK))
            return -1;
        fcntl(out[1], F_SETFL, 0);
        fcntl(err[1], F_SETFL, 0);
    } else {
        snprintf(prefix, sizeof prefix, "%s/s%u.", d->dir, d->number);
        for (int i = 1; i < 3; i++) {
            snprintf(path[i], sizeof path[i], "%s%d", prefix, i);
            if (mkfifo(path[i], 0600))
                return -1;
        }
        out[0] = open(path[1], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        err[0] = open(path[2], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    snprintf(json, sizeof json, "{\"n\":%u,\"name\":\"<exec %u>\",\"env\":{},\"options\":{}}", d->number, d->number);
    if (d->kind == WIRE_KIND_PASSED) {
        int fds[2] = { out[1], err[1] };
        union { char b[CMSG_SPACE(sizeof fds)]; struct cmsghdr align; } control = { { 0 } };
        put_frame(msg, &n, d->token, 'P', "", "");
        struct iovec iv = { msg, n };
        struct msghdr m = { .msg_iov = &iv, .msg_iovlen = 1, .msg_control = control.b, .msg_controllen = sizeof control.b };
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET, h->cmsg_type = SCM_RIGHTS, h->cmsg_len = CMSG_LEN(sizeof fds);
        memcpy(CMSG_DATA(h), fds, sizeof fds);
        if (sendmsg(d->control, &m, MSG_NOSIGNAL) < 0)
            return -1;
        n = 0;
        put_frame(msg, &n, d->token, 'E', json, code);
        if (send(d->control, msg, n, MSG_NOSIGNAL) < 0)
            return -1;
        close(out[1]);
        close(err[1]);
    } else if (d->kind == WIRE_KIND_PATHS) {
        put_frame(msg, &n, d->token, 'P', "", prefix);
        put_frame(msg, &n, d->token, 'E', json, code);
        if (send(d->control, msg, n, MSG_NOSIGNAL) < 0)
            return -1;
    } else {
        char file[100], token[40];
        snprintf(file, sizeof file, "%s/code", d->dir);
        int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        write_all(fd, code, strlen(code));
        close(fd);
        snprintf(token, sizeof token, "\\%03o\\%03o\\%03o\\%03o", d->token & 255, d->token >> 8 & 255, d->token >> 16 & 255, d->token >> 24);
        const char *map[][2] = { { "@T@", token }, { "@F@", file }, { "@0@", "/dev/null" }, { "@1@", path[1] }, { "@2@", path[2] }, { "@E@", "" } };
        char *text = strdup(d->template_text);
        for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
            char *next = replace(text, map[i][0], map[i][1]);
            free(text);
            text = next;
        }
        write_all(d->commands, text, strlen(text));
        free(text);
    }
    int type = -1;
    for (;;) {
        struct pollfd p[3] = { { d->control, POLLIN, 0 }, { out[0], POLLIN, 0 }, { err[0], POLLIN, 0 } };
        if (poll(p, 3, 20000) <= 0)
            break;
        for (int i = 1; i < 3; i++)
            if (p[i].revents & POLLIN)
                drain(p[i].fd);
        if (!p[0].revents)
            continue;
        while ((type = frame(d, 0)) > 0 && type != 'f')
            if (type == 'o' && d->kind != WIRE_KIND_PASSED)
                unlink(path[1]), unlink(path[2]);
        if (type == 'f' || type == 0)
            break;
    }
    drain(out[0]);
    drain(err[0]);
    close(out[0]);
    close(err[0]);
    return type == 'f' ? now_ms() - t : -1;
}

void driver_end(struct driver *d)
{
    if (!d)
        return;
    if (d->pid > 0) {
        kill(d->pid, SIGKILL);
        waitpid(d->pid, NULL, 0);
    }
    close(d->control);
    close(d->err);
    if (d->commands >= 0)
        close(d->commands);
    char *rm[] = { "rm", "-rf", d->dir, NULL };
    (void)run_quiet_ms(rm);
    free(d->template_text);
    free(d);
}
