"""Runs a test again as an ordinary user. The checkout may be under a closed directory, so what it needs is copied to an open one first.

As a program: as_user.py [--user NAME] [--copy PATH]... -- COMMAND... ; in COMMAND, {dir} stands for the directory with the copies."""
import fcntl
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

MADE = 'interp-test'
LOCK = '/run/interp-test-user.lock'


def runs_for(account, command, env):
    try:
        return subprocess.call(command, env=env, cwd='/', stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=dropper(account)) == 0
    except OSError:
        return False


def dropper(account):
    def drop():
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    return drop


def pick(name):
    """The account of that name; else some unprivileged one; else a new one. Returns (account, None or a lock that says that the new one is in use)."""
    try:
        if name and name != 'auto':
            return pwd.getpwnam(name), None
    except KeyError:
        pass
    for account in pwd.getpwall():
        if 1000 <= account.pw_uid < 60000 and not account.pw_name.startswith('interp-') and not account.pw_shell.endswith(('nologin', 'false')):
            return account, None
    lock = open(LOCK, 'w')
    fcntl.flock(lock, fcntl.LOCK_SH)
    try:
        return pwd.getpwnam(MADE), lock
    except KeyError:
        made = subprocess.call(['useradd', '--create-home', '--shell', '/bin/sh', MADE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return pwd.getpwnam(MADE), lock             # or another test's, which was quicker
    except KeyError:
        raise SystemExit('useradd ended with %d' % made) from None


def give_back(lock):
    """Removes the account that was made, with the last of the tests that run beside each other and use it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        subprocess.call(['userdel', '--remove', MADE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        pass
    lock.close()


def run(name, command, copies=(), env=None):
    """Runs command (a function of the directory with the copies and of a Python that the user may run) as the user; returns its exit status."""
    if os.geteuid() != 0:
        raise SystemExit('only root can become another user')
    account, lock = pick(name)
    folder = tempfile.mkdtemp(prefix='interp-as-user.')
    try:
        for path in copies:
            target = os.path.join(folder, os.path.basename(path.rstrip('/')))
            if os.path.isdir(path):
                shutil.copytree(path, target, ignore=shutil.ignore_patterns('__pycache__'))
            else:
                shutil.copy2(path, target)
        subprocess.check_call(['chmod', '-R', 'a+rX', folder])
        full = {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin', 'HOME': account.pw_dir, 'USER': account.pw_name,
                'LOGNAME': account.pw_name, 'LANG': 'C.UTF-8', 'PYTHONDONTWRITEBYTECODE': '1'}
        full.update({k: v for k, v in os.environ.items() if k.startswith('INTERP_')})
        full.update(env(folder) if env else {})
        python = next((p for p in (sys.executable, '/usr/bin/python3') if p and runs_for(account, [p, '-c', ''], full)), None)
        if python is None:
            raise SystemExit('no Python that user %s may run' % account.pw_name)
        sys.stdout.flush()
        return subprocess.call(command(folder, python), env=full, cwd=folder, stdin=subprocess.DEVNULL, preexec_fn=dropper(account))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock:
            give_back(lock)


def main():
    arguments, name, copies = sys.argv[1:], 'auto', []
    while arguments and arguments[0] != '--':
        option, value = arguments[0], arguments[1]
        arguments = arguments[2:]
        if option == '--user':
            name = value
        elif option == '--copy':
            copies.append(value)
        else:
            raise SystemExit(__doc__)
    sys.exit(run(name, lambda folder, python: [a.replace('{dir}', folder) for a in arguments[1:]], copies))


if __name__ == '__main__':
    main()
