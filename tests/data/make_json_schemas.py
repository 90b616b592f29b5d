#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes json_schemas.json: schemas, and texts with what the PyPI package jsonschema (4.26) says of them.

usage: make_json_schemas.py > json_schemas.json

A grammar may allow less than a schema: no other properties than those listed, the listed order,
little white space, numbers of at most 16 digits. The texts here are such that it must agree.
"""
import itertools
import json
import random

import jsonschema

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {"node": {"type": "object", "properties": {"v": {"type": "number"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["v"]}},
    "$ref": "#/$defs/node",
}
PETS = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind", "lives"]},
        {"type": "object", "properties": {"kind": {"const": "dog"}, "name": {"type": "string"}}, "required": ["kind"]},
        {"type": "null"},
    ]
}
OPTIONAL = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}, "required": ["b"], "additionalProperties": False}
EXTRA = {"type": "object", "properties": {"ab": {"type": "integer"}, "ac": {"type": "integer"}, "é": {"type": "null"}}, "additionalProperties": {"type": "string"}}

DOCUMENTS = [
    (PERSON, [{"name": "Ada", "age": 36}, {"name": "", "age": -1, "tags": []}, {"name": "é\n\"", "age": 0, "tags": ["a", "b"]}, {"name": "x"}, {"name": 1, "age": 2},
              {"name": "x", "age": 1.5}, {"name": "x", "age": 1, "tags": [1]}, {"name": "x", "age": 1, "more": 1}, [], "x", {}]),
    (TREE, [{"v": 1}, {"v": -1.5e3, "kids": [{"v": 0}, {"v": 2, "kids": []}]}, {"kids": []}, {"v": "1"}, {"v": 1, "kids": [{}]}]),
    (PETS, [{"kind": "cat", "lives": 9}, {"kind": "dog"}, {"kind": "dog", "name": "Rex"}, None, {"kind": "cat"}, {"kind": "cow"}, {}, 1]),
    (OPTIONAL, [dict.fromkeys(keys) for n in range(4) for keys in itertools.combinations("abc", n)]),
    (EXTRA, [{}, {"ab": 1}, {"a": "x"}, {"ab": 1, "ac": 2, "é": None, "abc": "x", "": "y"}, {"ab": "x"}, {"abc": 1}, {"è": "x"}, {"ac": 1, "è": "z"}]),
    ({"type": "object", "required": ["x", "y"]}, [{"x": 1, "y": []}, {"x": 1}, {"x": None, "y": "s", "z": {"q": [1, 2]}}]),
    ({"enum": ["red", 3, None, {"a": [1]}, "a\"b"]}, ["red", 3, None, "blue", 4, "a\"b"]),
    ({"type": "string", "enum": ["a", "b", 1]}, ["a", "b", 1, "c"]),
    ({"type": ["string", "null", "boolean"]}, ["x", None, True, False, 1, []]),
    ({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "boolean"}}]}, [1, [True], [], [1], "x"]),
    ({"allOf": [{"$ref": "#/$defs/s"}], "$defs": {"s": {"type": "string"}}}, ["x", 1]),
    ({"type": "string", "minLength": 2, "maxLength": 4}, ["", "a", "ab", "abcd", "abcde", "éé", "\U0001F600\U0001F600", "\U0001F600", "\"\\\n"]),
    ({"type": "string", "minLength": 3}, ["ab", "abc", "x" * 50]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}, [[1] * n for n in range(6)]),
    ({"type": "array", "items": {"type": "integer"}, "maxItems": 0}, [[], [1]]),
    ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, [[1] * n for n in range(5)]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, [[1] * n for n in range(5)]),
    ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}, [[], [1], [1, "x"], ["x"], [1, "x", 2], [1, 2]]),
    ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}, "minItems": 1, "maxItems": 3},
     [[], [1], [1, "x"], [1, "x", None], [1, "x", None, None], [1, "x", 1], ["x"]]),
    ({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "null"}, "minItems": 3}, [[], [1], [1, None], [1, None, None], [1, None, None, None]]),
    ({}, [None, True, 1, -0.5, "x", [], [1, [2, {}]], {}, {"a": {"b": [{}]}}]),
    ({"type": "object"}, [{}, {"a": 1}, [], 1]),
    ({"type": "boolean"}, [True, False, None, 0]),
    ({"type": "object", "properties": {}, "additionalProperties": False}, [{}, {"a": 1}]),
]
PATTERNS = [
    ("^[a-z]{2,4}$", ["a", "ab", "abcd", "abcde", "aB", ""]),
    ("^(ab|c)+d?$", ["ab", "c", "abcd", "cabd", "d", "", "abd", "abdd"]),
    ("b+", ["b", "abba", "a", "", "xxb"]),
    ("^x", ["x", "xyz", "ax"]),
    ("x$", ["x", "zyx", "xa"]),
    ("^\\d{3}-\\d{4}$", ["123-4567", "1234567", "123-456"]),
    ("^[^\"\\\\]+$", ["abc", "a\"b", "a\\b", "é", ""]),
    ("^[\"\\\\/\\n]*$", ["\"", "\\", "/", "\n", "\\\"/", "a", ""]),
    ("^\\S+@\\S+\\.(com|org)$", ["a@b.com", "a@b.net", "a b@c.org", "é@ü.org"]),
    ("^.$", ["a", "é", "\"", "\\", "ab", ""]),
    ("^(?:a|b)*?c\\$$", ["c$", "abac$", "c"]),
    ("^\\u0041\\x42[\\d_-]$", ["AB1", "AB_", "AB-", "ABC"]),
    ("^[^a-y]$", ["z", "a", "\"", "\\", "0"]),
    ("^$", ["", "a"]),
]
FORMATS = [
    ("date", ["2024-02-29", "2024-13-01", "24-01-01", "x", "2023-02-29", "2024-02-30", "1900-02-29", "2000-02-29", "2400-02-29", "2023-04-31", "2023-04-30", "2023-12-31", "2023-11-31",
              "2023-02-28", "2023-01-00", "2023-00-01", "0000-01-01", "0001-01-01", "0004-02-29", "0100-02-29", "0400-02-29"]),
    ("time", ["23:59:59Z", "12:00:00.123+02:00", "24:00:00Z", "12:00"]),
    ("date-time", ["2024-02-29T23:59:59Z", "2024-02-29 23:59:59"]),
    ("uuid", ["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"]),
    ("ipv4", ["0.0.0.0", "255.255.255.255", "256.1.1.1", "1.2.3", "10.20.30.40"]),
]


def rows():
    draw = random.Random(5)
    checker = jsonschema.FormatChecker(["date", "uuid", "ipv4"])
    wanted_time = {"23:59:59Z": True, "12:00:00.123+02:00": True, "24:00:00Z": False, "12:00": False, "2024-02-29T23:59:59Z": True, "2024-02-29 23:59:59": False}
    for schema, documents in DOCUMENTS:
        yield schema, [(json.dumps(d, ensure_ascii=False), jsonschema.Draft202012Validator(schema).is_valid(d)) for d in documents]
    for pattern, texts in PATTERNS:
        schema = {"type": "string", "pattern": pattern}
        yield schema, [(json.dumps(t, ensure_ascii=False), jsonschema.Draft202012Validator(schema).is_valid(t)) for t in texts]
    for name, texts in FORMATS:
        schema = {"type": "string", "format": name}
        valid = jsonschema.Draft202012Validator(schema, format_checker=checker)
        yield schema, [(json.dumps(t), wanted_time[t] if "time" in name else valid.is_valid(t)) for t in texts]
    for _ in range(60):
        a, b = sorted(draw.choice([0, 1, 5, 9, 10, 99, 100, 12345, draw.randrange(10 ** draw.randrange(1, 12))]) * draw.choice([-1, 1]) for _ in range(2))
        schema = {"type": draw.choice(["integer", "number"])}
        if draw.random() < 0.8:
            schema[draw.choice(["minimum", "exclusiveMinimum"])] = a
        if draw.random() < 0.8:
            schema[draw.choice(["maximum", "exclusiveMaximum"])] = b
        near = {n + d for n in (a, b, 0) for d in (-11, -10, -2, -1, 0, 1, 2, 9, 10, 11)} | {draw.randint(2 * a - b - 5, 2 * b - a + 5) for _ in range(10)}
        texts = [str(n) for n in sorted(near)]
        if schema["type"] == "number":
            texts += [f"{n}.5" for n in sorted(near)] + [f"{n}.001" for n in sorted(near)] + ["-0.5"]
        valid = jsonschema.Draft202012Validator(schema)
        answers = [(t, valid.is_valid(json.loads(t))) for t in texts]
        if any(ok for _, ok in answers):
            yield schema, answers


print("[")
print(",\n".join(json.dumps({"schema": s, "yes": [t for t, ok in texts if ok], "no": [t for t, ok in texts if not ok]}, ensure_ascii=False) for s, texts in rows()))
print("]")
