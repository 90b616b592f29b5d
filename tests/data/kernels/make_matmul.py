# SPDX-License-Identifier: MIT
"""make_matmul.py: writes matmul.bin here: rows of floats and what gguf-py and PyTorch make of them.

    python tests/data/kernels/make_matmul.py        (needs torch and gguf)

rows, cols as u32, then row after row: f32 values, f16 and bf16 (PyTorch), q8_0 blocks (gguf-py), and the q8_0
blocks dequantised to f32 (gguf-py). The rows hold what rounding gets wrong: halves, zeros, -0, huge, tiny, subnormal.
"""
import pathlib

import numpy as np
import torch
from gguf import GGMLQuantizationType, quants

ROWS, COLS = 9, 96
rng = np.random.default_rng(20261121)
x = rng.standard_normal((ROWS, COLS)).astype(np.float32)
x[1] *= 1e4
x[2] *= 1e-6  # subnormal as f16, and so is the q8_0 scale
x[3] = 0
x[4, :32] = -0.0
x[4, 32:64] = np.arange(-16, 16) + 0.5  # halves of a q8_0 step, once 127 sets the scale to 1
x[4, 63] = 127
x[5] = np.round(x[5] * 64) / 64 + np.float32(2.0**-12)  # ties of bf16 and f16
x[6] = np.exp2(rng.integers(-14, 13, COLS)) * rng.choice([-1, 1], COLS)
x[7] = 65519 * rng.uniform(-1, 1, COLS)
x[8, ::2] = 1 + np.arange(COLS // 2) / 256 + 1 / 512  # bf16 ties to even, up and down
t = torch.from_numpy(x)
q = quants.quantize(x, GGMLQuantizationType.Q8_0)
parts = [x.view(np.uint8), t.half().view(torch.uint8).numpy(), t.bfloat16().view(torch.uint8).numpy(), q,
         quants.dequantize(q, GGMLQuantizationType.Q8_0).astype(np.float32).view(np.uint8)]
out = pathlib.Path(__file__).parent / "matmul.bin"
out.write_bytes(np.array([ROWS, COLS], np.uint32).tobytes() + np.concatenate(parts, axis=1).tobytes())
print(out, out.stat().st_size)
