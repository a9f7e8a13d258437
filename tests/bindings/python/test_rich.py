"""Pictures, tables, worker processes and installed packages, in a real sandbox."""
import pytest

SPAWN = '''
import multiprocessing as mp
OFFSET = 10
class Box:
    def __init__(self, v): self.v = v
def work(box): return Box(box.v + OFFSET)
with mp.get_context(%r).Pool(1) as pool:
    boxes = pool.map(work, [Box(1), Box(2)])
[b.v for b in boxes]
'''
WHEEL = '''
import zipfile
info = "zq_pkg-1.0.dist-info/"
with zipfile.ZipFile("zq_pkg-1.0-py3-none-any.whl", "w") as z:
    z.writestr("zq_pkg/__init__.py", "answer = 42")
    z.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: zq-pkg\\nVersion: 1.0\\n")
    z.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr(info + "RECORD", "".join(n + ",,\\n" for n in z.namelist()) + info + "RECORD,,\\n")
'''


def needs(session, module):
    if not session.python('import ' + module, timeout_ms=60000).ok:
        pytest.skip('the sandbox has no ' + module)


@pytest.mark.parametrize('method', ['spawn', 'forkserver'])
def test_workers_know_the_session(session, method):
    r = session.python(SPAWN % method, timeout_ms=60000)
    assert r.value == '[11, 12]', r


def test_installed_packages_are_found(session):
    needs(session, 'pip')
    r = session.python(WHEEL + '%pip install -q --no-index ./zq_pkg-1.0-py3-none-any.whl\nimport zq_pkg\nzq_pkg.answer', timeout_ms=60000)
    assert r.value == '42', r


def test_figures_and_tables(session):
    needs(session, 'matplotlib.pyplot')
    needs(session, 'pandas')
    r = session.python('import matplotlib.pyplot as plt, pandas as pd\nplt.plot([1, 2]);\npd.DataFrame({"a": [1]})', timeout_ms=60000)
    assert r.ok and {'text/plain', 'text/html', 'application/vnd.dataresource+json'} <= set(r.value_mime), r
    picture, = r.pictures
    assert picture.mime == 'image/png' and min(picture.size) > 100 and 'picture: image/png, %dx%d' % picture.size in r.text
    assert session.python('plt.get_fignums()').value == '[]'
