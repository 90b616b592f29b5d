# SPDX-License-Identifier: MIT
"""words.py: the vocabulary of the tiny world, and the little grammar that joins it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

GIRLS = (
    "Mia Lily Anna Sara Emma Lucy Ella Zoe Rosa Nina Ivy Kate Amy Ruby Maya Tara Jane Eva "
    "Clara Lena"
).split()
BOYS = (
    "Tom Ben Sam Max Leo Jack Tim Finn Noah Adam Luke Omar Dan Paul Hugo Oscar Theo Nico Ravi "
    "Eli"
).split()
PETS = "Pip Coco Momo Dot Rex Spot Fluffy Lulu Buddy Daisy Milo Nibbles Hazel Sunny Bramble".split()
SPECIES = (
    "fox rabbit bear mouse duck cat dog frog bird squirrel hedgehog owl turtle pig lamb pony "
    "kitten puppy deer goat monkey elephant lion penguin"
).split()
GROWN_UPS = "mom dad grandma grandpa aunt uncle sister brother".split()

COLOURS = "red blue green yellow orange purple pink white black brown grey".split()
THINGS = (
    "ball kite book doll hat cup drum boat car train box bag scarf coat spoon balloon blanket "
    "pencil basket flute bell ribbon lamp key shell button ring umbrella truck robot whistle "
    "bucket shovel bike sled mug bowl chair clock flag sock shoe star brush"
).split()
LIGHT_THINGS = "ball kite hat scarf balloon ribbon ring shoe sock flag coat whistle doll".split()
SIZES = "big small little tiny new old shiny pretty lovely nice".split()
TRAITS = "little kind happy brave clever quiet funny gentle small curious cheerful young".split()
FEELINGS = "happy sad tired hungry cold scared angry sleepy proud excited lonely thirsty".split()
PARTS = "in the morning|after lunch|in the afternoon|after breakfast|in the evening".split("|")
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
).split()
PLURALS = (
    "apples balls books cups pencils flowers shells stones eggs stars cookies buttons "
    "bananas carrots leaves nuts coins cards hats fish"
).split()
FOODS = (
    "apples cake bread soup cookies honey carrots berries cheese bananas nuts pancakes milk pie "
    "rice pears grapes corn noodles plums"
).split()
ACTIVITIES = (
    "paint|sing|dance|run|read books|draw|swim|jump|climb trees|play music|cook|pick "
    "flowers|build towers|look at the stars|fly kites|play ball|tell jokes|help people|"
    "ride a bike|splash in puddles"
).split("|")

# (where somebody is, where somebody goes)
PLACES = tuple(
    (f"{at} {place}", f"to {place}")
    for at, place in (
        ("in", "the park"),
        ("in", "the garden"),
        ("at", "the beach"),
        ("in", "the forest"),
        ("at", "the lake"),
        ("by", "the river"),
        ("at", "school"),
        ("on", "the farm"),
        ("in", "the kitchen"),
        ("at", "the market"),
        ("in", "the meadow"),
        ("on", "the hill"),
        ("in", "the village"),
        ("at", "the zoo"),
        ("at", "the playground"),
        ("in", "the library"),
        ("in", "the barn"),
        ("at", "the shop"),
        ("in", "the bedroom"),
        ("at", "the pond"),
    )
)
OUTDOORS = tuple(
    p
    for p in PLACES
    if p[1].split()[-1]
    in "park garden beach forest lake river farm meadow hill playground pond".split()
)
SPOTS = (
    "under the bed|behind the sofa|under a bush|behind a tree|in the tall grass|under the table|"
    "in a box|behind the door|next to the pond|near the gate|inside a basket|under the leaves|"
    "on the shelf|by the window|behind a rock|under the stairs"
).split("|")


@dataclass(frozen=True)
class Character:
    """Somebody in a story; `kind` is "girl", "boy" or a species."""

    name: str
    kind: str
    she: bool

    @property
    def he(self) -> str:
        return "she" if self.she else "he"

    @property
    def him(self) -> str:
        return "her" if self.she else "him"

    @property
    def his(self) -> str:
        return "her" if self.she else "his"

    @property
    def is_animal(self) -> bool:
        return self.kind not in ("girl", "boy")


def a(phrase: str) -> str:
    """The phrase with its indefinite article: a ball, an old ball."""
    return ("an " if phrase[0] in "aeiou" and not phrase.startswith("uni") else "a ") + phrase


def cap(text: str) -> str:
    return text[0].upper() + text[1:]


def invented_name(rng: Random) -> str:
    """A name nobody has heard of, so that a model must copy it and cannot know it."""
    syllables = [
        rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(2, 3))
    ]
    return cap("".join(syllables)) + rng.choice(("", "", "n", "l", "s"))


def child(rng: Random, but_not: tuple[str, ...] = (), odd: float = 0.0) -> Character:
    """A girl or boy; with probability `odd` under an invented name."""
    she = rng.random() < 0.5
    while True:
        name = invented_name(rng) if rng.random() < odd else rng.choice(GIRLS if she else BOYS)
        if name not in but_not:
            return Character(name, "girl" if she else "boy", she)


def animal(rng: Random, but_not: tuple[str, ...] = (), kind: str | None = None) -> Character:
    """An animal of a kind, if one is given; no word in `but_not` is its name or its kind."""
    name = rng.choice([p for p in PETS if p not in but_not])
    kind = kind or rng.choice([s for s in SPECIES if s not in but_not])
    return Character(name, kind, rng.random() < 0.5)
