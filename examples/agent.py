#!/usr/bin/env python3
"""An agent in one file: a model asks for code to be run, the code runs in a sandbox, the model sees what came of it, until it answers.

    agent.py --script examples/agent.json --file examples/sales.csv                      # a model that reads its turns from a file
    OPENAI_API_KEY=... agent.py --model NAME --file sales.csv "Which region sold most?"   # any server that speaks chat completions

The model is a function from (messages, tools) to the next message, in the form of the chat completions API: `http_model` and `scripted_model` make two."""
import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request

import interp

SYSTEM = ('You have a sandbox with tools that run code. Variables, files in /workspace and the working directory are kept from call to call. '
          'When code fails, read the error and try again. Answer in plain words when you are done.')
LANGUAGES = {'python': 'Runs Python. The value of the last expression is shown, and so are pictures.', 'bash': 'Runs Bash.'}
TOOLS = [{'type': 'function', 'function': {'name': name, 'description': words, 'parameters': {
    'type': 'object', 'properties': {'code': {'type': 'string', 'description': 'The code to run.'}}, 'required': ['code'], 'additionalProperties': False}}}
    for name, words in LANGUAGES.items()]


class ModelError(Exception):
    """The model can't be asked, or says what makes no sense."""


# -- models

def http_model(url, name, key=None, timeout=120, tries=4):
    """A model behind an HTTP API of the chat completions kind."""
    def ask(messages, tools):
        body = json.dumps({'model': name, 'messages': messages, 'tools': tools}).encode('utf-8')
        headers = {'Content-Type': 'application/json', **({'Authorization': 'Bearer ' + key} if key else {})}
        for attempt in range(1, tries + 1):
            try:
                with urllib.request.urlopen(urllib.request.Request(url.rstrip('/') + '/chat/completions', body, headers), timeout=timeout) as response:
                    return json.loads(response.read())['choices'][0]['message']
            except urllib.error.HTTPError as e:
                if attempt == tries or e.code not in (408, 409, 429) and e.code < 500:
                    raise ModelError('%s answers %d: %s' % (url, e.code, e.read(2000).decode('utf-8', 'replace'))) from None
                try:
                    after = float(e.headers.get('Retry-After') or '')
                except ValueError:      # none, or a date
                    after = 0.5 * 2 ** attempt
                time.sleep(max(0, min(after, 30)))
            except (urllib.error.URLError, OSError) as e:
                if attempt == tries:
                    raise ModelError('%s can not be reached: %s' % (url, e)) from None
                time.sleep(0.5 * 2 ** attempt)
            except (ValueError, LookupError, TypeError):
                raise ModelError('%s answers with something that is no chat completion' % url) from None
    return ask


def scripted_model(path):
    """A model that takes its turns from a JSON file: {"task": ..., "turns": [{"expect": [...], "content": ..., "tool_calls": [{"name", "arguments"}]}]}.
    `expect` are texts that the last message must hold: the script then knows that what it relies on has happened."""
    with open(path, encoding='utf-8') as f:
        script = json.load(f)
    turns = iter(script['turns'])

    def ask(messages, tools):
        turn = next(turns, None)
        if turn is None:
            raise ModelError('the script has no more turns')
        for text in turn.get('expect', []):
            if text not in messages[-1]['content']:
                raise ModelError('the script expects %r in:\n%s' % (text, messages[-1]['content']))
        calls = [{'id': 'call-%d-%d' % (len(messages), n), 'type': 'function', 'function': {'name': c['name'], 'arguments': json.dumps(c['arguments'])}}
                 for n, c in enumerate(turn.get('tool_calls', []))]
        return {'role': 'assistant', 'content': turn.get('content'), **({'tool_calls': calls} if calls else {})}
    ask.task = script.get('task')
    return ask


# -- the loop

def pictures(result):
    """(MIME type, bytes) of the pictures that the code showed."""
    for bundle in [result.value_mime] + result.rich:
        for mime in ('image/png', 'image/jpeg', 'image/svg+xml'):
            if mime in bundle:
                data = bundle[mime]
                yield mime, data if isinstance(data, bytes) else data.encode('utf-8')
                break


def run_call(session, call, folder, say):
    """Runs one tool call and gives the text for the model. What a model may ask for is code, and nothing else."""
    function = call.get('function') or {}
    name = function.get('name')
    try:
        arguments = json.loads(function.get('arguments') or '')
        code = arguments['code']
        if name not in LANGUAGES or not isinstance(code, str) or len(arguments) != 1:
            raise KeyError
    except (ValueError, LookupError, TypeError):
        return 'No such call: the tools are %s, and take {"code": "..."}.' % ', '.join(LANGUAGES)
    say('--- %s' % name, code)
    try:
        result = session.run(name, code)
    except interp.InvalidError as e:        # code that can't be sent, such as one with a NUL
        return str(e)
    text = str(result)
    for n, (mime, data) in enumerate(pictures(result), 1):
        path = os.path.join(folder, 'picture-%d-%d.%s' % (result.exec, n, {'image/png': 'png', 'image/jpeg': 'jpg'}.get(mime, 'svg')))
        with open(path, 'wb') as f:
            f.write(data)
        text += '\n[the user sees the picture %s]' % os.path.basename(path)
    say('--- result', text)
    return text or '(no output)'


def agent(task, model, session, folder='.', max_turns=20, say=lambda *_: None):
    """Lets the model work on the task; its answer."""
    messages = [{'role': 'system', 'content': SYSTEM}, {'role': 'user', 'content': task}]
    for _ in range(max_turns):
        message = model(messages, TOOLS)
        calls = message.get('tool_calls') or []
        messages.append({'role': 'assistant', 'content': message.get('content'), **({'tool_calls': calls} if calls else {})})
        if not calls:
            return message.get('content') or ''
        for call in calls:
            messages.append({'role': 'tool', 'tool_call_id': call.get('id'), 'content': run_call(session, call, folder, say)})
    raise ModelError('no answer after %d turns' % max_turns)


def main():
    parser = argparse.ArgumentParser(description='Answers a question by running code in a sandbox.')
    parser.add_argument('task', nargs='?', help='what to do; with --script, the file may say it')
    parser.add_argument('--script', help='JSON file of turns, instead of a model')
    parser.add_argument('--url', default=os.environ.get('OPENAI_BASE_URL', 'https://api.openai.com/v1'), help='base of the chat completions API')
    parser.add_argument('--model', help='name of the model')
    parser.add_argument('--file', action='append', default=[], help='file to put into /workspace; may be given several times')
    parser.add_argument('--pictures', default='.', help='directory that pictures are written to')
    parser.add_argument('--max-turns', type=int, default=20)
    parser.add_argument('--quiet', action='store_true', help='only the answer')
    options = parser.parse_args()
    if not options.script and not options.model:
        parser.error('give --script FILE or --model NAME')
    model = scripted_model(options.script) if options.script else http_model(options.url, options.model, os.environ.get('OPENAI_API_KEY'))
    task = options.task or getattr(model, 'task', None) or parser.error('give a task')

    def say(title, text):
        if not options.quiet:
            print('%s\n%s' % (title, text.rstrip('\n')), flush=True)
    try:
        with interp.Session(timeout_ms=60_000, memory_bytes=1 << 30) as session:
            for path in options.file:
                with open(path, 'rb') as f:
                    session.files.write(os.path.basename(path), f)
            answer = agent(task, model, session, options.pictures, options.max_turns, say)
    except (ModelError, interp.StatusError, OSError) as e:
        sys.exit('agent.py: %s' % e)
    say('--- answer', answer) if not options.quiet else print(answer)


if __name__ == '__main__':
    main()
