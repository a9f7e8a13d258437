/* test_policy.c - screening rules against code that names things in every way its language has: what must be seen, and what must not.
   SPDX-License-Identifier: MIT */
#include "policy_check.h"
#include "policy/scan.h"

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

TEST(python_loaders)
{
    static const char *const no[] = {
        "import_module('so' 'cket')", "importlib.import_module(name='socket')", "from importlib import import_module as im; im('socket')",
        "from importlib import (\n import_module as im,\n)\nim('socket')", "__import__(name='socket')", "import importlib as i; i.import_module('socket')",
        "i.import_module('so' + 'cket')", "im = __import__\nim('socket')", "im = importlib.import_module; x = im('socket')", "(im := __import__)('socket')",
        "im: object = __import__; im('socket')", "getattr(importlib, 'import_module')('socket')", "getattr(b, '__imp' 'ort__')('socket')", "vars(b)['__import__']('socket')",
        "f = getattr(b, '__import__'); f('socket')", "__import__(f'socket')", "__import__(f'so' 'cket')", "import_module(\n  name = 'socket'\n)",
        "import_module(package='x', name='socket')", "import_module('.socket', 'socket')", "import_module('.x', package='socket')", "exec('import socket')",
        "exec('import so' + 'cket')", "eval(\"__import__('socket')\")", "exec(compile('import socket', '', 'exec'))", "e = exec; e('import socket')",
        "exec('''exec(\"import socket\")''')", "sys.modules['socket']", "runpy.run_module('socket')", "(__import__)('socket')", "__import__(('socket'))",
        "f\"{import_module('so' f'cket')}\"", "x = {'a': importlib.import_module}\nx = 1; importlib.import_module('socket')", "f'{x}' + __import__('socket')",
        "f'a{f\"{1}\"}b' 'c'; import socket", "def f(i=__import__):\n  i('socket')", "from builtins import __import__ as z\nz('socket')", "exec(f'import socket; {x}')", NULL };
    static const char *const yes[] = {
        "import_module('sockets')", "'socket'", "print('import socket')", "x = 'so' + 'cket'", "import_module(x)", "import_module('a', 'socket')", "f'{x}socket'",
        "exec('x = 1')", "exec(x)", "sys.modules[__name__]", "im = 1; im('socket')", "eval('1 + 1')", "x = f'a{b!r:>{w}}c'", "name = 'socket'",
        "def import_module(name='socket'): pass", NULL };
    named("{\"imports\":{\"deny\":[\"socket\"]}}", "python", no, "imports", "socket");
    all("{\"imports\":{\"deny\":[\"socket\"]}}", "python", yes, "");
}
TEST(python_loaders_allow_list)
{
    static const char *const rules = "{\"imports\":{\"allow\":[\"json\",\"importlib\",\"sys\"]}}";
    static const char *const no[] = {
        "e = exec; e('1')", "import_module(x)", "im = __import__", "import_module(*['os'])", "import_module(**{'name':'os'})", "import_module(name=x)",
        "import_module(package='x', name=y)", "import_module(f'{x}')", "import_module('a' + x)", "import_module('.a')", "import_module(package='x')", "sys.modules['os']",
        "exec(code)", "import_module('%s' % x)", "import_module('a'.upper())", NULL };
    static const char *const yes[] = {
        "import_module('json')", "importlib.import_module(name='json')", "import json as j", "sys.modules[__name__]", "model.eval()", "re.compile('x')",
        "__import__('json', fromlist=['os'])", NULL };
    all(rules, "python", no, "imports");
    all(rules, "python", yes, "");
}
TEST(python_paths)
{
    static const char *const deny = "{\"paths\":{\"deny\":[\"/etc\"]}}", *const allow = "{\"paths\":{\"allow\":[\"/workspace\",\"/tmp\"]}}";
    static const char *const denied[] = {
        "open(f'/etc/{n}')", "open('/et' 'c/hostname')", "open('/et' + 'c/hostname')", "open('/etc/' + n)", "open(f'/et' f'c/{n}')", "open(f'/etc{n}')", "open(rf'/etc/{n}')",
        "open(f'''/etc/{\nn}''')", "open('/etc/%s' % n)", "open('/etc/{}'.format(n))", "open(f'/tmp/{n}/../../etc/x')", "open(f'{open(\"/etc/x\")}')",
        "open(f'{x:{\"/etc/x\"}}')", "open('/etc' + '/x'.lower())", "open(f'/e\\x74c/{n}')", "open(f'/{{}}/../etc/{n}')", "open((\n'/et'\n'c/x'))", "exec(\"open('/etc/x')\")",
        "[f'{a}', '/etc/x']", "f'{a}/x', '/etc/x'", "f'/etc/passwd'", NULL };
    static const char *const not_denied[] = {
        "open(f'/tmp/{n}')", "open('/et' + x)", "open(f'/{n}')", "x = '/et'\ny = 'c/'", "open(f'{n}/etc/x')", "'see /etc/x'", "f'/e{{tc/x'", "open(f'/etcetera/{n}')",
        "'/et', 'c/x'", "f'{x:/etc/x}'", NULL };
    static const char *const not_allowed[] = {
        "open(f'/{n}')", "open(f'/etc/{n}')", "open(f'/work{n}')", "open('/' + n)", "open(f'/tmp{n}')", NULL };
    static const char *const allowed[] = {
        "open(f'/tmp/{n}')", "open(f'/tmp/a{n}')", "open('/work' 'space/x')", "open(f'data_{n}.csv')", "f'{a}/{b}'", "open('/workspace/' + n)", NULL };
    all(deny, "python", denied, "paths");
    all(deny, "python", not_denied, "");
    all(allow, "python", not_allowed, "paths");
    all(allow, "python", allowed, "");
    CHECK_STR(check("{\"paths\":{\"deny\":[\"/etc\"]},\"dynamic\":\"deny\"}", "python", "open(f'/{n}')"), "paths");
    CHECK_STR(check("{\"paths\":{\"deny\":[\"/etc\"]},\"dynamic\":\"deny\"}", "python", "open(f'/tmp/{n}')"), "");
}
TEST(javascript_loaders)
{
    static const char *const no[] = {
        "require('n' + 'et')", "import(`net`)", "import('n' + `et`)", "const r = require; r('net')", "const r = require\nr('net')", "let r; r = module.require; r('net')",
        "require?.('net')", "(0, require)('net')", "(require)('net')", "createRequire(import.meta.url)('net')", "const q = createRequire(import.meta.url); q('net')",
        "import {createRequire as c} from 'module'; const q = c(u); q('node:net')", "const {createRequire: c} = require('module'); c(u)('net')", "module['require']('net')",
        "module['re' + 'quire']('net')", "module[`createRequire`](u)('net')", "require.call(null, 'net')", "require.apply(this, ['net'])", "require.bind(null)('net')",
        "eval('require(\"net\")')", "new Function('return require(\"net\")')()", "e = eval; e(\"require('net')\")", "const g = process.getBuiltinModule; g('net')",
        "eval(`require('net')`)", "`${`${require('ne' + 't')}`}`", "process['getBuiltinModule']('net')", "function f(r = require) { r('net') }", "`a${x}` + require('net')",
        "const {require: r} = module; r('net')", "x = {r: require}; require('net')", NULL };
    static const char *const yes[] = {
        "require(x)", "'net'", "import(`${x}`)", "const r = require; r('network')", "x = `a${b}net`", "require('net' + x)", "createRequire(u)", "typeof require",
        "let cb: Function\nx('a')", "eval('1')", "import.meta.url", "require.resolve('net')", NULL };
    all("{\"imports\":{\"deny\":[\"net\"]}}", "javascript", no, "imports");
    all("{\"imports\":{\"deny\":[\"net\"]}}", "javascript", yes, "");
}
TEST(javascript_loaders_allow_list)
{
    static const char *const rules = "{\"imports\":{\"allow\":[\"path\",\"module\"]}}";
    static const char *const no[] = {
        "require(x)", "import(`${x}`)", "const r = require", "require('path' + x)", "eval(x)", "new Function('x')", "require.call(n, 'path')", "import(`p${x}`)",
        "require('path'.trim())", "require(`net`)", NULL };
    static const char *const yes[] = {
        "require('path')", "import p from 'path'", "import('pa' + 'th')", "x = {require: 1}", "const a = 1\nlet cb: Function = f\na('x')", "require.resolve('path')", NULL };
    all(rules, "javascript", no, "imports");
    all(rules, "javascript", yes, "");
}
TEST(javascript_paths)
{
    static const char *const deny = "{\"paths\":{\"deny\":[\"/etc\"]}}", *const allow = "{\"paths\":{\"allow\":[\"/workspace\",\"/tmp\"]}}";
    static const char *const denied[] = {
        "read(`/etc/${x}`)", "read('/et' + 'c/x')", "read('/etc/' + x)", "read(`/tmp/${x}/../../etc/p`)", "read(`${read('/etc/x')}`)", "read(`/et` + `c/${x}`)",
        "eval(\"read('/etc/x')\")", "`a${1}b`; '/etc/x'", "`/e\\x74c/${x}`", NULL };
    static const char *const not_denied[] = {
        "read(`/tmp/${x}`)", "read(`/${x}`)", "read(`${x}/etc/y`)", "a = '/et'; b = 'c/'", "`/etcetera/${x}`", NULL };
    static const char *const not_allowed[] = {
        "read(`/${x}`)", "read(`/work${x}`)", "read('/' + x)", NULL };
    static const char *const allowed[] = {
        "read(`/tmp/${x}`)", "read('/tmp/' + x)", "`${a}/${b}`", NULL };
    all(deny, "javascript", denied, "paths");
    all(deny, "javascript", not_denied, "");
    all(allow, "typescript", not_allowed, "paths");
    all(allow, "typescript", allowed, "");
}
TEST(shell_paths)
{
    static const char *const deny = "{\"paths\":{\"deny\":[\"/etc\"]}}", *const allow = "{\"paths\":{\"allow\":[\"/workspace\",\"/tmp\"]}}";
    static const char *const denied[] = {
        "cat /etc/*", "cat /etc/p?", NULL };
    static const char *const not_denied[] = {
        "cat /et$x/y", NULL };
    static const char *const not_allowed[] = {
        "ls /*", "ls /t*", "cat /{etc,x}", "cat /e$x", NULL };
    static const char *const allowed[] = {
        "ls /tmp/*", "cat /tmp/$x", "ls *.c", "ls /workspace/{a,b}", NULL };
    all(deny, "bash", denied, "paths");
    all(deny, "bash", not_denied, "");
    all(allow, "bash", not_allowed, "paths");
    all(allow, "bash", allowed, "");
}

