# probe.py - what a Python has: its version, the distributions that it finds, and the directories where it looks for them. Lines for probe.c; any Python 3.
def main():
    import os
    import sys

    def put(*fields):
        line = '\t'.join(str(f).replace('\t', ' ').replace('\n', ' ')[:300] for f in fields)
        os.write(1, (line + '\n').encode('utf-8', 'surrogateescape'))

    def look(where):
        try:
            s = os.stat(where)
            put('dir', where, '%d %d %d %d' % (s.st_ctime, s.st_nlink, s.st_size, s.st_ino))
        except OSError:
            put('dir', where, '-')

    put('lang', 'python', sys.executable, '.'.join(map(str, sys.version_info[:3])))
    seen = set()
    site = sys.modules.get('site')
    for where in sys.path + [site.getusersitepackages() if site else '']:
        if where[:1] != '/' or where in seen:
            continue
        seen.add(where)
        look(where)
        try:
            names = sorted(os.listdir(where))
        except OSError:
            continue
        for name in names:
            base, dot, kind = name.rpartition('.')
            if kind not in ('dist-info', 'egg-info') or not dot or len(seen) > 4000:
                continue
            parts = base.split('-')
            key = parts[0].lower().replace('_', '-')
            if key not in seen:
                seen.add(key)
                put('pkg', 'python', parts[0], parts[1] if len(parts) > 1 else '')


main()
