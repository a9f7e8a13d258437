"""E2B's verbs, compared with those of its SDK where that is installed."""
import inspect
import io
import threading
import time

import interp
import pytest
from interp.adapters import e2b
from interp.adapters.e2b import Sandbox

from conftest import SLOW


@pytest.fixture
def sandbox():
    with Sandbox.create(grace_ms=30000) as s:
        yield s


def test_code(sandbox):
    said = []
    execution = sandbox.run_code('import sys\nprint("a")\nprint("é")\nsys.stderr.write("b")\nx = 6\nx * 7', on_stdout=said.append, on_stderr=said.append, on_result=said.append)
    assert execution.text == '42' and ''.join(execution.logs.stdout) == 'a\né\n' and execution.logs.stderr == ['b'] and execution.error is None
    assert [r.is_main_result for r in execution.results] == [True] and execution.results[0].formats() == ['text'] and execution.results[0]['text'] == '42'
    assert ''.join(m.line for m in said if isinstance(m, e2b.OutputMessage) and not m.error) == 'a\né\n' and said[-1] is execution.results[0]
    wrong = []
    execution = sandbox.run_code('x / 0', on_error=wrong.append)
    assert (execution.error.name, execution.error.value) == ('ZeroDivisionError', 'division by zero') and 'line 1' in execution.error.traceback and wrong == [execution.error]
    assert sandbox.run_code('echo $A', language='bash', envs={'A': 'b'}).logs.stdout == ['b\n']
    assert sandbox.run_code('exit 3', 'bash').error.name
    with pytest.raises(e2b.TimeoutException):
        sandbox.run_code('while True: pass', timeout=0.3)
    assert sandbox.run_code('x').text == '6'


def test_displays(sandbox):
    code = 'class R:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return {"text/plain": "R", "text/html": "<b>", "image/png": b"\\x89PNG", "application/json": {"a": 1}}\nR()'
    (result,) = sandbox.run_code(code).results
    assert (result.text, result.html, result.png, result.json) == ('R', '<b>', 'iVBORw==', {'a': 1}) and set(result.formats()) == {'text', 'html', 'png', 'json'}


def test_contexts(sandbox):
    context = sandbox.create_code_context(cwd='/tmp')
    assert sandbox.run_code('import os\ny = 1\nos.getcwd()', context=context).text == "'/tmp'"
    assert sandbox.run_code('y').error.name == 'NameError' and sandbox.run_code('y', context=context).text == '1'
    assert sandbox.create_code_context(language='bash', cwd='/tmp').language == 'bash'
    with pytest.raises(e2b.InvalidArgumentException):
        sandbox.run_code('1', language='python', context=context)
    for language in 'python', 'bash', 'sh', 'ruby':
        with pytest.raises(e2b.InvalidArgumentException, match='/none|ruby'):
            sandbox.create_code_context(cwd='/none', language=language)
    assert {kernel.name for kernel in sandbox.session.kernels} == {'default', 'context-1', 'context-2'}


def test_commands(sandbox):
    said = []
    result = sandbox.commands.run('echo $0 $A; pwd; echo oops >&2', envs={'A': 'b'}, cwd='/tmp', on_stdout=said.append)
    assert (result.stdout, result.stderr, result.exit_code, result.error) == ('bash b\n/tmp\n', 'oops\n', 0, None) and ''.join(said) == result.stdout
    assert sandbox.commands.run('pwd').stdout == '/workspace\n'
    with pytest.raises(e2b.CommandExitException) as caught:
        sandbox.commands.run('echo out; echo err >&2; exit 7')
    assert (caught.value.exit_code, caught.value.stdout, caught.value.stderr) == (7, 'out\n', 'err\n') and 'code 7' in str(caught.value)
    with pytest.raises(e2b.TimeoutException):
        sandbox.commands.run('sleep 30', timeout=0.3)
    with pytest.raises(e2b.InvalidArgumentException):
        sandbox.commands.run('id', user='root')
    # a command leaves nothing behind for the next: each is a shell of its own; and no output is lost
    sandbox.commands.run('cd /; B=1; set -e')
    assert sandbox.commands.run('echo ${B-none}; false; echo on').stdout == 'none\non\n'
    assert len(sandbox.commands.run('seq 1 200000').stdout) == 1288895
    assert sandbox.commands.run("printf '%s' 'it'\\''s'; cat <<E\nhere\nE").stdout == "it'shere\n"


def test_commands_in_the_background(sandbox):
    handle = sandbox.commands.run('read a; echo got $a', background=True, stdin=True)
    assert sandbox.commands.list() == [handle.pid] and sandbox.commands.run('echo meanwhile').stdout == 'meanwhile\n'
    sandbox.commands.send_stdin(handle.pid, 'x\n')
    assert handle.wait().stdout == 'got x\n' and handle.wait().exit_code == 0 and not handle.kill() and not sandbox.commands.list()
    handle = sandbox.commands.run('sleep 30', background=True)
    began = time.monotonic()
    assert sandbox.commands.kill(handle.pid) and time.monotonic() - began < 10
    with pytest.raises(e2b.CommandExitException):
        handle.wait()
    assert not sandbox.commands.kill(99)
    with pytest.raises(e2b.NotFoundException):
        sandbox.commands.connect(99)
    for n in range(20):     # more than a session has interpreters
        assert sandbox.commands.run('echo %d' % n, background=True).wait().stdout == '%d\n' % n
    handle = sandbox.commands.run('cat; exit 2', background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, b'abc')
    sandbox.commands.close_stdin(handle.pid)
    assert list(handle) == [('abc', None, None)]


