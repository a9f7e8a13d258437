/* create.c - the container: what is asked for, and whether the engine did it. Engines drop what they can't do without a word, so what counts is read back. */
#include "engine_priv.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/sysinfo.h>

#define AGENT_PIDS 2u                   /* the agent and the first kernel's supervisor; those of more kernels count as the user's */
#define SMALL_BYTES (16u << 20)
#define RUN_BYTES (8u << 20)

static unsigned cpu_millis(const struct interp__box *b)
{
    unsigned all = b->facts.cpus * 1000;
    return all && b->spec.cpu_millis > all ? all : b->spec.cpu_millis;   /* Docker refuses more CPUs than there are */
}

/* Podman would fill it with what the image has there, as far as that fits; and takes no number of inodes */
static void tmpfs(const struct interp__box *b, struct interp__buf *out, const char *at, uint64_t size, const char *mode, const char *more)
{
    interp__json_text(out, at, strlen(at));
    interp__buf_fmt(out, ":\"rw,size=%llu,mode=%s,nosuid,nodev,%s", (unsigned long long)size, mode, more);
    if (b->facts.podman)
        interp__buf_str(out, ",notmpcopyup\"");
    else
        interp__buf_fmt(out, ",nr_inodes=%llu\"", (unsigned long long)b->spec.workspace_inodes);
}

/* Where a file may fill the workspace, a full workspace is what stops it (ENOSPC), not a signal. */
static uint64_t file_limit(const interp_spec *s)
{
    return s->file_bytes < s->workspace_bytes ? s->file_bytes : s->file_bytes + SMALL_BYTES;
}

static const char *const places[] = { "/workspace", "/tmp", "/home", "/var/tmp", "/run" };

/* All pages of these count as memory of the sandbox, so together they are bounded by memory_bytes. /run and /var/tmp: Podman would put unbounded ones there. */
static uint64_t size_of(const struct interp__box *b, const char *path)
{
    uint64_t most = b->spec.workspace_bytes;
    return !strcmp(path, "/run") ? RUN_BYTES : !strcmp(path, "/var/tmp") && most > SMALL_BYTES ? SMALL_BYTES : most;
}

static int is_ours(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
        if (strlen(places[i]) == n && !memcmp(places[i], path, n))
            return 1;
    return 0;
}

void interp__create_body(struct interp__box *b, struct interp__buf *out)
{
    const interp_spec *s = &b->spec;
    int split = !b->user;
    uint64_t file = file_limit(s);
    interp__buf_str(out, "{\"Image\":");
    interp__json_text(out, b->image, strlen(b->image));
    /* Healthcheck NONE: an image's own would start processes beside the agent. Init false: the daemon's default may be to put another PID 1 there. */
    interp__buf_fmt(out, ",\"Entrypoint\":[\"/.interp/agent\"],\"Cmd\":[\"stdio\"],\"User\":\"%s\",\"WorkingDir\":\"/\",\"Hostname\":\"sandbox\",\"Healthcheck\":{\"Test\":[\"NONE\"]},"
                    "\"OpenStdin\":true,\"StdinOnce\":true,\"AttachStdin\":true,\"AttachStdout\":true,\"AttachStderr\":true,\"Tty\":false,\"StopSignal\":\"SIGKILL\",\"StopTimeout\":0,"
                    "\"NetworkDisabled\":true,\"Labels\":", split ? "0:0" : b->user);
    interp__owner_labels(out, "session", b->name, s->session_id);
    interp__buf_fmt(out, ",\"HostConfig\":{\"NetworkMode\":\"none\",\"ReadonlyRootfs\":true,\"Memory\":%llu,\"MemorySwap\":%llu,\"NanoCpus\":%llu,\"PidsLimit\":%u,\"CapDrop\":[\"ALL\"],\"CapAdd\":[%s],"
                    "\"SecurityOpt\":[\"no-new-privileges\"],\"IpcMode\":\"private\",\"CgroupnsMode\":\"private\",\"LogConfig\":{\"Type\":\"none\"},\"RestartPolicy\":{\"Name\":\"no\"},\"AutoRemove\":false,"
                    "\"Privileged\":false,\"ShmSize\":%llu,",
                    (unsigned long long)s->memory_bytes, (unsigned long long)s->memory_bytes, (unsigned long long)cpu_millis(b) * 1000000u, s->pids + AGENT_PIDS,
                    split ? "\"SETUID\",\"SETGID\",\"KILL\"" : "", (unsigned long long)(s->workspace_bytes < SMALL_BYTES ? s->workspace_bytes : SMALL_BYTES));
    if (!b->facts.podman)
        interp__buf_str(out, "\"Init\":false,");          /* Podman wants its helper program there even to be told no */
    if (*b->runtime) {
        interp__buf_str(out, "\"Runtime\":");
        interp__json_text(out, b->runtime, strlen(b->runtime));
        interp__buf_str(out, ",");
    }
    interp__buf_fmt(out, "\"Ulimits\":[{\"Name\":\"nofile\",\"Soft\":%u,\"Hard\":%u},{\"Name\":\"nproc\",\"Soft\":%u,\"Hard\":%u},{\"Name\":\"core\",\"Soft\":0,\"Hard\":0},{\"Name\":\"fsize\",\"Soft\":%llu,\"Hard\":%llu}],\"Tmpfs\":{",
                    s->descriptors, s->descriptors, b->nproc, b->nproc, (unsigned long long)file, (unsigned long long)file);
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        int run = !strcmp(places[i], "/run");
        interp__buf_str(out, i ? "," : "");
        tmpfs(b, out, places[i], size_of(b, places[i]), run && split ? "0755" : "1777", run ? "noexec" : "exec");
    }
    for (size_t at = 0; at < b->volumes.len; at += strlen((char *)b->volumes.p + at) + 1)
        if (!is_ours((char *)b->volumes.p + at) && !interp__binds_has(b, (char *)b->volumes.p + at)) {
            interp__buf_str(out, ",");
            tmpfs(b, out, (char *)b->volumes.p + at, s->workspace_bytes, "1777", "exec");
        }
    /* NoCopy: what an image has there would fill a volume that somebody has emptied */
    interp__buf_fmt(out, "},\"Mounts\":[{\"Type\":\"volume\",\"Source\":\"%s\",\"Target\":\"/.interp\",\"ReadOnly\":true,\"VolumeOptions\":{\"NoCopy\":true}}", b->volume);
    interp__binds_body(b, out);
    interp__buf_str(out, "]}}");
}

