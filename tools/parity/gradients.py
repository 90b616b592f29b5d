# SPDX-License-Identifier: MIT
"""gradients.py: `cke grad` against autograd in float64.

    python tools/parity/gradients.py DIR... [--lengths 3,24,150] [--batch 2] [--remember 4.5]
                                          [--label-smoothing 0.1] [--z-loss 0.001] [--balance-loss 0.1] [--precision bf16]

DIR is a Hugging Face directory. Prints one Markdown row for each directory and length: how far the loss, the norm and
the gradients are, each of its own norm, beside what PyTorch's float32 is from the same reference. Exits 1 where
tensors are missing or too many, or further away than LIMITS and NOISE times float32 allow.
Needs torch, transformers 5, safetensors and build/release/cke.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file

import autograd
import measure

LIMITS = {"f32": {"loss": 1e-5, "grad_norm": 1e-4, "tensor": 1e-3},
          "bf16": {"loss": 1e-3, "grad_norm": 5e-3, "tensor": 5e-3}}
NOISE = {"f32": 20, "bf16": 4}  # more would hide the rounding to bf16 itself
HEADER = ("| model | length | loss | norm | worst tensor | error | float32's | median | wrong |\n"
          "|---|---|---|---|---|---|---|---|---|")


def allowed(limit, noise, precision):
    return max(LIMITS[precision][limit], NOISE[precision] * noise)


def cke_gradients(args, directory, batch):
    """(what it prints, the tensors that it writes)."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "batch.json", Path(folder) / "gradients.safetensors"
        file.write_text(json.dumps(batch))
        printed = json.loads(autograd.run_cke(args.cke, "grad", directory, "--batch", file, "-o", out,
                                             "--label-smoothing", args.label_smoothing, "--z-loss", args.z_loss,
                                             "--balance-loss", args.balance_loss, "--precision", args.precision))
        return printed, load_file(out)


def complaints(printed, ours, batch, exact):
    """What is wrong before any number is compared."""
    if printed["tokens"] != autograd.targets(batch):
        yield f"{printed['tokens']} tokens, not {autograd.targets(batch)}"
    for words, names in ("missing", exact.keys() - ours.keys()), ("not trained", ours.keys() - exact.keys()):
        if names:
            yield f"{len(names)} {words}, first {min(names)}"
    for name in exact.keys() & ours.keys():
        if ours[name].shape != exact[name].shape or str(ours[name].dtype) != "torch.float32":
            yield f"{name} is {ours[name].dtype} {list(ours[name].shape)}, not float32 {list(exact[name].shape)}"


def reference(model, batch, loss):
    loss, found = autograd.gradients(model, batch, loss)
    return {"loss": loss, "grad_norm": autograd.norm_of(found)}, autograd.as_file(model, found)


def differences(found, exact):
    return {"loss": abs(found["loss"] - exact["loss"]), "grad_norm": abs(found["grad_norm"] / exact["grad_norm"] - 1)}


def compare(args, directory, models, length):
    """Prints a row; returns whether cke is as close as it must be."""
    length = autograd.positions(models[0].config, length)
    batch = autograd.random_batch(models[0].config.vocab_size, [length] * args.batch, args.seed)
    loss = autograd.Loss(args.label_smoothing, args.z_loss, args.balance_loss, args.precision)
    (numbers, exact), (rounded_numbers, rounded) = (reference(model, batch, loss) for model in models)
    printed, ours = cke_gradients(args, directory, batch)
    start = f"| {directory.name} | {length} |"
    wrong = list(complaints(printed, ours, batch, exact))
    if wrong:
        print(start, "; ".join(wrong), "|", flush=True)
        return False

    off, noise = differences(printed, numbers), differences(rounded_numbers, numbers)
    errors, noises = autograd.errors_of(exact, ours), autograd.errors_of(exact, rounded)
    bad, worst = autograd.beyond(errors, {name: allowed("tensor", noises[name], args.precision) for name in errors})
    wrong = [key for key in off if not off[key] <= allowed(key, noise[key], args.precision)] + [f"{len(bad)} tensors"] * bool(bad)
    print(f"{start} {off['loss']:.1e} | {off['grad_norm']:.1e} | {worst} | {errors[worst]:.1e} | {noises[worst]:.1e} "
          f"| {statistics.median(errors.values()):.1e} | {', '.join(wrong)} |", flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--cke", type=Path, default=measure.ROOT / "build/release/cke")
    parser.add_argument("--lengths", default="3,24,150", help="of sequences; at most the model's positions")
    parser.add_argument("--batch", type=int, default=2, help="sequences in a batch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--remember", type=float, default=0.0, help="subtract this from A_log: states last")
    parser.add_argument("--label-smoothing", type=float, default=0.0)
    parser.add_argument("--z-loss", type=float, default=0.0)
    parser.add_argument("--balance-loss", type=float, default=0.0)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    args = parser.parse_args()

    print(HEADER)
    good = True
    for directory in args.directories:
        with tempfile.TemporaryDirectory() as folder:
            if args.remember:
                directory = autograd.remembering(directory, folder, args.remember)
            models = [autograd.load(directory, dtype) for dtype in (torch.float64, torch.float32)]
            lengths = {autograd.positions(models[0].config, int(n)): None for n in args.lengths.split(",")}
            for length in lengths:
                good &= compare(args, directory, models, length)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
