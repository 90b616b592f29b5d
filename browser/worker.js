// SPDX-License-Identifier: MIT
// worker.js: runs the model beside the page. It takes {load}, {ask} and {stop}, and posts {ready}, {piece}, {done} and
// {error}; after an error it has started anew and takes questions again.
"use strict";

const later = () => new Promise(go => { const c = new MessageChannel(); c.port1.onmessage = () => (c.port1.close(), go()); c.port2.postMessage(0); });
const unpack = async base64 => {  // of gzip, as browser/make_page.py packs
  const packed = Uint8Array.from(atob(base64.trim()), c => c.charCodeAt(0));
  const bytes = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(bytes).arrayBuffer());
};

let program, file, context, model, stopped = false;  // file: a Blob

// A program's memory and exports. Of WASI it needs a clock and a place for its last words; the rest says "no".
async function start() {
  let said = "", memory = null;
  const view = () => new DataView(memory.buffer);
  const wasi = {
    clock_time_get: (_clock, _precision, at) => (view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true), 0),
    fd_write: (_fd, pieces, count, written) => {
      let all = 0;
      for (let i = 0; i < count; ++i) {
        const at = view().getUint32(pieces + 8 * i, true), size = view().getUint32(pieces + 8 * i + 4, true);
        said += new TextDecoder().decode(new Uint8Array(memory.buffer, at, size)), all += size;
      }
      view().setUint32(written, all, true);
      return 0;
    },
    environ_sizes_get: (count, size) => (view().setUint32(count, 0, true), view().setUint32(size, 0, true), 0),
    environ_get: () => 0,
    proc_exit: code => { throw new Error("the program ended with " + code); },
  };
  const bad_file = 8;  // EBADF
  const imports = new Proxy(wasi, { get: (known, name) => known[name] || (() => bad_file) });
  const instance = await WebAssembly.instantiate(program, { wasi_snapshot_preview1: imports });
  const exported = instance.exports;
  memory = exported.memory;
  // Calls an export; a trap becomes what the program wrote before it.
  const call = (name, ...values) => {
    try { return exported[name](...values); } catch (e) { throw new Error(said.trim().replace(/^cke: error: /, "") || e.message); }
  };
  const set = (at, bytes) => new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  call("_initialize");
  if (file.size >= 2 ** 32) throw new Error(`the file has ${file.size} bytes; a page has room for less than 4 GiB`);
  const slice = 1 << 26, place = call("cke_file", file.size) >>> 0;  // addresses from 2 GiB on come as negative numbers
  for (let at = 0; at < file.size; at += slice) set(place + at, new Uint8Array(await file.slice(at, at + slice).arrayBuffer()));
  call("cke_load", context);
  const decoder = new TextDecoder();
  const piece = size => new Uint8Array(memory.buffer, call("cke_piece") >>> 0, size);
  const write = text => {
    const bytes = new TextEncoder().encode(text), at = call("cke_text", bytes.length) >>> 0;  // which may move the memory
    set(at, bytes);
  };
  return {
    ask: q => (write(q.messages ? q.messages.flatMap(m => [m.role, m.content]).map(s => s.replaceAll("\0", "") + "\0").join("") : q.text),
      call("cke_ask", q.messages ? 1 : 0, q.thinking ? 1 : 0, q.max_tokens, q.temperature, q.top_k, q.top_p, q.seed)),
    next: () => { const size = call("cke_next"); return size ? decoder.decode(piece(size), { stream: true }) : null; },
    facts: () => { const size = call("cke_facts"); return JSON.parse(new TextDecoder().decode(piece(size))); },
    memory: () => memory.buffer.byteLength,
  };
}

async function load(of) {
  const begun = performance.now();
  const relaxed = of.relaxed && await unpack(of.relaxed);
  const bytes = relaxed && WebAssembly.validate(relaxed) ? relaxed : await unpack(of.simd);
  program = await WebAssembly.compile(bytes), file = of.picked || new Blob([await unpack(of.file)]), context = of.context;
  model = await start();
  postMessage({ ready: { ...model.facts(), bytes: model.memory(), ms: performance.now() - begun } });
}

async function answer(q) {
  const begun = performance.now();
  model.ask(q);
  let first = 0, last = 0, shown = begun, text = "", pieces = 0;
  stopped = false;
  for (let piece; (piece = model.next()) !== null;) {
    last = performance.now(), first ||= last, text += piece, ++pieces;
    if (last - shown < 16) continue;
    postMessage({ piece: text, pieces, ms: last - first });
    text = "", shown = last;
    await later();  // so that a {stop} gets through
    if (stopped) break;
  }
  const facts = model.facts();
  postMessage({ done: { text, stopped, ids: facts.ids, prompt: facts.prompt, cut: facts.cut, prompt_ms: (first || performance.now()) - begun, ms: last - first, bytes: model.memory() } });
}

let work = Promise.resolve();
self.onmessage = ({ data }) => {
  if (data.stop) return stopped = true;
  work = work.then(() => data.load ? load(data.load) : answer(data.ask)).catch(async e => {
    postMessage({ error: e.message });
    model = program && file && await start().catch(() => null);
  });
};
