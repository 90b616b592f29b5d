# SPDX-License-Identifier: MIT
# make_io.py: writes the fixtures of tests/io and the fuzzing seeds; needs gguf, safetensors, numpy.
#
# Values are formulas, so that the tests know them: element i of a float tensor is i / 4 - 3.
import json
import pathlib
import shutil

import gguf
import numpy as np
from safetensors.numpy import save_file

here = pathlib.Path(__file__).resolve().parent
seeds = here.parent.parent.parent / "fuzz" / "seeds"


def ramp(*shape, dtype=np.float32):
    return (np.arange(np.prod(shape, dtype=int)) / 4 - 3).reshape(shape).astype(dtype)


def bf16(x):
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def save(tensors, path, metadata=None):
    save_file(tensors, path, metadata)
    path.chmod(0o644)


def close(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def every_kind(path, alignment):
    w = gguf.GGUFWriter(path, "qwen3")
    if alignment:
        w.add_custom_alignment(alignment)
    w.add_uint8("t.u8", 200)
    w.add_int8("t.i8", -100)
    w.add_uint16("t.u16", 60000)
    w.add_int16("t.i16", -30000)
    w.add_uint32("t.u32", 4000000000)
    w.add_int32("t.i32", -2000000000)
    w.add_uint64("t.u64", 2**63 + 5)
    w.add_int64("t.i64", -(2**62))
    w.add_float32("t.f32", 0.15625)
    w.add_float64("t.f64", 1e-300)
    w.add_bool("t.yes", True)
    w.add_bool("t.no", False)
    w.add_string("t.text", "naïve \N{GRINNING FACE}\0end")
    w.add_array("t.words", ["", "a", "Ġthe", "<|im_end|>"])
    w.add_array("t.ints", [1, -2, 3])
    w.add_array("t.floats", [0.5, -1.25, 1e30])
    w.add_array("t.flags", [True, False, True])
    w.add_key_value("t.nested", [[1, 2], [3]], gguf.GGUFValueType.ARRAY)
    w.add_key_value("t.wide", [2**40, 7], gguf.GGUFValueType.ARRAY, sub_type=gguf.GGUFValueType.UINT64)
    w.add_tensor("other", np.arange(6, dtype=np.int32).reshape(2, 3))
    w.add_tensor("norm.weight", ramp(5))
    w.add_tensor("cube", ramp(2, 3, 4, dtype=np.float16))
    w.add_tensor("half", bf16(ramp(3, 5)).view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
    q8 = gguf.quants.quantize(ramp(3, 64), gguf.GGMLQuantizationType.Q8_0)
    w.add_tensor("blocks", q8, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    # 576 bytes need no padding, so that a file cut anywhere is a wrong file
    k = np.arange(4 * 144, dtype=np.int32).astype(np.uint8).reshape(4, 144)
    w.add_tensor("super", k, raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    close(w)


def vocabulary(path):
    w = gguf.GGUFWriter(path, "llama")
    w.add_tokenizer_model("gpt2")
    w.add_array("tokenizer.ggml.tokens", [f"t{i}" for i in range(40)] + ["x" * 300])
    w.add_array("tokenizer.ggml.merges", ["t 1", "t 2"])
    close(w)


def sharded(folder):
    folder.mkdir(exist_ok=True)
    parts = {
        "model-00001-of-00002.safetensors": {"a.weight": ramp(2, 3), "b.weight": ramp(4)},
        "model-00002-of-00002.safetensors": {"c.weight": ramp(3, 1, dtype=np.float16)},
    }
    for name, tensors in parts.items():
        save(tensors, folder / name)
    where = {t: name for name, tensors in parts.items() for t in tensors}
    index = {"metadata": {"total_size": 46, "total_parameters": 13}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def single(folder):
    folder.mkdir(exist_ok=True)
    tensors = {
        "w": ramp(3, 5),
        "h": ramp(7, dtype=np.float16),
        "steps": np.array(41, dtype=np.int64),
        "mask": np.array([True, False, True]),
        "nothing": np.zeros((0, 4), dtype=np.float32),
    }
    save(tensors, folder / "model.safetensors", {"format": "pt", "note": "a \"quote\""})
    (folder / "config.json").write_text('{"model_type": "qwen3"}\n')
    (folder / "tokenizer.json").write_text("{}\n")
    (folder / "chat_template.jinja").write_text("{{ messages }}\n")


every_kind(here / "kinds.gguf", 0)
every_kind(here / "aligned64.gguf", 64)
vocabulary(here / "vocab.gguf")
sharded(here / "sharded")
single(here / "single")

for folder in ("gguf", "safetensors"):
    (seeds / folder).mkdir(parents=True, exist_ok=True)
for name in ("kinds.gguf", "aligned64.gguf", "vocab.gguf"):
    shutil.copy(here / name, seeds / "gguf" / name)
shutil.copy(here / "single" / "model.safetensors", seeds / "safetensors" / "single.safetensors")
shutil.copy(here / "sharded" / "model-00001-of-00002.safetensors", seeds / "safetensors" / "shard.safetensors")
