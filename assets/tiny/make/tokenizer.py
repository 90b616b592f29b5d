# SPDX-License-Identifier: MIT
"""tokenizer.py: a byte-level BPE tokenizer made as Qwen3's is, with 1536 tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers.models import BPE

VOCAB = 1536
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")  # flagged special, as in Qwen3
MARKS = ("<tool_call>", "</tool_call>", "<think>", "</think>")  # added, yet not special


def train(texts: Iterable[str]) -> Tokenizer:
    """Learns the merges from texts; the added tokens get the ids after the learned ones."""
    tokenizer = Tokenizer(BPE(byte_fallback=False, ignore_merges=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel(
        add_prefix_space=False, trim_offsets=False, use_regex=False
    )
    tokenizer.post_processor = processors.ByteLevel(
        add_prefix_space=False, trim_offsets=False, use_regex=False
    )
    added = re.compile("|".join(re.escape(mark) for mark in CONTROL + MARKS))
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB - len(CONTROL) - len(MARKS),
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator((piece for text in texts for piece in added.split(text)), trainer)
    tokenizer.add_tokens(
        [AddedToken(t, special=True, normalized=False) for t in CONTROL]
        + [AddedToken(t, special=False, normalized=False) for t in MARKS]
    )
    assert tokenizer.get_vocab_size() == VOCAB
    return tokenizer
