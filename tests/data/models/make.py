# SPDX-License-Identifier: MIT
"""make.py: writes the tiny random checkpoints of this folder, and README.md, which lists them.

    python tests/data/models/make.py        (needs torch, transformers 5, tokenizers and gguf)

Every parameter is random, norms and biases too. Each case is refused here if it could not catch
the mistake that it is for: scaled rope must move the logits, greedy steps must not be near ties.
"""

import copy
import json
import shutil
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import trainers
from transformers import LlamaConfig, Qwen3Config

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "parity"))
import checkpoints  # noqa: E402
import gguf_file  # noqa: E402
import gguf_metadata  # noqa: E402

NEW_IDS = 16
GGUF_IDS = 20        # past the original length, 16, of the scaled ones
SMALLEST_GAP = 0.02  # between the best and the second logit of every greedy step
QUANTISED_GAP = 0.1  # the same where a reader may quantise activations too
rows = []            # of README.md


def dump(path, value):
    path.write_text(json.dumps(value) + "\n")


def record(model, directory, stem="", count=24, rope_length=None, smallest_gap=SMALLEST_GAP):
    """Writes ids.json, logits.npy and greedy.json for `model`.

    The prompt is the first random one whose greedy continuation has no near tie and no early end.
    """
    for seed in range(400):
        ids = checkpoints.random_ids(model.config.vocab_size, count, seed)
        new, gap = checkpoints.greedy(model, ids, NEW_IDS, rope_length)
        if len(new) == NEW_IDS and gap > smallest_gap and len(set(new)) > 4:
            break
    else:
        raise SystemExit(f"{directory.name}: no prompt without a near tie")
    dump(directory / f"{stem}ids.json", ids)
    np.save(directory / f"{stem}logits.npy", checkpoints.logits(model, ids, rope_length))
    dump(directory / f"{stem}greedy.json", new)