TEST(sizes_and_languages)
{
    CHECK_STR(check("{\"languages\":[\"python\"]}", "bash", "ls"), "languages");
    CHECK_STR(check("{\"languages\":[\"python\"]}", "python", "1"), "");
    CHECK_STR(check("{\"code_bytes\":3}", "python", "1234"), "code_bytes");
    CHECK_STR(check("{\"code_bytes\":4}", "python", "1234"), "");
    CHECK_STR(check("{}", "bash", "curl /etc/passwd"), "");
}

/* Code in a text in code: to a limit, and there it ends as uncertain. */
TEST(code_depth)
{
    static const char *const languages[] = { "python", "javascript" }, *const calls[] = { "exec", "eval" };
    for (int k = 0; k < 2; k++)
        for (int levels = 4; levels <= 10; levels += 6) {
            struct interp__buf a, b;
            interp__buf_init(&a, &interp__mem_default);
            interp__buf_str(&a, "x");
            for (int i = 0; i < levels; i++) {
                interp__buf_init(&b, &interp__mem_default);
                interp__buf_fmt(&b, "%s('", calls[k]);
                for (size_t at = 0; at < a.len; at++)
                    interp__buf_fmt(&b, a.p[at] == '\'' || a.p[at] == '\\' ? "\\%c" : "%c", a.p[at]);
                interp__buf_str(&b, "')");
                interp__buf_free(&a);
                a = b;
            }
            CHECK_STR(check("{\"imports\":{\"deny\":[\"os\"]}}", languages[k], interp__buf_text(&a)), levels > 8 ? "imports" : "");
            CHECK(levels <= 8 || strstr(policy_said.reason, "can't be read with certainty"));
            interp__buf_free(&a);
        }
}

