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


def test_modules_of_the_workspace_in_javascript(session):
    made = session.bash('mkdir -p node_modules/left node_modules/esm sub && echo "module.exports = x => x + 1" >node_modules/left/index.js && '
                        'echo \'{"type": "module", "main": "i.js"}\' >node_modules/esm/package.json && echo "export default 7; export const q = 8" >node_modules/esm/i.js && '
                        'echo "exports.v = 5" >rel.js && echo "export const m = 9" >sub/m.mjs')
    assert made.ok
    rows = [("require('left')(1)", '2'), ("require('./rel').v", '5'), ("import d, {q} from 'esm'; d + q", '15'), ("import {m} from './sub/m.mjs'\nm", '9'),
            ("(await import('./sub/m.mjs')).m + 1", '10'), ("import fs, { readFileSync } from 'node:fs'; typeof readFileSync + typeof fs.existsSync", "'functionfunction'")]
    for code, value in rows:
        r = session.javascript(code)
        if r.cause == 'interpreter':
            pytest.skip('no Node.js here')
        assert r.ok and r.value == value, (code, r.text)
    r = session.javascript('const n: number = 5; n', options={'ts': True})   # where Node has it, else an error that says what it needs
    assert r.value == '5' if r.ok else 'Node.js 22.13' in r.error.message
