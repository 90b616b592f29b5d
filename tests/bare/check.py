# SPDX-License-Identifier: MIT
"""check.py MACHINE --cxx CXX --image PROGRAM --source DIR --xsimd DIR [--qemu QEMU]: examples/freestanding.cpp, built
without an operating system for MACHINE and run there, answers as the host does, in as many bytes as its constants say.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = ["-O2", "-ffp-contract=off", "-fno-math-errno", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-Wall",
         "-Wextra", "-Werror"]
CORTEX = ["-std=gnu++20", "-Wno-psabi", "-mthumb", "-ffunction-sections", "-nostartfiles",
          "-Wl,--gc-sections,-z,noexecstack"]
MACHINES = {
    "x86_64": ["-std=c++20", "-fno-stack-protector", "-fno-pie", "-no-pie", "-nostdlib", "-static"],
    "cortex_m3": [*CORTEX, "-mcpu=cortex-m3"],
    "cortex_m4": [*CORTEX, "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
}
BOARDS = {"cortex_m3": "mps2-an385", "cortex_m4": "mps2-an386"}
STACK = 16384  # of examples/board/
NEEDS_A_SYSTEM = re.compile(r"\b(malloc|free|calloc|realloc|_sbrk\w*|_Zn[wa]\w*|_Zd[la]\w*|__cxa_(throw|allocate)\w*|_Unwind\w*|"
                            r"pthread\w*|f(open|write|read)|_ZTI\w*)$")
HEADERS = {"thread", "mutex", "iostream", "fstream", "filesystem", "future", "condition_variable"}


def output(*command: str | Path, status: int = 0) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done.stdout


def named(lines: str) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in lines.splitlines())


class Board:
    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args, self.folder, self.arm = args, folder, args.machine != "x86_64"

    def build(self, image: Path) -> Path:
        """Links the example with an image, and checks what it includes."""
        source, program = Path(self.args.source), self.folder / "program"
        start = source / "examples/board" / ("cortex_m.cpp" if self.arm else "x86_64.cpp")
        flags = [*FLAGS, *MACHINES[self.args.machine], f"-I{source / 'include'}", "-isystem", self.args.xsimd]
        listing = self.folder / "headers"
        self.object = self.folder / "freestanding.o"
        output(self.args.cxx, *flags, "-MD", "-MF", listing, "-c", source / "examples/freestanding.cpp", "-o", self.object)
        if found := HEADERS & {Path(name).name for name in listing.read_text().split()}:
            sys.exit(f"the example includes {', '.join(sorted(found))}")
        return self.link(image, [*flags, start], program)

    def link(self, image: Path, with_start: list, program: Path) -> Path:
        self.with_start = with_start
        source = Path(self.args.source)
        script = ["-T", source / "examples/board/cortex_m.ld"] if self.arm else []
        output(self.args.cxx, *with_start, *script, f'-DTOY_IMAGE="{image}"', self.object,
               source / "examples/board/image.S", "-o", program)
        return program

    def run(self, program: Path, status: int = 0) -> str:
        qemu = [self.args.qemu, "-M", BOARDS[self.args.machine], "-display", "none", "-monitor", "none", "-serial",
                "none", "-semihosting-config", "enable=on,target=native", "-kernel"] if self.arm else []
        # Semihosting writes to standard error or output, as it pleases.
        done = subprocess.run([*qemu, program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode != status:
            sys.exit(f"it ended with {done.returncode}, not {status}: {done.stdout}")
        return done.stdout

    def tool(self, name: str) -> str:
        return re.sub(r"g\+\+[^/]*$", name, self.args.cxx) if self.arm else name

    def check_sizes(self, program: Path, said: dict[str, str]) -> None:
        sizes = dict(re.findall(r"^(\.\S+)\s+(\d+)", output(self.tool("size"), "-A", program), re.M))
        symbols = output(self.tool("nm"), "-S", "-C", program)
        memory = re.search(r"^\S+ (\S+) \w \(anonymous namespace\)::memory$", symbols, re.M)
        found = {"image": int(sizes[".image"]), "memory": int(memory[1], 16)}
        if self.arm:  # nothing else is written, but the stack
            found["memory"] = int(sizes[".bss"]) + int(sizes.get(".data", 0))
        for name, bytes_ in found.items():
            if int(said[name]) != bytes_:
                sys.exit(f"{name}: {bytes_} bytes in the program, {said[name]} by its constant")
        if not 0 < int(said["stack"]) < STACK:
            sys.exit(f"it took {said['stack']} bytes of {STACK} of stack")
        if needs := NEEDS_A_SYSTEM.findall("\n".join(line.split()[-1] for line in symbols.splitlines())):
            sys.exit(f"the program has {needs}")
        code = sum(int(sizes.get(name, 0)) for name in (".text", ".rodata"))
        print(f"flash: {found['image']} bytes of image, {code} of code; memory: {found['memory']} bytes and "
              f"{said['stack']} of stack")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("machine", choices=MACHINES)
    for option in ("cxx", "image", "source", "xsimd"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--qemu")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        image = folder / "toy.img"
        host = named(output(args.image, image))
        board = Board(args, folder)
        program = board.build(image)
        said = named(board.run(program))
        for what in ("ids", "logits", "image"):
            if said.get(what) != host[what]:
                sys.exit(f"{what}: {said.get(what)} on the board, {host[what]} on the host")
        board.check_sizes(program, said)
        damaged = folder / "damaged.img"
        bytes_ = bytearray(image.read_bytes())
        bytes_[5000] ^= 1
        damaged.write_bytes(bytes_)
        found = board.run(board.link(damaged, board.with_start, folder / "refuses"), status=1)
        if not found.startswith("checksum of the image: expected "):
            sys.exit(f"of a damaged image it says: {found}")


if __name__ == "__main__":
    main()
