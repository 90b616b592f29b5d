// SPDX-License-Identifier: MIT
// png.hpp: decodes PNG with libpng: every colour type and depth, tRNS, Adam7.
#pragma once

#include <png.h>

#include <charconv>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "color.hpp"
#include "orientation.hpp"

namespace cke::image::detail {

// libpng reports an error by longjmp. The functions that set the target have no objects with destructors, and what the
// jump would leave behind is owned by this object, outside of them.
class png_source {
 public:
  // `texts`: chunks of text are read too.
  explicit png_source(bytes file, bool texts = false) : file_(file), texts_(texts) {}
  png_source(const png_source&) = delete;
  ~png_source() { png_destroy_read_struct(&png_, &info_, nullptr); }

  // Reads everything before the pixels. false: see problem().
  bool start() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &failed, &warned);
    if (!png_) return out_of_memory();
    info_ = png_create_info_struct(png_);
    if (!info_) return out_of_memory();
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, this, &read);
    // Sizes were checked by the caller. Chunks that do not change pixels are skipped unread.
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);
    png_set_chunk_malloc_max(png_, 1 << 20);
    static constexpr png_byte skipped[] =
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";
    if (!texts_) png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, skipped, sizeof skipped / 5);
    png_read_info(png_, info_);
    if (png_get_bit_depth(png_, info_) == 16 && png_get_color_type(png_, info_) != PNG_COLOR_TYPE_GRAY)
      png_set_strip_16(png_);  // the high byte
    png_set_packing(png_);     // 1, 2 and 4 bits to a byte each, without scaling
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool row(u8* out) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_row(png_, out, nullptr);
    return true;
  }
  int passes() const { return passes_; }
  u64 row_bytes() const { return png_get_rowbytes(png_, info_); }
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }
  const char* problem() const { return problem_; }

 private:
  bool out_of_memory() {
    std::strcpy(problem_, "out of memory");
    return false;
  }
  [[noreturn]] static void failed(png_structp png, png_const_charp message) {
    auto* self = static_cast<png_source*>(png_get_error_ptr(png));
    std::strncpy(self->problem_, message ? message : "an error", sizeof self->problem_ - 1);
    png_longjmp(png, 1);
  }
  static void warned(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep out, std::size_t n) {
    auto* self = static_cast<png_source*>(png_get_io_ptr(png));
    if (n > self->file_.size() - self->at_) png_error(png, "the file ends too early");
    std::memcpy(out, self->file_.data() + self->at_, n);
    self->at_ += n;
  }

  bytes file_;
  bool texts_;
  u64 at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  char problem_[120] = {};
};

// How the rows that libpng hands out become RGB.
struct png_pixels {
  u32 type, depth;  // of the header
  palette colors;
  color_key key;

  png_pixels(const png_source& from, u32 color_type, u32 bit_depth) : type(color_type), depth(bit_depth) {
    png_bytep alphas = nullptr;
    int count = 0;
    png_color_16p color = nullptr;
    const bool has_key = png_get_tRNS(from.png(), from.info(), &alphas, &count, &color) & PNG_INFO_tRNS;
    if (type == PNG_COLOR_TYPE_PALETTE) {
      png_colorp entries = nullptr;
      int size = 0;
      png_get_PLTE(from.png(), from.info(), &entries, &size);
      for (int i = 0; i < std::min(size, 256); ++i)
        colors.colors[static_cast<u32>(i)] = {entries[i].red, entries[i].green, entries[i].blue, 255};
      colors.transparent = has_key && alphas;
      for (int i = 0; colors.transparent && i < std::min(count, 256); ++i)
        colors.colors[static_cast<u32>(i)].a = alphas[i];
    } else if (has_key && color) {
      const auto low = [](png_uint_16 v) { return static_cast<u8>(v & 255); };
      const u8 gray = depth == 1 ? (color->gray ? 255 : 0) : low(color->gray);
      if (type == PNG_COLOR_TYPE_GRAY) key = {true, gray, gray, gray};
      else key = {true, low(color->red), low(color->green), low(color->blue)};
    }
  }

  u32 channels() const {
    const u32 colors_of = type & PNG_COLOR_MASK_COLOR && type != PNG_COLOR_TYPE_PALETTE ? 3 : 1;
    return colors_of + (type & PNG_COLOR_MASK_ALPHA ? 1 : 0);
  }
  void convert(const u8* in, u8* out, u32 width) const {
    constexpr u8 scales[] = {0, 255, 85, 0, 17};  // of 1, 2 and 4 bits
    const u8 scale = depth < 8 ? scales[depth] : 1;
    for (u32 x = 0; x < width; ++x, out += 3) switch (type) {
        case PNG_COLOR_TYPE_PALETTE: colors.put_index(out, in[x]); break;
        case PNG_COLOR_TYPE_GRAY: {
          const u8 v = depth == 16 ? saturated(in[2 * x] ? 255 : in[2 * x + 1]) : static_cast<u8>(in[x] * scale);
          key.put_unless(out, v, v, v);
          break;
        }
        case PNG_COLOR_TYPE_GRAY_ALPHA: put_over_white(out, {in[2 * x], in[2 * x], in[2 * x], in[2 * x + 1]}); break;
        case PNG_COLOR_TYPE_RGB: key.put_unless(out, in[3 * x], in[3 * x + 1], in[3 * x + 2]); break;
        default: put_over_white(out, {in[4 * x], in[4 * x + 1], in[4 * x + 2], in[4 * x + 3]});
      }
  }
};

