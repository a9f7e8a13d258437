/* syslog.c - the second sink: RFC 5424 to the machine's log socket. syslog(3) belongs to the whole process; this does not. Never waits: what the log does not take at once is counted. */
#include "audit_priv.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 8000, RETRY_MS = 1000 };

static int connected(struct interp__audit *a)
{
    struct audit_syslog *s = &a->syslog;
    if (s->fd >= 0)
        return 0;
    uint64_t now = interp__now();
    if (now < s->retry)
        return -1;
    s->retry = interp__after(now, interp__ms(RETRY_MS));
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    snprintf(to.sun_path, sizeof to.sun_path, "%s", s->socket ? s->socket : "/dev/log");
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) {
        interp__audit_log(a, 2, "syslog at %s takes no audit records: %s", to.sun_path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    interp__fds_add(fd);
    s->fd = fd;
    return 0;
}

void interp__audit_syslog_put(struct interp__audit *a, uint64_t seq, const char *event)
{
    char head[160], when[32] = "-", text[256];
    struct timespec t;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &t);
    if (gmtime_r(&t.tv_sec, &tm))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    /* severity notice; no host name: that takes a look-up, and the log knows it */
    int n = snprintf(head, sizeof head, "<%d>1 %s.%06ldZ - interp %ld %s - ", a->syslog.facility * 8 + 5, when, t.tv_nsec / 1000, (long)a->pid, event);
    const char *body = (const char *)a->line.p;
    size_t len = a->line.len - 1;
    if (len > MESSAGE_MAX) {   /* logs cut what is long, and half a record is none: its place in the chain is told instead */
        len = (size_t)snprintf(text, sizeof text, "{\"v\":1,\"seq\":%" PRIu64 ",\"event\":\"%s\",\"too_long\":%zu,\"hash\":\"%s\"}", seq, event, len, a->head);
        body = text;
    }
    struct iovec v[2] = { { head, (size_t)n }, { (void *)(uintptr_t)body, len } };
    struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
    if (!connected(a) && sendmsg(a->syslog.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return;
    a->syslog_dropped++;
    if (a->syslog.fd >= 0 && errno != EAGAIN && errno != ENOBUFS && errno != EMSGSIZE)   /* the log was started anew */
        interp__audit_syslog_close(a);
}

void interp__audit_syslog_close(struct interp__audit *a)
{
    if (a->syslog.fd < 0)
        return;
    interp__fds_remove(a->syslog.fd);
    close(a->syslog.fd);
    a->syslog.fd = -1;
}
