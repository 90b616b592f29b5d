# SPDX-License-Identifier: MIT
"""vision_tokens.py: tiny tokenizers and chat templates of the vision families' structure."""

import json
import string

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)
WORDS = "the red box is on a blue mat what do you see in it here are two one and old new tell me of this or that".split()
LETTERS = "\n !,-.:?_" + "14AUHIS" + string.ascii_lowercase
MERGES = ["th", "the", "in", "an", "is", " t", " the", " a", " i", " is", " o", "re", "ed", "he", "er", "en", "se", "st", "us", "user",
          "\n\n", "\n\n\n", "\n\n\n\n"]


def tokens_of(letters, merges, space, newline):
    """(vocabulary of the letters and of the merges' results, merges): a result's pair is its longest known prefix and the rest."""
    spell = lambda text: text.replace(" ", space).replace("\n", newline)
    vocab, pairs = [spell(c) for c in letters], []
    for result in map(spell, merges):
        cut = max(k for k in range(1, len(result)) if result[:k] in vocab and result[k:] in vocab)
        pairs.append((result[:cut], result[cut:]))
        vocab.append(result)
    return vocab, pairs


def numbered(names, size):
    """{token: id} of exactly `size` tokens; those that mean nothing fill it up."""
    if len(names) > size:
        raise SystemExit(f"vision_tokens.py: {len(names)} tokens do not fit a vocabulary of {size}")
    return {name: i for i, name in enumerate([*names, *(f"<unused{i}>" for i in range(size - len(names)))])}


def byte_level(special, size, pattern=QWEN2, bos=None):
    """A byte-level BPE as Qwen's, without most of the bytes; `special` come last, as in published files."""
    vocab, merges = tokens_of(LETTERS, [m for m in MERGES if not m.startswith("\n") or m == "\n\n"], "Ġ", "Ċ")
    t = Tokenizer(models.BPE(numbered([*vocab, *special], size), merges))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False) if bos is None else begins_with(t, bos)
    return mark(t, special)


def pieces(special, size, first=("<pad>", "<eos>", "<bos>", "<unk>")):
    """Pieces of characters that merges join, as Gemma's: runs of newlines are tokens, nothing is cut at them."""
    vocab, merges = tokens_of(LETTERS, MERGES, "▁", "\n")
    t = Tokenizer(models.BPE(numbered([*first, *vocab, *special], size), merges, unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.post_processor = begins_with(t, "<bos>")
    return mark(t, [*first, *special])


def words(size):
    """SigLIP's: text in small letters without punctuation, cut by a unigram model, and </s> after it."""
    names = ["<unk>", "</s>", "▁"] + ["▁" + w for w in WORDS] + list(string.ascii_lowercase)
    scores = {name: -1.0 - i / 64 for i, name in enumerate(numbered(names, size))}
    t = Tokenizer(models.Unigram(list(scores.items()), unk_id=0))
    t.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(Regex("[!-/:-@\\[-`{-~]"), ""),
                                         normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return mark(t, ["<unk>", "</s>"])


def begins_with(tokenizer, bos):
    return processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, tokenizer.token_to_id(bos))])


def mark(tokenizer, special):
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in special])
    return tokenizer


def save(tokenizer, config, directory):
    compact = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))
    (directory / "tokenizer.json").write_text(compact + "\n")
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")


# What published templates do with a conversation of texts and images, without tools and thoughts.
_PARTS = ("{{% if message.content is string %}}{{{{ message.content }}}}{{% else %}}{{% for part in message.content %}}"
          "{{% if part.type == 'image' %}}{image}{{% elif part.type == 'text' %}}{text}{{% endif %}}{{% endfor %}}{{% endif %}}")
_CHATML = ("{{%- for message in messages %}}<|im_start|>{{{{ message.role }}}}\n{parts}<|im_end|>\n{{%- endfor %}}"
           "{{%- if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}")


def parts(image, text="{{ part.text }}"):
    return _PARTS.format(image=image, text=text)


def chatml(image, video=None):
    # Jinja drops one newline before nothing: the marks without a dash keep those that count.
    return _CHATML.format(parts=parts(image + ("{% elif part.type == 'video' %}" + video if video else ""))).replace("\n{%- endfor", "\n{% endfor")


def turns(begin, end, image):
    """Gemma's form: the assistant is the model, and texts lose the space around them."""
    return ("{{ bos_token }}{% for message in messages %}" + begin + "{{ 'model' if message.role == 'assistant' else message.role }}\n"
            + parts(image, "{{ part.text | trim }}") + end + "\n{% endfor %}{% if add_generation_prompt %}" + begin + "model\n{% endif %}")


SMOLVLM = ("<|im_start|>{% for message in messages %}{{ message.role | capitalize }}"
           "{% if message.content[0].type == 'image' %}:{% else %}: {% endif %}" + parts("<image>")
           + "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}")
PIXTRAL = ("{{ bos_token }}{% for message in messages %}{% if message.role == 'user' %}[INST]" + parts("[IMG]")
           + "[/INST]{% else %}{{ message.content }}{{ eos_token }}{% endif %}{% endfor %}")
