# SPDX-License-Identifier: MIT
"""make.py: image files of every kind, each with what Pillow makes of it (FILE.ppm), pictures that Pillow resized, and
processors of transformers with what they make of an image.

Run with numpy, Pillow 13, transformers 5.23 and torchvision; tests/image/ reads the files, and fuzz/seeds/image/ gets
some of them.
"""
import io
import json
import random
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tools/parity"))
import image_files as make  # noqa: E402
import image_processors  # noqa: E402

MOST = 12  # pixels of a side


def expected(path: Path) -> None:
    image = make.as_transformers_reads(path.read_bytes())
    Path(f"{path}.ppm").write_bytes(make.saved(image, "PPM"))


def write(name: str, file: bytes) -> None:
    path = HERE / "files" / name
    path.write_bytes(file)
    expected(path)


def files() -> None:
    draw = random.Random(1)
    for color, depths in make.DEPTHS.items():
        for depth in depths:
            write(f"png-{color}-{depth}.png", make.png(draw, MOST, color, depth))
    for mode in ["L", "RGB", "CMYK"]:
        for i in range(3):
            write(f"jpeg-{mode}-{i}.jpg", make.jpeg(draw, MOST, mode))
    for mode in ["RGB", "RGBA"]:
        for i in range(3):
            write(f"webp-{mode}-{i}.webp", make.webp(draw, MOST, mode))
    for mode in ["L", "P"]:
        for i in range(3):
            write(f"gif-{mode}-{i}.gif", make.gif(draw, MOST, mode))
    while True:  # a transparent screen around the frame
        file = make.gif(draw, MOST, "P")
        image = make.Image.open(io.BytesIO(file))
        if "transparency" in image.info and image.tile[0].extents[2:] != image.size:
            break
    write("gif-screen.gif", file)
    ties = bytes(range(7)) * 2  # of 6: 42.5, 127.5 and 212.5
    write("pnm-ties.pnm", b"P5 7 2 6\n" + ties)
    for bits in [1, 4, 8, 16, 24, 32]:
        write(f"bmp-{bits}.bmp", make.bmp(draw, MOST, bits, False))
    for bits in [4, 8]:
        write(f"bmp-rle-{bits}.bmp", make.bmp(draw, 3 * MOST, bits, True))
    for kind in range(1, 7):
        write(f"pnm-{kind}.pnm", make.pnm(draw, MOST, kind))
    image = make.picture(draw, 1, "RGB").resize((3, 2))
    image.putdata([(40 * i, 200 - 30 * i, 7 * i) for i in range(6)])
    for orientation in range(1, 9):
        exif = make.tiff(draw, orientation)
        write(f"orientation-{orientation}.png", make.saved(image, "PNG", exif=exif))


def resized() -> None:
    draw = random.Random(2)
    image = make.Image.frombytes("RGB", (13, 17), draw.randbytes(13 * 17 * 3))
    (HERE / "resized/source.ppm").write_bytes(make.saved(image, "PPM"))
    for kind in [1, 2, 3, 4, 5]:
        for width, height in [(6, 5), (20, 23), (13, 4), (5, 17), (1, 1)]:
            out = make.saved(image.resize((width, height), kind), "PPM")
            (HERE / f"resized/{kind}-{width}x{height}.ppm").write_bytes(out)


# Name, kind, image, options. What is nested stands in processor_config.json, beside a file that does not count.
PROCESSORS = [
    ("siglip", "siglip", "wide", {"size": {"height": 7, "width": 9}}),
    ("gemma3", "gemma3", "tall", {"size": {"height": 6, "width": 5}}),
    ("gemma3-crops", "gemma3", "wide", {
        "size": {"height": 6, "width": 6}, "do_pan_and_scan": True, "pan_and_scan_min_crop_size": 8,
        "pan_and_scan_max_num_crops": 4, "pan_and_scan_min_ratio_to_activate": 1.2}),
    ("qwen2_5_vl", "qwen2_vl", "wide", {"patch_size": 3, "min_pixels": 36, "max_pixels": 400}),
    ("qwen3_vl-nested", "qwen2_vl", "tall", {
        "patch_size": 4, "size": {"shortest_edge": 64, "longest_edge": 640}, "image_mean": [0.5, 0.4, 0.3],
        "image_std": [0.5, 0.6, 0.7]}),
    ("gemma4-nested", "gemma4", "wide", {"patch_size": 2, "pooling_kernel_size": 1, "max_soft_tokens": 70}),
    ("idefics3", "idefics3", "wide", {"size": {"longest_edge": 16}, "max_image_size": {"longest_edge": 6}}),
    ("smolvlm", "smolvlm", "tall", {
        "size": {"longest_edge": 18}, "max_image_size": {"longest_edge": 9}, "do_image_splitting": False}),
    ("pixtral", "pixtral", "tall", {"size": {"longest_edge": 30}, "patch_size": {"height": 4, "width": 4}}),
    ("mistral3", "pixtral", "wide", {"size": {"longest_edge": 24}, "patch_size": {"height": 4, "width": 4}}),
    ("lfm2_vl", "lfm2_vl", "wide", {
        "encoder_patch_size": 2, "tile_size": 8, "min_image_tokens": 2, "max_image_tokens": 9, "max_tiles": 4}),
    ("lfm2_vl-whole", "lfm2_vl", "narrow", {
        "encoder_patch_size": 2, "tile_size": 8, "min_image_tokens": 2, "max_image_tokens": 9,
        "do_image_splitting": False, "resample": 3}),
]


