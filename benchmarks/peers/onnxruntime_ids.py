# SPDX-License-Identifier: MIT
"""onnxruntime_ids.py DIR KIND PROMPT COUNT SECONDS: a small Qwen3 (tied head) in onnxruntime, an id a pass, one thread.

KIND is f32 or q8 (MatMulNBits of 8 bits with a scale for each 32, products in bytes). unrolled_peers.py says what the
other arguments and the output are. Norms, attention and gates are onnxruntime's own fused operators; ids, position and
caches stay in buffers that a pass reads and writes where they are, so between passes Python only starts the next one.
"""
import json
import sys
import time
from pathlib import Path

import ml_dtypes  # noqa: F401 - gives numpy the bfloat16 of the file
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

GROUP = 32


def q8_0(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[rows, columns] as i8 [rows, columns / 32, 32] and scales [rows, columns / 32] that an f16 can hold."""
    groups = matrix.reshape(matrix.shape[0], -1, GROUP)
    scales = np.abs(groups).max(2) / 127
    inverse = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    return np.rint(groups * inverse[..., None]).astype(np.int8), scales.astype(np.float16).astype(np.float32)


def read(folder: Path) -> tuple[dict, dict[str, np.ndarray]]:
    config = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    return config, {name.removeprefix("model."): value.astype(np.float32) for name, value in weights.items()}


class Graph:
    def __init__(self, folder: Path, quantised: bool, context: int) -> None:
        self.config, self.weights = read(folder)
        self.quantised, self.context = quantised, context
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, value: np.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], outputs: int | list[str] = 1, own: bool = False, **attributes):
        if isinstance(outputs, int):
            outputs = [f"t{self.count + i}" for i in range(outputs)]
            self.count += len(outputs)
        self.nodes.append(helper.make_node(kind, inputs, outputs, domain="com.microsoft" if own else "", **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def norm(self, x: str, weight: str) -> str:
        return self.node("SimplifiedLayerNormalization", [x, self.constant(self.weights[weight])],
                         epsilon=self.config["rms_norm_eps"], axis=-1)

    def add_and_norm(self, x: str, y: str, weight: str) -> tuple[str, str]:
        """x + y, normed and as it is."""
        outputs = [f"normed_{self.count}", "", "", f"sum_{self.count}"]
        self.count += 1
        self.node("SkipSimplifiedLayerNormalization", [x, y, self.constant(self.weights[weight])], outputs, own=True,
                  epsilon=self.config["rms_norm_eps"])
        return outputs[0], outputs[3]

    def product(self, x: str, *names: str) -> str:
        matrix = np.concatenate([self.weights[name] for name in names])
        if not self.quantised:
            return self.node("MatMul", [x, self.constant(matrix.T)])
        numbers, scales = q8_0(matrix)
        return self.node("MatMulNBits", [x, self.constant((numbers.astype(np.int16) + 128).astype(np.uint8)),
                                         self.constant(scales.reshape(-1))], own=True,
                         N=matrix.shape[0], K=matrix.shape[1], bits=8, block_size=GROUP, accuracy_level=4)

    def split(self, x: str, *sizes: int) -> list[str]:
        return self.node("Split", [x, self.constant(np.array(sizes))], len(sizes), axis=-1)

    def layer(self, l: int, normed: str, x: str, total: str, turns: list[str]) -> tuple[str, str]:
        c, at = self.config, f"layers.{l}."
        heads, kv_heads, size = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        parts = self.split(self.product(normed, *(f"{at}self_attn.{n}_proj.weight" for n in "qkv")), heads * size,
                           kv_heads * size, kv_heads * size)
        for i, (name, count) in enumerate((("q", heads), ("k", kv_heads))):
            rows = self.node("Reshape", [parts[i], self.constant(np.array([1, 1, count, size]))])
            rows = self.norm(rows, f"{at}self_attn.{name}_norm.weight")
            parts[i] = self.node("Reshape", [rows, self.constant(np.array([1, 1, count * size]))])
        outputs = [f"attended_{l}", f"k_{l}_after", f"v_{l}_after"]
        self.node("GroupQueryAttention", [*parts, f"k_{l}", f"v_{l}", "position", total, *turns], outputs, own=True,
                  num_heads=heads, kv_num_heads=kv_heads, do_rotary=1)
        normed, x = self.add_and_norm(x, self.product(outputs[0], f"{at}self_attn.o_proj.weight"),
                                      f"{at}post_attention_layernorm.weight")
        gate, up = self.split(self.product(normed, f"{at}mlp.gate_proj.weight", f"{at}mlp.up_proj.weight"),
                              c["intermediate_size"], c["intermediate_size"])
        act = self.node("Mul", [self.node("QuickGelu", [gate], own=True, alpha=1.0), up])  # x * sigmoid(x)
        last = l + 1 == c["num_hidden_layers"]
        return self.add_and_norm(x, self.product(act, f"{at}mlp.down_proj.weight"),
                                 "norm.weight" if last else f"layers.{l + 1}.input_layernorm.weight")

    def model(self) -> onnx.ModelProto:
        c = self.config
        half = c["head_dim"] // 2
        angles = np.arange(self.context)[:, None] * c["rope_theta"] ** -(np.arange(half) / half)
        turns = [self.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin)]
        one = self.constant(np.array([1], np.int32))
        self.node("Add", ["position", one], ["next_position"])
        total = self.node("Squeeze", ["next_position"])
        id_ = self.node("Reshape", [self.node("Gather", ["ids", "position"]), self.constant(np.array([1, 1]))])
        x = self.node("Gather", [self.constant(self.weights["embed_tokens.weight"]), id_])
        normed = self.norm(x, "layers.0.input_layernorm.weight")
        for l in range(c["num_hidden_layers"]):
            normed, x = self.layer(l, normed, x, total, turns)
        self.node("Identity", [self.product(normed, "embed_tokens.weight")], ["logits"])

        value = helper.make_tensor_value_info
        cache = (1, c["num_key_value_heads"], self.context, c["head_dim"])
        kept = [f"{kind}_{l}" for l in range(c["num_hidden_layers"]) for kind in "kv"]
        graph = helper.make_graph(
            self.nodes, "qwen3",
            [value("ids", TensorProto.INT64, [self.context]), value("position", TensorProto.INT32, [1]),
             *(value(name, TensorProto.FLOAT, cache) for name in kept)],
            [value("logits", TensorProto.FLOAT, [1, 1, c["vocab_size"]]),
             value("next_position", TensorProto.INT32, [1]),
             *(value(f"{name}_after", TensorProto.FLOAT, cache) for name in kept)], self.constants)
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17),
                                                             helper.make_opsetid("com.microsoft", 1)])


def session_of(folder: Path, kind: str, context: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = Graph(folder, kind == "q8", context).model()
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main() -> None:
    folder, kind, prompt, count, seconds = sys.argv[1:]
    prompt, count = [int(i) for i in prompt.split(",")], int(count)
    before, context = len(prompt), len(prompt) + count
    session = session_of(Path(folder), kind, context)
    types = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32}
    buffers = {value.name: onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(value.shape, types[value.type]))
               for value in (*session.get_inputs(), *session.get_outputs()) if not value.name.endswith("_after")}
    bindings = session.io_binding(), session.io_binding()  # a pass reads its position until its end, so there are two
    positions = ("position", "next_position"), ("next_position", "position")
    for binding, renamed in zip(bindings, positions):
        names = dict(zip(positions[0], renamed))
        for value in session.get_inputs():
            binding.bind_ortvalue_input(value.name, buffers[names.get(value.name, value.name)])
        for value in session.get_outputs():  # caches are written where they are
            name = value.name.removesuffix("_after")
            binding.bind_ortvalue_output(value.name, buffers[names.get(name, name)])

    ids = np.zeros(context, np.int64)
    ids[:before] = prompt
    buffers["ids"].update_inplace(ids)
    for t in range(context - 1):
        session.run_with_iobinding(bindings[t % 2])
        if t >= before - 1:
            ids[t + 1] = buffers["logits"].numpy().argmax()
            buffers["ids"].update_inplace(ids)
    times, end = [], time.perf_counter() + float(seconds)
    while not times or time.perf_counter() < end:
        buffers["position"].update_inplace(np.array([before], np.int32))
        wall, cpu = time.perf_counter(), time.process_time()
        for t in range(count):
            session.run_with_iobinding(bindings[t % 2])
        took = time.process_time() - cpu
        times.append([took, time.perf_counter() - wall])
    print(json.dumps({"ids": ids[before:].tolist(), "seconds": times}))


if __name__ == "__main__":
    main()
