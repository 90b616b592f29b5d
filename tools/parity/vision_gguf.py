#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vision_gguf.py: random vision checkpoints as GGUF with an mmproj file, as llama.cpp's converter writes them, through cke.

    python tools/parity/vision_gguf.py gemma3|qwen3_vl|qwen3_5|all [--cke PATH] [--dir DIR] [--many N] [--seed N]

Each is a folder with the Hugging Face files, model.gguf and mmproj-model.gguf; what both files leave to llama.cpp has
its values. It is compared with transformers as in vision.py, MODEL being model.gguf.
"""

import argparse
import copy
import json
import sys
from pathlib import Path

import gguf
import numpy as np
import torch

import gguf_file
import gguf_metadata
import vision
import vision_families
import vision_more_families  # noqa: F401

# What no file says and llama.cpp fixes.
LEAST_ROWS, MOST_ROWS = 8, 4096  # of an image in Qwen's
LARGEST = 72  # pixels: so many rows need no large picture
GEMMA3_PATTERN, GEMMA3_LOCAL_THETA = 6, 10000.0


class TextPart:
    """The text model of a vision-language model, under the names that it has alone."""

    def __init__(self, model):
        self.config = copy.deepcopy(model.config.text_config)
        self.config.tie_word_embeddings = model.config.tie_word_embeddings
        self.state = {f"model.{name}": number for name, number in model.model.language_model.state_dict().items()}
        self.state["lm_head.weight"] = model.lm_head.weight.detach()
        if hasattr(model.config.vision_config, "deepstack_visual_indexes"):
            self.config.deepstack_layers = len(model.config.vision_config.deepstack_visual_indexes)

    def state_dict(self):
        return self.state


def family_of(name, pick):
    """A family in what llama.cpp can express of it."""
    family = vision_families.FAMILIES[name](pick)
    if name == "gemma3":
        text = family.config.text_config.to_dict()
        text |= {"num_hidden_layers": GEMMA3_PATTERN, "query_pre_attn_scalar": text["head_dim"],
                 "layer_types": ["sliding_attention"] * (GEMMA3_PATTERN - 1) + ["full_attention"]}
        text["rope_parameters"]["sliding_attention"]["rope_theta"] = GEMMA3_LOCAL_THETA
        family.config = type(family.config).from_dict(family.config.to_dict() | {"text_config": text})
    else:
        image = family.files["preprocessor_config.json"]
        block = (image["patch_size"] * image["merge_size"]) ** 2
        image["size"] = {"shortest_edge": LEAST_ROWS * block, "longest_edge": MOST_ROWS * block}
    family.renames = {}
    return family


def vocabulary(family):
    tokenizer = family.tokenizer
    by_id = {i: token for token, i in tokenizer.get_vocab().items()}
    tokens = [by_id[i] for i in range(len(by_id))]
    added = tokenizer.get_added_tokens_decoder()
    types = [gguf.TokenType.UNKNOWN if token == "<unk>" else gguf.TokenType.CONTROL if i in added else
             gguf.TokenType.UNUSED if token.startswith("<unused") else gguf.TokenType.NORMAL for i, token in enumerate(tokens)]
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    bos, eos = tokenizer.token_to_id("<bos>"), tokenizer.token_to_id(family.tokenizer_config["eos_token"])
    if bos is None:
        return gguf_metadata.Vocabulary("qwen2", tokens, types, [" ".join(pair) for pair in merges], None, eos, template=family.template)
    rank = {left + right: i for i, (left, right) in enumerate(merges)}
    scores = [-float(rank[token]) if token in rank else -1000.0 for token in tokens]  # what is joined first has the best score
    return gguf_metadata.Vocabulary("default", tokens, types, [], bos, eos, scores, family.template)


def tower_tensors(model):
    """{GGUF's name: float32 array} of a tower and its projector."""
    config, state, out = model.config, {}, {}
    for name, number in model.model.state_dict().items():
        if not name.startswith("language_model."):
            state[name] = number.float().numpy()
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.MMPROJ, config.vision_config.num_hidden_layers)
    for name, array in state.items():
        if name == "visual.patch_embed.proj.weight":
            out |= {"v.patch_embd.weight": array[:, :, 0], "v.patch_embd.weight.1": array[:, :, 1]}
            continue
        if name.startswith("visual.deepstack_merger_list."):
            index, part, suffix = name.removeprefix("visual.deepstack_merger_list.").split(".")
            layer = config.vision_config.deepstack_visual_indexes[int(index)]
            out[f"v.deepstack.{layer}.{part.removeprefix('linear_')}.{suffix}"] = array
            continue
        if name.startswith("visual.merger."):
            part, suffix = name.removeprefix("visual.merger.").split(".")
            out[{"norm": "v.post_ln", "linear_fc1": "mm.0", "linear_fc2": "mm.2"}[part] + f".{suffix}"] = array
            continue
        if name == "visual.patch_embed.proj.bias":
            out["v.patch_embd.bias"] = array
            continue
        if name.endswith("soft_emb_norm.weight"):
            array = array + 1
        known = name.replace("vision_tower.", "vision_tower.vision_model.").replace("_projection_weight", "_projection.weight")
        written = names.get_name(known, try_suffixes=(".weight", ".bias"))
        if written is None:
            raise SystemExit(f"{name}: gguf-py has no name for this tensor")
        out[written] = array
    return out


