# SPDX-License-Identifier: MIT
"""make_random_hf.py: writes a random directory of any family and shape, with an ids.json.

    python tools/parity/make_random_hf.py /tmp/odd --family qwen3 --hidden 96 --heads 6 \\
        --kv-heads 2 --head-dim 24 --vocab 384 --intermediate 160
    python tools/parity/hf.py /tmp/odd
"""

import argparse
import json
from pathlib import Path

import torch
from transformers import AutoConfig

import checkpoints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--family", choices=sorted(checkpoints.FAMILIES), default="qwen3")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--intermediate", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--head-dim", type=int, help="default: hidden / heads")
    parser.add_argument("--vocab", type=int, default=128)
    parser.add_argument("--context", type=int, default=256, help="max_position_embeddings")
    parser.add_argument("--eps", type=float, default=1e-6, help="rms_norm_eps")
    parser.add_argument("--rope", type=json.loads, default={"rope_type": "default"},
                        help='rope_parameters, e.g. \'{"rope_type": "linear", "factor": 2.0}\'')
    parser.add_argument("--theta", type=float, default=10000.0, help="rope_theta")
    parser.add_argument("--untied", action="store_true", help="an lm_head of its own")
    parser.add_argument("--attention-bias", action="store_true")
    parser.add_argument("--more", type=json.loads, default={},
                        help='further keys of the config, e.g. \'{"mlp_bias": true}\'')
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--shard", default="5GB", help="max_shard_size, e.g. 20KB")
    parser.add_argument("--ids", type=int, default=32, help="length of the prompt in ids.json")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    config = AutoConfig.for_model(args.family, **dict(
        num_hidden_layers=args.layers, hidden_size=args.hidden,
        intermediate_size=args.intermediate, num_attention_heads=args.heads,
        num_key_value_heads=args.kv_heads, head_dim=args.head_dim or args.hidden // args.heads,
        vocab_size=args.vocab, max_position_embeddings=args.context, rms_norm_eps=args.eps,
        rope_parameters={"rope_theta": args.theta, **args.rope}, bos_token_id=1, eos_token_id=2,
        tie_word_embeddings=not args.untied, attention_bias=args.attention_bias) | args.more)
    model = checkpoints.random_model(config, args.seed).to(getattr(torch, args.dtype))
    model.save_pretrained(args.directory, max_shard_size=args.shard)
    ids = checkpoints.random_ids(args.vocab, args.ids, args.seed)
    (args.directory / "ids.json").write_text(json.dumps(ids) + "\n")
    print(f"{checkpoints.directory_bytes(args.directory):,} bytes in {args.directory}")


if __name__ == "__main__":
    main()
