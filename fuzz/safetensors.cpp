// SPDX-License-Identifier: MIT
// safetensors.cpp: fuzz target: any bytes as a safetensors file yield an error or tensors.
#include <cke/io/safetensors.hpp>

#include "../tests/io/exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const exercise::exact_copy bytes(data, size);
  try {
    exercise::all(cke::io::parse_safetensors(bytes, "fuzz"));
  } catch (const cke::Error&) {}
  return 0;
}
