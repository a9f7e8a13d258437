/* names.c - addresses of engines' hosts. Looking a name up blocks, so it is done when a config names the engine; what was found is kept until a connection fails. */
#include "engine_priv.h"
#include <string.h>

static struct interp__engine_name *find(struct interp__engine *s, const struct interp__endpoint *e)
{
    struct interp__engine_name *n = s->names;
    while (n && (strcmp(n->host, e->host) || strcmp(n->port, e->port)))
        n = n->next;
    return n;
}

int interp__name_look_up(struct interp__engine *s, struct interp__endpoint *e, struct interp__engine_failure *f)
{
    pthread_mutex_lock(&s->lock);
    struct interp__engine_name *n = e->tcp ? find(s, e) : NULL;
    if (n)
        memcpy(e->resolve, n->resolve, sizeof e->resolve);
    pthread_mutex_unlock(&s->lock);
    if (!e->tcp || *e->resolve)
        return 0;
    if (interp__endpoint_look_up(e, f))
        return -1;
    if (!*e->resolve)                   /* an address */
        return 0;
    pthread_mutex_lock(&s->lock);
    if (!(n = find(s, e)) && (n = interp__alloc(&s->mem, sizeof *n))) {
        memcpy(n->host, e->host, sizeof n->host);
        memcpy(n->port, e->port, sizeof n->port);
        n->next = s->names;
        s->names = n;
    }
    if (n)                              /* without memory the next open looks again */
        memcpy(n->resolve, e->resolve, sizeof n->resolve);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void interp__name_forget(struct interp__engine *s, const struct interp__endpoint *e)
{
    pthread_mutex_lock(&s->lock);
    struct interp__engine_name *n = find(s, e);
    if (n)
        n->resolve[0] = 0;
    pthread_mutex_unlock(&s->lock);
}
