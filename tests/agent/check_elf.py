"""What each embedded agent promises as a program: check_elf.py FILE... Static and freestanding (no interpreter, no library), for the architecture in its name,
no segment that is both writable and executable, no executable stack (ELF64: System V gABI, chapters 4 and 5), and at most 100 KB."""
import os
import struct
import sys

LIMIT = 100 * 1024
MACHINES = {'x86_64': 62, 'aarch64': 183}
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK = 1, 2, 3, 0x6474e551
PF_X, PF_W = 1, 2
DT_NULL, DT_NEEDED, DT_TEXTREL = 0, 1, 22


def faults(path):
    data = open(path, 'rb').read()
    arch = os.path.basename(path).split('-')[1]
    if data[:6] != b'\x7fELF\x02\x01':
        yield 'is no 64-bit little-endian ELF file'
        return
    machine = struct.unpack_from('<H', data, 18)[0]
    if machine != MACHINES[arch]:
        yield 'is for machine %d, not %s' % (machine, arch)
    start, = struct.unpack_from('<Q', data, 32)
    size, count = struct.unpack_from('<HH', data, 54)
    stack = None
    for i in range(count):
        kind, flags, offset, _, _, length = struct.unpack_from('<IIQQQQ', data, start + i * size)
        if kind == PT_INTERP:
            yield 'asks for a dynamic linker'
        if kind == PT_LOAD and flags & PF_X and flags & PF_W:
            yield 'has a segment that is writable and executable'
        if kind == PT_GNU_STACK:
            stack = flags
        if kind == PT_DYNAMIC:
            for tag, _ in struct.iter_unpack('<qQ', data[offset:offset + length]):
                if tag == DT_NULL:
                    break
                if tag in (DT_NEEDED, DT_TEXTREL):
                    yield 'has dynamic tag %d: it needs a library, or text that is written to' % tag
    if stack is None or stack & PF_X:
        yield 'has an executable stack'
    if len(data) > LIMIT:
        yield 'has %d bytes, more than %d' % (len(data), LIMIT)


failed = 0
for name in sys.argv[1:]:
    found = list(faults(name))
    failed += bool(found)
    print('%s %s: %s' % ('FAIL' if found else 'ok', os.path.basename(name), '; it '.join(found) or '%d bytes' % os.path.getsize(name)))
print('%d passed, %d failed, 0 skipped' % (len(sys.argv) - 1 - failed, failed))
sys.exit(1 if failed or len(sys.argv) < 2 else 0)
