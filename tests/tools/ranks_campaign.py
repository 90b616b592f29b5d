# SPDX-License-Identifier: MIT
"""ranks_campaign.py: what tests/tools/ranks.py checks once, many times: `./dev ranks-campaign`.

    python3 tests/tools/ranks_campaign.py [--kills 50] [--delays 100] [--bits] [--cke build/release/cke]

--kills: one of two to four ranks gets SIGKILL at a random moment of a run, which may be its first. Each time there is
an error of cke or of mpirun that names this rank, and within 5 s no process is left. --delays: three ranks
are stopped in turns for up to 30 ms each; the answer is that of one process. --bits: the logits of a prompt, greedy ids
and those of four beams, which decode together, of a random model of each kind (dense, windowed, recurrent, latent,
experts) in each format under mpirun with 1, 2, 3 and 5 ranks have the bytes without it. It makes the models, with torch
and transformers.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ranks import Ranks, ranks_of

TREE = Path(__file__).resolve().parents[2]
SHAPE = ["--hidden", "256", "--heads", "4", "--kv-heads", "4", "--head-dim", "64", "--vocab", "512",
         "--intermediate", "512", "--layers", "3", "--dtype", "bfloat16"]  # Q4_K has blocks of 256
KINDS = {  # a family, and more keys of its config
    "dense": ("qwen3", {}),
    "windowed": ("gemma3_text", {"sliding_window": 16, "query_pre_attn_scalar": 64,
                                 "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}),
    "recurrent": ("qwen3_5_text", {"layer_types": ["linear_attention", "full_attention", "linear_attention"],
                                   "linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_num_key_heads": 4,
                                   "linear_num_value_heads": 4}),
    "latent": ("deepseek_v3", {"q_lora_rank": 256, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32,
                               "v_head_dim": 64, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 1,
                               "topk_group": 1, "moe_intermediate_size": 256, "first_k_dense_replace": 1}),
    "experts": ("qwen3_moe", {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 256}),
}


def start(r: Ranks, count: int, errors, *more: str) -> subprocess.Popen:
    return subprocess.Popen(r.mpirun + ["-n", str(count)] + r.words(r.model, *more), stdout=subprocess.PIPE,
                            stderr=errors, start_new_session=True)


def kill_one(r: Ranks, chance: random.Random, seconds: float) -> str | None:
    """Within so many seconds of a start. Returns who named the rank; None: the run had ended by then."""
    count = chance.randint(2, 4)
    with tempfile.TemporaryFile("w+") as errors:
        job = start(r, count, errors, "-n", "1900", "--temp", "1", "--seed", "1")
        time.sleep(chance.uniform(0, seconds))
        ranks = ranks_of(job.pid)
        while not ranks and job.poll() is None:
            ranks = ranks_of(job.pid)
        if not ranks:
            assert job.wait() == 0, errors.seek(0) or errors.read()
            return None
        rank = chance.choice(sorted(ranks))
        os.kill(ranks[rank], signal.SIGKILL)
        killed = time.monotonic()
        try:
            job.communicate(timeout=10)
        finally:
            job.kill()
        left = list(ranks.values())
        while left and time.monotonic() - killed < 5:
            time.sleep(0.05)
            left = [p for p in left if Path(f"/proc/{p}").exists()]
        errors.seek(0)
        text = errors.read()
    assert job.returncode != 0, "no failure"
    assert not left and time.monotonic() - killed < 5, f"processes {left} are left"
    # The other ranks' word for it, or mpirun's where rank 0 was not there to say it.
    named = {int(n) for n in re.findall(r"cke: rank (\d+) (?:\(process \d+\) has )?ended before", text)}
    by_mpirun = {int(n) for n in re.findall(r"process rank (\d+) with PID \d+ .*\s*exited on signal 9", text)}
    assert rank in named | by_mpirun, f"rank {rank} of {count}, process {ranks[rank]}: {text}"
    others = (named | by_mpirun) - {rank}  # mpirun may have ended one before its main
    return ("cke" if rank in named else "mpirun") + (" and others" if others else "")


def delay(r: Ranks, chance: random.Random, want: bytes) -> int:
    """Returns how often a rank was stopped."""
    with tempfile.TemporaryFile("w+") as errors:
        job = start(r, 3, errors, "-n", "40", "--temp", "0.9", "--seed", "5")
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
    assert stops, "no rank was stopped"
    return stops


def said(*words: object) -> bytes:
    done = subprocess.run([str(word) for word in words], capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def bits(cke: str, mpirun: list[str], folder: Path) -> None:
    ids = ",".join(str(3 + i * 7 % 40) for i in range(33))
    for kind, (family, more) in KINDS.items():
        said(sys.executable, TREE / "tools/parity/make_random_hf.py", folder / kind, "--family", family, *SHAPE,
             "--more", json.dumps(more))
        said(cke, "quantize", folder / kind, folder / f"{kind}.gguf", "--to", "q4_k_s")
        for form in ("f32", "bf16", "q8_0", "q4_k"):
            model, options = (folder / f"{kind}.gguf", []) if form == "q4_k" else (folder / kind, ["--format", form])
            stored = json.loads(said(cke, "inspect", model, "--json"))["stored"]
            assert form != "q4_k" or "q4_k" in stored, stored

            def sum_on(*on: str) -> str:
                out = folder / "logits.npy"
                out.unlink(missing_ok=True)
                said(*on, cke, "logits", model, "--tokens", ids, "-t", "1", "-o", out, *options)
                run = [*on, cke, "run", model, "--tokens", ids, "-n", "12", "--ids", "-t", "1", *options]
                return hashlib.sha256(out.read_bytes() + said(*run) + said(*run, "--beams", "4")).hexdigest()

            want = sum_on()
            for count in ("1", "2", "3", "5"):
                got = sum_on(*mpirun, "-n", count)
                assert got == want, f"{kind} {form}, {count} ranks: {got} instead of {want}"
            print(f"{kind:10} {form:5} {want[:16]} without MPI and on 1, 2, 3 and 5 ranks", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--delays", type=int, default=0)
    parser.add_argument("--bits", action="store_true")
    parser.add_argument("--cke", default=str(TREE / "build/release/cke"))
    parser.add_argument("--mpirun", default=shutil.which("mpirun"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    # mpirun 4.1.4 with PMIx 4.2.2 at times waits for ever for a lock of PMIx's shared memory, when all ranks are gone.
    os.environ.setdefault("PMIX_MCA_gds", "hash")
    chance = random.Random(args.seed)
    r = Ranks(args.cke, args.mpirun, TREE / "assets/tiny")
    r.answers([2])  # compiles
    if args.kills:
        start_of_run = time.monotonic()
        said(*r.mpirun, "-n", "2", *r.words(r.model, "-n", "1900", "--temp", "1", "--seed", "1"))
        seconds = time.monotonic() - start_of_run
        who = []
        while len(who) < args.kills:
            who += filter(None, [kill_one(r, chance, seconds / 2)])
        by_whom = ", ".join(f"{who.count(name)} named by {name}" for name in sorted(set(who)))
        print(f"{args.kills} kills: {by_whom}, no process left")
    if args.delays:
        words = r.words(r.model, "-n", "40", "--temp", "0.9", "--seed", "5")
        want = subprocess.run(words, check=True, capture_output=True).stdout
        stops = sum(delay(r, chance, want) for _ in range(args.delays))
        print(f"{args.delays} runs with {stops} stops: the answer of one process each time")
    if args.bits:
        with tempfile.TemporaryDirectory() as name:
            bits(args.cke, r.mpirun, Path(name))


if __name__ == "__main__":
    main()
