# SPDX-License-Identifier: MIT
"""autograd.py: losses, gradients and AdamW of Hugging Face directories by PyTorch, in float64.

    python tools/parity/autograd.py DIR...

The reference of `cke grad` and `cke train`. As a program it checks itself: the gradients against finite differences,
and the way from a model's parameters to the tensors of its file and back.
"""

import contextlib
import copy
import functools
import math
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves
from transformers import AutoModelForCausalLM

import checkpoints

IGNORED = -100
SMALLEST = 1e-6
FINITE_STEP, FINITE_LIMIT = 1e-5, 1e-7


@contextlib.contextmanager
def in_float64():
    """Everything in float64, also what transformers' sources ask for in float32: softmax, norms, routers and angles."""
    kept, default = (torch.float32, torch.float, torch.Tensor.float), torch.get_default_dtype()
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = kept
        torch.set_default_dtype(default)


class OnlyFloat64(TorchDispatchMode):
    """Refuses an operation whose result is of another precision, which `in_float64` failed to lift."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for value in tree_leaves(made):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64:
                raise SystemExit(f"{function} computes in {value.dtype}")
        return made


def precision(dtype):
    """The context in which a model of `dtype` runs."""
    return in_float64() if dtype == torch.float64 else contextlib.nullcontext()


def to_bf16(tensor):
    with _disable_current_modes():
        return tensor.to(torch.bfloat16).to(tensor.dtype)


class RoundedProduct(torch.autograd.Function):
    """x W^T and its gradients, each product of factors that are rounded to bf16."""

    @staticmethod
    def forward(context, x, weight):
        x, weight = to_bf16(x), to_bf16(weight)
        context.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    def backward(context, dy):
        (x, weight), dy = context.saved_tensors, to_bf16(dy)
        return dy @ weight, dy.flatten(0, -2).T @ x.flatten(0, -2)


@contextlib.contextmanager
def bf16_products(model):
    """Products with weights as `--precision bf16` has them: all but those of routers."""
    linear, in_routers = torch.nn.functional.linear, []

    def rounded(x, weight, bias=None):
        if in_routers:
            return linear(x, weight, bias)
        y = RoundedProduct.apply(x, weight)
        return y if bias is None else y + bias

    routers = [m for n, m in model.named_modules() if "Router" in type(m).__name__ or n.endswith((".gate", ".router"))]
    hooks = [m.register_forward_pre_hook(lambda *_: in_routers.append(1)) for m in routers]
    hooks += [m.register_forward_hook(lambda *_: in_routers.pop() and None) for m in routers]
    torch.nn.functional.linear = rounded
    try:
        yield
    finally:
        torch.nn.functional.linear = linear
        for hook in hooks:
            hook.remove()


def load(directory, dtype=torch.float64):
    options = dict(dtype=dtype, attn_implementation="eager", experts_implementation="eager")
    model = AutoModelForCausalLM.from_pretrained(directory, **options).to(dtype).eval()
    with precision(dtype):  # files are read outside, where their float32 is float32; angles are computed inside
        computed = dict(AutoModelForCausalLM.from_config(model.config, **options).named_buffers())
    for name in computed.keys() - model.state_dict().keys():
        model.get_buffer(name).copy_(computed[name])
    return model.requires_grad_(True)


def remembering(directory, folder, amount):
    """A copy in `folder` whose A_log are less by `amount`: random states forget within two tokens."""
    copied = Path(shutil.copytree(directory, Path(folder) / Path(directory).name))
    for file in copied.glob("*.safetensors"):
        tensors = load_file(file)
        save_file({n: t - amount if n.endswith("A_log") else t for n, t in tensors.items()}, file, {"format": "pt"})
    return copied


def random_batch(vocab_size, lengths, seed):
    """Sequences of these lengths in which about a fifth of the labels, but never the last, is ignored."""
    generator = torch.Generator().manual_seed(seed)
    ids = [checkpoints.random_ids(vocab_size, n, (seed, row)) for row, n in enumerate(lengths)]
    labels = []
    for row in ids:
        ignored = (torch.rand(len(row), generator=generator) < 0.2).tolist()
        ignored[-1] = False
        labels.append([IGNORED if out else i for i, out in zip(row, ignored)])
    return {"ids": ids, "labels": labels}


def positions(config, wanted):
    """`wanted`, or as many positions as the model has."""
    return min(wanted, getattr(config, "max_position_embeddings", None) or wanted)


def targets(batch):
    return sum(label != IGNORED for row in batch["labels"] for label in row[1:])


def padded(rows, filler):
    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])


@dataclass(frozen=True)
class Loss:
    label_smoothing: float = 0.0
    z_loss: float = 0.0  # times the square of log sum exp
    balance_loss: float = 0.0  # times that of every router and sequence
    precision: str = "f32"  # or "bf16": of the factors of products with weights


def balance_of(logits, active):
    """The load-balance loss of one router over one sequence: logits [tokens, experts], of which `active` are chosen."""
    tokens, experts = logits.shape
    load = torch.nn.functional.one_hot(logits.topk(active).indices, experts).sum((0, 1)).to(logits.dtype)
    return (logits.softmax(-1).mean(0) * load).sum() * experts / (active * tokens)


def loss_of(model, batch, loss=Loss()):
    """The mean over the labelled targets. Nothing sees the padding: it comes last and is not labelled."""
    routers = {"output_router_logits": True} if loss.balance_loss else {}
    found = model(padded(batch["ids"], 0), use_cache=False, **routers)
    logits = found.logits[:, :-1].flatten(0, 1)
    labels = padded(batch["labels"], IGNORED)[:, 1:].flatten()
    entropy = torch.nn.functional.cross_entropy(logits, labels, ignore_index=IGNORED, label_smoothing=loss.label_smoothing)
    mean = entropy + loss.z_loss * logits[labels != IGNORED].logsumexp(-1).square().mean()
    for of_layer in found.router_logits if loss.balance_loss else ():
        for row, own in zip(of_layer.unflatten(0, (len(batch["labels"]), -1)), batch["labels"]):
            share = targets({"labels": [own]}) / targets(batch)
            mean = mean + loss.balance_loss * share * balance_of(row[:len(own)], model.config.num_experts_per_tok)
    return mean


def backward(model, batch, share=1.0, loss=Loss()):
    """The loss; `share` of its gradient is added to the parameters' `grad`."""
    dtype = next(model.parameters()).dtype
    products = bf16_products(model) if loss.precision == "bf16" else contextlib.nullcontext()
    with precision(dtype), OnlyFloat64() if dtype == torch.float64 else contextlib.nullcontext(), products:
        mean = loss_of(model, batch, loss)
        (mean * share).backward()
    return mean.item()


