// SPDX-License-Identifier: MIT
// traced_pass.hpp: a pass of which every thread told when it worked on which step.
#pragma once

#include <string>
#include <vector>

#include <cke/any_model.hpp>

#include "cost.hpp"
#include "rooms.hpp"

namespace cke::tool {

struct traced_step {
  u32 code, step;  // step: tracer::waiting for a wait
  u64 begin, end;

  bool waits() const { return step == tracer::waiting; }
};

struct traced_pass {
  program_cost::pass pass;
  double ns;                                      // from call to return
  std::vector<std::vector<traced_step>> threads;  // in order of time

  u64 start() const;  // when the first thread began
};

// The fastest of several passes over p.rows ids, after the same p.position earlier ones, and a first that does not
// count.
traced_pass fastest_pass(const any_model& engine, any_session& c, std::span<const u32> ids, const program_cost::pass& p,
                         u32 repetitions);

// Calls f(step, layer) for each record of a thread; layer: -1 outside the layers.
template <class F> void each_step(const std::vector<traced_step>& thread, u32 codes, F f) {
  i32 layer = -1;
  for (const traced_step& r : thread) {
    const bool body = r.code > 0 && r.code + 1 < codes;
    layer += body && r.step == 0;
    f(r, body ? layer : -1);
  }
}

// What an operation took in a pass: a mean over the threads, so that times add up to that of the pass.
struct op_time {
  std::string op;
  u64 calls{};
  double ns{}, bytes{};
};
// Longest first. waiting, between_steps: the rest of the time.
std::vector<op_time> op_times(const traced_pass& p, const program_cost& cost);
inline constexpr const char *waiting = "(waiting for threads)", *between_steps = "(between steps)";

}  // namespace cke::tool
