// SPDX-License-Identifier: MIT
// rooms.hpp: the namespaces of cke, one per folder, and which of the others each may use unqualified (docs/design.md).
#pragma once

// The alphabet, the families and the public API are in `cke` itself.
namespace cke {

namespace graph {}
namespace kernels {}
namespace text {}
namespace image {}
namespace io {
using namespace text;
}
namespace runtime {
using namespace graph;
using namespace kernels;
}  // namespace runtime
namespace tune {
using namespace graph;
using namespace runtime;
}  // namespace tune
namespace train {
using namespace graph;
using namespace kernels;
using namespace runtime;
}  // namespace train
namespace cuda {
using namespace graph;
using namespace kernels;
using namespace runtime;
}  // namespace cuda
namespace door {
using namespace graph;
using namespace io;
using namespace runtime;
}  // namespace door
namespace serve {
using namespace io;
using namespace text;
}  // namespace serve

}  // namespace cke
