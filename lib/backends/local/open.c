/* open.c - from a specification to a standing sandbox: groups, ids, PID 1, its boot message, its answer. Nothing here waits. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/json.h"
#include "local_priv.h"

#define MIB (UINT64_C(1) << 20)
#define STREAM_ROOM (512 << 10)
#define ABSENT(v) ((v) == 0 || (v) == INTERP_FOREVER)

static uint64_t or_default(uint64_t v, uint64_t d) { return ABSENT(v) ? d : v; }

static void unenforced(struct interp__local_box *b, const char *name)
{
    size_t at = strlen(b->unenforced);
    snprintf(b->unenforced + at, sizeof b->unenforced - at, "%s\"%s\"", at ? "," : "", name);
}

static int unenforceable(struct interp__local_failure *f, const char *limit, const char *why)
{
    return interp__local_failed(f, INTERP_E_ISOLATION, "limit-unenforceable", 0,
                                "Start this process in a cgroup that it can write (" LOCAL_DELEGATE "), or leave the limit at its default.",
                                "The limit %s was asked for and can't be enforced here: %s.", limit, why);
}

/* Without a cgroup: ceil(cpu) CPUs of those that this process may use, starting anywhere so that sandboxes spread. 0 = can't be pinned. */
static uint64_t pick_cpus(uint32_t cpu_millis)
{
    cpu_set_t set;
    uint64_t have = 0, mask = 0;
    unsigned i, start = 0, n = 0, want = (cpu_millis + 999) / 1000;
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 0;
    for (i = 0; i < 64; i++)
        if (CPU_ISSET(i, &set)) {
            have |= UINT64_C(1) << i;
            n++;
        }
    if (!n)
        return 0;
    if (getrandom(&start, sizeof start, GRND_NONBLOCK) != (ssize_t)sizeof start)
        start = (unsigned)getpid();
    for (i = 0; i < 64 && want; i++) {
        uint64_t bit = UINT64_C(1) << ((start + i) % 64);
        if (have & bit) {
            mask |= bit;
            want--;
        }
    }
    return mask;
}

/* What each limit is enforced by, or an error when one was asked for and can't be. */
static int plan_limits(struct interp__local_box *b, const interp_spec *spec, int cgroup, struct boot *m, struct interp__local_failure *f)
{
    uint32_t flags = spec->flags;
    int root_id = !b->id && geteuid() == 0;   /* RLIMIT_NPROC does not bind the real root */
    const char *why = b->s->cgroup.why;
    b->unenforced[0] = 0;
    snprintf(b->memory, sizeof b->memory, "%s", cgroup ? "cgroup" : "watch");
    snprintf(b->pids, sizeof b->pids, "%s", cgroup ? "cgroup" : root_id ? "none" : "rlimit");
    if (!cgroup && root_id && spec->pids) {
        if (flags & INTERP_SPEC_PIDS_ASKED)
            return unenforceable(f, "pids", why);
        unenforced(b, "pids");
    }
    m->cpu_mask = 0;
    if (cgroup && b->s->cgroup.has_cpu) {
        snprintf(b->cpu, sizeof b->cpu, "cgroup");
        return 0;
    }
    snprintf(b->cpu, sizeof b->cpu, "none");
    if (!spec->cpu_millis)
        return 0;
    if ((flags & INTERP_SPEC_CPU_ASKED) && spec->cpu_millis % 1000)
        return unenforceable(f, "cpu", "there is no cpu cgroup to write, and a part of a CPU can't be had by pinning");
    m->cpu_mask = pick_cpus(spec->cpu_millis);
    if (m->cpu_mask)
        snprintf(b->cpu, sizeof b->cpu, "affinity");
    else if (flags & INTERP_SPEC_CPU_ASKED)
        return unenforceable(f, "cpu", "there is no cpu cgroup to write, and CPUs can't be pinned");
    if (!m->cpu_mask || spec->cpu_millis % 1000)
        unenforced(b, "cpu");
    return 0;
}

