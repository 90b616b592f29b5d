# SPDX-License-Identifier: MIT
"""vision_more_families.py: vision families whose towers differ in windows, tiles or positions. See vision_families.py."""

import transformers as hf

import vision_tokens
from vision_families import (BICUBIC, BILINEAR, FAMILIES, HALF, QWEN, USUAL, Family, decoder, interleaved, named, qwen_files, qwen_tokens,
                             qwen_vision, siglip_vision)

LANCZOS = 1
CLIP = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}


def qwen2_5_vl(pick):
    """Windows of 2 x 2 merged blocks, so that the last ones of a row and a column are partial."""
    tokenizer, config, ids, template = qwen_tokens(pick)
    head_dim = pick(20, 16, 24)
    text = decoder(pick, tokenizer.get_vocab_size())
    half, third = head_dim // 2, head_dim // 2 // 3
    rope = {"rope_type": "default", "rope_theta": 100.0, "mrope_section": [half - 2 * third, third, third]}
    text |= dict(hidden_size=text["num_attention_heads"] * head_dim, rope_parameters=rope)
    vision = qwen_vision(pick, out_hidden_size=text["hidden_size"], fullatt_block_indexes=pick([1], [0, 2]))
    vision["window_size"] = 2 * vision["spatial_merge_size"] * vision["patch_size"] * pick(1, 2)
    vision["tokens_per_second"] = pick(4, 2, 1)
    files = qwen_files(pick, vision["patch_size"], "Qwen2_5_VLProcessor")
    files["preprocessor_config.json"] |= CLIP
    size = files["preprocessor_config.json"].pop("size")
    files["preprocessor_config.json"] |= {"min_pixels": size["shortest_edge"], "max_pixels": size["longest_edge"]}
    files["video_preprocessor_config.json"]["video_processor_type"] = "Qwen2VLVideoProcessor"
    whole = hf.Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=pick(False, True), **ids)
    return Family(whole, hf.Qwen2_5_VLForConditionalGeneration, "Qwen2_5_VLProcessor", files, tokenizer, config, template,
                  never=[QWEN[0], *QWEN[3:]],
                  changes=[{"vision_config.window_size": 400}, {"vision_config.fullatt_block_indexes": []},
                           {"text_config.rope_parameters": rope | {"mrope_section": [half, 0, 0]}}])


