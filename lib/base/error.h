/* error.h - the error object. Made with the mem of whoever fails; out of memory gives a static one. */
#ifndef INTERP_LIB_BASE_ERROR_H
#define INTERP_LIB_BASE_ERROR_H
#include "mem.h"

struct interp__fault {             /* everything but the message */
    interp_status code;
    const char *reason, *remedy;   /* remedy NULL: none */
    int sys_errno, retryable;
};
/* Makes an error when err is not NULL and returns code. Use:  return interp__fail(mem, err, INTERP_E_INVAL, "option-range", "…%s…", v); */
interp_status interp__fail(const struct interp__mem *m, interp_error **err, interp_status code, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
interp_status interp__fail_with(const struct interp__mem *m, interp_error **err, const struct interp__fault *f, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
interp_status interp__nomem(interp_error **err);
interp_error *interp__error_copy(const struct interp__mem *m, const interp_error *e);
#endif
