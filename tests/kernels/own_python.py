"""More rows of our own for Python: rich values, IPython's forms, worker processes, what goes on between execs. See own.py."""
import ast
import collections
import glob
import os
import re
import time

from own import ROWS, row, step, test

PNG = b'\x89PNG\r\n\x1a\n'
TMP = 'import os, tempfile\nos.chdir(tempfile.mkdtemp())'


def parts(x, kind='display'):
    return [d['mime'] for d in x['displays'] if d['kind'] == kind]


@test('python', 'own-py-parts', 'no two files of the driver define the same name')
def _(k):
    seen, bad = {}, []
    for path in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../lib/guest/kernels/python*.py')):
        with open(path, encoding='utf-8') as f:
            tree = ast.parse(f.read())
        if path.endswith('python_boot.py'):
            continue
        for node in tree.body:
            names = [node.name] if hasattr(node, 'name') else []
            if isinstance(node, ast.Assign) and not any(getattr(n, 'id', '') == 'in_part' for n in ast.walk(node.value)):
                names = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            for n in names:
                if seen.setdefault(n, path) != path:
                    bad.append('%s in %s and %s' % (n, seen[n], path))
    return [(0, '', bad)] if bad else []


# ---------------------------------------------------------------- displays
@test('python', 'own-py-display-id', 'display_id and update replace in the same exec, show anew in a later one; clear_output takes displays away')
def _(k):
    bad = []
    x = k.exec('display("a")\nh = display("one", display_id=True)\ndisplay("b")\nh.update("two")\nh.update("three")')
    if [p['text/plain'] for p in parts(x)] != [b"'a'", b"'three'", b"'b'"]:
        bad.append((0, '', ['%.400r' % x['displays']]))
    x = k.exec('display("c")\nh.update("four")\nh.update("five")')
    if [p['text/plain'] for p in parts(x)] != [b"'c'", b"'five'"]:
        bad.append((1, '', ['%.400r' % x['displays']]))
    x = k.exec('display(1)\ndisplay(2, clear=True)\ndisplay(3, display_id="x")\ndisplay(4, display_id="x", update=True)\n5')
    if [p['text/plain'] for p in parts(x)] != [b'2', b'4'] or parts(x, 'result') != [{'text/plain': b'5'}]:
        bad.append((2, '', ['%.400r' % x['displays']]))
    x = k.exec('for i in range(600): display(i, display_id="n", update=True)\n"end"')
    if [p['text/plain'] for p in parts(x)] != [b'599']:
        bad.append((3, '', ['%.400r' % x['displays']]))
    return bad


@test('python', 'own-py-display-bounds', 'too many displays, forms, long and odd names of types: bounded, and the kernel lives')
def _(k):
    bad = []
    x = k.exec('for i in range(400): display(i)')
    if len(parts(x)) != 250 or b'more than 250 displays' not in x['stderr']:
        bad.append((0, '', ['%d %r' % (len(parts(x)), x['stderr'][:200])]))
    x = k.exec('class M:\n    def _repr_mimebundle_(self, **k): return dict({"application/x-%d" % i: "v" for i in range(40)}, **{"text/plain": "m"})\nM()')
    if x['final']['status'] != 'ok' or len(parts(x, 'result')[0]) != 16:
        bad.append((1, '', ['%r' % x]))
    x = k.exec('display({"text/" + "x" * 500: "v", "t\\u00e4xt": "w", 3: "n", "text/plain": "p"}, raw=True)')
    if x['final']['status'] != 'ok' or parts(x)[0].get('text/plain') != b'p' or len(parts(x)[0]) != 3 or x['displays'][0]['dropped'] != [['application/octet-stream', 1]]:
        bad.append((2, '', ['%r' % x]))
    x = k.exec('h = display({"text/html": "x" * 900000}, raw=True, display_id="h")\nfor i in range(60): h.update({"text/html": "y" * 900000}, raw=True)')
    if x['final']['status'] != 'ok' or [len(p.get('text/html', b'')) for p in parts(x)] != [900000]:
        bad.append((3, '', ['%.300r' % x]))
    x = k.exec('def f(n):\n    # ' + '\U0001f600' * 200 + '\n    return f(n - 1) if n else boom("\U0001f600" * 200)\ndef boom(s): raise ValueError("\U0001f600" * 90000)\nf(150)')
    if x['final']['status'] != 'error' or x['final']['error']['type'] != 'ValueError':
        bad.append((4, '', ['%.300r' % x['final']]))
    return bad