static void boot_id(char out[40])
{
    unsigned char r[16];
    unsigned i, n = 0;
    if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
        memset(r, 0, sizeof r);
    r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
    r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
    for (i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[n++] = '-';
        snprintf(out + n, 3, "%02x", r[i]);
        n += 2;
    }
}

static void fill_message(struct boot *m, const struct interp__local_box *b, const interp_spec *spec, const struct interp__local_filter *filter)
{
    m->magic = BOOT_MAGIC;
    m->size = (uint32_t)sizeof *m;
    m->flags = (b->id ? (uint32_t)BOOT_TWO_IDS : 0) | (b->group.made && b->s->cgroup.version == 2 ? (uint32_t)BOOT_CGROUP_V2 : 0) | (spec->flags & INTERP_SPEC_PTY ? (uint32_t)BOOT_PTY : 0);
    m->workspace_bytes = or_default(spec->workspace_bytes, 256 * MIB);
    m->workspace_inodes = or_default(spec->workspace_inodes, 65536);
    m->file_bytes = or_default(spec->file_bytes, m->workspace_bytes);
    m->private_bytes = 16 * 17 * MIB;   /* a text of code for each kernel, as long as they get; only the host's own calls fill it */
    m->state_bytes = 16 * MIB;
    m->pids = spec->pids;
    m->descriptors = spec->descriptors ? spec->descriptors : 1024;
    m->nallow = filter->nallow;
    m->ndeny = filter->ndeny;
    m->uid = (uint32_t)geteuid();
    m->gid = (uint32_t)getegid();
    m->no_sem = !b->id;
    memset(m->boot_id, 0, sizeof m->boot_id);
    boot_id(m->boot_id);
}

#ifdef INTERP_TESTING
/* White-box tests switch layers off to see that others hold: "local.testing" is a sum of BOOT_NO_*. */
static uint32_t testing_flags(struct interp__local_box *b)
{
    const char *json;
    size_t len;
    char text[16] = "";
    if (b->h->option(b->l, "testing", &json, &len) != INTERP_OK || len >= sizeof text)
        return 0;
    memcpy(text, json, len);
    return (uint32_t)strtoul(text, 0, 10) & (BOOT_NO_SECCOMP | BOOT_NO_LANDLOCK | BOOT_NO_USERNS);
}
#endif

static int make_message(struct interp__local_box *b, const struct boot *m, const struct interp__local_filter *filter, struct interp__local_failure *f)
{
    size_t code = (size_t)(filter->nallow + filter->ndeny) * sizeof(struct boot_filter);
    b->message_size = b->message_len = sizeof *m + code;
    b->message_at = 0;
    b->message = b->h->realloc(b->l, 0, 0, b->message_size);
    if (!b->message)
        return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", ENOMEM, "", "Out of memory.");
    memcpy(b->message, m, sizeof *m);
    memcpy(b->message + sizeof *m, filter->code, code);
    return 0;
}

/* Without namespaces: a pipe whose write end the agent and its supervisors hold. */
static int make_life(struct interp__local_box *b, int *theirs)
{
    int p[2];
    *theirs = -1;
    if (!b->level)
        return 0;
    if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    b->life = p[0];
    *theirs = p[1];
    return 0;
}

