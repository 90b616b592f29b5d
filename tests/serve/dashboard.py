# SPDX-License-Identifier: MIT
"""dashboard.py CKE MODEL: the panels of tools/grafana.json ask for what /metrics of a running server has, and for all of it.

rate() is of counters, a quantile of a histogram's buckets, and no panel lies on another."""
import json
import re
import sys
from pathlib import Path

from harness import serving

BOARD = Path(__file__).resolve().parents[2] / "tools/grafana.json"


def exported(text):
    """Of each series that /metrics has, the kind: counter, gauge, or bucket, sum and count of a histogram."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    series = {re.match(r"\w+", line)[0] for line in text.splitlines() if line and not line.startswith("#")}
    found = {}
    for name in series:
        base, _, part = name.rpartition("_")
        found[name] = part if kinds.get(base) == "histogram" else kinds[name]
    return found


def problems_of(board, found):
    """What is wrong with a dashboard, beside the series that a server has."""
    shown = set()
    for panel in board["panels"]:
        for target in panel["targets"]:
            expression, where = target["expr"], f"{panel['title']}: "
            for name in re.findall(r"\bcke_\w+", expression):
                shown.add(name)
                if name not in found:
                    yield f"{where}/metrics has no {name}"
            for name in re.findall(r"rate\((\w+)", expression):
                if found.get(name) == "gauge":
                    yield f"{where}rate of {name}, which is a gauge"
            for name in re.findall(r"\b(cke_\w+)", re.sub(r"rate\(\w+", "", expression)):
                if found.get(name) != "gauge":
                    yield f"{where}{name} is no gauge, and has no rate"
            if "histogram_quantile" in expression and not all(found.get(n) == "bucket" for n in re.findall(r"\bcke_\w+", expression)):
                yield f"{where}a quantile of no buckets"
            if expression.count("(") != expression.count(")"):
                yield f"{where}brackets of {expression}"
    base = {name.removesuffix("_" + kind) if kind in ("bucket", "sum", "count") else name for name, kind in found.items()}
    for name in sorted(base - {re.sub("_bucket$", "", n) for n in shown}):
        yield f"no panel shows {name}"
    places = [(p["gridPos"]["x"] + dx, p["gridPos"]["y"] + dy)
              for p in board["panels"] for dx in range(p["gridPos"]["w"]) for dy in range(p["gridPos"]["h"])]
    if len(places) != len(set(places)) or max(x for x, _ in places) > 23:
        yield "panels lie on one another, or beyond 24 columns"
    if len({p["id"] for p in board["panels"]}) != len(board["panels"]):
        yield "two panels have one id"


def check_the_check(text, found):
    """A wrong dashboard is told."""
    for old, new, words in (
        ("cke_connections", "cke_conections", "has no cke_conections"),
        ("cke_ttft_seconds_bucket", "cke_ttft_seconds_sum", "no buckets"),
        ("sum(cke_connections", "sum(rate(cke_connections", "is a gauge"),
        ("cke_images_total", "cke_images_encoded_total", "no panel shows cke_images_total"),
        ('"x": 8', '"x": 0', "lie on one another"),
    ):
        assert old in text
        told = list(problems_of(json.loads(text.replace(old, new)), found))
        assert any(words in line for line in told), (words, told)


def main():
    command, model = sys.argv[1:]
    text = BOARD.read_text()
    with serving(command, model) as server:
        server.post("/v1/completions", {"model": "tiny", "prompt": "Once", "max_tokens": 2})
        found = exported(server.request("GET", "/metrics")[1].decode())
    if problems := list(problems_of(json.loads(text), found)):
        sys.exit("\n".join(problems))
    check_the_check(text, found)
    print(f"{len(json.loads(text)['panels'])} panels, {len(found)} series")


if __name__ == "__main__":
    main()
