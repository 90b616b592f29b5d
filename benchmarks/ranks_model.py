# SPDX-License-Identifier: MIT
"""ranks_model.py: tokens a second by ranks, latency and bandwidth of the link, on paper: where another machine pays.

    python3 benchmarks/ranks_model.py [--memory 200] [--exchange 15] [--plot docs/ranks-model.svg]

A token takes as long as the rank with the most units of 32 rows needs to read them from memory, and each exchange of
S bytes among N ranks takes

    software + ceil(log2 N) latency + S (N - 1) / N / bandwidth

which is Bruck's all-gather. Exchanges and bytes of a layer are those of `cke inspect --ranks N`. Left out: attention
over a long context, and what every rank repeats. ranks_link.py checks the link's part against runs. Only --plot needs
matplotlib.
"""
import argparse
import math
from dataclasses import dataclass

Q8_0 = 34 / 32   # bytes a weight; a row that is sent in q8_0 has 48 / 32, others 4
RANKS = [1 << n for n in range(11)]


@dataclass(frozen=True)
class Link:
    latency_s: float
    bytes_per_s: float


@dataclass(frozen=True)
class Model:
    name: str
    layers: int
    matrices: tuple[tuple[int, int, int], ...]  # of a layer: rows, columns, how many a token reads
    exchanged: tuple[float, ...]                # of a layer: bytes of all ranks
    dim: int
    vocab: int
    stored: float                               # parameters in all

    def exchanges(self) -> list[float]:
        return [4 * self.dim, *self.exchanged * self.layers, 4 * self.vocab]

    def bytes_of_slowest(self, ranks: int) -> float:
        def share(rows: int) -> float:  # of the rank with most units
            units = math.ceil(rows / 32)
            return math.ceil(units / ranks) / units
        layer = sum(share(rows) * rows * columns * times for rows, columns, times in self.matrices)
        return Q8_0 * (self.layers * layer + share(self.vocab) * self.vocab * self.dim)


def qwen3(name: str, layers: int, dim: int, heads: int, ffn: int, stored: float) -> Model:
    query, kv = heads * 128, 8 * 128
    return Model(name, layers, ((query, dim, 1), (kv, dim, 2), (dim, query, 1), (ffn, dim, 2), (dim, ffn, 1)),
                 (1.5 * query, 4 * dim, 1.5 * ffn, 4 * dim), dim, 151936, stored)


MODELS = (
    qwen3("Qwen3-0.6B", 28, 1024, 16, 3072, 0.6e9),
    qwen3("Qwen3-8B", 36, 4096, 32, 12288, 8.2e9),
    qwen3("Qwen3-32B", 64, 5120, 64, 25600, 32.8e9),
    # 61 layers as if each had experts: 8 chosen and one shared. Heads: 128 of 128 + 64, over a latent of 512.
    Model("DeepSeek-V3", 61, ((1536, 7168, 1), (576, 7168, 1), (24576, 1536, 1), (32768, 512, 1), (7168, 16384, 1),
                              (2048, 7168, 18), (7168, 2048, 9)),
          (4 * 24576, 4 * 128 * 512, 4 * 16384, 4 * 7168, 4 * 9 * 2048, 4 * 7168), 7168, 129280, 671e9),
)


def exchanges_of_plan(plan: dict) -> list[float]:
    """Bytes of all ranks in each exchange of a token: `ranks` of `cke inspect --ranks N --json`."""
    sizes = []
    for code in plan["codes"]:
        for e in code["exchanges"]:
            total = e["bytes"][0] if e["of"] == ["embedding"] else sum(e["bytes"])  # one rank sends a row of a table
            sizes += [total] * code["layers"]
    return sizes


def link_seconds(sizes: list[float], ranks: int, link: Link) -> float:
    if ranks == 1:
        return 0
    return (len(sizes) * math.ceil(math.log2(ranks)) * link.latency_s
            + sum(sizes) * (ranks - 1) / ranks / link.bytes_per_s)


def seconds(model: Model, ranks: int, link: Link, memory: float, software: float) -> float:
    """Of a token; `memory` in bytes a second of each rank, `software` in seconds of each exchange."""
    sizes = model.exchanges()
    return (model.bytes_of_slowest(ranks) / memory + link_seconds(sizes, ranks, link)
            + (len(sizes) * software if ranks > 1 else 0))


LINKS = {f"{gbit} Gbit/s, {us} µs": Link(us * 1e-6, gbit * 1e9 / 8)
         for gbit, us in ((100, 2), (25, 10), (10, 50), (1, 200))}


def table(memory: float, software: float) -> str:
    rows = ["| model | link | 1 rank, t/s | 2 ranks | most t/s | at ranks | of its time in exchanges |",
            "|---|" + "---|" * 6]
    for model in MODELS:
        for name, link in LINKS.items():
            times = {n: seconds(model, n, link, memory, software) for n in RANKS}
            best = min(times, key=times.get)
            exchanging = 1 - model.bytes_of_slowest(best) / memory / times[best]
            rows.append(f"| {model.name} | {name} | {1 / times[1]:.1f} | {1 / times[2]:.1f} | {1 / times[best]:.1f} "
                        f"| {best} | {exchanging:.0%} |")
    return "\n".join(rows)


def plot(path: str, memory: float, software: float) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cke"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
    for axis, model in zip(axes.flat, MODELS):
        for name, link in LINKS.items():
            axis.plot(RANKS, [1 / seconds(model, n, link, memory, software) for n in RANKS], marker=".", label=name)
        axis.axhline(1 / seconds(model, 1, link, memory, software), color="grey", linewidth=0.7)
        axis.set(title=f"{model.name}, Q8_0", xscale="log", yscale="log", xlabel="ranks", ylabel="tokens/s")
        axis.set_xticks(RANKS, [str(n) for n in RANKS], fontsize=7)
    axes.flat[0].legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory", type=float, default=200, help="GB/s that a rank reads from memory")
    parser.add_argument("--exchange", type=float, default=15, help="microseconds of software in an exchange")
    parser.add_argument("--plot", metavar="FILE.svg")
    args = parser.parse_args()
    memory, software = args.memory * 1e9, args.exchange * 1e-6
    print(table(memory, software))
    if args.plot:
        plot(args.plot, memory, software)


if __name__ == "__main__":
    main()
