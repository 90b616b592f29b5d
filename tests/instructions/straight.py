# SPDX-License-Identifier: MIT
"""straight.py OBJDUMP OBJECT [--tables]: no call of an unrolled pass is indirect, and no step loads its parameters.

With --tables OBJECT walks tables, and both must be found there.
"""
import re
import subprocess
import sys
from dataclasses import dataclass, field

BEGINS = re.compile(r"::(layers<|footer\(|walk_layers\()")  # where a pass begins
# Data that is no parameter: constants of the compiler and of kernels, and the sequence of each row, which is one.
NUMBERS = re.compile(r"^\.(LC|rodata)|^cke::(kernels|simd)::|::zeros$")
OUTSIDE = {"memcpy", "memmove", "memset", "sqrt", "sqrtf"}  # all that a pass may call of other libraries


@dataclass
class Function:
    name: str
    lines: list[str] = field(default_factory=list)


class Objects:
    """The functions of an object file, by name and by place."""

    def __init__(self, objdump: str, path: str) -> None:
        done = subprocess.run([objdump, "-drC", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
        self.by_name: dict[str, Function] = {}
        self.by_place: dict[tuple[str, int], Function] = {}
        section = ""
        for line in done.stdout.splitlines():
            if begin := re.match(r"Disassembly of section (.+):$", line):
                section = begin[1]
            elif begin := re.match(r"([0-9a-f]+) <(.+)>:$", line):
                now = self.by_place[section, int(begin[1], 16)] = Function(begin[2])
                self.by_name.setdefault(now.name, now)
            elif re.match(r"\s+[0-9a-f]+:", line):
                now.lines.append(line)

    def target(self, symbol: str, addend: int) -> Function | None:
        """The function that a relocation names, or whose section it names; parts of functions are their beginnings."""
        if symbol in self.by_name:
            return self.by_name[symbol]
        starts = [start for section, start in self.by_place if section == symbol and start <= addend + 4]
        return self.by_place[symbol, max(starts)] if starts else None


def check(code: Objects) -> tuple[set[str], set[str], set[str], int]:
    """What a pass calls indirectly, which parameters it loads, what it calls outside, how many functions it has."""
    todo = [f for f in code.by_place.values() if BEGINS.search(f.name)]
    if not todo:
        sys.exit("straight.py: no pass in this object")
    seen = {id(f) for f in todo}
    indirect, parameters, outside = set(), set(), set()
    while todo:
        function = todo.pop()
        for line in function.lines:
            next_function = None
            if re.search(r"\b(call|jmp)\s+\*", line):
                indirect.add(f"{function.name}: {line.strip()}")
            elif refers := re.search(r"(R_X86_64_\w+)\s+(.+?)([-+]0x[0-9a-f]+)?$", line):
                kind, symbol, addend = refers[1], refers[2], int(refers[3] or "0", 16)
                next_function = code.target(symbol, addend)
                if next_function is None and kind == "R_X86_64_PLT32":
                    outside.add(symbol)
                elif next_function is None and not NUMBERS.search(symbol):
                    parameters.add(f"{function.name}: {symbol}")
            elif call := re.search(r"\b(?:call|j\w+)\s+[0-9a-f]+ <(.+?)(?:\+0x[0-9a-f]+)?>$", line):
                next_function = code.by_name.get(call[1])  # in the same section
            if next_function and id(next_function) not in seen:
                seen.add(id(next_function)), todo.append(next_function)
    return indirect, parameters, outside, len(seen)


def main() -> None:
    indirect, parameters, outside, count = check(Objects(sys.argv[1], sys.argv[2]))
    print(f"{count} functions, {len(indirect)} indirect calls, {len(parameters)} loads of parameters; calls outside: "
          f"{', '.join(sorted(outside)) or 'none'}")
    if "--tables" in sys.argv:
        if not indirect or not parameters:
            sys.exit("the walk over tables calls indirectly and loads parameters, but the check does not see it")
    elif found := sorted(indirect | parameters | {f"calls {symbol}" for symbol in outside - OUTSIDE}):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
