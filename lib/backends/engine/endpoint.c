/* endpoint.c - where an engine listens: what the config says, else what its own command line would use */
#include "engine_priv.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)

/* A message may hold an engine's or a registry's words, and will be on a terminal: no control characters, those of C1 (U+0080 to U+009F) included, and
   no bytes that are no character, such as the half of one that was cut. */
static void clean(char *text)
{
    size_t n = strlen(text), at = 0, kept = 0;
    while (at < n) {
        size_t end = at + interp__utf8_valid(text + at, n - at);
        while (at < end) {
            int c1 = (unsigned char)text[at] == 0xC2 && (unsigned char)text[at + 1] < 0xA0, c0 = (unsigned char)text[at] < 0x20 || text[at] == 0x7F;
            text[kept++] = c0 || c1 ? ' ' : text[at];
            at += c1 ? 2 : 1;
        }
        at++;
    }
    text[kept] = 0;
}

int interp__engine_fail(struct interp__engine_failure *f, interp_status code, const char *reason, int err, const char *remedy, const char *fmt, ...)
{
    va_list ap;
    if (!f)
        return -1;
    f->code = code;
    f->reason = reason;
    f->remedy = remedy;
    f->err = err;
    va_start(ap, fmt);
    vsnprintf(f->message, sizeof f->message, fmt, ap);
    va_end(ap);
    clean(f->message);
    return -1;
}

const char *interp__engine_home(void)
{
    const char *home = getenv("HOME");
    return home ? home : "";
}

int interp__engine_json_file(struct interp__json *j, const struct interp__mem *m, const char *path, struct interp__engine_failure *f)
{
    struct interp__buf b;
    interp_error *e = NULL;
    struct stat st;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);   /* a FIFO there must not hold us */
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 1 : interp__engine_fail(f, INTERP_E_INVAL, "engine-config", errno, "make it readable, or set `endpoint`", "%s can not be opened: %s", path, strerror(errno));
    interp__buf_init(&b, m);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX || interp__buf_reserve(&b, (size_t)st.st_size + 1))
        n = -1;
    while (n >= 0 && b.len < b.cap && (n = read(fd, b.p + b.len, b.cap - b.len)) != 0) {
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n > 0)
            b.len += (size_t)n;
    }
    close(fd);
    int r = 0;
    if (n < 0)
        r = interp__engine_fail(f, INTERP_E_INVAL, "engine-config", 0, "mend it, or set `endpoint`", "%s is not a readable file of at most 1 MiB", path);
    else if (interp__json_parse(j, m, b.p, b.len, &e)) {
        r = interp__engine_fail(f, INTERP_E_INVAL, "engine-config", 0, "mend it, or set `endpoint`", "%s: %s", path, interp_error_message(e));
        interp__json_free(j);
    }
    interp_error_free(e);
    interp__buf_free(&b);
    return r;
}

/* ---- parts of an address */

static int is_unix(struct interp__endpoint *e, const char *path, struct interp__engine_failure *f)
{
    if (*path != '/' || strlen(path) >= sizeof e->path)
        return interp__engine_fail(f, INTERP_E_INVAL, "endpoint", 0, "give unix:///absolute/path, at most 107 bytes", "\"unix://%.200s\" is not the path of a socket", path);
    snprintf(e->path, sizeof e->path, "%s", path);
    return 0;
}

