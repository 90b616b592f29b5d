# SPDX-License-Identifier: MIT
"""table.py INCLUDE -- COMPILER [FLAG ...]: every wrong value in table.txt is refused, with its message and its numbers.

A row is a right letter with a wrong value, or a wrong list; and the rule that must refuse it. Letters, words, fields
and rules are read from the headers: one without a row fails, and so does a right letter or list that does not compile.
"""

import math
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from alphabet import Alphabet

ROPE = {"rope.dims": "8", "rope.theta": "1e4"}
RIGHT = {
    "embedding": {"Vocab": "512", "Dim": "64"},
    "layer_embedding": {"Vocab": "512", "Dim": "64", "Layers": "4", "Part": "16", "Eps": "1e-6"},
    "layer_input": {"Dim": "64", "Part": "16", "A": "activation::silu"},
    "rms_norm": {"Dim": "64", "Eps": "1e-5", "Offset": "1"},
    "scale": {"Dim": "64", "By": "8"},
    "learned_scale": {"Dim": "64"},
    "softcap": {"Dim": "64", "Cap": "30"},
    "attention": {"dim": "64", "heads": "4", "kv_heads": "2", "head_dim": "16"} | ROPE,
    "latent_attention": {
        "dim": "64", "heads": "4", "q_rank": "24", "kv_rank": "20", "nope": "12", "value": "10", "scale": "0.25",
    } | ROPE,
    "gated_mlp": {"Dim": "64", "Hidden": "172", "A": "activation::silu", "Bias": "false"},
    "plain_mlp": {"Dim": "64", "Hidden": "172", "A": "activation::relu2", "Bias": "false"},
    "moe": {"dim": "64", "hidden": "32", "route.experts": "8", "route.active": "2"},
    "gated_delta_net": {
        "dim": "64", "key_heads": "2", "value_heads": "6", "key_dim": "20", "value_dim": "40", "taps": "4", "eps": "1e-6",
    },
    "mamba_mixer": {
        "dim": "64", "heads": "6", "head_dim": "10", "state": "20", "groups": "3", "taps": "4", "eps": "1e-5",
    },
    "short_conv": {"Dim": "64", "Taps": "3", "Bias": "true"},
    "image_rows": {"Dim": "64", "Taps": "2", "Pad": "0", "Present": "true"},
    "deepstack_add": {"Dim": "64"},
    "patch_embedding": {"In": "12", "Dim": "64", "Bias": "true"},
    "learned_positions": {"Dim": "64", "Rows": "16", "Rule": "position_rule::bilinear"},
    "layer_norm": {"Dim": "64", "Eps": "1e-6"},
    "clipped_mlp": {"Dim": "64", "Hidden": "172", "A": "activation::gelu_tanh"},
    "unit_rms_norm": {"Dim": "64", "Eps": "1e-6"},
    "affine": {"Dim": "64", "By": "2", "Offset": "-1"},
    "standardise": {"Dim": "64"},
    "spatial_merge": {"Dim": "64", "By": "4", "Interleaved": "false"},
    "average_pool": {"Dim": "64", "By": "9"},
    "last_row": {"Dim": "64", "By": "9"},
    "attention_pool": {
        "Dim": "64", "Heads": "4", "By": "9", "Hidden": "172", "A": "activation::gelu_tanh", "Eps": "1e-6",
    },
    "projector": {"In": "256", "Hidden": "128", "Out": "48", "A": "activation::gelu_erf", "Bias": "true"},
    "head": {"Dim": "64", "Vocab": "512", "Tied": "true"},
}  # fmt: skip
# Fields whose every value is right whatever the others are, and other values than those above: they compile too.
FREE = {
    "attention_pool": {"A": "activation::silu"},
    "layer_input": {"A": "activation::relu2"},
    "gated_mlp": {"A": "activation::gelu_erf", "Bias": "true"},
    "plain_mlp": {"A": "activation::silu", "Bias": "true"},
    "short_conv": {"Bias": "false"},
    "image_rows": {"Present": "false"},
    "patch_embedding": {"Bias": "false"},
    "clipped_mlp": {"A": "activation::silu"},
    "spatial_merge": {"Interleaved": "true"},
    "projector": {"A": "activation::gelu_tanh", "Bias": "false"},
    "gated_delta_net": {"tiled": "true"},
    "attention": {
        "rope.truncate": "false", "qkv_bias": "true", "out_bias": "true",
        "gate": "true", "clipped": "true", "sees_image": "true", "rope.interleaved": "true",
    },
    "latent_attention": {"rope.truncate": "false", "rope.interleaved": "true"},
    "moe": {
        "route.score": "scoring::sigmoid", "route.bias": "true", "route.renormalise": "true",
        "route.expert_scale": "true", "act": "activation::gelu_tanh", "ungated": "true",
    },
    "mamba_mixer": {"conv_bias": "true", "bias": "true"},
}  # fmt: skip

