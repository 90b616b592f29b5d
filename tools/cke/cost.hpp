// SPDX-License-Identifier: MIT
// cost.hpp: the bytes and operations of a pass, computed from the program's plan, and the least time for them.
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
  // `plan`: the JSON of `cke inspect --plan`. weight_bytes: the size of the packed weights.
  program_cost(const nlohmann::ordered_json& plan, u64 weight_bytes);

  // A pass feeds `rows` ids, equally many of each of `sequences`, after `position` earlier ones of each, and computes
  // the logits of `logits` of them.
  struct pass {
    u32 position, rows, logits, sequences = 1;
    u32 of_each() const { return rows / sequences; }
    u32 wanted() const { return rows > decode_rows ? logits : rows; }  // rows that all layers compute
  };
  // Counts weights once, experts if a row chooses them, and the keys and values of every position once.
  double bytes(const pass& p) const;
  // The same for a step of a code; both are numbered as in a trace.
  const std::string& name(u32 code, u32 step) const { return steps_.at(code).at(step).op; }
  double bytes(u32 code, u32 step, const pass& p) const;
  u32 codes() const { return static_cast<u32>(steps_.size()); }  // header, bodies, footer

  // A lower bound on the time: a machine with these peaks reads and computes in parallel, each at its peak.
  double least_ns(const pass& p, const machine_peaks& peaks) const;
  // The same for a step of a code in a layer, and what the bound is: "memory", or the arithmetic "int8", "bf16", "f32";
  // "" for a step that reads nothing that counts.
  struct bound {
    double bytes{}, operations{}, ns{};
    const char* by = "";
  };
  bound step_bound(u32 code, u32 step, u32 layer, const pass& p, const machine_peaks& peaks) const;

 private:
  // How many layers of a code run an instruction: for all rows, and, in a prompt, only for rows with logits.
  struct layer_counts {
    double all, wanted;
  };
  // Multiplications by type of arithmetic.
  struct work {
    double int8{}, bf16{}, f32{};
    void add(std::string_view format, double count);
    double ns(const machine_peaks& peaks) const;
    double sum() const { return int8 + bf16 + f32; }
    work times(double n) const { return {int8 * n, bf16 * n, f32 * n}; }
  };
  struct attention {
    double per_pair;  // multiplications per query and key, all heads
    layer_counts layers;
    u32 window;
  };
  // read() assumes that rows choose experts at random, as routers are trained to balance them.
  struct experts {
    double bytes{};  // per expert
    layer_counts layers{};
    double count = 1, active = 1;
    double read(u32 rows) const;
  };
  struct step_cost {
    std::string op;
    double weights;  // bytes, of a pass
    experts chosen;
    double of_each_row;  // bytes, of a row: the embedding's
    u32 window;          // of the positions that it attends to; 0: it does not attend
    work of_row{};       // of its matrices
    double per_pair{};   // multiplications per query and key, all heads
  };

  bool ends_before(u32 layer, u32 instruction) const {
    return layer > end_layer_ || (layer == end_layer_ && instruction >= end_instruction_);
  }

  // Per pass; per pass with logits; of the head; per position and layer.
  double body_bytes_{}, wanted_bytes_{}, head_bytes_{}, kv_bytes_{};
  // Per row; per requested row; per row with logits.
  work body_, wanted_, head_;
  std::vector<attention> attentions_;
  std::vector<experts> experts_;
  std::vector<std::vector<step_cost>> steps_;
  std::string kv_format_;
  u32 end_layer_, end_instruction_;  // from there on a prompt goes on only with rows whose logits are wanted
};

}  // namespace cke::tool
