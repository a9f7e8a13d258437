# Part of the Python driver, compiled into its module on first use: the line and cell forms of IPython that models write.
# They are looked for only in what is no Python, and only where a statement begins: translate() follows strings, brackets and
# continued lines. A form becomes one line of Python that calls __interp_magic__, so line numbers stay.
PLAIN_SHELL = ('ls', 'll', 'cat', 'cp', 'mv', 'mkdir', 'rm', 'rmdir', 'head', 'tail', 'less', 'more', 'man')
NO_EFFECT = ('matplotlib', 'pylab', 'config', 'precision', 'colors', 'xmode', 'automagic', 'autosave', 'pprint', 'autoreload', 'aimport')
LINE_MAGICS = PLAIN_SHELL + NO_EFFECT + ('cd', 'conda', 'env', 'load_ext', 'lsmagic', 'mamba', 'pip', 'pwd', 'reload_ext', 'reset', 'run', 'set_env', 'sx',
                                         'system', 'time', 'timeit', 'who', 'who_ls', 'whos')
SHELLS = {'bash': ('bash', '-c'), 'sh': ('sh', '-c'), 'python': (None, '-c'), 'python3': (None, '-c'), 'perl': ('perl', '-e'), 'ruby': ('ruby', '-e')}
SHOWN = {'html': 'text/html', 'HTML': 'text/html', 'markdown': 'text/markdown', 'latex': 'text/latex', 'svg': 'image/svg+xml', 'SVG': 'image/svg+xml',
         'javascript': 'application/javascript', 'js': 'application/javascript'}
CELL_MAGICS = tuple(SHELLS) + tuple(SHOWN) + ('capture', 'file', 'script', 'system', 'sx', 'time', 'timeit', 'writefile')
_re = std('re')
special = _re.compile(r'["\'#()\[\]{}\\]')
assigned = _re.compile(r'([A-Za-z_][\w.\[\]"\' ,*]*?)\s*=\s*(!|%)(.*)$', _re.S)
bare_installer = _re.compile(r'(pip3?|conda|mamba)\s+(?:install|uninstall|list|show|freeze|download|--version|config|check)\b')
leading_pip = _re.compile(r'\s*pip3?(?=\s|$)')
asked = _re.compile(r'%{0,2}[A-Za-z_][\w.]*(?:\[[^\[\]]*\])?$')


# ---------------------------------------------------------------- from text to text
class Scanner(object):
    """Where in Python a line begins: in a string, in brackets, after a backslash, or at a statement."""
    quote, depth, continued = None, 0, False

    def at_statement(self):
        return self.quote is None and not self.depth and not self.continued

    def feed(self, line):
        i, n, self.continued = 0, len(line), False
        while i < n:
            if self.quote is not None:
                end = line.find(self.quote, i)
                slash = line.find('\\', i)
                if 0 <= slash < end or end < 0 <= slash:
                    i = slash + 2           # in a raw string too, a quote after a backslash ends nothing
                    if i > n and len(self.quote) == 1:
                        return              # a string that goes on in the next line
                    continue
                if end < 0:
                    break
                i = end + len(self.quote)
                self.quote = None
                continue
            m = special.search(line, i)
            if m is None:
                return
            c, i = m.group(), m.end()
            if c in '"\'':
                self.quote = c * 3 if line.startswith(c * 3, m.start()) else c
                i = m.start() + len(self.quote)
            elif c == '#':
                return
            elif c in '([{':
                self.depth += 1
            elif c == '\\':
                self.continued = i == n
            elif self.depth:
                self.depth -= 1
        if self.quote is not None and len(self.quote) == 1:
            self.quote = None               # not closed on its line: no Python, whatever it is


def usage(message, name, line, text):
    return SyntaxError(message, (name, line, 1, text))


def as_written(e, name):
    """The error with the line as the user wrote it, not as it was translated."""
    cell = S.cells.get(name)
    if e.filename == name and cell is not None and isinstance(e.lineno, int) and 0 < e.lineno <= len(cell[2]) and e.text and '__interp_' in e.text:
        e.text, e.offset = cell[2][e.lineno - 1], 1
    return e