static int is_tcp(struct interp__endpoint *e, const char *at, struct interp__engine_failure *f)
{
    const char *end = at, *port = NULL;
    if (*at == '[') {
        end = strchr(++at, ']');
        port = end && end[1] == ':' ? end + 2 : end ? end + 1 : NULL;
    } else {
        end = at + strcspn(at, ":/");
        port = *end == ':' ? end + 1 : end;
    }
    size_t named = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%");   /* a zone may follow an address: %eth0 */
    size_t digits = port ? strspn(port, "0123456789") : 0;
    if (!end || end == at || at + named < end || (size_t)(end - at) >= sizeof e->host || digits > 5 || (port[digits] && strcmp(port + digits, "/")))
        return interp__engine_fail(f, INTERP_E_INVAL, "endpoint", 0, "give tcp://HOST:PORT", "\"tcp://%.200s\" is not a host and a port", at);
    snprintf(e->host, sizeof e->host, "%.*s", (int)(end - at), at);
    snprintf(e->port, sizeof e->port, "%.*s", (int)digits, digits ? port : "");
    if (!digits)
        snprintf(e->port, sizeof e->port, "%s", e->tls ? "2376" : "2375");   /* IANA: docker-s, docker */
    e->tcp = 1;
    return 0;
}

static int parse(struct interp__endpoint *e, const char *text, const char *source, struct interp__engine_failure *f)
{
    if (strlen(text) > 255)
        return interp__engine_fail(f, INTERP_E_INVAL, "endpoint", 0, "", "the engine's address (%s) is longer than 255 bytes", source);
    snprintf(e->text, sizeof e->text, "%s (%s)", text, source);
    if (!strncmp(text, "unix://", 7))
        return is_unix(e, text + 7, f);
    if (*text == '/')
        return is_unix(e, text, f);
    if (!strncmp(text, "tcp://", 6))
        return is_tcp(e, text + 6, f);
    if (!strncmp(text, "https://", 8)) {
        e->tls = 1;
        return is_tcp(e, text + 8, f);
    }
    if (!strncmp(text, "http://", 7))
        return is_tcp(e, text + 7, f);
    return interp__engine_fail(f, INTERP_E_UNSUPPORTED, "endpoint", 0, "use unix:///path or tcp://host:port; for ssh://, forward the socket: ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST",
                               "\"%s\" (%s) is no address that can be used here", text, source);
}

/* TLS with the certificates of that directory. Never a part of its name: that would be another directory. */
static int use_certs(struct interp__endpoint *e, const char *path, struct interp__engine_failure *f)
{
    if (strlen(path) >= sizeof e->certs)
        return interp__engine_fail(f, INTERP_E_INVAL, "endpoint", 0, "give a shorter path", "the path of the certificates is longer than %zu bytes: %.60s...", sizeof e->certs - 1, path);
    strcpy(e->certs, path);
    e->tls = 1;
    return 0;
}

/* ---- docker contexts: ~/.docker/contexts/meta/<sha256 of the name>/meta.json, certificates beside it under tls/ */

static int context(struct interp__endpoint *e, const struct interp__mem *m, struct interp__engine_failure *f)
{
    char dir[PATH_MAX], path[PATH_MAX + 128], name[128] = "", hash[INTERP__SHA256_HEX], source[160];
    struct interp__json j = { 0 };
    const char *v = getenv("DOCKER_CONFIG");
    int n = v && *v ? snprintf(dir, sizeof dir, "%s", v) : snprintf(dir, sizeof dir, "%s/.docker", interp__engine_home());
    if (n < 0 || (size_t)n >= sizeof dir)
        return interp__engine_fail(f, INTERP_E_INVAL, "engine-config", 0, "set DOCKER_CONFIG to a shorter path, or set `endpoint`", "the path of the docker configuration is longer than %zu bytes: %.60s...", sizeof dir - 1, dir);
    v = getenv("DOCKER_CONTEXT");
    if (v && *v)
        n = snprintf(name, sizeof name, "%s", v);
    else {
        snprintf(path, sizeof path, "%s/config.json", dir);
        int r = interp__engine_json_file(&j, m, path, f);
        if (r)
            return r;
        n = snprintf(name, sizeof name, "%s", interp__answer_text(&j, 0, "currentContext"));
        interp__json_free(&j);
    }
    if (n < 0 || (size_t)n >= sizeof name)
        return interp__engine_fail(f, INTERP_E_INVAL, "docker-context", 0, "see `docker context ls`, or set `endpoint`", "the name of the docker context is longer than %zu bytes: %.60s...", sizeof name - 1, name);
    if (!*name || !strcmp(name, "default"))
        return 1;
    interp__sha256_hex(name, strlen(name), hash);
    snprintf(path, sizeof path, "%s/contexts/meta/%s/meta.json", dir, hash);
    int r = interp__engine_json_file(&j, m, path, f);
    if (r > 0)
        return interp__engine_fail(f, INTERP_E_NOT_FOUND, "docker-context", 0, "see `docker context ls`, or set `endpoint`", "the docker context \"%s\" is not there (%s)", name, path);
    if (r)
        return r;
    snprintf(path, sizeof path, "%s/contexts/tls/%s/docker", dir, hash);
    snprintf(source, sizeof source, "docker context \"%.100s\"", name);
    if (access(path, F_OK) == 0)
        r = use_certs(e, path, f);
    if (!r)
        r = parse(e, interp__answer_text(&j, 0, "Endpoints/docker/Host"), source, f);
    interp__json_free(&j);
    return r;
}

