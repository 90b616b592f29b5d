// SPDX-License-Identifier: MIT
// stepper.hpp: a checkpoint opened to be run step by step.
#pragma once

#include "dump_file.hpp"
#include "rooms.hpp"
#include "source.hpp"
#include "step_list.hpp"
#include "stepper_model.hpp"

namespace cke::tool {

// The ids that are fed, one way or another.
struct prompt_args {
  std::optional<std::string> prompt, tokens;
};

class opened_stepper {
 public:
  // Opens, and compiles if necessary; no weights yet. fused: the program as a model runs it. Throws Error.
  opened_stepper(const model_args& args, bool fused);

  const step_list& steps() const { return *steps_; }
  // Throws usage, file.
  std::vector<u32> ids_of(const prompt_args& from) const;
  // Loads the weights, and feeds ids in passes of args.chunk; 0: in one. take(step, value, description, position, rows)
  // gets each value that `filter` takes; false ends the pass. after(step, whole) is called after every step's
  // values; false ends the pass too. whole: with these rows the step is done for all ids.
  using value_taker = std::function<bool(const model_step&, const dumped_value&, u32 position, std::span<const float>)>;
  using step_end = std::function<bool(const model_step&, bool whole)>;
  void run(std::span<const u32> ids, const value_filter& filter, const value_taker& take, const step_end& after);

  // What could not be read: a name, and why.
  struct left_out {
    i32 layer;
    std::string name, why;
  };
  const std::vector<left_out>& unread() const { return unread_; }
  nlohmann::ordered_json facts() const;  // model, format, ...
  // After run(): how often each step's operation ran and what it took, and how often each letter was run, as a table.
  std::string counters() const;

 private:
  struct op_count {
    u64 runs = 0, ns = 0;
  };

  model_args args_;
  checkpoint from_;
  unit unit_;
  std::shared_ptr<const library> door_;
  std::optional<step_list> steps_;
  std::unique_ptr<stepper_model> model_;
  std::vector<left_out> unread_;
  std::map<std::string, op_count> counts_;
};

}  // namespace cke::tool