PRELUDE = """#include <cke/graph/program.hpp>
using namespace cke;
using namespace cke::graph;
inline constexpr rope_factors factors{.longs = {1, 1, 1, 1}, .shorts = {1, 1, 1, 1}, .long_count = 4, .short_count = 4};
inline constexpr rope_factors holed{.longs = {1, 1, 1}, .shorts = {1, 1, 1, 1}, .long_count = 4, .short_count = 4};
template <u32 In, u32 Out> struct squeeze : maps<In, Out> {};
template <u32 Dim> using norm = rms_norm<Dim, 1e-5>;
template <u32 Dim> using mlp = gated_mlp<Dim, 172, activation::silu>;
template <u32 Dim> using layer = block<residual<norm<Dim>, mlp<Dim>>>;
template <u32 Part> using inputs = block<residual<layer_input<64, Part, activation::silu>>>;
template <bool Shared, u32 KvHeads = 2, u32 HeadDim = 16, u32 Window = everything> using attending =
    block<residual<norm<64>, attention<attention_options{.dim = 64, .heads = 4, .kv_heads = KvHeads, .head_dim = HeadDim,
                                              .window = Window, .shared_kv = Shared}>>>;
template <class... Stacks> using between = network<embedding<512, 64>, Stacks..., norm<64>, head<64, 512, false>>;
template <u32 Vocab, u32 Layers, u32 Part, class... Stacks> using beside_layers =
    network<embedding<512, 64>, layer_embedding<Vocab, 64, Layers, Part, 1e-6>, Stacks..., norm<64>,
          head<64, 512, false>>;
template <rope_axes Axes = rope_axes::row_column> using seeing =
    attention<attention_options{.dim = 64, .heads = 4, .kv_heads = 2, .head_dim = 16,
                                .rope = {.dims = 16, .theta = 1e4, .axes = Axes}, .bidirectional = true}>;
template <u32 Window> using near = block<residual<attention<attention_options{
    .dim = 64, .heads = 4, .kv_heads = 2, .head_dim = 16, .window = Window, .bidirectional = true}>>>;
template <class... Ls> using sight = block<residual<layer_norm<64, 1e-6>, seeing<>>, residual<mlp<64>>, Ls...>;
template <class... Parts> using eye =
    tower<patch_embedding<12, 64, true>, Parts..., projector<64, 0, 48, activation::silu, true>>;
template <u32 By, u32 Out> using tap =
    deepstack<spatial_merge<64, By>, projector<64 * By, 0, Out, activation::silu, true>>;
template <int... Kinds> inline constexpr std::array<int, sizeof...(Kinds)> order{Kinds...};
template <std::size_t N> inline constexpr std::array<u8, N> zeros{};
template <class> struct many;
template <std::size_t... I> struct many<std::index_sequence<I...>> {
  template <std::size_t J> using one = residual<norm<64>, plain_mlp<64, 64 + J, activation::silu>>;
  using words = block<one<I>...>;
  using kinds = stack<sizeof...(I), block<one<I>>...>;
};
template <std::size_t N> using some = many<std::make_index_sequence<N>>;
"""
RIGHT_LISTS = [
    "between<stack<4, layer<64>>>",
    "between<stack<3, attending<false>>, stack<2, attending<true>>>",
    "between<arrange<order<0, 1, 1>, attending<false>, attending<true>>>",
    "beside_layers<512, 4, 16, stack<4, inputs<16>>>",
    "beside_layers<512, 4, 0, stack<3, layer<64>>>",
    "network<embedding<512, 64>, stack<2, layer<64>>, norm<64>, head<64, 512, true>, softcap<512, 30>>",
    "between<stack<2, block<residual<norm<64>, sum<mlp<64>, chain<norm<64>, residual<mlp<64>>>>>, learned_scale<64>>>>",
    "between<stack<1, some<8>::words>>",
    "between<some<32>::kinds>",
    "between<stack<2, block<residual<layer_norm<64, 1e-6>, attending<false>>>>>",
    "eye<learned_positions<64, 20, position_rule::by_axis>, stack<3, sight<>>>",
    "eye<stack<2, sight<deepstack<norm<64>>>, sight<deepstack<scale<64, 1>>>>, average_pool<64, 1>>",
    "eye<stack<3, sight<tap<9, 80>>>, average_pool<64, 9>>",
    "eye<stack<2, near<6>, near<everything>>, average_pool<64, 9>>",
]


