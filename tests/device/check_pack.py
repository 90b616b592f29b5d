#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_pack.py FOLDER: a folder that can travel: at most 60 MB; a program that links glibc and nothing else; and which,
in a Debian root that has libc6 and nothing else, says in one line that there is no device, with exit status 3."""
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from empty_root import GLIBC, libraries_of, run_in_empty_root

MOST_BYTES = 60_000_000
MOST_GLIBC = (2, 35)  # of Ubuntu 22.04; Debian 12, where it is compiled, has 2.36
NO_DEVICE = 3


def main(folder: str) -> int:
    program = Path(folder) / "device_check"
    if not program.exists():
        raise SystemExit(f"no {program}")
    wrong = []
    size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file())
    if size > MOST_BYTES:
        wrong.append(f"{size} bytes, {MOST_BYTES} allowed")
    dynamic = subprocess.run(["readelf", "-V", program], capture_output=True, text=True, check=True).stdout
    needed = libraries_of(program)
    if more := set(needed) - GLIBC:
        wrong.append(f"links {', '.join(sorted(more))}")
    glibc = max((tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", dynamic)), default=(0,))
    if glibc > MOST_GLIBC:
        wrong.append(f"wants glibc {'.'.join(map(str, glibc))}, and may want {'.'.join(map(str, MOST_GLIBC))}")
    run = run_in_empty_root(Path(folder), ["device_check"])
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
