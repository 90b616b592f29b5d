# SPDX-License-Identifier: MIT
"""unrolled_peers.py --cke CKE --xsimd FOLDER: assets/tiny as straight-line code beside the same model over tables, in
straight C, llama.cpp and onnxruntime: tokens a second, one thread each, in turns.

    python3 -m venv build/unrolled-venv
    CMAKE_ARGS=-DGGML_NATIVE=ON build/unrolled-venv/bin/pip install numpy onnx onnxruntime safetensors ml_dtypes \\
        --no-binary llama-cpp-python llama-cpp-python==0.3.36
    build/unrolled-venv/bin/python benchmarks/unrolled_peers.py --cke build/release/cke \\
        --xsimd build/deps/xsimd-14.1.0/include

CKE writes the GGUF files; all else is compiled and written into build/unrolled-peers. An engine is a program whose last
arguments are PROMPT COUNT SECONDS: it takes the ids of PROMPT and COUNT greedy ones after them, then feeds those COUNT
again and again for so many seconds, each id a pass with its logits, and prints as JSON the ids, and of each run the
seconds of CPU time and of the clock. In f32 all engines have to find the same ids before anything is measured.

A round runs every engine once, each a process of its own, and the order turns with the round; a figure is the median of
the rounds' medians, by CPU time, because other programs may use the machine. The last column is that of GB/s over what
the thread reads of as many bytes with nothing else to do, measured in the same round.
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "peers"))
import onnxruntime_ids as exported  # noqa: E402

TINY = ROOT / "assets/tiny"
SHAPE = (".vocab = 1536, .dim = 128, .hidden = 384, .layers = 5, .heads = 4, .kv_heads = 2, .head_dim = 32, "
         ".rope = {.theta = 1e4}")
# "Once upon a time, ...": 32 ids
PROMPT = ("472,473,258,453,11,458,288,258,1160,519,345,722,13,849,737,850,11,722,435,285,384,305,268,990,13,411,353,11,"
          "722,311,401,419")
UNROLLED = "cke, unrolled"


def matrices(config: dict) -> int:
    """Numbers that a token multiplies with."""
    d, hidden, size = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    rows = 2 * size * (config["num_attention_heads"] + config["num_key_value_heads"]) + 3 * hidden
    return d * (config["num_hidden_layers"] * rows + config["vocab_size"])


def write_flat(path: Path, quantised: bool, context: int) -> None:
    """What straight.c reads."""
    config, weights = exported.read(TINY)
    with path.open("wb") as out:
        out.write(struct.pack("8i2f", *(config[k] for k in (
            "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
            "num_key_value_heads", "head_dim")), context, config["rms_norm_eps"], config["rope_theta"]))
        names = ["embed_tokens"]
        for layer in range(config["num_hidden_layers"]):
            names += [f"layers.{layer}.{name}" for name in (
                "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.q_norm",
                "self_attn.k_norm", "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
                "mlp.down_proj")]
        for name in [*names, "norm"]:
            value = weights[f"{name}.weight"]
            parts = exported.q8_0(value) if quantised and value.ndim == 2 else [value]
            out.writelines(np.ascontiguousarray(part).tobytes() for part in parts)


def run(*command: str | Path) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stderr}")
    return done.stdout


def compile_cke(args: argparse.Namespace, out: Path, policy: str, shape: str) -> None:
    run(args.cxx, "-std=c++20", "-O3", "-march=native", "-ffp-contract=off", f"-I{ROOT}/include", "-isystem",
        args.xsimd, f"-DFORMAT={policy}", f"-DSHAPE={shape}", HERE / "peers/unrolled_ids.cpp", "-pthread", "-o", out)


def engines(args: argparse.Namespace, folder: Path, policy: str) -> dict[str, tuple[list, float]]:
    """By name: a command up to PROMPT, and bytes of weights that a token reads."""
    quantised, kind = policy == "Q8_0", policy.lower()
    compile_cke(args, folder / kind, policy, SHAPE)
    run(args.cc, *(["-DINT8"] if quantised else []), "-O3", "-march=native", "-ffast-math", HERE / "straight.c", "-lm",
        "-o", folder / f"straight-{kind}")
    flat, gguf = folder / f"{kind}.flat", folder / f"{kind}.gguf"
    write_flat(flat, quantised, PROMPT.count(",") + 1 + args.count)
    gguf.unlink(missing_ok=True)
    run(args.cke, "quantize", TINY, gguf, "--to", kind)
    numbers = matrices(exported.read(TINY)[0])
    packed, wide = (numbers * 34 / 32, numbers * 36 / 32) if quantised else (4 * numbers, 4 * numbers)
    python, peers = sys.executable, HERE / "peers"
    return {
        UNROLLED: ([folder / kind, TINY, "unrolled"], packed),
        "cke, tables": ([folder / kind, TINY, "tables"], packed),
        "straight C": ([folder / f"straight-{kind}", flat], wide),
        "llama.cpp": ([python, peers / "llama_cpp_ids.py", gguf], packed),
        "onnxruntime": ([python, peers / "onnxruntime_ids.py", TINY, "q8" if quantised else "f32"], wide),
    }


def check(found: dict[str, list[int]], policy: str) -> None:
    wanted = found[UNROLLED]
    for name, ids in found.items():
        same = next((i for i, (a, b) in enumerate(zip(ids, wanted)) if a != b), len(wanted))
        print(f"{policy}: {same} of {len(wanted)} greedy ids of {name} are those of {UNROLLED}", file=sys.stderr)
        if same < len(wanted) and (policy == "F32" or name == "cke, tables"):
            sys.exit(f"{policy}: id {same}: expected {wanted[same]}, found {ids[same]} of {name}")


def measure(args: argparse.Namespace, folder: Path, policy: str) -> list[dict]:
    all_of = engines(args, folder, policy)
    tail = [PROMPT, str(args.count)]
    check({name: json.loads(run(*command, *tail, "0"))["ids"] for name, (command, _) in all_of.items()}, policy)
    names, rounds = list(all_of), []
    for i in range(args.rounds):
        row = {"policy": policy, "load": os.getloadavg()[0],
               "read_gbs": json.loads(run(folder / policy.lower(), str(int(all_of[UNROLLED][1]))))["read_gbs"]}
        for name in names[i % len(names):] + names[:i % len(names)]:
            times = json.loads(run(*all_of[name][0], *tail, str(args.seconds)))["seconds"]
            cpu, wall = (args.count / statistics.median(t[k] for t in times) for k in (0, 1))
            row[name] = {"tokens_per_s": cpu, "by_clock": wall, "bytes": all_of[name][1]}
        rounds.append(row)
        print(f"{policy}: round {i + 1} of {args.rounds}", file=sys.stderr)
    return rounds


def spread(values: list[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def table(rounds: list[dict]) -> str:
    lines = ["| | tokens/s | unrolled is faster by | GB/s of weights | of what can be read |",
             "|---|---|---|---|---|"]
    for policy in dict.fromkeys(row["policy"] for row in rounds):
        mine = [row for row in rounds if row["policy"] == policy]
        for name in (key for key, value in mine[0].items() if isinstance(value, dict)):
            rates = [row[name]["tokens_per_s"] for row in mine]
            gbs = [rate * row[name]["bytes"] / 1e9 for rate, row in zip(rates, mine)]
            ratios = [row[UNROLLED]["tokens_per_s"] / rate for rate, row in zip(rates, mine)]
            share = statistics.median(a / row["read_gbs"] for a, row in zip(gbs, mine))
            lines.append(f"| {policy}: {name} | {spread(rates, ',.0f')} | {spread(ratios, '.2f')} | "
                         f"{statistics.median(gbs):.1f} | {share:.0%} |")
        reads = [row["read_gbs"] for row in mine]
        lines.append(f"| {policy}: reading alone | | | {spread(reads, '.0f')} | |")
    loads = [row["load"] for row in rounds]
    return "\n".join(lines) + f"\n\nLoad average of a round: {spread(loads, '.1f')}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cke", type=Path, required=True, help="the command")
    parser.add_argument("--xsimd", type=Path, required=True, help="a folder that holds xsimd/xsimd.hpp")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--count", type=int, default=128, help="ids")
    parser.add_argument("--seconds", type=float, default=0.5, help="of an engine in a round")
    parser.add_argument("-o", "--output", type=Path, help="JSON of all rounds")
    args = parser.parse_args()
    folder = ROOT / "build/unrolled-peers"
    folder.mkdir(parents=True, exist_ok=True)
    rounds = [row for policy in ("Q8_0", "F32") for row in measure(args, folder, policy)]
    if args.output:
        args.output.write_text(json.dumps(rounds, indent=1) + "\n")
    print(table(rounds))


if __name__ == "__main__":
    main()
