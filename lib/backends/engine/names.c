/* names.c - addresses of engines' hosts. Looking a name up blocks, so it is done when a config names the engine, never in an open, which may be on a loop. What was found is kept
   until an engine does not answer there; then the next config looks again, and should it find nothing, the old addresses stay. */
#include "engine_priv.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static struct interp__engine_name *find(struct interp__engine *s, const char *host)
{
    struct interp__engine_name *n = s->names;
    while (n && strcmp(n->host, host) != 0)
        n = n->next;
    return n;
}

static int is_address(const char *host)
{
    struct in6_addr junk;
    return inet_pton(AF_INET, host, &junk) == 1 || inet_pton(AF_INET6, host, &junk) == 1;
}

/* All of them, a comma between: "localhost" is ::1 first, where few engines listen. getaddrinfo's number for what went wrong, or 0. */
static int look_up(const char *host, char *out, size_t n)
{
    struct addrinfo hint = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    char address[64];
    size_t at = 0;
    int r = getaddrinfo(host, NULL, &hint, &found);
    for (struct addrinfo *i = r ? NULL : found; i && at + sizeof address + 4 < n; i = i->ai_next)
        if (!getnameinfo(i->ai_addr, i->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST))
            at += (size_t)snprintf(out + at, n - at, strchr(address, ':') ? "%s[%s]" : "%s%s", at ? "," : "", address);
    if (!r)
        freeaddrinfo(found);
    return r ? r : at ? 0 : EAI_NONAME;
}

void interp__name_prepare(struct interp__engine *s, const struct interp__endpoint *e)
{
    char addresses[sizeof ((struct interp__engine_name *)0)->addresses] = "";
    if (!e->tcp || is_address(e->host))
        return;
    pthread_mutex_lock(&s->lock);
    struct interp__engine_name *n = find(s, e->host);
    int known = n && !n->stale;
    pthread_mutex_unlock(&s->lock);
    if (known)
        return;
    int wrong = look_up(e->host, addresses, sizeof addresses);
    pthread_mutex_lock(&s->lock);
    if (!(n = find(s, e->host)) && (n = interp__alloc(&s->mem, sizeof *n))) {
        memcpy(n->host, e->host, sizeof n->host);
        n->next = s->names;
        s->names = n;
    }
    if (n) {                            /* without memory it stays unknown, and open says so */
        n->wrong = wrong;
        n->stale = wrong != 0;
        if (!wrong)
            memcpy(n->addresses, addresses, sizeof n->addresses);
    }
    pthread_mutex_unlock(&s->lock);
}

int interp__name_use(struct interp__engine *s, struct interp__endpoint *e, struct interp__engine_failure *f)
{
    int wrong = EAI_AGAIN;
    if (!e->tcp || is_address(e->host))
        return 0;
    pthread_mutex_lock(&s->lock);
    const struct interp__engine_name *n = find(s, e->host);
    if (n && *n->addresses)
        snprintf(e->resolve, sizeof e->resolve, "%s:%s:%s", e->host, e->port, n->addresses);
    else if (n)
        wrong = n->wrong;
    pthread_mutex_unlock(&s->lock);
    return *e->resolve ? 0 : interp__engine_fail(f, INTERP_E_BACKEND, "engine-host", 0, "check the name, or give an address; a config that names the engine anew looks it up again",
                                                 "the engine's host \"%s\" is not known: %s", e->host, gai_strerror(wrong));
}

void interp__name_doubt(struct interp__engine *s, const struct interp__endpoint *e)
{
    pthread_mutex_lock(&s->lock);
    struct interp__engine_name *n = find(s, e->host);
    if (n)
        n->stale = 1;
    pthread_mutex_unlock(&s->lock);
}
