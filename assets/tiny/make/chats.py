# SPDX-License-Identifier: MIT
"""chats.py: conversations: questions about a few given facts, about a story, about the world."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from stories import tell
from words import (
    ACTIVITIES,
    BOYS,
    COLOURS,
    DAYS,
    FEELINGS,
    FOODS,
    GIRLS,
    JOBS,
    MONTHS,
    NUMBERS,
    PETS,
    PLACES,
    PLURALS,
    SIZES,
    SPECIES,
    SPOTS,
    THINGS,
    WEATHER,
    Character,
    a,
    animal,
    cap,
    child,
)

NAME = "Tiny"
NAMES = GIRLS + BOYS + PETS


@dataclass
class Turn:
    role: str
    content: str
    thought: str = ""


@dataclass
class Chat:
    """Turns of a conversation; the last is the assistant's. `thinks` asks for thinking mode."""

    turns: list[Turn] = field(default_factory=list)
    thinks: bool = False
    topic: str = ""

    def add(self, user: str, assistant: str, thought: str = "") -> "Chat":
        self.turns += [Turn("user", user), Turn("assistant", assistant, thought)]
        return self


@dataclass
class Fact:
    """A sentence and the questions that it answers; `hint` is what one thinks of on the way."""

    sentence: str
    qa: list[tuple[str, str]]


# --- a handful of facts about invented people and things ------------------------------------------


