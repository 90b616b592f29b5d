# SPDX-License-Identifier: MIT
"""pack_kills.py: what is left of `cke pack` where it is killed (SIGKILL), again and again, at any moment.

    python3 tests/tools/pack_kills.py [--kills 300] [--shard-size SIZE] [--cke build/release/cke]
                                      [--model assets/tiny] [--layers 40]

The layers of the model are repeated, so that writing takes a while. After each kill the
folder holds no bundle, or one whole bundle with the bytes of a run that was not killed. Every other run replaces a
bundle, which must stay as it was until the new one is whole. With shards, a kill may leave some that no bundle names.
"""

import argparse
import hashlib
import json
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path


def larger(model, folder, layers):
    """A copy of a model whose layers are repeated up to so many."""
    folder.mkdir()
    for file in Path(model).iterdir():
        if file.is_file() and file.suffix != ".safetensors":
            shutil.copy(file, folder)
    config = json.loads((folder / "config.json").read_text())
    had, config["num_hidden_layers"] = config["num_hidden_layers"], layers
    config.pop("layer_types", None)
    (folder / "config.json").write_text(json.dumps(config))
    data = (Path(model) / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, tensors, parts, at = json.loads(data[8 : 8 + length]), {}, [], 0
    for name, t in header.items():
        if name == "__metadata__":
            continue
        begin, end = t["data_offsets"]
        words = name.split(".")
        copies = range(int(words[2]), layers, had) if name.startswith("model.layers.") else [None]
        for layer in copies:
            new = name if layer is None else ".".join(words[:2] + [str(layer)] + words[3:])
            tensors[new] = dict(t, data_offsets=[at, at + end - begin])
            parts.append(data[8 + length + begin : 8 + length + end])
            at += end - begin
    text = json.dumps(tensors).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def sum_of_bundle(file):
    """Of its bytes and those of the files beside it that it names."""
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[24:32])
    total = hashlib.sha256(data)
    for name, size in json.loads(data[48 : 48 + length])["weights"]["shards"]:
        part = file.with_name(name).read_bytes()
        assert len(part) == size, name
        total.update(part)
    return total.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--cke", default="build/release/cke")
    parser.add_argument("--model", default="assets/tiny")
    parser.add_argument("--layers", type=int, default=40, help="of the model that is packed; 0: as it is")
    parser.add_argument("--shard-size", help="of the bundle's files with weights")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        model = place / "model" if args.layers else args.model
        if args.layers:
            larger(args.model, model, args.layers)
        out = place / "out"
        out.mkdir()
        words = [args.cke, "pack", model, "-o", out / "model.cke", "--format", "f32"]
        words += ["--shard-size", args.shard_size] if args.shard_size else []
        for _ in range(2):  # the first run compiles
            (out / "model.cke").unlink(missing_ok=True)
            start = time.monotonic()
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds = time.monotonic() - start
        whole = sum_of_bundle(out / "model.cke")
        size = (out / "model.cke").stat().st_size
        kills, runs, found, left = 0, 0, 0, 0
        while kills < args.kills:
            replaces = runs % 2 == 1
            if not replaces:
                (out / "model.cke").unlink(missing_ok=True)
            elif not (out / "model.cke").exists():
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            run = subprocess.Popen(words + (["--replace"] if replaces else []), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
            runs += 1
            try:
                run.wait(chance.uniform(0, seconds * 1.2))
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                run.wait()
                kills += 1
            assert run.returncode in (0, -signal.SIGKILL), run.stderr.read().decode()
            names = sorted(file.name for file in out.iterdir())
            others = [name for name in names if name != "model.cke"]
            # Only a replacement has a name before it is whole, and a shard before the bundle has.
            assert all(".partial-" in name and (replaces or args.shard_size) or ".cke-part" in name and args.shard_size
                       for name in others), names
            others = [name for name in others if ".partial-" in name]
            left += len(others)
            for name in others:
                (out / name).unlink()
            if "model.cke" in names:
                found += 1
                got = sum_of_bundle(out / "model.cke")
                assert got == whole, f"run {runs}: a bundle with other bytes"
            else:
                assert not replaces, "the bundle that was to be replaced is gone"
        print(f"{kills} kills in {runs} runs of {seconds:.2f} s, {size / 1e6:.0f} MB each: {found} whole bundles, 0 half "
              f"ones, {left} temporary files of replacements")


if __name__ == "__main__":
    main()
