# SPDX-License-Identifier: MIT
"""batches.py: pictures as patches, and chats about them as token ids: what one training step sees."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer
from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

from checkpoint import FRAMES, LEAST_PIXELS, MERGE, MOST_PIXELS, PATCH
from drawing import NAMES, SHAPES, Picture, draw
from talk import careless, question

BLOCK = PATCH * MERGE  # pixels of a row that enters the text model
Grid = tuple[int, int]  # such rows, down and across
SYSTEMS = ("You are a helpful assistant.", "Answer in one short sentence.")


def grid_of(width: int, height: int, scale: float = 1.0) -> Grid:
    """The rows of an image; `scale`: of the pixels that the processor leaves."""
    down, across = smart_resize(height, width, BLOCK, int(scale * LEAST_PIXELS), int(scale * MOST_PIXELS))
    return down // BLOCK, across // BLOCK


def some_size(rng: Random) -> tuple[int, int]:
    """Width and height of a picture: mostly small, which is cheap to draw; sometimes as a photo is."""
    long = rng.randint(180, 420) if rng.random() < 0.12 else rng.randint(60, 190)
    ratio = rng.choice((1.0, 4 / 3, 3 / 2, 16 / 9, rng.uniform(1, 2.2)))
    size = (long, max(40, round(long / ratio)))
    return size if rng.random() < 0.6 else size[::-1]


def some_sizes(rng: Random, count: int, scale: float) -> tuple[Grid, list[tuple[int, int]]]:
    """Sizes of pictures that all become one grid."""
    sizes = [some_size(rng)]
    grid = grid_of(*sizes[0], scale)
    ratio = sizes[0][0] / sizes[0][1]
    while len(sizes) < count:
        width, height = some_size(rng)
        long = max(width, height)
        near = ratio * rng.uniform(0.95, 1.05)
        size = (long, round(long / near)) if near > 1 else (round(long * near), long)
        if min(size) >= 40 and grid_of(*size, scale) == grid:
            sizes.append(size)
    return grid, sizes


def pixels_of(pictures: list[Picture], grid: Grid) -> torch.Tensor:
    """[pictures, 3, height, width] from -1 to 1, resized as the processor of the model does."""
    size = (grid[1] * BLOCK, grid[0] * BLOCK)
    images = [np.asarray(p.image.resize(size, Image.Resampling.BICUBIC)) for p in pictures]
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float() / 127.5 - 1


def patches_of(pixels: torch.Tensor) -> torch.Tensor:
    """[patches of all, channel x time x row x column]; the patches of a square that is merged stand together."""
    n, channels, height, width = pixels.shape
    x = pixels.view(n, channels, height // BLOCK, MERGE, PATCH, width // BLOCK, MERGE, PATCH)
    x = x.permute(0, 2, 5, 3, 6, 1, 4, 7).unsqueeze(6).expand(-1, -1, -1, -1, -1, -1, FRAMES, -1, -1)
    return x.reshape(-1, channels * FRAMES * PATCH * PATCH)


def labels_of(picture: Picture, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """What is in each row, [row, (shape, colour)]: -1: too little of it; after the last: nothing.
    And how much of each thing, [thing, row]."""
    labels = np.tile((len(SHAPES), len(NAMES)), (grid[0] * grid[1], 1))
    parts = []
    for thing in picture.things:
        part = np.asarray(thing.mask.resize(grid[::-1], Image.Resampling.BOX)).ravel() / 255
        labels[part > 0.02] = -1
        labels[part > 0.2] = (SHAPES.index(thing.shape), NAMES.index(thing.colour))
        parts.append(part)
    return labels, np.stack(parts)


@dataclass
class Batch:
    ids: torch.Tensor  # [rows, length]
    counts: torch.Tensor  # whether a token counts in the loss
    positions: torch.Tensor  # [3, rows, length]: time, row, column
    grid: Grid | None = None
    patches: torch.Tensor | None = None  # in the order in which the images stand in the rows


class Row:
    """One chat as ids, with what counts, and positions of three axes."""

    def __init__(self, tokens: Tokenizer):
        self.tokens, self.ids, self.counts = tokens, [], []
        self.positions: list[list[int]] = [[], [], []]
        self.next = 0

    def text(self, text: str, counts: bool) -> "Row":
        ids = self.tokens.encode(text).ids
        self.ids += ids
        self.counts += [counts] * len(ids)
        for axis in self.positions:
            axis += range(self.next, self.next + len(ids))
        self.next += len(ids)
        return self

    def image(self, grid: Grid) -> "Row":
        down, across = grid
        self.text("<|vision_start|>", False)
        start, rows = self.next, down * across
        self.ids += [self.tokens.token_to_id("<|image_pad|>")] * rows
        self.counts += [False] * rows
        self.positions[0] += [start] * rows
        self.positions[1] += [start + i // across for i in range(rows)]
        self.positions[2] += [start + i % across for i in range(rows)]
        self.next = start + max(grid)
        return self.text("<|vision_end|>", False)


def padded(rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    width = max(len(r.ids) for r in rows)
    ids = torch.tensor([r.ids + [0] * (width - len(r.ids)) for r in rows])
    counts = torch.tensor([r.counts + [False] * (width - len(r.ids)) for r in rows])
    positions = torch.tensor([[r.positions[a] + [0] * (width - len(r.ids)) for r in rows] for a in range(3)])
    return ids, counts, positions


def chat_about(rng: Random, tokens: Tokenizer, pictures: list[Picture], grid: Grid, short: bool) -> Row:
    """A chat in which each picture is shown and asked about, in the form of the model's template."""
    row = Row(tokens)
    if short or rng.random() < 0.12:  # no chat: the picture, a question, its answer
        asked, answer = question(rng, pictures[0])
        row.image(grid).text(asked, False).text(answer + "<|endoftext|>", True)
        return row
    if rng.random() < 0.1:
        row.text(f"<|im_start|>system\n{rng.choice(SYSTEMS)}<|im_end|>\n", False)
    for picture in pictures:
        for turn in range(rng.choice((2, 3, 3) if len(pictures) == 1 else (1, 2))):
            asked, answer = question(rng, picture)
            row.text("<|im_start|>user\n", False)
            first = rng.random() < 0.9
            if turn == 0 and first:
                row.image(grid)
            row.text(careless(rng, asked), False)
            if turn == 0 and not first:
                row.image(grid)
            row.text("<|im_end|>\n<|im_start|>assistant\n", False).text(answer + "<|im_end|>", True).text("\n", False)
    return row


