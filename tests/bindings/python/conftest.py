"""What the tests of the Python binding share. INTERP_LIBRARY names the library; without it the installed package is tested."""
import os
import threading
import time

import interp
import pytest

import runner

# Bounds of time are multiplied by this; see tests/common/runner.py.
SLOW = runner.SLOW


@pytest.fixture(scope='session', autouse=True)
def library():
    print('interp %s from %s' % (interp.__version__, interp.library_path()))


@pytest.fixture
def session():
    with interp.Session() as s:
        yield s


def inside(owner):
    """Whether somebody is inside a call of this session or exec."""
    return any(use[1]() for use in list(owner._handle._uses.values()))


def busy(session):
    """Whether an exec runs in it."""
    return any(k.state == 'busy' for k in session.kernels)


def once(condition, action, *arguments):
    """A thread that does something soon after the condition holds."""
    def wait():
        while not condition():
            time.sleep(0.01)
        time.sleep(0.1)
        action(*arguments)
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


# a background job of a shell that says "late" when the file is there; what it says comes late with the first exec that finds it
LATE = '(until [ -e go ]; do sleep 0.01; done; echo late) &'


def descriptors():
    return len(os.listdir('/proc/self/fd'))


def resident_kib():
    with open('/proc/self/statm') as f:
        return int(f.read().split()[1]) * (os.sysconf('SC_PAGE_SIZE') // 1024)


def pytest_terminal_summary(terminalreporter):
    """The lines that tests/run.sh reads: what was skipped and why, and the counts."""
    stats = terminalreporter.stats
    for report in stats.get('skipped', []):
        print('SKIP %s: %s' % (report.nodeid.split('::', 1)[-1], report.longrepr[-1].replace('Skipped: ', '')))
    for report in stats.get('failed', []) + stats.get('error', []):
        print('FAIL python %s' % report.nodeid)
    print('%d passed, %d failed, %d skipped' % (len(stats.get('passed', [])), len(stats.get('failed', [])) + len(stats.get('error', [])), len(stats.get('skipped', []))))
