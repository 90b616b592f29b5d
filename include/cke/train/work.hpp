// SPDX-License-Identifier: MIT
// work.hpp: what a rule reads and writes: a step's values, their gradients, its weights, and the threads that share it.
#pragma once

#include "../kernels/kernel.hpp"
#include "../runtime/team.hpp"
#include "tape.hpp"

namespace cke::train {

// The threads that run a pass, as one of them sees it. All of them call a rule, and part by part they share its units;
// what a unit computes does not depend on who does it.
struct crew {
  team& threads;
  u32 thread;
  std::byte* scratch;  // this thread's own
  template <class F> void share(u32 units, F&& f) const { threads.share(thread, units, f); }
  void barrier() const { threads.barrier(); }
  // f(row) for every row below n, some at a time.
  template <class F> void rows(u32 n, F&& f) const {
    constexpr u32 some = 16;
    share(ceil_div(n, some), [&](u32 unit) {
      for (u32 t = unit * some; t < n && t < (unit + 1) * some; ++t) f(t);
    });
  }
  // f(first, end) for parts of n columns: sums over rows are then in the order of the rows.
  template <class F> void columns(u32 n, F&& f) const {
    constexpr u32 some = 64;
    share(ceil_div(n, some), [&](u32 unit) { f(unit * some, n < (unit + 1) * some ? n : (unit + 1) * some); });
  }
};

// What is added to a frozen matrix and trained in its place: scale B A, with A [rank][cols] and B [rows][rank].
struct low_rank {
  const float *a, *b;
  float *da, *db;  // gradients, added to
  u32 rank;
  float scale;
};

// How much routers' load-balance losses count: `by` for each target of a sequence, in the loss; 0: nothing.
struct balance_share {
  float by;
  float scale;         // of gradients
  const u32* targets;  // [sequences]
  double* losses;      // [sequences], added to
  float slope(u32 sequence) const { return by * scale * static_cast<float>(targets[sequence]); }
  void add(u32 sequence, double loss) const {
    losses[sequence] += static_cast<double>(by) * static_cast<double>(targets[sequence]) * loss;
  }
};

// A step on the rows of a pass. A gradient that is not wanted has no data.
struct step_work {
  work w;                    // values and weights as the kernels of inference take them; by: split::tokens or the like
  view din[5]{}, dout[5]{};  // of the values in w.in and w.out; din is added to
  bool fresh[5]{};           // nothing was added to that din yet: garbage if the rule writes_fresh, else zeros
  const float* plain[8]{};   // the weights, [rows][cols]
  float* dweight[8]{};       // their gradients, added to; null: not wanted
  bool bf16[8]{};            // products with the weight and on its way back round their factors to bf16
  low_rank added[8]{};       // to the weights; a null: nothing
  float* low_rank_room{};    // [2][rows][the highest rank], of all threads
  balance_share balance{};
  u32 longest{};  // positions of the longest sequence
  u32 padding{};  // id whose row of an embedding learns nothing from being read; no_target: none
};

// rule<Op, Isa>, with p of type params_of<Op>:
//   static void backward(p, const step_work&, const crew&)       adds to din and dweight; or with a last argument
//                                                                `std::byte* shared`, memory of all threads
//   static void forward(p, const step_work&, const crew&)        absent: inference's kernel; with `shared`, as above
//   static u64 scratch_bytes(p, u32 rows, u32 longest)           of crew::scratch; absent: gemm's
//   static u64 shared_bytes(p, u32 rows, u32 longest)
//   static constexpr bool writes_fresh = true                    takes a fresh din as garbage; absent: it is cleared
template <opcode Op, class Isa> struct rule;

}  // namespace cke::train
