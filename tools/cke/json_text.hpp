// SPDX-License-Identifier: MIT
// json_text.hpp: a value of a JSON file, as an error shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cke::tool {

// Never dumps nested values: the file may nest deeper than the stack allows.
template <class Json> std::string shown(const Json& value) {
  return value.is_structured() ? value.type_name() : value.dump();
}

}  // namespace cke::tool
