# SPDX-License-Identifier: MIT
"""Writes include/cke/text/jinja/case_tables.hpp: upper, lower and title case as in Python's str.

    python tools/case_tables.py > include/cke/text/jinja/case_tables.hpp
"""
import sys
import unicodedata

HEAD = f'''// SPDX-License-Identifier: MIT
// case_tables.hpp: upper, lower and title case of Unicode {unicodedata.unidata_version}; made by tools/case_tables.py.
#pragma once

#include "../../core/types.hpp"

// clang-format off
namespace cke::text::jinja {{

// first, first + step, ..., last: each has its other case `shift` further on.
struct case_run {{
  u32 first, last, step;
  i32 shift;
}};
// Where the other case is more than one character, or none of a run.
struct case_word {{
  u32 code;
  const char* text;
}};
'''


def runs_of(change):
    shifts = [(c, ord(change(chr(c))) - c) for c in range(sys.maxunicode + 1)
              if len(change(chr(c))) == 1 and change(chr(c)) != chr(c)]
    runs = []
    for code, shift in shifts:
        if runs:
            run = runs[-1]
            gap = code - run[1]
            if shift == run[3] and gap <= 2 and (run[0] == run[1] or gap == run[2]):
                run[1], run[2] = code, gap
                continue
        runs.append([code, code, 1, shift])
    return runs


def quoted(text):
    return '"' + "".join(f"\\x{b:02x}" for b in text.encode()) + '"'


def put(kind, name, entries):
    lines, line = [], " "
    for entry in entries:
        if len(line) + len(entry) > 98:
            lines.append(line)
            line = " "
        line += " " + entry + ","
    print(f"inline constexpr {kind} {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};")


def main():
    print(HEAD)
    for name, change in (("to_upper", str.upper), ("to_lower", str.lower)):
        put("case_run", name, [f"{{0x{a:x}, 0x{b:x}, {s}, {d}}}" for a, b, s, d in runs_of(change)])
    for name, change in (("to_upper_words", str.upper), ("to_lower_words", str.lower), ("to_title_words", str.title)):
        words = [(c, change(chr(c))) for c in range(sys.maxunicode + 1)
                 if len(change(chr(c))) != 1 or (change is str.title and chr(c).title() != chr(c).upper())]
        put("case_word", name, [f"{{0x{c:x}, {quoted(w)}}}" for c, w in words])
    print("\n}  // namespace cke::text::jinja")


main()
