# SPDX-License-Identifier: MIT
"""random_schema.py: a random JSON Schema of what docs/serve.md lists, whose documents come to an end."""
import random

NAMES = ["name", "age", "tags", "a", "ab", "ac", "é", "kind", "list", "x y", 'quo"te', "", "value", "next"]
PATTERNS = ["^[a-z]{1,5}$", "^(yes|no|maybe)$", "^[A-F0-9]{4}$", "^\\d{3}-\\d{2}$", "^a.?b$", "^[^x]{2,4}$", "^(ab){0,3}c$"]


def text(rng: random.Random) -> dict:
    kind = rng.random()
    if kind < 0.15:
        return {"type": "string", "pattern": rng.choice(PATTERNS)}
    if kind < 0.3:
        return {"type": "string", "format": rng.choice(["date", "uuid", "ipv4"])}
    least = rng.randint(0, 4)
    return {"type": "string", "maxLength": least + rng.randint(0, 8)} | ({"minLength": least} if least else {})


def number(rng: random.Random) -> dict:
    s: dict = {"type": rng.choice(["integer", "integer", "number"])}
    least = rng.choice([-100000, -37, -1, 0, 1, 5, 99, 12345])
    if rng.random() < 0.5:
        s[rng.choice(["minimum", "exclusiveMinimum"])] = least
    if rng.random() < 0.5:
        s[rng.choice(["maximum", "exclusiveMaximum"])] = least + rng.choice([2, 3, 10, 1000, 654321])
    return s


def constant(rng: random.Random):
    return rng.choice([None, True, False, 0, -3, 12, 2.5, "", "red", 'a"b', "é", "\\n", [1, "x"], {"k": [None]}])


def schema(rng: random.Random, depth: int = 0) -> dict:
    kind = rng.random() * (1 if depth < 3 else 0.6)
    if kind < 0.2:
        return text(rng)
    if kind < 0.35:
        return number(rng)
    if kind < 0.42:
        return {"type": rng.choice(["boolean", "null"])}
    if kind < 0.5:
        return {"const": constant(rng)}
    if kind < 0.6:
        return {"enum": rng.sample([None, True, 0, 17, -2.5, "red", "green", "blue and green", [1], {"k": 1}], rng.randint(1, 5))}
    if kind < 0.66:
        return {"type": rng.sample(["boolean", "null", "integer"], 2)}
    if kind < 0.73:
        return {"anyOf": [schema(rng, depth + 1) for _ in range(rng.randint(1, 3))]}
    if kind < 0.83:
        return array(rng, depth)
    return thing(rng, depth)


def array(rng: random.Random, depth: int) -> dict:
    s: dict = {"type": "array"}
    first = [schema(rng, depth + 1) for _ in range(rng.randint(1, 2))] if rng.random() < 0.3 else []
    if first:
        s["prefixItems"] = first
    if first and rng.random() < 0.5:
        s["items"] = False
    else:
        s["items"] = schema(rng, depth + 1)
        least = rng.randint(0, 2)
        s |= {"minItems": least, "maxItems": max(least, len(first)) + rng.randint(0, 2)}
    return s


def thing(rng: random.Random, depth: int) -> dict:
    names = rng.sample(NAMES, rng.randint(0, 4))
    s: dict = {"type": "object", "properties": {n: schema(rng, depth + 1) for n in names}, "required": [n for n in names if rng.random() < 0.6], "additionalProperties": False}
    if depth == 0 and rng.random() < 0.2:  # a list of itself, of any length
        s["properties"]["next"] = {"anyOf": [{"type": "null"}, {"$ref": "#"}]}
    return s
