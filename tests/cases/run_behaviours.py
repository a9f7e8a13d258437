#!/usr/bin/env python3
"""Every row of behaviours.jsonl through the library and a real sandbox: a fresh session for each row.

Words of the rows: `result` is value.text, `interrupt_ms` and `escalate` fire cancel (what is sent to whom is the library's own ladder),
`opts` are the request's options, output is matched against the events, `late` against what came late with the step. `exit` is ok or error by its
code, `died` is crashed, `interrupted` is cancelled. `{begun}` in code tells that it runs up to there: the time until the interrupt counts from then; `meanwhile`
is run by a shell of its own in the session, between the step before and this one; `{dir}` is a directory. INTERP_LIBRARY names the library, INTERP_TEST_SLOW multiplies time bounds."""
import json
import os
import re
import signal
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
import interp_host
import runner

# Rows whose expectation contradicts the design, with the reason and what holds instead: {step: members that replace the row's}, and steps
# that come after the row's own. `late_in_all` is what came late with any step so far (a job's last words may come just after the exec that waited for it).
LATE = 'what a background job of an earlier exec writes is late output of that exec, never in another exec\'s stdout'
AMENDED = {
    'sh-bg': (LATE, {1: {'stdout': '1\nwaited\n'}}, [{'code': ':', 'expect': {'status': 'ok', 'late_in_all': 'bg\n'}}]),
    'sh-int-bg': (LATE, {2: {'stdout_re': '^end\n$'}}, [{'code': ':', 'expect': {'status': 'ok', 'late_in_all': 'survived\n'}}]),
}
# The state after a step, where it is not "preserved".
RESTORED = {('sh-exec', 2): 'restored'}
# Work that belongs to a machine, not to the row: done beforehand in another kernel of the same session (matplotlib makes its font cache in the home).
PREPARE = {'matplotlib': 'import matplotlib.font_manager'}


def version(text):
    return tuple(int(n) for n in re.findall(r'\d+', text)[:3])


def text(data):
    return data.decode('utf-8', 'surrogateescape')


class Check:
    """One step's expectations against its exec. Complaints about time are kept apart."""

    def __init__(self, row, number, step, x, late, late_before):
        self.bad, self.slow = [], []
        self.late, self.late_in_all = late, late_before + late
        self.x, self.r = x, x.result
        self.ms = (x.ended - x.fired) * 1e3 + step.get('interrupt_ms', 0) if x.fired else x.ms
        self.error = self.r.get('error') or {}
        self.out, self.err = text(x.bytes('stdout')), text(x.bytes('stderr'))
        expect = dict(step['expect'])
        if row['id'] in AMENDED:
            for key, value in AMENDED[row['id']][1].get(number, {}).items():
                expect[key] = value
        self.status(row, number, step, expect.pop('status', None))
        for key, value in expect.items():
            check = getattr(self, 'is_' + key, None)
            if check:
                check(value)
            else:
                self.bad.append('this runner does not know the expectation %r' % key)
        self.bad += interp_host.disagreements(x)

    def equal(self, name, got, want):
        if got != want:
            self.bad.append('%s: got %.300r, want %.300r' % (name, got, want))

    def status(self, row, number, step, word):
        r, code = self.r, step['expect'].get('exit_code')
        outcome = {'exit': 'ok' if code == 0 else 'error', 'died': 'crashed', 'interrupted': 'cancelled'}.get(word, word)
        self.equal('outcome', r['outcome'], outcome)
        if word == 'died':
            if r['state'] not in ('reset', 'restored') or r['claimed_by'] != 'host':
                self.bad.append('state %r claimed by %r after the kernel died' % (r['state'], r['claimed_by']))
        else:
            self.equal('state', r['state'], RESTORED.get((row['id'], number), 'preserved'))
        if word == 'error' and row['lang'] in ('python', 'javascript'):
            self.equal('exit code of an uncaught exception', r['exit_code'], 1)
        self.equal('interrupted', r['interrupted'], 'cancel' if 'interrupt_ms' in step or 'escalate' in step else None)
        self.equal('ran', r['ran'], True)

    def is_exit_code(self, v):
        self.equal('exit_code', self.r['exit_code'], v)

    def is_signal(self, v):
        self.equal('signal', self.r['signal'], signal.Signals(v).name)

    def is_stdout(self, v):
        self.equal('stdout', self.out, v)

    def is_stderr(self, v):
        self.equal('stderr', self.err, v)

    def is_stdout_bytes(self, v):
        self.equal('stdout', self.x.bytes('stdout').hex(), v)

    def matches(self, name, got, v):
        if not re.search(v, got, re.S):
            self.bad.append('%s: %.200r does not match %r' % (name, got, v))

    def has(self, name, got, v):
        if v not in got:
            self.bad.append('%s: %.300r lacks %r' % (name, got, v))

    def is_stdout_re(self, v):
        self.matches('stdout', self.out, v)

    def is_stderr_re(self, v):
        self.matches('stderr', self.err, v)

    def is_stdout_has(self, v):
        self.has('stdout', self.out, v)

    def is_stderr_has(self, v):
        self.has('stderr', self.err, v)

    def value(self):
        value = self.r['value']
        return value['text'] if value else None

    def is_result(self, v):
        self.equal('value', self.value(), v)

    def is_result_re(self, v):
        self.matches('value', self.value() or '', v)

    def is_mimes(self, v):
        bundle = self.r['value'] or (self.r['rich'] or [{'mime': {}}])[0]
        if not set(v) <= set(bundle['mime']):
            self.bad.append('MIME types: got %s, want %s' % (sorted(bundle['mime']), v))

    def is_displays(self, v):
        self.equal('displays', len(self.r['rich']), v)

    def is_error_type(self, v):
        self.equal('error type', self.error.get('type'), v)

    def is_error_message(self, v):
        self.equal('error message', self.error.get('message'), v)

    def is_error_line(self, v):
        self.equal('error line', self.error.get('line'), v)

    def is_tb_has(self, v):
        for word in v:
            self.has('traceback', self.error.get('traceback') or '', word)

    def is_tb_not(self, v):
        for word in v:
            if word in (self.error.get('traceback') or ''):
                self.bad.append('traceback has %r: %s' % (word, self.error['traceback']))

    def is_max_ms(self, v):
        if self.ms > v * runner.SLOW:
            self.slow.append('took %.0f ms, at most %.0f' % (self.ms, v * runner.SLOW))

    def is_late(self, v):
        self.equal('late output', self.late, v)

    def is_late_in_all(self, v):
        self.equal('late output so far', self.late_in_all, v)

    def is_order(self, v):
        got = []
        for e in self.x.events:
            if got and got[-1][0] == e['stream']:
                got[-1][1] += text(e['data'])
            else:
                got.append([e['stream'], text(e['data'])])
        self.equal('order', got, v)


