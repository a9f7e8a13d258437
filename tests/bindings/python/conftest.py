"""What the tests of the Python binding share. INTERP_LIBRARY names the library; without it the installed package is tested."""
import os

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
