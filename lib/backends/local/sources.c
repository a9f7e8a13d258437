/* sources.c - which of the host's files every sandbox sees, read-only: the system below /usr, top-level links as they are here (merged /usr or not), and
   an allow-list of run-time folders of /etc. What a config adds is in shares.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "local_priv.h"

static const char *const top[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };
static const char *const stores[] = { "/nix/store", "/gnu/store" };
/* What interpreters and compilers read; the rest of /etc speaks of the host. Debian's JVM fails without /etc/java-*. */
static const char *const etc[] = { "alternatives", "crypto-policies", "fonts", "ld.so.cache", "localtime", "matplotlibrc", "mime.types", "os-release", "protocols", "services",
                                   "timezone" };
/* Certificates without what stands beside them: private keys of the host, which its user may be allowed to read. */
static const char *const etc_inner[] = { "pki/ca-trust", "pki/java", "pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf", "ssl/cert.pem", "ssl/certs", "ssl/ct_log_list.cnf", "ssl/openssl.cnf" };
static const char *const etc_prefix[] = { "R", "java", "php" };

static int add(struct boot *b, const char *path, uint32_t optional)
{
    struct boot_source *s;
    if (b->nsources == BOOT_SOURCES - LOCAL_SHARES || strlen(path) >= BOOT_PATH)
        return -1;
    s = &b->source[b->nsources++];
    memset(s, 0, sizeof *s);
    memcpy(s->host, path, strlen(path));
    memcpy(s->guest, path, strlen(path));
    s->optional = optional;
    return 0;
}

static void add_top(struct boot *b, const char *name)
{
    char path[32];
    struct stat st;
    struct boot_link *k = &b->link[b->nlinks];
    ssize_t n;
    snprintf(path, sizeof path, "/%s", name);
    if (lstat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode))
        (void)add(b, path, 1);
    else if (S_ISLNK(st.st_mode) && b->nlinks < sizeof b->link / sizeof *b->link) {
        memset(k, 0, sizeof *k);
        n = readlink(path, k->target, sizeof k->target - 1);
        if (n <= 0 || n >= (ssize_t)sizeof k->target - 1)
            return;
        memcpy(k->name, name, strlen(name));
        b->nlinks++;
    }
}

static int wanted(const char *name)
{
    size_t i;
    for (i = 0; i < sizeof etc / sizeof *etc; i++)
        if (!strcmp(name, etc[i]))
            return 1;
    for (i = 0; i < sizeof etc_prefix / sizeof *etc_prefix; i++) {
        size_t n = strlen(etc_prefix[i]);
        if (!strncmp(name, etc_prefix[i], n) && (name[n] == 0 || name[n] == '-' || (name[n] >= '0' && name[n] <= '9')))
            return 1;
    }
    return 0;
}

void interp__local_sources_default(struct boot *b)
{
    char path[300];
    struct dirent *e;
    struct stat st;
    size_t i;
    DIR *d;
    b->nsources = b->nlinks = 0;
    (void)add(b, "/usr", 0);
    for (i = 0; i < sizeof top / sizeof *top; i++)
        add_top(b, top[i]);
    for (i = 0; i < sizeof stores / sizeof *stores; i++)
        if (stat(stores[i], &st) == 0 && S_ISDIR(st.st_mode))
            (void)add(b, stores[i], 1);
    if (!(d = opendir("/etc")))
        return;
    while ((e = readdir(d)))
        if (wanted(e->d_name)) {
            snprintf(path, sizeof path, "/etc/%s", e->d_name);
            (void)add(b, path, 1);
        }
    closedir(d);
    for (i = 0; i < sizeof etc_inner / sizeof *etc_inner; i++) {
        snprintf(path, sizeof path, "/etc/%s", etc_inner[i]);
        if (lstat(path, &st) == 0)
            (void)add(b, path, 1);
    }
}

int interp__local_sources_have(const struct boot *b, const char *path)
{
    uint32_t i;
    for (i = 0; i < b->nsources; i++) {
        size_t n = strlen(b->source[i].guest);
        if (!b->source[i].share && !strncmp(path, b->source[i].guest, n) && (path[n] == '/' || path[n] == 0))
            return 1;
    }
    for (i = 0; i < b->nlinks; i++) {
        size_t n = strlen(b->link[i].name);
        if (path[0] == '/' && !strncmp(path + 1, b->link[i].name, n) && path[n + 1] == '/')
            return 1;
    }
    return 0;
}
