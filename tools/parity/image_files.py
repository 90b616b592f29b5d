# SPDX-License-Identifier: MIT
"""image_files.py: random image files of every kind that cke reads, also of kinds that Pillow does not write."""
import io
import random
import struct
import zlib
from typing import Callable

import numpy as np
from PIL import Image

Draw = random.Random


def pixels(draw: Draw, width: int, height: int, channels: int, most: int = 255) -> np.ndarray:
    """[height, width, channels]: noise, a ramp, or a few colours."""
    noise = np.random.default_rng(draw.getrandbits(64))
    kind = draw.randrange(3)
    if kind == 0:
        return noise.integers(0, most + 1, (height, width, channels))
    if kind == 1:
        y, x = np.mgrid[:height, :width]
        steps = noise.integers(1, 9, (2, channels))
        return (y[..., None] * steps[0] + x[..., None] * steps[1] + noise.integers(0, most + 1, channels)) % (most + 1)
    colors = noise.integers(0, most + 1, (draw.randint(1, 4), channels))
    return colors[noise.integers(0, len(colors), (height, width))]


def size(draw: Draw, most: int) -> tuple[int, int]:
    return draw.randint(1, most), draw.randint(1, most)


def tiff(draw: Draw, orientation: int) -> bytes:
    """An EXIF block of two entries, of either byte order."""
    order, mark = draw.choice([("<", b"II"), (">", b"MM")])
    turned = struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    other = struct.pack(order + "HHII", 0x0131, 2, 2, 0x41004100)
    return mark + struct.pack(order + "HIH", 42, 8, 2) + turned + other + struct.pack(order + "I", 0)


