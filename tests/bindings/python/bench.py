#!/usr/bin/env python3
"""What the binding costs: an exec through it against interp_session_run through ctypes, in turns; and an import. Prints figures; bars are in
test_bars.py.

INTERP_LIBRARY names the library, PYTHONPATH the package."""
import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from ctypes import byref, c_void_p


def overhead(rounds=5, execs=400):
    """(median of the binding, median of the C call) in microseconds, of the round with the smallest difference: what disturbs a round makes it
    larger."""
    import interp
    from interp._library import lib
    found = []
    with interp.Session() as s:
        pointer, out, now = s._handle._pointer, c_void_p(), time.perf_counter_ns

        def binding():
            start = now()
            s.sh(':')
            return now() - start

        def c():
            start = now()
            lib.interp_session_run(pointer, b'sh', b':', 1, byref(out), None)
            lib.interp_result_free(out)
            return now() - start
        for _ in range(100):
            binding()
            c()
        for _ in range(rounds):
            a, b = zip(*((binding(), c()) for _ in range(execs)))
            found.append((statistics.median(a) / 1e3, statistics.median(b) / 1e3))
    return min(found, key=lambda pair: pair[0] - pair[1])


def import_ms(times=10):
    """CPU milliseconds of an import of the compiled package in a fresh interpreter, and of asyncio's in turns with it: the fastest of several."""
    import interp
    code = 'import sys, time; c = time.process_time(); __import__(sys.argv[1]); print((time.process_time() - c) * 1e3)'
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.dirname(os.path.abspath(interp.__file__)), os.path.join(folder, 'interp'))
        compileall.compile_dir(folder, quiet=1)
        environment = dict(os.environ, PYTHONPATH=folder)
        figures = [[float(subprocess.run([sys.executable, '-S', '-c', code, name], stdout=subprocess.PIPE, env=environment, universal_newlines=True).stdout)
                    for name in ('interp', 'asyncio')] for _ in range(times)]
    return tuple(map(min, zip(*figures)))


if __name__ == '__main__':
    a, b = overhead()
    print('exec: %.0f us through the binding, %.0f us in C, %.0f us more' % (a, b, a - b))
    print('import: %.1f ms of CPU, of asyncio %.1f ms' % import_ms())
