/* blobs.h - what lib/core/embed.py puts into the library */
#ifndef INTERP_LIB_CORE_BLOBS_H
#define INTERP_LIB_CORE_BLOBS_H
#include "base/mem.h"
#define BLOB(name) extern const uint8_t interp__blob_##name[], interp__blob_##name##_end[];
BLOB(python_boot)
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

/* The big ones are in it deflated. */
struct interp__packed { uint32_t size, packed; uint8_t data[]; };
enum interp__packed_name { INTERP__PACKED_NONE, INTERP__AGENT_X86_64, INTERP__AGENT_AARCH64, INTERP__PYTHON, INTERP__JAVASCRIPT, INTERP__PACKED };

size_t interp__packed_size(enum interp__packed_name which);                       /* of what comes out; 0: this build has none */
/* As it was: read-only, from the first call to the end of the process. m is for what is needed meanwhile. NULL: no memory. Any thread. */
const uint8_t *interp__unpack(enum interp__packed_name which, const struct interp__mem *m);
#endif
