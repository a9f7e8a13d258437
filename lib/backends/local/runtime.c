/* runtime.c - software of the host at the same path inside: a directory of it, or all that an interpreter needs.

   Interpreters find their library by where they are, so theirs must be where it is on the host. What is shown is the prefix of the real program (the directory above
   its `bin`), for a virtual environment that too, the links by which it names its base, and the library directories that the program names. A whole home is never shown. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/json.h"
#include "local_priv.h"

static int is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

/* Cuts the last component off; 0 when that leaves nothing but "/". */
static int up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    *slash = 0;
    return 1;
}

/* "/", a home or a directory with homes in it: more than anybody means by an interpreter. */
static int too_broad(const char *dir)
{
    const char *env = getenv("HOME");
    char buf[4096], home[PATH_MAX];
    struct passwd pw, *found = 0;
    size_t depth = 0;
    for (const char *p = dir; *p; p++)
        depth += *p == '/' && p[1];
    if (!depth || !strcmp(dir, "/home") || !strcmp(dir, "/root") || (is_below(dir, "/home") && depth == 2))
        return 1;
    if (env && *env == '/' && realpath(env, home) && strcmp(home, "/") != 0 && is_below(home, dir))
        return 1;
    return getpwuid_r(geteuid(), &pw, buf, sizeof buf, &found) == 0 && found && realpath(found->pw_dir, home) && strcmp(home, "/") != 0 && is_below(home, dir);
}

static int usable_name(const char *path)
{
    size_t n = strlen(path), i;
    for (i = 0; i < n; i++)
        if ((unsigned char)path[i] < 0x20 || path[i] == 0x7F)
            return 0;
    return n && n < BOOT_PATH && interp__utf8_valid(path, n) == n;
}

static int fail_path(struct interp__local_failure *f, int err, const char *what, const char *path)
{
    char dir[BOOT_PATH];
    if (err == EACCES || err == EPERM) {
        interp__local_closed_directory(path, dir);
        return interp__local_failed(f, INTERP_E_DENIED, "runtime-closed", err, "Copy the software to a place that this user can read, such as /opt, or open that directory to this user.",
                                    "The %s %s can't be reached: %s is closed to this user (uid %u).", what, path, dir, (unsigned)geteuid());
    }
    return interp__local_failed(f, INTERP_E_NOT_FOUND, "runtime-missing", err, "Name a path that is there; it may have been moved or removed.", "The %s %s is not there: %s.", what, path, strerror(err));
}

/* Shown already, or part of every sandbox. */
static int have(const struct interp__local_shares *s, const struct boot *m, const char *real, const char *path)
{
    unsigned i;
    if (interp__local_sources_have(m, path))
        return 1;
    for (i = 0; i < s->n; i++)
        if (s->share[i].flags & INTERP_MOUNT_RUNTIME && is_below(path, s->share[i].target) && is_below(real, m->source[s->first + i].host) &&
            !strcmp(path + strlen(s->share[i].target), real + strlen(m->source[s->first + i].host)))
            return 1;
    return 0;
}

static int share_at(struct interp__local_shares *s, struct boot *m, const char *real, const char *path, uint32_t id, struct interp__local_failure *f)
{
    return have(s, m, real, path) ? 0 : interp__local_share_add(s, m, real, path, INTERP_MOUNT_RUNTIME, id, f);
}

int interp__local_share_runtime(struct interp__local_shares *s, struct boot *m, const char *path, uint32_t id, struct interp__local_failure *f)
{
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(path, real))
        return fail_path(f, errno, "runtime", path);
    if (stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
        return interp__local_failed(f, INTERP_E_INVAL, "runtime-missing", ENOTDIR, "Name a directory.", "The runtime %s is no directory.", path);
    if (!usable_name(real))
        return interp__local_failed(f, INTERP_E_INVAL, "mount-path", 0, "", "The runtime %s is really at a path that is too long, or no text.", path);
    if (too_broad(real) || too_broad(path))
        return -2;
    return share_at(s, m, real, path, id, f) < 0 || (strcmp(real, path) != 0 && share_at(s, m, real, real, id, f) < 0) ? -1 : 0;
}

/* ---- what an ELF program says about its libraries */

static int at_offset(int fd, void *to, size_t n, uint64_t offset)
{
    return offset < (UINT64_C(1) << 40) && pread(fd, to, n, (off_t)offset) == (ssize_t)n ? 0 : -1;
}

