# SPDX-License-Identifier: MIT
"""compile_budget.py XSIMD_INCLUDE COMPILER ...: the cost of compiling examples/hello.cpp, compared with its budget."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS, MEGABYTES, TEXT_BYTES = 10, 1000, 1_000_000
root = Path(__file__).resolve().parent.parent
xsimd, *compilers = sys.argv[1:]


def compile_hello(compiler: str, program: str) -> tuple[float, float, int]:
    """Returns CPU seconds, peak megabytes, bytes of .text."""
    flags = ["-std=c++20", "-O3", "-march=native", "-ffp-contract=off", f"-I{root}/include", "-isystem", xsimd]
    child = subprocess.Popen([compiler, *flags, root / "examples/hello.cpp", "-o", program])
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{compiler}: hello.cpp does not compile")
    sections = subprocess.run(["size", "-A", program], capture_output=True, text=True, check=True).stdout
    text = next(int(line.split()[1]) for line in sections.splitlines() if line.startswith(".text"))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


over = False
print(f"{'compiler':<12} {'CPU s':>7} {'peak MB':>8} {'.text':>9}")
print(f"{'(budget)':<12} {SECONDS:>7} {MEGABYTES:>8} {TEXT_BYTES:>9}")
with tempfile.TemporaryDirectory() as scratch:
    for compiler in compilers:
        seconds, megabytes, text = compile_hello(compiler, f"{scratch}/hello")
        print(f"{Path(compiler).name:<12} {seconds:>7.1f} {megabytes:>8.0f} {text:>9}")
        over |= seconds > SECONDS or megabytes > MEGABYTES or text > TEXT_BYTES
sys.exit(over)
