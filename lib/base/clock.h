/* clock.h - CLOCK_MONOTONIC in nanoseconds; UINT64_MAX is "never". */
#ifndef INTERP_LIB_BASE_CLOCK_H
#define INTERP_LIB_BASE_CLOCK_H
#include <stdint.h>
#include <time.h>

#define INTERP__NEVER UINT64_MAX

static inline uint64_t interp__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
/* t + ns without overflow; never stays never */
static inline uint64_t interp__after(uint64_t t, uint64_t ns)
{
    return t == INTERP__NEVER || ns > INTERP__NEVER - 1 - t ? INTERP__NEVER : t + ns;
}
static inline uint64_t interp__ms(uint64_t ms)   /* milliseconds to nanoseconds; forever stays forever */
{
    return ms > UINT64_MAX / 1000000u ? INTERP__NEVER : ms * 1000000u;
}
static inline uint64_t interp__min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
#endif
