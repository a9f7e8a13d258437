/* local_priv.h - shared by the files of this folder. */
#ifndef INTERP_LIB_LOCAL_PRIV_H
#define INTERP_LIB_LOCAL_PRIV_H
#include <pthread.h>
#include <sys/types.h>
#include "local.h"
#include "base/buf.h"
#include "../../guest/boot.h"

#if defined(__x86_64__)
#  define LOCAL_ARCH "x86_64"
#elif defined(__aarch64__)
#  define LOCAL_ARCH "aarch64"
#else
#  error "the local sandbox is for x86-64 and aarch64"
#endif

/* ---- failures (fail.c): each has a stable reason, one sentence for people and one remedy */
struct interp__local_failure {
    interp_status code;
    int err;                  /* errno, 0 when no call failed */
    const char *reason, *remedy;   /* static texts */
    char message[640];
};
/* Fills f; returns -1 so that callers can return it. */
int interp__local_failed(struct interp__local_failure *f, interp_status code, const char *reason, int err, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
int interp__local_fail_clone(struct interp__local_failure *f, int err, int step);
int interp__local_fail_maps(struct interp__local_failure *f, int err, const char *file);
int interp__local_fail_boot(struct interp__local_failure *f, const struct boot_answer *a);

/* ---- small files (file.c) */
/* Reads at most cap - 1 bytes and ends them with a NUL; the count, or -1 with errno. */
ssize_t interp__local_read(int dir, const char *name, char *buf, size_t cap);
/* Writes a text to an existing file in one call; 0, or -1 with errno. */
int interp__local_write(int dir, const char *name, const char *text);
int interp__local_write_u64(int dir, const char *name, uint64_t value);
void interp__local_close(int *fd);

/* ---- the boot child (clone.c) */
#define LOCAL_SHARES 48                /* mounts, runtimes, and what interpreters bring */
#define LOCAL_SPAWN_FDS (4 + BOOT_CG_COUNT + LOCAL_SHARES)
struct interp__local_spawn {
    int agent;                         /* sealed image */
    int bare;                          /* no namespaces */
    int cgroup;                        /* v2: born in it, -1 = in the host's */
    int fd[LOCAL_SPAWN_FDS];           /* become descriptors 3, 4, ... in this order */
    unsigned nfds;
    char uid_map[32], gid_map[32];     /* one id: the child maps itself; empty: the caller maps it */
    int uid_len, gid_len, mapped;      /* mapped: it did */
    int step, err;                     /* what failed in the child, after the clone */
    int pidfd;
    pid_t pid;
};
enum { LOCAL_STEP_CLONE = 0, LOCAL_STEP_FDS = 1, LOCAL_STEP_MAPS = 2, LOCAL_STEP_CAPS = 3, LOCAL_STEP_EXEC = 4 };
/* Makes PID 1 of a new sandbox. 0, or -1 with s->step and s->err set. */
int interp__local_spawn(struct interp__local_spawn *s);
/* A user namespace with these maps, for an id-mapped mount; -1 with errno. */
int interp__local_userns(const char *uid_map, const char *gid_map);
/* The agent's image as a sealed descriptor; -1 with errno. */
int interp__local_image(const void *data, size_t len);

/* ---- seccomp (filter.c) */
struct interp__local_filter { struct boot_filter *code; uint32_t nallow, ndeny; };
enum { LOCAL_FILTER_ONE_ID = 1, LOCAL_FILTER_PINNED = 2, LOCAL_FILTER_SHARED = 4, LOCAL_FILTER_BARE = 8, LOCAL_FILTER_KEEP = 16, LOCAL_FILTER_VARIANTS = 32 };
/* SHARED: files of the host can be written. BARE: no namespaces. KEEP: files outside belong to the same id, so nobody's mode, owner and times are changed. */
/* Fills code[0..cap); 0, or -1 with the failing rule's name in *rule. */
int interp__local_filter_build(struct boot_filter *code, uint32_t cap, unsigned variant, uint32_t *nallow, uint32_t *ndeny, const char **rule);

/* ---- ids (ids.c) */
struct interp__local_ids {
    int fd;                            /* lock file, -1 = not opened yet */
    uint32_t next;
    int two, known;
};
#define LOCAL_ID_FIRST 0x70000000u
#define LOCAL_ID_LAST  0x7FFDFFFFu
/* Whether this process can map two fresh ids. */
int interp__local_ids_two(void);
/* Takes a pair: its first id in *id. 0 or -1 with f. */
int interp__local_ids_take(struct interp__local_ids *s, uint32_t *id, struct interp__local_failure *f);
void interp__local_ids_give(struct interp__local_ids *s, uint32_t id);
/* Texts with which a child maps its caller's id as the only one, 1000. */
void interp__local_ids_own(char uid_map[32], char gid_map[32]);
/* Writes the maps of a process: id 0 = the caller's own id as the only one. */
int interp__local_ids_map(pid_t pid, uint32_t id, struct interp__local_failure *f);

/* ---- cgroups (cgroup.c and one file for each version) */
/* in remedies: how a process comes by a group that it can write */
#define LOCAL_DELEGATE "systemd-run --user --scope -p Delegate=yes; a service: Delegate=yes and DelegateSubgroup="
enum { LOCAL_CG_MEMORY, LOCAL_CG_PIDS, LOCAL_CG_CPU, LOCAL_CG_N };
struct interp__local_cgroup {          /* of this backend instance */
    int version;                       /* 0: none to write, 1, 2 */
    int has_cpu;
    int owner[LOCAL_CG_N];             /* v1: one directory each, v2: [0]; held by flock */
    int base[LOCAL_CG_N];              /* the directories above them */
    int agents[LOCAL_CG_N];            /* v1: tasks files of the agents' groups */
    int swap, tcp;                     /* v1: memory.memsw and memory.kmem.tcp are there */
    char name[64];                     /* of the owner directories */
    const char *why;                   /* version 0: reason for people */
};
struct interp__local_limits { uint64_t memory; uint32_t cpu_millis, pids; };    /* 0: none */
struct interp__local_group {           /* of one sandbox */
    int made;
    char name[16];
    int fd[BOOT_CG_COUNT];             /* in the order of enum boot_cg, -1 = absent */
    int born, box;                     /* v2: the agent's group, the sandbox's group */
};
void interp__local_cgroup_find(struct interp__local_cgroup *c);
void interp__local_cgroup_drop(struct interp__local_cgroup *c, int remove);
/* Makes the groups of one sandbox with its limits. 0 or -1 with f. uid, gid: host ids of the agent (v2). */
int interp__local_group_make(struct interp__local_cgroup *c, struct interp__local_group *g, uint64_t number, const struct interp__local_limits *l,
                             uid_t uid, gid_t gid, struct interp__local_failure *f);
void interp__local_group_init(struct interp__local_group *g);
/* Closes what only the agent needs; the sandbox keeps what kill needs. */
void interp__local_group_handed_over(struct interp__local_cgroup *c, struct interp__local_group *g);
void interp__local_group_kill(struct interp__local_group *g);
/* Removes the groups: 0 when gone, 1 when one is still busy (try later). */
int interp__local_group_remove(struct interp__local_cgroup *c, struct interp__local_group *g);
void interp__local_group_close(struct interp__local_cgroup *c, struct interp__local_group *g);
/* of cgroup_v1.c, cgroup_v2.c, used by cgroup.c only */
struct interp__local_mounts;
int interp__local_cgroup_owner(int base, const char *name);
int interp__local_v1_find(struct interp__local_cgroup *c, const struct interp__local_mounts *m);
int interp__local_v2_find(struct interp__local_cgroup *c, const struct interp__local_mounts *m);
int interp__local_v1_make(struct interp__local_cgroup *c, struct interp__local_group *g, const struct interp__local_limits *l, struct interp__local_failure *f);
int interp__local_v2_make(struct interp__local_cgroup *c, struct interp__local_group *g, const struct interp__local_limits *l, uid_t uid, gid_t gid,
                          struct interp__local_failure *f);
int interp__local_v1_remove(struct interp__local_cgroup *c, const char *name);
int interp__local_v2_remove(int owner, const char *name);

/* ---- sources (sources.c): what of the host's files every sandbox sees */
void interp__local_sources_default(struct boot *b);
/* Is it below what every sandbox sees? Then it needs no mount of its own. */
int interp__local_sources_have(const struct boot *b, const char *path);

/* ---- shares (shares.c): what a config shows of the host's files, and how */
struct interp__local_shares {
    unsigned n, asked;                 /* sources of the boot message from `first` on; the first `asked` are the config's mounts */
    uint32_t first;
    int writable;
    struct interp__mem mem;
    struct interp__buf interpreters;   /* for the report: JSON members */
    struct interp__buf there;          /* of `mounts`: runtimes that need none, since they are seen anyway; each before a comma */
    struct { int tree; uint8_t flags, mapped; char target[BOOT_PATH]; } share[LOCAL_SHARES];   /* tree: a detached mount of it, -1: the agent opens the path */
};
/* Looks at all that the spec names and puts it into the boot message. id: first of the pair of host ids, 0: one id. 0 or -1 with f. */
int interp__local_shares_plan(struct interp__local_shares *s, struct boot *m, const interp_spec *spec, uint32_t id, struct interp__local_failure *f);
void interp__local_shares_close(struct interp__local_shares *s);   /* descriptors and memory; what the report needs of share[] stays */
/* runtime.c: puts one directory of software in, at its own path and where it really is; 0 or -1 with f. -2: it is too much to show (a home, "/"). */
int interp__local_share_runtime(struct interp__local_shares *s, struct boot *m, const char *path, uint32_t id, struct interp__local_failure *f);
int interp__local_share_add(struct interp__local_shares *s, struct boot *m, const char *source, const char *target, uint32_t flags, uint32_t id,
                            struct interp__local_failure *f);
/* An interpreter of the host's and all that it needs; inside is what stands for it there. */
int interp__local_interpreter(struct interp__local_shares *s, struct boot *m, const char *language, const char *path, uint32_t id, char inside[BOOT_PATH],
                              struct interp__local_failure *f);
/* The directory that keeps this user from a path, in dir; its own name when there is none to name. */
void interp__local_closed_directory(const char *path, char dir[BOOT_PATH]);

/* ---- base.c: where a sandbox without namespaces works */
struct interp__local_base { int fd; unsigned number, pieces; char path[64]; };
int interp__local_base_make(struct interp__local_base *b, uint32_t user, int *swept, struct interp__local_failure *f);
int interp__local_base_remove(struct interp__local_base *b);   /* one piece: 1: there is more, 0: it is gone, or can't be */

/* ---- the state of a backend instance (state.c) */
struct interp__local {
    pthread_mutex_t lock;              /* all below; never held while a sandbox waits for anything */
    interp_realloc_fn fn;
    void *userdata;
    pid_t pid;                         /* who made it: a forked child only closes and frees */
    int agent;                         /* image, -1 = not made yet */
    int looked;                        /* cgroup and ids are known */
    int swept;                         /* left-over directories have been looked for */
    char unusable[200];                /* namespaces can't be had here, for this reason that will not go away; "": none known */
    uint64_t number;                   /* of the last sandbox */
    struct interp__local_ids ids;
    struct interp__local_cgroup cgroup;
    struct interp__local_filter filter[LOCAL_FILTER_VARIANTS];
    struct boot boot;                  /* sources and links, the same for all */
};
/* All three take the lock. */
int interp__local_prepare(struct interp__local *s, const interp_host_ops *h, interp_link *l, struct interp__local_failure *f);
int interp__local_filter_get(struct interp__local *s, unsigned variant, const struct interp__local_filter **out, struct interp__local_failure *f);

/* ---- one sandbox (local.c, open.c) */
enum interp__local_stage { LOCAL_BOOT, LOCAL_FALL, LOCAL_OPEN };   /* FALL: what was tried is on its way out, then comes a weaker level */
struct interp__local_box {
    struct interp__local *s;
    const interp_host_ops *h;
    interp_link *l;
    enum interp__local_stage stage;
    int stream, pidfd;
    int gone;                          /* reaped, and nothing of it is left */
    int dead;                          /* reaped */
    int level;                         /* INTERP_ISOLATION_*; 0: with namespaces */
    uint64_t kill_at;                  /* bare: the agent has been asked to end, and is killed then; 0: not asked */
    int life;                          /* bare: at its end nothing of the sandbox is left (boot.h); -1: none */
    int falling;                       /* to try: INTERP_ISOLATION_LANDLOCK, PROCESS */
    struct interp__local_base base;
    struct interp__local_plan *plan;   /* to try again with, until it stands */
    int killing, closing, failed;
    int eof;                           /* the stream has ended */
    int unread;                        /* READABLE was told and no read has said AGAIN since */
    uint32_t mask;                     /* what the core watches the stream for */
    uint32_t id;                       /* first of the pair, 0 = own id */
    struct interp__local_group group;
    unsigned rmdir_tries;
    int unwatched;                     /* no event tells of its end: there was no memory for the watch */
    unsigned char *message;            /* boot message still to send */
    size_t message_size, message_len, message_at;
    struct boot_answer answer;
    size_t answer_have;
    struct interp__local_shares *shares;   /* NULL: none */
    char cpu[16], memory[16], pids[16], unenforced[160];   /* for the report */
};
struct interp__local_plan { struct boot boot; interp_spec spec; };   /* of the spec no texts */
/* Starts at a weaker level, in the same box. */
int interp__local_box_bare(struct interp__local_box *b, int level, struct interp__local_failure *f);
/* The next weaker level that the host accepts after such a failure, 0: none. */
int interp__local_box_weaker(const struct interp__local_box *b, const struct interp__local_failure *f);
int interp__local_box_start(struct interp__local_box *b, const interp_spec *spec, struct interp__local_failure *f);
/* Goes on with the boot: 0 when it is not over, 1 when the sandbox stands, -1 with f. */
int interp__local_box_boot(struct interp__local_box *b, struct interp__local_failure *f);
void interp__local_box_report(struct interp__local_box *b);
#endif
