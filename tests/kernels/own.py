"""Rows of our own: what tests/cases/behaviours.jsonl has no row for.  A row has steps, as there, or `run`, a function that gets the
kernel and returns a list of failures [(number, code, [reasons])]."""
import os
import signal
import time

# rows for bash that POSIX sh must pass too (the others are bash's own, or word messages as bash does)
SH_ROWS = set('sh-params sh-late sh-stdin sh-fds sh-heredoc sh-order sh-big sh-umask sh-exit-sub sh-return'.split())
ROWS = []


def row(lang, id, title, *steps, **more):
    ROWS.append(dict({'lang': lang, 'id': id, 'title': title, 'steps': [dict(s) for s in steps]}, **more))


def step(code, expect=None, **more):
    return dict({'code': code, 'expect': dict({'status': 'ok'}, **(expect or {}))}, **more)


def test(lang, id, title, **more):
    def add(f):
        ROWS.append(dict({'lang': lang, 'id': id, 'title': title, 'run': f}, **more))
        return f
    return add


OK = {'status': 'ok'}
# ---------------------------------------------------------------- Python
row('python', 'own-py-shadow', 'N34: modules of the user\'s named as the driver\'s do not reach the driver',
    step('import os, tempfile\nos.chdir(tempfile.mkdtemp())\n'
         'for m in "json traceback linecache re asyncio ast tokenize inspect enum types fcntl contextlib functools".split():\n'
         '    open(m + ".py", "w").write("mine = 1\\nif 0: pass\\nraise ImportError(\'captured: %s\' % __name__)")'),
    step('def f():\n    return 1/0\nf()', {'status': 'error', 'error_type': 'ZeroDivisionError', 'error_line': 2, 'tb_has': ['return 1/0'],
                                          'source': 'return 1/0', 'function': 'f'}),
    step('class D:\n    def _repr_mimebundle_(self, **k): return {"text/plain": "d", "application/json": {"a": 1}}\nD()',
         {'result': 'd', 'mimes': ['application/json']}),
    step('!echo hi', {'stdout': 'hi\n'}),
    step('import json', {'status': 'error', 'error_type': 'ImportError', 'error_message': 'captured: json'}),
    step('1/0', {'status': 'error', 'error_type': 'ZeroDivisionError'}), min_py='3.7')
row('python', 'own-py-shadow-loaded', 'N34: a user module of that name which is loaded stays the user\'s, and the driver has its own',
    step('import os, sys, tempfile\nos.chdir(tempfile.mkdtemp())\nopen("json.py", "w").write("mine = 1")\nopen("ast.py", "w").write("mine = 2")'),
    step('import json, ast\njson.mine, ast.mine', {'result': '(1, 2)'}),
    step('1/0', {'status': 'error', 'error_type': 'ZeroDivisionError', 'tb_has': ['1/0']}),
    step('class D:\n    def _repr_json_(self): return {"a": 1}\nD()', {'mimes': ['application/json']}),
    step('import json, ast\n(json.mine, ast.mine)', {'result': '(1, 2)'}))
row('python', 'own-py-shadow-await', 'N34: top-level await with a user\'s asyncio.py in the directory',
    step('import os, tempfile\nos.chdir(tempfile.mkdtemp())\nopen("asyncio.py", "w").write("raise ImportError(1)")'),
    step('async def f(): return 5\nawait f()', {'result': '5'}), min_py='3.8')
row('python', 'own-py-patched', 'replaced builtins and standard functions do not break the driver',
    step('import builtins, json, time, os\nkeep = (builtins.len, builtins.open, builtins.print, builtins.isinstance)\n'
         'builtins.len = builtins.open = builtins.print = builtins.isinstance = builtins.str = builtins.sorted = lambda *a, **k: 1/0\n'
         'json.dumps = time.perf_counter = os.getpid = os.dup2 = lambda *a, **k: 1/0'),
    step('1+1', {'result': '2'}),
    step('[1, "a"]', {'result': "[1, 'a']"}),
    step('nosuch', {'status': 'error', 'error_type': 'NameError'}))
row('python', 'own-py-stdin', 'whatever was done to descriptor 0, the next exec and its children find an empty input there, or their own',
    step('import os, sys, subprocess\nos.close(0)'),
    step('sys.stdin.read(), subprocess.check_output(["wc", "-c"])', {'result': "('', b'0\\n')"}),
    step('os.dup2(os.open("/dev/null", os.O_WRONLY), 0)'),
    step('sys.stdin.read(), subprocess.check_output(["wc", "-c"])', {'result': "('', b'0\\n')"}),
    step('os.dup2(os.open("/dev/zero", os.O_RDONLY), 0)'),
    step('os.read(0, 9), subprocess.check_output(["wc", "-c"])', {'result': "(b'', b'0\\n')"}),
    step('sys.stdin.read(), os.read(0, 9)', {'result': "('abc', b'')"}, stdin='abc'),
    step('sys.stdin.read(), subprocess.check_output(["wc", "-c"])', {'result': "('', b'0\\n')"}))
row('python', 'own-py-half-import', 'an import that was interrupted half-way does not break top-level await for good',
    step('import asyncio, sys\ndel sys.modules["asyncio"], sys.modules["asyncio.base_events"], asyncio'),
    step('async def f(): return 5\nawait f()', {'result': '5'}), min_py='3.8')
row('python', 'own-py-env', 'the environment of an exec is undone after it',
    step('import os, subprocess\nos.environ["OLD"] = "1"'),
    step('os.environ["OLD"], os.environ["NEW"], subprocess.check_output("echo $OLD$NEW", shell=True)', {'result': "('2', 'n', b'2n\\n')"},
         env={'OLD': '2', 'NEW': 'n'}),
    step('os.environ["OLD"], os.environ.get("NEW"), [k for k in os.environ if k.startswith("INTERP")]', {'result': "('1', None, [])"}))
