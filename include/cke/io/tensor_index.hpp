// SPDX-License-Identifier: MIT
// tensor_index.hpp: the tensors of a checkpoint by name, from any file format.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../core/concat.hpp"
#include "../core/dtype.hpp"
#include "../core/error.hpp"
#include "../core/shape.hpp"
#include "../core/sorted_order.hpp"
#include "../core/tensor_source.hpp"
#include "mapped_file.hpp"

CKE_COLD_BEGIN
namespace cke::io {

// One tensor inside a file. A reader has checked that shape, type and bytes agree.
struct tensor_ref {
  std::string name;
  dtype type = dtype::none;  // none: a type that cke cannot compute with, see `stored`
  std::string stored;        // the file's name of the type, for messages
  tensor_shape shape;
  std::span<const std::byte> bytes;  // of any alignment; empty if the GGUF type is unknown
  std::shared_ptr<const mapped_file> file;
};

// Bounds the memory that a hostile header can make us allocate; ten times the count of the largest mixture of experts.
// For safetensors, json_events::max_keys does the same.
inline constexpr u64 max_tensors = u64{1} << 20;

// An immutable list of tensors, sorted by name; they keep their files mapped.
class tensor_index final : public tensor_source {
 public:
  tensor_index() = default;

  // Throws Error{errc::malformed} if two tensors have the same name.
  explicit tensor_index(std::vector<tensor_ref> tensors) {
    tensors_.reserve(tensors.size());
    for (const u32 i : sorted_order(tensors.size(), [&](u32 a, u32 b) { return tensors[a].name < tensors[b].name; })) {
      if (!tensors_.empty() && tensors_.back().name == tensors[i].name)
        throw Error(errc::malformed, tensors_.back().file->name(), concat({"tensor ", tensors[i].name}),
                    "one tensor of this name", concat({"another in ", tensors[i].file->name()}));
      tensors_.push_back(std::move(tensors[i]));
    }
  }

  std::span<const tensor_ref> tensors() const { return tensors_; }

  // nullptr if there is none.
  CKE_OUT_OF_LINE const tensor_ref* find(std::string_view name) const {
    const auto it = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                     [](const tensor_ref& t, std::string_view wanted) { return t.name < wanted; });
    return it != tensors_.end() && it->name == name ? &*it : nullptr;
  }

  u64 count() const override { return tensors_.size(); }
  u64 number_of(std::string_view name) const override {
    const tensor_ref* const t = find(name);
    return t ? static_cast<u64>(t - tensors_.data()) : none;
  }
  source_tensor tensor(u64 number) const override {
    const tensor_ref& t = tensors_[number];
    return {t.name, t.type, t.stored, t.shape, t.bytes};
  }
  void drop(u64 number, std::span<const std::byte> part) const override { tensors_[number].file->drop(part); }
  void copied(u64 number) const override { tensors_[number].file->copied(tensors_[number].bytes); }

 private:
  std::vector<tensor_ref> tensors_;
};

}  // namespace cke::io
CKE_COLD_END