/* ---- read back */

static int refused(struct interp__engine_failure *f, const char *what, const char *remedy)
{
    return interp__engine_fail(f, INTERP_E_ISOLATION, "engine-downgrade", 0, remedy, "the engine made the sandbox without %s, which it was asked for", what);
}

static int security_has(const struct interp__json *j, const char *option)
{
    uint32_t list = interp__answer_at(j, 0, "HostConfig/SecurityOpt");
    char longer[64];
    if (interp__answer_has(j, list, option))
        return 1;
    snprintf(longer, sizeof longer, "%s:true", option);
    if (interp__answer_has(j, list, longer))
        return 1;
    snprintf(longer, sizeof longer, "%s=true", option);
    return interp__answer_has(j, list, longer);
}

/* Docker says again what it was told. Podman says what is left (libpod's own answer), which is better. */
static int capabilities_ok(const struct interp__json *j, const struct interp__box *b)
{
    static const char *const ours[] = { "CAP_KILL", "CAP_SETGID", "CAP_SETUID" };
    if (!b->facts.podman) {
        uint32_t added = interp__answer_at(j, 0, "HostConfig/CapAdd"), n = added && interp__json_at(j, added)->type == INTERP__JSON_ARRAY ? interp__json_at(j, added)->count : 0;
        for (unsigned i = 0; i < sizeof ours / sizeof *ours && !b->user; i++)   /* Docker says either name */
            n -= (uint32_t)(interp__answer_has(j, added, ours[i]) || interp__answer_has(j, added, ours[i] + 4));
        return interp__answer_has(j, interp__answer_at(j, 0, "HostConfig/CapDrop"), "ALL") && n == 0;
    }
    uint32_t left = interp__answer_at(j, 0, "BoundingCaps"), known = 0;
    if (!left)
        return 0;
    for (unsigned i = 0; i < sizeof ours / sizeof *ours && !b->user; i++)
        known += (uint32_t)interp__answer_has(j, left, ours[i]);
    return interp__json_at(j, left)->type == INTERP__JSON_NULL || (interp__json_at(j, left)->type == INTERP__JSON_ARRAY && interp__json_at(j, left)->count == known);
}

