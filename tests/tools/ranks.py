# SPDX-License-Identifier: MIT
"""ranks.py: cke on several ranks: one rank's answer, the planned exchanges, a named error for a lost or other rank."""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANK = b"OMPI_COMM_WORLD_RANK="


def ranks_of(mpirun: int) -> dict[int, int]:
    """The process of each rank of an mpirun on this machine. A rank's own children, compilers, are none."""
    ranks = {}
    for child in Path(f"/proc/{mpirun}/task/{mpirun}/children").read_text().split():
        try:
            words = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        ranks.update((int(word[len(RANK):]), int(child)) for word in words if word.startswith(RANK))
    return ranks


class Ranks:
    def __init__(self, cke: str, mpirun: str, model: Path):
        self.cke, self.model = cke, model
        self.mpirun = [mpirun, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]

    def words(self, model: Path, *more: str) -> list[str]:
        return [self.cke, "run", str(model), "-p", "Once upon a time", "-t", "1", *more]

    def run(self, words: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(words, capture_output=True, text=True, timeout=240, env={**os.environ, **(env or {})})

    def answers(self, counts: list[int]) -> None:
        for more in (["-n", "60", "--temp", "0"], ["-n", "40", "--temp", "0.9", "--seed", "5", "--draft", "3"]):
            want = self.run(self.words(self.model, *more))
            assert want.returncode == 0 and want.stdout, want.stderr
            for count in counts:
                got = self.run(self.mpirun + ["-n", str(count)] + self.words(self.model, *more))
                assert got.returncode == 0, got.stderr
                assert got.stdout == want.stdout, f"{count} ranks: {got.stdout!r} instead of {want.stdout!r}"

    def counts(self, probe: str, folder: Path, count: int) -> None:
        """What the ranks send for 20 more tokens is what the plan says of a token, 20 times."""
        def of(tokens: int) -> list[list[int]]:
            done = self.run(self.mpirun + ["-n", str(count)]
                            + ["-x", f"LD_PRELOAD={probe}", "-x", f"CKE_PROBE={folder}/probe"]
                            + self.words(self.model, "-n", str(tokens), "--temp", "0"))
            assert done.returncode == 0, done.stderr
            return [[int(n) for n in (folder / f"probe.{rank}").read_text().split()[:2]] for rank in range(count)]

        facts = self.run([self.cke, "inspect", str(self.model), "--ranks", str(count), "--json"])
        plan = json.loads(facts.stdout)["ranks"]
        (embedding,) = plan["codes"][0]["exchanges"]  # one rank sends it, the one that has the id's row
        of_embedding, ids = embedding["bytes"][0], 0
        for rank, (few, many) in enumerate(zip(of(10), of(30))):
            exchanges, sent = many[0] - few[0], many[1] - few[1]
            planned = plan["sent_bytes"][rank]
            assert exchanges == 20 * plan["exchanges"], f"rank {rank}: {exchanges} for {plan['exchanges']} exchanges"
            more = sent - 20 * (planned - of_embedding)
            assert more >= 0 and more % of_embedding == 0, f"rank {rank}: {sent} bytes for 20 times {planned}"
            ids += more // of_embedding
        assert ids == 20, f"{ids} rows of the embedding were sent for 20 ids"

    def profile(self, folder: Path) -> None:
        """Ranks run with the profile of one process, but for its chunk, on which they would have to agree."""
        own = self.words(self.model, "-n", "8", "--temp", "0", "--verbose")
        plain = self.run(self.mpirun + ["-n", "2"] + own)
        assert plain.returncode == 0, plain.stderr
        entry = Path(re.search(r"^cke: compile .*, (/.*)/model\.so$", plain.stderr, re.MULTILINE)[1])
        cache = folder / "cache"
        (cache / "profiles").mkdir(parents=True)
        cache.chmod(0o700)
        shutil.copytree(entry, cache / entry.name)
        unit = self.run([self.cke, "build", str(self.model), "--print-unit"]).stdout
        program = hashlib.sha256(unit.encode()).hexdigest()[:16]
        names = re.findall(r"^model name.*?: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        cpu = names[0] if names else "unknown"
        key = hashlib.sha256(f"{program}\n{cpu}\n1".encode()).hexdigest()[:16]
        profile = cache / "profiles" / f"{key}.yaml"
        profile.write_text(f'version: 1\nprogram: "{program}"\ndevice:\n  cpu: "{cpu}"\n  threads: 1\n'
                           "kernelHints:\n  unitsPerClaim: 2\n  chunk: 64\n")
        both = self.run(self.mpirun + ["-n", "2"] + own, {"CKE_CACHE": str(cache)})
        one = self.run(self.mpirun + ["-n", "1"] + own + [":", "-n", "1", "env", f"CKE_CACHE={cache}"] + own)
        for count, found in ((2, both), (1, one)):
            assert found.returncode == 0 and found.stdout == plain.stdout, found.stderr
            assert found.stderr.count(f"  {profile}\n") == count, found.stderr

    def refused(self, ranks: list[list[str]], expected: str) -> None:
        """One rank each: an error that has the expected words, and no answer."""
        words = list(self.mpirun)
        for i, rank in enumerate(ranks):
            words += ([":"] if i else []) + ["-n", "1"] + rank
        done = self.run(words)
        assert done.returncode != 0 and not done.stdout, done.stdout
        assert re.search(expected, done.stderr), f"no {expected!r} in {done.stderr!r}"

    def lost(self, how: int, expected: str, env: dict[str, str] | None = None) -> None:
        """A rank gets a signal while it answers: rank 0 names it within 5 s, and no process is left."""
        words = self.mpirun + ["-n", "3"] + self.words(self.model, "-n", "1900", "--temp", "1")
        with tempfile.TemporaryFile("w+") as errors:
            job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **(env or {})})
            try:
                assert job.stdout.read(1), "no answer"
                ranks = ranks_of(job.pid)
                os.kill(ranks[2], how)
                start = time.monotonic()
                job.communicate(timeout=60)
                seconds = time.monotonic() - start
            finally:
                job.kill()
            errors.seek(0)
            text = errors.read()
        assert job.returncode != 0
        assert re.search(expected.format(ranks[2]), text), text
        assert seconds < 8, f"{seconds:.1f} s"  # 5, and what mpirun takes to end the others
        left = list(ranks.values())
        while left and time.monotonic() - start < 8:
            time.sleep(0.05)
            left = [p for p in left if Path(f"/proc/{p}").exists()]
        assert not left, f"processes {left} are left"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--cke", "--mpirun", "--probe", "--model"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    model = Path(args.model)
    r = Ranks(args.cke, args.mpirun, model)
    r.answers([2, 3])
    with tempfile.TemporaryDirectory() as folder:
        for count in (2, 3):
            r.counts(args.probe, Path(folder), count)
        r.profile(Path(folder))
        other = Path(folder) / "other"
        shutil.copytree(model, other)
        file = next(other.glob("*.safetensors"))
        with file.open("r+b") as f:
            f.seek(-1, os.SEEK_END)
            last = f.read(1)[0]
            f.seek(-1, os.SEEK_END)
            f.write(bytes([last ^ 1]))
        own = r.words(model, "-n", "3")
        r.refused([own, r.words(other, "-n", "3")],
                  "rank 1 on .*: weights: expected [0-9a-f]{16}, as rank 0 has, found")
        r.refused([own, own + ["-c", "512"]], "rank 1 on .*: program: expected")
        r.refused([own, r.words(other / "none", "-n", "3")], "rank 1 on .*none")
        r.refused([own, ["sh", "-c", "sleep 1; kill -9 $$"]], "cke: rank 1 ended before MPI had started")
        r.refused([own + ["--save-session", str(Path(folder) / "s")]] * 2,
                  "session file: expected one rank, found 2 ranks")
        r.refused([own + ["--draft-model", str(model), "--draft", "2"]] * 2,
                  "a second model: expected one rank, found 2 ranks")
    r.lost(signal.SIGKILL, r"cke: rank 2 \(process {0}\) has ended before its work was done")
    r.lost(signal.SIGSTOP, r"cke: rank 0: waited for more than 1 s for rank 2 \(process {0}\)",
           {"CKE_RANK_SECONDS": "1"})


if __name__ == "__main__":
    sys.exit(main())
