/* base.c - levels landlock and process: the directory that a sandbox without a root of its own works in, and its removal.

   It lies in the first place for temporary files that this process may use, holds workspace, home, tmp and run, and is locked for as long as its host lives, so that the
   next one can clear away what a killed one left. Removal is done in bounded pieces: nothing here may block, and what user code left may be wide or deep. Nothing of
   the sandbox runs any more by then, so what is looked at stays what it is. Depth is taken away by moving directories up before they are emptied. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "local_priv.h"

#define PREFIX "interp-box."
#define UNNAMED "interp-new."          /* until it is locked */
#define UNNAMED_MIN 60                 /* seconds: one that is younger may be about to be locked */
#define LONGEST 30u                    /* of the place: the names of FIFOs have to fit behind it */
#define PIECE 256u                     /* entries at a time */

static int make_in(int base, const char *name, mode_t mode, uint32_t owner)
{
    struct stat st;
    if (mkdirat(base, name, 0700) < 0 || (owner && fchownat(base, name, owner, owner, AT_SYMLINK_NOFOLLOW) < 0))
        return -1;
    return fchmodat(base, name, mode, 0) < 0 ? -1 : fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW);
}

/* A directory that user code has closed. Never what a link points to: where user code may still run, or its links can't be removed, that is a file of the host's. */
static void open_up(int dir, const char *name)
{
    char path[32];
    int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)chmod(path, 0700);
    close(fd);
}

/* One piece of emptying a directory into nothing, or up into its parent. 0: empty, 1: there may be more, -1: it can't be. */
static int clear(int dir, int parent, unsigned *number, unsigned *left)
{
    struct dirent *e;
    char up[32];
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0, moved = 0;
    DIR *d = fd >= 0 ? fdopendir(fd) : 0;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (r == 0 && (e = readdir(d))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (!*left) {
            r = 1;
            break;
        }
        --*left;
        if (unlinkat(dir, e->d_name, 0) == 0 || unlinkat(dir, e->d_name, AT_REMOVEDIR) == 0)
            continue;
        open_up(dir, e->d_name);
        if (parent >= 0) {
            snprintf(up, sizeof up, "up%u", ++*number);
            if (renameat(dir, e->d_name, parent, up) < 0)
                r = errno == ENOTEMPTY || errno == EEXIST ? 1 : -1;   /* of a removal that was cut off: another name next time */
            moved++;
            continue;
        }
        int sub = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = sub < 0 ? -1 : clear(sub, dir, number, left);
        if (sub >= 0)
            close(sub);
        if (r == 0 && unlinkat(dir, e->d_name, AT_REMOVEDIR) < 0)
            r = -1;
        moved++;               /* the list may be another one now */
    }
    closedir(d);
    return r ? r : moved && parent < 0 ? 1 : 0;
}

int interp__local_base_remove(struct interp__local_base *b)
{
    unsigned left = PIECE;
    int r;
    if (b->fd < 0)
        return 0;
    r = clear(b->fd, -1, &b->number, &left);
    if (r == 1 && ++b->pieces < 100000)
        return 1;
    if (r == 0)
        (void)rmdir(b->path);
    interp__local_close(&b->fd);
    return 0;
}

static int begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

/* What hosts that are gone have left: ours, and locked by nobody. A directory has its name only once it is locked; before that it is as good as empty, and soon renamed. */
static void sweep(const char *place)
{
    struct dirent *e;
    struct stat st;
    time_t now = time(NULL);
    DIR *d = opendir(place);
    unsigned looked = 0, budget = 20;
    while (d && looked < 4096 && budget && (e = readdir(d))) {
        struct interp__local_base b = { .fd = -1 };
        looked++;
        int unnamed = begins(e->d_name, UNNAMED);
        if ((!unnamed && !begins(e->d_name, PREFIX)) || strlen(place) + strlen(e->d_name) + 2 > sizeof b.path)
            continue;
        memcpy(b.path, place, strlen(place) + 1);
        strcat(strcat(b.path, "/"), e->d_name);
        b.fd = open(b.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (b.fd >= 0 && fstat(b.fd, &st) == 0 && st.st_uid == geteuid() && (!unnamed || now - st.st_mtime > UNNAMED_MIN) && flock(b.fd, LOCK_EX | LOCK_NB) == 0)
            while (budget-- > 1 && interp__local_base_remove(&b))
                ;
        interp__local_close(&b.fd);
    }
    if (d)
        closedir(d);
}

int interp__local_base_make(struct interp__local_base *b, uint32_t user, int *swept, struct interp__local_failure *f)
{
    const char *places[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", getenv("XDG_RUNTIME_DIR"), "/dev/shm" };
    unsigned char r[8];
    char name[24];
    unsigned i, k, n = 0;
    int e = ENOENT;
    b->number = b->pieces = 0;
    if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
        return interp__local_failed(f, INTERP_E_IO, "random", errno, "", "No random numbers from the system.");
    for (i = 0; i < sizeof r; i++)
        n += (unsigned)snprintf(name + n, sizeof name - n, "%02x", r[i]);
    for (i = 0; i < sizeof places / sizeof *places; i++) {
        static const struct { const char *name; mode_t mode; } dir[] = { { "workspace", 0700 }, { "home", 0700 }, { "tmp", 0700 }, { "run", 0711 } };   /* closed to other users of the machine */
        if (!places[i] || places[i][0] != '/' || strlen(places[i]) > LONGEST)
            continue;
        if (!*swept)
            sweep(places[i]);
        char done[sizeof b->path];
        snprintf(done, sizeof done, "%s/" PREFIX "%s", places[i], name);
        snprintf(b->path, sizeof b->path, "%s/" UNNAMED "%s", places[i], name);
        if (mkdir(b->path, 0700) < 0) {
            e = errno;
            continue;
        }
        b->fd = open(b->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (b->fd < 0 || flock(b->fd, LOCK_EX | LOCK_NB) < 0 || fchmod(b->fd, user ? 0711 : 0700) < 0 || rename(b->path, done) < 0)
            e = errno;
        else {
            memcpy(b->path, done, sizeof done);
            for (k = 0; k < sizeof dir / sizeof *dir && make_in(b->fd, dir[k].name, dir[k].mode, k < 3 ? user : 0) == 0; k++)
                ;
            if (k == sizeof dir / sizeof *dir) {
                *swept = 1;
                return 0;
            }
            e = errno;
        }
        if (b->fd >= 0)
            (void)interp__local_base_remove(b);
        else
            (void)rmdir(b->path);
    }
    *swept = 1;
    return interp__local_failed(f, INTERP_E_ISOLATION, "workspace", e, "Let this process write to /tmp (in Docker: --tmpfs /tmp), or set TMPDIR to a short path that it can write.",
                                "There is no place for the sandbox's files: no directory can be made in TMPDIR, /tmp, /var/tmp or /dev/shm (%s).", strerror(e));
}
