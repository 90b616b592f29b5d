# SPDX-License-Identifier: MIT
"""make_fp8.py: families/deepseek_v3 in 8-bit floats, as DeepSeek-V3 is published, and what transformers makes of those numbers.

    python tests/data/models/make_fp8.py

Writes deepseek_v3_fp8/ beside itself; codes.npy there are all 256 codes as torch reads them. Needs torch, transformers, safetensors and numpy.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = Path(__file__).parent
SOURCE, TARGET = HERE.parent / "families" / "deepseek_v3", HERE / "deepseek_v3_fp8"
BLOCK, MOST = 128, 448.0


def is_narrowed(name, weight):
    return weight.ndim == 2 and name.endswith("proj.weight") or name.endswith("kv_a_proj_with_mqa.weight")


def quantised(weight):
    """(codes, scales): of each 128 x 128 a scale of its own, which the last blocks share with nobody."""
    rows, columns = weight.shape
    scales = torch.zeros(-(-rows // BLOCK), -(-columns // BLOCK))
    codes = torch.zeros(rows, columns, dtype=torch.float8_e4m3fn)
    for r in range(scales.shape[0]):
        for c in range(scales.shape[1]):
            at = slice(r * BLOCK, (r + 1) * BLOCK), slice(c * BLOCK, (c + 1) * BLOCK)
            scales[r, c] = weight[at].abs().max() / MOST
            codes[at] = (weight[at] / scales[r, c]).to(torch.float8_e4m3fn)
    return codes, scales


def widened(codes, scales):
    rows, columns = codes.shape
    return codes.float() * scales.repeat_interleave(BLOCK, 0)[:rows].repeat_interleave(BLOCK, 1)[:, :columns]


def main():
    TARGET.mkdir(exist_ok=True)
    stored, wide = {}, {}
    for i, (name, weight) in enumerate(load_file(SOURCE / "model.safetensors").items()):
        stored[name] = wide[name] = weight
        if is_narrowed(name, weight):
            stored[name], scales = quantised(weight.float())
            scales = scales.bfloat16() if i % 2 else scales  # Qwen3's files have them in bf16
            stored[f"{name}_scale_inv"] = scales
            wide[name] = widened(stored[name], scales.float())
    save_file(stored, TARGET / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((SOURCE / "config.json").read_text())
    config["quantization_config"] = {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]}
    (TARGET / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for name in ("generation_config.json", "ids.json"):
        shutil.copy(SOURCE / name, TARGET / name)

    # transformers loads the widened numbers from a directory of their own.
    plain = TARGET / "plain"
    plain.mkdir()
    shutil.copy(SOURCE / "config.json", plain)
    save_file({name: weight.float() for name, weight in wide.items()}, plain / "model.safetensors", metadata={"format": "pt"})
    model = transformers.AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float32).eval()
    shutil.rmtree(plain)
    ids = torch.tensor([json.loads((TARGET / "ids.json").read_text())])
    with torch.no_grad():
        np.save(TARGET / "logits.npy", model(ids).logits[0].numpy())
        greedy = ids
        for _ in json.loads((SOURCE / "greedy.json").read_text()):
            greedy = torch.cat([greedy, model(greedy).logits[:, -1:].argmax(-1)], dim=1)
    (TARGET / "greedy.json").write_text(json.dumps(greedy[0, ids.shape[1]:].tolist()) + "\n")
    np.save(TARGET / "codes.npy", torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float().numpy())


if __name__ == "__main__":
    main()