def gradients(model, batch, loss=Loss()):
    """(loss, one gradient a parameter): zeros for a parameter that took no part."""
    model.zero_grad()
    mean = backward(model, batch, loss=loss)
    return mean, [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]


def norm_of(tensors):
    return math.sqrt(sum(t.double().square().sum().item() for t in tensors))


def beyond(errors, limits):
    """The names whose error is not below its limit, as a NaN is not either; and the worst of all names."""
    bad = [name for name in errors if not errors[name] <= limits[name]]
    return bad, bad[0] if bad else max(errors, key=lambda name: errors[name] / limits[name])


def errors_of(exact, found):
    """{name: how far `found` is from `exact`, of the tensor's norm}, which counts as SMALLEST of the whole at least."""
    least = SMALLEST * norm_of(exact.values())
    return {name: (found[name].double() - t).norm().item() / max(t.norm().item(), least) for name, t in exact.items()}


def as_file(model, tensors):
    """`tensors`, one a parameter, under the names and in the shapes of the checkpoint's file, without buffers.

    transformers fuses experts and renames; what it does on saving is the way back. It is linear, so gradients and
    momenta take it as weights do.
    """
    model = copy.deepcopy(model)
    with torch.no_grad():
        parameters = list(model.parameters())
        for parameter, tensor in zip(parameters, tensors, strict=True):
            parameter.copy_(tensor)
        ours = {p.data_ptr() for p in parameters}
        for buffer in model.state_dict().values():
            if buffer.data_ptr() not in ours and buffer.is_floating_point():
                buffer.fill_(math.nan)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        saved = {name: t for file in Path(folder).glob("*.safetensors") for name, t in load_file(file).items()}
    return {name: t for name, t in sorted(saved.items()) if not t.isnan().all()}


def tensors_of(directory):
    """Every tensor of a model's files; what an optimizer keeps beside them is not one."""
    files = sorted(Path(directory).glob("model*.safetensors"))
    return {name: t for file in files for name, t in load_file(file).items()}


