# SPDX-License-Identifier: MIT
"""masks.py GRAMMAR_MASKS TOKENIZER.json COUNT: random JSON Schemas in cke, in xgrammar and in llguidance.

cke makes a grammar of each schema; xgrammar reads the same grammar: at each step of a random document their masks must be equal, token for
token. llguidance reads the schema itself: documents by cke's masks and by llguidance's are read by the other, and by jsonschema, which
decides. For development: needs the PyPI packages xgrammar (with torch), llguidance and jsonschema."""
import collections
import json
import random
import re
import subprocess
import sys

import jsonschema
import llguidance
import torch
import xgrammar
from random_schema import schema

STEPS = 120


class Cke:
    def __init__(self, program: str, tokenizer: str):
        self.dialogue = subprocess.Popen([program, tokenizer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pieces = [None if p == "-" else bytes.fromhex(p) for p in self.say("pieces").split()]

    def say(self, line: str) -> str:
        print(line, file=self.dialogue.stdin, flush=True)
        return self.dialogue.stdout.readline()

    def begin(self, wanted: dict) -> str:
        """The grammar."""
        text = json.loads(self.say("schema " + json.dumps(wanted)))
        assert isinstance(text, str), (wanted, text)
        self.read(self.dialogue.stdout.readline())
        return text

    def read(self, line: str) -> None:
        whole, mask = line.split()
        bits = int.from_bytes(bytes.fromhex(mask), "little")
        self.whole, self.allowed = whole == "1", {i for i in range(len(self.pieces)) if bits >> i & 1}

    def token(self, i: int) -> None:
        self.read(self.say(f"token {i}"))


class Xgrammar:
    def __init__(self, pieces: list[bytes | None], end: int):
        self.end, size = end, len(pieces)
        self.compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo([p or f"<special {i}>".encode() for i, p in enumerate(pieces)], xgrammar.VocabType.RAW, vocab_size=size, stop_token_ids=[end]))
        self.bits, self.special = xgrammar.allocate_token_bitmask(1, size), {i for i, p in enumerate(pieces) if p is None}
        self.size = size

    def begin(self, grammar: str) -> None:
        # Its notation has another word for nothing, and takes more than two digits behind an \x.
        grammar = grammar.replace("::= |", '::= "" |')
        grammar = re.sub(r"\\x([0-9A-Fa-f]{2})", r"\\u00\1", grammar)
        self.matcher = xgrammar.GrammarMatcher(self.compiler.compile_grammar(xgrammar.Grammar.from_ebnf(grammar)))
        self.look()

    def look(self) -> None:
        self.bits.fill_(-1)
        self.matcher.fill_next_token_bitmask(self.bits)
        words = self.bits[0].to(torch.int64) & 0xFFFFFFFF
        set_bits = {32 * w + b for w, word in enumerate(words.tolist()) for b in range(32) if word >> b & 1}
        self.whole, self.allowed = self.end in set_bits, {i for i in set_bits if i < self.size} - self.special

    def token(self, i: int) -> None:
        assert self.matcher.accept_token(i)
        if not self.matcher.is_terminated():
            self.look()


class Guidance:
    def __init__(self, tokenizer: str):
        with open(tokenizer) as f:
            self.tokens = llguidance.LLTokenizer(f.read())

    def begin(self, wanted: dict) -> None:
        self.matcher = llguidance.LLMatcher(self.tokens, llguidance.LLMatcher.grammar_from_json_schema(json.dumps(wanted)))
        assert not self.matcher.is_error(), self.matcher.get_error()

    def allowed(self) -> set[int]:
        mask = int.from_bytes(self.matcher.compute_bitmask(), "little")
        return {i for i in range(self.tokens.vocab_size) if mask >> i & 1}

    def reads(self, ids: list[int]) -> bool:
        return self.matcher.validate_tokens(ids) == len(ids) and self.matcher.consume_tokens(ids) and self.matcher.is_accepting()


def fits(text: bytes, wanted: dict) -> bool:
    try:
        document = json.loads(text, object_pairs_hook=once)
        jsonschema.Draft202012Validator(wanted, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER).validate(document)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


def once(pairs):
    if len({k for k, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def walk(matcher_allowed, whole, token, rng: random.Random, end_at: float) -> list[int] | None:
    """A random document, or None where it has none within STEPS tokens."""
    ids: list[int] = []
    while len(ids) < STEPS:
        allowed = matcher_allowed()
        if whole() and (rng.random() < end_at or not allowed):
            return ids
        if not allowed:
            return None
        i = rng.choice(sorted(allowed))
        token(i)
        ids.append(i)
    return None


def why_not(text: bytes, wanted: dict) -> str:
    """Of a document that fits its schema, and that cke's grammar has not."""
    plain = text.decode()
    if re.search(r"\s", re.sub(r'"(\\.|[^"\\])*"', "", plain)):
        tight = json.dumps(json.loads(plain), ensure_ascii=False, separators=(", ", ": "))
        return "white space that cke does not write" if tight != plain else "other"
    if "\\u" in plain or "\\/" in plain:
        return "escapes in keys and constants"
    if re.search(r"\d{16}|\.\d{16}|[eE]", re.sub(r'"(\\.|[^"\\])*"', "", plain)):
        return "long numbers and exponents"
    return "other"


def main(program: str, tokenizer: str, count: str) -> None:
    with open(tokenizer) as f:
        end = next(t["id"] for t in json.load(f)["added_tokens"] if t["special"])
    cke = Cke(program, tokenizer)
    x, guidance = Xgrammar(cke.pieces, end), Guidance(tokenizer)
    tally: collections.Counter = collections.Counter()
    examples: dict[str, tuple] = {}
    for seed in range(int(count)):
        rng = random.Random(seed)
        wanted = schema(rng)
        x.begin(cke.begin(wanted))

        behind = b""

        def same() -> set[int]:
            tally["masks"] += 1
            tally["tokens allowed"] += len(cke.allowed)
            more = [cke.pieces[i] for i in x.allowed - cke.allowed]
            if behind == b"\xed" and cke.allowed <= x.allowed and all(0xA0 <= p[0] <= 0xBF for p in more):
                tally["masks in which xgrammar lets a surrogate into UTF-8"] += bool(more)
            elif cke.allowed != x.allowed or cke.whole != x.whole:
                tally["masks that differ from xgrammar's"] += 1
                only = {"cke": [cke.pieces[i] for i in cke.allowed - x.allowed], "xgrammar": more}
                examples.setdefault(f"xgrammar: {only}", (wanted, cke.whole, x.whole))
            return cke.allowed & x.allowed

        def both(i: int) -> None:
            nonlocal behind
            behind = cke.pieces[i][-1:]
            cke.token(i)
            x.token(i)

        ids = walk(same, lambda: cke.whole, both, rng, 0.5)
        if ids is not None:
            text = b"".join(cke.pieces[i] for i in ids)
            tally["documents of cke"] += 1
            assert fits(text, wanted), (wanted, text)
            guidance.begin(wanted)
            if guidance.reads(ids):
                tally["documents of cke that llguidance reads"] += 1
            else:
                examples.setdefault("llguidance does not read", (wanted, text))
                tally["documents of cke that llguidance does not read"] += 1
        guidance.begin(wanted)
        ids = walk(guidance.allowed, guidance.matcher.is_accepting, lambda i: guidance.matcher.consume_token(i), rng, 0.5)
        if ids is not None:
            ids = [i for i in ids if cke.pieces[i] is not None]
            text = b"".join(cke.pieces[i] for i in ids)
            tally["documents of llguidance"] += 1
            cke.begin(wanted)
            read = True
            for i in ids:
                read = read and i in cke.allowed
                if read:
                    cke.token(i)
            right = fits(text, wanted)
            if read and cke.whole:
                assert right, (wanted, text)
                tally["documents of llguidance that cke reads"] += 1
            elif right:
                why = why_not(text, wanted)
                tally[f"documents of llguidance that cke does not read: {why}"] += 1
                examples.setdefault(why, (wanted, text))
            else:
                tally["documents of llguidance that do not fit their schema, by jsonschema"] += 1
                examples.setdefault("wrong", (wanted, text))
    for name, n in tally.items():
        print(f"{n:8} {name}")
    for name, e in examples.items():
        print(f"for example ({name}): {e}", file=sys.stderr)
    assert tally["masks that differ from xgrammar's"] == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