row('python', 'own-py-json', 'JSON stays JSON: NaN, infinity, numbers of other types, keys that are no text',
    step('import json\nclass J:\n    def __init__(s, v): s.v = v\n    def _repr_json_(s): return s.v\nimport decimal, datetime'),
    step('J({"a": float("nan"), "b": [1.5, float("inf")], 3: None, (1, 2): 4, "d": decimal.Decimal("1.5"), "t": datetime.date(2020, 1, 2)})', {'mimes': ['application/json']}))


@test('python', 'own-py-json-valid', 'every application/json part parses strictly')
def _(k):
    import json
    k.exec('class J:\n    def __init__(s, v): s.v = v\n    def _repr_json_(s): return s.v')

    def strict(name):
        raise ValueError(name)
    for v, want in (('{"a": float("nan"), "b": [1, float("-inf")]}', {'a': None, 'b': [1, None]}), ('[1, 2]', [1, 2]), ('7', 7), ('{3: {4}}', {'3': '{4}'}), ('"[1]"', [1]), ('"[NaN]"', [None]), ('"no JSON"', 'no JSON')):
        x = k.exec('J(%s)' % v)
        got = parts(x, 'result')[0]['application/json']
        if json.loads(got.decode(), parse_constant=strict) != want:
            return [(0, v, ['%r' % got])]


@test('python', 'own-py-table', 'DataFrame and Series: text, HTML, and JSON of schema and rows that is whole whatever is in them', needs='pandas')
def _(k):
    import json

    def strict(name):
        raise ValueError(name)
    bad = []

    def table(code):
        x = k.exec(code, 60)
        got = (parts(x, 'result') or [{}])[0]
        if not {'text/plain', 'text/html', 'application/vnd.dataresource+json'} <= set(got):
            bad.append((0, code, ['%r %r' % (sorted(got), x['final'])]))
            return None
        return json.loads(got['application/vnd.dataresource+json'].decode(), parse_constant=strict)
    k.exec('import pandas as pd, numpy as np', 60)
    t = table('pd.DataFrame({"i": [1, 2], "f": [1.5, float("nan")], "s": ["x", None], "b": [True, False], "t": pd.to_datetime(["2020-01-02", None])})')
    if t != {'schema': {'fields': [{'name': 'index', 'type': 'integer'}, {'name': 'i', 'type': 'integer'}, {'name': 'f', 'type': 'number'}, {'name': 's', 'type': 'string'},
                                   {'name': 'b', 'type': 'boolean'}, {'name': 't', 'type': 'datetime'}], 'primaryKey': ['index']},
             'data': [{'index': 0, 'i': 1, 'f': 1.5, 's': 'x', 'b': True, 't': '2020-01-02T00:00:00'}, {'index': 1, 'i': 2, 'f': None, 's': None, 'b': False, 't': None}],
             'total_rows': 2, 'total_columns': 5, 'truncated': False}:
        bad.append((1, '', ['%r' % t]))
    t = table('pd.Series([3, 4], name="v", index=["a", "b"])')
    if not t or t['data'] != [{'index': 'a', 'v': 3}, {'index': 'b', 'v': 4}]:
        bad.append((2, '', ['%r' % t]))
    t = table('pd.DataFrame(np.zeros((100000, 80)))')
    if not t or not t['truncated'] or (t['total_rows'], t['total_columns']) != (100000, 80) or not 1 <= len(t['data']) <= 200 or len(t['data'][0]) != 51:
        bad.append((3, '', ['%.300r' % t]))
    t = table('pd.DataFrame([["x" * 100000, {"k": [1, float("inf")]}, 10**30, object]] * 500, columns=["a", "a", ("b", 1), 5], index=pd.MultiIndex.from_product([["p"], range(500)]))')
    if not t or [f['name'] for f in t['schema']['fields']] != ['level_0', 'level_1', 'a', 'a.1', "('b', 1)", '5'] or not t['truncated'] or t['data'][0]['level_1'] != 0:
        bad.append((4, '', ['%.500r' % t]))
    t = table('pd.DataFrame({"c": pd.Categorical(["u", "v"]), "d": pd.to_timedelta([1, None], unit="s"), "n": pd.array([1, None], dtype="Int64")})')
    if not t or [r['n'] for r in t['data']] != [1, None] or t['data'][1]['d'] is not None:
        bad.append((5, '', ['%r' % t]))
    if not table('pd.DataFrame()') or not table('pd.DataFrame({"a": [1, 2], "b": [3, 4]}).groupby("a").sum()'):
        bad.append((6, '', ['empty, or grouped']))
    return bad


