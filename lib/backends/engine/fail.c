/* fail.c - what a refusal of an engine means, in our words and with a remedy; the engine's own words are kept in the message */
#include "engine_priv.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int says(const char *text, const char *word)
{
    return strcasestr(text, word) != NULL;
}

/* Only Docker has variables for it. */
static const char *certs_remedy(const struct interp__box *b)
{
    return b->s->kind == INTERP__ENGINE_DOCKER ? "name the directory of this engine's ca.pem, cert.pem and key.pem (DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, or \"docker.certs\")"
                                               : "name the directory of this engine's ca.pem, cert.pem and key.pem (\"podman.certs\")";
}

static int no_connection(struct interp__box *b, struct interp__engine_failure *f, const char *what)
{
    const struct interp__rest *r = &b->rest;
    const char *kind = b->s->kind == INTERP__ENGINE_DOCKER ? "Docker" : "Podman";
    const char *start = b->s->kind == INTERP__ENGINE_DOCKER ? "install and start Docker (Debian, Ubuntu: package docker.io; systemctl start docker), or set `endpoint`"
                                                            : "install Podman and start its service (systemctl start podman.socket; for your own user: systemctl --user start podman.socket), or set `endpoint`";
    if (r->too_long)
        return interp__engine_fail(f, INTERP_E_BACKEND, "engine-answer", 0, "", "the engine's answer to %s is longer than it may be", what);
    if (r->code == CURLE_OPERATION_TIMEDOUT)
        return interp__engine_fail(f, INTERP_E_TIMEOUT, "engine-timeout", 0, "see whether the engine hangs: try its own command line", "the engine at %s did not answer %s in time", b->where.text, what);
    if (r->os_error == EACCES || r->os_error == EPERM)
        return interp__engine_fail(f, INTERP_E_BACKEND, "engine-permission", r->os_error, "add the user to the socket's group (docker: usermod -aG docker USER, then log in again), or use a rootless engine",
                                   "this user may not use %s at %s", kind, b->where.text);
    if (r->code == CURLE_COULDNT_CONNECT)
        return interp__engine_fail(f, INTERP_E_BACKEND, "engine-absent", r->os_error, start, "no %s answers at %s: %s", kind, b->where.text, r->os_error ? strerror(r->os_error) : r->error);
    if (r->code == CURLE_SSL_CACERT_BADFILE || r->code == CURLE_SSL_CERTPROBLEM || r->code == CURLE_PEER_FAILED_VERIFICATION || r->code == CURLE_SSL_CONNECT_ERROR)
        return interp__engine_fail(f, INTERP_E_BACKEND, "engine-tls", 0, certs_remedy(b), "TLS with %s failed: %s", b->where.text, r->error);
    if (b->where.tls)                   /* TLS 1.3: that our certificate is not taken shows only now */
        return interp__engine_fail(f, INTERP_E_BACKEND, "engine-tls", r->os_error, certs_remedy(b), "%s broke off the connection: %s",
                                   b->where.text, *r->error ? r->error : r->curl->easy_strerror((CURLcode)r->code));
    return interp__engine_fail(f, INTERP_E_BACKEND, "engine-connection", r->os_error, "", "%s at %s failed: %s", what, b->where.text, *r->error ? r->error : r->curl->easy_strerror((CURLcode)r->code));
}

static int full(const char *said)
{
    return says(said, "no space left") || says(said, "disk quota exceeded");
}

static int image_failed(struct interp__box *b, struct interp__engine_failure *f, int status, const char *said)
{
    if (says(said, "invalid reference") || says(said, "must be lowercase"))
        return interp__engine_fail(f, INTERP_E_INVAL, "image-name", 0, "an image is NAME[:TAG][@DIGEST]", "\"%s\" is not the name of an image: %s", b->image, said);
    if (full(said))
        return interp__engine_fail(f, INTERP_E_IO, "disk-full", ENOSPC, "free space on the engine's disk (docker system df, docker system prune)", "there is no room for image \"%s\": %s", b->image, said);
    if (status == 401 || status == 403 || says(said, "unauthorized") || says(said, "authentication required") || says(said, "access to the resource is denied") || says(said, "no basic auth"))
        return interp__engine_fail(f, INTERP_E_IMAGE, "image-auth", 0, "log in (docker login REGISTRY): the credentials in the docker config file are used; credential helpers are not run",
                                   "the registry does not give image \"%s\" to us: %s", b->image, said);
    if (status == 404 || says(said, "not found") || says(said, "manifest unknown") || says(said, "no such image"))
        return interp__engine_fail(f, INTERP_E_IMAGE, "image-not-found", 0, "check the name and the tag", "there is no image \"%s\": %s", b->image, said);
    return interp__engine_fail(f, INTERP_E_IMAGE, "image-pull", 0, "", "image \"%s\" could not be fetched: %s", b->image, said);
}