row('python', 'own-py-stdout', 'a stdout that user code closed, detached or deleted is there again in the next exec',
    step('import sys; sys.stdout.close()'), step('print(1)', {'stdout': '1\n'}),
    step('sys.stdout.detach();'), step('print(2)', {'stdout': '2\n'}),
    step('sys.stdout = None'), step('print(3)', {'stdout': '3\n'}),
    step('import os; os.close(0); os.close(1); os.close(2)'),
    step('print(4); os.system("echo 5; cat")', {'stdout': '4\n5\n', 'result': '0'}),
    step('class T:\n    def __init__(s, o): s.o = o\n    def write(s, x): s.o.write(x.upper())\n    def flush(s): s.o.flush()\nsys.stdout = T(sys.stdout)'),
    step('print("tee")', {'stdout': 'TEE\n'}))
row('python', 'own-py-error-fields', 'error: frames with function and source, column from 3.11',
    step('def f(x):\n    return [1][x]\n\ny = "é" + f(7)', {'status': 'error', 'error_type': 'IndexError', 'error_line': 2, 'function': 'f',
                                                      'source': 'return [1][x]', 'exit_code': 1, 'tb_not': ['<interp driver>', 'python_boot']}),
    step('x = 1\nif x: y = = 2', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 2, 'error_column': 11}))
row('python', 'own-py-column', 'column of the failing expression, counted in characters', step('é = "é"; 1/0', {'status': 'error', 'error_column': 10}), min_py='3.11')
row('python', 'own-py-interrupt-claim', 'KeyboardInterrupt that nobody sent is an error, not an interrupt',
    step('raise KeyboardInterrupt("x")', {'status': 'error', 'error_type': 'KeyboardInterrupt'}))
row('python', 'own-py-int-repr', 'interrupt in the repr of the result',
    step('import time\nclass R:\n    def __repr__(self):\n        {begun}; time.sleep(30)\nR()', {'status': 'interrupted', 'max_ms': 1000}, interrupt_ms=200),
    step('1', {'result': '1'}))
row('python', 'own-py-many-lines', '10,000 lines', step('for i in range(10000): print("x" * 99)', {'stdout_re': '^(x{99}\n){10000}$', 'max_ms': 400}))


row('python', 'own-py-fast', 'lines that come fast: their order with stderr, what was written last is seen before the exec ends, and no thread stays for them',
    step('import os, sys, time, _thread\nos.chdir(__import__("tempfile").mkdtemp())\nboth = os.open("both", os.O_CREAT | os.O_RDWR | os.O_APPEND)\nos.dup2(both, 1), os.dup2(both, 2)\n'
         'for i in range(300): print("o")\nprint("e", file=sys.stderr)\nprint("o")\nprint("e", file=sys.stderr)\nopen("both").read() == "o\\n" * 300 + "e\\no\\ne\\n"', {'result': 'True'}),
    step('os.dup2(os.open("out", os.O_CREAT | os.O_RDWR), 1)\nfor i in range(3000): print(i)\n'
         'while not open("out").read().endswith("\\n2999\\n"): time.sleep(.01)\nwhile _thread._count(): time.sleep(.01)', {'status': 'ok'}, timeout_ms=30000),
    step('import warnings\nwarnings.simplefilter("always")\nfor i in range(300): print(i)\nif not os.fork(): os._exit(0)\nos.wait()[1]', {'status': 'ok', 'result': '0', 'stderr': ''}),
    step('for i in range(300): print("x")\nprint("no end of a line", end="")', {'stdout': 'x\n' * 300 + 'no end of a line'}))
row('python', 'own-py-fast-kept', 'sys.stdout.write as it was while lines came fast, and one of the user\'s own in its place',
    step('import sys, threading\nfor i in range(300): print("x")\nw = sys.stdout.write\nw("kept\\n")', {'stdout': 'x\n' * 300 + 'kept\n'}),
    step('w("kept\\n")', {'stdout': 'kept\n'}),
    step('go = threading.Event()\ndef f():\n    go.wait(); w("late\\n")\nfor i in range(300): print("x")\nw = sys.stdout.write\nthread = threading.Thread(target=f); thread.start()', {'stdout': 'x\n' * 300}),
    step('for i in range(300): print("y")\ngo.set(); thread.join()', {'stdout': 'y\n' * 300}),
    step('seen, old = [], sys.stdout.write\ndef hook(s):\n    seen.append(s); return old(s)\nfor i in range(300): print("x")\nsys.stdout.write = hook\nfor i in range(300): print("y")\ndel sys.stdout.write\nlen(seen)',
         {'stdout': 'x\n' * 300 + 'y\n' * 300, 'result': '600'}))


@test('python', 'own-py-late-pipe', 'late output lands in the pipe of its exec, and a full one does not hold the next exec')
def _(k):
    bad = []
    path = k.dir + '/go'
    k.exec('import threading, time, os, sys\ngo, gone = threading.Event(), threading.Event()\ndef w():\n    go.wait(); sys.stdout.write("late"); gone.set()\n'
           '    while not os.path.exists(%r): time.sleep(.01)\n    print("x" * 300000)\nthreading.Thread(target=w).start()' % path)
    x = k.exec('go.set(); gone.wait(); print("mine")')
    k.reads_old = False
    open(path, 'w').close()
    k.await_late(65536)                     # now the thread hangs in the pipe of exec 2, which nobody reads
    y = k.exec('print("next"); 5')
    if x['stdout'] != b'mine\n' or y['stdout'] != b'next\n' or y['final']['status'] != 'ok' or y['ms'] > 10000:
        bad.append((2, '', ['%r %r %r %r' % (x['stdout'], y['stdout'][:50], y['final'], y['ms'])]))
    z = k.exec('print("again")')
    if z['stdout'] != b'again\n':
        bad.append((3, '', ['%.60r' % z['stdout']]))
    return bad


