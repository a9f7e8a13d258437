/* files.c - the agent's private directory, searchable but not readable for the user: c/ has the code files, p/ the FIFOs, both under names that
   nobody can guess, and s/ a directory per kernel, in which the user may write. The three are apart so that user code that fills s/ (in local mode
   a file system of its own) does not take the place of the next exec's code; of c/ and p/ it can change nothing (lock.c has the Landlock rules).
   With two ids the agent works with the user's file-system id (so that what it makes belongs to the user) and its own group, which may write there. */
#include "guest.h"

static const char parts[] = "cps";

static void part(char *d, size_t cap, char which)
{
    size_t n = str_put(d, cap, 0, A.run);
    const char s[3] = { '/', which, 0 };
    str_put(d, cap, n, s);
}

int files_init(void)
{
    char t[40], path[112];
    random_hex(t, 12);
    size_t n;
    str_put(A.run, sizeof A.run, 0, A.facts.run_dir ? A.facts.run_dir : RUN_DIR);
    sc1(NR_umask, 0);
    if (!A.facts.local) {
        long r = sys_mkdir(A.run, 0711);
        if (r < 0) { /* a read-only root, or somebody else's */
            n = str_put(A.run, sizeof A.run, 0, "/tmp/.interp-");
            str_put(A.run, sizeof A.run, n, t);
            r = sys_mkdir(A.run, 0711);
        }
        if (r < 0)
            return (int)r;
        A.run_made = 1;
    }
    for (const char *c = parts; *c; c++) {
        part(path, sizeof path, *c);
        long r = sys_mkdir(path, 0711);
        if (r == 0 || r == -E_EXIST)           /* root.c made those that lock.c has rules for. gid: ours; the user is in no group of ours */
            r = sys_chmod(path, A.facts.two_ids ? 0731 : 0711);
        if (r < 0)
            return (int)r;
    }
    return 0;
}

void files_done(void)
{
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++) {
        files_remove(&k->x, 1);
        if (!A.facts.local)
            files_drop_dir(k);
    }
    if (!A.run_made)
        return;
    sc1(NR_setfsuid, (long)sc0(NR_geteuid));   /* the directories are ours, and our group may not write in the one above them */
    for (const char *c = parts; *c; c++) {
        char path[112];
        part(path, sizeof path, *c);
        sys_rmdir(path);
    }
    sys_rmdir(A.run);
}

static void fresh_name(char *d, size_t cap, char which)
{
    char t[40];
    random_hex(t, 16);
    part(d, cap, which);
    size_t n = str_put(d, cap, strlen(d), "/");
    str_put(d, cap, n, t);
}

/* prefix is that of an exec's FIFOs; its code file has the same name in c/. */
static void name_of(char *d, size_t cap, const char *prefix, char c)
{
    size_t n = str_put(d, cap, 0, prefix);
    const char s[2] = { c, 0 };
    str_put(d, cap, n, s);
    if (c == 'c')
        d[strlen(A.run) + 1] = c;
}

