# SPDX-License-Identifier: MIT
"""Programs written for llama-cpp-python: the calls of its README, with cke.llama in place of llama_cpp."""
import json
import shutil
from pathlib import Path

import pytest

import cke
from cke.llama import Llama, LlamaGrammar


@pytest.fixture(scope="module")
def llm(tiny):
    return Llama(model_path=tiny, n_gpu_layers=-1, seed=1337, n_ctx=2048, verbose=False)


@pytest.fixture(scope="module")
def sentences(tiny, tmp_path_factory):
    """The same with a tokenizer like Llama's, which puts a space before a text."""
    folder = tmp_path_factory.mktemp("sentences")
    shutil.copytree(tiny, folder, dirs_exist_ok=True)
    for file in (Path(__file__).parents[2] / "tests/data/tokenizers/llama").iterdir():
        shutil.copy(file, folder)
    (folder / "chat_template.jinja").unlink()
    return Llama(folder)


def test_call(llm, model):
    output = llm("Q: Name the planets in the solar system? A: ", max_tokens=32, stop=["Q:", "\n"], echo=True)
    assert output["object"] == "text_completion" and output["id"].startswith("cmpl-")
    assert output["model"] == llm.model_path
    choice = output["choices"][0]
    assert choice["text"].startswith("Q: Name the planets in the solar system? A: ")
    assert choice["finish_reason"] in ("stop", "length") and choice["index"] == 0 and choice["logprobs"] is None
    assert output["usage"]["total_tokens"] == output["usage"]["prompt_tokens"] + output["usage"]["completion_tokens"]
    greedy = llm.create_completion("The sea", max_tokens=20, temperature=0)
    assert greedy["choices"][0]["text"] == model.generate("The sea", max_tokens=20)


def test_stream(llm):
    options = dict(max_tokens=24, temperature=0.7, seed=5)
    whole = llm.create_completion("The sea", **options)["choices"][0]
    parts = list(llm.create_completion("The sea", stream=True, **options))
    assert "".join(p["choices"][0]["text"] for p in parts) == whole["text"]
    assert parts[-1]["choices"][0]["finish_reason"] == whole["finish_reason"]


def test_chat(llm):
    messages = [{"role": "system", "content": "You are an assistant who perfectly describes images."},
                {"role": "user", "content": "Describe this image in detail please."}]
    reply = llm.create_chat_completion(messages=messages, max_tokens=24, seed=1)
    assert reply["object"] == "chat.completion" and reply["choices"][0]["message"]["role"] == "assistant"
    deltas = [e["choices"][0]["delta"] for e in llm.create_chat_completion(messages, max_tokens=24, seed=1, stream=True)]
    assert "".join(d.get("content") or "" for d in deltas) == reply["choices"][0]["message"]["content"]


def test_json_mode(llm):
    schema = {"type": "object", "properties": {"team_name": {"type": "string", "maxLength": 10}},
              "required": ["team_name"]}
    reply = llm.create_chat_completion(
        messages=[{"role": "user", "content": "Who won the world series in 2020"}],
        response_format={"type": "json_object", "schema": schema}, temperature=0.7, max_tokens=60)
    assert "team_name" in json.loads(reply["choices"][0]["message"]["content"])


def test_function_calling(llm):
    tool = {"type": "function", "function": {"name": "UserDetail", "parameters": {
        "type": "object", "title": "UserDetail",
        "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "maximum": 9}},
        "required": ["name", "age"]}}}
    how = dict(messages=[{"role": "user", "content": "Extract Jason is 25 years old"}], tools=[tool],
               tool_choice={"type": "function", "function": {"name": "UserDetail"}}, max_tokens=100)
    reply = llm.create_chat_completion(**how)
    call = reply["choices"][0]["message"]["tool_calls"][0]["function"]
    assert call["name"] == "UserDetail" and set(json.loads(call["arguments"])) == {"name", "age"}
    mine = llm.model.chat(how["messages"], tools=[tool["function"]], tool_choice=how["tool_choice"], max_tokens=100)
    assert mine.finish_reason == "tool_calls" and mine.tool_calls[0]["function"]["name"] == "UserDetail"
    assert mine.message["tool_calls"] == mine.tool_calls
    for one_of_them in (tool, tool["function"]):
        again = llm.model.chat(how["messages"], tools=[tool], tool_choice=one_of_them, max_tokens=100)
        assert [c["function"] for c in again.tool_calls] == [c["function"] for c in mine.tool_calls]
    with pytest.raises(cke.UsageError, match="tool_choice"):
        llm.model.chat(how["messages"], tools=[tool], tool_choice={"type": "zebra"})


def test_text_and_facts(llm):
    tokens = llm.tokenize(b"Q: Name the planets in the solar system? A: ")
    assert tokens == llm.model.tokenize("Q: Name the planets in the solar system? A: ", parse_special=False)
    assert llm.detokenize(llm.tokenize(b"Hello", add_bos=False)) == b"Hello"
    assert llm.n_ctx() == 2048 and llm.n_vocab() == llm.model.vocab_size and llm.n_embd() == llm.model.dim
    assert isinstance(llm.token_eos(), int)


def test_control_tokens_and_spaces(llm, sentences):
    assert llm.detokenize([llm.token_eos()]) == b""
    assert llm.detokenize([llm.token_eos()], special=True) == llm.model.detokenize([llm.token_eos()]).encode() != b""
    ids = sentences.tokenize(b"hello world the cat")
    assert ids[0] == sentences.token_bos()
    assert sentences.detokenize(ids) == b"hello world the cat"
    assert sentences.detokenize(ids, special=True) == b"<s> hello world the cat"
    assert b"".join(sentences.detokenize([token]) for token in ids) == b" hello world the cat"
    assert sentences.detokenize(ids[2:], prev_tokens=ids[:2]) == sentences.detokenize(ids[2:])
    assert sentences.model.detokenize(ids[1:]) == "hello world the cat"


def test_embeddings(llm):
    reply = llm.create_embedding(["Hello, world!", "Goodbye, world!"])
    assert reply["object"] == "list" and len(reply["data"]) == 2
    assert llm.embed("Hello, world!") == pytest.approx(reply["data"][0]["embedding"])


def test_grammar_and_refusals(llm):
    grammar = LlamaGrammar.from_string('root ::= "yes" | "no"')
    assert llm("Is it? ", grammar=grammar)["choices"][0]["text"] in ("yes", "no")
    with pytest.raises(cke.UsageError, match="mirostat_mode"):
        llm("x", mirostat_mode=2)
    with pytest.raises(TypeError, match="zebra"):
        llm("x", zebra=2)
    with pytest.raises(cke.UsageError, match="lora_path"):
        Llama(llm.model_path, lora_path="a.gguf")


def test_types_of_openai(llm):
    types = pytest.importorskip("openai.types")
    chat = pytest.importorskip("openai.types.chat")
    types.Completion.model_validate(llm("The sea", max_tokens=5, logprobs=2))
    messages = [{"role": "user", "content": "Hi"}]
    chat.ChatCompletion.model_validate(llm.create_chat_completion(messages, max_tokens=5))
    for event in llm.create_chat_completion(messages, max_tokens=5, stream=True):
        chat.ChatCompletionChunk.model_validate(event)
