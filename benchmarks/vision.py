#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vision.py: seconds that an image costs: cke, llama.cpp's mtmd and torch (eager), turn by turn, with the same random weights.

    python benchmarks/vision.py siglip|qwen3_vl [--side N] [--layers N] [--turns N] [--threads N] [--type F16] [--mtmd PYTHON] [--torch] [--cke PATH]

siglip is Gemma 3's tower, SigLIP so400m at 896 pixels; qwen3_vl is Qwen3-VL 2B's. Both have their true shape and a tiny
text model. Needs torch, transformers, gguf, numpy and pillow; --mtmd names an interpreter with llama-cpp-py-sync, cffi,
numpy and pillow. A turn times each engine once, from an image in memory (mtmd, torch) or a file (cke) to rows of
features; of cke it is what a second image adds to a run of the command. torch computes in float32.
"""

import argparse
import json
import resource
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
    """Answers each line of standard input with the seconds, and CPU seconds, that once() took."""
    print("ready", flush=True)
    for _ in sys.stdin:
        begun, used = time.perf_counter(), time.process_time()
        once()
        print(time.perf_counter() - begun, time.process_time() - used, flush=True)


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
        return tuple(map(float, self.process.stdout.readline().split()))


def make(name, directory, type_name, side, layers):
    """The checkpoint as a directory and as GGUF with an mmproj file, and two images."""
    import torch
    import vision_families
    import vision_gguf
    import vision_images
    import vision_reference
    base, _, text, seen, more = SHAPES[name]
    depth = "depth" if "depth" in seen else "num_hidden_layers"
    if layers:
        seen = seen | {depth: layers}
        if "deepstack_visual_indexes" in seen:
            seen["deepstack_visual_indexes"] = [i for i in seen["deepstack_visual_indexes"] if i < layers] or [layers - 1]
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
        vision_gguf.write(family, directory, type_name)
    for i in range(2):
        vision_images.picture(side, side, seed=i).save(directory / f"{i}.png")
    patches, width = (side // seen["patch_size"]) ** 2, seen["hidden_size"]
    return seen[depth] * patches * (8 * width * width + 4 * width * seen["intermediate_size"] + 4 * patches * width)


def main():
    if len(sys.argv) > 1 and sys.argv[1] in ("--as-mtmd", "--as-torch"):
        *words, threads = sys.argv[2:]
        return (serve_mtmd if sys.argv[1] == "--as-mtmd" else serve_torch)(*words, int(threads))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tower", choices=SHAPES)
    parser.add_argument("--side", type=int, help="pixels of the image (the tower's, or 1024)")
    parser.add_argument("--layers", type=int, help="of the tower; fewer than it has, for a quick look")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--type", default="F16", help="of the matrices of the mmproj file")
    parser.add_argument("--mtmd", help="an interpreter with llama-cpp-py-sync; without it mtmd is left out")
    parser.add_argument("--torch", action="store_true", help="time torch too")
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    parser.add_argument("--dir", type=Path, default=Path("/tmp/cke-vision-speed"), help="where the checkpoint is made, and stays")
    args = parser.parse_args()

    side, directory = args.side or SHAPES[args.tower][1], args.dir / f"{args.tower}-{args.type}-{args.layers or 'all'}"
    work = make(args.tower, directory, args.type, side, args.layers)
    image, model, mmproj = directory / "0.png", directory / "model.gguf", directory / "mmproj-model.gguf"

    def command(*files):
        shown = [word for file in files for word in ("--image", file)]
        begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([args.cke, "vision", model, *shown, "-t", str(args.threads), "-o", directory / "rows.npy"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.perf_counter() - begun, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime

    def second_image():
        both, one = command(image, directory / "1.png"), command(image)
        return both[0] - one[0], both[1] - one[1]

    command(image)  # compiles the tower
    engines = {"cke": second_image}
    if args.mtmd:
        engines["mtmd"] = Child(args.mtmd, "--as-mtmd", model, mmproj, image, args.threads).seconds
    if args.torch:
        engines["torch"] = Child(sys.executable, "--as-torch", directory, image, args.threads).seconds
    seconds = {name: [] for name in engines}
    for _ in range(args.turns):
        for name, once in engines.items():
            seconds[name].append(once())
        print(json.dumps({name: [round(x, 3) for x in s[-1]] for name, s in seconds.items()}), flush=True)
    middle = {name: [statistics.median(x) for x in zip(*s)] for name, s in seconds.items()}
    print("| engine | seconds | CPU seconds | GFLOP a CPU second | cke takes | of the CPU |\n|---|---|---|---|---|---|")
    for name, (clock, cpu) in middle.items():
        shares = [f"{100 * own / other:.0f} %" for own, other in zip(middle["cke"], (clock, cpu))]
        print(f"| {name} | {clock:.3f} | {cpu:.3f} | {work / cpu / 1e9:.1f} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
