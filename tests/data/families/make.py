# SPDX-License-Identifier: MIT
"""make.py: writes a tiny random checkpoint of each family, as a directory and as GGUF.

    python tests/data/families/make.py [FAMILY...]      (needs torch, transformers 5 and gguf)

NAME/        config.json, model.safetensors (bfloat16), and what transformers makes of the same numbers: ids.json,
             logits.npy (computed in float64, stored as float32), greedy.json (float32)
             MIXERS have a longer prompt too, for chunks of 64: long.json with its ids, long.npy with the logits of ROWS
NAME.gguf    the same numbers, written the way llama.cpp's converter does (BF16, norms F32)

Every parameter is random, norms and biases too. Windows and patterns of layers begin inside the prompt. A
feature whose absence would not move the logits is refused here: see `matters`.
"""

import json
import shutil
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "parity"))
import checkpoints  # noqa: E402
import gguf_file  # noqa: E402
import gguf_metadata  # noqa: E402

VOCAB, PROMPT, NEW = 288, 24, 16
MIXERS = ("qwen3_5_text", "mamba2", "lfm2", "deepseek_v3")
ROWS = (0, 62, 63, 64)  # after 1, 63, 64 and 65 ids
SMALLEST_GAP = 0.02  # between the best and the second logit of every greedy step
SMALLEST_MOVE = 0.05  # of a logit, when a feature is taken away

# {family: (config, changes that must move the logits)}
SHAPE = dict(vocab_size=VOCAB, hidden_size=48, intermediate_size=56, num_hidden_layers=3, num_attention_heads=6,
             num_key_value_heads=2, max_position_embeddings=128, rms_norm_eps=1e-5, bos_token_id=0, eos_token_id=2,
             pad_token_id=1, tie_word_embeddings=False)
ROPE = {"rope_type": "default", "rope_theta": 5000.0}
SU = dict(rope_type="longrope", rope_theta=5000.0, short_factor=[1.0, 1.1, 1.2], long_factor=[1.0, 2.5, 4.0])
MODEL_TYPES = {"gemma4_experts": "gemma4_text", "granitemoehybrid_dense": "granitemoehybrid", **dict.fromkeys(("nemotron_h_experts", "nemotron_h_latent", "nemotron_h_biased"), "nemotron_h")}  # where a family has two checkpoints
GEMMA = dict(head_dim=12, query_pre_attn_scalar=12, sliding_window=7, tie_word_embeddings=True)
SLIDING, FULL, MIXER = ["sliding_attention"], ["full_attention"], ["linear_attention"]


def ropes(theta, part, local):
    return {"full_attention": {"rope_type": "proportional", "rope_theta": theta, "partial_rotary_factor": part},
            "sliding_attention": {"rope_type": "default", "rope_theta": local}}


MROPE = ROPE | {"partial_rotary_factor": 0.25, "mrope_section": [1, 1, 0], "mrope_interleaved": True}
DELTA = dict(linear_key_head_dim=20, linear_value_head_dim=20, linear_num_key_heads=2, linear_num_value_heads=6, linear_conv_kernel_dim=4,
             rope_parameters=MROPE)
EXPERTS = dict(moe_intermediate_size=24, shared_expert_intermediate_size=40, num_experts=6, num_experts_per_tok=3, norm_topk_prob=True)
YARN = dict(rope_type="yarn", rope_theta=5000.0, factor=4.0, original_max_position_embeddings=16)
MLA = dict(num_key_value_heads=6, num_hidden_layers=3, kv_lora_rank=20, qk_rope_head_dim=8, qk_nope_head_dim=12, v_head_dim=10,
           moe_intermediate_size=20, n_routed_experts=6, num_experts_per_tok=2, first_k_dense_replace=1, n_group=3, topk_group=2,
           routed_scaling_factor=1.7)