static int agent_mount_ok(const struct interp__json *j, const struct interp__box *b)
{
    uint32_t list = interp__answer_at(j, 0, "Mounts");
    if (!list || interp__json_at(j, list)->type != INTERP__JSON_ARRAY)
        return 0;
    uint32_t i = list + 1;
    int there = 0;
    for (uint32_t k = 0; k < interp__json_at(j, list)->count; k++, i = interp__json_at(j, i)->next)
        if (!strcmp(interp__answer_text(j, i, "Destination"), "/.interp"))
            there += !strcmp(interp__answer_text(j, i, "Name"), b->volume) && !interp__answer_true(j, i, "RW");
    return there == 1;
}

/* Nothing else of the engine's machine, to be read neither: a volume that the image declares, or what the engine's configuration adds to every container. */
static const char *foreign_mount(const struct interp__json *j, const struct interp__box *b)
{
    uint32_t list = interp__answer_at(j, 0, "Mounts"), i = list + 1;
    for (uint32_t k = 0; k < interp__json_at(j, list)->count; k++, i = interp__json_at(j, i)->next) {
        const char *type = interp__answer_text(j, i, "Type"), *at = interp__answer_text(j, i, "Destination");
        if (strcmp(type, "tmpfs") != 0 && strcmp(at, "/.interp") != 0 && !interp__binds_has(b, at))
            return at;
    }
    return NULL;
}

/* Podman without root drops them, and says RLIMIT_FSIZE for fsize where it does not. */
static int ulimit_ok(const struct interp__json *j, const char *name, uint64_t value)
{
    uint32_t list = interp__answer_at(j, 0, "HostConfig/Ulimits"), i = list + 1;
    if (!list || interp__json_at(j, list)->type != INTERP__JSON_ARRAY)
        return 0;
    for (uint32_t k = 0; k < interp__json_at(j, list)->count; k++, i = interp__json_at(j, i)->next) {
        const char *is = interp__answer_text(j, i, "Name");
        if (!strcasecmp(strncmp(is, "RLIMIT_", 7) ? is : is + 7, name))
            return interp__answer_number(j, i, "Hard") == (int64_t)value;
    }
    return 0;
}

/* The option reaches the kernel only through a runtime that mounts for real: gVisor's drops it. */
static int inodes_ok(const struct interp__json *j, const char *runtime)
{
    uint32_t list = interp__answer_at(j, 0, "HostConfig/Tmpfs");
    uint32_t at = list && interp__json_at(j, list)->type == INTERP__JSON_OBJECT ? interp__json_member(j, list, "/workspace") : 0;
    return at && interp__json_at(j, at)->type == INTERP__JSON_STRING && strstr(interp__json_string(j, interp__json_at(j, at)), ",nr_inodes=") && (strstr(runtime, "runc") || strstr(runtime, "crun"));
}

/* Docker on a kernel that does not count swap keeps Memory, says 201 and lets swap take the rest (MemorySwap -1). Where this machine has no swap there is none
   to take it; of another machine that is not known. */
static int memory_ok(const struct interp__json *j, const struct interp__box *b)
{
    struct sysinfo here;
    int64_t most = (int64_t)b->spec.memory_bytes;
    if (interp__answer_number(j, 0, "HostConfig/Memory") != most)
        return 0;
    return interp__answer_number(j, 0, "HostConfig/MemorySwap") == most || (!b->where.tcp && !sysinfo(&here) && !here.totalswap);
}

/* What takes protection away again, and devices: the first that is there. */
static const char *loosened(const struct interp__json *j)
{
    static const char *const words[] = { "unconfined", "label=disable", "label:disable", "unmask" }, *const lists[] = { "Devices", "DeviceRequests", "DeviceCgroupRules" };
    char path[48];
    uint32_t opts = interp__answer_at(j, 0, "HostConfig/SecurityOpt"), i = opts + 1;
    for (uint32_t k = 0; opts && k < interp__json_at(j, opts)->count; k++, i = interp__json_at(j, i)->next)
        for (unsigned w = 0; w < sizeof words / sizeof *words; w++)
            if (strstr(interp__json_string(j, interp__json_at(j, i)), words[w]))
                return interp__json_string(j, interp__json_at(j, i));
    for (unsigned l = 0; l < sizeof lists / sizeof *lists; l++) {
        snprintf(path, sizeof path, "HostConfig/%s", lists[l]);
        uint32_t list = interp__answer_at(j, 0, path);
        if (list && interp__json_at(j, list)->count)
            return lists[l];
    }
    return NULL;
}

