# SPDX-License-Identifier: MIT
"""vision_gguf_tensors.py: the tensors of towers and projectors as llama.cpp's converter names and changes them."""

import gguf
import numpy as np

from gguf_file import pairwise_rows

# What the names that gguf-py knows have for those of transformers 5; the first that fits counts.
PREFIXES = {
    "gemma3": [("vision_tower.", "vision_tower.vision_model.")],
    "gemma4": [("vision_tower.encoder.", "vision_model.model."), ("", "model.")],
    "lfm2_vl": [("vision_tower.", "vision_tower.vision_model.")],
    "idefics3": [("", "model.")],
    "smolvlm": [("", "model.")],
}
BOUNDS = (".input_min", ".input_max", ".output_min", ".output_max")


def known_name(model_type, name):
    """The name of a tensor as in published checkpoints, from which gguf-py maps."""
    name = name.replace(".linear.weight", ".weight").replace("_projection_weight", "_projection.weight")
    for old, new in PREFIXES.get(model_type, []):
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def renamed(config, name):
    """GGUF's name of a tensor of Qwen3-VL's that gguf-py cannot know, or None."""
    if name.startswith("visual.deepstack_merger_list."):
        index, part, suffix = name.removeprefix("visual.deepstack_merger_list.").split(".")
        layer = config.vision_config.deepstack_visual_indexes[int(index)]
        return f"v.deepstack.{layer}.{part.removeprefix('linear_')}.{suffix}"
    part, _, suffix = name.removeprefix("visual.merger.").partition(".")
    names = {"norm": "v.post_ln", "linear_fc1": "mm.0", "linear_fc2": "mm.2"}
    return f"{names[part]}.{suffix}" if name.startswith("visual.merger.") and part in names else None


def changed(config, name, array):
    """[(name, array)]: what the converter makes of one tensor before it names it."""
    heads = getattr(config.vision_config, "num_attention_heads", None)
    if name == "visual.patch_embed.proj.weight":
        return [("visual.patch_embed.proj.weight", array[:, :, 0]), ("v.patch_embd.weight.1", array[:, :, 1])]
    if name in ("vision_tower.patch_embedder.input_proj.weight", "vision_tower.embeddings.patch_embedding.weight") and array.ndim == 2:
        side = int((array.shape[1] // 3) ** 0.5)
        return [(name, array.reshape(-1, side, side, 3).transpose(0, 3, 1, 2))]
    if name.endswith("soft_emb_norm.weight"):
        return [(name, array + 1)]
    if config.vision_config.model_type == "pixtral" and name.endswith(("q_proj.weight", "k_proj.weight")):
        return [(name, pairwise_rows(array, heads))]
    if config.model_type == "qwen2_5_vl" and ".qkv." in name:
        return [(name.replace("qkv", which), part) for which, part in zip("qkv", np.split(array, 3))]
    return [(name, array.reshape(1) if array.ndim == 0 else array)]


def tower_tensors(model):
    """{GGUF's name: float32 array} of a tower and its projector."""
    config, out = model.config, {}
    vision = config.vision_config
    layers = getattr(vision, "num_hidden_layers", None) or vision.depth
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.MMPROJ, max(layers, 3))  # it also counts the matrices of a projector
    for name, number in model.model.state_dict().items():
        if name.startswith(("language_model.", "text_model.")) or name.endswith("position_ids"):
            continue
        for part, array in changed(config, name, number.float().numpy()):
            written = part if part.startswith("v.") else renamed(config, part)
            written = written or names.get_name(known_name(config.model_type, part), try_suffixes=(".weight", ".bias", *BOUNDS))
            if written is None:
                raise SystemExit(f"{name}: gguf-py has no name for this tensor")
            if written == "v.position_embd":
                written += ".weight"
            out[written] = array
    if vision.model_type == "pixtral":
        row = model.model.language_model.get_input_embeddings().weight[break_id(config)]
        out["v.token_embd.img_break"] = row.detach().float().numpy()
    return out


def break_id(config):
    """The id of [IMG_BREAK], which tiny vocabularies have after [IMG]."""
    return config.image_token_id + 1
