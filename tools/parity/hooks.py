# SPDX-License-Identifier: MIT
"""hooks.py: what transformers' modules read and write, under the names that cke gives to the values of its steps.

    python tools/parity/hooks.py DIR -o OUT [--tokens IDS] [--dtype float64] [--cke build/release/cke]

DIR is a Hugging Face directory; ids are those of its ids.json if none are named. OUT becomes a dump as `cke dump
--ckdmp` writes it, for `cke bisect DIR --reference OUT` and `cke compare`. Which module a value belongs to follows from
`cke dump DIR --list --json`: a step with a weight writes what the weight's module writes, and what such a step reads is
what the module reads; rope is caught where the family's file calls it. Values that no module reads or writes, such as
the rows of single experts, are left out, and counted.
"""

import argparse
import itertools
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import torch
from torch.nn.functional import linear
from transformers import AutoModelForCausalLM

import measure

NAMED_BY_WEIGHT = ("embedding", "matmul", "logits", "router", "rmsnorm", "layer_norm", "head_norm")
READS_ONE_MODULE = ("matmul", "logits", "router", "rmsnorm", "layer_norm")
STREAM = 0  # the register that outlives a layer
PARTS = re.compile(r"^(.*?)(\.weight)?(?:([\[<])(\d+)[\]>])?(?:\.weight)?$")


class Value:
    """One value of the list: where it is from, and how to take it from there."""

    def __init__(self, step, row):
        self.step, self.layer, self.op = step["step"], step["layer"], step["op"]
        self.name, self.width, self.type = row["name"], row["width"], row["type"]
        self.rows = None  # what transformers has: [tokens][width]

    def take(self, tensor, tokens):
        found = tensor.detach().reshape(tokens, -1) if tensor.numel() % tokens == 0 else tensor.reshape(1, -1)
        if found.shape == (tokens, self.width) and self.rows is None:
            self.rows = found.to(torch.float32).clone()


class Weight:
    """A weight of a step: its module, and its part of what that writes."""

    def __init__(self, described, layer):
        self.role = described["role"]
        name = described.get("hf", "").replace("{}", str(max(layer, 0)), 1)
        self.base, _, bracket, number = PARTS.match(name).groups()
        self.order = int(number) if bracket else None
        self.by_head = bracket == "<"
        self.rows = described["shape"][0]


def module_of(modules, weight):
    """The module with this weight. A router may lie in a module of its own."""
    found = modules.get(weight.base)
    if found is None and weight.role == "router":
        found = modules.get(weight.base.removesuffix(".layer"))
    return found


def weights_of(step):
    return [Weight(w, step["layer"]) for w in step["weights"] if not w["bias"]]


def part_of(step, weight, steps):
    """How to take a weight's part of what its module writes, which may hold several roles' rows."""
    if weight.order is None:
        return lambda out: out
    same = [s for s in steps if s["layer"] == step["layer"]]
    siblings = {w.order: w.rows for s in same for w in weights_of(s) if w.base == weight.base}
    before = sum(rows for order, rows in siblings.items() if order < weight.order)
    if not weight.by_head:
        return lambda out: out[..., before:before + weight.rows]
    heads = next(s["params"].get("key_heads", s["params"].get("heads")) for s in same
                 if s["op"] in ("attend", "gated_delta"))
    first, rows = before // heads, weight.rows // heads
    return lambda out: out.unflatten(-1, (heads, -1))[..., first:first + rows].flatten(-2)


def readers(steps, at, register):
    """The steps that read what step `at` left in a register, through roundings."""
    step = steps[at]
    for i in range(at + 1, len(steps)):
        later = steps[i]
        if later["layer"] != step["layer"] and register != STREAM:
            return
        if register in later["in"]:
            if later["op"] == "quantize":
                yield from readers(steps, i, later["out"][0])
            yield later
        if register in later["out"]:
            return


def tokens_first(out, width, tokens):
    """Some families norm heads as [1, tokens, heads, dims], others as [1, heads, tokens, dims]."""
    heads = width // out.shape[-1]
    if out.dim() != 4 or heads == 1 or tokens == 1 or out.shape[1:3] == (tokens, heads) != (heads, tokens):
        return out
    if heads == tokens:
        raise SystemExit(f"{tokens} tokens are as many as heads, so they cannot be told apart: name more with --tokens")
    return out.transpose(1, 2)


