# SPDX-License-Identifier: MIT
"""reference.py: what transformers makes of the tiny model, in float32, for the tests of cke.

    reference.py DIR OUT.json

For each prompt: its text, its ids, the five largest logits after it, and the ids that greedy
decoding adds: 48, or up to an end token, which is then the last one, or up to where the two largest
logits nearly tie, since a test must not depend on rounding. Chats also have their messages.
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
    (False, ("user", "Mia has a red ball. Tom has a blue kite. What colour is the ball?")),
    (True, ("user", "Mia has a red ball. Tom has a blue kite. What colour is the ball?")),
    (False, ("user", "What can you tell me about the sea?")),
    (
        False,
        ("system", "You are a helpful assistant."),
        ("user", "Who are you?"),
        ("assistant", "I am Tiny, a small language model."),
        ("user", "Tell me a story about a fox."),
    ),
    (
        True,
        ("user", "Hello"),
        ("assistant", "<think>\nI know this.\n</think>\n\nHello! How can I help you?"),
        ("user", "What colour is the sky?"),
    ),
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
    for thinking, *turns in CHATS:
        chat = {
            "messages": [{"role": role, "content": content} for role, content in turns],
            "enable_thinking": thinking,
        }
        text = template.apply_chat_template(
            chat["messages"], tokenize=False, add_generation_prompt=True, enable_thinking=thinking
        )
        prompts.append({**chat, "prompt": text})
    prompts.append({"prompt": ODD})

    for prompt in prompts:
        ids = tokens.encode(prompt["prompt"]).ids
        prompt["ids"], prompt["greedy"] = ids, []
        while len(prompt["greedy"]) < NEW and not ends & set(prompt["greedy"]):
            logits = model(torch.tensor([ids + prompt["greedy"]])).logits[0, -1]
            best = logits.topk(5)
            if not prompt["greedy"]:
                values = [round(v, 5) for v in best.values.tolist()]
                prompt["top5"] = {"ids": best.indices.tolist(), "logits": values}
            if best.values[0] - best.values[1] < LEAST_GAP:
                break
            prompt["greedy"].append(int(best.indices[0]))
        prompt["text"] = tokens.decode(prompt["greedy"], skip_special_tokens=False)
        print(f"{prompt['prompt']!r} -> {len(prompt['greedy'])} ids {prompt['text']!r}")
    rows = ",\n".join(json.dumps(prompt, ensure_ascii=True) for prompt in prompts)
    out.write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
