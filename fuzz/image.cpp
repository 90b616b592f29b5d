// SPDX-License-Identifier: MIT
// image.cpp: fuzz target: any bytes as an image file yield an error or a picture within the limit, which can be
// resized.
#include <cke/image/decode.hpp>
#include <cke/image/resize.hpp>
#include <cstdlib>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Ends where its allocation ends, so that a sanitizer sees the first byte too far.
  const std::unique_ptr<std::byte[]> bytes(new std::byte[size]);
  std::copy_n(reinterpret_cast<const std::byte*>(data), size, bytes.get());
  constexpr cke::image::decode_limits limits{.pixels = 1 << 14, .scans = 20};
  try {
    const auto p = cke::image::decode({bytes.get(), size}, "fuzz", limits);
    if (p.width == 0 || p.height == 0 || cke::u64{p.width} * p.height > limits.pixels) std::abort();
    if (p.rgb.size() != cke::u64{p.width} * p.height * 3) std::abort();
    if (cke::image::resize(p, 7, 5, cke::image::filter::bicubic).rgb.size() != 7 * 5 * 3) std::abort();
  } catch (const cke::Error& e) {
    if (e.file != "fuzz") std::abort();
  }
  return 0;
}
