#include "error.h"
#include "buf.h"
#include "json.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct interp_error {
    struct interp__mem mem;
    struct interp__fault f;   /* reason, remedy point into text */
    const char *message, *json;
    size_t json_len;
    char text[];
};

static const char NOMEM_JSON[] = "{\"code\":\"INTERP_E_NOMEM\",\"reason\":\"memory\",\"message\":\"out of memory\",\"remedy\":\"\",\"retryable\":true,\"errno\":12}";
static interp_error nomem_error = {
    .f = { INTERP_E_NOMEM, "memory", "", 12, 1 }, .message = "out of memory", .json = NOMEM_JSON, .json_len = sizeof NOMEM_JSON - 1
};

interp_status interp__nomem(interp_error **err)
{
    if (err)
        *err = &nomem_error;
    return INTERP_E_NOMEM;
}

static interp_error *make(const struct interp__mem *m, const struct interp__fault *f, const char *message)
{
    const char *reason = f->reason ? f->reason : "", *remedy = f->remedy ? f->remedy : "";
    struct interp__buf j;
    interp__buf_init(&j, m);
    interp__buf_fmt(&j, "{\"code\":\"%s\",\"reason\":", interp_status_name(f->code));
    interp__json_text(&j, reason, strlen(reason));
    interp__buf_str(&j, ",\"message\":");
    interp__json_text(&j, message, strlen(message));
    interp__buf_str(&j, ",\"remedy\":");
    interp__json_text(&j, remedy, strlen(remedy));
    interp__buf_fmt(&j, ",\"retryable\":%s,\"errno\":%d}", f->retryable ? "true" : "false", f->sys_errno);
    size_t nr = strlen(reason) + 1, ny = strlen(remedy) + 1, nm = strlen(message) + 1, nj = j.len;
    interp_error *e = j.bad ? NULL : interp__alloc(m, sizeof *e + nr + ny + nm + nj + 1);
    if (e) {
        char *t = e->text;
        e->mem = *m;
        e->f = *f;
        e->f.reason = memcpy(t, reason, nr);
        e->f.remedy = memcpy(t += nr, remedy, ny);
        e->message = memcpy(t += ny, message, nm);
        e->json = memcpy(t += nm, j.p, nj);
        t[nj] = 0;
        e->json_len = nj;
    }
    interp__buf_free(&j);
    return e ? e : &nomem_error;
}

static interp_status fail_v(const struct interp__mem *m, interp_error **err, const struct interp__fault *f, const char *fmt, va_list ap)
{
    if (!err)
        return f->code;
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    *err = make(m ? m : &interp__mem_default, f, text);
    return (*err)->f.code;   /* what the object says: without memory it is NOMEM */
}

interp_status interp__fail_with(const struct interp__mem *m, interp_error **err, const struct interp__fault *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    interp_status st = fail_v(m, err, f, fmt, ap);
    va_end(ap);
    return st;
}

interp_status interp__fail(const struct interp__mem *m, interp_error **err, interp_status code, const char *reason, const char *fmt, ...)
{
    struct interp__fault f = { code, reason, NULL, 0, code == INTERP_E_BUSY };
    va_list ap;
    va_start(ap, fmt);
    interp_status st = fail_v(m, err, &f, fmt, ap);
    va_end(ap);
    return st;
}

interp_error *interp__error_copy(const struct interp__mem *m, const interp_error *e)
{
    return !e || e == &nomem_error ? &nomem_error : make(m, &e->f, e->message);
}

interp_status interp_error_code(const interp_error *e)
{
    return e ? e->f.code : INTERP_OK;
}
const char *interp_error_reason(const interp_error *e)
{
    return e ? e->f.reason : "";
}
const char *interp_error_message(const interp_error *e)
{
    return e ? e->message : "no error";
}
const char *interp_error_remedy(const interp_error *e)
{
    return e ? e->f.remedy : "";
}
int32_t interp_error_retryable(const interp_error *e)
{
    return e ? e->f.retryable : 0;
}
int32_t interp_error_errno(const interp_error *e)
{
    return e ? e->f.sys_errno : 0;
}
const char *interp_error_json(const interp_error *e, size_t *len)
{
    static const char none[] = "{\"code\":\"INTERP_OK\",\"reason\":\"\",\"message\":\"no error\",\"remedy\":\"\",\"retryable\":false,\"errno\":0}";
    if (len)
        *len = e ? e->json_len : sizeof none - 1;
    return e ? e->json : none;
}
void interp_error_free(interp_error *e)
{
    if (!e || e == &nomem_error)
        return;
    struct interp__mem m = e->mem;
    interp__free(&m, e);
}
