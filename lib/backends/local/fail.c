/* fail.c - what went wrong, as a stable reason and what to do about it. Causes are told apart after a real attempt has failed, never guessed before. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "local_priv.h"

#define FLOOR "Or use a container backend."
#define ELSEWHERE "Use a container backend."

int interp__local_failed(struct interp__local_failure *f, interp_status code, const char *reason, int err, const char *remedy, const char *format, ...)
{
    va_list ap;
    if (err == EMFILE || err == ENFILE) {   /* whatever step it was: nothing is wrong with this machine's isolation */
        code = INTERP_E_LIMIT;
        reason = "host-descriptors";
        remedy = "Raise the limit of open files (RLIMIT_NOFILE).";
    }
    f->code = code;
    f->reason = reason;
    f->err = err;
    f->remedy = remedy;
    va_start(ap, format);
    vsnprintf(f->message, sizeof f->message, format, ap);
    va_end(ap);
    return -1;
}

/* A number in a file of /proc; -1 when there is none. */
static long number(const char *path)
{
    char text[32];
    return interp__local_read(AT_FDCWD, path, text, sizeof text) > 0 ? strtol(text, 0, 10) : -1;
}

static int under_seccomp(void)
{
    char text[4096], *p;
    if (interp__local_read(AT_FDCWD, "/proc/self/status", text, sizeof text) < 0)
        return 0;
    p = strstr(text, "\nSeccomp:");
    return p && strtol(p + 9, 0, 10) == 2;
}

static int apparmor(void)
{
    return number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1;
}

static int fail_apparmor(struct interp__local_failure *f, int err, const char *step)
{
    return interp__local_failed(f, INTERP_E_ISOLATION, "userns-apparmor", err,
                                "Give the host program an AppArmor profile with `userns,` (one file in /etc/apparmor.d), or accept a container backend.",
                                "AppArmor takes the capabilities of user namespaces that ordinary programs make (step: %s).", step);
}

static int fail_seccomp(struct interp__local_failure *f, const char *reason, int err)
{
    return interp__local_failed(f, INTERP_E_ISOLATION, reason, err,
                                "In Docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined; in Podman also unmask=ALL. " FLOOR,
                                "A seccomp filter around this process forbids new namespaces (clone3: %s).", strerror(err));
}