// The text of a tEXt, zTXt or iTXt chunk, where its keyword may stand before it. libpng unpacks a compressed one out of
// a PNG that has nothing else before its pixels: at most 1 MiB, and "" where there is more or it is damaged.
inline std::string png_text(bytes chunk, std::string_view keyword) {
  using namespace std::string_view_literals;
  const bytes body = chunk.subspan(8, chunk.size() - 12);
  const u64 flag = keyword.size();  // of iTXt: whether it is compressed
  const bool packed = starts_with(chunk, "zTXt", 4) ||
      (starts_with(chunk, "iTXt", 4) && flag < body.size() && byte_at(body, flag) != 0);
  if (!packed) return std::string(reinterpret_cast<const char*>(body.data()), body.size());
  constexpr auto one_gray_pixel = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0\x3a\x7e\x9b\x55"sv;
  std::string file(one_gray_pixel);
  file.append(reinterpret_cast<const char*>(chunk.data()), chunk.size()).append("\0\0\0\0IDAT"sv);
  png_source source(std::as_bytes(std::span(file)), true);
  png_textp text = nullptr;
  int count = 0;
  if (!source.start() || png_get_text(source.png(), source.info(), &text, &count) < 1) return {};
  return std::string(text->text, text->text_length + text->itxt_length);
}

// EXIF as ImageMagick writes it: a line for a name, one for a size, and hexadecimal digits.
inline u32 raw_profile_orientation(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return 0;
    text.remove_prefix(end + 1);
  }
  std::string digits;
  for (const char c : text)
    if (c != '\n' && c != '\r' && c != ' ') digits += c;
  std::vector<std::byte> exif(digits.size() / 2);
  for (std::size_t i = 0; i < exif.size(); ++i) {
    const char* const first = digits.data() + 2 * i;
    u8 value = 0;
    if (std::from_chars(first, first + 2, value, 16).ptr != first + 2) return 0;
    exif[i] = std::byte{value};
  }
  return exif_orientation(exif);
}

// eXIf, and where there is none the raw profile; XMP. libpng is told to skip them, and so are all other texts here. Of
// several the last counts.
inline metadata png_metadata(bytes file) {
  using namespace std::string_view_literals;
  constexpr auto profile_key = "Raw profile type exif\0"sv, xmp_key = "XML:com.adobe.xmp\0"sv;
  metadata found;
  bool has_exif = false;
  bytes profile, xmp;  // whole chunks
  for (u64 at = 8; fits(at, 12, file.size());) {
    const u64 size = big32(file, at);
    if (!fits(at + 8, size + 4, file.size())) break;
    const bytes chunk = file.subspan(at, size + 12), body = chunk.subspan(8, size);
    if (starts_with(chunk, "eXIf", 4)) found.exif = exif_orientation(body), has_exif = true;
    if (starts_with(chunk, "tEXt", 4) || starts_with(chunk, "zTXt", 4) || starts_with(chunk, "iTXt", 4)) {
      if (starts_with(body, profile_key)) profile = chunk;
      if (starts_with(body, xmp_key)) xmp = chunk;
    }
    at += size + 12;
  }
  if (!has_exif && !profile.empty()) found.exif = raw_profile_orientation(png_text(profile, profile_key));
  if (found.exif == 0 && !xmp.empty()) {
    const std::string text = png_text(xmp, xmp_key);
    found.xmp = xmp_orientation(std::as_bytes(std::span(text)));
  }
  return found;
}

inline picture decode_png(bytes file, const std::string& name, const decode_limits& limits) {
  if (!starts_with(part(file, 0, 33, name, "PNG header"), "IHDR", 12))
    malformed(name, "PNG header", "an IHDR chunk", "another one");
  const u32 width = big32(file, 16), height = big32(file, 20);
  check_size(width, height, limits, name);

  png_source source(file);
  const auto check = [&](bool good) {
    if (!good) malformed(name, "PNG", source.problem());
  };
  check(source.start());
  const png_pixels pixels(source, byte_at(file, 25), byte_at(file, 24));
  const u64 row = source.row_bytes();
  if (png_get_image_width(source.png(), source.info()) != width ||
      png_get_image_height(source.png(), source.info()) != height ||
      row != u64{width} * pixels.channels() * (pixels.depth == 16 && pixels.type == PNG_COLOR_TYPE_GRAY ? 2 : 1))
    malformed(name, "PNG", "rows of the size that the header says", concat({row, " bytes"}));

  picture out{width, height, {}};
  out.rgb.reserve(u64{width} * height * 3);  // memory is touched as rows arrive
  const bool interlaced = source.passes() > 1;
  std::vector<u8> raw(interlaced ? row * height : row);
  if (interlaced)
    for (int pass = 0; pass < source.passes(); ++pass)
      for (u64 y = 0; y < height; ++y) check(source.row(raw.data() + y * row));
  for (u64 y = 0; y < height; ++y) {
    if (!interlaced) check(source.row(raw.data()));
    out.rgb.resize(out.rgb.size() + u64{width} * 3);
    pixels.convert(raw.data() + (interlaced ? y * row : 0), out.rgb.data() + y * width * 3, width);
  }
  return upright(std::move(out), png_metadata(file).orientation());
}

}  // namespace cke::image::detail
