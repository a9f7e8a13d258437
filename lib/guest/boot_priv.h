/* boot_priv.h - shared by boot.c, root.c, lock.c. */
#ifndef INTERP_LIB_GUEST_BOOT_PRIV_H
#define INTERP_LIB_GUEST_BOOT_PRIV_H
#include "boot.h"
#include "guest.h"

#define USER_ID 1000u            /* of user code, inside */

struct boot_state {
    struct boot boot;
    struct boot_filter code[BOOT_FILTERS];
    struct boot_answer answer;   /* filled as we go */
    int stream;
};
extern struct boot_state boot_state;

/* Tells the host which step failed, and ends: a sandbox is whole or not there. */
_Noreturn void boot_die(uint32_t code, const char *step, long result);
static inline long boot_try(long result, uint32_t code, const char *step)
{
    if (result < 0)
        boot_die(code, step, result);
    return result;
}
/* Writes a text to an existing file; 0 or a negative error. */
long boot_write(const char *path, const char *text);

extern int root_fd;                          /* root.c: the new root, also the current directory until it is the root */
void boot_limits(void);                      /* boot.c: of the agent */
void boot_null_stdio(void);
void boot_answer_ok(struct boot_facts *f);
int  bare_run(struct boot_facts *f);         /* bare.c: instead of all that makes a root */
void bare_lock_kernel(void);
void root_build(void);
long root_overlay(int fd);                   /* a read-only overlay of a directory as a detached mount, or a negative error */
void root_attach(long mount, const char *guest);   /* at a place that is there; closes it */
void shares_open(void);                      /* shares.c: what a config shows of the host's files */
void shares_place(void);
int  shares_in_work(const char *guest);      /* is it in or below a place where user code may write anyway? */
void proc_mount(void);                       /* procfs.c: with sysctls and masks; the current directory is the new root */
/* lock.c */
void lock_capabilities(uint64_t keep);       /* bounding set empty, nothing ambient, uid 0 without meaning, all of that locked */
void lock_agent(void);
void lock_limits(void);                      /* of user code */
void lock_filters(void);
uint64_t lock_known_rights(uint32_t abi);
long lock_must(long r, const char *what);    /* in user code's process: a failure ends it with a line on its standard error */
enum {
    FS_EXECUTE = 1 << 0, FS_WRITE_FILE = 1 << 1, FS_READ_FILE = 1 << 2, FS_READ_DIR = 1 << 3, FS_MAKE_CHAR = 1 << 6, FS_MAKE_BLOCK = 1 << 11,
    FS_TRUNCATE = 1 << 14, FS_IOCTL_DEV = 1 << 15, SCOPE_ABSTRACT = 1, SCOPE_SIGNAL = 2
};
/* of the rights to a directory those that a file can have */
#define FILE_RIGHTS ((uint64_t)(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE))
void lock_agent_check(void);
#ifdef INTERP_TESTING
extern int boot_keep_stdio;                  /* test agents show their command's output */
#endif
#endif
