#!/usr/bin/env python3
"""Opens, uses and closes sessions for a while; nothing may grow or be left: run_soak.py --seconds N. INTERP_LIBRARY names the library."""
import os
import random
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
import interp_host
import runner


def figures():
    with open('/proc/self/statm') as f:
        pages = int(f.read().split()[1])
    return {'descriptors': len(os.listdir('/proc/self/fd')), 'threads': len(os.listdir('/proc/self/task')), 'KiB': pages * os.sysconf('SC_PAGE_SIZE') // 1024}


def one_round(host, mark):
    name, value = mark.split('=')
    with host.open({'env': {name: value}}) as s:
        for _ in range(random.randint(1, 6)):
            kind = random.randrange(7)
            if kind == 0:
                assert s.exec('python', 'x=6\nx*7').result['value']['text'] == '42'
            elif kind == 1:
                assert s.exec('bash', 'sleep 60 & echo $((6*7))').bytes('stdout') == b'42\n'
            elif kind == 2:
                x = s.exec('python', 'while True: pass', cancel_ms=[random.randrange(1, 100)])
                assert x.outcome == 'cancelled', x
            elif kind == 3:
                x = s.exec('bash', 'head -c %d /dev/zero' % (1 << 22), stream=bool(random.randrange(2)))
                assert x.result['stdout']['total_bytes'] == 1 << 22, x
            elif kind == 4:
                assert s.exec('python', 'import os; os._exit(3)', kernel='k%d' % random.randrange(3)).outcome == 'crashed'
            elif kind == 5:
                x = s.exec('bash', 'sleep 9', timeout_ms=random.randrange(1, 60), grace_ms=random.choice([1, 50, 500]))
                assert x.outcome == 'timeout', x
            else:
                x = s.exec('javascript', '6*7')
                assert x.outcome == 'ok' or x.result['cause'] == 'interpreter', x
    rest = runner.left_over(mark)
    assert not rest, rest


def main():
    p = runner.parser(__doc__)
    p.add_argument('--seconds', type=float, default=600)
    options = p.parse_args()
    runner.become(options, __file__)
    runner.harden()
    tally, mark = runner.Tally(), 'INTERP_TEST_MARK=%s' % uuid.uuid4().hex
    end, first, rounds = time.monotonic() + options.seconds, None, 0
    with interp_host.Host() as host:
        while time.monotonic() < end and tally.failed < 10:
            seed = random.randrange(1 << 30)
            random.seed(seed)
            try:
                one_round(host, mark)
                tally.ok('round')
            except Exception as e:
                tally.fail('round with seed %d' % seed, '%s: %s' % (type(e).__name__, e))
            rounds += 1
            if rounds == 20:
                first = figures()
        last = figures()
    if first:
        print('%d rounds; after 20: %s; at the end: %s' % (rounds, first, last))
        if last['descriptors'] > first['descriptors'] or last['threads'] > first['threads'] or last['KiB'] > first['KiB'] + 16384:
            tally.fail('growth', 'from %s to %s' % (first, last))
        else:
            tally.ok('growth')
    sys.exit(tally.end())


if __name__ == '__main__':
    main()
