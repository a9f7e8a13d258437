/* local.h - the local sandbox, as the core sees it. Everything else in this folder is private.
   Registration: interp_ctx_add_backend(x, interp__local_ops(), interp__local_new(fn, userdata), interp__local_free, err). */
#ifndef INTERP_LIB_LOCAL_H
#define INTERP_LIB_LOCAL_H
#include <interp/backend.h>

/* The backend table, named "local". Static. */
const interp_backend_ops *interp__local_ops(void);

/* What all sandboxes of one context share: agent image, filters, cgroup of this host, id lock. Looked up at the first open, not here.
   The allocator must live as long as the state. NULL when memory is out. */
void *interp__local_new(interp_realloc_fn fn, void *userdata);

/* The destroy function that belongs to it. In a forked child it closes descriptors and frees memory only. */
void interp__local_free(void *backend);
#endif
