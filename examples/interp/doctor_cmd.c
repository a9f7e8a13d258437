/* doctor_cmd.c - `interp doctor`.
   SPDX-License-Identifier: MIT */
#include "cli.h"
#include "doctor.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_flag(void *arg)
{
    *(int *)arg = 1;
}

static interp_status wait_for(interp_ctx *x, const int *done, interp_error **err)
{
    interp_status st = INTERP_OK;
    while (!*done && st >= 0) {
        struct pollfd p = { .fd = interp_ctx_fd(x), .events = POLLIN };
        if (st != INTERP_AGAIN && poll(&p, 1, -1) < 0 && errno != EINTR)
            return INTERP_E_IO;
        st = tasks_dispatch(x, err);
    }
    return st < 0 ? st : INTERP_OK;
}

static int print_found(const struct doctor *d, int json)
{
    if (json) {
        struct buf out = { 0 };
        buf_text(&out, "{\"version\":");
        buf_string(&out, interp_version(), strlen(interp_version()));
        buf_text(&out, ",");
        doctor_members(d, &out);
        buf_text(&out, "}\n");
        fwrite(out.p, 1, out.len, stdout);
        buf_free(&out);
    } else {
        const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
        doctor_table(d, isatty(STDOUT_FILENO) && (!no_colour || !*no_colour) && term && strcmp(term, "dumb"));
    }
    if (fflush(stdout)) {
        fprintf(stderr, "interp doctor: can't write to standard output: %s\n", strerror(errno));
        return 1;
    }
    return doctor_usable(d) ? 0 : 1;
}

int cmd_doctor(int argc, char **argv)
{
    int json = 0, done = 0, code = 1;
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--json"))
            json = 1;
        else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return help_print(stdout, "doctor") < 0 || fflush(stdout) ? 1 : 0;
        else
            return usage_error("doctor", "not expected", argv[i]);
    }
    interp_ctx *x = NULL;
    interp_error *err = NULL;
    interp_status st = interp_ctx_new(INTERP_CTX_LOOP, &x, &err);
    if (st == INTERP_OK) {
        struct doctor *d = doctor_start(x, set_flag, &done);
        st = wait_for(x, &done, &err);
        if (st == INTERP_OK)
            code = print_found(d, json);
        doctor_free(d);
    }
    if (st != INTERP_OK && err)
        error_print(err);
    else if (st != INTERP_OK)
        fprintf(stderr, "interp doctor: failed (%s)\n", interp_status_name(st));
    interp_error_free(err);
    interp_ctx_free(x);
    return code;
}
