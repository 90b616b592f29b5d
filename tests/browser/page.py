# SPDX-License-Identifier: MIT
"""page.py --page stories.html --model FILE.gguf --cke CKE [--shots FOLDER]: the page that ./dev wasm makes of
assets/tiny: its size, its program under node, and the whole of it in Chromium without a network, where there is one."""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import chromium

here = Path(__file__).parent
browser = here.parents[1] / "browser"
story = "Once upon a time"
sea = "What can you tell me about the sea?"


def under_node(page: Path, *questions: dict) -> list[dict]:
    run = subprocess.run(["node", here / "page.mjs", page, *map(json.dumps, questions)], check=True, text=True, capture_output=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def check_file(page: Path) -> None:
    text = page.read_text()
    assert page.stat().st_size <= 4 << 20, f"{page}: {page.stat().st_size} bytes"
    addresses = set(re.findall(r"https?://[^\"'` <>)]*", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}, addresses
    print(f"size: {page.stat().st_size} bytes, {page.stat().st_size / (1 << 20):.2f} MiB")


def check_node(page: Path, model: Path, cke: Path) -> list[int]:
    """Answers, refusals, and answers after refusals; returns the ids of the story."""
    want = json.loads(subprocess.run([cke, "run", model, "-p", story, "-n", "60", "--temp", "0", "--ids"], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout)
    tell, ask = {"text": story}, {"messages": [{"role": "user", "content": sea}]}
    loaded, first, answer, cold, empty, long, after = under_node(
        page, tell, ask, tell | {"temperature": -1}, {"messages": []}, {"text": "a " * 3000}, tell | {"max_tokens": 2000})
    facts = loaded["ready"]
    assert (facts["isa"], facts["relaxed"], facts["parameters"], facts["chat"]) == ("wasm", False, 1181376, "qwen3"), facts
    assert first["ids"] == want and len(want) == 60 and first["cut"], (first["ids"], want)
    assert first["text"].startswith(", there was a funny girl named Ruby."), first["text"]
    assert answer["text"].startswith("The sea is blue"), answer
    assert "temperature" in cold["error"] and "-1" in cold["error"], cold
    assert "at least one message" in empty["error"], empty
    assert "at most 2048 tokens" in long["error"], long
    assert after["ids"][:60] == first["ids"] and not after["cut"], after
    warm = under_node(page, tell, tell, tell, tell)[-1]
    print(f"node: {(len(warm['ids']) - 1) * 1000 / warm['ms']:.0f} tokens/s")
    return first["ids"]


def check_choice(page: Path, model: Path, ids: list[int]) -> None:
    """Of a page's two programs the relaxed one runs where the engine knows its instructions, else the other."""
    with tempfile.TemporaryDirectory() as folder:
        out, odd, simd = Path(folder) / "page.html", Path(folder) / "odd", page.with_name("stories_simd.wasm")
        odd.write_bytes(b"\0asm\1\0\0\0" + b"an instruction of the future")
        for first, other, runs in ((odd, simd, True), (simd, odd, True), (odd, odd, False)):
            subprocess.run([sys.executable, browser / "make_page.py", out, "--title", "two", "--model", model,
                            "--relaxed", first, "--simd", other], check=True)
            loaded, told = under_node(out, {"text": story})
            assert told.get("ids") == ids if runs else "error" in loaded and "error" in told, (loaded, told)


def check_damage(page: Path) -> None:
    """A model that is not the program's, or not whole, says so on the page."""
    with tempfile.TemporaryDirectory() as folder:
        for name, bytes_, expected in (("empty", b"", "magic"), ("text", b"GGUF" + b"\xff" * 400, "version")):
            model, out, simd = Path(folder) / name, Path(folder) / "page.html", page.with_name("stories_simd.wasm")
            model.write_bytes(bytes_)
            subprocess.run([sys.executable, browser / "make_page.py", out, "--title", "damaged", "--model", model,
                            "--simd", simd], check=True)
            loaded, then = under_node(out, {"text": story})
            assert expected in loaded["error"], loaded
            assert "error" in then, then


def ids_of(b: chromium.Browser) -> list[int]:
    return [int(i) for i in b.js("document.querySelector('.assistant:last-child').dataset.ids").split()]


def say(b: chromium.Browser, text: str) -> str:
    """Types and sends it; returns the answer when it is whole."""
    b.js("document.querySelector('#text').focus()")
    b.type(text), b.press("Enter", 13)
    b.wait("document.querySelector('#send').offsetParent && document.querySelector('.assistant:last-child .note').textContent !== '…'")
    return b.js("document.querySelector('.assistant:last-child > .text').textContent")


def set_value(b: chromium.Browser, field: str, value: object) -> None:
    b.js(f"{{ const e = document.querySelector('#{field}'); e.value = {json.dumps(str(value))}; e.dispatchEvent(new Event('change')); }}")


def check_chromium(page: Path, story_ids: list[int], shots: Path | None) -> None:
    with chromium.Browser() as b:
        b.open(page)
        b.wait("document.querySelector('#facts dd')")
        assert b.js("document.activeElement.id") == "text"
        unnamed = b.js("[...document.querySelectorAll('input, select, textarea')].filter(e => e.labels.length !== 1).map(e => e.id)")
        assert unnamed == [], unnamed
        assert "Memory plan: Weights" in b.js("document.querySelector('#memory svg').getAttribute('aria-label')")
        set_value(b, "temperature", 0)
        assert say(b, sea).startswith("The sea is blue")
        assert say(b, "Mia has a red ball. Tom has a blue kite. What colour is the ball?") == "The ball is red."
        assert b.js("document.querySelector('#spoken').textContent") == "The ball is red."
        assert "tokens/s" in b.js("document.querySelector('.note').textContent")
        grounds = []
        for dark in (False, True):
            b.dark(dark)
            grounds.append(b.js("getComputedStyle(document.body).backgroundColor"))
            if shots:
                b.screenshot(shots / f"browser-{'dark' if dark else 'light'}.png")
        assert grounds[0] != grounds[1], grounds
        b.js("document.querySelector('#thinking').click()")
        say(b, sea)
        assert b.js("document.querySelector('.assistant:last-child details.thought .text').textContent"), "no thought is shown"

        set_value(b, "form", "text")
        assert say(b, story).startswith(story)
        assert ids_of(b)[:60] == story_ids, "Chromium's ids are not node's"
        for _ in range(3):
            b.js("document.querySelector('#clear').click()")
            say(b, story)
        print("Chromium:", b.js("document.querySelector('.note').textContent"))

        # Stop: at this temperature, with this seed, it would go on to the end of the context.
        for field, value in {"temperature": 100, "top_k": 0, "top_p": 1, "seed": 1, "max_tokens": 2000}.items():
            set_value(b, field, value)
        b.js("document.querySelector('#clear').click(), document.querySelector('#text').focus()")
        b.type(story), b.press("Enter", 13)
        b.wait("document.querySelector('.assistant .text').textContent.length > 40")
        b.press("Escape", 27)
        b.wait("document.querySelector('#send').offsetParent")
        assert "stopped" in b.js("document.querySelector('.note').textContent"), b.js("document.querySelector('.note').textContent")
        assert 1 < len(ids_of(b)) < 1500, len(ids_of(b))

        # What is refused is said where the answer would be, and the next question is answered.
        set_value(b, "temperature", -1)
        say(b, story)
        assert "temperature" in b.js("document.querySelector('.assistant:last-child .note.error').textContent")
        set_value(b, "temperature", 0), set_value(b, "seed", "")
        say(b, story)
        assert ids_of(b)[:60] == story_ids
        assert b.complaints() == [], b.complaints()
        assert [u for u in b.requests() if not u.startswith(("file:", "blob:", "data:"))] == [], b.requests()


def check_picked(page: Path, model: Path, story_ids: list[int]) -> None:
    """A page without a model asks for its file, says what is wrong with one, and takes another."""
    with tempfile.TemporaryDirectory() as folder, chromium.Browser() as b:
        out, wrong = Path(folder) / "page.html", Path(folder) / "wrong.gguf"
        wrong.write_bytes(model.read_bytes()[:100_000])
        subprocess.run([sys.executable, browser / "make_page.py", out, "--title", "any",
                        "--simd", page.with_name("stories_simd.wasm")], check=True)
        b.open(out)
        b.wait("document.querySelector('#pick') && document.querySelector('#pick').labels.length === 1")
        b.pick("#pick", wrong)
        b.wait("document.querySelector('.error')")
        assert "the page's model" in b.js("document.querySelector('.error').textContent")
        b.pick("#pick", model)
        b.wait("document.querySelector('#facts dd')")
        set_value(b, "temperature", 0), set_value(b, "form", "text")
        say(b, story)
        assert ids_of(b)[:60] == story_ids
        assert b.complaints() == [], b.complaints()


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--page", type=Path, required=True)
    ask.add_argument("--model", type=Path, required=True)
    ask.add_argument("--cke", type=Path, required=True)
    ask.add_argument("--shots", type=Path)
    given = ask.parse_args()
    check_file(given.page)
    ids = check_node(given.page, given.model, given.cke)
    check_choice(given.page, given.model, ids)
    check_damage(given.page)
    if chromium.program:
        check_chromium(given.page, ids, given.shots)
        check_picked(given.page, given.model, ids)


main()
