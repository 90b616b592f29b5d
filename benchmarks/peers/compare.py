# SPDX-License-Identifier: MIT
"""compare.py: cke against llama.cpp on GGUF files, interleaved, on the same cores.

    ./dev bench --peers [MODEL.gguf ...]
    python benchmarks/peers/compare.py MODEL.gguf ... [-p 512 -n 64 -d 0,1024 -t 2 --rounds 6]

A round runs both engines, each in a process of its own, one after the other; every other round
swaps the order. So drift of the machine falls on both, and each round gives one paired ratio.
Rounds are appended to --log as they end, one JSON object a line; --table only writes the Markdown
of a log, so that a run can be made piece by piece. Needs the command cke, and the PyPI packages
llama-cpp-python and gguf; and a machine that does nothing else.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import gguf

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CKE, PEER = "cke", "llama.cpp"


def bytes_per_token(path):
    """(bytes of weights, bytes of f16 KV cache per earlier token) that a new token reads."""
    reader = gguf.GGUFReader(path)
    sizes = {tensor.name: int(tensor.n_bytes) for tensor in reader.tensors}
    if "output.weight" in sizes:
        del sizes["token_embd.weight"]  # untied: a token reads only one row

    def number(key):
        architecture = reader.get_field("general.architecture").contents()
        return reader.get_field(f"{architecture}.{key}").contents()

    row = number("attention.key_length") + number("attention.value_length")
    return sum(sizes.values()), 2 * number("block_count") * number("attention.head_count_kv") * row


def run(engine, model, args):
    """The jsonl rows of one process, by test name."""
    options = [str(model), "-p", str(args.p), "-n", str(args.n), "-d", args.d,
               "-t", str(args.t), "-r", "1"]
    environment = dict(os.environ)
    if engine == CKE:
        command = [args.cke, "bench", *options, "--peaks", "-o", "jsonl"]
        if args.march:
            environment["CKE_MARCH"] = args.march
    else:
        command = [args.python, HERE / "llama_cpp_bench.py", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{engine}: {done.stderr.strip() or done.returncode}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {test_name(r): r for r in rows}


def test_name(row):
    name = f"pp{row['n_prompt']}" if row["n_prompt"] else f"tg{row['n_gen']}"
    return f"{name} @ d{row['n_depth']}" if row["n_depth"] else name


def one_round(model, i, args):
    """One line of the log."""
    order = (CKE, PEER) if i % 2 == 0 else (PEER, CKE)
    rows = {engine: run(engine, model, args) for engine in order}
    if rows[CKE].keys() != rows[PEER].keys():
        raise SystemExit(f"the engines ran different tests: {list(rows[CKE])}, {list(rows[PEER])}")
    weights, kv = bytes_per_token(model)
    return {"model": model.name, "time": f"{datetime.now(timezone.utc):%FT%TZ}", "order": order,
            "commit": commit(), "load": os.getloadavg()[0],
            "weights": weights, "kv_per_position": kv, "rows": rows}


def commit():
    git = ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=7"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"


def spread(values, digits=1, suffix=""):
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f}{suffix} ({low:.{digits}f}..{high:.{digits}f})"


def gigabytes_per_second(log, engine, test):
    """The bound for one line of the log; not for prefill, which reads the weights once per chunk."""
    row = log["rows"][engine][test]
    if row["n_prompt"]:
        return None
    if engine == CKE:
        return row["avg_gbs"]
    read = log["weights"] + log["kv_per_position"] * (row["n_depth"] + (row["n_gen"] + 1) / 2)
    return row["avg_ts"] * read / 1e9


def table(logs):
    """Markdown: per model and test the medians of all rounds, their range, the paired ratios."""
    lines = ["| model | test | rounds | cke t/s | llama.cpp t/s | cke / llama.cpp | cke GB/s "
             "| llama.cpp GB/s | peak GB/s | cke of the bound |", "|---|---|" + "---:|" * 8]
    tests = dict.fromkeys((log["model"], test) for log in logs for test in log["rows"][CKE])
    for model, test in tests:
        mine = [log for log in logs if log["model"] == model and test in log["rows"][CKE]]
        rows = {engine: [log["rows"][engine][test] for log in mine] for engine in (CKE, PEER)}
        speeds = {engine: [r["avg_ts"] for r in rows[engine]] for engine in rows}
        ratios = [ours / theirs for ours, theirs in zip(speeds[CKE], speeds[PEER])]
        cells = [model, test, str(len(mine)), spread(speeds[CKE]), spread(speeds[PEER]),
                 spread(ratios, 2, "x")]
        for engine in (CKE, PEER):
            read = [gigabytes_per_second(log, engine, test) for log in mine]
            cells.append("-" if None in read else f"{statistics.median(read):.1f}")
        cells.append(f"{statistics.median(r['peak_gbs'] for r in rows[CKE]):.1f}")
        cells.append(f"{100 * statistics.median(r['bound_share'] for r in rows[CKE]):.0f}%")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def machine():
    """One line: the machine of the measurements."""
    fields = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if ":" in line)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cpu = {key.strip(): value.strip() for key, value in fields.items()}
    return (f"{cpu.get('model name', 'unknown')} (family {cpu.get('cpu family')}, "
            f"model {cpu.get('model')}), {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, "
            f"Linux {os.uname().release}")


def report(logs, command):
    first = logs[0]["rows"]
    cke, peer = (next(iter(first[engine].values())) for engine in (CKE, PEER))
    commits = ", ".join(dict.fromkeys(log["commit"] for log in logs))
    loads = [log["load"] for log in logs]
    return f"""\
