#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes routing.f32 here: what transformers' own routers choose, read by tests/kernels/routing.cpp.

A flat little-endian float32 array: a count of cases, then for each
    experts, active, score (0 softmax, 1 softmax_of_chosen, 2 sigmoid), biased, groups, groups_kept,
    group_by (0 best, 1 best two), renormalised, scale, tokens;
    bias [experts] when biased; for each token logits [experts], chosen experts [active] in ascending order, weights [active]
"""
import pathlib

import numpy as np
import torch
from transformers import DeepseekV2Config, Glm4MoeConfig, GraniteMoeConfig, MixtralConfig, Qwen3MoeConfig
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2TopkRouter
from transformers.models.glm4_moe.modeling_glm4_moe import Glm4MoeTopkRouter
from transformers.models.granitemoe.modeling_granitemoe import GraniteMoeTopKRouter
from transformers.models.mixtral.modeling_mixtral import MixtralTopKRouter
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeTopKRouter

HERE = pathlib.Path(__file__).parent
TOKENS = 6
torch.manual_seed(20261121)


def case(router, experts, active, score, groups=1, kept=1, group_by=0, renormalised=False, scale=1.0, bias=None):
    """The router's matrix is the identity: its logits are its input."""
    router.weight.data = torch.eye(experts)
    logits = 2 * torch.randn(TOKENS, experts)
    with torch.no_grad():
        _, weights, chosen = router(logits)
    order = chosen.argsort(-1)
    parts = [[experts, active, score, bias is not None, groups, kept, group_by, renormalised, scale, TOKENS]]
    parts += [] if bias is None else [bias]
    for t in range(TOKENS):
        parts += [logits[t], chosen[t][order[t]], weights[t][order[t]]]
    return np.concatenate([np.asarray(part, np.float32).ravel() for part in parts])


def qwen3(experts, active, renormalised):
    config = Qwen3MoeConfig(hidden_size=experts, num_experts=experts, num_experts_per_tok=active, norm_topk_prob=renormalised)
    return case(Qwen3MoeTopKRouter(config), experts, active, 0, renormalised=renormalised)


def glm4(experts, active, groups, kept, scale, renormalised=True):
    config = Glm4MoeConfig(hidden_size=experts, n_routed_experts=experts, num_experts_per_tok=active, n_group=groups, topk_group=kept,
                           routed_scaling_factor=scale, norm_topk_prob=renormalised)
    router = Glm4MoeTopkRouter(config)
    router.e_score_correction_bias.copy_(0.5 * torch.randn(experts))  # large enough to change choices
    return case(router, experts, active, 2, groups, kept, 1, renormalised, scale, router.e_score_correction_bias)


def deepseek2(experts, active, groups, kept, scale):
    config = DeepseekV2Config(hidden_size=experts, n_routed_experts=experts, num_experts_per_tok=active, n_group=groups, topk_group=kept,
                              routed_scaling_factor=scale, topk_method="group_limited_greedy")
    return case(DeepseekV2TopkRouter(config), experts, active, 0, groups, kept, 0, False, scale)


def granite(experts, active):
    config = GraniteMoeConfig(hidden_size=experts, num_local_experts=experts, num_experts_per_tok=active)
    return case(GraniteMoeTopKRouter(config), experts, active, 1)


def mixtral(experts, active):
    config = MixtralConfig(hidden_size=experts, num_local_experts=experts, num_experts_per_tok=active)
    return case(MixtralTopKRouter(config), experts, active, 0, renormalised=True)


cases = [qwen3(128, 8, True), qwen3(7, 3, False), qwen3(1, 1, True), qwen3(5, 5, True), mixtral(8, 2), granite(40, 8), granite(3, 1),
         glm4(64, 6, 8, 3, 2.5), glm4(12, 5, 4, 2, 1.0), glm4(9, 2, 1, 1, 1.5, renormalised=False), deepseek2(32, 6, 4, 2, 16.0)]
np.concatenate([np.asarray([len(cases)], np.float32), *cases]).tofile(HERE / "routing.f32")
