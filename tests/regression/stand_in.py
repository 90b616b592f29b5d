# SPDX-License-Identifier: MIT
"""stand_in.py CKE: that golden.py says what is right and what is not, with the model in assets/tiny in place of Qwen3-0.6B.

Its greedy ids are transformers'. Its first keys are computed here from the file: at position 0 rope turns nothing, so
they are the norm of a row of k_proj times the norm of an embedding.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import check

TINY = check.ROOT / "assets/tiny"
GOLDEN = Path(__file__).with_name("golden.py")


def tensors(file):
    """f(name): the numbers of a bfloat16 tensor, row by row."""
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])

    def numbers(name):
        entry = header[name]
        assert entry["dtype"] == "BF16", entry
        begin, end = (8 + length + at for at in entry["data_offsets"])
        halves = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
        width = entry["shape"][-1]
        flat = [struct.unpack("<f", struct.pack("<I", half << 16))[0] for half in halves]
        return [flat[i : i + width] for i in range(0, len(flat), width)]

    return numbers


def rms_norm(x, weight, eps):
    scale = (sum(v * v for v in x) / len(x) + eps) ** -0.5
    return [v * scale * w for v, w in zip(x, weight)]


def first_keys(token, config):
    """Of head 0 in layer 0, after its norm."""
    numbers, eps = tensors(TINY / "model.safetensors"), config["rms_norm_eps"]
    layer = "model.layers.0."
    (norm,), (k_norm,) = numbers(layer + "input_layernorm.weight"), numbers(layer + "self_attn.k_norm.weight")
    x = rms_norm(numbers("model.embed_tokens.weight")[token], norm, eps)
    rows = numbers(layer + "self_attn.k_proj.weight")[: config["head_dim"]]
    return rms_norm([sum(a * b for a, b in zip(row, x)) for row in rows], k_norm, eps)[:4]


def golden_of_tiny():
    config = json.loads((TINY / "config.json").read_text())
    answer = json.loads((check.ROOT / "tests/data/tiny/reference.json").read_text())[0]
    shape = json.loads(GOLDEN.with_suffix(".json").read_text())["shape"]
    return {"shape": {name: config[name] for name in shape}, "prompt": answer["prompt"], "tokens": answer["ids"],
            "greedy": answer["greedy"][:8], "first_keys": first_keys(answer["ids"][0], config), "tolerance": 0.01}


def said(cke, golden, folder):
    """golden.py's status and words; golden: None for its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(golden, file)
        file.flush()
        words = [folder] * (folder is not None) + ["--expect", file.name] * (golden is not None)
        done = subprocess.run([sys.executable, GOLDEN, cke, *words], capture_output=True, text=True,
                              env={k: v for k, v in os.environ.items() if k != "CKE_QWEN3_06B_DIR"})
    return done.returncode, done.stdout + done.stderr


def main():
    cke, right = sys.argv[1], golden_of_tiny()
    keys = right["first_keys"]
    # (what golden.py is given, its status, words of its answer)
    table = [(right, TINY, 0, "greedy ids [11, 458, 288"),
             (None, None, 77, "left out: CKE_QWEN3_06B_DIR names no directory"),
             (None, TINY, 1, "config.json: vocab_size: expected 151936, found 1536"),
             (None, TINY / "none", 1, "No such file or directory"),
             (right | {"tokens": [1, 2]}, TINY, 1, "ids of 'Once upon a time': expected [1, 2], found [472"),
             (right | {"first_keys": [keys[0] + 0.02, *keys[1:]]}, TINY, 1, "first keys of layer 0: expected ["),
             (right | {"greedy": [12, *right["greedy"][1:]]}, TINY, 1, "greedy ids: expected [12, 458")]
    problems = []
    for golden, folder, status, words in table:
        found = said(cke, golden, folder)
        if found[0] != status or words not in found[1]:
            problems.append(f"expected status {status} and {words!r}, found {found}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
