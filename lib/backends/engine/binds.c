/* binds.c - directories and files of the host in a container, where the engine is on this host: it opens the path itself, with its own rights, and resolves links when it
   does. So what is named here must be without links, as everywhere; whoever may talk to the engine may name any path to it. */
#include "engine_priv.h"
#include "base/lines.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int take(struct interp__box *b, const char *source, const char *target, uint32_t flags, struct interp__engine_failure *f)
{
    char real[PATH_MAX], below[256];
    struct stat st;
    if (!realpath(source, real) || stat(real, &st))
        return interp__engine_fail(f, errno == EACCES ? INTERP_E_DENIED : INTERP_E_NOT_FOUND, errno == EACCES ? "mount-closed" : "mount-source", errno, "name a directory or file of this machine that this user can reach",
                                   "the mount source %.200s can't be looked at: %s", source, strerror(errno));
    if (strcmp(real, source) != 0 && !(flags & INTERP_MOUNT_RUNTIME))
        return interp__engine_fail(f, INTERP_E_INVAL, "mount-symlink", 0, "name the path without symbolic links", "the mount source %.200s has a symbolic link in it: it is really %.200s", source, real);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return interp__engine_fail(f, INTERP_E_INVAL, "mount-source", 0, "name a directory or a regular file", "the mount source %.200s is neither a directory nor a regular file", source);
    unsigned n = interp__mounted_below(real, below, sizeof below);
    if (n)
        return interp__engine_fail(f, INTERP_E_INVAL, "mount-submounts", 0, "mount them one by one, or a directory that has none below it",
                                   "the mount source %.200s has %u other file systems mounted below it, and none is carried in; the first is %.200s", source, n, below);
    interp__buf_add(&b->binds, real, strlen(real) + 1);
    interp__buf_add(&b->binds, target, strlen(target) + 1);
    interp__buf_add(&b->binds, flags & INTERP_MOUNT_WRITABLE ? "rw" : "ro", 3);
    return b->binds.bad ? interp__engine_fail(f, INTERP_E_NOMEM, "host-memory", 0, "", "out of memory") : 0;
}

int interp__binds_take(struct interp__box *b, struct interp__engine_failure *f)
{
    const interp_spec *s = &b->spec;
    if (s->nmounts && b->where.tcp)
        return interp__engine_fail(f, INTERP_E_UNSUPPORTED, "mounts-remote", 0, "use an engine of this machine (a unix socket), or put the files into the image or the workspace",
                                   "mounts are directories of this machine, and the engine at %.200s may be on another", b->where.text);
    for (uint32_t i = 0; i < s->nmounts; i++)
        if (take(b, s->mount_sources[i], s->mount_targets[i], s->mount_flags[i], f))
            return -1;
    return 0;
}

/* The next one; *at is where it begins and then where it ends. 0: there is none. */
static int next(const struct interp__box *b, size_t *at, const char **source, const char **target, const char **mode)
{
    const char *p = (const char *)b->binds.p;
    if (*at >= b->binds.len)
        return 0;
    *source = p + *at;
    *target = *source + strlen(*source) + 1;
    *mode = *target + strlen(*target) + 1;
    *at = (size_t)(*mode - p) + 3;
    return 1;
}

void interp__binds_body(const struct interp__box *b, struct interp__buf *out)
{
    const char *source, *target, *mode;
    for (size_t at = 0; next(b, &at, &source, &target, &mode);) {
        interp__buf_str(out, ",{\"Type\":\"bind\",\"Source\":");
        interp__json_text(out, source, strlen(source));
        interp__buf_str(out, ",\"Target\":");
        interp__json_text(out, target, strlen(target));
        interp__buf_fmt(out, ",\"ReadOnly\":%s,\"BindOptions\":{\"Propagation\":\"rprivate\",\"NonRecursive\":true}}", mode[1] == 'o' ? "true" : "false");
    }
}

int interp__binds_has(const struct interp__box *b, const char *path)
{
    const char *source, *target, *mode;
    for (size_t at = 0; next(b, &at, &source, &target, &mode);)
        if (!strcmp(target, path))
            return 1;
    return 0;
}

/* Each is there once, from where and as writable as it was asked for. */
int interp__binds_check(const struct interp__box *b, const struct interp__json *j, uint32_t mounts, struct interp__engine_failure *f)
{
    const char *source, *target, *mode;
    for (size_t at = 0; next(b, &at, &source, &target, &mode);) {
        uint32_t i = mounts + 1, good = 0, seen = 0;
        for (uint32_t k = 0; k < interp__json_at(j, mounts)->count; k++, i = interp__json_at(j, i)->next)
            if (!strcmp(interp__answer_text(j, i, "Destination"), target)) {
                seen++;
                good += !strcmp(interp__answer_text(j, i, "Type"), "bind") && !strcmp(interp__answer_text(j, i, "Source"), source) && interp__answer_true(j, i, "RW") == (mode[1] == 'w');
            }
        if (seen != 1 || good != 1)
            return interp__engine_fail(f, INTERP_E_ISOLATION, "engine-mount", 0, "", "the engine did not show %.200s at %.200s as it was asked to (%s)", source, target, mode);
    }
    return 0;
}

void interp__binds_reached(const struct interp__box *b, struct interp__buf *reached)
{
    const char *source, *target, *mode, *comma = "";
    if (!b->binds.len)
        return;
    interp__buf_str(reached, ",\"shared_inodes\":true,\"mounts\":[");
    for (size_t at = 0; next(b, &at, &source, &target, &mode);) {
        interp__buf_fmt(reached, "%s{\"target\":", comma);
        interp__json_text(reached, target, strlen(target));
        interp__buf_fmt(reached, ",\"mode\":\"%s\",\"how\":\"bind\",\"owner\":\"host\"}", mode);
        comma = ",";
    }
    interp__buf_str(reached, "]");
}
