# SPDX-License-Identifier: MIT
"""make.py: writes what transformers' hooks see in two checkpoints of tests/data/families.

    python tests/data/steps/make.py        (needs torch, transformers 5 and build/release/cke)

NAME/        a reference for `cke bisect`, of COUNT ids, in float32: index.json and steps.ckdmp
"""

import json
import shutil
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "parity"))
import hooks  # noqa: E402
import measure  # noqa: E402

COUNT = 6

for name in ("qwen3_moe", "granitemoehybrid"):
    directory = HERE.parent / "families" / name
    shutil.rmtree(HERE / name, ignore_errors=True)
    ids = json.loads((directory / "ids.json").read_text())[:COUNT]
    there, left = hooks.reference(directory, ids, HERE / name, torch.float32, measure.ROOT / "build/release/cke")
    print(f"{name}: {there} values, {left} that no module reads or writes")