def published(config_json):
    """The same config.json in the spelling of the files on the Hub from before transformers 5."""
    new_keys = ("rope_parameters", "dtype", "layer_types")
    old = {key: value for key, value in config_json.items() if key not in new_keys}
    rope = dict(config_json["rope_parameters"])
    old["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    # The first scaled checkpoints said "type"; later ones say "rope_type".
    key = "type" if kind in ("linear", "dynamic", "longrope") else "rope_type"
    old["rope_scaling"] = None if kind == "default" else {key: kind, **rope}
    if old["head_dim"] * old["num_attention_heads"] == old["hidden_size"]:
        del old["head_dim"]  # most Llama files leave it to the reader
    old["torch_dtype"] = config_json["dtype"]
    old["transformers_version"] = "4.51.0"
    return dict(sorted(old.items()))


def save(name, config, about, *, seed=0, dtype=torch.float32, shard="1GB", count=24,
         fixed_rope=None, spelling="5"):
    """Writes one Hugging Face directory with its expected results and its row of README.md."""
    directory = HERE / name
    directory.mkdir()
    model = checkpoints.random_model(config, seed)
    copy.deepcopy(model).to(dtype).save_pretrained(directory, max_shard_size=shard)
    with torch.no_grad():
        for parameter in model.parameters():  # the module's own .to would round the frequencies too
            parameter.copy_(parameter.to(dtype))

    for file in directory.iterdir():
        file.chmod(0o644)  # safetensors makes private files
    written = json.loads((directory / "config.json").read_text())
    (directory / "published.json").write_text(json.dumps(published(written), indent=2) + "\n")
    if spelling == "published":
        (directory / "published.json").rename(directory / "config.json")
    record(model, directory, count=count)
    if fixed_rope:
        record(model, directory, stem="fixed_", count=count, rope_length=fixed_rope)

    check_spellings(directory, model)
    if config.rope_parameters["rope_type"] != "default":
        check_rope_matters(directory, model, seed)
    rows.append((f"`{name}/`", about, checkpoints.directory_bytes(directory)))
    return model


def check_spellings(directory, model):
    """Both spellings of the config must give what the model gives."""
    ids = json.loads((directory / "ids.json").read_text())
    for spelling in directory.glob("[cp]*.json"):
        config = type(model.config).from_dict(json.loads(spelling.read_text()))
        twin = checkpoints.random_model(config)
        twin.load_state_dict(model.state_dict())
        if not np.array_equal(checkpoints.logits(twin, ids), checkpoints.logits(model, ids)):
            raise SystemExit(f"{spelling}: means another model")


def check_rope_matters(directory, model, seed):
    config = type(model.config).from_dict(json.loads((directory / "config.json").read_text()))
    config.rope_parameters = {"rope_type": "default",
                              "rope_theta": config.rope_parameters["rope_theta"]}
    plain = checkpoints.random_model(config, seed)
    plain.load_state_dict(model.state_dict())
    ids = json.loads((directory / "ids.json").read_text())
    moved = np.abs(checkpoints.logits(plain, ids) - checkpoints.logits(model, ids)).max()
    if moved < 0.05:
        raise SystemExit(f"{directory.name}: rope scaling moves the logits by only {moved}")


def save_gguf(name, model, vocabulary, type_name, about):
    """Writes gguf/<name>.gguf and what transformers makes of exactly the numbers in that file."""
    path = HERE / "gguf" / f"{name}.gguf"
    stored = gguf_file.write(path, model, vocabulary, type_name)
    model = checkpoints.random_model(model.config)
    model.load_state_dict({tensor: torch.tensor(weight) for tensor, weight in stored.items()})
    record(model, path.parent, stem=f"{name}.", count=GGUF_IDS,
           smallest_gap=QUANTISED_GAP if type_name == "Q8_0" else SMALLEST_GAP)
    size = sum(f.stat().st_size for f in path.parent.glob(f"{name}.*"))
    rows.append((f"`gguf/{name}.gguf`", about, size))


# ---- tokenizer ------------------------------------------------------------------------------

CORPUS = ["The little fox found a red lamp in the barn. The lamp was warm, and the fox was glad.",
          "Where is the lamp? The lamp is in the barn, near the hay and the old cart.",
          "In 2024 they'd counted 12 lamps; the fox said: \"That's all there are!\""]
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCAB = 288  # 256 bytes, 29 merges, 3 control tokens; a multiple of 32
QWEN2_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
               r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def train_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2_SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=VOCAB - len(CONTROL), show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in CONTROL])
    return tokenizer


def gguf_vocabulary(tokenizer, pre):
    ids = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    types = ([gguf.TokenType.NORMAL] * (VOCAB - len(CONTROL))
             + [gguf.TokenType.CONTROL] * len(CONTROL))
    return gguf_metadata.Vocabulary(pre, [token for token, _ in ids], types,
                                    [" ".join(pair) for pair in merges], bos=VOCAB - 3, eos=VOCAB - 1)


def save_tokenizer(tokenizer, directory):
    tokenizer.save(str(directory / "tokenizer.json"))
    dump(directory / "tokenizer_config.json",
         {"tokenizer_class": "Qwen2Tokenizer", "add_bos_token": False, "bos_token": None,
          "eos_token": CONTROL[2], "pad_token": CONTROL[0], "model_max_length": 128})


# ---- cases ----------------------------------------------------------------------------------

def qwen3(**changes):
    return Qwen3Config(**{**dict(
        vocab_size=64, hidden_size=32, intermediate_size=40, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=128,
        bos_token_id=0, eos_token_id=2, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}), **changes})


def llama(**changes):
    return LlamaConfig(**{**dict(
        vocab_size=64, hidden_size=32, intermediate_size=40, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
        rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}), **changes})


