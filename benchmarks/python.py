# SPDX-License-Identifier: MIT
"""python.py: tokens per second of a stream in Python beside the command's, in turns.

    python3 benchmarks/python.py [MODEL] [--rounds 11] [--tokens 200] [--threads 1] [--cke build/release/cke]

Both continue one prompt greedily to so many tokens. A rate is tokens after the first over the seconds from the first
piece of text to the last. The ratio is the median of the rounds' ratios. Without MODEL: the shape of a model of 40 million
parameters, with random weights and the tokenizer of assets/tiny, as that model itself takes less than 0.3 ms a token."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

tree = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(tree / "python"))

import cke  # noqa: E402

PROMPT = "Once upon a time"


def make_model(folder):
    """Qwen3's kind of tensors, random."""
    import numpy

    shutil.copytree(tree / "assets/tiny", folder)
    config = json.loads((folder / "config.json").read_text())
    config.update(hidden_size=640, intermediate_size=1920, num_hidden_layers=8, num_attention_heads=10, num_key_value_heads=5,
                  head_dim=64, torch_dtype="bfloat16")
    (folder / "config.json").write_text(json.dumps(config))
    from hollow import shapes

    random, header, rows, end = numpy.random.default_rng(1), {}, [], 0
    for name, shape in shapes(config):
        values = random.normal(0, 0.02, shape) if len(shape) > 1 else numpy.ones(shape)
        rows.append((values.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes())
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [end, end + len(rows[-1])]}
        end += len(rows[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(rows))


def of_command(words, tokens):
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        first = last = None
        while os.read(run.stdout.fileno(), 1 << 16):
            last = time.perf_counter()
            first = first or last
    assert run.returncode == 0, words
    return (tokens - 1) / (last - first)


def of_python(model, tokens):
    first = last = None
    for _ in model.generate(PROMPT, stream=True, max_tokens=tokens, ignore_eos=True):
        last = time.perf_counter()
        first = first or last
    return (tokens - 1) / (last - first)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("model", nargs="?")
    options.add_argument("--rounds", type=int, default=11)
    options.add_argument("--tokens", type=int, default=200)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--cke", default=str(tree / "build/release/cke"))
    o = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = o.model
        if path is None:
            path = str(Path(scratch) / "model")
            make_model(Path(path))
        words = [o.cke, "run", path, "-p", PROMPT, "-n", str(o.tokens), "--ignore-eos", "-t", str(o.threads)]
        with cke.Model(path, threads=o.threads) as model:
            of_command(words, o.tokens), of_python(model, o.tokens)
            pairs = [(of_command(words, o.tokens), of_python(model, o.tokens)) for _ in range(o.rounds)]
            name = model.name
    command, python = (statistics.median(column) for column in zip(*pairs))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"{name}, {o.threads} thread(s), {o.tokens} tokens, {o.rounds} rounds in turns")
    print(f"command {command:.1f} tokens/s, Python {python:.1f}, Python over command {ratio:.3f}")


if __name__ == "__main__":
    main()
