# SPDX-License-Identifier: MIT
"""ranks_campaign.py: what tests/tools/ranks.py checks once, many times: `./dev ranks-campaign`.

    python3 tests/tools/ranks_campaign.py [--kills 50] [--delays 100] [--bits] [--cke build/release/cke]

--kills: one of two to four ranks gets SIGKILL at a random moment of a run. Each time there is an error that names it,
and within 8 s no process is left. --delays: three ranks are stopped in turns for up to 30 ms each; the answer is that
of one process. --bits: the logits of a prompt, and greedy ids, of a random model of each kind (dense, windowed,
recurrent, latent, experts) in each format on 2, 3 and 5 ranks have the bytes of one process.
"""
import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from ranks import Ranks, ranks_of

TREE = Path(__file__).resolve().parents[2]
FAMILIES = {"dense": "smollm3", "windowed": "gemma3_text", "recurrent": "qwen3_5_text", "latent": "deepseek_v3",
            "experts": "qwen3_moe"}


def start(r: Ranks, count: int, errors, *more: str) -> subprocess.Popen:
    return subprocess.Popen(r.mpirun + ["-n", str(count)] + r.words(r.model, *more), stdout=subprocess.PIPE,
                            stderr=errors, start_new_session=True)


def kill_one(r: Ranks, chance: random.Random) -> str:
    """Returns who named the rank."""
    count = chance.randint(2, 4)
    with tempfile.TemporaryFile("w+") as errors:
        job = start(r, count, errors, "-n", "1900", "--temp", "1")
        time.sleep(chance.uniform(0, 3))
        ranks = ranks_of(job.pid)
        while not ranks and job.poll() is None:
            ranks = ranks_of(job.pid)
        if not ranks:  # all was over before the moment came
            job.communicate()
            return kill_one(r, chance)
        rank = chance.choice(sorted(ranks))
        os.kill(ranks[rank], signal.SIGKILL)
        killed = time.monotonic()
        job.communicate(timeout=60)
        left = list(ranks.values())
        while left and time.monotonic() - killed < 8:
            time.sleep(0.05)
            left = [p for p in left if Path(f"/proc/{p}").exists()]
        errors.seek(0)
        text = errors.read()
    assert job.returncode != 0, "no failure"
    assert not left and time.monotonic() - killed < 8, f"processes {left} are left"
    # The other ranks' word for it, or mpirun's where none of them was there to say it.
    ours = re.search(rf"cke: rank {rank} \(process {ranks[rank]}\) has ended before its work was done", text)
    mpi = re.search(rf"process rank {rank} with PID {ranks[rank]} .*\s*exited on signal 9", text)
    assert ours or mpi, f"rank {rank}, process {ranks[rank]}: {text}"
    return "cke" if ours else "mpirun"


def delay(r: Ranks, chance: random.Random, want: bytes) -> int:
    """Returns how often a rank was stopped."""
    with tempfile.TemporaryFile("w+") as errors:
        job = start(r, 3, errors, "-n", "200", "--temp", "0.9", "--seed", "5")
        stops = 0
        while job.poll() is None:
            processes = list(ranks_of(job.pid).values())
            for process in chance.sample(processes, len(processes)):
                try:
                    os.kill(process, signal.SIGSTOP)
                    time.sleep(chance.uniform(0, 0.03))
                    os.kill(process, signal.SIGCONT)
                except ProcessLookupError:
                    continue
                stops += 1
        got = job.stdout.read()
        errors.seek(0)
        assert job.returncode == 0, errors.read()
    assert got == want, f"{got!r} instead of {want!r}"
    return stops


def bits(cke: str, mpirun: list[str], folder: Path) -> None:
    ids = ",".join(str(3 + i * 7 % 40) for i in range(33))
    for kind, family in FAMILIES.items():
        for form in ("f32", "bf16", "q8_0", "q4_k"):
            model = TREE / "tests/data/families" / family
            options = ["--format", form]
            if form == "q4_k":
                model, options = folder / f"{family}.gguf", []
                made = subprocess.run([cke, "quantize", TREE / "tests/data/families" / family, model, "--to", "q4_k_s"],
                                      capture_output=True, text=True)
                if made.returncode:
                    print(f"{kind:10} {form:5} left out: {made.stderr.strip()}")
                    continue

            def sum_on(count: int) -> str:
                out = folder / "logits.npy"
                out.unlink(missing_ok=True)
                on = mpirun + ["-n", str(count)] if count else []
                words = [cke, "logits", model, "--tokens", ids, "-t", "1", "-o", out, *options]
                subprocess.run(on + words, check=True, capture_output=True)
                words = [cke, "run", model, "--tokens", ids, "-n", "12", "--temp", "0", "--ids", "-t", "1", *options]
                greedy = subprocess.run(on + words, check=True, capture_output=True).stdout
                return hashlib.sha256(out.read_bytes() + greedy).hexdigest()

            sums = {count: sum_on(count) for count in (0, 2, 3, 5)}
            assert len(set(sums.values())) == 1, f"{kind} {form}: {sums}"
            print(f"{kind:10} {form:5} {sums[0][:16]} on 1, 2, 3 and 5 ranks", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--delays", type=int, default=0)
    parser.add_argument("--bits", action="store_true")
    parser.add_argument("--cke", default=str(TREE / "build/release/cke"))
    parser.add_argument("--mpirun", default=shutil.which("mpirun"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    r = Ranks(args.cke, args.mpirun, TREE / "assets/tiny")
    r.answers([2])  # compiles
    if args.kills:
        said = [kill_one(r, chance) for _ in range(args.kills)]
        print(f"{args.kills} kills: {said.count('cke')} named by cke, {said.count('mpirun')} by mpirun, no process left")
    if args.delays:
        words = r.words(r.model, "-n", "200", "--temp", "0.9", "--seed", "5")
        want = subprocess.run(words, check=True, capture_output=True).stdout
        stops = sum(delay(r, chance, want) for _ in range(args.delays))
        print(f"{args.delays} runs with {stops} stops: the answer of one process each time")
    if args.bits:
        with tempfile.TemporaryDirectory() as name:
            bits(args.cke, r.mpirun, Path(name))


if __name__ == "__main__":
    main()
