# SPDX-License-Identifier: MIT
"""train_steps.py: the steps of `cke train` against torch.optim.AdamW in float64.

    python tools/parity/train_steps.py DIR... [--steps 10] [--length 24] [--batch 2]

DIR is a Hugging Face directory. Prints one Markdown row each: how far the losses and norms of the log are, relative,
and what became of the weights, of the way that they went, beside PyTorch's float32. Exits 1 where they are further
away than LIMITS and NOISE times float32 allow, or where a tensor that is not trained changed.
Needs torch, transformers 5, safetensors and build/release/cke.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import autograd
import measure

LIMITS = {"loss": 1e-3, "grad_norm": 1e-3, "lr": 1e-6, "tensor": 1e-3}
NOISE = 20
HEADER = ("| model | steps | loss | norm | lr | worst tensor | error | float32's | wrong |\n"
          "|---|---|---|---|---|---|---|---|---|")


def batches_of(config, args, recipe):
    """Random sequences whose labels are ignored at the same places, so that every mean is of as many targets."""
    lengths = [autograd.positions(config, args.length)] * args.batch
    made = [autograd.random_batch(config.vocab_size, lengths, args.seed + i)
            for i in range(recipe.steps * recipe.accumulate)]
    for batch in made:
        batch["labels"] = [[autograd.IGNORED if label == autograd.IGNORED else i for i, label in zip(row, first)]
                           for row, first in zip(batch["ids"], made[0]["labels"])]
    return made


def cke_train(args, directory, batches, recipe, folder):
    """The log and the directory that it writes."""
    file, log, out = folder / "batches.json", folder / "log.jsonl", folder / "trained"
    file.write_text(json.dumps({"batches": batches}))
    autograd.run_cke(args.cke, "train", directory, "--batches", file, *recipe.flags(), "--log", log, "-o", out)
    return [json.loads(line) for line in log.read_text().splitlines()], out


def furthest(log, exact, key):
    return float(np.max([abs(a[key] / b[key] - 1) for a, b in zip(log, exact)]))  # a NaN if one is


def moves(model, start):
    """{name: how far each parameter of `model` went from `start`}."""
    before = dict(start.named_parameters())
    return {name: p.detach().double() - before[name].detach() for name, p in model.named_parameters()}


def rounding(out, start):
    """{name: what storing costs at most}: nothing to speak of in float32, half a step in bfloat16."""
    dtype = max((t.dtype for t in autograd.tensors_of(out).values()), key=lambda dtype: torch.finfo(dtype).eps)
    return {name: torch.finfo(dtype).eps / 2 * p.norm().item() for name, p in start.named_parameters()}


def constants(model):
    trained = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return {name: t for name, t in model.state_dict().items() if name not in trained}


def compare(args, directory, recipe):
    """Prints a row; returns whether cke is as close as it must be."""
    start, model, rounded = (autograd.load(directory, dtype) for dtype in (torch.float64, torch.float64, torch.float32))
    batches = batches_of(start.config, args, recipe)
    exact, noise = autograd.train(model, batches, recipe), autograd.train(rounded, batches, recipe)
    with tempfile.TemporaryDirectory() as folder:
        log, out = cke_train(args, directory, batches, recipe, Path(folder))
        ours, lost = autograd.load(out), rounding(out, start)
        alien = autograd.tensors_of(directory).keys() ^ autograd.tensors_of(out).keys()

    row = f"| {directory.name} | {recipe.steps} |"
    if [line["step"] for line in log] != [line["step"] for line in exact]:
        print(row, f"the log has the steps {[line['step'] for line in log]} |", flush=True)
        return False
    off = {key: furthest(log, exact, key) for key in ("loss", "grad_norm", "lr")}
    wrong = [key for key in off if not off[key] <= max(LIMITS[key], NOISE * furthest(noise, exact, key))]

    way = moves(model, start)
    errors, noises = autograd.errors_of(way, moves(ours, start)), autograd.errors_of(way, moves(rounded, start))
    limits = {name: max(LIMITS["tensor"], NOISE * noises[name]) + lost[name] / max(way[name].norm().item(), 1e-30)
              for name in way}
    bad, worst = autograd.beyond(errors, limits)
    changed = [name for name, t in constants(start).items() if not torch.equal(constants(ours)[name], t)]
    wrong += [f"{len(bad)} tensors"] * bool(bad) + [f"{name} changed" for name in changed]
    wrong += [f"{len(alien)} names in one file alone, first {min(alien)}"] if alien else []
    print(f"{row} {off['loss']:.1e} | {off['grad_norm']:.1e} | {off['lr']:.1e} | {worst} | {errors[worst]:.1e} "
          f"| {noises[worst]:.1e} | {', '.join(wrong)} |", flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--cke", type=Path, default=measure.ROOT / "build/release/cke")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--length", type=int, default=24, help="of sequences; at most the model's positions")
    parser.add_argument("--batch", type=int, default=2, help="sequences in a batch")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    print(HEADER)
    good = True
    for directory in args.directories:
        good &= compare(args, directory, autograd.Recipe(steps=args.steps))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