@test('python', 'own-py-figures', 'figures: show() of pyplot and of a figure, a figure as value, an error after it, none left open', needs='matplotlib')
def _(k):
    bad = []

    def check(code, shown, status='ok', valued=0):
        x = k.exec(code, 60)
        got = [p for p in parts(x) if p.get('image/png', b'').startswith(PNG)], [p for p in parts(x, 'result') if p.get('image/png', b'').startswith(PNG)]
        if len(got[0]) != shown or len(got[1]) != valued or x['final']['status'] != status:
            bad.append((0, code, ['%d shown, %d valued, %r, %r' % (len(got[0]), len(got[1]), x['final'], x['stderr'][:300])]))
    check('import sys\n"matplotlib" in sys.modules', 0)
    check('import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.figure()\nplt.plot([3])', 2)
    check('plt.get_fignums()', 0)
    check('fig, ax = plt.subplots()\nfig', 0, valued=1)
    check('fig, ax = plt.subplots()\nfig.show()\ndisplay(fig)', 2)
    check('plt.plot([1]); 1/0', 1, 'error')
    check('from matplotlib.figure import Figure\nf = Figure()\nf.subplots().plot([1])\nf', 0, valued=1)
    check('%matplotlib inline\nplt.plot([1, 2]);', 1)
    check('plt.figure(figsize=(9999, 9999), dpi=900)\nplt.plot([1]);', 0)
    check('import matplotlib\nmatplotlib.get_backend().lower()', 0)
    return bad


@test('python', 'own-py-pil', 'PIL images are PNG whatever their mode, and show() shows them', needs='PIL')
def _(k):
    bad = []
    for mode in ('RGB', 'RGBA', 'L', '1', 'P', 'CMYK', 'F', 'YCbCr', 'HSV'):
        x = k.exec('from PIL import Image\nImage.new(%r, (4, 4))' % mode, 30)
        if not parts(x, 'result')[0].get('image/png', b'').startswith(PNG):
            bad.append((0, mode, ['%r' % x['displays']]))
    x = k.exec('import io\nb = io.BytesIO()\nImage.new("CMYK", (4, 4)).save(b, "JPEG")\nImage.open(b)', 30)
    if not parts(x, 'result')[0].get('image/png', b'').startswith(PNG):
        bad.append((0, 'a JPEG in CMYK', ['%r' % x['displays']]))
    x = k.exec('Image.new("RGB", (3, 3)).show()', 30)
    if not parts(x) or not parts(x)[0].get('image/png', b'').startswith(PNG):
        bad.append((1, '', ['%r' % x]))
    return bad


