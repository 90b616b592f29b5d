# SPDX-License-Identifier: MIT
"""memory.py [GENERATIONS]: generations, sessions, streams that are left, and models that are opened and closed, of
assets/tiny. Prints the resident memory as it goes; fails if the second half grew by more than 1 %."""
import sys
from pathlib import Path

tree = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(tree / "python"))

import cke  # noqa: E402


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
model = cke.Model(tree / "assets/tiny")
sizes = []
for i in range(count):
    model.generate(f"Once upon a time {i % 50}", max_tokens=8, temperature=0.7, seed=i)
    with model.session() as session:
        session.generate("The sea", max_tokens=3)
        session.fork().feed("is").rewind(1)
    with model.generate("Once", stream=True, max_tokens=60) as left:
        next(left)
    if i % 100 == 99:
        cke.Model(tree / "assets/tiny").close()
    if (i + 1) % max(count // 10, 1) == 0:
        sizes.append(resident())
        print(f"{i + 1:7} generations: {sizes[-1] / 2**20:.1f} MiB", flush=True)
half = sizes[len(sizes) // 2 - 1]
assert sizes[-1] < half * 1.01, "memory grows"
