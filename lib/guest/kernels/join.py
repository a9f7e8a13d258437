#!/usr/bin/env python3
"""Writes the Python driver as it is embedded: join.py OUTPUT python.py python_NAME.py...  The parts go into it as texts."""
import os
import sys

LINE = 'PARTS = {}  '


def join(main, parts):
    with open(main, encoding='utf-8') as f:
        lines = f.read().split('\n')
    texts = {}
    for path in parts:
        with open(path, encoding='utf-8') as f:         # without lines that are a comment only
            texts[os.path.basename(path)[len('python_'):-len('.py')]] = ''.join(line for line in f if not line.lstrip().startswith('#'))
    at = [i for i, line in enumerate(lines) if line.startswith(LINE)]
    if len(at) != 1:
        raise SystemExit('%s: one line must begin with %r' % (main, LINE))
    lines[at[0]] = 'PARTS = {%s}' % ', '.join('%r: %s' % (name, ascii(texts[name])) for name in sorted(texts))
    return '\n'.join(lines)


if __name__ == '__main__':
    with open(sys.argv[1], 'w', encoding='utf-8') as output:
        output.write(join(sys.argv[2], sys.argv[3:]))
