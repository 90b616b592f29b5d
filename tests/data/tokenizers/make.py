#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tokenizer fixtures of this folder: small tokenizers of the real ones' structure, and what the reference says.

  pip install tokenizers sentencepiece gguf numpy unicodedata2==16.0.0 && python tests/data/tokenizers/make.py

NAME/tokenizer.json (and tokenizer_config.json)   as Hugging Face tokenizers saves it
NAME.gguf                                         the same vocabulary as llama.cpp's converter writes it, no tensors
NAME.cases                                        for each string: u32 flags, u32 size, bytes, u32 count, u32 ids
                                                  flags: 1 special tokens in the text are parsed, 2 bos/eos are added
nfc.pairs                                         strings and their normalisation form C: u32 size, bytes, u32 size, bytes
All numbers are little endian. The text is made up here, so nothing is downloaded.
"""
import io
import json
import pathlib
import random
import struct

import gguf
import sentencepiece
import unicodedata2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


# ---- text ----

SYLLABLES = ("ka ti ra no mel sor ven dal in the er an re on at en or al le st un ing ed ly tion ness pre con dis ful est "
             "che qua lu mi fo bri gra plo sha whe").split()
WORDS = ("the cat sat on a mat and it's not what they'll want we've said I'm here you'd go can't don't let's He'LL SHE'S "
         "hello world story little girl boy dog river house tree 2024 3.14 1000000 42 x1 foo_bar __init__ def return").split()
FOREIGN = ("straße naïve café Ångström œuvre señor ﬁn привет мир добрый день γειά σου κόσμε שלום עולם مرحبا بالعالم "
           "नमस्ते दुनिया ภาษาไทย 你好世界 今天天气很好 こんにちは 世界 안녕하세요 한국어 Việt Nam Ελλάς ǅ ĳ ſtop "
           "١٢٣ ४५६ Ⅷ ½ ² ① 三").split()
SPACES = [" ", " ", " ", " ", "  ", "   ", "\n", "\n\n", " \n", "\n ", "\r\n", "\r\n\r\n", "\t", "\t ", " \t\n ", "\u00a0",
          "\u3000", "\u2003 ", "\v", "\f", "\u0085", "\u2028", " \u00a0 ", ""]
MARKS = ["\u0301", "\u0308", "\u0323", "\u0327", "\u0345", "\u0338", "\u20d7", "\u094d", "\u0e49", "\u3099", "\u05b0", "\u0651"]
EMOJI = ["😀", "👨‍👩‍👧‍👦", "🇨🇭", "👍🏽", "❤️", "🤖🤖", "1️⃣", "🏳️‍🌈"]
# Assigned in Unicode 12 already: newer marks have no combining class in the reference's older NFC tables.
BLOCKS = [(0x20, 0x7E), (0xA0, 0x24F), (0x250, 0x36F), (0x370, 0x52F), (0x591, 0x5F4), (0x620, 0x6FF), (0x900, 0x97F),
          (0xE01, 0xE3A), (0x1100, 0x11FF), (0x1E00, 0x1FFE), (0x2000, 0x206F), (0x2070, 0x218B), (0x2190, 0x23FF),
          (0x2460, 0x24FF), (0x3000, 0x30FF), (0x4E00, 0x4E80), (0xAC00, 0xAC80), (0xD780, 0xD7A3), (0xF900, 0xF930),
          (0xFB00, 0xFB4F), (0xFE70, 0xFEFC), (0xFF01, 0xFFEE), (0x10400, 0x1044F), (0x1D400, 0x1D480), (0x1F130, 0x1F189),
          (0x1F600, 0x1F64F), (0x20000, 0x20020), (0x2F800, 0x2F810)]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ve", "'lL", "'D", "'ſ", "''", "'sx", " 's", "'l", "’s"]


def word(rng):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(WORDS)
    if kind < 0.5:
        return "".join(rng.choices(SYLLABLES, k=rng.randint(1, 4)))
    if kind < 0.65:
        return rng.choice(FOREIGN)
    if kind < 0.72:
        return str(rng.randint(0, 10 ** rng.randint(1, 12)))
    if kind < 0.79:
        return rng.choice(["a", "e", "o", "ộ", "が", "é", "ﬁ", "가", "ᄀ", "ᄀ\u1161", "ᄀ\u1161\u11a8"]) + "".join(rng.choices(MARKS, k=rng.randint(1, 4)))
    if kind < 0.85:
        return rng.choice(EMOJI)
    if kind < 0.91:
        return rng.choice(CONTRACTIONS)
    if kind < 0.96:
        return "".join(rng.choices("!?.,;:-_()[]{}<>@#$%^&*+=/\\|~`'\"…—«»“”", k=rng.randint(1, 5)))
    return "".join(chr(rng.randint(*rng.choice(BLOCKS))) for _ in range(rng.randint(1, 6)))


def text(rng, most=12, extra=()):
    parts = []
    for _ in range(rng.randint(0, most)):
        parts.append(rng.choice(extra) if extra and rng.random() < 0.15 else word(rng))
        parts.append(rng.choice(SPACES))
    return "".join(parts)


def corpus():
    rng = random.Random(1)
    for _ in range(3000):
        yield " ".join(rng.choice(WORDS + SYLLABLES) if rng.random() < 0.8 else word(rng) for _ in range(20)) + rng.choice([".\n", "\n\n", "  "])


FIXED = ["", " ", "  ", "\n", " \n", "\n \n", "a", " a", "  a", "a ", "a  ", "\r\n\r\n  x", "12345", " 12345", "1 22 333 4444 55555",
         "'s", "It's", "IT'S", "x'sy", "don''t", "<0x0A>", "<0x41>", "▁", "▁▁a", "a▁b", " ▁", "\u0000", "a\u0000b", "\U0010ffff",
         "\ufeffa", "é", "e\u0301", "\u1e9b\u0323", "\u212b", "가각", "\u1100\u1161\u11a8", "a\u0315\u0300\u05ae\u0300\u0062",
         "a" * 300, "ab" * 200, "! " * 50, " " * 100 + "x", "\n" * 33 + " x", "…" * 40]


# ---- tokenizers ----

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]


def byte_level(vocab_size, pre, normalizer=None, special=SPECIAL, added=(), **model):
    t = Tokenizer(models.BPE(**model))
    t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_tokens(list(added))
    return t


def split(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def qwen2():
    added = [AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False), AddedToken("<tool_call>", normalized=False),
             AddedToken("<think>ing", normalized=False)]
    t = byte_level(620, split(QWEN2), normalizers.NFC(), added=added)
    return t, {"bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "add_bos_token": False,
               "chat_template": "{{ messages }}", "tokenizer_class": "Qwen2Tokenizer"}


def llama3():
    t = byte_level(640, split(LLAMA3), special=["<|begin_of_text|>", "<|eot_id|>"], ignore_merges=True)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|> $B", special_tokens=[("<|begin_of_text|>", 0)])])
    # A word that is a token although no merges lead to it: ignore_merges finds it.
    model = json.loads(t.to_str())
    model["model"]["vocab"]["Ġzqzq"] = len(model["model"]["vocab"])
    return Tokenizer.from_str(json.dumps(model)), {
        "bos_token": "<|begin_of_text|>", "eos_token": {"content": "<|eot_id|>"},
        "chat_template": [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "{{ yes }}"}]}


def gpt2():
    # Every option of an added token, which the well-known models do not use. (A normalized one is found in decomposed text too.)
    added = [AddedToken("[L]", lstrip=True, normalized=False), AddedToken("[R]", rstrip=True, normalized=False),
             AddedToken("[LR]", lstrip=True, rstrip=True, normalized=False), AddedToken("wrd", single_word=True, normalized=False),
             AddedToken("Ελλάς", normalized=True), AddedToken("  ", normalized=False)]
    t = byte_level(580, pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.Sequence([normalizers.NFC()]),
                   special=["<|endoftext|>"], added=added)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|endoftext|> $A", pair="<|endoftext|> $A <|endoftext|> $B", special_tokens=[("<|endoftext|>", 0)])])
    return t, {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "add_bos_token": False}


def smollm():
    pre = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t = byte_level(580, pre)
    # SmolLM's alphabet lacks bytes that its training text did not have; text loses them.
    model = json.loads(t.to_str())
    for byte in "ôõ":
        del model["model"]["vocab"][byte]
    return Tokenizer.from_str(json.dumps(model)), {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}


def patterns(*splits, digits=None):
    """Steps that cut with expressions that cke has no code for: (pattern, behavior, invert) each."""
    steps = [pre_tokenizers.Split(Regex(p), behavior, invert) for p, behavior, invert in splits]
    steps += [pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Punctuation("contiguous")] if digits else []
    return pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=bool(digits))])


def deepseek():
    words = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
             r"|\s*[\r\n]+|\s+(?!\S)|\s+")
    t = byte_level(560, patterns((r"\p{N}{1,3}", "isolated", False), ("[一-龥\u3040-ゟ゠-ヿ]+", "isolated", False), (words, "isolated", False)))
    return t, {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}


def tiktoken():
    """Only what matches is kept: all of it, but for tabs here."""
    cased, short = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+", "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    capitals = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    rest = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|[^\S\t]*[\r\n]+|[^\S\t]+(?!\S)|[^\S\t]+"
    t = byte_level(560, patterns((rf"[\p{{Han}}]+|{cased}{short}|{capitals}{short}|{rest}", "removed", True)), ignore_merges=True)
    return t, {"bos_token": None, "eos_token": "<|endoftext|>"}


def punctuated():
    t = byte_level(560, patterns(("--", "isolated", False), digits=True))
    return t, {"bos_token": None, "eos_token": "<|endoftext|>"}


def train_sentencepiece(vocab_size=700, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=corpus(), model_writer=model, vocab_size=vocab_size, model_type="bpe", byte_fallback=True,
        character_coverage=0.99, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
        allow_whitespace_only_pieces=True, minloglevel=2, num_threads=1, **options)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def llama_json(sp, legacy):
    """tokenizer.json of a Llama, as transformers' converter makes it: every way to make a piece of two, by score."""
    vocab = {sp.id_to_piece(i): i for i in range(sp.vocab_size())}
    merges = []
    for piece, i in vocab.items():
        if not (sp.is_control(i) or sp.is_unknown(i) or sp.is_byte(i)):
            pairs = [(piece[:k], piece[k:]) for k in range(1, len(piece)) if piece[:k] in vocab and piece[k:] in vocab]
            merges += [(-sp.get_score(i), vocab[a], vocab[b], a, b) for a, b in pairs]
    merges.sort()
    t = Tokenizer(models.BPE(vocab, [m[3:] for m in merges], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if legacy:
        t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    after = " </s>" if legacy else ""
    t.post_processor = processors.TemplateProcessing(
        single=f"<s> $A{after}", pair=f"<s> $A{after} <s> $B{after}", special_tokens=[("<s>", 1), ("</s>", 2)][:1 + legacy])
    t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in ("<unk>", "<s>", "</s>")])
    return t, {"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True, "add_eos_token": False}


def gemma(sp):
    """Gemma's: the same pieces without a space before the text, and runs of newlines that are tokens."""
    model = json.loads(llama_json(sp, legacy=True)[0].to_str())["model"]
    for new in ("\n", "\n\n", "\n\n\n", "\n▁"):
        model["vocab"][new] = len(model["vocab"])
    model["merges"] += [["\n", "\n"], ["\n\n", "\n"], ["\n", "▁"]]
    t = Tokenizer(models.BPE(model["vocab"], [tuple(m) for m in model["merges"]], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in ("<unk>", "<s>", "</s>", "<|turn>", "<turn|>")])
    t.add_tokens([AddedToken("[img]", normalized=False, special=False), AddedToken("▁▁▁▁▁", normalized=False, special=False)])
    return t, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


# ---- files ----

def write_cases(path, cases):
    with open(path, "wb") as f:
        for flags, string, ids in cases:
            data = string.encode()
            f.write(struct.pack("<II", flags, len(data)) + data + struct.pack(f"<I{len(ids)}I", len(ids), *ids))


def with_config(t, config):
    """As transformers 5 does: beside a tokenizer.json, add_bos_token and add_eos_token of a config do not count."""
    return Tokenizer.from_str(t.to_str())


def reference(t, flags, string):
    t.encode_special_tokens = not flags & 1
    return t.encode(string, add_special_tokens=bool(flags & 2)).ids


def spellings(t):
    """The added tokens, and what is nearly one."""
    contents = [a.content for a in t.get_added_tokens_decoder().values()]
    return contents + [f(c) for c in contents for f in (lambda c: c[:-1], lambda c: f" {c} ", lambda c: "x" + c, lambda c: f"\n{c}\u3000")]


def strings(seed, count, extra=()):
    rng = random.Random(seed)
    return FIXED + [text(rng, extra=extra) for _ in range(count)]


def save_files(folder, t, config):
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(json.loads(t.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")


def save(name, t, config, count=250, always=0, without="\0\0"):
    """Flags `always` are set in every case, and strings that have `without` are left out."""
    save_files(HERE / name, t, config)
    t = with_config(t, config)
    write_cases(HERE / f"{name}.cases", [(i % 4 | always, s, reference(t, i % 4 | always, s))
                                         for i, s in enumerate(strings(name, count, spellings(t))) if without not in s])


def gguf_writer(name, model, tokens, types):
    w = gguf.GGUFWriter(HERE / f"{name}.gguf", "llama")
    w.add_tokenizer_model(model)
    w.add_token_list(tokens)
    w.add_token_types(types)
    return w


def close(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def save_gguf(name, t, config, pre):
    """A byte-level BPE as llama.cpp's convert_hf_to_gguf.py writes it."""
    added = t.get_added_tokens_decoder()
    by_id = {i: s for s, i in t.get_vocab().items()}
    size = max(by_id) + 1
    types = [gguf.TokenType.UNUSED if i not in by_id else gguf.TokenType.NORMAL if i not in added else
             gguf.TokenType.CONTROL if added[i].special else gguf.TokenType.USER_DEFINED for i in range(size)]
    w = gguf_writer(name, "gpt2", [by_id.get(i, f"[PAD{i}]") for i in range(size)], types)
    w.add_tokenizer_pre(pre)
    w.add_token_merges([" ".join(m) for m in json.loads(t.to_str())["model"]["merges"]])
    for add, key in ((w.add_bos_token_id, "bos_token"), (w.add_eos_token_id, "eos_token")):
        token = config[key]["content"] if isinstance(config[key], dict) else config[key]
        if token:
            add(t.token_to_id(token))
    w.add_chat_template("{{ gguf }}")
    close(w)


def save_merged_gguf(name, t, config):
    """Pieces of characters that merges join, as llama.cpp's converter writes Gemma 4's."""
    added = t.get_added_tokens_decoder()
    by_id = {i: s for s, i in t.get_vocab().items()}
    byte = {f"<0x{b:02X}>" for b in range(256)}
    types = [(gguf.TokenType.CONTROL if added[i].special else gguf.TokenType.USER_DEFINED) if i in added else
             gguf.TokenType.BYTE if by_id[i] in byte else gguf.TokenType.NORMAL for i in range(len(by_id))]
    w = gguf_writer(name, "gemma4", [by_id[i] for i in range(len(by_id))], types)
    w.add_token_scores([-1000.0] * len(by_id))
    w.add_token_merges([" ".join(m) for m in json.loads(t.to_str())["model"]["merges"]])
    for add, key in ((w.add_bos_token_id, "bos_token"), (w.add_eos_token_id, "eos_token"), (w.add_unk_token_id, "unk_token")):
        add(t.token_to_id(config[key]))
    w.add_add_space_prefix(False)
    w.add_add_bos_token(True)
    close(w)


def save_sentencepiece(name, sp, count=250):
    kinds = [(sp.is_unknown, gguf.TokenType.UNKNOWN), (sp.is_control, gguf.TokenType.CONTROL), (sp.is_byte, gguf.TokenType.BYTE)]
    ids = range(sp.vocab_size())
    types = [next((kind for test, kind in kinds if test(i)), gguf.TokenType.NORMAL) for i in ids]
    w = gguf_writer(name, "llama", [sp.id_to_piece(i) for i in ids], types)
    w.add_token_scores([sp.get_score(i) for i in ids])
    w.add_bos_token_id(sp.bos_id())
    w.add_eos_token_id(sp.eos_id())
    w.add_unk_token_id(sp.unk_id())
    w.add_add_bos_token(True)
    w.add_add_eos_token(False)
    close(w)
    extra = [sp.id_to_piece(i) for i in ids if types[i] != gguf.TokenType.NORMAL]
    write_cases(HERE / f"{name}.cases", [(f := i % 2 * 2, s, [sp.bos_id()] * (f // 2) + sp.encode(s))
                                         for i, s in enumerate(strings(name, count, extra))])


def save_nfc():
    rng = random.Random("nfc")
    codes = [chr(c) for c in range(0x110000)]
    composed = [c for c in codes if unicodedata2.decomposition(c) and not unicodedata2.decomposition(c).startswith("<")]
    marks = [c for c in codes if unicodedata2.combining(c)]
    parts = composed + [unicodedata2.normalize("NFD", c) for c in composed]
    syllables = [chr(rng.randint(0xAC00, 0xD7A3)) for _ in range(40)]
    jamo = [chr(c) for c in [*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A7, 0x11C3)]]
    texts = [" ".join(composed), " ".join(unicodedata2.normalize("NFD", c) for c in composed), "".join(marks), "".join(syllables),
             unicodedata2.normalize("NFD", "".join(syllables))]
    for _ in range(300):
        pools = [parts, marks, marks, jamo, syllables, ["a", "e", "Z", " ", "中"]]
        texts.append("".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 24))))
    with open(HERE / "nfc.pairs", "wb") as f:
        for text in texts:
            for side in (text.encode(), unicodedata2.normalize("NFC", text).encode()):
                f.write(struct.pack("<I", len(side)) + side)


def all_tokenizers():
    """name -> (tokenizer, tokenizer_config), the ones that are a tokenizer.json."""
    sp = train_sentencepiece()
    return {"qwen2": qwen2(), "llama3": llama3(), "gpt2": gpt2(), "smollm": smollm(),
            "llama": llama_json(sp, legacy=False), "llama_legacy": llama_json(sp, legacy=True), "gemma": gemma(sp),
            "deepseek": deepseek(), "tiktoken": tiktoken(), "punctuated": punctuated()}


def main():
    made = all_tokenizers()
    for name, (t, config) in made.items():
        save(name, t, config, 80 if name in ("deepseek", "tiktoken", "punctuated") else 250)
    save_gguf("qwen2", *made["qwen2"], "qwen2")
    save_gguf("llama3", *made["llama3"], "llama-bpe")
    save_merged_gguf("gemma", *made["gemma"])
    save_sentencepiece("spm", train_sentencepiece())
    save_nfc()


if __name__ == "__main__":
    main()
