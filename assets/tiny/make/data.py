# SPDX-License-Identifier: MIT
"""data.py: what the tiny model is trained from: a tokenizer, weights to begin with, and documents as ids.

    data.py OUT [--documents 110000] [--drill 48000]

    OUT/start             a Hugging Face directory: config, tokenizer, the weights of initial.py
    OUT/train.jsonl       documents, each {"ids", "labels"} as cke train takes them; -100: not learned
    OUT/drill.jsonl       the same, mostly chats about facts
    OUT/held-out.jsonl    400 documents that neither has
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from safetensors.numpy import save_file

import tokenizer as bpe
from corpus import Document, documents
from initial import initial

LONGEST = 640  # tokens; longer documents are left out
CONTEXT = 2048

SHAPE = {
    "vocab_size": bpe.VOCAB,
    "hidden_size": 128,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "intermediate_size": 384,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "max_position_embeddings": CONTEXT,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "initializer_range": 0.05,
    "use_cache": True,
}


def write_config(out: Path, tokens: bpe.Tokenizer) -> None:
    """The files beside the weights, in the spelling in which Qwen3 is published."""
    end, turn = (tokens.token_to_id(t) for t in ("<|endoftext|>", "<|im_end|>"))
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        **SHAPE,
        "bos_token_id": end,
        "eos_token_id": turn,
        "max_window_layers": SHAPE["num_hidden_layers"],
        "rope_scaling": None,
        "sliding_window": None,
        "use_sliding_window": False,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.51.0",
    }
    generation = {
        "bos_token_id": end,
        "do_sample": True,
        "eos_token_id": [turn, end],
        "pad_token_id": end,
        "temperature": 0.6,
        "top_k": 20,
        "top_p": 0.95,
        "transformers_version": "4.51.0",
    }
    added = {
        str(tokens.token_to_id(t)): {
            "content": t,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": t in bpe.CONTROL,
        }
        for t in bpe.CONTROL + bpe.MARKS
    }
    about = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": added,
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": CONTEXT,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }
    for name, data in (
        ("config", config),
        ("generation_config", generation),
        ("tokenizer_config", about),
    ):
        (out / f"{name}.json").write_text(json.dumps(data, indent=2) + "\n")
    tokens.save(str(out / "tokenizer.json"))
    template = Path(__file__).resolve().parent.parent / "chat_template.jinja"
    if not (out / template.name).exists():
        shutil.copy(template, out)


def write_documents(path: Path, tokens: bpe.Tokenizer, found: Iterable[Document]) -> None:
    with path.open("w") as to:
        for document in found:
            ids, labels = [], []
            for span in document.spans:
                piece = tokens.encode(span.text).ids
                ids += piece
                labels += piece if span.counts else [-100] * len(piece)
            if len(ids) <= LONGEST:
                to.write(json.dumps({"ids": ids, "labels": labels}, separators=(",", ":")) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--documents", type=int, default=110_000)
    parser.add_argument("--drill", type=int, default=48_000)
    args = parser.parse_args()
    start = args.out / "start"
    start.mkdir(parents=True)
    tokens = bpe.train(d.text for d in islice(documents(0), 20000))
    write_config(start, tokens)
    save_file(initial(SHAPE, seed=0), start / "model.safetensors", metadata={"format": "pt"})
    for name, count, drill in (("train", args.documents, False), ("drill", args.drill, True)):
        write_documents(
            args.out / f"{name}.jsonl", tokens, islice(documents(1, drill=drill), count)
        )
    write_documents(
        args.out / "held-out.jsonl", tokens, islice(documents(0, held_out=True), 400)
    )


if __name__ == "__main__":
    main()
