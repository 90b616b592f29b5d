# SPDX-License-Identifier: MIT
"""checkpoint.py: the model before it can see, and the Hugging Face directory that it is kept in.

Its text part begins with the weights of assets/tiny, whose ids stay what they are; the tokens of images
come after them. Qwen3-VL's rope of three axes is the plain one for text, so it speaks as that model does.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

from initial import set_initial

HERE = Path(__file__).resolve().parent
TINY = HERE.parents[1] / "tiny"
VISION = ("<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>")
PATCH, MERGE, FRAMES = 8, 2, 2
CONTEXT = 2048
LEAST_PIXELS, MOST_PIXELS = 8192, 12288  # images become 32 to 48 rows
TOWER = {
    "deepstack_visual_indexes": [1],
    "depth": 4,
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_size": 48,
    "in_channels": 3,
    "initializer_range": 0.02,
    "intermediate_size": 144,
    "model_type": "qwen3_vl",
    "num_heads": 3,
    "num_position_embeddings": 64,
    "out_hidden_size": 128,
    "patch_size": PATCH,
    "spatial_merge_size": MERGE,
    "temporal_patch_size": FRAMES,
}


def tokenizer() -> Tokenizer:
    """That of assets/tiny, and five tokens."""
    tokens = Tokenizer.from_file(str(TINY / "tokenizer.json"))
    tokens.add_tokens([AddedToken(t, special=True, normalized=False) for t in VISION])
    return tokens


def config_of(tokens: Tokenizer) -> dict:
    """config.json, in the spelling in which Qwen3-VL is published."""
    tiny = json.loads((TINY / "config.json").read_text())
    same = (
        "attention_bias attention_dropout bos_token_id eos_token_id head_dim hidden_act hidden_size initializer_range"
        " intermediate_size num_attention_heads num_hidden_layers num_key_value_heads rms_norm_eps rope_theta use_cache"
    )
    text = {key: tiny[key] for key in same.split()}
    text |= {
        "dtype": "bfloat16",
        "max_position_embeddings": CONTEXT,
        "model_type": "qwen3_vl_text",
        "rope_scaling": {"mrope_interleaved": True, "mrope_section": [6, 5, 5], "rope_type": "default"},
        "vocab_size": tokens.get_vocab_size(),
    }
    start, end, _, image, video = (tokens.token_to_id(t) for t in VISION)
    return {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "image_token_id": image,
        "model_type": "qwen3_vl",
        "text_config": dict(sorted(text.items())),
        "tie_word_embeddings": True,
        "transformers_version": "4.57.0",
        "video_token_id": video,
        "vision_config": TOWER,
        "vision_end_token_id": end,
        "vision_start_token_id": start,
    }


def processor(video: bool) -> dict:
    which = "video_processor_type" if video else "image_processor_type"
    return {
        "size": {"longest_edge": MOST_PIXELS, "shortest_edge": LEAST_PIXELS},
        "patch_size": PATCH,
        "temporal_patch_size": FRAMES,
        "merge_size": MERGE,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "processor_class": "Qwen3VLProcessor",
        which: "Qwen3VLVideoProcessor" if video else "Qwen2VLImageProcessorFast",
    }


def write_files(out: Path) -> None:
    """All but the weights."""
    out.mkdir(parents=True, exist_ok=True)
    tokens = tokenizer()
    about = json.loads((TINY / "tokenizer_config.json").read_text())
    for token in VISION:
        about["added_tokens_decoder"][str(tokens.token_to_id(token))] = {
            "content": token,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": True,
        }
    about["additional_special_tokens"] += VISION
    generation = json.loads((TINY / "generation_config.json").read_text())
    generation |= {"temperature": 0.7, "top_p": 0.8, "transformers_version": "4.57.0"}
    files = {
        "config": config_of(tokens),
        "generation_config": generation,
        "preprocessor_config": processor(video=False),
        "tokenizer_config": about,
        "video_preprocessor_config": processor(video=True),
    }
    for name, data in files.items():
        (out / f"{name}.json").write_text(json.dumps(data, indent=2) + "\n")
    tokens.save(str(out / "tokenizer.json"))
    template = HERE.parent / "chat_template.jinja"
    if template.parent != out.resolve() and template.exists():
        shutil.copy(template, out)


def write_weights(out: Path, model: Qwen3VLForConditionalGeneration) -> None:
    """In BF16; the output layer is tied to the embedding."""
    state = {n: t.detach().to(torch.bfloat16).contiguous() for n, t in model.state_dict().items()}
    state.pop("lm_head.weight", None)
    part = out / "model.safetensors.part"
    save_file(state, part, metadata={"format": "pt"})
    part.chmod(0o644)
    part.replace(out / "model.safetensors")


@torch.no_grad()
def initial(seed: int = 0) -> Qwen3VLForConditionalGeneration:
    """assets/tiny with a tower of random weights."""
    torch.manual_seed(seed)
    tokens = tokenizer()
    config = Qwen3VLConfig.from_dict(config_of(tokens))
    model = Qwen3VLForConditionalGeneration(config).float()
    tiny = load_file(TINY / "model.safetensors")
    state = {n.replace("model.", "model.language_model.", 1): t.float() for n, t in tiny.items()}
    table = state.pop("model.language_model.embed_tokens.weight")
    left_out = model.load_state_dict(state, strict=False).missing_keys
    assert not [n for n in left_out if "language_model" in n and "embed_tokens" not in n], left_out
    embedding = model.model.language_model.embed_tokens.weight
    embedding[: len(table)] = table
    new = torch.randn(len(embedding) - len(table), table.shape[1])
    embedding[len(table) :] = table.mean(0) + 0.3 * table.std() * new
    set_initial(model.model.visual)
    return model


def load(directory: Path) -> Qwen3VLForConditionalGeneration:
    return Qwen3VLForConditionalGeneration.from_pretrained(directory, dtype=torch.float32, attn_implementation="sdpa")
