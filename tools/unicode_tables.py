#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes include/cke/text/tokenizer/unicode_tables.hpp and steps/step_unicode_tables.hpp from the Unicode character database.

  pip install unicodedata2==16.0.0 && python tools/unicode_tables.py

The version is pinned to the one that the regular expressions of Hugging Face `tokenizers` know (0.20 and later), so that
both split text at the same places. One class per code point is enough for every pre-tokenizer.
"""
import pathlib
import textwrap

import unicodedata2 as ucd

VERSION = "16.0.0"
assert ucd.unidata_version == VERSION, f"need Unicode {VERSION}, this is {ucd.unidata_version}"

TEXT = pathlib.Path(__file__).resolve().parents[1] / "include/cke/text/tokenizer"
CODES = 0x110000
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
# \w beyond letters, marks and numbers: connectors (category Pc), the joiners, the circled letters (Other_Alphabetic).
WORD = {0x200C, 0x200D, *range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0x1F150, 0x1F16A), *range(0x1F170, 0x1F18A)}
OTHER, SPACE, LETTER, MARK, DIGIT, NUMBER, WORD_OTHER = range(7)  # enum char_class in unicode.hpp


def char_class(code):
    category = ucd.category(chr(code))
    if code in WHITE_SPACE:
        return SPACE
    if code in WORD or category == "Pc":
        return WORD_OTHER
    if category in ("Nd", "Nl"):
        return DIGIT
    return {"L": LETTER, "M": MARK, "N": NUMBER}.get(category[0], OTHER)


def char_kind(code):
    """The class in BERT's rules: ASCII symbols are punctuation, unassigned characters are not control characters."""
    category = ucd.category(chr(code))
    if category[0] == "P" or (code < 0x80 and category[0] == "S"):
        return 3
    return 2 if category == "Mn" else 1 if category in ("Cc", "Cf", "Co") else 0  # enum char_kind in steps/characters.hpp


def runs(value, bits):
    """(first << bits | value) of each run of code points with equal values."""
    out, last = [], None
    for code in range(CODES):
        v = value(code)
        if v != last:
            out.append(code << bits | v)
            last = v
    return out


def array(kind, name, items):
    body = textwrap.fill(",".join(map(str, items)).replace(",", ", "), 118, initial_indent="    ", subsequent_indent="    ")
    return f"inline constexpr {kind} {name}[] = {{\n{body.replace(', ', ',')}}};\n"


def main():
    decompositions = []
    for code in range(CODES):
        mapping = ucd.decomposition(chr(code))
        if mapping and not mapping.startswith("<"):
            parts = [int(p, 16) for p in mapping.split()]
            decompositions.append((code, *parts, *[0] * (2 - len(parts))))
    heads = {d[0] for d in decompositions}
    assert not any(d[2] in heads for d in decompositions), "nfc.hpp decomposes the first part only"
    # # A pair composes exactly if NFC composes it again, which leaves out the composition exclusions.
    composable = [i for i, (code, a, b) in enumerate(decompositions) if b and ucd.normalize("NFC", chr(a) + chr(b)) == chr(code)]
    composable.sort(key=lambda i: decompositions[i][1:])

    (TEXT / "unicode_tables.hpp").write_text(f"""// SPDX-License-Identifier: MIT
// unicode_tables.hpp: the Unicode {VERSION} data that tokenizers need; written by tools/unicode_tables.py, not by hand.
#pragma once

#include "../../core/types.hpp"

// clang-format off
namespace cke::text::unicode_data {{

inline constexpr const char* version = "{VERSION}";

// Runs of code points of one char_class: first code << 3 | class.
{array("u32", "class_runs", runs(char_class, 3))}
// Runs of code points of one canonical combining class: first code << 8 | combining class.
{array("u32", "combining_runs", runs(lambda c: ucd.combining(chr(c)), 8))}
// Canonical decompositions, sorted: (code, first, second or 0), without the Hangul syllables, which are arithmetic.
{array("u32", "decompositions", [v for d in decompositions for v in d])}
// Which of them (by row) also compose, sorted by (first, second).
{array("u16", "compositions", composable)}
}}  // namespace cke::text::unicode_data
""")

    compatible = [(code, ucd.normalize("NFKD", chr(code))) for code in range(CODES) if not 0xD800 <= code < 0xE000]
    compatible = [(code, form) for code, form in compatible if form != ucd.normalize("NFD", chr(code))]
    begins, forms = [], []
    for code, form in compatible:
        begins += [code, len(forms)]
        forms += map(ord, form)
    begins += [CODES, len(forms)]
    (TEXT / "steps/step_unicode_tables.hpp").write_text(f"""// SPDX-License-Identifier: MIT
// step_unicode_tables.hpp: the Unicode {VERSION} data of steps that few tokenizers have; written by tools/unicode_tables.py, not by hand.
#pragma once

#include "../../../core/types.hpp"

// clang-format off
namespace cke::text::unicode_data {{

// Runs of code points of one char_kind: first code << 2 | kind.
{array("u32", "kind_runs", runs(char_kind, 2))}
// Code points that NFKD changes beyond NFD, sorted: (code, where its form begins); the last row ends the one before.
{array("u32", "compatible_rows", begins)}
// Their forms, one after the other.
{array("u32", "compatible_forms", forms)}
}}  // namespace cke::text::unicode_data
""")


if __name__ == "__main__":
    main()
