# SPDX-License-Identifier: MIT
"""config_families.py: which attribute of transformers each member of a family's config is, and how to draw such configs.

A family has
  members   {member of cke's config: Entry}; every member has one
  fixed     {key: whether a config is as cke takes for granted}; cke refuses every other value by this key
  others    {key: values that transformers takes and cke refuses}
  required  keys without which cke has no size to go by, although transformers has a default
  draw      random values under transformers' names; fits() says whether what they resolved to is a model
"""

import copy
import math

DEAD = object()  # a member that nothing depends on in this config
NAN = math.nan

# Attributes of transformers' classes that say nothing of the numbers that a model computes in inference.
IGNORED = set(
    """use_cache initializer_range attention_dropout pad_token_id bos_token_id eos_token_id return_dict
    output_hidden_states chunk_size_feed_forward is_encoder_decoder id2label label2id problem_type transformers_version
    architectures output_attentions dtype tokenizer_class sep_token_id pretraining_tp router_aux_loss_coef
    output_router_logits router_jitter_noise base_model_tp_plan num_logits_to_keep use_mamba_kernels residual_in_fp32
    rescale_prenorm_residual hidden_dropout resid_pdrop embd_pdrop time_step_rank time_step_floor time_step_min
    time_step_max mamba_ssm_cache_dtype chunk_size mamba_chunk_size num_mtp_layers num_nextn_predict_layers
    mtp_layers_block_type moe_shared_expert_overlap max_window_layers num_hidden_layers""".split())
ROPE_KEYS = ("rope_parameters", "rope_scaling", "rope_theta", "rope_local_base_freq", "partial_rotary_factor")
BAD_SIZES = (-1, 2.5, "7", NAN, 2**33, True, [], [3], {})
BAD_REALS = ("1", NAN, -1.0, 1e9, True, [], {})
BAD_FLAGS = (1, 0, "true", "yes", [], {})
WORD = "no_such_word"


def families_of_transformers(kind):
    """The names of the attributes of transformers' class for a model_type."""
    import dataclasses

    from transformers import AutoConfig

    return {field.name for field in dataclasses.fields(type(AutoConfig.for_model(kind)))}


class Entry:
    """A member: what transformers resolved, the keys that a file may have it under, and values that are wrong."""

    def __init__(self, value, keys, wrong):
        self.value, self.keys, self.wrong = value, keys, wrong

    def key_in(self, values):
        return next((key for key in self.keys if values.get(key) is not None), self.keys[0])


def attribute(name, usual=None):
    def value(config):
        v = getattr(config, name)
        return usual if v is None else v

    return value


def size(name, *also, usual=None, least=1, value=None):
    return Entry(value or attribute(name, usual), (name, *also), BAD_SIZES + ((0,) if least == 1 else ()))


def amount(name, *also, usual=None, value=None, wrong=BAD_REALS):
    return Entry(value or attribute(name, usual), (name, *also), wrong)


def flag(name, *also, value=None):
    return Entry(value or attribute(name), (name, *also), BAD_FLAGS)


def layers(value, *keys):
    """A set of layers by its list of words, or of numbers."""
    return Entry(value, keys, None)


def constant(value):
    """A member that no key of a config.json sets."""
    return Entry(lambda config: value, (), ())


def head_dim(config):
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def layers_of(word, attr="layer_types"):
    return lambda config: [i for i, w in enumerate(getattr(config, attr)) if w == word]


# Members of a rope that no config.json sets: decoders that see images do, from members of their own.
ONE_AXIS = {"axes": False, "section_t": 0, "section_h": 0, "section_w": 0, "interleaved": False}


