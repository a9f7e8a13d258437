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
import time

ROOT = ['--ro-bind', '/usr', '/usr', '--ro-bind-try', '/etc/alternatives', '/etc/alternatives', '--proc', '/proc', '--dev', '/dev', '--setenv', 'HOME', '/home']
# directories that are links into /usr on most systems
ROOT += [word for d in ('bin', 'lib', 'lib32', 'lib64', 'sbin') for word in (['--symlink', 'usr/' + d, '/' + d] if os.path.islink('/' + d) else ['--ro-bind-try', '/' + d, '/' + d])]
REACHED = {'isolation': 'namespaces', 'memory': 'watch', 'cpu': 'none', 'pids': 'rlimit', 'network': 'none', 'unenforced': ['cpu_millis', 'pids', 'workspace_inodes', 'file_bytes']}


ORDER_SECONDS = 10      # in which the host must have said all that it wants


@contextlib.contextmanager
def sandbox(connection, workspace, agent):
    """A descriptor of PID 1 inside: when that has ended, everything in its PID namespace has. At the end of the `with` it has, whatever happened."""
    told, tell = os.pipe()
    command = ['bwrap', '--unshare-all', '--die-with-parent', '--as-pid-1', '--clearenv', '--hostname', 'sandbox', '--chdir', '/', '--info-fd', str(tell)] + ROOT
    for place in ('/workspace', '/tmp', '/home', '/run'):
        command += ['--perms', '1777', '--size', workspace, '--tmpfs', place]
    command += ['--perms', '0555', '--file', str(agent), '/.interp-agent', '--', '/.interp-agent', 'stdio']
    with open(told) as answer:
        try:
            child = subprocess.Popen(command, stdin=connection, stdout=connection, pass_fds=[agent, tell])
        finally:
            os.close(tell)
        first = -1
        try:
            first = os.pidfd_open(int(re.search('"child-pid": *([0-9]+)', answer.read())[1]))
            yield first
        finally:
            if first >= 0:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(first, signal.SIGKILL)
                ended = select.poll()
                ended.register(first, select.POLLIN)
                ended.poll()
                os.close(first)
            child.kill()
            child.wait()


def take(connection, most, end):
    connection.settimeout(max(0.001, end - time.monotonic()))
    data = connection.recv(most)
    if not data:
        raise ConnectionError
    return data


def line(connection, end):
    """The host's line, byte by byte: the agent follows it."""
    text = b''
    while not text.endswith(b'\n') and len(text) < 64:
        text += take(connection, 1, end)
    return text.decode().split()


def serve(connection):
    agent = os.memfd_create('agent')
    try:
        end = time.monotonic() + ORDER_SECONDS
        word, workspace, size = line(connection, end)
        left = int(size)
        if word != 'open' or not 0 < left <= 1 << 20:
            raise ValueError('not an order: %r' % word)
        while left:
            data = take(connection, min(left, 1 << 16), end)
            os.write(agent, data)
            left -= len(data)
        os.lseek(agent, 0, os.SEEK_SET)
        connection.settimeout(None)        # the agent shares it, and this with it
        with sandbox(connection, workspace, agent) as first:
            connection.sendall(b'ok ' + json.dumps(REACHED).encode() + b'\n')
            poll = select.poll()
            poll.register(connection, select.POLLRDHUP)
            poll.register(first, select.POLLIN)
            poll.poll()                    # the host has shut its side, or the sandbox has ended by itself
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
