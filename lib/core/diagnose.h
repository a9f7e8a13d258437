/* diagnose.h - what compilers and interpreters say about code, by patterns that are data (languages.json). The text is a guest's: everything is bounded,
   nothing is allocated. */
#ifndef INTERP_LIB_CORE_DIAGNOSE_H
#define INTERP_LIB_CORE_DIAGNOSE_H
#include <stddef.h>
#include <stdint.h>

enum { INTERP__PATTERN_MAX = 200, INTERP__PATTERN_TOKENS = 32, INTERP__DIAGS_MAX = 50, INTERP__FRAMES_MAX = 20 };
enum interp__severity { INTERP__SEV_NONE, INTERP__SEV_ERROR, INTERP__SEV_WARNING, INTERP__SEV_NOTE };

/* A pattern matches one whole line:
     %f file  %l line  %c column  %m message  %s severity word  %k code  %t type name  %e one that ends in Error or Exception  %i identifier  %p dotted name  %* anything  %% a percent sign
   A blank stands for one or more blanks; all else for itself. In front: + the place of what the line before began, or a frame of its stack (leading
   blanks are skipped); ^ alone a line of blanks whose caret gives the column. A pattern with a place and without %m takes the next line as its message. */
struct interp__pattern { const char *text, *type; uint8_t severity; };   /* type, severity: when the pattern has none of its own */
struct interp__span { const char *p; uint32_t len; };
struct interp__match { struct interp__span file, message, code, type, name; uint32_t line, column; uint8_t severity, has_message; };
struct interp__diag { struct interp__span file, message, code, type; uint32_t line, column; uint8_t severity, own; };
struct interp__frame { struct interp__span file; uint32_t line, column; };
struct interp__diagnosis { struct interp__diag diag[INTERP__DIAGS_MAX]; uint32_t count; struct interp__frame frame[INTERP__FRAMES_MAX]; uint32_t frames; };

const char *interp__pattern_wrong(const char *pattern);                          /* what is wrong with it, or NULL */
/* 1 when the line matches. *steps bounds the work: it is counted down, and nothing matches once it is 0. */
int interp__pattern_match(const char *pattern, const char *line, size_t n, struct interp__match *m, uint32_t *steps);
/* Reads a text; source is the name of the exec's own file: places in it win over those in others. Spans point into text. */
void interp__diagnose(const struct interp__pattern *patterns, uint32_t count, const char *source, const char *text, size_t n, struct interp__diagnosis *out);
#endif
