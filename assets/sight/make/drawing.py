# SPDX-License-Identifier: MIT
"""drawing.py: pictures of one or two coloured shapes, drawn with Pillow, and what is in them.

    drawing.py FOLDER [--count 40] [--seed 0] [--held-out]   writes some of them, named by what they show

Sizes, places, angles, backgrounds, light, noise and blur are random; the seed decides them.
"""

from __future__ import annotations

import argparse
import colorsys
import io
import math
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SHAPES = "circle square triangle star ring cross heart moon".split()
# name: ranges of hue in degrees, saturation and value. What lies between the ranges has no name here.
COLOURS = {
    "red": ((-8, 8), (0.75, 1.0), (0.65, 1.0)),
    "orange": ((22, 36), (0.80, 1.0), (0.90, 1.0)),
    "yellow": ((50, 60), (0.70, 1.0), (0.85, 1.0)),
    "green": ((95, 150), (0.50, 1.0), (0.40, 0.85)),
    "blue": ((205, 240), (0.60, 1.0), (0.55, 1.0)),
    "purple": ((270, 290), (0.50, 0.9), (0.40, 0.80)),
    "pink": ((320, 345), (0.30, 0.6), (0.90, 1.0)),
    "brown": ((18, 32), (0.50, 0.8), (0.30, 0.52)),
    "black": ((0, 360), (0.00, 0.5), (0.00, 0.13)),
    "white": ((0, 360), (0.00, 0.04), (0.93, 1.0)),
    "grey": ((0, 360), (0.00, 0.08), (0.40, 0.65)),
}
NAMES = list(COLOURS)
LEAST_CONTRAST = 90  # between a shape and what is behind it, as `distance` measures

Colour = tuple[float, float, float]  # 0 to 255


@dataclass
class Thing:
    shape: str
    colour: str
    x: float  # of the middle, as a part of the width
    y: float
    radius: float  # in parts of the shorter side
    mask: Image.Image


@dataclass
class Picture:
    image: Image.Image
    things: list[Thing]  # from left to right, or from top to bottom
    beside: bool  # two things: beside each other, or one above the other
    background: str  # a name of COLOURS, or "" for one without


def some_colour(rng: Random, name: str) -> Colour:
    hue, saturation, value = (rng.uniform(*limits) for limits in COLOURS[name])
    return tuple(255 * c for c in colorsys.hsv_to_rgb(hue % 360 / 360, saturation, value))


def distance(a: Colour, b: Colour) -> float:
    """How different two colours look, about: brightness counts most, then how red or green they are."""
    r, g, b = (p - q for p, q in zip(a, b))
    return math.sqrt(0.5 * r * r + 0.9 * g * g + 0.35 * b * b)


def outline(rng: Random, shape: str) -> list[tuple[float, float]]:
    """The corners of a shape in a circle of radius 1."""
    if shape == "square":
        return [(x * 0.74, y * 0.74) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    if shape == "triangle":
        return [(math.sin(a), -math.cos(a)) for a in (0, 2 * math.pi / 3, 4 * math.pi / 3)]
    if shape == "star":
        inner = rng.uniform(0.36, 0.46)
        reach = [1 if i % 2 == 0 else inner for i in range(10)]
        return [(r * math.sin(i * math.pi / 5), -r * math.cos(i * math.pi / 5)) for i, r in enumerate(reach)]
    if shape == "cross":
        w = rng.uniform(0.24, 0.34)
        quarter = [(-w, -1), (w, -1), (w, -w)]
        turns = ((1, 0), (0, 1), (-1, 0), (0, -1))  # cosine and sine
        return [(c * x - s * y, s * x + c * y) for c, s in turns for x, y in quarter]
    turn = [2 * math.pi * i / 48 for i in range(48)]
    if shape == "heart":
        return [
            (math.sin(t) ** 3, -(13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)) / 16)
            for t in turn
        ]
    return [(math.cos(t), math.sin(t)) for t in turn]  # circle, and the outside of ring and moon


