/* boot.h - what the local backend tells the agent before the wire protocol starts: how to build the root and what to lock down.
   Shared by lib/backends/local and lib/guest only. Both come from one build, so the layout needs no version; `magic` guards against a mix-up. */
#ifndef INTERP_LIB_GUEST_BOOT_H
#define INTERP_LIB_GUEST_BOOT_H
#include <stdint.h>

#define BOOT_MAGIC   0x31425049u /* "IPB1" */
#define BOOT_SOURCES 76u      /* those of every sandbox, and what a config adds */
#define BOOT_PATH    192u
#define BOOT_FILTERS 4000u

/* Descriptors of the agent in local mode, right after exec. Absent ones are simply not open. */
enum boot_fd {
    BOOT_FD_STREAM = 3,     /* socket to the host: boot message, boot answer, then the wire protocol */
    BOOT_FD_HOST = 4,       /* pidfd of the host process: readable = it is gone */
    BOOT_FD_CGROUP = 5      /* from here on: the cgroup descriptors in the order of enum boot_cg, present ones only; then those that boot_source.fd names */
};

enum { BOOT_FD_LIFE = 5 };   /* bare: a pipe that the agent and its supervisors hold, and nobody else. At its end all of them have ended, and each ends last in its tree */

/* cgroup descriptors: bit i of boot.cgroup_mask says that entry i is passed. v1: `tasks` files, written with "0" by a single-threaded
   process that moves itself. v2: directory of the user group for CLONE_INTO_CGROUP (the agent is born in its own group). */
enum boot_cg {
    BOOT_CG_AGENT_MEMORY, BOOT_CG_AGENT_PIDS, BOOT_CG_AGENT_CPU,          /* v1: the agent's groups */
    BOOT_CG_USER_MEMORY, BOOT_CG_USER_PIDS, BOOT_CG_USER_CPU,             /* v1: the user's groups */
    BOOT_CG_USER_DIR,                                                    /* v2 */
    BOOT_CG_PEAK,            /* v1 memory.max_usage_in_bytes (O_RDWR, write "0" resets), v2 memory.peak (O_RDWR: per-descriptor reset since 6.12) */
    BOOT_CG_OOM,             /* v1 memory.oom_control, v2 memory.events: a line "oom_kill N" */
    BOOT_CG_PIDS_EVENTS,     /* pids.events: a line "max N" */
    BOOT_CG_COUNT
};

enum boot_flags {
    BOOT_TWO_IDS = 1,        /* 0 and 1000 inside are different host ids; else one id, and user code gets a nested user namespace */
    BOOT_CGROUP_V2 = 2,
    BOOT_BARE = 4,           /* no namespaces: levels landlock and process. Descriptor BOOT_FD_LIFE is there, groups are not */
    BOOT_OPEN = 8,           /* with BARE: level process, no rules for files and no filter */
    BOOT_PTY = 16,           /* with pseudo-terminals */
    BOOT_NO_SECCOMP = 0x100, /* white-box tests only; an agent built without -DINTERP_TESTING ends with an error when it sees one of these */
    BOOT_NO_LANDLOCK = 0x200,
    BOOT_NO_USERNS = 0x400
};

struct boot_source {          /* a host path that appears read-only inside */
    char host[BOOT_PATH], guest[BOOT_PATH];
    uint32_t optional;        /* 1: skip when it is not there */
    uint32_t bind;            /* 1: a bind mount even for a directory (no overlay) */
    uint32_t share;           /* enum boot_share */
    uint32_t file;            /* a share: 1 when it is a regular file, else a directory */
    uint32_t fd;              /* not 0: a descriptor with a detached mount of it (of the directory around it, when it is a file shown read-only) */
};
enum boot_share { BOOT_SYSTEM = 0, BOOT_SHARE_RO = 1, BOOT_SHARE_RW = 2 };   /* SHARE: the config's wish; placed last, on top of what is there */
enum boot_how { BOOT_HOW_ABSENT = 0, BOOT_HOW_OVERLAY = 1, BOOT_HOW_BIND = 2 };
struct boot_link { char target[64], name[64]; };   /* top-level symlinks such as lib64 -> usr/lib64 */

struct boot_filter { uint16_t code; uint8_t jt, jf; uint32_t k; };   /* struct sock_filter */

struct boot {
    uint32_t magic, size;     /* size of the struct without filter[], then nfilter entries follow */
    uint32_t flags, cgroup_mask;
    uint64_t workspace_bytes, workspace_inodes, file_bytes;
    uint64_t private_bytes, state_bytes;   /* sizes of the agent's own tmpfs (FIFOs, code files), and of the one for what shells save */
    uint32_t pids, descriptors, nsources, nlinks;
    uint32_t nallow, ndeny;   /* filters: the allow-list first, then the deny filter; installed deny first, allow last */
    uint64_t cpu_mask;        /* pin the sandbox to these CPUs (level without cgroup), 0 = do not */
    uint32_t uid, gid;        /* host ids behind the one id (one-id mode), for messages */
    uint32_t no_sem, reserved;/* 1: one id, SysV IPC is refused by the filter */
    char base[64];            /* bare: a directory of this sandbox with workspace, home, tmp and run in it */
    uint32_t user_uid, user_gid;   /* bare, two ids: of user code */
    char boot_id[40];         /* shown as /proc/sys/kernel/random/boot_id */
    struct boot_source source[BOOT_SOURCES];
    struct boot_link link[8];
};

/* The agent's answer, sent once, before it reads the wire protocol. code 0: the sandbox stands and has checked itself. */
struct boot_answer {
    uint32_t magic, code;     /* code: 0, else enum boot_error */
    int32_t  err;             /* errno of the failing call */
    uint32_t landlock;        /* ABI found */
    uint32_t overlay;         /* 1: directories are overlays; 0: at least one is a bind (shared inodes) */
    uint32_t binfmt;          /* 1: own binfmt_misc instance */
    uint8_t  how[BOOT_SOURCES];   /* enum boot_how of each share */
    char     step[BOOT_PATH];     /* the failing step, for the message */
};
enum boot_error {
    BOOT_E_OTHER = 1, BOOT_E_MOUNT = 2, BOOT_E_PROC = 3, BOOT_E_PIVOT = 4, BOOT_E_LANDLOCK = 5, BOOT_E_SECCOMP = 6, BOOT_E_CGROUP = 7,
    BOOT_E_IDS = 8, BOOT_E_SELFCHECK = 9, BOOT_E_MESSAGE = 10, BOOT_E_LIMIT = 11, BOOT_E_SOURCE = 12, BOOT_E_TARGET = 13, BOOT_E_SUBMOUNT = 14
};
#endif
