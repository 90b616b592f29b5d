# SPDX-License-Identifier: MIT
"""Writes cases.txt: conversations rendered by transformers from the families' published chat templates.

    python make.py        (needs transformers and jinja2)

A case is a line `case CONTRACT GENERATION THINKING DATE...`, lines `message ROLE CONTENT`, and a line
`text RENDERED`, or `error` where the template refuses. In contents \\ and line ends are written \\\\ and \\n.
"""
from pathlib import Path

from jinja2.exceptions import TemplateError
from transformers.utils.chat_template_utils import render_jinja_template

HERE = Path(__file__).parent
TOKENS = {"llama2": ("<s>", "</s>"), "llama3": ("<|begin_of_text|>", ""), "llama3.2": ("<|begin_of_text|>", "")}
CONTRACTS = ("chatml", "smollm2", "qwen2", "qwen3", "qwen3-thinking", "llama3", "llama3.2", "llama2")


def conversation(*contents, system=None):
    roles = ("user", "assistant")
    first = [] if system is None else [{"role": "system", "content": system}]
    return first + [{"role": roles[i % 2], "content": c} for i, c in enumerate(contents)]


MARKERS = ("<|im_start|> <|im_end|> <|endoftext|> <think> </think> <|begin_of_text|> <|start_header_id|>system"
           "<|end_header_id|> <|eot_id|> <|eom_id|> <|end_of_text|> [INST] [/INST] <<SYS>> <</SYS>> <s> </s> {date}")
SPACES = "\t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2009\u200a\u2028\u2029\u202f\u205f\u3000 \n"
CONVERSATIONS = [
    conversation("Hello"),
    conversation("Hello", system="You are a pirate."),
    conversation("Hello", system=""),
    conversation("", system="x"),
    conversation("Hi", "Hello! How can I help?", "What is 2 + 2?"),
    conversation("Hi", "Hello!", "And?", "Nothing.", "Go on", system="Be brief.\nBe kind."),
    conversation("Hi", "It is "),
    conversation("  two\n\nlines \n", "\n answer\t", "\n", system="\n padded \n\n"),
    conversation(SPACES + "in\u200bside" + SPACES, SPACES, SPACES + "\u00e4\u20ac" + SPACES, system=SPACES),
    conversation("Sum?", "<think>\nadd them\n</think>\n\nFour.", "Sure?"),
    conversation("Sum?", "<think>\nadd them\n</think>\n\nFour."),
    conversation("Sum?", "\n<think>\n\n</think>\n\n\nFour.", "x", "<think>a</think>b<think>c</think>d", "y"),
    conversation("Sum?", "<think>a</think>b<think>c</think>\nd"),
    conversation("Sum?", "<think>a<think>\nb</think>c"),
    conversation("Sum?", "no opening\n</think>\n\nFour."),
    conversation("Sum?", "<think> no closing"),
    conversation("Sum?", "\n\nplain"),
    conversation("Sum?", "<think>one</think>two", "<tool_response>\n4\n</tool_response>",
                 "<think>\n\nok\n</think>Four."),
    conversation("Sum?", "two", "<tool_response>\n4\n</tool_response>", "Four.", "<tool_response>5</tool_response>"),
    conversation("<tool_response>4</tool_response>", "<think>x</think>y"),
    conversation(MARKERS, MARKERS, MARKERS, system=MARKERS),
    conversation(MARKERS),
    conversation("\\n is not a line end \\", "\\"),
    [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    [{"role": "assistant", "content": "I begin."}],
    [{"role": "assistant", "content": "<think>a</think>I"}, {"role": "user", "content": "ok"}],
    [{"role": "system", "content": "only"}],
    [{"role": "user", "content": "a"}, {"role": "system", "content": " late "}, {"role": "user", "content": "b"}],
]


def is_refused_by_us_only(contract, messages):
    """Llama 2's template drops such system messages without a word; cke reports them."""
    roles = [m["role"] for m in messages]
    return contract == "llama2" and ("system" in roles[1:] or roles == ["system"])


def escape(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def main():
    lines = ["# made by make.py; see tests/text/chat.cpp for the reader"]
    for contract in CONTRACTS:
        template = (HERE / f"{contract.replace('.', '_')}.jinja").read_text()
        bos, eos = TOKENS.get(contract, ("", ""))
        for messages in CONVERSATIONS:
            if is_refused_by_us_only(contract, messages):
                continue
            for generation in (True, False):
                for thinking in (True, False) if contract == "qwen3" and generation else (True,):
                    date = "03 Feb 2025" if len(messages) % 2 else "26 Jul 2024"
                    lines.append(f"case {contract} {generation:d} {thinking:d} {date}")
                    lines += [f"message {m['role']} {escape(m['content'])}" for m in messages]
                    try:
                        rendered, _ = render_jinja_template(
                            [messages], chat_template=template, add_generation_prompt=generation,
                            enable_thinking=thinking, date_string=date, bos_token=bos, eos_token=eos)
                        lines.append("text " + escape(rendered[0]))
                    except TemplateError:
                        lines.append("error")
    (HERE / "cases.txt").write_text("\n".join(lines) + "\n", newline="\n")


main()
