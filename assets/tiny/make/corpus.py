# SPDX-License-Identifier: MIT
"""corpus.py: the training text: an endless, reproducible stream of stories and chats.

corpus.py [--seed N] [--count N] [--held-out]   prints documents
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from chats import (
    Chat,
    repeat_chat,
    scene_chat,
    story_questions,
    told_story,
    unknown_chat,
    world_chat,
)
from stories import tell

SYSTEMS = (
    "You are a helpful assistant.",
    "You are Tiny, a small and friendly assistant.",
    "Answer in one short sentence.",
    "You tell stories and answer questions.",
)
NO_THOUGHT = "<think>\n\n</think>\n\n"


@dataclass(frozen=True)
class Span:
    """A piece of a document, and whether its tokens count in the loss."""

    text: str
    counts: bool


@dataclass(frozen=True)
class Document:
    spans: tuple[Span, ...]
    topic: str

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)


def render(chat: Chat, system: str | None) -> Document:
    """The chat as Qwen3's template writes it: only the last answer carries a think block.

    What the user says does not count in the loss: it cannot be foretold. Nor does an empty think
    block: the template writes it, the model never has to.
    """
    spans = [Span(f"<|im_start|>system\n{system}<|im_end|>\n", False)] if system else []
    for turn in chat.turns:
        last = turn is chat.turns[-1]
        spans.append(Span(f"<|im_start|>{turn.role}\n", False))
        if turn.role == "user":
            spans.append(Span(turn.content + "<|im_end|>\n", False))
            continue
        if last and turn.thought:
            spans.append(Span(f"<think>\n{turn.thought}\n</think>\n\n", True))
        elif last:
            spans.append(Span(NO_THOUGHT, False))
        spans += [Span(turn.content + "<|im_end|>", True), Span("\n", False)]
    return Document(tuple(spans), chat.topic)


def document(rng: Random) -> Document:
    """One document of the mix."""
    draw = rng.random()
    if draw < 0.15:
        return Document(
            (Span(tell(rng).text(rng.choice(("\n\n", "\n\n", " "))) + "<|endoftext|>", True),),
            "raw",
        )
    makers = (
        (0.22, repeat_chat),
        (0.60, scene_chat),
        (0.64, unknown_chat),
        (0.77, story_questions),
        (0.86, told_story),
        (1.0, world_chat),
    )
    chat = next(maker for limit, maker in makers if draw < limit)(rng)
    return render(chat, rng.choice(SYSTEMS) if rng.random() < 0.15 else None)


def documents(seed: int, held_out: bool = False) -> Iterator[Document]:
    """The stream of a seed. Held-out documents come from seeds that training never uses."""
    index = 0
    while True:
        yield document(Random(f"{'held-out' if held_out else 'train'} {seed} {index}"))
        index += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--held-out", action="store_true")
    args = parser.parse_args()
    for _, doc in zip(range(args.count), documents(args.seed, args.held_out)):
        print(doc.text)
        print("-" * 60)


if __name__ == "__main__":
    main()
