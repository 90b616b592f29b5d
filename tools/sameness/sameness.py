#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sameness.py: one SHA-256 of a model's logits, whatever the number of threads and the size of a pass.

    tools/sameness/sameness.py build/release/cke MODEL [--count 300] [--format q8_0] [--kv bf16]

Runs `cke logits` over every combination and prints a line for each; a pass of one token is decoding.
Exits 1 when two hashes differ. The hash is of the float32 numbers in the .npy file, without its header.
"""
import argparse
import hashlib
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile


def numbers(text):
    return [int(x) for x in text.split(",")]


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cke", type=pathlib.Path, help="the command")
    p.add_argument("model", help="what cke takes: a Hugging Face directory or a .gguf file")
    p.add_argument("--tokens", type=numbers, help="ids, between commas; else --count of them, drawn at random")
    p.add_argument("--count", type=int, default=300)
    p.add_argument("--threads", type=numbers, default=[1, 2, 3, 4])
    p.add_argument("--chunk", type=numbers, default=[1, 7, 64, 512])
    p.add_argument("--format", help="how weights are kept; default: as stored")
    p.add_argument("--kv", help="how keys and values are kept")
    return p.parse_args()


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"sameness: exit {done.returncode} of {' '.join(map(str, command[:3]))} ...")
    return done.stdout


def vocabulary(cke, model):
    size = json.loads(run([cke, "inspect", model, "--json"]))["vocabulary"]
    return size or sys.exit("sameness: a model without a tokenizer: give --tokens")


def npy_body(path):
    """The bytes after the header of a version 1 .npy file."""
    data = path.read_bytes()
    return data[10 + int.from_bytes(data[8:10], "little"):]


def main():
    args = arguments()
    draw = random.Random(1)
    ids = args.tokens or [draw.randrange(vocabulary(args.cke, args.model)) for _ in range(args.count)]
    options = [x for name in ("format", "kv") if getattr(args, name) for x in (f"--{name}", getattr(args, name))]
    hashes = set()
    with tempfile.TemporaryDirectory() as folder:
        for threads, chunk in itertools.product(args.threads, args.chunk):
            out = pathlib.Path(folder) / "logits.npy"
            run([args.cke, "logits", args.model, "--tokens", ",".join(map(str, ids)), "-t", str(threads),
                 "--chunk", str(chunk), "-o", out, *options])
            digest = hashlib.sha256(npy_body(out)).hexdigest()
            hashes.add(digest)
            print(f"{digest}  threads {threads}  chunk {chunk}", flush=True)
    if len(hashes) > 1:
        sys.exit(f"sameness: {len(hashes)} different hashes")


if __name__ == "__main__":
    main()