def dimensions(model):
    """How many dimensions each parameter has in the checkpoint: there a matrix of fused vectors is still vectors."""
    parameters = list(model.parameters())
    marked = as_file(model, [torch.full_like(p, i) for i, p in enumerate(parameters)])
    found = {int(t.flatten()[0]): t.dim() for t in marked.values()}
    return [found[i] for i in range(len(parameters))]


@dataclass
class Recipe:
    """What `cke train` is told, with its flags' names."""

    steps: int = 10
    lr: float = 1e-3
    min_lr: float = 1e-4
    warmup: int = 3
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1
    clip: float = 1.0
    accumulate: int = 2
    schedule: str = "cosine"

    def flags(self):
        return [part for name, value in vars(self).items() for part in (f"--{name.replace('_', '-')}", str(value))]

    def rate(self, step):
        """Step 1 is the first, step `steps` the last and at the minimum."""
        if step <= self.warmup:
            return self.lr * step / self.warmup
        way = (step - self.warmup) / (self.steps - self.warmup)
        return self.min_lr + (self.lr - self.min_lr) * (1 + math.cos(math.pi * way)) / 2


def train(model, batches, recipe):
    """Moves the model; a log of {"step", "loss", "grad_norm", "lr"}, the norm before clipping."""
    parameters, sizes = list(model.parameters()), dimensions(model)
    groups = [{"params": [p for p, n in zip(parameters, sizes) if n >= 2], "weight_decay": recipe.weight_decay},
              {"params": [p for p, n in zip(parameters, sizes) if n < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.lr, betas=(recipe.beta1, recipe.beta2), eps=recipe.eps,
                                  foreach=False)
    log = []
    for step in range(1, recipe.steps + 1):
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)  # without a gradient it decays and keeps its momentum
        micro = batches[(step - 1) * recipe.accumulate:step * recipe.accumulate]
        loss = sum(backward(model, batch, 1 / recipe.accumulate) for batch in micro) / recipe.accumulate
        norm = norm_of(p.grad for p in parameters)
        for parameter in parameters:
            parameter.grad.mul_(min(1.0, recipe.clip / (norm + 1e-6)))
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate(step)
        optimizer.step()
        log.append({"step": step, "loss": loss, "grad_norm": norm, "lr": recipe.rate(step)})
    return log


def run_cke(cke, *line):
    """What `cke LINE` prints."""
    if not cke.exists():
        raise SystemExit(f"{cke} does not exist: build it (./dev build) or name it with --cke")
    done = subprocess.run([cke.resolve(), *map(str, line)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"cke {line[0]} {line[1]}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def finite_difference(model, batch):
    """(the largest difference from autograd, of the whole gradient's norm, where): one direction a parameter."""
    _, found = gradients(model, batch)
    whole, worst = norm_of(found), (0.0, "")
    generator = torch.Generator().manual_seed(1)
    with in_float64(), torch.no_grad():
        for (name, parameter), gradient in zip(model.named_parameters(), found):
            direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            direction /= direction.norm()
            ends = []
            for step in (FINITE_STEP, -2 * FINITE_STEP, FINITE_STEP):
                parameter.add_(direction, alpha=step)
                ends.append(loss_of(model, batch).item())
            slope = (ends[0] - ends[1]) / (2 * FINITE_STEP)
            error = abs(slope - (gradient * direction).sum().item()) / whole
            if error > worst[0] or error != error:  # a NaN is worse than any number
                worst = error, name
    return worst


def check(directory):
    """Prints a line; returns whether the reference holds for this directory."""
    model, stored = load(directory), tensors_of(directory)
    back = as_file(model, [p.detach() for p in model.parameters()])
    same = all(name in stored and torch.equal(stored[name].double(), t) for name, t in back.items())
    worst, where = finite_difference(model, random_batch(model.config.vocab_size, (24, 5), seed=1))
    flat = sum(n < 2 for n in dimensions(model))
    print(f"{Path(directory).name}: finite differences {worst:.1e} at {where}; {len(back)} of {len(stored)} tensors "
          f"trained, {'the same' if same else 'CHANGED'} when saved; no decay for {flat}; "
          f"constant: {sorted(stored.keys() - back.keys())}", flush=True)
    return same and worst <= FINITE_LIMIT


if __name__ == "__main__":
    sys.exit(0 if functools.reduce(lambda good, directory: check(directory) and good, sys.argv[1:], True) else 1)