def write_mmproj(path, family, model, type_name):
    config, vision_config, kind = model.config, model.config.vision_config, gguf_metadata.TYPES[type_name][0]
    image = family.files["preprocessor_config.json"]
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type("mmproj")
    writer.add_name(f"random {config.model_type}")
    writer.add_file_type(gguf_metadata.TYPES[type_name][1])
    writer.add_clip_has_vision_encoder(True)
    writer.add_vision_projection_dim(config.text_config.hidden_size)
    writer.add_vision_patch_size(vision_config.patch_size)
    writer.add_vision_embedding_length(vision_config.hidden_size)
    writer.add_vision_feed_forward_length(vision_config.intermediate_size)
    writer.add_vision_block_count(vision_config.num_hidden_layers)
    writer.add_vision_head_count(vision_config.num_attention_heads)
    writer.add_vision_image_mean(image["image_mean"])
    writer.add_vision_image_std(image["image_std"])
    writer.add_vision_use_gelu(True)
    if config.model_type == "gemma3":
        writer.add_clip_projector_type(gguf.VisionProjectorType.GEMMA3)
        writer.add_vision_image_size(vision_config.image_size)
        writer.add_vision_attention_layernorm_eps(vision_config.layer_norm_eps)
        kernel = vision_config.image_size // vision_config.patch_size // int(image["image_seq_length"] ** 0.5)
        if kernel != 4:
            writer.add_vision_projector_scale_factor(kernel)
    else:
        writer.add_clip_projector_type(gguf.VisionProjectorType.QWEN3VL)
        writer.add_vision_image_size(int(vision_config.num_position_embeddings ** 0.5) * vision_config.patch_size)
        writer.add_vision_spatial_merge_size(vision_config.spatial_merge_size)
        writer.add_vision_attention_layernorm_eps(config.text_config.rms_norm_eps)
        taps = getattr(vision_config, "deepstack_visual_indexes", [])
        writer.add_vision_is_deepstack_layers([layer in taps for layer in range(vision_config.depth)])
    for name, array in tower_tensors(model).items():
        plain = array.ndim == 1 or name.startswith(("v.patch_embd", "v.position_embd"))
        encoded = array if plain else gguf.quants.quantize(np.ascontiguousarray(array), kind)
        writer.add_tensor(name, np.ascontiguousarray(encoded), raw_dtype=None if encoded.dtype == np.float32 else kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write(family, directory, type_name):
    """model.gguf and mmproj-model.gguf beside a checkpoint."""
    model = family.model.from_pretrained(directory, dtype=torch.float32).eval()
    gguf_file.write(directory / "model.gguf", TextPart(model), vocabulary(family), type_name)
    write_mmproj(directory / "mmproj-model.gguf", family, model, type_name)


def main():
    names = ("gemma3", "qwen3_vl", "qwen3_5")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=["all", *names])
    vision.add_arguments(parser)
    args = vision.checked(parser.parse_args())

    print(vision.HEADER)
    asked = names if args.family == "all" else [args.family]
    good = [compare(args, name, seed) for name in asked for seed in range(args.seed, args.seed + args.many)]
    return 0 if all(good) else 1


def compare(args, name, seed):
    pick = vision_families.Shapes(seed)
    made = vision.checkpoint(args, name, seed, family_of(name, pick), pick, LARGEST)
    write(made.family, made.directory, {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}[made.dtype])
    return vision.compare(args, made, [made.directory / "model.gguf", "--format", "f32"])


if __name__ == "__main__":
    sys.exit(main())
