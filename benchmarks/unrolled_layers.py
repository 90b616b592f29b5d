# SPDX-License-Identifier: MIT
"""unrolled_layers.py XSIMD_INCLUDE COMPILER: what an executor of 1 to 32 layers costs to compile, in both ways.

The layers are those of assets/tiny in Q8_0. A row has CPU seconds and peak megabytes of the compiler, and the bytes of
code and of constants in its object file.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LAYERS = (1, 2, 4, 8, 16, 32)
SOURCE = """
#include <cke/models/qwen3.hpp>
#include <cke/runtime/executor.hpp>
#include <cke/runtime/unrolled_executor.hpp>
struct tiny : cke::qwen3<{.vocab = 1536, .dim = 128, .hidden = 384, .layers = LAYERS, .heads = 4, .kv_heads = 2,
                          .head_dim = 32, .rope = {.theta = 1e4}}> {};
template class cke::runtime::EXECUTOR<cke::graph::program<tiny, cke::Q8_0>, cke::dtype::bf16, cke::isa::native>;
"""
root = Path(__file__).resolve().parent.parent
xsimd, compiler = sys.argv[1:]

print(f"{'executor':<18} {'layers':>6} {'CPU s':>6} {'peak MB':>8} {'.text':>9} {'.rodata':>9}")
with tempfile.TemporaryDirectory() as scratch:
    source = Path(scratch, "layers.cpp")
    source.write_text(SOURCE)
    for executor in ("executor", "unrolled_executor"):
        for layers in LAYERS:
            flags = ["-std=c++20", "-O3", "-march=native", "-ffp-contract=off", f"-I{root}/include", "-isystem", xsimd,
                     f"-DLAYERS={layers}", f"-DEXECUTOR={executor}"]
            child = subprocess.Popen([compiler, *flags, "-c", source, "-o", f"{scratch}/layers.o"])
            _, status, usage = os.wait4(child.pid, 0)
            if status:
                sys.exit(f"{compiler}: {executor} of {layers} layers does not compile")
            sections = subprocess.run(["size", "-A", f"{scratch}/layers.o"], capture_output=True, text=True, check=True)
            rows = [line.split() for line in sections.stdout.splitlines() if line.startswith(".")]
            text, constants = (sum(int(size) for name, size, *_ in rows if name.startswith(kind))
                               for kind in (".text", ".rodata"))
            print(f"{executor:<18} {layers:>6} {usage.ru_utime + usage.ru_stime:>6.1f} {usage.ru_maxrss / 1024:>8.0f} "
                  f"{text:>9} {constants:>9}", flush=True)
