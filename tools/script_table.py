#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes include/cke/text/tokenizer/steps/script_table.hpp: scripts as the pre-tokenizer UnicodeScripts knows them.

  pip install tokenizers && python tools/script_table.py

That pre-tokenizer has the table of an older Unicode, counts kana as Han, and gives spaces and unassigned characters no
script. So this script probes it: two characters are of one script if it does not cut between them.
"""
import pathlib
import textwrap

from tokenizers import pre_tokenizers

HEADER = pathlib.Path(__file__).resolve().parents[1] / "include/cke/text/tokenizer/steps/script_table.hpp"
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
SCRIPTS = pre_tokenizers.UnicodeScripts()


def cut_between(a, b):
    return len(SCRIPTS.pre_tokenize_str(chr(a) + chr(b))) == 2


def has_script(code):
    return bool(SCRIPTS.pre_tokenize_str(chr(code)))


def main():
    runs, first_of, before, last = [], {}, None, None
    for code in CODES:
        if last is None or cut_between(before, code) or has_script(code) != (last > 0):
            script = 0
            if has_script(code):
                script = next((s for s, known in first_of.items() if not cut_between(known, code)), len(first_of) + 1)
                first_of.setdefault(script, code)
            if script != last:
                runs.append(code << 8 | script)
            last = script
        before = code
    body = textwrap.fill(", ".join(map(str, runs)), 118, initial_indent="    ", subsequent_indent="    ").replace(", ", ",")
    HEADER.write_text(f"""// SPDX-License-Identifier: MIT
// script_table.hpp: the scripts of characters as `tokenizers` knows them; written by tools/script_table.py, not by hand.
#pragma once

#include "../../../core/types.hpp"

// clang-format off
namespace cke::text::unicode_data {{

// Runs of code points of one script: first code << 8 | its number; 0: of none.
inline constexpr u32 script_runs[] = {{
{body}}};

}}  // namespace cke::text::unicode_data
""")


if __name__ == "__main__":
    main()