int files_streams(struct kernel *k)
{
    struct exec *x = &k->x;
    char path[112];
    if (!x->files[0])
        fresh_name(x->files, sizeof x->files, 'p');
    for (int i = x->flags & WIRE_EXEC_STDIN ? 0 : 1; i < 3; i++) {
        name_of(path, sizeof path, x->files, (char)('0' + i));
        if (i == 2 && x->flags & WIRE_EXEC_MERGE) {   /* one pipe by two names */
            char one[112];
            name_of(one, sizeof one, x->files, '1');
            long l = sys_symlinkat(one, AT_FDCWD, path);
            if (l < 0)
                return (int)l;
            x->made |= 4;
            break;
        }
        long r = sys_mkfifo(path, 0600 | (A.facts.two_ids ? 0 : 0066));
        if (r < 0)
            return (int)r;
        x->made |= (uint8_t)(1 << i);
        /* our end of stdin is read-write: opening it waits for nobody, and what we write before the reader comes is kept */
        int fd = (int)sys_open(path, (i ? O_RDONLY : O_RDWR) | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return fd;
        if (!i) {
            x->in_fd = fd;
            continue;
        }
        int p = pipe_adopt(fd, PIPE_EXEC);
        if (p < 0) {
            sys_close(fd);
            return p;
        }
        pipes[p].fifo = 1;
        x->out[i - 1] = p;
    }
    return 0;
}

int files_terminal(struct kernel *k, const char *device)
{
    struct exec *x = &k->x;
    char path[112];
    if (!x->files[0])
        fresh_name(x->files, sizeof x->files, 'p');
    for (int i = 0; i < 3; i++) {
        name_of(path, sizeof path, x->files, (char)('0' + i));
        long r = sys_symlinkat(device, AT_FDCWD, path);
        if (r < 0)
            return (int)r;
        x->made |= (uint8_t)(1 << i);
    }
    return 0;
}

int files_code(struct kernel *k)
{
    struct exec *x = &k->x;
    char path[112];
    if (!x->files[0])
        fresh_name(x->files, sizeof x->files, 'p');
    name_of(path, sizeof path, x->files, 'c');
    /* ours, not the user's: it could append to its code, keep it open, and so leave no room for what others are to run */
    if (A.facts.two_ids)
        sc1(NR_setfsuid, (long)sc0(NR_geteuid));
    x->code_fd = (int)sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (A.facts.two_ids)
        sc1(NR_setfsuid, (long)A.facts.user_uid);
    if (x->code_fd < 0)
        return x->code_fd;
    x->made |= 8;
    return 0;
}

/* all: at the end of the exec; else the names of its output only (stdin's is for files_nudge). */
void files_remove(struct exec *x, int all)
{
    char path[112];
    for (int i = 0; i < 4; i++)
        if (x->made >> i & 1 && (all || i == 1 || i == 2)) {
            name_of(path, sizeof path, x->files, i < 3 ? (char)('0' + i) : 'c');
            sys_unlink(path);
            x->made &= (uint8_t)~(1 << i);
        }
    if (!x->made && all)
        x->files[0] = 0;
}

/* Who opens /dev/stdin anew after its end was written would wait for another writer, for good: be one for a moment. A pipe does not do that,
   but one can't be opened by path. */
void files_nudge(const struct exec *x)
{
    char path[112];
    name_of(path, sizeof path, x->files, '0');
    int fd = (int)sys_open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        sys_close(fd);
}

int files_kernel_dir(struct kernel *k)
{
    if (k->dir[0])
        return 0;
    fresh_name(k->dir, sizeof k->dir, 's');
    long r = sys_mkdir(k->dir, 0700);
    if (r < 0)
        k->dir[0] = 0;
    return (int)r;
}

static void in_dir(const struct kernel *k, char *d, size_t cap, const char *name)
{
    size_t n = str_put(d, cap, 0, k->dir);
    str_put(d, cap, n, name);
}

int files_has_state(const struct kernel *k)
{
    struct statx_k s;
    char path[112];
    in_dir(k, path, sizeof path, "/state");
    return k->dir[0] && sys_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &s) == 0 && (s.mode & S_IFMT) == S_IFREG;
}

/* The shell said in its EXIT trap that the save is of its very end. Taken once: the next shell starts without it. */
int files_take_ended(const struct kernel *k)
{
    char path[112];
    in_dir(k, path, sizeof path, "/ended");
    return k->dir[0] && sys_unlink(path) == 0;
}

void files_drop_dir(struct kernel *k)
{
    static _Alignas(8) char b[4096];
    if (!k->dir[0])
        return;
    int fd = (int)sys_open(k->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int more = 128; /* bounded: a process of another kernel may go on making files there */
    for (long r; fd >= 0 && more-- && (r = sc3(NR_getdents64, fd, PTR(b), sizeof b)) > 0;)
        for (long at = 0; at < r;) {
            struct dirent_k *d = (struct dirent_k *)(void *)(b + at);
            at += d->reclen;
            sc3(NR_unlinkat, fd, PTR(d->name), 0);
        }
    if (fd >= 0)
        sys_close(fd);
    sys_rmdir(k->dir); /* directories that a user made in it keep it; its name is known to nobody any more */
    k->dir[0] = 0;
}

/* A template into the ring of what the shell reads. all: every placeholder; else only @D@ (the blob). */
int files_expand(struct kernel *k, const uint8_t *p, size_t n, int all)
{
    struct exec *x = &k->x;
    struct ring *r = &S.code[kernel_index(k)];
    char v[112];
    for (size_t i = 0; i < n;) {
        size_t run = i;
        const char *put = NULL;
        size_t len = 0;
        for (; run < n; run++) {
            if (p[run] != '@' || n - run < 3 || p[run + 2] != '@')
                continue;
            char c = (char)p[run + 1];
            if (c == 'D') {
                put = k->dir;
            } else if (all && c == 'F') {
                name_of(v, sizeof v, x->files, 'c');
                put = v;
            } else if (all && c >= '0' && c <= '2') {
                put = "/dev/null";
                if (c > '0' || x->flags & WIRE_EXEC_STDIN) {
                    name_of(v, sizeof v, x->files, c);
                    put = v;
                }
            } else if (all && c == 'T') {
                for (int b = 0; b < 4; b++) {
                    unsigned byte = x->token >> 8 * b & 255;
                    v[4 * b] = '\\';
                    for (int d = 0; d < 3; d++)
                        v[4 * b + 1 + d] = (char)('0' + (byte >> (6 - 3 * d) & 7));
                }
                v[16] = 0;
                put = v;
            } else if (all && c == 'E')
                put = (const char *)S.prefix[kernel_index(k)], len = x->prefix_len;
            if (put) {
                len = c == 'E' ? len : strlen(put);
                break;
            }
        }
        if (ring_put(r, p + i, run - i) < 0 || (put && ring_put(r, put, len) < 0))
            return -1;
        i = put ? run + 3 : run;
    }
    return 0;
}
