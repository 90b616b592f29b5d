#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""umbrella.py INCLUDE [--write]: cke.hpp includes every header at the top but those that need more than the rest."""
import re
import sys
from pathlib import Path

# hf.hpp and net_file.hpp need nlohmann/json, vision.hpp and image_reader.hpp the libraries that decode images;
# export.hpp is for units that become shared objects, door.hpp and model_type.hpp for it; page.hpp for web pages.
LEFT_OUT = {"cke.hpp", "hf.hpp", "image_reader.hpp", "vision.hpp", "export.hpp", "door.hpp", "model_type.hpp", "page.hpp",
            "net_file.hpp"}
HEAD = """// SPDX-License-Identifier: MIT
// cke.hpp: the alphabet, every family of text models, and what runs them. Add hf.hpp for Hugging Face directories.
#pragma once

"""

top = Path(sys.argv[1]) / "cke"
wanted = sorted(p.name for p in top.glob("*.hpp") if p.name not in LEFT_OUT and not p.name.endswith("-inl.hpp"))
umbrella = top / "cke.hpp"
if "--write" in sys.argv:
    umbrella.write_text(HEAD + "".join(f'#include "{name}"\n' for name in wanted))
found = re.findall(r'^#include "(.*)"$', umbrella.read_text(), re.MULTILINE)
if found != wanted:
    sys.exit(f"cke.hpp: missing {sorted(set(wanted) - set(found))}, too much {sorted(set(found) - set(wanted))}; "
             "run tests/setup/umbrella.py include --write")
print(f"{len(found)} headers")
