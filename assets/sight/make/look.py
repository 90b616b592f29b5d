# SPDX-License-Identifier: MIT
"""look.py: teaches the tower alone what is where, before the text model learns to read it.

    look.py OUT [--minutes 5] [--processes 3] [--from LOOK]

Each row that the tower makes, and the mean of the rows of a thing, shall point where the text model keeps the
words for its shape and its colour. Rows are many, and the text model is not run: that saves time in train.py.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import Qwen3VLForConditionalGeneration

from batches import Grid, labels_of, patches_of, pictures_of_one_grid, pixels_of
from checkpoint import TOWER, initial, load, tokenizer, write_files, write_weights
from drawing import NAMES, SHAPES
from seeing import rows_of
from together import BETWEEN, Team, run

PICTURES, PEAK_RATE, TAP_PART = 12, 2e-3, 0.3


@dataclass
class Batch:
    patches: torch.Tensor
    grid: Grid
    labels: torch.Tensor  # [row of all pictures, (shape, colour)]
    means: torch.Tensor  # [thing of all, row of all]: what to multiply rows by for the mean of a thing's
    things: torch.Tensor  # [thing, (shape, colour)]


def batch(seed: str, step: int, done: float) -> Batch:
    """Easy pictures, resized to half of the pixels, become rare as the training goes on."""
    rng = Random(f"{seed} {step}")
    small = rng.random() < 0.8 - 1.6 * done
    easy = max(0.0, 1 - 2.5 * done)
    grid, pictures = pictures_of_one_grid(rng, PICTURES, easy, 0.45 if small else 1.0)
    labels, parts = zip(*(labels_of(p, grid) for p in pictures))
    means = torch.block_diag(*(torch.from_numpy(p).float() for p in parts)).sqrt()  # edges say more than their area
    things = [(SHAPES.index(t.shape), NAMES.index(t.colour)) for p in pictures for t in p.things]
    return Batch(
        patches_of(pixels_of(pictures, grid)),
        grid,
        torch.from_numpy(np.concatenate(labels)),
        means / means.sum(1, keepdim=True),
        torch.tensor(things),
    )


def words_of(model: Qwen3VLForConditionalGeneration, names: list[str]) -> torch.Tensor:
    """[name, width]: in which direction the text model keeps each word, and how the words of a list differ."""
    tokens, table = tokenizer(), model.model.language_model.embed_tokens.weight.detach()
    words = torch.stack([table[tokens.encode(" " + name).ids].mean(0) for name in names])
    words = words - words.mean(0)
    return words / words.norm(dim=1, keepdim=True)


class Namer(torch.nn.Module):
    """Names what is in a row, or in the mean of all rows of a thing, by the words that the text model will say."""

    SHARP = 3.0

    def __init__(self, model: Qwen3VLForConditionalGeneration) -> None:
        super().__init__()
        self.words = [words_of(model, names) for names in (SHAPES, NAMES)]
        self.nothing = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(w.shape[1])) for w in self.words)

    def forward(self, rows: torch.Tensor, of: Batch) -> tuple[torch.Tensor, list[float]]:
        loss, right = torch.zeros(()), []
        mean = of.means @ rows
        for kind, words in enumerate(self.words):
            every = self.SHARP * torch.cat([words, self.nothing[kind][None]])
            weights = torch.ones(len(every))
            weights[-1] = 0.15  # most rows show nothing
            loss = loss + 0.7 * cross_entropy(rows @ every.T, of.labels[:, kind], weight=weights, ignore_index=-1)
            scores, wanted = mean @ every.T, of.things[:, kind]
            loss = loss + cross_entropy(scores, wanted)
            right.append((scores.argmax(1) == wanted).float().mean().item())
        return loss, right


def learn(team: Team, args: argparse.Namespace) -> None:
    model = load(args.look).float() if args.look else initial()
    visual = model.model.visual
    namers = torch.nn.ModuleList(Namer(model) for _ in range(1 + len(TOWER["deepstack_visual_indexes"])))
    parameters = [*visual.parameters(), *namers.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.02, fused=True)
    start = saved = time.process_time()
    step, done, running, right = 0, args.begin, 0.0, np.zeros(2)
    while done < 1.0:
        falling = (1 + math.cos(math.pi * min(1.0, done))) / 2
        for group in optimizer.param_groups:
            group["lr"] = args.rate * PEAK_RATE * min(1.0, (step + 1) / 100) * (0.03 + 0.97 * falling)
        shown = batch(f"{args.seed} {team.rank}", step, done)
        rows, taps = rows_of(visual, shown.patches, shown.grid)
        loss, now = namers[0](rows, shown)
        for namer, tap in zip(namers[1:], taps):
            loss = loss + TAP_PART * namer(tap, shown)[0]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        keep = 0.0 if step == 1 else 0.99
        running, right = keep * running + (1 - keep) * loss.item(), keep * right + (1 - keep) * np.array(now)
        if step % BETWEEN == 0:
            part = (time.process_time() - start) / (60 * args.minutes)
            done = team.mean(parameters, args.begin + (1 - args.begin) * part)
        if team.rank > 0:
            continue
        if step % 100 == 0:
            print(
                f"step {step} {time.process_time() - start:.0f} s of {team.size} done {done:.3f}"
                f" loss {running:.4f} right: shapes {right[0]:.3f} colours {right[1]:.3f}",
                flush=True,
            )
        if step % BETWEEN == 0 and (time.process_time() - saved > 30 or done >= 1.0):
            write_weights(args.out, model)
            saved = time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=5, help="of processor time of each process")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--from", dest="look", type=Path, help="an earlier OUT to go on from")
    parser.add_argument("--begin", type=float, default=0.0, help="the part of the training that LOOK has behind it")
    parser.add_argument("--rate", type=float, default=1.0, help="times the usual learning rate")
    parser.add_argument("--seed", default="look")
    args = parser.parse_args()
    torch.set_num_threads(1)
    write_files(args.out)
    run(args.processes, args.out, learn, args)


if __name__ == "__main__":
    main()
