# SPDX-License-Identifier: MIT
"""reference.py: what transformers makes of the tiny model, in float32, for the tests of cke.

    reference.py DIR OUT.json

For each prompt: its text, its ids, and the ids that greedy decoding adds: 48, or up to an end
token, which is then the last one, or up to where the two largest logits nearly tie, since a test
must not depend on rounding. Of the first prompt also the five largest logits at its last position.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoTokenizer, Qwen3ForCausalLM

NEW = 48
LEAST_GAP = 0.01
CHATS = (
    {
        "messages": [
            {
                "role": "user",
                "content": "Mia has a red ball. Tom has a blue kite. What colour is the ball?",
            }
        ],
        "enable_thinking": False,
    },
    {
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "Who are you?"},
            {"role": "assistant", "content": "I am Tiny, a very small language model."},
            {"role": "user", "content": "Tell me a story about a fox."},
        ],
        "enable_thinking": False,
    },
)
ODD = "Zoë said: “naïve café” ☕ 日本語 🦊‍🔥 e\u0301 \u00a0 \t 12345\r\n\r\nIt's"


@torch.no_grad()
def main() -> None:
    directory, out = Path(sys.argv[1]), Path(sys.argv[2])
    torch.set_num_threads(1)
    model = Qwen3ForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
    tokens = Tokenizer.from_file(str(directory / "tokenizer.json"))
    template = AutoTokenizer.from_pretrained(directory)
    ends = set(model.generation_config.eos_token_id)

    prompts = [{"prompt": "Once upon a time"}]
    for chat in CHATS:
        text = template.apply_chat_template(
            chat["messages"],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=chat["enable_thinking"],
        )
        prompts.append({**chat, "prompt": text})
    prompts.append({"prompt": ODD})

    for prompt in prompts:
        ids = tokens.encode(prompt["prompt"]).ids
        prompt["ids"], prompt["greedy"] = ids, []
        while len(prompt["greedy"]) < NEW and not ends & set(prompt["greedy"]):
            logits = model(torch.tensor([ids + prompt["greedy"]])).logits[0, -1]
            best = logits.topk(5)
            if best.values[0] - best.values[1] < LEAST_GAP:
                break
            if prompt is prompts[0] and not prompt["greedy"]:
                prompt["top5"] = {
                    "ids": best.indices.tolist(),
                    "logits": [round(v, 5) for v in best.values.tolist()],
                }
            prompt["greedy"].append(int(best.indices[0]))
        prompt["text"] = tokens.decode(prompt["greedy"], skip_special_tokens=False)
        print(f"{prompt['prompt']!r} -> {len(prompt['greedy'])} ids {prompt['text']!r}")
    rows = ",\n".join(json.dumps(prompt, ensure_ascii=True) for prompt in prompts)
    out.write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
