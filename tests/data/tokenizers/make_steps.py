#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the fixtures of tokenizers that work by steps: unigram, WordPiece, whole words, and normalisers, cuts and decoders of all kinds.

  python tests/data/tokenizers/make_steps.py    (see make.py for what to install, and for the files)
"""
import io
import json
import pathlib
import tempfile

import gguf
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import make

# Rules like those of nmt_nfkc, few enough for a small file: what becomes what, code points in hexadecimal.
RULES = {"FB01": "66 69", "FF21": "41", "FF22": "42", "2460": "31", "BD": "31 2F 32", "9": "20", "A": "20", "D": "20", "3000": "20", "A0": "20",
         "2003": "20", "AD": "", "200B": "", "65 301": "E9", "41 30A": "C5", "65 302 301": "1EBF", "1100 1161": "AC00", "2026": "2E 2E 2E",
         "2167": "56 49 49 49", "1F600": "3A 29"}


# Their models know their special tokens by text: where those are to be plain text, `tokenizers` finds them all the same,
# and bytes that are spelled like byte tokens; cke never does.
MODELS_WITH_SPECIAL_TOKENS = {"t5", "unigram_bytes", "nmt_nfkc", "scripts_bytes"}


def fields(data):
    """The fields of a protobuf message that are bytes: (number, bytes)."""
    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:
                return value, at
    at = 0
    while at < len(data):
        key, at = varint(at)
        if key & 7 == 2:
            size, at = varint(at)
            yield key >> 3, data[at:at + size]
            at += size
        else:
            at = varint(at)[1] if key & 7 == 0 else at + (4 if key & 7 == 5 else 8)


def charsmap(model):
    """precompiled_charsmap of the normalizer_spec of a SentencePiece model."""
    return next(value for number, value in fields(next(v for n, v in fields(model) if n == 3)) if number == 2)


def train_unigram(rules=None, **options):
    with tempfile.TemporaryDirectory() as folder:
        if rules:
            path = pathlib.Path(folder) / "rules.tsv"
            path.write_text("".join(f"{a}\t{b}\n" for a, b in rules.items()))
            options["normalization_rule_tsv"] = str(path)
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=make.corpus(), model_writer=model, vocab_size=600, model_type="unigram", character_coverage=0.98, minloglevel=4,
            num_threads=1, **options)
    return model.getvalue()


def unigram_vocab(model):
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [(sp.id_to_piece(i), sp.get_score(i)) for i in range(sp.vocab_size())]


def special(*contents, **options):
    return [AddedToken(c, special=True, normalized=False, **options) for c in contents]


def t5(rules=None):
    """T5's and XLM-RoBERTa's kind: SentencePiece's rules, its unigram, words."""
    model = train_unigram(rules, **({} if rules else {"normalization_rule_name": "nmt_nfkc"}))
    t = Tokenizer(models.Unigram(unigram_vocab(model), unk_id=0, byte_fallback=False))
    t.normalizer = normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.Precompiled(charsmap(model)), normalizers.Strip(left=False, right=True),
                                         normalizers.Replace(Regex(" {2,}"), "▁")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    t.decoder = decoders.Metaspace(prepend_scheme="always", split=True)
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)])
    t.add_special_tokens(special("<unk>", "<s>", "</s>"))
    t.add_tokens([AddedToken("<extra_0>", lstrip=True, normalized=False), AddedToken("Tree", single_word=True), AddedToken("[ a]", rstrip=True)])
    return t, {"eos_token": "</s>", "unk_token": "<unk>"}


def unigram_bytes():
    """Bytes for what is unknown, no words, two tokens in front."""
    model = train_unigram(byte_fallback=True, normalization_rule_name="identity")
    t = Tokenizer(models.Unigram(unigram_vocab(model), unk_id=0, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.Sequence([normalizers.NFKC()])])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="</s> <s> $A </s>", pair="$A $B", special_tokens=[("<s>", 1), ("</s>", 2)])])
    t.add_special_tokens(special("<unk>", "<s>", "</s>"))
    return t, {"bos_token": "<s>", "eos_token": "</s>"}


def train(t, trainer):
    t.train_from_iterator(make.corpus(), trainer)
    return t


