# SPDX-License-Identifier: MIT
"""Runs a folder's program in a Debian root that has libc6 and /proc, and nothing else."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}


def libraries_of(program: Path) -> list[str]:
    """What it links."""
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", dynamic)


def files_of_libc() -> list[Path]:
    """The package's libraries; without dpkg those that the linker would take."""
    if shutil.which("dpkg"):
        listed = subprocess.run(["dpkg", "-L", "libc6"], capture_output=True, text=True)
        found = [Path(line) for line in listed.stdout.splitlines() if re.search(r"\.so(\.\d+)*$", line)]
        if listed.returncode == 0 and found:
            return [p for p in found if p.is_file()]
    return [Path(p) for p in re.findall(r"(/\S+)", subprocess.run(["ldd", sys.executable], capture_output=True, text=True).stdout)
            if Path(p).name in GLIBC]


def run_in_empty_root(folder: Path, arguments: list[str], **options) -> subprocess.CompletedProcess | None:
    """arguments[0] is a program in the folder. None where this machine does not let its users have roots of their own."""
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
                here, there = Path("/lib/x86_64-linux-gnu") / library, root / directory / "x86_64-linux-gnu" / library
                if here.exists() and not there.exists():
                    shutil.copy(here, there)
        shutil.copytree(folder, root / "here")
        (root / "proc").mkdir()
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
        if subprocess.run([*unshare, "mount", "--rbind", "/proc", root / "proc"], capture_output=True).returncode:
            return None
        command = [*unshare, "sh", "-c", 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"', name,
                   "/here/" + arguments[0], *arguments[1:]]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, **options,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
