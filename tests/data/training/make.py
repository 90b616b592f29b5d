# SPDX-License-Identifier: MIT
"""make.py: writes what PyTorch finds for the checkpoints of tests/data/families when they are trained.

    python tests/data/training/make.py [FAMILY...]      (needs torch and transformers 5)

NAME.json    ids, labels           two sequences of unlike length; -100 is ignored, and labels are not yet shifted
             loss, grad_norm       in float64: the mean over the targets, the norm of the whole gradient
             tensors               of each gradient, by its name in the checkpoint: norm, noise (how far float32 is
                                   from float64, of the norm) and projections on PROJECTIONS vectors of signs
             steps                 of STEPPED only: loss, grad_norm and lr of ten steps of AdamW, each of two batches
                                   (`batch_of`), with the recipe that autograd.py's Recipe has without arguments

NAME.bf16.json is the same without steps, of ROUNDED, with products of bf16 numbers as `--precision bf16` has them.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
FAMILIES = HERE.parent / "families"
sys.path.insert(0, str(HERE.parents[2] / "tools" / "parity"))
import autograd  # noqa: E402

PROJECTIONS = 8
LENGTHS, MIXER_LENGTHS = (24, 5), (24, 5, 70)  # the last is longer than a chunk of 64
MIXERS = ("qwen3_5_text", "mamba2", "lfm2", "deepseek_v3")
ROUNDED = ("qwen2", "mamba2", "gemma3_text")
STEPPED = ("qwen2", "qwen3_moe", "mamba2", "gemma3_text")
U64 = np.uint64


def signs(count, k):
    """+1 or -1 for each element, by bit 40 of a hash of its place."""
    with np.errstate(over="ignore"):
        h = (np.arange(count, dtype=U64) * U64(8) + U64(k + 1)) * U64(0x9E3779B97F4A7C15)
        h ^= h >> U64(29)
        h *= U64(0xBF58476D1CE4E5B9)
    return 1.0 - 2.0 * ((h >> U64(40)) & U64(1)).astype(np.float64)


def batch_of(batch, number, vocab_size):
    """Micro-batch `number` of the trajectory, from 0."""
    ids = [[(i * 7 + number * 13 + 5) % vocab_size for i in row] for row in batch["ids"]]
    labels = [[autograd.IGNORED if label == autograd.IGNORED else i for i, label in zip(row, known)]
              for row, known in zip(ids, batch["labels"])]
    return {"ids": ids, "labels": labels}


def steps_of(directory, batch):
    """The trajectory in float64, and how far the losses of float32 are from it at most."""
    recipe, logs = autograd.Recipe(), []
    for dtype in (torch.float64, torch.float32):
        model = autograd.load(directory, dtype)
        count = recipe.steps * recipe.accumulate
        batches = [batch_of(batch, number, model.config.vocab_size) for number in range(count)]
        logs.append(autograd.train(model, batches, recipe))
    return logs[0], max(abs(a["loss"] / b["loss"] - 1) for a, b in zip(logs[1], logs[0]))


def digits(value):
    return float(f"{value:.9g}")


def line(value):
    """Every number in nine digits."""
    return json.dumps(json.loads(json.dumps(value), parse_float=lambda text: digits(float(text))))


def write(file, found):
    """One tensor and one step a line."""
    tensors = ",\n".join(f"  {json.dumps(name)}: {line(entry)}" for name, entry in found.pop("tensors").items())
    steps = ",\n".join(f"  {line(step)}" for step in found.pop("steps", []))
    parts = [f"{json.dumps(key)}: {line(value)}" for key, value in found.items()]
    parts += [f'"tensors": {{\n{tensors}\n}}'] + ([f'"steps": [\n{steps}\n]'] if steps else [])
    file.write_text("{" + ",\n".join(parts) + "}\n")


def compared(directory, batch, loss=autograd.Loss()):
    """What is recorded of a batch, and how far float32 is from it: of the loss, and at most of a gradient."""
    exact, rounded = autograd.load(directory), autograd.load(directory, torch.float32)
    value, found = autograd.gradients(exact, batch, loss)
    named = autograd.as_file(exact, found)
    rounded_value, rounded_found = autograd.gradients(rounded, batch, loss)
    noise = autograd.errors_of(named, autograd.as_file(rounded, rounded_found))
    tensors = {}
    for name, gradient in named.items():
        flat = gradient.numpy().ravel()
        projections = [float(flat @ signs(flat.size, k)) for k in range(PROJECTIONS)]
        tensors[name] = {"norm": float(np.linalg.norm(flat)), "noise": noise[name], "projections": projections}
    result = batch | {"loss": value, "grad_norm": autograd.norm_of(found), "tensors": tensors}
    print(f"{directory.name}, {loss.precision}: loss {value:.4f}, norm {result['grad_norm']:.4f}; float32 is "
          f"{abs(rounded_value - value):.1e} from the loss, at most {max(noise.values()):.1e} from a gradient", flush=True)
    return result


def make(family):
    directory = FAMILIES / family
    vocab_size = autograd.load(directory).config.vocab_size
    batch = autograd.random_batch(vocab_size, MIXER_LENGTHS if family in MIXERS else LENGTHS, seed=17)
    if family in ROUNDED:
        write(HERE / f"{family}.bf16.json", compared(directory, batch, autograd.Loss(precision="bf16")))
    result = compared(directory, batch)
    if family in STEPPED:
        result["steps"], far = steps_of(directory, batch)
        print(f"    losses of steps: {result['steps'][0]['loss']:.4f} to {result['steps'][-1]['loss']:.4f}, "
              f"float32 is at most {far:.1e} of them away", flush=True)
    write(HERE / f"{family}.json", result)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(file.parent.name for file in FAMILIES.glob("*/model.safetensors")):
        make(name)