static int none(void *userdata, enum policy_kind kind, const char *name, size_t n, uint32_t line)
{
    (void)userdata, (void)kind, (void)name, (void)n, (void)line;
    return 0;
}
/* What nests, repeats and never ends: each scan ends soon, whatever stands there. */
TEST(hostile)
{
    static const char *const pieces[] = { "f'{", "f'''{x:{", "`${", "$(", "$((", "${x:-", "`", "<<E\n", "(", "{", "case x in ", "a=(", "$'", "\"$(", "eval '", "sh -c \"", "import a,", "from x import (", "__import__('a' ", "/[", "<(", "?(", "\\", "((", "f() {", "$(( $(", "@(", "\"${x:-", "[[ a =~ (", "sudo -u ", "alias a='", "env -S '", "exec('", "f'{exec('", "a = require; ", "i = __import__\n", "'a' + ", "f'a{x}' ", "`a${x}` + ", "eval(\"", "bash -c \"$x " };
    enum { SIZE = 200000 };
    char *code = malloc(SIZE + 16);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t k = strlen(pieces[i]), n = 0;
        while (n + k <= SIZE) {
            memcpy(code + n, pieces[i], k);
            n += k;
        }
        uint64_t from = tap_cpu_ns();
        CHECK(interp__scan_python(&interp__mem_default, code, n, 1, none, NULL) >= 0);
        CHECK(interp__scan_javascript(&interp__mem_default, code, n, 1, none, NULL) >= 0);
        CHECK(interp__scan_shell(&interp__mem_default, code, n, 1, 1, none, NULL) >= 0);
        CHECK(interp__scan_shell(&interp__mem_default, code, n, 1, 0, none, NULL) >= 0);
        if (tap_cpu_ns() - from > UINT64_C(30000000000))
            tap_fail(__FILE__, __LINE__, "\"%s\" takes %u ms", pieces[i], (unsigned)((tap_cpu_ns() - from) / 1000000));
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
