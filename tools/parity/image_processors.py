#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""image_processors.py N [--seed S]: N random images through random image processors, by cke and by transformers.

Each tensor must be equal to the last bit. LFM2-VL and videos of Qwen have no PIL processor: there torchvision resizes.
Needs transformers 5.23, torchvision and Pillow 13, and the libraries of <cke/image/decode.hpp>.
"""
import argparse
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import transformers
from PIL import Image

from image_files import pixels, saved

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ["-lpng", "-ljpeg", "-lwebpdemux", "-lwebp", "-lgif"]


class Tile(NamedTuple):
    values: np.ndarray
    grid: tuple[int, int, int]  # t, h, w in patches; 0 where the processor does not know


class Result(NamedTuple):
    tiles: list[Tile]
    rows: int
    cols: int


Draw = random.Random


def usual(draw: Draw) -> dict:
    """What every processor may be told."""
    out = {}
    if draw.random() < 0.5:
        out["image_mean"] = [draw.random() for _ in range(3)]
        out["image_std"] = [0.1 + draw.random() for _ in range(3)]
    if draw.random() < 0.2:
        out["rescale_factor"] = draw.choice([1 / 127.5, 1 / 256, 0.00392156862745098])
    for key in ["do_normalize", "do_rescale"]:
        if draw.random() < 0.1:
            out[key] = False
    if draw.random() < 0.3:
        out["resample"] = draw.choice([1, 2, 3, 4, 5])
    return out


def draw_siglip(draw: Draw) -> dict:
    return {"size": {"height": draw.randint(1, 40), "width": draw.randint(1, 40)}}


def draw_gemma3(draw: Draw) -> dict:
    out = {"size": {"height": draw.randint(1, 20), "width": draw.randint(1, 20)}}
    if draw.random() < 0.6:
        out |= {"do_pan_and_scan": True, "pan_and_scan_min_crop_size": draw.randint(8, 20),
                "pan_and_scan_max_num_crops": draw.randint(2, 5),
                "pan_and_scan_min_ratio_to_activate": 1 + draw.random()}
    return out


def draw_qwen2_vl(draw: Draw) -> dict:
    patch, merge = draw.choice([2, 3, 4, 14, 16]), draw.choice([1, 2, 2, 3])
    least = draw.randint(1, 20) * (patch * merge) ** 2
    most = least + draw.randint(4, 40) * (patch * merge) ** 2
    out = {"patch_size": patch, "merge_size": merge, "temporal_patch_size": draw.choice([1, 2, 2, 3])}
    if draw.random() < 0.5:
        return out | {"min_pixels": least, "max_pixels": most}
    return out | {"size": {"shortest_edge": least, "longest_edge": most}}


def draw_video(draw: Draw) -> dict:
    out = draw_qwen2_vl(draw)
    if "size" not in out:
        out["size"] = {"shortest_edge": out.pop("min_pixels"), "longest_edge": out.pop("max_pixels")}
    out["resample"] = draw.choice([2, 3])
    return out | {"cap_pixels_per_frame": draw.random() < 0.4, "max_video_tokens": draw.choice([4, 20, 768])}


def draw_gemma4(draw: Draw) -> dict:
    return {"patch_size": draw.choice([2, 4]), "pooling_kernel_size": draw.choice([1, 2, 3]),
            "max_soft_tokens": draw.choice([70, 140])}


def draw_idefics3(draw: Draw) -> dict:
    tile = draw.randint(6, 30)
    return {"size": {"longest_edge": tile * draw.randint(1, 4) + draw.choice([0, 0, 3])},
            "max_image_size": {"longest_edge": tile}, "do_image_splitting": draw.random() < 0.8}


def draw_pixtral(draw: Draw) -> dict:
    return {"size": {"longest_edge": draw.randint(8, 80)}, "patch_size": {"height": 4, "width": 4}}


def draw_lfm2_vl(draw: Draw) -> dict:
    patch, downsample = draw.choice([2, 4]), draw.choice([1, 2])
    return {"encoder_patch_size": patch, "downsample_factor": downsample,
            "tile_size": patch * downsample * draw.randint(2, 6), "min_tiles": 2, "max_tiles": draw.randint(2, 10),
            "min_image_tokens": draw.randint(2, 8),
            "max_image_tokens": draw.randint(9, 30), "max_pixels_tolerance": draw.choice([1.0, 2.0]),
            "use_thumbnail": draw.random() < 0.7, "do_image_splitting": draw.random() < 0.8,
            "resample": draw.choice([2, 3])}


KINDS = {
    "siglip": ("SiglipImageProcessorPil", draw_siglip), "gemma3": ("Gemma3ImageProcessorPil", draw_gemma3),
    "qwen2_vl": ("Qwen2VLImageProcessorPil", draw_qwen2_vl), "gemma4": ("Gemma4ImageProcessorPil", draw_gemma4),
    "idefics3": ("Idefics3ImageProcessorPil", draw_idefics3), "smolvlm": ("SmolVLMImageProcessorPil", draw_idefics3),
    "qwen2_video": ("Qwen2VLVideoProcessor", draw_video), "qwen3_video": ("Qwen3VLVideoProcessor", draw_video),
    "pixtral": ("PixtralImageProcessorPil", draw_pixtral), "lfm2_vl": ("Lfm2VlImageProcessor", draw_lfm2_vl),
}


def drawn(kind: str, draw: Draw) -> tuple[dict, list[Image.Image]]:
    """Arguments of a processor, and an image for it, or the frames of a video."""
    options = usual(draw) | KINDS[kind][1](draw)
    long, short = draw.randint(1, 120), draw.randint(1, 120)
    if draw.random() < 0.5:
        short = min(120, max(1, long + draw.randint(-20, 20)))
    size = draw.choice([(long, short), (short, long)])
    count = draw.randint(2, 7) if kind.endswith("video") else 1
    return options, [Image.fromarray(pixels(draw, *size, 3).astype("u1")) for _ in range(count)]


def expected(kind: str, folder: Path, options: dict, images: list[Image.Image], **extra) -> Result | None:
    """Writes the config as transformers saves it, and runs its processor; None if that refuses the image."""
    processor = getattr(transformers, KINDS[kind][0])(**options)
    image = images[0]
    processor.save_pretrained(folder)
    if kind in ("idefics3", "smolvlm", "lfm2_vl"):
        extra["return_row_col_info"] = True
    try:
        if kind.endswith("video"):
            frames = np.stack([np.asarray(i).transpose(2, 0, 1) for i in images])
            out = processor(frames, do_sample_frames=False, return_tensors="np")
            grid = tuple(map(int, out["video_grid_thw"][0]))
            return Result([Tile(np.asarray(out["pixel_values_videos"]).astype("f4"), grid)], 0, 0)
        out = processor(image, return_tensors="np", **extra)
    except (ValueError, ZeroDivisionError, RuntimeError):
        return None
    values = np.asarray(out["pixel_values"])
    values = values.astype(np.float32)  # without rescaling it is still 8 bits
    if kind == "qwen2_vl":
        return Result([Tile(values, tuple(map(int, out["image_grid_thw"][0])))], 0, 0)
    if kind == "gemma4":
        last = np.asarray(out["image_position_ids"][0]).max(axis=0)
        return Result([Tile(values[0], (1, int(last[1]) + 1, int(last[0]) + 1))], 0, 0)
    if kind == "pixtral":
        return Result([Tile(values[0], (1, values.shape[2] // 4, values.shape[3] // 4))], 0, 0)
    if kind in ("idefics3", "smolvlm"):
        return Result([Tile(v, (1, 0, 0)) for v in values[0]], out["rows"][0][0], out["cols"][0][0])
    if kind == "lfm2_vl":
        grids = np.asarray(out["spatial_shapes"])
        rows, cols = int(np.ravel(out["image_rows"])[0]), int(np.ravel(out["image_cols"])[0])
        cut = (rows, cols) if rows * cols > 1 else (0, 0)
        return Result([Tile(v, (1, int(h), int(w))) for v, (h, w) in zip(values, grids)], *cut)
    if kind == "gemma3" and (crops := int(out["num_crops"][0])):
        wide = image.width >= image.height
        return Result([Tile(v, (1, 0, 0)) for v in values], 1 if wide else crops, crops if wide else 1)
    return Result([Tile(v, (1, 0, 0)) for v in values], 0, 0)


class Processor:
    """process_image as a process."""

    def __init__(self, folder: Path):
        program = folder / "process_image"
        subprocess.run(["g++", "-std=c++20", "-O2", "-march=native", "-ffp-contract=off", "-I", ROOT / "include",
                        ROOT / "tools/parity/process_image.cpp", "-o", program, *LIBRARIES], check=True)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, folder: Path, files: list[Path]) -> Result | str:
        self.process.stdin.write("\t".join(map(str, [folder, *files])).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().decode()
        if not line.startswith("ok "):
            return line.rstrip("\n") or "it died"
        count, rows, cols, _ = map(int, line.split()[1:])
        tiles = []
        for _ in range(count):
            rank, *numbers = map(int, self.process.stdout.readline().split())
            shape, grid = numbers[:rank], tuple(numbers[rank:])
            values = np.frombuffer(self.process.stdout.read(4 * int(np.prod(shape))), "f4")
            tiles.append(Tile(values.reshape(shape), grid))
        return Result(tiles, rows, cols)


def difference(found: Result | str, wanted: Result | None) -> str | None:
    if wanted is None or isinstance(found, str):
        same = wanted is None and isinstance(found, str)
        return None if same else found if wanted else "transformers refuses it"
    if (found.rows, found.cols, len(found.tiles)) != (wanted.rows, wanted.cols, len(wanted.tiles)):
        return (f"{len(found.tiles)} tiles, {found.rows} x {found.cols}; "
                f"not {len(wanted.tiles)}, {wanted.rows} x {wanted.cols}")
    for i, (f, w) in enumerate(zip(found.tiles, wanted.tiles)):
        if f.values.shape != w.values.shape or f.grid != w.grid:
            return f"tile {i}: {f.values.shape}, grid {f.grid}; not {w.values.shape}, grid {w.grid}"
        if (apart := float(np.abs(f.values - w.values).max())) > 0:
            return f"tile {i}: {apart} apart"
    return None


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("n", type=int)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--kind", choices=list(KINDS))
    asked = arguments.parse_args()
    draw, wrong, refused = random.Random(asked.seed), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processor = Processor(folder)
        for i in range(asked.n):
            kind = asked.kind or draw.choice(list(KINDS))
            options, images = drawn(kind, draw)
            files = [folder / f"image{i}.ppm" for i in range(len(images))]
            for file, image in zip(files, images):
                file.write_bytes(saved(image, "PPM"))
            wanted = expected(kind, folder, options, images)
            refused += wanted is None
            if why := difference(processor.ask(folder, files), wanted):
                print(f"{kind}, {len(images)} of {images[0].width} x {images[0].height}, {options}: {why}")
                wrong += 1
    print(f"{asked.n} images, of which {refused} are refused: {wrong} differ from transformers'")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
