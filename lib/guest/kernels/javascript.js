// Node.js driver of libinterp, Node 16 and newer, no packages; see PROTOCOL.md.  javascript_boot.js runs this text in a context of
// its own: arrays, promises, JSON and the like in here are the driver's, whatever user code does to Array.prototype or JSON.
// What comes from Node (host.main is the user's global object) is taken once, at the start.
//
// User code is evaluated by V8's inspector in REPL mode: top-level await, redeclaration and completion values are V8's own.  acorn,
// which ships inside Node, gives exact positions for the few rewrites: import, import(), const -> let, class, {object literal}.
(function (host) {
'use strict';
const { process, require, main, wrap } = host;
const { writeSync, openSync, closeSync } = require('fs');
const { inspect, types: { isPromise, isNativeError }, promisify: { custom: promisified } } = require('util');
const vm = require('vm'), pathModule = require('path'), Module = require('module');
const { join, resolve: resolvePath } = pathModule;
const { apply } = Reflect, then = main.Promise.prototype.then, bufferFrom = main.Buffer.from, MainError = main.Error, MainSyntaxError = main.SyntaxError;
const { setTimeout: realTimeout, setImmediate: realImmediate, clearTimeout: realClearTimeout, clearImmediate: realClearImmediate } = main;
const { on, listeners, listenerCount, removeListener } = require('events').prototype;
const list = (a) => { const l = []; for (let i = 0; i < a.length; i++) l[i] = a[i]; return l; };      // the user's arrays: not by their iterator
const heard = (name) => list(apply(listeners, process, [name]));
const cwd = process.cwd, reallyExit = process.reallyExit.bind(process), pid = process.pid;
const encoder = new main.TextEncoder(), decoder = new main.TextDecoder('utf-8');
const encode = encoder.encode.bind(encoder), decode = decoder.decode.bind(decoder);
const TEXT_CAP = 65536, MESSAGE_CAP = 16384, HTML_CAP = 1 << 20, BINARY_CAP = 8 << 20, TOTAL_CAP = 32 << 20;
const JSON_CAP = 1 << 20, BUNDLES = 250, PARTS = 16, MIME_CAP = 127;     // of a frame's JSON; displays an exec, forms of one, length of a type: the host takes no more
const SOURCES = 2000, SOURCES_CAP = 4 << 20, STACK_CAP = 1 << 20, LINE_CAP = 4000;
const OK = 1, ERROR = 2, EXIT = 3, INTERRUPTED = 4;
process.execArgv = [];                      // a child process that user code forks gets none of our flags

// ---------------------------------------------------------------- stack traces
// No error shows frames of ours, nor those of Node that only carry them: the ones between ours, next above them and from them down to the end.
// They are taken out below Error.prepareStackTrace, which stays the user's.
try {
  const { prepareStackTrace, prepareStackTraceCallback: format = prepareStackTrace } = require('internal/errors'), MainArray = main.Array;
  if (typeof format !== 'function') throw format;
  const file = (site) => { try { return site.getScriptNameOrSourceURL() || ''; } catch { return ''; } };
  const ours = (f) => f === 'interp:driver' || f === 'interp:run' || f === '[eval]';
  const without = (trace) => {
    const files = list(trace).map(file);
    if (!files.some(ours)) return trace;
    let below = true;                       // what is next below was taken out, or there is nothing
    for (let i = files.length - 1; i >= 0; i--) {
      below = ours(files[i]) || (below && (files[i] === '' || files[i].startsWith('node:')));
      if (below) files[i] = null;
    }
    const left = new MainArray();
    for (let i = 0; i < files.length; i++) if (files[i] !== null) left[left.length] = trace[i];
    return left;
  };
  require('internal/test/binding').internalBinding('errors').setPrepareStackTraceCallback((global, error, trace) => {
    let left = trace; try { left = without(trace); } catch { /* as it is */ }
    return format(global, error, left);
  });
} catch { /* no --expose-internals, or another Node's */ }

// ---------------------------------------------------------------- control
const CONTROL = 3;                          // Node makes inherited descriptors close-on-exec by itself
let token = [0, 0, 0, 0];
const nap = new Int32Array(new SharedArrayBuffer(4));
function writeAll(fd, bytes) {
  for (let at = 0; at < bytes.length;) {
    try { at += writeSync(fd, bytes, at, bytes.length - at); } catch (e) {
      if (e.code !== 'EAGAIN') throw e;
      Atomics.wait(nap, 0, 0, 1);
    }
  }
}
function send(kind, status, object, parts) {
  let json = object ? encode(JSON.stringify(object)) : [];
  if (json.length > JSON_CAP && object.error) {         // most of it escapes
    const e = object.error;
    json = encode(JSON.stringify(Object.assign({}, object, { error: Object.assign({}, e, { frames: e.frames.slice(-10), message: clip(e.message, 4096), traceback: clip(e.traceback, 16384) }) })));
  }
  let size = 0; for (const p of parts || []) size += p.length;
  const frame = new Uint8Array(16 + json.length + size), view = new DataView(frame.buffer);
  view.setUint32(0, json.length, true); view.setUint32(4, size, true);
  frame[8] = kind.charCodeAt(0); frame[9] = status; frame.set(token, 12); frame.set(json, 16);
  let at = 16 + json.length; for (const p of parts || []) { frame.set(p, at); at += p.length; }
  writeAll(CONTROL, frame);
}
let binding = process.binding;
try { binding = require('internal/test/binding').internalBinding; } catch { /* no --expose-internals */ }
const { Pipe, constants: { SOCKET } } = binding('pipe_wrap');
const { streamBaseState, kReadBytesOrError, kArrayBufferOffset } = binding('stream_wrap');
const control = new Pipe(SOCKET);
const head = new Uint8Array(16); let headFill = 0, body = null, bodyFill = 0;
control.onread = function (buffer) {
  const n = streamBaseState[kReadBytesOrError];
  if (n < 0) reallyExit(0);
  if (n === 0) return;
  let bytes = new Uint8Array(buffer, streamBaseState[kArrayBufferOffset], n);
  while (bytes.length || body) {
    if (!body) {
      const k = Math.min(16 - headFill, bytes.length);
      head.set(bytes.subarray(0, k), headFill); headFill += k; bytes = bytes.subarray(k);
      if (headFill < 16) return;
      const view = new DataView(head.buffer);
      body = new Uint8Array(view.getUint32(0, true) + view.getUint32(4, true)); bodyFill = 0;
    }
    const k = Math.min(body.length - bodyFill, bytes.length);
    body.set(bytes.subarray(0, k), bodyFill); bodyFill += k; bytes = bytes.subarray(k);
    if (bodyFill < body.length) return;
    const whole = body, at = new DataView(head.buffer).getUint32(0, true); body = null; headFill = 0;
    receive(String.fromCharCode(head[8]), head[9], at ? JSON.parse(decode(whole.subarray(0, at))) : {}, whole.subarray(at));
  }
};
// A SIGINT for the last exec may be heard late, since any thread may get it: it is waited for, up to 200 ms on a busy machine, while there is no exec that
// it could hit. If it came as a watchdog stopped, Node has it in a semaphore, and the next watchdog would end the code that it guards: so one with
// nothing to guard takes it, now and then.
let sigints = 0, overdue = false;
function inSemaphore() {
  sigint.stop(); watchdog.start();
  for (let i = 0; i < 5 && !watchdog.pending(); i++) Atomics.wait(nap, 0, 0, 1);
  let there = watchdog.pending();
  if (watchdog.stop()) there = true;
  sigint.stop(); sigint.start(2);
  return there;
}
function afterSignals(turn, go) {
  if (overdue && !sigints && turn < 200 && !(turn % 20 === 19 && inSemaphore())) { realTimeout(afterSignals, 1, turn + 1, go); return; }
  sigints = 0; go();
}
function receive(kind, status, request, blob) {
  if (kind === 'P') { token = [...head.subarray(12, 16)]; openStreams(decode(blob), (status & 1) === 1, (status & 4) === 4); overdue = (status & 2) && !sigints; }
  else if (kind === 'E') { token = [...head.subarray(12, 16)]; afterSignals(0, () => exec(request, blob)); }
  else reallyExit(0);
}

// ---------------------------------------------------------------- streams
function syncStream(fd) {                   // writes are synchronous: all output is in the pipe before the final frame
  const { Writable } = require('stream');
  const s = new Writable({
    decodeStrings: false,
    write(chunk, encoding, done) {
      try { writeAll(fd, typeof chunk === 'string' ? bufferFrom(chunk, encoding) : chunk); } catch { /* closed by user code, or nobody reads */ }
      done();
    },
  });
  // Past Writable's own state: an interrupt in the middle of a write would leave it "writing" for ever, and all later output in its queue.
  const slow = s.write, { nextTick } = process;
  s.write = function write(chunk, encoding, done) {
    if (typeof encoding === 'function') { done = encoding; encoding = undefined; }
    if ((typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) || s.writableEnded || s.destroyed || s.writableCorked) return apply(slow, s, [chunk, encoding, done]);
    try { writeAll(fd, typeof chunk === 'string' ? bufferFrom(chunk, encoding) : chunk); } catch { /* closed by user code, or nobody reads */ }
    if (typeof done === 'function') apply(nextTick, process, [done]);
    return true;
  };
  s.fd = fd; s._type = 'pipe'; s._isStdio = true; s.destroySoon = s.destroy; s._destroy = (e, done) => done(e);
  return s;
}
let out, err, stdin = null, stdinGiven = false;
function getter(object, name, get) {
  Object.defineProperty(object, name, { get, set: (value) => Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: true }), configurable: true, enumerable: true });
}
function newConsole() {
  const { Console } = require('console');
  // The global console also feeds every message to the connected inspector, which keeps the arguments: ours does not.
  const c = new Console({ stdout: out, stderr: err, ignoreErrors: true, colorMode: false });
  c.Console = Console;
  Object.defineProperty(main, 'console', { value: c, writable: true, configurable: true, enumerable: false });
}
function stdio() {
  out = syncStream(1); err = syncStream(2);
  getter(process, 'stdout', () => out); getter(process, 'stderr', () => err);
  getter(process, 'stdin', () => {
    if (stdin) return stdin;
    if (screen) return stdin = new (require('tty').ReadStream)(0);
    if (!stdinGiven) return stdin = new (require('fs').ReadStream)(null, { fd: 0, autoClose: false });
    stdin = new (require('net').Socket)({ fd: 0, readable: true, writable: false, manualStart: true });
    if (stdin._handle && stdin._handle.readStop) { stdin._handle.reading = false; stdin._readableState.reading = false; stdin._handle.readStop(); }
    stdin.on('pause', () => { const h = stdin && stdin._handle; if (h && h.reading) { h.reading = false; h.readStop(); } });
    stdin.fd = 0;
    return stdin;
  });
}
// Node has no dup2(): close the number and open it again; another thread may take it in between, then once more.
function reopen(fd, path, flags) {
  for (let i = 0; i < 400; i++) {
    try { closeSync(fd); } catch { /* user code closed it */ }
    const got = openSync(path, flags);
    if (got === fd) return;
    closeSync(got);
    Atomics.wait(nap, 0, 0, 5);
  }
  reallyExit(70);
}
// At a terminal: our streams, which write at once, with what Node's own have for it. The one of Node's is there to know the size and to hear of changes.
let screen = null;
const onHangup = () => {}, onResize = () => { if (screen) screen._refreshSize(); };       // the end of a terminal is no end of ours; sizes are looked up as Node does for its own
const screenMethods = ['cursorTo', 'moveCursor', 'clearLine', 'clearScreenDown', 'getColorDepth', 'hasColors', 'getWindowSize'];
function leaveTerminal() {
  if (!screen) return;
  try { screen.destroy(); } catch { /* exotic */ }
  screen = null;
  stdio(); newConsole();
}
function takeTerminal(path) {
  const tty = require('tty');
  for (const [name, f] of [['SIGHUP', onHangup], ['SIGWINCH', onResize]]) if (!heard(name).includes(f)) apply(on, process, [name, f]);
  screen = new tty.WriteStream(openSync(path, 'w'));
  for (const s of [out, err]) {
    s.isTTY = true; s._type = 'tty';
    for (const name of ['columns', 'rows']) Object.defineProperty(s, name, { get: () => screen && screen[name], configurable: true, enumerable: true });
    for (const name of screenMethods) s[name] = tty.WriteStream.prototype[name];
    screen.on('resize', () => s.emit('resize'));
  }
}
function openStreams(prefix, given, terminal) {
  leaveTerminal();
  if (stdin) { try { stdin.removeAllListeners(); stdin.on('error', () => {}); stdin.destroy(); } catch { /* exotic */ } stdin = null; }
  stdinGiven = given;
  reopen(0, given ? prefix + '0' : '/dev/null', 'r');
  reopen(1, prefix + '1', 'w');
  reopen(2, prefix + '2', 'w');
  if (terminal) takeTerminal(prefix + '1');
  if (out.destroyed || out.writableEnded || err.destroyed || err.writableEnded) { stdio(); newConsole(); }
  send('o', 0);
}

