// SPDX-License-Identifier: MIT
// door.hpp: what the C interfaces of models share: errors and arguments.
#pragma once

#include "cke.h"
#include "core/error.hpp"
#include "io/tensor_index.hpp"
#include "runtime/model_options.hpp"

CKE_COMPILED_ONCE
namespace cke::door {

using io::tensor_index;
using runtime::model_options;

int32_t write_error(cke_error* to, errc code, std::string_view what) noexcept;

// Returns f(), or writes what it throws as an error and returns failed(code).
template <class F, class Failed> auto guarded(cke_error* to, F f, Failed failed) noexcept {
  if (to) *to = {};
  try {
    return f();
  } catch (const Error& e) { return failed(write_error(to, e.code, e.what())); } catch (const std::bad_alloc&) {
    return failed(write_error(to, errc::out_of_memory, "out of memory"));
  } catch (const std::exception& e) { return failed(write_error(to, errc::unsupported, e.what())); } catch (...) {
    return failed(write_error(to, errc::unsupported, "an exception from a callback"));
  }
}
template <class F> int32_t status(cke_error* to, F f) noexcept {
  return guarded(to, [&] { return f(), int32_t{0}; }, [](int32_t code) { return code; });
}
template <class T, class F> T* pointer(cke_error* to, F f) noexcept {
  return guarded(to, [&] { return reinterpret_cast<T*>(f()); }, [](int32_t) { return static_cast<T*>(nullptr); });
}

// Throws config_range for a number that stands for nothing.
model_options options_of(const cke_options* from);

// Throws usage; malformed if a tensor's type, shape and bytes do not agree.
tensor_index index_of(const cke_tensor* tensors, std::size_t count, const char* source, const cke_options* o);

}  // namespace cke::door

#ifndef CKE_COMPILED
#include "door-inl.hpp"
#endif
