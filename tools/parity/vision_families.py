# SPDX-License-Identifier: MIT
"""vision_families.py: small configs of the vision families at odd shapes, with their tokenizers and processors' files.

A family is a function of `pick`: pick(a, b, ...) is a for the fixtures, and any of them for a seed.
"""

from dataclasses import dataclass, field

import numpy as np
import transformers as hf

import vision_tokens

HALF = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
USUAL = {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "do_convert_rgb": True} | HALF
BICUBIC, BILINEAR = 3, 2


@dataclass
class Family:
    config: object
    model: type
    processor: str                               # its class
    files: dict                                  # JSON files beside the weights: {name: content}
    tokenizer: object
    tokenizer_config: dict
    template: str | None = None
    renames: dict = field(default_factory=dict)  # prefixes that save_pretrained writes: those of published files
    transposed: tuple = ()                       # endings of names of tensors that published files have the other way around
    never: tuple = ()                            # tokens that no greedy step may give, beside the one that ends a text
    changes: list = field(default_factory=list)  # {"part.key": value}: each must move the logits


class Shapes:
    def __init__(self, seed=None):
        self.rng = None if seed is None else np.random.default_rng(seed)

    def __call__(self, *values):
        return values[0] if self.rng is None else values[int(self.rng.integers(len(values)))]


def named(tokenizer, eos, **special):
    """A tokenizer_config.json; `special` are the tokens that processors ask for by name."""
    return {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": eos, "clean_up_tokenization_spaces": False,
            "extra_special_tokens": special, "model_max_length": 4096} | ({"bos_token": "<bos>", "pad_token": "<pad>", "unk_token": "<unk>"}
                                                                          if tokenizer.token_to_id("<bos>") is not None else {})


def decoder(pick, vocab, **more):
    """The part of a text config that most have."""
    heads = pick(2, 4, 6)
    return dict(vocab_size=vocab, hidden_size=pick(32, 40, 72), intermediate_size=pick(44, 56, 100), num_hidden_layers=pick(3, 4),
                num_attention_heads=heads, num_key_value_heads=heads // pick(2, 1), max_position_embeddings=512,
                bos_token_id=None, eos_token_id=None, pad_token_id=None) | more


def siglip_vision(pick, side, patch, **more):
    heads = pick(2, 3, 5)
    return dict(model_type="siglip_vision_model", hidden_size=heads * pick(20, 8, 24), intermediate_size=pick(56, 72, 108),
                num_hidden_layers=pick(2, 3), num_attention_heads=heads, image_size=side, patch_size=patch,
                layer_norm_eps=pick(1e-2, 1e-6)) | more


def siglip(pick):
    patch, vocab = pick(6, 4, 7), pick(73, 101)
    side, heads = patch * pick(5, 6, 3) + pick(2, 0, 3), pick(2, 3)
    vision = siglip_vision(pick, side, patch)
    text = dict(vocab_size=vocab, hidden_size=heads * 16, intermediate_size=pick(44, 60), num_hidden_layers=pick(2, 3),
                num_attention_heads=heads, max_position_embeddings=12, projection_size=vision["hidden_size"], layer_norm_eps=1e-3,
                pad_token_id=1, bos_token_id=None, eos_token_id=1)
    tokenizer = vision_tokens.words(vocab)
    files = {"preprocessor_config.json": USUAL | {"image_processor_type": "SiglipImageProcessor", "processor_class": "SiglipProcessor",
                                                  "resample": BICUBIC, "size": {"height": side, "width": side}}}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>",
              "model_input_names": ["input_ids"], "model_max_length": 12, "clean_up_tokenization_spaces": False}
    return Family(hf.SiglipConfig(text_config=text, vision_config=vision), hf.SiglipModel, "SiglipProcessor", files, tokenizer, config,
                  changes=[{"vision_config.hidden_act": "gelu"}, {"vision_config.layer_norm_eps": 1.0}])


def qwen_files(pick, patch, processor, both=False):
    image = USUAL | {"image_processor_type": "Qwen2VLImageProcessorFast", "processor_class": processor, "resample": BICUBIC,
                     "patch_size": patch, "temporal_patch_size": 2, "merge_size": 2,
                     "size": {"shortest_edge": 16 * patch * patch, "longest_edge": pick(56, 80) * patch * patch}}
    video = image | {"video_processor_type": "Qwen3VLVideoProcessor"}
    files = {"preprocessor_config.json": image, "video_preprocessor_config.json": {k: v for k, v in video.items() if k != "image_processor_type"}}
    return files | ({"processor_config.json": {"processor_class": processor, "image_processor": image}} if both else {})


