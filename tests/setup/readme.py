# SPDX-License-Identifier: MIT
"""readme.py ROOT: the first code block of README.md is examples/hello.cpp, less its first comment lines."""
import difflib
import re
import sys
from itertools import dropwhile
from pathlib import Path

root = Path(sys.argv[1])
block = re.search(r"^```cpp\n(.*?)^```", (root / "README.md").read_text(), re.MULTILINE | re.DOTALL)
shown = block[1].splitlines() if block else []
lines = (root / "examples/hello.cpp").read_text().splitlines()
program = list(dropwhile(lambda line: line.startswith("//") or not line, lines))
if diff := list(difflib.unified_diff(shown, program, "README.md", "examples/hello.cpp", lineterm="")):
    sys.exit("\n".join(diff))
