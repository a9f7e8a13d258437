/* outcome.c - what an outcome means on the command line: exit code and a sentence.
   SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cli.h"
#include <string.h>

static int own_code(const interp_result *r)
{
    int32_t code = interp_result_exit_code(r);
    if (code == INTERP_NONE)
        return 1;
    code &= 255;
    return code ? code : 1;
}

static int is_missing_interpreter(const interp_result *r)
{
    return interp_result_outcome(r) == INTERP_OUTCOME_ERROR && !strcmp(interp_result_cause(r), "interpreter");
}

int outcome_exit_code(const interp_result *r)
{
    int32_t sig = interp_result_signal(r);
    switch (interp_result_outcome(r)) {
    case INTERP_OUTCOME_OK:
        return 0;
    case INTERP_OUTCOME_ERROR:
        return is_missing_interpreter(r) ? 127 : own_code(r);
    case INTERP_OUTCOME_TIMEOUT:
        return 124;
    case INTERP_OUTCOME_CANCELLED:
        return 130;
    case INTERP_OUTCOME_OOM:
        return 137;
    case INTERP_OUTCOME_LIMIT:
        return 122;
    case INTERP_OUTCOME_CRASHED:
        return sig != INTERP_NONE ? 128 + (sig & 127) : own_code(r);
    case INTERP_OUTCOME_DENIED:
        return 126;
    case INTERP_OUTCOME_LOST:
        return 70;
    default:
        return 1;
    }
}

static const char *remedy(const interp_result *r)
{
    const char *cause = interp_result_cause(r);
    switch (interp_result_outcome(r)) {
    case INTERP_OUTCOME_TIMEOUT:
        return strcmp(cause, "wall") ? "" : "more time: --timeout 2m";
    case INTERP_OUTCOME_OOM:
        return "more memory: --memory 1G";
    case INTERP_OUTCOME_ERROR:
        return is_missing_interpreter(r) ? "install the interpreter on this machine; interp doctor shows which ones are found" : "";
    case INTERP_OUTCOME_LOST:
        return "run it again if running it twice does no harm; interp doctor shows whether sandboxes work here";
    default:
        return "";
    }
}

static void advise(const interp_result *r)
{
    size_t n = 0;
    const char *what = remedy(r), *hint = interp_result_hint(r, &n);
    if (*what)
        fprintf(stderr, "What to do: %s\n", what);
    else if (n)
        fprintf(stderr, "What to do: %.*s\n", (int)(n > 4096 ? 4096 : n), hint);
}

void outcome_print(const interp_result *r)
{
    size_t len = 0;
    const char *cause = interp_result_cause(r), *message = interp_result_error_message(r, &len), *what;
    char text[96];
    switch (interp_result_outcome(r)) {
    case INTERP_OUTCOME_OK:
        return;
    case INTERP_OUTCOME_ERROR:
        if (!is_missing_interpreter(r) && interp_result_ran(r) != 0) {
            advise(r);
            return;
        }
        what = "the code did not run";
        cause = "";
        break;
    case INTERP_OUTCOME_TIMEOUT:
        what = "the code took too long and was ended";
        break;
    case INTERP_OUTCOME_CANCELLED:
        what = "cancelled";
        break;
    case INTERP_OUTCOME_OOM:
        what = "the code needed more memory than the sandbox has and was ended";
        break;
    case INTERP_OUTCOME_LIMIT:
        what = "a limit of the sandbox ended the code";
        break;
    case INTERP_OUTCOME_DENIED:
        what = "policy refused the code; it did not run";
        break;
    case INTERP_OUTCOME_LOST:
        what = interp_result_ran(r) == 0 ? "the sandbox was lost; the code did not run" : "the sandbox was lost; the code may have run";
        break;
    case INTERP_OUTCOME_CRASHED:
        if (interp_result_signal(r) != INTERP_NONE)
            snprintf(text, sizeof text, "the interpreter died of signal %d (%s)", (int)interp_result_signal(r),
                     strsignal((int)interp_result_signal(r)));
        else if (interp_result_exit_code(r) != INTERP_NONE)
            snprintf(text, sizeof text, "the interpreter ended by itself with exit code %d", (int)interp_result_exit_code(r));
        else
            snprintf(text, sizeof text, "the interpreter was ended");
        what = text;
        break;
    default:
        what = interp_result_outcome_name(r);
        break;
    }
    fprintf(stderr, "interp: %s%s%s%s", what, *cause ? " (" : "", cause, *cause ? ")" : "");
    if (len)
        fprintf(stderr, ": %.*s", (int)(len > 4096 ? 4096 : len), message);
    fputc('\n', stderr);
    advise(r);
}
