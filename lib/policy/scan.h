/* scan.h - what a piece of code names: imports, commands, paths. Tokenizers that know strings, comments and what may stand inside them; bounded and linear. They read code as its language does where that is
   plain; where it is not they say UNSURE or DYNAMIC and let the rules decide. A first line: code that wants to hide a name can. */
#ifndef INTERP_LIB_POLICY_SCAN_H
#define INTERP_LIB_POLICY_SCAN_H
#include "base/mem.h"

enum policy_kind {
    POLICY_IMPORT,      /* a module, as it is written: "os.path", "node:fs" */
    POLICY_COMMAND,     /* a program or builtin of a shell */
    POLICY_PERHAPS_COMMAND,   /* a word that may be one */
    POLICY_PATH,        /* a text that may be a path; a NUL is a part that is known at run time only */
    POLICY_DYNAMIC,     /* an import whose name is made at run time, or code made at run time: the name is what does that */
    POLICY_DYNAMIC_COMMAND,
    POLICY_UNSURE       /* a place that can't be read with certainty */
};
/* Not 0: enough is known, the scan ends. */
typedef int policy_take(void *userdata, enum policy_kind kind, const char *name, size_t n, uint32_t line);

enum { POLICY_NAME_MAX = 512 };
/* 0, what take returned, or -1 without memory */
int interp__scan_python(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata);
int interp__scan_javascript(const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata);
int interp__scan_shell(const struct interp__mem *m, const char *p, size_t n, uint32_t line, int bash, policy_take *take, void *userdata);   /* bash: else any shell of POSIX */
#endif
