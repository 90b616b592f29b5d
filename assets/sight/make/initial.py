# SPDX-License-Identifier: MIT
"""initial.py: the weights that the tower begins with.

Random ones, but for what any eye needs and a long training would find: patches are described by their
coarse waves of light and of colour (a cosine transform), and heads look at neighbours, one or two patches
up, down, left and right, by the rope of rows and columns. All of it is trained.
"""

from __future__ import annotations

import math

import torch

LOOKS = (  # of each layer: (rows down, columns right) of what each head looks at, and how sharply
    ((-1, 0, 6.0), (0, 1, 6.0), (0, 0, 1.5)),
    ((1, 0, 6.0), (0, -1, 6.0), (0, 0, 1.5)),
    ((-2, 0, 3.0), (0, 2, 3.0), (0, 0, 1.0)),
    ((2, 0, 3.0), (0, -2, 3.0), (0, 0, 1.0)),
)
LIGHT = ((0.5, 0.5, 0.5), (0.7, 0.0, -0.7), (-0.4, 0.8, -0.4))  # brightness, and two differences of colour


def waves(count: int, patch: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The coarsest waves of a cosine transform, as columns and rows. The finer, the fainter they are in pictures."""
    at = (torch.arange(patch) + 0.5) * math.pi / patch
    order = sorted(((i, j) for i in range(patch) for j in range(patch)), key=lambda p: (p[0] + p[1], p[0]))
    return [((1 + 6 * (i + j)) * torch.cos(i * at), torch.cos(j * at)) for i, j in order[:count]]


@torch.no_grad()
def set_initial(visual: torch.nn.Module) -> None:
    """Sets the weights; torch's seed decides the random ones."""
    c = visual.config
    for name, tensor in visual.named_parameters():
        if tensor.ndim > 1 and name != "pos_embed.weight":
            torch.nn.init.normal_(tensor, std=(0.5 if "qkv" in name else 0.8) * tensor[0].numel() ** -0.5)

    kernel = visual.patch_embed.proj.weight  # [dim, channel, time, row, column]
    kinds = [(light, wave) for light, most in zip(LIGHT, (24, 12, 12)) for wave in waves(most, c.patch_size)]
    for out, (light, (row, column)) in zip(kernel, kinds):
        plane = row[:, None] * column[None]
        plane = plane / c.patch_size**2 / c.temporal_patch_size
        out.copy_(torch.tensor(light)[:, None, None, None] * plane[None, None])

    dim = c.hidden_size // c.num_heads
    inverse = 10000.0 ** (-torch.arange(0, dim // 2, 2) / (dim // 2))
    share = torch.zeros(len(inverse))
    share[0], share[1] = 1.0, 4.0  # the fastest wave points, the next one keeps its echoes away
    for block, heads in zip(visual.blocks, LOOKS):
        bias = block.attn.qkv.bias.view(3, c.num_heads, 2, 2, dim // 4)  # q k v, head, half of a pair, axis
        for head, (down, right, sharp) in enumerate(heads):
            size = (sharp * share * dim**0.5).sqrt()
            for axis, step in enumerate((down, right)):
                bias[0, head, 0, axis] = size
                bias[1, head, 0, axis] = size * torch.cos(step * inverse)
                bias[1, head, 1, axis] = -size * torch.sin(step * inverse)
