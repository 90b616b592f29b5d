# SPDX-License-Identifier: MIT
"""seeing.py: the model of transformers on batches whose images all have one grid: same weights, same results.

transformers runs the attention of a tower image by image; here it runs for all of a batch at once.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from transformers import Qwen3VLForConditionalGeneration
from transformers.models.qwen3_vl.modeling_qwen3_vl import apply_rotary_pos_emb_vision
from transformers.vision_utils import get_vision_interpolation_indices_and_weights, get_vision_position_ids

from batches import Batch, Grid
from checkpoint import MERGE, TOWER


@lru_cache(maxsize=None)
def places_of(grid: Grid) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of the patches of an image: rows of the table and their weights, and (row, column)."""
    thw = torch.tensor([[1, grid[0] * MERGE, grid[1] * MERGE]])
    side = int(TOWER["num_position_embeddings"] ** 0.5)
    indices, weights = get_vision_interpolation_indices_and_weights(
        thw, num_grid_per_side=side, mode="bilinear", align_corners=True, spatial_merge_size=MERGE, kwargs={}
    )
    return indices, weights, get_vision_position_ids(thw, MERGE, kwargs={})


def rows_of(visual: torch.nn.Module, patches: torch.Tensor, grid: Grid) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The rows that enter the text model, of all images, and those of the deepstack taps."""
    indices, weights, positions = places_of(grid)
    each = len(indices)
    place = (visual.pos_embed(indices) * weights[:, :, None]).sum(1)
    projection = visual.patch_embed.proj
    x = torch.nn.functional.linear(patches, projection.weight.flatten(1), projection.bias)
    x = x.view(-1, each, x.shape[-1]) + place
    cos, sin = visual.rotary_pos_emb(x, positions)
    taps = []
    for number, block in enumerate(visual.blocks):
        attention = block.attn
        parts = attention.qkv(block.norm1(x)).view(len(x), each, 3, attention.num_heads, -1)
        q, k = apply_rotary_pos_emb_vision(parts[:, :, 0], parts[:, :, 1], cos, sin)
        q, k, v = (part.transpose(1, 2) for part in (q, k, parts[:, :, 2]))
        seen = (q @ k.transpose(2, 3) * attention.scaling).softmax(-1) @ v
        x = x + attention.proj(seen.transpose(1, 2).reshape(x.shape))
        x = x + block.mlp(block.norm2(x))
        if number in visual.deepstack_visual_indexes:
            taps.append(visual.deepstack_merger_list[len(taps)](x.reshape(-1, x.shape[-1])))
    return visual.merger(x.reshape(-1, x.shape[-1])), taps


def hidden_of(model: Qwen3VLForConditionalGeneration, batch: Batch) -> torch.Tensor:
    """What the output layer reads, [rows, length, width]."""
    text = model.model.language_model
    embeds = text.embed_tokens(batch.ids)
    extra = {}
    if batch.patches is not None:
        main, taps = rows_of(model.model.visual, batch.patches, batch.grid)
        is_image = batch.ids == model.config.image_token_id
        embeds = embeds.masked_scatter(is_image[..., None], main.to(embeds.dtype))
        extra = {"visual_pos_masks": is_image, "deepstack_visual_embeds": taps}
    return text(inputs_embeds=embeds, position_ids=batch.positions, use_cache=False, **extra).last_hidden_state