# ---- rows ------------------------------------------------------------------------------------------


@dataclass
class Row:
    what: str  # a letter or word
    field: str
    value: str  # with those of other fields behind it; or a list
    refused: str  # RULE<arguments>
    code: str  # a type
    program: bool  # whether only a program of the type shows it

    @property
    def rule(self) -> str:
        return self.refused.partition("<")[0]

    @property
    def arguments(self) -> list[str]:
        return arguments_in(self.refused.partition("<")[2].removesuffix(">"))


def read_table(alphabet: Alphabet) -> tuple[list[Row], dict[str, str]]:
    """Rows, and each rule's message."""
    rows, messages = [], {}
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        what, *rest = [part.strip() for part in line.split(" | ")]
        if what == "message":
            messages[rest[0]] = rest[1]
            continue
        field, value, refused = rest
        program = value.startswith("program<")
        if re.search(r"[a-z_]\w*<.*>", value):
            code = value.removeprefix("program<").removesuffix(">") if program else value
        else:
            own, *others = value.split(", ")
            changes = {field: own} | dict(other.split(" = ") for other in others)
            changes = {path: '__builtin_nan("")' if text == "nan" else text for path, text in changes.items()}
            code = alphabet.type_of(what, RIGHT[what] | changes)
        rows.append(Row(what, field, value, refused, code, program))
    return rows, messages


def missing_rows(alphabet: Alphabet, rows: list[Row], messages: dict[str, str]) -> list[str]:
    """What the headers have and the table has not, and the other way round."""
    have = {(row.what, row.field) for row in rows}
    wrong = []
    for letter, fields in alphabet.fields.items():
        for path, kind in fields.items():
            free = path in FREE.get(letter, {})
            if not free and (letter, path) not in have:
                wrong.append(f"{letter}: no row for the field {path} ({kind})")
            if free and kind != "bool" and kind not in alphabet.enums:
                wrong.append(f"{letter}: {path} is a {kind}: some value of it is wrong")
    for word, parameters in alphabet.words.items():
        for part in ["parts", "links"] + [name for kind, name in parameters if kind != "class..."]:
            if (word, part) not in have:
                wrong.append(f"{word}: no row for its {part}")
    known = {(letter, path) for letter, fields in alphabet.fields.items() for path in fields}
    named = {(row.what, row.field) for row in rows if row.what in alphabet.fields}
    wrong += [f"{letter}: no field {path} in the headers" for letter, path in sorted(named - known)]
    first = {row.arguments[0].strip('"') for row in rows if row.arguments}
    wrong += [f"{name}: a rule names this field, no row does" for name in sorted(alphabet.named - first)]
    rules = {row.rule for row in rows}
    wrong += [f"{rule}: a rule of the headers without a row" for rule in sorted(alphabet.rules - rules)]
    wrong += [f"{rule}: a rule without a message" for rule in sorted(rules - set(messages))]
    return wrong


def right_codes(alphabet: Alphabet):
    for letter, values in RIGHT.items():
        yield alphabet.type_of(letter, values)
        for path, value in FREE.get(letter, {}).items():
            yield alphabet.type_of(letter, values | {path: value})


# ---- messages --------------------------------------------------------------------------------------


