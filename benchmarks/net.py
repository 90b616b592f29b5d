#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""net.py PROGRAM [--blocks N] [--rounds N]: the net of examples/net.cpp (PROGRAM is the built example) beside the same
net in onnxruntime and, where it is installed, torch: microseconds a block of 64 samples, one thread each, in turns.

    python3 -m venv build/net-venv && build/net-venv/bin/pip install onnxruntime onnx safetensors numpy torch
    build/net-venv/bin/python benchmarks/net.py build/release/examples/net
"""
import argparse
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from safetensors.numpy import save_file

try:
    import torch
except ImportError:
    torch = None

BLOCK, TAPS, HIDDEN = 64, 3, 32
SHAPES = {"0.weight": (8, 1, TAPS), "0.bias": (8,), "2.weight_ih_l0": (96, 8), "2.weight_hh_l0": (96, HIDDEN),
          "2.bias_ih_l0": (96,), "2.bias_hh_l0": (96,), "3.weight": (1, HIDDEN), "3.bias": (1,)}


def block_of_tone(number: int) -> np.ndarray:
    return np.sin(2 * np.pi * 110 / 48000 * (number * BLOCK + np.arange(BLOCK))).astype(np.float32)


class Onnx:
    """The convolution's last samples and the GRU's state go in and come out."""

    def __init__(self, w: dict[str, np.ndarray]) -> None:
        def zrh(m: np.ndarray) -> np.ndarray:  # torch's gates are r, z, n
            r, z, n = np.split(m, 3)
            return np.concatenate([z, r, n])

        constants = {
            "conv": w["0.weight"], "conv_bias": w["0.bias"], "of_x": zrh(w["2.weight_ih_l0"])[None],
            "of_h": zrh(w["2.weight_hh_l0"])[None], "out": w["3.weight"].T.copy(), "out_bias": w["3.bias"],
            "biases": np.concatenate([zrh(w["2.bias_ih_l0"]), zrh(w["2.bias_hh_l0"])])[None],
            "rows": np.array([BLOCK, HIDDEN])}
        node = helper.make_node
        nodes = [node("Conv", ["x", "conv", "conv_bias"], ["a"]), node("Tanh", ["a"], ["b"]),
                 node("Transpose", ["b"], ["c"], perm=[2, 0, 1]),
                 node("GRU", ["c", "of_x", "of_h", "biases", "", "h"], ["d", "h_after"], hidden_size=HIDDEN,
                      linear_before_reset=1),
                 node("Reshape", ["d", "rows"], ["e"]), node("MatMul", ["e", "out"], ["f"]),
                 node("Add", ["f", "out_bias"], ["y"])]

        def value(name: str, *shape: int) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

        graph = helper.make_graph(nodes, "net", [value("x", 1, 1, BLOCK + TAPS - 1), value("h", 1, 1, HIDDEN)],
                                  [value("y", BLOCK, 1), value("h_after", 1, 1, HIDDEN)],
                                  [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                    providers=["CPUExecutionProvider"])
        self.x, self.h = np.zeros((1, 1, BLOCK + TAPS - 1), np.float32), np.zeros((1, 1, HIDDEN), np.float32)

    def __call__(self, sound: np.ndarray) -> np.ndarray:
        self.x[..., :TAPS - 1] = self.x[..., 1 - TAPS:]
        self.x[..., TAPS - 1:] = sound
        y, self.h = self.session.run(None, {"x": self.x, "h": self.h})
        return y


class Torch:
    def __init__(self, w: dict[str, np.ndarray]) -> None:
        torch.set_num_threads(1)
        nn = torch.nn
        self.conv, self.gru, self.out = nn.Conv1d(1, 8, TAPS), nn.GRU(8, HIDDEN), nn.Linear(HIDDEN, 1)
        net = nn.Sequential(self.conv, nn.Tanh(), self.gru, self.out)
        net.load_state_dict({name: torch.from_numpy(value) for name, value in w.items()})
        self.x, self.h = torch.zeros(1, BLOCK + TAPS - 1), torch.zeros(1, HIDDEN)

    def __call__(self, sound: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            self.x[:, :TAPS - 1] = self.x[:, 1 - TAPS:].clone()
            self.x[:, TAPS - 1:] = torch.from_numpy(sound)
            y, self.h = self.gru(torch.tanh(self.conv(self.x)).T, self.h)
            return self.out(y).numpy()


def timed(net: Onnx | Torch, blocks: int) -> dict[str, list[float]]:
    wall, cpu = [], []
    for number in range(blocks):
        sound = block_of_tone(number)
        before = time.thread_time_ns(), time.perf_counter_ns()
        net(sound)
        after = time.perf_counter_ns(), time.thread_time_ns()
        wall.append((after[0] - before[1]) / 1e3)
        cpu.append((after[1] - before[0]) / 1e3)
    return {"wall": wall, "cpu": cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--blocks", type=int, default=1_000_000, help="of the program in each round; a tenth in Python")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()

    draw = np.random.default_rng(1)
    weights = {name: draw.uniform(-0.3, 0.3, shape).astype(np.float32) for name, shape in SHAPES.items()}
    peers = {"onnxruntime": Onnx(weights)} | ({"torch": Torch(weights)} if torch else {})
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ("cke", *peers)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "net.safetensors"
        save_file(weights, file)

        def cke(blocks: int) -> str:
            command = [args.program, file, "-n", str(blocks)]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        wanted = float(re.search(r"last sample is (\S+)", cke(100))[1])
        for name, net in peers.items():
            for number in range(100):
                last = float(net(block_of_tone(number))[-1, 0])
            if abs(last - wanted) > 1e-5:
                raise SystemExit(f"net: last sample of 100 blocks: {last} of {name}, {wanted} of cke")
        for _ in range(args.rounds):
            rows = re.findall(r"median (\S+), 99.9 % within \S+, worst (\S+)", cke(args.blocks))
            results["cke"].append((float(rows[0][0]), float(rows[0][1]), float(rows[1][1])))
            for name, net in peers.items():
                times = timed(net, args.blocks // 10)
                results[name].append((statistics.median(times["wall"]), max(times["wall"]), max(times["cpu"])))
    print("| microseconds a block | median | worst by the clock | worst of the thread |\n|---|---|---|---|")
    for name, rounds in results.items():
        median, wall, cpu = zip(*rounds)
        print(f"| {name} | {statistics.median(median):.1f} | {max(wall):.0f} | {max(cpu):.0f} |")


if __name__ == "__main__":
    main()
