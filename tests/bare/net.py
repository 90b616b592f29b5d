# SPDX-License-Identifier: MIT
"""net.py MACHINE --cxx CXX --host CXX --source DIR --xsimd DIR [--qemu QEMU]: net.cpp, built without an operating
system for MACHINE and run there, has the outputs of the host, and needs nothing of a system."""
import argparse
import sys
import tempfile
from pathlib import Path

from check import FLAGS, MACHINES, NEEDS_A_SYSTEM, STACK, Board, named, output

parser = argparse.ArgumentParser()
parser.add_argument("machine", choices=MACHINES)
for option in ("cxx", "host", "source", "xsimd"):
    parser.add_argument(f"--{option}", required=True)
parser.add_argument("--qemu")
args = parser.parse_args()

root = Path(args.source)
net = root / "tests/bare/net.cpp"
headers = [f"-I{root / 'include'}", "-isystem", args.xsimd]
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    board = Board(args, folder)
    output(args.host, "-std=c++20", "-O1", "-ffp-contract=off", *headers, net, "-o", folder / "host")
    start = root / "examples/board" / ("cortex_m.cpp" if board.arm else "x86_64.cpp")
    script = ["-T", root / "examples/board/cortex_m.ld"] if board.arm else []
    output(args.cxx, *FLAGS, *MACHINES[args.machine], *headers, *script, start, net, "-o", folder / "program")
    host, said = named(output(folder / "host")), named(board.run(folder / "program"))
    if said["outputs"] != host["outputs"]:
        sys.exit(f"outputs: {said['outputs']} on the board, {host['outputs']} on the host")
    if not 0 < int(said["stack"]) < STACK:
        sys.exit(f"it took {said['stack']} bytes of {STACK} of stack")
    symbols = output(board.tool("nm"), "-C", folder / "program").splitlines()
    if needs := NEEDS_A_SYSTEM.findall("\n".join(line.split()[-1] for line in symbols)):
        sys.exit(f"the program has {needs}")
    print(output(board.tool("size"), folder / "program"), f"{said['stack']} bytes of stack", sep="")