/* RUNPATH or RPATH of a 64-bit program in out; "" when it has none, or is nothing of the kind. */
static void library_path(int fd, char *out, size_t cap)
{
    Elf64_Ehdr e;
    Elf64_Phdr p[64];
    Elf64_Dyn d;
    uint64_t at = 0, size = 0, strings = 0, path = 0, offset = 0;
    unsigned i, n;
    ssize_t got;
    out[0] = 0;
    if (at_offset(fd, &e, sizeof e, 0) < 0 || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof *p)
        return;
    n = e.e_phnum < 64 ? e.e_phnum : 64;
    if (!n || at_offset(fd, p, n * sizeof *p, e.e_phoff) < 0)
        return;
    for (i = 0; i < n; i++)
        if (p[i].p_type == PT_DYNAMIC)
            at = p[i].p_offset, size = p[i].p_filesz;
    for (i = 0; i < 512 && (i + 1) * sizeof d <= size && at_offset(fd, &d, sizeof d, at + i * sizeof d) == 0 && d.d_tag != DT_NULL; i++) {
        if (d.d_tag == DT_STRTAB)
            strings = d.d_un.d_ptr;
        else if (d.d_tag == DT_RUNPATH || (d.d_tag == DT_RPATH && !path))
            path = d.d_un.d_val;
    }
    if (!strings || !path)
        return;
    for (i = 0; i < n; i++)
        if (p[i].p_type == PT_LOAD && strings >= p[i].p_vaddr && strings - p[i].p_vaddr < p[i].p_filesz)
            offset = p[i].p_offset + (strings - p[i].p_vaddr);
    if (!offset || path > (1u << 24))
        return;
    got = pread(fd, out, cap - 1, (off_t)(offset + path));
    out[got > 0 ? got : 0] = 0;
    if (strlen(out) == cap - 1)
        out[0] = 0;            /* cut: part of a path would be another one */
}

