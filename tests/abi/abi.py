#!/usr/bin/env python3
"""Checks of the ABI: what the headers say, what the library exports, and what both were at the last agreed state (the goldens beside this file).

  abi.py headers  --include DIR...                 each header alone: C99 pedantic, C11, C++17, -Werror, no padding in backend.h
  abi.py map      --include DIR... --map FILE      every function of the headers stands in the version script, and nothing else
  abi.py symbols  --lib FILE                       exported symbols with their version nodes, SONAME and load flags, against symbols.txt
  abi.py archive  --archive FILE                   every global of the static library begins with interp_
  abi.py layout   --include DIR...                 sizes, offsets, constants, prototypes against layout.json, under several sets of flags
  abi.py dwarf    --lib FILE --include DIR...      types and signatures as the debug information has them (abidw, abidiff), against libinterp.abi
  abi.py selftest --include DIR... --map --lib --archive   each check finds a planted break
  abi.py all      ... --update                     all but selftest; --update writes the goldens anew (a reviewed, deliberate act)

SPDX-License-Identifier: MIT"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ['base.h', 'config.h', 'files.h', 'session.h', 'result.h', 'audit.h', 'redact.h', 'backend.h', 'options.h', 'interp.h']


class Broken(Exception):
    """A check found a break."""


def run(argv, **kw):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, **kw)


def find(includes, name):
    for d in includes:
        p = os.path.join(d, 'interp', name)
        if os.path.exists(p):
            return p
    raise Broken('there is no header interp/%s' % name)


def text_of(includes, name):
    with open(find(includes, name), encoding='utf-8') as f:
        text = f.read()
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    return re.sub(r'//[^\n]*', ' ', text)


def compilers():
    found = [c for c in ('gcc', 'clang') if shutil.which(c)]
    if not found:
        found = [os.environ.get('CC', 'cc')]
    return found


# ---- headers

def check_headers(o):
    flags = ['-fsyntax-only', '-Wall', '-Wextra', '-Werror', '-Wconversion', '-Wundef', '-Wshadow'] + ['-I' + d for d in o.include]
    modes = [('c', ['-std=c99', '-pedantic', '-Wstrict-prototypes', '-Wmissing-prototypes']), ('c', ['-std=c11', '-pedantic', '-Wstrict-prototypes']), ('c++', ['-std=c++17', '-pedantic'])]
    for name in NAMES:
        find(o.include, name)
        for cc in compilers():
            for lang, std in modes:
                extra = ['-Wpadded'] if name == 'backend.h' else []
                # twice: the guard holds
                source = '#include <interp/%s>\n#include <interp/%s>\nextern int used; int used = 1;\n' % (name, name)
                r = run([cc, '-x', lang] + std + flags + extra + ['-'], input=source)
                if r.returncode:
                    raise Broken('%s alone with %s %s:\n%s' % (name, cc, ' '.join(std), r.stdout))


# ---- map

def declared(includes):
    functions = {}
    for name in NAMES:
        for m in re.finditer(r'\bINTERP_API\b([^;{}]*?)\b(interp_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;', text_of(includes, name)):
            ret, fn, args = (' '.join(x.split()) for x in m.groups())
            functions[fn] = '%s(%s)' % (ret, args)
    if len(functions) < 50:
        raise Broken('only %d functions found in the headers' % len(functions))
    return functions


def in_map(path):
    with open(path, encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', ' ', f.read(), flags=re.S)
    nodes = {}
    for node, body in re.findall(r'(INTERP_[\w.]+)\s*\{(.*?)\}', text, flags=re.S):
        for section, names in re.findall(r'(global|local)\s*:\s*([^:]*?)(?=(?:global|local)\s*:|$)', body, flags=re.S):
            for n in names.split(';'):
                n = n.strip()
                if n and section == 'global':
                    if n in nodes:
                        raise Broken('%s stands in the map twice' % n)
                    nodes[n] = node
    return nodes


def check_map(o):
    want, have = set(declared(o.include)), set(in_map(o.map))
    if want - have:
        raise Broken('declared, but not in %s: %s' % (os.path.basename(o.map), ' '.join(sorted(want - have))))
    if have - want:
        raise Broken('in %s, but not declared: %s' % (os.path.basename(o.map), ' '.join(sorted(have - want))))


# ---- symbols

def symbols_of(lib):
    r = run(['nm', '-D', '--defined-only', '--with-symbol-versions', lib])
    if r.returncode:
        raise Broken(r.stdout)
    lines = []
    for line in r.stdout.splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] != 'A':
            lines.append('%s %s' % (parts[2], parts[1]))
    r = run(['readelf', '-dW', lib])
    if r.returncode:
        raise Broken(r.stdout)
    soname = re.search(r'\(SONAME\).*\[(.*?)\]', r.stdout)
    lines.append('soname %s' % (soname.group(1) if soname else 'none'))
    lines.append('nodelete %s' % ('yes' if 'NODELETE' in r.stdout else 'no'))
    lines.append('bind-now %s' % ('yes' if re.search(r'BIND_NOW|FLAGS_1.*NOW', r.stdout) else 'no'))
    lines.append('textrel %s' % ('yes' if 'TEXTREL' in r.stdout else 'no'))
    return sorted(lines)


def golden(o, name):
    return os.path.join(o.golden, name)


def compare(o, name, text, what):
    path = golden(o, name)
    if o.update:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return
    try:
        with open(path, encoding='utf-8') as f:
            old = f.read()
    except OSError as e:
        raise Broken('no golden: %s' % e)
    if old != text:
        a, b = old.splitlines(), text.splitlines()
        gone, new = [x for x in a if x not in set(b)], [x for x in b if x not in set(a)]
        raise Broken('%s changed:\n%s' % (what, '\n'.join(['- ' + x for x in gone[:40]] + ['+ ' + x for x in new[:40]] or ['(only the order)'])))


def check_symbols(o):
    compare(o, 'symbols.txt', '\n'.join(symbols_of(o.lib)) + '\n', 'the exported symbols')


# ---- archive

def check_archive(o):
    r = run(['nm', '-g', '--defined-only', o.archive])
    if r.returncode:
        raise Broken(r.stdout)
    names = [line.split()[-1] for line in r.stdout.splitlines() if len(line.split()) == 3]
    bad = sorted(set(n for n in names if not n.startswith('interp_') and not n.startswith(('__odr_asan', '__asan_', '__tsan_', '__sanitizer'))))
    if len(names) < 50:
        raise Broken('only %d symbols in the archive' % len(names))
    if bad:
        raise Broken('globals of the archive without the prefix: %s' % ' '.join(bad[:40]))


# ---- layout

def structs_of(text):
    out = {}
    for body, name in re.findall(r'typedef\s+struct\s+\w+\s*\{(.*?)\}\s*(interp_\w+)\s*;', text, flags=re.S):
        fields = []
        for decl in body.split(';'):
            decl = ' '.join(decl.split())
            if not decl:
                continue
            m = re.search(r'\(\s*\*\s*(\w+)\s*(\[[^\]]*\])?\s*\)\s*\(', decl)
            if m:
                fields.append((m.group(1), decl))
                continue
            for part in decl.split(','):
                m = re.search(r'(\w+)\s*(\[[^\]]*\])?$', part.strip())
                if not m:
                    raise Broken('a field of %s that this check cannot read: %s' % (name, decl))
                fields.append((m.group(1), decl))
        out[name] = fields
    return out


def constants_of(raw, text):
    names = []
    for body in re.findall(r'\benum\s*\w*\s*\{(.*?)\}', text, flags=re.S):
        names += re.findall(r'\b(INTERP_\w+)\s*=', body)
        loose = [n for n in re.findall(r'\b(INTERP_\w+)\b(?!\s*=)', re.sub(r'=[^,}]*', '= ', body))]
        if set(loose) - set(names):
            raise Broken('enumerators without an explicit value: %s' % ' '.join(sorted(set(loose) - set(names))))
    for line in raw.splitlines():
        m = re.match(r'\s*#\s*define\s+(INTERP_\w+)\s+(\S.*)$', line)
        if m and not re.match(r'INTERP_(API|BEGIN_DECLS|END_DECLS|\w+_H)$', m.group(1)):
            names.append(m.group(1))
    return names


def layout_of(o):
    structs, constants, prototypes = {}, [], {}
    for name in NAMES:
        with open(find(o.include, name), encoding='utf-8') as f:
            raw = re.sub(r'/\*.*?\*/', ' ', f.read(), flags=re.S)
        text = text_of(o.include, name)
        structs.update(structs_of(text))
        constants += constants_of(raw, text)
        for m in re.finditer(r'typedef\s+([^;{}]*\(\s*\*\s*(interp_\w+)\s*\)[^;]*);', text):
            prototypes[m.group(2)] = ' '.join(m.group(1).split())
        for m in re.finditer(r'typedef\s+(\w+)\s+(interp_\w+)\s*;', text):
            prototypes[m.group(2)] = m.group(1)
    prototypes.update(declared(o.include))
    body = ['#include <interp/interp.h>', '#include <interp/backend.h>', '#include <stddef.h>', '#include <stdio.h>',
            'static void number(const char *n, long long s, unsigned long long u, int negative, int last)',
            '{ if (negative) printf("    \\"%s\\": %lld%s\\n", n, s, last ? "" : ","); else printf("    \\"%s\\": %llu%s\\n", n, u, last ? "" : ","); }']
    for s in sorted(structs):
        body.append('struct align_%s { char c; %s v; };' % (s, s))
    body += ['int main(void)', '{', 'printf("{\\n  \\"constants\\": {\\n");']
    for i, c in enumerate(sorted(set(constants))):
        body.append('number("%s", (long long)(%s), (unsigned long long)(%s), (%s) < 1 && (%s) != 0, %d);' % (c, c, c, c, c, i == len(set(constants)) - 1))
    body.append('printf("  },\\n  \\"structs\\": {\\n");')
    for i, s in enumerate(sorted(structs)):
        body.append('printf("    \\"%s\\": {\\"size\\": %%zu, \\"align\\": %%zu, \\"fields\\": {\\n", sizeof(%s), offsetof(struct align_%s, v));' % (s, s, s))
        for k, (f, _) in enumerate(structs[s]):
            body.append('printf("      \\"%s\\": {\\"offset\\": %%zu, \\"size\\": %%zu}%s\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));' % (f, '' if k == len(structs[s]) - 1 else ',', s, f, s, f))
        body.append('printf("    }}%s\\n");' % ('' if i == len(structs) - 1 else ','))
    body += ['printf("  }\\n}\\n");', 'return 0;', '}']
    source = '\n'.join(body) + '\n'
    sets = [('c', ['-std=c11']), ('c', ['-std=c99', '-fshort-enums']), ('c', ['-std=gnu11', '-D_FILE_OFFSET_BITS=64', '-D_TIME_BITS=64', '-funsigned-char']), ('c', ['-std=gnu11', '-O2', '-DNDEBUG', '-D_GNU_SOURCE']),
            ('c++', ['-std=c++17', '-Wno-invalid-offsetof'])]
    first = None
    with tempfile.TemporaryDirectory() as tmp:
        for cc in compilers():
            for lang, flags in sets:
                path, exe = os.path.join(tmp, 'layout.c'), os.path.join(tmp, 'layout')
                with open(path, 'w', encoding='utf-8') as f:
                    f.write(source)
                r = run([cc, '-x', lang] + flags + ['-w'] + ['-I' + d for d in o.include] + [path, '-o', exe])
                if r.returncode:
                    raise Broken('the layout program does not compile with %s %s:\n%s' % (cc, ' '.join(flags), r.stdout))
                out = json.loads(run([exe]).stdout)
                if first is None:
                    first = out
                elif out != first:
                    raise Broken('the layout depends on the flags: %s %s' % (cc, ' '.join(flags)))
    first['prototypes'] = prototypes
    for s in structs:                                    # types of the fields, for breaks of the same size
        for f, decl in structs[s]:
            first['structs'][s]['fields'][f]['declared'] = decl
        first['structs'][s]['order'] = [f for f, _ in structs[s]]
    return json.dumps(first, indent=1, sort_keys=True) + '\n'


def check_layout(o):
    compare(o, 'layout.json', layout_of(o), 'the layout')


# ---- the types and signatures that the compiler saw

class Missing(Exception):
    """A check can't be made here."""


