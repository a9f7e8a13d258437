# Part of the Python driver, compiled into its module on first use: what a session defined, for worker processes that multiprocessing
# starts by spawn or forkserver.  Such a worker runs the main program's file to get its functions and classes; a session has no such
# file, so one is written: imports, functions and classes as the code that made them, the other names that these use as pickles.
VALUES_CAP = 64 << 20
WORKER_MAIN = '''"""Made by the session for its worker processes."""
def __interp_load():
    import marshal, pickle, sys
    space, before, missing = globals(), sys.modules.get('__main__'), {}
    sys.modules['__main__'] = sys.modules[__name__]         # where the pickles look for classes
    try:
        with open(__file__ + '.data', 'rb') as f:
            steps, missing = marshal.load(f)
        while steps:
            again = []
            for step in steps:
                kind, name, payload = step
                try:
                    if kind == 'module':
                        __import__(payload)
                        space[name] = sys.modules[payload]
                    elif kind == 'code':
                        exec(marshal.loads(payload), space)
                    else:
                        space[name] = pickle.loads(payload)
                except Exception as e:                      # perhaps it needs what comes later
                    again.append(step)
                    missing[name] = '%s: %s' % (type(e).__name__, e)
                else:
                    missing.pop(name, None)
            if len(again) == len(steps):
                break
            steps = again
    finally:
        if before is not None:
            sys.modules['__main__'] = before
    return missing
__interp_missing = __interp_load()
def __getattr__(name):
    # Not an AttributeError at once: an unpickling that fails kills the worker, and its pool would wait for ever.
    if name.startswith('__'):
        raise AttributeError(name)
    def not_there(*args, **kwargs):
        raise AttributeError('this worker process does not have %r: %s' % (name, __interp_missing.get(name,
            'it was not there when the worker started. Start the workers after defining it, or use multiprocessing.get_context("fork")')))
    not_there.__name__ = not_there.__qualname__ = name
    return not_there
'''


def of_session(o):
    return isinstance(o, (type, type(of_session))) and getattr(o, '__module__', None) in ('__main__', '__mp_main__')


def names_used(code, found):
    found.update(code.co_names)
    for c in code.co_consts:
        if isinstance(c, type(code)):
            names_used(c, found)
    return found


def bound(node, ast, g):
    """The name that a statement of an exec defines, when workers should run it too."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and of_session(g.get(node.targets[0].id)):
        return node.targets[0].id           # a lambda, a named tuple
    return None


def statements(body, ast):
    """Those at the top of an exec, also those in blocks there."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for name in ('body', 'handlers', 'orelse', 'finalbody'):
                inner = getattr(node, name, None)
                if isinstance(inner, list):
                    for n in statements(inner, ast):
                        yield n


def definitions(g):
    """[(name, code)] in their order, the last one of each name; '' is the name of imports."""
    ast, found, imports = std('ast'), {}, {}
    for name, cell in list(S.cells.items()):
        src = ''.join(cell[2])
        try:
            tree = ast.parse(src, name)
        except (SyntaxError, ValueError):
            part('magics')
            try:
                other = translate(src, name)
                tree = ast.parse(other[0], name) if other else None
            except (SyntaxError, ValueError):
                tree = None
        flags = 0
        for node in statements(tree.body, ast) if tree is not None else ():
            is_import = isinstance(node, (ast.Import, ast.ImportFrom))
            if isinstance(node, ast.ImportFrom) and node.module == '__future__':
                flags |= compile(ast_module(ast, [node]), name, 'exec', 0, True).co_flags & FUTURE
                continue
            target = None if is_import else bound(node, ast, g)
            if target in g or is_import and any(a.name == '*' or (a.asname or a.name.partition('.')[0]) in g for a in node.names):
                code = compile(ast_module(ast, [node]), name, 'exec', flags, True)
                if is_import:
                    imports[ast.dump(node)] = ('', code)
                else:
                    found.pop(target, None)
                    found[target] = (target, code)
    return list(imports.values()) + list(found.values())


def ast_module(ast, body):
    return ast.Module(body, []) if VERSION >= (3, 8) else ast.Module(body)


def worker_data():
    marshal, pickle, g = std('marshal'), std('pickle'), main.__dict__
    made = definitions(g)
    used, defined, missing, size = set(), set(), {}, 0
    for name, code in made:
        names_used(code, used)
        defined.update([name] if name else [])              # what is imported may have been bound anew since
    for name, value in g.items():           # functions made in ways that no statement shows
        if of_session(value) and name not in defined:
            missing[name] = 'no statement at the top of an exec made it, or its text is not kept any more'
    steps = []
    for name in sorted(n for n in used if n in g and n not in defined and n not in missing and not n.startswith('__')):
        value = g[name]
        if isinstance(value, type(sys)):
            steps.append(('module', name, value.__name__))
            continue
        try:
            data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            if size + len(data) > VALUES_CAP:
                raise ValueError('too big for worker processes: pass it as an argument')
            size += len(data)
            steps.append(('value', name, data))
        except Exception as e:
            missing[name] = '%s: %s' % (type(e).__name__, e)
    steps = [('code', name, marshal.dumps(code)) for name, code in made if not name] + steps + [('code', name, marshal.dumps(code)) for name, code in made if name]
    return marshal.dumps((steps, missing))


def main_file():
    """Path of a file that gives a worker what the session has now."""
    data = worker_data()
    made = getattr(S, 'worker_files', None)
    if made is None:
        made = S.worker_files = [std('tempfile').mkdtemp(prefix='interp-workers-')]
        std('atexit').register(std('shutil').rmtree, made[0], True)
        S.worker_count = 0
    if getattr(S, 'worker_last', None) == data and os.path.exists(made[-1]):
        return made[-1]
    S.worker_count += 1
    path = os.path.join(made[0], 'session_%d.py' % S.worker_count)
    for p, content in ((path + '.data', data), (path, WORKER_MAIN.encode())):
        with open(p, 'wb') as f:
            f.write(content)
    made.append(path)
    S.worker_last = data
    while len(made) > 5:                    # a worker that starts now may still read an older one
        old = made.pop(1)
        for p in (old, old + '.data'):
            try:
                os.unlink(p)
            except OSError:
                pass
    return path
