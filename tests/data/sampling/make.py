# SPDX-License-Identifier: MIT
"""Writes cases.txt: what transformers' logits processors keep, and with which probabilities.

    python make.py        (needs torch and transformers)

Logits are not stored: tests/text/sampler.cpp computes the same floats with the same few exact operations.
Every case must come out alike in float32 and in float64, so no test hangs on a rounding error.
"""
from pathlib import Path

import numpy as np
import torch
from transformers.generation import logits_process as hf


def mix(x):
    """The finalizer of MurmurHash3, over uint32."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    return x ^ (x >> np.uint32(16))


def make_logits(vocab, salt, spread, power, step, banned):
    """Peaked like a model's logits (the larger `power`, the more); multiples of `step`, so that some tie,
    when it is not 0; every `banned`-th is -inf when that is not 0."""
    u = mix(np.arange(vocab, dtype=np.uint32) + np.uint32(salt)).astype(np.float64) * 2.0**-32
    x = u.copy()
    for _ in range(power - 1):
        x *= u
    x = x * (2 * spread) - spread
    if step:
        x = np.floor(x / step) * step
    x = x.astype(np.float32)
    if banned:
        x[::banned] = -np.inf
    return x


DEFAULTS = dict(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, typical_p=1.0, repetition_penalty=1.0,
                frequency_penalty=0.0, presence_penalty=0.0, repeat_last_n=64)


def frequency_and_presence(s, ids, scores):
    """OpenAI's definition; transformers has no processor for these two."""
    count = torch.bincount(ids[0], minlength=scores.shape[1]).to(scores.dtype)
    return scores - count * s["frequency_penalty"] - (count > 0) * s["presence_penalty"]


def process(s, bias, history, logits, dtype):
    scores = torch.tensor(logits, dtype=dtype)[None]
    recent = history[-s["repeat_last_n"]:] if s["repeat_last_n"] else []
    ids = torch.tensor([[i for i in recent if i < len(logits)]], dtype=torch.long)
    if bias:
        scores = hf.SequenceBiasLogitsProcessor([[[i], b] for i, b in bias])(ids, scores)
    if s["repetition_penalty"] != 1 and ids.numel():
        scores = hf.RepetitionPenaltyLogitsProcessor(s["repetition_penalty"])(ids, scores)
    scores = frequency_and_presence(s, ids, scores)
    scores = hf.TemperatureLogitsWarper(s["temperature"])(ids, scores)
    if s["top_k"]:
        scores = hf.TopKLogitsWarper(s["top_k"])(ids, scores)
    if s["top_p"] < 1:
        scores = hf.TopPLogitsWarper(s["top_p"])(ids, scores)
    if s["min_p"]:
        scores = hf.MinPLogitsWarper(s["min_p"])(ids, scores)
    if s["typical_p"] < 1:
        scores = hf.TypicalLogitsWarper(s["typical_p"])(ids, scores)
    return scores[0]


SMALL = dict(vocab=257, salt=11, spread=6.0, power=2, step=0.0, banned=0)
MASKED = dict(vocab=257, salt=12, spread=6.0, power=2, step=0.0, banned=3)
TIED = dict(vocab=257, salt=13, spread=6.0, power=2, step=0.5, banned=5)
QWEN3 = dict(vocab=151936, salt=14, spread=14.0, power=40, step=0.0, banned=0)
FLAT = dict(vocab=151936, salt=15, spread=2.0, power=1, step=0.0, banned=0)

HISTORY = [5, 9, 5, 200, 5, 17, 256, 9, 100, 31, 17, 17, 4000, 8, 8, 250, 12]  # 4000: outside the vocabulary
ALL = dict(temperature=0.75, top_k=50, top_p=0.875, min_p=0.015625, typical_p=0.9375, repetition_penalty=1.25,
           frequency_penalty=0.5, presence_penalty=0.25)
BIAS = [(3, 4.5), (17, -2.25), (256, 8.0), (40, -100.0)]

