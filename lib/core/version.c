/* version.c - versions, names, build-time facts at run time */
#include "blobs.h"
#include "core.h"
#include <string.h>

#define STR2(x) #x
#define STR(x)  STR2(x)

uint32_t interp_version_number(void)
{
    return INTERP_VERSION_NUMBER;
}
const char *interp_version(void)
{
    return INTERP_VERSION;   /* from the build */
}

const char *interp_status_name(interp_status st)
{
    switch (st) {
#define NAME(x) case x: return #x;
    NAME(INTERP_OK) NAME(INTERP_AGAIN) NAME(INTERP_DONE) NAME(INTERP_E_INVAL) NAME(INTERP_E_NOMEM) NAME(INTERP_E_BUSY) NAME(INTERP_E_CLOSED)
    NAME(INTERP_E_CANCELLED) NAME(INTERP_E_TIMEOUT) NAME(INTERP_E_INTR) NAME(INTERP_E_FORKED) NAME(INTERP_E_UNSUPPORTED) NAME(INTERP_E_NOT_FOUND)
    NAME(INTERP_E_EXISTS) NAME(INTERP_E_DENIED) NAME(INTERP_E_LIMIT) NAME(INTERP_E_IO) NAME(INTERP_E_ISOLATION) NAME(INTERP_E_IMAGE) NAME(INTERP_E_BACKEND)
    NAME(INTERP_E_PROTOCOL) NAME(INTERP_E_CALLBACK)
#undef NAME
    default: return st < 0 ? "INTERP_E_UNKNOWN" : "INTERP_UNKNOWN_STATUS";
    }
}

const char *interp_options_json(size_t *n)
{
    if (n)
        *n = (size_t)(interp__blob_options_json_end - interp__blob_options_json);
    return (const char *)interp__blob_options_json;   /* embed.py puts a NUL behind each */
}

int32_t interp_has(const char *feature)
{
    if (!feature)
        return 0;
#ifdef __linux__
    if (!strcmp(feature, "backend.local"))
        return 1;
#endif
#ifdef INTERP_ENGINES
    if (!strcmp(feature, "backend.docker") || !strcmp(feature, "backend.podman"))
        return 1;
#endif
    if (!strcmp(feature, "agent.x86_64"))
        return interp__packed_size(INTERP__AGENT_X86_64) > 0;
    if (!strcmp(feature, "agent.aarch64"))
        return interp__packed_size(INTERP__AGENT_AARCH64) > 0;
    if (!strcmp(feature, "redact.pcre2"))
        return interp__redact_has_patterns();
    if (!strncmp(feature, "option.", 7))
        return interp__option_known(0, feature + 7);
    if (!strncmp(feature, "request.", 8))
        return interp__option_known(1, feature + 8);
    return 0;
}