@test('python', 'own-py-late-display', 'display() between two execs sends no frame')
def _(k):
    path = k.dir + '/go'
    k.exec('import threading, time, os\ndef w():\n    while not os.path.exists(%r): time.sleep(.01)\n    display("late")\nthreading.Thread(target=w).start()' % path)
    open(path, 'w').close()
    k.await_late(len("'late'\n"))
    x = k.exec('1')
    if x['late_before']['stdout'] != b"'late'\n" or len(x['displays']) != 1:
        return [(1, '', ['%r' % x])]


@test('python', 'own-py-sigint-storm', 'signals at any time: no torn frame, no exec without an answer')
def _(k):
    import threading
    stop = []

    def storm():
        while not stop:
            os.kill(k.pid, signal.SIGINT)
            time.sleep(0.0007)
    t = threading.Thread(target=storm)
    t.start()
    try:
        for i in range(200):
            x = k.exec('display("x" * 5000); sum(range(3000))')
            if x['final']['status'] not in ('ok', 'interrupted', 'error'):
                return [(i, '', ['%r' % x['final']])]
    finally:
        stop.append(1)
        t.join()
    x = k.exec('7')
    return [] if x['final']['status'] == 'ok' else [(200, '', ['%r' % x['final']])]


def big(code, expect):
    def run(k):
        x = k.exec(code, 60)
        if x['stdout'] != expect or x['final']['status'] != 'ok':
            return [(0, '', ['%.100r %r' % (x['stdout'], x['final'])])]
    return run


ROWS += [{'lang': l, 'id': 'own-big-code', 'title': 'code of 16 MiB', 'run': big(c.encode() + b'z' * ((16 << 20) - len(c) - len(end)) + end.encode(), b'16\n')}
         for l, c, end in (('python', 'x = "', '"\nprint((len(x) + 100) >> 20)'),
                           ('javascript', 'var x = "', '"\nconsole.log((x.length + 100) >> 20)'),
                           ('bash', "x='", "'\necho $(( (${#x} + 100) >> 20 ))"), ('sh', "x='", "'\necho $(( (${#x} + 100) >> 20 ))"))]

# ---------------------------------------------------------------- JavaScript
row('javascript', 'own-js-dead', 'JS-02: a name whose initialiser threw can be declared and assigned again',
    step('const lib = require("no-such-module-q9")', {'status': 'error', 'exit_code': 1, 'tb_has': ['no-such-module-q9']}),
    step('const lib = { ok: true }; console.log(lib.ok)', {'stdout': 'true\n'}),
    step('let b = undefinedThing + 1', {'status': 'error', 'error_type': 'ReferenceError'}),
    step('b = 4; console.log(b)', {'stdout': '4\n'}),
    step('const c = nope1, { d } = nope2', {'status': 'error'}), step('function c() { return 1 }\nvar d; [c(), d]', {'result': '[ 1, undefined ]'}),
    step('class K extends nope3 {}', {'status': 'error'}), step('class K { static x = 1 }\nK.x', {'result': '1'}))
row('javascript', 'own-js-display-bounds', 'displays: too many, with too many forms, odd names of types, objects that lie: bounded, and the kernel lives',
    step('for (let i = 0; i < 400; i++) display(i)', {'displays': 250, 'stderr_has': 'more than 250 displays'}),
    step('const b = {}; for (let i = 0; i < 40; i++) b["application/x-" + i] = "v"; b["text/" + "x".repeat(500)] = "w"; b["t\u00e4xt"] = "u"; display(b, { raw: true })', {'displays': 1}),
    step('display(null, { raw: true })', {'status': 'error', 'error_type': 'TypeError', 'max_ms': 3000}),
    step('class L extends Uint8Array { get byteLength() { return 1e9 } }\ndisplay({ "image/png": new L(3), "text/plain": "p" }, { raw: true }); 5', {'result': '5', 'displays': 1}),
    step('throw new Error("\\u0001".repeat(200000))', {'status': 'error', 'error_type': 'Error'}), step('6', {'result': '6'}))
row('javascript', 'own-js-export', 'export default of an expression, a nameless class or function; code too deep for the rewriter runs',
    step('export default class { }', {}), step('export default function () { return 1 }', {}), step('export default 5', {'result': '5'}), step('export default function named() { return 7 }\nnamed()', {'result': '7'}),
    step('const deep = ' + '1+' * 20000 + '1; deep', {'result': '20001'}))
row('javascript', 'own-js-frames', 'frames of a user\'s folder called internal are kept, those of Node.js are not',
    step('const dir = fs.mkdtempSync("/tmp/interp-js-"); fs.mkdirSync(dir + "/internal"); fs.writeFileSync(dir + "/internal/m.js", "exports.f = () => { throw new Error(\'deep\') }")'),
    step('require(dir + "/internal/m.js").f()', {'status': 'error', 'tb_has': ['internal/m.js:1', 'exec-2.js:1'], 'tb_not': ['node:internal', 'interp:driver']}))
