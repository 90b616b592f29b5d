// SPDX-License-Identifier: MIT
// with_grammar.hpp: json_schema among the fields of /generate and of a session's answer.
#pragma once

#include <string>
#include <string_view>

namespace cke::tool {

// The body with the grammar of its json_schema in place of that. Throws usage, unsupported.
std::string with_grammar(std::string_view body);

}  // namespace cke::tool
