# SPDX-License-Identifier: MIT
"""expect.py FILE -- COMPILER [FLAG ...]: passes if FILE does not compile and the message matches its `// expect:` lines."""
import re
import subprocess
import sys
from pathlib import Path

MARK = "// expect: "
source, _, *compiler = sys.argv[1:]
wanted = [line.removeprefix(MARK) for line in Path(source).read_text().splitlines() if line.startswith(MARK)]
if not wanted:
    sys.exit(f"{source}: no line starts with '{MARK}'")

run = subprocess.run([*compiler, "-fsyntax-only", source], capture_output=True, text=True)
missing = [regex for regex in wanted if not re.search(regex, run.stderr)]
if run.returncode == 0:
    sys.exit(f"{source}: compiled, and must not")
if missing:
    sys.exit("\n".join([run.stderr, *(f"{source}: the message does not match: {regex}" for regex in missing)]))
print(f"{len(run.stderr.splitlines())} lines of message")
