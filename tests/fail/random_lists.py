# SPDX-License-Identifier: MIT
"""random_lists.py INCLUDE COUNT SEED -- COMPILER [FLAG ...]: no type list with one wrong number compiles.

Right lists of real families in odd shapes; one number of one is changed, and what Python's own rules, which share
nothing with the headers, then call wrong must not compile. For every eighth list a change that they still call right,
of a width that nothing else depends on, is drawn too, and must compile.
"""

import copy
import random
import sys
import tempfile
from pathlib import Path

from alphabet import Alphabet
from table import Compiler, all_in, line_of


class Wrong(Exception):
    """What is wrong with a list."""


def need(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


# ---- lists: [name, fields or parts] ------------------------------------------------------------------


def letter(name, **fields):
    return [name, {key.replace("__", "."): value for key, value in fields.items()}]


def norm(dim, offset=0.0):
    return letter("rms_norm", Dim=dim, Eps=1e-5, Offset=offset)


def mlp(dim, hidden):
    return letter("gated_mlp", Dim=dim, Hidden=hidden, A="activation::silu", Bias="false")


def attention(dim, heads, kv_heads, head_dim, dims, **more):
    return letter(
        "attention",
        dim=dim,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        rope__dims=dims,
        rope__theta=1e4,
        **more,
    )


def block(*words):
    return ["block", list(words)]


def residual(*words):
    return ["residual", list(words)]


def model(vocab, dim, body, tied="false", before=(), after=()):
    return [
        "network",
        [
            letter("embedding", Vocab=vocab, Dim=dim),
            *before,
            *body,
            norm(dim),
            letter("head", Dim=dim, Vocab=vocab, Tied=tied),
            *after,
        ],
    ]


def stack(layers, *kinds):
    return ["stack", layers, list(kinds)]


def arrange(order, *kinds):
    return ["arrange", order, list(kinds)]


def llama():
    return model(
        131,
        96,
        [stack(3, block(residual(norm(96), attention(96, 6, 2, 22, 22)), residual(norm(96), mlp(96, 160))))],
        "true",
    )


def gemma2():
    def layer(window):
        return block(
            residual(norm(70, 1.0), attention(70, 6, 3, 18, 18, window=window, scale=0.25, cap=50.0), norm(70, 1.0)),
            residual(norm(70, 1.0), mlp(70, 130), norm(70, 1.0)),
        )

    return model(
        77,
        70,
        [arrange([0, 1, 0, 1, 1], layer(7), layer("everything"))],
        "true",
        [letter("scale", Dim=70, By=8.5)],
        [letter("softcap", Dim=77, Cap=30.0)],
    )


def gemma4():
    def layer(head_dim, kv_heads, window, shared):
        return block(
            residual(
                norm(60),
                attention(
                    60, 4, kv_heads, head_dim, 8, qk_norm__eps=1e-6, v_norm__eps=1e-6, window=window, shared_kv=shared
                ),
            ),
            residual(norm(60), mlp(60, 90)),
            residual(letter("layer_input", Dim=60, Part=14, A="activation::gelu_tanh"), norm(60)),
            letter("learned_scale", Dim=60),
        )

    return model(
        99,
        60,
        [
            arrange(
                [0, 1, 0, 2, 3],
                layer(12, 2, 9, "false"),
                layer(20, 1, "everything", "false"),
                layer(12, 2, 9, "true"),
                layer(20, 1, "everything", "true"),
            )
        ],
        before=[letter("layer_embedding", Vocab=99, Dim=60, Layers=5, Part=14, Eps=1e-6)],
    )


def glm4_moe():
    route = dict(
        route__experts=12,
        route__active=5,
        route__groups=4,
        route__groups_kept=2,
        route__group_by="group_score::best_two",
        route__scale=2.5,
    )
    sparse = letter("moe", dim=66, hidden=34, shared=40, **route)

    def layer(feeds):
        return block(residual(norm(66), attention(66, 4, 4, 14, 6)), residual(norm(66), feeds))

    return model(101, 66, [stack(1, layer(mlp(66, 70))), stack(3, layer(sparse))])


def deepseek():
    latent = letter(
        "latent_attention",
        dim=72,
        heads=5,
        q_rank=22,
        kv_rank=18,
        nope=11,
        value=9,
        rope__dims=6,
        rope__theta=1e4,
        scale=0.2,
        eps=1e-6,
    )
    return model(83, 72, [stack(2, block(residual(norm(72), latent), residual(norm(72), mlp(72, 50))))])


def granite4():
    mixer = letter(
        "mamba_mixer",
        dim=64,
        heads=6,
        head_dim=10,
        state=20,
        groups=3,
        taps=4,
        eps=1e-5,
        least_step=0.001,
        most_step=0.1,
    )

    def layer(mixes):
        return block(
            residual(norm(64), mixes, letter("scale", Dim=64, By=0.25)),
            residual(norm(64), mlp(64, 50), letter("scale", Dim=64, By=0.25)),
        )

    return model(
        67,
        64,
        [arrange([0, 0, 1, 0], layer(mixer), layer(attention(64, 4, 2, 16, 16)))],
        after=[letter("scale", Dim=67, By=0.125)],
    )


def qwen3_next():
    delta = letter("gated_delta_net", dim=96, key_heads=2, value_heads=6, key_dim=20, value_dim=40, taps=4, eps=1e-6)
    sparse = letter("moe", dim=96, hidden=32, route__experts=7, route__active=3, shared=48, shared_gate="true")

    def layer(mixes):
        return block(residual(norm(96, 1.0), mixes), residual(norm(96, 1.0), sparse))

    return model(
        59,
        96,
        [
            stack(
                5, layer(delta), layer(attention(96, 6, 2, 24, 8, qk_norm__eps=1e-6, qk_norm__offset=1.0, gate="true"))
            )
        ],
    )


def lfm2():
    def layer(mixes):
        return block(residual(norm(62), mixes), residual(norm(62), mlp(62, 100)))

    return model(
        90,
        62,
        [
            arrange(
                [0, 0, 1, 0],
                layer(letter("short_conv", Dim=62, Taps=3, Bias="false")),
                layer(attention(62, 2, 1, 30, 30)),
            )
        ],
        "true",
    )


def branches():
    """Experts beside an mlp, as in Gemma 4's larger models, and mlps without gates."""
    beside = [
        "sum",
        [
            ["chain", [norm(58), mlp(58, 44), norm(58)]],
            [
                "chain",
                [norm(58), letter("moe", dim=58, hidden=26, route__experts=6, route__active=2, latent=18), norm(58)],
            ],
        ],
    ]
    plain = letter("plain_mlp", Dim=58, Hidden=61, A="activation::relu2", Bias="true")
    return model(71, 58, [stack(2, block(residual(beside, norm(58)), residual(norm(58), plain)))])


FAMILIES = [llama, gemma2, gemma4, glm4_moe, deepseek, granite4, qwen3_next, lfm2, branches]


# ---- what is right -----------------------------------------------------------------------------------

LARGE = 1 << 24


def check_letter(name: str, f: dict) -> tuple[int, int]:
    """Floats per token that it reads and leaves."""
    for key, value in f.items():
        if (
            isinstance(value, int)
            and key not in ("q_rank", "shared", "latent", "rope.dims")
            and not (name == "layer_embedding" and key == "Part")
        ):
            need(value > 0, f"{name}.{key} is 0")
        if isinstance(value, int):
            need(value <= LARGE, f"{name}.{key} is large")
        if isinstance(value, float) and "ffset" in key:
            need(abs(value) <= 1e6, f"{name}.{key} is far from 0")
        elif isinstance(value, float):
            need(0 <= value <= 1e12, f"{name}.{key} is negative or large")
    small = {
        "heads": 65536,
        "kv_heads": 65536,
        "head_dim": 65536,
        "state": 65536,
        "key_dim": 65536,
        "value_dim": 65536,
        "nope": 65536,
        "value": 65536,
        "kv_rank": 65536,
        "groups": 65536,
        "key_heads": 65536,
        "value_heads": 65536,
        "taps": 64,
        "Taps": 64,
        "Layers": 1024,
        "route.experts": 4096,
    }
    for key, most in small.items():
        need(not isinstance(f.get(key), int) or f[key] <= most, f"{name}.{key} is more than {most}")
    for key in ("Eps", "eps"):
        need(key not in f or 0 < f[key] <= 1, f"{name}.{key} is no eps")
    if "rope.dims" in f and f["rope.dims"]:
        need(f["rope.theta"] >= 1, "a base of less than 1")
        need(f["rope.dims"] % 2 == 0, "an odd rope")
    match name:
        case "embedding":
            return 1, f["Dim"]
        case "head":
            return f["Dim"], f["Vocab"]
        case "scale":
            need(f["By"] > 0, "a scale of 0")
        case "attention":
            need(f["heads"] % f["kv_heads"] == 0, "heads")
            need(f["head_dim"] % 2 == 0 and f["rope.dims"] <= f["head_dim"], "head_dim")
            need(f["heads"] * f["head_dim"] <= LARGE, "wide heads")
            need(f.get("qk_norm.eps", 0) > 0 or not f.get("qk_norm.offset", 0), "an offset of no norm")
            need(f.get("qk_norm.eps", 0) <= 1 and f.get("v_norm.eps", 0) <= 1, "eps of heads")
        case "latent_attention":
            need(f["kv_rank"] % 2 == 0 and f["scale"] > 0, "a latent")
            need(
                f["heads"] * max(f["nope"] + f["rope.dims"], f["kv_rank"] + f["rope.dims"], f["value"]) <= LARGE,
                "wide latents",
            )
        case "gated_mlp":
            need(2 * f["Hidden"] <= LARGE, "gate and up")
        case "moe":
            experts, groups, kept = f["route.experts"], f.get("route.groups", 1), f.get("route.groups_kept", 1)
            need(f["route.active"] <= experts, "active experts")
            need(experts % groups == 0 and kept <= groups and kept * (experts // groups) >= f["route.active"], "groups")
            need("route.group_by" not in f or groups == 1 or experts // groups >= 2, "the best two of one")
            need(f.get("route.scale", 1) > 0, "weights of 0")
            need(2 * max(f["hidden"], f.get("shared", 0)) <= LARGE, "gate and up of experts")
            need(experts * max(f["hidden"], f.get("latent", 0) or f["dim"]) <= 1 << 31, "rows of experts")
            need(f.get("shared_gate") != "true" or f.get("shared", 0) > 0, "a gate of nothing")
        case "gated_delta_net":
            need(f["value_heads"] % f["key_heads"] == 0, "value heads")
            need(max(f["key_heads"] * f["key_dim"], f["value_heads"] * f["value_dim"]) <= LARGE, "wide deltas")
        case "mamba_mixer":
            need(f["heads"] % f["groups"] == 0, "heads in groups")
            need(0 < f["most_step"] and f["least_step"] <= f["most_step"], "steps")
            need(f["heads"] * f["head_dim"] + 2 * f["groups"] * f["state"] <= LARGE, "wide mixers")
        case "short_conv":
            need(3 * f["Dim"] <= LARGE, "b, c and x")
    width = f.get("dim", f.get("Dim"))
    return width, width


def check(node) -> tuple[int, int]:
    """Floats per token that a list reads and leaves; throws Wrong."""
    name, parts = node[0], node[-1]
    if isinstance(parts, dict):
        return check_letter(name, parts)
    ends = [check(part) for part in parts]
    if name in ("sum", "arrange"):
        need(len(set(ends)) == 1, f"branches of {ends}")
    else:
        need(all(a[1] == b[0] for a, b in zip(ends, ends[1:])), f"{name}: {ends}")
    if name in ("residual", "block", "stack", "arrange"):
        need(ends[0][0] == ends[-1][1], f"{name} is not as wide as the stream")
    if name == "stack":
        need(len(parts) <= node[1] <= 1024, "layers of a stack")
    if name == "arrange":
        need(all(0 <= kind < len(parts) for kind in node[1]), "a kind that is not there")
    if name == "network":
        check_model(parts)
    return (ends[0][0], ends[0][1]) if name == "sum" else (ends[0][0], ends[-1][1])


def letters_of(node, name: str) -> list[dict]:
    if isinstance(node[-1], dict):
        return [node[-1]] if node[0] == name else []
    return [found for part in node[-1] for found in letters_of(part, name)]


def check_model(parts) -> None:
    layers = []
    for part in parts:
        if part[0] == "stack":
            layers += [part[2][i % len(part[2])] for i in range(part[1])]
        if part[0] == "arrange":
            layers += [part[2][kind] for kind in part[1]]
    need(len(layers) <= 1024, "layers of the model")
    (table,), (head,) = letters_of(["", parts], "embedding"), letters_of(["", parts], "head")
    need(head["Tied"] == "false" or (head["Vocab"], head["Dim"]) == (table["Vocab"], table["Dim"]), "a tied head")
    sides, inputs = letters_of(["", parts], "layer_embedding"), letters_of(["", parts], "layer_input")
    for side in sides:
        need(side["Vocab"] == table["Vocab"] and side["Layers"] * side["Part"] <= LARGE, "ids of a layer_embedding")
        need(side["Part"] == 0 or side["Layers"] == len(layers), "layers of a layer_embedding")
    need(all(one["Part"] == (sides[0]["Part"] if sides else 0) for one in inputs), "parts of layer_inputs")
    caches = set()
    for layer in layers:
        for one in letters_of(layer, "attention"):
            shape = (one["kv_heads"], one["head_dim"], one.get("window", "everything"))
            need(one.get("shared_kv") != "true" or shape in caches, "a cache that no layer before it has")
            caches.add(shape)


# ---- changes -----------------------------------------------------------------------------------------


def slots(node) -> list[tuple]:
    """Where a list has numbers: (container, key)."""
    found = []
    if isinstance(node[-1], dict):
        return [(node[-1], key) for key, value in node[-1].items() if isinstance(value, (int, float))]
    if isinstance(node[1], int):
        found.append((node, 1))
    if node[0] == "arrange":
        found += [(node[1], i) for i in range(len(node[1]))]
    return found + [slot for part in node[-1] for slot in slots(part)]


def changed(rng: random.Random, value):
    if isinstance(value, float):
        return rng.choice([0.0, -value, -1.0, value + 2e12, value * 2])
    return rng.choice(
        [
            0,
            1,
            value - 1,
            value + 1,
            value + 2,
            value + 3,
            value // 2,
            2 * value,
            3 * value,
            value + 32,
            value + (1 << 25),
            rng.randrange(200),
        ]
    )


def draw(rng: random.Random, wrong: bool):
    """A family's name, what was changed, the list, and why it is wrong."""
    while True:
        family = rng.choice(FAMILIES)
        one = copy.deepcopy(family())
        check(one)
        container, key = rng.choice(slots(one))
        before, after = container[key], changed(rng, container[key])
        if after == before or (isinstance(after, int) and after < 0 and isinstance(container, dict)):
            continue
        container[key] = after
        try:
            check(one)
            why = ""
        except (Wrong, ZeroDivisionError) as found:
            why = str(found)
        if bool(why) == wrong:
            name = next(
                (node[0] for node in every(one) if node[-1] is container or node is container or node[1] is container),
                "?",
            )
            return f"{family.__name__}: {name}.{key} {before} -> {after}", one, why


def every(node):
    yield node
    if not isinstance(node[-1], dict):
        for part in node[-1]:
            yield from every(part)


def spelled(alphabet: Alphabet, node) -> str:
    name, parts = node[0], node[-1]
    if isinstance(parts, dict):
        return alphabet.type_of(
            name, {key: str(value) if isinstance(value, (int, str)) else repr(value) for key, value in parts.items()}
        )
    inner = ", ".join(spelled(alphabet, part) for part in parts)
    if name == "stack":
        return f"stack<{node[1]}, {inner}>"
    if name == "arrange":
        return f"arrange<order<{', '.join(map(str, node[1]))}>, {inner}>"
    return f"{name}<{inner}>"


def main(include: str, count: int, seed: int, command: list[str]) -> int:
    alphabet, rng = Alphabet(Path(include)), random.Random(seed)
    drawn = [(True, *draw(rng, True)) for _ in range(count)] + [(False, *draw(rng, False)) for _ in range(count // 8)]
    drawn += [(False, f"{family.__name__}: as it is", family(), "") for family in FAMILIES]
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(command, folder)
        messages = all_in(lambda one: compiler.messages(line_of(spelled(alphabet, one[2]), True)), drawn)
    missed = 0
    for (wrong, change, one, why), message in zip(drawn, messages):
        fine = (message is not None and "cke: " in message) if wrong else message is None
        missed += not fine
        print(f"{'ok' if fine else 'MISSED'}: {change}: {f'{why}: must not compile' if wrong else 'must compile'}")
        if not fine:
            print(f"{spelled(alphabet, one)}\n{(message or 'compiled')[:3000]}", file=sys.stderr)
    print(f"seed {seed}: {count} wrong lists and {len(drawn) - count} right ones, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    split = sys.argv.index("--")
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[split + 1 :]))
