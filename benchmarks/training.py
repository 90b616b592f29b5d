# SPDX-License-Identifier: MIT
"""training.py: tokens a second of `cke train` beside PyTorch, in turns, on one model.

    python benchmarks/training.py [--turns 3] [--threads 2] [--cke build/release/cke]

The model is a Qwen3 of 11.0 million random parameters (dim 384, 6 layers, 6 heads, 2 kv heads, ffn 1,024, vocab 4,096,
tied); a step has 8 sequences of 256 ids, in f32, with AdamW and clipping. Each turn runs both for 2 and for 8 steps, so
that the difference is 6 steps without the start. Prints a Markdown table; both losses must agree.
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


def torch_steps(folder, steps, threads):
    """Runs in a process of its own: prints losses, seconds of each step and the peak of memory."""
    import torch
    from transformers import Qwen3ForCausalLM

    torch.set_num_threads(threads)
    model = Qwen3ForCausalLM.from_pretrained(folder / "model", dtype=torch.float32).train()
    adamw = torch.optim.AdamW(model.parameters(), RECIPE["lr"], (RECIPE["beta1"], RECIPE["beta2"]), RECIPE["eps"],
                              RECIPE["decay"])
    losses, start = [], 0.0
    for number, batch in enumerate(json.loads((folder / "batches.json").read_text())["batches"][:steps]):
        if number == FEW:
            start = time.perf_counter()
        ids = torch.tensor(batch["ids"])
        loss = model(ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), RECIPE["clip"])
        adamw.step()
        adamw.zero_grad()
        losses.append(loss.item())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": time.perf_counter() - start, "losses": losses, "MB": peak}))


def run_torch(folder, threads):
    words = [sys.executable, __file__, "--torch", str(folder), "--threads", str(threads)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def run_cke(cke, folder, steps, threads):
    """Seconds of the whole process, its losses and the peak of memory."""
    with tempfile.TemporaryDirectory() as out:
        log = Path(out) / "log"
        words = ["/usr/bin/time", "-f", "%M", cke, "train", folder / "model", "--batches", folder / "batches.json", "--steps",
                 steps, "--schedule", "constant", "--lr", RECIPE["lr"], "-t", threads, "--log", log, "-o", Path(out) / "o"]
        start = time.perf_counter()
        done = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        return seconds, losses, int(done.stderr.split()[-1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cke", default="build/release/cke")
    parser.add_argument("--torch", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.torch:
        return torch_steps(args.torch, MANY, args.threads)
    tokens, rows = (MANY - FEW) * SEQUENCES * LENGTH, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        run_cke(args.cke, folder, 1, args.threads)  # compiles
        for _ in range(args.turns):
            few, _, _ = run_cke(args.cke, folder, FEW, args.threads)
            many, losses, memory = run_cke(args.cke, folder, MANY, args.threads)
            theirs = run_torch(folder, args.threads)
            apart = max(abs(a / b - 1) for a, b in zip(losses, theirs["losses"]))
            assert apart < 1e-3, f"losses are {apart:.1e} apart"
            rows.append((tokens / (many - few), tokens / theirs["seconds"], memory, theirs["MB"]))
    print("| turn | cke tok/s | torch tok/s | cke / torch | cke MB | torch MB |\n|---|---|---|---|---|---|")
    for turn, (ours, torch_speed, memory, torch_memory) in enumerate(rows, 1):
        print(f"| {turn} | {ours:.0f} | {torch_speed:.0f} | {ours / torch_speed:.2f} | {memory:.0f} | {torch_memory:.0f} |")
    print(f"median of the ratio: {statistics.median(r[0] / r[1] for r in rows):.2f}")


if __name__ == "__main__":
    main()