NONE = object()  # a key that the config does not have
NOT_IN_MAMBA = dict.fromkeys(("intermediate_size", "num_attention_heads", "num_key_value_heads", "max_position_embeddings", "rms_norm_eps"), NONE)
GRANITE4 = dict(mamba_n_heads=8, mamba_d_head=12, mamba_d_state=20, mamba_n_groups=2, mamba_chunk_size=8, shared_intermediate_size=40, embedding_multiplier=3.0,
                attention_multiplier=0.5, residual_multiplier=0.4, logits_scaling=1.5, attention_bias=False, rope_parameters=ROPE)
# time_step_min: transformers takes it for a limit, but only in passes of several tokens; no other reader does.
RELU_EXPERTS = dict(n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=20, moe_shared_expert_intermediate_size=28, routed_scaling_factor=1.7)
NEMOTRON = dict(num_hidden_layers=NONE, rms_norm_eps=NONE, head_dim=12, mamba_num_heads=6, mamba_head_dim=10, ssm_state_size=20, n_groups=3, chunk_size=8,
                layer_norm_epsilon=1e-5, time_step_min=1e-30)
FAMILIES = {
    # No family of cke's: tests/parity/thirteenth.cpp is all that knows it.
    "exaone4": (dict(rope_parameters=ROPE, head_dim=12, sliding_window=7, sliding_window_pattern=3, num_hidden_layers=4,
                     layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]),
                [dict(sliding_window=8), dict(layer_types=["sliding_attention"] * 4), dict(rope_parameters=ROPE | {"rope_theta": 10000.0})]),
    "qwen2": (dict(rope_parameters=ROPE), [dict(rope_parameters=ROPE | {"rope_theta": 10000.0})]),
    "mistral": (dict(rope_parameters=ROPE, head_dim=12, sliding_window=7), [dict(sliding_window=None), dict(sliding_window=8)]),
    "gemma2": (GEMMA | dict(rope_parameters=ROPE, num_hidden_layers=3, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
               [dict(attn_logit_softcapping=None), dict(final_logit_softcapping=None), dict(sliding_window=8),
                dict(layer_types=["full_attention"] * 3)]),
    "gemma3_text": (GEMMA | dict(num_hidden_layers=7, hidden_size=32, num_attention_heads=4, intermediate_size=24,
                                 rope_parameters={"full_attention": {"rope_type": "linear", "rope_theta": 5000.0, "factor": 8.0},
                                                  "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
                    [dict(sliding_window=8), dict(query_pre_attn_scalar=16),
                     dict(layer_types=["full_attention"] + ["sliding_attention"] * 6),
                     dict(rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 5000.0},
                                           "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
                     dict(rope_parameters={"full_attention": {"rope_type": "linear", "rope_theta": 5000.0, "factor": 8.0},
                                           "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0}})]),
    "gemma4_text": (dict(hidden_size=40, num_hidden_layers=7, num_attention_heads=4, intermediate_size=24, head_dim=12,
                         global_head_dim=20, sliding_window=7, layer_types=(SLIDING + FULL) * 3 + FULL,
                         num_kv_shared_layers=3, use_double_wide_mlp=True, hidden_size_per_layer_input=10,
                         vocab_size_per_layer_input=VOCAB, final_logit_softcapping=2.0, tie_word_embeddings=True,
                         rope_parameters=ropes(5000.0, 0.25, 10000.0)),
                    [dict(sliding_window=8), dict(final_logit_softcapping=None), dict(rope_parameters=ropes(500.0, 0.25, 10000.0)),
                     dict(rope_parameters=ropes(5000.0, 0.5, 10000.0)), dict(rope_parameters=ropes(5000.0, 0.25, 1000.0))]),
    "gemma4_experts": (dict(hidden_size=40, num_hidden_layers=4, num_attention_heads=4, intermediate_size=24, head_dim=12,
                            global_head_dim=20, num_global_key_value_heads=1, attention_k_eq_v=True, sliding_window=7,
                            layer_types=(SLIDING + FULL) * 2, hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=5,
                            top_k_experts=2, moe_intermediate_size=20, tie_word_embeddings=True,
                            rope_parameters=ropes(5000.0, 0.25, 10000.0)), [dict(top_k_experts=3), dict(sliding_window=8)]),
    "deepseek_v2": (MLA | dict(q_lora_rank=None, n_group=2, topk_group=1, n_shared_experts=2, topk_method="group_limited_greedy",
                               rope_parameters=YARN | dict(mscale=0.7, mscale_all_dim=0.7)),
                    [dict(topk_method="greedy"), dict(routed_scaling_factor=1.0), dict(rope_parameters=YARN),
                     dict(rope_parameters=ROPE)]),
    "deepseek_v3": (MLA | dict(q_lora_rank=28, n_shared_experts=1, num_nextn_predict_layers=0,
                               rope_parameters=YARN | dict(mscale=0.8, mscale_all_dim=0.8)),
                    [dict(topk_group=1), dict(norm_topk_prob=False), dict(rope_parameters=YARN | dict(mscale=0.8, mscale_all_dim=0.5)), dict(rope_interleave=False)]),
    "glm4": (dict(rope_parameters=ROPE | {"partial_rotary_factor": 0.5}, head_dim=12, num_hidden_layers=2),
             [dict(rope_parameters=ROPE | {"partial_rotary_factor": 1.0})]),
    "olmo2": (dict(rope_parameters=ROPE), [dict(rope_parameters=ROPE | {"rope_theta": 10000.0})]),
    "phi3": (dict(rope_parameters=SU | {"partial_rotary_factor": 0.75}, sliding_window=11, original_max_position_embeddings=16),
             [dict(sliding_window=None), dict(rope_parameters=ROPE | {"partial_rotary_factor": 0.75}),
              dict(rope_parameters=SU | {"partial_rotary_factor": 0.75, "long_factor": SU["short_factor"]})]),
    "qwen3_moe": (dict(rope_parameters=ROPE, head_dim=12, moe_intermediate_size=40, num_experts=7, num_experts_per_tok=3,
                       norm_topk_prob=True), [dict(norm_topk_prob=False), dict(num_experts_per_tok=2)]),
    "qwen2_moe": (dict(rope_parameters=ROPE, moe_intermediate_size=40, shared_expert_intermediate_size=24, num_experts=6,
                       num_experts_per_tok=3, norm_topk_prob=False), [dict(norm_topk_prob=True), dict(num_experts_per_tok=2)]),
    "glm4_moe": (dict(rope_parameters=ROPE | {"partial_rotary_factor": 0.5}, head_dim=12, moe_intermediate_size=20, n_routed_experts=6,
                      num_experts_per_tok=2, n_shared_experts=2, routed_scaling_factor=1.7, use_qk_norm=True, attention_bias=True),
                 [dict(rope_parameters=ROPE | {"partial_rotary_factor": 1.0}), dict(routed_scaling_factor=1.0),
                  dict(norm_topk_prob=False), dict(num_experts_per_tok=3)]),
    "granitemoe": (dict(rope_parameters=ROPE, intermediate_size=24, num_local_experts=6, num_experts_per_tok=3, embedding_multiplier=3.0,
                        attention_multiplier=0.5, residual_multiplier=0.4, logits_scaling=1.5, attention_bias=False),
                   [dict(num_experts_per_tok=2), dict(residual_multiplier=1.0), dict(logits_scaling=1.0)]),
    "olmoe": (dict(rope_parameters=ROPE, num_key_value_heads=6, intermediate_size=24, num_experts=6, num_experts_per_tok=3),
              [dict(norm_topk_prob=True), dict(num_experts_per_tok=2)]),
    "mixtral": (dict(rope_parameters=ROPE, intermediate_size=24, num_local_experts=5, num_experts_per_tok=2),
                [dict(num_experts_per_tok=3)]),
    "qwen3_5_text": (DELTA | dict(num_hidden_layers=4, head_dim=16), [dict(rope_parameters=MROPE | {"partial_rotary_factor": 0.5}), dict(rms_norm_eps=1e-2)]),
    "qwen3_5_moe_text": (DELTA | EXPERTS | dict(num_hidden_layers=3, head_dim=16, layer_types=["linear_attention", "full_attention", "linear_attention"]),
                         [dict(num_experts_per_tok=2)]),
    "qwen3_next": (DELTA | EXPERTS | dict(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], head_dim=24, rope_parameters=ROPE | {"partial_rotary_factor": 0.25}),
                   [dict(num_experts_per_tok=2), dict(norm_topk_prob=False)]),
    "lfm2": (dict(rope_parameters=ROPE, norm_eps=1e-5, conv_bias=False, conv_L_cache=3, num_hidden_layers=4, layer_types=["conv", "conv", "full_attention", "conv"],
                  intermediate_size=84, block_multiple_of=8), [dict(rope_parameters=ROPE | {"rope_theta": 10000.0}), dict(norm_eps=1e-2)]),
    "lfm2_moe": (dict(rope_parameters=ROPE, norm_eps=1e-5, conv_L_cache=4, num_hidden_layers=4, layer_types=["conv", "full_attention", "conv", "full_attention"],
                      moe_intermediate_size=24, num_experts=6, num_experts_per_tok=3, num_dense_layers=2, norm_topk_prob=True),
                 [dict(norm_topk_prob=False), dict(num_experts_per_tok=2)]),
    "mamba2": (NOT_IN_MAMBA | dict(num_heads=8, head_dim=12, state_size=20, n_groups=2, chunk_size=8, layer_norm_epsilon=1e-5),
               [dict(layer_norm_epsilon=1e-1)]),
    "granitemoehybrid": (GRANITE4 | dict(layer_types=MIXER + FULL + MIXER, intermediate_size=24, num_local_experts=6, num_experts_per_tok=3,
                                         position_embedding_type=None),
                         [dict(num_experts_per_tok=2), dict(embedding_multiplier=1.0), dict(attention_multiplier=8 ** -0.5), dict(residual_multiplier=1.0),
                          dict(logits_scaling=1.0), dict(position_embedding_type="rope")]),
    "granitemoehybrid_dense": (GRANITE4 | dict(layer_types=FULL + MIXER, num_hidden_layers=2, num_local_experts=0, position_embedding_type="rope"),
                               [dict(position_embedding_type=None), dict(rope_parameters=ROPE | {"rope_theta": 100.0})]),
    "nemotron_h": (NEMOTRON | dict(layers_block_type=MIXER + ["mlp"] + FULL + MIXER), [dict(layer_norm_epsilon=1e-1)]),
    "nemotron_h_experts": (NEMOTRON | RELU_EXPERTS | dict(layers_block_type=["moe"] + MIXER + FULL + ["moe"]),
                           [dict(num_experts_per_tok=2), dict(norm_topk_prob=False), dict(routed_scaling_factor=1.0)]),
    "nemotron_h_latent": (NEMOTRON | RELU_EXPERTS | dict(layers_block_type=["moe"] + MIXER + FULL + ["moe"], moe_latent_size=44), [dict(routed_scaling_factor=1.0)]),
    "nemotron_h_biased": (NEMOTRON | RELU_EXPERTS | dict(layers_block_type=["mlp", "moe"] + MIXER + FULL, moe_latent_size=12, mlp_bias=True), [dict(mlp_bias=False)]),
    "smollm3": (dict(rope_parameters=ROPE, num_hidden_layers=5, hidden_size=40, num_attention_heads=4),
                [dict(no_rope_layers=[1, 1, 1, 1, 1]), dict(no_rope_layers=[1, 1, 0, 1, 1])]),
    "granite": (dict(rope_parameters=ROPE, embedding_multiplier=3.0, attention_multiplier=0.5, residual_multiplier=0.4,
                     logits_scaling=1.5, attention_bias=False),
                [dict(embedding_multiplier=1.0), dict(attention_multiplier=8 ** -0.5), dict(residual_multiplier=1.0),
                 dict(logits_scaling=1.0)]),
}


def vocabulary():
    """Tokens that mean nothing: llama.cpp wants some, and those of phi3 by name."""
    tokens = ["<unk>", "<s>", "</s>", "<|endoftext|>"] + [f"<t{i}>" for i in range(4, VOCAB - 3)] + ["a", "b", "ab"]
    return gguf_metadata.Vocabulary("qwen2", tokens, [gguf.TokenType.NORMAL] * VOCAB, ["a b"], bos=0, eos=2)


def model_of(family, changes):
    config = {key: value for key, value in (SHAPE | changes).items() if value is not NONE}
    return checkpoints.random_model(AutoConfig.for_model(MODEL_TYPES.get(family, family), **config), seed=11)


def matters(family, model, ids, changes):
    other = model_of(family, changes)
    other.load_state_dict(model.state_dict(), strict="mlp_bias" not in changes)
    moved = np.abs(checkpoints.logits(other, ids) - checkpoints.logits(model, ids)).max()
    if moved < SMALLEST_MOVE:
        raise SystemExit(f"{family}: {changes} moves the logits by only {moved}")


def precise_logits(directory, ids, rows):
    """The logits of `rows` in float64, and how far transformers' own float32 is from them at most."""
    found = []
    for precision in (torch.float32, torch.float64):
        model = AutoModelForCausalLM.from_pretrained(directory, dtype=precision, attn_implementation="eager", experts_implementation="eager").eval()
        with torch.no_grad():
            found.append(model(torch.tensor([ids])).logits[0, rows].double().numpy())
    return found[1].astype(np.float32), float(np.abs(found[0] - found[1]).max())


def lengthen(family):
    directory, ids = HERE / family, checkpoints.random_ids(VOCAB, ROWS[-1] + 1, seed=3)
    logits, error = precise_logits(directory, ids, ROWS)
    np.save(directory / "long.npy", logits)
    (directory / "long.json").write_text(json.dumps({"ids": ids, "rows": ROWS}) + "\n")
    print(f"{family}: float32 is {error:.1e} from float64 at most")


def make(family):
    changes, others = FAMILIES[family]
    directory = HERE.parent / "thirteenth" if family == "exaone4" else HERE / family
    shutil.rmtree(directory, ignore_errors=True)
    model = model_of(family, changes)
    with torch.no_grad():
        if family.startswith("gemma"):  # tied and scaled, a token's embedding would drown the layers
            model.get_input_embeddings().weight.mul_(0.2 if family == "gemma4_text" else 0.1)
        for number in [*model.parameters(), *(b for _, b in checkpoints.learned_buffers(model))]:
            number.copy_(number.to(torch.bfloat16))
    for seed in range(400):  # until no greedy step is a near tie
        ids = checkpoints.random_ids(VOCAB, PROMPT, seed)
        new, gap = checkpoints.greedy(model, ids, NEW)
        if len(new) == NEW and gap > SMALLEST_GAP and len(set(new)) > 4:
            break
    else:
        raise SystemExit(f"{family}: no prompt without a near tie")
    for other in others:
        matters(family, model, ids, changes | other)

    as_gguf = HERE / f"{family}.gguf"
    if family not in ("mistral", "exaone4", "nemotron_h_biased"):  # as GGUF the first is a llama, and the last has no place for its biases
        gguf_file.write(as_gguf, model, vocabulary(), "BF16")
    model.to(torch.bfloat16).save_pretrained(directory)
    logits, error = precise_logits(directory, ids, range(len(ids)))
    np.save(directory / "logits.npy", logits)
    (directory / "ids.json").write_text(json.dumps(ids) + "\n")
    (directory / "greedy.json").write_text(json.dumps(new) + "\n")
    for file in directory.iterdir():
        file.chmod(0o644)  # safetensors makes private files
    if family in MIXERS:
        lengthen(family)
    print(f"{family}: {checkpoints.directory_bytes(directory):,} and {as_gguf.stat().st_size if as_gguf.exists() else 0:,} bytes, "
          f"float32 is {error:.1e} from float64 at most")


if __name__ == "__main__":
    for name in sys.argv[1:] or FAMILIES:
        make(name)
