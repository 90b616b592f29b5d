# SPDX-License-Identifier: MIT
"""pictures.py: pictures and requests that show them, for the campaigns beside it. Needs nothing but Python."""
import base64
import json
import random
import struct
import zlib


def png(width: int, height: int, seed: int) -> bytes:
    """Random stripes: a picture that no other seed makes."""
    rng = random.Random(seed)
    colours = [rng.randbytes(3) for _ in range(4)]
    rows = b"".join(b"\0" + b"".join(colours[(x * (seed % 3 + 1) + y) // 5 % 4] for x in range(width - 1)) + rng.randbytes(3) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def question(*parts, **how) -> dict:
    """Texts, and the bytes of pictures."""
    def part(p) -> dict:
        if isinstance(p, str):
            return {"type": "text", "text": p}
        return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(p).decode()}}
    return {"messages": [{"role": "user", "content": [part(p) for p in parts]}]} | how


def ask(server, body: dict) -> dict:
    status, answer = server.request("POST", "/v1/chat/completions", body)
    assert status == 200, (status, answer[:300])
    return json.loads(answer)
