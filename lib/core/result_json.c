/* result_json.c - a result as JSON, in the names that all faces of the library share */
#include "core.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *interp__signal_name(int32_t sig)
{
    switch (sig) {
#define NAME(x) case x: return #x;
    NAME(SIGHUP) NAME(SIGINT) NAME(SIGQUIT) NAME(SIGILL) NAME(SIGTRAP) NAME(SIGABRT) NAME(SIGBUS) NAME(SIGFPE) NAME(SIGKILL) NAME(SIGUSR1) NAME(SIGSEGV)
    NAME(SIGUSR2) NAME(SIGPIPE) NAME(SIGALRM) NAME(SIGTERM) NAME(SIGSTKFLT) NAME(SIGCHLD) NAME(SIGCONT) NAME(SIGSTOP) NAME(SIGTSTP) NAME(SIGTTIN)
    NAME(SIGTTOU) NAME(SIGURG) NAME(SIGXCPU) NAME(SIGXFSZ) NAME(SIGVTALRM) NAME(SIGPROF) NAME(SIGWINCH) NAME(SIGIO) NAME(SIGPWR) NAME(SIGSYS)
#undef NAME
    default: return NULL;
    }
}

static void word(struct interp__buf *b, const char *key, const char *v)
{
    interp__buf_fmt(b, ",\"%s\":", key);
    if (v && *v)
        interp__json_text(b, v, strlen(v));
    else
        interp__buf_str(b, "null");
}

/* text always; base64 beside it where the bytes are not UTF-8 */
static void bytes(struct interp__buf *b, const void *p, size_t n)
{
    interp__buf_str(b, "\"text\":");
    interp__json_text(b, p, n);
    if (interp__utf8_valid(p, n) < n) {
        interp__buf_str(b, ",\"base64\":");
        interp__json_base64(b, p, n);
    }
}

static void stream(struct interp__buf *b, const char *key, const struct interp__kept *k, const struct interp__spill *d)
{
    interp__buf_fmt(b, ",\"%s\":{", key);
    bytes(b, k->text ? k->text : "", k->text_len);
    interp__buf_fmt(b, ",\"total_bytes\":%" PRIu64 ",\"total_lines\":%" PRIu64 ",\"truncated\":%s,\"text_tokens\":%" PRIu64 ",\"spill\":", k->total, k->lines, k->truncated ? "true" : "false", interp__tokens(k->text, k->text_len));
    interp__spill_json(b, d, k->total);
    interp__buf_str(b, "}");
}

static void bundle(struct interp__buf *b, const interp_result *r, uint32_t number, int with_text)
{
    interp__buf_str(b, "{");
    if (with_text) {
        size_t n;
        const char *v = interp_result_value(r, &n);
        interp__buf_str(b, "\"text\":");
        if (v)
            interp__json_text(b, v, n);
        else
            interp__buf_str(b, "null");
        interp__buf_str(b, ",");
    }
    interp__buf_str(b, "\"mime\":{");
    int first = 1;
    for (uint32_t i = 0; i < r->nparts; i++) {
        const struct interp__part *p = &r->parts[i];
        int twice = p->bundle != number;
        for (uint32_t k = 0; k < i && !twice; k++)   /* an object has a key once */
            twice = r->parts[k].bundle == number && !strcmp(r->parts[k].mime, p->mime);
        if (twice)
            continue;
        interp__buf_str(b, first ? "" : ",");
        first = 0;
        interp__json_text(b, p->mime, strlen(p->mime));
        interp__buf_str(b, ":");
        if (interp__mime_is_text(p->mime))
            interp__json_text(b, p->data, p->len);
        else
            interp__json_base64(b, p->data, p->len);
    }
    interp__buf_str(b, "}");
    first = 1;
    for (uint32_t i = 0; i < r->nparts; i++) {
        const struct interp__part *p = &r->parts[i];
        if (p->bundle != number || p->total == p->len)
            continue;
        interp__buf_str(b, first ? ",\"cut\":[[" : ",[");
        first = 0;
        interp__json_text(b, p->mime, strlen(p->mime));
        interp__buf_fmt(b, ",%zu]", p->total);
    }
    interp__buf_str(b, first ? "" : "]");
    first = 1;
    for (size_t i = 0; i < r->dropped.len;) {   /* arrays: one of what there are */
        const char *item = (const char *)r->dropped.p + i;
        unsigned of;
        size_t n = strlen(item);
        const char *json = strchr(item, ':');
        if (json && sscanf(item, "%u:", &of) == 1 && of == number && json[1] == '[' && json[2] != ']') {
            interp__buf_str(b, first ? ",\"dropped\":[" : ",");
            interp__buf_add(b, json + 2, (size_t)(item + n - json) - 3);
            first = 0;
        }
        i += n + 1;
    }
    interp__buf_str(b, first ? "}" : "]}");
}

void interp__result_limits_json(struct interp__buf *b, uint32_t bits)
{
    static const char *const names[] = { "memory", "pids", "disk", "inodes", "file_size" };
    int first = 1;
    interp__buf_str(b, "[");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (bits & 1u << i) {
            interp__buf_fmt(b, "%s\"%s\"", first ? "" : ",", names[i]);
            first = 0;
        }
    interp__buf_str(b, "]");
}

