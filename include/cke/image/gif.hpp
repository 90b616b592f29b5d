// SPDX-License-Identifier: MIT
// gif.hpp: decodes the first frame of a GIF with giflib.
#pragma once

#include <gif_lib.h>

#include <cstring>
#include <memory>
#include <optional>

#include "byte_reader.hpp"
#include "color.hpp"
#include "picture.hpp"

namespace cke::image::detail {

struct gif_input {
  bytes rest;
  static int read(GifFileType* from, GifByteType* out, int n) {
    bytes& rest = static_cast<gif_input*>(from->UserData)->rest;
    const std::size_t count = std::min(rest.size(), static_cast<std::size_t>(std::max(n, 0)));
    if (count) std::memcpy(out, rest.data(), count);
    rest = rest.subspan(count);
    return static_cast<int>(count);
  }
};
struct gif_closer {
  void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
};

inline palette gif_palette(const ColorMapObject* map, std::optional<u8> transparent) {
  palette p;
  for (u32 i = 0; i < 256; ++i) {
    const auto gray = static_cast<u8>(i);  // a file without a palette is gray
    if (!map) p.colors[i] = {gray, gray, gray, 255};
    else if (static_cast<int>(i) < map->ColorCount)
      p.colors[i] = {map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue, 255};
  }
  p.transparent = transparent.has_value();
  if (transparent) p.colors[*transparent].a = 0;
  return p;
}

inline picture decode_gif(bytes file, const std::string& name, const decode_limits& limits) {
  gif_input input{file};
  int error = 0;
  const std::unique_ptr<GifFileType, gif_closer> gif(DGifOpen(&input, &gif_input::read, &error));
  const auto check = [&](bool good) {
    const char* why = good ? nullptr : GifErrorString(gif ? gif->Error : error);
    if (!good) malformed(name, "GIF", why ? why : "a readable file");
  };
  check(gif != nullptr);
  check_size(static_cast<u32>(std::max(gif->SWidth, 1)), static_cast<u32>(std::max(gif->SHeight, 1)), limits, name);

  std::optional<u8> transparent;
  for (GifRecordType record;;) {
    check(DGifGetRecordType(gif.get(), &record) == GIF_OK);
    if (record == IMAGE_DESC_RECORD_TYPE) break;
    if (record == TERMINATE_RECORD_TYPE) malformed(name, "GIF", "an image", "none");
    int code = 0;
    GifByteType* block = nullptr;  // its length, then its bytes
    check(DGifGetExtension(gif.get(), &code, &block) == GIF_OK);
    if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] >= 4 && block[1] & 1) transparent = block[4];
    while (block) check(DGifGetExtensionNext(gif.get(), &block) == GIF_OK);
  }
  check(DGifGetImageDesc(gif.get()) == GIF_OK);
  const GifImageDesc& frame = gif->Image;
  if (frame.Left < 0 || frame.Top < 0 || frame.Width <= 0 || frame.Height <= 0)
    malformed(name, "GIF frame", "at least 1 x 1 pixels", concat({frame.Width, " x ", frame.Height}));
  // A frame that reaches beyond the screen makes it larger.
  const u32 width = static_cast<u32>(std::max(gif->SWidth, frame.Left + frame.Width));
  const u32 height = static_cast<u32>(std::max(gif->SHeight, frame.Top + frame.Height));
  check_size(width, height, limits, name);

  const palette colors = gif_palette(frame.ColorMap ? frame.ColorMap : gif->SColorMap, transparent);
  picture out{width, height, {}};
  out.rgb.resize(u64{width} * height * 3);
  for (u64 i = 0; i < u64{width} * height; ++i) colors.put_index(&out.rgb[3 * i], transparent.value_or(0));

  std::vector<u8> line(static_cast<std::size_t>(frame.Width));
  constexpr int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
  const int passes = frame.Interlace ? 4 : 1;
  for (int pass = 0; pass < passes; ++pass)
    for (int y = frame.Interlace ? starts[pass] : 0; y < frame.Height; y += frame.Interlace ? steps[pass] : 1) {
      check(DGifGetLine(gif.get(), line.data(), frame.Width) == GIF_OK);
      u8* to = &out.rgb[(u64(frame.Top + y) * width + u64(frame.Left)) * 3];
      for (const u8 index : line) colors.put_index(to, index), to += 3;
    }
  return out;
}

}  // namespace cke::image::detail
