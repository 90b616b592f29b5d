#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the GGUF fixtures of this folder: tiny models with their mmproj files, as llama.cpp's converter writes them.

  pip install torch transformers==5.23.0 pillow torchvision safetensors tokenizers gguf
  python tests/data/mmproj/make.py

TOWER.gguf       the tower of the checkpoint of that name in ../vision or ../towers, whose expected.safetensors holds
MODEL/           model.gguf, mmproj-model.gguf, and transformers' results in float64, as ../vision/make.py describes them;
                 what llama.cpp's converter does not write is as llama.cpp takes it
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "parity"))

import vision_cases  # noqa: E402
import vision_families  # noqa: E402
import vision_gguf  # noqa: E402
import vision_images  # noqa: E402
import vision_reference  # noqa: E402

TOWERS = ("gemma4", "gemma4_full", "qwen2_5_vl", "qwen3_5", "lfm2_vl", "idefics3", "pixtral", "mistral3")


def make_tower(name):
    folder = next(f for f in (HERE.parent / "vision" / name, HERE.parent / "towers" / name) if f.exists())
    family = vision_families.FAMILIES[name](vision_families.Shapes())
    torch.manual_seed(1)  # of the text model's weights, which some folders do not have
    model = family.model.from_pretrained(folder, dtype=torch.float32)
    vision_gguf.write_mmproj(HERE / f"{name}.gguf", model, vision_gguf.image_processor_of(family.files), "BF16")


def make_model(name, seed):
    family, into, tensors = vision_gguf.family_of(name, vision_families.Shapes()), HERE / name, {}
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / name
        vision_reference.write(family, directory, seed)
        images = vision_images.write(Path(folder) / "images")
        reference = vision_reference.Reference(family, directory)
        known = {"images": vision_cases.of_images(reference, images, tensors)}
        known["cases"] = [vision_cases.case_of(reference, case, images, files, tensors)[0] for case, files in vision_cases.CASES.items()]
        vision_gguf.write(family, directory, "BF16")
        into.mkdir(exist_ok=True)
        for file in ("model.gguf", "mmproj-model.gguf"):
            (into / file).write_bytes((directory / file).read_bytes())
    save_file(tensors, into / "expected.safetensors")
    (into / "expected.safetensors").chmod(0o644)
    (into / "cases.json").write_text(json.dumps(known) + "\n")


def make_any(name):
    """With the first weights under which every prompt has an answer that rounding cannot change."""
    for seed in range(7, 27):
        try:
            return make_model(name, seed)
        except vision_cases.NoPrompt as case:
            print(f"{name}: seed {seed} has no prompt for {case}")
    raise SystemExit(f"{name}: no weights without near ties")


if __name__ == "__main__":
    for each in TOWERS:
        make_tower(each)
    for each in vision_gguf.MODELS:
        make_any(each)
