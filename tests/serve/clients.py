# SPDX-License-Identifier: MIT
"""clients.py CKE MODEL: the openai package as a client: streams, tools, structured output, log-probabilities, errors, hanging up."""
import json
import struct
import sys
import time

import openai

from harness import serving

SEA = [{"role": "user", "content": "What can you tell me about the sea?"}]
WEATHER = [{"type": "function", "function": {"name": "get_weather", "description": "The weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


def chat(client: openai.OpenAI, model: str) -> None:
    whole = client.chat.completions.create(model=model, messages=SEA, temperature=0, logprobs=True, top_logprobs=3)
    choice = whole.choices[0]
    assert choice.finish_reason == "stop" and choice.message.content and choice.message.reasoning_content
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    tokens = choice.logprobs.content
    assert len(tokens) == whole.usage.completion_tokens
    for t in tokens:
        assert t.logprob <= 0 and t.top_logprobs[0].token == t.token and len(t.top_logprobs) == 3
        assert bytes(t.bytes).decode() == t.token

    stream = client.chat.completions.create(model=model, messages=SEA, temperature=0, stream=True, stream_options={"include_usage": True})
    text = thought = ""
    for event in stream:
        if event.choices:
            text += event.choices[0].delta.content or ""
            thought += getattr(event.choices[0].delta, "reasoning_content", None) or ""
        else:
            assert event.usage.completion_tokens == whole.usage.completion_tokens
            assert event.usage.prompt_tokens_details.cached_tokens > 0
    assert (text, thought) == (choice.message.content, choice.message.reasoning_content)

    quiet = client.chat.completions.create(model=model, messages=SEA, temperature=0, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    assert quiet.choices[0].message.content and not hasattr(quiet.choices[0].message, "reasoning_content")
    several = client.chat.completions.create(model=model, messages=SEA, n=3, seed=1, temperature=1.2, max_completion_tokens=12)
    again = client.chat.completions.create(model=model, messages=SEA, n=3, seed=1, temperature=1.2, max_completion_tokens=12)
    assert [c.message for c in several.choices] == [c.message for c in again.choices] and len(several.choices) == 3
    stopped = client.chat.completions.create(model=model, messages=SEA, temperature=0, stop=["blue"])
    assert stopped.choices[0].message.content == text.split("blue")[0]


def completions(client: openai.OpenAI, model: str) -> None:
    whole = client.completions.create(model=model, prompt="Once upon a time", temperature=0, max_tokens=20, echo=True, logprobs=2)
    assert whole.choices[0].text.startswith("Once upon a time,") and whole.choices[0].finish_reason == "length"
    offsets = whole.choices[0].logprobs.text_offset
    for token, at in zip(whole.choices[0].logprobs.tokens, offsets):
        assert whole.choices[0].text[at:].startswith(token)
    parts = client.completions.create(model=model, prompt="Once upon a time", temperature=0, max_tokens=20, stream=True)
    assert "Once upon a time" + "".join(p.choices[0].text for p in parts) == whole.choices[0].text
    batch = client.completions.create(model=model, prompt=["The sea", "The moon"], temperature=0, max_tokens=5)
    assert [c.index for c in batch.choices] == [0, 1]


def tools(client: openai.OpenAI, model: str) -> None:
    """The tiny model was not taught to call: a bias makes it write the call mark, and what follows must stay text, whole."""
    ask = [{"role": "user", "content": "What is the weather in Rome?"}]
    answer = client.chat.completions.create(model=model, messages=ask, tools=WEATHER, temperature=0, max_tokens=30)
    assert answer.choices[0].message.tool_calls is None and answer.choices[0].finish_reason in ("stop", "length")
    mark = client.post("/../tokenize", body={"content": "<tool_call>"}, cast_to=object)["tokens"]
    biased = dict(model=model, messages=ask, tools=WEATHER, temperature=0, max_tokens=8, logit_bias={str(mark[0]): 100},
                  extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    assert client.chat.completions.create(**biased).choices[0].message.content == "<tool_call>" * 8
    turn = {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}]}
    after = client.chat.completions.create(
        model=model, messages=ask + [turn, {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}], tools=WEATHER, max_tokens=5)
    assert after.usage.completion_tokens <= 5


def structure(client: openai.OpenAI, model: str) -> None:
    """The tiny model knows nothing of JSON: what it writes is what the grammar leaves of its words."""
    person = {"type": "object", "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 30}, "age": {"type": "integer", "minimum": 0, "maximum": 99},
                                               "friends": {"type": "array", "items": {"$ref": "#/$defs/friend"}, "minItems": 1, "maxItems": 2}},
              "required": ["name", "age", "friends"], "additionalProperties": False,
              "$defs": {"friend": {"type": "object", "properties": {"kind": {"enum": ["dog", "cat"]}}, "required": ["kind"], "additionalProperties": False}}}
    for seed in range(6):
        how = dict(model=model, messages=SEA, seed=seed, temperature=seed / 6, max_completion_tokens=400,
                   response_format={"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": person}})
        choice = client.chat.completions.create(**how).choices[0]
        assert choice.finish_reason == "stop" and choice.message.reasoning_content, choice
        who = json.loads(choice.message.content)
        assert 0 <= who["age"] <= 99 and 1 <= len(who["name"]) <= 30 and who["friends"][0]["kind"] in ("dog", "cat"), who
        streamed = client.chat.completions.create(stream=True, **how)
        assert "".join(e.choices[0].delta.content or "" for e in streamed) == choice.message.content
        short = client.chat.completions.create(**how | {"max_completion_tokens": 60}).choices[0]  # not even its thought has room
        assert short.finish_reason == "length" and json.loads(short.message.content).keys() == person["properties"].keys(), short
    some = client.chat.completions.create(model=model, messages=SEA, seed=1, max_completion_tokens=600, response_format={"type": "json_object"}).choices[0]
    assert isinstance(json.loads(some.message.content), dict), some
    word = client.chat.completions.create(model=model, messages=SEA, extra_body={"grammar": 'root ::= "yes" | "no"'})
    assert word.choices[0].message.content in ("yes", "no") and word.choices[0].finish_reason == "stop"

    both = [{"type": "function", "function": {"name": "go", "parameters": {"type": "object", "properties": {"to": {"enum": ["Rome", "Oslo"]}}, "required": ["to"]}}}, {"type": "function", "function": {"name": "add", "strict": True, "parameters": {
        "type": "object", "properties": {"numbers": {"type": "array", "items": {"type": "integer"}, "maxItems": 4}}, "required": ["numbers"], "additionalProperties": False}}}]
    named = {"type": "function", "function": {"name": "add"}}
    for choice in ("required", named):
        answer = client.chat.completions.create(model=model, messages=SEA, tools=both, tool_choice=choice, temperature=0, max_completion_tokens=600).choices[0]
        assert answer.finish_reason in ("length", "tool_calls") and answer.message.content is None and answer.message.tool_calls, answer
        for call in answer.message.tool_calls:
            arguments = json.loads(call.function.arguments)
            assert arguments["to"] in ("Rome", "Oslo") if call.function.name == "go" else all(type(n) is int for n in arguments["numbers"])
        assert choice == "required" or [c.function.name for c in answer.message.tool_calls] == ["add"]
    mark = client.post("/../tokenize", body={"content": "<tool_call>"}, cast_to=object)["tokens"]
    free = dict(model=model, messages=SEA, tools=both, temperature=0, max_tokens=200, logit_bias={str(mark[0]): 15}, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    message = client.chat.completions.create(**free).choices[0].message
    assert message.tool_calls and "<tool_call>" not in (message.content or ""), message  # none is begun that has no room


def embeddings(client: openai.OpenAI, model: str) -> None:
    """The package asks for base64 unless told otherwise, and decodes it."""
    texts = ["The sea is blue.", "The ocean is blue.", "A dog.", "The sea is blue."]
    many = client.embeddings.create(model=model, input=texts)
    vectors = [d.embedding for d in many.data]
    assert [d.index for d in many.data] == [0, 1, 2, 3] and vectors[0] == vectors[3] != vectors[1]
    assert all(abs(sum(x * x for x in v) - 1) < 1e-5 for v in vectors)
    floats = client.embeddings.create(model=model, input=texts[2], encoding_format="float", dimensions=128)
    assert struct.pack("128f", *floats.data[0].embedding) == struct.pack("128f", *vectors[2]) and floats.usage.total_tokens > 0
    ids = client.post("/../tokenize", body={"content": texts[2], "add_special": True}, cast_to=object)["tokens"]
    assert client.embeddings.create(model=model, input=[ids, ids[:1]]).data[0].embedding == vectors[2]
    assert len(client.embeddings.create(model=model, input=["x"] * 1000).data) == 1000


def errors(client: openai.OpenAI, model: str, url: str) -> None:
    def refused(kind, param, **arguments):
        try:
            client.chat.completions.create(**({"model": model, "messages": SEA} | arguments))
        except kind as e:
            assert e.param == param, e
            return
        raise AssertionError(f"not refused: {arguments}")

    refused(openai.NotFoundError, "model", model="gpt-4")
    refused(openai.BadRequestError, "temperature", temperature=-1)
    refused(openai.BadRequestError, "messages[0].role", messages=[{"role": "boss", "content": "x"}])
    refused(openai.BadRequestError, "messages", messages=[{"role": "user", "content": "sea " * 5000}])
    refused(openai.BadRequestError, "response_format.type", response_format={"type": "xml"})
    refused(openai.BadRequestError, "response_format", response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {"multipleOf": 2}}})
    refused(openai.BadRequestError, "tool_choice", tool_choice="required")
    refused(openai.BadRequestError, "tool_choice", tools=WEATHER, tool_choice={"type": "function", "function": {"name": "no_such"}})
    refused(openai.BadRequestError, "grammar", extra_body={"grammar": "root ::= root"})
    refused(openai.BadRequestError, "'no_such'", extra_body={"no_such": 1})
    try:
        openai.OpenAI(base_url=url + "/v1", api_key="wrong", max_retries=0).models.list()
    except openai.AuthenticationError:
        return
    raise AssertionError("a wrong key was taken")


def hanging_up(client: openai.OpenAI, model: str, server) -> None:
    stream = client.completions.create(model=model, prompt="Once", max_tokens=1900, stream=True, extra_body={"ignore_eos": True})
    next(iter(stream))
    stream.close()
    end = time.monotonic() + 10
    headers = {"Authorization": "Bearer " + client.api_key}
    while b'"busy":true' in server.request("GET", "/slots", headers=headers)[1]:
        assert time.monotonic() < end, "the slot stays busy"
        time.sleep(0.01)


def main(command: str, model: str) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
        keys.write("a-key-of-the-tests-0123456789\n")
        keys.flush()
        with serving(command, model, "--api-key-file", keys.name) as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="a-key-of-the-tests-0123456789", max_retries=0)
            (card,) = client.models.list()
            assert client.models.retrieve(card.id) == card
            chat(client, card.id)
            completions(client, card.id)
            tools(client, card.id)
            structure(client, card.id)
            embeddings(client, card.id)
            errors(client, card.id, server.url)
            hanging_up(client, card.id, server)
    print("openai", openai.__version__, "is served")


if __name__ == "__main__":
    main(*sys.argv[1:])
