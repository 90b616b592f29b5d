// SPDX-License-Identifier: MIT
// rooms.hpp: the command may use the names of every room.
#pragma once

#include <cke/core/rooms.hpp>

namespace cke::tool {

using namespace graph;
using namespace io;
using namespace kernels;
using namespace runtime;
using namespace text;
using namespace tune;

}  // namespace cke::tool
