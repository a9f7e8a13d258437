# Part of the Python driver, compiled into its module on first use: display() and its kin, JSON; values of matplotlib,
# pandas and PIL as pictures, HTML and JSON.
ROWS, COLUMNS, CELLS_SHOWN, CELL_CAP, TABLE_CAP = 200, 50, 4000, 1000, 256 << 10


def json_text(v):
    """JSON that every parser takes: no NaN. A text is JSON already, or it is a string of JSON's."""
    json = std('json')
    if isinstance(v, str):
        try:
            v = json.loads(v)
        except ValueError:
            pass

    def other(x):
        for name in ('tolist', 'item', 'isoformat'):        # numpy, dates
            if hasattr(x, name):
                return getattr(x, name)()
        return str(x)

    def clean(x):
        if isinstance(x, float):
            return x if x - x == 0 else None
        if isinstance(x, dict):
            return {str(k): clean(y) for k, y in x.items()}
        return [clean(y) for y in x] if isinstance(x, (list, tuple)) else x
    try:
        return json.dumps(v, allow_nan=False, skipkeys=True, default=other)
    except ValueError:
        return json.dumps(clean(v), allow_nan=False, default=lambda x: str(x))


class DisplayHandle(object):
    """What display(..., display_id=...) returns."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, obj, **options):
        display(obj, display_id=self.display_id, **options)

    def update(self, obj, **options):
        update_display(obj, display_id=self.display_id, **options)

    def __repr__(self):
        return '<DisplayHandle display_id=%s>' % self.display_id


def display(*objects, **options):
    """Show objects as rich results, as IPython.display.display does. Options: display_id (True makes one up): a handle is returned, whose
    update() replaces what is shown when that happens in the same exec, and shows anew when it happens in a later one; update; raw: the
    objects are dicts of MIME types; include, exclude: MIME types; clear: take away what this exec showed before."""
    handle = options.get('display_id')
    if handle is True:
        handle = '%016x' % from_bytes(os.urandom(8), 'little')
    elif handle is False:
        handle = None
    if options.get('clear'):
        clear_output()
    for o in objects:
        m = method(o, '_ipython_display_')
        if m is not None:
            try:
                m()
                continue
            except NotImplementedError:
                pass
        parts = list(o.items()) if options.get('raw') and isinstance(o, dict) else parts_of(o)
        include, exclude = options.get('include'), options.get('exclude')
        if include:
            parts = [p for p in parts if p[0] in include]
        if exclude:
            parts = [p for p in parts if p[0] not in exclude]
        number = publish('display', parts, S.handles.get(handle, 0) if options.get('update') else 0)
        if handle is not None and number:
            S.handles[handle] = number
    return DisplayHandle(handle) if handle is not None and not options.get('update') else None


def update_display(obj, **options):
    """Replace what was displayed under this display_id."""
    if 'display_id' not in options:
        raise TypeError('display_id is needed')
    options['update'] = True
    display(obj, **options)


def clear_output(wait=False):
    """Take away what this exec displayed so far; what it printed stays."""
    def sent():
        S.shown, S.handles, S.total = [], {}, 0
    if S.shown:
        control.send(b'd', 0, {'kind': 'clear', 'mime': []}, b'', sent)


def publish_display_data(data, metadata=None, source='', **options):
    display(data, raw=True, **{k: v for k, v in dict(options, **options.get('transient') or {}).items() if k in ('display_id', 'update')})


# ---------------------------------------------------------------- values of libraries
def figure_parts(figure):
    b = _io.BytesIO()
    figure.savefig(b, format='png', bbox_inches='tight', facecolor=figure.get_facecolor())
    w, h = figure.get_size_inches() * figure.dpi
    return [('text/plain', '<Figure size %gx%g with %d Axes>' % (w, h, len(figure.axes))), ('image/png', b.getvalue())]


def show_figures():
    """Show the open figures and close them."""
    plt = modules.get('matplotlib.pyplot')
    if plt is None or not hasattr(plt, 'get_fignums'):
        return
    numbers = plt.get_fignums()
    for n in numbers:
        try:
            publish('display', figure_parts(plt.figure(n)))
        except Exception as e:
            sys.stderr.write('figure %s could not be shown: %s: %s\n' % (n, type(e).__name__, e))
    if numbers:
        plt.close('all')


def library_parts(o, base):
    """Parts that the object, of this class of a library's, has no _repr_*_ method for."""
    where, name = base.__module__, base.__name__
    if where == 'matplotlib.figure' and name == 'Figure':
        parts = figure_parts(o)
        if 'matplotlib.pyplot' in modules:
            modules['matplotlib.pyplot'].close(o)       # not shown a second time at the end of the exec
        return parts
    if where == 'pandas.core.frame' and name == 'DataFrame':
        return table_parts(o, o)
    if where == 'pandas.core.series' and name == 'Series':
        return [('text/html', o.to_frame()._repr_html_())] + table_parts(o, o.to_frame())
    if where == 'PIL.Image' and name == 'Image':
        b = _io.BytesIO()
        (o if o.mode in ('1', 'L', 'LA', 'P', 'RGB', 'RGBA') else o.convert('RGBA' if 'A' in o.mode else 'RGB')).save(b, 'PNG')
        return [('image/png', b.getvalue())]
    return []