@test('python', 'own-py-shim', 'IPython.display where there is no IPython')
def _(k):
    bad = []
    # hide the real one, if there is one: folders that have it are left out of the path
    k.exec('import sys, os\nsys.path[:] = [p for p in sys.path if not os.path.isdir(os.path.join(p or ".", "IPython"))]')

    def shown(code, want, kind='display'):
        x = k.exec(code)
        got = [sorted((m, d) for m, d in p.items() if m != 'text/plain') for p in parts(x, kind)]
        if got != want:
            bad.append((0, code, ['%r' % got, '%r' % x['final'], '%r' % x['stderr']]))
    shown('from IPython.display import display, Markdown, HTML, Image, JSON, clear_output, Latex, Math, SVG, Audio, Code\nimport IPython\nassert IPython.get_ipython() is None\n'
          'display(Markdown("# h"), HTML("<b>x</b>"))', [[('text/markdown', b'# h')], [('text/html', b'<b>x</b>')]])
    shown('Image(data=b"\\x89PNG\\r\\n\\x1a\\nabc")', [[('image/png', PNG + b'abc')]], 'result')
    shown('Image(url="http://e.x/?a=1&b=\\"")', [[('text/html', b'<img src="http://e.x/?a=1&amp;b=&quot;"/>')]], 'result')
    shown('JSON({"a": 1})', [[('application/json', b'{"a": 1}')]], 'result')
    shown('Math("x^2")', [[('text/latex', b'$\\displaystyle x^2$')]], 'result')
    shown('display(HTML("1")); clear_output(wait=True); display(HTML("2"))', [[('text/html', b'2')]])
    shown('open("/tmp/interp-shim.gif", "wb").write(b"GIF89a...");\nImage("/tmp/interp-shim.gif")', [[('image/gif', b'GIF89a...')]], 'result')
    x = k.exec('Audio([0, 0.5, -1], rate=8000)')
    if not parts(x, 'result')[0].get('audio/wav', b'').startswith(b'RIFF'):
        bad.append((1, '', ['%r' % x]))
    x = k.exec('from IPython.terminal import embed')
    if x['final']['status'] != 'error' or x['final']['error']['type'] != 'ModuleNotFoundError':
        bad.append((2, '', ['%r' % x['final']]))
    return bad


row('python', 'own-py-ipython', 'display of a real IPython reaches the result too',
    step('from IPython.display import display, HTML, update_display, clear_output\ndisplay(HTML("<i>"), display_id="k")\nupdate_display(HTML("<b>"), display_id="k")',
         {'displays': 1, 'mimes': ['text/html']}, timeout_ms=60000), needs='IPython')

# ---------------------------------------------------------------- IPython's forms
row('python', 'own-py-magics', 'more of IPython\'s forms', step(TMP),
    step('%%writefile a.txt\nhello\nthere', {'stdout': 'Writing a.txt\n'}),
    step('%%writefile -a a.txt\nmore', {'stdout': 'Appending to a.txt\n'}),
    step('print(open("a.txt").read(), end="")\nv = 3\n!cat a.txt; echo {v}', {'stdout': 'hello\nthere\nmore\nhello\nthere\nmore\n3\n'}),
    step('%env ZZ=5\n!echo $ZZ', {'stdout': 'env: ZZ=5\n5\n'}), step('%env ZZ', {'result': "'5'"}),
    step('%time x = 4\nx', {'result': '4', 'stdout_re': '^CPU times: .*\nWall time: '}),
    step('%time x + 1', {'result': '5', 'stdout_re': 'Wall time'}),
    step('%time for i in range(2): print(i)\ni', {'result': '1', 'stdout_re': '^0\n1\nCPU'}),
    step('%%time\ny = 7\ny + 1', {'result': '8', 'stdout_re': 'Wall time'}),
    step('10 % 3', {'result': '1'}),
    step('x = !exit 3\nnope nope', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 2}),
    step('x = !printf "a\\nb\\n"\nx, x.n, x.s', {'result': "(['a', 'b'], 'a\\nb', 'a b')"}),
    step('!false\n_exit_code', {'result': '1'}),
    step('a, b = !printf "1\\n2\\n"\na + b', {'result': "'12'"}),
    step('d = {}\nd["k"] = !echo q\nd["k"][0]', {'result': "'q'"}),
    step('for n in range(2):\n    !echo n{n} $n\n    if n:\n        w = !echo in\nw', {'stdout': 'n0 0\nn1 1\n', 'result': "['in']"}),
    step('def f(local):\n    out = !echo {local} "{local * 2:>4}"\n    return out[0]\nf(21)', {'result': "'21   42'"}),
    step('class A:\n    def f(self):\n        files = !printf "x\\ny\\n"\n        return len(files)\nA().f()', {'result': '2'}),
    step('!echo one \\\n  two\n1/0', {'status': 'error', 'stdout': 'one two\n', 'error_line': 3}))
