// SPDX-License-Identifier: MIT
// errc.hpp: what can go wrong, as numbers, and size arithmetic that cannot wrap.
#pragma once

#include "types.hpp"

namespace cke {

enum class errc : u8 {
  file,         // cannot be opened, read or mapped
  malformed,    // the bytes are not in the format that they claim
  unsupported,  // well formed, but cke lacks the feature
  tensor_missing,
  tensor_unknown,  // the file has it, the model does not
  tensor_shape,
  tensor_dtype,
  config_mismatch,  // the file's config differs from the one of the model's type
  config_range,     // a number outside of its permitted range
  token_range,
  context_overflow,
  out_of_memory,
  compile,  // compiling a model on demand failed
  usage,
  unsupported_opcode,  // this and the next three are the runtime contract's errors (mission.md F18)
  unsupported_rank,
  invalid_param_block,
  batch_unsupported,
  cache_full,  // the sessions occupy every page of the model's cache
};

// a * b and a + b; false if the result does not fit 64 bits.
constexpr bool checked_mul(u64 a, u64 b, u64& out) { return !__builtin_mul_overflow(a, b, &out); }
constexpr bool checked_add(u64 a, u64 b, u64& out) { return !__builtin_add_overflow(a, b, &out); }
// [offset, offset + size) lies in [0, available)
constexpr bool fits(u64 offset, u64 size, u64 available) { return offset <= available && size <= available - offset; }

}  // namespace cke
