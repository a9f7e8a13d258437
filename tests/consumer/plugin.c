/* plugin.c - a plug-in with a copy of libinterp of its own inside (linked statically, nothing of it exported), loaded by host.c.
   SPDX-License-Identifier: MIT */
#include <interp/interp.h>
#include <stdint.h>

__attribute__((visibility("default"))) int plugin_run(interp_ctx **keep);
__attribute__((visibility("default"))) uintptr_t plugin_address(void);

uintptr_t plugin_address(void) { return (uintptr_t)&interp_version; }
int plugin_run(interp_ctx **keep)
{
    interp_session *s = NULL;
    interp_result *r = NULL;
    int ok = interp_ctx_new(0, keep, NULL) == INTERP_OK && interp_session_open(*keep, NULL, &s, NULL) == INTERP_OK
             && interp_session_run(s, "sh", "echo plugin", INTERP_NTS, &r, NULL) == INTERP_OK && interp_result_ok(r);
    interp_result_free(r);
    interp_session_close(s);
    interp_ctx_free(*keep);
    return ok;
}