row('python', 'own-py-magic-not', 'what only looks like a form of IPython is none',
    step('s = """\n!echo no\n%cd /\nname?\n"""\ns', {'result': "'\\n!echo no\\n%cd /\\nname?\\n'"}),
    step('s = """\n!echo no\n""" + \'\'\'\n%cd /\n\'\'\'\n!echo yes\nlen(s)', {'result': '17', 'stdout': 'yes\n'}),
    step('v = (17\n% 5\n)\n!echo {v}', {'stdout': '2\n'}),
    step('v = 17 \\\n% 5\n!echo {v}', {'stdout': '2\n'}),
    step('v = [17 # (\n% 5]\nw = "it\\\'s # ("\n!echo "{v[0]} {w}"', {'stdout': '2 it\'s # (\n'}),
    step('x = "unclosed\n!echo hi', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 1, 'stdout': ''}),
    step('r = r"\\"\n!echo r', {'status': 'error', 'error_type': 'SyntaxError'}),
    step("t = 'a\\\n!echo no'\n!echo ok\nt", {'stdout': 'ok\n', 'result': "'a!echo no'"}),
    step('!echo ${HOME} | wc -l; echo {a,b} {1..3}; echo x y | awk \'{print $2}\'; echo $$v', {'stdout_re': '^1\na b 1 2 3\ny\n\n$'}))
row('python', 'own-py-magic-unknown', 'an unknown form is an error that names those that exist, before anything runs',
    step('print("ran")\n%nosuch 1', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 2, 'stdout': '', 'tb_has': ['%nosuch is no magic here', '%pip', '%%bash', '%nosuch 1'], 'tb_not': ['<interp driver>', '__interp']}),
    step('%%nosuch\nx', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 1, 'tb_has': ['%%nosuch is no magic here']}),
    step('x = 1\n%%bash\necho hi', {'status': 'error', 'error_type': 'SyntaxError', 'error_line': 2, 'tb_has': ['must be on the first line']}),
    step('x = %nosuch', {'status': 'error', 'error_type': 'SyntaxError'}),
    step('%load_ext sql\n%load_ext autoreload\n%autoreload 2\n%config InlineBackend.figure_format = "retina"\n1', {'result': '1', 'stderr_has': '%load_ext sql: extensions'}),
    step('%lsmagic', {'stdout_has': '%%writefile'}))
row('python', 'own-py-magic-cells', 'cell forms: shells, other programs, capture, shown text, timeit', step(TMP),
    step('%%bash\nx=1\necho $((x+1)) >&1\necho e >&2', {'stdout': '2\n', 'stderr': 'e\n'}),
    step('%%bash\necho a\nexit 3', {'status': 'error', 'error_type': 'subprocess.CalledProcessError', 'stdout': 'a\n', 'tb_not': ['<interp driver>']}),
    step('%%bash --no-raise-error --out o\necho a\nexit 3'), step('o', {'result': "'a\\n'"}),
    step('%%sh\necho $0', {'stdout_re': 'sh\n'}), step('%%bash -s x y\necho "$#"', {'stdout_re': '^\\d\n'}),
    step('%%python\nprint(6*7)', {'stdout': '42\n'}),
    step('%%script cat\nthrough', {'stdout': 'through\n'}), step('%%script nosuchprogram\nx', {'status': 'error', 'error_type': 'FileNotFoundError', 'tb_has': ['nosuchprogram']}),
    step('%%capture cap\nprint("kept"); 5', {'stdout': '', 'result': None}), step('cap.stdout', {'result': "'kept\\n'"}),
    step('%%html\n<b>x</b>', {'mimes': ['text/html'], 'displays': 1}), step('%%markdown\n# t', {'mimes': ['text/markdown']}),
    step('r = %timeit -n 3 -r 2 -o -q sum(range(10))\n(r.loops, r.repeat, r.average > 0)', {'result': '(3, 2, True)'}),
    step('%timeit -n 1 -r 1 1+1', {'stdout_re': 'per loop'}), step('%%timeit -n 2 -r 2\ny = 1\ny + 1', {'stdout_re': '2 loops each'}))
