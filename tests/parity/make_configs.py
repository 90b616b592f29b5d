# SPDX-License-Identifier: MIT
"""make_configs.py: writes configs.hpp, the config.json of every directory of tests/data/models and families.

    python tests/parity/make_configs.py
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"

lines = ["// SPDX-License-Identifier: MIT",
         "// configs.hpp: the models' config.json as constants, written by make_configs.py.",
         "#pragma once", "", "namespace configs {", ""]
for folder in ("models", "families"):
    for config in sorted((DATA / folder).glob("*/config.json")):
        text = json.dumps(json.loads(config.read_text()), indent=2)
        lines += [f'inline constexpr char {config.parent.name}[] = R"json({text})json";']
lines += ["", "}  // namespace configs"]
(HERE / "configs.hpp").write_text("\n".join(lines) + "\n")