/* Directories of libraries outside of what is shown already. One that is not there, or that would show too much, is left out: the program may do without. */
static int share_libraries(struct interp__local_shares *s, struct boot *m, const char *program, uint32_t id, struct interp__local_failure *f)
{
    char list[2048], dir[PATH_MAX + 2048], *p, *save = 0;
    struct interp__local_failure ignored;
    int fd = open(program, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return 0;
    library_path(fd, list, sizeof list);
    close(fd);
    for (p = strtok_r(list, ":", &save); p; p = strtok_r(0, ":", &save)) {
        size_t origin = !strncmp(p, "$ORIGIN", 7) ? 7 : !strncmp(p, "${ORIGIN}", 9) ? 9 : 0;
        char real[PATH_MAX];
        if (origin) {
            snprintf(dir, sizeof dir, "%s", program);
            if (up(dir))
                snprintf(dir + strlen(dir), sizeof dir - strlen(dir), "%s", p + origin);
        } else
            snprintf(dir, sizeof dir, "%s", p);
        /* the path as it stands is what the loader opens */
        if (dir[0] != '/' || !realpath(dir, real) || strchr(dir, '$') || !usable_name(real))
            continue;
        if (strstr(dir, "/../") || strstr(dir, "//") || strlen(dir) >= BOOT_PATH || !usable_name(dir))
            snprintf(dir, sizeof dir, "%s", real);
        if (interp__local_share_runtime(s, m, dir, id, &ignored) == -1 && ignored.code == INTERP_E_LIMIT) {
            *f = ignored;
            return -1;
        }
    }
    return 0;
}

/* ---- interpreters */

static void without_bin(char *dir)
{
    char *last = strrchr(dir, '/');
    if (last && !strcmp(last, "/bin"))
        (void)up(dir);
}

/* The directory that a program's files are in: above `bin`, else its own. */
static void prefix_of(const char *program, char *out, size_t cap)
{
    snprintf(out, cap, "%s", program);
    if (up(out))
        without_bin(out);
}

static int share_prefix(struct interp__local_shares *s, struct boot *m, const char *program, const char *named, uint32_t id, struct interp__local_failure *f)
{
    char prefix[PATH_MAX];
    prefix_of(program, prefix, sizeof prefix);
    int r = interp__local_share_runtime(s, m, prefix, id, f);
    return r != -2 ? r : interp__local_failed(f, INTERP_E_INVAL, "runtime-broad", 0, "Install it in a directory of its own, such as /opt/python, and name that.",
                                              "The interpreter %s would need %s inside, which is a whole home, or more.", named, prefix);
}

/* `home = DIR` of a virtual environment's pyvenv.cfg. */
static int venv_home(const char *dir, char *home, size_t cap)
{
    char path[PATH_MAX + 16], text[4096], *p, *end;
    snprintf(path, sizeof path, "%s/pyvenv.cfg", dir);
    if (interp__local_read(AT_FDCWD, path, text, sizeof text) < 0)
        return -1;
    home[0] = 0;
    for (p = text; p; p = end ? end + 1 : 0) {
        end = strchr(p, '\n');
        if (end)
            *end = 0;
        if (strncmp(p, "home", 4) != 0)
            continue;
        p += 4 + strspn(p + 4, " \t");
        if (*p != '=')
            continue;
        p += 1 + strspn(p + 1, " \t");
        p[strcspn(p, "\r")] = 0;
        snprintf(home, cap, "%s", p);
    }
    return 0;
}

/* Each link on the way from a virtual environment's program to the real one must be there inside: the program itself stands in for it. */
static int share_links(struct interp__local_shares *s, struct boot *m, const char *path, const char *real, uint32_t id, struct interp__local_failure *f)
{
    char at[PATH_MAX], target[PATH_MAX];
    struct stat st;
    unsigned hops;
    snprintf(at, sizeof at, "%s", path);
    for (hops = 0; hops < 16 && lstat(at, &st) == 0 && S_ISLNK(st.st_mode); hops++) {
        ssize_t n = readlink(at, target, sizeof target - 1);
        if (n <= 0)
            break;
        target[n] = 0;
        if (target[0] != '/') {
            if (!up(at) || strlen(at) + (size_t)n + 2 > sizeof at)
                break;
            strcat(strcat(at, "/"), target);
        } else
            memcpy(at, target, (size_t)n + 1);
        if (strstr(at, "/../") || strstr(at, "/./") || strstr(at, "//") || !usable_name(at)) {
            if (!realpath(at, target))
                break;
            memcpy(at, target, strlen(target) + 1);
        }
        char dir[PATH_MAX];
        snprintf(dir, sizeof dir, "%s", at);
        char real_dir[PATH_MAX];
        if (!up(dir) || !realpath(dir, real_dir) || have(s, m, real_dir, dir))
            continue;          /* shown with what is around it */
        if (strcmp(at, real) != 0 && share_at(s, m, real, at, id, f) < 0)
            return -1;
    }
    return 0;
}

static int share_venv(struct interp__local_shares *s, struct boot *m, const char *dir, const char *home, const char *path, const char *real, uint32_t id,
                      struct interp__local_failure *f)
{
    char base[PATH_MAX];
    struct interp__local_failure ignored;
    int r = interp__local_share_runtime(s, m, dir, id, f);
    if (r == -2)
        r = interp__local_failed(f, INTERP_E_INVAL, "runtime-broad", 0, "Make the virtual environment in a directory of its own.", "The virtual environment %s is a whole home, or more.", dir);
    if (r < 0 || share_prefix(s, m, real, path, id, f) < 0)
        return -1;
    /* Python looks for its library next to what pyvenv.cfg names, by that name */
    if (home[0] == '/') {
        char lib[PATH_MAX + 8];
        snprintf(base, sizeof base, "%s", home);
        without_bin(base);
        snprintf(lib, sizeof lib, "%s/lib", base);
        if (strcmp(base, home) != 0 && access(lib, F_OK) == 0 && usable_name(base) && !strstr(base, "/.."))
            (void)interp__local_share_runtime(s, m, base, id, &ignored);
    }
    return share_links(s, m, path, real, id, f);
}

int interp__local_interpreter(struct interp__local_shares *s, struct boot *m, const char *language, const char *path, uint32_t id, char inside[BOOT_PATH], struct interp__local_failure *f)
{
    char real[PATH_MAX], dir[PATH_MAX], home[PATH_MAX], head[2];
    struct stat st;
    int fd, venv;
    if (!realpath(path, real) || stat(real, &st) < 0)
        return fail_path(f, errno, "interpreter", path);
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, real, X_OK, AT_EACCESS) < 0)
        return interp__local_failed(f, INTERP_E_INVAL, "interpreter", 0, "Name the program itself.", "The %s interpreter %s is no program that this user may run.", language, path);
    if (!usable_name(real))
        return interp__local_failed(f, INTERP_E_INVAL, "mount-path", 0, "", "The interpreter %s is really at a path that is too long, or no text.", path);
    fd = open(real, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) {
        ssize_t n = read(fd, head, 2);
        close(fd);
        if (n == 2 && head[0] == '#' && head[1] == '!')
            return interp__local_failed(f, INTERP_E_INVAL, "interpreter-script", 0, "Name the program that it starts (for pyenv: `pyenv which python` prints it).",
                                        "The %s interpreter %s is a script, such as the shims of a version manager.", language, path);
    }
    snprintf(dir, sizeof dir, "%s", path);
    venv = up(dir) && up(dir) && venv_home(dir, home, sizeof home) == 0;
    if (venv ? share_venv(s, m, dir, home, path, real, id, f) < 0 : !interp__local_sources_have(m, real) && share_prefix(s, m, real, path, id, f) < 0)
        return -1;
    if (!interp__local_sources_have(m, real) && share_libraries(s, m, real, id, f) < 0)
        return -1;
    /* outside of a virtual environment the real program is as good as any link to it; a link into the system stays (alternatives) */
    const char *at = venv || interp__local_sources_have(m, path) ? path : real;
    if (strlen(at) >= BOOT_PATH)
        return interp__local_failed(f, INTERP_E_INVAL, "mount-path", ENAMETOOLONG, "", "The interpreter %.100s... is at a path of more than %u bytes.", at, BOOT_PATH - 1);
    memcpy(inside, at, strlen(at) + 1);
    return 0;
}
