# SPDX-License-Identifier: MIT
"""training.py: tokens a second of `cke train` beside PyTorch, in turns, on one model.

    python benchmarks/training.py [--turns 3] [--threads 2] [--precision bf16] [--compile] [--cke build/release/cke]

The model is a Qwen3 of 11.0 million random parameters (dim 384, 6 layers, 6 heads, 2 kv heads, ffn 1,024, vocab 4,096,
tied); a step has 8 sequences of 256 ids, with AdamW and clipping, weights in f32. Each turn runs cke for 2 and for 8
steps, so that the difference is 6 steps without the start, and PyTorch, which leaves out its first 2: eager, and with
--compile torch.compile too. bf16 is --precision bf16 here and torch.autocast there. Prints a Markdown table; the losses
must agree.
Needs torch, transformers 5 and build/release/cke.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEQUENCES, LENGTH, VOCAB, FEW, MANY = 8, 256, 4096, 2, 8
APART = {"f32": 1e-3, "bf16": 1e-2}  # of losses
RECIPE = dict(lr=1e-3, beta1=0.9, beta2=0.95, eps=1e-8, decay=0.1, clip=1.0)


def make(folder):
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(vocab_size=VOCAB, hidden_size=384, num_hidden_layers=6, num_attention_heads=6, head_dim=64,
                         num_key_value_heads=2, intermediate_size=1024, tie_word_embeddings=True,
                         max_position_embeddings=1024)
    Qwen3ForCausalLM(config).save_pretrained(folder / "model")
    ids = [torch.randint(3, VOCAB, (SEQUENCES, LENGTH)).tolist() for _ in range(MANY)]
    (folder / "batches.json").write_text(json.dumps({"batches": [{"ids": i, "labels": i} for i in ids]}))


def torch_steps(folder, args):
    """Runs in a process of its own: prints losses, seconds of the steps after FEW and the peak of memory."""
    import torch
    from transformers import Qwen3ForCausalLM

    torch.set_num_threads(args.threads)
    model = Qwen3ForCausalLM.from_pretrained(folder / "model", dtype=torch.float32).train()
    forward = torch.compile(model) if args.compile else model
    adamw = torch.optim.AdamW(model.parameters(), RECIPE["lr"], (RECIPE["beta1"], RECIPE["beta2"]), RECIPE["eps"],
                              RECIPE["decay"])
    losses, start = [], 0.0
    for number, batch in enumerate(json.loads((folder / "batches.json").read_text())["batches"]):
        if number == FEW:
            start = time.perf_counter()
        ids = torch.tensor(batch["ids"])
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16"):
            loss = forward(ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), RECIPE["clip"])
        adamw.step()
        adamw.zero_grad()
        losses.append(loss.item())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": time.perf_counter() - start, "losses": losses, "MB": peak}))


def run_torch(folder, args, compiled):
    words = [sys.executable, __file__, "--torch", folder, "--threads", args.threads, "--precision", args.precision]
    words += ["--compile"] * compiled
    return json.loads(subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout)


def run_cke(folder, steps, args):
    """Seconds of the whole process, its losses and the peak of memory."""
    with tempfile.TemporaryDirectory() as out:
        log = Path(out) / "log"
        words = ["/usr/bin/time", "-f", "%M", args.cke, "train", folder / "model", "--batches", folder / "batches.json",
                 "--steps", steps, "--schedule", "constant", "--lr", RECIPE["lr"], "--precision", args.precision, "-t",
                 args.threads, "--log", log, "-o", Path(out) / "o"]
        start = time.perf_counter()
        done = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        return seconds, losses, int(done.stderr.split()[-1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=tuple(APART), default="f32")
    parser.add_argument("--compile", action="store_true", help="torch.compile too")
    parser.add_argument("--cke", default="build/release/cke")
    parser.add_argument("--torch", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.torch:
        return torch_steps(args.torch, args)
    tokens, rows = (MANY - FEW) * SEQUENCES * LENGTH, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        run_cke(folder, 1, args)  # compiles
        for _ in range(args.turns):
            few, _, _ = run_cke(folder, FEW, args)
            many, losses, memory = run_cke(folder, MANY, args)
            row = [tokens / (many - few), memory]
            for compiled in (False, True) if args.compile else (False,):
                theirs = run_torch(folder, args, compiled)
                apart = max(abs(a / b - 1) for a, b in zip(losses, theirs["losses"]))
                assert apart < APART[args.precision], f"losses are {apart:.1e} apart"
                row += [tokens / theirs["seconds"], theirs["MB"]]
            rows.append(row)
    names = ["cke", "eager", "compiled"][:len(rows[0]) // 2]
    print("| turn | " + " | ".join(f"{n} tok/s | MB" for n in names) + " | cke / best |\n" + "|---" * (2 * len(names) + 2) + "|")
    ratios = [row[0] / max(row[2::2]) for row in rows]
    for turn, (row, ratio) in enumerate(zip(rows, ratios), 1):
        print(f"| {turn} | " + " | ".join(f"{x:.0f}" for x in row) + f" | {ratio:.2f} |")
    print(f"median of the ratio: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