row('python', 'own-py-magic-lines', 'line forms: cd, pwd, run, who, ls, help', step(TMP),
    step('%mkdir sub\n%cd sub', {'stdout_re': '/sub\n$'}), step('%cd -\n%ls', {'stdout_re': '\nsub\n$'}), step('%cd nosuch', {'status': 'error', 'error_type': 'FileNotFoundError', 'tb_not': ['<interp driver>']}),
    step('%%writefile s.py\nimport sys\nz = sys.argv[1:]\nprint(__name__)'), step('%run s.py p "q r"\nz', {'stdout': '__main__\n', 'result': "['p', 'q r']"}),
    step('%who_ls list', {'result': "['z']"}), step('%whos', {'stdout_re': 'z +list'}),
    step('def doc(a, b=2):\n    "What it does."\n    return 9\ndoc?', {'stdout_has': 'What it does.'}), step('doc??', {'stdout_has': 'return 9'}), step('?doc', {'stdout_has': 'doc(a, b=2)'}),
    step('nosuch?', {'stdout_has': 'not found'}), step('%reset -f\n"doc" in globals()', {'result': 'False'}))
WHEEL = r'''
import zipfile, os
with zipfile.ZipFile('zq_pkg-1.0-py3-none-any.whl', 'w') as z:
    z.writestr('zq_pkg/__init__.py', 'answer = 42\n')
    z.writestr('zq_pkg-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\nName: zq-pkg\nVersion: 1.0\n')
    z.writestr('zq_pkg-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    z.writestr('zq_pkg-1.0.dist-info/RECORD', 'zq_pkg/__init__.py,,\nzq_pkg-1.0.dist-info/METADATA,,\nzq_pkg-1.0.dist-info/WHEEL,,\nzq_pkg-1.0.dist-info/RECORD,,\n')
'''
row('python', 'own-py-pip', '%pip installs what can be imported at once, also into a user\'s folder that is not there yet',
    step(TMP + '\nos.environ["HOME"] = os.environ["PYTHONUSERBASE"] = os.getcwd()\nimport site\nsite.USER_BASE = site.USER_SITE = None\nsite.ENABLE_USER_SITE = True\n' + WHEEL),
    step('%pip install -q --user --no-index ./zq_pkg-1.0-py3-none-any.whl 2>/dev/null\nimport zq_pkg\nzq_pkg.answer', {'result': '42'}, timeout_ms=60000),
    step('import sys\nv = !pip --version\nv[0].endswith("(python %d.%d)" % sys.version_info[:2])', {'result': 'True'}, timeout_ms=60000),
    step('pip show -q zq-pkg\n_exit_code', {'result': '0'}, timeout_ms=60000), needs='pip', min_py='3.7')

# ---------------------------------------------------------------- processes, threads, tasks
MP = '''
import multiprocessing as mp, collections, math, enum
FACTOR = 3
Pair = collections.namedtuple("Pair", "a b")
class Base:
    def __init__(self, v): self.v = v
class Item(Base):
    def double(self): return Item(self.v * 2)
SEED = Item(5)
import json as config, zlib
config = {"k": 7}
if not FACTOR: import nosuchmodule
def rebound(x): return config["k"] + zlib.crc32(b"") + x
twice = lambda x: x * 2
def scale(x): return twice(x) * FACTOR + int(math.sqrt(16)) + SEED.v
def both(p): return Pair(p.b, p.a)
def grow(item): return item.double()
def fail(x): raise KeyError(x)
'''
for method in ('spawn', 'forkserver'):
    row('python', 'own-py-mp-' + method, 'workers started by %s have the functions, classes and values of the session' % method, step(MP),
        step('ctx = mp.get_context(%r)\nwith ctx.Pool(1) as p:\n    r = p.map(scale, [1, 2]), p.map(both, [Pair(1, 2)]), [i.v for i in p.map(grow, [SEED])], p.map(rebound, [1])\nr' % method,
             {'result': '([15, 21], [Pair(a=2, b=1)], [10], [8])'}, timeout_ms=30000),
        step('with ctx.Pool(1) as p:\n    def later(x): return x\n    try: p.map(later, [1], 1)\n    except AttributeError as e: print(e)\n    print(p.map(scale, [0]))',
             {'stdout_re': "does not have 'later'.*\n\\[9\\]"}, timeout_ms=30000),
        step('with ctx.Pool(1) as p:\n    r = p.map(later, [8])\nr', {'result': '[8]'}, timeout_ms=30000),
        step('with ctx.Pool(1) as p: p.map(fail, [1])', {'status': 'error', 'error_type': 'KeyError'}, timeout_ms=30000), min_py='3.7')