def pictures_of_one_grid(
    rng: Random, count: int, easy: float = 0.0, scale: float = 1.0
) -> tuple[Grid, list[Picture]]:
    """`easy`: the part of them that shows one large shape on a plain background."""
    grid, sizes = some_sizes(rng, count, scale)
    pictures = []
    for size in sizes:
        is_easy = rng.random() < easy
        pictures.append(draw(rng, size, not is_easy and rng.random() < 0.35, is_easy))
    return grid, pictures


def about_pictures(rng: Random, tokens: Tokenizer, count: int, small: bool, short: bool) -> Batch:
    """Chats about `count` pictures of one grid; in some batches about two pictures each.

    Small pictures have half of the pixels, which costs less. Short: twice as many easy pictures, one question each.
    """
    count *= 2 if short else 1
    each = 2 if not short and rng.random() < 0.12 else 1
    grid, pictures = pictures_of_one_grid(rng, count, float(short), 0.45 if small else 1.0)
    rows, shown = [], []
    for i in range(0, count, each):
        row = chat_about(rng, tokens, pictures[i : i + each], grid, short)
        rows.append(row)
        shown += pictures[i : i + row.ids.count(tokens.token_to_id("<|vision_start|>"))]
    return Batch(*padded(rows), grid, patches_of(pixels_of(shown, grid)))
