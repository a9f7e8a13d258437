"""Start and round-trip times of a kernel against the bare interpreter:  python3 bench.py LANGUAGE [INTERPRETER] [N]"""
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness                                                          # noqa: E402

BARE = {'python': ['-c', 'pass'], 'javascript': ['-e', '0'], 'bash': ['--noprofile', '--norc', '-c', ':'], 'sh': ['-c', ':']}
CODE = {'python': ('x=1', '1+1', 'print("hi")', '1/0'), 'javascript': ('x=undefined', '1+1', 'console.log("hi")', 'throw new Error("x")'),
        'bash': (':', 'x=1', 'echo hi', 'false'), 'sh': (':', 'x=1', 'echo hi', 'false')}


def show(what, times):
    times = sorted(times)
    print('%-28s median %8.3f  p10 %8.3f ms' % (what, statistics.median(times), times[len(times) // 10]))


def main():
    language, exe = sys.argv[1], sys.argv[2]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    times = []
    for _ in range(n):
        t = time.perf_counter()
        subprocess.run([exe] + BARE[language], env=harness.ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - t) * 1e3)
    show('bare interpreter', times)
    cache = None
    for cached in (False, True):
        times = []
        if cached:
            k = harness.Kernel(language, exe, env=dict(harness.ENV, INTERP_WANT_CACHE='1'))
            cache = k.cache
            k.close()
            if not cache:
                continue
        for _ in range(n):
            k = harness.Kernel(language, exe, blob=cache)
            times.append(k.ready_ms)
            k.close()
        show('start to ready' + (', cached (%d B)' % len(cache) if cached else ''), times)
    k = harness.Kernel(language, exe, blob=cache)
    t = time.perf_counter()
    k.exec(CODE[language][1])
    print('%-28s        %8.3f ms' % ('first exec', (time.perf_counter() - t) * 1e3))
    for code in CODE[language]:
        show(code, [k.exec(code)['ms'] for _ in range(n * 5)])
    k.close()


if __name__ == '__main__':
    main()
