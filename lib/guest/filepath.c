/* filepath.c - names that the host gives, to descriptors. A relative path is below the workspace and stays there, links included; an absolute one may reach
   what user code may reach. The kernel enforces it (openat2); where that call is missing or refused, no link is followed at all. */
#include "guest.h"

static int root, workspace, has_openat2;

static int open_how(int base, const char *path, int flags, uint64_t resolve)
{
    struct open_how_k h = { (uint64_t)(unsigned)flags, 0, resolve };
    long r;
    int tries = 0;
    do
        r = sys_openat2(base, path, &h);
    while ((r == -E_AGAIN && ++tries < 32) || r == -E_INTR);      /* AGAIN: something was renamed meanwhile */
    return (int)r;
}

void paths_init(void)
{
    root = (int)sys_open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    workspace = (int)sys_open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || workspace < 0)
        sys_exit(94);
    int fd = open_how(workspace, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    has_openat2 = fd >= 0;
    if (fd >= 0)
        sys_close(fd);
}

/* Without openat2: one component after the other, none of them a link. ".." only where the whole system may be reached. */
static int walk(int base, const char *path, int flags, int up)
{
    char part[256];
    int fd = base;
    for (;;) {
        size_t n = 0;
        while (*path == '/')
            path++;
        for (; path[n] && path[n] != '/'; n++)
            if (n < sizeof part - 1)
                part[n] = path[n];
        if (n >= sizeof part)
            n = 0, part[0] = 0;
        part[n] = 0;
        path += n;
        const char *rest = path;
        while (*rest == '/')
            rest++;
        long r = !part[0] ? -E_NAMETOOLONG : !up && str_eq(part, "..") ? -E_XDEV :
                 *rest ? sys_openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0) :
                         sys_openat(fd, part, flags | O_NOFOLLOW | (*path ? O_DIRECTORY : 0), 0);
        if (fd != base)
            sys_close(fd);
        if (r < 0 || !*rest)
            return (int)r;
        fd = (int)r;
    }
}

int path_open(const char *path, int flags)
{
    int up = *path == '/';
    while (*path == '/')
        path++;
    if (!*path)
        path = ".";
    flags |= O_CLOEXEC;
    if (!has_openat2)
        return walk(up ? root : workspace, path, flags, up);
    return open_how(up ? root : workspace, path, flags, (up ? 0 : RESOLVE_BENEATH) | RESOLVE_NO_MAGICLINKS);
}

static int make_parents(char *dir)
{
    int above = path_open(*dir == '/' ? "/" : ".", O_PATH | O_DIRECTORY);
    for (char *at = dir; above >= 0;) {
        while (*at == '/')
            at++;
        if (!*at)
            break;
        char *part = at;
        while (*at && *at != '/')
            at++;
        char kept = *at;
        *at = 0;
        int fd = path_open(dir, O_PATH | O_DIRECTORY);
        if (fd == -E_NOENT) {
            long r = sys_mkdirat(above, part, 0755);
            fd = r < 0 && r != -E_EXIST ? (int)r : path_open(dir, O_PATH | O_DIRECTORY);
        }
        *at = kept;
        sys_close(above);
        above = fd;
    }
    return above;
}

int path_parent(const char *path, int make, const char **name)
{
    static char text[WIRE_PATH_MAX + 1], dir[WIRE_PATH_MAX + 1];
    static int second;                /* rename has two names at a time */
    static char names[2][256];
    size_t n = str_put(text, sizeof text, 0, path);
    while (n && text[n - 1] == '/')
        text[--n] = 0;
    size_t at = n;
    while (at && text[at - 1] != '/')
        at--;
    char *last = names[second ^= 1];
    if (n - at >= sizeof names[0])
        return -E_NAMETOOLONG;
    str_put(last, sizeof names[0], 0, text + at);
    if (!*last || str_eq(last, ".") || str_eq(last, ".."))
        return -E_BUSY;
    *name = last;
    text[at] = 0;
    str_put(dir, sizeof dir, 0, at ? text : ".");
    int fd = path_open(dir, O_PATH | O_DIRECTORY);
    return fd == -E_NOENT && make ? make_parents(dir) : fd;
}
