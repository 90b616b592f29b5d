// SPDX-License-Identifier: MIT
// bench.hpp: functions shared by the parts of cke bench and cke report.
#pragma once

#include "commands.hpp"
#include "peak_probe.hpp"
#include "rooms.hpp"

namespace cke::tool {

// Random-looking ids, the same on every call; their values do not affect speed.
std::vector<u32> some_ids(u32 count, u32 vocab);

std::string utc_now();  // "2026-11-24T12:00:00Z"
u64 peak_memory();      // the most memory that this process had at a time, in bytes

// Loads the model that bench_args name, with room for its longest test.
loaded_model load_for_bench(const bench_args& args, u32 threads, u64 context, u32 logit_rows);

// bench --profile: breaks down the time of a prefill chunk and of a decoded token.
void profile(const bench_args& args);

}  // namespace cke::tool
