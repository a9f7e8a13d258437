"""Every program of the documentation prints what stands below it."""
import docs
import pytest

PROGRAMS = [pytest.param(*p[:2], id=p[2]) for name in ('README.md', 'TUTORIAL.md') for p in docs.programs(name)]


def test_there_are_some():
    assert len(PROGRAMS) >= 9


@pytest.mark.parametrize('program, output', PROGRAMS)
def test_program(program, output, tmp_path):
    docs.check(program, output, tmp_path)
