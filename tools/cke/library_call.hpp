// SPDX-License-Identifier: MIT
// library_call.hpp: what calls of a library have in common: errors become exceptions, checkpoints become C's.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include <cke/any_model.hpp>
#include <cke/io/checkpoint.hpp>

#include "c_options.hpp"
#include "error_parts.hpp"
#include "rooms.hpp"

namespace cke::tool {

// `source`: what the messages of a load begin with.
inline void check(int32_t status, const cke_error& error, std::string_view source = {}) {
  if (status) throw parted_error(static_cast<errc>(error.code - 1), error.message, source);
}
template <class T> T* check(T* made, const cke_error& error, std::string_view source = {}) {
  if (!made) check(error.code, error, source);
  return made;
}

// The tensors of a checkpoint in C's form; they refer to it.
inline std::vector<cke_tensor> c_tensors(const checkpoint& from) {
  std::vector<cke_tensor> tensors;
  for (const tensor_ref& t : from.tensors.tensors())
    tensors.push_back({t.name.c_str(), static_cast<u32>(t.type), static_cast<u32>(t.shape.size()), t.shape.data(),
                       t.bytes.data(), t.bytes.size()});
  return tensors;
}
inline int32_t naming_of(const checkpoint& from) { return from.as == naming::gguf ? CKE_NAMES_GGUF : CKE_NAMES_HF; }

// Receivers of a load's progress: the caller, and the files, whose pages can be released.
struct listeners {
  const progress_callback& progress;
  std::vector<const mapped_file*> files;

  listeners(const checkpoint& from, const model_options& o) : progress(o.progress) {
    for (const tensor_ref& t : from.tensors.tensors())
      if (std::ranges::find(files, t.file.get()) == files.end()) files.push_back(t.file.get());
  }
  void attach(cke_options& c) {
    c.user = this;
    if (progress)
      c.progress = [](void* user, uint64_t done, uint64_t total) {
        static_cast<listeners*>(user)->progress(done, total);
      };
    c.read = [](void* user, const void* data, uint64_t bytes) {
      for (const mapped_file* file : static_cast<listeners*>(user)->files)
        file->drop({static_cast<const std::byte*>(data), bytes});
    };
  }
};

}  // namespace cke::tool
