/* host.c - links the shared library and loads a plug-in that has a copy of its own; both are used. Then loads and unloads the shared library by name.
   SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <interp/interp.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    interp_ctx *x = NULL, *theirs = NULL;
    interp_session *s = NULL;
    interp_result *r = NULL;
    if (argc != 3)
        return 2;
    void *p = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!p) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*run)(interp_ctx **) = (int (*)(interp_ctx **))(uintptr_t)dlsym(p, "plugin_run");
    uintptr_t (*address)(void) = (uintptr_t (*)(void))(uintptr_t)dlsym(p, "plugin_address");
    if (address() == (uintptr_t)&interp_version) {
        fprintf(stderr, "the plug-in's calls go to the host's copy\n");
        return 1;
    }
    if (interp_ctx_new(0, &x, NULL) != INTERP_OK || interp_session_open(x, NULL, &s, NULL) != INTERP_OK)
        return 77;
    int ok = run(&theirs);
    ok &= interp_session_run(s, "sh", "echo host", INTERP_NTS, &r, NULL) == INTERP_OK && interp_result_ok(r);
    interp_result_free(r);
    dlclose(p);
    interp_session_close(s);
    interp_ctx_free(x);
    for (int i = 0; i < 3 && ok; i++) {
        void *lib = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        const char *(*version)(void) = lib ? (const char *(*)(void))(uintptr_t)dlsym(lib, "interp_version") : NULL;
        ok &= version && version()[0];
        if (lib)
            dlclose(lib);
        ok &= version && version()[0];                 /* still mapped: NODELETE */
    }
    puts(ok ? "both work" : "failed");
    return ok ? 0 : 1;
}
