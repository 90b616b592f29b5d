// SPDX-License-Identifier: MIT
// jpeg.hpp: decodes JPEG with libjpeg-turbo: gray, YCbCr, RGB, CMYK and YCCK, baseline and progressive.
#pragma once

#include <cstdio>
// jpeglib.h needs FILE and size_t before it.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstring>

#include "color.hpp"
#include "orientation.hpp"

namespace cke::image::detail {

// libjpeg reports an error through a function that must not return: here it jumps. The functions that set the target
// have no objects with destructors.
class jpeg_source {
 public:
  jpeg_source(bytes file, u32 most_scans) : most_scans_(most_scans) {
    std::memset(&c_, 0, sizeof c_);
    c_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &failed;
    errors_.emit_message = [](j_common_ptr, int) {};  // damaged data is shown as well as it can be, as Pillow does
    errors_.output_message = [](j_common_ptr) {};
    c_.client_data = this;
    from_.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
    from_.bytes_in_buffer = file.size();
    from_.init_source = [](j_decompress_ptr) {};
    from_.fill_input_buffer = [](j_decompress_ptr c) -> boolean { ended(c); };
    from_.skip_input_data = [](j_decompress_ptr c, long n) {
      if (n <= 0) return;
      if (static_cast<std::size_t>(n) > c->src->bytes_in_buffer) ended(c);
      c->src->next_input_byte += n;
      c->src->bytes_in_buffer -= static_cast<std::size_t>(n);
    };
    from_.resync_to_restart = &jpeg_resync_to_restart;
    from_.term_source = [](j_decompress_ptr) {};
    progress_.progress_monitor = [](j_common_ptr c) {
      auto* self = static_cast<jpeg_source*>(c->client_data);
      if (self->c_.input_scan_number > static_cast<int>(self->most_scans_)) self->fail("too many scans");
    };
  }
  jpeg_source(const jpeg_source&) = delete;
  ~jpeg_source() { jpeg_destroy_decompress(&c_); }

  bool header() {
    if (setjmp(target_)) return false;
    jpeg_create_decompress(&c_);
    c_.client_data = this;
    c_.src = &from_;
    c_.progress = &progress_;
    jpeg_save_markers(&c_, JPEG_APP0 + 1, 0xffff);  // EXIF and XMP
    jpeg_read_header(&c_, TRUE);
    return true;
  }
  bool start(J_COLOR_SPACE colors) {
    if (setjmp(target_)) return false;
    c_.out_color_space = colors;
    jpeg_start_decompress(&c_);
    return true;
  }
  bool row(u8* out) {
    if (setjmp(target_)) return false;
    jpeg_read_scanlines(&c_, &out, 1);
    return true;
  }
  const jpeg_decompress_struct& info() const { return c_; }
  const char* problem() const { return problem_; }

 private:
  [[noreturn]] void fail(const char* why) {
    std::strncpy(problem_, why, sizeof problem_ - 1);
    std::longjmp(target_, 1);
  }
  [[noreturn]] static void ended(j_decompress_ptr c) {
    static_cast<jpeg_source*>(c->client_data)->fail("the file ends too early");
  }
  [[noreturn]] static void failed(j_common_ptr c) {
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    text[sizeof problem_ - 1] = 0;
    static_cast<jpeg_source*>(c->client_data)->fail(text);
  }

  jpeg_decompress_struct c_;
  jpeg_error_mgr errors_{};
  jpeg_source_mgr from_{};
  jpeg_progress_mgr progress_{};
  u32 most_scans_;
  char problem_[160] = {};
  std::jmp_buf target_;
};

inline metadata jpeg_metadata(const jpeg_source& from) {
  using namespace std::string_view_literals;
  metadata found;
  for (auto* m = from.info().marker_list; m; m = m->next) {
    const bytes body(reinterpret_cast<const std::byte*>(m->data), m->data_length);
    if (!found.exif && starts_with(body, "Exif\0\0"sv)) found.exif = exif_orientation(body);
    if (starts_with(body, "http://ns.adobe.com/xap/1.0/\0"sv)) found.xmp = xmp_orientation(body);
  }
  return found;
}

inline picture decode_jpeg(bytes file, const std::string& name, const decode_limits& limits) {
  jpeg_source source(file, limits.scans);
  const auto check = [&](bool good) {
    if (!good) malformed(name, "JPEG", source.problem());
  };
  check(source.header());
  const u32 width = source.info().image_width, height = source.info().image_height;
  check_size(width, height, limits, name);
  const int layers = source.info().num_components;
  if (layers != 1 && layers != 3 && layers != 4)
    unsupported(name, "JPEG", "1, 3 or 4 colour components", concat({layers}));
  const metadata about = jpeg_metadata(source);

  check(source.start(layers == 1 ? JCS_GRAYSCALE : layers == 3 ? JCS_RGB : JCS_CMYK));
  if (source.info().output_width != width || source.info().output_height != height ||
      source.info().output_components != layers)
    malformed(name, "JPEG", "rows of the size that the header says");
  picture out{width, height, {}};
  out.rgb.reserve(u64{width} * height * 3);  // memory is touched as rows arrive
  std::vector<u8> raw(layers == 3 ? 0 : u64{width} * static_cast<u32>(layers));
  for (u64 y = 0; y < height; ++y) {
    out.rgb.resize(out.rgb.size() + u64{width} * 3);
    u8* to = out.rgb.data() + y * width * 3;
    check(source.row(layers == 3 ? to : raw.data()));
    if (layers == 1)
      for (u32 x = 0; x < width; ++x) put(to + 3 * x, raw[x], raw[x], raw[x]);
    if (layers == 4)  // Adobe writes the amount of light, not of ink; Pillow takes every file for one of Adobe's
      for (u32 x = 0; x < width; ++x) {
        const auto ink = [&](u32 i) { return static_cast<u8>(255 - raw[4 * x + i]); };
        put_cmyk(to + 3 * x, ink(0), ink(1), ink(2), ink(3));
      }
  }
  // The end marker is not asked for: all rows are here.
  return upright(std::move(out), about.orientation());
}

}  // namespace cke::image::detail
