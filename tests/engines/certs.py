"""Throw-away certificates for the engine's TCP socket: a CA, the server's and the client's, and a client's of a CA that the server does not know."""
import os
import subprocess

DAYS = 30


def openssl(folder, *arguments):
    subprocess.check_call(('openssl',) + arguments, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)


def authority(folder, name):
    openssl(folder, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', str(DAYS), '-subj', '/CN=interp test CA',
            '-keyout', name + '-key.pem', '-out', name + '.pem')


def issue(folder, ca, name, common_name, extensions):
    with open(os.path.join(folder, name + '.ext'), 'w') as f:
        f.write(extensions)
    openssl(folder, 'req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=' + common_name,
            '-keyout', name + '-key.pem', '-out', name + '.csr')
    openssl(folder, 'x509', '-req', '-in', name + '.csr', '-CA', ca + '.pem', '-CAkey', ca + '-key.pem', '-CAcreateserial', '-days', str(DAYS),
            '-extfile', name + '.ext', '-out', name + '.pem')


def make(folder):
    """Makes what is missing or ends within a day. Returns (server's folder, client's folder, stranger's folder), each with ca.pem, cert.pem, key.pem."""
    parts = [os.path.join(folder, part) for part in ('server', 'client', 'stranger')]
    last = os.path.join(parts[2], 'cert.pem')
    if os.path.exists(last) and subprocess.call(['openssl', 'x509', '-checkend', '86400', '-noout', '-in', last], stdout=subprocess.DEVNULL) == 0:
        return parts
    for part in parts:
        os.makedirs(part, exist_ok=True)
    authority(folder, 'ca')
    authority(folder, 'other')
    issue(folder, 'ca', 'server', 'localhost', 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\nextendedKeyUsage=serverAuth\n')
    issue(folder, 'ca', 'client', 'client', 'extendedKeyUsage=clientAuth\n')
    issue(folder, 'other', 'stranger', 'client', 'extendedKeyUsage=clientAuth\n')
    for part in parts:
        name = os.path.basename(part)
        os.replace(os.path.join(folder, name + '-key.pem'), os.path.join(part, 'key.pem'))
        with open(os.path.join(folder, 'ca.pem')) as f, open(os.path.join(part, 'ca.pem'), 'w') as g:
            g.write(f.read())
        os.replace(os.path.join(folder, name + '.pem'), os.path.join(part, 'cert.pem'))
    return parts