def arguments_in(text: str) -> list[str]:
    """Numbers, words and texts of template arguments, without the types that hold them."""
    text = re.sub(r"(?:\w+::)*\w+(?:<\d+>)?\{|[{}]", "", text)
    parts = [part.strip() for part in re.findall(r'"[^"]*"|[^,"]+', text)]
    return [part if part.startswith('"') else part.rsplit("::", 1)[-1] for part in parts if part]


def number_in(text: str) -> float | None:
    try:
        return float(re.sub(r"(?<=\d)[uUlL]+$", "", text.lower().replace("+qnan", "nan")))
    except ValueError:
        return None


def is_the_same(found: str, wanted: str) -> bool:
    if found.endswith('[...]"'):  # clang shows the first letters of a long text
        return wanted.startswith(found[:-6])
    a, b = number_in(found), number_in(wanted)
    if a is None or b is None:
        return found == wanted
    return math.isnan(a) and math.isnan(b) or math.isclose(a, b, rel_tol=1e-5)


def shows(message: str, row: Row) -> bool:
    """Whether 'RULE<...>' stands in a message with the row's arguments; a type shows its template's name."""
    for start in re.finditer(rf"\b{row.rule}<", message):
        depth, end = 1, start.end()
        while end < len(message) and depth:
            depth += {"<": 1, ">": -1}.get(message[end], 0)
            end += 1
        text = message[start.end() : end - 1]
        if len(row.arguments) == 1 and re.match(rf"(?:cke::)?{row.arguments[0]}<", text):
            return True
        found = arguments_in(re.sub(r"fixed_string<\d+>", "fixed_string", text))
        if len(found) == len(row.arguments) and all(map(is_the_same, found, row.arguments)):
            return True
    return not row.arguments  # of a text that is thrown


class Compiler:
    """A compiler that has read the headers already."""

    def __init__(self, command: list[str], folder: str):
        prelude = Path(folder) / "prelude.hpp"
        prelude.write_text(PRELUDE)
        self.command = [*command, "-w"]
        subprocess.run([*self.command, "-x", "c++-header", prelude, "-o", f"{prelude}.gch"], check=True)
        self.command += ["-include", str(prelude), "-fsyntax-only", "-x", "c++", "-"]

    def messages(self, source: str) -> str | None:
        """None: it compiles."""
        run = subprocess.run(self.command, input=source, capture_output=True, text=True)
        return None if run.returncode == 0 else run.stderr


def line_of(code: str, program: bool, name: str = "n") -> str:
    return f"constexpr u32 {name} = {f'program<{code}, F32>::layers' if program else f'{code}::in'};\n"


def problem_of(row: Row, messages: dict[str, str], compiler: Compiler) -> str | None:
    message = compiler.messages(line_of(row.code, row.program))
    case = f"{row.what}.{row.field} = {row.value}"
    if message is None:
        return f"{case}: compiled, and must not: {row.code}"
    text = messages.get(row.rule, "?")
    one_line = re.sub(r'"\s*\n[\s|]*"', "", message)  # a text of several literals, as clang shows the source
    if not re.search(text if "|" in text else re.escape(text), one_line):
        return f"{case}: the message is not '{text}':\n{message}"
    if not shows(message, row):
        return f"{case}: the message does not show {row.refused}:\n{message}"
    return None


def all_in(function, things):
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, things))


def main(include: str, command: list[str]) -> int:
    alphabet = Alphabet(Path(include))
    rows, messages = read_table(alphabet)
    wrong = missing_rows(alphabet, rows, messages)
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(command, folder)
        right = [(code, False) for code in right_codes(alphabet)] + [(code, True) for code in RIGHT_LISTS]
        message = compiler.messages("".join(line_of(*one, f"right_{i}") for i, one in enumerate(right)))
        wrong += [f"what is right does not compile:\n{message}"] if message else []
        wrong += filter(None, all_in(lambda row: problem_of(row, messages, compiler), rows))
    for row in rows:
        print(f"{row.what} | {row.field} | {row.value} | {row.refused}")
    kinds = f"{len(alphabet.letters)} letters, {len(alphabet.words)} words, {len(alphabet.rules)} rules"
    print(f"{len(rows)} rows of {kinds}; {len(wrong)} problems")
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[sys.argv.index("--") + 1 :]))