class Catcher:
    """Hooks on the modules of a model, each of which fills the values that it knows."""

    def __init__(self, model, listed, tokens):
        self.tokens, self.modules, self.steps = tokens, dict(model.named_modules()), listed["steps"]
        self.values, self.ropes = [], []
        # Checkpoints may call the part below the head otherwise than the class that reads them does.
        of_files = {w.base.split(".")[0] for s in self.steps for w in weights_of(s) if "." in w.base}
        for name, (own, module) in itertools.product(of_files - {n.split(".")[0] for n in self.modules},
                                                     list(self.modules.items())):
            if own.startswith(model.base_model_prefix + "."):
                self.modules[name + own.removeprefix(model.base_model_prefix)] = module
        for at, step in enumerate(self.steps):
            pair = []
            for row in step["values"]:
                value = Value(step, row)
                self.values.append(value)
                pair.append(value)
                self.watch(at, step, row, value)
            if step["op"] == "rope":
                self.ropes.append(pair)
        self.catch_rope(sys.modules[type(model).__module__])

    def watch(self, at, step, row, value):
        columns = [v for v in step["values"] if v["output"] == row["output"]]
        if step["op"] in NAMED_BY_WEIGHT:
            weights = weights_of(step)
            index = columns.index(row) if len(columns) > 1 else row["output"]
            if index < len(weights) and self.watch_output(step, weights[index], value):
                return
        elif step["op"] == "expert_sum":
            module = self.experts_of(step)
            if module is not None:
                self.on_output(module, lambda out, read: out, value)
                return
        elif step["op"] == "rope":
            return
        if len(columns) > 1:
            return
        for reader in readers(self.steps, at, step["out"][row["output"]]):
            weights = weights_of(reader)
            if reader["op"] in READS_ONE_MODULE and weights and weights[0].role != "ssm_norm":  # that one gates first
                module = module_of(self.modules, weights[0])
                if module is not None and reader["in"][0] in (step["out"][row["output"]], *self.rounded(reader)):
                    module.register_forward_pre_hook(
                        lambda _, args, kwargs: value.take(args[0] if args else kwargs["hidden_states"], self.tokens),
                        with_kwargs=True)
                    return

    def experts_of(self, step):
        """The module whose output is the sum of a layer's experts, the shared one included."""
        weights = [w for s in self.steps if s["layer"] == step["layer"] for w in weights_of(s)]
        layer = re.match(r"(.*?\.\d+\.)", weights[0].base)[1]
        path = next((name for name, module in self.modules.items()
                     if name.startswith(layer) and type(module).__name__.endswith("Experts")), None)
        if path is None or not step["params"].get("shared"):
            return self.modules.get(path)
        parent = path.rpartition(".")[0]
        shared = next(w.base for w in weights if w.role == "down_shared")
        return self.modules[parent] if shared.startswith(parent + ".") else None

    def rounded(self, reader):
        return [s["out"][0] for s in self.steps if s["layer"] == reader["layer"] and s["op"] == "quantize"]

    def watch_output(self, step, weight, value):
        module = module_of(self.modules, weight)
        if module is None or hasattr(module, "embed_scale"):  # that one writes what comes after the scale
            return False
        if step["op"] == "router":
            score = lambda out, read: linear(read, module.weight) if isinstance(out, tuple) else out
            self.on_output(module, score, value)
        elif step["op"] == "head_norm":
            self.on_output(module, lambda out, read: tokens_first(out, value.width, self.tokens), value)
        else:
            part = part_of(step, weight, self.steps)
            self.on_output(module, lambda out, read: part(out), value)
        return True

    def on_output(self, module, choose, value):
        def hook(_, args, out):
            chosen = choose(out, args[0] if args else None)
            value.take(chosen[0] if isinstance(chosen, tuple) else chosen, self.tokens)
        module.register_forward_hook(hook)

    def catch_rope(self, module):
        turn = getattr(module, "apply_rotary_pos_emb", None)
        if turn is None:
            return

        def caught(*args, **kwargs):
            out = turn(*args, **kwargs)
            if isinstance(out, tuple) and self.ropes:
                for value, turned in zip(self.ropes.pop(0), out):
                    value.take(turned.transpose(1, 2), self.tokens)
            return out
        module.apply_rotary_pos_emb = caught


def listed_by(cke, directory):
    done = subprocess.run([cke, "dump", directory, "--list", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{directory}: {done.stderr.strip()}")
    return json.loads(done.stdout)


@torch.no_grad()
def catch(directory, ids, dtype, listed):
    """The values of one pass over `ids`, with rows where transformers has them."""
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=dtype, attn_implementation="eager",
                                                 experts_implementation="eager").eval()
    found = Catcher(model, listed, len(ids))
    logits = model(torch.tensor([ids]), use_cache=False).logits
    final = [v for v in found.values if v.layer < 0 and v.width == logits.shape[-1] and v.op != "embedding"]
    final[-1].rows = logits[0].to(torch.float32)  # after scales and caps
    return found.values


def write(out, facts, values):
    """A directory as `cke dump --ckdmp` writes it."""
    out.mkdir(parents=True)
    index = {"cke_dump": 1, **facts, "values": []}
    with (out / "steps.ckdmp").open("wb") as file:
        for v in values:
            rows, width = v.rows.shape
            file.write(struct.pack("<8sIi32sII4qIi32x", b"CKDMP", 1, v.layer, v.name.encode()[:31], 0, 2,
                                   rows, width, 0, 0, rows * width, 0))
            file.write(v.rows.contiguous().numpy().astype("<f4").tobytes())
            index["values"].append({"step": v.step, "layer": v.layer, "op": v.op, "name": v.name,
                                    "shape": [rows, width], "type": "f32", "file": "steps.ckdmp"})
    (out / "index.json").write_text(json.dumps(index) + "\n")


def reference(directory, ids, out, dtype, cke):
    """Writes the reference of a directory; returns how many values it has, and how many transformers does not show."""
    values = catch(directory, ids, dtype, listed_by(cke, directory))
    there = [v for v in values if v.rows is not None]
    if not there:
        raise SystemExit(f"{directory}: no module of transformers has a value of cke's")
    facts = {"model": f"transformers, {directory.name}", "dtype": str(dtype).removeprefix("torch."), "tokens": ids}
    write(out, facts, there)
    return len(there), len(values) - len(there)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="a directory that is not there yet")
    parser.add_argument("--tokens", help="comma-separated ids; default: the ids.json of the model")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="of transformers")
    parser.add_argument("--cke", type=Path, default=measure.ROOT / "build/release/cke")
    args = parser.parse_args()
    if args.output.exists():
        raise SystemExit(f"{args.output} exists: name a directory that is not there yet")
    torch.set_num_threads(1)
    ids = measure.prompt(args, args.directory / "ids.json")
    there, left = reference(args.directory, ids, args.output, getattr(torch, args.dtype), args.cke.resolve())
    print(f"{there} values of {len(ids)} tokens, {left} that no module reads or writes: {args.output}")


if __name__ == "__main__":
    main()
