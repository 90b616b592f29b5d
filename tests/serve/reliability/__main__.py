# SPDX-License-Identifier: MIT
"""python3 tests/serve/reliability CKE MODEL [--quick] [--timing PROGRAM] [ROW ...]: what cke serve holds under load and attack,
a row at a time, as a Markdown table: the rows of docs/reliability.md. Needs nothing but Python, on Linux; --quick: the sizes of `./dev test`."""
import argparse
import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
import doors  # noqa: E402
import lifecycle  # noqa: E402
import load  # noqa: E402
import words  # noqa: E402
from harness import Server  # noqa: E402
from wire import ask  # noqa: E402

ROWS = {
    "concurrency": load.concurrency, "queue full": load.queue_full, "slow clients": load.slow, "disconnect": load.disconnect, "stalled reader": load.stalled,
    "huge prompt": load.huge, "KV overflow": load.overflow, "bad input": words.bad_input, "HTTP abuse": words.http_abuse, "auth": doors.auth,
    "rebinding, CORS": doors.rebinding, "bind": doors.bind, "paths": doors.paths, "isolation": doors.isolation, "ending": lifecycle.ending,
    "double start": lifecycle.double_start, "few files": lifecycle.few_files, "logs": doors.logs, "injection": words.injection,
}


class Watched(Server):
    """A server whose memory, files, counters and output are looked at from outside."""

    def __init__(self, command: str, model: str, *options: str, before=None):
        self.errors = tempfile.TemporaryFile("w+")
        super().__init__(command, model, *options, stderr=self.errors, preexec_fn=before)
        self.port = int(self.url.rsplit(":", 1)[1])

    def output(self) -> str:
        """After its first line, once it has ended."""
        self.errors.seek(0)
        return self.process.stdout.read() + self.errors.read()

    def status(self, field: str) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))

    def resident(self) -> int:
        return self.status("VmRSS")

    def peak(self) -> int:
        return self.status("VmHWM")

    def reset_peak(self) -> None:
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    async def figure(self, name: str) -> float:
        for line in (await ask(self.port, "GET", "/metrics")).body.decode().splitlines():
            if line.startswith(f"cke_{name} "):
                return float(line.split()[1])
        raise KeyError(name)


class Setup:
    def __init__(self, command: str, model: str, quick: bool, timing: str, key_file: str):
        self.command, self.model, self.quick, self.timing, self.key_file = command, Path(model), quick, timing, key_file
        self.can_trace = shutil.which("strace") is not None

    def count(self, whole: int, quick: int) -> int:
        return quick if self.quick else whole

    @contextlib.asynccontextmanager
    async def serving(self, *options: str, before=None, ends: bool = False):
        """`ends`: the row itself ends it."""
        server = Watched(self.command, str(self.model), *options, before=before)
        try:
            yield server
            if not ends:
                await asyncio.to_thread(server.stop)  # connections that were closed here are closed meanwhile
        finally:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()

    def attempt(self, *options: str) -> tuple[int, str]:
        """A start that should fail: its status, and what it says."""
        port = () if "--port" in options else ("--port", "0")
        run = subprocess.run([self.command, "serve", str(self.model), *port, *options], capture_output=True, text=True, timeout=60)
        return run.returncode, run.stderr

    @contextlib.contextmanager
    def traced(self, pid: int):
        """Yields what tells, afterwards, which files the process opened meanwhile."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            tracer = None
            if self.can_trace:
                tracer = subprocess.Popen(["strace", "-f", "-e", "trace=open,openat,openat2,execve,unlink,unlinkat,rename,renameat2,mkdir", "-o", log, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
                tracer.stderr.readline()  # attached
            found: list[str] = []
            yield lambda: found
            if tracer:
                tracer.terminate()
                tracer.wait()
                found += [line for line in log.read_text().splitlines() if "(" in line and "resumed" not in line]


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("cke"), p.add_argument("model")
    p.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    p.add_argument("--quick", action="store_true")
    p.add_argument("--timing", default="build/release/tests/serve/key_timing", help="the program of key_timing.cpp, for auth")
    a = p.parse_intermixed_args()
    unknown = set(a.rows) - set(ROWS)
    if unknown:
        p.error(f"no rows: {', '.join(unknown)}")
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
        keys.write("\n".join(doors.KEYS) + "\n")
        keys.flush()
        failed = run(Setup(a.cke, a.model, a.quick, a.timing, keys.name), a.rows or list(ROWS))
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def run(setup: Setup, rows: list[str]) -> list[str]:
    """Those that failed."""
    print("| row | what held |\n|---|---|", flush=True)
    failed = []
    for name in rows:
        begun = time.monotonic()
        try:
            held = asyncio.run(ROWS[name](setup))
        except Exception as e:  # the others are run all the same
            failed.append(name)
            held = f"**FAILED** {type(e).__name__}: {e}"
        print(f"| {name} | {held} |", flush=True)
        print(f"{name}: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
    return failed


if __name__ == "__main__":
    main()
