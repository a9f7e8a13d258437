/* limit.h - how large a file of this process may become. Past it the kernel would not only refuse a write: it would send the program a signal (SIGXFSZ, setrlimit(2)). */
#ifndef INTERP_LIB_BASE_LIMIT_H
#define INTERP_LIB_BASE_LIMIT_H
#include <stdint.h>
#include <sys/resource.h>

static inline uint64_t interp__file_limit(void)   /* in bytes; UINT64_MAX: none */
{
    struct rlimit r;
    return getrlimit(RLIMIT_FSIZE, &r) || r.rlim_cur == RLIM_INFINITY ? UINT64_MAX : r.rlim_cur;
}
#endif
