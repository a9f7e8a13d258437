/* result.c - the getters. The object is filled by exec.c and kframes.c and never changes after that. */
#include "core.h"
#include <string.h>

interp_result *interp__result_new(const struct interp__mem *m)
{
    interp_result *r = interp__alloc(m, sizeof *r);
    if (!r)
        return NULL;
    r->mem = *m;
    r->exit_code = r->signal = r->line = r->ran = INTERP_NONE;
    r->state = INTERP_STATE_GONE;
    r->cause = r->interrupted = r->step = "";
    r->claimed_by = "host";
    r->wall_ns = r->cpu_ns = r->memory_peak = INTERP_UNKNOWN;
    interp__buf_init(&r->dropped, &r->mem);
    r->spill[0].fd = r->spill[1].fd = -1;
    return r;
}

void interp_result_free(interp_result *r)
{
    if (!r)
        return;
    struct interp__mem m = r->mem;
    for (int i = 0; i < 2; i++) {
        interp__kept_free(&r->out[i], &m);
        interp__spill_close(&r->spill[i]);
    }
    for (uint32_t i = 0; i < r->nparts; i++) {
        interp__free(&m, r->parts[i].mime);
        interp__free(&m, r->parts[i].data);
    }
    for (uint32_t i = 0; i < r->nlate; i++) {
        r->late[i].data.mem = &m;
        interp__buf_free(&r->late[i].data);
    }
    interp__changes_free(r->changes, &m);
    void *own[] = { r->parts, r->late, r->error_json, r->error_type, r->error_message, r->error_traceback, r->hint, r->build_output, r->session, r->language, r->kernel, r->redactions, r->denied,
                    (void *)atomic_load(&r->json), r->dropped.p };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        interp__free(&m, own[i]);
    interp__free(&m, r);
}

const char *interp__outcome_name(int32_t outcome)
{
    static const char *const names[] = { "none", "ok", "error", "timeout", "cancelled", "oom", "limit", "crashed", "denied", "lost" };
    return outcome >= 0 && outcome < (int32_t)(sizeof names / sizeof *names) ? names[outcome] : "unknown";
}
const char *interp__state_name(int32_t state)
{
    static const char *const names[] = { "unknown", "preserved", "restored", "reset", "gone" };
    return names[state >= 1 && state <= 4 ? state : 0];
}

static const struct interp__kept *kept(const interp_result *r, int32_t stream)
{
    return r && (stream == INTERP_STREAM_STDOUT || stream == INTERP_STREAM_STDERR) ? &r->out[stream - 1] : NULL;
}
static const char *give(const char *p, size_t n, size_t *len)
{
    if (len)
        *len = p ? n : 0;
    return p ? p : "";
}

