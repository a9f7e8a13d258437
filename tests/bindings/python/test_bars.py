"""The bars, with room for a machine that is busy with something else."""
import subprocess
import sys

import bench

from conftest import SLOW


def test_overhead_of_an_exec():
    binding, c = bench.overhead()
    print('exec: %.0f us through the binding, %.0f us in C' % (binding, c))
    assert binding - c <= 4 * 60 * SLOW


def test_time_of_an_import():
    for _ in range(8):              # the fastest counts: a busy machine makes an import slower, never faster
        own, asyncio = bench.import_ms()
        print('import: %.1f ms of CPU, of asyncio %.1f ms' % (own, asyncio))
        if own <= 30 * SLOW:
            break
    assert own <= 30 * SLOW and own <= 0.8 * asyncio


def test_what_an_import_brings_along():
    """The modules that would make an import slow, by name: a clock finds that late."""
    code = 'import sys, interp; print([m for m in ("typing", "json", "re", "asyncio", "dataclasses", "inspect", "difflib", "subprocess") if m in sys.modules])'
    done = subprocess.run([sys.executable, '-S', '-E', '-c', 'import sys; sys.path[:0] = %r; ' % [p for p in sys.path if p] + code], stdout=subprocess.PIPE,
                          universal_newlines=True)
    assert done.stdout.strip() == '[]'