def processors() -> None:
    draw = random.Random(3)
    sizes = {"wide": (47, 31), "tall": (23, 44), "narrow": (9, 70)}
    images = {}
    for name, size in sizes.items():  # of noise, in which every rule of a resize shows
        images[name] = make.Image.frombytes("RGB", size, draw.randbytes(size[0] * size[1] * 3))
        (HERE / f"processors/{name}.ppm").write_bytes(make.saved(images[name], "PPM"))
    for name, kind, image, options in PROCESSORS:
        folder = HERE / "processors" / name
        folder.mkdir()
        merged = {"patch_size": 8} if name == "mistral3" else {}  # as PixtralProcessor calls it
        out = image_processors.expected(kind, folder, options, [images[image]], **merged)
        inner = folder / "preprocessor_config.json"
        if name == "mistral3":
            (folder / "processor_config.json").write_text('{"patch_size": 4, "spatial_merge_size": 2}\n')
        if name.endswith("-nested"):
            config = {"image_processor": json.loads(inner.read_text()), "processor_class": "Some"}
            (folder / "processor_config.json").write_text(json.dumps(config, indent=2) + "\n")
            inner.write_text('{"image_processor_type": "SiglipImageProcessor"}\n')
        write_expected(folder, f"{image}.ppm", out)


def write_expected(folder: Path, image: str, out: image_processors.Result) -> None:
    lines = [f"{image} {len(out.tiles)} {out.rows} {out.cols}"]
    lines += [" ".join(map(str, [t.values.ndim, *t.values.shape, *t.grid])) for t in out.tiles]
    (folder / "expected.txt").write_text("\n".join(lines) + "\n")
    (folder / "expected.f32").write_bytes(b"".join(t.values.astype("<f4").tobytes() for t in out.tiles))


VIDEOS = [
    ("qwen2_5_vl", "qwen2_video", {"patch_size": 3, "size": {"shortest_edge": 36, "longest_edge": 300}}),
    ("qwen3_vl", "qwen3_video", {"patch_size": 3, "size": {"shortest_edge": 36, "longest_edge": 900}}),
    ("qwen3_vl-capped", "qwen3_video", {
        "patch_size": 3, "size": {"shortest_edge": 36, "longest_edge": 900}, "cap_pixels_per_frame": True,
        "max_video_tokens": 5}),
]


def videos() -> None:
    """Three frames; the patches take two each."""
    draw = random.Random(4)
    frames = [make.Image.fromarray(make.pixels(draw, 23, 31, 3).astype("u1")) for _ in range(3)]
    for i, frame in enumerate(frames):
        (HERE / f"videos/frame{i}.ppm").write_bytes(make.saved(frame, "PPM"))
    for name, kind, options in VIDEOS:
        folder = HERE / "videos" / name
        folder.mkdir()
        write_expected(folder, "frame0.ppm", image_processors.expected(kind, folder, options, frames))


def seeds() -> None:
    for name in ["png-3-4.png", "png-2-16.png", "jpeg-RGB-0.jpg", "jpeg-CMYK-1.jpg", "webp-RGBA-0.webp", "webp-RGB-1.webp",
                 "gif-P-0.gif", "bmp-32.bmp", "bmp-rle-4.bmp", "pnm-3.pnm", "pnm-5.pnm"]:
        shutil.copy(HERE / "files" / name, ROOT / "fuzz/seeds/image" / name)
    for name, *_ in PROCESSORS:
        config = (HERE / "processors" / name / "preprocessor_config.json").read_text()
        if name.endswith("-nested"):
            outer = json.loads((HERE / "processors" / name / "processor_config.json").read_text())
            config = json.dumps(outer["image_processor"], indent=2)
        (ROOT / "fuzz/seeds/image_processor" / name).write_text(config)


if __name__ == "__main__":
    for folder in ["files", "resized", "processors", "videos"]:
        shutil.rmtree(HERE / folder, ignore_errors=True)
        (HERE / folder).mkdir()
    files()
    resized()
    processors()
    videos()
    seeds()
