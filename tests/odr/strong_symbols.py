# SPDX-License-Identifier: MIT
"""strong_symbols.py NM OBJECT: fails if the object of a unit with all headers defines a symbol that no second unit may
define, or calls a function of cke that no header defines."""
import subprocess
import sys

nm, unit = sys.argv[1:]
lines = subprocess.run([nm, "--demangle", unit], capture_output=True, text=True, check=True).stdout
undefined, strong, count = [], [], 0
for line in lines.splitlines():
    if line.startswith(" "):
        kind, name = line.split(maxsplit=1)
        undefined += [name] if kind == "U" and "cke::" in name else []
        continue
    _, kind, name = line.split(maxsplit=2)
    # Upper case: seen by other objects. V, W: weak, as inline functions and explicit instantiations of templates are.
    strong += [name] if kind.isupper() and kind not in "VW" else []
    count += 1
wrong = [f"{len(names)} {what}: {', '.join(sorted(names)[:20])}"
         for what, names in (("definitions that are not inline", strong), ("functions without a definition", undefined)) if names]
if wrong:
    sys.exit("; ".join(wrong))
if count < 1000:
    sys.exit(f"{unit}: {count} symbols, so this is not all of the headers")