int interp__local_fail_clone(struct interp__local_failure *f, int err, int step)
{
    static const char *const steps[] = { "clone3", "descriptors", "id maps", "capabilities", "exec of the agent" };
    if (step == LOCAL_STEP_MAPS)
        return interp__local_fail_maps(f, err, "uid_map");
    if (step != LOCAL_STEP_CLONE)
        return interp__local_failed(f, INTERP_E_BACKEND, "agent-boot", err, "",
                                    "The agent could not be started (step: %s): %s.", steps[step], strerror(err));
    switch (err) {
    case ENOSYS:
        if (under_seccomp())
            return fail_seccomp(f, "clone3-blocked", err);
        return interp__local_failed(f, INTERP_E_ISOLATION, "kernel-too-old", err, "Use Linux 5.15 or newer. " FLOOR, "The kernel has no clone3.");
    case EPERM:
        if (under_seccomp())
            return fail_seccomp(f, "userns-seccomp", err);
        if (number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
            return interp__local_failed(f, INTERP_E_ISOLATION, "userns-disabled", err, "Set the sysctl kernel.unprivileged_userns_clone to 1. " FLOOR,
                                        "This system forbids user namespaces to ordinary users.");
        if (apparmor())
            return fail_apparmor(f, err, "clone3");
        return interp__local_failed(f, INTERP_E_ISOLATION, "userns-disabled", err, "Run outside of a chroot, and with user namespaces allowed. " FLOOR,
                                    "This process may not make a user namespace.");
    case ENOSPC:
    case EUSERS:
        return interp__local_failed(f, INTERP_E_ISOLATION, "userns-limit", err,
                                    "Raise the sysctls user.max_user_namespaces, max_mnt_namespaces, max_pid_namespaces, max_net_namespaces, max_ipc_namespaces, "
                                    "max_uts_namespaces, or close other sandboxes. " FLOOR,
                                    "The limit of namespaces is reached (%s).", err == ENOSPC ? "a limit of user.max_*_namespaces" : "nesting");
    case EINVAL:
        return interp__local_failed(f, INTERP_E_ISOLATION, "userns-disabled", err, "Use a kernel with user, pid, net, ipc and uts namespaces. " FLOOR,
                                    "The kernel lacks a kind of namespace.");
    case EAGAIN:
        return interp__local_failed(f, INTERP_E_LIMIT, "host-processes", err, "Raise the limit of processes (RLIMIT_NPROC, or pids.max of the own cgroup).",
                                    "This user or cgroup may not start another process.");
    case ENOMEM:
        return interp__local_failed(f, INTERP_E_NOMEM, "host-memory", err, "", "The kernel has no memory for another process, or its pid namespace is ending.");
    case EMFILE:
    case ENFILE:
        return interp__local_failed(f, INTERP_E_LIMIT, "", err, "", "This process may not open another descriptor.");
    default:
        return interp__local_failed(f, INTERP_E_ISOLATION, "clone3", err, ELSEWHERE, "Making the namespaces failed: %s.", strerror(err));
    }
}

int interp__local_fail_maps(struct interp__local_failure *f, int err, const char *file)
{
    if ((err == EPERM || err == EACCES) && apparmor())
        return fail_apparmor(f, err, file);
    if (err == ENOENT)
        return interp__local_failed(f, INTERP_E_ISOLATION, "proc-masked", err, "Mount a /proc that belongs to this pid namespace.",
                                    "The sandbox's process is not in /proc (%s).", file);
    return interp__local_failed(f, INTERP_E_ISOLATION, "ids-map", err, ELSEWHERE, "The ids of the sandbox can't be mapped (%s): %s.", file, strerror(err));
}

int interp__local_fail_boot(struct interp__local_failure *f, const struct boot_answer *a)
{
    static const struct { uint32_t code; const char *reason, *remedy, *message; } known[] = {
        { BOOT_E_PROC, "proc-masked", "In Docker: --security-opt systempaths=unconfined; in Podman: --security-opt unmask=ALL. " FLOOR,
          "A fresh /proc can't be mounted; a part of the outer one is masked" },
        { BOOT_E_PIVOT, "pivot-root", "In Docker: a seccomp profile that allows pivot_root; on an initramfs: run from a real root file system. " FLOOR,
          "The sandbox's root can't be made the root" },
        { BOOT_E_LANDLOCK, "landlock-missing", "Use a kernel with Landlock (5.13 or newer) and `landlock` in its lsm= list. " FLOOR, "Landlock is not there" },
        { BOOT_E_SECCOMP, "seccomp-missing", "Use a kernel with CONFIG_SECCOMP_FILTER.", "A seccomp filter can't be installed" },
        { BOOT_E_CGROUP, "cgroup-join", "Accept isolation `namespaces`, or give this process a cgroup that it may write.", "The agent can't join its cgroup" },
        { BOOT_E_IDS, "ids-map", ELSEWHERE, "The agent can't take its ids" },
        { BOOT_E_SELFCHECK, "self-check", "This is a fault in libinterp or in this kernel: report it.", "The finished sandbox did not pass its own check" },
        { BOOT_E_MESSAGE, "agent-boot", "Use an agent of the same build as the library.", "The agent did not understand its boot message" },
        { BOOT_E_LIMIT, "limit-unenforceable", "", "A limit can't be set" },
        { BOOT_E_SOURCE, "mount-source", "Name a directory or file that this user can read, by a path without symbolic links.", "A host path can't be shown inside" },
        { BOOT_E_TARGET, "mount-target", "Take a target whose parents are real directories that can be made or are there, such as /data or /workspace/data.", "A mount can't be placed there" },
        { BOOT_E_SUBMOUNT, "mount-submounts", "Mount a directory that has no other file system mounted below it, or use a root host.",
          "Other file systems are mounted below a mount source, and none is carried in" },
        { BOOT_E_MOUNT, "mount", ELSEWHERE, "The sandbox's root can't be built" }
    };
    char step[sizeof a->step + 1];
    size_t i;
    memcpy(step, a->step, sizeof a->step);
    step[sizeof a->step] = 0;
    for (i = 0; step[i]; i++)
        if ((unsigned char)step[i] < ' ' || (unsigned char)step[i] > '~' || step[i] == '"' || step[i] == '\\')
            step[i] = '?';
    if ((a->err == EPERM || a->err == EACCES) && (a->code == BOOT_E_MOUNT || a->code == BOOT_E_OTHER) && apparmor())
        return fail_apparmor(f, a->err, step);
    for (i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == a->code)
            return interp__local_failed(f, INTERP_E_ISOLATION, known[i].reason, a->err, known[i].remedy, "%s (step: %s; %s).", known[i].message, step,
                                        strerror(a->err));
    return interp__local_failed(f, INTERP_E_ISOLATION, "agent-boot", a->err, "", "The sandbox could not be built (step: %s; %s).", step, strerror(a->err));
}
