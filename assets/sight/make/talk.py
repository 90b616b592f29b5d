# SPDX-License-Identifier: MIT
"""talk.py: questions about a picture, and their answers in whole sentences."""

from __future__ import annotations

from random import Random

from drawing import NAMES, SHAPES, Picture, Thing

QA = tuple[str, str]
NOTHING = "I do not see a picture."
WHAT = (  # question, how its answer begins
    ("What is this?", "This is {}."),
    ("What is it?", "It is {}."),
    ("What do you see?", "I see {}."),
    ("What can you see?", "I see {}."),
    ("What do you see in the picture?", "I see {}."),
    ("What is in the picture?", "There is {} in the picture."),
    ("What is in this picture?", "There is {} in the picture."),
    ("What is on the picture?", "There is {} in the picture."),
    ("What does the picture show?", "The picture shows {}."),
    ("What does this picture show?", "The picture shows {}."),
)
DESCRIBE = ("Describe the picture.", "Describe this picture.", "Tell me about the picture.", "Describe it.")


def article(words: str) -> str:
    return ("an " if words[0] in "aeiou" else "a ") + words


def called(thing: Thing) -> str:
    return article(f"{thing.colour} {thing.shape}")


def whereabouts(picture: Picture) -> tuple[str, str]:
    """Where the two things are."""
    return ("on the left", "on the right") if picture.beside else ("at the top", "at the bottom")


def place(thing: Thing) -> str:
    """Where a thing alone is; "" if that could be said in two ways."""
    words = []
    for at, low, high in ((thing.y, "top", "bottom"), (thing.x, "left", "right")):
        if 0.36 < at < 0.41 or 0.59 < at < 0.64:
            return ""
        words.append(low if at <= 0.36 else high if at >= 0.64 else "")
    vertical, side = words
    if vertical and side:
        return f"in the {vertical} {side} corner"
    return f"at the {vertical}" if vertical else f"on the {side}" if side else "in the middle"


def about_colour(rng: Random, thing: Thing) -> QA:
    it = rng.choice(
        (
            "What colour is it?",
            "What color is it?",
            "Which colour is it?",
            "What is its colour?",
            "What colour is this?",
        )
    )
    the = rng.choice((f"What colour is the {thing.shape}?", f"What color is the {thing.shape}?"))
    return rng.choice(((it, f"It is {thing.colour}."),) * 2 + ((the, f"The {thing.shape} is {thing.colour}."),))


def about_shape(rng: Random, thing: Thing) -> QA:
    shape = article(thing.shape)
    return rng.choice(
        (
            ("Which shape do you see?", f"I see {shape}."),
            ("What shape do you see?", f"I see {shape}."),
            ("What shape is it?", f"It is {shape}."),
            ("Which shape is it?", f"It is {shape}."),
            ("What is its shape?", f"It is {shape}."),
            ("What shape is this?", f"This is {shape}."),
        )
    )


def yes_or_no(rng: Random, thing: Thing) -> QA:
    is_so = rng.random() < 0.5
    if rng.random() < 0.5:
        asked = thing.colour if is_so else rng.choice(NAMES)
        word = "Yes" if asked == thing.colour else "No"
        return f"Is it {asked}?", f"{word}, it is {thing.colour}."
    asked = thing.shape if is_so else rng.choice(SHAPES)
    word = "Yes" if asked == thing.shape else "No"
    return f"Is it {article(asked)}?", f"{word}, it is {article(thing.shape)}."


def missing(rng: Random, picture: Picture) -> QA:
    """A question about what is not there."""
    shape = rng.choice([s for s in SHAPES if all(s != t.shape for t in picture.things)])
    question = rng.choice((f"What colour is the {shape}?", f"Where is the {shape}?", f"Do you see {article(shape)}?"))
    return question, f"I do not see {article(shape)}."


def about_one(rng: Random, picture: Picture) -> QA:
    thing = picture.things[0]
    draw = rng.random()
    if draw < 0.36:
        question, answer = rng.choice(WHAT)
        return question, answer.format(called(thing))
    if draw < 0.44:
        return rng.choice(DESCRIBE), f"The picture shows {called(thing)}."
    if draw < 0.60:
        return about_colour(rng, thing)
    if draw < 0.76:
        return about_shape(rng, thing)
    if draw < 0.86:
        return yes_or_no(rng, thing)
    if draw < 0.90:
        return missing(rng, picture)
    if draw < 0.93:
        return "How many shapes are there?", "There is one shape."
    if draw < 0.97 and place(thing):
        return rng.choice(("Where is it?", f"Where is the {thing.shape}?")), f"It is {place(thing)}."
    if picture.background:
        return "What colour is the background?", f"The background is {picture.background}."
    return "What is this?", f"This is {called(thing)}."


def about_two(rng: Random, picture: Picture) -> QA:
    one, two = picture.things
    first, second = whereabouts(picture)
    which = rng.randrange(2)
    thing, where = picture.things[which], (first, second)[which]
    draw = rng.random()
    if draw < 0.34:
        question, answer = rng.choice(WHAT)
        return question, answer.format(f"{called(one)} and {called(two)}")
    if draw < 0.50:
        return rng.choice(DESCRIBE), f"The picture shows {called(one)} {first} and {called(two)} {second}."
    if draw < 0.72:
        return f"What is {where}?", f"There is {called(thing)} {where}."
    if draw < 0.77:
        return "How many shapes are there?", "There are two shapes."
    if draw < 0.81:
        return missing(rng, picture)
    if one.shape == two.shape:
        return "Which shapes do you see?", f"I see {article(one.shape)} and {article(two.shape)}."
    if draw < 0.91:
        return f"What colour is the {thing.shape}?", f"The {thing.shape} is {thing.colour}."
    if draw < 0.96:
        return f"Where is the {thing.shape}?", f"The {thing.shape} is {where}."
    return f"Which shape is {thing.colour}?", f"The {thing.shape} is {thing.colour}."


def question(rng: Random, picture: Picture) -> QA:
    return (about_one if len(picture.things) == 1 else about_two)(rng, picture)


def careless(rng: Random, asked: str) -> str:
    """As people type."""
    if rng.random() < 0.08:
        asked = asked[0].lower() + asked[1:]
    return asked.rstrip("?.") if rng.random() < 0.06 else asked


def without_picture(rng: Random) -> QA:
    """The same kinds of question, with nothing to see."""
    return rng.choice([q for q, _ in WHAT if q != "What is it?"] + list(DESCRIBE[:3])), NOTHING
