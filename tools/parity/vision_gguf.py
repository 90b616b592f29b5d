#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vision_gguf.py: random vision checkpoints as GGUF with an mmproj file, as llama.cpp's converter writes them, through cke.

    python tools/parity/vision_gguf.py FAMILY|all [--cke PATH] [--dir DIR] [--many N] [--seed N] [--type F32|F16|BF16|Q8_0]
                                       [--mtmd PYTHON]

Each is a folder with the Hugging Face files, model.gguf and mmproj-model.gguf; what both files leave to llama.cpp has
its values. It is compared with transformers as in vision.py; of families in MANY_ROWS the features alone are. With
--mtmd, a Python that has what mtmd.py needs, llama.cpp also gets the files, and a picture that nobody resizes.
"""

import argparse
import copy
import json
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import tokenizers
import torch

import gguf_file
import gguf_metadata
import vision
import vision_families
import vision_images
import vision_more_families  # noqa: F401
import vision_tokens
from vision_gguf_tensors import tower_tensors

# A file of pieces says no merges: " " and "is" then join, too.
vision_tokens.WORDS = [word for word in vision_tokens.WORDS if word not in ("the", "is")]

# What no file says and llama.cpp, or the published processor, fixes.
LEAST_ROWS, MOST_ROWS = 8, 4096  # of an image in Qwen's
GEMMA3_PATTERN, GEMMA3_LOCAL_THETA = 6, 10000.0
LFM2 = {"tile_size": 512, "min_tiles": 2, "max_tiles": 10, "min_image_tokens": 64, "max_image_tokens": 256, "max_pixels_tolerance": 2.0}
KEPT_COLUMNS = 5  # rows of features in a line of the picture that mtmd sees
SMALL, LARGE = 72, 160  # pixels: Qwen's rows of small pictures are few

FAMILIES = ("gemma3", "gemma4", "gemma4_full", "qwen2_5_vl", "qwen3_vl", "qwen3_5", "lfm2_vl", "idefics3", "smolvlm", "pixtral", "mistral3")
MANY_ROWS = ("gemma4", "gemma4_full", "lfm2_vl")  # up to 280 for an image: too slow for transformers in float64


class TextPart:
    """The text model of a vision-language model, under the names that it has alone."""
    def __init__(self, model):
        self.config = copy.deepcopy(model.config.text_config)
        self.config.tie_word_embeddings = model.config.tie_word_embeddings
        text = getattr(model.model, "language_model", None) or model.model.text_model
        self.state = {f"model.{name}": number for name, number in text.state_dict().items()}
        self.state["lm_head.weight"] = model.lm_head.weight.detach()
        if hasattr(model.config.vision_config, "deepstack_visual_indexes"):
            self.config.deepstack_layers = len(model.config.vision_config.deepstack_visual_indexes)

    def state_dict(self):
        return self.state


def with_parts(config, text=(), seen=()):
    """A config with other values in its parts."""
    all_of = config.to_dict()
    all_of["text_config"] |= dict(text)
    all_of["vision_config"] |= dict(seen)
    return type(config).from_dict(all_of)


def family_of(name, pick):
    """A family in what llama.cpp can express of it."""
    family = vision_families.FAMILIES[name](pick)
    config, files = family.config, family.files
    image = files.get("preprocessor_config.json")
    if name == "gemma3":
        rope = copy.deepcopy(config.text_config.rope_parameters)
        rope["sliding_attention"]["rope_theta"] = GEMMA3_LOCAL_THETA
        family.config = with_parts(config, {
            "num_hidden_layers": GEMMA3_PATTERN, "query_pre_attn_scalar": config.text_config.head_dim, "rope_parameters": rope,
            "layer_types": ["sliding_attention"] * (GEMMA3_PATTERN - 1) + ["full_attention"]})
        spelt = json.loads(family.tokenizer.to_str())
        spelt["model"]["merges"].append(["\n\n", "\n\n"])  # between two images; a file of pieces joins all that is a piece
        family.tokenizer = tokenizers.Tokenizer.from_str(json.dumps(spelt))
    elif name.startswith("qwen"):
        block = (image["patch_size"] * image["merge_size"]) ** 2
        image.pop("min_pixels", None), image.pop("max_pixels", None)
        image["size"] = {"shortest_edge": LEAST_ROWS * block, "longest_edge": MOST_ROWS * block}
        if "processor_config.json" in files:
            files["processor_config.json"]["image_processor"]["size"] = image["size"]
        if name == "qwen2_5_vl":
            family.config = with_parts(config, seen={"window_size": 112, "fullatt_block_indexes": [1]})
        if name == "qwen3_5":  # a file has one head size for linear attention
            family.config = with_parts(config, {"linear_value_head_dim": config.text_config.linear_key_head_dim})
    elif name.startswith("gemma4"):
        family.config = with_parts(config, seen={"rms_norm_eps": 1e-6, "pooling_kernel_size": 3})
        for part in ("image_processor", "video_processor"):
            files["processor_config.json"][part] |= {"pooling_kernel_size": 3, "max_soft_tokens": 280}
        files["processor_config.json"]["image_processor"]["image_seq_length"] = files["processor_config.json"]["image_seq_length"] = 280
    elif name == "lfm2_vl":
        image |= LFM2
        image["encoder_patch_size"] = 8  # a divisor of the tile's side
        family.config = with_parts(config, seen={"patch_size": 8})
    elif name in ("pixtral", "mistral3"):
        seen = {"hidden_act": "silu", "rope_parameters": {"rope_type": "axial", "rope_theta": 10000.0}}
        family.config = with_parts(config, {"rms_norm_eps": 1e-5}, seen)
        image["size"] = {"longest_edge": config.vision_config.image_size}
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
    if "ByteLevel" in tokenizer.to_str():
        return gguf_metadata.Vocabulary("qwen2", tokens, types, [" ".join(pair) for pair in merges], bos, eos, template=family.template)
    rank = {left + right: i for i, (left, right) in enumerate(merges)}
    scores = [-float(rank[token]) if token in rank else -1000.0 for token in tokens]  # what is joined first has the best score
    return gguf_metadata.Vocabulary("default", tokens, types, [], bos, eos, scores, family.template)


def write_own_sizes(writer, config, image):
    """What the converter writes for one family alone, and where tiny models differ from published ones what llama.cpp reads."""
    vision, kind = config.vision_config, config.model_type
    projector = gguf.VisionProjectorType
    if kind == "gemma3":
        writer.add_vision_image_size(vision.image_size)
        writer.add_vision_attention_layernorm_eps(vision.layer_norm_eps)
        kernel = vision.image_size // vision.patch_size // int(config.mm_tokens_per_image ** 0.5)
        if kernel != 4:
            writer.add_vision_projector_scale_factor(kernel)
        return projector.GEMMA3
    if kind == "gemma4":
        writer.add_vision_image_size(224)  # without a meaning
        writer.add_vision_attention_layernorm_eps(vision.rms_norm_eps)
        if vision.pooling_kernel_size != 3:
            writer.add_vision_projector_scale_factor(vision.pooling_kernel_size)
        if vision.head_dim * vision.num_attention_heads != vision.hidden_size:
            writer.add_uint32("clip.vision.attention.head_dim", vision.head_dim)
        writer.add_clip_vision_projector_type(projector.GEMMA4V)
        return None
    if kind == "qwen2_5_vl":
        writer.add_vision_image_size(560)  # without a meaning
        writer.add_vision_attention_layernorm_eps(1e-6)
        writer.add_vision_n_wa_pattern(vision.fullatt_block_indexes[0] + 1)
        if vision.window_size != 112:
            writer.add_uint32("clip.vision.window_size", vision.window_size)
        return projector.QWEN25VL
    if kind.startswith("qwen3"):
        writer.add_vision_image_size(int(vision.num_position_embeddings ** 0.5) * vision.patch_size)
        writer.add_vision_spatial_merge_size(vision.spatial_merge_size)
        writer.add_vision_attention_layernorm_eps(config.text_config.rms_norm_eps)
        taps = getattr(vision, "deepstack_visual_indexes", [])
        writer.add_vision_is_deepstack_layers([layer in taps for layer in range(vision.depth)])
        return projector.QWEN3VL
    if kind == "lfm2_vl":
        writer.add_vision_image_size(256)  # without a meaning
        writer.add_vision_attention_layernorm_eps(vision.layer_norm_eps)
        writer.add_vision_projector_scale_factor(config.downsample_factor)
        return projector.LFM2
    if kind in ("idefics3", "smolvlm"):
        writer.add_vision_image_size(vision.image_size)
        writer.add_vision_attention_layernorm_eps(vision.layer_norm_eps)
        writer.add_vision_projector_scale_factor(config.scale_factor)
        writer.add_uint32("clip.vision.preproc_image_size", image["size"]["longest_edge"])
        return projector.IDEFICS3
    writer.add_vision_image_size(vision.image_size)
    # The converter writes the tower's own number; llama.cpp uses it for the norm before Mistral 3's merger, too.
    writer.add_vision_attention_layernorm_eps(config.text_config.rms_norm_eps if kind == "mistral3" else 1e-5)
    if kind == "mistral3":
        writer.add_vision_spatial_merge_size(config.spatial_merge_size)
    if vision.rope_parameters["rope_theta"] != 10000.0:
        writer.add_float32("clip.rope.freq_base", vision.rope_parameters["rope_theta"])
    return projector.PIXTRAL


def write_mmproj(path, model, image, type_name, for_mtmd=False):
    """`image`: the processor's config. `for_mtmd`: says also what the converter leaves out and llama.cpp reads."""
    config, vision, (kind, file_type) = model.config, model.config.vision_config, gguf_metadata.TYPES[type_name]
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type("mmproj")
    writer.add_name(f"random {config.model_type}")
    writer.add_file_type(file_type)
    writer.add_clip_has_vision_encoder(True)
    writer.add_vision_projection_dim(config.text_config.hidden_size)
    writer.add_vision_patch_size(vision.patch_size)
    writer.add_vision_embedding_length(vision.hidden_size)
    writer.add_vision_feed_forward_length(vision.intermediate_size)
    writer.add_vision_block_count(getattr(vision, "num_hidden_layers", None) or vision.depth)
    writer.add_vision_head_count(getattr(vision, "num_attention_heads", None) or vision.num_heads)
    writer.add_vision_image_mean(image["image_mean"])
    writer.add_vision_image_std(image["image_std"])
    if projector := write_own_sizes(writer, config, image):
        writer.add_clip_projector_type(projector)
        silu = projector in (gguf.VisionProjectorType.QWEN25VL, gguf.VisionProjectorType.PIXTRAL)
        (writer.add_vision_use_silu if silu else writer.add_vision_use_gelu)(True)
    elif for_mtmd:
        writer.add_vision_use_gelu(True)  # without it llama.cpp computes Gemma 4's tower with the quick form of GELU
    for name, array in tower_tensors(model).items():
        # As the converter: vectors and tables stay float32, and Gemma 3's projection is float16 whatever the rest is.
        plain = array.ndim == 1 or name.startswith(("v.patch_embd", "v.position_embd", "mm.patch_merger"))
        half = config.model_type == "gemma3" and name == "mm.input_projection.weight"
        block = gguf.GGML_QUANT_SIZES[kind][0]
        to = gguf.GGMLQuantizationType.F32 if plain else gguf.GGMLQuantizationType.F16 if half or array.shape[-1] % block else kind
        writer.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(array), to), raw_dtype=to)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def image_processor_of(files):
    return files.get("preprocessor_config.json") or files["processor_config.json"]["image_processor"]


