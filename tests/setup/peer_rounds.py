# SPDX-License-Identifier: MIT
"""peer_rounds.py COMPARE: benchmarks/peers/compare.py with engines that compute nothing and have fixed speeds."""
import json
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

compare = sys.argv[1]

# Serves as cke, as a Python with llama-cpp-python, and as llama-bench with or without -d: WHO's rows of jsonl or JSON.
ENGINE = '''#!{python}
import json, sys
who, speed, arguments = {who!r}, {speed}, sys.argv[1:]
with open({calls!r}, "a") as calls:
    print(json.dumps([who, *arguments]), file=calls)
if "--help" in arguments:
    sys.exit(print("--n-depth" if who == "deep" else "no depths"))
value = lambda name: arguments[arguments.index(name) + 1]
row = lambda p, n, d: dict(n_prompt=p, n_gen=n, n_depth=d, n_threads=2, avg_ts=speed, avg_gbs=1, peak_gbs=2,
                           bound_share=.5, isa="avx2", type_k="f16", version="1", system_info="", build_commit="c",
                           samples_ns=[1, 2, 3])
depths = [int(d) for d in value("-d").split(",")] if "-d" in arguments else [0]
rows = [row(int(p), 0, d) for d in depths for p in value("-p").split(",") if p != "0"]
rows += [row(0, int(value("-n")), d) for d in depths if value("-n") != "0"]
for at, name in enumerate(arguments):
    if name == "-gp":
        rows.append(row(*map(int, arguments[at + 1].split(",")), 0))
if who in ("deep", "fork"):
    print(json.dumps(rows))
else:
    print("a line of chatter", *map(json.dumps, rows), sep="\\n")
'''


class Stage:
    def __init__(self, folder):
        self.folder, self.log, self.calls = folder, folder / "log.jsonl", folder / "calls"
        for who, speed in {"cke": 20, "python": 10, "fork": 25, "deep": 16}.items():
            program = folder / who
            program.write_text(ENGINE.format(python=sys.executable, who=who, speed=speed, calls=str(self.calls)))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def run(self, *options, peers=("fork",)):
        self.calls.write_text("")
        command = [sys.executable, compare, "a.gguf", "--cke", self.folder / "cke", "--python", self.folder / "python",
                   "--log", self.log, "-t", "2", *options]
        for peer in peers:
            command += ["--peer", f"{peer}={self.folder / peer} -rtr 1"]
        return subprocess.run(command, capture_output=True, text=True)

    def lines(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def called(self, who):
        return [call[1:] for call in map(json.loads, self.calls.read_text().splitlines()) if call[0] == who]


def same(found, expected):
    assert found == expected, f"{found} instead of {expected}"


with tempfile.TemporaryDirectory() as folder:
    stage = Stage(Path(folder))

    # Each engine is first, second and third, also where a log is continued.
    for rounds in "2", "1":
        done = stage.run("--rounds", rounds, "-p", "16,64", "-n", "8", "-d", "0,512")
        same((done.returncode, "over llama.cpp pp16 2.00x" in done.stderr), (0, True))
    lines = stage.lines()
    same([line["order"] for line in lines],
         [["cke", "llama.cpp", "fork"], ["llama.cpp", "fork", "cke"], ["fork", "cke", "llama.cpp"]])
    tests = ["pp16", "pp64", "pp16 @ d512", "pp64 @ d512", "tg8", "tg8 @ d512"]
    same(list(lines[0]["rows"]["cke"]), tests)
    same("samples_ns" in lines[0]["rows"]["cke"]["pp16"], False)

    # A fork without -d: no prompts at depth; decoding there by -gp. One that has -d is asked with it.
    same(list(lines[0]["rows"]["fork"]), ["pp16", "pp64", "tg8", "tg8 @ d512"])
    asked = stage.called("fork")[-1]
    same(asked[:2], ["-rtr", "1"])
    same(asked[-2:], ["-gp", "512,8"])
    same(stage.run("--rounds", "1", "-p", "0", "-n", "8", "-d", "512").returncode, 0)
    same(list(stage.lines()[-1]["rows"]["fork"]), ["tg8 @ d512"])
    stage.log.unlink()
    same(stage.run("--rounds", "1", "-p", "16", "-n", "8", "-d", "0,512", peers=["deep"]).returncode, 0)
    same(list(stage.lines()[0]["rows"]["deep"]), ["pp16", "pp16 @ d512", "tg8", "tg8 @ d512"])

    # The table: medians, paired ratios, rounds that cke lost; - where a peer has no such test.
    stage.log.unlink()
    done = stage.run("--rounds", "2", "-p", "16", "-n", "8", "-d", "0,512", "--table", Path(folder) / "table.md")
    same(done.returncode, 0)
    rows = {tuple(cells[:2]): cells[2:] for cells in
            ([cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:])}
    peers = ["10.0 (10.0..10.0)", "2.00x (2.00..2.00)", "0"], ["25.0 (25.0..25.0)", "0.80x (0.80..0.80)", "2"]
    same(rows["a.gguf", "tg8 @ d512"], ["2", "20.0 (20.0..20.0)", "1.0", "2.0", "50%", *peers[0], *peers[1]])
    same(rows["a.gguf", "pp16 @ d512"][5:], [*peers[0], "-", "-", "-"])

    # Nothing is appended of a round in which an engine fails, or runs what cke did not.
    before = stage.log.read_text()
    (stage.folder / "fork").write_text("#!/bin/sh\necho no such file >&2\nexit 3\n")
    done = stage.run("--rounds", "1")
    same((done.returncode, done.stderr.strip()), (1, "fork: no such file"))
    same(stage.log.read_text(), before)
    for wrong in "cke=x", "x=", "=x", "x":
        done = subprocess.run([sys.executable, compare, "--log", stage.log, "--peer", wrong], capture_output=True, text=True)
        same((done.returncode, f"not {wrong}" in done.stderr), (2, True))
