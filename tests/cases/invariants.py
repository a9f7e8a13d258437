"""What rows of reported.jsonl say in prose, as code: steps of the host, and invariants, by the row's id.

A row object (run_reported.Row) has done: [(path, exec or None, error or None)], session, facts (a dict), undo (functions called at its end), mark, config and open_more()."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import interp_host
import runner

MIB = 1 << 20


def text(data):
    return data.decode('utf-8', 'replace')


def status_line(name):
    with open('/proc/self/status') as f:
        return next(line.split()[1] for line in f if line.startswith(name + ':'))


def ignores(number):
    return int(status_line('SigIgn'), 16) >> number - 1 & 1


def execs(row, path):
    return [x for p, x, _ in row.done if p == path and x is not None]


def first(row, path):
    return (execs(row, path) or [None])[0]


def complain(*pairs):
    return [words for fine, words in pairs if not fine]


# ---------------------------------------------------------------- steps of the host: {id: {number of the step: function(row)}}
def host_steals_children(row):
    """A thread of the host that takes the exit status of any child."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                time.sleep(0.002)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def undo():
        stop.set()
        thread.join(5)
    row.undo.append(undo)


def host_alarm(row):
    hits = row.facts['hits'] = []
    before = signal.signal(signal.SIGALRM, lambda *a: hits.append(time.monotonic()))
    row.facts['handler'] = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)

    def undo():
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    row.undo.append(undo)
    found = row.facts['threads'] = []

    def one():
        with row.open_more() as s:
            found.append(s.exec('python', 'import time; time.sleep(20)', timeout_ms=1000))
    threads = [threading.Thread(target=one) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def host_kills_interpreter(row):
    """kill -9 to the interpreter while 4 MiB of code are on their way to it."""
    row.session.exec('python', '1')
    victims = runner.marked(row.mark)

    def kill():
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
    x = row.session.exec('python', '#' + 'x' * (4 * MIB) + '\nprint(1)', on_start=kill)
    row.facts['killed'], row.facts['after'] = (victims, x), row.session.exec('python', 'print(2)')


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import interp_host, json
host = interp_host.Host()
with host.open(json.loads(sys.argv[2])) as s:
    print('open', flush=True)
    s.exec('bash', 'sleep 600', timeout_ms=600000)
"""


def killed_host(row):
    """Another host program opens a session and is killed hard while an exec runs there."""
    common = os.path.dirname(os.path.abspath(interp_host.__file__))
    p = subprocess.Popen([sys.executable, '-c', CHILD, common, json.dumps(row.config)], stdout=subprocess.PIPE)
    started, end = p.stdout.readline(), time.monotonic() + 30 * runner.SLOW
    before = []
    while not before and time.monotonic() < end:
        before = [pid for pid in runner.marked(row.mark) if pid != os.getpid()]
    p.kill()
    p.wait()
    p.stdout.close()
    row.facts['dead'] = (started, before)


def dead_hosts_sandbox(row):
    """Nothing of it is left, and what is this host's lives on."""
    started, before = row.facts['dead']
    x = row.session.exec('bash', 'echo mine')
    row.close()
    left = runner.left_over(row.mark, 15 * runner.SLOW)
    return complain((started == b'open\n' and before, 'the other host did not run: %r %r' % (started, before)), (x.bytes('stdout') == b'mine\n', 'a live host lost its own: %s' % x), (not left, 'left: %s' % left))


def slow_reader(row):
    row.facts['event_delay_s'] = 0.005


HOST = {'SES-05': {1: lambda row: killed_host(row), 2: lambda row: None}, 'ENG-02': {1: lambda row: None}, 'HST-02': {0: host_steals_children}, 'HST-04': {0: host_alarm}, 'HST-05': {0: lambda row: None, 3: host_kills_interpreter}, 'OUT-17': {0: slow_reader}}
MAIN_THREAD = {'HST-04'}                    # a handler of Python's is set there only
ELSEWHERE = {'SES-05'}                    # rows whose code with a tag runs in another host program
NOT_STREAMED = {'OUT-06'}                   # this runner itself would keep every byte
# In a step of `parallel`: what the host does meanwhile.
MEANWHILE = {'SES-07': lambda row: (row.session.shutdown(), row.session.shutdown())}


# ---------------------------------------------------------------- before the row
def own_temp(row):
    folder = row.facts['temp'] = tempfile.mkdtemp()
    os.chmod(folder, 0o777)
    before = os.environ.get('TMPDIR')
    os.environ['TMPDIR'] = folder
    row.facts['mounts'] = count_mounts()

    def undo():
        os.environ.pop('TMPDIR')
        if before is not None:
            os.environ['TMPDIR'] = before
        os.rmdir(folder)
    row.undo.append(undo)


def count_mounts():
    """But for those of container engines, which may run beside."""
    with open('/proc/self/mountinfo') as f:
        return len([1 for line in f if not re.search('docker|podman|containers|netns|/engines/|interp-f\\.', line)])


def reset_peak(row):
    with row.open_more() as s:              # what the first session of all costs is no growth
        s.exec('python', 'print("x" * 3000000)', stream=False)
    with open('/proc/self/clear_refs', 'w') as f:
        f.write('5')
    row.facts['rss'] = int(status_line('VmRSS'))


BEFORE = {'LIM-08': own_temp, 'OUT-06': reset_peak, 'HST-07': lambda row: row.facts.update(threads=int(status_line('Threads')))}


# ---------------------------------------------------------------- after its steps, the session still open
def state_tells(lost, kept):
    """What a later exec finds agrees with the state that the ended one reported."""
    def check(row):
        ended, later = first(row, '1'), first(row, '2')
        said, out = ended.result['state'] in ('preserved', 'restored'), text(later.bytes('stdout'))
        return complain((bool(re.match(kept if said else lost, out)), 'state %s, but the next exec says %r' % (ended.result['state'], out)))
    return check


def late_noise(row):
    late, end = text(first(row, '1').late('stdout')), time.monotonic() + 10 * runner.SLOW
    while not late and time.monotonic() < end:
        late = text(row.session.exec('bash', ':').late('stdout'))
    return complain((re.match('^(noise\n)*$', late), 'late output %r' % late[:100]), (late, 'the late lines are nowhere'))


def no_child(row):
    x = row.session.exec('python', 'import os\ntry: print(os.waitpid(-1, os.WNOHANG))\nexcept ChildProcessError: print("none")')
    return complain((x.bytes('stdout') == b'none\n', 'a child is left: %s' % x))


def whole_characters(row):
    x = first(row, '0')
    bad = []
    for part in (x.head['stdout'], x.tail['stdout']):
        try:
            part.decode()
        except UnicodeDecodeError as e:
            bad.append('a kept part is cut within a character: %s' % e)
    return bad + complain((b''.join(e['data'] for e in x.events if e['stream'] == 'stdout') == x.bytes('stdout'), 'events and stdout differ'))


def host_memory(row):
    grown = int(status_line('VmHWM')) - row.facts['rss']
    return complain((grown < (8 << 10) + 2 * 1024, 'the host grew by %d KiB' % grown))


def user_frames(row):
    frames = (first(row, '2').result['error'] or {}).get('frames') or []
    return complain(([f['function'] for f in frames].count('f') == 1 and len(frames) == 2, 'frames %r' % frames), (first(row, '3').bytes('stdout') == b'', 'a statement ran'))


def folders(row):
    x = row.session.exec('python', 'import os, tempfile\nfor d in (tempfile.gettempdir(), os.path.expanduser("~")): print(os.path.isdir(d), os.access(d, os.W_OK), (d + "/").startswith(os.getcwd() + "/"))')
    return complain((x.bytes('stdout') == b'True True False\nTrue True False\n', 'temporary folder and home: %s' % x))


def no_tokens(row):
    x = row.session.exec('bash', "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -a -i '[i]nterp_' | grep -a -v '^[I]NTERP_TEST_MARK='; true")
    return complain((x.bytes('stdout') == b'', 'to be read in the sandbox: %s' % x))


def threads_and_zombies(row):
    states = [(runner.stat_fields(p) or (0, ''))[1] for p, parent in runner.descendants().items() if parent == os.getpid()]
    return complain((int(status_line('Threads')) == row.facts['threads'], '%s threads, before %d' % (status_line('Threads'), row.facts['threads'])),
                    ('Z' not in states, 'zombies: %r' % states))


def alarms(row):
    bad = ['in a thread: %s' % x for x in row.facts['threads'] if x.outcome != 'timeout']
    row.slow += ['in a thread: %s' % x for x in row.facts['threads'] if x.ms > 3000 * runner.SLOW]
    return bad + complain((len(row.facts['threads']) == 8, '%d of 8 threads' % len(row.facts['threads'])), (signal.getsignal(signal.SIGALRM) is row.facts['handler'], 'another SIGALRM handler'),
                          (signal.getitimer(signal.ITIMER_REAL)[1] == 0.1 and len(row.facts['hits']) > 2, 'the timer does not run'))


def survived_kill(row):
    victims, x = row.facts['killed']
    return complain((victims, 'no interpreter to be killed was found'), (x.outcome in ('ok', 'crashed', 'lost'), 'after the kill: %s' % x), (row.facts['after'].bytes('stdout') == b'2\n', 'next: %s' % row.facts['after']),
                    (not ignores(signal.SIGPIPE) and signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL, 'SIGPIPE was changed'))


def closed_twice(row):
    row.session.shutdown()
    return complain((row.session.close() < 10000, 'slow'))


STILL = {
    'TIM-05': state_tells('state gone', 'grew 0'), 'TIM-08': state_tells('lost', '41'),
    'SES-05': dead_hosts_sandbox, 'LIM-04': lambda row: complain(('pids' in first(row, '1').result['usage']['limits_hit'], 'limits_hit %r' % first(row, '1').result['usage'])),
    'LIM-03': lambda row: complain((first(row, '2').bytes('stdout') == b'True\n' or first(row, '1').result['state'] != 'preserved', 'lost files, said to be preserved: %s' % first(row, '1'))),
    'TIM-07': lambda row: complain((first(row, '0').result['claimed_by'] == 'host', 'claimed by the guest')),
    'TIM-15': lambda row: complain((len(execs(row, '0.1')) == 100, '%d second calls' % len(execs(row, '0.1')))),
    'BGD-03': late_noise, 'BGD-06': no_child, 'OUT-01': whole_characters,
    'OUT-03': lambda row: complain((first(row, '0').head['stdout'] == b'a\0b\n', 'head %r' % first(row, '0').head)),
    'OUT-06': host_memory, 'PY-11': user_frames, 'JS-08': lambda row: complain((b'tick' not in first(row, '1').bytes('stdout'), 'tick')),
    'LIM-07': folders, 'SEC-02': no_tokens, 'HST-01': lambda row: complain((ignores(signal.SIGCHLD), 'SIGCHLD is not ignored any more')),
    'HST-04': alarms, 'HST-05': survived_kill, 'HST-07': threads_and_zombies, 'SES-07': closed_twice,
    'OUT-13': lambda row: complain((first(row, '1').result['stdout']['total_bytes'] == 3200000, 'not drained')),
    'OUT-14': lambda row: raw_bytes(row), 'OUT-16': lambda row: plain_order(row),
}


def raw_bytes(row):
    with row.open_more(without=('clean_terminal',)) as s:
        x = s.exec('python', row.row['steps'][1]['code'])
    return complain((x.bytes('stdout').count(b'\r') == 101 and x.bytes('stdout').endswith(b'\x1b[31mred\x1b[0m\n'), 'not the raw bytes: %s' % x))


def plain_order(row):
    with row.open_more(without=('merge_streams',)) as s:
        x = s.exec('python', 'import sys\nfor i in range(6):\n    print("o%d" % i)\n    print("e%d" % i, file=sys.stderr)')
    return complain((x.bytes('stdout') == b''.join(b'o%d\n' % i for i in range(6)) and x.bytes('stderr') == b''.join(b'e%d\n' % i for i in range(6)), 'apart: %s' % x))


# ---------------------------------------------------------------- after the session
def no_sleepers(row):
    left = runner.left_over(row.mark)
    return complain((not left, 'still there: %s' % left))


def nothing_left(row):
    left = os.listdir(row.facts['temp'])
    return complain((not left, 'in the temporary folder: %s' % left), (count_mounts() == row.facts['mounts'], 'mounts %d, before %d' % (count_mounts(), row.facts['mounts'])))


GONE = {'TIM-03': no_sleepers, 'LIM-08': nothing_left}

# Prose that the steps of the row, as they are run here, check already: no option `network` is given; signals are compared exactly; both streams are counted
# to the last byte; what was put is got again.
BY_STEPS = {'SEC-08', 'HST-06', 'SES-01', 'FIL-02'}
# What of the prose remains, although the row has its code.
REST = {'HST-07': ['Kill only by pidfd or before the child is reaped.'], 'SES-01': ['clean under ThreadSanitizer'], 'SES-07': ['Clean under AddressSanitizer']}


def checked(row_id):
    return row_id in STILL or row_id in GONE or row_id in BY_STEPS


assert interp_host