/* The clone itself; leaves stream and pidfd in the box. */
static int spawn(struct interp__local_box *b, struct boot *m, struct interp__local_spawn *sp, struct interp__local_failure *f)
{
    int pair[2], host, theirs, i, r;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return interp__local_fail_clone(f, errno, LOCAL_STEP_CLONE);
    for (i = 0; i < 2; i++)            /* a matter of speed: what it gets is enough */
        (void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &(int){ STREAM_ROOM }, sizeof(int));
    host = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (host < 0) {
        r = interp__local_fail_clone(f, errno, LOCAL_STEP_CLONE);
        close(pair[0]);
        close(pair[1]);
        return r;
    }
    if (make_life(b, &theirs) < 0) {
        r = interp__local_fail_clone(f, errno, LOCAL_STEP_CLONE);
        close(pair[0]);
        close(pair[1]);
        close(host);
        return r;
    }
    memset(sp, 0, sizeof *sp);
    sp->pidfd = -1;
    sp->bare = b->level != 0;
    sp->agent = b->s->agent;
    sp->cgroup = b->group.born;
    if (!b->id && !b->level)
        interp__local_ids_own(sp->uid_map, sp->gid_map);
    sp->fd[sp->nfds++] = pair[1];
    sp->fd[sp->nfds++] = host;
    if (theirs >= 0)
        sp->fd[sp->nfds++] = theirs;
    m->cgroup_mask = 0;
    for (i = 0; i < BOOT_CG_COUNT; i++)
        if (b->group.fd[i] >= 0) {
            m->cgroup_mask |= 1u << i;
            sp->fd[sp->nfds++] = b->group.fd[i];
        }
    for (i = 0; b->shares && !b->level && i < (int)b->shares->n; i++)
        if (b->shares->share[i].tree >= 0) {
            m->source[b->shares->first + (unsigned)i].fd = 3 + sp->nfds;
            sp->fd[sp->nfds++] = b->shares->share[i].tree;
        }
    r = interp__local_spawn(sp);
    close(pair[1]);
    close(host);
    interp__local_close(&theirs);
    b->pidfd = sp->pidfd;
    if (r < 0) {
        close(pair[0]);
        return -1;
    }
    if (fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0) {
        interp__local_failed(f, INTERP_E_IO, "stream", errno, "", "The stream can't be made non-blocking.");
        close(pair[0]);
        return -1;
    }
    b->stream = pair[0];
    return 0;
}

static int make_group(struct interp__local_box *b, const interp_spec *spec, struct interp__local_failure *f)
{
    struct interp__local_limits l = { ABSENT(spec->memory_bytes) ? 0 : spec->memory_bytes, spec->cpu_millis, spec->pids };
    uint64_t number;
    pthread_mutex_lock(&b->s->lock);
    number = ++b->s->number;
    pthread_mutex_unlock(&b->s->lock);
    return interp__local_group_make(&b->s->cgroup, &b->group, number, &l, b->id ? b->id : geteuid(), b->id ? b->id : getegid(), f);
}

/* Errors that say "this cgroup is not yours to use", and not "this machine is full". */
static int not_ours(int err)
{
    return err == EACCES || err == EPERM || err == EROFS || err == EBUSY || err == ENOENT || err == ENODEV || err == EOPNOTSUPP || err == EINVAL;
}

/* One attempt, with a cgroup or without. *attach is set when it failed only because of the cgroup. */
static int attempt(struct interp__local_box *b, const interp_spec *spec, int cgroup, struct boot *m, int *attach, struct interp__local_failure *f)
{
    const struct interp__local_filter *filter;
    struct interp__local_spawn sp;
    *attach = 0;
    if (plan_limits(b, spec, cgroup, m, f) < 0)
        return -1;
    if (cgroup && make_group(b, spec, f) < 0) {
        *attach = not_ours(f->err);
        return -1;
    }
    if (interp__local_filter_get(b->s, (b->id ? 0u : LOCAL_FILTER_ONE_ID) | (m->cpu_mask ? LOCAL_FILTER_PINNED : 0u) |
                                       (b->shares && b->shares->writable ? LOCAL_FILTER_SHARED : 0u), &filter, f) < 0)
        return -1;
    fill_message(m, b, spec, filter);
#ifdef INTERP_TESTING
    m->flags |= testing_flags(b);
#endif
    sp.err = 0;
    f->code = INTERP_OK;
    if (spawn(b, m, &sp, f) < 0) {
        if (f->code != INTERP_OK)
            return -1;
        *attach = b->group.born >= 0 && sp.step == LOCAL_STEP_CLONE && sp.err != EPERM && sp.err != EINVAL && not_ours(sp.err);
        if (*attach)
            return interp__local_failed(f, INTERP_E_ISOLATION, "cgroup-attach", sp.err,
                                        "Start this process in a delegated cgroup (" LOCAL_DELEGATE ").",
                                        "The agent can't be born in its cgroup: %s.", strerror(sp.err));
        return interp__local_fail_clone(f, sp.err, sp.step);
    }
    if (!sp.mapped && interp__local_ids_map(sp.pid, b->id, f) < 0)
        return -1;
    interp__local_group_handed_over(&b->s->cgroup, &b->group);
    return make_message(b, m, filter, f);
}

