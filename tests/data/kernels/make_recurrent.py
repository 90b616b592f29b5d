#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes recurrent.f32 here: convolutions, the gated delta rule and mamba2's scan by transformers and torch, read by
tests/kernels/recurrent.cpp.

A flat little-endian float32 array: a count of cases, then for each the kernel (0 causal_conv, 1 gated_conv, 2 gated_delta,
3 state_scan), tokens, and
    of a convolution: channels, taps, biased; taps [channels][taps]; bias [channels] when biased;
        of each token the input ([channels], or b, c and x of gated_conv), then of each the output [channels]
    of gated_delta: key heads, value heads, keys, values, eps; decay [value heads], step bias [value heads], norm [values];
        for each of q, k, v, the gate, and alpha and beta side by side: of each token [heads][numbers]; then the output
    of state_scan: heads, dims, groups, numbers, least step, most step (0: none); decay, step bias, skip [heads];
        for each of x, B and C side by side, the gate and the step: of each token [heads or groups][...]; then the output
"""
import math
import pathlib

import numpy as np
import torch
from torch.nn import functional as F
from transformers.models.mamba2.modeling_mamba2 import mamba2_chunk_scan
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextRMSNormGated, torch_recurrent_gated_delta_rule

HERE = pathlib.Path(__file__).parent
TOKENS = 131  # a page has 128
torch.manual_seed(20261122)
torch.set_num_threads(1)


def flat(*parts):
    return np.concatenate([np.asarray(part.detach() if torch.is_tensor(part) else part, np.float32).ravel() for part in parts])


def convolved(x, weight, bias):
    padded = F.pad(x.T[None], (weight.shape[1] - 1, 0))
    return F.conv1d(padded, weight[:, None], bias, groups=weight.shape[0])[0].T


def convolution(channels, taps, biased, gated):
    weight, bias = torch.randn(channels, taps), torch.randn(channels) if biased else None
    x = torch.randn(TOKENS, 3 * channels if gated else channels)
    if gated:
        b, c, inner = x.split(channels, 1)
        y = c * convolved(b * inner, weight, bias)
    else:
        y = F.silu(convolved(x, weight, bias))
    return flat([1 if gated else 0, TOKENS, channels, taps, biased], weight, bias if biased else [], x, y)


def delta(key_heads, value_heads, keys, values, eps):
    q, k = torch.randn(1, TOKENS, key_heads, keys), torch.randn(1, TOKENS, key_heads, keys)
    v, z = torch.randn(1, TOKENS, value_heads, values), torch.randn(1, TOKENS, value_heads, values)
    alpha, beta = 3 * torch.randn(1, TOKENS, value_heads), torch.randn(1, TOKENS, value_heads)
    decay, bias = torch.randn(value_heads), torch.randn(value_heads)
    norm = Qwen3NextRMSNormGated(values, eps=eps)
    norm.weight.data.normal_()
    rate = -decay.exp() * F.softplus(alpha + bias)
    shared = value_heads // key_heads
    y, _ = torch_recurrent_gated_delta_rule(q.repeat_interleave(shared, 2), k.repeat_interleave(shared, 2), v, g=rate, beta=beta.sigmoid(),
                                            initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=True)
    out = norm(y.reshape(-1, values), z.reshape(-1, values))
    return flat([2, TOKENS, key_heads, value_heads, keys, values, eps], decay, bias, norm.weight, q, k, v, z, torch.cat([alpha, beta], 2), out)


def scan(heads, dims, groups, numbers, least, most):
    x, z = torch.randn(1, TOKENS, heads, dims), torch.randn(1, TOKENS, heads, dims)
    b, c, step = torch.randn(1, TOKENS, groups, numbers), torch.randn(1, TOKENS, groups, numbers), 2 * torch.randn(1, TOKENS, heads)
    decay, bias, skip = torch.randn(heads), torch.randn(heads), torch.randn(heads)
    y = mamba2_chunk_scan(x, step, -decay.exp(), b, c, chunk_size=16, D=skip, dt_bias=bias, dt_softplus=True, dt_limit=(least, most or math.inf))
    out = y.reshape(TOKENS, -1) * F.silu(z.reshape(TOKENS, -1))
    rows = torch.cat([part.reshape(TOKENS, -1) for part in (x, b, c)], 1)
    return flat([3, TOKENS, heads, dims, groups, numbers, least, most], decay, bias, skip, rows, z, step, out)


if __name__ == "__main__":
    cases = [convolution(1, 1, False, False), convolution(33, 4, True, False), convolution(9, 2, False, True), convolution(7, 9, True, True),
             delta(1, 1, 1, 1, 1e-5), delta(2, 4, 7, 5, 1e-6), delta(1, 1, 19, 35, 1e-3),
             scan(1, 1, 1, 1, 0, 0), scan(4, 6, 2, 7, 0, 0), scan(4, 5, 1, 9, 0.3, 1.5), scan(1, 33, 1, 19, 0, 0)]
    np.concatenate([[len(cases)], *cases]).astype("<f4").tofile(HERE / "recurrent.f32")
