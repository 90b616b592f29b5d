// SPDX-License-Identifier: MIT
// npy.cpp: see npy.hpp.
#include "npy.hpp"

#include <charconv>

#include <cke/io/mapped_file.hpp>

namespace cke::tool {

void append_to_npy(const std::string& path, std::span<const float> values) {
  std::FILE* const file = std::fopen(path.c_str(), "ab");
  const bool written = file && std::fwrite(values.data(), sizeof(float), values.size(), file) == values.size();
  if ((file && std::fclose(file)) || !written)
    throw Error(errc::file, path, {}, "a file that can be written", std::strerror(errno));
}

npy_array read_npy(const std::string& path) {
  const io::mapped_file file(path);
  const std::string_view all(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const auto byte = [&](std::size_t i) { return static_cast<u32>(static_cast<unsigned char>(all[i])); };
  if (all.size() < 12 || !all.starts_with("\x93NUMPY") || byte(6) < 1 || byte(6) > 3)
    throw Error(errc::malformed, path, {}, "an .npy file", "another");
  const bool first = byte(6) == 1;
  const u64 begin = first ? 10 : 12, length = byte(8) | byte(9) << 8 | (first ? 0u : byte(10) << 16 | byte(11) << 24);
  if (!fits(begin, length, all.size())) throw Error(errc::malformed, path, "header", "within the file", "beyond it");
  const std::string_view header = all.substr(begin, length);
  const auto has = [&](std::string_view text) { return header.find(text) != header.npos; };
  if (!has("'descr': '<f4'") || !has("'fortran_order': False"))
    throw Error(errc::unsupported, path, "array", "float32 in C order", header.substr(0, 60));
  npy_array out;
  const std::size_t open = header.find("'shape': (");
  if (open == header.npos) throw Error(errc::malformed, path, "header", "a shape", header.substr(0, 60));
  const char *at = header.data() + open + 10, *const end = header.data() + header.size();
  u64 count = 1;
  while (at < end && *at != ')') {
    u64 n = 0;
    const auto [next, failed] = std::from_chars(at, end, n);
    if (failed != std::errc{} || out.shape.size() == 8 || !checked_mul(count, n, count))
      throw Error(errc::malformed, path, "shape", "at most 8 numbers", header.substr(open, 40));
    out.shape.push_back(n);
    at = next;
    while (at < end && (*at == ',' || *at == ' ')) ++at;
  }
  u64 bytes = 0;
  const u64 data = begin + length;
  if (!checked_mul(count, sizeof(float), bytes) || bytes != all.size() - data)
    throw Error(errc::malformed, path, "array", std::to_string(count) + " numbers, by its shape",
                std::to_string(all.size() - data) + " bytes");
  out.values.resize(count);
  std::memcpy(out.values.data(), all.data() + data, bytes);
  return out;
}

}  // namespace cke::tool
