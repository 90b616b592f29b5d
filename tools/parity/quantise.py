# SPDX-License-Identifier: MIT
"""quantise.py: lets llama.cpp make a quantised file of a GGUF file.

    python tools/parity/quantise.py IN.gguf OUT.gguf [--type Q4_K_M]

Needs the PyPI package llama-cpp-python.
"""

import argparse
import ctypes
from pathlib import Path

import llama_cpp

TYPES = {name: getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{name}")
         for name in ("F16", "BF16", "Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_0", "Q4_1", "Q4_K_S", "Q4_K_M", "Q5_0", "Q5_1", "Q5_K_S", "Q5_K_M", "Q6_K", "Q8_0",
                      "IQ4_NL", "IQ4_XS", "MXFP4_MOE")}


@llama_cpp.llama_log_callback
def quiet(level, text, user_data):
    pass


def quantise(source, target, type_name, threads=2):
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.nthread = TYPES[type_name], threads
    if llama_cpp.llama_model_quantize(str(source).encode(), str(target).encode(), params) != 0:
        raise SystemExit(f"{source}: llama.cpp does not quantise this file to {type_name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--type", choices=TYPES, default="Q4_K_M")
    args = parser.parse_args()
    quantise(args.source, args.target, args.type)


if __name__ == "__main__":
    main()