def bert():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=30))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    train(t, trainers.WordPieceTrainer(vocab_size=700, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    t.add_tokens([AddedToken("Ångström", normalized=True), AddedToken("[x]", lstrip=True, rstrip=True, normalized=False)])
    return t, {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}


def bert_cased():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix="@@"))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=None, lowercase=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece(prefix="@@", cleanup=False)
    train(t, trainers.WordPieceTrainer(vocab_size=700, special_tokens=["[UNK]", "[CLS]", "[SEP]"], continuing_subword_prefix="@@", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="[CLS] [CLS] $A [SEP]", pair="$A $B", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return t, {}


def word_level():
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    train(t, trainers.WordLevelTrainer(vocab_size=400, special_tokens=["[UNK]", "[BOS]"], show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="[BOS] $A", pair="$A $B", special_tokens=[("[BOS]", 1)])
    return t, {"bos_token": "[UNK]"}  # the post-processor adds another one


def clip():
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    train(t, trainers.BpeTrainer(vocab_size=900, special_tokens=["<|startoftext|>", "<|endoftext|>"], end_of_word_suffix="</w>",
                                 initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0))
    return t, {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>"}


def mixed():
    """What is left: cuts that merge their matches with a neighbour, fixed lengths, characters that nobody knows."""
    t = Tokenizer(models.BPE(unk_token="[U]", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Prepend("_"), normalizers.Replace("a", "aa"), normalizers.Strip(left=True, right=False)])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.Split(Regex("[0-9]|(?=e)"), "merged_with_next"),
        pre_tokenizers.Split("o", "contiguous"), pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.CharDelimiterSplit("z"), pre_tokenizers.Metaspace(replacement="~", prepend_scheme="always", split=True),
        pre_tokenizers.FixedLength(6)])
    t.decoder = decoders.Sequence([decoders.Strip("~", 1, 0), decoders.Replace(Regex("a+"), "a")])
    train(t, trainers.BpeTrainer(vocab_size=600, limit_alphabet=120, special_tokens=["[U]"], show_progress=False))
    return t, {}


def byte_words():
    """BPE over the byte alphabet behind normalisers that the byte-level model does not have."""
    t = make.byte_level(560, pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.Lowercase(), special=["<|endoftext|>"], ignore_merges=True)
    return t, {"eos_token": "<|endoftext|>"}


def scripts(bytes_too):
    """Pieces of one script; letters inside words and at their ends are tokens of their own."""
    t = Tokenizer(models.BPE(unk_token="[U]", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(), pre_tokenizers.WhitespaceSplit()])
    t.decoder = decoders.Sequence([decoders.BPEDecoder(suffix="</w>"), decoders.Replace("##", "")])
    train(t, trainers.BpeTrainer(vocab_size=700, limit_alphabet=150, special_tokens=["[U]"], continuing_subword_prefix="##", end_of_word_suffix="</w>",
                                 show_progress=False))
    if bytes_too:
        made = json.loads(t.to_str())
        vocab, made["model"]["byte_fallback"] = made["model"]["vocab"], True
        vocab |= {f"<0x{byte:02X}>": len(vocab) + byte for byte in range(256)}
        t = Tokenizer.from_str(json.dumps(made))
    return t, {}


def ctc():
    """Letters, of which speech recognition keeps one of neighbours that are equal."""
    t = Tokenizer(models.BPE(unk_token="[U]"))
    t.normalizer = normalizers.Replace(" ", "|")
    t.decoder = decoders.CTC(pad_token="e", word_delimiter_token="|", cleanup=True)
    t.train_from_iterator(make.corpus(), trainers.BpeTrainer(vocab_size=120, special_tokens=["[U]"], show_progress=False))
    return t, {}


def all_tokenizers():
    return {"t5": t5(RULES), "unigram_bytes": unigram_bytes(), "bert": bert(), "bert_cased": bert_cased(), "word_level": word_level(), "clip": clip(),
            "mixed": mixed(), "byte_words": byte_words(), "scripts": scripts(False), "scripts_bytes": scripts(True), "ctc": ctc()}


def save_unigram_gguf(name, model, count=80):
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    ids = range(sp.vocab_size())
    types = [gguf.TokenType.UNKNOWN if sp.is_unknown(i) else gguf.TokenType.CONTROL if sp.is_control(i) else gguf.TokenType.NORMAL for i in ids]
    w = make.gguf_writer(name, "t5", [sp.id_to_piece(i) for i in ids], types)
    w.add_token_scores([sp.get_score(i) for i in ids])
    w.add_precompiled_charsmap(charsmap(model))
    w.add_remove_extra_whitespaces(True)
    w.add_add_space_prefix(True)
    w.add_eos_token_id(sp.eos_id())
    w.add_unk_token_id(sp.unk_id())
    w.add_add_bos_token(False)
    w.add_add_eos_token(True)
    make.close(w)
    make.write_cases(make.HERE / f"{name}.cases", [(f := i % 2 * 2, s, sp.encode(s) + [sp.eos_id()] * (f // 2))
                                                   for i, s in enumerate(make.strings(name, count)) if "\0" not in s])


def main():
    for name, (t, config) in all_tokenizers().items():
        make.save(name, t, config, 80, *([1, "<0x"] if name in MODELS_WITH_SPECIAL_TOKENS else []))
    save_unigram_gguf("unigram", train_unigram(RULES))


if __name__ == "__main__":
    main()