def compiles(text, mode):
    try:
        compile(text, '?', mode, 0, True)
        return True
    except SyntaxError:
        return False


def two(text):
    """First word and rest."""
    words = text.strip().split(None, 1)
    return words[0] if words else '', words[1] if len(words) > 1 else ''


def exists(magic, known):
    return '; '.join(('%s%s is no magic here' % (known, magic), 'there are: %s' % ' '.join('%' + m for m in sorted(LINE_MAGICS)),
                      'and on the first line of the code: %s' % ' '.join('%%' + m for m in sorted(CELL_MAGICS)),
                      'extensions of IPython can not be loaded: write it in plain Python'))


def line_magic(word, arg):
    """The Python for %word arg; None when there is none."""
    if word == 'time' and arg:
        if compiles(arg, 'eval'):
            return '__interp_magic__("timed", lambda: (%s))' % arg
        if not compiles(arg, 'exec') or compiles('with x: ' + arg, 'exec'):
            return 'with __interp_magic__("timer"): ' + arg
    return '__interp_magic__(%r, %r)' % (word, arg) if word in LINE_MAGICS else None


def statement(body, name, number):
    """The Python for a line that is none; None when it is no form of ours."""
    text = body.rstrip()
    if text.startswith('%%'):
        raise usage('a cell magic (%s) must be on the first line of the code, and alone in it' % text.split()[0], name, number, body)
    if text.endswith('?') and asked.match(text.rstrip('?').rstrip()) or text.startswith('?') and asked.match(text.lstrip('?').strip()):
        return '__interp_magic__("help", %r)' % text
    if text.startswith('!'):
        return '__interp_magic__(%r, %r)' % (('!!', text[2:].strip()) if text.startswith('!!') else ('!', text[1:].strip()))
    if text.startswith('%') and _re.match(r'%\s*[A-Za-z_]', text):
        word, arg = two(text[1:])
        new = line_magic(word, arg)
        if new is None:
            raise usage(exists(word, '%'), name, number, body)
        return new
    m = assigned.match(text)
    if m:
        target, sign, rest = m.groups()
        if sign == '!':
            return '%s = __interp_magic__("!!", %r)' % (target, rest.lstrip('!').strip())
        word, arg = two(rest)
        new = line_magic(word, arg) if word != 'time' or compiles(arg, 'eval') else None
        if new is None:
            raise usage(exists(word, '%'), name, number, body)
        return '%s = %s' % (target, new)
    m = bare_installer.match(text)
    if m:
        return '__interp_magic__(%r, %r)' % ('pip' if m.group(1) == 'pip3' else m.group(1), text[m.end(1):].strip())
    return None


def lines_of(lines, name, first):
    """Line forms, line by line -> text; None when there are none."""
    scanner, out, hit, i = Scanner(), [], False, 0
    while i < len(lines):
        line, start = lines[i], i
        i += 1
        if scanner.at_statement():
            body = line.lstrip()
            if body[:1] in ('!', '%', '?') or body.rstrip()[-1:] == '?' or '= !' in body or '= %' in body or '=!' in body or '=%' in body or bare_installer.match(body):
                whole = body
                while whole.endswith('\\') and i < len(lines):
                    whole = whole[:-1].rstrip() + ' ' + lines[i].strip()
                    i += 1
                new = statement(whole, name, first + start)
                if new is not None:
                    hit = True
                    out.append(line[:len(line) - len(body)] + new)
                    out += [''] * (i - start - 1)
                    continue
                i = start + 1
        scanner.feed(line)
        out.append(line)
    return '\n'.join(out) if hit else None


