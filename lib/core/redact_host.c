/* redact_host.c - the names of the host that redact_host registers: who runs the program, where that one's home is, what the machine is called. From the environment,
   the password file and the kernel; never through the system's name service, which may wait for a network. */
#include "core.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { SHORTEST = 4, PASSWD_MAX = 1 << 20 };

/* Words that are no one's own, and stand in ordinary output. */
static int is_ordinary(const char *p)
{
    static const char *const words[] = { "root", "user", "runner", "admin", "administrator", "ubuntu", "debian", "fedora", "alpine", "home", "/home", "/root", "localhost", "docker",
                                         "podman", "nobody", "daemon", "test", "node", "python", "code", "coder", "vscode", "jenkins", "gitlab", "github", "agent", "worker", "build",
                                         "builder", "guest", "host", "server", "service", "workspace", "sandbox", "container", "/workspace", "www-data", "localdomain", "default", "none" };
    if (strlen(p) < SHORTEST)
        return 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(p, words[i]))
            return 1;
    return 0;
}

/* A long name is a value, found in its encodings; a short one is looked for as a word. */
static interp_status look_for(struct interp__redact_set *set, const struct interp__mem *m, const char *name, const char *p, interp_error **err)
{
    size_t n = p ? strlen(p) : 0;
    if (!n || n > 1024 || is_ordinary(p))
        return INTERP_OK;
    if (n >= INTERP__REDACT_VALUE_MIN) {
        interp_error *why = NULL;
        interp_status st = interp__redact_set_value(set, name, p, n, &why);
        int common = st == INTERP_E_INVAL;   /* as good as an ordinary word */
        if (st && !common && err)
            *err = why;
        else
            interp_error_free(why);
        return common ? INTERP_OK : st;
    }
    if (!interp__redact_has_patterns())
        return interp__fail(m, err, INTERP_E_UNSUPPORTED, "redact-host", "redact_host has to look for the word \"%s\" (%s), which this build can't: it is without PCRE2", p, name);
    struct interp__buf b;
    interp__buf_init(&b, m);
    interp__buf_str(&b, "(?<![0-9A-Za-z])");
    for (; *p; p++) {
        int plain = (*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z') || *p & (char)0x80;
        interp__buf_add(&b, "\\", !plain);
        interp__buf_add(&b, p, 1);
    }
    interp__buf_str(&b, "(?![0-9A-Za-z])");
    interp_status st = b.bad ? interp__nomem(err) : interp__redact_set_pattern(set, name, (char *)b.p, b.len, err);
    interp__buf_free(&b);
    return st;
}

/* The line of our own user: its name and home. */
static void from_passwd(const struct interp__mem *m, char name[256], char home[1024])
{
    *name = *home = 0;
    int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *text = fd < 0 ? NULL : interp__resize(m, NULL, PASSWD_MAX + 1);
    size_t n = 0;
    for (ssize_t k; text && n < PASSWD_MAX && (k = read(fd, text + n, PASSWD_MAX - n)) > 0;)
        n += (size_t)k;
    if (fd >= 0)
        close(fd);
    if (!text)
        return;
    text[n] = 0;
    char id[24];
    snprintf(id, sizeof id, "%lu", (unsigned long)geteuid());
    for (char *line = text, *end; *line; line = end) {
        end = strchrnul(line, '\n');
        if (*end)
            *end++ = 0;
        char *field[6] = { line };   /* name:password:uid:gid:words:home:shell */
        int k = 1;
        for (char *c = line; (c = strchr(c, ':')) && k < 6; k++) {
            *c++ = 0;
            field[k] = c;
        }
        if (k < 6 || strcmp(field[2], id))
            continue;
        snprintf(name, 256, "%s", field[0]);
        snprintf(home, 1024, "%.*s", (int)strcspn(field[5], ":"), field[5]);
        break;
    }
    interp__free(m, text);
}

interp_status interp__redact_host(struct interp__redact_set *set, const struct interp__mem *m, interp_error **err)
{
    char name[256], home[1024], machine[256] = "";
    from_passwd(m, name, home);
    if (gethostname(machine, sizeof machine - 1))
        *machine = 0;
    const char *homes[] = { home, getenv("HOME") }, *users[] = { name, getenv("USER"), getenv("LOGNAME") };
    interp_status st = look_for(set, m, "host-name", machine, err);
    for (size_t i = 0; i < 2 && !st; i++)
        if (!i || (homes[i] && strcmp(homes[i], homes[0]) != 0))
            st = look_for(set, m, "host-home", homes[i], err);
    for (size_t i = 0; i < 3 && !st; i++)
        if (users[i] && (!i || strcmp(users[i], users[0]) != 0) && (i < 2 || !users[1] || strcmp(users[2], users[1]) != 0))
            st = look_for(set, m, "host-user", users[i], err);
    return st;
}
