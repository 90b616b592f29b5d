// SPDX-License-Identifier: MIT
// run.mjs PROGRAM.wasm [ARGUMENT ...]: runs a program for WASI under node, with all files of this machine.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const [file, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [file, ...args], env: process.env, preopens: { "/": "/" } });
const program = await WebAssembly.compile(await readFile(file));
const instance = await WebAssembly.instantiate(program, { wasi_snapshot_preview1: wasi.wasiImport });
process.exit(wasi.start(instance));
