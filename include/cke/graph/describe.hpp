// SPDX-License-Identifier: MIT
// describe.hpp: a program, its schedule and its memory as JSON.
#pragma once

#include <string>

#include "program_data.hpp"

namespace cke::graph {

// Everything about a program, planned for capacity k and caches of type kv, as one JSON object. Equal programs give
// equal bytes.
std::string describe_json(const program_data& p, capacity k, dtype kv);

}  // namespace cke::graph

#ifndef CKE_COMPILED
#include "describe-inl.hpp"
#endif
