"""What the case runners share: counting, the last line, running again as an ordinary user, and looking for processes that outlived their sandbox."""
import argparse
import os
import signal
import sys
import time

import as_user

SLOW = float(os.environ.get('INTERP_TEST_SLOW', '1'))
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Tally:
    """Counts and prints: FAIL and SKIP lines as they come, the three numbers last."""

    def __init__(self, label=''):
        self.passed = self.failed = self.skipped = 0
        self.label = label

    def ok(self, name):
        self.passed += 1

    def fail(self, name, *lines):
        self.failed += 1
        print('FAIL %s%s' % (self.label, name))
        for line in lines:
            print('     ' + str(line).replace('\n', '\n     '))
        sys.stdout.flush()

    def skip(self, name, reason):
        self.skipped += 1
        print('SKIP %s%s: %s' % (self.label, name, reason), flush=True)

    def end(self):
        print('%d passed, %d failed, %d skipped' % (self.passed, self.failed, self.skipped), flush=True)
        return 1 if self.failed or not self.passed + self.skipped else 0


def parser(description):
    p = argparse.ArgumentParser(description=description)
    p.add_argument('--as-user', metavar='NAME', help='run as this ordinary user ("auto": any; made when there is none); needs root')
    p.add_argument('--only', metavar='ID', action='append', help='only the rows with this id (may be given several times; a trailing * matches a prefix)')
    p.add_argument('--backend', default=os.environ.get('INTERP_TEST_BACKEND', 'local'))
    p.add_argument('--config', default='{}', metavar='JSON', help='more config members for every session')
    p.add_argument('--verbose', action='store_true', help='one line for each row')
    return p


def chosen(identifier, only):
    return not only or any(identifier == o or (o.endswith('*') and identifier.startswith(o[:-1])) for o in only)


def fastest(measure, limit_ms, times=3):
    """The least of up to so many measurements in milliseconds, of which the first within the limit is the last: what a busy machine adds comes and goes."""
    least = measure()
    while least > limit_ms and times > 1:
        least, times = min(least, measure()), times - 1
    return least


def become(options, script):
    """Runs this script again as options.as_user and exits with its status; returns when nothing has to be changed."""
    if not options.as_user:
        return
    if os.geteuid() != 0:
        if os.geteuid() >= 1000:
            return
        raise SystemExit('--as-user needs root')
    libraries = {k: os.environ[k] for k in ('INTERP_LIBRARY', 'INTERP_TEST_LIBRARY') if os.environ.get(k)}
    arguments, skip = [], False
    for word in sys.argv[1:]:
        if skip or word.startswith('--as-user'):
            skip = word == '--as-user'
        else:
            arguments.append(word)
    part = os.path.basename(os.path.dirname(os.path.abspath(script)))
    copies = {os.path.realpath(p) for p in libraries.values()}
    copies |= {os.path.join(TESTS, 'common'), os.path.join(TESTS, 'cases'), os.path.join(TESTS, part)}
    sys.exit(as_user.run(options.as_user, lambda folder, python: [python, os.path.join(folder, part, os.path.basename(script))] + arguments, sorted(copies),
                         lambda folder: {k: os.path.join(folder, os.path.basename(os.path.realpath(p))) for k, p in libraries.items()}))


def harden():
    """A host as unfriendly to a library as real ones are: SIGPIPE would kill it, a signal is blocked, another is ignored."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})


def stat_fields(pid):
    """Parent and state of a process, or None."""
    try:
        with open('/proc/%d/stat' % pid, 'rb') as f:
            words = f.read().rsplit(b')', 1)[1].split()
        return int(words[1]), words[0].decode()
    except (OSError, IndexError, ValueError):
        return None


def descendants(root=None):
    """Processes below this one: {pid: parent}."""
    root = root or os.getpid()
    parents = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            fields = stat_fields(int(name))
            if fields:
                parents[int(name)] = fields[0]
    found, grown = {root: 0}, True
    while grown:
        grown = False
        for pid, parent in parents.items():
            if parent in found and pid not in found:
                found[pid] = parent
                grown = True
    del found[root]
    return found


def inner_pid(pid):
    """The pid that the process has inside the innermost namespace that it is in, or None."""
    try:
        with open('/proc/%d/status' % pid) as f:
            for line in f:
                if line.startswith('NSpid:'):
                    words = line.split()[1:]
                    return int(words[-1]) if len(words) > 1 else None
    except (OSError, ValueError):
        pass
    return None


def marked(mark):
    """Processes whose environment holds the mark, wherever they hang, as far as this user may look."""
    found = []
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            with open('/proc/%s/environ' % name, 'rb') as f:
                if mark.encode() in f.read(1 << 20):
                    found.append(int(name))
        except OSError:
            pass
    return found


told = set()


def left_over(mark, seconds=0.0):
    """What is still there of this runner's sandboxes: children of ours, and processes with the mark. Waits that long for them to go.
    Each is told once, so that one row's remains are not every later row's."""
    end = time.monotonic() + seconds
    while True:
        rest = []
        pids = (set(descendants()) | set(marked(mark))) - {os.getpid()} - told
        for pid in sorted(pids):
            try:
                with open('/proc/%d/cmdline' % pid, 'rb') as f, open('/proc/%d/comm' % pid) as g:
                    rest.append('%d %s (%s) %s' % (pid, (stat_fields(pid) or (0, '?'))[1], g.read().strip(), f.read(200).replace(b'\0', b' ').decode('utf-8', 'replace')))
            except OSError:
                pass
        if not rest or time.monotonic() >= end:
            told.update(pids)
            return rest
        time.sleep(0.02)
