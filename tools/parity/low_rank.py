# SPDX-License-Identifier: MIT
"""low_rank.py: the adapters of `cke train --lora-rank` against PEFT's, trained by torch.optim.AdamW in float64.

    python tools/parity/low_rank.py DIR... [--rank 3] [--alpha 6] [--targets q_proj,v_proj] [--steps 8]

DIR is a Hugging Face directory, of which a copy in float32 is made. cke writes an adapter that has not learned yet,
PEFT loads it, and both train it on the same batches. Prints a Markdown row each: how far the losses and norms of the
steps are, relative, how far the adapter, by its norm, and how far the loss of what `cke merge` makes of it is from the
loss of PEFT's merge.
Needs torch, transformers 5, peft, safetensors and build/release/cke.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from peft import PeftModel

import autograd
import measure

LIMITS = {"loss": 1e-5, "norm": 1e-3, "adapter": 5e-3, "merged": 1e-5}
HEADER = "| model | additions | loss | norm | adapter | merged |\n|---|---|---|---|---|---|"


def batches_of(config, args, recipe):
    lengths = [autograd.positions(config, args.length)] * 2
    made = [autograd.random_batch(config.vocab_size, lengths, args.seed + i) for i in range(recipe.steps)]
    for batch in made:
        batch["labels"] = batch["ids"]
    return made


def with_adapter(directory, adapter):
    model = PeftModel.from_pretrained(autograd.load(directory).requires_grad_(False), adapter, is_trainable=True)
    return model.to(torch.float64)


def numbers(model):
    return {name.replace(".default", ""): p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}


def train(model, batches, recipe):
    """Moves the adapter; a log of {"loss", "grad_norm"}, the norm before clipping."""
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=recipe.lr, betas=(recipe.beta1, recipe.beta2), eps=recipe.eps,
                                  weight_decay=recipe.weight_decay, foreach=False)
    log = []
    for step, batch in enumerate(batches, 1):
        optimizer.zero_grad()
        loss = autograd.loss_of(model, batch)
        loss.backward()
        norm = autograd.norm_of(p.grad for p in trained)
        for p in trained:
            p.grad.mul_(min(1.0, recipe.clip / (norm + 1e-6)))
        optimizer.param_groups[0]["lr"] = recipe.rate(step)
        optimizer.step()
        log.append({"loss": loss.item(), "grad_norm": norm})
    return log


def compare(args, original, recipe, folder):
    directory = folder / "model"
    autograd.run_cke(args.cke, "convert", original, "-o", directory, "--to", "f32")
    config = autograd.load(directory).config
    batches = batches_of(config, args, recipe)
    file = folder / "batches.json"
    file.write_text(json.dumps({"batches": batches}))
    what = ["--lora-rank", args.rank, "--lora-alpha", args.alpha]
    what += ["--lora-targets", args.targets] if args.targets else []
    autograd.run_cke(args.cke, "train", directory, "--batches", file, "--steps", 1, "--lr", 0, *what, "-o", folder / "new")
    log, out = folder / "log.jsonl", folder / "out"
    autograd.run_cke(args.cke, "train", directory, "--batches", file, "--lora", folder / "new", *recipe.flags(), "--log",
                     log, "-o", out)
    autograd.run_cke(args.cke, "merge", directory, "--lora", out, "-o", folder / "merged")

    model = with_adapter(directory, folder / "new")
    exact = train(model, batches, recipe)
    ours, theirs = numbers(with_adapter(directory, out)), numbers(model)
    assert ours.keys() == theirs.keys()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    with torch.no_grad():
        merged = autograd.loss_of(autograd.load(folder / "merged"), batches[0]).item()
        wanted = autograd.loss_of(with_adapter(directory, out).merge_and_unload(), batches[0]).item()
    # np.max returns a NaN that is among the numbers; max() may not.
    off = {"loss": np.max([abs(a["loss"] / b["loss"] - 1) for a, b in zip(lines, exact)]),
           "norm": np.max([abs(a["grad_norm"] / b["grad_norm"] - 1) for a, b in zip(lines, exact)]),
           "adapter": np.max([((ours[k] - theirs[k]).norm() / theirs[k].norm()).item() for k in ours]),
           "merged": abs(merged / wanted - 1)}
    print(f"| {original.name} | {len(ours) // 2} | " + " | ".join(f"{off[k]:.1e}" for k in LIMITS) + " |", flush=True)
    return len(lines) == len(exact) and all(off[k] <= LIMITS[k] for k in LIMITS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--cke", type=Path, default=measure.ROOT / "build/release/cke")
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument("--alpha", type=float, default=6.0)
    parser.add_argument("--targets", default="")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--length", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(HEADER)
    good = True
    for directory in args.directories:
        with tempfile.TemporaryDirectory() as folder:
            good &= compare(args, directory, autograd.Recipe(steps=args.steps, accumulate=1, lr=1e-2), Path(folder))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
