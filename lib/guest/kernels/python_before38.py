# Part of the Python driver, compiled into its module on first use: what Python 3.6 and 3.7 have no means of their own for.
def semicolon_ends(src):
    """Does the last statement end with a semicolon?"""
    tokenize = std('tokenize')
    tokens = []
    try:
        lines = iter(src.splitlines(True))
        for t in tokenize.generate_tokens(lambda: next(lines, '')):
            tokens.append(t)
    except Exception:
        pass
    for t in reversed(tokens):
        if t[0] not in (tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT):
            return t[1] == ';'
    return False


def compile_wrapped(src, name):
    """Before 3.8: top-level await through an async function whose names are global."""
    ast = std('ast')
    tree = ast.parse(src, name)
    names = set()
    for n in ast.walk(tree):
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del)):
            names.add(n.id)
        elif isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(n.name)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            names.update((a.asname or a.name).split('.')[0] for a in n.names)
    f = ast.parse('async def __interp_exec__():\n    pass')
    body = tree.body
    shows = isinstance(body[-1], ast.Expr)
    if shows:
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    f.body[0].body = ([ast.Global(sorted(names))] if names else []) + body
    ast.fix_missing_locations(f)
    ns = {}
    exec(compile(f, name, 'exec', 0, True), ns)
    return type(flush)(ns['__interp_exec__'].__code__, main.__dict__, '<module>'), shows