def translate(src, name):
    """-> (Python, what to put around its units or None), or None when there is no form of IPython's in it."""
    builtins.__interp_magic__ = magic
    lines = src.split('\n')
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return None
    if not lines[first].startswith('%%'):
        text = lines_of(lines, name, 1)
        return (text, None) if text is not None else None
    (word, arg), body = two(lines[first][2:]), '\n'.join(lines[first + 1:])
    if word not in CELL_MAGICS:
        raise usage(exists(word, '%%'), name, first + 1, lines[first])
    if word in ('time', 'capture'):
        inner = lines_of(lines[first + 1:], name, first + 2)
        return '\n' * (first + 1) + (body if inner is None else inner), Timer().around if word == 'time' else Capture(arg).around
    return '\n' * first + '__interp_magic__(%r, %r, %r)' % ('cell_' + word, arg, body), None


# ---------------------------------------------------------------- what they do
def magic(what, *args):
    if what == 'timed':
        return Timer().call(args[0])
    if what == 'timer':
        return Timer()
    frame = sys._getframe(1)
    if what.startswith('cell_'):
        return cell_magic(what[5:], frame, *args)
    arg = args[0]
    if what == 'help':
        return ask(arg, frame)
    if what in NO_EFFECT:
        return None
    if what == 'timeit':
        return timeit(arg, None)
    if what == 'time':
        return Timer().call(lambda: exec(compile(arg, '<%time>', 'exec', S.flags, True), main.__dict__))
    arg = expand(arg, frame)
    if what in ('!', '!!', 'system', 'sx'):
        return shell(arg, what in ('!!', 'sx'))
    if what in PLAIN_SHELL:
        return shell('%s %s' % ('ls -l' if what == 'll' else what, arg))
    if what == 'pip':
        return shell('pip ' + arg)
    if what in ('conda', 'mamba'):
        return shell('%s %s' % (what, arg))
    return globals()['magic_' + what](arg)


def expand(text, frame):
    """$name and {expression} of the user's variables, as IPython does; what they are not is left for the shell."""
    if '$' not in text and '{' not in text:
        return text

    def names(tree):
        return set(n.id for n in std('ast').walk(tree) if isinstance(n, std('ast').Name))

    def value(m):
        whole, dollar, braces = m.group(0), m.group(2), m.group(3)
        if m.group(1):                      # $$name
            return whole[1:]
        if dollar:
            return str(found[dollar]) if dollar in found else whole
        try:
            expression, _, form = (braces, '', '') if ':' not in braces or compiles(braces, "eval") else braces.rpartition(':')
            tree = std('ast').parse(expression.strip(), mode='eval')
            if isinstance(tree.body, std('ast').Tuple) or not any(n in found for n in names(tree)):
                return whole                # the shell's braces, or awk's
            return format(eval(compile(tree, '?', 'eval'), frame.f_globals, found), form)
        except Exception:
            return whole
    found = dict(frame.f_globals)
    found.update(frame.f_locals)
    for name in ('__builtins__', '__name__'):
        found.pop(name, None)
    return _re.sub(r'(\$(?=\$[A-Za-z_]))?(?:\$([A-Za-z_]\w*)|(?<!\$)\{([^{}]+)\})', value, text)


class Lines(list):
    """What a command wrote, line by line: as IPython's list, with it whole as n, joined by spaces as s, and as paths as p."""
    @property
    def n(self):
        return '\n'.join(self)

    @property
    def s(self):
        return ' '.join(self)
    nlstr, spstr = n, s

    @property
    def p(self):
        return [std('pathlib').Path(x) for x in self]


def run_command(argv, stdin=None, env=None, out=False, err=False):
    """-> (exit status, stdout, stderr); what is not asked for goes where this process writes."""
    subprocess = std('subprocess')
    flush()
    p = subprocess.Popen(argv, stdin=subprocess.PIPE if stdin is not None else None, stdout=subprocess.PIPE if out else None,
                         stderr=subprocess.PIPE if err else None, env=dict(environ, **env) if env else None)
    try:
        o, e = p.communicate(stdin.encode('utf-8', 'surrogateescape') if stdin is not None else None)
    except BaseException:
        p.kill()
        p.wait()
        raise
    return p.returncode, o, e


def program(name):
    return name and next((d + name for d in ('/bin/', '/usr/bin/', '/usr/local/bin/') if os.path.exists(d + name)), name)


