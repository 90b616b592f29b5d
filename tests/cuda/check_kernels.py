#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_kernels.py SOURCE WORK NVCC [OPTION ...]: compiles kernels for every generation of GPUs, and fails on what would
make them slow or wrong: spills, stack frames, too many registers, static shared memory, instructions that are missing
or that must not be there."""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

# Kernels are written for three generations, and the others take code of the one before them: a front end for each of
# three, and the assembler for each of seven.
TARGETS = {"75": ["75"], "80": ["80", "86", "89"], "90": ["90a", "100", "120"]}
ARCHS = [arch for archs in TARGETS.values() for arch in archs]
MOST_REGISTERS = 128  # of each of a block's 256 threads: two blocks fit into a multiprocessor
MOST_OF_MEGAKERNEL = 255  # it has a multiprocessor for itself, and so as many as a thread can have

BF16_MMA = r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32"

# (kernel, from which generation, until which, what its PTX must match)
NEEDED = [
    (r"\d(multiply|expert)_kernel.*dtypeE(8|12)ELj1E", 75, 90, r"dp4a"),
    (r"\d(multiply|expert)_kernel.*dtypeE(8|12)ELj8E|wide_(expert_)?kernel.*dtypeE(8|12)E", 80, 90, r"mma\.sync\.aligned\.m16n8k32\.row\.col\.s32\.s8\.s8\.s32"),
    (r"wide_(expert_)?kernel", 80, 90, r"cp\.async\.cg\.shared\.global"),
    (r"wide_(expert_)?kernel.*dtypeE(8|12)E", 75, 75, r"dp4a"),
    (r"wide_(expert_)?kernel.*dtypeE(0|1|30)E", 75, 90, r"ld\.shared\.v4"),
    (r"wide_(expert_)?kernel.*dtypeE(0|1)E", 75, 90, r"fma\.rn\.ftz\.f32"),
    (r"(multiply|expert|wide)_kernel.*dtypeE30E", 75, 75, r"fma\.rn\.ftz\.f32"),
    (r"(multiply|expert|wide)_kernel.*dtypeE30E|megakernel.*BF16", 80, 90, BF16_MMA),
    (r"\d(multiply|expert)_kernel.*(Lj1E|dtypeE(0|1|30)E)", 75, 90, r"ld\.global\.nc\.L1::no_allocate\.v4"),
    (r"step_kernel.*opcodeE(0|96|97)E", 75, 90, r"sqrt\.rn\.ftz\.f32"),
    (r"attend_rows", 75, 90, r"ld\.shared\.v4"),
    (r"attend_join|attend_rows|join_experts|step_kernel.*opcodeE73E", 75, 90, r"div\.rn\.ftz\.f32"),  # 73: route
    (r"megakernel", 75, 90, r"red\.release\.gpu\.add\.u32"),
    (r"megakernel", 75, 90, r"ld\.acquire\.gpu\.u32"),
    (r"megakernel", 75, 90, r"st\.release\.sys\.u32"),
    (r"megakernel.*Q8_0", 75, 90, r"dp4a"),
    (r"megakernel|choose_kernel", 75, 90, r"mul\.(wide|hi)\.u32"),  # of Philox
    (r"megakernel", 90, 90, r"cp\.async\.bulk\.shared::cta\.global\.mbarrier::complete_tx::bytes"),
    (r"megakernel", 90, 90, r"mbarrier\.try_wait\.parity"),
    (r"megakernelI.*Qwen3_0_6B", 75, 90, r"st\.relaxed\.gpu\.u64"),
    (r"megakernelI.*Qwen3_0_6B", 75, 90, r"ld\.relaxed\.gpu\.v2\.u64"),
    (r"megakernel", 90, 90, r"barrier\.cluster\.arrive\.release"),
    (r"megakernel", 90, 90, r"barrier\.cluster\.wait\.acquire"),
    (r"megakernel", 75, 75, r"prefetch\.global\.L2"),
    (r"megakernel", 80, 80, r"cp\.async\.cg\.shared\.global"),
    (r"megakernel", 80, 80, r"cp\.async\.wait_group\s+3"),
]
# Stack frames; calls of what was not inlined; divisions and roots that are not exact; subnormals, which CPUs flush.
FORBIDDEN = r"\.local|\bcall\b|(div|sqrt|rcp)\.approx(?!\.ftz\.f64)|(add|mul|fma\.rn|div\.rn|sqrt\.rn)\.f32"


def resources(log: str) -> tuple[list[str], Counter]:
    """Complaints about what ptxas reports, and how many kernels it reported of each generation."""
    wrong, seen = [], Counter()
    blocks = re.split(r"Compiling entry function ", log)[1:]
    for block in blocks:
        name, arch = re.match(r"'(\S+)' for 'sm_(\w+)'", block).groups()
        stack, stores, loads = map(int, re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", block).groups())
        registers = int(re.search(r"Used (\d+) registers", block)[1])
        static = re.search(r"(\d+) bytes smem", block)
        seen[arch] += 1
        if stack or stores or loads:
            wrong.append(f"sm_{arch} {name}: {stack} bytes of stack, {stores} + {loads} bytes spilled")
        most = MOST_OF_MEGAKERNEL if "megakernel" in name else MOST_REGISTERS
        if registers > most:
            wrong.append(f"sm_{arch} {name}: {registers} registers, {most} allowed")
        if static and int(static[1]) > 0:
            wrong.append(f"sm_{arch} {name}: {static[1]} bytes of static shared memory")
    return wrong, seen


def released_too_soon(entry: str) -> tuple[int, int]:
    """Of a ring's tiles: words that an mma uses, and those of them that it uses only after the warp's barrier that
    precedes the copy into their place. What a load has asked for may not be there by then."""
    loaded, barrier, used, late = {}, -1, 0, 0
    for at, line in enumerate(entry.splitlines()):
        if "bar.warp.sync" in line:
            barrier = at
        elif m := re.search(r"ld(?:\.volatile)?\.shared\.v4\S*\s*\{([^}]*)\}", line):
            loaded.update((r.strip(), at) for r in m[1].split(","))
        elif m := re.search(BF16_MMA + r"\s*\{[^}]*\},\s*\{([^}]*)\}", line):
            words = [loaded[r.strip()] for r in m[1].split(",") if r.strip() in loaded]
            used, late = used + len(words), late + sum(w < barrier for w in words)
    return used, late


def instructions(ptx: str, arch: str, asked: set[int]) -> list[str]:
    """Complaints; `asked` gets the rows of NEEDED that were about some kernel."""
    wrong = []
    if not re.search(r"\.extern \.shared \.align 128 \.b8 \S*cke_block_memory", ptx):
        wrong.append(f"compute_{arch}: shared memory that is not aligned to 128 bytes")
    for entry in re.split(r"(?=\.visible \.entry )", ptx)[1:]:
        name = re.match(r"\.visible \.entry (\w+)", entry)[1]
        for row, (kernel, since, until, pattern) in enumerate(NEEDED):
            if not re.search(kernel, name) or not since <= int(arch) <= until:
                continue
            asked.add(row)
            if not re.search(pattern, entry):
                wrong.append(f"compute_{arch} {name}: no {pattern}")
        if int(arch) >= 80 and re.search("megakernel.*BF16", name):
            used, late = released_too_soon(entry)
            if late or not used:
                wrong.append(f"compute_{arch} {name}: of {used} words of a ring's tiles, {late} are used after their release")
        if bad := re.search(FORBIDDEN, entry):
            wrong.append(f"compute_{arch} {name}: {bad[0]}")
    return wrong


def main(source: str, work: str, nvcc: str, *options: str) -> int:
    folder = Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.ptx"):
        old.unlink()
    targets = [f"-gencode=arch=compute_{of},code=[" + ",".join(f"sm_{a}" for a in archs) + "]" for of, archs in TARGETS.items()]
    options = tuple(o for o in options if o != "-O3")  # of the host's code, which nobody runs
    run = subprocess.run([nvcc, *options, *targets, "--threads", "2", "-Xptxas", "-v", "--keep", "--keep-dir", work,
                          "-c", source, "-o", str(folder / "kernels.o")], capture_output=True, text=True)
    if run.returncode:
        print(run.stdout + run.stderr)
        return 1
    wrong, seen = resources(run.stdout + run.stderr)
    if sorted(seen) != sorted(ARCHS) or len(set(seen.values())) != 1:
        wrong.append(f"kernels of each generation: {dict(seen)}")
    ptx = {re.search(r"compute_(\w+)\.ptx$|\.ptx$", p.name)[1] or "?": p.read_text() for p in folder.glob("*.ptx")}
    if sorted(ptx) != sorted(TARGETS):
        wrong.append(f"PTX of {sorted(ptx)}")
    asked = set()
    for arch, text in sorted(ptx.items()):
        wrong += instructions(text, arch, asked) if arch != "?" else []
    wrong += [f"no kernel is {row[0]}" for i, row in enumerate(NEEDED) if i not in asked]
    print("\n".join(wrong) or f"{seen[ARCHS[0]]} kernels for each of {len(ARCHS)} generations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
