# SPDX-License-Identifier: MIT
"""compare.py: cke against llama.cpp and its kin on GGUF files, interleaved, on the same cores.

    ./dev bench --peers [MODEL.gguf ...]
    python benchmarks/peers/compare.py MODEL.gguf ... [-p 512 -n 64 -d 0,1024 -t 2 --rounds 6]
        [--peer "NAME=LLAMA_BENCH [ITS OPTIONS]" ...]

A round runs all engines, each in a process of its own, one after the other; the order turns with
each line of the log. So drift of the machine falls on all, and each round gives one paired ratio a peer.
A --peer is a program with llama-bench's options and JSON output, as forks of llama.cpp have it.
Rounds are appended to --log as they end, one JSON object a line; --table only writes the Markdown
of a log, so that a run can be made piece by piece. Needs the command cke, and the PyPI package
llama-cpp-python; and a machine that does nothing else.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CKE, PEER = "cke", "llama.cpp"
# What a log keeps of a row.
FIELDS = ("n_prompt", "n_gen", "n_depth", "n_threads", "avg_ts", "avg_gbs", "peak_gbs", "bound_share", "isa", "type_k",
          "version", "system_info", "build_commit")


def output_of(engine, command, environment=None):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{engine}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def run(engine, model, args):
    """The rows of one process, by test name."""
    if engine in args.peers:
        return run_llama_bench(engine, model, args)
    options = [str(model), "-p", args.p, "-n", str(args.n), "-d", args.d, "-t", str(args.t), "-r", "1"]
    environment = dict(os.environ)
    if engine == CKE:
        command = [args.cke, "bench", *options, "--peaks", "-o", "jsonl"]
        if args.march:
            environment["CKE_MARCH"] = args.march
    else:
        command = [args.python, HERE / "llama_cpp_bench.py", *options]
    lines = output_of(engine, command, environment).splitlines()
    return {test_name(r): r for r in map(json.loads, (line for line in lines if line.startswith("{")))}


def run_llama_bench(engine, model, args):
    """A fork without -d measures decoding at depth by -gp, and no prompts at depth."""
    program = args.peers[engine]
    depths = [int(d) for d in args.d.split(",")]
    by_option = "--n-depth" in output_of(engine, [program[0], "--help"])
    n = args.n if by_option or 0 in depths else 0
    command = [*program, "-m", str(model), "-p", args.p, "-n", str(n), "-t", str(args.t), "-r", "1", "-o", "json"]
    if by_option:
        command += ["-d", args.d]
    else:
        for depth in filter(None, depths):
            command += ["-gp", f"{depth},{args.n}"]
    rows = {}
    for row in json.loads(output_of(engine, command)):
        if not by_option:
            after = row["n_prompt"] if row["n_prompt"] and row["n_gen"] else 0
            row |= {"n_depth": after, "n_prompt": row["n_prompt"] - after}
        rows[test_name(row)] = row
    return rows


def test_name(row):
    name = f"pp{row['n_prompt']}" if row["n_prompt"] else f"tg{row['n_gen']}"
    return f"{name} @ d{row['n_depth']}" if row["n_depth"] else name


def one_round(model, i, args):
    """One line of the log."""
    engines = [CKE, PEER, *args.peers]
    order = engines[i % len(engines):] + engines[:i % len(engines)]
    rows = {engine: run(engine, model, args) for engine in order}
    for engine in engines:
        if not rows[engine].keys() <= rows[CKE].keys():
            raise SystemExit(f"{engine} ran other tests than cke: {list(rows[engine])}, {list(rows[CKE])}")
    kept = {engine: {test: {k: row[k] for k in FIELDS if k in row} for test, row in tests.items()}
            for engine, tests in rows.items()}
    return {"model": model.name, "time": f"{datetime.now(timezone.utc):%FT%TZ}", "order": order,
            "commit": commit(), "load": os.getloadavg()[0], "rows": kept}


def commit():
    git = ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=7"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"


def lines_of(log):
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def spread(values, digits=1, suffix=""):
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f}{suffix} ({low:.{digits}f}..{high:.{digits}f})"


def table(logs):
    """Markdown: per model and test the medians of all rounds, their range, and for each peer the
    paired ratios and the rounds that cke lost."""
    peers = [engine for engine in logs[0]["rows"] if engine != CKE]
    peers.sort(key=lambda engine: engine != PEER)
    titles = ["model", "test", "rounds", "cke t/s", "GB/s", "peak GB/s", "of the bound"]
    for engine in peers:
        titles += [f"{engine} t/s", f"cke / {engine}", "lost"]
    lines = ["| " + " | ".join(titles) + " |", "|---|---|" + "---:|" * (len(titles) - 2)]
    tests = dict.fromkeys((log["model"], test) for log in logs for test in log["rows"][CKE])
    for model, test in tests:
        mine = [log for log in logs if log["model"] == model and test in log["rows"][CKE]]
        ours = [log["rows"][CKE][test] for log in mine]
        cells = [model, test, str(len(mine)), spread([r["avg_ts"] for r in ours]),
                 "-" if ours[0]["n_prompt"] else f"{statistics.median(r['avg_gbs'] for r in ours):.1f}",
                 f"{statistics.median(r['peak_gbs'] for r in ours):.1f}",
                 f"{100 * statistics.median(r['bound_share'] for r in ours):.0f}%"]
        for engine in peers:
            theirs = [log["rows"][engine].get(test) for log in mine]
            if None in theirs:
                cells += ["-"] * 3
                continue
            ratios = [a["avg_ts"] / b["avg_ts"] for a, b in zip(ours, theirs)]
            cells += [spread([r["avg_ts"] for r in theirs]), spread(ratios, 2, "x"), str(sum(r < 1 for r in ratios))]
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


def described(engine, row):
    """A peer, as it names itself."""
    if engine == PEER:
        return f"llama.cpp of llama-cpp-python {row['version']}: {row['system_info'].strip()}"
    return f"{engine} {row['build_commit']}, cache {row['type_k']}"


def report(logs, command):
    first = logs[0]["rows"]
    cke = next(iter(first[CKE].values()))
    commits = ", ".join(dict.fromkeys(log["commit"] for log in logs))
    loads = [log["load"] for log in logs]
    peers = "; ".join(described(engine, next(iter(rows.values()))) for engine, rows in first.items() if engine != CKE)
    return f"""\
