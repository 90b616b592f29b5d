# SPDX-License-Identifier: MIT
"""alphabet.py: letters, words, fields and rules as the headers spell them, and C++ made of them."""

import re
from pathlib import Path

SOURCES = ("layers.hpp", "core/params.hpp")
RULE_SOURCES = ("layer_checks.hpp", "word_checks.hpp", "graph/block_checks.hpp")


class Alphabet:
    """What include/cke says: `letters` {name: [(type, parameter)]}, `words` alike, `fields` {letter: {path: type}};
    names of `rules`, and what those of many fields call a field (`named`)."""

    def __init__(self, include: Path):
        text = "\n".join(re.sub(r"//.*", "", (include / "cke" / name).read_text()) for name in SOURCES)
        self.structs = {
            name: struct_fields(body) for name, body in re.findall(r"\nstruct (\w+) \{\n(.*?)\n\};", text, re.DOTALL)
        }
        self.enums = set(re.findall(r"\benum class (\w+)", text))
        self.letters, self.words = declared(text, "letter"), declared(text, "word")
        self.fields = {name: dict(self.leaves(parameters)) for name, parameters in self.letters.items()}
        checks = "\n".join((include / "cke" / name).read_text() for name in RULE_SOURCES)
        self.rules = set(
            re.findall(
                r"struct (\w+) \{(?:(?!\n\};|\};\n|\bstruct\b).)*?static_assert\([^;]*\"cke: ", checks, re.DOTALL
            )
        )
        self.named = set(re.findall(r"<\"([^\"]+)\"", checks))  # what rules of many fields call them

    def leaves(self, parameters, path=""):
        for kind, name in parameters:
            if kind in self.structs:  # an aggregate: its fields; of a letter's only argument without a name before them
                yield from self.leaves(self.structs[kind], f"{path}{name}." if path or name != "S" else "")
            else:
                yield f"{path}{name}", kind

    def type_of(self, letter: str, values: dict[str, str]) -> str:
        """A letter as C++: values by path."""
        parameters = self.letters[letter]
        if len(parameters) == 1 and parameters[0][0] in self.structs:
            kind = parameters[0][0]
            return f"{letter}<{kind}{self.aggregate(kind, values, '')}>"
        return f"{letter}<{', '.join(values[name] for _, name in parameters if name in values)}>"

    def aggregate(self, kind: str, values: dict[str, str], path: str) -> str:
        parts = []
        for field_kind, name in self.structs[kind]:
            at = f"{path}{name}"
            if at in values:
                parts.append(f".{name} = {values[at]}")
            elif field_kind in self.structs and any(key.startswith(f"{at}.") for key in values):
                parts.append(f".{name} = {self.aggregate(field_kind, values, at + '.')}")
        return "{" + ", ".join(parts) + "}"


def struct_fields(body: str) -> list[tuple[str, str]]:
    """[(type, name)] of an aggregate's members."""
    found = []
    for line in body.splitlines():
        for kind, names in re.findall(r"(?:const )?(\w+\*?) ((?:\w+(?:\{[^}]*\}| = [^,;]+)?(?:, )?)+);", line):
            found += [(kind, name) for name in re.findall(r"(?:^|, )(\w+)", names)]
    return [(kind, name) for kind, name in found if kind != "return"]


def declared(text: str, what: str) -> dict[str, list[tuple[str, str]]]:
    """Class templates whose base checks::WHAT holds them to the rules."""
    found = {}
    for parameters, name in re.findall(rf"template <([^>]*)>\s*struct (\w+) :[^;{{]*checks::{what}<", text):
        split = [p.split(" = ")[0].rsplit(" ", 1) for p in parameters.split(", ")]
        found[name] = [(kind, parameter) for kind, parameter in split]
    return found
