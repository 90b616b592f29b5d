# SPDX-License-Identifier: MIT
"""measure.py: runs `cke logits` and compares two sets of logits."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HEADER = ("| model | positions | max abs diff | max abs logit | top-1 | mean KL (nats) | max KL |\n"
          "|---|---|---|---|---|---|---|")


def add_arguments(parser, max_abs, top1):
    parser.add_argument("--tokens", help="comma-separated ids; default: the ids.json of the model")
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    parser.add_argument("--format", help="passed on to cke")
    parser.add_argument("--max-abs", type=float, default=max_abs, help="largest allowed difference")
    parser.add_argument("--top1", type=float, default=top1, help="smallest allowed agreement")


def prompt(args, ids_file):
    """The ids of --tokens, or else those in `ids_file`."""
    if args.tokens:
        return [int(token) for token in args.tokens.split(",")]
    if not ids_file.exists():
        raise SystemExit(f"{ids_file} does not exist: name the ids with --tokens")
    return json.loads(ids_file.read_text())


def run_cke(args, command, model, ids, *options):
    """The output of `cke COMMAND MODEL --tokens IDS OPTIONS`."""
    if not args.cke.exists():
        raise SystemExit(f"{args.cke} does not exist: build it (./dev build) or name it with --cke")
    line = [args.cke.resolve(), command, model, "--tokens", ",".join(map(str, ids)), *options]
    if args.format:
        line += ["--format", args.format]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{model}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def cke_logits(args, model, ids, *options):
    """float32 [len(ids), vocab] from `cke logits`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "logits.npy"
        run_cke(args, "logits", model, ids, "-o", out, *options)
        return np.load(out)


def log_softmax(rows):
    rows = rows.astype(np.float64)
    rows = rows - rows.max(axis=1, keepdims=True)
    return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))


def report(name, ours, theirs, args):
    """Prints a Markdown row; returns whether `ours` is as close to `theirs` as `args` require."""
    if ours.shape != theirs.shape:
        print(f"| {name} | shapes differ: {ours.shape} and {theirs.shape} |")
        return False
    difference = float(np.abs(ours - theirs).max())
    agreement = float((ours.argmax(axis=1) == theirs.argmax(axis=1)).mean())
    p, q = log_softmax(theirs), log_softmax(ours)
    kl = (np.exp(p) * (p - q)).sum(axis=1)
    print(f"| {name} | {len(ours)} | {difference:.2e} | {np.abs(theirs).max():.2f} "
          f"| {agreement:.4f} | {kl.mean():.2e} | {kl.max():.2e} |")
    # A NaN on either side makes the first comparison false.
    return difference <= args.max_abs and agreement >= args.top1
