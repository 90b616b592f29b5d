# SPDX-License-Identifier: MIT
"""evaluate.py: how many questions about pictures that it never saw does the model answer word for word?

    evaluate.py DIR [--pictures 1000] [--text 150] [--wrong 3]

The pictures are drawn at sizes from 64 x 64 to 800 x 600, resized by the image processor of transformers,
and shown in the form of the chat template; answers are greedy.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import torch
from transformers import AutoProcessor

from checkpoint import TINY, load
from drawing import Picture, draw
from talk import about_colour, about_shape, called, missing, place, whereabouts, without_picture, yes_or_no

sys.path.append(str(TINY / "make"))
from corpus import NO_THOUGHT, documents  # noqa: E402

SIZES = ((64, 64), (96, 96), (120, 160), (200, 200), (320, 240), (400, 225), (300, 500), (640, 480), (800, 600))


class Reader:
    """The model with its processor: chats in, answers out."""

    def __init__(self, directory: Path):
        self.model = load(directory).eval()
        self.processor = AutoProcessor.from_pretrained(directory)
        self.stop = set(self.model.generation_config.eos_token_id)

    @torch.no_grad()
    def continue_(self, prompt: str, images: list, most: int = 48) -> str:
        """What greedy decoding adds to a prompt, without the end token."""
        inputs = self.processor(text=[prompt], images=images or None, return_tensors="pt")
        made, cache = [], None
        self.model.model.rope_deltas = None  # those of the prompt before would move the places of this one
        while len(made) < most:
            out = self.model(**inputs, past_key_values=cache, use_cache=True)
            made.append(int(out.logits[0, -1].argmax()))
            if made[-1] in self.stop:
                break
            cache = out.past_key_values
            length = cache.get_seq_length()
            position = torch.full((3, 1, 1), length + int(self.model.model.rope_deltas or 0))
            inputs = {"input_ids": torch.tensor([made[-1:]]), "position_ids": position}
        return self.processor.tokenizer.decode([i for i in made if i not in self.stop])

    def answer(self, question: str, *images) -> str:
        content = [{"type": "image"} for _ in images] + [{"type": "text", "text": question}]
        prompt = self.processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
        )
        return self.continue_(prompt, list(images))


def asked(rng: Random, picture: Picture) -> list[tuple[str, str, str]]:
    """(what is tested, question, answer)"""
    if len(picture.things) == 1:
        thing = picture.things[0]
        found = [
            ("one shape: what it is", "What is this?", f"This is {called(thing)}."),
            ("one shape: described", "Describe the picture.", f"The picture shows {called(thing)}."),
            ("one shape: its colour", *about_colour(rng, thing)),
            ("one shape: which it is", *about_shape(rng, thing)),
            ("one shape: yes or no", *yes_or_no(rng, thing)),
            ("what is not there", *missing(rng, picture)),
        ]
        if place(thing):
            found.append(("one shape: where it is", "Where is it?", f"It is {place(thing)}."))
        return found
    one, two = picture.things
    first, second = whereabouts(picture)
    return [
        ("two shapes: what they are", "What do you see?", f"I see {called(one)} and {called(two)}."),
        (
            "two shapes: described",
            "Describe the picture.",
            f"The picture shows {called(one)} {first} and {called(two)} {second}.",
        ),
        ("two shapes: what is where", f"What is {second}?", f"There is {called(two)} {second}."),
        ("how many", "How many shapes are there?", "There are two shapes."),
    ]


def chats(count: int) -> list[tuple[str, str, str]]:
    """(topic, prompt, answer) of held-out documents of assets/tiny, as this model's template writes them."""
    found = []
    for document in islice(documents(1, held_out=True), count):
        text = document.text.replace(NO_THOUGHT, "")
        if document.topic in ("raw", "told") or "<think>" in text:
            continue
        cut = text.rindex("<|im_start|>assistant\n") + len("<|im_start|>assistant\n")
        found.append((f"chat: {document.topic}", text[:cut], text[cut:].removesuffix("\n").removesuffix("<|im_end|>")))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--text", type=int, default=150)
    parser.add_argument("--wrong", type=int, default=3, help="wrong answers to show for each kind")
    args = parser.parse_args()
    torch.set_num_threads(1)
    reader = Reader(args.dir)
    right, total, confused = Counter(), Counter(), Counter()

    def judge(kind: str, prompt: str, wanted: str, got: str) -> None:
        total[kind] += 1
        right[kind] += got == wanted
        if got != wanted and total[kind] - right[kind] <= args.wrong:
            print(f"{kind}: {prompt!r}\n  wanted {wanted!r}\n  got    {got!r}", flush=True)

    for i in range(args.pictures):
        rng = Random(f"held-out {i}")
        picture = draw(rng, SIZES[i % len(SIZES)], i % 3 == 2)
        questions = asked(rng, picture)
        chosen = questions[:1] + [questions[1 + i // 3 % (len(questions) - 1)]]
        for kind, question, wanted in chosen:
            got = reader.answer(question, picture.image)
            judge(kind, f"{i}: {question}", wanted, got)
            if kind == "one shape: what it is" and got != wanted:
                confused[f"{called(picture.things[0])} -> {got}"] += 1
    for i in range(20):
        question, wanted = without_picture(Random(f"held-out {i}"))
        judge("no picture", question, wanted, reader.answer(question))
    for kind, prompt, wanted in chats(args.text):
        judge(kind, prompt, wanted, reader.continue_(prompt, [], 60))

    for kind in sorted(total):
        print(f"{kind}: {right[kind]} of {total[kind]} right, {100 * right[kind] / total[kind]:.1f} %")
    print("confused:", *(f"{n} x {what}" for what, n in confused.most_common(12)), sep="\n  ")


if __name__ == "__main__":
    main()
