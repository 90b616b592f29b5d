# SPDX-License-Identifier: MIT
"""train.py: makes the tokenizer, trains the model, and writes the Hugging Face directory.

    train.py OUT [--minutes 35] [--threads 1]
    train.py OUT --drill FROM --minutes 9    goes on from FROM's weights, mostly with facts

The learning rate falls with the processor time used, so the minutes decide how good the model gets,
however busy the machine is. Every minute OUT becomes a complete, usable directory.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import time
from itertools import islice
from pathlib import Path
from random import Random

import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy
from transformers import Qwen3Config, Qwen3ForCausalLM

import tokenizer as bpe
from corpus import documents
from initial import set_initial

TOKENS_PER_BATCH, DRILL_TOKENS_PER_BATCH = 1024, 2048
LONGEST = 640  # tokens; longer documents are left out
PEAK_RATE, DRILL_RATE = 3e-3, 1.5e-3
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

Example = tuple[list[int], list[bool]]


def examples(
    tokens: bpe.Tokenizer, seed: int, count: int, held_out: bool = False, drill: bool = False
) -> list[Example]:
    """Documents as token ids, and whether each token counts in the loss."""
    found = []
    for document in islice(documents(seed, held_out, drill), count):
        spans = [(span.counts, tokens.encode(span.text).ids) for span in document.spans]
        ids = [i for _, piece in spans for i in piece]
        if len(ids) <= LONGEST:
            found.append((ids, [counts for counts, piece in spans for _ in piece]))
    return found


def batches(
    pool: list[Example], rng: Random, size: int = TOKENS_PER_BATCH
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The pool in batches of similar length, in random order; padding does not count."""
    pool = sorted(pool, key=lambda e: len(e[0]) + rng.random() * 8)
    made, start = [], 0
    while start < len(pool):
        end = start + 1
        while end < len(pool) and (end + 1 - start) * len(pool[end][0]) <= size:
            end += 1
        rows = pool[start:end]
        width = max(len(ids) for ids, _ in rows)
        ids = torch.tensor([r + [0] * (width - len(r)) for r, _ in rows])
        counts = torch.tensor([c + [False] * (width - len(c)) for _, c in rows])
        made.append((ids, counts))
        start = end
    rng.shuffle(made)
    return made


def loss_of(model: Qwen3ForCausalLM, ids: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy of the tokens that count; logits are made for those alone."""
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
        wanted = counts[:, 1:]
        return cross_entropy(model.lm_head(hidden[wanted]), ids[:, 1:][wanted])


def held_out_loss(model: Qwen3ForCausalLM, test: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
    model.eval()
    with torch.no_grad():
        losses = [loss_of(model, ids, counts).item() for ids, counts in test]
    model.train()
    return sum(losses) / len(losses)


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


def write_weights(out: Path, model: Qwen3ForCausalLM) -> None:
    tensors = {
        name: tensor.detach().to(torch.bfloat16).contiguous()
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"
    }  # tied to the embedding
    part = out / "model.safetensors.part"
    save_file(tensors, part, metadata={"format": "pt"})
    part.chmod(0o644)
    part.replace(out / "model.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=35, help="of processor time")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--drill", type=Path, metavar="FROM")
    parser.add_argument(
        "--documents", type=int, default=20000, help="per pass; every pass has new ones"
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    torch.set_num_interop_threads(1)

    tokens = bpe.train(d.text for d in islice(documents(0), 20000))
    write_config(args.out, tokens)
    test = batches(examples(tokens, 0, 400, held_out=True), Random(0))

    rope = {"rope_type": "default", "rope_theta": SHAPE["rope_theta"]}
    model = Qwen3ForCausalLM(
        Qwen3Config(
            **{k: v for k, v in SHAPE.items() if k != "rope_theta"},
            rope_parameters=rope,
            attn_implementation="eager",  # in bfloat16 faster than torch's own, short as rows are
        )
    )
    if args.drill:
        model.load_state_dict(load_file(args.drill / "model.safetensors"), strict=False)
    else:
        set_initial(model)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    size = DRILL_TOKENS_PER_BATCH if args.drill else TOKENS_PER_BATCH
    peak = DRILL_RATE if args.drill else PEAK_RATE
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}],
        lr=peak,
        betas=(0.9, 0.98),
        eps=1e-8,
        fused=True,
    )
    start = saved = time.process_time()
    step, seen, running, passes = 0, 0, 0.0, 0
    done = 0.0
    while done < 1.0:
        passes += 1
        pool = examples(tokens, passes, args.documents, drill=bool(args.drill))
        for ids, counts in batches(pool, Random(passes), size):
            done = (time.process_time() - start) / (60 * args.minutes)
            if done >= 1.0:
                break
            rate = (
                peak
                * min(1.0, (step + 1) / 100)
                * (0.02 + 0.98 * (1 + math.cos(math.pi * done)) / 2)
            )
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss = loss_of(model, ids, counts)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            step, seen = step + 1, seen + ids.numel()
            running = loss.item() if step == 1 else 0.98 * running + 0.02 * loss.item()
            if step % 50 == 0:
                print(
                    f"step {step} {seen / 1e6:.2f} M tokens {time.process_time() - start:.0f} s"
                    f"  rate {rate:.1e} loss {running:.4f}",
                    flush=True,
                )
            if time.process_time() - saved > 60:
                write_weights(args.out, model)
                saved = time.process_time()
                print(f"held-out loss {held_out_loss(model, test):.4f}", flush=True)
    write_weights(args.out, model)
    print(
        f"held-out loss {held_out_loss(model, test):.4f} after {step} steps, "
        f"{seen / 1e6:.2f} M tokens, {args.minutes:g} minutes"
    )


if __name__ == "__main__":
    main()
