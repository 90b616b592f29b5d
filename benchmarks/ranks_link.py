# SPDX-License-Identifier: MIT
"""ranks_link.py: two ranks over TCP between two network namespaces, with slower links, beside ranks_model.py's figures.

    python3 benchmarks/ranks_link.py MODEL:TOKENS ... [--rounds 3] [--cke build/release/cke] [-o FILE.json]

Each namespace has a host name, so that MPI takes them for two machines and shares no memory. A token-bucket filter
(tc tbf) on both ends of a veth pair limits the rate. The delay is added to each all-gather by libcke_mpi_probe.so, as
not every kernel has netem. Each round measures the bare link first; the model adds to its seconds a token what the plan
of `cke inspect --ranks 2` says of exchanges and bytes. As root; needs OpenMPI, iproute2, and nothing else that runs.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from ranks_model import Link, exchanges_of_plan, link_seconds

TREE = Path(__file__).resolve().parents[1]
DELAYS_US, RATES_GBIT = (10, 50, 200), (1, 10, 25)
NET = "10.77.0"


def said(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


class Namespaces:
    """Two machines' worth of network, and how mpirun starts a daemon on the second."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        for n in (0, 1):
            said("ip", "netns", "add", f"cke{n}")
        said("ip", "link", "add", "cke-v0", "netns", "cke0", "type", "veth", "peer", "name", "cke-v1", "netns", "cke1")
        for n in (0, 1):
            said("ip", "-n", f"cke{n}", "addr", "add", f"{NET}.{n + 1}/24", "dev", f"cke-v{n}")
            for device in ("lo", f"cke-v{n}"):
                said("ip", "-n", f"cke{n}", "link", "set", device, "up")
        self.agent = Path(self.folder.name) / "agent"  # in place of ssh HOST COMMAND
        self.agent.write_text('#!/bin/sh\nshift\nexec ip netns exec cke1 unshare --uts '
                              'sh -c \'hostname cke1; exec sh -c "$*"\' sh "$@"\n')
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        for n in (0, 1):
            subprocess.run(["ip", "netns", "del", f"cke{n}"])
        self.folder.cleanup()

    def set_rate(self, gbit: float | None) -> None:
        for n in (0, 1):
            tc = ["ip", "netns", "exec", f"cke{n}", "tc", "qdisc"]
            subprocess.run([*tc, "del", "dev", f"cke-v{n}", "root"], capture_output=True)
            if gbit:
                said(*tc, "add", "dev", f"cke-v{n}", "root", "tbf", "rate", f"{gbit}gbit", "burst", "16kb", "latency",
                     "50ms")

    def tokens_per_s(self, cke: str, model: str, tokens: int, delay_us: float) -> float:
        probe = Path(cke).resolve().parent / "libcke_mpi_probe.so"
        cache = ["-x", "CKE_CACHE"] if "CKE_CACHE" in os.environ else []
        out = said("ip", "netns", "exec", "cke0", "mpirun", "--allow-run-as-root", "--bind-to", "none",
                   "--mca", "plm_rsh_agent", self.agent, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                   "--mca", "btl_tcp_if_include", f"{NET}.0/24", "--mca", "oob_tcp_if_include", f"{NET}.0/24",
                   "--host", f"{NET}.1:1,{NET}.2:1", "-n", 2, *cache,
                   "-x", f"LD_PRELOAD={probe}", "-x", f"CKE_PROBE_US={delay_us}",
                   cke, "bench", model, "-t", 1, "-p", 0, "-n", tokens, "-r", 1, "-o", "json")
        return json.loads(out)[0]["avg_ts"]


def measure(cke: str, model: str, tokens: int, rounds: int) -> list[dict]:
    plan = json.loads(said(cke, "inspect", model, "--ranks", 2, "--json"))["ranks"]
    sizes = exchanges_of_plan(plan)
    cells = {(delay, rate): [] for delay in DELAYS_US for rate in RATES_GBIT}
    with Namespaces() as net:
        net.tokens_per_s(cke, model, 1, 0)  # compiles
        for _ in range(rounds):
            net.set_rate(None)
            bare = 1 / net.tokens_per_s(cke, model, tokens, 0)
            for (delay, rate), seen in cells.items():
                net.set_rate(rate)
                took = 1 / net.tokens_per_s(cke, model, tokens, delay)
                modelled = bare + link_seconds(sizes, 2, Link(delay * 1e-6, rate * 1e9 / 8))
                seen.append({"bare_ms": bare * 1e3, "measured_ms": took * 1e3, "modelled_ms": modelled * 1e3})
    return [{"model": Path(model).name, "delay_us": delay, "gbit": rate, "rounds": seen,
             "off": statistics.median(r["modelled_ms"] / r["measured_ms"] - 1 for r in seen)}
            for (delay, rate), seen in cells.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL:TOKENS")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cke", default=str(TREE / "build/release/cke"))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    cells = []
    print("| model | delay, µs | Gbit/s | bare, ms a token | measured | modelled | modelled / measured - 1 |\n|---|" +
          "---|" * 6)
    for spec in args.models:
        model, _, tokens = spec.rpartition(":")
        for cell in measure(args.cke, model, int(tokens), args.rounds):
            cells.append(cell)
            times = " | ".join(f"{statistics.median(r[key] for r in cell['rounds']):.2f}"
                               for key in ("bare_ms", "measured_ms", "modelled_ms"))
            of = f"{cell['model']} | {cell['delay_us']} | {cell['gbit']}"
            print(f"| {of} | {times} | {cell['off']:+.0%} |", flush=True)
    if args.output:
        Path(args.output).write_text(json.dumps(cells, indent=1) + "\n")


if __name__ == "__main__":
    main()