static void counter(struct interp__buf *b, const char *key, uint64_t v, int as_ms)
{
    if (v == INTERP_UNKNOWN)
        interp__buf_fmt(b, "\"%s\":null,", key);
    else if (as_ms)   /* no floats: a locale may write a comma */
        interp__buf_fmt(b, "\"%s\":%" PRIu64 ".%03u,", key, v / 1000000u, (unsigned)(v % 1000000u / 1000u));
    else
        interp__buf_fmt(b, "\"%s\":%" PRIu64 ",", key, v);
}

/* What it came to, and who says so: the first members. */
static void verdict(struct interp__buf *b, const interp_result *r)
{
    interp__buf_fmt(b, "\"ok\":%s", interp_result_ok(r) ? "true" : "false");
    word(b, "outcome", interp__outcome_name(r->outcome));
    word(b, "cause", r->cause);
    word(b, "state", interp__state_name(r->state));
    interp__buf_fmt(b, ",\"ran\":%s", r->ran == INTERP_NONE ? "null" : r->ran ? "true" : "false");
    word(b, "interrupted", r->interrupted);
    word(b, "step", r->step);
    if (r->exit_code == INTERP_NONE)
        interp__buf_str(b, ",\"exit_code\":null");
    else
        interp__buf_fmt(b, ",\"exit_code\":%d", r->exit_code);
    char number[16];
    const char *sig = r->signal == INTERP_NONE ? NULL : interp__signal_name(r->signal);
    if (r->signal != INTERP_NONE && !sig) {
        snprintf(number, sizeof number, "SIG%d", r->signal);
        sig = number;
    }
    word(b, "signal", sig);
    word(b, "claimed_by", r->claimed_by);
}
static void usage(struct interp__buf *b, const interp_result *r)
{
    interp__buf_str(b, ",\"usage\":{");
    counter(b, "wall_ms", r->wall_ns, 1);
    counter(b, "cpu_ms", r->cpu_ns, 1);
    counter(b, "memory_peak_bytes", r->memory_peak, 0);
    interp__buf_fmt(b, "\"oom_kills\":%u,\"limits_hit\":", r->oom_kills);
    interp__result_limits_json(b, r->limits_hit);
    interp__buf_str(b, "}");
}

void interp__result_brief_json(struct interp__buf *b, const interp_result *r)
{
    verdict(b, r);
    interp__buf_fmt(b, ",\"stdout_bytes\":%" PRIu64 ",\"stderr_bytes\":%" PRIu64, r->out[0].total, r->out[1].total);
    if (r->error_type) {
        interp__buf_str(b, ",\"error_type\":");
        interp__json_text(b, r->error_type, r->type_len < 256 ? r->type_len : 256);
    }
    usage(b, r);
    interp__buf_fmt(b, ",\"redactions\":%s,\"denied\":%s", r->redactions ? r->redactions : "{}", r->denied ? r->denied : "null");
}

void interp__result_build_json(const interp_result *r, struct interp__buf *b)
{
    interp__buf_str(b, "{");
    verdict(b, r);
    stream(b, "stdout", &r->out[0], &r->spill[0]);
    stream(b, "stderr", &r->out[1], &r->spill[1]);
    interp__buf_str(b, ",\"value\":");
    if (r->has_value)
        bundle(b, r, 0, 1);
    else
        interp__buf_str(b, "null");
    interp__buf_str(b, ",\"rich\":[");
    uint32_t last = r->nbundles + !r->has_value;   /* displays are 1 … when there is room for a value at 0 */
    for (uint32_t i = 1; i < last; i++) {
        interp__buf_str(b, i > 1 ? "," : "");
        bundle(b, r, i, 0);
    }
    interp__buf_str(b, "],\"error\":");
    static const char no_hint[] = "\"hint\":null}";
    size_t n = r->error_json ? strlen(r->error_json) : 0;
    if (r->hint && n >= sizeof no_hint && !strcmp(r->error_json + n - (sizeof no_hint - 1), no_hint)) {
        interp__buf_add(b, r->error_json, n - 5);
        interp__json_text(b, r->hint, r->hint_len);
        interp__buf_str(b, "}");
    } else
        interp__buf_str(b, n ? r->error_json : "null");
    interp__buf_str(b, ",\"hint\":");
    if (r->hint)
        interp__json_text(b, r->hint, r->hint_len);
    else
        interp__buf_str(b, "null");
    interp__buf_str(b, ",\"compile_output\":");
    if (r->build_output)
        interp__json_text(b, r->build_output, r->build_len);
    else
        interp__buf_str(b, "null");
    interp__buf_str(b, ",\"files\":");
    interp__changes_json(r->changes, b);
    usage(b, r);
    interp__buf_fmt(b, ",\"network\":[],\"redactions\":%s,\"denied\":%s,\"late\":[", r->redactions ? r->redactions : "{}", r->denied ? r->denied : "null");
    for (uint32_t i = 0; i < r->nlate; i++) {
        const struct interp__late *l = &r->late[i];
        interp__buf_fmt(b, "%s{\"stream\":\"%s\",", i ? "," : "", l->stream == INTERP_STREAM_STDOUT ? "stdout" : "stderr");
        bytes(b, l->data.p ? (const char *)l->data.p : "", l->data.len);
        interp__buf_fmt(b, ",\"offset\":%" PRIu64 ",\"exec\":%" PRIu64 "}", l->offset, l->exec);
    }
    interp__buf_fmt(b, "],\"late_dropped_bytes\":%" PRIu64, r->late_dropped);
    word(b, "session", r->session);
    interp__buf_fmt(b, ",\"exec\":%" PRIu64, r->number);
    word(b, "language", r->language);
    word(b, "kernel", r->kernel);
    interp__buf_str(b, "}");
}