row('javascript', 'own-js-primordials', 'N37: replaced built-ins do not break the driver',
    step('JSON.stringify = () => "{}"; JSON.parse = () => null; Buffer.from = () => Buffer.alloc(0); Buffer.concat = () => null; 1', {'result': '1'}),
    step('Array.prototype.push = Array.prototype.map = Array.prototype.join = Array.prototype.slice = () => null; 2', {'result': '2'}),
    step('String.prototype.split = String.prototype.slice = RegExp.prototype.exec = () => null; Map = Set = Promise = Object.keys = null; 3', {'result': '3'}),
    step('let a = "s"; a', {'result': "'s'"}),
    step('console.log("x"); nope', {'status': 'error', 'error_type': 'ReferenceError', 'error_line': 1, 'stdout': 'x\n'}),
    step('setTimeout = null; process.cwd = process.on = process.stdout.write = null; 4', {'result': '4'}), step('5', {'result': '5'}))
row('javascript', 'own-js-env', 'the environment of an exec is undone after it',
    step('process.env.OLD = "1"; 0'),
    step('[process.env.OLD, process.env.NEW, require("child_process").execSync("echo $OLD$NEW").toString()]', {'result': "[ '2', 'n', '2n\\n' ]"}, env={'OLD': '2', 'NEW': 'n'}),
    step('[process.env.OLD, process.env.NEW, Object.keys(process.env).filter((k) => k.startsWith("INTERP"))]', {'result': "[ '1', undefined, [] ]"}))
row('javascript', 'own-js-exit', 'process.exit in a timer, in a promise, after much output; process.exitCode',
    step('console.log("A".repeat(1 << 20)); process.exit(3)', {'status': 'exit', 'exit_code': 3, 'stdout_re': '^A{1048576}\n$'}),
    step('let s = 1; setTimeout(() => process.exit(4), 10); 0', {'status': 'exit', 'exit_code': 4}),
    step('(async () => { await 1; process.exit(5) })(); await new Promise(() => {})', {'status': 'exit', 'exit_code': 5}),
    step('process.exitCode = 6; 0', {'status': 'exit', 'exit_code': 6}), step('s', {'result': '1'}))
row('javascript', 'own-js-wait', 'the exec waits for callbacks and for promises that nobody awaits',
    step('require("child_process").exec("sleep 0.1; echo hi", (e, o) => console.log(o.trim())); 0', {'stdout': 'hi\n'}),
    step('const cp = require("child_process").spawn("sh", ["-c", "sleep 0.1; exit 3"]); cp.on("close", (c) => console.log("closed", c)); 0', {'stdout': 'closed 3\n'}),
    step('fs.readFile("/etc/hostname", () => console.log("read")); 0', {'stdout': 'read\n'}),
    step('async function main() { await new Promise((r) => setTimeout(r, 50)); console.log("main done") }\nmain(); console.log("first")', {'stdout': 'first\nmain done\n'}),
    step('const server = require("http").createServer().listen(0); 1', {'result': '1', 'max_ms': 300}),
    step('server.close(); setTimeout(() => {}, 30000).unref(); 2', {'result': '2', 'max_ms': 300}),
    step('const never = setTimeout(() => console.log("never"), 60000); throw new Error("x")', {'status': 'error', 'stdout': ''}),
    step('never._destroyed', {'result': 'true', 'stdout': ''}))
row('javascript', 'own-js-wait-more', 'the exec waits for ends and output of children, timers that are promises, work of the thread pool, worker threads',
    step('const { spawn } = require("child_process"); spawn("sh", ["-c", "sleep 0.1; exit 3"]).on("exit", (c) => console.log("exit", c)); 0', {'stdout': 'exit 3\n'}),
    step('spawn("sh", ["-c", "sleep 0.1; echo hi"]).stdout.on("data", (d) => console.log("data", String(d).trim())); 0', {'stdout': 'data hi\n'}),
    step('spawn("sh", ["-c", "sleep 0.1; echo hi >&2"]).stderr.on("readable", function () { const d = this.read(); if (d) console.log("read", String(d).trim()) }); 0', {'stdout': 'read hi\n'}),
    step('const sleep = require("util").promisify(setTimeout); sleep(60, "v").then((v) => console.log("slept", v)); 0', {'stdout': 'slept v\n'}),
    step('require("timers/promises").setTimeout(60).then(() => console.log("tp")); require("timers/promises").setImmediate(1).then((v) => console.log("im", v)); 0', {'stdout': 'im 1\ntp\n'}),
    step('new (require("worker_threads").Worker)("setTimeout(() => require(\\"worker_threads\\").parentPort.postMessage(5), 60)", { eval: true }).on("message", (m) => console.log("w", m)); 0', {'stdout': 'w 5\n'}),
    step('const w = new (require("worker_threads").Worker)("setInterval(() => {}, 1000)", { eval: true }); w.unref(); 0'),
    step('await w.terminate(); const quiet = spawn("sleep", ["30"]).on("exit", () => {}); quiet.unref(); require("timers/promises").setTimeout(30000, 0, { ref: false }); 0'),
    step('quiet.kill(); const server = require("http").createServer((q, r) => r.end("ok")).listen(0), every = setInterval(() => {}, 20); const bg = spawn("sleep", ["30"]); 0'),
    step('sleep(60).then(() => console.log("still")); 0', {'stdout': 'still\n'}), step('server.close(); clearInterval(every); bg.kill(); 0'),
    step('process.once("beforeExit", () => console.log("drained")); setTimeout(() => console.log("timer"), 20); 0', {'stdout_re': '^timer\n'}))
