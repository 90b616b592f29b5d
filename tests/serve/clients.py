# SPDX-License-Identifier: MIT
"""clients.py CKE MODEL: the openai package as a client: streams, tools, log-probabilities, errors, hanging up."""
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
    refused(openai.BadRequestError, "response_format", response_format={"type": "json_object"})
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
            errors(client, card.id, server.url)
            hanging_up(client, card.id, server)
    print("openai", openai.__version__, "is served")


if __name__ == "__main__":
    main(*sys.argv[1:])
