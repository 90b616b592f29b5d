// SPDX-License-Identifier: MIT
// vocabulary_bytes.hpp: a vocabulary as bytes of a file, which are read in a hundredth of the time that its JSON takes.
#pragma once

#include <span>
#include <string>

#include <cke/text/tokenizer/vocabulary.hpp>

#include "rooms.hpp"

namespace cke::tool {

// All that a vocabulary holds but what with_patterns() makes of the rest.
std::string bytes_of_vocabulary(const text::vocabulary& v);

// The vocabulary of these bytes. Throws Error{malformed}, with the name of the file, for bytes that are none: each
// number and size is checked. What text::validate() checks is left to it.
text::vocabulary vocabulary_of(std::span<const std::byte> bytes, const std::string& file);

}  // namespace cke::tool
