#!/usr/bin/env python3
"""Turns detectors.def into the tables of the redaction engine: gen_detectors.py tables|patterns DETECTORS.DEF OUTPUT.

tables     a C header for detect.c: straight-line programs, classes of bytes, the windows that the prefilter looks for and their buckets
patterns   a C header for the tests: the same patterns in Perl's syntax, for another engine to match

Words.  A program is a list of operations without alternatives. A unit is one line: one or more programs, tried in order. A window is four byte sets that
follow each other in every match of a program; all windows of a unit lie at the same distance from the match's start."""
import math
import sys

ALL = frozenset(range(256))
SPACE = frozenset(b' \t\n\r\f\v')
DIGIT = frozenset(b'0123456789')
PEM_BODY = frozenset(b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\n\r\f\v\\",:-')
PEM_MAX = 16384
BACK_MAX = 100          # a window may start this far behind the match's start: the engine keeps that much history
BUCKETS = 16
MOVES = 20000           # of the annealing: two seconds


class Bad(Exception):
    """A pattern that the engine cannot run."""


# ---- reading: a pattern becomes a tree of ('set', s, lo, hi) | ('group', kind, [alternatives]) with kind 0 plain, 1 captured | ('opt', node) | ('octet',) | ('pem',) | ('not', [sets])

class Reader:
    def __init__(self, text):
        self.t, self.i, self.ci = text, 0, False

    def peek(self, s):
        return self.t.startswith(s, self.i)

    def take(self, s):
        if self.peek(s):
            self.i += len(s)
            return True
        return False

    def need(self, s):
        if not self.take(s):
            raise Bad('%s expected at %d' % (s, self.i))

    def char(self):
        if self.i >= len(self.t):
            raise Bad('the pattern ends too early')
        c = self.t[self.i]
        self.i += 1
        return c

    def escaped(self):
        c = self.char()
        if c == 's':
            return SPACE
        if c == 'd':
            return DIGIT
        if c == 'n':
            return frozenset(b'\n')
        if c.isalnum():
            raise Bad('unknown escape \\%s' % c)
        return frozenset([ord(c)])

    def fold(self, s):
        if not self.ci:
            return s
        return frozenset(s | {c ^ 32 for c in s if chr(c).isalpha()})

    def klass(self):
        negated, out = self.take('^'), set()
        while not self.take(']'):
            c = self.char()
            if c == '\\':
                out |= self.escaped()
                continue
            if self.peek('-') and not self.peek('-]'):
                self.i += 1
                out |= set(range(ord(c), ord(self.char()) + 1))
            else:
                out.add(ord(c))
        s = self.fold(frozenset(out))
        return ALL - s if negated else s

    def alternatives(self):
        out = [self.sequence()]
        while self.take('|'):
            out.append(self.sequence())
        return out

    def sequence(self):
        out = []
        while self.i < len(self.t) and not self.peek('|') and not self.peek(')'):
            out.append(self.item())
        return out

    def item(self):
        if self.take('{octet}'):
            return ('octet',)
        if self.take('{pem}'):
            return ('pem',)
        if self.take('(?!'):
            sets = []
            dot = self.take('\\.?')
            self.need('[')
            sets.append(self.klass())
            self.need(')')
            return ('not', sets, dot)
        if self.take('(?:') or self.peek('(?i:') or self.take('('):
            captured = self.t[self.i - 1] == '('
            old = self.ci
            if self.take('(?i:'):
                captured, self.ci = False, True
            node = ('group', 1 if captured else 0, self.alternatives())
            self.need(')')
            self.ci = old
            return ('opt', node) if self.take('?') else node
        if self.take('['):
            s = self.klass()
        elif self.take('.'):
            s = ALL - frozenset(b'\n')
        elif self.take('\\'):
            s = self.escaped()
        else:
            s = self.fold(frozenset([ord(self.char())]))
        lo = hi = 1
        if self.take('?'):
            lo = 0
        elif self.peek('{') and self.t[self.i + 1:self.i + 2].isdigit() and self.take('{'):
            numbers = ''
            while not self.take('}'):
                numbers += self.char()
            parts = numbers.split(',')
            lo, hi = int(parts[0]), int(parts[-1])
        return ('set', s, lo, hi)


def parse(text):
    r = Reader(text)
    left = frozenset()
    if r.take('(?<!['):
        left = r.klass()
        r.need(')')
    tree = r.alternatives()
    if r.i != len(text):
        raise Bad('cannot read from %d' % r.i)
    return left, ('group', 0, tree)


# ---- programs: lists of ('set', s, lo, hi) ('begin',) ('end',) ('accept',) ('octet',) ('pem',) ('not', s, dot)

def programs(node, last):
    """All programs of a node. last: nothing follows it, so what is optional at its end only makes a match longer: `accept` stands before it."""
    kind = node[0]
    if kind == 'group':
        out = [p for alternative in node[2] for p in sequence(alternative, last)]
        return [[('begin',)] + p + [('end',)] for p in out] if node[1] else out
    if kind == 'opt':
        taken = programs(node[1], last)
        return [[('accept',)] + p for p in taken] if last and len(taken) == 1 else taken + [[]]
    if kind == 'set' and last and node[2] == 0:
        return [[('accept',), node]]
    if kind == 'not':
        return [[('not', node[1][0], node[2])]]
    return [[node]]


def sequence(items, last):
    out = [[]]
    for i, item in enumerate(items):
        subs = programs(item, last and i == len(items) - 1)
        out = [a + b for a in out for b in subs]
    return out


def first_set(op):
    return {'set': lambda: op[1], 'octet': lambda: DIGIT, 'pem': lambda: PEM_BODY}[op[0]]()


def bounds(op):
    return {'set': lambda: (op[2], op[3]), 'octet': lambda: (1, 3), 'pem': lambda: (0, PEM_MAX)}[op[0]]()


def matter(program):
    return [op for op in program if op[0] in ('set', 'octet', 'pem')]


def needed(program):
    """The part that each match has."""
    for i, op in enumerate(program):
        if op[0] == 'accept':
            return matter(program[:i])
    return matter(program)


def check(program):
    """A run of variable length must end where its bytes end, whatever comes next."""
    ops = matter(program)
    for i, op in enumerate(ops):
        lo, hi = bounds(op)
        if lo == hi or op[0] == 'pem':
            continue
        for follower in ops[i + 1:]:
            if first_set(op) & first_set(follower):
                raise Bad('a run overlaps with what follows it')
            if bounds(follower)[0]:
                break


def hold(program):
    """The longest undecided match: bytes up to the first place where it is certain."""
    total = 0
    ops = [op for op in program if op[0] not in ('begin', 'end')]
    for i, op in enumerate(ops):
        if op[0] == 'accept':
            break
        if op[0] == 'not':
            total += 2
            continue
        lo, hi = bounds(op)
        ends = i + 1 == len(ops) or ops[i + 1][0] == 'accept'
        total += lo if ends else hi
    return total


def shortest(program):
    total = 0
    for op in program:
        if op[0] == 'accept':
            break
        if op[0] != 'not' and op[0] not in ('begin', 'end'):
            total += bounds(op)[0]
    return total


# ---- windows

class Numbers:
    """Repeatable, the same with each version of Python."""

    def __init__(self):
        self.state = 88172645463325252

    def below(self, n):
        self.state ^= self.state << 13 & 0xFFFFFFFFFFFFFFFF
        self.state ^= self.state >> 7
        self.state ^= self.state << 17 & 0xFFFFFFFFFFFFFFFF
        return (self.state >> 20) % n


WORDS = ('request completed connection timeout worker started handler cache database query user session token refresh parse error warning retry batch epoch loss accuracy train model '
         'checkpoint saved loading config default value index table column fetched bytes processed queue message topic partition offset consumer skipped password reset secret key '
         'authorization failed for the and with from into status response latency client server import return self class function const struct static void true false null none begin end '
         'machine private public login account access shared signature home Users discord hooks service admin project basic bearer File line module install package version build test '
         'x86_64 linux usr lib python3 site-packages include types root drwxr-xr-x INFO DEBUG WARN ERROR GET POST HTTP').split()


def usual_output(n):
    """About n bytes of what programs print: only how often four bytes stand together matters."""
    r, out, size = Numbers(), [], 0

    def w():
        return WORDS[r.below(len(WORDS))]

    def number(digits):
        return str(r.below(10 ** digits))

    def of(alphabet, length):
        return ''.join(alphabet[r.below(len(alphabet))] for _ in range(length))
    b64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    kinds = [
        lambda: '2026-1%s-2%sT%s:%s:%s.%sZ %s [%s-%s] %s %s: %s=%s id=%s' % (number(1), number(1), number(2), number(2), number(2), number(3), w(), w(), number(2), w(), w(), w(), number(4), of('0123456789abcdef', 16)),
        lambda: 'GET https://api.example.com/v1/%s/%s?page=%s HTTP/1.1 200 %sB client=%s.%s.%s.%s' % (w(), number(5), number(2), number(5), number(3), number(3), number(3), number(3)),
        lambda: '  File "/usr/lib/python3.11/site-packages/%s/%s.py", line %s, in %s_%s' % (w(), w(), number(4), w(), w()),
        lambda: 'com.example.%s.%s.%sService: %s %s (%s:%s)' % (w(), w(), w().title(), w(), w(), w(), number(4)),
        lambda: ','.join('%s.%s' % (number(3), number(4)) for _ in range(9)),
        lambda: '|'.join(' %10s.%s ' % (number(5), number(4)) for _ in range(6)) + '| %s |' % w(),
        lambda: '{"id":%s,"uuid":"%s","name":"%s_%s","email":"%s@example.com","tags":["%s","%s"],"score":%s.%s,"active":true,"url":"https:\\/\\/example.com\\/%s"}' % (
            number(5), of('0123456789abcdef', 20), w(), w(), w(), w(), w(), number(2), number(4), w()),
        lambda: '        return self.%s.%s(%s=%s, timeout=%s)' % (w(), w(), w(), w(), number(2)),
        lambda: 'static int %s_%s(struct %s *%s, size_t %s) { if (%s->%s != %s) log("%s: %%d"); }' % (w(), w(), w(), w(), w(), w(), w(), number(2), w()),
        lambda: ' '.join(w() for _ in range(10)) + '.',
        lambda: '-rw-r--r-- 1 root root %s Jan %s 1%s:%s lib%s-%s.so.%s' % (number(6), number(2), number(1), number(2), w(), number(1), number(1)),
        lambda: of(b64, 76),
        lambda: of(b64, 76),
    ]
    while size < n:
        out.append(kinds[r.below(len(kinds))]())
        size += len(out[-1]) + 1
    return ('\n'.join(out)).encode()


class Sample:
    """Places of the sample as bits of one number: what fits four sets is three ANDs. Runs of one byte are in it many times: a window must never fit "AAAA"."""

    def __init__(self):
        text, r = usual_output(150000), Numbers()
        places = [text[i:i + 4] for i in (r.below(len(text) - 4) for _ in range(24000))]
        for c in range(256):
            places += [bytes([c]) * 4] * (60 if 32 <= c < 127 else 10)
        self.size = len(places)
        self.at = [[0] * 256 for _ in range(4)]
        for j in range(4):
            lists = [bytearray((self.size + 7) // 8) for _ in range(256)]
            for i, g in enumerate(places):
                lists[g[j]][i >> 3] |= 1 << (i & 7)
            self.at[j] = [int.from_bytes(x, 'little') for x in lists]
        self.memo = {}

    def fit(self, j, accepted):
        key = (j, accepted)
        if key not in self.memo:
            v = 0
            for c in accepted:
                v |= self.at[j][c]
            self.memo[key] = v
        return self.memo[key]

    def count(self, sets):
        v = self.fit(0, sets[0])
        for j in range(1, 4):
            v &= self.fit(j, sets[j])
        return bin(v).count('1')


SAMPLE = Sample()


def rate(sets):
    """Expected hits a byte; what the sample does not have at all is weighed by how many texts fit."""
    chance = 1.0
    for s in sets:
        chance *= len(s) / 256.0
    return SAMPLE.count(sets) / float(SAMPLE.size) + chance


def windows(program):
    """{(nearest, farthest distance from the match's start): (rate, sets)} of the best window at each: its four, and the four after them."""
    ops = needed(program)
    stretches, current, near, far = [], [], 0, 0        # a stretch: sets that follow each other, and where its first may stand

    def close(padding):
        stretches.append((current + [padding] if padding else current, near, far))

    def after(i):
        s = frozenset()
        for op in ops[i:]:
            s |= first_set(op)
            if bounds(op)[0]:
                return s
        return None
    for i, op in enumerate(ops):
        lo, hi = bounds(op)
        s = first_set(op)
        shown = min(lo, 8)
        current = current + [s] * shown
        if lo == hi and shown == lo:
            continue
        rest = after(i + 1)
        close(s if shown < lo else s | rest if rest is not None else None)
        used = len(current)
        tail = min(lo, 3)
        near, far = near + used - shown + lo - tail, far + used - shown + hi - tail
        current = [s] * tail
    close(None)
    best = {}
    for sets, low, high in stretches:
        for i in range(len(sets) - 3):
            w, key = tuple(sets[i:i + 4]), (low + i, high + i)
            if key[1] > BACK_MAX:
                continue
            r = rate(w) * (1 + (key[1] - key[0])) * (1 + key[1] / 16.0)
            if key not in best or r < best[key][0]:
                best[key] = (r, tuple((sets[i:i + 8] + [ALL] * 4)[:8]))
    if not best:
        raise Bad('no window of four bytes')
    return best


def choose(progs):
    """The distance from the match's start at which all programs of a line have their window, and the windows."""
    options = [windows(p) for p in progs]
    common = set(options[0]).intersection(*options[1:])
    if not common:
        raise Bad('its alternatives have no window at the same distance: make them lines of their own')
    key = min(sorted(common), key=lambda k: sum(o[k][0] for o in options))
    return key, [o[key][1] for o in options]


# ---- buckets: each has two tables of nibbles for each of the four bytes; what falls into one is looked at closely

class Packer:
    def __init__(self, entries):
        self.nibbles = [[(sum(1 << n for n in {c & 15 for c in s}), sum(1 << n for n in {c >> 4 for c in s})) for s in w[:4]] for w in entries]
        self.sets, self.memo = {}, {}

    def accepted(self, lo, hi):
        if (lo, hi) not in self.sets:
            self.sets[lo, hi] = frozenset(c for c in range(256) if lo >> (c & 15) & 1 and hi >> (c >> 4) & 1)
        return self.sets[lo, hi]

    def cost(self, members):
        if not members:
            return 0.0
        key = frozenset(members)
        if key not in self.memo:
            sets = []
            for j in range(4):
                lo = hi = 0
                for i in members:
                    lo |= self.nibbles[i][j][0]
                    hi |= self.nibbles[i][j][1]
                sets.append(self.accepted(lo, hi))
            self.memo[key] = SAMPLE.count(sets)
        return self.memo[key]

    def pack(self):
        """Greedy, then annealed."""
        n, r = len(self.nibbles), Numbers()
        buckets, costs, where = [set() for _ in range(BUCKETS)], [0] * BUCKETS, [0] * n
        for i in range(n):
            tried = [self.cost(buckets[b] | {i}) - costs[b] for b in range(BUCKETS)]
            b = tried.index(min(tried))
            buckets[b].add(i)
            where[i], costs[b] = b, self.cost(buckets[b])
        warmth = sum(costs) / 40.0 + 1
        for _ in range(MOVES):
            warmth *= 1 - 5.0 / MOVES
            i, b = r.below(n), r.below(BUCKETS)
            a, k = where[i], r.below(n)
            if a == b:
                continue
            swap = {k} if where[k] == b and r.below(2) else set()
            new_a, new_b = buckets[a] - {i} | swap, buckets[b] - swap | {i}
            cost_a, cost_b = self.cost(new_a), self.cost(new_b)
            worse = cost_a + cost_b - costs[a] - costs[b]
            if worse <= 0 or r.below(1 << 20) < (1 << 20) * math.exp(-worse / warmth):
                buckets[a], buckets[b], costs[a], costs[b], where[i] = new_a, new_b, cost_a, cost_b, b
                if swap:
                    where[k] = a
        self.hits = sum(costs) / float(SAMPLE.size)
        return where


# ---- the header

def merge(entries):
    """Windows of the same units that differ in one byte become one."""
    again = True
    while again:
        again = False
        keys = list(entries)
        for a in range(len(keys)):
            for b in range(a + 1, len(keys)):
                x, y = keys[a], keys[b]
                if x not in entries or y not in entries or entries[x] != entries[y]:
                    continue
                differ = [j for j in range(8) if x[j] != y[j]]
                if len(differ) == 1:
                    j = differ[0]
                    units = entries.pop(x)
                    entries.pop(y)
                    entries.setdefault(x[:j] + (x[j] | y[j],) + x[j + 1:], set()).update(units)
                    again = True
    return entries


def letter(s):
    """The lower-case letter that stands for the set {A, a}, or None."""
    return min(s) + 32 if len(s) == 2 and max(s) - min(s) == 32 and chr(max(s)).islower() else None


class Tables:
    def __init__(self):
        self.classes, self.class_of, self.ops, self.text = [], {}, [], b''
        self.programs, self.units, self.detectors, self.entries = [], [], [], {}
        self.prefixes = []

    def klass(self, s):
        if s not in self.class_of:
            self.class_of[s] = len(self.classes)
            self.classes.append(s)
        return self.class_of[s]

    def literal(self, kind, b):
        at = self.text.find(b)
        if at < 0:
            at = len(self.text)
            self.text += b
        return (kind, at, len(b), len(b))

    def compile(self, program):
        out, run = [], []

        def flush():
            if len(run) == 1 and len(run[0]) > 1:
                out.append(('SET', self.klass(run[0]), 1, 1))
            elif run and all(len(s) == 1 for s in run):
                out.append(self.literal('TEXT', bytes(min(s) for s in run)))
            elif run:
                out.append(self.literal('TEXT_CI', bytes(letter(s) or min(s) for s in run)))
            del run[:]
        for op in program:
            if op[0] == 'set' and op[2] == op[3] <= 8 and (len(op[1]) == 1 or letter(op[1])):
                for _ in range(op[2]):
                    # TEXT_CI folds letters: a single upper-case letter among them must stay exact
                    if run and (letter(op[1]) or any(letter(s) for s in run)) and any(len(s) == 1 and chr(min(s)).isalpha() for s in run + [op[1]]):
                        flush()
                    run.append(op[1])
                continue
            flush()
            if op[0] == 'set':
                out.append(('SET', self.klass(op[1]), op[2], op[3]))
            elif op[0] == 'octet':
                out.append(('OCTET', self.klass(DIGIT), 1, 3))
            elif op[0] == 'pem':
                out.append(('PEM', self.klass(PEM_BODY), 0, PEM_MAX))
            elif op[0] == 'not':
                out.append(('NOT', self.klass(op[1]), 1 if op[2] else 0, 0))
            else:
                out.append((op[0].upper(), 0, 0, 0))
        flush()
        out.append(('DONE', 0, 0, 0))
        return out

    def line(self, name, group, on, pattern):
        if not self.detectors or self.detectors[-1][0] != name:
            if any(d[0] == name for d in self.detectors):
                raise Bad('lines of one detector must follow each other')
            self.detectors.append((name, group, on))
        left, tree = parse(pattern)
        progs = programs(tree, True)
        for p in progs:
            check(p)
        key, windows_of = choose(progs)
        unit, start, previous = len(self.units), len(self.programs), None
        for p, w in zip(progs, windows_of):
            code = self.compile(p)
            same = 0
            while previous and same < min(len(code), len(previous)) and code[same] == previous[same]:
                same += 1
            self.programs.append((len(self.ops), same))
            self.ops += code
            previous = code
            self.entries.setdefault(w, set()).add(unit)
            self.prefix(p, unit, key)
        self.units.append((len(self.detectors) - 1, self.klass(left) if left else 255, start, len(progs), key[0], key[1], max(map(hold, progs)), min(map(shortest, progs))))

    def prefix(self, program, unit, key):
        """What a match may look like up to the end of its window, when it starts with a fixed text: a tail of a buffer like that is held."""
        need, sets = key[1] + 4, []
        for op in needed(program):
            lo, hi = bounds(op)
            sets += [first_set(op)] * min(lo, need)
            if lo != hi or len(sets) >= need:
                break
        if key[0] != key[1] or len(sets) < need - 1 or len(sets[0]) > 8 or need > 24:
            self.prefixes.append((unit, None))          # starts with a run: the run itself is held
        else:
            self.prefixes.append((unit, tuple(self.klass(s) for s in sets[:need - 1])))

    def write(self, out):
        entries = merge(dict(self.entries))
        keys = sorted(entries, key=lambda w: [sorted(s) for s in w])
        packer = Packer(keys)
        where = packer.pack()
        words = (len(keys) + 63) // 64
        nibble = [[[[0] * 16 for _ in range(2)] for _ in range(4)] for _ in range(BUCKETS // 8)]
        for i, w in enumerate(keys):
            for j in range(4):
                for c in w[j]:
                    nibble[where[i] // 8][j][0][c & 15] |= 1 << where[i] % 8
                    nibble[where[i] // 8][j][1][c >> 4] |= 1 << where[i] % 8
        exact = [[[0] * words for _ in range(256)] for _ in range(8)]
        for i, w in enumerate(keys):
            for j in range(8):
                for c in w[j]:
                    exact[j][c][i // 64] |= 1 << i % 64
        run_set, run_max, prefixes = set(), 0, []
        tails = set()
        for unit, p in self.prefixes:
            if p is None:
                run_max = max(run_max, self.units[unit][5] + 3)
            elif p not in prefixes:
                prefixes.append(p)
        run_units = {unit for unit, p in self.prefixes if p is None}
        for unit in run_units:
            d = self.units[unit]
            for start, _ in self.programs[d[2]:d[2] + d[3]]:
                length = 0
                for kind, arg, lo, hi in self.ops[start:]:
                    if kind in ('SET', 'OCTET', 'PEM'):
                        run_set |= self.classes[arg]
                    elif kind in ('TEXT', 'TEXT_CI'):
                        run_set |= set(self.text[arg:arg + lo]) | set(self.text[arg:arg + lo].upper() if kind == 'TEXT_CI' else b'')
                    length += lo
                    if length >= d[5] + 3:
                        break
        by_first = [[i for i, p in enumerate(prefixes) if c in self.classes[p[0]]] for c in range(256)]
        for p in prefixes:
            for k in p:
                tails |= self.classes[k]
        groups = sorted({d[1] for d in self.detectors})
        blocks = (len(self.classes) + 7) // 8

        def braces(v):
            return '{' + ','.join(braces(x) for x in v) + '}' if isinstance(v, (list, tuple)) else str(v)

        def array(name, ctype, values, dims='[]'):
            out.write('static const %s %s%s = {\n' % (ctype, name, dims))
            for i in range(0, len(values), 16):
                out.write('    %s,\n' % ', '.join(braces(v) for v in values[i:i + 16]))
            out.write('};\n')

        def quoted(b):
            return '"' + ''.join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\?' else '\\%03o' % c for c in b) + '"'
        out.write('/* GENERATED by gen_detectors.py from detectors.def: edit that. */\n')
        out.write('enum { DETECTORS = %d, GROUPS = %d, UNITS = %d, WINDOWS = %d, WINDOW_WORDS = %d, PREFIX_MAX = %d, RUN_HOLD = %d };\n'
                  % (len(self.detectors), len(groups), len(self.units), len(keys), words, max(map(len, prefixes)), run_max))
        out.write('static const char *const GROUP_NAMES[] = { %s };\n' % ', '.join('"%s"' % g for g in groups))
        out.write('static const struct detector DETECTOR[] = {\n')
        for name, group, on in self.detectors:
            out.write('    { "%s", %d, %d },\n' % (name, groups.index(group), on))
        out.write('};\n/* detector, left, program, programs, near, far, hold, shortest */\nstatic const struct unit UNIT[] = {\n')
        for u in self.units:
            out.write('    { %s },\n' % ', '.join(map(str, u)))
        out.write('};\nstatic const struct program PROGRAM[] = {\n')
        for p in self.programs:
            out.write('    { %d, %d },\n' % p)
        out.write('};\nstatic const struct op OP[] = {\n')
        for op in self.ops:
            out.write('    { OP_%s, %d, %d, %d },\n' % op)
        out.write('};\nstatic const char TEXT[] =\n')
        for i in range(0, len(self.text), 80):
            out.write('    %s\n' % quoted(self.text[i:i + 80]))
        out.write(';\n')
        # eight classes a byte: class k of byte c is bit k % 8 of CLASS[k / 8][c]
        array('CLASS', 'uint8_t', [[sum(1 << k for k in range(8) if b * 8 + k < len(self.classes) and c in self.classes[b * 8 + k]) for c in range(256)] for b in range(blocks)], '[%d][256]' % blocks)
        array('NIBBLE', 'uint8_t', nibble, '[%d][4][2][16]' % (BUCKETS // 8))
        array('BUCKET', 'uint16_t', [[sum((nibble[t][j][0][c & 15] & nibble[t][j][1][c >> 4]) << 8 * t for t in range(2)) for c in range(256)] for j in range(4)], '[4][256]')
        # many bytes are alike: ALIKE[j][c] is the row of byte c at place j
        rows = [sorted({tuple(w) for w in place}) for place in exact]
        array('ALIKE', 'uint8_t', [[rows[j].index(tuple(w)) for w in place] for j, place in enumerate(exact)], '[8][256]')
        array('EXACT', 'uint64_t', [[[str(v) + 'u' for v in w] for w in place] for place in rows], '[8][%d][WINDOW_WORDS]' % max(map(len, rows)))
        flat, starts = [], []
        for w in keys:
            starts.append(len(flat))
            flat += sorted(entries[w])
        array('WINDOW_UNITS', 'uint8_t', flat)
        array('WINDOW_FIRST', 'uint16_t', starts + [len(flat)])
        array('PREFIX', 'struct prefix', [[len(p), list(p)] for p in prefixes])
        flat, starts = [], []
        for c in range(256):
            starts.append(len(flat))
            flat += by_first[c]
        array('PREFIX_LIST', 'uint8_t', flat)
        array('PREFIX_FIRST', 'uint16_t', starts + [len(flat)])
        # what may stand in a held tail: 1 in a prefix, 2 in a run
        array('TAIL', 'uint8_t', [(1 if c in tails else 0) | (2 if c in run_set else 0) for c in range(256)])
        if len(self.units) > 255 or len(prefixes) > 255 or len(self.classes) > 255:
            raise Bad('too many units, prefixes or classes for a byte')
        sys.stderr.write('%d detectors, %d units, %d programs, %d operations, %d classes, %d windows, %d prefixes of up to %d, run hold %d, hold %d, %.1f hits/KB\n' % (
            len(self.detectors), len(self.units), len(self.programs), len(self.ops), len(self.classes), len(keys), len(prefixes), max(map(len, prefixes)), run_max,
            max(u[6] for u in self.units), packer.hits * 1024))


def lines(path):
    with open(path, encoding='ascii') as f:
        for number, text in enumerate(f, 1):
            text = text.rstrip('\n')
            if text and not text.startswith('#'):
                name, group, on, pattern = text.split(None, 3)
                if on not in ('on', 'off') or len(name) > 40:
                    raise Bad('%d: not a detector' % number)
                yield number, name, group, on == 'on', pattern


def write_patterns(source, out):
    out.write('/* GENERATED by gen_detectors.py from detectors.def. */\nstatic const struct { const char *name, *group, *pattern; int on; } PATTERNS[] = {\n')
    octet = '(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])'
    body = '[A-Za-z0-9+/=\\s\\\\",:-]'
    pem = '(?:%s{0,%d}?-----END [A-Z0-9 ]{11,40}-----|%s{0,%d})' % (body, PEM_MAX, body, PEM_MAX)
    for _, name, group, on, pattern in lines(source):
        text = pattern.replace('{octet}', octet).replace('{pem}', pem)
        out.write('    { "%s", "%s", "%s", %d },\n' % (name, group, text.replace('\\', '\\\\').replace('"', '\\"').replace('?', '\\?'), on))
    out.write('};\n')


def main():
    what, source, target = sys.argv[1:]
    try:
        with open(target, 'w', encoding='ascii') as out:
            if what == 'patterns':
                write_patterns(source, out)
                return
            t = Tables()
            for number, name, group, on, pattern in lines(source):
                try:
                    t.line(name, group, on, pattern)
                except Bad as e:
                    raise Bad('%d: %s: %s' % (number, name, e))
            t.write(out)
    except Bad as e:
        sys.exit('%s: %s' % (source, e))


main()