row('python', 'own-py-mp', 'multiprocessing with the default method, and with a method that the user sets',
    step('import multiprocessing as mp\ndef sq(x): return x*x\nwith mp.Pool(2) as p:\n    r = p.map(sq, range(4))\nr', {'result': '[0, 1, 4, 9]'}),
    step('mp.get_start_method()', {'result': "'fork'"}),
    step('from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as e:\n    r = list(e.map(sq, [3]))\nr', {'result': '[9]'}))
row('python', 'own-py-mp-executor', 'ProcessPoolExecutor over spawn, with output of a worker',
    step('import multiprocessing as mp\nfrom concurrent.futures import ProcessPoolExecutor\ndef f(x):\n    print("w", x, flush=True)\n    return x + 1\n'
         'with ProcessPoolExecutor(1, mp_context=mp.get_context("spawn")) as e:\n    r = e.submit(f, 1).result()\nr', {'result': '2', 'stdout': 'w 1\n'}, timeout_ms=30000), min_py='3.7')
row('python', 'own-py-tasks', 'tasks live on between execs; asyncio.run, nested tasks, queues',
    step('import asyncio\nq = asyncio.Queue()\nasync def worker():\n    while True:\n        n = await q.get()\n        done.append(n)\n        q.task_done()\ndone = []\nt = asyncio.create_task(worker())\nawait asyncio.sleep(0)'),
    step('q.put_nowait(1); q.put_nowait(2)\nawait q.join()\ndone', {'result': '[1, 2]'}),
    step('async def outer():\n    return await asyncio.gather(*(asyncio.create_task(asyncio.sleep(0.01, i)) for i in range(3)))\nasyncio.run(outer())', {'result': '[0, 1, 2]'}),
    step('await outer()', {'result': '[0, 1, 2]'}), step('t.done()', {'result': 'False'}),
    step('t.cancel()\ntry: await t\nexcept asyncio.CancelledError: r = "cancelled"\nr', {'result': "'cancelled'"}),
    step('async with asyncio.Lock():\n    x = [i async for i in (lambda: (j for j in ()))()] if False else 5\nx', {'result': '5'}), min_py='3.10')
ALARMS = """import signal, sys
class Alarm(TimeoutError): pass
def alarm(*a):
    raise Alarm
signal.signal(signal.SIGALRM, alarm)
i = alarms = lost = 0
while alarms < 300 and lost < 5:
    try:
        signal.setitimer(signal.ITIMER_REAL, .0002)
        for _ in range(50000):
            i += 1
            print('<', i, '>'%s)
        lost += 1
    except Alarm:
        alarms += 1
signal.signal(signal.SIGALRM, signal.SIG_IGN)
sys.stdout.flush()
if lost >= 5: raise SystemError(lost)"""
row('python', 'own-py-signals', 'signal handlers and timers of the user\'s', step('import signal, time, os\nhits = []\nsignal.signal(signal.SIGALRM, lambda *a: hits.append("alarm"))\nsignal.signal(signal.SIGUSR1, lambda *a: hits.append("usr1"))'),
    step('signal.setitimer(signal.ITIMER_REAL, 0.05)\ntime.sleep(0.2)\nos.kill(os.getpid(), signal.SIGUSR1)\nhits', {'result': "['alarm', 'usr1']"}),
    step('class T(Exception): pass\ndef boom(*a): raise T("late")\nsignal.signal(signal.SIGALRM, boom)\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\ntime.sleep(5)', {'status': 'error', 'error_type': 'T', 'max_ms': 2000}))


@test('python', 'own-py-once', 'a print that a signal handler\'s exception comes out of is made once, if at all, and the exception is never lost')
def _(k):
    bad = []
    k.exec('import sys; print(1, file=sys.stderr)')        # what the driver loads on first use is loaded
    for how in (', flush=True', '', ', file=sys.stderr', '); print(1, file=sys.stderr'):
        x = k.exec(ALARMS % how)
        lines = collections.Counter(re.findall(rb'< \d+ >', x['stdout'] or x['stderr']))     # a print may be cut anywhere between its writes
        twice = [n for n in lines if lines[n] > 1] if x['final']['status'] == 'ok' else x['final']
        if twice or len(lines) < 50:
            bad.append((0, how, ['%d lines, of them twice: %.300r' % (len(lines), twice)]))
    return bad


