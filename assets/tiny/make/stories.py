# SPDX-License-Identifier: MIT
"""stories.py: stories with a small problem and its end, and questions that they answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from words import (
    ACTIVITIES,
    COLOURS,
    DAYS,
    FOODS,
    GROWN_UPS,
    LIGHT_THINGS,
    OUTDOORS,
    PARTS,
    SIZES,
    SPOTS,
    THINGS,
    TRAITS,
    Character,
    a,
    animal,
    cap,
    child,
)


class Story:
    """Sentences, and (question, answer) pairs about them, grown by a scenario."""

    def __init__(self, rng: Random, hero: Character | None = None, thing: str | None = None):
        self.rng = rng
        self.hero = hero or (animal(rng) if rng.random() < 0.4 else child(rng, odd=0.05))
        maker = animal if self.hero.is_animal and rng.random() < 0.7 else child
        self.friend = maker(rng, (self.hero.name, self.hero.kind))
        self.thing = thing or rng.choice(THINGS)
        self.colour = rng.choice(COLOURS)
        self.place = rng.choice(OUTDOORS)
        self.adult = rng.choice(GROWN_UPS)
        self.paragraphs: list[list[str]] = [[]]
        self.qa: list[tuple[str, str]] = []

    def one(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def say(self, *choices: str) -> None:
        """Adds one of the choices, each of which is a sentence or two."""
        text = self.rng.choice(choices)
        text = re.sub(r"(?<=[.!?] )[a-z]", lambda first: first[0].upper(), text)
        self.paragraphs[-1].append(cap(text))

    def maybe(self, chance: float, *choices: str) -> None:
        if self.rng.random() < chance:
            self.say(*choices)

    def ask(self, question: str, answer: str) -> None:
        self.qa.append((cap(question), cap(answer)))

    def pause(self) -> None:
        if self.paragraphs[-1]:
            self.paragraphs.append([])

    def text(self, gap: str = "\n\n") -> str:
        return gap.join(" ".join(p) for p in self.paragraphs if p)

    # --- the parts that all scenarios share -----------------------------------------------------

    def open(self) -> None:
        h, trait = self.hero, self.one(*TRAITS)
        self.say(
            f"Once upon a time, there was {a(trait)} {h.kind} named {h.name}.",
            f"Once upon a time, there was {a(trait)} {h.kind} named {h.name}.",
            f"Once upon a time, {a(trait)} {h.kind} named {h.name} lived near {self.near()}.",
            f"There once was {a(trait)} {h.kind} called {h.name}.",
            f"{h.name} was {a(trait)} {h.kind}.",
            f"In a house near {self.near()} lived {a(trait)} {h.kind} named {h.name}.",
        )
        self.ask("who is the story about?", f"the story is about {h.name}.")
        if h.is_animal:
            self.ask(f"what kind of animal is {h.name}?", f"{h.name} is {a(h.kind)}.")
            self.ask(f"what is the name of the {h.kind}?", f"the {h.kind} is named {h.name}.")
        if self.rng.random() < 0.5:
            fun = self.one(*ACTIVITIES)
            self.say(
                f"{h.name} loved to {fun}.",
                f"{h.he} loved to {fun}.",
                f"More than anything, {h.name} loved to {fun}.",
            )
            self.ask(f"what did {h.name} love to do?", f"{h.name} loved to {fun}.")

    def near(self) -> str:
        return self.one(
            "the sea", "a big forest", "a small village", "a river", "a green hill", "the woods"
        )

    def own_thing(self) -> None:
        h, size = self.hero, self.one(*SIZES)
        self.say(
            f"{h.name} had {a(self.colour)} {self.thing}.",
            f"{h.he} had {a(size)} {self.colour} {self.thing}.",
            f"{h.his} {self.adult} gave {h.him} {a(size)} {self.colour} {self.thing}.",
            f"{h.his} favorite toy was {a(self.colour)} {self.thing}.",
        )
        self.colour_questions()
        self.ask(f"what did {h.name} have?", f"{h.name} had {a(self.colour)} {self.thing}.")

    def colour_questions(self) -> None:
        self.ask(
            f"what {self.one('colour', 'color')} was the {self.thing}?",
            f"the {self.thing} was {self.colour}.",
        )

    def outing(self, with_friend: bool = False) -> None:
        h, f, (_, to) = self.hero, self.friend, self.place
        when = self.one(
            "One day",
            "One day",
            f"One {self.one(*DAYS)}",
            f"One sunny day",
            "One morning",
            f"One day {self.one(*PARTS)}",
        )
        if with_friend:
            self.say(
                f"{when}, {h.name} went {to} with {h.his} friend {f.name}.",
                f"{when}, {h.name} and {h.his} friend {f.name} went {to}.",
            )
            self.ask(f"who went {to} with {h.name}?", f"{f.name} went {to} with {h.name}.")
        else:
            self.say(
                f"{when}, {h.name} went {to}.",
                f"{when}, {h.name} walked {to}.",
                f"{when}, {h.he} went {to} to play.",
            )
        self.ask(f"where did {h.name} go?", f"{h.name} went {to}.")
        self.maybe(
            0.4,
            "The sun was warm and the sky was blue.",
            "The birds were singing.",
            "The wind was soft and cool.",
            "It was a beautiful day.",
            "The flowers smelled sweet.",
            "Big white clouds were in the sky.",
        )

    def meet_friend(self) -> None:
        h, f = self.hero, self.friend
        if f.is_animal:
            self.say(
                f"Then {a(self.one(*TRAITS))} {f.kind} named {f.name} came by.",
                f"Just then, {h.he} met {a(f.kind)} named {f.name}.",
            )
            self.ask(f"what kind of animal is {f.name}?", f"{f.name} is {a(f.kind)}.")
        else:
            self.say(
                f"Then {h.his} friend {f.name} came by.",
                f"Just then, {a(f.kind)} named {f.name} came along.",
            )

    def feel_bad(self) -> None:
        h = self.hero
        word = self.one("sad", "worried", "upset")
        self.say(
            f"{h.name} was very {word}.",
            f"{h.he} felt {word}.",
            f"{h.name} felt {word} and began to cry.",
        )
        self.ask(f"how did {h.name} feel at first?", f"{h.name} felt {word}.")

    def offer(self) -> None:
        h, f = self.hero, self.friend
        self.say(
            f'"Do not worry, {h.name}," said {f.name}. "I will help you."',
            f'"What is wrong?" asked {f.name}. {h.name} told {f.him} everything.',
            f'"I can help," said {f.name} with a smile.',
            f'"Please do not be sad," said {f.name}. "We can do it together."',
        )
        self.ask(f"who helped {h.name}?", f"{f.name} helped {h.name}.")

    def thanks(self) -> None:
        h, f = self.hero, self.friend
        self.say(
            f'"Thank you, {f.name}!" said {h.name}.',
            f'{h.name} smiled. "Thank you so much, {f.name}!"',
            f"{h.name} gave {f.name} a big hug.",
            f'"You are a good friend, {f.name}," said {h.name}.',
        )

    def close(self, *morals: str) -> None:
        h, f = self.hero, self.friend
        self.say(
            f"{h.name} was very happy.",
            f"{h.name} and {f.name} were happy.",
            f"{h.name} and {f.name} laughed and played until the sun went down.",
            f"They played together all day long.",
            f"{h.name} went home with a big smile.",
            f"From that day on, {h.name} and {f.name} were best friends.",
            *morals,
        )
        self.maybe(0.25, "The end.")


# --- scenarios: each one is a problem and how it ends ---------------------------------------------


def lost_thing(s: Story) -> None:
    h, f, t = s.hero, s.friend, s.thing
    wrong, right = s.rng.sample(SPOTS, 2)
    s.own_thing(), s.outing(), s.pause()
    s.say(
        f"But then {h.name} could not find the {t}.",
        f"On the way home, {h.he} saw that the {t} was gone.",
        f'"Oh no! Where is my {t}?" said {h.name}.',
    )
    s.ask(f"what did {h.name} lose?", f"{h.name} lost the {s.colour} {t}.")
    s.feel_bad(), s.meet_friend(), s.offer()
    s.say(
        f"They looked {wrong}, but it was not there.",
        f"First they looked {wrong}. The {t} was not there.",
    )
    s.ask("where did they look first?", f"they looked {wrong} first.")
    s.pause()
    s.say(
        f"Then {f.name} looked {right}. There was the {s.colour} {t}!",
        f"Then {f.name} found the {t} {right}.",
        f'"Look!" said {f.name}. The {t} was {right}.',
    )
    s.ask(f"where was the {t}?", f"the {t} was {right}.")
    s.ask(f"who found the {t}?", f"{f.name} found the {t}.")
    s.thanks(), s.close(f"{h.name} never lost the {t} again.")


def broken_thing(s: Story) -> None:
    h, f, t = s.hero, s.friend, s.thing
    tool = s.one("glue", "tape", "string", "a needle", "a small hammer")
    s.own_thing()
    s.say(
        f"{h.he} played with it every day.",
        f"{h.he} liked it very much.",
        f"{h.he} took it everywhere.",
    )
    s.pause()
    s.say(
        f"One day, {h.name} dropped the {t} and it broke.",
        f"One day, {h.name} fell and the {t} broke.",
        f"One morning, the {t} fell on the floor and broke.",
    )
    s.ask(f"what happened to the {t}?", f"the {t} broke.")
    s.feel_bad(), s.meet_friend(), s.offer()
    s.say(f"{f.name} fixed the {t} with {tool}.", f"{f.name} got {tool} and fixed the {t}.")
    s.ask(f"who fixed the {t}?", f"{f.name} fixed the {t}.")
    s.ask(f"what did {f.name} use to fix the {t}?", f"{f.name} used {tool}.")
    s.pause()
    s.say(f"Soon the {t} was as good as new.", f"Now the {t} was even better than before.")
    s.thanks(), s.close(f"After that, {h.name} was very careful with the {t}.")


def stuck_high(s: Story) -> None:
    h, f = s.hero, s.friend
    t = s.thing = s.one(*LIGHT_THINGS)
    tool = s.one("a long stick", "a ladder", "a rope", "a tall chair")
    high = s.one("tree", "roof", "wall", "tall fence")
    s.own_thing(), s.outing(), s.pause()
    s.say(
        f"The wind was strong, and it blew the {t} up onto a {high}.",
        f"{h.he} threw the {t} too high, and it got stuck on a {high}.",
    )
    s.ask(f"where did the {t} get stuck?", f"the {t} got stuck on a {high}.")
    s.say(
        f"{h.name} jumped and jumped, but {h.he} could not reach it.",
        f"It was too high for {h.name}.",
    )
    s.feel_bad(), s.meet_friend(), s.offer()
    s.say(
        f"{f.name} got {tool} and brought the {t} down.",
        f"{f.name} came back with {tool} and got the {t} down.",
    )
    s.ask(f"what did {f.name} use to get the {t}?", f"{f.name} used {tool}.")
    s.pause(), s.thanks(), s.close(f"{h.name} held the {t} very tight on the way home.")


def sharing(s: Story) -> None:
    h, f, t = s.hero, s.friend, s.thing
    s.own_thing(), s.outing(with_friend=True), s.pause()
    s.say(
        f"{f.name} wanted to play with the {t} too.", f'"Can I play with your {t}?" asked {f.name}.'
    )
    s.ask(f"who wanted to play with the {t}?", f"{f.name} wanted to play with the {t}.")
    s.say(f'"No, it is mine!" said {h.name}.', f"But {h.name} did not want to share.")
    s.say(
        f"{f.name} was sad and sat down {s.one(*SPOTS[2:5], 'alone')}.",
        f"{f.name} walked away and was sad.",
    )
    s.ask(f"how did {f.name} feel?", f"{f.name} felt sad.")
    s.pause()
    s.say(f"{h.name} saw that {f.name} was sad.", f"Then {h.name} felt bad too.")
    s.say(
        f'"I am sorry, {f.name}. Let us share the {t}," {h.he} said.',
        f'"I am sorry," said {h.name}. "You can play with the {t} too."',
    )
    s.ask(f"what did {h.name} share?", f"{h.name} shared the {s.colour} {t}.")
    s.close(f"{h.name} learned that it is fun to share.", "Sharing made them both happy.")


def hungry_animal(s: Story) -> None:
    h = s.hero
    s.friend = f = animal(s.rng, (h.name, h.kind))
    food = s.one(*FOODS)
    s.outing(), s.pause()
    s.say(
        f"There {h.he} saw a thin {f.kind} {s.one(*SPOTS[2:5])}.",
        f"{h.he} heard a sound. It was a sad little {f.kind}.",
    )
    s.ask(f"what animal did {h.name} see?", f"{h.name} saw {a(f.kind)}.")
    s.say(
        f'"Hello, I am {f.name}," said the {f.kind}. "I am so hungry."',
        f'"My name is {f.name}," said the {f.kind}, "and I have no food."',
    )
    s.ask(f"what is the name of the {f.kind}?", f"the {f.kind} is named {f.name}.")
    s.ask(f"who was hungry?", f"{f.name} was hungry.")
    s.say(
        f"{h.name} had some {food} in {h.his} bag.",
        f"{h.name} ran home and came back with some {food}.",
    )
    s.say(f"{h.he} gave the {food} to {f.name}.", f'"Here, you can have my {food}," said {h.name}.')
    s.ask(f"what did {h.name} give to {f.name}?", f"{h.name} gave {food} to {f.name}.")
    s.pause()
    s.say(f"{f.name} ate it all up.", f"{f.name} ate and ate until the food was gone.")
    s.say(f'"Thank you, {h.name}!" said {f.name}.', f'"You are very kind," said {f.name}.')
    s.close(f"{h.name} learned that it is good to help.")


def lost_animal(s: Story) -> None:
    h = s.hero
    s.friend = f = animal(s.rng, (h.name, h.kind))
    where = s.rng.choice([p for p in OUTDOORS if p != s.place])
    s.outing(), s.pause()
    s.say(
        f"{h.he} saw a baby {f.kind} who was all alone.",
        f"There was a little {f.kind} crying {s.one(*SPOTS[2:5])}.",
    )
    s.ask(f"what animal did {h.name} see?", f"{h.name} saw {a(f.kind)}.")
    s.say(
        f'"I am {f.name}, and I cannot find my mom," said the {f.kind}.',
        f'"I am {f.name}. I am lost," said the {f.kind}.',
    )
    s.ask("who was lost?", f"{f.name} was lost.")
    s.say(
        f'"Do not cry, {f.name}," said {h.name}. "We will find her."',
        f'"I will help you find your mom," said {h.name}.',
    )
    s.ask(f"who helped {f.name}?", f"{h.name} helped {f.name}.")
    s.pause()
    s.say(
        f"They walked and walked. At last, they found her {where[0]}.",
        f"They looked everywhere. The mom was {where[0]}!",
    )
    s.ask("where did they find the mom?", f"they found the mom {where[0]}.")
    s.say(
        f"{f.name} ran to {f.his} mom and gave her a big hug.",
        f'"Mom!" said {f.name}. They were so glad.',
    )
    s.close(f"{h.name} waved and went home.")


def afraid(s: Story) -> None:
    h, f = s.hero, s.friend
    fear = s.one(
        "the dark",
        "the thunder",
        "the big dog",
        "the deep water",
        "the loud wind",
        "the tall slide",
    )
    s.say(
        f"{h.name} was afraid of {fear}.", f"There was one problem. {h.name} was afraid of {fear}."
    )
    s.ask(f"what was {h.name} afraid of?", f"{h.name} was afraid of {fear}.")
    s.say(
        f"When {h.he} thought of it, {h.he} wanted to hide {s.one(*SPOTS)}.",
        f"It made {h.him} hide {s.one(*SPOTS)}.",
    )
    s.pause(), s.meet_friend()
    s.say(
        f'"I was afraid too," said {f.name}. "Take my hand."',
        f'"Be brave," said {f.name}. "I am here with you."',
    )
    trick = s.one(
        "sang a song", "counted to ten", "closed their eyes", "took a deep breath", "told a joke"
    )
    s.say(f"They held hands and {trick}.", f"Together they {trick}.")
    s.ask("what did they do together?", f"they {trick}.")
    s.pause()
    s.say(
        f"Soon {h.name} was not afraid of {fear} any more.", f"After that, {fear} was not so scary."
    )
    s.ask(f"who helped {h.name}?", f"{f.name} helped {h.name}.")
    s.thanks(), s.close(f"{h.name} felt very brave.")


def learning(s: Story) -> None:
    h, f = s.hero, s.friend
    skill = s.one(
        "ride a bike",
        "swim",
        "whistle",
        "bake bread",
        "climb a tree",
        "skate",
        "draw a horse",
        "play the drum",
        "tie a knot",
        "jump over the rope",
    )
    s.say(
        f"{h.name} wanted to learn to {skill}.",
        f"There was one thing {h.he} could not do. {h.he} could not {skill}.",
    )
    s.ask(f"what did {h.name} want to learn?", f"{h.name} wanted to learn to {skill}.")
    s.say(
        "It was very hard.",
        f"{h.he} tried once, but it did not work.",
        f"{h.he} tried and tried, but it was too hard.",
    )
    s.feel_bad(), s.pause(), s.meet_friend()
    s.say(
        f'"Try again," said {f.name}. "I will show you how."', f'"I can teach you," said {f.name}.'
    )
    s.ask(f"who taught {h.name}?", f"{f.name} taught {h.name}.")
    days = s.one("two days", "three days", "a week", "many days", "all day", "all week")
    s.say(
        f"{h.name} practiced for {days}."
        if not days.startswith("all")
        else f"{h.name} practiced {days}."
    )
    s.pause()
    s.say(f"At last, {h.name} could {skill}!", f"Then, one day, {h.he} could {skill} all alone!")
    s.say(f'"I did it!" said {h.name}.', f'"Look at me!" {h.he} shouted.')
    s.close(
        f"{h.name} was proud, because {h.he} did not give up.",
        f"{h.name} learned that it is good to try again.",
    )


def present(s: Story) -> None:
    h, f, t = s.hero, s.friend, s.thing
    s.say(f"It was {f.name}'s birthday.", f"Today was the birthday of {h.his} friend {f.name}.")
    s.ask("whose birthday was it?", f"it was {f.name}'s birthday.")
    s.say(
        f"{h.name} wanted to give {f.him} something nice, but {h.he} had no money.",
        f"{h.name} did not know what to give {f.him}.",
    )
    s.pause()
    s.say(
        f"So {h.he} made {a(s.colour)} {t} out of {s.one('wood', 'paper', 'old boxes', 'clay')}.",
        f"Then {h.he} had an idea. {h.he} painted an old {t} {s.colour}.",
    )
    s.colour_questions()
    s.say(
        f"{h.his} {s.adult} helped {h.him}.", f"{h.he} worked on it all day with {h.his} {s.adult}."
    )
    s.ask(f"who helped {h.name}?", f"{h.his} {s.adult} helped {h.name}.")
    s.pause()
    s.say(
        f"{h.name} gave the {t} to {f.name}.",
        f'"Happy birthday, {f.name}!" said {h.name} and gave {f.him} the {t}.',
    )
    s.ask(f"what did {h.name} give to {f.name}?", f"{h.name} gave the {s.colour} {t} to {f.name}.")
    s.say(f'"I love it!" said {f.name}.', f'"It is the best present of all," said {f.name}.')
    s.close(f"They ate cake and sang songs.")


def found_thing(s: Story) -> None:
    h, f, t = s.hero, s.friend, s.thing
    spot = s.one(*SPOTS[2:5], SPOTS[8], SPOTS[9], SPOTS[14])
    s.outing(), s.pause()
    s.say(
        f"{h.he} found {a(s.colour)} {t} {spot}.",
        f"There {h.he} saw {a(s.one(*SIZES))} {s.colour} {t} {spot}.",
    )
    s.ask(f"what did {h.name} find?", f"{h.name} found {a(s.colour)} {t}.")
    s.ask(f"where was the {t}?", f"the {t} was {spot}.")
    s.colour_questions()
    s.say(f'"Whose {t} is this?" said {h.name}.', f"{h.name} liked it, but it was not {h.his} {t}.")
    s.pause(), s.meet_friend()
    s.say(
        f'{f.name} was sad. "I lost my {t}," {f.he} said.',
        f'"Have you seen my {t}?" asked {f.name}.',
    )
    s.ask(f"who lost the {t}?", f"{f.name} lost the {t}.")
    s.say(
        f'"Here it is!" said {h.name} and gave it back.', f"{h.name} gave the {t} back to {f.name}."
    )
    s.say(f'"Thank you, {h.name}!" said {f.name}.', f'"You are so kind," said {f.name}.')
    s.close(f"{h.name} was glad that {h.he} did the right thing.")


def rainy_day(s: Story) -> None:
    h, f = s.hero, s.friend
    weather, noun = s.rng.choice((("rain", "rain"), ("snow", "snow"), ("storm", "storm")))
    game = s.one(
        "built a tent",
        "read a book",
        "painted pictures",
        "baked a cake",
        "made paper boats",
        "played with blocks",
        "sang songs",
        "danced",
    )
    s.say(f"One day, {h.name} and {h.his} friend {f.name} wanted to go {s.place[1]}.")
    s.ask(f"where did {h.name} want to go?", f"{h.name} wanted to go {s.place[1]}.")
    s.say(
        f"But it began to {weather}." if weather != "storm" else "But a big storm came.",
        (
            f"But there was too much {noun}."
            if weather != "storm"
            else "But there was a storm outside."
        ),
    )
    s.say('"Now we cannot play," they said.', f'"This is not fair," said {h.name}.'), s.pause()
    s.say(
        f'"I have an idea," said {f.name}. "We can play inside."',
        f'"Let us stay inside," said {f.name}.',
    )
    s.ask("who had an idea?", f"{f.name} had an idea.")
    s.say(f"So they {game} together.", f"They went in and {game}.")
    s.ask("what did they do inside?", f"they {game}.")
    s.close("It was the best day ever.")


def truth(s: Story) -> None:
    h, t = s.hero, s.one("cup", "bowl", "lamp", "clock", "mug", "chair", "window", "plate")
    s.say(
        f"One day, {h.name} ran in the house and broke {a(s.colour)} {t}.",
        f"One day, {h.name} played in the house and broke {h.his} {s.adult}'s {s.colour} {t}.",
    )
    s.ask(f"what did {h.name} break?", f"{h.name} broke the {s.colour} {t}.")
    s.thing = t
    s.colour_questions()
    s.say(
        f"{h.name} was scared and hid it {s.one(*SPOTS)}.", f"{h.he} did not know what to do."
    ), s.pause()
    s.say(
        f'"What happened to my {t}?" asked {h.his} {s.adult}.', f"Then {h.his} {s.adult} came home."
    )
    s.say(
        f'"I am sorry," said {h.name}. "I broke it."', f"{h.name} told {h.his} {s.adult} the truth."
    )
    s.ask(
        f"who did {h.name} tell the truth to?", f"{h.name} told {h.his} {s.adult} the truth."
    ), s.pause()
    s.say(
        f'{h.his} {s.adult} was not angry. "Thank you for telling me," said {h.his} {s.adult}.',
        f'"It is good that you told me," said {h.his} {s.adult}.',
    )
    s.say(
        f"{h.name} felt much better.",
        f"They cleaned the floor together.",
        f"{h.name} learned to tell the truth.",
    )


def seed(s: Story) -> None:
    h, plant = s.hero, s.one(
        "flower", "apple tree", "pumpkin", "sunflower", "rose", "carrot", "bean"
    )
    s.say(
        f"One day, {h.his} {s.adult} gave {h.him} a little seed.",
        f"One spring day, {h.name} found a tiny seed.",
    )
    spot = s.one("in the garden", "in a pot", "by the gate", "on the hill")
    s.say(
        f"{h.he} put the seed in the ground {spot}."
        if spot != "in a pot"
        else f"{h.he} put the seed in a pot."
    )
    s.ask(
        f"where did {h.name} put the seed?",
        f"{h.name} put the seed " + (spot if spot == "in a pot" else f"in the ground {spot}") + ".",
    )
    s.say(f"{h.he} gave it water every day.", "Every day it got sun and water."), s.pause()
    s.say("But nothing happened.", "But the seed did not grow.")
    s.say(f'"Why is it so slow?" asked {h.name}.', f"{h.name} did not want to wait.")
    s.say(
        f'"You have to wait," said {h.his} {s.adult}.',
        f'"Good things take time," said {h.his} {s.adult}.',
    )
    s.ask(f"who told {h.name} to wait?", f"{h.his} {s.adult} told {h.name} to wait."), s.pause()
    s.say(
        f"Then, one morning, there was {a(s.one('big', 'lovely', 'beautiful'))} {plant}!",
        f"At last, the seed grew into {a(plant)}!",
    )
    s.ask("what did the seed grow into?", f"the seed grew into {a(plant)}.")
    s.say(
        f"{h.name} jumped up and down with joy.",
        f"{h.name} was so happy that {h.he} danced.",
        f"{h.name} was glad that {h.he} waited.",
    )


SCENARIOS: tuple[Callable[[Story], None], ...] = (
    lost_thing,
    broken_thing,
    stuck_high,
    sharing,
    hungry_animal,
    lost_animal,
    afraid,
    learning,
    present,
    found_thing,
    rainy_day,
    truth,
    seed,
)
WITH_THING = (lost_thing, broken_thing, sharing, present, found_thing)


def tell(rng: Random, hero: Character | None = None, thing: str | None = None) -> Story:
    """One story; `hero` and `thing`, where given, are in it."""
    story = Story(rng, hero, thing)
    story.open()
    rng.choice(WITH_THING if thing else SCENARIOS)(story)
    return story
