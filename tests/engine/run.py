#!/usr/bin/env python3
"""The engine backends against a real engine: run.py --engine docker|podman|podman-rootless [--only NAME*] [--faults] [--verbose]

The engine, its images and registries are named by the environment that `tests/engines/start.py env` prints, the library by INTERP_LIBRARY.
--faults starts engines of its own, in a state directory of its own, and kills, freezes and fills them."""
import argparse
import os
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench
import fake
from bench import Bench, Failure, InterpError, Skipped

import runner

QUICK = tuple(n for n in ('images', 'limits', 'pulls', 'endpoints', 'terminal', 'answers', 'downgrades', 'gc', 'collect', 'life', 'loops') if os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'check_%s.py' % n)))


# what needs no engine is the same for every engine of a backend
ENGINELESS = ('answers', 'gc')


def tests_of(modules):
    for name in modules:
        module = __import__('check_' + name)
        for key in [k for k in vars(module) if k.startswith('test_')]:
            yield '%s.%s' % (name, key[5:].replace('_', '-')), getattr(module, key)


def left_over(b, before):
    """What a test has left: containers of this process, descriptors."""
    lines = []
    if b.engine:
        end = time.monotonic() + 10 * bench.SLOW
        while b.mine() and time.monotonic() < end:
            time.sleep(0.1)
        lines += ['left: container %s' % name for name in b.mine()]
    end = time.monotonic() + 5 * bench.SLOW
    after = bench.descriptors() if before is not None else {}
    while set(after) - set(before or ()) and time.monotonic() < end:   # a connection's other end, in a thread of ours, closes after it
        time.sleep(0.05)
        after = bench.descriptors()
    lines += ['left: descriptor %d %s' % (n, what) for n, what in after.items() if n not in before]
    return lines


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--engine', required=True, choices=('docker', 'podman', 'podman-rootless', 'docker-trixie', 'podman-trixie', 'docker-sid', 'podman-sid'))
    p.add_argument('--only', action='append', metavar='NAME', help='only these tests; a trailing * matches a prefix')
    p.add_argument('--faults', action='store_true')
    p.add_argument('--verbose', action='store_true')
    o = p.parse_args()
    runner.harden()
    tally = runner.Tally('engine %s: ' % o.engine)
    b = Bench(o.engine, o.verbose)
    if b.engine and not o.faults:
        b.proxy = fake.Proxy(b.engine)
    if not o.faults and not b.endpoint:
        tally.skip('all', 'no such engine runs')
        return tally.end()
    for name, test in tests_of(('faults',) if o.faults else [n for n in QUICK if not b.rootless or n not in ENGINELESS]):
        if not runner.chosen(name, o.only):
            continue
        start, before, wrong = time.monotonic(), None if o.faults else bench.descriptors(), []   # an engine of our own stays from test to test
        b.figures = []
        try:
            test(b)
        except Skipped as e:
            tally.skip(name, e)
            continue
        except (Failure, InterpError) as e:
            wrong = [e, traceback.format_exc(limit=-2).strip().split('\n')[1].strip()]
        except Exception:
            wrong = [traceback.format_exc()]
        wrong += left_over(b, before)
        if wrong:
            tally.fail(name, *wrong)
        else:
            tally.ok(name)
            print('ok %s%s (%.1f s)%s' % (tally.label, name, time.monotonic() - start, ''.join('\n     ' + f for f in b.figures)), flush=True)
    b.host.close()
    if b.proxy:
        b.proxy.close()
    return tally.end()


if __name__ == '__main__':
    sys.exit(main())
