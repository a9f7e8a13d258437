/* test_policy.c - screening rules against code that names things in every way its language has: what must be seen, and what must not.
   SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "policy/policy.h"
#include "policy/scan.h"
#include "tap.h"

static const char *check(const char *rules, const char *language, const char *code)
{
    static struct interp__verdict v;
    struct interp__json j;
    struct interp__policy *p = NULL;
    REQUIRE(!interp__json_parse(&j, &interp__mem_default, rules, strlen(rules), NULL));
    REQUIRE(!interp__policy_new(&interp__mem_default, &j, 0, &p, NULL));
    interp__json_free(&j);
    size_t n = strlen(code);
    char *copy = malloc(n ? n : 1);   /* no NUL behind it, so that a read too far shows */
    memcpy(copy, code, n);
    int r = interp__policy_check(p, language, copy, n, &v);
    free(copy);
    interp__policy_unref(p);
    REQUIRE(r >= 0);
    if (r)
        CHECK(v.rule && v.reason[0] && v.what[0]);
    return r ? v.rule : "";
}
/* Each of a list of codes, by one rule set, denied or not. */
static void all(const char *rules, const char *language, const char *const *codes, const char *want)
{
    for (; *codes; codes++) {
        const char *got = check(rules, language, *codes);
        if (strcmp(got, want))
            tap_fail(__FILE__, __LINE__, "%s \"%s\" is %s, not %s", language, *codes, *got ? got : "let through", *want ? want : "let through");
    }
}

TEST(python_denied)
{
    static const char *const codes[] = {
        "import os", "import sys, os", "import sys as s, os.path as p", "from os import path", "from os import (\n  sep,\n path as p,\n)", "from os.path import join", "x = 1; import os",
        "if True: import os", "def f():\n\timport os", "import\\\n os", "import \\\r\n os", "# c\rimport os", "'''a\nb'''; import os", "x = '\\'' ; import os", "x = \"a\\\\\"; import os",
        "x = r'\\'\nimport os", "__import__('os')", "__import__('o' 's')", "__import__('o\\x73')", "__import__ ( \n 'os', globals())", "importlib.import_module('os.path')", "f\"{__import__('os')}\"",
        "f'{x:{__import__(\"os\")}}'", "f'''{ {1: 2}[1] } {__import__('os')}'''", "f\"\\{__import__('os')}\"", "rf'\\{__import__('os')}'", "import \xef\xbd\x8f\xef\xbd\x93", "_\xef\xbc\xbf""import__('os')",
        "print(f'{{'); import os", "f'{a!r:>{w}}'; import os", "lambda: (yield)\nimport os", "x = b'''\\''''''; import os", "from os import*", "u'x'; import os", "f'{x[\"a\"]}'\nimport os", "'unterminated\nimport os", NULL };
    all("{\"imports\":{\"deny\":[\"os\"]}}", "python", codes, "imports");
}
TEST(python_let_through)
{
    static const char *const codes[] = {
        "# import os", "x = 'import os'", "'''\nimport os\n'''", "x = \"it's\" # import os", "import osx", "import xos.os", "x.import_os", "from . import os", "from .os import x", "f'{x}import os'", "f'import {x} os'",
        "rb'import os'", "obj.os", "raise X from os", "def g(): yield from os", "import json as os", "'\\\nimport os'", "f'{{import os}}'", "f'''{x}\nimport os\n'''", "__import__('json')", "__import__(name)", "eval('1')",
        "print('__import__')", "x = '\xe5\xb7\xa5\xe5\x85\xb7'", "", NULL };
    all("{\"imports\":{\"deny\":[\"os\"]}}", "python", codes, "");
}
TEST(python_allow_list)
{
    static const char *const yes[] = { "import json", "import math, json", "from math import pi", "import numpy.linalg", "from os.path import join", "x = 1", NULL };
    static const char *const no[] = { "import os", "import json, os", "from os import system", "__import__(x)", "eval('import os')", "exec(code)", "getattr(b, '__import__')('os')", "__builtins__", "i = __import__", "import \xe5\xb7\xa5",
                                      "__\xe2\x84\xb9mport__('os')", NULL };
    all("{\"imports\":{\"python\":{\"allow\":[\"json\",\"math\",\"numpy\",\"os.path\"]}}}", "python", yes, "");
    all("{\"imports\":{\"python\":{\"allow\":[\"json\",\"math\",\"numpy\",\"os.path\"]}}}", "python", no, "imports");
    CHECK_STR(check("{\"imports\":{\"deny\":[\"os\"]},\"dynamic\":\"deny\"}", "python", "__import__(x)"), "imports");
    CHECK_STR(check("{\"imports\":{\"python\":{\"deny\":[\"fs\"]}}}", "javascript", "require('fs')"), "");
}

