# SPDX-License-Identifier: MIT
"""vision_cases.py: what transformers makes of pictures and of prompts with them, for one checkpoint."""

import random
from dataclasses import dataclass

import numpy as np
import torch

import vision_tokens

NEW, MOST_TRIES = 16, 60
SMALLEST_GAP = 4e-3  # between the best and the second logit of every greedy step
CASES = {"none": [], "one": ["wide.png"], "two": ["tall.png", "clear.png"]}
THREE = ["clear.png", "wide.png", "tall.png"]
TEXTS = ["the red box", "A new, old mat!", "what is this"]


@dataclass
class Clip:
    """A video: frames (PIL images) under their names."""

    names: list
    frames: list
    fps: float = 1.5


class NoPrompt(Exception):
    """Each prompt led to a near tie, or to a token that stands for an image."""


def as_float(array):
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


def about_image(pixels, features):
    """What a test must know of an image beside the numbers."""
    about = {"rows": len(features)}
    if "image_grid_thw" in pixels:
        about["grid"] = pixels["image_grid_thw"][0].tolist()
    if "image_position_ids" in pixels:  # Gemma 4's are (x, y), and padded
        positions = pixels["image_position_ids"][0]
        about["grid"] = [1, *(int(n) + 1 for n in positions[(positions >= 0).all(-1)].flip(-1).amax(0))]
    if "spatial_shapes" in pixels:
        about["tiles"] = pixels["spatial_shapes"].tolist()
    return about


def without_padding(pixels):
    values = pixels["pixel_values"]
    if "image_position_ids" in pixels:
        return values[0, (pixels["image_position_ids"][0] >= 0).all(-1)]
    if "spatial_shapes" in pixels:
        return torch.cat([tile[:h * w] for tile, (h, w) in zip(values, pixels["spatial_shapes"].tolist())])
    return values


def of_images(reference, images, tensors):
    """{name: about it}; pixels and features go into `tensors`."""
    known = {}
    for name, image in images.items():
        pixels = reference.pixels([image])
        features = reference.features(pixels)
        tensors[f"pixels.{name}"] = without_padding(pixels).float().contiguous()
        tensors[f"features.{name}"] = as_float(features)
        known[name] = about_image(pixels, features)
    return known


def case_of(reference, name, images, files, tensors, clip=None):
    """(what is known of a prompt, its inputs): no greedy step is a near tie, and none gives a token of an image."""
    for seed in range(MOST_TRIES):
        text = " ".join(random.Random(f"{name} {seed}").sample(vision_tokens.WORDS, 7))
        messages = reference.message(text, files, clip)
        inputs = reference.inputs(messages, [images[file] for file in files], clip)
        greedy, gap = reference.greedy(inputs, NEW)
        if gap > SMALLEST_GAP and len(set(greedy)) > 3 and not set(greedy) & set(reference.never):
            break
    else:
        raise NoPrompt(name)
    tensors[f"logits.{name}"] = as_float(reference.logits(inputs))
    about = expansion(reference, name, messages, files, inputs) | {"greedy": greedy}
    return about | ({"frames": clip.names, "fps": clip.fps} if clip else {}), inputs


def expansion(reference, name, messages, files, inputs):
    """A conversation before and after its images take their room."""
    case = {"name": name, "images": files, "messages": messages, "prompt": reference.prompt(messages),
            "ids": inputs["input_ids"][0].tolist()}
    positions = reference.positions(inputs)
    return case | ({"positions": positions} if positions else {})


def video_case(reference, images, file, clip, tensors):
    """A prompt with a video and an image behind it."""
    about, inputs = case_of(reference, "video", images, [file], tensors, clip)
    tensors["features.video"] = as_float(reference.clip_features(inputs))
    return about, inputs


def three(reference, images):
    """Two images side by side, and one that ends the message."""
    messages = reference.message("what do you see", THREE)
    return expansion(reference, "three", messages, THREE, reference.inputs(messages, [images[file] for file in THREE]))
