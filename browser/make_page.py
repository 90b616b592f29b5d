# SPDX-License-Identifier: MIT
"""make_page.py OUT.html --title TITLE --simd FILE.wasm [--relaxed FILE.wasm] [--model FILE.gguf] [--context N]: one page.

Without a model, the page asks for a file."""
import argparse
import base64
import gzip
import html
from pathlib import Path

here = Path(__file__).parent


def packed(path: Path) -> str:
    return base64.b64encode(gzip.compress(path.read_bytes(), 9, mtime=0)).decode()


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("out", type=Path)
    ask.add_argument("--title", required=True)
    ask.add_argument("--model", type=Path)
    ask.add_argument("--simd", type=Path, required=True)
    ask.add_argument("--relaxed", type=Path)
    ask.add_argument("--context", type=int, default=2048)
    given = ask.parse_args()
    parts = {
        "title": html.escape(given.title),
        "context": str(given.context),
        "worker": (here / "worker.js").read_text().replace("</script", "<\\/script"),
        "file": packed(given.model) if given.model else "",
        "simd": packed(given.simd),
        "relaxed": packed(given.relaxed) if given.relaxed else "",
    }
    page = (here / "page.html").read_text()
    for name, text in parts.items():
        mark = "{{" + name + "}}"
        if mark not in page:
            raise SystemExit(f"make_page.py: page.html: expected {mark}, found none")
        page = page.replace(mark, text)
    given.out.write_text(page)


main()
