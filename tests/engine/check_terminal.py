"""Execs at a pseudo-terminal of the container's own."""
import re

from bench import run, want


def test_terminal(b):
    with b.open(pty=True) as s:
        for language in 'sh', 'bash', 'python':
            code = {'python': 'import os, sys\nprint(os.ttyname(0), sys.stdout.isatty(), *os.get_terminal_size())\nprint("got", input())'}.get(
                language, 'test -t 0 && test -t 1 && test -t 2 && echo "$(tty) True $(stty size)"; read x; echo "got $x"')
            for _ in range(2):
                out = run(s, language, code, pty=True, pty_rows=77, pty_columns=77, stdin='b\u00f6b\n')
                want(re.search('/dev/pts/[0-9]+ True 77 77\r\n', out) and out.endswith('got b\u00f6b\r\n'), '%s: %r', language, out)
            plain = 'import sys; print(sys.stdout.isatty())' if language == 'python' else 'test -t 1 || echo False'
            want(run(s, language, plain) == 'False\n', '%s: the terminal stays after its exec', language)


def test_large_output(b):
    with b.open(pty=True, output_head_bytes=4000000) as s:
        for _ in range(3):
            out = run(s, 'sh', 'seq 1 20000; printf end', pty=True)
            want(out == ''.join('%d\r\n' % i for i in range(1, 20001)) + 'end', '%d bytes, ending in %r', len(out), out[-30:])
