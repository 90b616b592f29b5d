// SPDX-License-Identifier: MIT
// gguf_output.hpp: writes a checkpoint as a GGUF file.
#pragma once

#include <string>
#include <vector>

#include "gguf_plan.hpp"
#include "rooms.hpp"
#include "source.hpp"

namespace cke::tool {

struct gguf_output {
  std::string path;       // a name that is free
  u32 file_type = 0;      // general.file_type
  u32 threads = 0;        // 0: one per core that the process may use
  const char* verb = "";  // what a progress bar says
};

// Writes the planned tensors, each in its type, and prints what became of them. The file appears when it is complete,
// and only if it can be read again as the same model. Throws Error: config_range for a number that its type cannot
// hold, file, and what reading it throws.
void write_gguf(const checkpoint& from, const model_facts& model, const std::vector<planned_tensor>& plan,
                const std::vector<dtype>& types, const gguf_output& to);

}  // namespace cke::tool
