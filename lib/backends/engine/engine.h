/* engine.h - container engines (Docker, Podman) as the core sees them. Everything else in this folder is private.
   Registration, once for each: interp_ctx_add_backend(x, interp__engine_ops(kind), interp__engine_new(kind, fn, userdata), interp__engine_free, err). */
#ifndef INTERP_LIB_ENGINE_H
#define INTERP_LIB_ENGINE_H
#include <interp/backend.h>

enum interp__engine_kind { INTERP__ENGINE_DOCKER, INTERP__ENGINE_PODMAN };

/* The table, named "docker" or "podman". Static. */
const interp_backend_ops *interp__engine_ops(enum interp__engine_kind kind);

/* What all sandboxes of one context share: what is known of each engine. Nothing is looked up here. NULL when memory is out. */
void *interp__engine_new(enum interp__engine_kind kind, interp_realloc_fn fn, void *userdata);
void interp__engine_free(void *backend);
#endif