# ---------------------------------------------------------------- a table as JSON: schema and first rows, always whole JSON
def table_parts(o, frame):
    try:
        return [('application/vnd.dataresource+json', table_json(frame).encode('ascii'))]
    except Exception:
        return []


def column_type(dtype):
    kind = getattr(dtype, 'kind', 'O')
    return {'i': 'integer', 'u': 'integer', 'f': 'number', 'b': 'boolean', 'M': 'datetime', 'm': 'duration'}.get(kind, 'any' if str(dtype) == 'category' else 'string')


def table_cell(v):
    if v is None or v is True or v is False:
        return v
    try:
        if v != v:                          # NaN, NaT
            return None
    except Exception:
        pass
    if isinstance(v, int):
        return int(v) if -1 << 63 <= v < 1 << 64 else clip(bounded_repr(int(v)), CELL_CAP)
    if isinstance(v, float):
        return float(v) if v - v == 0 else None
    if isinstance(v, str):
        return clip(str(v), CELL_CAP)
    if hasattr(v, 'item') and getattr(v, 'shape', None) == ():          # a scalar of numpy
        return table_cell(v.item())
    try:
        if hasattr(v, 'isoformat'):
            return v.isoformat()
        if type(v).__name__ in ('NAType', 'NaTType'):
            return None
        return clip(bounded_repr(v) if type(v) in PLAIN else str(v), CELL_CAP)
    except Exception as e:
        return '<%s: %s>' % (type(v).__name__, type(e).__name__)


def unique(names, taken):
    out = []
    for name in names:
        name, n, base = clip(name, 200), 1, clip(name, 200)
        while name in taken:
            name = '%s.%d' % (base, n)
            n += 1
        taken.add(name)
        out.append(name)
    return out


def table_json(frame):
    rows, columns = frame.shape
    index, taken = frame.index, set()
    labels = list(getattr(index, 'names', [None]))
    keys = unique([str(l) if l is not None else 'index' if len(labels) == 1 else 'level_%d' % i for i, l in enumerate(labels)], taken)
    some = min(columns, COLUMNS)
    names = unique([str(c) for c in list(frame.columns[:some])], taken)
    count = min(rows, ROWS, max(1, CELLS_SHOWN // (some + len(keys))))
    head = frame.iloc[:count, :some]
    levels = [head.index.get_level_values(i) for i in range(len(keys))]
    fields = [{'name': n, 'type': column_type(l.dtype)} for n, l in zip(keys, levels)]
    fields += [{'name': n, 'type': column_type(head.iloc[:, i].dtype)} for i, n in enumerate(names)]
    data, size = [], 0
    vectors = [l.tolist() for l in levels] + [head.iloc[:, i].tolist() for i in range(some)]
    for row in zip(*vectors):
        text = std('json').dumps(dict(zip(keys + names, [table_cell(v) for v in row])), allow_nan=False)
        size += len(text) + 1
        if size > TABLE_CAP:
            break
        data.append(text)
    return '{"schema":%s,"data":[%s],"total_rows":%d,"total_columns":%d,"truncated":%s}' % (
        encode({'fields': fields, 'primaryKey': keys}), ','.join(data), rows, columns, 'true' if len(data) < rows or some < columns else 'false')
