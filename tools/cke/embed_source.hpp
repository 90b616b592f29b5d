// SPDX-License-Identifier: MIT
// embed_source.hpp: the C++ and the assembler text of a model that is linked into a program.
#pragma once

#include <span>
#include <string>

#include "rooms.hpp"
#include "unit.hpp"

namespace cke::tool {

// NAME.bin is the image, then for each id the end of its text, as u32 [vocab], then the texts.
struct embedded {
  std::string name;  // of the files and of the namespace
  bool object{};     // linked as NAME.o, else by NAME.S
  u32 context{}, vocab{};
  std::string isa;  // scalar, native
  u64 image_bytes{}, text_bytes{};
  u32 begin = ~u32{0};  // the id before a text; ~0: none
  std::span<const u32> stop_ids;
};

std::string embedded_header(const embedded& e, const unit& u);  // NAME.hpp
std::string embedded_assembler(const embedded& e);              // NAME.S

}  // namespace cke::tool
