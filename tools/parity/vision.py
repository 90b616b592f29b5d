#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vision.py: random vision checkpoints through transformers (float64) and through cke.

    python tools/parity/vision.py FAMILY|all [--cke PATH] [--dir DIR] [--many N] [--seed N]

For each seed a checkpoint of an odd shape and three pictures of odd sizes (wide or tall, gray, with alpha), and then:
rows that enter the text model, from the reference's pixels and from the files; of siglip the pooled row and the scores of
texts (as "logits") too; the ids of a conversation with none to three images, and of Qwen's with a video of 2 to 5 frames;
logits at every position of it; 16 greedy ids.
Weights are stored as float32, float16 or bfloat16 and computed with --format f32: this compares the math, not the rounding
of a format. Prints one Markdown row per checkpoint and exits 1 where something differs by more than its limit. Failed
checkpoints stay in --dir.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import vision_cases
import vision_families
import vision_images
import vision_more_families  # noqa: F401
import vision_reference

ROOT = Path(__file__).resolve().parents[2]
PIXELS, FILES, LOGITS = 2e-4, 2e-3, 2e-3  # largest differences allowed: of rows from pixels, rows from files, logits
COLUMNS = ("pixels", "files", "pooled", "logits", "ids", "greedy")
HEADER = "| checkpoint | images | " + " | ".join(COLUMNS) + " | good |\n|" + "---|" * (len(COLUMNS) + 3)


class Failed(Exception):
    """The command refused, or answered something of another shape."""


