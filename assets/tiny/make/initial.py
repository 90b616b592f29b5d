# SPDX-License-Identifier: MIT
"""initial.py: the weights that training starts from.

Random ones, but for the attention of the first two layers. There one group of heads looks at the
token before and the one before that, and the next layer looks for what followed the same tokens
earlier: the copying that answers about a text are made of. Large models find this by themselves;
one that is trained for half an hour on one core would spend most of it searching.
"""

from __future__ import annotations

import torch
from transformers import Qwen3ForCausalLM


@torch.no_grad()
def set_initial(model: Qwen3ForCausalLM) -> None:
    """Sets the weights; torch's seed decides them."""
    c = model.config
    d, width = c.head_dim, c.hidden_size
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()

    # One direction that all tokens share, and three subspaces as wide as a head: which token this
    # is, which came before it, and which before that.
    basis = torch.linalg.qr(torch.randn(width, width))[0]
    same, token, before, before2 = basis.split([1, d, d, d, width - 1 - 3 * d])[:4]
    table = model.model.embed_tokens.weight
    table.normal_(0, 0.08)
    for space in (same, before, before2):
        table -= table @ space.T @ space
    table += 0.8 * same

    # Rotated by its position, a query that points `back` tokens back meets the key found there.
    angle = c.rope_parameters["rope_theta"] ** (-torch.arange(0, d, 2) / d)
    fast = (torch.arange(d // 2) < 6).float()

    def pointing(back: int) -> torch.Tensor:
        return torch.cat([fast * torch.cos(-back * angle), fast * torch.sin(-back * angle)])[
            :, None
        ]

    first, second = model.model.layers[0].self_attn, model.model.layers[1].self_attn
    head = [slice(i * d, (i + 1) * d) for i in range(c.num_attention_heads)]
    first.k_proj.weight[head[0]] = pointing(0) @ same
    first.q_proj.weight[head[0]] = pointing(1) @ same
    first.q_proj.weight[head[1]] = pointing(2) @ same
    first.v_proj.weight[head[0]] = token
    first.o_proj.weight[:, head[0]] = 0.1 * before.T
    first.o_proj.weight[:, head[1]] = 0.1 * before2.T
    second.k_proj.weight[head[0]] = before
    second.k_proj.weight[head[1]] = token
    for h in head:
        second.q_proj.weight[h] = token
    second.v_proj.weight[head[0]] = token
    second.o_proj.weight[:, head[0]] = 0.1 * token.T
    second.o_proj.weight[:, head[1]] = 0.1 * token.T
    for attention, gain in ((first, 2.0), (second, 1.3)):
        attention.q_norm.weight.fill_(gain)
        attention.k_norm.weight.fill_(gain)
