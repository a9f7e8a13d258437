"""Every program of the documentation prints what stands below it."""
import os
import re
import subprocess
import sys

import pytest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PROGRAMS = []
for name in ('README.md', 'TUTORIAL.md'):
    with open(os.path.join(TREE, 'bindings', 'python', name), encoding='utf-8') as f:
        for number, (program, output) in enumerate(re.findall(r'^```python\n(.*?)^```\n\n```text\n(.*?)^```$', f.read(), re.S | re.M), 1):
            PROGRAMS.append(pytest.param(program, output, id='%s-%d' % (name, number)))


def test_there_are_some():
    assert len(PROGRAMS) >= 9


@pytest.mark.parametrize('program, output', PROGRAMS)
def test_program(program, output, tmp_path):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    done = subprocess.run([sys.executable, '-c', program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, env=environment,
                          cwd=str(tmp_path), timeout=120)
    # older interpreters in the sandbox don't mark the place in a traceback
    told = [re.sub(r'^ *[~^]+\n', '', text, flags=re.M) for text in (done.stdout, output)]
    assert told[0] == told[1]
    assert done.returncode == 0
