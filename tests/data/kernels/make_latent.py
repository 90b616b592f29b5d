#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes latent.f32 here: what DeepSeek-V3's attention in transformers does to queries and latents before the scores, read by
tests/kernels/latent.cpp.

A flat little-endian float32 array: a count of cases, then for each heads, nope, turned, rank, tokens, eps; cos and sin [tokens][turned / 2];
    norm [rank]; of each token [latent | what is turned]; the key that is cached [rank + turned] of each;
    of each token the query [heads][nope + turned]; each head's matrix [rank][nope]; the query of latents [heads][rank + turned] of each token
"""
import pathlib

import numpy as np
import torch
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3RMSNorm, apply_rotary_pos_emb_interleave

HERE = pathlib.Path(__file__).parent
torch.manual_seed(20261123)


def turn(x, cos, sin):
    """The rotation of pairs, which transformers leaves with the first of all pairs before the second."""
    wide = lambda table: torch.cat([table, table], -1)[None]
    q, _ = apply_rotary_pos_emb_interleave(x[None], x[None], wide(cos), wide(sin))
    half = x.shape[-1] // 2
    return torch.stack([q[0, ..., :half], q[0, ..., half:]], -1).flatten(-2)


def case(heads, nope, turned, rank, tokens, eps):
    angle = 6 * torch.rand(tokens, turned // 2)
    cos, sin = angle.cos(), angle.sin()
    norm = DeepseekV3RMSNorm(rank, eps)
    norm.weight.data.normal_()
    of_token, query = torch.randn(tokens, rank + turned), torch.randn(tokens, heads, nope + turned)
    matrices = torch.randn(heads, rank, nope)
    with torch.no_grad():
        key = torch.cat([norm(of_token[:, :rank]), turn(of_token[None, :, rank:], cos, sin)[0]], 1)
        latents = torch.einsum("thn,hrn->thr", query[..., :nope], matrices)
        turned_part = turn(query[..., nope:].transpose(0, 1), cos, sin).transpose(0, 1)
    parts = ([heads, nope, turned, rank, tokens, eps], cos, sin, norm.weight.detach(), of_token, key, query, matrices,
             torch.cat([latents, turned_part], -1))
    return np.concatenate([np.asarray(part, np.float32).ravel() for part in parts])


if __name__ == "__main__":
    cases = [case(1, 1, 2, 1, 1, 1e-6), case(3, 12, 8, 20, 19, 1e-6), case(2, 33, 4, 35, 37, 1e-3)]
    np.concatenate([[len(cases)], *cases]).astype("<f4").tofile(HERE / "latent.f32")