TEST(javascript_denied)
{
    static const char *const codes[] = {
        "require('fs')", "require(\"node:fs\")", "const {readFile} = require( /* c */ `fs/promises`)", "import fs from 'fs'", "import {a as b} from \"fs\"", "import 'fs'", "await import('fs')", "export * from 'fs'", "export {x} from 'node:fs'",
        "import * as f\nfrom\n'fs'", "r\\u0065quire('fs')", "require('f\\x73')", "require('f\\u{73}')", "`${require('fs')}`", "`a${`b${require('fs')}`}`", "x = a / 2; require('fs') / 1", "x = /'/; require('fs')", "x = /[/']/; require('fs')",
        "if (x) /'/.test(y); require('fs')", "f(a) / 2; '/'; require('fs')", "// c\xe2\x80\xa8require('fs')", "/* ` */ require('fs')", "'a\\\nb'; require('fs')", "x = {a: 1} / 2; require('fs') / 1", "function f() {} /'/.test(y); require('fs')",
        "a.in / require('fs') / 1", "a++ / 2; require('fs'); 2 / a", "process.getBuiltinModule('fs')", "return /`/; require('fs')", "#!/usr/bin/node `\nrequire('fs')", "x => {}\n/'/; require('fs')", "import type X from 'fs'", "y = `\\``; require('fs')",
        "module.require('fs')", "<!-- `\nrequire('fs')", "require('fs/promises')", NULL };
    all("{\"imports\":{\"deny\":[\"fs\"]}}", "javascript", codes, "imports");
}
TEST(javascript_let_through)
{
    static const char *const codes[] = {
        "// require('fs')", "/* require('fs') */", "'require(\"fs\")'", "`require('fs')`", "/require('fs')/.test(x)", "x = {a: /require('fs')/}", "required('fs')", "require('fsx')", "require('./fs')", "const fs = 1; fs.readFile", "import x from 'path'",
        "a = b / c; d = e / f", "x.from('a')", "typeof require", "import.meta.url", "require.resolve", "let s = \"a // b\"", "a = `x ${b} y`", "", "for (const x of y) {} z = 1", NULL };
    all("{\"imports\":{\"deny\":[\"fs\"]}}", "javascript", codes, "");
    static const char *const no[] = { "require(x)", "import(`${x}`)", "const r = require", "new Function('x')", "eval(x)", "module['require']('fs')", "process.binding('fs')", "createRequire(u)", "require?.('fs')", NULL };
    all("{\"imports\":{\"allow\":[\"path\"]}}", "javascript", no, "imports");
}