@test('python', 'own-py-atexit', 'atexit functions run when the kernel is told to end')
def _(k):
    k.exec('import atexit, os, tempfile\npath = tempfile.mktemp()\natexit.register(lambda: open(path, "w").write("ended"))\nprint(path)')
    path = k.exec('print(path)')['stdout'].decode().strip()
    k.send('X')
    k.wait()
    try:
        with open(path) as f:
            text = f.read()
        os.unlink(path)
    except OSError as e:
        text = str(e)
    return [] if text == 'ended' else [(0, '', [text])]


@test('python', 'own-py-bounded-sources', 'the texts of execs that a session keeps are bounded in bytes')
def _(k):
    for i in range(6):
        k.exec('x = """%s"""\ndef f%d(): return 1/0' % ('y' * (1 << 20), i))
    x = k.exec('import linecache\nsum(len(l) for e in linecache.cache.values() if e[3].startswith("<exec") for l in e[2]) >> 20, f5.__name__')
    y = k.exec('f5()')
    if parts(x, 'result')[0]['text/plain'] not in (b"(3, 'f5')", b"(4, 'f5')") or 'return 1/0' not in y['final']['error']['traceback']:
        return [(0, '', ['%r' % parts(x, 'result'), y['final']['error']['traceback'][:500]])]


HOSTILE = ('import sys; del sys.stdout', 'import sys; del sys.stderr, sys.stdin', 'import sys; sys.modules.clear()', 'import sys; sys.meta_path[:] = []; sys.path = None',
           'import sys; del sys.modules["__main__"]', 'import sys\nsys.settrace(lambda *a: 1/0); sys.setprofile(lambda *a: 1/0)',
           'class E(SyntaxError): pass\ne = E("x"); e.filename = [1]; e.lineno = object(); raise e', 'class E(Exception):\n  def __str__(self): raise SystemExit(3)\nraise E',
           'class M(type): __module__ = __qualname__ = __name__ = property(lambda s: 1/0)\nclass E(Exception, metaclass=M): pass\nraise E',
           'class P:\n  def __getattr__(self, n): 1/0\n  __class__ = property(lambda s: 1/0)\nP()',
           'class S(str):\n  def __len__(self): return 10**9\nclass P:\n  def __repr__(self): return S("x")\n  def _repr_html_(self): return S("y")\nP()',
           'import asyncio\nasync def z():\n  await asyncio.sleep(.01)\n  l = asyncio.get_running_loop(); l.remove_reader = l.add_reader = None; raise SystemExit(4)\nasyncio.create_task(z())',
           'x = []\nfor i in range(100000): x = [x]\nx', 'e = ValueError(0)\nfor i in range(3000):\n  n = ValueError(i); n.__cause__ = e; e = n\nraise e',
           'import linecache, traceback; linecache.cache = None; traceback.TracebackException = None; 1/0', 'import os\nif os.fork() == 0: raise SystemExit(3)')


@test('python', 'own-py-hostile', 'whatever user code breaks in its interpreter, the next exec answers as it should')
def _(k):
    from harness import Kernel
    bad = []
    for code in HOSTILE:
        one = Kernel('python', k.argv[0])
        try:
            one.exec(code, 20)
            time.sleep(0.03)
            got = [one.exec(c, 20) for c in ('1+1', 'print("q")', '1/0')]
            words = [x['final']['status'] for x in got] + [parts(got[0], 'result'), got[1]['stdout'], (got[2]['final'].get('error') or {}).get('type')]
            if words != ['ok', 'ok', 'error', [{'text/plain': b'2'}], b'q\n', 'ZeroDivisionError']:
                bad.append((0, code, ['%.500r' % words]))
        except Exception as e:
            bad.append((0, code, ['%r' % e]))
        finally:
            one.close()
    return bad


row('python', 'own-py-broken-figures', 'a broken pyplot hides no error of user code', step('import matplotlib.pyplot as plt\nplt.get_fignums = lambda: 1/0\nundefined_name',
    {'status': 'error', 'error_type': 'NameError', 'stderr_has': 'figures could not be shown: ZeroDivisionError'}, timeout_ms=60000), step('1', {'result': '1'}), needs='matplotlib')
