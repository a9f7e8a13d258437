"""Every row of tests/cases/behaviours.jsonl through both faces, with the checks of the C runner: the results must be the same."""
import json
import os
import types

import faces
import pytest
import run_behaviours

ROWS = os.path.join(os.path.dirname(os.path.abspath(run_behaviours.__file__)), 'behaviours.jsonl')
with open(ROWS, encoding='utf-8') as f:
    ROWS = [json.loads(line) for line in f]
OPTIONS = types.SimpleNamespace(backend=os.environ.get('INTERP_TEST_BACKEND', 'local'), config='{}')


@pytest.fixture(scope='module', params=['blocking', 'asyncio'])
def cases(request):
    host = faces.BlockingHost() if request.param == 'blocking' else faces.AsyncHost()
    yield run_behaviours.Runner(host, OPTIONS)
    if request.param == 'asyncio':
        host.close()


@pytest.mark.parametrize('row', ROWS, ids=[row['id'] for row in ROWS])
def test_row(cases, row):
    reason = cases.reason_to_skip(row)
    if reason:
        pytest.skip(reason)
    try:
        bad, slow = cases.run(row)
        for _ in range(2):              # the fastest of three
            if slow and not bad:
                bad, slow = cases.run(row)
    except run_behaviours.Unusable as e:
        pytest.skip(str(e))
    assert not bad + slow, '\n'.join(bad + slow)