def abidw(o, out):
    if not shutil.which('abidw'):
        raise Missing('there is no abidw (package abigail-tools)')
    if '.debug_info' not in run(['readelf', '-S', '--wide', o.lib]).stdout:
        raise Missing('the library has no debug information')
    headers = [w for d in o.include for w in ('--headers-dir', d)]
    r = run(['abidw', '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs', '--drop-private-types', '--exported-interfaces-only'] + headers + ['--out-file', out, o.lib])
    if r.returncode:
        raise Broken('abidw ended with %d\n%s' % (r.returncode, r.stdout))


def check_dwarf(o):
    """Any difference is a break until the golden has been written anew: an insert or a changed parameter makes abidiff answer 4, not 8."""
    with tempfile.TemporaryDirectory() as tmp:
        new = os.path.join(tmp, 'new.abi')
        abidw(o, new)
        if o.update:
            shutil.copy(new, golden(o, 'libinterp.abi'))
            return
        r = run(['abidiff', '--no-show-locs', golden(o, 'libinterp.abi'), new])
        if r.returncode:
            raise Broken('types or signatures have changed (abidiff: %d)\n%s' % (r.returncode, r.stdout))


# ---- selftest: each check must find a break that is planted for it

def expect_broken(what, check, o, done, words=''):
    try:
        check(o)
    except Broken as e:
        if words in str(e):
            done['passed'] += 1
            return
    done['failed'] += 1
    print('FAIL selftest: %s was not found' % what)


