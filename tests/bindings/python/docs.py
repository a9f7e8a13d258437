"""Runs the programs of a page and compares what they print with what stands below them."""
import os
import re
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def programs(name):
    """(program, output, name of the test) of a page of the binding."""
    with open(os.path.join(TREE, 'bindings', 'python', name), encoding='utf-8') as f:
        found = re.findall(r'^```python\n(.*?)^```\n\n```text\n(.*?)^```$', f.read(), re.S | re.M)
    return [(program, output, '%s-%d' % (name, number)) for number, (program, output) in enumerate(found, 1)]


def check(program, output, folder):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    done = subprocess.run([sys.executable, '-c', program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, env=environment,
                          cwd=str(folder), timeout=120)
    # older interpreters in the sandbox don't mark the place in a traceback
    told = [re.sub(r'^ *[~^]+\n', '', text, flags=re.M) for text in (done.stdout, output)]
    assert told[0] == told[1]
    assert done.returncode == 0
