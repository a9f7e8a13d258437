/* bench.h - shared by the parts of interp-bench.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_TESTS_BENCH_H
#define INTERP_TESTS_BENCH_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <interp/interp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

extern char **environ;

/* ---- figures */
struct samples { double v[8192]; int n; };
void samples_add(struct samples *s, double v);
double samples_quantile(struct samples *s, double q);
/* One line {name, median, p90, floor, ratio, unit, n}; floor NULL: none. */
void report(const char *name, const char *unit, struct samples *s, struct samples *floor);
void note(const char *name, const char *why);          /* a bench that could not be run */
double now_ms(void);
extern int quick;
int count(int full);                                   /* rounds: a tenth with --quick, at least 5 */

/* ---- processes */
pid_t spawn_quiet(char *const argv[]);                 /* null on 0, 1, 2; -1 when it cannot be started */
int wait_status(pid_t pid);
double run_quiet_ms(char *const argv[]);               /* spawn to exit; < 0 when it failed */
int have(const char *path);
uint64_t pss_of_tree(pid_t root, int with_root);       /* bytes, from smaps_rollup */

/* ---- the library's side: every function ends the program when something fails that must not */
interp_ctx *b_ctx(void);
interp_session *b_open(interp_ctx *x, const char *json);
interp_request *b_request(interp_ctx *x, const char *language, const char *code, const char *json);
interp_result *b_exec(interp_session *s, interp_request *r);   /* keeps r */
void b_ok(interp_result *r);                                   /* checks and frees */

#define LINES "yes 'a line of output that is as long as lines of output usually are, more or less' | head -c 100000000"
uint64_t b_stream(interp_session *s, interp_request *r, interp_result **out);   /* runs it and pulls its output: bytes */

/* ---- a helper process that answers each line with one figure */
struct helper { pid_t pid; FILE *to, *from; };
int helper_start(struct helper *h, char *const argv[]);        /* 0, or -1 */
double helper_ask(struct helper *h, const char *line);         /* < 0: it could not */
void helper_end(struct helper *h);
int ipykernel_start(struct helper *h, const char *name, char *code);   /* one that runs code (NULL: x=1) in ipykernel; -1: noted why not */

/* ---- many.c */
void many_sessions(const char *name);

/* ---- files.c */
void files_put(const char *name);
void files_get(const char *name);
void files_changes(const char *name);

/* ---- output.c */
double b_pipe_reader(char *const argv[], uint64_t want);       /* ms in which a plain reader has all that a program writes; < 0: it has not */
void output_writes(const char *name);
void output_whole_path(const char *name);
void output_flood_memory(const char *name);
void output_prints(const char *name);

/* ---- engine.c */
void docker_exec(const char *name);
void docker_open(const char *name);
void docker_lines(const char *name);
void podman_exec(const char *name);
void podman_open(const char *name);
void podman_lines(const char *name);

/* ---- driver.c: a kernel driven directly, as lib/guest/kernels/PROTOCOL.md says, without sandbox, agent or wire */
struct driver;
struct driver *driver_start(const char *language);     /* NULL: no interpreter */
double driver_exec(struct driver *d, const char *code);        /* ms; < 0 when it failed */
void driver_end(struct driver *d);
#endif