def selftest(o):
    done = {'passed': 0, 'failed': 0, 'skipped': 0}
    with tempfile.TemporaryDirectory() as tmp:
        def planted(name, edit, append=''):
            d = os.path.join(tmp, 'inc')
            shutil.rmtree(d, ignore_errors=True)
            os.makedirs(os.path.join(d, 'interp'))
            for n in NAMES:
                with open(find(o.include, n), encoding='utf-8') as f:
                    text = f.read()
                if n == name:
                    new = re.sub(edit[0], edit[1], text, count=1, flags=re.S) if edit else text
                    new = new.replace('INTERP_END_DECLS\n#endif\n', append + 'INTERP_END_DECLS\n#endif\n') if append else new
                    if new == text:
                        raise SystemExit('selftest: the break for %s could not be planted' % name)
                    text = new
                with open(os.path.join(d, 'interp', n), 'w', encoding='utf-8') as f:
                    f.write(text)
            return argparse.Namespace(**dict(vars(o), include=[d], update=False))
        plain = argparse.Namespace(**dict(vars(o), update=False))
        # self-contained headers
        for what, name, code in [('a type without its header', 'result.h', 'INTERP_API off_t interp_planted(void);\n'), ('a parameter named as in C++', 'base.h', 'INTERP_API void interp_planted(int class);\n'),
                                 ('an old-style prototype', 'session.h', 'INTERP_API int interp_planted();\n'), ('a GNU extension', 'config.h', 'typedef struct interp_planted { int n; int a[0]; } interp_planted;\n'),
                                 ('padding in backend.h', 'backend.h', 'typedef struct interp_planted { uint32_t a; uint64_t b; } interp_planted;\n')]:
            expect_broken('headers: ' + what, check_headers, planted(name, None, code), done)
        # headers against the map
        expect_broken('map: declared, not in the map', check_map, planted('base.h', None, 'INTERP_API int interp_planted(void);\n'), done)
        expect_broken('map: in the map, not declared', check_map, planted('base.h', (r'INTERP_API uint32_t interp_version_number\(void\);', '')), done)
        copy = os.path.join(tmp, 'map')
        with open(o.map, encoding='utf-8') as f, open(copy, 'w', encoding='utf-8') as g:
            g.write(re.sub(r'\n\s*interp_version;', '', f.read()))
        expect_broken('map: forgotten in the map', check_map, argparse.Namespace(**dict(vars(plain), map=copy)), done)
        # symbols against their golden
        for what, edit in [('a symbol gone', lambda t: 'interp_planted@@INTERP_0.1 T\n' + t), ('a symbol leaked', lambda t: '\n'.join(t.splitlines()[1:]) + '\n'),
                           ('a symbol in another node', lambda t: re.sub(r'@@INTERP_[\w.]+', '@@INTERP_9.9', t, count=1)), ('another SONAME', lambda t: re.sub(r'soname \S+', 'soname libinterp.so.9', t))]:
            d = os.path.join(tmp, 'golden')
            os.makedirs(d, exist_ok=True)
            with open(golden(o, 'symbols.txt'), encoding='utf-8') as f, open(os.path.join(d, 'symbols.txt'), 'w', encoding='utf-8') as g:
                g.write(edit(f.read()))
            expect_broken('symbols: ' + what, check_symbols, argparse.Namespace(**dict(vars(plain), golden=d)), done)
        # the archive
        bad = os.path.join(tmp, 'bad.c')
        with open(bad, 'w', encoding='utf-8') as f:
            f.write('int planted_global = 1;\n')
        run([compilers()[0], '-c', bad, '-o', os.path.join(tmp, 'bad.o')])
        archive = os.path.join(tmp, 'libbad.a')
        members = run(['ar', 't', o.archive]).stdout.split()
        full = [m if os.path.isabs(m) else os.path.join(os.path.dirname(o.archive), m) for m in members]
        if all(os.path.exists(m) for m in full):          # a thin archive: its members are files
            run(['ar', 'rcT', archive] + full + [os.path.join(tmp, 'bad.o')])
        else:
            shutil.copy(o.archive, archive)
            run(['ar', 'r', archive, os.path.join(tmp, 'bad.o')])
        expect_broken('archive: a global without the prefix', check_archive, argparse.Namespace(**dict(vars(plain), archive=archive)), done)
        # the layout
        for what, name, edit in [
                ('a field inserted', 'backend.h', (r'uint64_t memory_bytes,', 'uint64_t planted, memory_bytes,')), ('two fields swapped', 'backend.h', (r'memory_bytes, workspace_bytes,', 'workspace_bytes, memory_bytes,')),
                ('a field appended', 'backend.h', (r'min_isolation, descriptors;', 'min_isolation, descriptors; uint64_t planted;')), ('a field of another type', 'backend.h', (r'uint32_t cpu_millis', 'int32_t cpu_millis')),
                ('another alignment', 'backend.h', (r'uint32_t struct_size, flags;', 'uint32_t struct_size __attribute__((aligned(16))); uint32_t flags;')),
                ('an enumerator changed', 'result.h', (r'INTERP_OUTCOME_ERROR\s*= 2', 'INTERP_OUTCOME_ERROR = 3')), ('a #define changed', 'base.h', (r'#define INTERP_FOREVER UINT64_MAX', '#define INTERP_FOREVER (UINT64_MAX - 1)')),
                ('an enumerator without a value', 'session.h', (r'INTERP_EV_DONE = 8', 'INTERP_EV_DONE')), ('a parameter of another type', 'session.h', (r'uint64_t timeout_ms, uint32_t flags', 'uint32_t timeout_ms, uint32_t flags')),
                ('a callback of another signature', 'base.h', (r'int32_t level, const char \*msg, size_t len\)', 'int32_t level, const char *msg)')), ('a slot of another signature', 'backend.h', (r'void \(\*advance\)\(void \*inst\)', 'int (*advance)(void *inst)')),
                ('a layout that depends on flags', 'backend.h', (r'typedef struct interp_spec \{', 'typedef enum interp_planted { INTERP_PLANTED = 1 } interp_planted;\ntypedef struct interp_spec {\n    interp_planted planted;'))]:
            expect_broken('layout: ' + what, check_layout, planted(name, edit), done, 'flags' if 'flags' in what else '')
        # types in the debug information
        try:
            abidw(o, os.path.join(tmp, 'real.abi'))
        except Missing as e:
            print('SKIP selftest of dwarf: %s' % e)
            done['skipped'] = 1
            return done
        with open(golden(o, 'libinterp.abi'), encoding='utf-8') as f:
            real = f.read()
        signed, unsigned = (re.search(r"<type-decl name='%s int' [^>]*id='([^']*)'" % w if w else r"<type-decl name='int' [^>]*id='([^']*)'", real).group(1) for w in ('', 'unsigned'))
        for what, edit in [('a return type of the same width', (r"(<function-decl name='interp_version_number'.*?<return type-id=')[^']*", r'\g<1>' + signed)),
                           ('a parameter too many', (r"(<function-decl name='interp_version_number'[^>]*>)", r"\1\n<parameter type-id='%s'/>" % unsigned)),
                           ('a field of another type', (r"(<var-decl name='memory_bytes' type-id=')[^']*", r'\g<1>' + signed))]:
            d = os.path.join(tmp, 'dwarf')
            os.makedirs(d, exist_ok=True)
            text = re.sub(edit[0], edit[1], real, count=1, flags=re.S)
            if text == real:
                raise SystemExit('selftest: the break for %s could not be planted' % what)
            with open(os.path.join(d, 'libinterp.abi'), 'w', encoding='utf-8') as g:
                g.write(text)
            expect_broken('dwarf: ' + what, check_dwarf, argparse.Namespace(**dict(vars(plain), golden=d)), done)
    return done


