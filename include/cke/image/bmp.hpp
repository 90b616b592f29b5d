// SPDX-License-Identifier: MIT
// bmp.hpp: decodes Windows and OS/2 bitmaps: 1 to 32 bits, bit fields, RLE4 and RLE8.
#pragma once

#include "byte_reader.hpp"
#include "color.hpp"
#include "picture.hpp"

namespace cke::image::detail {

struct bmp_header {
  u32 size = 0, width = 0, height = 0, bits = 0, compression = 0, colors = 0, entry = 4;  // entry: bytes of a colour
  bool top_down = false;
  std::array<u32, 4> masks{};  // r, g, b, a
  u64 colors_at = 0, pixels_at = 0;
  enum : u32 { raw, rle8, rle4, bit_fields };
};

inline bmp_header read_bmp_header(bytes file, const std::string& name) {
  part(file, 0, 26, name, "BMP header");
  bmp_header h{.size = little32(file, 14)};
  constexpr std::array<u32, 7> sizes{12, 40, 52, 56, 64, 108, 124};
  if (std::ranges::find(sizes, h.size) == sizes.end())
    unsupported(name, "BMP header", "12, 40, 52, 56, 64, 108 or 124 bytes", concat({h.size}));
  part(file, 14, h.size, name, "BMP header");
  h.colors_at = u64{14} + h.size;
  if (h.size == 12) {
    h.width = little16(file, 18), h.height = little16(file, 20), h.bits = little16(file, 24), h.entry = 3;
  } else {
    h.width = little32(file, 18), h.height = little32(file, 22), h.bits = little16(file, 28);
    h.top_down = byte_at(file, 25) == 0xff;  // a negative height
    if (h.top_down) h.height = 0 - h.height;
    h.compression = little32(file, 30), h.colors = little32(file, 46);
    if (h.compression == bmp_header::bit_fields) {
      part(file, 54, 12, name, "BMP bit fields");
      for (u32 i = 0; i < 4; ++i)
        if (i < 3 || h.size >= 56) h.masks[i] = little32(file, 54 + 4 * i);
      if (h.size < 52) h.colors_at += 12;  // the masks follow the header
    }
  }
  constexpr std::array<u32, 6> depths{1, 4, 8, 16, 24, 32};
  if (std::ranges::find(depths, h.bits) == depths.end())
    unsupported(name, "BMP", "1, 4, 8, 16, 24 or 32 bits a pixel", concat({h.bits}));
  const bool palette_rle =
      (h.compression == bmp_header::rle8 && h.bits == 8) || (h.compression == bmp_header::rle4 && h.bits == 4);
  if (h.compression != bmp_header::raw && !palette_rle && (h.compression != bmp_header::bit_fields || h.bits < 16))
    unsupported(name, "BMP", "pixels that are not compressed, bit fields, or RLE of 4 or 8 bits",
                concat({"compression ", h.compression, " of ", h.bits, " bits"}));
  if (h.bits <= 8) {
    if (h.colors == 0) h.colors = 1u << h.bits;
    if (h.colors > 256) unsupported(name, "BMP palette", "at most 256 colours", concat({h.colors}));
  }
  h.pixels_at = little32(file, 10);
  const u64 after_palette = h.colors_at + (h.bits <= 8 ? u64{h.entry} * h.colors : 0);
  // Some writers give the end of the header as the place of the pixels, though a palette stands between.
  if (h.pixels_at == 0 || (h.pixels_at == u64{14} + h.size && h.bits <= 8)) h.pixels_at = after_palette;
  return h;
}

// The layouts that Pillow knows. Where each channel is, in bits from the lowest.
struct bmp_channels {
  u32 r, g, b, a = 32;  // 32: no alpha
  u32 wide = 8, green = 8;
};
inline bmp_channels bmp_layout(const bmp_header& h, const std::string& name) {
  using masks = std::array<u32, 4>;
  constexpr bmp_channels common{16, 8, 0}, five{10, 5, 0, 32, 5, 5};
  if (h.compression == bmp_header::raw) return h.bits == 16 ? five : common;
  struct known {
    u32 bits;
    masks of;
    bmp_channels are;
  };
  constexpr known table[] = {
      {32, {0xff0000, 0xff00, 0xff, 0}, common},
      {32, {0xff000000, 0xff0000, 0xff00, 0}, {24, 16, 8}},
      {32, {0xff000000, 0xff00, 0xff, 0}, {24, 8, 0}},
      {32, {0xff000000, 0xff0000, 0xff00, 0xff}, {24, 16, 8, 0}},
      {32, {0xff, 0xff00, 0xff0000, 0xff000000}, {0, 8, 16, 24}},
      {32, {0xff0000, 0xff00, 0xff, 0xff000000}, {16, 8, 0, 24}},
      {32, {0xff000000, 0xff00, 0xff, 0xff0000}, {24, 8, 0, 16}},
      {32, {0, 0, 0, 0}, {16, 8, 0, 24}},
      {24, {0xff0000, 0xff00, 0xff, 0}, common},
      {16, {0xf800, 0x7e0, 0x1f, 0}, {11, 5, 0, 32, 5, 6}},
      {16, {0x7c00, 0x3e0, 0x1f, 0}, five},
  };
  for (const known& k : table)
    if (k.bits == h.bits && std::equal(k.of.begin(), k.of.begin() + (h.bits == 32 ? 4 : 3), h.masks.begin()))
      return k.are;
  unsupported(name, "BMP bit fields", "a usual layout of 16, 24 or 32 bits",
              concat({"masks ", h.masks[0], ", ", h.masks[1], ", ", h.masks[2], ", ", h.masks[3]}));
}

inline void put_bmp_pixel(u8* out, u32 v, const bmp_channels& at) {
  const auto channel = [&](u32 shift, u32 bits) {
    const u32 most = (1u << bits) - 1;
    return static_cast<u8>((v >> shift & most) * 255 / most);
  };
  const rgba c{channel(at.r, at.wide), channel(at.g, at.green), channel(at.b, at.wide),
               at.a < 32 ? channel(at.a, 8) : u8{255}};
  if (at.a < 32) put_over_white(out, c);
  else put(out, c.r, c.g, c.b);
}

// Run lengths into one index a pixel, rows in the file's order. Pixels that no run reaches stay 0.
inline std::vector<u8> bmp_runs(bytes file, const bmp_header& h, const std::string& name) {
  const u64 pixels = u64{h.width} * h.height;
  const bool four = h.compression == bmp_header::rle4;
  std::vector<u8> out;
  u64 at = h.pixels_at, x = 0;
  const auto index = [&](u32 pair, u32 i) { return static_cast<u8>(four ? (i % 2 ? pair & 15 : pair >> 4) : pair); };
  while (out.size() < pixels) {
    if (!fits(at, 2, file.size())) malformed(name, "BMP", "an end of the bitmap", "the end of the file");
    const u32 count = byte_at(file, at), value = byte_at(file, at + 1);
    at += 2;
    if (count) {
      const u32 kept = static_cast<u32>(std::min<u64>(count, h.width - std::min<u64>(x, h.width)));
      for (u32 i = 0; i < kept; ++i) out.push_back(index(value, i));
      x += kept;
    } else if (value == 0) {  // end of the row
      out.resize(align_up(out.size(), h.width));
      x = 0;
    } else if (value == 1) {
      break;
    } else if (value == 2) {
      if (!fits(at, 2, file.size())) malformed(name, "BMP", "a step", "the end of the file");
      out.resize(std::min<u64>(pixels, out.size() + byte_at(file, at) + u64{byte_at(file, at + 1)} * h.width));
      x = out.size() % h.width;
      at += 2;
    } else {
      const u64 kept = std::min<u64>(pixels - out.size(), value), size = four ? (kept + 1) / 2 : kept;
      if (!fits(at, size, file.size())) malformed(name, "BMP", "a run of indices", "the end of the file");
      for (u32 i = 0; i < kept; ++i) out.push_back(index(byte_at(file, at + (four ? i / 2 : i)), i));
      x += value;
      at += size;
      at += at % 2;  // runs start at even offsets
    }
  }
  if (out.size() < pixels) malformed(name, "BMP", concat({pixels, " pixels"}), concat({out.size()}));
  out.resize(pixels);
  return out;
}

inline picture decode_bmp(bytes file, const std::string& name, const decode_limits& limits) {
  const bmp_header h = read_bmp_header(file, name);
  check_size(h.width, h.height, limits, name);
  palette colors;
  if (h.bits <= 8) {
    const bytes entries = part(file, h.colors_at, u64{h.entry} * h.colors, name, "BMP palette");
    for (u32 i = 0; i < h.colors; ++i) {
      const auto of = [&](u32 k) { return static_cast<u8>(byte_at(entries, u64{h.entry} * i + k)); };
      colors.colors[i] = {of(2), of(1), of(0), 255};
    }
  }
  const bool runs = h.compression == bmp_header::rle8 || h.compression == bmp_header::rle4;
  const bmp_channels channels = h.bits > 8 ? bmp_layout(h, name) : bmp_channels{};
  const u64 row = (u64{h.width} * h.bits + 7) / 8, stride = align_up(row, 4);
  std::vector<u8> indices;
  if (runs) indices = bmp_runs(file, h, name);
  else part(file, h.pixels_at, stride * (h.height - 1) + row, name, "BMP pixels");

  picture out{h.width, h.height, {}};
  out.rgb.resize(u64{h.width} * h.height * 3);
  for (u64 y = 0; y < h.height; ++y) {
    u8* to = &out.rgb[(h.top_down ? y : h.height - 1 - y) * h.width * 3];
    const u64 from = h.pixels_at + y * stride;
    for (u64 x = 0; x < h.width; ++x, to += 3) {
      if (runs) {
        colors.put_index(to, indices[y * h.width + x]);
      } else if (h.bits <= 8) {
        const u64 bit = x * h.bits;
        const u32 v = byte_at(file, from + bit / 8) >> (8 - h.bits - bit % 8);
        colors.put_index(to, static_cast<u8>(v & ((1u << h.bits) - 1)));
      } else {
        u32 v = 0;
        for (u32 i = 0; i < h.bits / 8; ++i) v |= byte_at(file, from + x * (h.bits / 8) + i) << 8 * i;
        put_bmp_pixel(to, v, channels);
      }
    }
  }
  return out;
}

}  // namespace cke::image::detail
