#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes row_wise.bin: matrices quantised by row with PyTorch, and their products.

  pip install torch numpy && python tests/data/kernels/make_row_wise.py

u32 rows, cols, n; then f32 weights [rows][cols], x [n][cols]; then for 8 and for 4 bits the weights as they are kept
[rows][cols] and y [n][rows], which is computed in float64.
"""
import pathlib

import numpy
import torch

ROWS, COLS, N = 37, 288, 3


def main():
    torch.manual_seed(8)
    w = torch.randn(ROWS, COLS) * torch.logspace(-3, 2, ROWS)[:, None]
    w[5], w[6, 7] = 0, 1000.0  # a row of zeros, and one with a number that leaves little to the others
    x = torch.randn(N, COLS)
    parts = [numpy.array([ROWS, COLS, N], "<u4"), w.numpy(), x.numpy()]
    for most in (127, 7):
        scale = (w.abs().amax(1, keepdim=True) / most).half().float()
        codes = torch.where(scale > 0, (w * (1 / scale)).round().clamp(-most, most), torch.zeros(()))
        kept = codes * scale + 0.0  # no negative zeros
        parts += [kept.numpy(), (x.double() @ kept.double().T).float().numpy()]
    with open(pathlib.Path(__file__).parent / "row_wise.bin", "wb") as f:
        for part in parts:
            f.write(part.tobytes())


if __name__ == "__main__":
    main()
