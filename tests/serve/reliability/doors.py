# SPDX-License-Identifier: MIT
"""doors.py: rows about who may ask, for what, and what is said of it elsewhere."""
import asyncio
import os
import random
import subprocess
from pathlib import Path

from wire import ask, connect, raw, request_bytes

KEYS = ["a-key-of-the-tests-0123456789abcd", "another-key-of-the-tests-01234567"]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": "Bearer " + key}


async def auth(setup) -> str:
    """Wrong keys are refused, and their time says nothing of how wrong they are."""
    body = {"prompt": "x", "max_tokens": 1}
    wrong = ["", KEYS[0][:-1], KEYS[0] + "x", KEYS[0][:-1] + "X", KEYS[0].upper(), KEYS[0] + " " + KEYS[1], "x" * 10_000, ",".join(KEYS), KEYS[0] + "\t x"]
    async with setup.serving("--api-key-file", setup.key_file) as server:
        for key in wrong:
            answer = await ask(server.port, "POST", "/v1/completions", body, bearer(key))
            assert answer.status == 401 and key not in ("", answer.body.decode()) or key == "", (key, answer.status)
            assert answer.headers["www-authenticate"] == "Bearer"
        for key in KEYS:
            assert (await ask(server.port, "POST", "/v1/completions", body, bearer(key))).status == 200
        for path, status in (("/health", 200), ("/", 200), ("/openapi.json", 200), ("/metrics", 401), ("/slots", 401), ("/facts", 401), ("/v1/models", 401)):
            assert (await ask(server.port, "GET", path)).status == status, path
    report = subprocess.run([setup.timing, str(setup.count(200_000, 20_000))], capture_output=True, text=True)
    assert report.returncode == 0, report.stdout + report.stderr
    return f"{len(wrong)} wrong keys refused, 2 right ones taken; {report.stdout.strip()}"


async def rebinding(setup) -> str:
    """Names that are not ours, and pages of others."""
    hosts = ["evil.com", "localhost.evil.com", "evil.com:8080", "127.0.0.1.evil.com", "localhost@evil.com", "127.0.0.2", "0.0.0.0", "[::2]", "localhost:80:80", "localhost:x", "2130706433", "",
             "localhost.", "xn--localhost", "127.1", "[::1]evil", "\u2081localhost"]
    async with setup.serving() as server:
        for host in hosts:
            for path in ("/health", "/", "/v1/models", "/metrics"):
                said = await raw(server.port, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                assert said.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")), (host, said[:100])
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1", f"127.0.0.1:{server.port}", "[::1]", "[::1]:80"):
            assert (await ask(server.port, "GET", "/health", headers={"Host": host})).status == 200, host
        origins = ["null", "https://evil.com", f"http://localhost:{server.port}", "file://", "http://127.0.0.1"]
        for origin in origins:
            answers = [await ask(server.port, "GET", "/v1/models", headers={"Origin": origin}), await ask(server.port, "POST", "/tokenize", {"content": "x"}, {"Origin": origin})]
            for more in ({}, {"Access-Control-Request-Private-Network": "true"}):
                answers.append(await ask(server.port, "OPTIONS", "/v1/chat/completions", headers={"Origin": origin, "Access-Control-Request-Method": "POST",
                                                                                               "Access-Control-Request-Headers": "content-type"} | more))
                assert answers[-1].status == 405
            assert not [h for a in answers for h in a.headers if h.startswith("access-control")], origin
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            assert (await ask(server.port, "POST", "/v1/completions", {"prompt": "x"}, {"Content-Type": kind})).status == 415, kind
    async with setup.serving("--allow-host", "models.example", "--cors-origin", "https://chat.example") as server:
        allowed = await ask(server.port, "GET", "/v1/models", headers={"Host": "models.example", "Origin": "https://chat.example"})
        assert allowed.status == 200 and allowed.headers["access-control-allow-origin"] == "https://chat.example"
        for origin in ("https://chat.example.evil.com", "http://chat.example", "https://CHAT.example", "null"):
            other = await ask(server.port, "GET", "/v1/models", headers={"Origin": origin})
            assert not [h for h in other.headers if h.startswith("access-control")], origin
    return f"{len(hosts)} foreign Host headers: 403 (or 400); {len(origins)} origins, plain and preflight: no Access-Control header; forms: 415"


async def bind(setup) -> str:
    """It listens where it was told, and not for others unless they need keys."""
    async with setup.serving() as server:
        here = listening(server.process.pid)
        assert here == [("0100007F", server.port)], here
    refused = 0
    for host in ("0.0.0.0", "::", "192.0.2.1", "169.254.0.1", "::ffff:0.0.0.0"):
        status, said = setup.attempt("--host", host)
        assert status == 2 and "--api-key-file, or --insecure" in said, (host, status, said)
        refused += 1
    async with setup.serving("--host", "0.0.0.0", "--api-key-file", setup.key_file) as server:
        assert listening(server.process.pid) == [("00000000", server.port)]
    return f"127.0.0.1 alone by default; {refused} addresses that others reach: refused without keys"


def listening(pid: int) -> list[tuple[str, int]]:
    own = {os.readlink(f) for f in Path(f"/proc/{pid}/fd").iterdir() if f.is_symlink()}
    found = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if f"socket:[{words[9]}]" in own and (table.startswith("udp") or words[3] == "0A"):
                address, port = words[1].split(":")
                found.append((address, int(port, 16)))
    return found


async def paths(setup) -> str:
    """No request names a file: what looks like one is an unknown model, an unknown field or an unknown address."""
    names = ["../../etc/passwd", "/etc/passwd", "..\\..\\x", "%2e%2e%2fetc%2fpasswd", "tiny/../tiny", "tiny\0", "file:///etc/passwd", "http://169.254.169.254/", "\\\\host\\x", "~/x", "tiny ", " tiny", "."]
    fields = ["grammar_file", "lora", "image_url", "path", "filename", "url", "slot_save_path", "template", "chat_template", "draft_model"]
    async with setup.serving() as server:
        chat = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
        assert (await ask(server.port, "POST", "/v1/chat/completions", chat)).status == 200  # a template may ask for the date: its zone is read once
        with setup.traced(server.process.pid) as opened:
            await name_files(server.port, names, fields)
    files = opened()
    assert not files, f"opened for a request: {files}"
    return f"{len(names)} names in 7 places and {len(fields)} fields: 400, 404 or 405; {'no file opened (strace)' if setup.can_trace else 'strace is not here to watch files'}"


async def name_files(port: int, names: list[str], fields: list[str]) -> None:
    for name in names:
        for path, body in (("/v1/completions", {"prompt": "x"}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}), ("/v1/embeddings", {"input": "x"})):
            assert (await ask(port, "POST", path, body | {"model": name})).status in (400, 404), name
        target = "".join(c if c.isalnum() or c in "._~/-" else f"%{ord(c):02x}" for c in name)
        for prefix in ("/v1/models/", "/", "/slots/", "/static/"):
            if prefix + target != "/.":
                assert (await ask(port, "GET", prefix + target)).status == 404, prefix + target
    for field in fields:
        assert (await ask(port, "POST", "/v1/completions", {"prompt": "x", field: "/etc/passwd"})).status == 400, field
    image = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]}
    assert (await ask(port, "POST", "/v1/chat/completions", image)).status == 400
    for verb, path in (("POST", "/slots/0?action=save"), ("POST", "/v1/models"), ("DELETE", "/v1/models/tiny"), ("POST", "/api/create"), ("POST", "/api/pull"), ("POST", "/load"), ("PUT", "/")):
        assert (await ask(port, verb, path, {})).status in (404, 405), path


