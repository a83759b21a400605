// The driver of a Node session.
//
// A step is evaluated in the one realm of the session by the inspector's "replMode": its top-level
// let, const, functions and classes stay, may be declared anew, and await is allowed. A step ends
// when its promise has settled and nothing of its own is pending that would keep "node script.js"
// alive; servers that listen do not count. One that fails, exits or is interrupted ends at once.
// An interrupt is heard where code awaits; one that computes without a pause is ended with its state.
'use strict';
{
  const fs = require('fs'), path = require('path'), net = require('net'), vm = require('vm');
  const { inspect } = require('util');
  const { createRequire } = require('module');
  const { pathToFileURL } = require('url');
  const [directory, scrapsFile] = process.argv.splice(2);
  process.argv.length = 1;
  const privately = (name) => path.join(directory, name);
  const cwd = process.cwd;

  const hidden = (name, value) => Object.defineProperty(globalThis, name, { value, enumerable: false });

  const interrupted = Symbol('interrupted');
  class Exit { constructor(code) { this.code = code; } }
  const reallyExit = process.reallyExit.bind(process);
  process.exit = (code) => { throw new Exit(Number(code ?? process.exitCode ?? 0) & 0xff); };

  // A server that listens stays for later steps and does not keep its own from ending.
  const listen = net.Server.prototype.listen;
  net.Server.prototype.listen = function (...args) {
    const result = listen.apply(this, args);
    this.unref();
    this.on('connection', (socket) => socket.unref());
    return result;
  };

  let step = null; // {number, file, dir, displays, count, settled, code, failure, env}

  const importFrom = (specifier) => {
    const here = createRequire(path.join(cwd(), 'step.js'));
    if (/^\.{0,2}\//.test(specifier)) return import(pathToFileURL(path.resolve(cwd(), specifier)).href);
    if (/^(node|file|data):/.test(specifier)) return import(specifier);
    let resolved;
    try { resolved = here.resolve(specifier); } catch { return import(specifier); }
    return import(path.isAbsolute(resolved) ? pathToFileURL(resolved).href : resolved);
  };
  // Code that the inspector runs cannot import by itself, so import() becomes a call; strings and
  // comments are passed over.
  const importing = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?<![.\w$])import(?=\s*\()/g;
  const inspector = new (require('inspector').Session)();
  inspector.connect();
  const evaluate = (code, file, line) => new Promise((resolve, reject) => {
    const body = code.includes('import') ? code.replace(importing, (m) => (m === 'import' ? '__mm_import' : m)) : code;
    const expression = '\n'.repeat(line - 1) + body + '\n//# sourceURL=' + file;
    inspector.post('Runtime.evaluate', { expression, replMode: true }, (error, reply) => {
      if (error) return reject(new Error(error.message));
      const thrown = reply.exceptionDetails;
      local(thrown ? thrown.exception ?? { value: thrown.text } : reply.result, (value) => {
        if (!thrown) return resolve({ value });
        if (value instanceof SyntaxError && thrown.lineNumber >= line - 1) place(value, thrown, code.split('\n')[thrown.lineNumber - line + 1], file);
        reject(value);
      });
    });
  });
  // place says where a syntax error is, as Node does for a script.
  const place = (error, { lineNumber, columnNumber }, source, file) => {
    if (String(error.stack).includes(file + ':')) return;
    error.stack = `${file}:${lineNumber + 1}\n${source ?? ''}\n${' '.repeat(columnNumber)}^\n\n${error.name}: ${error.message}`;
  };
  // local turns the inspector's name of a value into the value.
  const local = (remote, use) => {
    if (remote.unserializableValue) {
      const text = remote.unserializableValue;
      return use(text.endsWith('n') ? BigInt(text.slice(0, -1)) : text === '-0' ? -0 : Number(text));
    }
    if (!remote.objectId) return use(remote.value);
    inspector.post('Runtime.callFunctionOn', { functionDeclaration: 'function () { __mm_take(this); }', objectId: remote.objectId }, () => {
      inspector.post('Runtime.releaseObject', { objectId: remote.objectId });
      use(taken);
    });
  };
  let taken;
  hidden('__mm_take', (value) => { taken = value; });
  hidden('__mm_import', importFrom);

  const fail = (e) => {
    if (!step) return;
    if (e instanceof Exit) {
      step.code = e.code;
    } else if (e === interrupted) {
      step.code = 130;
      step.failure = ['Interrupted', 'the step was interrupted', '', '0'];
    } else {
      const error = e !== null && typeof e === 'object' && 'stack' in e;
      const stack = error ? trimmed(String(e.stack)) : 'Uncaught ' + inspect(e);
      const extra = error ? Object.keys(e).filter((k) => k !== 'stack' && k !== 'message') : [];
      process.stderr.write(stack + (extra.length ? ' ' + inspect(Object.fromEntries(extra.map((k) => [k, e[k]]))) : '') + '\n');
      const at = new RegExp(escaped(step.file) + ':(\\d+)').exec(stack);
      step.code = 1;
      step.failure = error ? [String(e.name ?? 'Error'), String(e.message ?? ''), stack, at ? at[1] : '0'] : ['Uncaught', inspect(e), stack, '0'];
    }
  };
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  // trimmed drops the frames of the driver, and those of Node that lead from it to the author's.
  const boundary = /^\s+at Session\.post \(node:inspector/;
  const trimmed = (stack) => {
    let lines = stack.split('\n');
    if (lines[0].startsWith(__filename)) lines = lines.slice(lines.indexOf('') + 1);
    const end = lines.findIndex((l) => boundary.test(l));
    if (end >= 0) lines = lines.slice(0, end);
    while (/^\s+at .*node:internal\//.test(lines.at(-1))) lines.pop();
    return lines.filter((l) => !(/^\s+at /.test(l) && (l.includes(__filename) || l.includes('__mm_')))).join('\n');
  };

  // -- results

  const forms = [['image/svg+xml', '_repr_svg_', 'svg'], ['image/png', '_repr_png_', 'png'], ['text/html', '_repr_html_', 'html'],
    ['text/markdown', '_repr_markdown_', 'md'], ['application/json', '_repr_json_', 'json']];
  const show = (value) => {
    if (value === undefined || /^(Timeout|Immediate)$/.test(value?.constructor?.name)) return;
    if (value !== null && typeof value === 'object') {
      for (const [mime, method, extension] of forms) {
        let got = typeof value[method] === 'function' ? value[method]() : undefined;
        if (got === undefined || got === null) continue;
        if (mime === 'application/json' && typeof got !== 'string') got = JSON.stringify(got, null, 2);
        if (mime === 'image/png' && typeof got === 'string') got = Buffer.from(got, 'base64');
        const name = `display-${++step.count}.${extension}`;
        keep(name, got);
        step.displays.push([name, mime, inspect(value)]);
        return;
      }
    }
    process.stdout.write(inspect(value) + '\n');
  };
  const keep = (name, content) => {
    if (!step || !step.dir) throw new Error('this step has no directory for displays');
    fs.mkdirSync(step.dir, { recursive: true });
    fs.writeFileSync(path.join(step.dir, name), content);
    return path.join(step.dir, name);
  };

  // -- parameters and scraps: JSON that says the type of what JSON cannot hold (notebooks.Value.Wire)

  const fromWire = (v) => {
    if (Array.isArray(v)) return v.map(fromWire);
    if (v === null || typeof v !== 'object') return v;
    const tag = Object.keys(v).find((k) => k.startsWith('$'));
    const body = v[tag];
    switch (tag) {
      case '$int': return BigInt(body);
      case '$float': return { nan: NaN, inf: Infinity, '-inf': -Infinity }[body] ?? Number(body);
      case '$date': case '$path': case '$secret': return body;
      case '$duration': return body;
      case '$bytes': return Buffer.from(body, 'base64');
      case '$map': {
        const pairs = body.map(([k, x]) => [fromWire(k), fromWire(x)]);
        if (!pairs.every(([k]) => typeof k === 'string')) return new Map(pairs);
        return fromPairs(pairs);
      }
      default: return fromPairs(Object.entries(v).map(([k, x]) => [k, fromWire(x)]));
    }
  };
  // A key "__proto__" is a key like any other.
  const fromPairs = (pairs) => {
    const object = {};
    for (const [k, v] of pairs) Object.defineProperty(object, k, { value: v, enumerable: true, writable: true, configurable: true });
    return object;
  };
  const toWire = (v, where) => {
    switch (typeof v) {
      case 'boolean': case 'string': return v;
      case 'number':
        return Number.isFinite(v) && !Object.is(v, -0) ? v : { $float: Object.is(v, -0) ? '-0.0' : v !== v ? 'nan' : v > 0 ? 'inf' : '-inf' };
      case 'bigint': return v >= -9007199254740991n && v <= 9007199254740991n ? Number(v) : { $int: String(v) };
      case 'object':
        if (v === null) return null;
        if (Array.isArray(v)) return v.map((x) => toWire(x, where));
        if (v instanceof Date) return { $date: v.toISOString() };
        if (v instanceof Uint8Array) return { $bytes: Buffer.from(v).toString('base64') };
        if (v instanceof Map) return { $map: [...v].map(([k, x]) => [toWire(k, where), toWire(x, where)]) };
        if (typeof v.toJSON === 'function') return toWire(v.toJSON(), where);
        if ([null, Object.prototype].includes(Object.getPrototypeOf(v))) {
          const pairs = Object.entries(v);
          if (pairs.some(([k]) => k.startsWith('$'))) return { $map: pairs.map(([k, x]) => [k, toWire(x, where)]) };
          return fromPairs(pairs.map(([k, x]) => [k, toWire(x, where)]));
        }
    }
    const kind = v === undefined ? 'undefined' : v?.constructor?.name ?? typeof v;
    throw new TypeError(`glue: "${where}" holds a ${kind}, which is not JSON; turn it into numbers, strings, arrays and plain objects, or give String(value) for text`);
  };
  const readScraps = () => {
    const found = new Map();
    let text = '';
    try { text = scrapsFile ? fs.readFileSync(scrapsFile, 'utf8') : ''; } catch { return found; }
    for (const line of text.split('\n').slice(0, -1)) {
      const entry = JSON.parse(line);
      found.set(entry.name, entry);
    }
    return found;
  };
  const glue = (name, value, { kind, display } = {}) => {
    if (typeof name !== 'string' || name === '') throw new TypeError('glue: the name of a scrap is a string that is not empty');
    if (!scrapsFile) throw new Error('glue: this session keeps no scraps');
    const entry = { name };
    if (display) entry.display = true;
    const safe = name.replace(/[^\p{L}\p{N}_-]/gu, '_');
    const png = value instanceof Uint8Array && Buffer.from(value.subarray(0, 4)).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]));
    if (kind === 'file' || kind === 'image' && typeof value === 'string') {
      const file = path.resolve(String(value));
      Object.assign(entry, { type: kind, file: keep('scrap-' + safe + path.extname(file), fs.readFileSync(file)) });
    } else if (png && (kind === undefined || kind === 'image')) {
      Object.assign(entry, { type: 'image', mime: 'image/png', file: keep('scrap-' + safe + '.png', value) });
    } else if (kind === 'table') {
      if (!Array.isArray(value) || !value.every((r) => r !== null && typeof r === 'object')) throw new TypeError(`glue: "${name}" is no table; give an array of objects`);
      const columns = [...new Set(value.flatMap((r) => Object.keys(r)))];
      Object.assign(entry, { type: 'table', value: { columns, data: value.map((r) => columns.map((c) => toWire(r[c] ?? null, c))) } });
    } else if (kind === 'text' || kind === undefined && typeof value === 'string') {
      Object.assign(entry, { type: 'text', value: String(value) });
    } else if (kind === undefined || kind === 'json') {
      Object.assign(entry, { type: 'json', value: toWire(value, name) });
    } else {
      throw new TypeError(`glue: kind is text, json, table, image or file, not ${inspect(kind)}`);
    }
    fs.appendFileSync(scrapsFile, JSON.stringify(entry) + '\n');
  };
  const check = (name, state, { value, unit, message } = {}) => {
    if (typeof name !== 'string' || name === '') throw new TypeError('check: the name of a check is a string that is not empty');
    if (!['ok', 'warn', 'critical', 'error'].includes(state)) throw new TypeError(`check: the state is ok, warn, critical or error, not ${inspect(state)}`);
    if (value !== undefined && !Number.isFinite(value)) throw new TypeError(`check: the value of "${name}" is ${inspect(value)}, which is no number`);
    if (!scrapsFile) throw new Error('check: this session keeps no scraps');
    const data = { state, value, unit: unit && String(unit), message: message && String(message) };
    fs.appendFileSync(scrapsFile, JSON.stringify({ name: 'check:' + name, type: 'check', value: data }) + '\n');
  };
  const scrap = (name) => {
    const found = readScraps(), entry = found.get(name);
    if (!entry) throw new Error(`no scrap is named "${name}"; known: ${[...found.keys()].sort().join(', ') || 'none yet'}`);
    return entry.type === 'image' || entry.type === 'file' ? entry.file : fromWire(entry.value);
  };
  const scraps = new Proxy({}, {
    get: (_, name) => (typeof name === 'string' && readScraps().has(name) ? scrap(name) : undefined),
    has: (_, name) => readScraps().has(name),
    ownKeys: () => [...readScraps().keys()],
    getOwnPropertyDescriptor: (_, name) => (readScraps().has(name) ? { value: scrap(name), enumerable: true, configurable: true } : undefined),
  });

  // -- the session

  const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
  for (const [name, value] of Object.entries({ glue, scrap, scraps, check, display: (...values) => values.forEach(show) })) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
  Object.defineProperty(globalThis, 'require', { configurable: true, get: () => createRequire(path.join(cwd(), 'step.js')),
    set: (value) => define('require', value) });
  const eachParam = (set) => {
    const params = fs.readFileSync(privately('params'), 'utf8');
    for (const [name, value] of params ? JSON.parse(params) : []) set(name, fromWire(value));
  };
  eachParam(define);
  // What a step declared with let is no property of the global object: it is assigned to by its
  // name, which the engine has checked.
  // What it declared with const is declared anew.
  const assign = async (name, value) => {
    try {
      vm.runInThisContext(`(value) => { ${name} = value; }`)(value);
    } catch {
      const holder = '__mm_' + name;
      Object.defineProperty(globalThis, holder, { value, configurable: true });
      try {
        await evaluate(`const ${name} = ${holder};`, 'parameters', 1);
      } finally {
        delete globalThis[holder];
      }
    }
  };

  const say = (text) => {
    const fd = fs.openSync(privately('ctl'), 'w');
    fs.writeSync(fd, text);
    fs.closeSync(fd);
  };
  const finish = () => {
    const s = step;
    step = null;
    for (const [name, value] of s.env) {
      if (value === undefined) delete process.env[name]; else process.env[name] = value;
    }
    let code = s.code ?? (Number(process.exitCode ?? 0) & 0xff);
    process.exitCode = undefined;
    const more = s.displays.length > 0 || s.failure;
    if (more) {
      const fields = [...(s.failure ?? ['', '', '', '0']), ...s.displays.flat()];
      fs.writeFileSync(privately('reply'), fields.map((f) => f.replaceAll('\0', '\\0') + '\0').join(''));
    }
    clearInterval(s.alive);
    clearInterval(s.watch);
    orders.ref();
    say(`${s.number} ${code} ${more ? 1 : 0}\n`);
  };
  const reopen = () => {
    for (const [fd, name] of [[1, 'out'], [2, 'err']]) {
      try { fs.fstatSync(fd); } catch {
        const got = fs.openSync(privately(name), 'w');
        if (got !== fd) fs.closeSync(got);
      }
    }
  };
  const begin = async (order) => {
    reopen();
    const [number, size, codeSize] = order.split(' ');
    const whole = fs.readFileSync(privately('step')).subarray(0, size);
    const meta = String(whole.subarray(0, size - codeSize)).split('\0').slice(0, -1);
    const code = String(whole.subarray(size - codeSize));
    step = { number, file: meta[0], dir: meta[3], displays: [], count: 0, env: [] };
    for (let i = 4; i + 1 < meta.length; i += 2) {
      step.env.push([meta[i], process.env[meta[i]]]);
      process.env[meta[i]] = meta[i + 1];
    }
    const s = step;
    orders.unref(); // from here on the step alone keeps the loop alive
    // What an earlier step left open (one that failed: a timer, a connection) is not waited for.
    const before = counted();
    s.alive = setInterval(() => {}, 1 << 30); // while its promise is open, so does this
    try {
      if (meta[2]) process.chdir(meta[2]);
      let { value } = await evaluate(code, meta[0], Number(meta[1]));
      if (value instanceof Promise) value = await value;
      if (step === s) show(value);
    } catch (e) {
      if (step === s) fail(e);
    }
    if (step !== s) return;
    clearInterval(s.alive);
    if (s.code !== undefined) return finish();
    if (before.size === 0) return; // beforeExit tells
    const nothingNew = () => [...counted()].every(([kind, n]) => n <= (before.get(kind) ?? 0));
    s.watch = setInterval(() => { if (step === s && nothingNew()) finish(); }, 2).unref();
  };
  // counted is what keeps the event loop alive, by kind.
  const counted = () => {
    const kinds = new Map();
    for (const kind of process.getActiveResourcesInfo?.() ?? []) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    return kinds;
  };
  process.on('beforeExit', () => { if (step) finish(); });
  const unexpected = (e) => {
    if (!step) return;
    fail(e);
    finish();
  };
  process.on('uncaughtException', unexpected);
  process.on('unhandledRejection', unexpected);
  process.on('SIGINT', () => unexpected(interrupted));

  const orders = new net.Socket({ fd: fs.openSync(privately('in'), fs.constants.O_RDWR | fs.constants.O_NONBLOCK), readable: true, writable: false });
  let pending = '';
  orders.on('data', (data) => {
    pending += data;
    const lines = pending.split('\n');
    pending = lines.pop();
    for (const order of lines) {
      if (order === 'q') {
        process.emit('exit', 0);
        reallyExit(0);
      } else if (order[0] === 'p') {
        say(order.slice(1) + ' 0 0\n');
      } else if (order[0] === 'b') {
        const set = [];
        eachParam((name, value) => set.push(assign(name, value)));
        Promise.all(set).then(() => 0, () => 1).then((failed) => say(`${order.slice(1)} ${failed} 0\n`));
      } else {
        begin(order);
      }
    }
  });
  say(`hello ${process.pid} ${process.versions.node}\n`);
}