row('javascript', 'own-js-wait-pool', 'the exec waits for zlib and crypto, and for input that is read when it is readable',
    step('require("zlib").gzip(Buffer.alloc(1 << 22), (e, b) => console.log("zip", b.length > 100)); 0', {'stdout': 'zip true\n'}),
    step('require("crypto").pbkdf2("a", "b", 100000, 32, "sha256", (e, k) => console.log("key", k.length)); 0', {'stdout': 'key 32\n'}),
    step('process.stdin.on("readable", () => { let d; while ((d = process.stdin.read()) !== null) console.log("in", String(d)) }).on("end", () => console.log("end")); 0', {'stdout': 'in abc\nend\n'}, stdin='abc'),
    step('process.emit = () => {}; process.removeAllListeners(); 1', {'result': '1'}), step('delete process.emit; 2', {'result': '2'}),
    step('require("crypto").scrypt("a", "b", 32, () => console.log("again")); 0', {'stdout': 'again\n'}),
    step('require("crypto").pbkdf2("a", "b", 100000000, 32, "sha256", () => {}); {begun}; 0', {'status': 'interrupted', 'max_ms': 1000}, interrupt_ms=200), step('3', {'result': '3', 'max_ms': 500}), min_node='17.3')
row('javascript', 'own-js-reject', 'a rejection that nobody handles, also late; one that is handled late enough is none',
    step('Promise.reject(new Error("a")); 1', {'status': 'error', 'error_message': 'a', 'exit_code': 1}),
    step('setTimeout(() => Promise.reject(new Error("b")), 20); 1', {'status': 'error', 'error_message': 'b'}),
    step('const p = Promise.reject(new Error("c")); p.catch(() => {}); 1', {'result': '1'}),
    step('process.once("uncaughtException", (e) => console.log("own", e.message)); setTimeout(() => { throw new Error("d") }, 5); 1', {'stdout': 'own d\n'}))
row('javascript', 'own-js-error-fields', 'error: line, column, source, also after a rewrite on the same line',
    step('const q = await 1; function f() { null.x }\nclass A {}\nf()', {'status': 'error', 'error_type': 'TypeError', 'error_line': 1, 'error_column': 40, 'function': 'f'}),
    step('const ok = 1;\n  let let = 2', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 2, 'error_column': 7}))
row('javascript', 'own-js-frames', 'no error that user code shows has frames of the driver; those of Node that user code called stay',
    step('function f() { return new Error("v") }\nf()', {'result': 'Error: v\n    at f (exec-1.js:1:23)\n    at exec-1.js:2:1'}),
    step('console.error(new Error("x")); console.trace("t")', {'stderr': 'Error: x\n    at exec-2.js:1:15\nTrace: t\n    at exec-2.js:1:40\n'}),
    step('await 1\nnew Error("a").stack', {'result': "'Error: a\\n    at exec-3.js:2:1'"}),
    step('try { setTimeout(3) } catch (e) { console.log(e.stack.split("\\n").slice(1).join()) }', {'stdout': '    at exec-4.js:1:7\n'}),
    step('try { fs.readFileSync("/nope") } catch (e) { console.log(/\\(node:fs:\\d/.test(e.stack), /interp:|inspector/.test(e.stack)) }', {'stdout': 'true false\n'}),
    step('Error.prepareStackTrace = (e, sites) => sites instanceof Array && sites.map(String); const own = new Error("o").stack; delete Error.prepareStackTrace; own', {'result': "[ 'exec-6.js:1:98' ]"}),
    step('Array.prototype[Symbol.iterator] = null; new Error("b").stack', {'result': "'Error: b\\n    at exec-7.js:1:42'"}))
row('javascript', 'own-js-error-end', 'a SyntaxError at the end of the input is at the end of its last line',
    step('foo(', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 1, 'error_column': 5, 'source': 'foo('}),
    step('function f() {\n  return 1', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 2, 'error_column': 11, 'source': 'return 1', 'tb_has': ['  return 1\n          ^\n']}),
    step('x = [1,\n2,  \n\n', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 2, 'error_column': 3, 'source': '2,'}))
row('javascript', 'own-js-no-export', 'an import of a name that the module does not export',
    step('const dir = fs.mkdtempSync("/tmp/exports-"); process.chdir(dir); fs.writeFileSync("m.mjs", "export const a = 1; export let u; export { a as \\"odd name\\" }"); 0'),
    step('1;\nimport { a, nope } from "./m.mjs"', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 2, 'error_message': "The requested module './m.mjs' does not provide an export named 'nope'"}),
    step('import d from "./m.mjs"', {'status': 'error', 'error_type': 'SyntaxError', 'error_message': "The requested module './m.mjs' does not provide an export named 'default'"}),
    step('import { a, u, "odd name" as o } from "./m.mjs"; import * as ns from "./m.mjs"; import path, { join } from "path"; [a, u, o, ns.a, path.join === join]', {'result': '[ 1, undefined, 1, 1, true ]'}),
    step('process.chdir("/"); fs.rmSync(dir, { recursive: true }); 0'))
row('javascript', 'own-js-stdin', 'process.stdin as a stream, and its end',
    step('let s = ""; for await (const c of process.stdin) s += c; s', {'result': "'a\\nb'"}, stdin='a\nb'),
    step('for await (const c of process.stdin) s += c; s', {'result': "'a\\nb'"}),
    step('require("readline").createInterface({ input: process.stdin }).on("line", (l) => console.log("<" + l + ">")); 0', {'stdout': '<x>\n<y>\n'}, stdin='x\ny\n'),
    step('fs.readFileSync(0, "utf8")', {'result': "'z'"}, stdin='z'))
row('javascript', 'own-js-fds', 'children see only 0, 1 and 2', step('require("child_process").execSync("ls /proc/self/fd", { stdio: "inherit" }); 0', {'stdout': '0\n1\n2\n3\n'}))
row('javascript', 'own-js-closed', 'user code that closes or replaces streams harms only its exec',
    step('fs.closeSync(0); fs.closeSync(1); fs.closeSync(2); 1', {'result': '1'}), step('console.log("back")', {'stdout': 'back\n'}),
    step('process.stdout.end(); 1', {'result': '1'}), step('console.log("again")', {'stdout': 'again\n'}),
    step('console = null; 1', {'result': '1'}), step('1', {'result': '1'}))
