/* box_args.h - what the arguments of a command say about its sandbox: shared by run and repl.
   SPDX-License-Identifier: MIT */
#ifndef CLI_BOX_ARGS_H
#define CLI_BOX_ARGS_H
#include "cli.h"

struct box_args {
    const char *isolation, *backend, *image, *pull, *endpoint, *runtime, *user, **env, **mounts, **runtimes, **interpreters;
    size_t env_count, mount_count, runtime_count, interpreter_count;
    uint64_t timeout_ms, memory_bytes; /* 0: not given */
};
/* The value of the option at argv[*i]: after its '=', or the next argument. NULL when this is another option. *missing when it has no value. */
const char *option_value(const char *name, int argc, char **argv, int *i, int *missing);
/* Adds v to a list that grows; the caller frees it. */
void keep_word(const char ***list, size_t *count, const char *v);
/* Takes the option at argv[*i] when it is one of a sandbox: 0 taken, 1 another one (or *missing its value), else an exit code. */
int box_args_take(struct box_args *b, const char *command, int argc, char **argv, int *i, int *missing);
/* A new config that says what the arguments say. */
interp_status box_args_config(const struct box_args *b, interp_ctx *x, interp_config **out, interp_error **err);
void box_args_free(struct box_args *b);

#endif