static int usual(struct interp__endpoint *e, enum interp__engine_kind kind, struct interp__engine_failure *f)
{
    char own[128] = "", text[160];
    const char *run = getenv("XDG_RUNTIME_DIR"), *system = kind == INTERP__ENGINE_DOCKER ? "/var/run/docker.sock" : "/run/podman/podman.sock";
    if (run && *run)
        snprintf(own, sizeof own, kind == INTERP__ENGINE_DOCKER ? "%.80s/docker.sock" : "%.80s/podman/podman.sock", run);
    else if (geteuid())
        snprintf(own, sizeof own, kind == INTERP__ENGINE_DOCKER ? "/run/user/%u/docker.sock" : "/run/user/%u/podman/podman.sock", (unsigned)geteuid());
    /* Podman's command line of an ordinary user means the user's own service; Docker's means the system's where there is one */
    int mine = *own && geteuid() && access(own, F_OK) == 0 && (kind == INTERP__ENGINE_PODMAN || access(system, R_OK | W_OK) != 0);
    snprintf(text, sizeof text, "unix://%s", mine || (kind == INTERP__ENGINE_PODMAN && geteuid() && access(system, R_OK | W_OK) != 0) ? own : system);
    return parse(e, text, "the usual socket", f);
}

/* As the docker command has it: with DOCKER_TLS_VERIFY an address of TCP is spoken to over TLS, whoever named it. */
static int environment_certs(struct interp__endpoint *e, const char *address, struct interp__engine_failure *f)
{
    const char *verify = getenv("DOCKER_TLS_VERIFY"), *path = getenv("DOCKER_CERT_PATH");
    char usual_place[4096];
    if (!verify || !*verify || (strncmp(address, "tcp://", 6) != 0 && strncmp(address, "http", 4) != 0))
        return 0;
    if (!path || !*path) {
        snprintf(usual_place, sizeof usual_place, "%s/.docker", interp__engine_home());
        path = usual_place;
    }
    return use_certs(e, path, f);
}

int interp__endpoint_find(struct interp__endpoint *e, const struct interp__mem *m, enum interp__engine_kind kind, const char *asked, const char *certs, struct interp__engine_failure *f)
{
    const char *variable = kind == INTERP__ENGINE_DOCKER ? "DOCKER_HOST" : "CONTAINER_HOST", *host = getenv(variable);
    memset(e, 0, sizeof *e);
    int r;
    if (certs && use_certs(e, certs, f))
        return -1;
    if (!certs && kind == INTERP__ENGINE_DOCKER && environment_certs(e, asked && *asked ? asked : host ? host : "", f))
        return -1;
    if (asked && *asked)
        r = parse(e, asked, "endpoint", f);
    else if (host && *host)
        r = parse(e, host, variable, f);
    else {
        r = kind == INTERP__ENGINE_DOCKER ? context(e, m, f) : 1;
        if (r > 0)
            r = usual(e, kind, f);
    }
    if (r == 0 && !e->tcp)
        e->tls = 0;
    return r;
}
