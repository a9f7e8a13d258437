#!/usr/bin/env python3
"""Rows of reported.jsonl that a plain session can run: code steps, repeats, a few options and host steps. Each row in sessions of its own.

A row that needs what the library has no function for yet is skipped with the reason; of a row that has prose invariants only the
steps are checked, which is printed. INTERP_LIBRARY names the library, INTERP_TEST_SLOW multiplies time bounds."""
import ast
import hashlib
import json
import os
import re
import signal
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
import file_steps
import interp_host
import invariants
import runner

MIB = 1 << 20
# Rows that contradict the design or the rows of behaviours.jsonl, with the reason: not run.
WRONG = {}
# The row's words for errors of ours.
CODES = {'invalid_argument': ('INTERP_E_INVAL', 'INTERP_E_LIMIT'), 'busy': ('INTERP_E_BUSY',), 'closed': ('INTERP_E_CLOSED',),
         'backend_error': ('INTERP_E_BACKEND', 'INTERP_E_ISOLATION')}
GENERATED = {'FIL-13': 'data = "%s"\nprint(len(data))' % ('q' * 400000), 'HST-05': '#' + 'x' * (4 * MIB) + '\nprint(1)'}
HOST_STEPS = {'SEC-01': lambda: os.environ.update(PROBE_TOKEN='tok-91', DATABASE_URL='pg://u:pw-92@h', MYAPP='val-93'),
              'HST-01': lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
              'HST-06': lambda: (signal.signal(signal.SIGPIPE, signal.SIG_IGN), signal.signal(signal.SIGCHLD, signal.SIG_IGN),
                                 signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM}))}


# Options of the rows that have another name here, as far as this build of the library has them.
OPTIONS = {'clean_output': 'clean_terminal', 'merge_streams': 'merge_streams'}
# Images of the rows, as tests/engines makes them.
IMAGES = {'alpine (sh only)': 'interp-test:musl'}
PACKAGES = re.compile(r'^\s*(?:import|from) (matplotlib|numpy|pandas|PIL)\b', re.M)        # an image need not have them


class Skip(Exception):
    pass


