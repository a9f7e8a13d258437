/* oneshot.h - languages whose code is a whole program: built, run, gone. What they need is data: languages.json, and the config's `languages`. */
#ifndef INTERP_LIB_CORE_ONESHOT_H
#define INTERP_LIB_CORE_ONESHOT_H
#include "core.h"
#include "diagnose.h"

enum { INTERP__PATTERNS_MAX = 32, INTERP__LANGUAGES_MAX = 32, INTERP__LANGUAGE_BYTES = 32 << 10 };

struct interp__oneshot {
    struct interp__language language;              /* first: what the rest of the core sees */
    struct interp__oneshot *next;
    const struct interp__mem *mem;
    struct interp__json json;                      /* the object; all strings below lie in it */
    struct interp__buf driver;                     /* the shell text that starts it */
    const char *file, *unit, *install;
    struct interp__pattern errors[INTERP__PATTERNS_MAX], run_errors[INTERP__PATTERNS_MAX], name_from[INTERP__PATTERNS_MAX], package_from[INTERP__PATTERNS_MAX],
        main_from[INTERP__PATTERNS_MAX];
    uint32_t nerrors, nrun_errors, nname_from, npackage_from, nmain_from;
    const char *main_at;
    const char *aliases[9];
    uint8_t builds;                                /* some toolchain has a compile step */
    char looked[512];                              /* what is looked for, for a message */
};
/* Checks an object of `languages` and makes the language. m must outlive it. */
interp_status interp__oneshot_new(const struct interp__mem *m, const struct interp__json *j, uint32_t node, struct interp__oneshot **out, interp_error **err);
void interp__oneshot_free(struct interp__oneshot *o);
/* The same for each text of a list, appended to *out. */
interp_status interp__oneshots_new(const struct interp__mem *m, const struct interp__extra *texts, struct interp__oneshot **out, interp_error **err);
void interp__oneshots_free(struct interp__oneshot **list);
/* Every language there is: the stateful, the built-in ones that own does not replace, own. */
interp_status interp__languages_json(interp_ctx *x, const struct interp__oneshot *own, struct interp__buf *b);
/* What the template puts in for an exec: names, environment, arguments, as words of the shell. */
void interp__oneshot_prefix(const struct interp__oneshot *o, struct interp__buf *b, const char *code, size_t n, const struct interp__env *env, const struct interp__buf *args);
#endif
