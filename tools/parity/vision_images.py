# SPDX-License-Identifier: MIT
"""vision_images.py: pictures of odd sizes that neither a wrong filter nor a swapped axis leaves unnoticed."""

import numpy as np
from PIL import Image


def picture(width, height, mode="RGB", seed=0):
    """Gradients that differ by channel and axis, a bright shape off the middle, and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(width, height)
    phase = rng.uniform(0, 6, 3)
    planes = [127 + 90 * np.sin(5 * x * (c + 1) + 3 * y * (3 - c) + phase[c]) for c in range(3)]
    planes += [255 * np.clip(1.4 - 2 * np.hypot(x - 0.3, y - 0.2), 0, 1)]
    pixels = np.stack(planes, axis=-1) + rng.normal(0, 12, (height, width, 4))
    pixels[height // 5:height // 2, width // 3:width // 2 + 1, :3] = rng.integers(0, 256, 3)
    pixels = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    return Image.fromarray(pixels[..., :3]).convert("L") if mode == "L" else Image.fromarray(pixels if mode == "RGBA" else pixels[..., :3])


# The fixtures' own: wide, tall and gray, half transparent.
FIXED = {"wide.png": (37, 23, "RGB"), "tall.png": (19, 41, "L"), "clear.png": (28, 30, "RGBA")}


def write(directory, rng=None, most=160):
    """{name: PIL image} of the fixed ones, or of three of random sizes up to `most`, written as PNG."""
    directory.mkdir(parents=True, exist_ok=True)
    images = {}
    for number, (name, (width, height, mode)) in enumerate(FIXED.items()):
        if rng is not None:
            width, height = (int(v) for v in rng.integers(9, most, 2))
        images[name] = picture(width, height, mode, seed=number)
        images[name].save(directory / name, optimize=True)
    return images