int interp__call_failed(struct interp__box *b, struct interp__engine_failure *f, const char *what)
{
    struct interp__rest *r = &b->rest;
    char said[400];
    if (r->code != CURLE_OK)
        return no_connection(b, f, what);
    interp__answer_error(&b->mem, &r->body, said, sizeof said);
    if (r->status == 400 && says(said, "HTTP request to an HTTPS server"))
        return interp__engine_fail(f, INTERP_E_BACKEND, "engine-tls", 0, certs_remedy(b), "the engine at %s wants TLS", b->where.text);
    if (b->stage == ENGINE_PULL)
        return image_failed(b, f, r->status < 400 ? 0 : r->status, *b->pull_error ? b->pull_error : said);
    if (b->stage == ENGINE_IMAGE || ((b->stage == ENGINE_CREATE || b->stage == ENGINE_HELPER) && r->status == 404)) {
        if (r->status == 404 && !says(said, "invalid reference") && !says(said, "must be lowercase"))
            return interp__engine_fail(f, INTERP_E_IMAGE, "image-not-found", 0, strcmp(b->pull, "never") ? "check the name and the tag" : "fetch it (docker pull), or set pull to \"missing\"",
                                       "the engine has no image \"%s\"%s", b->image, strcmp(b->pull, "never") ? "" : ", and pull is \"never\"");
        return image_failed(b, f, r->status, said);
    }
    if (full(said))
        return interp__engine_fail(f, INTERP_E_IO, "disk-full", ENOSPC, "free space on the engine's disk (docker system df, docker system prune)", "%s: %s", what, said);
    if (b->stage == ENGINE_CREATE && *b->runtime && says(said, "runtime"))
        return interp__engine_fail(f, INTERP_E_INVAL, "engine-runtime", 0, "name it in the engine's configuration (Docker: `runtimes` in daemon.json)", "the engine has no runtime \"%s\": %s", b->runtime, said);
    const char *remedy = says(said, "container not known") ? "an earlier removal of that container was cut short: remove it (podman rm --force ID)" : "";
    return interp__engine_fail(f, INTERP_E_BACKEND, "engine-refused", 0, remedy, "%s: the engine answered %d: %s", what, r->status, *said ? said : "(nothing)");
}

static int wrong_architecture(struct interp__box *b, struct interp__engine_failure *f, const char *said)
{
    return interp__engine_fail(f, INTERP_E_IMAGE, "image-architecture", ENOEXEC, "use an image for this machine's architecture, or install qemu-user-static with binfmt on the engine's machine",
                               "image \"%s\" is for another architecture (%s) than the engine's machine (%s)%s%s", b->image, b->arch, b->facts.arch, *said ? ": " : "", said);
}

/* Podman prepares the container when it is attached to, Docker when it is started: the same refusals come from either. */
int interp__start_failed(struct interp__box *b, struct interp__engine_failure *f, int status, const char *said)
{
    /* another process fills the volume at this moment, or has left it half full: its content is compared once more */
    int unfinished = says(said, "text file busy") || (says(said, "exec format error") && !strcmp(b->arch, b->facts.arch));
    if (unfinished) {
        interp__engine_fail(f, INTERP_E_BACKEND, "engine-volume", 0, "", "the agent's volume %s can't be started from: %s", b->volume, said);
        return 1;
    }
    if (says(said, "exec format error"))
        return wrong_architecture(b, f, said);
    if (says(said, "/.interp/agent") && says(said, "no such file")) {
        interp__engine_fail(f, INTERP_E_BACKEND, "engine-volume", 0, "", "the agent's volume %s lost its content: %s", b->volume, said);
        return 1;
    }
    if (says(said, "memory limit") || says(said, "out of memory") || strstr(said, "OOM"))
        return interp__engine_fail(f, INTERP_E_LIMIT, "memory-too-small", 0, "raise memory_bytes", "the sandbox can not start within memory_bytes: %s", said);
    if (full(said))
        return interp__engine_fail(f, INTERP_E_IO, "disk-full", ENOSPC, "free space on the engine's disk", "the sandbox could not be started: %s", said);
    if (says(said, "runtime") && *b->runtime)
        return interp__engine_fail(f, INTERP_E_BACKEND, "engine-runtime", 0, "try it with the engine's own command line", "runtime \"%s\" could not start the sandbox: %s", b->runtime, said);
    return interp__engine_fail(f, INTERP_E_BACKEND, "engine-start", 0, "try the image with the engine's own command line", "the sandbox could not be started (%d): %s", status, *said ? said : "(no reason given)");
}

int interp__stream_ended(struct interp__box *b, struct interp__engine_failure *f)
{
    const char *said = b->attach.noise;
    /* No byte of the agent's has come. The runtime's words about it ("exec format error") may be lost behind those of an engine that wrote to a container already
       ended, so the two architectures decide. */
    if (!b->attach.heard && *b->facts.arch && strcmp(b->arch, b->facts.arch) != 0)
        return wrong_architecture(b, f, said);
    if (!b->attach.heard && says(said, "exec format error")) {
        interp__start_failed(b, f, 0, said);
        return -1;
    }
    return b->attach.noise_len ? interp__engine_fail(f, INTERP_E_BACKEND, "agent-ended", 0, "", "the sandbox ended: %s", said) : 0;
}
