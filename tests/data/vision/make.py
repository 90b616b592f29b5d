#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the vision fixtures of this folder: small random checkpoints as transformers writes them, and its results in float64.

  pip install torch transformers==5.23.0 pillow torchvision safetensors tokenizers
  python tests/data/vision/make.py [FAMILY ...] [--into FOLDER]   # those that are committed, or any of vision_families.py

images/*.png             wide, tall and gray, half transparent
FAMILY/                  a checkpoint of few bf16 weights, with its tokenizer, template and processor
FAMILY/expected.safetensors
  pixels.IMAGE           what the image processor makes of the file (PIL's resize, but for lfm2_vl: torchvision's); without padding
  features.IMAGE         rows that enter the text model, deepstack's columns beside them; of siglip the last hidden state
  pooled.IMAGE           of siglip
  features.video         the same of the frames of a video
  logits.CASE            of every position of a prompt
  text_pooled, scores    of siglip: [texts, width] and [images, texts]
FAMILY/cases.json
  images                 {IMAGE: {"rows": rows that enter the text model, "grid": [t, h, w] in patches of qwen and gemma4,
                         "tiles": [[h, w], ...] in patches of lfm2_vl}}
  cases                  prompts with no, one and two images: name, images, messages, prompt (before images take their room), ids (after it),
                         greedy (the 16 ids that follow), positions (three axes, where the family counts so)
  videos                 the same with a video of the frames, at fps frames of a second, before an image
  expansions             the same but greedy, of a message in which two images stand side by side and one at the end
  texts, text_ids        of siglip
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "parity"))

import vision_cases  # noqa: E402
import vision_families  # noqa: E402
import vision_images  # noqa: E402
import vision_more_families  # noqa: E402, F401
import vision_reference  # noqa: E402

COMMITTED = ("siglip", "qwen3_vl", "gemma3", "gemma4", "gemma4_full", "qwen2_5_vl", "qwen3_5", "qwen3_5_moe", "qwen3_vl_moe",
             "idefics3", "lfm2_vl", "pixtral", "mistral3")  # 4 MB
WITH_VIDEO = ("qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")
SMALLEST_MOVE = 3e-4  # of a feature when a key changes, or ten times that of a logit: more than tests allow


def clip():
    """Frames of ../images/videos."""
    names = [f"frame{i}.ppm" for i in range(3)]
    return vision_cases.Clip(names, [Image.open(HERE.parent / "images/videos" / name) for name in names])


def changed(config, changes):
    """A copy of a config with other values of some keys, named from the top."""
    content = config.to_dict()
    for path, value in changes.items():
        *parents, key = path.split(".")
        part = content
        for parent in parents:
            part = part[parent]
        part[key] = value
    return type(config).from_dict(content)


def check_changes(family, directory, reference, image, inputs):
    """A fixture whose results did not depend on a key could not tell who ignores it."""
    for changes in family.changes:
        other, pixels = vision_reference.Reference(family, directory, changed(family.config, changes)), reference.pixels([image])
        moved = np.abs(other.features(pixels) - reference.features(pixels)).max()
        if inputs is not None:
            moved = max(moved, np.abs(other.logits(inputs) - reference.logits(inputs)).max() / 10)
        print(f"  {directory.name}: {changes} moves {moved:.1e}")
        if moved < SMALLEST_MOVE:
            raise SystemExit(f"{directory.name}: {changes} moves the results by only {moved}")


def make(name, into, seed):
    family, directory, tensors = vision_families.FAMILIES[name](vision_families.Shapes()), into / name, {}
    vision_reference.write(family, directory, seed)
    images = vision_images.write(into / "images")
    reference = vision_reference.Reference(family, directory)
    known, inputs = {"images": vision_cases.of_images(reference, images, tensors)}, None
    if name == "siglip":
        for image in images:
            tensors[f"pooled.{image}"] = vision_cases.as_float(reference.pooled(reference.pixels([images[image]])))
        ids, pooled, scores = reference.scores(vision_cases.TEXTS, reference.pixels(list(images.values())))
        tensors |= {"text_pooled": vision_cases.as_float(pooled), "scores": vision_cases.as_float(scores)}
        known |= {"texts": vision_cases.TEXTS, "text_ids": ids.tolist()}
    else:
        known["cases"] = []
        for case, files in vision_cases.CASES.items():
            about, inputs = vision_cases.case_of(reference, case, images, files, tensors)
            known["cases"].append(about)
        known["expansions"] = [vision_cases.three(reference, images)]
        if name in WITH_VIDEO:
            known["videos"] = [vision_cases.video_case(reference, images, "clear.png", clip(), tensors)[0]]
    check_changes(family, directory, reference, images["clear.png"], inputs)
    save_file(tensors, directory / "expected.safetensors")
    (directory / "expected.safetensors").chmod(0o644)
    (directory / "cases.json").write_text(json.dumps(known) + "\n")
    print(f"{name}: {sum(f.stat().st_size for f in directory.iterdir()):,} bytes")


def make_any(name, into):
    """With the first weights under which every prompt has an answer that rounding cannot change."""
    for seed in range(7, 27):
        try:
            return make(name, into, seed)
        except vision_cases.NoPrompt as case:
            print(f"{name}: seed {seed} has no prompt for {case}")
    raise SystemExit(f"{name}: no weights without near ties")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(vision_families.FAMILIES))
    parser.add_argument("--into", type=Path, default=HERE)
    asked = parser.parse_args()
    for each in asked.families or COMMITTED:
        make_any(each, asked.into)