async def isolation(setup) -> str:
    """What one key's prompts left in the caches is of no use to another key."""
    prompt = "The sea is blue and " * 60
    body = {"prompt": prompt, "max_tokens": 4, "temperature": 0}
    async with setup.serving("--api-key-file", setup.key_file, "--parallel", "2") as server:
        async def cached(key: str, before: str = "") -> tuple[int, str]:
            answer = (await ask(server.port, "POST", "/v1/completions", body | {"prompt": before + prompt}, bearer(key))).json()
            return answer["usage"]["prompt_tokens_details"]["cached_tokens"], answer["choices"][0]["text"]

        first, own, other, again = await cached(KEYS[0]), await cached(KEYS[0]), await cached(KEYS[1]), await cached(KEYS[1])
        assert first[0] == 0 and own[0] > 200 and other[0] == 0 and again[0] > 200, (first[0], own[0], other[0], again[0])
        assert len({first[1], own[1], other[1], again[1]}) == 1
        for i in range(setup.count(40, 10)):  # in any order of slots
            key = random.Random(i).choice(KEYS)
            await cached(key, f"{i * 7919} ")
            found = (await cached(KEYS[1 - KEYS.index(key)], f"{i * 7919} "))[0]
            assert found < 10, f"{found} tokens of another key's prompt were found in the cache"
    return f"a prompt again: {own[0]} tokens from the cache for its own key, 0 for another; the same bytes"


async def logs(setup) -> str:
    """Nothing of a request is written anywhere."""
    marks = ["PROMPT-MARK", "HEADER-MARK", "TARGET-MARK", "\x1b[31mRED", "line\r\n2026 admin logged in", KEYS[0]]
    async with setup.serving("--api-key-file", setup.key_file) as server:
        for mark in marks:
            await ask(server.port, "POST", "/v1/completions", {"prompt": mark, "max_tokens": 4}, bearer(KEYS[0]))
            await ask(server.port, "POST", "/v1/completions", {"prompt": mark, mark: 1}, bearer(KEYS[0]))
            await ask(server.port, "POST", "/v1/completions", mark.encode(), bearer(KEYS[0]))
            await raw(server.port, f"GET /{mark} HTTP/1.1\r\nHost: {mark}\r\n{mark}: {mark}\r\n\r\n".encode())
            await ask(server.port, "GET", "/metrics", headers=bearer("wrong-" + KEYS[0]))
        wire = await connect(server.port)
        await wire.send(request_bytes("POST", "/v1/completions", {"prompt": marks[0], "max_tokens": 1900, "stream": True, "ignore_eos": True}, bearer(KEYS[0])))
        wire.close(reset=True)
        shown = (await ask(server.port, "GET", "/metrics", headers=bearer(KEYS[0]))).body + (await ask(server.port, "GET", "/slots", headers=bearer(KEYS[0]))).body
        assert not [m for m in marks if m.encode() in shown]
    written = server.output()
    assert written == "", written
    return "after its first line the server wrote 0 bytes to its outputs, whatever was sent; /metrics and /slots name no prompt and no key"
