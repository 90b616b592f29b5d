# SPDX-License-Identifier: MIT
"""evaluate.py: how many held-out questions does greedy decoding answer exactly, word for word?

    evaluate.py DIR [--documents 1500] [--wrong 5]

A chat's last answer counts as right if the greedy answer, its end token included, is the expected
one; what the model thinks before it is free. Chats that occur in the documents of a training are
left out, but for those about the world, which ask for what was learned.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import islice

import torch
from tokenizers import Tokenizer
from transformers import Qwen3ForCausalLM

from corpus import Document, documents

HEAD = "<|im_start|>assistant\n"


def split(document: Document) -> tuple[str, str]:
    """(prompt, last answer) of a chat; in thinking mode the thought is part of the answer."""
    cut = document.text.rindex(HEAD) + len(HEAD)
    if not document.spans[-3].counts:  # an empty think block, which the template writes
        cut += len(document.spans[-3].text)
    return document.text[:cut], document.text[cut:-1]


@torch.no_grad()
def greedy(model: Qwen3ForCausalLM, ids: list[int], limit: int, stop: set[int]) -> list[int]:
    """Greedy continuation of at most `limit` tokens; a stop token is the last."""
    made, cache, feed = [], None, ids
    while len(made) < limit and not (made and made[-1] in stop):
        out = model(input_ids=torch.tensor([feed]), past_key_values=cache, use_cache=True)
        cache, feed = out.past_key_values, [int(out.logits[0, -1].argmax())]
        made += feed
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dir")
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--wrong", type=int, default=5, help="wrong answers to show for each kind")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = Qwen3ForCausalLM.from_pretrained(args.dir, dtype=torch.float32).eval()
    tokens = Tokenizer.from_file(f"{args.dir}/tokenizer.json")
    stop = {tokens.token_to_id(t) for t in ("<|im_end|>", "<|endoftext|>")}

    passes = [documents(n) for n in range(1, 9)] + [documents(n, drill=True) for n in range(1, 5)]
    known = {d.text for stream in passes for d in islice(stream, 20000)}
    right, total = Counter(), Counter()
    for document in islice(documents(1, held_out=True), args.documents):
        if document.topic in ("raw", "told") or (
            document.topic != "world" and document.text in known
        ):
            continue
        prompt, answer = split(document)
        room = len(tokens.encode(answer).ids) + (40 if "<think>" in answer else 1)
        got = tokens.decode(
            greedy(model, tokens.encode(prompt).ids, room, stop), skip_special_tokens=False
        )
        kind = document.topic + (", thinking" if "<think>" in answer else "")
        total[kind] += 1
        good = got.split("</think>")[-1] == answer.split("</think>")[-1]
        right[kind] += good
        if not good and total[kind] - right[kind] <= args.wrong:
            print(f"{kind}: {prompt!r}\n  wanted {answer!r}\n  got    {got!r}")
    for kind in sorted(total):
        print(
            f"{kind}: {right[kind]} of {total[kind]} right, {100 * right[kind] / total[kind]:.1f} %"
        )
    print(
        f"all: {right.total()} of {total.total()} right, "
        f"{100 * right.total() / total.total():.1f} %"
    )

    for text in (
        "Once upon a time",
        "One day, a little fox",
        HEAD.replace("assistant", "user") + "Tell me a story about a cat and a ball."
        "<|im_end|>\n" + HEAD + "<think>\n\n</think>\n\n",
    ):
        made = greedy(model, tokens.encode(text).ids, 300, stop)
        print(f"\n{text}[...]{tokens.decode(made, skip_special_tokens=False)}")


if __name__ == "__main__":
    main()