<!-- Written by {command}; do not edit. -->
# cke against llama.cpp, {cke['isa']}

- Machine: {machine()}; load average of a round {spread(loads)}.
- cke {commits}, compiled for {cke['isa']}; llama.cpp of llama-cpp-python {peer['version']}: {peer['system_info'].strip()}
- {logs[0]['time']} to {logs[-1]['time']}; {cke['n_threads']} threads; flash attention on; KV cache {cke['type_k']} in cke, f16 in llama.cpp.
- Command: `{command}`. Medians of all rounds, with their range; a ratio is of one round, both engines in turn, the order swapped each round.
- GB/s counts the weights once a token and the KV cache as it is kept. Peak GB/s: reading alone, in the same minute. The bound: the greater of
  bytes / peak and operations / peak of the dots, see [benchmarks.md](../benchmarks.md).

{table(logs)}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("-p", type=int, default=512, help="tokens of prompt")
    parser.add_argument("-n", type=int, default=64, help="tokens to generate")
    parser.add_argument("-d", default="0,1024", help="comma-separated depths")
    parser.add_argument("-t", type=int, default=len(os.sched_getaffinity(0)), help="threads")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--march", help="what cke compiles models for: CKE_MARCH")
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    parser.add_argument("--python", default=sys.executable, help="one that has llama-cpp-python")
    parser.add_argument("--log", type=Path, required=True, help="rounds are appended to this jsonl file")
    parser.add_argument("--table", type=Path, help="and the Markdown of the whole log goes here")
    parser.add_argument("--command", default="compare.py", help="what the Markdown says made it")
    args = parser.parse_args()
    args.cke = args.cke.resolve()
    if args.models and not args.cke.exists():
        parser.error(f"{args.cke} does not exist: build it, or name it with --cke")
    for i in range(args.rounds):
        for model in args.models:
            line = one_round(model, i, args)
            with args.log.open("a") as out:
                print(json.dumps(line), file=out)
            print(f"round {i + 1} of {args.rounds}: {model.name}: " + ", ".join(
                f"{test} {line['rows'][CKE][test]['avg_ts'] / line['rows'][PEER][test]['avg_ts']:.2f}x"
                for test in line["rows"][CKE]), file=sys.stderr)
    if args.table:
        logs = [json.loads(line) for line in args.log.read_text().splitlines()]
        args.table.write_text(report(logs, args.command))
        print(table(logs))


if __name__ == "__main__":
    main()
