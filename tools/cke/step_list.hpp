// SPDX-License-Identifier: MIT
// step_list.hpp: the steps of a program in the order in which they run, and names for what they write.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <cke/core/concat.hpp>
#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {

// What a step writes, or a part of it: gate and up are columns of one output.
struct step_value {
  std::string name;      // unique in its layer, and the same whether steps are fused or not
  u32 output{};          // of the step
  u32 first{}, width{};  // columns
  std::string type;      // how the model keeps it
};
struct model_step {
  u32 number{};
  i32 layer = -1;  // -1: before or after the layers
  u32 code{}, index{};
  std::string op, letter;
  std::vector<step_value> values;
  std::vector<std::string> inside;  // names of what a fused step keeps to itself
};

// "3.rope.q", or "logits"
std::string full_name(i32 layer, const std::string& name);

class step_list {
 public:
  // The JSON of cke_stepper_plan_json.
  explicit step_list(nlohmann::ordered_json plan);

  const std::vector<model_step>& all() const { return steps_; }
  u32 layers() const { return layers_; }
  // The step that writes `name`, which may begin with a layer and a dot; without, the first. Throws usage for `option`.
  const model_step& find(const std::string& name, const char* option) const;

  std::string text() const;             // a table
  nlohmann::ordered_json json() const;  // with registers and weights

 private:
  nlohmann::ordered_json plan_;
  u32 layers_ = 0;
  std::vector<model_step> steps_;
};

// Which values are asked for.
struct value_filter {
  std::optional<std::string> glob;  // of names, as a shell takes it
  std::vector<bool> layers;         // empty: all, and what is outside the layers

  // Throws usage for --layers that are no list of the program's layers, and where nothing is left.
  value_filter(const step_list& steps, const std::optional<std::string>& ops, const std::optional<std::string>& range);
  bool takes(const model_step& step, const step_value& value) const;
};

}  // namespace cke::tool