def run(args, *line):
    done = subprocess.run([args.cke, *map(str, line)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        said = (done.stderr.strip() or "nothing").splitlines()[-1]
        raise Failed(f"`cke {line[0]}` ended with {done.returncode}: {said}")
    return done.stdout


def array(args, *line):
    """The .npy file that a command writes with -o."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.npy"
        run(args, *line, "-o", out)
        if not out.exists():
            raise Failed(f"`cke {line[0]}` wrote no file")
        return np.load(out)


def difference(ours, theirs):
    if ours.shape != theirs.shape:
        raise Failed(f"{list(ours.shape)} numbers, not {list(theirs.shape)}")
    if not np.isfinite(ours).all():
        raise Failed("numbers that are not finite")
    return float(np.abs(ours - theirs).max())


def grid_of(about):
    """The --grid of an image's pixels, where their shape does not say it; None for several tiles."""
    if "tiles" in about:
        return [1, *about["tiles"][0]] if len(about["tiles"]) == 1 else None
    return about.get("grid", [])


@dataclass
class Checkpoint:
    name: str
    directory: Path
    family: vision_families.Family
    dtype: torch.dtype
    reference: vision_reference.Reference
    images: dict
    cases: list


def clip_of(directory, rng):
    """A video of an odd size, written as a folder."""
    (directory / "clip").mkdir(exist_ok=True)
    width, height = (int(v) for v in rng.integers(20, 90, 2))
    names = [f"{i:02}.png" for i in range(int(rng.integers(2, 6)))]
    frames = [vision_images.picture(width, height, seed=50 + i) for i in range(len(names))]
    for name, frame in zip(names, frames):
        frame.save(directory / "clip" / name)
    return vision_cases.Clip(names, frames, float(rng.choice([1.0, 2.0, 2.5, 24.0])))


def checkpoint(args, name, seed, family, pick, most=160, prompts=True):
    """With the first weights under which every prompt, if there are any, has an answer that rounding cannot change."""
    directory, dtype = args.dir / f"{name}-{seed}", pick(torch.bfloat16, torch.float32, torch.float16)
    asked = (vision_cases.CASES | {"three": vision_cases.THREE}).items() if prompts and name != "siglip" else ()
    for again in range(20):
        vision_reference.write(family, directory, seed * 100 + again, dtype)
        images = vision_images.write(directory / "images", pick.rng, most)
        reference = vision_reference.Reference(family, directory)
        try:
            cases = [vision_cases.case_of(reference, case, images, files, {}) for case, files in asked]
            if prompts and "VLVideoProcessor" in str(family.files):
                cases.append(vision_cases.video_case(reference, images, "tall.png", clip_of(directory, pick.rng), {}))
            return Checkpoint(f"{name} {seed}", directory, family, dtype, reference, images, cases)
        except vision_cases.NoPrompt:
            continue
    raise SystemExit(f"{name}: seed {seed} has no weights without near ties")


def compare_images(args, made, model, found):
    reference, rows = made.reference, []
    for name, image in made.images.items():
        pixels = reference.pixels([image])
        features = reference.features(pixels)
        rows.append(features)
        file = made.directory / "images" / name
        found["files"] = max(found["files"], difference(array(args, "vision", *model, "--image", file), features))
        if made.family.processor == "SiglipProcessor":
            pooled = array(args, "vision", *model, "--image", file, "--pooled")
            found["pooled"] = max(found["pooled"], difference(pooled, reference.pooled(pixels)))
            asked = [part for text in vision_cases.TEXTS for part in ("--text", text)]
            scores = json.loads(run(args, "vision", *model, "--image", file, *asked, "--json"))
            theirs = reference.scores(vision_cases.TEXTS, pixels)[2]
            found["logits"] = max(found["logits"], difference(np.array([[s["logit"] for s in scores]]), theirs))
        grid = grid_of(vision_cases.about_image(pixels, features))
        if grid is not None:
            np.save(made.directory / "pixels.npy", pixels["pixel_values"].float().numpy())
            more = ["--grid", ",".join(map(str, grid))] if grid else []
            ours = array(args, "vision", *model, "--pixels", made.directory / "pixels.npy", *more)
            found["pixels"] = max(found["pixels"], difference(ours, features))
    # Several --image give their rows one after another.
    every = [part for name in made.images for part in ("--image", made.directory / "images" / name)]
    found["files"] = max(found["files"], difference(array(args, "vision", *model, *every), np.concatenate(rows)))


def compare_case(args, made, model, case, inputs, found):
    asked = [*model, "--tokens", ",".join(map(str, case["ids"]))]
    for message in case["messages"]:
        for part in message["content"]:
            if part["type"] == "image":
                part["image"] = str(made.directory / "images" / part["image"])
                asked += ["--image", part["image"]]
            if part["type"] == "video":
                part["video"] = str(made.directory / "clip")
                asked += ["--video", part["video"], "--fps", part["fps"]]
    (made.directory / "messages.json").write_text(json.dumps(case["messages"]))
    ids = json.loads(run(args, "template", model[0], "--messages", made.directory / "messages.json", "--ids"))
    found["ids"] += ids != case["ids"]
    found["logits"] = max(found["logits"], difference(array(args, "logits", *asked), made.reference.logits(inputs)))
    new = json.loads(run(args, "run", *asked, "-n", vision_cases.NEW, "--temp", 0, "--ids"))
    found["greedy"] += new != case["greedy"]


def compare(args, made, model):
    """Prints a Markdown row; returns whether `model`, its path and how to load it, is as close to transformers as it must be."""
    found, said = dict.fromkeys(COLUMNS, 0), ""
    try:
        compare_images(args, made, model, found)
        for case, inputs in made.cases:
            compare_case(args, made, model, case, inputs, found)
    except (Failed, json.JSONDecodeError, subprocess.TimeoutExpired, OSError) as error:
        said = str(error)
    good = (not said and found["pixels"] <= PIXELS and found["pooled"] <= FILES and found["files"] <= FILES
            and found["logits"] <= LOGITS and found["ids"] == 0 and found["greedy"] == 0)
    cells = [f"{found[c]:.1e}" for c in COLUMNS[:4]] + ["equal" if found[c] == 0 else f"{found[c]} differ" for c in COLUMNS[4:]]
    for column in ["pooled"] if made.cases else COLUMNS[4:]:
        cells[COLUMNS.index(column)] = ""
    sizes = " ".join("x".join(map(str, image.size)) for image in made.images.values())
    print(f"| {made.name} | {sizes} | {' | '.join(cells)} | {'yes' if good else said or 'no'} |", flush=True)
    if good:
        shutil.rmtree(made.directory)
    return good


def add_arguments(parser):
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    parser.add_argument("--dir", type=Path, default=Path("/tmp/cke-vision"), help="where checkpoints are made; those that fail stay")
    parser.add_argument("--many", type=int, default=3, help="checkpoints of each family")
    parser.add_argument("--seed", type=int, default=1, help="of the first")


def checked(args):
    if not args.cke.exists():
        raise SystemExit(f"{args.cke} does not exist: build it (./dev build) or name it with --cke")
    args.cke, args.dir = args.cke.resolve(), args.dir.resolve()
    return args


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=["all", *vision_families.FAMILIES], metavar="FAMILY",
                        help="all, or one of " + ", ".join(vision_families.FAMILIES))
    add_arguments(parser)
    args = checked(parser.parse_args())

    print(HEADER)
    good = []
    for name in vision_families.FAMILIES if args.family == "all" else [args.family]:
        for seed in range(args.seed, args.seed + args.many):
            pick = vision_families.Shapes(seed)
            made = checkpoint(args, name, seed, vision_families.FAMILIES[name](pick), pick)
            good.append(compare(args, made, [made.directory, "--format", "f32"]))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
