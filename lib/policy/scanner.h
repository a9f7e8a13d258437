/* scanner.h - what the scanners of Python and JavaScript have in common: whom they tell, texts put together from literals, code in the texts */
#ifndef INTERP_LIB_POLICY_SCANNER_H
#define INTERP_LIB_POLICY_SCANNER_H
#include "literal.h"
#include "scan.h"

struct scanner;
struct scanner_kind { size_t size; int (*scan)(struct scanner *s, const char *p, size_t n, uint32_t line); };   /* size: of the scanner that begins with a struct scanner */
struct scanner {
    const struct scanner_kind *kind;
    const struct interp__mem *mem;
    policy_take *take;
    void *userdata;
    int result, bad;                   /* bad: no memory */
    unsigned deep;                     /* code in the code */
    struct literals literals;
    struct aliases *aliases;           /* of the code and of all that is in it */
};

int  interp__scanner_run(const struct scanner_kind *kind, const struct interp__mem *m, const char *p, size_t n, uint32_t line, policy_take *take, void *userdata);
void interp__scanner_give(struct scanner *s, enum policy_kind kind, const void *p, size_t n, uint32_t line);
void interp__scanner_inside(struct scanner *s, const char *p, size_t n, uint32_t line);   /* code in a text is read as code */
/* The end of a scan: what it comes to. token: the lexer's buffer, freed; unsure: NULL, or what could not be read with certainty. */
int  interp__scanner_end(struct scanner *s, struct interp__buf *token, const char *unsure, uint32_t line);
#endif