def options_of(option, has=lambda name: True):
    config = {}
    for key, value in option.items():
        if key == 'memory_mb':
            config['memory_bytes'] = value * MIB
        elif key == 'disk_mb':
            config['workspace_bytes'] = value * MIB
        elif key == 'pids':
            config['pids'] = value
        elif key == 'env':
            config['env'] = {k: 'e' * 300000 if v == '<300000 x e>' else v for k, v in value.items()}
        elif key == 'image' and value in IMAGES:
            config['image'] = IMAGES[value]
        elif key == 'cpu_time_s':
            config['cpu_ms'] = value * 1000
        elif key in OPTIONS and has(OPTIONS[key]):
            config[OPTIONS[key]] = int(value)
        elif key == 'secrets':   # known to the code, and registered
            config['env'] = dict(config.get('env', {}), **value)
        elif key == 'max_output_bytes':
            config.update(output_head_bytes=value * 3 // 4, output_tail_bytes=value - value * 3 // 4)
        elif (key, value) not in (('network', 'none'), ('read_only_root', True), ('backend', 'local'), ('restart', True), ('language', 'bash'), ('workdir_tmpfs', True)):
            raise Skip('needs the option %s' % key)
    return config


def text(data):
    return data.decode('utf-8', 'replace')


class Row:
    def __init__(self, host, row, options, mark):
        self.sessions = {}
        self.host, self.row, self.options = host, row, options
        name, value = mark.split('=')
        self.config = {'backend': options.backend, 'env': {name: value}, 'close_timeout_ms': 60000}
        self.config.update(json.loads(options.config))
        self.session, self.bad, self.slow, self.partly = None, [], [], set()
        self.mark = mark
        self.done, self.facts, self.undo = [], {}, []      # for invariants.py

    def has(self, option):
        return self.host.lib.interp_has(('option.' + option).encode()) == 1

    def open_more(self, without=()):
        """Another session like the row's."""
        return self.host.open({k: v for k, v in self.config.items() if k not in without})

    def check_needs(self, steps, top=True):
        """Raises Skip before anything runs."""
        for number, step in enumerate(steps):
            if 'repeat' in step:
                self.check_needs(step['steps'], False)
            elif 'parallel' in step:
                self.check_needs([s for s in step['parallel'] if 'host' not in s or self.row['id'] not in invariants.MEANWHILE], False)
            elif 'option' in step:
                options_of({k: v for k, v in step['option'].items() if k != 'new_session'}, self.has)
            elif 'host' in step:
                if self.row['id'] not in HOST_STEPS and not (top and number in invariants.HOST.get(self.row['id'], ())):
                    raise Skip('needs a host step: %s' % step['host'])
            elif 'code_generated' in step:
                if self.row['id'] not in GENERATED:
                    raise Skip('needs generated code')
            elif self.options.backend != 'local' and PACKAGES.search(str(step.get('code', ''))):
                raise Skip('needs the Python package %s in the image' % PACKAGES.search(step['code']).group(1))
            elif {'file', 'get', 'list'} & set(step) and set(step) <= file_steps.MEMBERS and file_steps.available(self.host.lib):
                pass
            elif 'close' not in step and not set(step) <= {'code', 'timeout_s', 'language', 'cancel_after_s', 'cwd', 'tag', 'at_s'} | ({'session'} if not top else set()):
                raise Skip('needs %s' % ', '.join(sorted(set(step) - {'code', 'timeout_s', 'language', 'at_s', 'tag'})))

    def expectations(self, path):
        return [e for e in self.row['expect'].get('steps', []) if str(e['at']) == path or str(e['at']) == path.rpartition('.')[0] + '.*']

    def run(self):
        self.check_needs(self.row['steps'])
        identifier = self.row['id']
        try:
            if identifier in invariants.BEFORE:
                invariants.BEFORE[identifier](self)
            self.steps(self.row['steps'], '')
            if identifier in invariants.STILL and not self.bad:
                self.open()
                self.bad += invariants.STILL[identifier](self)
            if self.row['expect'].get('session_usable_after') and self.session:
                x = self.session.exec('bash', 'echo usable')
                if x.bytes('stdout') != b'usable\n':
                    self.bad.append('not usable afterwards: %s' % x)
            self.close()
            if identifier in invariants.GONE:
                self.bad += invariants.GONE[identifier](self)
        finally:
            self.close()
            for undo in reversed(self.undo):
                undo()

    def close(self):
        if self.session:
            self.session.close()
        self.session = None

    def steps(self, steps, prefix):
        for number, step in enumerate(steps):
            path = prefix + str(number)
            if 'repeat' in step:
                for _ in range(step['repeat']):
                    self.steps(step['steps'], path + '.')
                    if len(self.bad) > 5:
                        return
            elif 'option' in step:
                option = dict(step['option'])
                if option.pop('new_session', False) or self.session:
                    self.close()
                more = options_of(option, self.has)
                for name, value in option.get('secrets', {}).items():
                    self.host.redact(name, value)
                if 'env' in more:
                    more['env'] = dict(self.config['env'], **more['env'])
                self.config.update(more)
                self.judge(path, None, self.open(), step)
            elif 'parallel' in step:
                if self.open() is None:
                    self.parallel(step['parallel'], path)
            elif 'host' in step:
                if self.row['id'] in HOST_STEPS:
                    HOST_STEPS[self.row['id']]()
                else:
                    self.open()
                    invariants.HOST[self.row['id']][number](self)
            elif {'file', 'get', 'list'} & set(step):
                error = self.open()
                self.bad += ['step %s: %s' % (path, error)] if error else file_steps.run(self, path, step)
            elif 'close' in step:
                self.close()
            elif 'tag' in step and self.row['id'] in invariants.ELSEWHERE:
                self.open()
            else:
                error = self.open()
                if error is None:
                    self.code(path, step)

    def parallel(self, steps, path):
        def one(number, step):
            time.sleep(step.get('at_s', 0))
            if 'host' in step:
                invariants.MEANWHILE[self.row['id']](self)
            else:
                self.code('%s.%d' % (path, number), step)
        more = {step['session']: self.open_more() for step in steps if 'session' in step}      # sessions by name
        self.sessions = more
        threads = [threading.Thread(target=one, args=pair) for pair in enumerate(steps)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for s in more.values():
            s.close()

    def open(self):
        """The error, when there is no session and none can be had."""
        if self.session is None:
            try:
                self.session = self.host.open(self.config)
            except interp_host.InterpError as e:
                return e
        return None

    def code(self, path, step):
        wanted = self.expectations(path)
        language = step.get('language') or self.row['language']
        ends = {word for w in wanted for word in w.get('status_in') or [w.get('status', 'ok')]}
        seconds = step.get('timeout_s', 30)
        if not ends - {'ok', 'error'} and seconds in range(2, 60):
            seconds = 60 * runner.SLOW                # what is to end by itself, and says no word about how soon, has the time for it
        members = {'timeout_ms': int(seconds * 1000)}
        walls = [w['max_wall_s'] for w in wanted if 'max_wall_s' in w]
        if walls:
            members['grace_ms'] = max(200, min(3000, int((min(walls) - step.get('timeout_s', 0)) * 600)))
        cancel = {'cancel_ms': [step['cancel_after_s'] * 1000]} if 'cancel_after_s' in step else {}
        if step.get('cancel_after_s') and any(w.get('stdout') for w in wanted):       # counted from its first word
            cancel = {'cancel_when': lambda x: x.heard.wait(30 * runner.SLOW) and x.through.wait(step['cancel_after_s'])}
        code = GENERATED[self.row['id']] if 'code_generated' in step else step['code']
        try:
            session = self.sessions[step['session']] if 'session' in step else self.session
            session.event_delay_s = self.facts.get('event_delay_s', 0)
            x, error = session.exec(language, code, **cancel, stream=self.row['id'] not in invariants.NOT_STREAMED, **members), None
            self.bad += ['step %s: %s' % (path, d) for d in interp_host.disagreements(x)]
        except interp_host.InterpError as e:
            x, error = None, e
        self.done.append((path, x, error))
        part = [e['message_contains_if_error'] for e in self.row['expect'].get('steps', []) if 'message_contains_if_error' in e]
        if x and x.result['cause'] == 'interpreter' and part:       # the refusal that the row allows at the opening comes here with the first exec
            if part[0] not in x.result['error']['message']:
                self.bad.append('step %s: the message lacks %r: %s' % (path, part[0], x))
            return
        self.judge(path, x, error, step)

    def judge(self, path, x, error, step):
        for wanted in self.expectations(path):
            words = wanted.get('status_in') or ([wanted['status']] if 'status' in wanted else [])
            if error is not None:
                if not any(error.code in CODES.get(w, ()) for w in words):
                    self.bad.append('step %s: %s, wanted %s' % (path, error, words))
                for part in self.listed(wanted.get('message_contains')):
                    if part not in str(error):
                        self.bad.append('step %s: the message lacks %r: %s' % (path, part, error))
                continue
            if x is None:
                if words and 'ok' not in words:
                    self.bad.append('step %s: opened, wanted %s' % (path, words))
                continue
            before = len(self.bad)
            self.match(path, wanted, words, x, step)
            if len(self.bad) > before:
                self.bad.append('   after %.80r: %s' % (step.get('code'), x))

    def listed(self, value):
        return [] if value is None else value if isinstance(value, list) else [value]

    def match(self, path, wanted, words, x, step):
        r, language = x.result, step.get('language') or self.row['language']

        def want(condition, *what):
            if not condition:
                self.bad.append('step %s: %s' % (path, ' '.join(str(w) for w in what)))
        if words:
            ended = r['outcome'] in ('lost', 'cancelled') and 'closed' in words         # an exec that was running then
            want(r['outcome'] in words or ended or (r['outcome'] == 'lost' and 'backend_error' in words), 'outcome', r['outcome'], 'not', words)
        out, err = x.bytes('stdout'), x.bytes('stderr')
        shown = text(err) + ((r.get('error') or {}).get('traceback') or '' if language in ('python', 'javascript') else '')
        for key, v in wanted.items():
            if key in ('at', 'status', 'status_in', 'each', 'note', 'message_contains', 'message_contains_if_error', 'only_if'):
                pass
            elif key == 'exit_code':
                want(r['exit_code'] == v, 'exit code', r['exit_code'], 'not', v)
            elif key == 'exit_code_in':
                want(r['exit_code'] in v, 'exit code', r['exit_code'], 'not in', v)
            elif key == 'signal':
                want(r['signal'] in (v, 'SIG%s' % v) or r['signal'] == (signal.Signals(v).name if isinstance(v, int) else v), 'signal', r['signal'], 'not', v)
            elif key == 'stdout':
                want(text(out) == v, 'stdout %.300r not %.300r' % (text(out), v))
            elif key == 'stdout_if_ok':
                want(r['outcome'] != 'ok' or text(out) in [w.replace('\\n', '\n') for w in self.listed(v)], 'stdout %.300r not %.300r' % (text(out), v))
            elif key == 'stderr':
                want(shown == v, 'stderr %.300r not %.300r' % (shown, v))
            elif key in ('stdout_hex', 'stderr_hex'):
                want((out if key[3] == 'o' else err).hex() == v, key, (out if key[3] == 'o' else err).hex(), 'not', v)
            elif key == 'stdout_regex':
                want(re.search(v, text(out)), 'stdout %.300r does not match %r' % (text(out), v))
            elif key in ('stdout_contains', 'stderr_contains'):
                for part in self.listed(v):
                    want(part in (text(out) if key[3] == 'o' else shown), key, '%r lacks %r' % ((text(out) if key[3] == 'o' else shown)[-400:], part))
            elif key in ('stdout_not_contains', 'stderr_not_contains'):
                for part in self.listed(v):
                    want(part not in (text(out) if key[3] == 'o' else shown), key, repr(part))
            elif key == 'stderr_contains_if_error':
                want(r['outcome'] != 'error' or v in shown, 'stderr lacks', v)
            elif key == 'max_wall_s':
                seconds = x.ended - x.fired + step['cancel_after_s'] if x.fired else x.ms / 1e3
                if seconds > v * runner.SLOW:
                    self.slow.append('step %s took %.1f s, at most %s' % (path, seconds, v))
            elif key == 'stdout_each':
                want(text(out) == v[int(path.rpartition('.')[2])].replace('\\n', '\n'), 'stdout %r not its own of %r' % (text(out), v))
            elif key == 'images':
                shown = [m for b in r['rich'] + [r['value'] or {'mime': {}}] for m in b['mime'] if m.startswith('image/')]
                want(len(shown) == v, 'pictures', shown, 'not', v)
            elif key == 'backend_error':
                want((r['outcome'] == 'lost') == v, 'outcome', r['outcome'])
            elif key == 'oom':
                want((r['outcome'] == 'oom') == v or not v and r['outcome'] != 'oom', 'oom is', r['outcome'])
            elif key == 'limit_kind':
                want(r['cause'] == v or r['outcome'] == 'error' and v == 'memory', 'cause', r['cause'], 'not', v)
            elif key in ('truncated', 'stdout_truncated', 'stderr_truncated'):
                want(r[key.split('_')[0] if '_' in key else 'stdout']['truncated'] == v, key, 'is not', v)
            elif key in ('stdout_total_bytes', 'stderr_total_bytes'):
                want(r[key[:6]]['total_bytes'] == v, key, r[key[:6]]['total_bytes'], 'not', v)
            elif key in ('stdout_max_bytes', 'stderr_max_bytes'):
                want(len(r[key[:6]]['text'].encode()) <= v, key, len(r[key[:6]]['text'].encode()), 'more than', v)
            elif key == 'stdout_min_bytes':
                want(len(r['stdout']['text'].encode()) >= v, key, len(r['stdout']['text'].encode()), 'less than', v)
            elif key == 'result_repr':
                want((r['value'] or {}).get('text') == v, 'value', r['value'], 'not', v)
            elif key == 'json_text':
                want(r['stdout']['text'] == v.encode().decode('unicode_escape') if '\\' in v else r['stdout']['text'] == v, 'text', repr(r['stdout']['text']), 'not', v)
            elif key == 'stdout_sha256_of':
                data = eval_sum(v.rsplit(' (', 1)[0]).encode()
                want(hashlib.sha256(out).digest() == hashlib.sha256(data).digest(), 'stdout of', len(out), 'bytes, not', len(data))
            else:
                self.partly.add(key)


def eval_sum(expression):
    """Literals, joined by + and repeated by *."""
    def value(node):
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            return left + right if isinstance(node.op, ast.Add) else left * right
        return ast.literal_eval(node)
    return value(ast.parse(expression, mode='eval').body)


def attempt(host, row, options, mark):
    """(complaints, complaints about time, what was not checked); in a thread of its own, so that a signal mask that the row sets stays there."""
    box = {}

    def work():
        r = Row(host, row, options, mark)
        try:
            r.run()
        except Skip as e:
            box['skip'] = str(e)
        except Exception as e:
            r.bad.append('%s: %s' % (type(e).__name__, e))
        box['row'] = r
    if row['id'] in HOST_STEPS or row['id'] in invariants.MAIN_THREAD:
        keep = {s: signal.getsignal(s) for s in (signal.SIGCHLD, signal.SIGPIPE)}
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, set())
        work()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for s, handler in keep.items():
            signal.signal(s, handler)
    else:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    if 'skip' in box:
        raise Skip(box['skip'])
    return box['row']


def main():
    p = runner.parser(__doc__)
    p.add_argument('--without', metavar='ID', action='append', default=[], help='not the row with this id')
    options = p.parse_args()
    runner.become(options, __file__)
    runner.harden()
    tally, mark = runner.Tally(), 'INTERP_TEST_MARK=%s' % uuid.uuid4().hex
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'reported.jsonl'), encoding='utf-8') as f:
        rows = [json.loads(line) for line in f]
    with interp_host.Host() as host:
        for row in rows:
            name = row['id']
            if not runner.chosen(name, options.only) or name in options.without:
                continue
            if options.backend not in row['backend'] and row['backend'] != 'any':
                tally.skip(name, 'for another backend (%s)' % row['backend'])
                continue
            if name in WRONG:
                tally.skip(name, WRONG[name])
                continue
            try:
                r = attempt(host, row, options, mark)
                for _ in range(2):                          # the fastest of three
                    if r.slow and not r.bad:
                        print('slow %s, once more: %s' % (name, '; '.join(r.slow)))
                        r = attempt(host, row, options, mark)
            except Skip as e:
                tally.skip(name, e)
                continue
            rest = runner.left_over(mark)
            if rest:
                r.bad.append('left after close: %s' % '; '.join(rest))
            rest = invariants.REST.get(name, []) if invariants.checked(name) else row['expect'].get('invariants', [])
            if r.partly or rest:
                print('partly checked %s: %s' % (name, '; '.join(sorted(r.partly) + rest)))
            if r.bad or r.slow:
                tally.fail(name, row['symptom'], *(r.bad + r.slow))
            else:
                tally.ok(name)
                if options.verbose:
                    print('ok   ' + name, flush=True)
    sys.exit(tally.end())


if __name__ == '__main__':
    main()
