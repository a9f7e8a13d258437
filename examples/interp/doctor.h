/* doctor.h - what works on this machine, found by doing it through the public API.
   SPDX-License-Identifier: MIT */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H
#include "buf.h"
#include "task.h"

#define DOCTOR_LEVELS    4
#define DOCTOR_DEFAULT   2 /* the first ones are what a session accepts that asks for none */
#define DOCTOR_LANGUAGES 4
#define DOCTOR_ENGINES   2

/* A session with this floor: what it got, or why there is none. */
struct doctor_level {
    const char *name;
    int usable;
    char *isolation, *reached; /* JSON text of a string and of an object; NULL unless usable */
    interp_error *error;       /* NULL when usable */
};

struct doctor_language {
    const char *name;
    int tried, usable;
    char *version, *path;            /* when usable */
    char *outcome, *cause, *message, *remedy; /* otherwise */
};

/* A container engine: what it offers, or what is wrong. */
struct doctor_engine {
    const char *name;
    int usable;
    char *offers;              /* JSON object */
    interp_error *error;       /* NULL when usable */
};

struct doctor;

/* Starts. It goes on by the news of its own calls; done(arg) comes once, perhaps at once, when it has ended. */
struct doctor *doctor_start(interp_ctx *x, void (*done)(void *arg), void *arg);
/* Ends early what still runs; NULL is fine. */
void doctor_free(struct doctor *d);

int doctor_usable(const struct doctor *d);
const struct doctor_level *doctor_levels(const struct doctor *d);
const struct doctor_language *doctor_languages(const struct doctor *d);
const struct doctor_engine *doctor_engines(const struct doctor *d);
/* "backends":[…] without braces around it. */
void doctor_members(const struct doctor *d, struct buf *out);

/* doctor_table.c: the same for people, to standard output. */
void doctor_table(const struct doctor *d, int colour);

#endif
