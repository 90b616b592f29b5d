// SPDX-License-Identifier: MIT
// bare_image.cpp: implements bare_image.hpp.
#include "bare_image.hpp"

#include "library_call.hpp"

namespace cke::tool {

std::string bare_image_of(const library& door, const checkpoint& from, const model_options& options) {
  const std::vector<cke_tensor> tensors = c_tensors(from);
  listeners all(from, options);
  c_options o(options);
  all.attach(o);
  std::string image;
  const auto take = [](void* user, const void* bytes, uint64_t count) {
    static_cast<std::string*>(user)->assign(static_cast<const char*>(bytes), count);
  };
  cke_error error{};
  check(
      door.cke_bare_image(tensors.data(), tensors.size(), naming_of(from), from.name.c_str(), &o, take, &image, &error),
      error, from.name);
  return image;
}

}  // namespace cke::tool
