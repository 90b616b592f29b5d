# SPDX-License-Identifier: MIT
"""check.py PROGRAM [--write]: counts the instructions of its passes under callgrind, against limits.txt beside this."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LIMITS = Path(__file__).with_name("limits.txt")
TOLERANCE = 0.03


def counted(program: str) -> dict[str, int]:
    """Instructions of each pass that the program names."""
    with tempfile.TemporaryDirectory() as scratch:
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={scratch}/out", program]
        done = subprocess.run(valgrind, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"valgrind {program}: {done.stderr[-2000:]}")
        counts = {}
        for dump in Path(scratch).glob("out.*"):
            text = dump.read_text()
            if name := re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE):
                counts[name[1]] = int(re.search(r"^totals: (\d+)", text, re.MULTILINE)[1])
    return counts


def main() -> None:
    counts = counted(sys.argv[1])
    lines = LIMITS.read_text().splitlines()
    if sys.argv[2:] == ["--write"]:
        head = [line for line in lines if line.startswith("#")]
        LIMITS.write_text("\n".join(head + [f"{name} {counts[name]}" for name in sorted(counts)]) + "\n")
        return
    limits = {name: int(limit) for name, _, limit in (line.rpartition(" ") for line in lines if not line.startswith("#"))}
    wrong = [f"{name}: counted, but {LIMITS.name} has no limit" for name in counts.keys() - limits.keys()]
    wrong += [f"{name}: in {LIMITS.name}, but not counted" for name in limits.keys() - counts.keys()]
    for name in sorted(counts.keys() & limits.keys()):
        change = counts[name] / limits[name] - 1
        print(f"{name:<16} {counts[name]:>12,} instructions, limit {limits[name]:>12,} ({change:+.1%})")
        if change > TOLERANCE:
            wrong.append(f"{name}: {counts[name]:,} instructions, {change:.1%} above the limit of {limits[name]:,} "
                         f"in tests/instructions/{LIMITS.name} ({TOLERANCE:.0%} are allowed)")
        elif change < -TOLERANCE:
            print(f"{name}: {-change:.1%} saved: lower the limit with check.py --write")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