static int plan_shares(struct interp__local_box *b, const interp_spec *spec, struct boot *m, struct interp__local_failure *f)
{
    if (spec->struct_size < sizeof *spec || (!spec->nmounts && !spec->ninterpreters))
        return 0;
    b->shares = b->h->realloc(b->l, 0, 0, sizeof *b->shares);
    if (!b->shares)
        return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", ENOMEM, "", "Out of memory.");
    memset(b->shares, 0, sizeof *b->shares);
    b->shares->mem = (struct interp__mem){ b->s->fn, b->s->userdata };
    interp__buf_init(&b->shares->interpreters, &b->shares->mem);
    interp__buf_init(&b->shares->there, &b->shares->mem);
    return interp__local_shares_plan(b->shares, m, spec, b->id, f);
}

/* ---- without namespaces */

static int plan_bare(struct interp__local_box *b, const interp_spec *spec, int level, struct boot *m, struct interp__local_failure *f)
{
    static const char why[] = "there are no namespaces and no cgroup for this sandbox";
    uint32_t flags = spec->flags;
    b->unenforced[0] = 0;
    snprintf(b->memory, sizeof b->memory, "watch");
    snprintf(b->cpu, sizeof b->cpu, "none");
    snprintf(b->pids, sizeof b->pids, "%s", b->id ? "rlimit" : "shared");
    if (flags & INTERP_SPEC_PTY)
        return interp__local_failed(f, INTERP_E_ISOLATION, "pty", 0, "Leave `pty` out, or run where namespaces can be had.",
                                    "Terminals can't be had here: %s, and those of the machine are others' too.", why);
    if (!b->id && flags & INTERP_SPEC_PIDS_ASKED)
        return unenforceable(f, "pids", why);
    if (!b->id)
        unenforced(b, "pids");
    if (flags & INTERP_SPEC_WORKSPACE_ASKED)
        return unenforceable(f, "workspace_bytes", why);
    if (flags & INTERP_SPEC_INODES_ASKED)
        return unenforceable(f, "workspace_inodes", why);
    unenforced(b, "workspace_bytes");
    unenforced(b, "workspace_inodes");
    m->cpu_mask = 0;
    if (spec->cpu_millis) {
        if ((flags & INTERP_SPEC_CPU_ASKED) && (spec->cpu_millis % 1000 || level == INTERP_ISOLATION_PROCESS))
            return unenforceable(f, "cpu", why);
        m->cpu_mask = pick_cpus(spec->cpu_millis);
        if (m->cpu_mask)
            snprintf(b->cpu, sizeof b->cpu, "affinity");
        if (!m->cpu_mask || spec->cpu_millis % 1000 || level == INTERP_ISOLATION_PROCESS)
            unenforced(b, "cpu");
    }
    return 0;
}

/* The first directory on the way that a user without any right of his own can't pass. */
static int closed_to_others(const char *path, char dir[BOOT_PATH])
{
    struct stat st;
    size_t i;
    for (i = 1; path[i] && i < BOOT_PATH; i++)
        if (path[i] == '/') {
            memcpy(dir, path, i);
            dir[i] = 0;
            if (stat(dir, &st) < 0 || !(st.st_mode & 01))
                return 1;
        }
    snprintf(dir, BOOT_PATH, "%s", path);
    return stat(path, &st) < 0 || !(st.st_mode & (S_ISDIR(st.st_mode) ? 01 : 04));
}

