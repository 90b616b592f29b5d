# SPDX-License-Identifier: MIT
"""growth.py: how the cost of a token grows with depth, prompt, threads, rows of a pass and width; as figures.

    ./dev bench --growth
    python benchmarks/growth.py [--models build/models] [--out docs/benchmarks] [--sweeps depth,prompt,...]

Random Q8_0 weights in the shapes of Qwen3 0.6B, 1.7B and 4B, of 8 layers each, so that widths compare
and a machine of 8 GiB has room. Results are kept in OUT/growth.jsonl, one line a test: a sweep that is
run again replaces its own; --sweeps "" draws what is there. A cliff is a point whose cost is more than
15 % off the line between its two neighbours. Needs the command cke, and matplotlib, gguf and numpy.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
LAYERS, CLIFF = 8, 0.15
SHAPES = ("0.6B", "1.7B", "4B")
# # What each figure plots: options of cke bench, shapes, the row's field, axis titles.
SWEEPS = {
    "depth": (["-p", "0", "-n", "16", "-d", "0,512,1024-4096+1024,6144-16384+2048", "-c", "16512"],
              SHAPES[:1], "n_depth", "earlier positions", "ms per token"),
    "prompt": (["-p", "1-8192*2", "-n", "0"], SHAPES[:1], "n_prompt", "tokens of prompt", "ms per token"),
    "threads": (["-p", "512", "-n", "32", "-t", "1,2"], SHAPES[:1], "n_threads", "threads", "ms per token"),
    "sequences": (["-p", "0", "-n", "16", "-b", "1,2,4,8,16,32,64"], SHAPES[:1], "n_sequences", "sequences that decode together", "ms per pass"),
    "width": (["-p", "512", "-n", "32"], SHAPES, "parameters", "weights read, millions", "ms per token"),
}


def model(shape, folder):
    path = folder / f"qwen3-{shape.lower()}-{LAYERS}-layers-q8_0.gguf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, ROOT / "benchmarks/peers/make_model.py", "--shape", shape,
                        "--layers", str(LAYERS), "--type", "Q8_0", "--out", path], check=True)
    return path


def commit():
    git = ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=7"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"


def measure(sweep, args):
    options, shapes, *_ = SWEEPS[sweep]
    threads = [] if "-t" in options else ["-t", str(args.t)]
    for shape in shapes:
        command = [args.cke, "bench", model(shape, args.models), *options, *threads,
                   "-r", str(args.r), "-o", "jsonl"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"cke bench: {done.stderr.strip()}")
        for line in done.stdout.splitlines():
            yield {"sweep": sweep, "shape": shape, "commit": commit(), **json.loads(line)}


def cost(row):
    """ms per token, or per pass of several."""
    best = min(row["samples_ns"]) / 1e6
    return best / (row["n_gen"] or row["n_prompt"])


def series(rows, sweep):
    """{name: [(x, cost, row)]} of one figure, sorted by x."""
    lines = {}
    for row in rows:
        x = row["model_n_params"] / 1e6 if sweep == "width" else row[SWEEPS[sweep][2]]
        name = "prefill" if row["n_prompt"] else "decode"
        lines.setdefault(name, []).append((x, cost(row), row))
    return {name: sorted(points, key=lambda p: p[0]) for name, points in lines.items()}


def cliffs(points):
    """(x, relative distance from the line between its neighbours) of the outliers."""
    for (x0, y0, _), (x, y, _), (x1, y1, _) in zip(points, points[1:], points[2:]):
        straight = y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        # # A falling cost, as a prompt's cost per token, falls like 1 / x and so belongs below the line.
        falls = y0 >= y >= y1
        if abs(y / straight - 1) > CLIFF and not (falls and y < straight):
            yield x, y / straight - 1


def draw(sweep, lines, out):
    *_, x_title, y_title = SWEEPS[sweep]
    figure, axes = plt.subplots(figsize=(5, 3))
    for name, points in lines.items():
        axes.plot([p[0] for p in points], [p[1] for p in points], marker="o", markersize=3, label=name)
    if sweep == "prompt":
        axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(x_title), axes.set_ylabel(y_title)
    axes.grid(alpha=0.3), axes.legend()
    figure.tight_layout()
    figure.savefig(out / f"growth-{sweep}.svg", metadata={"Date": None})
    plt.close(figure)


def report(rows, out):
    text = ["<!-- Written by ./dev bench --growth; do not edit. -->", "# How cost grows", "",
            f"Random Q8_0 weights, {LAYERS} layers of the shapes of Qwen3 0.6B, 1.7B and 4B; one shape where none is "
            "named: 0.6B. The best of the repetitions, in ms.", ""]
    for sweep in SWEEPS:
        mine = [row for row in rows if row["sweep"] == sweep]
        if not mine:
            continue
        lines = series(mine, sweep)
        draw(sweep, lines, out)
        first = mine[0]
        options = " ".join(SWEEPS[sweep][0])
        text += [f"## {sweep}", "", f"`cke bench MODEL {options}`; {first['cpu_info']}, {first['isa']}, "
                 f"commit {', '.join(dict.fromkeys(r['commit'] for r in mine))}, {first['test_time']}.", "",
                 f"![{sweep}](growth-{sweep}.svg)", ""]
        for name, points in lines.items():
            shown = ", ".join(f"{x:g}: {y:.3g}" for x, y, _ in points)
            found = [f"{x:g} ({off:+.0%})" for x, off in cliffs(points)]
            text += [f"- {name}, {SWEEPS[sweep][4]}: {shown}.",
                     f"  Cliffs: {', '.join(found) if found else 'none'}."]
        text.append("")
    (out / "growth.md").write_text("\n".join(text).rstrip() + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, default=ROOT / "build/models")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/benchmarks")
    parser.add_argument("--sweeps", default=",".join(SWEEPS))
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    parser.add_argument("-t", type=int, default=len(os.sched_getaffinity(0)), help="threads")
    parser.add_argument("-r", type=int, default=3, help="repetitions")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "growth.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for sweep in filter(None, args.sweeps.split(",")):
        if sweep not in SWEEPS:
            parser.error(f"--sweeps: one of {', '.join(SWEEPS)}, not {sweep}")
        rows = [row for row in rows if row["sweep"] != sweep] + list(measure(sweep, args))
        kept.write_text("".join(json.dumps(row) + "\n" for row in rows))
        print(f"{sweep} done", file=sys.stderr)
    report(rows, args.out)


if __name__ == "__main__":
    main()
