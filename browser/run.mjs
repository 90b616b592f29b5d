// SPDX-License-Identifier: MIT
// run.mjs PROGRAM.wasm [ARGUMENT ...]: runs a program for WASI under node, with all files of this machine. It ends with
// 77 where this node does not know an instruction of the program.
import { readFile } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { WASI } from "node:wasi";

const [file, ...args] = process.argv.slice(2), bytes = await readFile(file);
if (!WebAssembly.validate(bytes)) {
  // Relaxed SIMD before node 21; the first of that V8's two compilers loses registers there.
  setFlagsFromString("--experimental-wasm-relaxed-simd");
  setFlagsFromString("--no-liftoff");
}
if (!WebAssembly.validate(bytes)) {
  console.error(`${file}: node ${process.version} has an instruction less than this program`);
  process.exit(77);
}
const wasi = new WASI({ version: "preview1", args: [file, ...args], env: process.env, preopens: { "/": "/" } });
const instance = await WebAssembly.instantiate(await WebAssembly.compile(bytes), { wasi_snapshot_preview1: wasi.wasiImport });
process.exit(wasi.start(instance));
