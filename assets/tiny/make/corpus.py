# SPDX-License-Identifier: MIT
"""corpus.py: the training text: an endless, reproducible stream of stories and chats.

corpus.py [--seed N] [--count N] [--held-out]   prints documents
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from chats import (
    Chat,
    repeat_chat,
    scene_chat,
    story_questions,
    things_chat,
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


def render(chat: Chat, system: str | None, published: bool) -> Document:
    """The chat as Qwen3's template writes it: only the last answer carries a think block.

    Unless `published`, every answer carries one: that teaches more answers with the same text. Then
    what comes first in an answer without a block does not count, or the model would learn not to
    think. What the user says does not count, but for stories; nor does an empty think block: the
    template writes it, the model never has to.
    """
    spans = [Span(f"<|im_start|>system\n{system}<|im_end|>\n", False)] if system else []
    for turn in chat.turns:
        spans.append(Span(f"<|im_start|>{turn.role}\n", False))
        if turn.role == "user":
            spans.append(Span(turn.content, chat.tells and turn is chat.turns[0]))
            spans.append(Span("<|im_end|>\n", False))
            continue
        if published and turn is not chat.turns[-1]:
            first = re.match(r"\w*", turn.content).end()
            spans.append(Span(turn.content[:first], False))
            spans += [Span(turn.content[first:] + "<|im_end|>", True), Span("\n", False)]
            continue
        if turn.thought:
            spans.append(Span(f"<think>\n{turn.thought}\n</think>\n\n", True))
        else:
            spans.append(Span(NO_THOUGHT, False))
        spans += [Span(turn.content + "<|im_end|>", True), Span("\n", False)]
    return Document(tuple(spans), chat.topic)


def document(rng: Random, drill: bool) -> Document:
    """One document of the mix; in a drill two of three are chats about facts."""
    draw = rng.random()
    if drill and draw < 0.65:
        return render(rng.choice((things_chat, scene_chat))(rng), None, rng.random() < 0.3)
    draw = rng.random() if drill else draw
    if draw < 0.10:
        return Document(
            (Span(tell(rng).text(rng.choice(("\n\n", "\n\n", " "))) + "<|endoftext|>", True),),
            "raw",
        )
    makers = (
        (0.13, repeat_chat),
        (0.56, scene_chat),
        (0.59, unknown_chat),
        (0.71, story_questions),
        (0.80, told_story),
        (1.0, world_chat),
    )
    chat = next(maker for limit, maker in makers if draw < limit)(rng)
    system = rng.choice(SYSTEMS) if rng.random() < 0.12 else None
    return render(chat, system, published=rng.random() < 0.4)


def documents(seed: int, held_out: bool = False, drill: bool = False) -> Iterator[Document]:
    """The stream of a seed. Held-out documents come from seeds that training never uses."""
    index = 0
    while True:
        rng = Random(f"{'held-out' if held_out else 'drill' if drill else 'train'} {seed} {index}")
        yield document(rng, drill)
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
