"""Answers each line on standard input with the milliseconds that code, an argument or `x=1`, takes through jupyter_client and ipykernel: from the request to its reply and the idle status.

SPDX-License-Identifier: MIT"""
import os
import subprocess
import sys
import time

from jupyter_client.manager import start_new_kernel


CODE = sys.argv[1] if len(sys.argv) > 1 else 'x=1'


def once(client):
    t = time.perf_counter()
    sent = client.execute(CODE, store_history=False)
    reply = idle = False
    while not reply:
        reply = client.get_shell_msg(timeout=20)['parent_header'].get('msg_id') == sent
    while not idle:
        m = client.get_iopub_msg(timeout=20)
        idle = m['parent_header'].get('msg_id') == sent and m['msg_type'] == 'status' and m['content']['execution_state'] == 'idle'
    return (time.perf_counter() - t) * 1e3


def main():
    os.environ['PYDEVD_DISABLE_FILE_VALIDATION'] = '1'
    manager, client = start_new_kernel(kernel_name='python3', stderr=subprocess.DEVNULL)
    try:
        for _ in sys.stdin:
            print('%.6f' % once(client), flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


main()
