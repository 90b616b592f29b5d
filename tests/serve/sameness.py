# SPDX-License-Identifier: MIT
"""sameness.py CKE MODEL: an answer has the same bytes alone and in company.

64 requests of random lengths, at concurrency 1, 8 and 64, each of them with a cold and with a warm cache, 1 and 2 threads, while
other clients come and hang up; then, for each of them, 1,000 repeats of one greedy request under load give one output. And with
guesses, by what texts repeat and by a model, at concurrency 1 and 4."""
import http.client
import json
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from harness import serving

WORDS = "once upon a time the sea moon ball kite dog girl rain river house happy said went tell about red blue big small".split()


def requests(count: int) -> list[tuple[str, dict]]:
    rng = random.Random(6)
    all = []
    beginning = " ".join(rng.choice(WORDS) for _ in range(300))  # of more than one page of a cache
    for i in range(count):
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 120)))
        if i % 4 == 1:
            text = beginning + " " + text
        body = {"seed": i, "temperature": rng.choice([0, 0, 0.8, 1.5]), "max_tokens": rng.randint(1, 80)}
        body |= rng.choice([{}, {"grammar": 'root ::= ([a-zA-Z,. ]{1,12} "-"?)+'}, {"top_p": 0.9}, {"top_k": 20}, {"frequency_penalty": 0.7}, {"stop": ["."]}, {"n": 2}])
        body["stream"] = i % 2 == 0
        if i % 3:
            all.append(("/v1/chat/completions", body | {"messages": [{"role": "user", "content": text}]}))
        else:
            all.append(("/v1/completions", body | {"prompt": text, "logprobs": 2}))
    return all


def choices_of(answer: bytes, stream: bool) -> str:
    """What does not depend on when, and under which id, an answer was given."""
    if not stream:
        return json.dumps(json.loads(answer)["choices"])
    events = answer.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""], events[-3:]
    parts = [json.loads(e.removeprefix("data: "))["choices"] for e in events[:-2]]
    return json.dumps(sorted((c for p in parts for c in p), key=lambda c: c["index"]))  # neighbours' order is free


def ask(server, request) -> str:
    path, body = request
    status, answer = server.request("POST", path, body)
    assert status == 200, (status, answer[:300])
    return choices_of(answer, body["stream"])


def hang_up(server, stop: threading.Event) -> None:
    """A client that asks for a long answer, and goes away in the middle of it, or before it begins."""
    rng = random.Random(threading.get_ident())
    while not stop.is_set():
        connection = http.client.HTTPConnection(server.host, timeout=60)
        body = {"prompt": "Once upon a time", "max_tokens": 1000, "ignore_eos": True, "stream": rng.random() < 0.5}
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        if body["stream"]:
            response = connection.getresponse()
            if response.status == 200:
                response.read1(rng.randint(1, 4000))
        else:
            stop.wait(rng.random() / 50)
        connection.close()


def main(command: str, model: str) -> None:
    wanted = requests(64)
    with serving(command, model, "--parallel", "1", "-t", "1") as server:
        alone = [ask(server, r) for r in wanted]
        assert len(set(alone)) > 50, "the requests do not differ enough to show anything"
    first = iter((1, 64, 8, 64))  # with a cold cache
    for threads in ("1", "2"):
        for slots in ("4", "64"):
            with serving(command, model, "--parallel", slots, "--queue", "128", "-t", threads, "-c", "1024") as server:
                stop = threading.Event()
                rude = [threading.Thread(target=hang_up, args=(server, stop)) for _ in range(2)]
                for r in rude:
                    r.start()
                cold = next(first)
                for concurrency in (cold, *({1, 8, 64} - {cold})):
                    with ThreadPoolExecutor(concurrency) as pool:
                        got = list(pool.map(lambda r: ask(server, r), wanted))
                    wrong = [i for i in range(len(wanted)) if got[i] != alone[i]]
                    assert not wrong, f"{threads} threads, {slots} slots, concurrency {concurrency}: other bytes for requests {wrong}"
                if slots == "4":
                    one = ("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 24, "temperature": 0, "stream": False})
                    with ThreadPoolExecutor(16) as pool:
                        outputs = set(pool.map(lambda _: ask(server, one), range(1000)))
                    assert len(outputs) == 1, f"{len(outputs)} outputs of one greedy request"
                stop.set()
                for r in rude:
                    r.join()
                assert server.metric("requests_cancelled_total") > 0
                assert server.metric("prefix_hit_tokens_total") > 0
    for guesses in (("--draft", "6"), ("--draft", "8", "--draft-model", model)):
        with serving(command, model, "--parallel", "4", "-t", "1", "-c", "1024", *guesses) as server:
            for concurrency in (1, 4):
                with ThreadPoolExecutor(concurrency) as pool:
                    got = list(pool.map(lambda r: ask(server, r), wanted))
                wrong = [i for i in range(len(wanted)) if got[i] != alone[i]]
                assert not wrong, f"{guesses}, concurrency {concurrency}: other bytes for requests {wrong}"
            guessed, right, made = (server.metric(name) for name in ("draft_tokens_total", "draft_accepted_tokens_total", "tokens_predicted_total"))
            print(f"{' '.join(guesses[::2])}: {guessed:.0f} tokens guessed, {right:.0f} of {made:.0f} came of it")
            assert right > 0
    print("64 requests in 12 companies and with guesses, and 2 times 1,000 repeats: the same bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
