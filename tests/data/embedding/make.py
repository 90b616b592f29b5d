# SPDX-License-Identifier: MIT
"""make.py: a tiny embedding model as its makers save them, without a head, and its hidden states of transformers.

    python tests/data/embedding/make.py        (needs torch and transformers 5)
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import Qwen3Config

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "parity"))
import checkpoints  # noqa: E402

# The shape of models/qwen3_tied, so that the tests compile no other; its own config says that it is untied,
# as that of Qwen3-Embedding-8B does.
CONFIG = Qwen3Config(
    vocab_size=288, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
    max_position_embeddings=128, bos_token_id=285, eos_token_id=287, tie_word_embeddings=False, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})

if __name__ == "__main__":
    directory = HERE / "qwen3"
    shutil.rmtree(directory, ignore_errors=True)
    model = checkpoints.random_model(CONFIG, seed=12).model  # the whole but for the head
    model.save_pretrained(directory)
    for file in directory.iterdir():
        file.chmod(0o644)
    ids = checkpoints.random_ids(CONFIG.vocab_size, 20, seed=3)
    with torch.no_grad():
        hidden = model(torch.tensor([ids])).last_hidden_state[0]
    (directory / "ids.json").write_text(json.dumps(ids) + "\n")
    np.save(directory / "hidden.npy", hidden.numpy())
