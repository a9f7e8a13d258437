#!/usr/bin/env python3
"""Installs a build into a temporary place and uses it as other projects do: consumer.py BUILD SOURCE [--cc CC]

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
KIB = 800               # both agents, all drivers and engines with it
COUNTS = {'passed': 0, 'failed': 0, 'skipped': 0}
HEADERS = {'interp.h', 'base.h', 'config.h', 'files.h', 'session.h', 'redact.h', 'result.h', 'backend.h', 'options.h', 'audit.h', 'interp.hpp'}


def run(argv, **kw):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, errors='replace', **kw)


def report(name, result, text=''):
    """result: True, False, or a text that says why it was skipped"""
    if result is True:
        COUNTS['passed'] += 1
        print('ok %s' % name)
    elif result is False:
        COUNTS['failed'] += 1
        print('FAIL %s%s' % (name, ': ' + text.strip()[-1500:] if text else ''))
    else:
        COUNTS['skipped'] += 1
        print('SKIP %s: %s' % (name, result))
    sys.stdout.flush()


def outcome(name, r):
    report(name, True if r.returncode == 0 else 'no sandbox here: ' + r.stdout.strip()[:200] if r.returncode == 77 else False, r.stdout)


def size(name, library, options, tmp):
    if options['optimization'] not in ('2', '3', 's') or options['b_sanitize'] != 'none' or options['curl_linked']:
        report(name, 'not a build as it is shipped')
    elif not shutil.which('strip'):
        report(name, 'there is no strip')
    else:
        stripped = os.path.join(tmp, 'stripped')
        r = run(['strip', '-o', stripped, library])
        took = os.path.getsize(stripped) if r.returncode == 0 else 0
        report(name, 0 < took <= KIB << 10, '%d bytes %s' % (took, r.stdout))


def not_in_cpp(include):
    """Functions of the headers that interp.hpp does not call: but the setters of options, which its set() takes as they are, and the adding of a backend, which is a table of C functions"""
    text = {}
    for name in HEADERS:
        with open(os.path.join(include, name), encoding='utf-8') as f:
            text[name] = f.read()
    declared = set(re.findall(r'^INTERP_API [^;]*?\b(interp_\w+)\(', '\n'.join(text[n] for n in HEADERS - {'options.h', 'interp.hpp'}), re.M))
    assert len(declared) > 100, declared
    return sorted(declared - set(re.findall(r'\binterp_\w+', text['interp.hpp'])) - {'interp_ctx_add_backend'})


def main():
    p = argparse.ArgumentParser()
    p.add_argument('build')
    p.add_argument('source')
    p.add_argument('--cc', default=os.environ.get('CC', 'cc'))
    p.add_argument('--sanitized', action='store_true')
    o = p.parse_args()
    build, source = os.path.abspath(o.build), os.path.abspath(o.source)
    with tempfile.TemporaryDirectory() as tmp:
        r = run(['meson', 'install', '-C', build, '--no-rebuild', '--destdir', tmp])
        report('install', r.returncode == 0, r.stdout)
        if r.returncode:
            return
        pcs = [os.path.join(d, 'libinterp.pc') for d, _, files in os.walk(tmp) if 'libinterp.pc' in files]
        report('one pkg-config file', len(pcs) == 1, repr(pcs))
        if len(pcs) != 1:
            return
        options = {x['name']: x['value'] for x in json.loads(run(['meson', 'introspect', '--buildoptions', build]).stdout)}
        prefix = tmp + options['prefix']
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pcs[0]))

        def config(*args):
            r = run(['pkg-config', '--define-variable=prefix=' + prefix] + list(args) + ['libinterp'], env=env)
            if r.returncode:
                report('pkg-config ' + ' '.join(args), False, r.stdout)
            return r.stdout.split()
        cflags, libs, libdir = config('--cflags'), config('--libs'), config('--variable=libdir')[0]
        run_env = dict(os.environ, LD_LIBRARY_PATH=libdir)
        installed = set(os.listdir(os.path.join(config('--variable=includedir')[0], 'interp')))
        report('installed headers', installed == HEADERS, ' '.join(sorted(installed ^ HEADERS)))
        with open(os.path.join(source, 'meson.build'), encoding='utf-8') as f:
            report('version', "version: '%s'" % config('--modversion')[0] in f.read())
        report('shared libraries need no extra flags of the host', libs == ['-L' + libdir, '-linterp'], ' '.join(libs))
        stray = [os.path.relpath(os.path.join(d, f), tmp) for d, _, files in os.walk(tmp) for f in files if 'testing' in f]
        report('nothing of the tests is installed', not stray, ' '.join(stray))
        size('stripped library of at most %d KiB' % KIB, os.path.join(libdir, 'libinterp.so.0'), options, tmp)

        exe = os.path.join(tmp, 'consumer')
        strict = ['-Wall', '-Wextra', '-Werror']
        sanitize = ['-fsanitize=address,undefined'] if o.sanitized else []
        for name, argv in [
                ('shared, C', [o.cc, '-std=c99', '-pedantic'] + strict + cflags + [os.path.join(HERE, 'consumer.c')] + libs),
                ('shared, C++', ['g++' if shutil.which('g++') else 'c++', '-x', 'c++', '-std=c++17'] + strict + cflags + [os.path.join(HERE, 'consumer.c'), '-x', 'none'] + libs),
                ('static archive', [o.cc] + cflags + [os.path.join(HERE, 'consumer.c')] + [x if x != '-linterp' else os.path.join(libdir, 'libinterp.a') for x in config('--libs', '--static')])]:
            r = run(argv + sanitize + ['-o', exe])
            if r.returncode:
                report(name, False, r.stdout)
            else:
                outcome(name, run([exe], env=run_env))
        # interp.hpp, by each compiler that is there
        for cxx, flags in (('g++', ['-std=c++17']), ('g++', ['-std=c++17', '-fno-exceptions', '-fno-rtti']), ('clang++', ['-std=c++20'])):
            name = 'interp.hpp with %s %s' % (cxx, ' '.join(flags))
            if not shutil.which(cxx):
                report(name, 'there is no %s' % cxx)
                continue
            r = run([cxx, '-pthread', '-pedantic', '-Wconversion', '-Wshadow'] + flags + strict + sanitize + cflags + [os.path.join(HERE, 'consumer.cpp')] + libs + ['-o', exe])
            if r.returncode:
                report(name, False, r.stdout)
            else:
                outcome(name, run([exe], env=run_env))
        missing = not_in_cpp(os.path.join(config('--variable=includedir')[0], 'interp'))
        report('interp.hpp has all functions', not missing, ' '.join(missing))
        # two copies in one process
        plugin, host = os.path.join(tmp, 'plugin.so'), os.path.join(tmp, 'host')
        static = [x if x != '-linterp' else os.path.join(libdir, 'libinterp.a') for x in config('--libs', '--static')]
        r = run([o.cc, '-shared', '-fPIC', '-fvisibility=hidden'] + sanitize + cflags + [os.path.join(HERE, 'plugin.c'), '-o', plugin, '-Wl,-Bsymbolic', '-Wl,--exclude-libs,ALL'] + static)
        if r.returncode == 0:
            r = run([o.cc] + sanitize + cflags + [os.path.join(HERE, 'host.c'), '-o', host] + libs + ['-ldl'])
        if r.returncode:
            report('two copies in one process', False, r.stdout)
        else:
            outcome('two copies in one process', run([host, plugin, os.path.join(libdir, 'libinterp.so.0')], env=run_env))
        # a meson subproject
        project = os.path.join(tmp, 'project')
        os.makedirs(os.path.join(project, 'subprojects'))
        os.symlink(source, os.path.join(project, 'subprojects', 'libinterp'))
        shutil.copy(os.path.join(HERE, 'consumer.c'), project)
        with open(os.path.join(project, 'meson.build'), 'w', encoding='utf-8') as f:
            f.write("project('consumer', 'c')\nsubproject('libinterp')\nexecutable('consumer', 'consumer.c', dependencies: dependency('libinterp'))\n")
        r = run(['meson', 'setup', os.path.join(project, 'b'), project])
        if r.returncode == 0:
            r = run(['ninja', '-C', os.path.join(project, 'b')])
        if r.returncode:
            report('meson subproject', False, r.stdout)
        else:
            outcome('meson subproject', run([os.path.join(project, 'b', 'consumer')]))


main()
print('%(passed)d passed, %(failed)d failed, %(skipped)d skipped' % COUNTS)
sys.exit(1 if COUNTS['failed'] else 0)