def qwen3_5(pick, experts=False):
    tokenizer, config, ids, template = qwen_tokens(pick)
    heads, keys = pick(2, 4), pick(2, 1)
    text = decoder(pick, tokenizer.get_vocab_size(), num_hidden_layers=3, head_dim=pick(32, 48), num_attention_heads=heads,
                   num_key_value_heads=heads // 2, linear_num_key_heads=keys, linear_num_value_heads=2 * keys, linear_key_head_dim=pick(12, 16),
                   linear_value_head_dim=pick(12, 16), layer_types=["linear_attention", "full_attention", "linear_attention"])
    text["rope_parameters"] = interleaved(text["head_dim"], share=0.5) | {"partial_rotary_factor": 0.5}
    vision = qwen_vision(pick, out_hidden_size=text["hidden_size"], num_position_embeddings=pick(36, 25))
    whole, model = (hf.Qwen3_5Config, hf.Qwen3_5ForConditionalGeneration)
    if experts:
        whole, model = hf.Qwen3_5MoeConfig, hf.Qwen3_5MoeForConditionalGeneration
        text |= dict(moe_intermediate_size=pick(20, 36), shared_expert_intermediate_size=pick(28, 12), num_experts=pick(6, 5), num_experts_per_tok=2)
    whole = whole(text_config=text, vision_config=vision, tie_word_embeddings=pick(False, True), **ids)
    return Family(whole, model, "Qwen3VLProcessor", qwen_files(pick, vision["patch_size"], "Qwen3VLProcessor"),
                  tokenizer, config, template, never=[QWEN[0], *QWEN[3:]],
                  changes=[{"vision_config.hidden_act": "gelu"},
                           {"text_config.rope_parameters": text["rope_parameters"] | {"mrope_section": [text["head_dim"] // 4, 0, 0]}}])


def qwen3_5_moe(pick):
    return qwen3_5(pick, experts=True)


LFM2 = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<|image_start|>", "<|image_end|>", "<|img_thumbnail|>",
        *(f"<|img_row_{r}_col_{c}|>" for r in range(1, 4) for c in range(1, 4))]


def lfm2_vl(pick):
    """Small pictures are one tile, larger ones several and a thumbnail."""
    tokenizer = vision_tokens.byte_level(LFM2, pick(97, 111), vision_tokens.LLAMA3)
    text = decoder(pick, tokenizer.get_vocab_size(), num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"],
                   block_auto_adjust_ff_dim=False, norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 100.0})
    text |= dict(hidden_size=text["num_attention_heads"] * pick(16, 20))
    patch, tile = pick(4, 5), pick(4, 6)
    vision = siglip_vision(pick, None, patch, num_patches=pick(25, 16), model_type="siglip2_vision_model", vision_use_head=False)
    del vision["image_size"]
    files = {"preprocessor_config.json": USUAL | {
        "image_processor_type": "Lfm2VlImageProcessorFast", "processor_class": "Lfm2VlProcessor", "resample": BILINEAR, "downsample_factor": 2,
        "do_image_splitting": True, "min_tiles": 2, "max_tiles": 3, "use_thumbnail": True, "min_image_tokens": 4, "max_image_tokens": pick(9, 12),
        "encoder_patch_size": patch, "tile_size": tile * patch, "max_pixels_tolerance": pick(1.5, 2.0), "do_pad": True}}
    whole = hf.Lfm2VlConfig(text_config=text | {"model_type": "lfm2"}, vision_config=vision, image_token_id=tokenizer.token_to_id("<image>"),
                            projector_hidden_size=pick(52, 60), tie_word_embeddings=pick(True, False), projector_use_layernorm=pick(True, False))
    config = named(tokenizer, "<|im_end|>", image_token="<image>", image_start_token=LFM2[4], image_end_token=LFM2[5], image_thumbnail_token=LFM2[6])
    return Family(whole, hf.Lfm2VlForConditionalGeneration, "Lfm2VlProcessor", files, tokenizer, config | {"pad_token": LFM2[0]},
                  vision_tokens.chatml("<image>"), never=[LFM2[0], *LFM2[3:]],
                  changes=[{"projector_hidden_act": "gelu_pytorch_tanh"}, {"vision_config.layer_norm_eps": 1.0}])


SMOLVLM = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", "<video>",
           *(f"<row_{r}_col_{c}>" for r in range(1, 4) for c in range(1, 4))]


def smolvlm(pick, name="smolvlm"):
    """Pictures cut into tiles, and the whole one after them."""
    tokenizer = vision_tokens.byte_level(SMOLVLM, pick(101, 113), vision_tokens.LLAMA3)
    side, patch, factor = pick(4, 6), pick(4, 5), 2
    tile, rows = side * patch, (side // factor) ** 2
    text = decoder(pick, tokenizer.get_vocab_size(), rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 100.0})
    text |= dict(hidden_size=text["num_attention_heads"] * pick(16, 20), model_type="llama")
    vision = siglip_vision(pick, tile, patch)
    del vision["model_type"]
    whole, model, kind = {"smolvlm": (hf.SmolVLMConfig, hf.SmolVLMForConditionalGeneration, "SmolVLM"),
                          "idefics3": (hf.Idefics3Config, hf.Idefics3ForConditionalGeneration, "Idefics3")}[name]
    files = {"preprocessor_config.json": USUAL | {
        "image_processor_type": f"{kind}ImageProcessor", "processor_class": f"{kind}Processor", "resample": LANCZOS, "do_image_splitting": True,
        "do_pad": True, "size": {"longest_edge": 2 * tile}, "max_image_size": {"longest_edge": tile}},
        "processor_config.json": {"image_seq_len": rows, "processor_class": f"{kind}Processor"}}
    if name == "smolvlm":
        files["video_preprocessor_config.json"] = {"video_processor_type": "SmolVLMVideoProcessor", "size": {"longest_edge": 2 * tile},
                                                   "max_image_size": {"longest_edge": tile}} | HALF
    config = named(tokenizer, "<end_of_utterance>", image_token="<image>", fake_image_token=SMOLVLM[3], global_image_token=SMOLVLM[6],
                   end_of_utterance_token=SMOLVLM[5], video_token=SMOLVLM[7])
    return Family(whole(text_config=text, vision_config=vision, scale_factor=factor, image_token_id=tokenizer.token_to_id("<image>"),
                        pad_token_id=0, tie_word_embeddings=pick(False, True)),
                  model, f"{kind}Processor", files, tokenizer, config | {"pad_token": SMOLVLM[0]}, vision_tokens.SMOLVLM,
                  never=[*SMOLVLM[:5], *SMOLVLM[6:]], changes=[{"vision_config.layer_norm_eps": 1.0}])


def idefics3(pick):
    return smolvlm(pick, "idefics3")


PIXTRAL = ["[INST]", "[/INST]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"]


def pixtral(pick, merge=1):
    """A Llava with Pixtral's tower, or (merge 2) Mistral 3."""
    tokenizer = vision_tokens.byte_level(["<unk>", "<bos>", "<eos>", "<pad>", *PIXTRAL], pick(89, 107), vision_tokens.LLAMA3, bos="<bos>")
    patch, heads = pick(6, 4, 5), pick(3, 2)
    text = decoder(pick, tokenizer.get_vocab_size(), head_dim=pick(20, 16), rms_norm_eps=1e-3, model_type="mistral", sliding_window=None,
                   rope_parameters={"rope_type": "default", "rope_theta": 100.0})
    vision = dict(model_type="pixtral", hidden_size=heads * pick(12, 16, 20), intermediate_size=pick(44, 60), num_hidden_layers=pick(2, 3),
                  num_attention_heads=heads, image_size=10 * patch, patch_size=patch, hidden_act=pick("silu", "gelu"),
                  rope_parameters={"rope_type": "axial", "rope_theta": pick(100.0, 10000.0)})
    files = {"preprocessor_config.json": USUAL | CLIP | {
        "image_processor_type": "PixtralImageProcessor", "processor_class": "PixtralProcessor", "resample": BICUBIC,
        "patch_size": {"height": patch, "width": patch}, "size": {"longest_edge": pick(5, 6) * patch * merge}, "do_pad": True},
        "processor_config.json": {"processor_class": "PixtralProcessor", "patch_size": patch, "spatial_merge_size": merge, "image_token": "[IMG]",
                                  "image_break_token": "[IMG_BREAK]", "image_end_token": "[IMG_END]"}}
    common = dict(text_config=text, vision_config=vision, image_token_index=tokenizer.token_to_id("[IMG]"), vision_feature_layer=-1)
    whole = (hf.LlavaConfig(**common, vision_feature_select_strategy="full", image_seq_length=1, tie_word_embeddings=pick(False, True)) if merge == 1
             else hf.Mistral3Config(**common, spatial_merge_size=merge, multimodal_projector_bias=pick(False, True), tie_word_embeddings=False))
    return Family(whole, hf.LlavaForConditionalGeneration if merge == 1 else hf.Mistral3ForConditionalGeneration, "PixtralProcessor", files,
                  tokenizer, named(tokenizer, "<eos>"), vision_tokens.PIXTRAL, never=["<unk>", "<bos>", "<pad>", *PIXTRAL],
                  changes=[{"projector_hidden_act": "gelu_pytorch_tanh"}, {"vision_config.rope_parameters": {"rope_type": "axial", "rope_theta": 9.0}}])


def mistral3(pick):
    return pixtral(pick, merge=2)


FAMILIES |= {f.__name__: f for f in (qwen2_5_vl, qwen3_5, qwen3_5_moe, lfm2_vl, smolvlm, idefics3, pixtral, mistral3)}
