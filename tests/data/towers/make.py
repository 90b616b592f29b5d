#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps of tiny vision checkpoints what the tests of towers read: their tensors, their config, pixels and features.

  python tests/data/vision/make.py lfm2_vl idefics3 pixtral mistral3 --into FOLDER
  python tests/data/towers/make.py FOLDER
"""

import json
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent
FAMILIES = ["lfm2_vl", "idefics3", "pixtral", "mistral3"]
OF_TEXT = ("language_model.", "model.language_model.", "model.text_model.", "lm_head.")


def main(made: Path) -> None:
    for name in FAMILIES:
        into = HERE / name
        into.mkdir(exist_ok=True)
        tensors = load_file(made / name / "model.safetensors")
        kept = {key: value for key, value in tensors.items() if not key.startswith(OF_TEXT)}
        save_file(kept, into / "model.safetensors")
        numbers = load_file(made / name / "expected.safetensors")
        kept = {key: value for key, value in numbers.items() if key.startswith(("pixels.", "features."))}
        save_file(kept, into / "expected.safetensors")
        cases = json.loads((made / name / "cases.json").read_text())
        (into / "cases.json").write_text(json.dumps({"images": cases["images"]}) + "\n")
        (into / "config.json").write_text((made / name / "config.json").read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