class Unusable(Exception):
    """The step can't be done here; the text says why."""


WARM = {'python': 'import asyncio as a; del a', 'javascript': '0', 'bash': ':'}
# what the session's other shell does until a step has begun
WATCH = 'until [ -e /tmp/li_begun ]; do sleep 0.02; done; rm /tmp/li_begun'
BEGUN = {'python': 'open("/tmp/li_begun", "w").close()', 'javascript': 'fs.writeFileSync("/tmp/li_begun", "")', 'bash': ': >/tmp/li_begun'}


def filled(row, code):
    return code.replace('{begun}', BEGUN[row['lang']]).replace('{dir}', '/tmp')



class Runner:
    def __init__(self, host, options):
        self.host, self.options = host, options
        self.mark = 'INTERP_TEST_MARK=%s' % uuid.uuid4().hex
        self.facts = {}

    def config(self):
        name, value = self.mark.split('=')
        config = {'backend': self.options.backend, 'env': {name: value}, 'close_timeout_ms': 60000}
        config.update(json.loads(self.options.config))
        return config

    def probe(self, what, language, code):
        """The value of an expression in a sandbox of its own, once: or None when it can't be had."""
        if what not in self.facts:
            with self.host.open(self.config()) as s:
                x = s.exec(language, code, timeout_ms=60000)
            value = x.result['value']
            self.facts[what] = value['text'] if x.outcome == 'ok' and value else None
            self.facts[what, 'why'] = x.result['cause'] or (x.result.get('error') or {}).get('message') or x.outcome
        return self.facts[what]

    def reason_to_skip(self, row):
        if row['lang'] == 'python':
            have = self.probe('python', 'python', 'import platform; platform.python_version()')
        elif row['lang'] == 'javascript':
            have = self.probe('javascript', 'javascript', 'process.version')
        else:
            return None
        if have is None:
            return 'no %s in the sandbox: %s' % (row['lang'], self.facts[row['lang'], 'why'])
        need = row.get('min_py') or row.get('min_node')
        if need and version(have) < version(need):
            return 'needs %s %s, the sandbox has %s' % (row['lang'], need, have.strip("'"))
        if 'needs' in row and self.probe(row['needs'], 'python', 'import %s; 1' % row['needs']) is None:
            return '%s can\'t be imported in the sandbox: %s' % (row['needs'], self.facts[row['needs'], 'why'])
        return None

    def interrupt_idle(self, s, language):
        """SIGINT to the kernel process from outside, while no exec runs."""
        inner = s.exec(language, {'python': 'import os; os.getpid()', 'javascript': 'process.pid'}[language]).result['value']['text']
        pids = [p for p in runner.marked(self.mark) if runner.inner_pid(p) == int(inner)]
        if len(pids) != 1:
            raise Unusable('the kernel process can\'t be told from outside (%d candidates)' % len(pids))
        try:
            os.kill(pids[0], signal.SIGINT)
        except PermissionError:
            raise Unusable('this user may not signal the kernel process') from None
        time.sleep(0.02)

    def aside(self, s, code):
        """Shell code in the session's other kernel; what came late meanwhile."""
        x = s.exec('sh', code, kernel='aside', timeout_ms=int(60000 * runner.SLOW))
        if x.outcome != 'ok':
            raise RuntimeError('beside the step: %s' % x)
        return text(x.late('stdout'))

    def late_to_come(self, s, wanted, late):
        """What is written and not yet told comes with later execs."""
        end = time.monotonic() + 10 * runner.SLOW
        while wanted and wanted.startswith(late) and wanted != late and time.monotonic() < end:
            late += self.aside(s, 'sleep 0.02')
        return late

    def run(self, row):
        """(complaints, complaints about time)"""
        bad, slow, late = [], [], ''
        steps = row['steps'] + (AMENDED[row['id']][2] if row['id'] in AMENDED else [])
        limit_ms = 60000 if 'needs' in row else 8000
        with self.host.open(self.config()) as s:
            if row.get('needs') in PREPARE:
                s.exec(row['lang'], PREPARE[row['needs']], kernel='prepare', timeout_ms=120000)
            if 'interrupt_ms' in steps[0] or 'escalate' in steps[0] or 'max_ms' in steps[0]['expect']:
                s.exec(row['lang'], WARM[row['lang']])      # the times are of running code, not of a start
            if any('{begun}' in step['code'] for step in steps):
                self.aside(s, ':')
            for number, step in enumerate(steps):
                time.sleep(step.get('pause_ms', 0) / 1e3)      # what is older than an exec is told from it by the kernel's ticks
                before, beside = self.aside(s, filled(row, step['meanwhile'])) if 'meanwhile' in step else '', []
                options = dict(step.get('opts', {}))
                if options.pop('sigint_before', False):
                    self.interrupt_idle(s, row['lang'])
                cancel = [step['interrupt_ms']] if 'interrupt_ms' in step else []
                cancel += [at for at, _, _ in step.get('escalate', [])]

                def begun(x, cancel=cancel, beside=beside):
                    beside.append(self.aside(s, WATCH))
                    x.through.wait(cancel[0] / 1e3)
                # what hears an interrupt hears it late on a slow machine
                grace = {'grace_ms': int(3000 * runner.SLOW)} if step['expect'].get('status') == 'interrupted' else {}
                how = {'cancel_when': begun} if '{begun}' in step['code'] else {'cancel_ms': cancel}
                x = s.exec(row['lang'], filled(row, step['code']), stdin=step.get('stdin'), options=options or None,
                           timeout_ms=int(step.get('timeout_ms', limit_ms) * runner.SLOW), **how, **grace)
                now = before + ''.join(beside) + text(x.late('stdout'))
                if 'late_in_all' in step['expect']:
                    now = self.late_to_come(s, step['expect']['late_in_all'], late + now)[len(late):]
                else:
                    now = self.late_to_come(s, step['expect'].get('late'), now)
                check = Check(row, number, step, x, now, late)
                late = check.late_in_all
                for complaints, all_complaints in ((check.bad, bad), (check.slow, slow)):
                    if complaints:
                        all_complaints.append('step %d %.80r (%s)' % (number, step['code'], x if complaints is check.bad else 'slow'))
                        all_complaints += ['   ' + c for c in complaints]
        rest = runner.left_over(self.mark)
        if rest:
            bad.append('left after close: %s' % '; '.join(rest))
        return bad, slow


