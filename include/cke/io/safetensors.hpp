// SPDX-License-Identifier: MIT
// safetensors.hpp: reads one safetensors file.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json_events.hpp"
#include "tensor_index.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

static_assert(std::endian::native == std::endian::little, "cke: safetensors: little endian only");

// The format's dtypes, and the cke dtype of each, if there is one.
struct safetensors_dtype {
  std::string_view name;
  u32 bits;
  dtype type = dtype::none;
};
inline constexpr safetensors_dtype safetensors_dtypes[] = {
    {"F32", 32, dtype::f32},
    {"F16", 16, dtype::f16},
    {"BF16", 16, dtype::bf16},
    {"F64", 64},
    {"I64", 64},
    {"I32", 32},
    {"I16", 16},
    {"I8", 8},
    {"U64", 64},
    {"U32", 32},
    {"U16", 16},
    {"U8", 8},
    {"BOOL", 8},
    {"C64", 64},
    {"F8_E4M3", 8, dtype::f8_e4m3},
    {"F8_E5M2", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F4", 4},
};

namespace detail {

// {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//  "__metadata__": {"KEY": "TEXT", ...}}
class safetensors_header final : public json_events {
 public:
  struct entry {
    u64 begin, end;
    tensor_ref tensor;  // without bytes
  };
  std::vector<entry> entries;

  using json_events::json_events;

  bool string(string_t& s) override {
    if (depth() != 2) refuse("a string");
    if (in_metadata()) return true;
    if (key_at(1) != "dtype") refuse("a string");
    dtype_ = std::move(s);
    return true;
  }
  bool number_unsigned(number_unsigned_t n) override {
    if (depth() != 3) refuse(std::to_string(n));
    auto& numbers = *(key_at(1) == "shape" ? shape_ : offsets_);
    if (numbers.size() == tensor_shape::most) fail("at most 8 numbers", "more");
    numbers.push_back(n);
    return true;
  }

 private:
  bool in_metadata() const { return key_at(0) == "__metadata__"; }

  bool opens(bool object) override {
    if (object) return depth() == 1;
    if (depth() != 2 || in_metadata()) return false;
    if (key_at(1) == "shape") shape_.emplace();
    else if (key_at(1) == "data_offsets") offsets_.emplace();
    else return false;
    return true;
  }
  void closed() override {
    if (depth() == 1 && !in_metadata()) entries.push_back(finish_tensor());
  }

  entry finish_tensor() {
    if (!dtype_ || !shape_ || !offsets_) fail("dtype, shape and data_offsets", "fewer");
    if (offsets_->size() != 2) fail("two data_offsets", std::to_string(offsets_->size()));
    const auto row = std::ranges::find(safetensors_dtypes, *dtype_, &safetensors_dtype::name);
    if (row == std::end(safetensors_dtypes)) fail("a dtype of the format", dtype_->substr(0, 40));
    u64 bits = row->bits;
    for (const u64 d : *shape_)
      if (!checked_mul(bits, d, bits)) fail("dimensions whose product fits in 64 bits", std::to_string(d));
    const u64 begin = (*offsets_)[0], end = (*offsets_)[1];
    if (bits % 8 != 0) fail("whole bytes", std::to_string(bits) + " bits");
    if (begin > end || end - begin != bits / 8)
      fail(std::to_string(bits / 8) + " bytes for this dtype and shape",
           "data_offsets " + std::to_string(begin) + " to " + std::to_string(end));
    entry e{begin, end, {key_at(0), row->type, std::move(*dtype_), *shape_, {}, {}}};
    dtype_.reset(), shape_.reset(), offsets_.reset();
    return e;
  }

  std::optional<std::string> dtype_;
  std::optional<tensor_shape> shape_, offsets_;
};

// The tensors of one file. Checks the header's JSON, each dtype, shape and size, and that the tensors cover the data
// without overlap or gap. Throws Error{errc::malformed}.
inline std::vector<tensor_ref> safetensors_list(const std::shared_ptr<const mapped_file>& file) {
  const std::string& name = file->name();
  const std::span<const std::byte> bytes = file->bytes();
  const auto fail = [&](std::string subject, std::string expected, std::string found) {
    throw Error(errc::malformed, name, std::move(subject), std::move(expected), std::move(found));
  };
  u64 length = 0;
  if (bytes.size() < sizeof length) fail("header", "8 bytes of length", std::to_string(bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof length);
  const auto rest = bytes.subspan(sizeof length);
  if (length > rest.size() || length > json_events::max_bytes)
    fail("header", "a length up to " + std::to_string(std::min<u64>(rest.size(), json_events::max_bytes)),
         std::to_string(length));
  safetensors_header header(name);
  header.read({reinterpret_cast<const char*>(rest.data()), length});

  const auto data = rest.subspan(length);
  auto& entries = header.entries;
  std::ranges::sort(entries, {}, [](const auto& e) { return std::pair(e.begin, e.end); });
  std::vector<tensor_ref> tensors;
  tensors.reserve(entries.size());
  u64 used = 0;
  for (auto& [begin, end, t] : entries) {
    if (begin != used)
      fail("tensor " + t.name, "data that starts where the tensor before it ends, at " + std::to_string(used),
           std::to_string(begin));
    if (end > data.size())
      fail("tensor " + t.name, "data that ends by " + std::to_string(data.size()), std::to_string(end));
    t.bytes = data.subspan(begin, end - begin);
    t.file = file;
    tensors.push_back(std::move(t));
    used = end;
  }
  if (used != data.size())
    fail("data", std::to_string(used) + " bytes, the end of the last tensor", std::to_string(data.size()));
  return tensors;
}

}  // namespace detail

// Reads bytes in memory, which must outlive the result; errors call them `name`.
inline tensor_index parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  return tensor_index(detail::safetensors_list(std::make_shared<const mapped_file>(name, bytes)));
}

// Maps one file. Throws Error{errc::file} or Error{errc::malformed}.
inline tensor_index read_safetensors(const std::string& path) {
  return tensor_index(detail::safetensors_list(std::make_shared<const mapped_file>(path)));
}

}  // namespace cke::io
CKE_COLD_END
