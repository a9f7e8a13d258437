import sys
if sys.version_info < (3, 6):
    sys.stderr.write('Python 3.6 or newer is needed; this is Python %d.%d\n' % tuple(sys.version_info[:2]))
    sys.exit(97)
def boot():
    import builtins, marshal, os
    from _frozen_importlib_external import MAGIC_NUMBER as magic
    environ = os.environ
    cached = environ.pop('INTERP_CACHED', '') == '1'
    wanted = environ.pop('INTERP_WANT_CACHE', '') == '1'
    for name in [name for name in environ if name.startswith('INTERP_')]:
        del environ[name]
    with open(4, 'rb', 0) as f:
        blob = f.readall()
    if cached:
        try:
            if blob[:4] != magic:
                raise ValueError('made by another version of Python')
            code = marshal.loads(blob[4:])
        except Exception as e:
            sys.stderr.write('the cached driver cannot be loaded: %s\n' % e)
            sys.stderr.flush()
            os._exit(96)
    else:
        code = compile(blob, '<interp driver>', 'exec', 0, True)
        if wanted:
            blob = magic + marshal.dumps(code)
            frame = bytes(4) + len(blob).to_bytes(4, 'little') + b'c' + bytes(7) + blob
            while frame:
                frame = frame[os.write(3, frame):]
    exec(code, {'__name__': '__interp_driver__', '__builtins__': dict(vars(builtins))})
boot()
