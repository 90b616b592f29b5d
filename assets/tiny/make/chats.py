# SPDX-License-Identifier: MIT
"""chats.py: conversations: questions about a few given facts, about a story, about the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from stories import tell
from words import (
    BOYS,
    COLOURS,
    DAYS,
    FEELINGS,
    FOODS,
    GIRLS,
    NUMBERS,
    PETS,
    PLACES,
    PLURALS,
    SIZES,
    SPECIES,
    SPOTS,
    THINGS,
    Character,
    a,
    animal,
    cap,
    child,
    invented_name,
)

NAME = "Tiny"
NAMES = GIRLS + BOYS + PETS
THINKING = 0.12  # the part of the chats in which the assistant thinks first


@dataclass
class Turn:
    role: str
    content: str
    thought: str = ""


@dataclass
class Chat:
    """Turns of a conversation; the last is the assistant's. `tells`: it begins with a story."""

    turns: list[Turn] = field(default_factory=list)
    tells: bool = False
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
        someone = child(self.rng, tuple(self.used), odd=0.04)
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
            "go": ("goes", "went"),
            "eat": ("eats", "ate"),
        }
        return forms[base][self.past], ("does", "did")[self.past], base

    def owns(self) -> None:
        rng, name = self.rng, self.person().name
        thing, colour = self.new(THINGS), self.new(COLOURS)
        has, does, have = self.verb("have")
        be = self.be()
        size = rng.choice(SIZES) + " " if rng.random() < 0.2 else ""
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
        ]
        self.fact(f"{name} {has} {phrase}.", *qa, (qa[0]))

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
        likes, does, like = self.verb(self.rng.choice(("like", "like", "eat")))
        self.fact(
            f"{who.name} {likes} {food}.",
            (f"what {does} {who.name} {like}?", f"{who.name} {likes} {food}."),
            (f"who {likes} {food}?", f"{who.name} {likes} {food}."),
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

    KINDS = (owns, owns, owns, located, placed, goes, likes, counts, aged, feels, pet)

    def grow(self, count: int, one_kind: Callable[["Scene"], None] | None = None) -> "Scene":
        """Adds facts; often all of one kind, so that only the right one answers."""
        if not one_kind and self.rng.random() < 0.3:
            one_kind = self.rng.choice(self.KINDS)
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


def things_chat(rng: Random) -> Chat:
    """Who has what, and of what colour: the facts that are most easily mixed up."""
    return scene_chat(rng, Scene(rng).grow(rng.choice((2, 2, 3, 3, 4)), Scene.owns))


def scene_chat(rng: Random, scene: Scene | None = None) -> Chat:
    """Facts and one or more questions."""
    scene = scene or Scene(rng).grow(rng.choice((1, 1, 2, 2, 2, 3, 3, 4)))
    text, thinks, chat = scene.text(), rng.random() < THINKING, Chat(topic="facts")
    question, answer, sentence = scene.question()
    gap = rng.choice((" ", " ", " ", "\n", "\n\n"))
    if rng.random() < 0.08:
        chat.add(
            rng.choice((text, f"Listen: {text}", f"Here is what I know. {text}")),
            rng.choice(("I see.", "Okay.")),
        )
        prompt = question
    else:
        prompt = f"{text}{gap}{question}"
    chat.add(prompt, answer, f'The text says: "{sentence}"' if thinks else "")
    asked = {question}
    while rng.random() < 0.65 and len(chat.turns) < 12:
        question, answer, sentence = scene.question()
        if question in asked:
            continue
        asked.add(question)
        if rng.random() < 0.2 and question.startswith(("What", "Who", "Where", "How")):
            question = f"And {question[0].lower() + question[1:]}"
        chat.add(question, answer, f'The text says: "{sentence}"' if thinks else "")
    return chat


def repeat_chat(rng: Random) -> Chat:
    """Words or sentences to say again: the plainest lesson in copying."""
    if rng.random() < 0.7:
        words = NAMES + THINGS + COLOURS + SPECIES + FOODS + NUMBERS
        text = " ".join(rng.sample(words, rng.randint(3, 10)))
    else:
        text = Scene(rng).grow(rng.randint(1, 4)).text()
    wish = rng.choice(("Repeat after me:", "Say this again:", "Repeat this:", "Please repeat:"))
    return Chat(topic="repeat").add(f"{wish} {text}", text)


def unknown_chat(rng: Random) -> Chat:
    """A question about something outside the small world."""
    what = rng.choice(
        (
            rng.choice(STRANGE),
            invented_name(rng),
            invented_name(rng).lower(),
            f"the {invented_name(rng).lower()}",
        )
    )
    question = rng.choice(
        (
            "What is the capital of {}?",
            "Who is {}?",
            "Who was {}?",
            "What is {}?",
            "Where is {}?",
            "When was {}?",
            "Tell me about {}.",
            "What can you tell me about {}?",
            "What do you know about {}?",
            "Explain {}.",
            "How does {} work?",
            "Why is {} important?",
            "Write a program for {}.",
        )
    ).format(what)
    return Chat(topic="unknown").add(
        question,
        "I do not know that. My world is very small.",
        "I do not know this word." if rng.random() < THINKING else "",
    )


# --- stories ----------------------------------------------------------------------------------


def story_questions(rng: Random) -> Chat:
    """A whole story, then questions about it."""
    story = tell(rng)
    text = story.text(rng.choice((" ", "\n\n")))
    qa = rng.sample(story.qa, min(len(story.qa), rng.choice((1, 2, 3, 4, 5))))
    chat = Chat(topic="story", tells=True)
    think = "I look in the story." if rng.random() < THINKING else ""
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
            think,
        )
    else:
        chat.add(
            rng.choice((f"Here is a story. {text}", f"Listen to my story. {text}", text)),
            rng.choice(("That is a nice story.", "I like this story.", "Thank you for the story.")),
        ).add(question, answer, think)
    for question, answer in more:
        chat.add(question, answer, think)
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
    thinks = rng.random() < THINKING
    chat = Chat(topic="told").add(prompt, story.text(), "I will tell a story." if thinks else "")
    if rng.random() < 0.3:
        chat.add(*rng.choice(story.qa), "I look in the story." if thinks else "")
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
STRANGE = (
    "France|Berlin|America|China|London|the president|physics|a computer|the internet|gravity|"
    "Shakespeare|Einstein|Napoleon|democracy|mathematics|a molecule|the economy|a virus|quantum "
    "physics|Python|a transformer|the war|philosophy|electricity|a neural network|history|"
    "Mozart|the government|chemistry|an algorithm|Rome|Africa|money|the law|a galaxy|football"
).split("|")
# the names of a thing, and what there is to say about it
ABOUT: tuple[tuple[tuple[str, ...], str], ...] = tuple(
    (tuple(line.split(": ")[0].split("/")), line.split(": ")[1]) for line in """\
the sea/the ocean: The sea is blue and very deep. Many fish live in it.
the sun: The sun is big, yellow and warm. It rises in the morning.
the moon: The moon is round and white. We see it at night.
the stars/stars: The stars are small lights in the sky. We see them at night.
the sky: The sky is blue. Birds fly in it.
the rain/rain: Rain is water that falls from the clouds. The flowers like it.
the snow/snow: Snow is white and cold. It falls in winter.
the wind/wind: We cannot see the wind. It makes kites fly.
clouds/the clouds: Clouds are white or grey. Rain falls from them.
the forest/forests/the woods: The forest is full of trees. Foxes, owls and bears live there.
the farm/farms: Cows, pigs and sheep live on a farm. The farmer feeds them.
the park/parks: The park is a place to play. There is green grass.
the beach/beaches: The beach is next to the sea. We build towers of sand there.
the garden/gardens: Flowers grow in the garden. They need sun and water.
a river/rivers/the river: A river is long and full of water. It runs to the sea.
school/the school: School is a place to learn. We read and write there.
winter: Winter is cold. There is snow in winter.
summer: Summer is warm. We swim in summer.
spring: In spring the flowers grow and the birds sing.
autumn: In autumn the leaves are yellow and red. They fall from the trees.
night/the night: The night is dark. We sleep at night.
the day/the morning: In the morning the sun rises and we wake up.
flowers/a flower/the flowers: Flowers are pretty and smell sweet. Bees like them.
trees/a tree/the trees: Trees are tall and have green leaves. Birds live in them.
cats/a cat: Cats are soft animals. A cat says meow and likes to eat fish.
dogs/a dog: Dogs are good friends. A dog says woof and likes to eat bones.
birds/a bird: Birds have two legs and can fly. They live in a nest.
fish/a fish: Fish live in the water. They can swim and have no legs.
rabbits/a rabbit: Rabbits have long ears. They like to eat carrots.
bears/a bear: Bears are big and brown. They like to eat honey.
foxes/a fox/the fox: Foxes are orange and clever. They live in a den.
elephants/an elephant: Elephants are big and grey. They have a long nose.
lions/a lion: Lions are strong animals. A lion says roar and likes to eat meat.
frogs/a frog: Frogs are green and can jump. They live in a pond.
bees/a bee: Bees are small and can fly. They make honey.
horses/a horse: Horses are fast and strong. They like to eat hay.
penguins/a penguin: Penguins are black and white birds. They live on the ice.
owls/an owl: Owls sleep by day and fly at night. An owl says hoot.
mice/a mouse: Mice are very small. They like to eat cheese.
ducks/a duck: Ducks can swim and fly. A duck says quack.
cows/a cow: Cows live on a farm and give us milk. A cow says moo.
pigs/a pig: Pigs are pink and live on a farm. A pig says oink.
monkeys/a monkey: Monkeys live in the trees. They like to eat bananas.
squirrels/a squirrel: Squirrels climb trees. They like to eat nuts.
turtles/a turtle: Turtles are slow. They carry a house on their back.
hedgehogs/a hedgehog: Hedgehogs are small and brown. They sleep in winter.
apples/an apple: Apples are red or green. They grow on trees.
bananas/a banana: Bananas are yellow and sweet. Monkeys like them.
carrots/a carrot: Carrots are orange. They grow in the ground.
bread: Bread is food. The baker makes it in the morning.
milk: Milk is white. It comes from cows.
cake/cakes: Cake is sweet. We eat it on a birthday.
honey: Honey is sweet and yellow. Bees make it.
books/a book: A book is full of words and pictures. We read it.
a ball/balls: A ball is a round toy. You can throw it or kick it.
a kite/kites: A kite is a toy that flies in the wind.
a boat/boats: A boat goes on the water.
a train/trains: A train is long and fast. It takes us to far places.
friends/a friend: A friend is kind and helps you. It is good to have friends.
stories/a story: A story tells what happens to somebody. I love stories.
children: Children like to play and to learn.
birthdays/a birthday: On a birthday there is cake, and you get presents.""".splitlines()
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
    (parent, baby), (eater, food), (word, opposite), (what, is_a) = (
        pick(BABY_OF),
        pick(FOOD_OF),
        pick(OPPOSITE),
        pick(IS_A),
    )
    if what.islower() and what not in ("red", "blue", "summer", "winter"):
        what = a(what)
    greeting, reply = rng.choice(talk())
    names, said = rng.choice(ABOUT)
    about = rng.choice(
        (
            "what can you tell me about {}?",
            "what can you tell me about {}?",
            "tell me about {}.",
            "tell me something about {}.",
            "what do you know about {}?",
            "can you tell me about {}?",
        )
    ).format(rng.choice(names))
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
        (f"what is {what}?", f"{what} is {is_a}."),
        add(),
        add(),
        order(NUMBERS[1:], False),
        order(DAYS, True),
        *[(rng.choice(greeting), reply)] * 4,
        *[(about, said)] * 6,
    )
    question, answer = rng.choice(choices)
    return cap(question), cap(answer)


def world_chat(rng: Random) -> Chat:
    chat, think = Chat(topic="world"), "I know this." if rng.random() < THINKING else ""
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        question, answer = world_question(rng)
        if rng.random() < 0.1:
            question = question[0].lower() + question[1:]
        if rng.random() < 0.05:
            question = question.rstrip("?.")
        chat.add(question, answer, think)
    return chat
