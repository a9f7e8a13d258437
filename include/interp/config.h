/* config.h - how to open a session. Part of <interp/interp.h>.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_CONFIG_H
#define INTERP_CONFIG_H
#include <interp/base.h>
#include <interp/options.h>
INTERP_BEGIN_DECLS

/** Makes a config with the defaults. T2. Errors: INVAL, NOMEM, FORKED. */
INTERP_API interp_status interp_config_new(interp_ctx *x, interp_config **out, interp_error **err);
/** Applies a JSON object over what is set; keys are the setters' names, plus env {name: value} and "<backend>.<key>" for what only a backend knows. All or nothing:
    on an error the config is as before. len may be INTERP_NTS. T3. Errors: INVAL naming the key (unknown, given twice, wrong type, out of range, nested too deep), NOMEM. */
INTERP_API interp_status interp_config_set_json(interp_config *c, const char *json, size_t len, interp_error **err);
/** Sets an environment variable of all kernels of the session (name NUL-terminated, no '='; value n bytes, no NUL; n may be INTERP_NTS). The first 1,024 names,
    32 KiB together. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_config_set_env(interp_config *c, const char *name, const void *value, size_t n, interp_error **err);
/** Attaches a cancel object to the open; NULL detaches. Holds a reference. T3. */
INTERP_API interp_status interp_config_set_cancel(interp_config *c, interp_cancel *t, interp_error **err);
/** Sets an option of a backend: key "<backend>.<key>", value as JSON text. The backend checks it at open. T3. Errors: INVAL, NOMEM. */
INTERP_API interp_status interp_config_set_extra(interp_config *c, const char *key, const char *json, size_t len, interp_error **err);
/** The effective values as a JSON object; names only for env. *len may be NULL. Borrowed until the next call on c. NULL on NOMEM. T3. */
INTERP_API const char *interp_config_json(interp_config *c, size_t *len);
/** Frees the config, wiping it; legal right after an open has started. NULL is fine. Exclusive. */
INTERP_API void interp_config_free(interp_config *c);

INTERP_END_DECLS
#endif