def rope(pairs="split", part=None, size_of=head_dim, live=lambda config: True):
    """The rope of all layers, or of those of the type `part`, as transformers computes with it."""

    def value(config):
        if not live(config):
            return DEAD
        p = config.rope_parameters
        p = p[part] if part else p
        rule = p["rope_type"]
        dims, share = size_of(config), p.get("partial_rotary_factor", 1.0)
        scaled = rule in ("llama3", "yarn", "longrope")
        factor = p.get("factor")
        if factor is None:
            factor = 0 if rule in ("yarn", "longrope") else 1  # 0: by how much the context grew
        yarn = rule == "yarn"

        def of(key, usual, counts):
            v = p.get(key)
            return DEAD if not counts else usual if v is None else v

        lists = [p["long_factor"], p["short_factor"]] if rule == "longrope" else DEAD
        # A length that no rule asks for may be left out.
        length = config.max_position_embeddings if "max_position_embeddings" in config.in_file else DEAD
        if part == "sliding_attention" and rule in ("default", "linear", "proportional"):
            length = DEAD  # the rope of full layers has it
        return {
            "dims": 2 * int(share * dims // 2) if rule == "proportional" else int(share * dims),
            "theta": p["rope_theta"], "pairs": pairs, "rule": rule, "factor": 1 if rule == "default" else factor,
            "low": of("low_freq_factor", None, rule == "llama3"), "high": of("high_freq_factor", None, rule == "llama3"),
            "beta_fast": of("beta_fast", 32, yarn), "beta_slow": of("beta_slow", 1, yarn),
            "mscale": of("mscale", 0, yarn), "mscale_all": of("mscale_all_dim", 0, yarn),
            "truncate": of("truncate", True, yarn),
            "attention_factor": of("attention_factor", 0, rule in ("yarn", "longrope")),
            "original": p["original_max_position_embeddings"] if scaled else DEAD,
            "max_position": length, "factors": lists, **ONE_AXIS}

    return Entry(value, (), None)


def no_rope():
    """Nothing turns: only the length that the model was trained for is read."""
    names = ("dims theta pairs rule factor low high beta_fast beta_slow mscale mscale_all truncate attention_factor "
             "original factors")

    def value(config):
        known = "max_position_embeddings" in config.in_file
        return {**ONE_AXIS, **dict.fromkeys(names.split(), DEAD),
                "max_position": config.max_position_embeddings if known else DEAD}

    return Entry(value, (), ())


def odd(r, most=99):
    return 2 * r.randrange(1, most // 2) + 1


def divisor(r, n):
    return r.choice([d for d in range(1, n + 1) if n % d == 0])


def draw_rule(r, rules, dims, length, partial):
    """rope_parameters of one rope that turns `dims` of a head, for a model of `length` positions."""
    rule = r.choice(rules)
    p = {"rope_type": rule, "rope_theta": r.choice((10000.0, 5000.0, 123456.7, 1e6, 500000))}
    if rule in ("linear", "dynamic", "llama3", "yarn"):
        p["factor"] = r.choice((2.0, 3, 4.5, 8.0, 1.0))
    if rule == "llama3":
        p |= {"low_freq_factor": r.choice((1.0, 1.5)), "high_freq_factor": r.choice((4.0, 6))}
    if rule in ("llama3", "yarn"):
        p["original_max_position_embeddings"] = length // 2 or 1
    if rule == "yarn":
        for key, some in (("attention_factor", 0.8), ("beta_fast", 24), ("beta_slow", 2.5), ("mscale", 0.7),
                          ("mscale_all_dim", 0.9), ("truncate", False)):
            if r.random() < 0.4:
                p[key] = None if r.random() < 0.1 and key not in ("truncate", "mscale_all_dim") else some
    if rule == "longrope":
        n = dims // 2
        p |= {key: [round(r.uniform(1, 40), 3) for _ in range(n)] for key in ("short_factor", "long_factor")}
        p["original_max_position_embeddings"] = length // 2 or 1
        if r.random() < 0.4:
            p["factor"] = 4.0
        if r.random() < 0.3:
            p["attention_factor"] = 1.25
    if rule == "proportional" and r.random() < 0.3:
        p["factor"] = 2.0
    if partial is not None:
        p["partial_rotary_factor"] = partial
    return p


PLAIN_RULES = ("default", "default", "linear", "dynamic", "llama3", "yarn", "longrope")


class Family:
    """A family of decoders with attention and gated mlps, unless its arguments say otherwise."""

    def __init__(self, kind, members, draw, fits, fixed=None, others=None, required=(), aliases=None, nullable=(),
                 rules=PLAIN_RULES, old_rope=True, relations=None, share=None, kept=()):
        self.kind, self.members, self.own_draw, self.own_fits = kind, members, draw, fits
        self.fixed, self.others, self.required = fixed or {}, others or {}, set(required)
        self.aliases, self.nullable, self.rules, self.old_rope = aliases or {}, nullable, rules, old_rope
        self.relations, self.share, self.kept = relations or [], share, kept

    def attributes(self):
        """All that a table here accounts for."""
        named = {key for entry in self.members.values() for key in entry.keys} | set(self.fixed) | set(self.others)
        return named | {"rope_parameters", "max_position_embeddings", "original_max_position_embeddings"} | self.unused

    unused = frozenset()

    def plain(self, r):
        """Values of a model with all keys."""
        values = self.own_draw(r)
        if self.share and r.random() < 0.8:  # parts of a head that are even
            if "head_dim" in values:
                values["head_dim"] = 8 * r.randrange(1, 16)
            else:
                values["hidden_size"] = values["num_attention_heads"] * 8 * r.randrange(1, 16)
        if self.rules:
            values.setdefault("max_position_embeddings", 2 * r.randrange(8, 4000))
            values.setdefault("rope_parameters", self.draw_rope(r, values))
        return values

    def draw_rope(self, r, values):
        dims = values.get("head_dim") or values["hidden_size"] // values["num_attention_heads"]
        share = r.choice(self.share) if self.share else None
        return draw_rule(r, self.rules, int(dims * (share or 1)), values["max_position_embeddings"], share)

    def draw(self, r):
        values = self.plain(r)
        for key in list(values):
            if key not in self.kept and r.random() < (0.01 if key in self.required else 0.08):
                del values[key]
        for key in self.nullable:
            if r.random() < 0.08:
                values[key] = None
        return values

    def fits(self, config):
        return getattr(config, "layer_types", ()) is not None and self.own_fits(config)

    def refusals(self, config):
        """The keys of which cke must refuse one: of what differs from what it takes for granted."""
        keys = {key for key, usual in self.fixed.items() if not usual(config)}
        if "local_rope" in self.members and self.members["local_rope"].value(config)["rule"] == "longrope":
            keys.add("rope_type")  # there is place for one rope's lists
        for entry in self.members.values() if self.rules else ():
            turns = entry.value(config)
            if isinstance(turns, dict) and turns["dims"] is not DEAD:
                if turns["dims"] % 2 or turns["dims"] == 0:
                    keys |= {"partial_rotary_factor", "head_dim"}  # transformers turns one more, or none
                if turns["factors"] is not DEAD:  # transformers warns of lists of another length, and does not run
                    for name, list_ in zip(("long_factor", "short_factor"), turns["factors"]):
                        if len(list_) != turns["dims"] // 2:
                            keys |= {f"{place}.{name}" for place in ("rope_parameters", "rope_scaling")}
                if turns["max_position"] is DEAD and (turns["rule"] == "dynamic" or turns["original"] is not DEAD and (
                        turns["factor"] == 0 or "original_max_position_embeddings" not in config.text)):
                    keys.add("max_position_embeddings")
        return keys

    def make_special(self, r, values):
        if not self.others:
            return None
        key = r.choice(list(self.others))
        values[key] = copy.deepcopy(r.choice(self.others[key]))
        return None if key in self.fixed else key  # refusals() knows

    def absent_of(self, values):
        """The required keys that a file does not have under any name."""
        names = {key: {key, *self.aliases.get(key, ())} for key in self.required}
        return {n for key, all_ in names.items() if not any(values.get(k) is not None for k in all_) for n in all_}

    def spelled(self, r, values):
        """Keys as one of the files that are about might have them."""
        out = copy.deepcopy(values)
        for key, also in self.aliases.items():
            if key in out and r.random() < 0.4:
                out[r.choice(also)] = out.pop(key)
        p = out.get("rope_parameters")
        if p and self.old_rope and "full_attention" not in p and r.random() < 0.5:
            del out["rope_parameters"]
            out["rope_theta"] = p.pop("rope_theta")
            rule = p.pop("rope_type")
            if "partial_rotary_factor" in p and r.random() < 0.7:
                out["partial_rotary_factor"] = p.pop("partial_rotary_factor")
            if "original_max_position_embeddings" in p and r.random() < 0.3:
                out["original_max_position_embeddings"] = p.pop("original_max_position_embeddings")
            p[r.choice(("type", "rope_type"))] = rule
            out["rope_scaling"] = p if rule != "default" or len(p) > 1 or r.random() < 0.2 else None
        elif p and "full_attention" not in p and r.random() < 0.2:
            out["rope_theta"] = p.pop("rope_theta")
        return out

    # A wrong value

    def make_wrong(self, r, values, config):
        """(values with one that is wrong, the keys that may be named, what is wrong)."""
        ways = [self.wrong_member] * 5 + [self.wrong_relation] * 2 + [self.wrong_word]
        if self.required:
            ways.append(self.left_out)
        if self.rules:
            ways += [self.wrong_rope] * 2
        while True:
            changed = copy.deepcopy(values)
            made = r.choice(ways)(r, changed, config)
            if made:
                return changed, *made

    def wrong_member(self, r, values, config):
        name = r.choice(list(self.members))
        entry = self.members[name]
        if not entry.wrong or entry.value(config) is DEAD:
            return None
        key, bad = entry.key_in(values), r.choice(entry.wrong)
        values[key] = bad
        return {key}, f"{key} {bad!r}"

    def left_out(self, r, values, config):
        key = r.choice(sorted(self.required))
        names = {key, *self.aliases.get(key, ())}
        for name in names:
            values.pop(name, None)
        return names, f"{key} left out"

    def wrong_word(self, r, values, config):
        words = [key for key in self.fixed if isinstance(getattr(config, key, None), (str, bool))]
        lists = [key for entry in self.members.values() if entry.wrong is None for key in entry.keys
                 if isinstance(values.get(key), list) and key in ("layer_types", "layers_block_type")]
        if lists and (not words or r.random() < 0.5):
            key = r.choice(lists)
            if r.random() < 0.5:
                values[key][r.randrange(len(values[key]))] = WORD
                return {key}, f"a layer that is {WORD}"
            if key == "layers_block_type" and "num_hidden_layers" not in values:
                return None  # the list says how many there are
            values[key] = values[key] + [values[key][-1]]
            return {key, "num_hidden_layers"}, "a list for one layer more"
        if not words:
            return None
        key = r.choice(words)
        values[key] = WORD
        return {key}, f"{key} {WORD}"

    def wrong_relation(self, r, values, config):
        usual = [non_divisor] if hasattr(config, "num_attention_heads") and "kv_heads" in self.members else []
        if "head_dim" in self.members and self.rules:
            usual.append(odd_head)
        ways = usual + self.relations
        return r.choice(ways)(self, r, values, config) if ways else None

    def wrong_rope(self, r, values, config):
        if r.random() < 0.2:
            bad = r.choice((0, -5, 2.5, "2048", NAN, True, []))
            values["max_position_embeddings"] = bad
            return {"max_position_embeddings"}, f"max_position_embeddings {bad!r}"
        place = next((key for key in ("rope_parameters", "rope_scaling") if isinstance(values.get(key), dict)), None)
        if place is None:
            place = r.choice(("rope_parameters", "rope_scaling") if self.old_rope else ("rope_parameters",))
            bad = r.choice(([], "linear", 4, True))
            values[place] = bad
            return {place}, f"{place} {bad!r}"
        if r.random() < 0.1:
            bad = r.choice(([], "linear", 4, True))
            values[place] = bad
            return {place}, f"{place} {bad!r}"
        p = values[place]
        if isinstance(p.get("full_attention"), dict):
            p = p[r.choice([part for part in ("full_attention", "sliding_attention") if isinstance(p.get(part), dict)])]
        word = "type" if "type" in p and "rope_type" not in p else "rope_type"
        rule = p.get(word, "default")
        ways = [(word, (WORD, 3, True, []))]
        if "rope_theta" in p:
            ways.append(("rope_theta", (0, -1e4, "10000", NAN, True, [])))
        ways += [(key, (0, -2.0, "4", NAN, True)) for key in ("factor", "low_freq_factor", "high_freq_factor",
                                                             "original_max_position_embeddings")
                 if p.get(key) is not None and rule != "default"]
        ways += [(key, (-2.0, "4", NAN, True)) for key in ("attention_factor", "mscale", "beta_fast", "beta_slow")
                 if p.get(key) is not None]
        if "truncate" in p:
            ways.append(("truncate", (0, 1, "false")))
        if self.share and "partial_rotary_factor" in p:
            ways.append(("partial_rotary_factor", (0, -0.5, 1.5, "half", NAN, True)))
        key, bads = r.choice(ways)
        if rule in ("linear", "dynamic", "llama3") and r.random() < 0.15:
            del p["factor"]
            return {f"{place}.factor"}, "a rope without factor"
        if rule == "longrope" and r.random() < 0.4:
            key = r.choice(("long_factor", "short_factor"))
            p[key], what = r.choice(((None, "null"), (4.0, "a number"), ([1.0, "x"], "a word in it"), ([0.0], "0 in it")))
            return {f"{place}.{key}"}, f"{key}: {what}"
        bad = r.choice(bads)
        beside = key == "original_max_position_embeddings" and key in values  # which comes first
        (values if beside else p)[key] = bad
        return {key}, f"{key} {bad!r} of a rope"


def non_divisor(family, r, values, config):
    key = family.members["kv_heads"].key_in(values)
    values[key] = config.num_attention_heads + r.choice((1, 2, 5))
    return {key, "num_attention_heads"}, f"{key} is no divisor"


def odd_head(family, r, values, config):
    key = family.members["head_dim"].key_in(values)
    values[key] = odd(r)
    partial = {"partial_rotary_factor"} if family.share else set()
    return {key} | partial, f"{key} {values[key]}"


def too_many_active(family, r, values, config):
    if family.members["experts"].value(config) is DEAD:
        return None
    keys = {"active": family.members["active"].key_in(values), "experts": family.members["experts"].key_in(values)}
    values[keys["active"]] = family.members["experts"].value(config) + r.choice((1, 3))
    return set(keys.values()), f"{keys['active']} beyond the experts"


def uneven_groups(family, r, values, config):
    if family.members["groups"].value(config) is DEAD:
        return None
    if r.random() < 0.5:
        values["topk_group"] = family.members["groups"].value(config) + 1
        return {"topk_group", "n_group"}, "more groups kept than there are"
    values["n_group"] = family.members["experts"].value(config) + 1
    method = {"topk_method"} if getattr(config, "topk_method", "") == "greedy" else set()  # which has no groups
    return {"n_group", *family.members["experts"].keys} | method, "n_group is no divisor"


def is_(name, *wanted):
    """Whether an attribute of a config is, or is taken for, one of these."""
    return lambda config: getattr(config, name, wanted[0]) in wanted


def usual_members(**more):
    return {
        "vocab": size("vocab_size"), "dim": size("hidden_size"), "hidden": size("intermediate_size"),
        "layers": size("num_hidden_layers"), "heads": size("num_attention_heads"),
        "kv_heads": size("num_key_value_heads", value=lambda c: c.num_key_value_heads or c.num_attention_heads),
        "head_dim": Entry(head_dim, ("head_dim",), BAD_SIZES + (0,)), "eps": amount("rms_norm_eps"),
        "tied": flag("tie_word_embeddings"), "rope": rope()} | more


def without(members, *names):
    return {name: entry for name, entry in members.items() if name not in names}


def usual_shape(r, **more):
    """Odd sizes; heads of an own size as often as hidden_size / heads."""
    heads = r.choice((16, 32, 64)) if r.random() < 0.15 else r.randrange(1, 13)
    own = r.random() < 0.5
    values = {
        "vocab_size": odd(r, 99999), "hidden_size": heads * 2 * r.randrange(1, 40), "intermediate_size": odd(r, 999),
        "num_hidden_layers": r.randrange(1, 10), "num_attention_heads": heads, "num_key_value_heads": divisor(r, heads),
        "rms_norm_eps": r.choice((1e-5, 1e-6, 3e-6, 1e-8)), "tie_word_embeddings": r.random() < 0.5}
    if own:
        values["head_dim"] = 2 * r.randrange(1, 60)
    return values | more


def usual_fits(config):
    kv = config.num_key_value_heads or config.num_attention_heads
    return config.num_attention_heads % kv == 0 and head_dim(config) % 2 == 0 and 2 <= head_dim(config) <= 512


SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
SILU = {"hidden_act": is_("hidden_act", "silu")}
OTHER_ACT = {"hidden_act": ("gelu", "relu")}
PART = {"partial_rotary_factor": (0.5,)}  # of families that turn whole heads
FAMILIES = {}


def family(kind, members=None, draw=usual_shape, fits=usual_fits, fixed=None, others=None, required=SIZES, unused=(),
           **more):
    made = Family(kind, members or usual_members(), draw, fits, {**SILU, **(fixed or {})},
                  {**OTHER_ACT, **(others or {})}, required, **more)
    made.unused = frozenset(unused)
    FAMILIES[kind] = made


def flags(r, *names):
    return {name: r.random() < 0.5 for name in names}


family("llama", usual_members(images=constant(False), attention_bias=flag("attention_bias"), mlp_bias=flag("mlp_bias")),
       lambda r: usual_shape(r, **flags(r, "attention_bias", "mlp_bias")), nullable=("num_key_value_heads", "head_dim"))
NO_WINDOW = {"use_sliding_window": is_("use_sliding_window", False)}
family("qwen2", draw=lambda r: usual_shape(r, sliding_window=odd(r)), fixed=NO_WINDOW,
       others={"use_sliding_window": (True,)}, nullable=("num_key_value_heads", "sliding_window", "layer_types"),
       unused=("sliding_window", "layer_types"))
family("qwen3", usual_members(attention_bias=flag("attention_bias")),
       lambda r: usual_shape(r, **flags(r, "attention_bias"), sliding_window=odd(r)), fixed=NO_WINDOW,
       others={"use_sliding_window": (True,), "mlp_bias": (True,)} | PART, required=SIZES,
       nullable=("num_key_value_heads", "sliding_window", "layer_types"), unused=("sliding_window", "layer_types"))
family("olmo2", usual_members(attention_bias=flag("attention_bias")), lambda r: usual_shape(r, **flags(r, "attention_bias")),
       nullable=("num_key_value_heads",))


def window(config):
    return 2**32 - 1 if config.sliding_window is None else config.sliding_window


WINDOW = size("sliding_window", value=window)
family("mistral", usual_members(images=constant(False), window=WINDOW), lambda r: usual_shape(r, sliding_window=odd(r)),
       nullable=("head_dim", "sliding_window"))


def phi3_spelled(self, r, values):
    """Beside the rope, where alone transformers looks for it."""
    out = Family.spelled(self, r, values)
    for place in ("rope_parameters", "rope_scaling"):
        if "original_max_position_embeddings" in (out.get(place) or {}):
            out["original_max_position_embeddings"] = out[place]["original_max_position_embeddings"]
            if r.random() < 0.7:
                del out[place]["original_max_position_embeddings"]
    if "rope_scaling" in out and out["rope_scaling"] and out["rope_scaling"].get("type") == "longrope" and r.random() < 0.3:
        out["rope_scaling"]["type"] = "su"
    return out


family("phi3", usual_members(window=WINDOW), lambda r: without(usual_shape(r, sliding_window=odd(r)), "head_dim"),
       others={"attention_bias": (True,)}, nullable=("num_key_value_heads", "sliding_window"),
       rules=("default", "longrope"), share=(None, 0.5, 0.75, 1.0))
FAMILIES["phi3"].spelled = phi3_spelled.__get__(FAMILIES["phi3"])

NO_ROPE = layers(lambda c: [i for i, turns in enumerate(c.no_rope_layers) if turns], "no_rope_layers",
                 "no_rope_layer_interval")


def smollm3_draw(r):
    values = usual_shape(r, **flags(r, "attention_bias", "mlp_bias"))
    if r.random() < 0.5:
        values["no_rope_layers"] = [r.randrange(2) for _ in range(values["num_hidden_layers"])]
    else:
        values["no_rope_layer_interval"] = r.randrange(1, 6)
    return values


family("smollm3", usual_members(turned=NO_ROPE, attention_bias=flag("attention_bias"), mlp_bias=flag("mlp_bias")),
       smollm3_draw, fixed=NO_WINDOW, others={"use_sliding_window": (True,)},
       nullable=("num_key_value_heads", "layer_types", "no_rope_layers"), unused=("sliding_window", "layer_types"))
family("glm4", usual_members(attention_bias=flag("attention_bias"), rope=rope("adjacent")),
       lambda r: usual_shape(r, **flags(r, "attention_bias")), share=(None, 0.5, 0.25, 1.0))


# Granite: factors of the stream

def factors(r):
    return {"embedding_multiplier": r.choice((12.0, 1.0, 3)), "attention_multiplier": r.choice((0.015625, 0.3, 1)),
            "residual_multiplier": r.choice((0.22, 1.0)), "logits_scaling": r.choice((8.0, 1.5))}


FACTORS = {name: amount(name) for name in ("embedding_multiplier", "attention_multiplier", "residual_multiplier",
                                           "logits_scaling")}
family("granite", usual_members(**FACTORS, attention_bias=flag("attention_bias"), mlp_bias=flag("mlp_bias")),
       lambda r: usual_shape(r, **factors(r), **flags(r, "attention_bias", "mlp_bias")), nullable=("num_key_value_heads",))


# Experts

def with_experts(r, values, experts="num_experts", most=9):
    values[experts] = r.randrange(1, most)
    values["num_experts_per_tok"] = r.randrange(1, values[experts] + 1)
    return values


def experts_of(attr="num_experts"):
    names = dict.fromkeys((attr, "num_experts", "num_local_experts", "n_routed_experts"))
    return {"experts": size(attr, *names), "active": size("num_experts_per_tok")}


def experts_fit(attr, also=usual_fits):
    return lambda c: also(c) and (c.num_experts_per_tok or 0) <= (getattr(c, attr) or 0)


def in_every_layer(width="intermediate_size", attr="num_experts"):
    return {**without(usual_members(), "hidden"), "expert_hidden": size(width), **experts_of(attr)}


DENSE_SOMEWHERE = {"decoder_sparse_step": is_("decoder_sparse_step", 1), "mlp_only_layers": is_("mlp_only_layers", [], None)}
SOME_DENSE = {"decoder_sparse_step": (2,), "mlp_only_layers": ([0],)}
RENORMALISE = {"renormalise": flag("norm_topk_prob")}
QWEN_MOE = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "moe_intermediate_size",
            "num_experts_per_tok")
family("qwen3_moe", in_every_layer("moe_intermediate_size", "num_local_experts") | RENORMALISE |
       {"attention_bias": flag("attention_bias")},
       lambda r: with_experts(r, usual_shape(r, moe_intermediate_size=odd(r), **flags(r, "norm_topk_prob", "attention_bias")),
                              "num_local_experts"),
       experts_fit("num_local_experts"), fixed=NO_WINDOW | DENSE_SOMEWHERE,
       others=SOME_DENSE | {"use_sliding_window": (True,)} | PART, required=QWEN_MOE + ("num_local_experts",),
       aliases={"num_local_experts": ("num_experts",)}, relations=[too_many_active], nullable=("mlp_only_layers",),
       unused=("intermediate_size", "sliding_window", "num_experts"))
family("qwen2_moe", in_every_layer("moe_intermediate_size") | RENORMALISE |
       {"shared_hidden": size("shared_expert_intermediate_size"), "attention_bias": flag("qkv_bias")},
       lambda r: with_experts(r, usual_shape(r, moe_intermediate_size=odd(r), shared_expert_intermediate_size=odd(r),
                                             **flags(r, "norm_topk_prob", "qkv_bias"))),
       experts_fit("num_experts"), fixed=NO_WINDOW | DENSE_SOMEWHERE,
       others=SOME_DENSE | {"use_sliding_window": (True,)}, relations=[too_many_active],
       required=QWEN_MOE + ("num_experts", "shared_expert_intermediate_size"), nullable=("mlp_only_layers", "layer_types"),
       unused=("intermediate_size", "sliding_window", "layer_types"))
family("olmoe", in_every_layer() | RENORMALISE | {"attention_bias": flag("attention_bias")},
       lambda r: with_experts(r, usual_shape(r, **flags(r, "norm_topk_prob", "attention_bias"))),
       experts_fit("num_experts"), fixed={"clip_qkv": is_("clip_qkv", None)}, others={"clip_qkv": (8.0,)} | PART,
       nullable=("num_key_value_heads", "clip_qkv"), relations=[too_many_active])
family("mixtral", in_every_layer(attr="num_local_experts"),
       lambda r: with_experts(r, usual_shape(r), "num_local_experts"), experts_fit("num_local_experts"),
       fixed={"sliding_window": is_("sliding_window", None)}, others={"sliding_window": (77,)} | PART,
       aliases={"num_local_experts": ("num_experts",)}, relations=[too_many_active],
       nullable=("sliding_window", "head_dim"))
family("granitemoe", in_every_layer(attr="num_local_experts") | FACTORS | {"attention_bias": flag("attention_bias")},
       lambda r: with_experts(r, usual_shape(r, **factors(r), **flags(r, "attention_bias")), "num_local_experts"),
       experts_fit("num_local_experts"), relations=[too_many_active], nullable=("num_key_value_heads",))


def groups(r, experts_key="n_routed_experts"):
    """Experts in groups of two or more, and enough of them for a token."""
    n = r.choice((1, 1, 2, 3, 4))
    kept = r.randrange(1, n + 1)
    experts = n * r.randrange(2, 5)
    return {experts_key: experts, "n_group": n, "topk_group": kept,
            "num_experts_per_tok": r.randrange(1, experts // n * kept + 1)}


def groups_fit(c):
    n, kept = c.n_group or 1, c.topk_group or 1
    experts, active = c.n_routed_experts, c.num_experts_per_tok or 0
    return experts % n == 0 and (n == 1 or experts // n >= 2) and kept <= n and 1 <= active <= experts // n * kept


ROUTED = experts_of("n_routed_experts") | {
    "groups": size("n_group", usual=1), "groups_kept": size("topk_group", usual=1), "shared": size("n_shared_experts"),
    "weights_scale": amount("routed_scaling_factor"), "expert_hidden": size("moe_intermediate_size"),
    "dense_layers": size("first_k_dense_replace", least=0)} | RENORMALISE
GROUPED = [too_many_active, uneven_groups]


def routed(r, layers_):
    return groups(r) | {"moe_intermediate_size": odd(r), "n_shared_experts": r.randrange(1, 4),
                        "routed_scaling_factor": r.choice((1.0, 2.5, 1.7)), "first_k_dense_replace": r.randrange(layers_ + 1)}


def glm4_moe_draw(r):
    values = usual_shape(r, **flags(r, "attention_bias", "use_qk_norm", "norm_topk_prob"))
    return values | routed(r, values["num_hidden_layers"])


family("glm4_moe", usual_members(**ROUTED, attention_bias=flag("attention_bias"), qk_norm=flag("use_qk_norm")), glm4_moe_draw,
       lambda c: usual_fits(c) and groups_fit(c), relations=GROUPED, share=(None, 0.5, 0.25, 1.0),
       aliases={"n_routed_experts": ("num_local_experts",)},
       required=SIZES + ("moe_intermediate_size", "n_routed_experts", "num_experts_per_tok"))


# Latent attention

def deepseek_members():
    return without(usual_members(), "kv_heads", "head_dim") | ROUTED | {
        "q_rank": size("q_lora_rank", usual=0), "kv_rank": size("kv_lora_rank"), "nope": size("qk_nope_head_dim"),
        "head_dim": size("qk_rope_head_dim"), "value": size("v_head_dim"),
        "rope": rope("adjacent", size_of=lambda c: c.qk_rope_head_dim)}


def deepseek_draw(r):
    values = without(usual_shape(r), "head_dim")
    values |= {"q_lora_rank": r.choice((None, odd(r))), "kv_lora_rank": 2 * odd(r), "qk_nope_head_dim": odd(r),
               "qk_rope_head_dim": 2 * r.randrange(1, 40), "v_head_dim": odd(r)}
    return values | routed(r, values["num_hidden_layers"])


def deepseek_v2_draw(r):
    values = deepseek_draw(r)
    values["topk_method"] = "group_limited_greedy"
    if r.random() < 0.3:
        values |= {"topk_method": "greedy"}
        if r.random() < 0.8:
            values |= {"n_group": r.choice((None, 1)), "topk_group": r.choice((None, 1)),
                       "num_experts_per_tok": r.randrange(1, values["n_routed_experts"] + 1)}
    return values


def deepseek_rope(self, r, values):
    return draw_rule(r, self.rules, values["qk_rope_head_dim"], values["max_position_embeddings"], None)


NO_BIAS = {"attention_bias": is_("attention_bias", False)}
EVEN_RANK = {"kv_lora_rank": lambda c: c.kv_lora_rank % 2 == 0}
family("deepseek_v2", deepseek_members(), deepseek_v2_draw,
       lambda c: groups_fit(c) and (c.topk_method == "greedy" or c.n_group is not None and c.topk_group is not None),
       fixed=NO_BIAS | EVEN_RANK | {"mlp_bias": is_("mlp_bias", False), "norm_topk_prob": is_("norm_topk_prob", False),
                        "topk_method": lambda c: c.topk_method == "group_limited_greedy" or (c.topk_group or 1) >= (c.n_group or 1)},
       others={"attention_bias": (True,), "mlp_bias": (True,), "norm_topk_prob": (True,), "scoring_func": ("sigmoid",),
               "moe_layer_freq": (2,), "kv_lora_rank": (33,)}, relations=GROUPED, required=("num_experts_per_tok",),
       aliases={"n_routed_experts": ("num_experts",)},
       unused=("head_dim", "num_key_value_heads", "v_head_dim"))
family("deepseek_v3", deepseek_members(), deepseek_draw, groups_fit,
       fixed=NO_BIAS | EVEN_RANK | {"rope_interleave": is_("rope_interleave", True)},
       others={"attention_bias": (True,), "rope_interleave": (False,), "scoring_func": ("softmax",),
               "topk_method": ("greedy",), "moe_layer_freq": (2,), "kv_lora_rank": (33,)},
       relations=GROUPED, required=(), aliases={"n_routed_experts": ("num_local_experts",)},
       unused=("num_key_value_heads",))
for name in ("deepseek_v2", "deepseek_v3"):
    FAMILIES[name].draw_rope = deepseek_rope.__get__(FAMILIES[name])


# Layers that slide

def words(r, n, a, b):
    return [r.choice((a, b)) for _ in range(n)]


SLIDING = layers(layers_of("sliding_attention"), "layer_types", "sliding_window_pattern")
GELU = {"hidden_activation": is_("hidden_activation", "gelu_pytorch_tanh")}
ONE_WAY = {"use_bidirectional_attention": is_("use_bidirectional_attention", False, None)}


def gemma_draw(r):
    values = usual_shape(r, query_pre_attn_scalar=r.randrange(1, 300), sliding_window=odd(r))
    if r.random() < 0.6:
        values["layer_types"] = words(r, values["num_hidden_layers"], "sliding_attention", "full_attention")
    return values


def gemma2_draw(r):
    return gemma_draw(r) | {"attn_logit_softcapping": r.choice((50.0, 2.5, None)),
                            "final_logit_softcapping": r.choice((30.0, 3.5, None))}


def gemma_members(**more):
    return usual_members(window=WINDOW, sliding=SLIDING, query_scalar=amount("query_pre_attn_scalar", wrong=BAD_REALS + (0,)),
                         **more)


family("gemma2", gemma_members(score_cap=amount("attn_logit_softcapping", usual=0),
                               logit_cap=amount("final_logit_softcapping", usual=0)),
       gemma2_draw, fixed=GELU | NO_BIAS | ONE_WAY,
       others={"hidden_activation": ("gelu",), "attention_bias": (True,), "use_bidirectional_attention": (True,)},
       nullable=("sliding_window", "layer_types"))
del FAMILIES["gemma2"].others["hidden_act"]


def nested_rope(self, r, values):
    """One rope for full layers, and one for those that slide."""
    length, dims = values["max_position_embeddings"], values.get("head_dim") or 256
    return {"full_attention": draw_rule(r, self.rules, dims, length, None),
            "sliding_attention": draw_rule(r, ("default",) * 6 + self.rules, dims, length, None)}


def nested_spelled(self, r, values):
    out = Family.spelled(self, r, values)
    p = out.get("rope_parameters")
    if not p or r.random() < 0.5:
        return out
    if p["sliding_attention"]["rope_type"] == "default":  # older files say no more of it than its base
        del out["rope_parameters"]
        full = p["full_attention"]
        out["rope_theta"], out["rope_local_base_freq"] = full.pop("rope_theta"), p["sliding_attention"]["rope_theta"]
        out["rope_scaling"] = full if full["rope_type"] != "default" else None
        if out.get("layer_types") and r.random() < 0.5:
            n, every = values.get("num_hidden_layers", 26), r.randrange(2, 5)
            del out["layer_types"]
            out["sliding_window_pattern"] = every
    return out


family("gemma3_text", gemma_members(images=constant(False), rope=rope(part="full_attention"), local_rope=rope(part="sliding_attention")),
       gemma_draw, fixed=GELU | NO_BIAS | ONE_WAY | {
           "attn_logit_softcapping": is_("attn_logit_softcapping", None),
           "final_logit_softcapping": is_("final_logit_softcapping", None)},
       others={"hidden_activation": ("gelu",), "attention_bias": (True,), "use_bidirectional_attention": (True,),
               "attn_logit_softcapping": (50.0,), "final_logit_softcapping": (30.0,)}, required=(), nullable=("sliding_window", "layer_types"))
del FAMILIES["gemma3_text"].others["hidden_act"]


def full_layer(config, name):
    """A number of the layers that see everything."""
    last = config.per_layer_config[config.num_hidden_layers - 1]
    return getattr(last, name)


def sliding_layer(config, name):
    return config.to_dict()[name]


def gemma4_experts(config, name):
    live = config.enable_moe_block and config.num_experts and config.top_k_experts
    return getattr(config, name) if live else (0 if name != "moe_intermediate_size" else DEAD)


def live_expert(name):
    return lambda config: gemma4_experts(config, name)


def gemma4_draw(r):
    values = usual_shape(r, sliding_window=odd(r), final_logit_softcapping=r.choice((30.0, 3.5, None)))
    n = values["num_hidden_layers"]
    values["head_dim"] = 2 * r.randrange(1, 60)
    if r.random() < 0.7:
        values["global_head_dim"] = 2 * r.randrange(4, 60)
    if r.random() < 0.5:
        values |= {"attention_k_eq_v": True, "num_global_key_value_heads": divisor(r, values["num_attention_heads"])}
    elif r.random() < 0.3:
        values["num_global_key_value_heads"] = divisor(r, values["num_attention_heads"])
    if r.random() < 0.7:
        values["layer_types"] = words(r, n, "sliding_attention", "full_attention")
    part = r.choice((0, odd(r)))
    values |= {"hidden_size_per_layer_input": part, "vocab_size_per_layer_input": values["vocab_size"],
               "use_double_wide_mlp": r.random() < 0.5}
    if r.random() < 0.4:
        values |= {"enable_moe_block": True, "moe_intermediate_size": odd(r)}
        with_experts(r, values)
        values["top_k_experts"] = values.pop("num_experts_per_tok")
    else:
        values["num_kv_shared_layers"] = r.randrange(n)
    return values


def gemma4_fits(c):
    try:
        kinds = c.layer_types
        own = kinds[:len(kinds) - c.num_kv_shared_layers]
        kv = full_layer(c, "num_key_value_heads")
        return (c.num_attention_heads % c.num_key_value_heads_of == 0 and c.num_attention_heads % kv == 0
                and set(own) == set(kinds) and (not c.enable_moe_block or (c.num_experts and c.top_k_experts and
                c.moe_intermediate_size and c.top_k_experts <= c.num_experts)))
    except (TypeError, IndexError):
        return False


def gemma4_rope(self, r, values):
    length, dims = values["max_position_embeddings"], values.get("global_head_dim", 512)
    full = draw_rule(r, ("proportional", "proportional", "default", "linear"), dims, length, r.choice((0.25, 0.5, 1.0)))
    return {"full_attention": full,
            "sliding_attention": draw_rule(r, ("default", "default", "linear"), values["head_dim"], length, None)}


GEMMA4 = usual_members(
    window=WINDOW, sliding=layers(layers_of("sliding_attention"), "layer_types"),
    kv_heads=size("num_key_value_heads", value=lambda c: c.num_key_value_heads_of),
    head_dim=size("head_dim", value=lambda c: c.head_dim_of),
    global_head_dim=size("global_head_dim", value=lambda c: full_layer(c, "head_dim")),
    global_kv_heads=Entry(lambda c: full_layer(c, "num_key_value_heads"), (), ()),
    shared_layers=size("num_kv_shared_layers", least=0), double_wide=flag("use_double_wide_mlp"),
    k_is_v=flag("attention_k_eq_v"), part=size("hidden_size_per_layer_input", least=0),
    experts=size("num_experts", least=0, value=live_expert("num_experts")),
    active=size("top_k_experts", least=0, value=live_expert("top_k_experts")),
    expert_hidden=size("moe_intermediate_size", value=live_expert("moe_intermediate_size")),
    logit_cap=amount("final_logit_softcapping", usual=0),
    images=constant(False), sees_image=constant(False), pad=constant(0),
    rope=rope(part="full_attention", size_of=lambda c: full_layer(c, "head_dim")),
    local_rope=rope(part="sliding_attention", size_of=lambda c: c.head_dim_of))
family("gemma4_text", GEMMA4, gemma4_draw, gemma4_fits,
       fixed=GELU | NO_BIAS | {
           "use_bidirectional_attention": is_("use_bidirectional_attention", "vision", None),
           "vocab_size_per_layer_input": lambda c: not c.hidden_size_per_layer_input or
           c.vocab_size_per_layer_input == c.vocab_size,
           "enable_moe_block": lambda c: bool(c.enable_moe_block) == bool(c.num_experts and c.top_k_experts),
           "top_k_experts": lambda c: (c.top_k_experts or 0) <= (c.num_experts or 0),
           "num_kv_shared_layers": lambda c: not (c.enable_moe_block and c.num_kv_shared_layers),
           "partial_rotary_factor": lambda c: c.rope_parameters["full_attention"]["rope_type"] != "default" or
           c.rope_parameters["full_attention"].get("partial_rotary_factor", 1) == 1},
       others={"hidden_activation": ("gelu",), "attention_bias": (True,), "use_bidirectional_attention": ("all",),
               "vocab_size_per_layer_input": (7,)}, required=(), nullable=("layer_types",))
del FAMILIES["gemma4_text"].others["hidden_act"]
for name, draw in (("gemma3_text", nested_rope), ("gemma4_text", gemma4_rope)):
    FAMILIES[name].draw_rope = draw.__get__(FAMILIES[name])
FAMILIES["gemma3_text"].spelled = nested_spelled.__get__(FAMILIES["gemma3_text"])


# Mixers: state spaces, convolutions, gated delta nets

def limit(i):
    return lambda c: c.time_step_limit[i]


STEPS = {"least_step": Entry(limit(0), (), ()), "most_step": Entry(limit(1), (), ())}


def steps(r):
    return r.choice(({}, {"time_step_limit": [0.001, 0.1]}, {"time_step_limit": [0.0, math.inf]},
                     {"time_step_limit": [0, 2.5]}))


def steps_out_of_order(family, r, values, config):
    bad = r.choice(([0.5, 0.25], ["0", 1.0], [0.0, "inf"], [-1.0, 1.0], [NAN, 1.0], [0.0, NAN]))
    values["time_step_limit"] = bad
    return {"time_step_limit"}, f"time_step_limit {bad}"


def ssm_groups_too_many(family, r, values, config):
    heads, groups_ = family.members["heads" if family.kind == "mamba2" else "ssm_heads"], family.members["ssm_groups"]
    key = groups_.key_in(values)
    values[key] = heads.value(config) + 1
    return {key, heads.key_in(values)}, f"{key} is no divisor"


def odd_mamba(config):
    return config.head_dim % 2 == 0


def mamba2_draw(r):
    head, expand, heads = 2 * r.randrange(1, 20), r.choice((1, 2, 3)), r.randrange(1, 9)
    if r.random() < 0.1:
        head += 1
    heads *= expand
    return {"vocab_size": odd(r, 9999), "hidden_size": heads * head // expand, "num_hidden_layers": r.randrange(1, 9),
            "num_heads": heads, "head_dim": head, "expand": expand, "state_size": odd(r), "n_groups": divisor(r, heads),
            "conv_kernel": r.randrange(1, 6), "layer_norm_epsilon": r.choice((1e-5, 1e-6)),
            **flags(r, "use_bias", "use_conv_bias", "tie_word_embeddings"), **steps(r)}


family("mamba2", {
    "vocab": size("vocab_size"), "dim": size("hidden_size"), "layers": size("num_hidden_layers"),
    "heads": size("num_heads"), "head_dim": size("head_dim"), "state": size("state_size"), "ssm_groups": size("n_groups"),
    "taps": size("conv_kernel"), "eps": amount("layer_norm_epsilon"), **STEPS, "conv_bias": flag("use_conv_bias"),
    "bias": flag("use_bias"), "tied": flag("tie_word_embeddings"), "rope": no_rope()}, mamba2_draw,
    lambda c: c.num_heads % c.n_groups == 0, fixed={"head_dim": odd_mamba}, rules=(), required=(),
    relations=[steps_out_of_order, ssm_groups_too_many], unused=("expand", "time_step_limit"))


def hybrid_draw(r):
    values = usual_shape(r, **factors(r), **flags(r, "attention_bias", "mamba_conv_bias", "mamba_proj_bias"), **steps(r))
    del values["rms_norm_eps"]
    expand, n = r.choice((1, 2, 2, 2, 3)), values["num_hidden_layers"]
    heads = divisor(r, values["hidden_size"] * expand)
    values |= {"rms_norm_eps": r.choice((1e-5, 1e-6)), "mamba_expand": expand, "mamba_n_heads": heads,
               "mamba_d_head": r.choice((values["hidden_size"] * expand // heads, "auto")), "mamba_d_state": odd(r),
               "mamba_n_groups": divisor(r, heads), "mamba_d_conv": r.randrange(1, 6),
               "shared_intermediate_size": odd(r), "position_embedding_type": r.choice(("rope", None, "nope"))}
    with_experts(r, values, "num_local_experts")
    if r.random() < 0.4:
        values["num_local_experts"] = 0
    if r.random() < 0.8:
        values["layer_types"] = words(r, n, *r.choice((("linear_attention", "full_attention"), ("mamba", "attention"))))
    return values


def hybrid_expert(name):
    return lambda c: getattr(c, name) if c.num_local_experts else 0


def head_dim_by_two(c):
    return c.mamba_expand == 2 or '"mamba_d_head": ' in c.text and '"mamba_d_head": "auto"' not in c.text


def unused_rope_has_length(c):
    """A rope that no layer uses is checked all the same."""
    if c.position_embedding_type == "rope" or "max_position_embeddings" in c.in_file:
        return True
    p = c.rope_parameters
    whole = p.get("factor") is not None and "original_max_position_embeddings" in c.text
    return p["rope_type"] in ("default", "linear") or (whole and p["rope_type"] != "dynamic")


HYBRID = without(usual_members(), "hidden") | FACTORS | STEPS | {
    "hidden": size("shared_intermediate_size"), "experts": size("num_local_experts", least=0),
    "active": size("num_experts_per_tok", least=0, value=hybrid_expert("num_experts_per_tok")),
    "expert_hidden": size("intermediate_size", least=0, value=hybrid_expert("intermediate_size")),
    "ssm_heads": size("mamba_n_heads"), "ssm_head_dim": size("mamba_d_head"), "state": size("mamba_d_state"),
    "ssm_groups": size("mamba_n_groups"), "taps": size("mamba_d_conv"), "conv_bias": flag("mamba_conv_bias"),
    "bias": flag("mamba_proj_bias"), "attention_bias": flag("attention_bias"),
    "attends": layers(layers_of("full_attention"), "layer_types", "layers_block_type"),
    "turned": layers(lambda c: list(range(c.num_hidden_layers)) if c.position_embedding_type == "rope" else []),
    "rope": rope(live=lambda c: c.position_embedding_type == "rope")}
family("granitemoehybrid", HYBRID, hybrid_draw,
       lambda c: usual_fits(c) and c.mamba_n_heads % c.mamba_n_groups == 0 and c.mamba_n_groups <= 4096 and c.mamba_d_head <= 4096 and (
           not c.num_local_experts or 1 <= c.num_experts_per_tok <= c.num_local_experts),
       fixed={"mamba_expand": head_dim_by_two, "max_position_embeddings": unused_rope_has_length},
       required=(), nullable=("num_key_value_heads", "layer_types"), aliases={"layer_types": ("layers_block_type",)},
       relations=[steps_out_of_order, ssm_groups_too_many],
       unused=("time_step_limit", "position_embedding_type", "mamba_expand"))

LFM_EPS = {"eps": amount("norm_eps"), "taps": size("conv_L_cache"), "conv_bias": flag("conv_bias"),
           "attends": layers(layers_of("full_attention"), "layer_types", "full_attn_idxs"),
           "tied": flag("tie_word_embeddings", "tie_embedding")}


def lfm2_hidden(c):
    n = c.intermediate_size
    if c.block_auto_adjust_ff_dim:
        n = int(2 * n / 3)
        if c.block_ffn_dim_multiplier is not None:
            n = int(c.block_ffn_dim_multiplier * n)
            n = c.block_multiple_of * ((n + c.block_multiple_of - 1) // c.block_multiple_of)
    return n


def lfm2_draw(r):
    values = without(usual_shape(r, norm_eps=1e-5, conv_L_cache=r.randrange(1, 6)), "rms_norm_eps")
    n = values["num_hidden_layers"]
    values |= flags(r, "conv_bias", "block_auto_adjust_ff_dim") | {
        "block_multiple_of": r.choice((8, 64, 5)), "block_ffn_dim_multiplier": r.choice((1.0, 0.7, 1.3)),
        "intermediate_size": r.randrange(9, 999)}
    if r.random() < 0.5:
        values["layer_types"] = words(r, n, "conv", "full_attention")
    elif r.random() < 0.6:
        values["full_attn_idxs"] = sorted(r.sample(range(n), r.randrange(n + 1)))
    return values


family("lfm2", usual_members() | LFM_EPS | {
    "images": constant(False),
    "hidden": size("intermediate_size", value=lfm2_hidden), "adjust": constant(False), "by": constant(1),
    "multiple": constant(256)}, lfm2_draw, required=(), aliases={
        "intermediate_size": ("block_ff_dim",), "tie_word_embeddings": ("tie_embedding",)},
       unused=("block_auto_adjust_ff_dim", "block_ffn_dim_multiplier", "block_multiple_of"))
FAMILIES["lfm2"].members["hidden"].keys = ("block_ff_dim", "intermediate_size")


def lfm2_moe_draw(r):
    values = without(usual_shape(r, norm_eps=1e-5, conv_L_cache=r.randrange(1, 6)), "rms_norm_eps")
    n = values["num_hidden_layers"]
    values |= flags(r, "conv_bias", "use_expert_bias", "norm_topk_prob") | {
        "moe_intermediate_size": odd(r), "num_dense_layers": r.randrange(n + 1),
        "routed_scaling_factor": r.choice((1.0, 2.5)), "layer_types": words(r, n, "conv", "full_attention")}
    return with_experts(r, values)


family("lfm2_moe", usual_members() | LFM_EPS | RENORMALISE | experts_of() | {
    "expert_hidden": size("moe_intermediate_size"), "dense_layers": size("num_dense_layers", least=0),
    "attends": layers(layers_of("full_attention"), "layer_types"), "expert_bias": flag("use_expert_bias"),
    "weights_scale": amount("routed_scaling_factor")}, lfm2_moe_draw,
    lambda c: usual_fits(c) and c.layer_types is not None and c.num_experts_per_tok <= c.num_experts, required=(),
    aliases={"tie_word_embeddings": ("tie_embedding",)}, relations=[too_many_active])


def delta_draw(r, experts=False):
    values = usual_shape(r)
    values["head_dim"] = 2 * r.randrange(4, 60)
    keys = r.randrange(1, 6)
    values |= {"linear_num_key_heads": keys, "linear_num_value_heads": keys * r.randrange(1, 4), "linear_key_head_dim": odd(r),
               "linear_value_head_dim": odd(r), "linear_conv_kernel_dim": r.randrange(1, 6)}
    if r.random() < 0.5:
        values["layer_types"] = words(r, values["num_hidden_layers"], "linear_attention", "full_attention")
    elif r.random() < 0.6:
        values["full_attention_interval"] = r.randrange(1, 6)
    if experts:
        values |= {"moe_intermediate_size": odd(r), "shared_expert_intermediate_size": odd(r)}
        with_experts(r, values)
    return values


def delta_fits(c):
    return usual_fits(c) and c.linear_num_value_heads % c.linear_num_key_heads == 0


def value_heads_uneven(family, r, values, config):
    values["linear_num_value_heads"] = config.linear_num_key_heads * 2 + 1
    if config.linear_num_key_heads == 1:
        return None
    return {"linear_num_value_heads", "linear_num_key_heads"}, "linear_num_value_heads is no multiple"


# Members that only a model with a tower has at other values; configs.py draws models of text alone.
SECTIONS = {"images": constant(False), "section_t": constant(11), "section_h": constant(11), "section_w": constant(10)}
DELTA = SECTIONS | usual_members(
    key_heads=size("linear_num_key_heads"), value_heads=size("linear_num_value_heads"),
    key_dim=size("linear_key_head_dim"), value_dim=size("linear_value_head_dim"), taps=size("linear_conv_kernel_dim"),
    tiled=constant(False), linear=layers(layers_of("linear_attention"), "layer_types", "full_attention_interval"))
DELTA_MOE = without(DELTA, "hidden") | experts_of() | {
    "expert_hidden": size("moe_intermediate_size"), "shared_hidden": size("shared_expert_intermediate_size")}
QUARTER = (None, 0.25, 0.5, 1.0)
family("qwen3_5_text", DELTA, delta_draw, delta_fits, fixed=NO_BIAS, others={"attention_bias": (True,)}, required=(),
       share=QUARTER, relations=[value_heads_uneven], nullable=("layer_types",))
family("qwen3_5_moe_text", DELTA_MOE | {"renormalise": constant(True)}, lambda r: delta_draw(r, True),
       lambda c: delta_fits(c) and c.num_experts_per_tok <= c.num_experts, fixed=NO_BIAS, others={"attention_bias": (True,)},
       required=(), share=QUARTER, nullable=("layer_types",), relations=[value_heads_uneven, too_many_active])
family("qwen3_next", DELTA_MOE | RENORMALISE, lambda r: delta_draw(r, True) | flags(r, "norm_topk_prob"),
       lambda c: delta_fits(c) and c.num_experts_per_tok <= c.num_experts, fixed=NO_BIAS | DENSE_SOMEWHERE,
       others=SOME_DENSE | {"attention_bias": (True,)}, required=(), share=QUARTER, nullable=("layer_types",),
       relations=[value_heads_uneven, too_many_active], unused=("intermediate_size",))


# Decoders that see images. What a checkpoint's config.json has outside of the text's config, cke's readers put into it.

def with_sections(r, values, *names):
    """How many frequencies of the rope each of three axes turns, and how many layers add the tower's features."""
    frequencies = (values.get("head_dim") or values["hidden_size"] // values["num_attention_heads"]) // 2
    time = r.randrange(frequencies + 1)
    rows = r.randrange(frequencies - time + 1)
    values |= {"mrope_section": [time, rows, frequencies - time - rows], **flags(r, *names)}
    if names:
        values["deepstack_layers"] = r.randrange(values["num_hidden_layers"] + 1)
    return values


def from_outside(name):
    return lambda config: getattr(config, name, None)  # no attribute of the text's class


def section(axis):
    return Entry(lambda c: (from_outside("mrope_section")(c) or [0, 0, 0])[axis], ("mrope_section",), ())


AXES = {"section_t": section(0), "section_h": section(1), "section_w": section(2),
        "tied": flag("tie_word_embeddings", value=from_outside("tie_word_embeddings"))}
DEEPSTACK = {"taps": size("deepstack_layers", least=0, value=from_outside("deepstack_layers")),
             "interleaved": flag("mrope_interleaved", value=from_outside("mrope_interleaved")),
             "attention_bias": flag("attention_bias")}
SEEING = {"required": (), "kept": ("mrope_section", "deepstack_layers", "mrope_interleaved", "tie_word_embeddings",
                                    "head_dim"),
          "rules": ("default", "default", "linear"), "nullable": ("num_key_value_heads",)}
family("qwen2_5_vl_text", usual_members() | AXES, lambda r: with_sections(r, without(usual_shape(r), "head_dim")),
       fixed=NO_WINDOW, others={"use_sliding_window": (True,)},
       unused=("sliding_window", "layer_types", "max_window_layers"),
       **(SEEING | {"kept": SEEING["kept"] + ("hidden_size", "num_attention_heads")}))
family("qwen3_vl_text", usual_members() | AXES | DEEPSTACK,
       lambda r: with_sections(r, usual_shape(r, head_dim=2 * odd(r)), "mrope_interleaved", "attention_bias"), **SEEING)
family("qwen3_vl_moe_text", usual_members() | AXES | DEEPSTACK | experts_of() |
       {"expert_hidden": size("moe_intermediate_size"),
        "dense": Entry(lambda c: sorted(i for i in c.mlp_only_layers if i < c.num_hidden_layers), ("mlp_only_layers",), ())},
       lambda r: with_experts(r, with_sections(r, usual_shape(r, moe_intermediate_size=odd(r), head_dim=2 * odd(r)),
                                               "mrope_interleaved", "attention_bias")),
       experts_fit("num_experts"), fixed={"decoder_sparse_step": is_("decoder_sparse_step", 1)},
       others={"decoder_sparse_step": (2,)}, relations=[too_many_active], **SEEING)


# Layers by letters

def nemotron(name, words_, usual=None):
    """A number that counts only where a layer is of one of these words."""

    def value(c):
        v = getattr(c, name)
        return (usual if v is None else v) if set(words_) & set(c.layers_block_type) else DEAD

    return value


def only(words_, make, name, **more):
    return make(name, value=nemotron(name, words_, more.pop("usual", None)), **more)


def in_words(*words_):
    return lambda c: [i for i, w in enumerate(c.layers_block_type) if w in words_]


MOE = ("moe",)
LETTERS = {"linear_attention": "M", "full_attention": "*", "mlp": "-", "moe": "E"}
BEFORE = {"linear_attention": "mamba", "full_attention": "attention"}
NEMOTRON = {
    "vocab": size("vocab_size"), "dim": size("hidden_size"), "hidden": only(("mlp",), size, "intermediate_size"),
    "layers": Entry(lambda c: len(c.layers_block_type), (), ()), "heads": size("num_attention_heads"),
    "kv_heads": size("num_key_value_heads"), "head_dim": size("head_dim", "attention_head_dim"),
    "experts": only(MOE, size, "n_routed_experts"), "active": only(MOE, size, "num_experts_per_tok"),
    "expert_hidden": only(MOE, size, "moe_intermediate_size"),
    "shared_hidden": only(MOE, size, "moe_shared_expert_intermediate_size"),
    "latent": only(MOE, size, "moe_latent_size", usual=0),
    "groups": only(MOE, size, "n_group"), "groups_kept": only(MOE, size, "topk_group"),
    "weights_scale": only(MOE, amount, "routed_scaling_factor"), "renormalise": only(MOE, flag, "norm_topk_prob"),
    "ssm_heads": size("mamba_num_heads"), "ssm_head_dim": size("mamba_head_dim"), "state": size("ssm_state_size"),
    "ssm_groups": size("n_groups", "mamba_n_groups"), "taps": size("conv_kernel", "mamba_d_conv"),
    "attends": layers(in_words("full_attention"), "layers_block_type"), "feeds": Entry(in_words("mlp", "moe"), (), ()),
    "sparse": Entry(in_words("moe"), (), ()), "eps": amount("layer_norm_epsilon"), **STEPS,
    "conv_bias": flag("use_conv_bias", "mamba_conv_bias"), "bias": flag("use_bias"), "mlp_bias": flag("mlp_bias"),
    "tied": flag("tie_word_embeddings"), "rope": no_rope()}


def nemotron_draw(r):
    values = without(usual_shape(r), "num_hidden_layers", "rms_norm_eps")
    values |= {"head_dim": 2 * r.randrange(1, 60), "tie_word_embeddings": False}
    heads = r.randrange(1, 9)
    some = r.choice((("linear_attention", "full_attention", "mlp"), ("linear_attention", "full_attention", "moe"),
                     ("linear_attention", "mlp", "moe", "full_attention")))
    values |= groups(r) | flags(r, "use_conv_bias", "use_bias", "mlp_bias", "norm_topk_prob") | steps(r) | {
        "layers_block_type": [r.choice(some) for _ in range(r.randrange(1, 10))], "layer_norm_epsilon": 1e-5,
        "moe_intermediate_size": odd(r), "moe_shared_expert_intermediate_size": odd(r),
        "moe_latent_size": r.choice((None, odd(r))), "routed_scaling_factor": r.choice((1.0, 2.5)),
        "mamba_num_heads": heads, "mamba_head_dim": odd(r), "ssm_state_size": odd(r), "n_groups": divisor(r, heads),
        "conv_kernel": r.randrange(1, 6), "max_position_embeddings": r.randrange(9, 9999)}
    return values


def nemotron_spelled(self, r, values):
    out = Family.spelled(self, r, values)
    kinds = out.get("layers_block_type")
    if kinds and r.random() < 0.4:
        del out["layers_block_type"]
        out["hybrid_override_pattern"] = "".join(LETTERS[w] for w in kinds)
        if r.random() < 0.5:
            out["num_hidden_layers"] = len(kinds)
    elif kinds and r.random() < 0.3:
        out["layers_block_type"] = [BEFORE.get(w, w) for w in kinds]
    return out


family("nemotron_h", NEMOTRON, nemotron_draw,
       lambda c: c.num_attention_heads % c.num_key_value_heads == 0 and c.mamba_num_heads % c.n_groups == 0 and groups_fit(c),
       fixed=NO_BIAS | {"mlp_hidden_act": is_("mlp_hidden_act", "relu2"), "mamba_hidden_act": is_("mamba_hidden_act", "silu"),
                        "mamba_proj_bias": is_("mamba_proj_bias", False), "sliding_window": is_("sliding_window", None),
                        "n_shared_experts": is_("n_shared_experts", 1), "tie_word_embeddings": is_("tie_word_embeddings", False)},
       others={"attention_bias": (True,), "mlp_hidden_act": ("silu",), "mamba_hidden_act": ("gelu",),
               "mamba_proj_bias": (True,), "sliding_window": (99,), "n_shared_experts": (2,),
               "tie_word_embeddings": (True,)},
       rules=(), required=("layers_block_type",), aliases={"layers_block_type": ("hybrid_override_pattern",)},
       relations=[steps_out_of_order, ssm_groups_too_many, too_many_active, uneven_groups],
       unused=("time_step_limit", "expand"))
del FAMILIES["nemotron_h"].others["hidden_act"], FAMILIES["nemotron_h"].fixed["hidden_act"]
FAMILIES["nemotron_h"].spelled = nemotron_spelled.__get__(FAMILIES["nemotron_h"])