def main():
    p = runner.parser('Runs behaviours.jsonl through the library.')
    p.add_argument('--language', choices=['python', 'javascript', 'bash'])
    options = p.parse_args()
    runner.become(options, __file__)
    runner.harden()
    tally = runner.Tally()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'behaviours.jsonl'), encoding='utf-8') as f:
        rows = [json.loads(line) for line in f]
    with interp_host.Host() as host:
        r = Runner(host, options)
        for row in rows:
            name = row['id']
            if options.language not in (None, row['lang']) or not runner.chosen(name, options.only):
                continue
            try:
                reason = r.reason_to_skip(row)
                if reason:
                    tally.skip(name, reason)
                    continue
                if name in AMENDED:
                    print('AMENDED %s: %s' % (name, AMENDED[name][0]))
                bad, slow = r.run(row)
                for _ in range(2):                          # the fastest of three
                    if slow and not bad:
                        print('slow %s, once more: %s' % (name, '; '.join(slow)))
                        bad, slow = r.run(row)
            except Unusable as e:
                tally.skip(name, e)
                continue
            except Exception as e:
                bad, slow = ['%s: %s' % (type(e).__name__, e)], []
            if bad or slow:
                tally.fail(name, row['title'], *(bad + slow))
            else:
                tally.ok(name)
                if options.verbose:
                    print('ok   ' + name)
    sys.exit(tally.end())


if __name__ == '__main__':
    main()