// ---------------------------------------------------------------- globals of user code
let current = null, count = 0, base = null, baseFor = null, last;
const lexical = new Map();                  // top-level lexical names -> 'const' | 'let'
const sources = new Map();                  // file name of an exec -> its lines
let sourcesSize = 0;
function hidden(name, d) { Object.defineProperty(main, name, Object.assign({ configurable: true, enumerable: false }, d)); }
function method(name, f) { hidden(name, { value: wrap(name, (self, args) => apply(f, undefined, args)), writable: true }); }
function here() { try { return cwd(); } catch { return '/'; } }
function local() {                          // require() and import() as of a file in the current directory
  const dir = here();
  if (baseFor !== dir) {
    const file = join(dir, '[exec].js'), m = new Module(file);
    m.filename = file; m.paths = Module._nodeModulePaths(dir);
    try { m._compile('module.exports={load:(s,o)=>o===undefined?import(s):import(s,o),require}', file); }
    catch { m._compile('module.exports={load:(s)=>import(s),require}', file); }         // Node 16: import() takes one argument
    base = m.exports; baseFor = dir;
  }
  return base;
}
function lazyGlobal(name, get) { hidden(name, { get, set: (value) => hidden(name, { value, writable: true }) }); }
function fileURL(p) { return require('url').pathToFileURL(p).href; }
lazyGlobal('require', () => local().require);
lazyGlobal('__dirname', here);
lazyGlobal('__filename', () => join(here(), (current && current.name) || 'exec.js'));
lazyGlobal('__interp_meta', () => { const f = main.__filename; return { url: fileURL(f), filename: f, dirname: here(), resolve: (s) => fileURL(local().require.resolve(s)) }; });
const userModule = new Module('[exec]');     // defined at the first exec: after its -e text Node puts the built-in modules' names there, `module` too
method('__interp_import', (s, o) => local().load(typeof s === 'string' && /^\.{1,2}\//.test(s) ? fileURL(resolvePath(here(), s)) : s, o));
method('__interp_exports', (module, from, wanted) => {      // the module, which has these names
  for (const n of list(wanted)) if (!(n in module)) throw new MainSyntaxError("The requested module '" + from + "' does not provide an export named '" + n + "'");
  return module;
});
for (const n of Module.builtinModules) if (/^[a-z]\w*$/.test(n) && !(n in main)) lazyGlobal(n, () => { const value = require(n); hidden(n, { value, writable: true }); return value; });
// A pending promise that only the inspector's await refers to would be collected, and the inspector's answer to that ends the process
// (Node 22, 24): so top-level awaits are held until they settle.
const held = new Set(), Resolved = main.Promise, resolveMain = main.Promise.resolve;
function hold(p) { const q = apply(resolveMain, Resolved, [p]), drop = () => held.delete(q); held.add(q); apply(then, q, [drop, drop]); return q; }
method('__interp_hold', hold);
method('__interp_hold_each', (x) => {
  if (x && typeof x[Symbol.asyncIterator] === 'function') {
    const it = x[Symbol.asyncIterator]();
    return { [Symbol.asyncIterator]: () => ({ next: (v) => hold(it.next(v)), return: (v) => hold(it.return ? it.return(v) : { done: true, value: v }) }) };
  }
  return (function* () { for (const p of x) yield hold(p); })();
});
method('__interp_const', () => { throw new main.TypeError('Assignment to constant variable.'); });
class ExitSignal {}
const exitSignal = new ExitSignal();
process.exit = wrap('exit', (self, args) => {
  const code = args[0] === undefined ? process.exitCode | 0 : args[0] | 0;
  process.exitCode = undefined;
  if (current) { if (current.exit === undefined) current.exit = code; apply(realImmediate, main, [current.finish]); }
  throw exitSignal;
});

// One-shot timers of the exec: it ends when they have.
function note(set, t) {
  if (set.size > set.limit) { for (const x of set) if (x._destroyed) set.delete(x); set.limit = 2 * set.size + 1000; }
  set.add(t);
}
/** The exec ends when this promise of Node's has settled, too. */
function awaited(p) { const me = current, left = () => { me.pending--; }; me.pending++; apply(then, p, [left, left]); }
{
  const timers = require('timers'), promises = require('timers/promises');
  for (const [name, real] of [['setTimeout', realTimeout], ['setImmediate', realImmediate]]) {
    const f = wrap(name, (self, args) => { const t = apply(real, self, args); if (current) note(current.timers, t); return t; });
    const plain = promises[name], promised = wrap(name, (self, args) => {
      const p = apply(plain, self, args), o = args[name === 'setTimeout' ? 2 : 1];
      if (current && !(o && o.ref === false)) awaited(p);
      return p;
    });
    Object.defineProperty(f, promisified, { enumerable: true, get: () => promised });
    promises[name] = promised;
    timers[name] = f;
    Object.defineProperty(main, name, { value: f, writable: true, configurable: true, enumerable: true });
  }
  if (typeof main.fetch === 'function') {
    const fetch = main.fetch;
    Object.defineProperty(main, 'fetch', { value: wrap('fetch', (self, args) => {
      const p = apply(fetch, main, args);
      if (current) awaited(p);
      return p;
    }), writable: true, configurable: true, enumerable: true });
  }
}
const activeRequests = process._getActiveRequests.bind(process), activeHandles = process._getActiveHandles.bind(process);
const childEvents = ['close', 'exit', 'message'], outputEvents = ['data', 'readable'];
const hears = (o, events) => o && typeof o.listenerCount === 'function' && events.some((name) => o.listenerCount(name) > 0);
const reffed = (handle) => Boolean(handle) && (typeof handle.hasRef !== 'function' || handle.hasRef());
/** What the exec still waits for: 0 nothing, else after how many ms to look again. */
function busy(me) {
  let next = Infinity;
  for (const t of me.timers) {
    if (t._destroyed) { me.timers.delete(t); continue; }
    if (typeof t.hasRef === 'function' && !t.hasRef()) continue;
    next = Math.min(next, t._idleTimeout > 0 ? 5 : 1);
  }
  if (next < Infinity) return next;
  if (me.pending > 0) return 2;
  for (const r of list(activeRequests())) if (!me.requests.has(r)) return 1;
  for (const h of list(activeHandles())) {  // a child whose end or output user code wants to hear of
    if (!me.handles.has(h) && h && typeof h.pid === 'number' && typeof h.kill === 'function' && (hears(h, childEvents) || hears(h.stdout, outputEvents) || hears(h.stderr, outputEvents))) me.children.set(h, me.children.get(h) || 0);
  }
  for (const w of me.workers) if (w.threadId !== -1 && reffed(w[Object.getOwnPropertySymbols(w).find((y) => y.description === 'kHandle')])) return 2;
  for (const [h, ended] of me.children) {   // 'close' comes when its pipes are empty, which a grandchild can delay for ever
    if (h.exitCode === null && h.signalCode === null) { if (reffed(h._handle)) return 2; me.children.delete(h); continue; }
    if (!(h._closesGot < h._closesNeeded)) { me.children.delete(h); continue; }
    if (!ended) me.children.set(h, Date.now()); else if (Date.now() - ended > 300) { me.children.delete(h); continue; }
    return 1;
  }
  if (stdin && stdinGiven && !stdin.readableEnded && !stdin.destroyed && ((stdin.listenerCount('data') && !stdin.isPaused()) || stdin.listenerCount('readable'))) return 2;
  return 0;
}
let drained = null, strays = false;         // strays: an exec ended before its work, or a worker came after it: what keeps the loop going may not be of this one
const emit = process.emit, resources = process.getActiveResourcesInfo && process.getActiveResourcesInfo.bind(process);     // Node 17.3
const onBeforeExit = () => { control.ref(); if (drained) drained(true); };
const onWorker = (w) => { if (current) current.workers.add(w); else strays = true; };
/** Is there work that Node lists nowhere, as that of its thread pool for zlib and crypto? Where nothing else is there, its loop tells: without our control it comes to its end when there is none. */
async function unlisted(me) {
  if (!resources || process.emit !== emit || !heard('beforeExit').includes(onBeforeExit)) return false;
  control.unref();
  if (resources().length) { control.ref(); return false; }       // servers, intervals and the like keep it going
  const end = await Promise.race([new Promise((done) => { drained = done; }), me.ended, later(10, true)]);
  control.ref(); drained = null;
  if (end === true) strays = false;
  return end !== true && !strays;
}

// ---------------------------------------------------------------- rewriting
let acorn;
function parser() {
  if (acorn === undefined) { try { acorn = require('internal/deps/acorn/acorn/dist/acorn'); } catch { acorn = null; } }
  return acorn;
}
function names(p, list) {
  switch (p && p.type) {
    case 'Identifier': list.push(p.name); break;
    case 'ObjectPattern': for (const q of p.properties) names(q.type === 'RestElement' ? q.argument : q.value, list); break;
    case 'ArrayPattern': for (const q of p.elements) names(q, list); break;
    case 'AssignmentPattern': names(p.left, list); break;
    case 'RestElement': names(p.argument, list); break;
  }
  return list;
}
function walk(n, visit, inner) {
  visit(n, inner);
  inner = inner || /Function|Class|MethodDefinition|PropertyDefinition/.test(n.type);
  for (const k in n) {
    const v = n[k];
    if (v && typeof v === 'object') {
      if (typeof v.length === 'number' && typeof v.type !== 'string') { for (let i = 0; i < v.length; i++) if (v[i] && typeof v[i].type === 'string') walk(v[i], visit, inner); }
      else if (typeof v.type === 'string') walk(v, visit, inner);
    }
  }
}
const PARSE = { ecmaVersion: 'latest', sourceType: 'script', allowAwaitOutsideFunction: true, allowImportExportEverywhere: true, allowHashBang: true };
const hasOwn = Object.prototype.hasOwnProperty, describeOwn = Object.getOwnPropertyDescriptor;
/** -> { code, declared: names, column: maps a column of the rewritten text back }.  Lines stay where they are. */
function rewrite(src) {
  const declared = new Map(), a = parser();
  const plain = { code: src, declared, column: (line, column) => column };
  if (!a) return plain;
  let tree = null;
  if (/^\s*\{/.test(src) && /\}\s*$/.test(src)) {
    try { a.parse('(' + src + '\n)', PARSE); return { code: '(' + src + '\n)', declared, column: (line, column) => (line === 1 ? column - 1 : column) }; } catch { /* a block */ }
  }
  try { tree = a.parse(src, PARSE); } catch { return plain; }
  const edits = [], put = (start, end, text) => edits.push([start, end, text]);
  const blank = (start, end) => '\n'.repeat(src.slice(start, end).split('\n').length - 1);
  const consts = new Map();
  const declaration = (d) => {
    if (d.type === 'VariableDeclaration') {
      const list = []; for (const x of d.declarations) names(x.id, list);
      if (d.kind === 'const' || d.kind === 'let') {
        // `let x` after `var x` or `function x`: those are fixed properties of the global object
        const global = list.some((n) => !lexical.has(n) && apply(hasOwn, main, [n]) && !describeOwn(main, n).configurable);
        if (global) put(d.start, d.start + d.kind.length, 'var'.padEnd(d.kind.length));
        else if (d.kind === 'const') put(d.start, d.start + 5, 'let  ');
        for (const n of list) { if (!global) declared.set(n, d.kind); if (d.kind === 'const') consts.set(n, d.end); }
      } else if (d.kind === 'var' && list.some((n) => lexical.has(n))) {
        put(d.start, d.start + 3, 'let');
        for (const n of list) declared.set(n, 'let');
        for (const x of d.declarations) if (!x.init && x.id.type === 'Identifier' && lexical.has(x.id.name)) put(x.end, x.end, '=' + x.id.name);
      }
    } else if (d.type === 'ClassDeclaration' && d.id) {
      put(d.start, d.start, 'let ' + d.id.name + ' = '); put(d.end, d.end, ';'); declared.set(d.id.name, 'let');
    } else if (d.type === 'FunctionDeclaration' && d.id && lexical.has(d.id.name)) {
      put(d.start, d.start, 'let ' + d.id.name + ' = '); put(d.end, d.end, ';'); declared.set(d.id.name, 'let');
    }
  };
  for (let i = 0; i < tree.body.length; i++) {
    const n = tree.body[i];
    if (n.type === 'ImportDeclaration') {
      const with_ = []; for (const x of n.attributes || n.assertions || []) with_.push(JSON.stringify(x.key.name || x.key.value) + ':' + JSON.stringify(x.value.value));
      const call = 'await __interp_hold(__interp_import(' + JSON.stringify(n.source.value) + (with_.length ? ',{with:{' + with_.join(',') + '}}' : '') + '))';
      let whole = '', rest = []; const wanted = [];
      for (const s of n.specifiers) {
        declared.set(s.local.name, 'const');
        if (s.type === 'ImportNamespaceSpecifier') whole = s.local.name;
        else {
          const name = JSON.stringify(s.type === 'ImportDefaultSpecifier' ? 'default' : s.imported.name || s.imported.value);
          wanted.push(name); rest.push(name + ': ' + s.local.name);
        }
      }
      const module = wanted.length ? '__interp_exports(' + call + ',' + JSON.stringify(n.source.value) + ',[' + wanted.join(',') + '])' : call;
      rest = rest.join(', ');
      const text = whole ? 'let ' + whole + ' = ' + module + ';' + (rest ? 'let {' + rest + '} = ' + whole + ';' : '') : rest ? 'let {' + rest + '} = ' + module + ';' : call + ';';
      put(n.start, n.end, text + 'void 0;' + blank(n.start, n.end));
    } else if (n.type === 'ExportNamedDeclaration' && n.declaration) { put(n.start, n.declaration.start, ''); declaration(n.declaration); }
    else if (n.type === 'ExportDefaultDeclaration') {
      const bare = /^(Class|Function)Declaration$/.test(n.declaration.type) && !n.declaration.id;         // an expression, where there is nothing to export to
      put(n.start, n.declaration.start, bare ? ';(' : ''); if (bare) put(n.declaration.end, n.declaration.end, ')');
      declaration(n.declaration);
    }
    else if (n.type === 'ExportNamedDeclaration' || n.type === 'ExportAllDeclaration') put(n.start, n.end, blank(n.start, n.end));
    else declaration(n);
  }
  const isConst = (n) => consts.has(n) || (lexical.get(n) === 'const' && !declared.has(n));
  const look = (n, inner) => {
    if (n.type === 'ImportExpression') put(n.start, n.start + 6, '__interp_import');
    else if (n.type === 'MetaProperty' && n.meta.name === 'import') put(n.start, n.end, '__interp_meta');
    if (inner) return;
    if (n.type === 'AwaitExpression') { put(n.argument.start, n.argument.start, '__interp_hold('); put(n.argument.end, n.argument.end, ')'); }
    else if (n.type === 'ForOfStatement' && n.await) { put(n.right.start, n.right.start, '__interp_hold_each('); put(n.right.end, n.right.end, ')'); }
    else if (n.type === 'AssignmentExpression' && n.left.type === 'Identifier' && isConst(n.left.name)) put(n.right.start, n.right.start, '__interp_const(), ');
    else if (n.type === 'UpdateExpression' && n.argument.type === 'Identifier' && isConst(n.argument.name)) put(n.start, n.end, '__interp_const()');
  };
  try { walk(tree, look, false); } catch (e) { if (!(e instanceof RangeError)) throw e; declared.clear(); return plain; }       // too deep for us, but not for V8
  if (!edits.length) return Object.assign(plain, { declared });
  edits.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  let code = '', at = 0; const marks = [];  // marks: [offset in code, offset in src]
  for (const [start, end, text] of edits) {
    if (start < at) continue;               // inside a part that was replaced whole
    code += src.slice(at, start) + text; at = end; marks.push([code.length, end]);
  }
  code += src.slice(at);
  const column = (line, col) => {
    let offset = 0; for (let i = 1; i < line; i++) offset = code.indexOf('\n', offset) + 1;
    const begin = offset; offset += col - 1;
    let shift = 0; for (const [to, from] of marks) if (to <= offset) shift = to - from;
    const first = src.lastIndexOf('\n', Math.max(0, offset - shift - 1)) + 1;
    return Math.max(1, offset - shift - (begin === 0 ? 0 : first) + 1);
  };
  return { code, declared, column };
}

// ---------------------------------------------------------------- results and errors
function clip(s, cap) {                                  // the host knows this mark (lib/output/gaps.c): a secret may end in such a cut
  cap = cap || TEXT_CAP; if (s.length <= cap) return s;
  const half = (i) => (s.charCodeAt(i) & 0xfc00) === 0xdc00 ? 1 : 0;   // of a pair, which stays whole
  let h = cap >> 1, t = s.length - h; h -= half(h); t += half(t);
  return s.slice(0, h) + '\n... [' + (t - h) + ' characters left out] ...\n' + s.slice(t);
}
function show(v) { try { return clip(inspect(v, { colors: false, showProxy: true, maxStringLength: TEXT_CAP, maxArrayLength: 100, breakLength: 80 })); } catch (e) { return '<could not be shown: ' + String(e && e.message) + '>'; } }
async function partsOf(v) {
  const parts = [];
  if (v !== null && (typeof v === 'object' || typeof v === 'function')) {
    for (const s of [Symbol.for('Jupyter.display'), Symbol.for('nodejs.jupyter.display')]) {
      try {
        if (typeof v[s] !== 'function') continue;
        const bundle = await v[s]();
        for (const k of Object.keys(bundle)) parts.push([k, bundle[k]]);
      } catch { /* the plain text remains */ }
    }
  }
  if (!parts.some((p) => p[0] === 'text/plain')) parts.unshift(['text/plain', show(v)]);
  return parts;
}
function publish(kind, parts) {
  const mime = [], blobs = [], dropped = [];
  if (kind === 'display' && ++current.shown > BUNDLES) {
    if (current.shown === BUNDLES + 1) err.write('more than ' + BUNDLES + ' displays in one exec: the rest is left out\n');
    return;
  }
  for (const [name, value] of parts) {
    const type = String(name).replace(/[^ -~]/g, '?'), known = type.length <= MIME_CAP;
    let v = value;
    if (typeof v === 'string' && /(^application\/|\+)json$/.test(type)) { try { JSON.parse(v); } catch { v = JSON.stringify(v); } }
    if (typeof v === 'string') v = /^(image\/(?!svg)|audio\/|video\/)|^application\/pdf$/.test(type) ? bufferFrom(v, 'base64') : encode(type === 'text/plain' ? clip(v) : v);
    else if (!ArrayBuffer.isView(v)) { try { v = encode(String(JSON.stringify(v))); } catch { continue; } }
    let blob; try { blob = new Uint8Array(v.buffer, v.byteOffset, v.byteLength); } catch { continue; }
    const size = blob.length, cap = /^(image|application|audio|video)\//.test(type) ? BINARY_CAP : HTML_CAP;
    if (!known || size > cap || current.total + size > TOTAL_CAP || mime.length === PARTS) { if (dropped.length < PARTS) dropped.push([known ? type : 'application/octet-stream', size]); continue; }
    current.total += size; mime.push([type, size]); blobs.push(blob);
  }
  send('d', 0, dropped.length ? { kind, mime, dropped } : { kind, mime }, blobs);
}
method('display', (v, options) => {
  const me = current;
  if (!me) { writeAll(1, encode(show(v) + '\n')); return undefined; }   // late: no frame may be sent
  const done = (parts) => { me.pending--; if (current === me) publish('display', parts); };
  const raw = options && options.raw ? Object.entries(v) : null;         // throws before anything waits for it
  me.pending++;
  if (raw) done(raw); else partsOf(v).then(done, () => { me.pending--; });
  return undefined;
});

const DRIVER = /\(?interp:driver:|\bnode:|\binterp:run\b|^\s+at (Session\.post|new Promise \(<anonymous>\))|__interp_/;
function stackOf(e) {
  let stack; try { stack = e.stack; } catch { return ''; }
  if (typeof stack !== 'string') return '';
  const lines = []; let cut = false;
  for (const l of clip(stack, STACK_CAP).split('\n')) {
    if (l.length <= LINE_CAP && /^\s+at /.test(l)) {
      if (DRIVER.test(l)) { cut = true; continue; }
      if (cut && /<anonymous>/.test(l) && !/<anonymous>:\d/.test(l)) continue;
    }
    lines.push(l);
  }
  return lines.join('\n');
}
function text(get, otherwise) { try { return String(get()); } catch { return otherwise; } }
function describe(v, me, depth) {
  const d = { type: 'Uncaught', message: '', line: null, column: null, frames: [], traceback: '' };
  if (!isNativeError(v) && text(() => Object.prototype.toString.call(v)) !== '[object Error]') { d.message = clip(show(v), MESSAGE_CAP); d.traceback = 'Uncaught ' + d.message; return d; }
  const name = text(() => (v.name && v.name !== 'Error' ? v.name : (v.constructor && v.constructor.name) || 'Error'), 'Error');
  d.type = clip(name, 300); d.message = clip(text(() => v.message, ''), MESSAGE_CAP);
  const code = text(() => typeof v.code === 'string' ? v.code : v.cause && typeof v.cause.code === 'string' ? v.cause.code : '', '');
  if (/^[A-Z][A-Z0-9_]{2,63}$/.test(code)) {
    d.code = code;
    const missing = /MODULE_NOT_FOUND$/.test(code) && /^Cannot find (?:module|package) '([^']{1,100})'/.exec(d.message);
    if (missing) d.subject = missing[1];
  }
  if (me && text(() => v.signal, '') === 'SIGINT') me.childInterrupted = true;
  const stack = stackOf(v);
  for (const l of stack.split('\n')) {
    const m = l.length <= LINE_CAP && /^\s+at (?:(.*?) \()?(.*?):(\d+):(\d+)\)?$/.exec(l);
    if (!m) continue;
    if (d.frames.length >= 100) break;
    const lines = sources.get(m[2]), line = +m[3];
    d.frames.push({ file: clip(m[2], 500), line, function: clip(m[1] || '<exec>', 200), source: lines ? clip((lines[line - 1] || '').trim(), 300) : '' });
    if (lines && d.line === null) { d.line = line; d.column = me && m[2] === me.name ? me.column(line, +m[4]) : +m[4]; }
  }
  let own = '';
  try { const o = {}; for (const k of Object.keys(v)) if (k !== 'stack' && k !== 'message') o[k] = v[k]; if (Object.keys(o).length) own = ' ' + show(o); } catch { /* exotic */ }
  d.traceback = (stack || d.type + ': ' + d.message) + own;
  try {
    if (v.cause !== undefined && (depth || 0) < 5) d.traceback += '\n[cause]: ' + describe(v.cause, me, (depth || 0) + 1).traceback;
    if (v.errors && typeof v.errors.length === 'number') for (let i = 0; i < v.errors.length && i < 20; i++) d.traceback += '\n[errors]: ' + show(v.errors[i]);
  } catch { /* exotic */ }
  d.traceback = clip(d.traceback);
  d.frames.reverse();                       // innermost last, as in the other languages
  return d;
}

// ---------------------------------------------------------------- run
const { Session } = require('inspector');
const session = new Session(); session.connect();
const rawPost = session.post.bind(session);
const post = (name, params) => new Promise((done, fail) => rawPost(name, params, (e, r) => (e ? fail(e) : done([r])))).then(([r]) => r);
let box, self = null;
method('__interp_box', (v) => { box = v; });
/** The value of a remote object -> [value], in an array so that a promise is not awaited on the way. */
async function unbox(remote) {
  if (!remote.objectId) {
    if (remote.type === 'undefined') return [undefined];
    if (remote.subtype === 'null') return [null];
    const u = remote.unserializableValue;
    if (u !== undefined) return [u.endsWith('n') ? BigInt(u.slice(0, -1)) : u === '-0' ? -0 : Number(u)];
    return [remote.value];
  }
  if (!self) self = (await post('Runtime.evaluate', { expression: 'globalThis' })).result.objectId;
  await post('Runtime.callFunctionOn', { functionDeclaration: 'function(v){__interp_box(v)}', objectId: self, arguments: [{ objectId: remote.objectId }], objectGroup: 'exec' });
  const v = [box]; box = undefined; return v;
}
let job = null;
method('__interp_run', () => job());
const runner = new vm.Script('__interp_run()', { filename: 'interp:run' });
const turn = () => new Promise((done) => apply(realImmediate, main, [done]));
const later = (ms, weak) => new Promise((done) => { const t = apply(realTimeout, main, [done, ms]); if (weak) t.unref(); });      // weak: it keeps nothing going

async function evaluate(me, src, options) {
  if (options.ts) {
    if (!Module.stripTypeScriptTypes) throw new MainError('TypeScript needs Node.js 22.13 or newer');
    src = Module.stripTypeScriptTypes(src, { mode: 'strip' });
  }
  const { code, declared, column } = rewrite(src);
  me.declared = declared; me.column = column;
  for (const [n, k] of declared) lexical.set(n, k);
  let done; const reply = new Promise((resolve) => { done = resolve; });
  job = () => { rawPost('Runtime.evaluate', { expression: code + '\n//# sourceURL=' + me.name, replMode: true, awaitPromise: true, objectGroup: 'exec' }, (e, r) => done({ e, r })); };
  let started = false; const work = job; job = () => { started = true; work(); };
  const began = Date.now();
  sigint.stop(); watchdog.start();
  try { runner.runInThisContext({ breakOnSigint: true }); } catch (e) {
    if (e && e.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') { sigints++; me.interrupt(); return; }
    if (started) throw e;
    job();                                  // user code broke methods of `process` that Node needs for it
  } finally {
    // A child that died of the interrupt may be heard of before our own signal is: after blocking code, look again for a little.
    if (Date.now() - began > 50) for (let i = 0; i < 8 && !watchdog.pending(); i++) Atomics.wait(nap, 0, 0, 1);
    if (watchdog.pending()) me.interrupted = true;
    if (watchdog.stop()) me.interrupted = true;
    sigint.stop(); sigint.start(2);         // the watchdog leaves a handler that would end the process
  }
  if (me.interrupted) { sigints++; me.interrupt(); return; }
  const answer = await Promise.race([reply, me.ended]);
  if (!answer || me.exit !== undefined) return;
  if (answer.e) throw answer.e;
  const { result, exceptionDetails: x } = answer.r;
  if (x) {
    const [v] = x.exception ? await unbox(x.exception) : [new MainError(x.text)];
    if (v === exitSignal) return;
    me.error = describe(v, me);
    if (me.error.type === 'SyntaxError' && me.error.line === null) {
      const e = me.error, lines = src.split('\n'), end = src.trimEnd().split('\n').length, past = x.lineNumber + 1 > lines.length;      // past: at the end of the input
      const line = past ? end : x.lineNumber + 1, source = lines[line - 1];
      e.line = line; e.column = past ? source.trimEnd().length + 1 : column(line, x.columnNumber + 1);
      e.frames = [{ file: me.name, line, function: '<exec>', source: clip(source.trim(), 300) }];
      e.traceback = me.name + ':' + line + '\n' + clip(source, 1000) + '\n' + ' '.repeat(Math.max(0, Math.min(e.column - 1, source.length, 1000))) + '^\n\nSyntaxError: ' + e.message;
    }
    return;
  }
  let [v] = await unbox(result);
  if (isPromise(v) && options.await !== false) {        // main() as last line is how scripts end
    const w = await Promise.race([new Promise((ok) => apply(then, v, [(y) => ok({ v: y }), (y) => ok({ e: [y] })])), me.ended]);
    if (!w) return;
    if (w.e) { if (w.e[0] !== exitSignal) me.error = describe(w.e[0], me); return; }
    v = w.v;
  }
  if (v === undefined || me.exit !== undefined) return;
  if (!hasOwn.call(main, '_') || main._ === last) main._ = last = v;     // a `_` of the user's own stays
  publish('result', await partsOf(v));
}
/** The first byte that is no UTF-8, or -1. */
function notUtf8(src, blob) {
  const bytes = encode(src), skip = blob[0] === 0xef && blob[1] === 0xbb && blob[2] === 0xbf ? 3 : 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== blob[i + skip]) return i + skip;
  return bytes.length + skip === blob.length ? -1 : bytes.length + skip;
}
function remember(name, src) {              // a long session keeps the text of its last execs
  if (sources.has(name)) sourcesSize -= sources.get(name).size;
  const lines = src.split('\n'); lines.size = src.length;
  sources.set(name, lines); sourcesSize += src.length;
  for (const [first, old] of sources) {
    if (first === name || (sources.size <= SOURCES && sourcesSize <= SOURCES_CAP)) break;
    sources.delete(first); sourcesSize -= old.size;
  }
}
/** A child's death by SIGINT may be heard of before our own signal is: any thread may get that, and a busy machine runs it when it likes. */
async function ownSignal(me) {
  if (apply(listenerCount, process, ['SIGINT'])) return;   // it is for user code
  for (let i = 0; i < 200 && !me.interrupted; i++) {
    if (i % 20 === 19 && inSemaphore()) { sigints++; me.interrupted = true; } else await later(1);
  }
}
async function exec(request, blob) {
  count++;
  const options = request.options || {}, saved = new Map(), me = current = {
    name: 'exec-' + (request.n || count) + '.js', timers: new Set(), children: new Map(), workers: new Set(), pending: 0, total: 0, error: null, exit: undefined, over: false,
    interrupted: false, childInterrupted: false, shown: 0, declared: new Map(), column: (line, c) => c, requests: new Set(list(activeRequests())), handles: new Set(list(activeHandles())),
  };
  me.timers.limit = 1000;
  me.ended = new Promise((done) => { me.finish = () => { me.over = true; done(null); }; });
  me.interrupt = () => { me.interrupted = true; me.finish(); };
  if (count === 1) { hidden('module', { value: userModule, writable: true }); hidden('exports', { value: userModule.exports, writable: true }); }
  listen();
  for (const [k, v] of Object.entries(request.setenv || {})) { if (v === null) delete process.env[k]; else process.env[k] = v; }
  for (const k of Object.keys(request.env || {})) { saved.set(k, process.env[k]); process.env[k] = request.env[k]; }
  let src = decode(blob); if (src[0] === '\ufeff') src = src.slice(1);
  remember(me.name, src);
  try {
    const wrong = src.indexOf('\ufffd') < 0 ? -1 : notUtf8(src, blob);
    if (wrong >= 0) me.error = { type: 'SyntaxError', message: 'the code is not valid UTF-8 (byte ' + wrong + ')', line: null, column: null, frames: [], traceback: 'SyntaxError: the code is not valid UTF-8 (byte ' + wrong + ')' };
    else await evaluate(me, src, options);
    // the rest of the exec: timers, immediates, requests; at least one turn, so that an unhandled rejection is heard of
    busy(me);                               // sees children that end within the first turn
    for (;;) {
      await turn();
      if (me.over || me.error || me.exit !== undefined) break;
      const ms = busy(me);
      if (ms) await Promise.race([later(ms), me.ended]); else if (!await unlisted(me)) break;
    }
  } catch (e) { if (e !== exitSignal && !me.error) me.error = describe(e, me); }
  if (me.childInterrupted && me.error && me.exit === undefined) await ownSignal(me);
  let status = OK, report = { exit_code: 0 };
  if (me.interrupted) { status = INTERRUPTED; report = { exit_code: 130, error: { type: 'Interrupted', message: 'the exec was interrupted', line: null, column: null, frames: [], traceback: '' } }; }
  else if (me.exit !== undefined) { status = EXIT; report = { exit_code: me.exit & 255 }; }
  else if (me.error) { status = ERROR; report = { exit_code: 1, error: me.error }; }
  else if (process.exitCode) { status = EXIT; report = { exit_code: process.exitCode & 255 }; }
  process.exitCode = undefined;
  if (status !== OK) {
    strays = true;
    for (const t of me.timers) (t._idleTimeout === undefined ? realClearImmediate : realClearTimeout)(t);
    for (const n of me.declared.keys()) {   // a name whose initialiser threw would stay dead: it gets a value
      try { const r = await post('Runtime.evaluate', { expression: 'typeof ' + n, replMode: true, silent: true }); if (r.exceptionDetails) await post('Runtime.evaluate', { expression: 'let ' + n, replMode: true, silent: true }); } catch { /* the next exec tells */ }
    }
  }
  for (const [k, v] of saved) { if (v === undefined) delete process.env[k]; else process.env[k] = v; }
  rawPost('Runtime.releaseObjectGroup', { objectGroup: 'exec' });
  for (const f of heard('SIGINT')) apply(removeListener, process, ['SIGINT', f]);     // a user's handler holds in its exec
  listen(); sigint.stop(); sigint.start(2);
  current = null;
  send('f', status, report);
}
function failed(kind, e) {
  if (e === exitSignal || apply(listenerCount, process, [kind]) > 1) return;      // a listener of the user's takes it
  if (current) { if (!current.error) current.error = describe(e, current); current.finish(); }
  else writeAll(2, encode('Uncaught ' + describe(e).traceback + '\n'));
}
const onException = (e) => failed('uncaughtException', e), onRejection = (e) => failed('unhandledRejection', e);
const onSigint = () => { sigints++; if (current && !apply(listenerCount, process, ['SIGINT'])) current.interrupt(); };
// A handle of our own: process.removeAllListeners() takes away also what makes process.on('SIGINT') work.
const { Signal } = binding('signal_wrap'), sigint = new Signal();
const { startSigintWatchdog, stopSigintWatchdog, watchdogHasPendingSigint } = binding('contextify');
const watchdog = startSigintWatchdog && watchdogHasPendingSigint ? { start: startSigintWatchdog, stop: stopSigintWatchdog, pending: watchdogHasPendingSigint }
  : { start() {}, stop: () => false, pending: () => false };
sigint.unref(); sigint.onsignal = onSigint; sigint.start(2);
const onWarning = (w) => { if (w && w.name !== 'ExperimentalWarning') err.write('(node:' + pid + ') ' + text(() => w.name) + ': ' + text(() => w.message) + '\n'); };
function listen() {                         // user code may have removed ours
  for (const [name, f] of [['uncaughtException', onException], ['unhandledRejection', onRejection], ['warning', onWarning], ['beforeExit', onBeforeExit], ['worker', onWorker]]) if (!heard(name).includes(f)) apply(on, process, [name, f]);
}
listen();
control.open(CONTROL);
if (host.cache) send('c', 0, null, [host.cache()]);
send('r', 0, { language: 'javascript', version: process.versions.node });
stdio(); newConsole(); parser();            // still before any user code, but the agent need not wait for it
control.readStart();
})
