#!/usr/bin/env python3
"""Tests of the command line: `interp run`, `interp doctor`, `interp exec --stdio`. INTERP_CLI names the program."""
import argparse
import base64
import fcntl
import gzip
import json
import os
import pty
import queue
import select
import shutil
import signal
import subprocess
import sys
import struct
import tarfile
import tempfile
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
import runner

CLI = os.environ.get('INTERP_CLI', '')
RESULT_MEMBERS = {'ok', 'outcome', 'cause', 'state', 'ran', 'interrupted', 'exit_code', 'signal', 'claimed_by', 'stdout', 'stderr', 'value', 'rich', 'error',
                  'files', 'usage', 'network', 'redactions', 'denied', 'late', 'session', 'exec', 'language', 'kernel'}
ERROR_MEMBERS = {'code', 'reason', 'message', 'remedy', 'retryable', 'errno'}
REACHED_MEMBERS = {'ids', 'memory', 'cpu', 'pids', 'landlock', 'shared_inodes', 'unenforced'}


class Skip(Exception):
    pass


def expect(condition, *words):
    if not condition:
        raise AssertionError(' '.join(w if isinstance(w, str) else repr(w) for w in words))


def interp(*arguments, stdin=None, seconds=60, **options):
    """Runs the command to its end: (exit code, stdout, stderr, milliseconds)."""
    start = time.monotonic()
    p = subprocess.run([CLI] + list(arguments), input=stdin if stdin is not None else b'', stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds * runner.SLOW, **options)
    return p.returncode, p.stdout, p.stderr, (time.monotonic() - start) * 1e3


def run(*arguments, code=0, out=None, err_has=None, **options):
    got = interp('run', *arguments, **options)
    expect(got[0] == code, 'exit code %d, not %d:' % (got[0], code), arguments, got[1][-500:], got[2][-500:])
    if out is not None:
        expect(got[1] == out, 'stdout', got[1][-500:], 'not', out, got[2][-300:])
    if err_has is not None:
        expect(err_has in got[2], 'stderr', got[2][-500:], 'lacks', err_has)
    return got


# ---- run

def t_version():
    code, out, _, _ = interp('--version')
    expect(code == 0 and out.startswith(b'interp ') and out.count(b'.') == 2, code, out)


def t_help():
    for arguments in (['help'], ['--help'], ['-h'], ['help', 'run'], ['help', 'doctor'], ['help', 'gc'], ['help', 'audit'], ['help', 'exec'], ['run', '--help']):
        code, out, err, _ = interp(*arguments)
        expect(code == 0 and out.startswith(b'usage: interp') and not err, arguments, code, out[:100], err)


def t_usage():
    for arguments in ([], ['nonsense'], ['run'], ['run', '--nonsense', 'python', '-c', '1'], ['run', 'python', '-c'], ['run', 'python', 'a', 'b'],
                      ['run', 'python', '-c', '1', 'file'], ['run', 'python', '-c', '1', '--timeout', '0'], ['run', 'python', '-c', '1', '--timeout', 'soon'],
                      ['run', 'python', '-c', '1', '--memory', '-3'], ['run', 'python', '-c', '1', '--memory', '0'], ['run', 'python', '-c', '1', '--env', 'novalue'],
                      ['run', 'python', '/no/such/file'], ['run', 'python', '-c', '1', '--stdin', '/no/such/file'], ['run', 'python', '-c', '1', '--isolation', 'bogus'],
                      ['run', 'cobol', '-c', '1'], ['help', 'nonsense'], ['exec'], ['exec', '--nonsense'], ['doctor', '--nonsense'], ['gc', '--nonsense'], ['gc', '--backend'], ['gc', '--endpoint', 'unix:///x'], ['run', 'python', '-', '--stdin', '-']):
        code, out, err, _ = interp(*arguments)
        expect(code == 2 and not out and err, arguments, code, out[:100], err[:300])


def t_value_and_output():
    run('python', '-c', 'print(6*7)', out=b'42\n')
    run('python', '-c', '6*7', out=b'42\n')
    run('python', '-c', 'print("a",end="")\n6*7', out=b'a\n42\n')
    run('bash', '-c', 'echo out; echo err >&2', out=b'out\n', err_has=b'err\n')
    run('sh', '-c', 'echo $((40+2))', out=b'42\n')


def t_aliases():
    for name in ('py', 'python3', 'python'):
        run(name, '-c', '1+1', out=b'2\n')


def node_or_skip():
    code, out, err, _ = interp('run', 'javascript', '-c', '6*7')
    if code == 127:
        raise Skip('no Node.js in the sandbox')
    return code, out, err


def t_javascript():
    code, out, err = node_or_skip()
    expect((code, out) == (0, b'42\n'), code, out, err)
    run('js', '-c', 'await 5', out=b'5\n')
    run('node', '-c', 'throw new Error("x")', code=1, err_has=b'Error: x')


def t_code_from_file_and_stdin():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'a b.py')
        with open(path, 'w') as f:
            f.write('print("file")\n')
        run('python', path, out=b'file\n')
        run('python', out=b'stdin\n', stdin=b'print("stdin")')
        run('python', '-', out=b'stdin\n', stdin=b'print("stdin")')
        run('python', path, '--stdin', '-', out=b'file\n', stdin=b'x')
        given = os.path.join(folder, 'in')
        with open(given, 'wb') as f:
            f.write(b'\xff\x00line\n')
        run('bash', '-c', 'od -An -tx1', '--stdin', given, out=b' ff 00 6c 69 6e 65 0a\n')


def t_stdin():
    run('python', '-c', 'import sys; print(sys.stdin.read())', '--stdin', '-', out=b'hello\n', stdin=b'hello')
    run('bash', '-c', 'cat; echo end', out=b'end\n', stdin=b'not given on')
    run('python', '-c', 'input()', code=1, err_has=b'EOFError', stdin=b'not given on')


def t_exit_codes():
    run('bash', '-c', 'exit 3', code=3)
    run('bash', '-c', 'exit 0')
    run('bash', '-c', 'false', code=1)
    run('bash', '-c', 'exit 255', code=255)
    run('python', '-c', 'import sys; sys.exit(5)', code=5)
    run('python', '-c', '1/0', code=1, err_has=b'ZeroDivisionError', out=b'')
    run('python', '-c', 'x = (', code=1, err_has=b'SyntaxError')


def t_crashed():
    run('python', '-c', 'import os; os.kill(os.getpid(), 11)', code=139)
    run('python', '-c', 'print("a",flush=True); import os; os._exit(7)', code=7, out=b'a\n')
    run('python', '-c', 'import os; os._exit(0)', code=1)


def t_timeout():
    code, out, err, ms = run('python', '-c', 'print("before", flush=True)\nwhile True: pass', '--timeout', '3s', code=124, out=b'before\n')
    expect(err and ms < 3000 + 3000 + 2000 * runner.SLOW, 'took', ms, err)
    run('bash', '-c', 'sleep 30', '--timeout', '1s', code=124)


def t_oom():
    code, _, err, _ = interp('run', 'python', '--memory', '64M', '-c', 'x=[]\nwhile True: x.append(bytearray(1<<20))')
    reached = one_session()['reached']['memory']
    if reached not in ('cgroup', 'watch'):
        raise Skip('memory is not limited here (%s)' % reached)
    expect(code == 137 and b'memory' in err, code, err)