class Scene:
    """Facts about different people, so that a question has one answer."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.past = rng.random() < 0.35
        self.used: set[str] = set()
        self.facts: list[Fact] = []

    def new(self, words: list[str] | tuple[str, ...]) -> str:
        """A word that this scene has not used yet."""
        word = self.rng.choice([w for w in words if w not in self.used])
        self.used.add(word)
        return word

    def person(self) -> Character:
        someone = child(self.rng, tuple(self.used), odd=0.12)
        self.used.add(someone.name)
        return someone

    def be(self) -> str:
        return "was" if self.past else "is"

    def fact(self, sentence: str, *qa: tuple[str, str]) -> None:
        self.facts.append(Fact(cap(sentence), [(cap(q), cap(answer)) for q, answer in qa]))

    def verb(self, base: str) -> tuple[str, str, str]:
        """(has, does, have): the verb said, and the two parts that ask for it."""
        forms = {
            "have": ("has", "had"),
            "like": ("likes", "liked"),
            "want": ("wants", "wanted"),
            "see": ("sees", "saw"),
            "give": ("gives", "gave"),
            "go": ("goes", "went"),
            "love": ("loves", "loved"),
            "find": ("finds", "found"),
            "eat": ("eats", "ate"),
        }
        return forms[base][self.past], ("does", "did")[self.past], base

    def owns(self) -> None:
        rng, who, thing, colour, (has, does, have) = (
            self.rng,
            self.person(),
            self.new(THINGS),
            self.new(COLOURS),
            self.verb(self.rng.choice(("have", "have", "have", "see", "want", "find"))),
        )
        be, name, other = self.be(), who.name, rng.choice(COLOURS)
        size = rng.choice(SIZES) + " " if rng.random() < 0.3 else ""
        size = size if have == "have" else ""
        phrase = a(f"{size}{colour} {thing}")
        qa = [
            (
                f"what {rng.choice(('colour', 'colour', 'color'))} {be} the {thing}?",
                f"the {thing} {be} {colour}.",
            ),
            (
                f"what {rng.choice(('colour', 'color'))} {be} {name}'s {thing}?",
                f"{name}'s {thing} {be} {colour}.",
            ),
            (f"what {does} {name} {have}?", f"{name} {has} {phrase}."),
            (
                f"who {has} {rng.choice(('the', 'a'))} {thing}?".replace(
                    " a " + thing, " " + a(thing)
                ),
                f"{name} {has} the {thing}.",
            ),
            (f"what {be} {colour}?", f"the {thing} {be} {colour}."),
            (
                f"{be} the {thing} {other}?",
                (
                    f"yes, the {thing} {be} {colour}."
                    if other == colour
                    else f"no, the {thing} {be} {colour}."
                ),
            ),
            (f"{be} the {thing} {colour}?", f"yes, the {thing} {be} {colour}."),
        ]
        if have != "have":
            del qa[1]
        self.fact(f"{name} {has} {phrase}.", *qa, (qa[0]))

    def coloured(self) -> None:
        thing, colour, be = self.new(THINGS), self.new(COLOURS), self.be()
        self.fact(
            f"the {thing} {be} {colour}.",
            (
                f"what {self.rng.choice(('colour', 'colour', 'color'))} {be} the {thing}?",
                f"the {thing} {be} {colour}.",
            ),
            (f"what {be} {colour}?", f"the {thing} {be} {colour}."),
        )

    def located(self) -> None:
        who, place, be = self.person(), self.new([p[0] for p in PLACES]), self.be()
        self.fact(
            f"{who.name} {be} {place}.",
            (f"where {be} {who.name}?", f"{who.name} {be} {place}."),
            (f"who {be} {place}?", f"{who.name} {be} {place}."),
        )

    def placed(self) -> None:
        thing, spot, be = self.new(THINGS), self.new(SPOTS), self.be()
        self.fact(
            f"the {thing} {be} {spot}.",
            (f"where {be} the {thing}?", f"the {thing} {be} {spot}."),
            (f"what {be} {spot}?", f"the {thing} {be} {spot}."),
        )

    def goes(self) -> None:
        who, place = self.person(), self.new([p[1] for p in PLACES])
        goes, does, go = self.verb("go")
        self.fact(
            f"{who.name} {goes} {place}.",
            (f"where {does} {who.name} go?", f"{who.name} {goes} {place}."),
            (f"who {goes} {place}?", f"{who.name} {goes} {place}."),
        )

    def likes(self) -> None:
        who, food = self.person(), self.new(FOODS)
        likes, does, like = self.verb(self.rng.choice(("like", "love", "eat", "want")))
        self.fact(
            f"{who.name} {likes} {food}.",
            (f"what {does} {who.name} {like}?", f"{who.name} {likes} {food}."),
            (f"who {likes} {food}?", f"{who.name} {likes} {food}."),
        )

    def enjoys(self) -> None:
        who, fun = self.person(), self.new(ACTIVITIES)
        likes, does, like = self.verb(self.rng.choice(("like", "love", "want")))
        self.fact(
            f"{who.name} {likes} to {fun}.",
            (f"what {does} {who.name} {like} to do?", f"{who.name} {likes} to {fun}."),
            (f"who {likes} to {fun}?", f"{who.name} {likes} to {fun}."),
        )

    def counts(self) -> None:
        who, number, what = self.person(), self.new(NUMBERS[2:13]), self.new(PLURALS)
        has, does, have = self.verb("have")
        self.fact(
            f"{who.name} {has} {number} {what}.",
            (f"how many {what} {does} {who.name} {have}?", f"{who.name} {has} {number} {what}."),
            (f"who {has} {number} {what}?", f"{who.name} {has} {number} {what}."),
            (f"what {does} {who.name} {have}?", f"{who.name} {has} {number} {what}."),
        )

    def aged(self) -> None:
        who, number, be = self.person(), self.new(NUMBERS[3:13]), self.be()
        self.fact(
            f"{who.name} {be} {number} years old.",
            (f"how old {be} {who.name}?", f"{who.name} {be} {number} years old."),
        )

    def feels(self) -> None:
        who, feeling, be = self.person(), self.new(FEELINGS), self.be()
        self.fact(
            f"{who.name} {be} {feeling}.",
            (
                f"how {'did' if self.past else 'does'} {who.name} feel?",
                f"{who.name} {be} {feeling}.",
            ),
            (f"who {be} {feeling}?", f"{who.name} {be} {feeling}."),
        )

    def works(self) -> None:
        who, job, be = self.person(), self.new(JOBS), self.be()
        self.fact(
            f"{who.name} {be} {a(job)}.",
            (f"what {be} {who.name}'s job?", f"{who.name} {be} {a(job)}."),
            (f"who {be} the {job}?", f"{who.name} {be} the {job}."),
        )

    def pet(self) -> None:
        who, beast = self.person(), animal(self.rng, tuple(self.used))
        self.used |= {beast.name, beast.kind}
        has, does, have = self.verb("have")
        be, call = self.be(), self.rng.choice(("named", "called"))
        self.fact(
            f"{who.name} {has} {a(beast.kind)} {call} {beast.name}.",
            (
                f"what {be} the name of the {beast.kind}?",
                f"the {beast.kind} {be} {call} {beast.name}.",
            ),
            (f"what animal {does} {who.name} {have}?", f"{who.name} {has} {a(beast.kind)}."),
            (f"who {has} {a(beast.kind)}?", f"{who.name} {has} {a(beast.kind)}."),
            (f"what kind of animal {be} {beast.name}?", f"{beast.name} {be} {a(beast.kind)}."),
        )

    def gives(self) -> None:
        giver, taker, thing = self.person(), self.person(), self.new(THINGS)
        gives, does, give = self.verb("give")
        sentence = f"{giver.name} {gives} {a(thing)} to {taker.name}."
        self.fact(
            sentence,
            (
                f"who {gives} {a(thing)} to {taker.name}?",
                f"{giver.name} {gives} {a(thing)} to {taker.name}.",
            ),
            (f"what {does} {giver.name} {give} to {taker.name}?", sentence),
            (
                f"who {does} {giver.name} {give} the {thing} to?",
                f"{giver.name} {gives} the {thing} to {taker.name}.",
            ),
        )

    def friends(self) -> None:
        one, two, be = self.person(), self.person(), self.be()
        kin = self.rng.choice(("friend", "sister" if two.she else "brother"))
        self.fact(
            f"{one.name}'s {kin} {be} {two.name}.",
            (f"who {be} {one.name}'s {kin}?", f"{one.name}'s {kin} {be} {two.name}."),
        )

    def weather(self) -> None:
        day, kind, be = self.new(DAYS), self.new(WEATHER), self.be()
        self.fact(
            f"{day} {be} {kind}.",
            (f"how {be} the weather on {day}?", f"{day} {be} {kind}."),
            (f"which day {be} {kind}?", f"{day} {be} {kind}."),
        )

    KINDS = (
        owns,
        owns,
        owns,
        owns,
        coloured,
        located,
        placed,
        goes,
        likes,
        enjoys,
        counts,
        aged,
        feels,
        works,
        pet,
        gives,
        friends,
        weather,
    )

    def grow(self, count: int) -> "Scene":
        """Adds facts; often all of one kind, so that only the right one answers."""
        one_kind = self.rng.choice(self.KINDS) if self.rng.random() < 0.35 else None
        while len(self.facts) < count:
            (one_kind or self.rng.choice(self.KINDS))(self)
        return self

    def text(self) -> str:
        joined = " ".join(f.sentence for f in self.facts)
        if (
            len(self.facts) == 2
            and self.rng.random() < 0.2
            and not self.facts[1].sentence.startswith("The ")
        ):
            return self.facts[0].sentence[:-1] + " and " + self.facts[1].sentence
        return joined

    def question(self) -> tuple[str, str, str]:
        fact = self.rng.choice(self.facts)
        question, answer = self.rng.choice(fact.qa)
        return question, answer, fact.sentence


def thought(rng: Random, sentence: str, question: str) -> str:
    return rng.choice(
        (
            f'The question is: "{question}" The text says: "{sentence}"',
            f'I look for the answer in the text. It says: "{sentence}"',
        )
    )


def scene_chat(rng: Random) -> Chat:
    """Facts and one or more questions."""
    scene = Scene(rng).grow(rng.choice((1, 1, 2, 2, 2, 3, 3, 4, 5)))
    text, chat = scene.text(), Chat(thinks=rng.random() < 0.08, topic="facts")
    question, answer, sentence = scene.question()
    gap = rng.choice((" ", " ", " ", "\n", "\n\n"))
    if rng.random() < 0.08:
        chat.add(
            rng.choice((text, f"Listen: {text}", f"Here is what I know. {text}")),
            rng.choice(("I see.", "Okay.")),
        )
        prompt = question
    elif rng.random() < 0.1:
        prompt = f"{question}{gap}{text}"
    else:
        prompt = f"{text}{gap}{question}"
    chat.add(prompt, answer, thought(rng, sentence, question) if chat.thinks else "")
    asked = {question}
    while rng.random() < 0.65 and len(chat.turns) < 12:
        question, answer, sentence = scene.question()
        if question in asked:
            continue
        asked.add(question)
        if rng.random() < 0.2 and question.startswith(("What", "Who", "Where", "How")):
            question = f"And {question[0].lower() + question[1:]}"
        chat.add(question, answer, thought(rng, sentence, question) if chat.thinks else "")
    return chat


def repeat_chat(rng: Random) -> Chat:
    """Words or sentences to say again: the plainest lesson in copying."""
    if rng.random() < 0.7:
        words = NAMES + THINGS + COLOURS + SPECIES + FOODS + NUMBERS
        text = " ".join(rng.sample(words, rng.randint(5, 24)))
    else:
        text = Scene(rng).grow(rng.randint(1, 4)).text()
    wish = rng.choice(("Repeat after me:", "Say this again:", "Repeat this:", "Please repeat:"))
    return Chat(topic="repeat").add(f"{wish} {text}", text)


def unknown_chat(rng: Random) -> Chat:
    """A question that the text does not answer."""
    scene, other = Scene(rng).grow(rng.choice((1, 2, 3))), Scene(rng)
    other.past, other.used = scene.past, set(scene.used)
    kind = rng.choice(
        (
            Scene.located,
            Scene.goes,
            Scene.likes,
            Scene.aged,
            Scene.coloured,
            Scene.placed,
            Scene.counts,
            Scene.friends,
        )
    )
    kind(other)
    question = other.facts[0].qa[0][0]
    return Chat(topic="unknown").add(
        f"{scene.text()} {question}", "I do not know. The text does not say."
    )


# --- stories ----------------------------------------------------------------------------------


def story_questions(rng: Random) -> Chat:
    """A whole story, then questions about it."""
    story = tell(rng)
    text = story.text(rng.choice((" ", "\n\n")))
    qa = rng.sample(story.qa, min(len(story.qa), rng.choice((1, 2, 3, 4))))
    chat = Chat(topic="story")
    (question, answer), *more = qa
    style = rng.random()
    if style < 0.75:
        chat.add(
            rng.choice(
                (
                    f"{text}\n\n{question}",
                    f"{text} {question}",
                    f"Read this story. {text}\n\n{question}",
                    f"{text}\n{question}",
                )
            ),
            answer,
        )
    else:
        chat.add(
            rng.choice((f"Here is a story. {text}", f"Listen to my story. {text}", text)),
            rng.choice(("That is a nice story.", "I like this story.", "Thank you for the story.")),
        ).add(question, answer)
    for question, answer in more:
        chat.add(question, answer)
    return chat


def told_story(rng: Random) -> Chat:
    """A story on request, and sometimes questions about it."""
    style = rng.random()
    if style < 0.35:
        story, wish = tell(rng), rng.choice(("", "", " please"))
        prompt = rng.choice(
            (
                f"Tell me a story{wish}.",
                "Please tell me a story.",
                "Can you tell me a story?",
                "Tell me a short story.",
                "I want to hear a story.",
                "Write a story.",
                "Write a short story.",
            )
        )
    else:
        kind = rng.choice(("child", "animal", "thing", "both"))
        hero = {
            "child": child(rng, odd=0.1),
            "animal": animal(rng),
            "thing": None,
            "both": rng.choice((child(rng, odd=0.1), animal(rng))),
        }[kind]
        thing = rng.choice(THINGS) if kind in ("thing", "both") else None
        story = tell(rng, hero, thing)
        what = []
        if hero:
            what.append(
                rng.choice((f"{a(hero.kind)} named {hero.name}", a(hero.kind)))
                if hero.is_animal
                else rng.choice((hero.name, f"{a(hero.kind)} named {hero.name}", a(hero.kind)))
            )
        if thing:
            what.append(a(thing))
        about = " and ".join(what)
        prompt = rng.choice(
            (
                f"Tell me a story about {about}.",
                f"Please tell me a story about {about}.",
                f"Write a story about {about}.",
                f"Tell me a short story about {about}.",
                f"Can you tell me a story about {about}?",
            )
        )
    chat = Chat(topic="told").add(prompt, story.text())
    if rng.random() < 0.3:
        chat.add(*rng.choice(story.qa))
    return chat


# --- the world --------------------------------------------------------------------------------


def table(text: str) -> dict[str, str]:
    """Reads "key: value, key: value"."""
    return dict(entry.split(": ") for entry in text.split(", "))


COLOUR_OF = table(
    "the sky: blue, grass: green, snow: white, the sun: yellow, a banana: yellow, a "
    "strawberry: red, a carrot: orange, coal: black, milk: white, a leaf: green, a tomato: "
    "red, a lemon: yellow, a pumpkin: orange, a frog: green, an elephant: grey, a pig: "
    "pink, the sea: blue, the night: black, chocolate: brown, a plum: purple, a cloud: "
    "white, a fox: orange, a bear: brown, a fire truck: red"
)
SOUND_OF = table(
    "dog: woof, cat: meow, cow: moo, duck: quack, sheep: baa, pig: oink, lion: roar, bee: "
    "buzz, owl: hoot, mouse: squeak, frog: croak, horse: neigh, bird: tweet, snake: hiss"
)
LEGS_OF = table(
    "dog: four, cat: four, bird: two, spider: eight, ant: six, horse: four, duck: two, bee: "
    "six, snake: no, fish: no, cow: four, frog: four, penguin: two, elephant: four, lion: "
    "four"
)
HOME_OF = table(
    "bird: in a nest, fish: in the water, bee: in a hive, bear: in a cave, fox: in a den, "
    "frog: in a pond, cow: on a farm, lion: in the grassland, monkey: in the trees, "
    "penguin: on the ice, rabbit: in a hole, owl: in a tree, camel: in the desert, spider: "
    "in a web"
)
BABY_OF = table(
    "dog: puppy, cat: kitten, cow: calf, sheep: lamb, duck: duckling, bear: cub, horse: "
    "foal, frog: tadpole, hen: chick, goat: kid, pig: piglet, lion: cub"
)
FOOD_OF = table(
    "rabbit: carrots, mouse: cheese, monkey: bananas, cow: grass, squirrel: nuts, bear: "
    "honey, cat: fish, dog: bones, bird: seeds, horse: hay, lion: meat, penguin: fish, "
    "frog: flies"
)
OPPOSITE = table(
    "big: small, hot: cold, up: down, day: night, happy: sad, fast: slow, old: new, wet: "
    "dry, open: closed, full: empty, light: dark, tall: short, hard: soft, loud: quiet, "
    "good: bad, in: out, left: right, clean: dirty, young: old, early: late"
)
IS_A = table(
    "dog: an animal, cat: an animal, apple: a fruit, banana: a fruit, carrot: a vegetable, "
    "rose: a flower, red: a colour, blue: a colour, Monday: a day, May: a month, ball: a "
    "toy, kite: a toy, chair: a thing to sit on, bed: a thing to sleep in, book: a thing to "
    "read, car: a thing to drive, bird: an animal, oak: a tree, hammer: a tool, drum: a "
    "thing to play music on, summer: a season, winter: a season, pear: a fruit"
)
SEASONS = "spring summer autumn winter".split()
USE_OF = table(
    "see: eyes, hear: ears, smell: nose, walk: legs, taste: tongue, think: head, wave: "
    "hand, kick: foot"
)


def talk() -> list[tuple[tuple[str, ...], str]]:
    """What one says to whom one meets; several ways to ask, one answer."""
    return [
        (
            ("Who are you?", "What are you?", "Tell me about yourself.", "Introduce yourself."),
            f"I am {NAME}, a small language model. I can tell stories and answer questions.",
        ),
        (
            ("What is your name?", "What are you called?", "Do you have a name?"),
            f"My name is {NAME}.",
        ),
        (
            ("What can you do?", "How can you help me?", "What do you do?", "Help!", "Help me."),
            "I can tell you a story, or answer a question about a story.",
        ),
        (
            ("Hello", "Hello!", "Hi", "Hi!", "Hello there!", "Hey!", "Good day!", "hello", "hi"),
            "Hello! How can I help you?",
        ),
        (("Good morning!", "Good morning"), "Good morning! How can I help you?"),
        (
            ("How are you?", "How are you today?", "How do you feel?"),
            "I am fine, thank you. How are you?",
        ),
        (
            ("Thank you!", "Thanks!", "Thank you.", "Thank you so much!", "thanks"),
            "You are welcome!",
        ),
        (("Goodbye!", "Bye!", "Good night!", "See you!", "bye"), "Goodbye! Have a nice day!"),
        (
            ("Are you a person?", "Are you a human?", "Are you real?"),
            "No, I am a small language model.",
        ),
        (("Do you like stories?", "Do you like to tell stories?"), "Yes, I love stories!"),
        (
            ("Who made you?", "Where do you come from?"),
            "I was trained with a small script on stories that a program wrote.",
        ),
        (("How old are you?",), "I am very young. I was trained in less than an hour."),
        (
            ("What is your favourite colour?", "What is your favorite color?"),
            "I like blue, because the sky is blue.",
        ),
        (
            ("How many days are in a week?", "How many days does a week have?"),
            "A week has seven days.",
        ),
        (
            ("How many months are in a year?", "How many months does a year have?"),
            "A year has twelve months.",
        ),
        (
            ("How many seasons are there?", "What are the seasons?"),
            "There are four seasons: spring, summer, autumn and winter.",
        ),
        (
            ("What are the days of the week?", "Name the days of the week."),
            "The days of the week are " + ", ".join(DAYS[:-1]) + f" and {DAYS[-1]}.",
        ),
        (("When does the sun rise?",), "The sun rises in the morning."),
        (("When do we see the stars?", "When can we see the moon?"), "We see them at night."),
        (("Count to five.", "Can you count to five?"), "One, two, three, four, five."),
        (("Count to ten.", "Can you count to ten?"), cap(", ".join(NUMBERS[1:11])) + "."),
        (
            ("How many fingers do you have on one hand?", "How many fingers are on a hand?"),
            "A hand has five fingers.",
        ),
    ]


def world_question(rng: Random) -> tuple[str, str]:
    """A question that needs no text, and its answer."""

    def pick(table: dict[str, str]) -> tuple[str, str]:
        return rng.choice(list(table.items()))

    def add() -> tuple[str, str]:
        x, y = rng.randint(1, 5), rng.randint(1, 5)
        return (
            rng.choice(
                (
                    f"what is {NUMBERS[x]} plus {NUMBERS[y]}?",
                    f"how much is {NUMBERS[x]} and {NUMBERS[y]}?",
                )
            ),
            f"{NUMBERS[x]} plus {NUMBERS[y]} is {NUMBERS[x + y]}.",
        )

    def order(words: list[str] | tuple[str, ...], wraps: bool) -> tuple[str, str]:
        i = rng.randrange(len(words) if wraps else len(words) - 1)
        before, after = words[i], words[(i + 1) % len(words)]
        return rng.choice(
            (
                (f"what comes after {before}?", f"{after} comes after {before}."),
                (f"what comes before {after}?", f"{before} comes before {after}."),
            )
        )

    (thing, colour), (beast, sound), (legged, legs), (homed, home) = (
        pick(COLOUR_OF),
        pick(SOUND_OF),
        pick(LEGS_OF),
        pick(HOME_OF),
    )
    (parent, baby), (eater, food), (word, opposite), (what, is_a), (do, part) = (
        pick(BABY_OF),
        pick(FOOD_OF),
        pick(OPPOSITE),
        pick(IS_A),
        pick(USE_OF),
    )
    greeting, reply = rng.choice(talk())
    choices = (
        (
            rng.choice(
                (f"what colour is {thing}?", f"what color is {thing}?", f"which colour is {thing}?")
            ),
            f"{thing} is {colour}.",
        ),
        (
            rng.choice(
                (
                    f"what does a {beast} say?".replace("a owl", "an owl"),
                    f"what sound does {a(beast)} make?",
                )
            ),
            f"{a(beast)} says {sound}.",
        ),
        (
            rng.choice(
                (f"how many legs does {a(legged)} have?", f"how many legs has {a(legged)}?")
            ),
            f"{a(legged)} has {legs} legs.",
        ),
        (
            rng.choice((f"where does {a(homed)} live?", f"what is the home of {a(homed)}?")),
            f"{a(homed)} lives {home}.",
        ),
        (
            rng.choice((f"what is a baby {parent} called?", f"what do you call a baby {parent}?")),
            f"a baby {parent} is called {a(baby)}.",
        ),
        (
            rng.choice((f"what does {a(eater)} eat?", f"what does {a(eater)} like to eat?")),
            f"{a(eater)} likes to eat {food}.",
        ),
        (
            rng.choice((f"what is the opposite of {word}?", f"tell me the opposite of {word}.")),
            f"the opposite of {word} is {opposite}.",
        ),
        (
            (
                f"what is {a(what)}?"
                if what.islower() and what not in ("red", "blue", "summer", "winter")
                else f"what is {what}?"
            ),
            (
                f"{a(what)} is {is_a}."
                if what.islower() and what not in ("red", "blue", "summer", "winter")
                else f"{what} is {is_a}."
            ),
        ),
        (f"what do we {do} with?", f"we {do} with our {part}{'s' if part in ('hand',) else ''}."),
        add(),
        add(),
        order(NUMBERS[1:], False),
        order(DAYS, True),
        order(MONTHS, True),
        order(SEASONS, True),
        (rng.choice(greeting), reply),
        (rng.choice(greeting), reply),
        (rng.choice(greeting), reply),
    )
    question, answer = rng.choice(choices)
    return cap(question), cap(answer)


def world_chat(rng: Random) -> Chat:
    chat = Chat(topic="world", thinks=rng.random() < 0.06)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        question, answer = world_question(rng)
        think = (
            rng.choice(("This is a simple question. I know the answer.", "I know this."))
            if chat.thinks
            else ""
        )
        chat.add(
            question if rng.random() < 0.9 else question[0].lower() + question[1:], answer, think
        )
    return chat