/* There, everything is where it is: a mount at another path can't be had, and what is shown is shared. */
static int check_places(const struct interp__local_box *b, const struct boot *m, struct interp__local_failure *f)
{
    char dir[BOOT_PATH];
    for (unsigned i = 0; b->shares && i < b->shares->n; i++) {
        const struct boot_source *s = &m->source[b->shares->first + i];
        if (strcmp(s->host, s->guest) != 0 && !(b->shares->share[i].flags & INTERP_MOUNT_RUNTIME))
            return interp__local_failed(f, INTERP_E_ISOLATION, "mount-target", 0, "Mount it at its own path (leave the target out), or run where namespaces can be had.",
                                        "The mount %s can't appear at %s: without namespaces there is no other path for it.", s->host, s->guest);
        if (b->id && closed_to_others(s->host, dir))
            return interp__local_failed(f, INTERP_E_DENIED, "mount-closed", 0, "Open that directory to others (chmod o+x), or copy what is needed to an open place.",
                                        "The sandbox's user can't reach %s: without namespaces he is a stranger to %s.", s->host, dir);
    }
    return 0;
}

int interp__local_box_bare(struct interp__local_box *b, int level, struct interp__local_failure *f)
{
    const struct interp__local_filter *filter;
    struct interp__local_spawn sp;
    const interp_spec *spec = &b->plan->spec;
    struct boot *m = &b->plan->boot;
    int r;
    b->level = level;
    b->answer_have = 0;
    b->gone = b->dead = b->eof = 0;
    if (plan_bare(b, spec, level, m, f) < 0 || (level == INTERP_ISOLATION_LANDLOCK && check_places(b, m, f) < 0))
        return -1;
    pthread_mutex_lock(&b->s->lock);
    r = b->base.fd >= 0 ? 0 : interp__local_base_make(&b->base, b->id ? b->id + 1 : 0, &b->s->swept, f);
    pthread_mutex_unlock(&b->s->lock);
    if (r < 0 || interp__local_filter_get(b->s, LOCAL_FILTER_ONE_ID | LOCAL_FILTER_BARE | (b->id ? 0u : LOCAL_FILTER_KEEP) | (m->cpu_mask ? LOCAL_FILTER_PINNED : 0u) |
                                                (b->shares && b->shares->writable ? LOCAL_FILTER_SHARED : 0u), &filter, f) < 0)
        return -1;
    fill_message(m, b, spec, filter);
    m->flags |= BOOT_BARE | (level == INTERP_ISOLATION_PROCESS ? BOOT_OPEN : 0u);
    m->user_uid = m->user_gid = b->id ? b->id + 1 : 0;
    snprintf(m->base, sizeof m->base, "%s", b->base.path);
    f->code = INTERP_OK;
    if (spawn(b, m, &sp, f) < 0)
        return f->code != INTERP_OK ? -1 : interp__local_fail_clone(f, sp.err, sp.step);
    return make_message(b, m, filter, f);
}

/* Reasons that stay: a new attempt at every open would only cost time. */
static int will_stay(const char *reason)
{
    static const char *const stay[] = { "clone3-blocked", "userns-seccomp", "userns-disabled", "userns-apparmor", "proc-masked", "pivot-root", "kernel-too-old" };
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        if (!strcmp(reason, stay[i]))
            return 1;
    return 0;
}

int interp__local_box_weaker(const struct interp__local_box *b, const struct interp__local_failure *f)
{
    uint32_t least = b->plan ? b->plan->spec.min_isolation : 0;
    if (!least || f->code != INTERP_E_ISOLATION || b->level == INTERP_ISOLATION_PROCESS)
        return 0;
    if (!b->level && will_stay(f->reason)) {
        pthread_mutex_lock(&b->s->lock);
        if (!b->s->unusable[0])
            snprintf(b->s->unusable, sizeof b->s->unusable, "%s", f->reason);
        pthread_mutex_unlock(&b->s->lock);
    }
    if (!b->level)
        return least <= INTERP_ISOLATION_LANDLOCK ? INTERP_ISOLATION_LANDLOCK : 0;
    return least <= INTERP_ISOLATION_PROCESS && strcmp(f->reason, "limit-unenforceable") != 0 ? INTERP_ISOLATION_PROCESS : 0;
}

/* For a host that accepts a weaker level: what it takes to try that, when this one turns out not to be had. */
static int keep_plan(struct interp__local_box *b, const interp_spec *spec, const struct boot *m, struct interp__local_failure *f)
{
    if (spec->min_isolation > INTERP_ISOLATION_LANDLOCK || !spec->min_isolation)
        return 0;
    b->plan = b->h->realloc(b->l, 0, 0, sizeof *b->plan);
    if (!b->plan)
        return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", ENOMEM, "", "Out of memory.");
    b->plan->boot = *m;
    b->plan->spec = *spec;
    return 0;
}

