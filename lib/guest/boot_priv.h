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
void lock_agent_check(void);
#ifdef INTERP_TESTING
extern int boot_keep_stdio;                  /* test agents show their command's output */
#endif
#endif