row('javascript', 'own-js-many-lines', '10,000 lines', step('for (let i = 0; i < 10000; i++) console.log("x".repeat(99))', {'stdout_re': '^(x{99}\n){10000}$', 'max_ms': 2000}))
row('javascript', 'own-js-int-idle', 'an interrupt between two execs does nothing', step('1', {'result': '1'}), step('2', {'result': '2'}, opts={'sigint_before': True}))
row('javascript', 'own-js-int-child-first', 'a child dies of the interrupt before our own signal is heard of; one that dies so by itself is an error',
    step('{begun}; require("child_process").execSync("sleep 0.15; kill -INT $$")', {'status': 'interrupted', 'max_ms': 1500}, interrupt_ms=200),
    step('{begun}; await require("util").promisify(require("child_process").exec)("sleep 0.15; kill -INT $$")', {'status': 'interrupted', 'max_ms': 1500}, interrupt_ms=200),
    step('require("child_process").execSync("kill -INT $$")', {'status': 'error', 'max_ms': 5000}), step('3', {'result': '3'}))
row('javascript', 'own-js-int-timer', 'interrupt while the exec waits for a timer; the timer is gone',
    step('const no = setTimeout(() => console.log("no"), 60000); {begun}; 0', {'status': 'interrupted', 'stdout': '', 'max_ms': 1000}, interrupt_ms=150),
    step('no._destroyed', {'result': 'true', 'stdout': ''}))
row('javascript', 'own-js-display', 'display() in order, dropped parts named', step('display({ a: 1 }); display(2); console.log("x"); 3', {'displays': 2, 'result': '3', 'stdout': 'x\n'}))

# ---------------------------------------------------------------- shells
SHELLS = ['bash', 'sh']
row('bash', 'own-sh-errexit', 'errexit ends its exec with its code, does not leak into the next, and the state survives',
    step('v=1; set -e; false; v=2', {'status': 'exit', 'exit_code': 1}), step('false; echo "on $v"', {'stdout': 'on 1\n'}),
    step('set -e; true'), step('false; echo on', {'stdout': 'on\n'}), step('set -e; exit 4', {'status': 'exit', 'exit_code': 4}), step('echo $v', {'stdout': '1\n'}))
row('bash', 'own-sh-shadow', 'N36: functions of the user\'s that shadow built-ins do not break the driver',
    step('builtin() { :; }; command() { :; }; printf() { echo mine; }; trap() { :; }; set() { :; }; declare() { :; }; return() { :; }; unset() { :; }'),
    step('echo x', {'stdout': 'x\n'}), step('printf a', {'stdout': 'mine\n'}), step('false', {'status': 'error', 'exit_code': 1}),
    step('shopt -s expand_aliases; alias builtin=false command=false case=false printf=false'), step('echo y', {'stdout': 'y\n'}), step('echo z', {'stdout': 'z\n'}))
row('bash', 'own-sh-status', '$? of the last exec is there in the next one; an ERR trap is not run for it',
    step('trap "exit 9" ERR; (exit 5) || sh -c "exit 5" || true; trap "echo E" ERR; sh -c "exit 6"', {'status': 'error', 'exit_code': 6, 'stdout': 'E\n'}),
    step('echo $?', {'stdout': '6\n'}))
row('bash', 'own-sh-errtrap-exit', 'an ERR trap with exit', step('trap "exit 9" ERR; false; echo no', {'status': 'exit', 'exit_code': 9, 'stdout': ''}), step('trap - ERR; false; echo on', {'stdout': 'on\n'}))
row('bash', 'own-sh-need', '${x:?} ends the exec, state survives', step('w=2; echo ${nope:?missing}; echo no', {'status': 'exit', 'stdout': '', 'stderr_has': 'missing'}), step('echo $w', {'stdout': '2\n'}))
row(SHELLS, 'own-sh-env', 'the environment of an exec is for this exec only',
    step('OLD=1'), step('sh -c \'echo "$OLD$NEW"\'; NEW=changed', {'stdout': "2n m'q\n"}, env={'OLD': '2', 'NEW': "n m'q"}), step('echo "$OLD[$NEW]"', {'stdout': '1[]\n'}),
    step('exit 3', {'status': 'exit', 'exit_code': 3}, env={'OLD': '2', 'NEW': 'n'}), step('echo "$OLD[$NEW]"', {'stdout': '1[]\n'}))
row('bash', 'own-sh-kill', 'kill -9 of the shell: the state is that before the exec',
    step('v=1; f() { echo "f $v"; }; a=(1 "2 3"); cd /tmp; alias ll="ls -l"; set -o pipefail; shopt -s nullglob; export X="y\nz"'),
    step('v=2; kill -9 $$', {'status': 'died', 'signal': 9}), step('f; echo "${a[1]}"; pwd; alias ll; shopt -q nullglob && echo null; sh -c \'echo "$X"\'; false | true || echo pf',
                                                                 {'stdout': "f 1\n2 3\n/tmp\nalias ll='ls -l'\nnull\ny\nz\npf\n"}))
