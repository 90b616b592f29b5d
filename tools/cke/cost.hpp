// SPDX-License-Identifier: MIT
// cost.hpp: what a pass of a program has to read and to compute, from its plan, and how fast a machine could.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <cke/core/opcode.hpp>
#include <cke/tune/peaks.hpp>

#include "rooms.hpp"

namespace cke::tool {

class program_cost {
 public:
  // The JSON of `cke inspect --plan`, and the bytes that its weights really take.
  program_cost(const nlohmann::ordered_json& plan, u64 weight_bytes);

  // A pass of `rows` ids, as many of each of `sequences`, after `position` earlier ones of each, with the logits
  // of `logits` of them.
  struct pass {
    u32 position, rows, logits, sequences = 1;
    u32 of_each() const { return rows / sequences; }
    u32 wanted() const { return rows > decode_rows ? logits : rows; }  // rows that all layers compute
  };
  // Weights once, of experts those that the rows choose; keys and values of every position once.
  double bytes(const pass& p) const;
  // Of a step of a code, as a tracer numbers them.
  const std::string& name(u32 code, u32 step) const { return steps_.at(code).at(step).op; }
  double bytes(u32 code, u32 step, const pass& p) const;
  u32 codes() const { return static_cast<u32>(steps_.size()); }  // header, bodies, footer

  // No machine with these peaks does it in less time: it reads and computes at once, each at its peak.
  double least_ns(const pass& p, const machine_peaks& peaks) const;

 private:
  // How many layers of a code compute an instruction: for all rows, and of a prompt for those whose logits somebody wants.
  struct layer_counts {
    double all, wanted;
  };
  // Multiplications, by the unit that does them.
  struct work {
    double int8{}, bf16{}, f32{};
    void add(std::string_view format, double count);
    double ns(const machine_peaks& peaks) const;
  };
  struct attention {
    double per_pair;  // multiplications for a query and a key, all heads
    layer_counts layers;
    u32 window;
  };
  // Rows that choose at random, as routers are trained to, choose so many different experts.
  struct experts {
    double bytes{};  // of one
    layer_counts layers{};
    double count = 1, active = 1;
    double read(u32 rows) const;
  };
  struct step_cost {
    std::string op;
    double weights;      // bytes, of a pass
    experts chosen;
    double of_each_row;  // bytes, of a row: the embedding's
    u32 window;          // of the positions that it attends to; 0: it does not attend
  };

  double body_bytes_{}, wanted_bytes_{}, head_bytes_{}, kv_bytes_{};  // of a pass; of one with logits; of those; of a position in a layer
  work body_, wanted_, head_;                                        // for each row, each wanted one, each with logits
  std::vector<attention> attentions_;
  std::vector<experts> experts_;
  std::vector<std::vector<step_cost>> steps_;
  std::string kv_format_;
};

}  // namespace cke::tool
