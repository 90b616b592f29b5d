# SPDX-License-Identifier: MIT
"""strong_symbols.py NM OBJECT: fails if the object defines a symbol that no second object may define."""
import subprocess
import sys

nm, unit = sys.argv[1:]
lines = subprocess.run([nm, "--demangle", "--defined-only", unit], capture_output=True, text=True, check=True).stdout
# Upper case: seen by other objects. V, W: weak. A template's explicit instantiation and an inline function are weak.
found = [line.split(maxsplit=2) for line in lines.splitlines()]
strong = sorted(name for _, kind, name in found if kind.isupper() and kind not in "VW")
if strong:
    sys.exit(f"{len(strong)} definitions that are not inline: {', '.join(strong[:20])}")
if len(found) < 1000:
    sys.exit(f"{unit}: {len(found)} symbols, so this is not all of the headers")
