#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the speed of cke's tokenizers with Hugging Face `tokenizers` on English text, on one core.

  python benchmarks/peers/tokenizers_speed.py FOLDER [NAME ...]    (tests/data/tokenizers/make.py says what to install)

Trains a tokenizer of each kind once on the docstrings of this Python's packages, and keeps them in FOLDER. The timed
text is other docstrings, in pieces of about 8 kB. Prints MB/s, the best of seven alternating rounds.
"""
import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import pathlib  # noqa: E402
import re  # noqa: E402
import site  # noqa: E402
import struct  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/data/tokenizers"))
import make  # noqa: E402
import make_steps  # noqa: E402
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

ROUNDS, SIZE, VOCAB = 7, 2_000_000, 32_000

DRIVER = r"""
#include <chrono>
#include <cstdio>
#include <cke/io/hf_tokenizer.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <cke/text/tokenizer/tokenizer.hpp>
// arguments: a folder with a tokenizer.json, a file of texts (u32 size, bytes); each line of stdin: encode them all, and say the seconds and the ids.
int main(int, char** argv) {
  const cke::tokenizer t(cke::with_patterns(cke::read_hf_tokenizer(cke::read_hf_files(argv[1])), argv[1]));
  std::vector<std::string> texts;
  std::FILE* file = std::fopen(argv[2], "rb");
  for (cke::u32 size; std::fread(&size, 4, 1, file) == 1;)
    if (std::fread(texts.emplace_back(size, '\0').data(), 1, size, file) != size) return 2;
  while (std::getchar() != EOF) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t ids = 0;
    for (const std::string& text : texts) ids += t.encode(text).size();
    std::printf("%.6f %zu\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), ids);
    std::fflush(stdout);
  }
}
"""


def docstrings():
    found = []
    for path in sorted(pathlib.Path(site.getsitepackages()[0]).glob("**/*.py")):
        text = path.read_text(errors="replace")
        found += [s for s in re.findall(r'"""(.*?)"""', text, re.S) if len(s) > 200]
        if len(found) > 40_000:
            break
    return found


def bpe(pre, normalizer=None, decoder=None, alphabet=True, **model):
    t = Tokenizer(models.BPE(**model))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizer, pre, decoder or decoders.ByteLevel()
    return t, trainers.BpeTrainer(vocab_size=VOCAB, show_progress=False, special_tokens=["<unk>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if alphabet else [])


def kinds():
    """name -> (tokenizer, trainer)"""
    sentencepiece = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    words = r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    o200k = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
             r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
             r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.Sequence([normalizers.Precompiled(make_steps.charsmap(make_steps.train_unigram(normalization_rule_name="nmt_nfkc")))])
    unigram.pre_tokenizer, unigram.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    wordpiece = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    wordpiece.normalizer, wordpiece.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    wordpiece.decoder = decoders.WordPiece()
    return {
        "gpt2": bpe(pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "smollm": bpe(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])),
        "llama3": bpe(make.split(make.LLAMA3), ignore_merges=True),
        "qwen2": bpe(make.split(make.QWEN2), normalizers.NFC()),
        "deepseek": bpe(make.patterns((r"\p{N}{1,3}", "isolated", False), ("[一-龥\u3040-ゟ゠-ヿ]+", "isolated", False), (words, "isolated", False))),
        "o200k": bpe(make.patterns((o200k, "isolated", False))),
        "sentencepiece": bpe(None, normalizers.Replace(" ", "▁"), sentencepiece, alphabet=False, unk_token="<unk>", fuse_unk=True),
        "clip": bpe(pre_tokenizers.Sequence([pre_tokenizers.Split(make.Regex(r"[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
                                             pre_tokenizers.ByteLevel(add_prefix_space=False)]),
                    normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])),
        "unigram": (unigram, trainers.UnigramTrainer(vocab_size=8_000, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)),
        "wordpiece": (wordpiece, trainers.WordPieceTrainer(vocab_size=VOCAB, special_tokens=["[UNK]"], show_progress=False)),
    }


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(exist_ok=True)
    texts = folder / "texts"
    if not texts.exists():
        found = docstrings()
        half = len(found) // 2
        joined = "\n\n".join(found[half:])[:SIZE]
        texts.write_bytes(b"".join(struct.pack("<I", len(p.encode())) + p.encode() for p in (joined[i:i + 8000] for i in range(0, len(joined), 8000))))
        for name, (t, trainer) in kinds().items():
            (folder / name).mkdir()
            if name == "sentencepiece":  # learns words, but does not cut
                t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
            t.train_from_iterator(found[:half], trainer)
            if name == "sentencepiece":
                t.pre_tokenizer = None
            t.save(str(folder / name / "tokenizer.json"))
    source, binary = folder / "driver.cpp", folder / "driver"
    source.write_text(DRIVER)
    subprocess.run(["g++", "-std=c++20", "-O3", "-march=native", f"-I{ROOT}/include", source, "-o", binary, "-lpcre2-8"], check=True)
    data, pieces, at = texts.read_bytes(), [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        pieces.append(data[at + 4:at + 4 + size].decode())
        at += 4 + size
    megabytes = sum(len(p.encode()) for p in pieces) / 1e6
    print(f"{megabytes:.1f} MB\n\n| | cke | tokenizers |\n|---|---|---|")
    for name in sorted(p.name for p in folder.iterdir() if p.is_dir()):
        if names and name not in names:
            continue
        t = Tokenizer.from_file(str(folder / name / "tokenizer.json"))
        ours = subprocess.Popen([binary, folder / name, texts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        best = [1e9, 1e9]
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            encoded = t.encode_batch_fast(pieces, add_special_tokens=False)
            best[1] = min(best[1], time.perf_counter() - begin)
            ours.stdin.write("\n")
            ours.stdin.flush()
            seconds, ids = ours.stdout.readline().split()
            best[0] = min(best[0], float(seconds))
            assert int(ids) == sum(len(e) for e in encoded), f"{name}: other ids"
        ours.stdin.close()
        print(f"| {name} | {megabytes / best[0]:.1f} | {megabytes / best[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