def scaled(kind, theta=10000.0, context=128, **parameters):
    """One layer, eight frequencies: enough for a rope rule to show in every logit."""
    return llama(vocab_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
                 num_key_value_heads=1, head_dim=16, max_position_embeddings=context,
                 tie_word_embeddings=False,
                 rope_parameters={"rope_type": kind, "rope_theta": theta, **parameters})


def make_directories():
    tokenizer = train_tokenizer()
    big = dict(vocab_size=VOCAB, bos_token_id=VOCAB - 3, eos_token_id=VOCAB - 1)
    tied = save("qwen3_tied", qwen3(**big, intermediate_size=32), seed=1,
                about="qwen3, tied, with a tokenizer")
    save_tokenizer(tokenizer, HERE / "qwen3_tied")
    save("qwen3_untied", qwen3(tie_word_embeddings=False, num_hidden_layers=1), seed=2,
         about="qwen3 with its own lm_head")
    save("qwen3_odd", qwen3(vocab_size=384, hidden_size=96, intermediate_size=160, head_dim=24,
                            num_attention_heads=6, num_hidden_layers=1),
         seed=3, dtype=torch.bfloat16, count=13,
         about="qwen3 of an odd shape: hidden 96, 6 heads, 2 kv heads, head_dim 24; bfloat16")
    save("llama_tied", llama(num_hidden_layers=3, intermediate_size=24), seed=4,
         about="llama, tied, head_dim = hidden / heads = 8, 3 layers")
    untied = save("llama_untied", llama(**big, num_attention_heads=2, num_key_value_heads=1,
                                        intermediate_size=64, num_hidden_layers=1,
                                        tie_word_embeddings=False), seed=5,
                  about="llama with its own lm_head")
    save("llama_bias", llama(attention_bias=True, mlp_bias=True, num_hidden_layers=1,
                             tie_word_embeddings=False), seed=6,
         about="llama with attention_bias and mlp_bias, untied")
    save("llama_sharded", llama(head_dim=12, intermediate_size=24), seed=7, shard="20KB",
         about="llama in several files with an index; explicit head_dim 12 (4 x 12 > hidden)")
    save("qwen3_bf16", qwen3(vocab_size=32, num_hidden_layers=1, tie_word_embeddings=False),
         seed=8, dtype=torch.bfloat16, about="qwen3 stored as bfloat16")
    save("qwen3_f16", qwen3(vocab_size=32, num_hidden_layers=1, tie_word_embeddings=False),
         seed=8, dtype=torch.float16, about="qwen3 stored as float16")
    make_rope_directories()
    return tokenizer, tied, untied


def make_rope_directories():
    past = dict(seed=9, count=48)
    save("rope_linear", scaled("linear", factor=4.0), **past,
         about="rope linear, factor 4")
    save("rope_dynamic", scaled("dynamic", context=32, factor=3.0), **past, fixed_rope=64,
         about="rope dynamic, factor 3, original length 32 = max_position_embeddings")
    save("rope_yarn", scaled("yarn", factor=4.0, original_max_position_embeddings=32), **past,
         about="rope yarn, factor 4, original length 32")
    save("rope_yarn_exact", scaled("yarn", factor=8.0, original_max_position_embeddings=16,
                                   truncate=False, attention_factor=0.8, beta_fast=4.0,
                                   beta_slow=0.5), **past,
         about="rope yarn, no truncation, attention_factor 0.8, beta 4 and 0.5, original length 16")
    save("rope_yarn_mscale", scaled("yarn", factor=8.0, original_max_position_embeddings=16,
                                    mscale=1.5, mscale_all_dim=0.6), **past,
         about="rope yarn, mscale 1.5, mscale_all_dim 0.6, original length 16")
    short, long = [1.0 + 0.05 * i for i in range(8)], [1.0 + 1.5 * i for i in range(8)]
    save("rope_longrope", scaled("longrope", factor=4.0, original_max_position_embeddings=32,
                                 short_factor=short, long_factor=long), **past,
         about="rope longrope past the original length 32 (long factors)")
    save("rope_longrope_short", scaled("longrope", context=80, original_max_position_embeddings=80,
                                       attention_factor=1.2, short_factor=[3 * s for s in short],
                                       long_factor=long), **past,
         about="rope longrope within the original length 80 (short factors), attention_factor 1.2")
    llama3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                  original_max_position_embeddings=32)
    save("rope_llama3", scaled("llama3", **llama3), **past,
         about="rope llama3, factor 8, original length 32")
    save("rope_llama3_published", scaled("llama3", **llama3), **past, spelling="published",
         about="the same model; its config.json itself is in the published spelling")
    save("qwen3_yarn", qwen3(num_hidden_layers=1, vocab_size=32, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0,
        "original_max_position_embeddings": 32}), **past,
         about="qwen3 with rope yarn as its model card gives it, factor 4, original length 32")


