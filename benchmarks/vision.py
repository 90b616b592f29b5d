#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vision.py: seconds that an image costs: cke, llama.cpp's mtmd and torch (eager), turn by turn, with the same random weights.

    python benchmarks/vision.py siglip|qwen3_vl [--side N] [--turns N] [--threads N] [--type F16] [--mtmd PYTHON] [--cke PATH]

siglip is Gemma 3's tower, SigLIP so400m at 896 pixels; qwen3_vl is Qwen3-VL 2B's. Both have their true shape and a tiny
text model. Needs torch, transformers, gguf, numpy and pillow; --mtmd names an interpreter with llama-cpp-py-sync, cffi,
numpy and pillow. A turn times each engine once, from an image in memory (mtmd, torch) or a file (cke) to rows of
features; of cke it is what a second image adds to a run of the command. torch computes in float32.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "parity"))
SHAPES = {
    "siglip": ("gemma3", 896, {"hidden_size": 2560}, dict(hidden_size=1152, intermediate_size=4304, num_hidden_layers=27,
               num_attention_heads=16, image_size=896, patch_size=14), {"mm_tokens_per_image": 256}),
    "qwen3_vl": ("qwen3_vl", 1024, {"hidden_size": 2048}, dict(hidden_size=1024, intermediate_size=4096, depth=24, num_heads=16,
                 out_hidden_size=2048, patch_size=16, num_position_embeddings=2304, deepstack_visual_indexes=[5, 11, 17]), {}),
}


def serve(once):
    """Answers each line of standard input with the seconds that once() took."""
    print("ready", flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        once()
        print(time.perf_counter() - begun, flush=True)


def serve_mtmd(model, mmproj, image, threads):
    import mtmd
    engine = mtmd.Mtmd(model, mmproj, threads)
    text = engine.ffi.string(engine.lib.mtmd_default_marker()).decode()
    serve(lambda: engine.features(engine.chunks(text, [image])))


def serve_torch(directory, image, threads):
    import torch
    from PIL import Image
    from transformers import AutoImageProcessor, AutoModelForImageTextToText
    torch.set_num_threads(threads)
    model = AutoModelForImageTextToText.from_pretrained(directory, dtype=torch.float32).eval()
    processor, pixels = AutoImageProcessor.from_pretrained(directory), Image.open(image).convert("RGB")

    def once():
        with torch.no_grad():
            model.get_image_features(**{k: v for k, v in processor([pixels], return_tensors="pt").items() if k != "num_crops"})
    serve(once)


class Child:
    def __init__(self, python, *words):
        self.process = subprocess.Popen([python, __file__, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{words[0]} did not start")

    def seconds(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def make(name, directory, type_name, side):
    """The checkpoint as a directory and as GGUF with an mmproj file, and two images."""
    import torch
    import vision_families
    import vision_gguf
    import vision_images
    import vision_reference
    base, _, text, seen, more = SHAPES[name]
    family = vision_gguf.family_of(base, vision_families.Shapes())
    config = vision_gguf.with_parts(family.config, text, seen).to_dict() | more
    family.config = type(family.config).from_dict(config)
    image = vision_gguf.image_processor_of(family.files)
    if name == "siglip":
        image["size"] = {"height": seen["image_size"], "width": seen["image_size"]}
    else:
        block = (seen["patch_size"] * 2) ** 2
        image["patch_size"] = seen["patch_size"]
        image["size"] = {"shortest_edge": vision_gguf.LEAST_ROWS * block, "longest_edge": vision_gguf.MOST_ROWS * block}
        family.files["processor_config.json"]["image_processor"] = image
    if not (directory / "mmproj-model.gguf").exists():
        vision_reference.write(family, directory, 1, torch.float16)
        vision_gguf.write(base, family, directory, type_name)
    for i in range(2):
        vision_images.picture(side, side, seed=i).save(directory / f"{i}.png")
    patches, width = (side // seen["patch_size"]) ** 2, seen["hidden_size"]
    layers = seen.get("num_hidden_layers") or seen["depth"]
    return layers * patches * (8 * width * width + 4 * width * seen["intermediate_size"] + 4 * patches * width)


def main():
    if len(sys.argv) > 1 and sys.argv[1] in ("--as-mtmd", "--as-torch"):
        *words, threads = sys.argv[2:]
        return (serve_mtmd if sys.argv[1] == "--as-mtmd" else serve_torch)(*words, int(threads))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tower", choices=SHAPES)
    parser.add_argument("--side", type=int, help="pixels of the image (the tower's, or 1024)")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--type", default="F16", help="of the matrices of the mmproj file")
    parser.add_argument("--mtmd", help="an interpreter with llama-cpp-py-sync; without it mtmd is left out")
    parser.add_argument("--torch", action="store_true", help="time torch too")
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    parser.add_argument("--dir", type=Path, default=Path("/tmp/cke-vision-speed"), help="where the checkpoint is made, and stays")
    args = parser.parse_args()

    side, directory = args.side or SHAPES[args.tower][1], args.dir / f"{args.tower}-{args.type}"
    work = make(args.tower, directory, args.type, side)
    image, model, mmproj = directory / "0.png", directory / "model.gguf", directory / "mmproj-model.gguf"

    def command(*files):
        shown = [word for file in files for word in ("--image", file)]
        begun = time.perf_counter()
        subprocess.run([args.cke, "vision", model, *shown, "-t", str(args.threads), "-o", directory / "rows.npy"], check=True)
        return time.perf_counter() - begun

    command(image)  # compiles the tower
    engines = {"cke": lambda: command(image, directory / "1.png") - command(image)}
    if args.mtmd:
        engines["mtmd"] = Child(args.mtmd, "--as-mtmd", model, mmproj, image, args.threads).seconds
    if args.torch:
        engines["torch"] = Child(sys.executable, "--as-torch", directory, image, args.threads).seconds
    seconds = {name: [] for name in engines}
    for _ in range(args.turns):
        for name, once in engines.items():
            seconds[name].append(once())
        print(json.dumps({name: round(s[-1], 3) for name, s in seconds.items()}), flush=True)
    middle = {name: statistics.median(s) for name, s in seconds.items()}
    print(f"| engine | seconds | GFLOP/s | cke takes |\n|---|---|---|---|")
    for name, s in middle.items():
        print(f"| {name} | {s:.3f} | {work / s / 1e9:.1f} | {100 * middle['cke'] / s:.0f} % |")


if __name__ == "__main__":
    main()
