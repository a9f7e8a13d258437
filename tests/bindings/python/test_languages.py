"""One-shot languages and hints, as Python sees them."""
import interp
import pytest

TOY = {'name': 'toy', 'file': 'main.toy', 'errors': ['%f:%l: %s: %m'], 'run': ['sh', '{file}'],
       'compile': ['sh', '-c', 'if grep -q bad $0; then echo $0:2: error: no good; exit 1; fi; echo built', '{file}']}


def test_a_language_of_ones_own():
    with interp.Session(languages=[TOY]) as session:
        r = session.run('toy', 'echo "$1,$2"; cat; exit 3', args=['a b', ''], stdin='in')
        assert (r.ok, r.exit_code, r.stdout, r.step, r.compile_output, r.language) == (False, 3, 'a b,\nin', 'run', 'built\n', 'toy')
        r = session.run('toy', 'bad')
        assert (r.outcome, r.cause, r.step, r.ran) == ('error', 'compile', 'compile', False)
        assert (r.error.type, r.error.message, r.error.line) == ('CompileError', 'no good', 2)
        assert r.hint and r.hint == r.error.hint and r.hint in r.text
        with pytest.raises(TypeError, match='args is a list'):
            session.run('toy', 'x', args='ab')
        assert session.run('toy', 'echo again').hint is None
        assert session.python('1').step is None


def test_the_list_of_languages():
    with interp.Context() as context:
        found = {language['name']: language for language in context.languages([TOY])}
        assert found['python']['state'] is True and found['c']['compiles'] is True and found['toy']['programs'] == 'sh'
        assert {'go', 'rust', 'java', 'typescript', 'ruby', 'perl', 'php', 'lua', 'r', 'c++', 'javascript', 'bash', 'sh'} <= set(found)
        with pytest.raises(interp.StatusError, match='needs a "name"'):
            context.languages([{}])
