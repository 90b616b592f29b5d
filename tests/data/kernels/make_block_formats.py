# SPDX-License-Identifier: MIT
"""make_block_formats.py: writes block_formats.bin here: blocks of GGUF files and what gguf-py reads from them.

    python tests/data/kernels/make_block_formats.py        (needs gguf)

rows, cols as u32, then for each type of SCALES row after row: the blocks, and their values in f32. Codes and
scales of sub-blocks are random bytes. The f16 scales of row 0 are small numbers of both signs, so that a
minimum is also subtracted from below; row 1 has zeros of both signs, row 2 subnormal and the greatest numbers.
"""
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

ROWS, COLS = 3, 512
# Where the f16 scales of a block are; MXFP4's is a byte.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}
rng = np.random.default_rng(20261121)
parts = [np.array([ROWS, COLS], np.uint32).tobytes()]
for name, places in SCALES.items():
    kind = GGMLQuantizationType[name]
    block, size = GGML_QUANT_SIZES[kind]
    rows = rng.integers(0, 256, (ROWS, COLS // block, size), dtype=np.uint8)
    for at in places:
        scale = rng.normal(0, 0.01, rows.shape[:2]).astype(np.float16)
        scale[1] = rng.choice([0.0, -0.0], rows.shape[1])
        scale[2] = rng.choice([2.0**-24, -(2.0**-15), 65504, -65504], rows.shape[1])
        rows[..., at:at + 2] = scale[..., None].view(np.uint8)
    if not places:
        rows[0, :, 0] = rng.integers(110, 135, rows.shape[1])
        rows[1, :, 0], rows[2, :, 0] = rng.integers(0, 3, rows.shape[1]), 254
    rows[0, 0, 4:size // 2], rows[0, -1, 4:16] = 0xFF, 0  # all bits of codes and scales set, scales clear
    for row in rows.reshape(ROWS, -1):
        parts += [row.tobytes(), quants.dequantize(row[None], kind).astype(np.float32).tobytes()]
out = pathlib.Path(__file__).parent / "block_formats.bin"
out.write_bytes(b"".join(parts))
print(out, out.stat().st_size)