def shell(command, capture=False):
    exe, env = program('bash'), None
    pip = leading_pip.match(command)
    if pip:                                 # the one of this interpreter; in a sandbox nothing but the user manages its packages
        command, env = '"%s" -m pip %s' % (sys.executable, command[pip.end():]), {'PIP_BREAK_SYSTEM_PACKAGES': '1'}
    code, out, _ = run_command([exe if exe != 'bash' else '/bin/sh', '-c', command], env=env, out=capture)
    main.__dict__['_exit_code'] = code
    if 'pip' in command and 'install' in command:
        after_install()
    return Lines(out.decode('utf-8', 'replace').splitlines()) if capture else None


def after_install():
    """What pip has put somewhere can be imported at once, also where that folder was not there when Python started."""
    try:
        site = std('site')
        folder = site.getusersitepackages()
        if site.ENABLE_USER_SITE is not False and os.path.isdir(folder) and folder not in sys.path:
            site.addsitedir(folder)
    except Exception:
        pass
    std('importlib').invalidate_caches()


def cell_magic(word, frame, arg, body):
    if word in SHOWN:
        publish('display', [('text/plain', '<%s>' % SHOWN[word]), (SHOWN[word], body)])
    elif word in ('writefile', 'file'):
        magic_write(arg, body, frame)
    elif word == 'timeit':
        return timeit(arg, body)
    elif word in ('system', 'sx'):
        return shell(body, word == 'sx')
    else:
        return script(word, arg, body, frame)


def script(word, arg, body, frame):
    words, names, argv, raises, background = std('shlex').split(arg), {}, [], True, False
    while words:
        w = words.pop(0)
        option, _, value = w.partition('=')
        if not argv and option in ('--out', '--err', '--proc'):
            names[option[2:]] = value or (words.pop(0) if words else '')
        elif not argv and w in ('--no-raise-error', '--raise-error'):
            raises = w == '--raise-error'
        elif not argv and w == '--bg':
            background = True
        else:
            argv.append(w)
    body += '' if body.endswith('\n') or not body else '\n'
    if word == 'script':
        if not argv:
            raise ValueError('%%script needs the name of a program')
        stdin = body
    elif len(body) > 100000:                # more than one argument may have
        argv, stdin = [program(SHELLS[word][0]) or sys.executable, '-'] + argv, body
        if word in ('bash', 'sh'):
            argv[1] = '-s'
    else:
        argv, stdin = [program(SHELLS[word][0]) or sys.executable, SHELLS[word][1], body] + ([word] if argv and word in ('bash', 'sh') else []) + argv, None
    if background:
        flush()
        process = std('subprocess').Popen(argv, stdin=std('subprocess').PIPE if stdin is not None else None)
        if stdin is not None:
            process.stdin.write(stdin.encode())
            process.stdin.close()
        if 'proc' in names:
            frame.f_globals[names['proc']] = process
        return
    try:
        code, out, err = run_command(argv, stdin, out='out' in names, err='err' in names)
    except FileNotFoundError:
        raise FileNotFoundError(2, 'there is no such program', argv[0]) from None
    for key, data in (('out', out), ('err', err)):
        if key in names:
            frame.f_globals[names[key]] = data.decode('utf-8', 'replace')
    main.__dict__['_exit_code'] = code
    if 'pip' in body and 'install' in body:
        after_install()
    if code and raises:
        raise std('subprocess').CalledProcessError(code, '%%' + word)


def magic_write(arg, body, frame):
    append, arg = arg.startswith(('-a ', '--append ')), expand(_re.sub(r'^(-a|--append) +', '', arg), frame)
    path = os.path.expanduser(arg.strip('"\''))
    if not path:
        raise ValueError('%%writefile needs the name of a file')
    there = os.path.exists(path)
    with open(path, 'a' if append else 'w', encoding='utf-8', errors='surrogateescape') as f:
        f.write(body if body.endswith('\n') or not body else body + '\n')
    sys.stdout.write('%s %s\n' % ('Appending to' if append else 'Overwriting' if there else 'Writing', path))