TEST(shell_denied)
{
    static const char *const codes[] = {
        "curl x", "a=1 curl x", "/usr/bin/curl x", "echo a; curl x", "a && curl", "a | curl", "a || ! curl", "if true; then curl x; fi", "for i in 1 2; do curl $i; done", "while curl x; do :; done", "$(curl x)", "echo \"$(curl x)\"", "x=`curl x`",
        "echo ${x:-$(curl)}", "c'ur'l x", "c\\url x", "\"curl\" x", "$'cu\\x72l' x", "cu\\\nrl x", "(curl x)", "{ curl x; }", "cat <(curl x)", "f() { curl x; }; f", "function f { curl x; }", "case x in a) curl;; esac", "case x in (a|b) echo;; *) curl ;; esac",
        "cat <<E\n$(curl x)\nE\n", "cat <<E; curl x\nE\n", "cat <<'E'\nE\ncurl x", "cat <<-E\n\tE\ncurl x", "sh -c 'curl x'", "bash -lc \"curl x\"", "sudo -u root curl x", "env A=1 curl x", "timeout -s KILL 5 curl x", "xargs -n 1 curl", "find . -exec curl {} \\;",
        "eval 'cu''rl x'", "eval cu\"rl\" x", "trap 'curl x' EXIT", "alias l='curl x'; l", "bash <<E\ncurl x\nE", "bash <<< 'curl x'", "nohup nice -n 5 curl x &", "2>/dev/null curl x", ">out curl x", "echo $((1 + $(curl x)))", "[[ -n $(curl x) ]]", "a=($(curl x))",
        "$((1)) ; curl x", "$( (curl x) )", "$((curl x) )", "echo a # c\ncurl x", "echo 'a\nb'; curl x", "time curl x", "coproc curl x", "! curl", "echo a#b; curl x", "until false; do curl; done", "select x in a; do curl; done", "if [[ a < b ]]; then curl; fi",
        "command -v x; command curl", "exec curl x", "a=b\\\n curl x", "echo \\`; curl", "echo a &> f; curl", "echo >&2; curl", "cat <<A <<B\nx\nA\n$(curl)\nB\n", NULL };
    all("{\"commands\":{\"deny\":[\"curl\"]}}", "bash", codes, "commands");
}
TEST(shell_let_through)
{
    static const char *const codes[] = {
        "echo curl", "# curl x", "echo 'a; curl x'", "echo \"a; curl x\"", "cat <<'E'\n$(curl x)\nE\n", "cat <<E\ncurl x\nE\n", "curly x", "x=curl", "for curl in a; do :; done", "case curl in curl) echo;; esac", "[[ curl == x ]]", "a=(curl x)", "echo a >curl",
        "echo $curl ${curl}", "ls # ; curl", "echo a\\; curl", "grep 'curl' f", "(( curl + 1 ))", "cat <<-E\n\tcurl\n\tE\n", "$x", "eval \"$x\"", "sh -c \"$x\"", "", "printf '%s' \"`echo curl`\"", NULL };
    all("{\"commands\":{\"deny\":[\"curl\"]}}", "bash", codes, "");
}
TEST(shell_allow_list)
{
    static const char *const yes[] = { "ls -l", "cd /tmp && ls | grep x", "/bin/ls", "f() { ls; }; f", "if [ -f x ]; then echo y; fi", "x=1; echo $x", "for i in *; do ls \"$i\"; done", "ls > out.txt 2>&1", NULL };
    static const char *const no[] = { "cat x", "/tmp/ls", "./ls", "$cmd", "l?", "{ls,-l}", "eval \"$x\"", "bash script.sh", "echo x | sh", "source x", ". x", "ls | cat", "\"$(ls)\"", "env -S 'ls'", NULL };
    all("{\"commands\":{\"allow\":[\"ls\",\"grep\",\"bash\",\"sh\",\"env\",\"eval\",\"source\",\".\"]}}", "bash", yes, "");
    all("{\"commands\":{\"allow\":[\"ls\",\"grep\",\"bash\",\"sh\",\"env\",\"eval\",\"source\",\".\"]}}", "bash", no, "commands");
}

TEST(paths)
{
    static const char *const rules = "{\"paths\":{\"deny\":[\"/etc\",\"/proc/\"],\"allow\":[\"/workspace\",\"/tmp\",\"/etc/x\",\"/usr/bin\"]}}";
    static const char *const no[] = { "cat /etc/passwd", "cat /etc", "cat /etc/x", "cat //etc/./passwd", "cat /tmp/../etc/passwd", "cat ../etc/passwd", "cat <'/etc/passwd'", "x=/etc/y", "ls --from=/etc/y", "cat ~/x", "cat /usr/lib", "cat \"/etc/$x\"", "/bin/ls", NULL };
    static const char *const yes[] = { "cat /tmp/x", "cat x/../y", "ls /workspace", "/usr/bin/ls", "echo a/b", "cat /workspace/../tmp/x", NULL };
    all(rules, "bash", no, "paths");
    all(rules, "bash", yes, "");
    CHECK_STR(check(rules, "python", "open('/etc/passwd')"), "paths");
    CHECK_STR(check(rules, "python", "open('/e' 'tc/passwd')"), "paths");
    CHECK_STR(check(rules, "python", "open(r'/tmp/x')"), "");
    CHECK_STR(check(rules, "javascript", "read(`/etc/passwd`)"), "paths");
    CHECK_STR(check("{\"paths\":{\"deny\":[\"/etc\"]}}", "python", "open('/etcetera'); x = 'see /etc'"), "");
    CHECK_STR(check("{\"paths\":{\"deny\":[\"/\"]}}", "bash", "ls /x"), "paths");
}