CASES = [
    (SMALL, {}, [], []),
    (SMALL, dict(temperature=0.25), [], []),
    (SMALL, dict(temperature=3.0), [], []),
    (SMALL, dict(top_k=1), [], []),
    (SMALL, dict(top_k=40), [], []),
    (SMALL, dict(top_k=256), [], []),
    (SMALL, dict(top_k=5000), [], []),
    (SMALL, dict(top_p=0.0), [], []),
    (SMALL, dict(top_p=0.5), [], []),
    (SMALL, dict(top_p=0.96875), [], []),
    (SMALL, dict(top_p=0.3125, temperature=2.0), [], []),
    (SMALL, dict(min_p=0.0625), [], []),
    (SMALL, dict(min_p=1.0), [], []),
    (SMALL, dict(typical_p=0.25), [], []),
    (SMALL, dict(typical_p=0.9375, temperature=1.5), [], []),
    (SMALL, dict(), BIAS, []),
    (SMALL, dict(repetition_penalty=1.5), [], HISTORY),
    (SMALL, dict(repetition_penalty=0.75), [], HISTORY),
    (SMALL, dict(repetition_penalty=1.5, repeat_last_n=4), [], HISTORY),
    (SMALL, dict(repetition_penalty=1.5, repeat_last_n=0), [], HISTORY),
    (SMALL, dict(frequency_penalty=0.75), [], HISTORY),
    (SMALL, dict(frequency_penalty=-1.5, repeat_last_n=10), [], HISTORY),
    (SMALL, dict(presence_penalty=1.75), [], HISTORY),
    (SMALL, ALL, BIAS, HISTORY),
    (SMALL, ALL | dict(typical_p=1.0), BIAS, HISTORY),
    (MASKED, {}, [], []),
    (MASKED, dict(top_k=30, top_p=0.75), [], []),
    (MASKED, dict(top_k=200), [], []),
    (MASKED, dict(typical_p=0.5), [], []),
    (MASKED, dict(min_p=0.125, typical_p=0.75), [], []),
    (MASKED, ALL, BIAS, HISTORY),
    (TIED, dict(top_k=8), [], []),
    (TIED, dict(top_k=102, min_p=0.03125), [], []),
    (TIED, dict(typical_p=0.375), [], []),
    (TIED, dict(typical_p=0.6875), [], []),
    (TIED, dict(typical_p=0.875, temperature=2.0), [], []),
    (QWEN3, {}, [], []),
    (QWEN3, dict(temperature=0.625, top_k=20, top_p=0.9375), [], []),
    (QWEN3, dict(top_k=1000), [], []),
    (QWEN3, dict(top_k=100000, top_p=0.625), [], []),
    (QWEN3, dict(top_p=0.875), [], []),
    (QWEN3, dict(min_p=0.03125), [], []),
    (QWEN3, dict(typical_p=0.5), [], []),
    (QWEN3, ALL, BIAS, HISTORY),
    (FLAT, dict(top_p=0.25), [], []),
    (FLAT, dict(min_p=0.5), [], []),
]


def main():
    lines = ["# made by make.py; see tests/text/sampler.cpp for the reader"]
    for recipe, changed, bias, history in CASES:
        s = DEFAULTS | changed
        logits = make_logits(**recipe)
        single, double = (process(s, bias, history, logits, t) for t in (torch.float32, torch.float64))
        kept = torch.isfinite(single)
        assert torch.equal(kept, torch.isfinite(double)), f"borderline: {recipe} {changed}"
        p = torch.softmax(single.double(), 0)
        ids = torch.nonzero(kept)[:, 0]
        best = ids[torch.sort(p[ids], descending=True, stable=True).indices]
        best = best[:300 if recipe["vocab"] < 300 else 8]
        lines += ["case " + " ".join(f"{k}={v:g}" for k, v in (recipe | s).items()),
                  "bias " + " ".join(f"{i}:{b:g}" for i, b in bias),
                  "history " + " ".join(map(str, history)),
                  f"kept {len(ids)} {int(ids.sum())}",
                  "best " + " ".join(f"{int(i)}:{float(p[i]):.9g}" for i in best)]
    Path(__file__).with_name("cases.txt").write_text("\n".join(lines) + "\n")


main()
