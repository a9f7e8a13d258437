/* end.c - the end of a sandbox: the engine kills and removes the container in one call, and says so. Asked again until it is proven or the core gives up. */
#include "engine_priv.h"
#include <stdio.h>
#include <string.h>

static void ask(struct interp__box *b)
{
    char path[160];
    b->retry_at = INTERP__NEVER;
    b->end_tries++;
    snprintf(path, sizeof path, "%s/containers/%s?force=1&v=1", b->prefix, b->helper_made ? b->helper : b->name);
    if (interp__rest_call(&b->rest, "DELETE", path, NULL, 0, NULL, ENGINE_END_MS))
        b->retry_at = interp__after(interp__now(), UINT64_C(100000000));
}

/* A request that makes a container is let finish: broken off, it could still make one behind our back. */
static int making(const struct interp__box *b)
{
    return b->rest.busy && !b->ending && (b->stage == ENGINE_CREATE || b->stage == ENGINE_HELPER);
}

void interp__box_end(struct interp__box *b)
{
    if (b->gone || b->ending)
        return;
    interp__attach_free(b);             /* the agent ends when its stream does, should the engine not listen */
    interp__box_release(b);
    if (!b->created && !b->helper_made) {
        if (b->rest.curl)
            interp__rest_cancel(&b->rest);
        b->gone = 1;
        return;
    }
    if (making(b))
        return;
    interp__rest_cancel(&b->rest);
    b->ending = 1;
    ask(b);
}

static int no_such(struct interp__box *b)
{
    char said[400];
    interp__answer_error(&b->mem, &b->rest.body, said, sizeof said);
    return strcasestr(said, "no such container") != NULL;   /* Podman: 500 while it is removing it */
}

/* 1: the container and its helper are known to be gone. */
static int removed(struct interp__box *b)
{
    struct interp__rest *r = &b->rest;
    if (r->code != CURLE_OK || (r->status != 204 && r->status != 200 && r->status != 404 && !no_such(b))) {
        /* 409: somebody else removes it; anything else: the engine is in trouble */
        b->retry_at = interp__after(interp__now(), UINT64_C(20000000) << (b->end_tries < 7 ? b->end_tries : 7));
        return 0;
    }
    if (b->unsure && r->status != 204)
        interp__gc_leave(b, b->helper_made ? b->helper : b->name);   /* nothing runs; should it be made after all, gc removes it */
    b->unsure = 0;
    if (b->helper_made)
        b->helper_made = 0;
    else
        b->created = 0;
    b->end_tries = 0;
    b->retry_at = 0;
    return !b->helper_made && !b->created;
}

void interp__box_end_step(struct interp__box *b)
{
    struct interp__rest *r = &b->rest;
    /* an answer may be there by the time the question has been put: then nothing else would wake us */
    while (!b->gone) {
        interp__rest_step(r);
        if (!b->ending) {
            if (r->busy)
                return;
            interp__box_made(b);
            interp__box_end(b);
        } else if (r->done) {
            r->done = 0;
            b->gone = (uint8_t)removed(b);
        } else if (!r->busy && b->retry_at <= interp__now())
            ask(b);
        else
            return;
    }
}