CHECKS = [('headers', check_headers), ('map', check_map), ('symbols', check_symbols), ('archive', check_archive), ('layout', check_layout), ('dwarf', check_dwarf)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('check', choices=[c for c, _ in CHECKS] + ['all', 'selftest'])
    p.add_argument('--include', action='append', default=[])
    p.add_argument('--map')
    p.add_argument('--lib')
    p.add_argument('--archive')
    p.add_argument('--golden', default=HERE)
    p.add_argument('--update', action='store_true')
    o = p.parse_args()
    done = {'passed': 0, 'failed': 0, 'skipped': 0}
    if o.check == 'selftest':
        done = selftest(o)
    else:
        for name, check in CHECKS:
            if o.check in (name, 'all'):
                try:
                    check(o)
                    done['passed'] += 1
                    print('ok %s%s' % (name, ' (golden written)' if o.update and name in ('symbols', 'layout', 'dwarf') else ''))
                except Missing as e:
                    done['skipped'] += 1
                    print('SKIP %s: %s' % (name, e))
                except Broken as e:
                    done['failed'] += 1
                    print('FAIL %s: %s' % (name, e))
    print('%(passed)d passed, %(failed)d failed, %(skipped)d skipped' % done)
    sys.exit(1 if done['failed'] else 0)


main()