def t_cancelled():
    for number in (signal.SIGINT, signal.SIGTERM):
        took = []
        while len(took) < 3 and (not took or took[-1] >= 2000 * runner.SLOW):   # the fastest counts
            p = subprocess.Popen([CLI, 'run', 'python', '-c', 'import time\nprint("up",flush=True)\ntime.sleep(60)'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
            expect(p.stdout.readline() == b'up\n', 'no first line')
            start = time.monotonic()
            p.send_signal(number)
            _, err = p.communicate(timeout=20 * runner.SLOW)
            took.append((time.monotonic() - start) * 1e3)
            expect(p.returncode == 130, 'exit code', p.returncode, err)
        expect(took[-1] < 2000 * runner.SLOW, 'took', took)


def t_no_sandbox():
    run('python', '-c', '1', '--backend', 'nosuch', code=125, err_has=b'nosuch', out=b'')


def t_missing_interpreter():
    code, out, err, _ = interp('run', 'javascript', '-c', '1')
    if code == 0:
        raise Skip('every interpreter that this library knows is here: none can be missing')
    expect(code == 127 and not out and b'node' in err.lower(), code, out, err)


def t_json():
    _, out, _, _ = run('python', '-c', 'print("o")\nimport sys; print("e",file=sys.stderr)\n5', '--json')
    r = json.loads(out)
    expect(set(r) >= RESULT_MEMBERS, 'lacks', sorted(RESULT_MEMBERS - set(r)))
    expect(r['ok'] is True and r['outcome'] == 'ok' and r['cause'] is None and r['state'] == 'preserved' and r['exit_code'] == 0 and r['signal'] is None, r)
    expect(r['stdout']['text'] == 'o\n' and r['stdout']['total_bytes'] == 2 and r['stdout']['total_lines'] == 1 and r['stdout']['truncated'] is False, r['stdout'])
    expect(r['stderr']['text'] == 'e\n' and r['value'] == {'text': '5', 'mime': {'text/plain': '5'}} and r['error'] is None and r['rich'] == [], r)
    expect(r['exec'] == 1 and r['language'] == 'python' and r['kernel'] == 'default' and r['claimed_by'] == 'guest' and r['ran'] is True and r['late'] == [], r)
    _, out, err, _ = run('python', '-c', 'def f():\n  1/0\nf()', '--json', code=1)
    r = json.loads(out)
    expect(r['outcome'] == 'error' and r['exit_code'] == 1 and r['error']['type'] == 'ZeroDivisionError' and r['error']['line'] == 2, r)
    expect(r['error']['frames'][-1]['function'] == 'f' and r['error']['frames'][-1]['source'].strip() == '1/0' and 'Traceback' in r['error']['traceback'], r['error'])
    _, out, _, _ = run('python', '-c', 'while 1: pass', '--timeout', '3s', '--json', code=124)
    r = json.loads(out)
    expect((r['outcome'], r['cause'], r['interrupted']) == ('timeout', 'wall', 'wall'), r)
    _, out, _, _ = run('python', '-c', 'import os; os.kill(os.getpid(), 9)', '--json', code=137)
    r = json.loads(out)
    expect((r['outcome'], r['signal'], r['exit_code'], r['claimed_by']) == ('crashed', 'SIGKILL', None, 'host'), r)


def t_truncated():
    _, out, _, _ = run('bash', '-c', 'head -c 1000000 /dev/zero | tr "\\0" x', '--json')
    s = json.loads(out)['stdout']
    expect(s['truncated'] is True and s['total_bytes'] == 1000000 and s['total_lines'] == 1, {k: v for k, v in s.items() if k != 'text'})
    expect(len(s['text']) <= 65536 and s['text'].startswith('x' * 1000) and s['text'].endswith('x' * 1000) and s['text'].strip('x'), len(s['text']))
    run('bash', '-c', 'head -c 5000000 /dev/zero | tr "\\0" x', out=b'x' * 5000000)


def t_streaming():
    """Each line comes while the code waits for its being read."""
    with tempfile.TemporaryDirectory(dir='/var/tmp') as d:
        os.chmod(d, 0o777)
        p = subprocess.Popen([CLI, 'run', 'python', '--mount', os.path.realpath(d) + ':/seen:rw', '-c', 'import os,sys,time\nfor i,f in enumerate("oeoeo"):\n  s={"o":sys.stdout,"e":sys.stderr}[f]; print(i,file=s,flush=True)\n'
                              '  while not os.path.exists("/seen/%d"%i): time.sleep(.01)'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        for i in range(5):
            line = p.stdout.readline()
            expect(line == b'%d\n' % i, line)
            open(os.path.join(d, '%d' % i), 'w').close()
        expect(p.stdout.read() == b'' and p.wait() == 0, p.returncode)
        p.stdout.close()


def t_reader_goes():
    p = subprocess.Popen([CLI, 'run', 'bash', '-c', 'yes'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    p.stdout.read(10)
    p.stdout.close()
    expect(p.wait(timeout=60 * runner.SLOW) >= 0, 'died of SIGPIPE', p.returncode)


def t_env():
    os.environ['INTERP_TEST_HOST_SECRET'] = 'of the host'
    _, out, _, _ = run('bash', '-c', 'echo "$GREETING"; env', '--env', 'GREETING=hi there', '--env=B=2')
    expect(out.startswith(b'hi there\n') and b'\nB=2\n' in out and b'HOST_SECRET' not in out, out)


def t_language_and_arguments():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'main.pl')
        with open(path, 'w') as f:
            f.write('print "$ARGV[0]|$ARGV[1]\\n"; exit 3')
        for words in (['-l', 'perl', path], [path, '-l', 'perl'], ['perl', path], ['--language=perl', path]):
            run(*words, '--args', 'one two', '--json', code=3, out=b'one two|--json\n')
        run('-l', 'perl', '-c', 'print "$#ARGV\\n"', out=b'-1\n')
    for bad in (['-l', 'perl', 'perl', 'x'], ['perl', 'x', '-l', 'c'], ['-l', 'perl', '-l', 'c', 'x'], ['-l'], ['python', '-c', '1', '--args', 'x']):
        code, out, err, _ = interp('run', *bad)
        expect(code == 2 and err and not out, bad, code, err)


def t_hint():
    run('bash', '-c', 'no-such-program', code=127, err_has=b'What to do: ')
    run('python', '-c', 'import no_such_module', code=1, err_has=b'What to do: ')
    expect(b'What to do' not in run('python', '-c', '1 / 0', code=1)[2], 'nothing to say')


def t_file():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'data.csv')
        with open(path, 'wb') as f:
            f.write(b'a,\xff\n')
        run('bash', '-c', 'cat data.csv d/x.csv; ls', '--file', path, '--file=d/x.csv=' + path, out=b'a,\xff\na,\xff\nd\ndata.csv\n')
        run('bash', '-c', 'touch ran', '--file', os.path.join(d, 'none'), code=2, err_has=b'none')
        code, out, err, _ = interp('run', 'bash', '-c', 'echo ran', '--file', '/usr/x=' + path)
        expect(code == 1 and out == b'' and b'/usr/x' in err, code, out, err)
        run('bash', '-c', ':', '--file', '../x=' + path, code=2, err_has=b'leaves')
        run('bash', '-c', ':', '--file', 'x=', code=2, err_has=b'--file')


def t_nul_in_code():
    code, out, err, _ = interp('run', 'python', stdin=b'print(1)\0print(2)')
    expect(code == 2 and not out, code, out, err)


def one_session():
    with Stdio() as io:
        return io.ask(op='open', session='s', event='opened')


# ---- files and interpreters of this machine

def t_run_mounts():
    with tempfile.TemporaryDirectory(dir='/var/tmp') as d:
        d = os.path.realpath(d)
        os.chmod(d, 0o755)
        os.mkdir(d + '/out')
        os.chmod(d + '/out', 0o777)
        with open(d + '/a:b', 'w') as f:
            f.write('text\n')
        code, out, err, _ = interp('run', 'bash', '-c', 'cat /data/a:b %s/a:b; echo made > /out/x; ! touch /data/y 2>/dev/null' % d, '--mount', d + ':/data', '--mount', d, '--mount=' + d + '/out:/out:rw')
        expect(code == 0 and out == b'text\ntext\n', code, out, err)
        with open(d + '/out/x') as f:
            expect(f.read() == 'made\n')
        code, out, err, _ = interp('run', 'bash', '-c', 'true', '--mount', d + '/none:/data')
        expect(code == 125 and (d + '/none').encode() in err, code, err)
        code, out, err, _ = interp('run', 'bash', '-c', 'true', '--mount', d + ':/proc/x')
        expect(code == 2 and b'/proc/x' in err, code, err)
        for wrong in (['--mount', 'relative:/x'], ['--mount'], ['--interpreter', 'python'], ['--interpreter', '=x'], ['--with']):
            code, out, err, _ = interp('run', 'bash', '-c', 'true', *wrong)
            expect(code == 2, wrong, code, err)
    code, out, err, _ = interp('run', 'python', '-c', 'import sys\nprint(sys.executable)', '--interpreter', 'py=/usr/bin/python3', '--with', '/usr/share')
    expect(code == 0 and out == b'/usr/bin/python3\n', code, out, err)


# ---- doctor

class Terminal:
    """The command at a terminal, as a person has it."""

    def __init__(self, *arguments, folder='.'):
        self.seen = b''
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ['TERM'] = 'dumb'
            os.execv(CLI, [CLI] + list(arguments))

    def until(self, word, seconds=30):
        end = time.monotonic() + seconds
        while word not in self.seen:
            expect(time.monotonic() < end and select.select([self.fd], [], [], seconds)[0], 'no %r in %r' % (word, self.seen))
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError:             # the terminal's other side is closed
                expect(word in self.seen, 'no %r in %r' % (word, self.seen))
        self.seen = self.seen.split(word, 1)[1]

    def type(self, keys):
        os.write(self.fd, keys)

    def ended(self, code):
        end = time.monotonic() + 30 * runner.SLOW
        pid = 0
        while not pid:
            expect(time.monotonic() < end, 'it does not end; it showed %r' % self.seen)
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.fd, 65536)
                except OSError:
                    time.sleep(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        self.pid = 0
        expect(os.WIFEXITED(status) and os.WEXITSTATUS(status) == code, 'status %d, not code %d; %r' % (status, code, self.seen))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def t_repl_lines():
    """From a pipe: no prompts, pieces end where they are whole or at an empty line."""
    code, out, err, _ = interp('repl', 'py', stdin=b'x = 6\nx * 7\ndef f(a):\n    # why\n    return (a +\n        1)\n\nf(1)\n1/0\n@staticmethod\ndef g(): return "g"\n\n"""a\nb"""\nprint("still", x, \\\n g())')
    expect(code == 0 and b'ZeroDivisionError' in err, code, err)
    expect(out == b"42\n2\n'a\\nb'\nstill 6 g\n", out)
    _, out, _, _ = interp('repl', 'bash', stdin=b'a=5\nfor i in 1 2; do\necho $i $a\ndone\nif true; then\necho "x\ny"\nfi\ncase q in\nq) echo q;;\nesac\ncd /tmp; pwd # if\nexit 3\necho \'if\' $(echo \\\nin)\npwd')
    expect(out == b'1 5\n2 5\nx\ny\nq\n/tmp\nif in\n/tmp\n', out)
    _, out, err, _ = interp('repl', 'bash', stdin=b"cat <<E; cat <<-'F G' # <<H\necho no\n\nit's (\nE\n\tif\n\tF G\necho $((1<<2)) '<<X'\ncat <<<Y\n((z = 1 << 3)); echo $z\n"
                            b'f() {\ncat <<\\E\n}\n$a\\\nE\n}\nf\ncat <<E\na\\\nE\nE\ncat <<E\nlast')
    expect(out == b"echo no\n\nit's (\nif\n4 <<X\nY\n8\n}\n$a\\\naE\nlast\n" and b'not found' not in err, out, err)
    node_or_skip()
    _, out, _, _ = interp('repl', 'js', stdin=b"const a = [1,\n2] // (\na.map(x => {\nreturn x*2 })\n`t\nu` /* {\n*/\n'it\\'s'\n")
    expect(out == b"[ 2, 4 ]\n't\\nu'\n\"it's\"\n", out)
    for bad in (('repl',), ('repl', 'cobol'), ('repl', 'py', 'js'), ('repl', 'py', '--nonesuch'), ('repl', 'py', '--env'), ('repl', 'py', '--memory', 'much')):
        code, out, err, _ = interp(*bad)
        expect(code == 2 and b'interp help repl' in err, bad, code, err)


def t_repl_terminal():
    """Ctrl-C ends the code and keeps what was defined, drops a line at the prompt; pictures are saved; Ctrl-D ends it."""
    png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
    with tempfile.TemporaryDirectory() as folder:
        open(folder + '/picture-1.png', 'wb').close()
        with Terminal('repl', 'python', folder=folder) as t:
            t.until(b'> ')
            t.type(b'kept = 41; print("go" + "ing", flush=True); import time; time.sleep(60)\n')
            t.until(b'going')
            t.type(b'\x03')
            t.until(b'KeyboardInterrupt')
            t.until(b'> ')
            t.type(b'print("half a line')
            t.until(b'half a line')
            t.type(b'\x03')
            t.until(b'> ')
            t.type(b'print("value", kept + 1)\n')
            t.until(b'value 42')
            t.type(('class P:\n def _repr_png_(self): import base64; return base64.b64decode("%s")\n\nP()\n' % png).encode())
            t.until(b'[picture-2.png]')
            t.until(b'> ')
            t.type(b'\x04')
            t.ended(0)
        with open(folder + '/picture-2.png', 'rb') as f:
            expect(f.read() == base64.b64decode(png), 'another picture')
        expect(os.path.getsize(folder + '/picture-1.png') == 0, 'written over a file')


def t_terminal():
    with Terminal('run', 'bash', '--tty', '-c', 'tty; stty size; bash --norc -i; echo "left with $?"; exit 4') as t:
        before = termios.tcgetattr(t.fd)
        t.until(b'/dev/pts/0\r\n')
        t.until(b'$ ')
        t.type(b'echo $((6 * 7))\r')
        t.until(b'42\r\n')
        t.type(b'echo sl""eeps; sleep 100\r')
        t.until(b'sleeps\r\n')
        time.sleep(0.3)
        t.type(b'\x03')
        t.until(b'^C')
        fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack('4H', 50, 160, 0, 0))
        t.type(b'until [ "$(stty size)" = "50 160" ]; do sleep 0.1; done; echo resized at last\r')
        t.until(b'resized at last')
        t.until(b'resized at last')
        t.type(b'exit 3\r')
        t.until(b'left with 3\r\n')
        t.ended(4)
        expect(termios.tcgetattr(t.fd) == before, 'the terminal is not as it was')
    code, _, err, _ = interp('run', 'bash', '--tty', '-c', 'tty')
    expect(code == 2 and b'terminal' in err, code, err)
    with Terminal('run', 'bash', '-t', '--stdin', '/dev/null', '-c', 'tty') as t:
        t.until(b'--stdin')
        t.ended(2)
    with Terminal('run', 'bash', '-t') as t:
        t.until(b'FILE or -c')
        t.ended(2)


def t_keep():
    """The whole output, though the result has only its ends; never over a file that is there."""
    with tempfile.TemporaryDirectory() as folder:
        run('python', '-c', 'for i in range(200000): print("line", i)', '--keep', folder, '--json')
        with gzip.open(folder + '/stdout.gz', 'rb') as f:
            expect(f.read() == b''.join(b'line %d\n' % i for i in range(200000)), 'another output')
        expect(os.listdir(folder) == ['stdout.gz'], os.listdir(folder))
        run('bash', '-c', 'echo again; echo wrong >&2', '--keep', folder, code=1, err_has=b'stdout.gz')
        with gzip.open(folder + '/stderr.gz', 'rb') as f:
            expect(f.read() == b'wrong\n', 'another stderr')
        run('bash', '-c', 'echo', '--keep', folder + '/nonesuch', code=2, err_has=b'nonesuch')


def t_doctor():
    code, out, err, _ = interp('doctor')
    expect(code == 0 and out, code, out, err)
    code, out, err, _ = interp('doctor', '--json')
    facts = json.loads(out)
    expect(code == 0 and isinstance(facts.get('backends'), list) and facts['backends'], code, facts)
    expect('local' in json.dumps(facts) and 'reached' in json.dumps(facts), facts)


def t_doctor_without_an_interpreter():
    """One that is missing, and one that does not start, say what to do about it, and the others are tried all the same."""
    node = shutil.which('node')
    if os.geteuid() != 0 or not node:
        raise Skip('needs root, and a node to hide')
    for program in (b'', b'#!/bin/sh\nexit 1\n'):
        with tempfile.NamedTemporaryFile() as f:
            f.write(program)
            f.flush()
            os.chmod(f.name, 0o755 if program else 0o644)
            p = subprocess.run(['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" "$1" && shift && exec "$@"', f.name, os.path.realpath(node), CLI, 'doctor', '--json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        languages = {x['language']: x for x in json.loads(p.stdout)['backends'][0]['languages']}
        expect(p.returncode == 0 and [n for n, x in languages.items() if not x['usable']] == ['javascript'], languages)
        expect(languages['javascript']['cause'] == 'interpreter' and 'install Node.js' in languages['javascript']['remedy'], languages['javascript'])


# ---- container engines that are not there; tests/engine has those that are

NOWHERE = dict(os.environ, DOCKER_HOST='unix:///nonexistent/docker.sock', CONTAINER_HOST='unix:///nonexistent/podman.sock')


def t_doctor_engines():
    code, out, err, _ = interp('doctor', '--json', env=NOWHERE)
    engines = {b['backend']: b for b in json.loads(out)['backends'] if b['backend'] != 'local'}
    expect(code == 0 and set(engines) == {'docker', 'podman'}, code, engines)
    for e in engines.values():
        expect(e['usable'] is False and e['offers'] is None and e['error']['reason'] == 'engine-absent' and e['error']['remedy'], e)
    code, out, err, _ = interp('doctor', env=NOWHERE)
    expect(code == 0 and out.count(b'engine-absent') == 2 and out.count(b'What to do: install') == 2, out)


def t_gc():
    code, out, err, _ = interp('gc', env=NOWHERE)
    expect(code == 0 and out == b'docker: not here\npodman: not here\n' and not err, code, out, err)
    code, out, err, _ = interp('gc', '--json', env=NOWHERE)
    expect(code == 0 and not out and not err, code, out, err)
    code, out, err, _ = interp('gc', '--backend', 'docker', env=NOWHERE)
    expect(code == 1 and b'engine-absent' in err and b'What to do:' in err, code, out, err)
    code, out, err, _ = interp('gc', '--backend', 'local')
    expect(code == 1 and b'UNSUPPORTED' in err, code, out, err)
    code, out, err, _ = interp('gc', '--backend', 'nonsense')
    expect(code == 1 and b'backend-unknown' in err, code, out, err)


def t_audit():
    with tempfile.TemporaryDirectory() as d:
        log, key = os.path.join(d, 'a b.log'), os.path.join(d, 'key')
        with open(key, 'w') as f:
            f.write('0123456789abcdef0123\n')
        with Stdio() as io:
            io.open('s', audit={'path': log, 'key_file': key}, actor='cli')
            io.run('echo audited', language='sh', request_id='r-1')
            expect(io.end() == 0, io.stderr)
        records = [json.loads(x) for x in open(log, encoding='utf-8')]
        head = [r['hash'] for r in records if r['event'] == 'exec_end'][0]
        expect([r['event'] for r in records][:3] == ['audit_start', 'open', 'exec_start'] and records[2]['actor'] == 'cli' and records[2]['request_id'] == 'r-1', records)
        expect(interp('audit', 'verify', log)[0] == 1)    # another key than none
        code, out, err, _ = interp('audit', 'verify', '--key-file', key, '--head', head, log)
        expect(code == 0 and out.startswith(b'ok: %d records, 1 to %d' % (len(records), len(records))), code, out, err)
        code, out, err, _ = interp('audit', 'verify', '--json', '--key-file=' + key, '--', log)
        expect(code == 0 and json.loads(out)['head'] == records[-1]['hash'], code, out, err)
        raw = open(log, 'rb').read()
        packed = log + '.gz'
        with gzip.open(packed, 'wb') as f:
            f.write(raw)
        expect(interp('audit', 'verify', '--key-file', key, packed)[0] == 0)
        with open(log, 'wb') as f:
            f.write(raw.replace(b'echo audited', b'echo altered'))
        code, out, err, _ = interp('audit', 'verify', '--key-file', key, log)
        expect(code == 1 and out.startswith(b'altered: ') and b', line 3: ' in out, code, out, err)
        with open(log, 'wb') as f:
            f.write(b''.join(raw.splitlines(True)[:2]))
        code, out, err, _ = interp('audit', 'verify', '--key-file', key, '--head', head, log)
        expect(code == 1 and out.startswith(b'cut-off: '), code, out, err)
        with open(log, 'wb') as f:
            f.write(b''.join(raw.splitlines(True)[2:]))
        code, out, err, _ = interp('audit', 'verify', '--key-file', key, log)
        expect(code == 1 and out.startswith(b'cut-off: ') and b'record 2 ' in out, code, out, err)
        # the first file is elsewhere, or gone
        log = os.path.join(d, 'rotated.log')
        with Stdio() as io:
            io.open('s', audit={'path': log, 'rotate_bytes': 4096})
            for _ in range(12):
                io.run('echo audited', language='sh')
            expect(io.end() == 0, io.stderr)
        files = sorted(os.path.join(d, n) for n in os.listdir(d) if n.startswith('rotated.log.')) + [log]
        expect(len(files) > 2, files)
        for flag, some, want in (((), files, 0), (('--from-start',), files, 0), ((), files[1:], 0), (('--from-start',), files[1:], 1)):
            code, out, err, _ = interp('audit', 'verify', *flag, *some)
            expect(code == want and out.startswith(b'cut-off: ' if want else b'ok: '), flag, len(some), code, out, err)
        expect(interp('audit', 'verify', os.path.join(d, 'none'))[0] == 3)
        expect(interp('audit', 'verify', '--key-file', os.path.join(d, 'none'), log)[0] == 3)
    for arguments in (['audit'], ['audit', 'verify'], ['audit', 'nonsense'], ['audit', 'verify', '--nonsense', 'x'], ['audit', 'verify', '--head', 'x', 'y']):
        expect(interp(*arguments)[0] == 2, arguments)


def t_run_engine_errors():
    for code, reason, more in ((125, b'engine-absent', ['--image', 'x']), (2, b'image-missing', []), (125, b'endpoint', ['--image', 'x', '--endpoint', 'ssh://h']),
                               (2, b'option-value', ['--image', 'x', '--pull', 'perhaps']), (2, b'user', ['--image', 'x', '--user', 'root'])):
        run('python', '-c', '1', '--backend', 'docker', *more, code=code, out=b'', err_has=reason, env=NOWHERE)


# ---- exec --stdio

class Stdio:
    def __init__(self):
        self.p = subprocess.Popen([CLI, 'exec', '--stdio'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines, self.seen, self.count = queue.Queue(), [], 0
        self.stderr = b''
        self.threads = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._drain, daemon=True)]
        for t in self.threads:
            t.start()

    def _read(self):
        for line in self.p.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _drain(self):
        self.stderr = self.p.stderr.read()

    def send(self, *objects, raw=b''):
        data = raw
        for o in objects:
            data += json.dumps(o).encode() + b'\n'
        self.p.stdin.write(data)
        self.p.stdin.flush()

    def next(self, seconds=30):
        try:
            item = self.lines.get(timeout=seconds * runner.SLOW)
        except queue.Empty:
            raise AssertionError('no answer within %d s; the last were %r' % (seconds, self.seen[-3:])) from None
        expect(item is not None, 'the program ended; stderr', self.stderr)
        message = json.loads(item)
        self.seen.append(message)
        return message

    def until(self, identifier, *events, seconds=30):
        """All answers to one request up to the first with one of these events; what belongs to others stays in seen."""
        events = events or ('result', 'done', 'opened', 'failed')
        found = []
        for m in list(self.seen):
            if m.get('id') == identifier and not m.get('_used'):
                m['_used'] = True
                found.append(m)
                if m['event'] in events:
                    return found
        while True:
            m = self.next(seconds)
            if m.get('id') == identifier:
                m['_used'] = True
                found.append(m)
                if m['event'] in events:
                    return found

    def until_said(self, identifier, words):
        """The exec's output from here on has these words."""
        said = ''
        while words not in said:
            said += ''.join(m.get('text', '') for m in self.until(identifier, 'output', 'result'))

    def ask(self, event=None, **members):
        """Sends one request and returns its last answer."""
        self.count += 1
        members.setdefault('id', 'q%d' % self.count)
        self.send(members)
        answer = self.until(members['id'])[-1]
        if event:
            expect(answer['event'] == event, 'wanted', event, 'got', answer)
        return answer

    def failed(self, codes, **members):
        answer = self.ask(**members)
        expect(answer['event'] == 'failed' and set(answer['error']) >= ERROR_MEMBERS, members, answer)
        expect(answer['error']['code'] in codes, 'wanted', codes, 'got', answer['error'])
        return answer['error']

    def open(self, name='s', **config):
        return self.ask(op='open', session=name, config=config, event='opened')

    def run(self, code, session='s', language='python', **members):
        return self.ask(op='exec', session=session, language=language, code=code, event='result', **members)['result']

    def begin(self, identifier, code, session='s', language='python', **members):
        """An exec of code that says "up" and goes on; it has said so."""
        self.send(dict(members, id=identifier, op='exec', session=session, language=language, code=code, stream=True))
        self.until(identifier, 'output')

    def end(self):
        """End of input: exit code."""
        self.p.stdin.close()
        return self.p.wait(timeout=60 * runner.SLOW)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.p.stdin.closed:
            try:
                self.p.stdin.close()
            except OSError:
                pass
        try:
            self.p.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
        for t in self.threads:
            t.join(5)
        self.p.stdout.close()
        self.p.stderr.close()


def s_open_exec_close():
    with Stdio() as io:
        opened = io.open('s', timeout_ms=20000)
        expect(opened['session'] == 's' and opened['backend'] == 'local' and opened['isolation'] in ('full', 'namespaces', 'landlock', 'process'), opened)
        expect(set(opened['reached']) >= REACHED_MEMBERS and isinstance(opened['reached']['unenforced'], list) and opened.get('sandbox'), opened)
        r = io.run('x=6\nx*7')
        expect(r['value']['text'] == '42' and r['exec'] == 1 and set(r) >= RESULT_MEMBERS, r)
        expect(io.run('x+1')['value']['text'] == '7', 'state')
        expect(io.run('echo hi', language='bash')['stdout']['text'] == 'hi\n', 'bash')
        io.ask(op='close', session='s', event='done')
        expect(io.end() == 0, io.p.returncode, io.stderr)


def s_ids():
    with Stdio() as io:
        io.open()
        for identifier in (7, 'seven', '', 0, -3, 9007199254740991, 'é "quoted" \n line', 'x' * 1000):
            r = io.ask(id=identifier, op='exec', session='s', language='python', code='1', event='result')
            expect(r['id'] == identifier and type(r['id']) is type(identifier), r)
        for bad in ({}, [], True, None, 1.5):
            io.send({'id': bad, 'op': 'doctor'})
            m = io.next()
            if bad != 1.5:
                expect(m['event'] == 'failed', 'an id that is neither string nor number', bad, m)
        io.send({'op': 'close', 'session': 's'})
        expect(io.next()['event'] == 'failed', 'a request without an id')
        expect(io.run('2')['value']['text'] == '2', 'goes on')


def s_output():
    with Stdio() as io:
        io.open()
        io.send({'id': 1, 'op': 'exec', 'session': 's', 'language': 'python', 'stream': True, 'interactive': True,
                 'code': 'import sys\nfor i in range(5):\n  print(i,flush=True); input(); print("e%d"%i,file=sys.stderr,flush=True); input()'})
        got = []
        for i in range(10):     # the code goes on when what it said is here
            got += io.until(1, 'output')
            io.ask(op='input', session='s', target=1, text='\n', event='done')
        got += io.until(1)
        expect([m['event'] for m in got] == ['output'] * 10 + ['result'], got)
        at = {'stdout': 0, 'stderr': 0}
        whole = {'stdout': '', 'stderr': ''}
        for m in got[:-1]:
            expect(m['offset'] == at[m['stream']], m)
            at[m['stream']] += len(m['text'].encode())
            whole[m['stream']] += m['text']
        expect(''.join(m['text'] for m in got[:-1]) == ''.join('%d\ne%d\n' % (i, i) for i in range(5)), 'order', got)
        for name in whole:
            expect(got[-1]['result'][name]['text'] == whole[name], got[-1])
        io.send({'id': 2, 'op': 'exec', 'session': 's', 'language': 'python', 'code': 'print(5)'})
        expect([m['event'] for m in io.until(2)] == ['result'], 'output without stream')


def s_bytes():
    with Stdio() as io:
        io.open()
        io.send({'id': 1, 'op': 'exec', 'session': 's', 'language': 'bash', 'stream': True, 'code': "printf 'a\\377b\\000c'"})
        got = io.until(1)
        data = b''.join(base64.b64decode(m['base64']) if m.get('base64') is not None else m['text'].encode() for m in got[:-1])
        expect(data == b'a\xffb\0c', got)
        s = got[-1]['result']['stdout']
        expect(s['text'] == 'a\ufffdb\0c' and base64.b64decode(s['base64']) == b'a\xffb\0c', s)
        r = io.run('printf "é🎉"', language='bash')
        expect(r['stdout']['text'] == 'é🎉' and r['stdout'].get('base64') is None, r['stdout'])


def s_stdin():
    with Stdio() as io:
        io.open()
        expect(io.run('input()', stdin='line\nmore')['value']['text'] == "'line'", 'stdin')
        expect(io.run('import sys; sys.stdin.buffer.read()', stdin_base64=base64.b64encode(b'\0\xff').decode())['value']['text'] == "b'\\x00\\xff'", 'stdin_base64')
        expect(io.run('import os; os.environ["A"]', env={'A': 'b'})['value']['text'] == "'b'", 'env')
        expect(io.run('import os; os.environ.get("A")')['value'] is None, 'env lasts')


def trees(io):
    """Whole trees: an archive, and directories of this machine."""
    with tempfile.TemporaryDirectory() as top:
        packed = os.path.join(top, 'a.tgz')
        os.makedirs(os.path.join(top, 'src', 'sub'))
        with open(os.path.join(top, 'src', 'sub', 'f'), 'w') as f:
            f.write('text')
        os.symlink('sub/f', os.path.join(top, 'src', 'l'))
        with tarfile.open(packed, 'w:gz') as t:
            t.add(os.path.join(top, 'src'), '.')
        with open(packed, 'rb') as f:
            data = base64.b64encode(f.read()).decode()
        done = io.ask(op='put_tar', session='s', path='trees/t', base64=data, event='done')
        expect((done['files'], done['links'], done['complete']) == (1, 1, True), done)
        done = io.ask(op='put_dir', session='s', path='trees/u', dir=os.path.join(top, 'src'), event='done')
        expect((done['files'], done['left_total'], done['left'][0]['name']) == (1, 1, 'l'), done)
        io.ask(op='get_dir', session='s', path='trees', dir=os.path.join(top, 'got'), links=True, event='done')
        expect(os.readlink(os.path.join(top, 'got', 't', 'l')) == 'sub/f' and os.path.exists(os.path.join(top, 'got', 'u', 'sub', 'f')), 'got')
        io.failed(['INTERP_E_EXISTS'], op='get_dir', session='s', path='trees', dir=os.path.join(top, 'got'))
        io.failed(['INTERP_E_NOT_FOUND'], op='put_dir', session='s', path='trees', dir=os.path.join(top, 'none'))
        for bad in ({}, {'dir': 3}, {'dir': 'x', 'links': 1}, {'dir': 'a\0b'}):
            io.failed(['INTERP_E_INVAL'], op='get_dir', session='s', path='trees', **bad)
        io.failed(['INTERP_E_INVAL'], op='put_tar', session='s', path='trees', base64='eA==')
        io.ask(op='remove', session='s', path='trees', recursive=True, event='done')


def s_files():
    with Stdio() as io:
        io.open()
        expect(io.ask(op='put', session='s', path='d/é.txt', text='é\n', mode=384, event='done')['size'] == 3, 'put')
        got = io.ask(op='get', session='s', path='d/é.txt', event='done')
        expect(got['text'] == 'é\n' and got.get('base64') is None and got['size'] == 3 and got['mode'] == 384, got)
        data = bytes(range(256)) * 3000
        io.ask(op='put', session='s', path='all.bin', base64=base64.b64encode(data).decode(), event='done')
        expect(base64.b64decode(io.ask(op='get', session='s', path='all.bin', event='done')['base64']) == data, 'bytes')
        io.ask(op='put', session='s', path_base64=base64.b64encode(b'bad \xff').decode(), text='', event='done')
        names = io.ask(op='list', session='s', path='.', event='done')
        expect([e['name'] for e in names['entries']] == ['all.bin', 'bad \ufffd', 'd'] and names['complete'], names)
        expect(base64.b64decode(names['entries'][1]['path_base64']) == b'bad \xff', names)
        expect([e['name'] for e in io.ask(op='list', session='s', path='.', recursive=True, limit=100, event='done')['entries']][-1] == 'd/é.txt', 'recursive')
        expect(io.ask(op='stat', session='s', path='d', event='done')['type'] == 'dir', 'stat')
        expect(io.ask(op='mkdir', session='s', path='m/n', event='done')['created'] is True, 'mkdir')
        io.ask(op='rename', session='s', path='all.bin', to='m/n/x', event='done')
        expect(io.ask(op='remove', session='s', path='m', recursive=True, event='done')['removed'] == 3, 'remove')
        io.run('import os; os.symlink("/etc/passwd", "out")')
        io.failed(['INTERP_E_DENIED'], op='get', session='s', path='out')
        io.failed(['INTERP_E_INVAL'], op='get', session='s', path='../x')
        io.failed(['INTERP_E_INVAL'], op='get', session='s', path='d')
        io.failed(['INTERP_E_NOT_FOUND'], op='get', session='s', path='gone')
        io.failed(['INTERP_E_EXISTS'], op='rename', session='s', path='out', to='d', replace=False)
        for bad in ({'path': 3}, {}, {'path': 'x', 'path_base64': 'eA=='}, {'path': 'x', 'mode': 512}, {'path': 'x', 'mode': 'x'}, {'path': 'x', 'text': 1}):
            io.failed(['INTERP_E_INVAL'], op='put', session='s', **dict({'text': ''}, **bad))
        io.failed(['INTERP_E_INVAL'], op='put', session='s', path='x')
        trees(io)
        expect(io.ask(op='list', session='s', path='.', event='done')['entries'][0]['name'] == 'bad \ufffd', 'goes on')


def s_concurrent():
    with Stdio() as io:
        for name in 'ab':
            io.open(name)
        for waits, other in ('ab', 'ba'):
            io.send({'id': waits, 'op': 'exec', 'session': waits, 'language': 'python', 'code': 'input()', 'interactive': True})
            expect(io.run('"other"', session=other)['value']['text'] == "'other'", 'beside the other')
            io.ask(op='input', session=waits, target=waits, text='told\n', event='done')
            expect(io.until(waits)[-1]['result']['value']['text'] == "'told'", waits)
        # two kernels of one session, each of which waits for the other
        io.send(*[{'id': n, 'op': 'exec', 'session': 'a', 'kernel': n, 'language': 'python',
                   'code': 'import os, time\nopen("%s", "w").close()\nwhile not os.path.exists("%s"): time.sleep(0.01)' % (n, other)} for n, other in (('default', 'k2'), ('k2', 'default'))])
        for n in ('default', 'k2'):
            r = io.until(n)[-1]['result']
            expect(r['ok'] and r['kernel'] == n, n, r)
        io.send({'id': 'long', 'op': 'exec', 'session': 'a', 'language': 'python', 'code': 'input()', 'interactive': True})
        io.failed(['INTERP_E_BUSY'], op='exec', session='a', language='python', code='1')
        io.ask(op='input', session='a', target='long', text='\n', event='done')
        expect(io.until('long')[-1]['result']['ok'], 'the first one')


def s_never_busy_after_result():
    with Stdio() as io:
        io.open()
        for i in range(50):
            expect(io.run('%d' % i)['value']['text'] == str(i), i)


def s_cancel():
    with Stdio() as io:
        io.open(grace_ms=30000)
        io.begin('x', 'import time\nprint("up", flush=True)\ntime.sleep(600)')
        io.ask(op='cancel', session='s', target='x', event='done')
        expect(not [m for m in io.seen if m.get('id') == 'x' and m['event'] == 'result'], 'done comes at once')
        r = io.until('x')[-1]['result']
        expect((r['outcome'], r['interrupted'], r['state']) == ('cancelled', 'cancel', 'preserved'), r)
        expect(io.run('1')['ok'], 'goes on')
        io.ask(op='cancel', session='s', target='x', event='done')
        io.ask(op='cancel', session='s', target='never was', event='done')
        io.send({'id': 'y', 'op': 'exec', 'session': 's', 'language': 'python', 'code': 'open("/tmp/ran","w")'}, {'id': 'c', 'op': 'cancel', 'session': 's', 'target': 'y'})
        r = io.until('y')[-1]['result']
        io.until('c', 'done')
        if r['outcome'] != 'ok':
            expect(r['outcome'] == 'cancelled', r)
            ran = io.run('import os; os.path.exists("/tmp/ran")')['value']['text']
            expect(r['ran'] is not False or ran == 'False', 'ran false but it ran')


def s_input():
    with Stdio() as io:
        io.open()
        io.send({'id': 'x', 'op': 'exec', 'session': 's', 'language': 'python', 'code': 'import sys; a = input("? "); print(a); rest = sys.stdin.buffer.read(); len(rest), rest[:4]',
                 'interactive': True, 'stream': True})
        io.until('x', 'output')
        io.ask(op='input', session='s', target='x', text='Grüße\n', event='done')
        big = bytes(range(256)) * 8192
        io.ask(op='input', session='s', target='x', base64=base64.b64encode(big).decode(), event='done')
        io.ask(op='input', session='s', target='x', eof=True, event='done')
        r = io.until('x')[-1]['result']
        expect(r['ok'] and r['stdout']['text'] == '? Grüße\n' and r['value']['text'] == "(2097152, b'\\x00\\x01\\x02\\x03')", r)
        io.failed(['INTERP_E_NOT_FOUND'], op='input', session='s', target='x', text='late')
        io.send({'id': 'y', 'op': 'exec', 'session': 's', 'language': 'python', 'code': 'input()', 'interactive': True})
        io.send({'id': 'z', 'op': 'exec', 'session': 's', 'language': 'bash', 'code': 'sleep 600'})
        for bad in ({'target': 'z', 'text': 'x'}, {'target': 'y'}, {'target': 'y', 'text': 1}, {'target': 'y', 'text': 'a', 'base64': 'YQ=='}, {'target': 'y', 'base64': '***='},
                    {'target': 'y', 'eof': 'yes'}, {'text': 'x'}, {'target': 'y', 'text': 'x', 'more': 1}):
            io.failed(['INTERP_E_INVAL'], op='input', session='s', **bad)
        io.ask(op='input', session='s', target='y', text='fine\n', eof=True, event='done')
        io.failed(['INTERP_E_INVAL', 'INTERP_E_NOT_FOUND'], op='input', session='s', target='y', text='after the end')
        expect(io.until('y')[-1]['result']['value']['text'] == "'fine'", io.seen[-1])
        expect(io.run('1')['ok'], 'goes on')


def s_output_by_offset():
    with Stdio() as io:
        io.open()
        io.send({'id': 'x', 'op': 'exec', 'session': 's', 'language': 'bash', 'code': 'for i in $(seq 1 20000); do echo line $i; done; echo wrong >&2; while :; do :; done',
                 'hold_output': True})
        want, got = ''.join('line %d\n' % i for i in range(1, 20001)), ''
        while len(got) < len(want):
            a = io.ask(op='output', session='s', target='x', offset=len(got), length=7000, event='done')
            expect(a['offset'] == len(got) and a['next'] == len(got) + len(a['text']) and not a['ended'], a)
            got += a['text']
        expect(got == want, 'lost or twice')
        while not io.ask(op='output', session='s', target='x', stream='stderr', event='done')['text'] == 'wrong\n':
            time.sleep(0.05)
        expect(io.ask(op='kernels', session='s', event='done')['kernels'][0]['state'] == 'busy', 'kernels')
        io.failed(['INTERP_E_INVAL'], op='signal', session='s', target='x', signal='SIGNONE')
        io.failed(['INTERP_E_INVAL'], op='signal', session='s', target='x', signal=32)
        io.ask(op='signal', session='s', target='x', signal='SIGINT', event='done')
        r = io.until('x')[-1]['result']
        expect(r['interrupted'] == 'signal' and r['stdout']['total_bytes'] == len(want), r['interrupted'])
        io.failed(['INTERP_E_NOT_FOUND'], op='signal', session='s', target='x', signal=15)
        # what was not read before the end is there after it
        io.send({'id': 'y', 'op': 'exec', 'session': 's', 'language': 'bash', 'code': 'echo one; echo two', 'hold_output': True})
        io.until('y')
        a = io.ask(op='output', session='s', target='y', offset=4, event='done')
        expect(a['text'] == 'two\n' and a['next'] == 8, a)
        a = io.ask(op='output', session='s', target='y', offset=8, event='done')
        expect(a['text'] == '' and a['ended'] and a['next'] == 8, a)
        io.run('print("kept")', id='z')
        expect(io.ask(op='output', session='s', target='z', event='done')['text'] == 'kept\n', 'of an exec without hold_output')
        for bad in ({'target': 'y', 'stream': 'x'}, {'target': 'y', 'length': 0}, {'target': 'y', 'offset': -1}, {}):
            io.failed(['INTERP_E_INVAL'], op='output', session='s', **bad)
        io.failed(['INTERP_E_NOT_FOUND'], op='output', session='s', target='never')


def s_terminal():
    with Stdio() as io:
        io.open(pty=True)
        io.send({'id': 'x', 'op': 'exec', 'session': 's', 'language': 'bash', 'code': 'echo begun; read -s -p "password: " x; echo; echo "${#x}"; trap \'stty size; exit\' WINCH; echo; echo now; while :; do sleep 0.05; done',
                 'interactive': True, 'stream': True, 'pty': True, 'pty_rows': 30, 'pty_columns': 90})
        io.until_said('x', 'password: ')    # it comes when the echo is off
        io.ask(op='input', session='s', target='x', text='geheim\n', event='done')
        io.until_said('x', 'now')
        io.ask(op='resize', session='s', target='x', rows=44, columns=99, event='done')
        r = io.until('x')[-1]['result']
        expect(r['ok'] and 'geheim' not in r['stdout']['text'] and '6\r\n' in r['stdout']['text'] and r['stdout']['text'].endswith('44 99\r\n'), r)
        io.failed(['INTERP_E_NOT_FOUND'], op='resize', session='s', target='x', rows=1, columns=1)
        io.send({'id': 'w', 'op': 'exec', 'session': 's', 'language': 'bash', 'code': 'stty size', 'pty': True}, {'id': 'v', 'op': 'resize', 'session': 's', 'target': 'w', 'rows': 5, 'columns': 6})
        r = io.until('w')[-1]['result']     # in one piece, so that the second finds the first not begun
        expect(r['stdout']['text'] == '5 6\r\n' and io.until('v')[-1]['event'] == 'done', r)
        io.send({'id': 'y', 'op': 'exec', 'session': 's', 'language': 'bash', 'code': 'sleep 600'})
        for bad in ({'target': 'y', 'rows': 3, 'columns': 3}, {'rows': 3, 'columns': 3}, {'target': 'y', 'rows': 3}, {'target': 'y', 'rows': '3', 'columns': 3}):
            io.failed(['INTERP_E_INVAL'], op='resize', session='s', **bad)


def s_spill():
    with tempfile.TemporaryDirectory() as d, Stdio() as io:
        io.open(spill_dir=d, redact={'values': [{'name': 'KEY', 'value': 'k7Jm2Qx9' + 'w4Rt6Yz1'}]})
        io.send({'id': 'big', 'op': 'exec', 'session': 's', 'language': 'python', 'code': "for i in range(100000): print('%09d' % i, 'k7Jm2Qx9' + 'w4Rt6Yz1' if i == 77777 else '')"})
        r = io.until('big')[-1]['result']
        expect(r['ok'] and r['stdout']['truncated'] and r['stdout']['spill']['missing_bytes'] == 0 and os.listdir(d) == [], r['stdout']['spill'])
        a = io.ask(op='spill_read', session='s', target='big', offset=11 * 50000, length=22, event='done')
        expect(a['text'] == '000050000 \n000050001 \n' and a['offset'] == 550000 and a['total_bytes'] == r['stdout']['total_bytes'], a)
        a = io.ask(op='spill_grep', session='s', target='big', text='77777', limit=1, event='done')
        expect([(m['line'], m['text']) for m in a['matches']] == [(77778, '000077777 [REDACTED:KEY]')] and a['next'], a)
        a = io.ask(op='spill_grep', session='s', target='big', text='99999', event='done')
        expect([m['line'] for m in a['matches']] == [100000] and a['next'] is None, a)
        io.ask(op='spill_save', session='s', target='big', path=os.path.join(d, 'big.gz'), event='done')
        with gzip.open(os.path.join(d, 'big.gz')) as f:
            expect(len(f.read()) == r['stdout']['total_bytes'], 'saved')
        io.failed(['INTERP_E_EXISTS'], op='spill_save', session='s', target='big', path=os.path.join(d, 'big.gz'))
        expect(io.ask(op='spill_read', session='s', target='big', offset=10 ** 9, event='done')['text'] == '', 'past the end')
        for bad in ({'length': 0}, {'offset': -1}, {'offset': 'x'}, {'stream': 'stdin'}, {'more': 1}):
            io.failed(['INTERP_E_INVAL'], op='spill_read', session='s', target='big', **bad)
        io.failed(['INTERP_E_INVAL'], op='spill_grep', session='s', target='big')
        io.failed(['INTERP_E_INVAL'], op='spill_read', session='s')
        io.failed(['INTERP_E_NOT_FOUND'], op='spill_read', session='s', target='other')
        for i in range(17):    # the last 16 can be asked
            io.run(str(i))
        io.failed(['INTERP_E_NOT_FOUND'], op='spill_read', session='s', target='big')


def s_screen():
    with Stdio() as io:
        io.open('s', screen=True, policy={'commands': {'deny': ['rm']}})
        for number, answer in ((1, {'allow': True}), (2, {'allow': False, 'reason': 'ask first'}), (3, {'allow': True, 'code': 'echo other'})):
            io.send({'id': number, 'op': 'exec', 'session': 's', 'language': 'sh', 'code': 'echo asked', 'request_id': 'r'})
            question = io.until(number, 'screen')[-1]
            expect(question['question']['code'] == 'echo asked' and question['question']['request_id'] == 'r', question)
            io.failed(['INTERP_E_NOT_FOUND'], op='reply', session='s', target=number, reply=question['reply'] + 1, allow=True)
            io.failed(['INTERP_E_INVAL'], op='reply', session='s', target=number, reply=question['reply'])
            io.ask(op='reply', session='s', target=number, reply=question['reply'], event='done', **answer)
            r = io.until(number, 'result')[-1]['result']
            if number == 2:
                expect(r['outcome'] == 'denied' and r['cause'] == 'screen' and r['denied']['reason'] == 'ask first', r)
            else:
                expect(r['ok'] and r['stdout']['text'] == ('asked\n' if number == 1 else 'other\n'), r)
        r = io.run('rm -rf x', language='sh')
        expect(r['outcome'] == 'denied' and r['denied']['rule'] == 'commands' and r['denied']['what'] == 'rm' and r['denied']['line'] == 1, r)
        io.failed(['INTERP_E_NOT_FOUND'], op='reply', session='s', target=1, reply=1, allow=True)
        expect(io.end() == 0, io.stderr)


def s_restart():
    with Stdio() as io:
        io.open()
        io.run('x=1; open("kept","w").close()')
        io.ask(op='restart', session='s', language='python', event='done')
        r = io.run('x')
        expect(r['error']['type'] == 'NameError' and r['exec'] == 2, r)
        expect(io.run('import os; os.path.exists("kept")')['value']['text'] == 'True', 'files')
        io.failed(['INTERP_E_NOT_FOUND'], op='restart', session='s', language='bash')
        io.failed(['INTERP_E_NOT_FOUND'], op='restart', session='s', language='python', kernel='never')
        io.begin('x', 'print("up", flush=True)\nwhile 1: pass')
        io.send({'id': 'r', 'op': 'restart', 'session': 's', 'language': 'python'})
        r = io.until('x')[-1]['result']
        expect((r['outcome'], r['state']) == ('cancelled', 'reset'), r)
        expect(io.until('r')[-1]['event'] == 'done', io.seen[-1])
        expect(io.run('1')['ok'], 'goes on')


def s_probe():
    with Stdio() as io:
        io.open()
        found = io.ask(op='probe', session='s', event='done')['probe']
        expect(found['network'] == 'none' and found['complete'] and 'sh' in [one['name'] for one in found['languages']], found)
        text = io.ask(op='probe', session='s', format='text', event='done')['probe']
        expect('No network' in text and 'Languages:' in text, text)
        io.failed(['INTERP_E_INVAL'], op='probe', session='s', format='yaml')
        io.failed(['INTERP_E_NOT_FOUND'], op='probe', session='never')
        expect(io.run('1')['exec'] == 1, 'a probe is no exec')


def s_names():
    with Stdio() as io:
        io.failed(['INTERP_E_NOT_FOUND'], op='exec', session='s', language='python', code='1')
        io.failed(['INTERP_E_NOT_FOUND'], op='close', session='s')
        io.open()
        io.failed(['INTERP_E_EXISTS'], op='open', session='s')
        io.ask(op='close', session='s', event='done')
        io.ask(op='close', session='s', event='done')
        io.failed(['INTERP_E_CLOSED'], op='exec', session='s', language='python', code='1')
        io.open()
        expect(io.run('1')['exec'] == 1, 'a new session')


def s_close_running():
    with Stdio() as io:
        io.open()
        io.begin('x', 'print("up", flush=True)\nwhile 1: pass')
        io.send({'id': 'c', 'op': 'close', 'session': 's'})
        io.until('c')
        order = [(m['id'], m['event']) for m in io.seen if m['id'] in ('x', 'c')]
        expect(order == [('x', 'output'), ('x', 'result'), ('c', 'done')], order)
        r = next(m for m in io.seen if m['id'] == 'x' and m['event'] == 'result')['result']
        expect((r['outcome'], r['state']) == ('cancelled', 'gone'), r)


def s_late():
    with Stdio() as io:
        io.open()
        waits = '(until [ -e %s ]; do sleep .01; done; echo %s) & echo now'
        first = io.run(waits % ('a', 'late'), language='bash')
        late, end = [], time.monotonic() + 30 * runner.SLOW
        while not late and time.monotonic() < end:      # it comes with the first exec that it finds
            io.send({'id': 2, 'op': 'exec', 'session': 's', 'language': 'bash', 'stream': True, 'code': 'touch a; echo next'})
            got = io.until(2)
            late = [m for m in got if m['event'] == 'late']
            expect(got[-1]['result']['stdout']['text'] == 'next\n' and got[-1]['result']['late'] == [], got[-1])
        expect([(m['text'], m['stream'], m['exec']) for m in late] == [('late\n', 'stdout', first['exec'])], got)
        r = io.run(waits % ('b', 'late2'), language='bash')
        while not r['late'] and time.monotonic() < end:
            r = io.run('touch b; echo next', language='bash')
        expect([m['text'] for m in r['late']] == ['late2\n'] and r['stdout']['text'] == 'next\n', r)


def s_malformed():
    lines = [b'{', b'}', b'[]', b'42', b'"text"', b'null', b'nonsense', b'{"id":1', b'{"id":1}}', b'{"id":1} {"id":2}', b'\xff\xfe', b'{"id":"\xff","op":"doctor"}', b'{"id":1,"op":\0}',
             b'{"id":1,"op":"doctor",}', b"{'id':1}", b'{"id":1e999,"op":"doctor"}', b'{"id":1,"id":2,"op":"close","session":"s"}', b'[' * 100000, b'{"a":' * 100000,
             b'{"id":1,"op":"exec","session":"s","language":"python","code":' + b'[' * 100000 + b']' * 100000 + b'}']
    with Stdio() as io:
        io.open()
        for line in lines:
            io.send(raw=line + b'\n')
            m = io.next()
            expect(m['event'] == 'failed' and m['error']['code'] in ('INTERP_E_INVAL', 'INTERP_E_LIMIT'), line[:60], m)
        expect(io.run('"still"')['ok'], 'goes on')


def s_long_line():
    with Stdio() as io:
        io.open()
        io.send(raw=b'{"id":"long","op":"exec","session":"s","language":"python","code":"' + b'#' * (65 << 20) + b'"}\n')
        m = io.next(60)
        expect(m['event'] == 'failed', {k: v for k, v in m.items() if k != 'result'})
        expect(io.run('"still"')['ok'], 'goes on')


def s_bad_requests():
    with Stdio() as io:
        io.failed(['INTERP_E_INVAL', 'INTERP_E_UNSUPPORTED'], op='nonsense')
        io.failed(['INTERP_E_INVAL'], session='s')
        for config in ({'nonsense': 1}, {'timeout_ms': 0}, {'timeout_ms': -1}, {'timeout_ms': '5'}, {'timeout_ms': 1.5}, {'memory_bytes': 1}, {'env': {'A=B': 'x'}}, {'env': 5}, {'isolation': 'x'},
                       {'local.nonsense': 1}):
            io.failed(['INTERP_E_INVAL'], op='open', session='s', config=config)
        io.failed(['INTERP_E_NOT_FOUND', 'INTERP_E_INVAL'], op='open', session='s', config={'backend': 'nosuch'})
        io.failed(['INTERP_E_INVAL'], op='open', session='s', nonsense=1)
        io.open()
        good = {'op': 'exec', 'session': 's', 'language': 'python', 'code': '1'}
        for bad in ({'nonsense': 1}, {'timeout_ms': 0}, {'timeout_ms': -5}, {'language': 'cobol'}, {'language': 5}, {'code': 5}, {'stream': 'yes'}, {'code': 'a\0b'}, {'env': {'': 'x'}},
                    {'stdin': 'a', 'stdin_base64': 'YQ=='}, {'stdin_base64': '***'}, {'options': []}, {'kernel': ''}):
            e = io.failed(['INTERP_E_INVAL'], **dict(good, **bad))
            name = next(iter(bad))
            expect(name == 'env' or name == 'stdin' or name in e['message'] or 'language' in e['message'], bad, 'is not named in', e)
        for missing in ('language', 'code', 'session'):
            io.failed(['INTERP_E_INVAL', 'INTERP_E_NOT_FOUND'], **{k: v for k, v in good.items() if k != missing})
        for op in ('cancel', 'restart', 'close'):
            io.failed(['INTERP_E_INVAL'], op=op, session='s', target='x', language='python', nonsense=1)
        r = io.run('1')
        expect(r['ok'] and r['exec'] == 1, 'a bad request ran', r)


def s_end_of_input():
    with Stdio() as io:
        io.open()
        io.send({'id': 'x', 'op': 'exec', 'session': 's', 'language': 'python', 'code': 'print("up",flush=True)\nwhile 1: pass', 'stream': True})
        io.until('x', 'output')
        below = runner.descendants(io.p.pid)
        start = time.monotonic()
        expect(io.end() == 0, io.p.returncode)
        expect(time.monotonic() - start < 6 * runner.SLOW, 'took', time.monotonic() - start)
        r = io.until('x', 'result')[-1]['result']
        expect(r['outcome'] == 'cancelled', r)
        rest = [pid for pid in below if (runner.stat_fields(pid) or (0, 'X'))[1] not in 'XZ']
        expect(below and not rest, 'processes left', rest)
    with Stdio() as io:
        expect(io.end() == 0, 'at once')
    with Stdio() as io:
        io.send(raw=b'{"id":1,"op":"doctor"}')
        expect(io.end() == 0, 'without a newline at the end', io.stderr)
        expect(io.next()['event'] in ('done', 'failed'), io.seen)


def s_flood():
    with Stdio() as io:
        io.open()
        io.send({'id': 1, 'op': 'exec', 'session': 's', 'language': 'bash', 'stream': True, 'code': 'head -c 20000000 /dev/zero | tr "\\0" x'})
        time.sleep(1)
        got = io.until(1, 'result', seconds=60)
        expect(sum(len(m['text']) for m in got[:-1]) == 20000000, 'bytes')
        expect(got[-1]['result']['stdout']['total_bytes'] == 20000000 and got[-1]['result']['stdout']['truncated'], 'total')


def s_reader_goes():
    p = subprocess.Popen([CLI, 'exec', '--stdio'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdin.write(b'{"id":1,"op":"open","session":"s"}\n{"id":2,"op":"exec","session":"s","language":"bash","code":"yes","stream":true}\n')
    p.stdin.flush()
    p.stdout.readline()
    p.stdout.readline()
    p.stdout.close()
    try:
        expect(p.wait(timeout=60 * runner.SLOW) >= 0, 'died of SIGPIPE')
    finally:
        p.kill()
        p.wait()
        p.stdin.close()


def s_doctor():
    with Stdio() as io:
        answer = io.ask(op='doctor', event='done')
        expect(isinstance(answer.get('backends'), list) and answer['backends'], answer)


def main():
    global CLI
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--only', action='append')
    p.add_argument('--verbose', action='store_true')
    options = p.parse_args()
    CLI = CLI or shutil.which('interp') or ''
    if not os.path.isabs(CLI):
        raise SystemExit('INTERP_CLI must be the absolute path of the program')
    tally = runner.Tally()
    for name, test in list(globals().items()):
        if name[:2] not in ('t_', 's_') or not callable(test) or not runner.chosen(name, options.only):
            continue
        start = time.monotonic()
        try:
            test()
        except Skip as e:
            tally.skip(name, e)
            continue
        except Exception as e:
            tally.fail(name, '%s: %s' % (type(e).__name__, e) if not isinstance(e, AssertionError) else e)
            continue
        tally.ok(name)
        if options.verbose:
            print('ok   %s (%.0f ms)' % (name, (time.monotonic() - start) * 1e3), flush=True)
    sys.exit(tally.end())


if __name__ == '__main__':
    main()