/* One of ours that is not there, or is not as large as it was asked for. */
static const char *lost_tmpfs(const struct interp__json *j, const struct interp__box *b)
{
    uint32_t list = interp__answer_at(j, 0, "HostConfig/Tmpfs");
    char size[48];
    for (unsigned k = 0; k < sizeof places / sizeof *places; k++) {
        uint32_t at = list && interp__json_at(j, list)->type == INTERP__JSON_OBJECT ? interp__json_member(j, list, places[k]) : 0;
        snprintf(size, sizeof size, ",size=%llu,", (unsigned long long)size_of(b, places[k]));
        if (!at || !strstr(interp__json_string(j, interp__json_at(j, at)), size))
            return places[k];
    }
    return NULL;
}

static int is_host(const struct interp__json *j, const char *path)
{
    return !strcmp(interp__answer_text(j, 0, path), "host");
}

int interp__create_check(struct interp__box *b, struct interp__buf *reached, struct interp__engine_failure *f)
{
    static const char *const limit_remedy = "rootless engines need cgroup v2 with delegated controllers: see the engine's documentation on rootless limits, or use a rootful engine";
    const interp_spec *s = &b->spec;
    struct interp__json j = { 0 };
    interp_error *e = NULL;
    int r = 0;
    if (interp__json_parse(&j, &b->mem, b->rest.body.p, b->rest.body.len, &e)) {
        r = interp__engine_fail(f, INTERP_E_BACKEND, "engine-answer", 0, "", "the engine's description of the container can't be read: %s", interp_error_message(e));
        interp_error_free(e);
        interp__json_free(&j);
        return r;
    }
    int64_t cpu = interp__answer_number(&j, 0, "HostConfig/NanoCpus"), period = interp__answer_number(&j, 0, "HostConfig/CpuPeriod"), quota = interp__answer_number(&j, 0, "HostConfig/CpuQuota");
    if (!cpu && period > 0 && quota > 0)
        cpu = quota * 1000 / period * 1000000;
    /* without the group's limit the agent watches memory itself (it is told so): that counts as enforced */
    int memory = memory_ok(&j, b), cpus = cpu == (int64_t)cpu_millis(b) * 1000000;
    int pids = interp__answer_number(&j, 0, "HostConfig/PidsLimit") == (int64_t)s->pids + (int64_t)AGENT_PIDS;
    int file = ulimit_ok(&j, "fsize", file_limit(s));
    const char *network = interp__answer_text(&j, 0, "HostConfig/NetworkMode"), *runtime = interp__answer_text(&j, 0, "OCIRuntime");
    if (!*runtime)
        runtime = interp__answer_text(&j, 0, "HostConfig/Runtime");
    /* Podman gives none of its own where cgroups are of version 1, and no choice either */
    const char *cgroupns = !b->facts.podman ? "HostConfig/CgroupnsMode" : b->facts.cgroup2 ? "HostConfig/CgroupMode" : "";
    int inodes = inodes_ok(&j, runtime);
    if (strcmp(network, "none") != 0)
        r = refused(f, "\"no network\"", "");
    else if (interp__answer_true(&j, 0, "HostConfig/Privileged"))
        r = refused(f, "\"not privileged\"", "");
    else if (!interp__answer_true(&j, 0, "HostConfig/ReadonlyRootfs"))
        r = refused(f, "a read-only root", "");
    else if (!capabilities_ok(&j, b))
        r = refused(f, "dropping all capabilities", "");
    else if (strcmp(interp__answer_text(&j, 0, "HostConfig/LogConfig/Type"), "none") != 0)
        r = refused(f, "log driver `none` (every byte of the stream would go to its disk)", "");
    else if (!security_has(&j, "no-new-privileges"))
        r = refused(f, "no_new_privs", "");
    else if (!agent_mount_ok(&j, b))
        r = refused(f, "the agent's volume, read-only", "");
    else if (interp__binds_check(b, &j, interp__answer_at(&j, 0, "Mounts"), f))
        r = -1;
    else if (foreign_mount(&j, b))
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "engine-mount", 0, "", "the engine gave the sandbox a place of its own at %.200s", foreign_mount(&j, b));
    else if (loosened(&j))
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "engine-downgrade", 0, "take it out of the engine's own configuration", "the engine made the sandbox with %.200s, which nobody asked for", loosened(&j));
    else if (lost_tmpfs(&j, b))
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "engine-downgrade", 0, "", "the engine made the sandbox without the bounded file system at %s that it was asked for", lost_tmpfs(&j, b));
    else if (strcmp(interp__answer_text(&j, 0, "Config/User"), b->user ? b->user : "0:0") != 0)
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "engine-downgrade", 0, "", "the engine starts the sandbox as user \"%.40s\", and was asked for \"%s\"", interp__answer_text(&j, 0, "Config/User"), b->user ? b->user : "0:0");
    else if (is_host(&j, "HostConfig/PidMode") || is_host(&j, "HostConfig/IpcMode") || is_host(&j, "HostConfig/UTSMode") || is_host(&j, "HostConfig/UsernsMode") || is_host(&j, cgroupns))
        r = refused(f, "namespaces of its own", "");
    /* Podman's compat answer has HostConfig.Runtime as "oci" whatever was asked; only OCIRuntime is the truth (podman #28429) */
    else if (*b->runtime && strcmp(runtime, b->runtime) != 0)
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "engine-runtime", 0, "name it in the engine's own configuration: Docker `runtimes` in daemon.json; Podman `podman --runtime NAME system service`",
                                "the engine started the sandbox with runtime \"%s\", not \"%s\"", *runtime ? runtime : "(its default)", b->runtime);
    else if (!cpus && s->flags & INTERP_SPEC_CPU_ASKED)
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "cpu-unenforced", 0, limit_remedy, "the engine does not enforce cpu_millis on this host");
    else if (!pids && s->flags & INTERP_SPEC_PIDS_ASKED)
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "pids-unenforced", 0, limit_remedy, "the engine does not enforce pids on this host");
    else if (!file && s->flags & INTERP_SPEC_FILE_ASKED)
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "file-unenforced", 0, "Podman without root drops limits of processes: use a rootful engine, or leave file_bytes unset", "the engine does not enforce file_bytes");
    else if (!inodes && s->flags & INTERP_SPEC_INODES_ASKED)
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "inodes-unenforced", 0, "Podman and gVisor bound a tmpfs in bytes only: use Docker with runc, or leave workspace_inodes unset", "the engine does not enforce workspace_inodes");
    else if (s->min_isolation >= INTERP_ISOLATION_FULL && !(memory && cpus && pids))
        r = interp__engine_fail(f, INTERP_E_ISOLATION, "isolation", 0, limit_remedy, "isolation `full` needs limits that the engine enforces; on this host it does not");
    else {
        interp__buf_fmt(reached, "{\"isolation\":\"%s\",\"memory\":\"%s\",\"cpu\":\"%s\",\"pids\":\"%s\",\"network\":\"none\",\"workspace\":\"each of /workspace, /tmp, /home\",\"engine\":\"%s\",\"engine_version\":",
                        memory && cpus && pids ? "full" : "namespaces", memory ? "cgroup" : "watch", cpus ? "cgroup" : "none", pids ? "cgroup" : "none", b->facts.podman ? "podman" : "docker");
        interp__json_text(reached, b->facts.version, strlen(b->facts.version));
        interp__buf_fmt(reached, ",\"api\":\"1.%u\",\"rootless\":%s,\"runtime\":", b->facts.api, b->facts.rootless ? "true" : "false");
        interp__json_text(reached, runtime, strlen(runtime));
        interp__buf_fmt(reached, ",\"container\":\"%s\",\"image\":", b->name);
        interp__json_text(reached, b->image, strlen(b->image));
        interp__buf_str(reached, ",\"image_id\":");
        const char *id = interp__answer_text(&j, 0, "Image");
        interp__json_text(reached, id, strlen(id));
        if (b->user)   /* older runtimes make a tmpfs over an image's /home writable for root only, and no root is there to change it */
            interp__buf_str(reached, ",\"home\":\"/workspace\"");
        interp__binds_reached(b, reached);
        interp__buf_str(reached, ",\"unenforced\":[");
        const char *comma = "";
        const struct { int ok; const char *name; } list[] = { { cpus, "cpu_millis" }, { pids, "pids" }, { inodes, "workspace_inodes" },
                                                                { file, "file_bytes" }, { ulimit_ok(&j, "nofile", s->descriptors), "descriptors" },
                                                                { !memmem(b->binds.p ? b->binds.p : (const uint8_t *)"", b->binds.len, "\0rw", 4), "mounted_bytes" } };
        for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
            if (!list[i].ok) {
                interp__buf_fmt(reached, "%s\"%s\"", comma, list[i].name);
                comma = ",";
            }
        interp__buf_str(reached, "]}");
        r = reached->bad ? interp__engine_fail(f, INTERP_E_NOMEM, "host-memory", 0, "", "out of memory") : 0;
    }
    interp__json_free(&j);
    return r;
}
