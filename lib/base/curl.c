/* curl.c - finds libcurl once for the process. It is never closed: its TLS library may have registered things that outlive us. */
#include "curl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static struct interp__curl functions;
static const char *missing;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#ifdef INTERP_CURL_LINKED
static int find(void)
{
#define F(name) functions.name = curl_##name;
    INTERP__CURL_FUNCTIONS(F)
#undef F
    return 0;
}
#else
/* Tells packagers what may be opened later: https://systemd.io/ELF_DLOPEN_METADATA/ */
#define NOTE "[{\"feature\":\"engines\",\"description\":\"container engines as backends\",\"priority\":\"recommended\",\"soname\":[\"libcurl.so.4\"]}]"
static const struct {
    uint32_t name_size, text_size, type;
    char name[4], text[(sizeof NOTE + 3) & ~(size_t)3];
} note __attribute__((used, section(".note.dlopen"), aligned(4))) = { 4, sizeof NOTE, 0x407c0c0a, "FDO", NOTE };

static int find(void)
{
    static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
    static char text[256];
    void *lib = NULL;
    for (unsigned i = 0; i < sizeof names / sizeof *names && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        const char *e = dlerror();
        snprintf(text, sizeof text, "%s", e ? e : "dlopen failed");
        missing = text;
        return -1;
    }
#define F(name) \
    if (!(functions.name = (__typeof__(&curl_##name))dlsym(lib, "curl_" #name))) { \
        missing = "it has no curl_" #name; \
        return -1; \
    }
    INTERP__CURL_FUNCTIONS(F)
#undef F
    return 0;
}
#endif

static void start(void)
{
    if (find() == 0 && functions.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        missing = "it could not be initialised";
}

const struct interp__curl *interp__curl(const char **why)
{
    pthread_once(&once, start);
    if (missing && why)
        *why = missing;
    return missing ? NULL : &functions;
}
