// SPDX-License-Identifier: MIT
// decode.hpp: an image file as RGB pixels, upright and on white, byte for byte what Pillow gives.
#pragma once

#include "bmp.hpp"
#include "gif.hpp"
#include "jpeg.hpp"
#include "png.hpp"
#include "pnm.hpp"
#include "webp.hpp"

namespace cke::image {

namespace detail {

// A format that cke does not read, for the message that says so.
inline std::string_view other_format(bytes file) {
  using namespace std::string_view_literals;
  struct row {
    u64 at;
    std::string_view magic, name;
  };
  constexpr row table[] = {
      {4, "ftypavi", "AVIF"},
      {4, "ftyphei", "HEIC"},
      {4, "ftypmif1", "HEIF"},
      {4, "jP  ", "JPEG 2000"},
      {4, "JXL ", "JPEG XL"},
      {0, "\xff\x0a", "JPEG XL"},
      {0, "II*\0"sv, "TIFF"},
      {0, "MM\0*"sv, "TIFF"},
      {0, "%PDF", "PDF"},
      {0, "<svg", "SVG"},
      {0, "<?xml", "XML, perhaps SVG"},
      {0, "\0\0\1\0"sv, "an icon"},
      {0, "RIFF", "RIFF that is not WebP"},
  };
  for (const row& r : table)
    if (starts_with(file, r.magic, r.at)) return r.name;
  return file.empty() ? "an empty file" : "another format";
}

}  // namespace detail

// Decodes PNG, JPEG, WebP, GIF (the first frame), BMP, PBM, PGM and PPM, known by their first bytes. The result is that
// of PIL.ImageOps.exif_transpose and of transformers' convert_to_rgb: orientation applied, transparency over white.
// docs/images.md says what becomes of 16 bits and of CMYK. Throws Error, which names the file: unsupported for another
// format, malformed for damage, config_range for more pixels than the limit (before anything is decoded).
inline picture decode(std::span<const std::byte> file, const std::string& name, const decode_limits& limits = {}) {
  using namespace std::string_view_literals;
  using detail::starts_with;
  if (starts_with(file, "\x89PNG\r\n\x1a\n"sv)) return detail::decode_png(file, name, limits);
  if (starts_with(file, "\xff\xd8\xff"sv)) return detail::decode_jpeg(file, name, limits);
  if (starts_with(file, "RIFF") && starts_with(file, "WEBP", 8)) return detail::decode_webp(file, name, limits);
  if (starts_with(file, "GIF87a") || starts_with(file, "GIF89a")) return detail::decode_gif(file, name, limits);
  if (starts_with(file, "BM")) return detail::decode_bmp(file, name, limits);
  if (file.size() > 2 && file[0] == std::byte{'P'} && file[1] >= std::byte{'1'} && file[1] <= std::byte{'6'})
    return detail::decode_pnm(file, name, limits);
  throw Error(errc::unsupported, name, "image", "PNG, JPEG, WebP, GIF, BMP, PBM, PGM or PPM",
              detail::other_format(file));
}

}  // namespace cke::image
