#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mtmd.py: a GGUF model with its mmproj file through llama.cpp's mtmd and through cke; how far apart are they?

    python tools/parity/mtmd.py MODEL.gguf MMPROJ.gguf --image FILE [--image FILE...] --placeholder TOKEN
                                 [--line N TOKEN] [--prompt TEXT] [--limit X] [--rows] [--cke PATH]

Needs the PyPI packages llama-cpp-py-sync (whose Linux wheels have mtmd), numpy, pillow and cffi. Prints the largest
difference of the rows that enter the text model, and whether 16 greedy ids after a prompt that begins with the images
are equal, or how near the first two that differ were. Exits 1 where ids differ, or rows by more than --limit of the
largest number. Activations of llama.cpp are as narrow as the weights, so F32 files show more; its GELU is a table of
float16.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from llama_cpp_py_sync import _cffi_bindings as native
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
NEW = 16


class Mtmd:
    def __init__(self, model, mmproj, threads=1):
        self.ffi, self.llama = native.get_ffi(), native.get_lib()
        self.lib = native._load_mtmd_library()
        self.silent = self.ffi.callback("void(enum ggml_log_level, const char *, void *)", lambda *_: None)
        self.llama.llama_log_set(self.silent, self.ffi.NULL)
        self.lib.mtmd_log_set(self.silent, self.ffi.NULL)
        self.lib.mtmd_helper_log_set(self.silent, self.ffi.NULL)
        params = self.llama.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = self.llama.llama_model_load_from_file(str(model).encode(), params)
        if self.model == self.ffi.NULL:
            raise SystemExit(f"{model}: llama.cpp does not load this file")
        params = self.llama.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = 2048
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = 0  # F32
        params.flash_attn_type = 0
        self.context = self.llama.llama_init_from_model(self.model, params)
        params = self.lib.mtmd_context_params_default()
        params.use_gpu = params.warmup = params.print_timings = False
        params.n_threads, params.flash_attn_type = threads, 0
        self.mtmd = self.lib.mtmd_init_from_file(str(mmproj).encode(), self.model, params)
        if self.mtmd == self.ffi.NULL:
            raise SystemExit(f"{mmproj}: mtmd does not load this file")
        self.width = self.llama.llama_model_n_embd_inp(self.model)

    def chunks(self, text, files):
        pixels = [Image.open(file).convert("RGB") for file in files]
        maps = [self.lib.mtmd_bitmap_init(*p.size, p.tobytes()) for p in pixels]
        encoded = text.encode()
        held = self.ffi.new("char[]", encoded)
        asked = self.ffi.new("mtmd_input_text *", {"text": held, "text_len": len(encoded), "add_special": True, "parse_special": True})
        out = self.lib.mtmd_input_chunks_init()
        if self.lib.mtmd_tokenize(self.mtmd, out, asked, self.ffi.new("const mtmd_bitmap *[]", maps), len(maps)) != 0:
            raise SystemExit("mtmd_tokenize failed")
        return out

    def each(self, chunks):
        for i in range(self.lib.mtmd_input_chunks_size(chunks)):
            chunk = self.lib.mtmd_input_chunks_get(chunks, i)
            yield chunk, self.lib.mtmd_input_chunk_get_type(chunk) == self.lib.MTMD_INPUT_CHUNK_TYPE_TEXT

    def ids(self, chunks, placeholder, line):
        """The ids of a prompt: `placeholder` for each row of an image. `line`: (n, token), the token stands after every n of them."""
        out, count = [], self.ffi.new("size_t *")
        for chunk, is_text in self.each(chunks):
            if is_text:
                tokens = self.lib.mtmd_input_chunk_get_tokens_text(chunk, count)
                out += [tokens[i] for i in range(count[0])]
            else:
                rows = range(1, self.lib.mtmd_input_chunk_get_n_tokens(chunk) + 1)
                out += [line[1] if line and i % (line[0] + 1) == 0 else placeholder for i in rows]
        return out

    def features(self, chunks):
        rows = []
        for chunk, is_text in self.each(chunks):
            if is_text:
                continue
            if self.lib.mtmd_encode_chunk(self.mtmd, chunk) != 0:
                raise SystemExit("mtmd_encode_chunk failed")
            count = self.lib.mtmd_input_chunk_get_n_tokens(chunk)
            numbers = self.ffi.buffer(self.lib.mtmd_get_output_embd(self.mtmd), 4 * count * self.width)
            rows.append(np.frombuffer(bytes(numbers), np.float32).reshape(count, self.width))
        return np.concatenate(rows)

    def greedy(self, chunks):
        past = self.ffi.new("llama_pos *")
        if self.lib.mtmd_helper_eval_chunks(self.mtmd, self.context, chunks, 0, 0, 2048, True, past) != 0:
            raise SystemExit("mtmd_helper_eval_chunks failed")
        vocab = self.llama.llama_vocab_n_tokens(self.llama.llama_model_get_vocab(self.model))
        out, gap = [], np.inf
        for step in range(NEW):
            row = np.frombuffer(bytes(self.ffi.buffer(self.llama.llama_get_logits_ith(self.context, -1), 4 * vocab)), np.float32)
            out.append(int(row.argmax()))
            gap = min(gap, float(np.diff(np.sort(row)[-2:])[0]))
            batch = self.llama.llama_batch_init(1, 0, 1)
            batch.n_tokens, batch.token[0], batch.pos[0], batch.n_seq_id[0], batch.seq_id[0][0], batch.logits[0] = 1, out[-1], past[0] + step, 1, 0, 1
            if self.llama.llama_decode(self.context, batch) != 0:
                raise SystemExit("llama_decode failed")
        return out, gap


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("mmproj", type=Path)
    parser.add_argument("--image", type=Path, action="append", required=True)
    parser.add_argument("--prompt", default="what do you see")
    parser.add_argument("--placeholder", type=int, required=True, help="the id that stands for a row of an image in cke's --tokens")
    parser.add_argument("--line", type=int, nargs=2, metavar=("N", "TOKEN"), help="in a prompt of Pixtral, TOKEN ends each line of N rows but the last")
    parser.add_argument("--limit", type=float, default=3e-3)
    parser.add_argument("--rows", action="store_true", help="compare the rows alone")
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    args = parser.parse_args()

    mtmd = Mtmd(args.model, args.mmproj)
    chunks = mtmd.chunks(mtmd.ffi.string(mtmd.lib.mtmd_default_marker()).decode() * len(args.image) + args.prompt, args.image)
    images = [word for file in args.image for word in ("--image", file)]
    usual = [args.model, "--mmproj", args.mmproj, "--format", "f32", *images]

    def cke(*words):
        done = subprocess.run([args.cke, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return done.stdout

    with tempfile.TemporaryDirectory() as folder:
        cke("vision", *usual, "-o", Path(folder) / "f.npy")
        ours = np.load(Path(folder) / "f.npy")
    theirs = mtmd.features(chunks)
    if args.line:
        theirs = theirs[[i for i in range(len(theirs)) if (i + 1) % (args.line[0] + 1)]]
    if ours.shape != theirs.shape:
        raise SystemExit(f"rows: {list(ours.shape)} of cke, {list(theirs.shape)} of mtmd")
    apart, most = float(np.abs(ours - theirs).max()), float(np.abs(theirs).max())
    print(f"rows {list(ours.shape)}: at most {apart:.1e} apart, of up to {most:.1f}")
    near = apart <= args.limit * most
    if args.rows:
        return 0 if near else 1
    wanted, gap = mtmd.greedy(chunks)
    ids = ",".join(map(str, mtmd.ids(chunks, args.placeholder, args.line)))
    found = json.loads(cke("run", *usual, "--tokens", ids, "-n", NEW, "--temp", 0, "--ids"))
    same = found == wanted[:len(found)]
    print(f"{len(found)} greedy ids: {'equal' if same else f'{found}, not {wanted}'} (smallest gap of logits {gap:.1e})")
    if not same:
        i = next(i for i, (own, their) in enumerate(zip(found, wanted)) if own != their)
        before = ",".join([ids, *map(str, found[:i])])
        with tempfile.TemporaryDirectory() as folder:
            cke("logits", *usual, "--tokens", before, "--last", "-o", Path(folder) / "logits.npy")
            row = np.load(Path(folder) / "logits.npy")[-1]
        print(f"where they part, after {i}, cke's logits of {found[i]} and {wanted[i]} are {row[found[i]] - row[wanted[i]]:.1e} apart")
    return 0 if same and near else 1


if __name__ == "__main__":
    sys.exit(main())