# ---- PNG ---------------------------------------------------------------------------------------------

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def packed(rows: np.ndarray, depth: int) -> bytes:
    """Each row with filter 0, samples packed from the highest bit on."""
    out = b""
    for row in rows.reshape(rows.shape[0], -1):
        if depth == 16:
            out += b"\0" + row.astype(">u2").tobytes()
        elif depth == 8:
            out += b"\0" + row.astype("u1").tobytes()
        else:
            bits = (row[:, None] >> np.arange(depth - 1, -1, -1)) & 1
            out += b"\0" + np.packbits(bits.astype("u1")).tobytes()
    return out


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(draw: Draw, most: int, color: int | None = None, depth: int | None = None) -> bytes:
    color = draw.choice(list(DEPTHS)) if color is None else color
    depth = draw.choice(DEPTHS[color]) if depth is None else depth
    width, height = size(draw, most)
    colors = draw.randint(1, 1 << depth) if color == 3 else 0
    image = pixels(draw, width, height, CHANNELS[color], colors - 1 if colors else (1 << depth) - 1)
    if depth == 16 and draw.random() < 0.5:
        image %= 300  # values that do not all saturate
    interlaced = draw.random() < 0.3
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced))
    if colors:
        out += chunk(b"PLTE", draw.randbytes(3 * colors))
    if draw.random() < 0.5:
        if color == 3:
            out += chunk(b"tRNS", draw.randbytes(draw.randint(1, colors)))
        elif color in (0, 2):
            out += chunk(b"tRNS", image[draw.randrange(height), draw.randrange(width)].astype(">u2").tobytes())
    if draw.random() < 0.3:
        out += chunk(b"eXIf", tiff(draw, draw.randint(1, 8)))
    elif draw.random() < 0.1:
        out += chunk(b"iTXt", b'XML:com.adobe.xmp\0\0\0\0\0<a tiff:Orientation="%d"/>' % draw.randint(1, 8))
    if interlaced:
        passes = [image[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        raw = b"".join(packed(p, depth) for p in passes if p.size)
    else:
        raw = packed(image, depth)
    data = zlib.compress(raw)
    cut = draw.randint(0, len(data))
    return out + chunk(b"IDAT", data[:cut]) + chunk(b"IDAT", data[cut:]) + chunk(b"IEND", b"")


# ---- JPEG, WebP and GIF, through Pillow --------------------------------------------------------------------

MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def picture(draw: Draw, most: int, mode: str) -> Image.Image:
    channels = {"L": 1, "P": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    image = pixels(draw, *size(draw, most), channels).astype("u1")
    raw = Image.frombytes(mode, image.shape[1::-1], image.tobytes())
    if mode == "P":
        raw.putpalette(draw.randbytes(768))
    return raw


def saved(image: Image.Image, kind: str, **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def jpeg(draw: Draw, most: int, mode: str | None = None) -> bytes:
    image = picture(draw, most, mode or draw.choice(["L", "RGB", "RGB", "CMYK"]))
    options = {"quality": draw.randint(5, 100), "progressive": draw.random() < 0.3}
    if image.mode == "RGB":
        options["subsampling"] = draw.choice([0, 1, 2])
        options["keep_rgb"] = options["subsampling"] == 0 and draw.random() < 0.5
    if draw.random() < 0.2:
        options["restart_marker_blocks"] = draw.randint(1, 4)
    if draw.random() < 0.4:
        options["exif"] = b"Exif\0\0" + tiff(draw, draw.randint(0, 9))
    elif draw.random() < 0.1:
        options["xmp"] = b"<tiff:Orientation>%d</tiff:Orientation>" % draw.randint(1, 8)
    out = saved(image, "JPEG", **options)
    adobe = out.find(b"\xff\xee\x00\x0eAdobe")
    if adobe >= 0 and draw.random() < 0.5:  # the other reading of the same numbers: YCCK, or YCbCr
        out = out[:adobe + 15] + bytes([2 if image.mode == "CMYK" else 1]) + out[adobe + 16:]
    return out


def webp(draw: Draw, most: int, mode: str | None = None) -> bytes:
    mode = mode or draw.choice(["RGB", "RGBA"])
    image = picture(draw, most, mode)
    options = {"lossless": draw.random() < 0.5, "quality": draw.randint(0, 100), "method": 0}
    if draw.random() < 0.3:
        options["exif"] = tiff(draw, draw.randint(1, 8))
    if draw.random() < 0.2:
        other = Image.frombytes(mode, image.size, draw.randbytes(len(image.tobytes())))
        options |= {"save_all": True, "append_images": [other], "duration": 40}
    return saved(image, "WEBP", **options)


def gif(draw: Draw, most: int, mode: str | None = None) -> bytes:
    image = picture(draw, most, mode or draw.choice(["P", "L"]))
    options = {"interlace": draw.random() < 0.5}
    if draw.random() < 0.5:
        options["transparency"] = draw.choice(list(image.tobytes()))
    if draw.random() < 0.3:
        other = Image.frombytes(image.mode, image.size, draw.randbytes(image.width * image.height))
        options |= {"save_all": True, "append_images": [other]}
    out = bytearray(saved(image, "GIF", **options))
    if draw.random() < 0.3:  # a screen of another size than the frame
        out[6:10] = struct.pack("<HH", *size(draw, 2 * most))
        out[11] = 0
    return bytes(out)


# ---- BMP -----------------------------------------------------------------------------------------

MASKS = {
    16: [(0xF800, 0x7E0, 0x1F, 0), (0x7C00, 0x3E0, 0x1F, 0)],
    24: [(0xFF0000, 0xFF00, 0xFF, 0)],
    32: [(0xFF0000, 0xFF00, 0xFF, 0), (0xFF000000, 0xFF0000, 0xFF00, 0), (0xFF000000, 0xFF00, 0xFF, 0),
         (0xFF000000, 0xFF0000, 0xFF00, 0xFF), (0xFF, 0xFF00, 0xFF0000, 0xFF000000),
         (0xFF0000, 0xFF00, 0xFF, 0xFF000000), (0xFF000000, 0xFF00, 0xFF, 0xFF0000), (0, 0, 0, 0)],
}


def runs(draw: Draw, width: int, height: int, four: bool) -> bytes:
    """Every pixel of every row, in runs and literals; rows end as they should."""
    out = bytearray()
    for _ in range(height):
        left = width
        while left:
            n = min(left, draw.randint(1, 20))
            if n >= 3 and draw.random() < 0.5:
                body = draw.randbytes((n + 1) // 2 if four else n)
                out += bytes([0, n]) + body + b"\0" * (len(body) % 2)
            else:
                out += bytes([n, draw.randrange(256)])
            left -= n
        out += b"\0\0"
    return bytes(out) + b"\0\1"


def bmp(draw: Draw, most: int, bits: int | None = None, rle: bool | None = None) -> bytes:
    bits = bits or draw.choice([1, 4, 8, 16, 24, 32])
    width, height = size(draw, most)
    rle = bits in (4, 8) and draw.random() < 0.4 if rle is None else rle
    header = draw.choice([40, 52, 56, 108, 124] if rle or bits >= 16 else [12, 40, 108, 124])
    fields = not rle and bits >= 16 and header > 12 and draw.random() < 0.6
    colors = 0 if bits > 8 else 1 << bits if header == 12 else draw.randint(3 if bits > 1 else 2, 1 << bits)
    down = header > 12 and not rle and draw.random() < 0.3
    masks = draw.choice(MASKS[bits]) if fields else (0, 0, 0, 0)
    if header == 12:
        head = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        compression = 3 if fields else (1 if bits == 8 else 2) if rle else 0
        signed = -height if down else height
        head = struct.pack("<IIiHHIIIIII", 40, width, signed, 1, bits, compression, 0, 0, 0, colors, 0)
        if header > 40:
            if header < 56:
                masks = masks[:3] + (0,)
            head += struct.pack("<IIII", *masks) + bytes(108)
        head = struct.pack("<I", header) + head[4:header]
        if fields and header == 40:
            masks = masks[:3] + (0,)
            head += struct.pack("<III", *masks[:3])
    if fields and masks not in MASKS[bits]:
        return bmp(draw, most, bits, rle)  # without its alpha this layout has no name
    entry = 3 if header == 12 else 4
    palette = draw.randbytes(entry * colors)
    if rle:
        body = runs(draw, width, height, bits == 4)
    else:
        body = draw.randbytes((width * bits + 31) // 32 * 4 * height)
    at = 14 + len(head) + len(palette)
    return b"BM" + struct.pack("<IHHI", at + len(body), 0, 0, at) + head + palette + body


# ---- PNM ---------------------------------------------------------------------------------------------


def pnm(draw: Draw, most: int, kind: int | None = None) -> bytes:
    kind = kind or draw.randint(1, 6)
    width, height = size(draw, most)
    channels = 3 if kind in (3, 6) else 1
    greatest = 1 if kind in (1, 4) else draw.choice([255, 255, 65535, 1, 6, 7, 30, 200, 300, 510, 1023])
    image = pixels(draw, width, height, channels, greatest)
    head = f"P{kind}" + draw.choice(["\n", " ", "\n# a comment\n"]) + f"{width} {height}\n"
    if kind not in (1, 4):
        head += f"{greatest}\n"
    if kind <= 3:
        space = "" if kind == 1 and draw.random() < 0.5 else " "
        return (head + "\n".join(space.join(map(str, row)) for row in image.reshape(height, -1)) + "\n").encode()
    if kind == 4:
        return head.encode() + np.packbits(image[..., 0].astype("u1"), axis=1).tobytes()
    return head.encode() + image.astype(">u2" if greatest > 255 else "u1").tobytes()


Make = Callable[[Draw, int], bytes]
KINDS: dict[str, Make] = {"png": png, "jpg": jpeg, "webp": webp, "gif": gif, "bmp": bmp, "ppm": pnm}


def as_transformers_reads(file: bytes) -> Image.Image:
    """ImageOps.exif_transpose, then image_transforms.convert_to_rgb of transformers 5.23."""
    from PIL import ImageOps

    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    if "A" in image.getbands() or image.info.get("transparency") is not None:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")
