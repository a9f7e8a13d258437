/* procfs.c - the sandbox's /proc: what its user namespace may count is set, then all that speaks of the host is masked.
   From here on mount(2) only: detached mounts count as mount namespaces, and none is allowed any more. */
#include "boot_priv.h"

static void set(const char *file, const char *value, int must)
{
    long r = boot_write(file, value);
    if (r < 0 && must)
        boot_die(BOOT_E_LIMIT, file, r);
}

/* Counts of a user namespace are charged to every ancestor: without limits here the guest could use up the embedder's own inotify and namespace
   allowance. One nested user and cgroup namespace for each kernel; those of dead ones go with a delay. */
static void sysctls(void)
{
    static const char *const user[][2] = {
        { "proc/sys/user/max_user_namespaces", "40" }, { "proc/sys/user/max_cgroup_namespaces", "40" }, { "proc/sys/user/max_mnt_namespaces", "0" },
        { "proc/sys/user/max_net_namespaces", "0" }, { "proc/sys/user/max_pid_namespaces", "0" }, { "proc/sys/user/max_ipc_namespaces", "0" },
        { "proc/sys/user/max_uts_namespaces", "0" }, { "proc/sys/user/max_inotify_instances", "32" }, { "proc/sys/user/max_inotify_watches", "8192" }
    };
    char pages[24];
    for (unsigned i = 0; i < sizeof user / sizeof *user; i++)
        set(user[i][0], user[i][1], 1);
    (void)boot_write("proc/sys/user/max_time_namespaces", "0");
    (void)boot_write("proc/sys/user/max_fanotify_groups", "0");
    if (!(boot_state.boot.flags & BOOT_TWO_IDS))
        return;                        /* id 0 of the ipc namespace is nobody; the filter refuses these calls instead */
    /* kernel memory and pages that belong to no process; not ours to set before 5.19 */
    set("proc/sys/kernel/sem", "250 1024 32 16", 0);
    set("proc/sys/kernel/shmmni", "64", 0);
    set("proc/sys/kernel/msgmni", "16", 0);
    /* shared memory is charged to the user's group; where there is none, it gets the bound that files have */
    if (boot_state.boot.cgroup_mask & (1u << BOOT_CG_USER_MEMORY | 1u << BOOT_CG_USER_DIR))
        return;
    str_num(pages, sizeof pages, 0, boot_state.boot.workspace_bytes / 4096 + 1);
    set("proc/sys/kernel/shmall", pages, 0);
}

static void bind(const char *from, const char *to)
{
    long r = sys_mount(from, to, 0, MS_BIND, 0);
    if (r < 0 && r != -E_NOENT)
        boot_die(BOOT_E_PROC, to, r);
}

static void read_only(const char *path)
{
    long r = sys_mount(path, path, 0, MS_BIND, 0);
    if (r == -E_NOENT)
        return;
    boot_try(r, BOOT_E_PROC, path);
    boot_try(sys_mount(0, path, 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, 0), BOOT_E_PROC, path);
}

/* What user code could read of the host's. Not masked, since programs size themselves by them: cpuinfo, loadavg, meminfo, stat, uptime, version, vmstat.
   Each mount costs 5 us, so what only the real root may read is masked only where the user could be it. */
static const char *const files[] = {
    "bootconfig", "buddyinfo", "cgroups", "cmdline", "config.gz", "consoles", "crypto", "devices", "diskstats", "dma", "execdomains", "fb", "interrupts", "iomem",
    "ioports", "kallsyms", "key-users", "keys", "latency_stats", "locks", "mdstat", "misc", "modules", "mtrr", "partitions", "sched_debug", "schedstat", "softirqs",
    "swaps", "timer_list", "zoneinfo", 0
};
static const char *const root_files[] = {
    "kcore", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "pagetypeinfo", "slabinfo", "sysrq-trigger", "vmallocinfo", 0
};
static const char *const folders[] = { "acpi", "asound", "bus", "device-tree", "driver", "dynamic_debug", "fs", "irq", "pressure", "scsi", "tty", "xen", 0 };

static void mask_all(const char *const *names, const char *by)
{
    char path[64];
    for (; *names; names++) {
        size_t n = str_put(path, sizeof path, 0, "proc/");
        str_put(path, sizeof path, n, *names);
        bind(by, path);
    }
}

static void mask(void)
{
    mask_all(files, "dev/null");
    mask_all(folders, "var/empty");
    if (!(boot_state.boot.flags & BOOT_TWO_IDS) && boot_state.boot.uid == 0)
        mask_all(root_files, "dev/null");
}

static void own_boot_id(void)
{
    int fd = (int)boot_try(sys_openat(AT_FDCWD, "boot_id", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444), BOOT_E_PROC, "boot_id");
    boot_state.boot.boot_id[36] = '\n';
    boot_try(write_all(fd, boot_state.boot.boot_id, 37), BOOT_E_PROC, "boot_id");
    sys_close(fd);
    bind("boot_id", "proc/sys/kernel/random/boot_id");
    sys_unlinkat(AT_FDCWD, "boot_id", 0);
}

void proc_mount(void)
{
    /* hidepid=2 alone would hide the kernels from the agent too; with one id it sees them as the owner of their user namespaces */
    const char *options = boot_state.boot.flags & BOOT_TWO_IDS ? "hidepid=2,gid=0" : "hidepid=2";
    boot_try(sys_mkdir("proc", 0555), BOOT_E_PROC, "mkdir");
    boot_try(sys_mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options), BOOT_E_PROC, "mount");
    sysctls();
    read_only("proc/sys");
    /* writable again: a kernel's child sets the limits of its own nested namespace there (lock.c); the kernel asks for a capability that user code
       has not, and Landlock refuses all writes below /proc */
    bind("proc/sys/user", "proc/sys/user");
    boot_try(sys_mount(0, "proc/sys/user", 0, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC, 0), BOOT_E_PROC, "proc/sys/user");
    own_boot_id();
    mask();
}
