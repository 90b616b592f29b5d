// SPDX-License-Identifier: MIT
// gguf.cpp: fuzz target: any bytes as a GGUF file yield an error or a readable file.
#include <cke/io/gguf.hpp>

#include "../tests/io/exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const exercise::exact_copy bytes(data, size);
  try {
    exercise::all(cke::io::gguf::parse(bytes, "fuzz"));
  } catch (const cke::Error&) {}
  return 0;
}
