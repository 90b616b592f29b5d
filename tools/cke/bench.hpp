// SPDX-License-Identifier: MIT
// bench.hpp: what the parts of cke bench share.
#pragma once

#include "commands.hpp"
#include "rooms.hpp"

namespace cke::tool {

// Ids without a pattern, the same every time; what they are does not change the speed.
std::vector<u32> some_ids(u32 count, u32 vocab);

// A model and its longest test in memory: the model that bench_args name, with these threads.
loaded_model load_for_bench(const bench_args& args, u32 threads, u64 context, u32 logit_rows);

// bench --profile: where the time of a prefill chunk and of a decoded token goes.
void profile(const bench_args& args);

}  // namespace cke::tool
