#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares cke's tokenizers with Hugging Face tokenizers and sentencepiece on random text. A development script.

  python tools/tokenizer_fuzz.py [STRINGS_PER_TOKENIZER [SEED [NAME ...]]]    (see tests/data/tokenizers/make.py for what to install)
  python tools/tokenizer_fuzz.py --llamacpp FOLDER    (llama.cpp's models/, in the sdist of llama-cpp-python: .gguf, .inp, .out)
"""
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/data/tokenizers"))
import make  # noqa: E402
import make_steps  # noqa: E402

DRIVER = r"""
#include <cstdio>
#include <cke/io/gguf_steps.hpp>
#include <cke/io/hf_tokenizer.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <cke/text/tokenizer/tokenizer.hpp>
// stdin: u32 flags, u32 size, bytes ...; stdout: u32 count, ids, u32 size, the decoded text, without special tokens if flag 4 ...
int main(int, char** argv) try {
  const std::string path = argv[1];
  const bool gguf = path.ends_with(".gguf");
  const cke::tokenizer t(cke::with_patterns(gguf ? cke::read_any_gguf_tokenizer(cke::gguf::read(path)) : cke::read_hf_tokenizer(cke::read_hf_files(path)), path));
  const auto put = [](const void* data, std::size_t size, std::size_t count) {
    const auto n = static_cast<cke::u32>(count);
    std::fwrite(&n, 4, 1, stdout);
    std::fwrite(data, size, count, stdout);
  };
  cke::u32 head[2];
  for (std::string text; std::fread(head, 4, 2, stdin) == 2;) {
    text.resize(head[1]);
    if (std::fread(text.data(), 1, text.size(), stdin) != text.size()) return 2;
    const auto ids = t.encode(text, {.parse_special = (head[0] & 1) != 0, .add_special = (head[0] & 2) != 0});
    const auto back = t.decode(ids, (head[0] & 4) != 0);
    put(ids.data(), 4, ids.size());
    put(back.data(), 1, back.size());
  }
} catch (const cke::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
"""


def build(folder):
    source, binary = folder / "driver.cpp", folder / "driver"
    source.write_text(DRIVER)
    subprocess.run(["g++", "-std=c++20", "-O1", f"-I{ROOT}/include", source, "-o", binary, "-lpcre2-8"], check=True)
    return binary


def run(binary, path, cases):
    sent = b"".join(struct.pack("<II", flags, len(s.encode())) + s.encode() for flags, s in cases)
    got = subprocess.run([binary, path], input=sent, stdout=subprocess.PIPE, check=True).stdout
    at = 0
    for _ in cases:
        (n,) = struct.unpack_from("<I", got, at)
        ids = list(struct.unpack_from(f"<{n}I", got, at + 4))
        at += 4 + 4 * n
        (n,) = struct.unpack_from("<I", got, at)
        yield ids, got[at + 4:at + 4 + n].decode(errors="replace")
        at += 4 + n
    assert at == len(got)


def compare(name, binary, path, cases, encode, decode):
    wrong = 0
    for (flags, text), (ids, back) in zip(cases, run(binary, path, cases)):
        want = encode(flags, text)
        want_back = decode(flags, want)
        if ids != want or back != want_back:
            wrong += 1
            if wrong <= 5:
                print(f"{name}: flags {flags} {text!r}\n  cke  {ids} {back!r}\n  want {want} {want_back!r}")
    print(f"{name}: {len(cases)} strings, {wrong} differ", flush=True)
    return wrong


def published(binary, folder):
    """Compares the ids for llama.cpp's vocabulary-only files with those that Hugging Face gave for their texts."""
    wrong = 0
    for path in sorted(folder.glob("*.gguf")):
        texts, wanted = path.with_suffix(".gguf.inp"), path.with_suffix(".gguf.out")
        if not texts.exists():
            continue
        ids = [[int(i) for i in line.split()] for line in wanted.read_text().split("\n")]
        cases = [(0, text) for text in texts.read_bytes().decode().split("\n__ggml_vocab_test__\n")]
        try:
            got = [answer for answer, _ in run(binary, path, cases)]
        except subprocess.CalledProcessError:
            print(f"{path.name}: not read")
            continue
        differ = sum(a != b for a, b in zip(got, ids))
        wrong += differ
        print(f"{path.name}: {min(len(got), len(ids))} texts, {differ} differ", flush=True)
    return wrong


def main():
    if sys.argv[1:2] == ["--llamacpp"]:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(published(build(pathlib.Path(folder)), pathlib.Path(sys.argv[2])) != 0)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = sys.argv[2] if len(sys.argv) > 2 else "1"
    names = sys.argv[3:]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        binary = build(pathlib.Path(folder))

        def cases(name, part, count, extra, flags):
            rng = random.Random(f"{seed} {name} {part}")
            # # The reference's NFKC predates this character (Unicode 13).
            return [(rng.choice(flags), make.text(rng, 16, extra).replace("\U0001F16C", "")) for _ in range(count)]

        def parts(name, *which):
            batch = 50_000
            for part in range(0, count, batch):
                yield cases(name, part // batch, min(batch, count - part), *which)

        # # The last one uses SentencePiece's own rule table, which is too large for a fixture.
        made = make.all_tokenizers() | make_steps.all_tokenizers() | {"nmt_nfkc": make_steps.t5()}
        for name, (t, config) in made.items():
            if names and name not in names:
                continue
            path = pathlib.Path(folder) / name
            make.save_files(path, t, config)
            t = make.with_config(t, config)
            steps = name in make_steps.MODELS_WITH_SPECIAL_TOKENS
            for batch in parts(name, make.spellings(t), [f for f in range(8) if f & 1 or not steps]):
                wrong += compare(name, binary, path, batch, lambda flags, s: make.reference(t, flags, s),
                                 lambda flags, ids: t.decode(ids, skip_special_tokens=bool(flags & 4)))
        if names:
            sys.exit(wrong != 0)
        sp = make.train_sentencepiece()
        pieces = [sp.id_to_piece(i) for i in range(259)]
        for batch in parts("spm", pieces, [0]):
            wrong += compare("spm", binary, make.HERE / "spm.gguf", batch, lambda _, s: sp.encode(s), lambda _, ids: sp.decode(ids))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