int32_t interp_result_ok(const interp_result *r)
{
    return r && r->outcome == INTERP_OUTCOME_OK;
}
int32_t interp_result_outcome(const interp_result *r)
{
    return r ? r->outcome : 0;
}
const char *interp_result_outcome_name(const interp_result *r)
{
    return interp__outcome_name(r ? r->outcome : 0);
}
const char *interp_result_cause(const interp_result *r)
{
    return r ? r->cause : "";
}
int32_t interp_result_state(const interp_result *r)
{
    return r ? r->state : INTERP_STATE_GONE;
}
int32_t interp_result_ran(const interp_result *r)
{
    return r ? r->ran : INTERP_NONE;
}
const char *interp_result_interrupted(const interp_result *r)
{
    return r ? r->interrupted : "";
}
int32_t interp_result_exit_code(const interp_result *r)
{
    return r ? r->exit_code : INTERP_NONE;
}
int32_t interp_result_signal(const interp_result *r)
{
    return r ? r->signal : INTERP_NONE;
}
const char *interp_result_claimed_by(const interp_result *r)
{
    return r ? r->claimed_by : "host";
}
const char *interp_result_text(const interp_result *r, int32_t stream, size_t *len)
{
    const struct interp__kept *k = kept(r, stream);
    return give(k ? k->text : NULL, k ? k->text_len : 0, len);
}
const void *interp_result_head(const interp_result *r, int32_t stream, size_t *len)
{
    const struct interp__kept *k = kept(r, stream);
    return give(k ? k->head : NULL, k ? k->head_len : 0, len);
}
const void *interp_result_tail(const interp_result *r, int32_t stream, size_t *len)
{
    const struct interp__kept *k = kept(r, stream);
    return give(k ? k->tail : NULL, k ? k->tail_len : 0, len);
}
uint64_t interp_result_total_bytes(const interp_result *r, int32_t stream)
{
    const struct interp__kept *k = kept(r, stream);
    return k ? k->total : 0;
}
uint64_t interp_result_total_lines(const interp_result *r, int32_t stream)
{
    const struct interp__kept *k = kept(r, stream);
    return k ? k->lines : 0;
}
int32_t interp_result_truncated(const interp_result *r, int32_t stream)
{
    const struct interp__kept *k = kept(r, stream);
    return k ? k->truncated : 0;
}
const char *interp_result_value(const interp_result *r, size_t *len)
{
    if (len)
        *len = 0;
    if (!r || !r->has_value)
        return NULL;
    for (uint32_t i = 0; i < r->nparts; i++)
        if (r->parts[i].bundle == 0 && !strcmp(r->parts[i].mime, "text/plain"))
            return give(r->parts[i].data, r->parts[i].len, len);
    return NULL;
}
const char *interp_result_error_type(const interp_result *r, size_t *len)
{
    return give(r ? r->error_type : NULL, r ? r->type_len : 0, len);
}
const char *interp_result_error_message(const interp_result *r, size_t *len)
{
    return give(r ? r->error_message : NULL, r ? r->message_len : 0, len);
}
const char *interp_result_error_traceback(const interp_result *r, size_t *len)
{
    return give(r ? r->error_traceback : NULL, r ? r->traceback_len : 0, len);
}
const char *interp_result_hint(const interp_result *r, size_t *len)
{
    return give(r ? r->hint : NULL, r ? r->hint_len : 0, len);
}
const char *interp_result_step(const interp_result *r)
{
    return r ? r->step : "";
}
const char *interp_result_compile_output(const interp_result *r, size_t *len)
{
    return give(r ? r->build_output : NULL, r ? r->build_len : 0, len);
}
int32_t interp_result_error_line(const interp_result *r)
{
    return r ? r->line : INTERP_NONE;
}
uint64_t interp_result_wall_ns(const interp_result *r)
{
    return r ? r->wall_ns : INTERP_UNKNOWN;
}
uint64_t interp_result_cpu_ns(const interp_result *r)
{
    return r ? r->cpu_ns : INTERP_UNKNOWN;
}
uint64_t interp_result_memory_peak_bytes(const interp_result *r)
{
    return r ? r->memory_peak : INTERP_UNKNOWN;
}
uint32_t interp_result_part_count(const interp_result *r)
{
    return r ? r->nparts : 0;
}
const void *interp_result_part(const interp_result *r, uint32_t i, const char **mime, uint32_t *bundle, size_t *len)
{
    int has = r && i < r->nparts;
    if (mime)
        *mime = has ? r->parts[i].mime : "";
    if (bundle)
        *bundle = has ? r->parts[i].bundle : 0;
    if (len)
        *len = has ? r->parts[i].len : 0;
    return has ? r->parts[i].data : NULL;
}

uint64_t interp_result_part_total_bytes(const interp_result *r, uint32_t i)
{
    return r && i < r->nparts ? r->parts[i].total : 0;
}
uint64_t interp_estimate_tokens(const void *p, size_t n)
{
    return p ? interp__tokens(p, n == INTERP_NTS ? strlen(p) : n) : 0;
}

const char *interp_result_json(const interp_result *r, size_t *len)
{
    static const char none[] = "{\"ok\":false,\"outcome\":\"none\",\"cause\":\"memory\"}";
    interp_result *w = (interp_result *)(uintptr_t)r;   /* the JSON is a cache; whoever is first stores it */
    const char *text = r ? (const char *)atomic_load(&w->json) : NULL;
    if (r && !text) {
        struct interp__buf b;
        interp__buf_init(&b, &r->mem);
        interp__result_build_json(r, &b);
        uintptr_t nothing = 0;
        if (interp__buf_text(&b)) {
            if (atomic_compare_exchange_strong(&w->json, &nothing, (uintptr_t)b.p))
                text = (const char *)b.p;
            else {
                interp__buf_free(&b);
                text = (const char *)nothing;
            }
        } else
            interp__buf_free(&b);
    }
    if (!text)
        text = none;
    if (len)
        *len = strlen(text);   /* JSON has no NUL */
    return text;
}
