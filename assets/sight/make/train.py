# SPDX-License-Identifier: MIT
"""train.py: teaches the model to answer about what its tower sees, and to go on talking.

    train.py OUT --from START [--minutes 8] [--processes 3]

START is what look.py wrote, or an earlier OUT. The learning rate falls with the processor time used, so the
minutes decide how good the model gets, however busy the machine is. Every minute OUT becomes complete and usable.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from transformers import Qwen3VLForConditionalGeneration

from batches import Batch, Row, about_pictures, padded
from checkpoint import TINY, load, tokenizer, write_files, write_weights
from seeing import hidden_of
from talk import without_picture
from together import BETWEEN, Team, run

sys.path.append(str(TINY / "make"))
from corpus import NO_THOUGHT, documents  # noqa: E402

PICTURES, TEXT_TOKENS, LONGEST, TEXT_PART = 12, 800, 300, 0.15
TEXT_RATE, TOWER_RATE = 1.2e-3, 6e-4


def chats(tokens: Tokenizer, seed: str) -> Iterator[Row]:
    """Documents of assets/tiny in the form of this model, which has no thoughts; and questions about no picture."""
    rng = Random(seed)
    for document in documents(rng.getrandbits(40)):
        if rng.random() < 0.06:
            asked, answer = without_picture(rng)
            row = Row(tokens).text(f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n", False)
            yield row.text(f"{answer}<|im_end|>", True).text("\n", False)
        if "<think>\n" in document.text.replace(NO_THOUGHT, ""):
            continue
        row = Row(tokens)
        for span in document.spans:
            if span.text != NO_THOUGHT:
                row.text(span.text, span.counts)
        if len(row.ids) <= LONGEST:
            yield row


class Maker:
    """Makes the batches of a training: now pictures, now text."""

    def __init__(self, seed: str):
        self.seed, self.tokens, self.ready = seed, tokenizer(), []
        self.source = chats(self.tokens, f"{seed} text")

    def text(self, rng: Random) -> Batch:
        """Chats of similar length."""
        if not self.ready:
            rows: list[Row] = []
            for row in sorted((next(self.source) for _ in range(300)), key=lambda r: len(r.ids)):
                if rows and (len(rows) + 1) * len(row.ids) > TEXT_TOKENS:
                    self.ready.append(rows)
                    rows = []
                rows.append(row)
            rng.shuffle(self.ready)
        return Batch(*padded(self.ready.pop()))

    def __call__(self, step: int, done: float) -> tuple[str, Batch]:
        rng = Random(f"{self.seed} {step}")
        short = rng.random() < 1 - 2.5 * done
        if rng.random() < (TEXT_PART / 2 if short else TEXT_PART):
            return "text", self.text(rng)
        return "pictures", about_pictures(rng, self.tokens, PICTURES, rng.random() < 0.9 - done, short)


def loss_of(model: Qwen3VLForConditionalGeneration, batch: Batch) -> torch.Tensor:
    """Mean cross entropy of the tokens that count; logits are made for those alone."""
    wanted = batch.counts[:, 1:]
    return cross_entropy(model.lm_head(hidden_of(model, batch)[:, :-1][wanted]), batch.ids[:, 1:][wanted])


def learn(team: Team, args: argparse.Namespace) -> None:
    model = load(args.start).float()
    if args.tower:
        model.model.visual.load_state_dict(load(args.tower).float().model.visual.state_dict())
    visual = list(model.model.visual.parameters())
    for parameter in visual:
        parameter.requires_grad_(not args.blindly)
    seen = {id(p) for p in visual}
    text = [p for p in model.parameters() if id(p) not in seen]
    optimizer = torch.optim.AdamW(
        [{"params": text, "peak": args.rate * TEXT_RATE}, {"params": visual, "peak": args.rate * TOWER_RATE}],
        lr=TEXT_RATE,
        betas=(0.9, 0.98),
        weight_decay=0.02,
        fused=True,
    )
    maker = Maker(f"{args.seed} {team.rank}")
    start = saved = time.process_time()
    step, done = 0, args.begin
    running = {"pictures": 0.0, "text": 0.0}
    while done < 1.0:
        rate = min(1.0, (step + 1) / 60) * (0.02 + 0.98 * (1 + math.cos(math.pi * min(1.0, done))) / 2)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["peak"]
        kind, batch = maker(step, done)
        loss = loss_of(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        running[kind] = loss.item() if running[kind] == 0 else 0.9 * running[kind] + 0.1 * loss.item()
        if step % BETWEEN == 0:
            part = (time.process_time() - start) / (60 * args.minutes)
            done = team.mean(text + visual, args.begin + (1 - args.begin) * part)
        if team.rank > 0:
            continue
        if step % 24 == 0:
            print(
                f"step {step} {time.process_time() - start:.0f} s of {team.size} done {done:.3f}"
                f" loss: pictures {running['pictures']:.4f} text {running['text']:.4f}",
                flush=True,
            )
        if step % BETWEEN == 0 and (time.process_time() - saved > 20 or done >= 1.0):
            write_weights(args.out, model)
            saved = time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--from", dest="start", type=Path, required=True)
    parser.add_argument("--tower", type=Path, help="where to take the tower from, if not from there too")
    parser.add_argument("--blindly", action="store_true", help="leave the tower as it is")
    parser.add_argument("--minutes", type=float, default=8, help="of processor time of each process")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--begin", type=float, default=0.0, help="where in the fall of the learning rate to begin")
    parser.add_argument("--rate", type=float, default=1.0, help="times the usual learning rates")
    parser.add_argument("--seed", default="train")
    args = parser.parse_args()
    torch.set_num_threads(1)
    write_files(args.out)
    run(args.processes, args.out, learn, args)


if __name__ == "__main__":
    main()
