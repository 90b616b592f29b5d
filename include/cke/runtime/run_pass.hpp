// SPDX-License-Identifier: MIT
// run_pass.hpp: one pass over the weights, from ids to logits, as every executor runs it.
#pragma once

#include "../core/function_ref.hpp"
#include "../graph/plan.hpp"
#include "page_pool.hpp"
#include "pass_part.hpp"
#include "trace.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// What sequences need of an executor. executor.hpp is the CPU's, unrolled_executor.hpp the one for small models on it,
// cuda/executor.cuh a device's, and table_executor.hpp the one to debug with.
class pass_executor {
 public:
  virtual ~pass_executor() = default;
  virtual const capacity& limits() const = 0;
  virtual u64 bytes() const = 0;                              // of activations
  virtual page_memory* memory_of_pages() { return nullptr; }  // null: the host's
  virtual void watch(const tracer& t) = 0;                    // not while a pass runs
  // One pass for different sequences: part_of(i), i < count, with at most `chunk` ids in all; a single one is a list of
  // one. Their states have then advanced by their ids. Throws cache_full before anything has happened, and what a sink
  // throws.
  virtual void run(u32 count, function_ref<pass_part(u32)> part_of) = 0;

 protected:
  pass_executor() = default;
  pass_executor(const pass_executor&) = default;
  pass_executor& operator=(const pass_executor&) = default;
};

// What run_footer() returns.
struct logit_block {
  view logits;  // [rows][vocab]
  u32 rows;
};

// The order of steps that executors share. E has, for this alone:
//   begin_pass(), add(part)        puts the pass together; all rows of a part are adjacent in the stream
//   run_layers(first_read)         all layers; rows before `first_read` are needed for their states only
//   give_hidden(part, row)         the part's rows from `row` on, after the last norm, to its sink
//   copy_row(from, to)             of the stream
//   run_footer(first, end)         logits of stream rows [first, end), or as many as there is room for: {view, rows}
struct shared_pass {
  template <class E, class PartOf> static void run(E& on, u32 count, PartOf&& part_of) {
    on.begin_pass();
    u32 tokens = 0, first_read = ~0u;
    for (u32 i = 0; i < count; ++i) {
      const auto p = part_of(i);
      p.of.reserve(p.tokens());
      on.add(p);
      tokens += p.tokens();
      if (p.rows_read() > 0) first_read = std::min(first_read, tokens - p.rows_read());
    }
    if (tokens == 0) return;
    on.run_layers(std::min(first_read, tokens));
    // Rows with requested logits move to the front of the stream, so that the footer reads its matrix once for all.
    u32 wanted = 0;
    for (u32 i = 0, end = 0; i < count; ++i) {
      const auto p = part_of(i);
      if (p.hidden) on.give_hidden(p, end);
      end += p.tokens();
      for (u32 r = end - p.logit_rows(); r < end; ++r, ++wanted)
        if (r != wanted) on.copy_row(r, wanted);
      p.of.advance(p.tokens());
    }
    logits_giver give;
    for (u32 first = 0; first < wanted;) {
      const auto [logits, rows] = on.run_footer(first, wanted);
      give(logits, rows, part_of);
      first += rows;
    }
  }
};

}  // namespace cke::runtime
CKE_COLD_END