TEST(sizes_and_languages)
{
    CHECK_STR(check("{\"languages\":[\"python\"]}", "bash", "ls"), "languages");
    CHECK_STR(check("{\"languages\":[\"python\"]}", "python", "1"), "");
    CHECK_STR(check("{\"code_bytes\":3}", "python", "1234"), "code_bytes");
    CHECK_STR(check("{\"code_bytes\":4}", "python", "1234"), "");
    CHECK_STR(check("{}", "bash", "curl /etc/passwd"), "");
}

static int none(void *userdata, enum policy_kind kind, const char *name, size_t n, uint32_t line)
{
    (void)userdata, (void)kind, (void)name, (void)n, (void)line;
    return 0;
}
/* What nests, repeats and never ends: each scan ends soon, whatever stands there. */
TEST(hostile)
{
    static const char *const pieces[] = { "f'{", "f'''{x:{", "`${", "$(", "$((", "${x:-", "`", "<<E\n", "(", "{", "case x in ", "a=(", "$'", "\"$(", "eval '", "sh -c \"", "import a,", "from x import (", "__import__('a' ", "/[", "<(", "?(", "\\", "((", "f() {", "$(( $(" };
    enum { SIZE = 200000 };
    char *code = malloc(SIZE + 16);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t k = strlen(pieces[i]), n = 0;
        while (n + k <= SIZE) {
            memcpy(code + n, pieces[i], k);
            n += k;
        }
        uint64_t from = tap_now_ns();
        CHECK(interp__scan_python(&interp__mem_default, code, n, 1, none, NULL) >= 0);
        CHECK(interp__scan_javascript(&interp__mem_default, code, n, 1, none, NULL) >= 0);
        CHECK(interp__scan_shell(&interp__mem_default, code, n, 1, none, NULL) >= 0);
        if (tap_now_ns() - from > UINT64_C(30000000000))
            tap_fail(__FILE__, __LINE__, "\"%s\" takes %u ms", pieces[i], (unsigned)((tap_now_ns() - from) / 1000000));
    }
    free(code);
}

/* Work that grows with the square of the code's size would not end here. */
TEST(long_code)
{
    enum { N = 4 << 20 };
    const char *const rules = "{\"commands\":{\"deny\":[\"rm\"]}}";
    char *code = malloc(N + 1);
    REQUIRE(code);
    memset(code, '}', N);   /* one word of braces, in which no comma ever comes; then one does */
    memcpy(code, "echo {", 6);
    code[N] = 0;
    CHECK_STR(check(rules, "sh", code), "");
    memcpy(code + N - 8, ",}; rm x", 8);
    CHECK_STR(check(rules, "sh", code), "commands");
    size_t at = 0;   /* functions with long names, and as many commands as there is room for */
    for (int i = 0; i < 64; i++) {
        memset(code + at, 'a' + i % 26, N / 128);
        at += N / 128;
        at += (size_t)sprintf(code + at, "%d() { :; }\n", i);
    }
    while (at + 2 < N)
        code[at++] = 'b', code[at++] = '\n';
    code[at] = 0;
    CHECK_STR(check(rules, "sh", code), "commands");   /* more than is looked at */
    free(code);
}

TEST(bad_rules)
{
    static const char *const wrong[] = { "[]", "{\"import\":{}}", "{\"imports\":[]}", "{\"imports\":{\"deny\":\"os\"}}", "{\"imports\":{\"deny\":[1]}}", "{\"imports\":{\"deny\":[\"\"]}}", "{\"imports\":{\"python\":{},\"deny\":[]}}", "{\"paths\":{\"deny\":[\"etc\"]}}",
                                         "{\"code_bytes\":0}", "{\"dynamic\":\"maybe\"}", "{\"commands\":{\"refuse\":[]}}", "{\"languages\":\"python\"}" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct interp__json j;
        struct interp__policy *p = NULL;
        interp_error *e = NULL;
        REQUIRE(!interp__json_parse(&j, &interp__mem_default, wrong[i], strlen(wrong[i]), NULL));
        CHECK(interp__policy_new(&interp__mem_default, &j, 0, &p, &e) == INTERP_E_INVAL && e && interp_error_message(e)[0]);
        interp_error_free(e);
        interp__json_free(&j);
    }
}
TAP_MAIN()