static int start(struct interp__local_box *b, const interp_spec *spec, struct boot *m, struct interp__local_failure *f)
{
    int cgroup, attach, r;
    if (interp__local_prepare(b->s, b->h, b->l, f) < 0)
        return -1;
    *m = b->s->boot;
    if (b->s->ids.two) {
        pthread_mutex_lock(&b->s->lock);
        r = interp__local_ids_take(&b->s->ids, &b->id, f);
        pthread_mutex_unlock(&b->s->lock);
        if (r < 0)
            return -1;
    }
    if (plan_shares(b, spec, m, f) < 0)
        return -1;
    if (keep_plan(b, spec, m, f) < 0)
        return -1;
    pthread_mutex_lock(&b->s->lock);
    int unusable = b->plan && b->s->unusable[0];
    pthread_mutex_unlock(&b->s->lock);
    if (unusable)
        return interp__local_box_bare(b, INTERP_ISOLATION_LANDLOCK, f);
    cgroup = b->s->cgroup.version != 0;
    if (!cgroup && spec->min_isolation == INTERP_ISOLATION_FULL)
        return interp__local_failed(f, INTERP_E_ISOLATION, "cgroup-missing", 0,
                                    "Start this process in a cgroup that it can write (" LOCAL_DELEGATE "), or accept isolation `namespaces`.",
                                    "Isolation `full` needs a cgroup to write: %s.", b->s->cgroup.why);
    r = attempt(b, spec, cgroup, m, &attach, f);
    if (r < 0 && attach && spec->min_isolation < INTERP_ISOLATION_FULL) {
        /* found by doing: there is a cgroup to make, and it can't be used. That is level `namespaces`, with its own answer about each limit. */
        (void)interp__local_group_remove(&b->s->cgroup, &b->group);
        interp__local_group_close(&b->s->cgroup, &b->group);
        interp__local_group_init(&b->group);
        b->h->log(b->l, 2, f->message, strlen(f->message));
        r = attempt(b, spec, 0, m, &attach, f);
    }
    return r;
}

int interp__local_box_start(struct interp__local_box *b, const interp_spec *spec, struct interp__local_failure *f)
{
    struct boot *m = b->h->realloc(b->l, 0, 0, sizeof *m);     /* 31 KB: not on the stack, which may be a small one */
    if (!m)
        return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", ENOMEM, "", "Out of memory.");
    int r = start(b, spec, m, f);
    b->h->realloc(b->l, m, sizeof *m, 0);
    return r;
}