row('bash', 'own-sh-again', 'the state goes on from shell to shell: two ends, an idle save in between, positional parameters and OLDPWD with it',
    step('set -e; false', {'status': 'exit', 'exit_code': 1}),
    step('y=2; g(){ echo g; }; cd /usr; cd /tmp; set -- a "b  c" "" -e', {'stderr': ''}),
    step('kill -9 $$', {'status': 'died', 'signal': 9}),
    step('echo "$y $PWD $OLDPWD $#:$2:$4"; g; z=3', {'stdout': '2 /tmp /usr 4:b  c:-e\ng\n', 'stderr': ''}),
    step('f() { local y=5; set -e; false; }; f inner', {'status': 'exit', 'exit_code': 1}),
    step('echo "$y $z $1 $(cd -)"; set --; unset OLDPWD', {'stdout': '2 3 a /usr\n', 'stderr': ''}), step('kill -9 $$', {'status': 'died', 'signal': 9}),
    step('echo "$y $# ${OLDPWD-none}"; g', {'stdout': '2 0 none\ng\n', 'stderr': ''}))
row('sh', 'own-sh-again-posix', 'POSIX sh: the state goes on from shell to shell',
    step('x=1; exit 3', {'status': 'exit', 'exit_code': 3}), step('y=2; cd /usr; cd /tmp; set -- a "b  \'c" ""', {'stderr': ''}), step('kill -9 $$', {'status': 'died', 'signal': 9}),
    step('echo "$x $y $PWD $OLDPWD $#:$2"; [ "$PPID" = "$(cut -d" " -f4 /proc/$$/stat)" ] && echo parent', {'stdout': "1 2 /tmp /usr 3:b  'c\nparent\n", 'stderr': ''}),
    step('z=3; f() { exit 4; }; f inner', {'status': 'exit', 'exit_code': 4}), step('echo "$x $y $z $1"', {'stdout': '1 2 3 a\n', 'stderr': ''}))
row(SHELLS, 'own-sh-line', 'messages name the line', step('echo a\n\nnosuch_y\necho b', {'stdout': 'a\nb\n', 'stderr_re': '(line 3|: 3): .*nosuch_y'}))
row('sh', 'own-sh-posix', 'POSIX sh: syntax errors, set -u and ${x:?} keep the shell; exit keeps state',
    step('v="a \'b\' c"; export E="1\n2"; cd /tmp; alias hi="echo hi there"; umask 027; set -f'), step('if true; then', {'status': 'error'}), step('set -u; echo $nope', {'status': 'error'}),
    step('set +u; echo ${nope:?gone}', {'status': 'error', 'stderr_has': 'gone'}), step('echo "$v"', {'stdout': "a 'b' c\n"}),
    step('f() { exit 7; }; f; echo no', {'status': 'exit', 'exit_code': 7, 'stdout': ''}),
    step('echo "$v"; sh -c \'echo "$E"\'; pwd; umask; echo *; set +f', {'stdout': "a 'b' c\n1\n2\n/tmp\n0027\n*\n"}), step('hi', {'stdout': 'hi there\n'}),
    step('set -e; false; echo no', {'status': 'exit', 'exit_code': 1, 'stdout': ''}), step('false; echo on', {'stdout': 'on\n'}), step('echo a\nnosuch', {'status': 'error', 'exit_code': 127, 'stderr_re': '2: .*nosuch'}),
    step('command() { :; }; printf() { :; }'), step('echo x', {'stdout': 'x\n'}))
row('sh', 'own-sh-posix-int', 'POSIX sh: interrupt', step('v=1; {begun}; sleep 30; echo no', {'status': 'interrupted', 'stdout': '', 'max_ms': 1000}, interrupt_ms=200), step('echo $v', {'stdout': '1\n'}),
    step('sleep 1 && echo bg & echo s', {'stdout': 's\n', 'max_ms': 150}), step('wait; echo w', {'stdout': 'bg\nw\n'}))
row('bash', 'own-sh-int-idle', 'an interrupt between two execs does nothing', step('v=1'), step('echo $v', {'stdout': '1\n'}, opts={'sigint_before': True}), step('exit 3', {'status': 'exit', 'exit_code': 3}))
row('bash', 'own-sh-int-repeat', 'interrupts one after the other keep the shell', *[step('{begun}; while :; do :; done; echo no', {'status': 'interrupted', 'exit_code': 130, 'stdout': '', 'max_ms': 600}, interrupt_ms=100)] * 3 + [step('exit 5', {'status': 'exit', 'exit_code': 5})])
row('bash', 'own-sh-nounset-ifs', 'odd options and IFS do not reach the driver', step('set -u; set -f; set -C; IFS=0123456789x; set -o nounset; LC_ALL=de_DE'), step('echo a', {'stdout': 'a\n'}), step('exit 2', {'status': 'exit', 'exit_code': 2}),
    step('v=1; set -v'), step('echo $v', {'stdout': '\n', 'stderr': 'echo $v\n'}))


# ---------------------------------------------------------------- start
def refused(language, env, blob, code, words):
    """Does a start with this blob end with this exit code and say so?"""
    def run(k):
        import harness
        try:
            harness.Kernel(language, k.argv[0], env=dict(harness.ENV, **env), blob=blob).close()
        except RuntimeError as e:
            return [] if 'exit %d' % code in str(e) and words in str(e) else [(0, '', [str(e)])]
        return [(0, '', ['it started'])]
    return run


def cached(language):
    def run(k):
        import harness
        w = harness.Kernel(language, k.argv[0], env=dict(harness.ENV, INTERP_WANT_CACHE='1'))
        blob = w.cache
        w.close()
        c = harness.Kernel(language, k.argv[0], blob=blob)
        x = c.exec('1+1')
        c.close()
        return [] if x['displays'] and x['displays'][0]['mime']['text/plain'] == b'2' else [(0, '', ['%r' % x])]
    return run