def magic_cd(arg):
    arg = arg.strip('"\'') or '~'
    to = getattr(S, 'last_dir', None) if arg == '-' else os.path.expanduser(arg)
    if to is None:
        raise ValueError('%cd -: there is no directory before this one')
    before = os.getcwd()
    os.chdir(to)
    S.last_dir = before
    sys.stdout.write(os.getcwd() + '\n')


def magic_pwd(arg):
    return os.getcwd()


def magic_env(arg):
    if not arg:
        return dict(os.environ)
    name, sign, value = arg.partition('=') if '=' in arg else arg.partition(' ')
    name, value = name.strip(), value.strip()
    if not sign:
        if name not in os.environ:
            raise KeyError('there is no variable %s in the environment' % name)
        return os.environ[name]
    os.environ[name] = value
    sys.stdout.write('env: %s=%s\n' % (name, value))


magic_set_env = magic_env


def magic_load_ext(arg):
    if arg != 'autoreload':
        sys.stderr.write('%%load_ext %s: extensions of IPython can not be loaded here, this line has no effect\n' % arg)


magic_reload_ext = magic_load_ext


def magic_lsmagic(arg):
    sys.stdout.write('%s\n%s\n' % (' '.join('%' + m for m in sorted(LINE_MAGICS)), ' '.join('%%' + m for m in sorted(CELL_MAGICS))))


def users(arg=''):
    kinds = arg.split()
    return sorted(n for n, v in main.__dict__.items() if not n.startswith('_') and (not kinds or type(v).__name__ in kinds))


def magic_who_ls(arg):
    return users(arg)


def magic_who(arg):
    sys.stdout.write(('\t'.join(users(arg)) or 'there are no variables') + '\n')


def magic_whos(arg):
    rows = [('Variable', 'Type', 'Value')]
    for n in users(arg):
        v = main.__dict__[n]
        try:
            text = '<%s>' % 'x'.join(map(str, v.shape)) if hasattr(v, 'shape') else bounded_repr(v).replace('\n', ' ')
            if len(text) > 60:              # on a stream nobody knows a cut: too little is shown to be most of a secret
                text = '%s... [%d more]' % (text[:12], len(text) - 12)
        except Exception as e:
            text = '<%s>' % type(e).__name__
        rows.append((n, type(v).__name__, text))
    a, b = max(len(r[0]) for r in rows), max(len(r[1]) for r in rows)
    for r in rows:
        sys.stdout.write('%-*s  %-*s  %s\n' % (a, r[0], b, r[1], r[2]))


def magic_reset(arg):
    for n in users():
        del main.__dict__[n]


