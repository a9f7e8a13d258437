/* cli.h - the commands, and what they share.
   SPDX-License-Identifier: MIT */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include <interp/interp.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes of the command's own; those of an exec stand in outcome.c. */
enum { EXIT_USAGE = 2, EXIT_NO_SANDBOX = 125 };

/* Each command gets the arguments after its name and returns the exit code. */
int cmd_run(int argc, char **argv);
int cmd_repl(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_gc(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_help(int argc, char **argv);

/* The help text of a command to f; NULL: of the whole. 0, or -1 when there is no such command. */
int help_print(FILE *f, const char *command);
/* Says what is wrong with the arguments and where help is; returns EXIT_USAGE. */
int usage_error(const char *command, const char *what, const char *value);
/* Says on standard error what failed, why, and what to do about it. */
void error_print(const interp_error *err);

/* The library's name of a language: py is python, node is javascript and so on; any other word as it is. */
const char *language_name(const char *word);
/* "500ms", "10s", "2m", "1h", "forever" in milliseconds; "64M", "1G" in bytes. 0, or -1 when the text is neither. */
int duration_parse(const char *text, uint64_t *ms);
int size_parse(const char *text, uint64_t *bytes);

/* The exit code of `interp run` for a result. */
int outcome_exit_code(const interp_result *r);
/* One or two lines on standard error for an outcome that is not the code's own, with what to do. */
void outcome_print(const interp_result *r);

#endif
