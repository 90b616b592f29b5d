# SPDX-License-Identifier: MIT
"""reference.py: what transformers makes of the model and of the committed pictures, in float32, for the tests of cke.

    reference.py DIR PICTURES OUT.json

For each prompt: its pictures, its messages or its text, the ids with room for the pictures, and the ids that
greedy decoding adds: up to an end token, which is then the last one, or up to where the two largest logits
nearly tie, since a test must not depend on rounding (`sure` says whether it came to its end).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from PIL import Image

from evaluate import Reader

MOST, LEAST_GAP = 48, 0.05
CHATS = (
    (["red-circle.png"], "What is this?"),
    (["red-circle.png"], "What colour is it?"),
    (["red-circle.png"], "Is it a square?"),
    (["blue-star.jpg"], "What is this?"),
    (["blue-star.jpg"], "Where is it?"),
    (["yellow-heart.png"], "Describe the picture."),
    (["green-triangle-purple-ring.png"], "What do you see?"),
    (["green-triangle-purple-ring.png"], "What is on the right?"),
    ([], "What colour is the sky?"),
    ([], "What do you see?"),
)
TEXTS = (
    (["red-circle.png"], "What is this?"),
    (["yellow-heart.png"], "What colour is the heart?"),
    ([], "Once upon a time"),
)


@torch.no_grad()
def greedy(reader: Reader, prompt: str, images: list) -> tuple[list[int], list[int], bool]:
    """(ids of the prompt, ids that follow, whether they came to their end)"""
    inputs = dict(reader.processor(text=[prompt], images=images or None, return_tensors="pt"))
    asked, made = inputs["input_ids"], []
    while len(made) < MOST:
        inputs["input_ids"] = torch.cat([asked, torch.tensor([made], dtype=asked.dtype)], 1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["mm_token_type_ids"] = (inputs["input_ids"] == reader.model.config.image_token_id).long()
        best = reader.model(**inputs).logits[0, -1].topk(2)
        if best.values[0] - best.values[1] < LEAST_GAP:
            return asked[0].tolist(), made, False
        made.append(int(best.indices[0]))
        if made[-1] in reader.stop:
            break
    return asked[0].tolist(), made, True


def main() -> None:
    directory, pictures, out = (Path(a) for a in sys.argv[1:4])
    torch.set_num_threads(1)
    reader = Reader(directory)
    cases = []
    for names, question in CHATS:
        content = [{"type": "image", "image": n} for n in names] + [{"type": "text", "text": question}]
        turns = [{"role": "user", "content": content}]
        prompt = reader.processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        cases.append({"images": names, "question": question, "messages": turns, "prompt": prompt})
    for names, text in TEXTS:
        shown = "<|vision_start|><|image_pad|><|vision_end|>" * len(names)
        cases.append({"images": names, "text": text, "prompt": shown + text})
    for case in cases:
        images = [Image.open(pictures / n).convert("RGB") for n in case["images"]]
        case["ids"], case["greedy"], case["sure"] = greedy(reader, case["prompt"], images)
        ended = case["greedy"][: -1 if case["greedy"] and case["greedy"][-1] in reader.stop else None]
        case["answer"] = reader.processor.tokenizer.decode(ended)
        print(case["images"], repr(case["prompt"][-60:]), "->", repr(case["answer"]), "" if case["sure"] else "(tie)")
    rows = ",\n".join(json.dumps(case) for case in cases)
    out.write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