def write(family, directory, type_name, for_mtmd=False):
    """model.gguf and mmproj-model.gguf beside a checkpoint."""
    model = family.model.from_pretrained(directory, dtype=torch.float32).eval()
    gguf_file.write(directory / "model.gguf", TextPart(model), vocabulary(family), type_name)
    write_mmproj(directory / "mmproj-model.gguf", model, image_processor_of(family.files), type_name, for_mtmd)


def size_to_keep(name, config, image):
    """Width and height of a picture that neither cke nor llama.cpp resizes."""
    vision = config.vision_config
    if name == "gemma3":
        return vision.image_size, vision.image_size
    if name in ("idefics3", "smolvlm"):
        return image["size"]["longest_edge"], image["size"]["longest_edge"]
    if name == "lfm2_vl":  # 80 rows, within 64 and 256
        return 10 * vision.patch_size * config.downsample_factor, 8 * vision.patch_size * config.downsample_factor
    if name.startswith("gemma4"):  # 280 rows
        return 20 * 3 * vision.patch_size, 14 * 3 * vision.patch_size
    side = vision.patch_size * (getattr(vision, "spatial_merge_size", None) or getattr(config, "spatial_merge_size", 1))
    return KEPT_COLUMNS * side, 4 * side


def beside_llama(args, name, made):
    """Whether llama.cpp finds the same rows and greedy ids; prints both results to stderr."""
    config, model = made.family.config, made.directory / "model.gguf"
    picture = made.directory / "kept.png"
    vision_images.picture(*size_to_keep(name, config, image_processor_of(made.family.files)), seed=7).save(picture)
    placeholder = getattr(config, "image_token_id", None) or config.image_token_index
    line = ["--line", str(KEPT_COLUMNS), str(made.family.tokenizer.token_to_id("[IMG_BREAK]"))] if name in ("pixtral", "mistral3") else []
    # In llama.cpp the rows of an image see all of it in every Gemma 4; in transformers not in those with per-layer inputs.
    rows = ["--rows"] if getattr(config.text_config, "hidden_size_per_layer_input", 0) else []
    done = subprocess.run([args.mtmd, Path(__file__).with_name("mtmd.py"), model, made.directory / "mmproj-model.gguf", "--image", picture,
                           "--placeholder", str(placeholder), *line, *rows, "--cke", args.cke], capture_output=True, text=True)
    print(f"{made.name} beside mtmd: {'; '.join((done.stdout or done.stderr).strip().splitlines()[-3:])}", file=sys.stderr, flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=["all", *FAMILIES])
    parser.add_argument("--mtmd", type=Path, metavar="PYTHON", help="compare with llama.cpp's mtmd, too")
    parser.add_argument("--type", choices=list(gguf_metadata.TYPES), help="of matrices (the checkpoint's)")
    vision.add_arguments(parser)
    args = vision.checked(parser.parse_args())

    print(vision.HEADER)
    asked = FAMILIES if args.family == "all" else [args.family]
    good = [compare(args, name, seed) for name in asked for seed in range(args.seed, args.seed + args.many)]
    return 0 if all(good) else 1


def compare(args, name, seed):
    pick = vision_families.Shapes(seed)
    most = SMALL if name in ("qwen3_vl", "qwen3_5") else LARGE
    made = vision.checkpoint(args, name, seed, family_of(name, pick), pick, most, prompts=name not in MANY_ROWS)
    stored = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}[made.dtype]
    write(made.family, made.directory, args.type or stored, for_mtmd=args.mtmd is not None)
    # Videos are not for GGUF: an mmproj file says nothing of them.
    made.cases = [case for case in made.cases if "frames" not in case[0]]
    agreed = beside_llama(args, name, made) if args.mtmd else True
    return vision.compare(args, made, [made.directory / "model.gguf", "--format", "f32"]) and agreed


if __name__ == "__main__":
    sys.exit(main())