QWEN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"]


def qwen_tokens(pick):
    tokenizer = vision_tokens.byte_level(QWEN, pick(83, 96, 131))
    ids = {f"{name}_token_id": tokenizer.token_to_id(f"<|{spelt}|>") for name, spelt in
           (("image", "image_pad"), ("video", "video_pad"), ("vision_start", "vision_start"), ("vision_end", "vision_end"))}
    return tokenizer, named(tokenizer, "<|im_end|>") | {"pad_token": "<|endoftext|>"}, ids, \
        vision_tokens.chatml("<|vision_start|><|image_pad|><|vision_end|>", "<|vision_start|><|video_pad|><|vision_end|>")


def qwen_vision(pick, **more):
    heads = pick(2, 3)
    return dict(depth=3, hidden_size=heads * pick(12, 16, 8), intermediate_size=pick(40, 60, 88), num_heads=heads, patch_size=pick(4, 6, 5),
                spatial_merge_size=2, temporal_patch_size=2) | more


def interleaved(head_dim, share=1.0):
    """A rope of three axes over the first `share` of a head."""
    third = int(head_dim * share) // 2 // 3
    return {"rope_type": "default", "rope_theta": 100.0, "mrope_interleaved": True,
            "mrope_section": [int(head_dim * share) // 2 - 2 * third, third, third]}


def qwen3_vl(pick, experts=False):
    tokenizer, config, ids, template = qwen_tokens(pick)
    head_dim = pick(20, 16, 24)
    text = decoder(pick, tokenizer.get_vocab_size(), head_dim=head_dim, rope_parameters=interleaved(head_dim))
    if experts:
        text |= dict(moe_intermediate_size=pick(20, 36), num_experts=pick(6, 5), num_experts_per_tok=2, decoder_sparse_step=1, mlp_only_layers=[1])
    vision = qwen_vision(pick, out_hidden_size=text["hidden_size"], num_position_embeddings=pick(25, 36, 16),
                         deepstack_visual_indexes=pick([0, 2], [0, 1], [1]))
    whole = hf.Qwen3VLMoeConfig if experts else hf.Qwen3VLConfig
    model = hf.Qwen3VLMoeForConditionalGeneration if experts else hf.Qwen3VLForConditionalGeneration
    return Family(whole(text_config=text, vision_config=vision, tie_word_embeddings=pick(True, False), **ids), model, "Qwen3VLProcessor",
                  qwen_files(pick, vision["patch_size"], "Qwen3VLProcessor", both=True), tokenizer, config, template, never=[QWEN[0], *QWEN[3:]],
                  transposed=pick((".experts.gate_up_proj", ".experts.down_proj"), ()) if experts else (),
                  changes=[{"vision_config.hidden_act": "gelu"}, {"vision_config.rope_parameters": {"rope_type": "axial", "rope_theta": 20.0}},
                           {"text_config.rope_parameters": interleaved(head_dim) | {"mrope_section": [head_dim // 2, 0, 0]}}])


def qwen3_vl_moe(pick):
    return qwen3_vl(pick, experts=True)


GEMMA3 = ["<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>", "<image_soft_token>"]


def gemma3(pick):
    tokenizer = vision_tokens.pieces(GEMMA3, pick(87, 101))
    rows, kernel, patch = pick(3, 2), pick(2, 3), pick(5, 4)
    side = rows * kernel * patch
    types = ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
    text = decoder(pick, tokenizer.get_vocab_size(), head_dim=pick(20, 16, 24), query_pre_attn_scalar=pick(17, 20), sliding_window=pick(6, 8, 20),
                   num_hidden_layers=4, layer_types=types, bos_token_id=2, eos_token_id=1, pad_token_id=0,
                   rope_parameters={"full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0},
                                    "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}})
    text["hidden_size"] = text["num_attention_heads"] * pick(16, 20, 12)
    vision = siglip_vision(pick, side, patch, vision_use_head=False)
    ids = {f"{name}_token_index": tokenizer.token_to_id(spelt)
           for name, spelt in (("boi", GEMMA3[2]), ("eoi", GEMMA3[3]), ("image", GEMMA3[4]))}
    files = {"preprocessor_config.json": USUAL | {"image_processor_type": "Gemma3ImageProcessor", "processor_class": "Gemma3Processor",
                                                  "do_convert_rgb": None, "do_pan_and_scan": None, "image_seq_length": rows * rows,
                                                  "resample": BILINEAR, "size": {"height": side, "width": side}},
             "processor_config.json": {"image_seq_length": rows * rows, "processor_class": "Gemma3Processor"}}
    config = named(tokenizer, "<eos>", boi_token=GEMMA3[2], eoi_token=GEMMA3[3], image_token=GEMMA3[4])
    whole = hf.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=rows * rows, **ids)
    return Family(whole, hf.Gemma3ForConditionalGeneration, "Gemma3Processor", files, tokenizer, config,
                  vision_tokens.turns(GEMMA3[0], GEMMA3[1], GEMMA3[2]), never=GEMMA3[1:],
                  renames=pick({"vision_tower.": "vision_tower.vision_model."}, {}),
                  changes=[{"vision_config.hidden_act": "gelu"}, {"vision_config.layer_norm_eps": 1.0}, {"text_config.sliding_window": 512}])


GEMMA4 = ["<|turn>", "<turn|>", "<|image>", "<image|>", "<|image|>", "<|audio>", "<audio|>", "<|audio|>", "<|video|>"]


def gemma4(pick, full=False):
    """The form of E2B: embeddings per layer, shared keys and values, clipped weights. `full`: images see themselves, and keys are values."""
    tokenizer = vision_tokens.pieces(GEMMA4, pick(91, 103))
    vocab, kernel, patch, heads = tokenizer.get_vocab_size(), pick(2, 3), pick(3, 4), pick(2, 3)
    types = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
    text = decoder(pick, vocab, head_dim=pick(20, 16), global_head_dim=pick(24, 32), num_hidden_layers=4, layer_types=types, sliding_window=pick(9, 30),
                   bos_token_id=2, eos_token_id=1, pad_token_id=0, final_logit_softcapping=pick(20.0, None), vocab_size_per_layer_input=vocab,
                   rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
                                    "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 500.0}})
    text |= (dict(hidden_size_per_layer_input=0, use_bidirectional_attention="vision", attention_k_eq_v=True, num_global_key_value_heads=1) if full
             else dict(hidden_size_per_layer_input=pick(6, 8), num_kv_shared_layers=2, use_double_wide_mlp=True, num_key_value_heads=1))
    vision = dict(hidden_size=pick(36, 28, 64), intermediate_size=pick(52, 68), num_hidden_layers=pick(2, 3), num_attention_heads=heads,
                  num_key_value_heads=heads, head_dim=pick(20, 12, 16), patch_size=patch, pooling_kernel_size=kernel, position_embedding_size=150,
                  use_clipped_linears=not full, standardize=full, rms_norm_eps=1e-3)
    ids = {f"{name}_token_{'index' if name == 'eoa' else 'id'}": tokenizer.token_to_id(spelt)
           for name, spelt in zip(("boi", "eoi", "image", "boa", "eoa", "audio", "video"), GEMMA4[2:])}
    image = {k: v for k, v in USUAL.items() if k not in HALF} | {
        "image_processor_type": "Gemma4ImageProcessor", "do_normalize": False, "image_mean": [0.0] * 3, "image_std": [1.0] * 3, "resample": BICUBIC,
        "patch_size": patch, "pooling_kernel_size": kernel, "max_soft_tokens": 70, "image_seq_length": 70}
    files = {"processor_config.json": {
        "processor_class": "Gemma4Processor", "image_seq_length": 70, "audio_seq_length": 750, "audio_ms_per_token": 40, "image_processor": image,
        "feature_extractor": {"feature_extractor_type": "Gemma4AudioFeatureExtractor"},
        "video_processor": {"video_processor_type": "Gemma4VideoProcessor", "patch_size": patch, "pooling_kernel_size": kernel, "max_soft_tokens": 70}}}
    config = named(tokenizer, "<eos>", boi_token=GEMMA4[2], eoi_token=GEMMA4[3], image_token=GEMMA4[4], boa_token=GEMMA4[5], eoa_token=GEMMA4[6],
                   audio_token=GEMMA4[7])
    whole = hf.Gemma4Config(text_config=text, vision_config=vision, audio_config=None, **ids)
    changes = [{"vision_config.rope_parameters": {"rope_type": "axial", "rope_theta": 5.0}}, {"text_config.sliding_window": 400}]
    return Family(whole, hf.Gemma4ForConditionalGeneration, "Gemma4Processor", files, tokenizer, config,
                  vision_tokens.turns(GEMMA4[0], GEMMA4[1], GEMMA4[4]), never=GEMMA4[1:],
                  changes=changes + ([{"text_config.use_bidirectional_attention": None}] if full else []))


def gemma4_full(pick):
    return gemma4(pick, full=True)


FAMILIES = {f.__name__: f for f in (siglip, qwen3_vl, qwen3_vl_moe, gemma3, gemma4, gemma4_full)}