def make_gguf(tokenizer, tied, untied):
    (HERE / "gguf").mkdir()
    qwen2_pre, llama_pre = (gguf_vocabulary(tokenizer, pre) for pre in ("qwen2", "llama-bpe"))
    for type_name in ("F32", "BF16", "Q8_0"):
        save_gguf(f"qwen3_tied-{type_name}", tied, qwen2_pre, type_name,
                  f"`qwen3_tied` as {type_name}")
    for type_name in ("F32", "Q8_0"):
        save_gguf(f"llama_untied-{type_name}", untied, llama_pre, type_name,
                  f"`llama_untied` as {type_name}; q and k rows in pairwise order")
    untied.config.rope_parameters = {
        "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    save_gguf("llama_untied-llama3-F16", untied, llama_pre, "F16",
              "`llama_untied` as F16 with llama3 scaling in the tensor `rope_freqs.weight`")
    tied.config.rope_parameters = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                                   "original_max_position_embeddings": 16}
    save_gguf("qwen3_tied-yarn-Q8_0", tied, qwen2_pre, "Q8_0",
              "`qwen3_tied` as Q8_0 with yarn in `qwen3.rope.scaling.*`, original length 16")


README = """# Tiny models

Random checkpoints with every parameter random, norms and biases too. Written by `make.py`; do not
edit by hand. The expected results come from transformers in float32 with eager attention.

| file | holds |
|---|---|
| `ids.json` | the prompt |
| `logits.npy` | float32 [ids, vocab], one pass over the prompt |
| `greedy.json` | the {new} ids that `generate(do_sample=False)` appends; gaps above {gap} (Q8_0: {quantised}) |
| `config.json` | as transformers 5 writes it (`rope_parameters`, `dtype`) |
| `published.json` | the same config as older files spell it (`rope_theta`, `rope_scaling`) |

A gap is what lies between the best and the second logit of a step. For `gguf/NAME.gguf` the three
results are `gguf/NAME.ids.json` and so on, of the numbers in the file: dequantised weights,
float32 arithmetic. bfloat16 and float16 checkpoints too are upcast first.

`rope_dynamic` depends on the length of the whole pass. `logits.npy` is one pass over 48 ids;
`greedy.json` is what `generate` does with its cache: the base grows with every step while older
keys keep theirs. `fixed_*` hold one length, 64, for every position, prompt and answer alike.
`rope_longrope` is past its original length from the first pass on, so every engine agrees.

| case | what | bytes |
|---|---|---|
{table}
"""


def write_readme():
    table = "\n".join(f"| {name} | {about} | {size:,} |" for name, about, size in rows)
    (HERE / "README.md").write_text(README.format(gap=SMALLEST_GAP, quantised=QUANTISED_GAP,
                                                  new=NEW_IDS, table=table))


if __name__ == "__main__":
    for old in filter(Path.is_dir, list(HERE.iterdir())):
        shutil.rmtree(old)
    make_gguf(*make_directories())
    write_readme()
    print(f"{checkpoints.directory_bytes(HERE):,} bytes in {HERE}")
