// SPDX-License-Identifier: MIT
// files.hpp: the image files of tests/data/images, pictures that Pillow made, and errors in checkable form.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cke/image/picture.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace files {

inline const std::string folder = CKE_TEST_DATA "/images/";

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), path);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// A PPM of Pillow: three lines, then RGB.
inline cke::image::picture ppm(const std::string& path) {
  const std::string all = content(path);
  std::istringstream in(all);
  std::string magic;
  cke::u32 most = 0;
  cke::image::picture p;
  in >> magic >> p.width >> p.height >> most;
  REQUIRE_MESSAGE((magic == "P6" && most == 255), path);
  p.rgb.assign(all.begin() + in.tellg() + 1, all.end());
  return p;
}

// "" if equal; else sizes, or the first pixel that differs with both values.
inline std::string difference(const cke::image::picture& found, const cke::image::picture& wanted) {
  std::ostringstream out;
  if (found.width != wanted.width || found.height != wanted.height || found.rgb.size() != wanted.rgb.size()) {
    out << found.width << " x " << found.height << ", not " << wanted.width << " x " << wanted.height;
  } else {
    const auto [f, w] = std::mismatch(found.rgb.begin(), found.rgb.end(), wanted.rgb.begin());
    const auto i = f - found.rgb.begin();
    if (f != found.rgb.end())
      out << "x " << i / 3 % found.width << ", y " << i / 3 / found.width << ", channel " << i % 3 << ": " << int(*f)
          << ", not " << int(*w);
  }
  return out.str();
}

template <class F> std::string error_of(F f, cke::errc* code = nullptr) {
  try {
    f();
    return {};
  } catch (const cke::Error& e) {
    if (code) *code = e.code;
    return e.what();
  }
}

// The image files with their names, without Pillow's results.
inline std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "files"))
    if (entry.path().extension() != ".ppm") all.push_back(entry.path().filename());
  std::ranges::sort(all);
  return all;
}

}  // namespace files
