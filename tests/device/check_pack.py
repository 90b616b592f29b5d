#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_pack.py FOLDER: a folder that can travel: at most 60 MB; a program that links glibc and nothing else; and which,
in a Debian root that has libc6 and nothing else, says in one line that there is no device, with exit status 3."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_BYTES = 60_000_000
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
MOST_GLIBC = (2, 35)  # of Ubuntu 22.04; Debian 12, where it is compiled, has 2.36
NO_DEVICE = 3


def files_of_libc() -> list[Path]:
    """The package's libraries; without dpkg those that the linker would take."""
    if shutil.which("dpkg"):
        listed = subprocess.run(["dpkg", "-L", "libc6"], capture_output=True, text=True)
        found = [Path(line) for line in listed.stdout.splitlines() if re.search(r"\.so(\.\d+)*$", line)]
        if listed.returncode == 0 and found:
            return [p for p in found if p.is_file()]
    return [Path(p) for p in re.findall(r"(/\S+)", subprocess.run(["ldd", sys.executable], capture_output=True, text=True).stdout)
            if Path(p).name in GLIBC]


def run_in_empty_root(folder: Path) -> subprocess.CompletedProcess | None:
    """None where this machine does not let its users have roots of their own."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for file in files_of_libc():
            at = root / file.relative_to("/")
            at.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, at)
        if not (root / "lib64/ld-linux-x86-64.so.2").exists():  # /lib64 may be a link
            (root / "lib64").mkdir(exist_ok=True)
            shutil.copy("/lib64/ld-linux-x86-64.so.2", root / "lib64")
        for directory in ("lib", "usr/lib"):  # and so may /lib
            (root / directory / "x86_64-linux-gnu").mkdir(parents=True, exist_ok=True)
            for library in GLIBC - {"ld-linux-x86-64.so.2"}:
                if not (root / directory / "x86_64-linux-gnu" / library).exists() and (at := Path("/lib/x86_64-linux-gnu") / library).exists():
                    shutil.copy(at, root / directory / "x86_64-linux-gnu" / library)
        shutil.copytree(folder, root / "check")
        command = ["chroot", name, "/check/device_check"]
        if os.geteuid() != 0:
            command = ["unshare", "-r", *command]
            if subprocess.run(["unshare", "-r", "true"], capture_output=True).returncode:
                return None
        return subprocess.run(command, capture_output=True, text=True, env={}, timeout=60,
                              executable=shutil.which(command[0], path="/usr/sbin:/usr/bin:/sbin:/bin"))


def main(folder: str) -> int:
    program = Path(folder) / "device_check"
    if not program.exists():
        raise SystemExit(f"no {program}")
    wrong = []
    size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file())
    if size > MOST_BYTES:
        wrong.append(f"{size} bytes, {MOST_BYTES} allowed")
    dynamic = subprocess.run(["readelf", "-d", "-V", program], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", dynamic)
    if more := set(needed) - GLIBC:
        wrong.append(f"links {', '.join(sorted(more))}")
    glibc = max((tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", dynamic)), default=(0,))
    if glibc > MOST_GLIBC:
        wrong.append(f"wants glibc {'.'.join(map(str, glibc))}, and may want {'.'.join(map(str, MOST_GLIBC))}")
    run = run_in_empty_root(Path(folder))
    if run is None:
        print("an empty root: not asked, because this machine refuses `unshare -r`")
    elif run.returncode != NO_DEVICE or run.stdout or run.stderr.count("\n") != 1 or "no device: no libcuda.so.1" not in run.stderr:
        wrong.append(f"in an empty root: exit status {run.returncode}, stdout {run.stdout!r}, stderr {run.stderr!r}")
    else:
        print(f"in an empty root: exit status {run.returncode}, {run.stderr.strip()!r}")
    print("\n".join(wrong) or f"{folder}: {size / 1e6:.1f} MB; links {', '.join(needed)} (glibc {'.'.join(map(str, glibc))})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
