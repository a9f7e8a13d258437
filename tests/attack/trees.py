"""Helpers of the rows about archives: what is fed to the library, and what a sandbox gives it to unpack on the host."""
import ctypes
import gzip
import io
import json
import os
import tarfile
import tempfile

import interp_host
from mounts import directory, expect, put

_P, _S, _Z, _U32, _U64, _I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32
_PP = ctypes.POINTER(_P)
PROTOTYPES = {'interp_session_put_tar': (_I, _P, _S, _Z, _U32, _S, _Z, _PP, _PP), 'interp_session_get_tar': (_I, _P, _S, _Z, _U32, _U64, _PP, _PP), 'interp_session_get_dir': (_I, _P, _S, _Z, _U32, _U64, _S, _PP, _PP),
              'interp_session_put_dir': (_I, _P, _S, _Z, _U32, _S, _PP, _PP), 'interp_content_data': (_P, _P, ctypes.POINTER(_Z)), 'interp_content_free': (None, _P)}
KEEP, LINKS, OUTSIDE, INTO, FOREVER = 4, 8, 16, 32, 2 ** 64 - 1


def member(name, kind=tarfile.REGTYPE, content=b'', target='', mode=0o644, mtime=0):
    m = tarfile.TarInfo(name)
    m.type, m.size, m.linkname, m.mode, m.mtime = kind, len(content), target, mode, mtime
    return m.tobuf(tarfile.GNU_FORMAT) + content + b'\0' * (-len(content) % 512)


def archive(*members):
    return b''.join(members) + bytes(1024)


