# SPDX-License-Identifier: MIT
"""pictures.py: draws the pictures beside the model, without the code and the sizes of the training's pictures.

    pictures.py FOLDER
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from PIL import Image, ImageDraw

FINE = 4  # drawn larger, then averaged


def canvas(width: int, height: int, colour: str) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (width * FINE, height * FINE), colour)
    return image, ImageDraw.Draw(image)


def scaled(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(x * FINE, y * FINE) for x, y in points]


def red_circle() -> Image.Image:
    image, pen = canvas(240, 240, "white")
    pen.ellipse(scaled([(60, 60), (180, 180)]), fill="#dc1e1e")
    return image


def blue_star() -> Image.Image:
    """As large as a photo, far from the middle."""
    image, pen = canvas(640, 480, "#e8e4dc")
    points = []
    for i in range(10):
        radius, angle = (105, 42)[i % 2], i * math.pi / 5 + 0.2
        points.append((470 + radius * math.sin(angle), 150 - radius * math.cos(angle)))
    pen.polygon(scaled(points), fill="#1f4fd0")
    return image


def yellow_heart() -> Image.Image:
    image, pen = canvas(200, 150, "#20242c")
    turns = [2 * math.pi * i / 90 for i in range(90)]
    heart = [
        (16 * math.sin(t) ** 3, -(13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)))
        for t in turns
    ]
    pen.polygon(scaled([(95 + 3 * x, 75 + 3 * y) for x, y in heart]), fill="#f5dc1e")
    return image


def triangle_and_ring() -> Image.Image:
    image, pen = canvas(360, 200, "#f6f6f6")
    pen.polygon(scaled([(90, 45), (145, 150), (35, 150)]), fill="#1e9632")
    pen.ellipse(scaled([(212, 48), (318, 154)]), outline="#7828b4", width=24 * FINE)
    return image


PICTURES = {
    "red-circle.png": red_circle,
    "blue-star.jpg": blue_star,
    "yellow-heart.png": yellow_heart,
    "green-triangle-purple-ring.png": triangle_and_ring,
}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        options = {"quality": 80} if name.endswith("jpg") else {"optimize": True}
        draw().reduce(FINE).save(folder / name, **options)


if __name__ == "__main__":
    main()
