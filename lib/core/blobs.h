/* blobs.h - what lib/core/embed.py puts into the library */
#ifndef INTERP_LIB_CORE_BLOBS_H
#define INTERP_LIB_CORE_BLOBS_H
#include <stdint.h>
#define BLOB(name) extern const uint8_t interp__blob_##name[], interp__blob_##name##_end[];
BLOB(agent_x86_64)
BLOB(agent_aarch64)
BLOB(python)
BLOB(python_boot)
BLOB(javascript)
BLOB(javascript_boot)
BLOB(bash)
BLOB(bash_template)
BLOB(sh)
BLOB(sh_template)
BLOB(probe_quick)
BLOB(probe_sh)
BLOB(probe_py)
BLOB(options_json)
BLOB(oneshot)
BLOB(oneshot_template)
BLOB(languages)
#undef BLOB
#endif
