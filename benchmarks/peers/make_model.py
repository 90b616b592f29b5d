# SPDX-License-Identifier: MIT
"""make_model.py: writes a GGUF file with the shape of a published model and random weights.

    python benchmarks/peers/make_model.py --out /tmp/qwen3-0.6b-q8_0.gguf
        [--type Q8_0|BF16|F16|Q4_0|Q4_K_M|Q5_K_M|Q6_K|IQ4_XS] [--shape SHAPE] [--layers N]

SHAPE is 0.6B, 1.7B or 4B of Qwen3, or one of the other names in model_shapes.py. For speed and memory only: the file
has the true tensors, metadata and size of the vocabulary (tokens and merges are made-up text), and says nothing
sensible. Needs the PyPI packages gguf, numpy; for the last five types, which llama.cpp makes of the BF16 file,
llama-cpp-python too.
"""

import argparse
import itertools
import math
import sys
from pathlib import Path

import gguf
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "parity"))
import gguf_metadata  # noqa: E402
import gguf_names  # noqa: E402

from model_shapes import SHAPES, config_of, is_float, rope_divisors, tensors  # noqa: E402

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>",
           "<|object_ref_end|>", "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>",
           "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"]
USER_DEFINED = ["<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
                "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>",
                "</tool_response>", "<think>", "</think>"]
PADDING = 267  # of Qwen3's rows
CHAT_TEMPLATE = ("{% for message in messages %}<|im_start|>{{ message.role }}\n"
                 "{{ message.content }}<|im_end|>\n{% endfor %}"
                 "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def byte_characters():
    """The printable characters that represent the bytes 0..255 in a byte-level vocabulary."""
    shown = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = itertools.count(256)
    return [chr(byte if byte in shown else next(spare)) for byte in range(256)]


def vocabulary(config):
    """All bytes, all pairs, then triples: every longer token has exactly one merge."""
    single = byte_characters()
    pairs = list(itertools.product(single, single))
    triples = ((a + b, c) for (a, b), c in itertools.product(pairs, single))
    text = config.vocab_size - PADDING - len(CONTROL) - len(USER_DEFINED)
    parts = pairs + list(itertools.islice(triples, text - len(single) - len(pairs)))
    tokens = single + [left + right for left, right in parts] + CONTROL + USER_DEFINED
    padding = [f"[PAD{i}]" for i in range(len(tokens), config.vocab_size)]
    types = ([gguf.TokenType.NORMAL] * text + [gguf.TokenType.CONTROL] * len(CONTROL)
             + [gguf.TokenType.USER_DEFINED] * len(USER_DEFINED)
             + [gguf.TokenType.UNUSED] * len(padding))
    merges = [f"{left} {right}" for left, right in parts]
    end = tokens.index("<|im_end|>")
    return gguf_metadata.Vocabulary("qwen2", tokens + padding, types, merges,
                                    bos=tokens.index("<|endoftext|>"), eos=end)


class Noise:
    """Encoded random numbers for matrices of any size, cut from one pool of a prime number of blocks.

    Generating 600 million random numbers would take longer than everything else. The rows of a matrix start
    at different offsets in the pool, so no two of them are equal.
    """

    def __init__(self, kind, seed):
        self.random = np.random.default_rng(seed)
        self.kind = kind
        self.pool = gguf.quants.quantize(
            self.random.normal(0.0, 0.03, (262139, 32)).astype(np.float32), kind).view(np.uint8)

    def matrix(self, shape):
        """uint8 [..., out, bytes of a row]"""
        blocks = math.prod(shape) // 32
        start = int(self.random.integers(len(self.pool)))
        rows = np.take(self.pool, np.arange(start, start + blocks), axis=0, mode="wrap")
        return rows.reshape(*shape[:-1], -1)

    def floats(self, name, shape):
        centre, width = (-1.0, 0.1) if name.endswith("ssm_a") else (1.0, 0.1) if len(shape) == 1 else (0.0, 0.03)
        return self.random.normal(centre, width, shape).astype(np.float32)


def write(out, config, type_name, seed):
    kind = gguf_metadata.TYPES[type_name][0]
    writer = gguf.GGUFWriter(out, gguf_names.architecture(config))
    gguf_metadata.write_metadata(writer, config, vocabulary(config), type_name)
    writer.add_chat_template(CHAT_TEMPLATE)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    divisors = rope_divisors(config)
    if divisors is not None:
        writer.add_tensor_info("rope_freqs.weight", divisors.shape, divisors.dtype, divisors.nbytes)
    for name, shape in tensors(config):
        if is_float(name, shape):
            writer.add_tensor_info(name, shape, np.dtype(np.float32), 4 * math.prod(shape))
        else:
            stored = (*shape[:-1], shape[-1] // block * size)
            writer.add_tensor_info(name, stored, np.dtype(np.uint8), math.prod(stored), kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    noise = Noise(kind, seed)
    if divisors is not None:
        writer.write_tensor_data(divisors)
    for name, shape in tensors(config):
        writer.write_tensor_data(noise.floats(name, shape) if is_float(name, shape) else noise.matrix(shape))
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--type", default="Q8_0",
                        choices=["Q8_0", "BF16", "F16", "Q4_0", "Q4_K_M", "Q5_K_M", "Q6_K", "IQ4_XS"])
    parser.add_argument("--shape", choices=SHAPES, default="0.6B")
    parser.add_argument("--layers", type=int, help="fewer or more than the shape has")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    config = config_of(args.shape, args.layers)

    if args.type in gguf_metadata.TYPES:
        write(args.out, config, args.type, args.seed)
    else:
        import quantise

        wide = args.out.with_suffix(".bf16")
        write(wide, config, "BF16", args.seed)
        quantise.quantise(wide, args.out, args.type)
        wide.unlink()
    print(f"{args.out.stat().st_size:,} bytes in {args.out}")


if __name__ == "__main__":
    main()
