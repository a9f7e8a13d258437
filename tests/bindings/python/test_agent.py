"""examples/agent.py: the scripted model from end to end, and the HTTP client against a server that speaks the protocol."""
import importlib.util
import json
import os
import struct
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import interp
import pytest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
EXAMPLES = os.path.join(TREE, 'examples')
spec = importlib.util.spec_from_file_location('agent', os.path.join(EXAMPLES, 'agent.py'))
agent = importlib.util.module_from_spec(spec)
spec.loader.exec_module(agent)


def run(*arguments, **environment):
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p), **environment)
    return subprocess.run([sys.executable, os.path.join(EXAMPLES, 'agent.py')] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          env=env, timeout=120)


def test_the_script(tmp_path):
    done = run('--script', os.path.join(EXAMPLES, 'agent.json'), '--file', os.path.join(EXAMPLES, 'sales.csv'), '--pictures', str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'TypeError' in done.stdout and 'north: 96.30' in done.stdout and done.stdout.rstrip().endswith('The picture shows all four.')
    (picture,) = tmp_path.iterdir()
    data = picture.read_bytes()
    assert data.startswith(b'\x89PNG') and min(struct.unpack('>II', data[16:24])) >= 200 and len(data) > 300


def test_a_script_that_is_not_fulfilled(tmp_path):
    script = tmp_path / 'script.json'
    script.write_text(json.dumps({'task': 't', 'turns': [{'tool_calls': [{'name': 'python', 'arguments': {'code': '1 + 1'}}]}, {'expect': ['3'], 'content': 'done'}]}))
    done = run('--script', str(script))
    assert done.returncode == 1 and "expects '3'" in done.stderr and '[value]\n2' in done.stderr
    assert run().returncode == 2 and 'no such file' in run('--script', str(tmp_path / 'none'), 't').stderr.lower()


class Server(HTTPServer):
    """Speaks chat completions: holds each request to the protocol, and answers from a list of (status, message or body, headers)."""

    def __init__(self, *answers):
        super().__init__(('127.0.0.1', 0), Handler)
        self.answers, self.requests, self.wrong = list(answers), [], []
        self.url = 'http://127.0.0.1:%d/v1' % self.server_port

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve_forever, kwargs={'poll_interval': 0.02})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        self.server.requests.append(request)
        self.server.wrong += list(self.violations(request))
        status, answer, headers = self.server.answers.pop(0)
        body = answer if isinstance(answer, bytes) else json.dumps({'id': 'x', 'object': 'chat.completion', 'choices': [{'index': 0, 'message': answer, 'finish_reason': 'stop'}]}).encode()
        self.send_response(status)
        for item in dict({'Content-Type': 'application/json', 'Content-Length': len(body)}, **headers).items():
            self.send_header(item[0], str(item[1]))
        self.end_headers()
        self.wfile.write(body)

    def violations(self, request):
        """What a real server refuses with 400."""
        if self.path != '/v1/chat/completions' or self.headers['Content-Type'] != 'application/json':
            yield self.path
        if self.headers['Authorization'] != 'Bearer key-1':
            yield 'no key'
        if request.get('model') != 'm-1' or [t['function']['name'] for t in request['tools']] != ['python', 'bash'] or any(t['type'] != 'function' for t in request['tools']):
            yield 'model or tools'
        open_calls = []
        for m in request['messages']:
            if m['role'] == 'tool':
                if m.get('tool_call_id') not in open_calls or not isinstance(m['content'], str):
                    yield 'an answer to no call'
                else:
                    open_calls.remove(m['tool_call_id'])
            else:
                if open_calls:
                    yield 'calls without an answer'
                open_calls = [c['id'] for c in m.get('tool_calls', [])]
                if m['role'] not in ('system', 'user', 'assistant') or (m.get('content') is None and not open_calls):
                    yield 'a message without content'
        if open_calls:
            yield 'calls without an answer at the end'

    def log_message(self, *_):
        pass


def calls(*items):
    return {'role': 'assistant', 'content': None, 'tool_calls': [
        {'id': 'c%d' % n, 'type': 'function', 'function': {'name': name, 'arguments': arguments if isinstance(arguments, str) else json.dumps(arguments)}} for n, (name, arguments) in enumerate(items)]}


def test_over_http(tmp_path):
    answers = [
        (429, b'{"error":{"message":"slow down"}}', {'Retry-After': '0.01'}),
        (200, calls(('python', {'code': 'x = 6'}), ('bash', {'code': 'echo $((40 + 2))'})), {}),
        (503, b'busy', {'Retry-After': '0'}),
        (200, calls(('python', {'code': 'x * 7'}), ('python', '{"code": '), ('rm', {'code': 'x'}), ('python', {'code': 'x', 'timeout_ms': 10 ** 9}), ('python', {'code': 5}), ('python', '[]')), {}),
        (200, {'role': 'assistant', 'content': 'It is 42.'}, {})]
    with Server(*answers) as server:
        done = run('--url', server.url, '--model', 'm-1', '--quiet', 'How much?', OPENAI_API_KEY='key-1')
    assert (done.stdout, done.returncode) == ('It is 42.\n', 0), done.stderr
    assert server.wrong == [] and not server.answers
    told = [m['content'] for m in server.requests[-1]['messages'] if m['role'] == 'tool']
    assert told[:3] == ['(no output)', '42', '[value]\n42'] and len(told) == 8 and all(t.startswith('No such call: the tools are python, bash') for t in told[3:])
    assert server.requests[0]['messages'][-1] == {'role': 'user', 'content': 'How much?'} and server.requests[0] == server.requests[1]


def test_what_goes_wrong_over_http():
    for answers, words in (([(401, b'{"error":{"message":"no such key"}}', {})], 'answers 401.*no such key'), ([(200, b'<html>', {})], 'no chat completion'),
                           ([(200, b'{"choices":[]}', {})], 'no chat completion'), ([(500, b'', {'Retry-After': '0'})] * 2, 'answers 500'),
                           ([(429, b'', {'Retry-After': 'Wed, 21 Oct 2015 07:28:00 GMT'}), (500, b'', {'Retry-After': '-1'})], 'answers 500')):
        with Server(*answers) as server:
            with pytest.raises(agent.ModelError, match=words):
                agent.http_model(server.url, 'm-1', 'key-1', tries=2)([{'role': 'user', 'content': 'x'}], agent.TOOLS)
        assert not server.answers and not server.wrong
    with pytest.raises(agent.ModelError, match='can not be reached'):
        agent.http_model('http://127.0.0.1:1/v1', 'm', tries=1)([], [])


def test_a_model_that_never_ends(session, tmp_path):
    with pytest.raises(agent.ModelError, match='no answer after 3 turns'):
        agent.agent('t', lambda *_: calls(('bash', {'code': 'true'})), session, str(tmp_path), max_turns=3)
    # code that can't be sent is told to the model
    assert 'NUL' in agent.run_call(session, calls(('bash', {'code': 'a\0b'}))['tool_calls'][0], str(tmp_path), lambda *_: None)
    assert interp.Result is type(session.bash(''))
