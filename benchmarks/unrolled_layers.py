# SPDX-License-Identifier: MIT
"""unrolled_layers.py XSIMD_INCLUDE COMPILER [--plot FILE.svg]: what an executor of 1 to 32 layers costs to compile, in
both ways.

The layers are those of assets/tiny in Q8_0. A row has CPU seconds and peak megabytes of the compiler, the better of
--runs, and the bytes of code and of constants in the object file. Only --plot needs matplotlib.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

LAYERS = (1, 2, 4, 8, 16, 32)
EXECUTORS = {"over tables": "executor", "unrolled": "unrolled_executor"}
SOURCE = """
#include <cke/models/qwen3.hpp>
#include <cke/runtime/executor.hpp>
#include <cke/runtime/unrolled_executor.hpp>
struct tiny : cke::qwen3<{.vocab = 1536, .dim = 128, .hidden = 384, .layers = LAYERS, .heads = 4, .kv_heads = 2,
                          .head_dim = 32, .rope = {.theta = 1e4}}> {};
template class cke::runtime::EXECUTOR<cke::graph::program<tiny, cke::Q8_0>, cke::dtype::bf16, cke::isa::native>;
"""
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cost:
    seconds: float
    peak_mb: float
    code: int
    constants: int


def cost(args: argparse.Namespace, folder: Path, executor: str, layers: int) -> Cost:
    source, output = folder / "layers.cpp", folder / "layers.o"
    source.write_text(SOURCE)
    flags = ["-std=c++20", "-O3", "-march=native", "-ffp-contract=off", f"-I{ROOT}/include", "-isystem", args.xsimd,
             f"-DLAYERS={layers}", f"-DEXECUTOR={executor}"]
    usages = []
    for _ in range(args.runs):
        child = subprocess.Popen([args.compiler, *flags, "-c", source, "-o", output])
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"{args.compiler}: {executor} of {layers} layers does not compile")
        usages.append(usage)
    sections = subprocess.run(["size", "-A", output], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in sections.splitlines() if line.startswith(".")]
    code, constants = (sum(int(size) for name, size, *_ in rows if name.startswith(kind))
                       for kind in (".text", ".rodata"))
    return Cost(min(u.ru_utime + u.ru_stime for u in usages), min(u.ru_maxrss for u in usages) / 1024, code, constants)


def plot(path: Path, costs: dict[str, list[Cost]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cke"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    values = {"seconds to compile": lambda c: c.seconds,
              "kB of code and constants": lambda c: (c.code + c.constants) / 1e3}
    for axis, (title, value) in zip(axes, values.items()):
        most = max(value(c) for all_of in costs.values() for c in all_of)
        for (name, all_of), color in zip(costs.items(), ("#4269d0", "#c2410c")):
            axis.plot(LAYERS, [value(c) for c in all_of], marker="o", markersize=4, color=color, label=name)
        axis.set(xscale="log", xlabel="layers", ylabel=title, ylim=(0, 1.25 * most))
        axis.set_xticks(LAYERS, [str(n) for n in LAYERS])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[1].legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None}, facecolor="white")  # it is read on dark pages too


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xsimd", help="a folder that holds xsimd/xsimd.hpp")
    parser.add_argument("compiler")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    args = parser.parse_args()
    costs = {name: [] for name in EXECUTORS}
    print("| layers |" + "".join(f" {name}: s | MB | code | constants |" for name in EXECUTORS))
    print("|---|" + "---|" * 4 * len(EXECUTORS), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for layers in LAYERS:
            for name, executor in EXECUTORS.items():
                costs[name].append(cost(args, Path(folder), executor, layers))
            cells = (f" {c.seconds:.1f} | {c.peak_mb:.0f} | {c.code:,} | {c.constants:,} |"
                     for c in (all_of[-1] for all_of in costs.values()))
            print(f"| {layers} |" + "".join(cells), flush=True)
    if args.plot:
        plot(args.plot, costs)


if __name__ == "__main__":
    main()