def test_commands_that_ended_make_room(sandbox):
    handles = []
    for n in range(20):     # more than a session has interpreters; nobody waits for them
        handles.append(sandbox.commands.run('echo %d' % n, background=True))
        end = time.monotonic() + 30 * SLOW
        while sandbox.commands.list() and time.monotonic() < end:
            time.sleep(0.01)
    with pytest.raises(e2b.NotFoundException):
        sandbox.commands.connect(handles[0].pid)
    assert not sandbox.commands.kill(handles[1].pid) and not handles[2].kill()
    assert [handle.wait().stdout for handle in handles] == ['%d\n' % n for n in range(20)]
    # one that runs and has an event to tell is not taken for one that ended
    handle = sandbox.commands.run('sleep 1; cat | wc -c', background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, b'x' * (2 << 20))
    assert sandbox.commands.list() == [handle.pid]
    sandbox.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == '%d\n' % (2 << 20)


def test_waiting_holds_nobody_up(sandbox):
    handle = sandbox.commands.run('read a; echo got $a', background=True, stdin=True)
    found = []
    waiting = threading.Thread(target=lambda: found.append(handle.wait().stdout))
    waiting.start()
    time.sleep(0.1)
    assert sandbox.commands.run('echo meanwhile').stdout == 'meanwhile\n' and sandbox.run_code('6 * 7').text == '42'
    sandbox.files.write('x', 'y')
    assert found == []
    sandbox.commands.send_stdin(handle.pid, 'words\n')
    waiting.join(30)
    assert found == ['got words\n']


def test_files(sandbox):
    info = sandbox.files.write('a/b.txt', 'héllo')
    assert (info.name, info.type, info.path) == ('b.txt', e2b.FileType.FILE, '/workspace/a/b.txt') and sandbox.files.read('a/b.txt') == 'héllo'
    data = bytes(range(256)) * 500
    sandbox.files.write('/workspace/bin', io.BytesIO(data))
    assert sandbox.files.read('bin', format='bytes') == bytearray(data) and b''.join(sandbox.files.read('bin', 'stream')) == data
    assert [i.path for i in sandbox.files.write_files([{'path': 'x', 'data': '1'}, {'path': 'a/c/y', 'data': b'2'}])] == ['/workspace/x', '/workspace/a/c/y']
    assert [(e.name, e.type) for e in sandbox.files.list('.')] == [('a', e2b.FileType.DIR), ('bin', e2b.FileType.FILE), ('x', e2b.FileType.FILE)]
    assert {e.path for e in sandbox.files.list('/workspace/a', depth=2)} == {'/workspace/a/b.txt', '/workspace/a/c', '/workspace/a/c/y'}
    entry = sandbox.files.get_info('bin')
    assert (entry.size, entry.permissions, entry.mode) == (len(data), 'rw-r--r--', 0o644) and time.time() - entry.modified_time.timestamp() < 600
    assert sandbox.files.make_dir('d/e') and not sandbox.files.make_dir('d/e') and sandbox.files.exists('d/e') and not sandbox.files.exists('bin/x')
    assert sandbox.files.rename('x', 'd/x').path == '/workspace/d/x' and not sandbox.files.exists('x')
    sandbox.files.remove('d')
    assert not sandbox.files.exists('d')
    for wrong in (lambda: sandbox.files.read('none'), lambda: sandbox.files.remove('none'), lambda: sandbox.files.list('none'), lambda: sandbox.files.rename('none', 'y')):
        with pytest.raises(e2b.NotFoundException):
            wrong()
    for wrong in (lambda: sandbox.files.read('a'), lambda: sandbox.files.read('bin', format='json'), lambda: sandbox.files.list('.', depth=0), lambda: sandbox.files.read('a\0b')):
        with pytest.raises(e2b.InvalidArgumentException):
            wrong()
    assert sandbox.run_code('open("a/b.txt", encoding="utf-8").read()').text == "'héllo'"


def test_life(sandbox):
    assert sandbox.is_running() and sandbox.get_info()['sandbox_id'] == sandbox.sandbox_id
    with pytest.raises(e2b.NotFoundException):
        Sandbox(backend='nowhere')
    with pytest.raises(e2b.InvalidArgumentException):
        Sandbox(session=sandbox.session, pids=20)
    with Sandbox(session=interp.Session(), metadata={'a': 'b'}) as other:
        assert other.get_info()['metadata'] == {'a': 'b'}
    assert sandbox.kill() and not sandbox.kill() and not sandbox.is_running()
    with pytest.raises(e2b.TimeoutException):
        sandbox.run_code('1')


def test_signatures_of_the_sdk():
    """Every parameter that is here has its name from there, in an order that calls by position can rely on."""
    sdk = pytest.importorskip('e2b_code_interpreter')
    from e2b.sandbox_sync.commands.command import Commands
    from e2b.sandbox_sync.filesystem.filesystem import Filesystem
    pairs = [(Sandbox.run_code, sdk.Sandbox.run_code), (Sandbox.create_code_context, sdk.Sandbox.create_code_context), (e2b.Commands.run, Commands.run),
             (e2b.Commands.kill, Commands.kill), (e2b.Commands.send_stdin, Commands.send_stdin)]
    pairs += [(getattr(e2b.Filesystem, n), getattr(Filesystem, n)) for n in ('read', 'write', 'write_files', 'list', 'exists', 'get_info', 'remove', 'rename', 'make_dir')]
    for ours, theirs in pairs:
        have, want = list(inspect.signature(ours).parameters), list(inspect.signature(theirs).parameters)
        assert have == [name for name in want if name in have], (ours, have, want)
    for ours, theirs in ((e2b.Result, sdk.Result), (e2b.Execution, sdk.Execution)):
        mine = ours({}) if ours is e2b.Result else ours()
        assert set(vars(theirs())) - {'data', 'chart'} <= {n for n in dir(mine)}