def cover(
    rng: Random, shape: str, x: float, y: float, radius: float, size: tuple[int, int], easy: bool = False
) -> Image.Image:
    """Where the shape is: 255 inside, 0 outside; x, y and radius in pixels."""
    fine = 2 if max(size) < 400 else 1  # drawn larger, then averaged
    angle = rng.uniform(-0.4, 0.4) if shape == "heart" else rng.uniform(0, 2 * math.pi)
    if easy or (shape in ("square", "triangle", "star", "cross") and rng.random() < 0.5):
        angle = rng.uniform(-0.12, 0.12)  # half of them stand upright
    cos, sin = math.cos(angle), math.sin(angle)
    stretch = rng.uniform(0.93, 1.07)

    def placed(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        scaled = [(px * radius * stretch, py * radius / stretch) for px, py in points]
        return [(fine * (x + px * cos - py * sin), fine * (y + px * sin + py * cos)) for px, py in scaled]

    mask = Image.new("L", (size[0] * fine, size[1] * fine))
    pen = ImageDraw.Draw(mask)
    points = outline(rng, shape)
    pen.polygon(placed(points), fill=255)
    if shape == "ring":
        hole = rng.uniform(0.5, 0.68)
        pen.polygon(placed([(hole * px, hole * py) for px, py in points]), fill=0)
    if shape == "moon":
        aside, bite = rng.uniform(0.4, 0.52), rng.uniform(0.78, 0.88)
        pen.polygon(placed([(aside + bite * px, bite * py) for px, py in points]), fill=0)
    return mask.reduce(fine) if fine > 1 else mask


def behind(rng: Random, size: tuple[int, int], easy: bool) -> tuple[Image.Image, list[Colour], str]:
    """A background, the colours in it, and its name if it has one."""
    kind, name = 0.0 if easy else rng.random(), ""
    if kind < 0.45:
        name = rng.choice(("white", "white", "white", "black") if easy else ("white", "white", "black", "grey", *NAMES))
        one = two = some_colour(rng, name)
    else:
        level, width = rng.choice((rng.uniform(0, 90), rng.uniform(165, 255), rng.uniform(0, 255))), rng.uniform(0, 45)
        one = tuple(min(255, max(0, level + rng.uniform(-width, width))) for _ in range(3))
        two = one if kind < 0.65 else tuple(min(255, max(0, c + rng.uniform(-45, 45))) for c in one)
    image = Image.new("RGB", size, tuple(round(c) for c in one))
    if two != one:
        other = Image.new("RGB", size, tuple(round(c) for c in two))
        if rng.random() < 0.7:  # one side to the other
            ramp = Image.linear_gradient("L").rotate(rng.choice((0, 90, 180, 270))).resize(size)
        else:  # stripes
            ramp, period, upright = Image.new("L", size), rng.uniform(0.08, 0.4) * min(size), rng.random() < 0.5
            pen = ImageDraw.Draw(ramp)
            for i in range(int(max(size) / period) + 1):
                a, b = i * period, (i + 0.5) * period
                pen.rectangle((a, 0, b, size[1]) if upright else (0, a, size[0], b), fill=255)
        image = Image.composite(other, image, ramp)
    return image, [one, two], name


def places(
    rng: Random, count: int, beside: bool, width: int, height: int, easy: bool
) -> list[tuple[float, float, float]]:
    """(x, y, radius) in pixels, wholly inside, the two apart from each other."""
    short = min(width, height)
    if count == 1:
        r = short * (rng.uniform(0.3, 0.42) if easy else rng.choice((rng.uniform(0.15, 0.45), rng.uniform(0.22, 0.4))))
        edge = 1.07 * r  # a stretched shape reaches further
        return [(rng.uniform(edge, width - edge), rng.uniform(edge, height - edge), r)]
    along, across = (width, height) if beside else (height, width)
    spots: list[tuple[float, float, float]] = []
    while len(spots) < 2:
        half = len(spots)
        r = min(rng.uniform(0.17, 0.3) * short, along * 0.22)
        edge = 1.07 * r
        a = rng.uniform(half * along / 2 + edge, (half + 1) * along / 2 - edge)
        b = rng.uniform(edge, across - edge)
        spots.append((a, b, r))
        if half and abs(b - spots[0][1]) > 0.6 * (a - spots[0][0]):
            spots.clear()  # neither clearly beside nor clearly above the other
    return [(a, b, r) if beside else (b, a, r) for a, b, r in spots]


def draw(rng: Random, size: tuple[int, int], two: bool, easy: bool = False) -> Picture:
    """A picture of that width and height. An easy one is white or black with a large upright shape, unspoilt."""
    width, height = size
    image, ground, background = behind(rng, size, easy)
    beside = rng.random() < (0.5 if 0.8 < width / height < 1.25 else 0.85 if width > height else 0.15)
    things: list[Thing] = []
    for x, y, r in places(rng, 2 if two else 1, beside, width, height, easy):
        while True:
            name = rng.choice(NAMES)
            colour = some_colour(rng, name)
            taken = name == background or any(name == t.colour for t in things)
            if not taken and all(distance(colour, g) > LEAST_CONTRAST for g in ground):
                break
        shape = rng.choice(SHAPES)
        mask = cover(rng, shape, x, y, r, size, easy)
        image.paste(tuple(round(c) for c in colour), mask=mask)
        things.append(Thing(shape, name, x / width, y / height, r / min(size), mask))
    return Picture(image if easy else spoilt(rng, image), things, beside, background)


def spoilt(rng: Random, image: Image.Image) -> Image.Image:
    """As a camera and a file leave it: a little blur, uneven light, noise, JPEG's traces."""
    if rng.random() < 0.3:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.2, 0.009 * min(image.size))))
    light, noise = rng.random() < 0.4, rng.random() < 0.5
    if light or noise:
        pixels = np.asarray(image, dtype=np.float32)
        if light:
            height, width = pixels.shape[:2]
            dx, dy = rng.uniform(-0.12, 0.12), rng.uniform(-0.12, 0.12)
            ramp = 0.97 + dx * np.linspace(-1, 1, width)[None] + dy * np.linspace(-1, 1, height)[:, None]
            pixels = pixels * ramp[..., None].astype(np.float32)
        if noise:
            random = np.random.Generator(np.random.SFC64(rng.getrandbits(32)))
            pixels = pixels + rng.uniform(1, 10) * random.standard_normal(pixels.shape, dtype=np.float32)
        image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    if rng.random() < 0.2:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=rng.randint(50, 95))
        image = Image.open(file)
        image.load()
    return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--held-out", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for i in range(args.count):
        rng = Random(f"{'held-out' if args.held_out else 'train'} {args.seed} {i}")
        picture = draw(rng, rng.choice(((96, 96), (160, 120), (90, 140), (320, 240))), rng.random() < 0.35)
        name = "-".join(f"{t.colour}-{t.shape}" for t in picture.things)
        picture.image.save(args.folder / f"{i:03}-{name}.png")


if __name__ == "__main__":
    main()
