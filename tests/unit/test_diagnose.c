/* test_diagnose.c - what is read out of compilers' texts (lib/core/diagnose.c), with the patterns of the built-in languages and others; and its bounds.
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "core/oneshot.h"

static const struct interp__oneshot *language(const char *name)
{
    static interp_ctx *x;
    struct interp__oneshot *o = NULL;
    if (!x)
        REQUIRE(interp_ctx_new(0, &x, NULL) == INTERP_OK);
    REQUIRE(interp__languages_builtin(x, &o, NULL) == INTERP_OK);
    while (o && strcmp(o->language.name, name))
        o = o->next;
    REQUIRE(o);
    return o;
}
static int is(struct interp__span s, const char *want) { return s.len == strlen(want) && (!s.len || !memcmp(s.p, want, s.len)); }

struct want { const char *language; int run; const char *source, *text; struct { int severity; const char *file, *message, *code, *type; unsigned line, column; } d[4]; unsigned count, frames; };
enum { E = INTERP__SEV_ERROR, W = INTERP__SEV_WARNING, N = INTERP__SEV_NOTE };
static const struct want rows[] = {
    { "c", 0, "main.c", "In file included from main.c:1:\nutil.h:2:1: error: unknown type name 'in'; did you mean 'int'?\r\n    2 | in x;\n      | ^~\nmain.c: In function 'main':\nmain.c:7:9: warning: unused variable 'y' [-Wunused-variable]\n"
      "main.c:9:1: fatal error: no.h: No such file or directory\n/usr/bin/ld: /tmp/ccA.o: in function `main':\n/tmp/b/src/main.c:11: undefined reference to `f'\ncollect2: error: ld returned 1 exit status\n",
      { { E, "util.h", "unknown type name 'in'; did you mean 'int'?", "", "", 2, 1 }, { W, "main.c", "unused variable 'y' [-Wunused-variable]", "", "", 7, 9 }, { E, "main.c", "no.h: No such file or directory", "", "", 9, 1 },
        { E, "/tmp/b/src/main.c", "undefined reference to `f'", "", "", 11, 0 } }, 5, 0 },
    { "rust", 0, "main.rs", "error[E0308]: mismatched types\n --> main.rs:2:18\n  |\n2 |     let x: i32 = \"x\";\n  |            ---   ^^^ expected `i32`, found `&str`\n\nwarning: unused variable: `y`\n  --> main.rs:3:9\nerror: aborting due to 1 previous error; 1 warning emitted\n\nFor more information about this error, try `rustc --explain E0308`.\n",
      { { E, "main.rs", "mismatched types", "E0308", "", 2, 18 }, { W, "main.rs", "unused variable: `y`", "", "", 3, 9 }, { E, "", "aborting due to 1 previous error; 1 warning emitted", "", "", 0, 0 } }, 3, 2 },
    { "rust", 1, "main.rs", "\nthread 'main' panicked at /tmp/.interp-0/src/main.rs:2:5:\noops: it is bad\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n", { { E, "/tmp/.interp-0/src/main.rs", "oops: it is bad", "", "panic", 2, 5 } }, 1, 0 },
    { "rust", 1, "main.rs", "thread 'main' panicked at 'oops', main.rs:2:5\n", { { E, "main.rs", "oops", "", "panic", 2, 5 } }, 1, 0 },
    { "java", 0, "Main.java", "Main.java:3: error: incompatible types: String cannot be converted to int\n        int x = \"a\";\n                ^\nMain.java:9: warning: [removal] f() in A has been deprecated\n1 error\n",
      { { E, "Main.java", "incompatible types: String cannot be converted to int", "", "", 3, 17 }, { W, "Main.java", "[removal] f() in A has been deprecated", "", "", 9, 0 } }, 2, 0 },
    { "java", 1, "Main.java", "Exception in thread \"main\" java.lang.NumberFormatException: For input string: \"x\"\n\tat java.base/java.lang.Integer.parseInt(Integer.java:652)\n\tat Main.f(Main.java:5)\n\tat Main.main(Main.java:9)\n",
      { { E, "Main.java", "For input string: \"x\"", "", "java.lang.NumberFormatException", 5, 0 } }, 1, 3 },
    { "go", 0, "main.go", "# command-line-arguments\n./main.go:4:2: undefined: x\n./main.go:9: too many errors\n", { { E, "./main.go", "undefined: x", "", "", 4, 2 }, { E, "./main.go", "too many errors", "", "", 9, 0 } }, 2, 0 },
    { "go", 1, "main.go", "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/tmp/.interp-0/src/main.go:6 +0x1d\nexit status 2\n", { { E, "/tmp/.interp-0/src/main.go", "runtime error: index out of range [3] with length 3", "", "panic", 6, 0 } }, 1, 1 },
    { "typescript", 0, "main.ts", "main.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n", { { E, "main.ts", "Type 'string' is not assignable to type 'number'.", "TS2322", "", 3, 7 } }, 1, 0 },
    { "typescript", 1, "main.ts", "/tmp/.interp-0/src/main.ts.js:3\n  throw new TypeError('x: y')\n        ^\n\nTypeError: x: y\n    at f (/tmp/.interp-0/src/main.ts.js:3:9)\n    at Object.<anonymous> (/tmp/.interp-0/src/main.ts.js:5:1)\n    at Module._compile (node:internal/modules/cjs/loader:1554:14)\n\nNode.js v22.14.0\n",
      { { E, "/tmp/.interp-0/src/main.ts.js", "x: y", "", "TypeError", 3, 9 } }, 1, 2 },
    { "ruby", 1, "main.rb", "/x/src/main.rb:2:in `Integer': invalid value for Integer(): \"x\" (ArgumentError)\n\tfrom /x/src/main.rb:2:in `f'\n\tfrom /x/src/main.rb:3:in `<main>'\n", { { E, "/x/src/main.rb", "invalid value for Integer(): \"x\"", "", "ArgumentError", 2, 0 } }, 1, 2 },
    { "perl", 1, "main.pl", "syntax error at /x/src/main.pl line 1, near \"= ;\"\nExecution of /x/src/main.pl aborted due to compilation errors.\n", { { E, "/x/src/main.pl", "syntax error", "", "SyntaxError", 1, 0 } }, 1, 0 },
    { "perl", 1, "main.pl", "a at b at /x/src/main.pl line 7, <STDIN> line 3.\n", { { E, "/x/src/main.pl", "a at b", "", "Died", 7, 0 } }, 1, 0 },
    { "php", 1, "main.php", "PHP Parse error:  syntax error, unexpected token \";\" in /x/src/main.php on line 2\n", { { E, "/x/src/main.php", "syntax error, unexpected token \";\"", "", "ParseError", 2, 0 } }, 1, 0 },
    { "php", 1, "main.php", "PHP Fatal error:  Uncaught LogicException: oops in /x/src/main.php:2\nStack trace:\n#0 {main}\n  thrown in /x/src/main.php on line 2\n", { { E, "/x/src/main.php", "oops", "", "LogicException", 2, 0 } }, 1, 0 },
    { "lua", 1, "main.lua", "lua5.4: /x/src/main.lua:2: attempt to index a nil value (local 'x')\nstack traceback:\n\t[C]: in ?\n", { { E, "/x/src/main.lua", "attempt to index a nil value (local 'x')", "", "Error", 2, 0 } }, 1, 0 },
    { "r", 1, "main.R", "Error in f(x) : no good\nCalls: f -> stop\nExecution halted\n", { { E, "", "no good", "", "Error", 0, 0 } }, 1, 0 },
};

TEST(texts)
{
    struct interp__diagnosis d;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct want *w = &rows[i];
        const struct interp__oneshot *o = language(w->language);
        interp__diagnose(w->run ? o->run_errors : o->errors, w->run ? o->nrun_errors : o->nerrors, w->source, w->text, strlen(w->text), &d);
        if (d.count != w->count || d.frames != w->frames)
            tap_fail(__FILE__, __LINE__, "row %zu (%s): %u diagnostics, %u frames, not %u and %u", i, w->language, d.count, d.frames, w->count, w->frames);
        for (unsigned k = 0; k < d.count && k < 4 && w->d[k].severity; k++) {
            const struct interp__diag *g = &d.diag[k];
            if (g->severity != w->d[k].severity || !is(g->file, w->d[k].file) || !is(g->message, w->d[k].message) || !is(g->code, w->d[k].code) || !is(g->type, w->d[k].type) || g->line != w->d[k].line ||
                g->column != w->d[k].column)
                tap_fail(__FILE__, __LINE__, "row %zu (%s), %u: severity %d, %.*s:%u:%u, \"%.*s\", code %.*s, type %.*s", i, w->language, k, g->severity, (int)g->file.len, g->file.len ? g->file.p : "", g->line, g->column,
                         (int)g->message.len, g->message.len ? g->message.p : "", (int)g->code.len, g->code.len ? g->code.p : "", (int)g->type.len, g->type.len ? g->type.p : "");
        }
    }
}

TEST(patterns)
{
    static const struct { const char *pattern, *line; int ok; } row[] = {
        { "a%%b", "a%b", 1 }, { "a b", "a \t b", 1 }, { "a b", "ab", 0 }, { "%l", "12", 1 }, { "%l", "12x", 0 }, { "%l", "1234567890", 0 }, { "%f:%l", "a b:3", 1 }, { "%f:%l", ":3", 0 }, { "%*", "", 1 }, { "%m", "", 0 },
        { "+x", "   x", 1 }, { "x", "   x", 0 }, { "^", "  ~~^~~", 1 }, { "^", "x ^", 0 }, { "^", "   ", 0 }, { "%s: %m", "errors: x", 0 }, { "%s: %m", "internal compiler error: x", 1 }, { "%e: %m", "TypeError: x", 1 },
        { "%e: %m", "note: x", 0 }, { "%*a%*b%*c", "xxaxxbxxc", 1 }, { "%*a%*b%*c", "xxaxxbxx", 0 }, { "%i", "_a$1", 1 }, { "%i", "1a", 0 }, { "%m in %f", "x in y in z", 1 }, { "x", "x  \r", 1 }, { "%k]", "E0308]", 1 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct interp__match m;
        uint32_t steps = 20000;
        if (interp__pattern_match(row[i].pattern, row[i].line, strlen(row[i].line), &m, &steps) != row[i].ok)
            tap_fail(__FILE__, __LINE__, "%s on \"%s\" is not %d", row[i].pattern, row[i].line, row[i].ok);
    }
    static const char *const wrong[] = { "", "+", "%", "%z", "a%", "^x", "%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m%m" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(interp__pattern_wrong(wrong[i]) != NULL);
    char big[300];
    memset(big, 'a', sizeof big);
    big[299] = 0;
    CHECK(interp__pattern_wrong(big) != NULL && interp__pattern_wrong(big + 99) == NULL);
}

/* A pattern that could go back and forth for ever, over a text made for it: the work ends, and what is found is bounded. */
TEST(bounded)
{
    static const struct interp__pattern evil[] = { { "%*a%*a%*a%*a%*a%*a%*a%*a%*b", NULL, 0 }, { "%f:%l: %m", NULL, 0 }, { "+at %f:%l", NULL, 0 } };
    static char text[4 << 20];
    struct interp__diagnosis d;
    memset(text, 'a', sizeof text);
    for (size_t i = 1000; i < sizeof text; i += 1000)
        text[i] = '\n';
    interp__diagnose(evil, 3, "x", text, sizeof text, &d);
    CHECK_INT(d.count, 0);
    size_t n = 0;
    while (n + 64 < sizeof text)
        n += (size_t)snprintf(text + n, 64, "f:1: m\nat f:2\n");
    interp__diagnose(evil + 1, 2, "f", text, n, &d);
    CHECK_INT(d.count, INTERP__DIAGS_MAX);
    CHECK_INT(d.frames, INTERP__FRAMES_MAX);
    interp__diagnose(evil + 1, 2, "f", "f:1: m", 6, &d);   /* no newline, no NUL */
    CHECK_INT(d.count, 1);
    interp__diagnose(evil + 1, 2, "", "", 0, &d);
    CHECK_INT(d.count, 0);
}

TAP_MAIN()