def magic_run(arg):
    words, inside = std('shlex').split(arg), False
    while words and words[0].startswith('-'):
        inside |= words.pop(0) == '-i'
    if not words:
        raise ValueError('%run needs the name of a file')
    path = os.path.expanduser(words[0])
    if not os.path.exists(path) and os.path.exists(path + '.py'):
        path += '.py'
    with open(path, 'rb') as f:
        code = compile(f.read(), path, 'exec', 0, True)
    space = dict(main.__dict__) if inside else {'__name__': '__main__', '__builtins__': builtins}
    space['__file__'] = path
    before, sys.argv = sys.argv, [path] + words[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        exec(code, space)
    except SystemExit as e:
        if e.code:
            sys.stderr.write('%s ended with %s\n' % (path, e.code))
    finally:
        sys.argv = before
        sys.path.remove(os.path.dirname(os.path.abspath(path)))
    main.__dict__.update((k, v) for k, v in space.items() if k not in ('__name__', '__file__', '__builtins__', '__doc__'))


# ---------------------------------------------------------------- time
def duration(seconds):
    for unit, scale in (('s', 1), ('ms', 1e3), ('us', 1e6), ('ns', 1e9)):
        if seconds * scale >= 1 or unit == 'ns':
            return '%.3g %s' % (seconds * scale, unit)


class Timer(object):
    def __enter__(self):
        self.cpu, self.wall = os.times(), perf()

    def __exit__(self, *exc):
        wall, cpu = perf() - self.wall, os.times()
        user, system = cpu[0] - self.cpu[0], cpu[1] - self.cpu[1]
        sys.stdout.write('CPU times: user %s, sys: %s, total: %s\nWall time: %s\n' % (duration(user), duration(system), duration(user + system), duration(wall)))

    def call(self, function):
        with self:
            return function()

    def around(self, units):
        with self:
            return run_units(units)


class Timing(object):
    def __init__(self, times, loops):
        self.all_runs, self.loops, self.repeat = times, loops, len(times)
        self.timings = [t / loops for t in times]
        self.best, self.worst, self.average = min(self.timings), max(self.timings), sum(self.timings) / len(times)
        self.stdev = (sum((t - self.average) ** 2 for t in self.timings) / len(times)) ** 0.5

    def __repr__(self):
        return '%s +- %s per loop (mean +- std. dev. of %d run%s, %s loop%s each)' % (
            duration(self.average), duration(self.stdev), self.repeat, 's' * (self.repeat != 1), format(self.loops, ','), 's' * (self.loops != 1))


def timeit(arg, body):
    options = {'n': 0, 'r': 7}
    quiet = wanted = False
    while True:
        m = _re.match(r'-(?:([nr])\s*(\d+)|([oqtcpv])\d*)(?:\s+|$)', arg)
        if not m:
            break
        if m.group(1):
            options[m.group(1)] = max(1, int(m.group(2)))
        quiet, wanted, arg = quiet or m.group(3) == 'q', wanted or m.group(3) == 'o', arg[m.end():]
    setup, statement = ('pass', arg) if body is None else (arg or 'pass', body)
    timer = std('timeit').Timer(statement or 'pass', setup, globals=main.__dict__)
    loops = options['n']
    if not loops:
        for i in range(10):
            loops = 10 ** i
            if timer.timeit(loops) >= 0.1:
                break
    result = Timing(timer.repeat(options['r'], loops), loops)
    if not quiet:
        sys.stdout.write('%r\n' % result)
    return result if wanted else None


# ---------------------------------------------------------------- %%capture
class Captured(object):
    stdout = stderr = ''

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
    __call__ = show

    def __str__(self):
        return self.stdout


class Capture(object):
    """Keeps what Python prints; what child processes write, and displays, are not kept."""

    def __init__(self, arg):
        self.name = next((w for w in arg.split() if not w.startswith('-')), None)

    def around(self, units):
        before, kept = (sys.stdout, sys.stderr), Captured()
        out, err = sys.stdout, sys.stderr = _io.StringIO(), _io.StringIO()
        try:
            run_units(units)
        finally:
            sys.stdout, sys.stderr = before
            kept.stdout, kept.stderr = out.getvalue(), err.getvalue()
            if self.name:
                main.__dict__[self.name] = kept


# ---------------------------------------------------------------- name? and name??
def ask(text, frame):
    inspect, name = std('inspect'), text.strip('? ')
    if name.startswith('%'):
        sys.stdout.write('%s is %sa magic here\n' % (name, '' if name.lstrip('%') in LINE_MAGICS + CELL_MAGICS else 'not '))
        return
    try:
        found = eval(name, frame.f_globals, frame.f_locals)
    except Exception as e:
        sys.stdout.write('Object `%s` not found (%s: %s)\n' % (name, type(e).__name__, e))
        return
    out = []
    try:
        out.append('Signature: %s%s' % (name, inspect.signature(found)))
    except (TypeError, ValueError):
        pass
    out.append('Type:      %s' % type(found).__name__)
    if not callable(found) and not inspect.ismodule(found):
        value = bounded_repr(found)
        out.append('Value:     %s' % (value if len(value) <= 2000 else '<%d characters>' % len(value)))
    source = None
    if '??' in text:
        try:
            source = inspect.getsource(found)
        except (TypeError, OSError):
            pass
    if source is not None:
        out.append('Source:\n' + source)
    else:
        out.append('Docstring:\n' + (inspect.getdoc(found) or '<none>'))
    sys.stdout.write('\n'.join(out) + '\n')