static int send_message(struct interp__local_box *b)
{
    while (b->message_at < b->message_len) {
        ssize_t n = send(b->stream, b->message + b->message_at, b->message_len - b->message_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        b->message_at += (size_t)n;
    }
    if (b->message) {
        b->h->realloc(b->l, b->message, b->message_size, 0);
        b->message = 0;
    }
    return 1;
}

int interp__local_box_boot(struct interp__local_box *b, struct interp__local_failure *f)
{
    int sent = send_message(b);   /* a failure shows as end of stream below, after what the agent said */
    while (b->answer_have < sizeof b->answer) {
        ssize_t n = recv(b->stream, (char *)&b->answer + b->answer_have, sizeof b->answer - b->answer_have, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN && sent >= 0) {
            uint32_t mask = INTERP_IO_IN | (sent ? 0u : (uint32_t)INTERP_IO_OUT);
            if (mask != b->mask) {
                b->h->watch(b->l, b->stream, mask);
                b->mask = mask;
            }
            return 0;
        }
        if (n <= 0)
            return interp__local_failed(f, INTERP_E_BACKEND, "agent-boot", n < 0 ? errno : 0, "", "The agent ended before the sandbox stood.");
        b->answer_have += (size_t)n;
    }
    if (b->answer.magic != BOOT_MAGIC)
        return interp__local_failed(f, INTERP_E_PROTOCOL, "agent-boot", 0, "Use an agent of the same build as the library.", "The agent gave a wrong answer.");
    return b->answer.code ? interp__local_fail_boot(f, &b->answer) : 1;
}

/* The host's core_pattern may begin with '@' (a socket since 6.16): such a handler ignores RLIMIT_CORE, so a crash inside reaches it. */
static int core_socket(void)
{
    char text[8];
    return interp__local_read(AT_FDCWD, "/proc/sys/kernel/core_pattern", text, sizeof text) > 0 && text[0] == '@';
}

/* Those of the config, each with how it stands; what interpreters have brought is theirs. */
static void report_shares(const struct interp__local_box *b, struct interp__buf *json)
{
    const struct interp__local_shares *s = b->shares;
    const char *comma = "";
    interp__buf_str(json, ",\"mounts\":[");
    for (unsigned i = 0; i < s->n; i++) {
        interp__buf_fmt(json, "%s{\"target\":", comma);
        interp__json_text(json, s->share[i].target, strlen(s->share[i].target));
        interp__buf_fmt(json, ",\"mode\":\"%s\",\"how\":\"%s\",\"owner\":\"%s\"%s}", s->share[i].flags & INTERP_MOUNT_WRITABLE ? "rw" : "ro",
                        b->answer.how[s->first + i] == BOOT_HOW_OVERLAY ? "overlay" : "bind", s->share[i].mapped || !b->id ? "user" : "nobody",
                        s->share[i].flags & INTERP_MOUNT_RUNTIME ? ",\"runtime\":true" : "");
        comma = ",";
    }
    if (s->there.len > 1) {
        interp__buf_str(json, comma);
        interp__buf_add(json, s->there.p, s->there.len - 1);
    }
    interp__buf_str(json, "],\"interpreters\":{");
    interp__buf_add(json, s->interpreters.p, s->interpreters.len);
    interp__buf_str(json, "}");
}

void interp__local_box_report(struct interp__local_box *b)
{
    const struct boot_answer *a = &b->answer;
    int version = b->group.made ? b->s->cgroup.version : 0;
    struct interp__mem mem = { b->s->fn, b->s->userdata };
    struct interp__buf json;
    interp__buf_init(&json, &mem);
    if (core_socket())
        unenforced(b, "core_dumps");
    if (b->shares && b->shares->writable)
        unenforced(b, "mounted_bytes");
    interp__buf_fmt(&json,
                    "{\"isolation\":\"%s\",\"ids\":\"%s\",\"memory\":\"%s\",\"cpu\":\"%s\",\"pids\":\"%s\",\"landlock\":%u,\"scoped\":%s,"
                    "\"shared_inodes\":%s,\"cgroup\":\"%s\",\"unenforced\":[%s]",
                    b->level == INTERP_ISOLATION_LANDLOCK ? "landlock" : b->level ? "process" : version ? "full" : "namespaces", b->id ? "two" : "one", b->memory, b->cpu, b->pids, a->landlock, a->landlock >= 6 ? "true" : "false",
                    a->overlay ? "false" : "true", version == 2 ? "v2" : version == 1 ? "v1" : "none", b->unenforced);
    if (b->level)
        interp__buf_fmt(&json, ",\"cwd\":\"%s/workspace\",\"home\":\"%s/home\",\"tmp\":\"%s/tmp\",\"files\":\"%s\",\"file_modes\":\"%s\",\"network\":\"%s\",\"processes\":\"%s\"",
                        b->base.path, b->base.path, b->base.path, b->level == INTERP_ISOLATION_LANDLOCK ? "landlock" : "host",
                        b->id || b->level == INTERP_ISOLATION_PROCESS ? "own" : "ignored", b->level == INTERP_ISOLATION_LANDLOCK ? "no sockets" : "host",
                        b->level == INTERP_ISOLATION_LANDLOCK || a->landlock >= 6 ? "seen, not signalled" : "host");
    if (b->shares)
        report_shares(b, &json);
    interp__buf_str(&json, "}");
    if (!json.bad)
        b->h->reached(b->l, (char *)json.p, json.len);
    interp__buf_free(&json);
}
