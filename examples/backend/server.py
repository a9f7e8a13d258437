#!/usr/bin/env python3
"""Makes sandboxes for remote.c: server.py SOCKET. Each is bubblewrap around the guest agent, which talks over the very connection.

SPDX-License-Identifier: MIT"""
import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading

ROOT = ['--ro-bind', '/usr', '/usr', '--ro-bind-try', '/etc/alternatives', '/etc/alternatives', '--proc', '/proc', '--dev', '/dev', '--setenv', 'HOME', '/home']
# directories that are links into /usr on most systems
ROOT += [word for d in ('bin', 'lib', 'lib32', 'lib64', 'sbin') for word in (['--symlink', 'usr/' + d, '/' + d] if os.path.islink('/' + d) else ['--ro-bind-try', '/' + d, '/' + d])]
REACHED = {'isolation': 'namespaces', 'memory': 'watch', 'cpu': 'none', 'pids': 'rlimit', 'network': 'none', 'unenforced': ['cpu_millis', 'pids', 'workspace_inodes', 'file_bytes']}


def sandbox(connection, workspace, agent):
    """The process, and a descriptor of PID 1 inside: when that has ended, everything in its PID namespace has."""
    told, tell = os.pipe()
    command = ['bwrap', '--unshare-all', '--die-with-parent', '--as-pid-1', '--clearenv', '--hostname', 'sandbox', '--chdir', '/', '--info-fd', str(tell)] + ROOT
    for place in ('/workspace', '/tmp', '/home', '/run'):
        command += ['--perms', '1777', '--size', workspace, '--tmpfs', place]
    command += ['--perms', '0555', '--file', str(agent), '/.interp-agent', '--', '/.interp-agent', 'stdio']
    child = subprocess.Popen(command, stdin=connection, stdout=connection, pass_fds=[agent, tell])
    os.close(tell)
    with open(told) as f:
        pid = int(re.search('"child-pid": *([0-9]+)', f.read())[1])
    return child, os.pidfd_open(pid)


def line(connection):
    """The host's line, byte by byte: the agent follows it."""
    text = b''
    while not text.endswith(b'\n') and len(text) < 64:
        byte = connection.recv(1)
        if not byte:
            raise ConnectionError
        text += byte
    return text.decode().split()


def serve(connection):
    agent = os.memfd_create('agent')
    try:
        word, workspace, size = line(connection)
        left = int(size)
        if word != 'open' or not 0 < left <= 1 << 20:
            raise ValueError('not an order: %r' % word)
        while left:
            data = connection.recv(min(left, 1 << 16))
            if not data:
                raise ConnectionError
            os.write(agent, data)
            left -= len(data)
        os.lseek(agent, 0, os.SEEK_SET)
        child, first = sandbox(connection, workspace, agent)
        connection.sendall(b'ok ' + json.dumps(REACHED).encode() + b'\n')
        poll = select.poll()
        poll.register(connection, select.POLLRDHUP)
        poll.register(first, select.POLLIN)
        poll.poll()                        # the host has shut its side, or the sandbox has ended by itself
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
        poll.unregister(connection)
        poll.poll()
        os.close(first)
        child.wait()
    except (OSError, TypeError, ValueError) as e:
        print('no sandbox: %r' % e, file=sys.stderr)
    finally:
        os.close(agent)
        connection.close()


def main():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    os.chmod(sys.argv[1], 0o600)
    listener.listen(64)
    print('ready', flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


main()
