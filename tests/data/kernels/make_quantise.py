# SPDX-License-Identifier: MIT
"""make_quantise.py: writes quantise.bin here: numbers, and the blocks that ggml's reference makes of them.

    python tests/data/kernels/make_quantise.py        (needs llama-cpp-python, whose libggml-base it calls, and gguf)

The count as u32, the numbers in f32, then for each type of TYPES, in GGUF's numbers, its blocks. The legacy types
are checked to be what gguf-py makes of the same numbers. Blocks of 256: normal, with long tails, positive, mostly 0,
next to 0, with groups of 0, all 0, one number all over.
"""
import ctypes
import pathlib

import llama_cpp
import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4"]
CHECKED = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]
rng = np.random.default_rng(20261122)
normal = rng.normal(0, 0.03, (8, 256))
numbers = np.array([normal[0], rng.standard_t(2, 256) * 0.02, np.abs(normal[1]), np.where(rng.random(256) < 0.9, 0, normal[2]),
                    normal[3] * 1e-9, np.where(np.arange(256) // 32 % 3 == 0, 0, normal[4]), np.zeros(256), np.full(256, -0.5)],
                   np.float32).ravel()
library = ctypes.CDLL(str(pathlib.Path(llama_cpp.__file__).parent / "lib" / "libggml-base.so"))
library.ggml_quantize_chunk.restype = ctypes.c_size_t
library.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
parts = [np.array([numbers.size], np.uint32).tobytes(), numbers.tobytes()]
for name in TYPES:
    kind = GGMLQuantizationType[name]
    block, size = GGML_QUANT_SIZES[kind]
    out = np.zeros(numbers.size // block * size, np.uint8)
    library.ggml_quantize_chunk(kind, numbers.ctypes.data, out.ctypes.data, 0, 1, numbers.size, None)
    if name in CHECKED and not np.array_equal(out, quants.quantize(numbers[None], kind).ravel()):
        raise SystemExit(f"{name}: ggml and gguf-py differ")
    parts.append(out.tobytes())
out = pathlib.Path(__file__).parent / "quantise.bin"
out.write_bytes(b"".join(parts))
print(out, out.stat().st_size)
