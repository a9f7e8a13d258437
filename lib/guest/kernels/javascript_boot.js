(function () {
  if (parseInt(process.versions.node, 10) < 16) { process.stderr.write('Node.js 16 or newer is needed; this is ' + process.version + '\n'); process.exit(97); }
  const fs = require('fs'), vm = require('vm'), env = process.env, cached = env.INTERP_CACHED === '1', wanted = env.INTERP_WANT_CACHE === '1';
  for (const k of Object.keys(env)) if (k.startsWith('INTERP_')) delete env[k];
  const blob = fs.readFileSync(4); fs.closeSync(4);
  let text = blob, data, script;
  try {
    if (cached) { const n = blob.readUInt32LE(0); text = blob.subarray(4, 4 + n); data = blob.subarray(4 + n); if (!data.length) throw new Error('too short'); }
    script = new vm.Script(text.toString(), { filename: 'interp:driver', cachedData: data });
  } catch (e) { process.stderr.write((cached ? 'the cached driver cannot be loaded: ' : 'the driver cannot be loaded: ') + e.message + '\n'); process.exit(cached ? 96 : 1); }
  const cache = wanted ? () => { const head = Buffer.alloc(4); head.writeUInt32LE(text.length, 0); return Buffer.concat([head, text, script.createCachedData()]); } : null;
  const wrap = (name, f) => ({ [name](...args) { return f(this, args); } })[name];
  script.runInContext(vm.createContext({}))({ process, require, main: globalThis, cache, wrap });
})();