for language in ('python', 'javascript'):
    ROWS.append({'lang': language, 'id': 'own-cached', 'title': 'start from cached code', 'run': cached(language)})
    ROWS.append({'lang': language, 'id': 'own-cache-broken', 'title': 'cached code that cannot be loaded: exit code 96',
                 'run': refused(language, {}, b'nothing of that', 96, 'cannot be loaded')})


@test('python', 'own-py-start-shadow', 'N34: a kernel starts in a directory with modules named as those of the standard library')
def _(k):
    import harness
    import shutil
    import tempfile
    d = tempfile.mkdtemp()
    try:
        for m in 'json _json _socket socket traceback re asyncio ast tokenize enum types fcntl functools contextlib marshal keyword'.split():
            with open(d + '/' + m + '.py', 'w') as f:
                f.write('raise ImportError("captured")')
        n = harness.Kernel('python', k.argv[0], cwd=d)
        try:
            x = n.exec('print("out")\n1/0')
            y = n.exec('import re')
        finally:
            n.close()
    finally:
        shutil.rmtree(d)
    if x['final'].get('error', {}).get('type') != 'ZeroDivisionError' or y['final']['status'] not in ('error', 'ok'):
        return [(0, '', ['%r' % x['final'], '%r' % y['final']])]


row('python', 'own-py-inside-itself', 'what contains itself is shown as Python shows it; what is there twice is no cycle',
    *[step('%s\nassert repr(x) == %r\nx' % (code, shown), {'result': shown})
      for code, shown in (("x = {}; x['self'] = x", "{'self': {...}}"), ("x = [1]; x.append((x, {'a': x}))", "[1, ([...], {'a': [...]})]"),
                          ('x = ([],); x[0].append(x)', '([(...)],)'), ("a = [1]; x = [a, a, {'k': a}]", "[[1], [1], {'k': [1]}]"))])
row('python', 'own-py-indented', 'code that is indented as a whole is run without the indent; what stays wrong is told as it was',
    step('  x = 1\n  x', {'result': '1'}), step('\n# c\n\tdef f(a):\n\t\treturn a / 0\n\tx = """\n\ta\nb"""\nx', {'result': "'\\na\\nb'"}),
    step('import inspect; inspect.getsource(f)', {'result': "'def f(a):\\n\\treturn a / 0\\n'"}), step('    if 1:\n        f(1)', {'status': 'error', 'error_type': 'ZeroDivisionError', 'error_line': 4}),
    step('  !echo hi\n  x = !echo ho\n  x', {'stdout': 'hi\n', 'result': "['ho']"}),
    *[step(code, {'status': 'error', 'error_type': 'IndentationError', 'error_line': line}) for code, line in (('   x = 1\n  y = 2', 1), ('  x = 1 +\n  y', 1), ('if 1:\nx = 1', 2), ('x = 1\n  y = 2', 2))])
row('python', 'own-py-future', '__future__ features persist',
    step('from __future__ import annotations'), step('def f(x: nosuch): pass\nf.__annotations__', {'result': "{'x': 'nosuch'}"}), min_py='3.7')
row('javascript', 'own-js-iterators', 'N37: broken iterators and event methods',
    step('Array.prototype[Symbol.iterator] = null; process.listeners = process.listenerCount = process.removeListener = null; 1', {'result': '1'}),
    step('console.log("x"); 2', {'result': '2', 'stdout': 'x\n'}), step('nope', {'status': 'error', 'error_type': 'ReferenceError'}))
row('javascript', 'own-js-listeners', 'removed listeners: an idle interrupt and an error in a timer still do not end the kernel',
    step('process.removeAllListeners(); 1', {'result': '1'}), step('2', {'result': '2'}, opts={'sigint_before': True}),
    step('setTimeout(() => { throw new Error("t") }, 5); 3', {'status': 'error', 'error_message': 't'}), step('4', {'result': '4'}))


@test('javascript', 'own-js-utf8', 'code that is no UTF-8 is an error that names the byte; a replacement character that was meant is none')
def _(k):
    x, y, z = k.exec(b'1 + "\xff"'), k.exec('"\ufffd"'), k.exec(b'\xef\xbb\xbf"\xef\xbf\xbd".length')
    words = [x['final']['status'], x['final']['error']['message'], y['displays'][0]['mime'], z['displays'][0]['mime']]
    if words != ['error', 'the code is not valid UTF-8 (byte 5)', {'text/plain': b"'\xef\xbf\xbd'"}, {'text/plain': b'1'}]:
        return [(0, '', ['%r' % words])]


@test('javascript', 'own-js-bounded-sources', 'the texts of execs that a session keeps are bounded in bytes: the memory of a long one does not grow with them')
def _(k):
    def rss():
        k.exec('require("v8").setFlagsFromString("--expose-gc"); require("vm").runInNewContext("gc")()')   # what is only not collected yet is not kept
        with open('/proc/%d/statm' % k.pid) as f:
            return int(f.read().split()[1]) * 4096
    for i in range(5):
        k.exec('"' + 'y' * (4 << 20) + '".length;' + '\n' * 10)
    k.exec('gc_ = 1')
    before = rss()
    for i in range(25):
        k.exec('"' + 'y' * (4 << 20) + '".length;' + '\n' * 10)
    if rss() - before > 60 << 20:
        return [(0, '', ['grew by %d MiB' % (rss() - before >> 20)])]


@test('javascript', 'own-js-json', 'a JSON part is JSON')
def _(k):
    want = {b'"no JSON"': "'no JSON'", b'[1]': "'[1]'", b'{"a":null}': '{ a: NaN }'}
    for json, code in want.items():
        x = k.exec('display({"application/json": %s}, { raw: true })' % code)
        if [d['mime'] for d in x['displays']] != [{'application/json': json}]:
            return [(0, code, ['%r' % x['displays']])]
