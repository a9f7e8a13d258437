/* state.c - what all sandboxes of one backend instance share, made at the first open that needs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "local_priv.h"
#include "base/limit.h"

void *interp__local_new(interp_realloc_fn fn, void *userdata)
{
    int i;
    struct interp__local *s = fn(userdata, 0, 0, sizeof *s);
    if (!s)
        return 0;
    memset(s, 0, sizeof *s);
    if (pthread_mutex_init(&s->lock, 0) != 0) {
        fn(userdata, s, sizeof *s, 0);
        return 0;
    }
    s->fn = fn;
    s->userdata = userdata;
    s->pid = getpid();
    s->agent = s->ids.fd = -1;
    for (i = 0; i < LOCAL_CG_N; i++)
        s->cgroup.owner[i] = s->cgroup.base[i] = s->cgroup.agents[i] = -1;
    return s;
}

void interp__local_free(void *backend)
{
    struct interp__local *s = backend;
    int i, ours;
    if (!s)
        return;
    ours = s->pid == getpid();
    interp__local_close(&s->agent);
    interp__local_close(&s->ids.fd);
    interp__local_cgroup_drop(&s->cgroup, ours);
    for (i = 0; i < LOCAL_FILTER_VARIANTS; i++)
        if (s->filter[i].code)
            s->fn(s->userdata, s->filter[i].code, (s->filter[i].nallow + s->filter[i].ndeny) * sizeof(struct boot_filter), 0);
    if (ours)
        pthread_mutex_destroy(&s->lock);   /* in a forked child another thread may have held it */
    s->fn(s->userdata, s, sizeof *s, 0);
}

#define FILTER_FILE (BOOT_FILTERS * sizeof(struct boot_filter))

static int prepare(struct interp__local *s, const interp_host_ops *h, interp_link *l, struct interp__local_failure *f)
{
    const void *data;
    size_t len;
    if (s->agent < 0) {
        interp_status st = h->agent(l, LOCAL_ARCH, &data, &len);
        if (st == INTERP_E_NOMEM)
            return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", ENOMEM, "", "Out of memory.");
        if (st)
            return interp__local_failed(f, INTERP_E_UNSUPPORTED, "agent-missing", 0, "Use a build with the agent for " LOCAL_ARCH ".",
                                        "This build has no guest agent for " LOCAL_ARCH ".");
        /* a file in memory counts, too */
        uint64_t most = interp__file_limit(), needed = len > FILTER_FILE ? len : FILTER_FILE;
        if (most < needed)
            return interp__local_failed(f, INTERP_E_LIMIT, "file-size", EFBIG, "Raise RLIMIT_FSIZE (ulimit -f) of this process.",
                                        "This process may make files of %llu bytes; a sandbox needs %llu.", (unsigned long long)most, (unsigned long long)needed);
        s->agent = interp__local_image(data, len);
        if (s->agent < 0)
            return interp__local_failed(f, INTERP_E_IO, "agent-image", errno, "",
                                        "The agent's image can't be made: %s.", strerror(errno));
    }
    if (!s->looked) {
        interp__local_cgroup_find(&s->cgroup);
        s->ids.two = interp__local_ids_two();
        interp__local_sources_default(&s->boot);
        s->looked = 1;
    }
    return 0;
}

int interp__local_prepare(struct interp__local *s, const interp_host_ops *h, interp_link *l, struct interp__local_failure *f)
{
    int r;
    pthread_mutex_lock(&s->lock);
    r = prepare(s, h, l, f);
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* Building takes 2 ms, so each variant is built once. */
static int filter_get(struct interp__local *s, unsigned variant, struct interp__local_failure *f)
{
    struct interp__local_filter *out = &s->filter[variant];
    uint32_t nallow = 0, ndeny = 0;
    const char *rule = "";
    struct boot_filter *code, *copy = NULL;        /* not on the stack, which may be a small one */
    int e = 0;
    if (out->code)
        return 0;
    if (!(code = s->fn(s->userdata, 0, 0, FILTER_FILE)))
        return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", ENOMEM, "", "Out of memory.");
    if (interp__local_filter_build(code, BOOT_FILTERS, variant, &nallow, &ndeny, &rule) < 0)
        e = errno;
    else if ((copy = s->fn(s->userdata, 0, 0, (nallow + ndeny) * sizeof *copy)))
        memcpy(copy, code, (nallow + ndeny) * sizeof *copy);
    s->fn(s->userdata, code, FILTER_FILE, 0);
    if (e)
        return interp__local_failed(f, INTERP_E_BACKEND, "seccomp-build", e, "Use libseccomp 2.5 or newer.", "libseccomp refused the rule for %s: %s.", rule,
                                    strerror(e));
    if (!copy)
        return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", ENOMEM, "", "Out of memory.");
    out->nallow = nallow;
    out->ndeny = ndeny;
    out->code = copy;
    return 0;
}

int interp__local_filter_get(struct interp__local *s, unsigned variant, const struct interp__local_filter **out, struct interp__local_failure *f)
{
    int r;
    pthread_mutex_lock(&s->lock);
    r = filter_get(s, variant, f);
    pthread_mutex_unlock(&s->lock);
    *out = &s->filter[variant];
    return r;
}