class TreeAttacks:
    def tree(self, s, name, path, *arguments):
        """The JSON of the call, or the archive; InterpError when it fails."""
        for function, (result, *kinds) in PROTOTYPES.items():
            getattr(s.lib, function).restype, getattr(s.lib, function).argtypes = result, kinds
        out, path = _P(), path.encode()
        s.host.check(getattr(s.lib, 'interp_session_' + name), s.handle, path, len(path), *arguments, ctypes.byref(out))
        try:
            got = s.host.text(s.lib.interp_content_data, out)
        finally:
            s.lib.interp_content_free(out)
        return got if name == 'get_tar' else json.loads(got.decode())

    def refused_tree(self, codes, s, *call):
        try:
            got = self.tree(s, *call)
        except interp_host.InterpError as e:
            expect(e.code in codes, call[0], e)
            return str(e)
        expect(False, call[0], 'was done', got)

    def up(self, s, data, flags=LINKS, path='in'):
        return self.tree(s, 'put_tar', path, flags, data, len(data))

    def up_refused(self, s, data, codes=('INTERP_E_DENIED', 'INTERP_E_INVAL'), flags=LINKS):
        return self.refused_tree(codes, s, 'put_tar', 'in', flags, data, len(data))

    def nothing_outside(self, s):
        x = s.exec('bash', 'cd /workspace; find . /tmp -mindepth 1 ! -path "./in*" | head; ls -A /workspace/.. | grep -c evil')
        expect(x.bytes('stdout').split() == [b'0'], x)

    def help_T01(self):
        with self.open() as s:
            for name in ('../../evil', '/etc/evil', 'a/../../evil', './../evil', 'C:\\evil', 'a\\..\\evil', '..', 'a/..'):
                said = self.up_refused(s, archive(member('good', content=b'x'), member(name, content=b'evil')))
                expect('entries have been placed' in said, said)
            self.nothing_outside(s)

    def help_T02(self):
        with self.open() as s:
            self.up_refused(s, archive(member('x', tarfile.SYMTYPE, target='/etc'), member('x/passwd', content=b'evil')))
            s.exec('bash', 'mkdir -p /workspace/in/real; ln -s real /workspace/in/l; ln -s /tmp /workspace/in/out')
            self.up_refused(s, archive(member('l/f', content=b'evil')))
            self.up_refused(s, archive(member('out/evil', content=b'evil')))
            self.up_refused(s, archive(member('x', tarfile.SYMTYPE, target='/tmp'), member('x/evil', content=b'evil')), flags=LINKS | OUTSIDE)
            self.up_refused(s, archive(member('h', tarfile.LNKTYPE, target='../../etc/hostname')))
            self.up_refused(s, archive(member('d/l', tarfile.SYMTYPE, target='../f'), member('l', tarfile.LNKTYPE, target='d/l')))
            self.nothing_outside(s)

    def help_T04(self):
        with self.open() as s:
            for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, b'Z', tarfile.GNUTYPE_SPARSE):
                self.up_refused(s, archive(member('odd', kind)))
            x = s.exec('bash', 'find /workspace -name odd | wc -l')
            expect(x.bytes('stdout').strip() == b'0', x)
            s.exec('bash', 'cd /workspace; mkdir t; cd t; mkfifo p; python3 -c \'import socket; socket.socket(socket.AF_UNIX).bind("s")\'; ln -s /dev/zero z; ln /dev/zero y')
            with directory() as d:
                facts = self.tree(s, 'get_dir', 't', 0, FOREVER, (d + '/got').encode())
                expect(os.listdir(d + '/got') == [] and facts['left_total'] >= 2, facts)

    def help_T05(self):
        with self.open() as s:
            self.up(s, archive(member('f', content=b'x', mode=0o6777), member('d', tarfile.DIRTYPE, mode=0o7777)))
            x = s.exec('bash', 'cd /workspace/in; stat -c %a f d; chmod 7777 f d')
            expect(x.bytes('stdout').split() == [b'777', b'777'], x)
            with directory() as d:
                self.tree(s, 'get_dir', 'in', 0, FOREVER, (d + '/got').encode())
                for name in ('', '/f', '/d'):
                    expect(os.stat(d + '/got' + name).st_mode & 0o7022 == 0, name, oct(os.stat(d + '/got' + name).st_mode))

    def help_T11(self):
        """On a host that takes two names for one, the second is refused; here: what is there already."""
        with self.open() as s, directory() as d:
            s.exec('bash', 'cd /workspace; mkdir t; echo new > t/f')
            os.mkdir(d + '/got')
            put(d + '/got/f', 'old')
            self.refused_tree(('INTERP_E_EXISTS',), s, 'get_dir', 't', INTO, FOREVER, (d + '/got').encode())
            expect(open(d + '/got/f').read() == 'old', 'replaced')

    def help_T12(self):
        def header(name, change, kind=b'0'):
            h = bytearray(member(name, kind)[:512])
            for at, what in change.items():
                h[at:at + len(what)] = what
            h[148:156] = b' ' * 8
            h[148:156] = b'%06o\0 ' % sum(h)
            return bytes(h)

        def pax(*records):
            text = b''.join(b'%d %s\n' % (len(r) + 2 + len(str(len(r) + 4)), r) for r in records)
            return header('x', {124: b'%011o\0' % len(text)}, b'x') + text + b'\0' * (-len(text) % 512)
        with self.open() as s:
            for bad in (header('f', {124: b'\x80' + b'\xff' * 11}), header('f', {124: b'\xff' * 12}), header('l', {124: b'\x80\0\0\0\0\0\0\0\x40\0\0\0'}, b'L'), member('f')[:148] + b'0000000\0' + member('f')[156:],
                        pax(b'path=../evil') + member('f'), pax(b'linkpath=/etc') + member('f', tarfile.SYMTYPE, target='x'), pax(b'size=-1') + member('f'), pax(b'size=99999999999999999999') + member('f'),
                        pax(b'path=a', b'path=b') + member('f'), pax(b'path=a') + pax(b'path=b') + member('f'), pax(b'GNU.sparse.map=0,1') + member('f'), pax(b'path=a') + bytes(512)):
                self.up_refused(s, archive(bad))
            said = self.up_refused(s, header('f', {124: b'\x80\0\0\0\x10\0\0\0\0\0\0\0'}), ('INTERP_E_INVAL', 'INTERP_E_LIMIT'))
            expect('"f"' in said, said)
            for behind in (archive(member('f')) + archive(member('evil')), archive(member('f')) + b'x', gzip.compress(archive(member('f'))) + b'x', gzip.compress(archive(member('f')))[:-3]):
                self.up_refused(s, behind, ('INTERP_E_INVAL',))
            two = archive(member('f', content=b'first'), member('f', content=b'second'))
            self.up_refused(s, two, ('INTERP_E_EXISTS',), LINKS | KEEP)

    def help_T13(self):
        with self.open(tree_entries=5000) as s:
            entries = gzip.compress(b''.join(member('%d' % i) for i in range(100)) * 1000, 1)
            said = self.up_refused(s, entries, ('INTERP_E_LIMIT',))
            expect('more entries' in said, said)
            said = self.up_refused(s, gzip.compress(archive(member('f')) + bytes(64 << 20), 1), ('INTERP_E_INVAL',))
            expect('behind' in said, said)
            self.up_refused(s, archive(member('d/' * 10000 + 'f')), ('INTERP_E_INVAL', 'INTERP_E_DENIED', 'INTERP_E_LIMIT'))
            self.up_refused(s, archive(member('d/' * 1000 + 'f')), ('INTERP_E_LIMIT',))
            s.exec('bash', 'cd /workspace; rm -rf in; mkdir t; cd t; seq 6000 | xargs touch')
            self.refused_tree(('INTERP_E_LIMIT',), s, 'get_tar', 't', 0, FOREVER)

    def help_T15(self):
        with self.open() as s, directory() as d:
            s.exec('bash', 'cd /workspace; mkdir -p t/sub; echo evil > t/sub/key; ln -s %s/victim t/l' % d)
            for name in ('victim', 'dest'):
                os.mkdir(os.path.join(d, name))
            os.symlink(d + '/victim', d + '/dest/sub')
            self.refused_tree(('INTERP_E_EXISTS', 'INTERP_E_DENIED'), s, 'get_dir', 't', INTO | LINKS, FOREVER, (d + '/dest').encode())
            os.symlink(d + '/victim', d + '/dest2')
            self.refused_tree(('INTERP_E_EXISTS', 'INTERP_E_DENIED', 'INTERP_E_INVAL'), s, 'get_dir', 't', INTO, FOREVER, (d + '/dest2').encode())
            self.refused_tree(('INTERP_E_EXISTS',), s, 'get_dir', 't', 0, FOREVER, (d + '/dest').encode())
            expect(os.listdir(d + '/victim') == [], os.listdir(d + '/victim'))

    def help_T17(self):
        with self.open() as s, directory() as d:
            for mtime in (-1, -2 ** 40, 2 ** 33, 2 ** 63 - 1):
                self.up(s, archive(member('f', content=b'x', mtime=mtime)))
            x = s.exec('bash', 'cd /workspace/in; stat -c %%U f; touch -d @-1 f; python3 -c "import os; os.utime(%r, ns=(0, 2 ** 62))"' % 'f')
            expect(x.bytes('stdout').strip() != b'root', x)
            self.tree(s, 'get_dir', 'in', 0, FOREVER, (d + '/got').encode())
            expect(os.stat(d + '/got/f').st_uid == os.getuid(), 'owner')
            with tarfile.open(fileobj=io.BytesIO(self.tree(s, 'get_tar', 'in', 0, FOREVER))) as t:
                expect([(m.name, m.uname) for m in t] == [('f', '')], 'names of owners')

    def help_R21(self):
        """Packed zeros come down as they are, and unpacked zeros that are sent count as such."""
        with self.open(tree_bytes=8 << 20) as s, directory() as d:
            s.exec('bash', 'cd /workspace; mkdir t; head -c 50000000 /dev/zero | gzip > t/bomb.gz')
            facts = self.tree(s, 'get_dir', 't', 0, FOREVER, (d + '/got').encode())
            expect(facts['bytes'] == os.path.getsize(d + '/got/bomb.gz') < 1 << 20, facts)
            with tempfile.TemporaryFile() as f:
                with gzip.GzipFile(fileobj=f, mode='wb', compresslevel=1) as z:
                    z.write(archive(member('z', content=bytes(9 << 20))))
                f.seek(0)
                said = self.up_refused(s, f.read(), ('INTERP_E_LIMIT',))
            expect('more bytes' in said, said)