<!-- Written by {command}; do not edit. -->
# cke against llama.cpp, {cke['isa']}

- Machine: {machine()}; load average of a round {spread(loads)}.
- cke {commits}, compiled for {cke['isa']}; {peers}
- {logs[0]['time']} to {logs[-1]['time']}; {cke['n_threads']} threads; flash attention on; KV cache {cke['type_k']} in cke, f16 in llama.cpp.
- Command: `{command}`. Medians of all rounds, with their range; a ratio is of one round, all engines in turn, the order turned each round; lost: rounds in which cke was slower.
- GB/s counts the weights once a token and the KV cache as it is kept. Peak GB/s: reading alone, in the same minute. The bound: the greater of
  bytes / peak and operations / peak of the dots, see [benchmarks.md](../benchmarks.md).

{table(logs)}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("-p", default="512", help="comma-separated tokens of prompts")
    parser.add_argument("-n", type=int, default=64, help="tokens to generate")
    parser.add_argument("-d", default="0,1024", help="comma-separated depths")
    parser.add_argument("-t", type=int, default=len(os.sched_getaffinity(0)), help="threads")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--march", help="what cke compiles models for: CKE_MARCH")
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    parser.add_argument("--python", default=sys.executable, help="one that has llama-cpp-python")
    parser.add_argument("--log", type=Path, required=True, help="rounds are appended to this jsonl file")
    parser.add_argument("--table", type=Path, help="and the Markdown of the whole log goes here")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=LLAMA_BENCH [OPTIONS]",
                        help="a further program like llama-bench; may be repeated")
    parser.add_argument("--command", default="compare.py", help="what the Markdown says made it")
    args = parser.parse_args()
    args.cke = args.cke.resolve()
    args.peers = {}
    for peer in args.peer:
        name, _, program = peer.partition("=")
        args.peers[name] = shlex.split(program)
        if not name or not program or name in (CKE, PEER):
            parser.error(f"--peer takes NAME=LLAMA_BENCH, with a name of its own, not {peer}")
    if args.models and not args.cke.exists():
        parser.error(f"{args.cke} does not exist: build it, or name it with --cke")
    turns = Counter(log["model"] for log in lines_of(args.log))
    for i in range(args.rounds):
        for model in args.models:
            line = one_round(model, turns[model.name], args)
            turns[model.name] += 1
            with args.log.open("a") as out:
                print(json.dumps(line), file=out)
            for engine in [PEER, *args.peers]:
                print(f"round {i + 1} of {args.rounds}: {model.name}: over {engine} " + ", ".join(
                    f"{test} {line['rows'][CKE][test]['avg_ts'] / row['avg_ts']:.2f}x"
                    for test, row in line["rows"][engine].items()), file=sys.stderr)
    if args.table:
        logs = lines_of(args.log)
        args.table.write_text(report(logs, args.command))
        print(table(logs))


if __name__ == "__main__":
    main()
