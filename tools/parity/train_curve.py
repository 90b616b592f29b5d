# SPDX-License-Identifier: MIT
"""train_curve.py: the losses of many steps of `cke train` beside PyTorch's, from the same weights and batches.

    python tools/parity/train_curve.py DIR DATA.jsonl [--steps 300] [--sequences 12]

DIR is a Hugging Face directory, DATA.jsonl has {"ids", "labels"} on each line (assets/tiny/make/data.py writes such).
Prints the mean loss of every tenth of the steps for both, in float32, and exits 1 where they differ by more than 1 %.
Needs torch, transformers 5, safetensors and build/release/cke.
"""

import argparse
import json
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
import torch

import autograd
import measure

LIMIT = 0.01


def batches_of(path, steps, sequences):
    with path.open() as lines:
        documents = [json.loads(line) for line in islice(lines, steps * sequences)]
    if len(documents) < steps * sequences:
        raise SystemExit(f"{path}: {len(documents)} documents, and {steps * sequences} are needed")
    return [{key: [d[key] for d in documents[first:first + sequences]] for key in ("ids", "labels")}
            for first in range(0, len(documents), sequences)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cke", type=Path, default=measure.ROOT / "build/release/cke")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--sequences", type=int, default=12, help="of a batch")
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()

    recipe = autograd.Recipe(steps=args.steps, lr=args.lr, min_lr=args.lr / 50, warmup=100, beta2=0.98,
                             weight_decay=0.05, accumulate=1)
    batches = batches_of(args.data, args.steps, args.sequences)
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder) / "batches.json", Path(folder) / "log.jsonl"
        file.write_text(json.dumps({"batches": batches}))
        autograd.run_cke(args.cke, "train", args.directory, "--batches", file, *recipe.flags(), "--log", log,
                         "-o", Path(folder) / "trained")
        ours = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    model = autograd.load(args.directory, torch.float32)
    theirs = [line["loss"] for line in autograd.train(model, batches, recipe)]

    print("| steps | cke | PyTorch | difference |\n|---|---|---|---|")
    good = True
    for part in np.array_split(np.arange(args.steps), 10):
        a, b = np.mean(np.array(ours)[part]), np.mean(np.array(theirs)[part])
        good &= bool(abs(a / b - 1) <= LIMIT)
        print(f"| {part[0] + 1} to {part[-1] + 1} | {a:.4f} | {b:.4f} | {a / b - 1:+.2%} |")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
