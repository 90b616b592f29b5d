#!/usr/bin/env python3
"""Makes attention.f32, norm.f32, activation.f32 and rope.f64 here, from PyTorch and transformers.

Each file is a flat little-endian array: a count of cases, then the cases. Their layout is written
beside each function, and read in the same order by tests/kernels/*.cpp.
"""
import pathlib

import numpy as np
import torch
from torch.nn import functional as F
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gemma3.modeling_gemma3 import Gemma3RMSNorm
from transformers.models.glm4 import modeling_glm4
from transformers.models.llama import modeling_llama
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

HERE = pathlib.Path(__file__).parent
torch.manual_seed(20261121)
RULES = ["default", "linear", "dynamic", "llama3", "yarn", "longrope", "proportional"]


def save(name, dtype, cases):
    flat = [np.asarray([len(cases)], dtype)]
    for case in cases:
        flat += [np.asarray(part, dtype).ravel() for part in case]
    np.concatenate(flat).tofile(HERE / name)


def attention():
    """heads, kv_heads, head_dim, tokens, past, window (0: all), cap, scale;
    q [tokens][heads][d]; k, v [past + tokens][kv_heads][d]; out [tokens][heads][d].
    q, k, v are bfloat16 numbers, so that every cache holds them exactly."""
    def case(heads, kv_heads, d, tokens, past, window=0, cap=0.0, scale=None, spread=1.0):
        scale, keys = scale or d ** -0.5, past + tokens
        coarse = lambda *shape: torch.randn(*shape).bfloat16().float()
        q, k, v = spread * coarse(tokens, heads, d), coarse(keys, kv_heads, d), coarse(keys, kv_heads, d)
        wide = lambda x: x.repeat_interleave(heads // kv_heads, 1).transpose(0, 1).double()
        scores = wide(k) @ q.transpose(0, 1).double().transpose(1, 2) * scale  # [heads][keys][tokens]
        scores = scores.transpose(1, 2)
        if cap:
            scores = torch.tanh(scores / cap) * cap
        t, s = past + torch.arange(tokens)[:, None], torch.arange(keys)[None, :]
        seen = (s <= t) & (s > t - window if window else s >= 0)
        out = scores.masked_fill(~seen, -torch.inf).softmax(-1) @ wide(v)
        return [heads, kv_heads, d, tokens, past, window, cap, scale], q, k, v, out.transpose(0, 1).float()

    save("attention.f32", np.float32, [
        case(4, 2, 24, 5, 0), case(4, 2, 24, 3, 139), case(3, 1, 64, 7, 134, window=33),
        case(2, 2, 128, 3, 20, cap=20.0, spread=4.0), case(7, 1, 16, 1, 299),
        case(1, 1, 8, 1, 0), case(6, 3, 40, 4, 128, window=130, cap=50.0, scale=0.25, spread=2.0)])


def norm():
    """n, eps, offset; x, w, out [n]"""
    def case(n, eps, gemma):
        module = (Gemma3RMSNorm if gemma else Qwen3RMSNorm)(n, eps=eps)
        module.weight.data = torch.randn(n)
        x = torch.randn(n) * 3
        return [n, eps, float(gemma)], x, module.weight.detach(), module(x).detach()

    save("norm.f32", np.float32, [case(1, 1e-6, 0), case(7, 1e-5, 1), case(24, 0.5, 0), case(128, 1e-6, 1),
                                  case(1000, 1e-6, 0), case(1037, 1e-3, 1)])


def activation():
    """n; x, up [n]; then act(x) and act(x) * up for silu, gelu_tanh, gelu_erf, relu2"""
    x = torch.cat([torch.randn(150) * 3, torch.tensor([0.0, -0.0, 1e-30, -1e-20, 30.0, -30.0, 200.0, -200.0])])
    up = torch.randn(len(x))
    functions = [F.silu, lambda y: F.gelu(y, approximate="tanh"), F.gelu, lambda y: F.relu(y) ** 2]
    parts = [part for f in functions for part in (f(x), f(x) * up)]
    save("activation.f32", np.float32, [([len(x)], x, up, *parts)])


def rope():
    """rule, dims, head_dim, theta, factor, low, high, beta_fast, beta_slow, mscale, mscale_all,
    truncate, attention_factor, original, max_position, context; long and short factors [dims / 2];
    attention factor; rope_width, inverse frequencies [rope_width / 2];
    position; x [head_dim]; x rotated in split and in adjacent pairs [head_dim] each"""
    def case(rule, d=64, theta=10000.0, max_position=4096, original=0, context=100, partial=1.0, longs=None,
             shorts=None, position=77, **scaling):
        parameters = {"rope_type": rule, "rope_theta": theta, "partial_rotary_factor": partial, **scaling}
        if original:
            parameters["original_max_position_embeddings"] = original
        dims = int(d * partial)
        if rule == "longrope":
            longs, shorts = (torch.linspace(1, top, dims // 2).tolist() for top in (40.0, 2.5))
            parameters |= {"long_factor": longs, "short_factor": shorts}
        config = LlamaConfig(hidden_size=4 * d, num_attention_heads=4, head_dim=d, rope_parameters=parameters,
                             max_position_embeddings=max_position)
        if rule == "default":
            inverse = 1 / theta ** (torch.arange(0, dims, 2).float() / dims)
            factor = 1.0
        else:
            inverse, factor = ROPE_INIT_FUNCTIONS[rule](config, None, seq_len=context)
        angle = inverse.float() * position
        angle = torch.cat([angle, angle])
        cos, sin = angle.cos() * factor, angle.sin() * factor
        x, width = torch.randn(d), 2 * len(inverse)
        turn = lambda module: module.apply_rotary_pos_emb(x.view(1, 1, 1, d)[..., :width], x.view(1, 1, 1, d)[..., :width],
                                                          cos.view(1, 1, -1), sin.view(1, 1, -1))[0].ravel()
        rotated = [torch.cat([turn(module), x[width:]]) for module in (modeling_llama, modeling_glm4)]
        get = lambda key, default: scaling.get(key, default) or 0.0
        return ([RULES.index(rule), dims, d, theta, get("factor", 1), get("low_freq_factor", 1),
                 get("high_freq_factor", 4), get("beta_fast", 32), get("beta_slow", 1), get("mscale", 0),
                 get("mscale_all_dim", 0), get("truncate", True), get("attention_factor", 0), original,
                 max_position, context],
                longs or [0.0] * (dims // 2), shorts or [0.0] * (dims // 2), [factor], [width], inverse,
                [position], x, *rotated)

    save("rope.f64", np.float64, [
        case("default"), case("default", d=24, theta=1e6, position=30000), case("default", partial=0.5),
        case("linear", factor=8.0, theta=1e6), case("linear", factor=2.5, partial=0.5),
        case("dynamic", factor=2.0), case("dynamic", factor=2.0, context=9000, position=8999),
        case("dynamic", factor=4.0, context=4097, d=128, theta=5e5),
        case("llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original=8192,
             max_position=131072, theta=5e5, position=100000),
        case("llama3", factor=8.0, low_freq_factor=2.0, high_freq_factor=3.0, original=256, d=128),
        case("yarn", factor=4.0, original=4096, max_position=16384),
        case("yarn", factor=40.0, original=4096, mscale=1.0, mscale_all_dim=0.707, beta_fast=16.0, beta_slow=2.0),
        case("yarn", factor=32.0, original=4096, truncate=False, theta=150000.0, attention_factor=1.25),
        case("yarn", factor=None, original=1024, max_position=32768, partial=0.25, d=128),
        case("longrope", factor=32.0, original=4096, max_position=131072, context=4096),
        case("longrope", factor=32.0, original=4096, max_position=131072, context=4097),
        case("longrope", factor=None, original=64, max_position=2048, partial=0.75),
        case("longrope", factor=4.0, original=64, attention_factor=1.5, context=65),
        case("proportional", d=256, partial=0.25, theta=1e6), case("proportional", d=32, partial=0.5, factor=2.0),
        case("yarn", factor=4.0, original=64), case("yarn", factor=8.0, original=4096, theta=10.0, beta_fast=2000.0),
        case("yarn", factor=2.0, original=6)])


attention(), norm(), activation(), rope()
