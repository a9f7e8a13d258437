/* cgroup.h - shared by the three cgroup files. */
#ifndef INTERP_LIB_LOCAL_CGROUP_H
#define INTERP_LIB_LOCAL_CGROUP_H
#include "local_priv.h"

/* Directory of this process's own group, as seen here, and where its hierarchy is mounted; "" = there is none. */
struct interp__local_mounts {
    struct { char dir[1024]; size_t mount_len; } v1[LOCAL_CG_N], v2;
};

/* Opens a group below base, made when it is not there; -1 with errno. */
int interp__local_cgroup_dir(int base, const char *name);
#endif
