# SPDX-License-Identifier: MIT
"""arrows.py FOLDER: walks the includes of include/cke and fails on any arrow that docs/design.md does not allow."""
import re
import sys
from pathlib import Path
from posixpath import dirname, join, normpath

# What each room may include besides itself. A room is a folder, or a header at the top.
ROOMS = {
    "core": set(),
    "layers": {"core"},
    "models": {"layers", "core"},
    "graph": {"layers", "core"},
    "kernels": {"core"},
    "runtime": {"graph", "kernels", "core", "layers"},
    "tune": {"graph", "runtime", "core"},
    "train": {"runtime", "graph", "kernels", "core"},
    "cuda": {"runtime", "graph", "kernels", "core"},
    "net": {"runtime", "layers", "core"},
    "text": {"core"},
    "io": {"core", "text"},
    "image": {"core", "io"},
    "fetch": {"core"},
    "model": {"runtime", "graph", "kernels", "io", "text", "models", "layers", "core"},
    "any_model": {"model", "runtime", "graph", "io", "text", "core"},
    "serve": {"any_model", "io", "text", "core"},
    "public": {"model", "train", "cuda", "any_model", "image", "net", "runtime", "io", "text", "models", "layers", "core"},
}
# Headers at the top that are rooms of their own; every other one there is what a user includes.
TOP = {
    "layers.hpp": "layers", "layer_checks.hpp": "layers", "word_checks.hpp": "layers", "any_model.hpp": "any_model", "cke.h": "any_model",
    "model.hpp": "model", "generate.hpp": "model", "config_check.hpp": "model", "session_file.hpp": "model",
    "export.hpp": "any_model", "model_adapter.hpp": "any_model", "draft.hpp": "any_model",
    "any_vision.hpp": "any_model", "cke_dump.h": "any_model", "export_dump.hpp": "any_model",
    "cke_ranks.h": "any_model", "export_ranks.hpp": "any_model", "door.hpp": "any_model", "model_type.hpp": "any_model",
    "export_tower.hpp": "any_model",
}

# Libraries, and the files that may include them.
LIBRARIES = {
    r"xsimd/": r"core/(isa|simd)\w*\.hpp",
    r"nlohmann/": r"(io/(hf|json)_[\w-]+|serve/\w+|image/processor\w*)\.hpp",
    r"(png|jpeglib|jerror|gif_lib)\.h": r"image/(png|jpeg|gif)\.hpp",
    r"webp/": r"image/webp\.hpp",
    r"wasm_simd128\.h": r"core/simd_wasm\.hpp",
    r"curl/": r"fetch/http_fetch\.hpp",
    r"cuda_runtime_api\.h": r"cuda/gpu\.cuh",
    r"boost/context/": r"cuda/host/machine\.cuh",
    r"boost/hana/": r"kernels/registry\.hpp",  # what a user includes must not pay for it
    r"(boost/|utf8proc\.h|pcre2\.h)": r".*",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def room_of(header: str) -> str:
    top, _, rest = header.partition("/")
    return top if rest else TOP.get(header.replace("-inl.hpp", ".hpp"), "public")


def wrong_arrow(header: str, quote: str, target: str, headers: set[str]) -> str | None:
    """Why this include may not stand in this header, or None. Headers are named by their path under include/cke."""
    if quote == '"' or target.startswith("cke/"):
        found = normpath(join(dirname(header), target)) if quote == '"' else target.removeprefix("cke/")
        if found not in headers:
            return "no such header"
        source, destination = room_of(header), room_of(found)
        if destination != source and destination not in ROOMS[source]:
            return f"{source} may not include {destination}"
    elif "/" in target or target.endswith(".h"):
        for library, users in LIBRARIES.items():
            if re.match(library, target):
                return None if re.fullmatch(users, header) else f"only {users} may include this library"
        if not re.match(r"(sys/|linux/|arpa/|netinet/|[a-z_]+\.h$|[a-z0-9]+intrin\.h$)", target):
            return "an unknown library"
    return None


def violations(texts: dict[str, str]) -> list[str]:
    found = []
    for header, text in sorted(texts.items()):
        if room_of(header) not in ROOMS:
            found.append(f"{header}: no room of this name is known to {Path(__file__).name}")
            continue
        for quote, target in INCLUDE.findall(text):
            if why := wrong_arrow(header, quote, target, set(texts)):
                found.append(f"{header}: #include {target}: {why}")
    return found


def self_test() -> None:
    core = {"core/types.hpp": "#include <string>\n", "kernels/a.hpp": '#include "../core/types.hpp"\n#include <cke/core/types.hpp>'}
    assert violations(core) == []
    for header, text in {
        "core/b.hpp": '#include "../kernels/a.hpp"',
        "core/c.hpp": "#include <cke/kernels/a.hpp>",
        "kernels/d.hpp": '#include "../core/absent.hpp"',
        "kernels/e.hpp": "#include <xsimd/xsimd.hpp>",
        "text/f.hpp": "  #  include <nlohmann/json.hpp>",
        "text/g.hpp": "#include <fmt/core.h>",
        "io/h.hpp": "#include <png.h>",
        "cellar/i.hpp": "",
    }.items():
        assert len(violations(core | {header: text})) == 1, header
    print("every forbidden arrow was seen")


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test()
    else:
        top = Path(sys.argv[1])
        files = [p for p in top.rglob("*") if p.suffix in (".hpp", ".h", ".cuh")]
        if wrong := violations({p.relative_to(top).as_posix(): p.read_text() for p in files}):
            sys.exit("\n".join(wrong))
        print(f"{len(files)} headers")
